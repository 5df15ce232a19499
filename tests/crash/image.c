/* SPDX-License-Identifier: Apache-2.0 */
#include "image.h"

#include "base/file.h"
#include "base/mem.h"
#include "scratch.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 4096 };

static void read_one(image *m, const char *folder, char *name)
{
    struct stat st;
    char *path = ash__path_join(folder, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    REQUIRE(fd >= 0 && fstat(fd, &st) == 0);
    image_file f = {.path = name, .len = (size_t)st.st_size};
    /* Shared, so that a process that forks does not copy the tables of its pages. */
    f.data = mmap(NULL, f.len + 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(f.data != MAP_FAILED && ash__file_read(fd, f.data, f.len, 0, NULL) == 0);
    m->files = ash__realloc_array(m->files, m->count + 1, sizeof *m->files);
    m->files[m->count++] = f;
    close(fd);
    ash__free(path);
}

/* What holds and counts who has the store open is made anew. */
static bool is_left_out(const char *name)
{
    size_t len = strlen(name);
    return name[0] == '.' || (len > 5 && (strcmp(name + len - 5, "-lock") == 0 ||
                                          strcmp(name + len - 5, ".lock") == 0));
}

static void read_folder(image *m, const char *folder, const char *below)
{
    char *path = below[0] == 0 ? ash__strdup(folder) : ash__path_join(folder, below);
    DIR *dir = opendir(path);
    REQUIRE(dir != NULL);
    for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
        struct stat st;
        char *name = below[0] == 0 ? ash__strdup(e->d_name) : ash__path_join(below, e->d_name);
        if (!is_left_out(e->d_name) && fstatat(dirfd(dir), e->d_name, &st, 0) == 0) {
            if (S_ISREG(st.st_mode)) {
                read_one(m, folder, name);
                continue;
            }
            REQUIRE(S_ISDIR(st.st_mode));
            read_folder(m, folder, name);
        }
        ash__free(name);
    }
    closedir(dir);
    ash__free(path);
}

void image_read(image *m, const char *folder)
{
    *m = (image){0};
    read_folder(m, folder, "");
}

void image_release(image *m)
{
    for (size_t i = 0; i < m->count; i++) {
        ash__free(m->files[i].path);
        munmap(m->files[i].data, m->files[i].len + 1);
    }
    ash__free(m->files);
}

static bool is_zero(const uint8_t *data, size_t len)
{
    return len == 0 || (data[0] == 0 && memcmp(data, data + 1, len - 1) == 0);
}

/* Zeros stay holes. */
static void write_one(const image_file *f, const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    REQUIRE(fd >= 0 && ftruncate(fd, (off_t)f->len) == 0);
    for (size_t at = 0, end; at < f->len; at = end) {
        size_t len = f->len - at < BLOCK ? f->len - at : BLOCK;
        end = at + len;
        if (is_zero(f->data + at, len))
            continue;
        while (end < f->len && !is_zero(f->data + end, f->len - end < BLOCK ? f->len - end : BLOCK))
            end += f->len - end < BLOCK ? f->len - end : BLOCK;
        REQUIRE(pwrite(fd, f->data + at, end - at, (off_t)at) == (ssize_t)(end - at));
    }
    close(fd);
}

static void flip(const char *path, uint64_t offset, uint8_t bits)
{
    uint8_t byte;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    REQUIRE(fd >= 0 && pread(fd, &byte, 1, (off_t)offset) == 1);
    byte ^= bits;
    REQUIRE(pwrite(fd, &byte, 1, (off_t)offset) == 1);
    close(fd);
}

void image_write(const image *m, const char *folder, uint64_t offset, uint8_t bits)
{
    remove_folder(folder);
    REQUIRE(mkdir(folder, 0700) == 0);
    for (size_t i = 0; i < m->count; i++) {
        char *path = ash__path_join(folder, m->files[i].path);
        char *slash = strrchr(m->files[i].path, '/');
        if (slash != NULL) {
            char *below = ash__path_join(folder, m->files[i].path);
            *strrchr(below, '/') = 0;
            mkdir(below, 0700);
            ash__free(below);
        }
        write_one(&m->files[i], path);
        if (strcmp(m->files[i].path, "meta.mdb") == 0)
            flip(path, offset, bits);
        ash__free(path);
    }
}
