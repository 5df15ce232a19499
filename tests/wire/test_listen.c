/* SPDX-License-Identifier: Apache-2.0 */
#include "client.h"

#include "base/mem.h"

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
    assert_ok(ash__server_try_addresses(free_ports, ASH_ARRAY_LEN(free_ports), &err), &err);
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
    assert_int_equal(ash__server_try_addresses(taken, 1, &err), ASH_EEXISTS);
    fixture_stop(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wire_listen__a_try_lets_nobody_connect),
        cmocka_unit_test(test_wire_listen__a_try_sees_that_an_address_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
