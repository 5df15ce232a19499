/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/content/named.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/options.h"

#include <string.h>

/* Collection.  Outside of transactions, contents are looked for that nobody names and that are old
 * enough; then some of them go in a transaction that looks again.  What they were made of is looked
 * at next, until nothing more goes. */

enum { LOOK_AT_ONCE = 256, DELETE_AT_ONCE = 16, APART_MAX = 1 << 18 };
static const int64_t DELETE_BYTES = 4 * 1024 * 1024;
/* Other writers wait for as long as a transaction runs. */
static const int64_t LONG_US = 4000, SHORT_US = 1000;
static const int64_t HOUR_S = 3600;

typedef struct candidate {
    ash_content_id id;
    int64_t stored;
    ash_content_id *bases;
    size_t base_count, base_capacity;
} candidate;

typedef struct collection {
    ash_contents *c;
    ash_tree_collect_options opts;
    ash_op op;
    ash_tree_collect_report report;
    int64_t now_ms;
    candidate batch[LOOK_AT_ONCE];
    size_t count;
    size_t at_once;              /* so many go in one transaction, as long as none takes long */
    int64_t dates[LOOK_AT_ONCE]; /* when each was stored or counted on last */
    ash_content_id *next;        /* what those were made of that went */
    size_t next_count, next_capacity;
    ash_id_set gone;  /* in a dry run: what would have gone */
    ash_id_set apart; /* what find_apart() found */
    ash_error *err;
} collection;

/* ---- looking ---- */

static void add_base(void *ctx, const ash_content_id *base)
{
    candidate *k = ctx;
    k->bases = ash__grow_array(k->bases, k->base_count, &k->base_capacity, sizeof *k->bases);
    k->bases[k->base_count++] = *base;
}

/* The later of when it came and when a writer counted on it. */
static int64_t last_date(ash_doc doc)
{
    ash_value came = ash__doc_get(doc, "uploadDate"), used = ash__doc_get(doc, "used");
    int64_t date = came.type == BSON_TYPE_DATE_TIME ? ash__value_int64(came) : 0;
    if (used.type == BSON_TYPE_OID) {
        int64_t at = (int64_t)bson_oid_get_time_t(ash__value_oid(used)) * 1000 + 999;
        date = at > date ? at : date;
    }
    return date;
}

static int64_t stored_bytes(ash_doc doc)
{
    int64_t length = 0;
    uint32_t in_len = 0;
    ash_value in = ash__doc_get(doc, "in");
    (void)ash__value_as_int64(ash__doc_get(doc, "length"), &length);
    if (in.type == BSON_TYPE_BINARY)
        (void)ash__value_binary_content(in, &in_len);
    if (length < 0)
        length = 0;
    ash__add_length(&length, in_len);
    return length;
}

static bool is_young(const collection *k, int64_t date_ms)
{
    int64_t age_s = k->opts.min_age_s != 0 ? k->opts.min_age_s : HOUR_S;
    return age_s > 0 && date_ms > k->now_ms - age_s * 1000;
}

static void clear_batch(collection *k)
{
    for (size_t i = 0; i < k->count; i++)
        ash__free(k->batch[i].bases);
    memset(k->batch, 0, k->count * sizeof k->batch[0]);
    k->count = 0;
}

/* ---- deleting ---- */

typedef struct deletion {
    collection *k;
    const candidate *all;
    size_t count;
    bool goes[DELETE_AT_ONCE]; /* by the last run */
    bool young[DELETE_AT_ONCE];
    int64_t took_us;
} deletion;

/* Whether a writer has counted on one since it was looked at. */
static int look_again(deletion *d, const ash_content_id *ids, const ash_op *op, ash_error *err)
{
    ash_find_options o = ASH_FIND_OPTIONS_INIT;
    bson_t filter = BSON_INITIALIZER;
    ash_cursor *cursor = NULL;
    bson_t *projection = BCON_NEW("uploadDate", BCON_INT32(1), "used", BCON_INT32(1));
    ash_doc doc = {NULL, 0};
    memset(d->goes, 0, sizeof d->goes);
    memset(d->young, 0, sizeof d->young);
    o.op = *op;
    o.projection = projection;
    ash__filter_ids(&filter, "_id", ids, d->count);
    int rc = ash_collection_find(d->k->c->files, &filter, &o, &cursor, err);
    while (rc == 0 && (rc = ash_cursor_next(cursor, &doc, err)) == 0 && doc.data != NULL) {
        ash_content_id id;
        (void)ash__content_id_from(ash__doc_get(doc, "_id"), &id);
        for (size_t i = 0; i < d->count; i++)
            if (ash__content_id_equal(&ids[i], &id)) {
                d->young[i] = is_young(d->k, last_date(doc));
                d->goes[i] = !d->young[i];
            }
    }
    ash_cursor_free(cursor);
    bson_destroy(projection);
    bson_destroy(&filter);
    return rc;
}

static int delete_in(ash_transaction *t, void *ctx, ash_error *err)
{
    deletion *d = ctx;
    ash_content_id ids[DELETE_AT_ONCE];
    bool named[DELETE_AT_ONCE];
    size_t n = 0;
    int64_t began = ash__clock_us();
    ash_op op = d->k->op;
    op.transaction = t;
    for (size_t i = 0; i < d->count; i++)
        ids[i] = d->all[i].id;
    int rc = look_again(d, ids, &op, err);
    if (rc == 0)
        rc = ash__contents_named(d->k->c, &(ash_naming){ids, d->count, NULL, named}, &op, err);
    if (rc != 0)
        return rc;
    for (size_t i = 0; i < d->count; i++) {
        d->goes[i] = d->goes[i] && !named[i];
        d->young[i] = d->young[i] && !named[i];
        if (d->goes[i])
            ids[n++] = d->all[i].id;
    }
    if (n > 0)
        rc = ash__contents_remove(d->k->c, ids, n, &op, err);
    d->took_us = ash__clock_us() - began;
    return rc;
}

static bool tell(collection *k, const candidate *one)
{
    char hex[ASH_DIGEST_TEXT_BYTES];
    ash__content_id_hex(&one->id, hex);
    return k->opts.each == NULL || k->opts.each(k->opts.each_ctx, hex, one->stored);
}

static int count_gone(collection *k, const candidate *one)
{
    k->report.contents++;
    ash__add_length(&k->report.bytes, one->stored);
    for (size_t i = 0; i < one->base_count; i++) {
        k->next = ash__grow_array(k->next, k->next_count, &k->next_capacity, sizeof *k->next);
        k->next[k->next_count++] = one->bases[i];
    }
    return tell(k, one) ? 0 : ash__fail(k->err, ASH_EINTERRUPTED, "collection was stopped");
}

static int delete_some(collection *k, const candidate *all, size_t count)
{
    deletion d = {.k = k, .all = all, .count = count};
    ash_error own = ASH_ERROR_INIT;
    int rc = ash_store_transact(k->c->store, delete_in, &d, &k->op, &own);
    if (d.took_us > LONG_US && k->at_once > 1)
        k->at_once /= 2;
    else if (d.took_us < SHORT_US && k->at_once < DELETE_AT_ONCE)
        k->at_once++;
    if (rc == ASH_ECONFLICT) /* somebody wants one of them: the next collection will see */
        return 0;
    if (rc != 0)
        return ash__unless(0, rc, &own, k->err);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        k->report.young += d.young[i];
        if (d.goes[i])
            rc = count_gone(k, &all[i]);
    }
    return rc;
}

static int pretend(collection *k, const candidate *all, size_t count)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        ash__id_set_add(&k->gone, &all[i].id);
        rc = count_gone(k, &all[i]);
    }
    return rc;
}

/* Those of the batch that nobody names, a few at a time: other writers wait for one such commit. */
static int delete_batch(collection *k, const candidate *all, size_t count)
{
    int rc = 0;
    if (k->opts.dry_run)
        return pretend(k, all, count);
    for (size_t i = 0; rc == 0 && i < count;) {
        size_t n = 0;
        int64_t bytes = 0;
        while (i + n < count && n < k->at_once &&
               (n == 0 || all[i + n].stored <= DELETE_BYTES - bytes))
            ash__add_length(&bytes, all[i + n++].stored);
        rc = ash__op_check(&k->op, k->err);
        if (rc == 0)
            rc = delete_some(k, all + i, n);
        i += n;
    }
    return rc;
}

static int end_batch(collection *k)
{
    ash_content_id ids[LOOK_AT_ONCE];
    bool named[LOOK_AT_ONCE];
    candidate all[LOOK_AT_ONCE];
    size_t n = 0;
    if (k->count == 0)
        return 0;
    for (size_t i = 0; i < k->count; i++)
        ids[i] = k->batch[i].id;
    const ash_naming naming = {ids, k->count, k->opts.dry_run ? &k->gone : NULL, named};
    int rc = ash__contents_named(k->c, &naming, &k->op, k->err);
    for (size_t i = 0; rc == 0 && i < k->count; i++) {
        if (named[i] || ash__id_set_has(&k->apart, &ids[i]))
            continue;
        if (is_young(k, k->dates[i]))
            k->report.young++;
        else
            all[n++] = k->batch[i];
    }
    if (rc == 0)
        rc = delete_batch(k, all, n);
    clear_batch(k);
    return rc;
}

/* ---- what no index leads to ---- */

static void add_apart(void *ctx, const ash_content_id *base)
{
    collection *k = ctx;
    if (k->apart.count <= APART_MAX)
        ash__id_set_add(&k->apart, base);
}

/* Lists of lists, and references by `sha`, stand in no index: v7files writes them where nothing is
 * collected, and else somebody's hand.  What they name stays, for this once also where they go. */
static int find_apart(collection *k)
{
    ash_find_options o = ASH_FIND_OPTIONS_INIT;
    ash_cursor *cursor = NULL;
    bson_t *projection = BCON_NEW("base", BCON_INT32(1), "alt", BCON_INT32(1));
    bson_t *filter = BCON_NEW("$or", "[", "{", "base.base", "{", "$exists", BCON_BOOL(true), "}",
                              "}", "{", "base.sha", "{", "$exists", BCON_BOOL(true), "}", "}", "{",
                              "alt.base.base", "{", "$exists", BCON_BOOL(true), "}", "}", "{",
                              "alt.base.sha", "{", "$exists", BCON_BOOL(true), "}", "}", "]");
    ash_doc doc = {NULL, 0};
    o.op = k->op;
    o.projection = projection;
    int rc = ash_collection_find(k->c->files, filter, &o, &cursor, k->err);
    while (rc == 0 && (rc = ash_cursor_next(cursor, &doc, k->err)) == 0 && doc.data != NULL)
        ash__content_bases(doc, add_apart, k);
    if (rc == 0 && k->apart.count > APART_MAX)
        rc = ash__fail(k->err, ASH_ETOOBIG,
                       "lists of lists name more contents than a collection remembers (%d); "
                       "nothing was deleted",
                       APART_MAX);
    ash_cursor_free(cursor);
    bson_destroy(filter);
    bson_destroy(projection);
    return rc;
}

/* ---- passes ---- */

static int consider(collection *k, ash_doc doc)
{
    candidate *one = &k->batch[k->count];
    if (!ash__content_id_from(ash__doc_get(doc, "_id"), &one->id))
        return 0; /* nothing of ours */
    if (k->opts.dry_run && ash__id_set_has(&k->gone, &one->id))
        return 0;
    one->stored = stored_bytes(doc);
    k->dates[k->count] = last_date(doc);
    ash__content_bases(doc, add_base, one);
    k->count++;
    k->report.looked_at++;
    return k->count == LOOK_AT_ONCE ? end_batch(k) : 0;
}

static int pass(collection *k, const bson_t *filter)
{
    ash_find_options o = ASH_FIND_OPTIONS_INIT;
    ash_cursor *cursor = NULL;
    bson_t *projection = BCON_NEW("refs", BCON_INT32(0), "refHistory", BCON_INT32(0));
    ash_doc doc = {NULL, 0};
    o.op = k->op;
    o.projection = projection;
    int rc = ash_collection_find(k->c->files, filter, &o, &cursor, k->err);
    while (rc == 0 && (rc = ash_cursor_next(cursor, &doc, k->err)) == 0 && doc.data != NULL)
        rc = consider(k, doc);
    if (rc == 0)
        rc = end_batch(k);
    ash_cursor_free(cursor);
    bson_destroy(projection);
    clear_batch(k);
    return rc;
}

/* What the contents that went were made of, some at a time. */
static int pass_of_bases(collection *k)
{
    ash_content_id *ids = k->next;
    size_t count = k->next_count;
    int rc = 0;
    k->next = NULL;
    k->next_count = k->next_capacity = 0;
    for (size_t i = 0; rc == 0 && i < count; i += ASH_CONTENT_IDS_AT_ONCE) {
        bson_t filter = BSON_INITIALIZER;
        size_t n = count - i < ASH_CONTENT_IDS_AT_ONCE ? count - i : ASH_CONTENT_IDS_AT_ONCE;
        ash__filter_ids(&filter, "_id", ids + i, n);
        rc = pass(k, &filter);
        bson_destroy(&filter);
    }
    ash__free(ids);
    return rc;
}

static int run(collection *k)
{
    bson_t all = BSON_INITIALIZER;
    int rc = ash_store_time(k->c->store, &k->now_ms, NULL, k->err);
    if (rc == 0 && !k->opts.dry_run)
        rc = ash__contents_prepare(k->c, &k->op, k->err);
    /* Where rows of the metadata are lost, nobody seems to name what somebody does. */
    if (rc == 0 && !k->opts.dry_run)
        rc = ash__contents_require_sound(k->c, k->err);
    if (rc == 0)
        rc = find_apart(k);
    if (rc == 0)
        rc = pass(k, &all);
    int64_t looked_at = k->report.looked_at, young = k->report.young;
    while (rc == 0 && k->next_count > 0)
        rc = pass_of_bases(k);
    /* Contents that were looked at twice count once. */
    k->report.looked_at = looked_at;
    k->report.young = young;
    bson_destroy(&all);
    return rc;
}

int ash__contents_collect(ash_contents *c, const ash_tree_collect_options *opts, const ash_op *op,
                          ash_tree_collect_report *report, ash_error *err)
{
    collection *k = ash__new(collection);
    k->c = c;
    k->err = err;
    k->at_once = DELETE_AT_ONCE / 4;
    int rc = ash__options_copy(&k->opts, sizeof k->opts, opts, err);
    if (rc == 0)
        rc = ash__contents_op(op, &k->op, err);
    if (rc == 0 && c->last_generation)
        rc = ash__fail(err, ASH_EREADONLY, "contents of v7files' last generation are only read");
    if (rc == 0 && k->op.transaction != NULL)
        rc = ash__fail(err, ASH_ESTATE, "a collection has transactions of its own");
    /* A deletion that a crash undoes is done by the next collection; to wait for the disk each time
     * would make everybody wait. */
    k->op.durability = ASH_DURABILITY_INTERVAL;
    if (rc == 0)
        rc = run(k);
    k->report.size = sizeof k->report;
    if (report != NULL) {
        int copied = ash__out_copy(report, &k->report, sizeof k->report, rc == 0 ? err : NULL);
        rc = rc == 0 ? copied : rc;
    }
    clear_batch(k);
    ash__id_set_release(&k->gone);
    ash__id_set_release(&k->apart);
    ash__free(k->next);
    ash__free(k);
    return rc;
}

int ash__contents_measure(ash_contents *c, const ash_op *op, ash_contents_sum *out, ash_error *err)
{
    ash_find_options o = ASH_FIND_OPTIONS_INIT;
    bson_t all = BSON_INITIALIZER;
    ash_cursor *cursor = NULL;
    ash_doc doc = {NULL, 0};
    bson_t *projection =
        BCON_NEW("length", BCON_INT32(1), "in", BCON_INT32(1), "zin", BCON_INT32(1));
    *out = (ash_contents_sum){0};
    int rc = ash__contents_op(op, &o.op, err);
    o.projection = projection;
    if (rc == 0)
        rc = ash_collection_find(c->files, &all, &o, &cursor, err);
    while (rc == 0 && (rc = ash_cursor_next(cursor, &doc, err)) == 0 && doc.data != NULL) {
        out->contents++;
        ash__add_length(&out->stored_bytes, stored_bytes(doc));
    }
    ash_cursor_free(cursor);
    bson_destroy(projection);
    bson_destroy(&all);
    return rc;
}
