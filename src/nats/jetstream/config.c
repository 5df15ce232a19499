/* SPDX-License-Identifier: Apache-2.0 */
#include "nats/jetstream/config.h"

#include "base/mem.h"
#include "object/jetstream/format/config.h"
#include "object/jetstream/format/names.h"

#include <string.h>

/* ---- reading ---- */

static bool is_empty(const ash_json *value)
{
    if (value == NULL || value->type == ASH_JSON_NULL)
        return true;
    if (value->type == ASH_JSON_BOOL)
        return !value->truth;
    if (value->type == ASH_JSON_NUMBER)
        return strcmp(value->text, "0") == 0 || value->text[0] == '-';
    return value->type == ASH_JSON_TEXT ? value->text_len == 0 : value->first == NULL;
}

/* A client that asks what a server knows sends a field of the wrong type. */
static bool has_types(const ash_json *config)
{
    static const struct {
        const char *key;
        ash_json_type type;
    } fields[] = {{"name", ASH_JSON_TEXT},         {"description", ASH_JSON_TEXT},
                  {"subjects", ASH_JSON_ARRAY},    {"retention", ASH_JSON_TEXT},
                  {"max_bytes", ASH_JSON_NUMBER},  {"max_age", ASH_JSON_NUMBER},
                  {"max_msgs", ASH_JSON_NUMBER},   {"num_replicas", ASH_JSON_NUMBER},
                  {"storage", ASH_JSON_TEXT},      {"discard", ASH_JSON_TEXT},
                  {"compression", ASH_JSON_TEXT},  {"metadata", ASH_JSON_OBJECT},
                  {"placement", ASH_JSON_OBJECT},  {"sealed", ASH_JSON_BOOL},
                  {"allow_direct", ASH_JSON_BOOL}, {"allow_rollup_hdrs", ASH_JSON_BOOL},
                  {"allow_msg_ttl", ASH_JSON_BOOL}};
    for (size_t i = 0; i < ASH_ARRAY_LEN(fields); i++) {
        const ash_json *value = ash__json_get(config, fields[i].key);
        if (value != NULL && value->type != ASH_JSON_NULL && value->type != fields[i].type)
            return false;
    }
    return true;
}

/* What a stream may have and an object store has no room for. */
static const char *find_excess(const ash_json *config)
{
    static const char *const excess[] = {"mirror",
                                         "sources",
                                         "republish",
                                         "subject_transform",
                                         "max_msgs",
                                         "max_msgs_per_subject",
                                         "max_msg_size",
                                         "max_consumers",
                                         "no_ack",
                                         "first_seq",
                                         "discard_new_per_subject",
                                         "template_owner",
                                         "subject_delete_marker_ttl",
                                         "allow_msg_counter",
                                         "allow_atomic",
                                         "allow_batched",
                                         "allow_msg_schedules",
                                         "deny_delete",
                                         "deny_purge",
                                         "persist_mode"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(excess); i++)
        if (!is_empty(ash__json_get(config, excess[i])))
            return excess[i];
    return NULL;
}

static bool has_subjects(const ash_json *config, const char *store)
{
    const ash_json *subjects = ash__json_get(config, "subjects");
    char *chunks = ash__sprintf("$O.%s.C.>", store), *metas = ash__sprintf("$O.%s.M.>", store);
    int found = 0, count = 0;
    for (const ash_json *s = subjects != NULL ? subjects->first : NULL; s != NULL; s = s->next) {
        count++;
        if (s->type == ASH_JSON_TEXT && strcmp(s->text, chunks) == 0)
            found |= 1;
        if (s->type == ASH_JSON_TEXT && strcmp(s->text, metas) == 0)
            found |= 2;
    }
    ash__free(chunks);
    ash__free(metas);
    return found == 3 && count == 2;
}

static ash_jsd_error refuse(ash_error *err, const char *what)
{
    (void)ash__fail(err, ASH_EUNSUPPORTED, "object stores here have no %.200s", what);
    return ASH_JSD_STREAM_CONFIG;
}

static ash_jsd_error check(const ash_json *config, const char *store, ash_error *err)
{
    bool sealed = ash__json_truth(config, "sealed", false);
    const char *excess = sealed ? NULL : find_excess(config);
    if (strcmp(ash__json_text(config, "storage", "file"), "memory") == 0)
        return ASH_JSD_MEMORY_EXCEEDED;
    if (ash__json_int(config, "num_replicas", 1) > 1)
        return ASH_JSD_REPLICAS;
    if (!has_subjects(config, store))
        return refuse(err, "subjects but those of object stores");
    if (strcmp(ash__json_text(config, "retention", "limits"), "limits") != 0)
        return refuse(err, "retention but \"limits\"");
    if (excess != NULL)
        return refuse(err, excess);
    if (ash__json_int(config, "max_age", 0) < 0)
        return refuse(err, "negative max_age");
    return ASH_JSD_OK;
}

/* What no stream has stays as it is. */
static int merge(const ash_object_status *said, const ash_object_status *old,
                 ash_object_status **out, ash_error *err)
{
    ash_object_config c = ASH_OBJECT_CONFIG_INIT, before = ASH_OBJECT_CONFIG_INIT;
    (void)ash_object_status_config(said, &c, NULL);
    c.cluster = NULL; /* one server is any cluster */
    c.placement_tags = NULL;
    if (old != NULL) {
        (void)ash_object_status_config(old, &before, NULL);
        c.keep_last = before.keep_last;
        c.keep_within_ms = before.keep_within_ms;
        c.tombstone_ttl_ms = before.tombstone_ttl_ms;
        c.max_object_bytes = before.max_object_bytes;
        c.max_objects = before.max_objects;
        c.chunk_size = before.chunk_size;
        c.digest = before.digest;
    }
    return ash__object_status_new(&c, out, err);
}

ash_jsd_error ash__jsd_config_read(const ash_json *config, const char *store,
                                   const ash_object_status *old, ash_object_status **out,
                                   ash_error *err)
{
    ash_object_status *said = NULL;
    *out = NULL;
    const char *named = ash__store_of_stream(ash__json_text(config, "name", ""));
    if (!has_types(config))
        return ASH_JSD_INVALID_JSON;
    if (named == NULL || strcmp(named, store) != 0)
        return ASH_JSD_STREAM_MISMATCH;
    ash_jsd_error error = check(config, store, err);
    if (error != ASH_JSD_OK)
        return error;
    int rc = ash__js_config_status(config, &said, err);
    if (rc == 0)
        rc = merge(said, old, out, err);
    ash_object_status_free(said);
    return rc == 0 ? ASH_JSD_OK : ASH_JSD_STREAM_CONFIG;
}

/* ---- writing ---- */

static void put_limits(const ash_object_config *c, ash_buffer *out)
{
    ash__json_put_text_member(out, "retention", "limits");
    ash__json_put_int_member(out, "max_consumers", -1);
    ash__json_put_int_member(out, "max_msgs", -1);
    ash__json_put_int_member(out, "max_bytes", c->max_bytes > 0 ? c->max_bytes : -1);
    ash__json_put_int_member(out, "max_age", c->ttl_ms * ASH_JS_NS_PER_MS);
    ash__json_put_int_member(out, "max_msgs_per_subject", -1);
    ash__json_put_int_member(out, "max_msg_size", -1);
    ash__json_put_text_member(out, "discard", "new");
    ash__json_put_text_member(out, "storage", "file");
    ash__json_put_int_member(out, "num_replicas", 1);
    ash__json_put_int_member(out, "duplicate_window", 120000 * ASH_JS_NS_PER_MS);
    ash__json_put_text_member(out, "compression", c->compression ? "s2" : "none");
}

static void put_rights(bool sealed, ash_buffer *out)
{
    ash__json_put_truth_member(out, "sealed", sealed);
    ash__json_put_truth_member(out, "deny_delete", sealed);
    ash__json_put_truth_member(out, "deny_purge", sealed);
    ash__json_put_truth_member(out, "allow_rollup_hdrs", !sealed);
    ash__json_put_truth_member(out, "allow_direct", true);
    ash__json_put_truth_member(out, "mirror_direct", false);
    ash__json_put_truth_member(out, "allow_msg_ttl", true); /* objects may always end */
}

void ash__jsd_config_write(const ash_object_status *st, ash_buffer *out)
{
    ash_object_config c = ASH_OBJECT_CONFIG_INIT;
    (void)ash_object_status_config(st, &c, NULL);
    ash__json_put_key(out, "config");
    ash__buffer_append_byte(out, '{');
    ash__js_put_names(&c, out);
    put_limits(&c, out);
    put_rights(ash_object_status_is_sealed(st), out);
    ash__json_put_key(out, "consumer_limits");
    ash__buffer_append_text(out, "{}");
    ash__js_put_metadata(&c, out);
    ash__buffer_append_byte(out, '}');
    ash__jsd_put_time(out, "created", ash_object_status_created_ms(st));
}
