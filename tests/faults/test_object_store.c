/* SPDX-License-Identifier: Apache-2.0 */
#include "object_operations.h"

#include "store_calls.h"

enum { DELAY_MS = 5 };

static void fail_each_call(portrayed *s, bool lost, int delay_ms, int stride)
{
    const store_fault fault = {lost, delay_ms, stride};
    store_calls_fail(&object_subject, s, &fault);
}

static void test_faults_object_store__each_call_fails(void **state)
{
    fail_each_call(*state, false, 0, 3);
}

static void test_faults_object_store__each_result_is_lost(void **state)
{
    fail_each_call(*state, true, 0, 3);
}

static void test_faults_object_store__each_call_is_late(void **state)
{
    fail_each_call(*state, false, DELAY_MS, 15);
}

#define TEST(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, object_subject_setup, object_subject_teardown)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_faults_object_store__each_call_fails),
        TEST(test_faults_object_store__each_result_is_lost),
        TEST(test_faults_object_store__each_call_is_late),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
