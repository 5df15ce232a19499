/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_TREE_GENERATIONS_OLD_H
#define ASH_TESTS_TREE_GENERATIONS_OLD_H

/* Databases as v7files left them, field by field: the seed's (January 2012), the last with GridFS
 * (April 2012), and the last of all (June 2012), which has no GridFS.
 *
 * The tree that a fixture opens first is empty; old_open() looks again. */

#include "tree/support.h"

typedef struct old_sha {
    uint8_t bytes[20];
} old_sha;

old_sha old_digest(const void *data, size_t len);
/* Entries' ids, as numbers of the test. */
bson_oid_t old_id(int n);
bson_value_t old_id_value(int n);
/* 30 January 2012, so many hours after midnight, in ms since 1970. */
int64_t old_date(int hours);

/* Into any collection; doc is taken over. */
void old_insert(fixture *f, const char *collection, bson_t *doc);
/* Extended JSON with %1 … %9 for the ids of entries, and {"$date": N} for old_date(N). */
void old_json(fixture *f, const char *collection, const char *json);
/* A file or version: json is all but sha and length, which are those of data; at its end. */
void old_file(fixture *f, const char *collection, const char *json, const char *text);

/* ---- contents of the generations with GridFS ---- */

typedef enum old_form {
    OLD_RAW,       /* in chunks; no field `store` */
    OLD_NAMED_RAW, /* … "raw" */
    OLD_Z,
    OLD_GZ,
    OLD_IN,      /* with GridFS's fields, length 0 */
    OLD_ZIN,     /* likewise */
    OLD_BARE_IN, /* without GridFS's fields */
    OLD_BARE_ZIN
} old_form;
/* owner: the entry that has it. */
old_sha old_content(fixture *f, old_form form, const void *data, size_t len, int owner);
/* A content that is made of others: `alt` or `zip`; rest: the fields behind _id, taken over. */
void old_made(fixture *f, const char *collection, const old_sha *id, bson_t *rest, int owner);
/* raw deflate (bits -15), or gzip (bits 31); ash__free(). */
uint8_t *old_pack(int bits, const void *data, size_t len, size_t *packed);
/* A zip archive's local entry, deflated; ash__free(). */
uint8_t *old_zip_entry(const char *name, const void *data, size_t len, size_t *size);

void old_open(fixture *f);
/* Of `size` bytes of text that compresses; ash__free(). */
char *old_text(size_t size, int seed);

/* What a check finds, which the caller names; "" is nothing. */
void old_expect_findings(fixture *f, ash_tree *tree, const char *kinds);

#endif
