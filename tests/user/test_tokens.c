/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include "base/clock.h"
#include "base/mem.h"
#include "user/tokens.h"

#include <string.h>

static int setup(void **state)
{
    if (fixture_setup(state) != 0)
        return -1;
    fixture *f = *state;
    return fixture_create(f, &ash__user_kind, "ann@admin", "{\"pwd\": \"p\", \"roles\": []}");
}

static int make(fixture *f, const char *user, int64_t expires_ms, const char *path,
                char text[ASH_TOKEN_TEXT_BYTES])
{
    ash_token t = {.expires_ms = expires_ms};
    t.user = ash__strdup(user);
    t.db = ash__strdup("admin");
    t.path = path != NULL ? ash__strdup(path) : NULL;
    int rc = ash__token_create(&f->users, &t, text, &f->err);
    ash__token_release(&t);
    return rc;
}

static int find(fixture *f, const char *text)
{
    ash_token t;
    int rc = ash__token_find(&f->users, text, &t, &f->err);
    if (rc == 0)
        ash__token_release(&t);
    return rc;
}

static void test_user_tokens__is_found_by_all_of_it(void **state)
{
    fixture *f = *state;
    char text[ASH_TOKEN_TEXT_BYTES];
    ash_token t;
    assert_ok(make(f, "ann", 0, "/docs", text), &f->err);
    assert_int_equal(strlen(text), ASH_TOKEN_TEXT_BYTES - 1);
    assert_int_equal(strncmp(text, "ashlar_", 7), 0);
    assert_ok(ash__token_find(&f->users, text, &t, &f->err), &f->err);
    assert_string_equal(t.user, "ann");
    assert_string_equal(t.db, "admin");
    assert_string_equal(t.path, "/docs");
    assert_true(t.created_ms > 0 && t.expires_ms == 0 && t.used_ms == 0 && !t.read_only);
    ash__token_release(&t);
    /* Each other digit makes it another one, and so does what is more or less. */
    for (size_t i = 0; i < ASH_TOKEN_TEXT_BYTES - 1; i++) {
        char other[ASH_TOKEN_TEXT_BYTES];
        memcpy(other, text, sizeof other);
        other[i] = other[i] == '0' ? '1' : '0';
        assert_int_equal(find(f, other), ASH_ENOTFOUND);
    }
    char *longer = ash__sprintf("%s0", text);
    assert_int_equal(find(f, longer), ASH_ENOTFOUND);
    ash__free(longer);
    text[ASH_TOKEN_TEXT_BYTES - 2] = '\0';
    assert_int_equal(find(f, text), ASH_ENOTFOUND);
    assert_int_equal(find(f, ""), ASH_ENOTFOUND);
    assert_int_equal(find(f, "ashlar_"), ASH_ENOTFOUND);
}

static void test_user_tokens__ends(void **state)
{
    fixture *f = *state;
    char text[ASH_TOKEN_TEXT_BYTES];
    assert_ok(make(f, "ann", ash__clock_wall_ms() + 150, NULL, text), &f->err);
    assert_ok(find(f, text), &f->err);
    ash__clock_sleep_ms(200);
    assert_int_equal(find(f, text), ASH_ENOTFOUND);
    assert_int_equal(make(f, "ann", ash__clock_wall_ms() - 1, NULL, text), ASH_EINVAL);
}

static void test_user_tokens__cannot_be_made(void **state)
{
    fixture *f = *state;
    char text[ASH_TOKEN_TEXT_BYTES];
    assert_int_equal(make(f, "bob", 0, NULL, text), ASH_ENOTFOUND);
    assert_int_equal(make(f, "ann", 0, "docs", text), ASH_EINVAL);
    assert_int_equal(make(f, "ann", 0, "", text), ASH_EINVAL);
    for (int i = 0; i < ASH_TOKENS_MAX; i++)
        assert_ok(make(f, "ann", 0, NULL, text), &f->err);
    assert_int_equal(make(f, "ann", 0, NULL, text), ASH_EBUSY);
}

static void test_user_tokens__are_taken_back(void **state)
{
    fixture *f = *state;
    char text[ASH_TOKEN_TEXT_BYTES], id[ASH_TOKEN_ID_BYTES];
    assert_ok(make(f, "ann", 0, NULL, text), &f->err);
    snprintf(id, sizeof id, "%.16s", text + 7);
    assert_int_equal(ash__token_remove(&f->users, id, "bob", "admin", &f->err), ASH_ENOTFOUND);
    assert_int_equal(ash__token_remove(&f->users, id, "ann", "other", &f->err), ASH_ENOTFOUND);
    assert_ok(find(f, text), &f->err);
    assert_ok(ash__token_remove(&f->users, id, "ann", "admin", &f->err), &f->err);
    assert_int_equal(find(f, text), ASH_ENOTFOUND);
    assert_int_equal(ash__token_remove(&f->users, id, NULL, NULL, &f->err), ASH_ENOTFOUND);
}

static void test_user_tokens__use_is_kept_once_in_a_while(void **state)
{
    fixture *f = *state;
    char text[ASH_TOKEN_TEXT_BYTES];
    ash_token t;
    assert_ok(make(f, "ann", 0, NULL, text), &f->err);
    assert_ok(ash__token_find(&f->users, text, &t, &f->err), &f->err);
    assert_ok(ash__token_use(&f->users, &t, &f->err), &f->err);
    ash__token_release(&t);
    assert_ok(ash__token_find(&f->users, text, &t, &f->err), &f->err);
    int64_t used = t.used_ms;
    assert_true(used > 0);
    ash__clock_sleep_ms(5);
    assert_ok(ash__token_use(&f->users, &t, &f->err), &f->err);
    ash__token_release(&t);
    assert_ok(ash__token_find(&f->users, text, &t, &f->err), &f->err);
    assert_int_equal(t.used_ms, used);
    ash__token_release(&t);
}

/* Documents that nobody here made are no tokens, and never open a door. */
static void test_user_tokens__documents_that_are_none(void **state)
{
    fixture *f = *state;
    char text[ASH_TOKEN_TEXT_BYTES];
    ash_collection *c = NULL;
    assert_ok(make(f, "ann", 0, NULL, text), &f->err);
    assert_ok(ash_collection_new(f->store, "admin", "system.tokens", &c, &f->err), &f->err);
    static const char *const breaks[] = {
        "{\"$set\": {\"digest\": \"\"}}", "{\"$unset\": {\"userId\": 1}}",
        "{\"$set\": {\"expires\": \"tomorrow\"}}", "{\"$unset\": {\"expires\": 1}}"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(breaks); i++) {
        bson_t *whole = NULL, all = BSON_INITIALIZER, found;
        assert_ok(ash_collection_find_one(c, &all, NULL, &found, &f->err), &f->err);
        whole = bson_copy(&found);
        bson_destroy(&found);
        bson_t *update = fixture_json(breaks[i]);
        bson_value_t v = {.value_type = BSON_TYPE_DOCUMENT};
        v.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(update);
        v.value.v_doc.data_len = update->len;
        assert_ok(ash_collection_update(c, &all, &v, NULL, NULL, &f->err), &f->err);
        assert_int_equal(find(f, text), ASH_ENOTFOUND);
        assert_ok(ash_collection_remove(c, &all, NULL, NULL, &f->err), &f->err);
        assert_ok(ash_collection_insert_one(c, whole, NULL, &f->err), &f->err);
        assert_ok(find(f, text), &f->err);
        bson_destroy(update);
        bson_destroy(whole);
    }
    ash_collection_free(c);
}

/* A letter for each token: its user's, large where that one is gone. */
static int note(void *ctx, const ash_token *t, ash_error *err)
{
    char *out = ctx;
    (void)err;
    size_t len = strlen(out);
    assert_true(len < 9);
    out[len] = (char)(t->user[0] - (t->is_orphan ? 'a' - 'A' : 0));
    out[len + 1] = '\0';
    return 0;
}

/* Who has its user's name is not its user. */
static void test_user_tokens__of_who_is_gone(void **state)
{
    static const char *const users[] = {"ann", "bob", "bob", "ann", "bob"};
    fixture *f = *state;
    char text[ASH_TOKEN_TEXT_BYTES], seen[10] = "";
    ash_user_id bob = {&ash__user_kind, "bob", "admin"};
    for (int again = 0; again < 2; again++) {
        assert_ok(
            fixture_create(f, &ash__user_kind, "bob@admin", "{\"pwd\": \"p\", \"roles\": []}"),
            &f->err);
        for (size_t i = 0; i < sizeof users / sizeof *users && again == 0; i++) {
            assert_ok(make(f, users[i], 0, NULL, text), &f->err);
            ash__clock_sleep_ms(2); /* they are listed by when they were made */
        }
        if (again == 0)
            assert_ok(ash__user_drop(&f->users, &bob, &f->err), &f->err);
    }
    assert_ok(make(f, "bob", 0, NULL, text), &f->err);
    assert_ok(ash__token_each(&f->users, NULL, "admin", note, seen, &f->err), &f->err);
    assert_string_equal(seen, "aBBaBb");
}

#define TOKENS(name) cmocka_unit_test_setup_teardown(name, setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TOKENS(test_user_tokens__is_found_by_all_of_it),
        TOKENS(test_user_tokens__ends),
        TOKENS(test_user_tokens__cannot_be_made),
        TOKENS(test_user_tokens__are_taken_back),
        TOKENS(test_user_tokens__use_is_kept_once_in_a_while),
        TOKENS(test_user_tokens__documents_that_are_none),
        TOKENS(test_user_tokens__of_who_is_gone),
    };
    return cmocka_run_group_tests_name("user/tokens", tests, NULL, NULL);
}
