/* SPDX-License-Identifier: Apache-2.0 */
#include "lock/support.h"

#include "base/clock.h"
#include "base/file.h"
#include "lock/programs.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int fixture_setup(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    const char *uri = getenv("ASH_TEST_STORE");
    snprintf(f->folder, sizeof f->folder, "/tmp/ashlar-locks-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    bson_oid_t oid;
    char hex[25];
    bson_oid_init(&oid, NULL);
    bson_oid_to_string(&oid, hex);
    snprintf(f->db, sizeof f->db, "locks_%s", hex);
    assert_ok(ash_store_open(uri != NULL ? uri : f->folder, NULL, &f->store, &f->err), &f->err);
    f->opts = (ash_lock_options)ASH_LOCK_OPTIONS_INIT;
    f->opts.db = f->db;
    f->opts.polling_interval_s = 0.1;
    f->c = fixture_reopen(f, &f->opts);
    assert_ok(ash_collection_new(f->store, f->db, "fs.locks", &f->docs, &f->err), &f->err);
    *state = f;
    return 0;
}

int fixture_teardown(void **state)
{
    fixture *f = *state;
    char command[128];
    ash_lock_collection_close(f->c);
    ash_collection_free(f->docs);
    assert_ok(ash_store_drop_database(f->store, f->db, NULL, &f->err), &f->err);
    ash_store_close(f->store);
    snprintf(command, sizeof command, "rm -rf '%s'", f->folder);
    int status = system(command);
    free(f);
    return status;
}

ash_lock_collection *fixture_reopen(fixture *f, const ash_lock_options *opts)
{
    ash_lock_collection *c = NULL;
    assert_ok(ash_lock_collection_open(f->store, opts, &c, &f->err), &f->err);
    return c;
}

bson_value_t text_id(const char *id)
{
    bson_value_t v = {.value_type = BSON_TYPE_UTF8};
    v.value.v_utf8.str = (char *)(uintptr_t)id;
    v.value.v_utf8.len = (uint32_t)strlen(id);
    return v;
}

ash_lock *open_lock(fixture *f, ash_lock_collection *c, const char *id,
                    const ash_lock_options *opts)
{
    ash_lock *lock = NULL;
    bson_value_t v = text_id(id);
    assert_ok(ash_lock_new(c, &v, opts, &lock, &f->err), &f->err);
    return lock;
}

bson_t *lock_doc(fixture *f, const char *id)
{
    bson_t *filter = BCON_NEW("files_id", BCON_UTF8(id));
    bson_t found;
    int rc = ash_collection_find_one(f->docs, filter, NULL, &found, &f->err);
    bson_destroy(filter);
    if (rc != 0)
        return NULL;
    bson_t *doc = bson_copy(&found);
    bson_destroy(&found);
    return doc;
}

int64_t doc_int(const bson_t *doc, const char *path)
{
    bson_iter_t iter, at;
    assert_true(bson_iter_init(&iter, doc));
    if (!bson_iter_find_descendant(&iter, path, &at))
        return -1;
    if (BSON_ITER_HOLDS_DATE_TIME(&at))
        return bson_iter_date_time(&at);
    if (BSON_ITER_HOLDS_BOOL(&at))
        return bson_iter_bool(&at);
    return bson_iter_as_int64(&at);
}

bool npm_modify(fixture *f, const char *id, const char *query, const char *update, bool upsert)
{
    ash_find_and_modify_options o = ASH_FIND_AND_MODIFY_OPTIONS_INIT;
    bson_t filter = BSON_INITIALIZER, more, change, doc;
    bool found = false;
    assert_ok(ash__lock_parse(query, &more, &f->err), &f->err);
    BSON_APPEND_UTF8(&filter, "files_id", id);
    bson_concat(&filter, &more);
    bson_value_t u = {.value_type = BSON_TYPE_DOCUMENT};
    if (update != NULL) {
        assert_ok(ash__lock_parse(update, &change, &f->err), &f->err);
        u.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(&change);
        u.value.v_doc.data_len = change.len;
        o.update = &u;
    } else {
        o.remove = true;
    }
    o.upsert = upsert;
    o.return_new = update != NULL;
    int rc = ash_collection_find_and_modify(f->docs, &filter, &o, &doc, &found, NULL, &f->err);
    if (rc == 0)
        bson_destroy(&doc);
    else
        assert_int_equal(rc, ASH_EEXISTS); /* the package's "not available" */
    if (update != NULL)
        bson_destroy(&change);
    bson_destroy(&filter);
    bson_destroy(&more);
    return rc == 0 && found;
}

static int64_t package_expiry(int64_t life_ms, int64_t skew_ms)
{
    int64_t now = ash__clock_wall_ms() + skew_ms;
    return life_ms > 0 ? now + life_ms : now + INT64_C(8000000000000000);
}

#define PACKAGE_POLL_MS 100

bool npm_read(fixture *f, const char *id, int64_t life_ms)
{
    char query[300], update[400];
    snprintf(query, sizeof query,
             "{'$or': [{'write_lock': false, 'write_req': false},"
             " {'expires': {'$lt': {'$date': {'$numberLong': '%lld'}}}}]}",
             (long long)(ash__clock_wall_ms() - 2 * PACKAGE_POLL_MS));
    snprintf(update, sizeof update,
             "{'$inc': {'read_locks': 1, 'reads': 1},"
             " '$set': {'write_lock': false, 'write_req': false, 'meta': null},"
             " '$max': {'expires': {'$date': {'$numberLong': '%lld'}}},"
             " '$setOnInsert': {'writes': 0}}",
             (long long)package_expiry(life_ms, 0));
    return npm_modify(f, id, query, update, true);
}

bool npm_write(fixture *f, const char *id, int64_t life_ms, int64_t skew_ms)
{
    char query[300], update[400];
    snprintf(query, sizeof query,
             "{'$or': [{'expires': {'$lt': {'$date': {'$numberLong': '%lld'}}}, 'write_req': true},"
             " {'write_lock': false, 'read_locks': 0}]}",
             (long long)(ash__clock_wall_ms() + skew_ms));
    snprintf(update, sizeof update,
             "{'$set': {'write_lock': true, 'write_req': false, 'read_locks': 0, 'meta': null,"
             " 'expires': {'$date': {'$numberLong': '%lld'}}}, '$inc': {'writes': 1},"
             " '$setOnInsert': {'reads': 0}}",
             (long long)package_expiry(life_ms, skew_ms));
    return npm_modify(f, id, query, update, true);
}

bool npm_release_read(fixture *f, const char *id)
{
    if (!npm_modify(f, id, "{'read_locks': {'$gt': 0}}",
                    "{'$inc': {'read_locks': -1}, '$set': {'meta': null}}", false))
        return false;
    npm_modify(f, id, "{'read_locks': 0, 'write_lock': false}",
               "{'$currentDate': {'expires': true}}", false);
    return true;
}

bool npm_release_write(fixture *f, const char *id)
{
    return npm_modify(f, id, "{'write_lock': true}",
                      "{'$set': {'write_lock': false, 'write_req': false, 'meta': null},"
                      " '$currentDate': {'expires': true}}",
                      false);
}

bool npm_ask(fixture *f, const char *id)
{
    return npm_modify(f, id, "{'write_req': false}", "{'$set': {'write_req': true}}", false);
}

bool npm_remove(fixture *f, const char *id)
{
    return npm_modify(f, id, "{'write_lock': true}", NULL, false);
}

static const char *kind_name(ash_lock_event_kind kind)
{
    static const char *const names[] = {"none",     "ready",   "locked",  "timed-out",
                                        "released", "removed", "renewed", "expires-soon",
                                        "expired",  "lost",    "error"};
    return kind <= ASH_LOCK_ERROR ? names[kind] : "unknown";
}

void expect_event(ash_lock *lock, ash_lock_event_kind wanted, int line)
{
    ash_lock_event event = ASH_LOCK_EVENT_INIT;
    ash_error err = ASH_ERROR_INIT;
    assert_ok(ash_lock_next_event(lock, 30000, &event, &err), &err);
    if (event.kind != wanted)
        fail_msg("line %d: event %s (%s) instead of %s", line, kind_name(event.kind),
                 event.error.text, kind_name(wanted));
}

void expect_to_come(fixture *f, const char *id, const char *path, int64_t value, int line)
{
    int64_t found = -1;
    for (int64_t end = now_ms() + 30000; now_ms() < end; sleep_ms(5)) {
        bson_t *doc = lock_doc(f, id);
        if (doc == NULL)
            continue;
        found = doc_int(doc, path);
        bson_destroy(doc);
        if (found == value)
            return;
    }
    fail_msg("line %d: %s of %s is %lld and not %lld", line, path, id, (long long)found,
             (long long)value);
}

void try_slower(fixture *f, bool (*fn)(fixture *f, double unit_s))
{
    for (double unit_s = 0.5; unit_s < 10; unit_s *= 2)
        if (fn(f, unit_s))
            return;
    fail_msg("not in time, however long the time was");
}

void sleep_ms(int64_t ms)
{
    ash__clock_sleep_ms(ms);
}

int64_t now_ms(void)
{
    return ash__clock_ms();
}
