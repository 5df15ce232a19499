/* SPDX-License-Identifier: Apache-2.0 */
#include "kills.h"

#include "care.h"
#include "gen.h"
#include "parcels.h"
#include "unsure.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- what both sides do ---- */

enum { MOST_INDEXES = 8, FEW_DOCS = 6 };

static mv *one_field(const char *name, int64_t i)
{
    mv *step = mv_new(BSON_TYPE_DOCUMENT);
    mv_put(step, name, mv_int(i));
    return step;
}

/* A store lives through many processes: documents come first, and indexes stay few. */
static mv *next_step(rng *r, const model *m)
{
    mv *step;
    bool wants_docs = m->count < FEW_DOCS && rng_below(r, 4) != 0;
    do
        step = gen_step(r);
    while (wants_docs && strcmp(step->names[0], "insert") != 0);
    if (strcmp(step->names[0], "index") == 0 && m->index_count >= MOST_INDEXES)
        step = one_field("drop", rng_below(r, m->index_count));
    return step;
}

kills_deed kills_next(rng *r, const model *m)
{
    kills_deed d = {.step = mv_bson(next_step(r, m))};
    d.together = rng_below(r, 3) == 0;
    d.taken_back = rng_below(r, 12) == 0;
    d.parcel = rng_below(r, 3) == 0;
    d.flush = rng_below(r, 20) == 0;
    pool_empty();
    return d;
}

answer kills_model(model *m, const kills_deed *d, const mv *step, uint32_t *copies, bool *as_one)
{
    const char *kind = step->names[0];
    *copies = 0;
    *as_one = false;
    if (strcmp(kind, "reopen") == 0)
        return (answer){.only = -1};
    if (strcmp(kind, "drop") == 0)
        *copies = scenario_copies(m, step, NULL);
    answer want = model_step(m, step);
    if (naive_unsure || scenario_is_read(step))
        return want;
    if (strcmp(kind, "drop") != 0) {
        *copies = scenario_copies(m, step, &want);
        *as_one = d->together && !want.failed && want.only < 0 && strcmp(kind, "index") != 0;
    }
    return want;
}

ash_store_options kills_options(const kills_round *round)
{
    ash_store_options opts = real_options();
    opts.durability = round->strict ? ASH_DURABILITY_DEFAULT : ASH_DURABILITY_INTERVAL;
    opts.ttl_interval_ms = 10;
    opts.slow_ms = 60000;
    opts.no_server = true;
    return opts;
}

/* ---- the child ---- */

typedef struct worker {
    scenario *s;
    const kills_round *round;
    kills_page *page;
    parcels p;
    care c;
    int64_t next_parcel;
} worker;

static _Noreturn void give_up(const worker *w, const char *what)
{
    printf("# %s: %s\n", what, w->p.err.text);
    fflush(stdout);
    _exit(1);
}

static void acknowledge(worker *w)
{
    atomic_fetch_add(&w->page->done, 1);
}

static void on_disk(worker *w)
{
    atomic_store(&w->page->flushed, atomic_load(&w->page->done));
    atomic_store(&w->page->parcels_flushed, atomic_load(&w->page->parcels_done));
}

static void begin(worker *w)
{
    if (!parcels_open(&w->p, w->s->r.store) || !parcels_prepare(&w->p))
        give_up(w, "the parcels");
    if (!care_make_rows(w->s->r.store, &w->p.err))
        give_up(w, "the rows");
    care_start(&w->c, w->s->r.store, w->page, w->round->seed + atomic_load(&w->page->done));
}

static void end(worker *w)
{
    care_stop(&w->c);
    parcels_close(&w->p);
}

static bool reopen(worker *w, const mv *step)
{
    char text[400];
    end(w);
    bool good = !real_step(&w->s->r, 0, step, NULL, text, sizeof text).failed;
    if (good) {
        on_disk(w); /* closing makes everything durable */
        begin(w);
        atomic_fetch_add(&w->page->reopens, 1);
    }
    return good;
}

static bool drop_index(worker *w, const char *name, uint32_t copies)
{
    bool good = true;
    for (uint32_t copy = 0; good && copy < COPIES; copy++) {
        if ((copies >> copy & 1) == 0)
            continue;
        good = real_drop_index(&w->s->r, copy, name);
        if (good)
            acknowledge(w);
        else
            printf("# cannot drop index %s of copy %u\n", name, copy);
    }
    return good;
}

typedef struct unit {
    worker *w;
    const mv *step;
    const answer *want;
    bool same, take_back;
} unit;

static int do_unit(ash_transaction *t, void *ctx, ash_error *err)
{
    unit *u = ctx;
    scenario *s = u->w->s;
    (void)err;
    s->r.transaction = t;
    u->same = true;
    for (uint32_t copy = 0; u->same && copy < COPIES; copy++)
        u->same = scenario_check(s, u->step, u->want, copy, NULL);
    s->r.transaction = NULL;
    return u->same && !u->take_back ? 0 : ASH_EINTERRUPTED;
}

static bool as_unit(worker *w, const mv *step, const answer *want, bool take_back)
{
    unit u = {.w = w, .step = step, .want = want, .take_back = take_back};
    int code = ash_store_transact(w->s->r.store, do_unit, &u, NULL, &w->p.err);
    bool good = u.same && code == (take_back ? ASH_EINTERRUPTED : 0);
    if (u.same && !good)
        printf("# a transaction ended with %d %s\n", code, w->p.err.text);
    atomic_fetch_add(&w->page->transactions, 1);
    return good;
}

static bool write_step(worker *w, const kills_deed *d, const mv *step, const answer *want,
                       uint32_t copies, bool as_one)
{
    bool good = true;
    if (as_one) {
        good = (!d->taken_back || as_unit(w, step, want, true)) && as_unit(w, step, want, false);
        if (good)
            acknowledge(w);
        return good;
    }
    for (uint32_t copy = 0; good && copy < COPIES; copy++) {
        if ((copies >> copy & 1) == 0)
            continue;
        good = scenario_check(w->s, step, want, copy, NULL);
        if (good)
            acknowledge(w);
    }
    return good;
}

static bool do_step(worker *w, const kills_deed *d)
{
    const mv *step = mv_parse(d->step);
    const char *kind = step->names[0], *name = NULL;
    uint32_t copies;
    bool as_one;
    if (strcmp(kind, "reopen") == 0)
        return reopen(w, step);
    if (strcmp(kind, "drop") == 0 && step->items[0]->i < (int64_t)w->s->m.index_count) {
        const mv *spec = mv_parse(w->s->m.indexes[step->items[0]->i]);
        name = (const char *)mv_get(spec, "name")->data;
    }
    answer want = kills_model(&w->s->m, d, step, &copies, &as_one);
    if (naive_unsure)
        return true;
    if (scenario_is_read(step))
        return w->round->quiet || scenario_check_read(w->s, step, &want);
    if (name != NULL)
        return drop_index(w, name, copies);
    return write_step(w, d, step, &want, copies, as_one);
}

static void send_parcel(worker *w)
{
    if (!parcels_send(&w->p, w->next_parcel++))
        give_up(w, "a parcel");
    atomic_fetch_add(&w->page->parcels_done, 1);
}

static void flush(worker *w)
{
    if (ash_store_flush(w->s->r.store, NULL, &w->p.err) != 0)
        give_up(w, "a flush");
    on_disk(w);
}

static bool do_deed(worker *w, rng *r)
{
    uint64_t before = w->s->compared;
    kills_deed d = kills_next(r, &w->s->m);
    if (d.parcel)
        send_parcel(w);
    bool good = do_step(w, &d);
    if (good && d.flush)
        flush(w);
    atomic_fetch_add(&w->page->steps, 1);
    atomic_fetch_add(&w->page->answers, w->s->compared - before);
    bson_destroy(d.step);
    pool_empty();
    return good;
}

/* Whoever came before may have been killed before there was anything. */
static bool make_copies(scenario *s, ash_error *err)
{
    bson_t *capped = BCON_NEW("capped", BCON_BOOL(true), "size", BCON_INT32(1 << 20), "max",
                              BCON_INT32((int32_t)s->m.most));
    bool good = true;
    for (int i = 0; good && i < COPIES; i++)
        good = ash_collection_create(s->r.copies[i], s->m.most > 0 ? capped : NULL, NULL, err) == 0;
    bson_destroy(capped);
    return good;
}

_Noreturn void kills_work(scenario *s, const char *folder, const kills_round *round,
                          kills_page *page)
{
    worker w = {.s = s, .round = round, .page = page, .next_parcel = round->parcels};
    ash_store_options opts = kills_options(round);
    rng r = rng_for(round->seed, 1);
    bool good = real_open(&s->r, folder, &opts);
    if (!good || !make_copies(s, &w.p.err))
        give_up(&w, "the store");
    begin(&w);
    atomic_store(&page->opened, true);
    for (int i = 0; good && i < KILLS_DEEDS; i++)
        good = do_deed(&w, &r);
    fflush(stdout);
    if (!good)
        _exit(1);
    end(&w);
    real_close(&s->r);
    on_disk(&w);
    _exit(0);
}
