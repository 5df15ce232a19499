/* SPDX-License-Identifier: Apache-2.0 */
/* Indexes are filled beside the store's use: a few records a turn of the writer, then all made
 * ready as one. */

#include "store/embedded/catalog/index_build.h"

#include "base/budget.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "store/embedded/kit/oplog.h"

#include <string.h>

/* Of one turn: other writers wait behind it. */
#define TURN_RECORDS 500
#define TURN_MS      20
#define STEP_RECORDS 20
#define KEY_BYTES    10

static const char PREFIX[] = "ib";

static void make_key(uint32_t coll_id, uint32_t index_id, uint8_t key[KEY_BYTES])
{
    memcpy(key, PREFIX, 2);
    ash__put_be32(key + 2, coll_id);
    ash__put_be32(key + 6, index_id);
}

static void add_id(uint32_t **ids, uint32_t *count, uint32_t id)
{
    *ids = ash__realloc_array(*ids, *count + 1, sizeof **ids);
    (*ids)[(*count)++] = id;
}

void ash__build_add(ash_build *b, uint32_t index_id)
{
    add_id(&b->ids, &b->count, index_id);
}

void ash__build_wait_for(ash_build *b, uint32_t index_id)
{
    add_id(&b->awaited, &b->awaited_count, index_id);
}

bool ash__build_has(const ash_build *b, uint32_t index_id)
{
    for (uint32_t i = 0; i < b->count; i++)
        if (b->ids[i] == index_id)
            return true;
    return false;
}

void ash__build_release(ash_build *b)
{
    ash__free(b->ids);
    ash__free(b->awaited);
    b->ids = NULL;
    b->awaited = NULL;
    b->count = 0;
    b->awaited_count = 0;
    b->at = 0;
    b->rid = 0;
}

/* By id, and in each apply anew: pointers into the catalogue end with its next change, and by now
 * the name may be that of another index. */
static const ash_index *find_index(const ash_coll *c, uint32_t id)
{
    for (uint32_t i = 0; c != NULL && i < c->index_count; i++)
        if (c->indexes[i].id == id)
            return &c->indexes[i];
    return NULL;
}

static int look_up(ash_snapshot *snap, uint32_t coll_id, uint32_t index_id, const ash_coll **c,
                   const ash_index **index, ash_error *err)
{
    int rc = ash__catalog_find_id(snap, coll_id, c, err);
    *index = rc == 0 ? find_index(*c, index_id) : NULL;
    return rc;
}

/* The record that already has the key stands for both. */
static int name_duplicate(ash_writer *w, const ash_coll *c, const ash_duplicate *dup,
                          ash_error *err)
{
    ash_record r;
    bool found = false;
    int rc = ash__record_get(ash__writer_snapshot(w), c, dup->rid, &r, &found, err);
    if (rc != 0)
        return rc;
    return ash__duplicate_fail(c, dup, found ? r.doc : ash__doc_empty, NULL, err);
}

/* A few records at a time: one may be small, or megabytes with thousands of keys. */
static int fill_steps(ash_build *b, ash_writer *w, const ash_coll *c, const ash_index *index,
                      ash_duplicate *dup, ash_error *err)
{
    int64_t until = ash__clock_ms() + TURN_MS;
    int rc = 0;
    ash_index_build at = {.coll = c, .index = index, .rid = b->rid};
    for (int done = 0; rc == 0 && at.rid != 0 && done < TURN_RECORDS; done += STEP_RECORDS) {
        if (done > 0 && ash__clock_ms() >= until)
            break;
        ash__budget_turn();
        rc = ash__budget_check(err);
        if (rc == 0)
            rc = ash__index_build(w, &at, STEP_RECORDS, dup, err);
    }
    b->rid = at.rid;
    return rc;
}

static int fill_turn(ash_build *b, ash_writer *w, ash_error *err)
{
    const ash_coll *c = NULL;
    const ash_index *index = NULL;
    ash_duplicate dup = {0};
    int rc = look_up(ash__writer_snapshot(w), b->coll_id, b->ids[b->at], &c, &index, err);
    if (rc != 0)
        return rc;
    if (index == NULL)
        return ash__fail_server(err, ASH_ENOTFOUND, ASH_MONGO_NAMESPACE_NOT_FOUND,
                                "index build aborted: its collection or the index was dropped");
    rc = fill_steps(b, w, c, index, &dup, err);
    if (rc == ASH_EEXISTS && dup.index != NULL)
        return name_duplicate(w, c, &dup, err);
    /* Through with this one; records are numbered from 1. */
    if (rc == 0 && b->rid == 0) {
        b->at++;
        b->rid = 1;
    }
    return rc;
}

static int make_ready(ash_build *b, ash_writer *w, ash_error *err)
{
    /* Nobody waited for the turns; what a commit that failed took along the index would lack. */
    int rc = ash__losses_check(b->store, b->losses, err);
    for (uint32_t i = 0; rc == 0 && i < b->count; i++) {
        const ash_coll *c = NULL;
        const ash_index *index = NULL;
        uint8_t key[KEY_BYTES];
        make_key(b->coll_id, b->ids[i], key);
        rc = look_up(ash__writer_snapshot(w), b->coll_id, b->ids[i], &c, &index, err);
        if (rc == 0 && index == NULL)
            rc = ash__fail_server(err, ASH_ENOTFOUND, ASH_MONGO_NAMESPACE_NOT_FOUND,
                                  "index build aborted: its collection or the index was dropped");
        if (rc == 0)
            /* Told when it can be used, not when it was begun. */
            rc = ash__oplog_write_index(w, ASH_CHANGE_CREATE_INDEXES, c, index, err);
        if (rc == 0)
            rc = ash__index_ready(w, c, index, err);
        if (rc == 0)
            rc = ash__state_delete(w, key, sizeof key, err);
    }
    return rc;
}

static int drop_unfinished(ash_writer *w, uint32_t coll_id, uint32_t index_id, ash_error *err)
{
    const ash_coll *c = NULL;
    const ash_index *index = NULL;
    uint8_t key[KEY_BYTES];
    make_key(coll_id, index_id, key);
    int rc = look_up(ash__writer_snapshot(w), coll_id, index_id, &c, &index, err);
    if (rc == 0 && index != NULL && !index->ready)
        rc = ash__index_drop(w, c, index, err);
    return rc == 0 ? ash__state_delete(w, key, sizeof key, err) : rc;
}

/* Noted before it is undone: should that commit fail as well, the next build on the collection
 * takes the index away (ash__build_clear). */
static void abandon(const ash_build *b)
{
    ash_embedded *s = b->store;
    ash__monitor_lock(s->monitor);
    s->abandoned =
        ash__realloc_array(s->abandoned, s->abandoned_count + b->count, sizeof *s->abandoned);
    memcpy(s->abandoned + s->abandoned_count, b->ids, b->count * sizeof *b->ids);
    s->abandoned_count += b->count;
    ash__monitor_unlock(s->monitor);
}

static bool is_abandoned(ash_embedded *s, const ash_index *index)
{
    bool is = false;
    ash__monitor_lock(s->monitor);
    for (size_t i = 0; i < s->abandoned_count; i++)
        /* Once it is ready it is somebody's, whatever the list says. */
        is = is || (!index->ready && s->abandoned[i] == index->id);
    ash__monitor_unlock(s->monitor);
    return is;
}

int ash__build_clear(ash_build *b, ash_writer *w, ash_error *err)
{
    for (;;) {
        const ash_coll *c = NULL;
        const ash_index *left = NULL;
        int rc = ash__catalog_find_id(ash__writer_snapshot(w), b->coll_id, &c, err);
        for (uint32_t i = 0; rc == 0 && c != NULL && i < c->index_count; i++)
            left = is_abandoned(b->store, &c->indexes[i]) ? &c->indexes[i] : left;
        /* One at a time, since each drop changes the catalogue under the list. */
        if (rc != 0 || left == NULL)
            return rc;
        rc = drop_unfinished(w, b->coll_id, left->id, err);
        if (rc != 0)
            return rc;
    }
}

static int build_turn(ash_writer *w, void *ctx, ash_error *err)
{
    ash_build *b = ctx;
    int rc = 0;
    /* One function for three jobs, since an apply has one context. */
    if (b->finish)
        return make_ready(b, w, err);
    if (!b->undo) {
        ash_budget outer = ash__budget_enter(b->op->deadline_ms, b->op->cancel, ASH_BUDGET_TURN_MS);
        rc = fill_turn(b, w, err);
        ash__budget_leave(outer);
        return rc;
    }
    for (uint32_t i = 0; rc == 0 && i < b->count; i++)
        rc = drop_unfinished(w, b->coll_id, b->ids[i], err);
    return rc;
}

int ash__build_start(ash_build *b, ash_writer *w, bool at_once, ash_error *err)
{
    /* An empty document: the key says it all. */
    static const uint8_t nothing[5] = {5, 0, 0, 0, 0};
    ash_coll_stats stats;
    const ash_coll *c = NULL;
    b->rid = 1;
    b->losses = ash__engine_losses(b->store->engine);
    int rc = ash__catalog_find_id(ash__writer_snapshot(w), b->coll_id, &c, err);
    if (rc == 0)
        rc = ash__coll_stats(ash__writer_snapshot(w), c, &stats, err);
    if (rc != 0 || b->count == 0)
        return rc;
    for (uint32_t i = 0; rc == 0 && i < b->count; i++) {
        uint8_t key[KEY_BYTES];
        make_key(b->coll_id, b->ids[i], key);
        rc = ash__state_put(w, key, sizeof key, nothing, sizeof nothing, err);
    }
    /* What fits a turn is done in this one; and in a transaction there is no later one. */
    if (stats.count > TURN_RECORDS && !at_once)
        return rc;
    while (rc == 0 && b->at < b->count)
        rc = fill_turn(b, w, err);
    if (rc == 0)
        rc = make_ready(b, w, err);
    /* Nothing is left for run. */
    if (rc == 0)
        b->count = 0;
    return rc;
}

static int await_others(ash_build *b, ash_error *err)
{
    static const int poll_ms = 100;
    /* A transaction holds the writer that the other build needs, so it cannot wait for it. */
    bool waiting = b->awaited_count > 0 && b->op->transaction == NULL;
    while (waiting) {
        ash_snapshot *snap = NULL;
        int rc = ash__op_check(b->op, err);
        if (rc == 0)
            rc = ash__snapshot_open(b->store->engine, &snap, err);
        if (rc != 0)
            return rc;
        waiting = false;
        for (uint32_t i = 0; rc == 0 && i < b->awaited_count; i++) {
            const ash_coll *c = NULL;
            const ash_index *index = NULL;
            rc = look_up(snap, b->coll_id, b->awaited[i], &c, &index, err);
            if (rc == 0 && (index == NULL || is_abandoned(b->store, index)))
                rc = ash__fail_server(err, ASH_ECONFLICT, ASH_MONGO_INDEX_BUILD_ABORTED,
                                      "the index was being built already, and that build failed");
            waiting = waiting || (index != NULL && !index->ready);
        }
        ash__snapshot_close(snap);
        if (rc != 0)
            return rc;
        if (waiting) {
            ash__monitor_lock(b->store->monitor);
            ash__monitor_wait_until(b->store->monitor, ash__clock_ms() + poll_ms);
            ash__monitor_unlock(b->store->monitor);
        }
    }
    return 0;
}

static int fill_all(ash_build *b, ash_error *err)
{
    /* The work is done by then: to give it up for a deadline would only do it twice. */
    static const ash_op no_limits = ASH_OP_INIT;
    int rc = 0;
    while (rc == 0 && b->at < b->count) {
        rc = ash__op_check(b->op, err);
        if (rc == 0)
            rc = ash__engine_apply(b->store->engine, build_turn, b, NULL, err);
    }
    if (rc == 0) {
        /* The turns were not waited for; this apply is, and everything before it with it. */
        b->finish = true;
        ash_write_terms terms = {.op = &no_limits, .flags = ASH_APPLY_ATOMIC};
        rc = ash__write_run(b->store, &terms, build_turn, b, err);
        b->finish = false;
    }
    if (rc != 0) {
        abandon(b);
        b->undo = true;
        /* The first error is the one to tell; what fails here is done by the next build or opening.
         */
        ash__engine_apply(b->store->engine, build_turn, b, NULL, NULL);
        b->undo = false;
    }
    return rc;
}

int ash__build_run(ash_build *b, ash_error *err)
{
    int rc = b->count > 0 ? fill_all(b, err) : 0;
    ash__monitor_lock(b->store->monitor);
    /* Whoever asked for the same index waits for us (await_others), whichever way it ended. */
    ash__monitor_wake_all(b->store->monitor);
    ash__monitor_unlock(b->store->monitor);
    return rc == 0 ? await_others(b, err) : rc;
}

/* ---- what a crash left ---- */

typedef struct leftovers {
    uint8_t keys[64][KEY_BYTES];
    uint32_t count;
} leftovers;

static bool collect_leftover(void *ctx, const void *key, size_t key_len, ash_doc value)
{
    leftovers *l = ctx;
    (void)value;
    /* Another length is another family's. */
    if (key_len == KEY_BYTES)
        memcpy(l->keys[l->count++], key, KEY_BYTES);
    return l->count < ASH_ARRAY_LEN(l->keys);
}

static int drop_leftovers(ash_writer *w, void *ctx, ash_error *err)
{
    leftovers *l = ctx;
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < l->count; i++)
        rc = drop_unfinished(w, ash__get_be32(l->keys[i] + 2), ash__get_be32(l->keys[i] + 6), err);
    return rc;
}

int ash__build_sweep(ash_embedded *s, ash_error *err)
{
    leftovers l;
    do {
        ash_snapshot *snap = NULL;
        l.count = 0;
        int rc = ash__snapshot_open(s->engine, &snap, err);
        if (rc != 0)
            return rc;
        rc = ash__state_each(snap, PREFIX, 2, collect_leftover, &l, err);
        ash__snapshot_close(snap);
        if (rc == 0 && l.count > 0)
            rc = ash__engine_apply(s->engine, drop_leftovers, &l, NULL, err);
        if (rc != 0)
            return rc;
    } while (l.count > 0);
    return 0;
}
