/* SPDX-License-Identifier: Apache-2.0 */
/* Count: the number that the engine keeps where all are counted, else a scan that fetches as little
 * as the filter allows. */

#include "store/embedded/read/slots.h"

#include "base/clock.h"
#include "store/embedded/read/views.h"
#include "store/embedded/scan/plan.h"

typedef struct counting {
    ash_embedded *store;
    const ash_count_options *opts;
    ash_env env;
    ash_request request;
} counting;

/* More than this need not be looked at. */
static int64_t most_wanted(const ash_count_options *o)
{
    return o->limit > 0 && o->skip <= INT64_MAX - o->limit ? o->skip + o->limit : INT64_MAX;
}

static int count_matches(counting *n, ash_snapshot *snap, const ash_coll *coll, int64_t *out,
                         ash_error *err)
{
    ash_scan_plan scan;
    int64_t most = most_wanted(n->opts);
    int64_t seen = 0;
    int rc = ash__request_plan(&n->request, coll, n->opts->hint, err);
    if (rc != 0)
        return rc;
    ash__scan_plan_init(&scan, &n->request, &n->opts->op, ASH_FETCH_NONE);
    rc = ash__scan_plan_attach(&scan, snap, coll, err);
    while (rc == 0 && seen < most) {
        ash_record r;
        bool found = false;
        rc = ash__scan_plan_next(&scan, &r, NULL, &found, err);
        if (rc != 0 || !found)
            break;
        seen++;
    }
    ash__scan_plan_release(&scan);
    *out = seen;
    return rc;
}

static int count_in_view(counting *n, const bson_t *filter, ash_snapshot *snap,
                         const ash_coll *coll, int64_t *out, ash_error *err)
{
    ash_request_spec spec = {.filter = filter, .files = n->store->files};
    ash_coll_stats stats;
    /* The collection's collation decides what matches, unless the count brings its own. */
    ash__env_adopt(&n->env, coll);
    int rc = ash__view_refuse(coll, err);
    if (rc != 0)
        return rc;
    rc = ash__request_compile(&n->request, &spec, &n->env.query, err);
    if (rc != 0 || coll == NULL)
        return rc;
    /* A hint may be a sparse or partial index: then its keys are counted. */
    if (!ash__matcher_is_empty(n->request.filter) || n->opts->hint != NULL)
        return count_matches(n, snap, coll, out, err);
    rc = ash__coll_stats(snap, coll, &stats, err);
    if (rc == 0)
        *out = (int64_t)stats.count;
    return rc;
}

static int count_collection(ash_store *store, ash_ns ns, const bson_t *filter,
                            const ash_count_options *opts, int64_t *out, ash_error *err)
{
    counting n = {.store = ash__embedded(store), .opts = opts};
    ash_reading reading = {0};
    const ash_coll *found = NULL;
    int64_t all = 0;
    int64_t from_ms = ash__clock_ms();
    if (opts->skip < 0)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_NEGATIVE_NUMBER,
                                "skip value must be non-negative");
    int rc = ash__env_init(n.store, &opts->op, opts->collation, NULL, &n.env, err);
    if (rc == 0)
        rc = ash__reading_begin(n.store, &opts->op, &reading, err);
    if (rc == 0)
        rc = ash__catalog_find(reading.snap, ns.db, ns.coll, &found, err);
    if (rc == 0)
        rc = count_in_view(&n, filter, reading.snap, found, &all, err);
    ash__reading_end(&reading);
    ash__request_release(&n.request);
    ash__env_release(&n.env);
    ash__slow_note(n.store, "count", ns, from_ms);
    if (rc != 0)
        return rc;
    /* Only now: the scan counted what is to be skipped as well. */
    all = all > opts->skip ? all - opts->skip : 0;
    /* A negative limit counts like its absolute value. */
    int64_t limit = opts->limit == INT64_MIN ? INT64_MAX
                    : opts->limit < 0        ? -opts->limit
                                             : opts->limit;
    *out = limit > 0 && all > limit ? limit : all;
    return 0;
}

int ash__embedded_count(ash_store *store, ash_ns ns, const bson_t *filter,
                        const ash_count_options *opts, int64_t *out, ash_error *err)
{
    ash_error own = ASH_ERROR_INIT;
    int rc = count_collection(store, ns, filter, opts, out, &own);
    if (ash__view_was_refused(rc, &own))
        return ash__view_count(ash__embedded(store), ns, filter, opts, out, err);
    if (rc != 0 && err != NULL)
        *err = own;
    return rc;
}
