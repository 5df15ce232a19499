/* SPDX-License-Identifier: Apache-2.0 */
/* The documents as they lie in the store: finding them, and what a sign-in needs of them. */
#include "user/users.h"

#include "base/base64.h"
#include "base/hash.h"
#include "base/mem.h"

#include <openssl/crypto.h>
#include <stdatomic.h>
#include <string.h>

const ash_user_kind ash__user_kind = {"system.users", "user", "User", ASH_MONGO_USER_NOT_FOUND,
                                      ASH_MONGO_LOCATION_USER_EXISTS};
const ash_user_kind ash__role_kind = {"system.roles", "role", "Role", ASH_MONGO_ROLE_NOT_FOUND,
                                      ASH_MONGO_LOCATION_ROLE_EXISTS};

int ash__user_collection(ash_users *u, const char *name, ash_collection **out, ash_error *err)
{
    return ash_collection_new(u->store, "admin", name, out, err);
}

int ash__user_missing(const ash_user_id *id, ash_error *err)
{
    return ash__fail_server(err, ASH_ENOTFOUND, id->kind->missing_code,
                            "%s '%.255s@%.63s' not found", id->kind->noun, id->name, id->db);
}

bool ash__user_is_external(const ash_user_id *id)
{
    return id->kind == &ash__user_kind && strcmp(id->db, ASH_EXTERNAL_DB) == 0;
}

/* ---- changes ---- */

static _Atomic uint64_t changes = 1;

uint64_t ash__users_changes(void)
{
    return atomic_load(&changes);
}

void ash__users_changed(void)
{
    atomic_fetch_add(&changes, 1);
}

/* ---- finding ---- */

static int find_by_id(ash_users *u, const char *collection, const char *id, bson_t *out,
                      ash_error *err)
{
    ash_builder b = ASH_BUILDER_INIT;
    ash_collection *c = NULL;
    bson_t filter;
    ash__builder_begin(&b);
    ash__builder_text(&b, "_id", id);
    ash__builder_end(&b);
    ash__doc_to_bson(ash__builder_doc(&b), &filter);
    int rc = ash__user_collection(u, collection, &c, err);
    if (rc == 0)
        rc = ash_collection_find_one(c, &filter, NULL, out, err);
    ash_collection_free(c);
    ash__builder_release(&b);
    return rc;
}

int ash__user_find(ash_users *u, const ash_user_id *id, bson_t *out, ash_error *err)
{
    char *text = ash__sprintf("%s.%s", id->db, id->name);
    int rc = find_by_id(u, id->kind->collection, text, out, err);
    ash__free(text);
    return rc == ASH_ENOTFOUND ? ash__user_missing(id, err) : rc;
}

int ash__user_each(ash_users *u, const ash_user_kind *kind, const char *db, ash_cursor **out,
                   ash_error *err)
{
    return ash__user_each_matching(u, kind, db, ash__doc_empty, out, err);
}

int ash__user_each_matching(ash_users *u, const ash_user_kind *kind, const char *db, ash_doc wanted,
                            ash_cursor **out, ash_error *err)
{
    ash_find_options o = ASH_FIND_OPTIONS_INIT;
    ash_builder filter = ASH_BUILDER_INIT, sort = ASH_BUILDER_INIT;
    ash_collection *c = NULL;
    bson_t filter_bson, sort_bson;
    ash__builder_begin(&filter);
    if (db != NULL)
        ash__builder_text(&filter, "db", db);
    ash__builder_elements(&filter, wanted);
    ash__builder_end(&filter);
    ash__builder_begin(&sort);
    ash__builder_int32(&sort, "_id", 1);
    ash__builder_end(&sort);
    ash__doc_to_bson(ash__builder_doc(&filter), &filter_bson);
    ash__doc_to_bson(ash__builder_doc(&sort), &sort_bson);
    o.sort = &sort_bson;
    int rc = ash__user_collection(u, kind->collection, &c, err);
    if (rc == 0)
        rc = ash_collection_find(c, &filter_bson, &o, out, err);
    ash_collection_free(c);
    ash__builder_release(&filter);
    ash__builder_release(&sort);
    return rc;
}

int ash__users_any(ash_users *u, bool *any, ash_error *err)
{
    ash_cursor *cursor = NULL;
    ash_doc doc = ash__doc_empty;
    *any = false;
    int rc = ash__user_each(u, &ash__user_kind, NULL, &cursor, err);
    while (rc == 0 && !*any && (rc = ash_cursor_next(cursor, &doc, err)) == 0 && doc.data != NULL)
        *any = ash__doc_utf8(doc, "user", NULL) != NULL && ash__doc_utf8(doc, "db", NULL) != NULL;
    ash_cursor_free(cursor);
    return rc;
}

/* ---- the secret ---- */

int ash__users_init(ash_users *u, ash_store *store, ash_error *err)
{
    bson_t doc;
    ash_error what = ASH_ERROR_INIT;
    u->store = store;
    ash__random(u->secret, sizeof u->secret);
    int rc = find_by_id(u, "system.keys", "scram", &doc, &what);
    if (rc != 0)
        return ash__unless(ASH_ENOTFOUND, rc, &what, err);
    uint8_t subtype;
    uint32_t len = 0;
    ash_value v = ash__doc_get(ash__doc_from_bson(&doc), "secret");
    const uint8_t *bytes = v.type == BSON_TYPE_BINARY ? ash__value_binary(v, &subtype, &len) : NULL;
    if (bytes != NULL && len == sizeof u->secret)
        memcpy(u->secret, bytes, len);
    bson_destroy(&doc);
    return 0;
}

void ash__users_release(ash_users *u)
{
    OPENSSL_cleanse(u->secret, sizeof u->secret);
}

/* ---- signing in ---- */

static bool read_base64(ash_doc doc, const char *name, uint8_t *out, size_t room, size_t *len)
{
    size_t text_len = 0;
    const char *text = ash__doc_utf8(doc, name, "");
    uint8_t *bytes = NULL;
    text_len = strlen(text);
    bool good = ash__base64_read(text, text_len, &bytes, len) && *len <= room;
    if (good)
        memcpy(out, bytes, *len);
    ash__free(bytes);
    return good;
}

/* false: there is none, or none that can be used. */
static bool read_credential(ash_doc user, ash_scram_mechanism mechanism, ash_scram_credential *out)
{
    size_t stored = 0, server = 0;
    int64_t iterations = 0;
    ash_value all = ash__doc_get(user, "credentials");
    if (all.type != BSON_TYPE_DOCUMENT)
        return false;
    ash_value one = ash__doc_get(ash__value_doc(all), ash__scram_name(mechanism));
    if (one.type != BSON_TYPE_DOCUMENT)
        return false;
    ash_doc doc = ash__value_doc(one);
    memset(out, 0, sizeof *out);
    if (!ash__value_as_int64(ash__doc_get(doc, "iterationCount"), &iterations) ||
        iterations < ASH_SCRAM_MIN_ITERATIONS || iterations > ASH_SCRAM_MAX_ITERATIONS)
        return false;
    out->iterations = (int32_t)iterations;
    return read_base64(doc, "salt", out->salt, sizeof out->salt, &out->salt_len) &&
           out->salt_len > 0 &&
           read_base64(doc, "storedKey", out->stored_key, sizeof out->stored_key, &stored) &&
           read_base64(doc, "serverKey", out->server_key, sizeof out->server_key, &server) &&
           stored == ash__scram_key_bytes(mechanism) && server == stored;
}

int ash__user_credential(ash_users *u, const ash_user_id *id, ash_scram_mechanism mechanism,
                         ash_scram_credential *out, bool *known, ash_error *err)
{
    bson_t doc;
    ash_error what = ASH_ERROR_INIT;
    ash_scram_credential fake;
    *known = false;
    /* Made in either case, so that both take the same time. */
    ash__scram_credential_fake(mechanism, u->secret, id->name, id->db, &fake);
    int rc = ash__user_find(u, id, &doc, &what);
    if (rc == 0) {
        *known = read_credential(ash__doc_from_bson(&doc), mechanism, out);
        bson_destroy(&doc);
    }
    if (!*known)
        *out = fake;
    return ash__unless(ASH_ENOTFOUND, rc, &what, err);
}

int ash__user_mechanisms(ash_users *u, const ash_user_id *id, bool has[ASH_SCRAM_MECHANISMS],
                         ash_error *err)
{
    bson_t doc;
    ash_error what = ASH_ERROR_INIT;
    ash_scram_credential credential;
    for (int m = 0; m < ASH_SCRAM_MECHANISMS; m++)
        has[m] = !ash__user_is_external(id);
    /* Whoever is there, so that nobody learns who is. */
    if (ash__user_is_external(id))
        return 0;
    int rc = ash__user_find(u, id, &doc, &what);
    if (rc != 0)
        return ash__unless(ASH_ENOTFOUND, rc, &what, err);
    for (int m = 0; m < ASH_SCRAM_MECHANISMS; m++)
        has[m] = read_credential(ash__doc_from_bson(&doc), (ash_scram_mechanism)m, &credential);
    bson_destroy(&doc);
    OPENSSL_cleanse(&credential, sizeof credential);
    return 0;
}
