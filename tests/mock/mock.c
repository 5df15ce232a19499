/* SPDX-License-Identifier: Apache-2.0 */
#include "mock/mock.h"

#include "base/bytes.h"
#include "check.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define OP_REPLY          1
#define OP_QUERY          2004
#define OP_MSG            2013
#define HEADER_BYTES      16
#define MAX_MESSAGE_BYTES (64u * 1024 * 1024)
#define MAX_CONNECTIONS   64

struct step {
    bson_t *command;
    bson_t *reply; /* NULL: hang up, after silence_ms */
    int64_t silence_ms;
    bool torn;
    struct step *next;
};

struct mock {
    enum mock_kind kind;
    int listener;
    int port;
    pthread_t thread;
    pthread_mutex_t lock; /* guards what follows */
    bool stopping;
    struct step *steps;
    int fds[MAX_CONNECTIONS];
    pthread_t threads[MAX_CONNECTIONS];
    int connections;
    size_t last_bytes;
    char complaint[1024];
};

struct connection {
    mock *m;
    int fd;
};

static bool read_all(int fd, void *to, size_t len)
{
    for (size_t got = 0; got < len;) {
        ssize_t n = recv(fd, (char *)to + got, len - got, 0);
        if (n <= 0)
            return false;
        got += (size_t)n;
    }
    return true;
}

static bool write_all(int fd, const void *from, size_t len)
{
    for (size_t put = 0; put < len;) {
        ssize_t n = send(fd, (const char *)from + put, len - put, MSG_NOSIGNAL);
        if (n <= 0)
            return false;
        put += (size_t)n;
    }
    return true;
}

static bool send_reply(int fd, uint32_t request, uint32_t opcode, const bson_t *reply, bool torn)
{
    uint8_t head[36] = {0};
    size_t head_len = opcode == OP_MSG ? HEADER_BYTES + 5 : 36;
    ash__put_le32(head, (uint32_t)(head_len + reply->len));
    ash__put_le32(head + 8, request);
    ash__put_le32(head + 12, opcode == OP_MSG ? OP_MSG : OP_REPLY);
    if (opcode != OP_MSG)
        ash__put_le32(head + 32, 1); /* one document */
    return write_all(fd, head, head_len) &&
           write_all(fd, bson_get_data(reply), torn ? reply->len / 2 : reply->len) && !torn;
}

static bson_t *hello_reply(const mock *m)
{
    bson_t *reply =
        BCON_NEW("ok", BCON_DOUBLE(1), "isWritablePrimary", BCON_BOOL(true), "ismaster",
                 BCON_BOOL(true), "maxBsonObjectSize", BCON_INT32(16777216), "maxMessageSizeBytes",
                 BCON_INT32(48000000), "maxWriteBatchSize", BCON_INT32(100000), "minWireVersion",
                 BCON_INT32(0), "maxWireVersion", BCON_INT32(17), "logicalSessionTimeoutMinutes",
                 BCON_INT32(30), "localTime", BCON_DATE_TIME(1700000000123));
    if (m->kind != MOCK_STANDALONE) {
        char me[64];
        snprintf(me, sizeof me, "127.0.0.1:%d", m->port);
        BCON_APPEND(reply, "setName", "rs", "setVersion", BCON_INT32(1), "secondary",
                    BCON_BOOL(false), "me", me, "primary", me, "hosts", "[", me, "]");
    }
    return reply;
}

static void complain(mock *m, const bson_t *command, const char *why)
{
    char *json = bson_as_relaxed_extended_json(command, NULL);
    if (m->complaint[0] == '\0')
        snprintf(m->complaint, sizeof m->complaint, "%s: %.700s", why, json);
    bson_free(json);
}

/* The next step if the command is it; else NULL, with a complaint. */
static struct step *take_step(mock *m, const bson_t *command)
{
    char why[256] = "";
    struct step *step = m->steps;
    if (step == NULL) {
        complain(m, command, "after the end of the script");
        return NULL;
    }
    if (!mock_fits(step->command, command, why, sizeof why)) {
        complain(m, command, why);
        return NULL;
    }
    m->steps = step->next;
    return step;
}

static void free_step(struct step *step)
{
    bson_destroy(step->command);
    bson_destroy(step->reply);
    free(step);
}

static bool is_named(const bson_t *command, const char *name)
{
    bson_iter_t it;
    return bson_iter_init(&it, command) && bson_iter_next(&it) &&
           strcasecmp(bson_iter_key(&it), name) == 0;
}

static bool is_next(const mock *m, const char *name)
{
    return m->steps != NULL && is_named(m->steps->command, name);
}

/* NULL: the script decides. */
static bson_t *own_reply(const mock *m, const bson_t *command)
{
    if (is_named(command, "isMaster") || (is_named(command, "hello") && !is_next(m, "hello")))
        return hello_reply(m);
    if (is_named(command, "endSessions") ||
        (is_named(command, "killCursors") && !is_next(m, "killCursors")))
        return BCON_NEW("ok", BCON_DOUBLE(1));
    if (is_named(command, "buildInfo") && !is_next(m, "buildInfo"))
        return BCON_NEW("ok", BCON_DOUBLE(1), "version", "7.0.0",
                        m->kind == MOCK_ASHLAR ? "ashlarVersion" : "gitVersion", "0");
    return NULL;
}

/* The length stands before the string. */
static void break_strings(bson_t *reply)
{
    static const char mark[] = "$break";
    uint8_t *data = (uint8_t *)(uintptr_t)bson_get_data(reply);
    for (size_t i = 4; i + sizeof mark < reply->len; i++) {
        if (memcmp(data + i, mark, sizeof mark) == 0)
            ash__put_le32(data + i - 4, 1000000);
    }
}

static bool answer(mock *m, int fd, uint32_t request, uint32_t opcode, const bson_t *command)
{
    bson_t *reply;
    struct step *step = NULL;
    bool go_on;

    pthread_mutex_lock(&m->lock);
    reply = own_reply(m, command);
    if (reply == NULL)
        step = take_step(m, command);
    if (step == NULL && reply == NULL)
        reply = BCON_NEW("ok", BCON_DOUBLE(0), "code", BCON_INT32(8), "errmsg", m->complaint);
    pthread_mutex_unlock(&m->lock);
    if (step != NULL && step->reply == NULL) {
        struct timespec wait = {step->silence_ms / 1000, (step->silence_ms % 1000) * 1000000};
        nanosleep(&wait, NULL);
        free_step(step);
        return false;
    }
    if (step != NULL)
        reply = bson_copy(step->reply);
    break_strings(reply);
    go_on = send_reply(fd, request, opcode, reply, step != NULL && step->torn);
    bson_destroy(reply);
    if (step != NULL)
        free_step(step);
    return go_on;
}

/* One kind-1 section becomes an array field of the command. */
static size_t add_sequence(bson_t *command, const uint8_t *at, size_t left)
{
    uint32_t size = ash__get_le32(at), used, index = 0;
    const char *name = (const char *)at + 4;
    bson_t array;
    assert_true(size <= left);
    used = 4 + (uint32_t)strlen(name) + 1;
    bson_append_array_begin(command, name, -1, &array);
    while (used < size) {
        bson_t doc;
        char key[12];
        assert_true(bson_init_static(&doc, at + used, ash__get_le32(at + used)));
        snprintf(key, sizeof key, "%u", index++);
        bson_append_document(&array, key, -1, &doc);
        used += doc.len;
    }
    bson_append_array_end(command, &array);
    return size;
}

static bson_t *read_msg(mock *m, const uint8_t *body, size_t len)
{
    bson_t view, *command = NULL;
    size_t extra = 0;
    size_t at = 4; /* flags */
    while (at < len) {
        uint8_t kind = body[at++];
        if (kind == 0) {
            assert_true(bson_init_static(&view, body + at, ash__get_le32(body + at)));
            at += view.len;
            command = bson_copy(&view);
        } else {
            size_t size = add_sequence(command, body + at, len - at);
            at += size;
            extra += size;
        }
    }
    pthread_mutex_lock(&m->lock);
    m->last_bytes = extra;
    pthread_mutex_unlock(&m->lock);
    return command;
}

static bson_t *read_query(const uint8_t *body, size_t len)
{
    size_t at = 4 + strlen((const char *)body + 4) + 1 + 8;
    bson_t view;
    assert_true(at + 5 <= len);
    assert_true(bson_init_static(&view, body + at, ash__get_le32(body + at)));
    return bson_copy(&view);
}

static bool serve_message(mock *m, int fd)
{
    uint8_t head[HEADER_BYTES], *body;
    uint32_t len, opcode;
    bson_t *command;
    bool go_on;

    if (!read_all(fd, head, sizeof head))
        return false;
    len = ash__get_le32(head);
    opcode = ash__get_le32(head + 12);
    if (len < HEADER_BYTES + 9 || len > MAX_MESSAGE_BYTES)
        return false;
    body = malloc(len - HEADER_BYTES);
    if (!read_all(fd, body, len - HEADER_BYTES)) {
        free(body);
        return false;
    }
    command = opcode == OP_QUERY ? read_query(body, len - HEADER_BYTES)
                                 : read_msg(m, body, len - HEADER_BYTES);
    go_on = answer(m, fd, ash__get_le32(head + 4), opcode, command);
    bson_destroy(command);
    free(body);
    return go_on;
}

static void *serve_connection(void *arg)
{
    struct connection c = *(struct connection *)arg;
    free(arg);
    while (serve_message(c.m, c.fd)) {
    }
    shutdown(c.fd, SHUT_RDWR); /* closed when the mock stops, so that its number stays taken */
    return NULL;
}

static void *accept_connections(void *arg)
{
    mock *m = arg;
    for (;;) {
        struct connection *c;
        int fd = accept(m->listener, NULL, NULL);
        pthread_mutex_lock(&m->lock);
        if (fd == -1 || m->stopping || m->connections == MAX_CONNECTIONS) {
            pthread_mutex_unlock(&m->lock);
            if (fd != -1)
                close(fd);
            return NULL;
        }
        c = malloc(sizeof *c);
        *c = (struct connection){m, fd};
        m->fds[m->connections] = fd;
        pthread_create(&m->threads[m->connections++], NULL, serve_connection, c);
        pthread_mutex_unlock(&m->lock);
    }
}

static int listen_unix(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

static int listen_loopback(int *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    *port = ntohs(address.sin_port);
    return fd;
}

mock *mock_start(enum mock_kind kind, const char *path)
{
    mock *m = calloc(1, sizeof *m);
    m->kind = kind;
    pthread_mutex_init(&m->lock, NULL);
    m->listener = path != NULL ? listen_unix(path) : listen_loopback(&m->port);
    assert_int_equal(listen(m->listener, 16), 0);
    assert_int_equal(pthread_create(&m->thread, NULL, accept_connections, m), 0);
    return m;
}

char *mock_uri(const mock *m, const char *options)
{
    return bson_strdup_printf("mongodb://127.0.0.1:%d/?%s", m->port, options);
}

static void add_step(mock *m, const char *command, const char *reply, int64_t silence_ms, bool torn)
{
    struct step *step = calloc(1, sizeof *step), **end;
    step->command = mock_json(command);
    step->reply = reply != NULL ? mock_json(reply) : NULL;
    step->silence_ms = silence_ms;
    step->torn = torn;
    pthread_mutex_lock(&m->lock);
    for (end = &m->steps; *end != NULL; end = &(*end)->next) {
    }
    *end = step;
    pthread_mutex_unlock(&m->lock);
}

void mock_expect(mock *m, const char *command, const char *reply)
{
    add_step(m, command, reply, 0, false);
}

void mock_expect_cut(mock *m, const char *command)
{
    add_step(m, command, NULL, 0, false);
}

void mock_expect_torn(mock *m, const char *command, const char *reply)
{
    add_step(m, command, reply, 0, true);
}

void mock_expect_silence(mock *m, const char *command, int64_t ms)
{
    add_step(m, command, NULL, ms, false);
}

size_t mock_last_bytes(mock *m)
{
    size_t bytes;
    pthread_mutex_lock(&m->lock);
    bytes = m->last_bytes;
    pthread_mutex_unlock(&m->lock);
    return bytes;
}

static void stop_threads(mock *m)
{
    pthread_mutex_lock(&m->lock);
    m->stopping = true;
    for (int i = 0; i < m->connections; i++)
        shutdown(m->fds[i], SHUT_RDWR);
    pthread_mutex_unlock(&m->lock);
    shutdown(m->listener, SHUT_RDWR);
    pthread_join(m->thread, NULL);
    close(m->listener);
    for (int i = 0; i < m->connections; i++) {
        pthread_join(m->threads[i], NULL);
        close(m->fds[i]);
    }
}

void mock_finish(mock *m)
{
    char text[1600] = "";
    stop_threads(m);
    if (m->complaint[0] != '\0')
        snprintf(text, sizeof text, "unexpected command, %s", m->complaint);
    else if (m->steps != NULL)
        snprintf(text, sizeof text, "a command of the script did not come");
    while (m->steps != NULL) {
        struct step *next = m->steps->next;
        free_step(m->steps);
        m->steps = next;
    }
    pthread_mutex_destroy(&m->lock);
    free(m);
    if (text[0] != '\0')
        fail_msg("%s", text);
}
