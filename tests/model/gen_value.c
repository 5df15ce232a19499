/* SPDX-License-Identifier: Apache-2.0 */
#include "gen.h"

#include <math.h>
#include <string.h>

static mv *number(rng *r)
{
    static const int64_t longs[] = {INT32_MAX,        (int64_t)INT32_MAX + 1, INT32_MIN,
                                    9007199254740992, 9007199254740993,       INT64_MAX,
                                    INT64_MIN,        9007199254740991,       3};
    static const double doubles[] = {
        0.0, -0.0,     1.0,      1.5,  2.0, 3.0,  9007199254740992.0,
        0.1, 1e308,    5e-324,   -1.5, 4.0, 1e19, 9223372036854775808.0,
        NAN, INFINITY, -INFINITY};
    static const char *decimals[] = {"0",
                                     "-0",
                                     "1",
                                     "1.0",
                                     "1.5",
                                     "0.1",
                                     "2.00",
                                     "NaN",
                                     "3E0",
                                     "Infinity",
                                     "-Infinity",
                                     "9007199254740993",
                                     "1E-6176",
                                     "9.999999999999999999999999999999999E+6144",
                                     "0.1000000000000000055511151231257827",
                                     "0E-6176",
                                     "4"};
    mv *v;
    switch (rng_below(r, 8)) {
    case 0:
        return mv_double(doubles[rng_below(r, sizeof doubles / sizeof doubles[0])]);
    case 1:
        v = mv_new(BSON_TYPE_DECIMAL128);
        bson_decimal128_from_string(decimals[rng_below(r, sizeof decimals / sizeof decimals[0])],
                                    &v->dec);
        return v;
    case 2:
        return mv_long(rng_below(r, 2) == 0 ? longs[rng_below(r, 9)] : rng_below(r, 5));
    default:
        return mv_int((int64_t)rng_below(r, 7) - 1);
    }
}

static mv *text(rng *r)
{
    static const char *texts[] = {"", "a", "ab", "b", "A", "abc", "a\nb", "é", "z", "1"};
    mv *v = mv_string(texts[rng_below(r, 10)]);
    if (rng_below(r, 10) == 0) {
        v->data = (const uint8_t *)"a\0b";
        v->len = 3;
    }
    if (rng_below(r, 60) == 0) {
        /* Longer than a key of LMDB; now and then as long as what goes to segments. */
        size_t len = rng_below(r, 6) == 0 ? 5000 : 880;
        char *longer = pool_get(len + 1);
        memset(longer, 'k', len);
        longer[len - 1 - rng_below(r, 10)] = (char)('a' + rng_below(r, 3));
        v = mv_string(longer);
    }
    return v;
}

static mv *binary(rng *r)
{
    static const uint8_t bytes[] = {5, 0, 255, 1};
    mv *v = mv_new(BSON_TYPE_BINARY);
    v->subtype = rng_below(r, 3) == 0 ? 0x80 : 0;
    v->data = bytes;
    v->len = rng_below(r, 4);
    return v;
}

static mv *object_id(rng *r)
{
    static const uint8_t ids[3][12] = {{0}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {255, 1}};
    mv *v = mv_new(BSON_TYPE_OID);
    v->data = ids[rng_below(r, 3)];
    v->len = 12;
    return v;
}

static mv *regex(rng *r)
{
    mv *v = mv_new(BSON_TYPE_REGEX);
    v->data = (const uint8_t *)(rng_below(r, 2) == 0 ? "^a" : "b");
    v->len = strlen((const char *)v->data);
    v->options = rng_below(r, 2) == 0 ? "" : "i";
    return v;
}

mv *gen_scalar(rng *r)
{
    mv *v;
    switch (rng_below(r, 24)) {
    case 0:
        return mv_new(BSON_TYPE_NULL);
    case 1:
        v = mv_new(BSON_TYPE_BOOL);
        v->i = rng_below(r, 2);
        return v;
    case 2:
        v = mv_new(BSON_TYPE_DATE_TIME);
        v->i = (int64_t)rng_below(r, 4) - 2;
        return v;
    case 3:
        return object_id(r);
    case 4:
        v = mv_new(BSON_TYPE_TIMESTAMP);
        v->i = (int64_t)(UINT64_C(0x8000000100000000) * rng_below(r, 2) + 1 + rng_below(r, 3));
        return v;
    case 5:
        return binary(r);
    case 6:
        return mv_new(rng_below(r, 2) == 0 ? BSON_TYPE_MINKEY : BSON_TYPE_MAXKEY);
    case 7:
        return rng_below(r, 3) == 0 ? regex(r) : text(r);
    case 8:
    case 9:
    case 10:
    case 11:
        return text(r);
    default:
        return number(r);
    }
}

const char *gen_name(rng *r)
{
    static const char *names[] = {"a", "b", "c", "d"};
    return names[rng_below(r, 4)];
}

static mv *object(rng *r, int depth)
{
    mv *v = mv_new(BSON_TYPE_DOCUMENT);
    for (uint32_t i = rng_below(r, 4); i > 0; i--)
        mv_put(v, gen_name(r), gen_value(r, depth - 1));
    return v;
}

static mv *array(rng *r, int depth)
{
    mv *v = mv_new(BSON_TYPE_ARRAY);
    bool documents = rng_below(r, 2) == 0;
    for (uint32_t i = rng_below(r, 4); i > 0; i--)
        mv_put(v, "", documents ? object(r, depth - 1) : gen_value(r, depth - 1));
    return v;
}

mv *gen_value(rng *r, int depth)
{
    uint32_t dice = rng_below(r, 10);
    if (depth > 0 && dice < 2)
        return object(r, depth);
    if (depth > 0 && dice < 5)
        return array(r, depth);
    return gen_scalar(r);
}

mv *gen_document(rng *r)
{
    mv *v = mv_new(BSON_TYPE_DOCUMENT);
    mv_put(v, "_id", rng_below(r, 8) == 0 ? gen_scalar(r) : mv_int(rng_below(r, 60)));
    for (uint32_t i = 1 + rng_below(r, 5); i > 0; i--)
        mv_put(v, gen_name(r), gen_value(r, 3));
    return v;
}

const char *gen_path(rng *r)
{
    static const char *deep[] = {"a.b",   "a.c", "b.a", "b.c", "a.b.c", "c.d.a",
                                 "a.b.a", "d.a", "c.a", "c.b", "b.d",   "d.d.d"};
    static const char *numbered[] = {"a.0", "a.1.b", "b.0.a", "c.1", "a.b.0", "d.0.0", "a.0.b.c"};
    uint32_t dice = rng_below(r, 20);
    if (dice == 0)
        return "_id";
    if (dice == 1)
        return numbered[rng_below(r, 7)];
    if (dice < 9)
        return deep[rng_below(r, 12)];
    return gen_name(r);
}
