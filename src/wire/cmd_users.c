/* SPDX-License-Identifier: Apache-2.0 */
/* Users made, changed and dropped: the arguments of MongoDB's commands; what they come to is
 * user/users.h's. */
#include "wire/cmd.h"

#include "user/origin.h"

#include <string.h>

int ash__check_users(const ash_command *c, ash_error *err)
{
    if (c->server->opts.users)
        return 0;
    return ash__fail_server(err, ASH_EUNSUPPORTED, ASH_MONGO_COMMAND_NOT_SUPPORTED,
                            "%s is not supported: this server has no users", c->info->name);
}

int ash__command_user(const ash_command *c, const ash_user_kind *kind, ash_user_id *out,
                      ash_error *err)
{
    uint32_t len = 0;
    int rc = ash__check_users(c, err);
    if (rc != 0)
        return rc;
    if (c->value.type != BSON_TYPE_UTF8)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_TYPE_MISMATCH,
                                "BSON field '%s' is the wrong type '%s', expected type 'string'",
                                c->info->name, ash__type_name(c->value.type));
    *out = (ash_user_id){kind, ash__value_string(c->value, &len), c->db};
    /* Behind a NUL nobody would look. */
    if (len == 0 || strlen(out->name) != len)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "%s document needs '%s' field to be non-empty", kind->noun,
                                kind->field);
    return 0;
}

static const ash_doc *part(const ash_command *c, const char *name, ash_doc *holder)
{
    ash_value v = ash__arg(c, name);
    if (v.type == 0)
        return NULL;
    *holder = ash__value_doc(v);
    return holder;
}

typedef struct user_arguments {
    ash_doc roles, custom_data, mechanisms, origins;
    ash_user_change change;
} user_arguments;

static int read_password(const ash_command *c, const char **out, ash_error *err)
{
    uint32_t len = 0;
    ash_value v = ash__arg(c, "pwd");
    *out = v.type == BSON_TYPE_UTF8 ? ash__value_string(v, &len) : NULL;
    if (*out != NULL && strlen(*out) != len)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "a password has no NUL in it");
    if (*out != NULL && !ash__arg_bool(c, "digestPassword", true))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "Use of SCRAM-SHA-256 requires undigested passwords");
    return 0;
}

static int read_arguments(const ash_command *c, user_arguments *a, ash_error *err)
{
    memset(a, 0, sizeof *a);
    a->change.origins = part(c, "authenticationRestrictions", &a->origins);
    int rc = a->change.origins != NULL ? ash__origins_check(a->origins, err) : 0;
    if (rc != 0)
        return rc;
    a->change.roles = part(c, "roles", &a->roles);
    a->change.custom_data = part(c, "customData", &a->custom_data);
    a->change.mechanisms = part(c, "mechanisms", &a->mechanisms);
    return read_password(c, &a->change.password, err);
}

int ash__run_create_user(ash_command *c, ash_error *err)
{
    ash_user_id id;
    user_arguments a;
    int rc = ash__command_user(c, &ash__user_kind, &id, err);
    if (rc == 0)
        rc = read_arguments(c, &a, err);
    if (rc == 0 && a.change.password == NULL && !ash__user_is_external(&id))
        rc = ash__fail_server(err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                              "Must provide a 'pwd' field for all user documents, except those "
                              "with '$external' as the user's source db");
    if (rc == 0 && a.change.roles == NULL)
        rc = ash__fail_server(err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                              "\"createUser\" command requires a \"roles\" array");
    return rc == 0 ? ash__user_create(&c->server->users, &id, &a.change, err) : rc;
}

int ash__run_update_user(ash_command *c, ash_error *err)
{
    ash_user_id id;
    user_arguments a;
    int rc = ash__command_user(c, &ash__user_kind, &id, err);
    if (rc == 0)
        rc = read_arguments(c, &a, err);
    if (rc == 0 && a.change.password == NULL && a.change.roles == NULL &&
        a.change.custom_data == NULL && a.change.mechanisms == NULL && a.change.origins == NULL)
        rc = ash__fail_server(err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                              "Must specify at least one field to update in updateUser");
    return rc == 0 ? ash__user_update(&c->server->users, &id, &a.change, err) : rc;
}

int ash__run_drop_user(ash_command *c, ash_error *err)
{
    ash_user_id id;
    int rc = ash__command_user(c, &ash__user_kind, &id, err);
    return rc == 0 ? ash__user_drop(&c->server->users, &id, err) : rc;
}

int ash__run_drop_all_users(ash_command *c, ash_error *err)
{
    int64_t n = 0;
    int rc = ash__check_users(c, err);
    if (rc == 0)
        rc = ash__user_drop_all(&c->server->users, &ash__user_kind, c->db, &n, err);
    if (rc == 0)
        ash__builder_int64(&c->reply->body, "n", n);
    return rc;
}

static int grant(ash_command *c, bool give, ash_error *err)
{
    ash_user_id id;
    ash_doc roles;
    int rc = ash__command_user(c, &ash__user_kind, &id, err);
    if (rc == 0 && part(c, "roles", &roles) == NULL)
        rc = ash__missing_argument(c, "roles", err);
    return rc == 0 ? ash__user_grant(&c->server->users, &id, roles, give, err) : rc;
}

int ash__run_grant_roles_to_user(ash_command *c, ash_error *err)
{
    return grant(c, true, err);
}

int ash__run_revoke_roles_from_user(ash_command *c, ash_error *err)
{
    return grant(c, false, err);
}
