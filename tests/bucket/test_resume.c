/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "base/clock.h"

#include <string.h>

#define TOTAL 50000

static char *begin(fixture *f, const ash_upload_options *given, const uint8_t *data, size_t len)
{
    ash_upload_options o = given != NULL ? *given : (ash_upload_options)ASH_UPLOAD_OPTIONS_INIT;
    ash_upload *u = NULL;
    o.resumable = true;
    assert_ok(ash_bucket_open_upload_stream(f->bucket, "f", &o, &u, &f->err), &f->err);
    char *token = ash__strdup(ash_upload_token(u));
    assert_ok(ash_upload_write(u, data, len, &f->err), &f->err);
    ash_upload_free(u);
    return token;
}

static void test_bucket_resume__goes_on_after_reopening(void **state)
{
    fixture *f = *state;
    uint8_t *data = support_bytes(TOTAL, 1);
    bson_t *metadata = BCON_NEW("k", BCON_INT32(1));
    ash_upload_options o = ASH_UPLOAD_OPTIONS_INIT;
    ash_upload *u = NULL;
    ash_file *file = NULL;
    o.metadata = metadata;
    o.chunk_size_bytes = 100;
    char *token = begin(f, &o, data, 12345);
    support_reopen(f);
    assert_int_equal(support_count(f->files, "{}"), 0);
    assert_ok(ash_bucket_resume_upload(f->bucket, token, &u, &f->err), &f->err);
    assert_string_equal(ash_upload_token(u), token);
    int64_t at = ash_upload_position(u);
    assert_int_equal(at, 12300);
    assert_ok(ash_upload_write(u, data + at, 10000, &f->err), &f->err);
    ash_upload_free(u);
    assert_ok(ash_bucket_resume_upload(f->bucket, token, &u, &f->err), &f->err);
    at = ash_upload_position(u);
    assert_true(at >= 22200 && at <= 22300);
    assert_ok(ash_upload_write(u, data + at, (size_t)(TOTAL - at), &f->err), &f->err);
    assert_ok(ash_upload_finish(u, &file, &f->err), &f->err);
    ash_upload_free(u);
    support_expect(f, ash_file_id(file), data, TOTAL);
    assert_int_equal(support_count(f->files, "{\"metadata.k\": 1, \"chunkSize\": 100}"), 1);
    char sum[65];
    bson_value_t copy;
    uint8_t *same = support_bytes(TOTAL, 1);
    support_put(f, "whole", same, TOTAL, &copy);
    assert_ok(ash_bucket_sum(f->bucket, &copy, false, sum, &f->err), &f->err);
    assert_string_equal(ash_file_sha256(file), sum);
    assert_int_equal(ash_bucket_resume_upload(f->bucket, token, &u, &f->err), ASH_ENOTFOUND);
    assert_int_equal(support_count(f->attributes, "{\"upload\": {\"$exists\": true}}"), 0);
    ash_file_free(file);
    bson_value_destroy(&copy);
    bson_destroy(metadata);
    ash__free(same);
    ash__free(token);
    ash__free(data);
}

static void test_bucket_resume__stands_before_a_gap(void **state)
{
    fixture *f = *state;
    uint8_t *data = support_bytes(TOTAL, 2);
    ash_upload *u = NULL;
    char *token = begin(f, NULL, data, 1000);
    support_remove(f->chunks, "{\"n\": 10}");
    assert_ok(ash_bucket_resume_upload(f->bucket, token, &u, &f->err), &f->err);
    assert_int_equal(ash_upload_position(u), 10 * CHUNK);
    assert_int_equal(support_count(f->chunks, "{}"), 10);
    assert_ok(ash_upload_write(u, data + 160, 840, &f->err), &f->err);
    assert_ok(ash_upload_finish(u, NULL, &f->err), &f->err);
    support_expect(f, ash_upload_id(u), data, 1000);
    ash_upload_free(u);
    ash__free(token);
    ash__free(data);
}

static void test_bucket_resume__unknown_and_expired_tokens(void **state)
{
    fixture *f = *state;
    ash_upload *u = NULL;
    int64_t deleted = 0;
    bool more = true;
    uint8_t *data = support_bytes(1000, 3);
    char *token = begin(f, NULL, data, 1000);
    assert_int_equal(ash_bucket_resume_upload(f->bucket, "", &u, &f->err), ASH_ENOTFOUND);
    assert_int_equal(
        ash_bucket_resume_upload(f->bucket, "00000000000000000000000000000000", &u, &f->err),
        ASH_ENOTFOUND);
    support_update(f->attributes, "{}",
                   "{\"$set\": {\"expires\": {\"$date\": {\"$numberLong\": \"1000\"}}}}");
    assert_int_equal(ash_bucket_resume_upload(f->bucket, token, &u, &f->err), ASH_ENOTFOUND);
    assert_true(support_count(f->chunks, "{}") > 0);
    assert_ok(ash_bucket_expire(f->bucket, 10, &deleted, &more, &f->err), &f->err);
    assert_int_equal(deleted, 1);
    assert_false(more);
    assert_int_equal(support_count(f->chunks, "{}"), 0);
    assert_int_equal(support_count(f->attributes, "{}"), 0);
    ash__free(token);
    ash__free(data);
}

/* From now, and anew with each process that goes on. */
static void expect_a_day(fixture *f)
{
    int64_t day_ms = INT64_C(24) * 3600 * 1000, now = ash__clock_wall_ms();
    char *json = ash__sprintf("{\"expires\": {\"$gt\": {\"$date\": {\"$numberLong\": "
                              "\"%lld\"}}, \"$lte\": {\"$date\": {\"$numberLong\": \"%lld\"}}}}",
                              (long long)(now + day_ms - 60000), (long long)(now + day_ms));
    assert_int_equal(support_count(f->attributes, json), 1);
    ash__free(json);
}

static void test_bucket_resume__is_kept_for_a_day(void **state)
{
    fixture *f = *state;
    ash_upload *u = NULL;
    uint8_t *data = support_bytes(1000, 5);
    char *token = begin(f, NULL, data, 1000);
    expect_a_day(f);
    /* As if a third of the day had gone by. */
    char *earlier =
        ash__sprintf("{\"$set\": {\"expires\": {\"$date\": {\"$numberLong\": \"%lld\"}}}}",
                     (long long)ash__clock_wall_ms() + 16 * 3600 * 1000);
    support_update(f->attributes, "{}", earlier);
    ash__free(earlier);
    assert_ok(ash_bucket_resume_upload(f->bucket, token, &u, &f->err), &f->err);
    expect_a_day(f);
    assert_ok(ash_upload_abort(u, &f->err), &f->err);
    ash_upload_free(u);
    ash__free(token);
    ash__free(data);
}

static void test_bucket_resume__abort_takes_everything(void **state)
{
    fixture *f = *state;
    ash_upload *u = NULL;
    uint8_t *data = support_bytes(1000, 4);
    char *token = begin(f, NULL, data, 1000);
    assert_ok(ash_bucket_resume_upload(f->bucket, token, &u, &f->err), &f->err);
    assert_ok(ash_upload_abort(u, &f->err), &f->err);
    ash_upload_free(u);
    assert_int_equal(support_count(f->chunks, "{}"), 0);
    assert_int_equal(support_count(f->attributes, "{}"), 0);
    ash__free(token);
    ash__free(data);
}

static void test_bucket_resume__condition_is_kept(void **state)
{
    fixture *f = *state;
    ash_upload *u = NULL;
    ash_upload_options o = ASH_UPLOAD_OPTIONS_INIT;
    o.condition = ASH_PUT_IF_ABSENT;
    char *token = begin(f, &o, (const uint8_t *)"abc", 3);
    support_put(f, "f", "other", 5, NULL);
    assert_ok(ash_bucket_resume_upload(f->bucket, token, &u, &f->err), &f->err);
    assert_int_equal(ash_upload_finish(u, NULL, &f->err), ASH_ECONDITION);
    ash_upload_free(u);
    assert_int_equal(support_count(f->attributes, "{}"), 1);
    ash__free(token);
}

/* Two processes that go on with the same upload; `data` is 1,000 bytes that the store has 62 whole
 * chunks of. */
static char *begin_two(fixture *f, const uint8_t *data, ash_upload **first, ash_upload **second)
{
    char *token = begin(f, NULL, data, 1000);
    assert_ok(ash_bucket_resume_upload(f->bucket, token, first, &f->err), &f->err);
    assert_ok(ash_bucket_resume_upload(f->bucket, token, second, &f->err), &f->err);
    assert_int_equal(ash_upload_position(*second), 992);
    assert_ok(ash_upload_write(*first, data + 992, 8, &f->err), &f->err);
    assert_ok(ash_upload_write(*second, data + 992, 8, &f->err), &f->err);
    return token;
}

static void test_bucket_resume__the_last_who_goes_on_has_it(void **state)
{
    fixture *f = *state;
    ash_upload *first = NULL, *second = NULL;
    uint8_t *data = support_bytes(1000, 6);
    char *token = begin_two(f, data, &first, &second);
    assert_int_equal(ash_upload_finish(first, NULL, &f->err), ASH_ELOST);
    assert_ok(ash_upload_abort(first, &f->err), &f->err);
    ash_upload_free(first);
    assert_int_equal(support_count(f->files, "{}"), 0);
    assert_ok(ash_upload_finish(second, NULL, &f->err), &f->err);
    support_expect(f, ash_upload_id(second), data, 1000);
    ash_upload_free(second);
    ash__free(token);
    ash__free(data);
}

static void test_bucket_resume__abort_leaves_what_another_finished(void **state)
{
    fixture *f = *state;
    for (int finishes = 0; finishes < 2; finishes++) {
        ash_upload *first = NULL, *second = NULL;
        uint8_t *data = support_bytes(1000, 7);
        char *token = begin_two(f, data, &first, &second);
        assert_ok(ash_upload_finish(second, NULL, &f->err), &f->err);
        if (finishes)
            assert_true(ash_upload_finish(first, NULL, &f->err) != 0);
        (void)ash_upload_abort(first, NULL);
        ash_upload_free(first);
        support_expect(f, ash_upload_id(second), data, 1000);
        ash_upload_free(second);
        ash__free(token);
        ash__free(data);
    }
}

static void test_bucket_resume__leaves_another_file_of_its_id(void **state)
{
    fixture *f = *state;
    ash_upload *u = NULL, *again = NULL;
    ash_upload_options o = ASH_UPLOAD_OPTIONS_INIT;
    bson_value_t id = support_int_id(7);
    uint8_t *data = support_bytes(1000, 8);
    o.resumable = true;
    assert_ok(ash_bucket_open_upload_stream_with_id(f->bucket, &id, "f", &o, &u, &f->err), &f->err);
    assert_int_equal(support_put_with(f, &id, "other", data, 1000, NULL), 0);
    assert_int_equal(ash_bucket_resume_upload(f->bucket, ash_upload_token(u), &again, &f->err),
                     ASH_EEXISTS);
    support_expect(f, &id, data, 1000);
    assert_ok(ash_upload_abort(u, &f->err), &f->err);
    ash_upload_free(u);
    support_expect(f, &id, data, 1000);
    assert_int_equal(support_count(f->attributes, "{\"upload\": {\"$exists\": true}}"), 0);
    ash__free(data);
}

static void test_bucket_resume__ordinary_uploads_have_no_token(void **state)
{
    fixture *f = *state;
    ash_upload *u = NULL;
    assert_ok(ash_bucket_open_upload_stream(f->bucket, "f", NULL, &u, &f->err), &f->err);
    assert_null(ash_upload_token(u));
    ash_upload_free(u);
}

int main(void)
{
#define T(name)                                                                                    \
    cmocka_unit_test_setup_teardown(test_bucket_resume__##name, support_setup, support_teardown)
    const struct CMUnitTest tests[] = {
        T(goes_on_after_reopening),       T(stands_before_a_gap),
        T(unknown_and_expired_tokens),    T(is_kept_for_a_day),
        T(abort_takes_everything),        T(condition_is_kept),
        T(the_last_who_goes_on_has_it),   T(abort_leaves_what_another_finished),
        T(leaves_another_file_of_its_id), T(ordinary_uploads_have_no_token),
    };
    return cmocka_run_group_tests_name("bucket resume", tests, NULL, NULL);
}
