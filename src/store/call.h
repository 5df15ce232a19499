/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_CALL_H
#define ASH_STORE_CALL_H

/* What the public functions do before they call a slot.  Private to src/store. */

#include "store/ops.h"

extern const bson_t ash__bson_empty;

/* A caller's options that end with an ash_op, or the defaults (NULL), in today's size.  own_bytes:
 * of ours, before the op.  ASH_EINVAL: they are not initialised, or ask for what this version does
 * not know. */
int ash__op_options_copy(void *ours, size_t own_bytes, const void *theirs, ash_error *err);

static inline const bson_t *ash__bson_or_empty(const bson_t *b)
{
    return b != NULL ? b : &ash__bson_empty;
}

/* Every operation starts here: op's cancel flag and deadline, its transaction is this store's, none
 * is left out of the one that this thread is in (ASH_ESTATE), and no writes (ASH_EREADONLY) to a
 * store that was opened for reading. */
int ash__call_read(const ash_store *store, const ash_op *op, ash_error *err);
int ash__call_write(const ash_store *store, const ash_op *op, ash_error *err);
/* The same for an op that comes from a caller; *ours is what goes on. */
int ash__call_read_op(const ash_store *store, const ash_op *op, ash_op *ours, ash_error *err);
int ash__call_write_op(const ash_store *store, const ash_op *op, ash_op *ours, ash_error *err);

/* ASH_ESTATE on a thread that runs a transaction of the store, which what is about to be done, by
 * itself, could wait for without end. */
int ash__call_outside(const ash_store *store, ash_error *err);

static inline ash_ns ash__ns_of(const ash_collection *c)
{
    return (ash_ns){c->db, c->name};
}

/* The name to use for db (NULL = the default), checked. */
int ash__call_db(const ash_store *store, const char *db, const char **out, ash_error *err);

#endif
