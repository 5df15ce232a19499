/* SPDX-License-Identifier: Apache-2.0 */
/* Looking after locks from outside. */
#include "lock/lock.h"

#include "base/mem.h"

#include <string.h>

static const char shape[] =
    "{'stages': [{'$project': {'_id': 0,"
    " 'id': '$files_id',"
    " 'state': {'$cond': ['$write_lock', 'write',"
    "   {'$cond': [{'$gt': ['$read_locks', 0]}, 'read', 'free']}]},"
    " 'expired': {'$and': [{'$or': ['$write_lock', {'$gt': ['$read_locks', 0]}]},"
    "   {'$lt': ['$expires', '$$NOW']}]},"
    " 'readers': '$read_locks',"
    " 'write_requested': '$write_req',"
    " 'holders': {'$filter': {'input': {'$ifNull': ['$holders', []]}, 'as': 'x', 'cond': {'$and': ["
    "   {'$eq': ['$$x.w', '$writes']},"
    "   {'$eq': [{'$eq': ['$$x.mode', 'write']}, '$write_lock']}]}}},"
    " 'waiters': {'$filter': {'input': {'$ifNull': ['$waiters', []]}, 'as': 'x',"
    "   'cond': {'$gte': ['$$x.exp', '$$NOW']}}},"
    " 'since': '$last.at',"
    " 'expires': '$expires',"
    " 'meta': '$meta',"
    " 'reads': '$reads',"
    " 'writes': '$writes',"
    " 'token': {'$add': ['$base', '$reads', '$writes']},"
    " 'broken': '$broken'}},"
    "{'$addFields': {'foreign_readers': {'$cond': [{'$eq': ['$state', 'read']}, {'$max': [0,"
    "   {'$subtract': ['$readers', {'$sum': '$holders.n'}]}]}, 0]}}}]}";

static void append_stages(bson_t *pipeline, const bson_t *parsed, uint32_t n)
{
    bson_iter_t iter, stages;
    char name[16];
    if (!bson_iter_init_find(&iter, parsed, "stages") || !bson_iter_recurse(&iter, &stages))
        return;
    while (bson_iter_next(&stages)) {
        const char *key;
        size_t len = bson_uint32_to_string(n++, &key, name, sizeof name);
        bson_append_iter(pipeline, key, (int)len, &stages);
    }
}

int ash_lock_list(ash_lock_collection *c, const bson_t *filter, ash_cursor **out, ash_error *err)
{
    bson_t pipeline = BSON_INITIALIZER, parsed, all = BSON_INITIALIZER;
    ash_aggregate_options o = ASH_AGGREGATE_OPTIONS_INIT;
    int rc = ash__lock_parse(shape, &parsed, err);
    if (rc != 0)
        return rc;
    BCON_APPEND(&pipeline, "0", "{", "$match", BCON_DOCUMENT(filter != NULL ? filter : &all), "}");
    append_stages(&pipeline, &parsed, 1);
    /* The match comes first, so that an index can serve it. */
    rc = ash_collection_aggregate(c->locks, &pipeline, &o, out, err);
    bson_destroy(&parsed);
    bson_destroy(&pipeline);
    return rc;
}

int ash_lock_break(ash_lock_collection *c, const bson_value_t *id, const char *reason,
                   ash_error *err)
{
    bson_t filter = BSON_INITIALIZER, doc;
    bool found = false;
    if (reason == NULL || reason[0] == 0 || !bson_utf8_validate(reason, strlen(reason), false)) {
        bson_destroy(&filter);
        return ash__fail(err, ASH_EINVAL, "breaking a lock needs a reason, in UTF-8");
    }
    bson_t *q = ash__lock_parameters(c, NULL);
    const ash_lock_move move = {ASH_LOCK_BREAK, &filter, q, false};
    BSON_APPEND_UTF8(q, "reason", reason);
    ash__lock_filter_id(&filter, "files_id", id);
    int rc = ash__lock_change(c, &move, &doc, &found, err);
    bson_destroy(&filter);
    bson_destroy(q);
    if (rc != 0)
        return rc;
    bson_destroy(&doc);
    return found ? 0 : ash__fail(err, ASH_ENOTFOUND, "no lock is known for this id");
}
