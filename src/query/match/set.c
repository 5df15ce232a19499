/* SPDX-License-Identifier: Apache-2.0 */
/* $in: one search in a hash table for any number of values; regular expressions are tried one by
 * one. */
#include "query/match/node.h"

#include "base/budget.h"
#include "base/mem.h"

/* Equal values hash equally, so one slot chain holds all that may be equal to v. */
static ash_value *find_slot(const ash_match_set *set, ash_value v, const ash_collation *c)
{
    uint32_t at = (uint32_t)ash__value_hash(v, c) & set->mask;
    while (!ash__value_is_missing(set->slots[at]) && !ash__value_equal(set->slots[at], v, c))
        at = (at + 1) & set->mask;
    return &set->slots[at];
}

void ash__match_set_init(ash_match_set *set, uint32_t count)
{
    uint32_t slots = 4;
    /* At most half full, so that a search always ends, and soon. */
    while (slots / 2 < count)
        slots *= 2;
    set->slots = ash__alloc_array(slots, sizeof *set->slots);
    set->mask = slots - 1;
}

void ash__match_set_add(ash_match_set *set, ash_value v, const ash_collation *c)
{
    if (v.type == BSON_TYPE_NULL)
        set->has_null = true;
    else
        *find_slot(set, v, c) = v;
}

bool ash__match_set_has(const ash_match_set *set, ash_value v, const ash_collation *c)
{
    if (ash__value_is_missing(v) || ash__value_is_null(v))
        return set->has_null;
    return !ash__value_is_missing(*find_slot(set, v, c));
}

void ash__match_set_release(ash_match_set *set)
{
    for (uint32_t i = 0; i < set->regex_count; i++)
        ash__regex_free(set->regexes[i]);
    ash__free(set->regexes);
    ash__free(set->slots);
}

static int add_regex(ash_match_parser *p, ash_match_set *set, ash_value v)
{
    const char *options;
    const char *pattern = ash__value_regex(v, &options);
    ash_regex *regex;
    int rc = ash__regex_new(pattern, options, &regex, p->err);
    if (rc == 0) {
        set->regexes = ash__realloc_array(set->regexes, set->regex_count + 1, sizeof *set->regexes);
        set->regexes[set->regex_count++] = regex;
    }
    return rc;
}

static int add_item(ash_match_parser *p, ash_match_set *set, const char *op, ash_value v)
{
    if (v.type == BSON_TYPE_UNDEFINED)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "cannot compare to undefined");
    if (ash__match_is_operators(v, false))
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE, "cannot nest $ under %s",
                                op);
    /* A stored regular expression is found as an equal value. */
    ash__match_set_add(set, v, p->collation);
    return v.type == BSON_TYPE_REGEX ? add_regex(p, set, v) : 0;
}

int ash__match_parse_in(ash_match_parser *p, const char *path, const char *op, ash_value arg,
                        ash_match_node **out)
{
    *out = NULL;
    if (arg.type != BSON_TYPE_ARRAY)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE, "%s needs an array", op);
    ash_match_node *node = ash__match_node_new(ASH_COND_IN, path);
    node->cond.operand = arg;
    ash_doc items = ash__value_doc(arg);
    ash__match_set_init(&node->set, ash__doc_count(items));
    int rc = 0;
    for (ash_doc_iter it = ash__doc_iter(items); rc == 0 && ash__doc_iter_next(&it);) {
        rc = ash__budget_step(p->err);
        if (rc == 0)
            rc = add_item(p, &node->set, op, it.value);
    }
    if (rc != 0) {
        ash__match_node_free(node);
        node = NULL;
    }
    *out = node;
    return rc;
}
