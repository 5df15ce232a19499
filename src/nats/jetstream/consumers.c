/* SPDX-License-Identifier: Apache-2.0 */
/* Making, showing and ending consumers. */
#include "nats/jetstream/consumer.h"
#include "nats/jetstream/watch.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "nats/subject.h"
#include "object/jetstream/format/config.h"
#include "object/jetstream/format/names.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_BYTES = 255, PAGE = 1024 };

/* ---- having them ---- */

ash_jsd_consumer *ash__jsd_consumer_find(ash_jsd_client *c, const char *stream, const char *name)
{
    ash_jsd_consumer *k = c->consumers;
    while (k != NULL && (strcmp(k->name, name) != 0 || strcmp(k->stream, stream) != 0))
        k = k->next;
    return k;
}

int ash__jsd_consumer_count(const ash_jsd_client *c, const char *store)
{
    int count = 0;
    for (const ash_jsd_consumer *k = c->consumers; k != NULL; k = k->next) {
        const char *of = ash__store_of_stream(k->stream);
        count += of != NULL && strcmp(of, store) == 0 ? 1 : 0;
    }
    return count;
}

bool ash__jsd_consumers_have_room(const ash_jsd_client *c, size_t bytes)
{
    for (const ash_jsd_consumer *k = c->consumers; k != NULL; k = k->next)
        bytes += k->bytes;
    return bytes <= ASH_JSD_TEXT_BYTES;
}

static void free_pull(ash_jsd_pull *p)
{
    ash__free(p->reply);
    ash__free(p);
}

void ash__jsd_consumer_free(ash_jsd_consumer *k)
{
    if (k == NULL)
        return;
    while (k->pulls != NULL) {
        ash_jsd_pull *next = k->pulls->next;
        free_pull(k->pulls);
        k->pulls = next;
    }
    ash__jsd_source_free(k->source);
    ash__free(k->name);
    ash__free(k->stream);
    ash__free(k->deliver);
    ash__free(k->config);
    ash__free(k);
}

void ash__jsd_consumer_end(ash_jsd_client *c, ash_jsd_consumer *k, const char *status)
{
    for (ash_jsd_consumer **at = &c->consumers; *at != NULL; at = &(*at)->next) {
        if (*at == k) {
            *at = k->next;
            c->consumer_count--;
            break;
        }
    }
    if (status != NULL && k->deliver != NULL)
        ash__jsd_status(c, k->deliver, NULL, status, "");
    for (ash_jsd_pull *p = k->pulls; status != NULL && p != NULL; p = p->next)
        ash__jsd_status(c, p->reply, NULL, status, "");
    ash__jsd_consumer_free(k);
}

void ash__jsd_consumers_end(ash_jsd_client *c, const char *stream)
{
    for (ash_jsd_consumer *k = c->consumers, *next = NULL; k != NULL; k = next) {
        next = k->next;
        if (stream == NULL || strcmp(k->stream, stream) == 0)
            ash__jsd_consumer_end(c, k, stream != NULL ? "409 Consumer Deleted" : NULL);
    }
}

/* ---- what a client asks for ---- */

/* The one filter; NULL: none, or several. */
static const char *filter_of(const ash_json *config)
{
    const ash_json *several = ash__json_get(config, "filter_subjects");
    const char *one = ash__json_text(config, "filter_subject", NULL);
    if (one != NULL && one[0] != '\0')
        return one;
    if (several == NULL || several->first == NULL || several->first->next != NULL ||
        several->first->type != ASH_JSON_TEXT)
        return NULL;
    return several->first->text;
}

static bool read_start(const ash_json *config, ash_jsd_source_request *out)
{
    const char *policy = ash__json_text(config, "deliver_policy", "all");
    if (strcmp(policy, "all") == 0 || strcmp(policy, "last_per_subject") == 0)
        out->policy = ASH_JSD_ALL; /* a subject of objects has one message */
    else if (strcmp(policy, "last") == 0)
        out->policy = ASH_JSD_LAST;
    else if (strcmp(policy, "new") == 0)
        out->policy = ASH_JSD_NEW;
    else if (strcmp(policy, "by_start_sequence") == 0)
        out->policy = ASH_JSD_FROM_SEQUENCE;
    else if (strcmp(policy, "by_start_time") == 0)
        out->policy = ASH_JSD_FROM_TIME;
    else
        return false;
    if (out->policy == ASH_JSD_ALL && strcmp(policy, "all") != 0 &&
        strncmp(out->filter, "$O.", 3) == 0 && strstr(out->filter, ".C.") != NULL)
        out->policy = ASH_JSD_LAST; /* but one of chunks has many */
    out->sequence = ash__json_unsigned(config, "opt_start_seq", 0);
    out->time_ms = ash__js_time(ash__json_text(config, "opt_start_time", ""));
    return true;
}

/* It goes into lines of the protocol, where a blank or the end of a line would begin something else. */
static bool is_deliver_subject(const ash_json *config)
{
    const ash_json *deliver = ash__json_get(config, "deliver_subject");
    if (deliver == NULL || deliver->type != ASH_JSON_TEXT || deliver->text_len == 0)
        return true;
    return strlen(deliver->text) == deliver->text_len && ash__nats_subject_valid(deliver->text);
}

static ash_jsd_error check_delivery(const ash_json *config)
{
    const char *deliver = ash__json_text(config, "deliver_subject", "");
    int64_t heartbeat = ash__json_int(config, "idle_heartbeat", 0) / ASH_JS_NS_PER_MS;
    bool flow = ash__json_truth(config, "flow_control", false);
    if (!is_deliver_subject(config))
        return ASH_JSD_DELIVER_SUBJECT;
    if (ash__nats_has_wildcards(deliver))
        return ASH_JSD_DELIVER_WILDCARDS;
    if (deliver[0] == '\0' && heartbeat > 0)
        return ASH_JSD_HEARTBEAT_OF_PULL;
    if (deliver[0] == '\0' && flow)
        return ASH_JSD_FLOW_OF_PULL;
    if (flow && heartbeat == 0)
        return ASH_JSD_FLOW_WITHOUT_HEARTBEAT;
    return heartbeat != 0 && heartbeat < 100 ? ASH_JSD_SMALL_HEARTBEAT : ASH_JSD_OK;
}

/* As "name", "name.filter", or in the configuration; "" where the server is to choose. */
static char *name_of(const ash_jsd_request *r, const ash_json *config)
{
    size_t len = strcspn(r->rest, ".");
    const char *name = ash__json_text(config, "name", "");
    if (len > 0)
        return ash__strndup(r->rest, len);
    return ash__strdup(name[0] != '\0' ? name : ash__json_text(config, "durable_name", ""));
}

static bool is_name(const char *name)
{
    return strlen(name) <= NAME_MAX_BYTES && strpbrk(name, ".*> \t\r\n\\/") == NULL;
}

/* ---- making ---- */

/* The client's own configuration, with what it left to the server. */
static char *show_config(const ash_json *config, const char *name)
{
    static const struct {
        const char *key, *value;
    } defaults[] = {{"deliver_policy", "\"all\""},
                    {"ack_policy", "\"none\""},
                    {"replay_policy", "\"instant\""},
                    {"max_deliver", "-1"},
                    {"num_replicas", "0"}};
    ash_buffer out = ASH_BUFFER_INIT;
    ash__buffer_append_byte(&out, '{');
    ash__json_put_text_member(&out, "name", name);
    for (const ash_json *m = config->first; m != NULL; m = m->next) {
        if (strcmp(m->key, "name") == 0)
            continue;
        ash__json_put_key(&out, m->key);
        ash__json_put(&out, m);
    }
    for (size_t i = 0; i < ASH_ARRAY_LEN(defaults); i++) {
        if (ash__json_get(config, defaults[i].key) != NULL)
            continue;
        ash__json_put_key(&out, defaults[i].key);
        ash__buffer_append_text(&out, defaults[i].value);
    }
    ash__buffer_append_byte(&out, '}');
    char *text = ash__strdup(ash__buffer_text(&out));
    ash__buffer_release(&out);
    return text;
}

static void describe(ash_jsd_consumer *k, const ash_jsd_request *r, const ash_json *config)
{
    const char *deliver = ash__json_text(config, "deliver_subject", "");
    int64_t inactive = ash__json_int(config, "inactive_threshold", 0) / ASH_JS_NS_PER_MS;
    k->stream = ash__strdup(r->stream);
    k->deliver = deliver[0] != '\0' ? ash__strdup(deliver) : NULL;
    k->config = show_config(config, k->name);
    k->bytes = strlen(k->config) + strlen(k->name) + strlen(k->stream) + strlen(deliver);
    k->heads = ash__json_truth(config, "headers_only", false);
    k->flow = ash__json_truth(config, "flow_control", false);
    k->heartbeat_ms = ash__json_int(config, "idle_heartbeat", 0) / ASH_JS_NS_PER_MS;
    k->inactive_ms = inactive > 0 ? inactive : ASH_JSD_INACTIVE_MS;
    k->window = ASH_JSD_WINDOW_FIRST;
    k->created_ms = ash__clock_wall_ms();
    k->active_ms = k->heard_ms = ash__clock_ms();
}

/* The source has the store that the request was bound to. */
static int open_source(ash_jsd_request *r, const ash_jsd_source_request *source,
                       ash_jsd_consumer *k, ash_error *err)
{
    ash_object_store *s = r->bound;
    r->bound = NULL;
    return ash__jsd_source_open(r->client, s, source, &k->source, err);
}

static void put_consumer(const ash_jsd_client *c, ash_jsd_consumer *k, ash_buffer *out)
{
    ash__json_put_text_member(out, "stream_name", k->stream);
    ash__json_put_text_member(out, "name", k->name);
    ash__jsd_put_time(out, "created", k->created_ms);
    ash__json_put_key(out, "config");
    ash__buffer_append_text(out, k->config);
    for (int i = 0; i < 2; i++) {
        ash__json_put_key(out, i == 0 ? "delivered" : "ack_floor");
        ash__buffer_printf(out, "{\"consumer_seq\":%" PRIu64 ",\"stream_seq\":%" PRIu64 "}",
                           k->delivered, k->sequence);
    }
    ash__json_put_int_member(out, "num_ack_pending", 0);
    ash__json_put_int_member(out, "num_redelivered", 0);
    ash__json_put_int_member(out, "num_waiting", k->pull_count);
    ash__json_put_int_member(out, "num_pending", (int64_t)ash__jsd_source_pending(k->source));
    if (k->deliver != NULL)
        ash__json_put_truth_member(out, "push_bound",
                                   ash__nats_has_interest(c->client, k->deliver));
    ash__jsd_put_time(out, "ts", ash__clock_wall_ms());
}

static ash_jsd_error check_request(const ash_jsd_request *r, const ash_json *config,
                                   ash_jsd_source_request *source)
{
    const char *behind = strchr(r->rest, '.');
    if (config == NULL || config->type != ASH_JSON_OBJECT)
        return ASH_JSD_CONSUMER_CONFIG_REQUIRED;
    if (strcmp(ash__json_text(r->body, "stream_name", r->stream), r->stream) != 0)
        return ASH_JSD_STREAM_MISMATCH;
    source->filter = filter_of(config);
    source->heads = ash__json_truth(config, "headers_only", false);
    if (behind != NULL && (source->filter == NULL || strcmp(behind + 1, source->filter) != 0))
        return ASH_JSD_FILTER_MISMATCH;
    if (source->filter == NULL)
        return ASH_JSD_FILTER;
    if (!read_start(config, source))
        return ASH_JSD_BAD_REQUEST;
    return check_delivery(config);
}

/* A consumer of that name makes way: what its client forgot of it, it makes again.  It goes before
 * the new one's watch begins, which may need its place. */
static void make_way(ash_jsd_client *c, const ash_jsd_consumer *k)
{
    ash_jsd_consumer *old = ash__jsd_consumer_find(c, k->stream, k->name);
    if (old != NULL)
        ash__jsd_consumer_end(c, old, NULL);
}

static ash_jsd_error enter(ash_jsd_client *c, ash_jsd_consumer *k)
{
    if (c->consumer_count >= ASH_JSD_CONSUMERS || !ash__jsd_consumers_have_room(c, k->bytes))
        return ASH_JSD_TOO_MANY_CONSUMERS;
    k->next = c->consumers;
    c->consumers = k;
    c->consumer_count++;
    return ASH_JSD_OK;
}

static ash_jsd_error error_of_source(const ash_jsd_client *c, int rc)
{
    if (rc == ASH_EINVAL)
        return ASH_JSD_FILTER;
    if (rc == ASH_ENOMEM && ash__jsd_watch_share_is_used(c))
        return ASH_JSD_TOO_MANY_CONSUMERS;
    return ash__jsd_error_of(rc, ASH_JSD_CONSUMER_CREATE);
}

void ash__jsd_consumer_create(ash_jsd_request *r)
{
    const ash_json *config = ash__json_get(r->body, "config");
    ash_jsd_source_request source = {0};
    ash_error err = ASH_ERROR_INIT;
    int rc = 0;
    ash_jsd_error error = check_request(r, config, &source);
    if (error != ASH_JSD_OK) {
        ash__jsd_fail(r, error, NULL);
        return;
    }
    ash_jsd_consumer *k = ash__new(ash_jsd_consumer);
    k->name = name_of(r, config);
    if (k->name[0] == '\0') {
        ash__free(k->name);
        k->name = ash__alloc(ASH_NUID_TEXT_BYTES);
        ash__nuid(k->name);
    }
    describe(k, r, config);
    error = is_name(k->name) && k->bytes < ASH_JSD_MESSAGE_BYTES ? ASH_JSD_OK : ASH_JSD_BAD_REQUEST;
    if (error == ASH_JSD_OK) {
        make_way(r->client, k);
        rc = open_source(r, &source, k, &err);
    }
    if (rc != 0)
        error = error_of_source(r->client, rc);
    if (error == ASH_JSD_OK)
        error = enter(r->client, k);
    if (error == ASH_JSD_OK) {
        put_consumer(r->client, k, &r->answer);
        return;
    }
    ash__jsd_fail(r, error, error == ASH_JSD_CONSUMER_CREATE ? err.text : NULL);
    ash__jsd_consumer_free(k);
}

/* ---- and the rest ---- */

static ash_jsd_consumer *find_asked(ash_jsd_request *r)
{
    ash_jsd_consumer *k = ash__jsd_consumer_find(r->client, r->stream, r->rest);
    if (k == NULL)
        ash__jsd_fail(r, ASH_JSD_CONSUMER_NOT_FOUND, NULL);
    return k;
}

void ash__jsd_consumer_info(ash_jsd_request *r)
{
    ash_jsd_consumer *k = find_asked(r);
    if (k != NULL)
        put_consumer(r->client, k, &r->answer);
}

void ash__jsd_consumer_delete(ash_jsd_request *r)
{
    ash_jsd_consumer *k = find_asked(r);
    if (k == NULL)
        return;
    ash__jsd_consumer_end(r->client, k, NULL);
    ash__json_put_truth_member(&r->answer, "success", true);
}

static void list(ash_jsd_request *r, bool names)
{
    ash_buffer *out = &r->answer;
    int64_t offset = ash__json_int(r->body, "offset", 0), total = 0;
    ash__json_put_key(out, "consumers");
    ash__buffer_append_byte(out, '[');
    for (ash_jsd_consumer *k = r->client->consumers; k != NULL; k = k->next) {
        if (strcmp(k->stream, r->stream) != 0 || total++ < offset ||
            out->len > ASH_JSD_MESSAGE_BYTES)
            continue;
        if (out->data[out->len - 1] != '[')
            ash__buffer_append_byte(out, ',');
        if (names) {
            ash__json_put_text(out, k->name, strlen(k->name));
        } else {
            ash__buffer_append_byte(out, '{');
            put_consumer(r->client, k, out);
            ash__buffer_append_byte(out, '}');
        }
    }
    ash__buffer_append_byte(out, ']');
    ash__json_put_int_member(out, "total", total);
    ash__json_put_int_member(out, "offset", offset > 0 ? offset : 0);
    ash__json_put_int_member(out, "limit", PAGE);
}

void ash__jsd_consumer_names(ash_jsd_request *r)
{
    list(r, true);
}

void ash__jsd_consumer_list(ash_jsd_request *r)
{
    list(r, false);
}

/* ---- pulling ---- */

static void read_pull(const ash_nats_message *m, const ash_json *body, ash_jsd_pull *out)
{
    int64_t now = ash__clock_ms(), expires = ash__json_int(body, "expires", 0) / ASH_JS_NS_PER_MS;
    out->batch = ash__json_int(body, "batch", 1);
    out->bytes = ash__json_int(body, "max_bytes", 0);
    out->bytes = out->bytes > 0 ? out->bytes : -1;
    out->no_wait = ash__json_truth(body, "no_wait", false);
    out->heartbeat_ms = ash__json_int(body, "idle_heartbeat", 0) / ASH_JS_NS_PER_MS;
    out->heard_ms = now;
    out->expires_ms = expires > 0 ? now + expires : 0;
    out->reply = ash__strdup(m->reply);
    /* Waiting may go on for the time that is named beside it. */
    if (out->no_wait && expires > 0)
        out->no_wait = false;
}

/* The body: nothing, a number, or an object. */
static bool read_body(const ash_nats_message *m, ash_json **out)
{
    *out = NULL;
    if (m->len == 0)
        return true;
    return m->len <= 4096 && ash__json_parse((const char *)m->data, m->len, out, NULL) == 0;
}

void ash__jsd_consumer_next(ash_jsd_request *r)
{
    const ash_nats_message *m = r->message;
    ash_jsd_consumer *k = ash__jsd_consumer_find(r->client, r->stream, r->rest);
    ash_json *body = NULL;
    if (m->reply == NULL)
        return;
    bool good = read_body(m, &body);
    const char *status = NULL;
    if (k == NULL)
        status = "503";
    else if (k->deliver != NULL)
        status = "409 Consumer is push based";
    else if (!good)
        status = "400 Bad Request";
    else if (k->pull_count >= ASH_JSD_REQUESTS ||
             !ash__jsd_consumers_have_room(r->client, strlen(m->reply)))
        status = "409 Exceeded MaxWaiting";
    if (status != NULL) {
        ash__jsd_status(r->client, m->reply, NULL, status, "");
        ash__json_free(body);
        return;
    }
    ash_jsd_pull *p = ash__new(ash_jsd_pull), **at = &k->pulls;
    read_pull(m, body, p);
    if (body != NULL && body->type == ASH_JSON_NUMBER)
        p->batch = strtoll(body->text, NULL, 10);
    while (*at != NULL)
        at = &(*at)->next;
    *at = p;
    k->pull_count++;
    k->bytes += strlen(p->reply);
    k->active_ms = ash__clock_ms();
    ash__json_free(body);
}
