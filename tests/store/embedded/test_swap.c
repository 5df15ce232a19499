/* SPDX-License-Identifier: Apache-2.0 */
/* A process is killed before and after each rename: the name has a store, or the way back is known.
 */
#include "check.h"

#include "base/file.h"
#include "base/mem.h"
#include "remove_folder.h"
#include "store/embedded/salvage/swap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct fixture {
    char base[200];
    char folder[250], fresh[400], aside[400];
    char *tail;
    ash_error err;
} fixture;

/* ---- calls that fail, or that end the process ---- */

static bool can_exchange;
static int calls;
static int ends_before, ends_after, fails; /* the number of a call, or 0 */

static int counted(int (*call)(const char *, const char *), const char *a, const char *b)
{
    int number = ++calls;
    if (number == ends_before)
        _exit(0);
    if (number == fails) {
        errno = EIO;
        return -1;
    }
    int result = call(a, b);
    if (number == ends_after)
        _exit(0);
    return result;
}

static int counted_rename(const char *from, const char *to)
{
    return counted(ash__io_system.rename, from, to);
}

static int counted_exchange(const char *a, const char *b)
{
    if (can_exchange)
        return counted(ash__io_system.exchange, a, b);
    errno = EINVAL;
    return -1;
}

/* ---- folders ---- */

static void make(const char *folder, const char *content)
{
    char *path = ash__path_join(folder, content);
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    ash__free(path);
}

static bool is(const char *folder, const char *content)
{
    struct stat st;
    char *path = ash__path_join(folder, content);
    bool there = stat(path, &st) == 0;
    ash__free(path);
    return there;
}

static int setup(void **state)
{
    static ash_io io;
    fixture *f = calloc(1, sizeof *f);
    const char *temp = getenv("TMPDIR");
    snprintf(f->base, sizeof f->base, "%s/ashlar-swap-XXXXXX", temp != NULL ? temp : "/tmp");
    assert_non_null(mkdtemp(f->base));
    snprintf(f->folder, sizeof f->folder, "%s/store", f->base);
    io = ash__io_system;
    io.rename = counted_rename;
    io.exchange = counted_exchange;
    ash__io_set(&io);
    calls = ends_before = ends_after = fails = 0;
    *state = f;
    return 0;
}

/* beside: the fresh store has the name that it gets by itself. */
static void prepare(fixture *f, bool beside)
{
    make(f->folder, "damaged");
    f->tail = ash__swap_tail(f->folder);
    if (beside)
        snprintf(f->fresh, sizeof f->fresh, "%s.repaired-%s", f->folder, f->tail);
    else
        snprintf(f->fresh, sizeof f->fresh, "%s/elsewhere", f->base);
    snprintf(f->aside, sizeof f->aside, "%s.damaged-%s", f->folder, f->tail);
    make(f->fresh, "whole");
}

static void clear(fixture *f)
{
    ash__free(f->tail);
    f->tail = NULL;
    remove_folder(f->base);
    assert_int_equal(mkdir(f->base, 0700), 0);
}

static int teardown(void **state)
{
    fixture *f = *state;
    ash__io_set(NULL);
    clear(f);
    rmdir(f->base);
    free(f);
    return 0;
}

static void swapped(fixture *f)
{
    assert_true(is(f->folder, "whole"));
    assert_true(is(f->aside, "damaged"));
    assert_int_equal(access(f->fresh, F_OK), -1);
    assert_null(ash__swap_unfinished(f->folder));
}

/* ---- tests ---- */

static void test_embedded_swap__names_change_hands(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < 4; i++) {
        can_exchange = i < 2;
        prepare(f, i % 2 == 0);
        assert_ok(ash__swap(f->folder, f->fresh, f->tail, &f->err), &f->err);
        swapped(f);
        clear(f);
    }
}

/* By its n-th call; false: it has not so many, and was done. */
static bool killed(fixture *f, int n, bool after)
{
    int status;
    pid_t child = fork();
    calls = 0;
    ends_before = child == 0 && !after ? n : 0;
    ends_after = child == 0 && after ? n : 0;
    if (child == 0)
        _exit(ash__swap(f->folder, f->fresh, f->tail, NULL) == 0 ? 1 : 2);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
    return WEXITSTATUS(status) == 0;
}

/* How many times the name stood for nothing. */
static int kill_everywhere(fixture *f, bool beside)
{
    int missing = 0;
    for (int n = 1;; n++) {
        assert_true(n < 10);
        bool any = false;
        for (int after = 0; after < 2; after++) {
            prepare(f, beside);
            any = killed(f, n, after == 1) || any;
            char *tail = ash__swap_unfinished(f->folder);
            assert_true((tail != NULL) == (access(f->folder, F_OK) != 0));
            if (tail != NULL) {
                missing++;
                assert_ok(ash__swap_finish(f->folder, tail, &f->err), &f->err);
                swapped(f);
            }
            assert_true(is(f->folder, "whole") || is(f->folder, "damaged"));
            assert_true(is(f->folder, "damaged") || is(f->aside, "damaged") ||
                        is(f->fresh, "damaged"));
            ash__free(tail);
            clear(f);
        }
        if (!any)
            return missing;
    }
}

static void test_embedded_swap__an_exchange_leaves_no_gap(void **state)
{
    can_exchange = true;
    assert_int_equal(kill_everywhere(*state, true), 0);
    assert_int_equal(kill_everywhere(*state, false), 0);
}

static void test_embedded_swap__a_gap_is_known_and_closed(void **state)
{
    can_exchange = false;
    assert_true(kill_everywhere(*state, true) > 0);
    assert_true(kill_everywhere(*state, false) > 0);
}

/* A folder of that name is not looked for in others' names. */
static void test_embedded_swap__others_are_not_taken_for_it(void **state)
{
    fixture *f = *state;
    char other[400];
    prepare(f, true);
    snprintf(other, sizeof other, "%s.damaged-%s", f->folder, "19700101-000000");
    make(other, "damaged");
    assert_null(ash__swap_unfinished(f->folder));
    assert_int_equal(rename(f->folder, f->aside), 0);
    snprintf(other, sizeof other, "%s///", f->folder);
    char *tail = ash__swap_unfinished(other);
    assert_string_equal(tail, f->tail);
    ash__free(tail);
    snprintf(other, sizeof other, "%s/stor", f->base);
    assert_null(ash__swap_unfinished(other));
}

static void test_embedded_swap__what_fails_is_undone(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < 4; i++) {
        can_exchange = i < 2;
        for (fails = 1;; fails++) {
            assert_true(fails < 10);
            prepare(f, i % 2 == 0);
            calls = 0;
            int result = ash__swap(f->folder, f->fresh, f->tail, &f->err);
            if (result == 0)
                swapped(f);
            else
                assert_true(is(f->folder, "damaged") && is(f->fresh, "whole"));
            clear(f);
            if (result == 0)
                break;
        }
        assert_true(fails > 2);
    }
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(test_embedded_swap__##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(names_change_hands),          T(an_exchange_leaves_no_gap), T(a_gap_is_known_and_closed),
        T(others_are_not_taken_for_it), T(what_fails_is_undone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
