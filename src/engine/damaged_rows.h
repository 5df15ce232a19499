/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_ENGINE_DAMAGED_ROWS_H
#define ASH_ENGINE_DAMAGED_ROWS_H

/* Where a census found rows that may be missed: ranges of keys in which "there is none" is no
 * answer.  A row that is found there still is one when it has a checksum.
 *
 * They outlast the process that found them, in the store's file `damage` (docs/FORMAT.md), so that
 * who opens the store next knows as well.  Not locked; soundness.c does that. */

#include "engine/census.h"

typedef struct ash_damaged_range {
    int db; /* -1: rows of all databases */
    uint16_t low_len, high_len;
    bool has_low, has_high;
    bool is_stale;                               /* rows that are found there may be old ones */
    bool is_exact;                               /* only who asks for one key may miss it */
    uint8_t low[ASH_KEY_MAX], high[ASH_KEY_MAX]; /* from low on, below high */
} ash_damaged_range;

typedef struct ash_damaged_rows {
    ash_damaged_range *items;
    size_t count, capacity;
} ash_damaged_rows;

void ash__damaged_rows_add(ash_damaged_rows *rows, const ash_census_finding *f);
/* Of one database, all; db -1: of each. */
void ash__damaged_rows_add_all(ash_damaged_rows *rows, int db);
/* May rows be missed between low and high, or, where both are the same bytes, with that key?  data
 * NULL: no end. */
bool ash__damaged_rows_meet(const ash_damaged_rows *rows, int db, ash_doc low, ash_doc high);
/* May one that was found there be an old one? */
bool ash__damaged_rows_are_stale(const ash_damaged_rows *rows, int db, ash_doc low, ash_doc high);
/* Returns whether it was not there yet. */
bool ash__damaged_rows_copy(ash_damaged_rows *rows, const ash_damaged_range *range);
void ash__damaged_rows_release(ash_damaged_rows *rows);

/* ---- what a census tells, gathered (soundness.c) ---- */

typedef struct ash_verdict {
    char first[300];
    uint64_t told;
    ash_damaged_rows rows;
} ash_verdict;
void ash__verdict_add(ash_verdict *all, const ash_census_finding *f);
/* The engine knows of it from now on. */
void ash__verdict_note(ash_engine *e, ash_verdict *all, const ash_census_report *report,
                       int64_t took_ms);
void ash__verdict_release(ash_verdict *all);

/* The file.  Load: without one, no findings; one that is damaged itself, or of another store, says
 * that every row may be missed. */
int ash__damaged_rows_save(const ash_engine *e, const ash_damage *damage,
                           const ash_damaged_rows *rows, ash_error *err);
int ash__damaged_rows_load(const ash_engine *e, ash_damage *damage, ash_damaged_rows *rows,
                           ash_error *err);
void ash__damaged_rows_forget(const ash_engine *e); /* removes it */

#endif
