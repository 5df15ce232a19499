/* SPDX-License-Identifier: Apache-2.0 */
/* What is published into a store: that an object is there whole, or as it was. */
#include "support.h"

#include "base/clock.h"
#include "base/mem.h"
#include "nats/jetstream/puts.h"
#include "object/jetstream/format/names.h"

#include <stdio.h>

static const char *purge(client *c, const char *filter)
{
    char *body = ash__sprintf("{\"filter\":\"%s\"}", filter);
    const char *said = door_ask(c, "$JS.API.STREAM.PURGE.OBJ_s", body);
    ash__free(body);
    return said;
}

static void test_nats_jetstream_puts__whole(void **state)
{
    door *d = *state;
    assert_int_equal(door_put(&d->c, "a", "N1", 'a', 300000), 1);
    assert_true(door_has(d, "a", 'a', 300000));
    assert_int_equal(door_put(&d->c, "empty", "N2", 'e', 0), 2);
    assert_true(door_has(d, "empty", 'e', 0));
    assert_int_equal(door_put(&d->c, "a", "N3", 'b', 5), 3);
    assert_true(door_has(d, "a", 'b', 5));
    door_restart(d);
    assert_true(door_has(d, "a", 'b', 5));
    /* Drivers of GridFS find the bytes by the object's name. */
    ash_bucket *b = NULL;
    ash_file *f = NULL;
    ash_bucket_options o = ASH_BUCKET_OPTIONS_INIT;
    o.bucket_name = "objects.s";
    assert_ok(ash_bucket_new(d->store, &o, &b, &d->err), &d->err);
    assert_ok(ash_bucket_get_file_by_name(b, "a", -1, 0, &f, &d->err), &d->err);
    assert_int_equal(ash_file_length(f), 5);
    ash_file_free(f);
    ash_bucket_free(b);
}

/* Chunks of any length are told in whole ones. */
static void test_nats_jetstream_puts__uneven_chunks(void **state)
{
    door *d = *state;
    door_object o = {.name = "a", .nuid = "N1", .fill = 'a', .size = 200007, .chunks = 3};
    assert_int_equal(door_sequence(door_chunk(&d->c, "N1", NULL, 'a', 7)), 1);
    assert_int_equal(door_sequence(door_chunk(&d->c, "N1", NULL, 'a', 150000)), 2);
    assert_int_equal(door_sequence(door_chunk(&d->c, "N1", NULL, 'a', 50000)), 3);
    assert_int_equal(door_sequence(door_meta(&d->c, &o)), 1);
    assert_true(door_has(d, "a", 'a', 200007));
    assert_says(door_ask(&d->c, "$JS.API.STREAM.INFO.OBJ_s", ""), "\"messages\":3,");
}

static void test_nats_jetstream_puts__what_does_not_fit_is_refused(void **state)
{
    door *d = *state;
    const char *wrong = "SHA-256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU=";
    (void)door_put(&d->c, "a", "N1", 'a', 1000);
    (void)door_chunk(&d->c, "N2", NULL, 'b', 1000);
    door_object o = {.name = "a", .nuid = "N2", .fill = 'b', .size = 2000, .chunks = 1};
    assert_int_equal(door_error(door_meta(&d->c, &o)), 10077);
    o.size = 1000;
    o.chunks = 2;
    assert_int_equal(door_error(door_meta(&d->c, &o)), 10077);
    o.chunks = 1;
    o.digest = wrong;
    assert_int_equal(door_error(door_meta(&d->c, &o)), 10077);
    o.digest = "SHA-256=?";
    assert_int_equal(door_error(door_meta(&d->c, &o)), 10077);
    /* Bytes of which nothing ever came. */
    o = (door_object){.name = "a", .nuid = "N3", .fill = 'b', .size = 1000, .chunks = 1};
    assert_int_equal(door_error(door_meta(&d->c, &o)), 10077);
    assert_true(door_has(d, "a", 'a', 1000));
    /* And what fits is taken afterwards. */
    o.nuid = "N2";
    assert_int_equal(door_sequence(door_meta(&d->c, &o)), 2);
    assert_true(door_has(d, "a", 'b', 1000));
}

static void test_nats_jetstream_puts__again(void **state)
{
    door *d = *state;
    const char *id = "Nats-Msg-Id: N1.0\r\n", *next = "Nats-Msg-Id: N1.1\r\n";
    const char *after = "Nats-Msg-Id: N1.2\r\nNats-Expected-Last-Msg-Id: N1.0\r\n";
    assert_int_equal(door_sequence(door_chunk(&d->c, "N1", id, 'a', 100)), 1);
    assert_says(door_chunk(&d->c, "N1", id, 'a', 100), "\"seq\":1,\"duplicate\":true");
    assert_int_equal(door_sequence(door_chunk(&d->c, "N1", next, 'a', 100)), 2);
    assert_int_equal(door_error(door_chunk(&d->c, "N1", after, 'a', 100)), 10070);
    assert_int_equal(
        door_error(door_chunk(&d->c, "N1", "Nats-Expected-Last-Subject-Sequence: 1\r\n", 'a', 1)),
        10071);
    door_object o = {.name = "a", .nuid = "N1", .fill = 'a', .size = 200, .chunks = 2};
    assert_int_equal(door_sequence(door_meta(&d->c, &o)), 1);
    o.headers = "Nats-Msg-Id: N1.meta\r\nNats-Expected-Last-Subject-Sequence: 1\r\n";
    assert_int_equal(door_sequence(door_meta(&d->c, &o)), 2);
    assert_says(door_meta(&d->c, &o), "\"seq\":2,\"duplicate\":true");
    o.headers = NULL;
    /* The same meta message without an id changes nothing but the revision. */
    assert_int_equal(door_sequence(door_meta(&d->c, &o)), 3);
    assert_true(door_has(d, "a", 'a', 200));
}

/* What a store of that name took before it was deleted is not there any more. */
static void test_nats_jetstream_puts__again_in_a_new_store(void **state)
{
    door *d = *state;
    const char *config = "{\"name\":\"OBJ_s\",\"subjects\":[\"$O.s.C.>\",\"$O.s.M.>\"]}";
    door_object o = {.name = "a", .nuid = "N1", .fill = 'a', .size = 10, .chunks = 1};
    o.headers = "Nats-Msg-Id: N1.meta\r\n";
    (void)door_chunk(&d->c, "N1", NULL, 'a', 10);
    assert_int_equal(door_sequence(door_meta(&d->c, &o)), 1);
    assert_int_equal(door_error(door_ask(&d->c, "$JS.API.STREAM.DELETE.OBJ_s", "")), 0);
    assert_int_equal(door_error(door_ask(&d->c, "$JS.API.STREAM.CREATE.OBJ_s", config)), 0);
    (void)door_chunk(&d->c, "N1", NULL, 'a', 10);
    assert_int_equal(door_sequence(door_meta(&d->c, &o)), 1);
    assert_true(door_has(d, "a", 'a', 10));
}

/* A meta message is no leave to call bytes that are there others. */
static void test_nats_jetstream_puts__other_bytes_than_are_there(void **state)
{
    door *d = *state;
    (void)door_put(&d->c, "a", "N1", 'a', 1000);
    door_object o = {.name = "a", .nuid = "N1", .fill = 'a', .size = 999, .chunks = 1};
    assert_int_equal(door_error(door_meta(&d->c, &o)), 10077);
    o.size = 1000;
    o.fill = 'b';
    assert_int_equal(door_error(door_meta(&d->c, &o)), 10077);
    o.name = "b";
    assert_int_equal(door_error(door_meta(&d->c, &o)), 10077);
    assert_true(door_has(d, "a", 'a', 1000));
    o.fill = 'a';
    assert_int_equal(door_sequence(door_meta(&d->c, &o)), 2);
    assert_true(door_has(d, "b", 'a', 1000));
}

static void test_nats_jetstream_puts__from_another_connection(void **state)
{
    door *d = *state;
    client other;
    (void)door_chunk(&d->c, "N1", NULL, 'a', 1000);
    client_close(&d->c);
    door_open_client(d, &d->c);
    door_open_client(d, &other);
    assert_int_equal(door_sequence(door_chunk(&other, "N1", NULL, 'a', 1000)), 2);
    door_object o = {.name = "a", .nuid = "N1", .fill = 'a', .size = 2000, .chunks = 2};
    assert_int_equal(door_sequence(door_meta(&d->c, &o)), 1);
    assert_true(door_has(d, "a", 'a', 2000));
    client_close(&other);
}

static void test_nats_jetstream_puts__bytes_of_an_object_stay(void **state)
{
    door *d = *state;
    (void)door_put(&d->c, "a", "N1", 'a', 1000);
    assert_says(purge(&d->c, "$O.s.C.N1"), "\"purged\":0");
    assert_int_equal(door_error(door_chunk(&d->c, "N1", NULL, 'x', 10)), 10077);
    assert_true(door_has(d, "a", 'a', 1000));
    (void)door_chunk(&d->c, "N2", NULL, 'b', 1000);
    (void)door_chunk(&d->c, "N2", NULL, 'b', 1000);
    assert_says(purge(&d->c, "$O.s.C.N2"), "\"purged\":2");
    door_object o = {.name = "a", .nuid = "N2", .fill = 'b', .size = 2000, .chunks = 2};
    assert_int_equal(door_error(door_meta(&d->c, &o)), 10077);
    assert_true(door_has(d, "a", 'a', 1000));
    assert_int_equal(door_error(purge(&d->c, "$O.s.>")), 10003);
    assert_int_equal(door_error(door_ask(&d->c, "$JS.API.STREAM.PURGE.OBJ_s", "")), 10003);
    assert_true(door_has(d, "a", 'a', 1000));
}

static void test_nats_jetstream_puts__compare_and_set(void **state)
{
    door *d = *state;
    door_object o = {.name = "a", .nuid = "N1", .fill = 'a', .size = 10, .chunks = 1};
    (void)door_chunk(&d->c, "N1", NULL, 'a', 10);
    o.headers = "Nats-Expected-Last-Subject-Sequence: 3\r\n";
    assert_says(door_meta(&d->c, &o), "wrong last sequence: 0");
    o.headers = "Nats-Expected-Last-Subject-Sequence: 0\r\n";
    assert_int_equal(door_sequence(door_meta(&d->c, &o)), 1);
    (void)door_chunk(&d->c, "N2", NULL, 'b', 10);
    o.nuid = "N2";
    o.fill = 'b';
    assert_says(door_meta(&d->c, &o), "wrong last sequence: 1");
    assert_true(door_has(d, "a", 'a', 10));
    o.headers = "Nats-Expected-Last-Subject-Sequence: 1\r\n";
    assert_int_equal(door_sequence(door_meta(&d->c, &o)), 2);
    assert_true(door_has(d, "a", 'b', 10));
    o.headers = "Nats-Expected-Last-Subject-Sequence: x\r\n";
    assert_int_equal(door_error(door_meta(&d->c, &o)), 10003);
    o.headers = "Nats-Expected-Last-Sequence: 2\r\n";
    assert_int_equal(door_error(door_meta(&d->c, &o)), 10003);
    o.headers = "Nats-Expected-Stream: OBJ_t\r\n";
    assert_int_equal(door_error(door_meta(&d->c, &o)), 10060);
    o.headers = "Nats-Rollup: all\r\n";
    assert_int_equal(door_error(door_meta(&d->c, &o)), 10003);
}

/* What is asked for by a header is met, or the message is refused. */
static void test_nats_jetstream_puts__headers_that_are_not_served(void **state)
{
    door *d = *state;
    static const struct {
        const char *header;
        int of_chunk, of_meta;
    } cases[] = {
        {"Nats-Expected-Last-Msg-Id: N0.1\r\n", 10070, 10070},
        {"nats-expected-last-msg-id: N0.1\r\n", 10070, 10070},
        {"Nats-Expected-Last-Subject-Sequence: 0\r\n"
         "Nats-Expected-Last-Subject-Sequence-Subject: $O.s.M.>\r\n",
         10193, 10193},
        {"Nats-Rollup: sub\r\n", 10003, 0},
        {"Nats-Batch-Id: x\r\nNats-Batch-Sequence: 1\r\n", 10174, 10174},
        {"Nats-Batch-Commit: 1\r\n", 10174, 10174},
        {"Nats-Incr: +1\r\n", 10168, 10168},
        {"Nats-Schedule: @at 2030-01-01T00:00:00Z\r\n", 10188, 10188},
        {"Nats-Schedule-Target: x\r\n", 10188, 10188},
        {"Nats-Required-Api-Level: 2\r\n", 10185, 10185},
        {"Nats-Expected-Weather: fine\r\n", 10003, 10003},
        {"Nats-Trace-Only: true\r\n", 10003, 10003},
        {"X-Of-The-Client: anything\r\nNats: x\r\nno header\r\n", 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char nuid[16];
        (void)snprintf(nuid, sizeof nuid, "N%zu", i);
        int of_chunk = door_error(door_chunk(&d->c, nuid, cases[i].header, 'a', 10));
        if (of_chunk != 0)
            assert_int_equal(door_error(door_chunk(&d->c, nuid, NULL, 'a', 10)), 0);
        door_object o = {.name = nuid, .nuid = nuid, .fill = 'a', .size = 10, .chunks = 1};
        o.headers = cases[i].header;
        int of_meta = door_error(door_meta(&d->c, &o));
        if (of_chunk != cases[i].of_chunk || of_meta != cases[i].of_meta)
            fail_msg("%s: %d, %d", cases[i].header, of_chunk, of_meta);
        assert_int_equal(door_size(d, nuid), of_meta == 0 ? 10 : -1);
    }
}

static void test_nats_jetstream_puts__long_headers(void **state)
{
    door *d = *state;
    static const char *const names[] = {"Nats-Expected-Stream",
                                        "Nats-Expected-Last-Subject-Sequence", "Nats-TTL",
                                        "Nats-Msg-Id", "Nats-Rollup"};
    (void)door_chunk(&d->c, "N1", NULL, 'a', 10);
    door_object o = {.name = "a", .nuid = "N1", .fill = 'a', .size = 10, .chunks = 1};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char *header = ash__sprintf("%s: %0600d\r\n", names[i], 7);
        o.headers = header;
        assert_int_equal(door_error(door_meta(&d->c, &o)), 10003);
        ash__free(header);
    }
    char *header = ash__sprintf("Nats-Expected-Last-Msg-Id: %0600d\r\n", 7);
    assert_int_equal(door_error(door_chunk(&d->c, "N1", header, 'a', 10)), 10003);
    ash__free(header);
    assert_int_equal(door_size(d, "a"), -1);
    o.headers = NULL;
    assert_int_equal(door_error(door_meta(&d->c, &o)), 0);
}

static void test_nats_jetstream_puts__rename(void **state)
{
    door *d = *state;
    (void)door_put(&d->c, "a", "N1", 'a', 1000);
    (void)door_put(&d->c, "taken", "N2", 't', 10);
    door_object o = {.name = "taken", .nuid = "N1", .fill = 'a', .size = 1000, .chunks = 1};
    assert_int_equal(door_error(door_meta(&d->c, &o)), 10077);
    assert_true(door_has(d, "taken", 't', 10));
    o.name = "b";
    o.more = ",\"description\":\"new\"";
    assert_int_equal(door_sequence(door_meta(&d->c, &o)), 3);
    assert_true(door_has(d, "b", 'a', 1000));
    assert_int_equal(door_size(d, "a"), -1);
    /* Somebody takes the name before the client purges what it thinks is still there. */
    client other;
    door_open_client(d, &other);
    (void)door_put(&other, "a", "N3", 'n', 20);
    char *subject = ash__meta_subject("s", "a");
    assert_says(purge(&d->c, subject), "\"purged\":0");
    assert_true(door_has(d, "a", 'n', 20));
    /* Whoever purges an object that he did not rename means it. */
    assert_says(purge(&d->c, subject), "\"purged\":1");
    assert_int_equal(door_size(d, "a"), -1);
    ash__free(subject);
    client_close(&other);
}

/* Who is slow asks whether its chunks are there yet; nobody else sees them. */
static void test_nats_jetstream_puts__counted_before_the_end(void **state)
{
    door *d = *state;
    const char *own = "{\"subjects_filter\":\"$O.s.C.N1\"}";
    const char *all = "{\"subjects_filter\":\"$O.s.C.>\"}";
    (void)door_chunk(&d->c, "N1", NULL, 'a', 1000);
    (void)door_chunk(&d->c, "N1", NULL, 'a', 1000);
    assert_says(door_ask(&d->c, "$JS.API.STREAM.INFO.OBJ_s", own),
                "\"subjects\":{\"$O.s.C.N1\":2}");
    assert_says(door_ask(&d->c, "$JS.API.STREAM.INFO.OBJ_s", all), "\"subjects\":{}");
    door_object o = {.name = "a", .nuid = "N1", .fill = 'a', .size = 2000, .chunks = 2};
    assert_int_equal(door_error(door_meta(&d->c, &o)), 0);
    assert_says(door_ask(&d->c, "$JS.API.STREAM.INFO.OBJ_s", all),
                "\"subjects\":{\"$O.s.C.N1\":1}");
}

/* Not every client purges the old name; what it puts there later is its own. */
static void test_nats_jetstream_puts__rename_without_purge(void **state)
{
    door *d = *state;
    char *subject = ash__meta_subject("s", "a");
    client other;
    door_open_client(d, &other);
    for (int looks = 0; looks < 2; looks++) {
        char nuid[] = {'N', (char)('1' + looks), 0}, again[] = {'M', (char)('1' + looks), 0};
        char to[] = {'b', (char)('1' + looks), 0};
        (void)door_put(&d->c, "a", nuid, 'a', 1000);
        door_object o = {.name = to, .nuid = nuid, .fill = 'a', .size = 1000, .chunks = 1};
        assert_int_equal(door_error(door_meta(&d->c, &o)), 0);
        (void)door_put(looks == 1 ? &other : &d->c, "a", again, 'n', 20);
        if (looks == 1) {
            char *get = ash__sprintf("{\"last_by_subj\":\"%s\"}", subject);
            assert_says(door_ask(&d->c, "$JS.API.STREAM.MSG.GET.OBJ_s", get), "\"message\"");
            ash__free(get);
        }
        assert_says(purge(&d->c, subject), "\"purged\":1");
        assert_int_equal(door_size(d, "a"), -1);
        assert_true(door_has(d, to, 'a', 1000));
    }
    ash__free(subject);
    client_close(&other);
}

static void test_nats_jetstream_puts__delete(void **state)
{
    door *d = *state;
    (void)door_put(&d->c, "a", "N1", 'a', 1000);
    door_object o = {.name = "a", .nuid = "N1", .digest = "", .more = ",\"deleted\":true"};
    assert_int_equal(door_sequence(door_meta(&d->c, &o)), 2);
    assert_int_equal(door_size(d, "a"), -1);
    assert_says(purge(&d->c, "$O.s.C.N1"), "\"purged\":0");
    assert_says(door_ask(&d->c, "$JS.API.STREAM.INFO.OBJ_s", ""), "\"messages\":1,");
    o.name = "never";
    assert_int_equal(door_error(door_meta(&d->c, &o)), 10077);
}

static void test_nats_jetstream_puts__links(void **state)
{
    door *d = *state;
    (void)door_put(&d->c, "a", "N1", 'a', 1000);
    const char *over = "{\"name\":\"a\",\"nuid\":\"L1\",\"options\":{\"link\":{\"bucket\":\"s\","
                       "\"name\":\"a\"}}}";
    const char *link =
        "{\"name\":\"l\",\"nuid\":\"L1\",\"description\":\"d\",\"options\":{\"link\":"
        "{\"bucket\":\"s\",\"name\":\"a\"}}}";
    const char *moved = "{\"name\":\"m\",\"nuid\":\"L1\",\"options\":{\"link\":{\"bucket\":\"s\","
                        "\"name\":\"a\"}}}";
    assert_int_equal(door_error(door_ask(&d->c, "$O.s.M.YQ==", over)), 10077);
    assert_true(door_has(d, "a", 'a', 1000));
    assert_int_equal(door_sequence(door_ask(&d->c, "$O.s.M.bA==", link)), 2);
    assert_true(door_has(d, "l", 'a', 1000));
    assert_int_equal(door_sequence(door_ask(&d->c, "$O.s.M.bA==", link)), 3);
    assert_int_equal(door_sequence(door_ask(&d->c, "$O.s.M.bQ==", moved)), 4);
    assert_int_equal(door_size(d, "l"), -1);
    assert_true(door_has(d, "m", 'a', 1000));
}

/* What only a store may say of an object is not believed. */
static void test_nats_jetstream_puts__hostile_info(void **state)
{
    door *d = *state;
    (void)door_chunk(&d->c, "N1", NULL, 'a', 100);
    door_object o = {.name = "a",
                     .nuid = "N1",
                     .fill = 'a',
                     .size = 100,
                     .chunks = 1,
                     .more = ",\"archive\":{\"bucket\":\"x\",\"name\":\"y\"},\"encoding\":\"zstd\","
                             "\"stored\":1,\"_id\":\"b\",\"until\":1,\"revision\":99,"
                             "\"$set\":{\"x\":1},\"a.b\":1,\"own\":\"kept\""};
    assert_int_equal(door_sequence(door_meta(&d->c, &o)), 1);
    assert_true(door_has(d, "a", 'a', 100));
    assert_says(door_ask(&d->c, "$JS.API.DIRECT.GET.OBJ_s.$O.s.M.YQ==", ""), "\"own\":\"kept\"");
    assert_int_equal(door_error(door_ask(&d->c, "$O.s.M.YQ==", "{")), 10077);
    assert_int_equal(door_error(door_ask(&d->c, "$O.s.M.YQ==", "[]")), 10077);
    assert_int_equal(door_error(door_ask(&d->c, "$O.s.M.YQ==", "{\"name\":\"b\"}")), 10077);
    char deep[400] = "";
    memset(deep, '[', sizeof deep - 1);
    assert_int_equal(door_error(door_ask(&d->c, "$O.s.M.YQ==", deep)), 10077);
    assert_int_equal(door_error(door_chunk(&d->c, "N~1", NULL, 'a', 10)), 10077);
    assert_says(door_ask(&d->c, "$O.nowhere.C.N1", "x"), "503");
    assert_says(door_ask(&d->c, "$O.s.X.N1", "x"), "503");
    assert_true(door_has(d, "a", 'a', 100));
}

static void test_nats_jetstream_puts__limits(void **state)
{
    door *d = *state;
    char nuid[16];
    const char *config = "{\"name\":\"OBJ_s\",\"subjects\":[\"$O.s.C.>\",\"$O.s.M.>\"],"
                         "\"max_bytes\":2000}";
    assert_int_equal(door_error(door_ask(&d->c, "$JS.API.STREAM.UPDATE.OBJ_s", config)), 0);
    (void)door_put(&d->c, "a", "N1", 'a', 1000);
    const char *said = door_chunk(&d->c, "N2", NULL, 'b', 3000);
    assert_int_equal(door_error(said), 10077);
    assert_says(said, "maximum bytes exceeded");
    /* Each for itself would do. */
    (void)door_chunk(&d->c, "N3", NULL, 'b', 900);
    door_object o = {.name = "b", .nuid = "N3", .fill = 'b', .size = 900, .chunks = 1};
    assert_int_equal(door_error(door_meta(&d->c, &o)), 10077);
    assert_true(door_has(d, "a", 'a', 1000));
    /* Two are open already. */
    for (int i = 2; i < 20; i++) {
        (void)snprintf(nuid, sizeof nuid, "M%d", i - 2);
        assert_int_equal(door_error(door_chunk(&d->c, nuid, NULL, 'c', 1)), i < 16 ? 0 : 10002);
    }
    /* Nobody comes back to them, though whoever began them is still there. */
    ash__jetstream_service()->keep_house(d->jetstream, ash__clock_ms() + ASH_JSD_PUT_IDLE_MS + 1);
    assert_int_equal(door_error(door_chunk(&d->c, "M99", NULL, 'c', 1)), 0);
    o = (door_object){.name = "c", .nuid = "M0", .fill = 'c', .size = 1, .chunks = 1};
    assert_int_equal(door_error(door_meta(&d->c, &o)), 10077);
}

/* What one client leaves open takes no other's place, up to what all may have. */
static void test_nats_jetstream_puts__shares(void **state)
{
    door *d = *state;
    client c[5];
    char nuid[16];
    for (int i = 0; i < 5; i++) {
        door_open_client(d, &c[i]);
        for (int k = 0; k < ASH_JSD_PUTS_OF_ONE; k++) {
            (void)snprintf(nuid, sizeof nuid, "N%dx%d", i, k);
            assert_int_equal(door_error(door_chunk(&c[i], nuid, NULL, 'a', 10)), i < 4 ? 0 : 10023);
        }
        if (i > 0)
            continue;
        assert_int_equal(door_error(door_chunk(&c[0], "X", NULL, 'a', 10)), 10002);
        assert_int_equal(door_put(&d->c, "b", "B", 'b', 10), 1);
        /* With what it has begun it goes on. */
        assert_int_equal(door_sequence(door_chunk(&c[0], "N0x0", NULL, 'a', 10)), 2);
    }
    for (int i = 0; i < 5; i++)
        client_close(&c[i]);
}

static void test_nats_jetstream_puts__ttl(void **state)
{
    door *d = *state;
    (void)door_chunk(&d->c, "N1", NULL, 'a', 10);
    door_object o = {.name = "a", .nuid = "N1", .fill = 'a', .size = 10, .chunks = 1};
    o.headers = "Nats-TTL: soon\r\n";
    assert_int_equal(door_error(door_meta(&d->c, &o)), 10165);
    o.headers = "Nats-TTL: 1h\r\n";
    assert_int_equal(door_sequence(door_meta(&d->c, &o)), 1);
    assert_says(door_ask(&d->c, "$JS.API.DIRECT.GET.OBJ_s.$O.s.M.YQ==", ""), "Nats-TTL: 3600s\r\n");
    /* A change without it leaves it, one with it sets it. */
    o.headers = NULL;
    (void)door_meta(&d->c, &o);
    assert_says(door_ask(&d->c, "$JS.API.DIRECT.GET.OBJ_s.$O.s.M.YQ==", ""), "Ashlar-Expires: ");
    o.headers = "Nats-TTL: 1\r\n";
    (void)door_meta(&d->c, &o);
    assert_int_equal(door_size(d, "a"), 10);
    ash__clock_sleep_ms(1100);
    assert_int_equal(door_size(d, "a"), -1);
    assert_says(door_ask(&d->c, "$JS.API.DIRECT.GET.OBJ_s.$O.s.M.YQ==", ""), "404");
}

#define T(name)                                                                                    \
    cmocka_unit_test_setup_teardown(test_nats_jetstream_puts__##name, door_setup, door_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(whole),
        T(uneven_chunks),
        T(what_does_not_fit_is_refused),
        T(again),
        T(again_in_a_new_store),
        T(other_bytes_than_are_there),
        T(from_another_connection),
        T(bytes_of_an_object_stay),
        T(compare_and_set),
        T(headers_that_are_not_served),
        T(long_headers),
        T(counted_before_the_end),
        T(rename),
        T(rename_without_purge),
        T(delete),
        T(links),
        T(hostile_info),
        T(limits),
        T(shares),
        T(ttl),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
