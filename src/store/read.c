/* SPDX-License-Identifier: Apache-2.0 */
/* Finding, counting and explaining: what no backend could make sense of is refused here, once. */

#include "store/call.h"

#include "base/budget.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/options.h"

#include <string.h>

#define DEFAULT_AWAIT_MS 1000

static int check_hint(const bson_value_t *hint, ash_error *err)
{
    if (hint == NULL || hint->value_type == BSON_TYPE_UTF8 ||
        hint->value_type == BSON_TYPE_DOCUMENT)
        return 0;
    return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                            "hint must be an index's name or its key document");
}

static int check_find_options(ash_find_options *o, ash_error *err)
{
    if (o->skip < 0 || o->limit < 0 || o->batch_size < 0)
        return ash__fail(err, ASH_EINVAL, "skip, limit and batch size must not be negative");
    if (o->await_data && !o->tailable)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "await_data needs a tailable cursor");
    if (o->tailable && o->sort != NULL && !bson_empty(o->sort)) {
        bson_iter_t it;
        /* {$natural: 1} is the order a tailable cursor has anyway. */
        if (!bson_iter_init_find(&it, o->sort, "$natural"))
            return ash__fail(err, ASH_EINVAL, "a tailable cursor cannot sort");
    }
    if (o->max_await_ms <= 0)
        o->max_await_ms = DEFAULT_AWAIT_MS;
    return check_hint(o->hint, err);
}

int ash_collection_find(ash_collection *c, const bson_t *filter, const ash_find_options *opts,
                        ash_cursor **out, ash_error *err)
{
    ash_find_options o;
    int rc = ash__op_options_copy(&o, offsetof(ash_find_options, op), opts, err);
    *out = NULL;
    if (rc == 0)
        rc = ash__call_read(c->store, &o.op, err);
    if (rc == 0)
        rc = check_find_options(&o, err);
    if (rc != 0)
        return rc;
    rc = c->store->ops->find(c->store, ash__ns_of(c), ash__bson_or_empty(filter), &o, out, err);
    if (rc == 0)
        (*out)->in_transaction = o.op.transaction != NULL;
    return rc;
}

int ash_collection_find_one(ash_collection *c, const bson_t *filter, const ash_find_options *opts,
                            bson_t *out, ash_error *err)
{
    ash_find_options o;
    ash_cursor *cursor = NULL;
    ash_batch batch;
    int rc = ash__op_options_copy(&o, offsetof(ash_find_options, op), opts, err);
    if (rc != 0)
        return rc;
    o.limit = 1;
    o.tailable = o.await_data = false;
    rc = ash_collection_find(c, filter, &o, &cursor, err);
    if (rc == 0)
        rc = ash_cursor_next_batch(cursor, 1, 0, &batch, err);
    if (rc == 0 && batch.count == 0) {
        rc = ash__fail(err, ASH_ENOTFOUND, "no document in %s.%s matches", c->db, c->name);
    } else if (rc == 0) {
        bson_t view;
        ash_assert(bson_init_static(&view, batch.docs[0].data, batch.docs[0].len));
        bson_copy_to(&view, out);
    }
    ash_cursor_free(cursor);
    return rc;
}

/* $out and $merge are only allowed as the last stage, but a misplaced one is refused all the same:
 * the answer then comes from the backend of a store that may write. */
bool ash__pipeline_writes(const bson_t *pipeline)
{
    bson_iter_t it, stage;
    if (!bson_iter_init(&it, pipeline))
        return false;
    while (bson_iter_next(&it)) {
        if (BSON_ITER_HOLDS_DOCUMENT(&it) && bson_iter_recurse(&it, &stage) &&
            bson_iter_next(&stage) &&
            (strcmp(bson_iter_key(&stage), "$out") == 0 ||
             strcmp(bson_iter_key(&stage), "$merge") == 0))
            return true;
    }
    return false;
}

static int aggregate(ash_store *store, ash_ns ns, const bson_t *pipeline,
                     const ash_aggregate_options *opts, ash_cursor **out, ash_error *err)
{
    ash_aggregate_options o;
    const bson_t *stages = ash__bson_or_empty(pipeline);
    int rc = ash__op_options_copy(&o, offsetof(ash_aggregate_options, op), opts, err);
    *out = NULL;
    /* A pipeline that ends in $out is a write in the clothes of a read. */
    if (rc == 0 && ash__pipeline_writes(stages))
        rc = ash__call_write(store, &o.op, err);
    else if (rc == 0)
        rc = ash__call_read(store, &o.op, err);
    if (rc == 0)
        rc = check_hint(o.hint, err);
    if (rc == 0 && o.batch_size < 0)
        rc = ash__fail(err, ASH_EINVAL, "batch size must not be negative");
    if (rc != 0)
        return rc;
    if (o.max_await_ms <= 0)
        o.max_await_ms = DEFAULT_AWAIT_MS;
    rc = store->ops->aggregate(store, ns, stages, &o, out, err);
    if (rc == 0)
        (*out)->in_transaction = o.op.transaction != NULL;
    return rc;
}

int ash_collection_aggregate(ash_collection *c, const bson_t *pipeline,
                             const ash_aggregate_options *opts, ash_cursor **out, ash_error *err)
{
    return aggregate(c->store, ash__ns_of(c), pipeline, opts, out, err);
}

int ash_store_aggregate(ash_store *store, const char *db, const bson_t *pipeline,
                        const ash_aggregate_options *opts, ash_cursor **out, ash_error *err)
{
    int rc = ash__call_db(store, db, &db, err);
    *out = NULL;
    if (rc != 0)
        return rc;
    return aggregate(store, (ash_ns){db, NULL}, pipeline, opts, out, err);
}

int ash_collection_count(ash_collection *c, const bson_t *filter, const ash_count_options *opts,
                         int64_t *out, ash_error *err)
{
    ash_count_options o;
    /* *out is set on success only, whatever a backend does. */
    int64_t count = 0;
    int rc = ash__op_options_copy(&o, offsetof(ash_count_options, op), opts, err);
    if (rc == 0)
        rc = ash__call_read(c->store, &o.op, err);
    if (rc == 0 && (o.skip < 0 || o.limit < 0))
        rc = ash__fail(err, ASH_EINVAL, "skip and limit must not be negative");
    if (rc == 0)
        rc = check_hint(o.hint, err);
    /* Unlike a cursor, which enters its budget in each batch, this runs to its end here. */
    ash_budget outer = ash__budget_enter(o.op.deadline_ms, o.op.cancel, 0);
    if (rc == 0)
        rc = c->store->ops->count(c->store, ash__ns_of(c), ash__bson_or_empty(filter), &o, &count,
                                  err);
    ash__budget_leave(outer);
    if (rc == 0)
        *out = count;
    return rc;
}

int ash_collection_distinct(ash_collection *c, const char *key, const bson_t *filter,
                            const bson_t *collation, const ash_op *op, bson_t *out, ash_error *err)
{
    ash_op o;
    ash_distinct_request request = {key, ash__bson_or_empty(filter), collation};
    int rc = ash__call_read_op(c->store, op, &o, err);
    if (rc != 0)
        return rc;
    if (key[0] == '\0')
        return ash__fail(err, ASH_EINVAL, "key of distinct is empty");
    ash_budget outer = ash__budget_enter(o.deadline_ms, o.cancel, 0);
    rc = c->store->ops->distinct(c->store, ash__ns_of(c), &request, &o, out, err);
    ash__budget_leave(outer);
    return rc;
}

static bool is_verbosity(const char *text)
{
    return strcmp(text, "queryPlanner") == 0 || strcmp(text, "executionStats") == 0 ||
           strcmp(text, "allPlansExecution") == 0;
}

int ash_collection_explain(ash_collection *c, const bson_t *command, const char *verbosity,
                           const ash_op *op, bson_t *out, ash_error *err)
{
    ash_op o;
    int rc = ash__call_read_op(c->store, op, &o, err);
    if (rc != 0)
        return rc;
    if (verbosity == NULL)
        verbosity = "allPlansExecution"; /* the explain command's own default */
    if (!is_verbosity(verbosity))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "verbosity of explain '%s' is none of queryPlanner, "
                                "executionStats, allPlansExecution",
                                verbosity);
    if (command == NULL || bson_empty(command))
        return ash__fail(err, ASH_EINVAL, "command to explain is empty");
    ash_explain_request request = {command, verbosity};
    return c->store->ops->explain(c->store, ash__ns_of(c), &request, &o, out, err);
}
