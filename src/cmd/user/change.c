/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs of `ashlar user`.  On a folder, or through its server, which takes notice at once. */
#include "cmd/user/room.h"

#include "base/error.h"
#include "base/mem.h"

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

/* ---- roles ---- */

/* The options as an array of {role, db}; a role's name has no @, a database's neither. */
static int read_roles(const ash_user_run *r, ash_builder *b, ash_error *err)
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

/* "--role read" for a user of admin is read@admin: mostly the files' database was meant. */
static void warn_of_admin(const ash_user_run *r, ash_doc roles)
{
    const char *files = ash_store_default_db(r->users.store);
    for (ash_doc_iter it = ash__doc_iter(roles); ash__doc_iter_next(&it);) {
        const char *name = ash__doc_utf8(ash__value_doc(it.value), "role", "");
        bool on_data = strcmp(name, "read") == 0 || strcmp(name, "readWrite") == 0;
        if (on_data && strcmp(files, "admin") != 0 &&
            strcmp(ash__doc_utf8(ash__value_doc(it.value), "db", ""), "admin") == 0)
            ash__cmd_warn(r->cmd,
                          "%s@admin reaches the database admin alone; trees, buckets and "
                          "collections are mostly in %s: --role %s@%s",
                          name, files, name, files);
    }
}

/* ---- printing ---- */

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

/* For programs, after a change: the user as it is now. */
static int print_again(ash_user_run *r, ash_error *err)
{
    bson_t doc;
    if (!r->cmd->json)
        return 0;
    int rc = ash__user_find(&r->users, &r->id, &doc, err);
    if (rc != 0)
        return rc;
    print_user(r->cmd, ash__doc_from_bson(&doc));
    bson_destroy(&doc);
    return 0;
}

/* ---- one user ---- */

/* By --external, or --db $external. */
static int be_external(ash_user_run *r, ash_error *err)
{
    if (r->args->values[EXTERNAL] == NULL)
        return 0;
    if (ash__cmd_user_db(r->cmd, r->args) != NULL && !ash__user_is_external(&r->id))
        return ash__fail(err, ASH_EINVAL, "--external and --db do not go together");
    r->id.db = ASH_EXTERNAL_DB;
    return 0;
}

static int do_add(ash_user_run *r, ash_error *err)
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
    bool has_roles = rc == 0 && !ash__doc_is_empty(list);
    if (has_roles)
        warn_of_admin(r, list);
    ash__builder_release(&roles);
    if (rc == 0)
        ash__cmd_say(r->cmd, "added %s@%s%s", r->id.name, r->id.db,
                     has_roles ? "" : ", who has no roles, and so may do nothing (user grant)");
    return rc == 0 ? print_again(r, err) : rc;
}

static int do_passwd(ash_user_run *r, ash_error *err)
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
    return rc == 0 ? print_again(r, err) : rc;
}

static int do_rm(ash_user_run *r, ash_error *err)
{
    bool any = true;
    bson_t doc;
    int rc = ash__user_find(&r->users, &r->id, &doc, err);
    if (rc != 0)
        return rc;
    if (r->cmd->dry_run)
        ash__cmd_say(r->cmd, "would remove %s@%s", r->id.name, r->id.db);
    else
        rc = ash__user_drop(&r->users, &r->id, err);
    if (rc == 0 && r->cmd->json)
        print_user(r->cmd, ash__doc_from_bson(&doc));
    bson_destroy(&doc);
    if (r->cmd->dry_run)
        return rc;
    if (rc == 0)
        ash__cmd_say(r->cmd, "removed %s@%s", r->id.name, r->id.db);
    if (rc == 0 && ash__users_any(&r->users, &any, err) == 0 && !any)
        ash__cmd_warn(r->cmd, "that was the last user: without one, a server asks nobody, unless "
                              "it is started with --auth");
    return rc;
}

/* The first of the roles that the user has, or has not; an empty one: there is none. */
static ash_doc first_role(ash_doc user, ash_doc roles, bool has)
{
    ash_value own = ash__doc_get(user, "roles");
    ash_doc all = own.type == BSON_TYPE_ARRAY ? ash__value_doc(own) : ash__doc_empty;
    for (ash_doc_iter it = ash__doc_iter(roles); ash__doc_iter_next(&it);)
        if (ash__roles_have(all, ash__value_doc(it.value)) == has)
            return ash__value_doc(it.value);
    return ash__doc_empty;
}

/* What is not there cannot be taken; *news: there is something to give. */
static int check_roles(ash_user_run *r, ash_doc roles, bool grant, bool *news, ash_error *err)
{
    bson_t doc;
    if (ash__doc_is_empty(roles))
        return ash__fail(err, ASH_EINVAL, "--role says which");
    int rc = ash__user_find(&r->users, &r->id, &doc, err);
    if (rc != 0)
        return rc;
    ash_doc other = first_role(ash__doc_from_bson(&doc), roles, false);
    *news = !ash__doc_is_empty(other);
    if (!grant && *news)
        rc =
            ash__fail(err, ASH_ENOTFOUND,
                      "%.100s@%.63s has not the role %.100s@%.63s, and stays as it was", r->id.name,
                      r->id.db, ash__doc_utf8(other, "role", "?"), ash__doc_utf8(other, "db", "?"));
    bson_destroy(&doc);
    return rc;
}

static int change_roles(ash_user_run *r, bool grant, ash_error *err)
{
    ash_builder roles = ASH_BUILDER_INIT;
    bool news = false;
    int rc = read_roles(r, &roles, err);
    if (rc == 0)
        rc = check_roles(r, ash__builder_doc(&roles), grant, &news, err);
    if (rc == 0)
        rc = ash__user_grant(&r->users, &r->id, ash__builder_doc(&roles), grant, err);
    if (rc == 0 && grant)
        warn_of_admin(r, ash__builder_doc(&roles));
    ash__builder_release(&roles);
    if (rc == 0)
        ash__cmd_say(r->cmd, "%s@%s %s", r->id.name, r->id.db,
                     !grant ? "has fewer roles"
                     : news ? "has more roles"
                            : "had all of that already");
    return rc == 0 ? print_again(r, err) : rc;
}

static int do_grant(ash_user_run *r, ash_error *err)
{
    return change_roles(r, true, err);
}

static int do_revoke(ash_user_run *r, ash_error *err)
{
    return change_roles(r, false, err);
}

/* ---- ls ---- */

static int do_ls(ash_user_run *r, ash_error *err)
{
    ash_cursor *cursor = NULL;
    ash_doc doc = ash__doc_empty;
    int rc =
        ash__user_each(&r->users, &ash__user_kind, ash__cmd_user_db(r->cmd, r->args), &cursor, err);
    while (rc == 0 && (rc = ash_cursor_next(cursor, &doc, err)) == 0 && doc.data != NULL)
        print_user(r->cmd, doc);
    ash_cursor_free(cursor);
    return rc;
}

/* ---- the verbs ---- */

ASH_USER_VERB(add, ASH_CMD_WRITE)
ASH_USER_VERB(ls, ASH_CMD_READ)
ASH_USER_VERB(rm, ASH_CMD_WRITE)
ASH_USER_VERB(passwd, ASH_CMD_WRITE)
ASH_USER_VERB(grant, ASH_CMD_WRITE)
ASH_USER_VERB(revoke, ASH_CMD_WRITE)

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
    .details =
        "Connections on which the user has signed in may do nothing from then on, and its tokens "
        "are of no use.",
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

const ash_cmd_verb ash__cmd_user_grant = {
    .name = "user grant",
    .group = "serve",
    .synopsis = "[--db DATABASE] --role ROLE[@DATABASE]... NAME",
    .summary = "give a user more roles",
    .details = "They count at once, also for who has signed in.\n"
               "Example: ashlar user grant ann --role readWrite@files",
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
    .details = "All of them, or, if one is not the user's, none; at once, also for who has signed "
               "in.  `user ls` has them.\n"
               "Example: ashlar user revoke ann --role readWrite@files",
    .options = role_options,
    .min_words = 1,
    .max_words = 1,
    .run = run_revoke,
};
