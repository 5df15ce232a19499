/* SPDX-License-Identifier: Apache-2.0 */
/* What each kind of leaf says about the keys of one part.  Where it says too little, the bounds are
 * not exact and the filter decides; where it says nothing at all, there are none. */
#include "query/plan/bounds.h"

#include "base/bytes.h"
#include "base/mem.h"

#include <string.h>

static bool holds_strings(ash_value v)
{
    return v.type == BSON_TYPE_UTF8 || v.type == BSON_TYPE_SYMBOL || v.type == BSON_TYPE_DOCUMENT ||
           v.type == BSON_TYPE_ARRAY || v.type == BSON_TYPE_CODEWSCOPE;
}

/* Null is also what a missing field gives, and an empty array may stand on the way. */
static void add_null(ash_bounds *out)
{
    static const uint8_t nothing[1] = {0};
    ash__bounds_add_empty_array(out);
    ash__bounds_add_point(out, (ash_value){BSON_TYPE_NULL, nothing, 0}, NULL);
    out->exact = false;
    out->skips_missing = false;
}

/* A whole array is found as an element of another one, or by its own first element. */
static void add_array(const ash_bounds_rules *rules, ash_value v, ash_bounds *out)
{
    ash_doc_iter it = ash__doc_iter(ash__value_doc(v));
    ash__bounds_add_point(out, v, rules->collation);
    if (ash__doc_iter_next(&it))
        ash__bounds_add_point(out, it.value, rules->collation);
    else
        ash__bounds_add_empty_array(out);
    out->exact = false;
}

static bool add_equal(const ash_bounds_rules *rules, ash_value v, ash_bounds *out)
{
    /* Under another collation the index has the strings elsewhere. */
    if (holds_strings(v) && !rules->same_collation)
        return false;
    if (rules->hashed) {
        ash__bounds_add_hash(out, v, rules->collation);
        /* A hash stands for any number of values. */
        out->exact = false;
        if (v.type == BSON_TYPE_NULL)
            out->skips_missing = false;
    } else if (v.type == BSON_TYPE_NULL) {
        add_null(out);
    } else if (v.type == BSON_TYPE_ARRAY) {
        add_array(rules, v, out);
    } else {
        ash__bounds_add_point(out, v, rules->collation);
    }
    return true;
}

static bool add_compare(const ash_bounds_rules *rules, enum ash_condition_kind kind, ash_value v,
                        ash_bounds *out)
{
    bool closed = kind == ASH_COND_GTE || kind == ASH_COND_LTE;
    if (kind == ASH_COND_EQ || (closed && (v.type == BSON_TYPE_NULL || ash__value_is_nan(v))))
        return add_equal(rules, v, out);
    if (rules->hashed || ash__value_is_extreme(v) || v.type == BSON_TYPE_ARRAY ||
        (holds_strings(v) && !rules->same_collation))
        return false;
    /* Nothing is less or greater than these within their brackets: known, and no interval. */
    if (v.type == BSON_TYPE_NULL || ash__value_is_nan(v))
        return true;
    bool is_low = kind == ASH_COND_GT || kind == ASH_COND_GTE;
    ash_interval_end limit = {v, closed};
    ash__bounds_add_bracket(out, v.type, is_low ? limit : ASH_BRACKET_END,
                            is_low ? ASH_BRACKET_END : limit, rules->collation);
    return true;
}

/* A BSON string of these bytes, in scrap memory. */
static ash_value make_string(ash_scrap *scrap, const uint8_t *bytes, size_t len)
{
    uint8_t *data = ash__scrap_alloc(scrap, len + 5);
    ash__put_le32(data, (uint32_t)len + 1);
    memcpy(data + 4, bytes, len);
    return (ash_value){BSON_TYPE_UTF8, data, (uint32_t)len + 5};
}

static void add_prefix_range(const ash_bounds_rules *rules, ash_buffer *prefix, ash_bounds *out)
{
    ash_interval_end low = {make_string(rules->scrap, prefix->data, prefix->len), true};
    if (!ash__keycode_successor(prefix)) {
        ash__bounds_add_bracket(out, BSON_TYPE_UTF8, low, ASH_BRACKET_END, NULL);
        return;
    }
    ash_interval_end high = {make_string(rules->scrap, prefix->data, prefix->len), false};
    ash__bounds_add_range(out, low, high, NULL);
}

static bool add_regex(const ash_bounds_rules *rules, ash_value v, ash_bounds *out)
{
    const char *options;
    const char *pattern = ash__value_regex(v, &options);
    bool whole = false;
    if (rules->hashed)
        return false;
    ash_buffer prefix = ASH_BUFFER_INIT;
    /* Folded strings lie elsewhere than where the pattern's case points to. */
    if (rules->collation == NULL && ash__regex_prefix(pattern, options, &prefix, &whole))
        add_prefix_range(rules, &prefix, out);
    else
        ash__bounds_add_bracket(out, BSON_TYPE_UTF8, ASH_BRACKET_END, ASH_BRACKET_END,
                                rules->collation);
    /* The same regular expression, stored, matches too. */
    ash__bounds_add_point(out, v, NULL);
    out->exact = out->exact && whole && rules->collation == NULL;
    ash__buffer_release(&prefix);
    return true;
}

static bool add_in(const ash_bounds_rules *rules, ash_value list, ash_bounds *out)
{
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(list)); ash__doc_iter_next(&it);) {
        bool known = it.value.type == BSON_TYPE_REGEX ? add_regex(rules, it.value, out)
                                                      : add_equal(rules, it.value, out);
        if (!known)
            return false;
    }
    return true;
}

/* Types whose keys are just their bracket's. */
static bool add_types(const ash_bounds_rules *rules, uint32_t types, ash_bounds *out)
{
    static const uint8_t simple[] = {BSON_TYPE_UTF8,     BSON_TYPE_DOCUMENT, BSON_TYPE_BINARY,
                                     BSON_TYPE_OID,      BSON_TYPE_BOOL,     BSON_TYPE_DATE_TIME,
                                     BSON_TYPE_TIMESTAMP};
    uint32_t left = types;
    for (size_t i = 0; i < ASH_ARRAY_LEN(simple); i++) {
        if ((types & ash__type_bit(simple[i])) == 0)
            continue;
        left &= ~ash__type_bit(simple[i]);
        ash__bounds_add_bracket(out, simple[i], ASH_BRACKET_END, ASH_BRACKET_END, NULL);
    }
    out->exact = false;
    return left == 0 && !rules->hashed;
}

static bool add_numbers(const ash_bounds_rules *rules, bool and_binaries, ash_bounds *out)
{
    ash__bounds_add_bracket(out, BSON_TYPE_DOUBLE, ASH_BRACKET_END, ASH_BRACKET_END, NULL);
    if (and_binaries)
        ash__bounds_add_bracket(out, BSON_TYPE_BINARY, ASH_BRACKET_END, ASH_BRACKET_END, NULL);
    out->exact = false;
    return !rules->hashed;
}

static bool add_exists(const ash_match_node *n, ash_bounds *out)
{
    /* A key cannot tell a null that is there from a field that is not. */
    if (n->wanted)
        out->is_all = true;
    else
        add_null(out);
    out->exact = false;
    return true;
}

/* The element that fulfils all conditions gives one key, so here bounds may meet even on a multikey
 * index. */
static bool add_elem_value(const ash_match_node *n, const ash_bounds_rules *rules, ash_bounds *out)
{
    const ash_match_node *inner = ash__match_child(n, 0);
    bool any = false;
    for (uint32_t i = 0; i < inner->cond.child_count; i++) {
        const ash_match_node *child = ash__match_child(inner, i);
        ash_bounds one = {0};
        /* The comparisons and $in: others are not about the element alone. */
        bool usable = child->cond.kind >= ASH_COND_EQ && child->cond.kind <= ASH_COND_IN;
        if (usable && ash__bounds_of(child, rules, &one)) {
            if (any)
                ash__bounds_intersect(out, &one);
            else
                ash__bounds_move(out, &one);
            any = true;
        }
        ash__bounds_release(&one);
    }
    out->exact = false;
    /* Only an array has elements. */
    out->skips_missing = true;
    return any;
}

static bool add_leaf(const ash_match_node *n, const ash_bounds_rules *rules, ash_bounds *out)
{
    switch (n->cond.kind) {
    case ASH_COND_EQ:
    case ASH_COND_GT:
    case ASH_COND_GTE:
    case ASH_COND_LT:
    case ASH_COND_LTE:
        return add_compare(rules, n->cond.kind, n->cond.operand, out);
    case ASH_COND_IN:
        return add_in(rules, n->cond.operand, out);
    case ASH_COND_EXISTS:
        return !rules->hashed && add_exists(n, out);
    case ASH_COND_TYPE:
        return add_types(rules, n->types, out);
    case ASH_COND_REGEX:
        return add_regex(rules, n->cond.operand, out);
    case ASH_COND_MOD:
        return add_numbers(rules, false, out);
    case ASH_COND_BITS:
        return add_numbers(rules, true, out);
    case ASH_COND_ELEM_MATCH_VALUE:
        return add_elem_value(n, rules, out);
    default:
        return false;
    }
}

bool ash__bounds_of(const ash_match_node *n, const ash_bounds_rules *rules, ash_bounds *out)
{
    memset(out, 0, sizeof *out);
    out->exact = true;
    out->skips_missing = true;
    bool known = add_leaf(n, rules, out);
    if (known)
        ash__bounds_normalise(out);
    else
        ash__bounds_release(out);
    return known;
}
