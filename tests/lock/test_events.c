/* SPDX-License-Identifier: Apache-2.0 */
/* Every event, by callback and from the queue. */
#include "lock/support.h"

#include <string.h>

static void test_lock_events__from_the_queue(void **state)
{
    fixture *f = *state;
    ash_lock *a = open_lock(f, f->c, "x", NULL), *b = open_lock(f, f->c, "x", NULL);
    ash_lock_event event = ASH_LOCK_EVENT_INIT;
    assert_ok(ash_lock_next_event(a, 0, &event, &f->err), &f->err);
    assert_int_equal(event.kind, 0);
    assert_ok(ash_lock_obtain_write(a, &f->err), &f->err);
    assert_ok(ash_lock_next_event(a, 30000, &event, &f->err), &f->err);
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
    assert_ok(ash_lock_next_event(a, 30000, &event, &f->err), &f->err);
    assert_int_equal(event.kind, ASH_LOCK_REMOVED);
    assert_int_equal(doc_int(event.document, "write_lock"), 0);
    assert_int_equal(doc_int(event.document, "expires"), INT64_C(8000000000000000));
    ash_lock_free(a);
    ash_lock_free(b);
}

/* The warning; false when the end overtook it, on a machine that stood still. */
static bool is_warned(ash_lock *lock)
{
    ash_lock_event event = ASH_LOCK_EVENT_INIT;
    ash_error err = ASH_ERROR_INIT;
    assert_ok(ash_lock_next_event(lock, 30000, &event, &err), &err);
    assert_true(event.kind == ASH_LOCK_EXPIRES_SOON || event.kind == ASH_LOCK_EXPIRED);
    return event.kind == ASH_LOCK_EXPIRES_SOON;
}

/* The warning, a renewal in time, the warning again, and the end. */
static bool live_and_end(fixture *f, double unit_s)
{
    ash_lock_options o = ASH_LOCK_OPTIONS_INIT;
    o.lock_expiration_s = unit_s;
    int64_t life = (int64_t)(unit_s * 1000);
    ash_lock *a = open_lock(f, f->c, "x", &o);
    int64_t start = now_ms();
    assert_ok(ash_lock_obtain_write(a, &f->err), &f->err);
    assert_event(a, ASH_LOCK_LOCKED);
    bool in_time = is_warned(a);
    int64_t soon = now_ms() - start;
    assert_true(soon >= life * 6 / 10);
    in_time = in_time && soon < life * 95 / 100 && ash_lock_renew(a, &f->err) == 0;
    if (in_time)
        assert_event(a, ASH_LOCK_RENEWED);
    if (!in_time || !is_warned(a)) {
        ash_lock_free(a);
        return false;
    }
    assert_true(now_ms() - start >= soon + life * 6 / 10);
    assert_event(a, ASH_LOCK_EXPIRED);
    assert_true(now_ms() - start >= soon + life * 8 / 10);
    assert_false(ash_lock_is_held(a));
    assert_int_equal(ash_lock_get_state(a), ASH_LOCK_FREE);
    assert_int_equal(ash_lock_release(a, &f->err), ASH_ESTATE);
    assert_int_equal(ash_lock_renew(a, &f->err), ASH_ESTATE);
    ash_lock_free(a);
    return true;
}

static void test_lock_events__end_of_a_life(void **state)
{
    fixture *f = *state;
    try_slower(f, live_and_end);
    /* The holder's process lives, so it gave the lock back by itself. */
    assert_comes(f, "x", "write_lock", 0);
    ash_lock *b = open_lock(f, f->c, "x", NULL);
    assert_ok(ash_lock_obtain_write(b, &f->err), &f->err);
    ash_lock_free(b);
}

static void test_lock_events__expired_reader_leaves_no_trace(void **state)
{
    fixture *f = *state;
    ash_lock_options o = ASH_LOCK_OPTIONS_INIT;
    o.lock_expiration_s = 1;
    ash_lock *a = open_lock(f, f->c, "x", &o), *b = open_lock(f, f->c, "x", NULL);
    assert_ok(ash_lock_obtain_read(a, &f->err), &f->err);
    assert_event(a, ASH_LOCK_LOCKED);
    if (is_warned(a))
        assert_event(a, ASH_LOCK_EXPIRED);
    assert_comes(f, "x", "read_locks", 0);
    assert_ok(ash_lock_obtain_write(b, &f->err), &f->err);
    ash_lock_free(a);
    ash_lock_free(b);
}

static void test_lock_events__lost(void **state)
{
    fixture *f = *state;
    ash_lock *a = open_lock(f, f->c, "x", NULL), *r = open_lock(f, f->c, "y", NULL);
    bson_value_t x = text_id("x"), y = text_id("y"), z = text_id("z");
    ash_lock_event event = ASH_LOCK_EVENT_INIT;
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
    assert_ok(ash_lock_next_event(a, 30000, &event, &f->err), &f->err);
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
    ash_lock_event event = ASH_LOCK_EVENT_INIT;
    assert_ok(ash_lock_obtain_read(a, &f->err), &f->err);
    assert_ok(ash_lock_request_write(b, &f->err), &f->err);
    assert_comes(f, "x", "write_req", 1);
    assert_int_equal(ash_lock_get_state(b), ASH_LOCK_WAITING);
    ash_lock_cancel(b);
    assert_ok(ash_lock_next_event(b, 30000, &event, &f->err), &f->err);
    assert_int_equal(event.kind, ASH_LOCK_ERROR);
    assert_int_equal(event.error.code, ASH_EINTERRUPTED);
    bson_t *doc = lock_doc(f, "x");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOCK_TEST(test_lock_events__from_the_queue),
        LOCK_TEST(test_lock_events__end_of_a_life),
        LOCK_TEST(test_lock_events__expired_reader_leaves_no_trace),
        LOCK_TEST(test_lock_events__lost),
        LOCK_TEST(test_lock_events__cancelled_wait),
        LOCK_TEST(test_lock_events__queue_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
