/* SPDX-License-Identifier: Apache-2.0 */
/* What became of contents that somebody names, for checks. */
#include "base/mem.h"
#include "tree/content/named.h"

typedef struct lookup {
    ash_contents *c;
    const ash_content_use *uses;
    ash_content_standing *standings;
    size_t count;
} lookup;

static bool refs_list(ash_doc doc, const bson_value_t *owner)
{
    ash_value refs = ash__doc_get(doc, "refs");
    ash_doc scratch;
    bson_t holder;
    bool listed = false;
    ash_value wanted = ash__value_of_bson_value(owner, &scratch, &holder);
    if (refs.type == BSON_TYPE_ARRAY)
        for (ash_doc_iter it = ash__doc_iter(ash__value_doc(refs));
             !listed && ash__doc_iter_next(&it);)
            listed = ash__value_identical(it.value, wanted);
    bson_destroy(&holder);
    return listed;
}

/* Of everybody who names this content. */
static void judge(const lookup *l, ash_doc doc)
{
    ash_content_id id;
    bool complete = !l->c->last_generation && !ash__value_truthy(ash__doc_get(doc, "refsMore"));
    if (!ash__content_id_from(ash__doc_get(doc, "_id"), &id))
        return;
    for (size_t i = 0; i < l->count; i++) {
        if (!ash__content_id_equal(&l->uses[i].id, &id))
            continue;
        bool listed = !complete || refs_list(doc, l->uses[i].owner);
        l->standings[i] = listed ? ASH_CONTENT_THERE : ASH_CONTENT_UNLISTED;
    }
}

static int look_up_some(const lookup *l, const ash_op *op, ash_error *err)
{
    ash_find_options o = ASH_FIND_OPTIONS_INIT;
    bson_t filter = BSON_INITIALIZER;
    bson_t *projection = BCON_NEW("refs", BCON_INT32(1), "refsMore", BCON_INT32(1));
    ash_content_id *ids = ash__alloc_array(l->count, sizeof *ids);
    ash_cursor *cursor = NULL;
    ash_doc doc = {NULL, 0};
    o.projection = projection;
    for (size_t i = 0; i < l->count; i++)
        ids[i] = l->uses[i].id;
    ash__filter_ids(&filter, "_id", ids, l->count);
    int rc = ash__contents_op(op, &o.op, err);
    if (rc == 0)
        rc = ash_collection_find(l->c->files, &filter, &o, &cursor, err);
    while (rc == 0 && (rc = ash_cursor_next(cursor, &doc, err)) == 0 && doc.data != NULL)
        judge(l, doc);
    ash_cursor_free(cursor);
    ash__free(ids);
    bson_destroy(projection);
    bson_destroy(&filter);
    return rc;
}

int ash__contents_look_up(ash_contents *c, const ash_content_use *uses, size_t count,
                          ash_content_standing *standings, const ash_op *op, ash_error *err)
{
    int rc = 0;
    for (size_t i = 0; i < count; i++)
        standings[i] = ASH_CONTENT_MISSING;
    for (size_t first = 0; rc == 0 && first < count; first += ASH_CONTENT_IDS_AT_ONCE) {
        size_t left = count - first;
        const lookup some = {c, uses + first, standings + first,
                             left < ASH_CONTENT_IDS_AT_ONCE ? left : ASH_CONTENT_IDS_AT_ONCE};
        rc = look_up_some(&some, op, err);
    }
    return rc;
}
