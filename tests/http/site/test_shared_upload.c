/* SPDX-License-Identifier: Apache-2.0 */
#include "hosted.h"

#include <stdio.h>
#include <string.h>

/* Links that take new files, and tell nothing. */

#define FORM  "Content-Type: multipart/form-data; boundary=XyZ\n"
#define FILES "Content-Disposition: form-data; name=\"file\"; filename="
#define END   "\r\n--XyZ--\r\n"

typedef struct inbox {
    hosted *h;
    char *url, *id;
} inbox;

static int setup(void **state)
{
    inbox *b = ash__new(inbox);
    void *h = NULL;
    if (hosted_setup(&h) != 0)
        return -1;
    b->h = h;
    support_folder(b->h->f, "above");
    support_put_text(b->h->f, "above/secret", "sss");
    support_folder(b->h->f, "above/in");
    support_put_text(b->h->f, "above/in/a.txt", "mine");
    support_folder(b->h->f, "above/in/sub");
    bson_t *answer =
        hosted_call(b->h, "share", "{\"path\": \"/above/in\", \"right\": \"upload\"}", 200);
    b->url = ash__strdup(hosted_member(answer, "url"));
    b->id = ash__strdup(hosted_member(answer, "id"));
    bson_destroy(answer);
    *state = b;
    return 0;
}

static int teardown(void **state)
{
    inbox *b = *state;
    void *h = b->h;
    ash__free(b->url);
    ash__free(b->id);
    ash__free(b);
    return hosted_teardown(&h);
}

static visit *ask(inbox *b, const char *method, const char *below, const char *fields,
                  const char *body)
{
    char *line = ash__sprintf("%s %s%s", method, b->url, below);
    visit *v = hosted_ask(b->h, line, fields, body);
    ash__free(line);
    return v;
}

static void expect(inbox *b, const char *method, const char *below, const char *fields,
                   const char *body, int status)
{
    visit *v = ask(b, method, below, fields, body);
    visit_expect(v, status);
    visit_free(v);
}

/* What a client is told says nothing of the folder. */
static void expect_silent(visit *v)
{
    static const char *const words[] = {"above", "secret", "mine", "sub", "(2)"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(words); i++)
        if (strstr(ash__buffer_text(&v->body), words[i]) != NULL ||
            strstr(ash__buffer_text(&v->x.fields), words[i]) != NULL)
            fail_msg("%s in %s%s", words[i], ash__buffer_text(&v->x.fields),
                     ash__buffer_text(&v->body));
}

static void test_the_form(void **state)
{
    inbox *b = *state;
    visit *v = ask(b, "GET", "", NULL, NULL);
    visit_expect(v, 200);
    assert_non_null(strstr(ash__buffer_text(&v->body), "enctype=\"multipart/form-data\""));
    assert_null(strstr(ash__buffer_text(&v->body), "<script"));
    /* "no-referrer" would have a browser hide from where the form comes. */
    visit_expect_field(v, "Referrer-Policy", "strict-origin");
    expect_silent(v);
    visit_free(v);
    v = ask(b, "POST", "", FORM,
            "--XyZ\r\n" FILES "\"b.txt\"\r\nContent-Type: text/x-b\r\n\r\none\r\n--XyZ\r\n"
            "Content-Disposition: form-data; name=\"note\"\r\n\r\nno file\r\n--XyZ\r\n" FILES
            "\"<c>\"\r\n\r\ntwo" END);
    visit_expect(v, 201);
    assert_non_null(strstr(ash__buffer_text(&v->body), "<bdi>b.txt</bdi>"));
    assert_non_null(strstr(ash__buffer_text(&v->body), "<bdi>&lt;c&gt;</bdi>"));
    visit_free(v);
    support_expect_text(b->h->f, "above/in/b.txt", "one");
    support_expect_text(b->h->f, "above/in/<c>", "two");
    support_expect_list(b->h->f, "above/in", false, 0, "<c> a.txt b.txt sub");
    ash_tree_entry *e = support_get(b->h->f, "above/in/b.txt");
    assert_string_equal(ash_tree_entry_content_type(e), "text/x-b");
    char *by = ash__sprintf("link %s", b->id);
    assert_string_equal(ash_tree_entry_changed_by(e), by);
    ash_tree_entry_free(e);
    e = support_get(b->h->f, "above/in/<c>");
    assert_null(ash_tree_entry_content_type(e));
    ash_tree_entry_free(e);
    ash__free(by);
    /* Also with a '/' behind the link. */
    expect(b, "POST", "/", FORM, "--XyZ\r\n" FILES "d\r\n\r\nthree" END, 201);
    support_expect_text(b->h->f, "above/in/d", "three");
}

static void test_put(void **state)
{
    inbox *b = *state;
    visit *v = ask(b, "PUT", "/b%20c.txt", "Content-Type: text/x-b\n", "one");
    visit_expect(v, 201);
    expect_silent(v);
    visit_expect_field(v, "Referrer-Policy", "no-referrer");
    assert_null(visit_field(v, "ETag"));
    visit_free(v);
    support_expect_text(b->h->f, "above/in/b c.txt", "one");
    expect(b, "PUT", "/d", "Content-MD5: AAAAAAAAAAAAAAAAAAAAAA==\n", "one", 400);
    expect(b, "PUT", "/d", "Content-Range: bytes 0-2/9\n", "one", 400);
    expect(b, "PUT", "/d", "Content-Encoding: gzip\n", "one", 400);
    /* `curl -T FILE LINK` has no name for it. */
    v = ask(b, "PUT", "", NULL, "one");
    visit_expect(v, 400);
    visit_expect_body(v, "a file needs a name behind the link: LINK/NAME\n");
    visit_free(v);
    support_expect_missing(b->h->f, "above/in/d");
}

/* Whatever has the name: neither is it touched, nor is it told. */
static void test_nothing_is_overwritten(void **state)
{
    inbox *b = *state;
    static const char *const names[] = {"/a.txt", "/sub", "/a.txt", "/new"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(names); i++) {
        visit *v = ask(b, "PUT", names[i], NULL, "theirs");
        visit_expect(v, 201);
        expect_silent(v);
        visit_expect_body(v, "received\n");
        visit_free(v);
    }
    visit *v = ask(b, "POST", "", FORM, "--XyZ\r\n" FILES "\"a.txt\"\r\n\r\nfourth" END);
    visit_expect(v, 201);
    expect_silent(v);
    visit_free(v);
    support_expect_text(b->h->f, "above/in/a.txt", "mine");
    support_expect_version(b->h->f, "above/in/a.txt", 1);
    support_expect_list(b->h->f, "above/in", false, 0,
                        "a (2).txt a (3).txt a (4).txt a.txt new sub sub (2)");
    support_expect_text(b->h->f, "above/in/a (4).txt", "fourth");
}

/* Two of one name at once: both are kept. */
static void test_at_once(void **state)
{
    inbox *b = *state;
    char *line = ash__sprintf("PUT %s/x", b->url);
    visit *one = visit_start(ash__site_service(), b->h->site, line, NULL, 3);
    visit *two = visit_start(ash__site_service(), b->h->site, line, NULL, 3);
    visit *gone = visit_start(ash__site_service(), b->h->site, line, NULL, 3);
    visit_send(one, "one", 3);
    visit_send(two, "two", 3);
    visit_send(gone, "go", 2);
    visit_free(gone);
    visit_end(two);
    visit_end(one);
    visit_expect(one, 201);
    visit_expect(two, 201);
    visit_free(one);
    visit_free(two);
    support_expect_text(b->h->f, "above/in/x", "one");
    support_expect_text(b->h->f, "above/in/x (2)", "two");
    support_expect_missing(b->h->f, "above/in/x (3)");
    /* What nobody waits for any more is free again. */
    support_expect_list(b->h->f, "above/in", false, 0, "a.txt sub x x (2)");
    ash__free(line);
}

static void test_nothing_is_read(void **state)
{
    inbox *b = *state;
    static const char *const below[] = {"/a.txt", "/sub", "/sub/", "/none", "/x/y"};
    static const char *const methods[] = {"GET", "PROPFIND", "DELETE", "MOVE", "POST", "OPTIONS"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(below); i++)
        for (size_t k = 0; k < ASH_ARRAY_LEN(methods); k++) {
            visit *v = ask(b, methods[k], below[i], NULL, NULL);
            visit_expect(v, 404);
            expect_silent(v);
            visit_free(v);
        }
    expect(b, "HEAD", "/a.txt", NULL, NULL, 404);
    expect(b, "PUT", "/sub/x", NULL, "x", 404);
    expect(b, "PUT", "/x/", NULL, "x", 404);
    visit *v = ask(b, "GET", "/?format=zip", NULL, NULL);
    visit_expect(v, 200);
    visit_expect_field(v, "Content-Type", "text/html; charset=utf-8");
    expect_silent(v);
    visit_free(v);
    static const char *const others[] = {"PROPFIND", "DELETE", "MKCOL", "LOCK", "PATCH", "COPY"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(others); i++)
        expect(b, others[i], "", "Destination: /x\n", NULL, 405);
    /* No condition tells what is there: neither the If field's, of any place, nor a name's own. */
    expect(b, "PUT", "/x", "If: </above/secret> ([\"no\"])\n", "x", 400);
    expect(b, "PUT", "/x", "If: </above/secret> (Not [\"no\"])\n", "x", 400);
    expect(b, "PUT", "/a.txt", "If-None-Match: *\n", "x", 201);
    expect(b, "PUT", "/a.txt", "If-Match: *\n", "x", 412);
    expect(b, "PUT", "/never", "If-Match: *\n", "x", 412);
    support_expect_text(b->h->f, "above/in/a.txt", "mine");
}

static void test_names(void **state)
{
    inbox *b = *state;
    static const char *const bad[] = {".", "..", ".ashlar", "a/..", "..\\..", "x/"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(bad); i++) {
        char *body = ash__sprintf("--XyZ\r\n" FILES "\"%s\"\r\n\r\none" END, bad[i]);
        expect(b, "POST", "", FORM, body, 400);
        ash__free(body);
    }
    /* A path of the sender's is left out. */
    expect(b, "POST", "", FORM, "--XyZ\r\n" FILES "\"../../up.txt\"\r\n\r\none" END, 201);
    support_expect_text(b->h->f, "above/in/up.txt", "one");
    support_expect_missing(b->h->f, "up.txt");
    expect(b, "PUT", "/.ashlar", NULL, "x", 400);
    expect(b, "PUT", "/..%5c..%5cevil.txt", NULL, "x", 400);
    expect(b, "PUT", "/a%0ab", NULL, "x", 400);
    expect(b, "PUT", "/a%1b", NULL, "x", 400);
    char *longest = ash__alloc(1002), *line;
    longest[0] = '/';
    memset(longest + 1, 'n', 1000);
    expect(b, "PUT", longest, NULL, "x", 201);
    expect(b, "PUT", longest, NULL, "x", 201);
    line = ash__sprintf("%sn", longest);
    expect(b, "PUT", line, NULL, "x", 400);
    support_expect_missing(b->h->f, line + 1);
    ash__free(line);
    ash__free(longest);
}

static void test_forms_that_are_none(void **state)
{
    inbox *b = *state;
    expect(b, "POST", "", "Content-Type: application/json\n", "{}", 415);
    expect(b, "POST", "", NULL, "x", 415);
    expect(b, "POST", "", FORM, "nothing", 400);
    expect(b, "POST", "", FORM, "--XyZ--", 400);
    expect(b, "POST", "", FORM, "--XyZ\r\n" FILES "\"\"\r\n\r\n" END, 400);
    expect(b, "POST", "", FORM, "--XyZ\r\n" FILES "\"b\"\r\n\r\none", 400);
    expect(b, "POST", "", FORM, "--XyZ\r\n" FILES "\"b\"\r\n\r\none\r\n--XyZwhat", 400);
    support_expect_missing(b->h->f, "above/in/b.txt");
    /* The first came whole. */
    expect(b, "POST", "", FORM,
           "--XyZ\r\n" FILES "\"first\"\r\n\r\none\r\n--XyZ\r\n" FILES "\"second\"\r\n\r\ntw", 400);
    support_expect_text(b->h->f, "above/in/first", "one");
    support_expect_missing(b->h->f, "above/in/second");
}

static void test_from_whose_page(void **state)
{
    inbox *b = *state;
    const char *form = "--XyZ\r\n" FILES "\"b\"\r\n\r\none" END;
    expect(b, "POST", "", FORM "Origin: http://other.example\n", form, 403);
    expect(b, "POST", "", FORM "Origin: null\n", form, 403);
    expect(b, "POST", "", FORM "Sec-Fetch-Site: cross-site\n", form, 403);
    support_expect_missing(b->h->f, "above/in/b");
}

/* A link that is taken back while bytes come brings nothing in. */
static void test_taken_back_meanwhile(void **state)
{
    inbox *b = *state;
    char *line = ash__sprintf("PUT %s/x", b->url);
    visit *v = visit_start(ash__site_service(), b->h->site, line, NULL, 3);
    visit *moved = visit_start(ash__site_service(), b->h->site, line, NULL, 3);
    visit_send(v, "one", 3);
    visit_send(moved, "two", 3);
    support_move(b->h->f, "above/in", "elsewhere");
    support_folder(b->h->f, "above/in");
    visit_end(moved);
    visit_expect(moved, 409);
    visit_free(moved);
    support_expect_list(b->h->f, "above/in", false, 0, "");
    expect(b, "PUT", "/y", NULL, "there", 201);
    support_expect_text(b->h->f, "elsewhere/y", "there");
    char *body = ash__sprintf("{\"id\": \"%s\"}", b->id);
    bson_destroy(hosted_call(b->h, "unshare", body, 200));
    visit_end(v);
    visit_expect(v, 404);
    visit_free(v);
    support_expect_missing(b->h->f, "elsewhere/x");
    expect(b, "GET", "", NULL, NULL, 404);
    expect(b, "PUT", "/z", NULL, "x", 404);
    ash__free(body);
    ash__free(line);
}

/* A name that somebody takes while the bytes come is taken by them. */
static void test_a_name_that_is_taken_meanwhile(void **state)
{
    inbox *b = *state;
    static const char form[] = "--XyZ\r\n" FILES "\"f\"\r\n\r\ntheirs" END;
    char *line = ash__sprintf("PUT %s/n.txt", b->url), *post = ash__sprintf("POST %s", b->url);
    visit *v = visit_start(ash__site_service(), b->h->site, line, NULL, 6);
    visit_send(v, "the", 3);
    support_put_text(b->h->f, "above/in/n.txt", "mine");
    support_folder(b->h->f, "above/in/n (2).txt");
    visit_send(v, "irs", 3);
    visit_end(v);
    visit_expect(v, 201);
    expect_silent(v);
    visit_free(v);
    support_expect_text(b->h->f, "above/in/n.txt", "mine");
    support_expect_text(b->h->f, "above/in/n (3).txt", "theirs");
    v = visit_start(ash__site_service(), b->h->site, post, FORM, sizeof form - 1);
    visit_send(v, form, sizeof form - 15);
    support_put_text(b->h->f, "above/in/f", "mine");
    visit_send(v, form + sizeof form - 15, 14);
    visit_end(v);
    visit_expect(v, 201);
    visit_free(v);
    support_expect_text(b->h->f, "above/in/f (2)", "theirs");
    ash__free(line);
    ash__free(post);
}

/* ---- how much ---- */

static void bounded(inbox *b, const char *bounds)
{
    char *body = ash__sprintf("{\"path\": \"/above/in\", \"right\": \"upload\", %s}", bounds);
    bson_t *answer = hosted_call(b->h, "share", body, 200);
    ash__free(b->url);
    b->url = ash__strdup(hosted_member(answer, "url"));
    bson_destroy(answer);
    ash__free(body);
}

static void test_so_many_bytes(void **state)
{
    inbox *b = *state;
    bounded(b, "\"max_bytes\": 10");
    visit *v = ask(b, "PUT", "/x", NULL, "12345678901");
    visit_expect(v, 413);
    expect_silent(v);
    visit_free(v);
    expect(b, "PUT", "/x", NULL, "1234567", 201);
    expect(b, "PUT", "/y", NULL, "1234", 413);
    /* Nobody said how many there would be, and of two at once. */
    char *line = ash__sprintf("PUT %s/z", b->url);
    v = visit_start(ash__site_service(), b->h->site, line, NULL, -1);
    visit_send(v, "12", 2);
    expect(b, "PUT", "/y", NULL, "12", 201);
    visit_end(v);
    visit_expect(v, 413);
    visit_free(v);
    v = visit_start(ash__site_service(), b->h->site, line, NULL, -1);
    visit_send(v, "12", 2);
    assert_int_equal(v->x.status, 413);
    visit_end(v);
    visit_free(v);
    ash__free(line);
    support_expect_missing(b->h->f, "above/in/z");
    static const char form[] =
        "--XyZ\r\n" FILES "\"f\"\r\n\r\n1\r\n--XyZ\r\n" FILES "\"g\"\r\n\r\n1" END;
    expect(b, "POST", "", FORM, form, 413);
    support_expect_text(b->h->f, "above/in/f", "1");
    support_expect_missing(b->h->f, "above/in/g");
}

static void test_so_many_files(void **state)
{
    inbox *b = *state;
    bounded(b, "\"max_files\": 2");
    expect(b, "PUT", "/x", NULL, "1", 201);
    /* One that failed does not count. */
    expect(b, "PUT", "/a/b", NULL, "1", 404);
    expect(b, "PUT", "/y", "Content-MD5: AAAAAAAAAAAAAAAAAAAAAA==\n", "1", 400);
    expect(b, "PUT", "/y", NULL, "1", 201);
    expect(b, "PUT", "/z", NULL, "", 413);
    bson_t *answer = hosted_call(b->h, "shares?path=/", NULL, 200);
    assert_string_equal(hosted_member(answer, "shares.1.usedFiles"), "2");
    assert_string_equal(hosted_member(answer, "shares.1.usedBytes"), "2");
    assert_string_equal(hosted_member(answer, "shares.1.maxBytes"), "10737418240");
    assert_string_equal(hosted_member(answer, "shares.0.maxFiles"), "1000");
    bson_destroy(answer);
    bounded(b, "\"max_files\": 0, \"max_bytes\": 0");
    expect(b, "PUT", "/z", NULL, "1", 201);
    static const char *const none[] = {
        "{\"path\": \"/above/in\", \"max_files\": 1}",
        "{\"path\": \"/above/in\", \"right\": \"upload\", \"max_bytes\": -1}",
        "{\"path\": \"/above/in\", \"right\": \"upload\", \"max_files\": \"1\"}"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(none); i++)
        bson_destroy(hosted_call(b->h, "share", none[i], 400));
}

/* A lock on the folder keeps new names out, and the answer does not say where that is. */
static void test_locked(void **state)
{
    inbox *b = *state;
    visit *v = hosted_ask(
        b->h, "LOCK /above/in", "Content-Type: application/xml\n",
        "<lockinfo xmlns='DAV:'><lockscope><exclusive/></lockscope><locktype><write/></locktype>"
        "</lockinfo>");
    visit_expect(v, 200);
    visit_free(v);
    v = ask(b, "PUT", "/x", NULL, "one");
    visit_expect(v, 423);
    expect_silent(v);
    visit_free(v);
    support_expect_missing(b->h->f, "above/in/x");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_the_form),
        CASE(test_put),
        CASE(test_nothing_is_overwritten),
        CASE(test_at_once),
        CASE(test_nothing_is_read),
        CASE(test_names),
        CASE(test_forms_that_are_none),
        CASE(test_from_whose_page),
        CASE(test_taken_back_meanwhile),
        CASE(test_locked),
        CASE(test_a_name_that_is_taken_meanwhile),
        CASE(test_so_many_bytes),
        CASE(test_so_many_files),
    };
    return cmocka_run_group_tests_name("http/site/shared_upload", tests, NULL, NULL);
}
