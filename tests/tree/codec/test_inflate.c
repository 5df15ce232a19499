/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "tree/codec/bytes.h"

#include "base/mem.h"
#include "tree/codec/inflate.h"

#include <string.h>

static const ash_deflate_form forms[] = {ASH_DEFLATE_RAW, ASH_DEFLATE_GZIP};

static ash_buffer pack(ash_deflate_form form, const void *data, size_t len)
{
    ash_buffer out = ASH_BUFFER_INIT;
    ash_error err;
    assert_ok(ash__deflate(form, data, len, &out, &err), &err);
    return out;
}

static int unpack(ash_deflate_form form, const void *packed, size_t len, uint64_t max,
                  ash_buffer *out)
{
    ash_error err;
    ash__buffer_clear(out);
    int rc = ash__inflate(form, packed, len, max, out, &err);
    assert_true(rc == 0 || err.text[0] != '\0');
    assert_true(out->len <= max);
    return rc;
}

static void test_tree_codec_inflate__gives_back_what_it_took(void **state)
{
    (void)state;
    static const size_t lengths[] = {0, 1, 12, 65535, 65536, 65537, 400000};
    uint8_t *text = bytes_text(1, 400000), *random = bytes_random(2, 400000);
    ash_buffer back = ASH_BUFFER_INIT;
    for (size_t i = 0; i < ASH_ARRAY_LEN(lengths); i++)
        for (int n = 0; n < 4; n++) {
            const uint8_t *data = n < 2 ? text : random;
            ash_buffer packed = pack(forms[n % 2], data, lengths[i]);
            assert_int_equal(unpack(forms[n % 2], packed.data, packed.len, lengths[i], &back), 0);
            assert_int_equal(back.len, lengths[i]);
            assert_true(back.len == 0 || memcmp(back.data, data, back.len) == 0);
            ash__buffer_release(&packed);
        }
    ash__buffer_release(&back);
    ash__free(text);
    ash__free(random);
}

/* Bytes that other programs made: Python's zlib, windowBits -15, and gzip(1). */
static void test_tree_codec_inflate__reads_what_others_wrote(void **state)
{
    (void)state;
    static const uint8_t raw[] = {0x4b, 0x4c, 0x4a, 0x4e, 0x84, 0x20, 0x00};
    static const uint8_t gzip[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
                                   0x03, 0x4b, 0x4c, 0x4a, 0x4e, 0x84, 0x20, 0x00, 0x5d,
                                   0x0b, 0x9d, 0xfb, 0x0a, 0x00, 0x00, 0x00};
    ash_buffer back = ASH_BUFFER_INIT;
    assert_int_equal(unpack(ASH_DEFLATE_RAW, raw, sizeof raw, 100, &back), 0);
    assert_string_equal(ash__buffer_text(&back), "abcabcabca");
    assert_int_equal(unpack(ASH_DEFLATE_GZIP, gzip, sizeof gzip, 100, &back), 0);
    assert_string_equal(ash__buffer_text(&back), "abcabcabca");
    assert_int_equal(unpack(ASH_DEFLATE_RAW, gzip, sizeof gzip, 100, &back), ASH_ECORRUPT);
    assert_int_equal(unpack(ASH_DEFLATE_GZIP, raw, sizeof raw, 100, &back), ASH_ECORRUPT);
    ash__buffer_release(&back);
}

static void test_tree_codec_inflate__cut_off_or_longer_input_is_corrupt(void **state)
{
    (void)state;
    enum { LEN = 2000 };
    uint8_t *text = bytes_text(3, LEN);
    ash_buffer back = ASH_BUFFER_INIT;
    for (size_t f = 0; f < 2; f++) {
        ash_buffer packed = pack(forms[f], text, LEN);
        for (size_t cut = 0; cut < packed.len; cut++)
            assert_int_equal(unpack(forms[f], packed.data, cut, LEN, &back), ASH_ECORRUPT);
        ash__buffer_append_byte(&packed, 0);
        assert_int_equal(unpack(forms[f], packed.data, packed.len, LEN, &back), ASH_ECORRUPT);
        ash__buffer_release(&packed);
    }
    ash__buffer_release(&back);
    ash__free(text);
}

static void test_tree_codec_inflate__a_gzip_checksum_counts(void **state)
{
    (void)state;
    ash_buffer packed = pack(ASH_DEFLATE_GZIP, "some bytes", 10), back = ASH_BUFFER_INIT;
    for (size_t at = packed.len - 8; at < packed.len; at++) {
        packed.data[at] ^= 1;
        assert_int_equal(unpack(ASH_DEFLATE_GZIP, packed.data, packed.len, 100, &back),
                         ASH_ECORRUPT);
        packed.data[at] ^= 1;
    }
    ash__buffer_release(&packed);
    ash__buffer_release(&back);
}

static void test_tree_codec_inflate__little_that_becomes_much_is_stopped(void **state)
{
    (void)state;
    enum { LEN = 20000000 };
    uint8_t *zeros = ash__alloc(LEN);
    ash_buffer back = ASH_BUFFER_INIT;
    for (size_t f = 0; f < 2; f++) {
        ash_buffer packed = pack(forms[f], zeros, LEN);
        assert_true(packed.len < 30000);
        assert_int_equal(unpack(forms[f], packed.data, packed.len, 0, &back), ASH_ETOOBIG);
        assert_int_equal(unpack(forms[f], packed.data, packed.len, 65536, &back), ASH_ETOOBIG);
        assert_true(back.capacity < 1000000);
        assert_int_equal(unpack(forms[f], packed.data, packed.len, LEN - 1, &back), ASH_ETOOBIG);
        assert_int_equal(unpack(forms[f], packed.data, packed.len, LEN, &back), 0);
        assert_int_equal(back.len, LEN);
        ash__buffer_release(&back);
        ash__buffer_release(&packed);
    }
    ash__free(zeros);
}

/* In and out in parts of any size: what comes out is the same. */
static void check_in_parts(ash_deflate_form form, const ash_buffer *packed, const uint8_t *text,
                           size_t len, size_t in_part, size_t out_part)
{
    ash_inflater *i = ash__inflater_new(form, len);
    uint8_t *back = ash__alloc(len + out_part);
    size_t in_at = 0, out_at = 0, made = out_part;
    ash_error err;
    while (in_at < packed->len || made == out_part) {
        size_t used = in_part < packed->len - in_at ? in_part : packed->len - in_at;
        made = out_part;
        assert_ok(ash__inflater_feed(i, packed->data + in_at, &used, back + out_at, &made, &err),
                  &err);
        in_at += used;
        out_at += made;
        assert_true(out_at <= len);
    }
    assert_ok(ash__inflater_finish(i, &err), &err);
    assert_int_equal(out_at, len);
    assert_memory_equal(back, text, len);
    ash__inflater_free(i);
    ash__free(back);
}

static void test_tree_codec_inflate__parts_of_any_size_will_do(void **state)
{
    (void)state;
    static const size_t parts[] = {1, 7, 1000, 100000};
    enum { LEN = 50000 };
    uint8_t *text = bytes_text(4, LEN);
    for (size_t f = 0; f < 2; f++) {
        ash_buffer packed = pack(forms[f], text, LEN);
        for (size_t a = 0; a < ASH_ARRAY_LEN(parts); a++)
            for (size_t b = 0; b < ASH_ARRAY_LEN(parts); b++)
                check_in_parts(forms[f], &packed, text, LEN, parts[a], parts[b]);
        ash__buffer_release(&packed);
    }
    ash__free(text);
}

static void test_tree_codec_inflate__flipped_bits_stay_in_bounds(void **state)
{
    (void)state;
    enum { LEN = 3000 };
    uint8_t *text = bytes_text(5, LEN);
    ash_buffer back = ASH_BUFFER_INIT;
    for (size_t f = 0; f < 2; f++) {
        ash_buffer packed = pack(forms[f], text, LEN);
        for (size_t at = 0; at < packed.len * 8; at++) {
            packed.data[at / 8] ^= (uint8_t)(1 << at % 8);
            int rc = unpack(forms[f], packed.data, packed.len, 2 * LEN, &back);
            assert_true(rc == 0 || rc == ASH_ECORRUPT || rc == ASH_ETOOBIG);
            packed.data[at / 8] ^= (uint8_t)(1 << at % 8);
        }
        ash__buffer_release(&packed);
    }
    ash__buffer_release(&back);
    ash__free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tree_codec_inflate__gives_back_what_it_took),
        cmocka_unit_test(test_tree_codec_inflate__reads_what_others_wrote),
        cmocka_unit_test(test_tree_codec_inflate__cut_off_or_longer_input_is_corrupt),
        cmocka_unit_test(test_tree_codec_inflate__a_gzip_checksum_counts),
        cmocka_unit_test(test_tree_codec_inflate__little_that_becomes_much_is_stopped),
        cmocka_unit_test(test_tree_codec_inflate__parts_of_any_size_will_do),
        cmocka_unit_test(test_tree_codec_inflate__flipped_bits_stay_in_bounds),
    };
    return cmocka_run_group_tests_name("tree/codec/inflate", tests, NULL, NULL);
}
