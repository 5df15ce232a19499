/* SPDX-License-Identifier: Apache-2.0 */
#include "client.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "base/mem.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wire_hostile__random_bytes),
        cmocka_unit_test(test_wire_hostile__lengths_and_opcodes_that_cannot_be),
        cmocka_unit_test(test_wire_hostile__slow_and_cut_off_messages),
        cmocka_unit_test(test_wire_hostile__announced_and_never_sent),
        cmocka_unit_test(test_wire_hostile__nested_ten_thousand_deep),
        cmocka_unit_test(test_wire_hostile__documents_that_lie_about_their_size),
        cmocka_unit_test(test_wire_hostile__compressed_bombs),
        cmocka_unit_test(test_wire_hostile__too_many_connections),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
