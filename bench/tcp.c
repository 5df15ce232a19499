/* SPDX-License-Identifier: Apache-2.0 */
/* What loopback itself can do: the same bytes from one process's memory into the other's. */
#include "layer.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PART = 256 * 1024 };

static void send_all(int fd, uint64_t bytes)
{
    char *part = calloc(1, PART);
    while (bytes > 0) {
        ssize_t sent = write(fd, part, bytes < PART ? (size_t)bytes : PART);
        bench_check(sent > 0, "send");
        bytes -= (uint64_t)sent;
    }
    free(part);
}

static void take_all(int fd, uint64_t bytes)
{
    char *part = malloc(PART);
    while (bytes > 0) {
        ssize_t got = read(fd, part, bytes < PART ? (size_t)bytes : PART);
        bench_check(got > 0, "receive");
        bytes -= (uint64_t)got;
    }
    free(part);
}

static int connection(struct sockaddr_in *address)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    bench_check(connect(fd, (const struct sockaddr *)address, sizeof *address) == 0, "connect");
    return fd;
}

double bench_tcp(uint64_t bytes, bool send)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    char done = 1;
    int status, listener = socket(AF_INET, SOCK_STREAM, 0);
    bench_check(bind(listener, (const struct sockaddr *)&address, len) == 0 &&
                    listen(listener, 1) == 0 &&
                    getsockname(listener, (struct sockaddr *)&address, &len) == 0,
                "listen");
    pid_t pid = fork();
    bench_check(pid >= 0, "fork");
    if (pid == 0) {
        int fd = connection(&address);
        /* Both are ready: connecting and forking are not measured. */
        bench_check(read(fd, &done, 1) == 1, "start");
        if (send)
            take_all(fd, bytes);
        else
            send_all(fd, bytes);
        bench_check(write(fd, &done, 1) == 1, "acknowledge");
        _exit(0);
    }
    int fd = accept(listener, NULL, NULL);
    double start = bench_now();
    bench_check(fd >= 0 && write(fd, &done, 1) == 1, "start");
    if (send)
        send_all(fd, bytes);
    else
        take_all(fd, bytes);
    bench_check(read(fd, &done, 1) == 1, "acknowledgement");
    double seconds = bench_now() - start;
    close(fd);
    close(listener);
    waitpid(pid, &status, 0);
    return seconds;
}
