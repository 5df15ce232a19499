/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_ENGINE_SALVAGE_SALVAGE_H
#define ASH_ENGINE_SALVAGE_SALVAGE_H

/* A tolerant reader of a store, for what `check` calls damaged: superblock, LMDB's pages and
 * segments' headers may be broken, files may be missing or cut off.  Rows and payloads prove
 * themselves by their checksums.  Nothing in the folder is changed or made.
 *
 * One thread. */

#include "base/buffer.h"
#include "engine/engine.h"

typedef struct ash_salvage ash_salvage;

typedef struct ash_salvage_coll {
    uint32_t id;
    char *db; /* NULL: the catalogue's row is lost, only records speak of it */
    char *name;
    bson_t *options;
    bson_t *indexes;      /* array of specifications, the one on _id too */
    bool described;       /* options and indexes are known */
    bool stray;           /* see ash_salvage_record */
    uint32_t chunk_index; /* the unique index on {files_id: 1, n: 1}; 0: there is none */
    uint64_t expected;    /* records, as the store counted; 0 when that is lost … */
    bool counted;         /* … and this is false */
} ash_salvage_coll;

typedef struct ash_salvage_record {
    uint64_t rid;    /* 0: not known */
    uint64_t offset; /* of the row in meta.mdb; 0: there is none, only a segment has the record */
    uint64_t change; /* not 0: the offset is in the journal, and this is the number of the change */
    uint32_t row_len;
    uint32_t coll_id;
    ash_pointer place; /* segment 0: inline */
    bool gone;         /* the engine's own: deleted by the journal */
    bool damaged;      /* the row has a wrong checksum */
    bool stray;        /* the row lies on a page that nothing leads to any more … */
    bool vacant; /* … and that is free: it is of a deleted document, or of a commit after the last
                    one that is known */
} ash_salvage_record;

/* ASH_ENOTFOUND: no such folder, or nothing of a store in it.  ASH_EBUSY: somebody has it open,
 * which is excluded until the close. ASH_EVERSION: the superblock is whole and of a later version.
 */
int ash__salvage_open(const char *folder, ash_salvage **out, ash_error *err);
void ash__salvage_close(ash_salvage *s);

const ash_salvage_coll *ash__salvage_colls(const ash_salvage *s, size_t *count); /* by id */
/* Of one collection, in the order of insertion; each rid once. */
const ash_salvage_record *ash__salvage_records(const ash_salvage *s, uint32_t coll_id,
                                               size_t *count);
/* Whole records in segments that no row points at, newest first: deleted ones, unfinished ones, and
 * those whose rows are lost.  All segments are read the first time. */
int ash__salvage_unclaimed(ash_salvage *s, uint32_t coll_id, const ash_salvage_record **out,
                           size_t *count, ash_error *err);
/* Collections that only unclaimed records speak of: ids, ascending; call it after the above. */
const uint32_t *ash__salvage_unclaimed_colls(const ash_salvage *s, size_t *count);

/* The record that the index of a collection of chunks names, or NULL: tells which chunk a record
 * was whose document cannot be read. */
const ash_salvage_record *ash__salvage_chunk_record(const ash_salvage *s,
                                                    const ash_salvage_coll *chunks,
                                                    ash_value files_id, int64_t n);

/* Give a collection whose name is lost one. */
void ash__salvage_name(ash_salvage *s, uint32_t coll_id, const char *db, const char *name);

/* The record's document into buf, checked by its checksum and its structure.  ASH_ECORRUPT,
 * ASH_EIO: *doc is then what could be read of it when its structure allows to look into it, else
 * empty. */
int ash__salvage_read(ash_salvage *s, const ash_salvage_record *r, ash_buffer *buf, ash_doc *doc,
                      ash_error *err);

uint64_t ash__salvage_broken_pages(const ash_salvage *s);
/* What is wrong with the journal of a store that was not closed, or NULL. */
const char *ash__salvage_journal_fault(const ash_salvage *s);
/* false: strays may be older than the last commit, so that something deleted can be among them. */
bool ash__salvage_certain(const ash_salvage *s);

#endif
