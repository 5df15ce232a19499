/* SPDX-License-Identifier: Apache-2.0 */
#include "disk_calls.h"

#include "base/error.h"
#include "base/mem.h"

#include <stdlib.h>

#define ALL_ENV "ASH_FAULTS_ALL"
/* The number of calls varies with how LMDB's pages lie, so a try beyond the last is not the end. */
enum { MOST_CALLS = 900, BEYOND = 4 };

typedef struct attempt {
    const fault_subject *subject;
    portrayed *s;
    size_t op;
    enum fault fault;
    bool (*fits)(enum fault fault, const ash_error *err);
} attempt;

static bool all_calls(void)
{
    return getenv(ALL_ENV) != NULL;
}

void disk_calls_expect_clear(enum fault fault, bool (*fits)(enum fault fault, const ash_error *err),
                             const char *what, const ash_error *err)
{
    bool full = fault == FAULT_ENOSPC || fault == FAULT_SHORT;
    bool explained = err->code == ASH_EIO || (err->code == ASH_ENOSPC && full) ||
                     (fits != NULL && fits(fault, err));
    if (!explained || err->text[0] == 0)
        fail_msg("%s: %d %s", what, err->code, err->text);
}

static bool try_once(void *ctx, int n)
{
    const attempt *a = ctx;
    ash_error err = ASH_ERROR_INIT;
    const char *name = a->subject->facts(a->op).name;
    char *what = ash__sprintf("%s, call %d, %s", name, n, fault_names[a->fault]);
    ash_store *store = portrayed_begin(a->s);
    size_t done;
    bool other = false;
    faulty_io_set(n, a->fault);
    int rc = a->subject->act(store, a->op, &done, &err);
    if (rc == 0)
        rc = ash_store_flush(store, NULL, &err);
    bool happened = faulty_io_clear();
    if (rc != 0) {
        disk_calls_expect_clear(a->fault, a->fits, what, &err);
        other = a->subject->put_other(store, a->op);
    }
    a->subject->end(a->s, store, a->op, done, other, what);
    ash__free(what);
    return !happened;
}

int disk_calls_fail_each(bool (*fail_one)(void *ctx, int n), void *ctx, int stride, int *tries)
{
    int calls = 0;
    if (all_calls())
        stride = 1;
    for (int n = 1; n <= calls + (stride > BEYOND ? stride : BEYOND); n += stride, ++*tries) {
        if (!fail_one(ctx, n))
            calls = n;
        assert_true(n < MOST_CALLS);
    }
    return calls;
}

void disk_calls_fail(const fault_subject *subject, portrayed *s, enum fault fault, int stride,
                     bool (*fits)(enum fault fault, const ash_error *err))
{
    int tries = 0;
    for (size_t op = 0; op < subject->count; op++) {
        attempt a = {subject, s, op, fault, fits};
        operation_facts facts = subject->facts(op);
        int times = facts.count > subject->few_steps ? subject->seldom : 1;
        if (facts.is_plain && fault != FAULT_EIO && !all_calls())
            continue;
        subject->foresee(s, op);
        int calls = disk_calls_fail_each(try_once, &a, times * stride, &tries);
        print_message("# %s, %s: %d calls\n", fault_names[fault], facts.name, calls);
        assert_true(calls > 0 || (facts.is_plain && subject->may_do_nothing));
    }
    print_message("# %s: %d tries\n", fault_names[fault], tries);
}
