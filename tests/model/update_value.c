/* SPDX-License-Identifier: Apache-2.0 */
#include "update.h"

#include "match.h"
#include "unsure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static mv *arithmetic(change *c, const char *op, const mv *operand, mv *old)
{
    bool add = strcmp(op, "$inc") == 0;
    if (old == NULL) {
        mv *zero = mv_int(0);
        if (add)
            return mv_copy(operand);
        mv *v = naive_multiply(zero, operand);
        /* "Zero of the type of the multiplier": its sign and exponent are left open. */
        naive_unsure |= v->type == BSON_TYPE_DECIMAL128 ||
                        (v->type == BSON_TYPE_DOUBLE &&
                         (!(operand->d >= 0 && v->d == 0) || signbit(operand->d)));
        return v;
    }
    if (!mv_is_number(old)) {
        update_fail(c, 14);
        return old;
    }
    mv *v = add ? naive_add(old, operand) : naive_multiply(old, operand);
    if (v == NULL)
        update_fail(c, 2);
    /* -0 + 0: whether that is a change is left open. */
    naive_unsure |= v != NULL && old->type == v->type && naive_compare(old, v) == 0 &&
                    !mv_is_container(v) && v->type == BSON_TYPE_DOUBLE &&
                    memcmp(&v->d, &old->d, sizeof v->d) != 0;
    return v;
}

static mv *bitwise(change *c, const mv *operand, mv *old)
{
    const char *op = operand->names[0];
    const mv *mask = operand->items[0];
    if (old == NULL) {
        old = mv_new(mask->type);
    } else if (old->type != BSON_TYPE_INT32 && old->type != BSON_TYPE_INT64) {
        update_fail(c, 2);
        return old;
    }
    mv *v = mv_new(old->type == BSON_TYPE_INT64 ? old->type : mask->type);
    v->i = op[0] == 'a' ? old->i & mask->i : op[0] == 'o' ? old->i | mask->i : old->i ^ mask->i;
    return v;
}

mv *update_value(change *c, const char *op, const mv *operand, mv *old)
{
    if (strcmp(op, "$set") == 0 || strcmp(op, "$setOnInsert") == 0)
        return mv_copy(operand);
    if (strcmp(op, "$unset") == 0)
        return NULL;
    if (strcmp(op, "$inc") == 0 || strcmp(op, "$mul") == 0)
        return arithmetic(c, op, operand, old);
    if (strcmp(op, "$bit") == 0)
        return bitwise(c, operand, old);
    if (strcmp(op, "$min") == 0 || strcmp(op, "$max") == 0) {
        int order = old == NULL ? -1 : naive_compare(operand, old);
        if (op[2] == 'a')
            order = old == NULL ? -1 : -order;
        return order < 0 ? mv_copy(operand) : old;
    }
    return update_list(c, op, operand, old);
}

/* ---- arrays ---- */

static const mv *push_order; /* of the sort that runs */

static int compare_items(const mv *a, const mv *b)
{
    static const mv null = {.type = BSON_TYPE_NULL};
    if (push_order->type != BSON_TYPE_DOCUMENT) {
        int c = naive_compare(a, b);
        return push_order->i < 0 ? -c : c;
    }
    for (uint32_t i = 0; i < push_order->count; i++) {
        const mv *x = a, *y = b;
        parts p = path_parts(push_order->names[i]);
        for (uint32_t k = 0; k < p.count; k++) {
            x = x != NULL && x->type == BSON_TYPE_DOCUMENT ? mv_get(x, p.at[k]) : NULL;
            y = y != NULL && y->type == BSON_TYPE_DOCUMENT ? mv_get(y, p.at[k]) : NULL;
        }
        int c = naive_compare(x == NULL ? &null : x, y == NULL ? &null : y);
        if (c != 0)
            return push_order->items[i]->i < 0 ? -c : c;
    }
    return 0;
}

/* Stable. */
static void sort_items(mv *array, const mv *order)
{
    push_order = order;
    for (uint32_t i = 1; i < array->count; i++) {
        for (uint32_t k = i; k > 0 && compare_items(array->items[k - 1], array->items[k]) > 0;
             k--) {
            mv *swap = array->items[k];
            array->items[k] = array->items[k - 1];
            array->items[k - 1] = swap;
        }
    }
}

static mv *push(const mv *operand, mv *array)
{
    const mv *each = naive_is_operators(operand) ? mv_get(operand, "$each") : NULL;
    mv *out = mv_copy(array);
    if (each == NULL) {
        mv_put(out, "", mv_copy(operand));
        return out;
    }
    const mv *position = mv_get(operand, "$position"), *slice = mv_get(operand, "$slice");
    const mv *sort = mv_get(operand, "$sort");
    int64_t at = out->count;
    if (position != NULL && position->i < at)
        at = position->i >= 0 ? position->i : at + position->i < 0 ? 0 : at + position->i;
    for (uint32_t i = 0; i < each->count; i++)
        mv_insert(out, (uint32_t)at + i, mv_copy(each->items[i]));
    if (sort != NULL)
        sort_items(out, sort);
    while (slice != NULL && out->count > (uint64_t)llabs(slice->i))
        mv_remove(out, slice->i < 0 ? 0 : out->count - 1);
    return out;
}

static bool has(const mv *array, const mv *v)
{
    for (uint32_t i = 0; i < array->count; i++) {
        if (naive_compare(array->items[i], v) == 0)
            return true;
    }
    return false;
}

static mv *add_to_set(const mv *operand, mv *array)
{
    const mv *each = naive_is_operators(operand) ? mv_get(operand, "$each") : NULL;
    mv *out = mv_copy(array);
    for (uint32_t i = 0; i < (each == NULL ? 1 : each->count); i++) {
        const mv *v = each == NULL ? operand : each->items[i];
        if (!has(out, v))
            mv_put(out, "", mv_copy(v));
    }
    return out;
}

static bool pulled(const mv *operand, const mv *item)
{
    bool whole = operand->type == BSON_TYPE_DOCUMENT && operand->count > 0 &&
                 (strcmp(operand->names[0], "$and") == 0 || strcmp(operand->names[0], "$or") == 0 ||
                  strcmp(operand->names[0], "$nor") == 0);
    if ((naive_is_operators(operand) && !whole) || operand->type == BSON_TYPE_REGEX) {
        mv *box = mv_new(BSON_TYPE_DOCUMENT), *filter = mv_new(BSON_TYPE_DOCUMENT);
        mv_put(box, "x", mv_copy(item));
        mv_put(filter, "x", mv_copy(operand));
        return naive_match(box, filter, NULL);
    }
    if (operand->type == BSON_TYPE_DOCUMENT)
        return item->type == BSON_TYPE_DOCUMENT && naive_match(item, operand, NULL);
    return naive_compare(operand, item) == 0;
}

static mv *pull(const char *op, const mv *operand, mv *array)
{
    mv *out = mv_new(BSON_TYPE_ARRAY);
    for (uint32_t i = 0; i < array->count; i++) {
        mv *item = array->items[i];
        if (strcmp(op, "$pullAll") == 0 ? !has(operand, item) : !pulled(operand, item))
            mv_put(out, "", item);
    }
    return out;
}

mv *update_list(change *c, const char *op, const mv *operand, mv *old)
{
    bool makes = strcmp(op, "$push") == 0 || strcmp(op, "$addToSet") == 0;
    if (old == NULL)
        return !makes ? NULL : update_list(c, op, operand, mv_new(BSON_TYPE_ARRAY));
    if (old->type != BSON_TYPE_ARRAY) {
        update_fail(c, strcmp(op, "$pop") == 0 ? 14 : 2);
        return old;
    }
    if (strcmp(op, "$push") == 0)
        return push(operand, old);
    if (strcmp(op, "$addToSet") == 0)
        return add_to_set(operand, old);
    if (strncmp(op, "$pull", 5) == 0)
        return pull(op, operand, old);
    mv *out = mv_copy(old);
    if (out->count > 0)
        mv_remove(out, operand->i < 0 ? 0 : out->count - 1);
    return out;
}
