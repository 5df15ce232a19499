/* SPDX-License-Identifier: Apache-2.0 */
/* add, edit: how a store is to be. */
#include "cmd/object/room.h"

#include "base/error.h"

#include <string.h>

enum {
    TTL = ASH_CMD_OBJECT_FIRST_OPTION,
    REPLICAS,
    MAX_BUCKET_SIZE,
    DESCRIPTION,
    TAGS,
    CLUSTER,
    METADATA,
    COMPRESS,
    KEEP,
    KEEP_WITHIN,
    TOMBSTONES,
    MAX_OBJECT_SIZE,
    MAX_OBJECTS,
    CHUNK_SIZE,
    DIGEST,
    /* Of one of the two each: */
    STORAGE,
    NO_COMPRESS = STORAGE
};
#define CONFIG_OPTIONS                                                                             \
    ASH_CMD_OBJECT_OPTIONS,                                                                        \
        [TTL] = {0, "ttl", "TIME", "how long objects live, as in 12h or 30d"},                     \
        [REPLICAS] = {0, "replicas", "N", "of the data (JetStream)"},                              \
        [MAX_BUCKET_SIZE] = {0, "max-bucket-size", "BYTES",                                        \
                             "of all that the store holds, as in 10G"},                            \
        [DESCRIPTION] = {0, "description", "TEXT", "what it is for"},                              \
        [TAGS] = {0, "tags", "TAG",                                                                \
                  "of servers to place it on (JetStream); may be given repeatedly"},               \
        [CLUSTER] = {0, "cluster", "NAME", "to place it on (JetStream)"},                          \
        [METADATA] = {0, "metadata", "KEY=VALUE", "of the store; may be given repeatedly"},        \
        [COMPRESS] = {0, "compress", NULL, "what is stored"},                                      \
        [KEEP] = {0, "keep", "N", "how many earlier versions of each object are kept, or all"},    \
        [KEEP_WITHIN] = {0, "keep-within", "TIME",                                                 \
                         "earlier versions that were current within that time are kept, too"},     \
        [TOMBSTONES] = {0, "tombstones", "TIME", "forget deleted objects after it"},               \
        [MAX_OBJECT_SIZE] = {0, "max-object-size", "BYTES", "of each object"},                     \
        [MAX_OBJECTS] = {0, "max-objects", "N", "in the store"},                                   \
        [CHUNK_SIZE] = {0, "chunk-size", "BYTES", "of objects that say nothing (default: 128k)"},  \
        [DIGEST] = {0, "digest", "KIND", "likewise (default: sha256)",                             \
                    .choices = "sha256 sha1 md5"}

static int read_sizes(const ash_cmd_object_run *r, ash_object_config *c)
{
    int64_t n = 0, chunk = 0;
    int status = ash__cmd_object_time(r, TTL, &c->ttl_ms);
    if (status == 0)
        status = ash__cmd_object_bytes(r, MAX_BUCKET_SIZE, &c->max_bytes);
    if (status == 0)
        status = ash__cmd_object_bytes(r, MAX_OBJECT_SIZE, &c->max_object_bytes);
    if (status == 0)
        status = ash__cmd_object_bytes(r, CHUNK_SIZE, &chunk);
    if (status == 0)
        status = ash__cmd_object_number(r, MAX_OBJECTS, 0, INT64_MAX, &c->max_objects);
    if (status == 0)
        status = ash__cmd_object_number(r, REPLICAS, 1, 5, &n);
    if (status == 0)
        status = ash__cmd_object_time(r, KEEP_WITHIN, &c->keep_within_ms);
    if (status == 0)
        status = ash__cmd_object_time(r, TOMBSTONES, &c->tombstone_ttl_ms);
    c->replicas = (int32_t)n;
    c->chunk_size = chunk < INT32_MAX ? (int32_t)chunk : INT32_MAX;
    return status;
}

static int read_kinds(const ash_cmd_object_run *r, ash_object_config *c)
{
    const char *keep = ash__cmd_object_value(r, KEEP);
    const char *digest = ash__cmd_object_value(r, DIGEST);
    int64_t n = 0;
    if (digest != NULL)
        c->digest = strcmp(digest, "sha256") == 0 ? ASH_DIGEST_SHA256
                    : strcmp(digest, "sha1") == 0 ? ASH_DIGEST_SHA1
                    : strcmp(digest, "md5") == 0  ? ASH_DIGEST_MD5
                                                  : 0;
    if (digest != NULL && c->digest == 0)
        return ash__cmd_usage(r->cmd, "--digest takes sha256, sha1 or md5, not \"%s\"", digest);
    if (keep != NULL && strcmp(keep, "all") == 0) {
        c->keep_last = -1;
        return 0;
    }
    int status = ash__cmd_object_number(r, KEEP, 0, INT32_MAX, &n);
    c->keep_last = (int32_t)n;
    return status;
}

/* "" takes away what is there. */
static int read_lists(const ash_cmd_object_run *r, bson_t *metadata, bson_t *tags)
{
    for (int i = 0; i < r->args->given_count; i++) {
        int option = r->args->given[i].option;
        const char *value = r->args->given[i].value;
        if ((option != METADATA && option != TAGS) || value[0] == '\0')
            continue;
        if (option == TAGS)
            ash__cmd_object_add_text(tags, value);
        else if (!ash__cmd_object_pair(value, metadata))
            return ash__cmd_usage(r->cmd, "--metadata takes KEY=VALUE, not \"%s\"", value);
    }
    return 0;
}

/* Both say it in the same words.  metadata, tags: empty; they live as long as c. */
static int read_config(const ash_cmd_object_run *r, ash_object_config *c, bson_t *metadata,
                       bson_t *tags)
{
    c->name = r->args->words[0];
    c->description = ash__cmd_object_value(r, DESCRIPTION);
    c->cluster = ash__cmd_object_value(r, CLUSTER);
    c->compression = ash__cmd_object_value(r, COMPRESS) != NULL;
    c->metadata = metadata;
    c->placement_tags = tags;
    int status = read_sizes(r, c);
    if (status == 0)
        status = read_kinds(r, c);
    return status == 0 ? read_lists(r, metadata, tags) : status;
}

/* ---- add ---- */

static const ash_cmd_option add_options[] = {
    CONFIG_OPTIONS,
    [STORAGE] = {0, "storage", "KIND", "file or memory (JetStream)", .choices = "file memory"},
    ASH_CMD_OBJECT_NO_OPTION,
};

static int read_storage(const ash_cmd_object_run *r, ash_object_config *c)
{
    const char *storage = ash__cmd_object_value(r, STORAGE);
    if (storage != NULL && storage[0] != 'f' && storage[0] != 'm')
        return ash__cmd_usage(r->cmd, "--storage takes file or memory, not \"%s\"", storage);
    if (storage != NULL && storage[0] == 'm')
        c->storage = ASH_OBJECT_STORAGE_MEMORY;
    return 0;
}

static int add(ash_cmd_object_run *r, ash_error *err)
{
    ash_object_config c = ASH_OBJECT_CONFIG_INIT;
    bson_t metadata = BSON_INITIALIZER, tags = BSON_INITIALIZER;
    ash_object_store *s = NULL;
    int rc = read_config(r, &c, &metadata, &tags);
    if (rc == 0)
        rc = read_storage(r, &c);
    if (rc == 0)
        rc = ash_object_manager_create(r->manager, &c, &r->op, &s, err);
    if (rc == 0)
        rc = ash__cmd_object_tell_status(r, s, err);
    ash_object_store_close(s);
    bson_destroy(&metadata);
    bson_destroy(&tags);
    return rc;
}

static int run_add(ash_cmd *cmd, const ash_cmd_args *args)
{
    return ash__cmd_object_run_unbound(cmd, ASH_CMD_WRITE, args, add);
}

const ash_cmd_verb ash__cmd_object_add = {
    .name = "object add",
    .group = "objects",
    .synopsis = "[OPTION]... STORE",
    .summary = "make an object store",
    .details = "One that is there with the same configuration is no error.",
    .options = add_options,
    .min_words = 1,
    .max_words = 1,
    .run = run_add,
};

/* ---- edit ---- */

static const ash_cmd_option edit_options[] = {
    CONFIG_OPTIONS,
    [NO_COMPRESS] = {0, "no-compress", NULL, "what is stored from now on"},
    ASH_CMD_OBJECT_NO_OPTION,
};

static bool is_given(const ash_cmd_object_run *r, int option)
{
    return ash__cmd_object_value(r, option) != NULL;
}

/* What was given, over what there is. */
static void overlay(const ash_cmd_object_run *r, const ash_object_config *given,
                    ash_object_config *c)
{
    c->ttl_ms = is_given(r, TTL) ? given->ttl_ms : c->ttl_ms;
    c->replicas = is_given(r, REPLICAS) ? given->replicas : c->replicas;
    c->max_bytes = is_given(r, MAX_BUCKET_SIZE) ? given->max_bytes : c->max_bytes;
    c->description = is_given(r, DESCRIPTION) ? given->description : c->description;
    c->placement_tags = is_given(r, TAGS) ? given->placement_tags : c->placement_tags;
    c->cluster = is_given(r, CLUSTER) ? given->cluster : c->cluster;
    c->metadata = is_given(r, METADATA) ? given->metadata : c->metadata;
    c->compression = (c->compression || given->compression) && !is_given(r, NO_COMPRESS);
    c->keep_last = is_given(r, KEEP) ? given->keep_last : c->keep_last;
    c->keep_within_ms = is_given(r, KEEP_WITHIN) ? given->keep_within_ms : c->keep_within_ms;
    c->tombstone_ttl_ms = is_given(r, TOMBSTONES) ? given->tombstone_ttl_ms : c->tombstone_ttl_ms;
    c->max_object_bytes =
        is_given(r, MAX_OBJECT_SIZE) ? given->max_object_bytes : c->max_object_bytes;
    c->max_objects = is_given(r, MAX_OBJECTS) ? given->max_objects : c->max_objects;
    c->chunk_size = is_given(r, CHUNK_SIZE) ? given->chunk_size : c->chunk_size;
    c->digest = is_given(r, DIGEST) ? given->digest : c->digest;
}

static int change(ash_cmd_object_run *r, const ash_object_config *given, ash_error *err)
{
    ash_object_config c = ASH_OBJECT_CONFIG_INIT;
    ash_object_status *st = NULL;
    int rc = ash_object_store_status(r->objects, &r->op, &st, err);
    if (rc == 0)
        rc = ash_object_status_config(st, &c, err);
    overlay(r, given, &c);
    if (rc == 0)
        rc = ash_object_manager_update(r->manager, &c, &r->op, err);
    ash_object_status_free(st);
    return rc;
}

static int edit(ash_cmd_object_run *r, ash_error *err)
{
    ash_object_config given = ASH_OBJECT_CONFIG_INIT;
    bson_t metadata = BSON_INITIALIZER, tags = BSON_INITIALIZER;
    bool any = false;
    for (int i = 0; i < r->args->given_count; i++)
        any = any || r->args->given[i].option >= ASH_CMD_OBJECT_FIRST_OPTION;
    int rc = any ? read_config(r, &given, &metadata, &tags)
                 : ash__cmd_usage(r->cmd, "nothing is said of what is to change");
    if (rc == 0 && is_given(r, COMPRESS) && is_given(r, NO_COMPRESS))
        rc = ash__cmd_usage(r->cmd, "--compress and --no-compress exclude each other");
    if (rc == 0)
        rc = change(r, &given, err);
    if (rc == 0)
        rc = ash__cmd_object_tell_status(r, r->objects, err);
    bson_destroy(&metadata);
    bson_destroy(&tags);
    return rc;
}

static int run_edit(ash_cmd *cmd, const ash_cmd_args *args)
{
    return ash__cmd_object_run(cmd, ASH_CMD_WRITE, args, edit);
}

const ash_cmd_verb ash__cmd_object_edit = {
    .name = "object edit",
    .group = "objects",
    .synopsis = "OPTION... STORE",
    .summary = "change how an object store is configured",
    .details =
        "What is not named stays; 0 or an empty value takes it away, and --metadata replaces "
        "all of it.  In a folder and on MongoDB,\n"
        "--ttl, --digest, --chunk-size and --compress are for what is put from then on; on "
        "JetStream --ttl counts for what is\n"
        "there, too.  What the store's backend does not have is refused by name, and nothing "
        "is changed.",
    .options = edit_options,
    .min_words = 1,
    .max_words = 1,
    .run = run_edit,
};
