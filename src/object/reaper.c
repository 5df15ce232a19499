/* SPDX-License-Identifier: Apache-2.0 */
/* What is over, in all object stores of a store.  Of each it is known as of which revision it was
 * looked at, and when its next end comes: a store whose revision is the same has no earlier one. */
#include "object/core.h"

#include "base/mem.h"
#include "base/options.h"

#include <stdlib.h>
#include <string.h>

typedef struct reaped {
    char *db, *name;
    int64_t created_ms; /* the next store of a name may come to the same revision */
    uint64_t revision;
    int64_t next_ms; /* 0: nothing has an end */
    bool seen;       /* in this round */
} reaped;

struct ash_object_reaper {
    ash_store *store;
    reaped *items; /* in order, up to `known`; behind them what this round found */
    size_t count, capacity, known;
    /* Of the round: */
    const ash_op *op;
    int64_t now_ms;
    ash_object_sweep_report *report;
};

int ash_object_reaper_open(ash_store *store, ash_object_reaper **out, ash_error *err)
{
    (void)err;
    ash_assert(store != NULL && out != NULL);
    ash_object_reaper *r = ash__new(ash_object_reaper);
    r->store = store;
    *out = r;
    return 0;
}

static void release(reaped *i)
{
    ash__free(i->db);
    ash__free(i->name);
}

void ash_object_reaper_close(ash_object_reaper *r)
{
    if (r == NULL)
        return;
    for (size_t i = 0; i < r->count; i++)
        release(&r->items[i]);
    ash__free(r->items);
    ash__free(r);
}

/* ---- one object store ---- */

typedef struct place {
    const char *db, *name;
} place;

static int compare_place(const void *key, const void *item)
{
    const place *p = key;
    const reaped *i = item;
    int dbs = strcmp(p->db, i->db);
    return dbs != 0 ? dbs : strcmp(p->name, i->name);
}

static int compare(const void *a, const void *b)
{
    const reaped *i = a;
    return compare_place(&(place){i->db, i->name}, b);
}

/* A round comes to each once, so what it found by itself need not be searched. */
static reaped *entry_of(ash_object_reaper *r, const char *db, const char *name)
{
    place key = {db, name};
    reaped *known =
        r->known > 0 ? bsearch(&key, r->items, r->known, sizeof *r->items, compare_place) : NULL;
    if (known != NULL)
        return known;
    r->items = ash__grow_array(r->items, r->count, &r->capacity, sizeof *r->items);
    r->items[r->count] = (reaped){.db = ash__strdup(db), .name = ash__strdup(name)};
    return &r->items[r->count++];
}

static bool is_due(const ash_object_reaper *r, const reaped *i, const ash_object_status *st)
{
    return i->created_ms != st->created_ms || i->revision != st->revision ||
           (i->next_ms != 0 && i->next_ms <= r->now_ms);
}

static int reap_store(ash_object_reaper *r, ash_object_manager *m, const char *name,
                      int64_t *next_ms, ash_error *err)
{
    ash_object_sweep_options o = ASH_OBJECT_SWEEP_OPTIONS_INIT;
    ash_object_sweep_report report = ASH_OBJECT_SWEEP_REPORT_INIT;
    ash_object_store *s = NULL;
    ash_error own = ASH_ERROR_INIT;
    o.expired_only = true;
    int rc = ash_object_manager_bind(m, name, r->op, &s, &own);
    if (rc == 0)
        rc = ash_object_store_sweep(s, &o, r->op, &report, &own);
    if (rc == 0)
        rc = m->ops->next_end(s, r->op, next_ms, &own);
    r->report->expired += report.expired;
    r->report->tombstones += report.tombstones;
    ash_object_store_close(s);
    return ash__unless(ASH_ENOTFOUND, rc, &own, err); /* deleted just now */
}

/* As of the revision that was listed: what is changed meanwhile has another, and is looked at again. */
static int look_at(ash_object_reaper *r, ash_object_manager *m, const char *db,
                   const ash_object_status *st, ash_error *err)
{
    const char *name = ash_object_status_name(st);
    reaped *i = entry_of(r, db, name);
    int64_t next = 0;
    i->seen = true;
    if (!is_due(r, i, st))
        return 0;
    int rc = reap_store(r, m, name, &next, err);
    if (rc != 0)
        return rc;
    i->created_ms = st->created_ms;
    i->revision = st->revision;
    i->next_ms = next;
    return 0;
}

/* ---- all of them ---- */

/* One store's trouble is not the others': the first is told when all had their turn. */
static int reap_database(ash_object_reaper *r, const char *db, ash_error *err)
{
    ash_object_manager_options o = ASH_OBJECT_MANAGER_OPTIONS_INIT;
    ash_object_manager *m = NULL;
    ash_object_status_listing *l = NULL;
    const ash_object_status *st = NULL;
    o.db = db;
    int rc = ash_object_manager_new(r->store, &o, &m, err);
    if (rc == 0)
        rc = ash_object_manager_list(m, r->op, &l, err);
    bool listed = rc == 0;
    while (listed && ash_object_status_listing_next(l, &st, NULL) == 0 && st != NULL) {
        ash_error own = ASH_ERROR_INIT;
        int one = look_at(r, m, db, st, &own);
        if (one == ASH_EINTERRUPTED)
            listed = false;
        if (one != 0 && rc == 0)
            rc = ash__fail(err, one, "object store %s in database %s: %s",
                           ash_object_status_name(st), db, own.text);
    }
    ash_object_status_listing_free(l);
    ash_object_manager_close(m);
    return rc;
}

static void forget_deleted(ash_object_reaper *r)
{
    size_t kept = 0;
    for (size_t i = 0; i < r->count; i++) {
        if (r->items[i].seen)
            r->items[kept++] = r->items[i];
        else
            release(&r->items[i]);
    }
    r->count = kept;
}

static void put_in_order(ash_object_reaper *r)
{
    if (r->count > 0)
        qsort(r->items, r->count, sizeof *r->items, compare);
    r->known = r->count;
}

static int reap_databases(ash_object_reaper *r, const bson_t *reply, ash_error *err)
{
    bson_iter_t it, list, db;
    int rc = 0;
    if (!bson_iter_init_find(&it, reply, "databases") || !bson_iter_recurse(&it, &list))
        return 0;
    while (rc != ASH_EINTERRUPTED && bson_iter_next(&list)) {
        ash_error own = ASH_ERROR_INIT;
        if (!bson_iter_recurse(&list, &db) || !bson_iter_find(&db, "name"))
            continue;
        int one = reap_database(r, bson_iter_utf8(&db, NULL), &own);
        if (one != 0 && (rc == 0 || one == ASH_EINTERRUPTED))
            rc = ash__fail(err, one, "%s", own.text);
    }
    return rc;
}

int ash_object_reaper_round(ash_object_reaper *r, const ash_op *op, ash_object_sweep_report *report,
                            ash_error *err)
{
    ash_object_sweep_report own_report = ASH_OBJECT_SWEEP_REPORT_INIT;
    bson_t reply;
    ash_op own = ash__op_of(op);
    r->op = &own;
    r->report = &own_report;
    for (size_t i = 0; i < r->count; i++)
        r->items[i].seen = false;
    int rc = ash_store_time(r->store, &r->now_ms, NULL, err);
    if (rc == 0)
        rc = ash_store_list_databases(r->store, &own, &reply, err);
    if (rc == 0) {
        rc = reap_databases(r, &reply, err);
        bson_destroy(&reply);
    }
    if (rc == 0)
        forget_deleted(r);
    put_in_order(r);
    if (report != NULL)
        (void)ash__out_copy(report, &own_report, sizeof own_report, NULL);
    return rc;
}
