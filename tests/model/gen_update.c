/* SPDX-License-Identifier: Apache-2.0 */
#include "gen.h"

#include <string.h>

static mv *number(rng *r)
{
    mv *v;
    do
        v = gen_scalar(r);
    while (!mv_is_number(v));
    return v;
}

static mv *each(rng *r)
{
    mv *list = mv_new(BSON_TYPE_ARRAY);
    for (uint32_t i = rng_below(r, 4); i > 0; i--)
        mv_put(list, "", gen_value(r, 2));
    return list;
}

static mv *push_operand(rng *r)
{
    if (rng_below(r, 3) == 0)
        return gen_value(r, 2);
    mv *out = mv_new(BSON_TYPE_DOCUMENT);
    mv_put(out, "$each", each(r));
    if (rng_below(r, 2) == 0)
        mv_put(out, "$position", mv_int((int64_t)rng_below(r, 6) - 3));
    if (rng_below(r, 2) == 0)
        mv_put(out, "$slice", mv_int((int64_t)rng_below(r, 7) - 3));
    if (rng_below(r, 3) == 0) {
        mv *order = mv_int(rng_below(r, 2) == 0 ? 1 : -1);
        if (rng_below(r, 2) == 0) {
            mv *fields = mv_new(BSON_TYPE_DOCUMENT);
            mv_put(fields, gen_name(r), order);
            mv_put(fields, rng_below(r, 2) == 0 ? "a.b" : gen_name(r), mv_int(1));
            order = fields;
        }
        mv_put(out, "$sort", order);
    }
    return out;
}

static mv *bit_operand(rng *r)
{
    static const char *ops[] = {"and", "or", "xor"};
    mv *out = mv_new(BSON_TYPE_DOCUMENT);
    mv_put(out, ops[rng_below(r, 3)],
           rng_below(r, 4) == 0 ? mv_long(rng_below(r, 9)) : mv_int(rng_below(r, 9)));
    return out;
}

static mv *pull_operand(rng *r)
{
    switch (rng_below(r, 4)) {
    case 0:
        return gen_conditions(r, 1);
    case 1:
        return gen_filter(r, 1);
    default:
        return gen_value(r, 2);
    }
}

/* Into arrays: by number, all items, or those of a filter. */
static const char *array_path(rng *r)
{
    static const char *paths[] = {"a.$[]",   "b.$[].c", "a.$[x]", "c.$[x].a",    "a.0",  "b.1.c",
                                  "a.b.$[]", "c.2",     "d.$[]",  "a.$[].b.$[]", "d.3.a"};
    return paths[rng_below(r, 11)];
}

static void add_modifier(rng *r, mv *update)
{
    static const char *ops[] = {"$set",  "$set",     "$set",        "$unset",  "$inc",
                                "$mul",  "$min",     "$max",        "$rename", "$push",
                                "$push", "$pop",     "$pull",       "$pull",   "$addToSet",
                                "$bit",  "$pullAll", "$setOnInsert"};
    const char *op = ops[rng_below(r, 18)];
    const char *path = rng_below(r, 5) == 0 ? array_path(r) : gen_path(r);
    if (strcmp(path, "_id") == 0 && rng_below(r, 4) > 0)
        path = "b";
    mv *operand;
    if (strcmp(op, "$inc") == 0 || strcmp(op, "$mul") == 0)
        operand = number(r);
    else if (strcmp(op, "$push") == 0)
        operand = push_operand(r);
    else if (strcmp(op, "$addToSet") == 0 && rng_below(r, 2) == 0) {
        operand = mv_new(BSON_TYPE_DOCUMENT);
        mv_put(operand, "$each", each(r));
    } else if (strcmp(op, "$pop") == 0)
        operand = mv_int(rng_below(r, 2) == 0 ? 1 : -1);
    else if (strcmp(op, "$pull") == 0)
        operand = pull_operand(r);
    else if (strcmp(op, "$pullAll") == 0)
        operand = each(r);
    else if (strcmp(op, "$bit") == 0)
        operand = bit_operand(r);
    else if (strcmp(op, "$rename") == 0) {
        const char *to;
        path = rng_below(r, 2) == 0 ? gen_name(r) : "b.a";
        do
            to = rng_below(r, 2) == 0 ? gen_name(r) : "d.c";
        while (strcmp(to, path) == 0);
        operand = mv_string(to);
    } else
        operand = gen_value(r, 2);
    mv *fields = mv_get(update, op);
    if (fields == NULL)
        mv_put(update, op, fields = mv_new(BSON_TYPE_DOCUMENT));
    if (mv_get(fields, path) == NULL)
        mv_put(fields, path, operand);
}

mv *gen_update(rng *r)
{
    mv *update = mv_new(BSON_TYPE_DOCUMENT);
    for (uint32_t i = 1 + rng_below(r, 4) / 2; i > 0; i--)
        add_modifier(r, update);
    return update;
}

mv *gen_replacement(rng *r)
{
    mv *doc = gen_document(r);
    if (rng_below(r, 4) > 0)
        mv_remove(doc, 0);
    return doc;
}

mv *gen_array_filters(const mv *update, rng *r)
{
    bool needed = false;
    for (uint32_t i = 0; i < update->count; i++) {
        const mv *fields = update->items[i];
        for (uint32_t k = 0; update->names[i][0] == '$' && k < fields->count; k++)
            needed |= strstr(fields->names[k], "$[x]") != NULL;
    }
    if (!needed)
        return NULL;
    mv *list = mv_new(BSON_TYPE_ARRAY), *filter = mv_new(BSON_TYPE_DOCUMENT);
    mv_put(filter, rng_below(r, 2) == 0 ? "x" : "x.a",
           rng_below(r, 2) == 0 ? gen_scalar(r) : gen_conditions(r, 1));
    mv_put(list, "", filter);
    return list;
}

/* ---- steps ---- */

static mv *flag(void)
{
    mv *v = mv_new(BSON_TYPE_BOOL);
    v->i = 1;
    return v;
}

/* `$` in a projection stands for the item that one condition on one array met. */
static mv *positional_step(rng *r)
{
    mv *s = mv_new(BSON_TYPE_DOCUMENT), *filter = mv_new(BSON_TYPE_DOCUMENT);
    mv *projection = mv_new(BSON_TYPE_DOCUMENT), *conditions;
    do
        conditions = gen_conditions(r, 1);
    while (conditions->count != 1 || strcmp(conditions->names[0], "$all") == 0);
    mv_put(filter, gen_name(r), rng_below(r, 2) == 0 ? gen_scalar(r) : conditions);
    mv_put(projection, pool_print("%s.$", filter->names[0]), mv_int(1));
    if (rng_below(r, 3) == 0)
        mv_put(projection, "_id", mv_int(0));
    mv_put(s, "find", filter);
    mv_put(s, "projection", projection);
    if (rng_below(r, 2) == 0)
        mv_put(s, "sort", gen_sort(r));
    return s;
}

/* One of several values before the sorted field, which ranges of an index are merged for. */
static mv *merged_step(rng *r)
{
    mv *s = mv_new(BSON_TYPE_DOCUMENT), *filter = mv_new(BSON_TYPE_DOCUMENT);
    mv *in = mv_new(BSON_TYPE_DOCUMENT), *list = mv_new(BSON_TYPE_ARRAY);
    mv *sort = mv_new(BSON_TYPE_DOCUMENT);
    for (uint32_t i = 2 + rng_below(r, 3); i > 0; i--)
        mv_put(list, "", gen_scalar(r));
    mv_put(in, "$in", list);
    mv_put(filter, "a", in);
    if (rng_below(r, 3) == 0)
        mv_put(filter, gen_path(r), gen_conditions(r, 1));
    mv_put(sort, "b", mv_int(rng_below(r, 2) == 0 ? 1 : -1));
    mv_put(s, "find", filter);
    mv_put(s, "sort", sort);
    if (rng_below(r, 3) == 0)
        mv_put(s, "limit", mv_int(1 + rng_below(r, 8)));
    return s;
}

static mv *find_step(rng *r)
{
    mv *s = mv_new(BSON_TYPE_DOCUMENT);
    uint32_t dice = rng_below(r, 12);
    if (dice < 2)
        return dice == 0 ? positional_step(r) : merged_step(r);
    mv_put(s, "find", gen_filter(r, 2));
    if (dice == 2)
        mv_put(s->items[0], "$expr", gen_expr(r, 3));
    if (rng_below(r, 2) == 0) {
        mv_put(s, "sort", gen_sort(r));
        if (rng_below(r, 4) == 0)
            mv_put(s, "skip", mv_int(rng_below(r, 6)));
        if (rng_below(r, 3) == 0)
            mv_put(s, "limit", mv_int(1 + rng_below(r, 8)));
    }
    if (rng_below(r, 4) == 0)
        mv_put(s, "projection", gen_projection(r));
    return s;
}

static void put_update(rng *r, mv *s, bool multi)
{
    mv *update = !multi && rng_below(r, 6) == 0 ? gen_replacement(r) : gen_update(r);
    mv *filters = gen_array_filters(update, r);
    /* `$` stands for the item that one condition on one array met. */
    if (rng_below(r, 5) == 0 && update->names[0][0] == '$') {
        mv *filter = mv_new(BSON_TYPE_DOCUMENT), *fields = mv_new(BSON_TYPE_DOCUMENT);
        mv_put(filter, gen_name(r), rng_below(r, 2) == 0 ? gen_scalar(r) : gen_conditions(r, 1));
        mv_put(s, s->names[0], filter);
        mv_put(fields, pool_print("%s.$", filter->names[0]), gen_scalar(r));
        update = mv_new(BSON_TYPE_DOCUMENT);
        mv_put(update, "$set", fields);
        filters = NULL;
    }
    if (rng_below(r, 6) == 0) {
        update = gen_pipeline(r);
        filters = NULL;
    }
    mv_put(s, "u", update);
    if (filters != NULL)
        mv_put(s, "arrayFilters", filters);
    if (rng_below(r, 4) == 0) {
        mv_put(s, "upsert", flag());
        if (rng_below(r, 2) == 0)
            mv_put(s->items[0], "_id", mv_int(rng_below(r, 80)));
    }
}

static mv *update_step(rng *r)
{
    mv *s = mv_new(BSON_TYPE_DOCUMENT);
    bool multi = rng_below(r, 3) == 0;
    mv_put(s, "update", rng_below(r, 3) == 0 ? mv_new(BSON_TYPE_DOCUMENT) : gen_filter(r, 1));
    put_update(r, s, multi);
    if (multi)
        mv_put(s, "multi", flag());
    return s;
}

static mv *modify_step(rng *r)
{
    mv *s = mv_new(BSON_TYPE_DOCUMENT);
    mv_put(s, "modify", rng_below(r, 3) == 0 ? mv_new(BSON_TYPE_DOCUMENT) : gen_filter(r, 1));
    if (rng_below(r, 4) > 0)
        put_update(r, s, false);
    if (rng_below(r, 4) > 0)
        mv_put(s, "sort", gen_sort(r));
    if (mv_get(s, "u") != NULL && rng_below(r, 2) == 0)
        mv_put(s, "new", flag());
    if (rng_below(r, 4) == 0)
        mv_put(s, "projection", gen_projection(r));
    return s;
}

static mv *index_step(rng *r)
{
    mv *s = mv_new(BSON_TYPE_DOCUMENT);
    mv_put(s, "index", gen_index(r));
    mv_put(s, "on", mv_int(1 + rng_below(r, 2)));
    return s;
}

static mv *one_field(const char *name, mv *v)
{
    mv *s = mv_new(BSON_TYPE_DOCUMENT);
    mv_put(s, name, v);
    return s;
}

mv *gen_step(rng *r)
{
    uint32_t dice = rng_below(r, 100);
    mv *s;
    int code;
    if (dice < 16)
        return one_field("insert", gen_document(r));
    if (dice < 50)
        return find_step(r);
    if (dice < 54)
        return one_field("count", gen_filter(r, 2));
    if (dice < 58) {
        const char *path;
        do
            path = gen_path(r);
        while (strpbrk(path, "01") != NULL);
        s = one_field("distinct",
                      rng_below(r, 2) == 0 ? mv_new(BSON_TYPE_DOCUMENT) : gen_filter(r, 1));
        mv_put(s, "key", mv_string(path));
        return s;
    }
    if (dice < 78)
        return update_step(r);
    if (dice < 85)
        return modify_step(r);
    if (dice < 88) {
        s = one_field("remove", gen_filter(r, 1));
        if (rng_below(r, 2) == 0)
            mv_put(s, "one", flag());
        return s;
    }
    if (dice < 94)
        return index_step(r);
    if (dice < 97)
        return one_field("drop", mv_int(rng_below(r, 8)));
    if (dice < 99) {
        s = one_field("find", gen_bad_filter(r, &code));
        mv_put(s, "bad", mv_int(code));
        return s;
    }
    return one_field("reopen", mv_int(1));
}
