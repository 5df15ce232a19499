/* SPDX-License-Identifier: Apache-2.0 */
/* Contents that somebody names and that are not there, for checks. */
#include "base/mem.h"
#include "tree/content/named.h"

static int read_ids(ash_contents *c, const bson_t *filter, const ash_op *op, ash_id_set *found,
                    ash_error *err)
{
    ash_find_options o = ASH_FIND_OPTIONS_INIT;
    bson_t *only_id = BCON_NEW("_id", BCON_INT32(1));
    ash_cursor *cursor = NULL;
    o.projection = only_id;
    int rc = ash__contents_op(op, &o.op, err);
    if (rc == 0)
        rc = ash_collection_find(c->files, filter, &o, &cursor, err);
    while (rc == 0) {
        ash_doc doc;
        ash_content_id id;
        rc = ash_cursor_next(cursor, &doc, err);
        if (rc != 0 || doc.data == NULL)
            break;
        if (ash__content_id_from(ash__doc_get(doc, "_id"), &id))
            ash__id_set_add(found, &id);
    }
    ash_cursor_free(cursor);
    bson_destroy(only_id);
    return rc;
}

int ash__contents_missing(ash_contents *c, const ash_content_use *uses, size_t count, bool *missing,
                          const ash_op *op, ash_error *err)
{
    ash_id_set found = {0};
    int rc = 0;
    for (size_t first = 0; rc == 0 && first < count; first += ASH_CONTENT_IDS_AT_ONCE) {
        size_t n =
            count - first < ASH_CONTENT_IDS_AT_ONCE ? count - first : ASH_CONTENT_IDS_AT_ONCE;
        ash_content_id *ids = ash__alloc_array(n, sizeof *ids);
        bson_t filter = BSON_INITIALIZER;
        for (size_t i = 0; i < n; i++)
            ids[i] = uses[first + i].id;
        ash__filter_ids(&filter, "_id", ids, n);
        rc = read_ids(c, &filter, op, &found, err);
        bson_destroy(&filter);
        ash__free(ids);
    }
    for (size_t i = 0; i < count; i++)
        missing[i] = !ash__id_set_has(&found, &uses[i].id);
    ash__id_set_release(&found);
    return rc;
}
