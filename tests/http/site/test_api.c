/* SPDX-License-Identifier: Apache-2.0 */
#include "hosted.h"

#include "http/date.h"

#include <string.h>

/* The tree's JSON API: calls that change something are in test_api_change.c. */

static void expect_error(hosted *h, const char *call, const char *body, int status,
                         const char *code)
{
    bson_t *answer = hosted_call(h, call, body, status);
    assert_string_equal(hosted_member(answer, "error.code"), code);
    char *text = ash__sprintf("%d", status);
    assert_string_equal(hosted_member(answer, "error.status"), text);
    assert_string_not_equal(hosted_member(answer, "error.text"), "");
    ash__free(text);
    bson_destroy(answer);
}

/* ---- calls ---- */

static void test_calls_that_cannot_be(void **state)
{
    hosted *h = *state;
    expect_error(h, "nothing", NULL, 404, "ENOTFOUND");
    expect_error(h, "", NULL, 404, "ENOTFOUND");
    expect_error(h, "list/more?path=/", NULL, 404, "ENOTFOUND");
    expect_error(h, "mkdir?path=/a", NULL, 405, "EINVAL");
    expect_error(h, "list", "{}", 405, "EINVAL");
    static const char *const bad[] = {
        "", "?path=", "?path=a", "?path=/a/../b", "?path=/a//b", "?path=/%ff", "?path=/a%00b"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(bad); i++) {
        char *call = ash__sprintf("list%s", bad[i]);
        expect_error(h, call, NULL, 400, "EINVAL");
        ash__free(call);
    }
    expect_error(h, "list?path=/.ashlar/x", NULL, 403, "EACCES");
    support_expect_missing(h->f, "a");
}

static void test_bodies_that_cannot_be(void **state)
{
    hosted *h = *state;
    static const char *const bad[] = {
        "{", "x", "{\"path\": 1}", "{\"path\": \"/a\\u0000b\"}", "{\"path\": \"/a\"", "{}"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(bad); i++)
        expect_error(h, "mkdir", bad[i], 400, "EINVAL");
    hosted_expect(h, "POST /.ashlar/tree/mkdir", "Content-Type: application/json\n", NULL, 400);
    /* What a form can send without asking. */
    static const char *const types[] = {NULL, "Content-Type: text/plain\n",
                                        "Content-Type: application/x-www-form-urlencoded\n"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(types); i++)
        hosted_expect(h, "POST /.ashlar/tree/mkdir", types[i], "{\"path\": \"/a\"}", 415);
    char *large = ash__sprintf("{\"path\": \"/a\", \"x\": \"%070000d\"}", 1);
    expect_error(h, "mkdir", large, 413, "ETOOBIG");
    ash__free(large);
    char *deep = ash__alloc(40001);
    memset(deep, '[', 40000);
    deep[40000] = '\0';
    expect_error(h, "mkdir", deep, 400, "EINVAL");
    ash__free(deep);
    support_expect_list(h->f, "", true, 0, "");
    hosted_expect(h, "POST /.ashlar/tree/mkdir", "Content-Type: application/json; charset=utf-8\n",
                  "{\"path\": \"/a\"}", 200);
}

/* ---- looking ---- */

static void test_list(void **state)
{
    hosted *h = *state;
    support_folder(h->f, "d");
    support_put_text(h->f, "d/a", "1");
    support_put_text(h->f, "d/b", "2");
    support_folder(h->f, "d/c");
    support_put_text(h->f, "d/c/x", "3");
    hosted_expect_entries(h, "list?path=/d", "name", "a b c");
    hosted_expect_entries(h, "list?path=/d/", "name", "a b c");
    hosted_expect_entries(h, "list?path=/d&after=a", "name", "b c");
    hosted_expect_entries(h, "list?path=/d&limit=2", "name", "a b");
    hosted_expect_entries(h, "list?path=/d&recursive", "path", "/d/a /d/b /d/c /d/c/x");
    bson_destroy(hosted_call(h, "list?path=/d&recursive&after=a", NULL, 400));
    hosted_expect_entries(h, "list?path=/docs", "name", "");
    bson_t *answer = hosted_call(h, "list?path=/d&limit=2", NULL, 200);
    assert_string_equal(hosted_member(answer, "more"), "true");
    bson_destroy(answer);
    answer = hosted_call(h, "list?path=/d&limit=3", NULL, 200);
    assert_string_equal(hosted_member(answer, "more"), "false");
    bson_destroy(answer);
    expect_error(h, "list?path=/none", NULL, 404, "ENOTFOUND");
    expect_error(h, "list?path=/d/a", NULL, 400, "EINVAL");
    expect_error(h, "list?path=/d&at=yesterday", NULL, 400, "EINVAL");
}

static int64_t count_entries(hosted *h, const char *call)
{
    bson_t *answer = hosted_call(h, call, NULL, 200);
    bson_iter_t at, entry;
    int64_t n = 0;
    assert_true(bson_iter_init_find(&at, answer, "entries") && bson_iter_recurse(&at, &entry));
    while (bson_iter_next(&entry))
        n++;
    assert_string_equal(hosted_member(answer, "more"), "false");
    bson_destroy(answer);
    return n;
}

/* More than one piece of an answer. */
static void test_long_list(void **state)
{
    hosted *h = *state;
    enum { FILES = 700 };
    support_folder(h->f, "d");
    for (int i = 0; i < FILES; i++) {
        char *path = ash__sprintf("d/a rather long name, so that it takes room %04d", i);
        support_put_text(h->f, path, "x");
        ash__free(path);
    }
    assert_int_equal(count_entries(h, "list?path=/d"), FILES);
    assert_int_equal(count_entries(h, "list?path=/&recursive"), FILES + 1);
    visit *v = hosted_ask(h, "GET /.ashlar/tree/list?path=/d", NULL, NULL);
    assert_int_equal(v->x.length, -1);
    assert_int_equal(v->body.data[v->body.len - 1], '\n');
    visit_free(v);
    /* A client that goes before its end. */
    v = visit_start(ash__site_service(), h->site, "GET /.ashlar/tree/list?path=/d", NULL, 0);
    assert_true(v->x.is_streamed);
    visit_free(v);
    v = hosted_ask(h, "HEAD /.ashlar/tree/list?path=/d", NULL, NULL);
    visit_expect(v, 200);
    visit_free(v);
}

static void test_stat(void **state)
{
    hosted *h = *state;
    support_put_text(h->f, "a.txt", "one");
    support_put_text(h->f, "a.txt", "two!");
    assert_ok(ash_tree_tag(h->f->tree, "a.txt", 1, "first \"of\" all", false, NULL, &h->f->err),
              &h->f->err);
    bson_t *answer = hosted_call(h, "stat?path=/a.txt", NULL, 200);
    assert_string_equal(hosted_member(answer, "name"), "a.txt");
    assert_string_equal(hosted_member(answer, "path"), "/a.txt");
    assert_string_equal(hosted_member(answer, "folder"), "false");
    assert_string_equal(hosted_member(answer, "version"), "2");
    assert_string_equal(hosted_member(answer, "length"), "4");
    assert_string_equal(hosted_member(answer, "type"), "text/plain; charset=utf-8");
    assert_int_equal(strlen(hosted_member(answer, "digest")), 64);
    assert_int_equal(strlen(hosted_member(answer, "id")), 24);
    assert_int_equal(strlen(hosted_member(answer, "modified")), 24);
    bson_destroy(answer);
    answer = hosted_call(h, "stat?path=/a.txt&version=1", NULL, 200);
    assert_string_equal(hosted_member(answer, "length"), "3");
    assert_string_equal(hosted_member(answer, "tags.0"), "first \"of\" all");
    bson_destroy(answer);
    answer = hosted_call(h, "stat?path=/docs", NULL, 200);
    assert_string_equal(hosted_member(answer, "folder"), "true");
    assert_string_equal(hosted_member(answer, "path"), "/docs/");
    bson_destroy(answer);
    expect_error(h, "stat?path=/none", NULL, 404, "ENOTFOUND");
    expect_error(h, "stat?path=/a.txt&version=7", NULL, 404, "ENOREVISION");
}

static void test_content(void **state)
{
    hosted *h = *state;
    support_put_text(h->f, "a.html", "<script>alert(1)</script>");
    support_put_text(h->f, "a.html", "two");
    support_folder(h->f, "d");
    visit *v = hosted_ask(h, "GET /.ashlar/tree/content?path=/a.html&version=1", NULL, NULL);
    visit_expect(v, 200);
    visit_expect_body(v, "<script>alert(1)</script>");
    assert_memory_equal(visit_field(v, "Content-Security-Policy"), "sandbox;", 8);
    visit_expect_field(v, "X-Content-Type-Options", "nosniff");
    visit_free(v);
    v = hosted_ask(h, "GET /.ashlar/tree/content?path=/a.html&version=1&download",
                   "Range: bytes=1-6\n", NULL);
    visit_expect(v, 206);
    visit_expect_body(v, "script");
    visit_expect_field(v, "Content-Disposition",
                       "attachment; filename=\"a.html\"; filename*=UTF-8''a.html");
    visit_free(v);
    expect_error(h, "content?path=/d", NULL, 400, "EINVAL");
    expect_error(h, "content?path=/a.html&version=3", NULL, 404, "ENOREVISION");
}

/* ---- the past ---- */

static void test_history(void **state)
{
    hosted *h = *state;
    support_put_text(h->f, "a", "one");
    support_put_text(h->f, "a", "two");
    int64_t then = support_moment(h->f);
    char date[ASH_DATE_BYTES];
    support_put_text(h->f, "a", "three");
    support_remove(h->f, "a");
    bson_t *answer = hosted_call(h, "history?path=/a", NULL, 200);
    assert_string_equal(hosted_member(answer, "entries.0.deleted"), "true");
    assert_string_equal(hosted_member(answer, "entries.1.version"), "3");
    assert_string_equal(hosted_member(answer, "entries.3.version"), "1");
    assert_string_equal(hosted_member(answer, "more"), "false");
    bson_destroy(answer);
    answer = hosted_call(h, "history?path=/a&limit=2", NULL, 200);
    assert_string_equal(hosted_member(answer, "entries.1.version"), "3");
    assert_string_equal(hosted_member(answer, "entries.2.version"), "");
    assert_string_equal(hosted_member(answer, "more"), "true");
    bson_destroy(answer);
    hosted_expect_entries(h, "trash?path=/", "path", "/a");
    hosted_expect_entries(h, "trash?path=/docs", "path", "");
    ash__date_iso(date, then);
    /* Of the whole second, with the milliseconds behind it. */
    char *text = ash__sprintf("%.19s.%03dZ", date, (int)(then % 1000));
    char *call = ash__sprintf("list?path=/&at=%s", text);
    hosted_expect_entries(h, call, "name", "a");
    ash__free(call);
    call = ash__sprintf("GET /.ashlar/tree/content?path=/a&at=%s", text);
    visit *v = hosted_ask(h, call, NULL, NULL);
    visit_expect_body(v, "two");
    visit_free(v);
    ash__free(call);
    ash__free(text);
}

static void test_usage(void **state)
{
    hosted *h = *state;
    support_put_text(h->f, "a", "one");
    support_put_text(h->f, "a", "three");
    bson_t *answer = hosted_call(h, "usage?path=/", NULL, 200);
    assert_string_equal(hosted_member(answer, "files"), "1");
    assert_string_equal(hosted_member(answer, "bytes"), "5");
    assert_string_equal(hosted_member(answer, "versions"), "1");
    assert_string_equal(hosted_member(answer, "versionBytes"), "3");
    assert_string_equal(hosted_member(answer, "partial"), "false");
    assert_false(bson_has_field(answer, "quotaBytes"));
    bson_destroy(answer);
    assert_ok(ash_tree_set_quota(h->f->tree, "/", 9, NULL, NULL, &h->f->err), &h->f->err);
    answer = hosted_call(h, "usage?path=/", NULL, 200);
    assert_string_equal(hosted_member(answer, "quotaBytes"), "9");
    assert_string_equal(hosted_member(answer, "quotaUsedBytes"), "5");
    bson_destroy(answer);
}

static void test_diff(void **state)
{
    hosted *h = *state;
    support_put_text(h->f, "a\nb", "one\ntwo\n");
    support_put_text(h->f, "a\nb", "one\n<three>\n");
    support_put_text(h->f, "bytes", "one");
    support_put(h->f, "bytes", "\0\1", 2);
    visit *v = hosted_ask(h, "GET /.ashlar/tree/diff?path=/a%0Ab&from=1", NULL, NULL);
    visit_expect(v, 200);
    visit_expect_field(v, "Content-Type", "text/x-diff; charset=utf-8");
    visit_expect_body(v, "--- /a?b\tversion 1\n+++ /a?b\tversion 2\n"
                         "@@ -1,2 +1,2 @@\n one\n-two\n+<three>\n");
    visit_free(v);
    v = hosted_ask(h, "GET /.ashlar/tree/diff?path=/a%0Ab&from=2&to=2", NULL, NULL);
    visit_expect_body(v, "--- /a?b\tversion 2\n+++ /a?b\tversion 2\n");
    visit_free(v);
    expect_error(h, "diff?path=/a%0Ab&from=3", NULL, 404, "ENOREVISION");
    expect_error(h, "diff?path=/bytes&from=1", NULL, 415, "EINVAL");
    expect_error(h, "diff?path=/", NULL, 400, "EINVAL");
    uint8_t *large = ash__alloc(1024 * 1024 + 1);
    memset(large, '\n', 1024 * 1024 + 1);
    support_put(h->f, "large", large, 1024 * 1024 + 1);
    support_put(h->f, "large", large, 100000);
    expect_error(h, "diff?path=/large&from=1", NULL, 413, "ETOOBIG");
    expect_error(h, "diff?path=/large&from=2", NULL, 413, "ETOOBIG");
    ash__free(large);
}

/* ---- search ---- */

static void test_search(void **state)
{
    hosted *h = *state;
    support_folder(h->f, "d");
    support_folder(h->f, "d/needles");
    support_put_text(h->f, "d/needles/Needle 1.txt", "x");
    support_put_text(h->f, "d/haystack", "x");
    support_put_text(h->f, "other needle", "x");
    hosted_expect_entries(h, "search?path=/d&q=NEEDLE", "path",
                          "/d/needles /d/needles/Needle 1.txt");
    hosted_expect_entries(h, "search?path=/&q=needle+1", "name", "Needle 1.txt");
    hosted_expect_entries(h, "search?path=/&q=none", "name", "");
    bson_t *answer = hosted_call(h, "search?path=/&q=needle&limit=1", NULL, 200);
    assert_string_equal(hosted_member(answer, "more"), "true");
    bson_destroy(answer);
    expect_error(h, "search?path=/", NULL, 400, "EINVAL");
    expect_error(h, "search?path=/none&q=x", NULL, 404, "ENOTFOUND");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_calls_that_cannot_be, hosted_setup, hosted_teardown),
        cmocka_unit_test_setup_teardown(test_bodies_that_cannot_be, hosted_setup, hosted_teardown),
        cmocka_unit_test_setup_teardown(test_list, hosted_setup, hosted_teardown),
        cmocka_unit_test_setup_teardown(test_long_list, hosted_setup, hosted_teardown),
        cmocka_unit_test_setup_teardown(test_stat, hosted_setup, hosted_teardown),
        cmocka_unit_test_setup_teardown(test_content, hosted_setup, hosted_teardown),
        cmocka_unit_test_setup_teardown(test_history, hosted_setup, hosted_teardown),
        cmocka_unit_test_setup_teardown(test_diff, hosted_setup, hosted_teardown),
        cmocka_unit_test_setup_teardown(test_usage, hosted_setup, hosted_teardown),
        cmocka_unit_test_setup_teardown(test_search, hosted_setup, hosted_teardown),
    };
    return cmocka_run_group_tests_name("http/site/api", tests, NULL, NULL);
}
