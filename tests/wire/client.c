/* SPDX-License-Identifier: Apache-2.0 */
#include "client.h"

#include "base/bytes.h"
#include "base/mem.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void fixture_start(fixture *x, const ash_server_options *opts)
{
    static const char *const listen[] = {"127.0.0.1:0"};
    ash_error err = ASH_ERROR_INIT;
    ash_server_options o = ASH_SERVER_OPTIONS_INIT;
    size_t count;
    if (opts != NULL)
        o = *opts;
    if (o.listen_count == 0) {
        o.listen = listen;
        o.listen_count = 1;
    }
    x->store = fake_store_new();
    assert_ok(ash__server_start(&x->store->base, &o, &x->server, &err), &err);
    const char *const *addresses = ash__server_addresses(x->server, &count);
    x->port = atoi(strrchr(addresses[0], ':') + 1);
}

void fixture_stop(fixture *x)
{
    ash__server_stop(x->server);
    fake_store_free(x->store);
}

int client_connect(const fixture *x)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)x->port)};
    struct timeval limit = {.tv_sec = 20};
    int fd = socket(AF_INET, SOCK_STREAM, 0), at_once = 1;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_true(fd >= 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once); /* as drivers do */
    assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    return fd;
}

void client_send(int fd, const void *data, size_t len)
{
    const uint8_t *at = data;
    while (len > 0) {
        ssize_t n = send(fd, at, len, MSG_NOSIGNAL);
        if (n <= 0)
            return;
        at += n;
        len -= (size_t)n;
    }
}

static bool receive_exactly(int fd, uint8_t *data, size_t len)
{
    while (len > 0) {
        ssize_t n = recv(fd, data, len, 0);
        if (n <= 0)
            return false;
        data += n;
        len -= (size_t)n;
    }
    return true;
}

bool client_receive(int fd, ash_buffer *out)
{
    uint8_t header[ASH_MESSAGE_HEADER_BYTES];
    ash__buffer_clear(out);
    if (!receive_exactly(fd, header, sizeof header))
        return false;
    size_t len = ash__get_le32(header);
    assert_true(len > sizeof header && len <= ASH_MESSAGE_MAX_BYTES);
    ash__buffer_append(out, header, sizeof header);
    ash__buffer_reserve(out, len);
    out->len = len;
    return receive_exactly(fd, out->data + sizeof header, len - sizeof header);
}

void message_start(ash_buffer *out, int32_t op_code)
{
    uint8_t header[ASH_MESSAGE_HEADER_BYTES];
    ash_message_header h = {.request_id = 7, .op_code = op_code};
    ash__message_header_write(header, &h);
    ash__buffer_clear(out);
    ash__buffer_append(out, header, sizeof header);
    ash__buffer_append(out, "\0\0\0\0", 4);
}

void message_body(ash_buffer *out, const bson_t *body)
{
    ash__buffer_append_byte(out, 0);
    ash__buffer_append(out, bson_get_data(body), body->len);
}

void message_sequence(ash_buffer *out, const char *name, const bson_t *const *docs, size_t count)
{
    uint8_t size[4];
    size_t len = 4 + strlen(name) + 1;
    for (size_t i = 0; i < count; i++)
        len += docs[i]->len;
    ash__put_le32(size, (uint32_t)len);
    ash__buffer_append_byte(out, 1);
    ash__buffer_append(out, size, 4);
    ash__buffer_append(out, name, strlen(name) + 1);
    for (size_t i = 0; i < count; i++)
        ash__buffer_append(out, bson_get_data(docs[i]), docs[i]->len);
}

void message_end(ash_buffer *out)
{
    ash__put_le32(out->data, (uint32_t)out->len);
}

bson_t *client_run(int fd, bson_t *command)
{
    ash_buffer b = ASH_BUFFER_INIT;
    if (!bson_has_field(command, "$db"))
        BSON_APPEND_UTF8(command, "$db", "test");
    message_start(&b, ASH_OP_MSG);
    message_body(&b, command);
    message_end(&b);
    client_send(fd, b.data, b.len);
    assert_true(client_receive(fd, &b));
    bson_t *reply = bson_new_from_data(b.data + 21, b.len - 21);
    assert_non_null(reply);
    bson_destroy(command);
    ash__buffer_release(&b);
    return reply;
}

static bool find_field(const bson_t *doc, const char *path, bson_iter_t *out)
{
    bson_iter_t it;
    return bson_iter_init(&it, doc) && bson_iter_find_descendant(&it, path, out);
}

int64_t field_number(const bson_t *doc, const char *path)
{
    bson_iter_t it;
    if (!find_field(doc, path, &it))
        return -999999;
    if (BSON_ITER_HOLDS_DOUBLE(&it))
        return (int64_t)bson_iter_double(&it);
    return bson_iter_as_int64(&it);
}

int64_t field_int64(const bson_t *doc, const char *path)
{
    bson_iter_t it;
    return find_field(doc, path, &it) ? bson_iter_as_int64(&it) : INT64_MIN;
}

const char *field_text(const bson_t *doc, const char *path)
{
    bson_iter_t it;
    return find_field(doc, path, &it) && BSON_ITER_HOLDS_UTF8(&it) ? bson_iter_utf8(&it, NULL) : "";
}
