/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_SLOTS_H
#define ASH_STORE_EMBEDDED_SLOTS_H

/* The functions behind the embedded backend's table of operations; contracts in store/ops.h. */

#include "store/ops.h"

int ash__embedded_create(ash_store *store, const char *db, const char *coll, const bson_t *options,
                         const ash_op *op, ash_error *err);
int ash__embedded_drop(ash_store *store, const char *db, const char *coll, const ash_op *op,
                       ash_error *err);
int ash__embedded_rename(ash_store *store, const char *db, const char *coll, const char *to_db,
                         const char *to_coll, bool drop_target, const ash_op *op, ash_error *err);
int ash__embedded_modify(ash_store *store, const char *db, const char *coll, const bson_t *changes,
                         const ash_op *op, bson_t *old_values, ash_error *err);
int ash__embedded_list_collections(ash_store *store, const char *db, const bson_t *filter,
                                   const ash_op *op, ash_cursor **out, ash_error *err);
int ash__embedded_list_databases(ash_store *store, const ash_op *op, bson_t *out, ash_error *err);
int ash__embedded_drop_database(ash_store *store, const char *db, const ash_op *op, ash_error *err);

int ash__embedded_find(ash_store *store, const char *db, const char *coll, const bson_t *filter,
                       const ash_find_options *opts, ash_cursor **out, ash_error *err);
int ash__embedded_aggregate(ash_store *store, const char *db, const char *coll,
                            const bson_t *pipeline, const ash_aggregate_options *opts,
                            ash_cursor **out, ash_error *err);
int ash__embedded_count(ash_store *store, const char *db, const char *coll, const bson_t *filter,
                        const ash_count_options *opts, int64_t *out, ash_error *err);
int ash__embedded_distinct(ash_store *store, const char *db, const char *coll, const char *key,
                           const bson_t *filter, const bson_t *collation, const ash_op *op,
                           bson_t *out, ash_error *err);
int ash__embedded_explain(ash_store *store, const char *db, const char *coll, const bson_t *command,
                          const char *verbosity, const ash_op *op, bson_t *out, ash_error *err);

int ash__embedded_insert(ash_store *store, const char *db, const char *coll, const ash_doc *docs,
                         size_t count, const ash_insert_options *opts, ash_write_result *result,
                         ash_error *err);
int ash__embedded_update(ash_store *store, const char *db, const char *coll, const bson_t *filter,
                         const bson_value_t *update, const ash_update_options *opts,
                         ash_write_result *result, ash_error *err);
int ash__embedded_remove(ash_store *store, const char *db, const char *coll, const bson_t *filter,
                         const ash_remove_options *opts, ash_write_result *result, ash_error *err);
int ash__embedded_find_and_modify(ash_store *store, const char *db, const char *coll,
                                  const bson_t *filter, const ash_find_and_modify_options *opts,
                                  bson_t *value, bool *found, ash_write_result *result,
                                  ash_error *err);

int ash__embedded_create_indexes(ash_store *store, const char *db, const char *coll,
                                 const bson_t *specs, const ash_op *op, bson_t *reply,
                                 ash_error *err);
int ash__embedded_list_indexes(ash_store *store, const char *db, const char *coll, const ash_op *op,
                               ash_cursor **out, ash_error *err);
int ash__embedded_drop_indexes(ash_store *store, const char *db, const char *coll,
                               const bson_value_t *index, const ash_op *op, ash_error *err);

int ash__embedded_transact(ash_store *store, ash_transact_fn fn, void *ctx, const ash_op *op,
                           ash_error *err);
int ash__embedded_look(ash_store *store, ash_transact_fn fn, void *ctx, const ash_op *op,
                       ash_error *err);
int ash__embedded_watch(ash_store *store, const char *db, const char *coll,
                        const ash_watch_options *opts, ash_cursor **out, ash_error *err);

int ash__embedded_time(ash_store *store, int64_t *wall_ms, uint64_t *operation_time,
                       ash_error *err);
int ash__embedded_stats(ash_store *store, const char *db, const char *coll, int64_t scale,
                        const ash_op *op, bson_t *out, ash_error *err);
int ash__embedded_flush(ash_store *store, const ash_op *op, ash_error *err);
int ash__embedded_maintain(ash_store *store, const bson_t *action, ash_progress_fn progress,
                           void *ctx, bson_t *out, ash_error *err);

#endif
