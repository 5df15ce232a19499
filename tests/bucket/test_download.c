/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "bucket/chunks.h"

#include <string.h>

static ash_download *open_id(fixture *f, const bson_value_t *id, const ash_download_options *o)
{
    ash_download *d = NULL;
    assert_ok(ash_bucket_open_download_stream(f->bucket, id, o, &d, &f->err), &f->err);
    return d;
}

static void test_bucket_download__no_such_file(void **state)
{
    fixture *f = *state;
    ash_download *d = NULL;
    bson_value_t id = support_int_id(1);
    assert_int_equal(ash_bucket_open_download_stream(f->bucket, &id, NULL, &d, &f->err),
                     ASH_ENOTFOUND);
    assert_non_null(strstr(f->err.text, "{ \"_id\" : 1 }"));
}

static void test_bucket_download__name_and_revision_fail_differently(void **state)
{
    fixture *f = *state;
    ash_download *d = NULL;
    ash_download_options o = ASH_DOWNLOAD_OPTIONS_INIT;
    support_put(f, "f", "a", 1, NULL);
    support_put(f, "f", "b", 1, NULL);
    support_expect_name(f, "f", 0, "a", 1);
    support_expect_name(f, "f", 1, "b", 1);
    support_expect_name(f, "f", -1, "b", 1);
    support_expect_name(f, "f", -2, "a", 1);
    o.has_revision = true;
    static const int32_t beyond[] = {2, -3, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < ASH_ARRAY_LEN(beyond); i++) {
        o.revision = beyond[i];
        assert_int_equal(ash_bucket_open_download_stream_by_name(f->bucket, "f", &o, &d, &f->err),
                         ASH_ENOREVISION);
        assert_int_equal(ash_bucket_open_download_stream_by_name(f->bucket, "g", &o, &d, &f->err),
                         ASH_ENOTFOUND);
    }
}

static void test_bucket_download__reads_in_pieces_of_any_size(void **state)
{
    fixture *f = *state;
    bson_value_t id;
    uint8_t *data = support_bytes(1000, 9);
    uint8_t got[1000];
    support_put(f, "f", data, 1000, &id);
    for (size_t step = 1; step < 70; step += 3) {
        ash_download *d = open_id(f, &id, NULL);
        size_t n = 0;
        for (size_t at = 0;; at += n) {
            size_t want = 1000 - at < step ? 1000 - at : step;
            assert_ok(ash_download_read(d, got + at, want > 0 ? want : 1, &n, &f->err), &f->err);
            assert_int_equal(n, want);
            assert_int_equal(ash_download_position(d), at + n);
            if (n == 0)
                break;
        }
        assert_memory_equal(got, data, 1000);
        ash_download_free(d);
    }
    ash__free(data);
    bson_value_destroy(&id);
}

static void test_bucket_download__pieces_are_chunks(void **state)
{
    fixture *f = *state;
    bson_value_t id;
    const uint8_t *piece;
    size_t len;
    support_put(f, "f", "0123456789abcdefgh", 18, &id);
    ash_download *d = open_id(f, &id, NULL);
    assert_ok(ash_download_next(d, &piece, &len, &f->err), &f->err);
    assert_int_equal(len, CHUNK);
    assert_memory_equal(piece, "0123456789abcdef", CHUNK);
    assert_ok(ash_download_next(d, &piece, &len, &f->err), &f->err);
    assert_int_equal(len, 2);
    assert_memory_equal(piece, "gh", 2);
    for (int i = 0; i < 2; i++) {
        assert_ok(ash_download_next(d, &piece, &len, &f->err), &f->err);
        assert_int_equal(len, 0);
    }
    ash_download_free(d);
    bson_value_destroy(&id);
}

static void expect_failure(fixture *f, const bson_value_t *id, int code)
{
    ash_buffer got = ASH_BUFFER_INIT;
    assert_int_equal(support_get(f, id, &got), code);
    ash__buffer_release(&got);
}

static void test_bucket_download__missing_extra_and_wrong_chunks_differ(void **state)
{
    fixture *f = *state;
    bson_value_t id = support_int_id(1);
    bson_value_t other = support_int_id(2);
    uint8_t *data = support_bytes(5 * CHUNK + 2, 3);
    assert_ok(support_put_with(f, &id, "f", data, 5 * CHUNK + 2, NULL), &f->err);
    assert_ok(support_put_with(f, &other, "g", data, 5 * CHUNK + 2, NULL), &f->err);
    support_insert(f->chunks, "{\"files_id\": 1, \"n\": 6, \"data\": {\"$binary\": {\"base64\": "
                              "\"AA==\", \"subType\": \"00\"}}}");
    expect_failure(f, &id, ASH_ECHUNKEXTRA);
    support_update(f->chunks, "{\"files_id\": 1, \"n\": 6}",
                   "{\"$set\": {\"n\": {\"$numberLong\": \"9223372036854775807\"}, \"data\": "
                   "{\"$binary\": {\"base64\": \"MDEyMzQ1Njc4OWFiY2RlZg==\", \"subType\": "
                   "\"00\"}}}}");
    expect_failure(f, &id, ASH_ECHUNKEXTRA);
    support_remove(f->chunks, "{\"files_id\": 1, \"n\": {\"$gte\": 6}}");
    support_update(f->chunks, "{\"files_id\": 1, \"n\": 2}",
                   "{\"$set\": {\"data\": {\"$binary\": {\"base64\": \"AA==\", \"subType\": "
                   "\"00\"}}}}");
    expect_failure(f, &id, ASH_ECHUNKSIZE);
    support_remove(f->chunks, "{\"files_id\": 1, \"n\": 2}");
    expect_failure(f, &id, ASH_ECHUNKMISSING);
    assert_non_null(strstr(f->err.text, "chunk 2 is missing"));
    support_remove(f->chunks, "{\"files_id\": 1, \"n\": {\"$gte\": 2}}");
    expect_failure(f, &id, ASH_ECHUNKMISSING);
    support_expect(f, &other, data, 5 * CHUNK + 2);
    ash__free(data);
}

static void test_bucket_download__numbers_of_any_type(void **state)
{
    fixture *f = *state;
    bson_value_t id = support_int_id(1);
    static const char *const updates[] = {
        "{\"$set\": {\"length\": {\"$numberDouble\": \"18.0\"}, \"chunkSize\": {\"$numberLong\": "
        "\"16\"}}}",
        "{\"$set\": {\"length\": {\"$numberInt\": \"18\"}, \"chunkSize\": {\"$numberDouble\": "
        "\"16.0\"}}}",
        "{\"$set\": {\"length\": {\"$numberDecimal\": \"18\"}, \"chunkSize\": {\"$numberDecimal\": "
        "\"16.0\"}}}"};
    assert_ok(support_put_with(f, &id, "f", "0123456789abcdefgh", 18, NULL), &f->err);
    support_update(f->chunks, "{\"n\": 1}", "{\"$set\": {\"n\": {\"$numberDouble\": \"1.0\"}}}");
    for (size_t i = 0; i < ASH_ARRAY_LEN(updates); i++) {
        support_update(f->files, "{}", updates[i]);
        support_expect(f, &id, "0123456789abcdefgh", 18);
    }
}

static void test_bucket_download__damaged_files_documents(void **state)
{
    fixture *f = *state;
    bson_value_t id = support_int_id(1);
    bson_value_t good = support_int_id(2);
    static const struct {
        const char *update, *text;
    } damage[] = {
        {"{\"$set\": {\"length\": -1}}", "files document { \"_id\" : 1 }: length is negative"},
        {"{\"$set\": {\"length\": \"18\"}}", "length is not a number"},
        {"{\"$set\": {\"length\": 1.5}}", "length is not a whole number"},
        {"{\"$unset\": {\"length\": 1}}", "length is missing"},
        {"{\"$set\": {\"length\": 18, \"chunkSize\": 0}}", "chunkSize is not positive"},
        {"{\"$set\": {\"chunkSize\": -255}}", "chunkSize is not positive"},
        {"{\"$set\": {\"chunkSize\": {\"$numberDouble\": \"NaN\"}}}", "chunkSize is not"},
        {"{\"$set\": {\"chunkSize\": 1, \"length\": {\"$numberLong\": \"9223372036854775807\"}}}",
         "length needs more chunks"},
    };
    assert_ok(support_put_with(f, &id, "f", "0123456789abcdefgh", 18, NULL), &f->err);
    assert_ok(support_put_with(f, &good, "g", "good", 4, NULL), &f->err);
    for (size_t i = 0; i < ASH_ARRAY_LEN(damage); i++) {
        ash_file *file = NULL;
        char hex[65];
        support_update(f->files, "{\"_id\": 1}", damage[i].update);
        expect_failure(f, &id, ASH_ECORRUPT);
        if (strstr(f->err.text, damage[i].text) == NULL)
            fail_msg("%s", f->err.text);
        assert_int_equal(ash_bucket_get_file(f->bucket, &id, true, &file, &f->err), ASH_ECORRUPT);
        assert_null(file);
        assert_int_equal(ash_bucket_sum(f->bucket, &id, false, hex, &f->err), ASH_ECORRUPT);
        support_expect(f, &good, "good", 4);
    }
    support_update(f->files, "{\"_id\": 1}",
                   "{\"$set\": {\"length\": 18, \"chunkSize\": 16}, "
                   "\"$unset\": {\"filename\": 1, \"uploadDate\": 1}}");
    support_expect(f, &id, "0123456789abcdefgh", 18);
    assert_ok(ash_bucket_delete(f->bucket, &id, NULL, &f->err), &f->err);
}

static void test_bucket_download__ranges(void **state)
{
    fixture *f = *state;
    bson_value_t id;
    uint8_t *data = support_bytes(100, 4);
    support_put(f, "f", data, 100, &id);
    for (int64_t start = 0; start <= 100; start += 7) {
        for (int64_t end = start; end <= 100; end += 5) {
            ash_buffer got = ASH_BUFFER_INIT;
            ash_output out = support_output(&got);
            ash_download_options o = ASH_DOWNLOAD_OPTIONS_INIT;
            o.start = start;
            o.end = end;
            o.has_end = true;
            assert_ok(ash_bucket_download_to_stream(f->bucket, &id, &out, &o, &f->err), &f->err);
            assert_int_equal(got.len, end - start);
            assert_true(got.len == 0 || memcmp(got.data, data + start, got.len) == 0);
            ash__buffer_release(&got);
        }
    }
    ash__free(data);
    bson_value_destroy(&id);
}

static void test_bucket_download__invalid_ranges(void **state)
{
    fixture *f = *state;
    bson_value_t id;
    static const int64_t ranges[][2] = {{-1, 5}, {0, -1}, {5, 4}, {0, 11}, {11, 11}, {11, 0}};
    support_put(f, "f", "0123456789", 10, &id);
    for (size_t i = 0; i < ASH_ARRAY_LEN(ranges); i++) {
        ash_download_options o = ASH_DOWNLOAD_OPTIONS_INIT;
        ash_download *d = NULL;
        o.start = ranges[i][0];
        o.end = ranges[i][1];
        assert_int_equal(ash_bucket_open_download_stream(f->bucket, &id, &o, &d, &f->err),
                         ASH_EINVAL);
        assert_null(d);
    }
    bson_value_destroy(&id);
}

static void test_bucket_download__only_the_chunks_needed(void **state)
{
    fixture *f = *state;
    bson_value_t id = support_int_id(1);
    uint8_t *data = support_bytes(10 * CHUNK, 5);
    uint8_t got[CHUNK];
    size_t n = 0;
    ash_download_options o = ASH_DOWNLOAD_OPTIONS_INIT;
    assert_ok(support_put_with(f, &id, "f", data, 10 * CHUNK, NULL), &f->err);
    support_remove(f->chunks, "{\"n\": {\"$nin\": [4, 5]}}");
    o.start = 4 * CHUNK + 3;
    o.end = 6 * CHUNK - 1;
    ash_download *d = open_id(f, &id, &o);
    assert_ok(ash_download_read(d, got, CHUNK, &n, &f->err), &f->err);
    assert_int_equal(n, CHUNK);
    assert_memory_equal(got, data + 4 * CHUNK + 3, CHUNK);
    ash_download_free(d);
    ash__free(data);
}

static void test_bucket_download__seek(void **state)
{
    fixture *f = *state;
    bson_value_t id;
    uint8_t *data = support_bytes(1000, 6);
    static const int64_t places[] = {0, 999, 1000, 500, 501, 516, 17, 16, 15, 640, 0, 1000, 3};
    support_put(f, "f", data, 1000, &id);
    ash_download *d = open_id(f, &id, NULL);
    for (size_t i = 0; i < ASH_ARRAY_LEN(places); i++) {
        uint8_t got[40];
        size_t n = 0;
        size_t want = places[i] > 960 ? (size_t)(1000 - places[i]) : 40;
        assert_ok(ash_download_seek(d, places[i], &f->err), &f->err);
        assert_int_equal(ash_download_position(d), places[i]);
        assert_ok(ash_download_read(d, got, sizeof got, &n, &f->err), &f->err);
        assert_int_equal(n, want);
        assert_true(n == 0 || memcmp(got, data + places[i], n) == 0);
    }
    assert_int_equal(ash_download_seek(d, -1, &f->err), ASH_EINVAL);
    assert_int_equal(ash_download_seek(d, 1001, &f->err), ASH_EINVAL);
    ash_download_free(d);
    ash__free(data);
    bson_value_destroy(&id);
}

static void test_bucket_download__verify_finds_changed_bytes(void **state)
{
    fixture *f = *state;
    bson_value_t id = support_int_id(1);
    ash_download_options o = ASH_DOWNLOAD_OPTIONS_INIT;
    uint8_t got[64];
    size_t n = 0;
    o.verify = true;
    assert_ok(support_put_with(f, &id, "f", "0123456789abcdefgh", 18, NULL), &f->err);
    ash_download *d = open_id(f, &id, &o);
    assert_ok(ash_download_read(d, got, 18, &n, &f->err), &f->err);
    ash_download_free(d);
    support_update(f->chunks, "{\"n\": 1}",
                   "{\"$set\": {\"data\": {\"$binary\": {\"base64\": \"Z2k=\", \"subType\": "
                   "\"00\"}}}}");
    d = open_id(f, &id, &o);
    assert_int_equal(ash_download_read(d, got, 18, &n, &f->err), ASH_ECORRUPT);
    assert_int_equal(n, 18);
    assert_int_equal(ash_download_read(d, got, 18, &n, &f->err), ASH_ESTATE);
    ash_download_free(d);
    support_expect(f, &id, "0123456789abcdefgi", 18);
}

static void test_bucket_download__attributes_on_request(void **state)
{
    fixture *f = *state;
    bson_value_t id;
    ash_file *file = NULL;
    support_put(f, "f", "abc", 3, &id);
    assert_ok(ash_bucket_get_file(f->bucket, &id, true, &file, &f->err), &f->err);
    assert_string_equal(ash_file_sha256(file),
                        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    ash_file_free(file);
    assert_ok(ash_bucket_get_file_by_name(f->bucket, "f", -1, false, &file, &f->err), &f->err);
    assert_null(ash_file_sha256(file));
    ash_file_free(file);
    bson_value_destroy(&id);
}

/* It comes when somebody asks for it; until then there is nothing to compare with. */
static void test_bucket_download__without_a_digest(void **state)
{
    fixture *f = *state;
    const size_t len = 3 * 1024 * 1024 + 5;
    uint8_t *data = support_bytes(len, 1);
    bson_value_t id = support_int_id(1);
    ash_upload_options o = ASH_UPLOAD_OPTIONS_INIT;
    ash_download_options d = ASH_DOWNLOAD_OPTIONS_INIT;
    ash_sum_missing_report sums = ASH_SUM_MISSING_REPORT_INIT;
    ash_buffer got = ASH_BUFFER_INIT;
    ash_output out = support_output(&got);
    ash_file *file = NULL;
    o.without_digest = d.verify = true;
    o.chunk_size_bytes = 261120;
    assert_ok(support_put_with(f, &id, "f", data, len, &o), &f->err);
    assert_ok(ash_bucket_get_file(f->bucket, &id, true, &file, &f->err), &f->err);
    assert_null(ash_file_sha256(file));
    ash_file_free(file);
    assert_ok(ash_bucket_download_to_stream(f->bucket, &id, &out, &d, &f->err), &f->err);
    assert_int_equal(got.len, len);
    assert_memory_equal(got.data, data, len);
    assert_ok(ash_bucket_sum_missing(f->bucket, NULL, &sums, &f->err), &f->err);
    assert_int_equal(sums.files, 1);
    assert_ok(ash_bucket_get_file(f->bucket, &id, true, &file, &f->err), &f->err);
    assert_int_equal(strlen(ash_file_sha256(file)), 64);
    ash_file_free(file);
    ash__buffer_release(&got);
    ash__free(data);
}

static void test_bucket_download__timeout_bounds_the_whole(void **state)
{
    fixture *f = *state;
    bson_value_t id;
    ash_buffer got = ASH_BUFFER_INIT;
    ash_output out = support_output(&got);
    ash_download_options o = ASH_DOWNLOAD_OPTIONS_INIT;
    support_put(f, "f", "abc", 3, &id);
    o.timeout_ms = 60000;
    assert_ok(ash_bucket_download_to_stream(f->bucket, &id, &out, &o, &f->err), &f->err);
    o.timeout_ms = -5;
    assert_int_equal(ash_bucket_download_to_stream(f->bucket, &id, &out, &o, &f->err), ASH_EINVAL);
    ash__buffer_release(&got);
    bson_value_destroy(&id);
}

/* ---- binary of subtype 2, which old drivers wrote ---- */

static void put_old(fixture *f, int32_t id, int32_t chunk_size, const uint8_t *data, size_t len)
{
    bson_t *file = BCON_NEW("_id", BCON_INT32(id), "length", BCON_INT64((int64_t)len), "chunkSize",
                            BCON_INT32(chunk_size), "uploadDate", BCON_DATE_TIME(1), "filename",
                            BCON_UTF8("old"));
    for (size_t at = 0; at < len; at += (size_t)chunk_size) {
        size_t rest = len - at < (size_t)chunk_size ? len - at : (size_t)chunk_size;
        bson_t *chunk =
            BCON_NEW("files_id", BCON_INT32(id), "n", BCON_INT32((int32_t)at / chunk_size), "data",
                     BCON_BIN(BSON_SUBTYPE_BINARY_DEPRECATED, data + at, (uint32_t)rest));
        assert_ok(ash_collection_insert_one(f->chunks, chunk, NULL, &f->err), &f->err);
        bson_destroy(chunk);
    }
    assert_ok(ash_collection_insert_one(f->files, file, NULL, &f->err), &f->err);
    bson_destroy(file);
}

static void test_bucket_download__chunks_of_the_old_binary_subtype(void **state)
{
    fixture *f = *state;
    static const int32_t chunk_sizes[] = {1, CHUNK, 300000};
    static const size_t lengths[] = {5, 5 * CHUNK + 2, 700000};
    for (int32_t i = 0; i < (int32_t)ASH_ARRAY_LEN(lengths); i++) {
        bson_value_t id = support_int_id(i);
        uint8_t *data = support_bytes(lengths[i], 7);
        uint8_t byte;
        size_t got;
        char hex[65], of_new[65];
        put_old(f, i, chunk_sizes[i], data, lengths[i]);
        support_expect(f, &id, data, lengths[i]);
        ash_download *d = open_id(f, &id, NULL);
        for (size_t at = lengths[i]; at-- > 0; at /= 2) {
            assert_ok(ash_download_seek(d, (int64_t)at, &f->err), &f->err);
            assert_ok(ash_download_read(d, &byte, 1, &got, &f->err), &f->err);
            assert_int_equal(got, 1);
            assert_int_equal(byte, data[at]);
        }
        ash_download_free(d);
        bson_value_t new_id = support_int_id(100 + i);
        assert_ok(support_put_with(f, &new_id, "new", data, lengths[i], NULL), &f->err);
        assert_ok(ash_bucket_sum(f->bucket, &id, true, hex, &f->err), &f->err);
        assert_ok(ash_bucket_sum(f->bucket, &new_id, true, of_new, &f->err), &f->err);
        assert_string_equal(hex, of_new);
        ash__free(data);
    }
}

static void test_bucket_download__old_subtype_with_a_wrong_inner_length(void **state)
{
    uint8_t bytes[] = {33,
                       0,
                       0,
                       0,
                       BSON_TYPE_INT32,
                       'n',
                       0,
                       2,
                       0,
                       0,
                       0,
                       BSON_TYPE_BINARY,
                       'd',
                       'a',
                       't',
                       'a',
                       0,
                       6,
                       0,
                       0,
                       0,
                       BSON_SUBTYPE_BINARY_DEPRECATED,
                       2,
                       0,
                       0,
                       0,
                       'h',
                       'i',
                       0};
    ash_doc doc = {bytes, sizeof bytes};
    fixture *f = *state;
    ash_file file = {.id = support_int_id(1)};
    int64_t n;
    const uint8_t *data;
    size_t len;
    bytes[0] = sizeof bytes;
    assert_ok(ash__chunk_parse(&file, doc, &n, &data, &len, &f->err), &f->err);
    assert_int_equal(n, 2);
    assert_int_equal(len, 2);
    assert_memory_equal(data, "hi", 2);
    assert_true(ash__chunk_parse_head(doc, sizeof bytes - 2, &n, &data, &len));
    assert_int_equal(len, 2);
    assert_memory_equal(data, "hi", 2);
    for (int inner = 0; inner < 256; inner++) {
        bytes[22] = (uint8_t)inner;
        if (inner == 2)
            continue;
        assert_false(ash__chunk_parse_head(doc, sizeof bytes - 2, &n, &data, &len));
        assert_int_equal(ash__chunk_parse(&file, doc, &n, &data, &len, &f->err), ASH_ECORRUPT);
        assert_non_null(strstr(f->err.text, "chunk 2 has binary data of the old subtype"));
    }
}

int main(void)
{
#define T(name)                                                                                    \
    cmocka_unit_test_setup_teardown(test_bucket_download__##name, support_setup, support_teardown)
    const struct CMUnitTest tests[] = {
        T(no_such_file),
        T(name_and_revision_fail_differently),
        T(reads_in_pieces_of_any_size),
        T(pieces_are_chunks),
        T(missing_extra_and_wrong_chunks_differ),
        T(numbers_of_any_type),
        T(damaged_files_documents),
        T(ranges),
        T(invalid_ranges),
        T(only_the_chunks_needed),
        T(seek),
        T(verify_finds_changed_bytes),
        T(attributes_on_request),
        T(without_a_digest),
        T(timeout_bounds_the_whole),
        T(chunks_of_the_old_binary_subtype),
        T(old_subtype_with_a_wrong_inner_length),
    };
    return cmocka_run_group_tests_name("bucket download", tests, NULL, NULL);
}
