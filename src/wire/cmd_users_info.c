/* SPDX-License-Identifier: Apache-2.0 */
/* usersInfo and rolesInfo: 1 (all of this database), {forAllDBs: true}, a name, {user, db}, or an
 * array of these. */
#include "wire/cmd.h"

#include "base/mem.h"
#include "user/builtin.h"

#include <string.h>

typedef struct listing {
    ash_command *c;
    const ash_user_kind *kind;
    uint32_t count;
    bool privileges; /* also what the roles come to */
} listing;

static ash_doc array_of(ash_doc doc, const char *name)
{
    ash_value v = ash__doc_get(doc, name);
    return v.type == BSON_TYPE_ARRAY ? ash__value_doc(v) : ash__doc_empty;
}

/* inheritedRoles and inheritedPrivileges; own: a role's own privileges come first. */
static int add_inherited(listing *l, ash_doc doc, ash_privileges *own, ash_error *err)
{
    ash_builder *b = &l->c->reply->body;
    ash__builder_begin_array(b, "inheritedRoles");
    int rc = ash__roles_resolve(&l->c->server->users, array_of(doc, "roles"), own, b, err);
    ash__builder_end(b);
    if (l->privileges && rc == 0)
        ash__privileges_write(own, b, "inheritedPrivileges");
    return rc;
}

static void add_user_fields(listing *l, ash_doc doc)
{
    ash_builder *b = &l->c->reply->body;
    bool credentials = ash__arg_bool(l->c, "showCredentials", false);
    bool custom = ash__arg_bool(l->c, "showCustomData", true);
    bool origins = ash__arg_bool(l->c, "showAuthenticationRestrictions", false);
    for (ash_doc_iter it = ash__doc_iter(doc); ash__doc_iter_next(&it);)
        if ((credentials || strcmp(it.name, "credentials") != 0) &&
            (custom || strcmp(it.name, "customData") != 0) &&
            (origins || strcmp(it.name, "authenticationRestrictions") != 0))
            ash__builder_element(b, &it);
}

static int add_user(listing *l, ash_doc doc, ash_error *err)
{
    ash_privileges p = ASH_PRIVILEGES_INIT;
    int rc = 0;
    add_user_fields(l, doc);
    if (l->privileges)
        rc = add_inherited(l, doc, &p, err);
    ash__privileges_release(&p);
    return rc;
}

static int add_role(listing *l, ash_doc doc, ash_error *err)
{
    ash_builder *b = &l->c->reply->body;
    ash_privileges p = ASH_PRIVILEGES_INIT;
    ash__builder_value(b, "role", ash__doc_get(doc, "role"));
    ash__builder_value(b, "db", ash__doc_get(doc, "db"));
    ash__builder_bool(b, "isBuiltin", false);
    ash__builder_array_value(b, "roles", array_of(doc, "roles"));
    int rc = ash__privileges_read(&p, array_of(doc, "privileges"), err);
    if (rc == 0 && l->privileges)
        ash__privileges_write(&p, b, "privileges");
    if (rc == 0)
        rc = add_inherited(l, doc, &p, err);
    ash__privileges_release(&p);
    return rc;
}

static int add_one(listing *l, ash_doc doc, ash_error *err)
{
    char index[12];
    ash_builder *b = &l->c->reply->body;
    int rc = ash__builder_check(b, l->c->info->name, err);
    if (rc != 0)
        return rc;
    ash__builder_begin_doc(b, ash__index_name(l->count++, index));
    rc = l->kind == &ash__user_kind ? add_user(l, doc, err) : add_role(l, doc, err);
    ash__builder_end(b);
    return rc;
}

static void add_builtin(listing *l, const char *role, const char *db)
{
    char index[12];
    ash_builder *b = &l->c->reply->body;
    ash_privileges p = ASH_PRIVILEGES_INIT;
    ash__role_builtin(role, db, &p);
    ash__builder_begin_doc(b, ash__index_name(l->count++, index));
    ash__builder_text(b, "role", role);
    ash__builder_text(b, "db", db);
    ash__builder_bool(b, "isBuiltin", true);
    ash__builder_array_value(b, "roles", ash__doc_empty);
    ash__builder_array_value(b, "inheritedRoles", ash__doc_empty);
    if (l->privileges) {
        ash__privileges_write(&p, b, "privileges");
        ash__privileges_write(&p, b, "inheritedPrivileges");
    }
    ash__builder_end(b);
    ash__privileges_release(&p);
}

/* What is kept of passwords could be guessed bit by bit by what matches it. */
static int check_filter(ash_doc filter, ash_error *err)
{
    for (ash_doc_iter it = ash__doc_iter(filter); ash__doc_iter_next(&it);)
        if (it.name[0] == '$' || strncmp(it.name, "credentials", strlen("credentials")) == 0)
            return ash__fail(err, ASH_EUNSUPPORTED,
                             "usersInfo: a filter on '%.60s' is not supported by this server",
                             it.name);
    return 0;
}

static ash_doc filter_of(const listing *l)
{
    ash_value v = ash__arg(l->c, "filter");
    return v.type == BSON_TYPE_DOCUMENT ? ash__value_doc(v) : ash__doc_empty;
}

/* db NULL: of all. */
static int add_all(listing *l, const char *db, ash_error *err)
{
    ash_cursor *cursor = NULL;
    ash_doc doc = ash__doc_empty;
    int rc = ash__user_each_matching(&l->c->server->users, l->kind, db, filter_of(l), &cursor, err);
    while (rc == 0 && (rc = ash_cursor_next(cursor, &doc, err)) == 0 && doc.data != NULL)
        rc = add_one(l, doc, err);
    ash_cursor_free(cursor);
    const char *role = NULL;
    if (rc == 0 && db != NULL && l->kind == &ash__role_kind &&
        ash__arg_bool(l->c, "showBuiltinRoles", false))
        for (size_t i = 0; (role = ash__role_builtin_name(db, i)) != NULL; i++)
            add_builtin(l, role, db);
    return rc;
}

static int add_named_matching(listing *l, const char *name, const char *db, ash_error *err)
{
    ash_builder wanted = ASH_BUILDER_INIT;
    ash_cursor *cursor = NULL;
    ash_doc doc = ash__doc_empty;
    ash__builder_begin(&wanted);
    ash__builder_text(&wanted, l->kind->field, name);
    ash__builder_elements(&wanted, filter_of(l));
    ash__builder_end(&wanted);
    int rc = ash__user_each_matching(&l->c->server->users, l->kind, db, ash__builder_doc(&wanted),
                                     &cursor, err);
    while (rc == 0 && (rc = ash_cursor_next(cursor, &doc, err)) == 0 && doc.data != NULL)
        rc = add_one(l, doc, err);
    ash_cursor_free(cursor);
    ash__builder_release(&wanted);
    return rc;
}

/* One that is not there is not in the answer. */
static int add_named(listing *l, const char *name, const char *db, ash_error *err)
{
    bson_t doc;
    ash_error what = ASH_ERROR_INIT;
    ash_user_id id = {l->kind, name, db};
    if (l->kind == &ash__role_kind && ash__role_is_builtin(name, db)) {
        add_builtin(l, name, db);
        return 0;
    }
    if (!ash__doc_is_empty(filter_of(l)))
        return add_named_matching(l, name, db, err);
    int rc = ash__user_find(&l->c->server->users, &id, &doc, &what);
    if (rc != 0)
        return ash__unless(ASH_ENOTFOUND, rc, &what, err);
    rc = add_one(l, ash__doc_from_bson(&doc), err);
    bson_destroy(&doc);
    return rc;
}

static int add_selected(listing *l, ash_value v, ash_error *err)
{
    int64_t one;
    const char *name = ash__value_utf8(v, NULL), *db = l->c->db;
    if (name == NULL && v.type == BSON_TYPE_DOCUMENT) {
        ash_doc doc = ash__value_doc(v);
        if (ash__value_truthy(ash__doc_get(doc, "forAllDBs")))
            return add_all(l, NULL, err);
        name = ash__doc_utf8(doc, l->kind->field, NULL);
        db = ash__doc_utf8(doc, "db", db);
    }
    if (name != NULL)
        return add_named(l, name, db, err);
    if (ash__value_as_int64(v, &one) && one == 1)
        return add_all(l, db, err);
    return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                            "%s takes 1, a name, {%s, db} or an array of these", l->c->info->name,
                            l->kind->field);
}

static int run_info(ash_command *c, const ash_user_kind *kind, const char *name, ash_error *err)
{
    listing l = {
        .c = c, .kind = kind, .privileges = ash__value_truthy(ash__arg(c, "showPrivileges"))};
    int rc = check_filter(filter_of(&l), err);
    if (rc != 0)
        return rc;
    ash__builder_begin_array(&c->reply->body, name);
    /* Of a server without users there are none. */
    if (c->server->opts.users && c->value.type == BSON_TYPE_ARRAY)
        for (ash_doc_iter it = ash__doc_iter(ash__value_doc(c->value));
             rc == 0 && ash__doc_iter_next(&it);)
            rc = add_selected(&l, it.value, err);
    else if (c->server->opts.users)
        rc = add_selected(&l, c->value, err);
    ash__builder_end(&c->reply->body);
    return rc;
}

int ash__run_users_info(ash_command *c, ash_error *err)
{
    return run_info(c, &ash__user_kind, "users", err);
}

int ash__run_roles_info(ash_command *c, ash_error *err)
{
    return run_info(c, &ash__role_kind, "roles", err);
}
