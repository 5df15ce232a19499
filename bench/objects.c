/* SPDX-License-Identifier: Apache-2.0 */
/* Objects: one large, many small ones one after the other, and as many by 16 writers at once.  The same
 * work as main.go's in tests/clients/nats/bench and objects_nats.js's, in the same order; a line is
 * figure,peer,value,unit.  In a folder small ones are put once more, some to a commit; and beside them
 * stands what the disk can do.
 *
 * usage: ashlar-bench-objects PLACE PEER MIB SMALL */
#include "peer.h"

#include <ashlar/ashlar.h>
#include <ashlar/object.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SMALL_BYTES  4096
#define BUFFER_BYTES (1 << 20)
#define WRITERS      16
#define GROUP        100

struct bench {
    ash_object_store *store;
    const char *peer;
    uint8_t *data;
    size_t bytes, at;
    ash_error err;
};

static void check(const struct bench *b, int rc)
{
    if (rc == 0)
        return;
    fprintf(stderr, "%s\n", b->err.text);
    exit(1);
}

static void figure(const struct bench *b, const char *name, double value, const char *unit)
{
    printf("%s,%s,%.1f,%s\n", name, b->peer, value, unit);
    fflush(stdout);
}

static int64_t read_data(void *ctx, void *buf, size_t len, ash_error *err)
{
    struct bench *b = ctx;
    (void)err;
    size_t part = b->bytes - b->at < len ? b->bytes - b->at : len;
    memcpy(buf, b->data + b->at, part);
    b->at += part;
    return (int64_t)part;
}

static void measure_large(struct bench *b)
{
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    ash_object_reader *reader = NULL;
    ash_input in = {b, read_data};
    uint8_t *buffer = malloc(BUFFER_BYTES);
    size_t got = 0, total = 0;
    double from = bench_now();

    meta.name = "large";
    b->at = 0;
    check(b, ash_object_store_put(b->store, &meta, &in, NULL, NULL, NULL, &b->err));
    figure(b, "objects_put", (double)b->bytes / 1e6 / (bench_now() - from), "MB/s");
    from = bench_now();
    check(b, ash_object_store_open_reader(b->store, "large", NULL, NULL, &reader, &b->err));
    do {
        check(b, ash_object_reader_read(reader, buffer, BUFFER_BYTES, &got, &b->err));
        total += got;
    } while (got > 0);
    bench_check(total == b->bytes, "get");
    figure(b, "objects_get", (double)b->bytes / 1e6 / (bench_now() - from), "MB/s");
    ash_object_reader_free(reader);
    free(buffer);
}

static void put_small(const struct bench *b, const char *folder, int number, ash_error *err)
{
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    char name[48];
    snprintf(name, sizeof name, "%s/%d", folder, number);
    meta.name = name;
    bench_check(ash_object_store_put_bytes(b->store, &meta, b->data + number, SMALL_BYTES, NULL,
                                           NULL, NULL, err) == 0,
                err->text);
}

static void measure_small(struct bench *b, int count)
{
    char name[32];
    double from = bench_now();

    for (int i = 0; i < count; i++)
        put_small(b, "small", i, &b->err);
    figure(b, "objects_put_small", count / (bench_now() - from), "/s");
    from = bench_now();
    for (int i = 0; i < count; i++) {
        uint8_t *data = NULL;
        size_t len = 0;
        snprintf(name, sizeof name, "small/%d", i);
        check(b, ash_object_store_get_bytes(b->store, name, NULL, NULL, &data, &len, &b->err));
        bench_check(len == SMALL_BYTES, "get");
        ash_object_bytes_free(data);
    }
    figure(b, "objects_get_small", count / (bench_now() - from), "/s");
}

/* ---- in a folder alone ---- */

struct group {
    ash_object_writer *writers[GROUP];
    int count;
};

static void seal_one(const struct bench *b, int number, ash_object_writer **out, ash_error *err)
{
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    char name[48];
    snprintf(name, sizeof name, "grouped/%d", number);
    meta.name = name;
    check(b, ash_object_store_open_writer(b->store, &meta, NULL, NULL, out, err));
    check(b, ash_object_writer_write(*out, b->data + number, SMALL_BYTES, err));
    check(b, ash_object_writer_seal(*out, err));
}

static int finish_group(ash_transaction *t, void *ctx, ash_error *err)
{
    struct group *g = ctx;
    ash_op op = ASH_OP_INIT;
    int rc = 0;
    op.transaction = t;
    for (int i = 0; i < g->count && rc == 0; i++)
        rc = ash_object_writer_finish(g->writers[i], &op, NULL, err);
    return rc;
}

static void measure_groups(struct bench *b, ash_store *store, int count)
{
    struct group g = {.count = 0};
    double from = bench_now();
    for (int i = 0; i < count; i++) {
        seal_one(b, i, &g.writers[g.count++], &b->err);
        if (g.count < GROUP && i + 1 < count)
            continue;
        check(b, ash_store_transact(store, finish_group, &g, NULL, &b->err));
        while (g.count > 0)
            ash_object_writer_free(g.writers[--g.count]);
    }
    printf("objects_put_small,%d a commit,%.1f,/s\n", (int)GROUP, count / (bench_now() - from));
}

/* What the disk allows whoever has each object on it before the next. */
static void measure_syncs(const struct bench *b, const char *folder, int count)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/syncs", folder);
    int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    bench_check(fd >= 0, path);
    double from = bench_now();
    for (int i = 0; i < count; i++)
        bench_check(write(fd, b->data + i, SMALL_BYTES) == SMALL_BYTES && fdatasync(fd) == 0, path);
    printf("objects_put_small,write and sync,%.1f,/s\n", count / (bench_now() - from));
    close(fd);
    unlink(path);
}

/* ---- many at once ---- */

struct writer {
    const struct bench *bench;
    pthread_t thread;
    int from, end;
};

static void *write_some(void *arg)
{
    struct writer *w = arg;
    ash_error err = ASH_ERROR_INIT;
    for (int i = w->from; i < w->end; i++)
        put_small(w->bench, "many", i, &err);
    return NULL;
}

static void measure_many(const struct bench *b, int count)
{
    struct writer writers[WRITERS];
    double from = bench_now();

    for (int i = 0; i < WRITERS; i++) {
        writers[i].bench = b;
        writers[i].from = (int)((int64_t)count * i / WRITERS);
        writers[i].end = (int)((int64_t)count * (i + 1) / WRITERS);
        bench_check(pthread_create(&writers[i].thread, NULL, write_some, &writers[i]) == 0,
                    "start a thread");
    }
    for (int i = 0; i < WRITERS; i++)
        pthread_join(writers[i].thread, NULL);
    figure(b, "objects_put_small_16", count / (bench_now() - from), "/s");
}

int main(int argc, char **argv)
{
    struct bench b = {.err = ASH_ERROR_INIT};
    ash_object_manager *manager = NULL;
    ash_store *store = NULL;
    ash_object_config config = ASH_OBJECT_CONFIG_INIT;
    if (argc != 5) {
        fprintf(stderr, "usage: ashlar-bench-objects PLACE PEER MIB SMALL\n");
        return 2;
    }
    b.peer = argv[2];
    b.bytes = (size_t)atoi(argv[3]) << 20;
    b.data = malloc(b.bytes);
    bench_fill(b.data, b.bytes, 1);
    config.name = "bench";
    bool in_folder = strstr(argv[1], "://") == NULL;
    if (in_folder) {
        check(&b, ash_store_open(argv[1], NULL, &store, &b.err));
        check(&b, ash_object_manager_new(store, NULL, &manager, &b.err));
    } else {
        check(&b, ash_object_manager_open(argv[1], NULL, &manager, &b.err));
    }
    check(&b, ash_object_manager_create(manager, &config, NULL, &b.store, &b.err));
    measure_large(&b);
    measure_small(&b, atoi(argv[4]));
    measure_many(&b, atoi(argv[4]));
    if (in_folder) {
        measure_groups(&b, store, atoi(argv[4]));
        measure_syncs(&b, argv[1], atoi(argv[4]));
    }
    ash_object_store_close(b.store);
    check(&b, ash_object_manager_delete(manager, "bench", NULL, &b.err));
    ash_object_manager_close(manager);
    ash_store_close(store);
    free(b.data);
    return 0;
}
