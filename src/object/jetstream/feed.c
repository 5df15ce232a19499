/* SPDX-License-Identifier: Apache-2.0 */
#include "object/jetstream/feed.h"

#include "base/clock.h"
#include "base/mem.h"
#include "object/jetstream/format/config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    SILENCE_MS = 3 * ASH_JS_HEARTBEAT_MS, /* after it the consumer is given up */
    PLAIN_TOKENS = 9,  /* $JS.ACK.stream.consumer.delivered.stream seq.consumer seq.time.pending */
    DOMAIN_TOKENS = 11 /* the same with domain and account behind ACK; more may follow */
};

struct ash_js_feed {
    ash_js_stream stream;
    char *stream_name, *subject;
    ash_js_feed_request request;
    natsInbox *inbox;
    natsSubscription *sub;
    char *consumer;
    natsMsg *message;
    uint64_t last;     /* sequence of the last message, 0: none yet */
    uint64_t consumed; /* messages of this consumer */
    int64_t heard_ms;  /* when the server was heard of last … */
    int64_t left_ms;   /* … and the caller: the time he takes between two calls does not count */
    bool lost;         /* nobody knows the consumer: another one is needed */
};

static const char *policy_of(ash_js_from from)
{
    switch (from) {
    case ASH_JS_FROM_SEQUENCE:
        return "by_start_sequence";
    case ASH_JS_FROM_LAST_OF_EACH:
        return "last_per_subject";
    case ASH_JS_FROM_NOW:
        return "new";
    default:
        return "all";
    }
}

/* The first sequence that the consumer is to send; 0: that is not known. */
static uint64_t first_of(const ash_js_feed *f)
{
    if (f->last > 0)
        return f->last + 1;
    return f->request.from == ASH_JS_FROM_SEQUENCE ? f->request.sequence : 0;
}

static void put_request(const ash_js_feed *f, ash_buffer *out)
{
    ash_js_from from = f->last > 0 ? ASH_JS_FROM_SEQUENCE : f->request.from;

    ash__buffer_append_byte(out, '{');
    ash__json_put_text_member(out, "stream_name", f->stream.name);
    ash__json_put_key(out, "config");
    ash__buffer_append_byte(out, '{');
    ash__json_put_text_member(out, "deliver_policy", policy_of(from));
    if (from == ASH_JS_FROM_SEQUENCE) {
        ash__json_put_key(out, "opt_start_seq");
        ash__buffer_printf(out, "%" PRIu64, first_of(f));
    }
    ash__json_put_text_member(out, "ack_policy", "none");
    ash__json_put_int_member(out, "max_deliver", 1);
    ash__json_put_text_member(out, "filter_subject", f->subject);
    ash__json_put_text_member(out, "replay_policy", "instant");
    ash__json_put_truth_member(out, "flow_control", true);
    ash__json_put_int_member(out, "idle_heartbeat",
                             (int64_t)ASH_JS_HEARTBEAT_MS * ASH_JS_NS_PER_MS);
    ash__json_put_text_member(out, "deliver_subject", f->inbox);
    ash__json_put_int_member(out, "num_replicas", 1);
    ash__json_put_truth_member(out, "mem_storage", true);
    if (f->request.heads)
        ash__json_put_truth_member(out, "headers_only", true);
    ash__buffer_append_text(out, "}}");
}

static void drop_consumer(ash_js_feed *f)
{
    ash__js_bury(f->stream.js, f->sub);
    f->sub = NULL;
    if (f->consumer != NULL) {
        char *to = ash__sprintf("%s.CONSUMER.DELETE.%s.%s", f->stream.js->api, f->stream.name,
                                f->consumer);
        /* Nobody waits for the answer: without us the server gives it up by itself. */
        (void)natsConnection_Publish(f->stream.js->nc, to, NULL, 0);
        ash__free(to);
    }
    natsInbox_Destroy(f->inbox);
    f->inbox = NULL;
    ash__free(f->consumer);
    f->consumer = NULL;
}

static int subscribe(ash_js_feed *f, ash_error *err)
{
    natsStatus s = natsInbox_Create(&f->inbox);
    if (s == NATS_OK)
        s = natsConnection_SubscribeSync(&f->sub, f->stream.js->nc, f->inbox);
    if (s == NATS_OK)
        s = natsSubscription_SetPendingLimits(f->sub, -1, -1);
    return s == NATS_OK ? 0 : ash__js_fail_status(s, "to subscribe", err);
}

/* Each try has an inbox of its own, lest two consumers feed one. */
static int try_consumer(ash_js_feed *f, const ash_op *op, uint64_t *pending, int *number,
                        ash_error *err)
{
    ash_buffer body = ASH_BUFFER_INIT;
    ash_js_answer answer = {NULL, 0};
    int rc = subscribe(f, err);
    if (rc == 0) {
        char *verb = ash__sprintf("CONSUMER.CREATE.%s", f->stream.name);
        put_request(f, &body);
        rc = ash__js_request_once(f->stream.js, verb, &body, op, &answer, err);
        ash__free(verb);
    }
    *number = answer.number;
    if (rc == 0) {
        const char *name = ash__json_text(answer.json, "name", NULL);
        f->consumer = name != NULL ? ash__strdup(name) : NULL;
        *pending = ash__json_unsigned(answer.json, "num_pending", 0) +
                   ash__json_unsigned(ash__json_get(answer.json, "delivered"), "consumer_seq", 0);
    }
    ash__json_free(answer.json);
    ash__buffer_release(&body);
    return rc;
}

static int make_consumer(ash_js_feed *f, const ash_op *op, uint64_t *pending, ash_error *err)
{
    int64_t give_up = ash__clock_ms() + ASH_JS_PATIENCE_MS;
    int number = 0, rc = 0;
    do {
        drop_consumer(f);
        f->consumed = 0;
        rc = try_consumer(f, op, pending, &number, err);
    } while (rc != 0 && ash__js_is_passing(rc, number) && ash__js_pause(op, give_up, NULL) == 0);
    f->lost = false;
    f->heard_ms = f->left_ms = ash__clock_ms();
    return rc;
}

int ash__js_feed_open(const ash_js_stream *s, const ash_js_feed_request *r, const ash_op *op,
                      ash_js_feed **out, uint64_t *pending, ash_error *err)
{
    ash_js_feed *f = ash__new(ash_js_feed);
    f->stream = *s;
    f->stream_name = ash__strdup(s->name);
    f->stream.name = f->stream_name;
    f->request = *r;
    f->subject = ash__strdup(r->subject);
    f->request.subject = f->subject;
    int rc = make_consumer(f, op, pending, err);
    if (rc == 0)
        *out = f;
    else
        ash__js_feed_free(f);
    return rc;
}

void ash__js_feed_free(ash_js_feed *f)
{
    if (f == NULL)
        return;
    drop_consumer(f);
    natsMsg_Destroy(f->message);
    ash__free(f->subject);
    ash__free(f->stream_name);
    ash__free(f);
}

natsMsg *ash__js_feed_detach(ash_js_feed *f)
{
    natsMsg *message = f->message;
    f->message = NULL;
    return message;
}

void ash__js_feed_take(ash_js_feed *f, const ash_js_fed *fed, ash_js_message *out)
{
    *out = (ash_js_message){.sequence = fed->sequence, .time_ms = fed->time_ms};
    out->subject = ash__strdup(natsMsg_GetSubject(fed->message));
    ash__js_message_take(ash__js_feed_detach(f), out);
}

/* Asked once: the server that a consumer is on may be gone, and then nobody ever answers for it. */
int ash__js_feed_has_more(ash_js_feed *f, const ash_op *op, bool *out, ash_error *err)
{
    ash_js_answer answer = {NULL, 0};
    ash_error why = ASH_ERROR_INIT;
    char *verb =
        ash__sprintf("CONSUMER.INFO.%s.%s", f->stream.name, f->consumer != NULL ? f->consumer : "");
    int rc = ash__js_request_once(f->stream.js, verb, NULL, op, &answer, &why);
    uint64_t sent =
        ash__json_unsigned(ash__json_get(answer.json, "delivered"), "consumer_seq", f->consumed);
    *out = rc != 0 || ash__json_unsigned(answer.json, "num_pending", 0) > 0 || sent > f->consumed;
    f->lost = rc == ASH_ENOTFOUND || (rc != 0 && ash__js_is_passing(rc, answer.number));
    ash__json_free(answer.json);
    ash__free(verb);
    return f->lost ? 0 : ash__unless(0, rc, &why, err);
}

/* The numbers in the subject that an acknowledgement would go to. */
static bool read_place(const char *reply, uint64_t *consumer_sequence, ash_js_fed *out)
{
    const char *tokens[DOMAIN_TOKENS + 2] = {reply};
    int count = 1;
    if (reply == NULL || strncmp(reply, "$JS.ACK.", strlen("$JS.ACK.")) != 0)
        return false;
    for (const char *dot = strchr(reply, '.'); dot != NULL && count < DOMAIN_TOKENS + 1;
         dot = strchr(dot + 1, '.'))
        tokens[count++] = dot + 1;
    int shift = count == PLAIN_TOKENS ? 0 : 2;
    if (count < PLAIN_TOKENS + shift)
        return false;
    out->sequence = strtoull(tokens[5 + shift], NULL, 10);
    *consumer_sequence = strtoull(tokens[6 + shift], NULL, 10);
    out->time_ms = strtoll(tokens[7 + shift], NULL, 10) / ASH_JS_NS_PER_MS;
    out->pending = strtoull(tokens[8 + shift], NULL, 10);
    return true;
}

/* Heartbeats, and requests to say how far we are. */
static bool is_control(ash_js_feed *f, natsMsg *message)
{
    if (natsMsg_GetDataLength(message) > 0)
        return false;
    const char *status = ash__js_header(message, "Status");
    if (status == NULL)
        return false;
    const char *stalled = ash__js_header(message, "Nats-Consumer-Stalled");
    const char *to = natsMsg_GetReply(message) != NULL ? natsMsg_GetReply(message) : stalled;
    if (to != NULL)
        (void)natsConnection_Publish(f->stream.js->nc, to, NULL, 0);
    return true;
}

static int64_t size_of(natsMsg *message, bool heads)
{
    const char *size = heads ? ash__js_header(message, "Nats-Msg-Size") : NULL;
    return size != NULL ? strtoll(size, NULL, 10) : natsMsg_GetDataLength(message);
}

/* true: it is the next one.  Else it was something else, or one was missed.  A nats-server 2.9 that was
 * killed may begin with a subject's first message wherever it is told to begin. */
static bool accept(ash_js_feed *f, natsMsg *message, ash_js_fed *out, bool *missed)
{
    uint64_t consumer_sequence = 0;
    f->heard_ms = ash__clock_ms();
    if (is_control(f, message) || !read_place(natsMsg_GetReply(message), &consumer_sequence, out))
        return false;
    if (consumer_sequence != f->consumed + 1) {
        *missed = true;
        return false;
    }
    f->consumed = consumer_sequence;
    if (out->sequence < first_of(f))
        return false;
    f->last = out->sequence;
    f->message = message;
    out->message = message;
    out->size = size_of(message, f->request.heads);
    return true;
}

static int wait_for_next(ash_js_feed *f, int64_t timeout_ms, const ash_op *op, ash_js_fed *out,
                         ash_error *err)
{
    int64_t until = ash__clock_ms() + timeout_ms, left = 0;
    uint64_t pending = 0;

    while (true) {
        bool missed = false;
        natsMsg *message = NULL;
        int64_t now = ash__clock_ms();
        int rc = ash__js_time_left(op, ASH_JS_PAUSE_MS, &left, err);
        if (rc != 0)
            return rc;
        left = until - now < left ? until - now : left;
        natsStatus s = natsSubscription_NextMsg(&message, f->sub, left > 0 ? left : 0);
        if (s == NATS_OK && accept(f, message, out, &missed))
            return 0;
        natsMsg_Destroy(message);
        if (missed || f->lost || (s != NATS_OK && s != NATS_TIMEOUT) ||
            now - f->heard_ms > SILENCE_MS)
            rc = make_consumer(f, op, &pending, err);
        else if (s == NATS_TIMEOUT && now >= until)
            return 0;
        if (rc != 0)
            return rc;
    }
}

int ash__js_feed_next(ash_js_feed *f, int64_t timeout_ms, const ash_op *op, ash_js_fed *out,
                      ash_error *err)
{
    natsMsg_Destroy(f->message);
    f->message = NULL;
    *out = (ash_js_fed){0};
    f->heard_ms += ash__clock_ms() - f->left_ms;
    int rc = wait_for_next(f, timeout_ms, op, out, err);
    f->left_ms = ash__clock_ms();
    return rc;
}
