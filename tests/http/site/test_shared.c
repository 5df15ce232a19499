/* SPDX-License-Identifier: Apache-2.0 */
#include "hosted.h"

#include "base/clock.h"
#include "http/date.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Links that are read.  The command's tests (cmd/shares.sh) use them as people do. */

/* A link's path, "/.ashlar/share/TOKEN"; the caller frees. */
static char *share_for(hosted *h, const char *path, const char *more)
{
    char *body = ash__sprintf("{\"path\": \"%s\"%s}", path, more);
    bson_t *answer = hosted_call(h, "share", body, 200);
    char *url = ash__strdup(hosted_member(answer, "url"));
    assert_int_equal(strlen(url), strlen("/.ashlar/share/") + 40);
    bson_destroy(answer);
    ash__free(body);
    return url;
}

static visit *follow(hosted *h, const char *method, const char *url, const char *below,
                     const char *fields)
{
    char *line = ash__sprintf("%s %s%s", method, url, below);
    visit *v = hosted_ask(h, line, fields, NULL);
    ash__free(line);
    return v;
}

static void expect(hosted *h, const char *url, const char *below, int status)
{
    visit *v = follow(h, "GET", url, below, NULL);
    visit_expect(v, status);
    visit_free(v);
}

static void expect_text(hosted *h, const char *url, const char *below, const char *text)
{
    visit *v = follow(h, "GET", url, below, NULL);
    visit_expect(v, 200);
    visit_expect_body(v, text);
    visit_free(v);
}

/* Archives have NULs in them. */
static void expect_in(visit *v, const char *text, bool there)
{
    size_t len = strlen(text);
    bool found = false;
    for (size_t at = 0; at + len <= v->body.len && !found; at++)
        found = memcmp(v->body.data + at, text, len) == 0;
    if (found != there)
        fail_msg("%s %s in %s", there ? "no" : "there is", text, ash__buffer_text(&v->body));
}

/* A tree with something to find around what is shared: "d" is. */
static char *setup_folder(hosted *h, const char *more)
{
    support_put_text(h->f, "secret", "sss");
    support_folder(h->f, "above");
    support_put_text(h->f, "above/secret", "sss");
    support_folder(h->f, "above/d");
    support_put_text(h->f, "above/d/a.txt", "old");
    support_put_text(h->f, "above/d/a.txt", "one");
    support_folder(h->f, "above/d/sub");
    support_put_text(h->f, "above/d/sub/b & c", "two");
    return share_for(h, "/above/d", more);
}

static void test_a_file(void **state)
{
    hosted *h = *state;
    support_put_text(h->f, "r\xc3\xa9sum\xc3\xa9.html", "0123456789");
    char *url = share_for(h, "/r\xc3\xa9sum\xc3\xa9.html", "");
    visit *v = follow(h, "GET", url, "", NULL);
    visit_expect(v, 200);
    visit_expect_body(v, "0123456789");
    visit_expect_field(v, "Content-Type", "text/html");
    visit_expect_field(v, "Content-Disposition",
                       "inline; filename=\"r__sum__.html\"; "
                       "filename*=UTF-8''r%C3%A9sum%C3%A9.html");
    visit_expect_field(v, "Referrer-Policy", "no-referrer");
    visit_expect_field(v, "X-Robots-Tag", "noindex");
    visit_expect_field(v, "X-Content-Type-Options", "nosniff");
    assert_int_equal(strncmp(visit_field(v, "Content-Security-Policy"), "sandbox;", 8), 0);
    char *fields = ash__sprintf("If-None-Match: %s\n", visit_field(v, "ETag"));
    visit_free(v);
    v = follow(h, "GET", url, "", fields);
    visit_expect(v, 304);
    visit_free(v);
    v = follow(h, "GET", url, "", "Range: bytes=2-4\n");
    visit_expect(v, 206);
    visit_expect_body(v, "234");
    visit_expect_field(v, "Content-Range", "bytes 2-4/10");
    visit_free(v);
    v = follow(h, "GET", url, "?download", NULL);
    visit_expect(v, 200);
    assert_int_equal(strncmp(visit_field(v, "Content-Disposition"), "attachment;", 11), 0);
    visit_free(v);
    v = follow(h, "HEAD", url, "", NULL);
    visit_expect(v, 200);
    visit_expect_body(v, "");
    assert_int_equal(v->x.length, 10);
    visit_free(v);
    /* A file has nothing below it, and is no folder. */
    expect(h, url, "/", 404);
    expect(h, url, "/x", 404);
    ash__free(fields);
    ash__free(url);
}

static void test_a_folder(void **state)
{
    hosted *h = *state;
    char *url = setup_folder(h, "");
    visit *v = follow(h, "GET", url, "", NULL);
    visit_expect(v, 301);
    visit_free(v);
    v = follow(h, "GET", url, "/", NULL);
    visit_expect(v, 200);
    expect_in(v, "<a href=\"./a.txt\">", true);
    expect_in(v, "<a href=\"./sub/\">", true);
    /* It works without scripts, and has none; and nothing of what lies around. */
    expect_in(v, "<script", false);
    expect_in(v, "above", false);
    expect_in(v, "secret", false);
    visit_expect_field(v, "Referrer-Policy", "no-referrer");
    visit_expect_field(v, "Cache-Control", "no-store");
    assert_null(strstr(visit_field(v, "Content-Security-Policy"), "script-src"));
    visit_free(v);
    v = follow(h, "GET", url, "/sub/", NULL);
    visit_expect(v, 200);
    expect_in(v, "b%20%26%20c", true);
    expect_in(v, "b &amp; c", true);
    expect_in(v, "href=\"../\"", true);
    visit_free(v);
    expect_text(h, url, "/a.txt", "one");
    expect_text(h, url, "/sub/b%20%26%20c", "two");
    expect(h, url, "/sub", 301);
    expect(h, url, "/a.txt/", 404);
    expect(h, url, "/a.txt/x", 404);
    expect(h, url, "/none", 404);
    ash__free(url);
}

static void test_archives(void **state)
{
    hosted *h = *state;
    char *url = setup_folder(h, "");
    visit *v = follow(h, "GET", url, "/?format=tar", NULL);
    visit_expect(v, 200);
    visit_expect_field(v, "Referrer-Policy", "no-referrer");
    expect_in(v, "d/a.txt", true);
    expect_in(v, "d/sub/b & c", true);
    expect_in(v, "secret", false);
    expect_in(v, "above", false);
    visit_free(v);
    v = follow(h, "GET", url, "/sub/?format=zip", NULL);
    visit_expect(v, 200);
    visit_expect_field(v, "Content-Type", "application/zip");
    expect_in(v, "a.txt", false);
    visit_free(v);
    /* What was is the owner's. */
    v = follow(h, "GET", url, "/?format=tar&at=2001-01-01T00:00:00Z", NULL);
    visit_expect(v, 200);
    expect_in(v, "one", true);
    visit_free(v);
    expect(h, url, "/?format=rar", 400);
    ash__free(url);
}

static void test_nothing_outside(void **state)
{
    hosted *h = *state;
    char *url = setup_folder(h, "");
    static const char *const ways[] = {
        "/../secret", "/%2e%2e/secret", "/..%2fsecret", "/sub/../../secret", "/%2E./secret",
        "/.%2e/",     "//secret",       "/secret",      "/above/d/a.txt",    "/../d/a.txt",
        "/..",        "/a.txt%00",      "/v1-a.txt",    "/a.txt/v1-a.txt",   "/%252e%252e/secret"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(ways); i++) {
        char *line = ash__sprintf("GET %s%s", url, ways[i]);
        /* visit_start() takes targets that can be parsed. */
        ash_http_target t;
        const char *why;
        bool good = ash__http_target_parse(line + 4, &t, NULL, &why);
        ash__http_target_release(&t);
        if (good)
            hosted_expect(h, line, NULL, NULL, 404);
        ash__free(line);
    }
    /* No other version: what the parameters of other parts mean says nothing here. */
    expect_text(h, url, "/a.txt?version=1", "one");
    expect_text(h, url, "/a.txt?at=2001-01-01T00:00:00Z", "one");
    ash__free(url);
}

static void test_only_looked_at(void **state)
{
    hosted *h = *state;
    char *url = setup_folder(h, "");
    static const char *const methods[] = {"PUT",   "POST",    "DELETE",   "PATCH",
                                          "MKCOL", "MOVE",    "COPY",     "PROPFIND",
                                          "LOCK",  "OPTIONS", "PROPPATCH"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(methods); i++) {
        visit *v = follow(h, methods[i], url, "/a.txt", "Destination: /x\n");
        visit_expect(v, 405);
        visit_expect_field(v, "Allow", "GET, HEAD");
        visit_free(v);
    }
    expect_text(h, url, "/a.txt", "one");
    support_expect_missing(h->f, "x");
    ash__free(url);
}

/* What is moved in is in it, what is moved out is not; the link goes with the folder. */
static void test_moves(void **state)
{
    hosted *h = *state;
    char *url = setup_folder(h, "");
    support_move(h->f, "above/d", "elsewhere");
    expect_text(h, url, "/a.txt", "one");
    support_folder(h->f, "above/d");
    support_put_text(h->f, "above/d/a.txt", "another's");
    expect_text(h, url, "/a.txt", "one");
    support_move(h->f, "elsewhere/a.txt", "out.txt");
    expect(h, url, "/a.txt", 404);
    support_move(h->f, "secret", "elsewhere/told");
    expect_text(h, url, "/told", "sss");
    bson_value_t id = support_id(h->f, "elsewhere");
    support_remove(h->f, "elsewhere");
    expect(h, url, "/told", 404);
    support_folder(h->f, "elsewhere");
    support_put_text(h->f, "elsewhere/told", "another's");
    expect(h, url, "/told", 404);
    assert_ok(ash_tree_undelete(h->f->tree, &id, "/back", NULL, NULL, NULL, &h->f->err),
              &h->f->err);
    expect_text(h, url, "/told", "sss");
    ash__free(url);
}

/* The whole answer but the date of its making. */
static char *answer_of(hosted *h, const char *url, const char *below)
{
    visit *v = follow(h, "GET", url, below, NULL);
    visit_expect(v, 404);
    char *all = ash__sprintf("%s%s", ash__buffer_text(&v->x.fields), ash__buffer_text(&v->body));
    visit_free(v);
    return all;
}

static void test_all_that_is_gone_is_the_same(void **state)
{
    hosted *h = *state;
    char *good = setup_folder(h, ""), id[64];
    bson_t *list = hosted_call(h, "shares?path=/", NULL, 200);
    snprintf(id, sizeof id, "{\"id\": \"%s\"}", hosted_member(list, "shares.0.id"));
    bson_destroy(list);
    char *unknown = answer_of(h, "/.ashlar/share/0123456789012345678901234567890123456789", "");
    char *missing = answer_of(h, good, "/none");
    bson_destroy(hosted_call(h, "unshare", id, 200));
    char *gone = answer_of(h, good, "");
    char *gone_below = answer_of(h, good, "/a.txt");
    char *none = answer_of(h, "/.ashlar/share/x", "");
    assert_string_equal(unknown, missing);
    assert_string_equal(unknown, gone);
    assert_string_equal(unknown, gone_below);
    assert_string_equal(unknown, none);
    assert_null(strstr(unknown, "none"));
    bson_destroy(hosted_call(h, "unshare", id, 404));
    hosted_expect(h, "PUT /.ashlar/share/0123456789012345678901234567890123456789", NULL, "x", 404);
    hosted_expect(h, "GET /.ashlar/share", NULL, NULL, 404);
    hosted_expect(h, "GET /.ashlar/share/", NULL, NULL, 404);
    ash__free(unknown);
    ash__free(missing);
    ash__free(gone);
    ash__free(gone_below);
    ash__free(none);
    ash__free(good);
}

/* Failures, too, say nothing of where things lie. */
static void test_damage_is_told_without_paths(void **state)
{
    hosted *h = *state;
    support_folder(h->f, "above");
    uint8_t *data = support_bytes(1000000, 1);
    support_put(h->f, "above/a", data, 1000000);
    ash__free(data);
    char *url = share_for(h, "/above/a", "");
    h->f->damaged = true;
    bson_t all = BSON_INITIALIZER;
    assert_ok(ash_collection_remove(h->f->chunks, &all, NULL, NULL, &h->f->err), &h->f->err);
    visit *v = follow(h, "GET", url, "", NULL);
    assert_true(v->status >= 500);
    expect_in(v, "above", false);
    visit_expect_field(v, "Referrer-Policy", "no-referrer");
    visit_free(v);
    ash__free(url);
}

static void test_other_trees(void **state)
{
    hosted *h = *state;
    hosted_expect(h, "PUT /docs/paper", NULL, "text", 201);
    char *url = share_for(h, "/docs/paper", ""), *all = share_for(h, "/docs", "");
    expect_text(h, url, "", "text");
    expect_text(h, all, "/paper", "text");
    visit *v = follow(h, "GET", all, "/", NULL);
    visit_expect(v, 200);
    expect_in(v, "./paper", true);
    visit_free(v);
    bson_t *list = hosted_call(h, "shares?path=/docs", NULL, 200);
    assert_string_equal(hosted_member(list, "shares.0.path"), "/docs/paper");
    assert_string_equal(hosted_member(list, "shares.1.path"), "/docs/");
    bson_destroy(list);
    list = hosted_call(h, "shares?path=/", NULL, 200);
    assert_string_equal(hosted_member(list, "shares.0.id"), "");
    bson_destroy(list);
    ash__free(url);
    ash__free(all);
}

static void test_api(void **state)
{
    hosted *h = *state;
    support_put_text(h->f, "a", "one");
    bson_t *answer = hosted_call(
        h, "share",
        "{\"path\": \"/a\", \"right\": \"read\", \"expires\": \"2999-01-01T00:00:00Z\"}", 200);
    assert_string_equal(hosted_member(answer, "path"), "/a");
    assert_string_equal(hosted_member(answer, "right"), "read");
    assert_string_equal(hosted_member(answer, "expires"), "2999-01-01T00:00:00.000Z");
    char *id = ash__strdup(hosted_member(answer, "id"));
    bson_destroy(answer);
    answer = hosted_call(h, "shares?path=/", NULL, 200);
    assert_string_equal(hosted_member(answer, "shares.0.id"), id);
    assert_string_equal(hosted_member(answer, "shares.0.url"), "");
    assert_string_equal(hosted_member(answer, "shares.0.digest"), "");
    bson_destroy(answer);
    static const struct {
        const char *body;
        int status;
    } bad[] = {
        {"{\"path\": \"/a\", \"right\": \"all\"}", 400},
        {"{\"path\": \"/a\", \"right\": \"upload\"}", 400},
        {"{\"path\": \"/a\", \"expires\": \"2001-01-01T00:00:00Z\"}", 400},
        {"{\"path\": \"/a\", \"expires\": \"soon\"}", 400},
        {"{\"path\": \"/none\"}", 404},
        {"{\"path\": \"/.ashlar/share\"}", 403},
        {"{}", 400},
    };
    for (size_t i = 0; i < ASH_ARRAY_LEN(bad); i++)
        bson_destroy(hosted_call(h, "share", bad[i].body, bad[i].status));
    bson_destroy(hosted_call(h, "unshare", "{}", 400));
    bson_destroy(hosted_call(h, "unshare", "{\"id\": \"x\"}", 400));
    /* A page of somebody else's makes no link. */
    hosted_expect(h, "POST /.ashlar/tree/share",
                  "Content-Type: application/json\nOrigin: http://other.example\n",
                  "{\"path\": \"/a\"}", 403);
    ash__free(id);
}

static void test_expires(void **state)
{
    hosted *h = *state;
    support_put_text(h->f, "a", "one");
    char text[ASH_DATE_BYTES], more[96];
    ash__date_iso(text, ash__clock_wall_ms() + 2000);
    snprintf(more, sizeof more, ", \"expires\": \"%s\"", text);
    char *url = share_for(h, "/a", more), *ever = share_for(h, "/a", ", \"expires\": \"never\"");
    expect_text(h, url, "", "one");
    usleep(2100000);
    expect(h, url, "", 404);
    expect_text(h, ever, "", "one");
    ash__free(url);
    ash__free(ever);
}

/* No figure of the server's tells a link. */
static void test_not_in_metrics(void **state)
{
    hosted *h = *state;
    char *url = setup_folder(h, "");
    expect_text(h, url, "/a.txt", "one");
    visit *v = hosted_ask(h, "GET /.ashlar/metrics", NULL, NULL);
    visit_expect(v, 200);
    expect_in(v, strrchr(url, '/') + 1, false);
    visit_free(v);
    ash__free(url);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, hosted_setup, hosted_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_a_file),
        CASE(test_a_folder),
        CASE(test_archives),
        CASE(test_nothing_outside),
        CASE(test_only_looked_at),
        CASE(test_moves),
        CASE(test_all_that_is_gone_is_the_same),
        CASE(test_damage_is_told_without_paths),
        CASE(test_other_trees),
        CASE(test_api),
        CASE(test_expires),
        CASE(test_not_in_metrics),
    };
    return cmocka_run_group_tests_name("http/site/shared", tests, NULL, NULL);
}
