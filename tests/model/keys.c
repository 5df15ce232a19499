/* SPDX-License-Identifier: Apache-2.0 */
#include "naive.h"

#include "unsure.h"

#include <string.h>

/* The keys of a document: arrays give one for each item, fields that are missing give null. */

typedef struct field {
    const char **rest;
    uint32_t left; /* parts not yet followed; 0 with value set: done */
    bool missing;
    mv *value;
} field;

static const mv nothing = {.type = BSON_TYPE_DOCUMENT};

static void emit(keys *out, const field *fields)
{
    mv ***tuples = pool_get((out->count + 1) * sizeof *tuples);
    bool *found = pool_get((out->count + 1) * sizeof *found);
    mv **tuple = pool_get(out->width * sizeof *tuple);
    for (uint32_t i = 0; i < out->count; i++)
        tuples[i] = out->tuples[i], found[i] = out->found[i];
    for (uint32_t i = 0; i < out->width; i++) {
        tuple[i] = fields[i].value;
        found[out->count] |= !fields[i].missing;
    }
    tuples[out->count++] = tuple;
    out->tuples = tuples;
    out->found = found;
}

/* Follows the path until its value or an array, which is returned. */
static const mv *follow(field *f, const mv *object)
{
    const mv *at = object;
    uint32_t index;
    while (f->left > 0) {
        const mv *v = mv_get(at, f->rest[0]);
        f->rest++;
        f->left--;
        if (v == NULL || (f->left > 0 && !mv_is_container(v))) {
            f->value = mv_new(BSON_TYPE_NULL);
            f->missing = true;
            f->left = 0;
            return NULL;
        }
        /* A number after an array names a place in it. */
        while (v->type == BSON_TYPE_ARRAY && f->left > 0 && is_index(f->rest[0], &index) &&
               index < v->count) {
            v = v->items[index];
            f->rest++;
            f->left--;
        }
        if (v->type == BSON_TYPE_ARRAY)
            return v;
        if (f->left > 0 && v->type != BSON_TYPE_DOCUMENT)
            return follow(f, &nothing);
        if (f->left == 0)
            f->value = mv_copy(v);
        at = v;
    }
    return NULL;
}

static int generate(const field *fields, const mv *object, keys *out)
{
    uint32_t width = out->width;
    field *now = pool_get(width * sizeof *now);
    bool *in_array = pool_get(width * sizeof *in_array);
    const mv *array = NULL;
    memcpy(now, fields, width * sizeof *now);
    for (uint32_t i = 0; i < width; i++) {
        const mv *met = now[i].value == NULL ? follow(&now[i], object) : NULL;
        if (met != NULL && array != NULL && met != array)
            return 171;
        in_array[i] = met != NULL;
        array = met != NULL ? met : array;
    }
    if (array == NULL) {
        emit(out, now);
        return 0;
    }
    for (uint32_t k = 0; k < array->count || k == 0; k++) {
        mv *item = array->count > 0 ? array->items[k] : mv_new(BSON_TYPE_UNDEFINED);
        field *next = pool_get(width * sizeof *next);
        memcpy(next, now, width * sizeof *next);
        for (uint32_t i = 0; i < width; i++) {
            if (in_array[i] && next[i].left == 0)
                next[i].value = item;
        }
        int code = generate(next, item->type == BSON_TYPE_DOCUMENT ? item : &nothing, out);
        if (code != 0)
            return code;
    }
    return 0;
}

int naive_keys(const mv *doc, const char **paths, uint32_t count, keys *out)
{
    field *fields = pool_get(count * sizeof *fields);
    out->count = 0;
    out->width = count;
    out->tuples = NULL;
    out->found = NULL;
    for (uint32_t i = 0; i < count; i++) {
        parts p = path_parts(paths[i]);
        fields[i] = (field){p.at, p.count, false, NULL};
    }
    return generate(fields, doc, out);
}

int naive_sort_compare(mv **a, mv **b, const mv *sort)
{
    for (uint32_t i = 0; i < sort->count; i++) {
        int c = naive_compare(a[i], b[i]);
        if (c != 0)
            return sort->items[i]->i < 0 ? -c : c;
    }
    return 0;
}

mv **naive_sort_key(const mv *doc, const mv *sort)
{
    keys all;
    if (naive_keys(doc, sort->names, sort->count, &all) != 0)
        return NULL;
    mv **best = all.tuples[0];
    for (uint32_t i = 1; i < all.count; i++) {
        if (naive_sort_compare(all.tuples[i], best, sort) < 0)
            best = all.tuples[i];
    }
    return best;
}

/* ---- distinct ---- */

static void add_value(mv *values, mv *v)
{
    for (uint32_t i = 0; i < values->count; i++) {
        if (naive_compare(values->items[i], v) == 0)
            return;
    }
    mv_put(values, "", v);
}

static void collect(const mv *at, const char **path, uint32_t count, mv *values)
{
    if (at->type == BSON_TYPE_ARRAY) {
        for (uint32_t i = 0; i < at->count; i++) {
            if (count == 0)
                add_value(values, at->items[i]);
            else if (at->items[i]->type == BSON_TYPE_DOCUMENT)
                collect(at->items[i], path, count, values);
        }
        return;
    }
    if (count == 0) {
        add_value(values, mv_copy(at));
        return;
    }
    const mv *v = at->type == BSON_TYPE_DOCUMENT ? mv_get(at, path[0]) : NULL;
    if (v != NULL)
        collect(v, path + 1, count - 1, values);
}

void naive_distinct(const mv *doc, const char *path, mv *values)
{
    parts p = path_parts(path);
    collect(doc, p.at, p.count, values);
}
