/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include "base/mem.h"
#include "user/builtin.h"

#include <string.h>

#define NEW_USER "{\"pwd\": \"pencil\", \"roles\": [\"readWrite\"]}"

static int create_user(fixture *f, const char *where, const char *json)
{
    return fixture_create(f, &ash__user_kind, where, json);
}

static int create_role(fixture *f, const char *where, const char *json)
{
    return fixture_create(f, &ash__role_kind, where, json);
}

static bool any(fixture *f)
{
    bool any;
    assert_ok(ash__users_any(&f->users, &any, &f->err), &f->err);
    return any;
}

static bool has_role(fixture *f, const char *name, const char *db, const char *role)
{
    bson_t doc;
    bool found = false;
    assert_ok(ash__user_find(&f->users, &(ash_user_id){&ash__user_kind, name, db}, &doc, &f->err),
              &f->err);
    ash_doc roles = ash__value_doc(ash__doc_get(ash__doc_from_bson(&doc), "roles"));
    for (ash_doc_iter it = ash__doc_iter(roles); ash__doc_iter_next(&it);)
        found |= strcmp(ash__doc_utf8(ash__value_doc(it.value), "role", ""), role) == 0;
    bson_destroy(&doc);
    return found;
}

/* ---- users ---- */

static void test_user_users__documents_are_mongodbs(void **state)
{
    fixture *f = *state;
    bson_t doc;
    assert_false(any(f));
    assert_ok(create_user(f, "ann@files",
                          "{\"pwd\": \"pencil\", \"roles\": [\"read\", {\"role\": "
                          "\"backup\", \"db\": \"admin\"}], \"customData\": {\"a\": 1}}"),
              &f->err);
    assert_true(any(f));
    assert_ok(
        ash__user_find(&f->users, &(ash_user_id){&ash__user_kind, "ann", "files"}, &doc, &f->err),
        &f->err);
    char *json = bson_as_relaxed_extended_json(&doc, NULL);
    assert_non_null(strstr(json, "{ \"_id\" : \"files.ann\", \"userId\" : { \"$binary\""));
    assert_non_null(strstr(json, "\"subType\" : \"04\""));
    assert_non_null(
        strstr(json, "\"user\" : \"ann\", \"db\" : \"files\", \"customData\" : { \"a\" : 1 }"));
    assert_non_null(strstr(json, "\"SCRAM-SHA-1\" : { \"iterationCount\" : 10000, \"salt\""));
    assert_non_null(strstr(json, "\"SCRAM-SHA-256\" : { \"iterationCount\" : 15000, \"salt\""));
    assert_non_null(strstr(json, "\"mechanisms\" : [ \"SCRAM-SHA-1\", \"SCRAM-SHA-256\" ]"));
    assert_non_null(strstr(json, "\"roles\" : [ { \"role\" : \"read\", \"db\" : \"files\" }, { "
                                 "\"role\" : \"backup\", \"db\" : \"admin\" } ]"));
    assert_null(strstr(json, "pencil"));
    bson_free(json);
    bson_destroy(&doc);
}

static void test_user_users__there_is_one_of_a_name(void **state)
{
    fixture *f = *state;
    assert_ok(create_user(f, "ann@files", NEW_USER), &f->err);
    assert_ok(create_user(f, "ann@other", NEW_USER), &f->err);
    assert_int_equal(create_user(f, "ann@files", NEW_USER), ASH_EEXISTS);
    assert_int_equal(f->err.server_code, ASH_MONGO_LOCATION_USER_EXISTS);
    assert_ok(ash__user_drop(&f->users, &(ash_user_id){&ash__user_kind, "ann", "files"}, &f->err),
              &f->err);
    assert_int_equal(
        ash__user_drop(&f->users, &(ash_user_id){&ash__user_kind, "ann", "files"}, &f->err),
        ASH_ENOTFOUND);
    assert_int_equal(f->err.server_code, ASH_MONGO_USER_NOT_FOUND);
    assert_true(any(f));
}

static void test_user_users__what_is_no_user_is_refused(void **state)
{
    fixture *f = *state;
    assert_int_equal(create_user(f, "@files", NEW_USER), ASH_EINVAL);
    assert_int_equal(create_user(f, "ann@files", "{\"pwd\": \"\", \"roles\": []}"), ASH_EINVAL);
    assert_int_equal(create_user(f, "ann@files", "{\"pwd\": \"x\", \"roles\": [\"nothing\"]}"),
                     ASH_ENOTFOUND);
    assert_int_equal(f->err.server_code, ASH_MONGO_ROLE_NOT_FOUND);
    /* Of admin alone. */
    assert_int_equal(create_user(f, "ann@files", "{\"pwd\": \"x\", \"roles\": [\"root\"]}"),
                     ASH_ENOTFOUND);
    assert_int_equal(
        create_user(f, "ann@files", "{\"pwd\": \"x\", \"roles\": [], \"mechanisms\": [\"PLAIN\"]}"),
        ASH_EINVAL);
    assert_int_equal(
        create_user(f, "ann@files", "{\"pwd\": \"x\", \"roles\": [], \"mechanisms\": []}"),
        ASH_EINVAL);
    assert_false(any(f));
}

/* Does the password make the keys that are kept? */
static bool fits(fixture *f, ash_scram_mechanism mechanism, const char *password)
{
    ash_scram_credential c, made;
    bool known;
    assert_ok(ash__user_credential(&f->users, &(ash_user_id){&ash__user_kind, "ann", "files"},
                                   mechanism, &c, &known, &f->err),
              &f->err);
    if (!known)
        return false;
    made = c;
    assert_ok(ash__scram_credential_make(mechanism, "ann", password, &made, &f->err), &f->err);
    return memcmp(&made, &c, sizeof c) == 0;
}

static void test_user_users__passwords_change(void **state)
{
    fixture *f = *state;
    assert_ok(create_user(f, "ann@files", NEW_USER), &f->err);
    assert_true(fits(f, ASH_SCRAM_SHA_1, "pencil"));
    assert_true(fits(f, ASH_SCRAM_SHA_256, "pencil"));
    assert_ok(fixture_update(f, &ash__user_kind, "ann@files", "{\"pwd\": \"crayon\"}"), &f->err);
    assert_false(fits(f, ASH_SCRAM_SHA_256, "pencil"));
    assert_true(fits(f, ASH_SCRAM_SHA_256, "crayon"));
    assert_true(has_role(f, "ann", "files", "readWrite"));
    /* One mechanism less, with the password of before; and none more. */
    assert_ok(
        fixture_update(f, &ash__user_kind, "ann@files", "{\"mechanisms\": [\"SCRAM-SHA-256\"]}"),
        &f->err);
    assert_false(fits(f, ASH_SCRAM_SHA_1, "crayon"));
    assert_true(fits(f, ASH_SCRAM_SHA_256, "crayon"));
    assert_int_equal(
        fixture_update(f, &ash__user_kind, "ann@files", "{\"mechanisms\": [\"SCRAM-SHA-1\"]}"),
        ASH_EINVAL);
    assert_int_equal(fixture_update(f, &ash__user_kind, "bob@files", "{\"pwd\": \"x\"}"),
                     ASH_ENOTFOUND);
}

static void test_user_users__salts_of_nobody_outlive_the_process(void **state)
{
    fixture *f = *state;
    ash_users again;
    ash_scram_credential a, b;
    bool known;
    assert_ok(create_user(f, "ann@files", NEW_USER), &f->err);
    assert_ok(ash__users_init(&again, f->store, &f->err), &f->err);
    assert_memory_equal(again.secret, f->users.secret, sizeof again.secret);
    assert_ok(ash__user_credential(&again, &(ash_user_id){&ash__user_kind, "eve", "files"},
                                   ASH_SCRAM_SHA_256, &a, &known, &f->err),
              &f->err);
    assert_false(known);
    assert_ok(ash__user_credential(&f->users, &(ash_user_id){&ash__user_kind, "eve", "files"},
                                   ASH_SCRAM_SHA_256, &b, &known, &f->err),
              &f->err);
    assert_memory_equal(a.salt, b.salt, a.salt_len);
    ash__users_release(&again);
}

/* ---- roles ---- */

static void test_user_users__roles_come_and_go(void **state)
{
    fixture *f = *state;
    bson_t *roles =
        fixture_json("{\"0\": \"read\", \"1\": {\"role\": \"dbAdmin\", \"db\": \"x\"}}");
    ash_doc list = ash__doc_from_bson(roles);
    assert_ok(create_user(f, "ann@files", NEW_USER), &f->err);
    for (int i = 0; i < 2; i++) {
        assert_ok(ash__user_grant(&f->users, &(ash_user_id){&ash__user_kind, "ann", "files"}, list,
                                  true, &f->err),
                  &f->err);
        assert_true(has_role(f, "ann", "files", "dbAdmin"));
        assert_true(has_role(f, "ann", "files", "read"));
    }
    assert_ok(ash__user_grant(&f->users, &(ash_user_id){&ash__user_kind, "ann", "files"}, list,
                              false, &f->err),
              &f->err);
    assert_false(has_role(f, "ann", "files", "dbAdmin"));
    assert_true(has_role(f, "ann", "files", "readWrite"));
    assert_int_equal(ash__user_grant(&f->users, &(ash_user_id){&ash__user_kind, "bob", "files"},
                                     list, true, &f->err),
                     ASH_ENOTFOUND);
    bson_destroy(roles);
}

static void test_user_users__roles_inherit(void **state)
{
    fixture *f = *state;
    ash_privileges p = ASH_PRIVILEGES_INIT;
    assert_ok(create_role(f, "look@files",
                          "{\"privileges\": [{\"resource\": {\"db\": \"files\", \"collection\": "
                          "\"a\"}, \"actions\": [\"find\"]}], \"roles\": []}"),
              &f->err);
    assert_ok(create_role(f, "work@files",
                          "{\"privileges\": [{\"resource\": {\"db\": \"files\", "
                          "\"collection\": \"b\"}, \"actions\": [\"insert\"]}], "
                          "\"roles\": [\"look\"]}"),
              &f->err);
    assert_ok(create_user(f, "ann@files", "{\"pwd\": \"x\", \"roles\": [\"work\"]}"), &f->err);
    fixture_resolve(f, "ann", "files", &p);
    assert_true(ash__privileges_allow(&p, "files", "a", ASH_CAN(FIND)));
    assert_true(ash__privileges_allow(&p, "files", "b", ASH_CAN(INSERT)));
    assert_false(ash__privileges_allow(&p, "files", "a", ASH_CAN(INSERT)));
    assert_false(ash__privileges_allow(&p, "files", "b", ASH_CAN(FIND)));
    assert_false(ash__privileges_allow(&p, "other", "a", ASH_CAN(FIND)));
    ash__privileges_release(&p);
    /* A role that goes, goes from those who have it. */
    assert_ok(ash__user_drop(&f->users, &(ash_user_id){&ash__role_kind, "look", "files"}, &f->err),
              &f->err);
    fixture_resolve(f, "ann", "files", &p);
    assert_false(ash__privileges_allow(&p, "files", "a", ASH_CAN(FIND)));
    ash__privileges_release(&p);
}

static void test_user_users__roles_that_must_not_be(void **state)
{
    fixture *f = *state;
    static const char nothing[] = "{\"privileges\": [], \"roles\": []}";
    assert_ok(create_role(f, "a@files", nothing), &f->err);
    assert_ok(create_role(f, "b@files", "{\"privileges\": [], \"roles\": [\"a\"]}"), &f->err);
    assert_int_equal(create_role(f, "a@files", nothing), ASH_EEXISTS);
    assert_int_equal(create_role(f, "read@files", nothing), ASH_EINVAL);
    /* A circle. */
    assert_int_equal(fixture_update(f, &ash__role_kind, "a@files", "{\"roles\": [\"b\"]}"),
                     ASH_EINVAL);
    assert_int_equal(f->err.server_code, ASH_MONGO_INVALID_ROLE_MODIFICATION);
    /* Out of its database. */
    assert_int_equal(create_role(f, "c@files",
                                 "{\"privileges\": [{\"resource\": {\"db\": \"other\","
                                 " \"collection\": \"\"}, \"actions\": [\"find\"]}], "
                                 "\"roles\": []}"),
                     ASH_EINVAL);
    assert_int_equal(create_role(f, "c@files",
                                 "{\"privileges\": [{\"resource\": {\"cluster\": "
                                 "true}, \"actions\": [\"anyAction\"]}], \"roles\": []}"),
                     ASH_EINVAL);
    assert_int_equal(create_role(f, "c@files",
                                 "{\"privileges\": [], \"roles\": [{\"role\": \"root\","
                                 " \"db\": \"admin\"}]}"),
                     ASH_EINVAL);
    assert_int_equal(
        ash__user_drop(&f->users, &(ash_user_id){&ash__role_kind, "root", "admin"}, &f->err),
        ASH_EINVAL);
}

static void test_user_users__privileges_of_a_role_change(void **state)
{
    fixture *f = *state;
    ash_privileges p = ASH_PRIVILEGES_INIT;
    bson_t *list = fixture_json("{\"0\": {\"resource\": {\"db\": \"files\", \"collection\": \"\"}, "
                                "\"actions\": [\"find\", \"insert\"]}}");
    bson_t *less = fixture_json("{\"0\": {\"resource\": {\"db\": \"files\", \"collection\": \"\"}, "
                                "\"actions\": [\"insert\"]}}");
    assert_ok(create_role(f, "a@files", "{\"privileges\": [], \"roles\": []}"), &f->err);
    assert_ok(create_user(f, "ann@files", "{\"pwd\": \"x\", \"roles\": [\"a\"]}"), &f->err);
    assert_ok(ash__role_grant_privileges(&f->users, &(ash_user_id){&ash__role_kind, "a", "files"},
                                         ash__doc_from_bson(list), true, &f->err),
              &f->err);
    fixture_resolve(f, "ann", "files", &p);
    assert_true(ash__privileges_allow(&p, "files", "x", ASH_CAN(FIND) | ASH_CAN(INSERT)));
    ash__privileges_release(&p);
    assert_ok(ash__role_grant_privileges(&f->users, &(ash_user_id){&ash__role_kind, "a", "files"},
                                         ash__doc_from_bson(less), false, &f->err),
              &f->err);
    fixture_resolve(f, "ann", "files", &p);
    assert_false(ash__privileges_allow(&p, "files", "x", ASH_CAN(INSERT)));
    assert_true(ash__privileges_allow(&p, "files", "x", ASH_CAN(FIND)));
    ash__privileges_release(&p);
    bson_destroy(list);
    bson_destroy(less);
}

/* ---- privileges ---- */

static void test_user_users__resources_are_told_apart(void **state)
{
    (void)state;
    ash_privileges p = ASH_PRIVILEGES_INIT, root = ASH_PRIVILEGES_INIT;
    ash__role_builtin("readWrite", "files", &p);
    assert_true(ash__privileges_allow(&p, "files", "a", ASH_CAN(INSERT)));
    assert_true(ash__privileges_allow(&p, "files", "", ASH_CAN(LIST_COLLECTIONS)));
    assert_true(ash__privileges_allow(&p, "files", "system.js", ASH_CAN(FIND)));
    assert_false(ash__privileges_allow(&p, "files", "system.users", ASH_CAN(FIND)));
    assert_false(ash__privileges_allow(&p, "files", "a", ASH_CAN(DROP_DATABASE)));
    assert_false(ash__privileges_allow(&p, "file", "a", ASH_CAN(FIND)));
    assert_false(ash__privileges_allow_cluster(&p, ASH_CAN(LIST_DATABASES)));
    ash__role_builtin("root", "admin", &root);
    assert_true(ash__privileges_cover(&root, &p));
    assert_false(ash__privileges_cover(&p, &root));
    assert_false(ash__privileges_allow(&root, "local", "oplog.rs", ASH_CAN(INSERT)));
    assert_true(ash__privileges_allow(&root, "admin", "system.users", ASH_CAN(FIND)));
    /* The secret behind unknown names' salts. */
    assert_false(ash__privileges_allow(&root, "admin", "system.keys", ASH_CAN(FIND)));
    assert_false(ash__role_builtin("root", "files", &p));
    ash__privileges_release(&p);
    ash__privileges_release(&root);
}

/* ---- of $external ---- */

static void test_user_users__of_external_have_no_password(void **state)
{
    static const char ann[] = "CN=ann,O=Example@$external";
    fixture *f = *state;
    ash_scram_credential c;
    bson_t doc;
    bool known, has[ASH_SCRAM_MECHANISMS];
    ash_user_id id = {&ash__user_kind, "CN=ann,O=Example", "$external"};
    assert_int_equal(create_user(f, ann, NEW_USER), ASH_EINVAL);
    assert_int_equal(create_user(f, ann, "{\"roles\": [], \"mechanisms\": [\"SCRAM-SHA-256\"]}"),
                     ASH_EINVAL);
    assert_int_equal(create_user(f, "ann@$external", "{\"roles\": []}"), ASH_EINVAL);
    assert_false(any(f));
    assert_ok(create_user(f, ann, "{\"roles\": [{\"role\": \"read\", \"db\": \"files\"}]}"),
              &f->err);
    assert_ok(ash__user_find(&f->users, &id, &doc, &f->err), &f->err);
    char *json = bson_as_relaxed_extended_json(&doc, NULL);
    assert_non_null(strstr(json, "\"credentials\" : { \"external\" : true }"));
    assert_non_null(strstr(json, "\"mechanisms\" : [ \"external\" ]"));
    bson_free(json);
    bson_destroy(&doc);
    assert_int_equal(fixture_update(f, &ash__user_kind, ann, "{\"pwd\": \"pencil\"}"), ASH_EINVAL);
    assert_int_equal(fixture_update(f, &ash__user_kind, ann, "{\"mechanisms\": [\"SCRAM-SHA-1\"]}"),
                     ASH_EINVAL);
    assert_ok(fixture_update(f, &ash__user_kind, ann, "{\"customData\": {\"a\": 1}}"), &f->err);
    assert_ok(ash__user_credential(&f->users, &id, ASH_SCRAM_SHA_256, &c, &known, &f->err),
              &f->err);
    assert_false(known);
    assert_ok(ash__user_mechanisms(&f->users, &id, has, &f->err), &f->err);
    assert_false(has[ASH_SCRAM_SHA_1] || has[ASH_SCRAM_SHA_256]);
    assert_true(has_role(f, "CN=ann,O=Example", "$external", "read"));
}

#define USERS(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        USERS(test_user_users__documents_are_mongodbs),
        USERS(test_user_users__there_is_one_of_a_name),
        USERS(test_user_users__what_is_no_user_is_refused),
        USERS(test_user_users__passwords_change),
        USERS(test_user_users__salts_of_nobody_outlive_the_process),
        USERS(test_user_users__roles_come_and_go),
        USERS(test_user_users__roles_inherit),
        USERS(test_user_users__roles_that_must_not_be),
        USERS(test_user_users__privileges_of_a_role_change),
        USERS(test_user_users__resources_are_told_apart),
        USERS(test_user_users__of_external_have_no_password),
    };
    return cmocka_run_group_tests_name("user users", tests, NULL, NULL);
}
