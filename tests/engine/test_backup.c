/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include "base/file.h"
#include "engine/backup/backup.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Marking the copy as closed changes some pages of it. */
enum { LARGE = 60000, RECORDS = 8, SMALL = 5000, SETTLING_BYTES = 16 * 4096 };

typedef struct target {
    fixture copy; /* opened by hand: its folder is beside the store's */
    fixture *source;
    int calls;
    bool (*at_records)(struct target *t);
} target;

static void insert_large(fixture *f, int32_t id)
{
    bson_t *doc = fixture_chunk(id, 0, LARGE);
    assert_ok(fixture_insert(f, "c", doc, ASH_ACK_DURABLE, NULL), &f->err);
    bson_destroy(doc);
}

static void fill(fixture *f, target *t)
{
    memset(t, 0, sizeof *t);
    t->source = f;
    snprintf(t->copy.folder, sizeof t->copy.folder, "%.55s-copy", f->folder);
    fixture_create(f, "c", NULL);
    for (int32_t i = 1; i <= RECORDS; i++)
        insert_large(f, i);
}

static bool on_progress(void *ctx, const char *what, int64_t done, int64_t total)
{
    target *t = ctx;
    (void)total;
    if (strcmp(what, "bytes") == 0 && done == 0 && t->at_records != NULL && t->calls++ == 0)
        return t->at_records(t);
    return true;
}

static int back_up(target *t, bool verify, ash_backup_report *report)
{
    ash_backup_options opts = {.verify = verify, .progress = on_progress, .ctx = t};
    return ash__engine_backup(t->source->engine, t->copy.folder, &opts, report, &t->source->err);
}

/* The copy holds documents 1 to RECORDS, whole. */
static void check_copy(target *t)
{
    fixture *f = &t->copy;
    ash_engine_options opts = {.must_exist = true, .read_only = true};
    ash_record record;
    bool found;
    assert_ok(ash__engine_open(f->folder, &opts, &f->engine, &f->err), &f->err);
    fixture_check(f);
    ash_snapshot *snap = fixture_snapshot(f);
    for (int32_t i = 1; i <= RECORDS; i++) {
        assert_ok(ash__record_get(snap, fixture_coll(f, snap, "c"), (uint64_t)i, &record, &found,
                                  &f->err),
                  &f->err);
        assert_true(found);
        assert_true(fixture_chunk_is(record.doc, i, 0, LARGE));
    }
    ash__snapshot_close(snap);
    assert_int_equal(fixture_count(f, "c"), RECORDS);
    fixture_close(f);
}

/* After the metadata was copied and before a payload is: everything goes, and others come. */
static bool rewrite_all(target *t)
{
    for (int32_t i = 1; i <= RECORDS; i++)
        assert_ok(fixture_delete(t->source, "c", (uint64_t)i), &t->source->err);
    for (int32_t i = 1; i <= 2 * RECORDS; i++)
        insert_large(t->source, 1000 + i);
    return true;
}

static void test_engine_backup__shows_one_moment_of_a_changing_store(void **state)
{
    fixture *f = *state;
    ash_backup_report report;
    target t;
    fill(f, &t);
    t.at_records = rewrite_all;
    assert_ok(back_up(&t, true, &report), &f->err);
    assert_int_equal(report.records, RECORDS);
    assert_int_equal(report.copied_records, RECORDS);
    check_copy(&t);
    assert_int_equal(fixture_count(f, "c"), 2 * RECORDS);
    fixture_check(f);
    fixture_remove(t.copy.folder);
}

static void test_engine_backup__space_is_reused_when_it_is_over(void **state)
{
    fixture *f = *state;
    ash_backup_report report;
    ash_engine_stats before, after;
    target t;
    fill(f, &t);
    assert_ok(back_up(&t, false, &report), &f->err);
    assert_ok(ash__engine_stats(f->engine, &before, &f->err), &f->err);
    for (int32_t round = 0; round < 10; round++) {
        for (int32_t i = 1; i <= RECORDS; i++) {
            assert_ok(fixture_delete(f, "c", (uint64_t)(round * RECORDS + i)), &f->err);
            insert_large(f, i);
        }
    }
    assert_ok(ash__engine_stats(f->engine, &after, &f->err), &f->err);
    assert_int_equal(after.segment_files, before.segment_files);
    fixture_remove(t.copy.folder);
}

/* ---- again ---- */

static bool stop(target *t)
{
    (void)t;
    return false;
}

static void insert_small(fixture *f, int32_t from, int32_t count)
{
    for (int32_t i = from; i < from + count; i++) {
        bson_t *doc = fixture_chunk(i, 0, 100);
        assert_ok(fixture_insert(f, "small", doc, ASH_ACK_APPLIED, NULL), &f->err);
        bson_destroy(doc);
    }
}

static void fill_small(fixture *f, target *t)
{
    fill(f, t);
    fixture_create(f, "small", NULL);
    insert_small(f, 0, SMALL);
}

static void test_engine_backup__again_writes_only_what_changed(void **state)
{
    fixture *f = *state;
    ash_backup_report report;
    target t;
    fill_small(f, &t);
    assert_ok(back_up(&t, false, &report), &f->err);
    uint64_t all = report.meta_bytes;
    assert_true(all > 100 * 4096);
    assert_true(report.copied_meta_bytes > all / 2);
    assert_ok(back_up(&t, false, &report), &f->err);
    assert_in_range(report.copied_meta_bytes, 0, SETTLING_BYTES);
    assert_int_equal(report.copied_records, 0);
    insert_small(f, SMALL, 1);
    assert_ok(back_up(&t, false, &report), &f->err);
    assert_in_range(report.copied_meta_bytes, 1, all / 8);
    check_copy(&t);
    fixture_remove(t.copy.folder);
}

/* What the first one could not make durable may look as if it were there. */
static void test_engine_backup__after_an_interruption_all_metadata_is_written(void **state)
{
    fixture *f = *state;
    ash_backup_report report;
    target t;
    fill_small(f, &t);
    assert_ok(back_up(&t, false, &report), &f->err);
    uint64_t first = report.copied_meta_bytes;
    t.at_records = stop;
    assert_int_equal(back_up(&t, false, &report), ASH_EINTERRUPTED);
    t.at_records = NULL;
    assert_ok(back_up(&t, false, &report), &f->err);
    assert_true(report.copied_meta_bytes >= first);
    check_copy(&t);
    fixture_remove(t.copy.folder);
}

static void test_engine_backup__mends_the_metadata_of_the_copy(void **state)
{
    fixture *f = *state;
    ash_backup_report report;
    target t;
    char path[120];
    uint8_t bad[64];
    fill_small(f, &t);
    assert_ok(back_up(&t, false, &report), &f->err);
    snprintf(path, sizeof path, "%s/meta.mdb", t.copy.folder);
    memset(bad, 0xa5, sizeof bad);
    for (uint64_t page = 0; page * 4096 < report.meta_bytes; page += 7) {
        FILE *file = fopen(path, "r+b");
        assert_non_null(file);
        assert_int_equal(fseek(file, (long)(page * 4096 + 1000), SEEK_SET), 0);
        assert_int_equal(fwrite(bad, sizeof bad, 1, file), 1);
        assert_int_equal(fclose(file), 0);
    }
    assert_int_equal(truncate(path, (off_t)report.meta_bytes / 2), 0);
    assert_ok(back_up(&t, false, &report), &f->err);
    assert_true(report.copied_meta_bytes > report.meta_bytes / 3);
    assert_ok(back_up(&t, false, &report), &f->err);
    assert_in_range(report.copied_meta_bytes, 0, SETTLING_BYTES);
    check_copy(&t);
    fixture_remove(t.copy.folder);
}

/* ---- while it changes ---- */

static atomic_bool enough;

static void *keep_inserting(void *arg)
{
    fixture own = *(fixture *)arg; /* with an error of its own */
    for (int32_t i = 0; !atomic_load(&enough); i++) {
        bson_t *doc = fixture_chunk(100000 + i, 0, 100);
        assert_ok(fixture_insert(&own, "busy", doc, ASH_ACK_DURABLE, NULL), &own.err);
        bson_destroy(doc);
    }
    return NULL;
}

static void test_engine_backup__beside_commits_without_pause(void **state)
{
    fixture *f = *state;
    ash_backup_report report;
    pthread_t thread;
    target t;
    fill_small(f, &t);
    fixture_create(f, "busy", NULL);
    atomic_store(&enough, false);
    assert_int_equal(pthread_create(&thread, NULL, keep_inserting, f), 0);
    for (int i = 0; i < 20; i++) {
        assert_ok(back_up(&t, false, &report), &f->err);
        check_copy(&t);
    }
    atomic_store(&enough, true);
    pthread_join(thread, NULL);
    fixture_remove(t.copy.folder);
}

static void test_engine_backup__interrupted_one_does_not_open_until_repeated(void **state)
{
    fixture *f = *state;
    ash_backup_report report;
    ash_engine_options opts = {.must_exist = true, .read_only = true};
    ash_engine *copy = NULL;
    target t;
    fill(f, &t);
    assert_ok(back_up(&t, false, &report), &f->err);
    insert_large(f, RECORDS + 1);
    t.at_records = stop;
    assert_int_equal(back_up(&t, false, &report), ASH_EINTERRUPTED);
    assert_int_not_equal(ash__engine_open(t.copy.folder, &opts, &copy, &f->err), 0);
    assert_null(copy);
    assert_ok(fixture_delete(f, "c", RECORDS + 1), &f->err);
    t.at_records = NULL;
    assert_ok(back_up(&t, true, &report), &f->err);
    assert_int_equal(report.copied_records, 0);
    check_copy(&t);
    fixture_remove(t.copy.folder);
}

static bool back_up_again(target *t)
{
    ash_backup_report report;
    ash_error err = ASH_ERROR_INIT;
    char folder[80];
    snprintf(folder, sizeof folder, "%s-too", t->copy.folder);
    assert_int_equal(ash__engine_backup(t->source->engine, folder, NULL, &report, &err), ASH_EBUSY);
    assert_int_not_equal(access(folder, F_OK), 0);
    return true;
}

static void test_engine_backup__one_at_a_time(void **state)
{
    fixture *f = *state;
    ash_backup_report report;
    target t;
    fill(f, &t);
    t.at_records = back_up_again;
    assert_ok(back_up(&t, false, &report), &f->err);
    assert_int_equal(t.calls, 1);
    check_copy(&t);
    fixture_remove(t.copy.folder);
}

/* ---- calls that fail ---- */

static atomic_int countdown;

static bool fails(void)
{
    if (atomic_fetch_sub(&countdown, 1) != 1)
        return false;
    errno = ENOSPC;
    return true;
}

static ssize_t faulty_pwritev(int fd, const struct iovec *iov, int count, off_t offset)
{
    return fails() ? -1 : ash__io_system.pwritev(fd, iov, count, offset);
}

static int faulty_open(const char *path, int flags, mode_t mode)
{
    return fails() ? -1 : ash__io_system.open(path, flags, mode);
}

static int faulty_ftruncate(int fd, off_t size)
{
    return fails() ? -1 : ash__io_system.ftruncate(fd, size);
}

static int faulty_fdatasync(int fd)
{
    return fails() ? -1 : ash__io_system.fdatasync(fd);
}

static int faulty_fsync(int fd)
{
    return fails() ? -1 : ash__io_system.fsync(fd);
}

static int faulty_rename(const char *from, const char *to)
{
    return fails() ? -1 : ash__io_system.rename(from, to);
}

static void set_faulty(int n)
{
    static ash_io io;
    io = ash__io_system;
    io.open = faulty_open;
    io.pwritev = faulty_pwritev;
    io.ftruncate = faulty_ftruncate;
    io.fdatasync = faulty_fdatasync;
    io.fsync = faulty_fsync;
    io.rename = faulty_rename;
    atomic_store(&countdown, n);
    ash__io_set(&io);
}

/* Fail the first, second … call until the backup passes: what a failed one leaves either does not
 * open, or is the earlier copy or the new one, whole; and the store never notices. */
static void test_engine_backup__every_call_may_fail(void **state)
{
    fixture *f = *state;
    ash_backup_report report;
    target t;
    int result = 1, opened = 0, refused = 0;
    fill(f, &t);
    for (int n = 1; result != 0 || atomic_load(&countdown) <= 0; n++) {
        ash_engine_options opts = {.must_exist = true, .read_only = true};
        ash_engine *copy = NULL;
        set_faulty(n);
        result = back_up(&t, true, &report);
        ash__io_set(NULL);
        /* To the checks before and after, what cannot be read looks damaged. */
        if (result != 0 && result != ASH_ENOSPC && result != ASH_ECORRUPT)
            fail_msg("call %d: %s", n, f->err.text);
        if (ash__engine_open(t.copy.folder, &opts, &copy, &f->err) != 0) {
            refused++;
            continue;
        }
        opened++;
        ash__engine_close(copy);
        check_copy(&t);
    }
    assert_true(opened > 0);
    assert_true(refused > 10);
    check_copy(&t);
    fixture_check(f);
    fixture_remove(t.copy.folder);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_engine_backup__shows_one_moment_of_a_changing_store),
        TEST(test_engine_backup__space_is_reused_when_it_is_over),
        TEST(test_engine_backup__again_writes_only_what_changed),
        TEST(test_engine_backup__after_an_interruption_all_metadata_is_written),
        TEST(test_engine_backup__mends_the_metadata_of_the_copy),
        TEST(test_engine_backup__beside_commits_without_pause),
        TEST(test_engine_backup__interrupted_one_does_not_open_until_repeated),
        TEST(test_engine_backup__one_at_a_time),
        TEST(test_engine_backup__every_call_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
