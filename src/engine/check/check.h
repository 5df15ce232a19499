/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_ENGINE_CHECK_CHECK_H
#define ASH_ENGINE_CHECK_CHECK_H

/* Looking for damage in a store that is open. */

#include "engine/engine.h"

/* Walk every invariant (docs/FORMAT.md numbers them): superblock, LMDB's pages (in a child
 * process), records against checksums, indexes against documents and back, pointers against
 * segments, block maps against both, counts.  payloads: also read every payload.  finding is called
 * for each defect with a line and its facts
 * ({kind, db, collection, rid, index, segment, offset, document …}; document: what a damaged one
 * still says in its small fields, which may be damaged too). */
typedef struct ash_check_options {
    bool payloads;
    bool (*progress)(void *ctx, const char *what, int64_t done, int64_t total);
    void (*finding)(void *ctx, const char *text, const bson_t *facts);
    void *ctx;
} ash_check_options;
typedef struct ash_check_report {
    uint64_t collections, records, index_keys, payload_bytes, findings;
} ash_check_report;
int ash__engine_check(ash_engine *e, const ash_check_options *opts, ash_check_report *out,
                      ash_error *err);

/* Look something up in a store that may be damaged, which may end a process: look runs in a child
 * process, with a snapshot, and what it tells arrives at take (false stops it: ASH_EINTERRUPTED).
 * *through: look returned; the damage did not end it. */
typedef struct ash_probe ash_probe;
typedef struct ash_probe_fns {
    void (*look)(ash_probe *p, ash_snapshot *snap, void *ctx);
    bool (*take)(void *ctx, const bson_t *doc);
    void *ctx;
} ash_probe_fns;
int ash__engine_probe(ash_engine *e, const ash_probe_fns *fns, bool *through, ash_error *err);
void ash__probe_tell(ash_probe *p, const bson_t *doc); /* of look: at most 1 MiB */

#endif
