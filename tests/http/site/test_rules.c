/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* memmem */
#include "hosted.h"

#include "base/clock.h"

#include <string.h>

/* Who may see and change what of a tree, by its access lists, on every road through the door. */

#define WRITES "[{\"role\": \"readWrite\", \"db\": \"$\"}]"
#define JSON   "Content-Type: application/json\n"
#define LOCKINFO                                                                                   \
    "<lockinfo xmlns=\"DAV:\"><lockscope><exclusive/></lockscope><locktype><write/></locktype>"    \
    "</lockinfo>"

static const char ann[] = "ann:p", bob[] = "bob:p";

static void set_acl(hosted *h, const char *path, const char *json)
{
    bson_t *acl = bson_new_from_json((const uint8_t *)json, -1, NULL);
    assert_non_null(acl);
    assert_ok(ash_tree_set_acl(h->f->tree, path, acl, NULL, NULL, &h->f->err), &h->f->err);
    bson_destroy(acl);
}

/* open/a is everybody's, closed/ and secret.txt are ann's, and ro/ is read by all and written by
 * ann. */
static int rules_setup(void **state)
{
    if (hosted_setup(state) != 0)
        return -1;
    hosted *h = *state;
    support_folder(h->f, "open");
    support_folder(h->f, "closed");
    support_folder(h->f, "ro");
    support_put_text(h->f, "open/a", "open");
    support_put_text(h->f, "closed/a", "closed");
    support_put_text(h->f, "closed/a", "closed, too");
    support_put_text(h->f, "closed/gone", "gone");
    support_put_text(h->f, "secret.txt", "secret");
    support_put_text(h->f, "ro/a", "ro");
    set_acl(h, "closed", "{\"read\": [\"user:ann\"], \"write\": [\"user:ann\"]}");
    set_acl(h, "secret.txt", "{\"read\": [\"user:ann\"], \"write\": [\"user:ann\"]}");
    set_acl(h, "ro", "{\"read\": [\"readWrite\"], \"write\": [\"user:ann\"]}");
    support_remove(h->f, "closed/gone");
    hosted_add_user(h, "ann", "p", WRITES);
    hosted_add_user(h, "bob", "p", WRITES);
    return 0;
}

static visit *as(hosted *h, const char *who, const char *line, const char *fields, const char *body)
{
    return hosted_ask_as(h, who, line, fields, body);
}

static void expect(hosted *h, const char *who, const char *line, const char *fields,
                   const char *body, int status)
{
    visit *v = as(h, who, line, fields, body);
    if (v->status != status)
        fail_msg("%s as %s: %d and not %d: %s", line, who, v->status, status,
                 ash__buffer_text(&v->body));
    visit_free(v);
}

/* ---- looking ---- */

static void test_what_is_hidden_is_in_no_listing(void **state)
{
    hosted *h = *state;
    static const struct {
        const char *line, *fields;
    } listings[] = {{"PROPFIND /", "Depth: 1\n"},
                    {"GET /", NULL},
                    {"GET /", "Accept: text/html\n"},
                    {"GET /.ashlar/tree/list?path=/", NULL},
                    {"GET /.ashlar/tree/list?path=/&recursive=true", NULL},
                    {"GET /.ashlar/tree/search?path=/&q=c", NULL},
                    {"GET /.ashlar/at/2036-01-01T00:00:00Z/", NULL},
                    {"GET /.ashlar/versions/", NULL},
                    {"GET /.ashlar/trash/", NULL},
                    {"GET /.ashlar/tree/trash?path=/", NULL},
                    {"GET /.ashlar/tree/locks?path=/", NULL},
                    {"GET /.ashlar/tree/shares?path=/", NULL},
                    {"GET /.ashlar/archive/?format=tar", NULL}};
    expect(h, ann, "LOCK /closed/a", NULL,
           "<lockinfo xmlns=\"DAV:\"><lockscope><exclusive/></lockscope><locktype><write/></"
           "locktype></lockinfo>",
           200);
    expect(h, ann, "POST /.ashlar/tree/share", JSON, "{\"path\": \"/closed\"}", 200);
    int seen = 0;
    for (size_t i = 0; i < ASH_ARRAY_LEN(listings); i++) {
        visit *v = as(h, bob, listings[i].line, listings[i].fields, NULL);
        assert_true(v->status == 200 || v->status == 207);
        assert_null(memmem(ash__buffer_text(&v->body), v->body.len, "closed", 6));
        assert_null(memmem(ash__buffer_text(&v->body), v->body.len, "secret", 6));
        visit_free(v);
        v = as(h, ann, listings[i].line, listings[i].fields, NULL);
        seen += memmem(ash__buffer_text(&v->body), v->body.len, "closed", 6) != NULL ||
                memmem(ash__buffer_text(&v->body), v->body.len, "gone", 4) != NULL;
        visit_free(v);
    }
    /* Whoever may sees it in each of them. */
    assert_int_equal(seen, ASH_ARRAY_LEN(listings));
}

/* text with each "%" replaced; NULL stays. */
static char *put_in(const char *text, const char *name)
{
    ash_buffer out = ASH_BUFFER_INIT;
    if (text == NULL)
        return NULL;
    for (; *text != '\0'; text++)
        if (*text == '%')
            ash__buffer_append_text(&out, name);
        else
            ash__buffer_append_byte(&out, (uint8_t)*text);
    char *all = ash__strdup(ash__buffer_text(&out));
    ash__buffer_release(&out);
    return all;
}

static visit *ask_of(hosted *h, const char *const request[3], const char *name)
{
    char *line = put_in(request[0], name), *fields = put_in(request[1], name);
    char *body = put_in(request[2], name);
    visit *v = as(h, bob, line, fields, body);
    ash__free(line);
    ash__free(fields);
    ash__free(body);
    return v;
}

/* For each "%" in the request (line, fields, body) a hidden name, and a missing one: the answers are
 * alike. */
static void expect_same(hosted *h, const char *const request[3], const char *hidden,
                        const char *missing)
{
    visit *a = ask_of(h, request, hidden), *b = ask_of(h, request, missing);
    if (a->status != b->status || a->body.len != b->body.len)
        fail_msg("%s: %s: %d %s, but %s: %d %s", request[0], hidden, a->status,
                 ash__buffer_text(&a->body), missing, b->status, ash__buffer_text(&b->body));
    visit_free(a);
    visit_free(b);
}

static void test_what_is_hidden_is_not_there(void **state)
{
    hosted *h = *state;
    static const char *const requests[][3] = {
        {"GET %"},
        {"HEAD %"},
        {"PROPFIND %"},
        {"DELETE %"},
        {"PROPPATCH %"},
        {"GET /.ashlar/tree/stat?path=%"},
        {"GET /.ashlar/tree/list?path=%"},
        {"GET /.ashlar/tree/content?path=%"},
        {"GET /.ashlar/tree/history?path=%"},
        {"GET /.ashlar/tree/usage?path=%"},
        {"GET /.ashlar/archive%?format=zip"},
        {"GET /.ashlar/versions%/"},
        {"GET /.ashlar/at/2036-01-01T00:00:00Z%"},
        {"POST /.ashlar/tree/delete", JSON, "{\"path\": \"%\"}"},
        {"POST /.ashlar/tree/tag", JSON, "{\"path\": \"%\", \"tag\": \"x\"}"},
        {"POST /.ashlar/tree/restore", JSON, "{\"path\": \"%\", \"version\": 1}"},
        {"POST /.ashlar/tree/forget", JSON, "{\"path\": \"%\", \"version\": 1}"},
        {"POST /.ashlar/tree/forget", JSON, "{\"path\": \"%\", \"version\": 7}"},
        {"POST /.ashlar/tree/share", JSON, "{\"path\": \"%\"}"},
        {"POST /.ashlar/tree/move", JSON, "{\"path\": \"%\", \"to\": \"/open/x\"}"},
        {"COPY %", "Destination: /open/x\n"},
        {"PUT %/new", NULL, "x"},
        {"MKCOL %/new"},
        {"POST /.ashlar/tree/move", JSON, "{\"path\": \"/open/a\", \"to\": \"%/x\"}"},
        {"COPY /open/a", "Destination: %/x\n"},
        {"MOVE /open/a", "Destination: %/x\n"},
        {"LOCK %/new", NULL, LOCKINFO},
        {"PUT %/new/er", NULL, "x"},
        {"DELETE %/new"},
        {"MOVE %", "Destination: /open/x\n"},
    };
    /* The names are of one length. */
    static const char *const pairs[][2] = {{"/closed", "/clowns"},
                                           {"/closed/a", "/clowns/a"},
                                           {"/closed/b", "/clowns/b"},
                                           {"/closed/a/b", "/clowns/a/b"},
                                           {"/secret.txt", "/sacred.txt"}};
    /* Nor does what ann has locked there say a word. */
    expect(h, ann, "LOCK /closed", NULL, LOCKINFO, 200);
    expect(h, ann, "LOCK /secret.txt", NULL, LOCKINFO, 200);
    for (size_t i = 0; i < ASH_ARRAY_LEN(requests); i++)
        for (size_t p = 0; p < ASH_ARRAY_LEN(pairs); p++)
            expect_same(h, requests[i], pairs[p][0], pairs[p][1]);
    support_expect_text(h->f, "closed/a", "closed, too");
    support_expect_text(h->f, "open/a", "open");
}

static void test_what_was_kept_for_one_is_not_shown_to_another(void **state)
{
    hosted *h = *state;
    for (int i = 0; i < 3; i++) {
        expect(h, ann, "GET /closed/a", NULL, NULL, 200);
        expect(h, ann, "GET /secret.txt", NULL, NULL, 200);
        expect(h, bob, "GET /closed/a", NULL, NULL, 404);
        expect(h, bob, "GET /secret.txt", NULL, NULL, 404);
    }
}

static void test_conditions_tell_nothing(void **state)
{
    hosted *h = *state;
    char etag[64], field[160];
    visit *v = as(h, ann, "GET /secret.txt", NULL, NULL);
    snprintf(etag, sizeof etag, "%s", visit_field(v, "ETag"));
    visit_free(v);
    snprintf(field, sizeof field, "If: </secret.txt> ([%s])\n", etag);
    expect(h, bob, "PUT /open/a", field, "x", 412);
    expect(h, ann, "PUT /open/a", field, "x", 204);
}

/* ---- changing ---- */

static void test_readers_do_not_write(void **state)
{
    hosted *h = *state;
    static const struct {
        const char *line, *fields, *body;
    } rows[] = {
        {"PUT /ro/a", NULL, "x"},
        {"PUT /ro/new", NULL, "x"},
        {"DELETE /ro/a", NULL, NULL},
        {"MKCOL /ro/new", NULL, NULL},
        {"MOVE /ro/a", "Destination: /open/b\n", NULL},
        {"MOVE /open/a", "Destination: /ro/b\n", NULL},
        {"COPY /open/a", "Destination: /ro/b\n", NULL},
        {"LOCK /ro/a", NULL,
         "<lockinfo xmlns=\"DAV:\"><lockscope><exclusive/></lockscope><locktype><write/></"
         "locktype></lockinfo>"},
        {"POST /.ashlar/tree/delete", JSON, "{\"path\": \"/ro/a\"}"},
        {"POST /.ashlar/tree/mkdir", JSON, "{\"path\": \"/ro/new\"}"},
        {"POST /.ashlar/tree/move", JSON, "{\"path\": \"/ro/a\", \"to\": \"/open/b\"}"},
        {"POST /.ashlar/tree/move", JSON, "{\"path\": \"/open/a\", \"to\": \"/ro/b\"}"},
        {"POST /.ashlar/tree/copy", JSON, "{\"path\": \"/open/a\", \"to\": \"/ro/b\"}"},
        {"POST /.ashlar/tree/tag", JSON, "{\"path\": \"/ro/a\", \"tag\": \"x\"}"},
        {"POST /.ashlar/tree/unlock", JSON, "{\"path\": \"/ro/a\"}"},
        {"POST /.ashlar/tree/restore", JSON, "{\"path\": \"/ro/a\", \"version\": 1}"},
        {"POST /.ashlar/tree/forget", JSON, "{\"path\": \"/ro/a\", \"version\": 1}"},
        {"POST /.ashlar/tree/share", JSON, "{\"path\": \"/ro\", \"right\": \"upload\"}"},
    };
    for (size_t i = 0; i < ASH_ARRAY_LEN(rows); i++) {
        visit *v = as(h, bob, rows[i].line, rows[i].fields, rows[i].body);
        if (v->status != 403)
            fail_msg("%s %s: %d: %s", rows[i].line, rows[i].body, v->status,
                     ash__buffer_text(&v->body));
        /* By whose list is nobody's to know who is refused. */
        assert_null(strstr(ash__buffer_text(&v->body), "list"));
        visit_free(v);
    }
    expect(h, bob, "GET /ro/a", NULL, NULL, 200);
    expect(h, ann, "PUT /ro/a", NULL, "ann's", 204);
    support_expect_text(h->f, "ro/a", "ann's");
}

static void test_a_folder_goes_as_a_whole_or_not(void **state)
{
    hosted *h = *state;
    support_folder(h->f, "mixed");
    support_put_text(h->f, "mixed/seen", "1");
    support_put_text(h->f, "mixed/hidden", "2");
    set_acl(h, "mixed/hidden", "{\"read\": [\"user:ann\"]}");
    expect(h, bob, "DELETE /mixed", NULL, NULL, 403);
    expect(h, bob, "COPY /mixed", "Destination: /open/mixed\n", NULL, 403);
    expect(h, bob, "MOVE /mixed", "Destination: /open/mixed\n", NULL, 403);
    expect(h, bob, "POST /.ashlar/tree/move", JSON,
           "{\"path\": \"/mixed\", \"to\": \"/open/mixed\"}", 403);
    expect(h, bob, "POST /.ashlar/tree/delete", JSON, "{\"path\": \"/mixed\", \"recursive\": true}",
           403);
    /* Nor does it give way to another. */
    expect(h, bob, "MOVE /open/a", "Destination: /mixed\n", NULL, 403);
    expect(h, bob, "COPY /open", "Destination: /mixed\n", NULL, 403);
    expect(h, bob, "POST /.ashlar/tree/share", JSON, "{\"path\": \"/mixed\"}", 403);
    support_expect_text(h->f, "mixed/seen", "1");
    support_expect_missing(h->f, "open/mixed");
    /* What can be read and not written is not taken along, either; who may all may. */
    set_acl(h, "mixed/hidden", "{\"read\": [\"readWrite\"], \"write\": [\"user:ann\"]}");
    expect(h, bob, "MOVE /mixed", "Destination: /open/mixed\n", NULL, 403);
    expect(h, ann, "MOVE /mixed", "Destination: /open/mixed\n", NULL, 201);
    support_expect_text(h->f, "open/mixed/hidden", "2");
}

static void test_who_changed_it_is_told(void **state)
{
    hosted *h = *state;
    expect(h, bob, "PUT /open/new", NULL, "x", 201);
    visit *v = as(h, ann, "GET /.ashlar/tree/stat?path=/open/new", NULL, NULL);
    assert_non_null(strstr(ash__buffer_text(&v->body), "\"changedBy\":\"bob\""));
    visit_free(v);
}

/* Until the stream has the text in it, at most some seconds. */
static void read_until(visit *v, const char *text)
{
    for (int ms = 0; memmem(ash__buffer_text(&v->body), v->body.len, text, strlen(text)) == NULL;
         ms += 20) {
        if (ms > 20000)
            fail_msg("no %s in %s", text, ash__buffer_text(&v->body));
        ash__clock_sleep_ms(20);
        visit_read(v);
    }
}

static void test_events_are_of_what_may_be_seen(void **state)
{
    hosted *h = *state;
    visit *bobs = as(h, bob, "GET /.ashlar/events/", NULL, NULL);
    visit *anns = as(h, ann, "GET /.ashlar/events/", NULL, NULL);
    read_until(bobs, "event: open");
    read_until(anns, "event: open");
    /* Both listen once they are told of something. */
    char line[40];
    for (int i = 0; memmem(bobs->body.data, bobs->body.len, "open/b", 6) == NULL; i++) {
        assert_true(i < 200);
        snprintf(line, sizeof line, "PUT /open/b%d", i);
        expect(h, bob, line, NULL, "x", 201);
        ash__clock_sleep_ms(50);
        visit_read(bobs);
    }
    expect(h, ann, "PUT /closed/new", NULL, "x", 201);
    read_until(anns, "/closed/new");
    expect(h, ann, "MOVE /closed/new", "Destination: /closed/newer\n", NULL, 201);
    read_until(anns, "\"from\":\"/closed/new\"");
    expect(h, ann, "DELETE /closed/newer", NULL, NULL, 204);
    read_until(anns, "event: reload");
    /* Of a name that he may not see in a folder that he may, bob is told that something happened. */
    assert_null(memmem(bobs->body.data, bobs->body.len, "reload", 6));
    expect(h, ann, "PUT /secret.txt", NULL, "x", 204);
    read_until(anns, "/secret.txt");
    read_until(bobs, "event: reload");
    expect(h, ann, "PUT /open/last", NULL, "x", 201);
    read_until(bobs, "/open/last");
    assert_null(memmem(bobs->body.data, bobs->body.len, "closed", 6));
    assert_null(memmem(bobs->body.data, bobs->body.len, "secret", 6));
    visit_free(bobs);
    visit_free(anns);
}

/* ---- other roads ---- */

static void test_links_ask_nobody(void **state)
{
    hosted *h = *state;
    visit *v = as(h, ann, "POST /.ashlar/tree/share", JSON, "{\"path\": \"/closed\"}");
    visit_expect(v, 200);
    assert_non_null(strstr(ash__buffer_text(&v->body), "\"by\":\"ann\""));
    char *url = strstr(ash__buffer_text(&v->body), "/.ashlar/share/");
    char *line = ash__sprintf("GET %.*s/a", (int)strcspn(url, "\""), url);
    expect(h, NULL, line, NULL, NULL, 200);
    expect(h, bob, line, NULL, NULL, 200);
    ash__free(line);
    visit_free(v);
}

/* A link that is in no list of his is none that bob takes back. */
static void test_links_are_taken_back_by_who_sees_them(void **state)
{
    hosted *h = *state;
    visit *v = as(h, ann, "POST /.ashlar/tree/share", JSON, "{\"path\": \"/closed\"}");
    visit_expect(v, 200);
    char *id = strstr(ash__buffer_text(&v->body), "\"id\":\"") + 6;
    char *body = ash__sprintf("{\"id\": \"%.24s\"}", id);
    expect(h, bob, "POST /.ashlar/tree/unshare", JSON, body, 404);
    expect(h, ann, "POST /.ashlar/tree/unshare", JSON, body, 200);
    expect(h, ann, "POST /.ashlar/tree/unshare", JSON, body, 404);
    ash__free(body);
    visit_free(v);
    v = as(h, ann, "POST /.ashlar/tree/share", JSON, "{\"path\": \"/open\"}");
    id = strstr(ash__buffer_text(&v->body), "\"id\":\"") + 6;
    body = ash__sprintf("{\"id\": \"%.24s\"}", id);
    expect(h, bob, "POST /.ashlar/tree/unshare", JSON, body, 200);
    expect(h, bob, "POST /.ashlar/tree/unshare", JSON, "{\"id\": \"x\"}", 404);
    ash__free(body);
    visit_free(v);
}

/* ---- who is meant ---- */

static void add_role(hosted *h, const char *name, const char *db)
{
    const ash_doc none = ash__doc_empty;
    bson_t empty = BSON_INITIALIZER;
    const ash_doc list = ash__doc_from_bson(&empty);
    ash_user_change c = {.roles = &list, .privileges = &list};
    ash_user_id id = {&ash__role_kind, name, db};
    (void)none;
    assert_ok(ash__user_create(&h->users, &id, &c, &h->f->err), &h->f->err);
}

static void test_roles_of_other_databases_are_not_meant(void **state)
{
    hosted *h = *state;
    add_role(h, "editors", "elsewhere");
    add_role(h, "editors", ash_store_default_db(h->f->store));
    add_role(h, "user:ann", ash_store_default_db(h->f->store));
    set_acl(h, "secret.txt", "{\"read\": [\"editors\"]}");
    hosted_add_user(h, "eve", "p",
                    "[{\"role\": \"readWrite\", \"db\": \"$\"}, {\"role\": \"editors\", \"db\": "
                    "\"elsewhere\"}, {\"role\": \"user:ann\", \"db\": \"$\"}]");
    hosted_add_user(h, "editors", "p", WRITES);
    hosted_add_user(h, "ann@elsewhere", "p", WRITES);
    hosted_add_user(h, "mia", "p",
                    "[{\"role\": \"readWrite\", \"db\": \"$\"}, {\"role\": \"editors\", \"db\": "
                    "\"$\"}]");
    expect(h, "eve:p", "GET /secret.txt", NULL, NULL, 404);
    expect(h, "eve:p", "GET /closed/a", NULL, NULL, 404);
    expect(h, "editors:p", "GET /secret.txt", NULL, NULL, 404);
    expect(h, "elsewhere.ann:p", "GET /closed/a", NULL, NULL, 404);
    expect(h, "mia:p", "GET /secret.txt", NULL, NULL, 200);
}

#define RULES(name) cmocka_unit_test_setup_teardown(name, rules_setup, hosted_teardown)

/* A version is held to the list of where it lay, also by who brings it back. */
static void test_no_version_comes_back_for_who_may_not_read_it(void **state)
{
    hosted *h = *state;
    support_put_text(h->f, "closed/b", "redacted");
    support_move(h->f, "closed/a", "open/moved");
    expect(h, bob, "GET /open/moved", NULL, NULL, 200);
    expect(h, bob, "GET /.ashlar/tree/content?path=/open/moved&version=1", NULL, NULL, 403);
    expect(h, bob, "POST /.ashlar/tree/restore", JSON,
           "{\"path\": \"/open/moved\", \"version\": 1}", 403);
    support_expect_text(h->f, "open/moved", "closed, too");
    expect(h, ann, "POST /.ashlar/tree/restore", JSON,
           "{\"path\": \"/open/moved\", \"version\": 1}", 200);
}

/* Of a lock the token can be seen, and no more. */
static void test_locks_are_taken_away_by_who_may_change(void **state)
{
    hosted *h = *state;
    char unlock[120];
    static const char body[] = "<lockinfo xmlns=\"DAV:\"><lockscope><exclusive/></lockscope>"
                               "<locktype><write/></locktype></lockinfo>";
    visit *v = as(h, ann, "LOCK /ro/a", NULL, body);
    visit_expect(v, 200);
    snprintf(unlock, sizeof unlock, "Lock-Token: %s\n", visit_field(v, "Lock-Token"));
    visit_free(v);
    expect(h, bob, "UNLOCK /ro/a", unlock, NULL, 403);
    expect(h, ann, "UNLOCK /ro/a", unlock, NULL, 204);
    v = as(h, ann, "LOCK /closed/a", NULL, body);
    visit_expect(v, 200);
    snprintf(unlock, sizeof unlock, "Lock-Token: %s\n", visit_field(v, "Lock-Token"));
    visit_free(v);
    expect(h, bob, "UNLOCK /closed/a", unlock, NULL, 409);
    /* Nor does it have a name for who may not see what is locked. */
    v = as(h, bob, "LOCK /", NULL, body);
    assert_int_equal(v->status, 403);
    assert_null(strstr(ash__buffer_text(&v->body), "closed"));
    visit_free(v);
    expect(h, ann, "UNLOCK /closed/a", unlock, NULL, 204);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RULES(test_what_is_hidden_is_in_no_listing),
        RULES(test_what_is_hidden_is_not_there),
        RULES(test_what_was_kept_for_one_is_not_shown_to_another),
        RULES(test_conditions_tell_nothing),
        RULES(test_readers_do_not_write),
        RULES(test_a_folder_goes_as_a_whole_or_not),
        RULES(test_who_changed_it_is_told),
        RULES(test_events_are_of_what_may_be_seen),
        RULES(test_links_ask_nobody),
        RULES(test_links_are_taken_back_by_who_sees_them),
        RULES(test_no_version_comes_back_for_who_may_not_read_it),
        RULES(test_locks_are_taken_away_by_who_may_change),
        RULES(test_roles_of_other_databases_are_not_meant),
    };
    return cmocka_run_group_tests_name("http/site/rules", tests, NULL, NULL);
}
