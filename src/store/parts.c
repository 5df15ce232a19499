/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a backend has parts is asked once, by take_parts; whoever was told no calls none of the
 * rest. */

#include "store/parts.h"

#include "base/mem.h"
#include "store/call.h"

bool ash__cursor_take_parts(ash_cursor *cursor)
{
    ash_assert(cursor->batch.count == 0);
    return cursor->ops->take_parts != NULL && cursor->ops->take_parts(cursor);
}

int ash__cursor_verify(ash_cursor *cursor, size_t index, size_t *from, size_t *to, ash_error *err)
{
    return cursor->ops->verify(cursor, index, from, to, err);
}

bool ash__cursor_lasts(ash_cursor *cursor, size_t index)
{
    return cursor->ops->lasts(cursor, index);
}

bool ash__cursor_seek(ash_cursor *cursor, size_t index)
{
    /* What ash_cursor_next has not given yet is of the old position. */
    cursor->batch = (ash_batch){0};
    cursor->batch_at = 0;
    ash__free(cursor->kept);
    cursor->kept = NULL;
    return cursor->ops->seek(cursor, index);
}

bool ash__store_moment(ash_store *store, uint64_t *out)
{
    return store->ops->moment != NULL && store->ops->moment(store, out);
}

bool ash__store_can_look(const ash_store *store)
{
    return store->ops->look != NULL;
}

int ash__store_look(ash_store *store, ash_transact_fn fn, void *ctx, const ash_op *op,
                    ash_error *err)
{
    int rc = op->transaction == NULL ? ash__call_outside(store, err) : 0;
    if (rc != 0)
        return rc;
    if (store->ops->look == NULL)
        return fn(NULL, ctx, err);
    return store->ops->look(store, fn, ctx, op, err);
}
