/* SPDX-License-Identifier: Apache-2.0 */
/* What changes of users and roles need, as MongoDB has it: besides the action on their database, to
 * be allowed to grant (or take) each role in the role's own database, and each privilege in the
 * database that it is about.  So nobody gives what is not his to give. */
#include "wire/needs.h"

#include <string.h>

static ash_doc array_arg(const ash_command *c, const char *name)
{
    ash_value v = ash__arg(c, name);
    return v.type == BSON_TYPE_ARRAY ? ash__value_doc(v) : ash__doc_empty;
}

static int on_db(const ash_command *c, const char *db, ash_actions actions, ash_error *err)
{
    return ash__require(c, db, "", actions, err);
}

/* Each role of the argument; db of names alone: the command's. */
static int need_roles(const ash_command *c, ash_actions action, ash_error *err)
{
    int rc = 0;
    for (ash_doc_iter it = ash__doc_iter(array_arg(c, "roles"));
         rc == 0 && ash__doc_iter_next(&it);) {
        const char *db = c->db;
        if (it.value.type == BSON_TYPE_DOCUMENT)
            db = ash__doc_utf8(ash__value_doc(it.value), "db", c->db);
        rc = on_db(c, db, action, err);
    }
    return rc;
}

static int need_privileges(const ash_command *c, ash_actions action, ash_error *err)
{
    int rc = 0;
    for (ash_doc_iter it = ash__doc_iter(array_arg(c, "privileges"));
         rc == 0 && ash__doc_iter_next(&it);) {
        const char *db = NULL;
        if (it.value.type == BSON_TYPE_DOCUMENT) {
            ash_value resource = ash__doc_get(ash__value_doc(it.value), "resource");
            if (resource.type == BSON_TYPE_DOCUMENT)
                db = ash__doc_utf8(ash__value_doc(resource), "db", NULL);
        }
        /* Of the server, of everything, of all databases: admin's. */
        rc = on_db(c, db != NULL && *db != '\0' ? db : "admin", action, err);
    }
    return rc;
}

/* ---- users ---- */

int ash__need_create_user(ash_command *c, ash_error *err)
{
    if (ash__access_is_first(c) && strcmp(c->db, "admin") == 0)
        return 0;
    int rc = on_db(c, c->db, ASH_CAN(CREATE_USER), err);
    return rc == 0 ? need_roles(c, ASH_CAN(GRANT_ROLE), err) : rc;
}

static bool is_self(const ash_command *c, const char *user, const char *db)
{
    const ash_access *a = &c->connection->access;
    return a->user != NULL && user != NULL && strcmp(a->user, user) == 0 && strcmp(a->db, db) == 0;
}

/* Of oneself a weaker action does. */
static int need_change(const ash_command *c, ash_actions of_all, ash_actions of_self,
                       ash_error *err)
{
    if (is_self(c, ash__value_utf8(c->value, NULL), c->db) && ash__may(c, c->db, "", of_self))
        return 0;
    return on_db(c, c->db, of_all, err);
}

int ash__need_update_user(ash_command *c, ash_error *err)
{
    int rc = 0;
    if (ash__arg(c, "pwd").type != 0 || ash__arg(c, "mechanisms").type != 0)
        rc = need_change(c, ASH_CAN(CHANGE_PASSWORD), ASH_CAN(CHANGE_OWN_PASSWORD), err);
    if (rc == 0 && ash__arg(c, "customData").type != 0)
        rc = need_change(c, ASH_CAN(CHANGE_CUSTOM_DATA), ASH_CAN(CHANGE_OWN_CUSTOM_DATA), err);
    if (rc == 0 && ash__arg(c, "roles").type != 0)
        rc = on_db(c, c->db, ASH_CAN(REVOKE_ROLE), err);
    return rc == 0 ? need_roles(c, ASH_CAN(GRANT_ROLE), err) : rc;
}

int ash__need_drop_user(ash_command *c, ash_error *err)
{
    return on_db(c, c->db, ASH_CAN(DROP_USER), err);
}

static bool revokes(const ash_command *c)
{
    return strncmp(c->info->name, "revoke", strlen("revoke")) == 0;
}

int ash__need_grant_to_user(ash_command *c, ash_error *err)
{
    return need_roles(c, revokes(c) ? ASH_CAN(REVOKE_ROLE) : ASH_CAN(GRANT_ROLE), err);
}

/* ---- looking ---- */

static int need_view(const ash_command *c, ash_value v, const char *field, ash_actions action,
                     ash_error *err)
{
    const char *name = ash__value_utf8(v, NULL), *db = c->db;
    if (v.type == BSON_TYPE_DOCUMENT) {
        ash_doc doc = ash__value_doc(v);
        if (ash__value_truthy(ash__doc_get(doc, "forAllDBs")))
            return ash__require(c, "", "", action, err);
        name = ash__doc_utf8(doc, field, NULL);
        db = ash__doc_utf8(doc, "db", db);
    }
    /* Oneself, but not what one's password has become. */
    if (is_self(c, name, db) && strcmp(field, "user") == 0 &&
        !ash__arg_bool(c, "showCredentials", false))
        return 0;
    return on_db(c, db, action, err);
}

static int need_views(const ash_command *c, const char *field, ash_actions action, ash_error *err)
{
    int rc = 0;
    if (c->value.type != BSON_TYPE_ARRAY)
        return need_view(c, c->value, field, action, err);
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(c->value));
         rc == 0 && ash__doc_iter_next(&it);)
        rc = need_view(c, it.value, field, action, err);
    return rc;
}

int ash__need_view_users(ash_command *c, ash_error *err)
{
    return need_views(c, "user", ASH_CAN(VIEW_USER), err);
}

int ash__need_view_roles(ash_command *c, ash_error *err)
{
    return need_views(c, "role", ASH_CAN(VIEW_ROLE), err);
}

/* ---- roles ---- */

/* createRole and updateRole, which takes what was there. */
int ash__need_create_role(ash_command *c, ash_error *err)
{
    bool is_new = strcmp(c->info->name, "createRole") == 0;
    int rc = on_db(c, c->db, is_new ? ASH_CAN(CREATE_ROLE) : ASH_CAN(REVOKE_ROLE), err);
    if (rc == 0)
        rc = need_roles(c, ASH_CAN(GRANT_ROLE), err);
    return rc == 0 ? need_privileges(c, ASH_CAN(GRANT_ROLE), err) : rc;
}

int ash__need_drop_role(ash_command *c, ash_error *err)
{
    return on_db(c, c->db, ASH_CAN(DROP_ROLE), err);
}

int ash__need_grant_to_role(ash_command *c, ash_error *err)
{
    ash_actions action = revokes(c) ? ASH_CAN(REVOKE_ROLE) : ASH_CAN(GRANT_ROLE);
    int rc = need_roles(c, action, err);
    return rc == 0 ? need_privileges(c, action, err) : rc;
}
