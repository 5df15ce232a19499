/* SPDX-License-Identifier: Apache-2.0 */
#include "near_client.h"

#include "base/clock.h"
#include "base/mem.h"
#include "nats/connection.h"
#include "net/host.h"

struct near_client {
    ash_nats_client client;
    ash_nats_server server;
    ash_buffer heard;
};

static ssize_t hear(ash_stream *s, const struct iovec *iov, size_t count)
{
    near_client *n = s->state;
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        ash__buffer_append(&n->heard, iov[i].iov_base, iov[i].iov_len);
        bytes += iov[i].iov_len;
    }
    return (ssize_t)bytes;
}

static const ash_stream_ops ops = {.send = hear};

near_client *near_client_new(const ash_nats_service *service, void *ctx)
{
    near_client *n = ash__new(near_client);
    ash_nats_client *c = &n->client;
    ash_host_options o = {.room_bytes = 64 * 1024 * 1024};
    ash_error err = ASH_ERROR_INIT;
    n->server.service = service;
    n->server.ctx = ctx;
    ash__host_init(&n->server.host, &ash__nats_face, &n->server, &o);
    c->peer.host = &n->server.host;
    c->peer.stream = (ash_stream){.ops = &ops, .fd = -1, .state = n};
    c->server = &n->server;
    c->wishes = (ash_nats_wishes){.headers = true, .no_responders = true};
    ash_assert(ash__nats_wake_init(&c->wake, &err) == 0);
    ash__nats_output_init(&c->output, &c->peer, 1000);
    ash_assert(ash__nats_subs_add(&c->subs, ">", NULL, "1"));
    ash_assert(service->attach(ctx, c, &c->state, &err) == 0);
    return n;
}

void near_client_free(near_client *n)
{
    ash_nats_client *c = &n->client;
    n->server.service->detach(c->state);
    ash__nats_subs_release(&c->subs);
    ash__nats_output_release(&c->output);
    ash__nats_wake_release(&c->wake);
    ash__host_release(&n->server.host);
    ash__buffer_release(&n->heard);
    ash__free(n);
}

bool near_client_publish(near_client *n, const ash_nats_message *m)
{
    n->client.pumped = 0;
    bool served = n->server.service->publish(n->client.state, m);
    ash_assert(ash__nats_output_push(&n->client.output));
    return served;
}

void near_client_pump(near_client *n, int times)
{
    for (int i = 0; i < times; i++) {
        n->client.pumped = 0;
        if (n->server.service->pump(n->client.state, ash__clock_ms()) != 0)
            break;
    }
    ash_assert(ash__nats_output_push(&n->client.output));
}

ash_buffer *near_client_heard(near_client *n)
{
    return &n->heard;
}
