/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_OBJECT_DOCS_DOCS_H
#define ASH_OBJECT_DOCS_DOCS_H

/* Object stores as documents.  docs/FORMAT.md, Objects, has every field.
 *
 *   objects.stores          one document a store: its configuration, revision, sizes; what is left
 *                           of one that was deleted, since names of collections are not used again
 *   PREFIX.meta             one document an object, a link, a tombstone; _id is the name
 *   PREFIX.versions         what they were before; _id is the revision
 *   PREFIX.files, .chunks   the bytes, as a bucket; _id is the nuid
 *   PREFIX.locks            locks
 *
 * PREFIX is objects.NAME, or objects.NAME.N for the N-th store of the name (from 2 on).
 *
 * Each change writes the store's document, which so is what concurrent changes of one store conflict
 * by, and where limits and the seal are looked at. */

#include <stdatomic.h>

#include "object/ops.h"

#define ASH_DOCS_STORES "objects.stores"

typedef struct ash_docs_manager {
    ash_object_manager base;
    ash_store *store;
    bool owned; /* the store was opened here */
    char *db;
    ash_collection *stores;
} ash_docs_manager;

typedef struct ash_docs {
    ash_object_store base;
    ash_docs_manager *manager;
    char *prefix;
    int32_t generation;
    ash_collection *meta, *versions;
    ash_bucket *bucket;
    ash_lock_collection *_Atomic locks; /* NULL until somebody wants one */
} ash_docs;

static inline ash_docs *ash__docs(ash_object_store *s)
{
    return (ash_docs *)s;
}

/* ---- the document of a store ---- */

typedef struct ash_docs_config {
    ash_object_config_copy copy;
    char *prefix;
    int32_t generation;
    bool sealed, deleted, dropped;
    int64_t revision, bytes, objects, created_ms;
} ash_docs_config;
/* *found false, and nothing to release, when there never was one. */
int ash__docs_config_get(ash_docs_manager *m, const char *name, const ash_op *op,
                         ash_docs_config *out, bool *found, ash_error *err);
int ash__docs_config_read(const bson_t *doc, ash_docs_config *out, ash_error *err);
void ash__docs_config_release(ash_docs_config *c);
int ash__docs_config_status(const ash_docs_config *c, ash_object_status **out, ash_error *err);
/* The bound one, which is still the same store: else ASH_ENOTFOUND. */
int ash__docs_config_own(ash_docs *s, const ash_op *op, ash_docs_config *out, ash_error *err);
/* {config: …} as it is stored, appended. */
void ash__docs_config_append(const ash_object_config *c, bson_t *doc);

/* ---- asking ---- */

/* The document of the filter as an object of its own, or NULL. */
int ash__docs_find(ash_collection *c, const bson_t *filter, const ash_op *op, ash_object **out,
                   ash_error *err);
/* By its name, deleted and expired ones, too; or NULL. */
int ash__docs_find_name(ash_docs *s, const char *name, const ash_op *op, ash_object **out,
                        ash_error *err);
/* A version that is not current; or NULL. */
int ash__docs_find_version(ash_docs *s, const char *name, uint64_t revision, const ash_op *op,
                           ash_object **out, ash_error *err);
int ash__docs_object(ash_doc doc, ash_object **out, ash_error *err);
bool ash__docs_is_over(const ash_object *o, int64_t now_ms);
bool ash__docs_is_live(const ash_object *o, int64_t now_ms); /* NULL is not */
ash_find_options ash__docs_find_options(const ash_op *op);
int ash__docs_say_missing(const char *name, ash_error *err); /* ASH_ENOTFOUND */

/* ---- slots ---- */

int ash__docs_create(ash_object_manager *m, const ash_object_config *config, const ash_op *op,
                     ash_object_store **out, ash_error *err);
int ash__docs_bind(ash_object_manager *m, const char *name, const ash_op *op,
                   ash_object_store **out, ash_error *err);
int ash__docs_configure(ash_object_manager *m, const ash_object_config *config, const ash_op *op,
                        ash_error *err);
int ash__docs_remove(ash_object_manager *m, const char *name, const ash_op *op, ash_error *err);
int ash__docs_list_stores(ash_object_manager *m, const ash_op *op, ash_object_status_listing *out,
                          ash_error *err);
int ash__docs_collections(ash_object_manager *m, const ash_op *op, bson_t *names, ash_error *err);
void ash__docs_unbind(ash_object_store *s);
int ash__docs_status(ash_object_store *s, const ash_op *op, ash_object_status **out,
                     ash_error *err);
int ash__docs_seal(ash_object_store *s, const ash_op *op, ash_error *err);

int ash__docs_open_sink(ash_object_store *s, const ash_object_put_request *request,
                        ash_object_sink **out, ash_error *err);
int ash__docs_sink_write(ash_object_sink *k, const void *data, size_t len, ash_error *err);
int ash__docs_sink_seal(ash_object_sink *k, ash_error *err);
int ash__docs_sink_digest(ash_object_sink *k, char out[64], ash_error *err);
int ash__docs_sink_commit(ash_object_sink *k, const ash_object *object, const ash_op *op,
                          ash_object **out, ash_error *err);
int ash__docs_attach(ash_object_sink *k, const ash_object *object, const ash_op *op, bool *needed,
                     ash_error *err);
void ash__docs_sink_free(ash_object_sink *k);

int ash__docs_info(ash_object_store *s, const char *name, const ash_object_read_options *opts,
                   const ash_op *op, ash_object **out, ash_error *err);
int ash__docs_open_source(ash_object_store *s, const ash_object *object, const ash_op *op,
                          ash_object_source **out, ash_error *err);
int ash__docs_source_read(ash_object_source *u, void *buf, size_t len, size_t *got, ash_error *err);
int ash__docs_source_seek(ash_object_source *u, int64_t position, ash_error *err);
void ash__docs_source_free(ash_object_source *u);

int ash__docs_update_meta(ash_object_store *s, const ash_object_request *r,
                          const ash_object_meta *meta, ash_object **out, ash_error *err);
int ash__docs_delete(ash_object_store *s, const ash_object_request *r, ash_object **out,
                     ash_error *err);
int ash__docs_link(ash_object_store *s, const ash_object_request *r, const ash_object *link,
                   ash_object **out, ash_error *err);
int ash__docs_set_expiry(ash_object_store *s, const ash_object_request *r, int64_t expires_ms,
                         ash_object **out, ash_error *err);
int ash__docs_restore(ash_object_store *s, const ash_object_request *r, uint64_t revision,
                      ash_object **out, ash_error *err);
int ash__docs_detach(ash_object_store *s, const ash_object *object, const ash_object_place *place,
                     const ash_op *op, ash_error *err);

int ash__docs_list(ash_object_store *s, const ash_object_list_options *opts, const ash_op *op,
                   ash_object_listing **out, ash_error *err);
int ash__docs_versions(ash_object_store *s, const char *name, int64_t limit, const ash_op *op,
                       ash_object_listing **out, ash_error *err);
int ash__docs_watch(ash_object_store *s, const ash_object_watch_options *opts, const ash_op *op,
                    ash_object_watch **out, ash_error *err);
int ash__docs_prune(ash_object_store *s, const ash_object_prune_options *opts, const ash_op *op,
                    ash_object_prune_report *report, ash_error *err);
int ash__docs_lock(ash_object_store *s, const char *name, const ash_lock_options *opts,
                   ash_lock **out, ash_error *err);
int ash__docs_sweep(ash_object_store *s, const ash_object_sweep_options *opts, const ash_op *op,
                    ash_object_sweep_report *report, ash_error *err);
int ash__docs_next_end(ash_object_store *s, const ash_op *op, int64_t *ms, ash_error *err);

extern const ash_object_backend ash__object_backend_docs;

#endif
