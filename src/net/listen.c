/* SPDX-License-Identifier: Apache-2.0 */
/* From texts to sockets that listen, by the rule of listen.h; and sockets in the file system, whose
 * name a process that was killed leaves behind. */
#include "net/listen.h"

#include "base/mem.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    BACKLOG = 256,
    PAIR_TRIES = 20 /* for a free port that both families of localhost have */
};

typedef union any_address {
    struct sockaddr_storage storage;
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_un un;
} any_address;

void ash__address_text(const struct sockaddr_storage *address, socklen_t len,
                       char out[ASH_ADDRESS_TEXT_BYTES])
{
    any_address a;
    char host[INET6_ADDRSTRLEN] = "";
    memset(&a, 0, sizeof a);
    /* Of a Unix socket the kernel gives no more than the path has. */
    memcpy(&a.storage, address, len < sizeof a ? len : sizeof a);
    out[0] = '\0';
    if (a.any.sa_family == AF_INET) {
        inet_ntop(AF_INET, &a.v4.sin_addr, host, sizeof host);
        snprintf(out, ASH_ADDRESS_TEXT_BYTES, "%s:%d", host, ntohs(a.v4.sin_port));
    } else if (a.any.sa_family == AF_INET6) {
        inet_ntop(AF_INET6, &a.v6.sin6_addr, host, sizeof host);
        snprintf(out, ASH_ADDRESS_TEXT_BYTES, "[%s]:%d", host, ntohs(a.v6.sin6_port));
    } else if (a.any.sa_family == AF_UNIX && len > offsetof(struct sockaddr_un, sun_path)) {
        snprintf(out, ASH_ADDRESS_TEXT_BYTES, "%.*s", (int)sizeof a.un.sun_path, a.un.sun_path);
    }
}

/* "host:port", "[host]:port", "host": splits text into host and port. */
static int split(const char *text, uint16_t default_port, char *host, size_t host_size,
                 uint16_t *port, ash_error *err)
{
    const char *start = text, *end, *port_text = NULL;
    if (text[0] == '[') {
        start = text + 1;
        end = strchr(start, ']');
        if (end != NULL && end[1] == ':')
            port_text = end + 2;
        else if (end != NULL && end[1] != '\0')
            end = NULL;
    } else {
        end = strchr(text, ':');
        /* An IPv6 address without brackets may end in a port or not: only ::1 is taken. */
        if (end != NULL && strchr(end + 1, ':') != NULL)
            end = NULL;
        if (end != NULL)
            port_text = end + 1;
        else if (strchr(text, ':') == NULL || strcmp(text, "::1") == 0)
            end = text + strlen(text);
    }
    if (end == NULL || end == start || (size_t)(end - start) >= host_size)
        return ash__fail(err, ASH_EINVAL, "cannot listen on %s: not host:port", text);
    memcpy(host, start, (size_t)(end - start));
    host[end - start] = '\0';
    *port = default_port;
    if (port_text != NULL) {
        char *rest;
        errno = 0;
        unsigned long n = strtoul(port_text, &rest, 10);
        if (errno != 0 || *rest != '\0' || port_text[0] < '0' || port_text[0] > '9' || n > 65535)
            return ash__fail(err, ASH_EINVAL, "cannot listen on %s: not a port number", text);
        *port = (uint16_t)n;
    }
    return 0;
}

static bool is_loopback(const any_address *a)
{
    if (a->any.sa_family == AF_INET)
        return ntohl(a->v4.sin_addr.s_addr) >> 24 == 127;
    return IN6_IS_ADDR_LOOPBACK(&a->v6.sin6_addr);
}

/* No resolver is asked: whether an address is loopback must not depend on what one says. */
static int to_address(const ash_listen_rule *rule, const char *host, uint16_t port,
                      any_address *out, ash_error *err)
{
    memset(out, 0, sizeof *out);
    if (inet_pton(AF_INET, host, &out->v4.sin_addr) == 1) {
        out->v4.sin_family = AF_INET;
        out->v4.sin_port = htons(port);
    } else if (inet_pton(AF_INET6, host, &out->v6.sin6_addr) == 1) {
        out->v6.sin6_family = AF_INET6;
        out->v6.sin6_port = htons(port);
    } else {
        return ash__fail(err, ASH_EINVAL,
                         "cannot listen on %s: neither an address nor \"localhost\"", host);
    }
    if (rule->loopback_only != NULL && !is_loopback(out))
        return ash__fail(err, ASH_EACCES,
                         "cannot listen on %s: %s, so only loopback addresses (127.0.0.1, ::1) are "
                         "allowed",
                         host, rule->loopback_only);
    return 0;
}

static int listen_error(int errno_value, const char *text, ash_error *err)
{
    if (errno_value == EADDRINUSE)
        return ash__fail(err, ASH_EEXISTS, "cannot listen on %s: the address is in use", text);
    if (errno_value == EACCES || errno_value == EPERM)
        return ash__fail(err, ASH_EACCES, "cannot listen on %s: permission denied", text);
    return ash__fail(err, ASH_ENETWORK, "cannot listen on %s: %s", text, strerror(errno_value));
}

/* A socket that listens (or only has the address, if l says so), or -1 and errno. */
static int listen_on(const ash_listeners *l, const any_address *a)
{
    socklen_t len = a->any.sa_family == AF_INET ? sizeof a->v4 : sizeof a->v6;
    int on = 1;
    int fd = socket(a->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    /* A server that has just stopped leaves connections in TIME_WAIT, which would keep the next one
     * from its address. */
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (a->any.sa_family == AF_INET6)
        /* Else it takes the port from the IPv4 socket beside it. */
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (bind(fd, &a->any, len) != 0 || (!l->only_bind && listen(fd, BACKLOG) != 0)) {
        int saved = errno;
        close(fd);
        errno = saved;
        return -1;
    }
    return fd;
}

static uint16_t keep(ash_listeners *l, int fd, bool is_unix, const char *path)
{
    any_address a;
    socklen_t len = sizeof a;
    char text[ASH_ADDRESS_TEXT_BYTES];
    ash_listener *item = &l->items[l->count++];
    item->fd = fd;
    item->is_unix = is_unix;
    if (is_unix) {
        struct stat st;
        item->address = ash__strdup(path);
        if (lstat(path, &st) == 0) {
            item->device = st.st_dev;
            item->inode = st.st_ino;
        }
        return 0;
    }
    memset(&a, 0, sizeof a);
    /* Port 0 has become a real one. */
    getsockname(fd, &a.any, &len);
    ash__address_text(&a.storage, len, text);
    item->address = ash__strdup(text);
    return ntohs(a.any.sa_family == AF_INET ? a.v4.sin_port : a.v6.sin6_port);
}

/* Both families on one port; a machine without IPv6 gets the first only. */
static int add_localhost(ash_listeners *l, uint16_t port, ash_error *err)
{
    for (int i = 0;; i++) {
        any_address v4, v6;
        int rc = to_address(&l->rule, "127.0.0.1", port, &v4, err);
        if (rc != 0)
            return rc;
        int fd = listen_on(l, &v4);
        if (fd < 0)
            return listen_error(errno, "127.0.0.1", err);
        uint16_t real_port = keep(l, fd, false, NULL);
        if ((rc = to_address(&l->rule, "::1", real_port, &v6, err)) != 0)
            return rc;
        fd = listen_on(l, &v6);
        if (fd >= 0) {
            keep(l, fd, false, NULL);
            return 0;
        }
        /* No IPv6 on this machine. */
        if (errno != EADDRINUSE)
            return 0;
        /* The free port that IPv4 got is somebody's in IPv6: give it back and try another. */
        if (port != 0 || i == PAIR_TRIES)
            return listen_error(EADDRINUSE, "[::1]", err);
        ash_listener *last = &l->items[--l->count];
        close(last->fd);
        ash__free(last->address);
    }
}

/* "fd:3" is 3; below that are the standard ones.  -1: it is none. */
static int given_number(const char *text)
{
    char *end;
    long n = strtol(text + 3, &end, 10);
    return text[3] >= '0' && text[3] <= '9' && *end == '\0' && n >= 3 && n <= 65535 ? (int)n : -1;
}

static int refuse_number(const char *text, ash_error *err)
{
    return ash__fail(err, ASH_EINVAL,
                     "cannot listen on %s: not the number of a socket that was given", text);
}

/* Of a socket that somebody else opened: may it be used? */
static int check_given(const ash_listen_rule *rule, const any_address *a, const char *text,
                       ash_error *err)
{
    struct stat st;
    if (rule->loopback_only == NULL)
        return 0;
    if (a->any.sa_family == AF_UNIX) {
        if (a->un.sun_path[0] != '\0' && stat(a->un.sun_path, &st) == 0 && (st.st_mode & 0077) == 0)
            return 0;
        return ash__fail(
            err, ASH_EACCES,
            "cannot listen on %s: %s, so the socket has to be its owner's alone (mode 0600)", text,
            rule->loopback_only);
    }
    if ((a->any.sa_family == AF_INET || a->any.sa_family == AF_INET6) && is_loopback(a))
        return 0;
    return ash__fail(
        err, ASH_EACCES,
        "cannot listen on %s: %s, so only loopback addresses (127.0.0.1, ::1) are allowed", text,
        rule->loopback_only);
}

/* "fd:3": whoever started this process listens there for it.  A copy is used, so that the socket
 * stays open for who is started next. */
static int add_given(ash_listeners *l, const char *text, ash_error *err)
{
    any_address a;
    socklen_t len = sizeof a, int_len = sizeof(int);
    int type = 0, listens = 0, n = given_number(text);
    if (n < 0)
        return refuse_number(text, err);
    memset(&a, 0, sizeof a);
    if (getsockopt(n, SOL_SOCKET, SO_TYPE, &type, &int_len) != 0 || type != SOCK_STREAM ||
        getsockopt(n, SOL_SOCKET, SO_ACCEPTCONN, &listens, &int_len) != 0 || !listens ||
        getsockname(n, &a.any, &len) != 0)
        return ash__fail(err, ASH_EINVAL, "cannot listen on %s: it is no socket that listens",
                         text);
    int rc = check_given(&l->rule, &a, text, err);
    if (rc != 0)
        return rc;
    int fd = fcntl(n, F_DUPFD_CLOEXEC, 3);
    if (fd < 0)
        return listen_error(errno, text, err);
    fcntl(n, F_SETFD, FD_CLOEXEC);
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    keep(l, fd, a.any.sa_family == AF_UNIX, a.un.sun_path);
    /* Its file is somebody else's, and stays. */
    l->items[l->count - 1].inode = 0;
    return 0;
}

int ash__listeners_add(ash_listeners *l, const char *text, ash_error *err)
{
    char host[64];
    uint16_t port = 0;
    any_address a;
    /* localhost takes two. */
    if (l->count + 2 > ASH_MAX_LISTENERS)
        return ash__fail(err, ASH_EINVAL, "cannot listen on %s: too many addresses", text);
    if (strncmp(text, "fd:", 3) == 0)
        return add_given(l, text, err);
    int rc = split(text, l->rule.port, host, sizeof host, &port, err);
    if (rc != 0)
        return rc;
    if (strcmp(host, "localhost") == 0)
        return add_localhost(l, port, err);
    if ((rc = to_address(&l->rule, host, port, &a, err)) != 0)
        return rc;
    int fd = listen_on(l, &a);
    if (fd < 0)
        return listen_error(errno, text, err);
    keep(l, fd, false, NULL);
    return 0;
}

int ash__listen_check(const ash_listen_rule *rule, const char *text, ash_error *err)
{
    char host[64];
    uint16_t port = 0;
    any_address a;
    if (strncmp(text, "fd:", 3) == 0)
        return given_number(text) < 0 ? refuse_number(text, err) : 0;
    int rc = split(text, rule->port, host, sizeof host, &port, err);
    if (rc != 0 || strcmp(host, "localhost") == 0)
        return rc;
    return to_address(rule, host, port, &a, err);
}

/* Does anybody listen on the socket file? */
static bool is_served(const any_address *a)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return false;
    /* EAGAIN: its backlog is full, so somebody has it open. */
    bool served = connect(fd, &a->any, sizeof a->un) == 0 || errno == EAGAIN;
    close(fd);
    return served;
}

int ash__listeners_add_unix(ash_listeners *l, const char *path, ash_error *err)
{
    any_address a;
    struct stat st;
    memset(&a, 0, sizeof a);
    a.un.sun_family = AF_UNIX;
    if (strlen(path) >= sizeof a.un.sun_path)
        return ash__fail(err, ASH_ETOOBIG, "cannot listen on %s: a socket's path ends at %zu bytes",
                         path, sizeof a.un.sun_path - 1);
    if (l->count == ASH_MAX_LISTENERS)
        return ash__fail(err, ASH_EINVAL, "cannot listen on %s: too many addresses", path);
    memcpy(a.un.sun_path, path, strlen(path));
    /* A link would be somebody else's file. */
    if (lstat(path, &st) == 0) {
        if (!S_ISSOCK(st.st_mode))
            return ash__fail(err, ASH_EEXISTS, "cannot listen on %s: it is not a socket", path);
        if (is_served(&a))
            return ash__fail(err, ASH_EBUSY, "cannot listen on %s: somebody serves there", path);
        /* Of a process that was killed. */
        unlink(path);
    }
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return listen_error(errno, path, err);
    /* Nobody can connect before listen(), so the mode is right from the first client on. */
    if (bind(fd, &a.any, sizeof a.un) != 0 || chmod(path, 0600) != 0 || listen(fd, BACKLOG) != 0) {
        int rc = listen_error(errno, path, err);
        close(fd);
        return rc;
    }
    keep(l, fd, true, path);
    return 0;
}

/* Another's may have come to stand under the name, when a folder above it was moved. */
static void remove_socket(const ash_listener *item)
{
    struct stat st;
    if (lstat(item->address, &st) == 0 && st.st_dev == item->device && st.st_ino == item->inode)
        unlink(item->address);
}

void ash__listeners_close(ash_listeners *l)
{
    for (size_t i = 0; i < l->count; i++) {
        close(l->items[i].fd);
        if (l->items[i].is_unix)
            remove_socket(&l->items[i]);
        ash__free(l->items[i].address);
    }
    l->count = 0;
}
