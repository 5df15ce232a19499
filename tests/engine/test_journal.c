/* SPDX-License-Identifier: Apache-2.0 */
#include "journal_fixture.h"

#include "base/file.h"
#include "base/mem.h"
#include "engine/backup/backup.h"
#include "engine/journal.h"
#include "engine/salvage/salvage.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static ash_engine_stats stats_of(fixture *f)
{
    ash_engine_stats stats;
    assert_ok(ash__engine_stats(f->engine, &stats, &f->err), &f->err);
    return stats;
}

static void test_engine_journal__carries_over_what_lmdb_lacks(void **state)
{
    fixture *f = *state, after;
    ash_engine_stats before = stats_of(f);
    journal_put_all(f, 1, 31);
    ash_engine_stats now = stats_of(f);
    /* Seven were large, for which the fixture opens a snapshot. */
    assert_int_equal(now.commits, before.commits + 7);
    assert_int_equal(now.flushes, before.flushes + 30);
    journal_crash(f, &after);
    fixture_open(&after);
    assert_true(ash__engine_was_unclean(after.engine));
    journal_expect_up_to(&after, 30);
    journal_put_all(&after, 31, 40);
    fixture_reopen(&after);
    assert_false(ash__engine_was_unclean(after.engine));
    journal_expect_up_to(&after, 39);
    journal_end_crash(&after);
}

static void test_engine_journal__readers_see_everything(void **state)
{
    fixture *f = *state, after;
    for (int32_t id = 1; id < 20; id++) {
        journal_put(f, id, NULL);
        assert_true(journal_has(f, id));
    }
    journal_put_all(f, 20, 26);
    journal_crash(f, &after); /* six in the journal, the others below older records */
    fixture_open(&after);
    journal_expect_up_to(&after, 25);
    journal_end_crash(&after);
    journal_expect_up_to(f, 25);
}

static void test_engine_journal__deletes_and_replacements(void **state)
{
    fixture *f = *state, after;
    uint64_t rids[12];
    for (int32_t id = 1; id < 12; id++)
        journal_put(f, id, &rids[id]);
    assert_true(journal_has(f, 1));
    for (int32_t id = 8; id < 12; id++)
        assert_ok(fixture_delete(f, "c", rids[id]), &f->err);
    bson_t *doc = fixture_chunk(7, 7, journal_size_of(7));
    assert_ok(fixture_replace(f, "c", rids[7], doc), &f->err);
    bson_destroy(doc);
    journal_put(f, 8, NULL);
    journal_crash(f, &after);
    fixture_open(&after);
    journal_expect_up_to(&after, 8);
    journal_end_crash(&after);
    journal_expect_up_to(f, 8);
}

/* Inserts, undoes one by a savepoint, then fails as a whole. */
static int undone(ash_writer *w, void *ctx, ash_error *err)
{
    const ash_coll *c;
    uint64_t rid;
    bson_t *doc = fixture_chunk(100, 100, 100);
    (void)ctx;
    int result = ash__writer_savepoint(w, err);
    if (result == 0)
        result = ash__catalog_find(ash__writer_snapshot(w), "test", "c", &c, err);
    if (result == 0)
        result = ash__record_insert(w, c, &(ash_content){.doc = ash__doc_from_bson(doc)}, &rid,
                                    NULL, err);
    if (result == 0)
        result = ash__writer_savepoint_end(w, false, err);
    if (result == 0)
        result = ash__record_insert(w, c, &(ash_content){.doc = ash__doc_from_bson(doc)}, &rid,
                                    NULL, err);
    bson_destroy(doc);
    return result == 0 ? ash__fail(err, ASH_EINVAL, "on purpose") : result;
}

static void test_engine_journal__undone_changes_are_not_in_it(void **state)
{
    fixture *f = *state, after;
    journal_put_all(f, 1, 5);
    assert_int_equal(
        ash__engine_apply(f->engine, undone, NULL,
                          &(ash_apply_terms){.ack = ASH_ACK_DURABLE, .flags = ASH_APPLY_ATOMIC},
                          &f->err),
        ASH_EINVAL);
    journal_put_all(f, 5, 8);
    journal_crash(f, &after);
    fixture_open(&after);
    journal_expect_up_to(&after, 7);
    journal_end_crash(&after);
}

static int broken(ash_writer *w, void *ctx, ash_error *err)
{
    int result = undone(w, ctx, err);
    ash_assert(result == ASH_EINVAL);
    return ash__writer_break(w, ASH_EIO, NULL);
}

/* A batch that is given up takes nothing along that was answered. */
static void test_engine_journal__answers_outlive_a_broken_batch(void **state)
{
    fixture *f = *state, after;
    journal_put_all(f, 1, 8);
    assert_int_equal(ash__engine_apply(f->engine, broken, NULL,
                                       &(ash_apply_terms){.ack = ASH_ACK_DURABLE}, &f->err),
                     ASH_EIO);
    journal_crash(f, &after);
    fixture_open(&after);
    journal_expect_up_to(&after, 7);
    journal_end_crash(&after);
    journal_put_all(f, 8, 12);
    assert_int_equal(ash__engine_apply(f->engine, broken, NULL,
                                       &(ash_apply_terms){.ack = ASH_ACK_DURABLE}, &f->err),
                     ASH_EIO);
    journal_expect_up_to(f, 11);
    assert_int_equal(ash__engine_losses(f->engine), 0);
}

/* ---- others who read a store ---- */

static void test_engine_journal__reading_only(void **state)
{
    fixture *f = *state, after;
    journal_put_all(f, 1, 7);
    journal_crash(f, &after);
    after.opts.read_only = true;
    fixture_open(&after);
    assert_int_equal(fixture_count(&after, "c"), 6);
    journal_end_crash(&after);
}

static void test_engine_journal__salvage_reads_it(void **state)
{
    fixture *f = *state, after;
    ash_salvage *s = NULL;
    ash_buffer buf = ASH_BUFFER_INIT;
    size_t colls, count;
    uint64_t rids[12];
    for (int32_t id = 1; id < 10; id++)
        journal_put(f, id, &rids[id]);
    assert_true(journal_has(f, 9)); /* the first nine are in LMDB */
    assert_ok(fixture_delete(f, "c", rids[9]), &f->err);
    fixture_create(f, "d", NULL);
    assert_ok(ash__engine_flush(f->engine, 0, &f->err), &f->err);
    journal_put(f, 10, NULL);
    journal_crash(f, &after);
    assert_ok(ash__salvage_open(after.folder, &s, &f->err), &f->err);
    const ash_salvage_coll *c = ash__salvage_colls(s, &colls);
    assert_int_equal(colls, 2);
    assert_string_equal(c[1].name, "d");
    assert_int_equal(c[0].expected, 9);
    const ash_salvage_record *r = ash__salvage_records(s, c[0].id, &count);
    assert_int_equal(count, 9);
    for (size_t i = 0; i < count; i++) {
        ash_doc doc;
        int32_t id = i < 8 ? (int32_t)i + 1 : 10;
        assert_ok(ash__salvage_read(s, &r[i], &buf, &doc, &f->err), &f->err);
        assert_true(fixture_chunk_is(doc, id, id, journal_size_of(id)));
    }
    ash__buffer_release(&buf);
    ash__salvage_close(s);
    journal_end_crash(&after);
}

static void test_engine_journal__backup_has_none(void **state)
{
    fixture *f = *state, copy = *f;
    ash_backup_options opts = {.replace = true};
    ash_backup_report report;
    journal_put_all(f, 1, 9);
    strcat(copy.folder, ".copy");
    copy.engine = NULL;
    for (int i = 0; i < 2; i++) {
        assert_ok(ash__engine_backup(f->engine, copy.folder, &opts, &report, &f->err), &f->err);
        fixture_open(&copy);
        journal_expect_up_to(&copy, 8);
        journal_put_all(&copy, 9,
                        12); /* it gets a journal of its own, which the next copy must not use */
        fixture_close(&copy);
    }
    fixture_remove(copy.folder);
}

/* What the journal freed is used again after a commit only: there is one before the store grows. */
static void test_engine_journal__much_that_was_freed_is_used_again(void **state)
{
    enum { DOCS = 5, BYTES = 8 << 20 };
    fixture *f = *state;
    uint64_t rids[DOCS];
    ash_staged *staged[4];
    for (int32_t i = 0; i < DOCS; i++) {
        bson_t *doc = fixture_chunk(i + 1, i + 1, BYTES);
        assert_ok(fixture_insert(f, "c", doc, ASH_ACK_DURABLE, &rids[i]), &f->err);
        bson_destroy(doc);
    }
    ash_engine_stats before = stats_of(f);
    for (int i = 0; i < 4; i++)
        assert_ok(fixture_delete(f, "c", rids[i]), &f->err);
    assert_int_equal(stats_of(f).commits, before.commits);
    uint8_t *bytes = ash__alloc(BYTES);
    struct iovec part = {bytes, BYTES};
    for (int i = 0; i < 4; i++) {
        assert_ok(ash__staged_write(f->engine, 1, &part, 1, &staged[i], &f->err), &f->err);
        assert_int_equal(stats_of(f).commits, before.commits + 1);
    }
    assert_int_equal(stats_of(f).segment_blocks, before.segment_blocks);
    for (int i = 0; i < 4; i++)
        ash__staged_free(f->engine, staged[i]);
    ash__free(bytes);
    fixture_check(f);
}

/* ---- failing calls ---- */

static int failing_fd = -1;

static int fail_one_sync(int fd)
{
    if (fd != failing_fd)
        return ash__io_system.fdatasync(fd);
    errno = EIO;
    return -1;
}

static void test_engine_journal__goes_on_without_it(void **state)
{
    fixture *f = *state, after;
    ash_io io = ash__io_system;
    journal_put_all(f, 1, 5);
    failing_fd = f->engine->journal.fd;
    io.fdatasync = fail_one_sync;
    ash__io_set(&io);
    ash_engine_stats before = stats_of(f);
    journal_put_all(f, 5, 9);
    ash__io_set(NULL);
    journal_put_all(f, 9, 12);
    ash_engine_stats now = stats_of(f);
    assert_int_equal(now.flushes, before.flushes);
    assert_int_equal(now.commits, before.commits + 7);
    journal_crash(f, &after);
    fixture_open(&after);
    journal_expect_up_to(&after, 11);
    journal_end_crash(&after);
    fixture_reopen(f);
    before = stats_of(f);
    journal_put_all(f, 12, 16);
    assert_true(stats_of(f).flushes > before.flushes);
    journal_expect_up_to(f, 15);
}

/* LMDB comes here first, as this is the program. */
static ino_t broken_file;

int fdatasync(int fd)
{
    struct stat st;
    if (broken_file == 0 || fstat(fd, &st) != 0 || st.st_ino != broken_file)
        return (int)syscall(SYS_fdatasync, fd);
    errno = EIO;
    return -1;
}

/* What was answered is neither lost nor invisible while LMDB cannot commit it. */
static void test_engine_journal__answers_outlive_failing_commits(void **state)
{
    fixture *f = *state, after;
    struct stat st;
    ash_snapshot *snap = NULL;
    char *path = ash__path_join(f->folder, "meta.mdb");
    assert_int_equal(stat(path, &st), 0);
    for (int32_t id = 1; id <= 5; id++)
        journal_put(f, 4 * id, NULL);
    broken_file = st.st_ino;
    for (int i = 0; i < 3; i++) {
        bson_t *doc = fixture_chunk(24, 24, journal_size_of(24));
        assert_int_equal(ash__snapshot_open(f->engine, &snap, &f->err), ASH_EIO);
        assert_null(snap);
        assert_int_equal(fixture_insert(f, "c", doc, ASH_ACK_DURABLE, NULL), ASH_EIO);
        bson_destroy(doc);
    }
    journal_crash(f, &after);
    fixture_close(f);
    broken_file = 0;
    fixture_open(&after);
    for (int32_t id = 1; id <= 5; id++)
        assert_true(journal_has(&after, 4 * id));
    assert_int_equal(fixture_count(&after, "c"), 5);
    fixture_check(&after);
    journal_end_crash(&after);
    fixture_open(f); /* closing could not commit it either */
    assert_int_equal(fixture_count(f, "c"), 5);

    journal_put(f, 24, NULL); /* directly: the first of this run */
    journal_put(f, 28, NULL);
    broken_file = st.st_ino;
    assert_int_equal(ash__snapshot_open(f->engine, &snap, &f->err), ASH_EIO);
    broken_file = 0;
    journal_put(f, 32, NULL);
    assert_true(journal_has(f, 28));
    assert_int_equal(fixture_count(f, "c"), 8);
    assert_int_equal(ash__engine_losses(f->engine), 0);
    fixture_check(f);
    ash__free(path);
}

static int put_many(ash_writer *w, void *ctx, ash_error *err)
{
    const ash_coll *c;
    int32_t *next = ctx;
    int result = ash__catalog_find(ash__writer_snapshot(w), "test", "c", &c, err);
    for (int i = 0; result == 0 && i < 600; i++) {
        uint64_t rid;
        bson_t *doc = fixture_chunk(*next, *next, 4000);
        result = ash__record_insert(w, c, &(ash_content){.doc = ash__doc_from_bson(doc)}, &rid,
                                    NULL, err);
        bson_destroy(doc);
        ++*next;
    }
    return result;
}

/* Too much for a record goes to LMDB at once; a full journal makes room by a commit. */
static void test_engine_journal__large_changes_and_a_full_journal(void **state)
{
    fixture *f = *state, after;
    int32_t next = 1000;
    ash_engine_stats before = stats_of(f);
    fixture_apply(f, put_many, &next, ASH_ACK_DURABLE, 0);
    assert_int_equal(stats_of(f).flushes, before.flushes);
    assert_int_equal(stats_of(f).commits, before.commits + 1);
    int32_t id = 10000;
    for (; stats_of(f).commits < before.commits + 2; id++) {
        bson_t *doc = fixture_chunk(id, id, 8000);
        assert_ok(fixture_insert(f, "c", doc, ASH_ACK_DURABLE, NULL), &f->err);
        bson_destroy(doc);
    }
    assert_true(stats_of(f).flushes > 500);
    for (int i = 0; i < 3; i++, id++) {
        bson_t *doc = fixture_chunk(id, id, 8000);
        assert_ok(fixture_insert(f, "c", doc, ASH_ACK_DURABLE, NULL), &f->err);
        bson_destroy(doc);
    }
    journal_crash(f, &after);
    fixture_open(&after);
    assert_int_equal(fixture_count(&after, "c"), (uint64_t)(id - 10000 + 600));
    fixture_check(&after);
    journal_end_crash(&after);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, journal_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_engine_journal__carries_over_what_lmdb_lacks),
        TEST(test_engine_journal__readers_see_everything),
        TEST(test_engine_journal__deletes_and_replacements),
        TEST(test_engine_journal__undone_changes_are_not_in_it),
        TEST(test_engine_journal__answers_outlive_a_broken_batch),
        TEST(test_engine_journal__reading_only),
        TEST(test_engine_journal__salvage_reads_it),
        TEST(test_engine_journal__backup_has_none),
        TEST(test_engine_journal__much_that_was_freed_is_used_again),
        TEST(test_engine_journal__goes_on_without_it),
        TEST(test_engine_journal__answers_outlive_failing_commits),
        TEST(test_engine_journal__large_changes_and_a_full_journal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
