/* SPDX-License-Identifier: Apache-2.0 */
/* Copies with fsync, and a plain read. */
#include "layer.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct plain {
    struct places places;
    char *buffer;
};

static void *plain_open(const struct places *p)
{
    struct plain *l = calloc(1, sizeof *l);
    l->places = *p;
    l->buffer = malloc(LAYER_BUFFER);
    return l;
}

static uint64_t copy(struct plain *l, const char *from, const char *to)
{
    uint64_t total = 0;
    ssize_t got;
    int in = open(from, O_RDONLY);
    int out = to != NULL ? open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;
    bench_check(in >= 0 && (out >= 0 || to == NULL), "open file");
    while ((got = read(in, l->buffer, LAYER_BUFFER)) > 0) {
        total += (uint64_t)got;
        if (out >= 0)
            bench_check(write(out, l->buffer, (size_t)got) == got, "write");
    }
    bench_check(got == 0 && (out < 0 || fsync(out) == 0), "copy");
    close(in);
    if (out >= 0)
        close(out);
    return total;
}

static void plain_put(void *layer)
{
    struct plain *l = layer;
    char to[4096];
    snprintf(to, sizeof to, "%s/copy", l->places.folder);
    copy(l, l->places.source, to);
}

static uint64_t plain_get(void *layer)
{
    struct plain *l = layer;
    char from[4096];
    snprintf(from, sizeof from, "%s/copy", l->places.folder);
    return copy(l, from, NULL);
}

static void plain_put_small(void *layer)
{
    struct plain *l = layer;
    char from[4096], to[4096];
    for (int i = 0; i < l->places.count; i++) {
        snprintf(from, sizeof from, "%s/%d", l->places.small, i);
        snprintf(to, sizeof to, "%s/small%d", l->places.folder, i);
        copy(l, from, to);
    }
}

static void plain_close(void *layer)
{
    struct plain *l = layer;
    free(l->buffer);
    free(l);
}

const bench_layer layer_plain = {
    "plain files", "read, write, fsync; no folder sync, no checksum, no digest",
    plain_open,    plain_put,
    plain_get,     plain_put_small,
    plain_close};
