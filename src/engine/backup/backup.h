/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_ENGINE_BACKUP_BACKUP_H
#define ASH_ENGINE_BACKUP_BACKUP_H

/* Backups: copies of a store that is in use, each a store of its own. */

#include "engine/engine.h"

/* Copy the store, as it is at one moment, into a folder that is missing, empty, or holds an earlier
 * copy of it: then only what changed is written.  The copy is a store of its own, opened and
 * checked before this returns.  Others may read and write meanwhile; what they free is not reused
 * until the end, so the store may grow by as much.  After a failure the copy does not open, until a
 * later backup is through.  ASH_EEXISTS: something else is in the folder, or a copy that was
 * changed by itself or is of a later state (without opts->replace).  ASH_EBUSY: it is in use, or
 * another backup is running.  ASH_ECORRUPT: the store's metadata is damaged, and nothing was
 * written; with damaged > 0 payloads are, and everything that is whole was copied; else the copy
 * is. */
typedef struct ash_backup_options {
    bool verify;  /* read every payload of the copy */
    bool replace; /* also a copy that has changes of its own, or is of a later state */
    bool (*progress)(void *ctx, const char *what, int64_t done, int64_t total);
    void (*finding)(void *ctx, const char *text, const bson_t *facts); /* of the copy's check */
    void *ctx;
} ash_backup_options;
typedef struct ash_backup_report {
    uint64_t records, segments;
    uint64_t copied_records, copied_bytes; /* payloads that were not there yet */
    uint64_t meta_bytes;                   /* of the metadata, with all small documents */
    uint64_t copied_meta_bytes;            /* of them, what was not there yet */
    uint64_t damaged;                      /* records of the store that could not be copied */
    uint64_t findings;
} ash_backup_report;
int ash__engine_backup(ash_engine *e, const char *folder, const ash_backup_options *opts,
                       ash_backup_report *out, ash_error *err);

#endif
