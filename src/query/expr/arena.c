/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of one evaluation: small values share blocks, large ones have a block each, and all go at
 * once. */
#include "query/expr/node.h"

#include "base/mem.h"
#include "base/share.h"

#include <string.h>

#define BLOCK_BYTES 4096
/* The first block of an arena: most expressions that are compiled need no more, and zeroing a whole
 * one took longer than compiling them. */
#define FIRST_BYTES 480

struct block {
    struct block *next;
    uint8_t *data;
    size_t size;
    size_t used;
    bool shared; /* by small values */
};

struct ash_arena {
    struct block *blocks;
    size_t total_bytes;
    ash_share share; /* of total_bytes, as of the last check */
};

ash_arena *ash__arena_new(void)
{
    return ash__new(ash_arena);
}

static void free_block(struct block *b)
{
    ash__free(b->data);
    ash__free(b);
}

void ash__arena_reset(ash_arena *a)
{
    struct block *keep = NULL;
    while (a->blocks != NULL) {
        struct block *next = a->blocks->next;
        /* One block stays: most documents' evaluations need no other. */
        if (keep == NULL && a->blocks->shared)
            keep = a->blocks;
        else
            free_block(a->blocks);
        a->blocks = next;
    }
    if (keep != NULL) {
        keep->next = NULL;
        keep->used = 0;
    }
    a->blocks = keep;
    a->total_bytes = 0;
    ash__share_shrink(&a->share, 0);
}

void ash__arena_free(ash_arena *a)
{
    if (a == NULL)
        return;
    ash__arena_reset(a);
    if (a->blocks != NULL)
        free_block(a->blocks);
    ash__free(a);
}

static struct block *add_block(ash_arena *a, uint8_t *data, size_t size, bool shared)
{
    struct block *b = ash__new(struct block);
    b->data = data;
    b->size = size;
    b->shared = shared;
    /* A block of its own for a large value goes behind the one that still has room. */
    if (a->blocks != NULL && !shared) {
        b->next = a->blocks->next;
        a->blocks->next = b;
    } else {
        b->next = a->blocks;
        a->blocks = b;
    }
    return b;
}

static struct block *add_shared_block(ash_arena *a, size_t least)
{
    size_t size = a->blocks == NULL && least <= FIRST_BYTES ? FIRST_BYTES : BLOCK_BYTES;
    return add_block(a, ash__alloc(size), size, true);
}

/* Looks at no limit, so that its callers have no error to handle: ash__arena_check() does, before
 * each node that is evaluated. */
void *ash__arena_alloc(ash_arena *a, size_t size_bytes)
{
    size_t size = (size_bytes + 7) & ~(size_t)7;
    struct block *b = a->blocks;
    a->total_bytes += size;
    /* A larger one would leave too much of a shared block unused. */
    if (size >= BLOCK_BYTES / 4)
        b = add_block(a, ash__alloc(size), size, false);
    else if (b == NULL || b->size - b->used < size)
        b = add_shared_block(a, size);
    void *p = b->data + b->used;
    b->used += size;
    return p;
}

size_t ash__arena_used(const ash_arena *a)
{
    return a->total_bytes;
}

int ash__arena_check(ash_arena *a, ash_error *err)
{
    if (a->total_bytes > ASH_EXPR_MAX_ARENA_BYTES)
        return ash__fail_server(err, ASH_ENOMEM, ASH_MONGO_EXCEEDED_MEMORY_LIMIT,
                                "evaluating an expression took more than %u bytes of memory",
                                ASH_EXPR_MAX_ARENA_BYTES);
    return ash__share_grow(&a->share, a->total_bytes, "an expression", err);
}

void *ash__arena_copy(ash_arena *a, const void *data, size_t len_bytes)
{
    void *p = ash__arena_alloc(a, len_bytes);
    if (len_bytes > 0)
        memcpy(p, data, len_bytes);
    return p;
}

const char *ash__arena_text(ash_arena *a, const char *text, size_t len_bytes)
{
    char *p = ash__arena_alloc(a, len_bytes + 1);
    memcpy(p, text, len_bytes);
    p[len_bytes] = '\0';
    return p;
}

ash_value ash__arena_value(ash_arena *a, ash_value v)
{
    if (v.len > 0)
        v.data = ash__arena_copy(a, v.data, v.len);
    return v;
}

ash_doc ash__arena_adopt(ash_arena *a, ash_buffer *buf)
{
    ash_doc doc = {buf->data, buf->len};
    /* Copying is cheaper than a block around a buffer with room to grow. */
    if (buf->len < BLOCK_BYTES / 4) {
        doc.data = ash__arena_copy(a, buf->data, buf->len);
        ash__buffer_release(buf);
        return doc;
    }
    struct block *b = add_block(a, ash__buffer_detach(buf), doc.len, false);
    b->used = b->size;
    a->total_bytes += doc.len;
    return doc;
}
