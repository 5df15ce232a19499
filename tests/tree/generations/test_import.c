/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/generations/import.h"

#include <string.h>

/* ---- all of a tree ---- */

static void test_tree_generations_import__the_seed_with_its_past(void **state)
{
    fixture *f = *state;
    import_target t;
    import_fill(f);
    import_open(f, &t);
    assert_ok(import_run(f, &t, NULL), &f->err);
    import_expect(&t, 6, 10, 0, 0);
    import_expect_all(&t);
    /* By the digest of today, and the later versions as deltas of the earlier ones. */
    assert_int_equal(support_count(t.view.contents, "{\"store\": \"delta\"}"), 3);
    support_expect_refs(&t.view, "docs/a", 1, 1);
    ash_tree_entry *e = support_get(&t.view, "docs/a");
    bson_value_t id = old_id_value(2);
    assert_true(bson_oid_equal(&ash_tree_entry_id(e)->value.v_oid, &id.value.v_oid));
    assert_int_equal(strlen(ash_tree_entry_digest(e)), 64);
    assert_int_equal(ash_tree_entry_created_ms(e), old_date(1));
    assert_int_equal(ash_tree_entry_changed_ms(e), old_date(8));
    ash_tree_entry_free(e);
    bson_t *doc = support_document(t.view.past, "{\"_version\": 3}");
    support_expect_fields(doc, "_id _version parent filename mood created_at updated_at length sha "
                               "until");
    support_expect_type(doc, "length", BSON_TYPE_INT64);
    bson_destroy(doc);
    doc = support_document(t.view.current, "{\"_id\": \"/\"}");
    support_expect_fields(doc, "_id _version acl");
    bson_destroy(doc);
    doc = support_document(t.view.current, "{\"filename\": \"pattern\"}");
    support_expect_fields(doc, "_id _version parent filename in created_at");
    bson_destroy(doc);
    /* It is a tree like others. */
    bson_value_t gone = old_id_value(3);
    assert_ok(ash_tree_undelete(t.view.tree, &gone, NULL, NULL, NULL, NULL, &f->err), &f->err);
    support_expect_text(&t.view, "docs/gone", "what was deleted is not lost");
    support_put_text(&t.view, "docs/a", "goes on");
    support_expect_history(&t.view, "docs/a", "5 4 3 2 1");
    ash_tree_collect_options co = ASH_TREE_COLLECT_OPTIONS_INIT;
    co.min_age_s = -1;
    assert_ok(ash_tree_collect(t.view.tree, &co, NULL, NULL, &f->err), &f->err);
    support_expect_history(&t.view, "docs/a", "5 4 3 2 1");
    old_expect_findings(&t.view, t.view.tree, "");
    import_close(&t);
}

static void test_tree_generations_import__the_last_generation(void **state)
{
    fixture *f = *state;
    import_target t;
    char *text = old_text(5000, 1);
    old_sha id = old_digest(text, strlen(text));
    old_made(f, "v7files.content", &id,
             BCON_NEW("in", BCON_BIN(BSON_SUBTYPE_BINARY, (uint8_t *)text, 5000)), -1);
    old_file(f, "v7files.files",
             "{\"_id\": %1, \"_version\": 2, \"parent\": \"/\", \"filename\": \"a\", "
             "\"created_at\": {\"$date\": 1}, \"updated_at\": {\"$date\": 3}}",
             text);
    old_file(f, "v7files.files.vermongo",
             "{\"_id\": {\"_id\": %1, \"_version\": 1}, \"_version\": 1, \"parent\": \"/\", "
             "\"filename\": \"a\", \"created_at\": {\"$date\": 1}, \"mood\": 1}",
             text);
    old_open(f);
    import_open(f, &t);
    assert_ok(import_run(f, &t, NULL), &f->err);
    import_expect(&t, 1, 2, 0, 0);
    assert_string_equal(ash__buffer_text(&t.told), "/a");
    support_expect_text(&t.view, "a", text);
    support_expect_text_of(&t.view, "a", 1, 0, text);
    assert_int_equal(support_count(t.view.contents, "{}"), 1);
    support_expect_refs(&t.view, "a", 1, 1);
    old_expect_findings(&t.view, t.view.tree, "");
    import_close(&t);
    ash__free(text);
}

/* Another store, a tree of today, with everything that only those have. */
static void test_tree_generations_import__a_tree_of_today(void **state)
{
    fixture *f = *state;
    import_target t;
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    ash_tree_keep keep = ASH_TREE_KEEP_INIT;
    enum { LEN = 700000 };
    uint8_t *data = support_bytes(LEN, 1);
    bson_t *props = BCON_NEW("colour", BCON_UTF8("green"));
    o.props = props;
    o.changed_by = "somebody";
    support_folder(f, "d");
    assert_ok(support_try_put(f, "d/a", data, LEN, &o, NULL), &f->err);
    assert_ok(ash_tree_tag(f->tree, "d/a", 1, "first", false, NULL, &f->err), &f->err);
    support_put(f, "d/a", data, LEN - 1000);
    assert_ok(ash_tree_move(f->tree, "d/a", "b", NULL, NULL, NULL, &f->err), &f->err);
    support_put_text(f, "d/c", "c");
    assert_ok(ash_tree_remove(f->tree, "d/c", NULL, NULL, &f->err), &f->err);
    keep.last = 7;
    assert_ok(ash_tree_set_keep(f->tree, "d", &keep, NULL, NULL, &f->err), &f->err);
    import_open(f, &t);
    assert_ok(import_run(f, &t, NULL), &f->err);
    support_expect_list(&t.view, "/", true, 0, "/b /d");
    support_expect_history(&t.view, "b", "3 2 1");
    support_expect_history(&t.view, "d/c", "d2 1");
    support_expect_bytes(&t.view, "b", data, LEN - 1000);
    ash_tree_when when = ASH_TREE_WHEN_INIT;
    ash_tree_entry *e = NULL;
    when.version = 1;
    assert_ok(ash_tree_get(t.view.tree, "b", &when, NULL, &e, &f->err), &f->err);
    assert_true(ash_tree_entry_has_tag(e, "first"));
    assert_string_equal(ash_tree_entry_changed_by(e), "somebody");
    ash_tree_entry_free(e);
    char *from = NULL;
    assert_ok(ash_tree_get_keep(t.view.tree, "d", NULL, &keep, &from, &f->err), &f->err);
    assert_int_equal(keep.last, 7);
    ash_tree_string_free(from);
    old_expect_findings(&t.view, t.view.tree, "");
    import_close(&t);
    bson_destroy(props);
    ash__free(data);
}

/* ---- parts of it ---- */

static void test_tree_generations_import__a_folder_into_a_folder(void **state)
{
    fixture *f = *state;
    import_target t;
    ash_tree_import_options o = ASH_TREE_IMPORT_OPTIONS_INIT;
    import_fill(f);
    import_open(f, &t);
    o.from = "/docs";
    o.to = "/old/papers";
    assert_ok(import_run(f, &t, &o), &f->err);
    import_expect(&t, 3, 7, 0, 0);
    support_expect_list(&t.view, "/", true, 0,
                        "/old /old/papers /old/papers/a /old/papers/pattern");
    support_expect_history(&t.view, "/old/papers/a", "4 3 2 1");
    support_expect_history(&t.view, "/old/papers/gone", "d2 1");
    old_expect_findings(&t.view, t.view.tree, "");
    assert_ok(import_run(f, &t, &o), &f->err);
    import_expect(&t, 0, 0, 7, 0);
    o.from = "/tiny";
    assert_int_equal(import_run(f, &t, &o), ASH_EINVAL);
    o.from = "/nowhere";
    assert_int_equal(import_run(f, &t, &o), ASH_ENOTFOUND);
    import_close(&t);
}

static void test_tree_generations_import__without_history(void **state)
{
    fixture *f = *state;
    import_target t;
    ash_tree_import_options o = ASH_TREE_IMPORT_OPTIONS_INIT;
    import_fill(f);
    import_open(f, &t);
    o.without_history = o.dry_run = true;
    assert_ok(import_run(f, &t, &o), &f->err);
    import_expect(&t, 5, 5, 0, 0);
    assert_int_equal(support_count(t.view.current, "{}"), 0);
    o.dry_run = false;
    assert_ok(import_run(f, &t, &o), &f->err);
    import_expect(&t, 5, 5, 0, 0);
    support_expect_list(&t.view, "/", true, 0, "/docs /docs/a /docs/pattern /tiny");
    support_expect_history(&t.view, "docs/a", "4");
    assert_int_equal(support_count(t.view.past, "{}"), 0);
    /* The past can follow later. */
    assert_ok(import_run(f, &t, NULL), &f->err);
    import_expect(&t, 2, 5, 5, 0);
    import_expect_all(&t);
    support_expect_refs(&t.view, "docs/a", 1, 1);
    import_close(&t);
}

/* ---- again ---- */

static void test_tree_generations_import__goes_on_where_it_was_interrupted(void **state)
{
    fixture *f = *state;
    import_target t;
    import_fill(f);
    import_open(f, &t);
    int64_t versions = 0;
    for (int turn = 0, rc = ASH_EINTERRUPTED; rc != 0; turn++) {
        assert_in_range(turn, 0, 20);
        t.stop_after = 1;
        rc = import_run(f, &t, NULL);
        assert_true(rc == 0 || rc == ASH_EINTERRUPTED);
        versions += t.report.versions;
    }
    assert_int_equal(versions, 10);
    import_expect_all(&t);
    assert_ok(import_run(f, &t, NULL), &f->err);
    import_expect(&t, 0, 0, 10, 0);
    assert_string_equal(ash__buffer_text(&t.told), "");
    import_close(&t);
}

/* What the source has done since follows; what the target has done itself stays. */
static void test_tree_generations_import__brings_what_came_since(void **state)
{
    fixture *f = *state;
    import_target t;
    support_put_text(f, "changes", "one");
    support_put_text(f, "goes", "one");
    support_put_text(f, "stays", "one");
    support_put_text(f, "diverges", "one");
    import_open(f, &t);
    assert_ok(import_run(f, &t, NULL), &f->err);
    import_expect(&t, 4, 4, 0, 0);
    char *text = old_text(3000, 1);
    support_put(f, "changes", text, 3000);
    support_put_text(f, "changes", "three");
    assert_ok(ash_tree_remove(f->tree, "goes", NULL, NULL, &f->err), &f->err);
    support_put_text(f, "new", "one");
    support_put_text(f, "diverges", "two of the source");
    support_put_text(&t.view, "diverges", "two of the target");
    assert_ok(import_run(f, &t, NULL), &f->err);
    support_expect_list(&t.view, "/", false, 0, "changes diverges new stays");
    support_expect_history(&t.view, "changes", "3 2 1");
    support_expect_text(&t.view, "changes", "three");
    support_expect_text_of(&t.view, "changes", 2, 0, text);
    support_expect_text_of(&t.view, "changes", 1, 0, "one");
    support_expect_history(&t.view, "goes", "d2 1");
    support_expect_text(&t.view, "diverges", "two of the target");
    old_expect_findings(&t.view, t.view.tree, "");
    assert_ok(import_run(f, &t, NULL), &f->err);
    import_expect(&t, 0, 0, 9, 0);
    import_close(&t);
    ash__free(text);
}

/* ---- all the rest ---- */

static void test_tree_generations_import__refusals(void **state)
{
    fixture *f = *state;
    import_target t;
    ash_op op = ASH_OP_INIT;
    ash_principal who = ASH_PRINCIPAL_INIT;
    import_fill(f);
    import_open(f, &t);
    assert_int_equal(ash_tree_import(f->tree, f->tree, NULL, NULL, NULL, &f->err), ASH_EINVAL);
    op.principal = &who;
    assert_int_equal(ash_tree_import(t.view.tree, f->tree, NULL, &op, NULL, &f->err), ASH_EACCES);
    assert_int_equal(support_count(t.view.current, "{}"), 0);
    import_close(&t);
}

/* More entries than one group, more bytes than one commit. */
static void test_tree_generations_import__many(void **state)
{
    fixture *f = *state;
    import_target t;
    enum { FILES = 300, LEN = 400000 };
    uint8_t *data = support_bytes(LEN + 50, 1);
    support_folder(f, "d");
    for (int i = 0; i < FILES; i++) {
        char *path = ash__sprintf("d/%03d", i);
        if (i % 10 == 0)
            support_put(f, path, data + i / 10, LEN);
        else
            support_put(f, path, data + i % 7 * 1000, 1000);
        if (i % 3 == 0)
            support_put_text(f, path, path);
        ash__free(path);
    }
    import_open(f, &t);
    assert_ok(import_run(f, &t, NULL), &f->err);
    import_expect(&t, FILES + 1, FILES + 1 + FILES / 3, 0, 0);
    support_expect_bytes(&t.view, "d/010", data + 1, LEN);
    support_expect_bytes(&t.view, "d/004", data + 4000, 1000);
    support_expect_text(&t.view, "d/003", "d/003");
    old_expect_findings(&t.view, t.view.tree, "");
    import_close(&t);
    ash__free(data);
}

/* Files that are older than the folders that they lie in come before these. */
static void test_tree_generations_import__into_a_quota(void **state)
{
    enum { FILES = 150, LEN = 300 };
    fixture *f = *state;
    import_target t;
    ash_tree_quota q = ASH_TREE_QUOTA_INIT;
    uint8_t *data = support_bytes(LEN + FILES, 5);
    for (int i = 0; i < FILES; i++) {
        char *path = ash__sprintf("%03d", i);
        support_put(f, path, data + i, LEN);
        ash__free(path);
    }
    support_folder(f, "d");
    support_folder(f, "d/e");
    for (int i = 0; i < FILES; i++) {
        char *from = ash__sprintf("%03d", i), *to = ash__sprintf("d/e/%03d", i);
        support_move(f, from, to);
        ash__free(from);
        ash__free(to);
    }
    import_open(f, &t);
    assert_ok(ash_tree_set_quota(t.view.tree, "/", 100 * LEN, NULL, NULL, &f->err), &f->err);
    assert_int_equal(import_run(f, &t, NULL), ASH_ENOSPC);
    assert_ok(ash_tree_set_quota(t.view.tree, "/", FILES * LEN, NULL, NULL, &f->err), &f->err);
    assert_ok(import_run(f, &t, NULL), &f->err);
    old_expect_findings(&t.view, t.view.tree, "");
    assert_ok(ash_tree_get_quota(t.view.tree, "d/e", NULL, &q, NULL, &f->err), &f->err);
    assert_int_equal(q.used_bytes, FILES * LEN);
    import_close(&t);
    ash__free(data);
}

static void put_by(fixture *f, const char *user, const char *path, size_t len)
{
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    uint8_t *data = support_bytes(len, (uint32_t)len);
    o.changed_by = user;
    assert_ok(support_try_put(f, path, data, len, &o, NULL), &f->err);
    ash__free(data);
}

static bool take_used(void *ctx, const char *user, const ash_tree_quota *q)
{
    (void)user;
    *(int64_t *)ctx = q->used_bytes;
    return true;
}

static void expect_used(import_target *t, const char *user, int64_t bytes)
{
    int64_t used = -2;
    assert_ok(ash_tree_user_quotas(t->view.tree, user, NULL, take_used, &used, &t->view.err),
              &t->view.err);
    assert_int_equal(used, bytes);
}

/* What comes is whose it was, and what it replaces frees who had it here. */
static void test_tree_generations_import__into_quotas_of_users(void **state)
{
    fixture *f = *state;
    import_target t;
    put_by(f, "ann", "x", 300);
    put_by(f, "ann", "y", 50);
    support_move(f, "y", "z"); /* hers, though nobody knows who moved it */
    import_open(f, &t);
    assert_ok(ash_tree_set_user_quota(t.view.tree, "ann", 349, NULL, NULL, &f->err), &f->err);
    assert_ok(ash_tree_set_user_quota(t.view.tree, "ben", 500, NULL, NULL, &f->err), &f->err);
    assert_int_equal(import_run(f, &t, NULL), ASH_ENOSPC);
    assert_ok(ash_tree_set_user_quota(t.view.tree, "ann", 350, NULL, NULL, &f->err), &f->err);
    assert_ok(import_run(f, &t, NULL), &f->err);
    expect_used(&t, "ann", 350);
    put_by(f, "ben", "x", 400);
    assert_ok(import_run(f, &t, NULL), &f->err);
    expect_used(&t, "ann", 50);
    expect_used(&t, "ben", 400);
    old_expect_findings(&t.view, t.view.tree, "");
    import_close(&t);
}

int main(void)
{
#define T(name)                                                                                    \
    cmocka_unit_test_setup_teardown(test_tree_generations_import__##name, support_setup,           \
                                    support_teardown)
    const struct CMUnitTest tests[] = {
        T(the_seed_with_its_past),
        T(the_last_generation),
        T(a_tree_of_today),
        T(a_folder_into_a_folder),
        T(without_history),
        T(goes_on_where_it_was_interrupted),
        T(brings_what_came_since),
        T(refusals),
        T(many),
        T(into_a_quota),
        T(into_quotas_of_users),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
