/* SPDX-License-Identifier: Apache-2.0 */
#include "tree_operations.h"

#include "disk_calls.h"
#include "tree_removal.h"

#include "base/error.h"
#include "base/mem.h"

#include <string.h>

/* A disk that goes on failing takes pieces with it that nothing need make durable before their list
 * is; the list's commit misses them, and that is all it can tell. */
static bool misses_pieces(enum fault fault, const ash_error *err)
{
    return err->code == ASH_ECONFLICT && (fault == FAULT_SHORT || fault == FAULT_LASTING) &&
           strstr(err->text, "not there any more") != NULL;
}

static void fail_each_call(portrayed *s, enum fault fault, int stride)
{
    disk_calls_fail(&tree_subject, s, fault, stride, misses_pieces);
}

static void test_faults_tree_io__broken_disk(void **state)
{
    fail_each_call(*state, FAULT_EIO, 2);
}

static void test_faults_tree_io__full_disk(void **state)
{
    fail_each_call(*state, FAULT_ENOSPC, 5);
}

static void test_faults_tree_io__short_writes(void **state)
{
    fail_each_call(*state, FAULT_SHORT, 5);
}

static void test_faults_tree_io__done_but_reported_as_failed(void **state)
{
    fail_each_call(*state, FAULT_UNKNOWN, 5);
}

static void test_faults_tree_io__broken_for_a_while(void **state)
{
    fail_each_call(*state, FAULT_LASTING, 5);
}

/* ---- a folder that goes in many commits ---- */

typedef struct removal_attempt {
    tree_removal removal;
    enum fault fault;
} removal_attempt;

static bool try_removal(void *ctx, int n)
{
    const removal_attempt *a = ctx;
    ash_error err = ASH_ERROR_INIT;
    char *what = ash__sprintf("removal, call %d, %s", n, fault_names[a->fault]);
    ash_store *store = portrayed_begin(a->removal.subject);
    faulty_io_set(n, a->fault);
    int rc = tree_removal_do(store, &err);
    if (rc == 0)
        rc = ash_store_flush(store, NULL, &err);
    bool happened = faulty_io_clear();
    if (rc != 0)
        disk_calls_expect_clear(a->fault, misses_pieces, what, &err);
    tree_removal_end(&a->removal, store, rc, what);
    ash__free(what);
    return !happened;
}

static void test_faults_tree_io__a_removal_of_many_commits(void **state)
{
    static const enum fault faults[] = {FAULT_ENOSPC, FAULT_SHORT, FAULT_EIO, FAULT_LASTING};
    removal_attempt a = {0};
    int tries = 0;
    tree_removal_foresee(&a.removal, *state);
    for (size_t i = 0; i < ASH_ARRAY_LEN(faults); i++) {
        a.fault = faults[i];
        assert_true(disk_calls_fail_each(try_removal, &a, 2, &tries) > 0);
    }
    print_message("# removal: %d tries\n", tries);
    tree_removal_release(&a.removal);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_subject_setup, tree_subject_teardown)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_faults_tree_io__broken_disk),
        TEST(test_faults_tree_io__full_disk),
        TEST(test_faults_tree_io__short_writes),
        TEST(test_faults_tree_io__done_but_reported_as_failed),
        TEST(test_faults_tree_io__broken_for_a_while),
        TEST(test_faults_tree_io__a_removal_of_many_commits),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
