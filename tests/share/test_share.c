/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/support.h"

#include "base/clock.h"
#include "base/hash.h"
#include "share/share.h"

#include <string.h>
#include <unistd.h>

static const char *const gone = "there is no such share";

static ash_shares *open_shares(fixture *f)
{
    ash_shares *s = NULL;
    assert_ok(ash__shares_new(f->store, &s, &f->err), &f->err);
    return s;
}

/* expires_ms: from now; 0: never. */
static int try_share(fixture *f, ash_shares *s, const char *path, int64_t expires_ms,
                     char token[ASH_SHARE_TOKEN_BYTES])
{
    ash_share share = {0};
    ash_tree_entry *e = support_get(f, path);
    share.root = ash__strdup("/");
    share.by = ash__strdup("ann");
    bson_value_copy(ash_tree_entry_id(e), &share.entry);
    share.expires_ms = expires_ms != 0 ? ash__clock_wall_ms() + expires_ms : 0;
    int rc = ash__share_create(s, &share, token, &f->err);
    ash__share_release(&share);
    ash_tree_entry_free(e);
    return rc;
}

static void share_it(fixture *f, ash_shares *s, const char *path, int64_t expires_ms,
                     char token[ASH_SHARE_TOKEN_BYTES])
{
    assert_ok(try_share(f, s, path, expires_ms, token), &f->err);
}

static void expect_path(fixture *f, ash_shares *s, const char *token, const char *path)
{
    ash_share share;
    ash_tree_entry *e = NULL;
    assert_ok(ash__share_find(s, token, &share, &f->err), &f->err);
    assert_ok(ash__share_entry(&share, f->tree, &e, &f->err), &f->err);
    assert_string_equal(ash_tree_entry_path(e), path);
    ash_tree_entry_free(e);
    ash__share_release(&share);
}

/* However it came to that, it is told in the same words. */
static void expect_gone(fixture *f, ash_shares *s, const char *token)
{
    ash_share share;
    ash_error err = ASH_ERROR_INIT;
    (void)f;
    assert_int_equal(ash__share_find(s, token, &share, &err), ASH_ENOTFOUND);
    assert_string_equal(err.text, gone);
}

static void test_follows_what_is_shared(void **state)
{
    fixture *f = *state;
    ash_shares *s = open_shares(f);
    char token[ASH_SHARE_TOKEN_BYTES], all[ASH_SHARE_TOKEN_BYTES];
    support_folder(f, "d");
    support_put_text(f, "d/a", "one");
    share_it(f, s, "/d/a", 0, token);
    expect_path(f, s, token, "/d/a");
    support_move(f, "d/a", "b");
    support_put_text(f, "d/a", "another");
    expect_path(f, s, token, "/b");
    support_folder(f, "e");
    support_move(f, "b", "e/c");
    support_move(f, "e", "d/e");
    expect_path(f, s, token, "/d/e/c");
    share_it(f, s, "/", 0, all);
    expect_path(f, s, all, "/");
    /* A name like what stands for "nowhere" is a name. */
    support_folder(f, "?");
    support_put_text(f, "?/f", "1");
    share_it(f, s, "/?/f", 0, all);
    expect_path(f, s, all, "/?/f");
    ash__shares_free(s);
}

static void test_leads_nowhere_while_that_is_deleted(void **state)
{
    fixture *f = *state;
    ash_shares *s = open_shares(f);
    char token[ASH_SHARE_TOKEN_BYTES];
    ash_share share;
    ash_tree_entry *e = NULL;
    support_folder(f, "d");
    support_put_text(f, "d/a", "one");
    share_it(f, s, "/d/a", 0, token);
    bson_value_t id = support_id(f, "d");
    support_remove(f, "d");
    assert_ok(ash__share_find(s, token, &share, &f->err), &f->err);
    assert_int_equal(ash__share_entry(&share, f->tree, &e, &f->err), ASH_ENOTFOUND);
    assert_ok(ash_tree_undelete(f->tree, &id, NULL, NULL, NULL, NULL, &f->err), &f->err);
    expect_path(f, s, token, "/d/a");
    /* Another tree of the same store has nothing of it. */
    ash_tree *other = NULL;
    assert_ok(ash_tree_open(f->store, "papers", NULL, &other, &f->err), &f->err);
    assert_int_equal(ash__share_entry(&share, other, &e, &f->err), ASH_ENOTFOUND);
    ash__free(share.root);
    share.root = ash__strdup("papers");
    assert_int_equal(ash__share_entry(&share, other, &e, &f->err), ASH_ENOTFOUND);
    /* Nor has this one what is said to be another's. */
    assert_int_equal(ash__share_entry(&share, f->tree, &e, &f->err), ASH_ENOTFOUND);
    ash_tree_close(other);
    ash__share_release(&share);
    ash__shares_free(s);
}

static void test_ends(void **state)
{
    fixture *f = *state;
    ash_shares *s = open_shares(f);
    char token[ASH_SHARE_TOKEN_BYTES], other[ASH_SHARE_TOKEN_BYTES], id[25];
    ash_share share;
    support_put_text(f, "a", "one");
    share_it(f, s, "/a", 1, token);
    usleep(5000);
    expect_gone(f, s, token);
    share_it(f, s, "/a", 100000, other);
    expect_path(f, s, other, "/a");
    assert_ok(ash__share_find(s, other, &share, &f->err), &f->err);
    bson_oid_to_string(&share.id, id);
    assert_string_equal(share.by, "ann");
    assert_true(share.created_ms > 0 && share.expires_ms > share.created_ms);
    ash__share_release(&share);
    assert_ok(ash__share_remove(s, id, &f->err), &f->err);
    expect_gone(f, s, other);
    assert_int_equal(ash__share_remove(s, id, &f->err), ASH_ENOTFOUND);
    share_it(f, s, "/a", 0, token);
    assert_ok(ash__share_remove(s, token, &f->err), &f->err);
    expect_gone(f, s, token);
    assert_int_equal(ash__share_remove(s, "x", &f->err), ASH_EINVAL);
    static const char *const none[] = {"",
                                       "x",
                                       "../a",
                                       "0000000000000000000000000000000000000000",
                                       "00000000000000000000000000000000000000000",
                                       "000000000000000000000000000000000000000G"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(none); i++)
        expect_gone(f, s, none[i]);
    ash__shares_free(s);
}

/* Who reads the store learns no link. */
static void test_token_is_not_kept(void **state)
{
    fixture *f = *state;
    ash_shares *s = open_shares(f);
    char token[ASH_SHARE_TOKEN_BYTES], hex[65];
    uint8_t digest[ASH_DIGEST_MAX_BYTES];
    ash_collection *all = NULL;
    bson_iter_t at;
    uint32_t len;
    const uint8_t *kept;
    bson_subtype_t subtype;
    support_put_text(f, "a", "one");
    share_it(f, s, "/a", 0, token);
    assert_ok(ash_collection_new(f->store, NULL, "v7files.shares", &all, &f->err), &f->err);
    bson_t *doc = support_document(all, "{}");
    support_expect_fields(doc, "_id digest root entry right created expires by");
    char *json = bson_as_canonical_extended_json(doc, NULL);
    assert_null(strstr(json, token));
    ash_digest *d = ash__digest_new(ASH_DIGEST_SHA256);
    ash__digest_add(d, token, strlen(token));
    assert_int_equal(ash__digest_finish(d, digest), 32);
    ash__hex(digest, 32, hex);
    assert_true(bson_iter_init_find(&at, doc, "digest"));
    bson_iter_binary(&at, &subtype, &len, &kept);
    assert_int_equal(len, 32);
    assert_memory_equal(kept, digest, 32);
    /* What is kept leads nowhere. */
    expect_gone(f, s, hex);
    hex[40] = '\0';
    expect_gone(f, s, hex);
    bson_free(json);
    bson_destroy(doc);
    ash__digest_free(d);
    ash_collection_free(all);
    ash__shares_free(s);
}

static int count(void *ctx, const ash_share *share, ash_error *err)
{
    (void)err;
    assert_string_equal(share->root, "/");
    return ++*(int *)ctx == 2 ? 77 : 0;
}

static void test_each(void **state)
{
    fixture *f = *state;
    ash_shares *s = open_shares(f);
    char token[ASH_SHARE_TOKEN_BYTES];
    int n = 0;
    support_put_text(f, "a", "one");
    assert_ok(ash__share_each(s, count, &n, &f->err), &f->err);
    share_it(f, s, "/a", 0, token);
    share_it(f, s, "/a", 1, token);
    usleep(5000);
    assert_ok(ash__share_each(s, count, &n, &f->err), &f->err);
    assert_int_equal(n, 1);
    share_it(f, s, "/a", 0, token);
    share_it(f, s, "/a", 0, token);
    n = 0;
    assert_int_equal(ash__share_each(s, count, &n, &f->err), 77);
    assert_int_equal(n, 2);
    ash__shares_free(s);
}

/* Documents of others, or damaged ones, are no links. */
static void test_strange_documents(void **state)
{
    fixture *f = *state;
    ash_shares *s = open_shares(f);
    char token[ASH_SHARE_TOKEN_BYTES];
    ash_collection *all = NULL;
    int n = 0;
    static const char *const changes[] = {
        "{\"$set\": {\"right\": \"all\"}}", "{\"$unset\": {\"entry\": 1}}",
        "{\"$set\": {\"root\": 7}}", "{\"$unset\": {\"right\": 1}}"};
    assert_ok(ash_collection_new(f->store, NULL, "v7files.shares", &all, &f->err), &f->err);
    support_put_text(f, "a", "one");
    for (size_t i = 0; i < ASH_ARRAY_LEN(changes); i++) {
        share_it(f, s, "/a", 0, token);
        bson_t *filter = bson_new_from_json((const uint8_t *)"{}", -1, NULL);
        bson_t *change = bson_new_from_json((const uint8_t *)changes[i], -1, NULL);
        bson_value_t value = {.value_type = BSON_TYPE_DOCUMENT};
        ash_update_options o = ASH_UPDATE_OPTIONS_INIT;
        ash_write_result result;
        o.multi = true;
        value.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(change);
        value.value.v_doc.data_len = change->len;
        ash_write_result_init(&result);
        assert_ok(ash_collection_update(all, filter, &value, &o, &result, &f->err), &f->err);
        ash_write_result_release(&result);
        bson_destroy(filter);
        bson_destroy(change);
        expect_gone(f, s, token);
    }
    assert_ok(ash__share_each(s, count, &n, &f->err), &f->err);
    assert_int_equal(n, 0);
    ash_collection_free(all);
    ash__shares_free(s);
}

static const char *text_in(const bson_t *index)
{
    bson_iter_t at;
    return bson_iter_init_find(&at, index, "name") ? bson_iter_utf8(&at, NULL) : "";
}

/* The store's clock removes what is over. */
static void test_expired_ones_are_removed(void **state)
{
    fixture *f = *state;
    ash_shares *s = open_shares(f);
    char token[ASH_SHARE_TOKEN_BYTES];
    ash_collection *all = NULL;
    ash_cursor *cursor = NULL;
    ash_doc view;
    bson_t doc;
    bson_iter_t at;
    int expiring = 0, unique = 0;
    support_put_text(f, "a", "one");
    share_it(f, s, "/a", 0, token);
    assert_ok(ash_collection_new(f->store, NULL, "v7files.shares", &all, &f->err), &f->err);
    assert_ok(ash_collection_list_indexes(all, NULL, &cursor, &f->err), &f->err);
    while (ash_cursor_next(cursor, &view, &f->err) == 0 && view.data != NULL) {
        assert_true(bson_init_static(&doc, view.data, view.len));
        expiring += bson_iter_init_find(&at, &doc, "expireAfterSeconds") &&
                    bson_iter_as_int64(&at) == 0 && strcmp("expires_1", text_in(&doc)) == 0;
        unique += bson_iter_init_find(&at, &doc, "unique") && bson_iter_as_bool(&at) &&
                  strcmp("digest_1", text_in(&doc)) == 0;
    }
    assert_int_equal(expiring, 1);
    assert_int_equal(unique, 1);
    ash_cursor_free(cursor);
    ash_collection_free(all);
    ash__shares_free(s);
}

static void test_so_many_and_no_more(void **state)
{
    fixture *f = *state;
    ash_shares *s = open_shares(f);
    char token[ASH_SHARE_TOKEN_BYTES];
    ash_collection *all = NULL;
    enum { MANY = ASH_SHARE_MAX - 1 };
    ash_doc *docs = ash__alloc_array(MANY, sizeof *docs);
    bson_t **made = ash__alloc_array(MANY, sizeof *made);
    for (int i = 0; i < MANY; i++) {
        made[i] = BCON_NEW("digest", BCON_INT32(i));
        docs[i] = (ash_doc){bson_get_data(made[i]), made[i]->len};
    }
    assert_ok(ash_collection_new(f->store, NULL, "v7files.shares", &all, &f->err), &f->err);
    assert_ok(ash_collection_insert(all, docs, MANY, NULL, NULL, &f->err), &f->err);
    support_put_text(f, "a", "one");
    share_it(f, s, "/a", 0, token);
    assert_int_equal(try_share(f, s, "/a", 0, token), ASH_EBUSY);
    for (int i = 0; i < MANY; i++)
        bson_destroy(made[i]);
    ash__free(made);
    ash__free(docs);
    ash_collection_free(all);
    ash__shares_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_follows_what_is_shared, support_setup,
                                        support_teardown),
        cmocka_unit_test_setup_teardown(test_leads_nowhere_while_that_is_deleted, support_setup,
                                        support_teardown),
        cmocka_unit_test_setup_teardown(test_ends, support_setup, support_teardown),
        cmocka_unit_test_setup_teardown(test_token_is_not_kept, support_setup, support_teardown),
        cmocka_unit_test_setup_teardown(test_each, support_setup, support_teardown),
        cmocka_unit_test_setup_teardown(test_strange_documents, support_setup, support_teardown),
        cmocka_unit_test_setup_teardown(test_expired_ones_are_removed, support_setup,
                                        support_teardown),
        cmocka_unit_test_setup_teardown(test_so_many_and_no_more, support_setup, support_teardown),
    };
    return cmocka_run_group_tests_name("share/share", tests, NULL, NULL);
}
