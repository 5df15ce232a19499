/* SPDX-License-Identifier: Apache-2.0 */
/* add, ls, info, status, seal, rm: stores, and what is in them. */
#include "cmd/object/room.h"

#include "base/mem.h"

#include <string.h>

static const ash_cmd_option plain_options[] = {ASH_CMD_OBJECT_OPTIONS, ASH_CMD_OBJECT_NO_OPTION};

/* ---- add ---- */

enum {
    ADD_TTL = ASH_CMD_OBJECT_FIRST_OPTION,
    ADD_REPLICAS,
    ADD_MAX_BUCKET_SIZE,
    ADD_DESCRIPTION,
    ADD_STORAGE,
    ADD_TAGS,
    ADD_CLUSTER,
    ADD_METADATA,
    ADD_COMPRESS,
    ADD_KEEP,
    ADD_KEEP_WITHIN,
    ADD_TOMBSTONES,
    ADD_MAX_OBJECT_SIZE,
    ADD_MAX_OBJECTS,
    ADD_CHUNK_SIZE,
    ADD_DIGEST
};
static const ash_cmd_option add_options[] = {
    ASH_CMD_OBJECT_OPTIONS,
    [ADD_TTL] = {0, "ttl", "TIME", "how long objects live, as in 12h or 30d"},
    [ADD_REPLICAS] = {0, "replicas", "N", "of the data (JetStream)"},
    [ADD_MAX_BUCKET_SIZE] = {0, "max-bucket-size", "BYTES",
                             "of all that the store holds, as in 10G"},
    [ADD_DESCRIPTION] = {0, "description", "TEXT", "what it is for"},
    [ADD_STORAGE] = {0, "storage", "KIND", "file or memory (JetStream)", .choices = "file memory"},
    [ADD_TAGS] = {0, "tags", "TAG",
                  "of servers to place it on (JetStream); may be given repeatedly"},
    [ADD_CLUSTER] = {0, "cluster", "NAME", "to place it on (JetStream)"},
    [ADD_METADATA] = {0, "metadata", "KEY=VALUE", "of the store; may be given repeatedly"},
    [ADD_COMPRESS] = {0, "compress", NULL, "what is stored"},
    [ADD_KEEP] = {0, "keep", "N", "how many earlier versions of each object are kept, or all"},
    [ADD_KEEP_WITHIN] = {0, "keep-within", "TIME",
                         "earlier versions that were current within that time are kept, too"},
    [ADD_TOMBSTONES] = {0, "tombstones", "TIME", "forget deleted objects after it"},
    [ADD_MAX_OBJECT_SIZE] = {0, "max-object-size", "BYTES", "of each object"},
    [ADD_MAX_OBJECTS] = {0, "max-objects", "N", "in the store"},
    [ADD_CHUNK_SIZE] = {0, "chunk-size", "BYTES", "of objects that say nothing (default: 128k)"},
    [ADD_DIGEST] = {0, "digest", "KIND", "likewise (default: sha256)",
                    .choices = "sha256 sha1 md5"},
    ASH_CMD_OBJECT_NO_OPTION,
};

static int read_sizes(const ash_cmd_object_run *r, ash_object_config *c)
{
    int64_t n = 0, chunk = 0;
    int status = ash__cmd_object_time(r, ADD_TTL, &c->ttl_ms);
    if (status == 0)
        status = ash__cmd_object_bytes(r, ADD_MAX_BUCKET_SIZE, &c->max_bytes);
    if (status == 0)
        status = ash__cmd_object_bytes(r, ADD_MAX_OBJECT_SIZE, &c->max_object_bytes);
    if (status == 0)
        status = ash__cmd_object_bytes(r, ADD_CHUNK_SIZE, &chunk);
    if (status == 0)
        status = ash__cmd_object_number(r, ADD_MAX_OBJECTS, 0, INT64_MAX, &c->max_objects);
    if (status == 0)
        status = ash__cmd_object_number(r, ADD_REPLICAS, 1, 5, &n);
    if (status == 0)
        status = ash__cmd_object_time(r, ADD_KEEP_WITHIN, &c->keep_within_ms);
    if (status == 0)
        status = ash__cmd_object_time(r, ADD_TOMBSTONES, &c->tombstone_ttl_ms);
    c->replicas = (int32_t)n;
    c->chunk_size = chunk < INT32_MAX ? (int32_t)chunk : INT32_MAX;
    return status;
}

static int read_kinds(const ash_cmd_object_run *r, ash_object_config *c)
{
    const char *storage = ash__cmd_object_value(r, ADD_STORAGE),
               *keep = ash__cmd_object_value(r, ADD_KEEP);
    const char *digest = ash__cmd_object_value(r, ADD_DIGEST);
    int64_t n = 0;
    if (storage != NULL && storage[0] != 'f' && storage[0] != 'm')
        return ash__cmd_usage(r->cmd, "--storage takes file or memory, not \"%s\"", storage);
    if (storage != NULL && storage[0] == 'm')
        c->storage = ASH_OBJECT_STORAGE_MEMORY;
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
    int status = ash__cmd_object_number(r, ADD_KEEP, 0, INT32_MAX, &n);
    c->keep_last = (int32_t)n;
    return status;
}

static int read_lists(const ash_cmd_object_run *r, bson_t *metadata, bson_t *tags)
{
    for (int i = 0; i < r->args->given_count; i++) {
        int option = r->args->given[i].option;
        const char *value = r->args->given[i].value;
        if (option == ADD_METADATA && !ash__cmd_object_pair(value, metadata))
            return ash__cmd_usage(r->cmd, "--metadata takes KEY=VALUE, not \"%s\"", value);
        if (option == ADD_TAGS)
            ash__cmd_object_add_text(tags, value);
    }
    return 0;
}

static int show_status(ash_cmd_object_run *r, ash_object_store *s, ash_error *err)
{
    ash_object_status *st = NULL;
    int rc = ash_object_store_status(s, &r->op, &st, err);
    if (rc == 0)
        ash__cmd_object_show_status(r, st);
    ash_object_status_free(st);
    return rc;
}

static int add(ash_cmd_object_run *r, ash_error *err)
{
    ash_object_config c = ASH_OBJECT_CONFIG_INIT;
    bson_t metadata = BSON_INITIALIZER, tags = BSON_INITIALIZER;
    ash_object_store *s = NULL;
    c.name = r->args->words[0];
    c.description = ash__cmd_object_value(r, ADD_DESCRIPTION);
    c.cluster = ash__cmd_object_value(r, ADD_CLUSTER);
    c.compression = ash__cmd_object_value(r, ADD_COMPRESS) != NULL;
    c.metadata = &metadata;
    c.placement_tags = &tags;
    int rc = read_sizes(r, &c);
    if (rc == 0)
        rc = read_kinds(r, &c);
    if (rc == 0)
        rc = read_lists(r, &metadata, &tags);
    if (rc == 0)
        rc = ash_object_manager_create(r->manager, &c, &r->op, &s, err);
    if (rc == 0)
        rc = show_status(r, s, err);
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

/* ---- ls ---- */

enum { LS_NAMES = ASH_CMD_OBJECT_FIRST_OPTION, LS_DELETED, LS_BY_NAME, LS_PREFIX, LS_LIMIT };
static const ash_cmd_option ls_options[] = {
    ASH_CMD_OBJECT_OPTIONS,
    [LS_NAMES] = {0, "names", NULL, "just the names"},
    [LS_DELETED] = {0, "deleted", NULL, "deleted objects, too"},
    [LS_BY_NAME] = {0, "by-name", NULL, "in the order of names; else of changes"},
    [LS_PREFIX] = {0, "prefix", "TEXT", "only names that begin so"},
    [LS_LIMIT] = {0, "limit", "N", "at most so many"},
    ASH_CMD_OBJECT_NO_OPTION,
};

static int ls_stores(ash_cmd_object_run *r, ash_error *err)
{
    ash_object_status_listing *l = NULL;
    const ash_object_status *st = NULL;
    bool names = ash__cmd_object_value(r, LS_NAMES) != NULL && !r->cmd->json;
    int rc = ash_object_manager_list(r->manager, &r->op, &l, err);
    while (rc == 0 && !ferror(stdout)) {
        rc = ash_object_status_listing_next(l, &st, err);
        if (rc != 0 || st == NULL)
            break;
        if (names)
            puts(ash_object_status_name(st));
        else
            ash__cmd_object_status_line(r, st);
        ash__cmd_keep_output_error();
    }
    ash_object_status_listing_free(l);
    return rc;
}

static int ls(ash_cmd_object_run *r, ash_error *err)
{
    ash_object_list_options o = ASH_OBJECT_LIST_OPTIONS_INIT;
    ash_object_listing *l = NULL;
    if (r->args->count == 0)
        return ls_stores(r, err);
    o.deleted = ash__cmd_object_value(r, LS_DELETED) != NULL;
    o.by_name = ash__cmd_object_value(r, LS_BY_NAME) != NULL;
    o.prefix = ash__cmd_object_value(r, LS_PREFIX);
    int rc = ash__cmd_object_number(r, LS_LIMIT, 1, INT64_MAX, &o.limit);
    if (rc == 0)
        rc = ash_object_manager_bind(r->manager, r->args->words[0], &r->op, &r->objects, err);
    if (rc == 0)
        rc = ash_object_store_list(r->objects, &o, &r->op, &l, err);
    return rc == 0
               ? ash__cmd_object_print(r, l, ash__cmd_object_value(r, LS_NAMES) != NULL, NULL, err)
               : rc;
}

static int run_ls(ash_cmd *cmd, const ash_cmd_args *args)
{
    return ash__cmd_object_run_unbound(cmd, ASH_CMD_READ, args, ls);
}

const ash_cmd_verb ash__cmd_object_ls = {
    .name = "object ls",
    .group = "objects",
    .synopsis = "[--names] [--deleted] [--by-name] [--prefix TEXT] [--limit N] [STORE]",
    .summary = "list stores, or the objects of one",
    .options = ls_options,
    .max_words = 1,
    .run = run_ls,
};

/* ---- info, status ---- */

enum { INFO_REVISION = ASH_CMD_OBJECT_FIRST_OPTION, INFO_DELETED, INFO_FOLLOW, INFO_ADR };
static const ash_cmd_option info_options[] = {
    ASH_CMD_OBJECT_OPTIONS,
    [INFO_REVISION] = {0, "revision", "N", "as it was then"},
    [INFO_DELETED] = {0, "deleted", NULL, "also if it is deleted"},
    [INFO_FOLLOW] = {0, "follow", NULL, "what a link leads to"},
    [INFO_ADR] = {0, "adr", NULL, "as JSON of ADR-20, as NATS' clients store it"},
    ASH_CMD_OBJECT_NO_OPTION,
};

static int show_adr(const ash_object *o, ash_error *err)
{
    char *json = NULL;
    int rc = ash_object_to_json(o, &json, err);
    if (rc == 0)
        puts(json);
    ash__cmd_keep_output_error();
    ash_object_string_free(json);
    return rc;
}

static int info(ash_cmd_object_run *r, ash_error *err)
{
    ash_object_read_options o = ASH_OBJECT_READ_OPTIONS_INIT;
    ash_object *object = NULL;
    int64_t revision = 0;
    if (r->args->count < 2)
        return show_status(r, r->objects, err);
    o.deleted = ash__cmd_object_value(r, INFO_DELETED) != NULL;
    o.follow = ash__cmd_object_value(r, INFO_FOLLOW) != NULL;
    int rc = ash__cmd_object_number(r, INFO_REVISION, 1, INT64_MAX, &revision);
    o.revision = (uint64_t)revision;
    if (rc == 0)
        rc = ash_object_store_info(r->objects, r->args->words[1], &o, &r->op, &object, err);
    if (rc == 0 && ash__cmd_object_value(r, INFO_ADR) != NULL)
        rc = show_adr(object, err);
    else if (rc == 0)
        ash__cmd_object_show(r, object);
    ash_object_free(object);
    return rc;
}

static int run_info(ash_cmd *cmd, const ash_cmd_args *args)
{
    return ash__cmd_object_run(cmd, ASH_CMD_READ, args, info);
}

const ash_cmd_verb ash__cmd_object_info = {
    .name = "object info",
    .group = "objects",
    .synopsis = "[--revision N] [--deleted] [--follow] [--adr] STORE [NAME]",
    .summary = "tell about a store, or an object",
    .options = info_options,
    .min_words = 1,
    .max_words = 2,
    .run = run_info,
};

static int status(ash_cmd_object_run *r, ash_error *err)
{
    return show_status(r, r->objects, err);
}

static int run_status(ash_cmd *cmd, const ash_cmd_args *args)
{
    return ash__cmd_object_run(cmd, ASH_CMD_READ, args, status);
}

const ash_cmd_verb ash__cmd_object_status = {
    .name = "object status",
    .group = "objects",
    .synopsis = "STORE",
    .summary = "tell about a store: configuration, size, seal",
    .options = plain_options,
    .min_words = 1,
    .max_words = 1,
    .run = run_status,
};

/* ---- seal, rm ---- */

enum { FORCE = ASH_CMD_OBJECT_FIRST_OPTION };
static const ash_cmd_option force_options[] = {
    ASH_CMD_OBJECT_OPTIONS,
    [FORCE] = {'f', "force", NULL, "of a whole store; else it is refused"},
    ASH_CMD_OBJECT_NO_OPTION,
};

static int seal(ash_cmd_object_run *r, ash_error *err)
{
    if (ash__cmd_object_value(r, FORCE) == NULL)
        return ash__cmd_usage(r->cmd,
                              "a sealed store cannot be changed any more, nor unsealed: "
                              "--force seals %s",
                              r->args->words[0]);
    int rc = ash_object_store_seal(r->objects, &r->op, err);
    if (rc == 0)
        ash__cmd_say(r->cmd, "sealed %s", r->args->words[0]);
    return rc;
}

static int run_seal(ash_cmd *cmd, const ash_cmd_args *args)
{
    return ash__cmd_object_run(cmd, ASH_CMD_WRITE, args, seal);
}

const ash_cmd_verb ash__cmd_object_seal = {
    .name = "object seal",
    .group = "objects",
    .synopsis = "--force STORE",
    .summary = "let a store never change again",
    .options = force_options,
    .min_words = 1,
    .max_words = 1,
    .run = run_seal,
};

static int rm_store(ash_cmd_object_run *r, ash_error *err)
{
    if (ash__cmd_object_value(r, FORCE) == NULL)
        return ash__cmd_usage(r->cmd, "--force deletes store %s and all that is in it",
                              r->args->words[0]);
    int rc = ash_object_manager_delete(r->manager, r->args->words[0], &r->op, err);
    if (rc == 0)
        ash__cmd_say(r->cmd, "deleted store %s", r->args->words[0]);
    return rc;
}

static int rm_object(ash_cmd_object_run *r, const char *name)
{
    ash_error err = ASH_ERROR_INIT;
    ash_object *o = NULL;
    int rc = ash_object_store_delete(r->objects, name, NULL, &r->op, &o, &err);
    if (rc != 0)
        return ash__cmd_fail(r->cmd, name, &err);
    if (!ash__cmd_object_emit(r, o))
        ash__cmd_say(r->cmd, "deleted %s", name);
    ash_object_free(o);
    return 0;
}

static int rm(ash_cmd_object_run *r, ash_error *err)
{
    int failed = 0, last = 0;
    if (r->args->count == 1)
        return rm_store(r, err);
    for (int i = 1; i < r->args->count; i++) {
        int one = rm_object(r, r->args->words[i]);
        failed += one != 0;
        last = one != 0 ? one : last;
    }
    return failed > 0 && r->args->count > 2 ? ASH_EXIT_PARTIAL : last;
}

static int run_rm(ash_cmd *cmd, const ash_cmd_args *args)
{
    return ash__cmd_object_run(cmd, ASH_CMD_WRITE, args, rm);
}

const ash_cmd_verb ash__cmd_object_rm = {
    .name = "object rm",
    .group = "objects",
    .synopsis = "STORE NAME... | --force STORE",
    .summary = "delete objects, or a store",
    .options = force_options,
    .min_words = 1,
    .max_words = -1,
    .run = run_rm,
};
