/* SPDX-License-Identifier: Apache-2.0 */

/* What is sent to a store without transactions, and in which order. */

#include "recorder.h"

#include <string.h>

typedef struct remote {
    fixture *f;
    recorder *r;
    ash_bucket *b;
} remote;

static remote begin(void **state)
{
    remote s = {.f = *state};
    s.r = recorder_new(s.f, &s.b);
    return s;
}

static void end(remote *s)
{
    recorder_free(s->r, s->b);
}

static void put(remote *s, const char *name, const char *text, bson_value_t *id)
{
    support_source source = {(const uint8_t *)text, strlen(text), 0, 0, false};
    ash_input in = support_input(&source);
    assert_ok(ash_bucket_upload_from_stream(s->b, name, &in, NULL, id, &s->f->err), &s->f->err);
}

static void test_bucket_order__nothing_before_the_first_write(void **state)
{
    remote s = begin(state);
    ash_upload *u = NULL;
    assert_string_equal(recorder_log(s.r), "");
    assert_ok(ash_bucket_open_upload_stream(s.b, "f", NULL, &u, &s.f->err), &s.f->err);
    assert_ok(ash_upload_write(u, "abc", 3, &s.f->err), &s.f->err);
    assert_string_equal(recorder_log(s.r), "");
    ash_upload_free(u);
    end(&s);
}

static void test_bucket_order__first_upload_then_others(void **state)
{
    remote s = begin(state);
    put(&s, "f", "abc", NULL);
    assert_string_equal(recorder_log(s.r),
                        "find-primary fs.files\n"
                        "list-indexes fs.files\ncreate-indexes fs.files\n"
                        "list-indexes fs.chunks\ncreate-indexes fs.chunks\n"
                        "insert fs.chunks\n"
                        "find fs.files\nupdate-one fs.attributes\ninsert fs.files\n");
    recorder_clear(s.r);
    put(&s, "f", "0123456789abcdef0123456789abcdef0", NULL);
    assert_string_equal(recorder_log(s.r),
                        "insert fs.chunks\n"
                        "find fs.files\nupdate-one fs.attributes\ninsert fs.files\n");
    end(&s);
}

static void test_bucket_order__indexes_are_looked_for_before_they_are_created(void **state)
{
    remote s = begin(state);
    ash_bucket *other = NULL;
    put(&s, "f", "abc", NULL);
    assert_ok(ash_bucket_delete_by_name(s.b, "f", NULL, &s.f->err), &s.f->err);
    assert_ok(ash_bucket_new(ash_bucket_store(s.b), NULL, &other, &s.f->err), &s.f->err);
    recorder_clear(s.r);
    support_source source = {(const uint8_t *)"x", 1, 0, 0, false};
    ash_input in = support_input(&source);
    assert_ok(ash_bucket_upload_from_stream(other, "f", &in, NULL, NULL, &s.f->err), &s.f->err);
    ash_bucket_free(other);
    assert_null(strstr(recorder_log(s.r), "create-indexes"));
    assert_non_null(strstr(recorder_log(s.r), "list-indexes fs.chunks"));
    end(&s);
}

static void test_bucket_order__downloads_need_two_queries_and_empty_files_one(void **state)
{
    remote s = begin(state);
    bson_value_t id;
    bson_value_t empty;
    ash_buffer got = ASH_BUFFER_INIT;
    ash_output out = support_output(&got);
    put(&s, "f", "abc", &id);
    put(&s, "empty", "", &empty);
    recorder_clear(s.r);
    assert_ok(ash_bucket_download_to_stream(s.b, &id, &out, NULL, &s.f->err), &s.f->err);
    assert_string_equal(recorder_log(s.r), "find fs.files\nfind fs.chunks\n");
    recorder_clear(s.r);
    assert_ok(ash_bucket_download_to_stream(s.b, &empty, &out, NULL, &s.f->err), &s.f->err);
    assert_string_equal(recorder_log(s.r), "find fs.files\n");
    ash__buffer_release(&got);
    bson_value_destroy(&id);
    bson_value_destroy(&empty);
    end(&s);
}

static void test_bucket_order__delete_takes_the_file_first(void **state)
{
    remote s = begin(state);
    bson_value_t id;
    put(&s, "f", "abc", &id);
    recorder_clear(s.r);
    assert_ok(ash_bucket_delete(s.b, &id, NULL, &s.f->err), &s.f->err);
    assert_string_equal(recorder_log(s.r),
                        "remove fs.files\nremove fs.chunks\nremove fs.attributes\n");
    put(&s, "f", "abc", NULL);
    recorder_clear(s.r);
    assert_ok(ash_bucket_delete_by_name(s.b, "f", NULL, &s.f->err), &s.f->err);
    assert_string_equal(recorder_log(s.r),
                        "find fs.files\nremove fs.files\nremove fs.chunks\nremove fs.attributes\n");
    bson_value_destroy(&id);
    end(&s);
}

static void test_bucket_order__rename_is_one_update(void **state)
{
    remote s = begin(state);
    bson_value_t id;
    put(&s, "f", "abc", &id);
    recorder_clear(s.r);
    assert_ok(ash_bucket_rename(s.b, &id, "g", NULL, &s.f->err), &s.f->err);
    assert_string_equal(recorder_log(s.r), "update-one fs.files\n");
    recorder_clear(s.r);
    assert_ok(ash_bucket_rename_by_name(s.b, "g", "h", NULL, &s.f->err), &s.f->err);
    assert_string_equal(recorder_log(s.r), "update-many fs.files\n");
    bson_value_destroy(&id);
    end(&s);
}

static void test_bucket_order__drop_takes_the_files_first(void **state)
{
    remote s = begin(state);
    put(&s, "f", "abc", NULL);
    recorder_clear(s.r);
    assert_ok(ash_bucket_drop(s.b, NULL, &s.f->err), &s.f->err);
    assert_string_equal(recorder_log(s.r), "drop fs.files\ndrop fs.chunks\ndrop fs.attributes\n");
    end(&s);
}

static void test_bucket_order__failed_insert_is_reported_without_cleaning_up(void **state)
{
    remote s = begin(state);
    uint8_t *data = support_bytes(20000, 1);
    support_source source = {data, 20000, 0, 0, false};
    ash_input in = support_input(&source);
    put(&s, "other", "abc", NULL);
    recorder_fail(s.r, "insert fs.chunks", 3, false);
    assert_int_equal(ash_bucket_upload_from_stream(s.b, "f", &in, NULL, NULL, &s.f->err),
                     ASH_ENETWORK);
    assert_null(strstr(recorder_log(s.r), "remove"));
    assert_null(strstr(recorder_log(s.r), "insert fs.files"));
    assert_true(support_count(s.f->chunks, "{}") > 1);
    assert_int_equal(support_count(s.f->files, "{}"), 1);
    ash__free(data);
    end(&s);
}

static void test_bucket_order__abort_tells_what_it_could_not_delete(void **state)
{
    remote s = begin(state);
    ash_upload *u = NULL;
    uint8_t *data = support_bytes(20000, 1);
    assert_ok(ash_bucket_open_upload_stream(s.b, "f", NULL, &u, &s.f->err), &s.f->err);
    assert_ok(ash_upload_write(u, data, 20000, &s.f->err), &s.f->err);
    recorder_fail(s.r, "remove fs.chunks", 1, true);
    assert_int_equal(ash_upload_abort(u, &s.f->err), ASH_ENETWORK);
    assert_string_equal(s.f->err.text, "upload could not be aborted wholly: connection is gone");
    assert_int_equal(ash_upload_write(u, data, 1, &s.f->err), ASH_ESTATE);
    ash_upload_free(u);
    ash__free(data);
    end(&s);
}

static void test_bucket_order__original_error_when_source_and_abort_fail(void **state)
{
    remote s = begin(state);
    uint8_t *data = support_bytes(20000, 1);
    support_source source = {data, 20000, 0, 0, true};
    ash_input in = support_input(&source);
    recorder_fail(s.r, "remove fs.chunks", 1, true);
    assert_int_equal(ash_bucket_upload_from_stream(s.b, "f", &in, NULL, NULL, &s.f->err), ASH_EIO);
    assert_string_equal(s.f->err.text, "source failed");
    ash__free(data);
    end(&s);
}

static void test_bucket_order__alter_needs_transactions(void **state)
{
    remote s = begin(state);
    bson_value_t id;
    ash_alter *a = NULL;
    put(&s, "f", "abc", &id);
    assert_int_equal(ash_bucket_open_alter(s.b, &id, NULL, &a, &s.f->err), ASH_EUNSUPPORTED);
    assert_non_null(strstr(s.f->err.text, "has no transactions"));
    bson_value_destroy(&id);
    end(&s);
}

static void test_bucket_order__replace_removes_old_ones_last(void **state)
{
    remote s = begin(state);
    ash_upload_options o = ASH_UPLOAD_OPTIONS_INIT;
    support_source source = {(const uint8_t *)"new", 3, 0, 0, false};
    ash_input in = support_input(&source);
    put(&s, "f", "abc", NULL);
    o.replace = true;
    recorder_clear(s.r);
    assert_ok(ash_bucket_upload_from_stream(s.b, "f", &in, &o, NULL, &s.f->err), &s.f->err);
    assert_string_equal(recorder_log(s.r),
                        "insert fs.chunks\nfind fs.files\nfind fs.files\nupdate-one fs.attributes\n"
                        "insert fs.files\nremove fs.files\nremove fs.chunks\n"
                        "remove fs.attributes\n");
    assert_int_equal(support_count(s.f->chunks, "{}"), 1);
    end(&s);
}

/* Every operation of an upload fails once: an error each time, never a visible file, and in the end
 * a success. */
static void test_bucket_order__any_failure_leaves_no_visible_file(void **state)
{
    remote s = begin(state);
    uint8_t *data = support_bytes(20000, 1);
    int rc = -1;
    int failures = 0;
    for (int nth = 1; rc != 0; nth++) {
        support_source source = {data, 20000, 0, 0, false};
        ash_input in = support_input(&source);
        recorder_fail(s.r, "", nth, false);
        rc = ash_bucket_upload_from_stream(s.b, "f", &in, NULL, NULL, &s.f->err);
        if (rc == 0)
            break;
        failures++;
        assert_int_equal(rc, ASH_ENETWORK);
        assert_int_equal(support_count(s.f->files, "{}"), 0);
    }
    assert_true(failures >= 8);
    support_expect_name(s.f, "f", -1, data, 20000);
    ash__free(data);
    end(&s);
}

static void test_bucket_order__failed_download_is_an_error(void **state)
{
    remote s = begin(state);
    bson_value_t id;
    ash_buffer got = ASH_BUFFER_INIT;
    ash_output out = support_output(&got);
    put(&s, "f", "abc", &id);
    static const char *const steps[] = {"find fs.files", "find fs.chunks"};
    for (int i = 0; i < 2; i++) {
        recorder_fail(s.r, steps[i], 1, false);
        assert_int_equal(ash_bucket_download_to_stream(s.b, &id, &out, NULL, &s.f->err),
                         ASH_ENETWORK);
    }
    recorder_fail(s.r, "remove fs.chunks", 1, false);
    assert_int_equal(ash_bucket_delete(s.b, &id, NULL, &s.f->err), ASH_ENETWORK);
    ash__buffer_release(&got);
    bson_value_destroy(&id);
    end(&s);
}

int main(void)
{
#define T(name)                                                                                    \
    cmocka_unit_test_setup_teardown(test_bucket_order__##name, support_setup, support_teardown)
    const struct CMUnitTest tests[] = {
        T(nothing_before_the_first_write),
        T(first_upload_then_others),
        T(indexes_are_looked_for_before_they_are_created),
        T(downloads_need_two_queries_and_empty_files_one),
        T(delete_takes_the_file_first),
        T(rename_is_one_update),
        T(drop_takes_the_files_first),
        T(failed_insert_is_reported_without_cleaning_up),
        T(abort_tells_what_it_could_not_delete),
        T(original_error_when_source_and_abort_fail),
        T(alter_needs_transactions),
        T(replace_removes_old_ones_last),
        T(any_failure_leaves_no_visible_file),
        T(failed_download_is_an_error),
    };
    return cmocka_run_group_tests_name("bucket order", tests, NULL, NULL);
}
