/* SPDX-License-Identifier: Apache-2.0 */
#include "operations.h"

#include "faulty_io.h"

#include <stdlib.h>

/* The number of calls varies with how LMDB's pages lie, so a try beyond the last is not the end. */
#define ALL_ENV "ASH_FAULTS_ALL" /* set: all operations under all faults */
enum { MOST_CALLS = 400, BEYOND = 4 };

/* What a full or broken disk is called. */
static void expect_clear(const operation *op, enum fault fault, int n, const ash_error *err)
{
    bool fits = err->code == ASH_EIO ||
                (err->code == ASH_ENOSPC && (fault == FAULT_ENOSPC || fault == FAULT_SHORT));
    if (!fits || err->text[0] == 0)
        fail_msg("%s, call %d, %s: %d %s", op->name, n, fault_names[fault], err->code, err->text);
}

/* An upload that began before. */
static ash_upload *open_bystander(subject *s)
{
    ash_upload *u = NULL;
    assert_ok(ash_bucket_open_upload_stream(s->worker.shared, "bystander", NULL, &u, &s->err),
              &s->err);
    return u;
}

/* Others go on with the store, whatever failed; what they are told is true as well. */
static void go_on(subject *s, ash_upload *bystander)
{
    static const uint8_t bytes[600000];
    static const operation other = {.name = "other",
                                    .step = {.kind = STEP_UPLOAD, .slot = 5, .len = 700000}};
    step next = subject_step(s, &other);
    ash_upload_write(bystander, bytes, sizeof bytes, NULL);
    if (subject_do(s, &s->worker, &other, &next, NULL) == 0)
        model_take(&s->model, &next);
}

/* True when the fault did not happen any more: the operation makes fewer calls. */
static bool try_once(subject *s, const operation *op, enum fault fault, int n)
{
    ash_error err = ASH_ERROR_INIT;
    step next = subject_step(s, op);
    ash_upload *bystander = open_bystander(s);
    faulty_io_set(n, fault);
    int result = subject_do(s, &s->worker, op, &next, &err);
    if (result == 0)
        result = ash_store_flush(s->store, NULL, &err);
    bool happened = faulty_io_clear();
    if (result != 0) {
        expect_clear(op, fault, n, &err);
        go_on(s, bystander);
    } else if (!happened) {
        assert_true(n > 1);
    }
    ash_upload_free(bystander);
    subject_close(s);
    subject_open(s);
    bool after = subject_is_after(s, op, &next, true);
    if (result == 0 && !after && op->run == NULL)
        fail_msg("%s, call %d, %s: acknowledged and lost", op->name, n, fault_names[fault]);
    if (after)
        subject_renew(s);
    return !happened;
}

static void fail_each_call(subject *s, enum fault fault)
{
    for (size_t i = 0; i < operation_count; i++) {
        if (operations[i].is_plain && fault != FAULT_EIO && getenv(ALL_ENV) == NULL)
            continue;
        int n = 0, calls = 0;
        while (n < calls + BEYOND) {
            if (!try_once(s, &operations[i], fault, ++n))
                calls = n;
            assert_true(n < MOST_CALLS);
        }
        print_message("# %s, %s: %d calls\n", fault_names[fault], operations[i].name, calls);
        assert_true(calls > 1);
        subject_renew(s);
    }
}

static void test_faults_io__broken_disk(void **state)
{
    fail_each_call(*state, FAULT_EIO);
}

static void test_faults_io__full_disk(void **state)
{
    fail_each_call(*state, FAULT_ENOSPC);
}

static void test_faults_io__short_writes(void **state)
{
    fail_each_call(*state, FAULT_SHORT);
}

static void test_faults_io__done_but_reported_as_failed(void **state)
{
    fail_each_call(*state, FAULT_UNKNOWN);
}

static void test_faults_io__broken_for_a_while(void **state)
{
    fail_each_call(*state, FAULT_LASTING);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, subject_setup, subject_teardown)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_faults_io__broken_disk),        TEST(test_faults_io__full_disk),
        TEST(test_faults_io__short_writes),       TEST(test_faults_io__done_but_reported_as_failed),
        TEST(test_faults_io__broken_for_a_while),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
