/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/census.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

/* What the last census of this run found, and who may go on after it.
 *
 * Deleting because something is not there needs metadata in which things are found.  A census costs
 * as much as the metadata is large, so its verdict holds for a while: bits do not flip often, and
 * what this process writes is right. */

enum { HOLDS_MS = 600000, COST_SHARE = 50 }; /* a census takes at most one part in so many */

typedef struct taking {
    ash_engine *engine;
    bool (*go_on)(void *ctx);
    void *ctx;
    ash_damage found;
} taking;

static void take_finding(void *ctx, const ash_census_finding *f)
{
    taking *t = ctx;
    if (t->found.first[0] == 0)
        snprintf(t->found.first, sizeof t->found.first, "%s", f->text);
}

static bool take_step(void *ctx, uint64_t done, uint64_t total)
{
    const taking *t = ctx;
    (void)done, (void)total;
    return t->go_on == NULL || t->go_on(t->ctx);
}

void ash__soundness_note(ash_engine *e, const ash_damage *found, int64_t took_ms)
{
    bool is_new;
    ash__mutex_lock(&e->damage_lock);
    /* What was damaged stays so while the store is open, whatever is written over it. */
    is_new = found->findings > 0 && e->damage.findings == 0;
    if (e->damage.findings == 0 || found->structure)
        e->damage = *found;
    e->census_ms = ash__clock_ms();
    e->census_took_ms = took_ms;
    atomic_store(&e->damaged, e->damage.findings > 0);
    atomic_store(&e->unwritable, e->damage.structure);
    ash__mutex_unlock(&e->damage_lock);
    if (is_new)
        ash__log(ASH_LOG_ERROR,
                 "%s: the metadata is damaged (%llu finding%s): %s; %s until `ashlar check "
                 "--repair` has made a sound store of it",
                 e->folder, (unsigned long long)found->findings, found->findings == 1 ? "" : "s",
                 found->first,
                 found->structure ? "nothing is written" : "nothing is deleted by itself");
}

void ash__soundness_heed(ash_engine *e, int rc)
{
    ash_damage found = {.findings = 1, .structure = true};
    if (rc != ASH_LMDB_LOST)
        return;
    snprintf(found.first, sizeof found.first, "a damaged page of meta.mdb was met amid a change");
    atomic_store(&e->lost, true);
    ash__soundness_note(e, &found, 0);
}

void ash__txn_abort(ash_engine *e, MDB_txn *txn)
{
    if (!atomic_load(&e->lost))
        mdb_txn_abort(txn);
}

static int take(ash_engine *e, bool (*go_on)(void *ctx), void *ctx, ash_error *err)
{
    taking t = {.engine = e, .go_on = go_on, .ctx = ctx};
    ash_census_options how = {.go_on = take_step, .finding = take_finding, .ctx = &t};
    ash_census_report report;
    int64_t began = ash__clock_ms();
    int result = ash__census_take(e, &how, &report, err);
    if (result != 0)
        return result;
    t.found.findings = report.findings;
    t.found.structure = report.structure > 0;
    ash__soundness_note(e, &t.found, ash__clock_ms() - began);
    return 0;
}

bool ash__engine_damage(ash_engine *e, ash_damage *out)
{
    ash__mutex_lock(&e->damage_lock);
    *out = e->damage;
    out->censuses = e->census_ms != 0;
    ash__mutex_unlock(&e->damage_lock);
    return out->findings > 0;
}

static bool verdict_holds(ash_engine *e)
{
    ash__mutex_lock(&e->damage_lock);
    int64_t lasts = COST_SHARE * e->census_took_ms;
    bool holds = e->damage.findings > 0 ||
                 (e->census_ms != 0 &&
                  ash__clock_ms() < e->census_ms + (lasts > HOLDS_MS ? lasts : HOLDS_MS));
    ash__mutex_unlock(&e->damage_lock);
    return holds;
}

int ash__engine_census(ash_engine *e, bool (*go_on)(void *ctx), void *ctx, ash_error *err)
{
    return verdict_holds(e) ? 0 : take(e, go_on, ctx, err);
}

int ash__engine_require_whole(ash_engine *e, ash_error *err)
{
    ash_damage damage;
    int result = ash__engine_census(e, NULL, NULL, err);
    if (result == 0 && ash__engine_damage(e, &damage))
        result = ash__fail(err, ASH_ECORRUPT,
                           "the metadata is damaged, so nothing is deleted for being missing in "
                           "it: %s; `ashlar check` says more",
                           damage.first);
    return result;
}

int ash__soundness_refuse(ash_engine *e, ash_error *err)
{
    ash_damage damage;
    ash__engine_damage(e, &damage);
    return ash__fail(err, ASH_ECORRUPT,
                     "the pages of the metadata are damaged, and nothing is written to them: %s; "
                     "`ashlar check --repair` makes a sound store of it",
                     damage.first);
}
