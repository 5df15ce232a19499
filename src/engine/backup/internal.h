/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_ENGINE_BACKUP_INTERNAL_H
#define ASH_ENGINE_BACKUP_INTERNAL_H

/* A copy of a live store in another folder.
 *
 * 1. The store's metadata is checked first: a damaged store never touches an earlier copy, and the
 *    walks over the copied pages below are over pages that were found whole.
 * 2. While the backup runs, nothing that was in use when it began is reused: the engine's
 *    backup_txn counts as a reader of that moment.  (A snapshot would do the same, but keep LMDB
 *    from reusing pages.)
 * 3. The metadata is copied from LMDB's file, at one moment after that; so every record that the
 *    copy points at stays where it is until the end.  Pages keep their numbers, and those that are
 *    in the target already are not written.
 * 4. Records are copied to the same segment and block.  One that the last backup noted there
 *    (`ashlar.copied`) and that has the same header (sequence, place, checksum) is there.  Of any
 *    other the payload is compared with its checksum: its header may have outlived it, when store
 *    and copy come from different pasts.
 * 5. From its first change to its end, the target has the file `ashlar.backup` (the store's id) and
 *    no superblock, so that it does not open half copied.  A backup that finds that file writes all
 *    metadata, and syncs every segment: what a killed backup wrote may be in memory only.  Where a
 *    sync fails, the file is cut to nothing, since its pages look written from then on.
 * 6. A target that was changed by itself since the last backup, or copied from a state that is not
 *    in the store's past, is left alone unless opts->replace says otherwise.  The numbers of
 *    commits tell, and the change log: as far back as it goes, the newest entry that was copied has
 *    to be in it. */

#include "engine/backup/backup.h"
#include "engine/internal.h"

#define ASH_BACKUP_STATE "ashlar.copied"

/* A segment file, by its id. */
typedef struct ash_backup_segment {
    const uint8_t *old; /* a bit a block: what the last backup noted; NULL: nothing is trusted */
    uint32_t old_blocks;
    uint32_t blocks;
    uint8_t *now; /* what this one notes; NULL: the store has no such segment */
    bool touched; /* to be synced */
} ash_backup_segment;

/* The newest entry of the change log. */
typedef struct ash_backup_log {
    uint64_t time; /* 0: there is none */
    uint64_t sum;
} ash_backup_log;

typedef struct ash_backup {
    ash_engine *engine;
    const ash_backup_options *opts;
    ash_backup_report *report;
    char *folder;
    char *segments; /* folder of them, in the target */
    ash_folder_lock lock;
    bool begun;  /* the target is no more what it was */
    bool trusts; /* what the last backup noted is there */

    ash_backup_segment *list;
    uint32_t segment_count;
    uint8_t *state; /* the file that the last backup left */
    size_t state_len;
    uint64_t last_commit;         /* of the store, which it copied */
    uint64_t last_own;            /* of the copy, when it was done */
    ash_backup_log last_log, log; /* then and now */
    uint64_t commit;              /* of the store, which this one copies */

    /* The copied metadata. */
    MDB_env *env;
    MDB_txn *txn;
    uint64_t total_bytes; /* blocks in use */
    uint64_t done_bytes;

    /* The file of the target that is being written to. */
    uint32_t segment; /* 0: it is no segment */
    int fd;
    uint8_t *buf; /* of one record */
} ash_backup;

/* backup_target.c: the folder. */
int ash__backup_open_target(ash_backup *b, ash_error *err);
int ash__backup_finish_target(ash_backup *b, ash_error *err);     /* it opens from now on */
int ash__backup_tidy_target(const ash_backup *b, ash_error *err); /* what only a store in use has */
int ash__backup_end_mark(ash_backup *b, ash_error *err);          /* and may be trusted */
void ash__backup_spoil_target(ash_backup *b);                     /* it does not open again */
/* The newest commit of the target's own metadata; 0: nothing tells. */
int ash__backup_target_commit(const ash_backup *b, uint64_t *commit, ash_error *err);
/* A file of the target that may be written in place.  One that other folders have too (hard links)
 * makes way for a new one, *fresh; a symbolic link is an error. */
int ash__backup_open_file(const char *path, int *fd, bool *fresh, ash_error *err);

/* backup_state.c: what lies where in a finished copy. */
/* *found false: there is none, or it is damaged. */
int ash__backup_load_state(ash_backup *b, bool *found, ash_error *err);
int ash__backup_save_state(const ash_backup *b, bool trusted, ash_error *err);
void ash__backup_release_state(ash_backup *b);
ash_backup_segment *ash__backup_segment(ash_backup *b, uint32_t id); /* valid until the next call */
void ash__backup_start_segment(ash_backup *b, uint32_t id, uint32_t blocks);
bool ash__backup_had(const ash_backup *b, uint32_t id, uint32_t block);
void ash__backup_note(ash_backup *b, uint32_t id, uint32_t block);

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
