/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include "base/clock.h"
#include "base/file.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

/* A table of I/O calls whose n-th write, sync or reservation fails. */
static atomic_int countdown;
static int fault;

static bool fails(void)
{
    if (atomic_fetch_sub(&countdown, 1) != 1)
        return false;
    errno = fault;
    return true;
}

static ssize_t faulty_pwritev(int fd, const struct iovec *iov, int count, off_t offset)
{
    return fails() ? -1 : ash__io_system.pwritev(fd, iov, count, offset);
}

static int faulty_fdatasync(int fd)
{
    return fails() ? -1 : ash__io_system.fdatasync(fd);
}

static int faulty_fsync(int fd)
{
    return fails() ? -1 : ash__io_system.fsync(fd);
}

static int faulty_fallocate(int fd, off_t offset, off_t len)
{
    return fails() ? -1 : ash__io_system.fallocate(fd, offset, len);
}

static void set_faulty(int n, int errno_value)
{
    static ash_io io;
    io = ash__io_system;
    io.pwritev = faulty_pwritev;
    io.fdatasync = faulty_fdatasync;
    io.fsync = faulty_fsync;
    io.fallocate = faulty_fallocate;
    fault = errno_value;
    atomic_store(&countdown, n);
    ash__io_set(&io);
}

static int32_t insert_some(fixture *f, int32_t *next, int *failures, int expect)
{
    int32_t stored = 0;
    for (int i = 0; i < 12; i++) {
        bson_t *doc = fixture_chunk(*next, *next, 200000);
        int result = fixture_insert(f, "c", doc, ASH_ACK_DURABLE, NULL);
        bson_destroy(doc);
        ++*next;
        stored += result == 0;
        if (result != 0) {
            assert_int_equal(result, expect);
            ++*failures;
        }
    }
    return stored;
}

/* Fail the first, second … call until none fails; nothing is lost, nothing is half there. */
static void fail_every_call(fixture *f, int errno_value, int expect)
{
    uint64_t stored = 0;
    int32_t next = 1;
    int failures = 1;
    fixture_create(f, "c", NULL);
    assert_ok(ash__engine_flush(f->engine, 0, &f->err), &f->err);
    for (int n = 1; failures > 0; n++) {
        failures = 0;
        set_faulty(n, errno_value);
        stored += (uint64_t)insert_some(f, &next, &failures, expect);
        ash__io_set(NULL);
        assert_true(failures <= 1);
        assert_int_equal(fixture_count(f, "c"), stored);
    }
    fixture_check(f);
    fixture_reopen(f);
    assert_int_equal(fixture_count(f, "c"), stored);
    fixture_check(f);
}

static void test_engine_faults__full_disk(void **state)
{
    fail_every_call(*state, ENOSPC, ASH_ENOSPC);
}

static void test_engine_faults__broken_disk(void **state)
{
    fail_every_call(*state, EIO, ASH_EIO);
}

/* Metadata that does not fit: the batch is given up, later ones work. */
static void test_engine_faults__full_map(void **state)
{
    fixture *f = *state;
    int result = 0;
    int32_t next = 1;
    fixture_close(f);
    fixture_remove(f->folder);
    f->opts.map_bytes = 512 << 10;
    fixture_open(f);
    fixture_create(f, "c", NULL);
    while (result == 0 && next < 1000) {
        bson_t *doc = fixture_chunk(next, next, 3000);
        result = fixture_insert(f, "c", doc, ASH_ACK_DURABLE, NULL);
        bson_destroy(doc);
        next += result == 0;
    }
    assert_int_equal(result, ASH_ENOSPC);
    assert_true(next > 20);
    assert_int_equal(fixture_count(f, "c"), next - 1);
    fixture_check(f);
    fixture_close(f);
    f->opts.map_bytes = 0;
    fixture_open(f);
    bson_t *doc = fixture_chunk(next, next, 3000);
    assert_ok(fixture_insert(f, "c", doc, ASH_ACK_DURABLE, NULL), &f->err);
    bson_destroy(doc);
    assert_int_equal(fixture_count(f, "c"), next);
    fixture_check(f);
}

enum { LARGE = 60000, LARGE_COUNT = 10 };

static int drop(ash_writer *w, void *ctx, ash_error *err)
{
    const ash_coll *c;
    int result = ash__catalog_find(ash__writer_snapshot(w), "test", ctx, &c, err);
    return result == 0 ? ash__catalog_drop(w, c, err) : result;
}

static int insert_staged(ash_writer *w, void *ctx, ash_error *err)
{
    const ash_coll *c;
    uint64_t rid;
    bson_t *doc = fixture_chunk(1, 1, LARGE);
    int result = ash__catalog_find(ash__writer_snapshot(w), "test", "c", &c, err);
    if (result == 0)
        result =
            ash__record_insert(w, c, &(ash_content){ash__doc_from_bson(doc), ctx}, &rid, NULL, err);
    bson_destroy(doc);
    return result;
}

static ash_staged *stage(fixture *f)
{
    ash_staged *staged = NULL;
    bson_t *doc = fixture_chunk(1, 1, LARGE);
    struct iovec part = {(void *)(uintptr_t)bson_get_data(doc), doc->len};
    ash_snapshot *snap = fixture_snapshot(f);
    uint32_t id = fixture_coll(f, snap, "c")->id;
    ash__snapshot_close(snap);
    assert_ok(ash__staged_write(f->engine, id, &part, 1, &staged, &f->err), &f->err);
    bson_destroy(doc);
    return staged;
}

static bool all_is_free(fixture *f)
{
    ash_engine_stats stats = {.used_blocks = 1};
    for (int64_t end = ash__clock_ms() + 10000; ash__clock_ms() < end; ash__clock_sleep_ms(5)) {
        assert_ok(ash__engine_stats(f->engine, &stats, &f->err), &f->err);
        if (stats.used_blocks == 0)
            return true;
    }
    return false;
}

/* What was deleted in a batch that failed is deleted later. */
static void test_engine_faults__dropped_data_goes_after_a_failed_commit(void **state)
{
    fixture *f = *state;
    char dropped[] = "dropped";
    fixture_close(f);
    f->opts.interval_ms = 60000;
    fixture_open(f);
    fixture_create(f, "c", NULL);
    fixture_create(f, dropped, NULL);
    for (int32_t i = 0; i < LARGE_COUNT; i++) {
        bson_t *doc = fixture_chunk(i, i, LARGE);
        assert_ok(fixture_insert(f, dropped, doc, ASH_ACK_APPLIED, NULL), &f->err);
        bson_destroy(doc);
    }
    ash_staged *staged = stage(f);
    fixture_apply(f, drop, dropped, ASH_ACK_DURABLE, 0);
    assert_true(all_is_free(f));
    set_faulty(1, EIO);
    fixture_apply(f, insert_staged, staged, ASH_ACK_DURABLE, ASH_EIO);
    ash__io_set(NULL);
    bson_t *doc = fixture_chunk(2, 2, 100);
    assert_ok(fixture_insert(f, "c", doc, ASH_ACK_DURABLE, NULL), &f->err);
    bson_destroy(doc);
    assert_true(all_is_free(f));
    fixture_check(f);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_engine_faults__full_disk),
        TEST(test_engine_faults__broken_disk),
        TEST(test_engine_faults__full_map),
        TEST(test_engine_faults__dropped_data_goes_after_a_failed_commit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
