/* SPDX-License-Identifier: Apache-2.0 */
/* Roles of one's own made, changed and dropped. */
#include "wire/cmd.h"

static const ash_doc *part(const ash_command *c, const char *name, ash_doc *holder)
{
    ash_value v = ash__arg(c, name);
    if (v.type == 0)
        return NULL;
    *holder = ash__value_doc(v);
    return holder;
}

typedef int (*change_fn)(ash_users *u, const ash_user_id *id, const ash_user_change *change,
                         ash_error *err);

static int change_role(ash_command *c, change_fn fn, bool all, ash_error *err)
{
    ash_user_id id;
    ash_doc roles, privileges;
    ash_user_change change = {.roles = part(c, "roles", &roles),
                              .privileges = part(c, "privileges", &privileges)};
    ash_value limits = ash__arg(c, "authenticationRestrictions");
    int rc = ash__command_user(c, &ash__role_kind, &id, err);
    if (rc != 0)
        return rc;
    if (limits.type != 0 && !ash__doc_is_empty(ash__value_doc(limits)))
        return ash__fail(err, ASH_EUNSUPPORTED,
                         "authenticationRestrictions are not supported by this server");
    if (all && change.privileges == NULL)
        return ash__missing_argument(c, "privileges", err);
    if (all && change.roles == NULL)
        return ash__missing_argument(c, "roles", err);
    if (change.privileges == NULL && change.roles == NULL)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "Must specify at least one field to update in updateRole");
    return fn(&c->server->users, &id, &change, err);
}

int ash__run_create_role(ash_command *c, ash_error *err)
{
    return change_role(c, ash__user_create, true, err);
}

int ash__run_update_role(ash_command *c, ash_error *err)
{
    return change_role(c, ash__user_update, false, err);
}

int ash__run_drop_role(ash_command *c, ash_error *err)
{
    ash_user_id id;
    int rc = ash__command_user(c, &ash__role_kind, &id, err);
    return rc == 0 ? ash__user_drop(&c->server->users, &id, err) : rc;
}

int ash__run_drop_all_roles(ash_command *c, ash_error *err)
{
    int64_t n = 0;
    int rc = ash__check_users(c, err);
    if (rc == 0)
        rc = ash__user_drop_all(&c->server->users, &ash__role_kind, c->db, &n, err);
    if (rc == 0)
        ash__builder_int64(&c->reply->body, "n", n);
    return rc;
}

static int grant_roles(ash_command *c, bool give, ash_error *err)
{
    ash_user_id id;
    ash_doc roles;
    int rc = ash__command_user(c, &ash__role_kind, &id, err);
    if (rc == 0 && part(c, "roles", &roles) == NULL)
        rc = ash__missing_argument(c, "roles", err);
    return rc == 0 ? ash__user_grant(&c->server->users, &id, roles, give, err) : rc;
}

static int grant_privileges(ash_command *c, bool give, ash_error *err)
{
    ash_user_id id;
    ash_doc list;
    int rc = ash__command_user(c, &ash__role_kind, &id, err);
    if (rc == 0 && part(c, "privileges", &list) == NULL)
        rc = ash__missing_argument(c, "privileges", err);
    return rc == 0 ? ash__role_grant_privileges(&c->server->users, &id, list, give, err) : rc;
}

int ash__run_grant_roles_to_role(ash_command *c, ash_error *err)
{
    return grant_roles(c, true, err);
}

int ash__run_revoke_roles_from_role(ash_command *c, ash_error *err)
{
    return grant_roles(c, false, err);
}

int ash__run_grant_privileges(ash_command *c, ash_error *err)
{
    return grant_privileges(c, true, err);
}

int ash__run_revoke_privileges(ash_command *c, ash_error *err)
{
    return grant_privileges(c, false, err);
}
