/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_MODEL_NAIVE_H
#define ASH_TESTS_MODEL_NAIVE_H

/* A naive evaluator of MongoDB's documented semantics: simple and slow. */

#include "value.h"

/* The order of values across all types. */
int naive_compare(const mv *a, const mv *b);
int naive_number_compare(const mv *a, const mv *b);
bool naive_is_nan(const mv *v);
/* A number as a whole int64; false when it is none. */
bool naive_whole(const mv *v, int64_t *out);
/* a + b or a * b with MongoDB's types; NULL when the result has no exact type (int64 overflow). */
mv *naive_add(const mv *a, const mv *b);
mv *naive_multiply(const mv *a, const mv *b);

/* position: what `$` stands for afterwards, -1 = nothing; may be NULL. */
bool naive_match(const mv *doc, const mv *filter, int *position);
/* An item of an array against the conditions of $elemMatch. */
bool naive_elem_match(const mv *item, const mv *conditions);
bool naive_is_operators(const mv *v); /* {$gt: 1 …} */

/* Every tuple of keys a document has under the paths.  0, or 171 for parallel arrays. */
typedef struct keys {
    mv ***tuples;
    bool *found; /* of each tuple: some field is there, if only as null */
    uint32_t count, width;
} keys;
int naive_keys(const mv *doc, const char **paths, uint32_t count, keys *out);
/* The tuple a document sorts by; NULL for parallel arrays. */
mv **naive_sort_key(const mv *doc, const mv *sort);
int naive_sort_compare(mv **a, mv **b, const mv *sort);

/* position: for the positional operator.  NULL: it has no item to show. */
mv *naive_project(const mv *doc, const mv *projection, int position);

/* An expression's value, NULL when it is missing; and whether it counts as true. */
mv *naive_eval(const mv *doc, const mv *expr);
bool naive_truth(const mv *v);

/* All values at a path with arrays unwound, each once. */
void naive_distinct(const mv *doc, const char *path, mv *values);

/* What an update makes of a copy of doc. */
typedef struct change {
    mv *doc;        /* changed in place */
    int position;   /* for `$` */
    bool is_insert; /* $setOnInsert counts */
    const mv *array_filters;
    bool failed;
    int code; /* 0 when it is not documented which */
} change;
void naive_update(change *c, const mv *update);
void naive_pipeline(change *c, const mv *stages);
/* The document that an upsert starts from; NULL when equalities contradict each other. */
mv *naive_upsert_seed(const mv *filter, int *code);
/* What is wrong with it whatever the document: a code, or 0. */
int naive_update_check(const mv *update, const mv *array_filters);

#endif
