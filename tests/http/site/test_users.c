/* SPDX-License-Identifier: Apache-2.0 */
#include "hosted.h"

#include "base/clock.h"
#include "http/gate/visitor.h"

#include <pthread.h>
#include <string.h>

/* Who asks, and what each part of the space needs of them. */

#define READS  "[{\"role\": \"read\", \"db\": \"$\"}]"
#define WRITES "[{\"role\": \"readWrite\", \"db\": \"$\"}]"

static const char challenge[] = "Basic realm=\"ashlar\", charset=\"UTF-8\"";

/* ---- who it is ---- */

static void test_nobody_is_asked_before_the_first_user(void **state)
{
    hosted *h = *state;
    assert_false(ash__gate_asks(h->gate));
    hosted_expect_as(h, NULL, "PUT /a", "x", 201);
    hosted_expect_as(h, "whoever:x", "GET /a", NULL, 200);
    hosted_expect_as(h, NULL, "GET /metrics", NULL, 200);
    hosted_add_user(h, "ann", "pencil", WRITES);
    assert_true(ash__gate_asks(h->gate));
    hosted_expect_as(h, NULL, "GET /a", NULL, 401);
    hosted_expect_as(h, "ann:pencil", "GET /a", NULL, 200);
    /* The last one closes behind herself what she opened. */
    hosted_remove_user(h, "ann");
    hosted_expect_as(h, NULL, "GET /a", NULL, 200);
}

static void test_a_gate_may_ask_always(void **state)
{
    hosted *h = *state;
    ash_site_options o = ASH_SITE_OPTIONS_INIT;
    const ash_site_mount_options mount = {"", "/"};
    ash_site *site = NULL;
    o.mounts = &mount;
    o.mount_count = 1;
    assert_ok(ash__gate_new(h->f->store, &(ash_gate_options){.always = true}, &o.gate, &h->f->err),
              &h->f->err);
    assert_ok(ash__site_new(h->f->store, &o, &site, &h->f->err), &h->f->err);
    visit *v = visit_ask(ash__site_service(), site, "GET /", NULL, NULL);
    visit_expect(v, 401);
    visit_expect_field(v, "WWW-Authenticate", challenge);
    visit_free(v);
    ash__site_free(site);
    ash__gate_free(o.gate);
}

static void test_names_of_other_databases(void **state)
{
    hosted *h = *state;
    hosted_add_user(h, "ann", "pencil", READS);
    hosted_add_user(h, "bob@files", "brush", READS);
    hosted_add_user(h, "c.d", "chalk", READS);
    hosted_expect_as(h, "ann:pencil", "GET /", NULL, 200);
    hosted_expect_as(h, "admin.ann:pencil", "GET /", NULL, 200);
    hosted_expect_as(h, "files.bob:brush", "GET /", NULL, 200);
    hosted_expect_as(h, "c.d:chalk", "GET /", NULL, 200);
    hosted_expect_as(h, "bob:brush", "GET /", NULL, 401);
    hosted_expect_as(h, "files.ann:pencil", "GET /", NULL, 401);
    /* SASLprep: a soft hyphen is nothing. */
    hosted_expect_as(h,
                     "ann:pen\xc2\xad"
                     "cil",
                     "GET /", NULL, 200);
}

/* authenticationRestrictions hold here, too, and tell nobody that the password was right. */
static void test_from_where_one_may_come(void **state)
{
    hosted *h = *state;
    static const struct {
        const char *origins;
        int status;
    } rows[] = {
        {"{\"0\": {\"clientSource\": [\"192.0.2.0/24\"]}}", 401},
        {"{\"0\": {\"clientSource\": [\"127.0.0.0/8\"]}}", 200},
        {"{\"0\": {\"serverAddress\": [\"192.0.2.1\"]}}", 401},
        {"{}", 200},
    };
    hosted_add_user(h, "ann", "pencil", READS);
    hosted_expect_as(h, "ann:pencil", "GET /", NULL, 200);
    for (size_t i = 0; i < ASH_ARRAY_LEN(rows); i++) {
        ash_user_id id = {&ash__user_kind, "ann", "admin"};
        bson_t *doc = bson_new_from_json((const uint8_t *)rows[i].origins, -1, NULL);
        ash_doc origins = ash__doc_from_bson(doc);
        ash_user_change change = {.origins = &origins};
        assert_ok(ash__user_update(&h->users, &id, &change, &h->f->err), &h->f->err);
        ash__users_changed();
        visit *v = hosted_ask_as(h, "ann:pencil", "GET /", NULL, NULL);
        if (v->status != rows[i].status)
            fail_msg("%s: %d", rows[i].origins, v->status);
        visit_free(v);
        bson_destroy(doc);
    }
}

static void expect_refusal(hosted *h, const char *fields, int status)
{
    hosted_expect(h, "GET /", fields, NULL, status);
}

static void test_what_is_no_authorization(void **state)
{
    hosted *h = *state;
    hosted_add_user(h, "ann", "pencil", READS);
    expect_refusal(h, "Authorization: basic YW5uOnBlbmNpbA==\n", 200);
    expect_refusal(h, "Authorization: Basic   YW5uOnBlbmNpbA==\n", 200);
    expect_refusal(h, "Authorization: Basic YW5u*\n", 400);
    expect_refusal(h, "Authorization: Basic YW5u\n", 400);     /* no colon */
    expect_refusal(h, "Authorization: Basic YW5uOgA=\n", 400); /* a NUL */
    expect_refusal(h, "Authorization: Basic YW5uOv8=\n", 400); /* no UTF-8 */
    expect_refusal(h, "Authorization: Basic\n", 401);
    expect_refusal(h, "Authorization: Digest username=\"ann\"\n", 401);
    expect_refusal(h, "Authorization: Basic YW5uOg==\n", 401); /* no password */
    expect_refusal(
        h, "Authorization: Basic YW5uOnBlbmNpbA==\nAuthorization: Basic YW5uOnBlbmNpbA==\n", 400);
}

static void test_who_is_not_there_is_not_told_apart(void **state)
{
    hosted *h = *state;
    hosted_add_user(h, "ann", "pencil", READS);
    visit *wrong = hosted_ask_as(h, "ann:x", "GET /", NULL, NULL);
    visit *none = hosted_ask_as(h, "bob:x", "GET /", NULL, NULL);
    visit_expect(wrong, 401);
    visit_expect(none, 401);
    assert_string_equal(ash__buffer_text(&wrong->body), ash__buffer_text(&none->body));
    assert_string_equal(ash__buffer_text(&wrong->x.fields), ash__buffer_text(&none->x.fields));
    visit_free(wrong);
    visit_free(none);
}

/* The shortest of some. */
static int64_t ask_for_us(hosted *h, const char *as)
{
    int64_t least = INT64_MAX;
    for (int i = 0; i < 4; i++) {
        int64_t begun = ash__clock_us();
        hosted_expect_as(h, as, "GET /", NULL, 401);
        int64_t took = ash__clock_us() - begun;
        least = took < least ? took : least;
    }
    return least;
}

static void test_who_is_not_there_takes_as_long(void **state)
{
    hosted *h = *state;
    hosted_add_user(h, "ann", "pencil", READS);
    int64_t wrong = ask_for_us(h, "ann:x"), none = ask_for_us(h, "bob:x");
    /* Without the work it would be a hundredth. */
    if (none < wrong / 3)
        fail_msg("%lld us for a wrong password, %lld for nobody", (long long)wrong,
                 (long long)none);
}

static void test_passwords_go_over_no_open_network(void **state)
{
    hosted *h = *state;
    hosted_add_user(h, "ann", "pencil", READS);
    visit_is_far = true;
    visit *v = hosted_ask_as(h, NULL, "GET /", NULL, NULL);
    visit_expect(v, 401);
    visit_expect_field(v, "WWW-Authenticate", "Bearer realm=\"ashlar\"");
    visit_free(v);
    v = hosted_ask_as(h, "ann:pencil", "GET /", NULL, NULL);
    visit_is_far = false;
    visit_expect(v, 403);
    visit_free(v);
}

static void test_scripts_are_asked_without_a_box(void **state)
{
    hosted *h = *state;
    static const char *const scripts[] = {"Sec-Fetch-Dest: empty\n",
                                          "X-Requested-With: XMLHttpRequest\n"};
    hosted_add_user(h, "ann", "pencil", READS);
    for (size_t i = 0; i < ASH_ARRAY_LEN(scripts); i++) {
        visit *v = hosted_ask(h, "GET /.ashlar/tree/list?path=/", scripts[i], NULL);
        visit_expect(v, 401);
        visit_expect_field(v, "WWW-Authenticate", "Bearer realm=\"ashlar\"");
        visit_free(v);
    }
}

/* ---- changes ---- */

static void test_what_was_taken_is_gone(void **state)
{
    hosted *h = *state;
    hosted_add_user(h, "root", "r", "[{\"role\": \"root\", \"db\": \"admin\"}]");
    hosted_add_user(h, "ann", "pencil", WRITES);
    hosted_expect_as(h, "ann:pencil", "PUT /a", "x", 201);
    hosted_change_user(h, "ann", NULL, READS);
    hosted_expect_as(h, "ann:pencil", "PUT /a", "y", 403);
    hosted_expect_as(h, "ann:pencil", "GET /a", NULL, 200);
    hosted_change_user(h, "ann", "crayon", NULL);
    hosted_expect_as(h, "ann:pencil", "GET /a", NULL, 401);
    hosted_expect_as(h, "ann:crayon", "GET /a", NULL, 200);
    hosted_remove_user(h, "ann");
    hosted_expect_as(h, "ann:crayon", "GET /a", NULL, 401);
    /* One of the same name and password is somebody else, with roles of its own. */
    hosted_add_user(h, "ann", "crayon", "[]");
    hosted_expect_as(h, "ann:crayon", "GET /a", NULL, 403);
}

/* ---- what parts need ---- */

enum { NOBODY, NONE, READER, WRITER, MONITOR, ROOT, USERS };
static const char *const who[USERS] = {NULL,       "none:p",    "reader:p",
                                       "writer:p", "monitor:p", "root:p"};

static void add_users(hosted *h)
{
    hosted_add_user(h, "none", "p", "[]");
    hosted_add_user(h, "reader", "p", READS);
    hosted_add_user(h, "writer", "p", WRITES);
    hosted_add_user(h, "monitor", "p", "[{\"role\": \"clusterMonitor\", \"db\": \"admin\"}]");
    hosted_add_user(h, "root", "p", "[{\"role\": \"root\", \"db\": \"admin\"}]");
}

#define READING                                                                                    \
    {                                                                                              \
        401, 403, 0, 0, 403, 0                                                                     \
    }
#define CHANGING                                                                                   \
    {                                                                                              \
        401, 403, 403, 0, 403, 0                                                                   \
    }
#define EVERYBODY                                                                                  \
    {                                                                                              \
        0, 0, 0, 0, 0, 0                                                                           \
    }
#define NAMED                                                                                      \
    {                                                                                              \
        401, 0, 0, 0, 0, 0                                                                         \
    }
#define WATCHING                                                                                   \
    {                                                                                              \
        401, 403, 403, 403, 0, 0                                                                   \
    }

static const struct {
    const char *line, *fields, *body;
    int refused[USERS]; /* 0: whatever else the answer is */
} needs[] = {
    {"GET /", NULL, NULL, READING},
    {"GET /a", NULL, NULL, READING},
    {"HEAD /a", NULL, NULL, READING},
    {"OPTIONS /a", NULL, NULL, READING},
    {"OPTIONS /missing", NULL, NULL, READING},
    {"PROPFIND /", "Depth: 1\n", NULL, READING},
    {"REPORT /a", NULL, "<x/>", READING},
    {"GET /missing", NULL, NULL, READING},
    {"GET /docs/", NULL, NULL, READING},
    {"PUT /docs/new", NULL, "x", CHANGING},
    {"PUT /a", NULL, "x", CHANGING},
    {"PATCH /a", NULL, "x", CHANGING},
    {"DELETE /missing", NULL, NULL, CHANGING},
    {"MKCOL /a", NULL, NULL, CHANGING},
    {"COPY /a", "Destination: /docs/b\n", NULL, CHANGING},
    {"MOVE /missing", "Destination: /docs/b\n", NULL, CHANGING},
    {"PROPPATCH /missing", NULL, "<x/>", CHANGING},
    {"LOCK /missing/x", NULL, "<x/>", CHANGING},
    {"UNLOCK /missing", NULL, NULL, CHANGING},
    {"BREW /", NULL, NULL, CHANGING},
    {"GET /health", NULL, NULL, EVERYBODY},
    {"GET /.ashlar/health", NULL, NULL, EVERYBODY},
    {"GET /.ashlar/assets/page.css", NULL, NULL, EVERYBODY},
    {"GET /.ashlar/share/0123456789abcdef0123456789abcdef01234567", NULL, NULL, EVERYBODY},
    {"GET /.ashlar/login", NULL, NULL, EVERYBODY},
    {"POST /.ashlar/logout", NULL, NULL, EVERYBODY},
    {"GET /.ashlar/tokens", NULL, NULL, NAMED},
    {"GET /.ashlar/metrics", NULL, NULL, WATCHING},
    {"GET /.ashlar/openapi.json", NULL, NULL, NAMED},
    {"GET /.ashlar/nothing", NULL, NULL, NAMED},
    {"GET /.ashlar", NULL, NULL, NAMED},
    {"OPTIONS *", NULL, NULL, NAMED},
    {"GET /.ashlar/archive/?format=zip", NULL, NULL, READING},
    {"GET /.ashlar/at/2026-01-01/", NULL, NULL, READING},
    {"GET /.ashlar/versions/a/", NULL, NULL, READING},
    {"GET /.ashlar/trash/", NULL, NULL, READING},
    {"COPY /.ashlar/versions/a/1", "Destination: /b\n", NULL, CHANGING},
    {"MOVE /.ashlar/trash/x", "Destination: /b\n", NULL, CHANGING},
    {"OPTIONS /.ashlar/uploads/", "Tus-Resumable: 1.0.0\n", NULL, CHANGING},
    {"POST /.ashlar/uploads/docs/x", "Tus-Resumable: 1.0.0\nUpload-Length: 3\n", NULL, CHANGING},
    {"GET /.ashlar/tree/list?path=/", NULL, NULL, READING},
    {"GET /.ashlar/tree/stat?path=/a", NULL, NULL, READING},
    {"GET /.ashlar/tree/history?path=/a", NULL, NULL, READING},
    {"GET /.ashlar/tree/trash?path=/", NULL, NULL, READING},
    {"GET /.ashlar/tree/search?path=/&text=a", NULL, NULL, READING},
    {"GET /.ashlar/tree/usage?path=/", NULL, NULL, READING},
    {"GET /.ashlar/tree/locks?path=/", NULL, NULL, READING},
    {"GET /.ashlar/tree/shares?path=/", NULL, NULL, READING},
    {"GET /.ashlar/tree/nothing", NULL, NULL, NAMED},
    {"POST /.ashlar/tree/mkdir", NULL, "{\"path\":\"/d\"}", CHANGING},
    {"POST /.ashlar/tree/move", NULL, "{\"path\":\"/missing\",\"to\":\"/e\"}", CHANGING},
    {"POST /.ashlar/tree/delete", NULL, "{\"path\":\"/missing\"}", CHANGING},
    {"POST /.ashlar/tree/undelete", NULL, "{\"path\":\"/missing\"}", CHANGING},
    {"POST /.ashlar/tree/restore", NULL, "{\"path\":\"/missing\"}", CHANGING},
    {"POST /.ashlar/tree/forget", NULL, "{\"path\":\"/missing\",\"version\":1}", CHANGING},
    {"POST /.ashlar/tree/tag", NULL, "{\"path\":\"/missing\",\"tag\":\"x\"}", CHANGING},
    {"POST /.ashlar/tree/unlock", NULL, "{\"path\":\"/missing\"}", CHANGING},
    {"POST /.ashlar/tree/share", NULL, "{\"path\":\"/a\"}", CHANGING},
    {"POST /.ashlar/tree/unshare", NULL, "{\"id\":\"x\"}", CHANGING},
};

static void test_each_part_asks(void **state)
{
    hosted *h = *state;
    support_put_text(h->f, "a", "one");
    add_users(h);
    for (size_t i = 0; i < ASH_ARRAY_LEN(needs); i++)
        for (int u = 0; u < USERS; u++) {
            const char *json = strncmp(needs[i].line, "POST /.ashlar/tree/", 19) == 0
                                   ? "Content-Type: application/json\n"
                                   : needs[i].fields;
            visit *v = hosted_ask_as(h, who[u], needs[i].line, json, needs[i].body);
            int refused = needs[i].refused[u];
            bool is_refusal =
                v->status == 401 || strstr(ash__buffer_text(&v->body), "roles do") != NULL;
            if (refused != 0 ? v->status != refused : is_refusal)
                fail_msg("%s as %s: %d: %s", needs[i].line, who[u] != NULL ? who[u] : "nobody",
                         v->status, ash__buffer_text(&v->body));
            visit_free(v);
        }
}

static void test_health_shows_strangers_no_details(void **state)
{
    hosted *h = *state;
    add_users(h);
    visit *v = hosted_ask_as(h, NULL, "GET /health", NULL, NULL);
    visit_expect_body(v, "{\"status\":\"pass\"}\n");
    visit_free(v);
    v = hosted_ask_as(h, "monitor:p", "GET /health", NULL, NULL);
    visit_expect_body(v, "{\"status\":\"pass\",\"version\":\"1.2.3\"}\n");
    visit_free(v);
}

/* ---- many at once ---- */

static void *guess(void *arg)
{
    hosted *h = arg;
    /* No more than are free of a wait. */
    for (int i = 0; i < 2; i++) {
        visit *v = hosted_ask_as(h, "ann:wrong", "GET /", NULL, NULL);
        visit_expect(v, 401);
        visit_free(v);
    }
    return NULL;
}

static int checks_of(ash_gate *g)
{
    ash__mutex_lock(&g->lock);
    int checks = g->checks;
    ash__mutex_unlock(&g->lock);
    return checks;
}

static void test_few_passwords_at_once(void **state)
{
    enum { GUESSERS = 5 };
    hosted *h = *state;
    pthread_t threads[GUESSERS];
    hosted_add_user(h, "ann", "pencil", READS);
    hosted_expect_as(h, "ann:pencil", "GET /", NULL, 200);
    for (int i = 0; i < GUESSERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, guess, h), 0);
    /* Who was known before waits for nobody. */
    for (int i = 0; i < 20; i++) {
        assert_true(checks_of(h->gate) <= ASH_GATE_CHECKS);
        hosted_expect_as(h, "ann:pencil", "GET /", NULL, 200);
    }
    for (int i = 0; i < GUESSERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(checks_of(h->gate), 0);
}

static void test_who_leaves_the_queue_passes_its_place_on(void **state)
{
    hosted *h = *state;
    ash_exchange x[4] = {{0}};
    ash_coming c[4] = {{.gate = h->gate}};
    ash_visitor *v = NULL;
    ash_error err = ASH_ERROR_INIT;
    hosted_add_user(h, "ann", "pencil", READS);
    h->gate->checks = ASH_GATE_CHECKS;
    for (int i = 0; i < 4; i++) {
        x[i].remote = "";
        c[i].x = &x[i];
        assert_int_equal(ash__gate_check_password(h->gate, &c[i], "ann", "pencil", &v, &err),
                         ASH_EBUSY);
    }
    ash__gate_leave_queue(h->gate, &c[1]); /* from the middle */
    ash__gate_leave_queue(h->gate, &c[3]); /* from the end */
    c[3] = (ash_coming){.gate = h->gate, .x = &x[3]};
    assert_int_equal(ash__gate_check_password(h->gate, &c[3], "ann", "x", &v, &err), ASH_EBUSY);
    /* Whose place is free now? */
    ash_coming done = {.gate = h->gate, .has_place = true};
    ash__gate_leave_queue(h->gate, &done);
    assert_true(c[0].has_place && !c[2].has_place);
    ash__gate_leave_queue(h->gate, &c[0]); /* the client went away */
    assert_true(c[2].has_place && !c[3].has_place);
    assert_ok(ash__gate_check_password(h->gate, &c[2], "ann", "pencil", &v, &err), &err);
    ash__visitor_release(v);
    assert_true(c[3].has_place);
    assert_int_equal(ash__gate_check_password(h->gate, &c[3], "ann", "x", &v, &err), ASH_EACCES);
    assert_int_equal(h->gate->checks, ASH_GATE_CHECKS - 1);
    h->gate->checks = 0;
}

static int64_t ask_for_ms(hosted *h, const char *as, int status)
{
    int64_t begun = ash__clock_ms();
    hosted_expect_as(h, as, "GET /", NULL, status);
    return ash__clock_ms() - begun;
}

static void test_who_fails_often_waits(void **state)
{
    hosted *h = *state;
    hosted_add_user(h, "ann", "pencil", READS);
    hosted_add_user(h, "bob", "brush", READS);
    hosted_expect_as(h, "ann:pencil", "GET /", NULL, 200);
    for (int i = 0; i < ASH_ATTEMPTS_FREE + 2; i++)
        hosted_expect_as(h, "bob:guess", "GET /", NULL, 401);
    assert_true(ask_for_ms(h, "bob:guess", 401) >= 100);
    /* The right one is judged by the same, but neither refused, nor who is known. */
    assert_true(ask_for_ms(h, "bob:brush", 200) >= 100);
    assert_true(ask_for_ms(h, "ann:pencil", 200) < 100);
}

static void test_who_goes_while_waiting_is_forgotten(void **state)
{
    hosted *h = *state;
    ash_exchange x = {.remote = "127.0.0.1:1"};
    ash_coming c = {.gate = h->gate, .x = &x};
    ash_visitor *v = NULL;
    ash_error err = ASH_ERROR_INIT;
    hosted_add_user(h, "ann", "pencil", READS);
    for (int i = 0; i < ASH_ATTEMPTS_FREE + 2; i++)
        hosted_expect_as(h, "ann:guess", "GET /", NULL, 401);
    assert_int_equal(ash__gate_check_password(h->gate, &c, "ann", "pencil", &v, &err), ASH_EBUSY);
    assert_true(x.due_ms > ash__clock_ms() && c.is_attempt && !c.waits);
    ash__attempts_drop(h->gate->attempts, &c.attempt);
}

#define HOSTED(name) cmocka_unit_test_setup_teardown(name, hosted_setup, hosted_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOSTED(test_nobody_is_asked_before_the_first_user),
        HOSTED(test_a_gate_may_ask_always),
        HOSTED(test_names_of_other_databases),
        HOSTED(test_from_where_one_may_come),
        HOSTED(test_what_is_no_authorization),
        HOSTED(test_who_is_not_there_is_not_told_apart),
        HOSTED(test_who_is_not_there_takes_as_long),
        HOSTED(test_passwords_go_over_no_open_network),
        HOSTED(test_scripts_are_asked_without_a_box),
        HOSTED(test_what_was_taken_is_gone),
        HOSTED(test_each_part_asks),
        HOSTED(test_health_shows_strangers_no_details),
        HOSTED(test_who_fails_often_waits),
        HOSTED(test_who_goes_while_waiting_is_forgotten),
        HOSTED(test_few_passwords_at_once),
        HOSTED(test_who_leaves_the_queue_passes_its_place_on),
    };
    return cmocka_run_group_tests_name("http/site/users", tests, NULL, NULL);
}
