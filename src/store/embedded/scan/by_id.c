/* SPDX-License-Identifier: Apache-2.0 */
/* find({_id: value}) in its shortest form; a document in a segment would have to be pinned and goes
 * the long way. */

#include "store/embedded/scan/by_id.h"

#include "base/clock.h"
#include "base/mem.h"
#include "store/embedded/kit/view.h"

#include <string.h>

typedef struct point_cursor {
    ash_cursor base;
    bool given;
    ash_doc doc; /* data NULL: none; else … */
    uint8_t bytes[];
} point_cursor;

static int point_next_batch(ash_cursor *cursor, size_t max_docs, size_t max_bytes, ash_batch *out,
                            ash_error *err)
{
    point_cursor *c = (point_cursor *)(void *)cursor;
    (void)max_docs, (void)max_bytes, (void)err;
    *out = (ash_batch){.exhausted = true};
    if (!c->given && c->doc.data != NULL) {
        out->docs = &c->doc;
        out->count = 1;
    }
    c->given = true;
    return 0;
}

static void point_set_op(ash_cursor *cursor, int64_t deadline_ms, const volatile int *cancel,
                         int64_t await_ms)
{
    (void)cursor, (void)deadline_ms, (void)cancel, (void)await_ms;
}

static void point_rest(ash_cursor *cursor)
{
    (void)cursor;
}

static void point_free(ash_cursor *cursor)
{
    ash__free(cursor);
}

static const ash_cursor_ops point_ops = {
    .next_batch = point_next_batch,
    .set_op = point_set_op,
    .rest = point_rest,
    .free = point_free,
};

static bool is_nothing(const bson_t *doc)
{
    return doc == NULL || bson_empty(doc);
}

bool ash__value_is_plain_id(ash_value v)
{
    switch (v.type) {
    /* Not among them: documents, arrays, null and regular expressions, which mean more than
     * equality in a filter. */
    case BSON_TYPE_OID:
    case BSON_TYPE_INT32:
    case BSON_TYPE_INT64:
    case BSON_TYPE_UTF8:
    case BSON_TYPE_BINARY:
    case BSON_TYPE_DATE_TIME:
    case BSON_TYPE_BOOL:
        return true;
    default:
        return false;
    }
}

bool ash__find_is_plain(const ash_find_options *o)
{
    return o->skip == 0 && !o->show_record_id && o->limit >= 0 && !o->tailable && !o->await_data &&
           o->hint == NULL && is_nothing(o->projection) && is_nothing(o->collation) &&
           is_nothing(o->let) && is_nothing(o->min) && is_nothing(o->max);
}

bool ash__point_applies(const bson_t *filter, const ash_find_options *o, ash_value *id)
{
    ash_doc_iter it = ash__doc_iter(ash__doc_from_bson(filter));
    if (!ash__find_is_plain(o) || o->download || !is_nothing(o->sort))
        return false;
    if (!ash__doc_iter_next(&it) || strcmp(it.name, "_id") != 0 ||
        !ash__value_is_plain_id(it.value))
        return false;
    *id = it.value;
    return !ash__doc_iter_next(&it);
}

static ash_cursor *make_cursor(ash_embedded *s, ash_doc doc)
{
    point_cursor *c = ash__alloc(sizeof *c + doc.len);
    *c = (point_cursor){.base = {.ops = &point_ops, .store = &s->base}};
    if (doc.data != NULL) {
        memcpy(c->bytes, doc.data, doc.len);
        c->doc = (ash_doc){c->bytes, doc.len};
    }
    return &c->base;
}

int ash__point_find(ash_embedded *s, ash_ns ns, ash_value id, const ash_op *op, ash_cursor **out,
                    ash_error *err)
{
    int64_t from_ms = ash__clock_ms();
    ash_reading reading = {0};
    const ash_coll *found = NULL;
    ash_record r = {.rid = 0};
    bool there = false;
    *out = NULL;
    int rc = ash__reading_begin(s, op, &reading, err);
    if (rc == 0)
        rc = ash__catalog_find(reading.snap, ns.db, ns.coll, &found, err);
    bool is_view = ash__view_refuse(found, NULL) != 0;
    if (rc == 0 && found != NULL && !is_view)
        rc = ash__record_find_id(reading.snap, found, id, &r, &there, err);
    /* Nothing is an answer, too: the long way would come to the same. */
    if (rc == 0 && !is_view && (!there || r.place.segment == 0))
        *out = make_cursor(s, there ? r.doc : (ash_doc){NULL, 0});
    ash__reading_end(&reading);
    ash__slow_note(s, "find", ns, from_ms);
    return rc;
}
