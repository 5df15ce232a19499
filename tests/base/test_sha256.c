/* SPDX-License-Identifier: Apache-2.0 */
/* Against OpenSSL, which has one at a time. */
#include "check.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/sha256.h"

#include <string.h>

enum { MOST = 300, MANY = 40 };

static void expect(const struct iovec *text, const uint8_t got[ASH_SHA256_BYTES])
{
    uint8_t bytes[ASH_DIGEST_MAX_BYTES];
    ash_digest *d = ash__digest_new(ASH_DIGEST_SHA256);
    ash__digest_add(d, text->iov_base, text->iov_len);
    assert_int_equal(ash__digest_finish(d, bytes), ASH_SHA256_BYTES);
    ash__digest_free(d);
    assert_memory_equal(got, bytes, ASH_SHA256_BYTES);
}

/* Every length around the ends of blocks, beside every other. */
static void test_base_sha256__pairs_of_all_lengths(void **state)
{
    (void)state;
    uint8_t data[2 * MOST], out[2][ASH_SHA256_BYTES];
    ash__random(data, sizeof data);
    for (size_t a = 0; a < MOST; a++)
        for (size_t b = a % 7; b < MOST; b += 7) {
            struct iovec two[] = {{data, a}, {data + MOST, b}};
            ash__sha256_each(two, 2, out);
            expect(&two[0], out[0]);
            expect(&two[1], out[1]);
        }
}

static void test_base_sha256__many(void **state)
{
    (void)state;
    enum { LONG = 100000 };
    uint8_t *data = ash__alloc(MANY * LONG);
    uint8_t out[MANY][ASH_SHA256_BYTES];
    struct iovec all[MANY];
    uint32_t random[MANY];
    ash__random(data, MANY * LONG);
    ash__random(random, sizeof random);
    for (size_t i = 0; i < MANY; i++)
        all[i] = (struct iovec){data + i * LONG, i % 5 == 0 ? i / 5 : random[i] % LONG};
    for (size_t count = 0; count <= MANY; count++) {
        memset(out, 0, sizeof out);
        ash__sha256_each(all, count, out);
        for (size_t i = 0; i < count; i++)
            expect(&all[i], out[i]);
        for (size_t i = count; i < MANY; i++)
            assert_int_equal(out[i][0], 0); /* nothing is written behind */
    }
    ash__free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_base_sha256__pairs_of_all_lengths),
        cmocka_unit_test(test_base_sha256__many),
    };
    return cmocka_run_group_tests_name("base/sha256", tests, NULL, NULL);
}
