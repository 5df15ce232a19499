/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_CATALOG_INDEX_BUILD_H
#define ASH_STORE_EMBEDDED_CATALOG_INDEX_BUILD_H

#include "store/embedded/kit/embedded.h"

/* Fill new indexes while the collection stays in use.
 *
 * A new index is written to by every change from the apply that made it, and read only once it is
 * ready.  The records that were there before are added in turns of the writer; a turn deletes and
 * adds nothing that a change in between has not already made so, hence no write is lost.
 *
 * State "ib" collection(4) index(4), big-endian, names an unfinished build: what a crash leaves is
 * dropped at the next opening (ash__build_sweep). */
typedef struct ash_build {
    ash_embedded *store;
    const ash_op *op;
    uint32_t coll_id;
    uint32_t *ids; /* being filled by us */
    uint32_t count;
    uint32_t *awaited; /* being filled by others */
    uint32_t awaited_count;

    /* The run's own. */
    uint32_t at;
    uint64_t rid;
    uint64_t losses; /* of the engine, before the first turn */
    bool finish;     /* what the apply is to do: make them ready … */
    bool undo;       /* … or drop them */
} ash_build;

void ash__build_add(ash_build *b, uint32_t index_id);
void ash__build_wait_for(ash_build *b, uint32_t index_id);
bool ash__build_has(const ash_build *b, uint32_t index_id);

/* In the apply that is about to make them: drop what failed builds left behind, since the commit
 * that was to take it away failed as well. */
int ash__build_clear(ash_build *b, ash_writer *w, ash_error *err);
/* In the apply that made the indexes: finish at once when there is little to do (or at_once), else
 * note the build. */
int ash__build_start(ash_build *b, ash_writer *w, bool at_once, ash_error *err);
/* Fill, in turns; then make all ready as one.  After a failure none of them exists. */
int ash__build_run(ash_build *b, ash_error *err);
void ash__build_release(ash_build *b);

int ash__build_sweep(ash_embedded *s, ash_error *err);

#endif
