/* SPDX-License-Identifier: Apache-2.0 */
/* A list may name who is to come, so nothing is refused; but a name that was mistyped lets nobody in,
 * and nobody would notice. */
#include "cmd/tree/room.h"

#include "base/mem.h"
#include "user/builtin.h"
#include "user/users.h"

#include <string.h>

static bool is_there(ash_users *u, const ash_user_kind *kind, const char *name, const char *db)
{
    ash_user_id id = {kind, name, db};
    ash_error err = ASH_ERROR_INIT;
    bson_t doc;
    int rc = ash__user_find(u, &id, &doc, &err);
    if (rc == 0)
        bson_destroy(&doc);
    /* Who cannot be looked for is not called missing. */
    return rc != ASH_ENOTFOUND;
}

/* NAME of admin, or NAME@DATABASE; a name of admin may have an "@", too. */
static bool is_user(ash_users *u, const char *text)
{
    const char *at = strrchr(text, '@');
    if (at == NULL || is_there(u, &ash__user_kind, text, "admin"))
        return is_there(u, &ash__user_kind, text, "admin");
    char *name = ash__strndup(text, (size_t)(at - text));
    bool there = is_there(u, &ash__user_kind, name, at + 1);
    ash__free(name);
    return there;
}

static bool is_role(ash_users *u, ash_store *store, const char *name)
{
    const char *const databases[] = {"admin", ash_store_default_db(store)};
    for (size_t i = 0; i < ASH_ARRAY_LEN(databases); i++)
        if (ash__role_is_builtin(name, databases[i]) ||
            is_there(u, &ash__role_kind, name, databases[i]))
            return true;
    return false;
}

static void check(const ash_cmd_tree_run *r, ash_users *u, const char *name)
{
    if (strncmp(name, "user:", 5) == 0 && !is_user(u, name + 5))
        ash__cmd_warn(r->cmd, "there is no user %s: the list lets nobody in by that", name + 5);
    else if (strncmp(name, "user:", 5) != 0 && !is_role(u, r->store, name))
        ash__cmd_warn(
            r->cmd, "there is no role %s%s: the list lets nobody in by that (a user is user:NAME)",
            name, is_user(u, name) ? ", but a user of that name" : "");
}

void ash__cmd_tree_check_names(const ash_cmd_tree_run *r, const char *list)
{
    ash_users users;
    ash_error err = ASH_ERROR_INIT;
    bool any = false;
    char *rest = NULL, *names = ash__strdup(list);
    if (ash__users_init(&users, r->store, &err) == 0) {
        /* Without users lists are for what programs call their own. */
        if (ash__users_any(&users, &any, &err) == 0 && any)
            for (char *name = strtok_r(names, ",", &rest); name != NULL;
                 name = strtok_r(NULL, ",", &rest))
                check(r, &users, name);
        ash__users_release(&users);
    }
    ash__free(names);
}
