/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "user/attempts.h"

#include <stdio.h>
#include <string.h>

#define HOME "192.0.2.1:4711"
#define AWAY "198.51.100.7:4711"

/* A table, a clock, and the longest wait so far. */
typedef struct fixture {
    ash_attempts *attempts;
    int64_t now;
    int64_t skipped;
} fixture;

static int setup(void **state)
{
    static fixture f;
    f = (fixture){.attempts = ash__attempts_new(), .now = 1000};
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    ash__attempts_free(f->attempts);
    return 0;
}

/* One from begin to end; how long it waited. */
static int64_t attempt(fixture *f, const char *remote, const char *user, bool succeeds)
{
    ash_attempt at;
    ash_attempt_name who = {user, "admin"};
    int64_t wait = ash__attempts_begin(f->attempts, remote, &who, f->now, &at);
    f->now += wait;
    ash__attempts_end(f->attempts, &at, succeeds, f->now, &f->skipped);
    return wait;
}

/* What it would have to wait. */
static int64_t wait_of(fixture *f, const char *remote, const char *user)
{
    ash_attempt at;
    ash_attempt_name who = {user, "admin"};
    int64_t wait = ash__attempts_begin(f->attempts, remote, &who, f->now, &at);
    ash__attempts_drop(f->attempts, &at);
    return wait;
}

static void fail_often(fixture *f, const char *remote, const char *user, int times)
{
    for (int i = 0; i < times; i++)
        attempt(f, remote, user, false);
}

/* All in the same moment: the most that can be counted. */
static void fail_at_once(fixture *f, const char *remote, const char *user, int times)
{
    ash_attempt at;
    ash_attempt_name who = {user, "admin"};
    for (int i = 0; i < times; i++) {
        ash__attempts_begin(f->attempts, remote, &who, f->now, &at);
        ash__attempts_end(f->attempts, &at, false, f->now, NULL);
    }
}

static void test_user_attempts__failures_of_an_address_slow_it_down(void **state)
{
    fixture *f = *state;
    int64_t before = 0;
    char user[16];
    for (int i = 0; i < 40; i++) {
        snprintf(user, sizeof user, "user%d", i);
        int64_t wait = attempt(f, HOME, user, false);
        if (i < ASH_ATTEMPTS_FREE)
            assert_int_equal(wait, 0);
        else if (i > ASH_ATTEMPTS_FREE)
            assert_true(wait > 0 && wait <= 4000 && wait >= before / 2);
        before = wait;
    }
    assert_true(before >= 2000);
    /* Another port is the same address, another address is not. */
    assert_true(wait_of(f, "192.0.2.1:9", "new") >= 2000);
    assert_int_equal(wait_of(f, AWAY, "new"), 0);
}

static void test_user_attempts__failures_of_a_user_count_from_everywhere(void **state)
{
    fixture *f = *state;
    char remote[32];
    for (int i = 0; i < 30; i++) {
        snprintf(remote, sizeof remote, "203.0.113.%d:1", i);
        attempt(f, remote, "ann", false);
    }
    assert_true(wait_of(f, AWAY, "ann") >= 1000);
    assert_int_equal(wait_of(f, AWAY, "bob"), 0);
}

static void test_user_attempts__who_was_there_is_not_slowed_by_others(void **state)
{
    fixture *f = *state;
    attempt(f, HOME, "ann", true);
    /* From elsewhere as ann, and from home as somebody else. */
    fail_often(f, AWAY, "ann", 40);
    fail_often(f, HOME, "bob", 40);
    assert_int_equal(wait_of(f, HOME, "ann"), 0);
    assert_true(wait_of(f, HOME, "carl") > 0);
    /* From home as ann: there one cannot tell them apart, and nobody is refused. */
    fail_often(f, HOME, "ann", 40);
    int64_t wait = wait_of(f, HOME, "ann");
    assert_true(wait > 0 && wait <= 4000);
    /* That somebody signs in does not forgive. */
    attempt(f, HOME, "ann", true);
    assert_true(wait_of(f, HOME, "ann") > 0);
}

static void test_user_attempts__a_week_later_nobody_was_there(void **state)
{
    fixture *f = *state;
    attempt(f, HOME, "ann", true);
    f->now += INT64_C(7) * 24 * 3600 * 1000;
    fail_often(f, AWAY, "ann", 40);
    assert_true(wait_of(f, HOME, "ann") > 0);
}

static void test_user_attempts__time_forgives(void **state)
{
    fixture *f = *state;
    fail_often(f, HOME, "ann", 12);
    assert_true(wait_of(f, HOME, "ann") > 0);
    f->now += 60000;
    assert_int_equal(wait_of(f, HOME, "ann"), 0);
    fail_often(f, HOME, "ann", 5000);
    f->now += 8 * 60000;
    assert_int_equal(wait_of(f, HOME, "ann"), 0);
}

static void test_user_attempts__many_at_once_wait_longer(void **state)
{
    fixture *f = *state;
    enum { AT_ONCE = 1000 };
    static ash_attempt at[AT_ONCE];
    ash_attempt_name who = {"ann", "admin"};
    int64_t wait = 0;
    fail_often(f, HOME, "ann", 40);
    for (int i = 0; i < AT_ONCE; i++) {
        int64_t next = ash__attempts_begin(f->attempts, HOME, &who, f->now, &at[i]);
        assert_true(next >= wait);
        wait = next;
    }
    assert_int_equal(wait, ASH_ATTEMPTS_MAX_WAIT_MS);
    for (int i = 0; i < AT_ONCE; i++)
        ash__attempts_drop(f->attempts, &at[i]);
    assert_true(wait_of(f, HOME, "ann") <= 4000);
}

static void test_user_attempts__who_hangs_up_has_not_failed(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < 100; i++)
        wait_of(f, HOME, "ann");
    assert_int_equal(wait_of(f, HOME, "ann"), 0);
}

static void test_user_attempts__many_addresses_slow_newcomers_alone(void **state)
{
    fixture *f = *state;
    char remote[32], user[16];
    attempt(f, HOME, "ann", true);
    for (int i = 0; i < 2 * ASH_ATTEMPTS_FREE_IN_ALL; i++) {
        snprintf(remote, sizeof remote, "10.0.%d.%d:1", i / 250, i % 250);
        snprintf(user, sizeof user, "user%d", i);
        fail_at_once(f, remote, user, 1);
    }
    assert_true(wait_of(f, AWAY, "bob") > 0);
    assert_int_equal(wait_of(f, HOME, "ann"), 0);
    /* Of them, too, a line from time to time says enough. */
    int lines = 0;
    for (int i = 0; i < 1000; i++) {
        ash_attempt at;
        ash_attempt_name who = {"ann", "admin"};
        snprintf(remote, sizeof remote, "10.1.%d.%d:1", i / 250, i % 250);
        ash__attempts_begin(f->attempts, remote, &who, f->now, &at);
        lines += ash__attempts_end(f->attempts, &at, false, f->now += 5, &f->skipped);
    }
    assert_true(lines >= 4 && lines <= 6);
    assert_true(f->skipped > 100);
}

/* A flood of addresses and names pushes out what is worth less, and not who is slowed. */
static void test_user_attempts__a_flood_does_not_hide_who_is_slowed(void **state)
{
    fixture *f = *state;
    char remote[48], user[24];
    fail_at_once(f, HOME, "ann", 100);
    for (int i = 0; i < 100000; i++) {
        snprintf(remote, sizeof remote, "[2001:db8:%x:%x::1]:1", i / 65536, i % 65536);
        snprintf(user, sizeof user, "user%d", i);
        fail_at_once(f, remote, user, 1);
    }
    /* What all of them did is over. */
    f->now += 70000;
    assert_true(wait_of(f, HOME, "bob") > 0);
    assert_true(wait_of(f, AWAY, "ann") > 0);
    assert_int_equal(wait_of(f, AWAY, "bob"), 0);
}

static void test_user_attempts__lines_of_the_log_are_few(void **state)
{
    fixture *f = *state;
    ash_attempt at;
    ash_attempt_name who = {"ann", "admin"};
    int lines = 0;
    int64_t told = 0;
    for (int i = 0; i < 1000; i++) {
        int64_t skipped = 0;
        ash__attempts_begin(f->attempts, HOME, &who, f->now, &at);
        f->now += 50;
        if (ash__attempts_end(f->attempts, &at, false, f->now, &skipped)) {
            lines++;
            told += skipped;
        }
    }
    assert_true(lines >= ASH_ATTEMPTS_FREE && lines <= ASH_ATTEMPTS_FREE + 6);
    /* Each failure has its line, or is in the number of one, but for the newest. */
    assert_true(told + lines > 1000 - 201 && told + lines <= 1000);
}

static void test_user_attempts__a_token_is_an_addresss(void **state)
{
    fixture *f = *state;
    fail_often(f, HOME, NULL, 40);
    assert_true(wait_of(f, HOME, NULL) > 0);
    assert_int_equal(wait_of(f, AWAY, NULL), 0);
}

static void test_user_attempts__addresses(void **state)
{
    static const char *const cases[][2] = {
        {"127.0.0.1:27017", "127.0.0.1"},
        {"127.0.0.1", "127.0.0.1"},
        {"[::1]:80", "::"},
        {"[2001:db8:1:2:3:4:5:6]:80", "2001:db8:1:2::"},
        {"2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"},
        {"[::ffff:192.0.2.1]:80", "192.0.2.1"},
        {"[fe80::1%eth0]:80", "[fe80::1%eth0]"},
        {"anonymous unix socket", "anonymous unix socket"},
        {"", ""},
    };
    char out[64];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ash__attempts_address(cases[i][0], out, sizeof out);
        assert_string_equal(out, cases[i][1]);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_user_attempts__##name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(failures_of_an_address_slow_it_down),
        TEST(failures_of_a_user_count_from_everywhere),
        TEST(who_was_there_is_not_slowed_by_others),
        TEST(a_week_later_nobody_was_there),
        TEST(time_forgives),
        TEST(many_at_once_wait_longer),
        TEST(who_hangs_up_has_not_failed),
        TEST(many_addresses_slow_newcomers_alone),
        TEST(a_flood_does_not_hide_who_is_slowed),
        TEST(lines_of_the_log_are_few),
        TEST(a_token_is_an_addresss),
        TEST(addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
