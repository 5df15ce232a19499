/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_ENGINE_BACKUP_H
#define ASH_ENGINE_BACKUP_H

/* A copy of a live store in another folder.
 *
 * 1. While it runs, nothing that was in use when it began is reused: the engine's backup_txn counts
 *    as a reader of that moment.  (A snapshot would do the same, but keep LMDB from reusing pages.)
 * 2. The metadata is copied by LMDB, at one moment after that; so every record that the copy points
 *    at stays where it is until the end.  Pages keep their numbers, and those that are in the
 * target already are not written.
 * 3. Records are copied to the same segment and block.  One whose header is in the target already
 *    (with its sequence, place and checksum) is there: sequences are never given twice.
 * 4. From its first change to its end, the target has the file `ashlar.backup` (the store's id) and
 *    no superblock, so that it does not open half copied.  A backup that finds that file trusts no
 *    payload there before it has compared its checksum, and writes all metadata. */

#include "engine/internal.h"

#define ASH_BACKUP_MARK "ashlar.backup"

typedef struct ash_backup {
    ash_engine *engine;
    const ash_backup_options *opts;
    ash_backup_report *report;
    char *folder;
    char *segments; /* folder of them, in the target */
    int lock_fd;
    bool trusts; /* headers in the target stand for their payloads */

    /* The copied metadata. */
    MDB_env *env;
    MDB_txn *txn;
    uint64_t total_bytes; /* blocks in use */
    uint64_t done_bytes;

    /* The file of the target that is being written to. */
    uint32_t segment; /* 0: it is no segment */
    int fd;
    uint8_t *touched; /* one byte a segment id: to be synced */
    uint32_t touched_count;
    uint8_t *buf; /* of one record */
} ash_backup;

/* backup_target.c: the folder. */
int ash__backup_open_target(ash_backup *b, ash_error *err);
int ash__backup_finish_target(ash_backup *b, ash_error *err); /* it opens from now on */
int ash__backup_end_mark(ash_backup *b, ash_error *err);      /* and may be trusted */
void ash__backup_spoil_target(ash_backup *b);                 /* it does not open again */

/* backup_meta.c: meta.mdb, written in place; then open for the walks over it. */
int ash__backup_meta(ash_backup *b, ash_error *err);
int ash__backup_open_meta(ash_backup *b, ash_error *err);
void ash__backup_close_meta(ash_backup *b);

/* backup.c: tell how far it is.  Fails when the user has had enough.  total 0: not known. */
int ash__backup_progress(const ash_backup *b, const char *what, uint64_t done, uint64_t total,
                         ash_error *err);

/* backup_records.c: everything that the copied metadata points at. */
int ash__backup_records(ash_backup *b, ash_error *err);

#endif
