/* SPDX-License-Identifier: Apache-2.0 */
/* What the last census of this run found, and who may go on after it.
 *
 * Deleting because something is not there needs metadata in which things are found.  A census costs
 * as much as the metadata is large, so its verdict holds for a while: bits do not flip often, and
 * what this process writes is right. */
#include "engine/damaged_rows.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

enum { HOLDS_MS = 600000, COST_SHARE = 50 }; /* a census takes at most one part in so many */
enum { DOUBTED_MS = 1000 };                  /* so long it holds whatever readers meet */

void ash__verdict_add(ash_verdict *all, const ash_census_finding *f)
{
    if (all->first[0] == 0)
        snprintf(all->first, sizeof all->first, "%s", f->text);
    ash__damaged_rows_add(&all->rows, f);
    all->told++;
}

void ash__verdict_note(ash_engine *e, ash_verdict *all, const ash_census_report *report,
                       int64_t took_ms)
{
    ash_damage found = {.findings = report->findings, .structure = report->structure > 0};
    memcpy(found.first, all->first, sizeof found.first);
    /* There is an end to what is told: who knows what the others concern. */
    if (report->findings > all->told)
        ash__damaged_rows_add_all(&all->rows, -1);
    ash__soundness_note(e, &found, &all->rows, took_ms);
}

void ash__verdict_release(ash_verdict *all)
{
    ash__damaged_rows_release(&all->rows);
}

typedef struct taking {
    ash_engine *engine;
    bool (*go_on)(void *ctx);
    void *ctx;
    ash_verdict found;
} taking;

static void take_finding(void *ctx, const ash_census_finding *f)
{
    ash__verdict_add(&((taking *)ctx)->found, f);
}

static bool take_step(void *ctx, uint64_t done, uint64_t total)
{
    const taking *t = ctx;
    (void)done, (void)total;
    return t->go_on == NULL || t->go_on(t->ctx);
}

static void tell(const ash_engine *e, const ash_damage *found)
{
    ash__log(ASH_LOG_ERROR,
             "%s: the metadata is damaged (%llu finding%s): %s; %s until `ashlar check --repair` "
             "has made a sound store of it",
             e->folder, (unsigned long long)found->findings, found->findings == 1 ? "" : "s",
             found->first,
             found->structure ? "nothing is written" : "nothing is deleted automatically");
}

/* Returns whether more is known now. */
static bool learn(ash_engine *e, const ash_damage *found, const ash_damaged_rows *rows)
{
    ash__mutex_assert_held(&e->damage_lock);
    bool is_news = e->damage.findings == 0 || (found->structure && !e->damage.structure);
    if (is_news)
        e->damage = *found;
    for (size_t i = 0; rows != NULL && i < rows->count; i++)
        is_news |= ash__damaged_rows_copy(e->damaged_rows, &rows->items[i]);
    return is_news;
}

/* It stays so while the store is open, whatever is written over it; what only an earlier run found
 * may have been mended since. */
static void forget(ash_engine *e)
{
    ash__mutex_assert_held(&e->damage_lock);
    if (e->damage_is_noted) {
        memset(&e->damage, 0, sizeof e->damage);
        ash__damaged_rows_release(e->damaged_rows);
        e->damage_is_noted = false;
    }
}

static ash_damaged_rows copy_of(const ash_damaged_rows *rows)
{
    ash_damaged_rows copy = {NULL, 0, 0};
    for (size_t i = 0; i < rows->count; i++)
        ash__damaged_rows_copy(&copy, &rows->items[i]);
    return copy;
}

void ash__soundness_note(ash_engine *e, const ash_damage *found, const ash_damaged_rows *rows,
                         int64_t took_ms)
{
    ash__mutex_lock(&e->damage_lock);
    bool was_noted = e->damage_is_noted;
    if (e->damaged_rows == NULL)
        e->damaged_rows = ash__new(ash_damaged_rows);
    if (rows != NULL) {
        forget(e);
        /* Only a census tells of all the pages; without rows it was one that somebody met. */
        e->census_ms = ash__clock_ms();
        e->census_took_ms = took_ms;
    }
    e->damage_is_noted = false;
    bool is_first = found->findings > 0 && e->damage.findings == 0;
    bool is_news = found->findings > 0 && learn(e, found, rows);
    atomic_store(&e->damaged, e->damage.findings > 0);
    atomic_store(&e->unwritable, e->damage.structure);
    /* Copied, since saving writes to the disk, which nobody waits for under the lock. */
    ash_damage damage = e->damage;
    ash_damaged_rows known = copy_of(e->damaged_rows);
    ash__mutex_unlock(&e->damage_lock);
    /* Where it cannot be noted (on a disk for reading only), the next run has to find it anew. */
    if (is_news)
        ash__damaged_rows_save(e, &damage, &known, NULL);
    else if (was_noted && damage.findings == 0)
        ash__damaged_rows_forget(e);
    if (is_first)
        tell(e, &damage);
    ash__damaged_rows_release(&known);
}

void ash__soundness_load(ash_engine *e)
{
    ash_damage damage;
    ash_error err = ASH_ERROR_INIT;
    ash_damaged_rows rows = {NULL, 0, 0};
    if (ash__damaged_rows_load(e, &damage, &rows, &err) != 0)
        ash__log(ASH_LOG_WARN, "%s: %s", e->folder, err.text);
    if (damage.findings > 0) {
        e->damage = damage;
        e->damage_is_noted = true;
        e->damaged_rows = ash__new(ash_damaged_rows);
        *e->damaged_rows = rows;
        atomic_store(&e->damaged, true);
        atomic_store(&e->unwritable, damage.structure);
        tell(e, &damage);
    }
}

void ash__soundness_release(ash_engine *e)
{
    if (e->damaged_rows != NULL)
        ash__damaged_rows_release(e->damaged_rows);
    ash__free(e->damaged_rows);
    e->damaged_rows = NULL;
}

/* What an answer from these rows may be instead of the truth. */
typedef struct suspicion {
    bool (*suspects)(const ash_damaged_rows *rows, int db, ash_doc low, ash_doc high);
    const char *what;
} suspicion;

static int trust(const ash_snapshot *snap, enum ash_database db, ash_doc low, ash_doc high,
                 const suspicion *s, ash_error *err)
{
    ash_engine *e = snap->engine;
    /* The way of every read of a sound store: one load, and no lock. */
    if (!atomic_load(&e->damaged) || snap->sees_all)
        return 0;
    ash__mutex_lock(&e->damage_lock);
    bool suspect = e->damaged_rows != NULL && s->suspects(e->damaged_rows, db, low, high);
    ash__mutex_unlock(&e->damage_lock);
    if (!suspect)
        return 0;
    return ash__fail(err, ASH_ECORRUPT,
                     "the metadata is damaged, and what is asked for may be %s (%s); "
                     "`ashlar check` says more",
                     s->what, ash__database_names[db]);
}

int ash__soundness_absent(const ash_snapshot *snap, enum ash_database db, ash_doc low, ash_doc high,
                          ash_error *err)
{
    static const suspicion missing = {ash__damaged_rows_meet, "missing from it"};
    return trust(snap, db, low, high, &missing, err);
}

int ash__soundness_found(const ash_snapshot *snap, enum ash_database db, ash_doc key,
                         ash_error *err)
{
    static const suspicion stale = {ash__damaged_rows_are_stale, "an old state"};
    return trust(snap, db, key, key, &stale, err);
}

void ash__soundness_doubt(ash_engine *e, int rc)
{
    if (rc == ASH_ECORRUPT)
        atomic_store(&e->doubted, true);
}

void ash__soundness_heed(ash_engine *e, int rc)
{
    ash_damage found = {.findings = 1, .structure = true};
    if (rc != ASH_LMDB_LOST)
        return;
    /* Which page is not known: LMDB was reading it. */
    snprintf(found.first, sizeof found.first, "a damaged page of meta.mdb was met amid a change");
    atomic_store(&e->lost, true);
    ash__soundness_note(e, &found, NULL, 0);
}

void ash__txn_abort(ash_engine *e, MDB_txn *txn)
{
    if (!atomic_load(&e->lost))
        ash__lmdb_txn_abort(txn);
}

/* Not even a snapshot of it can be had. */
static void note_unreadable(ash_engine *e, const ash_error *err)
{
    ash_damage found = {.findings = 1, .structure = true};
    snprintf(found.first, sizeof found.first, "%.*s", (int)sizeof found.first - 1,
             err != NULL ? err->text : "it cannot be read");
    ash__soundness_note(e, &found, NULL, 0);
}

static int take(ash_engine *e, bool (*go_on)(void *ctx), void *ctx, ash_error *err)
{
    taking t = {.engine = e, .go_on = go_on, .ctx = ctx};
    ash_census_options how = {.go_on = take_step, .finding = take_finding, .ctx = &t};
    ash_census_report report;
    int64_t began = ash__clock_ms();
    /* Before it begins: what a reader meets meanwhile is doubt of the next one. */
    atomic_store(&e->doubted, false);
    int rc = ash__census_take(e, &how, &report, err);
    if (rc == 0)
        ash__verdict_note(e, &t.found, &report, ash__clock_ms() - began);
    else if (rc == ASH_ECORRUPT)
        note_unreadable(e, err);
    ash__verdict_release(&t.found);
    return rc;
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
    int64_t least = atomic_load(&e->doubted) ? DOUBTED_MS : HOLDS_MS;
    bool holds =
        /* Damage that this run has seen does not go away; what an earlier run noted may have. */
        (e->damage.findings > 0 && !e->damage_is_noted) ||
        (e->census_ms != 0 && ash__clock_ms() < e->census_ms + (lasts > least ? lasts : least));
    ash__mutex_unlock(&e->damage_lock);
    return holds;
}

bool ash__engine_is_doubted(ash_engine *e)
{
    return atomic_load(&e->doubted) && !verdict_holds(e);
}

int ash__engine_census(ash_engine *e, bool (*go_on)(void *ctx), void *ctx, ash_error *err)
{
    return verdict_holds(e) ? 0 : take(e, go_on, ctx, err);
}

int ash__engine_require_whole(ash_engine *e, ash_error *err)
{
    ash_damage damage;
    int rc = ash__engine_census(e, NULL, NULL, err);
    if (rc == 0 && ash__engine_damage(e, &damage))
        rc = ash__fail(err, ASH_ECORRUPT,
                       "the metadata is damaged, so nothing is deleted for being missing in "
                       "it: %s; `ashlar check` says more",
                       damage.first);
    return rc;
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
