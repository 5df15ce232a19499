/* SPDX-License-Identifier: Apache-2.0 */
#include "raw_client.h"

#include "check.h"

#include "base/clock.h"
#include "base/mem.h"

#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PATIENCE_MS = 20000 };

static void open_with(client *c, int port, const char *connect_line, int buffer)
{
    struct sockaddr_in a = {.sin_family = AF_INET};
    struct timeval limit = {.tv_sec = PATIENCE_MS / 1000};
    *c = (client){.capacity = 64 * 1024, .fd = socket(AF_INET, SOCK_STREAM, 0)};
    c->data = ash__alloc(c->capacity);
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    a.sin_port = htons((uint16_t)port);
    if (buffer > 0)
        setsockopt(c->fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
    setsockopt(c->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    assert_int_equal(connect(c->fd, (struct sockaddr *)&a, sizeof a), 0);
    if (connect_line == NULL)
        return;
    const char *info = client_hears(c);
    assert_non_null(info);
    assert_memory_equal(info, "INFO {", 6);
    client_says(c, connect_line);
}

void client_open(client *c, int port, const char *connect_line)
{
    open_with(c, port, connect_line, 0);
}

static const char usual[] = "CONNECT {\"verbose\":false,\"headers\":true,\"no_responders\":true,"
                            "\"lang\":\"c\",\"name\":\"test\"}\r\n";

void client_open_usual(client *c, int port)
{
    open_with(c, port, usual, 0);
}

void client_open_narrow(client *c, int port)
{
    open_with(c, port, usual, 4096);
}

void client_close(client *c)
{
    close(c->fd);
    ash__free(c->data);
    ash__free(c->said);
}

bool client_sends(client *c, const void *data, size_t len)
{
    const char *at = data;
    while (len > 0) {
        ssize_t n = send(c->fd, at, len, MSG_NOSIGNAL);
        if (n <= 0)
            return false;
        at += n;
        len -= (size_t)n;
    }
    return true;
}

void client_says(client *c, const char *text)
{
    assert_true(client_sends(c, text, strlen(text)));
}

static bool read_more(client *c, int64_t deadline_ms)
{
    struct pollfd p = {.fd = c->fd, .events = POLLIN};
    int64_t left = deadline_ms - ash__clock_ms();
    if (left < 0 || poll(&p, 1, (int)left) <= 0)
        return false;
    memmove(c->data, c->data + c->start, c->end - c->start);
    c->end -= c->start;
    c->start = 0;
    if (c->end == c->capacity) {
        c->capacity *= 2;
        c->data = ash__realloc_array(c->data, c->capacity, 1);
    }
    ssize_t n = recv(c->fd, c->data + c->end, c->capacity - c->end, 0);
    if (n > 0)
        c->end += (size_t)n;
    return n > 0;
}

static size_t payload_size(const char *line)
{
    bool has = strncmp(line, "MSG ", 4) == 0 || strncmp(line, "HMSG ", 5) == 0;
    return has ? (size_t)atoi(strrchr(line, ' ') + 1) + 2 : 0;
}

const char *client_hears_within(client *c, int ms)
{
    int64_t deadline = ash__clock_ms() + ms;
    char *end;
    while ((end = memchr(c->data + c->start, '\n', c->end - c->start)) == NULL)
        if (!read_more(c, deadline))
            return NULL;
    size_t line_len = (size_t)(end - c->data) - c->start;
    assert_true(line_len > 0 && end[-1] == '\r');
    char *line = ash__strndup(c->data + c->start, line_len - 1);
    size_t payload = payload_size(line);
    while (c->end - c->start < line_len + 1 + payload)
        if (!read_more(c, deadline)) {
            ash__free(line);
            return NULL;
        }
    ash__free(c->said);
    c->said = payload > 0 ? ash__sprintf("%s|%.*s", line, (int)payload - 2,
                                         c->data + c->start + line_len + 1)
                          : ash__strdup(line);
    ash__free(line);
    c->start += line_len + 1 + payload;
    return c->said;
}

const char *client_hears(client *c)
{
    return client_hears_within(c, PATIENCE_MS);
}

bool client_is_over(client *c)
{
    int64_t deadline = ash__clock_ms() + PATIENCE_MS;
    while (read_more(c, deadline))
        c->start = c->end;
    return ash__clock_ms() < deadline;
}
