/* SPDX-License-Identifier: Apache-2.0 */
/* Finding files, less those whose time is over. */
#include "base/options.h"
#include "bucket/file.h"

static int check_options(const ash_bucket_find_options *o, ash_error *err)
{
    if (o->batch_size < 0)
        return ash__fail(err, ASH_EINVAL, "batch size is negative");
    if (o->skip < 0)
        return ash__fail(err, ASH_EINVAL, "skip is negative");
    if (o->limit < 0)
        return ash__fail(err, ASH_EINVAL, "limit is negative");
    if (o->max_time_ms < 0)
        return ash__fail(err, ASH_EINVAL, "max_time_ms is negative");
    return 0;
}

/* What has expired is not there.  A filter that speaks of that itself keeps its own condition. */
static void only_living(const bson_t *filter, bson_t *out)
{
    if (filter == NULL || !bson_has_field(filter, ASH_FIELD_EXPIRES)) {
        if (filter != NULL)
            bson_concat(out, filter);
        ash__filter_living(out);
        return;
    }
    bson_t living = BSON_INITIALIZER;
    ash__filter_living(&living);
    BCON_APPEND(out, "$and", "[", BCON_DOCUMENT(filter), BCON_DOCUMENT(&living), "]");
    bson_destroy(&living);
}

/* § Generic Find: the filter is not looked at. */
int ash_bucket_find(ash_bucket *b, const bson_t *filter, const ash_bucket_find_options *opts,
                    ash_cursor **out, ash_error *err)
{
    ash_bucket_find_options o;
    bson_t living = BSON_INITIALIZER;
    *out = NULL;
    int rc = ash__options_copy(&o, sizeof o, opts, err);
    if (rc == 0)
        rc = check_options(&o, err);
    if (rc == 0)
        rc = ash__bucket_transaction_check(b, o.transaction, err);
    if (rc != 0)
        return rc;
    ash_work work = ash__work(b, ash__bucket_deadline(b, o.max_time_ms));
    work.transaction = o.transaction;
    ash_find_options f = ash__work_find_options(&work);
    f.allow_disk_use = o.allow_disk_use;
    f.batch_size = o.batch_size;
    f.limit = o.limit;
    f.no_cursor_timeout = o.no_cursor_timeout;
    f.past_damage = true;
    f.skip = o.skip;
    f.sort = o.sort;
    only_living(filter, &living);
    rc = ash_collection_find(b->files, &living, &f, out, err);
    bson_destroy(&living);
    return rc;
}
