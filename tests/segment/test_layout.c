/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"
#include "segment/layout.h"

#include <string.h>

enum { COLL = 9, SEQUENCE = 77 };

/* A record in memory, as a writer makes it. */
static uint8_t *make(uint32_t len, const ash_layout *layout)
{
    uint8_t *payload = ash__alloc(len);
    uint8_t *record = ash__alloc((size_t)ash__segment_blocks_for(len) * ASH_BLOCK_BYTES);
    for (uint32_t i = 0; i < len; i++)
        payload[i] = (uint8_t)(i * 31 + i / 251);
    /* In parts that end anywhere, one of them empty. */
    size_t cut = len / 3;
    struct iovec parts[4] = {
        {payload, 1}, {payload + 1, cut}, {payload, 0}, {payload + 1 + cut, len - 1 - cut}};
    ash__record_head_make(record, layout, &(ash_record_draft){COLL, SEQUENCE, parts, 4}, len);
    memcpy(record + layout->offset, payload, len);
    ash__free(payload);
    return record;
}

static bool holds(const ash_payload *p, size_t from, size_t to)
{
    size_t wide_from = from, wide_to = to;
    bool whole = ash__payload_holds(p, &wide_from, &wide_to);
    assert_true(wide_from <= from && wide_to >= to && wide_to <= p->len);
    return whole;
}

static void test_segment_layout__blocks_depend_on_the_length_alone(void **state)
{
    (void)state;
    uint32_t in_pieces = 0;
    for (uint32_t len = 1; len < 17u << 20; len += len < 70000 ? 1 : 4093) {
        ash_layout l = ash__layout_for(len);
        assert_true(l.offset + (uint64_t)len <=
                    (uint64_t)ash__segment_blocks_for(len) * ASH_BLOCK_BYTES);
        assert_true(len > ASH_PLAIN_MAX_BYTES || l.piece == 0);
        assert_true(l.piece == 0 ? l.offset == 48 && l.sums == 0 : l.offset % 64 == 0);
        in_pieces += len > ASH_PLAIN_MAX_BYTES && l.piece != 0;
    }
    assert_true(in_pieces > 50000);
}

static void test_segment_layout__a_usual_chunk_has_pieces_of_one_block(void **state)
{
    (void)state;
    /* 255 KiB, an ObjectId, a file's id of 12 and of 300 bytes. */
    assert_int_equal(ash__layout_for(255 * 1024 + 62).piece, 4096);
    assert_int_equal(ash__layout_for(255 * 1024 + 350).piece, 4096);
    assert_int_equal(ash__segment_blocks_for(255 * 1024 + 350), 64);
    /* Less room, larger pieces; no room, the plain form. */
    assert_int_equal(ash__layout_for(255 * 1024 + 600).piece, 8192);
    assert_int_equal(ash__layout_for(256 * 1024 - 48).piece, 0);
}

static void test_segment_layout__bytes_are_as_specified(void **state)
{
    (void)state;
    uint32_t len = 20000;
    ash_payload p;
    ash_layout l = ash__layout_for(len);
    uint8_t *record = make(len, &l);
    assert_int_equal(l.piece, 4096);
    assert_int_equal(l.sums, 1 + 5);
    assert_int_equal(l.offset, 128);
    assert_memory_equal(
        record, "ASHS\x20\x4e\0\0\x4d\0\0\0\0\0\0\0\x09\0\0\0\0\0\0\0\0\x10\0\0\0\0\0\0", 32);
    assert_true(ash__get_le64(record + 32) == ash__checksum(record + 48, 48));
    assert_true(ash__get_le64(record + 40) == ash__checksum(record, 40));
    assert_true(ash__get_le64(record + 48) == ash__checksum(record + 128, 256));
    assert_true(ash__get_le64(record + 56) == ash__checksum(record + 128 + 256, 4096));
    assert_true(ash__get_le64(record + 88) ==
                ash__checksum(record + 128 + 256 + 4 * 4096, 20000 - 256 - 4 * 4096));
    assert_null(ash__record_open(record, len, &p));
    assert_ptr_equal(ash__payload_data(&p), record + 128);
    assert_true(holds(&p, 0, len));
    ash__free(record);
}

static void test_segment_layout__a_part_is_verified_alone(void **state)
{
    (void)state;
    uint32_t len = 255 * 1024 + 62;
    ash_payload p;
    ash_layout l = ash__layout_for(len);
    uint8_t *record = make(len, &l);
    assert_null(ash__record_open(record, len, &p));
    size_t from = 5000, to = 5001;
    assert_true(ash__payload_holds(&p, &from, &to));
    assert_int_equal(from, 256 + 4096);
    assert_int_equal(to, 256 + 2 * 4096);
    record[l.offset + 100000] ^= 1;
    size_t piece = (100000 - 256) / 4096 * 4096 + 256;
    assert_true(holds(&p, 0, piece));
    assert_true(holds(&p, piece + 4096, len));
    assert_false(holds(&p, piece, piece + 1));
    assert_false(holds(&p, piece - 1, piece + 1));
    assert_false(holds(&p, piece + 4095, len));
    assert_false(holds(&p, 0, len));
    ash__free(record);
}

/* Whatever byte is hit: the header, or the payload where it was hit, says so. */
static void every_flip_shows(uint32_t len, const ash_layout *l)
{
    ash_payload p;
    uint8_t *record = make(len, l);
    size_t padding = l->piece == 0 ? 48 : 48 + (size_t)8 * l->sums;
    for (size_t at = 0; at < l->offset + (size_t)len; at += at < 1000 ? 1 : 37) {
        record[at] ^= 0x10;
        const char *wrong = ash__record_open(record, len, &p);
        if (at < padding)
            assert_non_null(wrong);
        else
            assert_null(wrong);
        if (at >= l->offset)
            assert_false(holds(&p, at - l->offset, at - l->offset + 1));
        record[at] ^= 0x10;
    }
    ash__free(record);
}

static void test_segment_layout__every_flip_shows(void **state)
{
    (void)state;
    ash_layout l = ash__layout_for(50000);
    assert_true(l.piece != 0);
    every_flip_shows(50000, &l);
    every_flip_shows(50000, &ash__layout_plain);
    every_flip_shows(300, &ash__layout_plain);
}

static void test_segment_layout__sizes_that_cannot_be_are_refused(void **state)
{
    (void)state;
    ash_payload p;
    ash_layout l = ash__layout_for(50000);
    uint8_t *record = make(50000, &l);
    static const uint32_t pieces[] = {0, 1, 2048, 4097, 3 * 4096, 1u << 25, 1u << 31};
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        ash__put_le32(record + 24, pieces[i]);
        ash__put_le64(record + 40, ash__checksum(record, 40));
        assert_string_equal(ash__record_open(record, 50000, &p), "a record with damaged checksums");
    }
    assert_string_equal(ash__record_open(record, 50001, &p), "another record");
    ash__free(record);
}

static void
test_segment_layout__the_root_tells_a_damaged_header_from_a_damaged_payload(void **state)
{
    (void)state;
    bool table;
    ash_layout l = ash__layout_for(50000);
    uint8_t *record = make(50000, &l);
    uint64_t root = ash__get_le64(record + 32);
    assert_true(ash__payload_root(record, 50000, &l, &table) == root && table);
    record[50] ^= 1; /* in the table */
    assert_true(ash__payload_root(record, 50000, &l, &table) == root && !table);
    record[l.offset + 9] ^= 1;
    assert_true(ash__payload_root(record, 50000, &l, &table) != root && !table);
    ash__free(record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_segment_layout__blocks_depend_on_the_length_alone),
        cmocka_unit_test(test_segment_layout__a_usual_chunk_has_pieces_of_one_block),
        cmocka_unit_test(test_segment_layout__bytes_are_as_specified),
        cmocka_unit_test(test_segment_layout__a_part_is_verified_alone),
        cmocka_unit_test(test_segment_layout__every_flip_shows),
        cmocka_unit_test(test_segment_layout__sizes_that_cannot_be_are_refused),
        cmocka_unit_test(
            test_segment_layout__the_root_tells_a_damaged_header_from_a_damaged_payload),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
