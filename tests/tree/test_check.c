/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <ashlar/log.h>
#include <stdio.h>
#include <string.h>

/* Each rule broken on purpose, beside the tree, is found and named. */

typedef struct findings {
    ash_buffer kinds; /* "kind path; kind path" */
    ash_buffer texts;
} findings;

static const char *text_of(const bson_t *facts, const char *name)
{
    bson_iter_t it;
    return bson_iter_init_find(&it, facts, name) && BSON_ITER_HOLDS_UTF8(&it)
               ? bson_iter_utf8(&it, NULL)
               : "";
}

static void note(void *ctx, const char *text, const bson_t *facts)
{
    findings *f = ctx;
    const char *path = text_of(facts, "path");
    ash__buffer_printf(&f->kinds, "%s%s%s%s", f->kinds.len > 0 ? "; " : "", text_of(facts, "kind"),
                       path[0] != '\0' ? " " : "", path);
    ash__buffer_printf(&f->texts, "%s\n", text);
    assert_string_equal(text, text_of(facts, "text"));
}

/* Exactly these findings; contents: with their bytes. */
static void expect(fixture *f, bool contents, const char *kinds, const char *word)
{
    findings found = {ASH_BUFFER_INIT, ASH_BUFFER_INIT};
    ash_tree_check_options o = ASH_TREE_CHECK_OPTIONS_INIT;
    ash_tree_check_report report = ASH_TREE_CHECK_REPORT_INIT;
    o.without_contents = !contents;
    o.finding = note;
    o.finding_ctx = &found;
    f->damaged = true;
    assert_int_equal(ash_tree_check(f->tree, &o, NULL, &report, &f->err), ASH_ECORRUPT);
    assert_true(report.findings > 0);
    assert_string_equal(ash__buffer_text(&found.kinds), kinds);
    if (word != NULL && strstr(ash__buffer_text(&found.texts), word) == NULL)
        fail_msg("\"%s\" is not in: %s", word, ash__buffer_text(&found.texts));
    ash__buffer_release(&found.kinds);
    ash__buffer_release(&found.texts);
}

static void remove_document(ash_collection *c, const char *json)
{
    bson_error_t reason;
    ash_error err = ASH_ERROR_INIT;
    bson_t *filter = bson_new_from_json((const uint8_t *)json, -1, &reason);
    assert_ok(ash_collection_remove(c, filter, NULL, NULL, &err), &err);
    bson_destroy(filter);
}

/* Two roots of a collection, and one of them has a document. */
static void test_tree_check__another_root(void **state)
{
    fixture *f = *state;
    ash_tree *other = NULL;
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    ash_tree_keep keep = ASH_TREE_KEEP_INIT;
    keep.last = 3;
    o.make_folders = true;
    support_put_seed(f, "a", 1);
    assert_ok(ash_tree_open(f->store, "other", NULL, &other, &f->err), &f->err);
    assert_ok(ash_tree_make_folder(other, "d/e", &o, NULL, NULL, &f->err), &f->err);
    support_expect_sound(f);
    assert_ok(ash_tree_set_keep(other, "", &keep, NULL, NULL, &f->err), &f->err);
    support_expect_sound(f);
    assert_ok(ash_tree_check(other, NULL, NULL, NULL, &f->err), &f->err);
    ash_tree_close(other);
}

static void test_tree_check__a_sound_tree(void **state)
{
    fixture *f = *state;
    ash_tree_check_report report = ASH_TREE_CHECK_REPORT_INIT;
    support_folder(f, "d");
    support_put_seed(f, "d/a", 1);
    support_put_seed(f, "d/a", 2);
    support_put_text(f, "b", "tiny");
    support_remove(f, "d");
    assert_ok(ash_tree_check(f->tree, NULL, NULL, &report, &f->err), &f->err);
    assert_int_equal(report.entries, 1);
    assert_int_equal(report.versions, 5);
    assert_int_equal(report.contents, 2);
    assert_int_equal(report.bytes, 1000);
    assert_int_equal(report.findings, 0);
}

static void test_tree_check__folders_that_are_missing(void **state)
{
    fixture *f = *state;
    support_folder(f, "d");
    support_put_text(f, "d/a", "x");
    remove_document(f->current, "{\"filename\": \"d\"}");
    expect(f, true, "folder missing ?/a", "a folder above it is missing");
}

/* v7files deleted a folder's own document alone. */
static void test_tree_check__folders_that_are_deleted(void **state)
{
    fixture *f = *state;
    support_folder(f, "d");
    support_folder(f, "d/e");
    support_remove(f, "d");
    bson_t *doc = support_document(f->past, "{\"filename\": \"d\"}");
    bson_iter_t it, child;
    assert_true(bson_iter_init_find(&it, doc, "_id") && bson_iter_recurse(&it, &child));
    assert_true(bson_iter_find(&child, "_id"));
    bson_t *orphan = BCON_NEW("_version", BCON_INT32(1), "parent", BCON_OID(bson_iter_oid(&child)),
                              "filename", BCON_UTF8("lost"));
    assert_ok(ash_collection_insert_one(f->current, orphan, NULL, &f->err), &f->err);
    bson_destroy(orphan);
    bson_destroy(doc);
    expect(f, true, "folder deleted /d/lost", "a folder above it is deleted");
}

static void test_tree_check__folders_that_are_files(void **state)
{
    fixture *f = *state;
    support_folder(f, "d");
    support_put_text(f, "d/a", "x");
    support_update(f->current, "{\"filename\": \"d\"}",
                   "{\"$set\": {\"in\": {\"$binary\": {\"base64\": \"\", \"subType\": \"00\"}}}}");
    expect(f, true, "folder is a file /d/a", "lies in something that is a file");
}

/* Two moves that v7files did not keep apart. */
static void test_tree_check__folders_in_a_circle(void **state)
{
    fixture *f = *state;
    support_folder(f, "d");
    support_folder(f, "d/e");
    bson_value_t e = support_id(f, "d/e");
    bson_t *filter = BCON_NEW("filename", BCON_UTF8("d"));
    bson_t *update = BCON_NEW("$set", "{", "parent", BCON_OID(&e.value.v_oid), "}");
    bson_value_t value = {.value_type = BSON_TYPE_DOCUMENT};
    value.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(update);
    value.value.v_doc.data_len = update->len;
    assert_ok(ash_collection_update(f->current, filter, &value, NULL, NULL, &f->err), &f->err);
    bson_destroy(filter);
    bson_destroy(update);
    expect(f, true, "folder missing ?/e; folder missing ?/d", NULL);
}

static void test_tree_check__names(void **state)
{
    fixture *f = *state;
    support_folder(f, "a");
    support_folder(f, "b");
    support_update(f->current, "{\"filename\": \"a\"}", "{\"$set\": {\"filename\": \"x/y\"}}");
    support_update(f->current, "{\"filename\": \"b\"}", "{\"$set\": {\"filename\": \"\"}}");
    expect(f, true, "name /; name /x/y", "no path leads to an entry of that name");
}

static void test_tree_check__names_that_two_have(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < 2; i++)
        support_insert(f->current, "{\"_version\": 1, \"parent\": \"/\", \"filename\": \"a\"}");
    expect(f, true, "name taken twice /a", "two entries have that name");
}

static void test_tree_check__documents_that_cannot_be(void **state)
{
    fixture *f = *state;
    static const char *const bad[] = {
        "{\"_id\": 1, \"_version\": 1, \"parent\": \"/\", \"filename\": 7}",
        "{\"_id\": 2, \"_version\": \"one\", \"parent\": \"/\", \"filename\": \"b\"}",
        "{\"_id\": 3, \"_version\": 1, \"parent\": \"/\", \"filename\": \"c\", \"sha\": \"x\"}"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(bad); i++)
        support_insert(f->current, bad[i]);
    support_insert(f->past, "{\"_id\": {\"_id\": 4, \"_version\": 1}, \"_version\": 1, \"parent\": "
                            "\"/\", \"filename\": \"d\", \"in\": 5}");
    expect(f, true, "document; document; document; document", "the document of d has a in");
}

/* One bad document costs itself: the folder's others are listed and counted, and can be put. */
static void test_tree_check__a_bad_document_costs_itself(void **state)
{
    fixture *f = *state;
    ash_tree_list_options o = ASH_TREE_LIST_OPTIONS_INIT;
    ash_tree_usage usage = ASH_TREE_USAGE_INIT;
    ash_tree_listing *l = NULL;
    const ash_tree_entry *e = NULL;
    ash_buffer names = ASH_BUFFER_INIT;
    int bad = 0, rc = 0;
    f->damaged = true;
    support_folder(f, "d");
    support_folder(f, "d/e");
    support_put_text(f, "d/e/x", "x");
    support_put_text(f, "d/a", "a");
    support_put_text(f, "d/b", "b");
    support_put_text(f, "d/c", "c");
    support_put_text(f, "d/c", "cc");
    support_update(f->current, "{\"filename\": \"b\"}", "{\"$set\": {\"in\": 7}}");
    support_update(f->past, "{\"filename\": \"c\"}", "{\"$set\": {\"_version\": \"one\"}}");
    o.recursive = true;
    assert_ok(ash_tree_list(f->tree, "/", &o, NULL, &l, &f->err), &f->err);
    do {
        rc = ash_tree_listing_next(l, &e, &f->err);
        if (rc == 0 && e != NULL)
            ash__buffer_printf(&names, "%s ", ash_tree_entry_path(e));
        else if (rc == ASH_ECORRUPT)
            assert_non_null(strstr(f->err.text, "/d: the document of b has a in")), bad++;
        else
            assert_ok(rc, &f->err);
    } while (rc != 0 || e != NULL);
    ash_tree_listing_free(l);
    assert_string_equal(ash__buffer_text(&names), "/d /d/a /d/c /d/e /d/e/x ");
    assert_int_equal(bad, 1);
    ash__buffer_release(&names);
    assert_int_equal(ash_tree_measure(f->tree, "/", NULL, &usage, &f->err), ASH_EPARTIAL);
    assert_int_equal(usage.files, 3);
    assert_int_equal(usage.folders, 3);
    assert_non_null(strstr(f->err.text, "2 damaged documents, first: /d: the document of b"));
    /* What is put over it would lose what it was: it is refused by its name. */
    ash_tree_writer *w = NULL;
    assert_int_equal(ash_tree_open_writer(f->tree, "d/b", NULL, NULL, &w, &f->err), ASH_ECORRUPT);
    assert_non_null(strstr(f->err.text, "the document of b has a in"));
    support_put_text(f, "d/a", "new");
    support_put_text(f, "d/d", "new");
}

/* Each version that loses something is told. */
static void test_tree_check__contents_that_are_missing(void **state)
{
    fixture *f = *state;
    support_put_seed(f, "a", 1);
    support_copy(f, "a", "b");
    support_put_seed(f, "b", 2);
    remove_document(f->contents, "{\"refHistory.1\": {\"$exists\": true}}");
    expect(f, false, "content missing /a; content missing /b", "/b, version 1: its content");
}

static void rot(fixture *f, const char *filter)
{
    support_update(f->contents, filter,
                   "{\"$set\": {\"in\": {\"$binary\": {\"base64\": \"cm90dGVu\", \"subType\": "
                   "\"00\"}}}}");
}

static void test_tree_check__contents_that_rot(void **state)
{
    fixture *f = *state;
    support_put_seed(f, "a", 1);
    support_put_seed(f, "a", 2);
    support_put_seed(f, "b", 3);
    rot(f, "{\"filename\": \"a\", \"refs\": []}");
    expect(f, true, "content damaged /a", "/a, version 1");
    ash_buffer got = ASH_BUFFER_INIT;
    assert_int_equal(support_read(f, "a", 1, 0, &got), ASH_ECORRUPT);
    ash__buffer_release(&got);
    support_expect_seed(f, "a", 2);
}

/* Of a chain of deltas the first: each version that stands on it is lost, and named, whether contents
 * are read or not. */
static void test_tree_check__a_base_costs_all_that_stands_on_it(void **state)
{
    enum { BYTES = 5000, VERSIONS = 4 };
    fixture *f = *state;
    uint8_t *data = support_bytes(BYTES, 1);
    for (int i = 0; i < VERSIONS; i++) {
        data[1000 * i] ^= 1;
        support_put(f, i == VERSIONS - 1 ? "b" : "a", data, BYTES);
        if (i == VERSIONS - 2)
            support_copy(f, "a", "b");
    }
    support_put_seed(f, "c", 5);
    assert_int_equal(support_count(f->contents, "{\"store\": \"delta\"}"), VERSIONS - 1);
    support_expect_sound(f);
    remove_document(f->contents, "{\"filename\": \"a\", \"base\": {\"$exists\": false}}");
    for (int contents = 0; contents < 2; contents++)
        expect(f, contents == 1,
               "content missing /a; content damaged /a; content damaged /a; content damaged /b; "
               "content damaged /b",
               "/b, version 2: ");
    ash__free(data);
}

/* The file's content, which an earlier version of `other` has as well, is damaged, and put again. */
static void rot_and_put(fixture *f, const char *path, const char *other, const char *target)
{
    uint32_t seed = (uint32_t)path[0];
    ash_tree_entry *e = NULL;
    ash_buffer filter = ASH_BUFFER_INIT, kinds = ASH_BUFFER_INIT;
    support_put_seed(f, path, seed);
    support_put_seed(f, other, seed);
    support_put_seed(f, other, seed + 100);
    ash__buffer_printf(&filter, "{\"filename\": \"%s\", \"refs.0\": {\"$exists\": true}}", path);
    ash__buffer_printf(&kinds, "content damaged /%s; content damaged /%s", path, other);
    rot(f, ash__buffer_text(&filter));
    expect(f, true, ash__buffer_text(&kinds), NULL);
    support_put_seed(f, target, seed);
    support_expect_sound(f);
    support_expect_seed(f, path, seed);
    assert_ok(ash_tree_get(f->tree, path, NULL, NULL, &e, &f->err), &f->err);
    assert_int_equal(ash_tree_entry_version(e), 1);
    ash_tree_entry_free(e);
    ash__buffer_release(&filter);
    ash__buffer_release(&kinds);
}

/* Putting the same bytes again heals them for every version that has them, and makes none where the
 * path has them already. */
static void test_tree_check__a_put_heals(void **state)
{
    fixture *f = *state;
    rot_and_put(f, "a", "b", "a");
    rot_and_put(f, "c", "d", "e");
}

/* As after a repair, which does not copy what is damaged. */
static void test_tree_check__a_put_brings_back_what_is_missing(void **state)
{
    fixture *f = *state;
    ash_tree_entry *e = NULL;
    support_put_seed(f, "a", 1);
    remove_document(f->contents, "{\"filename\": \"a\"}");
    expect(f, false, "content missing /a", NULL);
    support_put_seed(f, "a", 1);
    support_expect_sound(f);
    support_expect_seed(f, "a", 1);
    assert_ok(ash_tree_get(f->tree, "a", NULL, NULL, &e, &f->err), &f->err);
    assert_int_equal(ash_tree_entry_version(e), 1);
    ash_tree_entry_free(e);
}

/* Whoever brings it back, it belongs to all who name it. */
static void test_tree_check__what_comes_back_has_its_owners(void **state)
{
    fixture *f = *state;
    support_put_seed(f, "a", 1);
    support_copy(f, "a", "b");
    remove_document(f->contents, "{\"filename\": \"a\"}");
    expect(f, false, "content missing /a; content missing /b", NULL);
    support_put_seed(f, "c", 1);
    support_expect_sound(f);
    support_expect_refs(f, "a", 3, 3);
    remove_document(f->contents, "{}");
    for (int i = 0; i < 150; i++) {
        char path[16];
        snprintf(path, sizeof path, "many/%d", i);
        if (i == 0)
            support_folder(f, "many");
        if (i == 0)
            support_put_seed(f, path, 1);
        else
            support_copy(f, "many/0", path);
    }
    remove_document(f->contents, "{}");
    support_put_seed(f, "d", 1);
    support_expect_sound(f);
}

static void test_tree_check__references_that_are_wrong(void **state)
{
    fixture *f = *state;
    support_put_seed(f, "a", 1);
    support_update(f->contents, "{}", "{\"$set\": {\"refs\": []}}");
    expect(f, false, "content damaged /a", "its refs lack an entry");
}

static void test_tree_check__references_that_are_too_many(void **state)
{
    fixture *f = *state;
    support_put_seed(f, "a", 1);
    support_put_text(f, "b", "tiny");
    bson_value_t b = support_id(f, "b");
    bson_t *all = bson_new();
    bson_t *update = BCON_NEW("$push", "{", "refs", BCON_OID(&b.value.v_oid), "}");
    bson_value_t value = {.value_type = BSON_TYPE_DOCUMENT};
    value.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(update);
    value.value.v_doc.data_len = update->len;
    assert_ok(ash_collection_update(f->contents, all, &value, NULL, NULL, &f->err), &f->err);
    expect(f, false, "content damaged /a", "its refs have an entry that does not have it");
    bson_destroy(update);
    bson_destroy(all);
}

/* ---- indexes that somebody dropped ---- */

static void drop_index(fixture *f, ash_collection *c, const char *name)
{
    bson_value_t index = {.value_type = BSON_TYPE_UTF8};
    index.value.v_utf8.str = (char *)(uintptr_t)name;
    index.value.v_utf8.len = (uint32_t)strlen(name);
    assert_ok(ash_collection_drop_indexes(c, &index, NULL, &f->err), &f->err);
}

static bool has_index(fixture *f, ash_collection *c, const char *name)
{
    ash_cursor *cursor = NULL;
    ash_doc doc = {NULL, 0};
    bool has = false;
    assert_ok(ash_collection_list_indexes(c, NULL, &cursor, &f->err), &f->err);
    while (!has && ash_cursor_next(cursor, &doc, &f->err) == 0 && doc.data != NULL) {
        bson_t view;
        bson_iter_t it;
        assert_true(bson_init_static(&view, doc.data, doc.len));
        has =
            bson_iter_init_find(&it, &view, "name") && strcmp(bson_iter_utf8(&it, NULL), name) == 0;
    }
    ash_cursor_free(cursor);
    return has;
}

static char warning[500];

static void keep_warning(void *ctx, ash_log_level level, const char *text)
{
    (void)ctx;
    if (level == ASH_LOG_WARN)
        snprintf(warning, sizeof warning, "%s", text);
}

/* A check finds all the same without them, and says what makes it slow; a collection makes them. */
static void test_tree_check__indexes_that_are_missing(void **state)
{
    fixture *f = *state;
    ash_tree_collect_options o = ASH_TREE_COLLECT_OPTIONS_INIT;
    static const char *const name = "parent_1_filename_1";
    o.min_age_s = -1;
    support_put_seed(f, "a", 1);
    support_put_seed(f, "b", 2);
    drop_index(f, f->current, name);
    drop_index(f, f->current, "sha_1");
    drop_index(f, f->past, "sha_1");
    support_expect_sound(f);
    rot(f, "{\"filename\": \"a\"}");
    ash_log_set(keep_warning, NULL, ASH_LOG_WARN);
    expect(f, true, "content damaged /a", NULL);
    ash_log_set(NULL, NULL, ASH_LOG_ERROR);
    assert_non_null(strstr(warning, "has no index on sha"));
    assert_ok(ash_tree_collect(f->tree, &o, NULL, NULL, &f->err), &f->err);
    assert_true(has_index(f, f->current, name));
    assert_true(has_index(f, f->current, "sha_1"));
    assert_true(has_index(f, f->past, "sha_1"));
}

static bool stop(void *ctx, const char *what, int64_t done, int64_t total)
{
    (void)what, (void)done, (void)total;
    *(int *)ctx += 1;
    return false;
}

static void test_tree_check__can_be_stopped(void **state)
{
    fixture *f = *state;
    ash_tree_check_options o = ASH_TREE_CHECK_OPTIONS_INIT;
    int asked = 0;
    char path[] = "d/000";
    support_folder(f, "d");
    for (int i = 0; i < 300; i++) {
        path[2] = (char)('0' + i / 100);
        path[3] = (char)('0' + i / 10 % 10);
        path[4] = (char)('0' + i % 10);
        support_put_text(f, path, "x");
    }
    o.progress = stop;
    o.progress_ctx = &asked;
    assert_int_equal(ash_tree_check(f->tree, &o, NULL, NULL, &f->err), ASH_EINTERRUPTED);
    assert_int_equal(asked, 1);
}

/* A million documents do not fit into what a sort may hold. */
static void test_tree_check__documents_come_in_order(void **state)
{
    fixture *f = *state;
    bson_t plan;
    support_put_text(f, "a", "x");
    bson_t *command = BCON_NEW("find", BCON_UTF8("v7files"), "filter", "{", "parent", "{",
                               "$exists", BCON_BOOL(true), "}", "}", "sort", "{", "parent",
                               BCON_INT32(1), "filename", BCON_INT32(1), "}");
    assert_ok(ash_collection_explain(f->current, command, "queryPlanner", NULL, &plan, &f->err),
              &f->err);
    char *text = bson_as_relaxed_extended_json(&plan, NULL);
    assert_non_null(strstr(text, "parent_1_filename_1"));
    assert_null(strstr(text, "\"SORT\""));
    bson_free(text);
    bson_destroy(&plan);
    bson_destroy(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define here(test) cmocka_unit_test_setup_teardown(test, support_setup, support_teardown)
        here(test_tree_check__a_sound_tree),
        here(test_tree_check__another_root),
        here(test_tree_check__folders_that_are_missing),
        here(test_tree_check__folders_that_are_deleted),
        here(test_tree_check__folders_that_are_files),
        here(test_tree_check__folders_in_a_circle),
        here(test_tree_check__names),
        here(test_tree_check__names_that_two_have),
        here(test_tree_check__documents_that_cannot_be),
        here(test_tree_check__a_bad_document_costs_itself),
        here(test_tree_check__contents_that_are_missing),
        here(test_tree_check__contents_that_rot),
        here(test_tree_check__a_base_costs_all_that_stands_on_it),
        here(test_tree_check__a_put_heals),
        here(test_tree_check__a_put_brings_back_what_is_missing),
        here(test_tree_check__what_comes_back_has_its_owners),
        here(test_tree_check__references_that_are_wrong),
        here(test_tree_check__references_that_are_too_many),
        here(test_tree_check__indexes_that_are_missing),
        here(test_tree_check__documents_come_in_order),
        here(test_tree_check__can_be_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
