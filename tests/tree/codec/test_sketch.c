/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "tree/codec/bytes.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "tree/codec/sketch.h"

#include <string.h>

enum { LEN = 1000000 };

static int alike(const uint8_t *a, size_t a_len, const uint8_t *b, size_t b_len)
{
    ash_sketch one, two;
    ash__sketch_make(a, a_len, &one);
    ash__sketch_make(b, b_len, &two);
    assert_int_equal(ash__sketch_alike(&one, &two), ash__sketch_alike(&two, &one));
    return ash__sketch_alike(&one, &two);
}

static int shared_features(const uint8_t *a, const uint8_t *b, size_t len)
{
    ash_sketch one, two;
    int32_t ones[ASH_SKETCH_FEATURES], twos[ASH_SKETCH_FEATURES];
    ash__sketch_make(a, len, &one);
    ash__sketch_make(b, len, &two);
    int count = ash__sketch_features(&one, ones), shared = 0;
    assert_int_equal(ash__sketch_features(&two, twos), count);
    for (int i = 0; i < count; i++)
        shared += ones[i] == twos[i];
    return shared;
}

static void test_tree_codec_sketch__tells_alike_from_strange(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 10; seed++) {
        uint8_t *a = bytes_random(seed, LEN), *b = bytes_random(seed + 100, LEN);
        uint8_t *near = bytes_changed(a, LEN, seed, 100);
        assert_int_equal(alike(a, LEN, a, LEN), ASH_SKETCH_SLOTS);
        assert_int_equal(alike(a, LEN, b, LEN), 0);
        assert_in_range(alike(a, LEN, near, LEN), 13, 16);
        assert_int_equal(shared_features(a, b, LEN), 0);
        assert_in_range(shared_features(a, near, LEN), 1, 4);
        ash__free(a);
        ash__free(b);
        ash__free(near);
    }
}

static void test_tree_codec_sketch__place_does_not_matter_and_half_is_half(void **state)
{
    (void)state;
    int sum = 0;
    for (uint64_t seed = 20; seed < 40; seed++) {
        uint8_t *a = bytes_random(seed, 2 * LEN);
        assert_in_range(alike(a, LEN, a + 5, LEN), 15, 16);
        sum += alike(a, 2 * LEN, a + LEN, LEN);
        ash__free(a);
    }
    assert_in_range(sum, 110, 210); /* 20 times 8, by chance */
}

static void test_tree_codec_sketch__parts_of_any_size_will_do(void **state)
{
    (void)state;
    static const size_t parts[] = {1, 47, 1000};
    uint8_t *a = bytes_text(50, LEN);
    ash_sketch whole;
    ash__sketch_make(a, LEN, &whole);
    for (size_t i = 0; i < ASH_ARRAY_LEN(parts); i++) {
        ash_sketcher s;
        ash__sketcher_init(&s);
        for (size_t at = 0; at < LEN; at += parts[i])
            ash__sketcher_feed(&s, a + at, parts[i] < LEN - at ? parts[i] : LEN - at);
        assert_memory_equal(&s.sketch, &whole, sizeof whole);
    }
    ash__free(a);
}

static void test_tree_codec_sketch__what_is_short_or_dull_has_no_features(void **state)
{
    (void)state;
    int32_t features[ASH_SKETCH_FEATURES];
    ash_sketch s;
    uint8_t *zeros = ash__alloc(LEN), *random = bytes_random(60, LEN);
    ash__sketch_make(NULL, 0, &s);
    assert_int_equal(ash__sketch_features(&s, features), 0);
    assert_int_equal(ash__sketch_alike(&s, &s), 0);
    ash__sketch_make(random, 1, &s);
    assert_int_equal(ash__sketch_features(&s, features), 0);
    ash__sketch_make(zeros, LEN, &s);
    assert_int_equal(ash__sketch_features(&s, features), 0);
    ash__sketch_make(random, 16384, &s);
    assert_int_equal(ash__sketch_features(&s, features), ASH_SKETCH_FEATURES);
    ash__free(zeros);
    ash__free(random);
}

/* Kept in a byte a slot, or, by earlier versions, whole. */
static void test_tree_codec_sketch__short_ones_compare_as_whole_ones_do(void **state)
{
    (void)state;
    int sum = 0, short_sum = 0;
    for (uint64_t seed = 70; seed < 90; seed++) {
        uint8_t *a = bytes_random(seed, 2 * LEN), old[ASH_SKETCH_OLD_BYTES];
        ash_sketch one, two;
        ash_short_sketch short_one, short_two, read;
        ash__sketch_make(a, 2 * LEN, &one);
        ash__sketch_make(a + LEN, LEN, &two);
        ash__sketch_shorten(&one, &short_one);
        ash__sketch_shorten(&two, &short_two);
        sum += ash__sketch_alike(&one, &two);
        short_sum += ash__sketch_alike_short(&short_one, &short_two);
        assert_int_equal(ash__sketch_alike_short(&short_one, &short_one), ASH_SKETCH_SLOTS);
        for (int i = 0; i < ASH_SKETCH_SLOTS; i++)
            ash__put_le32(old + 4 * i, one.slots[i]);
        assert_true(ash__sketch_read(old, sizeof old, &read));
        assert_memory_equal(&read, &short_one, sizeof read);
        assert_true(ash__sketch_read(short_one.slots, sizeof short_one.slots, &read));
        assert_memory_equal(&read, &short_one, sizeof read);
        assert_false(ash__sketch_read(old, 17, &read));
        ash__free(a);
    }
    assert_in_range(short_sum, sum, sum + 5);
    ash_sketch empty;
    ash_short_sketch none;
    ash__sketch_make(NULL, 0, &empty);
    ash__sketch_shorten(&empty, &none);
    assert_int_equal(ash__sketch_alike_short(&none, &none), 0);
}

/* A store keeps sketches: later ones must compare with them. */
static void test_tree_codec_sketch__stays_what_it_always_was(void **state)
{
    (void)state;
    static const uint32_t known[] = {260232, 3445075, 3050600};
    int32_t features[ASH_SKETCH_FEATURES];
    ash_sketch s;
    uint8_t *random = bytes_random(61, LEN);
    ash__sketch_make(random, LEN, &s);
    for (size_t i = 0; i < ASH_ARRAY_LEN(known); i++)
        assert_int_equal(s.slots[i], known[i]);
    assert_int_equal(ash__sketch_features(&s, features), ASH_SKETCH_FEATURES);
    assert_int_equal(features[0], UINT64_C(0xec77217bea9c154c) >> 35);
    for (int i = 0; i < ASH_SKETCH_FEATURES; i++)
        assert_int_equal(features[i] >> 29, i);
    ash__free(random);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tree_codec_sketch__tells_alike_from_strange),
        cmocka_unit_test(test_tree_codec_sketch__place_does_not_matter_and_half_is_half),
        cmocka_unit_test(test_tree_codec_sketch__parts_of_any_size_will_do),
        cmocka_unit_test(test_tree_codec_sketch__what_is_short_or_dull_has_no_features),
        cmocka_unit_test(test_tree_codec_sketch__short_ones_compare_as_whole_ones_do),
        cmocka_unit_test(test_tree_codec_sketch__stays_what_it_always_was),
    };
    return cmocka_run_group_tests_name("tree/codec/sketch", tests, NULL, NULL);
}
