/* SPDX-License-Identifier: Apache-2.0 */
#include "object_operations.h"

#include "faulty_io.h"

#include "base/error.h"
#include "base/mem.h"

#include <stdlib.h>

/* The number of calls varies with how LMDB's pages lie, so a try beyond the last is not the end. */
#define ALL_ENV "ASH_FAULTS_ALL" /* set: all operations under all faults, call by call */
enum { MOST_CALLS = 900, BEYOND = 4 };

static void expect_clear(const char *what, enum fault fault, const ash_error *err)
{
    bool fits = err->code == ASH_EIO ||
                (err->code == ASH_ENOSPC && (fault == FAULT_ENOSPC || fault == FAULT_SHORT));
    if (!fits || err->text[0] == 0)
        fail_msg("%s: %d %s", what, err->code, err->text);
}

/* True when the fault did not happen any more: the operation makes fewer calls. */
static bool try_once(object_subject *s, const object_operation *op, enum fault fault, int n)
{
    ash_error err = ASH_ERROR_INIT;
    char *what = ash__sprintf("%s, call %d, %s", op->name, n, fault_names[fault]);
    ash_store *store = object_subject_begin(s);
    size_t done;
    bool other = false;
    faulty_io_set(n, fault);
    int rc = object_subject_do(store, op, &done, &err);
    if (rc == 0)
        rc = ash_store_flush(store, NULL, &err);
    bool happened = faulty_io_clear();
    if (rc != 0) {
        expect_clear(what, fault, &err);
        other = object_subject_put_other(store, op);
    }
    object_subject_end(s, store, op, done, other, what);
    ash__free(what);
    return !happened;
}

/* Every so many calls, of operations that make many more seldom. */
static void fail_each_call(object_subject *s, enum fault fault, int sparse)
{
    int tries = 0;
    for (size_t i = 0; i < object_operation_count; i++) {
        const object_operation *op = &object_operations[i];
        int calls = 0, stride = getenv(ALL_ENV) != NULL ? 1 : sparse;
        if (op->is_plain && fault != FAULT_EIO && getenv(ALL_ENV) == NULL)
            continue;
        object_subject_foresee(s, op);
        for (int n = 1; n <= calls + (stride > BEYOND ? stride : BEYOND); n += stride, tries++) {
            if (!try_once(s, op, fault, n))
                calls = n;
            assert_true(n < MOST_CALLS);
        }
        print_message("# %s, %s: %d calls\n", fault_names[fault], op->name, calls);
    }
    print_message("# %s: %d tries\n", fault_names[fault], tries);
    assert_true(tries > (int)object_operation_count);
}

static void test_faults_object_io__broken_disk(void **state)
{
    fail_each_call(*state, FAULT_EIO, 2);
}

static void test_faults_object_io__full_disk(void **state)
{
    fail_each_call(*state, FAULT_ENOSPC, 5);
}

static void test_faults_object_io__short_writes(void **state)
{
    fail_each_call(*state, FAULT_SHORT, 5);
}

static void test_faults_object_io__done_but_reported_as_failed(void **state)
{
    fail_each_call(*state, FAULT_UNKNOWN, 4);
}

static void test_faults_object_io__broken_for_a_while(void **state)
{
    fail_each_call(*state, FAULT_LASTING, 5);
}

#define TEST(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, object_subject_setup, object_subject_teardown)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_faults_object_io__broken_disk),
        TEST(test_faults_object_io__full_disk),
        TEST(test_faults_object_io__short_writes),
        TEST(test_faults_object_io__done_but_reported_as_failed),
        TEST(test_faults_object_io__broken_for_a_while),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
