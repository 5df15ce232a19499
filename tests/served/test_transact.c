/* SPDX-License-Identifier: Apache-2.0 */
/* Transactions of a client beside the process that holds the folder. */
#include "support.h"

#include "base/clock.h"
#include "base/mem.h"
#include "store/ops.h"

#include <mongoc/mongoc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- whole transactions ---- */

static int write_two(ash_transaction *t, void *ctx, ash_error *err)
{
    served *s = ctx;
    s->runs++;
    int rc = served_insert(s->c, t, "{'_id': 1}", err);
    if (rc == 0)
        rc = served_insert(s->c, t, "{'_id': 2}", err);
    if (rc == 0)
        assert_int_equal(served_count(s->c, t, "{}"), 2);
    assert_int_equal(served_count(s->own, NULL, "{}"), 0); /* nobody else sees any of it */
    return rc;
}

static void test_served_transact__on_either_topology(void **state)
{
    served *s = *state;
    ash_capabilities can = ASH_CAPABILITIES_INIT;
    assert_ok(ash_store_capabilities(s->client, &can, &s->err), &s->err);
    assert_string_equal(can.backend, "server");
    assert_true(can.transactions && can.atomic_commits);
    assert_ok(ash_store_transact(s->client, write_two, s, NULL, &s->err), &s->err);
    assert_int_equal(s->runs, 1);
    assert_int_equal(served_count(s->own, NULL, "{}"), 2);
}

/* Reads x, lets somebody else change it the first time, and writes what it read plus one. */
static int add_one(ash_transaction *t, void *ctx, ash_error *err)
{
    served *s = ctx;
    char change[64];
    int64_t x = 0;
    int rc = served_find_x(s->c, t, "{'_id': 1}", &x, err);
    if (rc != 0)
        return rc;
    if (s->runs++ == 0)
        assert_ok(
            served_update(s->own, NULL, "{'_id': 1}", "{'$inc': {'x': 10}}", false, NULL, &s->err),
            &s->err);
    snprintf(change, sizeof change, "{'$set': {'x': %d}}", (int)x + 1);
    return served_update(s->c, t, "{'_id': 1}", change, false, NULL, err);
}

static void test_served_transact__what_it_builds_on_still_holds(void **state)
{
    served *s = *state;
    int64_t x = 0;
    assert_ok(served_insert(s->own, NULL, "{'_id': 1, 'x': 0}", &s->err), &s->err);
    assert_ok(ash_store_transact(s->client, add_one, s, NULL, &s->err), &s->err);
    assert_int_equal(s->runs, 2);
    assert_ok(served_find_x(s->own, NULL, "{'_id': 1}", &x, &s->err), &s->err);
    assert_int_equal(x, 11);
}

/* The change comes after the last operation, so that the commit finds it. */
static int look_only(ash_transaction *t, void *ctx, ash_error *err)
{
    served *s = ctx;
    int64_t x = 0;
    int rc = served_find_x(s->c, t, "{'_id': 1}", &x, err);
    if (s->runs++ == 0)
        assert_ok(
            served_update(s->own, NULL, "{'_id': 1}", "{'$inc': {'x': 1}}", false, NULL, &s->err),
            &s->err);
    return rc;
}

static void test_served_transact__reads_alone_agree_with_each_other(void **state)
{
    served *s = *state;
    assert_ok(served_insert(s->own, NULL, "{'_id': 1, 'x': 0}", &s->err), &s->err);
    assert_ok(ash_store_transact(s->client, look_only, s, NULL, &s->err), &s->err);
    assert_int_equal(s->runs, 2);
}

typedef struct adder {
    served *s;
    ash_store *store;
    ash_collection *c;
    pthread_t thread;
    int rc;
    ash_error err;
} adder;

static int add(ash_transaction *t, void *ctx, ash_error *err)
{
    adder *a = ctx;
    char change[64];
    int64_t x = 0;
    int rc = served_find_x(a->c, t, "{'_id': 1}", &x, err);
    snprintf(change, sizeof change, "{'$set': {'x': %d}}", (int)x + 1);
    return rc == 0 ? served_update(a->c, t, "{'_id': 1}", change, false, NULL, err) : rc;
}

enum { ADDERS = 4, ADDED = 25 };

static void *keep_adding(void *arg)
{
    adder *a = arg;
    for (int i = 0; i < ADDED && a->rc == 0; i++)
        a->rc = ash_store_transact(a->store, add, a, NULL, &a->err);
    return NULL;
}

static void test_served_transact__clients_in_each_others_way(void **state)
{
    served *s = *state;
    adder adders[ADDERS];
    int64_t x = 0;
    assert_ok(served_insert(s->own, NULL, "{'_id': 1, 'x': 0}", &s->err), &s->err);
    for (int i = 0; i < ADDERS; i++) {
        adders[i] = (adder){.s = s, .err = ASH_ERROR_INIT};
        assert_ok(ash_store_open(s->uri, NULL, &adders[i].store, &s->err), &s->err);
        assert_ok(ash_collection_new(adders[i].store, NULL, "things", &adders[i].c, &s->err),
                  &s->err);
        assert_int_equal(pthread_create(&adders[i].thread, NULL, keep_adding, &adders[i]), 0);
    }
    for (int i = 0; i < ADDERS; i++) {
        pthread_join(adders[i].thread, NULL);
        assert_ok(adders[i].rc, &adders[i].err);
        ash_collection_free(adders[i].c);
        ash_store_close(adders[i].store);
    }
    assert_ok(served_find_x(s->own, NULL, "{'_id': 1}", &x, &s->err), &s->err);
    assert_int_equal(x, ADDERS * ADDED);
}

/* What the server makes up is the same each time: the new _id, and the time. */
static int upsert_two(ash_transaction *t, void *ctx, ash_error *err)
{
    served *s = ctx;
    ash_write_result first, second;
    bson_t fields;
    ash_write_result_init(&first);
    ash_write_result_init(&second);
    s->runs++;
    int rc = served_update(s->c, t, "{'name': 'a'}", "{'$currentDate': {'at': true}}", true, &first,
                           err);
    if (rc == 0)
        rc = served_update(s->c, t, "{'name': 'b'}", "{'$currentDate': {'at': true}}", true,
                           &second, err);
    if (rc == 0) {
        ash_find_options o = ASH_FIND_OPTIONS_INIT;
        assert_true(first.upserted && second.upserted);
        assert_false(bson_equal(&first.upserted_id, &second.upserted_id));
        o.op.transaction = t;
        rc = ash_collection_find_one(s->c, &first.upserted_id, &o, &fields, err);
    }
    if (rc == 0) {
        ash__clock_sleep_ms(5);
        bson_destroy(&fields);
    }
    ash_write_result_release(&first);
    ash_write_result_release(&second);
    return rc;
}

static void test_served_transact__what_the_server_makes_up(void **state)
{
    served *s = *state;
    assert_ok(ash_store_transact(s->client, upsert_two, s, NULL, &s->err), &s->err);
    assert_int_equal(s->runs, 1);
    assert_int_equal(
        served_count(s->own, NULL, "{'_id': {'$gt': {'$oid': '010000000000000000000000'}}}"), 2);
    assert_int_equal(
        served_count(s->own, NULL, "{'at': {'$gt': {'$date': '2020-01-01T00:00:00Z'}}}"), 2);
}

static int add_to_x(ash_transaction *t, void *ctx, ash_error *err)
{
    served *s = ctx;
    s->runs++;
    return served_update(s->c, t, "{'_id': 1}", "{'$inc': {'x': 1}}", false, NULL, err);
}

/* ---- commands as they are ---- */

/* The commit is done, and nobody hears of it. */
static void test_served_transact__a_lost_answer_of_a_commit(void **state)
{
    served *s = *state;
    int64_t x = 0;
    assert_ok(served_insert(s->own, NULL, "{'_id': 1, 'x': 0}", &s->err), &s->err);
    served_run_text(s,
                    "{'configureFailPoint': 'onPrimaryTransactionalWrite', 'mode': {'times': 1}}");
    assert_ok(ash_store_transact(s->client, add_to_x, s, NULL, &s->err), &s->err);
    assert_int_equal(s->runs, 1);
    assert_ok(served_find_x(s->own, NULL, "{'_id': 1}", &x, &s->err), &s->err);
    assert_int_equal(x, 1);
}

static const char IDENTITY[] =
    "'seed': {'$oid': '0102030405060708090a0b0c'}, 'commit': true, 'number': {'$numberLong': "
    "'%d'}, 'session': {'$binary': {'base64': 'AAECAwQFBgcICQoLDA0ODw==', 'subType': '04'}}}";

/* The commit of {$inc: {x: 1}} with an answer {n: 1, nModified: 1, ok: 1}; its hash is told by
 * the server. */
static int32_t commit_increment(served *s, int number)
{
    bson_t command, reply;
    bson_iter_t it;
    int32_t code;
    const char *list = "'operations': [{'update': 'things', 'updates': [{'q': {'_id': 1}, 'u': "
                       "{'$inc': {'x': 1}}}], '$db': 'test'}]";
    char *text = ash__sprintf("{'ashlarTransact': 1, %s, 'seed': {'$oid': "
                              "'0102030405060708090a0b0c'}}",
                              list);
    served_parse(text, &command);
    assert_true(served_run(s, "admin", &command, &reply, &code));
    assert_true(bson_iter_init_find(&it, &reply, "hash"));
    int64_t hash = bson_iter_int64(&it);
    bson_destroy(&command);
    bson_destroy(&reply);
    ash__free(text);
    char *identity = ash__sprintf(IDENTITY, number);
    text = ash__sprintf("{'ashlarTransact': 1, %s, 'results': [{'$numberLong': '%lld'}], %s", list,
                        (long long)hash, identity);
    served_parse(text, &command);
    served_run(s, "admin", &command, &reply, &code);
    bson_destroy(&command);
    bson_destroy(&reply);
    ash__free(text);
    ash__free(identity);
    return code;
}

/* Also by a server that was started anew meanwhile. */
static void test_served_transact__a_commit_is_not_done_twice(void **state)
{
    served *s = *state;
    int64_t x = 0;
    assert_ok(served_insert(s->own, NULL, "{'_id': 1, 'x': 0}", &s->err), &s->err);
    assert_int_equal(commit_increment(s, 5), 0);
    assert_int_equal(commit_increment(s, 5), 0);
    ash__server_stop(s->server);
    ash_collection_free(s->own);
    ash_store_close(s->store);
    served_open(s);
    served_start(s);
    assert_int_equal(commit_increment(s, 5), 0);
    assert_ok(served_find_x(s->own, NULL, "{'_id': 1}", &x, &s->err), &s->err);
    assert_int_equal(x, 1);
    assert_int_equal(commit_increment(s, 6), 0);
    assert_int_equal(commit_increment(s, 5), 225);
    assert_ok(served_find_x(s->own, NULL, "{'_id': 1}", &x, &s->err), &s->err);
    assert_int_equal(x, 2);
}

/* The server goes away and comes back between two operations: nothing was open there. */
static int restart_between(ash_transaction *t, void *ctx, ash_error *err)
{
    served *s = ctx;
    int rc = served_insert(s->c, t, "{'_id': 1}", err);
    if (s->runs++ == 0) {
        ash__server_stop(s->server);
        served_start(s);
    }
    return rc == 0 ? served_insert(s->c, t, "{'_id': 2}", err) : rc;
}

static void test_served_transact__a_server_that_is_started_anew(void **state)
{
    served *s = *state;
    assert_ok(ash_store_transact(s->client, restart_between, s, NULL, &s->err), &s->err);
    assert_int_equal(s->runs, 1);
    assert_int_equal(served_count(s->own, NULL, "{}"), 2);
}

static int die(ash_transaction *t, void *ctx, ash_error *err)
{
    ash_collection *c = ctx;
    if (served_insert(c, t, "{'_id': 1}", err) == 0)
        _exit(7);
    return ASH_EINTERNAL;
}

/* A client that dies in the middle leaves nothing, and nobody waits for it. */
static void test_served_transact__a_client_that_dies(void **state)
{
    served *s = *state;
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        ash_store *store = NULL;
        ash_collection *c = NULL;
        if (ash_store_open(s->uri, NULL, &store, NULL) == 0 &&
            ash_collection_new(store, NULL, "things", &c, NULL) == 0)
            ash_store_transact(store, die, c, NULL, NULL);
        _exit(8);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), 7);
    assert_int_equal(served_count(s->own, NULL, "{}"), 0);
    assert_ok(served_insert(s->own, NULL, "{'_id': 1}", &s->err), &s->err);
}

/* ---- under a lock ---- */

typedef struct crowd {
    ash_collection *locks;
    atomic_bool over;
} crowd;

/* Others come to wait and go again, all the time. */
static void *come_and_go(void *arg)
{
    crowd *others = arg;
    ash_update_options o = ASH_UPDATE_OPTIONS_INIT;
    bson_value_t value = {.value_type = BSON_TYPE_DOCUMENT};
    bson_t filter, change;
    served_parse("{'write_lock': true}", &filter);
    served_parse("{'$inc': {'came': 1}}", &change);
    value.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(&change);
    value.value.v_doc.data_len = change.len;
    o.op.durability = ASH_DURABILITY_INTERVAL;
    while (!atomic_load(&others->over))
        ash_collection_update(others->locks, &filter, &value, &o, NULL, NULL);
    bson_destroy(&filter);
    bson_destroy(&change);
    return NULL;
}

static int put_under(ash_bucket *b, ash_lock *lock, ash_error *err)
{
    ash_upload_options o = ASH_UPLOAD_OPTIONS_INIT;
    ash_upload *u = NULL;
    ash_fence fence = ASH_FENCE_INIT;
    int rc = ash_lock_fence(lock, &fence, err);
    o.fence = &fence;
    o.timeout_ms = 20000;
    if (rc == 0)
        rc = ash_bucket_open_upload_stream(b, "file", &o, &u, err);
    if (rc == 0)
        rc = ash_upload_write(u, "bytes", 5, err);
    if (rc == 0)
        rc = ash_upload_finish(u, NULL, err);
    ash_upload_free(u);
    return rc;
}

/* A fenced change looks at the lock, not at who else stands there. */
static void test_served_transact__a_crowd_at_the_lock(void **state)
{
    served *s = *state;
    ash_lock_options o = ASH_LOCK_OPTIONS_INIT;
    ash_lock_collection *locks = NULL;
    ash_lock *lock = NULL;
    ash_bucket *b = NULL;
    bson_value_t id = {.value_type = BSON_TYPE_INT32, .value.v_int32 = 1};
    crowd others = {.over = false};
    pthread_t thread;
    assert_ok(ash_bucket_new(s->client, NULL, &b, &s->err), &s->err);
    assert_ok(ash_lock_collection_open(s->client, &o, &locks, &s->err), &s->err);
    assert_ok(ash_lock_new(locks, &id, &o, &lock, &s->err), &s->err);
    assert_ok(ash_lock_obtain_write(lock, &s->err), &s->err);
    assert_ok(ash_collection_new(s->store, NULL, "fs.locks", &others.locks, &s->err), &s->err);
    assert_int_equal(pthread_create(&thread, NULL, come_and_go, &others), 0);
    assert_ok(put_under(b, lock, &s->err), &s->err);
    atomic_store(&others.over, true);
    pthread_join(thread, NULL);
    ash_collection_free(others.locks);
    ash_lock_free(lock);
    ash_lock_collection_close(locks);
    ash_bucket_free(b);
}

int main(void)
{
#define T(name)                                                                                    \
    cmocka_unit_test_setup_teardown(test_served_transact__##name, served_setup, served_teardown)
    const struct CMUnitTest tests[] = {
        T(on_either_topology),
        cmocka_unit_test_setup_teardown(test_served_transact__on_either_topology,
                                        served_setup_standalone, served_teardown),
        T(what_it_builds_on_still_holds),
        T(reads_alone_agree_with_each_other),
        T(clients_in_each_others_way),
        T(what_the_server_makes_up),
        T(a_lost_answer_of_a_commit),
        cmocka_unit_test_setup_teardown(test_served_transact__a_lost_answer_of_a_commit,
                                        served_setup_standalone, served_teardown),
        T(a_commit_is_not_done_twice),
        T(a_server_that_is_started_anew),
        T(a_client_that_dies),
        T(a_crowd_at_the_lock),
    };
    mongoc_init();
    int failed = cmocka_run_group_tests_name("served transact", tests, NULL, NULL);
    mongoc_cleanup();
    return failed;
}
