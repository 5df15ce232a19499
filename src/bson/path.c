/* SPDX-License-Identifier: Apache-2.0 */
/* The walk of queries: at an array, a name goes on into each document in it, and a number into the
 * item at that position, too. */
#include "bson/path.h"

#include "base/budget.h"
#include "base/mem.h"

#include <string.h>

typedef struct walker {
    bool expand_leaf;
    ash_path_visit visit;
    void *ctx;
} walker;

/* How the walk came here: the visitor sees it with the value. */
typedef struct trail {
    bool through_array;
    int32_t array_index;
} trail;

bool ash__path_index(const char *part, size_t len, uint32_t *index)
{
    /* Nine digits fit 32 bits, whichever they are, and no array has more items. */
    if (len == 0 || len > 9 || (len > 1 && part[0] == '0'))
        return false;
    uint32_t n = 0;
    for (size_t i = 0; i < len; i++) {
        if (part[i] < '0' || part[i] > '9')
            return false;
        n = n * 10 + (uint32_t)(part[i] - '0');
    }
    *index = n;
    return true;
}

size_t ash__path_part(const char *path, const char **rest)
{
    const char *dot = strchr(path, '.');
    if (dot == NULL) {
        size_t len = strlen(path);
        *rest = NULL;
        return len;
    }
    *rest = dot + 1;
    return (size_t)(dot - path);
}

static bool emit(const walker *w, ash_value v, trail t, bool is_element)
{
    ash_path_hit hit = {v, t.through_array, t.array_index, is_element};
    return w->visit(w->ctx, &hit);
}

static trail into_array(trail t, uint32_t index)
{
    t.through_array = true;
    if (t.array_index < 0)
        t.array_index = (int32_t)index;
    return t;
}

static bool visit_leaf(const walker *w, ash_value v, trail t)
{
    /* Before the array as a whole, so that a match tells which element it was. */
    if (w->expand_leaf && v.type == BSON_TYPE_ARRAY) {
        uint32_t index = 0;
        for (ash_doc_iter it = ash__doc_iter(ash__value_doc(v)); ash__doc_iter_next(&it);) {
            if (!emit(w, it.value, into_array(t, index++), true))
                return false;
        }
    }
    return emit(w, v, t, false);
}

static bool walk_doc(const walker *w, ash_doc doc, const char *path, trail t);
static bool walk_array(const walker *w, ash_doc array, const char *path, trail t);

/* The array's element that the path names by its position. */
static bool walk_position(const walker *w, ash_value element, const char *rest, trail t)
{
    if (rest == NULL)
        return emit(w, element, t, false);
    if (element.type == BSON_TYPE_DOCUMENT)
        return walk_doc(w, ash__value_doc(element), rest, t);
    if (element.type == BSON_TYPE_ARRAY)
        return walk_array(w, ash__value_doc(element), rest, t);
    return true;
}

static bool walk_array(const walker *w, ash_doc array, const char *path, trail t)
{
    const char *rest;
    /* A number is both a position and a name: with each array on the way there may be twice as many
     * ways through the document. */
    if (ash__budget_step(NULL) != 0)
        return false;
    size_t part_len = ash__path_part(path, &rest);
    uint32_t position = 0;
    bool by_position = ash__path_index(path, part_len, &position);
    uint32_t index = 0;
    for (ash_doc_iter it = ash__doc_iter(array); ash__doc_iter_next(&it); index++) {
        if (it.value.type == BSON_TYPE_DOCUMENT &&
            !walk_doc(w, ash__value_doc(it.value), path, into_array(t, index)))
            return false;
        if (by_position && index == position && !walk_position(w, it.value, rest, t))
            return false;
    }
    return true;
}

static bool walk_doc(const walker *w, ash_doc doc, const char *path, trail t)
{
    for (;;) {
        const char *rest;
        size_t part_len = ash__path_part(path, &rest);
        ash_value v = ash__doc_get_n(doc, path, part_len);
        if (rest == NULL)
            return visit_leaf(w, v, t);
        if (v.type == BSON_TYPE_ARRAY)
            return walk_array(w, ash__value_doc(v), rest, t);
        if (v.type != BSON_TYPE_DOCUMENT)
            /* Conditions that a missing field fulfils want to hear of it. */
            return emit(w, ASH_VALUE_MISSING, t, false);
        doc = ash__value_doc(v);
        path = rest;
    }
}

bool ash__path_walk(ash_doc doc, const char *path, bool expand_leaf, ash_path_visit visit,
                    void *ctx)
{
    walker w = {expand_leaf, visit, ctx};
    return walk_doc(&w, doc, path, (trail){false, -1});
}

ash_value ash__array_at(ash_doc array, uint32_t index)
{
    for (ash_doc_iter it = ash__doc_iter(array); ash__doc_iter_next(&it); index--) {
        if (index == 0)
            return it.value;
    }
    return ASH_VALUE_MISSING;
}

ash_value ash__path_get(ash_doc doc, const char *path)
{
    ash_value v = ash__value_of_doc(doc);
    /* A plain way down: a name of a document or a position in an array, and nothing is spread
     * out. */
    while (path != NULL) {
        const char *rest;
        size_t len = ash__path_part(path, &rest);
        uint32_t index;
        if (v.type == BSON_TYPE_DOCUMENT)
            v = ash__doc_get_n(ash__value_doc(v), path, len);
        else if (v.type == BSON_TYPE_ARRAY && ash__path_index(path, len, &index))
            v = ash__array_at(ash__value_doc(v), index);
        else
            return ASH_VALUE_MISSING;
        path = rest;
    }
    return v;
}

bool ash__path_overlaps(const char *a, const char *b)
{
    size_t a_len = strlen(a);
    size_t b_len = strlen(b);
    size_t shorter = a_len < b_len ? a_len : b_len;
    if (memcmp(a, b, shorter) != 0)
        return false;
    return a_len == b_len || (a_len > b_len ? a[shorter] : b[shorter]) == '.';
}

int ash__path_check(const char *path, ash_error *err)
{
    /* "a..b", ".a" and "a." have a part without a name. */
    for (const char *rest = path; rest != NULL;) {
        if (ash__path_part(rest, &rest) == 0)
            return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_EMPTY_FIELD_NAME,
                                    "path '%s' has an empty field name", path);
    }
    return 0;
}
