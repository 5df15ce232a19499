/* SPDX-License-Identifier: Apache-2.0 */
#include "naive.h"

#include "unsure.h"

#include <string.h>

/* ---- "$a.b" ---- */

static mv *at_path(const mv *v, const char **path, uint32_t count)
{
    if (count == 0)
        return mv_copy(v);
    if (v->type == BSON_TYPE_DOCUMENT) {
        const mv *field = mv_get(v, path[0]);
        return field == NULL ? NULL : at_path(field, path + 1, count - 1);
    }
    if (v->type != BSON_TYPE_ARRAY)
        return NULL;
    /* What its documents have there; arrays in arrays are passed over. */
    mv *found = mv_new(BSON_TYPE_ARRAY);
    for (uint32_t i = 0; i < v->count; i++) {
        mv *item =
            v->items[i]->type == BSON_TYPE_DOCUMENT ? at_path(v->items[i], path, count) : NULL;
        if (item != NULL)
            mv_put(found, "", item);
    }
    return found;
}

static mv *variable(const mv *doc, const char *text)
{
    parts p = path_parts(text + 1);
    return strcmp(text, "$$ROOT") == 0 ? mv_copy(doc) : at_path(doc, p.at, p.count);
}

/* ---- operators ---- */

static bool is_nothing(const mv *v)
{
    return v == NULL || v->type == BSON_TYPE_NULL || v->type == BSON_TYPE_UNDEFINED;
}

bool naive_truth(const mv *v)
{
    if (is_nothing(v))
        return false;
    if (v->type == BSON_TYPE_BOOL)
        return v->i != 0;
    return !mv_is_number(v) || naive_number_compare(v, mv_int(0)) != 0;
}

/* A missing field lies between MinKey and null. */
static int compare(const mv *a, const mv *b)
{
    const mv *there = a != NULL ? a : b;
    if (a == NULL && b == NULL)
        return 0;
    if (a != NULL && b != NULL)
        return naive_compare(a, b);
    naive_unsure |= there->type == BSON_TYPE_UNDEFINED;
    int order = there->type == BSON_TYPE_MINKEY ? 1 : -1;
    return a == NULL ? order : -order;
}

static mv *truth(bool b)
{
    mv *v = mv_new(BSON_TYPE_BOOL);
    v->i = b;
    return v;
}

static mv *compared(const char *op, int order)
{
    if (strcmp(op, "$cmp") == 0)
        return mv_int(order < 0 ? -1 : order > 0);
    if (strcmp(op, "$eq") == 0)
        return truth(order == 0);
    if (strcmp(op, "$ne") == 0)
        return truth(order != 0);
    bool or_equal = strlen(op) == 4 && order == 0;
    return truth(or_equal || (op[1] == 'g' ? order > 0 : order < 0));
}

static mv *logical(const mv *doc, const char *op, const mv *list)
{
    bool is_and = strcmp(op, "$and") == 0;
    for (uint32_t i = 0; i < list->count; i++)
        if (naive_truth(naive_eval(doc, list->items[i])) != is_and)
            return truth(!is_and);
    return truth(is_and);
}

static mv *operation(const mv *doc, const char *op, const mv *list)
{
    if (strcmp(op, "$literal") == 0)
        return mv_copy(list);
    if (strcmp(op, "$and") == 0 || strcmp(op, "$or") == 0)
        return logical(doc, op, list);
    mv *first = naive_eval(doc, list->items[0]);
    if (strcmp(op, "$not") == 0)
        return truth(!naive_truth(first));
    if (strcmp(op, "$ifNull") == 0)
        return is_nothing(first) ? naive_eval(doc, list->items[1]) : first;
    if (strcmp(op, "$cond") == 0)
        return naive_eval(doc, list->items[naive_truth(first) ? 1 : 2]);
    return compared(op, compare(first, naive_eval(doc, list->items[1])));
}

mv *naive_eval(const mv *doc, const mv *expr)
{
    if (expr->type == BSON_TYPE_UTF8 && expr->len > 0 && expr->data[0] == '$')
        return variable(doc, (const char *)expr->data);
    if (naive_is_operators(expr))
        return operation(doc, expr->names[0], expr->items[0]);
    if (expr->type != BSON_TYPE_ARRAY)
        return mv_copy(expr);
    mv *list = mv_new(BSON_TYPE_ARRAY);
    for (uint32_t i = 0; i < expr->count; i++) {
        mv *item = naive_eval(doc, expr->items[i]);
        mv_put(list, "", item != NULL ? item : mv_new(BSON_TYPE_NULL));
    }
    return list;
}

/* ---- updates by a pipeline ---- */

static void set_fields(mv **doc, const mv *fields)
{
    mv *after = mv_copy(*doc);
    for (uint32_t i = 0; i < fields->count; i++) {
        mv *v = naive_eval(*doc, fields->items[i]);
        int place = mv_find(after, fields->names[i]);
        if (v != NULL)
            mv_put(after, fields->names[i], v);
        else if (place >= 0)
            mv_remove(after, (uint32_t)place);
    }
    *doc = after;
}

static void unset_fields(mv *doc, const mv *names)
{
    for (uint32_t i = 0; i < names->count; i++) {
        int place = mv_find(doc, (const char *)names->items[i]->data);
        if (place >= 0)
            mv_remove(doc, (uint32_t)place);
    }
}

void naive_pipeline(change *c, const mv *stages)
{
    const mv *id = mv_get(c->doc, "_id");
    for (uint32_t i = 0; i < stages->count && !c->failed; i++) {
        const char *stage = stages->items[i]->names[0];
        const mv *spec = stages->items[i]->items[0];
        if (strcmp(stage, "$set") == 0) {
            set_fields(&c->doc, spec);
        } else if (strcmp(stage, "$unset") == 0) {
            unset_fields(c->doc, spec);
        } else {
            mv *root = naive_eval(c->doc, spec);
            c->failed = root == NULL || root->type != BSON_TYPE_DOCUMENT;
            c->code = c->failed ? 40228 : 0;
            c->doc = c->failed ? c->doc : root;
        }
    }
    /* A document keeps its _id. */
    if (!c->failed && id != NULL && mv_get(c->doc, "_id") == NULL) {
        mv *doc = mv_new(BSON_TYPE_DOCUMENT);
        mv_put(doc, "_id", mv_copy(id));
        for (uint32_t i = 0; i < c->doc->count; i++)
            mv_put(doc, c->doc->names[i], c->doc->items[i]);
        c->doc = doc;
    }
}
