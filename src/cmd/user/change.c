/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs of `ashlar user`.  On a folder, or through its server, which takes notice at once. */
#include "cmd/user/room.h"

#include "base/error.h"
#include "base/mem.h"
#include "cmd/kit/amount.h"
#include "user/usage.h"

#include <string.h>

static const ash_cmd_option plain_options[] = {ASH_CMD_USER_OPTIONS, {0, NULL, NULL, NULL}};

enum { ROLE = ASH_CMD_USER_FIRST_OPTION };
static const ash_cmd_option role_options[] = {
    ASH_CMD_USER_OPTIONS,
    [ROLE] = {0, "role", "ROLE[@DATABASE]",
              "such as readWrite@files, or root; several by several of these (without @: of --db)"},
    {0, NULL, NULL, NULL}};

enum { EXTERNAL = ROLE + 1 };
static const ash_cmd_option add_options[] = {
    ASH_CMD_USER_OPTIONS,
    [ROLE] = {0, "role", "ROLE[@DATABASE]",
              "such as readWrite@files, or root; several by several of these (without @: of --db)"},
    [EXTERNAL] = {0, "external", NULL,
                  "NAME is the subject of the user's certificate, and there is no password (the "
                  "same as --db $external; roles without @ are of admin)"},
    {0, NULL, NULL, NULL}};

enum { CONNECTIONS = ASH_CMD_USER_FIRST_OPTION, OPERATIONS, BYTES };
static const ash_cmd_option limit_options[] = {
    ASH_CMD_USER_OPTIONS,
    [CONNECTIONS] = {0, "connections", "N", "at a time, or none for no limit"},
    [OPERATIONS] = {0, "operations", "N", "a second, or none"},
    [BYTES] = {0, "bytes", "SIZE", "a second, sent and received: 500k, 10M; or none"},
    {0, NULL, NULL, NULL}};

typedef struct run {
    ash_cmd *cmd;
    const ash_cmd_args *args;
    ash_users users;
    ash_user_id id;
    char *password;
} run;

/* ---- roles ---- */

/* The options as an array of {role, db}; a role's name has no @, a database's neither. */
static int read_roles(const run *r, ash_builder *b, ash_error *err)
{
    char index[12];
    uint32_t count = 0;
    ash__builder_begin(b);
    for (int i = 0; i < r->args->given_count; i++) {
        const char *text = r->args->given[i].value;
        if (r->args->given[i].option != ROLE)
            continue;
        const char *at = strrchr(text, '@');
        size_t len = at != NULL ? (size_t)(at - text) : strlen(text);
        if (len == 0 || (at != NULL && at[1] == '\0'))
            return ash__fail(err, ASH_EINVAL, "--role takes ROLE or ROLE@DATABASE, not \"%.100s\"",
                             text);
        ash__builder_begin_doc(b, ash__index_name(count++, index));
        ash__builder_string(b, "role", text, (uint32_t)len);
        /* No role is of $external. */
        const char *own = ash__user_is_external(&r->id) ? "admin" : r->id.db;
        ash__builder_text(b, "db", at != NULL ? at + 1 : own);
        ash__builder_end(b);
    }
    ash__builder_end(b);
    return 0;
}

/* ---- one run ---- */

typedef int (*user_work)(run *r, ash_error *err);

/* NAME@DATABASE, as lists have it, could be meant for a name as well; so it has to be said. */
static int check_name(const run *r, ash_error *err)
{
    const char *at = strrchr(r->id.name, '@');
    if (at == NULL || r->args->values[ASH_CMD_USER_DB] != NULL || ash__user_is_external(&r->id))
        return 0;
    return ash__fail(err, ASH_EINVAL,
                     "of which database is \"%.100s\"? `--db %.60s %.*s` is one of that database, "
                     "`--db admin %.100s` one of that whole name",
                     r->id.name, at + 1, (int)(at - r->id.name), r->id.name, r->id.name);
}

static int with_users(ash_cmd *cmd, ash_store *store, const ash_cmd_args *args, user_work work,
                      ash_error *err)
{
    const char *db = args->values[ASH_CMD_USER_DB];
    run r = {.cmd = cmd, .args = args};
    r.id = (ash_user_id){&ash__user_kind, args->count > 0 ? args->words[0] : "",
                         db != NULL ? db : "admin"};
    /* Of a deployment they are its own, and its commands make them. */
    char *folder = ash__cmd_need_folder(cmd,
                                        "-s has to name a folder: on an address, users are made by "
                                        "drivers (db.createUser)",
                                        err);
    if (folder == NULL)
        return err->code;
    ash__free(folder);
    int rc = check_name(&r, err);
    if (rc == 0)
        rc = ash__users_init(&r.users, store, err);
    if (rc == 0)
        rc = work(&r, err);
    ash__cmd_forget_password(r.password);
    ash__users_release(&r.users);
    return rc;
}

/* By --external, or --db $external. */
static int be_external(run *r, ash_error *err)
{
    if (r->args->values[EXTERNAL] == NULL)
        return 0;
    if (r->args->values[ASH_CMD_USER_DB] != NULL && !ash__user_is_external(&r->id))
        return ash__fail(err, ASH_EINVAL, "--external and --db do not go together");
    r->id.db = ASH_EXTERNAL_DB;
    return 0;
}

static int do_add(run *r, ash_error *err)
{
    ash_builder roles = ASH_BUILDER_INIT;
    ash_doc list;
    ash_user_change change = {.roles = &list};
    int rc = be_external(r, err);
    if (rc == 0)
        rc = read_roles(r, &roles, err);
    if (rc == 0 && !ash__user_is_external(&r->id))
        rc = ash__cmd_read_password(r->cmd, &r->password, err);
    if (rc == 0) {
        list = ash__builder_doc(&roles);
        change.password = r->password;
        rc = ash__user_create(&r->users, &r->id, &change, err);
    }
    ash__builder_release(&roles);
    if (rc == 0)
        ash__cmd_say(r->cmd, "added %s@%s", r->id.name, r->id.db);
    return rc;
}

static int do_passwd(run *r, ash_error *err)
{
    bson_t doc;
    int rc = ash__user_find(&r->users, &r->id, &doc, err);
    if (rc != 0)
        return rc;
    bson_destroy(&doc);
    if (ash__user_is_external(&r->id))
        return ash__fail(err, ASH_EINVAL, "users of $external have no password, but a certificate");
    rc = ash__cmd_read_password(r->cmd, &r->password, err);
    ash_user_change change = {.password = r->password};
    if (rc == 0)
        rc = ash__user_update(&r->users, &r->id, &change, err);
    if (rc == 0)
        ash__cmd_say(r->cmd, "changed the password of %s@%s", r->id.name, r->id.db);
    return rc;
}

static int do_rm(run *r, ash_error *err)
{
    bool any = true;
    bson_t doc;
    int rc = ash__user_find(&r->users, &r->id, &doc, err);
    if (rc != 0)
        return rc;
    bson_destroy(&doc);
    if (r->cmd->dry_run) {
        ash__cmd_say(r->cmd, "would remove %s@%s", r->id.name, r->id.db);
        return 0;
    }
    rc = ash__user_drop(&r->users, &r->id, err);
    if (rc == 0)
        ash__cmd_say(r->cmd, "removed %s@%s", r->id.name, r->id.db);
    if (rc == 0 && ash__users_any(&r->users, &any, err) == 0 && !any)
        ash__cmd_warn(r->cmd, "that was the last user: without one, a server asks nobody, unless "
                              "it is started with --auth");
    return rc;
}

static int change_roles(run *r, bool grant, ash_error *err)
{
    ash_builder roles = ASH_BUILDER_INIT;
    int rc = read_roles(r, &roles, err);
    if (rc == 0 && ash__doc_is_empty(ash__builder_doc(&roles)))
        rc = ash__fail(err, ASH_EINVAL, "--role says which");
    if (rc == 0)
        rc = ash__user_grant(&r->users, &r->id, ash__builder_doc(&roles), grant, err);
    ash__builder_release(&roles);
    if (rc == 0)
        ash__cmd_say(r->cmd, "%s@%s %s", r->id.name, r->id.db,
                     grant ? "has more roles" : "has fewer roles");
    return rc;
}

static int do_grant(run *r, ash_error *err)
{
    return change_roles(r, true, err);
}

static int do_revoke(run *r, ash_error *err)
{
    return change_roles(r, false, err);
}

/* ---- limits ---- */

/* One that is not given stays; none is 0. */
static int read_limit(const run *r, int option, int64_t *out, ash_error *err)
{
    const char *text = r->args->values[option];
    double bytes;
    if (text == NULL)
        return 0;
    if (strcmp(text, "none") == 0) {
        *out = 0;
        return 0;
    }
    if (option == BYTES && ash__amount_size(text, &bytes) && bytes >= 1 && bytes < 1e15) {
        *out = (int64_t)bytes;
        return 0;
    }
    if (option != BYTES && ash__amount_number(text, 1, 1000000000, out))
        return 0;
    return ash__fail(err, ASH_EINVAL, "--%s takes %s or none, not \"%.60s\"",
                     limit_options[option].name,
                     option == BYTES ? "a size such as 500k" : "a whole number", text);
}

static void say_limit(const run *r, const char *what, int64_t limit)
{
    if (limit > 0)
        ash__cmd_say(r->cmd, "%s@%s: %lld %s", r->id.name, r->id.db, (long long)limit, what);
    else
        ash__cmd_say(r->cmd, "%s@%s: any number of %s", r->id.name, r->id.db, what);
}

static int do_limit(run *r, ash_error *err)
{
    ash_limits limits;
    bson_t doc;
    int rc = ash__user_find(&r->users, &r->id, &doc, err);
    if (rc != 0)
        return rc;
    ash__limits_read(ash__doc_from_bson(&doc), &limits);
    bson_destroy(&doc);
    rc = read_limit(r, CONNECTIONS, &limits.connections, err);
    if (rc == 0)
        rc = read_limit(r, OPERATIONS, &limits.operations, err);
    if (rc == 0)
        rc = read_limit(r, BYTES, &limits.bytes, err);
    if (rc == 0 && r->args->given_count > 0)
        rc = ash__user_set_limits(&r->users, &r->id, &limits, err);
    if (rc != 0)
        return rc;
    say_limit(r, "connections", limits.connections);
    say_limit(r, "operations a second", limits.operations);
    say_limit(r, "bytes a second", limits.bytes);
    return 0;
}

/* ---- ls ---- */

static void print_roles(ash_doc user)
{
    ash_value roles = ash__doc_get(user, "roles");
    const char *before = "";
    if (roles.type != BSON_TYPE_ARRAY)
        return;
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(roles)); ash__doc_iter_next(&it);) {
        ash_doc role =
            it.value.type == BSON_TYPE_DOCUMENT ? ash__value_doc(it.value) : ash__doc_empty;
        char *name = ash__cmd_printable(ash__doc_utf8(role, "role", "?"));
        char *db = ash__cmd_printable(ash__doc_utf8(role, "db", "?"));
        printf("%s%s@%s", before, name, db);
        before = " ";
        ash__free(name);
        ash__free(db);
    }
}

static void print_user(const ash_cmd *cmd, ash_doc user)
{
    if (cmd->json) {
        ash_builder b = ASH_BUILDER_INIT;
        bson_t view;
        ash__builder_begin(&b);
        /* What signs in is nobody's to see. */
        for (ash_doc_iter it = ash__doc_iter(user); ash__doc_iter_next(&it);)
            if (strcmp(it.name, "credentials") != 0)
                ash__builder_element(&b, &it);
        ash__builder_end(&b);
        ash__doc_to_bson(ash__builder_doc(&b), &view);
        ash__cmd_emit(&view);
        ash__builder_release(&b);
        return;
    }
    char *name = ash__cmd_printable(ash__doc_utf8(user, "user", "?"));
    char *db = ash__cmd_printable(ash__doc_utf8(user, "db", "?"));
    printf("%s@%s\t", name, db);
    print_roles(user);
    putchar('\n');
    ash__cmd_keep_output_error();
    ash__free(name);
    ash__free(db);
}

static int do_ls(run *r, ash_error *err)
{
    ash_cursor *cursor = NULL;
    ash_doc doc = ash__doc_empty;
    int rc =
        ash__user_each(&r->users, &ash__user_kind, r->args->values[ASH_CMD_USER_DB], &cursor, err);
    while (rc == 0 && (rc = ash_cursor_next(cursor, &doc, err)) == 0 && doc.data != NULL)
        print_user(r->cmd, doc);
    ash_cursor_free(cursor);
    return rc;
}

/* ---- the verbs ---- */

#define VERB(word, how)                                                                            \
    static int work_##word(ash_cmd *cmd, ash_store *store, const ash_cmd_args *args,               \
                           ash_error *err)                                                         \
    {                                                                                              \
        return with_users(cmd, store, args, do_##word, err);                                       \
    }                                                                                              \
    static int run_##word(ash_cmd *cmd, const ash_cmd_args *args)                                  \
    {                                                                                              \
        return ash__cmd_with_store(cmd, how, args, work_##word);                                   \
    }

VERB(add, ASH_CMD_WRITE)
VERB(ls, ASH_CMD_READ)
VERB(rm, ASH_CMD_WRITE)
VERB(passwd, ASH_CMD_WRITE)
VERB(limit, ASH_CMD_WRITE)
VERB(grant, ASH_CMD_WRITE)
VERB(revoke, ASH_CMD_WRITE)

#define PASSWORD                                                                                   \
    "The password is typed twice, without being shown, or is a line of standard input; it is "     \
    "never "                                                                                       \
    "an argument."

const ash_cmd_verb ash__cmd_user_add = {
    .name = "user add",
    .group = "serve",
    .synopsis = "[--db DATABASE | --external] [--role ROLE[@DATABASE]]... NAME",
    .summary = "make a user",
    .details =
        PASSWORD "\nExample: ashlar user add ann --role readWrite@files\n"
                 "A user who signs in by a certificate (MONGODB-X509) is named as its subject, as\n"
                 "`openssl x509 -in FILE -noout -subject -nameopt RFC2253` prints it:\n"
                 "  ashlar user add --external CN=ann,O=Example --role readWrite@files",
    .options = add_options,
    .min_words = 1,
    .max_words = 1,
    .run = run_add,
};

const ash_cmd_verb ash__cmd_user_ls = {
    .name = "user ls",
    .group = "serve",
    .synopsis = "[--db DATABASE]",
    .summary = "list users and their roles",
    .details = "With --db, those of one database.",
    .options = plain_options,
    .min_words = 0,
    .max_words = 0,
    .run = run_ls,
};

const ash_cmd_verb ash__cmd_user_rm = {
    .name = "user rm",
    .group = "serve",
    .synopsis = "[--db DATABASE] NAME",
    .summary = "remove a user",
    .details = "Connections on which the user has signed in may do nothing from then on.",
    .options = plain_options,
    .min_words = 1,
    .max_words = 1,
    .has_dry_run = true,
    .run = run_rm,
};

const ash_cmd_verb ash__cmd_user_passwd = {
    .name = "user passwd",
    .group = "serve",
    .synopsis = "[--db DATABASE] NAME",
    .summary = "give a user another password",
    .details = PASSWORD,
    .options = plain_options,
    .min_words = 1,
    .max_words = 1,
    .run = run_passwd,
};

const ash_cmd_verb ash__cmd_user_limit = {
    .name = "user limit",
    .group = "serve",
    .synopsis = "[--db DATABASE] [--connections N] [--operations N] [--bytes SIZE] NAME",
    .summary = "say how much of a server a user may have, or show it",
    .details =
        "A second's worth of operations and bytes may come at once; what goes beyond waits, up to "
        "ten seconds, and is refused\n"
        "then (code 462).  One connection too many is refused.  Limits hold for MongoDB's drivers, "
        "at once.\n"
        "Example: ashlar user limit ann --connections 20 --operations 500 --bytes 10M",
    .options = limit_options,
    .min_words = 1,
    .max_words = 1,
    .run = run_limit,
};

const ash_cmd_verb ash__cmd_user_grant = {
    .name = "user grant",
    .group = "serve",
    .synopsis = "[--db DATABASE] --role ROLE[@DATABASE]... NAME",
    .summary = "give a user more roles",
    .options = role_options,
    .min_words = 1,
    .max_words = 1,
    .run = run_grant,
};

const ash_cmd_verb ash__cmd_user_revoke = {
    .name = "user revoke",
    .group = "serve",
    .synopsis = "[--db DATABASE] --role ROLE[@DATABASE]... NAME",
    .summary = "take roles from a user",
    .options = role_options,
    .min_words = 1,
    .max_words = 1,
    .run = run_revoke,
};
