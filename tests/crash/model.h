/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_CRASH_MODEL_H
#define ASH_TESTS_CRASH_MODEL_H

/* What one writing thread does, step by step, and what must be in the store after each step.
 *
 * Steps depend on the seed, the thread and what the thread did before, nothing else.  Threads have
 * names, ids and a bucket of their own, so that each one's part of the store is known whatever the
 * others did. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rng.h"

enum {
    MODEL_THREADS = 4,
    MODEL_SHARED_FILES = 6, /* in the bucket "fs" */
    MODEL_FILES = 9,        /* the others in the thread's own bucket, which is dropped at times */
    MODEL_DOCS = 8,         /* in "docs"; the first two change together */
    MODEL_IDS = 10000000    /* each thread's share of ids */
};

typedef struct model_file {
    bool there;
    int64_t id;
    uint32_t renamed; /* part of its name */
    uint8_t *data;
    size_t len;
    int64_t gone; /* id of what was last deleted here, or 0 */
} model_file;

typedef struct model_doc {
    bool there;
    int64_t n;
    uint64_t seed;
    size_t len;
} model_doc;

typedef struct model {
    uint64_t seed;
    uint32_t thread;
    uint32_t steps;      /* done */
    uint32_t generation; /* counts crashes: ids of lost uploads are not used again */
    model_file files[MODEL_FILES];
    model_doc docs[MODEL_DOCS];
} model;

enum step_kind {
    STEP_UPLOAD, /* replaces what is there */
    STEP_DELETE,
    STEP_RENAME,
    STEP_APPEND,
    STEP_OVERWRITE,
    STEP_TRUNCATE,
    STEP_DROP,
    STEP_DOC_PUT,
    STEP_DOC_ADD, /* to its n */
    STEP_DOC_DELETE,
    STEP_PAIR
};

typedef struct step {
    enum step_kind kind;
    int slot;
    int64_t id; /* of a new file; n of a new document */
    uint64_t seed;
    size_t len;
    size_t offset;
} step;

void model_init(model *m, uint64_t seed, uint32_t thread);
void model_release(model *m);
void model_copy(model *to, const model *from); /* to: not initialised */
void model_next(const model *m, step *out);
void model_take(model *m, const step *s);

void model_fill(uint64_t seed, uint8_t *out, size_t len);
void model_file_name(const model *m, int slot, char out[32]);
int64_t model_doc_id(const model *m, int slot);
const char *step_name(enum step_kind kind);

#endif
