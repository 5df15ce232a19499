/* SPDX-License-Identifier: Apache-2.0 */
/* Order, fairness and wake-ups among many waiters. */
#include "lock/support.h"

#include "base/clock.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static ash_lock *waiter(fixture *f, ash_lock_collection *c, double seconds)
{
    ash_lock_options o = ASH_LOCK_OPTIONS_INIT;
    o.time_out_s = seconds;
    return open_lock(f, c, "x", &o);
}

static bool kept(fixture *f, bool write)
{
    ash_lock *b = waiter(f, f->c, 0.3);
    int64_t start = now_ms();
    int rc = write ? ash_lock_obtain_write(b, &f->err) : ash_lock_obtain_read(b, &f->err);
    int64_t took = now_ms() - start;
    assert_int_equal(rc, ASH_ELOCKED);
    assert_true(took >= 300);
    ash_lock_free(b);
    return took < 1300;
}

/* Never earlier; never more than a second later, unless the machine is busy every time. */
static void test_lock_waiting__time_out_is_kept(void **state)
{
    fixture *f = *state;
    ash_lock *a = open_lock(f, f->c, "x", NULL);
    assert_ok(ash_lock_obtain_write(a, &f->err), &f->err);
    for (int write = 0; write < 2; write++) {
        int tries = 0;
        while (!kept(f, write == 1))
            assert_true(++tries < 5);
    }
    bson_t *doc = lock_doc(f, "x");
    assert_int_equal(doc_int(doc, "waiters.0.pid"), -1); /* left the queue */
    bson_destroy(doc);
    ash_lock_free(a);
}

/* Through two lock collections, as two processes would have them.  An entry in the queue is good
 * for two polling intervals: long ones, since the machine may be busy. */
static void test_lock_waiting__writers_are_served_in_order(void **state)
{
    enum { WRITERS = 6 };
    fixture *f = *state;
    char path[32];
    f->opts.polling_interval_s = 10;
    ash_lock_collection *one = fixture_reopen(f, &f->opts), *other = fixture_reopen(f, &f->opts);
    ash_lock *first = open_lock(f, f->c, "x", NULL), *queue[WRITERS];
    assert_ok(ash_lock_obtain_write(first, &f->err), &f->err);
    for (int i = 0; i < WRITERS; i++) {
        queue[i] = waiter(f, i % 2 ? other : one, 60);
        assert_ok(ash_lock_request_write(queue[i], &f->err), &f->err);
        snprintf(path, sizeof path, "waiters.%d.pid", i);
        assert_comes(f, "x", path, getpid());
    }
    assert_ok(ash_lock_release(first, &f->err), &f->err);
    for (int i = 0; i < WRITERS; i++) {
        assert_event(queue[i], ASH_LOCK_LOCKED);
        for (int k = i + 1; k < WRITERS; k++)
            assert_int_equal(ash_lock_get_state(queue[k]), ASH_LOCK_WAITING);
        assert_ok(ash_lock_release(queue[i], &f->err), &f->err);
    }
    for (int i = 0; i < WRITERS; i++)
        ash_lock_free(queue[i]);
    ash_lock_free(first);
    ash_lock_collection_close(one);
    ash_lock_collection_close(other);
}

static void test_lock_waiting__all_readers_get_in_together(void **state)
{
    enum { READERS = 300 };
    fixture *f = *state;
    ash_lock *w = open_lock(f, f->c, "x", NULL);
    ash_lock **readers = calloc(READERS, sizeof *readers);
    assert_ok(ash_lock_obtain_write(w, &f->err), &f->err);
    for (int i = 0; i < READERS; i++) {
        readers[i] = waiter(f, f->c, 60);
        assert_ok(ash_lock_request_read(readers[i], &f->err), &f->err);
    }
    assert_int_equal(ash_lock_get_state(readers[READERS - 1]), ASH_LOCK_WAITING);
    assert_ok(ash_lock_release(w, &f->err), &f->err);
    for (int i = 0; i < READERS; i++)
        assert_event(readers[i], ASH_LOCK_LOCKED);
    bson_t *doc = lock_doc(f, "x");
    assert_int_equal(doc_int(doc, "read_locks"), READERS);
    assert_int_equal(doc_int(doc, "holders.0.n"), READERS); /* one entry for them all */
    bson_destroy(doc);
    for (int i = 0; i < READERS; i++)
        ash_lock_free(readers[i]);
    doc = lock_doc(f, "x");
    assert_int_equal(doc_int(doc, "read_locks"), 0);
    bson_destroy(doc);
    free(readers);
    ash_lock_free(w);
}

/* A dead writer in front of the queue: its process was killed, so nobody takes its entry out. */
static void test_lock_waiting__dead_waiter_does_not_block(void **state)
{
    fixture *f = *state;
    ash_lock *r = open_lock(f, f->c, "x", NULL), *a = waiter(f, f->c, 10);
    assert_ok(ash_lock_obtain_read(r, &f->err), &f->err);
    assert_true(npm_modify(f, "x", "{}",
                           "{'$set': {'write_req': true, 'own_req': true, 'waiters': [{'h': "
                           "{'$oid': '0123456789abcdef01234567'}, 'exp': {'$date': "
                           "'2020-01-01T00:00:00Z'}, 'host': 'gone', 'pid': 1}]}}",
                           false));
    /* Readers are not kept out by it either. */
    assert_ok(ash_lock_obtain_read(a, &f->err), &f->err);
    assert_ok(ash_lock_release(a, &f->err), &f->err);
    assert_ok(ash_lock_release(r, &f->err), &f->err);
    assert_ok(ash_lock_obtain_write(a, &f->err), &f->err);
    ash_lock_free(a);
    ash_lock_free(r);
}

/* ---- threads that write and read as fast as they can ---- */

struct crowd {
    fixture *f;
    _Atomic bool over;
    _Atomic int writers, readers, clashes;
    _Atomic int inside_write, inside_read;
};

struct member {
    struct crowd *crowd;
    pthread_t thread;
    bool write;
    _Atomic int grants;
};

static void *run_member(void *arg)
{
    struct member *m = arg;
    struct crowd *c = m->crowd;
    ash_lock_options o = ASH_LOCK_OPTIONS_INIT;
    ash_error err = ASH_ERROR_INIT;
    ash_lock *lock = NULL;
    bson_value_t id = text_id("x");
    o.time_out_s = 60;
    if (ash_lock_new(c->f->c, &id, &o, &lock, &err) != 0)
        return NULL;
    while (!c->over) {
        int rc = m->write ? ash_lock_obtain_write(lock, &err) : ash_lock_obtain_read(lock, &err);
        if (rc != 0)
            break;
        int others = m->write ? c->inside_write++ + c->inside_read : c->inside_write;
        c->inside_read += m->write ? 0 : 1;
        c->clashes += others > 0;
        sleep_ms(1);
        c->inside_read -= m->write ? 0 : 1;
        c->inside_write -= m->write ? 1 : 0;
        m->grants++;
        ash_lock_release(lock, NULL);
    }
    ash_lock_free(lock);
    return NULL;
}

static void test_lock_waiting__nobody_starves(void **state)
{
    enum { MEMBERS = 9, WRITERS = 3 };
    fixture *f = *state;
    struct crowd crowd = {.f = f};
    struct member members[MEMBERS] = {0};
    for (int i = 0; i < MEMBERS; i++) {
        members[i].crowd = &crowd;
        members[i].write = i < WRITERS;
        assert_int_equal(pthread_create(&members[i].thread, NULL, run_member, &members[i]), 0);
    }
    /* A second and a half of crowding, and then as long as it takes until all had their turn. */
    sleep_ms(1500);
    for (int i = 0; i < MEMBERS; i++) {
        for (int64_t end = now_ms() + 30000; members[i].grants < 2 && now_ms() < end;)
            sleep_ms(10);
    }
    crowd.over = true;
    for (int i = 0; i < MEMBERS; i++)
        pthread_join(members[i].thread, NULL);
    for (int i = 0; i < MEMBERS; i++)
        assert_true(members[i].grants >= 2);
    assert_int_equal(crowd.clashes, 0);
}

/* Writers of one process may stand in the document's queue in another order than in the process:
 * the first one there is called all the same, and does not wait for its poll, which is far off. */
static void test_lock_waiting__queue_in_another_order(void **state)
{
    fixture *f = *state;
    f->opts.polling_interval_s = 60;
    ash_lock_collection *c = fixture_reopen(f, &f->opts);
    ash_lock *held = open_lock(f, f->c, "x", NULL);
    ash_lock *one = waiter(f, c, 50), *two = waiter(f, c, 50);
    assert_ok(ash_lock_obtain_write(held, &f->err), &f->err);
    assert_ok(ash_lock_request_write(one, &f->err), &f->err);
    assert_comes(f, "x", "waiters.0.pid", getpid());
    assert_ok(ash_lock_request_write(two, &f->err), &f->err);
    assert_comes(f, "x", "waiters.1.pid", getpid());
    /* The first one loses its place, and takes another at the end. */
    assert_true(npm_modify(f, "x", "{}", "{'$pop': {'waiters': -1}}", false));
    assert_comes(f, "x", "waiters.1.pid", getpid());
    int64_t start = now_ms();
    assert_ok(ash_lock_release(held, &f->err), &f->err);
    assert_event(two, ASH_LOCK_LOCKED);
    assert_int_equal(ash_lock_get_state(one), ASH_LOCK_WAITING);
    assert_ok(ash_lock_release(two, &f->err), &f->err);
    assert_event(one, ASH_LOCK_LOCKED);
    assert_true(now_ms() - start < 20000);
    ash_lock_free(held);
    ash_lock_free(one);
    ash_lock_free(two);
    ash_lock_collection_close(c);
}

/* With the default options too: a lease is kept alive while its process lives. */
static bool outlives_its_lease(fixture *f, double unit_s)
{
    ash_lock_options o = f->opts;
    o.lease_s = unit_s;
    ash_lock_collection *c = fixture_reopen(f, &o);
    ash_lock *a = open_lock(f, c, "x", NULL), *r = open_lock(f, c, "y", NULL);
    ash_lock *b = open_lock(f, f->c, "x", NULL);
    bool held = true;
    assert_ok(ash_lock_obtain_write(a, &f->err), &f->err);
    assert_ok(ash_lock_obtain_read(r, &f->err), &f->err);
    assert_int_equal(ash_lock_remaining_ms(a), INT64_MAX);
    for (int i = 0; held && i < 10; i++) {
        sleep_ms((int64_t)(unit_s * 250));
        held = ash_lock_is_held(a) && ash_lock_is_held(r);
        if (held)
            assert_int_equal(ash_lock_obtain_read(b, &f->err), ASH_ELOCKED);
    }
    held = held && ash_lock_release(a, &f->err) == 0 && ash_lock_release(r, &f->err) == 0;
    ash_lock_free(a);
    ash_lock_free(r);
    ash_lock_free(b);
    ash_lock_collection_close(c);
    return held;
}

static void test_lock_waiting__lease_is_kept_alive(void **state)
{
    try_slower(*state, outlives_its_lease);
}

static void test_lock_waiting__free_and_list(void **state)
{
    fixture *f = *state;
    ash_lock *a = open_lock(f, f->c, "x", NULL), *b = waiter(f, f->c, 60);
    ash_cursor *cursor = NULL;
    ash_doc doc;
    bson_t shown;
    assert_ok(ash_lock_obtain_write(a, &f->err), &f->err);
    assert_ok(ash_lock_request_write(b, &f->err), &f->err);
    assert_comes(f, "x", "waiters.0.pid", getpid());
    int64_t token = ash_lock_token(a);
    assert_ok(ash_lock_list(f->c, NULL, &cursor, &f->err), &f->err);
    assert_ok(ash_cursor_next(cursor, &doc, &f->err), &f->err);
    assert_non_null(doc.data);
    assert_true(bson_init_static(&shown, doc.data, doc.len));
    assert_int_equal(doc_int(&shown, "token"), token);
    assert_true(doc_int(&shown, "holders.0.pid") > 0);
    assert_true(doc_int(&shown, "waiters.0.pid") > 0);
    assert_int_equal(doc_int(&shown, "expired"), 0);
    ash_cursor_free(cursor);
    ash_lock_free(b); /* while it waits */
    bson_t *after = lock_doc(f, "x");
    assert_int_equal(doc_int(after, "waiters.0.pid"), -1);
    bson_destroy(after);
    ash_lock_free(a);
}

/* Released by another process: only the change itself can tell in time. */
static void hand_over(fixture *f, ash_lock_collection *one, ash_lock_collection *other)
{
    ash_lock *a = waiter(f, one, 60), *b = waiter(f, other, 60);
    assert_ok(ash_lock_obtain_write(a, &f->err), &f->err);
    assert_ok(ash_lock_request_write(b, &f->err), &f->err);
    assert_comes(f, "x", "waiters.0.pid", getpid());
    int64_t start = now_ms();
    assert_ok(ash_lock_release(a, &f->err), &f->err);
    assert_event(b, ASH_LOCK_LOCKED);
    assert_true(now_ms() - start < 10000);
    ash_lock_free(b);
    ash_lock_free(a);
}

/* That ends the stream of changes; a new one has to be opened. */
static void test_lock_waiting__changes_are_seen_after_a_drop(void **state)
{
    fixture *f = *state;
    f->opts.polling_interval_s = 30;
    ash_lock_collection *one = fixture_reopen(f, &f->opts), *other = fixture_reopen(f, &f->opts);
    hand_over(f, one, other);
    assert_ok(ash_collection_drop(f->docs, NULL, &f->err), &f->err);
    sleep_ms(3000);
    hand_over(f, one, other);
    ash_lock_collection_close(one);
    ash_lock_collection_close(other);
}

/* Readers and writers wait while the lock is held; readers last went first until `turn`.  Returns
 * what the release makes of it. */
static int64_t turn_after_release(fixture *f, ash_lock *lock, int64_t turn)
{
    char change[400];
    int64_t later = ash__clock_wall_ms() + 3600000;
    assert_ok(ash_lock_obtain_write(lock, &f->err), &f->err);
    snprintf(change, sizeof change,
             "{'$set': {'waiters': [{'h': {'$oid': '0102030405060708090a0b0c'}, 'exp': {'$date': "
             "{'$numberLong': '%lld'}}}], 'readers_wait': {'$date': {'$numberLong': '%lld'}}, "
             "'turn': {'$date': {'$numberLong': '%lld'}}}}",
             (long long)later, (long long)later, (long long)turn);
    assert_true(npm_modify(f, "file", "{'write_lock': true}", change, false));
    assert_ok(ash_lock_release(lock, &f->err), &f->err);
    bson_t *doc = lock_doc(f, "file");
    int64_t after = doc_int(doc, "turn");
    bson_destroy(doc);
    assert_true(npm_modify(f, "file", "{'write_lock': false}",
                           "{'$set': {'waiters': [], 'turn': null, 'write_req': false}}", false));
    return after;
}

/* After a turn of the readers the writers have as long, one after the other. */
static void test_lock_waiting__writers_have_their_turn_too(void **state)
{
    fixture *f = *state;
    ash_lock *lock = open_lock(f, f->c, "file", NULL);
    int64_t soon = ash__clock_wall_ms() + 1800000;
    assert_true(turn_after_release(f, lock, soon) == soon);
    assert_true(turn_after_release(f, lock, 1000) >= ash__clock_wall_ms() - 60000);
    ash_lock_free(lock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOCK_TEST(test_lock_waiting__time_out_is_kept),
        LOCK_TEST(test_lock_waiting__writers_are_served_in_order),
        LOCK_TEST(test_lock_waiting__all_readers_get_in_together),
        LOCK_TEST(test_lock_waiting__dead_waiter_does_not_block),
        LOCK_TEST(test_lock_waiting__nobody_starves),
        LOCK_TEST(test_lock_waiting__queue_in_another_order),
        LOCK_TEST(test_lock_waiting__lease_is_kept_alive),
        LOCK_TEST(test_lock_waiting__free_and_list),
        LOCK_TEST(test_lock_waiting__changes_are_seen_after_a_drop),
        LOCK_TEST(test_lock_waiting__writers_have_their_turn_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
