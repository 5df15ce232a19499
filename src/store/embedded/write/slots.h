/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_WRITE_SLOTS_H
#define ASH_STORE_EMBEDDED_WRITE_SLOTS_H

/* Changing documents, and running several operations as one.  Slots of the embedded backend's
 * table; contracts in store/ops.h. */

#include "store/ops.h"

int ash__embedded_insert(ash_store *store, ash_ns ns, const ash_doc_list *list,
                         const ash_insert_options *opts, ash_write_result *result, ash_error *err);
int ash__embedded_update(ash_store *store, ash_ns ns, const ash_update_request *request,
                         const ash_update_options *opts, ash_write_result *result, ash_error *err);
int ash__embedded_remove(ash_store *store, ash_ns ns, const bson_t *filter,
                         const ash_remove_options *opts, ash_write_result *result, ash_error *err);
int ash__embedded_find_and_modify(ash_store *store, ash_ns ns, const bson_t *filter,
                                  const ash_find_and_modify_options *opts,
                                  const ash_modify_answer *answer, ash_error *err);
int ash__embedded_transact(ash_store *store, ash_transact_fn fn, void *ctx, const ash_op *op,
                           ash_error *err);
int ash__embedded_look(ash_store *store, ash_transact_fn fn, void *ctx, const ash_op *op,
                       ash_error *err);

#endif
