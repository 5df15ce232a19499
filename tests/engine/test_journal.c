/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include "base/file.h"
#include "base/mem.h"
#include "engine/journal.h"
#include "engine/salvage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What is durable by the journal alone: LMDB commits only when somebody reads. */

static int setup(void **state)
{
    fixture_setup(state);
    fixture *f = *state;
    fixture_close(f);
    f->opts.journal_after = 1;
    f->opts.journal_always = true;
    f->opts.interval_ms = 600000;
    fixture_open(f);
    fixture_create(f, "c", NULL);
    fixture_index(f, "c", "{\"v\":2,\"key\":{\"n\":1},\"name\":\"n_1\",\"unique\":true}");
    assert_ok(ash__engine_flush(f->engine, 0, &f->err),
              &f->err); /* from here on it has a journal */
    return 0;
}

static size_t size_of(int32_t id)
{
    return id % 4 == 3 ? 30000 : 200;
}

static void put(fixture *f, int32_t id, uint64_t *rid)
{
    bson_t *doc = fixture_chunk(id, id, size_of(id));
    assert_ok(fixture_insert(f, "c", doc, ASH_ACK_DURABLE, rid), &f->err);
    bson_destroy(doc);
}

static void put_all(fixture *f, int32_t from, int32_t to)
{
    for (int32_t id = from; id < to; id++)
        put(f, id, NULL);
}

static ash_engine_stats stats_of(fixture *f)
{
    ash_engine_stats stats;
    assert_ok(ash__engine_stats(f->engine, &stats, &f->err), &f->err);
    return stats;
}

static void copy_file(const char *from, const char *to)
{
    ash_error err = ASH_ERROR_INIT;
    uint8_t *data = NULL;
    size_t len = 0;
    int fd;
    assert_ok(ash__file_load(from, 1 << 30, &data, &len, &err), &err);
    assert_ok(ash__file_open(to, O_WRONLY | O_CREAT | O_TRUNC, &fd, &err), &err);
    assert_ok(ash__file_write(fd, data, len, 0, &err), &err);
    ash__file_close(fd);
    ash__free(data);
}

static void copy_folder(const char *from, const char *to)
{
    DIR *dir = opendir(from);
    assert_non_null(dir);
    mkdir(to, 0700);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        struct stat st;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        char *source = ash__path_join(from, entry->d_name);
        char *target = ash__path_join(to, entry->d_name);
        assert_int_equal(stat(source, &st), 0);
        if (S_ISDIR(st.st_mode))
            copy_folder(source, target);
        else
            copy_file(source, target);
        ash__free(target);
        ash__free(source);
    }
    closedir(dir);
}

/* The store as a process that ends now would leave it. */
static void crash(fixture *f, fixture *after)
{
    *after = *f;
    strcat(after->folder, ".crash");
    copy_folder(f->folder, after->folder);
    after->engine = NULL;
}

static void end_crash(fixture *after)
{
    fixture_close(after);
    fixture_remove(after->folder);
}

static bool has(fixture *f, int32_t id)
{
    ash_record record;
    ash_value_box box;
    bool found;
    ash_view *v = fixture_view(f);
    assert_ok(ash__record_find_id(v, fixture_coll(f, v, "c"), ash__box_int32(&box, id), &record,
                                  &found, &f->err),
              &f->err);
    if (found)
        assert_true(fixture_chunk_is(record.doc, id, id, size_of(id)));
    ash__snapshot_close(v);
    return found;
}

/* Exactly the ids from 1 to last are there, and everything is sound. */
static void expect_up_to(fixture *f, int32_t last)
{
    assert_int_equal(fixture_count(f, "c"), (uint64_t)last);
    for (int32_t id = 1; id <= last; id++)
        assert_true(has(f, id));
    fixture_check(f);
}

static void test_engine_journal__carries_over_what_lmdb_lacks(void **state)
{
    fixture *f = *state, after;
    ash_engine_stats before = stats_of(f);
    put_all(f, 1, 31);
    ash_engine_stats now = stats_of(f);
    /* Seven were large, for which the fixture opens a snapshot. */
    assert_int_equal(now.commits, before.commits + 7);
    assert_int_equal(now.flushes, before.flushes + 30);
    crash(f, &after);
    fixture_open(&after);
    assert_true(ash__engine_was_unclean(after.engine));
    expect_up_to(&after, 30);
    put_all(&after, 31, 40);
    fixture_reopen(&after);
    assert_false(ash__engine_was_unclean(after.engine));
    expect_up_to(&after, 39);
    end_crash(&after);
}

static void test_engine_journal__readers_see_everything(void **state)
{
    fixture *f = *state, after;
    for (int32_t id = 1; id < 20; id++) {
        put(f, id, NULL);
        assert_true(has(f, id));
    }
    put_all(f, 20, 26);
    crash(f, &after); /* six in the journal, the others below older records */
    fixture_open(&after);
    expect_up_to(&after, 25);
    end_crash(&after);
    expect_up_to(f, 25);
}

static void test_engine_journal__deletes_and_replacements(void **state)
{
    fixture *f = *state, after;
    uint64_t rids[12];
    for (int32_t id = 1; id < 12; id++)
        put(f, id, &rids[id]);
    assert_true(has(f, 1));
    for (int32_t id = 8; id < 12; id++)
        assert_ok(fixture_delete(f, "c", rids[id]), &f->err);
    bson_t *doc = fixture_chunk(7, 7, size_of(7));
    assert_ok(fixture_replace(f, "c", rids[7], doc), &f->err);
    bson_destroy(doc);
    put(f, 8, NULL);
    crash(f, &after);
    fixture_open(&after);
    expect_up_to(&after, 8);
    end_crash(&after);
    expect_up_to(f, 8);
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
        result = ash__catalog_find(ash__writer_view(w), "test", "c", &c, err);
    if (result == 0)
        result = ash__record_insert(w, c, ash__doc_from_bson(doc), NULL, &rid, NULL, err);
    if (result == 0)
        result = ash__writer_savepoint_end(w, false, err);
    if (result == 0)
        result = ash__record_insert(w, c, ash__doc_from_bson(doc), NULL, &rid, NULL, err);
    bson_destroy(doc);
    return result == 0 ? ash__fail(err, ASH_EINVAL, "on purpose") : result;
}

static void test_engine_journal__undone_changes_are_not_in_it(void **state)
{
    fixture *f = *state, after;
    put_all(f, 1, 5);
    assert_int_equal(
        ash__engine_apply(f->engine, undone, NULL, ASH_ACK_DURABLE, ASH_APPLY_ATOMIC, 0, &f->err),
        ASH_EINVAL);
    put_all(f, 5, 8);
    crash(f, &after);
    fixture_open(&after);
    expect_up_to(&after, 7);
    end_crash(&after);
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
    put_all(f, 1, 8);
    assert_int_equal(ash__engine_apply(f->engine, broken, NULL, ASH_ACK_DURABLE, 0, 0, &f->err),
                     ASH_EIO);
    crash(f, &after);
    fixture_open(&after);
    expect_up_to(&after, 7);
    end_crash(&after);
    put_all(f, 8, 12);
    assert_int_equal(ash__engine_apply(f->engine, broken, NULL, ASH_ACK_DURABLE, 0, 0, &f->err),
                     ASH_EIO);
    expect_up_to(f, 11);
    assert_int_equal(ash__engine_losses(f->engine), 0);
}

/* ---- damage ---- */

static void patch(const fixture *f, const char *name, off_t offset, const void *bytes, size_t len)
{
    char *path = ash__path_join(f->folder, name);
    int fd = open(path, O_WRONLY);
    assert_int_equal(pwrite(fd, bytes, len, offset), len);
    close(fd);
    ash__free(path);
}

/* Where the n-th record begins. */
static off_t record_at(const fixture *f, int n)
{
    ash_journal_image image;
    ash_journal_cursor c = {0};
    ash_doc changes;
    ash_error err = ASH_ERROR_INIT;
    assert_ok(ash__journal_load(f->folder, NULL, &image, &err), &err);
    assert_int_equal(image.state, ASH_JOURNAL_GOOD);
    c.generation = image.generation;
    c.base = ash__get_le64(image.bytes + ASH_JOURNAL_FIRST + 16);
    for (int i = 0; i < n; i++)
        assert_true(ash__journal_next(&image, &c, &changes));
    ash__journal_image_release(&image);
    return n == 0 ? ASH_JOURNAL_FIRST : (off_t)c.at;
}

static void test_engine_journal__torn_end_and_damaged_middle(void **state)
{
    fixture *f = *state, after;
    ash_check_report report;
    for (int32_t id = 1; id <= 10; id++)
        put(f, 4 * id, NULL);
    for (int lost = 9; lost >= 0; lost -= 3) {
        crash(f, &after);
        patch(&after, "journal", record_at(&after, lost) + 100, "damage", 6);
        fixture_open(&after);
        assert_int_equal(fixture_count(&after, "c"), (uint64_t)lost);
        assert_ok(ash__engine_check(after.engine, NULL, &report, &f->err), &f->err);
        assert_int_equal(report.findings, lost == 9 ? 0 : 1);
        put_all(&after, 100, 103);
        fixture_reopen(&after);
        assert_int_equal(fixture_count(&after, "c"), (uint64_t)lost + 3);
        fixture_check(&after);
        end_crash(&after);
    }
}

static void expect_corrupt(fixture *f, const char *text)
{
    assert_int_equal(ash__engine_open(f->folder, &f->opts, &f->engine, &f->err), ASH_ECORRUPT);
    if (strstr(f->err.text, text) == NULL)
        fail_msg("\"%s\" lacks \"%s\"", f->err.text, text);
}

static void test_engine_journal__missing_or_foreign(void **state)
{
    fixture *f = *state, after;
    put_all(f, 1, 5);
    crash(f, &after);
    char *path = ash__path_join(after.folder, "journal");
    assert_int_equal(unlink(path), 0);
    expect_corrupt(&after, "its journal is missing");
    ash__free(path);
    end_crash(&after);

    uint8_t block[ASH_JOURNAL_FIRST];
    crash(f, &after);
    path = ash__path_join(after.folder, "journal");
    int fd = open(path, O_RDWR);
    assert_int_equal(pread(fd, block, sizeof block, 0), sizeof block);
    block[16] ^= 1;
    ash__put_le64(block + sizeof block - 8, ash__checksum(block, sizeof block - 8));
    assert_int_equal(pwrite(fd, block, sizeof block, 0), sizeof block);
    close(fd);
    expect_corrupt(&after, "of another store");
    ash__free(path);
    end_crash(&after);

    /* After a clean end nothing is in it: a new one does. */
    fixture_close(f);
    path = ash__path_join(f->folder, "journal");
    assert_int_equal(unlink(path), 0);
    ash__free(path);
    fixture_open(f);
    expect_up_to(f, 4);
    put_all(f, 5, 9);
    crash(f, &after);
    patch(&after, "journal", 0, "damage", 6); /* the header is not needed for the records */
    fixture_open(&after);
    expect_up_to(&after, 8);
    end_crash(&after);
}

/* ---- others who read a store ---- */

static void test_engine_journal__reading_only(void **state)
{
    fixture *f = *state, after;
    put_all(f, 1, 7);
    crash(f, &after);
    after.opts.read_only = true;
    fixture_open(&after);
    assert_int_equal(fixture_count(&after, "c"), 6);
    end_crash(&after);
}

static void test_engine_journal__salvage_reads_it(void **state)
{
    fixture *f = *state, after;
    ash_salvage *s = NULL;
    ash_buffer buf = ASH_BUFFER_INIT;
    size_t colls, count;
    uint64_t rids[12];
    for (int32_t id = 1; id < 10; id++)
        put(f, id, &rids[id]);
    assert_true(has(f, 9)); /* the first nine are in LMDB */
    assert_ok(fixture_delete(f, "c", rids[9]), &f->err);
    fixture_create(f, "d", NULL);
    assert_ok(ash__engine_flush(f->engine, 0, &f->err), &f->err);
    put(f, 10, NULL);
    crash(f, &after);
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
        assert_true(fixture_chunk_is(doc, id, id, size_of(id)));
    }
    ash__buffer_release(&buf);
    ash__salvage_close(s);
    end_crash(&after);
}

static void test_engine_journal__backup_has_none(void **state)
{
    fixture *f = *state, copy = *f;
    ash_backup_report report;
    put_all(f, 1, 9);
    strcat(copy.folder, ".copy");
    copy.engine = NULL;
    for (int i = 0; i < 2; i++) {
        assert_ok(ash__engine_backup(f->engine, copy.folder, NULL, &report, &f->err), &f->err);
        fixture_open(&copy);
        expect_up_to(&copy, 8);
        put_all(&copy, 9, 12); /* it gets a journal of its own, which the next copy must not use */
        fixture_close(&copy);
    }
    fixture_remove(copy.folder);
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
    put_all(f, 1, 5);
    failing_fd = f->engine->journal.fd;
    io.fdatasync = fail_one_sync;
    ash__io_set(&io);
    ash_engine_stats before = stats_of(f);
    put_all(f, 5, 9);
    ash__io_set(NULL);
    put_all(f, 9, 12);
    ash_engine_stats now = stats_of(f);
    assert_int_equal(now.flushes, before.flushes);
    assert_int_equal(now.commits, before.commits + 7);
    crash(f, &after);
    fixture_open(&after);
    expect_up_to(&after, 11);
    end_crash(&after);
    fixture_reopen(f);
    before = stats_of(f);
    put_all(f, 12, 16);
    assert_true(stats_of(f).flushes > before.flushes);
    expect_up_to(f, 15);
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
    ash_view *v = NULL;
    char *path = ash__path_join(f->folder, "meta.mdb");
    assert_int_equal(stat(path, &st), 0);
    for (int32_t id = 1; id <= 5; id++)
        put(f, 4 * id, NULL);
    broken_file = st.st_ino;
    for (int i = 0; i < 3; i++) {
        bson_t *doc = fixture_chunk(24, 24, size_of(24));
        assert_int_equal(ash__snapshot_open(f->engine, &v, &f->err), ASH_EIO);
        assert_null(v);
        assert_int_equal(fixture_insert(f, "c", doc, ASH_ACK_DURABLE, NULL), ASH_EIO);
        bson_destroy(doc);
    }
    crash(f, &after);
    fixture_close(f);
    broken_file = 0;
    fixture_open(&after);
    for (int32_t id = 1; id <= 5; id++)
        assert_true(has(&after, 4 * id));
    assert_int_equal(fixture_count(&after, "c"), 5);
    fixture_check(&after);
    end_crash(&after);
    fixture_open(f); /* closing could not commit it either */
    assert_int_equal(fixture_count(f, "c"), 5);

    put(f, 24, NULL); /* directly: the first of this run */
    put(f, 28, NULL);
    broken_file = st.st_ino;
    assert_int_equal(ash__snapshot_open(f->engine, &v, &f->err), ASH_EIO);
    broken_file = 0;
    put(f, 32, NULL);
    assert_true(has(f, 28));
    assert_int_equal(fixture_count(f, "c"), 8);
    assert_int_equal(ash__engine_losses(f->engine), 0);
    fixture_check(f);
    ash__free(path);
}

static int put_many(ash_writer *w, void *ctx, ash_error *err)
{
    const ash_coll *c;
    int32_t *next = ctx;
    int result = ash__catalog_find(ash__writer_view(w), "test", "c", &c, err);
    for (int i = 0; result == 0 && i < 600; i++) {
        uint64_t rid;
        bson_t *doc = fixture_chunk(*next, *next, 4000);
        result = ash__record_insert(w, c, ash__doc_from_bson(doc), NULL, &rid, NULL, err);
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
    crash(f, &after);
    fixture_open(&after);
    assert_int_equal(fixture_count(&after, "c"), (uint64_t)(id - 10000 + 600));
    fixture_check(&after);
    end_crash(&after);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_engine_journal__carries_over_what_lmdb_lacks),
        TEST(test_engine_journal__readers_see_everything),
        TEST(test_engine_journal__deletes_and_replacements),
        TEST(test_engine_journal__undone_changes_are_not_in_it),
        TEST(test_engine_journal__answers_outlive_a_broken_batch),
        TEST(test_engine_journal__torn_end_and_damaged_middle),
        TEST(test_engine_journal__missing_or_foreign),
        TEST(test_engine_journal__reading_only),
        TEST(test_engine_journal__salvage_reads_it),
        TEST(test_engine_journal__backup_has_none),
        TEST(test_engine_journal__goes_on_without_it),
        TEST(test_engine_journal__answers_outlive_failing_commits),
        TEST(test_engine_journal__large_changes_and_a_full_journal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
