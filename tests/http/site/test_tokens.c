/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* memmem */
#include "hosted.h"

#include "base/clock.h"
#include "user/attempts.h"
#include "user/tokens.h"

#include <string.h>

/* What programs show instead of a password, and how far it reaches. */

#define WRITES "[{\"role\": \"readWrite\", \"db\": \"$\"}]"
#define JSON   "Content-Type: application/json\n"

static int tokens_setup(void **state)
{
    if (hosted_setup(state) != 0)
        return -1;
    hosted *h = *state;
    support_folder(h->f, "team");
    support_put_text(h->f, "team/a", "a");
    support_folder(h->f, "team2");
    support_put_text(h->f, "team2/a", "a");
    support_put_text(h->f, "top", "top");
    hosted_add_user(h, "ann", "p", WRITES);
    hosted_add_user(h, "bob", "p", WRITES);
    return 0;
}

typedef struct shown {
    char text[ASH_TOKEN_TEXT_BYTES];
    char field[ASH_TOKEN_TEXT_BYTES + 32]; /* as Bearer */
} shown;

static void make(hosted *h, bool read_only, const char *path, shown *out)
{
    ash_token t = {.read_only = read_only};
    t.user = ash__strdup("ann");
    t.db = ash__strdup("admin");
    t.path = path != NULL ? ash__strdup(path) : NULL;
    assert_ok(ash__token_create(&h->users, &t, out->text, &h->f->err), &h->f->err);
    ash__token_release(&t);
    snprintf(out->field, sizeof out->field, "Authorization: Bearer %s\n", out->text);
}

static void expect(hosted *h, const shown *t, const char *line, const char *fields,
                   const char *body, int status)
{
    char *all = ash__sprintf("%s%s", t->field, fields != NULL ? fields : "");
    visit *v = hosted_ask(h, line, all, body);
    if (v->status != status)
        fail_msg("%s: %d and not %d: %s", line, v->status, status, ash__buffer_text(&v->body));
    visit_free(v);
    ash__free(all);
}

/* ---- showing ---- */

static void test_is_as_good_as_its_user(void **state)
{
    hosted *h = *state;
    shown t;
    make(h, false, NULL, &t);
    expect(h, &t, "GET /top", NULL, NULL, 200);
    expect(h, &t, "PUT /new", NULL, "x", 201);
    expect(h, &t, "GET /metrics", NULL, NULL, 403);
    hosted_change_user(h, "ann", NULL, "[]");
    expect(h, &t, "GET /top", NULL, NULL, 403);
}

static void test_as_the_password_of_basic(void **state)
{
    hosted *h = *state;
    shown t;
    make(h, false, NULL, &t);
    static const struct {
        const char *name;
        int status;
    } names[] = {{"ann", 200}, {"admin.ann", 200}, {"", 200}, {"bob", 401}, {"files.ann", 401}};
    for (size_t i = 0; i < ASH_ARRAY_LEN(names); i++) {
        char *pair = ash__sprintf("%s:%s", names[i].name, t.text);
        hosted_expect_as(h, pair, "GET /top", NULL, names[i].status);
        ash__free(pair);
    }
}

static void test_a_token_that_was_taken_back(void **state)
{
    hosted *h = *state;
    shown t;
    char id[ASH_TOKEN_ID_BYTES];
    make(h, false, NULL, &t);
    expect(h, &t, "GET /top", NULL, NULL, 200);
    snprintf(id, sizeof id, "%.16s", t.text + 7);
    visit *long_one = hosted_ask(h, "GET /top", t.field, NULL);
    assert_true(ash__gate_stays(&long_one->x));
    assert_ok(ash__token_remove(&h->users, id, NULL, NULL, &h->f->err), &h->f->err);
    expect(h, &t, "GET /top", NULL, NULL, 401);
    /* Nor does an answer that has no end go on. */
    assert_false(ash__gate_stays(&long_one->x));
    visit_free(long_one);
}

static void test_a_token_of_a_user_who_is_gone(void **state)
{
    hosted *h = *state;
    shown t;
    make(h, false, NULL, &t);
    hosted_remove_user(h, "ann");
    expect(h, &t, "GET /top", NULL, NULL, 401);
    /* It was hers, and not her name's. */
    hosted_add_user(h, "ann", "p", WRITES);
    expect(h, &t, "GET /top", NULL, NULL, 401);
}

static void test_not_over_an_open_network(void **state)
{
    hosted *h = *state;
    shown t;
    make(h, false, NULL, &t);
    visit_is_far = true;
    visit *v = hosted_ask(h, "GET /top", t.field, NULL);
    visit_is_far = false;
    visit_expect(v, 403);
    visit_free(v);
}

static void test_wrong_tokens_wait_and_say_nothing(void **state)
{
    hosted *h = *state;
    shown t;
    make(h, false, NULL, &t);
    t.field[strlen(t.field) - 2] ^= 1;
    for (int i = 0; i < ASH_ATTEMPTS_FREE + 2; i++) {
        visit *v = hosted_ask(h, "GET /top", t.field, NULL);
        visit_expect(v, 401);
        assert_null(strstr(ash__buffer_text(&v->body), "ashlar_"));
        visit_free(v);
    }
    int64_t begun = ash__clock_ms();
    expect(h, &t, "GET /top", NULL, NULL, 401);
    assert_true(ash__clock_ms() - begun >= 100);
}

/* ---- narrower than the user ---- */

static void test_one_that_reads(void **state)
{
    hosted *h = *state;
    shown t;
    make(h, true, NULL, &t);
    expect(h, &t, "GET /top", NULL, NULL, 200);
    expect(h, &t, "PROPFIND /", "Depth: 1\n", NULL, 207);
    expect(h, &t, "PUT /top", NULL, "x", 403);
    expect(h, &t, "DELETE /top", NULL, NULL, 403);
    expect(h, &t, "LOCK /top", NULL, "<x/>", 403);
    expect(h, &t, "POST /.ashlar/tree/delete", JSON, "{\"path\": \"/top\"}", 403);
    expect(h, &t, "POST /.ashlar/tree/share", JSON, "{\"path\": \"/top\"}", 403);
    support_expect_text(h->f, "top", "top");
}

static const struct {
    const char *line, *fields, *body;
    int status;
} reach[] = {
    {"GET /team/a", NULL, NULL, 200},
    {"GET /team/", NULL, NULL, 200},
    {"PROPFIND /team", "Depth: 1\n", NULL, 207},
    {"PUT /team/new", NULL, "x", 201},
    {"COPY /team/a", "Destination: /team/b\n", NULL, 201},
    {"COPY /team/a", "Destination: http://localhost:8080/team/c\n", NULL, 201},
    {"GET /.ashlar/tree/list?path=/team", NULL, NULL, 200},
    {"GET /.ashlar/tree/list?path=/team/", NULL, NULL, 200},
    {"GET /.ashlar/archive/team?format=zip", NULL, NULL, 200},
    {"POST /.ashlar/tree/move", JSON, "{\"path\": \"/team/b\", \"to\": \"/team/d\"}", 200},
    {"GET /health", NULL, NULL, 403},
    {"GET /.ashlar/health", NULL, NULL, 200},
    {"GET /", NULL, NULL, 403},
    {"GET /top", NULL, NULL, 403},
    {"GET /team2/a", NULL, NULL, 403},
    {"GET /team2", NULL, NULL, 403},
    {"GET /missing", NULL, NULL, 403},
    {"GET /wor", NULL, NULL, 403},
    {"PROPFIND /", "Depth: 0\n", NULL, 403},
    {"OPTIONS *", NULL, NULL, 403},
    {"PUT /new", NULL, "x", 403},
    {"COPY /team/a", "Destination: /out\n", NULL, 403},
    {"MOVE /team/a", "Destination: /team2/out\n", NULL, 403},
    {"COPY /top", "Destination: /team/in\n", NULL, 403},
    {"COPY /team/a", "Destination: /team2\n", NULL, 403},
    {"GET /.ashlar/tree/list?path=/", NULL, NULL, 403},
    {"GET /.ashlar/tree/stat?path=/top", NULL, NULL, 403},
    {"GET /.ashlar/tree/search?path=/&q=t", NULL, NULL, 403},
    {"GET /.ashlar/tree/trash?path=/", NULL, NULL, 403},
    {"GET /.ashlar/tree/shares?path=/team", NULL, NULL, 403},
    {"GET /.ashlar/archive/?format=zip", NULL, NULL, 403},
    {"GET /.ashlar/archive/team2?format=zip", NULL, NULL, 403},
    {"GET /.ashlar/archive", NULL, NULL, 403},
    {"GET /.ashlar/events/", NULL, NULL, 403},
    {"GET /.ashlar/versions/team/a/", NULL, NULL, 403},
    {"GET /.ashlar/at/2036-01-01/team/", NULL, NULL, 403},
    {"GET /.ashlar/trash/", NULL, NULL, 403},
    {"GET /.ashlar/metrics", NULL, NULL, 403},
    {"GET /.ashlar/tokens", NULL, NULL, 403},
    {"GET /.ashlar/nothing", NULL, NULL, 403},
    {"POST /.ashlar/uploads/team/x", "Tus-Resumable: 1.0.0\nUpload-Length: 3\n", NULL, 403},
    {"POST /.ashlar/tree/move", JSON, "{\"path\": \"/team/d\", \"to\": \"/out\"}", 403},
    {"POST /.ashlar/tree/copy", JSON, "{\"path\": \"/top\", \"to\": \"/team/in\"}", 403},
    {"POST /.ashlar/tree/undelete", JSON,
     "{\"path\": \"/team\", \"id\": \"0123456789abcdef01234567\"}", 403},
    {"POST /.ashlar/tree/restore", JSON, "{\"path\": \"/team\", \"at\": \"2036-01-01T00:00:00Z\"}",
     403},
    {"POST /.ashlar/tree/forget", JSON, "{\"path\": \"/team/a\", \"version\": 1}", 403},
    {"POST /.ashlar/tree/share", JSON, "{\"path\": \"/team\"}", 403},
    {"POST /.ashlar/tree/unshare", JSON, "{\"id\": \"0123456789abcdef01234567\"}", 403},
};

static void test_one_for_a_place(void **state)
{
    hosted *h = *state;
    shown t;
    make(h, false, "/team", &t);
    for (size_t i = 0; i < ASH_ARRAY_LEN(reach); i++)
        expect(h, &t, reach[i].line, reach[i].fields, reach[i].body, reach[i].status);
    support_expect_missing(h->f, "out");
    support_expect_missing(h->f, "team/in");
}

static bool has_come(visit *v, const char *text)
{
    return memmem(ash__buffer_text(&v->body), v->body.len, text, strlen(text)) != NULL;
}

/* Until the stream has the text in it, at most some seconds. */
static void read_until(visit *v, const char *text)
{
    for (int ms = 0; !has_come(v, text); ms += 20) {
        if (ms > 20000)
            fail_msg("no %s in %s", text, ash__buffer_text(&v->body));
        ash__clock_sleep_ms(20);
        visit_read(v);
    }
}

static void test_events_of_one_for_a_place(void **state)
{
    hosted *h = *state;
    shown t;
    char line[40];
    make(h, false, "/team", &t);
    support_folder(h->f, "team/sub");
    visit *v = hosted_ask(h, "GET /.ashlar/events/team", t.field, NULL);
    /* It listens once it is told of something. */
    for (int i = 0; !has_come(v, "/team/b"); i++) {
        assert_true(i < 200);
        snprintf(line, sizeof line, "team/b%d", i);
        support_put_text(h->f, line, "x");
        ash__clock_sleep_ms(50);
        visit_read(v);
    }
    support_put_text(h->f, "elsewhere", "x");
    support_move(h->f, "elsewhere", "team/came");
    read_until(v, "\"kind\":\"created\",\"path\":\"/team/came\"");
    support_move(h->f, "team/came", "team/sub/came");
    read_until(v, "\"path\":\"/team/sub/came\",\"from\":\"/team/came\"");
    assert_false(has_come(v, "event: reload"));
    support_move(h->f, "team/sub/came", "elsewhere");
    read_until(v, "event: reload");
    support_put_text(h->f, "team/last", "x");
    read_until(v, "/team/last");
    assert_false(has_come(v, "elsewhere"));
    visit_free(v);
}

/* What it was called elsewhere, and had in it there, is of elsewhere. */
static void test_versions_of_elsewhere(void **state)
{
    hosted *h = *state;
    shown t, all;
    static const char *const lines[] = {"GET /.ashlar/tree/stat?path=/team/in&version=1",
                                        "GET /.ashlar/tree/content?path=/team/in&version=1",
                                        "GET /.ashlar/tree/diff?path=/team/in&from=1&to=3",
                                        "GET /.ashlar/tree/diff?path=/team/in&from=3&to=1"};
    make(h, false, "/team", &t);
    make(h, false, NULL, &all);
    support_put_text(h->f, "elsewhere", "x");
    support_move(h->f, "elsewhere", "team/in");
    support_put_text(h->f, "team/in", "y");
    for (size_t i = 0; i < ASH_ARRAY_LEN(lines); i++) {
        expect(h, &t, lines[i], NULL, NULL, 403);
        expect(h, &all, lines[i], NULL, NULL, 200);
    }
    expect(h, &t, "POST /.ashlar/tree/restore", JSON, "{\"path\": \"/team/in\", \"version\": 1}",
           403);
    expect(h, &t, "POST /.ashlar/tree/tag", JSON,
           "{\"path\": \"/team/in\", \"version\": 1, \"tag\": \"t\"}", 403);
    expect(h, &t, "REPORT /team/in", NULL, "<version-tree xmlns=\"DAV:\"/>", 403);
    expect(h, &t, "GET /.ashlar/tree/diff?path=/team/in&from=2&to=3", NULL, NULL, 200);
    expect(h, &t, "GET /.ashlar/tree/content?path=/team/in&version=9", NULL, NULL, 404);
    visit *v = hosted_ask(h, "GET /.ashlar/tree/history?path=/team/in", t.field, NULL);
    visit_expect(v, 200);
    assert_false(has_come(v, "elsewhere"));
    assert_true(has_come(v, "\"version\":2,") && has_come(v, "\"version\":3,"));
    visit_free(v);
}

/* ---- one's own ---- */

static void test_making_and_taking_back(void **state)
{
    hosted *h = *state;
    shown t;
    visit *v = hosted_ask_as(h, "ann:p", "POST /.ashlar/tokens", JSON,
                             "{\"readOnly\": true, \"path\": \"/team\"}");
    visit_expect(v, 201);
    visit_expect_field(v, "Cache-Control", "no-store");
    char *text = strstr(ash__buffer_text(&v->body), "ashlar_");
    assert_non_null(text);
    snprintf(t.text, sizeof t.text, "%s", text);
    snprintf(t.field, sizeof t.field, "Authorization: Bearer %s\n", t.text);
    visit_free(v);
    expect(h, &t, "GET /team/a", NULL, NULL, 200);
    expect(h, &t, "PUT /team/a", NULL, "x", 403);
    expect(h, &t, "GET /top", NULL, NULL, 403);
    v = hosted_ask_as(h, "ann:p", "GET /.ashlar/tokens", NULL, NULL);
    visit_expect(v, 200);
    assert_non_null(strstr(ash__buffer_text(&v->body), "\"readOnly\":true,\"path\":\"/team\"}"));
    assert_null(strstr(ash__buffer_text(&v->body), "ashlar_"));
    visit_free(v);
    char *line = ash__sprintf("DELETE /.ashlar/tokens/%.16s", t.text + 7);
    hosted_expect_as(h, "bob:p", line, NULL, 404);
    hosted_expect_as(h, "ann:p", line, NULL, 204);
    ash__free(line);
    expect(h, &t, "GET /team/a", NULL, NULL, 401);
}

static void expect_said(hosted *h, const shown *t, const char *line, const char *fields,
                        const char *body, const char *text)
{
    char *all = ash__sprintf("%s%s", t->field, fields);
    visit *v = hosted_ask(h, line, all, body);
    visit_expect(v, 403);
    if (strstr(ash__buffer_text(&v->body), text) == NULL)
        fail_msg("%s: %s", line, ash__buffer_text(&v->body));
    visit_free(v);
    ash__free(all);
}

static void test_why_it_may_not(void **state)
{
    hosted *h = *state;
    shown reads, placed, all;
    make(h, true, NULL, &reads);
    make(h, false, "/team", &placed);
    make(h, false, NULL, &all);
    expect_said(h, &reads, "PUT /new", "", "x", "this token is for reading alone");
    expect_said(h, &reads, "POST /.ashlar/tree/mkdir", JSON, "{\"path\": \"/n\"}",
                "this token is for reading alone");
    expect_said(h, &reads, "GET /metrics", "", NULL, "your roles");
    expect_said(h, &placed, "PUT /new", "", "x", "this token is for another place");
    hosted_change_user(h, "ann", NULL, "[]");
    expect_said(h, &all, "PUT /new", "", "x", "your roles");
}

static void test_no_token_makes_another(void **state)
{
    hosted *h = *state;
    shown t;
    make(h, false, NULL, &t);
    expect(h, &t, "GET /.ashlar/tokens", NULL, NULL, 403);
    expect(h, &t, "POST /.ashlar/tokens", JSON, "{}", 403);
}

static void test_what_makes_no_token(void **state)
{
    hosted *h = *state;
    static const char *const bodies[] = {"{\"readOnly\": 1}",
                                         "{\"readonly\": true}",
                                         "{\"path\": 1}",
                                         "{\"path\": \"team\"}",
                                         "{\"path\": \"/a\", \"path\": \"/\"}",
                                         "{\"expires\": \"2020-01-01T00:00:00Z\"}",
                                         "{\"expires\": \"1970-01-01T00:00:00Z\"}",
                                         "{\"expires\": 1}",
                                         "{\"path\": \"/\\u0000work\"}",
                                         "[]",
                                         "{"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(bodies); i++) {
        visit *v = hosted_ask_as(h, "ann:p", "POST /.ashlar/tokens", JSON, bodies[i]);
        if (v->status != 400)
            fail_msg("%s: %d: %s", bodies[i], v->status, ash__buffer_text(&v->body));
        visit_free(v);
    }
    hosted_expect_as(h, "ann:p", "POST /.ashlar/tokens", "{}", 415);
    hosted_expect_as(h, NULL, "POST /.ashlar/tokens", "{}", 401);
}

#define TOKENS(name) cmocka_unit_test_setup_teardown(name, tokens_setup, hosted_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TOKENS(test_is_as_good_as_its_user),
        TOKENS(test_as_the_password_of_basic),
        TOKENS(test_a_token_that_was_taken_back),
        TOKENS(test_a_token_of_a_user_who_is_gone),
        TOKENS(test_not_over_an_open_network),
        TOKENS(test_wrong_tokens_wait_and_say_nothing),
        TOKENS(test_one_that_reads),
        TOKENS(test_one_for_a_place),
        TOKENS(test_events_of_one_for_a_place),
        TOKENS(test_versions_of_elsewhere),
        TOKENS(test_making_and_taking_back),
        TOKENS(test_why_it_may_not),
        TOKENS(test_no_token_makes_another),
        TOKENS(test_what_makes_no_token),
    };
    return cmocka_run_group_tests_name("http/site/tokens", tests, NULL, NULL);
}
