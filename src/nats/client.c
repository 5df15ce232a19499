/* SPDX-License-Identifier: Apache-2.0 */
/* What a service may do with a client. */
#include "nats/client.h"

#include "nats/connection.h"

#include <stdio.h>
#include <string.h>

enum {
    /* Then what the client sends is looked at, before more is pumped. */
    PUMP_BYTES = 1024 * 1024,
    SIZES_BYTES = 48 /* two numbers and what stands around them */
};

/* All is written apart from the numbers, so that subjects of any length fit. */
static bool send_to(ash_nats_client *c, const ash_nats_sub *sub, const ash_nats_message *m)
{
    bool has_headers = m->headers_len > 0 && c->wishes.headers;
    size_t headers_len = has_headers ? m->headers_len : 0;
    char sizes[SIZES_BYTES];
    if (has_headers)
        snprintf(sizes, sizeof sizes, " %zu %zu\r\n", headers_len, headers_len + m->len);
    else
        snprintf(sizes, sizeof sizes, " %zu\r\n", m->len);
    const char *texts[] = {
        has_headers ? "HMSG " : "MSG ",   m->subject, " ", sub->sid, m->reply != NULL ? " " : "",
        m->reply != NULL ? m->reply : "", sizes};
    struct iovec iov[4];
    ash_buffer line = ASH_BUFFER_INIT;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        ash__buffer_append_text(&line, texts[i]);
    iov[0] = (struct iovec){.iov_base = line.data, .iov_len = line.len};
    iov[1] = (struct iovec){.iov_base = (void *)(uintptr_t)m->headers, .iov_len = headers_len};
    iov[2] = (struct iovec){.iov_base = (void *)(uintptr_t)m->data, .iov_len = m->len};
    iov[3] = (struct iovec){.iov_base = (void *)(uintptr_t) "\r\n", .iov_len = 2};
    c->pumped += line.len + headers_len + m->len + 2;
    bool sent = ash__nats_output_add(&c->output, iov, 4);
    ash__buffer_release(&line);
    return sent;
}

bool ash__nats_deliver(ash_nats_client *client, const ash_nats_message *m)
{
    ash_nats_matches matches =
        ash__nats_matches_of(&client->subs, m->to != NULL ? m->to : m->subject);
    bool matched = false, done = false;
    ash_nats_sub *sub;
    while ((sub = ash__nats_matches_next(&matches)) != NULL) {
        if (!send_to(client, sub, m))
            return false;
        matched = true;
        sub->delivered++;
        done = done || (sub->max > 0 && sub->delivered >= sub->max);
    }
    if (done)
        ash__nats_subs_drop_done(&client->subs);
    return matched;
}

bool ash__nats_has_interest(const ash_nats_client *client, const char *subject)
{
    return !client->output.failed && ash__nats_subs_match(&client->subs, subject);
}

bool ash__nats_is_full(const ash_nats_client *client)
{
    return client->output.failed || client->pumped >= PUMP_BYTES ||
           ash__nats_output_pending(&client->output) >= ASH_NATS_FULL_BYTES;
}

void ash__nats_client_addresses(const ash_nats_client *client, const char **local,
                                const char **remote)
{
    *local = client->peer.local;
    *remote = client->peer.remote;
}

void ash__nats_wake(ash_nats_client *client)
{
    ash__nats_wake_call(&client->wake);
}
