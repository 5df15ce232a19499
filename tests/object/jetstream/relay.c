/* SPDX-License-Identifier: Apache-2.0 */
#include "object/jetstream/relay.h"

#include "check.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PIECE = 65536, LAST_MS = 5000 };

struct relay {
    int listener, server_port, left;
    char uri[48];
    pthread_t thread;
    atomic_bool ended; /* after the last message */
    atomic_bool stop;
    atomic_bool at_first;
    atomic_int begun; /* at the first */
    ash_buffer sent;  /* of the client, not handed on yet */
};

static struct sockaddr_in loopback(int port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                .sin_port = htons((uint16_t)port)};
}

/* ---- what the client sends ---- */

/* Bytes of the first command, which is whole; 0: it is not yet. */
static size_t first_command(const ash_buffer *b, bool *is_message)
{
    const uint8_t *end = b->len > 0 ? memchr(b->data, '\n', b->len) : NULL;
    if (end == NULL)
        return 0;
    size_t line = (size_t)(end - b->data) + 1, digits = line - 2;
    *is_message = memcmp(b->data, "PUB ", 4) == 0 || memcmp(b->data, "HPUB", 4) == 0;
    if (!*is_message)
        return line;
    while (b->data[digits - 1] >= '0' && b->data[digits - 1] <= '9')
        digits--;
    size_t whole = line + (size_t)strtoul((const char *)b->data + digits, NULL, 10) + 2;
    return whole <= b->len ? whole : 0;
}

static bool write_all(int fd, const uint8_t *data, size_t len)
{
    while (len > 0) {
        ssize_t n = send(fd, data, len, MSG_NOSIGNAL);
        if (n <= 0)
            return false;
        data += n;
        len -= (size_t)n;
    }
    return true;
}

/* The number becomes 1, and what is left of it blanks, so that the message stays as long as it says. */
static void begin_at_first(relay *r, uint8_t *command, size_t len)
{
    static const char key[] = "\"opt_start_seq\":";
    for (uint8_t *at = command; at + sizeof key < command + len; at++) {
        if (memcmp(at, key, sizeof key - 1) != 0)
            continue;
        at += sizeof key - 1;
        for (uint8_t digit = '1'; *at >= '0' && *at <= '9'; digit = ' ')
            *at++ = digit;
        atomic_fetch_add(&r->begun, 1);
    }
}

/* False: that was the last message. */
static bool hand_on(relay *r, int server)
{
    bool is_message = false;
    for (size_t len; (len = first_command(&r->sent, &is_message)) > 0;) {
        if (is_message && r->left == 0)
            return false;
        if (is_message && atomic_load(&r->at_first))
            begin_at_first(r, r->sent.data, len);
        if (!write_all(server, r->sent.data, len))
            return false;
        memmove(r->sent.data, r->sent.data + len, r->sent.len - len);
        r->sent.len -= len;
        r->left -= is_message;
        if (is_message && r->left == 0)
            return false;
    }
    return true;
}

/* ---- the thread ---- */

static void pass(relay *r, int client, int server)
{
    static uint8_t piece[PIECE];
    struct pollfd fds[2] = {{.fd = client, .events = POLLIN}, {.fd = server, .events = POLLIN}};
    while (!atomic_load(&r->stop)) {
        if (poll(fds, 2, 20) <= 0)
            continue;
        if (fds[1].revents != 0) {
            ssize_t n = read(server, piece, sizeof piece);
            if (n <= 0 || !write_all(client, piece, (size_t)n))
                return;
        }
        if (fds[0].revents != 0) {
            ssize_t n = read(client, piece, sizeof piece);
            if (n <= 0)
                return;
            ash__buffer_append(&r->sent, piece, (size_t)n);
            if (!hand_on(r, server))
                break;
        }
    }
    atomic_store(&r->ended, r->left == 0);
    /* The server closes its end when it has read all of it. */
    struct pollfd last = {.fd = server, .events = POLLIN};
    shutdown(server, SHUT_WR);
    while (poll(&last, 1, LAST_MS) > 0 && read(server, piece, sizeof piece) > 0)
        continue;
}

static void *run(void *arg)
{
    relay *r = arg;
    struct pollfd waiting = {.fd = r->listener, .events = POLLIN};
    struct sockaddr_in at = loopback(r->server_port);
    while (!atomic_load(&r->stop) && poll(&waiting, 1, 20) <= 0)
        continue;
    if (atomic_load(&r->stop))
        return NULL;
    int client = accept(r->listener, NULL, NULL), server = socket(AF_INET, SOCK_STREAM, 0);
    close(r->listener); /* whoever was cut off does not come back */
    r->listener = -1;
    if (connect(server, (struct sockaddr *)&at, sizeof at) == 0)
        pass(r, client, server);
    close(client);
    close(server);
    return NULL;
}

relay *relay_start(const char *server, int messages)
{
    relay *r = ash__new(relay);
    struct sockaddr_in at = loopback(0);
    socklen_t len = sizeof at;
    r->left = messages;
    r->server_port = atoi(strrchr(server, ':') + 1);
    r->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(r->listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(r->listener, 1), 0);
    assert_int_equal(getsockname(r->listener, (struct sockaddr *)&at, &len), 0);
    snprintf(r->uri, sizeof r->uri, "nats://127.0.0.1:%d", ntohs(at.sin_port));
    assert_int_equal(ash__thread_start(&r->thread, 0, run, r), 0);
    return r;
}

const char *relay_uri(const relay *r)
{
    return r->uri;
}

void relay_begin_at_first(relay *r)
{
    atomic_store(&r->at_first, true);
}

int relay_begun_at_first(const relay *r)
{
    return atomic_load(&r->begun);
}

bool relay_kill_at_end(relay *r, pid_t client)
{
    int status = 0;
    pid_t gone = 0;
    while (gone == 0 && !atomic_load(&r->ended)) {
        gone = waitpid(client, &status, WNOHANG);
        if (gone == 0)
            ash__clock_sleep_ms(1);
    }
    if (gone == 0) {
        kill(client, SIGKILL);
        assert_int_equal(waitpid(client, &status, 0), client);
        return false;
    }
    assert_true(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || atomic_load(&r->ended)));
    return WEXITSTATUS(status) == 0;
}

void relay_stop(relay *r)
{
    atomic_store(&r->stop, true);
    pthread_join(r->thread, NULL);
    if (r->listener >= 0)
        close(r->listener);
    ash__buffer_release(&r->sent);
    ash__free(r);
}
