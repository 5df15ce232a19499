/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of a find: from a scan that goes on where it stood, from a sorter that has read
 * everything, or from a download. */

#include "store/embedded/find/cursor.h"

#include "base/budget.h"
#include "base/clock.h"
#include "base/mem.h"
#include "store/embedded/find/unverified.h"

#include <string.h>

static bool wants_details(const ash_find_cursor *c)
{
    return c->request.projection != NULL && ash__projection_needs_details(c->request.projection);
}

/* Look the collection up again: it may have been dropped, or dropped and made anew. */
static int attach(ash_find_cursor *c, ash_reading *reading, ash_error *err)
{
    const ash_coll *coll = NULL;
    int rc = ash__catalog_find_id(reading->snap, c->request.coll_id, &coll, err);
    if (rc != 0)
        return rc;
    if (coll == NULL || memcmp(coll->uuid, c->uuid, sizeof c->uuid) != 0)
        return ash__fail_server(err, ASH_ECURSOR, ASH_MONGO_QUERY_PLAN_KILLED,
                                "query plan killed: collection %s.%s was dropped", c->db, c->coll);
    return ash__scan_plan_attach(&c->scan, reading->snap, coll, err);
}

static void note_given(ash_find_cursor *c, ash_doc doc)
{
    if (c->gives_files)
        ash__versions_gave(c->store, c->op.reader, (ash_ns){c->db, c->coll}, doc, c->commit);
}

/* A stream looks again for each batch; a sorter goes on with what it found. */
static void end_giving(ash_find_cursor *c)
{
    if (c->mode == ASH_CURSOR_SORTED && c->sorter != NULL && !c->exhausted)
        ash__versions_giving_rest(c->store, &c->giving, c->commit);
    else
        ash__versions_giving_end(c->store, &c->giving);
}

/* Is what is given not the record itself? */
static bool reshapes(const ash_find_cursor *c)
{
    return c->request.projection != NULL || c->show_record_id;
}

static int reshape(ash_find_cursor *c, const ash_record *r, const ash_match_details *details,
                   ash_doc *out, ash_error *err)
{
    int rc = 0;
    *out = r->doc;
    if (c->request.projection != NULL) {
        rc = ash__projection_apply(c->request.projection, r->doc, details, &c->projected, err);
        if (rc == 0)
            *out = ash__builder_doc(&c->projected);
    }
    if (rc != 0 || !c->show_record_id)
        return rc;
    ash__builder_begin(&c->numbered);
    ash__builder_elements(&c->numbered, *out);
    ash__builder_int64(&c->numbered, "$recordId", (int64_t)r->rid);
    ash__builder_end(&c->numbered);
    *out = ash__builder_doc(&c->numbered);
    return 0;
}

/* Put one match into the batch.  *fits false: it has to wait for the next one. */
static int deliver(ash_find_cursor *c, ash_snapshot *snap, const ash_record *r,
                   const ash_match_details *details, bool *fits, ash_error *err)
{
    ash_doc doc;
    if (!reshapes(c)) {
        *fits = ash__batch_memory_fits(&c->batch, r->doc.len);
        if (*fits)
            ash__batch_memory_add_record(&c->batch, snap, r);
        return 0;
    }
    int rc = reshape(c, r, details, &doc, err);
    if (rc != 0)
        return rc;
    *fits = ash__batch_memory_fits(&c->batch, doc.len);
    if (*fits)
        ash__batch_memory_add_copy(&c->batch, doc);
    return 0;
}

/* What has its key alone: projected from that, or fetched after all. */
static int deliver_key(ash_find_cursor *c, ash_snapshot *snap, ash_record *r, bool *fits,
                       ash_error *err)
{
    bool found = true;
    if (ash__cover_make(c->cover, c->scan.hit.key, &c->projected)) {
        ash_doc doc = ash__builder_doc(&c->projected);
        *fits = ash__batch_memory_fits(&c->batch, doc.len);
        if (*fits)
            ash__batch_memory_add_copy(&c->batch, doc);
        return 0;
    }
    int rc = ash__scan_plan_reget(&c->scan, r->rid, r, NULL, &found, err);
    return rc == 0 && found ? deliver(c, snap, r, NULL, fits, err) : rc;
}

static int next_match(ash_find_cursor *c, ash_record *r, ash_match_details *details, bool *found,
                      ash_error *err)
{
    uint64_t pending = c->pending;
    /* It did not fit the last batch, and may have changed or gone since. */
    c->pending = 0;
    *found = false;
    if (pending != 0) {
        int rc = ash__scan_plan_reget(&c->scan, pending, r, details, found, err);
        if (rc != 0 || *found)
            return rc;
    }
    /* What is passed over is not read, where its keys say that it matches. */
    c->scan.fetch = c->skip > 0 || c->cover != NULL ? ASH_FETCH_NONE : ASH_FETCH_DOC;
    return ash__scan_plan_next(&c->scan, r, c->skip > 0 ? NULL : details, found, err);
}

/* May the scan go on behind what it could not read?  Not where that is the index itself. */
static bool can_pass(ash_find_cursor *c, int rc)
{
    if (rc != ASH_ECORRUPT || !c->past_damage || c->scan.hit.rid == c->damaged_rid)
        return false;
    c->damaged_rid = c->scan.hit.rid;
    return true;
}

/* One damaged document costs itself: what was found before it is given first, then the error, and
 * whoever asks again goes on behind it. */
static int put_damage_off(ash_find_cursor *c, int rc, const ash_error *own, ash_error *err)
{
    bool passed = can_pass(c, rc);
    c->exhausted = c->exhausted || (c->past_damage && !passed);
    if (!passed || c->batch.count == 0)
        return ash__unless(0, rc, own, err);
    c->damage = *own;
    return 0;
}

static int tell_damage(ash_find_cursor *c, ash_error *err)
{
    /* Told once; what lies behind it is read next. */
    ash_error told = c->damage;
    c->damage = (ash_error)ASH_ERROR_INIT;
    return ash__unless(0, told.code, &told, err);
}

static int fill_stream(ash_find_cursor *c, ash_snapshot *snap, ash_error *err)
{
    ash_match_details d = {-1};
    ash_match_details *details = wants_details(c) ? &d : NULL;
    while (c->limit != 0 && !ash__batch_memory_is_full(&c->batch)) {
        ash_record r;
        bool found = false;
        bool fits = true;
        ash_error own = ASH_ERROR_INIT;
        int rc = next_match(c, &r, details, &found, &own);
        if (rc != 0)
            return put_damage_off(c, rc, &own, err);
        if (!found) {
            /* A tail waits where an ordinary cursor ends. */
            c->exhausted = !c->tailable;
            return 0;
        }
        if (c->skip > 0) {
            c->skip--;
            continue;
        }
        rc = r.doc.data == NULL ? deliver_key(c, snap, &r, &fits, &own)
                                : deliver(c, snap, &r, details, &fits, &own);
        if (rc != 0)
            return put_damage_off(c, rc, &own, err);
        if (!fits) {
            c->pending = r.rid;
            return 0;
        }
        note_given(c, r.doc);
        if (c->limit > 0)
            c->limit--;
    }
    c->exhausted = c->exhausted || c->limit == 0;
    return 0;
}

static int fill_sorter(ash_find_cursor *c, ash_error *err)
{
    /* The sorter need not hold what can never be given. */
    uint64_t keep = c->limit > 0 ? (uint64_t)c->limit + (uint64_t)c->skip : 0;
    uint64_t order = 0;
    int rc = 0;
    c->sorter = ash__sorter_new(c->request.sort, keep, &c->env.query);
    while (rc == 0) {
        ash_record r;
        bool found = false;
        ash_error own = ASH_ERROR_INIT;
        rc = ash__scan_plan_next(&c->scan, &r, NULL, &found, &own);
        if (can_pass(c, rc)) {
            if (c->damage.code == 0)
                c->damage = own;
            rc = 0;
            continue;
        }
        rc = ash__unless(0, rc, &own, err);
        if (rc != 0 || !found)
            break;
        /* Equal keys keep insertion order, whatever index the documents came through. */
        order = r.rid;
        rc = ash__sorter_add(c->sorter, r.doc, order, err);
    }
    c->exhausted = c->exhausted || rc != 0; /* half of it is nothing to be given */
    if (rc != 0)
        return rc;
    ash__sorter_finish(c->sorter);
    return tell_damage(c, err);
}

static bool next_sorted(ash_find_cursor *c, ash_record *out)
{
    *out = (ash_record){.doc = c->next_sorted, .rid = c->next_sorted_rid};
    c->next_sorted = (ash_doc){NULL, 0};
    return out->doc.data != NULL || ash__sorter_next(c->sorter, &out->doc, &out->rid);
}

/* Nobody looks at the last batch any more; a document that did not fit it still has to come. */
static void forget_given(ash_find_cursor *c)
{
    if (c->sorter != NULL)
        ash__sorter_forget(c->sorter, c->next_sorted.data != NULL);
}

static int give_sorted(ash_find_cursor *c, ash_error *err)
{
    ash_match_details d = {-1};
    forget_given(c);
    while (c->limit != 0 && !ash__batch_memory_is_full(&c->batch)) {
        ash_record r;
        bool fits = true;
        if (!next_sorted(c, &r)) {
            c->exhausted = true;
            return 0;
        }
        if (c->skip > 0) {
            c->skip--;
            continue;
        }
        if (wants_details(c))
            ash__matcher_test(c->request.filter, r.doc, &d, NULL);
        if (reshapes(c)) {
            int rc = deliver(c, NULL, &r, &d, &fits, err);
            if (rc != 0)
                return rc;
        } else {
            fits = ash__batch_memory_fits(&c->batch, r.doc.len);
            if (fits)
                ash__batch_memory_add_view(&c->batch, r.doc); /* lives as long as the sorter */
        }
        if (!fits) {
            c->next_sorted = r.doc;
            c->next_sorted_rid = r.rid;
            return 0;
        }
        note_given(c, r.doc);
        if (c->limit > 0)
            c->limit--;
    }
    c->exhausted = c->exhausted || c->limit == 0;
    return 0;
}

static int fill_download(ash_find_cursor *c, ash_error *err)
{
    ash_match_details d = {-1};
    ash__download_begin_batch(c->download);
    while (!ash__batch_memory_is_full(&c->batch)) {
        bool fits = true;
        ash_doc doc;
        int rc = ash__op_check(&c->op, err);
        if (rc == 0)
            rc = ash__download_peek(c->download, &doc, err);
        if (rc != 0)
            return rc;
        if (doc.data == NULL) {
            c->exhausted = true;
            return 0;
        }
        if (c->request.projection != NULL) {
            ash_record r = {.doc = doc};
            if (wants_details(c))
                ash__matcher_test(c->request.filter, doc, &d, NULL);
            rc = deliver(c, NULL, &r, &d, &fits, err);
            if (rc != 0)
                return rc;
        } else {
            fits = ash__batch_memory_fits(&c->batch, doc.len);
            if (fits)
                ash__batch_memory_add_view(&c->batch, doc);
        }
        if (!fits)
            return 0;
        ash__download_advance(c->download);
    }
    c->exhausted = ash__download_at_end(c->download);
    return 0;
}

/* One look at the store. *seen: the newest change the look could see. */
static int fill_from_view(ash_find_cursor *c, uint64_t *seen, ash_error *err)
{
    ash_reading reading = {0};
    uint64_t oldest;
    int rc = ash__reading_begin(c->store, &c->op, &reading, err);
    if (rc == 0)
        rc = attach(c, &reading, err);
    /* Nothing lies behind that: whoever asks again would be told the same for ever. */
    c->exhausted = c->exhausted || (rc == ASH_ECORRUPT && c->past_damage);
    if (rc == 0)
        c->commit = ash__snapshot_commit(reading.snap);
    if (rc == 0 && c->tailable) {
        rc = ash__tail_check(c, err);
        if (rc == 0)
            rc = ash__oplog_bounds(reading.snap, &oldest, seen, err);
    }
    if (rc == 0)
        rc = c->mode == ASH_CURSOR_SORTED ? fill_sorter(c, err) : fill_stream(c, reading.snap, err);
    /* Between two batches no snapshot is held: its pages could not be used again. */
    ash__scan_plan_detach(&c->scan);
    ash__reading_end(&reading);
    return rc;
}

static int fill(ash_find_cursor *c, uint64_t *seen, ash_error *err)
{
    if (c->damage.code != 0)
        return tell_damage(c, err);
    if (c->mode == ASH_CURSOR_DOWNLOAD)
        return c->in_parts ? ash__find_fill_parts(c, err) : fill_download(c, err);
    if (c->mode == ASH_CURSOR_STREAM)
        return fill_from_view(c, seen, err);
    int rc = c->sorter == NULL ? fill_from_view(c, seen, err) : 0;
    return rc == 0 ? give_sorted(c, err) : rc;
}

static int find_next_batch(ash_cursor *cursor, size_t max_docs, size_t max_bytes, ash_batch *out,
                           ash_error *err)
{
    ash_find_cursor *c = (ash_find_cursor *)(void *)cursor;
    uint64_t seen = 0;
    int rc = 0;
    int64_t from_ms = c->in_parts ? 0 : ash__clock_ms();
    ash__batch_memory_begin(&c->batch, max_docs, max_bytes);
    /* The collection was not there when the cursor was opened. */
    if (c->mode == ASH_CURSOR_EMPTY)
        c->exhausted = true;
    /* Before the snapshot is opened, so that no version is let go of that it may still lead to. */
    if (c->gives_files && !c->giving.under_way && !c->exhausted)
        ash__versions_giving_begin(c->store, &c->giving);
    if (!c->exhausted) {
        ash_budget outer = ash__budget_enter(c->op.deadline_ms, c->op.cancel, 0);
        rc = fill(c, &seen, err);
        ash__budget_leave(outer);
    }
    if (!c->in_parts)
        ash__slow_note(c->store, "find", (ash_ns){c->db, c->coll}, from_ms);
    if (rc == 0 && c->tailable && !c->exhausted && c->batch.count == 0)
        rc = ash__tail_wait(c, seen, fill_from_view, err);
    if (c->giving.under_way)
        end_giving(c);
    ash__batch_memory_give(&c->batch, c->exhausted, out);
    return rc;
}

static void find_set_op(ash_cursor *cursor, int64_t deadline_ms, const volatile int *cancel,
                        int64_t await_ms)
{
    ash_find_cursor *c = (ash_find_cursor *)(void *)cursor;
    c->op.deadline_ms = deadline_ms;
    c->op.cancel = cancel;
    if (await_ms >= 0)
        c->await_ms = await_ms;
}

static void find_rest(ash_cursor *cursor)
{
    ash_find_cursor *c = (ash_find_cursor *)(void *)cursor;
    ash__batch_memory_rest(&c->batch);
    forget_given(c);
    if (c->download != NULL)
        ash__download_begin_batch(c->download);
}

static void find_free(ash_cursor *cursor)
{
    ash_find_cursor *c = (ash_find_cursor *)(void *)cursor;
    ash__versions_giving_end(c->store, &c->giving);
    ash__batch_memory_release(&c->batch);
    ash__download_free(c->download);
    ash__sorter_free(c->sorter);
    ash__cover_free(c->cover);
    ash__scan_plan_release(&c->scan);
    ash__request_release(&c->request);
    ash__env_release(&c->env);
    ash__builder_release(&c->projected);
    ash__builder_release(&c->numbered);
    ash__free(c->payloads);
    ash__free(c->db);
    ash__free(c->coll);
    ash__free(c);
}

const ash_cursor_ops ash__find_cursor_ops = {
    .next_batch = find_next_batch,
    .set_op = find_set_op,
    .rest = find_rest,
    .free = find_free,
    .take_parts = ash__find_take_parts,
    .verify = ash__find_verify,
    .lasts = ash__find_lasts,
    .seek = ash__find_seek,
};
