/* SPDX-License-Identifier: Apache-2.0 */
/* Roles that hold roles: a walk over them in breadth, each once, so that a circle ends it. */
#include "user/users.h"

#include "base/mem.h"
#include "user/builtin.h"

#include <string.h>

typedef struct role_name {
    char *role, *db; /* owned */
} role_name;

typedef struct walk {
    role_name *items;
    size_t count, capacity;
} walk;

static void walk_release(walk *w)
{
    for (size_t i = 0; i < w->count; i++) {
        ash__free(w->items[i].role);
        ash__free(w->items[i].db);
    }
    ash__free(w->items);
}

static int walk_add(walk *w, const char *role, const char *db, ash_error *err)
{
    for (size_t i = 0; i < w->count; i++)
        if (strcmp(w->items[i].role, role) == 0 && strcmp(w->items[i].db, db) == 0)
            return 0;
    if (w->count == ASH_MAX_ROLES)
        return ash__fail(err, ASH_ETOOBIG, "more than %d roles", ASH_MAX_ROLES);
    w->items = ash__grow_array(w->items, w->count, &w->capacity, sizeof *w->items);
    w->items[w->count++] = (role_name){ash__strdup(role), ash__strdup(db)};
    return 0;
}

/* Those of an array; db: of names alone. */
static int walk_add_all(walk *w, ash_doc roles, const char *db, ash_error *err)
{
    int rc = 0;
    for (ash_doc_iter it = ash__doc_iter(roles); rc == 0 && ash__doc_iter_next(&it);) {
        const char *role = ash__value_utf8(it.value, NULL), *of = db;
        if (it.value.type == BSON_TYPE_DOCUMENT) {
            role = ash__doc_utf8(ash__value_doc(it.value), "role", NULL);
            of = ash__doc_utf8(ash__value_doc(it.value), "db", NULL);
        }
        if (role == NULL || of == NULL || *role == '\0')
            return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                    "a role is a name or {role: name, db: database}");
        rc = walk_add(w, role, of, err);
    }
    return rc;
}

static ash_doc array_of(ash_doc doc, const char *name)
{
    ash_value v = ash__doc_get(doc, name);
    return v.type == BSON_TYPE_ARRAY ? ash__value_doc(v) : ash__doc_empty;
}

static void write_name(ash_builder *b, size_t index, const role_name *r)
{
    char name[12];
    ash__builder_begin_doc(b, ash__index_name((uint32_t)index, name));
    ash__builder_text(b, "role", r->role);
    ash__builder_text(b, "db", r->db);
    ash__builder_end(b);
}

/* ---- what they come to ---- */

/* A role of somebody's own: its privileges, and the roles in it to the end of the walk. */
static int visit(ash_users *u, walk *w, size_t at, ash_privileges *out, ash_error *err)
{
    bson_t doc;
    ash_error what = ASH_ERROR_INIT;
    if (ash__role_is_builtin(w->items[at].role, w->items[at].db)) {
        if (out != NULL)
            ash__role_builtin(w->items[at].role, w->items[at].db, out);
        return 0;
    }
    ash_user_id id = {&ash__role_kind, w->items[at].role, w->items[at].db};
    int rc = ash__user_find(u, &id, &doc, &what);
    if (rc != 0)
        return ash__unless(ASH_ENOTFOUND, rc, &what, err);
    ash_doc role = ash__doc_from_bson(&doc);
    if (out != NULL)
        rc = ash__privileges_read(out, array_of(role, "privileges"), err);
    if (rc == 0)
        rc = walk_add_all(w, array_of(role, "roles"), w->items[at].db, err);
    bson_destroy(&doc);
    return rc;
}

static int walk_roles(ash_users *u, walk *w, ash_doc roles, ash_privileges *out, ash_error *err)
{
    int rc = walk_add_all(w, roles, "admin", err);
    for (size_t i = 0; rc == 0 && i < w->count; i++)
        rc = visit(u, w, i, out, err);
    return rc;
}

bool ash__roles_have(ash_doc roles, ash_doc role)
{
    for (ash_doc_iter it = ash__doc_iter(roles); ash__doc_iter_next(&it);) {
        ash_doc one =
            it.value.type == BSON_TYPE_DOCUMENT ? ash__value_doc(it.value) : ash__doc_empty;
        if (strcmp(ash__doc_utf8(one, "role", ""), ash__doc_utf8(role, "role", "")) == 0 &&
            strcmp(ash__doc_utf8(one, "db", ""), ash__doc_utf8(role, "db", "")) == 0)
            return true;
    }
    return false;
}

int ash__roles_resolve(ash_users *u, ash_doc roles, ash_privileges *out, ash_builder *all,
                       ash_error *err)
{
    walk w = {0};
    int rc = walk_roles(u, &w, roles, out, err);
    if (rc == 0 && all != NULL)
        for (size_t i = 0; i < w.count; i++)
            write_name(all, i, &w.items[i]);
    walk_release(&w);
    return rc;
}

/* Of those, {role, db} of admin and the store's default database. */
static void keep_near(const ash_users *u, ash_doc all, bson_t *out)
{
    ash_builder b = ASH_BUILDER_INIT;
    bson_t view;
    char index[12];
    uint32_t n = 0;
    ash__builder_begin(&b);
    for (ash_doc_iter it = ash__doc_iter(all); ash__doc_iter_next(&it);) {
        const char *db = ash__doc_utf8(ash__value_doc(it.value), "db", "");
        if (strcmp(db, "admin") == 0 || strcmp(db, ash_store_default_db(u->store)) == 0)
            ash__builder_doc_value(&b, ash__index_name(n++, index), ash__value_doc(it.value));
    }
    ash__builder_end(&b);
    ash__doc_to_bson(ash__builder_doc(&b), &view);
    bson_copy_to(&view, out);
    ash__builder_release(&b);
}

int ash__user_near_roles(ash_users *u, ash_doc user, ash_privileges *privileges, bson_t *out,
                         ash_error *err)
{
    ash_builder b = ASH_BUILDER_INIT;
    ash_value given = ash__doc_get(user, "roles");
    ash_doc roles = given.type == BSON_TYPE_ARRAY ? ash__value_doc(given) : ash__doc_empty;
    ash__builder_begin(&b);
    int rc = ash__roles_resolve(u, roles, privileges, &b, err);
    ash__builder_end(&b);
    if (rc == 0)
        keep_near(u, ash__builder_doc(&b), out);
    else
        bson_init(out);
    ash__builder_release(&b);
    return rc;
}

int ash__roles_reach(ash_users *u, ash_doc roles, const ash_user_id *role, bool *out,
                     ash_error *err)
{
    walk w = {0};
    *out = false;
    int rc = walk_roles(u, &w, roles, NULL, err);
    for (size_t i = 0; rc == 0 && i < w.count; i++)
        *out |= strcmp(w.items[i].role, role->name) == 0 && strcmp(w.items[i].db, role->db) == 0;
    walk_release(&w);
    return rc;
}

/* ---- as commands name them ---- */

static int check_there(ash_users *u, const role_name *r, ash_error *err)
{
    bson_t doc;
    if (ash__role_is_builtin(r->role, r->db))
        return 0;
    ash_user_id id = {&ash__role_kind, r->role, r->db};
    int rc = ash__user_find(u, &id, &doc, err);
    if (rc == 0)
        bson_destroy(&doc);
    if (rc == ASH_ENOTFOUND)
        return ash__fail_server(err, rc, ASH_MONGO_ROLE_NOT_FOUND,
                                "Could not find role: %.255s@%.63s", r->role, r->db);
    return rc;
}

int ash__roles_normalise(ash_users *u, ash_doc roles, const char *db, bool must_exist,
                         ash_builder *b, ash_error *err)
{
    walk w = {0};
    int rc = walk_add_all(&w, roles, db, err);
    ash__builder_begin_array(b, "roles");
    for (size_t i = 0; rc == 0 && i < w.count; i++) {
        if (must_exist)
            rc = check_there(u, &w.items[i], err);
        write_name(b, i, &w.items[i]);
    }
    ash__builder_end(b);
    walk_release(&w);
    return rc;
}
