/* SPDX-License-Identifier: Apache-2.0 */
#include "hosted.h"

#include <string.h>

/* Signing in by the form, and the cookie that comes of it. */

#define WRITES  "[{\"role\": \"readWrite\", \"db\": \"$\"}]"
#define FORM    "Content-Type: application/x-www-form-urlencoded\n"
#define OWN     "Origin: http://localhost:8080\n"
#define BROWSER "Accept: text/html,*/*;q=0.8\n"

static int login_setup(void **state)
{
    if (hosted_setup(state) != 0)
        return -1;
    hosted *h = *state;
    support_put_text(h->f, "a", "a");
    hosted_add_user(h, "ann", "p w", WRITES);
    return 0;
}

static visit *post(hosted *h, const char *fields, const char *body)
{
    return hosted_ask(h, "POST /.ashlar/login", fields, body);
}

/* The cookie as a browser sends it. */
static void sign_in(hosted *h, char cookie[160])
{
    visit *v = post(h, FORM OWN, "name=ann&password=p+w&to=%2Fa%3Fb");
    visit_expect(v, 303);
    visit_expect_field(v, "Location", "/a?b");
    const char *set = visit_field(v, "Set-Cookie");
    assert_non_null(strstr(set, "; Path=/; HttpOnly; SameSite=Strict"));
    snprintf(cookie, 160, "Cookie: other=1; %.*s\n", (int)strcspn(set, ";"), set);
    visit_free(v);
}

static void expect(hosted *h, const char *cookie, const char *line, const char *fields,
                   const char *body, int status)
{
    char *all = ash__sprintf("%s%s", cookie, fields);
    visit *v = hosted_ask(h, line, all, body);
    if (v->status != status)
        fail_msg("%s %s: %d and not %d: %s", line, fields, v->status, status,
                 ash__buffer_text(&v->body));
    visit_free(v);
    ash__free(all);
}

static void test_browsers_are_led_to_the_form(void **state)
{
    hosted *h = *state;
    visit *v = hosted_ask(h, "GET /x/?sort=d&order=desc", BROWSER, NULL);
    visit_expect(v, 303);
    visit_expect_field(v, "Location", "/.ashlar/login?to=/x/%3Fsort=d%26order=desc");
    visit_free(v);
    /* Nobody else is: scripts, pictures, clients of WebDAV. */
    expect(h, "", "GET /x", BROWSER "Sec-Fetch-Dest: image\n", NULL, 401);
    expect(h, "", "GET /x", BROWSER "Sec-Fetch-Dest: empty\n", NULL, 401);
    expect(h, "", "GET /x", "Accept: */*\n", NULL, 401);
    expect(h, "", "PUT /x", BROWSER, "x", 401);
    v = hosted_ask(h, "GET /.ashlar/login?to=/x", BROWSER, NULL);
    visit_expect(v, 200);
    assert_non_null(strstr(ash__buffer_text(&v->body), "name=\"to\" value=\"/x\""));
    assert_null(strstr(ash__buffer_text(&v->body), "<script"));
    assert_non_null(strstr(visit_field(v, "Content-Security-Policy"), "default-src 'none'"));
    visit_free(v);
}

static void test_it_leads_nowhere_else(void **state)
{
    hosted *h = *state;
    static const char *const targets[] = {
        "//evil.example", "https://evil.example/", "/%5Cevil", "%09//evil", "/%0Aevil", "evil"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(targets); i++) {
        char *line = ash__sprintf("GET /.ashlar/login?to=%s", targets[i]);
        char *body = ash__sprintf("name=ann&password=p+w&to=%s", targets[i]);
        visit *v = hosted_ask(h, line, BROWSER, NULL);
        assert_non_null(strstr(ash__buffer_text(&v->body), "name=\"to\" value=\"/\""));
        visit_free(v);
        v = post(h, FORM OWN, body);
        visit_expect(v, 303);
        visit_expect_field(v, "Location", "/");
        visit_free(v);
        ash__free(line);
        ash__free(body);
    }
    visit *v = hosted_ask(h, "GET /.ashlar/login?to=/%22%3E%3Cscript%3E", BROWSER, NULL);
    assert_null(strstr(ash__buffer_text(&v->body), "<script"));
    visit_free(v);
}

static void test_what_signs_nobody_in(void **state)
{
    hosted *h = *state;
    static const struct {
        const char *fields, *body;
        int status;
    } rows[] = {
        {FORM OWN, "name=ann&password=wrong", 401},
        {FORM OWN, "name=bob&password=wrong", 401},
        {FORM OWN, "name=ann", 400},
        {FORM OWN, "", 400},
        {FORM, "name=ann&password=p+w", 403}, /* from no page */
        {FORM "Origin: http://evil.example\n", "name=ann&password=p+w", 403},
        {FORM "Origin: http://localhost:9090\n", "name=ann&password=p+w", 403},
        {FORM "Origin: null\n", "name=ann&password=p+w", 403},
        {FORM OWN "Sec-Fetch-Site: cross-site\n", "name=ann&password=p+w", 403},
        {"Content-Type: text/plain\n" OWN, "name=ann&password=p+w", 415},
        {"Content-Type: application/json\n" OWN, "{}", 415},
    };
    char *said[2] = {NULL, NULL};
    for (size_t i = 0; i < ASH_ARRAY_LEN(rows); i++) {
        visit *v = post(h, rows[i].fields, rows[i].body);
        if (v->status != rows[i].status || visit_field(v, "Set-Cookie") != NULL)
            fail_msg("%s %s: %d", rows[i].fields, rows[i].body, v->status);
        if (i < 2)
            said[i] = ash__strdup(ash__buffer_text(&v->body));
        visit_free(v);
    }
    assert_string_equal(said[0], said[1]);
    ash__free(said[0]);
    ash__free(said[1]);
    expect(h, "", "PUT /.ashlar/login", OWN, "x", 405);
    visit_is_far = true;
    visit *v = post(h, FORM OWN, "name=ann&password=p+w");
    visit_is_far = false;
    visit_expect(v, 403);
    visit_free(v);
}

/* Others under the same host's name set cookies, too. */
static void test_a_foreign_cookie_hides_none(void **state)
{
    hosted *h = *state;
    static const char *const others[] = {"ashlar=x", "ashlar=", "ashlar",
                                         "ashlar=0123456789abcdef0123456789abcdef"
                                         "0123456789abcdef0123456789abcdef",
                                         "ashlar=0123456789abcdef0123456789abcdef"
                                         "0123456789abcdef0123456789abcdefg"};
    char cookie[160];
    sign_in(h, cookie);
    const char *own = strstr(cookie, "ashlar=");
    for (size_t i = 0; i < ASH_ARRAY_LEN(others); i++) {
        char *before = ash__sprintf("Cookie: %s; %s", others[i], own);
        char *behind = ash__sprintf("Cookie: %.*s; %s\n", (int)strcspn(own, "\n"), own, others[i]);
        expect(h, before, "GET /a", "", NULL, 200);
        expect(h, behind, "GET /a", "", NULL, 200);
        ash__free(before);
        ash__free(behind);
    }
}

/* Nor has anybody work in another's name who brings a browser to show two. */
static void test_of_two_users_cookies_none_counts(void **state)
{
    hosted *h = *state;
    char anns[160], again[160], bobs[160];
    hosted_add_user(h, "bob", "p", WRITES);
    sign_in(h, anns);
    sign_in(h, again);
    visit *v = post(h, FORM OWN, "name=bob&password=p");
    visit_expect(v, 303);
    const char *set = visit_field(v, "Set-Cookie");
    snprintf(bobs, sizeof bobs, "Cookie: %.*s\n", (int)strcspn(set, ";"), set);
    visit_free(v);
    char *both = ash__sprintf("%s%s", anns, bobs), *one = ash__sprintf("%s%s", anns, again);
    expect(h, both, "GET /a", "", NULL, 401);
    expect(h, one, "GET /a", "", NULL, 200);
    /* To sign out ends both, and to sign in, too. */
    expect(h, both, "POST /.ashlar/logout", OWN, NULL, 303);
    expect(h, anns, "GET /a", "", NULL, 401);
    expect(h, bobs, "GET /a", "", NULL, 401);
    expect(h, again, "GET /a", "", NULL, 200);
    ash__free(both);
    ash__free(one);
}

static void test_to_sign_in_again_ends_the_session_of_before(void **state)
{
    hosted *h = *state;
    char cookie[160];
    sign_in(h, cookie);
    char *fields = ash__sprintf("%s" FORM OWN, cookie);
    hosted_expect(h, "POST /.ashlar/login", fields, "name=ann&password=wrong", 401);
    expect(h, cookie, "GET /a", "", NULL, 200);
    hosted_expect(h, "POST /.ashlar/login", fields, "name=ann&password=p+w", 303);
    expect(h, cookie, "GET /a", "", NULL, 401);
    ash__free(fields);
}

static void test_a_cookie_is_as_good_as_its_user(void **state)
{
    hosted *h = *state;
    char cookie[160];
    sign_in(h, cookie);
    expect(h, cookie, "GET /a", "", NULL, 200);
    expect(h, cookie, "GET /metrics", "", NULL, 403);
    expect(h, cookie, "PUT /new", OWN, "x", 201);
    expect(h, cookie, "PUT /new", "Sec-Fetch-Site: same-origin\n", "x", 204);
    expect(h, cookie, "POST /.ashlar/tokens", OWN "Content-Type: application/json\n", "{}", 201);
    char *all = ash__sprintf("%s%s", cookie, BROWSER);
    visit *v = hosted_ask(h, "GET /", all, NULL);
    visit_expect(v, 200);
    assert_non_null(strstr(ash__buffer_text(&v->body), "Sign out <bdi>ann</bdi>"));
    visit_free(v);
    ash__free(all);
}

static void test_no_page_of_others_uses_it(void **state)
{
    hosted *h = *state;
    char cookie[160];
    sign_in(h, cookie);
    expect(h, cookie, "PUT /a", "", "x", 403);
    expect(h, cookie, "PUT /a", "Origin: http://evil.example\n", "x", 403);
    expect(h, cookie, "PUT /a", "Origin: http://localhost:9090\n", "x", 403);
    expect(h, cookie, "PUT /a", "Sec-Fetch-Site: cross-site\n", "x", 403);
    expect(h, cookie, "PUT /a", "Sec-Fetch-Site: same-site\n", "x", 403);
    expect(h, cookie, "DELETE /a", "", NULL, 403);
    expect(h, cookie, "POST /.ashlar/tokens", "Content-Type: application/json\n", "{}", 403);
    support_expect_text(h->f, "a", "a");
}

static void test_what_is_no_cookie(void **state)
{
    hosted *h = *state;
    char cookie[160], other[160];
    sign_in(h, cookie);
    snprintf(other, sizeof other, "%s", cookie);
    other[strlen(other) - 2] ^= 1;
    expect(h, other, "GET /a", "", NULL, 401);
    snprintf(other, sizeof other, "%s", cookie);
    other[strlen(other) - 2] = '\n';
    other[strlen(other) - 1] = '\0';
    expect(h, other, "GET /a", "", NULL, 401);
    expect(h, "Cookie: ashlar=\n", "GET /a", "", NULL, 401);
    /* The name ends there, too. */
    char *longer = ash__sprintf("Cookie: x%s", strstr(cookie, "ashlar="));
    expect(h, longer, "GET /a", "", NULL, 401);
    ash__free(longer);
    visit_is_far = true;
    expect(h, cookie, "GET /a", "", NULL, 401);
    visit_is_far = false;
    expect(h, cookie, "GET /a", "", NULL, 200);
}

static void test_sessions_end(void **state)
{
    hosted *h = *state;
    char cookie[160], second[160];
    sign_in(h, cookie);
    sign_in(h, second);
    assert_string_not_equal(cookie, second);
    visit *long_one = hosted_ask(h, "GET /a", cookie, NULL);
    assert_true(ash__gate_stays(&long_one->x));
    char *all = ash__sprintf("%s%s", cookie, OWN);
    visit *v = hosted_ask(h, "POST /.ashlar/logout", all, NULL);
    visit_expect(v, 303);
    assert_non_null(strstr(visit_field(v, "Set-Cookie"), "ashlar=; "));
    assert_non_null(strstr(visit_field(v, "Set-Cookie"), "Max-Age=0"));
    visit_free(v);
    ash__free(all);
    expect(h, cookie, "GET /a", "", NULL, 401);
    /* Nor does an answer that has no end go on. */
    assert_false(ash__gate_stays(&long_one->x));
    visit_free(long_one);
    expect(h, second, "GET /a", "", NULL, 200);
    expect(h, second, "GET /.ashlar/logout", "", NULL, 405);
    hosted_change_user(h, "ann", NULL, "[]");
    expect(h, second, "GET /a", "", NULL, 403);
    hosted_change_user(h, "ann", "other", NULL);
    expect(h, second, "GET /a", "", NULL, 401);
}

static void test_behind_tls(void **state)
{
    hosted *h = *state;
    char cookie[160];
    visit *v = post(h, FORM "Origin: https://localhost:8080\nX-Forwarded-Proto: https\n",
                    "name=ann&password=p+w");
    visit_expect(v, 303);
    const char *set = visit_field(v, "Set-Cookie");
    assert_int_equal(strncmp(set, "__Host-ashlar=", 14), 0);
    assert_non_null(strstr(set, "; Path=/; HttpOnly; SameSite=Strict; Secure"));
    snprintf(cookie, sizeof cookie, "Cookie: %.*s\n", (int)strcspn(set, ";"), set);
    visit_free(v);
    expect(h, cookie, "GET /a", "X-Forwarded-Proto: https\n", NULL, 200);
    /* What a plain connection could have set does not count there. */
    sign_in(h, cookie);
    expect(h, cookie, "GET /a", "X-Forwarded-Proto: https\n", NULL, 401);
}

static void test_without_users_there_is_no_form(void **state)
{
    hosted *h = *state;
    hosted_remove_user(h, "ann");
    expect(h, "", "GET /.ashlar/login", BROWSER, NULL, 303);
    expect(h, "", "GET /", BROWSER, NULL, 200);
    expect(h, "", "POST /.ashlar/logout", OWN, NULL, 303);
}

static void expect_sign_out(hosted *h, const char *cookie, const char *line, int status)
{
    char *all = ash__sprintf("%s" BROWSER, cookie);
    visit *v = hosted_ask(h, line, all, NULL);
    visit_expect(v, status);
    bool there = strstr(ash__buffer_text(&v->body), "<button>Sign out <bdi>ann</bdi>") != NULL;
    if (there != (cookie[0] != '\0'))
        fail_msg("%s: %s", line, ash__buffer_text(&v->body));
    visit_free(v);
    ash__free(all);
}

/* Whoever has signed in as the wrong one finds the way out where that shows. */
static void test_signing_out_stands_on_each_page(void **state)
{
    hosted *h = *state;
    char cookie[160];
    sign_in(h, cookie);
    expect_sign_out(h, cookie, "GET /", 200);
    expect_sign_out(h, cookie, "GET /none", 404);
    expect_sign_out(h, cookie, "GET /.ashlar/metrics", 403);
    hosted_change_user(h, "ann", NULL, "[]");
    expect_sign_out(h, cookie, "GET /", 403);
    expect_sign_out(h, cookie, "GET /none", 403);
    /* Not for scripts, nor where it is of no use. */
    expect(h, cookie, "GET /", "Accept: */*\n", NULL, 403);
    visit *v = hosted_ask_as(h, "ann:p w", "GET /", BROWSER, NULL);
    visit_expect(v, 403);
    assert_null(strstr(ash__buffer_text(&v->body), "Sign out"));
    visit_free(v);
    hosted_remove_user(h, "ann");
    expect_sign_out(h, "", "GET /none", 404);
}

#define LOGIN(name) cmocka_unit_test_setup_teardown(name, login_setup, hosted_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOGIN(test_browsers_are_led_to_the_form),
        LOGIN(test_it_leads_nowhere_else),
        LOGIN(test_what_signs_nobody_in),
        LOGIN(test_a_cookie_is_as_good_as_its_user),
        LOGIN(test_a_foreign_cookie_hides_none),
        LOGIN(test_of_two_users_cookies_none_counts),
        LOGIN(test_to_sign_in_again_ends_the_session_of_before),
        LOGIN(test_no_page_of_others_uses_it),
        LOGIN(test_what_is_no_cookie),
        LOGIN(test_sessions_end),
        LOGIN(test_behind_tls),
        LOGIN(test_without_users_there_is_no_form),
        LOGIN(test_signing_out_stands_on_each_page),
    };
    return cmocka_run_group_tests_name("http/site/login", tests, NULL, NULL);
}
