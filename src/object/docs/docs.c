/* SPDX-License-Identifier: Apache-2.0 */
/* The backend: opening it on a store, and its table. */
#include "object/docs/docs.h"

#include "base/mem.h"
#include "store/ops.h"

static void close_manager(ash_object_manager *base)
{
    ash_docs_manager *m = (ash_docs_manager *)base;
    ash_collection_free(m->stores);
    if (m->owned)
        ash_store_close(m->store);
    ash__free(m->db);
    ash__free(m);
}

static const ash_object_ops ops = {
    .filters = true,
    .close = close_manager,
    .create = ash__docs_create,
    .bind = ash__docs_bind,
    .update = ash__docs_configure,
    .remove = ash__docs_remove,
    .list = ash__docs_list_stores,
    .collections = ash__docs_collections,
    .unbind = ash__docs_unbind,
    .status = ash__docs_status,
    .seal = ash__docs_seal,
    .open_sink = ash__docs_open_sink,
    .sink_write = ash__docs_sink_write,
    .sink_seal = ash__docs_sink_seal,
    .sink_digest = ash__docs_sink_digest,
    .sink_commit = ash__docs_sink_commit,
    .sink_free = ash__docs_sink_free,
    .info = ash__docs_info,
    .open_source = ash__docs_open_source,
    .source_read = ash__docs_source_read,
    .source_seek = ash__docs_source_seek,
    .source_free = ash__docs_source_free,
    .update_meta = ash__docs_update_meta,
    .delete = ash__docs_delete,
    .link = ash__docs_link,
    .set_expiry = ash__docs_set_expiry,
    .list_objects = ash__docs_list,
    .watch = ash__docs_watch,
    .versions = ash__docs_versions,
    .restore = ash__docs_restore,
    .prune = ash__docs_prune,
    .lock = ash__docs_lock,
    .detach = ash__docs_detach,
    .attach = ash__docs_attach,
    .sweep = ash__docs_sweep,
    .next_end = ash__docs_next_end,
};

static void learn_capabilities(ash_object_manager *m, const ash_capabilities *can)
{
    m->ops = &ops;
    m->can = (ash_object_capabilities){
        .size = sizeof m->can,
        .backend = "docs",
        .changes = can->transactions,
        .transactions = can->transactions,
        .metadata = true,
        .compression = true,
        .versions = true,
        .locks = true,
        .indexed_tags = true,
        .object_ttl = true,
        .limits = true,
        .atomic_rename = true,
        .encoding = true,
        .digests = true,
        .archive = true,
        .tombstone_ttl = true,
        .chunk_sizes = true,
    };
}

static int open_on(ash_store *store, const ash_object_manager_options *opts,
                   ash_object_manager **out, ash_error *err)
{
    ash_capabilities can = ASH_CAPABILITIES_INIT;
    const char *db = opts->db != NULL ? opts->db : ash_store_default_db(store);
    ash_collection *stores = NULL;
    int rc = ash_store_capabilities(store, &can, err);
    if (rc == 0)
        rc = ash_collection_new(store, db, ASH_DOCS_STORES, &stores, err);
    if (rc != 0)
        return rc;
    ash_docs_manager *m = ash__new(ash_docs_manager);
    m->store = store;
    m->db = ash__strdup(db);
    m->stores = stores;
    learn_capabilities(&m->base, &can);
    *out = &m->base;
    return 0;
}

/* What NATS has is another backend's, also where this build lacks it. */
static bool accepts(const char *uri)
{
    return !ash__uri_is_nats(uri);
}

static int open_uri(const char *uri, const ash_object_manager_options *opts,
                    ash_object_manager **out, ash_error *err)
{
    ash_store_options o = ASH_STORE_OPTIONS_INIT;
    ash_store *store = NULL;
    o.must_exist = opts->must_exist;
    o.no_server = opts->no_server;
    int rc = ash_store_open(uri, &o, &store, err);
    if (rc == 0)
        rc = open_on(store, opts, out, err);
    if (rc == 0)
        ((ash_docs_manager *)*out)->owned = true;
    else
        ash_store_close(store);
    return rc;
}

const ash_object_backend ash__object_backend_docs = {
    .name = "docs", .accepts = accepts, .open = open_uri, .open_on = open_on};
