/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "base/clock.h"
#include "base/thread.h"
#include "net/seats.h"

#include <stdatomic.h>

enum { COUNT = 64, WAIT_MS = 10000 };

/* Until so many are open, or it is too late. */
static bool comes_to(ash_seats *s, int open)
{
    int64_t end = ash__clock_ms() + WAIT_MS;
    while (ash__seats_open(s) != open && ash__clock_ms() < end)
        ash__clock_sleep_ms(1);
    return ash__seats_open(s) == open;
}

static void test_net_seats__those_in_long_turns_are_not_counted(void **state)
{
    (void)state;
    ash_seats *s = ash__seats_new(COUNT);
    int least = ash__seats_open(s);
    assert_in_range(least, 2, COUNT);
    for (int i = 0; i < least; i++) {
        assert_true(ash__seats_sit(s));
        ash__seats_begin(s, i);
    }
    int twice = 2 * least < COUNT ? 2 * least : COUNT;
    assert_true(comes_to(s, twice));
    for (int i = least; i < twice; i++) {
        assert_true(ash__seats_sit(s));
        ash__seats_begin(s, i);
    }
    assert_true(comes_to(s, 3 * least < COUNT ? 3 * least : COUNT));
    for (int i = 0; i < twice; i++)
        ash__seats_end(s, i);
    assert_true(comes_to(s, least));
    ash__seats_free(s);
}

/* The watcher sleeps by then. */
static void test_net_seats__a_turn_after_a_rest_is_seen(void **state)
{
    (void)state;
    ash_seats *s = ash__seats_new(COUNT);
    int least = ash__seats_open(s);
    assert_true(ash__seats_sit(s));
    for (int i = 0; i < 3; i++) {
        ash__clock_sleep_ms(100);
        ash__seats_begin(s, 0);
        assert_true(comes_to(s, least + 1));
        ash__seats_end(s, 0);
        assert_true(comes_to(s, least));
    }
    ash__seats_free(s);
}

static void test_net_seats__few_are_all_open(void **state)
{
    (void)state;
    ash_seats *s = ash__seats_new(1);
    assert_int_equal(ash__seats_open(s), 1);
    assert_true(ash__seats_sit(s));
    ash__seats_begin(s, 0);
    ash__clock_sleep_ms(10);
    assert_int_equal(ash__seats_open(s), 1);
    ash__seats_end(s, 0);
    assert_true(ash__seats_may_stay(s));
    ash__seats_free(s);
}

typedef struct sitter {
    ash_seats *seats;
    atomic_int *sat, *left;
} sitter;

static void *sit(void *arg)
{
    sitter *me = arg;
    if (ash__seats_sit(me->seats)) {
        atomic_fetch_add(me->sat, 1);
        while (ash__seats_may_stay(me->seats))
            ash__clock_sleep_ms(1);
    }
    atomic_fetch_add(me->left, 1);
    return NULL;
}

/* No more sit than are open, and all leave at the end, those that wait as well. */
static void test_net_seats__who_is_too_many_waits(void **state)
{
    (void)state;
    ash_seats *s = ash__seats_new(COUNT);
    atomic_int sat = 0, left = 0;
    sitter me = {s, &sat, &left};
    pthread_t threads[COUNT];
    int least = ash__seats_open(s);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(ash__thread_start(&threads[i], 0, sit, &me), 0);
    for (int64_t end = ash__clock_ms() + WAIT_MS; atomic_load(&sat) < least;) {
        assert_true(ash__clock_ms() < end);
        ash__clock_sleep_ms(1);
    }
    ash__clock_sleep_ms(50);
    assert_int_equal(atomic_load(&sat), least);
    ash__seats_begin(s, 0);
    assert_true(comes_to(s, least < COUNT ? least + 1 : COUNT));
    ash__seats_end(s, 0);
    assert_true(comes_to(s, least));
    assert_int_equal(atomic_load(&left), 0);
    ash__seats_stop(s);
    for (int i = 0; i < COUNT; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&left), COUNT);
    ash__seats_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_net_seats__those_in_long_turns_are_not_counted),
        cmocka_unit_test(test_net_seats__a_turn_after_a_rest_is_seen),
        cmocka_unit_test(test_net_seats__few_are_all_open),
        cmocka_unit_test(test_net_seats__who_is_too_many_waits),
    };
    return cmocka_run_group_tests_name("net/seats", tests, NULL, NULL);
}
