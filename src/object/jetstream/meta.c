/* SPDX-License-Identifier: Apache-2.0 */
#include "object/jetstream/meta.h"

#include "base/clock.h"
#include "base/mem.h"
#include "object/jetstream/format/info.h"
#include "object/jetstream/format/names.h"
#include "object/jetstream/room.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    NUMBER_BYTES = 32,
    PURGE_MS = 15000,      /* a cluster finds its new leader in that time */
    PURGE_AGAIN_MS = 1000, /* of one that failed before */
    MAX_PENDING = 10000
};

void ash__js_meta_release(ash_js_meta *m)
{
    ash__free(m->subject);
    ash__free(m->other);
    ash_object_free(m->object);
    *m = (ash_js_meta){0};
}

/* What came of a look. */
typedef struct found {
    int rc;
    ash_js_message message;
    ash_error why;
} found;

/* The message is released. */
static int read_found(ash_js_store *s, found *f, ash_js_meta *out, ash_error *err)
{
    int rc = f->rc;
    if (rc == ASH_ENOTFOUND && f->message.number == ASH_JS_NO_MESSAGE)
        return 0;
    if (rc == 0)
        rc = ash__js_message_object(&f->message, s->base.name, &out->object, &f->why);
    if (rc == 0) {
        out->sequence = f->message.sequence;
        out->other = f->message.other;
        f->message.other = NULL;
    } else if (rc == ASH_ENOTFOUND) {
        rc = ash__fail(&f->why, ASH_ENOTFOUND, "no object store %s", s->base.name);
    }
    ash__js_message_release(&f->message);
    return ash__unless(0, rc, &f->why, err);
}

static int read_at(ash_js_store *s, const char *subject, bool newest, const ash_op *op,
                   ash_js_meta *out, ash_error *err)
{
    found f = {.why = ASH_ERROR_INIT};
    f.rc = ash__js_get_last(&s->stream, subject, newest, op, &f.message, &f.why);
    return read_found(s, &f, out, err);
}

char *ash__js_meta_bare(const char *subject)
{
    size_t len = strcspn(subject, "=");
    return subject[len] != '\0' ? ash__strndup(subject, len) : NULL;
}

int ash__js_meta_get(ash_js_store *s, const char *name, bool newest, const ash_op *op,
                     ash_js_meta *out, ash_error *err)
{
    *out = (ash_js_meta){.subject = ash__meta_subject(s->base.name, name)};
    int rc = read_at(s, out->subject, newest, op, out, err);
    char *bare = rc == 0 && out->sequence == 0 ? ash__js_meta_bare(out->subject) : NULL;
    if (bare != NULL)
        rc = read_at(s, bare, newest, op, out, err);
    if (bare != NULL && out->sequence != 0) {
        ash__free(out->subject);
        out->subject = bare;
    } else {
        ash__free(bare);
    }
    if (rc != 0)
        ash__js_meta_release(out);
    return rc;
}

static int read_answer(ash_js_store *s, natsMsg *answer, ash_js_meta *out, ash_error *err)
{
    found f = {.why = ASH_ERROR_INIT};
    if (answer == NULL)
        return ash__fail(err, ASH_ENETWORK, "JetStream did not answer in time");
    f.rc = ash__js_answer_last(answer, &f.message, &f.why);
    return read_found(s, &f, out, err);
}

int ash__js_meta_from(ash_js_store *s, const char *subject, natsMsg *padded, natsMsg *bare,
                      ash_js_meta *out, ash_error *err)
{
    char *bare_subject = ash__js_meta_bare(subject);
    *out = (ash_js_meta){.subject = ash__strdup(subject)};
    int rc = read_answer(s, padded, out, err);
    if (rc == 0 && out->sequence == 0 && bare_subject != NULL) {
        rc = read_answer(s, bare, out, err);
        bare = NULL;
        if (rc == 0 && out->sequence != 0) {
            ash__free(out->subject);
            out->subject = bare_subject;
            bare_subject = NULL;
        }
    }
    natsMsg_Destroy(bare);
    ash__free(bare_subject);
    if (rc != 0)
        ash__js_meta_release(out);
    return rc;
}

bool ash__js_is_expired(const ash_object *o)
{
    return o->expires_ms != 0 && o->expires_ms <= ash__clock_wall_ms();
}

bool ash__js_meta_is_live(const ash_js_meta *m)
{
    return m->object != NULL && !m->object->deleted && !ash__js_is_expired(m->object);
}

int ash__js_meta_check(const ash_js_meta *m, const ash_object_change_options *opts, ash_error *err)
{
    if (opts->fence != NULL)
        return ash__fail(err, ASH_EUNSUPPORTED, "JetStream knows no fences");
    if (opts->if_revision != 0 && opts->if_revision != m->sequence)
        return ash__fail(err, ASH_ECONDITION, "the object's revision is %" PRIu64 ", not %" PRIu64,
                         m->sequence, opts->if_revision);
    if (opts->if_absent && ash__js_meta_is_live(m))
        return ash__fail(err, ASH_ECONDITION, "there is an object of that name");
    return 0;
}

/* ---- publishing ---- */

static natsStatus make_message(const ash_js_meta_put *put, const char *id, ash_buffer *body,
                               natsMsg **out)
{
    char number[NUMBER_BYTES];
    natsStatus s =
        natsMsg_Create(out, put->subject, NULL, (const char *)body->data, (int)body->len);
    if (s == NATS_OK)
        s = natsMsgHeader_Set(*out, ASH_JS_ROLLUP, "sub");
    if (s == NATS_OK)
        s = natsMsgHeader_Set(*out, ASH_JS_ID, id);
    (void)snprintf(number, sizeof number, "%" PRIu64, put->expected);
    if (s == NATS_OK)
        s = natsMsgHeader_Set(*out, ASH_JS_EXPECTED, number);
    if (s == NATS_OK && put->expires_ms > 0) {
        int64_t left = (put->expires_ms - ash__clock_wall_ms() + 999) / 1000;
        (void)snprintf(number, sizeof number, "%" PRId64 "s", left > 0 ? left : 1);
        s = natsMsgHeader_Set(*out, ASH_JS_TTL, number);
        (void)snprintf(number, sizeof number, "%" PRId64, put->expires_ms);
        if (s == NATS_OK)
            s = natsMsgHeader_Set(*out, ASH_JS_EXPIRES, number);
    }
    if (s == NATS_OK && put->other != NULL)
        s = natsMsgHeader_Set(*out, ASH_JS_OTHER, put->other);
    return s;
}

typedef struct publication {
    const ash_js_meta_put *put;
    const char *id;
    natsMsg *message;
    const ash_op *op;
    uint64_t sequence; /* filled in */
    bool unknown;      /* it failed, and may be stored all the same */
} publication;

/* Is the subject's last message the one with our id?  Then it was stored, and its acknowledgement
 * was lost. */
static int look_for(ash_js_store *s, publication *p, bool *ours)
{
    ash_js_message message;
    *ours = false;
    int rc = ash__js_get_last(&s->stream, p->put->subject, true, p->op, &message, NULL);
    if (rc == 0 && message.id != NULL && strcmp(message.id, p->id) == 0) {
        *ours = true;
        p->sequence = message.sequence;
    }
    int number = message.number;
    ash__js_message_release(&message);
    return rc == ASH_ENOTFOUND && number == ASH_JS_NO_MESSAGE ? 0 : rc;
}

/* After an attempt that nobody answered: number is that of the last one's refusal, or 0. */
static int resolve(ash_js_store *s, publication *p, int rc, int number, ash_error *err)
{
    bool ours = false;
    int looked = look_for(s, p, &ours);
    p->unknown = looked != 0 || (!ours && number == 0);
    if (looked == 0 && ours)
        return 0;
    if (number != ASH_JS_WRONG_LAST_SEQUENCE)
        return rc;
    /* It may have been stored, and replaced since. */
    p->unknown = true;
    return ash__fail(err, ASH_ENETWORK, "whether the change was made is not known");
}

static int publish(ash_js_store *s, publication *p, ash_error *err)
{
    int64_t give_up = ash__clock_ms() + ASH_JS_PATIENCE_MS;
    bool doubtful = false;
    ash_js_ack ack;
    int rc = 0;
    while (true) {
        rc = ash__js_publish(s->stream.js, p->message, p->op, &ack, err);
        if (rc == 0 || !ash__js_is_passing(rc, ack.number))
            break;
        if (ash__js_is_gone(&s->stream))
            return ash__fail(err, ASH_ENOTFOUND, "no object store %s", s->base.name);
        /* From now on a refusal may be one of the second copy. */
        doubtful = true;
        if (ash__js_pause(p->op, give_up, NULL) != 0)
            break;
    }
    p->sequence = ack.sequence;
    return rc != 0 && doubtful ? resolve(s, p, rc, ack.number, err) : rc;
}

static int with_outcome(const ash_js_meta_put *put, uint64_t sequence, ash_object **out,
                        ash_error *err)
{
    bson_t set = BSON_INITIALIZER;
    BSON_APPEND_DATE_TIME(&set, "mtime", ash__clock_wall_ms());
    BSON_APPEND_INT64(&set, "revision", (int64_t)sequence);
    if (put->expires_ms > 0)
        BSON_APPEND_DATE_TIME(&set, "expires", put->expires_ms);
    else
        BSON_APPEND_NULL(&set, "expires");
    int rc = ash__object_set(put->object, &set, out, err);
    bson_destroy(&set);
    return rc;
}

static int check_room(ash_js_store *s, const ash_js_meta_put *put, size_t len, const ash_op *op,
                      ash_error *err)
{
    size_t need = len + strlen(put->subject) + (put->other != NULL ? strlen(put->other) : 0) +
                  ASH_JS_OVERHEAD_BYTES;
    int64_t room = INT64_MAX;
    int rc = s->cautious ? ash__js_room(s, op, &room, err) : 0;
    return rc == 0 && room < (int64_t)need ? ash__js_room_is_over(s, err) : rc;
}

int ash__js_meta_publish(ash_js_store *s, const ash_js_meta_put *put, const ash_op *op,
                         ash_object **out, bool *unknown, ash_error *err)
{
    char id[ASH_NUID_TEXT_BYTES];
    ash_buffer body = ASH_BUFFER_INIT;
    publication p = {.put = put, .id = id, .op = op};

    ash__nuid(id);
    ash__js_write_info(put->object, id, &body);
    int rc = check_room(s, put, body.len, op, err);
    natsStatus status = rc == 0 ? make_message(put, id, &body, &p.message) : NATS_OK;
    if (status != NATS_OK)
        rc = ash__js_fail_status(status, "to publish", err);
    if (rc == 0)
        rc = publish(s, &p, err);
    *unknown = p.unknown;
    if (rc == 0)
        rc = with_outcome(put, p.sequence, out, err);
    natsMsg_Destroy(p.message);
    ash__buffer_release(&body);
    return rc;
}

/* ---- chunks that nobody needs ---- */

static void remember(ash_js_manager *m, const char *stream, const char *subject)
{
    ash__mutex_lock(&m->mutex);
    if (m->purge_count < MAX_PENDING) {
        m->purges =
            ash__grow_array(m->purges, m->purge_count, &m->purge_capacity, sizeof *m->purges);
        m->purges[m->purge_count++] = (ash_js_purge){ash__strdup(stream), ash__strdup(subject)};
    }
    ash__mutex_unlock(&m->mutex);
}

void ash__js_drop_chunks_of(ash_js_store *s, const char *nuid)
{
    /* Also when the caller's own time is over. */
    ash_op own = ASH_OPTIONS_INIT(ash_op);
    char *subject = ash__chunk_subject(s->base.name, nuid);
    own.deadline_ms = ash__clock_deadline(PURGE_MS);
    int rc = ash__js_purge(&s->stream, subject, &own, NULL);
    if (rc != 0 && rc != ASH_ENOTFOUND && rc != ASH_EREADONLY)
        remember(ash__js_manager_of(s->base.manager), s->stream.name, subject);
    ash__free(subject);
}

/* Has the other end of a rename the same bytes? */
static bool moved(ash_js_store *s, const ash_js_meta *m, const ash_op *op)
{
    ash_js_meta there = {0};
    char *name = m->other != NULL ? ash__name_of_subject(s->base.name, m->other) : NULL;
    bool same = false;
    if (name != NULL) {
        /* When nobody can say, the bytes stay. */
        same = ash__js_meta_get(s, name, true, op, &there, NULL) != 0 ||
               (ash__js_meta_is_live(&there) && there.object->nuid != NULL &&
                strcmp(there.object->nuid, m->object->nuid) == 0);
        ash__js_meta_release(&there);
    }
    ash__free(name);
    return same;
}

void ash__js_meta_drop_chunks(ash_js_store *s, const ash_js_meta *m, const ash_op *op)
{
    const ash_object *o = m->object;
    if (o == NULL || o->deleted || o->chunks == 0 || o->nuid == NULL || *o->nuid == '\0')
        return;
    if (!moved(s, m, op))
        ash__js_drop_chunks_of(s, o->nuid);
}

static bool take_pending(ash_js_manager *m, ash_js_purge *out)
{
    ash__mutex_lock(&m->mutex);
    bool any = m->purge_count > 0;
    if (any)
        *out = m->purges[--m->purge_count];
    ash__mutex_unlock(&m->mutex);
    return any;
}

void ash__js_drop_pending(ash_js_manager *m)
{
    ash_js_purge purge;
    int rc = 0;
    while (rc == 0 && take_pending(m, &purge)) {
        ash_op own = ASH_OPTIONS_INIT(ash_op);
        ash_js_stream stream = {.js = m->js, .name = purge.stream};
        own.deadline_ms = ash__clock_deadline(PURGE_AGAIN_MS);
        rc = ash__js_purge(&stream, purge.subject, &own, NULL);
        if (rc != 0 && rc != ASH_ENOTFOUND)
            remember(m, purge.stream, purge.subject);
        ash__free(purge.stream);
        ash__free(purge.subject);
    }
}
