/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_QUERY_MATCH_SCHEMA_H
#define ASH_QUERY_MATCH_SCHEMA_H

/* $jsonSchema (draft 4 with bsonType), and sets of BSON types as $type and it use them. */

#include "bson/value.h"

typedef struct ash_schema ash_schema;

/* Keeps views into spec.  Keywords that are not honoured are ASH_EINVAL, 9, naming the keyword. */
int ash__schema_new(ash_value spec, int depth, ash_schema **out, ash_error *err);
void ash__schema_free(ash_schema *s);
/* false too when a pattern took too many steps or the thread's budget is used up: then *failed is
 * set and 0 its code before. */
bool ash__schema_test(const ash_schema *s, ash_value v, ash_error *failed);

/* The bit of a type in a set of types. */
uint32_t ash__type_bit(uint8_t type);
#define ASH_TYPE_BITS_NUMBER                                                                       \
    (ash__type_bit(BSON_TYPE_DOUBLE) | ash__type_bit(BSON_TYPE_INT32) |                            \
     ash__type_bit(BSON_TYPE_INT64) | ash__type_bit(BSON_TYPE_DECIMAL128))

/* A number, an alias or an array of them: adds to *types.  Errors 2, 9, 14. */
int ash__type_set_parse(ash_value v, uint32_t *types, ash_error *err);

#endif
