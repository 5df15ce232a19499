/* SPDX-License-Identifier: Apache-2.0 */
/* Inserts.  Documents are checked and large ones written to a segment on the caller's thread, a
 * turn at a time; the writer then only notes where they are. */

#include "store/embedded/write/slots.h"

#include "base/budget.h"
#include "base/clock.h"
#include "store/embedded/kit/view.h"
#include "store/embedded/write/change.h"
#include "store/embedded/write/document.h"
#include "store/embedded/write/retry.h"

/* Of one turn: other writers wait behind it, and each turn is a commit of its own. */
#define TURN_DOCS  500
#define TURN_BYTES ((size_t)8 * 1024 * 1024)
/* So much is synced here when commits come, or the writer would have to do it for the first of
 * them. */
#define MUCH_BYTES ((size_t)1024 * 1024)
#define FULL_TEXTS 100 /* of the errors of one failed commit */

/* One insert call.  Documents go to the writer in turns, so that other writers get theirs. */
typedef struct insertion {
    ash_embedded *store;
    ash_ns ns;
    const ash_doc *docs;
    size_t count;
    const ash_insert_options *opts;
    ash_write_result *result;
    uint32_t coll_id;

    size_t next;     /* the first document not yet dealt with */
    size_t end;      /* of this turn */
    ash_error first; /* the first failure of a document */
    int turn_result; /* of the last turn itself, before its commit */
    ash_retry_parts parts;
    bool begun; /* the retry id was looked up */
    bool stop;  /* an ordered insert met a failure */
    struct {
        ash_prepared doc;
        ash_error refusal; /* why it could not be prepared */
    } turn[];              /* up to TURN_DOCS */
} insertion;

static void note_failure(insertion *in, size_t index, const ash_error *e, const bson_t *details)
{
    if (in->first.code == 0)
        in->first = *e;
    ash__write_result_add_error(in->result, (uint32_t)index, e, details);
    in->stop = !in->opts->unordered;
}

/* Failures that are a document's own, and leave the others their chance. */
static bool is_documents_fault(int rc)
{
    return rc == ASH_EEXISTS || rc == ASH_EINVAL || rc == ASH_ETOOBIG || rc == ASH_ECONFLICT ||
           rc == ASH_EUNSUPPORTED;
}

static int insert_next(insertion *in, ash_changer *c, size_t first, ash_error *err)
{
    ash_error e = ASH_ERROR_INIT;
    /* The turn's room is counted from its first document. */
    ash_prepared *p = &in->turn[in->next - first].doc;
    const ash_error *refusal = &in->turn[in->next - first].refusal;
    uint64_t rid;
    if (refusal->code != 0) {
        note_failure(in, in->next++, refusal, NULL);
        return 0;
    }
    /* Of the document before. */
    bson_reinit(c->details);
    /* Staged for a collection that was dropped and made anew meanwhile: the writer stages again. */
    if (p->staged != NULL && in->coll_id != c->coll->id) {
        ash__staged_free(in->store->engine, p->staged);
        p->staged = NULL;
    }
    /* The record takes over what was staged, when it succeeds. */
    int rc = ash__change_insert(c, p->doc, p->staged, &rid, &e);
    if (rc == 0) {
        p->staged = NULL;
        in->result->inserted++;
        in->next++;
        return 0;
    }
    /* The store's own failure ends the turn; what was inserted before it stays. */
    if (!is_documents_fault(rc)) {
        if (err != NULL)
            *err = e;
        return rc;
    }
    note_failure(in, in->next++, &e, bson_empty(c->details) ? NULL : c->details);
    return 0;
}

static int store_progress(insertion *in, ash_writer *w, ash_error *err)
{
    ash_builder b = ASH_BUILDER_INIT;
    if (in->opts->op.retry == NULL)
        return 0;
    int rc = ash__retry_put_errors(w, &in->opts->op, in->result, &in->parts, err);
    if (rc != 0)
        return rc;
    ash__builder_begin(&b);
    ash__retry_encode_counts(&b, in->result);
    ash__builder_int64(&b, "p", in->parts.count);
    /* An ordered insert that met a failure is through: a retry must not go on behind it. */
    ash__builder_int64(&b, "k", in->stop ? (int64_t)in->count : (int64_t)in->next);
    ash__builder_end(&b);
    rc = ash__retry_store(w, &in->opts->op, ash__builder_doc(&b), err);
    ash__builder_release(&b);
    return rc;
}

/* The first failure of an earlier execution is this one's, too. */
static void take_first_error(insertion *in)
{
    /* A driver that repeats the call is to see the error that it missed. */
    int64_t code = 0;
    ash_value first = ash__doc_get(ash__doc_from_bson(&in->result->errors), "0");
    if (first.type != BSON_TYPE_DOCUMENT)
        return;
    ash_value text = ash__doc_get(ash__value_doc(first), "errmsg");
    ash__value_as_int64(ash__doc_get(ash__value_doc(first), "code"), &code);
    ash__fail_server(&in->first, ash__code_from_server((int32_t)code), (int32_t)code, "%s",
                     ash__value_utf8(text, ""));
}

/* Looks for an earlier execution and takes up where it ended. */
static int resume(insertion *in, ash_writer *w, ash_error *err)
{
    bool repeated = false;
    ash_doc stored;
    int64_t done = 0, parts = 0;
    /* Only before the first turn: later ones find what this very call stored. */
    if (in->begun)
        return 0;
    in->begun = true;
    int rc = ash__retry_begin(w, &in->opts->op, &repeated, &stored, err);
    if (rc != 0 || !repeated)
        return rc;
    ash__retry_decode(stored, in->result);
    ash__value_as_int64(ash__doc_get(stored, "p"), &parts);
    rc = ash__retry_get_errors(w, &in->opts->op, (uint32_t)parts, in->result, &in->parts, err);
    if (rc != 0)
        return rc;
    take_first_error(in);
    if (ash__value_as_int64(ash__doc_get(stored, "k"), &done) && done > 0)
        in->next = (uint64_t)done < in->count ? (size_t)done : in->count;
    return 0;
}

static int insert_turn(ash_writer *w, void *ctx, ash_error *err)
{
    insertion *in = ctx;
    bson_t details = BSON_INITIALIZER;
    ash_changer c = {.store = in->store, .writer = w, .op = &in->opts->op, .details = &details};
    size_t first = in->next;
    int rc = resume(in, w, err);
    if (rc == 0 && in->next < in->end)
        rc = ash__coll_ensure(w, in->ns, &c.coll, err);
    if (rc == 0)
        rc = ash__view_refuse(c.coll, err);
    /* So that the next insert can stage before it asks the writer. */
    if (c.coll != NULL && in->coll_id != c.coll->id)
        ash__coll_ids_put(&in->store->coll_ids, in->ns, c.coll->id);
    while (rc == 0 && in->next < in->end && !in->stop) {
        ash__budget_turn();
        rc = insert_next(in, &c, first, err);
    }
    if (rc == 0 && in->next > first)
        rc = store_progress(in, w, err);
    /* In a transaction a failed operation is undone as a whole. */
    if (rc == 0 && in->first.code != 0 && in->opts->op.transaction != NULL) {
        rc = in->first.code;
        if (err != NULL)
            *err = in->first;
    }
    bson_destroy(&details);
    in->turn_result = rc;
    return rc;
}

static int sync_staged(insertion *in, ash_error *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < in->end - in->next; i++)
        if (in->turn[i].doc.staged != NULL)
            rc = ash__staged_sync(in->store->engine, in->turn[i].doc.staged, err);
    return rc;
}

/* Check and stage the documents of the next turn, outside the writer. */
static int prepare_turn(insertion *in, ash_error *err)
{
    size_t bytes = 0;
    in->end = in->next;
    while (in->end < in->count && in->end - in->next < TURN_DOCS && bytes < TURN_BYTES) {
        size_t at = in->end - in->next;
        ash_doc doc = in->docs[in->end];
        ash_prepared *p = &in->turn[at].doc;
        ash_error *refusal = &in->turn[at].refusal;
        *refusal = (ash_error)ASH_ERROR_INIT;
        in->end++;
        int rc = ash__document_prepare(doc, in->store->engine, p, refusal);
        /* An ordered insert ends with this document; those behind it need not be prepared. */
        if (rc != 0 && !in->opts->unordered)
            return 0;
        if (rc != 0)
            continue;
        /* In a transaction this is the writer's thread, which stages what it inserts itself. */
        if (in->coll_id != 0 && in->opts->op.transaction == NULL)
            rc = ash__document_stage(in->store, in->coll_id, p, err);
        if (rc != 0)
            return rc;
        bytes += doc.len;
    }
    /* Many bytes are synced here, by their own thread, while the writer is busy with others. */
    bool sync =
        in->opts->to_disk || (bytes >= MUCH_BYTES && ash__engine_is_busy(in->store->engine));
    return sync ? sync_staged(in, err) : 0;
}

/* Which documents have an error in the result already; the caller frees. */
static bool *list_told(const insertion *in)
{
    bool *told = ash__alloc_array(in->count, sizeof *told);
    ash_doc list = ash__doc_from_bson(&in->result->errors);
    for (ash_doc_iter it = ash__doc_iter(list); ash__doc_iter_next(&it);) {
        int64_t index = -1;
        ash__value_as_int64(ash__doc_get(ash__value_doc(it.value), "index"), &index);
        if (index >= 0 && (size_t)index < in->count)
            told[index] = true;
    }
    return told;
}

/* The documents from here on are not in the store, and nothing but this failure may say why. */
static void tell_lost(insertion *in, size_t from, bool undone, const ash_error *err)
{
    ash_write_result *r = in->result;
    ash_error e = *err;
    if (!in->opts->unordered && undone) {
        /* It met the first document of the turn before any of these. */
        bson_reinit(&r->errors);
        r->error_count = 0;
    }
    if (!in->opts->unordered || in->opts->op.transaction != NULL || err->code == ASH_ETIMEOUT ||
        err->code == ASH_EINTERRUPTED)
        return;
    /* One entry a document: some were refused for a reason of their own. */
    bool *told = list_told(in);
    for (size_t i = from; i < in->count; i++) {
        /* The text is the same each time, and a list has bounds; the code says enough. */
        if (i - from >= FULL_TEXTS)
            e.text[0] = '\0';
        if (!told[i])
            ash__write_result_add_error(r, (uint32_t)i, &e, NULL);
    }
    ash__free(told);
}

static int do_turn(insertion *in, ash_error *err)
{
    size_t first = in->next;
    int64_t before = in->result->inserted;
    uint32_t errors_before = in->result->error_count;
    ash_write_terms terms = {.op = &in->opts->op, .coll = in->ns.coll};
    ash_error own = ASH_ERROR_INIT;
    bool lost;
    int rc = prepare_turn(in, &own);
    in->turn_result = rc;
    if (rc == 0)
        rc = ash__write_run(in->store, &terms, insert_turn, in, &own);
    /* The turn did well and its commit failed: what it counted did not happen. */
    lost = ash__write_is_lost(in->turn_result, rc);
    if (lost)
        in->result->inserted = before;
    if (rc != 0)
        tell_lost(in, lost ? first : in->next, lost && errors_before == 0, &own);
    if (rc != 0 && err != NULL)
        *err = own;
    for (size_t i = 0; i < in->end - first; i++)
        ash__document_release(in->store, &in->turn[i].doc);
    return rc;
}

/* The id that segment records of this collection carry; 0 when it does not exist yet. */
static int look_up_id(insertion *in, ash_error *err)
{
    ash_reading reading = {0};
    const ash_coll *coll = NULL;
    size_t inline_max = ash__engine_inline_max(in->store->engine);
    bool any_large = false;
    for (size_t i = 0; i < in->count && !any_large; i++)
        /* 32: an _id that is still to come. */
        any_large = in->docs[i].len + 32 > inline_max;
    if (!any_large)
        return 0;
    in->coll_id = ash__coll_ids_get(&in->store->coll_ids, in->ns);
    if (in->coll_id != 0)
        return 0;
    int rc = ash__reading_begin(in->store, &in->opts->op, &reading, err);
    if (rc == 0)
        rc = ash__catalog_find(reading.snap, in->ns.db, in->ns.coll, &coll, err);
    if (rc == 0 && coll != NULL) {
        in->coll_id = coll->id;
        /* What a transaction sees may be undone. */
        if (in->opts->op.transaction == NULL)
            ash__coll_ids_put(&in->store->coll_ids, in->ns, coll->id);
    }
    ash__reading_end(&reading);
    return rc;
}

int ash__embedded_insert(ash_store *store, ash_ns ns, const ash_doc_list *list,
                         const ash_insert_options *opts, ash_write_result *result, ash_error *err)
{
    int64_t from_ms = ash__clock_ms();
    size_t turn = list->count < TURN_DOCS ? list->count : TURN_DOCS;
    /* One block, with room for a turn: a single insert is the most frequent one. */
    insertion *in = ash__alloc(sizeof *in + turn * sizeof in->turn[0]);
    in->store = ash__embedded(store);
    in->ns = ns;
    in->docs = list->docs;
    in->count = list->count;
    in->opts = opts;
    in->result = result;
    int rc = look_up_id(in, err);
    while (rc == 0 && in->next < list->count && !in->stop)
        rc = do_turn(in, err);
    if (rc != 0 && opts->op.transaction != NULL)
        result->inserted = 0;
    /* An unordered insert does all it can, and then says what the first failure was. */
    if (rc == 0 && in->first.code != 0) {
        rc = in->first.code;
        if (err != NULL)
            *err = in->first;
    }
    ash__slow_note(ash__embedded(store), "insert", ns, from_ms);
    ash__free(in);
    return rc;
}
