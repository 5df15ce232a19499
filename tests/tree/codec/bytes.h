/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_TREE_CODEC_BYTES_H
#define ASH_TESTS_TREE_CODEC_BYTES_H

/* Contents for the tests of the codec.  The same seed makes the same bytes; ash__free() them. */

#include <stddef.h>
#include <stdint.h>

/* No compression finds anything in them. */
uint8_t *bytes_random(uint64_t seed, size_t len);
/* Words in random order, so that there is something to find. */
uint8_t *bytes_text(uint64_t seed, size_t len);
/* A copy with count places of 8 bytes each set to something else. */
uint8_t *bytes_changed(const uint8_t *data, size_t len, uint64_t seed, int count);

#endif
