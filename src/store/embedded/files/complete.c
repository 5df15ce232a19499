/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a files document that is inserted after a loss has all its chunks (complete.h says why).
 */

#include "store/embedded/files/complete.h"

#include "base/clock.h"
#include "query/kit/value_text.h"
#include "store/embedded/files/chunks.h"
#include "store/embedded/scan/plan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SUSPICION_MS ((int64_t)5 * 60 * 1000)

/* The newest record of every collection of chunks when the store was opened after a crash: small
 * chunks carry no sequence, their record ids tell their age. */
typedef struct old_coll {
    uint32_t id;
    uint64_t last_rid;
} old_coll;

typedef struct ash_old_chunks {
    old_coll *items;
    size_t count;
    size_t capacity;
    ash_snapshot *snap;
    int rc;
    ash_error *err;
} old_chunks;

static bool note_coll(void *ctx, const ash_coll *c)
{
    old_chunks *old = ctx;
    ash_coll_stats stats;
    if (!ash__name_ends_with(c->name, ".chunks"))
        return true;
    old->rc = ash__coll_stats(old->snap, c, &stats, old->err);
    if (old->rc != 0)
        return false;
    if (old->count == old->capacity) {
        old->capacity = old->capacity == 0 ? 16 : 2 * old->capacity;
        old->items = ash__realloc_array(old->items, old->capacity, sizeof *old->items);
    }
    old->items[old->count++] = (old_coll){c->id, stats.last_rid};
    return true;
}

static int compare_ids(const void *a, const void *b)
{
    uint32_t x = ((const old_coll *)a)->id;
    uint32_t y = ((const old_coll *)b)->id;
    return (x > y) - (x < y);
}

int ash__guard_init(ash_embedded *s, ash_error *err)
{
    s->losses_seen = ash__engine_losses(s->engine);
    s->loss_at_ms = 0;
    /* A store that was closed has lost nothing. */
    if (!ash__engine_was_unclean(s->engine))
        return 0;
    s->loss_at_ms = ash__clock_ms();
    /* Records from this number on were written after the crash. */
    s->loss_sequence = ash__engine_boot_sequence(s->engine);
    old_chunks *old = ash__new(old_chunks);
    s->old_chunks = old;
    old->err = err;
    int rc = ash__snapshot_open(s->engine, &old->snap, err);
    if (rc != 0)
        return rc;
    rc = ash__catalog_each(old->snap, NULL, note_coll, old, err);
    ash__snapshot_close(old->snap);
    /* For bsearch: there may be thousands of buckets. */
    if (old->count > 0)
        qsort(old->items, old->count, sizeof *old->items, compare_ids);
    return rc == 0 ? old->rc : rc;
}

void ash__guard_release(ash_embedded *s)
{
    if (s->old_chunks != NULL)
        ash__free(s->old_chunks->items);
    ash__free(s->old_chunks);
    s->old_chunks = NULL;
}

/* Records up to this one are older than the loss. */
static uint64_t last_old_rid(const ash_embedded *s, uint32_t coll_id, uint64_t loss_sequence)
{
    /* A collection that was not there then has no old records: found NULL gives 0. */
    const old_chunks *old = s->old_chunks;
    old_coll key = {.id = coll_id};
    if (loss_sequence == UINT64_MAX)
        return UINT64_MAX;
    const old_coll *found = old != NULL && old->count > 0 ? bsearch(&key, old->items, old->count,
                                                                    sizeof *old->items, compare_ids)
                                                          : NULL;
    return found != NULL ? found->last_rid : 0;
}

/* Was anything lost?  *sequence: records below it are older than the loss. */
static bool may_have_lost(ash_embedded *s, int64_t *at_ms, uint64_t *sequence)
{
    uint64_t losses = ash__engine_losses(s->engine);
    ash__monitor_lock(s->monitor);
    if (losses != s->losses_seen) {
        s->losses_seen = losses;
        s->loss_at_ms = ash__clock_ms();
        /* When in this process the commit failed is not known to any record: all count as older. */
        s->loss_sequence = UINT64_MAX;
    }
    *at_ms = s->loss_at_ms;
    *sequence = s->loss_sequence;
    ash__monitor_unlock(s->monitor);
    return *at_ms != 0;
}

/* How many chunks the files document asks for; false when it is not one of a file with content. */
static bool chunks_of(ash_doc doc, int64_t *count)
{
    double length;
    double size;
    if (!ash__value_as_double(ash__doc_get(doc, "length"), &length) ||
        !ash__value_as_double(ash__doc_get(doc, "chunkSize"), &size) || !(length > 0) ||
        !(size > 0) || length / size > 9e15)
        return false;
    int64_t whole = (int64_t)(length / size);
    *count = whole + ((double)whole * size < length);
    return true;
}

typedef struct inventory {
    ash_rid_set numbers; /* n + 1 of every chunk that has a number */
    uint64_t chunks;
    int64_t present; /* chunks 0 .. present-1 are there */
    bool older;      /* one of them is older than the loss */
} inventory;

/* From the index key, so that payloads need not be read on the writer; else from the document. */
static int number_of(ash_scan_plan *scan, ash_value file, const ash_record *r, ash_buffer *scratch,
                     int64_t *n, ash_error *err)
{
    ash_record whole = *r;
    bool found = true;
    ash_doc key = scan->has_hit ? scan->hit.key : (ash_doc){NULL, 0};
    *n = ash__chunks_number(scan->request->plan, file, key, scratch);
    if (*n >= 0)
        return 0;
    int rc = r->doc.data == NULL
                 ? ash__record_get(scan->snap, scan->coll, r->rid, &whole, &found, err)
                 : 0;
    if (rc != 0 || !found || !ash__value_as_int64(ash__doc_get(whole.doc, "n"), n))
        *n = -1;
    return rc;
}

typedef struct loss {
    uint64_t sequence; /* records in segments below it are older than the loss … */
    uint64_t last_rid; /* … and small ones up to this record id */
} loss;

static int take_inventory(ash_scan_plan *scan, ash_value file, const loss *lost, inventory *out,
                          ash_error *err)
{
    ash_buffer scratch = ASH_BUFFER_INIT;
    int64_t n = -1;
    int rc = 0;
    while (rc == 0) {
        ash_record r;
        bool found = false;
        rc = ash__scan_plan_next(scan, &r, NULL, &found, err);
        if (rc != 0 || !found)
            break;
        rc = number_of(scan, file, &r, &scratch, &n, err);
        if (n >= 0)
            ash__rid_set_add(&out->numbers, (uint64_t)n + 1);
        out->chunks++;
        out->older = out->older || (r.place.segment != 0 ? r.place.sequence < lost->sequence
                                                         : r.rid <= lost->last_rid);
    }
    /* Adding says whether a number was missing; the one added then is the first hole. */
    while (rc == 0 && !ash__rid_set_add(&out->numbers, (uint64_t)out->present + 1))
        out->present++;
    ash__buffer_release(&scratch);
    return rc;
}

static int count_chunks(ash_snapshot *snap, const ash_coll *chunks, ash_value id, const loss *lost,
                        inventory *out, ash_error *err)
{
    static const ash_op no_limits = ASH_OP_INIT;
    ash_query_env env = {0};
    ash_builder filter = ASH_BUILDER_INIT;
    ash_request request = {0};
    ash_scan_plan scan = {0};
    bson_t by_file;
    ash__builder_begin(&filter);
    ash__builder_begin_doc(&filter, "files_id");
    ash__builder_value(&filter, "$eq", id);
    ash__builder_end(&filter);
    ash__builder_end(&filter);
    ash__doc_to_bson(ash__builder_doc(&filter), &by_file);
    /* Planned like any find, since the index may be missing or another one. */
    ash_request_spec spec = {.filter = &by_file};
    int rc = ash__request_compile(&request, &spec, &env, err);
    if (rc == 0)
        rc = ash__request_plan(&request, chunks, NULL, err);
    if (rc == 0) {
        ash__scan_plan_init(&scan, &request, &no_limits, ASH_FETCH_PLACE);
        rc = ash__scan_plan_attach(&scan, snap, chunks, err);
        if (rc == 0)
            rc = take_inventory(&scan, id, lost, out, err);
        ash__scan_plan_release(&scan);
    }
    ash__request_release(&request);
    ash__builder_release(&filter);
    return rc;
}

int ash__guard_check(ash_embedded *s, ash_snapshot *snap, const ash_coll *coll, ash_doc doc,
                     ash_error *err)
{
    const ash_coll *chunks = NULL;
    inventory there = {0};
    int64_t loss_at_ms;
    uint64_t loss_sequence;
    int64_t wanted;
    char id[96];
    /* The usual case costs no more than this: nothing was lost since the store was opened. */
    if (!ash__name_ends_with(coll->name, ".files") ||
        !may_have_lost(s, &loss_at_ms, &loss_sequence) || !chunks_of(doc, &wanted))
        return 0;
    size_t prefix = strlen(coll->name) - strlen(".files");
    char *name = ash__sprintf("%.*s.chunks", (int)prefix, coll->name);
    int rc = ash__catalog_find(snap, coll->db, name, &chunks, err);
    if (rc == 0 && chunks != NULL) {
        loss lost = {loss_sequence, last_old_rid(s, chunks->id, loss_sequence)};
        rc = count_chunks(snap, chunks, ash__doc_get(doc, "_id"), &lost, &there, err);
    }
    ash__free(name);
    ash__rid_set_release(&there.numbers);
    if (rc != 0 || (there.present == wanted && there.chunks == (uint64_t)wanted))
        return rc;
    /* Nothing says that the loss is to blame: whoever inserts this may have meant it. */
    if (!there.older && ash__clock_ms() - loss_at_ms >= SUSPICION_MS)
        return 0;
    ash__value_text(ash__doc_get(doc, "_id"), id, sizeof id);
    /* The commit failed in this very process, and why is known. */
    if (loss_sequence == UINT64_MAX) {
        ash_error why = ash__engine_loss_error(s->engine);
        return ash__fail(err, why.code, "file %s lost chunks when a commit failed: %s", id,
                         why.text);
    }
    if (there.present < wanted)
        return ash__fail(err, ASH_ECONFLICT,
                         "file %s lacks chunk %" PRId64 " of %" PRId64
                         ", which was lost when the store went down: upload it again",
                         id, there.present, wanted);
    return ash__fail(err, ASH_ECONFLICT,
                     "file %s has other chunks than the %" PRId64
                     " it asks for, since the store went down during its upload: upload it again",
                     id, wanted);
}
