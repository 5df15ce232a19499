/* SPDX-License-Identifier: Apache-2.0 */
#include "journal_fixture.h"

#include "base/file.h"
#include "base/mem.h"
#include "engine/journal.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* A store that was not closed, on a disk that has become full. */

/* The crashed store on a disk of its own, or false: this account may not mount. */
static bool crash_to_disk(fixture *f, fixture *after)
{
    char folder[sizeof f->folder + 8];
    snprintf(folder, sizeof folder, "%s.crash", f->folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    if (mount("ashlar-test", folder, "tmpfs", 0, "size=256m") != 0) {
        rmdir(folder);
        return false;
    }
    journal_crash(f, after);
    return true;
}

static void end_disk(fixture *after)
{
    fixture_close(after);
    assert_int_equal(umount2(after->folder, MNT_DETACH), 0);
    fixture_remove(after->folder);
}

/* Leave so many bytes free. */
static void resize_disk(const fixture *after, uint64_t free_bytes)
{
    struct statvfs fs;
    char options[64];
    assert_int_equal(statvfs(after->folder, &fs), 0);
    uint64_t used = (uint64_t)(fs.f_blocks - fs.f_bfree) * fs.f_frsize;
    snprintf(options, sizeof options, "size=%llu", (unsigned long long)(used + free_bytes));
    assert_int_equal(mount("ashlar-test", after->folder, "tmpfs", MS_REMOUNT, options), 0);
}

static void drop_reserve(const fixture *after)
{
    char *path = ash__path_join(after->folder, "reserve");
    assert_int_equal(truncate(path, 0), 0);
    ash__free(path);
}

static void fill_store(fixture *f, uint64_t rids[64])
{
    for (int32_t id = 0; id < 64; id++)
        journal_put(f, 4 * (id + 1), &rids[id]);
}

static void test_engine_journal_room__the_reserve_is_for_it(void **state)
{
    fixture *f = *state, after;
    uint64_t rids[64];
    fill_store(f, rids);
    if (!crash_to_disk(f, &after))
        skip();
    resize_disk(&after, 0);
    fixture_open(&after);
    assert_true(ash__engine_was_unclean(after.engine));
    assert_int_equal(fixture_count(&after, "c"), 64);
    assert_ok(fixture_delete(&after, "c", rids[0]), &f->err);
    fixture_reopen(&after);
    assert_int_equal(fixture_count(&after, "c"), 63);
    fixture_check(&after);
    end_disk(&after);
}

static void test_engine_journal_room__there_is_none(void **state)
{
    fixture *f = *state, after;
    uint64_t rids[64];
    fill_store(f, rids);
    if (!crash_to_disk(f, &after))
        skip();
    drop_reserve(&after);
    resize_disk(&after, 0);
    for (int i = 0; i < 4; i++) {
        ash_engine_options opts = after.opts;
        opts.read_only = i % 2 == 0;
        assert_int_equal(ash__engine_open(after.folder, &opts, &after.engine, &f->err), ASH_ENOSPC);
    }
    resize_disk(&after, 4 << 20);
    fixture_open(&after);
    assert_int_equal(fixture_count(&after, "c"), 64);
    fixture_check(&after);
    end_disk(&after);
}

static void drop_readers(const fixture *after)
{
    char *path = ash__path_join(after->folder, "meta.mdb-lock");
    unlink(path);
    ash__free(path);
}

/* A copy mostly comes without the table of readers; and what is a hole in it has no room later. */
static void test_engine_journal_room__the_table_of_readers_is_whole(void **state)
{
    enum { READERS = 1000 };
    fixture *f = *state, after;
    uint64_t rids[64];
    ash_snapshot *views[READERS];
    fill_store(f, rids);
    if (!crash_to_disk(f, &after))
        skip();
    drop_readers(&after);
    resize_disk(&after, 0);
    fixture_open(&after);
    resize_disk(&after, 0);
    for (int i = 0; i < READERS; i++)
        views[i] = fixture_snapshot(&after);
    for (int i = 0; i < READERS; i++)
        ash__snapshot_close(views[i]);
    assert_int_equal(fixture_count(&after, "c"), 64);
    end_disk(&after);
}

static void test_engine_journal_room__no_room_for_the_table_of_readers(void **state)
{
    fixture *f = *state, after;
    uint64_t rids[64];
    fill_store(f, rids);
    if (!crash_to_disk(f, &after))
        skip();
    drop_readers(&after);
    drop_reserve(&after);
    resize_disk(&after, 64 << 10);
    assert_int_equal(ash__engine_open(after.folder, &after.opts, &after.engine, &f->err),
                     ASH_ENOSPC);
    assert_non_null(strstr(f->err.text, "meta.mdb-lock"));
    resize_disk(&after, 4 << 20);
    fixture_open(&after);
    assert_int_equal(fixture_count(&after, "c"), 64);
    end_disk(&after);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, journal_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_engine_journal_room__the_reserve_is_for_it),
        TEST(test_engine_journal_room__there_is_none),
        TEST(test_engine_journal_room__the_table_of_readers_is_whole),
        TEST(test_engine_journal_room__no_room_for_the_table_of_readers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
