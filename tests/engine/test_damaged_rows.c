/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include "base/file.h"
#include "base/mem.h"
#include "engine/check/check.h"
#include "engine/damaged_rows.h"
#include "engine/format/judge.h"
#include "engine/format/page.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Damaged pages of the metadata cost an error, never the process; and once a census has seen them,
 * "there is none" is no answer where rows may be missing. */

/* A bit that makes another key of a record's: a byte of its number. */
enum { PAGE = 4096, DOCS = 600, MORE = 400, KEY_BYTE = ASH_PAGE_NODE + 6, KEY_BITS = 0x40 };

/* Two collections, each of several pages of records. */
static void fill(fixture *f, uint64_t rids[2][DOCS])
{
    static const char *const names[2] = {"first", "second"};
    for (int c = 0; c < 2; c++) {
        fixture_create(f, names[c], NULL);
        for (int32_t i = 0; i < DOCS; i++) {
            bson_t *doc = fixture_chunk(i, i, 100);
            assert_ok(fixture_insert(f, names[c], doc, ASH_ACK_APPLIED, &rids[c][i]), &f->err);
            bson_destroy(doc);
        }
    }
    fixture_close(f);
}

static int open_meta(const fixture *f)
{
    char *path = ash__path_join(f->folder, "meta.mdb");
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    ash__free(path);
    return fd;
}

static bool read_page(int fd, uint64_t number, uint8_t *page)
{
    return pread(fd, page, PAGE, (off_t)(number * PAGE)) == PAGE;
}

/* Where the node of a record is: on its page, and on older copies of that. */
typedef struct places {
    off_t at[8];
    size_t count;
} places;

static const uint8_t *node_on(const uint8_t *page, uint64_t number, ash_doc key)
{
    if (ash__get_le64(page) != number || ash__page_flags(page) != ASH_PAGE_LEAF)
        return NULL;
    for (uint32_t i = 0; i < ash__page_nodes(page); i++) {
        ash_doc found;
        const uint8_t *node = ash__page_node(page, i, &found);
        if (found.len == key.len && memcmp(found.data, key.data, key.len) == 0)
            return node;
    }
    return NULL;
}

static places places_of(int fd, uint32_t coll, uint64_t rid)
{
    places all = {.count = 0};
    uint8_t key[ASH_RECORD_KEY_BYTES], page[PAGE];
    ash__record_key(key, coll, rid);
    for (uint64_t number = 2; read_page(fd, number, page); number++) {
        const uint8_t *node = node_on(page, number, (ash_doc){key, sizeof key});
        if (node == NULL)
            continue;
        assert_true(all.count < ASH_ARRAY_LEN(all.at));
        all.at[all.count++] = (off_t)(number * PAGE) + (node - page);
    }
    assert_true(all.count > 0);
    return all;
}

/* Flips bits of the byte so far behind the start of each node. */
static void change(int fd, const places *all, int behind, uint8_t bits)
{
    uint8_t byte;
    for (size_t i = 0; i < all->count; i++) {
        assert_int_equal(pread(fd, &byte, 1, all->at[i] + behind), 1);
        byte ^= bits;
        assert_int_equal(pwrite(fd, &byte, 1, all->at[i] + behind), 1);
    }
}

static int get(fixture *f, const char *coll, uint64_t rid, bool *found)
{
    ash_record record;
    ash_snapshot *snap = fixture_snapshot(f);
    int result = ash__record_get(snap, fixture_coll(f, snap, coll), rid, &record, found, &f->err);
    ash__snapshot_close(snap);
    return result;
}

/* Result of a scan of all; *count is how many it gave. */
static int scan(fixture *f, const char *coll, bool backward, int *count)
{
    ash_scan_hit hit;
    bool found = true;
    int result = 0;
    ash_snapshot *snap = fixture_snapshot(f);
    ash_scan *s = ash__scan_records(snap, fixture_coll(f, snap, coll), backward, 0);
    *count = -1;
    while (result == 0 && found) {
        ++*count;
        result = ash__scan_next(s, &hit, &found, &f->err);
    }
    ash__scan_free(s);
    ash__snapshot_close(snap);
    return result;
}

static uint32_t id_of(fixture *f, const char *coll)
{
    ash_snapshot *snap = fixture_snapshot(f);
    uint32_t id = fixture_coll(f, snap, coll)->id;
    ash__snapshot_close(snap);
    return id;
}

/* The key of a record that is in the middle of the first collection's becomes another. */
static int damage(fixture *f, uint64_t rids[2][DOCS], places *all)
{
    fill(f, rids);
    fixture_open(f);
    uint32_t id = id_of(f, "first");
    fixture_close(f);
    int fd = open_meta(f);
    *all = places_of(fd, id, rids[0][DOCS / 2]);
    change(fd, all, KEY_BYTE, KEY_BITS);
    return fd;
}

static void expect_told(fixture *f, uint64_t rids[2][DOCS])
{
    bool found;
    int count;
    assert_int_equal(get(f, "first", rids[0][DOCS / 2], &found), ASH_ECORRUPT);
    assert_int_equal(scan(f, "first", false, &count), ASH_ECORRUPT);
    assert_true(count < DOCS);
    assert_int_equal(scan(f, "first", true, &count), ASH_ECORRUPT);
    /* What lies elsewhere is there, and what is not there is not. */
    assert_ok(get(f, "first", rids[0][0], &found), &f->err);
    assert_true(found);
    assert_ok(scan(f, "second", false, &count), &f->err);
    assert_int_equal(count, DOCS);
    assert_ok(get(f, "second", rids[1][DOCS - 1] + 1000, &found), &f->err);
    assert_false(found);
}

static void test_engine_damaged_rows__absence_is_an_error_where_rows_may_be_missed(void **state)
{
    fixture *f = *state;
    uint64_t rids[2][DOCS];
    places all;
    ash_check_report report;
    int fd = damage(f, rids, &all), count;
    f->opts.read_only = true;
    fixture_open(f);
    assert_ok(ash__engine_check(f->engine, NULL, &report, &f->err), &f->err);
    assert_true(report.findings > 0);
    expect_told(f, rids);
    /* Who opens the store next knows it without a check … */
    fixture_reopen(f);
    expect_told(f, rids);
    fixture_close(f);
    /* … until one has found it sound. */
    change(fd, &all, KEY_BYTE, KEY_BITS);
    close(fd);
    fixture_open(f);
    assert_ok(ash__engine_check(f->engine, NULL, &report, &f->err), &f->err);
    assert_int_equal(report.findings, 0);
    assert_ok(scan(f, "first", false, &count), &f->err);
    assert_int_equal(count, DOCS);
    fixture_reopen(f);
    assert_ok(scan(f, "first", true, &count), &f->err);
    assert_int_equal(count, DOCS);
}

/* One that stands under another key, in order with those beside it, is missed by who asks for it,
 * and met by who scans: there it costs only itself. */
static void test_engine_damaged_rows__a_record_with_another_key(void **state)
{
    fixture *f = *state;
    uint64_t rids[2][DOCS];
    ash_check_report report;
    bool found;
    int count, at = DOCS / 2;
    fill(f, rids);
    at += rids[0][at] % 2;
    fixture_open(f);
    assert_ok(fixture_delete(f, "first", rids[0][at + 1]), &f->err);
    uint32_t id = id_of(f, "first");
    fixture_close(f);
    int fd = open_meta(f);
    places all = places_of(fd, id, rids[0][at]);
    change(fd, &all, ASH_PAGE_NODE + ASH_RECORD_KEY_BYTES - 1, 1);
    close(fd);
    f->opts.read_only = true;
    fixture_open(f);
    assert_ok(ash__engine_check(f->engine, NULL, &report, &f->err), &f->err);
    assert_true(report.findings > 0);
    for (int again = 0; again < 2; again++) {
        assert_int_equal(get(f, "first", rids[0][at], &found), ASH_ECORRUPT);
        assert_ok(get(f, "first", rids[0][0] + 1000000, &found), &f->err);
        assert_false(found);
        assert_ok(scan(f, "first", false, &count), &f->err);
        assert_int_equal(count, DOCS - 1);
        fixture_reopen(f);
    }
}

static void insert_more(fixture *f, const char *coll)
{
    uint64_t rid;
    for (int32_t i = 0; i < MORE; i++) {
        bson_t *doc = fixture_chunk(DOCS + i, DOCS + i, 100);
        assert_ok(fixture_insert(f, coll, doc, ASH_ACK_APPLIED, &rid), &f->err);
        bson_destroy(doc);
    }
}

/* The branch whose keys lead to the middle of the collection's records, on each of its copies. */
static places branches_of(int fd, uint32_t coll, uint64_t rid)
{
    places all = {.count = 0};
    uint8_t page[PAGE];
    for (uint64_t number = 2; read_page(fd, number, page); number++) {
        if (ash__get_le64(page) != number || ash__page_flags(page) != ASH_PAGE_BRANCH)
            continue;
        for (uint32_t i = 1; i < ash__page_nodes(page); i++) {
            ash_doc key;
            const uint8_t *node = ash__page_node(page, i, &key);
            if (key.len != ASH_RECORD_KEY_BYTES || ash__get_be32(key.data) != coll ||
                ash__get_be64(key.data + 4) < rid)
                continue;
            assert_true(all.count < ASH_ARRAY_LEN(all.at));
            all.at[all.count++] = (off_t)(number * PAGE) + (node - page);
            break;
        }
    }
    assert_true(all.count > 0);
    return all;
}

/* The record before another one, by a scan that begins there. */
static int find_before(fixture *f, const char *coll, uint64_t rid, uint64_t *before)
{
    ash_scan_hit hit = {0};
    bool found = false;
    ash_snapshot *snap = fixture_snapshot(f);
    ash_scan *s = ash__scan_records(snap, fixture_coll(f, snap, coll), true, rid);
    int result = ash__scan_next(s, &hit, &found, &f->err);
    *before = found ? hit.rid : 0;
    ash__scan_free(s);
    ash__snapshot_close(snap);
    return result;
}

/* How many of the second collection's records cannot be found from the one behind; none is missed.
 */
static int search_all(fixture *f, uint64_t rids[2][DOCS])
{
    uint64_t before;
    int refused = 0;
    for (int i = 1; i < DOCS; i++) {
        int result = find_before(f, "second", rids[1][i], &before);
        refused += result == ASH_ECORRUPT;
        assert_true(result == ASH_ECORRUPT || (result == 0 && before == rids[1][i - 1]));
    }
    return refused;
}

/* A search among a branch's keys out of order comes to stand anywhere, in another collection too:
 * that is no place to say from what lies before a key. */
static void test_engine_damaged_rows__a_branch_out_of_order(void **state)
{
    enum { STEP = 20, COLL_BYTE = ASH_PAGE_NODE + 3 };
    fixture *f = *state;
    uint64_t rids[2][DOCS];
    ash_check_report report;
    int refused = 0;
    fill(f, rids);
    fixture_open(f);
    uint32_t id = id_of(f, "first");
    insert_more(f, "first"); /* so that the middle of the branch is there */
    fixture_close(f);
    int fd = open_meta(f);
    f->opts.read_only = true;
    for (uint64_t rid = rids[0][0]; rid < rids[0][DOCS - 1] + MORE; rid += STEP) {
        places all = branches_of(fd, id, rid);
        change(fd, &all, COLL_BYTE, KEY_BITS);
        fixture_open(f);
        assert_ok(ash__engine_check(f->engine, NULL, &report, &f->err), &f->err);
        assert_true(report.findings > 0);
        refused += search_all(f, rids);
        fixture_close(f);
        change(fd, &all, COLL_BYTE, KEY_BITS);
    }
    close(fd);
    assert_true(refused > 0);
    fixture_open(f);
    assert_ok(ash__engine_check(f->engine, NULL, &report, &f->err), &f->err);
    assert_int_equal(search_all(f, rids), 0);
}

/* A note that cannot be read says that anything may be missing or old, until a check finds no more.
 */
static void test_engine_damaged_rows__a_damaged_note(void **state)
{
    fixture *f = *state;
    uint64_t rids[2][DOCS];
    places all;
    bool found;
    int count;
    ash_check_report report;
    int meta = damage(f, rids, &all);
    f->opts.read_only = true;
    fixture_open(f);
    assert_ok(ash__engine_check(f->engine, NULL, &report, &f->err), &f->err);
    fixture_close(f);
    char *path = ash__path_join(f->folder, "damage");
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    change(fd, &(places){{40}, 1}, 0, 1);
    close(fd);
    ash__free(path);
    fixture_open(f);
    ash_snapshot *snap = fixture_snapshot(f);
    const ash_coll *c;
    assert_int_equal(ash__catalog_find(snap, "test", "second", &c, &f->err), ASH_ECORRUPT);
    ash__snapshot_close(snap);
    change(meta, &all, KEY_BYTE, KEY_BITS);
    close(meta);
    assert_ok(ash__engine_check(f->engine, NULL, &report, &f->err), &f->err);
    assert_ok(get(f, "second", rids[1][DOCS - 1], &found), &f->err);
    assert_true(found);
    assert_ok(scan(f, "first", false, &count), &f->err);
    assert_int_equal(count, DOCS);
}

/* What has the file's name and is none: nobody waits for it, and every row may be missed, until a
 * check has looked. */
static void test_engine_damaged_rows__no_regular_file(void **state)
{
    fixture *f = *state;
    uint64_t rids[2][DOCS];
    ash_check_report report;
    const ash_coll *c;
    char *path = ash__path_join(f->folder, "damage");
    for (int large = 0; large < 2; large++) {
        if (!large)
            fill(f, rids);
        int made = large ? creat(path, 0600) : mkfifo(path, 0600);
        assert_true(made >= 0);
        if (large)
            assert_int_equal(ftruncate(made, (off_t)1 << 30) + close(made), 0);
        f->opts.read_only = true;
        fixture_open(f);
        ash_snapshot *snap = fixture_snapshot(f);
        assert_int_equal(ash__catalog_find(snap, "test", "nothing", &c, &f->err), ASH_ECORRUPT);
        ash__snapshot_close(snap);
        fixture_close(f);
        f->opts.read_only = false;
        fixture_open(f);
        assert_ok(ash__engine_check(f->engine, NULL, &report, &f->err), &f->err);
        assert_int_equal(access(path, F_OK), -1);
        fixture_close(f);
    }
    fixture_open(f);
    ash__free(path);
}

/* A length that leads out of the file: reading it, and writing beside it, ends with an error. */
static void test_engine_damaged_rows__a_row_beyond_the_file(void **state)
{
    fixture *f = *state;
    uint64_t rids[2][DOCS];
    places all;
    bool found;
    fill(f, rids);
    fixture_open(f);
    uint32_t id = id_of(f, "first");
    fixture_close(f);
    int fd = open_meta(f);
    all = places_of(fd, id, rids[0][DOCS / 2]);
    change(fd, &all, 2, 0xF0); /* the length's high half */
    change(fd, &all, 3, 0x07);
    close(fd);
    f->opts.read_only = false;
    fixture_open(f);
    assert_int_equal(get(f, "first", rids[0][DOCS / 2], &found), ASH_ECORRUPT);
    assert_int_equal(fixture_delete(f, "first", rids[0][DOCS / 2 + 1]), ASH_ECORRUPT);
    ash_damage damage;
    assert_true(ash__engine_damage(f->engine, &damage) && damage.structure);
    assert_ok(get(f, "second", rids[1][0], &found), &f->err);
    assert_true(found);
}

/* All was found whole before the first change; what is damaged since is met on the way to a row,
 * before LMDB moves anything by it. */
static void test_engine_damaged_rows__damage_while_the_store_is_open(void **state)
{
    fixture *f = *state;
    uint64_t rids[2][DOCS];
    ash_damage damage;
    int count;
    fill(f, rids);
    fixture_open(f);
    uint32_t id = id_of(f, "first");
    assert_ok(fixture_delete(f, "second", rids[1][0]), &f->err);
    assert_ok(ash__engine_flush(f->engine, 0, &f->err), &f->err);
    int fd = open_meta(f);
    places all = places_of(fd, id, rids[0][DOCS / 2]);
    change(fd, &all, KEY_BYTE, KEY_BITS);
    assert_false(ash__engine_damage(f->engine, &damage));
    assert_int_equal(fixture_delete(f, "first", rids[0][DOCS / 2 + 1]), ASH_ECORRUPT);
    assert_true(ash__engine_damage(f->engine, &damage) && damage.structure);
    assert_int_equal(fixture_delete(f, "second", rids[1][1]), ASH_ECORRUPT);
    change(fd, &all, KEY_BYTE, KEY_BITS);
    close(fd);
    /* Nothing was written by it. */
    fixture_reopen(f);
    fixture_check(f);
    assert_ok(scan(f, "first", false, &count), &f->err);
    assert_int_equal(count, DOCS);
}

static int drop_what_is_in_use(ash_writer *w, void *ctx, ash_error *err)
{
    uint8_t row[5];
    ash__letter_key(row, 'R', *(const uint32_t *)ctx);
    int result =
        ash__row_put(w, ASH_DB_DROPS, ash__bytes(row, sizeof row), ash__bytes(NULL, 0), err);
    return result == 0 ? ash__drops_turn(w, err) : result;
}

/* A number of the list that came to be a living collection's deletes nothing of it. */
static void test_engine_damaged_rows__a_drop_of_what_is_in_use(void **state)
{
    fixture *f = *state;
    uint64_t rids[2][DOCS];
    int count;
    fill(f, rids);
    fixture_open(f);
    uint32_t id = id_of(f, "second");
    fixture_apply(f, drop_what_is_in_use, &id, ASH_ACK_DURABLE, ASH_ECORRUPT);
    assert_ok(scan(f, "second", false, &count), &f->err);
    assert_int_equal(count, DOCS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            test_engine_damaged_rows__absence_is_an_error_where_rows_may_be_missed, fixture_setup,
            fixture_teardown),
        cmocka_unit_test_setup_teardown(test_engine_damaged_rows__a_damaged_note, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(test_engine_damaged_rows__a_drop_of_what_is_in_use,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_engine_damaged_rows__damage_while_the_store_is_open,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_engine_damaged_rows__a_branch_out_of_order,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_engine_damaged_rows__a_record_with_another_key,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_engine_damaged_rows__no_regular_file, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(test_engine_damaged_rows__a_row_beyond_the_file,
                                        fixture_setup, fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
