/* SPDX-License-Identifier: Apache-2.0 */
#include "object_operations.h"

#include "disk_calls.h"

#include "base/error.h"
#include "base/mem.h"

static void expect_clear(const char *what, enum fault fault, const ash_error *err)
{
    bool fits = disk_fault_fits(fault, err);
    if (!fits || err->text[0] == 0)
        fail_msg("%s: %d %s", what, err->code, err->text);
}

typedef struct attempt {
    portrayed *subject;
    const object_operation *op;
    enum fault fault;
} attempt;

static bool try_once(void *ctx, int n)
{
    const attempt *a = ctx;
    ash_error err = ASH_ERROR_INIT;
    char *what = ash__sprintf("%s, call %d, %s", a->op->name, n, fault_names[a->fault]);
    ash_store *store = portrayed_begin(a->subject);
    size_t done;
    bool other = false;
    faulty_io_set(n, a->fault);
    int rc = object_subject_do(store, a->op, &done, &err);
    if (rc == 0)
        rc = ash_store_flush(store, NULL, &err);
    bool happened = faulty_io_clear();
    if (rc != 0) {
        expect_clear(what, a->fault, &err);
        other = object_subject_put_other(store, a->op);
    }
    object_subject_end(a->subject, store, a->op, done, other, what);
    ash__free(what);
    return !happened;
}

/* A sweep of a sound store changes nothing, and meets no fault. */
static void fail_each_call(portrayed *s, enum fault fault, int sparse)
{
    int tries = 0;
    for (size_t i = 0; i < object_operation_count; i++) {
        const object_operation *op = &object_operations[i];
        attempt a = {s, op, fault};
        if (op->is_plain && fault != FAULT_EIO && !disk_all_calls())
            continue;
        object_subject_foresee(s, op);
        int calls = disk_calls_fail(try_once, &a, fault, sparse, op->name, &tries);
        assert_true(calls > 0 || op->is_plain);
    }
    print_message("# %s: %d tries\n", fault_names[fault], tries);
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
