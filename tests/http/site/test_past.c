/* SPDX-License-Identifier: Apache-2.0 */
#include "hosted.h"

#include <string.h>

/* What was, as folders.  The command's tests (cmd/http_api.sh) ask for it as users do. */

static void expect_in(visit *v, const char *text)
{
    if (strstr(ash__buffer_text(&v->body), text) == NULL)
        fail_msg("no %s in %s", text, ash__buffer_text(&v->body));
}

static void expect_moved(hosted *h, const char *target, const char *to)
{
    visit *v = hosted_browse(h, target, 301);
    visit_expect_field(v, "Location", to);
    visit_free(v);
}

static void test_looking(void **state)
{
    hosted *h = *state;
    support_folder(h->f, "d");
    support_put_text(h->f, "d/javascript:alert(1)", "one");
    support_put_text(h->f, "d/javascript:alert(1)", "three");
    expect_moved(h, "/.ashlar/versions/d", "/.ashlar/versions/d/");
    expect_moved(h, "/.ashlar/versions/d/javascript:alert(1)",
                 "/.ashlar/versions/d/javascript:alert(1)/");
    expect_moved(h, "/.ashlar/trash", "/.ashlar/trash/");
    visit *v = hosted_browse(h, "/.ashlar/versions/d/", 200);
    /* No name leads out of the folder. */
    expect_in(v, "<a href=\"./javascript:alert(1)/\">");
    visit_free(v);
    v = hosted_browse(h, "/.ashlar/versions/d/javascript:alert(1)/", 200);
    expect_in(v, "<a href=\"./v1-javascript:alert(1)\">");
    expect_in(v, "<a href=\"./v2-javascript:alert(1)\">");
    visit_free(v);
    v = hosted_ask(h, "GET /.ashlar/versions/d/javascript:alert(1)/v1-x", NULL, NULL);
    visit_expect(v, 200);
    visit_expect_body(v, "one");
    visit_free(v);
    hosted_expect(h, "GET /.ashlar/versions/d/javascript:alert(1)/v3-x", NULL, NULL, 404);
    hosted_expect(h, "PUT /.ashlar/versions/d/javascript:alert(1)/v1-x", NULL, "x", 403);
    hosted_expect(h, "DELETE /.ashlar/versions/d/javascript:alert(1)/v1-x", NULL, NULL, 403);
    hosted_expect(h, "DELETE /.ashlar/versions/d/javascript:alert(1)/", NULL, NULL, 403);
}

/* Each link below a folder leads somewhere. */
static void test_links_of_the_page(void **state)
{
    hosted *h = *state;
    support_folder(h->f, "a b");
    support_put_text(h->f, "a b/x", "1");
    hosted_expect(h, "MKCOL /docs/c", NULL, NULL, 201);
    static const char *const pages[] = {"/", "/docs/", "/docs/c/"};
    static const char *const links[] = {"versions", "trash", "at", "archive"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(pages); i++)
        for (size_t k = 0; k < ASH_ARRAY_LEN(links); k++) {
            visit *v = hosted_browse(h, pages[i], 200);
            char *begin = ash__sprintf("<a href=\"/.ashlar/%s/", links[k]);
            const char *at = strstr(ash__buffer_text(&v->body), begin);
            assert_non_null(at);
            at += strlen("<a href=\"");
            char *target = ash__strndup(at, strcspn(at, "\""));
            visit_free(v);
            /* A folder of today was not there yesterday. */
            visit_free(hosted_browse(h, target, strcmp(links[k], "at") == 0 && i == 2 ? 404 : 200));
            ash__free(begin);
            ash__free(target);
        }
    visit *v = hosted_browse(h, "/a%20b/", 200);
    expect_in(v, "<a href=\"/.ashlar/versions/a%20b/\">");
    expect_in(v, "<a href=\"/.ashlar/trash/\">");
    visit_free(v);
}

static char *in_trash(hosted *h, const char *path)
{
    bson_value_t id = support_id(h->f, path);
    char hex[25];
    support_remove(h->f, path);
    bson_oid_to_string(&id.value.v_oid, hex);
    return ash__sprintf("%s-%s", hex, path);
}

static void test_trees_are_apart(void **state)
{
    hosted *h = *state;
    support_put_text(h->f, "a", "root's");
    support_put_text(h->f, "kept", "1");
    support_put_text(h->f, "kept", "2");
    char *name = in_trash(h, "a");
    char *line = ash__sprintf("MOVE /.ashlar/trash/docs/%s", name);
    hosted_expect(h, line, "Destination: /docs/a\n", NULL, 404);
    ash__free(line);
    line = ash__sprintf("GET /.ashlar/trash/docs/%s", name);
    hosted_expect(h, line, NULL, NULL, 404);
    ash__free(line);
    /* What lies behind another tree is nowhere. */
    line = ash__sprintf("MOVE /.ashlar/trash/%s", name);
    hosted_expect(h, line, "Destination: /docs/a\n", NULL, 502);
    hosted_expect(h, "COPY /.ashlar/versions/kept/v1-kept", "Destination: /docs/kept\n", NULL, 502);
    support_expect_list(h->f, "", true, 0, "/kept");
    hosted_expect(h, line, "Destination: /b\n", NULL, 201);
    support_expect_text(h->f, "b", "root's");
    hosted_expect(h, "COPY /.ashlar/versions/kept/v1-kept", "Destination: /kept\n", NULL, 204);
    support_expect_text(h->f, "kept", "1");
    ash__free(line);
    ash__free(name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_looking, hosted_setup, hosted_teardown),
        cmocka_unit_test_setup_teardown(test_links_of_the_page, hosted_setup, hosted_teardown),
        cmocka_unit_test_setup_teardown(test_trees_are_apart, hosted_setup, hosted_teardown),
    };
    return cmocka_run_group_tests_name("http/site/past", tests, NULL, NULL);
}
