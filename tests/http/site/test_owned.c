/* SPDX-License-Identifier: Apache-2.0 */
#include "hosted.h"

#include "base/clock.h"
#include "base/thread.h"
#include "http/dav/slow.h"
#include "http/site/uploads.h"

#include <stdio.h>
#include <string.h>

/* What is its user's, and is of no use to another who has learnt what it is called: locks, uploads. */

#define WRITES "[{\"role\": \"readWrite\", \"db\": \"$\"}]"
#define JSON   "Content-Type: application/json\n"
#define LOCKINFO                                                                                   \
    "<lockinfo xmlns=\"DAV:\"><lockscope><exclusive/></lockscope><locktype><write/></locktype>"    \
    "<owner>ann</owner></lockinfo>"

static const char ann[] = "ann:p", bob[] = "bob:p";

static int owned_setup(void **state)
{
    if (hosted_setup(state) != 0)
        return -1;
    hosted *h = *state;
    support_folder(h->f, "d");
    support_put_text(h->f, "d/a", "a");
    hosted_add_user(h, "ann", "p", WRITES);
    hosted_add_user(h, "bob", "p", WRITES);
    return 0;
}

#define OWNED(name) cmocka_unit_test_setup_teardown(name, owned_setup, hosted_teardown)

static void expect(hosted *h, const char *who, const char *line, const char *fields,
                   const char *body, int status)
{
    visit *v = hosted_ask_as(h, who, line, fields, body);
    if (v->status != status)
        fail_msg("%s as %s: %d and not %d: %s", line, who, v->status, status,
                 ash__buffer_text(&v->body));
    visit_free(v);
}

/* ---- locks ---- */

typedef struct key {
    char use[120], give_back[120]; /* fields */
} key;

static key lock(hosted *h, const char *who, const char *path)
{
    key k;
    char *line = ash__sprintf("LOCK %s", path);
    visit *v = hosted_ask_as(h, who, line, NULL, LOCKINFO);
    visit_expect(v, 200);
    snprintf(k.use, sizeof k.use, "If: (%s)\n", visit_field(v, "Lock-Token"));
    snprintf(k.give_back, sizeof k.give_back, "Lock-Token: %s\n", visit_field(v, "Lock-Token"));
    visit_free(v);
    ash__free(line);
    return k;
}

/* Is the token in an answer to bob? */
static bool can_see(hosted *h, const key *k)
{
    char token[120] = "";
    sscanf(k->use, "If: (<%119[^>]", token);
    visit *v = hosted_ask_as(h, bob, "PROPFIND /d/a", "Depth: 0\n", NULL);
    visit_expect(v, 207);
    bool seen = strstr(ash__buffer_text(&v->body), token) != NULL;
    visit_free(v);
    return seen;
}

static void test_the_token_of_a_lock_is_a_key_for_who_took_it(void **state)
{
    hosted *h = *state;
    static const struct {
        const char *line, *fields, *body;
    } changes[] = {
        {"PUT /d/a", NULL, "bob"},
        {"PROPPATCH /d/a", NULL, "<propertyupdate xmlns=\"DAV:\"/>"},
        {"MOVE /d/a", "Destination: /d/c\n", NULL},
        {"DELETE /d/a", NULL, NULL},
        {"POST /.ashlar/tree/delete", "Content-Type: application/json\n", "{\"path\": \"/d/a\"}"},
    };
    support_put_text(h->f, "d/b", "b");
    key k = lock(h, ann, "/d/a");
    char *onto = ash__sprintf("If: </d/a> %sDestination: /d/a\n", strchr(k.use, '('));
    assert_true(can_see(h, &k));
    for (size_t i = 0; i < ASH_ARRAY_LEN(changes); i++) {
        char *fields =
            ash__sprintf("%s%s", k.use, changes[i].fields != NULL ? changes[i].fields : "");
        expect(h, bob, changes[i].line, fields, changes[i].body, 423);
        ash__free(fields);
    }
    expect(h, bob, "COPY /d/b", onto, NULL, 423);
    ash__free(onto);
    support_expect_text(h->f, "d/a", "a");
    expect(h, ann, "PUT /d/a", k.use, "ann", 204);
}

static void test_a_lock_is_renewed_and_given_back_by_who_took_it(void **state)
{
    hosted *h = *state;
    key k = lock(h, ann, "/d/a");
    expect(h, bob, "UNLOCK /d/a", k.give_back, NULL, 403);
    expect(h, bob, "LOCK /d/a", k.use, NULL, 403);
    expect(h, ann, "LOCK /d/a", k.use, NULL, 200);
    expect(h, ann, "UNLOCK /d/a", k.give_back, NULL, 204);
    expect(h, bob, "PUT /d/a", NULL, "bob", 204);
}

/* Whoever may write can break it, and says so. */
static void test_a_lock_can_be_broken(void **state)
{
    hosted *h = *state;
    key k = lock(h, ann, "/d/a");
    expect(h, bob, "POST /.ashlar/tree/unlock", JSON, "{\"path\": \"/d/a\"}", 200);
    expect(h, bob, "PUT /d/a", NULL, "bob", 204);
    expect(h, ann, "PUT /d/a", k.use, "ann", 412);
}

static void test_who_has_a_name_in_another_database_is_another(void **state)
{
    hosted *h = *state;
    hosted_add_user(h, "ann@elsewhere", "p", WRITES);
    key k = lock(h, ann, "/d/a");
    expect(h, "elsewhere.ann:p", "PUT /d/a", k.use, "x", 423);
    expect(h, "elsewhere.ann:p", "UNLOCK /d/a", k.give_back, NULL, 403);
}

/* Of shared locks everybody uses his own. */
static void test_shared_locks_are_used_by_their_own(void **state)
{
    hosted *h = *state;
    static const char shared[] = "<lockinfo xmlns=\"DAV:\"><lockscope><shared/></lockscope>"
                                 "<locktype><write/></locktype></lockinfo>";
    char field[120];
    visit *v = hosted_ask_as(h, ann, "LOCK /d/a", NULL, shared);
    visit_expect(v, 200);
    snprintf(field, sizeof field, "If: (%s)\n", visit_field(v, "Lock-Token"));
    visit_free(v);
    expect(h, bob, "PUT /d/a", field, "bob", 423);
    v = hosted_ask_as(h, bob, "LOCK /d/a", NULL, shared);
    visit_expect(v, 200);
    snprintf(field, sizeof field, "If: (%s)\n", visit_field(v, "Lock-Token"));
    visit_free(v);
    expect(h, bob, "PUT /d/a", field, "bob", 204);
    expect(h, ann, "PUT /d/a", field, "ann", 423);
}

/* A lock of when nobody was asked is good for whoever has its token, until it ends. */
static void test_locks_of_before_users(void **state)
{
    hosted *h = *state;
    char field[120];
    hosted_remove_user(h, "ann");
    hosted_remove_user(h, "bob");
    visit *v = hosted_ask(h, "LOCK /d/a", NULL, LOCKINFO);
    visit_expect(v, 200);
    snprintf(field, sizeof field, "If: (%s)\n", visit_field(v, "Lock-Token"));
    visit_free(v);
    hosted_add_user(h, "ann", "p", WRITES);
    expect(h, ann, "PUT /d/a", NULL, "ann", 423);
    expect(h, ann, "PUT /d/a", field, "ann", 204);
    /* And the other way round. */
    support_put_text(h->f, "d/b", "b");
    key k = lock(h, ann, "/d/b");
    hosted_remove_user(h, "ann");
    hosted_expect(h, "UNLOCK /d/b", k.give_back, NULL, 204);
}

/* ---- locks on folders ---- */

static void set_acl(hosted *h, const char *path, const char *json)
{
    bson_t *acl = bson_new_from_json((const uint8_t *)json, -1, NULL);
    assert_non_null(acl);
    assert_ok(ash_tree_set_acl(h->f->tree, path, acl, NULL, NULL, &h->f->err), &h->f->err);
    bson_destroy(acl);
}

static void test_a_folder_is_locked_by_who_may_write_all_of_it(void **state)
{
    hosted *h = *state;
    support_folder(h->f, "d/e");
    support_put_text(h->f, "d/e/f", "f");
    set_acl(h, "d/e/f", "{\"read\": [\"user:ann\"], \"write\": [\"user:ann\"]}");
    /* One that may not be seen has no name. */
    visit *v = hosted_ask_as(h, bob, "LOCK /d", NULL, LOCKINFO);
    visit_expect(v, 403);
    assert_null(strstr(ash__buffer_text(&v->body), "/e"));
    visit_free(v);
    expect(h, ann, "PUT /d/e/f", NULL, "ann", 204);
    set_acl(h, "d/e/f", "{\"read\": [\"readWrite\"], \"write\": [\"user:ann\"]}");
    v = hosted_ask_as(h, bob, "LOCK /d", NULL, LOCKINFO);
    visit_expect(v, 207);
    assert_non_null(
        strstr(ash__buffer_text(&v->body), "<D:href>/d/e/f</D:href><D:status>HTTP/1.1 403"));
    assert_non_null(
        strstr(ash__buffer_text(&v->body), "<D:href>/d/</D:href><D:status>HTTP/1.1 424"));
    visit_free(v);
    /* The folder alone, and who may. */
    expect(h, bob, "LOCK /d", "Depth: 0\n", LOCKINFO, 200);
    expect(h, ann, "LOCK /d/e", NULL, LOCKINFO, 200);
    expect(h, bob, "PUT /d/e/g", NULL, "bob", 423);
}

/* ---- uploads ---- */

#define TUS   "Tus-Resumable: 1.0.0\n"
#define BYTES TUS "Content-Type: application/offset+octet-stream\nUpload-Offset: 0\n"

/* Of four bytes, for /d/up; yours. */
static char *new_upload(hosted *h, const char *who)
{
    visit *v = hosted_ask_as(h, who, "POST /.ashlar/uploads",
                             TUS "Upload-Length: 4\nUpload-Metadata: path L2QvdXA=\n", NULL);
    visit_expect(v, 201);
    char *place = ash__strdup(visit_field(v, "Location"));
    visit_free(v);
    return place;
}

static void test_an_upload_is_gone_on_with_by_who_began_it(void **state)
{
    hosted *h = *state;
    char *place = new_upload(h, ann);
    static const char *const methods[] = {"HEAD", "PATCH", "DELETE"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(methods); i++) {
        char *line = ash__sprintf("%s %s", methods[i], place);
        expect(h, bob, line, BYTES, i == 1 ? "evil" : NULL, 404);
        ash__free(line);
    }
    char *line = ash__sprintf("HEAD %s", place);
    expect(h, ann, line, TUS, NULL, 200);
    ash__free(line);
    line = ash__sprintf("PATCH %s", place);
    expect(h, ann, line, BYTES, "good", 204);
    support_expect_text(h->f, "d/up", "good");
    ash__free(line);
    ash__free(place);
}

/* One of when nobody was asked is gone on with by whoever knows it. */
static void test_uploads_of_before_users(void **state)
{
    hosted *h = *state;
    hosted_remove_user(h, "ann");
    hosted_remove_user(h, "bob");
    char *place = new_upload(h, NULL);
    hosted_add_user(h, "ann", "p", WRITES);
    char *line = ash__sprintf("PATCH %s", place);
    expect(h, ann, line, BYTES, "good", 204);
    ash__free(line);
    ash__free(place);
}

static void test_uploads_of_one_leave_room_for_others(void **state)
{
    hosted *h = *state;
    static const char fields[] = TUS "Upload-Length: 4\nUpload-Metadata: path L2QvdXA=\n";
    for (int i = 0; i < ASH_UPLOADS_OF_ONE; i++)
        expect(h, bob, "POST /.ashlar/uploads", fields, NULL, 201);
    expect(h, bob, "POST /.ashlar/uploads", fields, NULL, 503);
    char *place = new_upload(h, ann);
    ash__free(place);
}

/* ---- rights that go while a body comes ---- */

/* A PUT of /d/slow by ann, by which of its halves something happens. */
static visit *begin_put(hosted *h, const char *fields)
{
    visit *v = visit_start(ash__site_service(), h->site, "PUT /d/slow", fields, 4);
    assert_int_equal(v->x.status, 0);
    visit_send(v, "sl", 2);
    return v;
}

static void end_put(hosted *h, visit *v, int status)
{
    visit_send(v, "ow", 2);
    visit_end(v);
    visit_expect(v, status);
    visit_free(v);
    if (status < 300)
        support_expect_text(h->f, "d/slow", "slow");
    else
        support_expect_missing(h->f, "d/slow");
}

#define ANN "Authorization: Basic YW5uOnA=\n"

static void test_who_is_gone_meanwhile_puts_nothing(void **state)
{
    hosted *h = *state;
    visit *v = begin_put(h, ANN);
    hosted_remove_user(h, "ann");
    end_put(h, v, 401);
    /* Nor does another of the same name finish it. */
    hosted_add_user(h, "ann", "p", WRITES);
    v = begin_put(h, ANN);
    hosted_remove_user(h, "ann");
    hosted_add_user(h, "ann", "p", WRITES);
    end_put(h, v, 401);
    v = begin_put(h, ANN);
    hosted_change_user(h, "ann", "other", NULL);
    end_put(h, v, 401);
}

static void test_who_may_less_meanwhile_puts_nothing(void **state)
{
    hosted *h = *state;
    visit *v = begin_put(h, ANN);
    hosted_change_user(h, "ann", NULL, "[{\"role\": \"read\", \"db\": \"$\"}]");
    end_put(h, v, 403);
    hosted_change_user(h, "ann", NULL, WRITES);
    v = begin_put(h, ANN);
    set_acl(h, "d", "{\"read\": [\"readWrite\"], \"write\": [\"user:bob\"]}");
    end_put(h, v, 403);
    set_acl(h, "d", "{\"read\": [\"readWrite\"], \"write\": [\"readWrite\"]}");
    /* More is none the worse, nor what others are told. */
    v = begin_put(h, ANN);
    hosted_change_user(h, "ann", NULL,
                       "[{\"role\": \"readWrite\", \"db\": \"$\"}, {\"role\": \"read\", "
                       "\"db\": \"other\"}]");
    hosted_remove_user(h, "bob");
    end_put(h, v, 201);
}

static void test_a_token_that_is_taken_back_meanwhile_puts_nothing(void **state)
{
    hosted *h = *state;
    char field[160], id[32] = "";
    visit *v =
        hosted_ask_as(h, ann, "POST /.ashlar/tokens", "Content-Type: application/json\n", "{}");
    visit_expect(v, 201);
    const char *text = strstr(ash__buffer_text(&v->body), "ashlar_");
    assert_non_null(text);
    snprintf(field, sizeof field, "Authorization: Bearer %.*s\n", (int)strcspn(text, "\""), text);
    snprintf(id, sizeof id, "%.16s", text + strlen("ashlar_"));
    visit_free(v);
    v = begin_put(h, field);
    char *line = ash__sprintf("DELETE /.ashlar/tokens/%s", id);
    expect(h, ann, line, NULL, NULL, 204);
    end_put(h, v, 401);
    ash__free(line);
}

/* The first user makes strangers of who came before. */
static void test_who_was_asked_nothing_meanwhile_puts_nothing(void **state)
{
    hosted *h = *state;
    hosted_remove_user(h, "ann");
    hosted_remove_user(h, "bob");
    visit *v = begin_put(h, NULL);
    hosted_add_user(h, "ann", "p", WRITES);
    end_put(h, v, 401);
}

/* ---- what takes long ---- */

static void *end_later(void *arg)
{
    (void)arg;
    ash__clock_sleep_ms(300);
    ash__dav_slow_end();
    return NULL;
}

/* While as many folders as may are being worked on, what is done with another one waits, and nothing
 * else does. */
static void test_what_takes_long_waits_for_its_like(void **state)
{
    hosted *h = *state;
    static const struct {
        const char *line, *fields, *body;
        bool waits;
        int status;
    } rows[] = {
        {"COPY /d/a", "Destination: /d/b\n", NULL, false, 201},
        {"DELETE /d/b", NULL, NULL, false, 204},
        {"COPY /d", "Destination: /e\n", NULL, true, 201},
        {"MOVE /e", "Destination: /f\n", NULL, true, 201},
        {"DELETE /f", NULL, NULL, true, 204},
        {"DELETE /none", NULL, NULL, false, 404},
        {"POST /.ashlar/tree/copy", JSON, "{\"path\": \"/d\", \"to\": \"/e\"}", true, 200},
        {"POST /.ashlar/tree/move", JSON, "{\"path\": \"/e\", \"to\": \"/f\"}", true, 200},
        {"POST /.ashlar/tree/delete", JSON, "{\"path\": \"/f\", \"recursive\": true}", true, 200},
        {"POST /.ashlar/tree/restore", JSON,
         "{\"path\": \"/d\", \"at\": \"2036-01-01T00:00:00Z\", \"dry_run\": true}", true, 200},
        {"GET /.ashlar/tree/usage?path=/d", NULL, NULL, true, 200},
        {"GET /.ashlar/tree/list?path=/d", NULL, NULL, false, 200},
        {"LOCK /d", "Depth: 0\n", LOCKINFO, false, 200},
        {"LOCK /dd", "Depth: infinity\n", LOCKINFO, true, 200},
    };
    ash_exchange mine = {.is_put_off = false};
    support_folder(h->f, "dd");
    for (int i = 0; i < ASH_DAV_SLOW; i++)
        assert_true(ash__dav_slow_begin(&mine));
    for (size_t i = 0; i < ASH_ARRAY_LEN(rows); i++) {
        pthread_t thread;
        int64_t begun = ash__clock_ms();
        if (rows[i].waits)
            assert_int_equal(ash__thread_start(&thread, 0, end_later, NULL), 0);
        expect(h, ann, rows[i].line, rows[i].fields, rows[i].body, rows[i].status);
        if (!rows[i].waits)
            continue;
        assert_true(ash__clock_ms() - begun >= 290);
        pthread_join(thread, NULL);
        assert_true(ash__dav_slow_begin(&mine));
    }
    assert_false(ash__dav_slow_begin(&mine));
    for (int i = 0; i < ASH_DAV_SLOW; i++)
        ash__dav_slow_end();
}

/* Who waits and is gone by then does nothing. */
static void test_who_is_gone_while_it_waits(void **state)
{
    hosted *h = *state;
    ash_exchange mine = {.is_put_off = false};
    for (int i = 0; i < ASH_DAV_SLOW; i++)
        assert_true(ash__dav_slow_begin(&mine));
    visit *v = visit_begin(ash__site_service(), h->site, "DELETE /d", ANN, 0);
    assert_true(v->x.is_put_off);
    /* One that was asked with its body there, and whose client goes. */
    visit *gone = visit_start(ash__site_service(), h->site, "LOCK /d", ANN "Depth: infinity\n",
                              (int64_t)strlen(LOCKINFO));
    visit_send(gone, LOCKINFO, strlen(LOCKINFO));
    ash__exchange_finish(&gone->x);
    assert_true(gone->x.is_put_off);
    visit_free(gone);
    hosted_remove_user(h, "ann");
    for (int i = 0; i < ASH_DAV_SLOW; i++)
        ash__dav_slow_end();
    visit_begin_again(v, ash__site_service());
    assert_false(v->x.is_put_off);
    visit_end(v);
    visit_expect(v, 401);
    visit_free(v);
    support_expect_text(h->f, "d/a", "a");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OWNED(test_the_token_of_a_lock_is_a_key_for_who_took_it),
        OWNED(test_a_lock_is_renewed_and_given_back_by_who_took_it),
        OWNED(test_a_lock_can_be_broken),
        OWNED(test_who_has_a_name_in_another_database_is_another),
        OWNED(test_shared_locks_are_used_by_their_own),
        OWNED(test_locks_of_before_users),
        OWNED(test_a_folder_is_locked_by_who_may_write_all_of_it),
        OWNED(test_an_upload_is_gone_on_with_by_who_began_it),
        OWNED(test_uploads_of_before_users),
        OWNED(test_uploads_of_one_leave_room_for_others),
        OWNED(test_who_is_gone_meanwhile_puts_nothing),
        OWNED(test_who_may_less_meanwhile_puts_nothing),
        OWNED(test_a_token_that_is_taken_back_meanwhile_puts_nothing),
        OWNED(test_who_was_asked_nothing_meanwhile_puts_nothing),
        OWNED(test_what_takes_long_waits_for_its_like),
        OWNED(test_who_is_gone_while_it_waits),
    };
    return cmocka_run_group_tests_name("http/site/owned", tests, NULL, NULL);
}
