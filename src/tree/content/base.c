/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/content/write.h"

#include <string.h>

/* Which earlier content a new one is a delta of: what the path had before, or one that is clearly
 * more like it.  (Measured: docs/DECISIONS.md.) */

enum {
    CANDIDATES = 32,
    BETTER_BY = 2,  /* slots of 16 that another has to have more in common than the one before */
    ALIKE_MIN = 4,  /* or at all, where there is none before */
    SHALLOW_MAX = 1 /* at the cap: how deep an ancestor may be */
};

typedef struct likeness {
    ash_content_id id; /* len 0: nobody */
    int alike;
} likeness;

static bool read_sketch(ash_doc doc, ash_short_sketch *out)
{
    ash_value v = ash__doc_get(doc, "sketch");
    uint32_t len = 0;
    const uint8_t *slots = v.type == BSON_TYPE_BINARY ? ash__value_binary_content(v, &len) : NULL;
    return slots != NULL && ash__sketch_read(slots, len, out);
}

static void compare(const ash_content_writer *w, ash_doc doc, likeness *best)
{
    ash_short_sketch own, sketch;
    ash_content_id id;
    if (!ash__content_id_from(ash__doc_get(doc, "_id"), &id) || !read_sketch(doc, &sketch))
        return;
    ash__sketch_shorten(&w->plan.sketch, &own);
    int alike = ash__sketch_alike_short(&own, &sketch);
    if (best->id.len == 0 || alike > best->alike)
        *best = (likeness){id, alike};
}

static void filter_features(const ash_sketch *sketch, bson_t *filter)
{
    int32_t features[ASH_SKETCH_FEATURES];
    bson_t in, list;
    char buf[ASH_KEY_CHARS];
    const char *key;
    int n = ash__sketch_features(sketch, features);
    bson_append_document_begin(filter, "features", 8, &in);
    bson_append_array_begin(&in, "$in", 3, &list);
    for (int i = 0; i < n; i++) {
        bson_uint32_to_string((uint32_t)i, &key, buf, sizeof buf);
        bson_append_int32(&list, key, -1, features[i]);
    }
    bson_append_array_end(&in, &list);
    bson_append_document_end(filter, &in);
}

/* The one most like it of some that share a feature. */
static int find_similar(ash_content_writer *w, const ash_op *op, likeness *best, ash_error *err)
{
    ash_find_options o = ASH_FIND_OPTIONS_INIT;
    bson_t filter = BSON_INITIALIZER;
    bson_t *projection = BCON_NEW("sketch", BCON_INT32(1));
    ash_cursor *cursor = NULL;
    ash_doc doc = {NULL, 0};
    o.op = *op;
    o.limit = CANDIDATES;
    o.projection = projection;
    filter_features(&w->plan.sketch, &filter);
    int rc = ash_collection_find(w->c->files, &filter, &o, &cursor, err);
    while (rc == 0 && (rc = ash_cursor_next(cursor, &doc, err)) == 0 && doc.data != NULL)
        compare(w, doc, best);
    ash_cursor_free(cursor);
    bson_destroy(projection);
    bson_destroy(&filter);
    return rc;
}

/* Also one of those that were stored last, if its commit is done. */
static int look_at_recent(ash_content_writer *w, const ash_op *op, likeness *best, ash_error *err)
{
    likeness recent;
    bson_t doc;
    bool found = false;
    recent.alike = ash__recent_most_alike(&w->c->recent, &w->plan.sketch, &recent.id);
    if (recent.id.len == 0 || recent.alike < best->alike)
        return 0;
    int rc = ash__find_content(w->c, &recent.id, op, &doc, &found, err);
    if (rc == 0 && found) {
        bson_destroy(&doc);
        *best = recent;
    }
    return rc;
}

/* base becomes the nearest below it whose chain is not too long. */
static int climb_down(ash_content_writer *w, const ash_op *op, ash_content_id *base, int32_t *depth,
                      ash_error *err)
{
    for (int i = 0; i < ASH_DELTA_LEVELS_MAX && base->len == w->id.len; i++) {
        bson_t doc;
        bool found = false;
        ash_form form;
        int rc = ash__find_content(w->c, base, op, &doc, &found, err);
        if (rc != 0 || !found) {
            base->len = 0;
            return rc;
        }
        bool usable = ash__form_read(&doc, &form, NULL) == 0 && form.size > 0 &&
                      form.size <= ASH_CONTENT_WHOLE_MAX;
        *depth = form.depth;
        bool too_deep = i == 0 ? *depth >= ASH_CHAIN_MAX : *depth > SHALLOW_MAX;
        usable = usable && (!too_deep || form.part_count > 0);
        if (usable && too_deep)
            *base = form.parts[0].id;
        ash__form_release(&form);
        bson_destroy(&doc);
        if (!usable)
            break;
        if (!too_deep)
            return 0;
    }
    base->len = 0;
    return 0;
}

static int look_at_before(ash_content_writer *w, const ash_op *op, likeness *out, ash_error *err)
{
    bson_t doc;
    bool found = false;
    if (w->before.len != w->id.len)
        return 0;
    int rc = ash__find_content(w->c, &w->before, op, &doc, &found, err);
    if (rc != 0 || !found)
        return rc;
    compare(w, ash__doc_from_bson(&doc), out);
    out->id = w->before; /* also without a sketch, as pieces have none */
    bson_destroy(&doc);
    return 0;
}

int ash__choose_base(ash_content_writer *w, const ash_op *op, ash_content_id *base, int32_t *depth,
                     ash_error *err)
{
    likeness before = {.alike = 0}, similar = {.alike = 0};
    int rc = look_at_before(w, op, &before, err);
    if (rc == 0 && before.alike < ASH_SKETCH_SLOTS - BETTER_BY + 1)
        rc = find_similar(w, op, &similar, err);
    if (rc == 0)
        rc = look_at_recent(w, op, &similar, err);
    *base = before.id;
    if (similar.alike >= (before.id.len != 0 ? before.alike + BETTER_BY : ALIKE_MIN))
        *base = similar.id;
    return rc == 0 ? climb_down(w, op, base, depth, err) : rc;
}
