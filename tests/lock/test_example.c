/* SPDX-License-Identifier: Apache-2.0 */
/* The example of the npm package's manual, line by line, with callbacks as there. */
#include "lock/support.h"

#include <pthread.h>
#include <string.h>

struct story {
    pthread_mutex_t mutex; /* guards text */
    char text[200];
    fixture *f;
    bool running[2]; /* a callback of that lock is on its way */
    ash_lock_collection *coll;
    ash_lock *lock, *lock2;
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

/* on 'ready': the collection may be used; 'error' does not come then. */
static void on_collection(void *ctx, ash_lock *lock, const ash_lock_event *event)
{
    note(ctx, lock == NULL && event->kind == ASH_LOCK_READY ? "ready " : "? ");
}

/* on 'locked', with the lock document: write to the file, then do not forget to release. */
static void on_lock(void *ctx, ash_lock *lock, const ash_lock_event *event)
{
    struct story *s = ctx;
    assert_false(s->running[0]);
    s->running[0] = true;
    if (event->kind == ASH_LOCK_LOCKED) {
        note(s, "locked ");
        assert_non_null(event->document);
        assert_int_equal(doc_int(event->document, "write_lock"), 1);
        assert_ok(ash_lock_release(lock, &s->f->err), &s->f->err);
    } else {
        note(s, event->kind == ASH_LOCK_RELEASED ? "released " : "? ");
    }
    s->running[0] = false;
}

/* The second lock on the same resource: on 'locked' for reading, read and release; on 'released',
 * ask with the same object for writing; on 'locked' again, remove the file and the lock. */
static void on_lock2(void *ctx, ash_lock *lock, const ash_lock_event *event)
{
    struct story *s = ctx;
    assert_false(s->running[1]);
    s->running[1] = true;
    switch (event->kind) {
    case ASH_LOCK_LOCKED:
        if (ash_lock_get_state(lock) == ASH_LOCK_READING) {
            note(s, "reading2 ");
            assert_int_equal(doc_int(event->document, "read_locks"), 1);
            assert_ok(ash_lock_release(lock, &s->f->err), &s->f->err);
        } else {
            note(s, "writing2 ");
            assert_ok(ash_lock_remove(lock, &s->f->err), &s->f->err);
        }
        break;
    case ASH_LOCK_RELEASED:
        note(s, "released2 ");
        assert_ok(ash_lock_request_write(lock, &s->f->err), &s->f->err);
        break;
    default:
        note(s, event->kind == ASH_LOCK_REMOVED ? "removed2 " : "? ");
    }
    s->running[1] = false;
}

/* lockColl = LockCollection(db, {root: 'fs', timeOut: 60, pollingInterval: 5, lockExpiration: 30})
 */
static ash_lock_collection *lock_collection(struct story *s)
{
    ash_lock_options o = ASH_LOCK_OPTIONS_INIT;
    o.db = s->f->db;
    o.root = "fs";
    o.time_out_s = 60;
    o.polling_interval_s = 5;
    o.lock_expiration_s = 30;
    o.on_event = on_collection;
    o.event_ctx = s;
    return fixture_reopen(s->f, &o);
}

static void test_lock_example__line_by_line(void **state)
{
    fixture *f = *state;
    struct story s = {.mutex = PTHREAD_MUTEX_INITIALIZER, .f = f};
    s.coll = lock_collection(&s);
    assert_string_equal(s.text, "ready ");

    /* lock = Lock(ID, lockColl, {}); lock.obtainWriteLock(); lock.on('locked', …) */
    ash_lock_options own = ASH_LOCK_OPTIONS_INIT;
    own.on_event = on_lock;
    own.event_ctx = &s;
    s.lock = open_lock(f, s.coll, "something", &own);
    assert_ok(ash_lock_request_write(s.lock, &f->err), &f->err);

    /* lock2 = new Lock(ID, lockColl, {}); lock2.obtainReadLock().on('locked', …) */
    s.lock2 = open_lock(f, s.coll, "something", NULL);
    ash_lock_on_event(s.lock2, on_lock2, &s);
    assert_ok(ash_lock_request_read(s.lock2, &f->err), &f->err);

    for (int i = 0; i < 3000 && !ended_with(&s, "removed2 "); i++)
        sleep_ms(10);
    assert_string_equal(s.text, "ready locked released reading2 released2 writing2 removed2 ");
    assert_null(lock_doc(f, "something"));
    ash_lock_event event = ASH_LOCK_EVENT_INIT; /* a lock has either callbacks or a queue */
    assert_int_equal(ash_lock_next_event(s.lock, 0, &event, &f->err), ASH_ESTATE);
    ash_lock_free(s.lock);
    ash_lock_free(s.lock2);
    ash_lock_collection_close(s.coll);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOCK_TEST(test_lock_example__line_by_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
