/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_FUZZ_FUZZ_H
#define ASH_TESTS_FUZZ_FUZZ_H

/* A fuzz target is one file that defines the two functions below.  With libFuzzer they are all
 * there is; without it the driver runs the corpus and mutations of its own. */

#include "query/kit/env.h"

#include "crash/rng.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* Changes data in place; returns the new size. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

/* Mutations for a target whose input is one BSON document: fields and values are moved, doubled,
 * dropped, renamed after operators from the tables in the code, or wrapped in them. */
size_t mutate_bson(uint8_t *data, size_t size, size_t max_size, unsigned int seed);
/* Any bytes: some set, some moved, some numbers that are lengths changed a little. */
size_t mutate_bytes(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

/* ---- for targets ---- */

/* Is the input one valid document?  Then it is copied, so that reading beyond it shows; the target
 * frees it with ash__free(). */
uint8_t *fuzz_document(const uint8_t *data, size_t size, ash_doc *out);
/* Failures carry a text and a code that is no internal error's. */
void fuzz_check_refusal(int result, const ash_error *err);
void fuzz_check_bson(ash_doc doc);
/* Some documents that queries meet; count in *count. */
const ash_doc *fuzz_samples(uint32_t *count);

#endif
