/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_ENGINE_CHECK_INTERNAL_H
#define ASH_ENGINE_CHECK_INTERNAL_H

/* The check runs in child processes, one a stage, whose end amid its work shall be a finding.  A
 * child sends findings {text, facts}, progress {what, done, total} and, last, its numbers.
 * Invariants are numbered as in docs/FORMAT.md. */

#include "bson/builder.h"
#include "engine/check/check.h"
#include "engine/check/child.h"

typedef struct ash_check {
    ash_engine *engine;
    ash_snapshot *snap;
    const ash_check_options *opts;
    ash_check_report report; /* of this stage */
    const ash_child *child;

    /* Stage "documents": blocks of segments that records own, in the layout of the block maps. */
    uint8_t **owned; /* by segment id */
    uint32_t owned_count;
    uint8_t *indexes; /* a bit for each index id in the catalogue */
    size_t indexes_bytes;
} ash_check;

typedef int (*ash_check_stage)(ash_check *k, int argument, ash_error *err);

/* facts: consumed, or NULL; `kind` and `invariant` are added. */
void ash__check_found(ash_check *k, int invariant, const char *kind, ash_builder *facts,
                      const char *format, ...) __attribute__((format(printf, 5, 6)));
void ash__check_progress(ash_check *k, const char *what, uint64_t done, uint64_t total);
/* A document of facts that is not ended yet, for ash__check_found. */
ash_builder *ash__check_facts(void);
ash_builder *ash__check_coll_facts(const ash_coll *c);

/* check_meta.c */
int ash__check_pages(ash_check *k, int database, ash_error *err);
int ash__check_catalog(ash_check *k, int argument, ash_error *err);
int ash__check_logs(ash_check *k, int argument, ash_error *err);
bool ash__check_is_dropped(ash_check *k, char letter, uint32_t id);

/* check_docs.c */
int ash__check_documents(ash_check *k, int argument, ash_error *err);
/* check_index.c: entries of all indexes of a collection; expected: how many each must have. */
int ash__check_indexes(ash_check *k, const ash_coll *c, const uint64_t *expected, ash_error *err);
int ash__check_strays(ash_check *k, enum ash_database db, ash_error *err);

/* check_space.c */
bool ash__check_own(ash_check *k, const ash_pointer *place); /* false: a block is taken twice */
int ash__check_space(ash_check *k, ash_error *err);

#endif
