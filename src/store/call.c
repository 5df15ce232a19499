/* SPDX-License-Identifier: Apache-2.0 */
#include "store/call.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"

const bson_t ash__bson_empty = BSON_INITIALIZER;

int64_t ash_deadline(int64_t timeout_ms)
{
    return ash__clock_deadline(timeout_ms);
}

const ash_op *ash__op_or_default(const ash_op *op)
{
    static const ash_op none;
    return op != NULL ? op : &none;
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
    int result = op->transaction == NULL ? ash__call_outside(store, err) : 0;
    return result != 0 ? result : ash__op_check(op, err);
}

int ash__call_write(const ash_store *store, const ash_op *op, ash_error *err)
{
    if (op->at_time != 0)
        return ash__fail_server(err, ASH_EINVAL, 72, "a held state is for reading only");
    if (store->read_only)
        return ash__fail(err, ASH_EREADONLY, "store is open for reading only");
    return ash__call_read(store, op, err);
}

int ash__call_db(const ash_store *store, const char *db, const char **out, ash_error *err)
{
    *out = db != NULL ? db : store->default_db;
    return ash__namespace_check(*out, NULL, err);
}
