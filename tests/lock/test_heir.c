/* SPDX-License-Identifier: Apache-2.0 */
/* What a lock costs when nobody else wants it; a write lock that goes from one request of a process
 * to the next; and waiters that are called while somebody else has them in hand. */
#include "lock/lock.h"
#include "lock/support.h"

#include "base/clock.h"
#include "faults/faulty_store.h"

#include <string.h>

/* A collection whose store counts and fails on purpose, and tells of no changes: what does not call
 * by itself waits for a poll, which is far. */
typedef struct world {
    fixture *f;
    ash_store *store;
    ash_lock_collection *c;
    ash_lock *heir;
} world;

static void open_world(world *w, fixture *f)
{
    ash_lock_options o = f->opts;
    *w = (world){.f = f, .store = faulty_store_new(f->store)};
    faulty_store_bare(w->store);
    o.polling_interval_s = 600;
    o.time_out_s = 1200;
    assert_ok(ash_lock_collection_open(w->store, &o, &w->c, &f->err), &f->err);
}

static void close_world(world *w)
{
    ash_lock_collection_close(w->c);
    faulty_store_free(w->store);
}

static void assert_error(ash_lock *lock, int code)
{
    ash_lock_event event = ASH_LOCK_EVENT_INIT;
    assert_ok(ash_lock_next_event(lock, 30000, &event, NULL), &event.error);
    assert_int_equal(event.kind, ASH_LOCK_ERROR);
    assert_int_equal(event.error.code, code);
    assert_int_equal(ash_lock_get_state(lock), ASH_LOCK_FREE);
}

/* Obtained and released, new and known, with and without a token: so many calls of the store. */
static void test_lock_heir__what_nobody_wants_takes_two_moves(void **state)
{
    world w;
    open_world(&w, *state);
    ash_error *err = &w.f->err;
    for (int write = 0; write < 2; write++) {
        ash_lock *a = open_lock(w.f, w.c, write ? "w" : "r", NULL);
        for (int round = 0; round < 3; round++) {
            int before = faulty_store_calls(w.store);
            assert_ok(write ? ash_lock_obtain_write(a, err) : ash_lock_obtain_read(a, err), err);
            assert_int_equal(faulty_store_calls(w.store), before + 1);
            assert_ok(ash_lock_release(a, err), err);
            assert_int_equal(faulty_store_calls(w.store), before + 2);
        }
        /* A range is reserved and set once, and the document of a grant shows it from then on. */
        assert_ok(ash_lock_obtain_write(a, err), err);
        int before = faulty_store_calls(w.store);
        assert_true(ash_lock_token(a) > 0);
        assert_true(ash_lock_token(a) > 0);
        assert_int_equal(faulty_store_calls(w.store), before + 2);
        assert_ok(ash_lock_release(a, err), err);
        assert_ok(ash_lock_obtain_write(a, err), err);
        assert_true(ash_lock_token(a) > 0);
        assert_int_equal(faulty_store_calls(w.store), before + 4);
        ash_lock_free(a);
    }
    close_world(&w);
}

/* A holder, and `count` writers that wait behind it in the document's queue. */
static ash_lock *hold_before(world *w, ash_lock **queue, int count)
{
    char path[32];
    ash_lock *a = open_lock(w->f, w->c, "x", NULL);
    assert_ok(ash_lock_obtain_write(a, &w->f->err), &w->f->err);
    assert_event(a, ASH_LOCK_LOCKED);
    for (int i = 0; i < count; i++) {
        queue[i] = open_lock(w->f, w->c, "x", NULL);
        assert_ok(ash_lock_request_write(queue[i], &w->f->err), &w->f->err);
        snprintf(path, sizeof path, "waiters.%d.pid", i);
        assert_comes(w->f, "x", path, w->c->pid);
    }
    return a;
}

/* One move for each change of hands; and what the event of the release shows. */
static void test_lock_heir__one_move_from_writer_to_writer(void **state)
{
    world w;
    ash_lock *queue[3];
    ash_lock_event event = ASH_LOCK_EVENT_INIT;
    open_world(&w, *state);
    ash_lock *a = hold_before(&w, queue, 3);
    int64_t writes = doc_int(ash_lock_document(a), "writes");
    int before = faulty_store_calls(w.store);
    assert_ok(ash_lock_release(a, &w.f->err), &w.f->err);
    assert_int_equal(faulty_store_calls(w.store), before + 1);
    assert_event(queue[0], ASH_LOCK_LOCKED);
    assert_int_equal(doc_int(ash_lock_document(queue[0]), "writes"), writes + 1);
    assert_int_equal(ash_lock_get_state(queue[1]), ASH_LOCK_WAITING);
    assert_ok(ash_lock_next_event(a, 0, &event, &w.f->err), &w.f->err);
    assert_int_equal(event.kind, ASH_LOCK_RELEASED);
    assert_int_equal(doc_int(event.document, "write_lock"), 0);
    assert_int_equal(doc_int(event.document, "writes"), writes);
    assert_int_equal(doc_int(event.document, "holders.0.pid"), -1);
    assert_true(doc_int(event.document, "expires") <= ash__clock_wall_ms());
    assert_ok(ash_lock_release(queue[0], &w.f->err), &w.f->err);
    assert_event(queue[1], ASH_LOCK_LOCKED);
    assert_ok(ash_lock_release(queue[1], &w.f->err), &w.f->err);
    assert_event(queue[2], ASH_LOCK_LOCKED);
    assert_int_equal(faulty_store_calls(w.store), before + 3);
    for (int i = 0; i < 3; i++)
        ash_lock_free(queue[i]);
    ash_lock_free(a);
    close_world(&w);
}

/* Just before the move: somebody else gets in front, and the heir is cancelled. */
static void push_in_and_cancel(void *ctx)
{
    world *w = ctx;
    assert_true(npm_modify(w->f, "x", "{}",
                           "{'$push': {'waiters': {'$each': [{'h': {'$oid': "
                           "'0102030405060708090a0b0c'}, 'exp': {'$date': {'$numberLong': "
                           "'9000000000000'}}}], '$position': 0}}}",
                           false));
    ash_lock_cancel(w->heir);
    sleep_ms(200); /* for the worker to look, and find it busy */
}

static void test_lock_heir__cancelled_while_it_may_inherit(void **state)
{
    world w;
    ash_lock *queue[1];
    open_world(&w, *state);
    ash_lock *a = hold_before(&w, queue, 1);
    w.heir = queue[0];
    faulty_store_before(w.store, 1, push_in_and_cancel, &w);
    assert_ok(ash_lock_release(a, &w.f->err), &w.f->err);
    assert_error(queue[0], ASH_EINTERRUPTED);
    bson_t *doc = lock_doc(w.f, "x");
    assert_int_equal(doc_int(doc, "write_lock"), 0);
    assert_int_equal(doc_int(doc, "waiters.1.pid"), -1);
    bson_destroy(doc);
    faulty_store_set(w.store, 0, false, 0);
    ash_lock_free(queue[0]);
    ash_lock_free(a);
    close_world(&w);
}

/* The release says so, and so does the heir; the next one gets it when it is given back. */
static void test_lock_heir__the_store_fails(void **state)
{
    world w;
    ash_lock *queue[2];
    open_world(&w, *state);
    ash_lock *a = hold_before(&w, queue, 2);
    faulty_store_set(w.store, 1, false, 0);
    assert_int_equal(ash_lock_release(a, &w.f->err), ASH_ENOSPC);
    assert_error(queue[0], ASH_ENOSPC);
    assert_event(queue[1], ASH_LOCK_LOCKED);
    ash_lock_free(queue[0]);
    ash_lock_free(queue[1]);
    ash_lock_free(a);
    close_world(&w);
}

/* What was announced cannot be taken back: the heir gives the lock back, and says why. */
static void test_lock_heir__what_was_announced_cannot_be_taken_back(void **state)
{
    world w;
    ash_lock *queue[2];
    open_world(&w, *state);
    ash_lock *a = hold_before(&w, queue, 2);
    assert_true(npm_modify(w.f, "x", "{}",
                           "{'$set': {'pending': [{'files': 'fs.files', 'id': 1, 'mark': {'$oid': "
                           "'0102030405060708090a0b0c'}, 'makes': false}]}}",
                           false));
    faulty_store_set(w.store, 2, false, 0);
    assert_ok(ash_lock_release(a, &w.f->err), &w.f->err);
    assert_error(queue[0], ASH_ENOSPC);
    assert_event(queue[1], ASH_LOCK_LOCKED);
    bson_t *doc = lock_doc(w.f, "x");
    assert_int_equal(doc_int(doc, "pending.0.id"), -1);
    bson_destroy(doc);
    ash_lock_free(queue[0]);
    ash_lock_free(queue[1]);
    ash_lock_free(a);
    close_world(&w);
}

/* Readers have waited since before the heir: they go first. */
static void test_lock_heir__readers_go_first(void **state)
{
    world w;
    ash_lock *queue[1];
    open_world(&w, *state);
    ash_lock *a = hold_before(&w, queue, 1), *r = open_lock(w.f, w.c, "x", NULL);
    assert_ok(ash_lock_request_read(r, &w.f->err), &w.f->err);
    for (int64_t wait = 0; wait <= 0; sleep_ms(5)) {
        bson_t *doc = lock_doc(w.f, "x");
        wait = doc_int(doc, "readers_wait");
        bson_destroy(doc);
        /* They ask again after four polls, and are believed for longer. */
        assert_true(wait <= 0 || wait > ash__clock_wall_ms() + 5 * 600 * 1000);
    }
    assert_ok(ash_lock_release(a, &w.f->err), &w.f->err);
    assert_event(r, ASH_LOCK_LOCKED);
    assert_int_equal(ash_lock_get_state(queue[0]), ASH_LOCK_WAITING);
    sleep_ms(100); /* their turn is over */
    assert_ok(ash_lock_release(r, &w.f->err), &w.f->err);
    assert_event(queue[0], ASH_LOCK_LOCKED);
    ash_lock_free(queue[0]);
    ash_lock_free(r);
    ash_lock_free(a);
    close_world(&w);
}

/* The last writer of a queue leaves it: readers of its process need not wait for a poll. */
static void test_lock_heir__who_leaves_the_queue_lets_others_in(void **state)
{
    world w;
    open_world(&w, *state);
    ash_lock *held = open_lock(w.f, w.f->c, "x", NULL);
    ash_lock *writer = open_lock(w.f, w.c, "x", NULL), *r = open_lock(w.f, w.c, "x", NULL);
    assert_ok(ash_lock_obtain_read(held, &w.f->err), &w.f->err);
    assert_ok(ash_lock_request_write(writer, &w.f->err), &w.f->err);
    assert_comes(w.f, "x", "waiters.0.pid", w.c->pid);
    assert_ok(ash_lock_request_read(r, &w.f->err), &w.f->err);
    sleep_ms(100);
    assert_int_equal(ash_lock_get_state(r), ASH_LOCK_WAITING);
    int64_t start = now_ms();
    ash_lock_cancel(writer);
    assert_event(r, ASH_LOCK_LOCKED);
    assert_true(now_ms() - start < 15000); /* it looks when the reader's lease would end */
    assert_error(writer, ASH_EINTERRUPTED);
    ash_lock_free(held);
    ash_lock_free(writer);
    ash_lock_free(r);
    close_world(&w);
}

/* A program that releases a lock that only waits is told so, and the wait goes on. */
static void test_lock_heir__release_of_one_that_waits(void **state)
{
    world w;
    ash_lock *queue[1];
    open_world(&w, *state);
    ash_lock *a = hold_before(&w, queue, 1);
    for (int i = 0; i < 20; i++)
        assert_int_equal(ash_lock_release(queue[0], &w.f->err), ASH_ESTATE);
    assert_ok(ash_lock_release(a, &w.f->err), &w.f->err);
    assert_event(queue[0], ASH_LOCK_LOCKED);
    ash_lock_free(queue[0]);
    ash_lock_free(a);
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOCK_TEST(test_lock_heir__what_nobody_wants_takes_two_moves),
        LOCK_TEST(test_lock_heir__one_move_from_writer_to_writer),
        LOCK_TEST(test_lock_heir__cancelled_while_it_may_inherit),
        LOCK_TEST(test_lock_heir__the_store_fails),
        LOCK_TEST(test_lock_heir__what_was_announced_cannot_be_taken_back),
        LOCK_TEST(test_lock_heir__readers_go_first),
        LOCK_TEST(test_lock_heir__who_leaves_the_queue_lets_others_in),
        LOCK_TEST(test_lock_heir__release_of_one_that_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
