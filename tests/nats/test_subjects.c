/* SPDX-License-Identifier: Apache-2.0 */
/* Subjects, patterns, and a client's subscriptions. */
#include "check.h"

#include "base/mem.h"
#include "nats/subject.h"
#include "nats/subs.h"

#include <stdio.h>
#include <string.h>

static void test_nats_subjects__valid(void **state)
{
    static const char *const subjects[] = {"a",   "a.b", "$O.x.M.dGVzdA==", "a*b", "\xc3\xa4.b",
                                           "*.a", ">"};
    static const char *const bad[] = {"", ".", "a.", ".a", "a..b", "a b", "a\tb", "a\x01", "\x7f"};
    static const char *const no_patterns[] = {">.a", "a.>.b", "a..b", ""};
    static const char *const patterns[] = {"a", "*", ">", "a.*.b", "a.>", "*.*.>", "a>b.c"};
    (void)state;
    for (size_t i = 0; i < ASH_ARRAY_LEN(subjects); i++)
        assert_true(ash__nats_subject_valid(subjects[i]));
    for (size_t i = 0; i < ASH_ARRAY_LEN(bad); i++)
        assert_false(ash__nats_subject_valid(bad[i]));
    for (size_t i = 0; i < ASH_ARRAY_LEN(patterns); i++)
        assert_true(ash__nats_pattern_valid(patterns[i]));
    for (size_t i = 0; i < ASH_ARRAY_LEN(no_patterns); i++)
        assert_false(ash__nats_pattern_valid(no_patterns[i]));
    assert_true(ash__nats_has_wildcards("a.*.b") && ash__nats_has_wildcards(">"));
    assert_false(ash__nats_has_wildcards("a*b.c>") || ash__nats_has_wildcards("a"));
}

static void test_nats_subjects__matches(void **state)
{
    static const struct {
        const char *pattern, *subject;
        bool matches;
    } table[] = {
        {"a", "a", true},         {"a", "b", false},
        {"a", "a.b", false},      {"a.b", "a", false},
        {"a.b", "a.b", true},     {"a.b", "a.bc", false},
        {"a.bc", "a.b", false},   {"*", "a", true},
        {"*", "a.b", false},      {"*.b", "a.b", true},
        {"*.b", "b", false},      {"a.*", "a.b", true},
        {"a.*", "a", false},      {"a.*", "a.b.c", false},
        {"a.*.c", "a.b.c", true}, {"a.*.c", "a.b.d", false},
        {"*.*", "a.b", true},     {"*.*", "a", false},
        {">", "a", true},         {">", "a.b.c", true},
        {"a.>", "a", false},      {"a.>", "a.b", true},
        {"a.>", "a.b.c", true},   {"a.>", "b.c", false},
        {"a.*.>", "a.b", false},  {"a.*.>", "a.b.c", true},
        {"a*", "ab", false},      {"a*", "a*", true},
        {"a.>", "a.>", true},     {"a.*", "a.>", true},
        {"a", "*", false},        {"$O.x.C.>", "$O.x.C.n", true},
    };
    (void)state;
    for (size_t i = 0; i < ASH_ARRAY_LEN(table); i++)
        if (ash__nats_matches(table[i].pattern, table[i].subject) != table[i].matches)
            fail_msg("%s %s", table[i].pattern, table[i].subject);
}

/* The sids of who has a message, in one text. */
static const char *receivers(ash_nats_subs *subs, const char *subject)
{
    static char out[200];
    ash_nats_matches m = ash__nats_matches_of(subs, subject);
    ash_nats_sub *sub;
    out[0] = '\0';
    while ((sub = ash__nats_matches_next(&m)) != NULL) {
        strcat(out, sub->sid);
        sub->delivered++;
    }
    assert_int_equal(ash__nats_subs_match(subs, subject), out[0] != '\0');
    ash__nats_subs_drop_done(subs);
    return out;
}

static void test_nats_subjects__subscriptions(void **state)
{
    ash_nats_subs subs = {0};
    (void)state;
    assert_string_equal(receivers(&subs, "a"), "");
    assert_true(ash__nats_subs_add(&subs, "a.b", NULL, "1"));
    assert_true(ash__nats_subs_add(&subs, "a.*", NULL, "2"));
    assert_true(ash__nats_subs_add(&subs, "a.>", NULL, "3"));
    assert_true(ash__nats_subs_add(&subs, "c", NULL, "4"));
    /* It is there already. */
    assert_true(ash__nats_subs_add(&subs, "d", NULL, "4"));
    assert_string_equal(receivers(&subs, "a.b"), "123");
    assert_string_equal(receivers(&subs, "a.c"), "23");
    assert_string_equal(receivers(&subs, "a.b.c"), "3");
    assert_string_equal(receivers(&subs, "c"), "4");
    assert_string_equal(receivers(&subs, "d"), "");
    ash__nats_subs_end(&subs, "2", 0);
    ash__nats_subs_end(&subs, "nobody", 0);
    assert_string_equal(receivers(&subs, "a.b"), "13");
    ash__nats_subs_end(&subs, "3", 0);
    ash__nats_subs_end(&subs, "1", 0);
    assert_string_equal(receivers(&subs, "a.b"), "");
    ash__nats_subs_end(&subs, "4", 0);
    assert_int_equal(subs.bytes, 0);
    ash__nats_subs_release(&subs);
}

static void test_nats_subjects__ends_after(void **state)
{
    ash_nats_subs subs = {0};
    (void)state;
    ash__nats_subs_add(&subs, "once", NULL, "1");
    ash__nats_subs_end(&subs, "1", 2);
    assert_string_equal(receivers(&subs, "once"), "1");
    assert_string_equal(receivers(&subs, "once"), "1");
    assert_string_equal(receivers(&subs, "once"), "");
    /* Those it had before count. */
    ash__nats_subs_add(&subs, "once", NULL, "1");
    assert_string_equal(receivers(&subs, "once"), "1");
    ash__nats_subs_end(&subs, "1", 1);
    assert_string_equal(receivers(&subs, "once"), "");
    assert_int_equal(subs.by_sid.count, 0);
    ash__nats_subs_release(&subs);
}

static void test_nats_subjects__queue_groups(void **state)
{
    ash_nats_subs subs = {0};
    (void)state;
    ash__nats_subs_add(&subs, "a.*", "q", "1");
    ash__nats_subs_add(&subs, "a.>", "q", "2");
    ash__nats_subs_add(&subs, "a.>", "r", "3");
    ash__nats_subs_add(&subs, "a.>", NULL, "4");
    assert_string_equal(receivers(&subs, "a.b"), "134");
    assert_string_equal(receivers(&subs, "a.b"), "134");
    assert_string_equal(receivers(&subs, "a.b.c"), "234");
    ash__nats_subs_end(&subs, "1", 0);
    assert_string_equal(receivers(&subs, "a.b"), "234");
    ash__nats_subs_release(&subs);
}

static void test_nats_subjects__many(void **state)
{
    ash_nats_subs subs = {0};
    char subject[1024], sid[20];
    size_t count = 0;
    (void)state;
    for (; count < ASH_NATS_MOST_SUBS; count++) {
        snprintf(subject, sizeof subject, "s.%zu", count * 7919 % 5000);
        snprintf(sid, sizeof sid, "%zu", count);
        assert_true(ash__nats_subs_add(&subs, subject, NULL, sid));
    }
    assert_false(ash__nats_subs_add(&subs, "more", NULL, "more"));
    for (size_t i = 0; i < count; i++) {
        snprintf(subject, sizeof subject, "s.%zu", i * 7919 % 5000);
        snprintf(sid, sizeof sid, "%zu", i);
        assert_string_equal(receivers(&subs, subject), sid);
        ash__nats_subs_end(&subs, sid, 0);
        assert_string_equal(receivers(&subs, subject), "");
    }
    assert_int_equal(subs.bytes, 0);
    /* Fewer, if they are long. */
    memset(subject, 'x', sizeof subject - 1);
    subject[sizeof subject - 1] = '\0';
    for (count = 0; count < ASH_NATS_MOST_SUBS; count++) {
        snprintf(sid, sizeof sid, "%zu", count);
        if (!ash__nats_subs_add(&subs, subject, NULL, sid))
            break;
    }
    assert_in_range(count, 1000, 1100);
    ash__nats_subs_release(&subs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nats_subjects__valid),
        cmocka_unit_test(test_nats_subjects__matches),
        cmocka_unit_test(test_nats_subjects__subscriptions),
        cmocka_unit_test(test_nats_subjects__ends_after),
        cmocka_unit_test(test_nats_subjects__queue_groups),
        cmocka_unit_test(test_nats_subjects__many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
