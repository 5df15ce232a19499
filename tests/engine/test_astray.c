/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include "base/fault.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/thread.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* Pages of payloads that cannot be read cost the payload, not the process.  A file that is cut off
 * while it is mapped has such pages. */

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HAS_TSAN 1
#endif
#elif defined(__SANITIZE_THREAD__)
#define HAS_TSAN 1
#endif

enum { PAGE = 4096, LARGE = 30000 };

/* The thread sanitizer puts signals off until a safe point, which a fault never reaches. */
static void need_faults(void)
{
#ifdef HAS_TSAN
    skip();
#endif
}

static void cut_off(fixture *f, const char *name, off_t size)
{
    char *path = ash__path_join(f->folder, name);
    assert_int_equal(truncate(path, size), 0);
    ash__free(path);
}

static void fill(fixture *f, int32_t count, size_t len)
{
    fixture_create(f, "c", NULL);
    for (int32_t i = 1; i <= count; i++) {
        bson_t *doc = fixture_chunk(i, i, len);
        assert_ok(fixture_insert(f, "c", doc, ASH_ACK_DURABLE, NULL), &f->err);
        bson_destroy(doc);
    }
    fixture_reopen(f);
}

static int get(fixture *f, ash_snapshot *snap, uint64_t rid)
{
    ash_record record;
    bool found = false;
    int result = ash__record_get(snap, fixture_coll(f, snap, "c"), rid, &record, &found, &f->err);
    return result == 0 && !found ? ASH_ENOTFOUND : result;
}

static void test_engine_astray__an_unreadable_payload_costs_itself(void **state)
{
    fixture *f = *state;
    need_faults();
    fill(f, 4, LARGE);
    ash_snapshot *snap = fixture_snapshot(f);
    assert_ok(get(f, snap, 1), &f->err);
    /* A header, and as many blocks as a record takes. */
    cut_off(f, "segments/00000001.seg", PAGE * (1 + 8));
    assert_ok(get(f, snap, 1), &f->err);
    for (uint64_t rid = 2; rid <= 4; rid++) {
        assert_int_equal(get(f, snap, rid), ASH_ECORRUPT);
        assert_non_null(strstr(f->err.text, "a page that cannot be read in segment 00000001"));
    }
    assert_ok(get(f, snap, 1), &f->err);
    ash__snapshot_close(snap);
}

/* ---- the handler ---- */

static void touch_nothing(void *ctx)
{
    (void)*(volatile char *)ctx;
}

static void *try_in_thread(void *page)
{
    return ash__fault_try(touch_nothing, page) ? NULL : page;
}

/* Threads of the library let no other signal in. */
static void test_engine_astray__in_any_thread(void **state)
{
    pthread_t thread;
    void *result = NULL;
    (void)state;
    need_faults();
    void *page = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(page != MAP_FAILED);
    ash__faults_enable();
    assert_int_equal(ash__thread_start(&thread, 0, try_in_thread, page), 0);
    pthread_join(thread, &result);
    ash__faults_disable();
    assert_ptr_equal(result, page);
    munmap(page, PAGE);
}

static void raise_fault(void *ctx)
{
    (void)ctx;
    ash__fault_raise();
}

static void nothing(void *ctx)
{
    ++*(int *)ctx;
}

static void nested(void *ctx)
{
    int *calls = ctx;
    assert_false(ash__fault_try(raise_fault, NULL));
    assert_true(ash__fault_try(nothing, calls));
}

static void test_engine_astray__tries_nest(void **state)
{
    int calls = 0;
    (void)state;
    ash__fault_raise(); /* nobody tries */
    assert_true(ash__fault_try(nested, &calls));
    assert_int_equal(calls, 1);
}

static void others(int number)
{
    (void)number;
    _exit(42);
}

static int child_status(void (*run)(void))
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        run();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void fault_with_a_handler(void)
{
    signal(SIGBUS, others);
    ash__faults_enable();
    raise(SIGBUS);
}

static void fault_without(void)
{
    signal(SIGBUS, SIG_DFL);
    ash__faults_enable();
    raise(SIGBUS);
}

static void fault_after(void)
{
    signal(SIGBUS, others);
    ash__faults_enable();
    ash__faults_disable();
    raise(SIGBUS);
}

static void test_engine_astray__other_faults_are_passed_on(void **state)
{
    (void)state;
    need_faults();
    assert_int_equal(WEXITSTATUS(child_status(fault_with_a_handler)), 42);
    assert_int_equal(WEXITSTATUS(child_status(fault_after)), 42);
    int status = child_status(fault_without);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_engine_astray__an_unreadable_payload_costs_itself,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test(test_engine_astray__tries_nest),
        cmocka_unit_test(test_engine_astray__in_any_thread),
        cmocka_unit_test(test_engine_astray__other_faults_are_passed_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
