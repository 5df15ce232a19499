/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_TREE_SUPPORT_H
#define ASH_TESTS_TREE_SUPPORT_H

/* A tree "/" on a fresh embedded store in a temporary folder, for each test; or in a database of its
 * own in the store that ASH_TREE_STORE names.  At the end of each test the tree is checked: what a
 * test did by the tree's own calls has to leave it without a finding. */

#include "check.h"

#include <ashlar/tree.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/mem.h"

typedef struct fixture {
    char *folder;
    ash_store *store;
    ash_tree *tree;
    ash_collection *current, *past, *contents, *chunks;
    bool damaged; /* on purpose: not checked at the end */
    ash_error err;
} fixture;

int support_setup(void **state);      /* with SHA-256 */
int support_setup_sha1(void **state); /* as v7files */
int support_teardown(void **state);
void support_reopen(fixture *f);

/* Deterministic bytes: `seed` tells one content from another. */
uint8_t *support_bytes(size_t len, uint32_t seed);

/* A new file or version; the entry has to be freed, NULL: nobody wants it. */
int support_try_put(fixture *f, const char *path, const void *data, size_t len,
                    const ash_tree_change_options *opts, ash_tree_entry **entry);
void support_put(fixture *f, const char *path, const void *data, size_t len);
void support_put_text(fixture *f, const char *path, const char *text);
void support_folder(fixture *f, const char *path);
/* Contents that have a document of their own, told apart by the seed. */
void support_put_seed(fixture *f, const char *path, uint32_t seed);
void support_move(fixture *f, const char *from, const char *to);
void support_copy(fixture *f, const char *from, const char *to);
/* With all that lies in it. */
void support_remove(fixture *f, const char *path);

/* version 0, at_ms 0: now. */
int support_read(fixture *f, const char *path, int32_t version, int64_t at_ms, ash_buffer *out);
void support_expect_text(fixture *f, const char *path, const char *text);
void support_expect_text_of(fixture *f, const char *path, int32_t version, int64_t at_ms,
                            const char *text);
void support_expect_bytes(fixture *f, const char *path, const void *data, size_t len);
void support_expect_seed(fixture *f, const char *path, uint32_t seed);
void support_expect_seed_of(fixture *f, const char *path, int32_t version, int64_t at_ms,
                            uint32_t seed);
/* What a digest, or the beginning of one, leads to. */
int support_read_content(fixture *f, const char *digest, ash_buffer *out);
/* The file's content is found by its digest, too. */
void support_expect_found_by_digest(fixture *f, const char *path);
void support_expect_missing(fixture *f, const char *path);
/* The names in a folder, or all paths below it, "a b c". */
void support_expect_list(fixture *f, const char *path, bool recursive, int64_t at_ms,
                         const char *names);
ash_tree_entry *support_get(fixture *f, const char *path);
/* An ObjectId, so that nobody has to free it. */
bson_value_t support_id(fixture *f, const char *path);
void support_expect_id(fixture *f, const char *path, const bson_value_t *id);
void support_expect_version(fixture *f, const char *path, int32_t version);
/* What a listing has, "a b c" of names or paths; frees it. */
void support_expect_entries(fixture *f, ash_tree_listing *l, bool paths, const char *names);
/* "2 1" of an entry's versions, newest first, "d" for a deletion. */
void support_expect_history(fixture *f, const char *path, const char *versions);

int64_t support_count(ash_collection *c, const char *json);
/* The one document that matches; bson_destroy(). */
bson_t *support_document(ash_collection *c, const char *json);
/* The names of its fields, in order: "_id _version …". */
void support_expect_fields(const bson_t *doc, const char *names);
void support_expect_type(const bson_t *doc, const char *name, bson_type_t type);
void support_insert(ash_collection *c, const char *json);
void support_update(ash_collection *c, const char *filter, const char *update);
/* Nothing is found, in contents neither. */
void support_expect_sound(fixture *f);
/* References of a content, as the owners' names in refs and in refHistory. */
void support_expect_refs(fixture *f, const char *path, int refs, int history);

/* ms since 1970 that no other change shares: waits for the next one. */
int64_t support_moment(fixture *f);

#endif
