/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder.h"

#include "base/clock.h"

#include <string.h>

/* A source and a destination that take their time. */
static int64_t read_slowly(void *ctx, void *buf, size_t len, ash_error *err)
{
    (void)ctx;
    (void)err;
    ash__clock_sleep_ms(5);
    memset(buf, 'x', len);
    return (int64_t)len;
}

static int write_slowly(void *ctx, const void *data, size_t len, ash_error *err)
{
    (void)ctx;
    (void)data;
    (void)len;
    (void)err;
    ash__clock_sleep_ms(5);
    return 0;
}

static void test_bucket_timeout__bounds_an_endless_upload(void **state)
{
    fixture *f = *state;
    ash_upload_options o = ASH_UPLOAD_OPTIONS_INIT;
    ash_input in = {NULL, read_slowly};
    o.timeout_ms = 60;
    int64_t before = ash__clock_ms();
    assert_int_equal(ash_bucket_upload_from_stream(f->bucket, "f", &in, &o, NULL, &f->err),
                     ASH_ETIMEOUT);
    assert_true(ash__clock_ms() - before >= 55);
    assert_int_equal(support_count(f->files, "{}"), 0);
}

static void test_bucket_timeout__bounds_a_download_to_a_slow_place(void **state)
{
    fixture *f = *state;
    bson_value_t id;
    ash_download_options o = ASH_DOWNLOAD_OPTIONS_INIT;
    ash_output out = {NULL, write_slowly};
    uint8_t *data = support_bytes(CHUNK * 1000, 1);
    support_put(f, "f", data, CHUNK * 1000, &id);
    o.timeout_ms = 60;
    assert_int_equal(ash_bucket_download_to_stream(f->bucket, &id, &out, &o, &f->err),
                     ASH_ETIMEOUT);
    ash__free(data);
    bson_value_destroy(&id);
}

/* Six calls that each come a fifth of the limit after the one before.  false: a call alone took
 * longer than the limit. */
static bool upload_slowly(fixture *f, int64_t limit_ms)
{
    ash_upload_options o = ASH_UPLOAD_OPTIONS_INIT;
    ash_upload *u = NULL;
    o.timeout_ms = limit_ms;
    int rc = ash_bucket_open_upload_stream(f->bucket, "f", &o, &u, &f->err);
    for (int i = 0; rc == 0 && i < 6; i++) {
        ash__clock_sleep_ms(limit_ms / 5);
        rc = ash_upload_write(u, "0123456789abcdef", 16, &f->err);
    }
    if (rc == 0)
        rc = ash_upload_finish(u, NULL, &f->err);
    ash_upload_free(u);
    if (rc != ASH_ETIMEOUT)
        assert_ok(rc, &f->err);
    return rc == 0;
}

/* A machine that is too busy for the limit gets a longer one; what counted from the opening on
 * would fail with each. */
static void test_bucket_timeout__of_a_stream_is_for_each_call(void **state)
{
    fixture *f = *state;
    int64_t limit_ms = 500;
    while (!upload_slowly(f, limit_ms)) {
        limit_ms *= 4;
        assert_true(limit_ms < 60000);
    }
}

static void use_everything(ash_bucket *b, ash_error *err)
{
    support_source s = {(const uint8_t *)"0123456789abcdefgh", 18, 0, 0, false};
    ash_input in = support_input(&s);
    ash_buffer got = ASH_BUFFER_INIT;
    ash_output out = support_output(&got);
    ash_upload_options o = ASH_UPLOAD_OPTIONS_INIT;
    ash_cursor *cursor = NULL;
    ash_sweep_report report = ASH_SWEEP_REPORT_INIT;
    ash_doc doc;
    bson_value_t id;
    char hex[65];
    int64_t deleted;
    bool more;
    o.resumable = true;
    o.ttl_s = 1000;
    assert_ok(ash_bucket_upload_from_stream(b, "f", &in, &o, &id, err), err);
    assert_ok(ash_bucket_download_to_stream(b, &id, &out, NULL, err), err);
    assert_ok(ash_bucket_download_to_stream_by_name(b, "f", &out, NULL, err), err);
    assert_ok(ash_bucket_find(b, NULL, NULL, &cursor, err), err);
    assert_ok(ash_cursor_next(cursor, &doc, err), err);
    ash_cursor_free(cursor);
    assert_ok(ash_bucket_rename(b, &id, "g", NULL, err), err);
    assert_ok(ash_bucket_rename_by_name(b, "g", "h", NULL, err), err);
    assert_ok(ash_bucket_sum(b, &id, true, hex, err), err);
    assert_ok(ash_bucket_set_expiry(b, &id, 1000, err), err);
    assert_ok(ash_bucket_expire(b, 10, &deleted, &more, err), err);
    assert_ok(ash_bucket_sweep(b, NULL, &report, err), err);
    assert_int_equal(ash_bucket_delete(b, &id, NULL, err), ASH_ENOTFOUND);
    assert_int_equal(ash_bucket_delete_by_name(b, "h", NULL, err), ASH_ENOTFOUND);
    assert_ok(ash_bucket_drop(b, NULL, err), err);
    ash__buffer_release(&got);
    bson_value_destroy(&id);
}

static void test_bucket_timeout__of_the_bucket_reaches_every_operation(void **state)
{
    fixture *f = *state;
    ash_bucket_options o = ASH_BUCKET_OPTIONS_INIT;
    ash_bucket *plain = NULL;
    ash_bucket *limited = NULL;
    recorder *r = recorder_new(f, &plain);
    o.timeout_ms = 60000;
    assert_ok(ash_bucket_new(ash_bucket_store(plain), &o, &limited, &f->err), &f->err);
    use_everything(limited, &f->err);
    assert_int_equal(recorder_without_deadline(r), 0);
    use_everything(plain, &f->err);
    assert_true(recorder_without_deadline(r) > 30);
    ash_bucket_free(limited);
    recorder_free(r, plain);
}

int main(void)
{
#define T(name)                                                                                    \
    cmocka_unit_test_setup_teardown(test_bucket_timeout__##name, support_setup, support_teardown)
    const struct CMUnitTest tests[] = {
        T(bounds_an_endless_upload),
        T(bounds_a_download_to_a_slow_place),
        T(of_a_stream_is_for_each_call),
        T(of_the_bucket_reaches_every_operation),
    };
    return cmocka_run_group_tests_name("bucket timeout", tests, NULL, NULL);
}
