/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a content is there, told by rows alone: what it costs does not grow with its bytes. */
#include "base/mem.h"
#include "tree/content/form.h"
#include "tree/content/named.h"

#include <string.h>

/* The content, and what it is made of, at any depth. */
typedef struct probe {
    ash_contents *c;
    ash_op op;
    ash_id_queue ids;
    ash_id_set there; /* of them; those whose documents were looked at */
} probe;

static int say(const ash_content_id *id, const char *what, ash_error *err)
{
    return ash__content_fail(err, ASH_ECORRUPT, id, what);
}

static int count_chunks(probe *p, const ash_form *f, ash_error *err)
{
    ash_count_options o = ASH_COUNT_OPTIONS_INIT;
    bson_t filter = BSON_INITIALIZER;
    int64_t size = 0, count = 0;
    ash_value said = ash__doc_get(ash__doc_from_bson(f->doc), "chunkSize");
    if (!ash__value_as_int64(said, &size) || size < 1)
        return say(&f->id, "does not say how long its chunks are", err);
    o.op = p->op;
    ash__append_id(&filter, "files_id", &f->id);
    int rc = ash_collection_count(p->c->chunks, &filter, &o, &count, err);
    bson_destroy(&filter);
    if (rc == 0 && count < f->stored / size + (f->stored % size != 0))
        rc = say(&f->id, "lacks chunks", err);
    return rc;
}

static int look_at(probe *p, ash_doc doc, ash_error *err)
{
    ash_form form;
    bson_t view;
    ash__doc_to_bson(doc, &view);
    int rc = ash__form_read(&view, &form, err);
    bool apart = rc == 0 && !form.inside && form.kind != ASH_FORM_CAT && form.kind != ASH_FORM_ZIP;
    if (rc == 0)
        ash__id_set_add(&p->there, &form.id);
    if (apart && form.stored > 0 && p->c->chunks != NULL)
        rc = count_chunks(p, &form, err);
    ash__form_release(&form);
    ash__content_bases(doc, ash__id_queue_add, &p->ids);
    return rc;
}

static int look_at_some(probe *p, const ash_content_id *ids, size_t count, ash_error *err)
{
    ash_find_options o = ASH_FIND_OPTIONS_INIT;
    bson_t filter = BSON_INITIALIZER;
    ash_cursor *cursor = NULL;
    ash_doc doc = {NULL, 0};
    o.op = p->op;
    if (count == 1)
        ash__append_id(&filter, "_id", ids);
    else
        ash__filter_ids(&filter, "_id", ids, count);
    int rc = ash_collection_find(p->c->files, &filter, &o, &cursor, err);
    while (rc == 0 && (rc = ash_cursor_next(cursor, &doc, err)) == 0 && doc.data != NULL)
        rc = look_at(p, doc, err);
    ash_cursor_free(cursor);
    bson_destroy(&filter);
    for (size_t i = 0; rc == 0 && i < count; i++)
        if (!ash__id_set_has(&p->there, &ids[i]))
            rc = say(&ids[i], "is missing", err);
    return rc;
}

int ash__content_probe(ash_contents *c, const ash_content_id *id, const ash_op *op, ash_error *err)
{
    probe p = {.c = c};
    ash_content_id some[ASH_CONTENT_IDS_AT_ONCE];
    int rc = ash__contents_op(op, &p.op, err);
    ash__id_queue_add(&p.ids, id);
    for (size_t at = 0; rc == 0 && at < p.ids.count;) {
        size_t n =
            p.ids.count - at < ASH_CONTENT_IDS_AT_ONCE ? p.ids.count - at : ASH_CONTENT_IDS_AT_ONCE;
        memcpy(some, p.ids.ids + at, n * sizeof *some); /* the list moves as it grows */
        rc = look_at_some(&p, some, n, err);
        at += n;
    }
    ash__id_queue_release(&p.ids);
    ash__id_set_release(&p.there);
    return rc;
}
