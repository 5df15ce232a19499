/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_READ_SLOTS_H
#define ASH_STORE_EMBEDDED_READ_SLOTS_H

/* Reading documents.  Slots of the embedded backend's table; contracts in store/ops.h. */

#include "store/ops.h"

int ash__embedded_find(ash_store *store, ash_ns ns, const bson_t *filter,
                       const ash_find_options *opts, ash_cursor **out, ash_error *err);
int ash__embedded_aggregate(ash_store *store, ash_ns ns, const bson_t *pipeline,
                            const ash_aggregate_options *opts, ash_cursor **out, ash_error *err);
int ash__embedded_count(ash_store *store, ash_ns ns, const bson_t *filter,
                        const ash_count_options *opts, int64_t *out, ash_error *err);
int ash__embedded_distinct(ash_store *store, ash_ns ns, const ash_distinct_request *request,
                           const ash_op *op, bson_t *out, ash_error *err);
int ash__embedded_explain(ash_store *store, ash_ns ns, const ash_explain_request *request,
                          const ash_op *op, bson_t *out, ash_error *err);

#endif
