/* SPDX-License-Identifier: Apache-2.0 */
#include "store/call.h"

#include "base/error.h"

int ash_store_transact(ash_store *store, ash_transact_fn fn, void *ctx, const ash_op *op,
                       ash_error *err)
{
    const ash_op *o = ash__op_or_default(op);
    int result = ash__call_read(store, o, err);
    if (result != 0)
        return result;
    if (o->transaction != NULL)
        return ash__fail(err, ASH_ESTATE, "transactions do not nest");
    return store->ops->transact(store, fn, ctx, o, err);
}
