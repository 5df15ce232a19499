/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges, seeking, single chunks; damage; what happens to what is being read. */
#include "support.h"

#include <ashlar/bucket.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEN = 1003 };

static uint8_t *put_small_chunks(fixture *f, const char *name)
{
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    uint8_t *data = support_bytes(LEN, 1);
    meta.name = name;
    meta.chunk_size = 10;
    assert_ok(ash_object_store_put_bytes(f->store, &meta, data, LEN, NULL, NULL, NULL, &f->err),
              &f->err);
    return data;
}

static void expect_range(fixture *f, const ash_object_read_options *o, const uint8_t *data,
                         size_t len)
{
    uint8_t *got = NULL;
    size_t got_len = 0;
    assert_ok(ash_object_store_get_bytes(f->store, "a", o, NULL, &got, &got_len, &f->err), &f->err);
    assert_int_equal(got_len, len);
    assert_memory_equal(got, data, len);
    ash_object_bytes_free(got);
}

static void test_object_reads__ranges(void **state)
{
    fixture *f = *state;
    uint8_t *data = put_small_chunks(f, "a");
    static const int64_t ranges[][2] = {{0, LEN},   {0, 1},     {LEN - 1, LEN}, {5, 15},
                                        {10, 20},   {9, 11},    {999, 1003},    {3, 998},
                                        {500, 500}, {LEN, LEN}, {LEN, 0},       {1000, 0}};
    for (size_t i = 0; i < ASH_ARRAY_LEN(ranges); i++) {
        ash_object_read_options o = ASH_OBJECT_READ_OPTIONS_INIT;
        o.start = ranges[i][0];
        o.end = ranges[i][1];
        int64_t end = o.end != 0 ? o.end : LEN;
        expect_range(f, &o, data + o.start, (size_t)(end - o.start));
    }
    ash__free(data);
}

static void test_object_reads__bad_ranges(void **state)
{
    fixture *f = *state;
    uint8_t *data = put_small_chunks(f, "a"), *got = NULL;
    size_t len = 0;
    const ash_object_read_options rows[] = {
        {.start = -1},
        {.start = 5, .end = 4},
        {.end = LEN + 1},
        {.start = LEN + 1},
        {.has_chunk = true, .chunk = -1},
        {.has_chunk = true, .chunk = 101},
        {.has_chunk = true, .chunk = INT64_MAX},
        {.has_chunk = true, .start = 1},
        {.follow = true, .no_follow = true},
        {.start = INT64_MIN},
        {.end = INT64_MAX},
    };
    for (size_t i = 0; i < ASH_ARRAY_LEN(rows); i++) {
        ash_object_read_options o = rows[i];
        o.size = sizeof o;
        assert_int_equal(ash_object_store_get_bytes(f->store, "a", &o, NULL, &got, &len, &f->err),
                         ASH_EINVAL);
    }
    ash__free(data);
}

static void test_object_reads__single_chunks(void **state)
{
    fixture *f = *state;
    uint8_t *data = put_small_chunks(f, "a");
    static const int64_t chunks[] = {0, 1, 50, 99, 100};
    for (size_t i = 0; i < ASH_ARRAY_LEN(chunks); i++) {
        ash_object_read_options o = ASH_OBJECT_READ_OPTIONS_INIT;
        o.has_chunk = true;
        o.chunk = chunks[i];
        expect_range(f, &o, data + chunks[i] * 10, chunks[i] == 100 ? 3 : 10);
    }
    ash__free(data);
}

static void test_object_reads__seeking(void **state)
{
    fixture *f = *state;
    uint8_t *data = put_small_chunks(f, "a"), got[64];
    ash_object_reader *r = NULL;
    size_t n = 0;
    assert_ok(ash_object_store_open_reader(f->store, "a", NULL, NULL, &r, &f->err), &f->err);
    static const int64_t places[] = {500, 0, 990, 7, 1002, 1003, 10, 10};
    for (size_t i = 0; i < ASH_ARRAY_LEN(places); i++) {
        assert_ok(ash_object_reader_seek(r, places[i], &f->err), &f->err);
        assert_int_equal(ash_object_reader_position(r), places[i]);
        size_t want =
            (size_t)(LEN - places[i]) < sizeof got ? (size_t)(LEN - places[i]) : sizeof got;
        for (size_t have = 0; have < want; have += n) {
            assert_ok(ash_object_reader_read(r, got + have, want - have, &n, &f->err), &f->err);
            assert_true(n > 0);
        }
        assert_memory_equal(got, data + places[i], want);
    }
    assert_int_equal(ash_object_reader_seek(r, -1, &f->err), ASH_EINVAL);
    assert_int_equal(ash_object_reader_seek(r, LEN + 1, &f->err), ASH_EINVAL);
    ash_object_reader_free(r);
    ash__free(data);
}

/* "7 B/2 -> reads 2, 2, 2, 1", and the end only there. */
static void test_object_reads__in_parts(void **state)
{
    fixture *f = *state;
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    ash_object_reader *r = NULL;
    char got[8];
    size_t n = 1, total = 0;
    meta.name = "a";
    meta.chunk_size = 2;
    assert_ok(ash_object_store_put_bytes(f->store, &meta, "1234567", 7, NULL, NULL, NULL, &f->err),
              &f->err);
    assert_ok(ash_object_store_open_reader(f->store, "a", NULL, NULL, &r, &f->err), &f->err);
    assert_int_equal(ash_object_size(ash_object_reader_object(r)), 7);
    while (total < 7) {
        assert_ok(ash_object_reader_read(r, got + total, 2, &n, &f->err), &f->err);
        assert_true(n >= 1 && n <= 2);
        total += n;
    }
    assert_memory_equal(got, "1234567", 7);
    for (int i = 0; i < 3; i++) {
        assert_ok(ash_object_reader_read(r, got, 2, &n, &f->err), &f->err);
        assert_int_equal(n, 0);
    }
    ash_object_reader_free(r);
}

static void test_object_reads__too_much_for_memory(void **state)
{
    fixture *f = *state;
    ash_object_read_options o = ASH_OBJECT_READ_OPTIONS_INIT;
    uint8_t *data = NULL;
    size_t len = 0;
    support_put(f, f->store, "a", "12345");
    o.max_bytes = 4;
    assert_int_equal(ash_object_store_get_bytes(f->store, "a", &o, NULL, &data, &len, &f->err),
                     ASH_ETOOBIG);
    assert_null(data);
    o.max_bytes = 5;
    assert_ok(ash_object_store_get_bytes(f->store, "a", &o, NULL, &data, &len, &f->err), &f->err);
    ash_object_bytes_free(data);
}

/* A reader gets one version whole, or an error that says so. */
static void test_object_reads__overwritten_while_read(void **state)
{
    fixture *f = *state;
    size_t len = 3000000, n = 0, total = 0;
    uint8_t *data = support_bytes(len, 1), *got = ash__alloc(len);
    ash_object_reader *r = NULL;
    int rc = 0;
    support_put_bytes(f, f->store, "a", data, len);
    assert_ok(ash_object_store_open_reader(f->store, "a", NULL, NULL, &r, &f->err), &f->err);
    assert_ok(ash_object_reader_read(r, got, 1000, &total, &f->err), &f->err);
    support_put(f, f->store, "a", "new");
    while (rc == 0 && total < len) {
        rc = ash_object_reader_read(r, got + total, len - total, &n, &f->err);
        if (rc == 0)
            assert_true(n > 0);
        total += n;
    }
    if (rc == 0)
        assert_memory_equal(got, data, len);
    else
        assert_int_equal(rc, ASH_ECONFLICT);
    ash_object_reader_free(r);
    support_expect(f, f->store, "a", "new");
    support_expect_sound(f, f->store);
    ash__free(got);
    ash__free(data);
}

static void test_object_reads__deleted_while_read(void **state)
{
    fixture *f = *state;
    size_t len = 3000000, n = 0, total = 0;
    uint8_t *data = support_bytes(len, 1), *got = ash__alloc(len);
    ash_object_reader *r = NULL;
    int rc = 0;
    support_put_bytes(f, f->store, "a", data, len);
    assert_ok(ash_object_store_open_reader(f->store, "a", NULL, NULL, &r, &f->err), &f->err);
    support_delete(f, f->store, "a");
    while (rc == 0 && total < len) {
        rc = ash_object_reader_read(r, got + total, len - total, &n, &f->err);
        total += n;
    }
    if (rc == 0)
        assert_memory_equal(got, data, len);
    else
        assert_int_equal(rc, ASH_ECONFLICT);
    ash_object_reader_free(r);
    ash__free(got);
    ash__free(data);
}

/* ---- damage, where it can be made ---- */

static void damage(fixture *f, const char *name)
{
    ash_store *store = NULL;
    ash_collection *chunks = NULL;
    ash_object *o = support_info(f, f->store, name);
    char *coll = ash__sprintf("objects.%s.chunks", support_name(f, ""));
    bson_t *filter = BCON_NEW("files_id", BCON_UTF8(ash_object_nuid(o)), "n", BCON_INT32(0));
    uint8_t zeros[4] = {0};
    bson_t *set = BCON_NEW("$set", "{", "data", BCON_BIN(BSON_SUBTYPE_BINARY, zeros, 4), "}");
    bson_value_t update = {.value_type = BSON_TYPE_DOCUMENT};
    update.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(set);
    update.value.v_doc.data_len = set->len;
    char *name_of_store = ash__strdup(ash_object_store_name(f->store));
    ash_object_store_close(f->store);
    ash_object_manager_close(f->manager);
    const char *uri = getenv("ASH_OBJECT_STORE");
    assert_ok(ash_store_open(uri != NULL ? uri : f->folder, NULL, &store, &f->err), &f->err);
    assert_ok(ash_collection_new(store, f->db, coll, &chunks, &f->err), &f->err);
    assert_ok(ash_collection_update(chunks, filter, &update, NULL, NULL, &f->err), &f->err);
    ash_collection_free(chunks);
    ash_store_close(store);
    support_open(f, &f->manager);
    assert_ok(ash_object_manager_bind(f->manager, name_of_store, NULL, &f->store, &f->err),
              &f->err);
    ash__free(name_of_store);
    ash__free(coll);
    bson_destroy(filter);
    bson_destroy(set);
    ash_object_free(o);
}

static void test_object_reads__digest_differs(void **state)
{
    fixture *f = *state;
    ash_object_read_options o = ASH_OBJECT_READ_OPTIONS_INIT;
    uint8_t *data = NULL;
    size_t len = 0;
    if (strcmp(f->can.backend, "docs") != 0)
        skip();
    support_put(f, f->store, "a", "text");
    damage(f, "a");
    assert_int_equal(ash_object_store_get_bytes(f->store, "a", NULL, NULL, &data, &len, &f->err),
                     ASH_ECORRUPT);
    assert_non_null(strstr(f->err.text, "digest"));
    assert_null(data);
    o.unverified = true;
    assert_ok(ash_object_store_get_bytes(f->store, "a", &o, NULL, &data, &len, &f->err), &f->err);
    assert_memory_equal(data, "\0\0\0\0", 4);
    ash_object_bytes_free(data);
    /* A part says nothing of the whole. */
    o.unverified = false;
    o.end = 3;
    assert_ok(ash_object_store_get_bytes(f->store, "a", &o, NULL, &data, &len, &f->err), &f->err);
    ash_object_bytes_free(data);
}

/* ---- digests and encodings ---- */

static void test_object_reads__other_digests(void **state)
{
    fixture *f = *state;
    support_need(f, digests);
    static const struct {
        ash_digest_kind kind;
        const char *text;
    } rows[] = {{ASH_DIGEST_SHA256, "SHA-256=ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0="},
                {ASH_DIGEST_SHA1, "SHA-1=qZk-NkcGgWq6PiVxeFDCbJzQ2J0="},
                {ASH_DIGEST_MD5, "MD5=kAFQmDzST7DWlj99KOF_cg=="}};
    for (size_t i = 0; i < ASH_ARRAY_LEN(rows); i++) {
        ash_object_meta meta = ASH_OBJECT_META_INIT;
        ash_object *o = NULL;
        meta.name = "a";
        meta.digest = rows[i].kind;
        assert_ok(ash_object_store_put_bytes(f->store, &meta, "abc", 3, NULL, NULL, &o, &f->err),
                  &f->err);
        assert_string_equal(ash_object_digest(o), rows[i].text);
        ash_object_free(o);
        support_expect(f, f->store, "a", "abc");
    }
}

static void test_object_reads__encoded(void **state)
{
    fixture *f = *state;
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    size_t len = 1000003;
    ash_object *plain = NULL, *o = NULL;
    support_need(f, encoding);
    uint8_t *data = ash__alloc(len), *got = NULL;
    for (size_t i = 0; i < len; i++)
        data[i] = (uint8_t)(i / 1000 % 256);
    assert_ok(support_try_put(f, f->store, "p", data, len, &plain), &f->err);
    ash_object_status *st = support_status(f, f->store);
    int64_t before = ash_object_status_bytes(st);
    ash_object_status_free(st);
    meta.name = "a";
    meta.encoding = "zstd";
    assert_ok(ash_object_store_put_bytes(f->store, &meta, data, len, NULL, NULL, &o, &f->err),
              &f->err);
    assert_string_equal(ash_object_encoding(o), "zstd");
    assert_int_equal(ash_object_size(o), len);
    assert_int_equal(ash_object_chunks(o), 8);
    assert_string_equal(ash_object_digest(o), ash_object_digest(plain));
    st = support_status(f, f->store);
    assert_true(ash_object_status_bytes(st) - before < 20000);
    ash_object_status_free(st);
    support_expect_bytes(f, f->store, "a", data, len);
    ash_object_read_options r = ASH_OBJECT_READ_OPTIONS_INIT;
    for (int64_t start = 0; start < (int64_t)len; start += 99991) {
        r.start = start;
        r.end = start + 500 < (int64_t)len ? start + 500 : (int64_t)len;
        expect_range(f, &r, data + start, (size_t)(r.end - r.start));
    }
    r = (ash_object_read_options)ASH_OBJECT_READ_OPTIONS_INIT;
    r.has_chunk = true;
    r.chunk = 7;
    expect_range(f, &r, data + 7 * 131072, len - 7 * 131072);
    assert_ok(ash_object_store_put_bytes(f->store, &meta, "", 0, NULL, NULL, NULL, &f->err),
              &f->err);
    support_expect(f, f->store, "a", "");
    support_expect_sound(f, f->store);
    ash_object_free(plain);
    ash_object_free(o);
    ash__free(data);
    ash__free(got);
}

static void test_object_reads__compressed_store(void **state)
{
    fixture *f = *state;
    ash_object_config config = ASH_OBJECT_CONFIG_INIT;
    support_need(f, compression);
    uint8_t *data = ash__alloc(500000);
    config.compression = true;
    support_configure(f, &config);
    support_put_bytes(f, f->store, "a", data, 500000);
    support_expect_bytes(f, f->store, "a", data, 500000);
    ash__free(data);
}

#define T(name)                                                                                    \
    cmocka_unit_test_setup_teardown(test_object_reads__##name, support_setup, support_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(ranges),
        T(bad_ranges),
        T(single_chunks),
        T(seeking),
        T(in_parts),
        T(too_much_for_memory),
        T(overwritten_while_read),
        T(deleted_while_read),
        T(digest_differs),
        T(other_digests),
        T(encoded),
        T(compressed_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
