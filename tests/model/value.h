/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_MODEL_VALUE_H
#define ASH_TESTS_MODEL_VALUE_H

/* Documents as trees, for the naive evaluator: nothing here or beside it uses the library's own
 * way of reading, comparing or changing documents.  Everything lives in one pool that is emptied
 * as a whole. */

#include <bson/bson.h>
#include <stdbool.h>
#include <stdint.h>

/* What a value of any type holds; objects and arrays have children. */
typedef struct mv {
    bson_type_t type;
    int64_t i; /* int32, int64, date, bool, timestamp */
    double d;
    bson_decimal128_t dec;
    const uint8_t *data; /* string, binary, ObjectId, pattern of a regex */
    size_t len;
    uint8_t subtype;
    const char *options; /* of a regex */
    uint32_t count, capacity;
    const char **names; /* of an object's fields */
    struct mv **items;
} mv;

void *pool_get(size_t size_bytes); /* zeroed; lives until pool_empty */
char *pool_text(const char *text);
char *pool_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
void pool_empty(void);

mv *mv_parse(const bson_t *doc); /* copies */
mv *mv_array(const bson_t *array);
bson_t *mv_bson(const mv *v); /* of an object or array; the caller destroys */
char *mv_text(const mv *v);   /* in the pool, extended JSON */

mv *mv_new(bson_type_t type);
mv *mv_int(int64_t i); /* int32 where it fits */
mv *mv_long(int64_t i);
mv *mv_double(double d);
mv *mv_string(const char *text);
mv *mv_copy(const mv *v);

/* A field by name, an item by its number in digits; NULL when there is none. */
mv *mv_get(const mv *v, const char *name);
int mv_find(const mv *v, const char *name);     /* its place, or -1 */
void mv_put(mv *v, const char *name, mv *item); /* replaces or appends; arrays: appends */
void mv_insert(mv *array, uint32_t at, mv *item);
void mv_remove(mv *v, uint32_t at);
bool mv_same_bytes(const mv *a, const mv *b);

/* Digits without a leading zero. */
bool is_index(const char *text, uint32_t *index);

/* "a.b.c" in parts; in the pool. */
typedef struct parts {
    const char **at;
    uint32_t count;
} parts;
parts path_parts(const char *path);

bool mv_is_number(const mv *v);
bool mv_is_container(const mv *v);

#endif
