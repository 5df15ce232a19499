/* SPDX-License-Identifier: Apache-2.0 */
#include <ashlar/tree.h>

#include "crash/rng.h"

#include <getopt.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Writers that put, remove and put again the same few contents, beside collectors that take them
 * whatever their age; all of them processes.  A file that was put has its bytes until it is removed,
 * and in the end nothing is left.
 *
 * usage: contend --uri STORE [--rounds N | --seconds S] [--seed N]
 *
 * STORE is empty, and served.  The exit status is 1 when something was wrong. */

enum { WRITERS = 4, COLLECTORS = 2, FILES = 3, CONTENTS = 8, MOST_TRIES = 1000, REST_MS = 30 };

/* In a content's document, in chunks, in pieces; pairs differ in one byte. */
static const size_t lengths[CONTENTS] = {600, 600, 30000, 30000, 100000, 100001, 300000, 300000};

typedef struct options {
    const char *uri;
    uint64_t seed;
    int rounds;
    int64_t seconds;
} options;

/* All processes see it. */
typedef struct page {
    atomic_bool over;
    atomic_uint_least64_t puts, again, reads, removed, pruned, collections, collected;
} page;

typedef struct hand {
    page *page;
    ash_store *store;
    ash_tree *tree;
    rng r;
    int number;
    int has[FILES]; /* contents; -1: no file */
    ash_error err;
} hand;

static bool complain(hand *h, const char *what)
{
    printf("# %d: %s: %d %s\n", h->number, what, h->err.code, h->err.text);
    fflush(stdout);
    return false;
}

static bool open_tree(hand *h, const char *uri)
{
    ash_tree_options o = ASH_TREE_OPTIONS_INIT;
    o.piece_bytes = 256 * 1024;
    return (ash_store_open(uri, NULL, &h->store, &h->err) == 0 &&
            ash_tree_open(h->store, "/", &o, &h->tree, &h->err) == 0) ||
           complain(h, "cannot open");
}

static void close_tree(hand *h)
{
    ash_tree_close(h->tree);
    ash_store_close(h->store);
}

static uint8_t *bytes_of(int content)
{
    rng r = rng_for(77, (uint64_t)content / 2);
    size_t len = lengths[content];
    uint8_t *data = malloc(len);
    if (data == NULL)
        abort();
    for (size_t i = 0; i < len; i++)
        data[i] = (uint8_t)rng_next(&r);
    data[len / 2] = (uint8_t)content;
    return data;
}

static void path_of(const hand *h, int file, char out[32])
{
    snprintf(out, 32, "/w%d/f%d", h->number, file);
}

/* ---- writers ---- */

static int put_once(hand *h, const char *path, int content)
{
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    ash_tree_writer *w = NULL;
    uint8_t *data = bytes_of(content);
    o.make_folders = true;
    int rc = ash_tree_open_writer(h->tree, path, &o, NULL, &w, &h->err);
    if (rc == 0)
        rc = ash_tree_writer_write(w, data, lengths[content], &h->err);
    if (rc == 0)
        rc = ash_tree_writer_finish(w, NULL, NULL, &h->err);
    ash_tree_writer_free(w);
    free(data);
    return rc;
}

/* Only what is kept in pieces may have to be brought again, as those are named by nobody at first. */
static bool put(hand *h, int file, int content)
{
    char path[32];
    path_of(h, file, path);
    int rc = put_once(h, path, content);
    bool pieces = lengths[content] > 256 * 1024;
    for (int i = 0; i < MOST_TRIES && rc == ASH_ECONFLICT && pieces; i++) {
        atomic_fetch_add(&h->page->again, 1);
        rc = put_once(h, path, content);
    }
    if (rc != 0)
        return complain(h, path);
    h->has[file] = content;
    atomic_fetch_add(&h->page->puts, 1);
    return true;
}

static bool read_back(hand *h, int file)
{
    char path[32];
    ash_tree_reader *r = NULL;
    int content = h->has[file];
    size_t len = lengths[content], at = 0, n = 1;
    uint8_t *want = bytes_of(content), *got = malloc(len + 1);
    if (got == NULL)
        abort();
    path_of(h, file, path);
    int rc = ash_tree_open_reader(h->tree, path, NULL, NULL, &r, &h->err);
    while (rc == 0 && n > 0) {
        rc = ash_tree_reader_read(r, got + at, len + 1 - at, &n, &h->err);
        at += n;
    }
    bool same = rc == 0 && at == len && memcmp(got, want, len) == 0;
    ash_tree_reader_free(r);
    free(got);
    free(want);
    atomic_fetch_add(&h->page->reads, 1);
    return same || complain(h, "a file without its bytes");
}

static bool forget(hand *h)
{
    char top[32];
    ash_tree_prune_options o = ASH_TREE_PRUNE_OPTIONS_INIT;
    ash_tree_prune_report report = ASH_TREE_PRUNE_REPORT_INIT;
    ash_tree_keep keep = ASH_TREE_KEEP_INIT;
    o.keep = &keep;
    snprintf(top, sizeof top, "/w%d", h->number);
    int rc = ash_tree_prune(h->tree, top, &o, NULL, &report, &h->err);
    atomic_fetch_add(&h->page->pruned, (uint64_t)report.versions);
    return rc == 0 || complain(h, "prune");
}

static bool remove_file(hand *h, int file)
{
    char path[32];
    path_of(h, file, path);
    if (ash_tree_remove(h->tree, path, NULL, NULL, &h->err) != 0)
        return complain(h, path);
    h->has[file] = -1;
    atomic_fetch_add(&h->page->removed, 1);
    return true;
}

static bool one_round(hand *h)
{
    int file = (int)rng_below(&h->r, FILES);
    bool good = put(h, file, (int)rng_below(&h->r, CONTENTS));
    for (int i = 0; good && i < FILES; i++)
        good = h->has[i] < 0 || read_back(h, i);
    if (good && rng_below(&h->r, 2) == 0)
        good = remove_file(h, file);
    return good && (rng_below(&h->r, 2) == 0 || forget(h));
}

static int64_t now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec;
}

static bool write_all(hand *h, const options *o)
{
    int64_t until = now_s() + o->seconds;
    bool good = true;
    for (int i = 0; i < FILES; i++)
        h->has[i] = -1;
    for (int i = 0; good && (o->seconds > 0 ? now_s() < until : i < o->rounds); i++)
        good = one_round(h);
    for (int i = 0; good && i < FILES; i++)
        good = h->has[i] < 0 || remove_file(h, i);
    return good && forget(h);
}

/* ---- collectors ---- */

static bool collect(hand *h, int64_t *gone)
{
    ash_tree_collect_options o = ASH_TREE_COLLECT_OPTIONS_INIT;
    ash_tree_collect_report report = ASH_TREE_COLLECT_REPORT_INIT;
    o.min_age_s = -1;
    int rc = ash_tree_collect(h->tree, &o, NULL, &report, &h->err);
    *gone = report.contents;
    atomic_fetch_add(&h->page->collections, 1);
    atomic_fetch_add(&h->page->collected, (uint64_t)report.contents);
    return rc == 0 || complain(h, "collection");
}

static bool collect_until_over(hand *h)
{
    int64_t gone;
    bool good = true;
    while (good && !atomic_load(&h->page->over)) {
        struct timespec rest = {0, rng_below(&h->r, REST_MS) * 1000000L};
        good = collect(h, &gone);
        nanosleep(&rest, NULL); /* without any, no writer of pieces would come to its end */
    }
    return good;
}

/* ---- all of them ---- */

static _Noreturn void be_process(page *p, const options *o, int number)
{
    hand h = {.page = p, .r = rng_for(o->seed, (uint64_t)number), .number = number};
    bool good = open_tree(&h, o->uri);
    good = good && (number < WRITERS ? write_all(&h, o) : collect_until_over(&h));
    if (!good)
        atomic_store(&p->over, true);
    close_tree(&h);
    fflush(stdout);
    _exit(good ? 0 : 1);
}

static bool is_empty(hand *h, const char *name)
{
    ash_collection *c = NULL;
    bson_t all = BSON_INITIALIZER;
    int64_t n = -1;
    int rc = ash_collection_new(h->store, NULL, name, &c, &h->err);
    if (rc == 0)
        rc = ash_collection_count(c, &all, NULL, &n, &h->err);
    if (rc == 0 && n != 0)
        printf("# %lld documents are left in %s\n", (long long)n, name);
    ash_collection_free(c);
    bson_destroy(&all);
    return rc == 0 && n == 0;
}

/* Nobody works any more. */
static bool nothing_is_left(page *p, const options *o)
{
    hand h = {.page = p, .number = WRITERS + COLLECTORS};
    int64_t gone;
    bool good = open_tree(&h, o->uri) && collect(&h, &gone);
    good = good && is_empty(&h, "v7.fs.files") && is_empty(&h, "v7.fs.chunks") &&
           is_empty(&h, "v7files.vermongo");
    if (good && ash_tree_check(h.tree, NULL, NULL, NULL, &h.err) != 0)
        good = complain(&h, "check");
    close_tree(&h);
    return good;
}

static bool run(page *p, const options *o)
{
    pid_t children[WRITERS + COLLECTORS];
    bool good = true;
    fflush(stdout);
    for (int i = 0; i < WRITERS + COLLECTORS; i++)
        if ((children[i] = fork()) == 0)
            be_process(p, o, i);
    for (int i = 0; i < WRITERS + COLLECTORS; i++) {
        int status = 1;
        if (i == WRITERS)
            atomic_store(&p->over, true);
        good = waitpid(children[i], &status, 0) == children[i] && status == 0 && good;
    }
    return good && nothing_is_left(p, o);
}

static bool read_options(int argc, char **argv, options *o)
{
    static const struct option names[] = {{"seed", required_argument, NULL, 's'},
                                          {"seconds", required_argument, NULL, 't'},
                                          {"rounds", required_argument, NULL, 'r'},
                                          {"uri", required_argument, NULL, 'u'},
                                          {0}};
    for (int c; (c = getopt_long(argc, argv, "", names, NULL)) != -1;) {
        if (c == 's')
            o->seed = strtoull(optarg, NULL, 10);
        else if (c == 't')
            o->seconds = strtoll(optarg, NULL, 10);
        else if (c == 'r')
            o->rounds = atoi(optarg);
        else if (c == 'u')
            o->uri = optarg;
        else
            return false;
    }
    return optind == argc && o->uri != NULL;
}

int main(int argc, char **argv)
{
    options o = {.seed = (uint64_t)time(NULL), .rounds = 100};
    if (!read_options(argc, argv, &o)) {
        fprintf(stderr, "usage: %s --uri STORE [--rounds N | --seconds S] [--seed N]\n", argv[0]);
        return 2;
    }
    page *p = mmap(NULL, sizeof *p, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return 2;
    printf("# seed %llu\n", (unsigned long long)o.seed);
    bool good = run(p, &o);
    printf("# %llu puts, %llu of them once more, %llu files read, %llu removed, %llu versions "
           "forgotten; %llu collections took %llu contents\n",
           (unsigned long long)atomic_load(&p->puts), (unsigned long long)atomic_load(&p->again),
           (unsigned long long)atomic_load(&p->reads), (unsigned long long)atomic_load(&p->removed),
           (unsigned long long)atomic_load(&p->pruned),
           (unsigned long long)atomic_load(&p->collections),
           (unsigned long long)atomic_load(&p->collected));
    if (good && atomic_load(&p->collected) == 0) {
        printf("# collection found nothing to take\n");
        good = false;
    }
    return good ? 0 : 1;
}
