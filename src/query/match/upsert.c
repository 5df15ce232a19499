/* SPDX-License-Identifier: Apache-2.0 */
/* What an upsert's document begins with: the values that a match must have, found in the tree. */
#include "query/match/node.h"

#include "base/budget.h"
#include "base/mem.h"

#include <string.h>

typedef struct seed {
    const char *path;
    ash_value value;
} seed;

typedef struct seeds {
    seed *items;
    uint32_t count;
    uint32_t capacity;
} seeds;

static int add_seed(seeds *s, const char *path, ash_value value, ash_error *err)
{
    /* Each path is held against all before it, and a filter may have very many. */
    int rc = ash__budget_check(err);
    if (rc != 0)
        return rc;
    for (uint32_t i = 0; i < s->count; i++) {
        const seed *other = &s->items[i];
        if (strcmp(other->path, path) == 0) {
            if (ash__value_identical(other->value, value))
                return 0;
            return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_NOT_SINGLE_VALUE_FIELD,
                                    "cannot infer query fields to set, path '%s' is matched twice",
                                    path);
        }
        if (ash__path_overlaps(other->path, path))
            return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_NOT_SINGLE_VALUE_FIELD,
                                    "cannot infer query fields to set, both paths '%s' and '%s' "
                                    "are matched",
                                    other->path, path);
    }
    if (s->count == s->capacity) {
        s->capacity = s->capacity == 0 ? 8 : 2 * s->capacity;
        s->items = ash__realloc_array(s->items, s->capacity, sizeof *s->items);
    }
    s->items[s->count++] = (seed){path, value};
    return 0;
}

static int collect(const ash_condition *c, seeds *s, ash_error *err)
{
    int rc = 0;
    switch (c->kind) {
    case ASH_COND_OR:
        /* Of several branches any one may have matched. */
        if (c->child_count != 1)
            return 0;
        return collect(c->children[0], s, err);
    case ASH_COND_AND:
        for (uint32_t i = 0; rc == 0 && i < c->child_count; i++)
            rc = collect(c->children[i], s, err);
        return rc;
    case ASH_COND_EQ:
        return add_seed(s, c->path, c->operand, err);
    case ASH_COND_IN: {
        ash_doc_iter it = ash__doc_iter(ash__value_doc(c->operand));
        /* {$in: [v]} leaves no choice; a pattern leaves one. */
        bool is_one = ash__doc_count(ash__value_doc(c->operand)) == 1 && ash__doc_iter_next(&it);
        if (!is_one || it.value.type == BSON_TYPE_REGEX)
            return 0;
        return add_seed(s, c->path, it.value, err);
    }
    default:
        return 0;
    }
}

int ash__matcher_equalities(const ash_matcher *m,
                            bool (*visit)(void *ctx, const char *path, ash_value v), void *ctx,
                            ash_error *err)
{
    seeds s = {NULL, 0, 0};
    int rc = m->bare ? 0 : collect(ash__matcher_root(m), &s, err);
    for (uint32_t i = 0; rc == 0 && i < s.count; i++)
        if (!visit(ctx, s.items[i].path, s.items[i].value))
            break;
    ash__free(s.items);
    return rc;
}
