/* SPDX-License-Identifier: Apache-2.0 */
#include "served.h"

#include "check.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "store/reach.h"

#include <arpa/inet.h>
#include <bson/bson.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* A driver's client has connections of its own that come and go; this one is a single socket. */

enum { HEADER_BYTES = 16, BODY_AT = 21, OP_MSG = 2013, ANSWER_MAX = 65536, LIMIT_MS = 120000 };

static int connect_to(const char *store)
{
    struct sockaddr_un in_folder = {.sun_family = AF_UNIX};
    struct sockaddr_in by_address = {.sin_family = AF_INET};
    char host[16];
    unsigned port;
    bool is_address = sscanf(store, "mongodb://%15[0-9.]:%u", host, &port) == 2;
    int fd = socket(is_address ? AF_INET : AF_UNIX, SOCK_STREAM, 0);
    int rc;
    assert_true(fd >= 0);
    if (is_address) {
        by_address.sin_port = htons((uint16_t)port);
        assert_int_equal(inet_pton(AF_INET, host, &by_address.sin_addr), 1);
        rc = connect(fd, (struct sockaddr *)&by_address, sizeof by_address);
    } else {
        snprintf(in_folder.sun_path, sizeof in_folder.sun_path, "%s/%s", store, ASH_REACH_SOCKET);
        rc = connect(fd, (struct sockaddr *)&in_folder, sizeof in_folder);
    }
    assert_int_equal(rc, 0);
    return fd;
}

static void send_command(int fd, const bson_t *command)
{
    uint8_t start[BODY_AT] = {0};
    ash__put_le32(start, BODY_AT + command->len);
    ash__put_le32(start + 12, OP_MSG);
    assert_int_equal(send(fd, start, sizeof start, MSG_NOSIGNAL | MSG_MORE), sizeof start);
    assert_int_equal(send(fd, bson_get_data(command), command->len, MSG_NOSIGNAL), command->len);
}

static void receive(int fd, uint8_t *data, size_t len)
{
    assert_int_equal(recv(fd, data, len, MSG_WAITALL), len);
}

static int32_t count_clients(int fd)
{
    static uint8_t answer[ANSWER_MAX];
    bson_t *command = BCON_NEW("serverStatus", BCON_INT32(1), "$db", "admin");
    bson_t reply;
    bson_iter_t it, current;
    send_command(fd, command);
    bson_destroy(command);
    receive(fd, answer, HEADER_BYTES);
    size_t len = ash__get_le32(answer);
    assert_in_range(len, BODY_AT, sizeof answer);
    receive(fd, answer + HEADER_BYTES, len - HEADER_BYTES);
    assert_true(bson_init_static(&reply, answer + BODY_AT, len - BODY_AT));
    assert_true(bson_iter_init(&it, &reply));
    assert_true(bson_iter_find_descendant(&it, "connections.current", &current));
    return bson_iter_int32(&current);
}

void served_await_rest(void)
{
    const char *store = getenv("ASH_BUCKET_STORE");
    if (store == NULL)
        return;
    int fd = connect_to(store);
    for (int64_t until = ash__clock_ms() + LIMIT_MS; count_clients(fd) > 1;) {
        if (ash__clock_ms() > until)
            fail_msg("the server still has other clients");
        ash__clock_sleep_ms(5);
    }
    close(fd);
}
