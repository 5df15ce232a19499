/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "base/clock.h"

#include <string.h>

static void put_length(fixture *f, size_t len)
{
    bson_value_t id;
    uint8_t *data = support_bytes(len, (uint32_t)len);
    support_put(f, "f", data, len, &id);
    support_expect(f, &id, data, len);
    bson_value_destroy(&id);
    ash__free(data);
}

static void test_bucket_upload__every_length_around_a_chunk(void **state)
{
    fixture *f = *state;
    static const size_t lengths[] = {0,         1,         CHUNK - 1,   CHUNK,
                                     CHUNK + 1, 2 * CHUNK, 100 * CHUNK, 5000 * CHUNK + 3};
    int64_t chunks = 0;
    for (size_t i = 0; i < ASH_ARRAY_LEN(lengths); i++) {
        put_length(f, lengths[i]);
        chunks += (int64_t)((lengths[i] + CHUNK - 1) / CHUNK);
        assert_int_equal(support_count(f->chunks, "{}"), chunks);
    }
}

static void test_bucket_upload__empty_file_has_no_chunk(void **state)
{
    fixture *f = *state;
    support_put(f, "empty", "", 0, NULL);
    assert_int_equal(support_count(f->files, "{\"length\": 0}"), 1);
    assert_int_equal(support_count(f->chunks, "{}"), 0);
}

static void test_bucket_upload__documents_have_the_specified_types(void **state)
{
    fixture *f = *state;
    support_put(f, "f", "0123456789abcdef!", 17, NULL);
    assert_int_equal(support_count_type(f->files, "_id", "objectId"), 1);
    assert_int_equal(support_count_type(f->files, "length", "long"), 1);
    assert_int_equal(support_count_type(f->files, "chunkSize", "int"), 1);
    assert_int_equal(support_count_type(f->files, "uploadDate", "date"), 1);
    assert_int_equal(support_count_type(f->files, "filename", "string"), 1);
    assert_int_equal(support_count_type(f->chunks, "_id", "objectId"), 2);
    assert_int_equal(support_count_type(f->chunks, "files_id", "objectId"), 2);
    assert_int_equal(support_count_type(f->chunks, "n", "int"), 2);
    assert_int_equal(support_count_type(f->chunks, "data", "binData"), 2);
    char *json = support_dump(f->chunks, "{\"n\": 1}");
    assert_non_null(strstr(json, "\"$binary\" : { \"base64\" : \"IQ==\", \"subType\" : \"00\" }"));
    bson_free(json);
}

static void test_bucket_upload__optional_fields_only_when_given(void **state)
{
    fixture *f = *state;
    ash_upload_options o = ASH_UPLOAD_OPTIONS_INIT;
    bson_t *metadata = BCON_NEW("a", "{", "b", BCON_INT32(1), "}");
    bson_t *aliases = BCON_NEW("0", "x");
    support_put(f, "plain", "x", 1, NULL);
    assert_int_equal(support_count(f->files,
                                   "{\"filename\": \"plain\", \"metadata\": {\"$exists\": "
                                   "false}, \"contentType\": {\"$exists\": false}, "
                                   "\"aliases\": {\"$exists\": false}, \"md5\": "
                                   "{\"$exists\": false}}"),
                     1);
    o.metadata = metadata;
    o.aliases = aliases;
    o.content_type = "text/plain";
    assert_ok(support_put_with(f, NULL, "rich", "x", 1, &o), &f->err);
    assert_int_equal(support_count(f->files,
                                   "{\"metadata.b\": {\"$exists\": false}, \"metadata.a.b\""
                                   ": 1, \"aliases\": \"x\", \"contentType\": "
                                   "\"text/plain\"}"),
                     1);
    bson_destroy(metadata);
    bson_destroy(aliases);
}

static void test_bucket_upload__chunk_size_of_the_file_before_the_buckets(void **state)
{
    fixture *f = *state;
    ash_upload_options o = ASH_UPLOAD_OPTIONS_INIT;
    o.chunk_size_bytes = 3;
    assert_ok(support_put_with(f, NULL, "own", "abcdefg", 7, &o), &f->err);
    assert_int_equal(support_count(f->files, "{\"chunkSize\": 3}"), 1);
    assert_int_equal(support_count(f->chunks, "{}"), 3);
    assert_ok(support_put_with(f, NULL, "bucket", "abcdefg", 7, NULL), &f->err);
    assert_int_equal(support_count(f->files, "{\"chunkSize\": 16}"), 1);
}

static void test_bucket_upload__nothing_is_visible_before_finish(void **state)
{
    fixture *f = *state;
    ash_upload *u = NULL;
    ash_file *file = NULL;
    uint8_t *data = support_bytes(20000, 1);
    assert_ok(ash_bucket_open_upload_stream(f->bucket, "f", NULL, &u, &f->err), &f->err);
    assert_int_equal(ash_upload_id(u)->value_type, BSON_TYPE_OID);
    assert_ok(ash_upload_write(u, data, 20000, &f->err), &f->err);
    assert_int_equal(ash_upload_position(u), 20000);
    assert_int_equal(support_count(f->files, "{}"), 0);
    assert_ok(ash_upload_finish(u, &file, &f->err), &f->err);
    assert_int_equal(support_count(f->files, "{}"), 1);
    assert_int_equal(ash_file_length(file), 20000);
    assert_string_equal(ash_file_filename(file), "f");
    assert_true(bson_oid_equal(&ash_file_id(file)->value.v_oid, &ash_upload_id(u)->value.v_oid));
    assert_int_equal(strlen(ash_file_sha256(file)), 64);
    ash_file_free(file);
    ash_upload_free(u);
    ash__free(data);
}

static void test_bucket_upload__closed_after_finish(void **state)
{
    fixture *f = *state;
    ash_upload *u = NULL;
    assert_ok(ash_bucket_open_upload_stream(f->bucket, "f", NULL, &u, &f->err), &f->err);
    assert_ok(ash_upload_finish(u, NULL, &f->err), &f->err);
    assert_int_equal(ash_upload_write(u, "x", 1, &f->err), ASH_ESTATE);
    assert_int_equal(ash_upload_finish(u, NULL, &f->err), ASH_ESTATE);
    assert_int_equal(ash_upload_abort(u, &f->err), ASH_ESTATE);
    ash_upload_free(u);
    assert_int_equal(support_count(f->files, "{\"length\": 0}"), 1);
}

static void test_bucket_upload__abort_deletes_chunks_and_closes(void **state)
{
    fixture *f = *state;
    ash_upload *u = NULL;
    uint8_t *data = support_bytes(100000, 1);
    assert_ok(ash_bucket_open_upload_stream(f->bucket, "f", NULL, &u, &f->err), &f->err);
    assert_ok(ash_upload_write(u, data, 100000, &f->err), &f->err);
    assert_true(support_count(f->chunks, "{}") > 0);
    assert_ok(ash_upload_abort(u, &f->err), &f->err);
    assert_int_equal(support_count(f->chunks, "{}"), 0);
    assert_int_equal(ash_upload_write(u, "x", 1, &f->err), ASH_ESTATE);
    assert_int_equal(ash_upload_finish(u, NULL, &f->err), ASH_ESTATE);
    assert_int_equal(ash_upload_abort(u, &f->err), ASH_ESTATE);
    ash_upload_free(u);
    assert_int_equal(support_count(f->files, "{}"), 0);
    ash__free(data);
}

static void test_bucket_upload__free_before_finish_leaves_nothing(void **state)
{
    fixture *f = *state;
    ash_upload *u = NULL;
    uint8_t *data = support_bytes(100000, 1);
    assert_ok(ash_bucket_open_upload_stream(f->bucket, "f", NULL, &u, &f->err), &f->err);
    assert_ok(ash_upload_write(u, data, 100000, &f->err), &f->err);
    ash_upload_free(u);
    assert_int_equal(support_count(f->chunks, "{}"), 0);
    assert_int_equal(support_count(f->files, "{}"), 0);
    ash__free(data);
}

static void test_bucket_upload__failed_source_aborts_with_its_own_error(void **state)
{
    fixture *f = *state;
    uint8_t *data = support_bytes(100000, 1);
    support_source s = {data, 100000, 0, 777, true};
    ash_input in = support_input(&s);
    assert_int_equal(ash_bucket_upload_from_stream(f->bucket, "f", &in, NULL, NULL, &f->err),
                     ASH_EIO);
    assert_string_equal(f->err.text, "source failed");
    assert_int_equal(support_count(f->chunks, "{}"), 0);
    assert_int_equal(support_count(f->files, "{}"), 0);
    ash__free(data);
}

static void test_bucket_upload__date_is_that_of_completion(void **state)
{
    fixture *f = *state;
    ash_upload *u = NULL;
    ash_file *file = NULL;
    assert_ok(ash_bucket_open_upload_stream(f->bucket, "f", NULL, &u, &f->err), &f->err);
    assert_ok(ash_upload_write(u, "x", 1, &f->err), &f->err);
    ash__clock_sleep_ms(30);
    int64_t before = ash__clock_wall_ms();
    assert_ok(ash_upload_finish(u, &file, &f->err), &f->err);
    assert_true(ash_file_upload_date_ms(file) >= before);
    assert_true(ash_file_upload_date_ms(file) <= ash__clock_wall_ms() + 1);
    ash_file_free(file);
    ash_upload_free(u);
}

static void test_bucket_upload__revisions_have_rising_dates(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < 50; i++) {
        char text = (char)('0' + i);
        support_put(f, "same", &text, 1, NULL);
    }
    for (int i = 0; i < 50; i++) {
        char text = (char)('0' + i);
        support_expect_name(f, "same", i, &text, 1);
    }
}

static void test_bucket_upload__taken_id_is_refused_and_the_file_stays(void **state)
{
    fixture *f = *state;
    bson_value_t id = support_int_id(5);
    assert_ok(support_put_with(f, &id, "first", "0123456789abcdefXY", 18, NULL), &f->err);
    assert_int_equal(support_put_with(f, &id, "second", "zz", 2, NULL), ASH_EEXISTS);
    assert_int_equal(support_put_with(f, &id, "third", "", 0, NULL), ASH_EEXISTS);
    support_expect(f, &id, "0123456789abcdefXY", 18);
    assert_int_equal(support_count(f->files, "{}"), 1);
}

static void try_id(fixture *f, const bson_value_t *id)
{
    assert_ok(support_put_with(f, id, "f", "0123456789abcdefXY", 18, NULL), &f->err);
    support_expect(f, id, "0123456789abcdefXY", 18);
    assert_ok(ash_bucket_rename(f->bucket, id, "g", NULL, &f->err), &f->err);
    assert_ok(ash_bucket_delete(f->bucket, id, NULL, &f->err), &f->err);
    assert_int_equal(support_count(f->chunks, "{}"), 0);
}

static void test_bucket_upload__ids_of_every_type(void **state)
{
    fixture *f = *state;
    bson_t ids = BSON_INITIALIZER;
    bson_t *doc = BCON_NEW("a", BCON_INT32(1));
    bson_oid_t oid;
    bson_decimal128_t decimal;
    bson_iter_t it;
    bson_oid_init(&oid, NULL);
    bson_decimal128_from_string("1.5", &decimal);
    bson_append_double(&ids, "0", 1, 1.25);
    bson_append_utf8(&ids, "1", 1, "text", -1);
    bson_append_document(&ids, "2", 1, doc);
    bson_append_binary(&ids, "3", 1, BSON_SUBTYPE_UUID, (const uint8_t *)"0123456789abcdef", 16);
    bson_append_oid(&ids, "4", 1, &oid);
    bson_append_bool(&ids, "5", 1, false);
    bson_append_date_time(&ids, "6", 1, -5);
    bson_append_null(&ids, "7", 1);
    bson_append_code(&ids, "8", 1, "x()");
    bson_append_symbol(&ids, "9", 1, "symbol", -1);
    bson_append_int32(&ids, "10", 2, -1);
    bson_append_timestamp(&ids, "11", 2, 5, 6);
    bson_append_int64(&ids, "12", 2, INT64_MIN);
    bson_append_decimal128(&ids, "13", 2, &decimal);
    bson_append_minkey(&ids, "14", 2);
    bson_append_maxkey(&ids, "15", 2);
    assert_true(bson_iter_init(&it, &ids));
    while (bson_iter_next(&it))
        try_id(f, bson_iter_value(&it));
    bson_destroy(&ids);
    bson_destroy(doc);
}

static void test_bucket_upload__ids_that_cannot_be(void **state)
{
    fixture *f = *state;
    bson_t ids = BSON_INITIALIZER;
    bson_t *doc = BCON_NEW("$gt", BCON_INT32(1));
    bson_iter_t it;
    bson_append_array(&ids, "0", 1, doc);
    bson_append_regex(&ids, "1", 1, "a", "");
    bson_append_undefined(&ids, "2", 1);
    bson_append_document(&ids, "3", 1, doc);
    assert_true(bson_iter_init(&it, &ids));
    while (bson_iter_next(&it)) {
        assert_int_equal(support_put_with(f, bson_iter_value(&it), "f", "x", 1, NULL), ASH_EINVAL);
        assert_int_equal(ash_bucket_delete(f->bucket, bson_iter_value(&it), NULL, &f->err),
                         ASH_EINVAL);
    }
    assert_int_equal(support_count(f->chunks, "{}"), 0);
    bson_destroy(&ids);
    bson_destroy(doc);
}

static void test_bucket_upload__names_from_nothing_to_a_mebibyte(void **state)
{
    fixture *f = *state;
    size_t len = 1024 * 1024;
    char *name = ash__alloc(len + 1);
    memset(name, 'n', len);
    support_put(f, "", "empty", 5, NULL);
    support_expect_name(f, "", -1, "empty", 5);
    support_put(f, name, "long", 4, NULL);
    name[len - 1] = 'm';
    support_put(f, name, "other", 5, NULL);
    support_expect_name(f, name, -1, "other", 5);
    name[len - 1] = 'n';
    support_expect_name(f, name, 0, "long", 4);
    ash__free(name);
    support_put(f, "a\nb \"c\" ' \xc3\xa4", "odd", 3, NULL);
    support_expect_name(f, "a\nb \"c\" ' \xc3\xa4", -1, "odd", 3);
    assert_int_equal(support_put_with(f, NULL, "bad\xff", "x", 1, NULL), ASH_EINVAL);
    assert_string_equal(f->err.text, "file name is not UTF-8 (byte 3 is 0xff)");
}

static void test_bucket_upload__sizes_out_of_range(void **state)
{
    fixture *f = *state;
    static const int32_t sizes[] = {-1, INT32_MIN, ASH_CHUNK_SIZE_MAX + 1, INT32_MAX};
    for (size_t i = 0; i < ASH_ARRAY_LEN(sizes); i++) {
        ash_upload_options o = ASH_UPLOAD_OPTIONS_INIT;
        ash_bucket_options b = ASH_BUCKET_OPTIONS_INIT;
        ash_bucket *bucket = NULL;
        o.chunk_size_bytes = sizes[i];
        b.chunk_size_bytes = sizes[i];
        assert_int_equal(support_put_with(f, NULL, "f", "x", 1, &o), ASH_EINVAL);
        assert_int_equal(ash_bucket_new(f->store, &b, &bucket, &f->err), ASH_EINVAL);
        assert_null(bucket);
    }
}

static void test_bucket_upload__legacy_md5_only_when_asked(void **state)
{
    fixture *f = *state;
    ash_bucket_options o = ASH_BUCKET_OPTIONS_INIT;
    support_source s = {(const uint8_t *)"abc", 3, 0, 0, false};
    ash_input in = support_input(&s);
    ash_bucket *b = NULL;
    o.legacy_md5 = true;
    assert_ok(ash_bucket_new(f->store, &o, &b, &f->err), &f->err);
    assert_ok(ash_bucket_upload_from_stream(b, "md5", &in, NULL, NULL, &f->err), &f->err);
    ash_bucket_free(b);
    assert_int_equal(support_count(f->files, "{\"md5\": \"900150983cd24fb0d6963f7d28e17f72\"}"), 1);
    o.disable_md5 = true;
    s.at = 0;
    assert_ok(ash_bucket_new(f->store, &o, &b, &f->err), &f->err);
    assert_ok(ash_bucket_upload_from_stream(b, "none", &in, NULL, NULL, &f->err), &f->err);
    ash_bucket_free(b);
    assert_int_equal(support_count(f->files, "{\"md5\": {\"$exists\": false}}"), 1);
}

static void test_bucket_upload__bad_options(void **state)
{
    fixture *f = *state;
    ash_upload_options o = ASH_UPLOAD_OPTIONS_INIT;
    bson_t *aliases = BCON_NEW("0", BCON_INT32(1));
    o.aliases = aliases;
    assert_int_equal(support_put_with(f, NULL, "f", "x", 1, &o), ASH_EINVAL);
    o = (ash_upload_options)ASH_UPLOAD_OPTIONS_INIT;
    o.timeout_ms = -1;
    assert_int_equal(support_put_with(f, NULL, "f", "x", 1, &o), ASH_EINVAL);
    o = (ash_upload_options)ASH_UPLOAD_OPTIONS_INIT;
    o.condition = ASH_PUT_IF_NEWEST_IS;
    assert_int_equal(support_put_with(f, NULL, "f", "x", 1, &o), ASH_EINVAL);
    assert_int_equal(support_count(f->files, "{}"), 0);
    bson_destroy(aliases);
}

/* ---- files of several blocks: those before the last are stored beside the upload ---- */

#define LARGE_CHUNK 65536
#define LARGE_BYTES ((size_t)11 * 1024 * 1024 + 4321)

static ash_upload *open_large(fixture *f, const bson_value_t *id)
{
    ash_upload *u = NULL;
    ash_upload_options o = ASH_UPLOAD_OPTIONS_INIT;
    o.chunk_size_bytes = LARGE_CHUNK;
    assert_ok(ash_bucket_open_upload_stream_with_id(f->bucket, id, "large", &o, &u, &f->err),
              &f->err);
    return u;
}

static void test_bucket_upload__blocks_beside_the_upload(void **state)
{
    fixture *f = *state;
    static const size_t steps[] = {LARGE_BYTES, 1000003, 4 * 1024 * 1024};
    uint8_t *data = support_bytes(LARGE_BYTES, 5);
    char hex[65];
    for (size_t i = 0; i < ASH_ARRAY_LEN(steps); i++) {
        bson_value_t id = support_int_id((int32_t)i);
        ash_upload *u = open_large(f, &id);
        for (size_t at = 0; at < LARGE_BYTES; at += steps[i]) {
            size_t len = LARGE_BYTES - at < steps[i] ? LARGE_BYTES - at : steps[i];
            assert_ok(ash_upload_write(u, data + at, len, &f->err), &f->err);
        }
        assert_ok(ash_upload_finish(u, NULL, &f->err), &f->err);
        ash_upload_free(u);
        support_expect(f, &id, data, LARGE_BYTES);
        /* The digest is of the same bytes. */
        assert_ok(ash_bucket_sum(f->bucket, &id, true, hex, &f->err), &f->err);
    }
    ash__free(data);
}

/* Somebody's chunk is in the way of the second block. */
static void test_bucket_upload__failure_beside_the_upload(void **state)
{
    fixture *f = *state;
    uint8_t *data = support_bytes(LARGE_BYTES, 6);
    bson_value_t id = support_int_id(1);
    support_insert(f->chunks, "{\"files_id\": 1, \"n\": 100}");
    ash_upload *u = open_large(f, &id);
    int rc = ash_upload_write(u, data, LARGE_BYTES, &f->err);
    if (rc == 0)
        rc = ash_upload_finish(u, NULL, &f->err);
    assert_int_equal(rc, ASH_EEXISTS);
    assert_int_equal(ash_upload_write(u, data, 1, NULL), ASH_ESTATE);
    ash_upload_free(u);
    assert_int_equal(support_count(f->files, "{}"), 0);
    /* Elsewhere a failed operation is reported at once, and the sweep cleans up. */
    ash_capabilities can = ASH_CAPABILITIES_INIT;
    assert_ok(ash_store_capabilities(f->store, &can, &f->err), &f->err);
    if (strcmp(can.backend, "embedded") == 0)
        assert_int_equal(support_count(f->chunks, "{\"n\": {\"$lt\": 100}}"), 0);
    ash__free(data);
}

static void test_bucket_upload__given_up_beside_the_upload(void **state)
{
    fixture *f = *state;
    uint8_t *data = support_bytes(LARGE_BYTES, 7);
    bson_value_t id = support_int_id(1);
    ash_upload *u = open_large(f, &id);
    assert_ok(ash_upload_write(u, data, LARGE_BYTES, &f->err), &f->err);
    assert_ok(ash_upload_abort(u, &f->err), &f->err);
    ash_upload_free(u);
    u = open_large(f, &id);
    assert_ok(ash_upload_write(u, data, LARGE_BYTES, &f->err), &f->err);
    ash_upload_free(u);
    assert_int_equal(support_count(f->chunks, "{}"), 0);
    ash__free(data);
}

int main(void)
{
#define T(name)                                                                                    \
    cmocka_unit_test_setup_teardown(test_bucket_upload__##name, support_setup, support_teardown)
    const struct CMUnitTest tests[] = {
        T(every_length_around_a_chunk),
        T(empty_file_has_no_chunk),
        T(documents_have_the_specified_types),
        T(optional_fields_only_when_given),
        T(chunk_size_of_the_file_before_the_buckets),
        T(nothing_is_visible_before_finish),
        T(closed_after_finish),
        T(abort_deletes_chunks_and_closes),
        T(free_before_finish_leaves_nothing),
        T(failed_source_aborts_with_its_own_error),
        T(date_is_that_of_completion),
        T(revisions_have_rising_dates),
        T(taken_id_is_refused_and_the_file_stays),
        T(ids_of_every_type),
        T(ids_that_cannot_be),
        T(names_from_nothing_to_a_mebibyte),
        T(sizes_out_of_range),
        T(legacy_md5_only_when_asked),
        T(bad_options),
        T(blocks_beside_the_upload),
        T(failure_beside_the_upload),
        T(given_up_beside_the_upload),
    };
    return cmocka_run_group_tests_name("bucket upload", tests, NULL, NULL);
}
