/* SPDX-License-Identifier: Apache-2.0 */
/* The library's bucket interface, from and to streams. */
#include "layer.h"

#include <ashlar/ashlar.h>
#include <stdio.h>
#include <stdlib.h>

struct library {
    struct places places;
    ash_store *store;
    ash_bucket *bucket;
};

static void must(int result, const ash_error *err)
{
    if (result != 0)
        bench_die("library", err->text);
}

static void *library_open(const struct places *p)
{
    struct library *l = calloc(1, sizeof *l);
    ash_error err = ASH_ERROR_INIT;
    l->places = *p;
    must(ash_store_open(p->folder, NULL, &l->store, &err), &err);
    must(ash_bucket_new(l->store, NULL, &l->bucket, &err), &err);
    return l;
}

static int64_t read_file(void *ctx, void *buf, size_t len, ash_error *err)
{
    (void)err;
    return (int64_t)fread(buf, 1, len, ctx);
}

static void put_file(struct library *l, const char *path, const char *name)
{
    ash_error err = ASH_ERROR_INIT;
    FILE *f = fopen(path, "rb");
    bench_check(f != NULL, "open source");
    /* The library reads in large pieces itself. */
    setvbuf(f, NULL, _IONBF, 0);
    ash_input in = {f, read_file};
    must(ash_bucket_upload_from_stream(l->bucket, name, &in, NULL, NULL, &err), &err);
    fclose(f);
}

static void library_put(void *layer)
{
    struct library *l = layer;
    put_file(l, l->places.source, "source");
}

static int count_bytes(void *ctx, const void *data, size_t len, ash_error *err)
{
    (void)data, (void)err;
    *(uint64_t *)ctx += len;
    return 0;
}

static uint64_t library_get(void *layer)
{
    struct library *l = layer;
    uint64_t total = 0;
    ash_error err = ASH_ERROR_INIT;
    ash_output out = {&total, count_bytes};
    must(ash_bucket_download_to_stream_by_name(l->bucket, "source", &out, NULL, &err), &err);
    return total;
}

static void library_put_small(void *layer)
{
    struct library *l = layer;
    char path[4096], name[32];
    for (int i = 0; i < l->places.count; i++) {
        snprintf(name, sizeof name, "%d", i);
        snprintf(path, sizeof path, "%s/%d", l->places.small, i);
        put_file(l, path, name);
    }
}

static void library_close(void *layer)
{
    struct library *l = layer;
    ash_bucket_free(l->bucket);
    ash_store_close(l->store);
    free(l);
}

const bench_layer layer_library = {
    "library",    "durability file; reading counts pieces without copying them, checksums verified",
    library_open, library_put,
    library_get,  library_put_small,
    library_close};
