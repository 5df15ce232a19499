/* SPDX-License-Identifier: Apache-2.0 */
#include "object/jetstream/format/config.h"

#include "base/mem.h"
#include "object/document.h"
#include "object/jetstream/format/names.h"

#include <string.h>

/* What servers add to a stream's metadata by themselves. */
#define SERVER_KEY "_nats."

/* ---- writing ---- */

static bool is_ours(const char *key)
{
    static const char *const ours[] = {
        "name",      "description",  "subjects", "max_age",           "max_bytes",
        "storage",   "num_replicas", "discard",  "allow_rollup_hdrs", "allow_direct",
        "placement", "compression",  "metadata"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(ours); i++) {
        if (strcmp(ours[i], key) == 0)
            return true;
    }
    return false;
}

void ash__js_put_names(const ash_object_config *c, ash_buffer *out)
{
    ash__json_put_key(out, "name");
    ash__buffer_printf(out, "\"" ASH_STREAM_PREFIX "%s\"", c->name);
    if (c->description != NULL && *c->description != '\0')
        ash__json_put_text_member(out, "description", c->description);
    ash__json_put_key(out, "subjects");
    ash__buffer_printf(out, "[\"$O.%s.C.>\",\"$O.%s.M.>\"]", c->name, c->name);
}

static void put_placement(const ash_object_config *c, ash_buffer *out)
{
    bson_iter_t it;
    const char *comma = "";
    if (c->cluster == NULL && c->placement_tags == NULL)
        return;
    ash__json_put_key(out, "placement");
    ash__buffer_append_byte(out, '{');
    if (c->cluster != NULL)
        ash__json_put_text_member(out, "cluster", c->cluster);
    if (c->placement_tags != NULL && bson_iter_init(&it, c->placement_tags)) {
        ash__json_put_key(out, "tags");
        ash__buffer_append_byte(out, '[');
        for (; bson_iter_next(&it); comma = ",") {
            uint32_t len = 0;
            const char *tag = bson_iter_utf8(&it, &len);
            ash__buffer_append_text(out, comma);
            ash__json_put_text(out, tag, len);
        }
        ash__buffer_append_byte(out, ']');
    }
    ash__buffer_append_byte(out, '}');
}

void ash__js_put_metadata(const ash_object_config *c, ash_buffer *out)
{
    bson_iter_t it;
    if (c->metadata == NULL || bson_empty(c->metadata) || !bson_iter_init(&it, c->metadata))
        return;
    ash__json_put_key(out, "metadata");
    ash__buffer_append_byte(out, '{');
    while (bson_iter_next(&it)) {
        uint32_t len = 0;
        const char *text = bson_iter_utf8(&it, &len);
        ash__json_put_key(out, bson_iter_key(&it));
        ash__json_put_text(out, text, len);
    }
    ash__buffer_append_byte(out, '}');
}

void ash__js_write_config(const ash_object_config *c, const ash_json *base, ash_buffer *out)
{
    ash__buffer_append_byte(out, '{');
    ash__js_put_names(c, out);
    ash__json_put_int_member(out, "max_age", c->ttl_ms * ASH_JS_NS_PER_MS);
    ash__json_put_int_member(out, "max_bytes", c->max_bytes > 0 ? c->max_bytes : -1);
    ash__json_put_text_member(out, "storage",
                              c->storage == ASH_OBJECT_STORAGE_MEMORY ? "memory" : "file");
    ash__json_put_int_member(out, "num_replicas", c->replicas > 0 ? c->replicas : 1);
    ash__json_put_text_member(out, "discard", "new");
    ash__json_put_truth_member(out, "allow_rollup_hdrs", true);
    ash__json_put_truth_member(out, "allow_direct", true);
    put_placement(c, out);
    if (c->compression)
        ash__json_put_text_member(out, "compression", "s2");
    ash__js_put_metadata(c, out);
    for (const ash_json *field = base != NULL ? base->first : NULL; field != NULL;
         field = field->next) {
        if (is_ours(field->key))
            continue;
        ash__json_put_key(out, field->key);
        ash__json_put(out, field);
    }
    ash__buffer_append_byte(out, '}');
}

void ash__js_write_flag(const ash_json *base, const char *flag, ash_buffer *out)
{
    ash__buffer_append_byte(out, '{');
    for (const ash_json *field = base->first; field != NULL; field = field->next) {
        if (strcmp(field->key, flag) == 0)
            continue;
        ash__json_put_key(out, field->key);
        ash__json_put(out, field);
    }
    ash__json_put_truth_member(out, flag, true);
    ash__buffer_append_byte(out, '}');
}

int64_t ash__js_time(const char *text)
{
    int64_t ms = 0;
    return ash__object_time(text, &ms) ? ms : 0;
}

/* ---- what came back ---- */

static bool metadata_kept(const ash_object_config *c, const ash_json *echo)
{
    const ash_json *kept = ash__json_get(echo, "metadata");
    bson_iter_t it;
    if (c->metadata == NULL || !bson_iter_init(&it, c->metadata))
        return true;
    while (bson_iter_next(&it)) {
        const char *value = ash__json_text(kept, bson_iter_key(&it), NULL);
        if (value == NULL || strcmp(value, bson_iter_utf8(&it, NULL)) != 0)
            return false;
    }
    return true;
}

static bool text_is(const ash_json *object, const char *key, const char *expected)
{
    return strcmp(ash__json_text(object, key, ""), expected != NULL ? expected : "") == 0;
}

const char *ash__js_config_dropped(const ash_object_config *c, const ash_json *echo)
{
    if (!text_is(echo, "description", c->description))
        return "description";
    if (ash__json_int(echo, "max_age", 0) != c->ttl_ms * ASH_JS_NS_PER_MS)
        return "ttl_ms";
    if (ash__json_int(echo, "max_bytes", -1) != (c->max_bytes > 0 ? c->max_bytes : -1))
        return "max_bytes";
    if (!text_is(echo, "storage", c->storage == ASH_OBJECT_STORAGE_MEMORY ? "memory" : "file"))
        return "storage";
    if (ash__json_int(echo, "num_replicas", 1) != (c->replicas > 0 ? c->replicas : 1))
        return "replicas";
    if (c->compression && !text_is(echo, "compression", "s2"))
        return "compression";
    if (!metadata_kept(c, echo))
        return "metadata";
    if (c->cluster != NULL && !text_is(ash__json_get(echo, "placement"), "cluster", c->cluster))
        return "cluster";
    if (!ash__json_truth(echo, "allow_rollup_hdrs", false))
        return "allow_rollup_hdrs";
    return NULL;
}

/* ---- reading ---- */

bool ash__js_is_object_store(const ash_json *config)
{
    const char *store = ash__store_of_stream(ash__json_text(config, "name", ""));
    const ash_json *subjects = ash__json_get(config, "subjects");
    if (store == NULL)
        return false;
    char *wanted = ash__sprintf("$O.%s.C.>", store);
    bool found = false;
    for (const ash_json *s = subjects != NULL ? subjects->first : NULL; s != NULL; s = s->next)
        found = found || (s->type == ASH_JSON_TEXT && strcmp(s->text, wanted) == 0);
    /* A mirror has no subjects of its own. */
    found = found || ash__json_get(config, "mirror") != NULL;
    ash__free(wanted);
    return found;
}

static bson_t *read_metadata(const ash_json *config)
{
    const ash_json *map = ash__json_get(config, "metadata");
    bson_t *out = bson_new();
    for (const ash_json *m = map != NULL ? map->first : NULL; m != NULL; m = m->next) {
        if (m->type == ASH_JSON_TEXT && strncmp(m->key, SERVER_KEY, strlen(SERVER_KEY)) != 0)
            BSON_APPEND_UTF8(out, m->key, m->text);
    }
    return out;
}

static bson_t *read_tags(const ash_json *placement)
{
    const ash_json *tags = ash__json_get(placement, "tags");
    bson_t *out = bson_new();
    char number[16];
    uint32_t index = 0;
    for (const ash_json *tag = tags != NULL ? tags->first : NULL; tag != NULL; tag = tag->next) {
        const char *key = NULL;
        if (tag->type != ASH_JSON_TEXT)
            continue;
        bson_uint32_to_string(index++, &key, number, sizeof number);
        BSON_APPEND_UTF8(out, key, tag->text);
    }
    return out;
}

int ash__js_config_status(const ash_json *config, ash_object_status **out, ash_error *err)
{
    const ash_json *placement = ash__json_get(config, "placement");
    bson_t *metadata = read_metadata(config), *tags = read_tags(placement);
    ash_object_config c = ASH_OBJECT_CONFIG_INIT;
    int64_t max_bytes = ash__json_int(config, "max_bytes", -1);

    c.name = ash__store_of_stream(ash__json_text(config, "name", ASH_STREAM_PREFIX));
    c.description = ash__json_text(config, "description", NULL);
    c.metadata = bson_empty(metadata) ? NULL : metadata;
    c.ttl_ms = ash__json_int(config, "max_age", 0) / ASH_JS_NS_PER_MS;
    c.max_bytes = max_bytes > 0 ? max_bytes : 0;
    c.storage =
        text_is(config, "storage", "memory") ? ASH_OBJECT_STORAGE_MEMORY : ASH_OBJECT_STORAGE_FILE;
    c.replicas = (int32_t)ash__json_int(config, "num_replicas", 1);
    c.cluster = ash__json_text(placement, "cluster", NULL);
    c.placement_tags = bson_empty(tags) ? NULL : tags;
    c.compression = text_is(config, "compression", "s2");
    int rc = ash__object_status_new(&c, out, err);
    bson_destroy(metadata);
    bson_destroy(tags);
    return rc;
}

int ash__js_read_status(const ash_json *info, ash_object_status **out, ash_error *err)
{
    const ash_json *config = ash__json_get(info, "config"), *state = ash__json_get(info, "state");
    if (!ash__js_is_object_store(config))
        return ash__fail(err, ASH_EINVAL, "stream %s is no object store",
                         ash__json_text(config, "name", "?"));
    int rc = ash__js_config_status(config, out, err);
    if (rc != 0)
        return rc;
    (*out)->sealed = ash__json_truth(config, "sealed", false);
    (*out)->compressed = text_is(config, "compression", "s2");
    (*out)->bytes = ash__json_int(state, "bytes", 0);
    (*out)->objects = -1;
    (*out)->created_ms = ash__js_time(ash__json_text(info, "created", ""));
    (*out)->revision = ash__json_unsigned(state, "last_seq", 0);
    (*out)->backing = "JetStream";
    return 0;
}
