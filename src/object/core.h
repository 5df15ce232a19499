/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_OBJECT_CORE_H
#define ASH_OBJECT_CORE_H

/* What the public functions share. */

#include "object/ops.h"
#include "store/ops.h"

/* ASH_EUNSUPPORTED unless `can`; what: names what the backend lacks. */
int ash__object_require(const ash_object_manager *m, bool can, const char *what, ash_error *err);
/* ASH_ESTATE: what cannot be part of a transaction. */
int ash__object_outside(const ash_op *op, ash_error *err);

/* Options in today's size, checked against what the manager can do. */
int ash__object_change_options_copy(const ash_object_store *s, ash_object_change_options *ours,
                                    const ash_object_change_options *theirs, ash_error *err);
int ash__object_meta_copy(const ash_object_store *s, ash_object_meta *ours,
                          const ash_object_meta *theirs, bool put, ash_error *err);

/* The object of a name, behind its links where `follow` says so.  *where: the store that has it, s
 * or one that was bound on the way, which *bound then is (else NULL): ash_object_store_close().
 * o: complete; `revision` counts for the first name alone. */
typedef struct ash_object_found {
    ash_object *object;
    ash_object_store *where, *bound;
} ash_object_found;
int ash__object_find(ash_object_store *s, const char *name, const ash_object_read_options *o,
                     const ash_op *op, ash_object_found *out, ash_error *err);
void ash__object_found_release(ash_object_found *f);

/* A listing to its end; stops where visit fails, and returns that. */
typedef int (*ash_object_visit)(void *ctx, const ash_object *o, ash_error *err);
int ash__object_each(ash_object_store *s, const ash_object_list_options *opts, const ash_op *op,
                     ash_object_visit visit, void *ctx, ash_error *err);

/* What is left to be read, in pieces of at most 1 MiB, none of them empty. */
int ash__object_read_all(ash_object_reader *r, const ash_output *to, ash_error *err);

#endif
