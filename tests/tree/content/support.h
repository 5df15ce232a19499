/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_TREE_CONTENT_SUPPORT_H
#define ASH_TESTS_TREE_CONTENT_SUPPORT_H

/* Contents in the bucket v7.fs of a fresh embedded store, and documents in "tree" and
 * "tree.vermongo" that name them. */

#include "check.h"

#include "base/mem.h"
#include "tree/content/content.h"

typedef struct fixture {
    char *folder;
    ash_store *store;
    ash_contents *contents; /* SHA-256, in pieces above PIECE */
    ash_collection *files, *chunks, *tree, *history;
    ash_error err;
} fixture;

#define PIECE (64 * 1024)

int support_setup(void **state);
int support_teardown(void **state);
/* The store itself, for tests that do something to its files meanwhile. */
void support_open(fixture *f);
void support_close(fixture *f);
/* Another object for the same bucket. */
ash_contents *support_contents(fixture *f, ash_digest_kind digest, int64_t piece_bytes);
/* The same, whose writers renew their pieces that often. */
ash_contents *support_contents_renewed(fixture *f, int64_t piece_bytes, int64_t renew_ms);

/* Bytes that do not compress, or lines of text that do; `seed` tells them apart. */
uint8_t *support_noise(size_t len, uint32_t seed);
uint8_t *support_text(size_t len, uint32_t seed);

/* Store data and make the document `owner` of "tree" name it: what a put of a file does. */
int support_try(fixture *f, ash_contents *c, const ash_content_hint *hint, const void *data,
                size_t len, int32_t owner, ash_content_ref *ref);
/* The same, which has to succeed; before: NULL is nothing.  What stands in the file has no id. */
ash_content_id support_put(fixture *f, const void *data, size_t len, int32_t owner,
                           const ash_content_id *before);
/* A sealed writer's content, and its document, in a transaction. */
int support_store(fixture *f, ash_content_writer *w, int32_t owner);
/* The document goes; what it names is let go of. */
void support_drop(fixture *f, int32_t owner, const ash_content_id *id);
/* A content is these bytes, as its digest says. */
void support_expect(fixture *f, const ash_content_id *id, const void *data, size_t len);
int support_read(fixture *f, const ash_content_id *id, int64_t length, uint8_t *out);
/* The digest of bytes. */
ash_content_id support_id(const void *data, size_t len, ash_digest_kind kind);

/* The document of a content, or {}; bson_destroy(). */
bson_t *support_document(fixture *f, const ash_content_id *id);
const char *support_store_of(fixture *f, const ash_content_id *id); /* its field `store`, or "" */
int64_t support_field(fixture *f, const ash_content_id *id, const char *field);
int64_t support_count(ash_collection *c);
/* Everything of any age. */
ash_tree_collect_report support_collect(fixture *f, bool dry_run);

#endif
