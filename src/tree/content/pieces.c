/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/content/pieces.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "tree/content/heal.h"

#include <string.h>

enum { FLAT_PIECES = 2048, GROUP_PIECES = 512, ATTEMPTS = 8 };
/* The average length of a piece, in the most that memory takes. */
static const int64_t PIECES_OF_MEMORY = 32;
/* Of what pieces stand on that are compared. */
static const size_t COMPARED_BYTES = 16 * 1024 * 1024;

int ash__pieces_new(ash_content_writer *w, const ash_op *op, ash_error *err)
{
    ash_capabilities can = ASH_CAPABILITIES_INIT;
    ash_pieces *p = ash__new(ash_pieces);
    size_t avg = (size_t)(w->c->piece_bytes / PIECES_OF_MEMORY);
    if (avg < 4 * ASH_CUTTER_MIN_BYTES)
        avg = 4 * ASH_CUTTER_MIN_BYTES;
    ash__cutter_init(&p->cutter, avg / 4, avg, 4 * avg);
    p->renewed_ms = ash__clock_ms();
    p->cut = &p->batches[0];
    p->stored = &p->batches[1];
    p->storer = ash__background_new();
    w->pieces = p;
    int rc = ash__fetch_init(&p->fetch, w->c, op, err);
    if (rc == 0)
        rc = ash_store_capabilities(w->c->store, &can, err);
    p->in_process = can.in_process;
    p->fetch.cache_bytes = COMPARED_BYTES;
    return rc == 0 ? ash__previous_open(w->c, &w->before, op, &p->previous, err) : rc;
}

size_t ash__pieces_longest(const ash_pieces *p)
{
    return p->cutter.max;
}

static void clear_batch(ash_piece_batch *b)
{
    for (size_t i = 0; i < b->count; i++)
        ash__plan_release(&b->pieces[i].plan);
    memset(b->pieces, 0, b->count * sizeof b->pieces[0]);
    b->count = b->bytes = 0;
}

void ash__pieces_free(ash_pieces *p)
{
    if (p == NULL)
        return;
    ash__background_free(p->storer);
    clear_batch(&p->batches[0]);
    clear_batch(&p->batches[1]);
    ash__previous_close(p->previous);
    ash__fetch_release(&p->fetch);
    ash__documents_release(&p->chunks);
    ash__id_set_release(&p->known);
    ash__digest_free(p->group_digest);
    ash__free(p->group);
    ash__free(p->distinct);
    ash__free(p->parts);
    ash__free(p);
}

/* ---- storing a batch ---- */

static bool is_repeated(const ash_pieces *p, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (ash__content_id_equal(&p->stored->pieces[j].id, &p->stored->pieces[i].id))
            return true;
    return false;
}

static size_t batch_ids(const ash_pieces *p, bool existing, ash_content_id *ids)
{
    size_t n = 0;
    for (size_t i = 0; i < p->stored->count; i++)
        if ((!existing || p->stored->pieces[i].exists) && !is_repeated(p, i))
            ids[n++] = p->stored->pieces[i].id;
    return n;
}

typedef struct lookup_call {
    ash_content_writer *w;
    const ash_op *op;
    ash_id_set there;
} lookup_call;

static int look_up(ash_transaction *t, void *ctx, ash_error *err)
{
    lookup_call *call = ctx;
    ash_content_id ids[ASH_BATCH_PIECES];
    ash_op op = *call->op;
    op.transaction = t;
    ash__id_set_release(&call->there); /* it may run again */
    return ash__contents_there(call->w->c, ids, batch_ids(call->w->pieces, false, ids),
                               &call->there, &op, err);
}

/* In a store of this process a reader has what was stored just now committed before it sees it, and so
 * written to the disk: each batch would wait for the one before.  A transaction sees it as it is;
 * elsewhere it would only be another way there and back. */
static int find_existing(ash_content_writer *w, const ash_op *op, ash_error *err)
{
    ash_pieces *p = w->pieces;
    lookup_call call = {.w = w, .op = op};
    int rc = p->in_process ? ash_store_transact(w->c->store, look_up, &call, op, err)
                           : look_up(op->transaction, &call, err);
    for (size_t i = 0; rc == 0 && i < p->stored->count; i++)
        p->stored->pieces[i].exists = ash__id_set_has(&call.there, &p->stored->pieces[i].id);
    ash__id_set_release(&call.there);
    return rc;
}

static int compare_piece(ash_pieces *p, ash_piece *one, ash_error *err)
{
    ash_error own = ASH_ERROR_INIT;
    ash_blob *there = NULL;
    ash__fetch_forgive(&p->fetch);
    int rc = ash__fetch_whole(&p->fetch, &one->id, &there, &own);
    one->damaged = rc == ASH_ECORRUPT || rc == ASH_ETOOBIG ||
                   (rc == 0 && (there->len != one->bytes.len ||
                                memcmp(there->data, one->bytes.data, there->len) != 0));
    one->compared = rc == 0;
    ash__blob_release(there);
    return one->damaged || rc == 0 ? 0 : ash__unless(0, rc, &own, err);
}

/* What this writer has compared or stored before needs no other look. */
static int compare_existing(ash_content_writer *w, ash_error *err)
{
    ash_pieces *p = w->pieces;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < p->stored->count; i++) {
        ash_piece *one = &p->stored->pieces[i];
        if (!one->exists || is_repeated(p, i) || ash__id_set_has(&p->known, &one->id))
            continue;
        if (!one->damaged && !one->compared)
            rc = compare_piece(p, one, err);
        one->exists = !one->damaged;
    }
    return rc;
}

/* ASH_ECONFLICT: one went just now. */
static int renew_existing(ash_content_writer *w, const ash_op *op, ash_error *err)
{
    ash_content_id ids[ASH_BATCH_PIECES];
    int64_t there = 0;
    size_t n = batch_ids(w->pieces, true, ids);
    if (n == 0)
        return 0;
    int rc = ash__contents_renew(w->c, ids, n, op, &there, err);
    if (rc == 0 && there != (int64_t)n)
        rc = ash__fail(err, ASH_ECONFLICT, "pieces of the content went while it was stored");
    return rc;
}

static int plan_piece(ash_content_writer *w, ash_piece *one, ash_error *err)
{
    ash_plan *plan = &one->plan;
    ash_span data = one->bytes;
    int rc = 0;
    plan->data = data.data;
    plan->len = data.len;
    plan->is_piece = one->planned = true;
    plan->is_random = ash__looks_random(w, data);
    /* What stands on the damaged one already must not be what its heir stands on. */
    if (w->pieces->previous != NULL && !one->damaged)
        rc = ash__previous_delta(w->pieces->previous, w, plan, data, one->position, err);
    if (rc != 0 || plan->packed != NULL || plan->is_random)
        return rc;
    rc = ash__plan_frame(w, plan, (ash_span){NULL, 0}, data, data.len - data.len / 10, err);
    if (rc == 0 && plan->packed != NULL)
        plan->store = "zstd";
    return rc;
}

static int plan_batch(ash_content_writer *w, ash_error *err)
{
    ash_pieces *p = w->pieces;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < p->stored->count; i++) {
        ash_piece *one = &p->stored->pieces[i];
        if (one->exists && p->previous != NULL)
            ash__previous_align(p->previous, &one->id, one->position);
        if (!one->exists && !one->planned && !is_repeated(p, i))
            rc = plan_piece(w, one, err);
    }
    return rc;
}

typedef struct batch_call {
    ash_content_writer *w;
    const ash_op *op;
    ash_documents files;
    const ash_documents *chunks; /* or NULL */
    ash_content_id *bases;
    size_t base_count, base_capacity;
    ash_documents healed; /* documents that come in the place of damaged ones */
} batch_call;

static void add_bases(batch_call *call, const ash_plan *plan)
{
    for (size_t i = 0; i < plan->part_count; i++) {
        bool known = false;
        for (size_t j = 0; j < call->base_count && !known; j++)
            known = ash__content_id_equal(&call->bases[j], &plan->parts[i].id);
        if (known)
            continue;
        call->bases = ash__grow_array(call->bases, call->base_count, &call->base_capacity,
                                      sizeof *call->bases);
        call->bases[call->base_count++] = plan->parts[i].id;
    }
}

/* The documents are completed in copies: the transaction may be run again. */
static int replace_damaged(const batch_call *call, const ash_op *op, ash_error *err)
{
    ash_contents *c = call->w->c;
    ash_documents complete = {0};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < call->healed.count; i++) {
        bson_t *doc = bson_copy(call->healed.docs[i]);
        ash_content_id id;
        (void)ash__content_id_from(ash__doc_get(ash__doc_from_bson(doc), "_id"), &id);
        rc = ash__content_make_way(c, &id, doc, op, err);
        ash__documents_add(&complete, doc);
    }
    if (rc == 0)
        rc = ash__documents_insert(&complete, c->files, op, err);
    ash__documents_release(&complete);
    return rc;
}

static int insert_batch(ash_transaction *t, void *ctx, ash_error *err)
{
    const batch_call *call = ctx;
    const ash_contents *c = call->w->c;
    ash_op op = *call->op;
    op.transaction = t;
    int rc = ash__contents_rely_on(call->w->c, call->bases, call->base_count, &op, err);
    if (rc == 0)
        rc = replace_damaged(call, &op, err);
    if (rc == 0 && call->chunks != NULL)
        rc = ash__documents_insert(call->chunks, c->chunks, &op, err);
    if (rc == 0)
        rc = ash__documents_insert(&call->files, c->files, &op, err);
    return rc;
}

static int commit_batch(ash_content_writer *w, batch_call *call, const ash_op *op, ash_error *err)
{
    call->op = op;
    return ash_store_transact(w->c->store, insert_batch, call, op, err);
}

static void release_call(batch_call *call)
{
    ash__documents_release(&call->files);
    ash__documents_release(&call->healed);
    ash__free(call->bases);
}

static int insert_new(ash_content_writer *w, const ash_op *op, ash_error *err)
{
    ash_pieces *p = w->pieces;
    batch_call call = {.w = w, .chunks = &p->chunks};
    int rc = ash__contents_ask_time(w->c, err);
    w->upload_date_ms = ash__contents_now_ms(w->c);
    for (size_t i = 0; i < p->stored->count; i++) {
        const ash_piece *one = &p->stored->pieces[i];
        if (one->exists || !one->planned)
            continue;
        bson_t *doc = bson_new();
        ash__content_document(w, &one->plan, &one->id, (int64_t)one->bytes.len, doc);
        ash__documents_add(one->damaged ? &call.healed : &call.files, doc);
        ash__documents_add_chunks(&p->chunks, w->c, &one->id, &one->plan);
        add_bases(&call, &one->plan);
    }
    if (rc == 0 && call.files.count + call.healed.count > 0)
        rc = commit_batch(w, &call, op, err);
    release_call(&call);
    ash__documents_clear(&p->chunks);
    return rc;
}

/* A base went: without it. */
static void forget_plans(ash_pieces *p)
{
    for (size_t i = 0; i < p->stored->count; i++) {
        ash__plan_release(&p->stored->pieces[i].plan);
        p->stored->pieces[i].planned = false;
    }
    ash__previous_close(p->previous);
    p->previous = NULL;
}

static int try_to_store_pieces(ash_content_writer *w, const ash_op *op, ash_error *err)
{
    int rc = find_existing(w, op, err);
    if (rc == 0)
        rc = compare_existing(w, err);
    if (rc == 0)
        rc = renew_existing(w, op, err);
    if (rc == 0)
        rc = plan_batch(w, err);
    return rc == 0 ? insert_new(w, op, err) : rc;
}

/* ASH_ECONFLICT: other writers store the same pieces, and a collection takes them, each time. */
static int store_pieces(ash_content_writer *w, const ash_op *op, ash_error *err)
{
    int rc = ASH_ECONFLICT;
    for (int i = 0; (rc == ASH_ECONFLICT || rc == ASH_EEXISTS) && i < ATTEMPTS; i++) {
        if (i > 1)
            forget_plans(w->pieces);
        rc = try_to_store_pieces(w, op, err);
    }
    if (rc == ASH_EEXISTS)
        rc = ash__fail(err, ASH_ECONFLICT, "pieces of the content came and went as it was stored");
    return rc;
}

/* ---- the list ---- */

static int add_part(ash_pieces *p, const ash_content_id *id, int64_t len, ash_error *err)
{
    p->parts = ash__grow_array(p->parts, p->count, &p->capacity, sizeof *p->parts);
    p->parts[p->count++] = (ash_form_part){.id = *id, .len = len};
    if (ash__id_set_has(&p->known, id)) {
        p->again += len;
        return p->again <= ASH_AGAIN_BYTES_MAX
                   ? 0
                   : ash__fail(err, ASH_ETOOBIG,
                               "more than 1 TiB of the content is the same again");
    }
    ash__id_set_add(&p->known, id);
    p->distinct =
        ash__grow_array(p->distinct, p->distinct_count, &p->distinct_capacity, sizeof *p->distinct);
    p->distinct[p->distinct_count++] = *id;
    return 0;
}

int ash__pieces_compare(ash_content_writer *w, const bson_t *doc, const ash_op *op, ash_error *err)
{
    const ash_pieces *p = w->pieces;
    const ash_rival there = {doc, {.id = w->id, .length = w->length}, p->parts, p->count};
    return ash__rival_compare(w->c, &there, &w->damaged, op, err);
}

static int compare_group(ash_content_writer *w, const ash_content_id *id, int64_t len,
                         bool *damaged, const ash_op *op, ash_error *err)
{
    const ash_pieces *p = w->pieces;
    bson_t doc;
    bool found = false;
    *damaged = false;
    int rc = ash__find_content(w->c, id, op, &doc, &found, err);
    if (rc == 0 && found) {
        const ash_rival there = {&doc, {.id = *id, .length = len}, p->group, p->group_count};
        rc = ash__rival_compare(w->c, &there, damaged, op, err);
        bson_destroy(&doc);
    }
    return rc;
}

/* As for a piece: it may be there already. */
static int store_group(ash_content_writer *w, const ash_content_id *id, int64_t len,
                       const ash_op *op, ash_error *err)
{
    batch_call call = {.w = w};
    ash_error own = ASH_ERROR_INIT;
    bson_t *doc = bson_new();
    const ash_plan pieces = {.parts = w->pieces->group, .part_count = w->pieces->group_count};
    int64_t there = 0;
    bool damaged = false;
    int rc = compare_group(w, id, len, &damaged, op, err);
    ash__list_document(w, pieces.parts, pieces.part_count, id, true, doc);
    ash__documents_add(damaged ? &call.healed : &call.files, doc);
    add_bases(&call, &pieces);
    if (rc == 0 && !damaged)
        rc = ash__contents_renew(w->c, id, 1, op, &there, err);
    if (rc == 0 && there == 0)
        rc = ash__unless(ASH_EEXISTS, commit_batch(w, &call, op, &own), &own, err);
    release_call(&call);
    return rc;
}

int ash__pieces_end_list(ash_content_writer *w, const ash_op *op, ash_error *err)
{
    ash_pieces *p = w->pieces;
    ash_content_id id = {.len = 0};
    int64_t len = 0;
    if (p->group_count == 0)
        return 0;
    id.len = (uint8_t)ash__digest_finish(p->group_digest, id.bytes);
    ash__digest_free(p->group_digest);
    p->group_digest = NULL;
    for (size_t i = 0; i < p->group_count; i++)
        len += p->group[i].len;
    int rc = store_group(w, &id, len, op, err);
    if (rc == 0)
        rc = add_part(p, &id, len, err);
    p->group_count = 0;
    return rc;
}

static int list_piece(ash_content_writer *w, const ash_piece *one, const ash_op *op, ash_error *err)
{
    ash_pieces *p = w->pieces;
    if (p->group == NULL && p->count < FLAT_PIECES)
        return add_part(p, &one->id, (int64_t)one->bytes.len, err);
    if (p->group == NULL)
        p->group = ash__alloc_array(GROUP_PIECES, sizeof *p->group);
    if (p->group_digest == NULL)
        p->group_digest = ash__digest_new(w->c->digest);
    ash__digest_add(p->group_digest, one->bytes.data, one->bytes.len);
    p->group[p->group_count++] = (ash_form_part){.id = one->id, .len = (int64_t)one->bytes.len};
    return p->group_count == GROUP_PIECES ? ash__pieces_end_list(w, op, err) : 0;
}

static int renew_group(ash_content_writer *w, const ash_op *op, ash_error *err)
{
    const ash_pieces *p = w->pieces;
    ash_content_id ids[GROUP_PIECES];
    int64_t there = 0;
    for (size_t i = 0; i < p->group_count; i++)
        ids[i] = p->group[i].id;
    return ash__contents_renew(w->c, ids, p->group_count, op, &there, err);
}

/* An upload may take longer than what collections think is old.  What a group lists is named by it,
 * but for the group that is not stored yet. */
static int renew_all(ash_content_writer *w, const ash_op *op, ash_error *err)
{
    ash_pieces *p = w->pieces;
    int64_t there = 0, now = ash__clock_ms();
    if (now - p->renewed_ms < w->c->renew_ms)
        return 0;
    p->renewed_ms = now;
    int rc = ash__contents_renew(w->c, p->distinct, p->distinct_count, op, &there, err);
    return rc == 0 ? renew_group(w, op, err) : rc;
}

int ash__pieces_store(ash_content_writer *w, const ash_op *op, ash_error *err)
{
    ash_pieces *p = w->pieces;
    int rc = ash__op_check(op, err);
    if (rc == 0 && p->stored->count > 0)
        rc = store_pieces(w, op, err);
    for (size_t i = 0; rc == 0 && i < p->stored->count; i++)
        rc = list_piece(w, &p->stored->pieces[i], op, err);
    clear_batch(p->stored);
    return rc == 0 ? renew_all(w, op, err) : rc;
}

void ash__pieces_document(const ash_content_writer *w, bson_t *out)
{
    const ash_pieces *p = w->pieces;
    ash__list_document(w, p->parts, p->count, &w->id, false, out);
}

int ash__pieces_rely_on(const ash_content_writer *w, const ash_op *op, ash_error *err)
{
    const ash_pieces *p = w->pieces;
    return ash__contents_rely_on(w->c, p->distinct, p->distinct_count, op, err);
}
