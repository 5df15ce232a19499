/* SPDX-License-Identifier: Apache-2.0 */
#include "scratch.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/thread.h"
#include "steps.h"

#include <getopt.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Many at once on one store: uploaders that replace files, downloaders, deleters and writers of
 * documents, for a while.  Every download is of one version, whole, whatever happens to its file
 * after it began.  Meant for builds with the thread sanitizer; true in all.
 *
 * usage: concurrent [--seconds N] [--seed N] */

enum {
    UPLOADERS = 16,
    DOWNLOADERS = 16,
    DELETERS = 2,
    WRITERS = 4,
    NAMES = 24,
    THREADS = UPLOADERS + DOWNLOADERS + DELETERS + WRITERS
};

typedef struct bustle {
    ash_store *store;
    ash_bucket *bucket;
    ash_collection *docs;
    uint64_t seed;
    atomic_bool stop;
    atomic_int uploads, downloads, interrupted, deletes, documents, failures;
} bustle;

typedef struct actor {
    bustle *b;
    rng random;
    int number;
    pthread_t thread;
} actor;

static void complain(bustle *b, const char *what, const ash_error *err)
{
    fprintf(stderr, "# %s: %d %s\n", what, err->code, err->text);
    atomic_fetch_add(&b->failures, 1);
    atomic_store(&b->stop, true);
}

static void some_name(actor *a, char out[16])
{
    snprintf(out, 16, "file%u", (unsigned)rng_below(&a->random, NAMES));
}

/* A file's first eight bytes tell what follows. */
static void fill(uint64_t seed, uint8_t *data, size_t len)
{
    model_fill(seed, data, len);
    memcpy(data, &seed, sizeof seed);
}

static void *upload(void *arg)
{
    actor *a = arg;
    enum { MOST = 700000 };
    uint8_t *data = ash__alloc(MOST);
    while (!atomic_load(&a->b->stop)) {
        ash_error err = ASH_ERROR_INIT;
        ash_upload *u = NULL;
        ash_upload_options opts = ASH_UPLOAD_OPTIONS_INIT;
        char name[16];
        size_t len = 8 + rng_below(&a->random, rng_below(&a->random, 4) == 0 ? MOST - 8 : 20000);
        opts.replace = true;
        some_name(a, name);
        fill(rng_next(&a->random), data, len);
        int result = ash_bucket_open_upload_stream(a->b->bucket, name, &opts, &u, &err);
        if (result == 0)
            result = ash_upload_write(u, data, len, &err);
        if (result == 0)
            result = ash_upload_finish(u, NULL, &err);
        ash_upload_free(u);
        if (result != 0)
            complain(a->b, "upload", &err);
        else
            atomic_fetch_add(&a->b->uploads, 1);
    }
    ash__free(data);
    return NULL;
}

/* Slowly, so that files change under it. */
static int read_slowly(actor *a, ash_download *d, uint8_t *got, size_t len, ash_error *err)
{
    size_t at = 0, piece = 1;
    int result = 0;
    while (result == 0 && piece > 0) {
        size_t most = len - at < 100000 ? len - at : 100000;
        result = ash_download_read(d, got + at, most > 0 ? most : 1, &piece, err);
        at += piece;
        if (rng_below(&a->random, 4) == 0)
            ash__clock_sleep_ms(rng_below(&a->random, 10));
    }
    if (result == 0 && at != len)
        result = ash__fail(err, ASH_ECONDITION, "%zu bytes instead of %zu", at, len);
    return result;
}

static int download_one(actor *a, ash_error *err)
{
    ash_download *d = NULL;
    char name[16];
    some_name(a, name);
    int result = ash_bucket_open_download_stream_by_name(a->b->bucket, name, NULL, &d, err);
    if (result != 0)
        return result;
    size_t len = (size_t)ash_file_length(ash_download_file(d));
    uint8_t *got = ash__alloc(len + 1), *want = ash__alloc(len + 1);
    result = read_slowly(a, d, got, len, err);
    if (result == 0) {
        uint64_t seed;
        memcpy(&seed, got, sizeof seed);
        fill(seed, want, len);
        if (memcmp(got, want, len) != 0)
            result = ash__fail(err, ASH_ECONDITION, "%s is a mixture", name);
    }
    ash_file *now = NULL;
    if (result == 0 && ash_bucket_get_file(a->b->bucket, ash_file_id(ash_download_file(d)), false,
                                           &now, NULL) == ASH_ENOTFOUND)
        atomic_fetch_add(&a->b->interrupted, 1);
    ash_file_free(now);
    ash_download_free(d);
    ash__free(got);
    ash__free(want);
    return result;
}

static void *download(void *arg)
{
    actor *a = arg;
    while (!atomic_load(&a->b->stop)) {
        ash_error err = ASH_ERROR_INIT;
        int result = download_one(a, &err);
        if (result == 0)
            atomic_fetch_add(&a->b->downloads, 1);
        else if (result != ASH_ENOTFOUND)
            complain(a->b, "download", &err);
    }
    return NULL;
}

static void *delete_some(void *arg)
{
    actor *a = arg;
    while (!atomic_load(&a->b->stop)) {
        ash_error err = ASH_ERROR_INIT;
        char name[16];
        some_name(a, name);
        int result = ash_bucket_delete_by_name(a->b->bucket, name, NULL, &err);
        if (result == 0)
            atomic_fetch_add(&a->b->deletes, 1);
        else if (result != ASH_ENOTFOUND)
            complain(a->b, "delete", &err);
        ash__clock_sleep_ms(rng_below(&a->random, 20));
    }
    return NULL;
}

static void *write_documents(void *arg)
{
    actor *a = arg;
    for (int64_t n = 0; !atomic_load(&a->b->stop); n++) {
        ash_error err = ASH_ERROR_INIT;
        bson_t filter = BSON_INITIALIZER, doc = BSON_INITIALIZER;
        BSON_APPEND_INT64(&doc, "_id", a->number * MODEL_IDS + n);
        BSON_APPEND_INT64(&doc, "n", (int64_t)rng_below(&a->random, 1000));
        BSON_APPEND_INT64(&filter, "_id", a->number * MODEL_IDS + n - 50);
        int result = ash_collection_insert_one(a->b->docs, &doc, NULL, &err);
        if (result == 0)
            result = ash_collection_remove(a->b->docs, &filter, NULL, NULL, &err);
        if (result != 0)
            complain(a->b, "documents", &err);
        else
            atomic_fetch_add(&a->b->documents, 1);
        bson_destroy(&filter);
        bson_destroy(&doc);
    }
    return NULL;
}

static void run(bustle *b, int seconds)
{
    static const struct {
        void *(*act)(void *arg);
        int count;
    } roles[] = {{upload, UPLOADERS},
                 {download, DOWNLOADERS},
                 {delete_some, DELETERS},
                 {write_documents, WRITERS}};
    actor actors[THREADS];
    int next = 0;
    for (size_t i = 0; i < ASH_ARRAY_LEN(roles); i++) {
        for (int k = 0; k < roles[i].count; k++, next++) {
            actors[next] =
                (actor){.b = b, .number = next, .random = rng_for(b->seed, (uint64_t)next)};
            REQUIRE(ash__thread_start(&actors[next].thread, 0, roles[i].act, &actors[next]) == 0);
        }
    }
    int64_t end = ash__clock_deadline(seconds * 1000);
    while (!atomic_load(&b->stop) && ash__clock_ms() < end)
        ash__clock_sleep_ms(50);
    atomic_store(&b->stop, true);
    for (int i = 0; i < next; i++)
        pthread_join(actors[i].thread, NULL);
}

static bool bustle_about(bustle *b, int seconds)
{
    ash_error err = ASH_ERROR_INIT;
    char *folder = scratch_new();
    char *path = ash__path_join(folder, "store");
    b->store = steps_open_store(path, false, &err);
    bool good = b->store != NULL && steps_prepare(b->store, &err) == 0 &&
                ash_bucket_new(b->store, NULL, &b->bucket, &err) == 0 &&
                ash_collection_new(b->store, NULL, "docs", &b->docs, &err) == 0;
    if (good)
        run(b, seconds);
    good = good && steps_check(b->store, &err) && atomic_load(&b->failures) == 0;
    if (!good)
        fprintf(stderr, "# %s\n", err.text);
    ash_collection_free(b->docs);
    ash_bucket_free(b->bucket);
    ash_store_close(b->store);
    remove_folder(folder);
    ash__free(path);
    ash__free(folder);
    return good;
}

int main(int argc, char **argv)
{
    static const struct option long_options[] = {{"seconds", required_argument, NULL, 't'},
                                                 {"seed", required_argument, NULL, 's'},
                                                 {NULL, 0, NULL, 0}};
    int seconds = 5;
    bustle b = {.seed = 1};
    for (int c; (c = getopt_long(argc, argv, "", long_options, NULL)) != -1;) {
        if (c == 't')
            seconds = atoi(optarg);
        else if (c == 's')
            b.seed = strtoull(optarg, NULL, 10);
        else
            return 2;
    }
    bool good = bustle_about(&b, seconds);
    printf("# seed %llu: %d uploads, %d downloads (%d of files gone by their end), %d deletes, %d "
           "documents\n",
           (unsigned long long)b.seed, b.uploads, b.downloads, b.interrupted, b.deletes,
           b.documents);
    good = good && b.uploads > 0 && b.interrupted > 0 && b.deletes > 0 && b.documents > 0;
    printf("%s 1 many threads do not disturb each other\n1..1\n", good ? "ok" : "not ok");
    return good ? 0 : 1;
}
