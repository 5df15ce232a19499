/* SPDX-License-Identifier: Apache-2.0 */
/* A content that comes back where there was none any more belongs to those who name it. */
#include "base/mem.h"
#include "tree/content/heal.h"

/* Ids of entries; one more than a content lists says that there are too many. */
typedef struct heirs {
    ash_content_use uses[ASH_REFS_MAX + 1];
    bson_value_t ids[ASH_REFS_MAX + 1];
    size_t count;
} heirs;

static bool is_known(const heirs *h, const bson_value_t *id)
{
    ash_doc scratch[2];
    bson_t holders[2];
    bool known = false;
    for (size_t i = 0; i < h->count && !known; i++) {
        known = ash__value_identical(ash__value_of_bson_value(&h->ids[i], &scratch[0], &holders[0]),
                                     ash__value_of_bson_value(id, &scratch[1], &holders[1]));
        bson_destroy(&holders[0]);
        bson_destroy(&holders[1]);
    }
    return known;
}

static void add(heirs *h, const ash_content_id *content, const bson_value_t *id)
{
    if (h->count > ASH_REFS_MAX || is_known(h, id))
        return;
    bson_value_copy(id, &h->ids[h->count]);
    h->uses[h->count] = (ash_content_use){*content, &h->ids[h->count]};
    h->count++;
}

static void release(heirs *h)
{
    for (size_t i = 0; i < h->count; i++)
        bson_value_destroy(&h->ids[i]);
    ash__free(h);
}

static int find(ash_contents *c, const ash_content_id *id, int64_t limit, heirs *out,
                const ash_op *op, ash_error *err)
{
    ash_find_options o = ASH_FIND_OPTIONS_INIT;
    bson_t filter = BSON_INITIALIZER;
    bson_t *projection = BCON_NEW("_id", BCON_INT32(1));
    ash_cursor *cursor = NULL;
    ash_doc doc = {NULL, 0};
    bson_t view;
    bson_iter_t it;
    o.op = *op;
    o.projection = projection;
    o.limit = limit;
    ash__append_id(&filter, "sha", id);
    int rc = ash_collection_find(c->holders[0], &filter, &o, &cursor, err);
    while (rc == 0 && (rc = ash_cursor_next(cursor, &doc, err)) == 0 && doc.data != NULL) {
        ash__doc_to_bson(doc, &view);
        if (bson_iter_init_find(&it, &view, "_id"))
            add(out, id, bson_iter_value(&it));
    }
    ash_cursor_free(cursor);
    bson_destroy(projection);
    bson_destroy(&filter);
    return rc;
}

int ash__content_has_heirs(ash_contents *c, const ash_content_id *id, bool *has, const ash_op *op,
                           ash_error *err)
{
    heirs *h = ash__new(heirs);
    int rc = c->holders[0] != NULL ? find(c, id, 1, h, op, err) : 0;
    *has = h->count > 0;
    release(h);
    return rc;
}

int ash__content_give_to_heirs(ash_contents *c, const ash_content_id *id, const ash_op *op,
                               ash_error *err)
{
    heirs *h = ash__new(heirs);
    int rc = find(c, id, ASH_REFS_MAX + 1, h, op, err);
    if (rc == 0 && h->count > 0)
        rc = ash__contents_hold(c, h->uses, h->count, op, err);
    release(h);
    return rc;
}
