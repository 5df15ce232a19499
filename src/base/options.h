/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BASE_OPTIONS_H
#define ASH_BASE_OPTIONS_H

#include <stddef.h>

#include "base/error.h"

/* Copy a caller's options struct (first field: size_t size) into ours of known_bytes, zero-filling
 * what the caller's older struct lacks.  NULL gives all defaults.  A longer struct with a non-zero
 * tail asks for something this version does not know: ASH_EINVAL. */
int ash__options_copy(void *ours, size_t known_bytes, const void *theirs, ash_error *err);

/* Copy our result struct (first field: size_t size) into a caller's, no more than the caller's
 * size; what a newer caller's has behind ours is zero.  ASH_EINVAL when it was not initialised. */
int ash__out_copy(void *theirs, const void *ours, size_t known_bytes, ash_error *err);

#endif
