/* SPDX-License-Identifier: Apache-2.0 */
/* Feeds the fuzz target in fuzz_bson.c with damaged samples, as part of the plain tests. */
#include "check.h"

#include "base/hash.h"
#include "base/mem.h"
#include "samples.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t random_state;

static uint32_t random_below(uint32_t limit)
{
    random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (uint32_t)(random_state >> 33) % limit;
}

static bson_t *sample(uint32_t which)
{
    switch (which) {
    case 0:
        return sample_all_types();
    case 1:
        return sample_nested(20);
    case 2:
        return sample_json("{'a': [{'b': [1, 2]}, {'b': []}, [3]], 'x': 'É', 'a.b': 5}");
    default:
        return sample_json("{'v': {'$numberDecimal': '1E-6176'}, 'w': {'$numberDouble': '5e-324'},"
                           " 'x': {'$numberLong': '9007199254740993'}, 'y': 3}");
    }
}

static void test_bson_fuzz__damaged_samples(void **state)
{
    (void)state;
    uint64_t seed;
    ash__random(&seed, sizeof seed);
    random_state = seed;
    print_message("# seed %llu\n", (unsigned long long)seed);
    for (int i = 0; i < 20000; i++) {
        bson_t *b = sample(random_below(4));
        uint8_t *bytes = ash__memdup(bson_get_data(b), b->len);
        uint32_t changes = random_below(4);
        for (uint32_t k = 0; k < changes; k++)
            bytes[4 + random_below(b->len - 4)] = (uint8_t)random_below(256);
        LLVMFuzzerTestOneInput(bytes, b->len);
        ash__free(bytes);
        bson_destroy(b);
    }
    LLVMFuzzerTestOneInput(NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bson_fuzz__damaged_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
