/* SPDX-License-Identifier: Apache-2.0 */
/* Object stores as a work with a twin. */
#include "twin.h"

#include "base/error.h"
#include "base/mem.h"
#include "object_steps.h"

_Static_assert((int)SHARES == (int)OBJECT_THREADS, "each has a store of its own");

struct share {
    object_worker own;
};

int share_open(ash_store *store, uint64_t seed, uint32_t thread, share **out, ash_error *err)
{
    *out = ash__new(share);
    return object_worker_open(&(*out)->own, store, seed, thread, err);
}

void share_close(share *s)
{
    if (s != NULL)
        object_worker_close(&s->own);
    ash__free(s);
}

uint32_t share_thread(const share *s)
{
    return s->own.thread;
}

int share_do(share *s, uint32_t number, ash_error *err)
{
    return object_worker_do(&s->own, number, err);
}

int share_portrait(share *s, ash_buffer *out, ash_error *err)
{
    return object_portrait(&s->own, out, err);
}

bool share_clean_up(share *s, ash_error *err)
{
    int64_t left = 0;
    int rc = object_read_all(&s->own, err);
    if (rc == 0)
        rc = object_sweep(&s->own, &left, err);
    if (rc == 0 && left != 0)
        rc = ash__fail(err, ASH_ECONDITION, "a sweep left %lld that nobody has", (long long)left);
    return rc == 0 && object_read_all(&s->own, err) == 0;
}

bool step_is_prune(uint64_t seed, uint32_t thread, uint32_t number)
{
    return object_step_is_prune(seed, thread, number);
}

void step_describe(uint64_t seed, uint32_t thread, uint32_t number, char *out, size_t bytes)
{
    object_step_describe(seed, thread, number, out, bytes);
}
