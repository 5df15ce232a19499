/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TREE_IMPORT_H
#define ASH_TREE_IMPORT_H

/* Bringing what lies in one tree into another, with its past.
 *
 *   walk    (import.c)        the source's documents, one by one: which lie below the folder?
 *   items   (import_item.c)   of each entry the versions that the target lacks, in groups of entries
 *   steps   (import_step.c)   one version each: its content is read and put anew
 *   commits (import_commit.c) several steps become visible as one
 *
 * Of a group the oldest versions go first, one of each entry at a time: what comes next finds its
 * predecessor's content in the target and is kept as a delta of it.  The versions that are current
 * in the source come last, so that an interruption leaves an entry out rather than old. */

#include "tree/history.h"
#include "tree/places.h"

typedef struct ash_import_item {
    ash_tree_entry *shown;     /* the newest that is no deletion, with its path in the source */
    ash_tree_entries versions; /* that the target lacks, oldest first */
    bool has_current;          /* the last of them is current in the source */
    ash_tree_entry *there;     /* what the target has as current, or NULL */
    ash_content_id before; /* what the target has of the version before: first choice as a base */
    bool told;             /* something of it has arrived */
} ash_import_item;

typedef struct ash_import_step {
    ash_import_item *item;
    const ash_tree_entry *version; /* of item->versions */
    bool current;                  /* it becomes so in the target */
    ash_content_writer *content;   /* sealed; NULL: nothing to store */
    ash_content_id id; /* of the content in the target; without a writer it is only held */
    bson_t *doc;       /* as the target gets it */
} ash_import_step;

enum { ASH_IMPORT_GROUP = 64, ASH_IMPORT_STEPS = 128, ASH_IMPORT_KNOWN = 4096 };

typedef struct ash_import {
    ash_tree *from, *to;
    ash_tree_import_options opts;
    ash_op op;
    ash_tree_import_report report;
    ash_tree_entry *from_top, *to_top; /* the folders; to_top NULL: a dry run would make it */
    ash_tree_places *places;           /* of the source */
    bool past_damage;                  /* the source's finds go on behind a damaged document */
    int64_t looked_at;                 /* entries */
    bool fresh;                        /* the target had no entries: nothing of it is looked up */
    ash_import_item items[ASH_IMPORT_GROUP];
    size_t item_count;
    ash_import_step steps[ASH_IMPORT_STEPS];
    size_t step_count,
        step_max;          /* fewer where a transaction's operations are run again and again */
    int64_t pending_bytes; /* that the writers of the steps hold */
    struct {
        ash_content_id from, to;
    } known[ASH_IMPORT_KNOWN]; /* what contents of the source are called in the target */
} ash_import;

/* ---- import.c ---- */

/* Tells of what is left out, and counts it; e: NULL or which. */
void ash__import_fail(ash_import *im, const ash_tree_entry *e, const ash_error *why);
/* Is it the fault of a document or content, so that the others can go on? */
bool ash__import_is_own_fault(int rc);
/* The id in the target: the source's, but for the folder itself. */
const bson_value_t *ash__import_id(const ash_import *im, const bson_value_t *id);

/* Each document that the filter finds; those that cannot be are told and passed over.  The entry is
 * fn's. */
typedef int (*ash_import_fn)(ash_import *im, ash_tree_entry *e, void *ctx, ash_error *err);
typedef struct ash_import_scan {
    ash_collection *collection;
    const bson_t *filter, *sort; /* sort: or NULL */
    ash_import_fn fn;
    void *ctx;
} ash_import_scan;
int ash__import_each(ash_import *im, const ash_import_scan *scan, ash_error *err);

/* ---- import_item.c ---- */

/* The entry is to be brought; e: its newest version that is no deletion, taken over, with its
 * path. */
int ash__import_add(ash_import *im, ash_tree_entry *e, ash_error *err);
/* What was added arrives. */
int ash__import_group(ash_import *im, ash_error *err);
void ash__import_release_items(ash_import *im);

/* ---- import_step.c ---- */

/* The next version of an item. */
int ash__import_step(ash_import *im, ash_import_item *item, size_t i, ash_error *err);
/* Reads the content of steps[i] and makes its document.  Steps from `first` on will be stored in
 * front of it, in the same commit. */
int ash__import_prepare(ash_import *im, size_t i, size_t first, ash_error *err);
/* The document with another name. */
void ash__import_rename(ash_import_step *s, const char *name);
void ash__import_release_step(ash_import_step *s);
void ash__import_forget(ash_import *im);
void ash__import_know(ash_import *im, const ash_content_id *from, const ash_content_id *to);

/* ---- import_commit.c ---- */

/* All steps that wait become visible. */
int ash__import_flush(ash_import *im, ash_error *err);

#endif
