/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "engine/backup/backup.h"
#include "engine/internal.h"

#include <ashlar/log.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>

/* Disk space that a smaller store gives back: ash__engine_trim, and closing. */

enum { LARGE = 200000, LARGE_BLOCKS = 49, COUNT = 36, KEPT = 3, SEGMENT_BYTES = 4 << 20 };

static const uint64_t large_bytes = (uint64_t)LARGE_BLOCKS * ASH_BLOCK_BYTES;

/* ---- what reaches the disk ---- */

static atomic_int punches;
static int punch_errno; /* 0: it works */
static void (*in_punch)(void *ctx);
static void *in_punch_ctx;

static int counted_punch(int fd, off_t offset, off_t len)
{
    atomic_fetch_add(&punches, 1);
    if (in_punch != NULL)
        in_punch(in_punch_ctx);
    if (punch_errno == 0)
        return ash__io_system.punch(fd, offset, len);
    errno = punch_errno;
    return -1;
}

static int no_new_file(int fd, off_t size)
{
    (void)fd, (void)size;
    errno = ENOSPC;
    return -1;
}

static void set_io(bool full_disk)
{
    static ash_io io;
    io = ash__io_system;
    io.punch = counted_punch;
    if (full_disk)
        io.ftruncate = no_new_file;
    ash__io_set(&io);
}

/* What the segment files take, also of a closed store. */
static uint64_t taken(fixture *f)
{
    uint64_t bytes = 0;
    for (unsigned id = 1; id < 32; id++) {
        struct stat st;
        char *path = ash__sprintf("%s/segments/%08x.seg", f->folder, id);
        if (stat(path, &st) == 0)
            bytes += (uint64_t)st.st_blocks * 512;
        ash__free(path);
    }
    return bytes;
}

/* ---- a store that grows and shrinks ---- */

static int setup(void **state)
{
    int result = fixture_setup(state);
    fixture *f = *state;
    fixture_close(f);
    fixture_remove(f->folder);
    f->opts.segment_bytes = SEGMENT_BYTES;
    f->opts.trim_slack_bytes = 1;
    f->opts.trim_interval_ms = 1;
    fixture_open(f);
    fixture_create(f, "c", NULL);
    atomic_store(&punches, 0);
    punch_errno = 0;
    in_punch = NULL;
    set_io(false);
    return result;
}

static int teardown(void **state)
{
    ash__io_set(NULL);
    return fixture_teardown(state);
}

static void insert(fixture *f, int32_t id)
{
    bson_t *doc = fixture_chunk(id, id, LARGE);
    assert_ok(fixture_insert(f, "c", doc, ASH_ACK_APPLIED, NULL), &f->err);
    bson_destroy(doc);
}

static void fill(fixture *f)
{
    for (int32_t i = 1; i <= COUNT; i++)
        insert(f, i);
    assert_ok(ash__engine_flush(f->engine, 0, &f->err), &f->err);
}

/* All but the first few. */
static void shrink(fixture *f)
{
    for (uint64_t rid = KEPT + 1; rid <= COUNT; rid++)
        assert_ok(fixture_delete(f, "c", rid), &f->err);
    assert_ok(ash__engine_flush(f->engine, 0, &f->err), &f->err);
    ash__snapshot_close(fixture_snapshot(f)); /* it waits for the commit */
}

static void look(fixture *f, int times)
{
    while (times-- > 0) {
        ash__clock_sleep_ms(3);
        ash__engine_trim(f->engine, NULL, NULL);
    }
}

static void assert_sees(fixture *f, ash_snapshot *snap, uint64_t count)
{
    ash_record record;
    bool found;
    const ash_coll *c = fixture_coll(f, snap, "c");
    for (uint64_t rid = 1; rid <= count; rid++) {
        assert_ok(ash__record_get(snap, c, rid, &record, &found, &f->err), &f->err);
        assert_true(found && fixture_chunk_is(record.doc, (int32_t)rid, (int32_t)rid, LARGE));
    }
}

static void assert_whole(fixture *f, uint64_t count)
{
    ash_snapshot *snap = fixture_snapshot(f);
    assert_sees(f, snap, count);
    ash__snapshot_close(snap);
    fixture_check(f);
}

static void assert_given_back(fixture *f)
{
    /* What is left over: spans of less than 1 MiB, a header a file. */
    assert_true(taken(f) <= (KEPT + 1) * large_bytes + (1 << 20));
    assert_whole(f, KEPT);
    fixture_reopen(f);
    assert_whole(f, KEPT);
    for (int32_t i = 0; i < COUNT; i++)
        insert(f, 100 + i);
    assert_whole(f, KEPT);
}

static void test_engine_trim__closing_gives_back(void **state)
{
    fixture *f = *state;
    fill(f);
    shrink(f);
    assert_true(taken(f) >= COUNT * large_bytes);
    fixture_close(f);
    assert_true(taken(f) <= KEPT * large_bytes + (1 << 20));
    fixture_open(f);
    assert_given_back(f);
}

static void test_engine_trim__a_little_is_kept(void **state)
{
    fixture *f = *state;
    fixture_close(f);
    f->opts.trim_slack_bytes = 0;
    /* What closing gives back of it all the same is test_tidy.c's. */
    f->opts.tidy_ms = -1;
    fixture_open(f);
    fill(f);
    shrink(f);
    look(f, 3);
    fixture_reopen(f);
    assert_int_equal(atomic_load(&punches), 0);
    /* Half of what is in use is. */
    fixture_close(f);
    f->opts.trim_slack_bytes = 1;
    fixture_open(f);
    uint64_t before = taken(f);
    for (int32_t i = 0; i < COUNT; i++)
        insert(f, 100 + i);
    assert_true(taken(f) <= before + SEGMENT_BYTES);
    look(f, 3);
    fixture_close(f);
    assert_int_equal(atomic_load(&punches), 0);
    fixture_open(f);
}

static void test_engine_trim__second_look_gives_back(void **state)
{
    fixture *f = *state;
    fill(f);
    look(f, 3);
    shrink(f);
    assert_int_equal(atomic_load(&punches), 0);
    look(f, 1);
    assert_int_equal(atomic_load(&punches), 0);
    look(f, 1);
    assert_true(atomic_load(&punches) > 0);
    int before = atomic_load(&punches);
    look(f, 3);
    assert_int_equal(atomic_load(&punches), before);
    assert_given_back(f);
}

static void test_engine_trim__looks_are_far_apart(void **state)
{
    fixture *f = *state;
    fixture_close(f);
    f->opts.trim_interval_ms = 3600000;
    fixture_open(f);
    fill(f);
    shrink(f);
    look(f, 5);
    assert_int_equal(atomic_load(&punches), 0);
}

static bool not_now(void *ctx)
{
    (void)ctx;
    return false;
}

static void test_engine_trim__can_be_ended(void **state)
{
    fixture *f = *state;
    fill(f);
    shrink(f);
    look(f, 1);
    ash__clock_sleep_ms(3);
    ash__engine_trim(f->engine, not_now, NULL);
    assert_int_equal(atomic_load(&punches), 0);
    look(f, 2);
    assert_given_back(f);
}

static void test_engine_trim__churn_is_left_alone(void **state)
{
    fixture *f = *state;
    uint64_t first = 1;
    fill(f);
    for (int round = 0; round < 4; round++) {
        uint64_t last = first + COUNT / 2;
        for (; first < last; first++)
            assert_ok(fixture_delete(f, "c", first), &f->err);
        ash__snapshot_close(fixture_snapshot(f));
        look(f, 1);
        for (int32_t i = 0; i < COUNT / 2; i++)
            insert(f, (int32_t)first + COUNT / 2 + i);
        look(f, 1);
    }
    /* While the store is being filled again, too. */
    for (uint64_t last = first + COUNT - KEPT; first < last; first++)
        assert_ok(fixture_delete(f, "c", first), &f->err);
    ash__snapshot_close(fixture_snapshot(f));
    for (int32_t i = 0; i < COUNT / 3; i++) {
        look(f, 1);
        insert(f, 1000 + i);
    }
    assert_int_equal(atomic_load(&punches), 0);
    fixture_check(f);
}

/* ---- what somebody may still need ---- */

static void test_engine_trim__snapshots_keep_what_they_see(void **state)
{
    fixture *f = *state;
    fill(f);
    ash_snapshot *snap = fixture_snapshot(f);
    shrink(f);
    look(f, 3);
    assert_sees(f, snap, COUNT);
    assert_int_equal(atomic_load(&punches), 0);
    ash__snapshot_close(snap);
    look(f, 2);
    assert_given_back(f);
}

static void test_engine_trim__pins_keep_what_they_hold(void **state)
{
    fixture *f = *state;
    ash_record record[COUNT + 1];
    ash_doc doc;
    bool found;
    fill(f);
    ash_pins *pins = ash__pins_new(f->engine);
    ash_snapshot *snap = fixture_snapshot(f);
    for (uint64_t rid = 1; rid <= COUNT; rid++) {
        assert_ok(
            ash__record_get(snap, fixture_coll(f, snap, "c"), rid, &record[rid], &found, &f->err),
            &f->err);
        ash__pins_add(pins, snap, &record[rid].place);
    }
    ash__snapshot_close(snap);
    shrink(f);
    look(f, 3);
    for (uint64_t rid = 1; rid <= COUNT; rid++) {
        assert_ok(ash__pins_read(pins, &record[rid].place, &doc, &f->err), &f->err);
        assert_true(fixture_chunk_is(doc, (int32_t)rid, (int32_t)rid, LARGE));
    }
    assert_int_equal(atomic_load(&punches), 0);
    ash__pins_free(pins);
    look(f, 2);
    assert_given_back(f);
}

static bool shrink_once(void *ctx, const char *what, int64_t done, int64_t total)
{
    fixture *f = ctx;
    (void)done, (void)total;
    if (strcmp(what, "bytes") == 0 && fixture_count(f, "c") == COUNT) {
        shrink(f);
        look(f, 3);
        assert_int_equal(atomic_load(&punches), 0);
    }
    return true;
}

static void test_engine_trim__backup_keeps_what_it_copies(void **state)
{
    fixture *f = *state;
    fixture copy = {.opts = f->opts};
    ash_backup_options opts = {.verify = true, .progress = shrink_once, .ctx = f};
    ash_backup_report report;
    fill(f);
    strcpy(copy.folder, f->folder);
    strcat(copy.folder, "-copy");
    assert_ok(ash__engine_backup(f->engine, copy.folder, &opts, &report, &f->err), &f->err);
    assert_int_equal(fixture_count(f, "c"), KEPT);
    fixture_open(&copy);
    assert_whole(&copy, COUNT);
    fixture_close(&copy);
    fixture_remove(copy.folder);
    look(f, 2);
    assert_given_back(f);
}

/* What is deleted, but not committed yet, is in use. */
static void test_engine_trim__uncommitted_deletions_are_kept(void **state)
{
    fixture *f = *state;
    fixture_close(f);
    f->opts.interval_ms = 3600000;
    f->opts.journal_after = 1;
    f->opts.journal_always = true;
    fixture_open(f);
    fill(f);
    insert(f, COUNT + 1);
    assert_ok(ash__engine_flush(f->engine, 0, &f->err), &f->err);
    assert_true(f->engine->journal.fd >= 0);
    for (uint64_t rid = KEPT + 1; rid <= COUNT + 1; rid++)
        assert_ok(fixture_delete(f, "c", rid), &f->err);
    look(f, 3);
    assert_int_equal(atomic_load(&punches), 0);
    ash__snapshot_close(fixture_snapshot(f));
    look(f, 2);
    assert_given_back(f);
}

/* ---- a disk that does not ---- */

static int lines;

static void count_line(void *context, ash_log_level level, const char *line)
{
    (void)context, (void)level;
    lines += strstr(line, "keeps its free space") != NULL;
}

static void test_engine_trim__failure_is_harmless(void **state)
{
    static const int errors[] = {EOPNOTSUPP, ENOSPC, EIO};
    fixture *f = *state;
    ash_log_set(count_line, NULL, ASH_LOG_INFO);
    fill(f);
    shrink(f);
    for (size_t i = 0; i < ASH_ARRAY_LEN(errors); i++) {
        lines = 0;
        atomic_store(&punches, 0);
        punch_errno = errors[i];
        look(f, 5);
        assert_int_equal(atomic_load(&punches), 1);
        assert_int_equal(lines, 1);
        insert(f, 200 + (int32_t)i);
        assert_whole(f, KEPT);
        fixture_reopen(f);
        assert_int_equal(atomic_load(&punches), 1);
        assert_int_equal(lines, 1);
        assert_whole(f, KEPT);
    }
    ash_log_set(NULL, NULL, ASH_LOG_ERROR);
    punch_errno = 0;
}

typedef struct late_writer {
    fixture *f;
    pthread_t thread;
    bool started;
    int result;
} late_writer;

static void *write_one(void *arg)
{
    late_writer *w = arg;
    ash_error err = ASH_ERROR_INIT;
    ash_staged *staged = NULL;
    static uint8_t bytes[3 << 20];
    struct iovec part = {bytes, sizeof bytes};
    w->result = ash__staged_write(w->f->engine, 1, &part, 1, &staged, &err);
    ash__staged_free(w->f->engine, staged);
    return NULL;
}

/* Nobody writes while a piece is punched, but for who needs its room. */
static void write_meanwhile(void *ctx)
{
    late_writer *w = ctx;
    if (w->started)
        return;
    w->started = true;
    assert_int_equal(ash__thread_start(&w->thread, 0, write_one, w), 0);
    ash__clock_sleep_ms(200);
}

static void test_engine_trim__writers_wait_on_a_full_disk(void **state)
{
    fixture *f = *state;
    late_writer w = {.f = f};
    for (int32_t i = 1; i <= 20; i++)
        insert(f, i);
    ash_engine_stats stats;
    assert_ok(ash__engine_stats(f->engine, &stats, &f->err), &f->err);
    assert_int_equal(stats.segment_files, 1);
    for (uint64_t rid = 2; rid <= 20; rid++)
        assert_ok(fixture_delete(f, "c", rid), &f->err);
    ash__snapshot_close(fixture_snapshot(f));
    look(f, 1);
    set_io(true);
    in_punch = write_meanwhile;
    in_punch_ctx = &w;
    look(f, 1);
    assert_true(w.started);
    pthread_join(w.thread, NULL);
    assert_int_equal(w.result, 0);
    assert_whole(f, 1);
}

static void test_engine_trim__not_for_reading_only(void **state)
{
    fixture *f = *state;
    fixture_close(f);
    f->opts.trim_slack_bytes = -1;
    fixture_open(f);
    fill(f);
    shrink(f);
    look(f, 3);
    fixture_close(f);
    f->opts.trim_slack_bytes = 1;
    f->opts.read_only = true;
    fixture_open(f);
    look(f, 3);
    fixture_close(f);
    assert_int_equal(atomic_load(&punches), 0);
    f->opts.read_only = false;
    fixture_open(f);
    assert_whole(f, KEPT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_engine_trim__closing_gives_back),
        TEST(test_engine_trim__a_little_is_kept),
        TEST(test_engine_trim__second_look_gives_back),
        TEST(test_engine_trim__looks_are_far_apart),
        TEST(test_engine_trim__can_be_ended),
        TEST(test_engine_trim__churn_is_left_alone),
        TEST(test_engine_trim__snapshots_keep_what_they_see),
        TEST(test_engine_trim__pins_keep_what_they_hold),
        TEST(test_engine_trim__backup_keeps_what_it_copies),
        TEST(test_engine_trim__uncommitted_deletions_are_kept),
        TEST(test_engine_trim__failure_is_harmless),
        TEST(test_engine_trim__writers_wait_on_a_full_disk),
        TEST(test_engine_trim__not_for_reading_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
