/* SPDX-License-Identifier: Apache-2.0 */
/* Every error: of the collection, of each call when the store fails, when the document is gone or
 * somebody else's; and waiting where changes are not told. */
#include "lock/support.h"

#include "faults/faulty_store.h"

#include <string.h>

typedef struct faults {
    fixture *f;
    ash_store *store; /* fails on purpose; has no change streams */
    ash_lock_collection *c;
    ash_lock_event_kind told;
    int told_code;
} faults;

static void remember(void *ctx, ash_lock *lock, const ash_lock_event *event)
{
    faults *x = ctx;
    assert_null(lock);
    x->told = event->kind;
    x->told_code = event->error.code;
}

static int open_on(faults *x, fixture *f)
{
    ash_lock_options o = f->opts;
    *x = (faults){.f = f, .store = x->store};
    if (x->store == NULL) {
        x->store = faulty_store_new(f->store);
        faulty_store_bare(x->store);
    }
    o.on_event = remember;
    o.event_ctx = x;
    return ash_lock_collection_open(x->store, &o, &x->c, &f->err);
}

static void close_all(faults *x)
{
    ash_lock_collection_close(x->c);
    faulty_store_free(x->store);
}

static void assert_error_event(ash_lock *lock, ash_lock_event_kind kind, int code)
{
    ash_lock_event event = ASH_LOCK_EVENT_INIT;
    assert_ok(ash_lock_next_event(lock, 30000, &event, NULL), &event.error);
    assert_int_equal(event.kind, kind);
    assert_int_equal(event.error.code, code);
    assert_true(strlen(event.error.text) > 0);
}

/* 'error', and no 'ready': whichever of the calls of opening fails. */
static void test_lock_errors__collection_that_does_not_open(void **state)
{
    fixture *f = *state;
    faults x = {0};
    assert_ok(open_on(&x, f), &f->err);
    assert_int_equal(x.told, ASH_LOCK_READY);
    ash_lock_collection_close(x.c);
    int failed = 0;
    for (int n = 1; n < 4; n++) {
        faulty_store_set(x.store, n, false, 0);
        int rc = open_on(&x, f);
        if (rc == 0) {
            assert_int_equal(x.told, ASH_LOCK_READY);
            ash_lock_collection_close(x.c);
            continue; /* that call may fail: the clock's */
        }
        failed++;
        assert_int_equal(x.told, ASH_LOCK_ERROR);
        assert_int_equal(x.told_code, rc);
    }
    assert_true(failed >= 2);
    faulty_store_set(x.store, 0, false, 0);
    ash_lock_options o = f->opts;
    o.root = "no $ root";
    x.c = NULL;
    assert_int_equal(ash_lock_collection_open(f->store, &o, &x.c, &f->err), ASH_EINVAL);
    o.root = NULL;
    o.lock_expiration_s = -1;
    assert_int_equal(ash_lock_collection_open(f->store, &o, &x.c, &f->err), ASH_EINVAL);
    faulty_store_free(x.store);
}

typedef int (*call)(ash_lock *lock, ash_error *err);

static void fail_next(faults *x, ash_lock *lock, call fn)
{
    faulty_store_set(x->store, 1, false, 0);
    assert_int_equal(fn(lock, &x->f->err), ASH_ENOSPC);
    assert_error_event(lock, ASH_LOCK_ERROR, ASH_ENOSPC);
    faulty_store_set(x->store, 0, false, 0);
}

/* A store that fails: the call says so, the queue too, and the lock object can be used again. */
static void test_lock_errors__of_the_store(void **state)
{
    fixture *f = *state;
    faults x = {0};
    assert_ok(open_on(&x, f), &f->err);
    ash_lock *a = open_lock(f, x.c, "x", NULL);
    fail_next(&x, a, ash_lock_obtain_read);
    fail_next(&x, a, ash_lock_obtain_write);
    assert_int_equal(ash_lock_get_state(a), ASH_LOCK_FREE);
    assert_ok(ash_lock_obtain_write(a, &f->err), &f->err);
    assert_event(a, ASH_LOCK_LOCKED);
    fail_next(&x, a, ash_lock_renew);
    assert_true(ash_lock_is_held(a)); /* a renewal that failed takes nothing away */
    fail_next(&x, a, ash_lock_release);
    assert_false(ash_lock_is_held(a)); /* it is given back by itself */
    assert_comes(f, "x", "write_lock", 0);
    assert_ok(ash_lock_obtain_write(a, &f->err), &f->err);
    assert_event(a, ASH_LOCK_LOCKED);
    fail_next(&x, a, ash_lock_remove);
    assert_comes(f, "x", "write_lock", 0);
    faulty_store_set(x.store, 1, false, 0);
    assert_ok(ash_lock_request_write(a, &f->err), &f->err);
    assert_error_event(a, ASH_LOCK_ERROR, ASH_ENOSPC);
    ash_lock_free(a);
    close_all(&x);
}

/* The document is not there any more: somebody removed it. */
static void test_lock_errors__document_is_gone(void **state)
{
    fixture *f = *state;
    const call calls[] = {ash_lock_release, ash_lock_renew, ash_lock_remove};
    ash_lock *a = open_lock(f, f->c, "x", NULL);
    for (int i = 0; i < 3; i++) {
        assert_ok(ash_lock_obtain_write(a, &f->err), &f->err);
        assert_event(a, ASH_LOCK_LOCKED);
        assert_true(npm_remove(f, "x"));
        assert_int_equal(calls[i](a, &f->err), ASH_ELOST);
        assert_error_event(a, ASH_LOCK_LOST, ASH_ELOST);
        assert_int_equal(ash_lock_release(a, &f->err), ASH_ESTATE);
        assert_null(lock_doc(f, "x")); /* nothing made it anew */
    }
    ash_lock_free(a);
}

/* A lease that cannot be renewed ends: LOST, not EXPIRED. */
static void test_lock_errors__lease_is_lost(void **state)
{
    fixture *f = *state;
    ash_lock_options o = f->opts;
    o.lease_s = 1;
    ash_lock_collection *c = fixture_reopen(f, &o);
    ash_lock *a = open_lock(f, c, "x", NULL);
    bson_value_t id = text_id("x");
    assert_ok(ash_lock_obtain_write(a, &f->err), &f->err);
    assert_event(a, ASH_LOCK_LOCKED);
    assert_ok(ash_lock_break(f->c, &id, "test", &f->err), &f->err);
    assert_error_event(a, ASH_LOCK_LOST, ASH_ELOST); /* by its own heartbeat */
    assert_false(ash_lock_is_held(a));
    ash_lock_free(a);
    ash_lock_collection_close(c);
}

/* No change streams: waiters poll, readers and writers, and take their turn. */
static void test_lock_errors__polling_where_changes_are_not_told(void **state)
{
    fixture *f = *state;
    faults x = {0};
    assert_ok(open_on(&x, f), &f->err);
    ash_lock_options o = ASH_LOCK_OPTIONS_INIT;
    o.time_out_s = 60;
    ash_lock *held = open_lock(f, f->c, "x", NULL); /* elsewhere: no wake-up within the process */
    ash_lock *w = open_lock(f, x.c, "x", &o), *r = open_lock(f, x.c, "x", &o);
    assert_ok(ash_lock_obtain_write(held, &f->err), &f->err);
    assert_ok(ash_lock_request_write(w, &f->err), &f->err);
    assert_comes(f, "x", "write_req", 1);
    assert_ok(ash_lock_release(held, &f->err), &f->err);
    assert_event(w, ASH_LOCK_LOCKED);
    assert_ok(ash_lock_request_read(r, &f->err), &f->err);
    assert_ok(ash_lock_release(w, &f->err), &f->err);
    assert_event(r, ASH_LOCK_LOCKED);
    ash_lock_free(held);
    ash_lock_free(w);
    ash_lock_free(r);
    close_all(&x);
}

static void test_lock_errors__write_concern_goes_along(void **state)
{
    fixture *f = *state;
    faults x = {0};
    ash_lock_options o = f->opts;
    bson_t *concern = BCON_NEW("w", BCON_INT32(1), "j", BCON_BOOL(true));
    x.store = faulty_store_new(f->store);
    o.write_concern = concern;
    assert_ok(ash_lock_collection_open(x.store, &o, &x.c, &f->err), &f->err);
    ash_lock *a = open_lock(f, x.c, "x", NULL);
    assert_ok(ash_lock_obtain_write(a, &f->err), &f->err);
    const bson_t *given = faulty_store_write_concern(x.store);
    assert_non_null(given);
    assert_true(bson_equal(given, concern));
    bson_destroy(concern);
    ash_lock_free(a);
    close_all(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOCK_TEST(test_lock_errors__collection_that_does_not_open),
        LOCK_TEST(test_lock_errors__of_the_store),
        LOCK_TEST(test_lock_errors__document_is_gone),
        LOCK_TEST(test_lock_errors__lease_is_lost),
        LOCK_TEST(test_lock_errors__polling_where_changes_are_not_told),
        LOCK_TEST(test_lock_errors__write_concern_goes_along),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
