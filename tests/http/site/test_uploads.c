/* SPDX-License-Identifier: Apache-2.0 */
#include "hosted.h"

#include "base/base64.h"
#include "base/hash.h"

#include <stdio.h>
#include <string.h>

/* Uploads that go on where they stopped.  The command's tests (cmd/http_uploads.sh) kill the server
 * amid them. */

#define TUS   "Tus-Resumable: 1.0.0\n"
#define BYTES TUS "Content-Type: application/offset+octet-stream\n"

/* "path BASE64[,more]" */
static char *fields_of(const char *path, int64_t length, const char *more)
{
    char *encoded = ash__base64_write(path, strlen(path));
    /* Written with the other alphabet, which is read as well. */
    char *fields = ash__sprintf("Upload-Length: %lld\nUpload-Metadata: path %s%s\n",
                                (long long)length, encoded, more);
    ash__free(encoded);
    return fields;
}

static char *create(hosted *h, const char *path, int64_t length, const char *more)
{
    char *fields = fields_of(path, length, more);
    char *all = ash__sprintf(TUS "%s", fields);
    visit *v = hosted_ask(h, "POST /.ashlar/uploads/", all, NULL);
    visit_expect(v, 201);
    char *url = ash__strdup(visit_field(v, "Location"));
    visit_free(v);
    ash__free(all);
    ash__free(fields);
    return url;
}

static visit *patch(hosted *h, const char *url, int64_t offset, const char *more, const void *data,
                    size_t len)
{
    char *line = ash__sprintf("PATCH %s", url);
    char *fields = ash__sprintf(BYTES "Upload-Offset: %lld\n%s", (long long)offset, more);
    visit *v = visit_ask_bytes(ash__site_service(), h->site, line, fields, data, len);
    ash__free(fields);
    ash__free(line);
    return v;
}

static void expect_patch(hosted *h, const char *url, int64_t offset, const char *text, int status)
{
    visit *v = patch(h, url, offset, "", text, strlen(text));
    visit_expect(v, status);
    visit_free(v);
}

static void expect_offset(hosted *h, const char *url, const char *offset)
{
    char *line = ash__sprintf("HEAD %s", url);
    visit *v = hosted_ask(h, line, TUS, NULL);
    visit_expect(v, 200);
    visit_expect_field(v, "Upload-Offset", offset);
    visit_free(v);
    ash__free(line);
}

static void test_what_is_told(void **state)
{
    hosted *h = *state;
    visit *v = hosted_ask(h, "OPTIONS /.ashlar/uploads/", NULL, NULL);
    visit_expect(v, 204);
    visit_expect_field(v, "Tus-Extension",
                       "creation,creation-with-upload,termination,expiration,checksum");
    visit_expect_field(v, "Tus-Max-Size", "17592186044416");
    visit_free(v);
    char *url = create(h, "/a", 3, ",why YmVjYXVzZQ==");
    char *line = ash__sprintf("HEAD %s", url);
    v = hosted_ask(h, line, TUS, NULL);
    visit_expect_field(v, "Upload-Length", "3");
    visit_expect_field(v, "Upload-Metadata", "path L2E=,why YmVjYXVzZQ==");
    visit_expect_field(v, "Cache-Control", "no-store");
    assert_non_null(visit_field(v, "Upload-Expires"));
    visit_free(v);
    v = patch(h, url, 0, "", "ab", 2);
    visit_expect(v, 204);
    assert_non_null(visit_field(v, "Upload-Expires"));
    visit_free(v);
    ash__free(line);
    /* Where only POST comes through. */
    line = ash__sprintf("POST %s", url);
    hosted_expect(h, line, BYTES "Upload-Offset: 2\nX-HTTP-Method-Override: PATCH\n", "c", 204);
    support_expect_text(h->f, "a", "abc");
    ash__free(line);
    ash__free(url);
    hosted_expect(h, "POST /.ashlar/uploads/",
                  TUS "Upload-Length: 17592186044417\nUpload-Metadata: path L2E=\n", NULL, 413);
}

static void test_with_the_creation(void **state)
{
    hosted *h = *state;
    char *url = create(h, "/empty", 0, "");
    support_expect_text(h->f, "empty", "");
    expect_offset(h, url, "0");
    ash__free(url);
    /* All of it, and a part. */
    visit *v = hosted_ask(h, "POST /.ashlar/uploads/",
                          BYTES "Upload-Length: 3\nUpload-Metadata: path L2E=\n", "abc");
    visit_expect(v, 201);
    visit_expect_field(v, "Upload-Offset", "3");
    assert_non_null(visit_field(v, "Location"));
    assert_non_null(visit_field(v, "ETag"));
    visit_free(v);
    support_expect_text(h->f, "a", "abc");
    v = hosted_ask(h, "POST /.ashlar/uploads/",
                   BYTES "Upload-Length: 5\nUpload-Metadata: path L2I=\n", "abc");
    visit_expect(v, 201);
    visit_expect_field(v, "Upload-Offset", "3");
    url = ash__strdup(visit_field(v, "Location"));
    visit_free(v);
    expect_patch(h, url, 3, "de", 204);
    support_expect_text(h->f, "b", "abcde");
    ash__free(url);
}

/* A client that is told the whole length asks no further: the file has to be there. */
static void test_refused_at_the_end(void **state)
{
    hosted *h = *state;
    char *url = create(h, "/a", 4, ",if_absent dHJ1ZQ==");
    expect_patch(h, url, 0, "ab", 204);
    support_put_text(h->f, "a", "another's");
    expect_patch(h, url, 2, "cd", 412);
    expect_offset(h, url, "2");
    support_expect_text(h->f, "a", "another's");
    support_remove(h->f, "a");
    expect_patch(h, url, 2, "cd", 204);
    support_expect_text(h->f, "a", "abcd");
    expect_offset(h, url, "4");
    ash__free(url);
}

static void test_onto_the_version_that_was_seen(void **state)
{
    hosted *h = *state;
    support_put_text(h->f, "a", "one");
    char *url = create(h, "/a", 3, ",if_version MQ==");
    support_put_text(h->f, "a", "two");
    expect_patch(h, url, 0, "abc", 412);
    support_expect_text(h->f, "a", "two");
    ash__free(url);
    url = create(h, "/a", 3, ",if_version Mg==");
    expect_patch(h, url, 0, "abc", 204);
    support_expect_text(h->f, "a", "abc");
    ash__free(url);
    /* Told before the bytes are sent. */
    hosted_expect(h, "POST /.ashlar/uploads/",
                  TUS "Upload-Length: 3\nUpload-Metadata: path L2E=,if_version OQ==\n", NULL, 412);
    hosted_expect(h, "POST /.ashlar/uploads/",
                  TUS "Upload-Length: 3\nUpload-Metadata: path L2E=,if_version eA==\n", NULL, 412);
}

static char *sum_of(ash_digest_kind kind, const char *name, const char *text)
{
    uint8_t out[ASH_DIGEST_MAX_BYTES];
    ash_digest *d = ash__digest_new(kind);
    ash__digest_add(d, text, strlen(text));
    char *encoded = ash__base64_write(out, ash__digest_finish(d, out));
    char *field = ash__sprintf("Upload-Checksum: %s %s\n", name, encoded);
    ash__free(encoded);
    ash__digest_free(d);
    return field;
}

static void test_sums(void **state)
{
    hosted *h = *state;
    static const struct {
        ash_digest_kind kind;
        const char *name;
    } kinds[] = {{ASH_DIGEST_MD5, "md5"}, {ASH_DIGEST_SHA1, "sha1"}, {ASH_DIGEST_SHA256, "sha256"}};
    char *url = create(h, "/a", 12, "");
    for (size_t i = 0; i < ASH_ARRAY_LEN(kinds); i++) {
        char *good = sum_of(kinds[i].kind, kinds[i].name, "abcd");
        visit *v = patch(h, url, (int64_t)i * 4, good, "abce", 4);
        visit_expect(v, 460);
        visit_free(v);
        v = patch(h, url, (int64_t)i * 4, good, "abcd", 4);
        visit_expect(v, 204);
        visit_free(v);
        ash__free(good);
    }
    support_expect_text(h->f, "a", "abcdabcdabcd");
    ash__free(url);
    url = create(h, "/b", 3000000, "");
    static const char *const bad[] = {"", "crc32 AAAA", "sha1 AAAA", "sha1", "md5 ????"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(bad); i++) {
        char *field = ash__sprintf("Upload-Checksum: %s\n", bad[i]);
        visit *v = patch(h, url, 0, field, "abcd", 4);
        visit_expect(v, 400);
        visit_free(v);
        ash__free(field);
    }
    /* It is compared before anything is kept, so it has to be held. */
    char *many = ash__alloc(2000000);
    memset(many, 'x', 2000000);
    char *field = sum_of(ASH_DIGEST_SHA1, "sha1", "abcd");
    visit *v = patch(h, url, 0, field, many, 2000000);
    visit_expect(v, 413);
    visit_free(v);
    expect_offset(h, url, "0");
    ash__free(field);
    ash__free(many);
    ash__free(url);
}

/* Two requests send the last bytes: the file is made once. */
static void test_twice_at_once(void **state)
{
    hosted *h = *state;
    char *url = create(h, "/a", 4, "");
    char *line = ash__sprintf("PATCH %s", url);
    visit *one = visit_start(ash__site_service(), h->site, line, BYTES "Upload-Offset: 0\n", 4);
    visit *two = visit_start(ash__site_service(), h->site, line, BYTES "Upload-Offset: 0\n", 4);
    visit_send(one, "abcd", 4);
    visit_send(two, "abcd", 4);
    visit_end(one);
    visit_end(two);
    visit_expect(one, 204);
    visit_expect(two, 503);
    visit_free(one);
    visit_free(two);
    expect_offset(h, url, "4");
    ash_tree_entry *e = support_get(h->f, "a");
    assert_int_equal(ash_tree_entry_version(e), 1);
    ash_tree_entry_free(e);
    ash__free(line);
    ash__free(url);
}

/* Many parts, in pieces that end anywhere; the connection goes amid them. */
static void test_large(void **state)
{
    hosted *h = *state;
    enum { LENGTH = 5 * 1024 * 1024 + 7 };
    uint8_t *data = ash__alloc(LENGTH);
    for (size_t i = 0; i < LENGTH; i++)
        data[i] = (uint8_t)(i * 2654435761u >> 13);
    char *url = create(h, "/large", LENGTH, "");
    char *line = ash__sprintf("PATCH %s", url);
    visit *v = visit_start(ash__site_service(), h->site, line, BYTES "Upload-Offset: 0\n", LENGTH);
    for (size_t at = 0; at < 3000001;) {
        size_t n = 65521 < 3000001 - at ? 65521 : 3000001 - at;
        visit_send(v, data + at, n);
        at += n;
    }
    visit_free(v);
    expect_offset(h, url, "3000001");
    v = patch(h, url, 3000001, "", data + 3000001, LENGTH - 3000001);
    visit_expect(v, 204);
    visit_free(v);
    v = hosted_ask(h, "GET /large", NULL, NULL);
    visit_expect(v, 200);
    assert_int_equal(v->body.len, LENGTH);
    assert_memory_equal(v->body.data, data, LENGTH);
    visit_free(v);
    ash__free(line);
    ash__free(url);
    ash__free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_is_told, hosted_setup, hosted_teardown),
        cmocka_unit_test_setup_teardown(test_with_the_creation, hosted_setup, hosted_teardown),
        cmocka_unit_test_setup_teardown(test_refused_at_the_end, hosted_setup, hosted_teardown),
        cmocka_unit_test_setup_teardown(test_onto_the_version_that_was_seen, hosted_setup,
                                        hosted_teardown),
        cmocka_unit_test_setup_teardown(test_sums, hosted_setup, hosted_teardown),
        cmocka_unit_test_setup_teardown(test_twice_at_once, hosted_setup, hosted_teardown),
        cmocka_unit_test_setup_teardown(test_large, hosted_setup, hosted_teardown),
    };
    return cmocka_run_group_tests_name("http/site/uploads", tests, NULL, NULL);
}
