/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of objects on the command line; changing it; names, links, ends. */
#include "cmd/object/room.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"

#include <string.h>

void ash__cmd_object_add_text(bson_t *array, const char *value)
{
    char buf[12];
    const char *key;
    bson_uint32_to_string(bson_count_keys(array), &key, buf, sizeof buf);
    BSON_APPEND_UTF8(array, key, value);
}

bool ash__cmd_object_pair(const char *text, bson_t *map)
{
    const char *at = strchr(text, '=');
    bson_t others = BSON_INITIALIZER;
    if (at == NULL || at == text)
        return false;
    char *key = ash__strndup(text, (size_t)(at - text));
    bson_copy_to_excluding_noinit(map, &others, key, NULL);
    BSON_APPEND_UTF8(&others, key, at + 1);
    bson_destroy(map);
    bson_steal(map, &others);
    ash__free(key);
    return true;
}

/* "NAME: VALUE", behind what the header has already; false: there is no NAME and ':'. */
static bool add_header(const char *text, bson_t *headers)
{
    const char *at = strchr(text, ':');
    bson_t others = BSON_INITIALIZER, values = BSON_INITIALIZER;
    bson_iter_t it, in;
    if (at == NULL || at == text)
        return false;
    char *name = ash__strndup(text, (size_t)(at - text));
    if (bson_iter_init_find(&it, headers, name) && bson_iter_recurse(&it, &in))
        while (bson_iter_next(&in))
            ash__cmd_object_add_text(&values, bson_iter_utf8(&in, NULL));
    ash__cmd_object_add_text(&values, at + 1 + strspn(at + 1, " "));
    bson_copy_to_excluding_noinit(headers, &others, name, NULL);
    BSON_APPEND_ARRAY(&others, name, &values);
    bson_destroy(headers);
    bson_steal(headers, &others);
    bson_destroy(&values);
    ash__free(name);
    return true;
}

/* Each option that may be given several times; "" takes away all that is there. */
static int read_given(const ash_cmd_object_run *r, ash_cmd_object_said *out)
{
    for (int i = 0; i < r->args->given_count; i++) {
        int option = r->args->given[i].option;
        const char *value = r->args->given[i].value;
        if (option == ASH_CMD_OBJECT_HEADER) {
            out->meta.headers = &out->headers;
            if (value[0] != '\0' && !add_header(value, &out->headers))
                return ash__cmd_usage(r->cmd, "--header takes NAME:VALUE, not \"%s\"", value);
        } else if (option == ASH_CMD_OBJECT_METADATA) {
            out->meta.metadata = &out->metadata;
            if (value[0] != '\0' && !ash__cmd_object_pair(value, &out->metadata))
                return ash__cmd_usage(r->cmd, "--metadata takes KEY=VALUE, not \"%s\"", value);
        } else if (option == ASH_CMD_OBJECT_TAG) {
            out->meta.tags = &out->tags;
            if (value[0] != '\0')
                ash__cmd_object_add_text(&out->tags, value);
        }
    }
    return 0;
}

int ash__cmd_object_read_said(const ash_cmd_object_run *r, ash_cmd_object_said *out)
{
    out->meta = (ash_object_meta)ASH_OBJECT_META_INIT;
    bson_init(&out->headers);
    bson_init(&out->metadata);
    bson_init(&out->tags);
    out->meta.description = ash__cmd_object_value(r, ASH_CMD_OBJECT_DESCRIPTION);
    out->meta.content_type = ash__cmd_object_value(r, ASH_CMD_OBJECT_TYPE);
    return read_given(r, out);
}

void ash__cmd_object_said_release(ash_cmd_object_said *s)
{
    bson_destroy(&s->headers);
    bson_destroy(&s->metadata);
    bson_destroy(&s->tags);
}

/* ---- meta ---- */

static const ash_cmd_option meta_options[] = {
    ASH_CMD_OBJECT_OPTIONS,
    ASH_CMD_OBJECT_SAID_OPTIONS("a header; may be given repeatedly, and replaces all"),
    ASH_CMD_OBJECT_NO_OPTION,
};

static int change_meta(ash_cmd_object_run *r, const char *name, const ash_object_meta *meta,
                       ash_error *err)
{
    ash_object *o = NULL;
    int rc = ash_object_store_update_meta(r->objects, name, meta, NULL, &r->op, &o, err);
    if (rc == 0 && !ash__cmd_object_emit(r, o) && meta->name != NULL)
        ash__cmd_say(r->cmd, "renamed %s to %s", name, ash_object_name(o));
    else if (rc == 0)
        ash__cmd_say(r->cmd, "changed %s", name);
    ash_object_free(o);
    return rc;
}

static int meta(ash_cmd_object_run *r, ash_error *err)
{
    ash_cmd_object_said said;
    int rc = ash__cmd_object_read_said(r, &said);
    if (rc == 0)
        rc = change_meta(r, r->args->words[1], &said.meta, err);
    ash__cmd_object_said_release(&said);
    return rc;
}

static int run_meta(ash_cmd *cmd, const ash_cmd_args *args)
{
    return ash__cmd_object_run(cmd, ASH_CMD_WRITE, args, meta);
}

const ash_cmd_verb ash__cmd_object_meta = {
    .name = "object meta",
    .group = "objects",
    .synopsis = "[--description TEXT] [-H NAME:VALUE]... [--metadata KEY=VALUE]... [--tag TAG]... "
                "[--type TYPE] STORE NAME",
    .summary = "change what is said of an object",
    .details = "What is not named stays; an empty value (--tag \"\") takes it away.",
    .options = meta_options,
    .min_words = 2,
    .max_words = 2,
    .run = run_meta,
};

/* ---- mv ---- */

static const ash_cmd_option plain_options[] = {ASH_CMD_OBJECT_OPTIONS, ASH_CMD_OBJECT_NO_OPTION};

static int mv(ash_cmd_object_run *r, ash_error *err)
{
    ash_object_meta to = ASH_OBJECT_META_INIT;
    to.name = r->args->words[2];
    return change_meta(r, r->args->words[1], &to, err);
}

static int run_mv(ash_cmd *cmd, const ash_cmd_args *args)
{
    return ash__cmd_object_run(cmd, ASH_CMD_WRITE, args, mv);
}

const ash_cmd_verb ash__cmd_object_mv = {
    .name = "object mv",
    .group = "objects",
    .synopsis = "STORE NAME NEW",
    .summary = "give an object another name",
    .options = plain_options,
    .min_words = 3,
    .max_words = 3,
    .run = run_mv,
};

/* ---- link ---- */

static int link_to_object(ash_cmd_object_run *r, const char *store, const char *target,
                          ash_object **out, ash_error *err)
{
    ash_object_store *other = NULL;
    ash_object *o = NULL;
    int rc = store != NULL ? ash_object_manager_bind(r->manager, store, &r->op, &other, err) : 0;
    if (rc == 0)
        rc = ash_object_store_info(other != NULL ? other : r->objects, target, NULL, &r->op, &o,
                                   err);
    if (rc == 0)
        rc = ash_object_store_link(r->objects, r->args->words[1], o, NULL, &r->op, out, err);
    ash_object_free(o);
    ash_object_store_close(other);
    return rc;
}

enum { LINK_TO = ASH_CMD_OBJECT_FIRST_OPTION };
static const ash_cmd_option link_options[] = {
    ASH_CMD_OBJECT_OPTIONS,
    [LINK_TO] = {0, "to", "STORE", "the target is in that store; without TARGET, it is that store"},
    ASH_CMD_OBJECT_NO_OPTION,
};

static int make_link(ash_cmd_object_run *r, ash_error *err)
{
    const char *store = ash__cmd_object_value(r, LINK_TO), *target = ash__cmd_object_word(r, 2);
    ash_object *o = NULL;
    int rc = 0;
    if (target == NULL && store == NULL)
        return ash__cmd_usage(r->cmd, "a link leads to TARGET, or --to another store");
    if (target != NULL)
        rc = link_to_object(r, store, target, &o, err);
    else
        rc = ash_object_store_link_store(r->objects, r->args->words[1], store, NULL, &r->op, &o,
                                         err);
    if (rc == 0 && !ash__cmd_object_emit(r, o))
        ash__cmd_say(r->cmd, "linked %s", ash_object_name(o));
    ash_object_free(o);
    return rc;
}

static int run_link(ash_cmd *cmd, const ash_cmd_args *args)
{
    return ash__cmd_object_run(cmd, ASH_CMD_WRITE, args, make_link);
}

const ash_cmd_verb ash__cmd_object_link = {
    .name = "object link",
    .group = "objects",
    .synopsis = "[--to STORE] STORE NAME [TARGET]",
    .summary = "make a name that leads to another object, or to a store",
    .options = link_options,
    .min_words = 2,
    .max_words = 3,
    .run = run_link,
};

/* ---- expire ---- */

enum { EXPIRE_IN = ASH_CMD_OBJECT_FIRST_OPTION, EXPIRE_NEVER };
static const ash_cmd_option expire_options[] = {
    ASH_CMD_OBJECT_OPTIONS,
    [EXPIRE_IN] = {0, "in", "TIME", "so long from now, as in 12h or 30d"},
    [EXPIRE_NEVER] = {0, "never", NULL, "not before its store says so"},
    ASH_CMD_OBJECT_NO_OPTION,
};

static int expire(ash_cmd_object_run *r, ash_error *err)
{
    int64_t ms = 0;
    ash_object *o = NULL;
    bool never = ash__cmd_object_value(r, EXPIRE_NEVER) != NULL;
    if (never == (ash__cmd_object_value(r, EXPIRE_IN) != NULL))
        return ash__cmd_usage(r->cmd, "give --in TIME or --never");
    int rc = ash__cmd_object_time(r, EXPIRE_IN, &ms);
    if (rc == 0 && !never && ms == 0)
        rc = ash__cmd_usage(r->cmd, "--in takes a time to come; `ashlar object rm` deletes now");
    if (rc == 0)
        rc = ash_object_store_set_expiry(r->objects, r->args->words[1],
                                         never ? 0 : ash__clock_wall_ms() + ms, NULL, &r->op, &o,
                                         err);
    if (rc == 0)
        ash__cmd_object_show(r, o);
    ash_object_free(o);
    return rc;
}

static int run_expire(ash_cmd *cmd, const ash_cmd_args *args)
{
    return ash__cmd_object_run(cmd, ASH_CMD_WRITE, args, expire);
}

const ash_cmd_verb ash__cmd_object_expire = {
    .name = "object expire",
    .group = "objects",
    .synopsis = "--in TIME|--never STORE NAME",
    .summary = "say when an object ends",
    .options = expire_options,
    .min_words = 2,
    .max_words = 2,
    .run = run_expire,
};
