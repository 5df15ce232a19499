/* SPDX-License-Identifier: Apache-2.0 */
#include "hosted.h"

#include "http/date.h"

#include <string.h>

/* Calls of the tree's JSON API that change something. */

static void expect_error(hosted *h, const char *call, const char *body, int status,
                         const char *code)
{
    bson_t *answer = hosted_call(h, call, body, status);
    assert_string_equal(hosted_member(answer, "error.code"), code);
    bson_destroy(answer);
}

/* A member of what a call that succeeds answers. */
static void expect(hosted *h, const char *call, const char *body, const char *member,
                   const char *value)
{
    bson_t *answer = hosted_call(h, call, body, 200);
    assert_string_equal(hosted_member(answer, member), value);
    bson_destroy(answer);
}

static void test_mkdir(void **state)
{
    hosted *h = *state;
    expect(h, "mkdir", "{\"path\": \"/a\"}", "path", "/a");
    expect(h, "mkdir", "{\"path\": \"/docs/a/\"}", "path", "/docs/a");
    expect_error(h, "mkdir", "{\"path\": \"/a\"}", 409, "EEXISTS");
    expect_error(h, "mkdir", "{\"path\": \"/b/c\"}", 404, "ENOTFOUND");
    expect_error(h, "mkdir", "{\"path\": \"/.ashlar/c\"}", 403, "EACCES");
    expect(h, "mkdir", "{\"path\": \"/b/c\", \"make_folders\": true}", "folder", "true");
    support_expect_list(h->f, "", true, 0, "/a /b /b/c");
}

static void test_over_quota(void **state)
{
    hosted *h = *state;
    support_folder(h->f, "d");
    support_put_text(h->f, "a", "one");
    assert_ok(ash_tree_set_quota(h->f->tree, "d", 2, NULL, NULL, &h->f->err), &h->f->err);
    expect_error(h, "move", "{\"path\": \"/a\", \"to\": \"/d/a\"}", 507, "ENOSPC");
    expect_error(h, "copy", "{\"path\": \"/a\", \"to\": \"/d/a\"}", 507, "ENOSPC");
    support_expect_list(h->f, "", true, 0, "/a /d");
}

static void test_move_and_copy(void **state)
{
    hosted *h = *state;
    support_folder(h->f, "d");
    support_put_text(h->f, "a", "one");
    support_put_text(h->f, "b", "two");
    expect(h, "move", "{\"path\": \"/a\", \"to\": \"/d/a\"}", "path", "/d/a");
    expect(h, "copy", "{\"path\": \"/d\", \"to\": \"/e\"}", "path", "/e");
    support_expect_list(h->f, "", true, 0, "/b /d /d/a /e /e/a");
    expect_error(h, "move", "{\"path\": \"/b\", \"to\": \"/d/a\"}", 409, "EEXISTS");
    expect_error(h, "copy", "{\"path\": \"/b\", \"to\": \"/d/a\"}", 409, "EEXISTS");
    support_expect_text(h->f, "d/a", "one");
    expect(h, "copy", "{\"path\": \"/b\", \"to\": \"/d/a\", \"replace\": true}", "version", "3");
    support_expect_text(h->f, "d/a", "two");
    expect_error(h, "move", "{\"path\": \"/b\", \"to\": \"/x/y/b\"}", 404, "ENOTFOUND");
    expect(h, "move", "{\"path\": \"/b\", \"to\": \"/x/y/b\", \"make_folders\": true}", "name",
           "b");
    expect_error(h, "move", "{\"path\": \"/d\", \"to\": \"/d/d\"}", 400, "EINVAL");
    expect_error(h, "move", "{\"path\": \"/none\", \"to\": \"/b\"}", 404, "ENOTFOUND");
    static const char *const bad[] = {"{\"path\": \"/d\"}", "{\"path\": \"/d\", \"to\": \"x\"}",
                                      "{\"path\": \"/d\", \"to\": \"/../x\"}",
                                      "{\"path\": \"/d\", \"to\": \"/docs/d\"}"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(bad); i++)
        expect_error(h, "move", bad[i], 400, "EINVAL");
    expect_error(h, "copy", "{\"path\": \"/d\", \"to\": \"/.ashlar\"}", 403, "EACCES");
    support_expect_list(h->f, "", true, 0, "/d /d/a /e /e/a /x /x/y /x/y/b");
}

static void test_versions_asked_for(void **state)
{
    hosted *h = *state;
    support_put_text(h->f, "a", "one");
    support_put_text(h->f, "a", "two");
    expect_error(h, "move", "{\"path\": \"/a\", \"to\": \"/b\", \"if_version\": 1}", 409,
                 "ECONFLICT");
    expect_error(h, "delete", "{\"path\": \"/a\", \"if_version\": 1}", 409, "ECONFLICT");
    support_expect_list(h->f, "", true, 0, "/a");
    expect(h, "delete", "{\"path\": \"/a\", \"if_version\": 2}", "name", "a");
}

static void test_delete_and_undelete(void **state)
{
    hosted *h = *state;
    support_folder(h->f, "d");
    support_put_text(h->f, "d/a", "one");
    expect_error(h, "delete", "{\"path\": \"/d\"}", 409, "ESTATE");
    bson_t *answer = hosted_call(h, "delete", "{\"path\": \"/d\", \"recursive\": true}", 200);
    char *back = ash__sprintf("{\"path\": \"/\", \"id\": \"%s\"}", hosted_member(answer, "id"));
    char *elsewhere = ash__sprintf("{\"path\": \"/\", \"id\": \"%s\", \"to\": \"/e\"}",
                                   hosted_member(answer, "id"));
    bson_destroy(answer);
    support_expect_list(h->f, "", true, 0, "");
    expect_error(h, "delete", "{\"path\": \"/d\", \"recursive\": true}", 404, "ENOTFOUND");
    expect(h, "undelete", back, "path", "/d");
    support_expect_text(h->f, "d/a", "one");
    expect_error(h, "undelete", back, 409, "EEXISTS");
    expect(h, "delete", "{\"path\": \"/d\", \"recursive\": true}", "path", "/d");
    expect(h, "undelete", elsewhere, "path", "/e");
    support_expect_list(h->f, "", true, 0, "/e /e/a");
    expect_error(h, "undelete", "{\"path\": \"/\"}", 400, "EINVAL");
    expect_error(h, "undelete", "{\"path\": \"/\", \"id\": \"xyz\"}", 400, "EINVAL");
    expect_error(h, "undelete", "{\"path\": \"/\", \"id\": \"0123456789abcdef01234567\"}", 404,
                 "ENOTFOUND");
    ash__free(back);
    ash__free(elsewhere);
}

/* By its id alone everything could be had. */
static void test_undelete_of_another_tree(void **state)
{
    hosted *h = *state;
    support_put_text(h->f, "a", "one");
    bson_t *answer = hosted_call(h, "delete", "{\"path\": \"/a\"}", 200);
    char *body = ash__sprintf("{\"path\": \"/docs\", \"id\": \"%s\"}", hosted_member(answer, "id"));
    char *to = ash__sprintf("{\"path\": \"/docs\", \"id\": \"%s\", \"to\": \"/docs/a\"}",
                            hosted_member(answer, "id"));
    bson_destroy(answer);
    expect_error(h, "undelete", body, 404, "ENOTFOUND");
    expect_error(h, "undelete", to, 404, "ENOTFOUND");
    hosted_expect_entries(h, "trash?path=/", "path", "/a");
    hosted_expect_entries(h, "list?path=/docs", "path", "");
    ash__free(body);
    ash__free(to);
}

static void test_restore(void **state)
{
    hosted *h = *state;
    char date[ASH_DATE_BYTES];
    support_folder(h->f, "d");
    support_put_text(h->f, "d/a", "one");
    int64_t then = support_moment(h->f);
    ash__date_iso(date, then);
    support_put_text(h->f, "d/a", "two");
    support_put_text(h->f, "d/new", "x");
    expect(h, "restore", "{\"path\": \"/d/a\", \"version\": 1}", "version", "3");
    support_expect_text(h->f, "d/a", "one");
    expect_error(h, "restore", "{\"path\": \"/d/a\", \"version\": 9}", 404, "ENOREVISION");
    support_put_text(h->f, "d/a", "three");
    char *body = ash__sprintf("{\"path\": \"/d\", \"at\": \"%.19s.%03dZ\", \"dry_run\": true}",
                              date, (int)(then % 1000));
    bson_t *answer = hosted_call(h, "restore", body, 200);
    assert_string_equal(hosted_member(answer, "changed"), "1");
    assert_string_equal(hosted_member(answer, "deleted"), "1");
    bson_destroy(answer);
    support_expect_text(h->f, "d/a", "three");
    ash__free(body);
    body = ash__sprintf("{\"path\": \"/d\", \"at\": \"%.19s.%03dZ\"}", date, (int)(then % 1000));
    expect(h, "restore", body, "changed", "1");
    support_expect_text(h->f, "d/a", "one");
    support_expect_missing(h->f, "d/new");
    ash__free(body);
    static const char *const bad[] = {"{\"path\": \"/d\"}", "{\"path\": \"/d\", \"at\": \"then\"}",
                                      "{\"path\": \"/d\", \"at\": \"2026-01-01\", \"version\": 1}"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(bad); i++)
        expect_error(h, "restore", bad[i], 400, "EINVAL");
}

/* One version goes for good, for whoever may change the file and knows what it is now. */
static void test_forget(void **state)
{
    hosted *h = *state;
    for (int i = 0; i < 4; i++)
        support_put_text(h->f, "a", i % 2 == 0 ? "even" : "odd");
    expect_error(h, "forget", "{\"path\": \"/a\"}", 400, "EINVAL");
    expect_error(h, "forget", "{\"path\": \"/a\", \"version\": 0}", 400, "EINVAL");
    expect_error(h, "forget", "{\"path\": \"/a\", \"version\": -1}", 400, "EINVAL");
    expect_error(h, "forget", "{\"path\": \"/a\", \"version\": 4}", 409, "ESTATE");
    expect_error(h, "forget", "{\"path\": \"/a\", \"version\": 5}", 404, "ENOREVISION");
    expect_error(h, "forget", "{\"path\": \"/a\", \"version\": 1, \"if_version\": 3}", 409,
                 "ECONFLICT");
    expect(h, "tag", "{\"path\": \"/a\", \"version\": 3, \"tag\": \"good\"}", "version", "3");
    expect_error(h, "forget", "{\"path\": \"/a\", \"version\": 3}", 409, "ESTATE");
    support_expect_history(h->f, "a", "4 3 2 1");
    expect(h, "forget", "{\"path\": \"/a\", \"version\": 1, \"if_version\": 4}", "removed", "1");
    expect(h, "forget", "{\"path\": \"/a\", \"version\": 2}", "removed", "1");
    support_expect_history(h->f, "a", "4 3");
    expect_error(h, "restore", "{\"path\": \"/a\", \"version\": 2}", 404, "ENOREVISION");
}

/* Nothing is done where a parameter cannot be what was meant. */
static void test_parameters_of_other_kinds(void **state)
{
    hosted *h = *state;
    static const char *const bad[][2] = {
        {"delete", "{\"path\": \"/a\", \"if_version\": \"1\"}"},
        {"delete", "{\"path\": \"/a\", \"if_version\": 4294967297}"},
        {"delete", "{\"path\": \"/a\", \"if_version\": 1.5}"},
        {"delete", "{\"path\": \"/a\", \"if_version\": -1}"},
        {"delete", "{\"path\": \"/a\", \"recursive\": 1}"},
        {"restore", "{\"path\": \"/a\", \"version\": 4294967297}"},
        {"forget", "{\"path\": \"/a\", \"version\": \"1\"}"},
        {"restore", "{\"path\": \"/\", \"at\": \"2000-01-01\", \"dry_run\": \"true\"}"},
        {"share", "{\"path\": \"/a\", \"expires\": 1}"},
        {"share", "{\"path\": \"/a\", \"right\": 7}"},
        {"move", "{\"path\": \"/a\", \"to\": [\"/b\"]}"},
    };
    support_put_text(h->f, "a", "one");
    for (size_t i = 0; i < ASH_ARRAY_LEN(bad); i++)
        expect_error(h, bad[i][0], bad[i][1], 400, "EINVAL");
    support_expect_text(h->f, "a", "one");
    bson_t *stat = hosted_call(h, "stat?path=/a", NULL, 200);
    assert_string_equal(hosted_member(stat, "version"), "1");
    bson_destroy(stat);
    expect(h, "delete", "{\"path\": \"/a\", \"if_version\": 1}", "path", "/a");
}

static void test_tag(void **state)
{
    hosted *h = *state;
    support_put_text(h->f, "a", "one");
    support_put_text(h->f, "a", "two");
    expect(h, "tag", "{\"path\": \"/a\", \"version\": 1, \"tag\": \"sent\"}", "tags.0", "sent");
    expect(h, "stat?path=/a&version=1", NULL, "tags.0", "sent");
    expect(h, "tag", "{\"path\": \"/a\", \"version\": 1, \"tag\": \"sent\", \"remove\": true}",
           "tags.0", "");
    expect_error(h, "tag", "{\"path\": \"/a\"}", 400, "EINVAL");
    expect_error(h, "tag", "{\"path\": \"/none\", \"tag\": \"x\"}", 404, "ENOTFOUND");
}

/* ---- locks ---- */

static void lock(hosted *h, const char *path, const char *depth)
{
    char *line = ash__sprintf("LOCK %s", path);
    char *fields = ash__sprintf("Depth: %s\nTimeout: Second-600\n", depth);
    hosted_expect(h, line, fields,
                  "<lockinfo xmlns=\"DAV:\"><lockscope><exclusive/></lockscope><locktype><write/>"
                  "</locktype><owner>desk &amp; chair</owner></lockinfo>",
                  200);
    ash__free(line);
    ash__free(fields);
}

static void test_locked(void **state)
{
    hosted *h = *state;
    support_folder(h->f, "d");
    support_put_text(h->f, "d/a", "one");
    support_put_text(h->f, "d/a", "two");
    support_put_text(h->f, "b", "x");
    lock(h, "/d/a", "0");
    static const struct {
        const char *call, *body;
    } rows[] = {{"delete", "{\"path\": \"/d/a\"}"},
                {"delete", "{\"path\": \"/d\", \"recursive\": true}"},
                {"move", "{\"path\": \"/d/a\", \"to\": \"/c\"}"},
                {"move", "{\"path\": \"/d\", \"to\": \"/c\"}"},
                {"copy", "{\"path\": \"/b\", \"to\": \"/d/a\", \"replace\": true}"},
                {"restore", "{\"path\": \"/d/a\", \"version\": 1}"},
                {"forget", "{\"path\": \"/d/a\", \"version\": 1}"},
                {"restore", "{\"path\": \"/d\", \"at\": \"2026-01-01\"}"}};
    for (size_t i = 0; i < ASH_ARRAY_LEN(rows); i++)
        expect_error(h, rows[i].call, rows[i].body, 423, "ELOCKED");
    support_expect_list(h->f, "", true, 0, "/b /d /d/a");
    support_expect_version(h->f, "d/a", 2);
    bson_t *answer = hosted_call(h, "locks?path=/", NULL, 200);
    assert_string_equal(hosted_member(answer, "locks.0.path"), "/d/a");
    assert_string_equal(hosted_member(answer, "locks.0.kind"), "exclusive");
    assert_string_equal(hosted_member(answer, "locks.0.owner"), "desk & chair");
    assert_string_equal(hosted_member(answer, "locks.0.webdav"), "true");
    assert_int_equal(strlen(hosted_member(answer, "locks.0.since")), 24);
    bson_destroy(answer);
    expect(h, "locks?path=/docs", NULL, "locks.0.path", "");
    expect(h, "copy", "{\"path\": \"/d/a\", \"to\": \"/c\"}", "path", "/c");
    expect(h, "unlock", "{\"path\": \"/d\"}", "broken", "0");
    expect(h, "unlock", "{\"path\": \"/d/a\"}", "broken", "1");
    expect(h, "locks?path=/", NULL, "locks.0.path", "");
    expect(h, "delete", "{\"path\": \"/d/a\"}", "name", "a");
}

/* What is deleted does not come back into a folder that somebody has locked. */
static void test_locked_folder(void **state)
{
    hosted *h = *state;
    support_folder(h->f, "d");
    support_put_text(h->f, "d/a", "one");
    bson_t *answer = hosted_call(h, "delete", "{\"path\": \"/d/a\"}", 200);
    char *back = ash__sprintf("{\"path\": \"/\", \"id\": \"%s\"}", hosted_member(answer, "id"));
    char *aside = ash__sprintf("{\"path\": \"/\", \"id\": \"%s\", \"to\": \"/a\"}",
                               hosted_member(answer, "id"));
    bson_destroy(answer);
    lock(h, "/d", "infinity");
    expect_error(h, "undelete", back, 423, "ELOCKED");
    expect_error(h, "mkdir", "{\"path\": \"/d/x\"}", 423, "ELOCKED");
    support_expect_list(h->f, "", true, 0, "/d");
    expect(h, "undelete", aside, "path", "/a");
    ash__free(back);
    ash__free(aside);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_mkdir, hosted_setup, hosted_teardown),
        cmocka_unit_test_setup_teardown(test_over_quota, hosted_setup, hosted_teardown),
        cmocka_unit_test_setup_teardown(test_move_and_copy, hosted_setup, hosted_teardown),
        cmocka_unit_test_setup_teardown(test_versions_asked_for, hosted_setup, hosted_teardown),
        cmocka_unit_test_setup_teardown(test_delete_and_undelete, hosted_setup, hosted_teardown),
        cmocka_unit_test_setup_teardown(test_undelete_of_another_tree, hosted_setup,
                                        hosted_teardown),
        cmocka_unit_test_setup_teardown(test_restore, hosted_setup, hosted_teardown),
        cmocka_unit_test_setup_teardown(test_forget, hosted_setup, hosted_teardown),
        cmocka_unit_test_setup_teardown(test_parameters_of_other_kinds, hosted_setup,
                                        hosted_teardown),
        cmocka_unit_test_setup_teardown(test_tag, hosted_setup, hosted_teardown),
        cmocka_unit_test_setup_teardown(test_locked, hosted_setup, hosted_teardown),
        cmocka_unit_test_setup_teardown(test_locked_folder, hosted_setup, hosted_teardown),
    };
    return cmocka_run_group_tests_name("http/site/api_change", tests, NULL, NULL);
}
