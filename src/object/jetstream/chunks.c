/* SPDX-License-Identifier: Apache-2.0 */
#include "object/jetstream/chunks.h"

#include "base/clock.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ID_BYTES = 64,
    DRAIN_MS = 200,
    LOOK_MS = 2000,
    LONG_PUT_MS = 5000, /* from then on it is worth a request to count what is stored */
    SILENCE_MS = 500    /* less than the age of which any sweep takes chunks */
};

typedef struct slot {
    natsMsg *message;
    size_t len;
    uint64_t sequence; /* 0: not acknowledged */
    int64_t sent_ms;
    bool answered; /* with an acknowledgement or an error */
} slot;

struct ash_js_chunks {
    ash_js_stream stream;
    char *subject, *nuid;
    int64_t ttl_ms;
    natsInbox *inbox;
    natsSubscription *sub;
    slot slots[ASH_JS_IN_FLIGHT_CHUNKS]; /* of chunk n: n % ASH_JS_IN_FLIGHT_CHUNKS */
    uint64_t first, next;                /* first that is in flight, first that was not sent */
    size_t in_flight;                    /* bytes */
    uint64_t last;                       /* sequence of the chunk before `first` */
    natsMsg *latest;                     /* that chunk, unless there is none yet … */
    size_t latest_len;                   /* … and its bytes */
    int attempts;                        /* how often a chunk was stored again under another id */
    int64_t active_ms, active_wall_ms;   /* when something was sent last */
    bool doubtful;                       /* what is stored has to be counted */
    natsMsg *looked[ASH_JS_LOOKS];
    int64_t began_ms;
    uint64_t denials;
};

static void note_activity(ash_js_chunks *c)
{
    c->active_ms = ash__clock_ms();
    c->active_wall_ms = ash__clock_wall_ms();
}

/* A machine that slept knows it by the wall clock alone. */
static bool was_silent(const ash_js_chunks *c)
{
    return ash__clock_ms() - c->active_ms >= SILENCE_MS ||
           ash__clock_wall_ms() - c->active_wall_ms >= SILENCE_MS;
}

static slot *slot_of(ash_js_chunks *c, uint64_t number)
{
    return &c->slots[number % ASH_JS_IN_FLIGHT_CHUNKS];
}

int ash__js_chunks_new(const ash_js_stream *s, const char *subject, const char *nuid,
                       int64_t ttl_ms, ash_js_chunks **out, ash_error *err)
{
    ash_js_chunks *c = ash__new(ash_js_chunks);
    char *all = NULL;

    c->stream = *s;
    c->subject = ash__strdup(subject);
    c->nuid = ash__strdup(nuid);
    c->ttl_ms = ttl_ms;
    c->began_ms = ash__clock_ms();
    c->denials = __atomic_load_n(&s->js->denials, __ATOMIC_RELAXED);
    natsStatus status = natsInbox_Create(&c->inbox);
    if (status == NATS_OK) {
        all = ash__sprintf("%s.*", c->inbox);
        status = natsConnection_SubscribeSync(&c->sub, s->js->nc, all);
    }
    if (status == NATS_OK)
        status = natsSubscription_SetPendingLimits(c->sub, -1, -1);
    ash__free(all);
    if (status == NATS_OK) {
        *out = c;
        return 0;
    }
    ash__js_chunks_free(c);
    return ash__js_fail_status(status, "to subscribe", err);
}

void ash__js_chunks_free(ash_js_chunks *c)
{
    if (c == NULL)
        return;
    ash__js_bury(c->stream.js, c->sub);
    natsInbox_Destroy(c->inbox);
    for (uint64_t n = c->first; n < c->next; n++)
        natsMsg_Destroy(slot_of(c, n)->message);
    natsMsg_Destroy(c->latest);
    for (int i = 0; i < ASH_JS_LOOKS; i++)
        natsMsg_Destroy(c->looked[i]);
    ash__free(c->subject);
    ash__free(c->nuid);
    ash__free(c);
}

uint64_t ash__js_chunks_count(const ash_js_chunks *c)
{
    return c->next;
}

/* attempt > 0: the chunk was stored before, and deleted; no two of a put are the same. */
static natsStatus make_message(ash_js_chunks *c, uint64_t number, int attempt, const void *data,
                               size_t len, natsMsg **out)
{
    char reply[ID_BYTES * 2], id[ID_BYTES], ttl[ID_BYTES];
    (void)snprintf(reply, sizeof reply, "%s.%" PRIu64, c->inbox, number);
    (void)snprintf(id, sizeof id, attempt == 0 ? "%s.%" PRIu64 : "%s.%" PRIu64 ".%d", c->nuid,
                   number, attempt);
    natsStatus s = natsMsg_Create(out, c->subject, reply, data, (int)len);
    if (s == NATS_OK)
        s = natsMsgHeader_Set(*out, ASH_JS_ID, id);
    if (s == NATS_OK && c->ttl_ms > 0) {
        (void)snprintf(ttl, sizeof ttl, "%" PRId64 "s", (c->ttl_ms + 999) / 1000);
        s = natsMsgHeader_Set(*out, ASH_JS_TTL, ttl);
    }
    return s;
}

/* ---- acknowledgements ---- */

/* Of a look, whose inbox ends with a letter. */
static bool note_look(ash_js_chunks *c, natsMsg *answer)
{
    const char *dot = strrchr(natsMsg_GetSubject(answer), '.');
    int which = dot != NULL ? dot[1] - 'a' : -1;
    if (which < 0 || which >= ASH_JS_LOOKS)
        return false;
    natsMsg_Destroy(c->looked[which]);
    c->looked[which] = answer;
    return true;
}

static void note_ack(ash_js_chunks *c, natsMsg *answer, bool *lost, int *rc, ash_error *err)
{
    const char *dot = strrchr(natsMsg_GetSubject(answer), '.');
    uint64_t number = dot != NULL ? strtoull(dot + 1, NULL, 10) : 0;
    ash_js_ack ack;
    ash_error why = ASH_ERROR_INIT;

    if (number < c->first || number >= c->next)
        return; /* of something that was sent again since */
    slot_of(c, number)->answered = true;
    int failed = ash__js_read_ack(answer, &ack, &why);
    if (failed == 0) {
        slot_of(c, number)->sequence = ack.sequence;
    } else if (ash__js_is_passing(failed, ack.number)) {
        *lost = true;
    } else if (*rc == 0) {
        *rc = failed;
        if (err != NULL)
            *err = why;
    }
}

/* Chunks at the front that are stored, each behind the one before it, are done. */
static void let_go(ash_js_chunks *c, bool *lost)
{
    while (c->first < c->next) {
        slot *s = slot_of(c, c->first);
        if (s->sequence == 0)
            return;
        if (s->sequence <= c->last) {
            *lost = true;
            return;
        }
        c->last = s->sequence;
        c->in_flight -= s->len;
        natsMsg_Destroy(c->latest);
        c->latest = s->message;
        c->latest_len = s->len;
        *s = (slot){0};
        c->first++;
    }
}

/* Waits up to wait_ms for the next acknowledgement, and takes those that have come besides. */
static int take_acks(ash_js_chunks *c, int64_t wait_ms, bool *lost, ash_error *err)
{
    int rc = 0;
    while (rc == 0) {
        natsMsg *answer = NULL;
        natsStatus s = natsSubscription_NextMsg(&answer, c->sub, wait_ms);
        if (s == NATS_TIMEOUT)
            break;
        /* libnats keeps to itself which one it was. */
        if (s == NATS_NO_RESPONDERS) {
            *lost = true;
            break;
        }
        if (s != NATS_OK)
            return ash__js_fail_status(s, "to publish", err);
        wait_ms = 0;
        if (note_look(c, answer))
            continue;
        note_ack(c, answer, lost, &rc, err);
        natsMsg_Destroy(answer);
    }
    let_go(c, lost);
    if (rc == 0 && c->denials != __atomic_load_n(&c->stream.js->denials, __ATOMIC_RELAXED))
        rc = ash__fail(err, ASH_EACCES, "the NATS server does not let us publish objects");
    return rc;
}

/* ---- mending ---- */

static int send_until_stored(ash_js_chunks *c, natsMsg *message, const ash_op *op, ash_js_ack *ack,
                             ash_error *err)
{
    int64_t give_up = ash__clock_ms() + ASH_JS_PATIENCE_MS;
    while (true) {
        note_activity(c);
        int rc = ash__js_publish(c->stream.js, message, op, ack, err);
        if (rc == 0 || !ash__js_is_passing(rc, ack->number))
            return rc;
        if (ash__js_is_gone(&c->stream))
            return ash__fail(err, ASH_ENOTFOUND, "the object store is gone");
        if (ash__js_pause(op, give_up, NULL) != 0)
            return rc;
    }
}

/* Stores one chunk behind c->last. */
static int mend_one(ash_js_chunks *c, uint64_t number, const ash_op *op, ash_error *err)
{
    slot *s = slot_of(c, number);
    ash_js_ack ack = {.sequence = s->sequence};
    natsMsg *again = NULL;
    int rc = ack.sequence == 0 ? send_until_stored(c, s->message, op, &ack, err) : 0;

    while (rc == 0 && ack.sequence <= c->last) {
        rc = ash__js_delete(&c->stream, ack.sequence, op, err);
        natsMsg_Destroy(again);
        again = NULL;
        natsStatus made =
            make_message(c, number, ++c->attempts, natsMsg_GetData(s->message), s->len, &again);
        if (rc == 0 && made != NATS_OK)
            rc = ash__js_fail_status(made, "to publish", err);
        if (rc == 0)
            rc = send_until_stored(c, again, op, &ack, err);
    }
    natsMsg_Destroy(again);
    s->sequence = rc == 0 ? ack.sequence : s->sequence;
    return rc;
}

static int mend(ash_js_chunks *c, const ash_op *op, ash_error *err)
{
    bool lost = false;
    int64_t until = ash__clock_ms() + DRAIN_MS;
    int rc = 0;

    c->doubtful = true;
    while (rc == 0 && ash__clock_ms() < until && c->first < c->next && !lost)
        rc = take_acks(c, DRAIN_MS / 4, &lost, err);
    while (rc == 0 && c->first < c->next) {
        rc = mend_one(c, c->first, op, err);
        lost = false;
        if (rc == 0)
            let_go(c, &lost);
    }
    return rc;
}

/* ---- sending ---- */

/* Waits until no more than `room` bytes and `chunks` chunks are in flight. */
static int wait_for_room(ash_js_chunks *c, size_t room, uint64_t chunks, const ash_op *op,
                         ash_error *err)
{
    int rc = 0;
    bool lost = false;
    int64_t left = 0;
    bool first = true;

    while (rc == 0 && (first || c->in_flight > room || c->next - c->first > chunks)) {
        bool full = c->in_flight > room || c->next - c->first > chunks;
        first = false;
        rc = ash__js_time_left(op, ASH_JS_PAUSE_MS, &left, err);
        if (rc == 0)
            rc = take_acks(c, full ? left : 0, &lost, err);
        if (rc == 0 && c->first < c->next &&
            ash__clock_coarse_ms() - slot_of(c, c->first)->sent_ms > ASH_JS_ACK_MS)
            lost = true;
        if (rc == 0 && lost) {
            rc = mend(c, op, err);
            lost = false;
        }
    }
    return rc;
}

/* How many messages the stream has of the subject, as the leader says. */
static int count_stored(ash_js_chunks *c, const ash_op *op, uint64_t *out, ash_error *err)
{
    ash_buffer body = ASH_BUFFER_INIT;
    char *verb = ash__sprintf("STREAM.INFO.%s", c->stream.name);
    ash_json *answer = NULL;

    ash__buffer_append_byte(&body, '{');
    ash__json_put_text_member(&body, "subjects_filter", c->subject);
    ash__buffer_append_byte(&body, '}');
    int rc = ash__js_request(c->stream.js, verb, &body, op, &answer, err);
    const ash_json *subjects = ash__json_get(ash__json_get(answer, "state"), "subjects");
    *out = ash__json_unsigned(subjects, c->subject, 0);
    ash__json_free(answer);
    ash__buffer_release(&body);
    ash__free(verb);
    return rc;
}

static int count_all(ash_js_chunks *c, const ash_op *op, ash_error *err)
{
    uint64_t stored = 0;
    int rc = count_stored(c, op, &stored, err);
    if (rc == 0 && stored != c->next)
        rc = ash__fail(err, ASH_ECONFLICT,
                       "the stream has %" PRIu64 " of the object's %" PRIu64
                       " chunks: a sweep may have taken them for left ones",
                       stored, c->next);
    c->doubtful = rc != 0;
    return rc;
}

/* ---- after a silence ---- */

static int store_latest_again(ash_js_chunks *c, const ash_op *op, ash_error *err)
{
    natsMsg *again = NULL;
    ash_js_ack ack = {0};
    natsStatus made = make_message(c, c->next - 1, ++c->attempts, natsMsg_GetData(c->latest),
                                   c->latest_len, &again);
    if (made != NATS_OK)
        return ash__js_fail_status(made, "to publish", err);
    int rc = send_until_stored(c, again, op, &ack, err);
    if (rc != 0) {
        natsMsg_Destroy(again);
        return rc;
    }
    c->last = ack.sequence;
    natsMsg_Destroy(c->latest);
    c->latest = again;
    return 0;
}

/* Takes the last chunk out of the hands of any sweep, or learns that one was faster.  Who cannot
 * delete from the stream counts, and a sweep cannot either. */
static int break_silence(ash_js_chunks *c, const ash_op *op, ash_error *err)
{
    bool taken = false;
    int rc = wait_for_room(c, 0, 0, op, err);
    if (rc != 0 || c->next == 0 || !was_silent(c))
        return rc;
    c->doubtful = true;
    rc = ash__js_take(&c->stream, c->last, op, &taken, err);
    if (rc == 0 && taken)
        rc = store_latest_again(c, op, err);
    else if (rc == 0)
        rc = count_all(c, op, err);
    note_activity(c);
    return rc;
}

int ash__js_chunks_put(ash_js_chunks *c, const void *data, size_t len, const ash_op *op,
                       ash_error *err)
{
    natsMsg *message = NULL;
    size_t room = len < ASH_JS_IN_FLIGHT_BYTES ? ASH_JS_IN_FLIGHT_BYTES - len : 0;
    int rc = c->next > 0 && was_silent(c) ? break_silence(c, op, err) : 0;
    if (rc == 0)
        rc = wait_for_room(c, room, ASH_JS_IN_FLIGHT_CHUNKS - 1, op, err);
    if (rc != 0)
        return rc;
    natsStatus s = make_message(c, c->next, 0, data, len, &message);
    /* Where the connection is gone for now, the message counts as lost. */
    if (s == NATS_OK) {
        *slot_of(c, c->next++) =
            (slot){.message = message, .len = len, .sent_ms = ash__clock_coarse_ms()};
        c->in_flight += len;
        note_activity(c);
        s = natsConnection_PublishMsg(c->stream.js->nc, message);
        if (s == NATS_OK)
            return 0;
        if (s == NATS_MAX_PAYLOAD)
            return ash__js_fail_status(s, "to publish", err);
        return mend(c, op, err);
    }
    natsMsg_Destroy(message);
    return ash__js_fail_status(s, "to publish", err);
}

int ash__js_chunks_settle(ash_js_chunks *c, const ash_op *op, ash_error *err)
{
    int rc = break_silence(c, op, err);
    /* After trouble, and after so long that somebody may have swept, we look rather than trust. */
    if (rc == 0 && c->next > 0 && (c->doubtful || ash__clock_ms() - c->began_ms > LONG_PUT_MS))
        rc = count_all(c, op, err);
    return rc;
}

void ash__js_chunks_quiesce(ash_js_chunks *c)
{
    int64_t until = ash__clock_ms() + ASH_JS_ACK_MS;
    uint64_t number = c->first;
    while (number < c->next && ash__clock_ms() < until) {
        bool lost = false;
        (void)take_acks(c, DRAIN_MS / 4, &lost, NULL);
        number = number < c->first ? c->first : number;
        while (number < c->next && slot_of(c, number)->answered)
            number++;
    }
}

void ash__js_chunks_look(ash_js_chunks *c, int which, const char *subject)
{
    char reply[ID_BYTES * 2];
    (void)snprintf(reply, sizeof reply, "%s.%c", c->inbox, 'a' + which);
    (void)ash__js_ask_last(&c->stream, subject, reply, NULL);
}

natsMsg *ash__js_chunks_looked(ash_js_chunks *c, int which, const ash_op *op)
{
    int64_t until = ash__clock_ms() + LOOK_MS, left = 0;
    while (c->looked[which] == NULL && ash__clock_ms() < until &&
           ash__js_time_left(op, ASH_JS_PAUSE_MS, &left, NULL) == 0) {
        bool lost = false;
        if (take_acks(c, left, &lost, NULL) != 0)
            break;
    }
    natsMsg *answer = c->looked[which];
    c->looked[which] = NULL;
    return answer;
}
