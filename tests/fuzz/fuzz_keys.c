/* SPDX-License-Identifier: Apache-2.0 */
/* Documents and the keys made of them: the target is tests/bson/fuzz_bson.c. */
#include "fuzz.h"

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    return seed % 4 == 0 ? mutate_bytes(data, size, max_size, seed)
                         : mutate_bson(data, size, max_size, seed);
}
