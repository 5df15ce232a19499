/* SPDX-License-Identifier: Apache-2.0 */
/* A host with a face that is not the wire's: what it reads it sends back. */
#include "check.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "inverted.h"
#include "net/host.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

typedef struct echo {
    ash_peer peer;
    ash_block block;
    size_t moved;
    int turns; /* of one that moves */
} echo;

/* The face's own state. */
typedef struct echoing {
    ash_host host;
    atomic_int houses, interrupts, served;
    _Atomic int64_t host_turn_ns; /* how long the turns of the host's thread are */
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
    echoing *server = host->server;
    atomic_store(&server->host_turn_ns, ash__thread_turn_ns());
    atomic_fetch_add(&server->houses, 1);
}

static void interrupt(ash_host *host)
{
    atomic_fetch_add(&((echoing *)host->server)->interrupts, 1);
}

static const ash_face loopback_face = {.name = "echo",
                                       .port = 7,
                                       .peer_bytes = sizeof(echo),
                                       .no_users = "nobody is asked",
                                       .no_place = "full",
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
    assert_int_equal(ash__room_used(&s.host.requests), 600 * 1024);
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
    assert_int_equal(ash__host_try_addresses(&loopback_face, anywhere, 1, false, &err), ASH_EACCES);
    assert_non_null(strstr(err.text, "nobody is asked, so only loopback"));
    asking.no_users = NULL;
    assert_int_equal(start(&s, &asking, o), 0);
    int fd = connect_to(&s);
    assert_int_equal(echo_of(fd, 'x'), 'x');
    close(fd);
    stop(&s);
}

/* ---- sockets that were given ---- */

/* A listening socket as a parent would leave it, and what it is called. */
static int given(int family, const struct sockaddr *a, socklen_t len, char text[16])
{
    int fd = socket(family, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, a, len), 0);
    assert_int_equal(listen(fd, 10), 0);
    snprintf(text, 16, "fd:%d", fd);
    return fd;
}

static int given_ipv4(uint32_t host, char text[16])
{
    struct sockaddr_in a = {.sin_family = AF_INET};
    a.sin_addr.s_addr = htonl(host);
    return given(AF_INET, (struct sockaddr *)&a, sizeof a, text);
}

/* A stop leaves it open, so that clients wait for who comes next. */
static void test_net_host__given_sockets(void **state)
{
    char text[16];
    const char *const listen_on[] = {text};
    ash_host_options o = {.listen = listen_on, .listen_count = 1};
    ash_error err = ASH_ERROR_INIT;
    echoing s;
    int fd = given_ipv4(INADDR_LOOPBACK, text);
    (void)state;
    assert_int_equal(ash__host_try_addresses(&loopback_face, listen_on, 1, false, &err), 0);
    assert_int_equal(start(&s, &loopback_face, o), 0);
    assert_int_equal(strncmp(s.host.addresses[0], "127.0.0.1:", 10), 0);
    /* Nothing that is started from here on has it. */
    assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    int client = connect_to(&s);
    assert_int_equal(echo_of(client, 'x'), 'x');
    close(client);
    struct sockaddr_in a;
    socklen_t len = sizeof a;
    getsockname(fd, (struct sockaddr *)&a, &len);
    stop(&s);
    client = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(client, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(start(&s, &loopback_face, o), 0);
    assert_int_equal(echo_of(client, 'y'), 'y');
    close(client);
    stop(&s);
    close(fd);
}

static void refuses(const char *text, int expected, const char *why)
{
    ash_error err = ASH_ERROR_INIT;
    assert_int_equal(ash__host_try_addresses(&loopback_face, &text, 1, false, &err), expected);
    if (strstr(err.text, why) == NULL)
        fail_msg("%s: %s", text, err.text);
}

static void test_net_host__given_sockets_that_will_not_do(void **state)
{
    char text[16];
    (void)state;
    refuses("fd:", ASH_EINVAL, "not the number of a socket");
    refuses("fd:2", ASH_EINVAL, "not the number of a socket");
    refuses("fd:-3", ASH_EINVAL, "not the number of a socket");
    refuses("fd: 3", ASH_EINVAL, "not the number of a socket");
    refuses("fd:3x", ASH_EINVAL, "not the number of a socket");
    refuses("fd:99999999999999999999", ASH_EINVAL, "not the number of a socket");
    refuses("fd:65000", ASH_EINVAL, "it is no socket that listens");
    int fd = given_ipv4(INADDR_ANY, text);
    refuses(text, ASH_EACCES, "nobody is asked, so only loopback");
    close(fd);
    fd = open("/dev/null", O_RDWR);
    snprintf(text, sizeof text, "fd:%d", fd);
    refuses(text, ASH_EINVAL, "it is no socket that listens");
    close(fd);
    for (int type = 0; type < 2; type++) {
        fd = socket(AF_INET, type == 0 ? SOCK_STREAM : SOCK_DGRAM, 0);
        snprintf(text, sizeof text, "fd:%d", fd);
        refuses(text, ASH_EINVAL, "it is no socket that listens");
        close(fd);
    }
}

/* Its owner's alone, and its file is whose it was. */
static void test_net_host__given_unix_sockets(void **state)
{
    char text[16], folder[] = "/tmp/ashlar-host-XXXXXX";
    const char *const listen_on[] = {text};
    ash_host_options o = {.listen = listen_on, .listen_count = 1};
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    echoing s;
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(a.sun_path, sizeof a.sun_path, "%s/socket", folder);
    int fd = given(AF_UNIX, (struct sockaddr *)&a, sizeof a, text);
    chmod(a.sun_path, 0660);
    refuses(text, ASH_EACCES, "its owner's alone");
    chmod(a.sun_path, 0600);
    assert_int_equal(start(&s, &loopback_face, o), 0);
    assert_string_equal(s.host.addresses[0], a.sun_path);
    int client = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(connect(client, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(echo_of(client, 'x'), 'x');
    close(client);
    stop(&s);
    assert_int_equal(access(a.sun_path, F_OK), 0);
    unlink(a.sun_path);
    close(fd);
    /* One without a file has no mode that could be asked. */
    memset(a.sun_path, 0, sizeof a.sun_path);
    fd = given(AF_UNIX, (struct sockaddr *)&a, sizeof(sa_family_t), text);
    refuses(text, ASH_EACCES, "its owner's alone");
    close(fd);
    rmdir(folder);
}

/* Fewer places do not throw out who is there. */
static void test_net_host__as_many_as_it_is_told(void **state)
{
    echoing s;
    (void)state;
    assert_int_equal(start(&s, &loopback_face, (ash_host_options){.max_peers = 2}), 0);
    int a = connect_to(&s), b = connect_to(&s);
    assert_int_equal(echo_of(a, 'a'), 'a');
    assert_int_equal(echo_of(b, 'b'), 'b');
    ash__host_set_max_peers(&s.host, 1);
    assert_int_equal(ash__host_max_peers(&s.host), 1);
    int c = connect_to(&s);
    char told[5] = "";
    assert_int_equal(recv(c, told, 4, MSG_WAITALL), 4);
    assert_string_equal(told, "full");
    assert_int_equal(echo_of(c, 'c'), 0);
    assert_int_equal(echo_of(a, 'a'), 'a');
    assert_int_equal(echo_of(b, 'b'), 'b');
    close(c);
    ash__host_set_max_peers(&s.host, 3);
    c = connect_to(&s);
    assert_int_equal(echo_of(c, 'c'), 'c');
    close(a);
    close(b);
    close(c);
    stop(&s);
}

/* How long they are unless somebody asks for others; 0: the scheduler does not say. */
static int64_t usual_turn_ns;

/* 'w': this thread gives way; 'n': it does not; '?': it does by half. */
static char how_it_runs(void)
{
    bool low = getpriority(PRIO_PROCESS, 0) > 0;
    bool long_turns = ash__thread_turn_ns() > usual_turn_ns;
    if (usual_turn_ns > 0 && long_turns != low)
        return '?';
    return low ? 'w' : 'n';
}

/* Each byte is answered on another thread: the first by one that gives way, all later ones by one that
 * does not. */
static void serve_and_move(ash_peer *peer)
{
    echo *e = (echo *)(void *)peer;
    char byte;
    if (e->turns++ == 0)
        ash__peer_give_way();
    if (ash__peer_read(peer, &byte, 1, 0, &e->moved) != 1)
        return;
    byte = how_it_runs();
    struct iovec iov = {&byte, 1};
    peer->moves = ash__peer_write(peer, &iov, 1, 5000);
}

static const ash_face moving_face = {.name = "moving",
                                     .port = 7,
                                     .peer_bytes = sizeof(echo),
                                     .no_users = "nobody is asked",
                                     .serve = serve_and_move,
                                     .interrupt = interrupt};

static void serve_and_stay(ash_peer *peer)
{
    echo *e = (echo *)(void *)peer;
    char byte;
    while (ash__peer_read(peer, &byte, 1, 0, &e->moved) == 1) {
        byte = how_it_runs();
        struct iovec iov = {&byte, 1};
        if (!ash__peer_write(peer, &iov, 1, 5000))
            return;
    }
}

static const ash_face staying_face = {.name = "staying",
                                      .port = 7,
                                      .peer_bytes = sizeof(echo),
                                      .no_users = "nobody is asked",
                                      .serve = serve_and_stay,
                                      .keep_house = keep_house,
                                      .interrupt = interrupt};

static void test_net_host__who_gives_way_moves_to_another_thread(void **state)
{
    echoing s;
    (void)state;
#ifndef __linux__
    skip();
#endif
    if (getpriority(PRIO_PROCESS, 0) > 0)
        skip();
    usual_turn_ns = ash__thread_turn_ns();
    assert_int_equal(start(&s, &moving_face, (ash_host_options){0}), 0);
    int a = connect_to(&s), b = connect_to(&s);
    assert_int_equal(echo_of(a, 'x'), 'w');
    assert_int_equal(echo_of(a, 'x'), 'n');
    assert_int_equal(echo_of(b, 'x'), 'w');
    for (int i = 0; i < 100; i++)
        assert_int_equal(echo_of(i % 2 != 0 ? a : b, 'x'), 'n');
    assert_int_equal(ash__host_peer_count(&s.host), 2);
    close(a);
    close(b);
    stop(&s);
}

/* However many come, who is there already is answered first: the host's thread takes long turns, and
 * those that it starts do not. */
static void test_net_host__newcomers_wait_for_who_is_there(void **state)
{
    echoing s;
    (void)state;
    usual_turn_ns = ash__thread_turn_ns();
    if (usual_turn_ns == 0 || getpriority(PRIO_PROCESS, 0) > 0)
        skip();
    assert_int_equal(start(&s, &staying_face, (ash_host_options){0}), 0);
    int a = connect_to(&s);
    assert_int_equal(echo_of(a, 'x'), 'n');
    while (atomic_load(&s.houses) == 0)
        ash__clock_sleep_ms(10);
    assert_true(atomic_load(&s.host_turn_ns) > usual_turn_ns);
    close(a);
    stop(&s);
}

static void *ask_until_the_end(void *arg)
{
    int fd = *(int *)arg;
    while (echo_of(fd, 'x') != 0)
        continue;
    return NULL;
}

/* Whoever is on the way to another thread as the host stops ends as everybody does. */
static void test_net_host__stops_while_peers_move(void **state)
{
    enum { PEERS = 8 };
    (void)state;
    for (int run = 0; run < 20; run++) {
        echoing s;
        int fds[PEERS];
        pthread_t threads[PEERS];
        assert_int_equal(start(&s, &moving_face, (ash_host_options){0}), 0);
        for (int i = 0; i < PEERS; i++) {
            fds[i] = connect_to(&s);
            assert_int_equal(pthread_create(&threads[i], NULL, ask_until_the_end, &fds[i]), 0);
        }
        ash__clock_sleep_ms(run);
        stop(&s);
        for (int i = 0; i < PEERS; i++) {
            pthread_join(threads[i], NULL);
            close(fds[i]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_net_host__serves_and_stops),
        cmocka_unit_test(test_net_host__who_owes_makes_place),
        cmocka_unit_test(test_net_host__who_stands_still_makes_room),
        cmocka_unit_test(test_net_host__streams_on_top),
        cmocka_unit_test(test_net_host__who_may_listen_where),
        cmocka_unit_test(test_net_host__given_sockets),
        cmocka_unit_test(test_net_host__given_sockets_that_will_not_do),
        cmocka_unit_test(test_net_host__given_unix_sockets),
        cmocka_unit_test(test_net_host__as_many_as_it_is_told),
        cmocka_unit_test(test_net_host__who_gives_way_moves_to_another_thread),
        cmocka_unit_test(test_net_host__newcomers_wait_for_who_is_there),
        cmocka_unit_test(test_net_host__stops_while_peers_move),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
