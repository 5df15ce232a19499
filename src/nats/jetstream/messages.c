/* SPDX-License-Identifier: Apache-2.0 */
#include "nats/jetstream/messages.h"

#include "base/mem.h"
#include "nats/jetstream/subject.h"
#include "object/jetstream/format/info.h"
#include "object/jetstream/format/names.h"
#include "object/said.h"

#include <inttypes.h>
#include <string.h>

void ash__jsd_stored_release(ash_jsd_stored *m)
{
    ash__free(m->subject);
    ash__buffer_release(&m->headers);
    ash__buffer_release(&m->data);
    *m = (ash_jsd_stored){0};
}

static void begin(ash_jsd_stored *out, const ash_object *o, uint64_t sequence, char *subject)
{
    ash__free(out->subject);
    ash__buffer_clear(&out->headers);
    ash__buffer_clear(&out->data);
    out->subject = subject;
    out->sequence = sequence;
    out->time_ms = o->modified_ms;
}

/* ---- making them ---- */

void ash__jsd_stored_meta(const ash_object *o, ash_jsd_stored *out)
{
    begin(out, o, o->revision, ash__meta_subject(o->store, o->name));
    ash__buffer_append_text(&out->headers, "Nats-Rollup: sub\r\n");
    if (o->expires_ms > o->modified_ms && !o->deleted)
        ash__buffer_printf(&out->headers,
                           "Nats-TTL: %" PRId64 "s\r\nAshlar-Expires: %" PRId64 "\r\n",
                           (o->expires_ms - o->modified_ms + 999) / 1000, o->expires_ms);
    ash_object told = *o;
    /* What a reader of the messages finds. */
    if (told.chunks > 0)
        told.chunks = (int64_t)ash__jsd_chunk_count(o);
    if (told.chunk_size > ASH_JSD_MESSAGE_BYTES)
        told.chunk_size = ASH_JSD_MESSAGE_BYTES;
    ash__js_write_info(&told, o->nuid, &out->data);
    out->size = (int64_t)out->data.len;
}

/* Those of the object, unless they are too large for a message. */
static int64_t chunk_bytes(const ash_object *o)
{
    int64_t chunk = ash_object_chunk_size(o);
    return chunk < ASH_JSD_MESSAGE_BYTES ? chunk : ASH_JSD_MESSAGE_BYTES;
}

uint64_t ash__jsd_chunk_count(const ash_object *o)
{
    int64_t chunk = chunk_bytes(o);
    if (o->deleted || o->link_store != NULL)
        return 0;
    return (uint64_t)((o->size + chunk - 1) / chunk);
}

static int read_chunk(ash_object_reader *r, size_t len, ash_buffer *out, ash_error *err)
{
    size_t have = 0, got = 1;
    int rc = 0;
    ash__buffer_reserve(out, len);
    while (rc == 0 && have < len && got > 0) {
        rc = ash_object_reader_read(r, out->data + have, len - have, &got, err);
        have += got;
    }
    out->len = have;
    return rc == 0 && have < len ? ash__fail(err, ASH_ECORRUPT, "a chunk is too short") : rc;
}

int ash__jsd_stored_chunk(const ash_object *o, uint64_t index, ash_object_reader *r, bool heads,
                          ash_jsd_stored *out, ash_error *err)
{
    int64_t chunk = chunk_bytes(o), left = o->size - (int64_t)index * chunk;
    begin(out, o, index + 1, ash__chunk_subject(o->store, o->nuid));
    ash__buffer_printf(&out->headers, "Nats-Msg-Id: %s.%" PRIu64 "\r\n", o->nuid, index);
    out->size = left < chunk ? left : chunk;
    return heads ? 0 : read_chunk(r, (size_t)out->size, &out->data, err);
}

int ash__jsd_open_reader(ash_object_store *s, const ash_object *o, uint64_t chunk, const ash_op *op,
                         ash_object_reader **out, ash_error *err)
{
    ash_object_read_options opts = ASH_OBJECT_READ_OPTIONS_INIT;
    opts.no_follow = true;
    opts.unverified = true;
    opts.start = (int64_t)chunk * chunk_bytes(o);
    int rc = ash_object_store_open_reader(s, o->name, &opts, op, out, err);
    if (rc == 0 && strcmp(ash_object_nuid(ash_object_reader_object(*out)), o->nuid) != 0) {
        ash_object_reader_free(*out);
        *out = NULL;
        rc = ash__fail(err, ASH_ECONFLICT, "%.200s has other bytes by now", o->name);
    }
    return rc;
}

void ash__jsd_put_headers(const ash_jsd_stored *m, const char *more, ash_buffer *out)
{
    ash__buffer_append_text(out, "NATS/1.0\r\n");
    ash__buffer_append(out, m->headers.data, m->headers.len);
    ash__buffer_append_text(out, more);
    ash__buffer_append_text(out, "\r\n");
}

/* ---- finding them: ASH_ENOTFOUND where there is none ---- */

static int find_meta(ash_object_store *s, const char *name, uint64_t from, const ash_op *op,
                     ash_jsd_stored *out, ash_error *err)
{
    ash_object_read_options o = ASH_OBJECT_READ_OPTIONS_INIT;
    ash_object *object = NULL;
    o.deleted = true;
    int rc = ash_object_store_info(s, name, &o, op, &object, err);
    if (rc == 0 && object->revision < from)
        rc = ash__fail(err, ASH_ENOTFOUND, "no message");
    if (rc == 0)
        ash__jsd_stored_meta(object, out);
    ash_object_free(object);
    return rc;
}

/* The first meta message from that revision on; exactly: just that one. */
static int find_from(ash_object_store *s, uint64_t from, bool exactly, const ash_op *op,
                     ash_jsd_stored *out, ash_error *err)
{
    ash_object_list_options o = ASH_OBJECT_LIST_OPTIONS_INIT;
    ash_object_listing *l = NULL;
    const ash_object *object = NULL;
    o.deleted = true;
    o.limit = 1;
    o.after_revision = from > 0 ? from - 1 : 0;
    int rc = ash_object_store_list(s, &o, op, &l, err);
    if (rc == 0)
        rc = ash_object_listing_next(l, &object, err);
    if (rc == 0 && (object == NULL || (exactly && object->revision != from)))
        rc = ash__fail(err, ASH_ENOTFOUND, "no message");
    if (rc == 0)
        ash__jsd_stored_meta(object, out);
    ash_object_listing_free(l);
    return rc;
}

/* The newest of all: it has the store's revision, unless that went without a trace. */
static int find_newest(ash_object_store *s, const ash_op *op, ash_jsd_stored *out, ash_error *err)
{
    ash_object_list_options o = ASH_OBJECT_LIST_OPTIONS_INIT;
    ash_object_status *st = NULL;
    ash_object_listing *l = NULL;
    const ash_object *object = NULL;
    ash_object *newest = NULL;
    int rc = ash_object_store_status(s, op, &st, err);
    uint64_t revision = rc == 0 ? ash_object_status_revision(st) : 0;
    ash_object_status_free(st);
    if (rc == 0 && find_from(s, revision, true, op, out, NULL) == 0)
        return 0;
    o.deleted = true;
    if (rc == 0)
        rc = ash_object_store_list(s, &o, op, &l, err);
    while (rc == 0 && (rc = ash_object_listing_next(l, &object, err)) == 0 && object != NULL) {
        ash_object_free(newest);
        newest = ash_object_copy(object);
    }
    ash_object_listing_free(l);
    if (rc == 0 && newest == NULL)
        rc = ash__fail(err, ASH_ENOTFOUND, "no message");
    if (rc == 0)
        ash__jsd_stored_meta(newest, out);
    ash_object_free(newest);
    return rc;
}

/* from 0: the last one. */
static int find_chunk(ash_object_store *s, const char *nuid, uint64_t from, const ash_op *op,
                      ash_jsd_stored *out, ash_error *err)
{
    ash_object *object = NULL;
    ash_object_reader *r = NULL;
    int rc = ash__object_find_nuid(s, nuid, op, &object, err);
    uint64_t count = rc == 0 ? ash__jsd_chunk_count(object) : 0;
    uint64_t number = from == 0 ? count : from;
    if (rc == 0 && (count == 0 || number > count))
        rc = ash__fail(err, ASH_ENOTFOUND, "no message");
    if (rc == 0)
        rc = ash__jsd_open_reader(s, object, number - 1, op, &r, err);
    if (rc == 0)
        rc = ash__jsd_stored_chunk(object, number - 1, r, false, out, err);
    ash_object_reader_free(r);
    ash_object_free(object);
    return rc;
}

static int find(ash_jsd_request *r, const char *subject, bool last, uint64_t from,
                ash_jsd_stored *out, ash_error *err)
{
    ash_op op = ash__jsd_op();
    char *name = NULL;
    int rc = 0;
    switch (ash__jsd_filter_read(r->store, subject, &name)) {
    case ASH_JSD_META:
        ash__jsd_renamed_is_over(r->client, subject);
        rc = find_meta(r->bound, name, last ? 0 : from, &op, out, err);
        break;
    case ASH_JSD_METAS:
        rc = last ? find_newest(r->bound, &op, out, err)
                  : find_from(r->bound, from, false, &op, out, err);
        break;
    case ASH_JSD_CHUNKS:
        rc = find_chunk(r->bound, name, last ? 0 : from > 0 ? from : 1, &op, out, err);
        break;
    default:
        rc = ash__fail(err, ASH_ENOTFOUND, "no message");
    }
    ash__free(name);
    return rc;
}

static int find_asked(ash_jsd_request *r, ash_jsd_stored *out, ash_error *err)
{
    const char *last = ash__json_text(r->body, "last_by_subj", NULL);
    const char *next = ash__json_text(r->body, "next_by_subj", NULL);
    uint64_t sequence = ash__json_unsigned(r->body, "seq", 0);
    ash_op op = ash__jsd_op();
    if (last != NULL)
        return find(r, last, true, 0, out, err);
    if (next != NULL)
        return find(r, next, false, sequence, out, err);
    if (sequence == 0)
        return ash__fail(err, ASH_EINVAL, "no message is asked for");
    return find_from(r->bound, sequence, true, &op, out, err);
}

/* ---- requests ---- */

void ash__jsd_message_get(ash_jsd_request *r)
{
    ash_error err = ASH_ERROR_INIT;
    ash_jsd_stored m = {0};
    ash_buffer headers = ASH_BUFFER_INIT;
    int rc = find_asked(r, &m, &err);
    if (rc == ASH_ENOTFOUND || rc == ASH_ECONFLICT) {
        ash__jsd_fail(r, ASH_JSD_NO_MESSAGE, NULL);
    } else if (rc != 0) {
        ash__jsd_fail_rc(r, rc, &err, ASH_JSD_BAD_REQUEST);
    } else {
        ash__jsd_put_headers(&m, "", &headers);
        ash__json_put_key(&r->answer, "message");
        ash__buffer_append_byte(&r->answer, '{');
        ash__json_put_text_member(&r->answer, "subject", m.subject);
        ash__json_put_int_member(&r->answer, "seq", (int64_t)m.sequence);
        ash__jsd_put_base64(&r->answer, "hdrs", headers.data, headers.len);
        ash__jsd_put_base64(&r->answer, "data", m.data.data, m.data.len);
        ash__jsd_put_time(&r->answer, "time", m.time_ms);
        ash__buffer_append_byte(&r->answer, '}');
    }
    ash__buffer_release(&headers);
    ash__jsd_stored_release(&m);
}

/* A number is a chunk's as well as an object's, so that nothing that is there goes by it. */
void ash__jsd_message_delete(ash_jsd_request *r)
{
    ash_error err = ASH_ERROR_INIT;
    ash_jsd_stored m = {0};
    ash_op op = ash__jsd_op();
    uint64_t sequence = ash__json_unsigned(r->body, "seq", 0);
    int rc = find_from(r->bound, sequence, true, &op, &m, &err);
    if (rc == 0) {
        ash__jsd_fail(r, ASH_JSD_DELETE_FAILED, "messages are not deleted by number here");
    } else if (rc == ASH_ENOTFOUND) {
        char *text = ash__sprintf("sequence %" PRIu64 " not found", sequence);
        ash__jsd_fail(r, ASH_JSD_SEQUENCE_NOT_FOUND, text);
        ash__free(text);
    } else {
        ash__jsd_fail_rc(r, rc, &err, ASH_JSD_STREAM_GENERAL);
    }
    ash__jsd_stored_release(&m);
}

static void answer_directly(ash_jsd_request *r, const ash_jsd_stored *m)
{
    ash_buffer headers = ASH_BUFFER_INIT;
    char time[32];
    ash__jsd_time_text(m->time_ms, time);
    char *own = ash__sprintf("Nats-Stream: %s\r\nNats-Subject: %s\r\nNats-Sequence: %" PRIu64
                             "\r\nNats-Time-Stamp: %s\r\n",
                             r->stream, m->subject, m->sequence, time);
    ash__jsd_put_headers(m, own, &headers);
    ash_nats_message answer = {.subject = r->message->reply,
                               .headers = ash__buffer_text(&headers),
                               .headers_len = headers.len,
                               .data = m->data.data,
                               .len = m->data.len};
    (void)ash__nats_deliver(r->client->client, &answer);
    ash__free(own);
    ash__buffer_release(&headers);
}

void ash__jsd_direct_get(ash_jsd_request *r)
{
    ash_error err = ASH_ERROR_INIT;
    ash_jsd_stored m = {0};
    const char *status = NULL;
    if (r->message->reply == NULL)
        return;
    int rc = r->rest[0] != '\0' ? find(r, r->rest, true, 0, &m, &err) : find_asked(r, &m, &err);
    if (ash__json_get(r->body, "batch") != NULL || ash__json_get(r->body, "multi_last") != NULL)
        status = "408 Bad Request";
    else if (rc == ASH_ENOTFOUND || rc == ASH_ECONFLICT)
        status = "404 Message Not Found";
    else if (rc != 0)
        status = rc == ASH_EINVAL ? "408 Empty Request" : "500 Message Cannot Be Read";
    if (status != NULL)
        ash__jsd_status(r->client, r->message->reply, NULL, status, "");
    else
        answer_directly(r, &m);
    ash__jsd_stored_release(&m);
}
