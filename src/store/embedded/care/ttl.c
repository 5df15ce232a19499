/* SPDX-License-Identifier: Apache-2.0 */
/* Documents that expire: found by the TTL index itself, deleted in turns of the writer like any
 * other. */

#include "store/embedded/care/sweep.h"

#include "base/budget.h"
#include "base/clock.h"
#include "store/embedded/kit/rid_set.h"
#include "store/embedded/write/change.h"

/* Of one turn: other writers wait behind it. */
#define TURN_RECORDS 500
#define TURN_MS      20

typedef struct expiring {
    uint32_t coll_id;
    uint32_t index_id;
} expiring;

typedef struct expiring_list {
    expiring *items;
    size_t count;
} expiring_list;

/* One TTL index, turn by turn. */
typedef struct expiry {
    ash_embedded *store;
    expiring what;
    bool more;
    size_t deleted;   /* in this turn */
    ash_error damage; /* the first document that cannot be read */
} expiry;

static bool note_index(void *ctx, const ash_coll *c, const ash_index *index)
{
    expiring_list *list = ctx;
    /* It lacks records, and will be looked at when it has them. */
    if (!index->ready)
        return true;
    list->items = ash__realloc_array(list->items, list->count + 1, sizeof *list->items);
    list->items[list->count++] = (expiring){c->id, index->id};
    return true;
}

/* The keys of dates that are over; other types never expire. */
static void expired_range(const ash_index *index, ash_buffer *from, ash_buffer *to)
{
    ash_value_box box;
    bool descending = index->pattern.parts[0].descending;
    int64_t before = ash__clock_wall_ms() - 1000 * index->expire_after_s;
    ash_value last = ash__box_date(&box, before);
    if (descending) {
        ash__keycode_append(from, last, true, NULL);
        /* Descending, the oldest dates stand last. */
        ash__keycode_append_bracket_end(to, BSON_TYPE_DATE_TIME, true);
    } else {
        ash__keycode_append_bracket_start(from, BSON_TYPE_DATE_TIME, false);
        ash__keycode_append(to, last, false, NULL);
        ash__keycode_successor(to);
    }
}

static int find_expired(ash_snapshot *snap, const ash_index *index, ash_rid_list *out,
                        ash_error *err)
{
    ash_buffer from = ASH_BUFFER_INIT;
    ash_buffer to = ASH_BUFFER_INIT;
    bool found = true;
    int rc = 0;
    expired_range(index, &from, &to);
    const ash_scan_range expired = {{from.data, from.len}, {to.data, to.len}, false};
    ash_scan *scan = ash__scan_index(snap, index, &expired, NULL);
    while (rc == 0 && found && out->count < TURN_RECORDS) {
        ash_scan_hit hit;
        rc = ash__scan_next(scan, &hit, &found, err);
        if (rc == 0 && found)
            ash__rid_list_add(out, hit.rid);
    }
    ash__scan_free(scan);
    ash__buffer_release(&from);
    ash__buffer_release(&to);
    return rc;
}

/* A damaged document stays where it is, and the others need not live on for it. */
static int expire_one(expiry *e, ash_changer *c, uint64_t rid, ash_error *err)
{
    ash_record r;
    ash_error own = ASH_ERROR_INIT;
    bool found = false;
    int rc = ash__record_get(ash__writer_snapshot(c->writer), c->coll, rid, &r, &found, &own);
    if (rc == ASH_ECORRUPT) {
        if (e->damage.code == 0)
            e->damage = own;
        return 0;
    }
    if (rc == 0 && found) {
        rc = ash__change_delete(c, &r, &own);
        e->deleted += rc == 0;
    }
    if (rc != 0 && err != NULL)
        *err = own;
    return rc;
}

static int expire_turn(ash_writer *w, void *ctx, ash_error *err)
{
    static const ash_op no_limits = ASH_OP_INIT;
    expiry *e = ctx;
    const ash_index *index = NULL;
    ash_rid_list rids = {0};
    ash_changer c = {.store = e->store, .writer = w, .op = &no_limits};
    /* A count alone would not do: documents may be large, with thousands of keys. */
    int64_t until = ash__clock_ms() + TURN_MS;
    int rc = ash__catalog_find_id(ash__writer_snapshot(w), e->what.coll_id, &c.coll, err);
    for (uint32_t i = 0; rc == 0 && c.coll != NULL && i < c.coll->index_count; i++)
        if (c.coll->indexes[i].id == e->what.index_id && c.coll->indexes[i].expire_after_s >= 0)
            index = &c.coll->indexes[i];
    if (rc == 0 && index != NULL)
        rc = find_expired(ash__writer_snapshot(w), index, &rids, err);
    size_t i = 0;
    /* Of this turn alone. */
    e->deleted = 0;
    ash_budget outer = ash__budget_enter(0, NULL, ASH_BUDGET_TURN_MS);
    for (; rc == 0 && i < rids.count && ash__clock_ms() < until; i++) {
        ash__budget_turn();
        rc = expire_one(e, &c, rids.rids[i], err);
    }
    ash__budget_leave(outer);
    /* A turn that deleted nothing met only damage, and the next one would do the same. */
    e->more = e->deleted > 0 && (i < rids.count || rids.count == TURN_RECORDS);
    ash__rid_list_release(&rids);
    return rc;
}

/* Looks on a snapshot first: the writer is bothered only when something has expired. */
static int has_expired(ash_embedded *s, const expiring *what, bool *yes, ash_error *err)
{
    ash_snapshot *snap = NULL;
    const ash_coll *c = NULL;
    ash_rid_list rids = {0};
    *yes = false;
    int rc = ash__snapshot_open(s->engine, &snap, err);
    if (rc != 0)
        return rc;
    rc = ash__catalog_find_id(snap, what->coll_id, &c, err);
    for (uint32_t i = 0; rc == 0 && c != NULL && i < c->index_count; i++)
        if (c->indexes[i].id == what->index_id && c->indexes[i].expire_after_s >= 0)
            rc = find_expired(snap, &c->indexes[i], &rids, err);
    *yes = rids.count > 0;
    ash__rid_list_release(&rids);
    ash__snapshot_close(snap);
    return rc;
}

static int sweep_index(ash_embedded *s, const expiring *what, ash_error *err)
{
    expiry e = {.store = s, .what = *what};
    int rc = has_expired(s, what, &e.more, err);
    /* On damaged pages nothing is deleted; a damaged row alone is passed over. */
    if (rc == 0 && e.more)
        rc = ash__engine_census(s->engine, NULL, NULL, err);
    while (rc == 0 && e.more && !ash__embedded_is_closing(s))
        rc = ash__engine_apply(s->engine, expire_turn, &e, NULL, err);
    if (rc != 0 || e.damage.code == 0)
        return rc;
    return ash__fail(err, e.damage.code, "%s", e.damage.text);
}

int ash__ttl_sweep(ash_embedded *s, ash_error *err)
{
    expiring_list list = {0};
    ash_snapshot *snap = NULL;
    int rc = ash__snapshot_open(s->engine, &snap, err);
    if (rc != 0)
        return rc;
    rc = ash__catalog_each_ttl(snap, note_index, &list, err);
    ash__snapshot_close(snap);
    for (size_t i = 0; i < list.count; i++) {
        int one = sweep_index(s, &list.items[i], rc == 0 ? err : NULL);
        rc = rc == 0 ? one : rc;
    }
    ash__free(list.items);
    return rc;
}
