/* SPDX-License-Identifier: Apache-2.0 */
#include "gen.h"

#include <math.h>
#include <string.h>

static mv *one(const char *name, mv *v)
{
    mv *doc = mv_new(BSON_TYPE_DOCUMENT);
    mv_put(doc, name, v);
    return doc;
}

static mv *values(rng *r, bool regexes)
{
    mv *v = mv_new(BSON_TYPE_ARRAY);
    for (uint32_t i = rng_below(r, 5); i > 0; i--) {
        mv *item = gen_value(r, rng_below(r, 4) == 0 ? 2 : 0);
        if (item->type != BSON_TYPE_REGEX || regexes)
            mv_put(v, "", item);
    }
    return v;
}

/* Comparisons with a regular expression are refused. */
static mv *comparable(rng *r)
{
    mv *v;
    do
        v = gen_value(r, rng_below(r, 4) == 0 ? 2 : 0);
    while (v->type == BSON_TYPE_REGEX);
    return v;
}

static mv *type(rng *r)
{
    static const char *aliases[] = {"double", "string",  "object", "array",  "binData", "objectId",
                                    "bool",   "date",    "null",   "regex",  "int",     "timestamp",
                                    "long",   "decimal", "minKey", "maxKey", "number",  "number"};
    static const int numbers[] = {1, 2, 3, 4, 16, 18, 10, -1, 127, 19};
    if (rng_below(r, 4) == 0)
        return mv_int(numbers[rng_below(r, 10)]);
    mv *alias = mv_string(aliases[rng_below(r, 18)]);
    if (rng_below(r, 4) > 0)
        return alias;
    mv *list = mv_new(BSON_TYPE_ARRAY);
    mv_put(list, "", alias);
    mv_put(list, "", mv_string(aliases[rng_below(r, 18)]));
    return list;
}

static mv *mod(rng *r)
{
    mv *list = mv_new(BSON_TYPE_ARRAY);
    mv_put(list, "", rng_below(r, 3) == 0 ? mv_double(2.0) : mv_int(1 + rng_below(r, 4)));
    mv_put(list, "", mv_int((int64_t)rng_below(r, 4) - 1));
    return list;
}

static mv *mask(rng *r)
{
    if (rng_below(r, 2) == 0)
        return mv_int(rng_below(r, 9));
    mv *list = mv_new(BSON_TYPE_ARRAY);
    for (uint32_t i = rng_below(r, 3); i > 0; i--)
        mv_put(list, "", mv_int(rng_below(r, 4) == 0 ? 60 + rng_below(r, 20) : rng_below(r, 4)));
    return list;
}

static const char *pattern(rng *r)
{
    static const char *patterns[] = {"^a",   "b", "^A",     "c$",   "a.b",    "^$", "^ab",
                                     "[ab]", "k", "^a\\.b", "^ab*", "^(a|b)", "a b"};
    return patterns[rng_below(r, 13)];
}

static const char *options(rng *r)
{
    static const char *all[] = {"", "", "i", "s", "m", "x", "im"};
    return all[rng_below(r, 7)];
}

static mv *all(rng *r, int depth)
{
    mv *list = mv_new(BSON_TYPE_ARRAY);
    bool matches = depth > 0 && rng_below(r, 4) == 0;
    for (uint32_t i = rng_below(r, 4); i > 0; i--) {
        mv *item = matches ? one("$elemMatch",
                                 rng_below(r, 2) == 0 ? gen_conditions(r, 0) : gen_filter(r, 0))
                           : gen_value(r, rng_below(r, 3) == 0 ? 2 : 0);
        mv_put(list, "", item);
    }
    return list;
}

static void condition(rng *r, mv *out, int depth)
{
    static const char *compares[] = {"$eq", "$ne", "$gt", "$gte", "$lt", "$lte"};
    static const char *bits[] = {"$bitsAllSet", "$bitsAllClear", "$bitsAnySet", "$bitsAnyClear"};
    uint32_t dice = rng_below(r, 20);
    if (dice < 8)
        mv_put(out, compares[rng_below(r, 6)], comparable(r));
    else if (dice < 10)
        mv_put(out, "$in", values(r, true));
    else if (dice == 10)
        mv_put(out, "$nin", values(r, true));
    else if (dice == 11)
        mv_put(out, "$exists", mv_int(rng_below(r, 2)));
    else if (dice == 12)
        mv_put(out, "$type", type(r));
    else if (dice == 13)
        mv_put(out, "$mod", mod(r));
    else if (dice == 14 && mv_get(out, "$regex") == NULL) {
        mv_put(out, "$regex", mv_string(pattern(r)));
        mv_put(out, "$options", mv_string(options(r)));
    } else if (dice == 15)
        mv_put(out, "$all", all(r, depth));
    else if (dice == 16)
        mv_put(out, "$size", mv_int(rng_below(r, 4)));
    else if (dice == 17 && depth > 0)
        mv_put(out, "$elemMatch",
               rng_below(r, 2) == 0 ? gen_conditions(r, depth - 1) : gen_filter(r, depth - 1));
    else if (dice == 18 && depth > 0)
        mv_put(out, "$not", gen_conditions(r, depth - 1));
    else
        mv_put(out, bits[rng_below(r, 4)], mask(r));
}

mv *gen_conditions(rng *r, int depth)
{
    mv *out = mv_new(BSON_TYPE_DOCUMENT);
    condition(r, out, depth);
    for (uint32_t i = rng_below(r, 3); i > 1; i--)
        condition(r, out, depth);
    return out;
}

static mv *literal_regex(rng *r)
{
    mv *v = mv_new(BSON_TYPE_REGEX);
    v->data = (const uint8_t *)pattern(r);
    v->len = strlen((const char *)v->data);
    v->options = options(r);
    return v;
}

static mv *logical(rng *r, int depth)
{
    mv *list = mv_new(BSON_TYPE_ARRAY);
    for (uint32_t i = 1 + rng_below(r, 3); i > 0; i--)
        mv_put(list, "", gen_filter(r, depth - 1));
    return list;
}

mv *gen_filter(rng *r, int depth)
{
    static const char *logicals[] = {"$and", "$or", "$or", "$nor"};
    mv *out = mv_new(BSON_TYPE_DOCUMENT);
    uint32_t count = rng_below(r, 12) == 0 ? 0 : 1 + rng_below(r, 5) / 3;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t dice = rng_below(r, 20);
        const char *path = gen_path(r);
        if (dice < 3 && depth > 0)
            mv_put(out, logicals[rng_below(r, 4)], logical(r, depth));
        else if (dice == 3)
            mv_put(out, path, literal_regex(r));
        else if (dice < 9)
            mv_put(out, path, gen_value(r, rng_below(r, 3) == 0 ? 2 : 0));
        else
            mv_put(out, path, gen_conditions(r, depth));
    }
    /* Within $elemMatch the first name decides what it is. */
    return out;
}

mv *gen_bad_filter(rng *r, int *code)
{
    *code = 2;
    switch (rng_below(r, 9)) {
    case 0:
        return one("$and", mv_new(BSON_TYPE_ARRAY));
    case 1:
        return one("a", one("$in", mv_int(5)));
    case 2:
        return one("a", one("$nosuch", mv_int(5)));
    case 3: {
        mv *list = mv_new(BSON_TYPE_ARRAY);
        mv_put(list, "", mv_int(0));
        mv_put(list, "", mv_int(1));
        return one("a", one("$mod", list));
    }
    case 4:
        return one("$nosuch", mv_int(5));
    case 5:
        return one("a", one("$not", mv_int(5)));
    case 6:
        return one("a", one("$elemMatch", mv_int(5)));
    case 7:
        return one("a", one("$all", mv_int(5)));
    default:
        *code = 0;
        return one("a", one("$size", mv_int(-1)));
    }
}

mv *gen_sort(rng *r)
{
    mv *out = mv_new(BSON_TYPE_DOCUMENT);
    for (uint32_t i = 1 + rng_below(r, 3); i > 0; i--) {
        const char *path = gen_path(r);
        if (strpbrk(path, "01") == NULL)
            mv_put(out, path, mv_int(rng_below(r, 2) == 0 ? 1 : -1));
    }
    return out;
}

/* Neither a path twice nor one below another. */
static bool is_free(const mv *used, const char *path)
{
    for (uint32_t i = 0; i < used->count; i++) {
        size_t a = strlen(used->names[i]), b = strlen(path), shorter = a < b ? a : b;
        const char *longer = a < b ? path : used->names[i];
        if (strncmp(used->names[i], path, shorter) == 0 &&
            (longer[shorter] == '\0' || longer[shorter] == '.'))
            return false;
    }
    return true;
}

static mv *slice(rng *r)
{
    if (rng_below(r, 2) == 0)
        return mv_int((int64_t)rng_below(r, 5) - 2);
    mv *list = mv_new(BSON_TYPE_ARRAY);
    mv_put(list, "", mv_int((int64_t)rng_below(r, 5) - 2));
    mv_put(list, "", mv_int(1 + rng_below(r, 3)));
    return list;
}

mv *gen_projection(rng *r)
{
    mv *out = mv_new(BSON_TYPE_DOCUMENT);
    bool inclusion = rng_below(r, 2) == 0;
    if (rng_below(r, 3) == 0)
        mv_put(out, "_id", mv_int(inclusion ? rng_below(r, 2) : 0));
    for (uint32_t i = 1 + rng_below(r, 3); i > 0; i--) {
        const char *path = gen_path(r);
        uint32_t dice = rng_below(r, 8);
        if (!is_free(out, path) || strpbrk(path, "01") != NULL || strcmp(path, "_id") == 0)
            continue;
        if (dice == 0)
            mv_put(out, path, one("$slice", slice(r)));
        else if (dice == 1 && inclusion && strchr(path, '.') == NULL)
            mv_put(
                out, path,
                one("$elemMatch", rng_below(r, 2) == 0 ? gen_conditions(r, 0) : gen_filter(r, 0)));
        else
            mv_put(out, path, mv_int(inclusion));
    }
    /* {_id: 1} beside a $slice alone: which kind that is goes unsaid. */
    const mv *id = mv_get(out, "_id");
    if (id != NULL && id->i == 1 && out->count > 1)
        mv_put(out, is_free(out, "e") ? "e" : "f", mv_int(1));
    return out;
}

mv *gen_index(rng *r)
{
    static const char *names[] = {"a", "b", "c", "d", "a.b", "a.c", "b.a", "b.c", "c.a", "a.b.c"};
    mv *spec = mv_new(BSON_TYPE_DOCUMENT), *key = mv_new(BSON_TYPE_DOCUMENT);
    if (rng_below(r, 8) == 0) {
        mv_put(key, "a", mv_int(1));
        mv_put(key, "b", mv_int(rng_below(r, 2) == 0 ? 1 : -1));
    } else if (rng_below(r, 10) == 0) {
        mv_put(key, names[rng_below(r, 10)], mv_string("hashed"));
    } else {
        for (uint32_t i = 1 + rng_below(r, 3); i > 0; i--)
            mv_put(key, names[rng_below(r, 10)], mv_int(rng_below(r, 3) == 0 ? -1 : 1));
    }
    mv_put(spec, "key", key);
    mv_put(spec, "name", mv_string(pool_print("i%u", rng_below(r, 1000000000))));
    if (key->items[0]->type == BSON_TYPE_UTF8)
        return spec;
    mv *yes = mv_new(BSON_TYPE_BOOL);
    yes->i = 1;
    if (rng_below(r, 6) == 0)
        mv_put(spec, "unique", yes);
    if (rng_below(r, 5) == 0)
        mv_put(spec, "sparse", yes);
    else if (rng_below(r, 4) == 0) {
        mv *v = comparable(r);
        uint32_t dice = rng_below(r, 4);
        mv *condition = dice == 0   ? one("$exists", yes)
                        : dice == 1 ? one("$gt", mv_int(rng_below(r, 3)))
                        : dice == 2 ? one("$eq", v)
                                    : one("$lte", v);
        mv_put(spec, "partialFilterExpression", one(gen_name(r), condition));
    }
    return spec;
}
