/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "model/value.h"
#include "query/expr/accumulate.h"
#include "query/expr/expr.h"
#include "query/match/match.h"
#include "query/pipeline/pipeline.h"
#include "query/project/project.h"
#include "query/update/update.h"

#include <math.h>
#include <string.h>

/* ---- names ---- */

static const char *any_of(rng *r, const ash_feature *table)
{
    uint32_t count = 0;
    while (table[count].name != NULL)
        count++;
    return table[rng_below(r, count)].name;
}

static const char *operator_name(rng *r)
{
    switch (rng_below(r, 7)) {
    case 0:
        return any_of(r, ash__acc_features());
    case 1:
        return any_of(r, ash__update_features());
    case 2:
        return any_of(r, ash__projection_features());
    case 3:
        return any_of(r, ash__pipeline_features());
    case 4:
    case 5:
        return any_of(r, ash__expr_features());
    default:
        return any_of(r, ash__match_features());
    }
}

static const char *field_name(rng *r)
{
    static const char *names[] = {"a",
                                  "b",
                                  "c",
                                  "a.b",
                                  "a.0",
                                  "a.b.c",
                                  "_id",
                                  "",
                                  "a.",
                                  ".a",
                                  "a.$",
                                  "a.$[]",
                                  "a.$[x]",
                                  "x",
                                  "0",
                                  "input",
                                  "as",
                                  "in",
                                  "cond",
                                  "if",
                                  "then",
                                  "else",
                                  "initialValue",
                                  "let",
                                  "vars",
                                  "from",
                                  "localField",
                                  "foreignField",
                                  "pipeline",
                                  "$$this",
                                  "date",
                                  "unit",
                                  "field",
                                  "value",
                                  "find",
                                  "regex",
                                  "options",
                                  "chars",
                                  "replacement",
                                  "branches",
                                  "default",
                                  "case",
                                  "n",
                                  "sortBy",
                                  "boundaries",
                                  "groupBy",
                                  "output",
                                  "path",
                                  "into",
                                  "whenMatched",
                                  "startWith",
                                  "connectFromField",
                                  "connectToField",
                                  "maxDepth",
                                  "required",
                                  "properties",
                                  "q",
                                  "u",
                                  "d",
                                  "f",
                                  "s",
                                  "p"};
    return names[rng_below(r, sizeof names / sizeof names[0])];
}

static const char *any_name(rng *r)
{
    return rng_below(r, 2) == 0 ? operator_name(r) : field_name(r);
}

/* ---- values ---- */

static mv *any_text(rng *r)
{
    static const char *texts[] = {"",
                                  "a",
                                  "$a",
                                  "$a.b",
                                  "$$ROOT",
                                  "$$this",
                                  "$$value",
                                  "^a",
                                  "(",
                                  "[",
                                  "int",
                                  "number",
                                  "i",
                                  "imsx",
                                  "é",
                                  "$b.0",
                                  "$$REMOVE",
                                  "items",
                                  "2024-01-31T23:59:59Z",
                                  "month",
                                  "+05:30",
                                  "a,b",
                                  "$c",
                                  "$$NOW",
                                  "hashed"};
    return mv_string(texts[rng_below(r, sizeof texts / sizeof texts[0])]);
}

static mv *any_number(rng *r)
{
    static const double doubles[] = {
        0,   -0.0,     0.5,       1e300,  -1e18,       9223372036854775808.0,
        NAN, INFINITY, -INFINITY, 5e-324, 2147483648.0};
    static const int64_t longs[] = {INT64_MIN, INT64_MAX, INT32_MAX, INT32_MIN, 4294967296};
    static const char *decimals[] = {"NaN", "Infinity", "1E6144", "1E-6176", "-0", "0.5"};
    mv *v;
    switch (rng_below(r, 6)) {
    case 0:
        return mv_double(doubles[rng_below(r, 11)]);
    case 1:
        return mv_long(longs[rng_below(r, 5)]);
    case 2:
        v = mv_new(BSON_TYPE_DECIMAL128);
        bson_decimal128_from_string(decimals[rng_below(r, 6)], &v->dec);
        return v;
    default:
        return mv_int((int64_t)rng_below(r, 8) - 2);
    }
}

static mv *any_value(rng *r, int depth)
{
    static const bson_type_t plain[] = {BSON_TYPE_NULL,   BSON_TYPE_UNDEFINED, BSON_TYPE_MINKEY,
                                        BSON_TYPE_MAXKEY, BSON_TYPE_DATE_TIME, BSON_TYPE_TIMESTAMP,
                                        BSON_TYPE_BOOL};
    uint32_t dice = rng_below(r, depth > 3 ? 7 : 12);
    mv *v;
    if (dice < 3)
        return any_number(r);
    if (dice < 5)
        return any_text(r);
    if (dice == 5) {
        v = mv_new(plain[rng_below(r, 7)]);
        v->i = rng_below(r, 2);
        return v;
    }
    if (dice == 6) {
        v = mv_new(rng_below(r, 2) == 0 ? BSON_TYPE_REGEX : BSON_TYPE_BINARY);
        v->data = (const uint8_t *)"a(";
        v->len = 2;
        v->options = "i";
        return v;
    }
    v = mv_new(dice < 10 ? BSON_TYPE_DOCUMENT : BSON_TYPE_ARRAY);
    for (uint32_t i = rng_below(r, 4); i > 0; i--)
        mv_put(v, any_name(r), any_value(r, depth + 1));
    return v;
}

/* ---- changes ---- */

static uint32_t size_of(const mv *v)
{
    uint32_t size = 1;
    for (uint32_t i = 0; i < v->count; i++)
        size += size_of(v->items[i]);
    return size;
}

/* The n-th value that has an owner, counted from the front. */
static mv *nth(mv *v, uint32_t *n, uint32_t *at)
{
    for (uint32_t i = 0; i < v->count; i++) {
        if (*n == 0) {
            *at = i;
            return v;
        }
        --*n;
        mv *owner = nth(v->items[i], n, at);
        if (owner != NULL)
            return owner;
    }
    return NULL;
}

static mv *pick(rng *r, mv *root, uint32_t *at)
{
    uint32_t size = size_of(root) - 1, n = size == 0 ? 0 : rng_below(r, size);
    return size == 0 ? NULL : nth(root, &n, at);
}

static void insert_field(rng *r, mv *owner, uint32_t at, mv *v)
{
    mv_insert(owner, at, v);
    owner->names[at] = any_name(r);
}

static void wrap(rng *r, mv *owner, uint32_t at)
{
    bool list = rng_below(r, 3) == 0;
    mv *box = mv_new(list ? BSON_TYPE_ARRAY : BSON_TYPE_DOCUMENT);
    mv_put(box, operator_name(r), owner->items[at]);
    if (rng_below(r, 3) == 0)
        mv_put(box, any_name(r), any_value(r, 1));
    owner->items[at] = box;
}

static void mutate_once(rng *r, mv *root)
{
    uint32_t at = 0, other_at = 0;
    mv *owner = pick(r, root, &at), *other = pick(r, root, &other_at);
    if (owner == NULL) {
        insert_field(r, root, 0, any_value(r, 0));
        return;
    }
    switch (rng_below(r, 8)) {
    case 0:
    case 1:
        owner->items[at] = any_value(r, 1);
        break;
    case 2:
    case 3:
        owner->names[at] = any_name(r);
        break;
    case 4:
        if (rng_below(r, 2) == 0) {
            insert_field(r, owner, at, any_value(r, 1));
        } else { /* the same name twice */
            mv_insert(owner, at, mv_copy(owner->items[at]));
            owner->names[at] = owner->names[at + 1];
        }
        break;
    case 5:
        mv_remove(owner, at);
        break;
    case 6:
        wrap(r, owner, at);
        break;
    default:
        owner->items[at] = mv_copy(other->items[other_at]);
    }
}

size_t mutate_bson(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    rng r = rng_for(seed, 1);
    bson_t b;
    mv *root = mv_new(BSON_TYPE_DOCUMENT);
    if (size >= 5 && ash__bson_validate(data, size, 30, NULL) == 0 &&
        bson_init_static(&b, data, size))
        root = mv_parse(&b);
    for (uint32_t i = 1 + rng_below(&r, 3); i > 0; i--)
        mutate_once(&r, root);
    bson_t *out = mv_bson(root);
    size_t len = out->len;
    if (len <= max_size)
        memcpy(data, bson_get_data(out), len);
    else
        len = size;
    bson_destroy(out);
    pool_empty();
    return len;
}

size_t mutate_bytes(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    rng r = rng_for(seed, 2);
    for (uint32_t i = 1 + rng_below(&r, 4); i > 0; i--) {
        uint32_t dice = rng_below(&r, 8), at = size == 0 ? 0 : rng_below(&r, (uint32_t)size);
        if (dice == 0 && size < max_size) {
            memmove(data + at + 1, data + at, size++ - at);
            data[at] = (uint8_t)rng_next(&r);
        } else if (dice == 1 && size > 1) {
            memmove(data + at, data + at + 1, --size - at);
        } else if (dice == 2 && size > 8) {
            size -= rng_below(&r, (uint32_t)size / 2);
        } else if (dice < 5 && size >= 4) {
            at = at / 4 * 4 + 4 > size ? 0 : at / 4 * 4; /* a number of four bytes */
            data[at] = (uint8_t)(data[at] + rng_below(&r, 5) - 2);
            data[at + 3] = rng_below(&r, 8) == 0 ? (uint8_t)rng_next(&r) : data[at + 3];
        } else if (size > 0) {
            data[at] = rng_below(&r, 2) == 0 ? (uint8_t)rng_next(&r)
                                             : (uint8_t)(data[at] ^ 1u << rng_below(&r, 8));
        }
    }
    return size;
}
