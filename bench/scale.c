/* SPDX-License-Identifier: Apache-2.0 */
/* How a store grows: small files, then many collections.  For each count: how long the store takes
 * to open, a file to be read by its id and by its name, and what it takes on the disk a file.
 *
 * usage: ashlar-bench-scale FOLDER FILES... [collections COUNT...]     counts ascending
 *
 * Prints figure,peer,value,unit; the peers are the counts. */
#include "peer.h"

#include <ashlar/ashlar.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES = 1024, FILLERS = 8, PROBES = 2000, OPENINGS = 5 };

static void must(int result, const ash_error *err)
{
    if (result != 0)
        bench_die("scale", err->text);
}

static ash_store *open_store(const char *folder)
{
    ash_store_options opts = ASH_STORE_OPTIONS_INIT;
    ash_error err = ASH_ERROR_INIT;
    ash_store *store = NULL;
    opts.durability = ASH_DURABILITY_INTERVAL; /* filling is not what is measured */
    must(ash_store_open(folder, &opts, &store, &err), &err);
    return store;
}

static bson_value_t make_id(uint64_t file)
{
    return (bson_value_t){.value_type = BSON_TYPE_INT64, .value.v_int64 = (int64_t)file};
}

static void make_name(char name[40], uint64_t file)
{
    snprintf(name, 40, "folder %" PRIu64 "/file %" PRIu64, file % 1000, file);
}

struct filler {
    pthread_t thread;
    ash_bucket *bucket;
    uint64_t from, to, step;
};

static void *fill(void *arg)
{
    struct filler *f = arg;
    ash_error err = ASH_ERROR_INIT;
    uint8_t data[FILE_BYTES];
    char name[40];
    for (uint64_t file = f->from; file < f->to; file += f->step) {
        ash_upload *upload = NULL;
        bson_value_t id = make_id(file);
        make_name(name, file);
        bench_fill(data, sizeof data, file);
        must(ash_bucket_open_upload_stream_with_id(f->bucket, &id, name, NULL, &upload, &err),
             &err);
        must(ash_upload_write(upload, data, sizeof data, &err), &err);
        must(ash_upload_finish(upload, NULL, &err), &err);
        ash_upload_free(upload);
    }
    return NULL;
}

static void fill_to(const char *folder, uint64_t from, uint64_t to)
{
    struct filler fillers[FILLERS];
    ash_error err = ASH_ERROR_INIT;
    ash_store *store = open_store(folder);
    ash_bucket *bucket = NULL;
    must(ash_bucket_new(store, NULL, &bucket, &err), &err);
    for (uint64_t i = 0; i < FILLERS; i++) {
        fillers[i] = (struct filler){.bucket = bucket, .from = from + i, .to = to, .step = FILLERS};
        bench_check(pthread_create(&fillers[i].thread, NULL, fill, &fillers[i]) == 0, "thread");
    }
    for (int i = 0; i < FILLERS; i++)
        pthread_join(fillers[i].thread, NULL);
    ash_bucket_free(bucket);
    ash_store_close(store);
}

static void measure_open(const char *folder, const char *figure, const char *peer)
{
    double took[OPENINGS];
    for (int i = 0; i < OPENINGS; i++) {
        double start = bench_now();
        ash_store *store = open_store(folder);
        took[i] = (bench_now() - start) * 1e3;
        ash_store_close(store);
    }
    bench_report(figure, peer, bench_percentile(took, OPENINGS, 0.5), "ms");
}

static void read_one(ash_bucket *bucket, uint64_t file, bool by_name)
{
    ash_error err = ASH_ERROR_INIT;
    ash_download *download = NULL;
    const uint8_t *data;
    size_t len;
    char name[40];
    bson_value_t id = make_id(file);
    uint8_t expected[FILE_BYTES];
    make_name(name, file);
    must(by_name ? ash_bucket_open_download_stream_by_name(bucket, name, NULL, &download, &err)
                 : ash_bucket_open_download_stream(bucket, &id, NULL, &download, &err),
         &err);
    must(ash_download_next(download, &data, &len, &err), &err);
    bench_fill(expected, sizeof expected, file);
    bench_check(len == FILE_BYTES && memcmp(data, expected, len) == 0, "read back");
    ash_download_free(download);
}

static void measure_gets(ash_bucket *bucket, uint64_t files, bool by_name, const char *peer)
{
    static double took[PROBES];
    /* xorshift, from its usual seed: the same files for every count. */
    uint64_t x = 88172645463325252u;
    for (int i = 0; i < PROBES; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        double start = bench_now();
        read_one(bucket, x % files, by_name);
        took[i] = (bench_now() - start) * 1e6;
    }
    bench_report(by_name ? "scale_get_name" : "scale_get_id", peer,
                 bench_percentile(took, PROBES, 0.5), "us");
}

static void measure_files(const char *folder, uint64_t from, uint64_t to)
{
    ash_error err = ASH_ERROR_INIT;
    ash_bucket *bucket = NULL;
    char peer[40];
    snprintf(peer, sizeof peer, "%" PRIu64 " files", to);
    double start = bench_now();
    fill_to(folder, from, to);
    bench_report("scale_put", peer, (bench_now() - start) * 1e6 / (double)(to - from), "us");
    measure_open(folder, "scale_open", peer);
    ash_store *store = open_store(folder);
    must(ash_bucket_new(store, NULL, &bucket, &err), &err);
    measure_gets(bucket, to, false, peer);
    measure_gets(bucket, to, true, peer);
    ash_bucket_free(bucket);
    ash_store_close(store);
    bench_report("scale_disk", peer, (double)bench_folder_bytes(folder) / (double)to, "bytes/file");
}

static void measure_collections(const char *folder, uint64_t from, uint64_t to)
{
    ash_error err = ASH_ERROR_INIT;
    ash_store *store = open_store(folder);
    char name[40];
    for (uint64_t i = from; i < to; i++) {
        ash_collection *c = NULL;
        bson_t doc = BSON_INITIALIZER;
        BSON_APPEND_INT64(&doc, "_id", (int64_t)i);
        snprintf(name, sizeof name, "collection %" PRIu64, i);
        must(ash_collection_new(store, "many", name, &c, &err), &err);
        must(ash_collection_insert_one(c, &doc, NULL, &err), &err);
        bson_destroy(&doc);
        ash_collection_free(c);
    }
    ash_store_close(store);
    snprintf(name, sizeof name, "%" PRIu64 " collections", to);
    measure_open(folder, "scale_open_collections", name);
}

int main(int argc, char **argv)
{
    void (*measure)(const char *, uint64_t, uint64_t) = measure_files;
    uint64_t done = 0;
    if (argc < 3) {
        fprintf(stderr, "usage: ashlar-bench-scale FOLDER FILES... [collections COUNT...]\n");
        return 2;
    }
    bench_empty_folder(argv[1]);
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "collections") == 0) {
            bench_empty_folder(argv[1]);
            measure = measure_collections;
            done = 0;
            continue;
        }
        uint64_t count = strtoull(argv[i], NULL, 10);
        bench_check(count > done, "counts ascend");
        measure(argv[1], done, count);
        done = count;
    }
    bench_empty_folder(argv[1]);
    return 0;
}
