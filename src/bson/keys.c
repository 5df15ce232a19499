/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of one document.  Each part of the pattern has a cursor that goes down the document by
 * names.  Those that an array stops go on together into each of its elements: so parts below one
 * array are paired element by element, and a key is made whenever all cursors are done. */
#include "bson/keycode.h"

#include "base/budget.h"
#include "base/bytes.h"
#include "base/mem.h"
#include "bson/path.h"

#include <stdlib.h>
#include <string.h>

/* One part of the pattern on its way through the document. */
typedef struct part_cursor {
    ash_value at;     /* where it stands; in the end its value */
    const char *rest; /* the path still to go, NULL at its end */
    bool done;
    bool is_empty_array;
    ash_value named; /* at an array: the element whose position the path names, or missing */
} part_cursor;

typedef struct extraction {
    const ash_key_pattern *pattern;
    ash_key_set *out;
    ash_error *err;
} extraction;

/* As far as names lead: to the path's end, to an array, or nowhere. */
static void advance(part_cursor *c)
{
    while (c->rest != NULL && c->at.type == BSON_TYPE_DOCUMENT) {
        const char *path = c->rest;
        size_t len = ash__path_part(path, &c->rest);
        c->at = ash__doc_get_n(ash__value_doc(c->at), path, len);
    }
    if (c->at.type == BSON_TYPE_ARRAY)
        return;
    if (c->rest != NULL)
        c->at = ASH_VALUE_MISSING;
    c->done = true;
}

static void append_part(ash_buffer *out, const ash_key_part *part, const part_cursor *c,
                        const ash_collation *collation)
{
    if (c->is_empty_array)
        ash__keycode_append_empty_array(out, part->descending);
    else if (part->hashed)
        ash__keycode_append_hash(out, c->at, part->descending, collation);
    else
        ash__keycode_append(out, c->at, part->descending, collation);
}

static uint32_t kind_of(const part_cursor *c)
{
    switch (c->at.type) {
    case 0:
        return c->is_empty_array ? 0 : ASH_KIND_MISSING;
    case BSON_TYPE_INT32:
        return ASH_KIND_INT32;
    case BSON_TYPE_INT64:
        return ASH_KIND_INT64;
    case BSON_TYPE_DOUBLE:
        return ASH_KIND_DOUBLE;
    case BSON_TYPE_DECIMAL128:
        return ASH_KIND_DECIMAL;
    case BSON_TYPE_SYMBOL:
        return ASH_KIND_SYMBOL;
    case BSON_TYPE_NULL:
        return ASH_KIND_NULL;
    case BSON_TYPE_UNDEFINED:
        return ASH_KIND_UNDEFINED;
    default:
        return 0;
    }
}

static bool all_missing(const ash_key_pattern *p, const part_cursor *cursors)
{
    for (uint32_t i = 0; i < p->count; i++) {
        if (!ash__value_is_missing(cursors[i].at) || cursors[i].is_empty_array)
            return false;
    }
    return true;
}

/* One key: where the cursors stand when all are done. */
static int emit(const extraction *x, const part_cursor *cursors)
{
    const ash_key_pattern *p = x->pattern;
    ash_key_set *out = x->out;
    if (p->sparse && all_missing(p, cursors))
        return 0;
    if (out->count == out->capacity) {
        out->capacity = out->capacity == 0 ? 4 : out->capacity * 2;
        out->ends = ash__realloc_array(out->ends, out->capacity, sizeof *out->ends);
    }
    const ash_collation *collation = p->has_collation ? &p->collation : NULL;
    for (uint32_t i = 0; i < p->count; i++) {
        out->kinds |= kind_of(&cursors[i]);
        append_part(&out->bytes, &p->parts[i], &cursors[i], collation);
        /* Looked at for each part: a large value is in every key that an array beside it makes. */
        if (out->bytes.len > ASH_KEYS_MAX_BYTES)
            return ash__fail_server(x->err, ASH_ETOOBIG, ASH_MONGO_CANNOT_BUILD_INDEX_KEYS,
                                    "index keys of one document take more than %d bytes",
                                    ASH_KEYS_MAX_BYTES);
    }
    out->ends[out->count++] = (uint32_t)out->bytes.len;
    return 0;
}

/* The array that stopped the cursors, of which there may be only one: missing if none did. */
static int find_array(const extraction *x, const part_cursor *cursors, ash_value *array)
{
    *array = ASH_VALUE_MISSING;
    const char *first = NULL;
    for (uint32_t i = 0; i < x->pattern->count; i++) {
        const part_cursor *c = &cursors[i];
        const ash_key_part *part = &x->pattern->parts[i];
        if (c->done)
            continue;
        if (part->hashed)
            return ash__fail_server(x->err, ASH_EINVAL, ASH_MONGO_LOCATION_HASHED_INDEX_OF_ARRAY,
                                    "hashed indexes do not support array values: '%s'", part->path);
        /* One array has one place in memory. */
        if (first != NULL && array->data != c->at.data)
            return ash__fail_server(x->err, ASH_EINVAL, ASH_MONGO_CANNOT_INDEX_PARALLEL_ARRAYS,
                                    "cannot index parallel arrays: '%s' and '%s'", first,
                                    part->path);
        *array = c->at;
        first = part->path;
    }
    return 0;
}

/* The element of the array that the cursor's path names by its position, or missing. */
static ash_value find_named(const part_cursor *c)
{
    const char *rest;
    uint32_t index;
    if (c->rest == NULL || !ash__path_index(c->rest, ash__path_part(c->rest, &rest), &index))
        return ASH_VALUE_MISSING;
    return ash__array_at(ash__value_doc(c->at), index);
}

static void step_to_position(part_cursor *c)
{
    ash__path_part(c->rest, &c->rest);
    c->at = c->named;
    c->done = c->rest == NULL;
}

static void step_to_element(part_cursor *c, ash_value element)
{
    /* An array in an array is a value at the path's end, and has no fields before it. */
    bool is_leaf = c->rest == NULL;
    bool leads_on = !is_leaf && element.type == BSON_TYPE_DOCUMENT;
    c->at = is_leaf || leads_on ? element : ASH_VALUE_MISSING;
    c->done = !leads_on;
}

static int expand(const extraction *x, const part_cursor *cursors);

static int extract(const extraction *x, part_cursor *cursors)
{
    ash_value array;
    for (uint32_t i = 0; i < x->pattern->count; i++) {
        if (!cursors[i].done)
            advance(&cursors[i]);
    }
    int rc = find_array(x, cursors, &array);
    if (rc != 0)
        return rc;
    return ash__value_is_missing(array) ? emit(x, cursors) : expand(x, cursors);
}

/* The server refuses, too, what could be a key for the item and another one for the field. */
static int check_ambiguous(const extraction *x, const part_cursor *c, const char *path)
{
    const char *rest;
    size_t len = ash__path_part(c->rest, &rest);
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(c->at)); ash__doc_iter_next(&it);) {
        if (it.value.type == BSON_TYPE_DOCUMENT &&
            !ash__value_is_missing(ash__doc_get_n(ash__value_doc(it.value), c->rest, len)))
            return ash__fail_server(x->err, ASH_EINVAL, ASH_MONGO_LOCATION_AMBIGUOUS_ARRAY_FIELD,
                                    "'%s' names both a position and a field in an array", path);
    }
    return 0;
}

/* Looks up the positions that the waiting paths name; *only_positions: no element but those
 * matters. */
static int look_up_positions(const extraction *x, part_cursor *waiting, bool *only_positions)
{
    *only_positions = true;
    for (uint32_t i = 0; i < x->pattern->count; i++) {
        part_cursor *c = &waiting[i];
        if (c->done)
            continue;
        c->named = find_named(c);
        if (ash__value_is_missing(c->named)) {
            *only_positions = false;
            continue;
        }
        int rc = check_ambiguous(x, c, x->pattern->parts[i].path);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static void step_into(const extraction *x, part_cursor *cursors, ash_value element)
{
    for (uint32_t i = 0; i < x->pattern->count; i++) {
        part_cursor *c = &cursors[i];
        if (c->done)
            continue;
        if (ash__value_is_missing(c->named))
            step_to_element(c, element);
        else
            step_to_position(c);
    }
}

static void step_into_empty(const extraction *x, part_cursor *cursors)
{
    for (uint32_t i = 0; i < x->pattern->count; i++) {
        part_cursor *c = &cursors[i];
        if (c->done)
            continue;
        /* Below an empty array there is no field, which is null; at its end it is a value of its
         * own. */
        c->is_empty_array = c->rest == NULL;
        c->at = ASH_VALUE_MISSING;
        c->done = true;
    }
}

static ash_doc waiting_array(const extraction *x, const part_cursor *cursors)
{
    for (uint32_t i = 0; i < x->pattern->count; i++) {
        if (!cursors[i].done)
            return ash__value_doc(cursors[i].at);
    }
    return ash__doc_empty;
}

static int expand_elements(const extraction *x, const part_cursor *waiting, part_cursor *next)
{
    size_t bytes = x->pattern->count * sizeof *next;
    ash_doc array = waiting_array(x, waiting);
    x->out->multikey = true;
    if (ash__doc_is_empty(array)) {
        memcpy(next, waiting, bytes);
        step_into_empty(x, next);
        return emit(x, next);
    }
    for (ash_doc_iter it = ash__doc_iter(array); ash__doc_iter_next(&it);) {
        memcpy(next, waiting, bytes);
        step_into(x, next, it.value);
        int rc = extract(x, next);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static int expand(const extraction *x, const part_cursor *cursors)
{
    uint32_t count = x->pattern->count;
    /* Positions are looked for in all of an array, for each element of the one around it. */
    int rc = ash__budget_step(x->err);
    if (rc != 0)
        return rc;
    /* On the heap, since arrays nest as deep as documents do. */
    part_cursor *waiting = ash__alloc_array(2 * count, sizeof *waiting);
    bool only_positions;
    memcpy(waiting, cursors, count * sizeof *waiting);
    rc = look_up_positions(x, waiting, &only_positions);
    if (rc == 0 && only_positions) {
        /* All paths that wait name positions: one key, whatever else is in the array. */
        step_into(x, waiting, ASH_VALUE_MISSING);
        rc = extract(x, waiting);
    } else if (rc == 0) {
        rc = expand_elements(x, waiting, waiting + count);
    }
    ash__free(waiting);
    return rc;
}

static int compare_keys(const void *a, const void *b)
{
    const ash_doc *x = a;
    const ash_doc *y = b;
    return ash__compare_bytes(x->data, x->len, y->data, y->len);
}

static void sort_and_unite(ash_key_set *set)
{
    /* Views of the old bytes, which are released only when the sorted ones are complete. */
    ash_doc *keys = ash__alloc_array(set->count, sizeof *keys);
    for (uint32_t i = 0; i < set->count; i++)
        keys[i] = ash__key_set_at(set, i);
    qsort(keys, set->count, sizeof *keys, compare_keys);
    ash_buffer sorted = ASH_BUFFER_INIT;
    ash__buffer_reserve(&sorted, set->bytes.len);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < set->count; i++) {
        if (i > 0 && compare_keys(&keys[i - 1], &keys[i]) == 0)
            continue;
        ash__buffer_append(&sorted, keys[i].data, keys[i].len);
        set->ends[kept++] = (uint32_t)sorted.len;
    }
    ash__free(keys);
    ash__buffer_release(&set->bytes);
    set->bytes = sorted;
    set->count = kept;
}

int ash__keys_extract(const ash_key_pattern *p, ash_doc doc, ash_key_set *out, ash_error *err)
{
    part_cursor cursors[ASH_KEY_MAX_PARTS];
    extraction x = {p, out, err};
    ash__buffer_clear(&out->bytes);
    out->count = 0;
    out->multikey = false;
    out->kinds = 0;
    for (uint32_t i = 0; i < p->count; i++)
        cursors[i] = (part_cursor){.at = ash__value_of_doc(doc), .rest = p->parts[i].path};
    int rc = extract(&x, cursors);
    if (rc != 0) {
        ash__buffer_clear(&out->bytes);
        out->count = 0;
        return rc;
    }
    /* An index has each key of a document once, and in its order. */
    if (out->count > 1)
        sort_and_unite(out);
    return 0;
}

ash_doc ash__key_set_at(const ash_key_set *set, uint32_t i)
{
    ash_assert(i < set->count);
    uint32_t start = i == 0 ? 0 : set->ends[i - 1];
    return (ash_doc){set->bytes.data + start, set->ends[i] - start};
}

void ash__key_set_release(ash_key_set *set)
{
    ash__buffer_release(&set->bytes);
    ash__free(set->ends);
    memset(set, 0, sizeof *set);
}
