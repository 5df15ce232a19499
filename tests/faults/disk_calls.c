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

static void expect_clear(const attempt *a, const char *what, const ash_error *err)
{
    bool full = a->fault == FAULT_ENOSPC || a->fault == FAULT_SHORT;
    bool fits = err->code == ASH_EIO || (err->code == ASH_ENOSPC && full) ||
                (a->fits != NULL && a->fits(a->fault, err));
    if (!fits || err->text[0] == 0)
        fail_msg("%s: %d %s", what, err->code, err->text);
}

/* The n-th call fails; true when the operation makes fewer. */
static bool try_once(const attempt *a, int n)
{
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
        expect_clear(a, what, &err);
        other = a->subject->put_other(store, a->op);
    }
    a->subject->end(a->s, store, a->op, done, other, what);
    ash__free(what);
    return !happened;
}

/* Returns how many calls there are. */
static int fail_each(const attempt *a, int stride, int *tries)
{
    int calls = 0;
    for (int n = 1; n <= calls + (stride > BEYOND ? stride : BEYOND); n += stride, ++*tries) {
        if (!try_once(a, n))
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
        int calls = fail_each(&a, all_calls() ? 1 : times * stride, &tries);
        print_message("# %s, %s: %d calls\n", fault_names[fault], facts.name, calls);
        assert_true(calls > 0 || (facts.is_plain && subject->may_do_nothing));
    }
    print_message("# %s: %d tries\n", fault_names[fault], tries);
}
