/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/options.h"
#include "base/text.h"
#include "base/thread.h"
#include "base/turn.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>

struct options_v2 {
    size_t size;
    int first;
    int second;
};

static void test_base_error__table_maps_every_dialect(void **state)
{
    (void)state;
    ash_error err = ASH_ERROR_INIT;
    char name[64];
    assert_int_equal(ash__fail(&err, ASH_ENOTFOUND, "no file called %s", "x"), ASH_ENOTFOUND);
    assert_string_equal(err.text, "no file called x");
    assert_int_equal(ash_error_server_code(&err), 26);
    assert_int_equal(ash_error_http_status(err.code), 404);
    assert_int_equal(ash_error_exit_code(err.code), 4);
    ash_error_server_name(11000, name, sizeof name);
    assert_string_equal(name, "DuplicateKey");
    ash_error_server_name(40415, name, sizeof name);
    assert_string_equal(name, "Location40415");
}

static void test_base_error__errno_text_is_appended(void **state)
{
    (void)state;
    ash_error err = ASH_ERROR_INIT;
    assert_int_equal(ash__fail_errno(&err, ENOSPC, "cannot write %s", "f"), ASH_ENOSPC);
    assert_string_equal(err.text, "cannot write f: No space left on device");
}

static void test_base_error__text_is_cut_between_characters(void **state)
{
    (void)state;
    ash_error err = ASH_ERROR_INIT;
    char name[2 * sizeof err.text];
    memset(name, 0, sizeof name);
    for (size_t i = 0; i + 4 < sizeof name; i += 4)
        memcpy(name + i, "\xf0\x9f\x98\x80", 4);
    for (int shift = 0; shift < 4; shift++) {
        ash__fail(&err, ASH_ENOTFOUND, "%.*s%s", shift, "abc", name);
        assert_true(strlen(err.text) + 4 >= sizeof err.text);
        assert_int_equal((strlen(err.text) - (size_t)shift) % 4, 0);
        ash__error_prefix(&err, "in%.*s", shift, "abc");
        assert_int_equal((strlen(err.text) - (size_t)shift - strlen("in: ") - (size_t)shift) % 4,
                         0);
    }
}

static void test_base_text__characters(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t size;
    } cases[] = {
        {"a", 1},
        {"\xc3\xa9", 2},
        {"\xe2\x82\xac", 3},
        {"\xf0\x9f\x98\x80", 4},
        {"\xf4\x8f\xbf\xbf", 4},
        {"", 0},
        {"\x80", 0},
        {"\xff", 0},
        {"\xc3", 0},
        {"\xc3z", 0},
        {"\xc1\x81", 0},
        {"\xe0\x9f\xbf", 0},
        {"\xed\xa0\x80", 0},
        {"\xf0\x8f\xbf\xbf", 0},
        {"\xf4\x90\x80\x80", 0},
        {"\xf5\x80\x80\x80", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(ash__text_char(cases[i].text, strlen(cases[i].text)), cases[i].size);
}

static void test_base_options__older_and_newer_structs(void **state)
{
    (void)state;
    ash_error err = ASH_ERROR_INIT;
    struct options_v2 ours;
    struct {
        size_t size;
        int first;
    } older = {sizeof older, 7};
    older.size = offsetof(struct options_v2, second);
    assert_ok(ash__options_copy(&ours, sizeof ours, &older, &err), &err);
    assert_int_equal(ours.first, 7);
    assert_int_equal(ours.second, 0);
    struct {
        struct options_v2 known;
        int later;
    } newer = {{sizeof newer, 1, 2}, 0};
    assert_ok(ash__options_copy(&ours, sizeof ours, &newer, &err), &err);
    newer.later = 1;
    assert_int_equal(ash__options_copy(&ours, sizeof ours, &newer, &err), ASH_EINVAL);
    /* Nobody set its size: neither is it read to that end, nor written. */
    memset(&newer, 0xA5, sizeof newer);
    assert_int_equal(ash__options_copy(&ours, sizeof ours, &newer, &err), ASH_EINVAL);
    assert_int_equal(ash__out_copy(&newer, &ours, sizeof ours, &err), ASH_EINVAL);
}

static void test_base_hash__known_digest(void **state)
{
    (void)state;
    uint8_t digest[ASH_DIGEST_MAX_BYTES];
    char hex[2 * sizeof digest + 1];
    ash_digest *d = ash__digest_new(ASH_DIGEST_SHA256);
    ash__digest_add(d, "abc", 3);
    assert_int_equal(ash__digest_finish(d, digest), 32);
    ash__digest_free(d);
    ash__hex(digest, 32, hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

static void test_base_thread__condition_times_out(void **state)
{
    (void)state;
    ash_mutex m;
    ash_cond c;
    ash__mutex_init(&m, ASH_RANK_STORE);
    ash__cond_init(&c);
    ash__mutex_lock(&m);
    assert_false(ash__cond_wait_until(&c, &m, ash__clock_ms() + 5));
    ash__mutex_unlock(&m);
    ash__cond_release(&c);
    ash__mutex_release(&m);
}

/* It is about turns alone: what a thread gets, and by which rules, stays. */
static void test_base_thread__long_turns_are_no_other_policy(void **state)
{
    struct sched_param before, after;
    int policy_before, policy_after;
    (void)state;
    assert_int_equal(pthread_getschedparam(pthread_self(), &policy_before, &before), 0);
    int nice_before = getpriority(PRIO_PROCESS, 0);
    int64_t turn_before = ash__thread_turn_ns();
    ash__thread_take_long_turns();
    /* Where the scheduler says nothing of them it is 0 before and after. */
    assert_true(turn_before == 0 || ash__thread_turn_ns() > turn_before);
    assert_int_equal(pthread_getschedparam(pthread_self(), &policy_after, &after), 0);
    assert_int_equal(policy_after, policy_before);
    assert_int_equal(after.sched_priority, before.sched_priority);
    assert_int_equal(getpriority(PRIO_PROCESS, 0), nice_before);
    ash__thread_take_usual_turns();
    assert_true(ash__thread_turn_ns() == turn_before);
}

static void test_base_bytes__orders(void **state)
{
    (void)state;
    uint8_t b[8];
    ash__put_be64(b, UINT64_C(0x0102030405060708));
    assert_int_equal(b[0], 1);
    assert_true(ash__get_be64(b) == UINT64_C(0x0102030405060708));
    ash__put_le64(b, UINT64_C(0x0102030405060708));
    assert_int_equal(b[0], 8);
    assert_true(ash__get_le64(b) == UINT64_C(0x0102030405060708));
}

static uint64_t itself(const void *item)
{
    return *(const uint16_t *)item;
}

static void test_base_mem__growing_and_searching(void **state)
{
    (void)state;
    uint16_t *items = NULL;
    size_t capacity = 0;
    assert_int_equal(ash__first_not_below(NULL, 0, sizeof *items, 0, itself), 0);
    for (size_t i = 0; i < 1000; i++) {
        items = ash__grow_array(items, i, &capacity, sizeof *items);
        assert_true(capacity > i);
        items[i] = (uint16_t)(10 * (i / 2)); /* 0 0 10 10 … */
    }
    assert_true(capacity < 3000);
    for (size_t count = 0; count <= 1000; count += 37) {
        for (uint64_t key = 0; key < 6000; key += 5) {
            size_t expected = 0;
            while (expected < count && items[expected] < key)
                expected++;
            assert_int_equal(ash__first_not_below(items, count, sizeof *items, key, itself),
                             expected);
        }
    }
    assert_int_equal(ash__first_not_below(items, 1000, sizeof *items, UINT64_MAX, itself), 1000);
    ash__free(items);
}

static void test_base_turn__nobody_waits_for_long(void **state)
{
    ash_turns turns;
    ash_turn first, second;
    (void)state;
    ash__turns_init(&turns);
    ash__turn_begin(&first, &turns);
    ash__turn_begin(&second, &turns);
    assert_ptr_equal(ash__turn_current(), &second);
    ash__turn_wait(&second); /* without a place */
    ash__turn_place(&first);
    ash__turn_place(&second);
    ash__turn_wait(&first);
    int64_t before = ash__clock_ms();
    ash__turn_wait(&second);
    assert_true(ash__clock_ms() - before >= ASH_TURN_MS - 1);
    assert_false(first.placed);
    ash__turn_place(&first);
    ash__turn_leave(&second);
    ash__turn_wait(&first);
    assert_ptr_equal(turns.first, &first);
    ash__turn_end(&second);
    ash__turn_end(&first);
    assert_null(turns.first);
    ash__turns_release(&turns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_base_error__table_maps_every_dialect),
        cmocka_unit_test(test_base_error__errno_text_is_appended),
        cmocka_unit_test(test_base_options__older_and_newer_structs),
        cmocka_unit_test(test_base_hash__known_digest),
        cmocka_unit_test(test_base_thread__condition_times_out),
        cmocka_unit_test(test_base_thread__long_turns_are_no_other_policy),
        cmocka_unit_test(test_base_turn__nobody_waits_for_long),
        cmocka_unit_test(test_base_bytes__orders),
        cmocka_unit_test(test_base_error__text_is_cut_between_characters),
        cmocka_unit_test(test_base_text__characters),
        cmocka_unit_test(test_base_mem__growing_and_searching),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
