/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_CATALOG_SLOTS_H
#define ASH_STORE_EMBEDDED_CATALOG_SLOTS_H

/* Collections and indexes: what there is, its options, its sizes.  Slots of the embedded backend's
 * table; contracts in store/ops.h. */

#include "store/ops.h"

int ash__embedded_create(ash_store *store, ash_ns ns, const bson_t *options, const ash_op *op,
                         ash_error *err);
int ash__embedded_drop(ash_store *store, ash_ns ns, const ash_op *op, ash_error *err);
int ash__embedded_rename(ash_store *store, ash_ns ns, ash_ns to, bool drop_target, const ash_op *op,
                         ash_error *err);
int ash__embedded_modify(ash_store *store, ash_ns ns, const bson_t *changes, const ash_op *op,
                         bson_t *old_values, ash_error *err);
int ash__embedded_list_collections(ash_store *store, const char *db, const bson_t *filter,
                                   const ash_op *op, ash_cursor **out, ash_error *err);
int ash__embedded_list_databases(ash_store *store, const ash_op *op, bson_t *out, ash_error *err);
int ash__embedded_drop_database(ash_store *store, const char *db, const ash_op *op, ash_error *err);
int ash__embedded_create_indexes(ash_store *store, ash_ns ns, const bson_t *specs, const ash_op *op,
                                 bson_t *reply, ash_error *err);
int ash__embedded_list_indexes(ash_store *store, ash_ns ns, const ash_op *op, ash_cursor **out,
                               ash_error *err);
int ash__embedded_drop_indexes(ash_store *store, ash_ns ns, const bson_value_t *index,
                               const ash_op *op, ash_error *err);
int ash__embedded_stats(ash_store *store, ash_ns ns, int64_t scale, const ash_op *op, bson_t *out,
                        ash_error *err);

#endif
