/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_ENGINE_FIXTURE_H
#define ASH_TESTS_ENGINE_FIXTURE_H

#include "check.h"

#include "engine/engine.h"
#include "engine/check/check.h"

/* A store in a folder of its own, removed at the end. */
typedef struct fixture {
    char folder[64];
    ash_engine_options opts;
    ash_engine *engine;
    ash_error err;
} fixture;

int fixture_setup(void **state);
int fixture_teardown(void **state);
void fixture_open(fixture *f);
void fixture_close(fixture *f);
void fixture_reopen(fixture *f);
void fixture_remove(const char *folder);

/* Run on the writer; the test fails when the result is another. */
void fixture_apply(fixture *f, ash_apply_fn fn, void *ctx, enum ash_ack ack, int expect);

void fixture_create(fixture *f, const char *name, const char *options_json);
void fixture_index(fixture *f, const char *coll, const char *spec_json); /* built and ready */
/* Result of the insert; large documents are staged first.  rid may be NULL. */
int fixture_insert(fixture *f, const char *coll, const bson_t *doc, enum ash_ack ack,
                   uint64_t *rid);
int fixture_insert_json(fixture *f, const char *coll, const char *json);
int fixture_replace(fixture *f, const char *coll, uint64_t rid, const bson_t *doc);
int fixture_delete(fixture *f, const char *coll, uint64_t rid);
/* {_id: id, n: n, data: len bytes that depend on id} */
bson_t *fixture_chunk(int32_t id, int32_t n, size_t len);
bool fixture_chunk_is(ash_doc doc, int32_t id, int32_t n, size_t len);

ash_snapshot *fixture_snapshot(fixture *f);
const ash_coll *fixture_coll(fixture *f, ash_snapshot *snap, const char *name);
const ash_index *fixture_find_index(const ash_coll *c, const char *name);
uint64_t fixture_count(fixture *f, const char *coll);
/* All rids of an index scan, at most max; returns how many. */
size_t fixture_scan(fixture *f, ash_snapshot *snap, const ash_index *i, bool backward,
                    uint64_t *rids, size_t max);
/* ash__engine_check finds nothing wrong. */
void fixture_check(fixture *f);

#endif
