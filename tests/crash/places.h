/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_CRASH_PLACES_H
#define ASH_TESTS_CRASH_PLACES_H

/* What lies where in a sound meta.mdb, so that each kind of place can be damaged. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rng.h"

enum place_kind {
    PLACE_META_NEWEST,
    PLACE_META_OLDER,
    PLACE_FREE_HEADER, /* of the tree of free pages; leaves, but for FREE_BRANCH */
    PLACE_FREE_OFFSETS,
    PLACE_FREE_NODE,
    PLACE_FREE_KEY,
    PLACE_FREE_IDS,
    PLACE_FREE_BRANCH,
    PLACE_FREE_OVERFLOW, /* header and ids */
    PLACE_MAIN_HEADER,   /* of the tree of the databases */
    PLACE_MAIN_OFFSETS,
    PLACE_MAIN_NODE,
    PLACE_MAIN_NAME,
    PLACE_MAIN_ROOT,
    PLACE_BRANCH_HEADER, /* of the databases' own trees */
    PLACE_BRANCH_OFFSETS,
    PLACE_BRANCH_NODE,
    PLACE_BRANCH_KEY,
    PLACE_LEAF_HEADER,
    PLACE_LEAF_OFFSETS,
    PLACE_LEAF_NODE,
    PLACE_LEAF_KEY,
    PLACE_LEAF_VALUE,
    PLACE_OVERFLOW_HEADER,
    PLACE_OVERFLOW_BODY,
    PLACE_FREE_PAGE,
    PLACE_SLACK,
    PLACE_KINDS
};
extern const char *const place_names[PLACE_KINDS];

enum { PLACE_TREES = 16 };

typedef struct place {
    enum place_kind kind;
    int tree;
    uint64_t page;
    uint32_t at; /* in the page; may lie behind it in values of several pages */
    uint32_t len;
} place;

typedef struct places {
    place *items; /* by kind, then by tree, then as they come */
    size_t count, capacity;
    char trees[PLACE_TREES][16]; /* names */
    int tree_count;
    size_t first[PLACE_KINDS + 1];
    /* While it is read: */
    uint8_t *file;
    size_t bytes;
    bool *taken; /* pages that are in a tree */
} places;

/* Read a sound file; false with a line on standard error when it has not some of every kind. */
bool places_read(places *p, const char *path);
void places_release(places *p);

/* One byte, and bits of it, to be changed. */
typedef struct aim {
    const place *where;
    uint64_t offset; /* in the file */
    uint8_t bits;
} aim;
aim places_choose(const places *p, rng *r);
void aim_describe(const places *p, const aim *a, char *out, size_t bytes);

#endif
