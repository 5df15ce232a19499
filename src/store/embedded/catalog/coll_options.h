/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_CATALOG_COLL_OPTIONS_H
#define ASH_STORE_EMBEDDED_CATALOG_COLL_OPTIONS_H

#include "store/embedded/kit/embedded.h"

/* Check the options of `create` and copy what is kept into *out (initialised by the call on
 * success).  40415 for unknown ones, 72 for a capped collection without size, 238 for views and
 * time series, the filter's own errors for a validator. */
int ash__coll_options_parse(const bson_t *given, bson_t *out, ash_error *err);

/* Equal but for the order of fields. */
bool ash__coll_options_equal(const bson_t *a, const bson_t *b);

#endif
