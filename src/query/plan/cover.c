/* SPDX-License-Identifier: Apache-2.0 */
#include "query/plan/cover.h"

#include "base/mem.h"
#include "bson/keycode_read.h"
#include "bson/path.h"

#include <math.h>
#include <string.h>

enum {
    NUMBERS = ASH_KIND_INT32 | ASH_KIND_INT64 | ASH_KIND_DOUBLE | ASH_KIND_DECIMAL,
    NOTHINGS = ASH_KIND_MISSING | ASH_KIND_NULL | ASH_KIND_UNDEFINED,
    NONE = -1,
    NAME_MAX_BYTES = 256
};

#define WHOLE_LIMIT 9007199254740992.0 /* below it every int64 is a double of its own */

struct ash_cover {
    const ash_index_desc *index;
    int id_part, field_part; /* places in the index's pattern, or NONE */
    ash_keycode_room room[ASH_KEY_MAX_PARTS];
    ash_value values[ASH_KEY_MAX_PARTS];
};

static int part_of(const ash_key_pattern *p, const char *path)
{
    for (uint32_t i = 0; i < p->count; i++)
        if (strcmp(p->parts[i].path, path) == 0 && !p->parts[i].hashed)
            return (int)i;
    return NONE;
}

/* A position may name an item or a field; '$' is an operator's. */
static bool is_plain(const char *path)
{
    const char *rest = path;
    uint32_t index;
    while (rest != NULL) {
        const char *at = rest;
        size_t len = ash__path_part(at, &rest);
        if (len == 0 || len >= NAME_MAX_BYTES || at[0] == '$' || ash__path_index(at, len, &index))
            return false;
    }
    return true;
}

static bool includes(ash_value v)
{
    return (ash__value_is_number(v) || v.type == BSON_TYPE_BOOL) && ash__value_truthy(v);
}

static bool excludes(ash_value v)
{
    return (ash__value_is_number(v) || v.type == BSON_TYPE_BOOL) && !ash__value_truthy(v);
}

/* Which parts the projection wants.  false: other things, too. */
static bool take_projection(ash_cover *c, const bson_t *projection)
{
    bool id = true;
    for (ash_doc_iter it = ash__doc_iter(ash__doc_from_bson(projection));
         ash__doc_iter_next(&it);) {
        bool is_id = strcmp(it.name, "_id") == 0;
        if (is_id && excludes(it.value)) {
            id = false;
        } else if (!includes(it.value)) {
            return false;
        } else if (!is_id) {
            int part = is_plain(it.name) ? part_of(c->index->pattern, it.name) : NONE;
            /* Of two fields the key does not tell which one the document has first. */
            if (part == NONE || c->field_part != NONE)
                return false;
            c->field_part = part;
        }
    }
    c->id_part = id ? part_of(c->index->pattern, "_id") : NONE;
    return id ? c->id_part != NONE : c->field_part != NONE;
}

static bool is_one_bit(uint32_t bits)
{
    return (bits & (bits - 1)) == 0;
}

/* Is one type left for each key that has forgotten its own? */
static bool is_told_apart(uint32_t kinds)
{
    return is_one_bit(kinds & NUMBERS) && (kinds & ASH_KIND_DECIMAL) == 0 &&
           is_one_bit(kinds & NOTHINGS) && (kinds & ASH_KIND_SYMBOL) == 0;
}

static bool is_usable(const ash_index_desc *index)
{
    return !index->multikey && !index->pattern->has_collation && is_told_apart(index->kinds);
}

ash_cover *ash__cover_new(const bson_t *projection, const ash_index_desc *index)
{
    ash_cover c = {.index = index, .id_part = NONE, .field_part = NONE};
    if (projection == NULL || bson_empty(projection) || !is_usable(index) ||
        !take_projection(&c, projection))
        return NULL;
    for (uint32_t i = 0; i < index->pattern->count; i++)
        if (!is_plain(index->pattern->parts[i].path))
            return NULL;
    /* Copied to the heap only now that it is of use. */
    return ash__memdup(&c, sizeof c);
}

bool ash__cover_serves(const bson_t *projection, const ash_plan *plan)
{
    if (plan->kind != ASH_PLAN_IXSCAN || plan->needs_fetch_filter)
        return false;
    ash_cover *c = ash__cover_new(projection, plan->index);
    ash__cover_free(c);
    return c != NULL;
}

void ash__cover_free(ash_cover *c)
{
    if (c == NULL)
        return;
    for (uint32_t i = 0; i < ASH_KEY_MAX_PARTS; i++)
        ash__keycode_room_release(&c->room[i]);
    ash__free(c);
}

/* ---- values ---- */

/* The number as it was stored.  Keys of doubles know no -0 and no kinds of NaN. */
static bool retype_number(uint32_t kinds, ash_keycode_room *room, ash_value *v)
{
    double number = ash__value_double(*v);
    if ((kinds & NUMBERS) == ASH_KIND_DOUBLE)
        return number != 0 && !isnan(number);
    if (!(fabs(number) < WHOLE_LIMIT) || number != floor(number))
        return false;
    if ((kinds & NUMBERS) == ASH_KIND_INT32) {
        if (number < INT32_MIN || number > INT32_MAX)
            return false;
        *v = ash__box_int32(&room->box, (int32_t)number);
    } else if ((kinds & NUMBERS) == ASH_KIND_INT64) {
        *v = ash__box_int64(&room->box, (int64_t)number);
    } else {
        return false;
    }
    return true;
}

/* *v becomes missing where the document has no such field.  Below a path, something may be there
 * all the same. */
static bool retype_nothing(uint32_t kinds, const char *path, ash_value *v)
{
    if ((kinds & NOTHINGS) == ASH_KIND_NULL)
        return true;
    *v = ASH_VALUE_MISSING;
    return (kinds & NOTHINGS) == ASH_KIND_MISSING && strchr(path, '.') == NULL;
}

static bool retype(ash_cover *c, uint32_t part)
{
    ash_value *v = &c->values[part];
    uint32_t kinds = c->index->kinds;
    switch (v->type) {
    case BSON_TYPE_DOUBLE:
        return retype_number(kinds, &c->room[part], v);
    case BSON_TYPE_NULL:
        return retype_nothing(kinds, c->index->pattern->parts[part].path, v);
    case BSON_TYPE_UTF8:
    case BSON_TYPE_OID:
    case BSON_TYPE_BOOL:
    case BSON_TYPE_DATE_TIME:
    case BSON_TYPE_TIMESTAMP:
        return true;
    default:
        return false;
    }
}

/* As far as the parts that are wanted. */
static bool read_parts(ash_cover *c, ash_doc key)
{
    size_t at = 0;
    int last = c->id_part > c->field_part ? c->id_part : c->field_part;
    for (int i = 0; i <= last; i++) {
        const ash_key_part *part = &c->index->pattern->parts[i];
        if (at >= key.len)
            return false;
        size_t bytes = ash__keycode_read_part(key.data + at, key.len - at, part->descending,
                                              &c->room[i], &c->values[i]);
        bool wanted = i == c->id_part || i == c->field_part;
        /* Without its length nothing behind a part can be found. */
        if (bytes == 0 || (wanted && !retype(c, (uint32_t)i)))
            return false;
        at += bytes;
    }
    return true;
}

static void append_field(ash_builder *out, const char *path, ash_value v)
{
    char name[NAME_MAX_BYTES];
    const char *rest = path;
    size_t len = ash__path_part(path, &rest);
    if (rest == NULL) {
        ash__builder_value(out, path, v);
        return;
    }
    memcpy(name, path, len);
    name[len] = 0;
    ash__builder_begin_doc(out, name);
    append_field(out, rest, v);
    ash__builder_end(out);
}

bool ash__cover_make(ash_cover *c, ash_doc key, ash_builder *out)
{
    /* The index may have got other kinds of values since the scan began. */
    if (!is_usable(c->index) || !read_parts(c, key))
        return false;
    ash__builder_begin(out);
    if (c->id_part != NONE)
        ash__builder_value(out, "_id", c->values[c->id_part]);
    if (c->field_part != NONE)
        append_field(out, c->index->pattern->parts[c->field_part].path, c->values[c->field_part]);
    ash__builder_end(out);
    return true;
}
