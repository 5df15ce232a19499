/* SPDX-License-Identifier: Apache-2.0 */
#include "hosted.h"

#include "http/site/rows.h"

#include <stdlib.h>
#include <string.h>

/* A folder as a page, as one without scripts sees it. */

/* The names of the rows, "a b c". */
static void expect_rows(hosted *h, const char *target, const char *names)
{
    visit *v = hosted_browse(h, target, 200);
    ash_buffer got = ASH_BUFFER_INIT;
    const char *at = strstr(ash__buffer_text(&v->body), "<tbody>");
    while (at != NULL && (at = strstr(at, "<bdi>")) != NULL) {
        at += strlen("<bdi>");
        if (got.len > 0)
            ash__buffer_append_byte(&got, ' ');
        ash__buffer_append(&got, at, strcspn(at, "<"));
    }
    assert_string_equal(ash__buffer_text(&got), names);
    ash__buffer_release(&got);
    visit_free(v);
}

static void expect_in(visit *v, const char *text)
{
    if (strstr(ash__buffer_text(&v->body), text) == NULL)
        fail_msg("no %s in %s", text, ash__buffer_text(&v->body));
}

static void expect_not_in(visit *v, const char *text)
{
    assert_null(strstr(ash__buffer_text(&v->body), text));
}

static void test_fields(void **state)
{
    hosted *h = *state;
    visit *v = hosted_browse(h, "/", 200);
    visit_expect_field(v, "Content-Type", "text/html; charset=utf-8");
    visit_expect_field(v, "X-Content-Type-Options", "nosniff");
    visit_expect_field(v, "Vary", "Accept");
    const char *policy = visit_field(v, "Content-Security-Policy");
    assert_memory_equal(policy, "default-src 'none'; script-src 'self'; ", 39);
    assert_null(strstr(policy, "unsafe"));
    assert_non_null(strstr(policy, "frame-ancestors 'none'"));
    expect_in(v, "Nothing is here yet.");
    /* Nothing that such a policy would keep from running. */
    expect_not_in(v, " style=");
    expect_not_in(v, " onclick=");
    expect_not_in(v, "<style");
    expect_not_in(v, "<script>");
    visit_free(v);
    visit_free(hosted_browse(h, "/docs/", 200));
}

/* All that makes the page, one of an empty folder included. */
static void test_size(void **state)
{
    hosted *h = *state;
    static const char *const targets[] = {"/", "/.ashlar/assets/page.css",
                                          "/.ashlar/assets/page.js", "/.ashlar/assets/icon.svg"};
    size_t sum = 0;
    for (size_t i = 0; i < ASH_ARRAY_LEN(targets); i++) {
        visit *v = hosted_browse(h, targets[i], 200);
        sum += v->body.len;
        visit_free(v);
    }
    assert_in_range(sum, 1, 40000);
}

static void test_rows(void **state)
{
    hosted *h = *state;
    support_folder(h->f, "d");
    support_put_text(h->f, "d/b", "12");
    (void)support_moment(h->f);
    support_put_text(h->f, "d/c", "1");
    (void)support_moment(h->f);
    support_put_text(h->f, "d/a", "123");
    support_folder(h->f, "d/y");
    (void)support_moment(h->f);
    support_folder(h->f, "d/x");
    expect_rows(h, "/d/", "x/ y/ a b c");
    expect_rows(h, "/d/?sort=name&order=desc", "y/ x/ c b a");
    expect_rows(h, "/d/?sort=size", "x/ y/ c b a");
    expect_rows(h, "/d/?sort=size&order=desc", "y/ x/ a b c");
    expect_rows(h, "/d/?sort=date&order=desc", "x/ y/ a c b");
    expect_rows(h, "/d/?sort=whatever", "x/ y/ a b c");
    visit *v = hosted_browse(h, "/d/?sort=size", 200);
    expect_in(v, "aria-sort=\"ascending\"><a href=\"?sort=size&amp;order=desc\">Size</a>");
    expect_in(v, "<data value=\"3\">3 B</data>");
    expect_in(v, "<a href=\"/d/x/\"><bdi>x/</bdi></a>");
    expect_in(v, "<a href=\"/d/a\"><bdi>a</bdi></a>");
    expect_in(v, "href=\"/.ashlar/archive/d/?format=zip\"");
    expect_not_in(v, "rel=\"next\"");
    visit_free(v);
}

static void test_names(void **state)
{
    hosted *h = *state;
    support_folder(h->f, "<i>&'\"");
    support_put_text(h->f, "<i>&'\"/<script>alert(1)'\" onload=\"x", "x");
    support_put_text(h->f, "<i>&'\"/a\x1b[31m\x01\nb", "x");
    support_put_text(h->f, "<i>&'\"/x\xe2\x80\xaegpj.exe", "x");
    visit *v = hosted_browse(h, "/%3Ci%3E&'%22/", 200);
    expect_not_in(v, "<i>");
    expect_not_in(v, "<script>");
    expect_not_in(v, "\x1b");
    expect_not_in(v, "\x01");
    expect_in(v, "<title>&lt;i&gt;&amp;&#39;&quot;</title>");
    expect_in(v, "<bdi>&lt;script&gt;alert(1)&#39;&quot; onload=&quot;x</bdi>");
    expect_in(v, "href=\"/%3Ci%3E%26%27%22/%3Cscript%3Ealert(1)%27%22%20onload=%22x\"");
    /* What turns the direction of writing ends with the name. */
    expect_in(v, "<bdi>x\xe2\x80\xaegpj.exe</bdi>");
    visit_free(v);
    v = hosted_browse(h, "/none%3Cb%3E", 404);
    expect_not_in(v, "<b>");
    expect_in(v, "/none&lt;b&gt;");
    visit_free(v);
}

static void test_path(void **state)
{
    hosted *h = *state;
    support_folder(h->f, "a b");
    support_folder(h->f, "a b/c");
    visit *v = hosted_browse(h, "/a%20b/c/", 200);
    expect_in(v, "<li><a href=\"/\">Files</a></li><li><a href=\"/a%20b/\">a b</a></li>"
                 "<li><a href=\"/a%20b/c/\" aria-current=\"page\">c</a></li>");
    visit_free(v);
    hosted_expect(h, "MKCOL /docs/x", NULL, NULL, 201);
    v = hosted_browse(h, "/docs/x/", 200);
    expect_in(v, "<li><a href=\"/docs/\">papers</a></li>"
                 "<li><a href=\"/docs/x/\" aria-current=\"page\">x</a></li>");
    visit_free(v);
}

/* ---- more than one page ---- */

enum { FOLDERS = 7, FILES = 2 * ASH_ROWS_ON_PAGE + 30 };

/* The link to the next page, NULL: there is none.  Decoded; yours. */
static char *next_of(visit *v)
{
    const char *at = strstr(ash__buffer_text(&v->body), "rel=\"next\" href=\"");
    ash_buffer out = ASH_BUFFER_INIT;
    if (at == NULL)
        return NULL;
    at += strlen("rel=\"next\" href=\"");
    for (; *at != '"'; at++) {
        ash__buffer_append_byte(&out, (uint8_t)*at);
        if (strncmp(at, "&amp;", 5) == 0)
            at += 4;
    }
    ash__buffer_append_byte(&out, 0);
    return (char *)ash__buffer_detach(&out);
}

/* Each entry is on one page, and in its order. */
static void go_through(hosted *h, const char *order, bool (*follows)(long a, long b))
{
    char *target = ash__sprintf("/d/%s", order);
    bool *seen = ash__alloc_array(FILES, sizeof *seen);
    long last = -1;
    int rows = 0, pages = 0;
    while (target != NULL) {
        visit *v = hosted_browse(h, target, 200);
        const char *at = strstr(ash__buffer_text(&v->body), "<tbody>");
        while ((at = strstr(at, "<bdi>")) != NULL) {
            at += strlen("<bdi>");
            rows++;
            if (at[0] != '+') /* a folder */
                continue;
            long n = strtol(at + 1, NULL, 10);
            assert_in_range(n, 0, FILES - 1);
            assert_false(seen[n]);
            assert_true(last < 0 || follows(last, n));
            seen[n] = true;
            last = n;
        }
        char *next = next_of(v);
        ash__free(target);
        target = next != NULL ? ash__sprintf("/d/%s", next) : NULL;
        ash__free(next);
        visit_free(v);
        pages++;
    }
    assert_int_equal(rows, FOLDERS + FILES);
    assert_int_equal(pages, 3);
    ash__free(seen);
}

static bool is_less(long a, long b)
{
    return a < b;
}
static bool is_greater(long a, long b)
{
    return a > b;
}
/* Sizes go round after five. */
static bool is_longer(long a, long b)
{
    return a % 5 < b % 5 || (a % 5 == b % 5 && a < b);
}

static void test_pages(void **state)
{
    hosted *h = *state;
    support_folder(h->f, "d");
    for (int i = 0; i < FILES + FOLDERS; i++) {
        char *path = i < FILES ? ash__sprintf("d/+%05d & more", i) : ash__sprintf("d/folder %d", i);
        if (i < FILES)
            support_put(h->f, path, "12345", (size_t)(i % 5));
        else
            support_folder(h->f, path);
        ash__free(path);
    }
    go_through(h, "", is_less);
    go_through(h, "?sort=name&order=desc", is_greater);
    go_through(h, "?sort=size", is_longer);
    visit *v = hosted_browse(h, "/d/?sort=size&order=desc&after=f0/%2B00005", 200);
    expect_in(v, "<a href=\"?sort=size&amp;order=desc\">To the beginning</a>");
    visit_free(v);
    static const char *const bad[] = {"x", "f", "f1", "fx/a", "f/a"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(bad); i++) {
        char *target = ash__sprintf("/d/?after=%s", bad[i]);
        visit_free(hosted_browse(h, target, 400));
        ash__free(target);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_fields, hosted_setup, hosted_teardown),
        cmocka_unit_test_setup_teardown(test_size, hosted_setup, hosted_teardown),
        cmocka_unit_test_setup_teardown(test_rows, hosted_setup, hosted_teardown),
        cmocka_unit_test_setup_teardown(test_names, hosted_setup, hosted_teardown),
        cmocka_unit_test_setup_teardown(test_path, hosted_setup, hosted_teardown),
        cmocka_unit_test_setup_teardown(test_pages, hosted_setup, hosted_teardown),
    };
    return cmocka_run_group_tests_name("http/site/page", tests, NULL, NULL);
}
