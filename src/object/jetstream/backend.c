/* SPDX-License-Identifier: Apache-2.0 */
/* Opening, what this server can do, and the table. */
#include "object/jetstream/backend.h"

#include "base/mem.h"
#include "object/jetstream/jetstream.h"
#include "object/jetstream/meta.h"

#include <string.h>

static int info(ash_object_store *s, const char *name, const ash_object_read_options *opts,
                const ash_op *op, ash_object **out, ash_error *err)
{
    ash_js_meta meta;
    ash_js_store *store = ash__js_store_of(s);
    int rc = ash__js_meta_get(store, name, store->stream.replicas, op, &meta, err);
    if (rc != 0)
        return rc;
    if (meta.object == NULL || ash__js_is_expired(meta.object) ||
        (meta.object->deleted && !opts->deleted)) {
        rc = ash__fail(err, ASH_ENOTFOUND, "no object %s in %s", name, s->name);
    } else {
        *out = meta.object;
        meta.object = NULL;
    }
    ash__js_meta_release(&meta);
    return rc;
}

static const ash_object_ops ops = {
    .close = ash__js_manager_close,
    .create = ash__js_create,
    .bind = ash__js_bind,
    .update = ash__js_update,
    .remove = ash__js_remove,
    .list = ash__js_list_stores,
    .unbind = ash__js_unbind,
    .status = ash__js_status,
    .seal = ash__js_seal,
    .open_sink = ash__js_open_sink,
    .sink_write = ash__js_sink_write,
    .sink_seal = ash__js_sink_seal,
    .sink_commit = ash__js_sink_commit,
    .sink_free = ash__js_sink_free,
    .info = info,
    .open_source = ash__js_open_source,
    .source_read = ash__js_source_read,
    .source_seek = ash__js_source_seek,
    .source_free = ash__js_source_free,
    .update_meta = ash__js_update_meta,
    .delete = ash__js_delete_object,
    .link = ash__js_link,
    .set_expiry = ash__js_set_expiry,
    .list_objects = ash__js_list_objects,
    .watch = ash__js_watch,
    .sweep = ash__js_sweep,
};

/* Does the server know a field of streams' configurations?  It is asked to make a stream that it must
 * not make: the name in the subject is another one.  A field of the wrong type is complained of
 * before, by a server that knows it, and passed over by one that does not. */
static int knows(ash_js *js, const char *field, bool *out, ash_error *err)
{
    ash_buffer body = ASH_BUFFER_INIT;
    ash_error why = ASH_ERROR_INIT;
    ash_json *answer = NULL;
    ash__buffer_printf(&body, "{\"name\":\"OBJ_b\",\"%s\":[]}", field);
    int rc = ash__js_request(js, "STREAM.CREATE.OBJ_a", &body, NULL, &answer, &why);
    int number = ash__js_number(answer);
    ash__json_free(answer);
    ash__buffer_release(&body);
    *out = number == ASH_JS_BAD_JSON;
    return number != 0 ? 0 : ash__unless(0, rc, &why, err);
}

static int find_capabilities(ash_js_manager *m, ash_error *err)
{
    bool metadata = false, ttl = false;
    int rc = knows(m->js, "metadata", &metadata, err);
    if (rc == 0)
        rc = knows(m->js, "allow_msg_ttl", &ttl, err);
    m->base.can = (ash_object_capabilities){.size = sizeof m->base.can,
                                            .backend = "jetstream",
                                            .changes = true,
                                            .metadata = metadata,
                                            .compression = metadata,
                                            .placement = true,
                                            .object_ttl = ttl};
    return rc;
}

static void set(char **place, const char *text)
{
    if (text == NULL)
        return;
    ash__free(*place);
    *place = ash__strdup(text);
}

static void forget(char **place)
{
    ash__free(*place);
    *place = NULL;
}

/* The options' identity takes the place of the URI's. */
static void merge(ash_nats_address *a, const ash_object_manager_options *opts)
{
    if (opts->user != NULL || opts->token != NULL || opts->nkey_file != NULL ||
        opts->credentials != NULL) {
        char **places[] = {&a->user, &a->password, &a->token, &a->nkey, &a->creds};
        for (size_t i = 0; i < ASH_ARRAY_LEN(places); i++)
            forget(places[i]);
    }
    set(&a->user, opts->user);
    set(&a->password, opts->user != NULL && opts->password == NULL ? "" : opts->password);
    set(&a->token, opts->token);
    set(&a->nkey, opts->nkey_file);
    set(&a->creds, opts->credentials);
    set(&a->tls_ca, opts->tls_ca_file);
    set(&a->tls_cert, opts->tls_cert_file);
    set(&a->tls_key, opts->tls_key_file);
    set(&a->domain, opts->domain);
}

static int open_manager(const char *uri, const ash_object_manager_options *opts,
                        ash_object_manager **out, ash_error *err)
{
    ash_nats_address address;
    ash_js_manager *m = ash__new(ash_js_manager);
    m->base.ops = &ops;
    ash__mutex_init(&m->mutex, ASH_RANK_STORE);
    int rc = ash__nats_address_parse(uri, &address, err);
    if (rc == 0) {
        merge(&address, opts);
        rc = ash__js_connect(&address, opts->timeout_ms, &m->js, err);
    }
    if (rc == 0)
        rc = find_capabilities(m, err);
    ash__nats_address_release(&address);
    if (rc == 0)
        *out = &m->base;
    else
        ash__js_manager_close(&m->base);
    return rc;
}

const ash_object_backend ash__object_backend_jetstream = {
    .name = "jetstream",
    .accepts = ash__nats_address_accepts,
    .open = open_manager,
};
