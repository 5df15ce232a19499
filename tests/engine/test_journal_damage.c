/* SPDX-License-Identifier: Apache-2.0 */
#include "journal_fixture.h"

#include "base/file.h"
#include "base/mem.h"
#include "engine/journal.h"
#include "engine/salvage/salvage.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The journal of a store that was not closed, damaged: what was acknowledged must not vanish
 * without a word. */

static uint8_t *load(const fixture *f, const char *name, size_t *len)
{
    ash_error err = ASH_ERROR_INIT;
    uint8_t *data = NULL;
    char *path = ash__path_join(f->folder, name);
    assert_ok(ash__file_load(path, 1 << 30, &data, len, &err), &err);
    ash__free(path);
    return data;
}

static void store(const fixture *f, const char *name, const uint8_t *data, size_t len)
{
    ash_error err = ASH_ERROR_INIT;
    int fd;
    char *path = ash__path_join(f->folder, name);
    assert_ok(ash__file_open(path, O_WRONLY | O_CREAT | O_TRUNC, &fd, &err), &err);
    assert_ok(ash__file_write(fd, data, len, 0, &err), &err);
    ash__file_close(fd);
    ash__free(path);
}

/* Where the n-th record begins. */
static size_t record_at(const fixture *f, int n)
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
    return n == 0 ? ASH_JOURNAL_FIRST : c.at;
}

static void flip(const fixture *f, size_t at)
{
    size_t len;
    uint8_t *data = load(f, "journal", &len);
    assert_true(at < len);
    data[at] ^= 0x20;
    store(f, "journal", data, len);
    ash__free(data);
}

/* Reading and writing, again and again, and nothing in the folder changes. */
static void expect_corrupt(fixture *f, const char *text)
{
    struct stat before, after;
    size_t len, len_after;
    char *path = ash__path_join(f->folder, "journal");
    bool there = stat(path, &before) == 0;
    uint8_t *meta = load(f, "meta.mdb", &len);
    for (int i = 0; i < 4; i++) {
        ash_engine_options opts = f->opts;
        opts.read_only = i % 2 == 0;
        assert_int_equal(ash__engine_open(f->folder, &opts, &f->engine, &f->err), ASH_ECORRUPT);
        if (strstr(f->err.text, text) == NULL)
            fail_msg("\"%s\" lacks \"%s\"", f->err.text, text);
        assert_non_null(strstr(f->err.text, "check --repair"));
    }
    assert_int_equal(stat(path, &after) == 0, there);
    if (there) {
        assert_int_equal(before.st_ino, after.st_ino);
        assert_int_equal(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
    }
    uint8_t *meta_after = load(f, "meta.mdb", &len_after);
    assert_int_equal(len, len_after);
    assert_memory_equal(meta, meta_after, len);
    ash__free(meta);
    ash__free(meta_after);
    ash__free(path);
}

/* How many records of c a repair copies, and what it says of the journal. */
static size_t salvaged(const fixture *f, const char *fault)
{
    ash_error err = ASH_ERROR_INIT;
    ash_salvage *s = NULL;
    size_t colls, count;
    assert_ok(ash__salvage_open(f->folder, &s, &err), &err);
    const ash_salvage_coll *c = ash__salvage_colls(s, &colls);
    assert_int_equal(colls, 1);
    ash__salvage_records(s, c[0].id, &count);
    const char *said = ash__salvage_journal_fault(s);
    if (fault == NULL)
        assert_null(said);
    else
        assert_true(said != NULL && strstr(said, fault) != NULL);
    ash__salvage_close(s);
    return count;
}

/* ---- its records ---- */

static void test_engine_journal_damage__torn_end(void **state)
{
    fixture *f = *state, after;
    journal_put_all(f, 1, 11);
    int last = 3; /* the seventh is large: LMDB has what came before it */
    for (size_t offset = 8; offset < 200; offset += 60) {
        journal_crash(f, &after);
        flip(&after, record_at(&after, last) + (offset == 8 ? 40 : offset));
        assert_int_equal(salvaged(&after, NULL), 9);
        fixture_open(&after);
        journal_expect_up_to(&after, 9);
        journal_put_all(&after, 10, 13);
        fixture_reopen(&after);
        journal_expect_up_to(&after, 12);
        journal_end_crash(&after);
    }
}

static void test_engine_journal_damage__a_record_before_others(void **state)
{
    fixture *f = *state, after;
    for (int32_t id = 1; id <= 10; id++)
        journal_put(f, 4 * id, NULL);
    for (int lost = 0; lost < 9; lost += 4) {
        for (int at = 0; at < 100; at += 33) {
            char text[64];
            journal_crash(f, &after);
            flip(&after, record_at(&after, lost) + (size_t)at);
            snprintf(text, sizeof text,
                     lost == 0 && at == 0 ? "lost its first record"
                                          : "behind the first %d of at least %d records",
                     lost, lost + 2);
            expect_corrupt(&after, text);
            assert_int_equal(salvaged(&after, text), 9); /* all but one */
            journal_end_crash(&after);
        }
    }
}

/* What LMDB has, and what was never written, may look like anything. */
static void test_engine_journal_damage__where_nothing_is(void **state)
{
    fixture *f = *state, after;
    journal_put_all(f, 1, 7);
    size_t end = record_at(f, 2), second = record_at(f, 1);
    assert_true(journal_has(f, 1));
    journal_crash(f, &after);
    flip(&after, second + 80);
    flip(&after, ASH_JOURNAL_FIRST + 80);
    fixture_open(&after);
    journal_expect_up_to(&after, 6);
    journal_end_crash(&after);

    journal_put_all(f, 8, 9);
    journal_crash(f, &after);
    flip(&after, end + 10);
    fixture_open(&after);
    assert_int_equal(fixture_count(&after, "c"), 7);
    journal_end_crash(&after);
}

/* ---- the whole file ---- */

static void with_journal(fixture *f, size_t from, size_t len, const char *text)
{
    fixture after;
    size_t whole;
    journal_crash(f, &after);
    uint8_t *data = load(&after, "journal", &whole);
    assert_int_equal(whole, ASH_JOURNAL_BYTES);
    memset(data + from, 0, whole - from);
    store(&after, "journal", data, len);
    ash__free(data);
    expect_corrupt(&after, text);
    salvaged(&after, text);
    journal_end_crash(&after);
}

static void test_engine_journal_damage__emptied(void **state)
{
    fixture *f = *state, after;
    bson_t *doc = fixture_chunk(0, 0, 100);
    assert_ok(fixture_insert(f, "c", doc, ASH_ACK_APPLIED, NULL), &f->err);
    bson_destroy(doc);
    journal_crash(f, &after); /* a new one */
    fixture_open(&after);
    journal_expect_up_to(&after, 0);
    journal_end_crash(&after);
    with_journal(f, ASH_JOURNAL_FIRST, ASH_JOURNAL_BYTES, "lost its first record");
    journal_put_all(f, 1, 7);
    with_journal(f, ASH_JOURNAL_FIRST, ASH_JOURNAL_BYTES, "lost its first record");
    with_journal(f, 0, ASH_JOURNAL_BYTES, "damaged header");
    with_journal(f, 0, 0, "0 bytes instead of");
    with_journal(f, ASH_JOURNAL_BYTES, ASH_JOURNAL_FIRST, "4096 bytes instead of");
    with_journal(f, ASH_JOURNAL_BYTES, ASH_JOURNAL_BYTES - 512, "8388096 bytes instead of");
}

static void test_engine_journal_damage__missing_or_foreign(void **state)
{
    fixture *f = *state, after;
    size_t len;
    journal_put_all(f, 1, 5);
    journal_crash(f, &after);
    char *path = ash__path_join(after.folder, "journal");
    assert_int_equal(unlink(path), 0);
    expect_corrupt(&after, "its journal is missing");
    salvaged(&after, "its journal is missing");
    journal_end_crash(&after);

    journal_crash(f, &after);
    uint8_t *data = load(&after, "journal", &len);
    data[16] ^= 1;
    ash__put_le64(data + ASH_JOURNAL_FIRST - 8, ash__checksum(data, ASH_JOURNAL_FIRST - 8));
    store(&after, "journal", data, len);
    ash__free(data);
    expect_corrupt(&after, "of another store");
    journal_end_crash(&after);

    /* The records are good without it, but nobody knows whether they are all. */
    journal_crash(f, &after);
    flip(&after, 0);
    expect_corrupt(&after, "damaged header");
    assert_int_equal(salvaged(&after, "damaged header"), 4);
    journal_end_crash(&after);

    /* After a clean end nothing is in it: a new one does. */
    fixture_close(f);
    ash__free(path);
    path = ash__path_join(f->folder, "journal");
    assert_int_equal(unlink(path), 0);
    ash__free(path);
    assert_int_equal(salvaged(f, NULL), 4);
    fixture_open(f);
    journal_expect_up_to(f, 4);
}

/* LMDB has lost a commit that the journal builds upon. */
static void test_engine_journal_damage__newer_than_the_metadata(void **state)
{
    fixture *f = *state, before, after;
    size_t len;
    journal_put_all(f, 1, 3);
    journal_crash(f, &before);
    uint8_t *meta = load(&before, "meta.mdb", &len);
    journal_end_crash(&before);
    assert_true(journal_has(f, 1));
    journal_put_all(f, 4, 7);
    journal_crash(f, &after);
    store(&after, "meta.mdb", meta, len);
    ash__free(meta);
    expect_corrupt(&after, "newer than meta.mdb");
    journal_end_crash(&after);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, journal_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_engine_journal_damage__torn_end),
        TEST(test_engine_journal_damage__a_record_before_others),
        TEST(test_engine_journal_damage__where_nothing_is),
        TEST(test_engine_journal_damage__emptied),
        TEST(test_engine_journal_damage__missing_or_foreign),
        TEST(test_engine_journal_damage__newer_than_the_metadata),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
