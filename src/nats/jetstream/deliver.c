/* SPDX-License-Identifier: Apache-2.0 */
/* Messages on their way: what is due, of whichever consumer, as far as the client can take it. */
#include "nats/jetstream/consumer.h"

#include "base/clock.h"
#include "base/mem.h"
#include "object/jetstream/format/config.h"
#include "object/jetstream/format/config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LOT = 16 }; /* messages of one consumer before the next one's turn */

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- one message ---- */

static void send(ash_jsd_client *c, ash_jsd_consumer *k, const ash_jsd_stored *m, const char *to)
{
    ash_buffer headers = ASH_BUFFER_INIT;
    char size[48] = "";
    k->delivered++;
    k->sequence = m->sequence;
    char *reply = ash__sprintf("$JS.ACK.%s.%s.1.%" PRIu64 ".%" PRIu64 ".%" PRId64 ".%" PRIu64,
                               k->stream, k->name, m->sequence, k->delivered,
                               m->time_ms * ASH_JS_NS_PER_MS, ash__jsd_source_pending(k->source));
    if (k->heads)
        (void)snprintf(size, sizeof size, "Nats-Msg-Size: %" PRId64 "\r\n", m->size);
    ash__jsd_put_headers(m, size, &headers);
    ash_nats_message out = {.subject = m->subject,
                            .to = to,
                            .reply = reply,
                            .headers = ash__buffer_text(&headers),
                            .headers_len = headers.len,
                            .data = m->data.data,
                            .len = k->heads ? 0 : m->data.len};
    (void)ash__nats_deliver(c->client, &out);
    k->under_way += (int64_t)(out.len + out.headers_len);
    ash__free(reply);
    ash__buffer_release(&headers);
}

/* ---- flow control and heartbeats of a push consumer ---- */

static void flow_subject(const ash_jsd_consumer *k, char **out)
{
    *out = ash__sprintf("$JS.FC.%s.%s.%" PRIu64, k->stream, k->name, k->flow_count);
}

static void ask_how_far(ash_jsd_client *c, ash_jsd_consumer *k)
{
    char *reply = NULL;
    if (!k->flow || k->asked > 0 || k->under_way <= k->window / 2)
        return;
    k->flow_count++;
    k->asked = k->under_way;
    flow_subject(k, &reply);
    ash__jsd_status(c, k->deliver, reply, "100 FlowControl Request", "");
    ash__free(reply);
}

void ash__jsd_flow_goes_on(ash_jsd_client *c, const char *subject)
{
    for (ash_jsd_consumer *k = c->consumers; k != NULL; k = k->next) {
        char *expected = NULL;
        flow_subject(k, &expected);
        bool ours = k->asked > 0 && strcmp(subject, expected) == 0;
        ash__free(expected);
        if (!ours)
            continue;
        k->under_way -= k->asked;
        k->asked = 0;
        k->window = k->window * 2 < ASH_JSD_WINDOW_LAST ? k->window * 2 : ASH_JSD_WINDOW_LAST;
    }
}

static void beat(ash_jsd_client *c, ash_jsd_consumer *k, int64_t now_ms)
{
    char *stalled = NULL, *subject = NULL;
    flow_subject(k, &subject);
    if (k->asked > 0)
        stalled = ash__sprintf("Nats-Consumer-Stalled: %s\r\n", subject);
    char *lines =
        ash__sprintf("Nats-Last-Consumer: %" PRIu64 "\r\nNats-Last-Stream: %" PRIu64 "\r\n%s",
                     k->delivered, k->sequence, stalled != NULL ? stalled : "");
    ash__jsd_status(c, k->deliver, NULL, "100 Idle Heartbeat", lines);
    k->heard_ms = now_ms;
    ash__free(lines);
    ash__free(stalled);
    ash__free(subject);
}

/* ---- the requests of a pull consumer ---- */

static void end_pull(ash_jsd_client *c, ash_jsd_consumer *k, ash_jsd_pull **at, const char *status)
{
    ash_jsd_pull *p = *at;
    if (status != NULL) {
        char *lines = ash__sprintf("Nats-Pending-Messages: %" PRId64
                                   "\r\nNats-Pending-Bytes: %" PRId64 "\r\n",
                                   p->batch, p->bytes > 0 ? p->bytes : 0);
        ash__jsd_status(c, p->reply, NULL, status, lines);
        ash__free(lines);
    }
    *at = p->next;
    k->pull_count--;
    k->bytes -= strlen(p->reply);
    ash__free(p->reply);
    ash__free(p);
}

/* Those whose time is over or whose client is gone; heartbeats for the others. */
static int64_t tidy_pulls(ash_jsd_client *c, ash_jsd_consumer *k, int64_t now_ms)
{
    int64_t next = INT64_MAX;
    for (ash_jsd_pull **at = &k->pulls; *at != NULL;) {
        ash_jsd_pull *p = *at;
        if (!ash__nats_has_interest(c->client, p->reply)) {
            end_pull(c, k, at, NULL);
            continue;
        }
        if (p->expires_ms != 0 && p->expires_ms <= now_ms) {
            end_pull(c, k, at, "408 Request Timeout");
            continue;
        }
        if (p->heartbeat_ms > 0 && now_ms - p->heard_ms >= p->heartbeat_ms) {
            ash__jsd_status(c, p->reply, NULL, "100 Idle Heartbeat", "");
            p->heard_ms = now_ms;
        }
        if (p->expires_ms != 0)
            next = earlier(next, p->expires_ms);
        if (p->heartbeat_ms > 0)
            next = earlier(next, p->heard_ms + p->heartbeat_ms);
        at = &p->next;
    }
    return next;
}

/* After a message: has the oldest request got what it asked for? */
static void count_pull(ash_jsd_client *c, ash_jsd_consumer *k, const ash_jsd_stored *m,
                       int64_t now_ms)
{
    ash_jsd_pull *p = k->pulls;
    p->batch--;
    p->heard_ms = now_ms;
    if (p->bytes > 0)
        p->bytes -= m->size < p->bytes ? m->size : p->bytes;
    if (p->batch <= 0)
        end_pull(c, k, &k->pulls, NULL);
    else if (p->bytes == 0)
        end_pull(c, k, &k->pulls, "409 Batch Completed");
}

/* Nothing is there: who does not wait is told. */
static void tell_no_messages(ash_jsd_client *c, ash_jsd_consumer *k)
{
    for (ash_jsd_pull **at = &k->pulls; *at != NULL;) {
        if ((*at)->no_wait)
            end_pull(c, k, at, "404 No Messages");
        else
            at = &(*at)->next;
    }
}

/* ---- a consumer's turn ---- */

typedef struct turn {
    bool more;  /* it could have gone on */
    bool ended; /* and is not there any more */
    int64_t next_ms;
} turn;

/* Where the next message may go; NULL: nowhere for now. */
static const char *target(ash_jsd_client *c, ash_jsd_consumer *k, int64_t now_ms)
{
    if (k->deliver == NULL)
        return k->pulls != NULL ? k->pulls->reply : NULL;
    if (!ash__nats_has_interest(c->client, k->deliver))
        return NULL;
    k->active_ms = now_ms;
    return k->flow && k->under_way >= k->window ? NULL : k->deliver;
}

static int give(ash_jsd_client *c, ash_jsd_consumer *k, const char *to, int64_t now_ms, bool *got,
                ash_error *err)
{
    ash_jsd_stored m = {0};
    int rc = ash__jsd_source_next(k->source, &m, got, err);
    if (rc == 0 && *got) {
        send(c, k, &m, to);
        k->heard_ms = k->active_ms = now_ms;
        if (k->deliver == NULL)
            count_pull(c, k, &m, now_ms);
        else
            ask_how_far(c, k);
    }
    ash__jsd_stored_release(&m);
    return rc;
}

static void give_lot(ash_jsd_client *c, ash_jsd_consumer *k, int64_t now_ms, turn *t)
{
    bool got = true;
    ash_error err = ASH_ERROR_INIT;
    int rc = 0;
    for (int i = 0; rc == 0 && got && i < LOT; i++) {
        const char *to = target(c, k, now_ms);
        if (to == NULL)
            return;
        if (ash__nats_is_full(c->client)) {
            t->more = true;
            return;
        }
        rc = give(c, k, to, now_ms, &got, &err);
    }
    t->more = rc == 0 && got;
    if (rc != 0) {
        ash__jsd_consumer_end(c, k, "409 Consumer Deleted");
        t->ended = true;
    } else if (!got && k->deliver == NULL && ash__jsd_source_pending(k->source) == 0) {
        tell_no_messages(c, k);
    }
}

/* Whoever has not listened for too long has forgotten it. */
static void look_after(ash_jsd_client *c, ash_jsd_consumer *k, int64_t now_ms, turn *t)
{
    bool listens =
        k->deliver != NULL ? ash__nats_has_interest(c->client, k->deliver) : k->pulls != NULL;
    /* Clients forget watches without deleting their consumers, each of which has a thread. */
    int64_t patience = k->listened ? earlier(k->inactive_ms, ASH_JSD_LEFT_MS) : k->inactive_ms;
    if (listens)
        k->active_ms = now_ms;
    k->listened = k->listened || (listens && k->deliver != NULL);
    if (!listens && now_ms - k->active_ms >= patience) {
        ash__jsd_consumer_end(c, k, NULL);
        t->ended = true;
        return;
    }
    if (!listens)
        t->next_ms = earlier(t->next_ms, k->active_ms + patience);
    if (k->heartbeat_ms <= 0 || k->deliver == NULL || !listens)
        return;
    if (now_ms - k->heard_ms >= k->heartbeat_ms)
        beat(c, k, now_ms);
    t->next_ms = earlier(t->next_ms, k->heard_ms + k->heartbeat_ms);
}

int64_t ash__jsd_deliver(ash_jsd_client *c, int64_t now_ms)
{
    int64_t next_ms = INT64_MAX;
    bool more = false;
    for (ash_jsd_consumer *k = c->consumers, *following = NULL; k != NULL; k = following) {
        turn t = {.next_ms = INT64_MAX};
        following = k->next;
        if (k->deliver == NULL)
            t.next_ms = tidy_pulls(c, k, now_ms);
        give_lot(c, k, now_ms, &t);
        if (!t.ended)
            look_after(c, k, now_ms, &t);
        more = more || t.more;
        next_ms = earlier(next_ms, t.next_ms);
    }
    return more ? 0 : next_ms;
}
