/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_KIT_FILE_RULES_H
#define ASH_STORE_EMBEDDED_KIT_FILE_RULES_H

/* Why an engine for documents knows of files at all.
 *
 * GridFS is a convention between clients: documents in NAME.files, and in NAME.chunks the bytes.
 * What it leaves open, a client alone cannot close:
 *
 *   1. A file that is seen is complete.  A driver stores chunks one by one and the files document
 *      last; only the store knows whether a crash took some of the former (inserting).
 *   2. Nobody is given half of one version and half of the next.  A driver finds the files document
 *      and then the chunks, and another client may change the file in between (removing).
 *   3. What nobody can ask for any more must not keep a full disk full, and nothing is kept for
 *      ever (make_room, lapse).
 *   4. An error about a damaged chunk names the file, or nobody can act on it (name_damage).
 *
 * Everything that reads or writes documents asks this one table and knows no more of files.  It is
 * constant, and set when a store is opened (files/rules.h). */

#include "engine/engine.h"
#include "query/match/match.h"
#include "store/ops.h"

struct ash_embedded;

typedef struct ash_file_rules {
    /* On the writer: doc is about to be inserted into coll.  ASH_ECONFLICT when it would make a
     * file visible whose chunks were lost. */
    int (*inserting)(struct ash_embedded *s, ash_snapshot *snap, const ash_coll *coll, ash_doc doc,
                     ash_error *err);
    /* A transaction of the reader's (ash_op.reader; 0: of this process) is about to remove what the
     * filter finds in the namespace. */
    void (*removing)(struct ash_embedded *s, uint64_t reader, ash_ns ns, const bson_t *filter);
    /* The disk is full: let go of what nobody can ask for, whatever its age. */
    void (*make_room)(struct ash_embedded *s);
    /* From time to time: let go of what was kept long enough. */
    void (*lapse)(struct ash_embedded *s);
    /* A document that the filter led to in this collection is damaged: name the file in front of
     * the error. */
    void (*name_damage)(const char *coll, const ash_matcher *filter, ash_error *err);
} ash_file_rules;

#endif
