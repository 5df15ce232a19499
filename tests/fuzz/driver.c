/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "base/mem.h"

#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

/* Runs a fuzz target without libFuzzer: every line of its corpus, then mutations of them.
 *
 * usage: fuzz-NAME CORPUS [--seconds N] [--seed N] [--write FOLDER] | --replay FILE
 *
 * The corpus is a text file: a line that starts with { is a document in extended JSON, any other is
 * bytes in hexadecimal; # begins a remark.  --write puts each line into a file of the folder, as
 * libFuzzer wants its corpus.  The input that is tried is kept in a file until the target has
 * survived it; --replay takes such a file. */

enum { MAX_BYTES = 65536, MAX_INPUTS = 512 };

typedef struct input {
    uint8_t *data;
    size_t size;
} input;

static input pool[MAX_INPUTS];
static uint32_t corpus_count, pool_count;
static uint8_t *shown; /* the input under trial, in a mapped file: 8 bytes of size, the bytes */

static void try_input(const uint8_t *data, size_t size)
{
    uint64_t len = size;
    memcpy(shown + 8, data, size);
    memcpy(shown, &len, 8);
    LLVMFuzzerTestOneInput(data, size);
}

static void keep(const uint8_t *data, size_t size)
{
    if (pool_count < MAX_INPUTS)
        pool[pool_count++] = (input){ash__memdup(data, size), size};
}

static int nibble(char c)
{
    const char *digits = "0123456789abcdef", *at = c == '\0' ? NULL : strchr(digits, c);
    return at == NULL ? -1 : (int)(at - digits);
}

static bool read_line(const char *line)
{
    uint8_t bytes[MAX_BYTES];
    size_t size = 0;
    if (line[0] == '{') {
        bson_error_t error;
        bson_t *b = bson_new_from_json((const uint8_t *)line, -1, &error);
        if (b == NULL) {
            printf("# %s: %s\n", error.message, line);
            return false;
        }
        keep(bson_get_data(b), b->len);
        bson_destroy(b);
        return true;
    }
    for (const char *p = line; *p != '\0'; p++) {
        if (*p == ' ')
            continue;
        if (nibble(p[0]) < 0 || nibble(p[1]) < 0 || size == sizeof bytes)
            return false;
        bytes[size++] = (uint8_t)(nibble(p[0]) << 4 | nibble(p[1]));
        p++;
    }
    keep(bytes, size);
    return true;
}

static bool read_corpus(const char *path)
{
    static char line[MAX_BYTES];
    FILE *f = fopen(path, "r");
    bool good = f != NULL;
    while (good && fgets(line, sizeof line, f) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] != '\0' && line[0] != '#')
            good = read_line(line);
    }
    if (f != NULL)
        fclose(f);
    corpus_count = pool_count;
    return good && corpus_count > 0;
}

static bool write_corpus(const char *folder)
{
    bool good = true;
    for (uint32_t i = 0; i < corpus_count && good; i++) {
        char *path = ash__sprintf("%s/line-%03u", folder, i);
        FILE *f = fopen(path, "wb");
        good = f != NULL && fwrite(pool[i].data, 1, pool[i].size, f) == pool[i].size;
        if (f != NULL)
            good = fclose(f) == 0 && good;
        ash__free(path);
    }
    return good;
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Mutations of mutations go deep: one in some is put in the place of another. */
static uint64_t mutate_for(int64_t seconds, uint64_t seed)
{
    rng r = rng_for(seed, 3);
    int64_t end = now_ms() + seconds * 1000;
    uint64_t count = 0;
    static uint8_t bytes[MAX_BYTES];
    for (; now_ms() < end; count++) {
        const input *from = &pool[rng_below(&r, pool_count)];
        size_t size = from->size;
        memcpy(bytes, from->data, size);
        for (uint32_t i = 1 + rng_below(&r, 3); i > 0; i--)
            size = LLVMFuzzerCustomMutator(bytes, size, sizeof bytes, (unsigned)rng_next(&r));
        try_input(bytes, size);
        if (rng_below(&r, 20) != 0 || size > 4096)
            continue;
        if (pool_count < MAX_INPUTS) {
            keep(bytes, size);
            continue;
        }
        input *old = &pool[corpus_count + rng_below(&r, pool_count - corpus_count)];
        ash__free(old->data);
        *old = (input){ash__memdup(bytes, size), size};
    }
    return count;
}

static bool open_shown(char *path, size_t path_bytes, const char *name)
{
    const char *folder = getenv("TMPDIR"), *slash = strrchr(name, '/');
    snprintf(path, path_bytes, "%s/%s-%ld.input", folder == NULL ? "/tmp" : folder,
             slash == NULL ? name : slash + 1, (long)getpid());
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, MAX_BYTES + 8) != 0)
        return false;
    shown = mmap(NULL, MAX_BYTES + 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return shown != MAP_FAILED;
}

static bool replay(const char *path)
{
    static uint8_t bytes[MAX_BYTES + 8];
    uint64_t size = 0;
    FILE *f = fopen(path, "rb");
    size_t len = f == NULL ? 0 : fread(bytes, 1, sizeof bytes, f);
    if (f != NULL)
        fclose(f);
    memcpy(&size, bytes, 8);
    if (len < 8 || size > len - 8)
        return false;
    uint8_t *exact = ash__memdup(bytes + 8, (size_t)size);
    LLVMFuzzerTestOneInput(exact, (size_t)size);
    ash__free(exact);
    return true;
}

static void run(int64_t seconds, uint64_t seed, const char *path)
{
    printf("# seed %llu; the input under trial is in %s\n", (unsigned long long)seed, path);
    fflush(stdout);
    for (uint32_t i = 0; i < corpus_count; i++)
        try_input(pool[i].data, pool[i].size);
    printf("ok 1 - corpus of %u\n", corpus_count);
    fflush(stdout);
    uint64_t count = mutate_for(seconds, seed);
    printf("# %llu mutations\nok 2 - mutations\n1..2\n", (unsigned long long)count);
}

int main(int argc, char **argv)
{
    static const struct option names[] = {{"seconds", required_argument, NULL, 't'},
                                          {"seed", required_argument, NULL, 's'},
                                          {"write", required_argument, NULL, 'w'},
                                          {"replay", required_argument, NULL, 'r'},
                                          {0}};
    int64_t seconds = 2;
    uint64_t seed = 0;
    const char *folder = NULL;
    char path[300];
    bool good = getrandom(&seed, 4, 0) == 4;
    for (int c; (c = getopt_long(argc, argv, "", names, NULL)) != -1;) {
        if (c == 't')
            seconds = strtoll(optarg, NULL, 10);
        else if (c == 's')
            seed = strtoull(optarg, NULL, 10);
        else if (c == 'w')
            folder = optarg;
        else if (c == 'r')
            return replay(optarg) ? 0 : 2;
        else
            return 2;
    }
    if (optind + 1 != argc || !read_corpus(argv[optind]) ||
        !open_shown(path, sizeof path, argv[0])) {
        fprintf(stderr,
                "usage: %s CORPUS [--seconds N] [--seed N] [--write FOLDER] | --replay FILE\n",
                argv[0]);
        return 2;
    }
    if (folder != NULL)
        good = write_corpus(folder);
    else
        run(seconds, seed, path);
    unlink(path);
    munmap(shown, MAX_BYTES + 8);
    for (uint32_t i = 0; i < pool_count; i++)
        ash__free(pool[i].data);
    return good ? 0 : 1;
}
