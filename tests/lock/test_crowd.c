/* SPDX-License-Identifier: Apache-2.0 */
/* Crowds of requests of two lock collections, as two processes would have them: all are served, one
 * at a time and in order, and few of them stand in the document's queue.  Polls are far, so a call
 * that is lost is a test that does not end in time. */
#include "lock/support.h"

#include "base/clock.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COLLECTIONS = 2, WRITERS = 100, READERS = 300, ALL = WRITERS + READERS, QUEUED = 8 };
#define IN_TIME_MS 60000 /* a fraction of the polling interval */

struct crowd;

typedef struct person {
    struct crowd *crowd;
    ash_lock *lock;
    int collection, number; /* in the order in which its collection was asked */
    bool write;
    atomic_int outcome; /* the event that ended its wait */
} person;

typedef struct crowd {
    fixture *f;
    ash_lock_collection *c[COLLECTIONS];
    ash_lock *held; /* until all have asked */
    person people[ALL];
    atomic_int inside_write, inside_read, clashes, ended, disorder;
    atomic_int last[COLLECTIONS]; /* number of the last writer */
} crowd;

static void enter_and_leave(person *p)
{
    crowd *c = p->crowd;
    if (p->write) {
        atomic_fetch_add(&c->clashes, atomic_fetch_add(&c->inside_write, 1) + c->inside_read > 0);
        if (atomic_exchange(&c->last[p->collection], p->number) >= p->number)
            atomic_fetch_add(&c->disorder, 1);
        atomic_fetch_sub(&c->inside_write, 1);
    } else {
        atomic_fetch_add(&c->inside_read, 1);
        atomic_fetch_add(&c->clashes, c->inside_write > 0);
        atomic_fetch_sub(&c->inside_read, 1);
    }
    (void)ash_lock_release(p->lock, NULL);
}

/* Holds it for as long as the callback runs. */
static void on_event(void *ctx, ash_lock *lock, const ash_lock_event *event)
{
    person *p = ctx;
    (void)lock;
    if (event->kind != ASH_LOCK_LOCKED && event->kind != ASH_LOCK_TIMED_OUT &&
        event->kind != ASH_LOCK_ERROR)
        return;
    if (event->kind == ASH_LOCK_LOCKED)
        enter_and_leave(p);
    atomic_store(&p->outcome, (int)event->kind);
    atomic_fetch_add(&p->crowd->ended, 1);
}

static void ask(crowd *c, int i, bool write, double seconds)
{
    person *p = &c->people[i];
    ash_lock_options o = ASH_LOCK_OPTIONS_INIT;
    *p = (person){.crowd = c, .collection = i / 4 % COLLECTIONS, .number = i + 1, .write = write};
    o.time_out_s = seconds;
    o.on_event = on_event;
    o.event_ctx = p;
    p->lock = open_lock(c->f, c->c[p->collection], "x", &o);
    assert_ok(write ? ash_lock_request_write(p->lock, &c->f->err)
                    : ash_lock_request_read(p->lock, &c->f->err),
              &c->f->err);
}

static crowd *gather(fixture *f)
{
    crowd *c = calloc(1, sizeof *c);
    c->f = f;
    f->opts.polling_interval_s = 300;
    f->opts.time_out_s = 600;
    for (int i = 0; i < COLLECTIONS; i++)
        c->c[i] = fixture_reopen(f, &f->opts);
    c->held = open_lock(f, f->c, "x", NULL);
    assert_ok(ash_lock_obtain_write(c->held, &f->err), &f->err);
    return c;
}

static void disperse(crowd *c)
{
    for (int i = 0; i < ALL; i++)
        ash_lock_free(c->people[i].lock);
    for (int i = 0; i < COLLECTIONS; i++)
        ash_lock_collection_close(c->c[i]);
    ash_lock_free(c->held);
    free(c);
}

static int queue_length(fixture *f)
{
    bson_t *doc = lock_doc(f, "x");
    char path[32];
    int n = 0;
    do
        snprintf(path, sizeof path, "waiters.%d.pid", n);
    while (doc_int(doc, path) >= 0 && ++n);
    bson_destroy(doc);
    return n;
}

/* Until so many waits have ended; the queue is looked at meanwhile. */
static void wait_for_all(crowd *c, int count)
{
    for (int64_t end = now_ms() + IN_TIME_MS; c->ended < count && now_ms() < end; sleep_ms(1))
        assert_true(queue_length(c->f) <= COLLECTIONS * QUEUED);
    if (c->ended != count)
        fail_msg("%d of %d have ended their waits", (int)c->ended, count);
    assert_int_equal(c->clashes, 0);
    assert_int_equal(c->disorder, 0);
}

static void test_lock_crowd__all_are_served(void **state)
{
    crowd *c = gather(*state);
    for (int i = 0; i < ALL; i++)
        ask(c, i, i % 4 == 0, 0);
    assert_comes(c->f, "x", "waiters.1.pid", getpid());
    assert_ok(ash_lock_release(c->held, &c->f->err), &c->f->err);
    wait_for_all(c, ALL);
    for (int i = 0; i < ALL; i++)
        assert_int_equal(c->people[i].outcome, ASH_LOCK_LOCKED);
    /* A writer that held it itself would have been told so by now. */
    bson_t *doc = lock_doc(c->f, "x");
    assert_int_equal(doc_int(doc, "writes"), WRITERS + 1);
    assert_int_equal(doc_int(doc, "reads"), READERS);
    assert_int_equal(doc_int(doc, "write_lock"), 0);
    assert_int_equal(doc_int(doc, "read_locks"), 0);
    bson_destroy(doc);
    disperse(c);
}

/* Those in the queue and those outside are cancelled, freed, or have no time: the others come in
 * all the same. */
static void test_lock_crowd__some_go_before_their_turn(void **state)
{
    crowd *c = gather(*state);
    int gone = 0;
    for (int i = 0; i < WRITERS; i++)
        ask(c, i, true, i % 5 == 3 ? 1 : 0);
    assert_comes(c->f, "x", "waiters.1.pid", getpid());
    for (int i = 0; i < WRITERS; i++) {
        if (i % 5 == 0) {
            ash_lock_cancel(c->people[i].lock);
        } else if (i % 5 == 1) {
            ash_lock_free(c->people[i].lock);
            c->people[i].lock = NULL;
        }
        gone += i % 5 == 0 || i % 5 == 1 || i % 5 == 3;
    }
    wait_for_all(c, gone);
    assert_ok(ash_lock_release(c->held, &c->f->err), &c->f->err);
    wait_for_all(c, WRITERS);
    for (int i = 0; i < WRITERS; i++) {
        int wanted = i % 5 == 3 ? ASH_LOCK_TIMED_OUT : i % 5 < 2 ? ASH_LOCK_ERROR : ASH_LOCK_LOCKED;
        assert_int_equal(c->people[i].outcome, wanted);
    }
    disperse(c);
}

/* As a process leaves the document that was killed with a writer inside and eight in the queue. */
static void kill_holder(crowd *c, int64_t life_ms)
{
    char change[2048];
    int64_t now = ash__clock_wall_ms();
    int n = snprintf(change, sizeof change,
                     "{'$set': {'holders': [{'h': 1, 'mode': 'write', 'n': 1, 'w': 1, 'exp': "
                     "{'$date': {'$numberLong': '%lld'}}}], 'next': null}, '$push': {'waiters': "
                     "{'$position': 0, '$each': [",
                     (long long)(now + life_ms));
    for (int i = 0; i < QUEUED; i++)
        n += snprintf(change + n, sizeof change - (size_t)n,
                      "%s{'h': {'$oid': '0102030405060708090a0b%02x'}, 'exp': {'$date': "
                      "{'$numberLong': '%lld'}}}",
                      i > 0 ? ", " : "", (unsigned)i, (long long)(now + 2 * life_ms));
    snprintf(change + n, sizeof change - (size_t)n, "]}}}");
    assert_true(npm_modify(c->f, "x", "{}", change, false));
}

static void test_lock_crowd__its_holder_dies(void **state)
{
    crowd *c = gather(*state);
    kill_holder(c, 1000);
    for (int i = 0; i < ALL; i++)
        ask(c, i, i % 4 == 0, 0);
    for (int64_t end = now_ms() + IN_TIME_MS; c->ended < ALL && now_ms() < end;)
        sleep_ms(5);
    wait_for_all(c, ALL);
    disperse(c);
}

/* The document is removed under them, as the package does it, and the whole collection dropped. */
static void test_lock_crowd__its_document_goes(void **state)
{
    crowd *c = gather(*state);
    for (int i = 0; i < ALL; i++)
        ask(c, i, i % 4 == 0, 0);
    assert_comes(c->f, "x", "waiters.1.pid", getpid());
    assert_true(npm_remove(c->f, "x"));
    for (int64_t end = now_ms() + IN_TIME_MS; c->ended < ALL && now_ms() < end;)
        sleep_ms(5);
    if (c->ended != ALL)
        fail_msg("%d of %d have ended their waits", (int)c->ended, ALL);
    assert_int_equal(c->clashes, 0); /* whoever came again has another place in the queue */
    disperse(c);
}

/* A program of before `next` releases, and its hint is a stale one. */
static void test_lock_crowd__released_by_an_older_program(void **state)
{
    fixture *f = *state;
    crowd *c = gather(f);
    for (int i = 0; i < 16; i += 4)
        ask(c, i, true, 0);
    assert_comes(f, "x", "waiters.3.pid", getpid());
    assert_true(npm_modify(f, "x", "{}", "{'$set': {'next': {'$oid': '0102030405060708090a0b0c'}}}",
                           false));
    sleep_ms(300); /* whoever that calls */
    assert_true(npm_modify(f, "x", "{'write_lock': true}",
                           "{'$set': {'write_lock': false, 'write_req': false, 'own_req': false, "
                           "'read_locks': 0, 'meta': null, 'holders': []}, "
                           "'$currentDate': {'expires': true}}",
                           false));
    wait_for_all(c, 4);
    assert_int_equal(ash_lock_release(c->held, &f->err), ASH_ELOST);
    disperse(c);
}

/* Readers do not ask for a turn, so that the queue alone counts. */
static void forget_readers(fixture *f)
{
    assert_true(npm_modify(f, "x", "{}", "{'$set': {'readers_wait': null}}", false));
}

/* A writer is called that is dead, and that our reader never saw, since it came into the queue behind
 * another one: the reader looks soon all the same. */
static void test_lock_crowd__who_is_called_is_dead(void **state)
{
    fixture *f = *state;
    char change[512];
    ash_lock_options o = f->opts;
    o.time_out_s = 60;
    o.polling_interval_s = 4;
    ash_lock_collection *c = fixture_reopen(f, &o);
    o.polling_interval_s = 60;
    ash_lock_collection *far = fixture_reopen(f, &o);
    ash_lock *held = open_lock(f, far, "x", NULL), *behind = open_lock(f, far, "x", NULL);
    ash_lock *r = open_lock(f, c, "x", NULL);
    assert_ok(ash_lock_obtain_write(held, &f->err), &f->err);
    assert_ok(ash_lock_request_write(behind, &f->err), &f->err);
    assert_comes(f, "x", "waiters.0.pid", getpid());
    assert_ok(ash_lock_request_read(r, &f->err), &f->err);
    sleep_ms(500);
    int64_t asked = now_ms();
    snprintf(change, sizeof change,
             "{'$push': {'waiters': {'h': {'$oid': '0102030405060708090a0b0c'}, 'exp': {'$date': "
             "{'$numberLong': '%lld'}}}}}",
             (long long)(ash__clock_wall_ms() + 3000));
    assert_true(npm_modify(f, "x", "{}", change, false));
    forget_readers(f);
    assert_ok(ash_lock_release(held, &f->err), &f->err);
    assert_event(behind, ASH_LOCK_LOCKED);
    forget_readers(f);
    assert_ok(ash_lock_release(behind, &f->err), &f->err);
    bson_t *doc = lock_doc(f, "x");
    bson_iter_t at;
    assert_true(bson_iter_init_find(&at, doc, "next") && BSON_ITER_HOLDS_OID(&at));
    bson_destroy(doc);
    assert_event(r, ASH_LOCK_LOCKED);
    assert_true(now_ms() - asked < 11000); /* its own fallback is 14 s at least */
    ash_lock_free(held);
    ash_lock_free(behind);
    ash_lock_free(r);
    ash_lock_collection_close(far);
    ash_lock_collection_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOCK_TEST(test_lock_crowd__all_are_served),
        LOCK_TEST(test_lock_crowd__some_go_before_their_turn),
        LOCK_TEST(test_lock_crowd__its_holder_dies),
        LOCK_TEST(test_lock_crowd__its_document_goes),
        LOCK_TEST(test_lock_crowd__released_by_an_older_program),
        LOCK_TEST(test_lock_crowd__who_is_called_is_dead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
