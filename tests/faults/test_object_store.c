/* SPDX-License-Identifier: Apache-2.0 */
#include "object_operations.h"

#include "faulty_store.h"

#include "base/error.h"
#include "base/mem.h"

#include <stdlib.h>

#define ALL_ENV "ASH_FAULTS_ALL" /* set: every call */
enum { MOST_CALLS = 2000, DELAY_MS = 5 };

/* The n-th call that an object store makes of the store below it. */
static bool try_once(portrayed *s, const object_operation *op, int n, bool lost, int delay_ms)
{
    ash_error err = ASH_ERROR_INIT;
    char *what = ash__sprintf("%s, call %d%s", op->name, n, lost ? ", its result lost" : "");
    ash_store *store = portrayed_begin(s), *through = faulty_store_new(store);
    size_t done;
    bool other = false;
    faulty_store_set(through, n, lost, delay_ms);
    int rc = object_subject_do(through, op, &done, &err);
    bool happened = faulty_store_happened(through);
    faulty_store_free(through);
    if (rc != 0) {
        /* An answer that never came is EIO, everything else was refused before it began. */
        if ((rc != ASH_ENOSPC && !(lost && rc == ASH_EIO)) || err.text[0] == 0 || delay_ms > 0)
            fail_msg("%s: %d %s", what, rc, err.text);
        other = object_subject_put_other(store, op);
        assert_true(other);
    }
    object_subject_end(s, store, op, done, other, what);
    ash__free(what);
    return !happened;
}

static void fail_each_call(portrayed *s, bool lost, int delay_ms, int sparse)
{
    int tries = 0, stride = getenv(ALL_ENV) != NULL ? 1 : sparse;
    for (size_t i = 0; i < object_operation_count; i++) {
        const object_operation *op = &object_operations[i];
        int n = 1;
        object_subject_foresee(s, op);
        for (; !try_once(s, op, n, lost, delay_ms); n += stride, tries++)
            assert_true(n < MOST_CALLS);
        print_message("# %s: less than %d calls\n", op->name, n);
        assert_true(n > 1);
    }
    print_message("# %d tries\n", tries);
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
