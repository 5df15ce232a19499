/* SPDX-License-Identifier: Apache-2.0 */
#include "nats/server.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/options.h"
#include "nats/connection.h"
#include "nats/state.h"

enum { DEFAULT_CONNECTIONS = 1000, MIN_MESSAGE_BYTES = 8 * 1024 * 1024 };

static void default_int64(int64_t *value, int64_t otherwise)
{
    if (*value <= 0)
        *value = otherwise;
}

static int copy_options(ash_nats_server *s, const ash_nats_server_options *opts, ash_error *err)
{
    ash_nats_server_options *o = &s->opts;
    int rc = ash__options_copy(o, sizeof *o, opts, err);
    if (rc != 0)
        return rc;
    if (o->max_connections <= 0)
        o->max_connections = DEFAULT_CONNECTIONS;
    default_int64(&o->connect_timeout_ms, 10000);
    default_int64(&o->message_timeout_ms, 30000);
    default_int64(&o->send_timeout_ms, 10000);
    default_int64(&o->ping_interval_ms, 120000);
    default_int64(&o->message_bytes, 256 * 1024 * 1024);
    default_int64(&o->stop_timeout_ms, 1000);
    if (o->message_bytes < MIN_MESSAGE_BYTES)
        o->message_bytes = MIN_MESSAGE_BYTES;
    return 0;
}

int ash__nats_server_start(const ash_nats_service *service, void *ctx,
                           const ash_nats_server_options *opts, ash_nats_server **out,
                           ash_error *err)
{
    uint8_t id[(ASH_NATS_SERVER_ID_BYTES - 1) / 2];
    ash_nats_server *s = ash__new(ash_nats_server);
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
                          .room_bytes = s->opts.message_bytes,
                          .stop_timeout_ms = s->opts.stop_timeout_ms,
                          .anywhere = s->opts.anywhere};
    ash__host_init(&s->host, &ash__nats_face, s, &o);
    rc = ash__host_start(&s->host, err);
    if (rc != 0) {
        ash__host_release(&s->host);
        ash__free(s);
        return rc;
    }
    *out = s;
    return 0;
}

int ash__nats_server_try_addresses(const char *const *listen, size_t count, bool anywhere,
                                   ash_error *err)
{
    return ash__host_try_addresses(&ash__nats_face, listen, count, anywhere, err);
}

const char *const *ash__nats_server_addresses(const ash_nats_server *server, size_t *count)
{
    *count = server->host.listeners.count;
    return server->host.addresses;
}

int32_t ash__nats_server_client_count(ash_nats_server *server)
{
    return ash__host_peer_count(&server->host);
}

void ash__nats_server_set_max_connections(ash_nats_server *server, int32_t max_connections)
{
    ash__host_set_max_peers(&server->host,
                            max_connections > 0 ? max_connections : DEFAULT_CONNECTIONS);
}

void ash__nats_server_stop(ash_nats_server *server)
{
    if (server == NULL)
        return;
    ash__host_stop(&server->host);
    ash__host_release(&server->host);
    ash__free(server);
}
