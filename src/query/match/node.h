/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_QUERY_MATCH_NODE_H
#define ASH_QUERY_MATCH_NODE_H

/* The compiled form of a filter, shared by the match_*.c files. */

#include "query/expr/expr.h"
#include "query/match/match.h"
#include "query/kit/regex.h"
#include "query/match/schema.h"
#include "bson/number.h"
#include "bson/path.h"

#define ASH_MATCH_MAX_DEPTH 100

/* $in: a hash set of the plain values beside the regular expressions. */
typedef struct ash_match_set {
    ash_value *slots; /* a power of two of them; missing marks a free one */
    uint32_t mask;
    ash_regex **regexes;
    uint32_t regex_count;
    bool has_null; /* null matches a missing field too */
} ash_match_set;

enum ash_bits_test { ASH_BITS_ALL_SET, ASH_BITS_ALL_CLEAR, ASH_BITS_ANY_SET, ASH_BITS_ANY_CLEAR };

typedef struct ash_match_bits {
    enum ash_bits_test test;
    uint32_t *positions;
    uint32_t count;
} ash_match_bits;

typedef struct ash_match_node {
    ash_condition cond; /* first, so that children can be cast */
    bool bare;          /* tests the value it is given, not a path of a document */
    bool wanted;        /* $exists */
    uint32_t types;     /* $type: a set of ash__type_bit */
    int64_t divisor, remainder;
    int64_t size;
    ash_match_bits bits;
    ash_match_set set;
    uint8_t *regex_value; /* $regex and $options as one value: the operand */
    ash_regex *regex;
    ash_expr *expr;
    ash_schema *schema;
} ash_match_node;

struct ash_matcher {
    uint8_t *bytes; /* the copied filter: operands and paths point into it */
    ash_doc filter;
    ash_collation collation;
    bool has_collation;
    bool bare; /* made for a value: tests {"": value} */
    ash_match_node *root;
};

static inline const ash_collation *ash__matcher_collation(const ash_matcher *m)
{
    return m->has_collation ? &m->collation : NULL;
}

/* NULL is byte order. */
static inline bool ash__collations_agree(const ash_collation *a, const ash_collation *b)
{
    ash_collation simple = {false, false};
    ash_collation x = a == NULL ? simple : *a, y = b == NULL ? simple : *b;
    return x.ignore_case == y.ignore_case && x.ignore_diacritics == y.ignore_diacritics;
}

static inline bool ash__value_is_extreme(ash_value v)
{
    return v.type == (uint8_t)BSON_TYPE_MINKEY || v.type == (uint8_t)BSON_TYPE_MAXKEY;
}

static inline ash_match_node *ash__match_child(const ash_match_node *n, uint32_t i)
{
    return (ash_match_node *)n->cond.children[i];
}

/* What parsing carries along. */
typedef struct ash_match_parser {
    const ash_query_env *env;
    const ash_collation *collation;
    ash_error *err;
} ash_match_parser;

ash_match_node *ash__match_node_new(enum ash_condition_kind kind, const char *path);
void ash__match_node_free(ash_match_node *n);
void ash__match_node_add(ash_match_node *parent, ash_match_node *child); /* takes child over */
/* A list of one is the child itself, an empty one always matches. */
ash_match_node *ash__match_node_simplify(ash_match_node *list);

/* A document of fields and top-level operators. */
int ash__match_parse_doc(ash_match_parser *p, ash_doc doc, int depth, ash_match_node **out);

/* One leaf operator; false in *known when there is none of that name. */
int ash__match_parse_leaf(ash_match_parser *p, const char *path, const char *op, ash_value arg,
                          ash_match_node *list, bool *known);
/* Equality with arg, or a match when it is a regular expression. */
int ash__match_parse_equal(ash_match_parser *p, const char *path, ash_value arg,
                           ash_match_node *list);
int ash__match_parse_regex(ash_match_parser *p, const char *path, ash_value regex, ash_doc ops,
                           ash_match_node *list);
int ash__match_parse_in(ash_match_parser *p, const char *path, const char *op, ash_value arg,
                        ash_match_node **out);
int ash__match_parse_bits(ash_match_parser *p, const char *path, const char *op, ash_value arg,
                          ash_match_node *list);
/* An object that begins with an operator and is no DBRef. */
bool ash__match_is_operators(ash_value v, bool allow_partial_dbref);
/* The same, but not one that begins with $and, $or, $nor or $where: those are whole filters. */
bool ash__match_is_value_operators(ash_value v, bool allow_partial_dbref);

/* Room for so many values, which the set views; null is none of the slots. */
void ash__match_set_init(ash_match_set *set, uint32_t count);
void ash__match_set_add(ash_match_set *set, ash_value v, const ash_collation *c);
bool ash__match_set_has(const ash_match_set *set, ash_value v, const ash_collation *c);
void ash__match_set_release(ash_match_set *set);
bool ash__match_bits_test(const ash_match_bits *bits, ash_value v);
/* A comparison kind (EQ … LTE) with MongoDB's brackets: null equals missing, NaN only NaN. */
bool ash__match_compare(enum ash_condition_kind kind, ash_value v, ash_value operand,
                        const ash_collation *c);

/* Leaf conditions on one value, without looking into arrays. */
typedef struct ash_match_run {
    const ash_matcher *matcher;
    ash_doc root;
    ash_error *failed;
    bool has_failed;
} ash_match_run;
bool ash__match_leaf(ash_match_run *run, const ash_match_node *n, ash_value v,
                     int32_t *inner_index);
bool ash__match_doc(ash_match_run *run, const ash_match_node *n, ash_doc doc,
                    ash_match_details *details);

int ash__match_parse_expr(ash_match_parser *p, ash_value arg, ash_match_node *list);
bool ash__match_test_expr(ash_match_run *run, const ash_match_node *n, ash_doc doc);

#endif
