/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "tree/codec/bytes.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "tree/codec/zstd.h"

#include <string.h>
#include <zstd.h>

static const ash_span none;

typedef struct made {
    ash_zstd *z;
    uint8_t *frame;
    size_t len;
} made;

static made make(ash_span prefix, ash_span content)
{
    ash_frame out = {.room = ZSTD_compressBound(content.len)};
    made m = {.z = ash__zstd_new(), .frame = ash__alloc(out.room)};
    ash_error err;
    out.data = m.frame;
    assert_ok(ash__zstd_encode(m.z, prefix, content, &out, &err), &err);
    m.len = out.len;
    assert_true(m.len > 0);
    return m;
}

static void release(made *m)
{
    ash__zstd_free(m->z);
    ash__free(m->frame);
}

static void check_round_trip(ash_span prefix, ash_span content, size_t at_most)
{
    made m = make(prefix, content);
    uint8_t *back = ash__alloc(content.len + 1);
    ash_error err;
    assert_true(m.len <= at_most);
    for (int again = 0; again < 2; again++) {
        back[content.len] = 0x5a;
        assert_ok(
            ash__zstd_decode(m.z, prefix, (ash_span){m.frame, m.len}, back, content.len, &err),
            &err);
        assert_true(content.len == 0 || memcmp(back, content.data, content.len) == 0);
        assert_int_equal(back[content.len], 0x5a);
    }
    ash__free(back);
    release(&m);
}

static void test_tree_codec_zstd__gives_back_what_it_took(void **state)
{
    (void)state;
    static const size_t lengths[] = {0, 1, 2, 100, 4096, 100000, 3000000};
    uint8_t *text = bytes_text(1, 3000000), *random = bytes_random(2, 3000000);
    for (size_t i = 0; i < ASH_ARRAY_LEN(lengths); i++) {
        check_round_trip(none, (ash_span){text, lengths[i]}, lengths[i] / 2 + 64);
        check_round_trip(none, (ash_span){random, lengths[i]}, lengths[i] + lengths[i] / 256 + 64);
    }
    ash__free(text);
    ash__free(random);
}

static void test_tree_codec_zstd__a_prefix_leaves_what_changed(void **state)
{
    (void)state;
    static const size_t lengths[] = {1000, 50000, 2000000, 9000000};
    for (size_t i = 0; i < ASH_ARRAY_LEN(lengths); i++) {
        size_t len = lengths[i];
        uint8_t *old = bytes_random(3, len), *new = bytes_changed(old, len, 4, 10);
        check_round_trip((ash_span){old, len}, (ash_span){new, len}, 800 + len / 5000);
        check_round_trip((ash_span){old, len}, (ash_span){new, 0}, 64);
        check_round_trip((ash_span){old, 1}, (ash_span){new, len}, len + len / 256 + 64);
        ash__free(old);
        ash__free(new);
    }
}

static void test_tree_codec_zstd__a_prefix_may_end_where_the_content_begins(void **state)
{
    (void)state;
    size_t len = 2000000;
    uint8_t *old = bytes_random(5, len), *new = bytes_changed(old, len, 6, 10);
    uint8_t *both = ash__alloc(2 * len);
    memcpy(both, old, len);
    memcpy(both + len, new, len);
    made m = make((ash_span){both, len}, (ash_span){both + len, len});
    assert_true(m.len < 800);
    memset(both + len, 0, len);
    ash_error err;
    assert_ok(ash__zstd_decode(m.z, (ash_span){both, len}, (ash_span){m.frame, m.len}, both + len,
                               len, &err),
              &err);
    assert_memory_equal(both + len, new, len);
    release(&m);
    ash__free(both);
    ash__free(old);
    ash__free(new);
}

/* The length of the frame in at most room bytes. */
static size_t encoded_in(ash_zstd *z, ash_span content, size_t room)
{
    ash_frame out = {.data = ash__alloc(room), .room = room, .len = 1};
    ash_error err;
    assert_ok(ash__zstd_encode(z, none, content, &out, &err), &err);
    ash__free(out.data);
    return out.len;
}

static void test_tree_codec_zstd__what_does_not_fit_is_not_worth_it(void **state)
{
    (void)state;
    enum { LEN = 300000 };
    uint8_t *random = bytes_random(7, LEN), *text = bytes_text(8, LEN);
    ash_zstd *z = ash__zstd_new();
    assert_int_equal(encoded_in(z, (ash_span){random, LEN}, LEN * 9 / 10), 0);
    size_t len = encoded_in(z, (ash_span){text, LEN}, LEN * 9 / 10);
    assert_true(len > 0);
    assert_int_equal(encoded_in(z, (ash_span){text, LEN}, 10), 0);
    size_t again = encoded_in(z, (ash_span){text, LEN}, len);
    assert_true(again == 0 || again == len);
    ash__zstd_free(z);
    ash__free(random);
    ash__free(text);
}

/* The codec keeps its tables: what it made before must not show. */
static void test_tree_codec_zstd__the_same_content_gives_the_same_frame(void **state)
{
    (void)state;
    enum { LEN = 200000 };
    uint8_t *a = bytes_text(9, LEN), *b = bytes_changed(a, LEN, 10, 100);
    made first = make((ash_span){a, LEN}, (ash_span){b, LEN});
    made other = make(none, (ash_span){b, LEN});
    ash_frame out = {.data = ash__alloc(LEN), .room = LEN};
    ash_error err;
    assert_ok(ash__zstd_encode(other.z, (ash_span){a, LEN}, (ash_span){b, LEN}, &out, &err), &err);
    assert_int_equal(out.len, first.len);
    assert_memory_equal(out.data, first.frame, out.len);
    ash__free(out.data);
    release(&first);
    release(&other);
    ash__free(a);
    ash__free(b);
}

static int decode(made *m, ash_span prefix, ash_span frame, size_t len)
{
    /* Of just that size, so that a byte too many shows under a sanitizer. */
    uint8_t *out = ash__alloc(len + 1);
    ash_error err;
    out[len] = 0x5a;
    int rc = ash__zstd_decode(m->z, prefix, frame, out, len, &err);
    assert_true(rc == 0 || (rc == ASH_ECORRUPT && err.text[0] != '\0'));
    assert_int_equal(out[len], 0x5a);
    ash__free(out);
    return rc;
}

static void test_tree_codec_zstd__only_one_whole_frame_will_do(void **state)
{
    (void)state;
    enum { LEN = 3000 };
    uint8_t *text = bytes_text(11, LEN), twice[2 * LEN];
    made m = make(none, (ash_span){text, LEN});
    memcpy(twice, m.frame, m.len);
    memcpy(twice + m.len, m.frame, m.len);
    for (size_t cut = 0; cut < m.len; cut++)
        assert_int_equal(decode(&m, none, (ash_span){m.frame, cut}, LEN), ASH_ECORRUPT);
    assert_int_equal(decode(&m, none, (ash_span){m.frame, m.len}, LEN), 0);
    assert_int_equal(decode(&m, none, (ash_span){m.frame, m.len}, LEN - 1), ASH_ECORRUPT);
    assert_int_equal(decode(&m, none, (ash_span){m.frame, m.len}, LEN + 1), ASH_ECORRUPT);
    assert_int_equal(decode(&m, none, (ash_span){m.frame, m.len}, 0), ASH_ECORRUPT);
    assert_int_equal(decode(&m, none, (ash_span){twice, 2 * m.len}, LEN), ASH_ECORRUPT);
    assert_int_equal(decode(&m, none, (ash_span){twice, 2 * m.len}, (size_t)2 * LEN), ASH_ECORRUPT);
    assert_int_equal(decode(&m, none, (ash_span){twice, m.len + 1}, LEN), ASH_ECORRUPT);
    release(&m);
    ash__free(text);
}

static void test_tree_codec_zstd__other_frames_are_refused(void **state)
{
    (void)state;
    made m = {.z = ash__zstd_new()};
    /* Skippable, of the format of version 0.7, and one that claims 2^62 bytes. */
    static const uint8_t skippable[] = {0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0};
    static const uint8_t old[] = {0x27, 0xb5, 0x2f, 0xfd, 0, 0, 0, 0, 0};
    static const uint8_t huge[] = {0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0,
                                   0,    0,    0,    0,    0x40, 1, 0, 0};
    assert_int_equal(decode(&m, none, (ash_span){skippable, sizeof skippable}, 0), ASH_ECORRUPT);
    assert_int_equal(decode(&m, none, (ash_span){old, sizeof old}, 0), ASH_ECORRUPT);
    assert_int_equal(decode(&m, none, (ash_span){huge, sizeof huge}, 100), ASH_ECORRUPT);
    /* A frame that does not say how long its content is. */
    ZSTD_CCtx *c = ZSTD_createCCtx();
    uint8_t out[100];
    ZSTD_CCtx_setParameter(c, ZSTD_c_contentSizeFlag, 0);
    size_t len = ZSTD_compress2(c, out, sizeof out, "abc", 3);
    assert_int_equal(decode(&m, none, (ash_span){out, len}, 3), ASH_ECORRUPT);
    ZSTD_freeCCtx(c);
    release(&m);
}

static void test_tree_codec_zstd__flipped_bytes_and_wrong_prefixes_stay_in_bounds(void **state)
{
    (void)state;
    enum { LEN = 20000 };
    uint8_t *old = bytes_text(12, LEN), *new = bytes_changed(old, LEN, 13, 20);
    made m = make((ash_span){old, LEN}, (ash_span){new, LEN});
    for (size_t at = 0; at < m.len; at++)
        for (int bit = 0; bit < 8; bit++) {
            m.frame[at] ^= (uint8_t)(1 << bit);
            decode(&m, (ash_span){old, LEN}, (ash_span){m.frame, m.len}, LEN);
            m.frame[at] ^= (uint8_t)(1 << bit);
        }
    assert_int_equal(decode(&m, (ash_span){old, LEN}, (ash_span){m.frame, m.len}, LEN), 0);
    assert_int_equal(decode(&m, none, (ash_span){m.frame, m.len}, LEN), ASH_ECORRUPT);
    assert_int_equal(decode(&m, (ash_span){old, 100}, (ash_span){m.frame, m.len}, LEN),
                     ASH_ECORRUPT);
    decode(&m, (ash_span){new, LEN}, (ash_span){m.frame, m.len}, LEN);
    release(&m);
    ash__free(old);
    ash__free(new);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tree_codec_zstd__gives_back_what_it_took),
        cmocka_unit_test(test_tree_codec_zstd__a_prefix_leaves_what_changed),
        cmocka_unit_test(test_tree_codec_zstd__a_prefix_may_end_where_the_content_begins),
        cmocka_unit_test(test_tree_codec_zstd__what_does_not_fit_is_not_worth_it),
        cmocka_unit_test(test_tree_codec_zstd__the_same_content_gives_the_same_frame),
        cmocka_unit_test(test_tree_codec_zstd__only_one_whole_frame_will_do),
        cmocka_unit_test(test_tree_codec_zstd__other_frames_are_refused),
        cmocka_unit_test(test_tree_codec_zstd__flipped_bytes_and_wrong_prefixes_stay_in_bounds),
    };
    return cmocka_run_group_tests_name("tree/codec/zstd", tests, NULL, NULL);
}
