/* SPDX-License-Identifier: Apache-2.0 */
/* What somebody else's hand, or an older client, put into a stream: digests of all notations, damage,
 * unknown fields, lengths beyond 4 GiB; the sequences that others count by; and a server that does not
 * begin where it is told to. */
#include "object/jetstream/relay.h"
#include "object/jetstream/support.h"

#include "base/mem.h"
#include "object/jetstream/format/names.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define NUID "aaaaaaaaaaaaaaaaaaaaaa"

/* more: fields of the info, each behind a comma. */
static void put_info(live *l, const char *name, size_t size, size_t chunks, const char *more)
{
    char *subject = ash__meta_subject(l->name, name);
    char *json = ash__sprintf("{\"name\":\"%s\",\"bucket\":\"%s\",\"nuid\":\"" NUID
                              "\",\"size\":%zu,\"chunks\":%zu%s}",
                              name, l->name, size, chunks, more);
    live_publish(l, subject, json, strlen(json), "Nats-Rollup: sub");
    ash__free(subject);
    ash__free(json);
}

static void put_chunk(live *l, const void *data, size_t len, const char *header)
{
    char *subject = ash__chunk_subject(l->name, NUID);
    live_publish(l, subject, data, len, header);
    ash__free(subject);
}

static int read_it(live *l, const char *name)
{
    uint8_t *got = NULL;
    size_t len = 0;
    int rc = ash_object_store_get_bytes(l->store, name, NULL, NULL, &got, &len, &l->err);
    ash_object_bytes_free(got);
    return rc;
}

/* ---- digests ---- */

/* Of "abc". */
#define HEX     "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define BIG_HEX "BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD"

static const struct {
    const char *digest;
    int rc;
} digests[] = {
    {"SHA-256=ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0=", 0},
    {"SHA-256=ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0", 0},
    {"SHA-256=ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=", 0},
    {"SHA-256=" HEX, 0},
    {"SHA-256=" BIG_HEX, 0},
    /* The first byte, the last one, one too few, one too many. */
    {"SHA-256=vngWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0=", ASH_ECORRUPT},
    {"SHA-256=ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa4=", ASH_ECORRUPT},
    {"SHA-256=ca7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", ASH_ECORRUPT},
    {"SHA-256=ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ae", ASH_ECORRUPT},
    {"SHA-256=ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFQ==", ASH_ECORRUPT},
    {"SHA-256=" HEX "00", ASH_ECORRUPT},
    {"SHA-256=", ASH_ECORRUPT},
    {"SHA-255=ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0=", ASH_ECORRUPT},
    {"nonsense", ASH_ECORRUPT},
};

static void test_object_jetstream_others__digests(void **state)
{
    live *l = *state;
    live_need(l);
    ash_object_read_options opts = ASH_OBJECT_READ_OPTIONS_INIT;
    put_chunk(l, "abc", 3, NULL);
    opts.unverified = true;
    for (size_t i = 0; i < ASH_ARRAY_LEN(digests); i++) {
        uint8_t *got = NULL;
        size_t len = 0;
        char *field = ash__sprintf(",\"digest\":\"%s\"", digests[i].digest);
        put_info(l, "a", 3, 1, field);
        if (read_it(l, "a") != digests[i].rc)
            fail_msg("%s: %s", digests[i].digest, l->err.text);
        assert_ok(ash_object_store_get_bytes(l->store, "a", &opts, NULL, &got, &len, &l->err),
                  &l->err);
        ash_object_bytes_free(got);
        ash__free(field);
    }
}

/* ---- damage ---- */

static void put_ten(live *l, const uint8_t *data, ash_object **out)
{
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    meta.name = "ten";
    meta.chunk_size = 1000;
    assert_ok(ash_object_store_put_bytes(l->store, &meta, data, 10000, NULL, NULL, out, &l->err),
              &l->err);
}

/* A chunk behind the last is not the object's: its size and digest say so. */
static void test_object_jetstream_others__chunk_too_many(void **state)
{
    live *l = *state;
    live_need(l);
    ash_object *o = NULL;
    uint8_t *data = live_bytes(1, 10000);
    put_ten(l, data, &o);
    char *subject = ash__chunk_subject(l->name, ash_object_nuid(o));
    live_publish(l, subject, "more", 4, NULL);
    live_expect(l, "ten", data, 10000);
    ash__free(subject);
    ash_object_free(o);
    ash__free(data);
}

/* The n-th message of the stream goes, and other bytes come behind the last one: as many, or none. */
static void damage(live *l, int n, const uint8_t *data, bool other_bytes)
{
    ash_object *o = NULL;
    char *purge = ash__sprintf("STREAM.PURGE.%s", l->stream.name);
    ash__json_free(live_request(l, purge, "{}"));
    put_ten(l, data, &o);
    char *subject = ash__chunk_subject(l->name, ash_object_nuid(o));
    uint64_t first = ash_object_revision(o) - 10;
    assert_ok(ash__js_delete(&l->stream, first + (uint64_t)n, NULL, &l->err), &l->err);
    if (other_bytes)
        live_publish(l, subject, data + n * 1000, 1000, NULL);
    ash__free(subject);
    ash__free(purge);
    ash_object_free(o);
}

static void test_object_jetstream_others__chunk_missing_or_moved(void **state)
{
    live *l = *state;
    live_need(l);
    uint8_t *data = live_bytes(1, 10000);
    for (int n = 0; n < 9; n += 2) {
        damage(l, n, data, false);
        assert_int_equal(read_it(l, "ten"), ASH_ECORRUPT);
        damage(l, n, data, true);
        assert_int_equal(read_it(l, "ten"), ASH_ECORRUPT);
    }
    damage(l, 9, data, true); /* the last one anew is what it was */
    live_expect(l, "ten", data, 10000);
    ash__free(data);
}

/* ---- what others say, and we do not know ---- */

static void test_object_jetstream_others__unknown_fields_stay(void **state)
{
    live *l = *state;
    live_need(l);
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    ash_js_message message;
    char *subject = ash__meta_subject(l->name, "a");
    put_chunk(l, "abc", 3, NULL);
    put_info(l, "a", 3, 1, ",\"later\":{\"known\":[1,\"two\"]},\"options\":{\"new\":true}");
    meta.description = "described";
    assert_ok(ash_object_store_update_meta(l->store, "a", &meta, NULL, NULL, NULL, &l->err),
              &l->err);
    assert_ok(ash__js_get_last(&l->stream, subject, true, NULL, &message, &l->err), &l->err);
    char *text = ash__strndup((const char *)message.data, message.len);
    assert_non_null(strstr(text, "\"later\":{\"known\":[1,\"two\"]}"));
    assert_non_null(strstr(text, "described"));
    ash__js_message_release(&message);
    ash__free(text);
    ash__free(subject);
    live_expect(l, "a", "abc", 3);
}

/* ---- beyond 4 GiB ---- */

/* Of 4,703 chunks those between the first and the last three are empty: nobody reads them, but a place
 * is found by their numbers. */
static void test_object_jetstream_others__ranges_beyond_4_gib(void **state)
{
    enum { LARGE = 900 * 1024, FIRST = 4700, LAST = 4702 };
    live *l = *state;
    live_need(l);
    const int64_t size = (int64_t)(LAST + 1) * LARGE, from = (int64_t)FIRST * LARGE;
    uint8_t *data = live_bytes(3, 3 * LARGE);
    ash_object *o = NULL;
    for (int n = 0; n <= LAST; n++) {
        char *id = ash__sprintf("Nats-Msg-Id: " NUID ".%d", n);
        put_chunk(l, data + (n < FIRST ? 0 : n - FIRST) * LARGE, n > 0 && n < FIRST ? 0 : LARGE,
                  id);
        ash__free(id);
    }
    put_info(l, "huge", (size_t)size, LAST + 1, ",\"options\":{\"max_chunk_size\":921600}");
    assert_ok(ash_object_store_info(l->store, "huge", NULL, NULL, &o, &l->err), &l->err);
    assert_true(ash_object_size(o) == size);
    ash_object_free(o);
    static const int64_t ranges[][2] = {
        {0, 10}, {LARGE - 1, LARGE + 1}, {5, 2 * LARGE + 7}, {3 * LARGE - 1, 3 * LARGE}};
    for (size_t i = 0; i < ASH_ARRAY_LEN(ranges); i++) {
        ash_object_read_options opts = ASH_OBJECT_READ_OPTIONS_INIT;
        uint8_t *got = NULL;
        size_t len = 0;
        opts.start = from + ranges[i][0];
        opts.end = from + ranges[i][1];
        assert_ok(ash_object_store_get_bytes(l->store, "huge", &opts, NULL, &got, &len, &l->err),
                  &l->err);
        assert_int_equal(len, ranges[i][1] - ranges[i][0]);
        assert_memory_equal(got, data + ranges[i][0], len);
        ash_object_bytes_free(got);
    }
    ash__free(data);
}

/* ---- sequences, as nats.js' tests count them ---- */

static uint64_t put_chunks(live *l, int64_t chunks, uint64_t if_revision, bool if_absent, int *rc)
{
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    ash_object_change_options opts = ASH_OBJECT_CHANGE_OPTIONS_INIT;
    ash_object *o = NULL;
    uint8_t *data = live_bytes(1, (size_t)chunks * 10);
    meta.name = "a";
    meta.chunk_size = 10;
    opts.if_revision = if_revision;
    opts.if_absent = if_absent;
    *rc = ash_object_store_put_bytes(l->store, &meta, data, (size_t)chunks * 10, &opts, NULL, &o,
                                     &l->err);
    uint64_t revision = *rc == 0 ? ash_object_revision(o) : 0;
    ash_object_free(o);
    ash__free(data);
    return revision;
}

static uint64_t first_sequence(live *l)
{
    char *verb = ash__sprintf("STREAM.INFO.%s", l->stream.name);
    ash_json *info = live_request(l, verb, "{}");
    uint64_t first = ash__json_unsigned(ash__json_get(info, "state"), "first_seq", 0);
    ash__json_free(info);
    ash__free(verb);
    return first;
}

static void test_object_jetstream_others__sequences(void **state)
{
    live *l = *state;
    live_need(l);
    int rc = 0;
    assert_int_equal(put_chunks(l, 9, 0, true, &rc), 10);
    assert_int_equal(put_chunks(l, 9, 10, false, &rc), 20);
    assert_int_equal(first_sequence(l), 11);
    (void)put_chunks(l, 1, 10, false, &rc);
    assert_int_equal(rc, ASH_ECONDITION);
    uint64_t next = put_chunks(l, 3, 20, false, &rc);
    assert_ok(rc, &l->err);
    assert_int_equal(live_chunks(l), 3);
    assert_int_equal(put_chunks(l, 1, next, false, &rc), next + 2);
}

static void assert_range(live *l, ash_object_store *s, int64_t start, size_t len,
                         const uint8_t *data)
{
    ash_object_read_options opts = ASH_OBJECT_READ_OPTIONS_INIT;
    uint8_t *got = NULL;
    size_t got_len = 0;
    opts.start = start;
    opts.end = start + (int64_t)len;
    assert_ok(ash_object_store_get_bytes(s, "a", &opts, NULL, &got, &got_len, &l->err), &l->err);
    assert_int_equal(got_len, len);
    assert_memory_equal(got, data + start, len);
    ash_object_bytes_free(got);
}

/* The first chunks are fetched one by one; where the rest is to begin, the first comes again. */
static void test_object_jetstream_others__server_begins_at_first(void **state)
{
    live *l = *state;
    live_need(l);
    enum { BYTES = 12 * ASH_OBJECT_CHUNK_SIZE_DEFAULT };
    ash_object_manager *m = NULL;
    ash_object_store *s = NULL;
    uint8_t *data = live_bytes(7, BYTES);
    live_put(l, "a", data, BYTES, NULL);
    relay *r = relay_start(servers_address(l->servers, 0), INT_MAX);
    relay_begin_at_first(r);
    assert_ok(ash_object_manager_open(relay_uri(r), NULL, &m, &l->err), &l->err);
    assert_ok(ash_object_manager_bind(m, l->name, NULL, &s, &l->err), &l->err);
    assert_range(l, s, 0, BYTES, data);
    assert_true(relay_begun_at_first(r) > 0);
    assert_range(l, s, 5 * ASH_OBJECT_CHUNK_SIZE_DEFAULT + 1, BYTES / 2, data);
    assert_true(relay_begun_at_first(r) > 1);
    ash_object_store_close(s);
    ash_object_manager_close(m);
    relay_stop(r);
    ash__free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define ON_A_STORE(test) cmocka_unit_test_setup_teardown(test, live_new_store, live_close_store)
        ON_A_STORE(test_object_jetstream_others__digests),
        ON_A_STORE(test_object_jetstream_others__chunk_too_many),
        ON_A_STORE(test_object_jetstream_others__chunk_missing_or_moved),
        ON_A_STORE(test_object_jetstream_others__unknown_fields_stay),
        ON_A_STORE(test_object_jetstream_others__ranges_beyond_4_gib),
        ON_A_STORE(test_object_jetstream_others__sequences),
        ON_A_STORE(test_object_jetstream_others__server_begins_at_first),
    };
    return cmocka_run_group_tests(tests, live_start, live_stop);
}
