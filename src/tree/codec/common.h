/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TREE_CODEC_COMMON_H
#define ASH_TREE_CODEC_COMMON_H

#include "tree/codec/zstd.h"

#include <stdbool.h>

/* Has `in` one of 96 samples of 32 bytes that are taken of data all over?  Costs a twentieth of an
 * attempt to compress data with `in` for a prefix, and tells whether there is a point in one where
 * data does not compress by itself: of data a quarter of which is in the prefix none of the samples
 * is in 10^12 cases once.  Data of less than 3 KiB: true. */
bool ash__has_common_run(ash_span data, ash_span in);

#endif
