/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/thread.h"
#include "remove_folder.h"
#include "segment/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COLL = 7, THREADS = 4, EACH = 50 };

typedef struct fixture {
    char folder[64];
    int64_t segment_bytes;
    ash_segments *segments;
    uint8_t used[1024]; /* what `load` gives for segment 1 */
    int loads;
    ash_error err;
} fixture;

static int load(void *ctx, uint32_t segment, uint8_t *map, uint32_t blocks, ash_error *err)
{
    fixture *f = ctx;
    (void)err, (void)blocks;
    assert_int_equal(segment, 1);
    memcpy(map, f->used, sizeof f->used);
    f->loads++;
    return 0;
}

static void open_segments(fixture *f)
{
    ash_segments_options opts = {
        .folder = f->folder, .segment_bytes = f->segment_bytes, .load = load, .ctx = f};
    memcpy(opts.store_id, "0123456789abcdef", 16);
    f->segments = ash__segments_new(&opts);
}

static int setup_with(void **state, int64_t segment_bytes)
{
    fixture *f = ash__new(fixture);
    f->segment_bytes = segment_bytes;
    strcpy(f->folder, "/tmp/ash-segment-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    open_segments(f);
    *state = f;
    return 0;
}

static int setup(void **state)
{
    return setup_with(state, 1 << 20);
}

static int setup_large(void **state)
{
    return setup_with(state, 4 << 20);
}

static int teardown(void **state)
{
    fixture *f = *state;
    ash__segments_free(f->segments);
    remove_folder(f->folder);
    ash__free(f);
    return 0;
}

static ash_placed put(fixture *f, uint64_t sequence, size_t len)
{
    ash_placed placed;
    uint8_t *bytes = ash__alloc(len);
    memset(bytes, (int)sequence, len);
    struct iovec parts[3] = {{bytes, 1}, {bytes, 0}, {bytes + 1, len - 1}};
    assert_ok(ash__segments_write(f->segments, &(ash_record_draft){COLL, sequence, parts, 3},
                                  &placed, &f->err),
              &f->err);
    ash__free(bytes);
    return placed;
}

static ash_place place_of(const ash_placed *p)
{
    return (ash_place){p->extent.segment, p->extent.block, p->len, p->sequence};
}

static bool reads_back(fixture *f, const ash_placed *p)
{
    const uint8_t *bytes;
    ash_place place = place_of(p);
    if (ash__segments_read(f->segments, &place, COLL, true, &bytes, &f->err) != 0)
        return false;
    for (uint32_t i = 0; i < p->len; i++) {
        if (bytes[i] != (uint8_t)p->sequence)
            return false;
    }
    return true;
}

static void test_segment_record__bytes_are_as_specified(void **state)
{
    fixture *f = *state;
    uint8_t *file = NULL;
    size_t len;
    char *path = ash__path_join(f->folder, "00000001.seg");
    ash_placed p = put(f, 0x41, 5000);
    assert_int_equal(p.extent.block, 1);
    assert_int_equal(p.extent.blocks, 2);
    assert_ok(ash__file_load(path, 2 << 20, &file, &len, &f->err), &f->err);
    assert_int_equal(len, 1 << 20);
    assert_memory_equal(file, "ASHLRSEG\1\0\0\0\1\0\0\0000123456789abcdef\0\1\0\0\0\0\0\0", 40);
    assert_true(ash__get_le64(file + 40) == ash__checksum(file, 40));
    const uint8_t *record = file + 4096;
    assert_memory_equal(record,
                        "ASHR\x88\x13\0\0\x41\0\0\0\0\0\0\0\7\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 32);
    assert_true(ash__get_le64(record + 32) == ash__checksum(record + 48, 5000));
    assert_true(ash__get_le64(record + 40) == ash__checksum(record, 40));
    assert_int_equal(record[48], 0x41);
    assert_int_equal(record[48 + 5000], 0);
    ash__free(file);
    ash__free(path);
}

static void test_segment_record__every_difference_is_found(void **state)
{
    fixture *f = *state;
    const uint8_t *bytes;
    ash_placed p = put(f, 3, 10000);
    assert_true(reads_back(f, &p));
    ash_place place = place_of(&p);
    assert_int_equal(ash__segments_read(f->segments, &place, COLL + 1, true, &bytes, &f->err),
                     ASH_ECORRUPT);
    place.sequence++;
    assert_int_equal(ash__segments_read(f->segments, &place, COLL, true, &bytes, &f->err),
                     ASH_ECORRUPT);
    place = place_of(&p);
    place.len++;
    assert_int_equal(ash__segments_read(f->segments, &place, COLL, true, &bytes, &f->err),
                     ASH_ECORRUPT);
    place = place_of(&p);
    place.block = 255;
    assert_int_equal(ash__segments_read(f->segments, &place, COLL, true, &bytes, &f->err),
                     ASH_ECORRUPT);
    assert_non_null(strstr(f->err.text, "a pointer outside the file in segment 00000001"));
    place.segment = 9;
    assert_int_equal(ash__segments_read(f->segments, &place, COLL, true, &bytes, &f->err),
                     ASH_ECORRUPT);
}

/* Change the file's bytes under the open segments. */
static void overwrite(fixture *f, const ash_placed *p, size_t at, const void *bytes, size_t len)
{
    char *path = ash__sprintf("%s/%08x.seg", f->folder, (unsigned)p->extent.segment);
    int fd = -1;
    assert_ok(ash__file_open(path, O_RDWR, &fd, &f->err), &f->err);
    assert_ok(ash__file_write(fd, bytes, len, (off_t)p->extent.block * ASH_BLOCK_BYTES + (off_t)at,
                              &f->err),
              &f->err);
    ash__file_close(fd);
    ash__free(path);
}

static void test_segment_record__a_part_is_verified_alone(void **state)
{
    fixture *f = *state;
    ash_payload payload;
    uint32_t coll = COLL;
    ash_placed p = put(f, 5, 200000);
    ash_place place = place_of(&p);
    assert_int_equal(p.extent.blocks, 49);
    assert_ok(ash__segments_open(f->segments, &place, &coll, &payload, &f->err), &f->err);
    overwrite(f, &p, payload.layout.offset + 150000, "!", 1);
    size_t from = 1000, to = 140000;
    assert_ok(ash__segments_verify(&payload, &from, &to, &f->err), &f->err);
    from = 140000, to = 150001;
    assert_int_equal(ash__segments_verify(&payload, &from, &to, &f->err), ASH_ECORRUPT);
    assert_non_null(strstr(f->err.text, "wrong checksum in segment 00000001 at offset 4096"));
    assert_false(reads_back(f, &p));
    overwrite(f, &p, 60, "!", 1);
    assert_int_equal(ash__segments_open(f->segments, &place, NULL, &payload, &f->err),
                     ASH_ECORRUPT);
}

static void test_segment_record__a_large_plain_one_is_read(void **state)
{
    fixture *f = *state;
    enum { LEN = 200000 };
    ash_placed p = put(f, 6, LEN);
    uint8_t *bytes = ash__alloc(ASH_RECORD_HEADER_BYTES + LEN);
    struct iovec part = {bytes + ASH_RECORD_HEADER_BYTES, LEN};
    memset(part.iov_base, 6, LEN);
    ash__record_head_make(bytes, &ash__layout_plain, &(ash_record_draft){COLL, 6, &part, 1}, LEN);
    overwrite(f, &p, 0, bytes, ASH_RECORD_HEADER_BYTES + LEN);
    assert_memory_equal(bytes, "ASHR", 4);
    assert_true(reads_back(f, &p));
    overwrite(f, &p, 100000, "!", 1);
    assert_false(reads_back(f, &p));
    ash__free(bytes);
}

static void test_segment_space__free_neighbours_become_one(void **state)
{
    fixture *f = *state;
    ash_placed p[6];
    for (size_t i = 0; i < 6; i++)
        p[i] = put(f, i + 1, 3 * 4096 - 48);
    /* Give back out of order; together they hold what none could alone. */
    ash__segments_give(f->segments, p[1].extent);
    ash__segments_give(f->segments, p[3].extent);
    ash__segments_give(f->segments, p[2].extent);
    ash_placed large = put(f, 10, 9 * 4096 - 48);
    assert_int_equal(large.extent.block, p[1].extent.block);
    assert_true(reads_back(f, &large) && reads_back(f, &p[0]) && reads_back(f, &p[4]));
    ash__segments_give(f->segments, p[4].extent);
    ash_placed small = put(f, 11, 100);
    assert_int_equal(small.extent.block, p[4].extent.block);
}

static void test_segment_space__new_segments_when_full(void **state)
{
    fixture *f = *state;
    ash_segments_stats stats;
    ash_placed p[20];
    for (size_t i = 0; i < 20; i++)
        p[i] = put(f, i + 1, 200000);
    assert_int_equal(p[0].extent.segment, 1);
    assert_int_equal(p[19].extent.segment, 4);
    ash_placed giant = put(f, 99, 3 << 20);
    for (size_t i = 0; i < 20; i++)
        assert_true(reads_back(f, &p[i]));
    assert_true(reads_back(f, &giant));
    ash__segments_stats(f->segments, &stats);
    assert_int_equal(stats.files, 5);
    assert_int_equal(stats.staged, 20 * 49 + 769);
    assert_int_equal(stats.used, 0);
}

static void test_segment_space__maps_are_loaded_when_needed(void **state)
{
    fixture *f = *state;
    ash_placed p = put(f, 1, 100);
    ash_extent first = p.extent;
    ash__segments_free(f->segments);
    open_segments(f);
    memset(f->used, 0xFF, 1024);
    f->used[5] = 0x0F; /* blocks 44..47 are free */
    ash__segments_add(f->segments, 1, 256, 251);
    assert_true(reads_back(f, &p));
    assert_int_equal(f->loads, 0);
    p = put(f, 2, 3 * 4096);
    assert_int_equal(f->loads, 1);
    assert_int_equal(p.extent.segment, 1);
    assert_int_equal(p.extent.block, 44);
    ash__segments_mark(f->segments, p.extent);
    assert_ok(ash__segments_unmark(f->segments, first, &f->err), &f->err);
    assert_int_equal(ash__segments_unmark(f->segments, first, &f->err), ASH_ECORRUPT);
    ash__segments_hold(f->segments, first, 5);
    ash__segments_reap(f->segments, 4);
    ash_segments_stats stats;
    ash__segments_stats(f->segments, &stats);
    assert_int_equal(stats.held, 1);
    assert_int_equal(stats.free, 0);
    ash__segments_reap(f->segments, 5);
    ash__segments_stats(f->segments, &stats);
    assert_int_equal(stats.held, 0);
    assert_int_equal(stats.free, 1);
}

static int syncs_to_fail;

static int failing_fdatasync(int fd)
{
    if (syncs_to_fail-- > 0) {
        errno = EIO;
        return -1;
    }
    return ash__io_system.fdatasync(fd);
}

static void test_segment_sync__what_was_unsynced_at_a_failure_is_lost(void **state)
{
    fixture *f = *state;
    ash_io io = ash__io_system;
    ash_placed one = put(f, 1, 5000), two = put(f, 2, 5000);
    assert_ok(ash__segments_sync(f->segments, &one, &f->err), &f->err);
    ash_placed three = put(f, 3, 5000);
    io.fdatasync = failing_fdatasync;
    syncs_to_fail = 1;
    ash__io_set(&io);
    assert_ok(ash__segments_sync(f->segments, &two, &f->err), &f->err);
    assert_int_equal(ash__segments_sync(f->segments, &three, &f->err), ASH_EIO);
    assert_int_equal(ash__segments_sync(f->segments, &three, &f->err), ASH_EIO);
    ash_placed four = put(f, 4, 5000);
    assert_ok(ash__segments_sync(f->segments, &four, &f->err), &f->err);
    assert_int_equal(ash__segments_sync(f->segments, &three, &f->err), ASH_EIO);
    ash__io_set(NULL);
}

/* As the kernel does: what was dropped is told to one of those who ask, and to nobody later. */
static int tell_one(int fd)
{
    static atomic_int asked;
    (void)fd;
    bool first = atomic_fetch_add(&asked, 1) == 0;
    ash__clock_sleep_ms(first ? 100 : 0);
    errno = EIO;
    return first ? -1 : 0;
}

typedef struct syncer {
    fixture *f;
    ash_placed placed;
    int result;
} syncer;

static void *sync_one(void *arg)
{
    syncer *me = arg;
    me->result = ash__segments_sync(me->f->segments, &me->placed, NULL);
    return NULL;
}

static void test_segment_sync__all_who_ask_at_once_learn_of_a_failure(void **state)
{
    fixture *f = *state;
    pthread_t other;
    ash_io io = ash__io_system;
    syncer one = {.f = f, .placed = put(f, 1, 5000)}, two = {.f = f, .placed = put(f, 2, 5000)};
    io.fdatasync = tell_one;
    ash__io_set(&io);
    assert_int_equal(pthread_create(&other, NULL, sync_one, &one), 0);
    ash__clock_sleep_ms(30);
    sync_one(&two);
    pthread_join(other, NULL);
    ash__io_set(NULL);
    assert_int_equal(one.result, ASH_EIO);
    assert_int_equal(two.result, ASH_EIO);
}

/* Write-back as a disk with a long queue would see it; four records are a MiB. */
enum { IN_A_SEGMENT = 15 };
static off_t started_to, awaited_to, most_ahead;
static int awaits, await_errno;

static int note_start(int fd, off_t offset, off_t len)
{
    (void)fd;
    started_to = offset + len;
    if (started_to - awaited_to > most_ahead)
        most_ahead = started_to - awaited_to;
    return 0;
}

static int note_await(int fd, off_t offset, off_t len)
{
    (void)fd;
    awaits++;
    awaited_to = offset + len;
    errno = await_errno;
    return await_errno != 0 ? -1 : 0;
}

static void watch_write_back(ash_io *io, int error)
{
    *io = ash__io_system;
    io->start_writeback = note_start;
    io->await_writeback = note_await;
    started_to = awaited_to = most_ahead = 0;
    awaits = 0;
    await_errno = error;
    ash__io_set(io);
}

static void test_segment_write__little_is_ahead_of_the_disk(void **state)
{
    fixture *f = *state;
    ash_io io;
    watch_write_back(&io, 0);
    for (uint64_t i = 1; i <= IN_A_SEGMENT; i++)
        put(f, i, 261190);
    ash__io_set(NULL);
    assert_int_equal(awaits, 2);
    assert_in_range(most_ahead, 1 << 20, (2 << 20) + 4096);
}

/* Where nobody commits, nobody is kept waiting either. */
static void test_segment_write__nobody_waits_without_commits(void **state)
{
    fixture *f = *state;
    ash_io io;
    watch_write_back(&io, 0);
    for (uint64_t i = 1; i <= 60; i++)
        put(f, i, 261190);
    int so_far = awaits;
    for (uint64_t i = 1; i <= IN_A_SEGMENT; i++)
        put(f, i, 261190);
    assert_int_equal(awaits, so_far);
    ash__segments_note_commit(f->segments);
    for (uint64_t i = 1; i <= 2 * IN_A_SEGMENT; i++)
        put(f, i, 261190);
    assert_in_range(awaits, so_far + 2, so_far + 8);
    ash__io_set(NULL);
}

/* The kernel told this wait that bytes were dropped, and will tell no sync of it. */
static void test_segment_write__what_write_back_dropped_is_lost(void **state)
{
    fixture *f = *state;
    ash_io io;
    ash_placed first;
    watch_write_back(&io, EIO);
    first = put(f, 1, 261190);
    for (uint64_t i = 2; i <= 8; i++)
        put(f, i, 261190);
    assert_int_equal(awaits, 1);
    ash__io_set(NULL);
    assert_int_equal(ash__segments_sync(f->segments, &first, &f->err), ASH_EIO);
    ash_placed later = put(f, 9, 5000);
    assert_ok(ash__segments_sync(f->segments, &later, &f->err), &f->err);
}

/* Whoever syncs takes the failure for itself; nobody may wait beside it and be told instead. */
static int await_beside_sync(int fd, off_t offset, off_t len)
{
    (void)fd, (void)offset, (void)len;
    assert_false(true);
    return 0;
}

static fixture *writing;

/* A sync of what was written before fails when these bytes are in the kernel's hands already. */
static ssize_t write_amid_a_failure(int fd, const struct iovec *iov, int count, off_t offset)
{
    ash_io io = ash__io_system;
    ash_placed before = {.extent = {.segment = 1}, .write_number = UINT64_MAX};
    ssize_t written = ash__io_system.pwritev(fd, iov, count, offset);
    const ash_io *now = ash__io();
    io.fdatasync = failing_fdatasync;
    syncs_to_fail = 1;
    ash__io_set(&io);
    assert_int_equal(ash__segments_sync(writing->segments, &before, NULL), ASH_EIO);
    ash__io_set(now);
    return written;
}

static void test_segment_sync__what_was_being_written_at_a_failure_is_lost(void **state)
{
    fixture *f = *state;
    ash_io io = ash__io_system;
    put(f, 1, 5000);
    io.pwritev = write_amid_a_failure;
    writing = f;
    ash__io_set(&io);
    ash_placed two = put(f, 2, 5000);
    ash__io_set(NULL);
    ash_placed three = put(f, 3, 5000);
    assert_ok(ash__segments_sync(f->segments, &three, &f->err), &f->err);
    assert_int_equal(ash__segments_sync(f->segments, &two, &f->err), ASH_EIO);
}

static int write_meanwhile(int fd)
{
    (void)fd;
    for (uint64_t i = 100; i < 108; i++)
        put(writing, i, 261190);
    return 0;
}

static void test_segment_write__nobody_waits_beside_a_sync(void **state)
{
    fixture *f = *state;
    ash_io io = ash__io_system;
    ash_placed one = put(f, 1, 5000);
    io.fdatasync = write_meanwhile;
    io.await_writeback = await_beside_sync;
    writing = f;
    ash__io_set(&io);
    assert_ok(ash__segments_sync(f->segments, &one, &f->err), &f->err);
    ash__io_set(NULL);
}

typedef struct worker {
    fixture *f;
    pthread_t thread;
    ash_placed placed[EACH];
    int failures;
    unsigned number;
} worker;

static void *write_many(void *arg)
{
    worker *me = arg;
    for (unsigned i = 0; i < EACH; i++) {
        uint8_t bytes[9000];
        uint64_t sequence = me->number * 64 + i;
        struct iovec part = {bytes, 4200 + i * 90};
        memset(bytes, (int)sequence, sizeof bytes);
        me->failures +=
            ash__segments_write(me->f->segments, &(ash_record_draft){COLL, sequence, &part, 1},
                                &me->placed[i], NULL) != 0;
        if (i % 3 == 1)
            ash__segments_give(me->f->segments, me->placed[i].extent);
    }
    return NULL;
}

static void test_segment_space__many_writers_never_overlap(void **state)
{
    fixture *f = *state;
    worker *workers = ash__alloc_array(THREADS, sizeof *workers);
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i].f = f;
        workers[i].number = i;
        assert_int_equal(ash__thread_start(&workers[i].thread, 0, write_many, &workers[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(workers[i].failures, 0);
        for (unsigned n = 0; n < EACH; n++)
            assert_true(n % 3 == 1 || reads_back(f, &workers[i].placed[n]));
    }
    ash__free(workers);
}

/* The next write into segment 1 opens its file anew, and must not take it for its own. */
static void expect_refused(fixture *f, const char *text)
{
    uint8_t bytes[100] = {0};
    struct iovec part = {bytes, sizeof bytes};
    ash_placed placed;
    ash__segments_free(f->segments);
    open_segments(f);
    ash__segments_add(f->segments, 1, 256, 0);
    assert_int_equal(
        ash__segments_write(f->segments, &(ash_record_draft){COLL, 2, &part, 1}, &placed, &f->err),
        ASH_ECORRUPT);
    if (strstr(f->err.text, text) == NULL)
        fail_msg("\"%s\" lacks \"%s\"", f->err.text, text);
}

static void test_segment_space__nothing_is_written_into_another_file(void **state)
{
    fixture *f = *state;
    uint8_t head[48];
    struct stat st;
    put(f, 1, 100);
    char *path = ash__sprintf("%s/00000001.seg", f->folder);
    char *aside = ash__sprintf("%s/aside", f->folder);
    assert_int_equal(rename(path, aside), 0);
    expect_refused(f, "00000001 is missing");
    assert_int_not_equal(stat(path, &st), 0);

    int fd = open(path, O_RDWR | O_CREAT, 0600);
    assert_true(fd >= 0);
    expect_refused(f, "00000001 was cut off");
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_size, 0);
    close(fd);

    assert_int_equal(rename(aside, path), 0);
    fd = open(path, O_RDWR);
    assert_int_equal(ftruncate(fd, 100 * ASH_BLOCK_BYTES), 0);
    expect_refused(f, "00000001 was cut off");
    assert_int_equal(ftruncate(fd, 256 * ASH_BLOCK_BYTES), 0);
    assert_int_equal(pread(fd, head, sizeof head, 0), sizeof head);
    head[16] ^= 1; /* another store's id */
    ash__put_le64(head + 40, ash__checksum(head, 40));
    assert_int_equal(pwrite(fd, head, sizeof head, 0), sizeof head);
    expect_refused(f, "00000001 belongs elsewhere");
    close(fd);
    ash__free(aside);
    ash__free(path);
}

static void test_segment_hold__pins_count(void **state)
{
    fixture *f = *state;
    ash_segments_stats stats;
    ash_placed p = put(f, 1, 100);
    ash__segments_mark(f->segments, p.extent);
    ash__segments_pin(f->segments, p.extent.segment, p.extent.block);
    ash__segments_pin(f->segments, p.extent.segment, p.extent.block);
    assert_ok(ash__segments_unmark(f->segments, p.extent, &f->err), &f->err);
    ash__segments_hold(f->segments, p.extent, 1);
    ash__segments_reap(f->segments, UINT64_MAX);
    ash__segments_unpin(f->segments, p.extent.segment, p.extent.block);
    ash_placed other = put(f, 2, 100);
    assert_int_not_equal(other.extent.block, p.extent.block);
    assert_true(reads_back(f, &p));
    ash__segments_unpin(f->segments, p.extent.segment, p.extent.block);
    ash__segments_stats(f->segments, &stats);
    assert_int_equal(stats.held, 0);
    assert_int_equal(stats.pins, 0);
    other = put(f, 3, 100);
    assert_int_equal(other.extent.block, p.extent.block);
}

#define TEST(name)       cmocka_unit_test_setup_teardown(name, setup, teardown)
#define TEST_LARGE(name) cmocka_unit_test_setup_teardown(name, setup_large, teardown)

static size_t longest_chain(const ash_segments *s)
{
    size_t longest = 0;
    for (uint64_t i = 0; i < s->pin_chains; i++) {
        size_t length = 0;
        for (const ash_pin *pin = s->pins[i]; pin != NULL; pin = pin->next)
            length++;
        longest = length > longest ? length : longest;
    }
    return longest;
}

/* A download of a large file pins as many records as it has chunks. */
static void test_segment_hold__many_pins_are_found_at_once(void **state)
{
    enum { PINS = 100000, A_SEGMENT = 1000 };
    fixture *f = *state;
    ash_segments_stats stats;
    for (uint32_t i = 0; i < PINS; i++)
        ash__segments_pin(f->segments, 1 + i / A_SEGMENT, 1 + i % A_SEGMENT * 64);
    assert_in_range(longest_chain(f->segments), 1, 30);
    for (uint32_t i = 0; i < PINS; i++)
        ash__segments_unpin(f->segments, 1 + i / A_SEGMENT, 1 + i % A_SEGMENT * 64);
    ash__segments_stats(f->segments, &stats);
    assert_int_equal(stats.pins, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_segment_record__bytes_are_as_specified),
        TEST(test_segment_record__every_difference_is_found),
        TEST(test_segment_record__a_part_is_verified_alone),
        TEST(test_segment_record__a_large_plain_one_is_read),
        TEST(test_segment_space__free_neighbours_become_one),
        TEST(test_segment_space__new_segments_when_full),
        TEST(test_segment_space__maps_are_loaded_when_needed),
        TEST(test_segment_sync__what_was_unsynced_at_a_failure_is_lost),
        TEST(test_segment_sync__all_who_ask_at_once_learn_of_a_failure),
        TEST(test_segment_sync__what_was_being_written_at_a_failure_is_lost),
        TEST_LARGE(test_segment_write__little_is_ahead_of_the_disk),
        TEST_LARGE(test_segment_write__nobody_waits_without_commits),
        TEST_LARGE(test_segment_write__what_write_back_dropped_is_lost),
        TEST_LARGE(test_segment_write__nobody_waits_beside_a_sync),
        TEST(test_segment_space__many_writers_never_overlap),
        TEST(test_segment_space__nothing_is_written_into_another_file),
        TEST(test_segment_hold__pins_count),
        TEST(test_segment_hold__many_pins_are_found_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
