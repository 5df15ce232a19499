/* SPDX-License-Identifier: Apache-2.0 */
#include "store/embedded/slots.h"

#include "base/error.h"

int ash__embedded_aggregate(ash_store *store, const char *db, const char *coll,
                            const bson_t *pipeline, const ash_aggregate_options *opts,
                            ash_cursor **out, ash_error *err)
{
    (void)store, (void)db, (void)coll, (void)pipeline, (void)opts, (void)out;
    return ash__fail(err, ASH_EUNSUPPORTED, "aggregation is not available in this version");
}

int ash__embedded_watch(ash_store *store, const char *db, const char *coll,
                        const ash_watch_options *opts, ash_cursor **out, ash_error *err)
{
    (void)store, (void)db, (void)coll, (void)opts, (void)out;
    return ash__fail(err, ASH_EUNSUPPORTED, "change streams are not available in this version");
}

int ash__embedded_explain(ash_store *store, const char *db, const char *coll, const bson_t *command,
                          const char *verbosity, const ash_op *op, bson_t *out, ash_error *err)
{
    (void)store, (void)db, (void)coll, (void)command, (void)verbosity, (void)op, (void)out;
    return ash__fail(err, ASH_EUNSUPPORTED, "explain is not available in this version");
}
