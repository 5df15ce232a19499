/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "base/file.h"
#include "base/mem.h"
#include "remove_folder.h"
#include "segment/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* What is punched at a segment's end: all of it, and nothing before or behind. */

enum { COLL = 7, PIECE_BLOCKS = (64 << 20) / ASH_BLOCK_BYTES, CALLS_MAX = 8 };

/* What reached the file. */
static struct {
    off_t offset, len;
} calls[CALLS_MAX];
static size_t call_count;

static int noted_punch(int fd, off_t offset, off_t len)
{
    assert_in_range(call_count, 0, CALLS_MAX - 1);
    calls[call_count].offset = offset;
    calls[call_count++].len = len;
    return ash__io_system.punch(fd, offset, len);
}

static int all_is_free(void *ctx, uint32_t segment, uint8_t *map, uint32_t blocks, ash_error *err)
{
    (void)ctx, (void)segment, (void)map, (void)blocks, (void)err;
    return 0;
}

typedef struct fixture {
    char folder[64];
    ash_segments *segments;
    ash_error err;
} fixture;

static int setup(void **state)
{
    static ash_io io;
    fixture *f = ash__new(fixture);
    strcpy(f->folder, "/tmp/ash-punch-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    ash_segments_options opts = {
        .folder = f->folder, .segment_bytes = 1 << 20, .load = all_is_free};
    f->segments = ash__segments_new(&opts);
    io = ash__io_system;
    io.punch = noted_punch;
    ash__io_set(&io);
    call_count = 0;
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    ash__io_set(&ash__io_system);
    ash__segments_free(f->segments);
    remove_folder(f->folder);
    ash__free(f);
    return 0;
}

/* A record that takes so many blocks, all of its bytes the same. */
static ash_placed put(fixture *f, uint8_t byte, uint32_t blocks)
{
    ash_placed placed;
    size_t len = (size_t)blocks * ASH_BLOCK_BYTES - ASH_RECORD_HEADER_BYTES;
    uint8_t *bytes = ash__alloc(len);
    memset(bytes, byte, len);
    struct iovec part = {bytes, len};
    assert_ok(ash__segments_write(f->segments, &(ash_record_draft){COLL, byte, &part, 1}, &placed,
                                  &f->err),
              &f->err);
    assert_int_equal(placed.extent.blocks, blocks);
    ash__free(bytes);
    return placed;
}

static void expect_whole(fixture *f, const ash_placed *p)
{
    const uint8_t *bytes;
    ash_place place = {p->extent.segment, p->extent.block, p->len, p->sequence};
    assert_ok(ash__segments_read(f->segments, &place, COLL, true, &bytes, &f->err), &f->err);
    for (uint32_t i = 0; i < p->len; i++)
        assert_int_equal(bytes[i], (uint8_t)p->sequence);
}

static off_t file_bytes(fixture *f)
{
    struct stat st;
    char *path = ash__segment_path(f->segments, 1);
    assert_int_equal(stat(path, &st), 0);
    ash__free(path);
    return st.st_size;
}

static void punch(fixture *f, uint32_t least_blocks)
{
    ash_punch_options o = {.least_blocks = least_blocks};
    uint64_t freed;
    call_count = 0;
    assert_ok(ash__segments_punch(f->segments, &o, &freed, &f->err), &f->err);
}

static void expect_call(size_t i, uint32_t block, uint32_t blocks)
{
    assert_in_range(i, 0, call_count - 1);
    assert_int_equal(calls[i].offset, (off_t)block * ASH_BLOCK_BYTES);
    assert_int_equal(calls[i].len, (off_t)blocks * ASH_BLOCK_BYTES);
}

static void test_segment_punch__the_last_extent(void **state)
{
    enum { BLOCKS = (1 << 20) / ASH_BLOCK_BYTES, FIRST = 100, LAST = BLOCKS - 1 - FIRST };
    fixture *f = *state;
    ash_segments_stats stats;
    ash_placed first = put(f, 1, FIRST), last = put(f, 2, LAST);
    assert_int_equal(last.extent.segment, 1);
    assert_int_equal(last.extent.block + LAST, BLOCKS);
    const off_t size = file_bytes(f);
    assert_int_equal(size, (off_t)BLOCKS * ASH_BLOCK_BYTES);
    punch(f, 1);
    assert_int_equal(call_count, 0); /* nothing is free */
    ash__segments_give(f->segments, last.extent);
    punch(f, 1);
    assert_int_equal(call_count, 1);
    expect_call(0, last.extent.block, LAST);
    assert_int_equal(file_bytes(f), size); /* as the header says: else it would be cut off */
    assert_ok(ash__segments_check_file(f->segments, 1, &f->err), &f->err);
    expect_whole(f, &first);
    ash__segments_stats(f->segments, &stats);
    assert_int_equal(stats.free, LAST);
    /* It is given away again, to its last block. */
    ash_placed again = put(f, 3, LAST);
    assert_int_equal(again.extent.block, last.extent.block);
    expect_whole(f, &again);
    expect_whole(f, &first);
}

static void test_segment_punch__one_block_at_the_end(void **state)
{
    enum { BLOCKS = (1 << 20) / ASH_BLOCK_BYTES };
    fixture *f = *state;
    ash_placed first = put(f, 1, BLOCKS - 2), last = put(f, 2, 1);
    assert_int_equal(last.extent.block, BLOCKS - 1);
    ash__segments_give(f->segments, last.extent);
    punch(f, 2);
    assert_int_equal(call_count, 0); /* shorter than what is worth it */
    punch(f, 1);
    assert_int_equal(call_count, 1);
    expect_call(0, BLOCKS - 1, 1);
    expect_whole(f, &first);
}

/* Pieces of 64 MiB, of which the last is what is left of the span: shorter than the least that a
 * span has to be, it is punched all the same. */
static void test_segment_punch__what_is_left_behind_whole_pieces(void **state)
{
    enum { BLOCKS = 1 + 2 * PIECE_BLOCKS + 3 };
    fixture *f = *state;
    ash_segments_stats stats;
    int fd = -1;
    assert_ok(ash__segment_create(f->segments, 1, BLOCKS, &fd, &f->err), &f->err);
    ash__file_close(fd);
    ash__segments_add(f->segments, 1, BLOCKS, 0);
    punch(f, 256);
    assert_int_equal(call_count, 3);
    expect_call(0, 1, PIECE_BLOCKS);
    expect_call(1, 1 + PIECE_BLOCKS, PIECE_BLOCKS);
    expect_call(2, 1 + 2 * PIECE_BLOCKS, 3);
    assert_int_equal(file_bytes(f), (off_t)BLOCKS * ASH_BLOCK_BYTES);
    assert_ok(ash__segments_check_file(f->segments, 1, &f->err), &f->err);
    ash__segments_stats(f->segments, &stats);
    assert_int_equal(stats.free, BLOCKS - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define here(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
        here(test_segment_punch__the_last_extent),
        here(test_segment_punch__one_block_at_the_end),
        here(test_segment_punch__what_is_left_behind_whole_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
