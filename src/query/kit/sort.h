/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_QUERY_KIT_SORT_H
#define ASH_QUERY_KIT_SORT_H

#include "query/kit/env.h"
#include "bson/keycode.h"

/* A sort specification {a: 1, "b.c": -1}.  {$natural: ±1} is natural order.  Documents compare by
 * their sort key: for arrays the smallest element (1) or the largest (-1); equal keys keep
 * insertion order (by `order`). */
typedef struct ash_sort_spec ash_sort_spec;
int ash__sort_spec_new(const bson_t *sort, const ash_query_env *env, ash_sort_spec **out,
                       ash_error *err);
void ash__sort_spec_free(ash_sort_spec *s);
bool ash__sort_spec_is_empty(const ash_sort_spec *s);
int ash__sort_spec_natural(const ash_sort_spec *s); /* 1, -1, or 0 when it is not $natural */
const ash_key_pattern *ash__sort_spec_pattern(const ash_sort_spec *s);

/* The document's sort key: one encoding of all parts; memcmp orders documents. */
void ash__sort_key(const ash_sort_spec *s, ash_doc doc, ash_buffer *out);

/* The same, but parallel arrays, whose order is nobody's guess, are ASH_EINVAL (2) and nothing is
 * appended; ash__sort_key takes each part by itself then. */
int ash__sort_key_checked(const ash_sort_spec *s, ash_doc doc, ash_buffer *out, ash_error *err);

/* In-memory sort of (key, order, payload).  With keep_first > 0 only that many smallest are kept
 * (top-k in bounded memory). */
typedef struct ash_sorter ash_sorter;
ash_sorter *ash__sorter_new(const ash_sort_spec *s, uint64_t keep_first, const ash_query_env *env);
int ash__sorter_add(ash_sorter *s, ash_doc doc, uint64_t order,
                    ash_error *err); /* copies; ENOMEM (292) over the limit, EINVAL (2) for
                                       parallel arrays */
void ash__sorter_finish(ash_sorter *s);
bool ash__sorter_next(ash_sorter *s, ash_doc *doc, uint64_t *order); /* views */
/* Frees what next() has given (but the last one, if so wished): views of it end here, or with free.
 */
void ash__sorter_forget(ash_sorter *s, bool but_last);
void ash__sorter_free(ash_sorter *s);

#endif
