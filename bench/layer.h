/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BENCH_LAYER_H
#define ASH_BENCH_LAYER_H

/* One way in: the same files put and read back through the library, the command, a driver, and as
 * plain files.  The source lies on the disk (and in the page cache). */

#include "peer.h"

struct places {
    const char *folder; /* empty; the layer's own */
    const char *source; /* a file of `bytes` */
    const char *small;  /* a folder of `count` files of 4 KiB, named 0, 1, 2 … */
    uint64_t bytes;
    int count;
    const char *command; /* ashlar */
};

typedef struct bench_layer {
    const char *name;
    const char *setting;
    void *(*open)(const struct places *p);
    void (*put)(void *layer);       /* the source; durable when it returns */
    uint64_t (*get)(void *layer);   /* read it back; how many bytes came */
    void (*put_small)(void *layer); /* the small files, each durable */
    void (*close)(void *layer);
} bench_layer;

extern const bench_layer layer_plain, layer_library, layer_command, layer_libmongoc;

/* The source's, read or written through buffers of this size. */
#define LAYER_BUFFER ((size_t)1 << 20)

/* A server on a folder, on a free port of loopback. */
struct server {
    int pid;
    char uri[128];
};
void bench_serve(struct server *s, const char *command, const char *folder);
void bench_stop(struct server *s);

/* Plain loopback TCP between two processes: seconds to hand `bytes` from this one to the other
 * (send) or to get them from it, acknowledged at the end. */
double bench_tcp(uint64_t bytes, bool send);

/* Chunk documents by libmongoc: seconds to insert `bytes` of them, and to find them again. */
void bench_chunks(const struct places *p, double *put_seconds, double *get_seconds);

#endif
