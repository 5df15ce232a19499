/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_TREE_GENERATIONS_IMPORT_H
#define ASH_TESTS_TREE_GENERATIONS_IMPORT_H

#include "tree/generations/old.h"

/* Trees of any kind that come to lie in one of today, with their past. */

#define IMPORT_CURRENT "v7files"
#define IMPORT_PAST    "v7files.vermongo"

/* The target's collections take the place of the source's in the fixture, so that what looks at a
 * tree can look at it. */
typedef struct import_target {
    fixture view;
    char *db;
    ash_tree_import_report report;
    ash_buffer told; /* paths of what arrived */
    ash_buffer failed;
    int stop_after; /* entries; 0: never */
} import_target;

/* A tree of today, empty, in another database of the fixture's store. */
void import_open(fixture *f, import_target *t);
void import_close(import_target *t);
/* The fixture's tree into it; options NULL: the defaults. */
int import_run(fixture *f, import_target *t, ash_tree_import_options *o);
void import_expect(const import_target *t, int entries, int versions, int skipped, int failed);

/* /docs, /docs/a of four versions, the second called b; /docs/gone, deleted; /tiny, inside;
 * /docs/pattern; all as the seed had it, with a mark and a field that nobody knows. */
void import_fill(fixture *f);
/* All of that is there. */
void import_expect_all(import_target *t);

#endif
