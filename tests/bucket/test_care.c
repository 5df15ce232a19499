/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "base/clock.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define ABC "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

static void insert_foreign(fixture *f, int id, const char *base64)
{
    char json[300];
    snprintf(json, sizeof json,
             "{\"_id\": %d, \"length\": 3, \"chunkSize\": 16, \"filename\": \"driver\", "
             "\"uploadDate\": {\"$date\": {\"$numberLong\": \"5000\"}}}",
             id);
    support_insert(f->files, json);
    snprintf(json, sizeof json,
             "{\"files_id\": %d, \"n\": 0, \"data\": {\"$binary\": {\"base64\": \"%s\", "
             "\"subType\": \"00\"}}}",
             id, base64);
    support_insert(f->chunks, json);
}

static void test_bucket_care__sum_of_a_drivers_file_is_remembered(void **state)
{
    fixture *f = *state;
    bson_value_t id = support_int_id(1);
    char hex[65];
    insert_foreign(f, 1, "YWJj");
    assert_ok(ash_bucket_sum(f->bucket, &id, false, hex, &f->err), &f->err);
    assert_string_equal(hex, ABC);
    assert_int_equal(support_count(f->attributes, "{\"_id\": 1, \"sha256\": \"" ABC "\"}"), 1);
    support_remove(f->chunks, "{}");
    assert_ok(ash_bucket_sum(f->bucket, &id, false, hex, &f->err), &f->err);
    assert_string_equal(hex, ABC);
    assert_int_equal(ash_bucket_sum(f->bucket, &id, true, hex, &f->err), ASH_ECHUNKMISSING);
}

static void test_bucket_care__sum_of_an_earlier_file_is_not_used(void **state)
{
    fixture *f = *state;
    bson_value_t id = support_int_id(1);
    ash_file *file = NULL;
    char hex[65];
    insert_foreign(f, 1, "YWJj");
    assert_ok(ash_bucket_sum(f->bucket, &id, false, hex, &f->err), &f->err);
    support_update(f->files, "{}",
                   "{\"$set\": {\"uploadDate\": {\"$date\": {\"$numberLong\": \"6000\"}}}}");
    assert_ok(ash_bucket_get_file(f->bucket, &id, true, &file, &f->err), &f->err);
    assert_null(ash_file_sha256(file));
    ash_file_free(file);
    support_update(f->chunks, "{}",
                   "{\"$set\": {\"data\": {\"$binary\": {\"base64\": \"YWJk\", \"subType\": "
                   "\"00\"}}}}");
    assert_ok(ash_bucket_sum(f->bucket, &id, false, hex, &f->err), &f->err);
    assert_string_not_equal(hex, ABC);
}

static void test_bucket_care__recomputed_sum_shows_damage(void **state)
{
    fixture *f = *state;
    bson_value_t id = support_int_id(1);
    char hex[65];
    assert_ok(support_put_with(f, &id, "f", "abc", 3, NULL), &f->err);
    assert_ok(ash_bucket_sum(f->bucket, &id, true, hex, &f->err), &f->err);
    assert_string_equal(hex, ABC);
    support_update(f->chunks, "{}",
                   "{\"$set\": {\"data\": {\"$binary\": {\"base64\": \"YWJk\", \"subType\": "
                   "\"00\"}}}}");
    assert_int_equal(ash_bucket_sum(f->bucket, &id, true, hex, &f->err), ASH_ECORRUPT);
}

static void test_bucket_care__missing_sums_are_bounded_and_pass_damage_over(void **state)
{
    fixture *f = *state;
    ash_sum_missing_options o = ASH_SUM_MISSING_OPTIONS_INIT;
    ash_sum_missing_report report = ASH_SUM_MISSING_REPORT_INIT;
    for (int id = 1; id <= 5; id++)
        insert_foreign(f, id, "YWJj");
    support_remove(f->chunks, "{\"files_id\": 5}");
    support_insert(f->files, "{\"_id\": 6, \"length\": \"absurd\"}");
    o.max_files = 2;
    assert_ok(ash_bucket_sum_missing(f->bucket, &o, &report, &f->err), &f->err);
    assert_int_equal(report.files, 2);
    assert_int_equal(report.bytes, 6);
    assert_int_equal(report.failed, 2);
    assert_true(report.more);
    o.max_files = 0;
    assert_ok(ash_bucket_sum_missing(f->bucket, &o, &report, &f->err), &f->err);
    assert_int_equal(report.files, 2);
    assert_false(report.more);
    assert_int_equal(support_count(f->attributes, "{\"sha256\": \"" ABC "\"}"), 4);
    assert_ok(ash_bucket_sum_missing(f->bucket, NULL, &report, &f->err), &f->err);
    assert_int_equal(report.files, 0);
    o.max_bytes = -1;
    assert_int_equal(ash_bucket_sum_missing(f->bucket, &o, &report, &f->err), ASH_EINVAL);
}

static void test_bucket_care__missing_sums_of_recent_files(void **state)
{
    fixture *f = *state;
    ash_sum_missing_options o = ASH_SUM_MISSING_OPTIONS_INIT;
    ash_sum_missing_report report = ASH_SUM_MISSING_REPORT_INIT;
    volatile int cancelled = 1;
    for (int hour = 1; hour <= 2; hour++) {
        char json[200];
        snprintf(json, sizeof json,
                 "{\"_id\": {\"$oid\": \"%08x0000000000000000\"}, \"length\": 0, "
                 "\"chunkSize\": 16, \"uploadDate\": {\"$date\": {\"$numberLong\": \"1\"}}}",
                 (unsigned)hour * 3600);
        support_insert(f->files, json);
    }
    o.since_ms = 7200 * 1000;
    assert_ok(ash_bucket_sum_missing(f->bucket, &o, &report, &f->err), &f->err);
    assert_int_equal(report.files, 1);
    assert_int_equal(support_count(f->attributes, "{\"_id\": {\"$oid\": "
                                                  "\"00001c200000000000000000\"}}"),
                     1);
    o.since_ms = 0;
    o.cancel = &cancelled;
    assert_int_equal(ash_bucket_sum_missing(f->bucket, &o, &report, &f->err), ASH_EINTERRUPTED);
    cancelled = 0;
    assert_ok(ash_bucket_sum_missing(f->bucket, &o, &report, &f->err), &f->err);
    assert_int_equal(report.files, 1);
}

/* A tree's: what is in them is under its own digest. */
static void test_bucket_care__contents_of_trees_get_no_sums(void **state)
{
    static const char *const fields[] = {
        "\"store\": \"in\", \"in\": {\"$binary\": {\"base64\": \"YWJj\", \"subType\": \"00\"}}",
        "\"in\": {\"$binary\": {\"base64\": \"YWJj\", \"subType\": \"00\"}}",
        "\"store\": \"zstd\", \"size\": 3", "\"refs\": [1], \"refHistory\": [1]"};
    fixture *f = *state;
    ash_sum_missing_report report = ASH_SUM_MISSING_REPORT_INIT;
    for (int id = 1; id <= 4; id++) {
        char json[300];
        snprintf(json, sizeof json,
                 "{\"_id\": %d, \"length\": 0, \"chunkSize\": 16, "
                 "\"uploadDate\": {\"$date\": {\"$numberLong\": \"1\"}}, %s}",
                 id, fields[id - 1]);
        support_insert(f->files, json);
    }
    assert_ok(ash_bucket_sum_missing(f->bucket, NULL, &report, &f->err), &f->err);
    assert_int_equal(report.files, 0);
    assert_int_equal(support_count(f->attributes, "{}"), 0);
}

static void test_bucket_care__sum_after_alter(void **state)
{
    fixture *f = *state;
    bson_value_t id = support_int_id(1);
    ash_alter *a = NULL;
    char hex[65];
    assert_ok(support_put_with(f, &id, "f", "ab", 2, NULL), &f->err);
    assert_ok(ash_bucket_open_alter(f->bucket, &id, NULL, &a, &f->err), &f->err);
    assert_ok(ash_alter_append(a, "c", 1, &f->err), &f->err);
    assert_ok(ash_alter_finish(a, NULL, &f->err), &f->err);
    ash_alter_free(a);
    assert_ok(ash_bucket_sum(f->bucket, &id, false, hex, &f->err), &f->err);
    assert_string_equal(hex, ABC);
}

/* ---- time to live ---- */

static void test_bucket_care__expired_files_go_with_their_chunks(void **state)
{
    fixture *f = *state;
    ash_upload_options o = ASH_UPLOAD_OPTIONS_INIT;
    bson_value_t id = support_int_id(1);
    ash_file *file = NULL;
    int64_t deleted = 0;
    bool more = false;
    o.ttl_s = 3600;
    assert_ok(support_put_with(f, &id, "f", "0123456789abcdefgh", 18, &o), &f->err);
    support_put(f, "forever", "x", 1, NULL);
    assert_ok(ash_bucket_get_file(f->bucket, &id, true, &file, &f->err), &f->err);
    assert_true(ash_file_expires_ms(file) > ash__clock_wall_ms() + 3590000);
    ash_file_free(file);
    assert_ok(ash_bucket_expire(f->bucket, 10, &deleted, &more, &f->err), &f->err);
    assert_int_equal(deleted, 0);
    assert_ok(ash_bucket_set_expiry(f->bucket, &id, 1000, &f->err), &f->err);
    assert_ok(ash_bucket_expire(f->bucket, 10, &deleted, &more, &f->err), &f->err);
    assert_int_equal(deleted, 1);
    assert_int_equal(support_count(f->files, "{}"), 1);
    assert_int_equal(support_count(f->chunks, "{}"), 1);
    assert_int_equal(support_count(f->attributes, "{}"), 1);
}

static void test_bucket_care__expiry_is_bounded_and_can_be_taken_back(void **state)
{
    fixture *f = *state;
    int64_t deleted = 0;
    bool more = false;
    for (int32_t i = 0; i < 5; i++) {
        bson_value_t id = support_int_id(i);
        assert_ok(support_put_with(f, &id, "f", "x", 1, NULL), &f->err);
        assert_ok(ash_bucket_set_expiry(f->bucket, &id, 1000 + i, &f->err), &f->err);
    }
    bson_value_t kept = support_int_id(0);
    assert_ok(ash_bucket_set_expiry(f->bucket, &kept, 0, &f->err), &f->err);
    assert_ok(ash_bucket_expire(f->bucket, 3, &deleted, &more, &f->err), &f->err);
    assert_int_equal(deleted, 3);
    assert_true(more);
    assert_ok(ash_bucket_expire(f->bucket, 3, &deleted, &more, &f->err), &f->err);
    assert_int_equal(deleted, 1);
    assert_false(more);
    support_expect(f, &kept, "x", 1);
    assert_int_equal(ash_bucket_expire(f->bucket, 0, &deleted, &more, &f->err), ASH_EINVAL);
    assert_int_equal(ash_bucket_set_expiry(f->bucket, &kept, -1, &f->err), ASH_EINVAL);
}

static void test_bucket_care__expiry_of_an_earlier_file_spares_the_new_one(void **state)
{
    fixture *f = *state;
    bson_value_t id = support_int_id(1);
    int64_t deleted = 0;
    bool more = false;
    insert_foreign(f, 1, "YWJj");
    assert_ok(ash_bucket_set_expiry(f->bucket, &id, 1000, &f->err), &f->err);
    support_update(f->files, "{}",
                   "{\"$set\": {\"uploadDate\": {\"$date\": {\"$numberLong\": \"6000\"}}}, "
                   "\"$unset\": {\"expiresAt\": 1}}");
    assert_ok(ash_bucket_expire(f->bucket, 10, &deleted, &more, &f->err), &f->err);
    assert_int_equal(deleted, 0);
    support_expect(f, &id, "abc", 3);
}

static void test_bucket_care__expired_files_are_not_there(void **state)
{
    fixture *f = *state;
    bson_value_t id = support_int_id(1);
    ash_file *file = NULL;
    ash_download *download = NULL;
    ash_cursor *cursor = NULL;
    ash_doc doc;
    char hex[65];
    assert_ok(support_put_with(f, &id, "f", "abc", 3, NULL), &f->err);
    assert_ok(ash_bucket_set_expiry(f->bucket, &id, 1000, &f->err), &f->err);
    assert_int_equal(ash_bucket_get_file(f->bucket, &id, false, &file, &f->err), ASH_ENOTFOUND);
    assert_int_equal(ash_bucket_get_file_by_name(f->bucket, "f", -1, false, &file, &f->err),
                     ASH_ENOTFOUND);
    assert_int_equal(ash_bucket_open_download_stream(f->bucket, &id, NULL, &download, &f->err),
                     ASH_ENOTFOUND);
    assert_int_equal(
        ash_bucket_open_download_stream_by_name(f->bucket, "f", NULL, &download, &f->err),
        ASH_ENOTFOUND);
    assert_int_equal(ash_bucket_sum(f->bucket, &id, false, hex, &f->err), ASH_ENOTFOUND);
    assert_int_equal(ash_bucket_rename(f->bucket, &id, "g", NULL, &f->err), ASH_ENOTFOUND);
    assert_ok(ash_bucket_find(f->bucket, NULL, NULL, &cursor, &f->err), &f->err);
    assert_ok(ash_cursor_next(cursor, &doc, &f->err), &f->err);
    assert_null(doc.data);
    ash_cursor_free(cursor);
    assert_ok(ash_bucket_set_expiry(f->bucket, &id, 0, &f->err), &f->err);
    support_expect(f, &id, "abc", 3);
    assert_int_equal(support_count(f->files, "{\"expiresAt\": {\"$exists\": true}}"), 0);
}

static void test_bucket_care__bucket_default_ttl(void **state)
{
    fixture *f = *state;
    ash_bucket_options o = ASH_BUCKET_OPTIONS_INIT;
    ash_upload_options never = ASH_UPLOAD_OPTIONS_INIT;
    ash_bucket *b = NULL;
    support_source s = {(const uint8_t *)"x", 1, 0, 0, false};
    ash_input in = support_input(&s);
    o.default_ttl_s = 60;
    never.ttl_s = -1;
    assert_ok(ash_bucket_new(f->store, &o, &b, &f->err), &f->err);
    assert_ok(ash_bucket_upload_from_stream(b, "short", &in, NULL, NULL, &f->err), &f->err);
    s.at = 0;
    assert_ok(ash_bucket_upload_from_stream(b, "long", &in, &never, NULL, &f->err), &f->err);
    ash_bucket_free(b);
    assert_int_equal(support_count_type(f->attributes, "expires", "date"), 1);
}

/* ---- sweeping ---- */

static void sweep(fixture *f, bool dry_run, int64_t age_s, ash_sweep_report *report)
{
    ash_sweep_options o = ASH_SWEEP_OPTIONS_INIT;
    o.dry_run = dry_run;
    o.min_age_s = age_s;
    assert_ok(ash_bucket_sweep(f->bucket, &o, report, &f->err), &f->err);
}

static void test_bucket_care__sweep_finds_orphans_of_every_type(void **state)
{
    fixture *f = *state;
    ash_sweep_report report = ASH_SWEEP_REPORT_INIT;
    static const char *const ids[] = {"1",
                                      "2.5",
                                      "\"text\"",
                                      "{\"a\": 1}",
                                      "{\"$oid\": \"000000000000000000000001\"}",
                                      "true",
                                      "{\"$date\": {\"$numberLong\": \"-5\"}}",
                                      "{\"$binary\": {\"base64\": \"AAA=\", \"subType\": \"04\"}}",
                                      "null",
                                      "{\"$numberDouble\": \"NaN\"}",
                                      "{\"$minKey\": 1}",
                                      "{\"$maxKey\": 1}",
                                      "{\"$timestamp\": {\"t\": 1, \"i\": 2}}",
                                      "{\"$code\": \"x\"}"};
    uint8_t *data = support_bytes(1000, 1);
    support_put(f, "live", data, 1000, NULL);
    for (size_t i = 0; i < ASH_ARRAY_LEN(ids); i++) {
        for (int n = 0; n < 3; n++) {
            char json[300];
            snprintf(json, sizeof json,
                     "{\"_id\": {\"$oid\": \"0000000%d00000000000000%02x\"}, \"files_id\": %s, "
                     "\"n\": %d, \"data\": {\"$binary\": {\"base64\": \"AAAA\", \"subType\": "
                     "\"00\"}}}",
                     n, (unsigned)i, ids[i], n);
            support_insert(f->chunks, json);
        }
    }
    for (int run = 0; run < 2; run++) {
        sweep(f, run == 0, 0, &report);
        assert_int_equal(report.files, ASH_ARRAY_LEN(ids));
        assert_int_equal(report.chunks, 3 * ASH_ARRAY_LEN(ids));
        assert_int_equal(report.bytes, 9 * ASH_ARRAY_LEN(ids));
    }
    sweep(f, true, -1, &report);
    assert_int_equal(report.files, 0);
    support_expect_name(f, "live", -1, data, 1000);
    ash__free(data);
}

static void test_bucket_care__sweep_spares_young_and_resumable_chunks(void **state)
{
    fixture *f = *state;
    ash_sweep_report report = ASH_SWEEP_REPORT_INIT;
    ash_upload_options o = ASH_UPLOAD_OPTIONS_INIT;
    ash_upload *u = NULL;
    uint8_t *data = support_bytes(100000, 1);
    o.resumable = true;
    assert_ok(ash_bucket_open_upload_stream(f->bucket, "r", &o, &u, &f->err), &f->err);
    assert_ok(ash_upload_write(u, data, 100000, &f->err), &f->err);
    char *token = ash__strdup(ash_upload_token(u));
    ash_upload_free(u);
    support_insert(f->chunks, "{\"_id\": {\"$oid\": \"7fffffff0000000000000001\"}, \"files_id\": "
                              "1, \"n\": 0}");
    support_insert(f->chunks, "{\"_id\": {\"$oid\": \"000000010000000000000001\"}, \"files_id\": "
                              "1, \"n\": 1}");
    sweep(f, false, 0, &report);
    assert_int_equal(report.files, 0);
    sweep(f, false, -1, &report);
    assert_int_equal(report.files, 1);
    assert_ok(ash_bucket_resume_upload(f->bucket, token, &u, &f->err), &f->err);
    assert_int_equal(ash_upload_position(u), 100000);
    ash_upload_free(u);
    ash__free(token);
    ash__free(data);
}

static void test_bucket_care__sweep_takes_attributes_without_a_file(void **state)
{
    fixture *f = *state;
    ash_sweep_report report = ASH_SWEEP_REPORT_INIT;
    bson_value_t id = support_int_id(1);
    insert_foreign(f, 1, "YWJj");
    assert_ok(ash_bucket_set_expiry(f->bucket, &id, 1000000000000000, &f->err), &f->err);
    support_remove(f->files, "{}");
    support_remove(f->chunks, "{}");
    support_put(f, "f", "x", 1, NULL);
    sweep(f, true, -1, &report);
    assert_int_equal(support_count(f->attributes, "{}"), 2);
    sweep(f, false, -1, &report);
    assert_int_equal(support_count(f->attributes, "{}"), 1);
}

/* 100 uploads whose process died, and 8 that run. */
typedef struct uploader {
    fixture *f;
    int number;
    int rc;
} uploader;

static void *keep_uploading(void *arg)
{
    uploader *up = arg;
    ash_error err = ASH_ERROR_INIT;
    ash_upload_options o = ASH_UPLOAD_OPTIONS_INIT;
    o.chunk_size_bytes = 1000;
    for (int i = 0; i < 5 && up->rc == 0; i++) {
        ash_upload *u = NULL;
        uint8_t *data = support_bytes(300000, (uint32_t)(up->number * 100 + i));
        up->rc = ash_bucket_open_upload_stream(up->f->bucket, "live", &o, &u, &err);
        for (size_t at = 0; up->rc == 0 && at < 300000; at += 50000)
            up->rc = ash_upload_write(u, data + at, 50000, &err);
        if (up->rc == 0)
            up->rc = ash_upload_finish(u, NULL, &err);
        ash_upload_free(u);
        ash__free(data);
    }
    return NULL;
}

static void test_bucket_care__sweep_beside_running_uploads(void **state)
{
    fixture *f = *state;
    uploader uploaders[8];
    pthread_t threads[8];
    ash_sweep_report report = ASH_SWEEP_REPORT_INIT;
    int64_t swept = 0;
    support_put(f, "first", "x", 1, NULL);
    for (int i = 0; i < 100; i++) {
        char json[200];
        for (int n = 0; n < 4; n++) {
            snprintf(json, sizeof json,
                     "{\"_id\": {\"$oid\": \"0000%04x%016x\"}, \"files_id\": {\"$oid\": "
                     "\"%024x\"}, \"n\": %d}",
                     i, n, i, n);
            support_insert(f->chunks, json);
        }
    }
    for (int i = 0; i < 8; i++) {
        uploaders[i] = (uploader){f, i, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, keep_uploading, &uploaders[i]), 0);
    }
    for (int i = 0; i < 3; i++) {
        sweep(f, false, 3600, &report);
        swept += report.files;
    }
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(uploaders[i].rc, 0);
    }
    assert_int_equal(swept, 100);
    assert_int_equal(support_count(f->chunks, "{}"), 8 * 5 * 300 + 1);
    sweep(f, true, -1, &report);
    assert_int_equal(report.files, 0);
    for (int i = 0; i < 40; i++) {
        ash_buffer got = ASH_BUFFER_INIT;
        ash_output out = support_output(&got);
        ash_download_options o = ASH_DOWNLOAD_OPTIONS_INIT;
        o.has_revision = true;
        o.revision = i;
        o.verify = true;
        assert_ok(ash_bucket_download_to_stream_by_name(f->bucket, "live", &out, &o, &f->err),
                  &f->err);
        assert_int_equal(got.len, 300000);
        ash__buffer_release(&got);
    }
}

/* Somebody's change is under way; an age that reaches back behind 1970 spares it like any other. */
/* Whoever sweeps with an age below an upload's pauses gets its chunks, but nobody a file without
 * them: also when the upload went on storing. */
static void test_bucket_care__an_upload_that_was_swept_fails(void **state)
{
    enum { BYTES = 256 * 1024 }; /* of chunks of 16 bytes: far more than an upload holds */
    fixture *f = *state;
    ash_upload *u = NULL;
    ash_sweep_report report = ASH_SWEEP_REPORT_INIT;
    uint8_t *data = ash__alloc(BYTES);
    assert_ok(ash_bucket_open_upload_stream(f->bucket, "slow", NULL, &u, &f->err), &f->err);
    assert_ok(ash_upload_write(u, data, BYTES, &f->err), &f->err);
    ash__clock_sleep_ms(50);
    int64_t written = ash__clock_ms();
    while (report.files == 0 && ash__clock_ms() < written + 60000) {
        ash__clock_sleep_ms(20);
        sweep(f, false, 1, &report);
    }
    assert_int_equal(report.files, 1);
    assert_true(ash__clock_ms() >= written + 900);
    assert_ok(ash_upload_write(u, data, BYTES, &f->err), &f->err);
    assert_int_equal(ash_upload_finish(u, NULL, &f->err), ASH_ECHUNKMISSING);
    ash_upload_free(u);
    /* Elsewhere a failed operation is reported at once, and the next sweep cleans up. */
    ash_capabilities can = ASH_CAPABILITIES_INIT;
    assert_ok(ash_store_capabilities(f->store, &can, &f->err), &f->err);
    sweep(f, strcmp(can.backend, "embedded") == 0, -1, &report);
    if (strcmp(can.backend, "embedded") == 0)
        assert_int_equal(report.chunks, 0);
    assert_int_equal(support_count(f->chunks, "{}"), 0);
    ash__free(data);
}

static void test_bucket_care__sweep_of_the_very_old_spares_changes(void **state)
{
    enum { LONG_S = INT32_MAX };
    fixture *f = *state;
    ash_sweep_report report = ASH_SWEEP_REPORT_INIT;
    bson_oid_t mark;
    char text[25];
    bson_oid_init(&mark, NULL);
    bson_oid_to_string(&mark, text);
    char *doc = ash__sprintf("{\"_id\": 1, \"length\": 0, \"chunkSize\": 16, \"ashlar_intent\": "
                             "{\"mark\": {\"$oid\": \"%s\"}, \"makes\": true}}",
                             text);
    support_insert(f->files, doc);
    ash__free(doc);
    sweep(f, false, INT64_C(2) * LONG_S, &report);
    assert_int_equal(support_count(f->files, "{}"), 1);
    sweep(f, false, -1, &report);
    assert_int_equal(support_count(f->files, "{}"), 0);
}

int main(void)
{
#define T(name)                                                                                    \
    cmocka_unit_test_setup_teardown(test_bucket_care__##name, support_setup, support_teardown)
    const struct CMUnitTest tests[] = {
        T(sum_of_a_drivers_file_is_remembered),
        T(sum_of_an_earlier_file_is_not_used),
        T(recomputed_sum_shows_damage),
        T(missing_sums_are_bounded_and_pass_damage_over),
        T(missing_sums_of_recent_files),
        T(contents_of_trees_get_no_sums),
        T(sum_after_alter),
        T(expired_files_go_with_their_chunks),
        T(expiry_is_bounded_and_can_be_taken_back),
        T(expiry_of_an_earlier_file_spares_the_new_one),
        T(expired_files_are_not_there),
        T(bucket_default_ttl),
        T(sweep_finds_orphans_of_every_type),
        T(sweep_spares_young_and_resumable_chunks),
        T(sweep_takes_attributes_without_a_file),
        T(sweep_beside_running_uploads),
        T(an_upload_that_was_swept_fails),
        T(sweep_of_the_very_old_spares_changes),
    };
    return cmocka_run_group_tests_name("bucket care", tests, NULL, NULL);
}
