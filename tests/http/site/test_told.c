/* SPDX-License-Identifier: Apache-2.0 */
#include "hosted.h"

#include "audit/audit.h"
#include "user/tokens.h"
#include "user/usage.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What the audit log has of requests, and what it must never have. */

#define WRITES "[{\"role\": \"readWrite\", \"db\": \"$\"}]"
#define READS  "[{\"role\": \"read\", \"db\": \"$\"}]"
#define JSON   "Content-Type: application/json\n"

enum { ALL = ASH_AUDIT_USUAL | ASH_AUDIT_WRITES | ASH_AUDIT_READS };

static char log_path[64];
static ash_audit *audit;

static void open_log(unsigned kinds, const char *path)
{
    ash_error err = ASH_ERROR_INIT;
    ash_audit_options o = {.path = path, .kinds = kinds};
    assert_ok(ash__audit_open(&o, &audit, &err), &err);
    hosted_audit = audit;
}

static int setup_of(void **state, unsigned kinds)
{
    snprintf(log_path, sizeof log_path, "/tmp/ashlar-told.%d", (int)getpid());
    unlink(log_path);
    open_log(kinds, log_path);
    if (hosted_setup(state) != 0)
        return -1;
    hosted *h = *state;
    support_folder(h->f, "team");
    support_put_text(h->f, "team/a", "a");
    return 0;
}

static int setup(void **state)
{
    return setup_of(state, ALL);
}

static int setup_usual(void **state)
{
    return setup_of(state, 0);
}

static int teardown(void **state)
{
    int rc = hosted_teardown(state);
    ash__audit_close(audit);
    audit = hosted_audit = NULL;
    unlink(log_path);
    return rc;
}

/* All lines: the log is closed, and none is written afterwards.  The caller frees. */
static char *lines(void)
{
    ash_buffer all = ASH_BUFFER_INIT;
    char piece[4096];
    size_t n;
    ash__audit_close(audit);
    audit = hosted_audit = NULL;
    FILE *in = fopen(log_path, "r");
    assert_non_null(in);
    while ((n = fread(piece, 1, sizeof piece, in)) > 0)
        ash__buffer_append(&all, piece, n);
    fclose(in);
    char *text = ash__strdup(ash__buffer_text(&all));
    ash__buffer_release(&all);
    return text;
}

/* In one line all of the texts, which `|` separates: so many lines. */
static int count_of(const char *text, const char *wanted)
{
    char *copy = ash__strdup(text), *rest = NULL;
    int count = 0;
    for (char *line = strtok_r(copy, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        char *parts = ash__strdup(wanted), *more = NULL;
        bool all = true;
        for (char *part = strtok_r(parts, "|", &more); part != NULL;
             part = strtok_r(NULL, "|", &more))
            all = all && strstr(line, part) != NULL;
        count += all;
        ash__free(parts);
    }
    ash__free(copy);
    return count;
}

static void expect_count(const char *text, const char *wanted, int count)
{
    if (count_of(text, wanted) != count)
        fail_msg("%d and not %d of %s:\n%s", count_of(text, wanted), count, wanted, text);
}

/* The gate's log is closed by lines() while the gate still has it: so it is the last thing. */
static void test_files_and_folders(void **state)
{
    hosted *h = *state;
    hosted_expect(h, "PUT /team/b?x=chalk", NULL, "chalk", 201);
    hosted_expect(h, "MKCOL /new", NULL, NULL, 201);
    hosted_expect(h, "MOVE /team/b", "Destination: /new/b\n", NULL, 201);
    hosted_expect(h, "GET /new/b", NULL, NULL, 200);
    hosted_expect(h, "GET /none", NULL, NULL, 404);
    hosted_expect(h, "PROPFIND /new", "Depth: 1\n", NULL, 207);
    hosted_expect(h, "OPTIONS /new", NULL, NULL, 200);
    hosted_expect(h, "GET /health", NULL, NULL, 200);
    hosted_expect(h, "GET /.ashlar/health", NULL, NULL, 200);
    hosted_expect(h, "DELETE /new/b", NULL, NULL, 204);
    char *text = lines();
    expect_count(text, "\"atype\" : \"authCheck\"|\"users\" : [  ]|\"port\" : 4711", 7);
    expect_count(
        text, "\"command\" : \"PUT\", \"path\" : \"/team/b\", \"status\" : 201|\"result\" : 0", 1);
    expect_count(text, "\"command\" : \"MKCOL\", \"path\" : \"/new\"", 1);
    expect_count(text, "\"MOVE\", \"path\" : \"/team/b\", \"to\" : \"/new/b\", \"status\" : 201",
                 1);
    expect_count(text, "\"GET\", \"path\" : \"/none\", \"status\" : 404|\"result\" : 8", 1);
    expect_count(text, "PROPFIND", 1);
    expect_count(text, "DELETE", 1);
    expect_count(text, "health", 0);
    expect_count(text, "chalk", 0);
    ash__free(text);
}

static void test_calls(void **state)
{
    hosted *h = *state;
    bson_destroy(hosted_call(h, "list?path=/team", NULL, 200));
    bson_destroy(hosted_call(h, "move", "{\"path\": \"/team/a\", \"to\": \"/team/b\"}", 200));
    bson_destroy(hosted_call(h, "tag", "{\"path\": \"/team/b\", \"tag\": \"good\"}", 200));
    bson_destroy(hosted_call(h, "delete", "{\"path\": \"/none\"}", 404));
    support_put_text(h->f, "team/b", "b");
    bson_destroy(hosted_call(h, "forget", "{\"path\": \"/team/b\", \"version\": 2}", 409));
    char *text = lines();
    expect_count(text, "\"tree/forget\", \"path\" : \"/team/b\", \"version\" : \"2\"", 1);
    expect_count(text, "\"command\" : \"tree/list\", \"path\" : \"/team\", \"status\" : 200", 1);
    expect_count(text, "\"tree/move\", \"path\" : \"/team/a\", \"to\" : \"/team/b\"", 1);
    expect_count(text, "\"tree/tag\", \"path\" : \"/team/b\", \"tag\" : \"good\"", 1);
    expect_count(text, "\"tree/delete\", \"path\" : \"/none\", \"status\" : 404|\"result\" : 8", 1);
    ash__free(text);
}

static void test_links_are_told_by_their_ids(void **state)
{
    hosted *h = *state;
    bson_t *made = hosted_call(h, "share", "{\"path\": \"/team\"}", 200);
    char *id = ash__strdup(hosted_member(made, "id")),
         *url = ash__strdup(hosted_member(made, "url"));
    const char *token = strrchr(url, '/') + 1;
    bson_destroy(made);
    hosted_add_user(h, "ann", "p", WRITES);
    char *line = ash__sprintf("GET %s/a", url);
    hosted_expect(h, line, NULL, NULL, 200);
    ash__free(line);
    line = ash__sprintf("PUT %s/a", url);
    hosted_expect(h, line, NULL, "x", 405);
    ash__free(line);
    /* A link that is none is a stranger's, and could be one that was misspelled. */
    line = ash__sprintf("GET /.ashlar/share/x%s", token);
    hosted_expect(h, line, NULL, NULL, 404);
    ash__free(line);
    line = ash__sprintf("GET /.ashlar/shares/%s", token);
    hosted_expect_as(h, "ann:p", line, NULL, 404);
    ash__free(line);
    char *text = lines(), *wanted = ash__sprintf("\"tree/share\"|\"id\" : \"%s\"", id);
    expect_count(text, wanted, 1);
    ash__free(wanted);
    wanted = ash__sprintf("\"path\" : \"/team/a\", \"link\" : \"%s\"|\"users\" : [  ]", id);
    expect_count(text, wanted, 2);
    expect_count(text, "\"GET\"", 1);
    assert_null(strstr(text, token));
    ash__free(wanted);
    ash__free(text);
    ash__free(id);
    ash__free(url);
}

static void test_uploads_have_their_files_paths(void **state)
{
    hosted *h = *state;
    /* "/team/up" in base64. */
    visit *v = hosted_ask(h, "POST /.ashlar/uploads",
                          "Tus-Resumable: 1.0.0\nUpload-Length: 1\n"
                          "Upload-Metadata: path L3RlYW0vdXA=\n",
                          NULL);
    visit_expect(v, 201);
    char *line = ash__sprintf("PATCH %s", visit_field(v, "Location"));
    visit_free(v);
    hosted_expect(h, line,
                  "Tus-Resumable: 1.0.0\nUpload-Offset: 0\n"
                  "Content-Type: application/offset+octet-stream\n",
                  "x", 204);
    char *text = lines();
    expect_count(text, "\"command\" : \"POST\", \"path\" : \"/team/up\", \"status\" : 201", 1);
    expect_count(text, "\"command\" : \"PATCH\", \"path\" : \"/team/up\", \"status\" : 204", 1);
    assert_null(strstr(text, strrchr(line, '/') + 1));
    ash__free(line);
    ash__free(text);
}

static void test_users_and_what_they_are_refused(void **state)
{
    hosted *h = *state;
    hosted_add_user(h, "ann", "chalk", WRITES);
    hosted_add_user(h, "bob", "chalk", READS);
    for (int i = 0; i < 20; i++)
        hosted_expect(h, "GET /team/a", NULL, NULL, 401);
    hosted_expect_as(h, "ann:chalk", "PUT /team/b", "b", 201);
    hosted_expect_as(h, "bob:chalk", "PUT /team/b", "b", 403);
    hosted_expect_as(h, "bob:chalk", "GET /metrics", NULL, 403);
    visit *v = hosted_ask_as(h, "ann:chalk", "POST /.ashlar/tokens", JSON, "{\"path\": \"/team\"}");
    visit_expect(v, 201);
    char *token = ash__strdup(strstr(ash__buffer_text(&v->body), ASH_TOKEN_PREFIX));
    *strchr(token, '"') = '\0';
    visit_free(v);
    char *field = ash__sprintf("Authorization: Bearer %s\n", token);
    hosted_expect(h, "GET /team/b", field, NULL, 200);
    hosted_expect(h, "GET /", field, NULL, 403);
    char *text = lines(), *wanted;
    expect_count(text, "\"atype\" : \"authCheck\"", 6);
    expect_count(text,
                 "\"users\" : [ { \"user\" : \"ann\", \"db\" : \"admin\" } ]|\"role\" : "
                 "\"readWrite\"|\"PUT\"|\"result\" : 0",
                 1);
    expect_count(text, "\"user\" : \"bob\"|\"PUT\"|\"status\" : 403|\"result\" : 13", 1);
    expect_count(text, "\"user\" : \"bob\"|\"path\" : \"/metrics\"|\"result\" : 13", 1);
    wanted =
        ash__sprintf("\"POST\", \"path\" : \"/.ashlar/tokens\", \"id\" : \"%.16s\", \"within\" : "
                     "\"/team\"",
                     token + strlen(ASH_TOKEN_PREFIX));
    expect_count(text, wanted, 1);
    ash__free(wanted);
    wanted = ash__sprintf("\"token\" : \"%.16s\"", token + strlen(ASH_TOKEN_PREFIX));
    expect_count(text, wanted, 2);
    assert_null(strstr(text, "chalk"));
    assert_null(strstr(text, token));
    ash__free(wanted);
    ash__free(field);
    ash__free(token);
    ash__free(text);
}

/* Refused before it comes to what it asks for: by limits, and as another site's page wants it. */
static void test_who_is_refused_at_the_door(void **state)
{
    static const char form[] = "Content-Type: application/x-www-form-urlencoded\n"
                               "Sec-Fetch-Site: same-origin\n";
    hosted *h = *state;
    hosted_add_user(h, "ann", "chalk", WRITES);
    visit *v = hosted_ask(h, "POST /.ashlar/login", form, "name=ann&password=chalk");
    const char *set = visit_field(v, "Set-Cookie");
    assert_non_null(set);
    char *cookie = ash__sprintf("Cookie: %.*s\n", (int)strcspn(set, ";"), set);
    char *foreign = ash__sprintf("%sOrigin: http://localhost:9090\n", cookie);
    visit_free(v);
    hosted_expect(h, "PUT /team/b", foreign, "b", 403);
    hosted_expect(h, "DELETE /team/a", cookie, NULL, 403);
    /* Of nobody's it is not told. */
    for (int i = 0; i < 20; i++)
        hosted_expect(h, "PUT /team/b", "Origin: http://localhost:9090\n", "b", 403);
    ash_user_id id = {&ash__user_kind, "ann", "admin"};
    ash_limits limits = {.bytes = 1000};
    assert_ok(ash__user_set_limits(&h->users, &id, &limits, &h->f->err), &h->f->err);
    ash__users_changed();
    v = hosted_ask_as(h, "ann:chalk", "GET /team/a", NULL, NULL);
    v->x.received_bytes = 30000;
    visit_free(v);
    hosted_expect_as(h, "ann:chalk", "GET /team/a", NULL, 429);
    char *text = lines();
    expect_count(text,
                 "\"user\" : \"ann\"|\"PUT\", \"path\" : \"/team/b\", \"origin\" : "
                 "\"http://localhost:9090\", \"status\" : 403|\"result\" : 13",
                 1);
    expect_count(text, "\"PUT\"", 1);
    expect_count(text, "\"user\" : \"ann\"|\"DELETE\"|\"status\" : 403|\"result\" : 13", 1);
    expect_count(text, "\"user\" : \"ann\"|\"GET\"|\"status\" : 429|\"result\" : 462", 1);
    assert_null(strstr(text, "chalk"));
    assert_null(strstr(text, strchr(cookie, '=') + 1));
    ash__free(cookie);
    ash__free(foreign);
    ash__free(text);
}

static void test_only_what_was_chosen(void **state)
{
    hosted *h = *state;
    hosted_expect(h, "PUT /team/b", NULL, "b", 201);
    hosted_expect(h, "GET /team/b", NULL, NULL, 200);
    bson_destroy(hosted_call(h, "share", "{\"path\": \"/team\"}", 200));
    bson_destroy(hosted_call(h, "shares?path=/team", NULL, 200));
    char *text = lines();
    expect_count(text, "authCheck", 1);
    expect_count(text, "\"tree/share\"", 1);
    ash__free(text);
}

static void test_lines_are_bounded(void **state)
{
    hosted *h = *state;
    ash_buffer line = ASH_BUFFER_INIT;
    ash__buffer_append_text(&line, "GET /");
    for (int i = 0; i < 700; i++)
        ash__buffer_append_text(&line, "%C3%A9%22");
    visit_free(hosted_ask(h, ash__buffer_text(&line), NULL, NULL));
    ash__buffer_release(&line);
    char *text = lines();
    assert_true(strlen(text) < 3000);
    expect_count(text, "\\\"", 1);
    expect_count(text, "\"status\" : ", 1);
    ash__free(text);
}

static void test_what_was_cut_off_is_told(void **state)
{
    hosted *h = *state;
    visit *v = visit_start(ash__site_service(), h->site, "PUT /team/b", NULL, 100);
    visit_send(v, "x", 1);
    visit_free(v);
    char *text = lines();
    expect_count(text, "\"PUT\", \"path\" : \"/team/b\", \"status\" : 499|\"result\" : 8", 1);
    ash__free(text);
}

#define TOLD(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TOLD(test_files_and_folders),
        TOLD(test_calls),
        TOLD(test_links_are_told_by_their_ids),
        TOLD(test_uploads_have_their_files_paths),
        TOLD(test_users_and_what_they_are_refused),
        TOLD(test_who_is_refused_at_the_door),
        cmocka_unit_test_setup_teardown(test_only_what_was_chosen, setup_usual, teardown),
        TOLD(test_lines_are_bounded),
        TOLD(test_what_was_cut_off_is_told),
    };
    return cmocka_run_group_tests_name("http/site/told", tests, NULL, NULL);
}
