/* SPDX-License-Identifier: Apache-2.0 */
/* Which kind of cursor a find becomes; everything about it that can be refused is refused here. */

#include "store/embedded/find/cursor.h"

#include "base/budget.h"
#include "store/embedded/files/chunks.h"
#include "store/embedded/files/versions.h"
#include "store/embedded/kit/view.h"

#include <string.h>

static int check_options(const ash_find_options *opts, ash_error *err)
{
    if (opts->skip < 0)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_NEGATIVE_NUMBER,
                                "skip value must be non-negative");
    if (opts->limit < 0)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_NEGATIVE_NUMBER,
                                "limit value must be non-negative");
    if (opts->tailable && opts->op.at_time != 0)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_OPTIONS,
                                "a tailable cursor cannot read a held snapshot");
    if (opts->await_data && !opts->tailable)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "cannot set awaitData without tailable");
    return 0;
}

static ash_find_cursor *make_cursor(ash_embedded *s, ash_ns ns, const ash_find_options *opts)
{
    ash_find_cursor *c = ash__new(ash_find_cursor);
    c->base.ops = &ash__find_cursor_ops;
    c->base.store = &s->base;
    c->store = s;
    c->op = opts->op;
    /* It is of writes, and points into the caller's memory. */
    c->op.retry = NULL;
    c->db = ash__strdup(ns.db);
    c->coll = ash__strdup(ns.coll);
    c->skip = opts->skip;
    c->limit = opts->limit > 0 ? opts->limit : -1;
    c->gives_files = opts->op.reader != 0 && opts->op.transaction == NULL &&
                     ash__name_ends_with(ns.coll, ".files");
    c->tailable = opts->tailable;
    c->await_data = opts->await_data;
    c->show_record_id = opts->show_record_id;
    c->past_damage = opts->past_damage;
    c->await_ms = opts->max_await_ms > 0 ? opts->max_await_ms : 1000;
    ash__batch_memory_init(&c->batch, s);
    return c;
}

/* A download reads one file's chunks, in order of n or as they come; within a transaction nobody
 * can delete them meanwhile. */
static bool is_download(const ash_find_cursor *c, const ash_find_options *opts)
{
    /* A dated snapshot is itself what a download would keep. */
    if (ash__op_writer(&opts->op) != NULL || opts->op.at_time != 0 || opts->tailable ||
        opts->show_record_id)
        return false;
    /* Who asks for it by name need not be recognised. */
    if (opts->download)
        return true;
    if (!ash__name_ends_with(c->coll, ".chunks"))
        return false;
    /* Another order would have to read the documents, which a download puts off. */
    if (opts->sort != NULL && !bson_empty(opts->sort) &&
        !(bson_count_keys(opts->sort) == 1 && bson_has_field(opts->sort, "n")))
        return false;
    return !ash__value_is_missing(ash__chunks_file_of(c->request.filter));
}

/* Records are followed in the order of their insertion, whatever indexes there are. */
static int plan_tailable(ash_find_cursor *c, const ash_coll *coll, ash_error *err)
{
    /* {$natural: 1}, as bytes. */
    static const uint8_t natural[] = {19,  0,   0,   0, 16, '$', 'n', 'a', 't', 'u',
                                      'r', 'a', 'l', 0, 1,  0,   0,   0,   0};
    bson_value_t hint = {.value_type = BSON_TYPE_DOCUMENT};
    hint.value.v_doc.data = (uint8_t *)(uintptr_t)natural;
    hint.value.v_doc.data_len = sizeof natural;
    if (!coll->capped)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "error processing query: tailable cursor requested on non capped "
                                "collection");
    if (!ash__sort_spec_is_empty(c->request.sort) && ash__sort_spec_natural(c->request.sort) != 1)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "error processing query: tailable cursors cannot be sorted");
    return ash__request_plan(&c->request, coll, &hint, err);
}

static int begin_download(ash_find_cursor *c, int rc)
{
    c->mode = ASH_CURSOR_DOWNLOAD;
    c->op.transaction = NULL; /* it outlives a look */
    if (rc == 0)
        ash__batch_memory_keep(&c->batch, ash__download_pins(c->download));
    return rc;
}

static int open_on_collection(ash_find_cursor *c, const ash_coll *coll, ash_reading *reading,
                              const ash_find_options *opts, ash_error *err)
{
    int rc = c->tailable ? plan_tailable(c, coll, err)
                         : ash__request_plan(&c->request, coll, opts->hint, err);
    if (rc != 0)
        return rc;
    memcpy(c->uuid, coll->uuid, sizeof c->uuid);
    if (is_download(c, opts)) {
        ash_download_spec spec = {&c->request, &c->op, opts->skip, opts->limit};
        rc = ash__download_open(c->store, reading, coll, &spec, &c->download, err);
        return begin_download(c, rc);
    }
    bool sorted = ash__sort_spec_is_empty(c->request.sort) ||
                  ash__sort_spec_natural(c->request.sort) != 0 || c->request.plan->provides_sort;
    c->mode = sorted ? ASH_CURSOR_STREAM : ASH_CURSOR_SORTED;
    ash__scan_plan_init(&c->scan, &c->request, &c->op, ASH_FETCH_DOC);
    if (c->mode == ASH_CURSOR_STREAM && c->request.plan->kind == ASH_PLAN_IXSCAN &&
        !c->show_record_id && !c->gives_files)
        c->cover = ash__cover_new(opts->projection, c->request.plan->index);
    return 0;
}

static int compile(ash_find_cursor *c, const ash_find_spec *find, const ash_coll *coll,
                   ash_error *err)
{
    const ash_find_options *opts = find->opts;
    ash_request_spec spec = {find->filter, opts->sort, opts->projection, opts->hint,
                             c->store->files};
    c->request.min = ash__doc_from_bson(opts->min);
    c->request.max = ash__doc_from_bson(opts->max);
    ash__env_adopt(&c->env, coll);
    return ash__request_compile(&c->request, &spec, &c->env.query, err);
}

/* The newest snapshot, or the one that fits the files document which the client has.  Kept versions
 * are looked for second: one was kept before the commit that a snapshot might see. */
static int begin_reading(ash_embedded *s, const ash_find_spec *spec, ash_reading *reading,
                         ash_version **version, ash_error *err)
{
    const ash_op *op = &spec->opts->op;
    int rc = ash__reading_begin(s, op, reading, err);
    if (rc != 0 || op->reader == 0 || op->transaction != NULL ||
        !ash__name_ends_with(spec->ns.coll, ".chunks"))
        return rc;
    *version = ash__versions_borrow(s, op->reader, spec->ns, spec->filter);
    /* The version's snapshot instead; it stays the store's, so this reading does not own it. */
    if (*version != NULL) {
        ash__reading_end(reading);
        reading->snap = ash__version_snapshot(*version);
    }
    return 0;
}

int ash__find_open(ash_embedded *s, const ash_find_spec *spec, ash_find_cursor **out,
                   ash_error *err)
{
    const ash_find_options *opts = spec->opts;
    const ash_coll *found = NULL;
    ash_reading reading = {0};
    ash_version *version = NULL;
    *out = NULL;
    int rc = check_options(opts, err);
    if (rc != 0)
        return rc;
    ash_find_cursor *c = make_cursor(s, spec->ns, opts);
    rc = ash__env_init(s, &opts->op, opts->collation, opts->let, &c->env, err);
    if (rc == 0)
        rc = begin_reading(s, spec, &reading, &version, err);
    if (rc == 0)
        rc = ash__catalog_find(reading.snap, spec->ns.db, spec->ns.coll, &found, err);
    /* A filter may be so large that compiling it takes long. */
    ash_budget outer = ash__budget_enter(opts->op.deadline_ms, opts->op.cancel, 0);
    if (rc == 0)
        rc = ash__view_refuse(found, err);
    if (rc == 0)
        rc = compile(c, spec, found, err);
    ash__budget_leave(outer);
    if (rc == 0 && found != NULL)
        rc = open_on_collection(c, found, &reading, opts, err);
    ash__reading_end(&reading);
    ash__versions_give_back(s, version);
    if (rc != 0) {
        c->base.ops->free(&c->base);
        return rc;
    }
    *out = c;
    return 0;
}

int ash__find_open_chunks(ash_embedded *s, ash_ns ns, const ash_chunk_range *range,
                          const ash_find_options *opts, ash_find_cursor **out, ash_error *err)
{
    const ash_coll *found = NULL;
    const ash_index *index = NULL;
    ash_find_cursor *c = NULL;
    ash_reading reading = {0};
    int rc = ash__reading_begin(s, &opts->op, &reading, err);
    if (rc == 0)
        rc = ash__catalog_find(reading.snap, ns.db, ns.coll, &found, err);
    if (rc == 0 && found != NULL)
        index = ash__chunk_range_index(found);
    /* Without a collection or the index the planner says what is to be done. */
    if (index != NULL) {
        c = make_cursor(s, ns, opts);
        ash_range_spec spec = {found, index, range, &c->op};
        rc = ash__download_open_range(s, &reading, &spec, &c->download, err);
        begin_download(c, rc);
    }
    ash__reading_end(&reading);
    if (rc != 0 && c != NULL)
        c->base.ops->free(&c->base);
    else
        *out = c;
    return rc;
}
