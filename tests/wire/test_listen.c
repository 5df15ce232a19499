/* SPDX-License-Identifier: Apache-2.0 */
#include "client.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "net/inverted.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static int listened;

/* In place of libc's, for all of this program. */
int listen(int fd, int backlog)
{
    listened++;
    return (int)syscall(SYS_listen, fd, backlog);
}

/* Whoever connected meanwhile would be cut off. */
static void test_wire_listen__a_try_lets_nobody_connect(void **state)
{
    static const char *const free_ports[] = {"127.0.0.1:0", "localhost:0"};
    ash_error err = ASH_ERROR_INIT;
    (void)state;
    listened = 0;
    assert_ok(ash__server_try_addresses(free_ports, ASH_ARRAY_LEN(free_ports), false, &err), &err);
    assert_int_equal(listened, 0);
}

static void test_wire_listen__a_try_sees_that_an_address_is_taken(void **state)
{
    ash_error err = ASH_ERROR_INIT;
    fixture x;
    char text[32];
    const char *taken[] = {text};
    (void)state;
    listened = 0;
    fixture_start(&x, NULL);
    assert_true(listened > 0);
    snprintf(text, sizeof text, "127.0.0.1:%d", x.port);
    assert_int_equal(ash__server_try_addresses(taken, 1, false, &err), ASH_EEXISTS);
    fixture_stop(&x);
}

static void receive_exactly(int fd, uint8_t *data, size_t len)
{
    for (size_t have = 0; have < len;) {
        ssize_t n = recv(fd, data + have, len - have, 0);
        assert_true(n > 0);
        have += (size_t)n;
    }
    invert(data, len);
}

/* Whatever lies below, as TLS will, the protocol is the same: two commands at once, more than the
 * stream reads at a time. */
static void test_wire_listen__another_stream_carries_the_protocol(void **state)
{
    ash_server_options o = ASH_SERVER_OPTIONS_INIT;
    ash_buffer b = ASH_BUFFER_INIT;
    fixture x;
    uint8_t answer[4096];
    char *text = ash__alloc(9000);
    (void)state;
    memset(text, 'x', 8999);
    o.wrap = inverted_wrap;
    fixture_start(&x, &o);
    int fd = client_connect(&x);
    for (int i = 0; i < 2; i++) {
        bson_t *command = i == 0 ? BCON_NEW("ping", BCON_INT32(1), "$db", "test")
                                 : BCON_NEW("insert", "c", "$db", "test", "documents", "[", "{",
                                            "text", text, "}", "]");
        ash_buffer one = ASH_BUFFER_INIT;
        message_start(&one, ASH_OP_MSG);
        message_body(&one, command);
        message_end(&one);
        ash__buffer_append(&b, one.data, one.len);
        ash__buffer_release(&one);
        bson_destroy(command);
    }
    invert(b.data, b.len);
    client_send(fd, b.data, b.len);
    for (int i = 0; i < 2; i++) {
        bson_t reply;
        receive_exactly(fd, answer, 4);
        size_t len = ash__get_le32(answer);
        assert_true(len > 21 && len < sizeof answer);
        receive_exactly(fd, answer, len - 4);
        assert_true(bson_init_static(&reply, answer + 17, len - 21));
        assert_int_equal(field_number(&reply, "ok"), 1);
        assert_int_equal(field_number(&reply, "n"), i == 0 ? -999999 : 1);
    }
    assert_int_equal(x.store->count, 1);
    close(fd);
    fixture_stop(&x);
    ash__buffer_release(&b);
    ash__free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wire_listen__a_try_lets_nobody_connect),
        cmocka_unit_test(test_wire_listen__a_try_sees_that_an_address_is_taken),
        cmocka_unit_test(test_wire_listen__another_stream_carries_the_protocol),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
