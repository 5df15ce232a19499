/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of users and roles.  A user is one document, so each is one write: who reads it sees the
 * old state or the new one. */
#include "user/users.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "user/builtin.h"
#include "user/keys.h"
#include "user/subject.h"

#include <openssl/crypto.h>
#include <string.h>

/* ---- passwords ---- */

static void write_bytes(ash_builder *b, const char *name, const uint8_t *data, size_t len)
{
    char *text = ash__scram_base64(data, len);
    ash__builder_text(b, name, text);
    ash__free(text);
}

static int write_credential(const char *name, const char *password, ash_scram_mechanism mechanism,
                            ash_builder *b, ash_error *err)
{
    ash_scram_credential c = {.iterations = ash__scram_iterations(mechanism),
                              .salt_len = ash__scram_salt_bytes(mechanism)};
    ash__random(c.salt, c.salt_len);
    int rc = ash__scram_credential_make(mechanism, name, password, &c, err);
    ash__builder_begin_doc(b, ash__scram_name(mechanism));
    ash__builder_int32(b, "iterationCount", c.iterations);
    write_bytes(b, "salt", c.salt, c.salt_len);
    write_bytes(b, "storedKey", c.stored_key, ash__scram_key_bytes(mechanism));
    write_bytes(b, "serverKey", c.server_key, ash__scram_key_bytes(mechanism));
    ash__builder_end(b);
    OPENSSL_cleanse(&c, sizeof c);
    return rc;
}

static int read_mechanisms(const ash_doc *list, bool wanted[ASH_SCRAM_MECHANISMS], ash_error *err)
{
    bool any = list == NULL;
    for (int m = 0; m < ASH_SCRAM_MECHANISMS; m++)
        wanted[m] = list == NULL;
    if (list == NULL)
        return 0;
    for (ash_doc_iter it = ash__doc_iter(*list); ash__doc_iter_next(&it);) {
        ash_scram_mechanism m;
        if (!ash__scram_from_name(ash__value_utf8(it.value, ""), &m))
            return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                    "Unknown auth mechanism '%.60s'",
                                    ash__value_utf8(it.value, ""));
        wanted[m] = any = true;
    }
    return any ? 0
               : ash__fail_server(err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                  "mechanisms field must not be empty");
}

static void write_mechanisms(const bool wanted[ASH_SCRAM_MECHANISMS], ash_builder *b)
{
    char index[12];
    uint32_t n = 0;
    ash__builder_begin_array(b, "mechanisms");
    for (int m = 0; m < ASH_SCRAM_MECHANISMS; m++)
        if (wanted[m])
            ash__builder_text(b, ash__index_name(n++, index),
                              ash__scram_name((ash_scram_mechanism)m));
    ash__builder_end(b);
}

int ash__user_write_credentials(const char *name, const char *password, const ash_doc *mechanisms,
                                ash_builder *b, ash_error *err)
{
    bool wanted[ASH_SCRAM_MECHANISMS];
    int rc = read_mechanisms(mechanisms, wanted, err);
    if (rc != 0)
        return rc;
    if (*password == '\0')
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_BAD_VALUE, "Password cannot be empty");
    ash__builder_begin_doc(b, "credentials");
    for (int m = 0; rc == 0 && m < ASH_SCRAM_MECHANISMS; m++)
        if (wanted[m])
            rc = write_credential(name, password, (ash_scram_mechanism)m, b, err);
    ash__builder_end(b);
    write_mechanisms(wanted, b);
    return rc;
}

/* Fewer mechanisms with the password of before: one that has no credential cannot be added. */
static int keep_mechanisms(ash_users *u, const ash_user_id *id, const ash_doc *list, bool unset,
                           ash_builder *b, ash_error *err)
{
    bool wanted[ASH_SCRAM_MECHANISMS], has[ASH_SCRAM_MECHANISMS];
    int rc = read_mechanisms(list, wanted, err);
    if (rc == 0)
        rc = ash__user_mechanisms(u, id, has, err);
    for (int m = 0; rc == 0 && m < ASH_SCRAM_MECHANISMS; m++) {
        char path[40] = "credentials.";
        strcat(path, ash__scram_name((ash_scram_mechanism)m));
        if (wanted[m] && !has[m])
            rc = ash__fail_server(err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                  "mechanisms field must be a subset of previously set mechanisms");
        else if (unset && !wanted[m])
            ash__builder_text(b, path, "");
    }
    if (rc == 0 && !unset)
        write_mechanisms(wanted, b);
    return rc;
}

/* ---- making ---- */

/* With the first user the secret is kept that salts of unknown names come from. */
int ash__users_keep_secret(ash_users *u, ash_error *err)
{
    ash_builder filter = ASH_BUILDER_INIT, update = ASH_BUILDER_INIT;
    ash_update_options o = ASH_UPDATE_OPTIONS_INIT;
    ash_collection *c = NULL;
    bson_t filter_bson, update_bson;
    bson_value_t value = {.value_type = BSON_TYPE_DOCUMENT};
    ash__builder_begin(&filter);
    ash__builder_text(&filter, "_id", "scram");
    ash__builder_end(&filter);
    ash__builder_begin(&update);
    ash__builder_begin_doc(&update, "$setOnInsert");
    ash__builder_binary(&update, "secret", BSON_SUBTYPE_BINARY, u->secret, sizeof u->secret);
    ash__builder_end(&update);
    ash__builder_end(&update);
    ash__doc_to_bson(ash__builder_doc(&filter), &filter_bson);
    ash__doc_to_bson(ash__builder_doc(&update), &update_bson);
    value.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(&update_bson);
    value.value.v_doc.data_len = update_bson.len;
    o.upsert = true;
    int rc = ash__user_collection(u, "system.keys", &c, err);
    if (rc == 0)
        rc = ash_collection_update(c, &filter_bson, &value, &o, NULL, err);
    ash_collection_free(c);
    ash__builder_release(&filter);
    ash__builder_release(&update);
    return rc;
}

static void write_external(ash_builder *b)
{
    ash__builder_begin_doc(b, "credentials");
    ash__builder_bool(b, "external", true);
    ash__builder_end(b);
    ash__builder_begin_array(b, "mechanisms");
    ash__builder_text(b, "0", "external");
    ash__builder_end(b);
}

/* Its certificate is all that such a user signs in with. */
static int check_external(const ash_user_id *id, const ash_user_change *change, ash_error *err)
{
    if (!ash__user_is_external(id) || (change->password == NULL && change->mechanisms == NULL))
        return 0;
    return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                            "Cannot set the %s for users defined on the '" ASH_EXTERNAL_DB
                            "' database",
                            change->password != NULL ? "password" : "mechanisms");
}

static int check_name(const ash_user_id *id, ash_error *err)
{
    if (*id->name == '\0' || strlen(id->name) >= ASH_USER_NAME_BYTES)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_BAD_VALUE, "%s names have 1 to %d bytes",
                                id->kind->noun, ASH_USER_NAME_BYTES - 1);
    /* Logs could not have it. */
    if (ash__text_good(id->name, strlen(id->name)) != strlen(id->name))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_BAD_VALUE, "%s names are UTF-8",
                                id->kind->noun);
    if (id->kind == &ash__role_kind && ash__role_is_builtin(id->name, id->db))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_ROLE_MODIFICATION,
                                "%.60s@%.63s is a built-in role", id->name, id->db);
    return 0;
}

/* A role of one database cannot reach into others: only admin's can. */
static int check_reach(const char *db, const ash_privileges *p, ash_doc roles, ash_error *err)
{
    bool within = true;
    if (strcmp(db, "admin") == 0)
        return 0;
    for (size_t i = 0; i < p->count; i++)
        within &= p->items[i].kind == ASH_RESOURCE_NAMESPACE && strcmp(p->items[i].db, db) == 0;
    for (ash_doc_iter it = ash__doc_iter(roles); ash__doc_iter_next(&it);)
        within &= strcmp(ash__doc_utf8(ash__value_doc(it.value), "db", ""), db) == 0;
    return within ? 0
                  : ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_ROLE_MODIFICATION,
                                     "Roles on the '%.63s' database cannot be granted privileges "
                                     "or roles of other databases",
                                     db);
}

static int check_circle(ash_users *u, const ash_user_id *id, ash_doc roles, ash_error *err)
{
    bool circle;
    int rc = ash__roles_reach(u, roles, id, &circle, err);
    if (rc == 0 && circle)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_ROLE_MODIFICATION,
                                "Granting these roles to %.60s@%.63s would make a circle", id->name,
                                id->db);
    return rc;
}

static ash_doc array_in(const ash_builder *b, const char *name)
{
    ash_value v = ash__doc_get(ash__builder_doc(b), name);
    return v.type == BSON_TYPE_ARRAY ? ash__value_doc(v) : ash__doc_empty;
}

/* {roles, privileges} as they are kept, those that the change has. */
static int read_grants(ash_users *u, const ash_user_id *id, const ash_user_change *change,
                       ash_builder *out, ash_error *err)
{
    ash_privileges p = ASH_PRIVILEGES_INIT;
    int rc = 0;
    ash__builder_begin(out);
    if (change->roles != NULL)
        rc = ash__roles_normalise(u, *change->roles, id->db, true, out, err);
    if (rc == 0 && change->privileges != NULL && id->kind == &ash__role_kind)
        rc = ash__privileges_read(&p, *change->privileges, err);
    if (rc == 0 && change->privileges != NULL && id->kind == &ash__role_kind)
        ash__privileges_write(&p, out, "privileges");
    if (out->depth == 1)
        ash__builder_end(out);
    if (rc == 0 && id->kind == &ash__role_kind)
        rc = check_reach(id->db, &p, array_in(out, "roles"), err);
    if (rc == 0 && id->kind == &ash__role_kind)
        rc = check_circle(u, id, array_in(out, "roles"), err);
    ash__privileges_release(&p);
    return rc;
}

int ash__role_check(ash_users *u, const ash_user_id *id, const ash_user_change *change,
                    ash_error *err)
{
    ash_builder b = ASH_BUILDER_INIT;
    int rc = read_grants(u, id, change, &b, err);
    ash__builder_release(&b);
    return rc;
}

static int write_new(const ash_user_id *id, const ash_user_change *change, ash_builder *b,
                     ash_error *err)
{
    uint8_t uuid[16];
    char *text = ash__sprintf("%s.%s", id->db, id->name);
    ash__builder_text(b, "_id", text);
    ash__free(text);
    if (id->kind == &ash__user_kind) {
        ash__random(uuid, sizeof uuid);
        uuid[6] = (uint8_t)((uuid[6] & 0x0f) | 0x40); /* version 4 */
        uuid[8] = (uint8_t)((uuid[8] & 0x3f) | 0x80);
        ash__builder_binary(b, "userId", BSON_SUBTYPE_UUID, uuid, sizeof uuid);
    }
    ash__builder_text(b, id->kind->field, id->name);
    ash__builder_text(b, "db", id->db);
    if (change->custom_data != NULL)
        ash__builder_doc_value(b, "customData", *change->custom_data);
    if (change->origins != NULL)
        ash__builder_array_value(b, "authenticationRestrictions", *change->origins);
    if (ash__user_is_external(id))
        write_external(b);
    return change->password == NULL ? 0
                                    : ash__user_write_credentials(id->name, change->password,
                                                                  change->mechanisms, b, err);
}

static int insert(ash_users *u, const ash_user_id *id, ash_doc doc, ash_error *err)
{
    ash_collection *c = NULL;
    bson_t b;
    int rc = ash__user_collection(u, id->kind->collection, &c, err);
    ash__doc_to_bson(doc, &b);
    if (rc == 0)
        rc = ash_collection_insert_one(c, &b, NULL, err);
    ash_collection_free(c);
    if (rc == ASH_EEXISTS)
        return ash__fail_server(err, rc, id->kind->exists_code,
                                "%s \"%.255s@%.63s\" already exists", id->kind->noun, id->name,
                                id->db);
    return rc;
}

int ash__user_create(ash_users *u, const ash_user_id *id, const ash_user_change *change,
                     ash_error *err)
{
    ash_builder grants = ASH_BUILDER_INIT, b = ASH_BUILDER_INIT;
    ash_error own = ASH_ERROR_INIT;
    int rc = check_name(id, err);
    if (rc == 0 && ash__user_is_external(id))
        rc = ash__subject_check(id->name, err);
    if (rc == 0)
        rc = check_external(id, change, err);
    if (rc == 0)
        rc = read_grants(u, id, change, &grants, err);
    if (rc == 0) {
        ash__builder_begin(&b);
        rc = write_new(id, change, &b, err);
    }
    if (rc == 0) {
        ash__builder_elements(&b, ash__builder_doc(&grants));
        ash__builder_end(&b);
        /* A folder's server keeps its own, and refuses this one. */
        if (id->kind == &ash__user_kind)
            rc = ash__unless(ASH_EINVAL, ash__users_keep_secret(u, &own), &own, err);
    }
    if (rc == 0)
        rc = insert(u, id, ash__builder_doc(&b), err);
    ash__builder_release(&grants);
    ash__builder_release(&b);
    return rc;
}

/* ---- changing ---- */

static int write_update(ash_users *u, const ash_user_id *id, const ash_user_change *change,
                        ash_builder *b, ash_error *err)
{
    ash_builder grants = ASH_BUILDER_INIT;
    bool fewer = change->password == NULL && change->mechanisms != NULL;
    int rc = read_grants(u, id, change, &grants, err);
    ash__builder_begin(b);
    ash__builder_begin_doc(b, "$set");
    /* So that it is never empty. */
    ash__builder_text(b, id->kind->field, id->name);
    if (rc == 0 && change->password != NULL)
        rc = ash__user_write_credentials(id->name, change->password, change->mechanisms, b, err);
    if (rc == 0 && fewer)
        rc = keep_mechanisms(u, id, change->mechanisms, false, b, err);
    if (rc == 0 && change->custom_data != NULL)
        ash__builder_doc_value(b, "customData", *change->custom_data);
    if (rc == 0 && change->origins != NULL)
        ash__builder_array_value(b, "authenticationRestrictions", *change->origins);
    if (rc == 0)
        ash__builder_elements(b, ash__builder_doc(&grants));
    ash__builder_end(b);
    if (rc == 0 && fewer) {
        ash__builder_begin_doc(b, "$unset");
        ash__builder_text(b, "never", "");
        rc = keep_mechanisms(u, id, change->mechanisms, true, b, err);
        ash__builder_end(b);
    }
    ash__builder_end(b);
    ash__builder_release(&grants);
    return rc;
}

int ash__user_update(ash_users *u, const ash_user_id *id, const ash_user_change *change,
                     ash_error *err)
{
    ash_builder b = ASH_BUILDER_INIT;
    bson_t doc;
    int rc = check_name(id, err);
    if (rc == 0)
        rc = check_external(id, change, err);
    if (rc == 0 && (rc = ash__user_find(u, id, &doc, err)) == 0)
        bson_destroy(&doc);
    if (rc == 0)
        rc = write_update(u, id, change, &b, err);
    if (rc == 0)
        rc = ash__user_apply(u, id, ash__builder_doc(&b), err);
    ash__builder_release(&b);
    return rc;
}
