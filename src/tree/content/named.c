/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/content/named.h"

#include "base/mem.h"
#include "tree/content/form.h"

#include <string.h>

/* ---- sets of ids ---- */

static size_t slot_of(const ash_id_set *s, const ash_content_id *id)
{
    uint64_t number;
    memcpy(&number, id->bytes, sizeof number); /* a digest needs no hash */
    size_t i = (size_t)number & (s->capacity - 1);
    while (s->slots[i].len != 0 && !ash__content_id_equal(&s->slots[i], id))
        i = (i + 1) & (s->capacity - 1);
    return i;
}

bool ash__id_set_has(const ash_id_set *s, const ash_content_id *id)
{
    return s->count > 0 && s->slots[slot_of(s, id)].len != 0;
}

void ash__id_set_add(ash_id_set *s, const ash_content_id *id)
{
    if (2 * s->count >= s->capacity) {
        ash_id_set bigger = {.capacity = s->capacity > 0 ? 2 * s->capacity : 64};
        bigger.slots = ash__alloc_array(bigger.capacity, sizeof *bigger.slots);
        for (size_t i = 0; i < s->capacity; i++)
            if (s->slots[i].len != 0)
                bigger.slots[slot_of(&bigger, &s->slots[i])] = s->slots[i];
        bigger.count = s->count;
        ash__free(s->slots);
        *s = bigger;
    }
    size_t at = slot_of(s, id);
    s->count += s->slots[at].len == 0;
    s->slots[at] = *id;
}

void ash__id_set_release(ash_id_set *s)
{
    ash__free(s->slots);
    *s = (ash_id_set){0};
}

void ash__id_queue_add(void *queue, const ash_content_id *id)
{
    ash_id_queue *q = queue;
    if (ash__id_set_has(&q->known, id))
        return;
    ash__id_set_add(&q->known, id);
    q->ids = ash__grow_array(q->ids, q->count, &q->capacity, sizeof *q->ids);
    q->ids[q->count++] = *id;
}

void ash__id_queue_release(ash_id_queue *q)
{
    ash__id_set_release(&q->known);
    ash__free(q->ids);
}

/* ---- what a content is made of ---- */

/* As deep as a form is read, whose list may stand in one of ways to get at the bytes. */
enum { BASES_DEEP = ASH_FORM_NESTED_MAX + 1 };

static void list_bases(ash_value v, int depth, ash_base_fn fn, void *ctx);

static void reference_bases(ash_doc doc, int depth, ash_base_fn fn, void *ctx)
{
    ash_content_id id;
    if (ash__content_id_from(ash__doc_get(doc, "_id"), &id) ||
        ash__content_id_from(ash__doc_get(doc, "sha"), &id))
        fn(ctx, &id);
    list_bases(ash__doc_get(doc, "base"), depth + 1, fn, ctx);
}

static void list_bases(ash_value v, int depth, ash_base_fn fn, void *ctx)
{
    if (v.type == BSON_TYPE_DOCUMENT && depth <= BASES_DEEP)
        reference_bases(ash__value_doc(v), depth, fn, ctx);
    if (v.type != BSON_TYPE_ARRAY)
        return;
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(v)); ash__doc_iter_next(&it);)
        if (it.value.type == BSON_TYPE_DOCUMENT && depth <= BASES_DEEP)
            reference_bases(ash__value_doc(it.value), depth, fn, ctx);
}

void ash__content_bases(ash_doc doc, ash_base_fn fn, void *ctx)
{
    list_bases(ash__doc_get(doc, "base"), 0, fn, ctx);
    list_bases(ash__doc_get(doc, "alt"), 0, fn, ctx);
}

/* ---- who names it ---- */

typedef struct search {
    ash_contents *c;
    const ash_content_id *ids;
    size_t count;
    const ash_id_set *without;
    bool *named;
    const ash_op *op;
} search;

static void mark(void *ctx, const ash_content_id *id)
{
    search *s = ctx;
    for (size_t i = 0; i < s->count; i++)
        if (ash__content_id_equal(&s->ids[i], id))
            s->named[i] = true;
}

/* The ids that nobody was found for yet, as a filter; false: there are none. */
static bool filter_rest(const search *s, const char *field, bson_t *filter)
{
    size_t n = 0;
    ash_content_id *rest = ash__alloc_array(s->count + 1, sizeof *rest);
    for (size_t i = 0; i < s->count; i++)
        if (!s->named[i])
            rest[n++] = s->ids[i];
    ash__filter_ids(filter, field, rest, n);
    ash__free(rest);
    return n > 0;
}

static void look_at(search *s, ash_doc doc, bool is_holder)
{
    ash_content_id id;
    if (is_holder && ash__content_id_from(ash__doc_get(doc, "sha"), &id))
        mark(s, &id);
    if (is_holder)
        return;
    if (s->without != NULL && ash__content_id_from(ash__doc_get(doc, "_id"), &id) &&
        ash__id_set_has(s->without, &id))
        return;
    ash__content_bases(doc, mark, s);
}

static int look_at_all(search *s, ash_cursor *cursor, bool is_holder, int64_t *seen, ash_error *err)
{
    for (*seen = 0;; ++*seen) {
        ash_doc doc;
        int rc = ash_cursor_next(cursor, &doc, err);
        if (rc != 0 || doc.data == NULL)
            return rc;
        look_at(s, doc, is_holder);
    }
}

/* A content may be named a million times: some documents are looked at, and what they name is not
 * asked for again.  Where some do not count, all have to be looked at. */
static int search_field(search *s, ash_collection *coll, const char *field, bool is_holder,
                        ash_error *err)
{
    ash_find_options o = ASH_FIND_OPTIONS_INIT;
    bson_t projection = BSON_INITIALIZER;
    int64_t seen = 0;
    int rc = 0;
    bson_append_int32(&projection, is_holder ? "sha" : "base", -1, 1);
    if (!is_holder)
        bson_append_int32(&projection, "alt", 3, 1);
    o.op = *s->op;
    o.projection = &projection;
    o.limit = is_holder ? (int64_t)s->count + 16 : s->without != NULL ? 0 : 8;
    do {
        bson_t filter = BSON_INITIALIZER;
        ash_cursor *cursor = NULL;
        bool any = filter_rest(s, field, &filter);
        if (any)
            rc = ash_collection_find(coll, &filter, &o, &cursor, err);
        if (any && rc == 0)
            rc = look_at_all(s, cursor, is_holder, &seen, err);
        ash_cursor_free(cursor);
        bson_destroy(&filter);
        if (!any)
            break;
    } while (rc == 0 && o.limit > 0 && seen == o.limit);
    bson_destroy(&projection);
    return rc;
}

int ash__contents_named(ash_contents *c, const ash_naming *naming, const ash_op *op, ash_error *err)
{
    search s = {c, naming->ids, naming->count, naming->without, naming->named, op};
    int rc = 0;
    memset(s.named, 0, s.count * sizeof *s.named);
    for (int i = 0; rc == 0 && i < 2; i++)
        if (c->holders[i] != NULL)
            rc = search_field(&s, c->holders[i], "sha", true, err);
    if (rc == 0)
        rc = search_field(&s, c->files, "base._id", false, err);
    if (rc == 0)
        rc = search_field(&s, c->files, "alt.base._id", false, err);
    return rc;
}

int ash__contents_there(ash_contents *c, const ash_content_id *ids, size_t count, ash_id_set *there,
                        const ash_op *op, ash_error *err)
{
    ash_find_options o = ASH_FIND_OPTIONS_INIT;
    bson_t filter = BSON_INITIALIZER;
    bson_t *projection = BCON_NEW("_id", BCON_INT32(1));
    ash_cursor *cursor = NULL;
    ash_doc doc = {NULL, 0};
    ash_content_id id;
    o.op = *op;
    o.projection = projection;
    ash__filter_ids(&filter, "_id", ids, count);
    int rc = ash_collection_find(c->files, &filter, &o, &cursor, err);
    while (rc == 0 && (rc = ash_cursor_next(cursor, &doc, err)) == 0 && doc.data != NULL)
        if (ash__content_id_from(ash__doc_get(doc, "_id"), &id))
            ash__id_set_add(there, &id);
    ash_cursor_free(cursor);
    bson_destroy(projection);
    bson_destroy(&filter);
    return rc;
}
