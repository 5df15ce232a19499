/* SPDX-License-Identifier: Apache-2.0 */
/* What a client's commands do. */
#include "nats/connection.h"

#include "base/log.h"
#include "nats/subject.h"

#include <stdio.h>

enum { COMPLAINT_BYTES = 200 };

void ash__nats_complain(ash_nats_client *c, const char *text)
{
    char line[COMPLAINT_BYTES];
    ash__log(ASH_LOG_INFO, "connection %lld from %s closed: %s", (long long)c->peer.id,
             c->peer.remote, text);
    snprintf(line, sizeof line, "-ERR '%s'\r\n", text);
    ash__nats_output_add_text(&c->output, line);
    c->over = true;
}

/* The client is told, and goes on. */
static void warn(ash_nats_client *c, const char *text)
{
    char line[COMPLAINT_BYTES];
    snprintf(line, sizeof line, "-ERR '%s'\r\n", text);
    ash__nats_output_add_text(&c->output, line);
}

static void confirm(ash_nats_client *c)
{
    if (c->wishes.verbose)
        ash__nats_output_add_text(&c->output, "+OK\r\n");
}

static void take_connect(ash_nats_client *c, const ash_nats_command *command)
{
    if (!ash__nats_read_connect(command->text, &c->wishes)) {
        ash__nats_complain(c, "Invalid Client Protocol");
        return;
    }
    if (!c->greeted)
        ash__log(ASH_LOG_DEBUG, "connection %lld from %s: %s", (long long)c->peer.id,
                 c->peer.remote, c->wishes.name);
    c->greeted = true;
    confirm(c);
}

static void take_sub(ash_nats_client *c, const ash_nats_command *command)
{
    if (!ash__nats_pattern_valid(command->subject))
        warn(c, "Invalid Subject");
    else if (!ash__nats_subs_add(&c->subs, command->subject, command->queue, command->sid))
        warn(c, "Maximum Subscriptions Exceeded");
    else
        confirm(c);
}

static void tell_of_nobody(ash_nats_client *c, const char *reply)
{
    static const char nobody[] = "NATS/1.0 503\r\n\r\n";
    ash_nats_message m = {.subject = reply, .headers = nobody, .headers_len = sizeof nobody - 1};
    if (ash__nats_subject_valid(reply))
        ash__nats_deliver(c, &m);
}

static void take_pub(ash_nats_client *c, const ash_nats_command *command)
{
    ash_nats_message m = {.subject = command->subject,
                          .reply = command->reply,
                          .headers = command->headers,
                          .headers_len = command->headers_len,
                          .data = command->data,
                          .len = command->len};
    /* The client waits for it while what its messages bring about is still under way. */
    confirm(c);
    if (!ash__nats_subject_valid(command->subject))
        warn(c, "Invalid Publish Subject");
    else if (!c->server->service->publish(c->state, &m) &&
             !(c->wishes.echo && ash__nats_deliver(c, &m)) && m.reply != NULL &&
             c->wishes.no_responders)
        tell_of_nobody(c, m.reply);
}

void ash__nats_take(ash_nats_client *c, const ash_nats_command *command)
{
    switch (command->op) {
    case ASH_NATS_CONNECT:
        take_connect(c, command);
        break;
    case ASH_NATS_PING:
        ash__nats_output_add_text(&c->output, "PONG\r\n");
        break;
    case ASH_NATS_SUB:
        take_sub(c, command);
        break;
    case ASH_NATS_UNSUB:
        ash__nats_subs_end(&c->subs, command->sid, command->max);
        confirm(c);
        break;
    case ASH_NATS_PUB:
    case ASH_NATS_HPUB:
        take_pub(c, command);
        break;
    case ASH_NATS_PONG: /* that something came was noted */
    case ASH_NATS_OK:
    case ASH_NATS_ERR:
        break;
    }
}
