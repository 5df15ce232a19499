/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "engine/format/keys.h"

#include <dirent.h>
#include <fcntl.h>
#include <lmdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Change len bytes of a file of the store. */
static void patch(fixture *f, const char *name, off_t offset, const void *bytes, size_t len)
{
    char *path = ash__path_join(f->folder, name);
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, bytes, len, offset), len);
    close(fd);
    ash__free(path);
}

static void expect_open(fixture *f, int code, const char *text)
{
    assert_int_equal(ash__engine_open(f->folder, &f->opts, &f->engine, &f->err), code);
    assert_null(f->engine);
    if (strstr(f->err.text, text) == NULL)
        fail_msg("\"%s\" lacks \"%s\"", f->err.text, text);
}

static void test_engine_folder__later_version_is_left_alone(void **state)
{
    fixture *f = *state;
    struct stat before, after;
    uint8_t version[4];
    char *path = ash__path_join(f->folder, "meta.mdb");
    fixture_close(f);
    ash__put_le32(version, 3);
    patch(f, "ashlar.store", 8, version, 4);
    assert_int_equal(stat(path, &before), 0);
    expect_open(f, ASH_EVERSION, "has format version 3, this program knows versions up to 2");
    assert_int_equal(stat(path, &after), 0);
    assert_true(before.st_mtim.tv_sec == after.st_mtim.tv_sec &&
                before.st_mtim.tv_nsec == after.st_mtim.tv_nsec);
    ash__free(path);
    ash__put_le32(version, 1);
    patch(f, "ashlar.store", 8, version, 4);
    fixture_open(f);
}

static void test_engine_folder__damaged_superblock(void **state)
{
    fixture *f = *state;
    fixture_close(f);
    patch(f, "ashlar.store", 20, "xyz", 3);
    expect_open(f, ASH_ECORRUPT, "ashlar.store is damaged");
    patch(f, "ashlar.store", 0, "xyz", 3);
    expect_open(f, ASH_ECORRUPT, "is not an Ashlar store's superblock");
    char *path = ash__path_join(f->folder, "ashlar.store");
    assert_int_equal(truncate(path, 3), 0);
    ash__free(path);
    expect_open(f, ASH_ECORRUPT, "is not an Ashlar store's superblock");
}

/* One commit takes pages for records of 1000 bytes and gives them back. */
static void take_and_give_back(MDB_env *env, int records)
{
    MDB_txn *txn;
    MDB_dbi dbi;
    assert_int_equal(mdb_txn_begin(env, NULL, 0, &txn), 0);
    assert_int_equal(mdb_dbi_open(txn, NULL, 0, &dbi), 0);
    for (int i = 0; i < 2 * records; i++) {
        char name[16], bytes[1000] = {0};
        snprintf(name, sizeof name, "temp%06d", i < records ? i : 2 * records - 1 - i);
        MDB_val key = {strlen(name), name}, value = {sizeof bytes, bytes};
        assert_int_equal(
            i < records ? mdb_put(txn, dbi, &key, &value, 0) : mdb_del(txn, dbi, &key, NULL), 0);
    }
    assert_int_equal(mdb_txn_commit(txn), 0);
}

/* Such pages at the file's end stay unwritten; how many bytes the file is too short then. */
static int64_t shorten(const char *path)
{
    MDB_env *env;
    MDB_envinfo info;
    struct stat st;
    assert_int_equal(mdb_env_create(&env), 0);
    assert_int_equal(mdb_env_set_mapsize(env, 1 << 30), 0);
    assert_int_equal(mdb_env_open(env, path, MDB_NOSUBDIR, 0600), 0);
    for (int records = 100; records <= 500; records += 100)
        take_and_give_back(env, records);
    mdb_env_info(env, &info);
    assert_int_equal(stat(path, &st), 0);
    mdb_env_close(env);
    return ((int64_t)info.me_last_pgno + 1) * 4096 - (int64_t)st.st_size;
}

static void test_engine_folder__metadata_that_ends_in_free_pages(void **state)
{
    fixture *f = *state;
    char *path = ash__path_join(f->folder, "meta.mdb");
    fixture_close(f);
    assert_true(shorten(path) > 0);
    fixture_open(f);
    fixture_close(f);
    assert_int_equal(truncate(path, 8192), 0);
    expect_open(f, ASH_ECORRUPT, "meta.mdb was cut off");
    ash__free(path);
}

static void test_engine_folder__lost_or_wrong_metadata(void **state)
{
    fixture *f = *state;
    char *path = ash__path_join(f->folder, "meta.mdb");
    fixture_close(f);
    assert_int_equal(truncate(path, 8192), 0);
    expect_open(f, ASH_ECORRUPT, "meta.mdb was cut off");
    int fd = open(path, O_RDWR | O_TRUNC);
    assert_int_equal(write(fd, "this is not LMDB, whatever its name says", 40), 40);
    close(fd);
    expect_open(f, ASH_ECORRUPT, "meta.mdb");
    assert_int_equal(unlink(path), 0);
    expect_open(f, ASH_ECORRUPT, "has lost meta.mdb");
    ash__free(path);
}

static void test_engine_folder__other_peoples_folders(void **state)
{
    fixture *f = *state;
    char *file = ash__path_join(f->folder, "precious.txt");
    fixture_close(f);
    fixture_remove(f->folder);
    f->opts.must_exist = true;
    expect_open(f, ASH_ENOTFOUND, "there is no store in");
    f->opts.must_exist = false;
    assert_int_equal(mkdir(f->folder, 0700), 0);
    close(open(file, O_RDWR | O_CREAT, 0600));
    expect_open(f, ASH_EEXISTS, "is not a store, and it is not empty: precious.txt");
    assert_int_equal(unlink(file), 0);
    fixture_open(f);
    ash__free(file);
}

static fixture
    *maker; /* makes its store the next time that somebody looks into a folder; or NULL */

/* In the place of the system's. */
DIR *opendir(const char *name)
{
    fixture *f = maker;
    maker = NULL;
    if (f != NULL) {
        fixture_open(f);
        fixture_create(f, "c", NULL);
        fixture_close(f);
    }
    int fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd >= 0 ? fdopendir(fd) : NULL;
}

/* There was no store, and before its folder is looked into somebody else has made one. */
static void test_engine_folder__made_by_somebody_else(void **state)
{
    fixture *f = *state;
    fixture other = *f;
    fixture_close(f);
    fixture_remove(f->folder);
    other.engine = NULL;
    maker = &other;
    fixture_open(f);
    assert_null(maker);
    assert_int_equal(fixture_count(f, "c"), 0);
}

/* A folder that somebody else prepared: what its links name is not ours to write to. */
static void test_engine_folder__links_are_not_followed(void **state)
{
    static const char *const names[] = {"lock",     "reserve",       "segments",
                                        "meta.mdb", "meta.mdb-lock", "journal.new",
                                        "journal",  "ashlar.store",  "ashlar.store.new"};
    fixture *f = *state;
    struct stat st;
    fixture_close(f);
    fixture_remove(f->folder);
    char *elsewhere = ash__sprintf("%s.elsewhere", f->folder);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char *link = ash__path_join(f->folder, names[i]);
        assert_int_equal(mkdir(f->folder, 0700), 0);
        assert_int_equal(symlink(elsewhere, link), 0);
        if (strcmp(names[i], "journal.new") != 0)
            assert_int_not_equal(ash__engine_open(f->folder, &f->opts, &f->engine, &f->err), 0);
        else if (ash__engine_open(f->folder, &f->opts, &f->engine, &f->err) == 0)
            fixture_close(f);
        assert_int_equal(lstat(elsewhere, &st), -1);
        ash__free(link);
        fixture_remove(f->folder);
    }
    ash__free(elsewhere);
    fixture_open(f);
}

static void test_engine_folder__unfinished_creation_is_finished(void **state)
{
    fixture *f = *state;
    char *path = ash__path_join(f->folder, "ashlar.store");
    fixture_create(f, "c", NULL);
    fixture_close(f);
    assert_int_equal(unlink(path), 0);
    fixture_open(f);
    assert_int_equal(access(path, R_OK), 0);
    assert_int_equal(fixture_count(f, "c"), 0);
    fixture_check(f);
    ash__free(path);
}

/* LMDB does not sync the head of a new file: a power cut leaves any part of it. */
static void test_engine_folder__torn_creation_begins_again(void **state)
{
    fixture *f = *state;
    char *superblock = ash__path_join(f->folder, "ashlar.store");
    char *meta = ash__path_join(f->folder, "meta.mdb");
    fixture_close(f);
    patch(f, "meta.mdb", 0, "0123456789abcdef0123456789abcdef", 32);
    expect_open(f, ASH_ECORRUPT, "meta.mdb is damaged");
    assert_int_equal(unlink(superblock), 0);
    assert_int_equal(truncate(meta, 2 << 20), 0);
    expect_open(f, ASH_ECORRUPT, "meta.mdb is damaged");
    assert_int_equal(truncate(meta, 8192), 0);
    fixture_open(f);
    fixture_create(f, "c", NULL);
    fixture_check(f);
    ash__free(superblock);
    ash__free(meta);
}

static void test_engine_folder__one_holder(void **state)
{
    fixture *f = *state;
    ash_engine *other = NULL, *reader = NULL;
    char text[64];
    assert_int_equal(ash__engine_open(f->folder, &f->opts, &other, &f->err), ASH_EBUSY);
    snprintf(text, sizeof text, "in use by process %ld", (long)getpid());
    assert_non_null(strstr(f->err.text, text));
    f->opts.read_only = true;
    assert_int_equal(ash__engine_open(f->folder, &f->opts, &reader, &f->err), ASH_EBUSY);
    fixture_close(f);
    fixture_open(f);
    assert_int_equal(ash__engine_flush(f->engine, 0, &f->err), ASH_EREADONLY);
    assert_ok(ash__engine_open(f->folder, &f->opts, &reader, &f->err), &f->err);
    ash_snapshot *snap = NULL;
    assert_ok(ash__snapshot_open(reader, &snap, &f->err), &f->err);
    ash__snapshot_close(snap);
    ash__engine_close(reader);
    f->opts.read_only = false;
    assert_int_equal(ash__engine_open(f->folder, &f->opts, &other, &f->err), ASH_EBUSY);
}

static void test_engine_folder__missing_segment_is_reported(void **state)
{
    fixture *f = *state;
    ash_record record;
    bool found;
    fixture_create(f, "c", NULL);
    bson_t *doc = fixture_chunk(1, 1, 50000);
    assert_ok(fixture_insert(f, "c", doc, ASH_ACK_DURABLE, NULL), &f->err);
    bson_destroy(doc);
    fixture_close(f);
    char *path = ash__path_join(f->folder, "segments/00000001.seg");
    assert_int_equal(truncate(path, 8192), 0);
    fixture_open(f);
    ash_snapshot *snap = fixture_snapshot(f);
    assert_int_equal(ash__record_get(snap, fixture_coll(f, snap, "c"), 1, &record, &found, &f->err),
                     ASH_ECORRUPT);
    assert_non_null(strstr(f->err.text, "segment 00000001 was cut off"));
    ash__snapshot_close(snap);
    fixture_close(f);
    assert_int_equal(unlink(path), 0);
    fixture_open(f);
    snap = fixture_snapshot(f);
    assert_int_equal(ash__record_get(snap, fixture_coll(f, snap, "c"), 1, &record, &found, &f->err),
                     ASH_ECORRUPT);
    assert_non_null(strstr(f->err.text, "segment 00000001 is missing"));
    ash__snapshot_close(snap);
    ash__free(path);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_engine_folder__later_version_is_left_alone),
        TEST(test_engine_folder__damaged_superblock),
        TEST(test_engine_folder__metadata_that_ends_in_free_pages),
        TEST(test_engine_folder__lost_or_wrong_metadata),
        TEST(test_engine_folder__other_peoples_folders),
        TEST(test_engine_folder__made_by_somebody_else),
        TEST(test_engine_folder__links_are_not_followed),
        TEST(test_engine_folder__unfinished_creation_is_finished),
        TEST(test_engine_folder__torn_creation_begins_again),
        TEST(test_engine_folder__one_holder),
        TEST(test_engine_folder__missing_segment_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
