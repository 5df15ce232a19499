/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_FILES_VERSIONS_H
#define ASH_STORE_EMBEDDED_FILES_VERSIONS_H

/* Old versions of files for clients that read a file in two steps.
 *
 * A driver finds the files document first and the chunks after it.  When a transaction changes the
 * file in between, the old document would meet new chunks.  So it is remembered for SEEN_MS which
 * client (ash_op.reader) was given which files document from which snapshot; a transaction that is
 * about to remove chunks of a file keeps the committed snapshot first; and a client's find on the
 * chunks of that file reads the version that belongs to what it was given.
 *
 * Bounded: ASH_VERSIONS_SEEN files documents, ASH_VERSIONS_KEPT snapshots, each for ten seconds
 * after its last use and for ten minutes in all.  What is over that is forgotten: first what nobody
 * who was given the file would be shown, then the oldest; the chunks are then the newest ones, as
 * without all this.
 * Costs nothing to whoever names no reader, and to the others a lock for each files document and
 * each batch of them.
 *
 * A version keeps the space of what was deleted.  On a full disk those are let go at once that
 * nobody can ask for: no other client was given the file before it changed, and none is in the
 * middle of a find that may still give it. */

#include "store/embedded/kit/embedded.h"

enum { ASH_VERSIONS_SEEN = 4096, ASH_VERSIONS_KEPT = 32 };

typedef struct ash_versions ash_versions;
ash_versions *ash__versions_new(void);
void ash__versions_free(ash_versions *v); /* before the engine is closed */

/* Without this nothing is kept. */
void ash__versions_expect_readers(ash_store *store);
/* It will not come again. */
void ash__versions_forget_reader(ash_store *store, uint64_t reader);

/* A find that may give files documents to a reader: from before its snapshot is opened until
 * nothing that it found there is left to be given.  begin again: a new snapshot.  end: also of one
 * that never began. */
typedef struct ash_giving {
    struct ash_giving *next, *before;
    uint64_t commit; /* of the snapshot; 0: not known yet */
    bool under_way;
} ash_giving;
void ash__versions_giving_begin(ash_embedded *s, ash_giving *g);
void ash__versions_giving_rest(ash_embedded *s, ash_giving *g, uint64_t commit);
void ash__versions_giving_end(ash_embedded *s, ash_giving *g);

/* The reader was given this document of the namespace ("NAME.files") from the snapshot. */
void ash__versions_gave(ash_embedded *s, uint64_t reader, ash_ns ns, ash_doc doc, uint64_t commit);
/* On the writer: chunks that the filter finds in the namespace ("NAME.chunks") are about to go, by a
 * transaction of the reader's (0: of this process). */
void ash__versions_changing(ash_embedded *s, uint64_t reader, ash_ns ns, const bson_t *filter);

/* The snapshot to read the chunks of one file from, or NULL: the newest.  Nobody else has it until
 * it is given back. */
typedef struct ash_version ash_version;
ash_version *ash__versions_borrow(ash_embedded *s, uint64_t reader, ash_ns ns,
                                  const bson_t *filter);
ash_snapshot *ash__version_snapshot(const ash_version *version);
void ash__versions_give_back(ash_embedded *s, ash_version *version);

void ash__versions_lapse(ash_embedded *s);
/* Lets go what nobody can ask for any more, whatever its age. */
void ash__versions_make_room(ash_embedded *s);

#endif
