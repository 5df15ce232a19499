/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_READ_VIEWS_H
#define ASH_STORE_EMBEDDED_READ_VIEWS_H

#include "store/embedded/find/cursor.h"
#include "store/embedded/kit/view.h"
#include "store/embedded/read/aggregate.h"

/* Reading views: finds, aggregates, counts and distinct on a view become an aggregate on what it
 * stands on (which may be a view again), and so do the reads of stages that name other collections.
 * Views that join themselves end with 165 at ASH_VIEW_MAX_DEPTH. */

enum { ASH_VIEW_MAX_DEPTH = 20 };

/* Run the pipeline on the view that it names.  *out NULL and 0 when it is none (any more). */
int ash__view_aggregate(ash_embedded *s, const ash_agg_spec *view, ash_cursor **out,
                        ash_error *err);

/* What a find, or the filter of a distinct, means on a view.  outer: as in ash_agg_spec. */
int ash__view_find(ash_embedded *s, const ash_find_spec *view, const ash_agg_host *outer,
                   ash_cursor **out, ash_error *err);
int ash__view_count(ash_embedded *s, ash_ns view, const bson_t *filter,
                    const ash_count_options *opts, int64_t *out, ash_error *err);

#endif
