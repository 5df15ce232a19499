/* SPDX-License-Identifier: Apache-2.0 */
/* A host with a face that is not the wire's: what it reads it sends back. */
#include "check.h"

#include "base/clock.h"
#include "base/mem.h"
#include "inverted.h"
#include "net/host.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef struct echo {
    ash_peer peer;
    ash_block block;
    size_t moved;
} echo;

/* The face's own state. */
typedef struct echoing {
    ash_host host;
    atomic_int houses, interrupts, served;
} echoing;

/* Bytes are answered as they come; 'B' takes a large block and waits for ever for the rest. */
static void serve(ash_peer *peer)
{
    echo *e = (echo *)(void *)peer;
    echoing *server = peer->host->server;
    char data[100];
    size_t n;
    ash_error err;
    atomic_fetch_add(&server->served, 1);
    ash__block_init(&e->block, &peer->host->requests);
    while ((n = ash__peer_read(peer, data, sizeof data, 0, &e->moved)) > 0) {
        struct iovec iov = {data, n};
        ash__peer_owes_nothing(peer);
        if (data[0] == 'B') {
            if (ash__block_reserve(&e->block, 0, 600 * 1024, ash__clock_deadline(20000), &err) != 0)
                break;
            ash__peer_hold(peer, ASH_HOLDS_REQUEST);
        }
        if (!ash__peer_write(peer, &iov, 1, 5000))
            break;
    }
    ash__peer_release_hold(peer);
    ash__block_release(&e->block);
}

static void keep_house(ash_host *host)
{
    atomic_fetch_add(&((echoing *)host->server)->houses, 1);
}

static void interrupt(ash_host *host)
{
    atomic_fetch_add(&((echoing *)host->server)->interrupts, 1);
}

static const ash_face loopback_face = {.name = "echo",
                                       .port = 7,
                                       .peer_bytes = sizeof(echo),
                                       .no_users = "nobody is asked",
                                       .serve = serve,
                                       .keep_house = keep_house,
                                       .interrupt = interrupt};

static const char *const any_port[] = {"127.0.0.1:0"};

static int start(echoing *s, const ash_face *face, ash_host_options o)
{
    ash_error err = ASH_ERROR_INIT;
    memset(s, 0, sizeof *s);
    if (o.listen == NULL) {
        o.listen = any_port;
        o.listen_count = 1;
    }
    o.max_peers = o.max_peers != 0 ? o.max_peers : 10;
    o.room_bytes = 1024 * 1024;
    o.stop_timeout_ms = 1000;
    ash__host_init(&s->host, face, s, &o);
    int rc = ash__host_start(&s->host, &err);
    if (rc != 0)
        ash__host_release(&s->host);
    return rc;
}

static void stop(echoing *s)
{
    ash__host_stop(&s->host);
    assert_int_equal(s->interrupts, 1);
    ash__host_release(&s->host);
}

static int connect_to(const echoing *s)
{
    struct sockaddr_in a = {.sin_family = AF_INET};
    struct timeval limit = {.tv_sec = 20};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    a.sin_port = htons((uint16_t)atoi(strchr(s->host.addresses[0], ':') + 1));
    assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    return fd;
}

/* Sent and come back, or 0 when the connection is over. */
static char echo_of(int fd, char byte)
{
    char back = 0;
    if (send(fd, &byte, 1, MSG_NOSIGNAL) != 1 || recv(fd, &back, 1, 0) != 1)
        return 0;
    return back;
}

static void test_net_host__serves_and_stops(void **state)
{
    echoing s;
    (void)state;
    assert_int_equal(start(&s, &loopback_face, (ash_host_options){0}), 0);
    int a = connect_to(&s), b = connect_to(&s);
    assert_int_equal(echo_of(a, 'x'), 'x');
    assert_int_equal(echo_of(b, 'y'), 'y');
    assert_int_equal(ash__host_peer_count(&s.host), 2);
    assert_int_equal(s.host.peers_made, 2);
    assert_false(ash__host_is_stopping(&s.host));
    for (int i = 0; i < 100 && s.houses == 0; i++)
        ash__clock_sleep_ms(100);
    assert_true(s.houses > 0);
    stop(&s);
    assert_int_equal(echo_of(a, 'x'), 0);
    close(a);
    close(b);
}

/* Who owes a request gives its place to who comes; who was served and is silent keeps it. */
static void test_net_host__who_owes_makes_place(void **state)
{
    echoing s;
    ash_host_options o = {.max_peers = 2};
    (void)state;
    assert_int_equal(start(&s, &loopback_face, o), 0);
    int served = connect_to(&s), silent = connect_to(&s);
    assert_int_equal(echo_of(served, 'x'), 'x');
    ash__clock_sleep_ms(700);
    int newcomer = connect_to(&s);
    assert_int_equal(echo_of(newcomer, 'n'), 'n');
    assert_int_equal(echo_of(silent, 's'), 0);
    assert_int_equal(echo_of(served, 'x'), 'x');
    close(served);
    close(silent);
    close(newcomer);
    stop(&s);
}

/* Room for one large request: who holds it and does not move loses it to who waits. */
static void test_net_host__who_stands_still_makes_room(void **state)
{
    echoing s;
    (void)state;
    assert_int_equal(start(&s, &loopback_face, (ash_host_options){0}), 0);
    int first = connect_to(&s), second = connect_to(&s);
    assert_int_equal(echo_of(first, 'B'), 'B');
    assert_int_equal(echo_of(second, 'B'), 'B');
    assert_int_equal(echo_of(first, 'x'), 0);
    close(first);
    close(second);
    stop(&s);
}

static int refuse(void *ctx, ash_stream *stream, ash_error *err)
{
    (void)ctx;
    (void)stream;
    return ash__fail(err, ASH_EACCES, "no handshake");
}

static void test_net_host__streams_on_top(void **state)
{
    atomic_int released = 0;
    echoing s;
    ash_host_options o = {.wrap = inverted_wrap, .wrap_ctx = &released};
    (void)state;
    assert_int_equal(start(&s, &loopback_face, o), 0);
    int fd = connect_to(&s);
    assert_int_equal(echo_of(fd, (char)~'x'), (char)~'x');
    /* The face sees what the stream makes of it. */
    assert_int_equal(echo_of(fd, (char)~'B'), (char)~'B');
    assert_int_equal(s.host.requests.used, 600 * 1024);
    close(fd);
    stop(&s);
    assert_int_equal(released, 1);
    o.wrap = refuse;
    assert_int_equal(start(&s, &loopback_face, o), 0);
    fd = connect_to(&s);
    assert_int_equal(echo_of(fd, 'x'), 0);
    assert_int_equal(s.served, 0);
    close(fd);
    stop(&s);
}

/* Without users on loopback alone; who asks who they are may listen anywhere. */
static void test_net_host__who_may_listen_where(void **state)
{
    static const char *const anywhere[] = {"0.0.0.0:0"};
    echoing s;
    ash_error err = ASH_ERROR_INIT;
    ash_host_options o = {.listen = anywhere, .listen_count = 1};
    ash_face asking = loopback_face;
    (void)state;
    assert_int_equal(start(&s, &loopback_face, o), ASH_EACCES);
    assert_int_equal(ash__host_try_addresses(&loopback_face, anywhere, 1, &err), ASH_EACCES);
    assert_non_null(strstr(err.text, "nobody is asked, so only loopback"));
    asking.no_users = NULL;
    assert_int_equal(start(&s, &asking, o), 0);
    int fd = connect_to(&s);
    assert_int_equal(echo_of(fd, 'x'), 'x');
    close(fd);
    stop(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_net_host__serves_and_stops),
        cmocka_unit_test(test_net_host__who_owes_makes_place),
        cmocka_unit_test(test_net_host__who_stands_still_makes_room),
        cmocka_unit_test(test_net_host__streams_on_top),
        cmocka_unit_test(test_net_host__who_may_listen_where),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
