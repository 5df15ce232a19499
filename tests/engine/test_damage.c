/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/file.h"
#include "base/mem.h"
#include "engine/check/check.h"
#include "segment/layout.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LARGE = 30000, ID_VALUE_AT = 9 };

static void flip(fixture *f, const char *name, off_t offset)
{
    uint8_t byte;
    char *path = ash__path_join(f->folder, name);
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, offset), 1);
    byte ^= 0x10;
    assert_int_equal(pwrite(fd, &byte, 1, offset), 1);
    close(fd);
    ash__free(path);
}

static void collect(void *ctx, const char *text, const bson_t *facts)
{
    char *json = bson_as_relaxed_extended_json(facts, NULL);
    ash__buffer_printf(ctx, "%s %s\n", text, json);
    bson_free(json);
}

/* Findings as text; released by the caller. */
static uint64_t check(fixture *f, ash_buffer *out)
{
    ash_check_report report;
    ash_check_options opts = {.payloads = true, .finding = collect, .ctx = out};
    ash__buffer_clear(out);
    assert_ok(ash__engine_check(f->engine, &opts, &report, &f->err), &f->err);
    return report.findings;
}

static void expect_text(ash_buffer *found, const char *text)
{
    if (strstr(ash__buffer_text(found), text) == NULL)
        fail_msg("no \"%s\" in: %s", text, ash__buffer_text(found));
}

static void fill(fixture *f)
{
    fixture_create(f, "c", NULL);
    fixture_index(f, "c", "{\"v\":2,\"key\":{\"n\":1},\"name\":\"n_1\"}");
    for (int32_t i = 1; i <= 40; i++) {
        bson_t *doc = fixture_chunk(i, i, i % 2 == 1 ? LARGE : 300);
        assert_ok(fixture_insert(f, "c", doc, ASH_ACK_APPLIED, NULL), &f->err);
        bson_destroy(doc);
    }
}

static void test_engine_damage__payload_is_named(void **state)
{
    fixture *f = *state;
    ash_buffer found = ASH_BUFFER_INIT;
    ash_record record;
    bool there;
    fill(f);
    fixture_reopen(f);
    /* The third large record begins at block 17 of the first segment. */
    flip(f, "segments/00000001.seg", 17 * 4096 + 20000);
    ash_snapshot *snap = fixture_snapshot(f);
    const ash_coll *c = fixture_coll(f, snap, "c");
    assert_int_equal(ash__record_get(snap, c, 5, &record, &there, &f->err), ASH_ECORRUPT);
    assert_string_equal(f->err.text, "test.c, record 5: a payload with a wrong checksum in segment "
                                     "00000001 at offset 69632");
    assert_ok(ash__record_get(snap, c, 7, &record, &there, &f->err), &f->err);
    ash__snapshot_close(snap);
    assert_int_equal(check(f, &found), 1);
    expect_text(&found, "test.c, record 5: a payload with a wrong checksum");
    expect_text(&found, "\"document\" : { \"_id\" : 5, \"n\" : 5 }");
    expect_text(&found, "\"offset\" : 69632");
    ash__buffer_release(&found);
}

static void test_engine_damage__record_header_is_named(void **state)
{
    fixture *f = *state;
    ash_buffer found = ASH_BUFFER_INIT;
    fill(f);
    fixture_reopen(f);
    flip(f, "segments/00000001.seg", 4096 + 9);
    assert_int_equal(check(f, &found), 1);
    expect_text(&found, "test.c, record 1: a damaged record header");
    flip(f, "segments/00000001.seg", 30);
    assert_true(check(f, &found) >= 2);
    expect_text(&found, "segment 00000001 has a damaged header");
    ash__buffer_release(&found);
}

/* Flips anywhere in the metadata: what is read is what was written, or an error.  Each try runs in
 * a child of its own, since LMDB does not guard its pages. */
static int read_all(fixture *f)
{
    ash_snapshot *snap = NULL;
    const ash_coll *c = NULL;
    ash_value_box box;
    if (ash__engine_open(f->folder, &f->opts, &f->engine, NULL) != 0)
        return 0;
    if (ash__snapshot_open(f->engine, &snap, NULL) != 0 ||
        ash__catalog_find(snap, "test", "c", &c, NULL) != 0 || c == NULL)
        return 0;
    for (int32_t i = 1; i <= 40; i++) {
        ash_record record;
        bool found;
        if (ash__record_find_id(snap, c, ash__box_int32(&box, i), &record, &found, NULL) == 0 &&
            found && !fixture_chunk_is(record.doc, i, i, i % 2 == 1 ? LARGE : 300))
            return 1;
        if (ash__record_get(snap, c, (uint64_t)i, &record, &found, NULL) == 0 && found &&
            !fixture_chunk_is(record.doc, i, i, i % 2 == 1 ? LARGE : 300))
            return 1;
    }
    return 0;
}

static void test_engine_damage__metadata_never_gives_wrong_bytes(void **state)
{
    fixture *f = *state;
    char *path = ash__path_join(f->folder, "meta.mdb");
    int wrong = 0;
    fill(f);
    fixture_close(f);
    FILE *file = fopen(path, "rb");
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    fclose(file);
    srand(3);
    for (int i = 0; i < 60; i++) {
        int status;
        off_t at = 8192 + (off_t)((unsigned long)rand() % (unsigned long)(size - 8192));
        flip(f, "meta.mdb", at);
        pid_t child = fork();
        if (child == 0) {
            f->opts.read_only = true;
            freopen("/dev/null", "w", stderr);
            _exit(read_all(f));
        }
        waitpid(child, &status, 0);
        wrong += WIFEXITED(status) && WEXITSTATUS(status) != 0;
        flip(f, "meta.mdb", at);
    }
    assert_int_equal(wrong, 0);
    fixture_open(f);
    fixture_check(f);
    ash__free(path);
}

static uint16_t le16(const uint8_t *at)
{
    return (uint16_t)(at[0] | at[1] << 8);
}

/* In every branch page, the last byte of the key by which its second child is found.  Nothing on
 * the pages below is changed: all rows are there, and some are not found any more. */
static int mislead(fixture *f)
{
    enum { PAGE = 4096, BRANCH = 1, FLAGS = 10, LOWER = 12, NODES = 16, KEY_SIZE = 6, KEY = 8 };
    char *path = ash__path_join(f->folder, "meta.mdb");
    int fd = open(path, O_RDWR), changed = 0;
    uint8_t page[PAGE];
    assert_true(fd >= 0);
    for (off_t at = 2 * PAGE; pread(fd, page, PAGE, at) == PAGE; at += PAGE) {
        if (le16(page + FLAGS) != BRANCH || le16(page + LOWER) < NODES + 4)
            continue;
        size_t node = le16(page + NODES + 2);
        size_t last = node + KEY + le16(page + node + KEY_SIZE) - 1;
        assert_true(last < PAGE);
        page[last] ^= 0x10;
        assert_int_equal(pwrite(fd, page, PAGE, at), PAGE);
        changed++;
    }
    close(fd);
    ash__free(path);
    return changed;
}

static void test_engine_damage__rows_that_nobody_finds_are_reported(void **state)
{
    fixture *f = *state;
    ash_buffer found = ASH_BUFFER_INIT;
    fixture_create(f, "c", NULL);
    for (int32_t i = 1; i <= 400; i++) {
        bson_t *doc = fixture_chunk(i, i, 300);
        assert_ok(fixture_insert(f, "c", doc, ASH_ACK_APPLIED, NULL), &f->err);
        bson_destroy(doc);
    }
    fixture_close(f);
    assert_true(mislead(f) > 0);
    f->opts.read_only = true;
    fixture_open(f);
    assert_true(check(f, &found) > 0);
    expect_text(&found, "rows cannot be found");
    ash__buffer_release(&found);
}

/* Asks for each by its _id: 1 when one of them is not there. */
static int find_all(fixture *f)
{
    ash_snapshot *snap = NULL;
    const ash_coll *c = NULL;
    ash_value_box box;
    int absent = 0;
    if (ash__engine_open(f->folder, &f->opts, &f->engine, NULL) != 0)
        return 0;
    if (ash__snapshot_open(f->engine, &snap, NULL) != 0 ||
        ash__catalog_find(snap, "test", "c", &c, NULL) != 0)
        return 0;
    for (int32_t i = 1; c != NULL && i <= 40; i++) {
        ash_record record;
        bool found;
        int rc = ash__record_find_id(snap, c, ash__box_int32(&box, i), &record, &found, NULL);
        absent += rc == 0 && !found;
    }
    return c == NULL || absent > 0;
}

/* Entries of that index on the page: of each, one bit of its key after the other is another. */
static int hide_each(fixture *f, uint32_t index, off_t page_at, const uint8_t *page)
{
    enum { LOWER = 12, NODES = 16, KEY_SIZE = 6, KEY = 8, STEP = 5 };
    int absent = 0;
    for (size_t at = NODES; at < le16(page + LOWER); at += 2) {
        size_t node = le16(page + at), len = le16(page + node + KEY_SIZE);
        if (len <= 4 || ash__get_be32(page + node + KEY) != index)
            continue;
        for (size_t byte = 0; byte < len; byte += STEP) {
            int status;
            off_t where = page_at + (off_t)(node + KEY + byte);
            flip(f, "meta.mdb", where);
            pid_t child = fork();
            if (child == 0) {
                f->opts.read_only = true;
                freopen("/dev/null", "w", stderr);
                _exit(find_all(f));
            }
            waitpid(child, &status, 0);
            absent += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
            flip(f, "meta.mdb", where);
        }
    }
    return absent;
}

/* Nobody has taken a census; who asks for one is told of damage all the same. */
static void test_engine_damage__a_hidden_row_is_not_absent(void **state)
{
    enum { PAGE = 4096, LEAF = 2, FLAGS = 10 };
    fixture *f = *state;
    uint8_t page[PAGE];
    char *path = ash__path_join(f->folder, "meta.mdb");
    int looked = 0;
    fill(f);
    ash_snapshot *snap = fixture_snapshot(f);
    uint32_t index = fixture_find_index(fixture_coll(f, snap, "c"), "_id_")->id;
    ash__snapshot_close(snap);
    fixture_close(f);
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    for (off_t at = 2 * PAGE; pread(fd, page, PAGE, at) == PAGE; at += PAGE) {
        if (le16(page + FLAGS) != LEAF)
            continue;
        assert_int_equal(hide_each(f, index, at, page), 0);
        looked++;
    }
    assert_true(looked > 0);
    close(fd);
    ash__free(path);
    fixture_open(f);
    fixture_check(f);
}

static int begin_index(ash_writer *w, void *ctx, ash_error *err)
{
    const ash_coll *c;
    const ash_index *i;
    bson_t *spec = BCON_NEW("v", BCON_INT32(2), "key", "{", "x", BCON_INT32(1), "}", "name", "x_1");
    (void)ctx;
    int result = ash__catalog_find(ash__writer_snapshot(w), "test", "c", &c, err);
    if (result == 0)
        result = ash__index_create(w, c, spec, &i, err);
    bson_destroy(spec);
    return result;
}

/* A damaged payload gives other keys; an index that is being built has none of them anyway. */
static void test_engine_damage__is_noticed_while_an_index_is_built(void **state)
{
    fixture *f = *state;
    ash_record record;
    bool there;
    fill(f);
    fixture_apply(f, begin_index, NULL, ASH_ACK_DURABLE, 0);
    ash_snapshot *snap = fixture_snapshot(f);
    const ash_coll *c = fixture_coll(f, snap, "c");
    assert_ok(ash__record_locate(snap, c, 1, &record, &there, &f->err), &f->err);
    ash__snapshot_close(snap);
    assert_int_equal(record.place.segment, 1);
    ash_layout layout = ash__layout_for(record.place.len);
    flip(f, "segments/00000001.seg",
         (off_t)record.place.block * ASH_BLOCK_BYTES + layout.offset + ID_VALUE_AT);
    assert_int_equal(fixture_delete(f, "c", 1), ASH_ECORRUPT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

/* ---- looking where it may end the process ---- */

typedef struct looked {
    int64_t dies_at;
    int told;
} looked;

static void look(ash_probe *p, ash_snapshot *snap, void *ctx)
{
    const looked *l = ctx;
    assert_non_null(snap);
    for (int64_t i = 0; i < 3; i++) {
        bson_t *doc = BCON_NEW("i", BCON_INT64(i));
        if (i == l->dies_at)
            raise(SIGKILL);
        ash__probe_tell(p, doc);
        bson_destroy(doc);
    }
}

static bool take(void *ctx, const bson_t *doc)
{
    looked *l = ctx;
    bson_iter_t it;
    assert_true(bson_iter_init_find(&it, doc, "i"));
    assert_int_equal(bson_iter_int64(&it), l->told);
    l->told++;
    return true;
}

static void test_engine_damage__a_look_may_end_its_process(void **state)
{
    fixture *f = *state;
    for (int64_t at = 0; at <= 3; at++) {
        looked l = {.dies_at = at};
        const ash_probe_fns fns = {look, take, &l};
        bool through = at < 3;
        assert_ok(ash__engine_probe(f->engine, &fns, &through, &f->err), &f->err);
        assert_int_equal(l.told, at);
        assert_true(through == (at == 3));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_engine_damage__payload_is_named),
        TEST(test_engine_damage__record_header_is_named),
        TEST(test_engine_damage__is_noticed_while_an_index_is_built),
        TEST(test_engine_damage__rows_that_nobody_finds_are_reported),
        TEST(test_engine_damage__a_hidden_row_is_not_absent),
        TEST(test_engine_damage__metadata_never_gives_wrong_bytes),
        TEST(test_engine_damage__a_look_may_end_its_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
