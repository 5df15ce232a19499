/* SPDX-License-Identifier: Apache-2.0 */
/* Documents with their sort keys, in memory.  With keep_first a heap has the worst of the best on
 * top: one comparison tells whether the next document gets in, and the first ten of a million need
 * room for ten. */
#include "query/kit/sort.h"

#include "base/mem.h"
#include "base/share.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_LIMIT_BYTES (100 * 1024 * 1024)

/* key and document lie behind the header, in one allocation. */
typedef struct entry {
    uint64_t order;
    size_t key_len;
    size_t doc_len;
    uint8_t bytes[];
} entry;

struct ash_sorter {
    const ash_sort_spec *spec;
    uint64_t keep_first; /* 0: all */
    size_t limit_bytes;
    size_t used_bytes;
    entry **items; /* with keep_first a heap with the last document on top, until finish */
    size_t count;
    size_t capacity;
    size_t at;
    size_t forgotten; /* of the items before at */
    ash_buffer key;
    ash_share share; /* of used_bytes */
};

static int compare_keys(const uint8_t *a, size_t a_len, uint64_t a_order, const entry *b)
{
    size_t shared = a_len < b->key_len ? a_len : b->key_len;
    int order = shared == 0 ? 0 : memcmp(a, b->bytes, shared);
    if (order != 0)
        return order;
    if (a_len != b->key_len)
        return a_len < b->key_len ? -1 : 1;
    /* Equal keys keep the order they came in; so no two entries are equal, and qsort need not be
     * stable. */
    return a_order < b->order ? -1 : a_order > b->order;
}

static int compare_entries(const entry *a, const entry *b)
{
    return compare_keys(a->bytes, a->key_len, a->order, b);
}

static int compare_pointers(const void *a, const void *b)
{
    return compare_entries(*(entry *const *)a, *(entry *const *)b);
}

ash_sorter *ash__sorter_new(const ash_sort_spec *s, uint64_t keep_first, const ash_query_env *env)
{
    ash_sorter *sorter = ash__new(ash_sorter);
    sorter->spec = s;
    sorter->keep_first = keep_first;
    sorter->limit_bytes =
        env != NULL && env->memory_limit_bytes != 0 ? env->memory_limit_bytes : DEFAULT_LIMIT_BYTES;
    return sorter;
}

static void sift_up(ash_sorter *s, size_t at)
{
    while (at > 0) {
        size_t parent = (at - 1) / 2;
        if (compare_entries(s->items[at], s->items[parent]) <= 0)
            return;
        entry *moved = s->items[at];
        s->items[at] = s->items[parent];
        s->items[parent] = moved;
        at = parent;
    }
}

static void sift_down(ash_sorter *s, size_t at)
{
    for (;;) {
        size_t largest = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < s->count; child++)
            if (compare_entries(s->items[child], s->items[largest]) > 0)
                largest = child;
        if (largest == at)
            return;
        entry *moved = s->items[at];
        s->items[at] = s->items[largest];
        s->items[largest] = moved;
        at = largest;
    }
}

static size_t entry_bytes(size_t key_len, size_t doc_len)
{
    return sizeof(entry) + sizeof(entry *) + key_len + doc_len;
}

static entry *entry_new(ash_sorter *s, ash_doc doc, uint64_t order)
{
    entry *e = ash__try_alloc(sizeof *e + s->key.len + doc.len);
    if (e == NULL)
        return NULL;
    e->order = order;
    e->key_len = s->key.len;
    e->doc_len = doc.len;
    if (s->key.len > 0)
        memcpy(e->bytes, s->key.data, s->key.len);
    memcpy(e->bytes + s->key.len, doc.data, doc.len);
    s->used_bytes += entry_bytes(e->key_len, e->doc_len);
    return e;
}

static void entry_free(ash_sorter *s, entry *e)
{
    s->used_bytes -= entry_bytes(e->key_len, e->doc_len);
    ash__free(e);
}

static int check_limit(const ash_sorter *s, size_t more_bytes, ash_error *err)
{
    if (more_bytes <= s->limit_bytes && s->used_bytes <= s->limit_bytes - more_bytes)
        return 0;
    return ash__fail_server(err, ASH_ENOMEM,
                            ASH_MONGO_QUERY_EXCEEDED_MEMORY_LIMIT_NO_DISK_USE_ALLOWED,
                            "sort exceeded memory limit of %zu bytes, and there is no sorting on "
                            "disk",
                            s->limit_bytes);
}

static void push(ash_sorter *s, entry *e)
{
    if (s->count == s->capacity) {
        s->capacity = s->capacity == 0 ? 64 : 2 * s->capacity;
        s->items = ash__realloc_array(s->items, s->capacity, sizeof *s->items);
    }
    s->items[s->count++] = e;
    if (s->keep_first > 0)
        sift_up(s, s->count - 1);
}

int ash__sorter_add(ash_sorter *s, ash_doc doc, uint64_t order, ash_error *err)
{
    ash__buffer_clear(&s->key);
    int rc = ash__sort_key_checked(s->spec, doc, &s->key, err);
    if (rc != 0)
        return rc;
    bool is_full = s->keep_first > 0 && s->count == s->keep_first;
    if (is_full && compare_keys(s->key.data, s->key.len, order, s->items[0]) >= 0)
        return 0;
    if (is_full) {
        entry_free(s, s->items[0]);
        s->items[0] = s->items[--s->count];
        sift_down(s, 0);
    }
    /* Behind the removal: what goes makes room for what comes. */
    size_t more = entry_bytes(s->key.len, doc.len);
    rc = check_limit(s, more, err);
    if (rc == 0)
        rc = ash__share_grow(&s->share, s->used_bytes + more, "a sort", err);
    if (rc != 0)
        return rc;
    entry *e = entry_new(s, doc, order);
    if (e == NULL)
        return ash__fail(err, ASH_ENOMEM, "no memory for a sort of %zu bytes", s->used_bytes);
    push(s, e);
    return 0;
}

void ash__sorter_finish(ash_sorter *s)
{
    if (s->count > 1)
        qsort(s->items, s->count, sizeof *s->items, compare_pointers);
    s->at = 0;
}

bool ash__sorter_next(ash_sorter *s, ash_doc *doc, uint64_t *order)
{
    if (s->at == s->count)
        return false;
    const entry *e = s->items[s->at++];
    *doc = (ash_doc){e->bytes + e->key_len, e->doc_len};
    if (order != NULL)
        *order = e->order;
    return true;
}

void ash__sorter_forget(ash_sorter *s, bool but_last)
{
    /* The document given last may still be in use. */
    size_t until = s->at > 0 && but_last ? s->at - 1 : s->at;
    for (; s->forgotten < until; s->forgotten++) {
        entry_free(s, s->items[s->forgotten]);
        /* ash__sorter_free() goes through all items again. */
        s->items[s->forgotten] = NULL;
    }
    ash__share_shrink(&s->share, s->used_bytes);
}

void ash__sorter_free(ash_sorter *s)
{
    if (s == NULL)
        return;
    for (size_t i = 0; i < s->count; i++)
        ash__free(s->items[i]);
    ash__free(s->items);
    ash__share_shrink(&s->share, 0);
    ash__buffer_release(&s->key);
    ash__free(s);
}
