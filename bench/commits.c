/* SPDX-License-Identifier: Apache-2.0 */
/* P5: how long a small document's commit takes, on an idle store and while a bulk upload runs. */
#include "commits.h"

#include "peer.h"

#include <ashlar/ashlar.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { COMMITS = 2000 };

struct bulk {
    ash_store *store;
    const uint8_t *data;
    size_t len;
    atomic_bool stop;
    uint64_t bytes;
};

static void must(int result, const ash_error *err)
{
    if (result != 0)
        bench_die("commits", err->text);
}

static void *upload_on(void *arg)
{
    struct bulk *b = arg;
    ash_error err = ASH_ERROR_INIT;
    ash_bucket *bucket;
    must(ash_bucket_new(b->store, NULL, &bucket, &err), &err);
    while (!atomic_load(&b->stop)) {
        ash_upload *u;
        const bson_value_t *id;
        must(ash_bucket_open_upload_stream(bucket, "bulk", NULL, &u, &err), &err);
        must(ash_upload_write(u, b->data, b->len, &err), &err);
        must(ash_upload_finish(u, NULL, &err), &err);
        id = ash_upload_id(u);
        b->bytes += b->len;
        must(ash_bucket_delete(bucket, id, NULL, &err), &err);
        ash_upload_free(u);
    }
    ash_bucket_free(bucket);
    return NULL;
}

static void commit_documents(ash_store *store, double *latencies)
{
    ash_error err = ASH_ERROR_INIT;
    ash_collection *c;
    must(ash_collection_new(store, NULL, "documents", &c, &err), &err);
    for (int i = 0; i < COMMITS; i++) {
        bson_t *doc = BCON_NEW("name", BCON_UTF8("a small document"), "number", BCON_INT32(i));
        double start = bench_now();
        must(ash_collection_insert_one(c, doc, NULL, &err), &err);
        latencies[i] = (bench_now() - start) * 1e6;
        bson_destroy(doc);
    }
    ash_collection_free(c);
}

void bench_commits(const char *folder, const uint8_t *data, size_t len, struct commit_times *out)
{
    static double latencies[COMMITS];
    ash_error err = ASH_ERROR_INIT;
    struct bulk bulk = {.data = data, .len = len};
    pthread_t thread;
    bench_empty_folder(folder);
    must(ash_store_open(folder, NULL, &bulk.store, &err), &err);
    commit_documents(bulk.store, latencies);
    commit_documents(bulk.store, latencies);
    out->idle_p50 = bench_percentile(latencies, COMMITS, 0.5);
    out->idle_p99 = bench_percentile(latencies, COMMITS, 0.99);
    bench_check(pthread_create(&thread, NULL, upload_on, &bulk) == 0, "thread");
    double start = bench_now();
    commit_documents(bulk.store, latencies);
    double seconds = bench_now() - start;
    atomic_store(&bulk.stop, true);
    pthread_join(thread, NULL);
    out->busy_p50 = bench_percentile(latencies, COMMITS, 0.5);
    out->busy_p99 = bench_percentile(latencies, COMMITS, 0.99);
    out->bulk = (double)bulk.bytes / 1e6 / seconds;
    ash_store_close(bulk.store);
}
