/* SPDX-License-Identifier: Apache-2.0 */
#include "store_calls.h"

#include "faulty_store.h"

#include "base/error.h"
#include "base/mem.h"

#include <stdlib.h>

#define ALL_ENV "ASH_FAULTS_ALL"
enum { MOST_CALLS = 3000 };

/* The n-th call; true: there are fewer. */
static bool try_once(const fault_subject *subject, portrayed *s, size_t op, int n,
                     const store_fault *fault)
{
    ash_error err = ASH_ERROR_INIT;
    char *what = ash__sprintf("%s, call %d%s", subject->facts(op).name, n,
                              fault->lost ? ", its result lost" : "");
    ash_store *store = portrayed_begin(s), *through = faulty_store_new(store);
    size_t done;
    bool other = false;
    faulty_store_set(through, n, fault->lost, fault->delay_ms);
    int rc = subject->act(through, op, &done, &err);
    bool happened = faulty_store_happened(through);
    faulty_store_free(through);
    if (rc != 0) {
        /* An answer that never came is EIO, everything else was refused before it began. */
        if ((rc != ASH_ENOSPC && !(fault->lost && rc == ASH_EIO)) || err.text[0] == 0 ||
            fault->delay_ms > 0)
            fail_msg("%s: %d %s", what, rc, err.text);
        other = subject->put_other(store, op);
        assert_true(other);
    }
    subject->end(s, store, op, done, other, what);
    ash__free(what);
    return !happened;
}

void store_calls_fail(const fault_subject *subject, portrayed *s, const store_fault *fault)
{
    int tries = 0;
    for (size_t op = 0; op < subject->count; op++) {
        operation_facts facts = subject->facts(op);
        int n = 1, stride = facts.count > subject->few_steps ? subject->seldom : 1;
        stride = getenv(ALL_ENV) != NULL ? 1 : stride * fault->stride;
        subject->foresee(s, op);
        for (; !try_once(subject, s, op, n, fault); n += stride, tries++)
            assert_true(n < MOST_CALLS);
        print_message("# %s: less than %d calls\n", facts.name, n);
        assert_true(n > 1);
    }
    print_message("# %d tries\n", tries);
}
