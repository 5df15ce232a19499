/* SPDX-License-Identifier: Apache-2.0 */
/* Streams: over a plain descriptor, and over what stands on one. */
#include "check.h"

#include "base/clock.h"
#include "base/mem.h"
#include "inverted.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BYTES = 300 * 1024 };

typedef struct ends {
    ash_stream ours;
    int theirs;
} ends;

static void open_ends(ends *e)
{
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    fcntl(pair[0], F_SETFL, O_NONBLOCK);
    ash__stream_init(&e->ours, pair[0]);
    e->theirs = pair[1];
}

static void close_ends(ends *e)
{
    ash__stream_close(&e->ours);
    close(e->theirs);
}

static void *send_back(void *arg)
{
    const int *fd = arg;
    char data[777];
    ssize_t n;
    while ((n = recv(*fd, data, sizeof data, 0)) > 0)
        for (ssize_t sent = 0; sent < n;) {
            ssize_t m = send(*fd, data + sent, (size_t)(n - sent), MSG_NOSIGNAL);
            if (m < 0)
                return NULL;
            sent += m;
        }
    return NULL;
}

/* What is written in pieces comes back whole, whatever the stream does with it on its way. */
static void echo_through(ends *e)
{
    pthread_t thread;
    uint8_t *data = ash__alloc(BYTES), *back = ash__alloc(BYTES);
    size_t have = 0;
    for (size_t i = 0; i < BYTES; i++)
        data[i] = (uint8_t)(i * 31 + i / 256);
    assert_int_equal(pthread_create(&thread, NULL, send_back, &e->theirs), 0);
    for (size_t at = 0; at < BYTES; at += 30 * 1024) {
        struct iovec iov[] = {{data + at, 1}, {data + at + 1, 0}, {data + at + 1, 30 * 1024 - 1}};
        assert_true(ash__stream_write(&e->ours, iov, 3, 5000, NULL));
        while (have < at + 30 * 1024) {
            assert_true(ash__stream_wait(&e->ours, 5000));
            size_t n = ash__stream_read(&e->ours, back + have, 500, ash__clock_deadline(5000));
            assert_true(n > 0 && n <= 500);
            have += n;
        }
    }
    assert_memory_equal(data, back, BYTES);
    ash__stream_shutdown(&e->ours, true);
    pthread_join(thread, NULL);
    ash__free(data);
    ash__free(back);
}

static void test_net_stream__plain(void **state)
{
    ends e;
    (void)state;
    open_ends(&e);
    echo_through(&e);
    assert_int_equal(ash__stream_read(&e.ours, &(char){0}, 1, ash__clock_deadline(1000)), 0);
    close_ends(&e);
}

static void test_net_stream__on_top_of_another(void **state)
{
    atomic_int released = 0;
    ends e;
    (void)state;
    open_ends(&e);
    assert_int_equal(inverted_wrap(&released, &e.ours, NULL), 0);
    echo_through(&e);
    close_ends(&e);
    assert_int_equal(released, 1);
}

/* poll() on the descriptor would wait for ever. */
static void test_net_stream__held_bytes_are_seen(void **state)
{
    ends e;
    char byte;
    uint8_t two[] = {(uint8_t) ~'a', (uint8_t) ~'b'};
    (void)state;
    open_ends(&e);
    inverted_wrap(NULL, &e.ours, NULL);
    assert_int_equal(send(e.theirs, two, sizeof two, 0), 2);
    assert_int_equal(ash__stream_read(&e.ours, &byte, 1, ash__clock_deadline(5000)), 1);
    assert_int_equal(byte, 'a');
    assert_true(ash__stream_wait(&e.ours, 0));
    assert_int_equal(ash__stream_read(&e.ours, &byte, 1, ash__clock_deadline(5000)), 1);
    assert_int_equal(byte, 'b');
    assert_false(ash__stream_wait(&e.ours, 0));
    close_ends(&e);
}

static void test_net_stream__waits_for_several(void **state)
{
    enum { BOTH = ASH_STREAM_READABLE | ASH_STREAM_WRITABLE };
    ends e;
    char byte;
    int other[2];
    (void)state;
    open_ends(&e);
    assert_int_equal(pipe(other), 0);
    assert_int_equal(ash__stream_wait_any(&e.ours, ASH_STREAM_READABLE, other[0], 20), 0);
    assert_int_equal(ash__stream_wait_any(&e.ours, BOTH, other[0], -1), ASH_STREAM_WRITABLE);
    assert_int_equal(send(e.theirs, "ab", 2, 0), 2);
    assert_int_equal(ash__stream_wait_any(&e.ours, BOTH, other[0], -1), BOTH);
    assert_int_equal(ash__stream_wait_any(&e.ours, 0, other[0], 20), 0);
    assert_int_equal(write(other[1], "", 1), 1);
    assert_int_equal(ash__stream_wait_any(&e.ours, 0, other[0], -1), ASH_STREAM_OTHER);
    assert_int_equal(ash__stream_wait_any(&e.ours, ASH_STREAM_READABLE, other[0], -1),
                     ASH_STREAM_READABLE | ASH_STREAM_OTHER);
    assert_int_equal(read(other[0], &byte, 1), 1);
    /* What the stream has received, poll() does not tell of. */
    inverted_wrap(NULL, &e.ours, NULL);
    assert_int_equal(ash__stream_read(&e.ours, &byte, 1, 0), 1);
    assert_int_equal(ash__stream_wait_any(&e.ours, ASH_STREAM_READABLE, other[0], -1),
                     ASH_STREAM_READABLE);
    assert_int_equal(ash__stream_wait_any(&e.ours, ASH_STREAM_WRITABLE, other[0], -1),
                     ASH_STREAM_WRITABLE);
    /* The end is found by who reads, and disturbs nobody else. */
    close(e.theirs);
    assert_int_equal(ash__stream_wait_any(&e.ours, 0, other[0], 20), 0);
    assert_true(ash__stream_wait_any(&e.ours, BOTH, other[0], -1) & ASH_STREAM_READABLE);
    ash__stream_close(&e.ours);
    close(other[0]);
    close(other[1]);
}

static void test_net_stream__deadlines(void **state)
{
    ends e;
    char byte;
    (void)state;
    open_ends(&e);
    assert_int_equal(ash__stream_read(&e.ours, &byte, 1, ash__clock_deadline(20)), 0);
    assert_false(ash__stream_hung_up(&e.ours));
    close(e.theirs);
    assert_true(ash__stream_hung_up(&e.ours));
    ash__stream_close(&e.ours);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_net_stream__plain),
        cmocka_unit_test(test_net_stream__on_top_of_another),
        cmocka_unit_test(test_net_stream__held_bytes_are_seen),
        cmocka_unit_test(test_net_stream__waits_for_several),
        cmocka_unit_test(test_net_stream__deadlines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
