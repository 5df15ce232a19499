/* SPDX-License-Identifier: Apache-2.0 */
/* Users as they are looked up for requests. */
#include "http/gate/visitor.h"

#include "base/mem.h"

#include <openssl/crypto.h>
#include <string.h>

static ash_visitor *new_visitor(void)
{
    ash_visitor *v = ash__new(ash_visitor);
    atomic_init(&v->holders, 1);
    v->principal = (ash_principal)ASH_PRINCIPAL_INIT;
    v->op = (ash_op)ASH_OP_INIT;
    v->op.principal = &v->principal;
    bson_init(&v->roles);
    bson_init(&v->origins);
    return v;
}

ash_visitor *ash__visitor_nobody(void)
{
    return new_visitor();
}

ash_visitor *ash__visitor_hold(ash_visitor *v)
{
    atomic_fetch_add_explicit(&v->holders, 1, memory_order_relaxed);
    return v;
}

void ash__visitor_release(ash_visitor *v)
{
    if (v == NULL || atomic_fetch_sub_explicit(&v->holders, 1, memory_order_acq_rel) > 1)
        return;
    ash__free(v->user);
    ash__free(v->db);
    OPENSSL_cleanse(&v->credential, sizeof v->credential);
    bson_destroy(&v->roles);
    bson_destroy(&v->origins);
    ash__privileges_release(&v->privileges);
    ash__free(v);
}

static void read_user_id(ash_doc user, uint8_t out[16])
{
    uint8_t subtype;
    uint32_t len = 0;
    ash_value v = ash__doc_get(user, "userId");
    const uint8_t *bytes = v.type == BSON_TYPE_BINARY ? ash__value_binary(v, &subtype, &len) : NULL;
    if (bytes != NULL && len == 16)
        memcpy(out, bytes, 16);
}

int ash__visitor_find(ash_users *users, const char *user, const char *db, ash_visitor **out,
                      ash_error *err)
{
    ash_user_id id = {&ash__user_kind, user, db};
    /* Before the look: a change behind it is looked at again. */
    uint64_t known_at = ash__users_changes();
    bson_t doc;
    int rc = ash__user_find(users, &id, &doc, err);
    if (rc != 0)
        return rc;
    ash_visitor *v = new_visitor();
    v->user = ash__strdup(user);
    v->db = ash__strdup(db);
    v->known_at = known_at;
    v->principal.user = v->user;
    v->principal.db = v->db;
    v->principal.roles = &v->roles;
    read_user_id(ash__doc_from_bson(&doc), v->user_id);
    ash__limits_read(ash__doc_from_bson(&doc), &v->limits);
    bson_iter_t at;
    if (bson_iter_init_find(&at, &doc, "authenticationRestrictions"))
        bson_append_iter(&v->origins, NULL, 0, &at);
    bson_destroy(&v->roles);
    rc = ash__user_near_roles(users, ash__doc_from_bson(&doc), &v->privileges, &v->roles, err);
    bson_destroy(&doc);
    if (rc != 0)
        ash__visitor_release(v);
    else
        *out = v;
    return rc;
}

static bool is_same_credential(const ash_scram_credential *a, const ash_scram_credential *b)
{
    return a->iterations == b->iterations && a->salt_len == b->salt_len &&
           CRYPTO_memcmp(a->salt, b->salt, a->salt_len) == 0 &&
           CRYPTO_memcmp(a->stored_key, b->stored_key, sizeof a->stored_key) == 0;
}

int ash__visitor_renew(ash_users *users, const ash_visitor *v, ash_visitor **out, ash_error *err)
{
    ash_user_id id = {&ash__user_kind, v->user, v->db};
    ash_scram_credential now;
    ash_visitor *found = NULL;
    bool known = false;
    int rc = ash__visitor_find(users, v->user, v->db, &found, err);
    if (rc == 0)
        rc = ash__user_credential(users, &id, ASH_SCRAM_SHA_256, &now, &known, err);
    if (rc == 0 && (!known || !is_same_credential(&now, &v->credential) ||
                    memcmp(found->user_id, v->user_id, sizeof v->user_id) != 0))
        rc = ash__fail(err, ASH_ENOTFOUND, "it is another user, or another password");
    if (rc == 0) {
        found->credential = now;
        *out = ash__visitor_hold(found);
    }
    ash__visitor_release(found);
    OPENSSL_cleanse(&now, sizeof now);
    return rc;
}
