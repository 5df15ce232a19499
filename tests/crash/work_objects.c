/* SPDX-License-Identifier: Apache-2.0 */
/* Object stores as a work with a twin. */
#include "twin.h"

#include "base/error.h"
#include "base/mem.h"
#include "object_steps.h"
#include "steps.h"

#include <stdio.h>
#include <string.h>

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

/* ---- of stores that may be damaged ---- */

/* Has the twin a live object of that name? */
static bool twin_has(const work *w, uint32_t thread, char name)
{
    const char *portrait = twin_portrait(w, thread);
    char begin[] = {'n', 'o', 'w', ' ', name, ' ', 0};
    const char *line = strstr(portrait, begin);
    const char *deleted = line != NULL ? strstr(line, " deleted ") : NULL;
    return line != NULL && (deleted == NULL || deleted > strchr(line, '\n'));
}

/* Whoever asks for one object by its name, and there is one, is never told that there is none. */
static enum outcome ask_for_each(work *w, object_worker *o, ash_error *err)
{
    enum outcome out = OUTCOME_GOOD;
    for (char name[2] = "a"; name[0] <= 'h' && out != OUTCOME_WRONG; name[0]++) {
        if (!twin_has(w, o->thread, name[0]))
            continue;
        int rc = ash_object_store_info(o->objects, name, NULL, NULL, NULL, err);
        if (rc == ASH_ENOTFOUND)
            out = OUTCOME_WRONG;
        else if (rc != 0)
            out = outcome_worse(out, OUTCOME_REFUSED);
    }
    return out;
}

static enum outcome read_share(work *w, ash_store *store, uint32_t thread, ash_error *err)
{
    ash_buffer got = ASH_BUFFER_INIT;
    object_worker o;
    enum outcome out = OUTCOME_GOOD;
    int rc = object_worker_open(&o, store, twin_seed(w), thread, err);
    if (rc == 0 && o.objects == NULL && strcmp(twin_portrait(w, thread), "none\n") != 0) {
        ash__fail(err, ASH_ENOTFOUND, "no object store %s", o.name);
        out = OUTCOME_WRONG;
    }
    if (rc == 0 && o.objects != NULL)
        out = ask_for_each(w, &o, err);
    if (rc == 0 && out != OUTCOME_WRONG)
        rc = object_portrait(&o, &got, err);
    if (rc == 0 && out != OUTCOME_WRONG)
        out = outcome_worse(out, twin_compare(w, thread, ash__buffer_text(&got), err));
    if (rc == 0 && out != OUTCOME_WRONG)
        rc = object_read_all(&o, err);
    ash__buffer_release(&got);
    object_worker_close(&o);
    return rc != 0 ? outcome_worse(out, twin_outcome(err)) : out;
}

enum outcome work_read(work *w, const char *folder, ash_error *err)
{
    enum outcome out = OUTCOME_GOOD;
    ash_store *store = steps_open_store(folder, true, err);
    if (store == NULL)
        return OUTCOME_REFUSED;
    for (uint32_t i = 0; i < SHARES && out != OUTCOME_WRONG; i++)
        out = outcome_worse(out, read_share(w, store, i, err));
    ash_store_close(store);
    return out;
}
