/* SPDX-License-Identifier: Apache-2.0 */
#include "client.h"

#include "base/clock.h"
#include "base/mem.h"
#include "wire/audit.h"
#include "wire/command.h"

#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void test_wire_server__hello_names_the_address_reached(void **state)
{
    (void)state;
    fixture x;
    char want[64];
    fixture_start(&x, NULL);
    int fd = client_connect(&x);
    bson_t *r = client_run(fd, BCON_NEW("hello", BCON_INT32(1)));
    snprintf(want, sizeof want, "127.0.0.1:%d", x.port);
    assert_string_equal(field_text(r, "hosts.0"), want);
    assert_string_equal(field_text(r, "me"), want);
    assert_string_equal(field_text(r, "setName"), "ashlar");
    assert_int_equal(field_number(r, "maxWireVersion"), 21);
    assert_int_equal(field_number(r, "ok"), 1);
    assert_true(bson_has_field(r, "$clusterTime"));
    bson_destroy(r);
    close(fd);
    fixture_stop(&x);
}

static void test_wire_server__standalone_has_no_set(void **state)
{
    (void)state;
    fixture x;
    uint8_t uuid[16] = {1};
    ash_server_options o = ASH_SERVER_OPTIONS_INIT;
    o.standalone = true;
    fixture_start(&x, &o);
    int fd = client_connect(&x);
    bson_t *r = client_run(fd, BCON_NEW("ismaster", BCON_INT32(1)));
    assert_false(bson_has_field(r, "setName"));
    assert_false(bson_has_field(r, "$clusterTime"));
    bson_destroy(r);
    r = client_run(fd, BCON_NEW("insert", "c", "documents", "[", "{", "}", "]", "txnNumber",
                                BCON_INT64(1), "lsid", "{", "id",
                                BCON_BIN(BSON_SUBTYPE_UUID, uuid, 16), "}"));
    assert_int_equal(field_number(r, "code"), 20);
    assert_non_null(strstr(field_text(r, "errmsg"), "Transaction numbers are only allowed on"));
    bson_destroy(r);
    close(fd);
    fixture_stop(&x);
}

static int code_of(int fd, bson_t *command)
{
    bson_t *r = client_run(fd, command);
    int code = field_number(r, "ok") > 0 ? 0 : (int)field_number(r, "code");
    bson_destroy(r);
    return code;
}

static void test_wire_server__system_collections_are_not_written_to(void **state)
{
    (void)state;
    fixture x;
    fixture_start(&x, NULL);
    int fd = client_connect(&x);
    static const char *const names[] = {"system.indexes", "system.namespaces", "system.profile",
                                        "system."};
    for (size_t i = 0; i < ASH_ARRAY_LEN(names); i++) {
        const char *n = names[i];
        char *full = ash__sprintf("test.%s", n);
        assert_int_equal(
            code_of(fd, BCON_NEW("insert", BCON_UTF8(n), "documents", "[", "{", "}", "]")), 73);
        assert_int_equal(
            code_of(fd, BCON_NEW("update", BCON_UTF8(n), "updates", "[", "{", "q", "{", "}", "u",
                                 "{", "}", "upsert", BCON_BOOL(true), "}", "]")),
            73);
        assert_int_equal(code_of(fd, BCON_NEW("findAndModify", BCON_UTF8(n), "update", "{", "}",
                                              "upsert", BCON_BOOL(true))),
                         73);
        assert_int_equal(code_of(fd, BCON_NEW("create", BCON_UTF8(n))), 73);
        assert_int_equal(
            code_of(fd, BCON_NEW("createIndexes", BCON_UTF8(n), "indexes", "[", "{", "key", "{",
                                 "a", BCON_INT32(1), "}", "name", "a_1", "}", "]")),
            73);
        code_of(fd, BCON_NEW("insert", "c", "documents", "[", "{", "}", "]"));
        assert_int_equal(code_of(fd, BCON_NEW("renameCollection", "test.c", "to", BCON_UTF8(full),
                                              "$db", "admin")),
                         73);
        assert_int_equal(code_of(fd, BCON_NEW("find", BCON_UTF8(n))), 0);
        ash__free(full);
    }
    assert_int_equal(code_of(fd, BCON_NEW("insert", "system.js", "documents", "[", "{", "}", "]")),
                     0);
    assert_int_equal(code_of(fd, BCON_NEW("insert", "systematic", "documents", "[", "{", "}", "]")),
                     0);
    close(fd);
    fixture_stop(&x);
}

static void test_wire_server__errors_have_the_servers_codes(void **state)
{
    (void)state;
    fixture x;
    fixture_start(&x, NULL);
    int fd = client_connect(&x);
    assert_int_equal(code_of(fd, BCON_NEW("nonsense", BCON_INT32(1))), 59);
    assert_int_equal(code_of(fd, BCON_NEW("find", "c", "foo", BCON_INT32(1))), 40415);
    assert_int_equal(code_of(fd, BCON_NEW("find", "c", "limit", "x")), 14);
    assert_int_equal(code_of(fd, BCON_NEW("find", "c", "limit", BCON_INT32(-1))), 51024);
    assert_int_equal(
        code_of(fd, BCON_NEW("find", "c", "limit", BCON_INT32(1), "limit", BCON_INT32(1))), 40413);
    assert_int_equal(code_of(fd, BCON_NEW("find", BCON_INT32(1))), 73);
    assert_int_equal(code_of(fd, BCON_NEW("find", "c", "$db", "a b")), 73);
    assert_int_equal(code_of(fd, BCON_NEW("killOp", BCON_INT32(1), "op", BCON_INT32(1))), 13);
    assert_int_equal(code_of(fd, BCON_NEW("insert", "c")), 40414);
    assert_int_equal(
        code_of(fd, BCON_NEW("update", "c", "updates", "[", "{", "q", "{", "}", "}", "]")), 40414);
    assert_int_equal(
        code_of(fd, BCON_NEW("delete", "c", "deletes", "[", "{", "limit", BCON_INT32(0), "}", "]")),
        40414);
    assert_int_equal(code_of(fd, BCON_NEW("insert", "c", "documents", "[", "]")), 16);
    assert_int_equal(code_of(fd, BCON_NEW("aggregate", "c", "pipeline", "[", "]")), 9);
    assert_int_equal(code_of(fd, BCON_NEW("getMore", BCON_INT64(5), "collection", "c")), 43);
    assert_int_equal(code_of(fd, BCON_NEW("configureFailPoint", "failCommand", "$db", "admin")),
                     59);
    assert_int_equal(code_of(fd, BCON_NEW("find", "c", "startTransaction", BCON_BOOL(true))), 263);
    assert_int_equal(code_of(fd, BCON_NEW("find", "c", "txnNumber", BCON_INT64(1))), 72);
    assert_int_equal(code_of(fd, BCON_NEW("ping", BCON_INT32(1), "apiVersion", "2")), 322);
    assert_int_equal(code_of(fd, BCON_NEW("ping", BCON_INT32(1))), 0);
    close(fd);
    fixture_stop(&x);
}

static void test_wire_server__unknown_field_text_is_mongodbs(void **state)
{
    (void)state;
    fixture x;
    fixture_start(&x, NULL);
    int fd = client_connect(&x);
    bson_t *r = client_run(fd, BCON_NEW("find", "c", "foo", BCON_INT32(1)));
    assert_string_equal(field_text(r, "errmsg"), "BSON field 'find.foo' is an unknown field.");
    bson_destroy(r);
    close(fd);
    fixture_stop(&x);
}

static void insert_docs(int fd, int count)
{
    bson_t *command = BCON_NEW("insert", "c");
    bson_t array;
    BSON_APPEND_ARRAY_BEGIN(command, "documents", &array);
    for (int i = 0; i < count; i++) {
        char key[16];
        bson_t doc;
        snprintf(key, sizeof key, "%d", i);
        BSON_APPEND_DOCUMENT_BEGIN(&array, key, &doc);
        BSON_APPEND_INT32(&doc, "_id", i);
        bson_append_document_end(&array, &doc);
    }
    bson_append_array_end(command, &array);
    bson_t *r = client_run(fd, command);
    assert_int_equal(field_number(r, "n"), count);
    bson_destroy(r);
}

static void test_wire_server__batches_and_cursors(void **state)
{
    (void)state;
    fixture x;
    fixture_start(&x, NULL);
    int fd = client_connect(&x);
    insert_docs(fd, 250);
    bson_t *r = client_run(fd, BCON_NEW("find", "c"));
    assert_int_equal(field_number(r, "cursor.firstBatch.100._id"), 100);
    assert_int_equal(field_number(r, "cursor.firstBatch.101._id"), -999999);
    int64_t id = field_int64(r, "cursor.id");
    assert_true(id > 0);
    assert_string_equal(field_text(r, "cursor.ns"), "test.c");
    bson_destroy(r);
    assert_int_equal(code_of(fd, BCON_NEW("getMore", BCON_INT64(id), "collection", "other")), 13);
    /* Another connection may go on with it. */
    int other = client_connect(&x);
    r = client_run(
        other, BCON_NEW("getMore", BCON_INT64(id), "collection", "c", "batchSize", BCON_INT32(10)));
    assert_int_equal(field_number(r, "cursor.nextBatch.9._id"), 110);
    bson_destroy(r);
    r = client_run(fd, BCON_NEW("getMore", BCON_INT64(id), "collection", "c"));
    assert_int_equal(field_number(r, "cursor.nextBatch.138._id"), 249);
    assert_int_equal(field_number(r, "cursor.id"), 0);
    bson_destroy(r);
    r = client_run(fd, BCON_NEW("find", "c", "batchSize", BCON_INT32(0)));
    id = field_int64(r, "cursor.id");
    assert_true(id > 0);
    bson_destroy(r);
    r = client_run(fd, BCON_NEW("killCursors", "c", "cursors", "[", BCON_INT64(id), "]"));
    assert_int_equal(field_int64(r, "cursorsKilled.0"), id);
    bson_destroy(r);
    assert_int_equal(code_of(fd, BCON_NEW("getMore", BCON_INT64(id), "collection", "c")), 43);
    close(fd);
    close(other);
    fixture_stop(&x);
}

static void test_wire_server__write_concern_and_retry_reach_the_store(void **state)
{
    (void)state;
    fixture x;
    uint8_t uuid[16] = {9, 8, 7};
    fixture_start(&x, NULL);
    int fd = client_connect(&x);
    assert_int_equal(code_of(fd, BCON_NEW("insert", "c", "documents", "[", "{", "}", "]",
                                          "writeConcern", "{", "w", "majority", "}", "lsid", "{",
                                          "id", BCON_BIN(BSON_SUBTYPE_UUID, uuid, 16), "}",
                                          "txnNumber", BCON_INT64(41))),
                     0);
    assert_int_equal(x.store->durability, ASH_DURABILITY_EVERY);
    assert_true(x.store->retried);
    assert_int_equal(x.store->retry.txn_number, 41);
    assert_memory_equal(x.store->retry.session, uuid, 16);
    assert_int_equal(code_of(fd, BCON_NEW("insert", "c", "documents", "[", "{", "}", "]",
                                          "writeConcern", "{", "w", BCON_INT32(-1), "}")),
                     9);
    bson_t *r = client_run(fd, BCON_NEW("insert", "c", "documents", "[", "{", "}", "]",
                                        "writeConcern", "{", "w", BCON_INT32(3), "}"));
    assert_int_equal(field_number(r, "writeConcernError.code"), 100);
    assert_int_equal(field_number(r, "n"), 1);
    bson_destroy(r);
    x.store->fail_code = ASH_EEXISTS;
    x.store->fail_server_code = 11000;
    r = client_run(fd, BCON_NEW("insert", "c", "documents", "[", "{", "}", "]"));
    assert_int_equal(field_number(r, "writeErrors.0.code"), 11000);
    assert_int_equal(field_number(r, "ok"), 1);
    bson_destroy(r);
    /* One document was refused, and then time was up: the others are in nobody's list. */
    x.store->fail_code = ASH_ETIMEOUT;
    assert_int_equal(code_of(fd, BCON_NEW("insert", "c", "documents", "[", "{", "}", "{", "}", "]",
                                          "ordered", BCON_BOOL(false))),
                     11000);
    x.store->fail_code = ASH_ESTATE;
    x.store->fail_server_code = 225;
    assert_int_equal(code_of(fd, BCON_NEW("insert", "c", "documents", "[", "{", "}", "]")), 225);
    close(fd);
    fixture_stop(&x);
}

static void test_wire_server__fail_point_adds_labels(void **state)
{
    (void)state;
    fixture x;
    uint8_t uuid[16] = {1};
    ash_server_options o = ASH_SERVER_OPTIONS_INIT;
    o.test_commands = true;
    fixture_start(&x, &o);
    int fd = client_connect(&x);
    assert_int_equal(
        code_of(fd, BCON_NEW("configureFailPoint", "failCommand", "mode", "{", "times",
                             BCON_INT32(1), "}", "data", "{", "failCommands", "[", "insert", "]",
                             "errorCode", BCON_INT32(91), "}", "$db", "admin")),
        0);
    bson_t *r = client_run(fd, BCON_NEW("insert", "c", "documents", "[", "{", "}", "]", "lsid", "{",
                                        "id", BCON_BIN(BSON_SUBTYPE_UUID, uuid, 16), "}",
                                        "txnNumber", BCON_INT64(1)));
    assert_int_equal(field_number(r, "code"), 91);
    assert_string_equal(field_text(r, "errorLabels.0"), "RetryableWriteError");
    bson_destroy(r);
    assert_int_equal(code_of(fd, BCON_NEW("insert", "c", "documents", "[", "{", "}", "]")), 0);
    close(fd);
    fixture_stop(&x);
}

static bson_t *hello_as(const char *app)
{
    return BCON_NEW("hello", BCON_INT32(1), "client", "{", "application", "{", "name",
                    BCON_UTF8(app), "}", "}", "$db", "admin");
}

static void test_wire_server__fail_points_of_suites(void **state)
{
    (void)state;
    fixture x;
    ash_server_options o = ASH_SERVER_OPTIONS_INIT;
    o.test_commands = true;
    fixture_start(&x, &o);
    int fd = client_connect(&x), named = client_connect(&x);
    /* A hello is meant by the name that itself brings. */
    assert_int_equal(
        code_of(fd, BCON_NEW("configureFailPoint", "failCommand", "mode", "alwaysOn", "data", "{",
                             "failCommands", "[", "hello", "]", "appName", "meant", "errorCode",
                             BCON_INT32(91), "}", "$db", "admin")),
        0);
    assert_int_equal(code_of(named, hello_as("meant")), 91);
    assert_int_equal(code_of(fd, hello_as("another")), 0);
    assert_int_equal(code_of(fd, BCON_NEW("configureFailPoint", "maxTimeAlwaysTimeOut", "mode",
                                          "alwaysOn", "$db", "admin")),
                     0);
    assert_int_equal(code_of(fd, BCON_NEW("find", "c", "maxTimeMS", BCON_INT32(60000))), 50);
    assert_int_equal(code_of(fd, BCON_NEW("find", "c")), 0);
    close(fd);
    close(named);
    fixture_stop(&x);
}

/* That a concern cannot be met is told beside what failed. */
static void test_wire_server__concern_beside_a_failure(void **state)
{
    (void)state;
    fixture x;
    fixture_start(&x, NULL);
    int fd = client_connect(&x);
    bson_t *r = client_run(fd, BCON_NEW("findAndModify", "c", "query", "{", "}", "writeConcern",
                                        "{", "w", BCON_INT32(2), "}"));
    assert_int_equal(field_number(r, "ok"), 0);
    assert_int_equal(field_number(r, "writeConcernError.code"), 100);
    bson_destroy(r);
    close(fd);
    fixture_stop(&x);
}

/* The answer to the ping must be the next thing that comes. */
static void test_wire_server__more_to_come_is_never_answered(void **state)
{
    (void)state;
    fixture x;
    ash_buffer b = ASH_BUFFER_INIT;
    bson_t *body = BCON_NEW("insert", "c", "$db", "test");
    bson_t *doc = BCON_NEW("_id", BCON_INT32(1));
    const bson_t *docs[] = {doc};
    fixture_start(&x, NULL);
    int fd = client_connect(&x);
    message_start(&b, ASH_OP_MSG);
    b.data[16] = ASH_MSG_MORE_TO_COME;
    message_body(&b, body);
    message_sequence(&b, "documents", docs, 1);
    message_end(&b);
    for (int i = 0; i < 20; i++)
        client_send(fd, b.data, b.len);
    bson_t *r = client_run(fd, BCON_NEW("ping", BCON_INT32(1)));
    assert_int_equal(field_number(r, "ok"), 1);
    assert_false(bson_has_field(r, "n"));
    assert_int_equal(x.store->count, 20);
    bson_destroy(r);
    bson_destroy(body);
    bson_destroy(doc);
    ash__buffer_release(&b);
    close(fd);
    fixture_stop(&x);
}

static void *wait_for_more(void *arg)
{
    const fixture *x = arg;
    ash_buffer b = ASH_BUFFER_INIT;
    int fd = client_connect(x);
    bson_t *r = client_run(
        fd, BCON_NEW("find", "c", "tailable", BCON_BOOL(true), "awaitData", BCON_BOOL(true)));
    int64_t id = field_int64(r, "cursor.id");
    bson_destroy(r);
    r = client_run(
        fd, BCON_NEW("getMore", BCON_INT64(id), "collection", "c", "maxTimeMS", BCON_INT32(30000)));
    assert_int_equal(field_number(r, "code"), 11600);
    bson_destroy(r);
    assert_false(client_receive(fd, &b));
    ash__buffer_release(&b);
    close(fd);
    return NULL;
}

static void test_wire_server__stop_interrupts_those_who_wait(void **state)
{
    (void)state;
    fixture x;
    pthread_t thread;
    fixture_start(&x, NULL);
    assert_int_equal(pthread_create(&thread, NULL, wait_for_more, &x), 0);
    ash__clock_sleep_ms(300);
    int64_t started = ash__clock_ms();
    ash__server_stop(x.server);
    assert_true(ash__clock_ms() - started < 3000);
    pthread_join(thread, NULL);
    fake_store_free(x.store);
}

/* A command that would take half a minute. */
static void *run_long(void *arg)
{
    const fixture *x = arg;
    int fd = client_connect(x);
    bson_destroy(client_run(fd, BCON_NEW("count", "c")));
    close(fd);
    return NULL;
}

static void block_counts(const fixture *x)
{
    int fd = client_connect(x);
    bson_t *r = client_run(fd, BCON_NEW("configureFailPoint", "failCommand", "$db", "admin", "mode",
                                        "alwaysOn", "data", "{", "failCommands", "[", "count", "]",
                                        "blockConnection", BCON_BOOL(true), "blockTimeMS",
                                        BCON_INT32(30000), "}"));
    assert_int_equal(field_number(r, "ok"), 1);
    bson_destroy(r);
    close(fd);
}

/* Asks much and reads nothing. */
static int connect_deaf(const fixture *x)
{
    enum { QUESTIONS = 20000 };
    ash_buffer b = ASH_BUFFER_INIT;
    bson_t *body = BCON_NEW("hello", BCON_INT32(1), "$db", "test");
    int fd = client_connect(x);
    message_start(&b, ASH_OP_MSG);
    message_body(&b, body);
    message_end(&b);
    size_t one = b.len;
    ash__buffer_reserve(&b, one * (size_t)(QUESTIONS - 1));
    for (int i = 1; i < QUESTIONS; i++)
        ash__buffer_append(&b, b.data, one);
    for (size_t at = 0; at < b.len;) {
        ssize_t n = send(fd, b.data + at, b.len - at, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n <= 0)
            break;
        at += (size_t)n;
    }
    ash__buffer_release(&b);
    bson_destroy(body);
    return fd;
}

static void test_wire_server__stop_waits_for_nobody(void **state)
{
    (void)state;
    enum { DEAF = 4 };
    fixture x;
    pthread_t thread;
    int deaf[DEAF];
    ash_server_options o = ASH_SERVER_OPTIONS_INIT;
    o.test_commands = true;
    fixture_start(&x, &o);
    block_counts(&x);
    int idle = client_connect(&x);
    assert_int_equal(pthread_create(&thread, NULL, run_long, &x), 0);
    for (int i = 0; i < DEAF; i++)
        deaf[i] = connect_deaf(&x);
    ash__clock_sleep_ms(300);
    int64_t started = ash__clock_ms();
    ash__server_stop(x.server);
    assert_true(ash__clock_ms() - started < 2500);
    pthread_join(thread, NULL);
    for (int i = 0; i < DEAF; i++)
        close(deaf[i]);
    close(idle);
    fake_store_free(x.store);
}

static int64_t open_cursor(int fd)
{
    bson_t *r = client_run(fd, BCON_NEW("find", "c", "batchSize", BCON_INT32(1)));
    int64_t id = field_int64(r, "cursor.id");
    bson_destroy(r);
    assert_true(id != 0);
    return id;
}

static int64_t open_endless(int fd)
{
    bson_t *r = client_run(
        fd, BCON_NEW("find", "c", "batchSize", BCON_INT32(1), "noCursorTimeout", BCON_BOOL(true)));
    int64_t id = field_int64(r, "cursor.id");
    bson_destroy(r);
    assert_true(id != 0);
    return id;
}

static void test_wire_server__cursors_end_with_their_connection(void **state)
{
    (void)state;
    fixture x;
    ash_server_options o = ASH_SERVER_OPTIONS_INIT;
    o.orphan_timeout_ms = 100;
    fixture_start(&x, &o);
    int gone = client_connect(&x), stays = client_connect(&x);
    for (int i = 0; i < 3; i++)
        bson_destroy(client_run(
            stays, BCON_NEW("insert", "c", "documents", "[", "{", "_id", BCON_INT32(i), "}", "]")));
    int64_t lost = open_cursor(gone), kept = open_cursor(stays), moved = open_cursor(gone);
    assert_int_equal(code_of(stays, BCON_NEW("getMore", BCON_INT64(moved), "collection", "c",
                                             "batchSize", BCON_INT32(1))),
                     0);
    close(gone);
    ash__clock_sleep_ms(2500);
    assert_int_equal(code_of(stays, BCON_NEW("getMore", BCON_INT64(lost), "collection", "c")), 43);
    assert_int_equal(code_of(stays, BCON_NEW("getMore", BCON_INT64(kept), "collection", "c")), 0);
    assert_int_equal(code_of(stays, BCON_NEW("getMore", BCON_INT64(moved), "collection", "c")), 0);
    close(stays);
    fixture_stop(&x);
}

/* That a cursor has no time limit is the wish of a client who is there. */
static void test_wire_server__cursors_without_timeout_end_as_orphans(void **state)
{
    (void)state;
    fixture x;
    ash_server_options o = ASH_SERVER_OPTIONS_INIT;
    o.orphan_timeout_ms = o.cursor_timeout_ms = 100;
    fixture_start(&x, &o);
    int gone = client_connect(&x), stays = client_connect(&x);
    bson_destroy(client_run(
        gone, BCON_NEW("insert", "c", "documents", "[", "{", "}", "{", "}", "{", "}", "]")));
    int64_t lost = open_endless(gone), kept = open_endless(stays);
    close(gone);
    ash__clock_sleep_ms(2500);
    assert_int_equal(code_of(stays, BCON_NEW("getMore", BCON_INT64(lost), "collection", "c")), 43);
    assert_int_equal(code_of(stays, BCON_NEW("getMore", BCON_INT64(kept), "collection", "c")), 0);
    close(stays);
    fixture_stop(&x);
}

static void *find_slowly(void *arg)
{
    static uint8_t id[16] = {7};
    const fixture *x = arg;
    int fd = client_connect(x);
    bson_t *r = client_run(fd, BCON_NEW("find", "c", "batchSize", BCON_INT32(1), "lsid", "{", "id",
                                        BCON_BIN(BSON_SUBTYPE_UUID, id, 16), "}"));
    int64_t code = field_number(r, "code");
    bson_destroy(r);
    close(fd);
    return (void *)(intptr_t)code;
}

/* A cursor of a session that is gone would belong to nothing that ends. */
static void test_wire_server__no_cursor_outlives_its_session(void **state)
{
    (void)state;
    static uint8_t id[16] = {7};
    fixture x;
    pthread_t thread;
    void *code;
    fixture_start(&x, NULL);
    int fd = client_connect(&x);
    bson_destroy(
        client_run(fd, BCON_NEW("insert", "c", "documents", "[", "{", "}", "{", "}", "]")));
    x.store->find_ms = 1000;
    assert_int_equal(pthread_create(&thread, NULL, find_slowly, &x), 0);
    ash__clock_sleep_ms(300);
    bson_destroy(client_run(fd, BCON_NEW("endSessions", "[", "{", "id",
                                         BCON_BIN(BSON_SUBTYPE_UUID, id, 16), "}", "]")));
    pthread_join(thread, &code);
    assert_int_equal((intptr_t)code, 11601);
    bson_t *r = client_run(fd, BCON_NEW("serverStatus", BCON_INT32(1)));
    assert_int_equal(field_number(r, "metrics.cursor.open.total"), 0);
    bson_destroy(r);
    close(fd);
    fixture_stop(&x);
}

static int32_t code_after(int fd, uint32_t seconds)
{
    return code_of(fd, BCON_NEW("find", "c", "readConcern", "{", "afterClusterTime",
                                BCON_TIMESTAMP(seconds, 1), "}"));
}

static void test_wire_server__no_reads_after_the_future(void **state)
{
    (void)state;
    fixture x;
    fixture_start(&x, NULL);
    int fd = client_connect(&x);
    uint32_t now = (uint32_t)(ash__clock_wall_ms() / 1000);
    assert_int_equal(code_after(fd, now), 0);
    assert_int_equal(code_after(fd, now - 1000), 0);
    assert_int_equal(code_after(fd, now + 1000), 72);
    assert_int_equal(code_after(fd, UINT32_MAX), 72);
    close(fd);
    fixture_stop(&x);
}

static void test_wire_server__only_loopback_is_listened_on(void **state)
{
    (void)state;
    static const struct {
        const char *address;
        int code;
    } cases[] = {
        {"0.0.0.0:0", ASH_EACCES},     {"192.168.1.1:27017", ASH_EACCES},
        {"[::]:0", ASH_EACCES},        {"[::ffff:127.0.0.1]:0", ASH_EACCES},
        {"example.org:1", ASH_EINVAL}, {"127.0.0.1:99999", ASH_EINVAL},
        {"127.0.0.1:x", ASH_EINVAL},   {"", ASH_EINVAL},
        {"[127.0.0.1", ASH_EINVAL},    {":27017", ASH_EINVAL},
    };
    fake_store *store = fake_store_new();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ash_server_options o = ASH_SERVER_OPTIONS_INIT;
        ash_error err = ASH_ERROR_INIT;
        ash_server *server;
        o.listen = &cases[i].address;
        o.listen_count = 1;
        assert_int_equal(ash__server_start(&store->base, &o, &server, &err), cases[i].code);
        assert_null(server);
    }
    fake_store_free(store);
}

static void test_wire_commands__table_is_whole(void **state)
{
    (void)state;
    size_t count;
    const ash_wire_command_info *list = ash__wire_commands(&count);
    for (size_t i = 0; i < count; i++) {
        size_t arguments = 0;
        assert_non_null(list[i].run);
        assert_ptr_equal(ash__wire_command_find(list[i].name), &list[i]);
        while (list[i].arguments[arguments].name != NULL)
            arguments++;
        assert_true(arguments < 64);
        if (list[i].flags & ASH_COMMAND_REFUSED)
            assert_non_null(list[i].note);
        /* Who may do what does not change without a trace. */
        if (list[i].flags & ASH_COMMAND_USERS)
            assert_true(ash__wire_audit_knows(list[i].name));
    }
    assert_null(ash__wire_command_find(""));
    assert_ptr_equal(ash__wire_command_find("findandmodify"),
                     ash__wire_command_find("findAndModify"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wire_server__hello_names_the_address_reached),
        cmocka_unit_test(test_wire_server__standalone_has_no_set),
        cmocka_unit_test(test_wire_server__errors_have_the_servers_codes),
        cmocka_unit_test(test_wire_server__system_collections_are_not_written_to),
        cmocka_unit_test(test_wire_server__unknown_field_text_is_mongodbs),
        cmocka_unit_test(test_wire_server__batches_and_cursors),
        cmocka_unit_test(test_wire_server__write_concern_and_retry_reach_the_store),
        cmocka_unit_test(test_wire_server__fail_point_adds_labels),
        cmocka_unit_test(test_wire_server__fail_points_of_suites),
        cmocka_unit_test(test_wire_server__concern_beside_a_failure),
        cmocka_unit_test(test_wire_server__more_to_come_is_never_answered),
        cmocka_unit_test(test_wire_server__stop_interrupts_those_who_wait),
        cmocka_unit_test(test_wire_server__stop_waits_for_nobody),
        cmocka_unit_test(test_wire_server__no_reads_after_the_future),
        cmocka_unit_test(test_wire_server__cursors_end_with_their_connection),
        cmocka_unit_test(test_wire_server__cursors_without_timeout_end_as_orphans),
        cmocka_unit_test(test_wire_server__no_cursor_outlives_its_session),
        cmocka_unit_test(test_wire_server__only_loopback_is_listened_on),
        cmocka_unit_test(test_wire_commands__table_is_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
