/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_ENGINE_CENSUS_H
#define ASH_ENGINE_CENSUS_H

/* The metadata as one commit has it, counted page by page without LMDB's help.
 *
 * LMDB believes its pages.  One wrong number in its list of free pages lets it write over a page
 * that is in use, many commits later; a wrong key in a branch makes rows disappear from those who
 * look for them.  Here every page of meta.mdb must be found exactly once, in a tree or in the list
 * of free pages; every tree must have the order, the depth and the numbers that its root promises;
 * and every row must have its checksum, where it has one.  Nothing is trusted, and nothing is
 * mapped: damage cannot end the process, so that a census can be taken beside readers and writer.
 *
 * It reads as many bytes as the metadata has in use, in no particular hurry. */

#include "engine/internal.h"

typedef struct ash_census_finding {
    int invariant; /* of docs/FORMAT.md */
    const char *kind;
    const char *text;
    const char *tree; /* NULL: of none */
    uint64_t page;    /* UINT64_MAX: of none */
    bool structure;   /* of the pages: whoever writes may do harm.  Else a row's alone */
    /* Rows with keys from low on and below high may be missed; NULL: no end on that side.  db: -1
     * when no rows are concerned. */
    int db;
    ash_doc low, high;
    bool exact;    /* only who asks for one key may miss it */
    bool all_rows; /* of all databases: this is not the newest commit, or not all of it */
    bool stale;    /* rows that are found there may be old ones, from stale_low to stale_high */
    ash_doc stale_low, stale_high;
} ash_census_finding;

typedef struct ash_census_options {
    bool (*go_on)(void *ctx, uint64_t done, uint64_t total); /* in pages; false: ASH_EINTERRUPTED */
    void (*finding)(void *ctx, const ash_census_finding *f);
    void *ctx;
} ash_census_options;

typedef struct ash_census_report {
    uint64_t commit;
    uint64_t pages, rows, findings;
    uint64_t structure; /* of the findings: of the pages */
} ash_census_report;

/* Of the newest commit.  Findings are told, 0 is returned with and without them; ASH_EIO,
 * ASH_EINTERRUPTED. */
int ash__census_take(ash_engine *e, const ash_census_options *opts, ash_census_report *out,
                     ash_error *err);

/* ---- between the parts ---- */

typedef struct ash_census ash_census;
struct ash_census_rows;

struct ash_census {
    ash_engine *engine;
    const ash_census_options *opts;
    ash_census_report *report;
    MDB_txn *txn;
    int fd;
    uint32_t page_bytes;
    uint64_t last;  /* page */
    uint8_t *metas; /* both descriptions */
    uint8_t roots[ASH_DB_COUNT][48];
    bool has_root[ASH_DB_COUNT];
    uint8_t *owner;  /* a byte each page: 0, or 1 + number of the tree that it was found in */
    uint8_t *listed; /* a bit each page: it is in the list of free ones */
    struct ash_census_rows *rows;
    bool broken;                    /* the tree at hand */
    ash_doc row_before, row_behind; /* the keys beside the row at hand; NULL: none on that side */
    int result;                     /* not 0: it ends */
    ash_error error;
};

/* Databases have their own numbers; these are the other trees. */
enum { ASH_TREE_FREE = ASH_DB_COUNT, ASH_TREE_MAIN, ASH_TREES };

typedef void (*ash_census_visit)(ash_census *c, int tree, uint64_t page, ash_doc key,
                                 ash_doc value);

void ash__census_found(ash_census *c, ash_census_finding f, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* census_tree.c: walk a tree that root (48 bytes) describes. */
void ash__census_walk(ash_census *c, int tree, const uint8_t *root, ash_census_visit visit);
const char *ash__census_tree_name(int tree);

/* census_rows.c: what the rows say. */
struct ash_census_rows *ash__census_rows_new(void);
void ash__census_row(ash_census *c, int tree, uint64_t page, ash_doc key, ash_doc value);
void ash__census_rows_judge(ash_census *c);
void ash__census_rows_free(struct ash_census_rows *rows);

#endif
