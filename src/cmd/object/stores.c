/* SPDX-License-Identifier: Apache-2.0 */
/* ls, info, status, seal, rm: stores, and what is in them. */
#include "cmd/object/room.h"

#include "base/mem.h"

#include <string.h>

static const ash_cmd_option plain_options[] = {ASH_CMD_OBJECT_OPTIONS, ASH_CMD_OBJECT_NO_OPTION};

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

int ash__cmd_object_tell_status(ash_cmd_object_run *r, ash_object_store *s, ash_error *err)
{
    ash_object_status *st = NULL;
    int rc = ash_object_store_status(s, &r->op, &st, err);
    if (rc == 0)
        ash__cmd_object_show_status(r, st);
    ash_object_status_free(st);
    return rc;
}

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
        return ash__cmd_object_tell_status(r, r->objects, err);
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
    return ash__cmd_object_tell_status(r, r->objects, err);
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
