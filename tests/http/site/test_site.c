/* SPDX-License-Identifier: Apache-2.0 */
#include "hosted.h"

#include <string.h>

/* Who may ask, and who answers what. */

/* ---- who may ask ---- */

static void test_hosts(void **state)
{
    hosted *h = *state;
    static const char *const good[] = {"Host: localhost\n",      "Host: LocalHost:8080\n",
                                       "Host: 127.0.0.1:8080\n", "Host: [::1]:8080\n",
                                       "Host: Files.Example\n",  "Host: files.example:8443\n"};
    static const char *const bad[] = {
        "Host: evil.example\n",       "Host: evil.example:8080\n",      "Host: xfiles.example\n",
        "Host: files.example.evil\n", "Host: 127.0.0.1.evil.example\n", "Host: localhost.evil\n"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(good); i++)
        hosted_expect(h, "GET /.ashlar/tree/list?path=/", good[i], NULL, 200);
    for (size_t i = 0; i < ASH_ARRAY_LEN(bad); i++) {
        hosted_expect(h, "GET /.ashlar/tree/list?path=/", bad[i], NULL, 403);
        hosted_expect(h, "PUT /a", bad[i], "x", 403);
    }
    visit *v = hosted_ask(h, "GET /", bad[0], NULL);
    assert_non_null(strstr(ash__buffer_text(&v->body), "--http-host evil.example"));
    visit_free(v);
    support_expect_missing(h->f, "a");
}

/* Another site's page may have a browser ask for anything, but sees no answer; a change it would not
 * have to see. */
static void test_origins(void **state)
{
    hosted *h = *state;
    static const char *const bad[] = {
        "Host: localhost:8080\nOrigin: http://evil.example\n",
        "Host: localhost:8080\nOrigin: null\n",
        "Host: localhost:8080\nOrigin: http://localhost:3000\n",
        "Host: localhost:8080\nOrigin: http://localhost\n",
        "Host: localhost\nOrigin: http://localhost:3000\n",
        "Host: localhost:8080\nSec-Fetch-Site: cross-site\n",
        "Host: localhost:8080\nSec-Fetch-Site: same-site\n",
        "Host: localhost:8080\nOrigin: http://localhost:8080.evil.example\n",
        "Host: files.example\nX-Forwarded-Proto: https\nOrigin: http://files.example\n",
        "Host: files.example\nX-Forwarded-Proto: http\nOrigin: https://files.example\n",
        "Host: files.example\nOrigin: http://files.example:443\n",
        "Host: files.example:80\nOrigin: https://files.example\n"};
    static const char *const good[] = {
        "Host: localhost:8080\nOrigin: http://localhost:8080\n",
        "Host: localhost:8080\nSec-Fetch-Site: same-origin\n",
        "Host: localhost:8080\nSec-Fetch-Site: none\n",
        "Host: files.example\nOrigin: https://Files.example\n",
        "Host: files.example:443\nOrigin: https://files.example\n",
        "Host: files.example\nOrigin: http://files.example:80\n",
        "Host: files.example\nX-Forwarded-Proto: https\nOrigin: https://files.example\n",
        "Host: files.example\nX-Forwarded-Proto: HTTPS, http\nOrigin: https://files.example\n",
        "Host: [::1]:8080\nOrigin: http://[::1]:8080\n",
        "Host: 127.0.0.1:8080\nX-Forwarded-Host: a.example\nOrigin: https://a.example\n",
        "Host: localhost:8080\n"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(bad); i++) {
        hosted_expect(h, "PUT /a", bad[i], "x", 403);
        hosted_expect(h, "POST /.ashlar/tree/mkdir", bad[i], "{\"path\": \"/a\"}", 403);
        hosted_expect(h, "GET /.ashlar/tree/list?path=/", bad[i], NULL, 200);
    }
    support_expect_missing(h->f, "a");
    for (size_t i = 0; i < ASH_ARRAY_LEN(good); i++) {
        visit *v = hosted_ask(h, "PUT /a", good[i], "x");
        if (v->status != 201 && v->status != 204)
            fail_msg("%s: %d", good[i], v->status);
        visit_free(v);
    }
}

/* ---- who answers what ---- */

static void test_options(void **state)
{
    hosted *h = *state;
    static const char *const lines[] = {"OPTIONS *", "OPTIONS /", "OPTIONS /docs/",
                                        "OPTIONS /nothing/there"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(lines); i++) {
        visit *v = hosted_ask(h, lines[i], NULL, NULL);
        visit_expect(v, 200);
        assert_memory_equal(visit_field(v, "DAV"), "1, 2, 3", 7);
        visit_expect_field(v, "MS-Author-Via", "DAV");
        visit_free(v);
    }
    /* A target that is no path has nothing else. */
    hosted_expect(h, "PUT *", NULL, "x", 405);
}

static void test_trees(void **state)
{
    hosted *h = *state;
    hosted_expect(h, "PUT /a", NULL, "root's", 201);
    hosted_expect(h, "PUT /docs/a", NULL, "docs'", 201);
    hosted_expect(h, "PUT /docsx", NULL, "root's, too", 201);
    support_expect_list(h->f, "", true, 0, "/a /docsx");
    visit *v = hosted_ask(h, "GET /docs/a", NULL, NULL);
    visit_expect_body(v, "docs'");
    visit_free(v);
    v = hosted_ask(h, "GET /a", NULL, NULL);
    visit_expect_body(v, "root's");
    visit_free(v);
    hosted_expect(h, "MOVE /docs/a", "Destination: /docs/b\n", NULL, 201);
    hosted_expect(h, "GET /docs/b", NULL, NULL, 200);
}

/* What is moved to where another tree is would be in this one, where nobody finds it. */
static void test_other_trees(void **state)
{
    hosted *h = *state;
    support_put_text(h->f, "a", "x");
    hosted_expect(h, "MOVE /a", "Destination: /docs/a\n", NULL, 502);
    hosted_expect(h, "COPY /a", "Destination: http://localhost:8080/docs/a\n", NULL, 502);
    hosted_expect(h, "MOVE /a", "Destination: /.ashlar/a\n", NULL, 403);
    hosted_expect(h, "COPY /a", "Destination: /%2eashlar/a\n", NULL, 403);
    support_expect_list(h->f, "", true, 0, "/a");
    hosted_expect(h, "COPY /a", "Destination: /docsx\n", NULL, 201);
}

static void test_reserved(void **state)
{
    hosted *h = *state;
    static const char *const lines[] = {
        "GET /.ashlar",   "GET /.ashlar/",    "GET /.ashlar/x",     "PUT /.ashlar/x",
        "MKCOL /.ashlar", "PUT /%2Eashlar/x", "DELETE /.ashlar/xx", "GET /.ashlar/treex"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(lines); i++)
        hosted_expect(h, lines[i], NULL, NULL, 404);
    hosted_expect(h, "MKCOL /.ashlarx", NULL, NULL, 201);
    /* Elsewhere it is a name as any other. */
    hosted_expect(h, "MKCOL /.ashlarx/.ashlar", NULL, NULL, 201);
    hosted_expect(h, "MKCOL /docs/.ashlar", NULL, NULL, 201);
    support_expect_list(h->f, "", true, 0, "/.ashlarx /.ashlarx/.ashlar");
}

/* Where an upload is to go is said in base64. */
static void test_places_of_uploads(void **state)
{
    hosted *h = *state;
    static const struct {
        const char *path;
        int status;
    } rows[] = {{"Ly5hc2hsYXIveA==", 400} /* /.ashlar/x */,
                {"L3VwLy4uL3g=", 400} /* /up/../x */,
                {"L3g=", 201} /* /x */};
    for (size_t i = 0; i < ASH_ARRAY_LEN(rows); i++) {
        char *fields = ash__sprintf(
            "Tus-Resumable: 1.0.0\nUpload-Length: 1\nUpload-Metadata: path %s\n", rows[i].path);
        hosted_expect(h, "POST /.ashlar/uploads/", fields, NULL, rows[i].status);
        ash__free(fields);
    }
}

static void expect_moved(hosted *h, const char *target, const char *to)
{
    visit *v = hosted_browse(h, target, 301);
    visit_expect_field(v, "Location", to);
    visit_free(v);
}

static void test_folders_of_browsers(void **state)
{
    hosted *h = *state;
    support_folder(h->f, "a b");
    support_put_text(h->f, "a b/c", "x");
    expect_moved(h, "/a%20b", "/a%20b/");
    expect_moved(h, "/a%20b?sort=size", "/a%20b/?sort=size");
    expect_moved(h, "/docs", "/docs/");
    visit_free(hosted_browse(h, "/a%20b/", 200));
    visit_free(hosted_browse(h, "/a%20b/c", 200));
    /* No other client is sent anywhere. */
    hosted_expect(h, "PROPFIND /a%20b", "Depth: 1\nAccept: text/html\n", NULL, 207);
    visit *v = hosted_ask(h, "GET /a%20b", "Accept: */*\n", NULL);
    assert_int_not_equal(v->status, 301);
    visit_free(v);
}

static void test_assets(void **state)
{
    hosted *h = *state;
    visit *v = hosted_browse(h, "/", 200);
    const char *page = ash__buffer_text(&v->body);
    const char *at = strstr(page, "/.ashlar/assets/page.js?");
    assert_non_null(at);
    char *line = ash__sprintf("GET %.*s", (int)strcspn(at, "\""), at);
    visit_free(v);
    v = hosted_ask(h, line, NULL, NULL);
    visit_expect(v, 200);
    visit_expect_field(v, "Content-Type", "text/javascript; charset=utf-8");
    visit_expect_field(v, "Cache-Control", "public, max-age=31536000, immutable");
    char *again = ash__sprintf("If-None-Match: %s\n", visit_field(v, "ETag"));
    visit_free(v);
    hosted_expect(h, line, again, NULL, 304);
    /* Under another digest it may be another one the next time. */
    v = hosted_ask(h, "GET /.ashlar/assets/page.js?0123456789ab", NULL, NULL);
    visit_expect_field(v, "Cache-Control", "no-cache");
    visit_free(v);
    hosted_expect(h, "GET /.ashlar/assets/page.css", NULL, NULL, 200);
    hosted_expect(h, "GET /.ashlar/assets/icon.svg", NULL, NULL, 200);
    hosted_expect(h, "GET /.ashlar/assets/", NULL, NULL, 404);
    hosted_expect(h, "PUT /.ashlar/assets/page.js", NULL, "x", 405);
    ash__free(line);
    ash__free(again);
}

/* ---- for operators ---- */

static void test_health(void **state)
{
    hosted *h = *state;
    static const char *const lines[] = {"GET /.ashlar/health", "GET /health"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(lines); i++) {
        visit *v = hosted_ask(h, lines[i], NULL, NULL);
        visit_expect(v, 200);
        visit_expect_field(v, "Content-Type", "application/health+json");
        visit_expect_body(v, "{\"status\":\"pass\",\"version\":\"1.2.3\"}\n");
        visit_free(v);
    }
    /* Names of the tree's go before. */
    support_put_text(h->f, "health", "mine");
    visit *v = hosted_ask(h, "GET /health", NULL, NULL);
    visit_expect_body(v, "mine");
    visit_free(v);
    hosted_expect(h, "PUT /metrics", NULL, "mine", 201);
    v = hosted_ask(h, "GET /metrics", NULL, NULL);
    visit_expect_body(v, "mine");
    visit_free(v);
}

static void test_metrics(void **state)
{
    hosted *h = *state;
    visit *v = hosted_ask(h, "GET /metrics", NULL, NULL);
    visit_expect(v, 200);
    visit_expect_field(v, "Content-Type", "text/plain; version=0.0.4; charset=utf-8");
    const char *text = ash__buffer_text(&v->body);
    assert_non_null(strstr(text, "\nashlar_build_info{version=\"1.2.3\"} 1\n"));
    assert_non_null(strstr(text, "\nashlar_store_used_bytes "));
    visit_free(v);
    hosted_expect(h, "POST /.ashlar/metrics", NULL, "x", 405);
    hosted_expect(h, "DELETE /.ashlar/health", NULL, NULL, 405);
}

/* ---- making one ---- */

static void test_mounts_that_cannot_be(void **state)
{
    hosted *h = *state;
    static const char *const bad[] = {"docs",     "/",          "/docs/", "/a//b",
                                      "/.ashlar", "/.ashlar/x", "/a?b"};
    ash_site_options o = ASH_SITE_OPTIONS_INIT;
    for (size_t i = 0; i < ASH_ARRAY_LEN(bad); i++) {
        ash_site_mount_options m[] = {{"/good", "/"}, {bad[i], "/"}};
        ash_site *site = NULL;
        o.mounts = m;
        o.mount_count = 2;
        assert_int_equal(ash__site_new(h->f->store, &o, &site, &h->f->err), ASH_EINVAL);
        assert_null(site);
        assert_non_null(strstr(h->f->err.text, bad[i]));
    }
    ash_site_mount_options twice[] = {{"/a", "/"}, {"/a", "papers"}};
    ash_site *site = NULL;
    o.mounts = twice;
    assert_int_equal(ash__site_new(h->f->store, &o, &site, &h->f->err), ASH_EINVAL);
}

static void test_no_tree_at_the_top(void **state)
{
    hosted *h = *state;
    ash_site_mount_options m = {"/a b", "/"};
    ash_site_options o = ASH_SITE_OPTIONS_INIT;
    ash_site *site = NULL;
    o.mounts = &m;
    o.mount_count = 1;
    assert_ok(ash__site_new(h->f->store, &o, &site, &h->f->err), &h->f->err);
    visit *v = visit_ask(ash__site_service(), site, "GET /", NULL, NULL);
    visit_expect(v, 302);
    visit_expect_field(v, "Location", "/a%20b/");
    visit_free(v);
    static const struct {
        const char *line;
        int status;
    } rows[] = {{"GET /x", 404}, {"PUT /x", 404}, {"GET /health", 200}, {"OPTIONS /", 200}};
    for (size_t i = 0; i < ASH_ARRAY_LEN(rows); i++) {
        v = visit_ask(ash__site_service(), site, rows[i].line, NULL, NULL);
        visit_expect(v, rows[i].status);
        visit_free(v);
    }
    ash__site_free(site);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_hosts, hosted_setup, hosted_teardown),
        cmocka_unit_test_setup_teardown(test_origins, hosted_setup, hosted_teardown),
        cmocka_unit_test_setup_teardown(test_options, hosted_setup, hosted_teardown),
        cmocka_unit_test_setup_teardown(test_trees, hosted_setup, hosted_teardown),
        cmocka_unit_test_setup_teardown(test_other_trees, hosted_setup, hosted_teardown),
        cmocka_unit_test_setup_teardown(test_reserved, hosted_setup, hosted_teardown),
        cmocka_unit_test_setup_teardown(test_places_of_uploads, hosted_setup, hosted_teardown),
        cmocka_unit_test_setup_teardown(test_folders_of_browsers, hosted_setup, hosted_teardown),
        cmocka_unit_test_setup_teardown(test_assets, hosted_setup, hosted_teardown),
        cmocka_unit_test_setup_teardown(test_health, hosted_setup, hosted_teardown),
        cmocka_unit_test_setup_teardown(test_metrics, hosted_setup, hosted_teardown),
        cmocka_unit_test_setup_teardown(test_mounts_that_cannot_be, hosted_setup, hosted_teardown),
        cmocka_unit_test_setup_teardown(test_no_tree_at_the_top, hosted_setup, hosted_teardown),
    };
    return cmocka_run_group_tests_name("http/site", tests, NULL, NULL);
}
