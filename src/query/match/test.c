/* SPDX-License-Identifier: Apache-2.0 */
/* Testing a document.  A failure (a regular expression with too many steps, time used up) cannot be
 * told by an answer that a $not may turn round; it is noted in the run, and the answer is then
 * void. */
#include "query/match/node.h"

#include "base/budget.h"

static bool is_nullish(ash_value v)
{
    return ash__value_is_missing(v) || ash__value_is_null(v);
}

/* MinKey and MaxKey as operands compare with every type. */
static bool compare_with_extreme(enum ash_condition_kind kind, uint8_t extreme)
{
    if (kind == ASH_COND_LT || kind == ASH_COND_LTE)
        return extreme == (uint8_t)BSON_TYPE_MAXKEY;
    return kind != ASH_COND_EQ && extreme == (uint8_t)BSON_TYPE_MINKEY;
}

bool ash__match_compare(enum ash_condition_kind kind, ash_value v, ash_value operand,
                        const ash_collation *c)
{
    bool or_equal = kind == ASH_COND_EQ || kind == ASH_COND_GTE || kind == ASH_COND_LTE;
    if (is_nullish(operand))
        return or_equal && is_nullish(v);
    if (ash__value_is_extreme(operand) && v.type != operand.type)
        return compare_with_extreme(kind, operand.type);
    /* Comparisons never leave the operand's type: {$gt: 3} finds no strings. */
    if (is_nullish(v) || ash__type_bracket(v.type) != ash__type_bracket(operand.type))
        return false;
    /* NaN equals NaN, and is in no range. */
    if (ash__value_is_nan(v) || ash__value_is_nan(operand))
        return or_equal && ash__value_is_nan(v) && ash__value_is_nan(operand);
    int order = ash__value_compare(v, operand, c);
    switch (kind) {
    case ASH_COND_EQ:
        return order == 0;
    case ASH_COND_GT:
        return order > 0;
    case ASH_COND_GTE:
        return order >= 0;
    case ASH_COND_LT:
        return order < 0;
    default:
        return order <= 0;
    }
}

/* One document may meet thousands of conditions, and one condition thousands of elements. */
static bool may_go_on(ash_match_run *run)
{
    if (!run->has_failed && ash__budget_step(run->failed) != 0)
        run->has_failed = true;
    return !run->has_failed;
}

static bool test_regex(ash_match_run *run, const ash_regex *regex, ash_value v)
{
    uint32_t len;
    if (v.type != BSON_TYPE_UTF8 && v.type != BSON_TYPE_SYMBOL)
        return false;
    const char *text = ash__value_string(v, &len);
    int found = ash__regex_test(regex, text, len, run->has_failed ? NULL : run->failed);
    if (found < 0)
        run->has_failed = true;
    return found > 0;
}

static bool test_in(ash_match_run *run, const ash_match_node *n, ash_value v)
{
    if (ash__match_set_has(&n->set, v, ash__matcher_collation(run->matcher)))
        return true;
    for (uint32_t i = 0; i < n->set.regex_count && may_go_on(run); i++)
        if (test_regex(run, n->set.regexes[i], v))
            return true;
    return false;
}

static bool test_mod(const ash_match_node *n, ash_value v)
{
    ash_value_box whole;
    if (!ash__value_is_number(v) || ash__number_convert(v, BSON_TYPE_INT64, &whole, NULL) != 0)
        return false;
    /* The one quotient that does not fit has no remainder. */
    int64_t rest = n->divisor == -1 ? 0 : ash__value_int64(whole.value) % n->divisor;
    return rest == n->remainder;
}

static bool test_value(ash_match_run *run, const ash_match_node *n, ash_value v);

/* The elements of an array, for $elemMatch: the whole condition on each of them. */
static bool test_elements(ash_match_run *run, const ash_match_node *n, ash_value v,
                          int32_t *inner_index)
{
    if (v.type != BSON_TYPE_ARRAY)
        return false;
    const ash_match_node *inner = ash__match_child(n, 0);
    int32_t at = 0;
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(v)); ash__doc_iter_next(&it); at++) {
        bool is_doc = it.value.type == BSON_TYPE_DOCUMENT || it.value.type == BSON_TYPE_ARRAY;
        bool found = n->cond.kind == ASH_COND_ELEM_MATCH_VALUE
                         ? test_value(run, inner, it.value)
                         : is_doc && ash__match_doc(run, inner, ash__value_doc(it.value), NULL);
        if (found) {
            *inner_index = at;
            return true;
        }
    }
    return false;
}

bool ash__match_leaf(ash_match_run *run, const ash_match_node *n, ash_value v, int32_t *inner_index)
{
    const ash_collation *c = ash__matcher_collation(run->matcher);
    if (!may_go_on(run))
        return false;
    switch (n->cond.kind) {
    case ASH_COND_EQ:
    case ASH_COND_GT:
    case ASH_COND_GTE:
    case ASH_COND_LT:
    case ASH_COND_LTE:
        return ash__match_compare(n->cond.kind, v, n->cond.operand, c);
    case ASH_COND_IN:
        return test_in(run, n, v);
    case ASH_COND_EXISTS:
        return !ash__value_is_missing(v);
    case ASH_COND_TYPE:
        return !ash__value_is_missing(v) && (n->types & ash__type_bit(v.type)) != 0;
    case ASH_COND_MOD:
        return test_mod(n, v);
    case ASH_COND_REGEX:
        return test_regex(run, n->regex, v) ||
               (v.type == BSON_TYPE_REGEX && ash__value_identical(v, n->cond.operand));
    case ASH_COND_BITS:
        return ash__match_bits_test(&n->bits, v);
    case ASH_COND_SIZE:
        return v.type == BSON_TYPE_ARRAY && ash__doc_count(ash__value_doc(v)) == n->size;
    case ASH_COND_ELEM_MATCH_DOC:
    case ASH_COND_ELEM_MATCH_VALUE:
        return test_elements(run, n, v, inner_index);
    default:
        return false;
    }
}

static bool test_value(ash_match_run *run, const ash_match_node *n, ash_value v)
{
    int32_t ignored;
    switch (n->cond.kind) {
    case ASH_COND_AND:
        for (uint32_t i = 0; i < n->cond.child_count; i++)
            if (!test_value(run, ash__match_child(n, i), v))
                return false;
        return true;
    case ASH_COND_NOT:
        return !test_value(run, ash__match_child(n, 0), v);
    case ASH_COND_ALWAYS:
        return true;
    case ASH_COND_EXISTS:
        return ash__match_leaf(run, n, v, &ignored) == n->wanted;
    default:
        return ash__match_leaf(run, n, v, &ignored);
    }
}

struct visit {
    ash_match_run *run;
    const ash_match_node *node;
    ash_match_details *details;
    bool found;
};

static bool visit_hit(void *ctx, const ash_path_hit *hit)
{
    struct visit *visit = ctx;
    int32_t inner_index = -1;
    if (!ash__match_leaf(visit->run, visit->node, hit->value, &inner_index))
        return true;
    visit->found = true;
    if (visit->details != NULL) {
        /* Of the outermost array: the one on the path, else the one that $elemMatch looks into. */
        int32_t index = hit->array_index >= 0 ? hit->array_index : inner_index;
        if (index >= 0)
            visit->details->array_index = index;
    }
    return false;
}

static bool test_path(ash_match_run *run, const ash_match_node *n, ash_doc doc,
                      ash_match_details *details)
{
    enum ash_condition_kind kind = n->cond.kind;
    /* Those ask about the array, all others about its items, too. */
    bool expand = kind != ASH_COND_SIZE && kind != ASH_COND_ELEM_MATCH_DOC &&
                  kind != ASH_COND_ELEM_MATCH_VALUE && kind != ASH_COND_EXISTS;
    bool negated = kind == ASH_COND_EXISTS && !n->wanted;
    struct visit visit = {run, n, negated ? NULL : details, false};
    bool done = ash__path_walk(doc, n->cond.path, expand, visit_hit, &visit);
    /* The walk ends early at a hit, or when time is up. */
    if (!done && !visit.found && !run->has_failed)
        run->has_failed = ash__budget_check(run->failed) != 0;
    return visit.found != negated;
}

static bool test_schema(ash_match_run *run, const ash_match_node *n, ash_doc doc)
{
    ash_error failed = ASH_ERROR_INIT;
    bool valid = ash__schema_test(n->schema, ash__value_of_doc(doc), &failed);
    if (failed.code != 0 && !run->has_failed) {
        run->has_failed = true;
        if (run->failed != NULL)
            *run->failed = failed;
    }
    return valid;
}

static bool any_child(ash_match_run *run, const ash_match_node *n, ash_doc doc,
                      ash_match_details *details)
{
    for (uint32_t i = 0; i < n->cond.child_count; i++)
        if (ash__match_doc(run, ash__match_child(n, i), doc, details))
            return true;
    return false;
}

/* Which array element matched is remembered from conditions that all hold, never from those under
 * $not and $nor, nor under an $or of several. */
bool ash__match_doc(ash_match_run *run, const ash_match_node *n, ash_doc doc,
                    ash_match_details *details)
{
    switch (n->cond.kind) {
    case ASH_COND_AND:
        for (uint32_t i = 0; i < n->cond.child_count; i++)
            if (!ash__match_doc(run, ash__match_child(n, i), doc, details))
                return false;
        return true;
    case ASH_COND_OR:
        return any_child(run, n, doc, n->cond.child_count > 1 ? NULL : details);
    case ASH_COND_NOR:
        return !any_child(run, n, doc, NULL);
    case ASH_COND_NOT:
        return !ash__match_doc(run, ash__match_child(n, 0), doc, NULL);
    case ASH_COND_ALWAYS:
        return true;
    case ASH_COND_NEVER:
        return false;
    case ASH_COND_EXPR:
        return ash__match_test_expr(run, n, doc);
    case ASH_COND_SCHEMA:
        return test_schema(run, n, doc);
    default:
        return test_path(run, n, doc, details);
    }
}
