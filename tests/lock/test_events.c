/* SPDX-License-Identifier: Apache-2.0 */
/* Every event, by callback and from the queue. */
#include "lock/support.h"

#include <pthread.h>
#include <string.h>

static void test_lock_events__from_the_queue(void **state)
{
    fixture *f = *state;
    ash_lock *a = open_lock(f, f->c, "x", NULL), *b = open_lock(f, f->c, "x", NULL);
    ash_lock_event event;
    assert_ok(ash_lock_next_event(a, 0, &event, &f->err), &f->err);
    assert_int_equal(event.kind, 0);
    assert_ok(ash_lock_obtain_write(a, &f->err), &f->err);
    assert_ok(ash_lock_next_event(a, 1000, &event, &f->err), &f->err);
    assert_int_equal(event.kind, ASH_LOCK_LOCKED);
    assert_int_equal(doc_int(event.document, "write_lock"), 1);
    assert_ok(ash_lock_request_read(b, &f->err), &f->err);
    assert_event(b, ASH_LOCK_TIMED_OUT);
    assert_ok(ash_lock_renew(a, &f->err), &f->err);
    assert_event(a, ASH_LOCK_RENEWED);
    assert_ok(ash_lock_release(a, &f->err), &f->err);
    assert_event(a, ASH_LOCK_RELEASED);
    assert_ok(ash_lock_request_write(a, &f->err), &f->err);
    assert_event(a, ASH_LOCK_LOCKED);
    assert_ok(ash_lock_remove(a, &f->err), &f->err);
    assert_ok(ash_lock_next_event(a, 1000, &event, &f->err), &f->err);
    assert_int_equal(event.kind, ASH_LOCK_REMOVED);
    assert_int_equal(doc_int(event.document, "write_lock"), 0);
    assert_int_equal(doc_int(event.document, "expires"), INT64_C(8000000000000000));
    ash_lock_free(a);
    ash_lock_free(b);
}

static void test_lock_events__end_of_a_life(void **state)
{
    fixture *f = *state;
    ash_lock_options o = ASH_LOCK_OPTIONS_INIT;
    o.lock_expiration_s = 0.5;
    ash_lock *a = open_lock(f, f->c, "x", &o), *b = open_lock(f, f->c, "x", NULL);
    int64_t start = now_ms();
    assert_ok(ash_lock_obtain_write(a, &f->err), &f->err);
    assert_event(a, ASH_LOCK_LOCKED);
    assert_event(a, ASH_LOCK_EXPIRES_SOON);
    int64_t soon = now_ms() - start;
    assert_true(soon >= 300 && soon < 500);
    assert_ok(ash_lock_renew(a, &f->err), &f->err);
    assert_event(a, ASH_LOCK_RENEWED);
    assert_event(a, ASH_LOCK_EXPIRES_SOON);
    assert_true(now_ms() - start >= 600);
    assert_event(a, ASH_LOCK_EXPIRED);
    assert_false(ash_lock_is_held(a));
    assert_int_equal(ash_lock_get_state(a), ASH_LOCK_FREE);
    assert_int_equal(ash_lock_release(a, &f->err), ASH_ESTATE);
    assert_int_equal(ash_lock_renew(a, &f->err), ASH_ESTATE);
    /* The holder's process lives, so it gave the lock back at once. */
    sleep_ms(60);
    assert_ok(ash_lock_obtain_write(b, &f->err), &f->err);
    ash_lock_free(b);
    assert_ok(ash_lock_obtain_read(a, &f->err), &f->err);
    ash_lock_free(a);
}

static void test_lock_events__expired_reader_leaves_no_trace(void **state)
{
    fixture *f = *state;
    ash_lock_options o = ASH_LOCK_OPTIONS_INIT;
    o.lock_expiration_s = 2;
    ash_lock *a = open_lock(f, f->c, "x", &o), *b = open_lock(f, f->c, "x", NULL);
    assert_ok(ash_lock_obtain_read(a, &f->err), &f->err);
    assert_event(a, ASH_LOCK_LOCKED);
    assert_event(a, ASH_LOCK_EXPIRES_SOON);
    assert_event(a, ASH_LOCK_EXPIRED);
    sleep_ms(60);
    bson_t *doc = lock_doc(f, "x");
    assert_int_equal(doc_int(doc, "read_locks"), 0);
    bson_destroy(doc);
    assert_ok(ash_lock_obtain_write(b, &f->err), &f->err);
    ash_lock_free(a);
    ash_lock_free(b);
}

static void test_lock_events__lost(void **state)
{
    fixture *f = *state;
    ash_lock *a = open_lock(f, f->c, "x", NULL), *r = open_lock(f, f->c, "y", NULL);
    bson_value_t x = text_id("x"), y = text_id("y"), z = text_id("z");
    ash_lock_event event;
    assert_ok(ash_lock_obtain_write(a, &f->err), &f->err);
    assert_ok(ash_lock_obtain_read(r, &f->err), &f->err);
    assert_event(a, ASH_LOCK_LOCKED);
    assert_int_equal(ash_lock_break(f->c, &z, "test", &f->err), ASH_ENOTFOUND);
    assert_int_equal(ash_lock_break(f->c, &x, "", &f->err), ASH_EINVAL);
    assert_ok(ash_lock_break(f->c, &x, "holder hangs", &f->err), &f->err);
    assert_ok(ash_lock_break(f->c, &y, "holder hangs", &f->err), &f->err);
    bson_t *doc = lock_doc(f, "x");
    bson_iter_t iter, at;
    bson_iter_init(&iter, doc);
    assert_true(bson_iter_find_descendant(&iter, "broken.reason", &at));
    assert_string_equal(bson_iter_utf8(&at, NULL), "holder hangs");
    bson_destroy(doc);
    assert_int_equal(ash_lock_release(a, &f->err), ASH_ELOST);
    assert_ok(ash_lock_next_event(a, 1000, &event, &f->err), &f->err);
    assert_int_equal(event.kind, ASH_LOCK_LOST);
    assert_int_equal(event.error.code, ASH_ELOST);
    assert_int_equal(ash_lock_renew(r, &f->err), ASH_ELOST);
    assert_int_equal(ash_lock_get_state(r), ASH_LOCK_FREE);
    ash_lock_free(a);
    ash_lock_free(r);
}

static void test_lock_events__cancelled_wait(void **state)
{
    fixture *f = *state;
    ash_lock_options o = ASH_LOCK_OPTIONS_INIT;
    o.time_out_s = 60;
    ash_lock *a = open_lock(f, f->c, "x", NULL), *b = open_lock(f, f->c, "x", &o);
    ash_lock_event event;
    assert_ok(ash_lock_obtain_read(a, &f->err), &f->err);
    assert_ok(ash_lock_request_write(b, &f->err), &f->err);
    sleep_ms(50);
    assert_int_equal(ash_lock_get_state(b), ASH_LOCK_WAITING);
    bson_t *doc = lock_doc(f, "x");
    assert_int_equal(doc_int(doc, "write_req"), 1);
    bson_destroy(doc);
    ash_lock_cancel(b);
    assert_ok(ash_lock_next_event(b, 1000, &event, &f->err), &f->err);
    assert_int_equal(event.kind, ASH_LOCK_ERROR);
    assert_int_equal(event.error.code, ASH_EINTERRUPTED);
    doc = lock_doc(f, "x");
    assert_int_equal(doc_int(doc, "write_req"), 0);
    assert_false(doc_int(doc, "waiters.0.pid") > 0);
    bson_destroy(doc);
    ash_lock_free(a);
    ash_lock_free(b);
}

static void test_lock_events__queue_is_bounded(void **state)
{
    fixture *f = *state;
    ash_lock *a = open_lock(f, f->c, "x", NULL);
    for (int i = 0; i < 40; i++) {
        assert_ok(ash_lock_obtain_read(a, &f->err), &f->err);
        assert_ok(ash_lock_release(a, &f->err), &f->err);
    }
    assert_int_equal(ash_lock_events_dropped(a), 16);
    for (int i = 0; i < 32; i++) {
        assert_event(a, ASH_LOCK_LOCKED);
        assert_event(a, ASH_LOCK_RELEASED);
    }
    ash_lock_free(a);
}

/* ---- the manual's example ---- */

struct story {
    pthread_mutex_t mutex;
    char text[200];
    bool running[2]; /* a callback of that lock is on its way */
    ash_lock *lock, *lock2;
    ash_error err;
};

static void note(struct story *s, const char *what)
{
    pthread_mutex_lock(&s->mutex);
    strncat(s->text, what, sizeof s->text - strlen(s->text) - 1);
    pthread_mutex_unlock(&s->mutex);
}

static bool ended_with(struct story *s, const char *what)
{
    pthread_mutex_lock(&s->mutex);
    size_t len = strlen(s->text), wanted = strlen(what);
    bool ended = len >= wanted && strcmp(s->text + len - wanted, what) == 0;
    pthread_mutex_unlock(&s->mutex);
    return ended;
}

static void on_ready(void *ctx, ash_lock *lock, const ash_lock_event *event)
{
    note(ctx, lock == NULL && event->kind == ASH_LOCK_READY ? "ready " : "?");
}

static void on_lock(void *ctx, ash_lock *lock, const ash_lock_event *event)
{
    struct story *s = ctx;
    assert_false(s->running[0]);
    s->running[0] = true;
    if (event->kind == ASH_LOCK_LOCKED) {
        note(s, "locked ");
        /* Write to a GridFS file … */
        assert_ok(ash_lock_release(lock, &s->err), &s->err);
    } else {
        note(s, event->kind == ASH_LOCK_RELEASED ? "released " : "? ");
    }
    s->running[0] = false;
}

static void on_lock2(void *ctx, ash_lock *lock, const ash_lock_event *event)
{
    struct story *s = ctx;
    assert_false(s->running[1]);
    s->running[1] = true;
    switch (event->kind) {
    case ASH_LOCK_LOCKED:
        if (ash_lock_get_state(lock) == ASH_LOCK_READING) {
            note(s, "reading2 ");
            assert_ok(ash_lock_release(lock, &s->err), &s->err);
        } else {
            note(s, "writing2 ");
            /* Remove the file … */
            assert_ok(ash_lock_remove(lock, &s->err), &s->err);
        }
        break;
    case ASH_LOCK_RELEASED:
        note(s, "released2 ");
        assert_ok(ash_lock_request_write(lock, &s->err), &s->err);
        break;
    default:
        note(s, event->kind == ASH_LOCK_REMOVED ? "removed2 " : "? ");
    }
    s->running[1] = false;
}

static void test_lock_events__the_manuals_example(void **state)
{
    fixture *f = *state;
    struct story s = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    ash_lock_options o = ASH_LOCK_OPTIONS_INIT, by = ASH_LOCK_OPTIONS_INIT;
    o.db = f->db;
    o.root = "fs";
    o.time_out_s = 60;
    o.polling_interval_s = 5;
    o.lock_expiration_s = 30;
    o.on_event = on_ready;
    o.event_ctx = &s;
    ash_lock_collection *coll = fixture_reopen(f, &o);
    by.on_event = on_lock;
    by.event_ctx = &s;
    s.lock = open_lock(f, coll, "something", &by);
    assert_ok(ash_lock_request_write(s.lock, &f->err), &f->err);
    s.lock2 = open_lock(f, coll, "something", NULL);
    ash_lock_on_event(s.lock2, on_lock2, &s);
    assert_ok(ash_lock_request_read(s.lock2, &f->err), &f->err);
    for (int i = 0; i < 500 && !ended_with(&s, "removed2 "); i++)
        sleep_ms(10);
    assert_string_equal(s.text, "ready locked released reading2 released2 writing2 removed2 ");
    assert_null(lock_doc(f, "something"));
    ash_lock_event event;
    assert_int_equal(ash_lock_next_event(s.lock, 0, &event, &f->err), ASH_ESTATE);
    ash_lock_free(s.lock);
    ash_lock_free(s.lock2);
    ash_lock_collection_close(coll);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOCK_TEST(test_lock_events__from_the_queue),
        LOCK_TEST(test_lock_events__end_of_a_life),
        LOCK_TEST(test_lock_events__expired_reader_leaves_no_trace),
        LOCK_TEST(test_lock_events__lost),
        LOCK_TEST(test_lock_events__cancelled_wait),
        LOCK_TEST(test_lock_events__queue_is_bounded),
        LOCK_TEST(test_lock_events__the_manuals_example),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
