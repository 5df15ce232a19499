/* SPDX-License-Identifier: Apache-2.0 */
#include "nats/jetstream/publication.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "object/jetstream/format/names.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- acknowledgements ---- */

void ash__jsd_acknowledge(ash_jsd_publication *p, uint64_t sequence, bool duplicate)
{
    ash_buffer out = ASH_BUFFER_INIT;
    ash__buffer_printf(&out, "{\"stream\":\"" ASH_STREAM_PREFIX "%s\",\"seq\":%" PRIu64 "%s}",
                       p->store, sequence, duplicate ? ",\"duplicate\":true" : "");
    ash__jsd_reply(p->client, p->message, out.data, out.len);
    ash__buffer_release(&out);
}

void ash__jsd_refuse(ash_jsd_publication *p, ash_jsd_error error, const char *text)
{
    ash_buffer out = ASH_BUFFER_INIT;
    p->failed = ash__jsd_error_number(error);
    ash__buffer_append_byte(&out, '{');
    ash__jsd_put_error(&out, error, text);
    ash__buffer_printf(&out, ",\"stream\":\"" ASH_STREAM_PREFIX "%s\",\"seq\":0}", p->store);
    ash__jsd_reply(p->client, p->message, out.data, out.len);
    ash__buffer_release(&out);
}

void ash__jsd_refuse_sequence(ash_jsd_publication *p, uint64_t last)
{
    char *text = ash__sprintf("wrong last sequence: %" PRIu64, last);
    ash__jsd_refuse(p, ASH_JSD_WRONG_LAST_SEQUENCE, text);
    ash__free(text);
}

void ash__jsd_refuse_rc(ash_jsd_publication *p, int rc)
{
    char *text = NULL;
    ash_jsd_error error = ash__jsd_error_of(rc, ASH_JSD_STORE_FAILED);
    if (rc == ASH_ENOSPC)
        text = ash__sprintf("maximum bytes exceeded: %s", p->err.text);
    else if (rc == ASH_EEXISTS || rc == ASH_ENOTFOUND)
        error = ASH_JSD_STORE_FAILED;
    if (text == NULL && error == ASH_JSD_STORE_FAILED)
        text = ash__strdup(p->err.text);
    ash__jsd_refuse(p, error, text);
    ash__free(text);
}

/* ---- headers ---- */

static bool read_number(const char *text, uint64_t *out)
{
    char *end = NULL;
    if (text[0] < '0' || text[0] > '9')
        return false;
    *out = strtoull(text, &end, 10);
    return *end == '\0';
}

/* Seconds, or a number with s, m or h, as Go writes times. */
static bool read_ttl(const char *text, int64_t *ms)
{
    char *end = NULL;
    if (strcmp(text, "never") == 0)
        return true;
    long long number = strtoll(text, &end, 10);
    int64_t unit = strcmp(end, "m") == 0 ? 60000 : strcmp(end, "h") == 0 ? 3600000 : 1000;
    if (end == text || number <= 0 || number > INT32_MAX ||
        (*end != '\0' && strcmp(end, "s") != 0 && unit == 1000))
        return false;
    *ms = number * unit;
    return true;
}

/* Our own clients say it to the millisecond. */
static bool read_expiry(ash_jsd_publication *p)
{
    char value[ASH_JSD_HEADER_BYTES];
    uint64_t expires = 0;
    if (!ash__jsd_header_value(p->message, "Nats-TTL", value))
        return true;
    if (!read_ttl(value, &p->ttl_ms))
        return false;
    if (!ash__jsd_header_value(p->message, "Ashlar-Expires", value))
        return true;
    if (!read_number(value, &expires) || expires > INT64_MAX)
        return false;
    p->ttl_ms = (int64_t)expires - ash__clock_wall_ms();
    p->ttl_ms = p->ttl_ms > 0 ? p->ttl_ms : 1; /* over already */
    return true;
}

/* What a publisher asks for by a header: its first row counts.  A header that has none, which is not
 * JetStream's, asks for nothing. */
static const struct request {
    const char *name;
    bool begins;         /* all headers that begin so are meant */
    bool chunks, metas;  /* for which messages it is served … */
    ash_jsd_error error; /* … and what the others are told */
} requests[] = {
    {"Nats-Msg-Id", false, true, true, ASH_JSD_BAD_REQUEST},
    {"Nats-TTL", false, true, true, ASH_JSD_BAD_REQUEST},
    {"Nats-Expected-Stream", false, true, true, ASH_JSD_BAD_REQUEST},
    {"Nats-Expected-Last-Subject-Sequence", false, true, true, ASH_JSD_BAD_REQUEST},
    {"Nats-Expected-Last-Msg-Id", false, true, false, ASH_JSD_WRONG_LAST_ID},
    {"Nats-Rollup", false, false, true, ASH_JSD_BAD_REQUEST},
    {"Nats-Expected-Last-Subject-Sequence-Subject", false, false, false,
     ASH_JSD_SEQUENCE_OF_SUBJECT},
    {"Nats-Batch-", true, false, false, ASH_JSD_NO_BATCHES},
    {"Nats-Incr", false, false, false, ASH_JSD_NO_COUNTERS},
    {"Nats-Schedule", true, false, false, ASH_JSD_NO_SCHEDULES},
    {"Nats-Required-Api-Level", false, false, false, ASH_JSD_API_LEVEL},
    {"Nats-", true, false, false, ASH_JSD_BAD_REQUEST},
    {"Ashlar-Expires", false, true, true, ASH_JSD_BAD_REQUEST},
};

static const struct request *request_of(const ash_jsd_header *h)
{
    for (size_t i = 0; i < ASH_ARRAY_LEN(requests); i++) {
        const struct request *r = &requests[i];
        ash_jsd_header start = *h;
        if (r->begins && h->name_len > strlen(r->name))
            start.name_len = strlen(r->name);
        if (ash__jsd_header_is(&start, r->name))
            return r;
    }
    return NULL;
}

static bool refuse_header(ash_jsd_publication *p, const ash_jsd_header *h, ash_jsd_error error,
                          const char *why)
{
    char *text = ash__sprintf("%.*s %s", (int)h->name_len, h->name, why);
    ash__jsd_refuse(p, error, error == ASH_JSD_BAD_REQUEST ? text : NULL);
    ash__free(text);
    return false;
}

/* No condition is passed over, be it for its length: who sets one counts on it. */
static bool check_headers(ash_jsd_publication *p, bool is_chunk)
{
    const char *at = NULL;
    ash_jsd_header h;
    while (ash__jsd_header_next(p->message, &at, &h)) {
        const struct request *r = request_of(&h);
        if (r != NULL && !(is_chunk ? r->chunks : r->metas))
            return refuse_header(p, &h, r->error, "is not served here");
        if (r != NULL && h.value_len >= ASH_JSD_HEADER_BYTES)
            return refuse_header(p, &h, ASH_JSD_BAD_REQUEST, "is too long");
    }
    return true;
}

static bool is_stream_of(const char *stream, const char *store)
{
    const char *named = ash__store_of_stream(stream);
    return named != NULL && strcmp(named, store) == 0;
}

/* ASH_JSD_OK: each header has a value that can be met. */
static ash_jsd_error read_headers(ash_jsd_publication *p, const char **text)
{
    const ash_nats_message *m = p->message;
    char value[ASH_JSD_HEADER_BYTES];
    if (ash__jsd_header_value(m, "Nats-Expected-Stream", value) && !is_stream_of(value, p->store))
        return ASH_JSD_STREAM_NOT_MATCH;
    p->expects_sequence = ash__jsd_header_value(m, "Nats-Expected-Last-Subject-Sequence", value);
    if (p->expects_sequence && !read_number(value, &p->expected))
        return ASH_JSD_BAD_REQUEST;
    if (ash__jsd_header_value(m, "Nats-Rollup", value) && strcmp(value, "sub") != 0) {
        *text = "rollup of a whole stream is not served here";
        return ASH_JSD_BAD_REQUEST;
    }
    (void)ash__jsd_header_value(m, "Nats-Msg-Id", p->id);
    (void)ash__jsd_header_value(m, "Nats-Expected-Last-Msg-Id", p->expected_id);
    return read_expiry(p) ? ASH_JSD_OK : ASH_JSD_TTL_INVALID;
}

bool ash__jsd_publication_read(ash_jsd_publication *p, bool is_chunk)
{
    const char *text = NULL;
    if (!check_headers(p, is_chunk))
        return false;
    ash_jsd_error error = read_headers(p, &text);
    if (error != ASH_JSD_OK)
        ash__jsd_refuse(p, error, text);
    return error == ASH_JSD_OK;
}

/* ---- meta messages that came before ---- */

/* Of this store, and of none of its name that was there before: what that one took went with it.
 * 0: it has no id. */
static int sum_of_id(ash_jsd_publication *p, uint64_t *sum)
{
    ash_object_status *st = NULL;
    ash_op op = ash__jsd_op();
    *sum = 0;
    if (p->id[0] == '\0')
        return 0;
    int rc = ash_object_store_status(p->bound, &op, &st, &p->err);
    if (rc != 0)
        return rc;
    char *text =
        ash__sprintf("%s.%" PRId64 ".%s", p->store, ash_object_status_created_ms(st), p->id);
    *sum = ash__checksum(text, strlen(text)) | 1;
    ash__free(text);
    ash_object_status_free(st);
    return 0;
}

bool ash__jsd_was_told(ash_jsd_publication *p)
{
    ash_jetstream *j = p->client->jetstream;
    uint64_t sequence = 0;
    int rc = sum_of_id(p, &p->id_sum);
    if (rc != 0) {
        ash__jsd_refuse_rc(p, rc);
        return true;
    }
    ash__mutex_lock(&j->mutex);
    for (int i = 0; p->id_sum != 0 && i < ASH_JSD_TOLD; i++)
        if (j->told[i].sum == p->id_sum)
            sequence = j->told[i].sequence;
    ash__mutex_unlock(&j->mutex);
    if (sequence != 0)
        ash__jsd_acknowledge(p, sequence, true);
    return sequence != 0;
}

void ash__jsd_note_told(ash_jsd_publication *p, uint64_t sequence)
{
    ash_jetstream *j = p->client->jetstream;
    if (p->id_sum == 0)
        return;
    ash__mutex_lock(&j->mutex);
    j->told[j->next_told] = (ash_jsd_told){p->id_sum, sequence};
    j->next_told = (j->next_told + 1) % ASH_JSD_TOLD;
    ash__mutex_unlock(&j->mutex);
}
