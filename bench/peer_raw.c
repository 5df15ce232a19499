/* SPDX-License-Identifier: Apache-2.0 */
/* One plain file each: written beside its place, fdatasync, rename, fsync of the folder. */
#include "peer.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct raw {
    int folder_fd;
};

static void *raw_open(const char *folder)
{
    struct raw *r = calloc(1, sizeof *r);
    r->folder_fd = open(folder, O_RDONLY | O_DIRECTORY);
    bench_check(r->folder_fd >= 0, "open folder");
    return r;
}

static void raw_put(void *store, uint64_t file, const uint8_t *data, size_t len, size_t chunk_bytes)
{
    (void)chunk_bytes;
    struct raw *r = store;
    char name[40], temp[48];
    snprintf(name, sizeof name, "f%" PRIu64, file);
    snprintf(temp, sizeof temp, "%s.new", name);
    int fd = openat(r->folder_fd, temp, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    bench_check(fd >= 0, "create");
    for (size_t at = 0; at < len;) {
        ssize_t put = write(fd, data + at, len - at);
        bench_check(put > 0, "write");
        at += (size_t)put;
    }
    bench_check(fdatasync(fd) == 0, "sync");
    close(fd);
    bench_check(renameat(r->folder_fd, temp, r->folder_fd, name) == 0, "rename");
    bench_check(fsync(r->folder_fd) == 0, "sync folder");
}

static void read_part(struct raw *r, uint64_t file, uint64_t offset, size_t most, bench_take take,
                      void *ctx)
{
    /* Many threads read, and none should pay for memory. */
    static _Thread_local uint8_t buf[BENCH_CHUNK_BYTES];
    char name[40];
    snprintf(name, sizeof name, "f%" PRIu64, file);
    int fd = openat(r->folder_fd, name, O_RDONLY);
    bench_check(fd >= 0, "open");
    while (most > 0) {
        ssize_t got = pread(fd, buf, most < sizeof buf ? most : sizeof buf, (off_t)offset);
        bench_check(got >= 0, "read");
        if (got == 0)
            break;
        take(ctx, buf, (size_t)got);
        offset += (uint64_t)got;
        most -= (size_t)got;
    }
    close(fd);
}

static void raw_get(void *store, uint64_t file, bench_take take, void *ctx)
{
    read_part(store, file, 0, SIZE_MAX / 2, take, ctx);
}

static void raw_get_range(void *store, uint64_t file, uint64_t offset, bench_take take, void *ctx)
{
    read_part(store, file, offset, 4096, take, ctx);
}

struct raw_file {
    int fd;
};

static void *raw_open_file(void *store, uint64_t file)
{
    struct raw *r = store;
    struct raw_file *f = calloc(1, sizeof *f);
    char name[40];
    snprintf(name, sizeof name, "f%" PRIu64, file);
    f->fd = openat(r->folder_fd, name, O_RDONLY);
    bench_check(f->fd >= 0, "open");
    return f;
}

static void raw_read_at(void *handle, uint64_t offset, bench_take take, void *ctx)
{
    static _Thread_local uint8_t buf[4096];
    struct raw_file *f = handle;
    ssize_t got = pread(f->fd, buf, sizeof buf, (off_t)offset);
    bench_check(got == sizeof buf, "read");
    take(ctx, buf, sizeof buf);
}

static void raw_close_file(void *handle)
{
    struct raw_file *f = handle;
    close(f->fd);
    free(f);
}

static void raw_remove(void *store, uint64_t file)
{
    struct raw *r = store;
    char name[40];
    snprintf(name, sizeof name, "f%" PRIu64, file);
    bench_check(unlinkat(r->folder_fd, name, 0) == 0, "unlink");
    bench_check(fsync(r->folder_fd) == 0, "sync folder");
}

static void raw_close(void *store)
{
    struct raw *r = store;
    close(r->folder_fd);
    free(r);
}

const bench_peer bench_raw = {
    "raw files",   "one file each, fdatasync, rename, fsync of the folder",
    raw_open,      raw_put,
    raw_get,       raw_get_range,
    raw_remove,    raw_close,
    raw_open_file, raw_read_at,
    raw_close_file};
