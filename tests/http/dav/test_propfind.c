/* SPDX-License-Identifier: Apache-2.0 */
#include "share.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* PROPFIND, as clients count on it; litmus asks for the rest. */

#define ASK(props)                                                                                 \
    "<propfind xmlns=\"DAV:\" xmlns:O=\"http://owncloud.org/ns\"><prop>" props "</prop></"         \
    "propfind>"

static visit *ask(share *s, const char *path, const char *fields, const char *body)
{
    char *line = ash__sprintf("PROPFIND %s", path);
    visit *v = share_ask(s, line, fields, body);
    visit_expect(v, 207);
    ash__free(line);
    return v;
}

static bool holds(visit *v, const char *text)
{
    return strstr(ash__buffer_text(&v->body), text) != NULL;
}

static void expect_holds(visit *v, const char *text)
{
    if (!holds(v, text))
        fail_msg("no %s in %s", text, ash__buffer_text(&v->body));
}

/* What sync clients ask for is there, and only where it was asked for. */
static void test_properties_of_sync_clients(void **state)
{
    share *s = *state;
    char *id;
    support_put_text(s->f, "a", "one");
    visit *v = ask(s, "/a", "Depth: 0\n",
                   ASK("<O:fileid/><O:id/><O:size/><O:permissions/><O:checksums/>"));
    expect_holds(v, "<O:size>3</O:size>");
    expect_holds(v, "<O:permissions>RGDNVW</O:permissions>");
    expect_holds(v, "<O:checksums><O:checksum>SHA256:7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e"
                    "7143c0add73ff431ed</O:checksum></O:checksums>");
    const char *at = strstr(ash__buffer_text(&v->body), "<O:fileid>");
    assert_non_null(at);
    id = ash__sprintf("<O:id>%.24s</O:id>", at + strlen("<O:fileid>"));
    expect_holds(v, id);
    visit_free(v);
    /* It stays when the file is another, and has another name. */
    support_put_text(s->f, "a", "two");
    share_expect(s, "MOVE /a", "Destination: /b\n", NULL, 201);
    v = ask(s, "/b", "Depth: 0\n", ASK("<O:id/>"));
    expect_holds(v, id);
    visit_free(v);
    v = ask(s, "/b", "Depth: 0\n", NULL);
    assert_false(holds(v, "<O:"));
    visit_free(v);
    ash__free(id);
}

static void test_room(void **state)
{
    share *s = *state;
    support_folder(s->f, "d");
    visit *v = ask(s, "/d/", "Depth: 0\n", ASK("<quota-available-bytes/><quota-used-bytes/>"));
    const char *at = strstr(ash__buffer_text(&v->body), "<D:quota-available-bytes>");
    assert_non_null(at);
    assert_true(atoll(at + strlen("<D:quota-available-bytes>")) > 0);
    expect_holds(v, "<D:quota-used-bytes>");
    visit_free(v);
    v = ask(s, "/d/", "Depth: 0\n", NULL);
    assert_false(holds(v, "quota"));
    visit_free(v);
}

/* What a quota leaves is what there is, and what it refuses is refused as RFC 4331 has it. */
static void test_room_below_a_quota(void **state)
{
    share *s = *state;
    char *large = ash__sprintf("%*s", 2000000, "");
    support_folder(s->f, "d");
    support_folder(s->f, "d/e");
    support_put_text(s->f, "d/e/old", "12345678");
    support_put_text(s->f, "other", "1234");
    assert_ok(ash_tree_set_quota(s->f->tree, "d", 10, NULL, NULL, &s->f->err), &s->f->err);
    visit *v = ask(s, "/d/", "Depth: 1\n", ASK("<quota-available-bytes/><quota-used-bytes/>"));
    const char *body = ash__buffer_text(&v->body);
    const char *first = strstr(body, "<D:quota-available-bytes>2</D:quota-available-bytes>"
                                     "<D:quota-used-bytes>8</D:quota-used-bytes>");
    assert_non_null(first);
    assert_non_null(strstr(first + 1, "<D:quota-available-bytes>2</D:quota-available-bytes>"));
    visit_free(v);
    v = ask(s, "/", "Depth: 0\n", ASK("<quota-available-bytes/>"));
    assert_false(holds(v, "<D:quota-available-bytes>2</D:quota-available-bytes>"));
    visit_free(v);
    v = share_ask(s, "PUT /d/e/new", NULL, "123");
    visit_expect(v, 507);
    expect_holds(v, "<D:quota-not-exceeded/>");
    expect_holds(v, "over quota: /d may have 10 bytes and has 8; 3 more were to come");
    visit_free(v);
    share_expect(s, "PUT /d/e/new", NULL, large, 507); /* before it was kept */
    share_expect(s, "COPY /other", "Destination: /d/copy\n", NULL, 507);
    share_expect(s, "MOVE /other", "Destination: /d/e/moved\n", NULL, 507);
    share_expect(s, "PUT /d/e/new", NULL, "12", 201);
    share_expect(s, "PUT /d/e/old", NULL, "abcdefgh", 204);
    share_expect(s, "MKCOL /d/f", NULL, NULL, 201);
    support_expect_list(s->f, "d", true, 0, "/d/e /d/e/new /d/e/old /d/f");
    ash__free(large);
}

/* macOS takes accents apart, others do not: both are kept as they were sent, and are two names. */
static void test_names_as_they_were_sent(void **state)
{
    static const char *const names[] = {"/caf%C3%A9", "/cafe%CC%81", "/%3Cb%3E%26%23%25%3F",
                                        "/a%20b;c=d,e", "/%E6%97%A5%E6%9C%AC"};
    share *s = *state;
    for (size_t i = 0; i < ASH_ARRAY_LEN(names); i++) {
        char *line = ash__sprintf("PUT %s", names[i]);
        share_expect(s, line, NULL, names[i], 201);
        ash__free(line);
    }
    visit *v = ask(s, "/", "Depth: 1\n", NULL);
    expect_holds(v, "<D:href>/caf%C3%A9</D:href>");
    expect_holds(v, "<D:href>/cafe%CC%81</D:href>");
    expect_holds(v, "<D:href>/%3Cb%3E%26%23%25%3F</D:href>");
    expect_holds(v, "<D:displayname>&lt;b&gt;&amp;#%?</D:displayname>");
    expect_holds(v, "<D:href>/%E6%97%A5%E6%9C%AC</D:href>");
    visit_free(v);
    for (size_t i = 0; i < ASH_ARRAY_LEN(names); i++) {
        char *line = ash__sprintf("GET %s", names[i]);
        v = share_ask(s, line, NULL, NULL);
        visit_expect_body(v, names[i]);
        visit_free(v);
        ash__free(line);
    }
}

/* Explorer does not follow a redirection here. */
static void test_a_folder_without_its_slash(void **state)
{
    share *s = *state;
    support_folder(s->f, "d");
    visit *v = ask(s, "/d", "Depth: 0\n", NULL);
    expect_holds(v, "<D:href>/d/</D:href>");
    visit_free(v);
}

static void test_refused(void **state)
{
    share *s = *state;
    static const char *const depths[] = {NULL, "Depth: infinity\n", "Depth: Infinity\n"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(depths); i++) {
        visit *v = share_ask(s, "PROPFIND /", depths[i], NULL);
        visit_expect(v, 403);
        expect_holds(v, "<D:propfind-finite-depth/>");
        visit_free(v);
    }
    share_expect(s, "PROPFIND /", "Depth: 2\n", NULL, 400);
    share_expect(s, "PROPFIND /._a", "Depth: 0\n", NULL, 404);
    share_expect(s, "PROPFIND /", "Depth: 0\n", "<propfind", 400);
    share_expect(s, "PROPFIND /", "Depth: 0\n",
                 "<!DOCTYPE a [<!ENTITY b \"b\">]><propfind xmlns=\"DAV:\"><allprop/></propfind>",
                 400);
    char *large = ash__sprintf(ASK("%*s<getetag/>"), 70000, "");
    share_expect(s, "PROPFIND /", "Depth: 0\n", large, 413);
    ash__free(large);
    /* Deep or wide, it is refused before it costs anything. */
    ash_buffer deep = ASH_BUFFER_INIT;
    for (int i = 0; i < 1000; i++)
        ash__buffer_append_text(&deep, "<a xmlns=\"DAV:\">");
    share_expect(s, "PROPFIND /", "Depth: 0\n", ash__buffer_text(&deep), 400);
    deep.len = 0;
    ash__buffer_append_text(&deep, "<propfind xmlns=\"DAV:\"><prop>");
    for (int i = 0; i < 5000; i++)
        ash__buffer_append_text(&deep, "<a/>");
    ash__buffer_append_text(&deep, "</prop></propfind>");
    share_expect(s, "PROPFIND /", "Depth: 0\n", ash__buffer_text(&deep), 400);
    ash__buffer_release(&deep);
    /* Litmus and others name no type, or another. */
    share_expect(s, "PROPFIND /", "Depth: 0\nContent-Type: application/x-www-form-urlencoded\n",
                 ASK("<getetag/>"), 207);
}

#define T(name) cmocka_unit_test_setup_teardown(test_##name, share_setup, share_teardown)

/* Of gzip; *len: of what comes out, which is NULL when it is not whole. */
static char *unzip(const ash_buffer *in, size_t *len)
{
    enum { MOST = 4 * 1024 * 1024 };
    z_stream z = {.next_in = in->data, .avail_in = (unsigned)in->len, .avail_out = MOST};
    char *out = malloc(MOST);
    z.next_out = (unsigned char *)out;
    assert_non_null(out);
    assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
    int rc = inflate(&z, Z_FINISH);
    *len = (size_t)z.total_out;
    bool whole = rc == Z_STREAM_END && z.avail_in == 0;
    (void)inflateEnd(&z);
    if (!whole) {
        free(out);
        out = NULL;
    }
    return out;
}

/* Who is far away, and asks for it, gets long answers smaller; on this machine they go as they are. */
static void test_gzip(void **state)
{
    share *s = *state;
    static const struct {
        bool far;
        const char *fields;
        bool squeezed;
    } rows[] = {
        {true, "Depth: 1\nAccept-Encoding: gzip, deflate\n", true},
        {false, "Depth: 1\nAccept-Encoding: gzip\nX-Forwarded-For: 192.0.2.1\n", true},
        {false, "Depth: 1\nAccept-Encoding: gzip\n", false},
        {true, "Depth: 1\nAccept-Encoding: gzip;q=0, identity\n", false},
        {true, "Depth: 1\n", false},
        {true, "Depth: 0\nAccept-Encoding: gzip\n", false},
    };
    char name[64];
    for (int i = 0; i < 400; i++) {
        snprintf(name, sizeof name, "file number %d", i);
        support_put_text(s->f, name, "x");
    }
    visit *plain = ask(s, "/", "Depth: 1\n", NULL);
    assert_true(plain->body.len > 2 * ASH_PIECE_BYTES);
    for (size_t i = 0; i < ASH_ARRAY_LEN(rows); i++) {
        size_t len = 0;
        visit_is_far = rows[i].far;
        visit *v = ask(s, "/", rows[i].fields, NULL);
        visit_is_far = false;
        const char *coding = visit_field(v, "Content-Encoding");
        assert_int_equal(coding != NULL, rows[i].squeezed);
        if (rows[i].squeezed) {
            visit_expect_field(v, "Vary", "Accept-Encoding");
            assert_true(v->body.len < plain->body.len / 4);
            char *text = unzip(&v->body, &len);
            assert_non_null(text);
            assert_int_equal(len, plain->body.len);
            assert_memory_equal(text, plain->body.data, len);
            free(text);
        }
        visit_free(v);
    }
    visit_free(plain);
}

/* A client that goes in the midst of it leaves nothing. */
static void test_gzip_that_nobody_waits_for(void **state)
{
    share *s = *state;
    char name[64];
    for (int i = 0; i < 400; i++) {
        snprintf(name, sizeof name, "file number %d", i);
        support_put_text(s->f, name, "x");
    }
    visit_is_far = true;
    visit *v = share_start(s, "PROPFIND /", "Depth: 1\nAccept-Encoding: gzip\n", 0);
    visit_is_far = false;
    visit_free(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(properties_of_sync_clients),
        T(room),
        T(room_below_a_quota),
        T(names_as_they_were_sent),
        T(a_folder_without_its_slash),
        T(refused),
        T(gzip),
        T(gzip_that_nobody_waits_for),
    };
    return cmocka_run_group_tests_name("http-dav-propfind", tests, NULL, NULL);
}
