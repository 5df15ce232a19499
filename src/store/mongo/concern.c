/* SPDX-License-Identifier: Apache-2.0 */
/* Read preferences as a caller writes them, made the driver's. */

#include "store/mongo/driver.h"

#include "base/error.h"
#include "base/mem.h"

#include <string.h>

static bool parse_mode(const char *name, mongoc_read_mode_t *mode)
{
    static const struct {
        const char *name;
        mongoc_read_mode_t mode;
    } modes[] = {{"primary", MONGOC_READ_PRIMARY},
                 {"primaryPreferred", MONGOC_READ_PRIMARY_PREFERRED},
                 {"secondary", MONGOC_READ_SECONDARY},
                 {"secondaryPreferred", MONGOC_READ_SECONDARY_PREFERRED},
                 {"nearest", MONGOC_READ_NEAREST}};
    for (size_t i = 0; i < ASH_ARRAY_LEN(modes); i++) {
        if (strcmp(name, modes[i].name) == 0) {
            *mode = modes[i].mode;
            return true;
        }
    }
    return false;
}

static mongoc_read_prefs_t *build_prefs(const bson_t *doc, mongoc_read_mode_t mode)
{
    bson_iter_t it;
    mongoc_read_prefs_t *prefs = mongoc_read_prefs_new(mode);
    if (bson_iter_init_find(&it, doc, "tags") && BSON_ITER_HOLDS_ARRAY(&it)) {
        const uint8_t *data;
        uint32_t len;
        bson_t tags;
        bson_iter_array(&it, &len, &data);
        /* The driver checks the rest: is_valid below. */
        if (bson_init_static(&tags, data, len))
            mongoc_read_prefs_set_tags(prefs, &tags);
    }
    if (bson_iter_init_find(&it, doc, "maxStalenessSeconds"))
        mongoc_read_prefs_set_max_staleness_seconds(prefs, bson_iter_as_int64(&it));
    return prefs;
}

/* A transaction has its concern and its server from its start. */
int ash__mongo_call_reads(ash_mongo_call *call, mongoc_read_prefs_t **prefs, ash_error *err)
{
    bson_iter_t it;
    mongoc_read_mode_t mode;
    const bson_t *wanted = call->op->read_preference;
    *prefs = NULL;
    if (call->transaction != NULL)
        return 0;
    ash__mongo_add_doc(&call->opts, "readConcern", call->op->read_concern);
    if (wanted == NULL)
        return 0;
    if (!bson_iter_init_find(&it, wanted, "mode") || !BSON_ITER_HOLDS_UTF8(&it))
        return ash__fail(err, ASH_EINVAL, "read preference has no mode");
    if (!parse_mode(bson_iter_utf8(&it, NULL), &mode))
        return ash__fail(err, ASH_EINVAL, "read preference has the unknown mode %.40s",
                         bson_iter_utf8(&it, NULL));
    *prefs = build_prefs(wanted, mode);
    if (mongoc_read_prefs_is_valid(*prefs))
        return 0;
    mongoc_read_prefs_destroy(*prefs);
    *prefs = NULL;
    return ash__fail(err, ASH_EINVAL, "read preference is not valid");
}
