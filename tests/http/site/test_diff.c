/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "http/site/diff.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *diff(const char *a, const char *b)
{
    ash_buffer out = ASH_BUFFER_INIT;
    assert_true(
        ash__diff_unified((ash_diff_text){a, strlen(a)}, (ash_diff_text){b, strlen(b)}, &out));
    ash__buffer_append_byte(&out, 0);
    return (char *)ash__buffer_detach(&out);
}

static void expect(const char *a, const char *b, const char *wanted)
{
    char *got = diff(a, b);
    assert_string_equal(got, wanted);
    ash__free(got);
}

static void test_small_ones(void **state)
{
    (void)state;
    expect("", "", "");
    expect("a\n", "a\n", "");
    expect("a\n", "b\n", "@@ -1 +1 @@\n-a\n+b\n");
    expect("", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n");
    expect("a\nb\n", "", "@@ -1,2 +0,0 @@\n-a\n-b\n");
    expect("a", "a\n", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n");
    expect("a\nb\nc\n", "a\nc\n", "@@ -1,3 +1,2 @@\n a\n-b\n c\n");
    expect("1\n2\n3\n4\n5\n", "1\n2\n3\n4\n5\n6",
           "@@ -3,3 +3,4 @@\n 3\n 4\n 5\n+6\n\\ No newline at end of file\n");
    expect("a\r\n", "a\n", "@@ -1 +1 @@\n-a\r\n+a\n");
}

/* Two changes with six lines between them are one hunk, with seven they are two. */
static void test_hunks(void **state)
{
    (void)state;
    expect("x\n1\n2\n3\n4\n5\n6\nx\n", "y\n1\n2\n3\n4\n5\n6\ny\n",
           "@@ -1,8 +1,8 @@\n-x\n+y\n 1\n 2\n 3\n 4\n 5\n 6\n-x\n+y\n");
    expect("x\n1\n2\n3\n4\n5\n6\n7\nx\n", "y\n1\n2\n3\n4\n5\n6\n7\ny\n",
           "@@ -1,4 +1,4 @@\n-x\n+y\n 1\n 2\n 3\n@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-x\n+y\n");
}

/* ---- texts by chance ---- */

/* Lines of one letter. */
static char *letters(unsigned *seed, int lines, int kinds)
{
    ash_buffer out = ASH_BUFFER_INIT;
    for (int i = 0; i < lines; i++)
        ash__buffer_printf(&out, "%c\n", 'a' + rand_r(seed) % kinds);
    ash__buffer_append_byte(&out, 0);
    return (char *)ash__buffer_detach(&out);
}

/* b again, from a and the hunks; counts the lines that changed. */
static void apply(const char *a, const char *hunks, ash_buffer *out, int *changes)
{
    long at = 0; /* lines of a that are done */
    for (const char *line = hunks; *line != '\0'; line = strchr(line, '\n') + 1) {
        long from, count = 1;
        if (line[0] == '@') {
            assert_true(sscanf(line, "@@ -%ld,%ld", &from, &count) >= 1);
            for (long wanted = count == 0 ? from : from - 1; at < wanted; at++, a += 2)
                ash__buffer_append(out, a, 2);
            continue;
        }
        *changes += line[0] != ' ';
        if (line[0] != '+') {
            assert_memory_equal(a, line + 1, 2);
            a += 2;
            at++;
        }
        if (line[0] != '-')
            ash__buffer_append(out, line + 1, 2);
    }
    ash__buffer_append_text(out, a);
}

/* Lines that both have, as many as there can be: by the table that has them all. */
static int common(const char *a, const char *b)
{
    size_t n = strlen(a) / 2, m = strlen(b) / 2;
    int *table = ash__alloc_array((n + 1) * (m + 1), sizeof *table);
    for (size_t i = 1; i <= n; i++)
        for (size_t k = 1; k <= m; k++) {
            int up = table[(i - 1) * (m + 1) + k], left = table[i * (m + 1) + k - 1];
            table[i * (m + 1) + k] = a[2 * i - 2] == b[2 * k - 2]
                                         ? table[(i - 1) * (m + 1) + k - 1] + 1
                                     : up > left ? up
                                                 : left;
        }
    int most = table[n * (m + 1) + m];
    ash__free(table);
    return most;
}

static void expect_shortest(const char *a, const char *b, bool shortest)
{
    ash_buffer again = ASH_BUFFER_INIT;
    int changes = 0, needed = (int)(strlen(a) + strlen(b)) / 2 - 2 * common(a, b);
    char *hunks = diff(a, b);
    apply(a, hunks, &again, &changes);
    assert_string_equal(ash__buffer_text(&again), b);
    if (shortest)
        assert_int_equal(changes, needed);
    else
        assert_true(changes >= needed);
    ash__buffer_release(&again);
    ash__free(hunks);
}

static void test_any(void **state)
{
    (void)state;
    unsigned seed = 20261127;
    for (int i = 0; i < 3000; i++) {
        int kinds = 1 + rand_r(&seed) % 6;
        char *a = letters(&seed, rand_r(&seed) % 40, kinds);
        char *b = letters(&seed, rand_r(&seed) % 40, kinds);
        expect_shortest(a, b, true);
        ash__free(a);
        ash__free(b);
    }
}

/* Where the shortest would take too long it is not the shortest, and right. */
static void test_little_in_common(void **state)
{
    (void)state;
    unsigned seed = 1;
    char *a = letters(&seed, 3000, 26), *b = letters(&seed, 2500, 26);
    expect_shortest(a, b, false);
    ash__free(a);
    ash__free(b);
}

static void test_limits(void **state)
{
    (void)state;
    ash_buffer out = ASH_BUFFER_INIT;
    char *many = ash__alloc(ASH_DIFF_MAX_BYTES);
    memset(many, '\n', ASH_DIFF_MAX_BYTES);
    ash_diff_text all = {many, ASH_DIFF_MAX_LINES}, more = {many, ASH_DIFF_MAX_LINES + 1};
    assert_true(ash__diff_unified(all, (ash_diff_text){many, 1}, &out));
    assert_false(ash__diff_unified(more, all, &out));
    assert_false(ash__diff_unified(all, more, &out));
    ash__buffer_release(&out);
    ash__free(many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_ones), cmocka_unit_test(test_hunks),
        cmocka_unit_test(test_any),        cmocka_unit_test(test_little_in_common),
        cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests_name("http/site/diff", tests, NULL, NULL);
}
