/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "base/clock.h"
#include "base/mem.h"
#include "faulty_store.h"
#include "scratch.h"

#include <ashlar/bucket.h>
#include <string.h>

/* Each operation of a bucket has TIMEOUT_MS; each call that it makes of its store, in turn, takes
 * DELAY_MS.  The operation must end then, and not go through with what is left of it. */

enum { TIMEOUT_MS = 120, DELAY_MS = 160, SLACK_MS = 3000, MOST_CALLS = 60, TRIES = 50 };
enum { EACH_MS = 100 }; /* the third call comes too late */

typedef struct subject {
    char *folder;
    ash_store *store, *faulty;
    ash_bucket *plain, *limited; /* limited: on the faulty store, with the timeout */
    ash_error err;
    /* What an operation's preparation made; released after it. */
    ash_upload *upload;
    ash_download *download;
    ash_alter *alter;
    ash_cursor *cursor;
    char token[64];
} subject;

static const bson_value_t one = {.value_type = BSON_TYPE_INT32, .value.v_int32 = 1};
static uint8_t bytes[40000];

static int setup(void **state)
{
    subject *s = ash__new(subject);
    ash_bucket_options o = ASH_BUCKET_OPTIONS_INIT;
    s->folder = scratch_new();
    assert_ok(ash_store_open(s->folder, NULL, &s->store, &s->err), &s->err);
    s->faulty = faulty_store_new(s->store);
    o.chunk_size_bytes = 8000;
    assert_ok(ash_bucket_new(s->store, &o, &s->plain, &s->err), &s->err);
    *state = s;
    return 0;
}

static int teardown(void **state)
{
    subject *s = *state;
    ash_bucket_free(s->plain);
    faulty_store_free(s->faulty);
    ash_store_close(s->store);
    remove_folder(s->folder);
    ash__free(s->folder);
    ash__free(s);
    return 0;
}

/* ---- the operations ---- */

typedef struct position {
    size_t at;
} position;

static int64_t read_bytes(void *ctx, void *buf, size_t len, ash_error *err)
{
    position *p = ctx;
    size_t rest = sizeof bytes - p->at, take = len < rest ? len : rest;
    (void)err;
    memcpy(buf, bytes + p->at, take);
    p->at += take;
    return (int64_t)take;
}

static int drop_bytes(void *ctx, const void *data, size_t len, ash_error *err)
{
    (void)ctx, (void)data, (void)len, (void)err;
    return 0;
}

static const ash_output nowhere = {NULL, drop_bytes};

static int upload_all(subject *s, const ash_upload_options *o)
{
    position p = {0};
    ash_input in = {&p, read_bytes};
    return ash_bucket_upload_from_stream(s->limited, "new", &in, o, NULL, &s->err);
}

static int op_upload(subject *s)
{
    return upload_all(s, NULL);
}

static int op_upload_resumable(subject *s)
{
    ash_upload_options o = ASH_UPLOAD_OPTIONS_INIT;
    o.resumable = true;
    o.ttl_s = 100;
    return upload_all(s, &o);
}

static int op_upload_conditional(subject *s)
{
    ash_upload_options o = ASH_UPLOAD_OPTIONS_INIT;
    o.condition = ASH_PUT_IF_ABSENT;
    o.replace = true;
    return upload_all(s, &o);
}

static int open_upload(subject *s)
{
    ash_upload_options o = ASH_UPLOAD_OPTIONS_INIT;
    int rc = ash_bucket_open_upload_stream(s->limited, "new", &o, &s->upload, &s->err);
    return rc == 0 ? ash_upload_write(s->upload, bytes, sizeof bytes, &s->err) : rc;
}

static int op_write(subject *s)
{
    int rc = 0; /* more than is held in memory */
    for (int i = 0; rc == 0 && i < 110; i++)
        rc = ash_upload_write(s->upload, bytes, sizeof bytes, &s->err);
    return rc;
}

static int op_finish(subject *s)
{
    return ash_upload_finish(s->upload, NULL, &s->err);
}

static int open_long_upload(subject *s)
{
    int rc = open_upload(s);
    return rc == 0 ? op_write(s) : rc;
}

static int op_abort(subject *s)
{
    return ash_upload_abort(s->upload, &s->err);
}

static int interrupted_upload(subject *s)
{
    ash_upload_options o = ASH_UPLOAD_OPTIONS_INIT;
    o.resumable = true;
    assert_ok(ash_bucket_open_upload_stream(s->plain, "new", &o, &s->upload, &s->err), &s->err);
    assert_ok(op_write(s), &s->err);
    strcpy(s->token, ash_upload_token(s->upload));
    ash_upload_free(s->upload);
    s->upload = NULL;
    return 0;
}

static int op_resume(subject *s)
{
    return ash_bucket_resume_upload(s->limited, s->token, &s->upload, &s->err);
}

static int op_open_download(subject *s)
{
    return ash_bucket_open_download_stream(s->limited, &one, NULL, &s->download, &s->err);
}

static int op_open_download_by_name(subject *s)
{
    return ash_bucket_open_download_stream_by_name(s->limited, "f", NULL, &s->download, &s->err);
}

static int open_download(subject *s)
{
    return op_open_download(s);
}

static int op_read_elsewhere(subject *s)
{
    uint8_t byte;
    size_t got;
    int rc = ash_download_seek(s->download, 39000, &s->err);
    if (rc == 0)
        rc = ash_download_seek(s->download, 10, &s->err);
    return rc == 0 ? ash_download_read(s->download, &byte, 1, &got, &s->err) : rc;
}

static int op_download(subject *s)
{
    return ash_bucket_download_to_stream(s->limited, &one, &nowhere, NULL, &s->err);
}

static int op_download_by_name(subject *s)
{
    ash_download_options o = ASH_DOWNLOAD_OPTIONS_INIT;
    o.verify = true;
    return ash_bucket_download_to_stream_by_name(s->limited, "f", &nowhere, &o, &s->err);
}

static int op_find(subject *s)
{
    ash_doc doc;
    int rc = ash_bucket_find(s->limited, NULL, NULL, &s->cursor, &s->err);
    return rc == 0 ? ash_cursor_next(s->cursor, &doc, &s->err) : rc;
}

static int op_get_file(subject *s)
{
    ash_file *f = NULL;
    int rc = ash_bucket_get_file(s->limited, &one, true, &f, &s->err);
    ash_file_free(f);
    return rc;
}

static int op_get_file_by_name(subject *s)
{
    ash_file *f = NULL;
    int rc = ash_bucket_get_file_by_name(s->limited, "f", -1, true, &f, &s->err);
    ash_file_free(f);
    return rc;
}

static int op_delete(subject *s)
{
    return ash_bucket_delete(s->limited, &one, NULL, &s->err);
}

static int op_delete_by_name(subject *s)
{
    return ash_bucket_delete_by_name(s->limited, "f", NULL, &s->err);
}

static int op_rename(subject *s)
{
    return ash_bucket_rename(s->limited, &one, "g", NULL, &s->err);
}

static int op_rename_by_name(subject *s)
{
    return ash_bucket_rename_by_name(s->limited, "f", "g", NULL, &s->err);
}

static int op_drop(subject *s)
{
    return ash_bucket_drop(s->limited, NULL, &s->err);
}

static int op_open_alter(subject *s)
{
    return ash_bucket_open_alter(s->limited, &one, NULL, &s->alter, &s->err);
}

static int open_alter(subject *s)
{
    return op_open_alter(s);
}

static int op_alter(subject *s)
{
    return ash_alter_write(s->alter, 100, bytes, 10, &s->err);
}

static int altered(subject *s)
{
    int rc = open_alter(s);
    if (rc == 0)
        rc = op_alter(s);
    return rc == 0 ? ash_alter_append(s->alter, bytes, 20000, &s->err) : rc;
}

static int op_finish_alter(subject *s)
{
    return ash_alter_finish(s->alter, NULL, &s->err);
}

static int op_truncate(subject *s)
{
    int rc = ash_alter_truncate(s->alter, 12001, &s->err);
    return rc == 0 ? ash_alter_finish(s->alter, NULL, &s->err) : rc;
}

static int op_sum(subject *s)
{
    char hex[65];
    return ash_bucket_sum(s->limited, &one, true, hex, &s->err);
}

static int forget_sums(subject *s)
{
    ash_collection *c = NULL;
    assert_ok(ash_collection_new(s->store, NULL, "fs.attributes", &c, &s->err), &s->err);
    assert_ok(ash_collection_drop(c, NULL, &s->err), &s->err);
    ash_collection_free(c);
    return 0;
}

static int op_sum_missing(subject *s)
{
    ash_sum_missing_report report = ASH_SUM_MISSING_REPORT_INIT;
    return ash_bucket_sum_missing(s->limited, NULL, &report, &s->err);
}

static int op_set_expiry(subject *s)
{
    return ash_bucket_set_expiry(s->limited, &one, 1000, &s->err);
}

static int expired(subject *s)
{
    return ash_bucket_set_expiry(s->plain, &one, 1000, &s->err);
}

static int op_expire(subject *s)
{
    int64_t deleted;
    bool more;
    return ash_bucket_expire(s->limited, 10, &deleted, &more, &s->err);
}

static int orphans(subject *s)
{
    ash_collection *c = NULL;
    assert_ok(ash_collection_new(s->store, NULL, "fs.files", &c, &s->err), &s->err);
    assert_ok(ash_collection_remove(c, NULL, NULL, NULL, &s->err), &s->err);
    ash_collection_free(c);
    return 0;
}

static int op_sweep(subject *s)
{
    ash_sweep_options o = ASH_SWEEP_OPTIONS_INIT;
    ash_sweep_report report = ASH_SWEEP_REPORT_INIT;
    o.min_age_s = -1;
    return ash_bucket_sweep(s->limited, &o, &report, &s->err);
}

static const struct {
    const char *name;
    int (*prepare)(subject *s);
    int (*run)(subject *s);
    bool is_stream; /* many calls on a stream, each with a limit of its own; or none at all */
} operations[] = {
    {"upload", NULL, op_upload},
    {"resumable upload", NULL, op_upload_resumable},
    {"conditional upload", NULL, op_upload_conditional},
    {"write", open_upload, op_write, true},
    {"finish", open_upload, op_finish},
    {"abort", open_long_upload, op_abort},
    {"resume", interrupted_upload, op_resume},
    {"open download", NULL, op_open_download},
    {"open download by name", NULL, op_open_download_by_name},
    {"read elsewhere", open_download, op_read_elsewhere, true},
    {"download", NULL, op_download},
    {"download by name", NULL, op_download_by_name},
    {"find", NULL, op_find},
    {"get file", NULL, op_get_file},
    {"get file by name", NULL, op_get_file_by_name},
    {"delete", NULL, op_delete},
    {"delete by name", NULL, op_delete_by_name},
    {"rename", NULL, op_rename},
    {"rename by name", NULL, op_rename_by_name},
    {"drop", NULL, op_drop},
    {"open alter", NULL, op_open_alter},
    {"alter", open_alter, op_alter},
    {"finish alter", altered, op_finish_alter},
    {"truncate", open_alter, op_truncate},
    {"sum", NULL, op_sum},
    {"sum missing", forget_sums, op_sum_missing},
    {"set expiry", NULL, op_set_expiry},
    {"expire", expired, op_expire},
    {"sweep", orphans, op_sweep},
};

static int calls_of[ASH_ARRAY_LEN(operations)];

static void put_file(subject *s)
{
    position p = {0};
    ash_input in = {&p, read_bytes};
    ash_bucket_options o = ASH_BUCKET_OPTIONS_INIT;
    assert_ok(ash_bucket_drop(s->plain, NULL, &s->err), &s->err);
    assert_ok(ash_bucket_upload_from_stream_with_id(s->plain, &one, "f", &in, NULL, &s->err),
              &s->err);
    o.chunk_size_bytes = 8000;
    o.timeout_ms = TIMEOUT_MS;
    assert_ok(ash_bucket_new(s->faulty, &o, &s->limited, &s->err), &s->err);
}

static void release(subject *s)
{
    ash_upload_free(s->upload);
    ash_download_free(s->download);
    ash_alter_free(s->alter);
    ash_cursor_free(s->cursor);
    s->upload = NULL;
    s->download = NULL;
    s->alter = NULL;
    s->cursor = NULL;
    ash_bucket_free(s->limited);
}

/* The limit is short, and a busy machine may need longer for what is not even late. */
static void prepare(subject *s, size_t i)
{
    for (int tries = 0;; tries++) {
        put_file(s);
        int rc = operations[i].prepare != NULL ? operations[i].prepare(s) : 0;
        if (rc == 0)
            return;
        release(s);
        if (rc != ASH_ETIMEOUT || tries == TRIES)
            fail_msg("%s: %s", operations[i].name, s->err.text);
    }
}

enum call { LATE, NOT_MADE, TOO_BUSY };

static enum call delay_call(subject *s, size_t i, int n)
{
    prepare(s, i);
    faulty_store_set(s->faulty, n, false, DELAY_MS);
    int64_t from = ash__clock_ms();
    int rc = operations[i].run(s);
    int64_t took = ash__clock_ms() - from;
    bool happened = faulty_store_happened(s->faulty);
    faulty_store_set(s->faulty, 0, false, 0);
    release(s);
    if (happened && rc != ASH_ETIMEOUT)
        fail_msg("%s, call %d was late: %d %s", operations[i].name, n, rc, s->err.text);
    assert_true(took < DELAY_MS + TIMEOUT_MS + SLACK_MS);
    if (!happened && rc != ASH_ETIMEOUT)
        assert_ok(rc, &s->err);
    return happened ? LATE : rc == 0 ? NOT_MADE : TOO_BUSY;
}

static void test_faults_deadline__bounds_every_operation(void **state)
{
    subject *s = *state;
    for (size_t i = 0; i < ASH_ARRAY_LEN(operations); i++) {
        int n = 1, busy = 0;
        for (enum call made; (made = delay_call(s, i, n)) != NOT_MADE;) {
            n += made == LATE;
            busy += made == TOO_BUSY;
            assert_true(n < MOST_CALLS && busy < TRIES);
        }
        calls_of[i] = n - 1;
        assert_true(n > 1 || operations[i].is_stream);
    }
}

/* No single call takes the time, but together they would: the limit is not one of each step. */
static void test_faults_deadline__bounds_the_whole(void **state)
{
    subject *s = *state;
    for (size_t i = 0; i < ASH_ARRAY_LEN(operations); i++) {
        prepare(s, i);
        faulty_store_slow(s->faulty, EACH_MS);
        int rc = operations[i].run(s);
        faulty_store_slow(s->faulty, 0);
        release(s);
        if (rc != ASH_ETIMEOUT && calls_of[i] > 2 && !operations[i].is_stream)
            fail_msg("%s went on: %d", operations[i].name, rc);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_faults_deadline__bounds_every_operation, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_faults_deadline__bounds_the_whole, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
