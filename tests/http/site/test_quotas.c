/* SPDX-License-Identifier: Apache-2.0 */
#include "hosted.h"

#include "base/base64.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* How much a user may have, as he meets it by HTTP, and others do not; and what is told of quotas. */

#define WRITES "[{\"role\": \"readWrite\", \"db\": \"$\"}]"
#define JSON   "Content-Type: application/json\n"
#define TUS    "Tus-Resumable: 1.0.0\n"
#define ASK                                                                                        \
    "<propfind xmlns=\"DAV:\"><prop><quota-available-bytes/><quota-used-bytes/></prop></propfind>"

static const char ann[] = "ann:p", bob[] = "bob:p";

static void set_quota(hosted *h, const char *user, int64_t bytes)
{
    assert_ok(ash_tree_set_user_quota(h->f->tree, user, bytes, NULL, NULL, &h->f->err), &h->f->err);
}

static int setup(void **state)
{
    if (hosted_setup(state) != 0)
        return -1;
    hosted *h = *state;
    hosted_add_user(h, "ann", "p", WRITES);
    hosted_add_user(h, "bob", "p", WRITES);
    hosted_expect_as(h, bob, "PUT /bobs", "1234", 201);
    set_quota(h, "ann", 10);
    return 0;
}

#define T(name) cmocka_unit_test_setup_teardown(test_##name, setup, hosted_teardown)

static bool take_used(void *ctx, const char *user, const ash_tree_quota *q)
{
    (void)user;
    *(int64_t *)ctx = q->used_bytes;
    return true;
}

static void expect_used(hosted *h, const char *user, int64_t bytes)
{
    int64_t used = -2;
    assert_ok(ash_tree_user_quotas(h->f->tree, user, NULL, take_used, &used, &h->f->err),
              &h->f->err);
    assert_int_equal(used, bytes);
}

/* Refused to ann, and nothing is left; done for bob, whom no quota binds. */
static void expect_only_bob(hosted *h, const char *line, const char *fields, const char *body,
                            const char *made)
{
    visit *v = hosted_ask_as(h, ann, line, fields, body);
    if (v->status != 507)
        fail_msg("%s as ann: %d: %s", line, v->status, ash__buffer_text(&v->body));
    if (strstr(line, "/.ashlar/") == NULL)
        assert_non_null(strstr(ash__buffer_text(&v->body), "<D:quota-not-exceeded/>"));
    assert_non_null(strstr(ash__buffer_text(&v->body), "user ann may have"));
    visit_free(v);
    support_expect_missing(h->f, made);
    v = hosted_ask_as(h, bob, line, fields, body);
    if (v->status != 200 && v->status != 201)
        fail_msg("%s as bob: %d: %s", line, v->status, ash__buffer_text(&v->body));
    visit_free(v);
    ash_tree_entry_free(support_get(h->f, made));
}

static void test_puts_and_copies(void **state)
{
    hosted *h = *state;
    hosted_expect_as(h, ann, "PUT /anns", "12345678", 201);
    expect_used(h, "ann", 8);
    expect_only_bob(h, "PUT /more", NULL, "123", "more");
    expect_only_bob(h, "COPY /bobs", "Destination: /copied\n", NULL, "copied");
    expect_only_bob(h, "POST /.ashlar/tree/copy", JSON, "{\"path\": \"/bobs\", \"to\": \"/again\"}",
                    "again");
    /* All of what she writes over is hers then. */
    hosted_expect_as(h, ann, "PUT /bobs", "123", 507);
    hosted_expect_as(h, ann, "PUT /bobs", "12", 204);
    expect_used(h, "ann", 10);
    hosted_expect_as(h, bob, "PUT /anns", "123456789012", 204);
    expect_used(h, "ann", 2);
}

static void test_moves(void **state)
{
    hosted *h = *state;
    set_quota(h, "ann", 0);
    visit *v = hosted_ask_as(h, ann, "MOVE /bobs", "Destination: /moved\n", NULL);
    visit_expect(v, 201);
    visit_free(v);
    expect_used(h, "ann", 0);
    hosted_expect_as(h, ann, "PUT /one", "1", 507);
    hosted_expect_as(h, ann, "PUT /empty", "", 201);
    hosted_expect_as(h, ann, "DELETE /moved", NULL, 204);
}

static void test_what_comes_back(void **state)
{
    hosted *h = *state;
    char body[100];
    set_quota(h, "ann", 3);
    hosted_expect_as(h, bob, "PUT /bobs", "12", 204);
    visit *v = hosted_ask_as(h, ann, "POST /.ashlar/tree/restore", JSON,
                             "{\"path\": \"/bobs\", \"version\": 1}");
    visit_expect(v, 507);
    visit_free(v);
    v = hosted_ask_as(h, ann, "MOVE /.ashlar/versions/bobs/v1-bobs", "Destination: /bobs\n", NULL);
    visit_expect(v, 507);
    visit_free(v);
    v = hosted_ask_as(h, bob, "POST /.ashlar/tree/restore", JSON,
                      "{\"path\": \"/bobs\", \"version\": 1}");
    visit_expect(v, 200);
    visit_free(v);
    bson_value_t id = support_id(h->f, "bobs");
    char hex[25];
    bson_oid_to_string(&id.value.v_oid, hex);
    hosted_expect_as(h, ann, "DELETE /bobs", NULL, 204);
    snprintf(body, sizeof body, "{\"path\": \"/bobs\", \"id\": \"%s\"}", hex);
    expect_only_bob(h, "POST /.ashlar/tree/undelete", JSON, body, "bobs");
}

static visit *begin_upload(hosted *h, const char *who, const char *path, int64_t length)
{
    char *encoded = ash__base64_write(path, strlen(path));
    char *fields =
        ash__sprintf(TUS "Upload-Length: %" PRId64 "\nUpload-Metadata: path %s\n", length, encoded);
    visit *v = hosted_ask_as(h, who, "POST /.ashlar/uploads/", fields, NULL);
    ash__free(fields);
    ash__free(encoded);
    return v;
}

/* Large ones before their bytes are sent, small ones at their end. */
static void test_uploads(void **state)
{
    hosted *h = *state;
    static const char *const people[] = {ann, bob};
    static const char bytes[] = TUS "Content-Type: application/offset+octet-stream\n"
                                    "Upload-Offset: 0\n";
    for (size_t i = 0; i < ASH_ARRAY_LEN(people); i++) {
        visit *v = begin_upload(h, people[i], "/large", 2000000);
        visit_expect(v, i == 0 ? 507 : 201);
        visit_free(v);
        v = begin_upload(h, people[i], "/small", 11);
        visit_expect(v, 201);
        char *line = ash__sprintf("PATCH %s", visit_field(v, "Location"));
        visit_free(v);
        v = hosted_ask_as(h, people[i], line, bytes, "12345678901");
        visit_expect(v, i == 0 ? 507 : 204);
        visit_free(v);
        ash__free(line);
        if (i == 0)
            support_expect_missing(h->f, "small");
    }
    support_expect_text(h->f, "small", "12345678901");
    char *large = ash__sprintf("%*s", 2000000, "");
    hosted_expect_as(h, ann, "PUT /put", large, 507);
    hosted_expect_as(h, bob, "PUT /put", large, 201);
    ash__free(large);
}

/* What comes by a link has the room of whoever made it, and whoever sends it hears nothing of him. */
static void test_links(void **state)
{
    hosted *h = *state;
    support_folder(h->f, "in");
    visit *v = hosted_ask_as(h, ann, "POST /.ashlar/tree/share", JSON,
                             "{\"path\": \"/in\", \"right\": \"upload\"}");
    visit_expect(v, 200);
    bson_t *answer = bson_new_from_json(v->body.data, (ssize_t)v->body.len, NULL);
    char *line = ash__sprintf("PUT %s/x", hosted_member(answer, "url"));
    bson_destroy(answer);
    visit_free(v);
    hosted_expect(h, line, NULL, "1234567890", 201);
    expect_used(h, "ann", 10);
    ash_tree_entry *e = support_get(h->f, "in/x");
    assert_string_equal(ash_tree_entry_written_by(e), "ann");
    assert_memory_equal(ash_tree_entry_changed_by(e), "link ", 5);
    ash_tree_entry_free(e);
    v = hosted_ask(h, line, NULL, "1");
    visit_expect(v, 507);
    assert_null(strstr(ash__buffer_text(&v->body), "ann"));
    visit_free(v);
    support_expect_list(h->f, "in", true, 0, "/in/x");
    ash__free(line);
}

/* ---- what is told ---- */

/* "AVAILABLE USED", "-" for one that is not there. */
static void expect_told(hosted *h, const char *who, const char *path, const char *wanted)
{
    static const char *const names[] = {"<D:quota-available-bytes>", "<D:quota-used-bytes>"};
    char *line = ash__sprintf("PROPFIND %s", path);
    visit *v = hosted_ask_as(h, who, line, "Depth: 0\n", ASK);
    char said[2][32];
    visit_expect(v, 207);
    for (size_t i = 0; i < 2; i++) {
        const char *at = strstr(ash__buffer_text(&v->body), names[i]);
        snprintf(said[i], sizeof said[i], "%s", at != NULL ? at + strlen(names[i]) : "-");
        said[i][strcspn(said[i], "<")] = '\0';
    }
    char *all = ash__sprintf("%s %s", said[0], said[1]);
    assert_string_equal(all, wanted);
    ash__free(all);
    visit_free(v);
    ash__free(line);
}

static void test_what_is_told(void **state)
{
    hosted *h = *state;
    fixture *f = h->f;
    bson_t *closed = BCON_NEW("read", "[", "user:bob", "]", "write", "[", "user:bob", "]", "open",
                              "[", "user:ann", "user:bob", "]");
    bson_t *open =
        BCON_NEW("read", "[", "user:ann", "user:bob", "]", "write", "[", "user:ann", "]");
    support_folder(f, "d");
    support_folder(f, "d/e");
    hosted_expect_as(h, ann, "PUT /d/e/x", "1234", 201);
    expect_told(h, ann, "/d/e/", "6 4");
    assert_ok(ash_tree_set_quota(f->tree, "d", 100, NULL, NULL, &f->err), &f->err);
    expect_told(h, ann, "/d/e/", "6 4");
    expect_told(h, bob, "/d/e/", "96 4");
    hosted_expect_as(h, bob, "PUT /d/y", "12345678901234567890", 201);
    assert_ok(ash_tree_set_quota(f->tree, "d", 29, NULL, NULL, &f->err), &f->err);
    expect_told(h, ann, "/d/e/", "5 24"); /* the folder leaves less */
    assert_ok(ash_tree_set_acl(f->tree, "d", closed, NULL, NULL, &f->err), &f->err);
    assert_ok(ash_tree_set_acl(f->tree, "d/e", open, NULL, NULL, &f->err), &f->err);
    expect_told(h, ann, "/d/e/", "5 -"); /* which is not for her to look into */
    expect_told(h, bob, "/d/e/", "5 24");
    visit *v = hosted_ask_as(h, ann, "GET /.ashlar/tree/usage?path=/d/e", NULL, NULL);
    visit_expect(v, 200);
    assert_null(strstr(ash__buffer_text(&v->body), "quotaUsedBytes"));
    visit_free(v);
    set_quota(h, "ann", 7);
    expect_told(h, ann, "/d/e/", "3 4");
    v = hosted_ask_as(h, ann, "GET /.ashlar/tree/usage?path=/d/e", NULL, NULL);
    assert_non_null(strstr(ash__buffer_text(&v->body), "\"quotaBytes\":7,"));
    visit_free(v);
    bson_destroy(open);
    bson_destroy(closed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(puts_and_copies), T(moves), T(what_comes_back), T(uploads), T(links), T(what_is_told),
    };
    return cmocka_run_group_tests_name("http/site/quotas", tests, NULL, NULL);
}
