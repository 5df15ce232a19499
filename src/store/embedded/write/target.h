/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_WRITE_TARGET_H
#define ASH_STORE_EMBEDDED_WRITE_TARGET_H

#include "query/update/update.h"
#include "store/embedded/write/change.h"
#include "store/embedded/scan/plan.h"

/* What an update, remove or findAndModify is aimed at: its compiled filter and order, and the
 * update, if there is one.  Compiled before the writer is asked; on the writer, once more only when
 * the collection brings a collation. */
typedef struct ash_target_spec {
    ash_ns ns;
    const bson_t *filter;
    const bson_t *sort;
    const bson_t *projection;
    const bson_value_t *hint;
    const bson_t *collation;
    const bson_t *let;
    const bson_value_t *update; /* or NULL */
    const bson_t *array_filters;
    const ash_op *op;
} ash_target_spec;

typedef struct ash_target {
    ash_embedded *store;
    ash_target_spec spec;
    ash_env env;
    ash_request request;
    ash_update *update;
} ash_target;

/* Zero-initialise; release also after a failure. */
int ash__target_init(ash_target *t, ash_embedded *s, const ash_target_spec *spec, ash_error *err);
void ash__target_release(ash_target *t);

/* In a snapshot: *coll NULL when there is no such collection. Adopts its collation and plans. */
int ash__target_resolve(ash_target *t, ash_snapshot *snap, const ash_coll **coll, ash_error *err);

/* The first match in the target's order.  The target is resolved. */
int ash__target_first(ash_target *t, ash_snapshot *snap, const ash_coll *coll, ash_match *out,
                      ash_error *err);

/* All matches' record ids, so that the changes that follow cannot meet their own results. */
int ash__target_all(ash_target *t, ash_snapshot *snap, const ash_coll *coll, ash_rid_list *out,
                    ash_error *err);

/* Do an index's keys alone decide what matches?  The target is resolved. */
bool ash__target_is_by_keys(const ash_target *t);

/* Does the record still match? */
int ash__target_again(ash_target *t, ash_snapshot *snap, const ash_coll *coll, uint64_t rid,
                      ash_match *out, ash_error *err);

/* Insert what an upsert makes of filter and update.  after: the document. */
int ash__target_upsert(ash_target *t, ash_changer *c, ash_builder *after, ash_write_result *result,
                       ash_error *err);

/* Run fn for a write that changes at most one document: fn gets a changer and does its work; the
 * retry id is looked up before and the result stored after. */
typedef struct ash_single {
    ash_target *target;
    ash_write_result *result;
    /* coll NULL: there is no such collection. */
    int (*change)(struct ash_single *one, ash_changer *c, ash_error *err);
    /* findAndModify keeps its document with the result; may be NULL. */
    void (*encode)(struct ash_single *one, ash_builder *b);
    void (*decode)(struct ash_single *one, ash_doc stored);
    bool create; /* make a missing collection */
    int flags;   /* of the apply */
    void *ctx;

    /* The run's own.  A filter that no index serves is looked up on a snapshot first, so that the
     * writer need not read a whole collection. */
    bool look_ahead; /* the writer asks for it */
    bool looked;
    uint64_t candidate; /* the record found; 0: there was none */
} ash_single;
int ash__single_run(ash_single *one, ash_error *err);

/* For change: the first match, as ash__target_first, with the help of what was looked up. */
int ash__single_first(ash_single *one, ash_changer *c, ash_match *out, ash_error *err);

#endif
