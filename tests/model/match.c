/* SPDX-License-Identifier: Apache-2.0 */
#include "match.h"

#include "unsure.h"

#include <string.h>

/* ---- values at a path ---- */

typedef struct walk {
    const mv *operand;
    const char *op;
    const char *options; /* of $regex */
    bool into_leaf;      /* the items of an array at the end of the path count too */
    int position;
} walk;

static bool visit(walk *w, const mv *v, int outer)
{
    if (!match_value(w->op, w->operand, w->options, v))
        return false;
    if (outer >= 0)
        w->position = outer;
    return true;
}

static bool walk_array(walk *w, const mv *array, const char **rest, uint32_t count, int outer);

static bool walk_object(walk *w, const mv *object, const char **path, uint32_t count, int outer)
{
    const mv *v = mv_get(object, path[0]);
    if (v == NULL)
        return visit(w, NULL, outer);
    if (count > 1) {
        if (v->type == BSON_TYPE_DOCUMENT)
            return walk_object(w, v, path + 1, count - 1, outer);
        if (v->type == BSON_TYPE_ARRAY)
            return walk_array(w, v, path + 1, count - 1, outer);
        return visit(w, NULL, outer);
    }
    for (uint32_t i = 0; w->into_leaf && v->type == BSON_TYPE_ARRAY && i < v->count; i++) {
        if (visit(w, v->items[i], outer >= 0 ? outer : (int)i))
            return true;
    }
    return visit(w, v, outer);
}

/* Documents in an array each count; a number in the path may also stand for a place in it. */
static bool walk_array(walk *w, const mv *array, const char **rest, uint32_t count, int outer)
{
    uint32_t wanted;
    bool numeric = is_index(rest[0], &wanted);
    for (uint32_t i = 0; i < array->count; i++) {
        const mv *item = array->items[i];
        int here = outer >= 0 ? outer : (int)i;
        if (item->type == BSON_TYPE_DOCUMENT && walk_object(w, item, rest, count, here))
            return true;
        if (!numeric || wanted != i)
            continue;
        if (count == 1 && visit(w, item, here))
            return true;
        if (count > 1 && item->type == BSON_TYPE_DOCUMENT &&
            walk_object(w, item, rest + 1, count - 1, here))
            return true;
        if (count > 1 && item->type == BSON_TYPE_ARRAY &&
            walk_array(w, item, rest + 1, count - 1, here))
            return true;
    }
    return false;
}

static bool test_path(const mv *doc, const char *path, const char *op, const mv *operand,
                      const char *options, int *position)
{
    bool whole =
        strcmp(op, "$exists") == 0 || strcmp(op, "$size") == 0 || strcmp(op, "$elemMatch") == 0;
    parts p = path_parts(path);
    walk w = {operand, op, options, !whole, -1};
    if (!walk_object(&w, doc, p.at, p.count, -1))
        return false;
    if (strcmp(op, "$elemMatch") == 0 && w.position < 0) {
        const mv *array = doc;
        for (uint32_t i = 0; i < p.count && array != NULL; i++)
            array = mv_get(array, p.at[i]);
        for (uint32_t i = 0; array != NULL && i < array->count && w.position < 0; i++) {
            if (naive_elem_match(array->items[i], operand))
                w.position = (int)i;
        }
    }
    if (w.position >= 0 && position != NULL)
        *position = w.position;
    return true;
}

/* ---- conditions ---- */

bool naive_is_operators(const mv *v)
{
    return v->type == BSON_TYPE_DOCUMENT && v->count > 0 && v->names[0][0] == '$';
}

static const char *options_beside(const mv *conditions)
{
    const mv *options = mv_get(conditions, "$options");
    return options == NULL ? NULL : (const char *)options->data;
}

static bool match_all(const mv *doc, const char *path, const mv *operand, int *position)
{
    for (uint32_t i = 0; i < operand->count; i++) {
        const mv *item = operand->items[i];
        bool met;
        if (naive_is_operators(item))
            met = test_path(doc, path, "$elemMatch", item->items[0], NULL, position);
        else if (item->type == BSON_TYPE_REGEX)
            met = test_path(doc, path, "$regex", item, NULL, position);
        else
            met = test_path(doc, path, "$eq", item, NULL, position);
        if (!met)
            return false;
    }
    return operand->count > 0;
}

static bool match_operators(const mv *doc, const char *path, const mv *conditions, int *position);

static bool match_one(const mv *doc, const char *path, const mv *conditions, uint32_t i,
                      int *position)
{
    const char *op = conditions->names[i];
    const mv *operand = conditions->items[i];
    if (strcmp(op, "$options") == 0)
        return true;
    if (strcmp(op, "$ne") == 0)
        return !test_path(doc, path, "$eq", operand, NULL, NULL);
    if (strcmp(op, "$nin") == 0)
        return !test_path(doc, path, "$in", operand, NULL, NULL);
    if (strcmp(op, "$not") == 0 && operand->type == BSON_TYPE_REGEX)
        return !test_path(doc, path, "$regex", operand, NULL, NULL);
    if (strcmp(op, "$not") == 0)
        return !match_operators(doc, path, operand, NULL);
    if (strcmp(op, "$all") == 0)
        return match_all(doc, path, operand, position);
    if (strcmp(op, "$exists") == 0)
        return test_path(doc, path, op, operand, NULL, NULL) == match_truth(operand);
    return test_path(doc, path, op, operand, options_beside(conditions), position);
}

static bool match_operators(const mv *doc, const char *path, const mv *conditions, int *position)
{
    for (uint32_t i = 0; i < conditions->count; i++) {
        if (!match_one(doc, path, conditions, i, position))
            return false;
    }
    return true;
}

static bool match_field(const mv *doc, const char *path, const mv *condition, int *position)
{
    if (naive_is_operators(condition))
        return match_operators(doc, path, condition, position);
    if (condition->type == BSON_TYPE_REGEX)
        return test_path(doc, path, "$regex", condition, NULL, position);
    return test_path(doc, path, "$eq", condition, NULL, position);
}

static bool match_logical(const mv *doc, const char *op, const mv *filters, int *position)
{
    bool is_and = strcmp(op, "$and") == 0;
    for (uint32_t i = 0; i < filters->count; i++) {
        bool met = naive_match(doc, filters->items[i], op[1] == 'n' ? NULL : position);
        if (met != is_and)
            return op[1] == 'o'; /* a miss of $and and a hit of $nor are misses */
    }
    return op[1] != 'o';
}

bool naive_match(const mv *doc, const mv *filter, int *position)
{
    for (uint32_t i = 0; i < filter->count; i++) {
        const char *name = filter->names[i];
        const mv *condition = filter->items[i];
        bool met = true;
        if (strcmp(name, "$and") == 0 || strcmp(name, "$or") == 0 || strcmp(name, "$nor") == 0)
            met = match_logical(doc, name, condition, position);
        else if (strcmp(name, "$expr") == 0)
            met = naive_truth(naive_eval(doc, condition));
        else if (strcmp(name, "$comment") != 0)
            met = match_field(doc, name, condition, position);
        if (!met)
            return false;
    }
    return true;
}

/* ---- items of arrays ---- */

static bool item_condition(const mv *item, const mv *conditions, uint32_t i);

static bool item_meets(const mv *item, const mv *conditions)
{
    for (uint32_t i = 0; i < conditions->count; i++) {
        if (!item_condition(item, conditions, i))
            return false;
    }
    return true;
}

static bool item_condition(const mv *item, const mv *conditions, uint32_t i)
{
    const char *op = conditions->names[i];
    const mv *operand = conditions->items[i];
    if (strcmp(op, "$options") == 0)
        return true;
    if (strcmp(op, "$ne") == 0)
        return !match_value("$eq", operand, NULL, item);
    if (strcmp(op, "$nin") == 0)
        return !match_value("$in", operand, NULL, item);
    if (strcmp(op, "$not") == 0 && operand->type == BSON_TYPE_REGEX)
        return !match_value("$regex", operand, NULL, item);
    if (strcmp(op, "$not") == 0)
        return !item_meets(item, operand);
    if (strcmp(op, "$exists") == 0)
        return match_truth(operand);
    if (strcmp(op, "$all") == 0) {
        naive_unsure = true;
        return false;
    }
    return match_value(op, operand, options_beside(conditions), item);
}

bool naive_elem_match(const mv *item, const mv *conditions)
{
    const char *first = conditions->count > 0 ? conditions->names[0] : "";
    if (first[0] == '$' && strcmp(first, "$and") != 0 && strcmp(first, "$or") != 0 &&
        strcmp(first, "$nor") != 0)
        return item_meets(item, conditions);
    return mv_is_container(item) && naive_match(item, conditions, NULL);
}
