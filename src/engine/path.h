/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_ENGINE_PATH_H
#define ASH_ENGINE_PATH_H

/* The way to a row, looked at before LMDB changes anything on it.
 *
 * LMDB copies a page and moves its nodes by the numbers that it finds there: a wrong one writes
 * over memory of the process, and then to the disk.  So the pages from the root to the row, as the
 * last commit has them, are judged first, once in a batch; what the batch itself has written needs
 * no look.  The list of free pages is judged when a batch begins.
 *
 * A wrong number in that list, or a page that two trees claim, is seen by a census alone.  One is
 * taken before the first change of a run when the metadata is small; else a server's comes soon
 * (soundness.c).
 *
 * The writer's own, like the batch. */

#include "engine/census.h"

typedef struct ash_path_tree {
    uint64_t root;
    uint32_t depth;
    const uint8_t *leaf; /* that was judged last */
    ash_doc low, high;   /* of it; in the map */
    bool has_neighbours; /* those were judged with it */
} ash_path_tree;

typedef struct ash_path {
    uint8_t *map; /* meta.mdb, to be read only */
    size_t map_bytes;
    uint64_t commit; /* that the pages are judged of; 0: of none yet */
    uint64_t last;   /* page of it */
    uint32_t page_bytes;
    ash_path_tree trees[ASH_TREES];
    uint8_t *seen; /* a bit each page: it was judged for this commit */
    size_t seen_bytes;
} ash_path;

/* Before a row of the tree is put, or (deletes) deleted: pages may be merged with their neighbours
 * then.  commit: the newest one, which the open transaction began with.  ASH_ECORRUPT, and then
 * nothing is written any more; ASH_EIO, ASH_ENOMEM. */
int ash__path_require(ash_engine *e, uint64_t commit, int tree, ash_doc key, bool deletes,
                      ash_error *err);
void ash__path_release(ash_engine *e);

#endif
