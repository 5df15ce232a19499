/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_BSON_SAMPLES_H
#define ASH_TESTS_BSON_SAMPLES_H

/* Documents and values for the tests of src/bson.  The caller destroys what is a bson_t *. */

#include "bson/compare.h"

/* One field of every type, nested documents and arrays among them. */
bson_t *sample_all_types(void);

/* Extended JSON, single quotes for double ones. */
bson_t *sample_json(const char *json);

/* The value of field "v" of {"v": …}. */
ash_value sample_v(const bson_t *b);

ash_value sample_decimal(ash_value_box *box, const char *text);

int sample_sign(int order); /* -1, 0, 1 */

/* Sign of memcmp of the two values' key encodings; fails if one is a prefix of the other. */
int sample_compare_keys(ash_value a, ash_value b, bool descending, const ash_collation *c);

/* A document of `depth` levels. */
bson_t *sample_nested(int depth);

#endif
