/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_ENGINE_JOURNAL_FIXTURE_H
#define ASH_TESTS_ENGINE_JOURNAL_FIXTURE_H

#include "fixture.h"

/* What is durable by the journal alone: LMDB commits only when somebody reads. */

int journal_setup(void **state); /* a store with a journal and a collection c */
size_t journal_size_of(int32_t id);
/* Insert what belongs to the id, durably; rid may be NULL. */
void journal_put(fixture *f, int32_t id, uint64_t *rid);
void journal_put_all(fixture *f, int32_t from, int32_t to);
bool journal_has(fixture *f, int32_t id);
/* Exactly the ids from 1 to last are there, and everything is sound. */
void journal_expect_up_to(fixture *f, int32_t last);

/* The store as a process that ends now would leave it: a copy, removed by the second. */
void journal_crash(fixture *f, fixture *after);
void journal_end_crash(fixture *after);

#endif
