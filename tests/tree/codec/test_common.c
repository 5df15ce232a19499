/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "tree/codec/bytes.h"

#include "base/mem.h"
#include "tree/codec/common.h"

#include <string.h>

enum { LEN = 1000000, PREFIX_LEN = 3 * LEN, SEEDS = 10 };

static bool common(const uint8_t *data, size_t len, const uint8_t *in, size_t in_len)
{
    return ash__has_common_run((ash_span){data, len}, (ash_span){in, in_len});
}

static void test_tree_codec_common__strange_bytes(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < SEEDS; seed++) {
        uint8_t *data = bytes_random(seed, LEN), *in = bytes_random(seed + 100, PREFIX_LEN);
        assert_false(common(data, LEN, in, PREFIX_LEN));
        ash__free(data);
        ash__free(in);
    }
}

/* A quarter of it, in runs of a few hundred bytes that lie elsewhere: what a delta is made of. */
static void test_tree_codec_common__a_quarter_is_seen(void **state)
{
    enum { RUN = 256 };
    (void)state;
    for (uint64_t seed = 1; seed < SEEDS; seed++) {
        uint8_t *data = bytes_random(seed, LEN), *in = bytes_random(seed + 100, PREFIX_LEN);
        for (size_t at = seed; at + RUN <= LEN; at += 4 * RUN)
            memcpy(data + at, in + LEN + at + 7, RUN);
        assert_true(common(data, LEN, in, PREFIX_LEN));
        ash__free(data);
        ash__free(in);
    }
}

/* Wherever it lies, the last bytes of both included. */
static void test_tree_codec_common__at_the_ends(void **state)
{
    (void)state;
    uint8_t *data = bytes_random(1, LEN), *in = bytes_random(2, PREFIX_LEN);
    memcpy(in, data, 32);
    assert_true(common(data, LEN, in, PREFIX_LEN));
    assert_true(common(data, LEN, in, 32));
    assert_false(common(data, LEN, in, 31));
    assert_false(common(data, LEN, in + 1, PREFIX_LEN - 1));
    memcpy(in + PREFIX_LEN - 32, data, 32);
    assert_true(common(data, LEN, in + 1, PREFIX_LEN - 1));
    assert_false(common(data, LEN, in, 0));
    ash__free(data);
    ash__free(in);
}

static void test_tree_codec_common__little_is_taken_for_like(void **state)
{
    (void)state;
    uint8_t *data = bytes_random(1, 4096), *in = bytes_random(2, LEN);
    assert_true(common(data, 3071, in, LEN));
    assert_false(common(data, 3072, in, LEN));
    ash__free(data);
    ash__free(in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tree_codec_common__strange_bytes),
        cmocka_unit_test(test_tree_codec_common__a_quarter_is_seen),
        cmocka_unit_test(test_tree_codec_common__at_the_ends),
        cmocka_unit_test(test_tree_codec_common__little_is_taken_for_like),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
