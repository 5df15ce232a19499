/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_BSON_SAMPLES_H
#define ASH_TESTS_BSON_SAMPLES_H

/* Documents and values for the tests of src/bson.  The caller destroys what is a bson_t *. */

#include "bson/value.h"

/* One field of every type, nested documents and arrays among them. */
bson_t *sample_all_types(void);

/* Extended JSON, single quotes for double ones. */
bson_t *sample_json(const char *json);

/* The value of field "v" of {"v": …}. */
ash_value sample_v(const bson_t *b);

ash_value sample_decimal(ash_value_box *box, const char *text);

/* A document of `depth` levels. */
bson_t *sample_nested(int depth);

#endif
