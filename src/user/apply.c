/* SPDX-License-Identifier: Apache-2.0 */
/* One document changed or removed, and roles and privileges that come and go in it. */
#include "user/users.h"

#include "base/mem.h"
#include "user/builtin.h"
#include "user/usage.h"

static void filter_begin(ash_builder *filter, const ash_user_id *id)
{
    char *text = ash__sprintf("%s.%s", id->db, id->name);
    ash__builder_begin(filter);
    ash__builder_text(filter, "_id", text);
    ash__free(text);
}

/* *matched: how many it was. */
static int update_one(ash_users *u, const ash_user_kind *kind, ash_doc filter, ash_doc update,
                      int64_t *matched, ash_error *err)
{
    ash_write_result result;
    ash_collection *c = NULL;
    bson_t filter_bson;
    bson_value_t value = {.value_type = BSON_TYPE_DOCUMENT};
    value.value.v_doc.data = (uint8_t *)(uintptr_t)update.data;
    value.value.v_doc.data_len = update.len;
    ash__doc_to_bson(filter, &filter_bson);
    ash_write_result_init(&result);
    int rc = ash__user_collection(u, kind->collection, &c, err);
    if (rc == 0)
        rc = ash_collection_update(c, &filter_bson, &value, NULL, &result, err);
    *matched = result.matched;
    ash_write_result_release(&result);
    ash_collection_free(c);
    return rc;
}

int ash__user_apply(ash_users *u, const ash_user_id *id, ash_doc update, ash_error *err)
{
    ash_builder filter = ASH_BUILDER_INIT;
    int64_t matched = 0;
    filter_begin(&filter, id);
    ash__builder_end(&filter);
    int rc = update_one(u, id->kind, ash__builder_doc(&filter), update, &matched, err);
    ash__builder_release(&filter);
    return rc == 0 && matched == 0 ? ash__user_missing(id, err) : rc;
}

static void add_limit(ash_builder *b, const char *name, int64_t limit)
{
    if (limit > 0)
        ash__builder_int64(b, name, limit);
}

int ash__user_set_limits(ash_users *u, const ash_user_id *id, const ash_limits *limits,
                         ash_error *err)
{
    ash_builder update = ASH_BUILDER_INIT;
    ash__builder_begin(&update);
    ash__builder_begin_doc(&update, "$set");
    ash__builder_begin_doc(&update, "limits");
    add_limit(&update, "connections", limits->connections);
    add_limit(&update, "operations", limits->operations);
    add_limit(&update, "bytes", limits->bytes);
    ash__builder_end(&update);
    ash__builder_end(&update);
    ash__builder_end(&update);
    int rc = ash__user_apply(u, id, ash__builder_doc(&update), err);
    ash__builder_release(&update);
    return rc;
}

/* ---- removing ---- */

static int remove_all(ash_users *u, const ash_user_kind *kind, ash_doc filter, int64_t *count,
                      ash_error *err)
{
    ash_write_result result;
    ash_collection *c = NULL;
    bson_t filter_bson;
    ash__doc_to_bson(filter, &filter_bson);
    ash_write_result_init(&result);
    int rc = ash__user_collection(u, kind->collection, &c, err);
    if (rc == 0)
        rc = ash_collection_remove(c, &filter_bson, NULL, &result, err);
    *count = result.deleted;
    ash_write_result_release(&result);
    ash_collection_free(c);
    return rc;
}

/* Who has the role no longer does: one that is made later under its name is another. */
static int take_from_all(ash_users *u, const ash_user_kind *kind, const ash_user_id *role,
                         ash_error *err)
{
    ash_builder update = ASH_BUILDER_INIT;
    ash_update_options o = ASH_UPDATE_OPTIONS_INIT;
    ash_collection *c = NULL;
    bson_t everybody = BSON_INITIALIZER;
    bson_value_t value = {.value_type = BSON_TYPE_DOCUMENT};
    ash__builder_begin(&update);
    ash__builder_begin_doc(&update, "$pull");
    ash__builder_begin_doc(&update, "roles");
    ash__builder_text(&update, "role", role->name);
    ash__builder_text(&update, "db", role->db);
    ash__builder_end(&update);
    ash__builder_end(&update);
    ash__builder_end(&update);
    value.value.v_doc.data = update.buf.data;
    value.value.v_doc.data_len = (uint32_t)update.buf.len;
    o.multi = true;
    int rc = ash__user_collection(u, kind->collection, &c, err);
    if (rc == 0)
        rc = ash_collection_update(c, &everybody, &value, &o, NULL, err);
    ash_collection_free(c);
    ash__builder_release(&update);
    bson_destroy(&everybody);
    return rc;
}

int ash__user_drop(ash_users *u, const ash_user_id *id, ash_error *err)
{
    ash_builder filter = ASH_BUILDER_INIT;
    int64_t count = 0;
    bson_t doc;
    int rc = 0;
    bool is_role = id->kind == &ash__role_kind;
    if (is_role && ash__role_is_builtin(id->name, id->db))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_ROLE_MODIFICATION,
                                "%.60s@%.63s is a built-in role and cannot be modified", id->name,
                                id->db);
    if (is_role && (rc = ash__user_find(u, id, &doc, err)) == 0)
        bson_destroy(&doc);
    if (rc == 0 && is_role)
        rc = take_from_all(u, &ash__user_kind, id, err);
    if (rc == 0 && is_role)
        rc = take_from_all(u, &ash__role_kind, id, err);
    filter_begin(&filter, id);
    ash__builder_end(&filter);
    if (rc == 0)
        rc = remove_all(u, id->kind, ash__builder_doc(&filter), &count, err);
    ash__builder_release(&filter);
    return rc == 0 && count == 0 ? ash__user_missing(id, err) : rc;
}

int ash__user_drop_all(ash_users *u, const ash_user_kind *kind, const char *db, int64_t *count,
                       ash_error *err)
{
    ash_cursor *cursor = NULL;
    ash_doc doc = ash__doc_empty;
    *count = 0;
    int rc = ash__user_each(u, kind, db, &cursor, err);
    while (rc == 0 && (rc = ash_cursor_next(cursor, &doc, err)) == 0 && doc.data != NULL) {
        char *name = ash__strdup(ash__doc_utf8(doc, kind->field, ""));
        ash_error what = ASH_ERROR_INIT;
        int dropped = ash__user_drop(u, &(ash_user_id){kind, name, db}, &what);
        *count += dropped == 0;
        rc = ash__unless(ASH_ENOTFOUND, dropped, &what, err);
        ash__free(name);
    }
    ash_cursor_free(cursor);
    return rc;
}

/* ---- giving and taking ---- */

int ash__user_grant(ash_users *u, const ash_user_id *id, ash_doc roles, bool grant, ash_error *err)
{
    ash_builder list = ASH_BUILDER_INIT, update = ASH_BUILDER_INIT;
    ash__builder_begin(&list);
    int rc = ash__roles_normalise(u, roles, id->db, grant, &list, err);
    ash__builder_end(&list);
    ash_doc named = ash__value_doc(ash__doc_get(ash__builder_doc(&list), "roles"));
    if (rc == 0 && id->kind == &ash__role_kind && ash__role_is_builtin(id->name, id->db))
        rc = ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_ROLE_MODIFICATION,
                              "%.60s@%.63s is a built-in role and cannot be modified", id->name,
                              id->db);
    if (rc == 0 && grant && id->kind == &ash__role_kind)
        rc = ash__role_check(u, id, &(ash_user_change){.roles = &named}, err);
    ash__builder_begin(&update);
    ash__builder_begin_doc(&update, grant ? "$addToSet" : "$pullAll");
    if (grant) {
        ash__builder_begin_doc(&update, "roles");
        ash__builder_array_value(&update, "$each", named);
        ash__builder_end(&update);
    } else
        ash__builder_array_value(&update, "roles", named);
    ash__builder_end(&update);
    ash__builder_end(&update);
    if (rc == 0)
        rc = ash__user_apply(u, id, ash__builder_doc(&update), err);
    ash__builder_release(&list);
    ash__builder_release(&update);
    return rc;
}

/* What the role has, and then more or less. */
static int merge(ash_doc role, ash_doc change, bool grant, ash_privileges *has, ash_error *err)
{
    ash_privileges p = ASH_PRIVILEGES_INIT;
    ash_value old = ash__doc_get(role, "privileges");
    int rc = ash__privileges_read(&p, change, err);
    if (rc == 0 && old.type == BSON_TYPE_ARRAY)
        rc = ash__privileges_read(has, ash__value_doc(old), err);
    if (rc == 0 && grant)
        ash__privileges_add_all(has, &p);
    for (size_t i = 0; rc == 0 && !grant && i < p.count; i++)
        ash__privileges_take(has, p.items[i].kind, p.items[i].db, p.items[i].coll,
                             p.items[i].actions);
    ash__privileges_release(&p);
    return rc;
}

/* Read and written on the condition that it is as it was read; somebody else's change between the
 * two begins it anew. */
static int try_grant(ash_users *u, const ash_user_id *id, ash_doc privileges, bool grant,
                     int64_t *matched, ash_error *err)
{
    ash_privileges has = ASH_PRIVILEGES_INIT;
    ash_builder list = ASH_BUILDER_INIT, filter = ASH_BUILDER_INIT, update = ASH_BUILDER_INIT;
    ash_user_change change = {.privileges = NULL};
    bson_t doc;
    *matched = 0;
    int rc = ash__user_find(u, id, &doc, err);
    if (rc != 0)
        return rc;
    rc = merge(ash__doc_from_bson(&doc), privileges, grant, &has, err);
    ash__builder_begin(&list);
    ash__privileges_write(&has, &list, "privileges");
    ash__builder_end(&list);
    ash_doc made = ash__value_doc(ash__doc_get(ash__builder_doc(&list), "privileges"));
    change.privileges = &made;
    if (rc == 0)
        rc = ash__role_check(u, id, &change, err);
    filter_begin(&filter, id);
    ash__builder_value(&filter, "privileges", ash__doc_get(ash__doc_from_bson(&doc), "privileges"));
    ash__builder_end(&filter);
    ash__builder_begin(&update);
    ash__builder_begin_doc(&update, "$set");
    ash__builder_array_value(&update, "privileges", made);
    ash__builder_end(&update);
    ash__builder_end(&update);
    if (rc == 0)
        rc = update_one(u, &ash__role_kind, ash__builder_doc(&filter), ash__builder_doc(&update),
                        matched, err);
    ash__builder_release(&list);
    ash__builder_release(&filter);
    ash__builder_release(&update);
    ash__privileges_release(&has);
    bson_destroy(&doc);
    return rc;
}

int ash__role_grant_privileges(ash_users *u, const ash_user_id *id, ash_doc privileges, bool grant,
                               ash_error *err)
{
    int64_t matched = 0;
    int rc = 0;
    if (ash__role_is_builtin(id->name, id->db))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_ROLE_MODIFICATION,
                                "%.60s@%.63s is a built-in role and cannot be modified", id->name,
                                id->db);
    for (int i = 0; i < 20 && rc == 0 && matched == 0; i++)
        rc = try_grant(u, id, privileges, grant, &matched, err);
    return rc == 0 && matched == 0
               ? ash__fail(err, ASH_ECONFLICT, "somebody else changes the role %.60s", id->name)
               : rc;
}
