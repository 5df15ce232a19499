/* SPDX-License-Identifier: Apache-2.0 */
/* Configurations of stores: copied, compared, held against what a backend can do. */
#include "object/check.h"

#include "base/mem.h"

#include <string.h>

/* ---- copies ---- */

static int check_numbers(const ash_object_config *c, ash_error *err)
{
    if (c->ttl_ms < 0 || c->keep_within_ms < 0 || c->tombstone_ttl_ms < 0)
        return ash__fail(err, ASH_EINVAL, "a time of less than nothing");
    if (c->max_object_bytes < 0 || c->max_objects < 0)
        return ash__fail(err, ASH_EINVAL, "a limit below 0");
    if (c->replicas < 0 || c->replicas > 5)
        return ash__fail(err, ASH_EINVAL, "%d replicas: there are 1 to 5", c->replicas);
    if (c->storage != ASH_OBJECT_STORAGE_FILE && c->storage != ASH_OBJECT_STORAGE_MEMORY)
        return ash__fail(err, ASH_EINVAL, "there is no storage %d", (int)c->storage);
    int rc = ash__object_chunk_size_check(c->chunk_size, err);
    return rc != 0 ? rc : ash__object_digest_check(c->digest, err);
}

static int check_config(const ash_object_config *c, ash_error *err)
{
    int rc = ash__object_store_name_check(c->name, err);
    if (rc == 0 && c->description != NULL)
        rc = ash__object_text_check(c->description, "the description", err);
    if (rc == 0 && c->cluster != NULL)
        rc = ash__object_text_check(c->cluster, "the cluster", err);
    if (rc == 0)
        rc = ash__object_strings_check(c->metadata, "metadata", err);
    if (rc == 0)
        rc = ash__object_strings_check(c->placement_tags, "placement tags", err);
    if (rc == 0 && c->metadata != NULL && c->metadata->len > ASH_OBJECT_META_MAX)
        rc = ash__fail(err, ASH_ETOOBIG, "metadata of the store is over %d bytes",
                       ASH_OBJECT_META_MAX);
    return rc != 0 ? rc : check_numbers(c, err);
}

static const char *copy_text(const char *text, char **kept)
{
    *kept = text != NULL && text[0] != '\0' ? ash__strdup(text) : NULL;
    return *kept;
}

static bson_t *copy_map(const bson_t *map)
{
    return map != NULL && !bson_empty(map) ? bson_copy(map) : NULL;
}

int ash__object_config_copy(const ash_object_config *config, ash_object_config_copy *out,
                            ash_error *err)
{
    memset(out, 0, sizeof *out);
    int rc = check_config(config, err);
    if (rc != 0)
        return rc;
    ash_object_config *c = &out->config;
    *c = *config;
    c->size = sizeof *c;
    c->name = copy_text(config->name, &out->texts[0]);
    c->description = copy_text(config->description, &out->texts[1]);
    c->cluster = copy_text(config->cluster, &out->texts[2]);
    c->metadata = out->metadata = copy_map(config->metadata);
    c->placement_tags = out->placement_tags = copy_map(config->placement_tags);
    c->max_bytes = c->max_bytes > 0 ? c->max_bytes : 0;
    c->replicas = c->replicas > 0 ? c->replicas : 1;
    c->keep_last = c->keep_last >= 0 ? c->keep_last : -1;
    c->chunk_size = c->chunk_size > 0 ? c->chunk_size : ASH_OBJECT_CHUNK_SIZE_DEFAULT;
    c->digest = c->digest != 0 ? c->digest : ASH_DIGEST_SHA256;
    return 0;
}

void ash__object_config_release(ash_object_config_copy *c)
{
    for (size_t i = 0; i < ASH_ARRAY_LEN(c->texts); i++)
        ash__free(c->texts[i]);
    bson_destroy(c->metadata);
    bson_destroy(c->placement_tags);
    memset(c, 0, sizeof *c);
}

/* ---- comparing ---- */

static bool same_text(const char *a, const char *b)
{
    return strcmp(a != NULL ? a : "", b != NULL ? b : "") == 0;
}

/* Metadata has no order. */
static bool same_map(const bson_t *a, const bson_t *b)
{
    bson_iter_t it, other;
    uint32_t count_a = a != NULL ? bson_count_keys(a) : 0;
    uint32_t count_b = b != NULL ? bson_count_keys(b) : 0;
    if (count_a != count_b || count_a == 0 || !bson_iter_init(&it, a))
        return count_a == count_b;
    while (bson_iter_next(&it))
        if (!bson_iter_init_find(&other, b, bson_iter_key(&it)) ||
            strcmp(bson_iter_utf8(&it, NULL), bson_iter_utf8(&other, NULL)) != 0)
            return false;
    return true;
}

const char *ash__object_config_difference(const ash_object_config *a, const ash_object_config *b)
{
    const struct {
        const char *field;
        bool same;
    } rows[] = {
        {"name", same_text(a->name, b->name)},
        {"description", same_text(a->description, b->description)},
        {"metadata", same_map(a->metadata, b->metadata)},
        {"ttl_ms", a->ttl_ms == b->ttl_ms},
        {"max_bytes", a->max_bytes == b->max_bytes},
        {"storage", a->storage == b->storage},
        {"replicas", a->replicas == b->replicas},
        {"cluster", same_text(a->cluster, b->cluster)},
        {"placement_tags", same_map(a->placement_tags, b->placement_tags)},
        {"compression", a->compression == b->compression},
        {"keep_last", a->keep_last == b->keep_last},
        {"keep_within_ms", a->keep_within_ms == b->keep_within_ms},
        {"tombstone_ttl_ms", a->tombstone_ttl_ms == b->tombstone_ttl_ms},
        {"max_object_bytes", a->max_object_bytes == b->max_object_bytes},
        {"max_objects", a->max_objects == b->max_objects},
        {"chunk_size", a->chunk_size == b->chunk_size},
        {"digest", a->digest == b->digest},
    };
    for (size_t i = 0; i < ASH_ARRAY_LEN(rows); i++)
        if (!rows[i].same)
            return rows[i].field;
    return NULL;
}

enum { FIELDS = 13 };

typedef struct field_row {
    const char *field;
    bool wanted, can;
    bool placement; /* where data lies: the target's matter */
} field_row;

static void list_fields(const ash_object_config *c, const ash_object_capabilities *can,
                        field_row out[FIELDS])
{
    const field_row rows[FIELDS] = {
        {"metadata", c->metadata != NULL, can->metadata},
        {"compression", c->compression, can->compression},
        {"storage", c->storage != ASH_OBJECT_STORAGE_FILE, can->placement, true},
        {"replicas", c->replicas > 1, can->placement, true},
        {"cluster", c->cluster != NULL, can->placement, true},
        {"placement_tags", c->placement_tags != NULL, can->placement, true},
        {"keep_last", c->keep_last != 0, can->versions},
        {"keep_within_ms", c->keep_within_ms != 0, can->versions},
        {"tombstone_ttl_ms", c->tombstone_ttl_ms != 0, can->tombstone_ttl},
        {"max_object_bytes", c->max_object_bytes != 0, can->limits},
        {"max_objects", c->max_objects != 0, can->limits},
        {"digest", c->digest != 0 && c->digest != ASH_DIGEST_SHA256, can->digests},
        {"chunk_size", c->chunk_size != 0 && c->chunk_size != ASH_OBJECT_CHUNK_SIZE_DEFAULT,
         can->chunk_sizes},
    };
    memcpy(out, rows, sizeof rows);
}

int ash__object_config_allowed(const ash_object_config *c, const ash_object_capabilities *can,
                               ash_error *err)
{
    field_row rows[FIELDS];
    list_fields(c, can, rows);
    for (size_t i = 0; i < FIELDS; i++)
        if (rows[i].wanted && !rows[i].can)
            return ash__fail(err, ASH_EUNSUPPORTED, "%s: object stores here (%s) do not have it",
                             rows[i].field, can->backend);
    return 0;
}

void ash__object_append(bson_t *array, const char *text)
{
    char buf[12];
    const char *key;
    bson_uint32_to_string(bson_count_keys(array), &key, buf, sizeof buf);
    BSON_APPEND_UTF8(array, key, text);
}

void ash__object_config_reduce(ash_object_config *c, const ash_object_capabilities *can,
                               bson_t *lost)
{
    field_row rows[FIELDS];
    list_fields(c, can, rows);
    for (size_t i = 0; i < FIELDS; i++)
        if (rows[i].wanted && !rows[i].can && lost != NULL && !rows[i].placement)
            ash__object_append(lost, rows[i].field);
    if (!can->placement) {
        c->storage = ASH_OBJECT_STORAGE_FILE;
        c->replicas = 0;
        c->cluster = NULL;
        c->placement_tags = NULL;
    }
    c->metadata = can->metadata ? c->metadata : NULL;
    c->compression = c->compression && can->compression;
    c->keep_last = can->versions ? c->keep_last : 0;
    c->keep_within_ms = can->versions ? c->keep_within_ms : 0;
    c->tombstone_ttl_ms = can->tombstone_ttl ? c->tombstone_ttl_ms : 0;
    c->max_object_bytes = can->limits ? c->max_object_bytes : 0;
    c->max_objects = can->limits ? c->max_objects : 0;
    c->digest = can->digests ? c->digest : 0;
    c->chunk_size = can->chunk_sizes ? c->chunk_size : 0;
}
