/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/generations/old.h"

#include <string.h>

/* Trees of any kind come to lie in one of today, with their past. */

#define IMPORT_CURRENT "v7files"
#define IMPORT_PAST    "v7files.vermongo"

/* The target's collections take the place of the source's in the fixture, so that what looks at a
 * tree can look at it. */
typedef struct import_target {
    fixture view;
    char *db;
    ash_tree_import_report report;
    ash_buffer told; /* paths of what arrived */
    ash_buffer failed;
    int stop_after; /* entries; 0: never */
} import_target;

static ash_collection *open_collection(fixture *f, const char *db, const char *name)
{
    ash_collection *c = NULL;
    assert_ok(ash_collection_new(f->store, db, name, &c, &f->err), &f->err);
    return c;
}

static void import_open(fixture *f, import_target *t)
{
    ash_tree_options o = ASH_TREE_OPTIONS_INIT;
    *t = (import_target){.view = {.store = f->store}};
    o.db = t->db = ash__sprintf("%s-to", ash_store_default_db(f->store));
    assert_ok(ash_tree_open(f->store, "/", &o, &t->view.tree, &f->err), &f->err);
    t->view.current = open_collection(f, t->db, IMPORT_CURRENT);
    t->view.past = open_collection(f, t->db, IMPORT_PAST);
    t->view.contents = open_collection(f, t->db, "v7.fs.files");
    t->view.chunks = open_collection(f, t->db, "v7.fs.chunks");
}

static void import_close(import_target *t)
{
    ash_collection_free(t->view.current);
    ash_collection_free(t->view.past);
    ash_collection_free(t->view.contents);
    ash_collection_free(t->view.chunks);
    ash_tree_close(t->view.tree);
    ash_store_drop_database(t->view.store, t->db, NULL, NULL);
    ash__free(t->db);
    ash__buffer_release(&t->told);
    ash__buffer_release(&t->failed);
}

static bool note_entry(void *ctx, const ash_tree_entry *e)
{
    import_target *t = ctx;
    ash__buffer_printf(&t->told, "%s%s", t->told.len > 0 ? " " : "", ash_tree_entry_path(e));
    return t->stop_after == 0 || --t->stop_after > 0;
}

static void note_failure(void *ctx, const char *text, const bson_t *facts)
{
    import_target *t = ctx;
    assert_true(bson_has_field(facts, "kind"));
    ash__buffer_printf(&t->failed, "%s%s", t->failed.len > 0 ? "; " : "", text);
}

static int import_run(fixture *f, import_target *t, ash_tree_import_options *o)
{
    ash_tree_import_options plain = ASH_TREE_IMPORT_OPTIONS_INIT;
    o = o != NULL ? o : &plain;
    o->each = note_entry;
    o->failed = note_failure;
    o->each_ctx = o->failed_ctx = t;
    ash__buffer_clear(&t->told);
    ash__buffer_clear(&t->failed);
    t->report = (ash_tree_import_report)ASH_TREE_IMPORT_REPORT_INIT;
    return ash_tree_import(t->view.tree, f->tree, o, NULL, &t->report, &f->err);
}

static void import_expect(const import_target *t, int entries, int versions, int skipped,
                          int failed)
{
    assert_int_equal(t->report.entries, entries);
    assert_int_equal(t->report.versions, versions);
    assert_int_equal(t->report.skipped, skipped);
    assert_int_equal(t->report.failed, failed);
}

/* ---- databases ---- */

static char *version_text(int i)
{
    char *base = old_text(4000, 1);
    char *text = ash__sprintf("version %d\n%s", i, base);
    ash__free(base);
    return text;
}

/* /docs, /docs/a of four versions, the second called b; /docs/gone, deleted; /tiny, inside;
 * /docs/pattern; all as the seed had it, with a mark and a field that nobody knows. */
static void import_fill(fixture *f)
{
    old_json(f, IMPORT_CURRENT,
             "{\"_id\": \"/\", \"_version\": 1, \"acl\": {\"read\": [\"all\"], \"write\": "
             "[\"some\"]}}");
    old_json(f, IMPORT_CURRENT,
             "{\"_id\": %1, \"_version\": 1, \"parent\": \"/\", \"filename\": \"docs\", "
             "\"created_at\": {\"$date\": 1}}");
    for (int i = 1; i <= 4; i++) {
        char *text = version_text(i);
        char *id = i < 4 ? ash__sprintf("{\"_id\": %%2, \"_version\": %d}", i) : ash__strdup("%2");
        char *json = ash__sprintf(
            "{\"_id\": %s, \"_version\": %d, \"parent\": %%1, \"filename\": \"%s\", \"mood\": "
            "%d, \"created_at\": {\"$date\": 1}, \"updated_at\": {\"$date\": %d}}",
            id, i, i == 2 ? "b" : "a", i, i * 2);
        old_content(f, i % 2 == 0 ? OLD_Z : OLD_GZ, text, strlen(text), i < 4 ? 0 : 2);
        old_file(f, i < 4 ? IMPORT_PAST : IMPORT_CURRENT, json, text);
        ash__free(json);
        ash__free(id);
        ash__free(text);
    }
    old_content(f, OLD_BARE_ZIN, "what was deleted is not lost", 28, 0);
    old_file(f, IMPORT_PAST,
             "{\"_id\": {\"_id\": %3, \"_version\": 1}, \"_version\": 1, \"parent\": %1, "
             "\"filename\": \"gone\", \"created_at\": {\"$date\": 1}}",
             "what was deleted is not lost");
    old_json(f, IMPORT_PAST,
             "{\"_id\": {\"_id\": %3, \"_version\": 2}, \"_version\": \"deleted:2\", "
             "\"deleted_at\": {\"$date\": 4}}");
    old_json(f, IMPORT_CURRENT,
             "{\"_id\": %4, \"_version\": 1, \"parent\": \"/\", \"filename\": \"tiny\", "
             "\"in\": {\"$binary\": {\"base64\": \"dGlueQ==\", \"subType\": \"00\"}}, "
             "\"created_at\": {\"$date\": 1}}");
    old_json(f, IMPORT_CURRENT,
             "{\"_id\": %5, \"_version\": 1, \"parent\": %1, \"filename\": \"pattern\", "
             "\"in\": {\"$binary\": {\"base64\": \"YWJjZGU=\", \"subType\": \"00\"}}, "
             "\"length\": 12, \"created_at\": {\"$date\": 1}}");
    old_open(f);
}

static void import_expect_all(import_target *t)
{
    fixture *v = &t->view;
    support_expect_list(v, "/", true, 0, "/docs /docs/a /docs/pattern /tiny");
    support_expect_history(v, "docs/a", "4 3 2 1");
    for (int i = 1; i <= 4; i++) {
        char *text = version_text(i);
        support_expect_text_of(v, "docs/a", i, 0, text);
        ash__free(text);
    }
    support_expect_list(v, "docs", false, old_date(5), "b pattern");
    support_expect_list(v, "docs", false, old_date(3), "a gone pattern");
    support_expect_history(v, "docs/gone", "d2 1");
    support_expect_text_of(v, "docs/gone", 0, old_date(2), "what was deleted is not lost");
    support_expect_text(v, "tiny", "tiny");
    support_expect_text(v, "docs/pattern", "abcdeabcdeab");
    old_expect_findings(v, v->tree, "");
}

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

/* ---- what cannot be brought as it is ---- */

static void test_tree_generations_import__two_of_one_name(void **state)
{
    fixture *f = *state;
    f->damaged = true; /* on purpose */
    import_target t;
    for (int i = 1; i <= 3; i++) {
        char *json = ash__sprintf("{\"_id\": %%%d, \"_version\": 1, \"parent\": \"/\", "
                                  "\"filename\": \"same.txt\", \"created_at\": {\"$date\": %d}}",
                                  i, i);
        char *text = old_text(500, i);
        old_content(f, OLD_RAW, text, 500, i);
        old_file(f, IMPORT_CURRENT, json, text);
        ash__free(text);
        ash__free(json);
    }
    old_open(f);
    import_open(f, &t);
    assert_ok(import_run(f, &t, NULL), &f->err);
    import_expect(&t, 3, 3, 0, 0);
    assert_int_equal(t.report.renamed, 2);
    const char *const names[] = {"same.txt", "same (2).txt", "same (3).txt"};
    for (int i = 1; i <= 3; i++) {
        char *text = old_text(500, i);
        support_expect_text(&t.view, names[i - 1], text);
        ash__free(text);
    }
    old_expect_findings(&t.view, t.view.tree, "");
    assert_ok(import_run(f, &t, NULL), &f->err);
    import_expect(&t, 0, 0, 3, 0);
    import_close(&t);
}

/* What the target has of its own stays as it is. */
static void test_tree_generations_import__names_that_are_taken(void **state)
{
    fixture *f = *state;
    import_target t;
    import_fill(f);
    import_open(f, &t);
    support_folder(&t.view, "docs");
    support_put_text(&t.view, "docs/a", "of the target");
    support_put_text(&t.view, "tiny", "of the target");
    assert_ok(import_run(f, &t, NULL), &f->err);
    import_expect(&t, 6, 10, 0, 0);
    assert_int_equal(t.report.renamed, 2);
    support_expect_list(&t.view, "/", false, 0, "docs docs (2) tiny tiny (2)");
    support_expect_text(&t.view, "docs/a", "of the target");
    support_expect_text(&t.view, "tiny", "of the target");
    support_expect_text(&t.view, "tiny (2)", "tiny");
    support_expect_history(&t.view, "docs (2)/a", "4 3 2 1");
    old_expect_findings(&t.view, t.view.tree, "");
    import_close(&t);
}

/* v7files ended after it had written the history, and before the new version. */
static void test_tree_generations_import__changes_that_v7files_did_not_finish(void **state)
{
    fixture *f = *state;
    import_target t;
    static const char *const where[] = {IMPORT_CURRENT, IMPORT_PAST};
    for (int i = 0; i < 2; i++) {
        char *json = ash__sprintf(
            "{\"_id\": %s, \"_version\": 1, \"parent\": \"/\", \"filename\": \"a\", \"in\": "
            "{\"$binary\": {\"base64\": \"dGlueQ==\", \"subType\": \"00\"}}, \"created_at\": "
            "{\"$date\": 1}}",
            i == 0 ? "%1" : "{\"_id\": %1, \"_version\": 1}");
        old_json(f, where[i], json);
        ash__free(json);
    }
    old_open(f);
    import_open(f, &t);
    assert_ok(import_run(f, &t, NULL), &f->err);
    import_expect(&t, 1, 1, 0, 0);
    support_expect_history(&t.view, "a", "1");
    support_expect_text(&t.view, "a", "tiny");
    assert_ok(import_run(f, &t, NULL), &f->err);
    import_expect(&t, 0, 0, 1, 0);
    /* Where it lies, it can be written on as well. */
    support_put_text(f, "a", "new");
    support_expect_history(f, "a", "2 1");
    import_close(&t);
}

/* A content that is gone, bytes that are not what the digest says, documents that cannot be. */
static void test_tree_generations_import__what_is_damaged_is_left_out(void **state)
{
    fixture *f = *state;
    f->damaged = true; /* on purpose */
    import_target t;
    bson_t *filter = BCON_NEW("store", BCON_UTF8("zin"));
    import_fill(f);
    old_json(f, IMPORT_CURRENT,
             "{\"_id\": %7, \"_version\": \"seven\", \"parent\": \"/\", \"filename\": "
             "\"bad\", \"created_at\": {\"$date\": 1}}");
    old_file(f, IMPORT_CURRENT,
             "{\"_id\": %8, \"_version\": 1, \"parent\": \"/\", \"filename\": \"lost\", "
             "\"created_at\": {\"$date\": 1}}",
             "of this content there is nothing");
    old_json(f, IMPORT_CURRENT,
             "{\"_id\": %9, \"_version\": 1, \"parent\": %6, \"filename\": \"nowhere\", "
             "\"created_at\": {\"$date\": 1}}");
    assert_ok(ash_collection_remove(f->contents, filter, NULL, NULL, &f->err), &f->err);
    bson_destroy(filter);
    import_open(f, &t);
    assert_int_equal(import_run(f, &t, NULL), ASH_EPARTIAL);
    import_expect(&t, 6, 9, 0, 4);
    const char *failed = ash__buffer_text(&t.failed);
    assert_non_null(strstr(failed, "the document of bad has a _version that cannot be"));
    assert_non_null(strstr(failed, "/lost, version 1: content "));
    assert_non_null(strstr(failed, "/docs/gone, version 1: content "));
    assert_non_null(strstr(failed, "nowhere, version 1: a folder above it is missing"));
    support_expect_list(&t.view, "/", true, 0, "/docs /docs/a /docs/pattern /tiny");
    support_expect_history(&t.view, "docs/a", "4 3 2 1");
    old_expect_findings(&t.view, t.view.tree, "");
    assert_int_equal(import_run(f, &t, NULL), ASH_EPARTIAL);
    import_expect(&t, 0, 0, 9, 4);
    import_close(&t);
}

/* v7files deleted folders and left what lay in them: that comes along. */
static void test_tree_generations_import__orphans(void **state)
{
    fixture *f = *state;
    f->damaged = true; /* on purpose */
    import_target t;
    bson_value_t folder = old_id_value(1);
    old_json(f, IMPORT_PAST,
             "{\"_id\": {\"_id\": %1, \"_version\": 1}, \"_version\": 1, \"parent\": "
             "\"/\", \"filename\": \"folder\", \"created_at\": {\"$date\": 1}}");
    old_json(f, IMPORT_PAST,
             "{\"_id\": {\"_id\": %1, \"_version\": 2}, \"_version\": \"deleted:2\", "
             "\"deleted_at\": {\"$date\": 4}}");
    old_json(f, IMPORT_CURRENT,
             "{\"_id\": %2, \"_version\": 1, \"parent\": %1, \"filename\": \"orphan\", "
             "\"in\": {\"$binary\": {\"base64\": \"dGlueQ==\", \"subType\": \"00\"}}, "
             "\"created_at\": {\"$date\": 2}}");
    old_open(f);
    import_open(f, &t);
    assert_ok(import_run(f, &t, NULL), &f->err);
    import_expect(&t, 2, 3, 0, 0);
    support_expect_list(&t.view, "/", true, 0, "");
    assert_ok(ash_tree_undelete(t.view.tree, &folder, NULL, NULL, NULL, NULL, &f->err), &f->err);
    support_expect_text(&t.view, "folder/orphan", "tiny");
    import_close(&t);
}

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
        T(two_of_one_name),
        T(names_that_are_taken),
        T(changes_that_v7files_did_not_finish),
        T(what_is_damaged_is_left_out),
        T(orphans),
        T(refusals),
        T(many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
