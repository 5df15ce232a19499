/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "base/turn.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { THREADS = 8, EACH = 60 };

typedef struct worker {
    fixture *f;
    pthread_t thread;
    int32_t first;
    int failures;
    uint32_t coll_id;
} worker;

typedef struct put {
    ash_doc doc;
    ash_staged *staged;
    uint64_t rid;
} put;

static int put_one(ash_writer *w, void *ctx, ash_error *err)
{
    put *p = ctx;
    const ash_coll *c;
    int result = ash__catalog_find(ash__writer_snapshot(w), "test", "c", &c, err);
    if (result == 0)
        result = ash__record_insert(w, c, &(ash_content){p->doc, p->staged}, &p->rid, NULL, err);
    if (result == 0)
        p->staged = NULL;
    return result;
}

/* Insert, every third durable; then read each back in a snapshot opened after the answer. */
static void *work(void *arg)
{
    worker *me = arg;
    ash_engine *e = me->f->engine;
    for (int32_t i = 0; i < EACH; i++) {
        ash_error err = ASH_ERROR_INIT;
        ash_value_box box;
        ash_snapshot *snap = NULL;
        const ash_coll *c = NULL;
        ash_record record;
        bool found = false;
        size_t len = i % 2 == 0 ? 100 : 9000;
        put p = {.staged = NULL};
        bson_t *doc = fixture_chunk(me->first + i, i, len);
        p.doc = ash__doc_from_bson(doc);
        struct iovec part = {(void *)(uintptr_t)p.doc.data, p.doc.len};
        int result = 0;
        if (len > 5000)
            result = ash__staged_write(e, me->coll_id, &part, 1, &p.staged, &err);
        if (result == 0)
            result = ash__engine_apply(
                e, put_one, &p,
                &(ash_apply_terms){.ack = i % 3 == 0 ? ASH_ACK_DURABLE : ASH_ACK_APPLIED}, &err);
        ash__staged_free(e, p.staged);
        if (result == 0)
            result = ash__snapshot_open(e, &snap, &err);
        if (result == 0)
            result = ash__catalog_find(snap, "test", "c", &c, &err);
        if (result == 0)
            result = ash__record_find_id(snap, c, ash__box_int32(&box, me->first + i), &record,
                                         &found, &err);
        me->failures +=
            result != 0 || !found || !fixture_chunk_is(record.doc, me->first + i, i, len);
        ash__snapshot_close(snap);
        bson_destroy(doc);
    }
    return NULL;
}

static void test_engine_writer__many_threads_share_commits(void **state)
{
    fixture *f = *state;
    worker workers[THREADS];
    ash_engine_stats stats;
    fixture_create(f, "c", NULL);
    ash_snapshot *snap = fixture_snapshot(f);
    uint32_t id = fixture_coll(f, snap, "c")->id;
    ash__snapshot_close(snap);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){.f = f, .first = i * 1000, .coll_id = id};
        assert_int_equal(ash__thread_start(&workers[i].thread, 0, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        assert_int_equal(workers[i].failures, 0);
    }
    assert_int_equal(fixture_count(f, "c"), THREADS * EACH);
    assert_ok(ash__engine_stats(f->engine, &stats, &f->err), &f->err);
    assert_true(stats.commits < stats.applies);
    assert_int_equal(ash__engine_losses(f->engine), 0);
    fixture_reopen(f);
    assert_int_equal(fixture_count(f, "c"), THREADS * EACH);
    fixture_check(f);
}

/* Inserts a large and a small record, with a savepoint that is undone between, then maybe fails. */
static int insert_then(ash_writer *w, void *ctx, ash_error *err)
{
    const bool *fail = ctx;
    put p = {.staged = NULL};
    bson_t *large = fixture_chunk(1, 1, 30000), *small = fixture_chunk(2, 2, 10),
           *undone = fixture_chunk(3, 3, 20000);
    p.doc = ash__doc_from_bson(large);
    int result = put_one(w, &p, err);
    if (result == 0)
        result = ash__writer_savepoint(w, err);
    p.doc = ash__doc_from_bson(undone);
    if (result == 0)
        result = put_one(w, &p, err);
    if (result == 0)
        result = ash__writer_savepoint_end(w, false, err);
    p.doc = ash__doc_from_bson(small);
    if (result == 0)
        result = put_one(w, &p, err);
    bson_destroy(large);
    bson_destroy(small);
    bson_destroy(undone);
    if (result == 0 && *fail)
        result = ash__fail(err, ASH_ECONDITION, "on purpose");
    return result;
}

static void test_engine_writer__atomic_applies_are_undone_whole(void **state)
{
    fixture *f = *state;
    ash_engine_stats before, after;
    bool fail = true;
    fixture_create(f, "c", NULL);
    assert_ok(ash__engine_flush(f->engine, 0, &f->err), &f->err);
    assert_ok(ash__engine_stats(f->engine, &before, &f->err), &f->err);
    assert_int_equal(
        ash__engine_apply(f->engine, insert_then, &fail,
                          &(ash_apply_terms){.ack = ASH_ACK_DURABLE, .flags = ASH_APPLY_ATOMIC},
                          &f->err),
        ASH_ECONDITION);
    assert_int_equal(fixture_count(f, "c"), 0);
    assert_ok(ash__engine_stats(f->engine, &after, &f->err), &f->err);
    assert_int_equal(after.used_blocks, 0);
    assert_int_equal(after.free_blocks, after.segment_blocks);
    fail = false;
    assert_ok(ash__engine_apply(
                  f->engine, insert_then, &fail,
                  &(ash_apply_terms){.ack = ASH_ACK_DURABLE, .flags = ASH_APPLY_ATOMIC}, &f->err),
              &f->err);
    assert_int_equal(fixture_count(f, "c"), 2);
    fixture_check(f);
}

static int change_nothing(ash_writer *w, void *ctx, ash_error *err)
{
    (void)w, (void)ctx, (void)err;
    return 0;
}

static void test_engine_writer__no_change_needs_no_commit(void **state)
{
    fixture *f = *state;
    ash_engine_stats before, after;
    fixture_create(f, "c", NULL);
    assert_ok(ash__engine_flush(f->engine, 0, &f->err), &f->err);
    assert_ok(ash__engine_stats(f->engine, &before, &f->err), &f->err);
    for (int i = 0; i < 10; i++)
        fixture_apply(f, change_nothing, NULL, ASH_ACK_DURABLE, 0);
    assert_ok(ash__engine_stats(f->engine, &after, &f->err), &f->err);
    assert_int_equal(after.commits, before.commits);
    assert_int_equal(after.applies, before.applies + 10);
}

static int sleep_a_while(ash_writer *w, void *ctx, ash_error *err)
{
    (void)w, (void)err;
    ash__clock_sleep_ms(*(int64_t *)ctx);
    return 0;
}

static void *sleep_on_writer(void *arg)
{
    fixture *f = arg;
    int64_t ms = 150;
    ash__engine_apply(f->engine, sleep_a_while, &ms, NULL, NULL);
    return NULL;
}

static void test_engine_writer__deadline_in_the_queue_leaves_nothing(void **state)
{
    fixture *f = *state;
    pthread_t thread;
    fixture_create(f, "c", NULL);
    bson_t *doc = fixture_chunk(1, 1, 10);
    put p = {.doc = ash__doc_from_bson(doc)};
    assert_int_equal(ash__thread_start(&thread, 0, sleep_on_writer, f), 0);
    ash__clock_sleep_ms(30);
    assert_int_equal(ash__engine_apply(f->engine, put_one, &p,
                                       &(ash_apply_terms){.ack = ASH_ACK_DURABLE,
                                                          .deadline_ms = ash__clock_ms() + 20},
                                       &f->err),
                     ASH_ETIMEOUT);
    pthread_join(thread, NULL);
    assert_int_equal(fixture_count(f, "c"), 0);
    bson_destroy(doc);
}

static void test_engine_writer__lone_durable_write_waits_for_no_timer(void **state)
{
    fixture *f = *state;
    fixture_create(f, "c", NULL);
    fixture_close(f);
    f->opts.interval_ms = 60000;
    fixture_open(f);
    int64_t start = ash__clock_ms();
    for (int32_t i = 0; i < 5; i++) {
        bson_t *doc = fixture_chunk(i, i, 10);
        assert_ok(fixture_insert(f, "c", doc, ASH_ACK_DURABLE, NULL), &f->err);
        bson_destroy(doc);
    }
    assert_true(ash__clock_ms() - start < 10000);
}

static bool collect_state(void *ctx, const void *key, size_t key_len, ash_doc value)
{
    ash_buffer *all = ctx;
    ash__buffer_append(all, key, key_len);
    ash__buffer_append_byte(all, '=');
    ash__buffer_append(all, value.data, value.len);
    ash__buffer_append_byte(all, ';');
    return true;
}

static int put_state(ash_writer *w, void *ctx, ash_error *err)
{
    (void)ctx;
    int result = ash__state_put(w, "a/1", 3, "one", 3, err);
    if (result == 0)
        result = ash__state_put(w, "a/2", 3, "two", 3, err);
    if (result == 0)
        result = ash__state_put(w, "b/1", 3, "", 0, err);
    if (result == 0)
        result = ash__state_put(w, "a/3", 3, "x", 1, err);
    return result == 0 ? ash__state_delete(w, "a/3", 3, err) : result;
}

static void test_engine_writer__state_rows(void **state)
{
    fixture *f = *state;
    ash_buffer all = ASH_BUFFER_INIT;
    ash_doc value;
    bool found;
    fixture_apply(f, put_state, NULL, ASH_ACK_APPLIED, 0);
    fixture_reopen(f);
    ash_snapshot *snap = fixture_snapshot(f);
    assert_ok(ash__state_each(snap, "a/", 2, collect_state, &all, &f->err), &f->err);
    assert_string_equal(ash__buffer_text(&all), "a/1=one;a/2=two;");
    assert_ok(ash__state_get(snap, "b/1", 3, &value, &found, &f->err), &f->err);
    assert_true(found);
    assert_int_equal(value.len, 0);
    assert_ok(ash__state_get(snap, "a/3", 3, &value, &found, &f->err), &f->err);
    assert_false(found);
    ash__snapshot_close(snap);
    ash__buffer_release(&all);
}

static int append_entry(ash_writer *w, void *ctx, ash_error *err)
{
    bson_t *doc = fixture_chunk(0, 0, 900);
    int result = ash__oplog_append(w, ash__doc_from_bson(doc), ctx, err);
    bson_destroy(doc);
    return result;
}

static void test_engine_writer__oplog_grows_in_time_and_is_bounded(void **state)
{
    fixture *f = *state;
    uint64_t time = 0, before = 0, oldest, newest;
    ash_engine_stats stats;
    ash_doc entry;
    bool found;
    fixture_close(f);
    f->opts.oplog_bytes = 20000;
    fixture_open(f);
    for (int i = 0; i < 60; i++) {
        fixture_apply(f, append_entry, &time, ASH_ACK_DURABLE, 0);
        assert_true(time > before);
        assert_true(ash__oplog_wait(f->engine, before, 1, NULL));
        before = time;
    }
    assert_false(ash__oplog_wait(f->engine, before, ash__clock_ms() + 5, NULL));
    fixture_reopen(f);
    assert_true(ash__oplog_time(f->engine) >= before);
    ash_snapshot *snap = fixture_snapshot(f);
    assert_ok(ash__oplog_bounds(snap, &oldest, &newest, &f->err), &f->err);
    assert_true(newest == before && oldest < newest);
    assert_ok(ash__oplog_next(snap, oldest - 1, &time, &entry, &found, &f->err), &f->err);
    assert_true(found && time == oldest && fixture_chunk_is(entry, 0, 0, 900));
    assert_ok(ash__oplog_next(snap, newest, &time, &entry, &found, &f->err), &f->err);
    assert_false(found);
    ash__snapshot_close(snap);
    assert_ok(ash__engine_stats(f->engine, &stats, &f->err), &f->err);
    assert_true(stats.oplog_bytes <= 20000 && stats.oplog_bytes > 15000);
    fixture_apply(f, append_entry, &time, ASH_ACK_DURABLE, 0);
    assert_true(time > before);
    fixture_check(f);
}

static int begin_log(ash_writer *w, void *ctx, ash_error *err)
{
    (void)ctx;
    return ash__oplog_begin(w, err);
}

static uint64_t log_bytes(fixture *f)
{
    ash_engine_stats stats;
    assert_ok(ash__engine_flush(f->engine, 0, &f->err), &f->err);
    assert_ok(ash__engine_stats(f->engine, &stats, &f->err), &f->err);
    return stats.oplog_bytes;
}

static void append_entries(fixture *f, int count)
{
    uint64_t time = 0;
    for (int i = 0; i < count; i++)
        fixture_apply(f, append_entry, &time, ASH_ACK_APPLIED, 0);
}

static void test_engine_writer__what_nobody_can_watch_is_not_kept(void **state)
{
    enum { ENTRIES = 400, ENTRY_BYTES = 900, KEPT_BYTES = 256 << 10 };
    fixture *f = *state;
    fixture_apply(f, begin_log, NULL, ASH_ACK_APPLIED, 0);
    append_entries(f, ENTRIES);
    assert_true(log_bytes(f) <= KEPT_BYTES);
    uint64_t told = ash__oplog_tell(f->engine), oldest, newest;
    append_entries(f, ENTRIES);
    assert_true(log_bytes(f) > ENTRIES * ENTRY_BYTES);
    ash_snapshot *snap = fixture_snapshot(f);
    assert_ok(ash__oplog_bounds(snap, &oldest, &newest, &f->err), &f->err);
    assert_true(oldest < told && newest > told);
    ash__snapshot_close(snap);
    /* Whoever was told the time may come back with it. */
    fixture_reopen(f);
    append_entries(f, 1);
    assert_true(log_bytes(f) > ENTRIES * ENTRY_BYTES);
    fixture_check(f);
}

static int append_and_undo(ash_writer *w, void *ctx, ash_error *err)
{
    int result = append_entry(w, ctx, err);
    if (result == 0)
        result = ash__writer_savepoint(w, err);
    if (result == 0)
        result = append_entry(w, ctx, err);
    return result == 0 ? ash__writer_savepoint_end(w, false, err) : result;
}

/* Waiting must not end for an entry that nobody will find. */
static void test_engine_writer__undone_entries_wake_nobody(void **state)
{
    fixture *f = *state;
    uint64_t time, oldest, newest;
    fixture_apply(f, append_and_undo, &time, ASH_ACK_DURABLE, 0);
    ash_snapshot *snap = fixture_snapshot(f);
    assert_ok(ash__oplog_bounds(snap, &oldest, &newest, &f->err), &f->err);
    assert_true(oldest == newest && newest < time);
    ash__snapshot_close(snap);
    assert_true(ash__oplog_wait(f->engine, newest - 1, 1, NULL));
    assert_false(ash__oplog_wait(f->engine, newest, ash__clock_ms() + 5, NULL));
    fixture_apply(f, append_entry, &newest, ASH_ACK_DURABLE, 0);
    assert_true(newest > time);
}

/* ---- who tells of its change first ---- */

enum { TELLERS = 16, TELLS = 40, FAILS_EVERY = 4 };

typedef struct telling {
    fixture *f;
    ash_turns turns;
    int32_t changes;      /* the writer's own */
    _Atomic int32_t told; /* the newest change that somebody has told of */
    _Atomic int late;     /* told after a newer one */
} telling;

typedef struct numbered {
    put put;
    telling *telling;
    int32_t number;
} numbered;

static int put_numbered(ash_writer *w, void *ctx, ash_error *err)
{
    numbered *n = ctx;
    n->number = ++n->telling->changes;
    bson_t *doc = fixture_chunk(n->number, n->number, 100);
    n->put.doc = ash__doc_from_bson(doc);
    int result = put_one(w, &n->put, err);
    bson_destroy(doc);
    return result;
}

/* Changes nothing: what it saw is why it fails, as with a duplicate key. */
static int see_number(ash_writer *w, void *ctx, ash_error *err)
{
    numbered *n = ctx;
    (void)w;
    n->number = n->telling->changes;
    return ash__fail(err, ASH_EEXISTS, "on purpose");
}

static void *tell(void *arg)
{
    telling *t = arg;
    ash_turn turn;
    ash__turn_begin(&turn, &t->turns);
    for (int i = 0; i < TELLS; i++) {
        ash_error err = ASH_ERROR_INIT;
        numbered n = {.telling = t};
        bool fails = i % FAILS_EVERY == 0;
        if (ash__engine_apply(t->f->engine, fails ? see_number : put_numbered, &n,
                              &(ash_apply_terms){.ack = ASH_ACK_DURABLE},
                              &err) != (fails ? ASH_EEXISTS : 0))
            atomic_fetch_add(&t->late, 1);
        ash__turn_wait(&turn);
        if (atomic_exchange(&t->told, n.number) > n.number)
            atomic_fetch_add(&t->late, 1);
        ash__turn_leave(&turn);
    }
    ash__turn_end(&turn);
    return NULL;
}

static void test_engine_writer__changes_are_told_in_their_order(void **state)
{
    fixture *f = *state;
    telling t = {.f = f};
    pthread_t threads[TELLERS];
    fixture_create(f, "c", NULL);
    ash__turns_init(&t.turns);
    for (int i = 0; i < TELLERS; i++)
        assert_int_equal(ash__thread_start(&threads[i], 0, tell, &t), 0);
    for (int i = 0; i < TELLERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(t.changes, TELLERS * (TELLS - TELLS / FAILS_EVERY));
    /* A thread that stands still for half a second loses its place. */
    assert_true(t.late <= 3);
    assert_null(t.turns.first);
    ash__turns_release(&t.turns);
}

/* ---- a change that is made, and not durable in time ---- */

typedef struct busy {
    ash_engine *engine;
    _Atomic bool began, release;
} busy;

static int begin_slowly(ash_writer *w, void *ctx, ash_error *err)
{
    busy *b = ctx;
    uint64_t time;
    bson_t entry = BSON_INITIALIZER;
    atomic_store(&b->began, true);
    ash__clock_sleep_ms(200);
    int result = ash__oplog_append(w, ash__doc_from_bson(&entry), &time, err);
    bson_destroy(&entry);
    return result;
}

static int hold_the_writer(ash_writer *w, void *ctx, ash_error *err)
{
    busy *b = ctx;
    (void)w, (void)err;
    while (!atomic_load(&b->release))
        ash__clock_sleep_ms(1);
    return 0;
}

static void *hold(void *arg)
{
    busy *b = arg;
    while (!atomic_load(&b->began))
        ash__clock_sleep_ms(1);
    ash__engine_apply(b->engine, hold_the_writer, b, NULL, NULL);
    return NULL;
}

/* The first change is made, and while the second runs nobody can write it to the disk. */
static int change_late(fixture *f)
{
    busy b = {.engine = f->engine};
    pthread_t thread;
    assert_int_equal(ash__thread_start(&thread, 0, hold, &b), 0);
    int result = ash__engine_apply(
        f->engine, begin_slowly, &b,
        &(ash_apply_terms){.ack = ASH_ACK_DURABLE, .deadline_ms = ash__clock_deadline(500)},
        &f->err);
    atomic_store(&b.release, true);
    pthread_join(thread, NULL);
    return result;
}

static void test_engine_writer__who_tells_learns_that_it_was_late(void **state)
{
    fixture *f = *state;
    ash_turns turns;
    ash_turn turn;
    int result = 0;
    /* A machine that does nothing for so long may let the second change come late. */
    for (int tries = 0; tries < 20 && result == 0; tries++)
        result = change_late(f);
    assert_int_equal(result, ASH_ETIMEOUT);
    ash__turns_init(&turns);
    ash__turn_begin(&turn, &turns);
    for (int tries = 0; tries < 20 && !turn.late; tries++)
        assert_ok(change_late(f), &f->err);
    assert_true(turn.late);
    ash__turn_end(&turn);
    ash__turns_release(&turns);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_engine_writer__many_threads_share_commits),
        TEST(test_engine_writer__atomic_applies_are_undone_whole),
        TEST(test_engine_writer__no_change_needs_no_commit),
        TEST(test_engine_writer__deadline_in_the_queue_leaves_nothing),
        TEST(test_engine_writer__lone_durable_write_waits_for_no_timer),
        TEST(test_engine_writer__changes_are_told_in_their_order),
        TEST(test_engine_writer__who_tells_learns_that_it_was_late),
        TEST(test_engine_writer__state_rows),
        TEST(test_engine_writer__oplog_grows_in_time_and_is_bounded),
        TEST(test_engine_writer__what_nobody_can_watch_is_not_kept),
        TEST(test_engine_writer__undone_entries_wake_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
