/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "tree/codec/bytes.h"

#include "base/mem.h"
#include "tree/codec/cutter.h"

#include <string.h>

enum { MIN = 2048, AVG = 8192, MAX = 65536, LEN = 4000000, MAX_ENDS = LEN / MIN + 2 };

typedef struct ends {
    size_t at[MAX_ENDS];
    size_t count;
} ends;

/* Fed in steps; the content's own end is not counted. */
static void cut(ash_cutter *c, const uint8_t *data, size_t len, size_t step, ends *out)
{
    out->count = 0;
    for (size_t at = 0; at < len;) {
        bool ended;
        size_t left = step < len - at ? step : len - at;
        size_t used = ash__cutter_feed(c, data + at, left, &ended);
        assert_true(used > 0 && used <= left && (ended || used == left));
        at += used;
        if (ended)
            out->at[out->count++] = at;
    }
    ash__cutter_reset(c);
}

static void test_tree_codec_cutter__pieces_keep_to_their_lengths(void **state)
{
    (void)state;
    ash_cutter c;
    ends *e = ash__new(ends);
    uint8_t *random = bytes_random(1, LEN), *text = bytes_text(2, LEN);
    ash__cutter_init(&c, MIN, AVG, MAX);
    for (int kind = 0; kind < 2; kind++) {
        cut(&c, kind == 0 ? random : text, LEN, LEN, e);
        for (size_t i = 0, from = 0; i < e->count; from = e->at[i++])
            assert_in_range(e->at[i] - from, MIN, MAX);
        assert_in_range(LEN / e->count, AVG / 2, AVG * 2);
    }
    ash__free(e);
    ash__free(random);
    ash__free(text);
}

static void test_tree_codec_cutter__steps_do_not_matter(void **state)
{
    (void)state;
    static const size_t steps[] = {1, 63, 2047, 2049, 100000};
    ash_cutter c;
    ends *whole = ash__new(ends), *stepped = ash__new(ends);
    uint8_t *random = bytes_random(3, LEN);
    ash__cutter_init(&c, MIN, AVG, MAX);
    cut(&c, random, LEN, LEN, whole);
    for (size_t i = 0; i < ASH_ARRAY_LEN(steps); i++) {
        cut(&c, random, LEN, steps[i], stepped);
        assert_int_equal(stepped->count, whole->count);
        assert_memory_equal(stepped->at, whole->at, whole->count * sizeof whole->at[0]);
    }
    ash__free(whole);
    ash__free(stepped);
    ash__free(random);
}

static bool is_end(const ends *e, size_t at)
{
    for (size_t i = 0; i < e->count; i++)
        if (e->at[i] == at)
            return true;
    return false;
}

static void test_tree_codec_cutter__bytes_in_front_change_the_first_pieces_only(void **state)
{
    (void)state;
    enum { FRONT = 100 };
    ash_cutter c;
    ends *before = ash__new(ends), *after = ash__new(ends);
    ash__cutter_init(&c, MIN, AVG, MAX);
    for (uint64_t seed = 10; seed < 20; seed++) {
        uint8_t *with = bytes_random(seed, LEN + FRONT);
        cut(&c, with + FRONT, LEN, LEN, before);
        cut(&c, with, LEN + FRONT, LEN + FRONT, after);
        size_t lost = 0;
        for (size_t i = 0; i < before->count; i++)
            lost += !is_end(after, before->at[i] + FRONT);
        assert_true(lost <= 6);
        assert_true(is_end(after, before->at[before->count - 1] + FRONT));
        ash__free(with);
    }
    ash__free(before);
    ash__free(after);
}

static void test_tree_codec_cutter__equal_bytes_end_at_the_greatest_length(void **state)
{
    (void)state;
    ash_cutter c;
    ends *e = ash__new(ends);
    uint8_t *zeros = ash__alloc(LEN);
    ash__cutter_init(&c, MIN, AVG, MAX);
    cut(&c, zeros, LEN, LEN, e);
    assert_int_equal(e->count, LEN / MAX);
    for (size_t i = 0; i < e->count; i++)
        assert_int_equal(e->at[i], (i + 1) * MAX);
    ash__free(e);
    ash__free(zeros);
}

/* A store's pieces are found again only as long as they end where they did. */
static void test_tree_codec_cutter__ends_are_where_they_always_were(void **state)
{
    (void)state;
    static const size_t known[] = {8290, 14276, 24120, 36026};
    ash_cutter c;
    ends *e = ash__new(ends);
    uint8_t *random = bytes_random(4, LEN);
    ash__cutter_init(&c, MIN, AVG, MAX);
    cut(&c, random, LEN, LEN, e);
    for (size_t i = 0; i < ASH_ARRAY_LEN(known); i++)
        assert_int_equal(e->at[i], known[i]);
    ash__free(e);
    ash__free(random);
}

static void test_tree_codec_cutter__little_or_nothing_has_no_end(void **state)
{
    (void)state;
    ash_cutter c;
    bool ended = true;
    uint8_t *random = bytes_random(5, MIN);
    ash__cutter_init(&c, ASH_CUTTER_MIN_BYTES, 256, 1024);
    assert_int_equal(ash__cutter_feed(&c, random, 0, &ended), 0);
    assert_false(ended);
    assert_int_equal(ash__cutter_feed(&c, random, 1, &ended), 1);
    assert_false(ended);
    size_t used = ash__cutter_feed(&c, random + 1, MIN - 1, &ended);
    assert_true(ended);
    assert_in_range(used, ASH_CUTTER_MIN_BYTES - 1, 1023);
    ash__free(random);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tree_codec_cutter__pieces_keep_to_their_lengths),
        cmocka_unit_test(test_tree_codec_cutter__steps_do_not_matter),
        cmocka_unit_test(test_tree_codec_cutter__bytes_in_front_change_the_first_pieces_only),
        cmocka_unit_test(test_tree_codec_cutter__equal_bytes_end_at_the_greatest_length),
        cmocka_unit_test(test_tree_codec_cutter__ends_are_where_they_always_were),
        cmocka_unit_test(test_tree_codec_cutter__little_or_nothing_has_no_end),
    };
    return cmocka_run_group_tests_name("tree/codec/cutter", tests, NULL, NULL);
}
