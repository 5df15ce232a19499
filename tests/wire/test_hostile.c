/* SPDX-License-Identifier: Apache-2.0 */
#include "client.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "base/mem.h"
#include "net/stream.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zlib.h>

/* Clients that mean harm, or are broken.  After each, a good client must be served as before. */

enum { RUNAWAY_KIB = 64 * 1024 };

static void start_impatient(fixture *x)
{
    ash_server_options o = ASH_SERVER_OPTIONS_INIT;
    o.message_timeout_ms = 300;
    fixture_start(x, &o);
}

static void check_good_client(const fixture *x)
{
    int fd = client_connect(x);
    bson_t *r = client_run(fd, BCON_NEW("ping", BCON_INT32(1)));
    assert_int_equal(field_number(r, "ok"), 1);
    bson_destroy(r);
    close(fd);
}

static long resident_kib(void)
{
    long pages = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%ld %ld", &pages, &resident), 2);
    fclose(f);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static bool is_closed(int fd)
{
    ash_buffer b = ASH_BUFFER_INIT;
    bool closed = !client_receive(fd, &b);
    ash__buffer_release(&b);
    return closed;
}

static void send_header(int fd, uint32_t length, int32_t op_code)
{
    uint8_t m[ASH_MESSAGE_HEADER_BYTES];
    ash_message_header h = {.length = length, .request_id = 1, .op_code = op_code};
    ash__message_header_write(m, &h);
    client_send(fd, m, sizeof m);
}

static void test_wire_hostile__random_bytes(void **state)
{
    (void)state;
    fixture x;
    uint64_t random = 88172645463325252u;
    start_impatient(&x);
    for (int i = 0; i < 50; i++) {
        uint8_t bytes[700];
        int fd = client_connect(&x);
        for (size_t at = 0; at < sizeof bytes; at++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            bytes[at] = (uint8_t)random;
        }
        /* Half of them with a header that lets them in. */
        if (i % 2 == 0) {
            ash_message_header h = {.length = sizeof bytes,
                                    .op_code = i % 4 == 0 ? ASH_OP_MSG : ASH_OP_QUERY};
            ash__message_header_write(bytes, &h);
            if (i % 4 == 0)
                memset(bytes + 16, 0, 4);
        }
        client_send(fd, bytes, sizeof bytes);
        shutdown(fd, SHUT_WR);
        while (!is_closed(fd))
            ;
        close(fd);
    }
    check_good_client(&x);
    fixture_stop(&x);
}

static void test_wire_hostile__lengths_and_opcodes_that_cannot_be(void **state)
{
    (void)state;
    static const struct {
        uint32_t length;
        int32_t op_code;
    } cases[] = {{0, ASH_OP_MSG},
                 {15, ASH_OP_MSG},
                 {16, ASH_OP_MSG},
                 {48000001, ASH_OP_MSG},
                 {0xffffffff, ASH_OP_MSG},
                 {0x80000000, ASH_OP_QUERY},
                 {100, 2002},
                 {100, 2005},
                 {100, 1},
                 {100, 9999},
                 {100, -1},
                 {20, ASH_OP_COMPRESSED}};
    fixture x;
    start_impatient(&x);
    for (size_t i = 0; i < ASH_ARRAY_LEN(cases); i++) {
        uint8_t rest[84] = {0};
        int fd = client_connect(&x);
        send_header(fd, cases[i].length, cases[i].op_code);
        client_send(fd, rest, sizeof rest);
        assert_true(is_closed(fd));
        close(fd);
    }
    check_good_client(&x);
    fixture_stop(&x);
}

static void test_wire_hostile__slow_and_cut_off_messages(void **state)
{
    (void)state;
    fixture x;
    start_impatient(&x);
    int64_t started = ash__clock_ms();
    int half_header = client_connect(&x), half_message = client_connect(&x);
    client_send(half_header, "\x40\0\0", 3);
    send_header(half_message, 200, ASH_OP_MSG);
    assert_true(is_closed(half_header));
    assert_true(is_closed(half_message));
    assert_true(ash__clock_ms() - started < 5000);
    close(half_header);
    close(half_message);
    check_good_client(&x);
    fixture_stop(&x);
}

/* Whoever announces large messages and does not send them holds room, but not all of it, and no
 * memory. */
static void test_wire_hostile__announced_and_never_sent(void **state)
{
    (void)state;
    enum { CLIENTS = 12, DOC_BYTES = 3000000 };
    fixture x;
    int fds[CLIENTS];
    fixture_start(&x, NULL);
    long before = resident_kib();
    for (int i = 0; i < CLIENTS; i++) {
        fds[i] = client_connect(&x);
        send_header(fds[i], ASH_MESSAGE_MAX_BYTES, ASH_OP_MSG);
    }
    check_good_client(&x);
    char *text = ash__alloc(DOC_BYTES + 1);
    memset(text, 'x', DOC_BYTES);
    int fd = client_connect(&x);
    bson_t *r = client_run(
        fd, BCON_NEW("insert", "c", "documents", "[", "{", "t", BCON_UTF8(text), "}", "]"));
    assert_int_equal(field_number(r, "n"), 1);
    bson_destroy(r);
    ash__free(text);
    assert_true(resident_kib() - before < RUNAWAY_KIB);
    for (int i = 0; i < CLIENTS; i++)
        close(fds[i]);
    close(fd);
    fixture_stop(&x);
}

typedef struct insertion {
    const fixture *x;
    _Atomic bool done;
    int64_t took_ms;
} insertion;

static void *insert_eight_mb(void *arg)
{
    enum { BYTES = 8000000 };
    insertion *in = arg;
    char *text = ash__alloc(BYTES + 1);
    memset(text, 'x', BYTES);
    int64_t started = ash__clock_ms();
    int fd = client_connect(in->x);
    bson_t *r = client_run(
        fd, BCON_NEW("insert", "c", "documents", "[", "{", "t", BCON_UTF8(text), "}", "]"));
    assert_int_equal(field_number(r, "n"), 1);
    in->took_ms = ash__clock_ms() - started;
    atomic_store(&in->done, true);
    bson_destroy(r);
    ash__free(text);
    close(fd);
    return NULL;
}

/* All the room is taken by clients who announced much and send a byte now and then. */
static void test_wire_hostile__announcing_does_not_hold_up_others(void **state)
{
    (void)state;
    enum { CLIENTS = 30, ANNOUNCED = 4300000 };
    fixture x;
    pthread_t thread;
    int fds[CLIENTS];
    ash_server_options o = ASH_SERVER_OPTIONS_INIT;
    insertion in = {.x = &x};
    o.message_bytes = 1; /* the least there is */
    fixture_start(&x, &o);
    for (int i = 0; i < CLIENTS; i++) {
        fds[i] = client_connect(&x);
        send_header(fds[i], ANNOUNCED, ASH_OP_MSG);
    }
    ash__clock_sleep_ms(300);
    assert_int_equal(pthread_create(&thread, NULL, insert_eight_mb, &in), 0);
    for (int64_t until = ash__clock_ms() + 60000;
         !atomic_load(&in.done) && ash__clock_ms() < until;) {
        for (int i = 0; i < CLIENTS; i++)
            client_send(fds[i], "", 1);
        ash__clock_sleep_ms(100);
    }
    pthread_join(thread, NULL);
    assert_true(in.took_ms < 15000);
    for (int i = 0; i < CLIENTS; i++)
        close(fds[i]);
    fixture_stop(&x);
}

/* Eight MB in documents so small that an answer holds copies of them. */
static void insert_small_documents(const fixture *x)
{
    enum { DOCS = 4000, AT_ONCE = 500 };
    char text[2001] = "";
    ash_buffer b = ASH_BUFFER_INIT;
    const bson_t *docs[AT_ONCE];
    bson_t *body = BCON_NEW("insert", "c", "$db", "test");
    memset(text, 'x', sizeof text - 1);
    bson_t *doc = BCON_NEW("t", BCON_UTF8(text));
    for (size_t i = 0; i < AT_ONCE; i++)
        docs[i] = doc;
    int fd = client_connect(x);
    for (int i = 0; i < DOCS; i += AT_ONCE) {
        message_start(&b, ASH_OP_MSG);
        message_body(&b, body);
        message_sequence(&b, "documents", docs, AT_ONCE);
        message_end(&b);
        client_send(fd, b.data, b.len);
        assert_true(client_receive(fd, &b));
    }
    close(fd);
    bson_destroy(doc);
    bson_destroy(body);
    ash__buffer_release(&b);
}

static bson_t *find_all(void)
{
    return BCON_NEW("find", "c", "batchSize", BCON_INT32(100000), "singleBatch", BCON_BOOL(true),
                    "$db", "test");
}

/* Asks for everything and reads nothing of it. */
static int ask_for_all(const fixture *x)
{
    ash_buffer b = ASH_BUFFER_INIT;
    bson_t *find = find_all();
    int small = 4096;
    int fd = client_connect(x);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    message_start(&b, ASH_OP_MSG);
    message_body(&b, find);
    message_end(&b);
    client_send(fd, b.data, b.len);
    bson_destroy(find);
    ash__buffer_release(&b);
    return fd;
}

enum { READ_NOTHING = 60, ANSWERS_KIB = 96 * 1024 };

/* A sanitizer's memory is not the server's. */
static bool memory_tells(void)
{
#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
    return false;
#endif
#endif
    return true;
}

/* A server with the least room for messages there is, and large answers for whoever asks. */
static void start_with_little_room(fixture *x, int64_t message_timeout_ms)
{
    ash_server_options o = ASH_SERVER_OPTIONS_INIT;
    o.message_bytes = 1;
    o.message_timeout_ms = message_timeout_ms;
    fixture_start(x, &o);
    insert_small_documents(x);
}

static void test_wire_hostile__answers_nobody_reads_are_bounded(void **state)
{
    (void)state;
    fixture x;
    int fds[READ_NOTHING];
    start_with_little_room(&x, 1000);
    long before = resident_kib();
    for (int i = 0; i < READ_NOTHING; i++)
        fds[i] = ask_for_all(&x);
    ash__clock_sleep_ms(1500);
    assert_true(!memory_tells() || resident_kib() - before < ANSWERS_KIB + RUNAWAY_KIB);
    /* Who wants little is served, who wants much is told why not. */
    int fd = client_connect(&x);
    bson_t *r = client_run(
        fd, BCON_NEW("find", "c", "limit", BCON_INT32(1), "singleBatch", BCON_BOOL(true)));
    assert_int_equal(field_number(r, "ok"), 1);
    bson_destroy(r);
    r = client_run(fd, find_all());
    assert_int_equal(field_number(r, "code"), 146);
    bson_destroy(r);
    close(fd);
    for (int i = 0; i < READ_NOTHING; i++)
        close(fds[i]);
    fixture_stop(&x);
}

static void test_wire_hostile__who_reads_gets_the_room_of_who_does_not(void **state)
{
    (void)state;
    fixture x;
    int fds[READ_NOTHING];
    start_with_little_room(&x, 0);
    for (int i = 0; i < READ_NOTHING / 4; i++)
        fds[i] = ask_for_all(&x);
    ash__clock_sleep_ms(300);
    int fd = client_connect(&x);
    bson_t *r = client_run(fd, find_all());
    assert_int_equal(field_number(r, "ok"), 1);
    bson_destroy(r);
    close(fd);
    for (int i = 0; i < READ_NOTHING / 4; i++)
        close(fds[i]);
    fixture_stop(&x);
}

static void *read_drops(void *arg)
{
    const int *fd = arg;
    char drop[1024];
    while (recv(*fd, drop, sizeof drop, 0) > 0)
        ash__clock_sleep_ms(20);
    return NULL;
}

/* 50 KB a second, and each drop in time. */
static void test_wire_hostile__reading_drops_is_reading_nothing(void **state)
{
    (void)state;
    enum { BYTES = 1024 * 1024, SMALL = 8 * 1024 };
    int pair[2], small = SMALL;
    pthread_t thread;
    char *data = ash__alloc(BYTES);
    struct iovec all = {.iov_base = data, .iov_len = BYTES};
    memset(data, 'x', BYTES);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    assert_int_equal(pthread_create(&thread, NULL, read_drops, &pair[1]), 0);
    int64_t started = ash__clock_ms();
    ash_stream stream;
    ash__stream_init(&stream, pair[0]);
    assert_false(ash__stream_write(&stream, &all, 1, 500, NULL));
    assert_true(ash__clock_ms() - started < 5000);
    close(pair[0]);
    pthread_join(thread, NULL);
    close(pair[1]);
    ash__free(data);
}

/* {a: {a: {a: …}}}, which libbson's builder would not nest so deep. */
static void append_deep(ash_buffer *out, uint32_t depth)
{
    for (uint32_t i = 0; i < depth; i++) {
        uint8_t head[7] = {0, 0, 0, 0, 3, 'a', 0};
        ash__put_le32(head, 5 + 8 * (depth - i));
        ash__buffer_append(out, head, 7);
    }
    ash__buffer_append(out, "\x05\0\0\0\0", 5);
    for (uint32_t i = 0; i < depth; i++)
        ash__buffer_append_byte(out, 0);
}

static double send_body(int fd, const ash_buffer *doc)
{
    ash_buffer b = ASH_BUFFER_INIT;
    bson_t reply;
    message_start(&b, ASH_OP_MSG);
    ash__buffer_append_byte(&b, 0);
    ash__buffer_append(&b, doc->data, doc->len);
    message_end(&b);
    client_send(fd, b.data, b.len);
    assert_true(client_receive(fd, &b));
    assert_true(bson_init_static(&reply, b.data + 21, b.len - 21));
    int64_t code = field_number(&reply, "code");
    ash__buffer_release(&b);
    return code;
}

static void test_wire_hostile__nested_ten_thousand_deep(void **state)
{
    (void)state;
    fixture x;
    ash_buffer doc = ASH_BUFFER_INIT;
    start_impatient(&x);
    int fd = client_connect(&x);
    append_deep(&doc, 10000);
    assert_true(send_body(fd, &doc) > 0);
    /* It was well framed, so the connection lives. */
    bson_t *r = client_run(fd, BCON_NEW("ping", BCON_INT32(1)));
    assert_int_equal(field_number(r, "ok"), 1);
    bson_destroy(r);
    ash__buffer_release(&doc);
    close(fd);
    fixture_stop(&x);
}

static void test_wire_hostile__documents_that_lie_about_their_size(void **state)
{
    (void)state;
    fixture x;
    start_impatient(&x);
    bson_t *good = BCON_NEW("ping", BCON_INT32(1), "$db", "test", "s", "text", "d", "{", "x",
                            BCON_INT32(1), "}");
    for (uint32_t at = 0; at < good->len; at++) {
        ash_buffer doc = ASH_BUFFER_INIT, b = ASH_BUFFER_INIT;
        int fd = client_connect(&x);
        ash__buffer_append(&doc, bson_get_data(good), good->len);
        doc.data[at] ^= 0xff;
        message_start(&b, ASH_OP_MSG);
        ash__buffer_append_byte(&b, 0);
        ash__buffer_append(&b, doc.data, doc.len);
        message_end(&b);
        client_send(fd, b.data, b.len);
        client_receive(fd, &b);
        close(fd);
        ash__buffer_release(&doc);
        ash__buffer_release(&b);
    }
    bson_destroy(good);
    check_good_client(&x);
    fixture_stop(&x);
}

/* Kilobytes that would unpack to gigabytes. */
static void test_wire_hostile__compressed_bombs(void **state)
{
    (void)state;
    enum { PLAIN = 40000000 };
    static const uint32_t promises[] = {100, PLAIN, PLAIN + 1, 0x7fffffff, 0, 0xffffffff};
    fixture x;
    start_impatient(&x);
    uint8_t *plain = ash__alloc(PLAIN);
    uLongf packed_len = compressBound(PLAIN);
    uint8_t *packed = ash__alloc(packed_len);
    assert_int_equal(compress(packed, &packed_len, plain, PLAIN), Z_OK);
    ash__free(plain);
    long before = resident_kib();
    for (size_t i = 0; i < ASH_ARRAY_LEN(promises); i++) {
        uint8_t head[9];
        int fd = client_connect(&x);
        send_header(fd, (uint32_t)(25 + packed_len), ASH_OP_COMPRESSED);
        ash__put_le32(head, ASH_OP_MSG);
        ash__put_le32(head + 4, promises[i]);
        head[8] = 2;
        client_send(fd, head, sizeof head);
        client_send(fd, packed, packed_len);
        while (!is_closed(fd))
            ;
        close(fd);
    }
    ash__free(packed);
    check_good_client(&x);
    assert_true(resident_kib() - before < RUNAWAY_KIB);
    fixture_stop(&x);
}

/* A document sequence is not bounded as one document is. */
static void test_wire_hostile__a_transaction_of_many_bytes(void **state)
{
    enum { COUNT = 20, BYTES = 1000000 };
    (void)state;
    fixture x;
    ash_buffer message = ASH_BUFFER_INIT, answer = ASH_BUFFER_INIT;
    const bson_t *docs[COUNT];
    ash_request r;
    ash_error err = ASH_ERROR_INIT;
    uint8_t *data = calloc(1, BYTES);
    bson_t *operation = BCON_NEW("count", "c", "$db", "test");
    bson_t *body = BCON_NEW("ashlarTransact", BCON_INT32(1), "$db", "admin");
    bson_t query;
    BSON_APPEND_DOCUMENT_BEGIN(operation, "query", &query);
    BSON_APPEND_BINARY(&query, "data", BSON_SUBTYPE_BINARY, data, BYTES);
    bson_append_document_end(operation, &query);
    for (int i = 0; i < COUNT; i++)
        docs[i] = operation;
    fixture_start(&x, NULL);
    int fd = client_connect(&x);
    message_start(&message, ASH_OP_MSG);
    message_body(&message, body);
    message_sequence(&message, "operations", docs, COUNT);
    message_end(&message);
    client_send(fd, message.data, message.len);
    assert_true(client_receive(fd, &answer));
    assert_ok(ash__message_parse(answer.data, answer.len, &r, &err), &err);
    bson_t reply;
    ash__doc_to_bson(r.body, &reply);
    assert_int_equal(field_number(&reply, "code"), 257);
    check_good_client(&x);
    close(fd);
    fixture_stop(&x);
    ash__buffer_release(&message);
    ash__buffer_release(&answer);
    bson_destroy(operation);
    bson_destroy(body);
    free(data);
}

static void test_wire_hostile__too_many_connections(void **state)
{
    (void)state;
    enum { LIMIT = 20, MORE = 30 };
    fixture x;
    int fds[MORE];
    int closed = 0;
    ash_server_options o = ASH_SERVER_OPTIONS_INIT;
    o.max_connections = LIMIT;
    fixture_start(&x, &o);
    for (int i = 0; i < MORE; i++) {
        fds[i] = client_connect(&x);
        if (i >= LIMIT)
            continue;
        bson_t *r = client_run(fds[i], BCON_NEW("ping", BCON_INT32(1)));
        assert_int_equal(field_number(r, "ok"), 1);
        bson_destroy(r);
    }
    for (int i = LIMIT; i < MORE; i++) {
        closed += is_closed(fds[i]);
        close(fds[i]);
    }
    assert_int_equal(closed, MORE - LIMIT);
    for (int i = 0; i < LIMIT; i++)
        close(fds[i]);
    fixture_stop(&x);
}

/* plain as an OP_COMPRESSED whose compressor is none. */
static void pack_as_is(ash_buffer *out, const ash_buffer *plain)
{
    uint8_t head[ASH_MESSAGE_COMPRESSED_BYTES] = {0};
    memcpy(head, plain->data, ASH_MESSAGE_HEADER_BYTES);
    ash__put_le32(head,
                  (uint32_t)(plain->len + ASH_MESSAGE_COMPRESSED_BYTES - ASH_MESSAGE_HEADER_BYTES));
    ash__put_le32(head + 12, ASH_OP_COMPRESSED);
    memcpy(head + 16, plain->data + 12, 4);
    ash__put_le32(head + 20, (uint32_t)plain->len - ASH_MESSAGE_HEADER_BYTES);
    ash__buffer_append(out, head, sizeof head);
    ash__buffer_append(out, plain->data + ASH_MESSAGE_HEADER_BYTES,
                       plain->len - ASH_MESSAGE_HEADER_BYTES);
}

/* Larger than what one message may fill, packed and unpacked, were they taken one by one: who holds
 * the one would wait for the other. */
static void test_wire_hostile__large_compressed_message(void **state)
{
    (void)state;
    enum { DOCS = 3, DOC_BYTES = 13000000 };
    fixture x;
    ash_buffer plain = ASH_BUFFER_INIT, packed = ASH_BUFFER_INIT;
    ash_server_options opts = ASH_SERVER_OPTIONS_INIT;
    char *text = ash__alloc(DOC_BYTES + 1);
    bson_t *body = BCON_NEW("ping", BCON_INT32(1), "$db", "a"), reply;
    const bson_t *docs[DOCS];
    opts.message_bytes = 1; /* the least there is */
    opts.message_timeout_ms = 2000;
    fixture_start(&x, &opts);
    memset(text, 'x', DOC_BYTES);
    bson_t *doc = BCON_NEW("t", BCON_UTF8(text));
    for (size_t i = 0; i < DOCS; i++)
        docs[i] = doc;
    message_start(&plain, ASH_OP_MSG);
    message_body(&plain, body);
    message_sequence(&plain, "documents", docs, DOCS);
    message_end(&plain);
    pack_as_is(&packed, &plain);
    int fd = client_connect(&x);
    client_send(fd, packed.data, packed.len);
    assert_true(client_receive(fd, &packed));
    assert_true(bson_init_static(&reply, packed.data + 21, packed.len - 21));
    assert_int_equal(field_number(&reply, "code"), 40415); /* ping takes no documents */
    close(fd);
    ash__buffer_release(&plain);
    ash__buffer_release(&packed);
    bson_destroy(body);
    bson_destroy(doc);
    ash__free(text);
    fixture_stop(&x);
}

/* Drivers refuse an answer whose text is no UTF-8, and with it the message. */
static void test_wire_hostile__messages_are_cut_between_characters(void **state)
{
    (void)state;
    fixture x;
    ash_buffer name = ASH_BUFFER_INIT;
    fixture_start(&x, NULL);
    int fd = client_connect(&x);
    for (int i = 0; i < 60; i++)
        ash__buffer_append_text(&name, "\xc3\xa9");
    for (int shift = 0; shift < 2; shift++) {
        bson_t *r = client_run(fd, BCON_NEW(ash__buffer_text(&name) + 2 * shift, BCON_INT32(1)));
        const char *text = field_text(r, "errmsg");
        assert_true(bson_utf8_validate(text, strlen(text), false));
        bson_destroy(r);
        ash__buffer_append_text(&name, "\xff\xed\xa0\x80");
        memmove(name.data + 1, name.data, name.len - 1);
        name.data[0] = 'x';
    }
    close(fd);
    ash__buffer_release(&name);
    fixture_stop(&x);
}

static int64_t run_code(int fd, bson_t *command)
{
    bson_t *r = client_run(fd, command);
    int64_t code = field_number(r, "code");
    bson_destroy(r);
    return code;
}

/* What stands behind a NUL would be lost, and another collection be meant. */
static void test_wire_hostile__names_with_nul(void **state)
{
    (void)state;
    fixture x;
    bson_t *command = bson_new(), empty = BSON_INITIALIZER;
    fixture_start(&x, NULL);
    int fd = client_connect(&x);
    bson_append_utf8(command, "aggregate", -1, "c\0d", 3);
    BSON_APPEND_ARRAY(command, "pipeline", &empty);
    BSON_APPEND_DOCUMENT(command, "cursor", &empty);
    assert_int_equal(run_code(fd, command), 73);
    command = bson_new();
    BSON_APPEND_UTF8(command, "renameCollection", "a.c");
    bson_append_utf8(command, "to", -1, "a.d\0e", 5);
    BSON_APPEND_UTF8(command, "$db", "admin");
    assert_int_equal(run_code(fd, command), 73);
    assert_int_equal(
        run_code(fd, BCON_NEW("find", "c", "readConcern", "{", "level", "local available", "}")),
        9);
    close(fd);
    fixture_stop(&x);
}

/* What told more about the last failure says nothing about this one. */
static void test_wire_hostile__details_of_another_command(void **state)
{
    (void)state;
    fixture x;
    bson_t reply;
    ash_buffer b = ASH_BUFFER_INIT, deep = ASH_BUFFER_INIT;
    fixture_start(&x, NULL);
    int fd = client_connect(&x);
    bson_t *r =
        client_run(fd, BCON_NEW("findAndModify", "c", "update", "{", "a", BCON_INT32(1), "}"));
    assert_true(bson_has_field(r, "keyPattern"));
    bson_destroy(r);
    append_deep(&deep, 1000);
    message_start(&b, ASH_OP_MSG);
    ash__buffer_append_byte(&b, 0);
    ash__buffer_append(&b, deep.data, deep.len);
    message_end(&b);
    client_send(fd, b.data, b.len);
    assert_true(client_receive(fd, &b));
    assert_true(bson_init_static(&reply, b.data + 21, b.len - 21));
    assert_true(bson_has_field(&reply, "errmsg"));
    assert_false(bson_has_field(&reply, "keyPattern"));
    close(fd);
    ash__buffer_release(&b);
    ash__buffer_release(&deep);
    fixture_stop(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wire_hostile__random_bytes),
        cmocka_unit_test(test_wire_hostile__lengths_and_opcodes_that_cannot_be),
        cmocka_unit_test(test_wire_hostile__slow_and_cut_off_messages),
        cmocka_unit_test(test_wire_hostile__announced_and_never_sent),
        cmocka_unit_test(test_wire_hostile__announcing_does_not_hold_up_others),
        cmocka_unit_test(test_wire_hostile__answers_nobody_reads_are_bounded),
        cmocka_unit_test(test_wire_hostile__who_reads_gets_the_room_of_who_does_not),
        cmocka_unit_test(test_wire_hostile__reading_drops_is_reading_nothing),
        cmocka_unit_test(test_wire_hostile__nested_ten_thousand_deep),
        cmocka_unit_test(test_wire_hostile__documents_that_lie_about_their_size),
        cmocka_unit_test(test_wire_hostile__compressed_bombs),
        cmocka_unit_test(test_wire_hostile__large_compressed_message),
        cmocka_unit_test(test_wire_hostile__messages_are_cut_between_characters),
        cmocka_unit_test(test_wire_hostile__names_with_nul),
        cmocka_unit_test(test_wire_hostile__details_of_another_command),
        cmocka_unit_test(test_wire_hostile__a_transaction_of_many_bytes),
        cmocka_unit_test(test_wire_hostile__too_many_connections),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
