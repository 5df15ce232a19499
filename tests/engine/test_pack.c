/* SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_NEXT */
#endif
#include "fixture.h"

#include "engine/internal.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* Metadata that is written anew when a store is closed, so that its pages are full. */

enum { COLLS = 3, ROWS = 1500, ROW = 300, LEAST = 64 << 10 };
static const char *const colls[COLLS] = {"a", "b", "c"};

static int setup(void **state)
{
    int result = fixture_setup(state);
    fixture *f = *state;
    fixture_close(f);
    f->opts.tidy_ms = 60000;
    f->opts.pack_least_bytes = LEAST;
    fixture_open(f);
    for (int c = 0; c < COLLS; c++) {
        fixture_create(f, colls[c], NULL);
        fixture_index(f, colls[c], "{\"name\": \"n\", \"key\": {\"n\": 1}}");
    }
    return result;
}

static int32_t n_of(int32_t id)
{
    return id * 7919 % ROWS;
}

/* Collections grow beside each other, and their indexes in no order: pages are split in the middle. */
static void fill(fixture *f)
{
    for (int32_t id = 1; id <= ROWS; id++) {
        for (int c = 0; c < COLLS; c++) {
            bson_t *doc = fixture_chunk(id, n_of(id), ROW);
            assert_ok(fixture_insert(f, colls[c], doc, ASH_ACK_APPLIED, NULL), &f->err);
            bson_destroy(doc);
        }
    }
    assert_ok(ash__engine_flush(f->engine, 0, &f->err), &f->err);
}

static void assert_filled(fixture *f)
{
    static uint64_t rids[ROWS];
    ash_snapshot *snap = fixture_snapshot(f);
    for (int c = 0; c < COLLS; c++) {
        const ash_coll *coll = fixture_coll(f, snap, colls[c]);
        assert_int_equal(fixture_scan(f, snap, fixture_find_index(coll, "n"), false, rids, ROWS),
                         ROWS);
        for (int32_t id = 1; id <= ROWS; id++) {
            ash_record record;
            bool found;
            assert_ok(ash__record_get(snap, coll, (uint64_t)id, &record, &found, &f->err), &f->err);
            assert_true(found && fixture_chunk_is(record.doc, id, n_of(id), ROW));
        }
    }
    ash__snapshot_close(snap);
    fixture_check(f);
}

static uint64_t used(fixture *f)
{
    ash_engine_stats stats;
    assert_ok(ash__engine_stats(f->engine, &stats, &f->err), &f->err);
    return stats.meta_used_bytes;
}

static void test_engine_pack__pages_are_full(void **state)
{
    fixture *f = *state;
    fill(f);
    uint64_t before = used(f);
    fixture_reopen(f);
    assert_false(ash__engine_was_unclean(f->engine));
    /* Documents of 300 bytes and their keys, with their heads. */
    assert_true(used(f) <= (uint64_t)COLLS * ROWS * (ROW + 200));
    assert_true(used(f) <= before - before / 4);
    assert_filled(f);
    uint64_t packed = used(f);
    fixture_reopen(f);
    assert_int_equal(used(f), packed);
}

static void expect_as_it_was(fixture *f)
{
    fill(f);
    uint64_t before = used(f);
    fixture_reopen(f);
    assert_true(used(f) >= before - before / 16);
    assert_filled(f);
}

static void test_engine_pack__can_be_turned_off(void **state)
{
    fixture *f = *state;
    f->opts.pack_least_bytes = -1;
    fixture_reopen(f);
    expect_as_it_was(f);
}

static void test_engine_pack__not_for_little(void **state)
{
    fixture *f = *state;
    f->opts.pack_least_bytes = 64 << 20;
    fixture_reopen(f);
    expect_as_it_was(f);
}

static void test_engine_pack__not_when_it_takes_long(void **state)
{
    fixture *f = *state;
    f->opts.tidy_ms = 1;
    fixture_reopen(f);
    expect_as_it_was(f);
}

static void test_engine_pack__compacting_takes_its_time(void **state)
{
    fixture *f = *state;
    uint64_t freed;
    f->opts.tidy_ms = 1;
    fixture_reopen(f);
    fill(f);
    uint64_t before = used(f);
    assert_ok(ash__engine_compact(f->engine, &freed, &f->err), &f->err);
    fixture_reopen(f);
    assert_true(used(f) <= before - before / 4);
    assert_filled(f);
}

/* A row whose page is damaged would be gone without a trace. */
static void test_engine_pack__not_of_damaged_metadata(void **state)
{
    static const ash_damage damage = {.findings = 1, .first = "made up"};
    fixture *f = *state;
    fill(f);
    uint64_t before = used(f);
    ash__soundness_note(f->engine, &damage, NULL, 0);
    fixture_close(f);
    fixture_open(f);
    assert_true(used(f) >= before - before / 16);
}

/* ---- processes that end amid it ---- */

#define REAL(name) (__extension__(__typeof__(&name)) dlsym(RTLD_NEXT, #name))

/* LMDB's own calls; < 0: none is the last. */
static int calls_left = -1;

static void count_down(void)
{
    if (calls_left >= 0 && calls_left-- == 0)
        _exit(0);
}

ssize_t pwrite(int fd, const void *data, size_t len, off_t offset)
{
    count_down();
    return REAL(pwrite)(fd, data, len, offset);
}

ssize_t writev(int fd, const struct iovec *iov, int count)
{
    count_down();
    return REAL(writev)(fd, iov, count);
}

int fdatasync(int fd)
{
    count_down();
    return REAL(fdatasync)(fd);
}

static _Noreturn void close_and_die(fixture *f, int calls)
{
    fixture_open(f);
    bson_t *doc = fixture_chunk(ROWS + 1, 0, ROW);
    assert_ok(fixture_insert(f, "a", doc, ASH_ACK_DURABLE, NULL), &f->err);
    assert_ok(fixture_delete(f, "a", ROWS + 1), &f->err);
    assert_ok(ash__engine_flush(f->engine, 0, &f->err), &f->err);
    bson_destroy(doc);
    calls_left = calls;
    fixture_close(f);
    _exit(calls_left >= 0 ? 1 : 2);
}

/* The rows are there, and may be changed, whichever write was the last. */
static void test_engine_pack__each_write_may_be_the_last(void **state)
{
    fixture *f = *state;
    int status, calls = 0;
    char command[256];
    f->opts.pack_least_bytes = -1;
    fixture_reopen(f);
    fill(f);
    uint64_t before = used(f);
    fixture_close(f);
    snprintf(command, sizeof command, "rm -rf '%s.full' && cp -a '%s' '%s.full'", f->folder,
             f->folder, f->folder);
    assert_int_equal(system(command), 0);
    snprintf(command, sizeof command, "rm -rf '%s' && cp -a '%s.full' '%s'", f->folder, f->folder,
             f->folder);
    do {
        assert_int_equal(system(command), 0);
        f->opts.pack_least_bytes = LEAST;
        pid_t child = fork();
        if (child == 0)
            close_and_die(f, calls);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
        f->opts.pack_least_bytes = -1;
        fixture_open(f);
        assert_filled(f);
        fixture_close(f);
        calls++;
    } while (WEXITSTATUS(status) == 0);
    /* Pages, their sync and the description of the commit, twice. */
    assert_true(calls >= 8);
    fixture_open(f);
    assert_true(used(f) <= before - before / 4);
    snprintf(command, sizeof command, "%s.full", f->folder);
    fixture_remove(command);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_engine_pack__pages_are_full),
        TEST(test_engine_pack__can_be_turned_off),
        TEST(test_engine_pack__not_for_little),
        TEST(test_engine_pack__not_when_it_takes_long),
        TEST(test_engine_pack__compacting_takes_its_time),
        TEST(test_engine_pack__not_of_damaged_metadata),
        TEST(test_engine_pack__each_write_may_be_the_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
