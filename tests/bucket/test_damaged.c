/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <string.h>

/* Files documents as no implementation writes them, at every way into a bucket: each says what is
 * wrong, none does any harm, and the files beside stay as they were. */

static const char CONTENT[] = "0123456789abcdefgh";

typedef struct damage {
    const char *update; /* of the files document */
    const char *text;   /* of the error, from every entry point */
} damage;

static const damage damages[] = {
    {"{\"$set\": {\"length\": -1}}", "length is negative"},
    {"{\"$set\": {\"length\": {\"$numberLong\": \"-9223372036854775808\"}}}", "length is negative"},
    {"{\"$set\": {\"length\": \"18\"}}", "length is not a number"},
    {"{\"$set\": {\"length\": true}}", "length is not a number"},
    {"{\"$set\": {\"length\": 1.5}}", "length is not a whole number"},
    {"{\"$set\": {\"length\": {\"$numberDouble\": \"NaN\"}}}", "length is not a whole number"},
    {"{\"$set\": {\"length\": {\"$numberDecimal\": \"Infinity\"}}}",
     "length is not a whole number"},
    {"{\"$set\": {\"length\": [18]}}", "length is not a number"},
    {"{\"$unset\": {\"length\": 1}}", "length is missing"},
    {"{\"$set\": {\"length\": {\"$numberLong\": \"9223372036854775807\"}}}",
     "length needs more chunks than can be numbered"},
    {"{\"$set\": {\"chunkSize\": 0}}", "chunkSize is not positive"},
    {"{\"$set\": {\"chunkSize\": -261120}}", "chunkSize is not positive"},
    {"{\"$set\": {\"chunkSize\": \"16\"}}", "chunkSize is not a number"},
    {"{\"$unset\": {\"chunkSize\": 1}}", "chunkSize is missing"},
};

static bson_value_t damaged_id, good_id;

static void expect_corrupt(fixture *f, const damage *d, int rc, const char *what)
{
    if (rc != ASH_ECORRUPT || strstr(f->err.text, d->text) == NULL ||
        strstr(f->err.text, "\"_id\" : 1") == NULL)
        fail_msg("%s of a file whose %s: %d %s", what, d->text, rc, f->err.text);
    f->err = (ash_error)ASH_ERROR_INIT;
}

/* ---- reading ---- */

static void read_it(fixture *f, const damage *d)
{
    ash_buffer got = ASH_BUFFER_INIT;
    ash_output out = support_output(&got);
    ash_download_options o = ASH_DOWNLOAD_OPTIONS_INIT;
    ash_download *download = NULL;
    ash_file *file = NULL;
    char hex[65];
    expect_corrupt(f, d, ash_bucket_get_file(f->bucket, &damaged_id, true, &file, &f->err), "get");
    expect_corrupt(f, d, ash_bucket_get_file_by_name(f->bucket, "f", 0, false, &file, &f->err),
                   "get by name");
    assert_null(file);
    expect_corrupt(
        f, d, ash_bucket_open_download_stream(f->bucket, &damaged_id, NULL, &download, &f->err),
        "open");
    assert_null(download);
    expect_corrupt(
        f, d, ash_bucket_open_download_stream_by_name(f->bucket, "f", NULL, &download, &f->err),
        "open by name");
    o.start = 1;
    o.end = 2;
    expect_corrupt(f, d, ash_bucket_download_to_stream(f->bucket, &damaged_id, &out, &o, &f->err),
                   "download of a range");
    expect_corrupt(f, d, ash_bucket_download_to_stream_by_name(f->bucket, "f", &out, NULL, &f->err),
                   "download by name");
    assert_int_equal(got.len, 0);
    for (int recompute = 0; recompute < 2; recompute++)
        expect_corrupt(f, d, ash_bucket_sum(f->bucket, &damaged_id, recompute == 1, hex, &f->err),
                       "sum");
    ash__buffer_release(&got);
}

static void list_it(fixture *f, const damage *d)
{
    ash_cursor *cursor = NULL;
    ash_doc doc;
    int seen = 0, corrupt = 0;
    assert_ok(ash_bucket_find(f->bucket, NULL, NULL, &cursor, &f->err), &f->err);
    for (;;) {
        ash_file *file = NULL;
        assert_ok(ash_cursor_next(cursor, &doc, &f->err), &f->err);
        if (doc.data == NULL)
            break;
        seen++;
        int rc = ash_file_from_document(doc, &file, &f->err);
        if (rc != 0) {
            expect_corrupt(f, d, rc, "file from a document");
            corrupt++;
        }
        ash_file_free(file);
    }
    ash_cursor_free(cursor);
    assert_int_equal(seen, 2);
    assert_int_equal(corrupt, 1);
}

/* ---- changing ---- */

static void change_it(fixture *f, const damage *d)
{
    ash_alter *alter = NULL;
    expect_corrupt(f, d, ash_bucket_open_alter(f->bucket, &damaged_id, NULL, &alter, &f->err),
                   "alter");
    assert_null(alter);
    expect_corrupt(f, d, ash_bucket_set_expiry(f->bucket, &damaged_id, 1, &f->err), "expiry");
    assert_int_equal(support_put_with(f, &damaged_id, "f", "new", 3, NULL), ASH_EEXISTS);
}

/* Chunks of a file that nobody can read are still a file's. */
static void care_for_it(fixture *f)
{
    ash_sweep_options o = ASH_SWEEP_OPTIONS_INIT;
    ash_sweep_report swept = ASH_SWEEP_REPORT_INIT;
    ash_sum_missing_report sums = ASH_SUM_MISSING_REPORT_INIT;
    o.min_age_s = -1;
    assert_ok(ash_bucket_sweep(f->bucket, &o, &swept, &f->err), &f->err);
    assert_int_equal(swept.chunks, 0);
    assert_int_equal(support_count(f->chunks, "{\"files_id\": 1}"), 2);
    support_remove(f->attributes, "{}");
    assert_ok(ash_bucket_sum_missing(f->bucket, NULL, &sums, &f->err), &f->err);
    assert_int_equal(sums.files, 1);
    assert_int_equal(sums.failed, 1);
}

static void put_both(fixture *f)
{
    damaged_id = support_int_id(1);
    good_id = support_int_id(2);
    assert_ok(ash_bucket_drop(f->bucket, NULL, &f->err), &f->err);
    assert_ok(support_put_with(f, &damaged_id, "f", CONTENT, 18, NULL), &f->err);
    assert_ok(support_put_with(f, &good_id, "g", "good", 4, NULL), &f->err);
}

/* Fields that the bytes do not need: drivers write such documents and read them again. */
static void test_bucket_damaged__bytes_need_no_more_than_they_need(void **state)
{
    fixture *f = *state;
    static const char *const updates[] = {
        "{\"$set\": {\"filename\": 12345}}",
        "{\"$set\": {\"filename\": {\"$binary\": {\"base64\": \"AAE=\", \"subType\": \"00\"}}}}",
        "{\"$set\": {\"uploadDate\": \"today\"}}",
        "{\"$set\": {\"chunkSize\": {\"$numberLong\": \"4294967296\"}}}",
    };
    for (size_t i = 0; i < ASH_ARRAY_LEN(updates); i++) {
        put_both(f);
        support_update(f->files, "{\"_id\": 2}", updates[i]);
        support_expect(f, &good_id, "good", 4);
    }
    put_both(f);
    support_update(f->files, "{\"_id\": 2}", "{\"$set\": {\"chunkSize\": 4294967296}}");
    support_expect(f, &good_id, "good", 4);
    bson_value_t empty = support_int_id(3);
    assert_ok(support_put_with(f, &empty, "e", "", 0, NULL), &f->err);
    support_update(f->files, "{\"_id\": 3}", "{\"$unset\": {\"chunkSize\": 1}}");
    support_expect(f, &empty, "", 0);
}

static void test_bucket_damaged__aliases_are_an_array_of_strings(void **state)
{
    fixture *f = *state;
    bson_value_t id = support_int_id(4);
    bson_t *wrong[] = {BCON_NEW("a", BCON_UTF8("x")), BCON_NEW("1", BCON_UTF8("x")),
                       BCON_NEW("0", BCON_INT32(1))};
    bson_t *right = BCON_NEW("0", BCON_UTF8("x"), "1", BCON_UTF8("y"));
    for (size_t i = 0; i < ASH_ARRAY_LEN(wrong); i++) {
        ash_upload_options o = ASH_UPLOAD_OPTIONS_INIT;
        o.aliases = wrong[i];
        assert_int_equal(support_put_with(f, &id, "n", "x", 1, &o), ASH_EINVAL);
        bson_destroy(wrong[i]);
    }
    ash_upload_options o = ASH_UPLOAD_OPTIONS_INIT;
    o.aliases = right;
    assert_ok(support_put_with(f, &id, "n", "x", 1, &o), &f->err);
    bson_destroy(right);
}

static void test_bucket_damaged__every_way_in_says_what_is_wrong(void **state)
{
    fixture *f = *state;
    for (size_t i = 0; i < ASH_ARRAY_LEN(damages); i++) {
        put_both(f);
        support_update(f->files, "{\"_id\": 1}", damages[i].update);
        char *before = support_dump(f->files, "{\"_id\": 1}");
        read_it(f, &damages[i]);
        list_it(f, &damages[i]);
        change_it(f, &damages[i]);
        care_for_it(f);
        support_expect(f, &good_id, "good", 4);
        char *after = support_dump(f->files, "{\"_id\": 1}");
        assert_string_equal(before, after);
        bson_free(before);
        bson_free(after);
    }
}

static void test_bucket_damaged__can_be_renamed_deleted_and_replaced(void **state)
{
    fixture *f = *state;
    ash_upload_options o = ASH_UPLOAD_OPTIONS_INIT;
    for (size_t i = 0; i < ASH_ARRAY_LEN(damages); i++) {
        put_both(f);
        support_update(f->files, "{\"_id\": 1}", damages[i].update);
        assert_ok(ash_bucket_rename(f->bucket, &damaged_id, "h", NULL, &f->err), &f->err);
        assert_ok(ash_bucket_rename_by_name(f->bucket, "h", "f", NULL, &f->err), &f->err);
        o.condition = ASH_PUT_IF_ABSENT;
        o.replace = false;
        assert_int_equal(support_put_with(f, NULL, "f", "new", 3, &o), ASH_ECONDITION);
        if (i % 2 == 0) {
            o.condition = ASH_PUT_ALWAYS;
            o.replace = true;
            assert_ok(support_put_with(f, NULL, "f", "new", 3, &o), &f->err);
            support_expect_name(f, "f", 0, "new", 3);
        } else {
            assert_ok(ash_bucket_delete(f->bucket, &damaged_id, NULL, &f->err), &f->err);
        }
        assert_int_equal(support_count(f->chunks, "{\"files_id\": 1}"), 0);
        assert_int_equal(support_count(f->files, "{\"_id\": 1}"), 0);
        support_expect(f, &good_id, "good", 4);
    }
}

static void test_bucket_damaged__expiry_takes_it_and_the_others(void **state)
{
    fixture *f = *state;
    for (size_t i = 0; i < ASH_ARRAY_LEN(damages); i++) {
        int64_t deleted = 0, all = 0;
        bool more = true;
        put_both(f);
        assert_ok(ash_bucket_set_expiry(f->bucket, &damaged_id, 1000, &f->err), &f->err);
        assert_ok(ash_bucket_set_expiry(f->bucket, &good_id, 1001, &f->err), &f->err);
        support_update(f->files, "{\"_id\": 1}", damages[i].update);
        for (int round = 0; more && round < 5; round++) {
            assert_ok(ash_bucket_expire(f->bucket, 1, &deleted, &more, &f->err), &f->err);
            all += deleted;
        }
        assert_false(more);
        assert_true(all >= 1);
        assert_int_equal(support_count(f->files, "{\"_id\": 2}"), 0);
        assert_int_equal(support_count(f->chunks, "{\"files_id\": 2}"), 0);
    }
}

/* A chunk size that no chunk could have is none of the file's trouble as long as its chunks fit. */
static void test_bucket_damaged__chunk_size_beyond_a_document(void **state)
{
    fixture *f = *state;
    ash_alter *alter = NULL;
    ash_buffer got = ASH_BUFFER_INIT;
    put_both(f);
    support_update(f->files, "{\"_id\": 1}", "{\"$set\": {\"chunkSize\": 33554432}}");
    assert_int_equal(support_get(f, &damaged_id, &got), ASH_ECHUNKSIZE);
    support_update(f->files, "{\"_id\": 2}", "{\"$set\": {\"chunkSize\": 33554432}}");
    support_expect(f, &good_id, "good", 4);
    assert_int_equal(ash_bucket_open_alter(f->bucket, &good_id, NULL, &alter, &f->err),
                     ASH_EUNSUPPORTED);
    assert_null(alter);
    support_expect(f, &good_id, "good", 4);
    ash__buffer_release(&got);
}

/* ---- chunks at odds with their file ---- */

typedef struct chunk_damage {
    const char *filter, *update; /* of chunks; update NULL: they are removed */
    int code;
} chunk_damage;

static const chunk_damage chunk_damages[] = {
    {"{\"files_id\": 1, \"n\": 0}", NULL, ASH_ECHUNKMISSING},
    {"{\"files_id\": 1, \"n\": 1}", NULL, ASH_ECHUNKMISSING},
    {"{\"files_id\": 1, \"n\": 0}",
     "{\"$set\": {\"data\": {\"$binary\": \"AAAA\", \"$type\": \"0\"}}}", ASH_ECHUNKSIZE},
    {"{\"files_id\": 1, \"n\": 0}", "{\"$set\": {\"data\": \"0123456789abcdef\"}}", ASH_ECORRUPT},
    {"{\"files_id\": 1, \"n\": 0}", "{\"$unset\": {\"data\": 1}}", ASH_ECORRUPT},
    {"{\"files_id\": 1, \"n\": 0}", "{\"$set\": {\"n\": \"0\"}}", ASH_ECHUNKMISSING},
    {"{\"files_id\": 1, \"n\": 0}", "{\"$set\": {\"n\": -1}}", ASH_ECHUNKEXTRA},
};

static int overwrite_all(fixture *f)
{
    ash_alter *alter = NULL;
    assert_ok(ash_bucket_open_alter(f->bucket, &damaged_id, NULL, &alter, &f->err), &f->err);
    int rc = ash_alter_write(alter, 3, "x", 1, &f->err);
    if (rc == 0)
        rc = ash_alter_append(alter, "y", 1, &f->err);
    if (rc == 0)
        rc = ash_alter_finish(alter, NULL, &f->err);
    ash_alter_free(alter);
    return rc;
}

static void test_bucket_damaged__chunks_are_not_written_over_in_the_dark(void **state)
{
    fixture *f = *state;
    for (size_t i = 0; i < ASH_ARRAY_LEN(chunk_damages); i++) {
        const chunk_damage *d = &chunk_damages[i];
        put_both(f);
        if (d->update != NULL)
            support_update(f->chunks, d->filter, d->update);
        else
            support_remove(f->chunks, d->filter);
        char *before = support_dump(f->chunks, "{}");
        ash_buffer got = ASH_BUFFER_INIT;
        int read = support_get(f, &damaged_id, &got);
        if (read != d->code)
            fail_msg("damage %zu: %d %s", i, read, f->err.text);
        ash__buffer_release(&got);
        int rc = overwrite_all(f);
        if (rc == 0)
            fail_msg("damage %zu: an alteration went through", i);
        char *after = support_dump(f->chunks, "{}");
        assert_string_equal(before, after);
        support_expect(f, &good_id, "good", 4);
        bson_free(before);
        bson_free(after);
    }
}

int main(void)
{
#define T(name)                                                                                    \
    cmocka_unit_test_setup_teardown(test_bucket_damaged__##name, support_setup, support_teardown)
    const struct CMUnitTest tests[] = {
        T(every_way_in_says_what_is_wrong),         T(can_be_renamed_deleted_and_replaced),
        T(bytes_need_no_more_than_they_need),       T(aliases_are_an_array_of_strings),
        T(expiry_takes_it_and_the_others),          T(chunk_size_beyond_a_document),
        T(chunks_are_not_written_over_in_the_dark),
    };
    return cmocka_run_group_tests_name("bucket damaged", tests, NULL, NULL);
}
