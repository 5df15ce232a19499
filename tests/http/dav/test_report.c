/* SPDX-License-Identifier: Apache-2.0 */
#include "share.h"

#include <string.h>

/* REPORT with version-tree. */

#define ASK(props) "<version-tree xmlns=\"DAV:\"><prop>" props "</prop></version-tree>"

static void expect_holds(visit *v, const char *text)
{
    if (strstr(ash__buffer_text(&v->body), text) == NULL)
        fail_msg("no %s in %s", text, ash__buffer_text(&v->body));
}

static size_t count_of(visit *v, const char *text)
{
    size_t n = 0;
    for (const char *at = ash__buffer_text(&v->body); (at = strstr(at, text)) != NULL; at++)
        n++;
    return n;
}

static void test_versions(void **state)
{
    share *s = *state;
    support_put_text(s->f, "a b", "one");
    support_put_text(s->f, "a b", "second");
    visit *v =
        share_ask(s, "REPORT /a%20b", NULL,
                  ASK("<version-name/><getcontentlength/><successor-set/><none xmlns='x:'/>"));
    visit_expect(v, 207);
    assert_int_equal(count_of(v, "<D:response>"), 2);
    expect_holds(v, "<D:href>/.ashlar/versions/a%20b/v2-a%20b</D:href><D:propstat><D:prop>"
                    "<D:version-name>2</D:version-name>"
                    "<D:getcontentlength>6</D:getcontentlength>"
                    "<D:successor-set></D:successor-set></D:prop>");
    expect_holds(v, "<D:version-name>1</D:version-name>"
                    "<D:getcontentlength>3</D:getcontentlength><D:successor-set>"
                    "<D:href>/.ashlar/versions/a%20b/v2-a%20b</D:href></D:successor-set>");
    expect_holds(v, "<none xmlns=\"x:\"/></D:prop><D:status>HTTP/1.1 404 Not Found</D:status>");
    visit_free(v);
}

static void test_who_and_without_properties(void **state)
{
    share *s = *state;
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    o.changed_by = "a <b>";
    assert_ok(support_try_put(s->f, "a", "x", 1, &o, NULL), &s->f->err);
    visit *v = share_ask(s, "REPORT /a", NULL, ASK("<creator-displayname/>"));
    expect_holds(v, "<D:creator-displayname>a &lt;b&gt;</D:creator-displayname>");
    visit_free(v);
    v = share_ask(s, "REPORT /a", NULL, "<version-tree xmlns=\"DAV:\"/>");
    visit_expect(v, 207);
    assert_int_equal(count_of(v, "<D:href>"), 1);
    visit_free(v);
}

/* Deleted, and there again: what was between is no version that could be fetched. */
static void test_a_deletion_is_none(void **state)
{
    share *s = *state;
    support_put_text(s->f, "a", "one");
    share_expect(s, "DELETE /a", NULL, NULL, 204);
    share_expect(s, "REPORT /a", NULL, ASK("<version-name/>"), 404);
    support_put_text(s->f, "a", "two");
    visit *v = share_ask(s, "REPORT /a", NULL, ASK("<version-name/>"));
    visit_expect(v, 207);
    assert_int_equal(count_of(v, "<D:response>"), 1);
    visit_free(v);
}

static void test_refused(void **state)
{
    share *s = *state;
    support_put_text(s->f, "a", "one");
    share_expect(s, "MKCOL /f", NULL, NULL, 201);
    share_expect(s, "REPORT /f", NULL, ASK("<version-name/>"), 403);
    share_expect(s, "REPORT /none", NULL, ASK("<version-name/>"), 404);
    share_expect(s, "REPORT /a", NULL, NULL, 400);
    share_expect(s, "REPORT /a", NULL, "<version-tree", 400);
    share_expect(s, "REPORT /a", NULL, "<!DOCTYPE a []><version-tree xmlns=\"DAV:\"/>", 400);
    visit *v = share_ask(s, "REPORT /a", NULL, "<expand-property xmlns=\"DAV:\"/>");
    visit_expect(v, 403);
    expect_holds(v, "supported-report");
    visit_free(v);
    v = share_ask(s, "PROPFIND /a", "Depth: 0\n",
                  "<propfind xmlns=\"DAV:\"><prop><supported-report-set/></prop></propfind>");
    expect_holds(v, "<D:report><D:version-tree/></D:report>");
    visit_free(v);
}

#define T(name) cmocka_unit_test_setup_teardown(test_##name, share_setup, share_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(versions),
        T(who_and_without_properties),
        T(a_deletion_is_none),
        T(refused),
    };
    return cmocka_run_group_tests_name("http-dav-report", tests, NULL, NULL);
}
