/* SPDX-License-Identifier: Apache-2.0 */
#include "operations.h"

#include "faulty_store.h"

enum { MOST_CALLS = 100, DELAY_MS = 30 };

/* An upload that certainly failed has taken its chunks with it; one of unknown outcome must not. */
static void expect_no_orphans(subject *s, const operation *op, const step *next)
{
    bson_t filter = BSON_INITIALIZER;
    int64_t count = -1;
    BSON_APPEND_INT64(&filter, "files_id", next->id);
    assert_ok(ash_collection_count(s->worker.chunks, &filter, NULL, &count, &s->err), &s->err);
    if (count != 0)
        fail_msg("%s: %d chunks were left", op->name, (int)count);
    bson_destroy(&filter);
}

/* Content is before or after; an error that is reported as such leaves it as before, unless the
 * call was done and only its result lost. */
static bool try_once(subject *s, const operation *op, int n, bool done, int delay_ms)
{
    ash_error err = ASH_ERROR_INIT;
    worker through;
    step next = subject_step(s, op);
    ash_store *store = faulty_store_new(s->store);
    assert_ok(worker_open(&through, store, 0, &s->err), &s->err);
    faulty_store_set(store, n, done, delay_ms);
    int result = subject_do(s, &through, op, &next, &err);
    bool happened = faulty_store_happened(store);
    faulty_store_set(store, 0, false, 0);
    worker_close(&through);
    faulty_store_free(store);
    if (result != 0 &&
        ((result != ASH_EIO && result != ASH_ENOSPC) || err.text[0] == 0 || delay_ms > 0))
        fail_msg("%s, call %d: %d %s", op->name, n, result, err.text);
    bool after = subject_is_after(s, op, &next, result == 0 || done || op->step.kind == STEP_DROP);
    if (result == 0 && !after && op->run == NULL)
        fail_msg("%s, call %d: it did nothing", op->name, n);
    if (after)
        subject_renew(s);
    else if (op->step.kind == STEP_UPLOAD && result == ASH_ENOSPC)
        expect_no_orphans(s, op, &next);
    return !happened;
}

static void fail_each_call(subject *s, bool done, int delay_ms)
{
    for (size_t i = 0; i < operation_count; i++) {
        int n = 1;
        while (!try_once(s, &operations[i], n, done, delay_ms)) {
            n++;
            assert_true(n < MOST_CALLS);
        }
        print_message("# %s: %d calls\n", operations[i].name, n - 1);
        assert_true(n > 1);
        subject_renew(s);
    }
}

static void test_faults_store__each_call_fails(void **state)
{
    fail_each_call(*state, false, 0);
}

static void test_faults_store__each_result_is_lost(void **state)
{
    fail_each_call(*state, true, 0);
}

static void test_faults_store__each_call_is_late(void **state)
{
    fail_each_call(*state, false, DELAY_MS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, subject_setup, subject_teardown)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_faults_store__each_call_fails),
        TEST(test_faults_store__each_result_is_lost),
        TEST(test_faults_store__each_call_is_late),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
