/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "base/hash.h"
#include "base/mem.h"
#include "bucket/hasher.h"

#include <stdlib.h>
#include <string.h>

#define BYTES ((size_t)5 * 1024 * 1024 + 77)

static ash_hasher *hasher_of(unsigned kinds)
{
    ash_hasher *h = ash__hasher_new();
    assert_true(ash__hasher_choose(h, kinds));
    return h;
}

static void whole(ash_digest_kind kind, const uint8_t *data, char out[65])
{
    uint8_t bytes[ASH_DIGEST_MAX_BYTES];
    ash_digest *d = ash__digest_new(kind);
    ash__digest_add(d, data, BYTES);
    ash__hex(bytes, ash__digest_finish(d, bytes), out);
    ash__digest_free(d);
}

static uint8_t *make_data(void)
{
    uint8_t *data = ash__alloc(BYTES);
    for (size_t i = 0; i < BYTES; i++)
        data[i] = (uint8_t)(i * 31 + (i >> 13));
    return data;
}

/* Pieces of every size, so that the thread and the caller take turns. */
static void test_bucket_hasher__pieces_in_any_order_of_sizes(void **state)
{
    static const size_t sizes[] = {100000, 1, 261120, 16384, 16383, 700001, 3};
    uint8_t *data = make_data();
    ash_digests got;
    char want[65];
    ash_hasher *h = hasher_of(ASH_DIGEST_SHA256 | ASH_DIGEST_SHA1 | ASH_DIGEST_MD5);
    (void)state;
    for (size_t at = 0, i = 0; at < BYTES; i++) {
        size_t len = sizes[i % ASH_ARRAY_LEN(sizes)];
        len = len < BYTES - at ? len : BYTES - at;
        ash__hasher_add(h, data + at, len);
        at += len;
    }
    ash__hasher_finish(h, &got);
    whole(ASH_DIGEST_SHA256, data, want);
    assert_string_equal(got.sha256, want);
    whole(ASH_DIGEST_SHA1, data, want);
    assert_string_equal(got.sha1, want);
    whole(ASH_DIGEST_MD5, data, want);
    assert_string_equal(got.md5, want);
    ash__hasher_free(h);
    ash__free(data);
}

/* After a drain the memory is the caller's again; more pieces than the queue holds. */
static void test_bucket_hasher__memory_is_free_after_a_drain(void **state)
{
    uint8_t *data = make_data(), *copy = ash__alloc(BYTES);
    ash_digests got;
    char want[65];
    ash_hasher *h = hasher_of(ASH_DIGEST_SHA256);
    (void)state;
    memcpy(copy, data, BYTES);
    for (size_t at = 0, n = 0; at < BYTES; at += 20000, n++) {
        ash__hasher_add(h, copy + at, BYTES - at < 20000 ? BYTES - at : 20000);
        if (n % 100 == 99) {
            ash__hasher_drain(h, 0);
            memset(copy, 0, at + 20000);
        }
    }
    ash__hasher_finish(h, &got);
    whole(ASH_DIGEST_SHA256, data, want);
    assert_string_equal(got.sha256, want);
    assert_string_equal(got.md5, "");
    ash__hasher_free(h);
    ash__free(copy);
    ash__free(data);
}

static void test_bucket_hasher__freed_at_work(void **state)
{
    uint8_t *data = make_data();
    ash_hasher *h = hasher_of(ASH_DIGEST_SHA256);
    (void)state;
    ash__hasher_add(h, data, BYTES / 2);
    ash__hasher_add(h, data + BYTES / 2, BYTES / 2);
    ash__hasher_free(h);
    ash__free(data);
    ash__hasher_free(NULL);
}

static void test_bucket_hasher__a_drain_may_leave_the_newest(void **state)
{
    uint8_t *data = make_data(), *copy = ash__memdup(data, BYTES);
    ash_digests got;
    char want[65];
    const size_t step = 50000, but = 1000000;
    ash_hasher *h = hasher_of(ASH_DIGEST_SHA256);
    (void)state;
    for (size_t at = 0; at < BYTES; at += step) {
        size_t end = BYTES - at < step ? BYTES : at + step;
        ash__hasher_add(h, copy + at, end - at);
        ash__hasher_drain(h, but);
        if (end > but)
            memset(copy, 0xee, end - but);
    }
    ash__hasher_finish(h, &got);
    whole(ASH_DIGEST_SHA256, data, want);
    assert_string_equal(got.sha256, want);
    ash__hasher_free(h);
    ash__free(copy);
    ash__free(data);
}

static void test_bucket_hasher__what_is_not_wanted_is_not_made(void **state)
{
    uint8_t *data = make_data();
    (void)state;
    for (unsigned kinds = 0; kinds < 8; kinds++) {
        ash_digests got;
        char want[65];
        ash_hasher *h = hasher_of(kinds);
        for (size_t at = 0; at < BYTES; at += 700000)
            ash__hasher_add(h, data + at, BYTES - at < 700000 ? BYTES - at : 700000);
        ash__hasher_drain(h, 0);
        ash__hasher_finish(h, &got);
        ash__hasher_free(h);
        for (unsigned kind = 1; kind < 8; kind *= 2) {
            whole((ash_digest_kind)kind, data, want);
            assert_string_equal(ash__digests_get(&got, (ash_digest_kind)kind),
                                kinds & kind ? want : "");
        }
    }
    ash__free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bucket_hasher__pieces_in_any_order_of_sizes),
        cmocka_unit_test(test_bucket_hasher__memory_is_free_after_a_drain),
        cmocka_unit_test(test_bucket_hasher__freed_at_work),
        cmocka_unit_test(test_bucket_hasher__a_drain_may_leave_the_newest),
        cmocka_unit_test(test_bucket_hasher__what_is_not_wanted_is_not_made),
    };
    return cmocka_run_group_tests_name("bucket hasher", tests, NULL, NULL);
}
