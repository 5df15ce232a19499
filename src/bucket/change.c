/* SPDX-License-Identifier: Apache-2.0 */
/* Options of a change, checked and copied, and what is said when the filter found nothing. */
#include "bucket/condition.h"

#include "base/mem.h"
#include "base/options.h"
#include "bucket/file.h"

int ash__change_init(ash_bucket *b, const ash_change_options *opts, ash_change *out, ash_error *err)
{
    ash_change_options o;
    ash_commit_manner manner = {.transactions = true};
    *out = (ash_change){.work = {.bucket = b}};
    int rc = ash__options_copy(&o, sizeof o, opts, err);
    if (rc == 0 && o.timeout_ms < 0)
        rc = ash__fail(err, ASH_EINVAL, "timeout is negative");
    if (rc == 0)
        rc = ash__bucket_transaction_check(b, o.transaction, err);
    /* Without transactions a change under a fence is one update that is filtered by its mark
     * (intent.h): the filter would have been looked at before, not then. */
    if (rc == 0 && o.fence != NULL && o.only_if != NULL)
        rc = ash__bucket_manner(b, &manner, err);
    if (rc == 0 && !manner.transactions)
        rc = ash__fail(err, ASH_EUNSUPPORTED,
                       "a fence and a filter together need transactions, which this store lacks");
    if (rc != 0)
        return rc;
    out->work.deadline_ms = ash__bucket_deadline(b, o.timeout_ms);
    out->work.transaction = o.transaction;
    out->only_if = o.only_if;
    out->if_name_absent = o.if_name_absent;
    return ash__fence_copy(b, o.fence, &out->fence, err);
}

void ash__change_release(ash_change *c)
{
    ash__fence_release(&c->fence);
}

int ash__change_refuse_filter(const ash_change *c, ash_error *err)
{
    if (c->only_if == NULL)
        return 0;
    return ash__fail(err, ASH_EINVAL, "only_if is for changes of one file by its id");
}

int ash__change_refuse_all(const ash_change *c, ash_error *err)
{
    if (c->work.transaction != NULL)
        return ash__fail(err, ASH_ESTATE, "this cannot be part of a transaction");
    return ash__change_refuse_filter(c, err);
}

/* Operators of the filter stay below a field of their own, so that none meets one of the id's. */
void ash__change_filter(const ash_change *c, const bson_value_t *id, bson_t *filter)
{
    ash__filter_id(filter, "_id", id);
    if (c->only_if == NULL)
        return;
    BCON_APPEND(filter, "$and", "[", BCON_DOCUMENT(c->only_if), "]");
}

int ash__change_check_unmatched(const ash_work *work, const ash_change *c, const bson_value_t *id,
                                ash_error *err)
{
    bool exists = false;
    if (c->only_if == NULL)
        return 0;
    int rc = ash__file_exists(work, id, &exists, err);
    if (rc != 0 || !exists)
        return rc;
    char *text = ash__id_text(id);
    rc = ash__fail(err, ASH_ECONDITION, "file with the id %s is not as it was to be", text);
    ash__free(text);
    return rc;
}
