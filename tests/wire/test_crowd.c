/* SPDX-License-Identifier: Apache-2.0 */
#include "client.h"

#include "base/clock.h"
#include "base/mem.h"

#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* More clients than there are places. */

static bool is_closed(int fd)
{
    char byte;
    return recv(fd, &byte, 1, MSG_DONTWAIT) == 0;
}

static bool can_ping(int fd)
{
    ash_buffer m = ASH_BUFFER_INIT;
    bson_t *ping = BCON_NEW("ping", BCON_INT32(1), "$db", "admin");
    message_start(&m, ASH_OP_MSG);
    message_body(&m, ping);
    message_end(&m);
    client_send(fd, m.data, m.len);
    bool answered = client_receive(fd, &m);
    bson_destroy(ping);
    ash__buffer_release(&m);
    return answered;
}

/* Like a driver, which tries again until its time is over. */
static int connect_and_ping(const fixture *x, int64_t within_ms)
{
    int64_t until = ash__clock_ms() + within_ms;
    do {
        int fd = client_connect(x);
        if (can_ping(fd))
            return fd;
        close(fd);
        ash__clock_sleep_ms(50);
    } while (ash__clock_ms() < until);
    fail_msg("nobody got a place within %d ms", (int)within_ms);
    return -1;
}

static void send_half(int fd)
{
    static const uint8_t half[] = {64, 0, 0, 0, 1, 0, 0};
    client_send(fd, half, sizeof half);
}

static void test_wire_crowd__two_thousand_half_messages(void **state)
{
    enum { CROWD = 2000, NEWCOMERS = 20 };
    static int crowd[CROWD];
    fixture x;
    struct rlimit files;
    (void)state;
    getrlimit(RLIMIT_NOFILE, &files);
    if (files.rlim_cur < 2 * CROWD + 200) {
        files.rlim_cur = files.rlim_max < 2 * CROWD + 200 ? files.rlim_max : 2 * CROWD + 200;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    if (files.rlim_cur < 2 * CROWD + 200)
        skip();
    ash_server_options o = ASH_SERVER_OPTIONS_INIT;
    fixture_start(&x, &o);
    int old = connect_and_ping(&x, 1000);
    for (int i = 0; i < CROWD; i++) {
        crowd[i] = client_connect(&x);
        send_half(crowd[i]);
        if (i % 100 == 0)
            assert_true(can_ping(old));
    }
    for (int i = 0; i < NEWCOMERS; i++) {
        int fd = connect_and_ping(&x, 10000);
        assert_true(can_ping(old));
        close(fd);
    }
    assert_true(can_ping(old));
    close(old);
    for (int i = 0; i < CROWD; i++)
        close(crowd[i]);
    fixture_stop(&x);
}

static void test_wire_crowd__who_is_served_keeps_the_place(void **state)
{
    enum { PLACES = 8 };
    fixture x;
    int fds[PLACES];
    ash_server_options o = ASH_SERVER_OPTIONS_INIT;
    (void)state;
    o.max_connections = PLACES;
    fixture_start(&x, &o);
    for (int i = 0; i < PLACES; i++) {
        fds[i] = client_connect(&x);
        assert_true(can_ping(fds[i]));
    }
    ash__clock_sleep_ms(700);
    int refused = client_connect(&x);
    assert_false(can_ping(refused));
    close(refused);
    /* One begins a message and does not go on: the others stay. */
    send_half(fds[3]);
    ash__clock_sleep_ms(700);
    int newcomer = connect_and_ping(&x, 5000);
    assert_true(is_closed(fds[3]));
    for (int i = 0; i < PLACES; i++) {
        assert_true(i == 3 || can_ping(fds[i]));
        close(fds[i]);
    }
    close(newcomer);
    fixture_stop(&x);
}

static int64_t open_cursor(int fd)
{
    bson_t *r = client_run(fd, BCON_NEW("find", "c", "batchSize", BCON_INT32(1)));
    int64_t id = field_int64(r, "cursor.id");
    bson_destroy(r);
    assert_true(id > 0);
    return id;
}

/* 0, or the code of the failure; the cursor stays. */
static int64_t use_cursor(int fd, int64_t id)
{
    bson_t *r = client_run(
        fd, BCON_NEW("getMore", BCON_INT64(id), "collection", "c", "batchSize", BCON_INT32(1)));
    int64_t code = bson_has_field(r, "code") ? field_number(r, "code") : 0;
    bson_destroy(r);
    return code;
}

/* Who fills the table of cursors pays with its own, and who is gone, first. */
static void test_wire_crowd__more_cursors_than_places(void **state)
{
    enum { PLACES = 50 };
    fixture x;
    ash_server_options o = ASH_SERVER_OPTIONS_INIT;
    int64_t ids[PLACES], last = 0;
    (void)state;
    o.max_cursors = PLACES;
    fixture_start(&x, &o);
    int greedy = client_connect(&x), modest = client_connect(&x), gone = client_connect(&x);
    for (int i = 0; i < 4; i++)
        bson_destroy(client_run(
            modest, BCON_NEW("insert", "c", "documents", "[", "{", "}", "{", "}", "{", "}", "]")));
    int64_t mine = open_cursor(modest), orphan = open_cursor(gone);
    for (int i = 0; i < PLACES - 2; i++)
        ids[i] = open_cursor(greedy);
    close(gone);
    ash__clock_sleep_ms(300);
    last = open_cursor(greedy);
    assert_int_equal(use_cursor(modest, orphan), 43);
    assert_int_equal(use_cursor(modest, mine), 0);
    assert_int_equal(use_cursor(greedy, ids[0]), 0);
    ash__clock_sleep_ms(20);
    for (int i = 0; i < 2 * PLACES; i++)
        last = open_cursor(greedy);
    assert_int_equal(use_cursor(modest, mine), 0);
    assert_int_equal(use_cursor(greedy, last), 0);
    assert_int_equal(use_cursor(greedy, ids[1]), 43);
    close(greedy);
    close(modest);
    fixture_stop(&x);
}

static int64_t begin_session(int fd)
{
    bson_t *r = client_run(fd, BCON_NEW("startSession", BCON_INT32(1)));
    int64_t ok = field_number(r, "ok");
    bson_destroy(r);
    return ok;
}

/* A command in the session number n; cursor 0: opens one and returns its id, else 0 or a code. */
static int64_t in_session(int fd, uint8_t n, int64_t cursor)
{
    uint8_t id[16] = {n};
    bson_t *command = cursor == 0 ? BCON_NEW("find", "c", "batchSize", BCON_INT32(1))
                                  : BCON_NEW("getMore", BCON_INT64(cursor), "collection", "c",
                                             "batchSize", BCON_INT32(1));
    BCON_APPEND(command, "lsid", "{", "id", BCON_BIN(BSON_SUBTYPE_UUID, id, 16), "}");
    bson_t *r = client_run(fd, command);
    int64_t code = bson_has_field(r, "code") ? field_number(r, "code") : 0;
    int64_t result = cursor == 0 ? field_int64(r, "cursor.id") : code;
    bson_destroy(r);
    return result;
}

/* So does who begins many sessions: nobody else is locked out or loses a cursor. */
static void test_wire_crowd__more_sessions_than_places(void **state)
{
    enum { PLACES = 50 };
    fixture x;
    ash_server_options o = ASH_SERVER_OPTIONS_INIT;
    (void)state;
    o.max_sessions = PLACES;
    fixture_start(&x, &o);
    int greedy = client_connect(&x), modest = client_connect(&x), late = client_connect(&x);
    for (int i = 0; i < 4; i++)
        bson_destroy(client_run(
            modest, BCON_NEW("insert", "c", "documents", "[", "{", "}", "{", "}", "{", "}", "]")));
    int64_t mine = in_session(modest, 1, 0), old = in_session(greedy, 2, 0);
    assert_true(mine > 0 && old > 0);
    for (int i = 0; i < 3 * PLACES; i++)
        assert_int_equal(begin_session(greedy), 1);
    assert_int_equal(in_session(modest, 1, mine), 0);
    assert_int_equal(in_session(greedy, 2, old), 43);
    assert_true(in_session(late, 3, 0) > 0);
    assert_int_equal(begin_session(late), 1);
    bson_t *r = client_run(late, BCON_NEW("serverStatus", BCON_INT32(1)));
    assert_int_equal(field_number(r, "logicalSessionRecordCache.activeSessionsCount"), PLACES);
    bson_destroy(r);
    close(greedy);
    close(modest);
    close(late);
    fixture_stop(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wire_crowd__two_thousand_half_messages),
        cmocka_unit_test(test_wire_crowd__who_is_served_keeps_the_place),
        cmocka_unit_test(test_wire_crowd__more_cursors_than_places),
        cmocka_unit_test(test_wire_crowd__more_sessions_than_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
