/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_QUERY_MATCH_MATCH_H
#define ASH_QUERY_MATCH_MATCH_H

#include "query/kit/env.h"

/* A compiled filter.  Immutable after compiling; any number of threads may test with it. */
typedef struct ash_matcher ash_matcher;

/* Copies the filter.  NULL or {} matches everything.  Errors carry MongoDB's code (2 BadValue, 9
 * FailedToParse, 14, 51091 for a bad regex …) and name the operator. */
int ash__matcher_new(const bson_t *filter, const ash_query_env *env, ash_matcher **out,
                     ash_error *err);
void ash__matcher_free(ash_matcher *m);

/* What a match leaves behind for the positional operator `$`. */
typedef struct ash_match_details {
    int32_t array_index; /* index of the matching element in the outermost array of the array
                            condition, or -1 */
} ash_match_details;

/* details may be NULL.  $expr and $jsonSchema are evaluated too; an $expr that fails at run time
 * sets *failed (may be NULL) and does not match. */
bool ash__matcher_test(const ash_matcher *m, ash_doc doc, ash_match_details *details,
                       ash_error *failed);

/* The same, with such a failure as the result: $expr and $jsonSchema that cannot be evaluated,
 * regular expressions that take too many steps.  *matches is then false. */
int ash__matcher_check(const ash_matcher *m, ash_doc doc, ash_match_details *details, bool *matches,
                       ash_error *err);

/* Test a bare value against a condition document, as $pull does: {$gt: 3}, which looks into arrays,
 * or {a: 1}.  Fails as ash__matcher_check() does.
 */
int ash__matcher_check_value(const ash_matcher *m, ash_value v, bool *matches, ash_error *err);
int ash__matcher_new_for_value(ash_value condition, const ash_query_env *env, ash_matcher **out,
                               ash_error *err);

ash_doc ash__matcher_filter(const ash_matcher *m); /* as it was given; lives as long as m */
bool ash__matcher_is_empty(const ash_matcher *m);

/* The condition tree, read by the planner (src/query/plan/plan.c) only. */
enum ash_condition_kind {
    ASH_COND_AND,
    ASH_COND_OR,
    ASH_COND_NOR,
    ASH_COND_NOT,
    ASH_COND_EQ,
    ASH_COND_GT,
    ASH_COND_GTE,
    ASH_COND_LT,
    ASH_COND_LTE,
    ASH_COND_IN,
    ASH_COND_EXISTS,
    ASH_COND_TYPE,
    ASH_COND_MOD,
    ASH_COND_REGEX,
    ASH_COND_ALL,
    ASH_COND_ELEM_MATCH_DOC,
    ASH_COND_ELEM_MATCH_VALUE,
    ASH_COND_SIZE,
    ASH_COND_BITS,
    ASH_COND_EXPR,
    ASH_COND_SCHEMA,
    ASH_COND_ALWAYS,
    ASH_COND_NEVER
};
typedef struct ash_condition {
    enum ash_condition_kind kind;
    const char *path;                /* dotted; NULL for logical kinds */
    ash_value operand;               /* EQ … LTE; array for IN and ALL; regex for REGEX */
    struct ash_condition **children; /* logical kinds, ELEM_MATCH */
    uint32_t child_count;
} ash_condition;
const ash_condition *ash__matcher_root(const ash_matcher *m);

/* Every document that `inner` matches is matched by `outer` too: a partial index with filter
 * `outer` can serve a query `inner`. Answers false when unsure. */
bool ash__matcher_implies(const ash_matcher *inner, const ash_matcher *outer);

/* May a new index be built over what m matches?  Of comparisons, $in, $type, {$exists: true}, $and
 * and $or only; anything else: 67, $expr 224. */
int ash__matcher_check_partial(const ash_matcher *m, ash_error *err);

/* Equality conditions that every match must satisfy (top level, $and, $eq, $in of one): the seed of
 * an upsert.  Appends path/value pairs in order; contradictory duplicates are an error (54). */
int ash__matcher_equalities(const ash_matcher *m,
                            bool (*visit)(void *ctx, const char *path, ash_value v), void *ctx,
                            ash_error *err);

/* Query operators. */
const ash_feature *ash__match_features(void);

#endif
