/* SPDX-License-Identifier: Apache-2.0 */
/* Indexes: the specs go to the store as they are, which knows what they may say. */
#include "wire/cmd.h"

#include "base/mem.h"

#include <string.h>

int ash__run_create_indexes(ash_command *c, ash_error *err)
{
    bson_t specs, reply;
    ash_collection *coll = NULL;
    if (ash__arg_bson(c, "indexes", &specs) == NULL)
        return ash__missing_argument(c, "indexes", err);
    if (bson_empty(&specs))
        return ash__fail(err, ASH_EINVAL, "Must specify at least one index to create");
    int rc = ash__command_collection(c, &coll, err);
    if (rc != 0)
        return rc;
    rc = ash_collection_create_indexes(coll, &specs, &c->op, &reply, err);
    ash_collection_free(coll);
    if (rc == 0) {
        ash__reply_fields(c, &reply);
        bson_destroy(&reply);
    }
    return rc;
}

int ash__run_list_indexes(ash_command *c, ash_error *err)
{
    ash_collection *coll = NULL;
    ash_cursor *cursor = NULL;
    int64_t batch_size = ash__listing_batch_size(c);
    int rc = ash__command_collection(c, &coll, err);
    if (rc != 0)
        return rc;
    rc = ash_collection_list_indexes(coll, &c->op, &cursor, err);
    ash_collection_free(coll);
    if (rc != 0)
        return rc;
    char *ns = ash__sprintf("%s.%s", c->db, c->coll);
    ash_first_batch how = {.ns = ns, .batch_size = batch_size};
    rc = ash__reply_first_batch(c, cursor, &how, err);
    ash__free(ns);
    return rc;
}

/* How many indexes there are now; 0 if that cannot be told. */
static int32_t count_indexes(ash_command *c, ash_collection *coll)
{
    ash_cursor *cursor = NULL;
    ash_doc doc = {NULL, 0};
    int32_t count = 0;
    if (ash_collection_list_indexes(coll, &c->op, &cursor, NULL) != 0)
        return 0;
    while (ash_cursor_next(cursor, &doc, NULL) == 0 && doc.data != NULL)
        count++;
    ash_cursor_free(cursor);
    return count;
}

int ash__run_drop_indexes(ash_command *c, ash_error *err)
{
    ash_arg_value holder;
    ash_collection *coll = NULL;
    const bson_value_t *index = ash__field_value(c->body, "index", &holder);
    if (index == NULL)
        return ash__missing_argument(c, "index", err);
    int rc = ash__command_collection(c, &coll, err);
    if (rc != 0)
        return rc;
    /* MongoDB tells how many there were, and the store does not. */
    int32_t before = count_indexes(c, coll);
    rc = ash_collection_drop_indexes(coll, index, &c->op, err);
    ash_collection_free(coll);
    if (rc == 0)
        ash__builder_int32(&c->reply->body, "nIndexesWas", before);
    return rc;
}
