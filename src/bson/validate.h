/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BSON_VALIDATE_H
#define ASH_BSON_VALIDATE_H

/* For what is made of several documents, and so may be larger than one. */

#include "bson/value.h"

/* As ash__bson_validate(), with another limit of its size (up to INT32_MAX). */
int ash__bson_validate_within(const uint8_t *data, size_t len, size_t max_bytes, int max_depth,
                              ash_error *err);

#endif
