/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_SPEC_RUNNER_H
#define ASH_TESTS_SPEC_RUNNER_H

/* Runs test files of the unified test format against a store, through the public C interface.
 *
 *   file.c             a file: requirements, entities, initial data, tests, outcome
 *   entity.c           what createEntities and saveResultAsEntity make
 *   bucket_ops.c, collection_ops.c, write_ops.c, other_ops.c    the operations
 *   expect.c           expectResult and expectError
 *   match.c            the rules by which a value matches an expectation
 */

#include <ashlar/bucket.h>
#include <ashlar/store.h>

#include "base/buffer.h"
#include "bson/value.h"

enum entity_kind {
    ENTITY_CLIENT,
    ENTITY_DATABASE,
    ENTITY_COLLECTION,
    ENTITY_BUCKET,
    ENTITY_SESSION,
    ENTITY_VALUE
};

typedef struct entity {
    char *id;
    enum entity_kind kind;
    char *db;                   /* databases */
    ash_collection *collection; /* collections */
    ash_bucket *bucket;         /* buckets */
    bson_t *value;              /* values and sessions: {v: value} */
    struct entity *next;
} entity;

typedef struct runner {
    ash_store *store;
    entity *entities;
    ash_buffer why; /* of the failure at hand */
} runner;

/* What an operation did. */
typedef struct outcome {
    ash_error err; /* code 0: it succeeded */
    bson_t value;  /* {v: result}, or {} when there is none */
} outcome;

/* false with the text in r->why, always. */
bool spec_fail(runner *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

enum verdict { PASSED, FAILED, SKIPPED };

/* One operation found its kind of object.  UNKNOWN_OPERATION leaves the outcome alone. */
enum call { CALLED, UNKNOWN_OPERATION };
enum call spec_bucket_op(runner *r, entity *e, const char *name, ash_doc args, outcome *out);
enum call spec_collection_op(runner *r, entity *e, const char *name, ash_doc args, outcome *out);
enum call spec_write_op(runner *r, entity *e, const char *name, ash_doc args, outcome *out);
enum call spec_database_op(runner *r, entity *e, const char *name, ash_doc args, outcome *out);
/* Special operations of the test runner itself; *verdict says how they went. */
enum call spec_runner_op(runner *r, const char *name, ash_doc args, enum verdict *verdict);

/* All documents of a cursor, appended to an array. */
int spec_collect(ash_cursor *cursor, bson_t *array, ash_error *err);

/* Results of operations. */
void spec_return_value(outcome *out, ash_value v);
void spec_return_doc(outcome *out, const bson_t *doc);
void spec_return_array(outcome *out, const bson_t *array);

bool spec_entity_create(runner *r, ash_doc spec);
bool spec_entity_save(runner *r, const char *id, ash_value v);
entity *spec_entity_find(runner *r, const char *id);
void spec_entities_free(runner *r);

/* expected and actual may be missing.  root: extra fields are allowed. */
bool spec_match(runner *r, const char *path, ash_value expected, ash_value actual, bool root);
bool spec_expect(runner *r, ash_doc operation, const outcome *out);

/* A field of a test document. */
const char *spec_text(ash_doc doc, const char *name); /* NULL when it is not a string */
bool spec_hex_bytes(const char *hex, ash_buffer *out);
/* {$$hexBytes: "…"} */
bool spec_source(ash_value v, ash_buffer *out);
/* Static view of a document or array field; {} when it is missing. */
void spec_doc(ash_doc doc, const char *name, bson_t *out);

/* Runs a file; prints TAP; counts. */
typedef struct tally {
    int run, failed, skipped;
} tally;
void spec_run_file(ash_store *store, const char *path, tally *t);

#endif
