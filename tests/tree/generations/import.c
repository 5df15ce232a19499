/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/generations/import.h"

#include <string.h>

static ash_collection *open_collection(fixture *f, const char *db, const char *name)
{
    ash_collection *c = NULL;
    assert_ok(ash_collection_new(f->store, db, name, &c, &f->err), &f->err);
    return c;
}

void import_open(fixture *f, import_target *t)
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

void import_close(import_target *t)
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

int import_run(fixture *f, import_target *t, ash_tree_import_options *o)
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

void import_expect(const import_target *t, int entries, int versions, int skipped, int failed)
{
    assert_int_equal(t->report.entries, entries);
    assert_int_equal(t->report.versions, versions);
    assert_int_equal(t->report.skipped, skipped);
    assert_int_equal(t->report.failed, failed);
}

static char *version_text(int i)
{
    char *base = old_text(4000, 1);
    char *text = ash__sprintf("version %d\n%s", i, base);
    ash__free(base);
    return text;
}

void import_fill(fixture *f)
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

void import_expect_all(import_target *t)
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
