/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_QUERY_PLAN_KEY_FILTER_H
#define ASH_QUERY_PLAN_KEY_FILTER_H

#include "query/plan/plan.h"

/* A filter tried on the keys of one index, so that only documents which may match are fetched: a
 * regular expression that is not anchored, $mod, conditions on a compound index's later fields. */
typedef struct ash_key_filter ash_key_filter;

enum ash_key_verdict {
    ASH_KEY_MATCHES,
    ASH_KEY_FAILS,
    ASH_KEY_UNSURE /* the document has to tell */
};

/* NULL: this index's keys tell nothing about the filter.  Both are borrowed; when the index is
 * described anew, its pattern may lie elsewhere. */
ash_key_filter *ash__key_filter_new(const ash_matcher *m, const ash_index_desc *index);
/* key: whole, of a document for which the index has this key alone. */
enum ash_key_verdict ash__key_filter_test(ash_key_filter *f, ash_doc key);
/* Has it been tried for a while, and told nothing? */
bool ash__key_filter_is_idle(const ash_key_filter *f);
void ash__key_filter_free(ash_key_filter *f);

#endif
