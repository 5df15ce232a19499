/* SPDX-License-Identifier: Apache-2.0 */
#include "naive.h"

#include "match.h"
#include "unsure.h"

#include <string.h>

/* A projection as a list of whole paths. */
typedef struct rule {
    const char *path;
    const mv *what;
    bool includes, excludes, slices, matches;
} rule;

typedef struct rules {
    rule at[32];
    uint32_t count;
    bool inclusion, with_id;
} rules;

static void flatten(rules *r, const char *prefix, const mv *spec)
{
    for (uint32_t i = 0; i < spec->count && r->count < 32; i++) {
        const mv *what = spec->items[i];
        const char *path = prefix == NULL ? pool_text(spec->names[i])
                                          : pool_print("%s.%s", prefix, spec->names[i]);
        if (what->type == BSON_TYPE_DOCUMENT && !naive_is_operators(what)) {
            flatten(r, path, what);
            continue;
        }
        rule *one = &r->at[r->count++];
        *one = (rule){.path = path, .what = what};
        one->slices = naive_is_operators(what) && strcmp(what->names[0], "$slice") == 0;
        one->matches = naive_is_operators(what) && !one->slices;
        one->includes = !naive_is_operators(what) && match_truth(what);
        one->excludes = !naive_is_operators(what) && !one->includes;
    }
}

static void settle(rules *r)
{
    bool others = false, slices = false, matches = false, includes = false;
    r->with_id = true;
    for (uint32_t i = 0; i < r->count; i++) {
        rule *one = &r->at[i];
        bool is_id = strcmp(one->path, "_id") == 0;
        if (is_id && one->excludes)
            r->with_id = false;
        if (!is_id && (one->includes || one->matches))
            r->inclusion = true;
        others |= !(is_id && one->includes);
        slices |= one->slices;
        matches |= one->matches;
        includes |= !is_id && one->includes;
    }
    naive_unsure |= slices && matches && !includes; /* one keeps other fields, one does not */
    r->inclusion |= !others;
}

static const rule *rule_for(const rules *r, const char *path)
{
    for (uint32_t i = 0; i < r->count; i++) {
        if (strcmp(r->at[i].path, path) == 0)
            return &r->at[i];
    }
    return NULL;
}

static bool rules_below(const rules *r, const char *path)
{
    size_t len = strlen(path);
    for (uint32_t i = 0; i < r->count; i++) {
        if (strncmp(r->at[i].path, path, len) == 0 && r->at[i].path[len] == '.')
            return true;
    }
    return false;
}

static mv *slice(const mv *array, const mv *operand)
{
    int64_t skip = 0, limit, count = array->count;
    mv *out = mv_new(BSON_TYPE_ARRAY);
    if (operand->type == BSON_TYPE_ARRAY) {
        naive_whole(operand->items[0], &skip);
        naive_whole(operand->items[1], &limit);
    } else {
        naive_whole(operand, &limit);
        skip = limit < 0 ? limit : 0;
        limit = limit < 0 ? -limit : limit;
    }
    if (skip < 0)
        skip = count + skip < 0 ? 0 : count + skip;
    for (int64_t i = skip; i < count && i - skip < limit; i++)
        mv_put(out, "", array->items[i]);
    return out;
}

static mv *project(const rules *r, const char *path, const mv *v);

static mv *project_array(const rules *r, const char *path, const mv *array)
{
    mv *out = mv_new(BSON_TYPE_ARRAY);
    for (uint32_t i = 0; i < array->count; i++) {
        mv *item = array->items[i];
        if (item->type == BSON_TYPE_DOCUMENT)
            mv_put(out, "", project(r, path, item));
        else if (item->type == BSON_TYPE_ARRAY)
            mv_put(out, "", project_array(r, path, item));
        else if (!r->inclusion)
            mv_put(out, "", item);
    }
    return out;
}

static mv *project_field(const rules *r, const char *path, mv *v)
{
    const rule *one = rule_for(r, path);
    if (path[0] == '_' && strcmp(path, "_id") == 0)
        return r->with_id ? v : NULL;
    if (one != NULL && one->slices)
        return v->type == BSON_TYPE_ARRAY ? slice(v, one->what->items[0]) : v;
    if (one != NULL)
        return one->includes ? v : NULL;
    if (!rules_below(r, path))
        return r->inclusion ? NULL : v;
    if (v->type == BSON_TYPE_DOCUMENT)
        return project(r, path, v);
    if (v->type == BSON_TYPE_ARRAY)
        return project_array(r, path, v);
    return r->inclusion ? NULL : v;
}

static mv *project(const rules *r, const char *path, const mv *v)
{
    mv *out = mv_new(BSON_TYPE_DOCUMENT);
    for (uint32_t i = 0; i < v->count; i++) {
        const char *name = path == NULL ? v->names[i] : pool_print("%s.%s", path, v->names[i]);
        mv *field = project_field(r, name, v->items[i]);
        if (field != NULL)
            mv_put(out, v->names[i], field);
    }
    return out;
}

/* The first item that meets the conditions, behind all other fields. */
static void add_match(mv *out, const mv *doc, const rule *one)
{
    const mv *array = mv_get(doc, one->path);
    for (uint32_t i = 0; array != NULL && array->type == BSON_TYPE_ARRAY && i < array->count; i++) {
        if (naive_elem_match(array->items[i], one->what->items[0])) {
            mv *found = mv_new(BSON_TYPE_ARRAY);
            mv_put(found, "", array->items[i]);
            mv_put(out, one->path, found);
            return;
        }
    }
}

/* {"a.$": 1}: of the array the item that was met; what is no array stays, if it is nowhere said. */
static mv *project_met(const mv *doc, const mv *projection, int position)
{
    mv *plain = mv_new(BSON_TYPE_DOCUMENT);
    const char *path = pool_text(projection->names[0]);
    *strchr(path, '.') = '\0';
    for (uint32_t i = 0; i < projection->count; i++)
        mv_put(plain, i == 0 ? path : projection->names[i], projection->items[i]);
    mv *out = naive_project(doc, plain, -1);
    const mv *array = mv_get(out, path);
    naive_unsure |= array == NULL || array->type != BSON_TYPE_ARRAY;
    if (naive_unsure || position < 0 || (uint32_t)position >= array->count)
        return NULL;
    mv *list = mv_new(BSON_TYPE_ARRAY);
    mv_put(list, "", array->items[position]);
    mv_put(out, path, list);
    return out;
}

mv *naive_project(const mv *doc, const mv *projection, int position)
{
    rules r = {.count = 0};
    if (strstr(projection->names[0], ".$") != NULL)
        return project_met(doc, projection, position);
    flatten(&r, NULL, projection);
    settle(&r);
    mv *out = project(&r, NULL, doc);
    for (uint32_t i = 0; i < r.count; i++) {
        if (r.at[i].matches)
            add_match(out, doc, &r.at[i]);
    }
    return out;
}
