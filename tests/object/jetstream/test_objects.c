/* SPDX-License-Identifier: Apache-2.0 */
/* What lies in the stream after each change, and what is read of what others put there. */
#include "object/jetstream/support.h"

#include "base/mem.h"
#include "object/jetstream/format/names.h"

#include <string.h>

enum { CHUNK = ASH_OBJECT_CHUNK_SIZE_DEFAULT };

static void test_object_jetstream_objects__sizes(void **state)
{
    live *l = *state;
    live_need(l);
    static const size_t sizes[] = {0,         1,         CHUNK - 1,      CHUNK,
                                   CHUNK + 1, 3 * CHUNK, 7 * CHUNK + 13, 100 * CHUNK + 7};
    for (size_t i = 0; i < ASH_ARRAY_LEN(sizes); i++) {
        ash_object *o = NULL;
        uint8_t *data = live_bytes((uint32_t)i, sizes[i]);
        live_put(l, "an object", data, sizes[i], &o);
        assert_int_equal(ash_object_size(o), sizes[i]);
        assert_int_equal(ash_object_chunks(o), (sizes[i] + CHUNK - 1) / CHUNK);
        live_expect(l, "an object", data, sizes[i]);
        /* What was there before is gone. */
        assert_int_equal(live_chunks(l), ash_object_chunks(o));
        assert_int_equal(live_metas(l), 1);
        ash_object_free(o);
        ash__free(data);
    }
}

/* The digest that nats.c's test has for "DEF", and JSON as Go writes it. */
static void test_object_jetstream_objects__as_others_write_it(void **state)
{
    live *l = *state;
    live_need(l);
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    ash_object *o = NULL;
    ash_js_message message;
    bson_t *headers = BCON_NEW("a", "[", "<&>", "]", "b", "[", "2", "3", "]");
    bson_t *metadata = BCON_NEW("m", "2", "z", "1");
    meta.name = "test";
    meta.description = "of \"it\"";
    meta.headers = headers;
    meta.metadata = metadata;
    assert_ok(ash_object_store_put_bytes(l->store, &meta, "DEF", 3, NULL, NULL, &o, &l->err),
              &l->err);
    char *subject = ash__sprintf("$O.%s.M.dGVzdA==", l->name);
    assert_ok(ash__js_get_last(&l->stream, subject, true, NULL, &message, &l->err), &l->err);
    char *expected = ash__sprintf(
        "{\"name\":\"test\",\"description\":\"of \\\"it\\\"\",\"headers\":{\"a\":[\"\\u003c\\u0026"
        "\\u003e\"],\"b\":[\"2\",\"3\"]},\"metadata\":{\"m\":\"2\",\"z\":\"1\"},\"options\":"
        "{\"max_chunk_size\":131072},\"bucket\":\"%s\",\"nuid\":\"%s\",\"size\":3,\"mtime\":"
        "\"0001-01-01T00:00:00Z\",\"chunks\":1,\"digest\":"
        "\"SHA-256=lnxaW34vu-MICgxc7-p8J5VwsWroRlUlU4vDsRUmekU=\"}",
        l->name, ash_object_nuid(o));
    char *got = ash__strndup((const char *)message.data, message.len);
    assert_string_equal(got, expected);
    assert_int_equal(message.sequence, ash_object_revision(o));
    ash__js_message_release(&message);
    ash__free(got);
    ash__free(expected);
    ash__free(subject);
    ash_object_free(o);
    bson_destroy(headers);
    bson_destroy(metadata);
}

static void test_object_jetstream_objects__deleted(void **state)
{
    live *l = *state;
    live_need(l);
    ash_object *o = NULL;
    ash_object_read_options deleted = ASH_OBJECT_READ_OPTIONS_INIT;
    live_put(l, "a", "one", 3, NULL);
    live_put(l, "b", "two", 3, NULL);
    assert_ok(ash_object_store_delete(l->store, "a", NULL, NULL, &o, &l->err), &l->err);
    assert_true(ash_object_is_deleted(o));
    ash_object_free(o);
    assert_int_equal(live_chunks(l), 1);
    assert_int_equal(live_metas(l), 2);
    assert_int_equal(ash_object_store_info(l->store, "a", NULL, NULL, &o, NULL), ASH_ENOTFOUND);
    deleted.deleted = true;
    assert_ok(ash_object_store_info(l->store, "a", &deleted, NULL, &o, &l->err), &l->err);
    assert_true(ash_object_is_deleted(o));
    ash_object_free(o);
    assert_ok(ash_object_store_delete(l->store, "a", NULL, NULL, NULL, &l->err), &l->err);
    assert_int_equal(ash_object_store_delete(l->store, "c", NULL, NULL, NULL, NULL), ASH_ENOTFOUND);
    live_expect(l, "b", "two", 3);
}

static void test_object_jetstream_objects__ranges(void **state)
{
    live *l = *state;
    live_need(l);
    size_t size = 40 * CHUNK + 100;
    uint8_t *data = live_bytes(1, size);
    live_put(l, "big", data, size, NULL);
    live_put(l, "other", data, 3 * CHUNK, NULL);
    static const size_t ranges[][2] = {{0, 10},
                                       {CHUNK - 1, CHUNK + 1},
                                       {17 * CHUNK + 5, 19 * CHUNK},
                                       {40 * CHUNK + 99, 40 * CHUNK + 100},
                                       {39 * CHUNK, 40 * CHUNK + 100},
                                       {5, 30 * CHUNK}};
    for (size_t i = 0; i < ASH_ARRAY_LEN(ranges); i++) {
        ash_object_read_options opts = ASH_OBJECT_READ_OPTIONS_INIT;
        uint8_t *got = NULL;
        size_t len = 0;
        opts.start = (int64_t)ranges[i][0];
        opts.end = (int64_t)ranges[i][1];
        assert_ok(ash_object_store_get_bytes(l->store, "big", &opts, NULL, &got, &len, &l->err),
                  &l->err);
        assert_int_equal(len, ranges[i][1] - ranges[i][0]);
        assert_memory_equal(got, data + ranges[i][0], len);
        ash_object_bytes_free(got);
    }
    ash__free(data);
}

/* Put by a client whose chunks are as its reads were: of any length, and without ids. */
static void put_unevenly(live *l, const char *name, const uint8_t *data, size_t size,
                         const size_t *parts, size_t count)
{
    char *chunk = ash__chunk_subject(l->name, "aaaaaaaaaaaaaaaaaaaaaa");
    char *meta = ash__meta_subject(l->name, name);
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        live_publish(l, chunk, data + at, parts[i], NULL);
        at += parts[i];
        if (i % 2 == 1)
            live_put(l, "between", "x", 1, NULL);
    }
    assert_int_equal(at, size);
    char *json =
        ash__sprintf("{\"name\":\"%s\",\"bucket\":\"%s\",\"nuid\":\"aaaaaaaaaaaaaaaaaaaaaa\","
                     "\"size\":%zu,\"mtime\":\"2020-01-01T00:00:00Z\",\"chunks\":%zu,"
                     "\"later\":{\"known\":[1]},\"options\":{\"max_chunk_size\":1000}}",
                     name, l->name, size, count);
    live_publish(l, meta, json, strlen(json), "Nats-Rollup: sub");
    ash__free(json);
    ash__free(chunk);
    ash__free(meta);
}

static void test_object_jetstream_objects__uneven_chunks(void **state)
{
    live *l = *state;
    live_need(l);
    static const size_t parts[] = {10, 1000, 1, 500, 999, 1000, 3, 7};
    size_t size = 0;
    for (size_t i = 0; i < ASH_ARRAY_LEN(parts); i++)
        size += parts[i];
    uint8_t *data = live_bytes(5, size);
    put_unevenly(l, "uneven", data, size, parts, ASH_ARRAY_LEN(parts));
    live_expect(l, "uneven", data, size);
    for (size_t from = 0; from < size; from += 97) {
        ash_object_read_options opts = ASH_OBJECT_READ_OPTIONS_INIT;
        uint8_t *got = NULL;
        size_t len = 0;
        opts.start = (int64_t)from;
        opts.end = (int64_t)(from + 600 < size ? from + 600 : size);
        assert_ok(ash_object_store_get_bytes(l->store, "uneven", &opts, NULL, &got, &len, &l->err),
                  &l->err);
        assert_memory_equal(got, data + from, len);
        ash_object_bytes_free(got);
    }
    ash__free(data);
}

/* One whose chunks are more than it says. */
static void test_object_jetstream_objects__wrong_count(void **state)
{
    live *l = *state;
    live_need(l);
    static const char meta[] = "{\"name\":\"o\",\"nuid\":\"aaaaaaaaaaaaaaaaaaaaaa\",\"size\":10,"
                               "\"chunks\":1,\"mtime\":\"2020-01-01T00:00:00Z\"}";
    char *chunk = ash__chunk_subject(l->name, "aaaaaaaaaaaaaaaaaaaaaa");
    char *subject = ash__meta_subject(l->name, "o");
    live_publish(l, chunk, "first-", 6, NULL);
    live_publish(l, chunk, "last", 4, NULL);
    live_publish(l, subject, meta, strlen(meta), NULL);
    live_expect(l, "o", "first-last", 10);
    ash__free(subject);
    ash__free(chunk);
}

/* As nats.js writes them: a link without nuid, size and chunks, with the target's bucket; an update
 * without a rollup, so that the subject has two messages. */
static void test_object_jetstream_objects__as_nats_js_writes(void **state)
{
    live *l = *state;
    live_need(l);
    char *link = ash__meta_subject(l->name, "link"), *meta = ash__meta_subject(l->name, "a");
    ash_object *o = NULL;
    ash_object_listing *listing = NULL;
    const ash_object *listed = NULL;
    int count = 0;
    live_put(l, "a", "bytes", 5, &o);
    char *json = ash__sprintf("{\"name\":\"link\",\"bucket\":\"elsewhere\",\"options\":{\"link\":"
                              "{\"bucket\":\"%s\",\"name\":\"a\"}}}",
                              l->name);
    live_publish(l, link, json, strlen(json), NULL);
    live_expect(l, "link", "bytes", 5);
    ash__free(json);
    json = ash__sprintf("{\"name\":\"a\",\"description\":\"new\",\"bucket\":\"%s\",\"nuid\":\"%s\","
                        "\"size\":5,\"chunks\":1,\"mtime\":\"2020-01-01T00:00:00.000Z\","
                        "\"revision\":3,\"digest\":\"%s\"}",
                        l->name, ash_object_nuid(o), ash_object_digest(o));
    uint64_t sequence = live_publish(l, meta, json, strlen(json), NULL);
    ash_object_free(o);
    assert_ok(ash_object_store_info(l->store, "a", NULL, NULL, &o, &l->err), &l->err);
    assert_string_equal(ash_object_description(o), "new");
    assert_int_equal(ash_object_revision(o), sequence);
    assert_true(ash_object_modified_ms(o) > 1700000000000);
    ash_object_free(o);
    assert_ok(ash_object_store_list(l->store, NULL, NULL, &listing, &l->err), &l->err);
    while (ash_object_listing_next(listing, &listed, &l->err) == 0 && listed != NULL)
        count++;
    assert_int_equal(count, 2);
    ash_object_listing_free(listing);
    ash__free(json);
    ash__free(link);
    ash__free(meta);
}

/* nats.c before 3.12 wrote names without padding. */
static void test_object_jetstream_objects__unpadded_names(void **state)
{
    live *l = *state;
    live_need(l);
    char *subject = ash__sprintf("$O.%s.M.dGVzdA", l->name);
    char *json = ash__sprintf("{\"name\":\"test\",\"bucket\":\"%s\",\"nuid\":\"x\",\"size\":0,"
                              "\"chunks\":0}",
                              l->name);
    ash_object *o = NULL;
    live_publish(l, subject, json, strlen(json), NULL);
    assert_ok(ash_object_store_info(l->store, "test", NULL, NULL, &o, &l->err), &l->err);
    assert_string_equal(ash_object_name(o), "test");
    ash_object_free(o);
    live_put(l, "test", "new", 3, NULL);
    assert_int_equal(live_metas(l), 1);
    live_expect(l, "test", "new", 3);
    ash__free(subject);
    ash__free(json);
}

static void test_object_jetstream_objects__corrupt(void **state)
{
    live *l = *state;
    live_need(l);
    ash_object *o = NULL;
    uint8_t *got = NULL;
    size_t len = 0;
    live_put(l, "a", "bytes", 5, &o);
    char *chunk = ash__chunk_subject(l->name, ash_object_nuid(o));
    live_publish(l, chunk, "more", 4, NULL);
    live_expect(l, "a", "bytes", 5);
    ash_object_free(o);
    live_put(l, "b", "bytes", 5, &o);
    ash__free(chunk);
    chunk = ash__chunk_subject(l->name, ash_object_nuid(o));
    assert_ok(ash__js_purge(&l->stream, chunk, NULL, &l->err), &l->err);
    assert_int_equal(ash_object_store_get_bytes(l->store, "b", NULL, NULL, &got, &len, NULL),
                     ASH_ECORRUPT);
    live_publish(l, chunk, "bytez", 5, NULL);
    assert_int_equal(ash_object_store_get_bytes(l->store, "b", NULL, NULL, &got, &len, NULL),
                     ASH_ECORRUPT);
    ash_object_free(o);
    ash__free(chunk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define ON_A_STORE(test) cmocka_unit_test_setup_teardown(test, live_new_store, live_close_store)
        ON_A_STORE(test_object_jetstream_objects__sizes),
        ON_A_STORE(test_object_jetstream_objects__as_others_write_it),
        ON_A_STORE(test_object_jetstream_objects__deleted),
        ON_A_STORE(test_object_jetstream_objects__ranges),
        ON_A_STORE(test_object_jetstream_objects__uneven_chunks),
        ON_A_STORE(test_object_jetstream_objects__wrong_count),
        ON_A_STORE(test_object_jetstream_objects__as_nats_js_writes),
        ON_A_STORE(test_object_jetstream_objects__unpadded_names),
        ON_A_STORE(test_object_jetstream_objects__corrupt),
    };
    return cmocka_run_group_tests(tests, live_start, live_stop);
}
