/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include "base/buffer.h"
#include "base/file.h"
#include "base/mem.h"
#include "engine/census.h"
#include "engine/check/check.h"
#include "engine/format/page.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What is wrong with the metadata's pages is found by counting them, before LMDB acts on it. */

enum { PAGE = 4096, DOCS = 300 };

static void collect(void *ctx, const ash_census_finding *f)
{
    ash__buffer_printf(ctx, "%s\n", f->text);
}

/* Findings as text; released by the caller. */
static uint64_t census(fixture *f, ash_buffer *out)
{
    ash_census_report report;
    ash_census_options opts = {.finding = collect, .ctx = out};
    ash__buffer_clear(out);
    assert_ok(ash__census_take(f->engine, &opts, &report, &f->err), &f->err);
    return report.findings;
}

static void expect_text(ash_buffer *found, const char *text)
{
    if (strstr(ash__buffer_text(found), text) == NULL)
        fail_msg("no \"%s\" in: %s", text, ash__buffer_text(found));
}

/* Documents of one to three pages, every other deleted: pages of all kinds, and free ones. */
static void fill(fixture *f)
{
    uint64_t rids[DOCS];
    fixture_create(f, "c", NULL);
    fixture_index(f, "c", "{\"v\":2,\"key\":{\"n\":1},\"name\":\"n_1\"}");
    for (int32_t i = 0; i < DOCS; i++) {
        bson_t *doc = fixture_chunk(i, i, 400 + (size_t)(i % 8) * 900);
        assert_ok(fixture_insert(f, "c", doc, ASH_ACK_APPLIED, &rids[i]), &f->err);
        bson_destroy(doc);
    }
    for (int32_t i = 0; i < DOCS; i += 2)
        assert_ok(fixture_delete(f, "c", rids[i]), &f->err);
    fixture_close(f);
    f->opts.read_only = true;
}

typedef struct meta_file {
    int fd;
    uint8_t newest[PAGE];
    uint64_t newest_at; /* offset of that page */
} meta_file;

static void read_page(const meta_file *m, uint64_t page, uint8_t *out)
{
    assert_int_equal(pread(m->fd, out, PAGE, (off_t)(page * PAGE)), PAGE);
}

static void open_meta(fixture *f, meta_file *m)
{
    uint8_t other[PAGE];
    char *path = ash__path_join(f->folder, "meta.mdb");
    m->fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(m->fd >= 0);
    read_page(m, 0, m->newest);
    read_page(m, 1, other);
    m->newest_at = 0;
    if (ash__get_le64(other + ASH_META_TXN_AT) > ash__get_le64(m->newest + ASH_META_TXN_AT)) {
        memcpy(m->newest, other, PAGE);
        m->newest_at = PAGE;
    }
    ash__free(path);
}

static void flip(const meta_file *m, uint64_t offset, uint8_t bits)
{
    uint8_t byte;
    assert_int_equal(pread(m->fd, &byte, 1, (off_t)offset), 1);
    byte ^= bits;
    assert_int_equal(pwrite(m->fd, &byte, 1, (off_t)offset), 1);
}

/* With the bits flipped something is found. */
static void expect_found(fixture *f, const meta_file *m, uint64_t offset, uint8_t bits,
                         const char *text)
{
    ash_buffer found = ASH_BUFFER_INIT;
    flip(m, offset, bits);
    if (census(f, &found) == 0)
        fail_msg("byte %llu ^ %02x is not found", (unsigned long long)offset, bits);
    expect_text(&found, text);
    flip(m, offset, bits);
    ash__buffer_release(&found);
}

static void test_engine_census__each_bit_of_the_free_list(void **state)
{
    fixture *f = *state;
    meta_file m;
    uint8_t page[PAGE];
    uint32_t pages = 0;
    fill(f);
    open_meta(f, &m);
    uint64_t root = ash__get_le64(m.newest + ASH_META_FREE_AT + ASH_TREE_ROOT);
    assert_int_equal(ash__page_le16(m.newest + ASH_META_FREE_AT + ASH_TREE_DEPTH), 1);
    fixture_open(f);
    read_page(&m, root, page);
    for (uint32_t i = 0; i < ash__page_nodes(page); i++) {
        uint32_t node = ash__page_le16(page + ASH_PAGE_HEADER + 2 * i);
        uint32_t value = node + ASH_PAGE_NODE + 8;
        assert_int_equal(ash__page_le16(page + node + 4), 0);
        uint64_t count = ash__get_le64(page + value);
        pages += (uint32_t)count;
        for (uint32_t at = value; at < value + 8 + 8 * count; at++) {
            if ((at - value) % 8 < 3 || (at - value) % 8 == 7)
                expect_found(f, &m, root * PAGE + at, (uint8_t)(1 << (at - value) / 8 % 8),
                             "meta.mdb");
        }
    }
    assert_true(pages > 10);
    close(m.fd);
    fixture_check(f);
}

/* The check tells, with the page and its tree. */
static void told(void *ctx, const char *text, const bson_t *facts)
{
    char *json = bson_as_relaxed_extended_json(facts, NULL);
    ash__buffer_printf(ctx, "%s %s\n", text, json);
    bson_free(json);
}

static void test_engine_census__a_free_page_that_is_in_use(void **state)
{
    fixture *f = *state;
    meta_file m;
    uint8_t page[PAGE], number[8];
    ash_buffer found = ASH_BUFFER_INIT;
    ash_check_report report;
    ash_check_options opts = {.finding = told, .ctx = &found};
    fill(f);
    open_meta(f, &m);
    uint64_t root = ash__get_le64(m.newest + ASH_META_FREE_AT + ASH_TREE_ROOT);
    read_page(&m, root, page);
    uint32_t node = ash__page_le16(page + ASH_PAGE_HEADER);
    ash__put_le64(number, ash__get_le64(m.newest + ASH_META_MAIN_AT + ASH_TREE_ROOT));
    off_t first = (off_t)(root * PAGE + node + ASH_PAGE_NODE + 16);
    assert_int_equal(pwrite(m.fd, number, sizeof number, first), sizeof number);
    close(m.fd);
    fixture_open(f);
    assert_ok(ash__engine_check(f->engine, &opts, &report, &f->err), &f->err);
    assert_true(report.findings > 0);
    expect_text(&found, "databases: it is in use and listed as free");
    expect_text(&found, "\"tree\" : \"databases\"");
    ash__buffer_release(&found);
}

/* The older of two commits is whole, too; it must not pass for the newest. */
static void test_engine_census__a_commit_of_another_number(void **state)
{
    fixture *f = *state;
    meta_file m;
    fill(f);
    open_meta(f, &m);
    fixture_open(f);
    /* Two less is what LMDB leaves of a commit that failed at its description. */
    for (uint32_t bit = 2; bit < 16; bit++)
        expect_found(f, &m, m.newest_at + ASH_META_TXN_AT + bit / 8, (uint8_t)(1 << bit % 8),
                     "meta.mdb");
    for (uint32_t bit = 1; bit < 16; bit++)
        expect_found(f, &m, (PAGE - m.newest_at) + ASH_META_TXN_AT + bit / 8,
                     (uint8_t)(1 << bit % 8), "meta.mdb");
    close(m.fd);
}

/* Nothing is deleted for being missing, nothing is written, and all is still read. */
static void test_engine_census__ends_writing(void **state)
{
    fixture *f = *state;
    meta_file m;
    ash_damage damage;
    uint64_t rid;
    fill(f);
    open_meta(f, &m);
    flip(&m, m.newest_at + ASH_META_MAIN_AT + ASH_TREE_ENTRIES, 1);
    close(m.fd);
    f->opts.read_only = false;
    fixture_open(f);
    assert_false(ash__engine_damage(f->engine, &damage));
    assert_int_equal(ash__engine_require_whole(f->engine, &f->err), ASH_ECORRUPT);
    assert_non_null(strstr(f->err.text, "not as many rows as its root says"));
    assert_true(ash__engine_damage(f->engine, &damage) && damage.structure);
    bson_t *doc = fixture_chunk(1000, 1000, 100);
    assert_int_equal(fixture_insert(f, "c", doc, ASH_ACK_DURABLE, &rid), ASH_ECORRUPT);
    bson_destroy(doc);
    assert_int_equal(fixture_count(f, "c"), DOCS / 2);
}

typedef struct busy {
    fixture *f;
    atomic_bool over;
} busy;

static void *change_things(void *arg)
{
    busy *b = arg;
    for (int32_t i = 0; !atomic_load(&b->over); i++) {
        uint64_t rid;
        bson_t *doc = fixture_chunk(10000 + i, i, 300 + (size_t)(i % 9) * 900);
        (void)fixture_insert(b->f, "c", doc, ASH_ACK_DURABLE, &rid);
        if (i % 3 != 0)
            (void)fixture_delete(b->f, "c", rid);
        bson_destroy(doc);
    }
    return NULL;
}

/* Beside a writer that commits all the time. */
static void test_engine_census__of_what_changes(void **state)
{
    fixture *f = *state;
    busy b = {.f = f};
    ash_census_report report;
    ash_buffer found = ASH_BUFFER_INIT;
    ash_census_options opts = {.finding = collect, .ctx = &found};
    ash_error err = ASH_ERROR_INIT;
    pthread_t thread;
    fill(f);
    f->opts.read_only = false;
    fixture_open(f);
    assert_int_equal(pthread_create(&thread, NULL, change_things, &b), 0);
    uint64_t before = 0, seen = 0;
    for (int i = 0; i < 2000 && seen < 20; i++) {
        assert_ok(ash__census_take(f->engine, &opts, &report, &err), &err);
        if (report.findings > 0)
            fail_msg("found in a sound store: %s", ash__buffer_text(&found));
        seen += report.commit != before;
        before = report.commit;
    }
    atomic_store(&b.over, true);
    pthread_join(thread, NULL);
    assert_true(seen > 1);
    ash__buffer_release(&found);
}

/* Shorter in the commit that made it: LMDB leaves it more pages than it needs. */
static void test_engine_census__of_a_value_made_shorter(void **state)
{
    fixture *f = *state;
    ash_buffer found = ASH_BUFFER_INIT;
    fixture_create(f, "c", NULL);
    for (int32_t i = 0; i < 50; i++) {
        uint64_t rid;
        bson_t *longer = fixture_chunk(i, i, 7500), *shorter = fixture_chunk(i, i, 2500);
        assert_ok(fixture_insert(f, "c", longer, ASH_ACK_APPLIED, &rid), &f->err);
        assert_ok(fixture_replace(f, "c", rid, shorter), &f->err);
        bson_destroy(longer);
        bson_destroy(shorter);
    }
    fixture_reopen(f);
    if (census(f, &found) > 0)
        fail_msg("found in a sound store: %s", ash__buffer_text(&found));
    ash__buffer_release(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_engine_census__of_a_value_made_shorter, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(test_engine_census__each_bit_of_the_free_list,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_engine_census__a_free_page_that_is_in_use,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_engine_census__a_commit_of_another_number,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_engine_census__ends_writing, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(test_engine_census__of_what_changes, fixture_setup,
                                        fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
