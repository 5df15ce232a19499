/* SPDX-License-Identifier: Apache-2.0 */
#include "share.h"

#include "http/dav/resource.h"

#include <ashlar/log.h>
#include <stdio.h>
#include <string.h>

/* GET and HEAD of files. */

enum {
    LARGE_BYTES = 300000, /* several pieces of an answer */
    END_BYTES = 32        /* of a multipart body, behind its last part */
};

static visit *get(share *s, const char *line, const char *fields)
{
    return share_ask(s, line, fields, NULL);
}

static void test_fields(void **state)
{
    share *s = *state;
    support_put_text(s->f, "a.html", "hello");
    for (int head = 0; head <= 1; head++) {
        visit *v = get(s, head ? "HEAD /a.html" : "GET /a.html", NULL);
        visit_expect(v, 200);
        visit_expect_body(v, head ? "" : "hello");
        assert_int_equal(v->x.length, 5);
        visit_expect_field(v, "Content-Type", "text/html");
        visit_expect_field(v, "Accept-Ranges", "bytes");
        visit_expect_field(v, "ETag", "\"2cf24dba5fb0a30e26e83b2ac5b9e29e\"");
        visit_expect_field(v, "Repr-Digest",
                           "sha-256=:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:");
        visit_expect_field(
            v, "OC-Checksum",
            "SHA256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824");
        visit_expect_field(v, "X-Content-Type-Options", "nosniff");
        const char *policy = visit_field(v, "Content-Security-Policy");
        assert_non_null(policy);
        assert_true(strncmp(policy, "sandbox; default-src 'none'", 27) == 0);
        assert_null(visit_field(v, "Content-Disposition"));
        visit_free(v);
    }
}

static void test_times(void **state)
{
    share *s = *state;
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    o.modified_ms = 784111777999;
    assert_ok(support_try_put(s->f, "a", "x", 1, &o, NULL), &s->f->err);
    visit *v = get(s, "GET /a", NULL);
    visit_expect_field(v, "Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT");
    visit_free(v);
    v = get(s, "GET /a", "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\n");
    visit_expect(v, 304);
    visit_expect_body(v, "");
    assert_non_null(visit_field(v, "ETag"));
    visit_free(v);
    share_expect(s, "GET /a", "If-Modified-Since: Sun, 06 Nov 1994 08:49:36 GMT\n", NULL, 200);
    share_expect(s, "GET /a", "If-Unmodified-Since: Sun, 06 Nov 1994 08:49:36 GMT\n", NULL, 412);
}

static void test_tags(void **state)
{
    share *s = *state;
    char fields[200];
    support_put_text(s->f, "a", "hello");
    char *etag = share_etag(s, "/a");
    snprintf(fields, sizeof fields, "If-None-Match: \"x\", W/%s\n", etag);
    share_expect(s, "GET /a", fields, NULL, 304);
    share_expect(s, "HEAD /a", fields, NULL, 304);
    snprintf(fields, sizeof fields, "If-Match: %s\n", etag);
    share_expect(s, "GET /a", fields, NULL, 200);
    support_put_text(s->f, "a", "another");
    share_expect(s, "GET /a", fields, NULL, 412);
    ash__free(etag);
}

static void test_names(void **state)
{
    share *s = *state;
    support_put_text(s->f, "a;b \"c\" \xc3\xa9(1).txt", "x");
    visit *v = get(s, "GET /a;b%20%22c%22%20%C3%A9(1).txt?download", NULL);
    visit_expect(v, 200);
    visit_expect_field(v, "Content-Disposition",
                       "attachment; filename=\"a;b _c_ __(1).txt\"; "
                       "filename*=UTF-8''a%3Bb%20%22c%22%20%C3%A9%281%29.txt");
    visit_free(v);
}

/* In a table that is searched by halves, one row at a wrong place hides others. */
static void test_types(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"a.7z", "application/x-7z-compressed"},
        {"a.css", "text/css; charset=utf-8"},
        {"a.JPG", "image/jpeg"},
        {"a.jpeg", "image/jpeg"},
        {"a.js", "text/javascript; charset=utf-8"},
        {"a.json", "application/json"},
        {"a.md", "text/markdown; charset=utf-8"},
        {"a.mp3", "audio/mpeg"},
        {"a.mp4", "video/mp4"},
        {"a.odt", "application/vnd.oasis.opendocument.text"},
        {"a.pdf", "application/pdf"},
        {"a.png", "image/png"},
        {"a.svg", "image/svg+xml"},
        {"a.tar.gz", "application/gzip"},
        {"a.txt", "text/plain; charset=utf-8"},
        {"a.webp", "image/webp"},
        {"a.woff", "font/woff"},
        {"a.woff2", "font/woff2"},
        {"a.xml", "application/xml"},
        {"a.zip", "application/zip"},
        {"a.zst", "application/zstd"},
        {"a.unheard-of", "application/octet-stream"},
        {"a.", "application/octet-stream"},
        {"txt", "application/octet-stream"},
        {"", "application/octet-stream"},
    };
    for (size_t i = 0; i < ASH_ARRAY_LEN(rows); i++)
        assert_string_equal(ash__dav_type_of_name(rows[i][0]), rows[i][1]);
}

static void test_folders(void **state)
{
    share *s = *state;
    support_folder(s->f, "d");
    support_put_text(s->f, "d/b", "x");
    support_put_text(s->f, "d/a\nc", "x");
    support_folder(s->f, "d/e");
    visit *v = get(s, "GET /d/", NULL);
    visit_expect(v, 200);
    visit_expect_body(v, "a?c\nb\ne/\n");
    visit_expect_field(v, "Content-Type", "text/plain; charset=utf-8");
    visit_free(v);
    share_expect(s, "HEAD /d", NULL, NULL, 200);
    share_expect(s, "GET /", NULL, NULL, 200);
    share_expect(s, "GET /d/b/", NULL, NULL, 404);
    share_expect(s, "GET /d/b/c", NULL, NULL, 404);
    share_expect(s, "GET /none", NULL, NULL, 404);
    share_expect(s, "GET /none/a", NULL, NULL, 404);
    share_expect(s, "GET /none", "If-None-Match: *\n", NULL, 404);
}

/* ---- ranges ---- */

static void expect_part(share *s, const char *fields, int status, const char *range,
                        const char *body)
{
    visit *v = get(s, "GET /a", fields);
    visit_expect(v, status);
    if (range != NULL)
        visit_expect_field(v, "Content-Range", range);
    else
        assert_null(visit_field(v, "Content-Range"));
    if (body != NULL)
        visit_expect_body(v, body);
    visit_free(v);
}

static void test_ranges(void **state)
{
    share *s = *state;
    char fields[300];
    support_put_text(s->f, "a", "0123456789");
    char *etag = share_etag(s, "/a");
    expect_part(s, "Range: bytes=2-4\n", 206, "bytes 2-4/10", "234");
    expect_part(s, "Range: bytes=7-\n", 206, "bytes 7-9/10", "789");
    expect_part(s, "Range: bytes=-1\n", 206, "bytes 9-9/10", "9");
    expect_part(s, "Range: bytes=0-99\n", 206, "bytes 0-9/10", "0123456789");
    expect_part(s, "Range: bytes=10-\n", 416, "bytes */10", NULL);
    expect_part(s, "Range: bytes=x\n", 200, NULL, "0123456789");
    expect_part(s, "Range: bytes=0-3,2-5\n", 200, NULL, "0123456789");
    snprintf(fields, sizeof fields, "Range: bytes=2-4\nIf-Range: %s\n", etag);
    expect_part(s, fields, 206, "bytes 2-4/10", "234");
    snprintf(fields, sizeof fields, "Range: bytes=2-4\nIf-Range: \"x\"\n");
    expect_part(s, fields, 200, NULL, "0123456789");
    snprintf(fields, sizeof fields, "Range: bytes=2-4\nIf-None-Match: %s\n", etag);
    expect_part(s, fields, 304, NULL, "");
    visit *v = get(s, "HEAD /a", "Range: bytes=2-4\n");
    visit_expect(v, 200);
    assert_int_equal(v->x.length, 10);
    visit_free(v);
    ash__free(etag);
}

/* A date that a client set is no proof that the bytes are the same. */
static void test_if_range_by_date(void **state)
{
    share *s = *state;
    char fields[300];
    support_put_text(s->f, "a", "0123456789");
    visit *v = get(s, "GET /a", NULL);
    snprintf(fields, sizeof fields, "Range: bytes=2-4\nIf-Range: %s\n",
             visit_field(v, "Last-Modified"));
    visit_free(v);
    expect_part(s, fields, 206, "bytes 2-4/10", "234");
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    o.modified_ms = 784111777000;
    assert_ok(support_try_put(s->f, "a", "abcdefghij", 10, &o, NULL), &s->f->err);
    expect_part(s, "Range: bytes=2-4\nIf-Range: Sun, 06 Nov 1994 08:49:37 GMT\n", 200, NULL,
                "abcdefghij");
}

static void test_multipart(void **state)
{
    share *s = *state;
    support_put_text(s->f, "a", "0123456789");
    visit *v = get(s, "GET /a", "Range: bytes=0-1, -2\n");
    visit_expect(v, 206);
    assert_null(visit_field(v, "Content-Range"));
    const char *type = visit_field(v, "Content-Type");
    assert_true(strncmp(type, "multipart/byteranges; boundary=", 31) == 0);
    char *wanted = ash__sprintf("--%s\r\nContent-Type: application/octet-stream\r\n"
                                "Content-Range: bytes 0-1/10\r\n\r\n01\r\n"
                                "--%s\r\nContent-Type: application/octet-stream\r\n"
                                "Content-Range: bytes 8-9/10\r\n\r\n89\r\n--%s--\r\n",
                                type + 31, type + 31, type + 31);
    visit_expect_body(v, wanted);
    ash__free(wanted);
    visit_free(v);
}

static void test_large(void **state)
{
    share *s = *state;
    uint8_t *data = support_bytes(LARGE_BYTES, 1);
    support_put(s->f, "a", data, LARGE_BYTES);
    visit *v = get(s, "GET /a", NULL);
    visit_expect(v, 200);
    assert_int_equal(v->body.len, LARGE_BYTES);
    assert_memory_equal(v->body.data, data, LARGE_BYTES);
    visit_free(v);
    v = get(s, "GET /a", "Range: bytes=1000-199999\n");
    visit_expect(v, 206);
    assert_int_equal(v->body.len, 199000);
    assert_memory_equal(v->body.data, data + 1000, 199000);
    visit_free(v);
    v = get(s, "GET /a", "Range: bytes=0-99999, 200000-\n");
    visit_expect(v, 206);
    assert_int_equal(v->body.len, v->x.length);
    assert_memory_equal(v->body.data + v->body.len - END_BYTES - 100000, data + 200000, 100000);
    visit_free(v);
    ash__free(data);
}

/* A client that goes in the middle of an answer. */
static void test_client_goes(void **state)
{
    share *s = *state;
    uint8_t *data = support_bytes(LARGE_BYTES, 1);
    support_put(s->f, "a", data, LARGE_BYTES);
    visit *v = share_start(s, "GET /a", NULL, 0);
    assert_int_equal(v->x.status, 200);
    assert_true(v->x.is_streamed);
    ash__buffer_clear(&v->x.body);
    assert_int_equal(v->x.more(&v->x, &v->x.body), ASH_MORE_TO_COME);
    visit_free(v);
    ash__free(data);
}

/* The answer is of the version that was there when it began. */
static void test_version_stays(void **state)
{
    share *s = *state;
    uint8_t *data = support_bytes(LARGE_BYTES, 1);
    support_put(s->f, "a", data, LARGE_BYTES);
    visit *v = share_start(s, "GET /a", NULL, 0);
    support_put_text(s->f, "a", "another");
    support_remove(s->f, "a");
    visit_end(v);
    visit_expect(v, 200);
    assert_int_equal(v->body.len, LARGE_BYTES);
    assert_memory_equal(v->body.data, data, LARGE_BYTES);
    visit_free(v);
    ash__free(data);
}

/* ---- damage ---- */

static void remove_chunk(share *s, const char *filter)
{
    bson_error_t reason;
    bson_t *which = bson_new_from_json((const uint8_t *)filter, -1, &reason);
    assert_non_null(which);
    assert_ok(ash_collection_remove(s->f->chunks, which, NULL, NULL, &s->f->err), &s->f->err);
    bson_destroy(which);
    s->f->damaged = true;
}

static void test_damage_at_the_beginning(void **state)
{
    share *s = *state;
    uint8_t *data = support_bytes(LARGE_BYTES, 1);
    support_put(s->f, "a", data, LARGE_BYTES);
    remove_chunk(s, "{\"n\": 0}");
    visit *v = get(s, "GET /a", NULL);
    visit_expect(v, 500);
    assert_non_null(strstr(ash__buffer_text(&v->body), "damaged"));
    assert_null(visit_field(v, "ETag"));
    assert_null(visit_field(v, "Repr-Digest"));
    visit_free(v);
    ash__free(data);
}

static void test_damage_in_the_middle(void **state)
{
    share *s = *state;
    uint8_t *data = support_bytes(LARGE_BYTES, 1);
    support_put(s->f, "a", data, LARGE_BYTES);
    remove_chunk(s, "{\"n\": 1}");
    visit *v = get(s, "GET /a", NULL);
    assert_int_equal(v->status, 200);
    assert_true(v->cut);
    assert_true(v->body.len < LARGE_BYTES);
    assert_memory_equal(v->body.data, data, v->body.len);
    visit_free(v);
    ash__free(data);
}

static void ignore(void *ctx, ash_log_level level, const char *text)
{
    (void)ctx, (void)level, (void)text;
}

int main(void)
{
#define share_test(name) cmocka_unit_test_setup_teardown(name, share_setup, share_teardown)
    const struct CMUnitTest tests[] = {
        share_test(test_fields),
        share_test(test_times),
        share_test(test_tags),
        share_test(test_names),
        cmocka_unit_test(test_types),
        share_test(test_folders),
        share_test(test_ranges),
        share_test(test_if_range_by_date),
        share_test(test_multipart),
        share_test(test_large),
        share_test(test_client_goes),
        share_test(test_version_stays),
        share_test(test_damage_at_the_beginning),
        share_test(test_damage_in_the_middle),
    };
    ash_log_set(ignore, NULL, ASH_LOG_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
