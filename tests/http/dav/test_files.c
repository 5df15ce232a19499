/* SPDX-License-Identifier: Apache-2.0 */
#include "share.h"

#include "http/dav/upload.h"

#include <stdio.h>
#include <string.h>

/* What changes files and folders: PUT, PATCH, MKCOL, DELETE, COPY, MOVE. */

static void expect_file(share *s, const char *path, const char *text)
{
    support_expect_text(s->f, path, text);
}

static char *match(const char *name, const char *etag)
{
    return ash__sprintf("%s: %s\n", name, etag);
}

/* ---- PUT ---- */

static void test_put(void **state)
{
    share *s = *state;
    visit *v = share_ask(s, "PUT /a.txt", NULL, "one");
    visit_expect(v, 201);
    char *etag = share_etag(s, "/a.txt");
    visit_expect_field(v, "ETag", etag);
    visit_free(v);
    v = share_ask(s, "PUT /a.txt", NULL, "two");
    visit_expect(v, 204);
    assert_string_not_equal(visit_field(v, "ETag"), etag);
    visit_free(v);
    expect_file(s, "a.txt", "two");
    support_expect_version(s->f, "a.txt", 2);
    share_expect(s, "PUT /empty", NULL, NULL, 201);
    expect_file(s, "empty", "");
    ash__free(etag);
}

static void test_put_places(void **state)
{
    share *s = *state;
    support_folder(s->f, "d");
    support_put_text(s->f, "f", "x");
    share_expect(s, "PUT /d/a", NULL, "one", 201);
    share_expect(s, "PUT /none/a", NULL, "one", 409);
    share_expect(s, "PUT /f/a", NULL, "one", 409);
    share_expect(s, "PUT /f/a/b", NULL, "one", 409);
    share_expect(s, "PUT /d", NULL, "one", 405);
    share_expect(s, "PUT /d/", NULL, "one", 405);
    share_expect(s, "PUT /new/", NULL, "one", 405);
    share_expect(s, "PUT /", NULL, "one", 405);
    support_expect_list(s->f, "", true, 0, "/d /d/a /f");
    char *line = ash__sprintf("PUT /%01100d", 1);
    share_expect(s, line, NULL, "one", 400);
    ash__free(line);
}

static void test_put_conditions(void **state)
{
    share *s = *state;
    share_expect(s, "PUT /a", "If-Match: *\n", "one", 412);
    share_expect(s, "PUT /a", "If-None-Match: *\n", "one", 201);
    share_expect(s, "PUT /a", "If-None-Match: *\n", "two", 412);
    char *etag = share_etag(s, "/a");
    char *fields = match("If-Match", etag);
    share_expect(s, "PUT /a", fields, "two", 204);
    share_expect(s, "PUT /a", fields, "three", 412);
    share_expect(s, "PUT /a", "If-Unmodified-Since: Sun, 06 Nov 1994 08:49:37 GMT\n", "four", 412);
    share_expect(s, "PUT /a", "If-Match: \"other\"\n", "five", 412);
    expect_file(s, "a", "two");
    ash__free(fields);
    ash__free(etag);
}

/* Both saw the same version, and both may write it: one of them finds out that he must not. */
static void test_two_writers(void **state)
{
    share *s = *state;
    support_put_text(s->f, "a", "zero");
    char *etag = share_etag(s, "/a");
    char *fields = match("If-Match", etag);
    visit *first = share_start(s, "PUT /a", fields, 3),
          *second = share_start(s, "PUT /a", fields, 3);
    visit_send(first, "one", 3);
    visit_send(second, "two", 3);
    visit_end(second);
    visit_end(first);
    visit_expect(second, 204);
    visit_expect(first, 412);
    expect_file(s, "a", "two");
    visit_free(first);
    visit_free(second);
    /* A new name likewise. */
    first = share_start(s, "PUT /b", "If-None-Match: *\n", 3);
    second = share_start(s, "PUT /b", "If-None-Match: *\n", 3);
    visit_send(first, "one", 3);
    visit_send(second, "two", 3);
    visit_end(first);
    visit_end(second);
    visit_expect(first, 201);
    visit_expect(second, 412);
    expect_file(s, "b", "one");
    visit_free(first);
    visit_free(second);
    ash__free(fields);
    ash__free(etag);
}

/* Without a condition the last one counts. */
static void test_two_writers_without(void **state)
{
    share *s = *state;
    visit *first = share_start(s, "PUT /a", NULL, -1), *second = share_start(s, "PUT /a", NULL, -1);
    visit_send(first, "one", 3);
    visit_send(second, "two", 3);
    visit_end(second);
    visit_end(first);
    visit_expect(second, 201);
    assert_int_equal(first->status / 100, 2);
    expect_file(s, "a", "one");
    support_expect_version(s->f, "a", 2);
    visit_free(first);
    visit_free(second);
}

static void test_put_that_ends_early(void **state)
{
    share *s = *state;
    support_put_text(s->f, "a", "old");
    visit *v = share_start(s, "PUT /a", NULL, 100);
    visit_send(v, "new", 3);
    visit_free(v);
    v = share_start(s, "PUT /b", NULL, -1);
    visit_send(v, "new", 3);
    visit_free(v);
    expect_file(s, "a", "old");
    support_expect_list(s->f, "", true, 0, "/a");
}

/* Finder's chunks, complete and not; and what a proxy that knows no chunks makes of them. */
static void test_expected_length(void **state)
{
    share *s = *state;
    visit *v = share_start(s, "PUT /a", "X-Expected-Entity-Length: 3\n", -1);
    visit_send(v, "one", 3);
    visit_end(v);
    visit_expect(v, 201);
    visit_free(v);
    v = share_start(s, "PUT /b", "X-Expected-Entity-Length: 4\n", -1);
    visit_send(v, "one", 3);
    visit_end(v);
    visit_expect(v, 400);
    visit_free(v);
    share_expect(s, "PUT /b", "X-Expected-Entity-Length: 4\n", NULL, 400);
    share_expect(s, "PUT /b", "X-Expected-Entity-Length: 4\n", "one", 400);
    share_expect(s, "PUT /b", "X-Expected-Entity-Length: many\n", "one", 201);
    support_expect_list(s->f, "", true, 0, "/a /b");
}

static void test_digests(void **state)
{
    share *s = *state;
    static const char *const good[] = {
        "OC-Checksum: SHA256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824\n",
        "OC-Checksum: SHA1:AAF4C61DDCC5E8A2DABEDE0F3B482CD9AEA9434D\n",
        "OC-Checksum: MD5:5d41402abc4b2a76b9719d911017c592\n",
        "OC-Checksum: ADLER32:062c0215\n",
        "Repr-Digest: sha-256=:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:\n",
        "Content-Digest: sha-512=:AAAA:, sha-256=:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:\n",
        "Digest: SHA-256=LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=\n",
        "Content-MD5: XUFAKrxLKna5cZ2REBfFkg==\n",
    };
    static const char *const bad[] = {
        "OC-Checksum: SHA256:3cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824\n",
        "OC-Checksum: SHA1:BAF4C61DDCC5E8A2DABEDE0F3B482CD9AEA9434D\n",
        "OC-Checksum: MD5:5d41\n",
        "OC-Checksum: what\n",
        "Repr-Digest: sha-256=:MPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:\n",
        "Content-Digest: sha-256=:AAAA:\n",
        "Digest: SHA=qvTGHdzF6KLavt4PO0gs2a6pQ00=, MD5=XXFAKrxLKna5cZ2REBfFkg==\n",
        "Content-MD5: YUFAKrxLKna5cZ2REBfFkg==\n",
    };
    for (size_t i = 0; i < ASH_ARRAY_LEN(good); i++) {
        share_expect(s, "PUT /a", good[i], "hello", i == 0 ? 201 : 204);
    }
    for (size_t i = 0; i < ASH_ARRAY_LEN(bad); i++)
        share_expect(s, "PUT /b", bad[i], "hello", 400);
    support_expect_missing(s->f, "b");
}

static void test_refused(void **state)
{
    share *s = *state;
    support_put_text(s->f, "a", "0123456789");
    share_expect(s, "PUT /a", "Content-Range: bytes 0-2/10\n", "xyz", 400);
    share_expect(s, "PUT /a", "Content-Encoding: gzip\n", "xyz", 415);
    share_expect(s, "PUT /a", "Content-Encoding: identity\n", "xyz", 204);
    share_expect(s, "POST /a", NULL, "xyz", 405);
    share_expect(s, "BREW /a", NULL, NULL, 405);
    expect_file(s, "a", "xyz");
}

static void expect_said(share *s, const char *path, const char *type, int64_t modified_ms)
{
    ash_tree_entry *e = support_get(s->f, path);
    const char *said = ash_tree_entry_content_type(e);
    if (type == NULL)
        assert_null(said);
    else
        assert_string_equal(said, type);
    if (modified_ms > 0)
        assert_int_equal(ash_tree_entry_modified_ms(e), modified_ms);
    else
        assert_int_equal(ash_tree_entry_modified_ms(e), ash_tree_entry_changed_ms(e));
    ash_tree_entry_free(e);
}

static void test_times_and_types(void **state)
{
    share *s = *state;
    static const struct {
        const char *fields, *type;
        int64_t modified_ms;
    } rows[] = {
        {"X-OC-Mtime: 784111777\n", NULL, 784111777000},
        {"X-OC-Mtime: 784111777.5\n", NULL, 784111777500},
        {"X-OC-Mtime: -1\n", NULL, 0},
        {"X-OC-Mtime: nan\n", NULL, 0},
        {"X-OC-Mtime: 1e300\n", NULL, 0},
        {"X-OC-Mtime: 12 o'clock\n", NULL, 0},
        {"X-OC-CTime: 784111777\n", NULL, 0},
        {"Content-Type: image/x-own\n", "image/x-own", 0},
        {"Content-Type: text/plain; charset=latin1\n", "text/plain; charset=latin1", 0},
        {"Content-Type: application/octet-stream\n", NULL, 0},
        {"Content-Type: Application/X-WWW-Form-Urlencoded; charset=utf-8\n", NULL, 0},
    };
    for (size_t i = 0; i < ASH_ARRAY_LEN(rows); i++) {
        char line[20];
        snprintf(line, sizeof line, "PUT /%zu", i);
        visit *v = share_ask(s, line, rows[i].fields, "x");
        visit_expect(v, 201);
        if (rows[i].modified_ms > 0)
            visit_expect_field(v, "X-OC-Mtime", "accepted");
        else
            assert_null(visit_field(v, "X-OC-Mtime"));
        assert_null(visit_field(v, "X-OC-CTime"));
        visit_free(v);
        expect_said(s, line + 4, rows[i].type, rows[i].modified_ms);
    }
}

/* As many as may have their bytes in memory, and one more; small ones always may. */
static void test_many_uploads(void **state)
{
    share *s = *state;
    enum { COUNT = ASH_DAV_UPLOADS_BYTES / ASH_DAV_PIECE_BYTES };
    visit *visits[COUNT];
    for (int i = 0; i < COUNT; i++) {
        char line[20];
        snprintf(line, sizeof line, "PUT /%d", i);
        visits[i] = share_start(s, line, NULL, -1);
        assert_int_equal(visits[i]->x.status, 0);
    }
    visit *v = share_start(s, "PUT /a", NULL, -1);
    visit_end(v);
    visit_expect(v, 503);
    assert_non_null(visit_field(v, "Retry-After"));
    visit_free(v);
    share_expect(s, "PUT /small", NULL, "x", 201);
    visit_free(visits[0]);
    v = share_start(s, "PUT /a", NULL, -1);
    visit_send(v, "x", 1);
    visit_end(v);
    visit_expect(v, 201);
    visit_free(v);
    for (int i = 1; i < COUNT; i++)
        visit_free(visits[i]);
    assert_int_equal(s->dav->upload_bytes, 0);
    support_expect_list(s->f, "", true, 0, "/a /small");
}

/* ---- PATCH ---- */

static void test_patch(void **state)
{
    share *s = *state;
    static const struct {
        const char *range, *body, *wanted; /* wanted NULL: refused */
        int status;
    } rows[] = {
        {"append", "xyz", "0123456789xyz", 204},
        {"bytes=0-2", "xyz", "xyz3456789", 204},
        {"bytes=4-6", "xyz", "0123xyz789", 204},
        {"bytes=8-10", "xyz", "01234567xyz", 204},
        {"bytes=4-", "xyz", "0123xyz789", 204},
        {"bytes=10-", "xyz", "0123456789xyz", 204},
        {"bytes=-3", "xyz", "0123456xyz", 204},
        {"bytes=-30", "xyz", "xyz3456789", 204},
        {"bytes=4-5", "xyz", NULL, 400},
        {"bytes=4-9", "xyz", NULL, 400},
        {"bytes=11-", "xyz", NULL, 416},
        {"bytes=5-4", "xyz", NULL, 400},
        {"bytes=99999999999999999999-", "xyz", NULL, 400},
        {"bytes=a-", "xyz", NULL, 400},
        {"bytes=1", "xyz", NULL, 400},
        {"prepend", "xyz", NULL, 400},
    };
    for (size_t i = 0; i < ASH_ARRAY_LEN(rows); i++) {
        char *fields = ash__sprintf("Content-Type: application/x-sabredav-partialupdate\n"
                                    "X-Update-Range: %s\n",
                                    rows[i].range);
        support_put_text(s->f, "a", "0123456789");
        visit *v = share_ask(s, "PATCH /a", fields, rows[i].body);
        if (v->status != rows[i].status)
            fail_msg("%s: %d", rows[i].range, v->status);
        expect_file(s, "a", rows[i].wanted != NULL ? rows[i].wanted : "0123456789");
        if (rows[i].wanted != NULL)
            assert_non_null(visit_field(v, "ETag"));
        visit_free(v);
        expect_said(s, "a", NULL, 0);
        ash__free(fields);
    }
}

static void test_recalculate(void **state)
{
    share *s = *state;
    static const char *const rows[][2] = {
        {"md5", "MD5:5d41402abc4b2a76b9719d911017c592"},
        {"SHA1", "SHA1:aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d"},
        {"sha256", "SHA256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"},
    };
    support_put_text(s->f, "a", "hello");
    share_expect(s, "MKCOL /f", NULL, NULL, 201);
    for (size_t i = 0; i < ASH_ARRAY_LEN(rows); i++) {
        char field[64];
        snprintf(field, sizeof field, "X-Recalculate-Hash: %s\n", rows[i][0]);
        visit *v = share_ask(s, "PATCH /a", field, NULL);
        visit_expect(v, 204);
        visit_expect_field(v, "OC-Checksum", rows[i][1]);
        visit_free(v);
    }
    share_expect(s, "PATCH /a", "X-Recalculate-Hash: crc32\n", NULL, 400);
    share_expect(s, "PATCH /b", "X-Recalculate-Hash: md5\n", NULL, 404);
    share_expect(s, "PATCH /f", "X-Recalculate-Hash: md5\n", NULL, 404);
    ash_tree_entry *e = NULL;
    assert_ok(ash_tree_get(s->f->tree, "/a", NULL, NULL, &e, &s->f->err), &s->f->err);
    assert_int_equal(ash_tree_entry_version(e), 1);
    ash_tree_entry_free(e);
}

static void test_patch_refused(void **state)
{
    share *s = *state;
    support_put_text(s->f, "a", "0123456789");
    support_folder(s->f, "d");
    visit *v = share_ask(s, "PATCH /a", "Content-Range: bytes 0-2/10\n", "xyz");
    visit_expect(v, 415);
    visit_expect_field(v, "Accept-Patch", "application/x-sabredav-partialupdate");
    visit_free(v);
    share_expect(s, "PATCH /b", "X-Update-Range: append\n", "xyz", 404);
    share_expect(s, "PATCH /d", "X-Update-Range: append\n", "xyz", 405);
    share_expect(s, "PATCH /a", "X-Update-Range: append\nIf-Match: \"x\"\n", "xyz", 412);
    v = share_start(s, "PATCH /a", "X-Update-Range: append\n", 6);
    visit_send(v, "xyz", 3);
    visit_free(v);
    expect_file(s, "a", "0123456789");
}

/* Two that append: no byte of either is lost without its client being told. */
static void test_two_patches(void **state)
{
    share *s = *state;
    support_put_text(s->f, "a", "0");
    visit *first = share_start(s, "PATCH /a", "X-Update-Range: append\n", 1);
    visit *second = share_start(s, "PATCH /a", "X-Update-Range: append\n", 1);
    visit_send(first, "1", 1);
    visit_send(second, "2", 1);
    visit_end(first);
    visit_end(second);
    visit_expect(first, 204);
    visit_expect(second, 409);
    expect_file(s, "a", "01");
    visit_free(first);
    visit_free(second);
}

/* ---- MKCOL and DELETE ---- */

static void test_mkcol(void **state)
{
    share *s = *state;
    share_expect(s, "MKCOL /d", NULL, NULL, 201);
    share_expect(s, "MKCOL /e/", NULL, NULL, 201);
    share_expect(s, "MKCOL /d", NULL, NULL, 405);
    share_expect(s, "MKCOL /", NULL, NULL, 405);
    share_expect(s, "PUT /f", NULL, "x", 201);
    share_expect(s, "MKCOL /f", NULL, NULL, 405);
    share_expect(s, "MKCOL /none/d", NULL, NULL, 409);
    share_expect(s, "MKCOL /f/d", NULL, NULL, 409);
    share_expect(s, "MKCOL /g", NULL, "<x/>", 415);
    share_expect(s, "MKCOL /g", "If-Match: *\n", NULL, 412);
    support_expect_list(s->f, "", true, 0, "/d /e /f");
}

static void test_delete(void **state)
{
    share *s = *state;
    support_folder(s->f, "d");
    support_put_text(s->f, "d/a", "x");
    support_put_text(s->f, "b", "x");
    share_expect(s, "DELETE /none", NULL, NULL, 404);
    share_expect(s, "DELETE /none/a", NULL, NULL, 404);
    share_expect(s, "DELETE /b/", NULL, NULL, 404);
    share_expect(s, "DELETE /b/c", NULL, NULL, 404);
    share_expect(s, "DELETE /", NULL, NULL, 403);
    share_expect(s, "DELETE /d", "Depth: 0\n", NULL, 400);
    share_expect(s, "DELETE /d", "Depth: 1\n", NULL, 400);
    share_expect(s, "DELETE /b", "If-Match: \"x\"\n", NULL, 412);
    support_expect_list(s->f, "", true, 0, "/b /d /d/a");
    share_expect(s, "DELETE /b", "Depth: 0\n", NULL, 204);
    share_expect(s, "DELETE /d/", "Depth: Infinity\n", NULL, 204);
    support_expect_list(s->f, "", true, 0, "");
}

/* ---- COPY and MOVE ---- */

static void make_places(share *s)
{
    support_folder(s->f, "d");
    support_folder(s->f, "d/sub");
    support_put_text(s->f, "d/sub/x", "deep");
    support_put_text(s->f, "a", "file a");
    support_put_text(s->f, "b", "file b");
    support_folder(s->f, "e");
    support_put_text(s->f, "e/y", "of e");
}

static void test_copy(void **state)
{
    share *s = *state;
    make_places(s);
    share_expect(s, "COPY /a", "Destination: /c\n", NULL, 201);
    expect_file(s, "c", "file a");
    share_expect(s, "COPY /a", "Destination: http://localhost:8080/b\n", NULL, 204);
    expect_file(s, "b", "file a");
    support_expect_version(s->f, "b", 2);
    share_expect(s, "COPY /d", "Destination: /e/\n", NULL, 204);
    support_expect_list(s->f, "e", true, 0, "/e/sub /e/sub/x");
    share_expect(s, "COPY /d", "Destination: /new\nDepth: infinity\n", NULL, 201);
    expect_file(s, "new/sub/x", "deep");
    share_expect(s, "COPY /d", "Destination: /flat\nDepth: 0\n", NULL, 201);
    support_expect_list(s->f, "flat", true, 0, "");
    share_expect(s, "COPY /a", "Destination: /d\n", NULL, 204);
    expect_file(s, "d", "file a");
    share_expect(s, "COPY /e", "Destination: /a\n", NULL, 204);
    expect_file(s, "a/sub/x", "deep");
    expect_file(s, "e/sub/x", "deep");
}

static void test_move(void **state)
{
    share *s = *state;
    make_places(s);
    bson_value_t id = support_id(s->f, "a");
    share_expect(s, "MOVE /a", "Destination: /e/a%20b\n", NULL, 201);
    support_expect_id(s->f, "e/a b", &id);
    support_expect_missing(s->f, "a");
    share_expect(s, "MOVE /e/a%20b", "Destination: /b\n", NULL, 204);
    expect_file(s, "b", "file a");
    share_expect(s, "MOVE /d", "Destination: /e\n", NULL, 204);
    support_expect_list(s->f, "", true, 0, "/b /e /e/sub /e/sub/x");
    share_expect(s, "MOVE /b", "Destination: /e\nDepth: infinity\n", NULL, 204);
    support_expect_list(s->f, "", true, 0, "/e");
    expect_file(s, "e", "file a");
    support_folder(s->f, "g");
    share_expect(s, "MOVE /g", "Destination: /e\n", NULL, 204);
    support_expect_list(s->f, "e", true, 0, "");
}

/* What was replaced is in the trash. */
static void test_replaced(void **state)
{
    share *s = *state;
    ash_tree_listing *l = NULL;
    make_places(s);
    share_expect(s, "MOVE /a", "Destination: /b\n", NULL, 204);
    support_moment(s->f); /* so that the order is certain */
    share_expect(s, "COPY /d", "Destination: /e\n", NULL, 204);
    assert_ok(ash_tree_trash(s->f->tree, "", 0, NULL, &l, &s->f->err), &s->f->err);
    support_expect_entries(s->f, l, true, "/e /e/y /b");
}

/* More than one commit takes, on either side. */
static void test_replace_large(void **state)
{
    share *s = *state;
    enum { SQUARE = 101 };
    char name[20];
    support_folder(s->f, "big");
    support_folder(s->f, "big/0");
    for (int i = 0; i < SQUARE; i++) {
        snprintf(name, sizeof name, "big/0/%d", i);
        support_put_text(s->f, name, "x");
    }
    for (int i = 1; i < SQUARE; i++) {
        snprintf(name, sizeof name, "big/%d", i);
        support_copy(s->f, "big/0", name);
    }
    support_put_text(s->f, "a", "file a");
    share_expect(s, "COPY /big", "Destination: /a\n", NULL, 204);
    expect_file(s, "a/100/100", "x");
    support_put_text(s->f, "b", "file b");
    share_expect(s, "MOVE /b", "Destination: /big\n", NULL, 204);
    expect_file(s, "big", "file b");
    share_expect(s, "DELETE /a", NULL, NULL, 204);
    support_expect_list(s->f, "", true, 0, "/big");
}

static void test_copy_refused(void **state)
{
    share *s = *state;
    static const struct {
        const char *fields;
        int copy, move;
    } rows[] = {
        {NULL, 400, 400},
        {"Destination: nonsense\n", 400, 400},
        {"Destination: /%zz\n", 400, 400},
        {"Destination: /../x\n", 400, 400},
        {"Destination: http://elsewhere.example/x\n", 502, 502},
        {"Destination: http://localhost.elsewhere.example/x\n", 502, 502},
        {"Destination: /.ashlar/x\n", 403, 403},
        {"Destination: /.ashlar\n", 403, 403},
        {"Destination: /d\n", 403, 403},
        {"Destination: /d/\n", 403, 403},
        {"Destination: /d/sub/new\n", 403, 403},
        {"Destination: /\n", 403, 403},
        {"Destination: /none/x\n", 409, 409},
        {"Destination: /a/x\n", 409, 409},
        {"Destination: /e\nOverwrite: F\n", 412, 412},
        {"Destination: /a\nOverwrite: f\n", 412, 412},
        {"Destination: /new\nDepth: 1\n", 400, 400},
        {"Destination: /new\nDepth: many\n", 400, 400},
        {"Destination: /new\nIf-Match: \"x\"\n", 412, 412},
        {"Destination: /new/../d\n", 400, 400},
    };
    make_places(s);
    for (size_t i = 0; i < ASH_ARRAY_LEN(rows); i++) {
        share_expect(s, "COPY /d", rows[i].fields, NULL, rows[i].copy);
        share_expect(s, "MOVE /d", rows[i].fields, NULL, rows[i].move);
    }
    share_expect(s, "MOVE /d", "Destination: /new\nDepth: 0\n", NULL, 400);
    share_expect(s, "COPY /none", "Destination: /new\n", NULL, 404);
    share_expect(s, "MOVE /none", "Destination: /new\n", NULL, 404);
    share_expect(s, "MOVE /", "Destination: /new\n", NULL, 403);
    share_expect(s, "MOVE /d/sub", "Destination: /d\n", NULL, 409);
    support_expect_list(s->f, "", true, 0, "/a /b /d /d/sub /d/sub/x /e /e/y");
    expect_file(s, "a", "file a");
}

/* ---- with locks ---- */

/* The token; ash__free(). */
static char *lock(share *s, const char *path, const char *depth)
{
    char *line = ash__sprintf("LOCK %s", path), *fields = ash__sprintf("Depth: %s\n", depth);
    visit *v = share_ask(s, line, fields,
                         "<D:lockinfo xmlns:D='DAV:'><D:lockscope><D:exclusive/></D:lockscope>"
                         "<D:locktype><D:write/></D:locktype></D:lockinfo>");
    visit_expect(v, 200);
    char *token = ash__strdup(visit_field(v, "Lock-Token"));
    visit_free(v);
    ash__free(line);
    ash__free(fields);
    return token;
}

/* Refused without the token, and done with it. */
static void expect_locked(share *s, const char *token, const char *line, const char *fields,
                          const char *body, int status)
{
    share_expect(s, line, fields, body, 423);
    char *with = ash__sprintf("%sIf: </d> (%s)\n", fields != NULL ? fields : "", token);
    share_expect(s, line, with, body, status);
    ash__free(with);
}

/* A folder that is locked by itself keeps its names; what its files say is their own. */
static void test_locked_folder(void **state)
{
    share *s = *state;
    make_places(s);
    support_put_text(s->f, "d/old", "old");
    char *token = lock(s, "/d", "0");
    share_expect(s, "PUT /d/old", NULL, "new", 204);
    expect_locked(s, token, "PUT /d/new", NULL, "new", 201);
    expect_locked(s, token, "MKCOL /d/folder", NULL, NULL, 201);
    expect_locked(s, token, "COPY /a", "Destination: /d/copy\n", NULL, 201);
    expect_locked(s, token, "MOVE /b", "Destination: /d/moved\n", NULL, 201);
    expect_locked(s, token, "DELETE /d/old", NULL, NULL, 204);
    share_expect(s, "COPY /d", "Destination: /e/d\n", NULL, 201);
    expect_locked(s, token, "MOVE /d", "Destination: /g\n", NULL, 201);
    /* Its lock stayed behind. */
    share_expect(s, "PUT /g/other", NULL, "x", 201);
    ash__free(token);
}

static void test_locked_below(void **state)
{
    share *s = *state;
    make_places(s);
    support_put_text(s->f, "d/old", "old");
    char *token = lock(s, "/d", "infinity");
    expect_locked(s, token, "PUT /d/old", NULL, "new", 204);
    expect_locked(s, token, "PATCH /d/sub/x", "X-Update-Range: append\n", "er", 204);
    expect_locked(s, token, "DELETE /d/sub", NULL, NULL, 204);
    expect_locked(s, token, "MOVE /d/old", "Destination: /new\n", NULL, 201);
    expect_file(s, "new", "new");
    ash__free(token);
}

/* ---- OPTIONS ---- */

static void test_options(void **state)
{
    share *s = *state;
    visit *v = share_ask(s, "OPTIONS /none", NULL, NULL);
    visit_expect(v, 200);
    const char *classes = visit_field(v, "DAV");
    assert_true(strncmp(classes, "1, 2, 3", 7) == 0);
    visit_expect_field(v, "MS-Author-Via", "DAV");
    visit_expect_field(v, "Accept-Patch", "application/x-sabredav-partialupdate");
    const char *allowed = visit_field(v, "Allow");
    static const char *const methods[] = {"OPTIONS", "GET",      "HEAD",     "PUT",  "PATCH",
                                          "DELETE",  "MKCOL",    "COPY",     "MOVE", "LOCK",
                                          "UNLOCK",  "PROPFIND", "PROPPATCH"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(methods); i++)
        assert_non_null(strstr(allowed, methods[i]));
    visit_free(v);
    v = share_ask(s, "BREW /", NULL, NULL);
    assert_non_null(visit_field(v, "Allow"));
    visit_free(v);
}

int main(void)
{
#define share_test(name) cmocka_unit_test_setup_teardown(name, share_setup, share_teardown)
    const struct CMUnitTest tests[] = {
        share_test(test_put),
        share_test(test_put_places),
        share_test(test_put_conditions),
        share_test(test_two_writers),
        share_test(test_two_writers_without),
        share_test(test_put_that_ends_early),
        share_test(test_expected_length),
        share_test(test_digests),
        share_test(test_refused),
        share_test(test_times_and_types),
        share_test(test_many_uploads),
        share_test(test_patch),
        share_test(test_patch_refused),
        share_test(test_recalculate),
        share_test(test_two_patches),
        share_test(test_mkcol),
        share_test(test_delete),
        share_test(test_copy),
        share_test(test_move),
        share_test(test_replaced),
        share_test(test_replace_large),
        share_test(test_copy_refused),
        share_test(test_locked_folder),
        share_test(test_locked_below),
        share_test(test_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
