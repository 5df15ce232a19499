/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_KIT_OPLOG_H
#define ASH_STORE_EMBEDDED_KIT_OPLOG_H

/* The change log, from which change streams are made.
 *
 * An entry is written by the same apply as the change it tells of.  It is a BSON document:
 *
 *   o   int32    what happened, enum ash_change_kind
 *   d   string   database
 *   c   string   collection (not for a dropped database)
 *   i   int64    collection id, u binary its UUID (not for a dropped database)
 *   w   date     wall time
 *   k   document {_id} of the document (insert, update, replace, delete)
 *   f   document the whole document (insert and replace), when it is stored inline and no chunk
 *   r   int64    record id and s int64 sequence instead of f, when it lies in a segment: it is not
 *                copied, and an event shows it only as long as that version exists
 *   h   int64    checksum of the document instead of s: a chunk that is stored inline
 *   x   document {updatedFields, removedFields, truncatedArrays, disambiguatedPaths?} (update)
 *   b   document the whole document as it was before (update, replace, delete), when the collection
 *                keeps images; an update then has f, too.  Of a modification: {collectionOptions}
 *   e   document what was done, as change streams tell it (create, indexes, modify, rename)
 *   td  string   new database and tc string new collection (rename)
 *
 * The entry's time is its key in the engine. */

#include "bson/builder.h"
#include "store/embedded/kit/embedded.h"

enum ash_change_kind {
    ASH_CHANGE_NOTHING = 0,
    ASH_CHANGE_INSERT = 1,
    ASH_CHANGE_UPDATE = 2,
    ASH_CHANGE_REPLACE = 3,
    ASH_CHANGE_DELETE = 4,
    ASH_CHANGE_DROP = 5,
    ASH_CHANGE_RENAME = 6,
    ASH_CHANGE_DROP_DATABASE = 7,
    ASH_CHANGE_CREATE = 8,
    ASH_CHANGE_CREATE_INDEXES = 9,
    ASH_CHANGE_DROP_INDEXES = 10,
    ASH_CHANGE_MODIFY = 11
};

typedef struct ash_change {
    enum ash_change_kind kind;
    const char *db;
    const ash_coll *coll; /* NULL for a dropped database */
    ash_value id;
    ash_doc doc;  /* insert and replace: as written */
    uint64_t rid; /* its record */
    ash_doc changes;
    ash_doc before;  /* image of the document before; data NULL: not kept */
    ash_doc after;   /* image after, of an update */
    ash_doc details; /* what was done to the collection */
    const char *to_db;
    const char *to_coll;
} ash_change;

/* An entry that tells of nothing: {o: 0, w}. */
int ash__oplog_write_mark(ash_writer *w, ash_error *err);

int ash__oplog_write(ash_writer *w, const ash_change *change, ash_error *err);

/* Create a collection that is not there, and say so.  options may be NULL. */
int ash__oplog_create(ash_writer *w, ash_ns ns, const bson_t *options, const ash_coll **out,
                      ash_error *err);

/* kind: of indexes, to tell of one. */
int ash__oplog_write_index(ash_writer *w, enum ash_change_kind kind, const ash_coll *c,
                           const ash_index *index, ash_error *err);

#endif
