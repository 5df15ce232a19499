/* SPDX-License-Identifier: Apache-2.0 */
#include "query/match/node.h"

#include <string.h>

/* Does every document that `inner` matches also match `outer`?  "No" may mean "not seen to". */

/* Lists in lists are tried each with each, so that small filters may take for ever. */
#define MAX_TRIALS 100000

struct pair {
    const ash_matcher *inner;
    const ash_matcher *outer;
    bool same_collation;
    uint32_t trials; /* so many left: then the answer is no */
};

static bool implies(struct pair *p, const ash_match_node *inner, const ash_match_node *outer);

static bool same_path(const ash_match_node *a, const ash_match_node *b)
{
    return a->cond.path != NULL && b->cond.path != NULL && strcmp(a->cond.path, b->cond.path) == 0;
}

/* Strings, alone or inside, compare differently under another collation. */
static bool comparable(const struct pair *p, ash_value v)
{
    if (p->same_collation)
        return true;
    return v.type != BSON_TYPE_UTF8 && v.type != BSON_TYPE_SYMBOL && v.type != BSON_TYPE_DOCUMENT &&
           v.type != BSON_TYPE_ARRAY;
}

static bool is_compare(enum ash_condition_kind kind)
{
    return kind >= ASH_COND_EQ && kind <= ASH_COND_LTE;
}

/* A value that fulfils the inner comparison stays within the outer one. */
static bool range_within(const struct pair *p, const ash_match_node *inner,
                         const ash_match_node *outer)
{
    enum ash_condition_kind in = inner->cond.kind, out = outer->cond.kind;
    ash_value a = inner->cond.operand, b = outer->cond.operand;
    /* An array is met as a whole and by its items, which lie elsewhere. */
    if (!comparable(p, a) || !comparable(p, b) || a.type == BSON_TYPE_ARRAY)
        return false;
    const ash_collation *c = ash__matcher_collation(p->outer);
    if (in == ASH_COND_EQ)
        return ash__match_compare(out, a, b, c);
    if (out == ASH_COND_EQ)
        return false;
    bool in_up = in == ASH_COND_GT || in == ASH_COND_GTE;
    bool out_up = out == ASH_COND_GT || out == ASH_COND_GTE;
    if (in_up != out_up || ash__value_is_extreme(a))
        return false;
    /* An open limit need not lie inside: what is greater than 5 is also greater than or equal to
     * 5. */
    bool inner_open = in == ASH_COND_GT || in == ASH_COND_LT;
    enum ash_condition_kind closed = out_up ? ASH_COND_GTE : ASH_COND_LTE;
    return ash__match_compare(inner_open ? closed : out, a, b, c);
}

/* Does no document without the field fulfil it? */
static bool needs_value(const ash_match_node *n)
{
    switch (n->cond.kind) {
    case ASH_COND_EQ:
        return n->cond.operand.type != BSON_TYPE_NULL;
    case ASH_COND_GT:
    case ASH_COND_GTE:
    case ASH_COND_LT:
    case ASH_COND_LTE: /* MinKey and MaxKey as limits let missing fields through */
        return n->cond.operand.type != BSON_TYPE_NULL && !ash__value_is_extreme(n->cond.operand);
    case ASH_COND_TYPE:
    case ASH_COND_MOD:
    case ASH_COND_REGEX:
    case ASH_COND_SIZE:
    case ASH_COND_BITS:
    case ASH_COND_ELEM_MATCH_DOC:
    case ASH_COND_ELEM_MATCH_VALUE:
        return true;
    case ASH_COND_IN:
        return !n->set.has_null;
    case ASH_COND_EXISTS:
        return n->wanted;
    default:
        return false;
    }
}

/* Each plain item of an $in is an equality. */
static bool all_items_within(struct pair *p, const ash_match_node *in, const ash_match_node *outer)
{
    if (in->set.regex_count != 0)
        return false;
    ash_match_node item = {.cond = {.kind = ASH_COND_EQ, .path = in->cond.path}};
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(in->cond.operand));
         ash__doc_iter_next(&it);) {
        item.cond.operand = it.value;
        if (!implies(p, &item, outer))
            return false;
    }
    return true;
}

static bool in_set(const struct pair *p, ash_value v, const ash_match_node *outer)
{
    return comparable(p, v) && p->same_collation && v.type != BSON_TYPE_ARRAY &&
           ash__match_set_has(&outer->set, v, ash__matcher_collation(p->outer));
}

/* The same condition written twice. */
static bool same_leaf(const struct pair *p, const ash_match_node *a, const ash_match_node *b)
{
    if (a->cond.kind != b->cond.kind || a->cond.child_count != 0 || !p->same_collation)
        return false;
    if (a->cond.kind == ASH_COND_BITS && a->bits.test != b->bits.test)
        return false;
    return ash__value_identical(a->cond.operand, b->cond.operand);
}

static bool leaf_implies(struct pair *p, const ash_match_node *inner, const ash_match_node *outer)
{
    if (!same_path(inner, outer))
        return false;
    /* Also where nothing else is known of the operator. */
    if (same_leaf(p, inner, outer))
        return true;
    if (outer->cond.kind == ASH_COND_EXISTS)
        return outer->wanted && needs_value(inner);
    if (inner->cond.kind == ASH_COND_IN)
        return all_items_within(p, inner, outer);
    if (outer->cond.kind == ASH_COND_IN)
        return inner->cond.kind == ASH_COND_EQ && in_set(p, inner->cond.operand, outer);
    /* Only where all equal values have one type: a number has four, a string may be a symbol, null
     * may be missing, and what equals an array may be one of its items. */
    if (outer->cond.kind == ASH_COND_TYPE)
        return inner->cond.kind == ASH_COND_EQ && inner->cond.operand.type != BSON_TYPE_NULL &&
               !ash__value_is_number(inner->cond.operand) &&
               inner->cond.operand.type != BSON_TYPE_ARRAY &&
               outer->types == ash__type_bit(inner->cond.operand.type) &&
               inner->cond.operand.type != BSON_TYPE_UTF8;
    if (is_compare(inner->cond.kind) && is_compare(outer->cond.kind))
        return range_within(p, inner, outer);
    return false;
}

static bool any_child_implies(struct pair *p, const ash_match_node *inner,
                              const ash_match_node *outer)
{
    for (uint32_t i = 0; i < inner->cond.child_count; i++)
        if (implies(p, ash__match_child(inner, i), outer))
            return true;
    return false;
}

static bool every_child_implies(struct pair *p, const ash_match_node *inner,
                                const ash_match_node *outer)
{
    for (uint32_t i = 0; i < inner->cond.child_count; i++)
        if (!implies(p, ash__match_child(inner, i), outer))
            return false;
    return true;
}

static bool implies(struct pair *p, const ash_match_node *inner, const ash_match_node *outer)
{
    /* Giving up is a no. */
    if (p->trials == 0)
        return false;
    p->trials--;
    if (outer->cond.kind == ASH_COND_ALWAYS || inner->cond.kind == ASH_COND_NEVER)
        return true;
    if (outer->cond.kind == ASH_COND_AND) {
        for (uint32_t i = 0; i < outer->cond.child_count; i++)
            if (!implies(p, inner, ash__match_child(outer, i)))
                return false;
        return true;
    }
    /* Every branch of the inner $or has to imply it: this comes before what is content with one. */
    if (inner->cond.kind == ASH_COND_OR)
        return every_child_implies(p, inner, outer);
    if (inner->cond.kind == ASH_COND_AND && any_child_implies(p, inner, outer))
        return true;
    if (outer->cond.kind == ASH_COND_OR) {
        for (uint32_t i = 0; i < outer->cond.child_count; i++)
            if (implies(p, inner, ash__match_child(outer, i)))
                return true;
        return false;
    }
    if (inner->cond.kind == ASH_COND_NOT && outer->cond.kind == ASH_COND_NOT)
        return same_leaf(p, ash__match_child(inner, 0), ash__match_child(outer, 0)) &&
               same_path(ash__match_child(inner, 0), ash__match_child(outer, 0));
    return leaf_implies(p, inner, outer);
}

bool ash__matcher_implies(const ash_matcher *inner, const ash_matcher *outer)
{
    struct pair p = {
        inner, outer,
        ash__collations_agree(ash__matcher_collation(inner), ash__matcher_collation(outer)),
        MAX_TRIALS};
    return !inner->bare && !outer->bare && implies(&p, inner->root, outer->root);
}

/* What a partial index may be built over: conditions that name what they hold, and lists of them.
 */
static bool check_partial(const ash_match_node *n, ash_error *err)
{
    switch (n->cond.kind) {
    case ASH_COND_AND:
    case ASH_COND_OR:
        for (uint32_t i = 0; i < n->cond.child_count; i++)
            if (!check_partial(ash__match_child(n, i), err))
                return false;
        return true;
    case ASH_COND_EXISTS:
        if (n->wanted)
            return true;
        break;
    case ASH_COND_EXPR:
        ash__fail_server(err, ASH_EINVAL, ASH_MONGO_QUERY_FEATURE_NOT_ALLOWED,
                         "$expr is not allowed in this context");
        return false;
    case ASH_COND_EQ:
    case ASH_COND_GT:
    case ASH_COND_GTE:
    case ASH_COND_LT:
    case ASH_COND_LTE:
    case ASH_COND_IN:
    case ASH_COND_TYPE:
    case ASH_COND_ALWAYS:
    case ASH_COND_NEVER:
        return true;
    default:
        break;
    }
    ash__fail_server(err, ASH_EINVAL, ASH_MONGO_CANNOT_CREATE_INDEX,
                     "Expression not supported in partial index: %s",
                     n->cond.path != NULL ? n->cond.path : "a negation");
    return false;
}

int ash__matcher_check_partial(const ash_matcher *m, ash_error *err)
{
    return check_partial(m->root, err) ? 0 : ASH_EINVAL;
}
