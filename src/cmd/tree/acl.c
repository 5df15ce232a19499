/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/tree/room.h"

#include "base/buffer.h"
#include "base/error.h"
#include "base/mem.h"
#include "user/users.h"

#include <string.h>

enum { READ = ASH_CMD_TREE_FIRST_OPTION, WRITE, ENTER, INHERIT, EFFECTIVE };
static const ash_cmd_option options[] = {
    ASH_CMD_TREE_OPTIONS,
    {0, "read", "ROLE,...", "who may read; an empty list: nobody"},
    {0, "write", "ROLE,...", "who may change"},
    {0, "open", "ROLE,...", "who may pass through the folder (else: whoever may read it)"},
    {0, "inherit", NULL, "no list of its own: that of the folder above counts"},
    {0, "effective", "user:NAME|ROLE", "say what that user, or somebody with that role, may do"},
    ASH_CMD_TREE_BY_OPTION,
    ASH_CMD_TREE_NO_OPTION,
};

static const struct {
    const char *name;
    int option;
    unsigned right;
} rights[] = {{"read", READ, ASH_TREE_READ},
              {"write", WRITE, ASH_TREE_WRITE},
              {"open", ENTER, ASH_TREE_ENTER}};

/* "a,b" as an array. */
static void append_roles(bson_t *acl, const char *right, const char *roles)
{
    bson_t list;
    int count = 0;
    BSON_APPEND_ARRAY_BEGIN(acl, right, &list);
    while (*roles != 0) {
        char key[16];
        size_t len = strcspn(roles, ",");
        snprintf(key, sizeof key, "%d", count);
        if (len > 0) {
            bson_append_utf8(&list, key, -1, roles, (int)len);
            count++;
        }
        roles += len + (roles[len] == ',');
    }
    bson_append_array_end(acl, &list);
}

/* Where no list was, everybody had the rights that the first one does not name. */
static void warn_of_lost(const ash_cmd_tree_run *r, const char *path, const bson_t *acl)
{
    bool read = bson_has_field(acl, "read"), write = bson_has_field(acl, "write");
    if (read && write)
        return;
    ash__cmd_warn(r->cmd, "nobody may %s%s%s %s any more, as the list does not say who: %s%s%s",
                  read ? "" : "read", read || write ? "" : " or ", write ? "" : "change", path,
                  read ? "" : "--read ROLE,...", read || write ? "" : " ",
                  write ? "" : "--write ROLE,...");
}

/* The lists that were typed take the place of those that count; the others stay. */
static int set_lists(ash_cmd_tree_run *r, const char *path, ash_error *err)
{
    char *from = NULL;
    bson_t now, acl = BSON_INITIALIZER;
    bson_iter_t it;
    ash_tree_change_options o = ash__cmd_tree_changes(r);
    int rc = ash_tree_get_acl(r->tree, path, &r->op, &now, &from, err);
    if (rc == 0) {
        for (size_t i = 0; i < ASH_ARRAY_LEN(rights); i++) {
            const char *roles = r->args->values[rights[i].option];
            if (roles != NULL)
                append_roles(&acl, rights[i].name, roles);
            else if (bson_iter_init_find(&it, &now, rights[i].name))
                BSON_APPEND_VALUE(&acl, rights[i].name, bson_iter_value(&it));
        }
        rc = ash_tree_set_acl(r->tree, path, &acl, &o, &r->op, err);
        bson_destroy(&now);
        if (rc == 0 && from == NULL)
            warn_of_lost(r, path, &acl);
        for (size_t i = 0; rc == 0 && i < ASH_ARRAY_LEN(rights); i++)
            if (r->args->values[rights[i].option] != NULL)
                ash__cmd_tree_check_names(r, r->args->values[rights[i].option]);
    }
    ash_tree_string_free(from);
    bson_destroy(&acl);
    return rc;
}

static void print_list(const bson_t *acl, const char *right)
{
    bson_iter_t it, role;
    ash_buffer line = ASH_BUFFER_INIT;
    if (bson_iter_init_find(&it, acl, right) && bson_iter_recurse(&it, &role)) {
        while (bson_iter_next(&role)) {
            if (BSON_ITER_HOLDS_UTF8(&role))
                ash__buffer_printf(&line, "%s%s", line.len > 0 ? ", " : "",
                                   bson_iter_utf8(&role, NULL));
        }
    }
    bool named = bson_has_field(acl, right);
    const char *none = !named && strcmp(right, "open") == 0 ? "(whoever may read)" : "(nobody)";
    char *shown = ash__cmd_printable(line.len > 0 ? ash__buffer_text(&line) : none);
    printf("%-6s %s\n", right, shown);
    ash__free(shown);
    ash__buffer_release(&line);
}

static int show_lists(ash_cmd_tree_run *r, const char *path, ash_error *err)
{
    bson_t acl, object = BSON_INITIALIZER;
    char *from = NULL;
    int rc = ash_tree_get_acl(r->tree, path, &r->op, &acl, &from, err);
    if (rc != 0)
        return rc;
    if (r->cmd->json) {
        BSON_APPEND_UTF8(&object, "path", path);
        if (from != NULL) {
            BSON_APPEND_UTF8(&object, "from", from);
            BSON_APPEND_DOCUMENT(&object, "acl", &acl);
        }
        ash__cmd_emit(&object);
    } else if (from == NULL) {
        ash__cmd_say(r->cmd, "%s has no list, and no folder above it: everybody may do everything",
                     path);
    } else {
        ash__cmd_say(r->cmd, "%s, by the list of %s:", path, from);
        for (size_t i = 0; i < ASH_ARRAY_LEN(rights); i++)
            print_list(&acl, rights[i].name);
        ash__cmd_keep_output_error();
    }
    bson_destroy(&acl);
    bson_destroy(&object);
    ash_tree_string_free(from);
    return 0;
}

/* ---- what somebody may do ---- */

/* "user:NAME", "user:NAME@DATABASE", or a role, which is as somebody with just that. */
typedef struct somebody {
    ash_principal who;
    char *user, *db;
    bson_t roles;
    bool is_user;
    ash_privileges privileges; /* of a user */
} somebody;

static void become_role(somebody *s, ash_store *store, const char *role)
{
    bson_t *roles = BCON_NEW("0", "{", "role", BCON_UTF8(role), "db",
                             BCON_UTF8(ash_store_default_db(store)), "}");
    bson_destroy(&s->roles);
    bson_copy_to(roles, &s->roles);
    bson_destroy(roles);
    s->user = ash__strdup("");
}

static int become_user(somebody *s, ash_store *store, const char *text, ash_error *err)
{
    const char *at = strrchr(text, '@');
    ash_users users;
    bson_t doc;
    s->is_user = true;
    s->user = at != NULL ? ash__strndup(text, (size_t)(at - text)) : ash__strdup(text);
    s->db = ash__strdup(at != NULL ? at + 1 : "admin");
    ash_user_id id = {&ash__user_kind, s->user, s->db};
    int rc = ash__users_init(&users, store, err);
    if (rc != 0)
        return rc;
    rc = ash__user_find(&users, &id, &doc, err);
    if (rc == 0) {
        bson_destroy(&s->roles);
        rc = ash__user_near_roles(&users, ash__doc_from_bson(&doc), &s->privileges, &s->roles, err);
        bson_destroy(&doc);
    }
    ash__users_release(&users);
    return rc;
}

static int become(somebody *s, ash_store *store, const char *text, ash_error *err)
{
    int rc = 0;
    bson_init(&s->roles);
    if (strncmp(text, "user:", 5) == 0)
        rc = become_user(s, store, text + 5, err);
    else
        become_role(s, store, text);
    s->who = (ash_principal)ASH_PRINCIPAL_INIT;
    s->who.user = s->user;
    s->who.db = s->db;
    s->who.roles = &s->roles;
    return rc;
}

static void somebody_release(somebody *s)
{
    ash__free(s->user);
    ash__free(s->db);
    bson_destroy(&s->roles);
    ash__privileges_release(&s->privileges);
}

/* Lists take from what roles give.  By HTTP a user's have to reach all that a tree is made of. */
static bool roles_reach(const ash_cmd_tree_run *r, const somebody *s, unsigned right)
{
    bool reach = true;
    for (size_t i = 0; s->is_user && i < ASH_TREE_COLLECTIONS; i++)
        reach =
            reach && ash__privileges_allow(&s->privileges, ash_store_default_db(r->store),
                                           ash__tree_collections[i],
                                           right == ASH_TREE_WRITE ? ASH_CAN_CHANGE : ASH_CAN_LOOK);
    return reach;
}

static int ask(const ash_cmd_tree_run *r, const char *path, const somebody *s, unsigned right,
               ash_error *err)
{
    if (!roles_reach(r, s, right))
        return ash__fail(err, ASH_EACCES,
                         "no role of this user lets it %s the tree (user grant %s --role %s@%s)",
                         right == ASH_TREE_WRITE ? "change" : "read", s->user,
                         right == ASH_TREE_WRITE ? "readWrite" : "read",
                         ash_store_default_db(r->store));
    return ash_tree_allows(r->tree, path, &s->who, right, &r->op, err);
}

static int show_rights(ash_cmd_tree_run *r, const char *path, const somebody *s, bson_t *object,
                       ash_error *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < ASH_ARRAY_LEN(rights); i++) {
        ash_error refused = ASH_ERROR_INIT;
        rc = ask(r, path, s, rights[i].right, &refused);
        bool may = rc == 0;
        if (rc == ASH_EACCES)
            rc = 0;
        else if (rc != 0)
            *err = refused;
        BSON_APPEND_BOOL(object, rights[i].name, may);
        if (rc == 0)
            ash__cmd_say(r->cmd, "%-6s %s%s", rights[i].name,
                         may ? "yes" : "no: ", may ? "" : refused.text);
    }
    return rc;
}

static int show_effective(ash_cmd_tree_run *r, const char *path, const char *text, ash_error *err)
{
    somebody s = {0};
    bson_t object = BSON_INITIALIZER;
    int rc = become(&s, r->store, text, err);
    BSON_APPEND_UTF8(&object, "path", path);
    BSON_APPEND_UTF8(&object, strncmp(text, "user:", 5) == 0 ? "user" : "role",
                     strncmp(text, "user:", 5) == 0 ? text + 5 : text);
    if (rc == 0)
        rc = show_rights(r, path, &s, &object, err);
    if (rc == 0 && !s.is_user)
        ash__cmd_tree_check_names(r, text);
    if (rc == 0 && r->cmd->json)
        ash__cmd_emit(&object);
    bson_destroy(&object);
    somebody_release(&s);
    return rc;
}

static int acl(ash_cmd_tree_run *r, ash_error *err)
{
    const char *path = r->args->count > 0 ? r->args->words[0] : "/";
    const char *const *values = r->args->values;
    bool set = values[READ] != NULL || values[WRITE] != NULL || values[ENTER] != NULL;
    bool inherit = values[INHERIT] != NULL;
    if (set + inherit + (values[EFFECTIVE] != NULL) > 1)
        return ash__cmd_usage(r->cmd, "lists, --inherit and --effective cannot be had together");
    if (ash__cmd_tree_no_id(path, err) != 0)
        return ASH_EINVAL;
    if (values[EFFECTIVE] != NULL)
        return show_effective(r, path, values[EFFECTIVE], err);
    ash_tree_change_options o = ash__cmd_tree_changes(r);
    int rc = 0;
    if (set)
        rc = set_lists(r, path, err);
    else if (inherit)
        rc = ash_tree_set_acl(r->tree, path, NULL, &o, &r->op, err);
    return rc == 0 ? show_lists(r, path, err) : rc;
}

static int run_acl(ash_cmd *cmd, const ash_cmd_args *args)
{
    return ash__cmd_tree_run(cmd, ASH_CMD_READ, args, acl);
}

const ash_cmd_verb ash__cmd_tree_acl = {
    .name = "tree acl",
    .group = "trees",
    .synopsis = "[--read ROLE,...] [--write ROLE,...] [--open ROLE,...] [--inherit] [--effective "
                "user:NAME|ROLE] [PATH]",
    .summary = "show or say who may do what",
    .details =
        "The list of the nearest folder counts; a right that it does not name belongs to "
        "nobody, and where no list is,\n"
        "everybody may do everything.  Lists that are not given stay as they are.  They hold "
        "for those who come through\n"
        "a server with users; this command itself is the store's owner.  user:NAME in a list is a "
        "user of admin,\nuser:NAME@DATABASE one of another.",
    .options = options,
    .min_words = 0,
    .max_words = 1,
    .run = run_acl,
};
