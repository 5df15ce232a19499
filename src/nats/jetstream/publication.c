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
    char value[64];
    uint64_t expires = 0;
    if (!ash__jsd_header(p->message, "Nats-TTL", value, sizeof value))
        return true;
    if (!read_ttl(value, &p->ttl_ms))
        return false;
    if (!ash__jsd_header(p->message, "Ashlar-Expires", value, sizeof value))
        return true;
    if (!read_number(value, &expires) || expires > INT64_MAX)
        return false;
    p->ttl_ms = (int64_t)expires - ash__clock_wall_ms();
    p->ttl_ms = p->ttl_ms > 0 ? p->ttl_ms : 1; /* over already */
    return true;
}

bool ash__jsd_publication_read(ash_jsd_publication *p)
{
    const ash_nats_message *m = p->message;
    char value[512];
    if (ash__jsd_header(m, "Nats-Expected-Stream", value, sizeof value) &&
        (strncmp(value, ASH_STREAM_PREFIX, strlen(ASH_STREAM_PREFIX)) != 0 ||
         strcmp(value + strlen(ASH_STREAM_PREFIX), p->store) != 0)) {
        ash__jsd_refuse(p, ASH_JSD_STREAM_NOT_MATCH, NULL);
        return false;
    }
    p->expects_sequence =
        ash__jsd_header(m, "Nats-Expected-Last-Subject-Sequence", value, sizeof value);
    if (p->expects_sequence && !read_number(value, &p->expected)) {
        ash__jsd_refuse(p, ASH_JSD_BAD_REQUEST, NULL);
        return false;
    }
    if (ash__jsd_header(m, "Nats-Expected-Last-Sequence", value, sizeof value)) {
        ash__jsd_refuse(p, ASH_JSD_BAD_REQUEST, "Nats-Expected-Last-Sequence is not served here");
        return false;
    }
    if (ash__jsd_header(m, "Nats-Rollup", value, sizeof value) && strcmp(value, "sub") != 0) {
        ash__jsd_refuse(p, ASH_JSD_BAD_REQUEST, "rollup of a whole stream is not served here");
        return false;
    }
    if (!read_expiry(p)) {
        ash__jsd_refuse(p, ASH_JSD_TTL_INVALID, NULL);
        return false;
    }
    if (!ash__jsd_header(m, "Nats-Msg-Id", p->id, sizeof p->id))
        p->id[0] = '\0';
    if (!ash__jsd_header(m, "Nats-Expected-Last-Msg-Id", p->expected_id, sizeof p->expected_id))
        p->expected_id[0] = '\0';
    return true;
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
