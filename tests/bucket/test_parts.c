/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* memmem */
/* Large chunks are verified as far as they are read, and found again without a new cursor. */
#include "support.h"

#include "base/mem.h"
#include "bucket/chunks.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LARGE = 200000, LENGTH = 5 * LARGE + 777 };

static uint8_t *put_large(fixture *f, ash_bucket *b, bson_value_t *id)
{
    uint8_t *data = support_bytes(LENGTH, 5);
    ash_upload *u = NULL;
    assert_ok(ash_bucket_open_upload_stream(b, "f", NULL, &u, &f->err), &f->err);
    assert_ok(ash_upload_write(u, data, LENGTH, &f->err), &f->err);
    bson_value_copy(ash_upload_id(u), id);
    assert_ok(ash_upload_finish(u, NULL, &f->err), &f->err);
    ash_upload_free(u);
    return data;
}

static ash_download *open_stream(fixture *f, ash_bucket *b, const bson_value_t *id)
{
    ash_download *d = NULL;
    assert_ok(ash_bucket_open_download_stream(b, id, NULL, &d, &f->err), &f->err);
    return d;
}

/* Invert one byte of the file where it lies on the disk. */
static void damage(fixture *f, const uint8_t *data, size_t at)
{
    char *path = ash__sprintf("%s/segments/00000001.seg", f->folder);
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    size_t len = (size_t)ftell(file);
    uint8_t *bytes = ash__alloc(len);
    rewind(file);
    assert_int_equal(fread(bytes, 1, len, file), len);
    uint8_t *found = memmem(bytes, len, data + at, 32);
    assert_non_null(found);
    assert_int_equal(fseek(file, (long)(found - bytes), SEEK_SET), 0);
    assert_int_equal(fputc(data[at] ^ 0xff, file), data[at] ^ 0xff);
    assert_int_equal(fclose(file), 0);
    ash__free(bytes);
    ash__free(path);
}

static int read_at(fixture *f, ash_download *d, const uint8_t *data, int64_t at, size_t want)
{
    uint8_t buf[3000];
    size_t got = 0;
    assert_true(want <= sizeof buf);
    assert_ok(ash_download_seek(d, at, &f->err), &f->err);
    int rc = ash_download_read(d, buf, want, &got, &f->err);
    if (rc == 0) {
        assert_int_equal(got, at + (int64_t)want > LENGTH ? (size_t)(LENGTH - at) : want);
        assert_memory_equal(buf, data + at, got);
    }
    return rc;
}

static void test_bucket_parts__views_of_any_place(void **state)
{
    fixture *f = *state;
    ash_bucket *b = support_open_bucket(f, LARGE);
    bson_value_t id;
    uint8_t *data = put_large(f, b, &id);
    ash_download *d = open_stream(f, b, &id);
    const uint8_t *view;
    size_t len;
    srand(4);
    for (int i = 0; i < 500; i++) {
        int64_t at = ((int64_t)rand() * 31 + rand()) % LENGTH;
        size_t max = 1 + (size_t)rand() % 9000;
        assert_ok(ash_download_seek(d, at, &f->err), &f->err);
        for (int j = 0; j < 5 && at < LENGTH; j++, at += (int64_t)len) {
            assert_ok(ash_download_view(d, max, &view, &len, &f->err), &f->err);
            assert_in_range(len, 1, max);
            assert_memory_equal(view, data + at, len);
            assert_int_equal(ash_download_position(d), at + (int64_t)len);
        }
    }
    assert_int_equal(ash_download_view(d, 0, &view, &len, &f->err), ASH_EINVAL);
    assert_ok(ash_download_seek(d, LENGTH, &f->err), &f->err);
    assert_ok(ash_download_view(d, 1, &view, &len, &f->err), &f->err);
    assert_int_equal(len, 0);
    ash_download_free(d);
    ash__free(data);
    bson_value_destroy(&id);
    ash_bucket_free(b);
}

static void test_bucket_parts__any_place_in_any_order(void **state)
{
    fixture *f = *state;
    ash_bucket *b = support_open_bucket(f, LARGE);
    bson_value_t id;
    uint8_t *data = put_large(f, b, &id);
    ash_download *d = open_stream(f, b, &id);
    srand(3);
    for (int i = 0; i < 500; i++) {
        int64_t at = ((int64_t)rand() * 31 + rand()) % LENGTH;
        assert_ok(read_at(f, d, data, at, 1 + (size_t)rand() % 3000), &f->err);
        /* And on from there, over the end of a chunk at times. */
        if (i % 7 == 0)
            for (int j = 0; j < 80 && ash_download_position(d) < LENGTH; j++)
                assert_ok(read_at(f, d, data, ash_download_position(d), 2999), &f->err);
    }
    ash_download_free(d);
    ash__free(data);
    bson_value_destroy(&id);
    ash_bucket_free(b);
}

static void test_bucket_parts__damage_is_met_where_it_is_read(void **state)
{
    fixture *f = *state;
    ash_bucket *b = support_open_bucket(f, LARGE);
    bson_value_t id;
    uint8_t *data = put_large(f, b, &id);
    const uint8_t *piece;
    size_t len;
    damage(f, data, 2 * LARGE + 100000);
    ash_download *d = open_stream(f, b, &id);
    assert_ok(read_at(f, d, data, 2 * LARGE + 50000, 3000), &f->err);
    assert_ok(read_at(f, d, data, 2 * LARGE + 150000, 3000), &f->err);
    assert_ok(read_at(f, d, data, 2 * LARGE, 3000), &f->err);
    assert_int_equal(read_at(f, d, data, 2 * LARGE + 98000, 3000), ASH_ECORRUPT);
    assert_non_null(strstr(f->err.text, "chunk 2: a payload with a wrong checksum in segment"));
    assert_int_equal(ash_download_read(d, (void *)&piece, 1, &len, &f->err), ASH_ESTATE);
    ash_download_free(d);
    /* A whole chunk is verified whole. */
    d = open_stream(f, b, &id);
    assert_ok(ash_download_next(d, &piece, &len, &f->err), &f->err);
    assert_ok(ash_download_next(d, &piece, &len, &f->err), &f->err);
    assert_int_equal(ash_download_next(d, &piece, &len, &f->err), ASH_ECORRUPT);
    ash_download_free(d);
    ash__free(data);
    bson_value_destroy(&id);
    ash_bucket_free(b);
}

/* What was found right once is not looked at again, and what was not is. */
static void test_bucket_parts__small_reads_meet_damage_too(void **state)
{
    fixture *f = *state;
    ash_bucket *b = support_open_bucket(f, LARGE);
    bson_value_t id;
    uint8_t *data = put_large(f, b, &id);
    int64_t at = 0;
    int rc = 0;
    damage(f, data, LARGE + 123456);
    ash_download *d = open_stream(f, b, &id);
    for (; rc == 0 && at < LENGTH; at += 100)
        rc = read_at(f, d, data, at, 100);
    assert_int_equal(rc, ASH_ECORRUPT);
    assert_in_range(at, LARGE + 123456 - 8192, LARGE + 123456 + 100);
    ash_download_free(d);
    ash__free(data);
    bson_value_destroy(&id);
    ash_bucket_free(b);
}

/* Coming back to a chunk skips its head, not its bytes; and from there reading goes on. */
static void test_bucket_parts__chunks_met_before(void **state)
{
    fixture *f = *state;
    ash_bucket *b = support_open_bucket(f, LARGE);
    bson_value_t id;
    uint8_t *data = put_large(f, b, &id);
    ash_download *d = open_stream(f, b, &id);
    for (int turn = 0; turn < 3; turn++)
        for (int n = 5; n >= 0; n--)
            assert_ok(read_at(f, d, data, n * LARGE + 100 * turn, 600), &f->err);
    assert_ok(read_at(f, d, data, 3 * LARGE - 1000, 3000), &f->err);
    for (int i = 0; i < 300; i++)
        assert_ok(read_at(f, d, data, ash_download_position(d), 3000), &f->err);
    assert_ok(read_at(f, d, data, 5 * LARGE - 1000, 3000), &f->err);
    assert_int_equal(ash_download_position(d), LENGTH);
    damage(f, data, 2 * LARGE + 100000);
    assert_ok(read_at(f, d, data, 2 * LARGE + 50000, 3000), &f->err);
    assert_int_equal(read_at(f, d, data, 2 * LARGE + 98000, 3000), ASH_ECORRUPT);
    assert_non_null(strstr(f->err.text, "chunk 2: a payload with a wrong checksum in segment"));
    ash_download_free(d);
    ash__free(data);
    bson_value_destroy(&id);
    ash_bucket_free(b);
}

static void test_bucket_parts__a_missing_chunk_does_not_lead_astray(void **state)
{
    fixture *f = *state;
    ash_bucket *b = support_open_bucket(f, LARGE);
    bson_value_t id;
    uint8_t *data = put_large(f, b, &id);
    support_remove(f->chunks, "{\"n\": 1}");
    ash_download *d = open_stream(f, b, &id);
    assert_ok(read_at(f, d, data, 3 * LARGE + 7, 3000), &f->err);
    assert_ok(read_at(f, d, data, 4 * LARGE + 7, 3000), &f->err);
    assert_ok(read_at(f, d, data, 7, 3000), &f->err);
    /* One after the last that is there, in count. */
    assert_ok(read_at(f, d, data, 5 * LARGE + 7, 700), &f->err);
    assert_int_equal(read_at(f, d, data, LARGE + 7, 3000), ASH_ECHUNKMISSING);
    ash_download_free(d);
    support_remove(f->chunks, "{\"n\": 5}");
    d = open_stream(f, b, &id);
    assert_int_equal(read_at(f, d, data, 5 * LARGE + 7, 700), ASH_ECHUNKMISSING);
    ash_download_free(d);
    ash__free(data);
    bson_value_destroy(&id);
    ash_bucket_free(b);
}

/* Then a chunk's place is not its number less the first's; a broken tool may leave this. */
static void test_bucket_parts__chunks_there_twice(void **state)
{
    fixture *f = *state;
    ash_bucket *b = support_open_bucket(f, LARGE);
    bson_value_t id;
    uint8_t *data = put_large(f, b, &id);
    bson_t *name = BCON_NEW("0", BCON_UTF8("files_id_1_n_1"));
    bson_iter_t it;
    bson_t doc = BSON_INITIALIZER;
    assert_true(bson_iter_init_find(&it, name, "0"));
    assert_ok(ash_collection_drop_indexes(f->chunks, bson_iter_value(&it), NULL, &f->err), &f->err);
    bson_append_value(&doc, "files_id", 8, &id);
    bson_append_int32(&doc, "n", 1, 1);
    bson_append_binary(&doc, "data", 4, BSON_SUBTYPE_BINARY, data + LARGE, LARGE);
    assert_ok(ash_collection_insert_one(f->chunks, &doc, NULL, &f->err), &f->err);
    ash_download *d = open_stream(f, b, &id);
    assert_ok(read_at(f, d, data, 4 * LARGE + 7, 3000), &f->err);
    assert_ok(read_at(f, d, data, LARGE + 7, 3000), &f->err);
    assert_ok(read_at(f, d, data, 7, 3000), &f->err);
    assert_ok(read_at(f, d, data, 5 * LARGE + 7, 700), &f->err);
    ash_download_free(d);
    bson_destroy(name);
    bson_destroy(&doc);
    ash__free(data);
    bson_value_destroy(&id);
    ash_bucket_free(b);
}

/* Drivers may write the fields in any order. */
static void test_bucket_parts__data_before_the_number(void **state)
{
    fixture *f = *state;
    ash_bucket *b = support_open_bucket(f, LARGE);
    bson_value_t id;
    uint8_t *data = put_large(f, b, &id);
    bson_t doc = BSON_INITIALIZER;
    support_remove(f->chunks, "{\"n\": 1}");
    bson_append_binary(&doc, "data", 4, BSON_SUBTYPE_BINARY, data + LARGE, LARGE);
    bson_append_int64(&doc, "n", 1, 1);
    bson_append_value(&doc, "files_id", 8, &id);
    assert_ok(ash_collection_insert_one(f->chunks, &doc, NULL, &f->err), &f->err);
    ash_download *d = open_stream(f, b, &id);
    assert_ok(read_at(f, d, data, LARGE + 150000, 3000), &f->err);
    assert_ok(read_at(f, d, data, 2 * LARGE - 1000, 3000), &f->err);
    ash_download_free(d);
    bson_destroy(&doc);
    ash__free(data);
    bson_value_destroy(&id);
    ash_bucket_free(b);
}

/* ---- the head of a chunk ---- */

static bool parse(const bson_t *doc, size_t have, int64_t *n, size_t *at, size_t *len)
{
    const uint8_t *data = NULL;
    ash_doc view = {bson_get_data(doc), doc->len};
    if (!ash__chunk_parse_head(view, have, n, &data, len))
        return false;
    *at = (size_t)(data - view.data);
    return true;
}

static void test_bucket_parts__a_head_tells_or_does_not(void **state)
{
    (void)state;
    bson_t doc = BSON_INITIALIZER;
    uint8_t bytes[500] = {0};
    bson_oid_t oid;
    int64_t n = 0;
    size_t at, len;
    bson_oid_init(&oid, NULL);
    bson_append_oid(&doc, "_id", 3, &oid);
    bson_append_utf8(&doc, "files_id", 8, "a name", -1);
    bson_append_int32(&doc, "n", 1, 41);
    bson_append_binary(&doc, "data", 4, BSON_SUBTYPE_BINARY, bytes, sizeof bytes);
    size_t head = doc.len - 1 - sizeof bytes;
    for (size_t have = 0; have < head; have++)
        assert_false(parse(&doc, have, &n, &at, &len));
    for (size_t have = head; have <= doc.len; have += 50) {
        assert_true(parse(&doc, have, &n, &at, &len));
        assert_int_equal(n, 41);
        assert_int_equal(at, head);
        assert_int_equal(len, sizeof bytes);
    }
    /* Something behind the data might be another field of the same name. */
    bson_append_int32(&doc, "n", 1, 42);
    assert_false(parse(&doc, 256, &n, &at, &len));
    bson_reinit(&doc);
    bson_append_int32(&doc, "n", 1, 1);
    bson_append_document(&doc, "files_id", 8, &(bson_t)BSON_INITIALIZER);
    bson_append_binary(&doc, "data", 4, BSON_SUBTYPE_BINARY, bytes, sizeof bytes);
    assert_false(parse(&doc, 256, &n, &at, &len));
    bson_destroy(&doc);
}

int main(void)
{
#define T(name)                                                                                    \
    cmocka_unit_test_setup_teardown(test_bucket_parts__##name, support_setup, support_teardown)
    const struct CMUnitTest tests[] = {
        T(any_place_in_any_order),
        T(views_of_any_place),
        T(damage_is_met_where_it_is_read),
        T(small_reads_meet_damage_too),
        T(chunks_met_before),
        T(a_missing_chunk_does_not_lead_astray),
        T(chunks_there_twice),
        T(data_before_the_number),
        cmocka_unit_test(test_bucket_parts__a_head_tells_or_does_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
