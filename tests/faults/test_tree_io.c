/* SPDX-License-Identifier: Apache-2.0 */
#include "tree_operations.h"

#include "disk_calls.h"

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

#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_subject_setup, tree_subject_teardown)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_faults_tree_io__broken_disk),
        TEST(test_faults_tree_io__full_disk),
        TEST(test_faults_tree_io__short_writes),
        TEST(test_faults_tree_io__done_but_reported_as_failed),
        TEST(test_faults_tree_io__broken_for_a_while),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
