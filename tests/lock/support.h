/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_LOCK_SUPPORT_H
#define ASH_TESTS_LOCK_SUPPORT_H

/* A store with a lock collection for tests of locks, and the package's moves as it sends them.
 *
 * ASH_TEST_STORE names a store; without it each test has a folder of its own. */

#include "check.h"

#include <ashlar/ashlar.h>

typedef struct fixture {
    ash_store *store;
    ash_lock_collection *c;
    ash_collection *docs; /* fs.locks, to look behind the scenes */
    ash_lock_options opts;
    char folder[64];
    char db[40];
    ash_error err;
} fixture;

int fixture_setup(void **state);
int fixture_teardown(void **state);
/* Another lock collection on the same documents, as another process would have it. */
ash_lock_collection *fixture_reopen(fixture *f, const ash_lock_options *opts);

ash_lock *open_lock(fixture *f, ash_lock_collection *c, const char *id,
                    const ash_lock_options *opts);
bson_value_t text_id(const char *id);

/* The lock document of an id; the caller destroys. */
bson_t *lock_doc(fixture *f, const char *id);
int64_t doc_int(const bson_t *doc, const char *path); /* booleans and dates too; -1: missing */

/* findAndModify {files_id: id, more of query} with update; JSON with ' for ".  True when one was
 * found. */
bool npm_modify(fixture *f, const char *id, const char *query, const char *update, bool upsert);
/* What the package does, at its clock (now + skew). */
bool npm_read(fixture *f, const char *id, int64_t life_ms);
bool npm_write(fixture *f, const char *id, int64_t life_ms, int64_t skew_ms);
bool npm_release_read(fixture *f, const char *id);
bool npm_release_write(fixture *f, const char *id);
bool npm_ask(fixture *f, const char *id);
bool npm_remove(fixture *f, const char *id);

/* The next event must be of that kind. */
#define assert_event(lock, wanted) expect_event(lock, wanted, __LINE__)
void expect_event(ash_lock *lock, ash_lock_event_kind wanted, int line);
void sleep_ms(int64_t ms);
/* Waits until doc_int(path) of the lock document is that; a busy machine takes its time. */
#define assert_comes(f, id, path, value) expect_to_come(f, id, path, value, __LINE__)
void expect_to_come(fixture *f, const char *id, const char *path, int64_t value, int line);
/* What depends on this machine being quick is tried with longer and longer times, since it may be
 * busy: fn says false when it was too slow to tell. */
void try_slower(fixture *f, bool (*fn)(fixture *f, double unit_s));
int64_t now_ms(void);

#define LOCK_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

#endif
