/* SPDX-License-Identifier: Apache-2.0 */
#define _XOPEN_SOURCE 700 /* nftw() */
#include "check.h"

#include "base/clock.h"
#include "base/mem.h"
#include "store/ops.h"
#include "wire/server.h"

#include <ashlar/ashlar.h>

#include <ftw.h>
#include <mongoc/mongoc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Transactions of a client beside the process that holds the folder, and what no client of ours
 * would send. */

typedef struct served {
    char *folder;
    ash_store *store; /* in this process */
    ash_server *server;
    ash_server_options opts;
    char listen[64], uri[96];
    ash_store *client;       /* through the server */
    ash_collection *own, *c; /* the same collection by either */
    int runs;
    ash_error err;
} served;

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static void serve(served *s)
{
    size_t count;
    const char *listen = s->listen;
    s->opts.listen = &listen;
    s->opts.listen_count = 1;
    assert_ok(ash__server_start(s->store, &s->opts, &s->server, &s->err), &s->err);
    snprintf(s->listen, sizeof s->listen, "%s", ash__server_addresses(s->server, &count)[0]);
}

static void open_own(served *s)
{
    assert_ok(ash_store_open(s->folder, NULL, &s->store, &s->err), &s->err);
    assert_ok(ash_collection_open(s->store, NULL, "things", &s->own, &s->err), &s->err);
}

static void start(served *s, bool standalone)
{
    const char *tmp = getenv("TMPDIR");
    s->folder = ash__sprintf("%s/ashlar-served-XXXXXX", tmp != NULL ? tmp : "/tmp");
    assert_non_null(mkdtemp(s->folder));
    s->opts = (ash_server_options)ASH_SERVER_OPTIONS_INIT;
    s->opts.test_commands = true;
    s->opts.standalone = standalone;
    strcpy(s->listen, "127.0.0.1:0");
    open_own(s);
    serve(s);
    snprintf(s->uri, sizeof s->uri, "mongodb://%s/?directConnection=true", s->listen);
    assert_ok(ash_store_open(s->uri, NULL, &s->client, &s->err), &s->err);
    assert_ok(ash_collection_open(s->client, NULL, "things", &s->c, &s->err), &s->err);
}

static int setup(void **state)
{
    served *s = ash__new(served);
    start(s, false);
    *state = s;
    return 0;
}

static int setup_standalone(void **state)
{
    served *s = ash__new(served);
    start(s, true);
    *state = s;
    return 0;
}

static int teardown(void **state)
{
    served *s = *state;
    ash_collection_free(s->c);
    ash_store_close(s->client);
    ash__server_stop(s->server);
    ash_collection_free(s->own);
    ash_store_close(s->store);
    nftw(s->folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    ash__free(s->folder);
    ash__free(s);
    return 0;
}

/* ---- operations, with ' for " ---- */

static void parse(const char *text, bson_t *out)
{
    char *json = ash__sprintf("%s", text);
    bson_error_t error;
    for (char *p = json; *p != '\0'; p++)
        if (*p == '\'')
            *p = '"';
    if (!bson_init_from_json(out, json, -1, &error))
        fail_msg("bad JSON in the test: %s: %s", text, error.message);
    ash__free(json);
}

static int insert(ash_collection *c, ash_transaction *t, const char *text, ash_error *err)
{
    ash_insert_options o = ASH_INSERT_OPTIONS_INIT;
    bson_t doc;
    parse(text, &doc);
    o.op.transaction = t;
    int rc = ash_collection_insert_one(c, &doc, &o, err);
    bson_destroy(&doc);
    return rc;
}

static int update(ash_collection *c, ash_transaction *t, const char *filter, const char *change,
                  bool upsert, ash_write_result *r, ash_error *err)
{
    ash_update_options o = ASH_UPDATE_OPTIONS_INIT;
    bson_value_t value = {.value_type = BSON_TYPE_DOCUMENT};
    bson_t query, doc;
    parse(filter, &query);
    parse(change, &doc);
    value.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(&doc);
    value.value.v_doc.data_len = doc.len;
    o.op.transaction = t;
    o.upsert = upsert;
    int rc = ash_collection_update(c, &query, &value, &o, r, err);
    bson_destroy(&query);
    bson_destroy(&doc);
    return rc;
}

static int64_t count(ash_collection *c, ash_transaction *t, const char *filter)
{
    ash_count_options o = ASH_COUNT_OPTIONS_INIT;
    bson_t query;
    int64_t n = -1;
    ash_error err = ASH_ERROR_INIT;
    parse(filter, &query);
    o.op.transaction = t;
    int rc = ash_collection_count(c, &query, &o, &n, &err);
    bson_destroy(&query);
    return rc == 0 ? n : rc;
}

/* The number x of the document, or a code. */
static int find_x(ash_collection *c, ash_transaction *t, const char *filter, int64_t *x,
                  ash_error *err)
{
    ash_find_options o = ASH_FIND_OPTIONS_INIT;
    bson_t query, doc;
    bson_iter_t it;
    parse(filter, &query);
    o.op.transaction = t;
    int rc = ash_collection_find_one(c, &query, &o, &doc, err);
    bson_destroy(&query);
    if (rc != 0)
        return rc;
    *x = bson_iter_init_find(&it, &doc, "x") ? bson_iter_as_int64(&it) : -1;
    bson_destroy(&doc);
    return 0;
}

/* ---- whole transactions ---- */

static int write_two(ash_transaction *t, void *ctx, ash_error *err)
{
    served *s = ctx;
    s->runs++;
    int rc = insert(s->c, t, "{'_id': 1}", err);
    if (rc == 0)
        rc = insert(s->c, t, "{'_id': 2}", err);
    if (rc == 0)
        assert_int_equal(count(s->c, t, "{}"), 2);
    assert_int_equal(count(s->own, NULL, "{}"), 0); /* nobody else sees any of it */
    return rc;
}

static void test_served_transact__on_either_topology(void **state)
{
    served *s = *state;
    ash_capabilities can;
    assert_ok(ash_store_capabilities(s->client, &can, &s->err), &s->err);
    assert_string_equal(can.backend, "server");
    assert_true(can.transactions && can.atomic_commits);
    assert_ok(ash_store_transact(s->client, write_two, s, NULL, &s->err), &s->err);
    assert_int_equal(s->runs, 1);
    assert_int_equal(count(s->own, NULL, "{}"), 2);
}

/* Reads x, lets somebody else change it the first time, and writes what it read plus one. */
static int add_one(ash_transaction *t, void *ctx, ash_error *err)
{
    served *s = ctx;
    char change[64];
    int64_t x = 0;
    int rc = find_x(s->c, t, "{'_id': 1}", &x, err);
    if (rc != 0)
        return rc;
    if (s->runs++ == 0)
        assert_ok(update(s->own, NULL, "{'_id': 1}", "{'$inc': {'x': 10}}", false, NULL, &s->err),
                  &s->err);
    snprintf(change, sizeof change, "{'$set': {'x': %d}}", (int)x + 1);
    return update(s->c, t, "{'_id': 1}", change, false, NULL, err);
}

static void test_served_transact__what_it_builds_on_still_holds(void **state)
{
    served *s = *state;
    int64_t x = 0;
    assert_ok(insert(s->own, NULL, "{'_id': 1, 'x': 0}", &s->err), &s->err);
    assert_ok(ash_store_transact(s->client, add_one, s, NULL, &s->err), &s->err);
    assert_int_equal(s->runs, 2);
    assert_ok(find_x(s->own, NULL, "{'_id': 1}", &x, &s->err), &s->err);
    assert_int_equal(x, 11);
}

/* The change comes after the last operation, so that the commit finds it. */
static int look_only(ash_transaction *t, void *ctx, ash_error *err)
{
    served *s = ctx;
    int64_t x = 0;
    int rc = find_x(s->c, t, "{'_id': 1}", &x, err);
    if (s->runs++ == 0)
        assert_ok(update(s->own, NULL, "{'_id': 1}", "{'$inc': {'x': 1}}", false, NULL, &s->err),
                  &s->err);
    return rc;
}

static void test_served_transact__reads_alone_agree_with_each_other(void **state)
{
    served *s = *state;
    assert_ok(insert(s->own, NULL, "{'_id': 1, 'x': 0}", &s->err), &s->err);
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
    int rc = find_x(a->c, t, "{'_id': 1}", &x, err);
    snprintf(change, sizeof change, "{'$set': {'x': %d}}", (int)x + 1);
    return rc == 0 ? update(a->c, t, "{'_id': 1}", change, false, NULL, err) : rc;
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
    assert_ok(insert(s->own, NULL, "{'_id': 1, 'x': 0}", &s->err), &s->err);
    for (int i = 0; i < ADDERS; i++) {
        adders[i] = (adder){.s = s, .err = ASH_ERROR_INIT};
        assert_ok(ash_store_open(s->uri, NULL, &adders[i].store, &s->err), &s->err);
        assert_ok(ash_collection_open(adders[i].store, NULL, "things", &adders[i].c, &s->err),
                  &s->err);
        assert_int_equal(pthread_create(&adders[i].thread, NULL, keep_adding, &adders[i]), 0);
    }
    for (int i = 0; i < ADDERS; i++) {
        pthread_join(adders[i].thread, NULL);
        assert_ok(adders[i].rc, &adders[i].err);
        ash_collection_free(adders[i].c);
        ash_store_close(adders[i].store);
    }
    assert_ok(find_x(s->own, NULL, "{'_id': 1}", &x, &s->err), &s->err);
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
    int rc = update(s->c, t, "{'name': 'a'}", "{'$currentDate': {'at': true}}", true, &first, err);
    if (rc == 0)
        rc = update(s->c, t, "{'name': 'b'}", "{'$currentDate': {'at': true}}", true, &second, err);
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
    assert_int_equal(count(s->own, NULL, "{'_id': {'$gt': {'$oid': '010000000000000000000000'}}}"),
                     2);
    assert_int_equal(count(s->own, NULL, "{'at': {'$gt': {'$date': '2020-01-01T00:00:00Z'}}}"), 2);
}

static int add_to_x(ash_transaction *t, void *ctx, ash_error *err)
{
    served *s = ctx;
    s->runs++;
    return update(s->c, t, "{'_id': 1}", "{'$inc': {'x': 1}}", false, NULL, err);
}

/* ---- commands as they are ---- */

static bool run(served *s, const char *db, const bson_t *command, bson_t *reply, int32_t *code)
{
    mongoc_client_t *client = mongoc_client_new(s->uri);
    bson_error_t error = {0};
    bool ok = mongoc_client_command_simple(client, db, command, NULL, reply, &error);
    *code = ok ? 0 : (int32_t)error.code;
    mongoc_client_destroy(client);
    return ok;
}

static void run_text(served *s, const char *text)
{
    bson_t command, reply;
    int32_t code;
    parse(text, &command);
    if (!run(s, "admin", &command, &reply, &code))
        fail_msg("%s: %d", text, (int)code);
    bson_destroy(&command);
    bson_destroy(&reply);
}

/* The commit is done, and nobody hears of it. */
static void test_served_transact__a_lost_answer_of_a_commit(void **state)
{
    served *s = *state;
    int64_t x = 0;
    assert_ok(insert(s->own, NULL, "{'_id': 1, 'x': 0}", &s->err), &s->err);
    run_text(s, "{'configureFailPoint': 'onPrimaryTransactionalWrite', 'mode': {'times': 1}}");
    assert_ok(ash_store_transact(s->client, add_to_x, s, NULL, &s->err), &s->err);
    assert_int_equal(s->runs, 1);
    assert_ok(find_x(s->own, NULL, "{'_id': 1}", &x, &s->err), &s->err);
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
    parse(text, &command);
    assert_true(run(s, "admin", &command, &reply, &code));
    assert_true(bson_iter_init_find(&it, &reply, "hash"));
    int64_t hash = bson_iter_int64(&it);
    bson_destroy(&command);
    bson_destroy(&reply);
    ash__free(text);
    char *identity = ash__sprintf(IDENTITY, number);
    text = ash__sprintf("{'ashlarTransact': 1, %s, 'results': [{'$numberLong': '%lld'}], %s", list,
                        (long long)hash, identity);
    parse(text, &command);
    run(s, "admin", &command, &reply, &code);
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
    assert_ok(insert(s->own, NULL, "{'_id': 1, 'x': 0}", &s->err), &s->err);
    assert_int_equal(commit_increment(s, 5), 0);
    assert_int_equal(commit_increment(s, 5), 0);
    ash__server_stop(s->server);
    ash_collection_free(s->own);
    ash_store_close(s->store);
    open_own(s);
    serve(s);
    assert_int_equal(commit_increment(s, 5), 0);
    assert_ok(find_x(s->own, NULL, "{'_id': 1}", &x, &s->err), &s->err);
    assert_int_equal(x, 1);
    assert_int_equal(commit_increment(s, 6), 0);
    assert_int_equal(commit_increment(s, 5), 225);
    assert_ok(find_x(s->own, NULL, "{'_id': 1}", &x, &s->err), &s->err);
    assert_int_equal(x, 2);
}

/* The server goes away and comes back between two operations: nothing was open there. */
static int restart_between(ash_transaction *t, void *ctx, ash_error *err)
{
    served *s = ctx;
    int rc = insert(s->c, t, "{'_id': 1}", err);
    if (s->runs++ == 0) {
        ash__server_stop(s->server);
        serve(s);
    }
    return rc == 0 ? insert(s->c, t, "{'_id': 2}", err) : rc;
}

static void test_served_transact__a_server_that_is_started_anew(void **state)
{
    served *s = *state;
    assert_ok(ash_store_transact(s->client, restart_between, s, NULL, &s->err), &s->err);
    assert_int_equal(s->runs, 1);
    assert_int_equal(count(s->own, NULL, "{}"), 2);
}

static int die(ash_transaction *t, void *ctx, ash_error *err)
{
    ash_collection *c = ctx;
    if (insert(c, t, "{'_id': 1}", err) == 0)
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
            ash_collection_open(store, NULL, "things", &c, NULL) == 0)
            ash_store_transact(store, die, c, NULL, NULL);
        _exit(8);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), 7);
    assert_int_equal(count(s->own, NULL, "{}"), 0);
    assert_ok(insert(s->own, NULL, "{'_id': 1}", &s->err), &s->err);
}

/* ---- what is refused ---- */

static int other_things(ash_transaction *t, void *ctx, ash_error *err)
{
    served *s = ctx;
    ash_cursor *cursor = NULL;
    ash_op op = {.transaction = t};
    ash_aggregate_options o = ASH_AGGREGATE_OPTIONS_INIT;
    bson_t stages;
    s->runs++;
    assert_int_equal(ash_collection_drop(s->c, &op, err), ASH_EUNSUPPORTED);
    assert_int_equal(ash_store_flush(s->client, &op, err), ASH_EUNSUPPORTED);
    assert_int_equal(ash_store_transact(s->client, other_things, s, &op, err), ASH_ESTATE);
    o.op.transaction = t;
    parse("{'0': {'$match': {}}, '1': {'$out': 'copy'}}", &stages);
    assert_int_equal(ash_collection_aggregate(s->c, &stages, &o, &cursor, err), ASH_EUNSUPPORTED);
    bson_destroy(&stages);
    return insert(s->c, t, "{'_id': 3}", err);
}

static void test_served_transact__documents_and_nothing_else(void **state)
{
    served *s = *state;
    assert_ok(ash_store_transact(s->client, other_things, s, NULL, &s->err), &s->err);
    assert_int_equal(s->runs, 1);
    assert_int_equal(count(s->own, NULL, "{'_id': 3}"), 1);
}

/* {ashlarTransact: 1, more} */
static int32_t code_of(served *s, const char *more)
{
    bson_t command, reply;
    int32_t code;
    char *text = ash__sprintf("{'ashlarTransact': 1, %s}", more);
    parse(text, &command);
    run(s, "admin", &command, &reply, &code);
    bson_destroy(&command);
    bson_destroy(&reply);
    ash__free(text);
    return code;
}

#define SEED    "'seed': {'$oid': '0102030405060708090a0b0c'}"
#define FIND    "{'find': 'things', '$db': 'test'}"
#define LONG(n) "{'$numberLong': '" n "'}"
#define LIST(x) "'operations': [" x "], " SEED

static void test_served_transact__hostile_lists(void **state)
{
    static const struct {
        const char *arguments;
        int32_t code;
    } cases[] = {
        {LIST(FIND), 0},
        {SEED, 40414},
        {LIST(""), 16},
        {"'operations': [1], " SEED, 14},
        {"'operations': [" FIND "]", 14},
        {"'operations': [" FIND "], 'seed': 1", 14},
        {LIST(FIND) ", 'unknown': 1", 40415},
        {LIST(FIND) ", 'now': 'today'", 14},
        {LIST(FIND) ", 'results': [" LONG("1") "]", 72},
        {LIST(FIND "," FIND), 72},
        {LIST(FIND "," FIND) ", 'results': ['x']", 14},
        {LIST(FIND "," FIND) ", 'results': [" LONG("1") "]", 112},
        {LIST(FIND) ", 'commit': true, 'results': [" LONG("1") "]", 14},
        {LIST(FIND) ", 'txnNumber': " LONG("1"), 50768},
        {LIST("{}"), 40571},
        {LIST("{'$db': 'test'}"), 263},
        {LIST("{'find': 'things'}"), 40571},
        {LIST("{'find': 'things', '$db': 'a b'}"), 73},
        {LIST("{'find': 1, '$db': 'test'}"), 73},
        {LIST("{'find': 'things', '$db': 'test', 'unknown': 1}"), 40415},
        {LIST("{'find': 'things', '$db': 'test', 'maxTimeMS': 1}"), 72},
        {LIST("{'find': 'things', '$db': 'test', 'writeConcern': {}}"), 72},
        {LIST("{'find': 'things', '$db': 'test', 'startTransaction': true}"), 72},
        {LIST("{'find': 'things', '$db': 'test', 'lsid': {'id': 1}}"), 72},
        {LIST("{'getMore': " LONG("1") ", 'collection': 'things', '$db': 'test'}"), 263},
        {LIST("{'ashlarTransact': 1, '$db': 'admin', 'operations': [" FIND "]}"), 263},
        {LIST("{'drop': 'things', '$db': 'test'}"), 263},
        {LIST("{'shutdown': 1, '$db': 'admin'}"), 263},
        {LIST("{'configureFailPoint': 'failCommand', '$db': 'admin', 'mode': 'off'}"), 263},
    };
    served *s = *state;
    bson_t command, reply;
    int32_t code;
    for (size_t i = 0; i < ASH_ARRAY_LEN(cases); i++) {
        code = code_of(s, cases[i].arguments);
        if (code != cases[i].code)
            fail_msg("%s: %d, not %d", cases[i].arguments, (int)code, (int)cases[i].code);
    }
    parse("{'ashlarTransact': 1, " LIST(FIND) "}", &command);
    assert_false(run(s, "test", &command, &reply, &code));
    assert_int_equal(code, 13);
    bson_destroy(&command);
    bson_destroy(&reply);
    assert_ok(insert(s->own, NULL, "{'_id': 1}", &s->err), &s->err);
}

/* What fails inside is an answer like any other. */
static void test_served_transact__operations_that_fail(void **state)
{
    static const char *const operations[] = {
        "{'find': 'things', '$db': 'test', 'tailable': true}",
        "{'find': 'things', '$db': 'test', 'filter': {'$nonsense': 1}}",
        "{'aggregate': 'things', '$db': 'test', 'cursor': {}, 'pipeline': [{'$out': 'other'}]}",
        "{'aggregate': 'things', '$db': 'test', 'cursor': {}, 'pipeline': [{'$merge': 'other'}]}",
        "{'aggregate': 'things', '$db': 'test', 'cursor': {}, 'pipeline': [{'$changeStream': {}}]}",
        "{'aggregate': 1, '$db': 'admin', 'cursor': {}, 'pipeline': [{'$currentOp': {}}]}",
        "{'aggregate': 'things', '$db': 'test', 'cursor': {}, 'explain': true, 'pipeline': []}",
        "{'update': 'things', '$db': 'test', 'updates': []}",
    };
    served *s = *state;
    for (size_t i = 0; i < ASH_ARRAY_LEN(operations); i++) {
        bson_t command, reply;
        bson_iter_t it, at;
        int32_t code;
        char *text =
            ash__sprintf("{'ashlarTransact': 1, 'operations': [%s], " SEED "}", operations[i]);
        parse(text, &command);
        assert_true(run(s, "admin", &command, &reply, &code));
        assert_true(bson_iter_init(&it, &reply) &&
                    bson_iter_find_descendant(&it, "result.code", &at));
        assert_int_not_equal(bson_iter_as_int64(&at), 0);
        bson_destroy(&command);
        bson_destroy(&reply);
        ash__free(text);
    }
    assert_int_equal(count(s->own, NULL, "{}"), 0);
}

static bson_t *many_operations(int count, size_t bytes)
{
    bson_t *command = BCON_NEW("ashlarTransact", BCON_INT32(1));
    bson_t list, operation, results, query;
    bson_oid_t seed;
    char key[12];
    const char *name;
    uint8_t *data = ash__alloc(bytes + 1);
    memset(data, 1, bytes + 1);
    bson_oid_init(&seed, NULL);
    BSON_APPEND_OID(command, "seed", &seed);
    BSON_APPEND_ARRAY_BEGIN(command, "operations", &list);
    for (int i = 0; i < count; i++) {
        bson_uint32_to_string((uint32_t)i, &name, key, sizeof key);
        BSON_APPEND_DOCUMENT_BEGIN(&list, name, &operation);
        BSON_APPEND_UTF8(&operation, "count", "things");
        BSON_APPEND_DOCUMENT_BEGIN(&operation, "query", &query);
        BSON_APPEND_BINARY(&query, "data", BSON_SUBTYPE_BINARY, data, (uint32_t)bytes);
        bson_append_document_end(&operation, &query);
        BSON_APPEND_UTF8(&operation, "$db", "test");
        bson_append_document_end(&list, &operation);
    }
    bson_append_array_end(command, &list);
    BSON_APPEND_ARRAY_BEGIN(command, "results", &results);
    for (int i = 0; i < count - 1; i++) {
        bson_uint32_to_string((uint32_t)i, &name, key, sizeof key);
        BSON_APPEND_INT64(&results, name, 0);
    }
    bson_append_array_end(command, &results);
    ash__free(data);
    return command;
}

static void test_served_transact__lists_that_are_too_long(void **state)
{
    static const struct {
        int count;
        size_t bytes;
        int32_t code;
    } cases[] = {{1000, 10, 112}, {1001, 10, 257}, {10000, 10, 257}, {17, 1000000, 10334}};
    served *s = *state;
    for (size_t i = 0; i < ASH_ARRAY_LEN(cases); i++) {
        bson_t *command = many_operations(cases[i].count, cases[i].bytes);
        bson_t reply;
        int32_t code;
        run(s, "admin", command, &reply, &code);
        assert_int_equal(code, cases[i].code);
        bson_destroy(command);
        bson_destroy(&reply);
    }
}

/* ---- bounds ---- */

static int find_too_much(ash_transaction *t, void *ctx, ash_error *err)
{
    served *s = ctx;
    ash_find_options o = ASH_FIND_OPTIONS_INIT;
    ash_cursor *cursor = NULL;
    ash_doc doc;
    int n = 0;
    o.op.transaction = t;
    o.limit = 7;
    assert_ok(ash_collection_find(s->c, NULL, &o, &cursor, err), err);
    do {
        assert_ok(ash_cursor_next(cursor, &doc, err), err);
        n += doc.data != NULL ? 1 : 0;
    } while (doc.data != NULL);
    ash_cursor_free(cursor);
    assert_int_equal(n, 7);
    o.limit = 0;
    return ash_collection_find(s->c, NULL, &o, &cursor, err);
}

static void test_served_transact__a_find_gives_all_or_fails(void **state)
{
    enum { BYTES = 2 * 1024 * 1024 };
    served *s = *state;
    uint8_t *data = ash__alloc(BYTES);
    memset(data, 7, BYTES);
    for (int i = 0; i < 9; i++) {
        bson_t *doc = BCON_NEW("_id", BCON_INT32(i));
        BSON_APPEND_BINARY(doc, "data", BSON_SUBTYPE_BINARY, data, BYTES);
        assert_ok(ash_collection_insert_one(s->own, doc, NULL, &s->err), &s->err);
        bson_destroy(doc);
    }
    assert_int_equal(ash_store_transact(s->client, find_too_much, s, NULL, &s->err), ASH_ETOOBIG);
    ash__free(data);
}

/* Each document is done soon, all of them are not. */
static void test_served_transact__a_list_has_a_time_limit(void **state)
{
    served *s = *state;
    bson_t command, reply;
    int32_t code;
    const char *loop = "{'$reduce': {'input': {'$range': [0, 200000]}, 'initialValue': 0, 'in': "
                       "{'$add': ['$$value', '$$this']}}}";
    char *text = ash__sprintf("{'ashlarTransact': 1, 'operations': [{'update': 'things', '$db': "
                              "'test', 'updates': [{'q': "
                              "{}, 'multi': true, 'u': [{'$set': {'x': %s}}]}]}], " SEED "}",
                              loop);
    for (int i = 0; i < 1000; i++) {
        char doc[32];
        snprintf(doc, sizeof doc, "{'_id': %d}", i);
        assert_ok(insert(s->own, NULL, doc, &s->err), &s->err);
    }
    int64_t from = ash__clock_ms();
    parse(text, &command);
    assert_false(run(s, "admin", &command, &reply, &code));
    assert_int_equal(code, 50);
    assert_true(ash__clock_ms() - from < 20000);
    assert_int_equal(count(s->own, NULL, "{'x': {'$exists': true}}"), 0);
    bson_destroy(&command);
    bson_destroy(&reply);
    ash__free(text);
}

/* A deadline and a cancel flag of the caller's end it as well. */
static int wait_for_deadline(ash_transaction *t, void *ctx, ash_error *err)
{
    served *s = ctx;
    int rc = insert(s->c, t, "{'_id': 1}", err);
    ash__clock_sleep_ms(60);
    return rc;
}

static void test_served_transact__a_deadline(void **state)
{
    served *s = *state;
    ash_op op = {.deadline_ms = ash_deadline(50)};
    assert_int_equal(ash_store_transact(s->client, wait_for_deadline, s, &op, &s->err),
                     ASH_ETIMEOUT);
    assert_int_equal(count(s->own, NULL, "{}"), 0);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(test_served_transact__##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(on_either_topology),
        cmocka_unit_test_setup_teardown(test_served_transact__on_either_topology, setup_standalone,
                                        teardown),
        T(what_it_builds_on_still_holds),
        T(reads_alone_agree_with_each_other),
        T(clients_in_each_others_way),
        T(what_the_server_makes_up),
        T(a_lost_answer_of_a_commit),
        cmocka_unit_test_setup_teardown(test_served_transact__a_lost_answer_of_a_commit,
                                        setup_standalone, teardown),
        T(a_commit_is_not_done_twice),
        T(a_server_that_is_started_anew),
        T(a_client_that_dies),
        T(documents_and_nothing_else),
        T(hostile_lists),
        T(operations_that_fail),
        T(lists_that_are_too_long),
        T(a_find_gives_all_or_fails),
        T(a_list_has_a_time_limit),
        T(a_deadline),
    };
    mongoc_init();
    int failed = cmocka_run_group_tests_name("served transact", tests, NULL, NULL);
    mongoc_cleanup();
    return failed;
}
