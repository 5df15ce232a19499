/* SPDX-License-Identifier: Apache-2.0 */
/* What comes before every slot: a caller's options in today's size, the op's limits, and whether
 * this thread may ask for the thing at all. */

#include "store/call.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/options.h"

#include <string.h>

const bson_t ash__bson_empty = BSON_INITIALIZER;

int64_t ash_deadline(int64_t timeout_ms)
{
    return ash__clock_deadline(timeout_ms);
}

static int copy_op(ash_op *ours, const ash_op *theirs, ash_error *err)
{
    return ash__options_copy(ours, sizeof *ours, theirs, err);
}

/* The caller's op begins where its own fields end, which its size tells. */
int ash__op_options_copy(void *ours, size_t own_bytes, const void *theirs, ash_error *err)
{
    ash_op *op = (ash_op *)((uint8_t *)ours + own_bytes);
    size_t size = own_bytes;
    if (theirs != NULL)
        memcpy(&size, theirs, sizeof size);
    /* No version had a struct of that size; its op would be read at an address that it cannot have.
     */
    if (size % _Alignof(ash_op) != 0)
        return ash__fail(err, ASH_EINVAL, "options struct was not initialised (size %zu)", size);
    int rc = ash__options_copy(ours, own_bytes, theirs, err);
    if (rc != 0)
        return rc;
    return copy_op(op, theirs == NULL ? NULL : (const ash_op *)((const uint8_t *)theirs + size),
                   err);
}

ash_op ash__op_of(const ash_op *op)
{
    ash_op copy = ASH_OP_INIT;
    if (op != NULL)
        (void)ash__options_copy(&copy, sizeof copy, op, NULL);
    return copy;
}

int ash__op_check(const ash_op *op, ash_error *err)
{
    if (ash__is_cancelled(op->cancel))
        return ash__fail(err, ASH_EINTERRUPTED, "operation was interrupted");
    if (op->deadline_ms != 0 && ash__clock_ms() >= op->deadline_ms)
        return ash__fail(err, ASH_ETIMEOUT, "operation exceeded time limit");
    return 0;
}

int ash__call_read(const ash_store *store, const ash_op *op, ash_error *err)
{
    ash_assert(store != NULL);
    ash_assert(op->transaction == NULL || op->transaction->store == store);
    /* What names no transaction is beside it, and would wait for the writer that this thread has.
     */
    int rc = op->transaction == NULL ? ash__call_outside(store, err) : 0;
    return rc != 0 ? rc : ash__op_check(op, err);
}

int ash__call_write(const ash_store *store, const ash_op *op, ash_error *err)
{
    if (op->at_time != 0)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_OPTIONS,
                                "a held snapshot is for reading only");
    if (store->read_only)
        return ash__fail(err, ASH_EREADONLY, "store is open for reading only");
    return ash__call_read(store, op, err);
}

int ash__call_read_op(const ash_store *store, const ash_op *op, ash_op *ours, ash_error *err)
{
    int rc = copy_op(ours, op, err);
    return rc == 0 ? ash__call_read(store, ours, err) : rc;
}

int ash__call_write_op(const ash_store *store, const ash_op *op, ash_op *ours, ash_error *err)
{
    int rc = copy_op(ours, op, err);
    return rc == 0 ? ash__call_write(store, ours, err) : rc;
}

int ash__call_db(const ash_store *store, const char *db, const char **out, ash_error *err)
{
    *out = db != NULL ? db : store->default_db;
    return ash__namespace_check(*out, NULL, err);
}
