/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_BUCKET_SUPPORT_H
#define ASH_TESTS_BUCKET_SUPPORT_H

/* A bucket on a fresh embedded store in a temporary folder, for each test; or in a database of its
 * own in the store that ASH_BUCKET_STORE names. */

#include "check.h"

#include <ashlar/bucket.h>

#include "base/buffer.h"
#include "base/mem.h"

typedef struct fixture {
    char *folder;
    ash_store *store;
    ash_bucket *bucket; /* chunk size 16 */
    ash_collection *files, *chunks, *attributes;
    ash_error err;
} fixture;

#define CHUNK 16

int support_setup(void **state);
int support_teardown(void **state);
void support_close(fixture *f);
void support_open(fixture *f);
void support_reopen(fixture *f); /* both */

/* The bucket "fs" with chunks of that size; ash_bucket_free(). */
ash_bucket *support_open_bucket(fixture *f, int32_t chunk_size_bytes);

/* Deterministic bytes: `seed` tells one content from another. */
uint8_t *support_bytes(size_t len, uint32_t seed);
/* Upload at once; *id to be destroyed by the caller (may be NULL). */
void support_put(fixture *f, const char *name, const void *data, size_t len, bson_value_t *id);
int support_put_with(fixture *f, const bson_value_t *id, const char *name, const void *data,
                     size_t len, const ash_upload_options *opts);
/* The whole content; 0 or the error. */
int support_get(fixture *f, const bson_value_t *id, ash_buffer *out);
void support_expect(fixture *f, const bson_value_t *id, const void *data, size_t len);
void support_expect_name(fixture *f, const char *name, int32_t revision, const void *data,
                         size_t len);
int64_t support_count(ash_collection *c, const char *json);
int64_t support_count_type(ash_collection *c, const char *field, const char *type);
/* All documents of the collection that match, as one JSON text; bson_free(). */
char *support_dump(ash_collection *c, const char *json);
void support_insert(ash_collection *c, const char *json);
void support_update(ash_collection *c, const char *filter, const char *update);
void support_remove(ash_collection *c, const char *filter);

/* A store without them says so. */
bool support_lacks_transactions(fixture *f);

bson_value_t support_int_id(int32_t n);         /* needs no destroy */
bson_value_t support_text_id(const char *text); /* bson_value_destroy() */

/* An input that yields len bytes and then fails, when `fails`. */
typedef struct support_source {
    const uint8_t *data;
    size_t len, at;
    size_t step; /* most bytes at a time; 0 = all */
    bool fails;
} support_source;
ash_input support_input(support_source *s);
ash_output support_output(ash_buffer *buf);

#endif
