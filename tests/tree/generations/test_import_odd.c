/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/generations/import.h"

#include <string.h>

/* What cannot be brought as it is. */

static void test_tree_generations_import_odd__two_of_one_name(void **state)
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
static void test_tree_generations_import_odd__names_that_are_taken(void **state)
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
static void test_tree_generations_import_odd__changes_that_v7files_did_not_finish(void **state)
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
static void test_tree_generations_import_odd__what_is_damaged_is_left_out(void **state)
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
static void test_tree_generations_import_odd__orphans(void **state)
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

int main(void)
{
#define T(name)                                                                                    \
    cmocka_unit_test_setup_teardown(test_tree_generations_import_odd__##name, support_setup,       \
                                    support_teardown)
    const struct CMUnitTest tests[] = {
        T(two_of_one_name),
        T(names_that_are_taken),
        T(changes_that_v7files_did_not_finish),
        T(what_is_damaged_is_left_out),
        T(orphans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
