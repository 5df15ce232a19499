/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes become pieces, whose batches are handed to the storer. */
#include "tree/content/pieces.h"

#include "base/hash.h"

static const size_t BATCH_BYTES = 8 * 1024 * 1024;

static int store(void *ctx, ash_error *err)
{
    ash_content_writer *w = ctx;
    return ash__pieces_store(w, &w->pieces->op, err);
}

static int await(ash_pieces *p, ash_error *err)
{
    return p->storer != NULL ? ash__background_wait(p->storer, err) : 0;
}

void ash__pieces_wait(ash_pieces *p)
{
    (void)await(p, NULL);
}

/* What was cut is stored while the next is. */
static int hand_over(ash_content_writer *w, const ash_op *op, ash_error *err)
{
    ash_pieces *p = w->pieces;
    int rc = await(p, err);
    if (rc != 0)
        return rc;
    ash_piece_batch *cut = p->cut;
    p->cut = p->stored;
    p->stored = cut;
    p->op = *op;
    if (p->storer == NULL)
        return store(w, err);
    ash__background_run(p->storer, store, w);
    return 0;
}

static int add_piece(ash_content_writer *w, ash_span bytes, const ash_op *op, ash_error *err)
{
    ash_pieces *p = w->pieces;
    ash_piece *one = &p->cut->pieces[p->cut->count++];
    ash_digest *digest = ash__digest_new(w->c->digest);
    one->bytes = bytes;
    one->position = p->position;
    ash__digest_add(digest, bytes.data, bytes.len);
    one->id.len = (uint8_t)ash__digest_finish(digest, one->id.bytes);
    ash__digest_free(digest);
    p->position += (int64_t)bytes.len;
    p->cut->bytes += bytes.len;
    return p->cut->count == ASH_BATCH_PIECES || p->cut->bytes >= BATCH_BYTES ? hand_over(w, op, err)
                                                                             : 0;
}

/* Nothing need be durable before the list is. */
static ash_op soften(const ash_op *op)
{
    ash_op soft = *op;
    soft.durability = ASH_DURABILITY_INTERVAL;
    return soft;
}

/* All pieces that end in data; *start: what follows them. */
static int add_pieces(ash_content_writer *w, ash_span data, size_t *start, const ash_op *op,
                      ash_error *err)
{
    ash_pieces *p = w->pieces;
    size_t at = p->fed;
    int rc = 0;
    *start = 0;
    while (rc == 0 && at < data.len) {
        bool ends = false;
        at += ash__cutter_feed(&p->cutter, data.data + at, data.len - at, &ends);
        if (!ends)
            continue;
        rc = add_piece(w, (ash_span){data.data + *start, at - *start}, op, err);
        *start = at;
    }
    p->fed = data.len - *start;
    return rc;
}

int ash__pieces_cut(ash_content_writer *w, ash_span data, size_t *left, const ash_op *op,
                    ash_error *err)
{
    const ash_op soft = soften(op);
    size_t start = 0;
    int rc = add_pieces(w, data, &start, &soft, err);
    *left = data.len - start;
    /* The bytes are those of the storer until the next is handed over. */
    if (rc == 0)
        rc = w->pieces->cut->count > 0 ? hand_over(w, &soft, err) : await(w->pieces, err);
    return rc;
}

int ash__pieces_end(ash_content_writer *w, ash_span data, const ash_op *op, ash_error *err)
{
    const ash_op soft = soften(op);
    size_t start = 0;
    int rc = add_pieces(w, data, &start, &soft, err);
    if (rc == 0 && start < data.len)
        rc = add_piece(w, (ash_span){data.data + start, data.len - start}, &soft, err);
    if (rc == 0)
        rc = hand_over(w, &soft, err);
    if (rc == 0)
        rc = await(w->pieces, err);
    return rc == 0 ? ash__pieces_end_list(w, &soft, err) : rc;
}
