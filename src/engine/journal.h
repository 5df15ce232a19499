/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_ENGINE_JOURNAL_H
#define ASH_ENGINE_JOURNAL_H

/* The file `journal`: changes that are durable before LMDB has them.
 *
 * A commit of LMDB costs two flushes, and changes some twenty pages for the smallest change.  So
 * when a change has to be durable, the writer writes what changed since the last flush as one
 * record here, syncs the file and answers; its LMDB transaction stays open and is committed when
 * somebody wants to read, a little later, or when this file is full.
 *
 * The file has a fixed size.  Zeros are written and synced ahead of the records, twice as far each
 * time that a record gets there, so that syncing one mostly changes nothing but the record's
 * blocks; what lies behind is a hole.  A clean end makes all behind the first block of records one
 * again.  Integers are little-endian.
 *
 *   block 0 (4,096 bytes)
 *     0  magic "ASHJRNL1"
 *     8  size of the file (8)
 *    16  store id (16)
 *    32  generation (8): random; the row "journal" in `meta` has the same
 *    40  zeros
 *  4088  XXH3-64 of bytes 0..4087
 *
 *   then records, each at a multiple of 512, one behind the other
 *     0  magic "ASHREDO1"
 *     8  generation (8)
 *    16  base (8): number of the LMDB commit that the changes build upon
 *    24  ordinal (8): 0 for the first record of a base
 *    32  length of the changes (4), zeros (4)
 *    40  XXH3-64 of the changes
 *    48  zeros (8)
 *    56  XXH3-64 of bytes 0..55
 *    64  the changes, then zeros up to the next multiple of 512
 *
 *   a change: database (1; enum ash_database, 0x80 added: the row is deleted), length of the key
 *   (2), length of the value (4; 0 when deleted), key, value.
 *
 * A new file has one record, of base 0 and without changes: so that there always is one at offset
 * 4,096, whole or torn.
 *
 * The first record of a base is at offset 4,096 and overwrites those of the base before, which are
 * in LMDB by then.  What holds: the records that follow one another from offset 4,096 with the
 * right checksums, ordinals 0, 1, 2 … and the number of LMDB's newest commit as base.  A record is
 * written only after the one before it was synced; so a valid record behind an invalid one means
 * that the file was damaged; so does one of a base that LMDB does not have yet.  Everything else
 * behind the last valid one means nothing.
 *
 * Rules: a segment record is durable before the journal record that points at it.  A commit of LMDB
 * is fully durable before its journal is overwritten.  What a journal record frees is reused only
 * after LMDB's commit. */

#include "engine/internal.h"

#define ASH_JOURNAL_MAGIC "ASHJRNL1"
#define ASH_REDO_MAGIC    "ASHREDO1"

enum {
    ASH_JOURNAL_BYTES = 8 << 20,
    ASH_JOURNAL_FIRST = 4096, /* the first record's offset */
    ASH_JOURNAL_ALIGN = 512,
    ASH_JOURNAL_HEAD = 64,     /* of a record */
    ASH_REDO_DELETE = 0x80,    /* in a change's first byte */
    ASH_REDO_MAX = 1 << 20,    /* more changes than that go to LMDB at once */
    ASH_REDO_HEAD = 1 + 2 + 4, /* of a change */
    ASH_JOURNAL_AFTER = 16     /* commits that somebody waited for, before a store gets one */
};

/* ---- the file ---- */

/* Make the file anew, with nothing in it, and use it; the generation is the journal's.  Nothing
 * may depend on the old one.  A failure leaves that as it is. */
int ash__journal_make(ash_engine *e, ash_error *err);
/* Go on with the file that is there. */
int ash__journal_use(ash_engine *e, ash_error *err);
/* One more record, durable when this returns 0.  ASH_ENOSPC: it does not fit, nothing was written.
 * Any other failure: it may or may not be there; the journal is not used any more in this run. */
int ash__journal_append(ash_journal *j, uint64_t base, const uint8_t *changes, size_t len,
                        ash_error *err);
/* After a clean end, when LMDB has all that is in it: it takes no more room than two blocks.  A
 * failure means just that it does. */
void ash__journal_give_back(ash_journal *j);
void ash__journal_close(ash_journal *j);
bool ash__journal_is_usable(const ash_journal *j);

/* What a journal's bytes say. */
enum ash_journal_state {
    ASH_JOURNAL_MISSING,
    ASH_JOURNAL_BROKEN,  /* no header; the records may be good */
    ASH_JOURNAL_FOREIGN, /* of another store, or of this one's past */
    ASH_JOURNAL_GOOD
};
typedef struct ash_journal_image {
    enum ash_journal_state state;
    bool is_short;  /* not of the size it should have */
    uint8_t *bytes; /* all of it; NULL: it cannot be read */
    size_t len;
    uint64_t generation; /* of the header */
} ash_journal_image;
/* store_id NULL: any. */
int ash__journal_load(const char *folder, const uint8_t store_id[16], ash_journal_image *out,
                      ash_error *err);
void ash__journal_image_release(ash_journal_image *image);
/* Changes of the next record from *at on (begin with 0), or false.  *damaged: there was a record
 * and it is broken.  *base: of the record; of the first one when ordinal is 0. */
typedef struct ash_journal_cursor {
    uint64_t generation;
    uint64_t base;
    uint64_t ordinal; /* of the next record */
    size_t at;        /* 0: before the first */
} ash_journal_cursor;
bool ash__journal_next(const ash_journal_image *image, ash_journal_cursor *c, ash_doc *changes);
/* After the last: on to a later whole record of the same base, where there is one.  Then those
 * between are lost. */
bool ash__journal_skip(const ash_journal_image *image, ash_journal_cursor *c);
/* The newest base of the whole records of a generation, 0: there are none. */
uint64_t ash__journal_newest(const ash_journal_image *image, uint64_t generation);
/* Of a store that was not closed: can everything that was acknowledged be in the file?
 * ASH_ECORRUPT: no, the text says what is wrong with it.  What is torn at the end is none of that:
 * a write that nobody was told of looks the same. */
int ash__journal_judge(const ash_journal_image *image, uint64_t generation, uint64_t base,
                       ash_error *err);

/* ---- when a store is opened, and for its first journal: journal_open.c ---- */

/* Carry over what a run that did not end well left.  ASH_ECORRUPT: acknowledged changes are out of
 * reach, and nothing was changed.  ASH_ENOSPC: they do not fit, nothing was changed.  With
 * read_only nothing is changed: *pending tells that there is something. */
int ash__journal_recover(ash_engine *e, bool *pending, ash_error *err);
/* When the superblock promises a journal: does the file have this store's header and size? */
bool ash__journal_check(const ash_engine *e);
/* Is there room for the commit that has to follow what the journal answers for? */
bool ash__journal_has_room(const ash_engine *e);
/* From now on the store has one: the file, its row in `meta`, the superblock's version.  Between
 * batches, on the writer's thread. */
void ash__journal_introduce(ash_writer *w);

/* ---- redo.c: changes as bytes ---- */

typedef struct ash_redo_change {
    enum ash_database db;
    bool is_delete;
    ash_doc key;
    ash_doc value;
} ash_redo_change;
/* false at the end, or when the bytes are damaged (then *at is not len). */
bool ash__redo_next(ash_doc changes, size_t *at, ash_redo_change *out);
int ash__redo_apply(ash_engine *e, MDB_txn *txn, ash_doc changes, ash_error *err);

#endif
