/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_CMD_COPY_BUCKETS_H
#define ASH_CMD_COPY_BUCKETS_H

#include "cmd/copy/owned.h"

/* Buckets from one store to another, file by file, by several threads.  What is there already is
 * compared, so that a copy can be repeated. */

typedef struct ash_copy_buckets {
    const ash_cmd *cmd;
    ash_store *to;               /* NULL: a dry run whose target is yet to be made */
    const char *to_db;           /* NULL: that of the source */
    bool replace;                /* a file of the same id that differs */
    const ash_copy_owned *owned; /* by object stores, which go by themselves; or NULL */
    bool whole_only;             /* NAME.files without NAME.chunks is a collection like others */
    ash_progress *progress;
    int64_t total_bytes, total_files; /* what there is to do */
    int64_t copied, present, failed, bytes;
} ash_copy_buckets;

/* Adds what there is to do to the totals. */
int ash__copy_buckets_count(ash_copy_buckets *b, const ash_cmd *from, ash_store *store,
                            ash_error *err);
/* Trouble with a file is reported and counted in `failed`; what ends everything is returned. */
int ash__copy_buckets(ash_copy_buckets *b, const ash_cmd *from, ash_store *store, ash_error *err);

#endif
