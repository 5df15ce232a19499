/* SPDX-License-Identifier: Apache-2.0 */
#include "journal_fixture.h"

#include "base/file.h"
#include "base/mem.h"
#include "engine/format/pages.h"
#include "engine/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a store that nobody has open takes on the disk: no more than it needs. */

enum { LARGE = 200000, LARGE_BLOCKS = 49, COUNT = 8, FILE_SLACK = 64 << 10 };

static uint64_t taken_by(const fixture *f, const char *name)
{
    struct stat st;
    char *path = ash__path_join(f->folder, name);
    uint64_t bytes = stat(path, &st) == 0 ? (uint64_t)st.st_blocks * 512 : 0;
    ash__free(path);
    return bytes;
}

static uint64_t taken_by_segments(const fixture *f)
{
    uint64_t bytes = 0;
    for (unsigned id = 1; id < 16; id++) {
        char name[32];
        snprintf(name, sizeof name, "segments/%08x.seg", id);
        bytes += taken_by(f, name);
    }
    return bytes;
}

static int setup(void **state)
{
    int result = fixture_setup(state);
    fixture_create(*state, "c", NULL);
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
    assert_ok(fixture_insert(f, "c", doc, ASH_ACK_DURABLE, NULL), &f->err);
    bson_destroy(doc);
}

static void insert_all(fixture *f, int32_t from, int32_t to)
{
    for (int32_t id = from; id < to; id++)
        insert(f, id);
}

/* Record numbers and ids are the same here. */
static void assert_holds(fixture *f, int32_t from, int32_t to)
{
    ash_record record;
    bool found;
    ash_snapshot *snap = fixture_snapshot(f);
    for (int32_t id = from; id < to; id++) {
        assert_ok(ash__record_get(snap, fixture_coll(f, snap, "c"), (uint64_t)id, &record, &found,
                                  &f->err),
                  &f->err);
        assert_true(found && fixture_chunk_is(record.doc, id, id, LARGE));
    }
    ash__snapshot_close(snap);
    fixture_check(f);
}

static uint64_t bytes_of(int records)
{
    return (uint64_t)records * LARGE_BLOCKS * ASH_BLOCK_BYTES;
}

static void test_engine_tidy__closing_leaves_what_is_needed(void **state)
{
    fixture *f = *state;
    insert_all(f, 1, 1 + COUNT);
    assert_true(taken_by_segments(f) >= bytes_of(COUNT) + (256 << 10));
    assert_true(taken_by(f, "reserve") >= 1 << 20);
    fixture_close(f);
    assert_true(taken_by_segments(f) <= bytes_of(COUNT) + FILE_SLACK);
    assert_true(taken_by(f, "reserve") <= 272 << 10);
    assert_int_equal(taken_by(f, "meta.mdb-lock"), 0);
    fixture_open(f);
    assert_true(taken_by(f, "reserve") >= 1 << 20);
    assert_true(taken_by(f, "meta.mdb-lock") >= 256 << 10);
    assert_holds(f, 1, 1 + COUNT);
    insert_all(f, 1 + COUNT, 1 + 2 * COUNT);
    fixture_reopen(f);
    assert_holds(f, 1, 1 + 2 * COUNT);
    fixture_close(f);
    assert_true(taken_by_segments(f) <= bytes_of(2 * COUNT) + FILE_SLACK);
    fixture_open(f);
}

/* What a run deletes, whether it was written by the same or by another. */
static void test_engine_tidy__deleted_blocks_are_given_back(void **state)
{
    fixture *f = *state;
    insert_all(f, 1, 1 + COUNT);
    for (uint64_t rid = 1; rid <= 2; rid++)
        assert_ok(fixture_delete(f, "c", rid), &f->err);
    fixture_close(f);
    assert_true(taken_by_segments(f) <= bytes_of(COUNT - 2) + FILE_SLACK);
    fixture_open(f);
    for (uint64_t rid = 3; rid <= 5; rid++)
        assert_ok(fixture_delete(f, "c", rid), &f->err);
    fixture_close(f);
    assert_true(taken_by_segments(f) <= bytes_of(COUNT - 5) + FILE_SLACK);
    fixture_open(f);
    assert_holds(f, 6, 1 + COUNT);
    insert(f, 1 + COUNT);
    assert_holds(f, 6, 2 + COUNT);
}

/* While the metadata is damaged, nothing is free merely because it names nothing there. */
static void test_engine_tidy__damage_keeps_everything(void **state)
{
    static const ash_damage damage = {.findings = 1, .first = "made up"};
    fixture *f = *state;
    insert_all(f, 1, 1 + COUNT);
    fixture_reopen(f);
    for (uint64_t rid = 1; rid <= 5; rid++)
        assert_ok(fixture_delete(f, "c", rid), &f->err);
    ash__soundness_note(f->engine, &damage, NULL, 0);
    uint64_t before = taken_by_segments(f);
    fixture_close(f);
    assert_int_equal(taken_by_segments(f), before);
    fixture_open(f);
}

static void test_engine_tidy__can_be_turned_off(void **state)
{
    fixture *f = *state;
    fixture_close(f);
    f->opts.tidy_ms = -1;
    fixture_open(f);
    insert_all(f, 1, 1 + COUNT);
    uint64_t before = taken_by_segments(f);
    fixture_close(f);
    assert_int_equal(taken_by_segments(f), before);
    assert_true(taken_by(f, "reserve") >= 1 << 20);
    assert_true(taken_by(f, "meta.mdb-lock") >= 256 << 10);
    fixture_open(f);
}

/* ---- the journal ---- */

static void test_engine_tidy__the_journal_is_a_hole(void **state)
{
    fixture *f = *state, after;
    journal_put_all(f, 1, 4);
    assert_true(taken_by(f, "journal") >= 64 << 10);
    for (int32_t id = 4; id < 40; id += 4) {
        fixture_close(f);
        assert_true(taken_by(f, "journal") <= 8192);
        fixture_open(f);
        assert_false(ash__engine_was_unclean(f->engine));
        assert_int_equal(f->engine->journal.ready, 8192);
        /* The first of a run is LMDB's. */
        journal_put_all(f, id, id + 4);
        assert_true(f->engine->queue.flushes >= 2);
    }
    journal_crash(f, &after);
    fixture_open(&after);
    assert_true(ash__engine_was_unclean(after.engine));
    journal_expect_up_to(&after, 39);
    journal_end_crash(&after);
}

/* More than is written ahead at once, and records across its ends. */
static void test_engine_tidy__the_journal_grows_again(void **state)
{
    fixture *f = *state, after;
    uint64_t rid;
    fixture_reopen(f);
    for (int32_t id = 1; id <= 150; id++) {
        bson_t *doc = fixture_chunk(id, id, 7000);
        assert_ok(fixture_insert(f, "c", doc, ASH_ACK_DURABLE, &rid), &f->err);
        bson_destroy(doc);
    }
    assert_true(f->engine->journal.ready >= 1 << 20);
    assert_true(f->engine->journal.at > 1 << 20);
    journal_crash(f, &after);
    fixture_open(&after);
    assert_int_equal(fixture_count(&after, "c"), 150);
    fixture_check(&after);
    journal_end_crash(&after);
}

/* The file of a version that wrote it whole. */
static void test_engine_tidy__a_whole_journal_is_given_back(void **state)
{
    static const uint8_t zeros[1 << 20];
    fixture *f = *state;
    int fd;
    fixture_close(f);
    char *path = ash__path_join(f->folder, "journal");
    assert_ok(ash__file_open(path, O_RDWR, &fd, &f->err), &f->err);
    for (off_t at = 8192; at < 8 << 20; at += (off_t)sizeof zeros)
        assert_ok(
            ash__file_write(fd, zeros,
                            at + (off_t)sizeof zeros > 8 << 20 ? sizeof zeros - 8192 : sizeof zeros,
                            at, &f->err),
            &f->err);
    ash__file_close(fd);
    ash__free(path);
    fixture_open(f);
    assert_int_equal(f->engine->journal.ready, 8 << 20);
    journal_put_all(f, 1, 4);
    fixture_close(f);
    assert_true(taken_by(f, "journal") <= 8192);
    fixture_open(f);
    journal_expect_up_to(f, 3);
}

/* ---- free pages of the metadata ---- */

enum { ROWS = 360, ROW = 2000, ROUNDS = 6, LEFT = 3 /* of a round's */ };

static int setup_rows(void **state)
{
    int result = setup(state);
    fixture_index(*state, "c", "{\"name\": \"n\", \"key\": {\"n\": 1}}");
    return result;
}

/* Many commits, and most of what they wrote is free at the end. */
static void fill_and_empty(fixture *f, int32_t first)
{
    uint64_t rids[ROWS];
    for (int32_t i = 0; i < ROWS; i++) {
        bson_t *doc = fixture_chunk(first + i, i * 7919 % ROWS, ROW);
        assert_ok(fixture_insert(f, "c", doc, ASH_ACK_APPLIED, &rids[i]), &f->err);
        bson_destroy(doc);
        if ((i + 1) % (ROWS / ROUNDS) == 0)
            assert_ok(ash__engine_flush(f->engine, 0, &f->err), &f->err);
    }
    for (int32_t i = 0; i < ROWS; i++) {
        if (i % (ROWS / ROUNDS) >= LEFT)
            assert_ok(fixture_delete(f, "c", rids[i]), &f->err);
    }
    assert_ok(ash__engine_flush(f->engine, 0, &f->err), &f->err);
}

static void assert_rows(fixture *f, size_t more)
{
    uint64_t rids[ROWS];
    ash_snapshot *snap = fixture_snapshot(f);
    const ash_index *n = fixture_find_index(fixture_coll(f, snap, "c"), "n");
    assert_int_equal(fixture_scan(f, snap, n, false, rids, ROWS), ROUNDS * LEFT + more);
    ash__snapshot_close(snap);
    fixture_check(f);
}

static uint64_t size_of_metadata(const fixture *f)
{
    struct stat st;
    char *path = ash__path_join(f->folder, "meta.mdb");
    assert_int_equal(stat(path, &st), 0);
    ash__free(path);
    return (uint64_t)st.st_size;
}

static void test_engine_tidy__free_pages_are_holes(void **state)
{
    fixture *f = *state;
    fill_and_empty(f, 1);
    uint64_t before = taken_by(f, "meta.mdb"), size = size_of_metadata(f);
    assert_true(before >= ROWS * ROW);
    fixture_close(f);
    assert_true(taken_by(f, "meta.mdb") <= before / 4);
    assert_true(size_of_metadata(f) >= size);
    fixture_open(f);
    assert_false(ash__engine_was_unclean(f->engine));
    assert_rows(f, 0);
    /* They are used again, and given back again. */
    insert_all(f, ROWS + 1, ROWS + 1 + COUNT);
    assert_true(size_of_metadata(f) <= size + (64 << 10));
    fixture_close(f);
    assert_true(taken_by(f, "meta.mdb") <= before / 4);
    fixture_open(f);
    assert_rows(f, COUNT);
}

/* The description of the newest commit is lost: the one before is there with all of its pages. */
static void forget_newest_commit(const fixture *f)
{
    uint8_t metas[2][4096];
    uint64_t last;
    int fd;
    char *path = ash__path_join(f->folder, "meta.mdb");
    assert_int_equal(ash__file_open(path, O_RDWR, &fd, NULL), 0);
    assert_int_equal(ash__file_read(fd, metas, sizeof metas, 0, NULL), 0);
    int newest = ash__pages_commit(metas[1], &last) > ash__pages_commit(metas[0], &last);
    memcpy(metas[newest], metas[!newest], sizeof metas[0]);
    ash__pages_make_former(metas[newest]);
    assert_int_equal(ash__file_write(fd, metas, sizeof metas, 0, NULL), 0);
    ash__file_close(fd);
    ash__free(path);
}

static void test_engine_tidy__the_commit_before_keeps_its_pages(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < 3; i++) {
        fill_and_empty(f, 1 + i * ROWS);
        fixture_close(f);
        forget_newest_commit(f);
        fixture_open(f);
        assert_true(ash__engine_was_unclean(f->engine));
        assert_rows(f, (size_t)i * ROUNDS * LEFT);
        fixture_reopen(f);
        assert_rows(f, (size_t)i * ROUNDS * LEFT);
    }
}

static void test_engine_tidy__pages_of_damaged_metadata_stay(void **state)
{
    static const ash_damage damage = {.findings = 1, .first = "made up"};
    fixture *f = *state;
    fill_and_empty(f, 1);
    uint64_t before = taken_by(f, "meta.mdb");
    ash__soundness_note(f->engine, &damage, NULL, 0);
    fixture_close(f);
    assert_true(taken_by(f, "meta.mdb") >= before);
    fixture_open(f);
}

/* ---- a disk that does not, and one that is full ---- */

static int no_punch(int fd, off_t offset, off_t len)
{
    (void)fd, (void)offset, (void)len;
    errno = EOPNOTSUPP;
    return -1;
}

static int no_size(int fd, off_t size)
{
    (void)fd, (void)size;
    errno = EIO;
    return -1;
}

static void test_engine_tidy__failure_is_harmless(void **state)
{
    fixture *f = *state;
    ash_io io = ash__io_system;
    insert_all(f, 1, 1 + COUNT);
    io.punch = no_punch;
    io.ftruncate = no_size;
    ash__io_set(&io);
    fixture_close(f);
    ash__io_set(NULL);
    assert_true(taken_by(f, "reserve") >= 1 << 20);
    fixture_open(f);
    assert_false(ash__engine_was_unclean(f->engine));
    assert_holds(f, 1, 1 + COUNT);
}

/* A store on a disk of its own; false: this account may not mount. */
static bool open_on_small_disk(fixture *f, fixture *small)
{
    *small = *f;
    snprintf(small->folder, sizeof small->folder, "%.40s.small", f->folder);
    assert_int_equal(mkdir(small->folder, 0700), 0);
    if (mount("ashlar-test", small->folder, "tmpfs", 0, "size=64m") != 0) {
        rmdir(small->folder);
        return false;
    }
    fixture_open(small);
    fixture_create(small, "c", NULL);
    return true;
}

static void fill_disk(const fixture *small)
{
    struct statvfs fs;
    char options[64];
    assert_int_equal(statvfs(small->folder, &fs), 0);
    snprintf(options, sizeof options, "size=%llu",
             (unsigned long long)(fs.f_blocks - fs.f_bfree) * fs.f_frsize);
    assert_int_equal(mount("ashlar-test", small->folder, "tmpfs", MS_REMOUNT, options), 0);
}

static void test_engine_tidy__a_full_disk_lets_read_and_delete(void **state)
{
    fixture *f = *state, small;
    if (!open_on_small_disk(f, &small))
        skip();
    insert_all(&small, 1, 1 + 2 * COUNT);
    fixture_close(&small);
    for (int32_t id = 1; id <= COUNT; id++) {
        fill_disk(&small);
        fixture_open(&small);
        assert_false(ash__engine_was_unclean(small.engine));
        assert_ok(fixture_delete(&small, "c", (uint64_t)id), &f->err);
        assert_ok(ash__engine_flush(small.engine, 0, &f->err), &f->err);
        assert_holds(&small, id + 1, 1 + 2 * COUNT);
        fixture_close(&small);
    }
    fixture_open(&small);
    insert(&small, 1 + 2 * COUNT);
    assert_holds(&small, 1 + COUNT, 2 + 2 * COUNT);
    fixture_close(&small);
    assert_int_equal(umount2(small.folder, MNT_DETACH), 0);
    fixture_remove(small.folder);
}

/* What deletes finds no free page that has room on the disk. */
static void test_engine_tidy__a_full_disk_lets_delete_among_holes(void **state)
{
    fixture *f = *state, small;
    if (!open_on_small_disk(f, &small))
        skip();
    fixture_index(&small, "c", "{\"name\": \"n\", \"key\": {\"n\": 1}}");
    fill_and_empty(&small, 1);
    fixture_close(&small);
    assert_true(taken_by(&small, "meta.mdb") < size_of_metadata(&small) / 2);
    for (int32_t i = 0; i < ROUNDS; i++) {
        fill_disk(&small);
        fixture_open(&small);
        for (int32_t rid = 1; rid < LEFT; rid++)
            assert_ok(fixture_delete(&small, "c", (uint64_t)(i * (ROWS / ROUNDS) + rid)), &f->err);
        assert_ok(ash__engine_flush(small.engine, 0, &f->err), &f->err);
        fixture_close(&small);
    }
    fixture_open(&small);
    assert_int_equal(fixture_count(&small, "c"), ROUNDS);
    fixture_check(&small);
    fixture_close(&small);
    assert_int_equal(umount2(small.folder, MNT_DETACH), 0);
    fixture_remove(small.folder);
}

/* ---- processes that end while they give back ---- */

static int calls_left;

static void count_down(void)
{
    if (calls_left-- == 0)
        _exit(0);
}

static int last_punch(int fd, off_t offset, off_t len)
{
    count_down();
    /* Half of it: what a power cut may leave of one that was done. */
    return calls_left > 0 ? ash__io_system.punch(fd, offset, len)
                          : ash__io_system.punch(fd, offset, len / 8192 * 4096);
}

static int last_size(int fd, off_t size)
{
    count_down();
    return ash__io_system.ftruncate(fd, size);
}

static _Noreturn void close_and_die(fixture *f, int calls)
{
    static ash_io io;
    fixture_open(f);
    fixture_create(f, "c", NULL);
    journal_put_all(f, 1, 16);
    io = ash__io_system;
    io.punch = last_punch;
    io.ftruncate = last_size;
    calls_left = calls;
    ash__io_set(&io);
    fixture_close(f);
    _exit(1);
}

static void test_engine_tidy__each_step_may_be_the_last(void **state)
{
    fixture *f = *state;
    int status, calls = -1;
    fixture_close(f);
    do {
        fixture_remove(f->folder);
        assert_int_equal(mkdir(f->folder, 0700), 0);
        calls++;
        pid_t child = fork();
        if (child == 0)
            close_and_die(f, calls);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        fixture_open(f);
        assert_false(ash__engine_was_unclean(f->engine));
        journal_expect_up_to(f, 15);
        fixture_reopen(f);
        journal_put_all(f, 16, 20);
        journal_expect_up_to(f, 19);
        fixture_close(f);
    } while (WEXITSTATUS(status) == 0);
    /* A segment, the journal, the reserve, the table of readers. */
    assert_true(calls >= 4);
    fixture_open(f);
}

#define TEST(name)      cmocka_unit_test_setup_teardown(name, setup, teardown)
#define ROWS_TEST(name) cmocka_unit_test_setup_teardown(name, setup_rows, teardown)
#define JOURNAL(name)   cmocka_unit_test_setup_teardown(name, journal_setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_engine_tidy__closing_leaves_what_is_needed),
        TEST(test_engine_tidy__deleted_blocks_are_given_back),
        TEST(test_engine_tidy__damage_keeps_everything),
        TEST(test_engine_tidy__can_be_turned_off),
        JOURNAL(test_engine_tidy__the_journal_is_a_hole),
        JOURNAL(test_engine_tidy__the_journal_grows_again),
        JOURNAL(test_engine_tidy__a_whole_journal_is_given_back),
        ROWS_TEST(test_engine_tidy__free_pages_are_holes),
        ROWS_TEST(test_engine_tidy__the_commit_before_keeps_its_pages),
        ROWS_TEST(test_engine_tidy__pages_of_damaged_metadata_stay),
        TEST(test_engine_tidy__failure_is_harmless),
        TEST(test_engine_tidy__a_full_disk_lets_read_and_delete),
        TEST(test_engine_tidy__a_full_disk_lets_delete_among_holes),
        JOURNAL(test_engine_tidy__each_step_may_be_the_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
