/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <string.h>

static int count_found(fixture *f, const char *json, const ash_bucket_find_options *o)
{
    bson_t *filter = bson_new_from_json((const uint8_t *)json, -1, NULL);
    ash_cursor *cursor = NULL;
    ash_doc doc;
    int n = 0;
    assert_ok(ash_bucket_find(f->bucket, filter, o, &cursor, &f->err), &f->err);
    for (;; n++) {
        assert_ok(ash_cursor_next(cursor, &doc, &f->err), &f->err);
        if (doc.data == NULL)
            break;
        ash_file *file = NULL;
        assert_ok(ash_file_from_document(doc, &file, &f->err), &f->err);
        assert_non_null(ash_file_filename(file));
        ash_file_free(file);
    }
    ash_cursor_free(cursor);
    bson_destroy(filter);
    return n;
}

/* Chunks have the numbers 0 .. 2^31 - 1. */
static void test_bucket_files__as_long_as_chunks_can_be_numbered(void **state)
{
    fixture *f = *state;
    enum { SIZE = 4 };
    for (int64_t beyond = -1; beyond <= 1; beyond++) {
        ash_file *file = NULL;
        bson_t *doc =
            BCON_NEW("_id", BCON_INT32(1), "length", BCON_INT64((INT64_C(1) << 31) * SIZE + beyond),
                     "chunkSize", BCON_INT32(SIZE));
        ash_doc view = {bson_get_data(doc), doc->len};
        assert_int_equal(ash_file_from_document(view, &file, &f->err),
                         beyond > 0 ? ASH_ECORRUPT : 0);
        ash_file_free(file);
        bson_destroy(doc);
    }
}

static void test_bucket_files__find_takes_every_option(void **state)
{
    fixture *f = *state;
    ash_bucket_find_options o = ASH_BUCKET_FIND_OPTIONS_INIT;
    bson_t *sort = BCON_NEW("filename", BCON_INT32(-1));
    for (char c = 'a'; c < 'k'; c++)
        support_put(f, (char[]){c, 0}, "x", 1, NULL);
    assert_int_equal(count_found(f, "{}", NULL), 10);
    assert_int_equal(count_found(f, "{\"filename\": \"c\"}", NULL), 1);
    assert_int_equal(count_found(f, "{\"no.such\": 1}", NULL), 0);
    o.allow_disk_use = true;
    o.batch_size = 2;
    o.limit = 5;
    o.skip = 7;
    o.sort = sort;
    o.no_cursor_timeout = true;
    o.max_time_ms = 60000;
    assert_int_equal(count_found(f, "{}", &o), 3);
    bson_destroy(sort);
}

static void test_bucket_files__find_refuses_negative_options(void **state)
{
    fixture *f = *state;
    ash_cursor *cursor = NULL;
    ash_bucket_find_options o[4] = {ASH_BUCKET_FIND_OPTIONS_INIT, ASH_BUCKET_FIND_OPTIONS_INIT,
                                    ASH_BUCKET_FIND_OPTIONS_INIT, ASH_BUCKET_FIND_OPTIONS_INIT};
    o[0].limit = -1;
    o[1].skip = -1;
    o[2].batch_size = -1;
    o[3].max_time_ms = -1;
    for (int i = 0; i < 4; i++)
        assert_int_equal(ash_bucket_find(f->bucket, NULL, &o[i], &cursor, &f->err), ASH_EINVAL);
}

static void test_bucket_files__delete_takes_chunks_and_attributes(void **state)
{
    fixture *f = *state;
    bson_value_t id;
    support_put(f, "f", "0123456789abcdefgh", 18, &id);
    support_put(f, "g", "0123456789abcdefgh", 18, NULL);
    assert_ok(ash_bucket_delete(f->bucket, &id, NULL, &f->err), &f->err);
    assert_int_equal(support_count(f->files, "{}"), 1);
    assert_int_equal(support_count(f->chunks, "{}"), 2);
    assert_int_equal(support_count(f->attributes, "{}"), 1);
    assert_int_equal(ash_bucket_delete(f->bucket, &id, NULL, &f->err), ASH_ENOTFOUND);
    bson_value_destroy(&id);
}

/* Through a server the chunks of very long files go after the commit; gone they are. */
static void test_bucket_files__delete_of_very_many_chunks(void **state)
{
    enum { CHUNKS = 8300 };
    fixture *f = *state;
    ash_bucket_options o = ASH_BUCKET_OPTIONS_INIT;
    ash_bucket *small = NULL;
    uint8_t *data = support_bytes(CHUNKS, 3);
    o.chunk_size_bytes = 1;
    assert_ok(ash_bucket_new(f->store, &o, &small, &f->err), &f->err);
    for (int32_t i = 0; i < 2; i++) {
        ash_upload *u = NULL;
        bson_value_t id = support_int_id(i);
        assert_ok(ash_bucket_open_upload_stream_with_id(small, &id, "f", NULL, &u, &f->err),
                  &f->err);
        assert_ok(ash_upload_write(u, data, CHUNKS, &f->err), &f->err);
        assert_ok(ash_upload_finish(u, NULL, &f->err), &f->err);
        ash_upload_free(u);
    }
    bson_value_t first = support_int_id(0);
    assert_ok(ash_bucket_delete(small, &first, NULL, &f->err), &f->err);
    assert_int_equal(support_count(f->chunks, "{}"), CHUNKS);
    assert_ok(ash_bucket_delete_by_name(small, "f", NULL, &f->err), &f->err);
    assert_int_equal(support_count(f->chunks, "{}"), 0);
    assert_int_equal(support_count(f->files, "{}"), 0);
    ash_bucket_free(small);
    ash__free(data);
}

static void test_bucket_files__delete_of_nothing_removes_orphans_and_fails(void **state)
{
    fixture *f = *state;
    bson_value_t id = support_int_id(3);
    support_insert(f->chunks, "{\"files_id\": 3, \"n\": 0}");
    support_insert(f->chunks, "{\"files_id\": 4, \"n\": 0}");
    assert_int_equal(ash_bucket_delete(f->bucket, &id, NULL, &f->err), ASH_ENOTFOUND);
    assert_int_equal(support_count(f->chunks, "{\"files_id\": 3}"), 0);
    assert_int_equal(support_count(f->chunks, "{\"files_id\": 4}"), 1);
}

static void test_bucket_files__rename(void **state)
{
    fixture *f = *state;
    bson_value_t id;
    bson_value_t none = support_int_id(1);
    support_put(f, "old", "abc", 3, &id);
    assert_ok(ash_bucket_rename(f->bucket, &id, "new", NULL, &f->err), &f->err);
    support_expect_name(f, "new", -1, "abc", 3);
    assert_int_equal(support_count(f->files, "{\"filename\": \"old\"}"), 0);
    assert_int_equal(ash_bucket_rename(f->bucket, &none, "x", NULL, &f->err), ASH_ENOTFOUND);
    assert_int_equal(ash_bucket_rename(f->bucket, &id, "x\xff", NULL, &f->err), ASH_EINVAL);
    bson_value_destroy(&id);
}

static void test_bucket_files__by_name_means_all_revisions(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < 5; i++)
        support_put(f, "many", "0123456789abcdefgh", 18, NULL);
    support_put(f, "one", "x", 1, NULL);
    assert_ok(ash_bucket_rename_by_name(f->bucket, "many", "more", NULL, &f->err), &f->err);
    assert_int_equal(support_count(f->files, "{\"filename\": \"more\"}"), 5);
    assert_int_equal(ash_bucket_rename_by_name(f->bucket, "many", "more", NULL, &f->err),
                     ASH_ENOTFOUND);
    assert_int_equal(ash_bucket_delete_by_name(f->bucket, "many", NULL, &f->err), ASH_ENOTFOUND);
    assert_ok(ash_bucket_delete_by_name(f->bucket, "more", NULL, &f->err), &f->err);
    assert_int_equal(support_count(f->files, "{}"), 1);
    assert_int_equal(support_count(f->chunks, "{}"), 1);
    assert_int_equal(support_count(f->attributes, "{}"), 1);
}

static void test_bucket_files__by_name_beyond_one_batch_of_ids(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < 1203; i++)
        support_put(f, "many", "", 0, NULL);
    assert_ok(ash_bucket_delete_by_name(f->bucket, "many", NULL, &f->err), &f->err);
    assert_int_equal(support_count(f->files, "{}"), 0);
    assert_int_equal(support_count(f->attributes, "{}"), 0);
}

static void test_bucket_files__drop(void **state)
{
    fixture *f = *state;
    support_put(f, "f", "abc", 3, NULL);
    assert_ok(ash_bucket_drop(f->bucket, NULL, &f->err), &f->err);
    assert_int_equal(support_count(f->files, "{}"), 0);
    assert_int_equal(support_count(f->chunks, "{}"), 0);
    assert_int_equal(support_count(f->attributes, "{}"), 0);
    assert_ok(ash_bucket_drop(f->bucket, NULL, &f->err), &f->err);
    support_put(f, "f", "abc", 3, NULL);
    support_expect_name(f, "f", -1, "abc", 3);
}

static void test_bucket_files__buckets_are_apart(void **state)
{
    fixture *f = *state;
    ash_bucket_options o = ASH_BUCKET_OPTIONS_INIT;
    ash_bucket *other = NULL;
    ash_file *file = NULL;
    support_put(f, "f", "abc", 3, NULL);
    o.bucket_name = "other";
    assert_ok(ash_bucket_new(f->store, &o, &other, &f->err), &f->err);
    assert_string_equal(ash_bucket_name(other), "other");
    assert_string_equal(ash_bucket_db(other), ash_store_default_db(f->store));
    assert_int_equal(ash_bucket_chunk_size_bytes(other), 255 * 1024);
    assert_ptr_equal(ash_bucket_store(other), f->store);
    assert_int_equal(ash_bucket_get_file_by_name(other, "f", -1, false, &file, &f->err),
                     ASH_ENOTFOUND);
    assert_int_equal(ash_bucket_delete_by_name(other, "f", NULL, &f->err), ASH_ENOTFOUND);
    ash_bucket_free(other);
    support_expect_name(f, "f", -1, "abc", 3);
}

static void test_bucket_files__bucket_options_are_checked(void **state)
{
    fixture *f = *state;
    ash_bucket *b = NULL;
    bson_t *bad = BCON_NEW("level", BCON_INT32(1), "mode", BCON_INT32(1), "j", BCON_INT32(1));
    bson_t *good =
        BCON_NEW("level", "majority", "mode", "nearest", "w", "majority", "j", BCON_BOOL(true));
    ash_bucket_options o[6] = {ASH_BUCKET_OPTIONS_INIT, ASH_BUCKET_OPTIONS_INIT,
                               ASH_BUCKET_OPTIONS_INIT, ASH_BUCKET_OPTIONS_INIT,
                               ASH_BUCKET_OPTIONS_INIT, ASH_BUCKET_OPTIONS_INIT};
    o[0].bucket_name = "";
    o[1].read_concern = bad;
    o[2].read_preference = bad;
    o[3].write_concern = bad;
    o[4].timeout_ms = -1;
    o[5].default_ttl_s = -1;
    for (int i = 0; i < 6; i++)
        assert_int_equal(ash_bucket_new(f->store, &o[i], &b, &f->err), ASH_EINVAL);
    ash_bucket_options all = ASH_BUCKET_OPTIONS_INIT;
    all.read_concern = all.read_preference = all.write_concern = good;
    assert_ok(ash_bucket_new(f->store, &all, &b, &f->err), &f->err);
    ash_upload *u = NULL;
    assert_ok(ash_bucket_open_upload_stream(b, "durable", NULL, &u, &f->err), &f->err);
    assert_ok(ash_upload_write(u, "x", 1, &f->err), &f->err);
    assert_ok(ash_upload_finish(u, NULL, &f->err), &f->err);
    ash_upload_free(u);
    ash_bucket_free(b);
    bson_destroy(bad);
    bson_destroy(good);
}

static void test_bucket_files__extra_root_fields_are_kept_and_shown(void **state)
{
    fixture *f = *state;
    bson_value_t id = support_int_id(1);
    ash_file *file = NULL;
    bson_t view;
    support_insert(f->files, "{\"_id\": 1, \"length\": 0, \"chunkSize\": 4, \"owner\": \"me\", "
                             "\"metadata\": {\"a\": 1}}");
    assert_ok(ash_bucket_rename(f->bucket, &id, "named", NULL, &f->err), &f->err);
    assert_ok(ash_bucket_get_file(f->bucket, &id, true, &file, &f->err), &f->err);
    ash_doc doc = ash_file_document(file);
    assert_true(bson_init_static(&view, doc.data, doc.len));
    assert_true(bson_has_field(&view, "owner"));
    assert_true(ash_file_metadata(file, &view));
    assert_true(bson_has_field(&view, "a"));
    ash_file_free(file);
}

static void test_bucket_files__everything_is_there_after_reopening(void **state)
{
    fixture *f = *state;
    uint8_t *data = support_bytes(100000, 1);
    support_put(f, "f", data, 100000, NULL);
    support_reopen(f);
    support_expect_name(f, "f", -1, data, 100000);
    ash__free(data);
}

/* Other programs' files may be called so: they are found and deleted by id. */
static void test_bucket_files__a_name_that_is_not_utf8_is_no_end(void **state)
{
    fixture *f = *state;
    ash_file *file = NULL;
    bson_value_t id;
    support_put(f, "cafe", "content", 7, &id);
    bson_t *filter = BCON_NEW("filename", "cafe");
    bson_t *bad = BCON_NEW("$set", "{", "filename", "caf\xe9", "}");
    bson_value_t update = {.value_type = BSON_TYPE_DOCUMENT};
    update.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(bad);
    update.value.v_doc.data_len = bad->len;
    assert_ok(ash_collection_update(f->files, filter, &update, NULL, NULL, &f->err), &f->err);
    bson_destroy(filter);
    bson_destroy(bad);
    support_expect(f, &id, "content", 7);
    assert_ok(ash_bucket_get_file(f->bucket, &id, true, &file, &f->err), &f->err);
    assert_string_equal(ash_file_filename(file), "caf\xe9");
    ash_file_free(file);
    assert_ok(ash_bucket_rename(f->bucket, &id, "caf\xc3\xa9", NULL, &f->err), &f->err);
    support_expect_name(f, "caf\xc3\xa9", -1, "content", 7);
    assert_ok(ash_bucket_delete(f->bucket, &id, NULL, &f->err), &f->err);
    bson_value_destroy(&id);
}

int main(void)
{
#define T(name)                                                                                    \
    cmocka_unit_test_setup_teardown(test_bucket_files__##name, support_setup, support_teardown)
    const struct CMUnitTest tests[] = {
        T(as_long_as_chunks_can_be_numbered),
        T(find_takes_every_option),
        T(find_refuses_negative_options),
        T(delete_takes_chunks_and_attributes),
        T(delete_of_very_many_chunks),
        T(delete_of_nothing_removes_orphans_and_fails),
        T(rename),
        T(by_name_means_all_revisions),
        T(by_name_beyond_one_batch_of_ids),
        T(drop),
        T(buckets_are_apart),
        T(bucket_options_are_checked),
        T(extra_root_fields_are_kept_and_shown),
        T(a_name_that_is_not_utf8_is_no_end),
        T(everything_is_there_after_reopening),
    };
    return cmocka_run_group_tests_name("bucket files", tests, NULL, NULL);
}
