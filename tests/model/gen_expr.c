/* SPDX-License-Identifier: Apache-2.0 */
#include "gen.h"

#include <string.h>

static mv *one(const char *name, mv *v)
{
    mv *doc = mv_new(BSON_TYPE_DOCUMENT);
    mv_put(doc, name, v);
    return doc;
}

static mv *path(rng *r)
{
    const char *p;
    do
        p = gen_path(r);
    while (strpbrk(p, "01") != NULL);
    return mv_string(pool_print("$%s", p));
}

mv *gen_expr(rng *r, int depth)
{
    static const char *const pairs[] = {"$eq",  "$ne",  "$gt",  "$gte", "$lt",
                                        "$lte", "$cmp", "$and", "$or",  "$ifNull"};
    uint32_t dice = rng_below(r, depth > 0 ? 12 : 5);
    if (dice < 3)
        return path(r);
    if (dice < 5)
        return one("$literal", gen_value(r, 1));
    mv *list = mv_new(BSON_TYPE_ARRAY);
    uint32_t count = dice == 5 ? 1 : dice == 6 ? 3 : 2;
    for (uint32_t i = 0; i < count; i++)
        mv_put(list, "", gen_expr(r, depth - 1));
    if (dice == 7)
        return list;
    return one(dice == 5 ? "$not" : dice == 6 ? "$cond" : pairs[rng_below(r, 10)], list);
}

mv *gen_pipeline(rng *r)
{
    mv *stages = mv_new(BSON_TYPE_ARRAY);
    for (uint32_t i = 1 + rng_below(r, 2); i > 0; i--) {
        uint32_t dice = rng_below(r, 8);
        mv *fields = mv_new(dice < 5 ? BSON_TYPE_DOCUMENT : BSON_TYPE_ARRAY);
        if (dice < 5) {
            for (uint32_t k = 1 + rng_below(r, 2); k > 0; k--)
                mv_put(fields, gen_name(r), gen_expr(r, 2));
            mv_put(stages, "", one("$set", fields));
        } else if (dice < 7) {
            mv_put(fields, "", mv_string(gen_name(r)));
            mv_put(stages, "", one("$unset", fields));
        } else {
            mv_put(stages, "",
                   one("$replaceWith", rng_below(r, 2) == 0
                                           ? mv_string("$$ROOT")
                                           : mv_string(pool_print("$%s", gen_name(r)))));
        }
    }
    return stages;
}
