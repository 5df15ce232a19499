/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/content/heal.h"

#include "base/mem.h"
#include "tree/content/named.h"

static void copy_owners(const bson_t *doc, bson_t *owners)
{
    static const char *const lists[] = {"refs", "refHistory"};
    ash_doc view = ash__doc_from_bson(doc);
    bson_iter_t it;
    for (size_t i = 0; i < ASH_ARRAY_LEN(lists); i++)
        if (ash__doc_get(view, lists[i]).type == BSON_TYPE_ARRAY &&
            bson_iter_init_find(&it, doc, lists[i]))
            bson_append_iter(owners, NULL, 0, &it);
    if (ash__value_truthy(ash__doc_get(view, "refsMore")))
        bson_append_bool(owners, "refsMore", 8, true);
}

int ash__content_make_way(ash_contents *c, const ash_content_id *id, bson_t *owners,
                          const ash_op *op, ash_error *err)
{
    bson_t doc;
    bool found = false;
    int rc = ash__find_content(c, id, op, &doc, &found, err);
    if (rc == 0 && found) {
        copy_owners(&doc, owners);
        bson_destroy(&doc);
    }
    return rc == 0 ? ash__contents_remove(c, id, 1, op, err) : rc;
}

/* Just these parts, whole and in this order. */
static bool lists(const ash_form *f, const ash_form_part *parts, size_t count)
{
    if (f->kind != ASH_FORM_CAT || f->part_count != count)
        return false;
    for (size_t i = 0; i < count; i++) {
        const ash_form_part *a = &f->parts[i], *b = &parts[i];
        if (!ash__content_id_equal(&a->id, &b->id) || a->zipped || a->off != 0 || a->len != b->len)
            return false;
    }
    return true;
}

/* ---- what stands on what ---- */

/* Adds what some of them are made of. */
static int follow(ash_contents *c, ash_id_queue *q, size_t first, size_t count, const ash_op *op,
                  ash_error *err)
{
    ash_find_options o = ASH_FIND_OPTIONS_INIT;
    bson_t filter = BSON_INITIALIZER;
    bson_t *projection = BCON_NEW("base", BCON_INT32(1), "alt", BCON_INT32(1));
    ash_cursor *cursor = NULL;
    ash_doc doc = {NULL, 0};
    o.op = *op;
    o.projection = projection;
    ash__filter_ids(&filter, "_id", q->ids + first, count);
    int rc = ash_collection_find(c->files, &filter, &o, &cursor, err);
    while (rc == 0 && (rc = ash_cursor_next(cursor, &doc, err)) == 0 && doc.data != NULL)
        ash__content_bases(doc, ash__id_queue_add, q);
    ash_cursor_free(cursor);
    bson_destroy(projection);
    bson_destroy(&filter);
    return rc;
}

/* *stands: one of the parts is made of the content, at any depth. */
static int stand_on(ash_contents *c, const ash_rival *there, bool *stands, const ash_op *op,
                    ash_error *err)
{
    const ash_content_id *id = &there->ref.id;
    ash_id_queue q = {.count = 0};
    int rc = 0;
    for (size_t i = 0; i < there->count; i++)
        ash__id_queue_add(&q, &there->parts[i].id);
    for (size_t at = 0; rc == 0 && at < q.count && !ash__id_set_has(&q.known, id);) {
        size_t n = q.count - at < ASH_CONTENT_IDS_AT_ONCE ? q.count - at : ASH_CONTENT_IDS_AT_ONCE;
        rc = follow(c, &q, at, n, op, err);
        at += n;
    }
    *stands = ash__id_set_has(&q.known, id);
    ash__id_queue_release(&q);
    return rc;
}

/* ---- lists ---- */

/* Reads it to its end.  ASH_ECORRUPT: it is not what its digest says. */
static int read_whole(ash_contents *c, const ash_content_ref *ref, const ash_op *op, ash_error *err)
{
    enum { STEP = 64 * 1024 };
    ash_content_reader *r = NULL;
    uint8_t *buf = ash__alloc(STEP);
    size_t got = 1;
    int rc = ash__content_open(c, ref, true, op, &r, err);
    while (rc == 0 && got > 0)
        rc = ash__content_reader_read(r, buf, STEP, &got, err);
    ash__content_reader_free(r);
    ash__free(buf);
    return rc;
}

int ash__rival_compare(ash_contents *c, const ash_rival *there, bool *damaged, const ash_op *op,
                       ash_error *err)
{
    ash_error own = ASH_ERROR_INIT;
    ash_form form;
    bool stands = false;
    bool good =
        ash__form_read(there->doc, &form, NULL) == 0 && lists(&form, there->parts, there->count);
    ash__form_release(&form);
    int rc = good ? 0 : read_whole(c, &there->ref, op, &own);
    *damaged = rc == ASH_ECORRUPT;
    if (!*damaged)
        return rc == 0 ? 0 : ash__unless(0, rc, &own, err);
    rc = stand_on(c, there, &stands, op, err);
    return rc == 0 && stands ? ash__fail(err, ASH_ECORRUPT, "%s; what came stands on it", own.text)
                             : rc;
}
