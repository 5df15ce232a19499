/* SPDX-License-Identifier: Apache-2.0 */
#include "web_operations.h"

#include "disk_calls.h"

#include <ashlar/error.h>

/* What WebDAV and tus change, with the disk failing below the server. */

static void fail_each_call(portrayed *s, enum fault fault, int stride)
{
    /* LMDB calls a short write an EIO, and the disk is not full when it is asked. */
    web_subject_full_disk = fault == FAULT_ENOSPC;
    disk_calls_fail(&web_subject, s, fault, stride, NULL);
}

static void test_faults_web_io__broken_disk(void **state)
{
    fail_each_call(*state, FAULT_EIO, 3);
}

static void test_faults_web_io__full_disk(void **state)
{
    fail_each_call(*state, FAULT_ENOSPC, 5);
}

static void test_faults_web_io__short_writes(void **state)
{
    fail_each_call(*state, FAULT_SHORT, 5);
}

static void test_faults_web_io__done_but_reported_as_failed(void **state)
{
    fail_each_call(*state, FAULT_UNKNOWN, 5);
}

static void test_faults_web_io__broken_for_a_while(void **state)
{
    fail_each_call(*state, FAULT_LASTING, 5);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, web_subject_setup, web_subject_teardown)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_faults_web_io__broken_disk),
        TEST(test_faults_web_io__full_disk),
        TEST(test_faults_web_io__short_writes),
        TEST(test_faults_web_io__done_but_reported_as_failed),
        TEST(test_faults_web_io__broken_for_a_while),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
