/* SPDX-License-Identifier: Apache-2.0 */
/* Beside a peer that makes the package's moves. */
#include "lock/support.h"

static ash_lock *waiter(fixture *f, const char *id, double seconds)
{
    ash_lock_options o = ASH_LOCK_OPTIONS_INIT;
    o.time_out_s = seconds;
    return open_lock(f, f->c, id, &o);
}

static void test_lock_npm__each_blocks_the_other(void **state)
{
    fixture *f = *state;
    ash_lock *a = open_lock(f, f->c, "x", NULL);
    assert_true(npm_read(f, "x", 0));
    assert_int_equal(ash_lock_obtain_write(a, &f->err), ASH_ELOCKED);
    assert_ok(ash_lock_obtain_read(a, &f->err), &f->err);
    assert_true(npm_release_read(f, "x"));
    assert_false(npm_write(f, "x", 0, 0));
    assert_true(npm_read(f, "x", 0));
    assert_true(npm_release_read(f, "x"));
    assert_ok(ash_lock_release(a, &f->err), &f->err);
    assert_true(npm_write(f, "x", 0, 0));
    assert_int_equal(ash_lock_obtain_read(a, &f->err), ASH_ELOCKED);
    assert_int_equal(ash_lock_obtain_write(a, &f->err), ASH_ELOCKED);
    assert_true(npm_release_write(f, "x"));
    assert_ok(ash_lock_obtain_write(a, &f->err), &f->err);
    assert_false(npm_read(f, "x", 0));
    assert_false(npm_write(f, "x", 0, 0));
    ash_lock_free(a);
}

static void test_lock_npm__its_release_wakes_our_writer(void **state)
{
    fixture *f = *state;
    ash_lock_options slow = f->opts;
    slow.polling_interval_s = 30;
    ash_lock_collection *c = fixture_reopen(f, &slow);
    ash_lock_options o = ASH_LOCK_OPTIONS_INIT;
    o.time_out_s = 60;
    ash_lock *a = open_lock(f, c, "x", &o);
    assert_true(npm_read(f, "x", 0));
    assert_ok(ash_lock_request_write(a, &f->err), &f->err);
    assert_comes(f, "x", "write_req", 1);
    assert_int_equal(ash_lock_get_state(a), ASH_LOCK_WAITING);
    assert_false(npm_read(f, "x", 0)); /* our request stops new readers */
    int64_t start = now_ms();
    assert_true(npm_release_read(f, "x"));
    assert_event(a, ASH_LOCK_LOCKED);
    assert_true(now_ms() - start < 15000); /* by a change, not by its poll */
    ash_lock_free(a);
    ash_lock_collection_close(c);
}

static void test_lock_npm__late_holder_is_taken_over_after_grace(void **state)
{
    fixture *f = *state;
    ash_lock *a = open_lock(f, f->c, "x", NULL), *b = waiter(f, "x", 30);
    int64_t start = now_ms();
    assert_true(npm_write(f, "x", 1500, 0));
    assert_int_equal(ash_lock_obtain_write(a, &f->err), ASH_ELOCKED);
    assert_ok(ash_lock_obtain_write(b, &f->err), &f->err);
    assert_true(now_ms() - start >= 1700); /* its life and the grace of 200 ms */
    /* Its late release frees our lock: that we notice, and do no harm. */
    assert_true(npm_release_write(f, "x"));
    assert_int_equal(ash_lock_renew(b, &f->err), ASH_ELOST);
    assert_ok(ash_lock_obtain_write(a, &f->err), &f->err);
    ash_lock_free(a);
    ash_lock_free(b);
}

static void test_lock_npm__our_late_holder_hurts_nobody(void **state)
{
    fixture *f = *state;
    ash_lock *a = open_lock(f, f->c, "x", NULL);
    assert_ok(ash_lock_obtain_write(a, &f->err), &f->err);
    int64_t token = ash_lock_token(a);
    /* A peer whose clock runs ahead does not wait for our end. */
    assert_true(npm_ask(f, "x"));
    assert_true(npm_write(f, "x", 60000, 3600000));
    assert_int_equal(ash_lock_release(a, &f->err), ASH_ELOST);
    bson_t *doc = lock_doc(f, "x");
    assert_int_equal(doc_int(doc, "write_lock"), 1);
    bson_destroy(doc);
    assert_true(npm_release_write(f, "x"));
    assert_ok(ash_lock_obtain_write(a, &f->err), &f->err);
    assert_int_equal(ash_lock_token(a), token + 2);
    ash_lock_free(a);
}

static void test_lock_npm__leaked_readers_are_forgotten(void **state)
{
    fixture *f = *state;
    ash_lock *a = waiter(f, "x", 30), *b = open_lock(f, f->c, "x", NULL);
    assert_true(npm_read(f, "x", 50));
    assert_true(npm_read(f, "x", 50));
    assert_ok(ash_lock_obtain_write(a, &f->err), &f->err);
    assert_ok(ash_lock_release(a, &f->err), &f->err);
    /* With default options too, a single try is enough once they are late. */
    assert_true(npm_read(f, "x", 50));
    sleep_ms(320);
    assert_ok(ash_lock_obtain_write(b, &f->err), &f->err);
    ash_lock_free(a);
    ash_lock_free(b);
}

/* A stale release of the package takes away one of ours: the next transition puts it back. */
static void test_lock_npm__stale_release_does_not_let_a_writer_in(void **state)
{
    fixture *f = *state;
    ash_lock *a = open_lock(f, f->c, "x", NULL), *b = open_lock(f, f->c, "x", NULL);
    assert_ok(ash_lock_obtain_read(a, &f->err), &f->err);
    assert_true(npm_release_read(f, "x"));
    assert_int_equal(ash_lock_obtain_write(b, &f->err), ASH_ELOCKED);
    bson_t *doc = lock_doc(f, "x");
    assert_int_equal(doc_int(doc, "read_locks"), 1);
    bson_destroy(doc);
    assert_ok(ash_lock_release(a, &f->err), &f->err);
    assert_ok(ash_lock_obtain_write(b, &f->err), &f->err);
    ash_lock_free(a);
    ash_lock_free(b);
}

static void test_lock_npm__dead_writers_request_is_forgotten(void **state)
{
    fixture *f = *state;
    ash_lock *r = waiter(f, "x", 30), *a = open_lock(f, f->c, "x", NULL);
    assert_ok(ash_lock_obtain_read(a, &f->err), &f->err);
    assert_true(npm_ask(f, "x"));
    int64_t start = now_ms();
    assert_ok(ash_lock_obtain_read(r, &f->err), &f->err);
    assert_true(now_ms() - start >= 200); /* believed for one grace */
    ash_lock_free(a);
    ash_lock_free(r);
}

static void test_lock_npm__its_time_out_does_not_starve_our_waiter(void **state)
{
    fixture *f = *state;
    ash_lock *a = open_lock(f, f->c, "x", NULL), *b = waiter(f, "x", 30);
    assert_ok(ash_lock_obtain_read(a, &f->err), &f->err);
    assert_ok(ash_lock_request_write(b, &f->err), &f->err);
    assert_comes(f, "x", "write_req", 1);
    /* A peer that timed out clears the flag for all. */
    assert_true(npm_modify(f, "x", "{'write_req': true}", "{'$set': {'write_req': false}}", false));
    assert_comes(f, "x", "write_req", 1);
    assert_false(npm_read(f, "x", 0));
    assert_ok(ash_lock_release(a, &f->err), &f->err);
    assert_event(b, ASH_LOCK_LOCKED);
    ash_lock_free(a);
    ash_lock_free(b);
}

/* Whoever comes first: the other one gets in after its release. */
static void test_lock_npm__removal_while_we_wait(void **state)
{
    fixture *f = *state;
    ash_lock *both[2] = {waiter(f, "x", 60), waiter(f, "x", 60)};
    assert_true(npm_write(f, "x", 0, 0));
    assert_ok(ash_lock_request_write(both[0], &f->err), &f->err);
    assert_ok(ash_lock_request_read(both[1], &f->err), &f->err);
    assert_comes(f, "x", "write_req", 1);
    int64_t start = now_ms();
    assert_true(npm_remove(f, "x"));
    for (int in = 0; in < 2 && now_ms() < start + 30000;) {
        for (int i = 0; i < 2; i++) {
            ash_lock_state state_now = ash_lock_get_state(both[i]);
            if (state_now != ASH_LOCK_READING && state_now != ASH_LOCK_WRITING)
                continue;
            assert_event(both[i], ASH_LOCK_LOCKED);
            assert_ok(ash_lock_release(both[i], &f->err), &f->err);
            in++;
        }
        sleep_ms(1);
    }
    assert_event(both[0], ASH_LOCK_RELEASED);
    assert_event(both[1], ASH_LOCK_RELEASED);
    ash_lock_free(both[0]);
    ash_lock_free(both[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOCK_TEST(test_lock_npm__each_blocks_the_other),
        LOCK_TEST(test_lock_npm__its_release_wakes_our_writer),
        LOCK_TEST(test_lock_npm__late_holder_is_taken_over_after_grace),
        LOCK_TEST(test_lock_npm__our_late_holder_hurts_nobody),
        LOCK_TEST(test_lock_npm__leaked_readers_are_forgotten),
        LOCK_TEST(test_lock_npm__stale_release_does_not_let_a_writer_in),
        LOCK_TEST(test_lock_npm__dead_writers_request_is_forgotten),
        LOCK_TEST(test_lock_npm__its_time_out_does_not_starve_our_waiter),
        LOCK_TEST(test_lock_npm__removal_while_we_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
