/* SPDX-License-Identifier: Apache-2.0 */
#include "work.h"

#include "base/mem.h"
#include "scratch.h"
#include "steps.h"

#include <stdio.h>

/* Files and documents: the steps of models. */

enum { MORE_STEPS = 3 };

struct work {
    model models[MODEL_THREADS];
};

work *work_new(uint64_t seed)
{
    work *w = ash__new(work);
    for (uint32_t i = 0; i < MODEL_THREADS; i++)
        model_init(&w->models[i], seed, i);
    return w;
}

void work_free(work *w)
{
    if (w == NULL)
        return;
    for (int i = 0; i < MODEL_THREADS; i++)
        model_release(&w->models[i]);
    ash__free(w);
}

int work_do(work *w, const work_options *opts, ash_error *err)
{
    steps_run_options o = {
        .folder = opts->folder, .count = opts->steps, .reopens = opts->reopens, .acks = opts->acks};
    return steps_run(w->models, &o, err);
}

void work_interrupt(work *w)
{
    for (int i = 0; i < MODEL_THREADS; i++)
        w->models[i].generation++;
}

void work_acknowledge(work *w, const uint32_t ack[2])
{
    REQUIRE(ack[0] < MODEL_THREADS);
    model *m = &w->models[ack[0]];
    while (m->steps < ack[1]) {
        step s;
        model_next(m, &s);
        model_take(m, &s);
    }
}

/* As acknowledged, or one step on.  The first complaint is the one to read: it is about what was
 * acknowledged. */
static bool settle(ash_store *store, model *m, ash_error *err)
{
    worker w;
    step s;
    if (worker_open(&w, store, m->thread, err) != 0)
        return false;
    bool good = steps_compare(&w, m, err);
    if (!good) {
        model next;
        model_copy(&next, m);
        model_next(&next, &s);
        model_take(&next, &s);
        good = steps_compare(&w, &next, NULL);
        model_release(good ? m : &next);
        if (good)
            *m = next;
        else
            fprintf(stderr, "# the next step was: %s of %d\n", step_name(s.kind), s.slot);
    }
    worker_close(&w);
    return good;
}

static bool look(const char *folder, model models[MODEL_THREADS], ash_error *err)
{
    ash_store *store = steps_open_store(folder, false, err);
    bool good = store != NULL && steps_check(store, err);
    for (int i = 0; good && i < MODEL_THREADS; i++)
        good = settle(store, &models[i], err);
    ash_store_close(store);
    return good;
}

static bool write_more(const char *folder, model models[MODEL_THREADS], ash_error *err)
{
    bool good = true;
    ash_store *store = steps_open_store(folder, false, err);
    good = store != NULL && steps_prepare(store, err) == 0;
    for (int i = 0; good && i < MODEL_THREADS; i++) {
        worker w;
        step s;
        good = worker_open(&w, store, models[i].thread, err) == 0;
        models[i].generation++;
        for (int n = 0; good && n < MORE_STEPS; n++) {
            model_next(&models[i], &s);
            good = worker_do(&w, &models[i], &s, err) == 0;
            if (good)
                model_take(&models[i], &s);
        }
        worker_close(&w);
    }
    ash_store_close(store);
    return good;
}

bool work_is_good(work *w, const char *folder, bool go_on, ash_error *err)
{
    bool good = look(folder, w->models, err);
    if (good && go_on)
        good = write_more(folder, w->models, err) && look(folder, w->models, err);
    return good;
}

/* ---- reading ---- */

static enum outcome outcome_of(bool same, const ash_error *err)
{
    if (same)
        return OUTCOME_GOOD;
    if (err->code == ASH_ECONDITION)
        return OUTCOME_WRONG;
    return err->code == ASH_ENOTFOUND ? OUTCOME_MISSING : OUTCOME_REFUSED;
}

static enum outcome read_thread(ash_store *store, const model *m, ash_error *err)
{
    enum outcome out = OUTCOME_GOOD;
    worker w;
    if (worker_open(&w, store, m->thread, err) != 0)
        return OUTCOME_REFUSED;
    for (int i = 0; i < MODEL_FILES && out != OUTCOME_WRONG; i++) {
        if (m->files[i].there)
            out = outcome_worse(out, outcome_of(steps_same_file(&w, m, i, err), err));
    }
    for (int i = 0; i < MODEL_DOCS && out != OUTCOME_WRONG; i++) {
        if (m->docs[i].there)
            out = outcome_worse(out, outcome_of(steps_same_doc(&w, m, i, err), err));
    }
    worker_close(&w);
    return out;
}

enum outcome work_read(work *w, const char *folder, ash_error *err)
{
    enum outcome out = OUTCOME_GOOD;
    ash_store *store = steps_open_store(folder, true, err);
    if (store == NULL)
        return OUTCOME_REFUSED;
    for (int i = 0; i < MODEL_THREADS && out != OUTCOME_WRONG; i++)
        out = outcome_worse(out, read_thread(store, &w->models[i], err));
    ash_store_close(store);
    return out;
}
