/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <string.h>

/* Names of the collection's indexes but _id_, with ";" behind each. */
static void index_names(fixture *f, ash_collection *c, char *out, size_t out_bytes)
{
    ash_cursor *cursor = NULL;
    ash_doc doc;
    bson_t view;
    bson_iter_t it;
    out[0] = '\0';
    int rc = ash_collection_list_indexes(c, NULL, &cursor, &f->err);
    if (rc == ASH_ENOTFOUND)
        return;
    assert_ok(rc, &f->err);
    for (;;) {
        assert_ok(ash_cursor_next(cursor, &doc, &f->err), &f->err);
        if (doc.data == NULL)
            break;
        assert_true(bson_init_static(&view, doc.data, doc.len));
        assert_true(bson_iter_init_find(&it, &view, "name"));
        const char *name = bson_iter_utf8(&it, NULL);
        if (strcmp(name, "_id_") == 0)
            continue;
        assert_true(strlen(out) + strlen(name) + 2 < out_bytes);
        strcat(strcat(out, name), ";");
    }
    ash_cursor_free(cursor);
}

static void expect_indexes(fixture *f, const char *files, const char *chunks)
{
    char names[500];
    index_names(f, f->files, names, sizeof names);
    assert_string_equal(names, files);
    index_names(f, f->chunks, names, sizeof names);
    assert_string_equal(names, chunks);
}

static void create(fixture *f, ash_collection *c, const char *specs)
{
    bson_t *array = bson_new_from_json((const uint8_t *)specs, -1, NULL);
    assert_non_null(array);
    assert_ok(ash_collection_create_indexes(c, array, NULL, NULL, &f->err), &f->err);
    bson_destroy(array);
}

static void test_bucket_indexes__made_before_the_first_write_and_not_earlier(void **state)
{
    fixture *f = *state;
    ash_upload *u = NULL;
    ash_file *file = NULL;
    bson_value_t id = support_int_id(1);
    assert_int_equal(ash_bucket_get_file(f->bucket, &id, false, &file, &f->err), ASH_ENOTFOUND);
    assert_int_equal(ash_bucket_get_file_by_name(f->bucket, "f", 0, false, &file, &f->err),
                     ASH_ENOTFOUND);
    assert_ok(ash_bucket_open_upload_stream(f->bucket, "f", NULL, &u, &f->err), &f->err);
    expect_indexes(f, "", "");
    assert_ok(ash_upload_finish(u, NULL, &f->err), &f->err);
    ash_upload_free(u);
    expect_indexes(f, "filename_1_uploadDate_1;", "files_id_1_n_1;");
}

static void test_bucket_indexes__not_made_when_there_are_files(void **state)
{
    fixture *f = *state;
    support_insert(f->files, "{\"_id\": 1, \"length\": 0, \"chunkSize\": 1}");
    support_put(f, "f", "x", 1, NULL);
    expect_indexes(f, "", "");
}

static void test_bucket_indexes__keys_are_compared_by_value(void **state)
{
    fixture *f = *state;
    create(f, f->files,
           "{\"0\": {\"name\": \"mine\", \"key\": {\"filename\": {\"$numberDouble\": "
           "\"1.0\"}, \"uploadDate\": {\"$numberLong\": \"1\"}}}}");
    create(f, f->chunks,
           "{\"0\": {\"name\": \"own\", \"unique\": true, \"key\": {\"files_id\": "
           "{\"$numberLong\": \"1\"}, \"n\": {\"$numberDouble\": \"1.0\"}}}}");
    support_put(f, "f", "x", 1, NULL);
    expect_indexes(f, "mine;", "own;");
}

static void test_bucket_indexes__order_and_direction_count(void **state)
{
    fixture *f = *state;
    create(f, f->files,
           "{\"0\": {\"name\": \"a\", \"key\": {\"uploadDate\": 1, \"filename\": 1}}, "
           "\"1\": {\"name\": \"b\", \"key\": {\"filename\": 1, \"uploadDate\": -1}}, "
           "\"2\": {\"name\": \"c\", \"key\": {\"filename\": 1}}}");
    support_put(f, "f", "x", 1, NULL);
    expect_indexes(f, "a;b;c;filename_1_uploadDate_1;", "files_id_1_n_1;");
}

static void test_bucket_indexes__failure_to_create_is_an_error(void **state)
{
    fixture *f = *state;
    support_insert(f->chunks, "{\"files_id\": 1, \"n\": 0}");
    support_insert(f->chunks, "{\"files_id\": 1, \"n\": 0}");
    ash_upload *u = NULL;
    assert_ok(ash_bucket_open_upload_stream(f->bucket, "f", NULL, &u, &f->err), &f->err);
    assert_ok(ash_upload_write(u, "x", 1, &f->err), &f->err);
    assert_int_equal(ash_upload_finish(u, NULL, &f->err), ASH_EEXISTS);
    assert_non_null(strstr(f->err.text, "cannot create index files_id_1_n_1 on fs.chunks"));
    ash_upload_free(u);
    assert_int_equal(support_count(f->files, "{}"), 0);
}

static void test_bucket_indexes__one_that_is_not_unique_is_a_conflict(void **state)
{
    fixture *f = *state;
    create(f, f->chunks,
           "{\"0\": {\"name\": \"files_id_1_n_1\", \"key\": {\"files_id\": 1, \"n\": 1}}}");
    support_source s = {(const uint8_t *)"x", 1, 0, 0, false};
    ash_input in = support_input(&s);
    assert_int_equal(ash_bucket_upload_from_stream(f->bucket, "f", &in, NULL, NULL, &f->err),
                     ASH_EEXISTS);
    assert_int_equal(support_count(f->files, "{}"), 0);
}

int main(void)
{
#define T(name)                                                                                    \
    cmocka_unit_test_setup_teardown(test_bucket_indexes__##name, support_setup, support_teardown)
    const struct CMUnitTest tests[] = {
        T(made_before_the_first_write_and_not_earlier),
        T(not_made_when_there_are_files),
        T(keys_are_compared_by_value),
        T(order_and_direction_count),
        T(failure_to_create_is_an_error),
        T(one_that_is_not_unique_is_a_conflict),
    };
    return cmocka_run_group_tests_name("bucket indexes", tests, NULL, NULL);
}
