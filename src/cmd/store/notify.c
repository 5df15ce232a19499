/* SPDX-License-Identifier: Apache-2.0 */
/* Written out, since it is a datagram and three variables: libsystemd would be a dependency for it. */
#include "cmd/store/notify.h"

#include "base/buffer.h"
#include "base/mem.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { MAX_GIVEN = 64 };

/* Is what it says for this process, and not for a parent that was started so? */
static bool is_ours(const char *pid_variable)
{
    const char *text = getenv(pid_variable);
    return text == NULL || strtol(text, NULL, 10) == (long)getpid();
}

/* "http" of "http", "ashlar-http.socket", "http.socket". */
static bool is_named(const char *given, size_t len, const char *name)
{
    static const char unit[] = ".socket";
    size_t name_len = strlen(name), unit_len = sizeof unit - 1;
    if (len > unit_len && strncmp(given + len - unit_len, unit, unit_len) == 0)
        len -= unit_len;
    if (len < name_len || strncmp(given + len - name_len, name, name_len) != 0)
        return false;
    return len == name_len || given[len - name_len - 1] == '-';
}

int ash__given_count(void)
{
    const char *count = getenv("LISTEN_FDS");
    if (count == NULL || getenv("LISTEN_PID") == NULL || !is_ours("LISTEN_PID"))
        return 0;
    long n = strtol(count, NULL, 10);
    return n < 0 ? 0 : n < MAX_GIVEN ? (int)n : MAX_GIVEN;
}

char *ash__given_sockets(const char *name)
{
    const char *names = getenv("LISTEN_FDNAMES");
    ash_buffer list = ASH_BUFFER_INIT;
    int n = names != NULL ? ash__given_count() : 0;
    for (int i = 0; i < n && *names != '\0'; i++) {
        size_t len = strcspn(names, ":");
        if (is_named(names, len, name))
            ash__buffer_printf(&list, "%sfd:%d", list.len > 0 ? "," : "", ASH_FIRST_GIVEN + i);
        names += len + (names[len] == ':');
    }
    if (list.len == 0)
        return NULL;
    ash__buffer_append_byte(&list, 0);
    return (char *)ash__buffer_detach(&list);
}

void ash__given_forget(void)
{
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
}

void ash__notify(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t len = path != NULL ? strlen(path) : 0;
    if (len < 2 || len >= sizeof to.sun_path || (path[0] != '/' && path[0] != '@'))
        return;
    memcpy(to.sun_path, path, len);
    if (path[0] == '@')
        to.sun_path[0] = '\0'; /* a name outside of all folders */
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    (void)!sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&to,
                  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
    close(fd);
}

void ash__notify_reloading(void)
{
    struct timespec now;
    char state[64];
    clock_gettime(CLOCK_MONOTONIC, &now);
    snprintf(state, sizeof state, "RELOADING=1\nMONOTONIC_USEC=%lld",
             (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000);
    ash__notify(state);
}

int64_t ash__notify_watchdog_ms(void)
{
    const char *text = getenv("WATCHDOG_USEC");
    long long us = text != NULL && is_ours("WATCHDOG_PID") ? strtoll(text, NULL, 10) : 0;
    /* Half of it, so that one that is late is not the end. */
    return us > 0 ? us / 2000 + 1 : 0;
}
