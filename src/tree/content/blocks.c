/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/content/write.h"

#include "base/mem.h"
#include "bucket/background.h"

#include <string.h>

/* Bytes of a content that is too long for memory: while one block is filled, a helper cuts the one
 * before, and the pieces of the one before that are stored (pieces.c).  What is left of a block, the
 * beginning of a piece, is moved in front of the next one, where there is room for it: pieces are
 * always whole in a block.
 *
 * The first block is what the writer had gathered until it was full. */

enum { BLOCK_BYTES = 4 * 1024 * 1024, BLOCKS = 3 };

struct ash_blocks {
    size_t front, room; /* of a block: for what is left of the one before, and for what comes */
    uint8_t *memory[BLOCKS]; /* or NULL; front + room bytes each, but for the first */
    size_t before;           /* bytes of the block that was filled before */
    int filling;             /* that the writer has */
    bool first;              /* is what memory[0] has still */
    ash_background *helper;  /* or NULL: it is done by whoever fills the next */
    /* What the helper has: the writer's thread looks at it only when nothing is under way. */
    ash_content_writer *w;
    const uint8_t *data;
    size_t len, left; /* bytes; … at their end, that belong to the next piece */
    ash_op op;
};

/* The writer's memory becomes the first block. */
static void begin(ash_content_writer *w)
{
    ash_blocks *b = ash__new(ash_blocks);
    b->w = w;
    b->front = ash__pieces_longest(w->pieces);
    b->room = w->c->piece_bytes < BLOCK_BYTES ? (size_t)w->c->piece_bytes : BLOCK_BYTES;
    b->memory[0] = w->bytes;
    b->first = true;
    b->helper = ash__background_new();
    w->blocks = b;
}

void ash__blocks_free(ash_blocks *b)
{
    if (b == NULL)
        return;
    ash__background_free(b->helper);
    ash__pieces_wait(b->w->pieces);
    for (int i = 0; i < BLOCKS; i++)
        ash__free(b->memory[i]);
    ash__free(b);
}

static int cut(void *ctx, ash_error *err)
{
    ash_blocks *b = ctx;
    return ash__pieces_cut(b->w, (ash_span){b->data, b->len}, &b->left, &b->op, err);
}

static int await(ash_blocks *b, ash_error *err)
{
    return b->helper != NULL ? ash__background_wait(b->helper, err) : 0;
}

/* What the writer has filled, with what was left before it, is to be cut. */
static void take_over(ash_blocks *b, const ash_op *op)
{
    const ash_content_writer *w = b->w;
    uint8_t *at = w->bytes - b->left;
    if (b->left > 0)
        memcpy(at, b->data + b->len - b->left, b->left);
    b->data = at;
    b->len = b->left + w->len;
    b->op = *op;
}

/* The next block is the writer's to fill.  It is nobody's else: its pieces were stored before the cutter
 * was through with the one behind it.  The hasher may be reading the two that are under way. */
static int give_next(ash_blocks *b, ash_error *err)
{
    ash_content_writer *w = b->w;
    int next = (b->filling + 1) % BLOCKS;
    ash__hasher_drain(w->hasher, w->len + b->before);
    b->before = w->len;
    if (b->first && next == 0) {
        ash__free(b->memory[0]);
        b->memory[0] = NULL;
        b->first = false;
    }
    if (b->memory[next] == NULL)
        b->memory[next] = ash__try_alloc_large(b->front + b->room);
    w->bytes = b->memory[next] != NULL ? b->memory[next] + b->front : NULL;
    w->len = w->hashed = 0;
    w->capacity = w->most = b->memory[next] != NULL ? b->room : 0;
    b->filling = next;
    return w->bytes != NULL ? 0
                            : ash__fail(err, ASH_ENOMEM, "no memory for a block of %zu bytes",
                                        b->front + b->room);
}

int ash__blocks_hand_on(ash_content_writer *w, const ash_op *op, ash_error *err)
{
    int rc = w->pieces == NULL ? ash__pieces_new(w, op, err) : 0;
    if (rc == 0 && w->blocks == NULL)
        begin(w);
    if (rc == 0)
        rc = await(w->blocks, err);
    if (rc != 0)
        return rc;
    take_over(w->blocks, op);
    if (w->blocks->helper != NULL)
        ash__background_run(w->blocks->helper, cut, w->blocks);
    else
        rc = cut(w->blocks, err);
    return rc == 0 ? give_next(w->blocks, err) : rc;
}

int ash__blocks_end(ash_content_writer *w, const ash_op *op, ash_error *err)
{
    ash_blocks *b = w->blocks;
    int rc = await(b, err);
    if (rc != 0)
        return rc;
    take_over(b, op);
    b->left = 0;
    return ash__pieces_end(w, (ash_span){b->data, b->len}, op, err);
}
