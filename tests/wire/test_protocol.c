/* SPDX-License-Identifier: Apache-2.0 */
#include "client.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "base/mem.h"
#include "wire/compress.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* Other ways to say and hear the same. */

static void query_message(ash_buffer *out, const char *ns, const bson_t *doc)
{
    static const uint8_t skip_and_return[8] = {0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff};
    message_start(out, ASH_OP_QUERY);
    ash__buffer_append(out, ns, strlen(ns) + 1);
    ash__buffer_append(out, skip_and_return, 8);
    ash__buffer_append(out, bson_get_data(doc), doc->len);
    message_end(out);
}

/* Sends doc as an old query and checks the frame of its answer; destroys doc. */
static bson_t *run_query(int fd, const char *ns, bson_t *doc)
{
    ash_buffer b = ASH_BUFFER_INIT;
    query_message(&b, ns, doc);
    client_send(fd, b.data, b.len);
    assert_true(client_receive(fd, &b));
    assert_int_equal(ash__get_le32(b.data + 8), 7);
    assert_int_equal(ash__get_le32(b.data + 12), ASH_OP_REPLY);
    assert_int_equal(ash__get_le64(b.data + 20), 0);
    assert_int_equal(ash__get_le32(b.data + 32), 1);
    bson_t *reply = bson_new_from_data(b.data + 36, b.len - 36);
    assert_non_null(reply);
    ash__buffer_release(&b);
    bson_destroy(doc);
    return reply;
}

static void test_wire_protocol__every_command_by_op_query(void **state)
{
    (void)state;
    fixture x;
    fixture_start(&x, NULL);
    int fd = client_connect(&x);
    bson_t *r = run_query(fd, "admin.$cmd", BCON_NEW("isMaster", BCON_INT32(1)));
    assert_true(bson_has_field(r, "ismaster"));
    bson_destroy(r);
    r = run_query(fd, "test.$cmd",
                  BCON_NEW("insert", "c", "documents", "[", "{", "_id", BCON_INT32(1), "}", "]"));
    assert_int_equal(field_number(r, "n"), 1);
    bson_destroy(r);
    r = run_query(fd, "test.$cmd", BCON_NEW("getlasterror", BCON_INT32(1), "w", BCON_INT32(1)));
    assert_int_equal(field_number(r, "n"), 1);
    bson_destroy(r);
    r = run_query(fd, "test.$cmd",
                  BCON_NEW("$query", "{", "find", "c", "}", "$readPreference", "{", "mode",
                           "primaryPreferred", "}"));
    assert_int_equal(field_number(r, "cursor.firstBatch.0._id"), 1);
    assert_string_equal(field_text(r, "cursor.ns"), "test.c");
    bson_destroy(r);
    r = run_query(fd, "test.c", BCON_NEW("a", BCON_INT32(1)));
    assert_int_equal(field_number(r, "code"), 352);
    bson_destroy(r);
    r = run_query(fd, "a b.$cmd", BCON_NEW("ping", BCON_INT32(1)));
    assert_int_equal(field_number(r, "code"), 73);
    bson_destroy(r);
    close(fd);
    fixture_stop(&x);
}

static void test_wire_protocol__compressed_requests_get_compressed_answers(void **state)
{
    (void)state;
    fixture x;
    ash_buffer b = ASH_BUFFER_INIT, packed = ASH_BUFFER_INIT;
    ash_error err = ASH_ERROR_INIT;
    fixture_start(&x, NULL);
    int fd = client_connect(&x);
    bson_t *r = client_run(fd, BCON_NEW("hello", BCON_INT32(1), "compression", "[", "lz4", "zlib",
                                        "snappy", "zstd", "]"));
    assert_string_equal(field_text(r, "compression.0"), "zlib");
    assert_string_equal(field_text(r, "compression.2"), "zstd");
    bson_destroy(r);
    for (uint8_t compressor = ASH_COMPRESSOR_SNAPPY; compressor <= ASH_COMPRESSOR_ZSTD;
         compressor++) {
        size_t size;
        uint8_t used;
        uint8_t *plain;
        bson_t reply;
        bson_t *body = BCON_NEW("listCommands", BCON_INT32(1), "$db", "admin", "comment",
                                "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
        message_start(&b, ASH_OP_MSG);
        message_body(&b, body);
        message_end(&b);
        ash__buffer_clear(&packed);
        assert_true(ash__compressed_pack(b.data, b.len, compressor, &packed));
        client_send(fd, packed.data, packed.len);
        assert_true(client_receive(fd, &b));
        assert_int_equal(ash__get_le32(b.data + 12), ASH_OP_COMPRESSED);
        assert_ok(ash__compressed_size(b.data, b.len, &size, &err), &err);
        plain = ash__alloc(size);
        assert_ok(ash__compressed_unpack(b.data, b.len, plain, size, &used, &err), &err);
        assert_int_equal(used, compressor);
        assert_true(bson_init_static(&reply, plain + 21, size - 21));
        assert_int_equal(field_number(&reply, "commands.ping.adminOnly"), 0);
        ash__free(plain);
        bson_destroy(body);
    }
    ash__buffer_release(&b);
    ash__buffer_release(&packed);
    close(fd);
    fixture_stop(&x);
}

/* Several requests in one send, split at odd places. */
static void test_wire_protocol__pipelined_and_split(void **state)
{
    (void)state;
    enum { COUNT = 40 };
    fixture x;
    ash_buffer one = ASH_BUFFER_INIT, all = ASH_BUFFER_INIT;
    bson_t *body = BCON_NEW("ping", BCON_INT32(1), "$db", "admin");
    fixture_start(&x, NULL);
    int fd = client_connect(&x);
    message_start(&one, ASH_OP_MSG);
    message_body(&one, body);
    message_end(&one);
    for (uint32_t i = 0; i < COUNT; i++) {
        ash__put_le32(one.data + 4, i);
        ash__buffer_append(&all, one.data, one.len);
    }
    for (size_t at = 0; at < all.len; at += 333) {
        client_send(fd, all.data + at, all.len - at < 333 ? all.len - at : 333);
        ash__clock_sleep_ms(1);
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_true(client_receive(fd, &one));
        assert_int_equal(ash__get_le32(one.data + 8), i);
    }
    ash__buffer_release(&one);
    ash__buffer_release(&all);
    bson_destroy(body);
    close(fd);
    fixture_stop(&x);
}

/* The batch's documents are numbered from `next` on; the number after the last. */
static int walk_batch(const bson_t *r, const char *name, int next, const char *text)
{
    char path[60];
    for (int i = 0; i <= 18; i++, next++) {
        snprintf(path, sizeof path, "cursor.%s.%d._id", name, i);
        if (field_number(r, path) == -999999)
            return next;
        assert_int_equal(field_number(r, path), next);
        snprintf(path, sizeof path, "cursor.%s.%d.t", name, i);
        assert_string_equal(field_text(r, path), text);
    }
    fail_msg("a batch of more than 16 MiB");
    return 0;
}

static void test_wire_protocol__large_documents_come_whole(void **state)
{
    (void)state;
    enum { COUNT = 30, BYTES = 900000 };
    fixture x;
    fixture_start(&x, NULL);
    int fd = client_connect(&x);
    char *text = ash__alloc(BYTES + 1);
    memset(text, 'q', BYTES);
    for (int i = 0; i < COUNT; i++) {
        bson_t *r = client_run(fd, BCON_NEW("insert", "c", "documents", "[", "{", "_id",
                                            BCON_INT32(i), "t", BCON_UTF8(text), "}", "]"));
        assert_int_equal(field_number(r, "n"), 1);
        bson_destroy(r);
    }
    /* An answer ends at 16 MiB, and sooner where more may follow it. */
    bson_t *r = client_run(fd, BCON_NEW("find", "c", "singleBatch", BCON_BOOL(true)));
    assert_int_equal(field_number(r, "cursor.id"), 0);
    assert_int_equal(field_number(r, "cursor.firstBatch.17._id"), 17);
    assert_int_equal(field_number(r, "cursor.firstBatch.18._id"), -999999);
    assert_string_equal(field_text(r, "cursor.firstBatch.17.t"), text);
    bson_destroy(r);
    r = client_run(fd, BCON_NEW("find", "c"));
    int64_t id = field_int64(r, "cursor.id");
    int next = walk_batch(r, "firstBatch", 0, text);
    assert_in_range(next, 1, 18);
    while (id != 0) {
        bson_destroy(r);
        r = client_run(fd, BCON_NEW("getMore", BCON_INT64(id), "collection", "c"));
        id = field_int64(r, "cursor.id");
        int to = walk_batch(r, "nextBatch", next, text);
        assert_true(to > next || id == 0);
        next = to;
    }
    assert_int_equal(next, COUNT);
    bson_destroy(r);
    ash__free(text);
    close(fd);
    fixture_stop(&x);
}

static bson_t *with_session(bson_t *command, uint8_t number)
{
    uint8_t uuid[16] = {number};
    BCON_APPEND(command, "lsid", "{", "id", BCON_BIN(BSON_SUBTYPE_UUID, uuid, 16), "}");
    return command;
}

static void test_wire_protocol__cursors_live_and_die_with_sessions(void **state)
{
    (void)state;
    fixture x;
    uint8_t uuid[16] = {1};
    fixture_start(&x, NULL);
    int fd = client_connect(&x);
    bson_t *r = client_run(fd, with_session(BCON_NEW("find", "c", "batchSize", BCON_INT32(0)), 1));
    int64_t id = field_int64(r, "cursor.id");
    assert_true(id > 0);
    bson_destroy(r);
    r = client_run(fd, with_session(BCON_NEW("getMore", BCON_INT64(id), "collection", "c"), 2));
    assert_int_equal(field_number(r, "code"), 13);
    bson_destroy(r);
    r = client_run(fd, BCON_NEW("endSessions", "[", "{", "id",
                                BCON_BIN(BSON_SUBTYPE_UUID, uuid, 16), "}", "]", "$db", "admin"));
    assert_int_equal(field_number(r, "ok"), 1);
    bson_destroy(r);
    r = client_run(fd, with_session(BCON_NEW("getMore", BCON_INT64(id), "collection", "c"), 1));
    assert_int_equal(field_number(r, "code"), 43);
    bson_destroy(r);
    close(fd);
    fixture_stop(&x);
}

/* ---- an operation that waits, seen and killed by another client ---- */

typedef struct waiting {
    const fixture *x;
    pthread_t thread;
    _Atomic int64_t cursor;
    int64_t op, code;
} waiting;

static void *wait_in_get_more(void *arg)
{
    waiting *w = arg;
    int fd = client_connect(w->x);
    bson_t *r = client_run(
        fd, BCON_NEW("find", "c", "tailable", BCON_BOOL(true), "awaitData", BCON_BOOL(true)));
    int64_t id = field_int64(r, "cursor.id");
    bson_destroy(r);
    atomic_store(&w->cursor, id);
    r = client_run(
        fd, BCON_NEW("getMore", BCON_INT64(id), "collection", "c", "maxTimeMS", BCON_INT32(20000)));
    w->code = field_number(r, "code");
    bson_destroy(r);
    close(fd);
    return NULL;
}

static int64_t find_get_more(int fd)
{
    for (int tries = 0; tries < 200; tries++) {
        bson_t *r = client_run(fd, BCON_NEW("currentOp", BCON_INT32(1), "$db", "admin"));
        for (int i = 0; i < 5; i++) {
            char op[32], opid[32];
            snprintf(op, sizeof op, "inprog.%d.op", i);
            snprintf(opid, sizeof opid, "inprog.%d.opid", i);
            if (strcmp(field_text(r, op), "getmore") == 0) {
                int64_t id = field_int64(r, opid);
                bson_destroy(r);
                return id;
            }
        }
        bson_destroy(r);
        ash__clock_sleep_ms(10);
    }
    return -1;
}

/* Another client waits; op: what it waits in. */
static void begin_waiting(waiting *w, int fd)
{
    assert_int_equal(pthread_create(&w->thread, NULL, wait_in_get_more, w), 0);
    w->op = find_get_more(fd);
    assert_true(w->op > 0);
}

/* The command ends its wait, and it is told the code why. */
static void end_waiting(waiting *w, int fd, bson_t *command, int64_t code)
{
    bson_t *r = client_run(fd, command);
    assert_int_equal(field_number(r, "ok"), 1);
    bson_destroy(r);
    pthread_join(w->thread, NULL);
    assert_int_equal(w->code, code);
}

static void test_wire_protocol__kill_op_stops_a_waiting_command(void **state)
{
    (void)state;
    fixture x;
    fixture_start(&x, NULL);
    waiting w = {.x = &x};
    int fd = client_connect(&x);
    begin_waiting(&w, fd);
    end_waiting(&w, fd, BCON_NEW("killOp", BCON_INT32(1), "op", BCON_INT64(w.op), "$db", "admin"),
                11601);
    close(fd);
    fixture_stop(&x);
}

/* ---- an operation whose client is gone ---- */

static bool waits_still(int fd)
{
    bson_t *r = client_run(fd, BCON_NEW("currentOp", BCON_INT32(1), "$db", "admin"));
    bool waits = false;
    for (int i = 0; i < 5; i++) {
        char op[32];
        snprintf(op, sizeof op, "inprog.%d.op", i);
        waits = waits || strcmp(field_text(r, op), "getmore") == 0;
    }
    bson_destroy(r);
    return waits;
}

static void send_alone(int fd, bson_t *command)
{
    ash_buffer message = ASH_BUFFER_INIT;
    message_start(&message, ASH_OP_MSG);
    message_body(&message, command);
    message_end(&message);
    client_send(fd, message.data, message.len);
    ash__buffer_release(&message);
    bson_destroy(command);
}

static void test_wire_protocol__nobody_waits_for_a_client_that_is_gone(void **state)
{
    (void)state;
    fixture x;
    fixture_start(&x, NULL);
    int fd = client_connect(&x), gone = client_connect(&x);
    bson_t *r = client_run(
        gone, BCON_NEW("find", "c", "tailable", BCON_BOOL(true), "awaitData", BCON_BOOL(true)));
    send_alone(gone, BCON_NEW("getMore", BCON_INT64(field_int64(r, "cursor.id")), "collection", "c",
                              "maxTimeMS", BCON_INT32(20000), "$db", "test"));
    bson_destroy(r);
    assert_true(find_get_more(fd) > 0);
    ash__clock_sleep_ms(2500);
    assert_true(waits_still(fd));
    close(gone);
    int64_t until = ash__clock_ms() + 10000;
    while (waits_still(fd) && ash__clock_ms() < until)
        ash__clock_sleep_ms(50);
    assert_true(ash__clock_ms() < until);
    close(fd);
    fixture_stop(&x);
}

/* ---- the Unix socket ---- */

static void test_wire_protocol__unix_socket_is_private_and_goes_away(void **state)
{
    (void)state;
    fixture x;
    struct stat st;
    char folder[] = "/tmp/ashlar-wire-XXXXXX";
    ash_error err = ASH_ERROR_INIT;
    ash_server *second = NULL;
    assert_non_null(mkdtemp(folder));
    char *path = ash__sprintf("%s/socket", folder);
    ash_server_options o = ASH_SERVER_OPTIONS_INIT;
    o.socket_path = path;
    fixture_start(&x, &o);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(ash__server_start(&x.store->base, &o, &second, &err), ASH_EBUSY);
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    memcpy(a.sun_path, path, strlen(path));
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    bson_t *r = client_run(fd, BCON_NEW("hello", BCON_INT32(1)));
    assert_string_equal(field_text(r, "hosts.0"), path);
    bson_destroy(r);
    close(fd);
    /* By TCP nobody may make the server write to folders. */
    fd = client_connect(&x);
    r = client_run(fd, BCON_NEW("ashlarMaintain", BCON_INT32(1), "action", "{", "backup", "/tmp/x",
                                "}", "$db", "admin"));
    assert_int_equal(field_number(r, "code"), 13);
    bson_destroy(r);
    close(fd);
    fixture_stop(&x);
    assert_int_not_equal(stat(path, &st), 0);
    rmdir(folder);
    ash__free(path);
}

/* What a server that was killed left behind does not keep the next one out. */
static void test_wire_protocol__stale_unix_socket_is_replaced(void **state)
{
    (void)state;
    fixture x;
    char folder[] = "/tmp/ashlar-wire-XXXXXX";
    assert_non_null(mkdtemp(folder));
    char *path = ash__sprintf("%s/socket", folder);
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    memcpy(a.sun_path, path, strlen(path));
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    close(fd);
    ash_server_options o = ASH_SERVER_OPTIONS_INIT;
    o.socket_path = path;
    fixture_start(&x, &o);
    fixture_stop(&x);
    rmdir(folder);
    ash__free(path);
}

/* Who waits learns that its cursor was killed, not that an operation was. */
static void test_wire_protocol__kill_cursors_ends_a_waiting_get_more(void **state)
{
    (void)state;
    fixture x;
    fixture_start(&x, NULL);
    waiting w = {.x = &x};
    int fd = client_connect(&x);
    begin_waiting(&w, fd);
    bson_t *command =
        BCON_NEW("killCursors", "c", "cursors", "[", BCON_INT64(atomic_load(&w.cursor)), "]");
    end_waiting(&w, fd, command, 237);
    close(fd);
    fixture_stop(&x);
}

static void send_insert(int fd, int32_t id)
{
    ash_buffer m = ASH_BUFFER_INIT;
    bson_t *insert = BCON_NEW("insert", "c", "documents", "[", "{", "_id", BCON_INT32(id), "}", "]",
                              "$db", "test");
    message_start(&m, ASH_OP_MSG);
    message_body(&m, insert);
    message_end(&m);
    client_send(fd, m.data, m.len);
    bson_destroy(insert);
    ash__buffer_release(&m);
}

static void wait_for_docs(fixture *x, size_t count)
{
    size_t have;
    do {
        ash__clock_sleep_ms(1);
        ash__mutex_lock(&x->store->lock);
        have = x->store->count;
        ash__mutex_unlock(&x->store->lock);
    } while (have < count);
}

/* Whoever has the answer of the later change may count on that of the earlier one. */
static void test_wire_protocol__answers_leave_in_the_order_of_the_changes(void **state)
{
    fixture x;
    ash_buffer m = ASH_BUFFER_INIT;
    (void)state;
    fixture_start(&x, NULL);
    int first = client_connect(&x), second = client_connect(&x), late = 0;
    for (int i = 0; i < 5; i++) {
        struct pollfd earlier = {.fd = first, .events = POLLIN};
        x.store->insert_ms = 50;
        send_insert(first, 2 * i);
        wait_for_docs(&x, (size_t)(2 * i) + 1);
        send_insert(second, 2 * i + 1);
        assert_true(client_receive(second, &m));
        late += poll(&earlier, 1, 5) != 1;
        assert_true(client_receive(first, &m));
    }
    /* A machine that stands still for half a second may cost one. */
    assert_true(late <= 1);
    ash__buffer_release(&m);
    close(first);
    close(second);
    fixture_stop(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wire_protocol__every_command_by_op_query),
        cmocka_unit_test(test_wire_protocol__compressed_requests_get_compressed_answers),
        cmocka_unit_test(test_wire_protocol__pipelined_and_split),
        cmocka_unit_test(test_wire_protocol__large_documents_come_whole),
        cmocka_unit_test(test_wire_protocol__cursors_live_and_die_with_sessions),
        cmocka_unit_test(test_wire_protocol__kill_op_stops_a_waiting_command),
        cmocka_unit_test(test_wire_protocol__nobody_waits_for_a_client_that_is_gone),
        cmocka_unit_test(test_wire_protocol__unix_socket_is_private_and_goes_away),
        cmocka_unit_test(test_wire_protocol__stale_unix_socket_is_replaced),
        cmocka_unit_test(test_wire_protocol__kill_cursors_ends_a_waiting_get_more),
        cmocka_unit_test(test_wire_protocol__answers_leave_in_the_order_of_the_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
