/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"
#include "base/mem.h"
#include "base/options.h"
#include "http/state.h"

enum { DEFAULT_CONNECTIONS = 1000 };

static void default_int64(int64_t *value, int64_t otherwise)
{
    if (*value <= 0)
        *value = otherwise;
}

static int copy_options(ash_http_server *s, const ash_http_options *opts, ash_error *err)
{
    ash_http_options *o = &s->opts;
    int rc = ash__options_copy(o, sizeof *o, opts, err);
    if (rc != 0)
        return rc;
    if (o->max_connections <= 0)
        o->max_connections = DEFAULT_CONNECTIONS;
    if (o->threads <= 0)
        o->threads = 16;
    default_int64(&o->head_timeout_ms, 10000);
    default_int64(&o->idle_timeout_ms, 75000);
    default_int64(&o->move_timeout_ms, 60000);
    default_int64(&o->stop_timeout_ms, 1000);
    default_int64(&o->max_body_bytes, INT64_C(16) << 40);
    return 0;
}

int ash__http_server_start(const ash_http_service *service, void *ctx, const ash_http_options *opts,
                           ash_http_server **out, ash_error *err)
{
    uint8_t id[4];
    ash_http_server *s = ash__new(ash_http_server);
    *out = NULL;
    s->service = service;
    s->ctx = ctx;
    int rc = copy_options(s, opts, err);
    if (rc != 0) {
        ash__free(s);
        return rc;
    }
    ash__random(id, sizeof id);
    ash__hex(id, sizeof id, s->id);
    ash_host_options o = {.listen = s->opts.listen,
                          .listen_count = s->opts.listen_count,
                          .max_peers = s->opts.max_connections,
                          .seats = s->opts.threads,
                          .room_bytes = 1024 * 1024,
                          .stop_timeout_ms = s->opts.stop_timeout_ms,
                          .anywhere = s->opts.anywhere,
                          .wrap = s->opts.wrap,
                          .wrap_ctx = s->opts.wrap_ctx};
    ash__host_init(&s->host, &ash__http_face, s, &o);
    rc = ash__host_start(&s->host, err);
    if (rc != 0) {
        ash__host_release(&s->host);
        ash__free(s);
        return rc;
    }
    *out = s;
    return 0;
}

int ash__http_server_try_addresses(const char *const *listen, size_t count, bool anywhere,
                                   ash_error *err)
{
    return ash__host_try_addresses(&ash__http_face, listen, count, anywhere, err);
}

const char *const *ash__http_server_addresses(const ash_http_server *server, size_t *count)
{
    *count = server->host.listeners.count;
    return server->host.addresses;
}

int32_t ash__http_server_client_count(ash_http_server *server)
{
    return ash__host_peer_count(&server->host);
}

const ash_http_counts *ash__http_server_counts(const ash_http_server *server)
{
    return &server->counts;
}

void ash__http_server_set_max_connections(ash_http_server *server, int32_t max_connections)
{
    ash__host_set_max_peers(&server->host,
                            max_connections > 0 ? max_connections : DEFAULT_CONNECTIONS);
}

void ash__http_server_stop(ash_http_server *server)
{
    if (server == NULL)
        return;
    ash__host_stop(&server->host);
    ash__host_release(&server->host);
    ash__free(server);
}
