/* SPDX-License-Identifier: Apache-2.0 */
/* An object of more than 4 GiB: put, read whole, read by ranges behind 4 GiB, copied.  Takes minutes and twice
 * its size of disk; started by hand.
 *
 * usage: object-large FOLDER|ADDRESS [MIB]     4200 MiB, unless it says so */
#include <ashlar/object.h>

#include "base/error.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 1024 * 1024, RANGE = 300000 };

/* Byte n of the object depends on n alone, and does not repeat with the chunks. */
static uint8_t byte_at(int64_t n)
{
    return (uint8_t)(n % 251 + n / 1000003);
}

static int tell_failure(const char *what, const ash_error *err)
{
    fprintf(stderr, "# %s: %s\n", what, err->text);
    printf("not ok 1 an object beyond 4 GiB\n1..1\n");
    return 1;
}

typedef struct feeding {
    int64_t at, size;
} feeding;

static int64_t feed(void *ctx, void *buf, size_t len, ash_error *err)
{
    feeding *f = ctx;
    uint8_t *to = buf;
    (void)err;
    size_t take = (int64_t)len < f->size - f->at ? len : (size_t)(f->size - f->at);
    for (size_t i = 0; i < take; i++)
        to[i] = byte_at(f->at + (int64_t)i);
    f->at += (int64_t)take;
    return (int64_t)take;
}

/* The bytes from `start` to `end`, 0 to its end; how many were as they should be. */
static int compare(ash_object_store *s, int64_t start, int64_t end, int64_t *good, ash_error *err)
{
    ash_object_read_options o = ASH_OBJECT_READ_OPTIONS_INIT;
    ash_object_reader *r = NULL;
    uint8_t *buf = ash__alloc(BLOCK);
    size_t got = 1;
    *good = 0;
    o.start = start;
    o.end = end;
    int rc = ash_object_store_open_reader(s, "large", &o, NULL, &r, err);
    while (rc == 0 && got > 0) {
        rc = ash_object_reader_read(r, buf, BLOCK, &got, err);
        for (size_t i = 0; rc == 0 && i < got; i++)
            *good += buf[i] == byte_at(start + *good);
    }
    ash_object_reader_free(r);
    ash__free(buf);
    return rc;
}

static int compare_all(ash_object_store *s, int64_t size, ash_error *err)
{
    const int64_t starts[] = {0, INT64_C(0x7fffffff) - 10, INT64_C(0xffffffff) - 10, size - RANGE};
    int64_t good = 0;
    int rc = compare(s, 0, 0, &good, err);
    if (rc == 0 && good != size)
        rc = ash__fail(err, ASH_ECORRUPT, "read whole, it is another");
    for (size_t i = 0; rc == 0 && i < sizeof starts / sizeof *starts; i++) {
        int64_t start = starts[i] < size - RANGE ? starts[i] : size - RANGE;
        rc = compare(s, start, start + RANGE, &good, err);
        if (rc == 0 && good != RANGE)
            rc = ash__fail(err, ASH_ECORRUPT, "a range of it is another");
    }
    return rc;
}

static int run(ash_object_manager *m, int64_t size, ash_error *err)
{
    ash_object_config from = ASH_OBJECT_CONFIG_INIT, to = ASH_OBJECT_CONFIG_INIT;
    ash_object_store *s = NULL, *copy = NULL;
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    feeding f = {0, size};
    ash_input in = {&f, feed};
    from.name = "object-large";
    to.name = "object-large-copy";
    meta.name = "large";
    int rc = ash_object_manager_create(m, &from, NULL, &s, err);
    if (rc == 0)
        rc = ash_object_manager_create(m, &to, NULL, &copy, err);
    if (rc == 0)
        rc = ash_object_store_put(s, &meta, &in, NULL, NULL, NULL, err);
    if (rc == 0)
        rc = compare_all(s, size, err);
    if (rc == 0)
        rc = ash_object_store_copy(s, copy, NULL, NULL, NULL, err);
    if (rc == 0)
        rc = compare_all(copy, size, err);
    ash_object_store_close(copy);
    ash_object_store_close(s);
    return rc;
}

int main(int argc, char **argv)
{
    ash_error err = ASH_ERROR_INIT;
    ash_object_manager *m = NULL;
    int64_t mib = argc > 2 ? atoi(argv[2]) : 4200;
    if (argc < 2 || mib < 1)
        return 2;
    if (ash_object_manager_open(argv[1], NULL, &m, &err) != 0)
        return tell_failure("open", &err);
    int rc = run(m, mib * BLOCK + 17, &err);
    (void)ash_object_manager_delete(m, "object-large", NULL, NULL);
    (void)ash_object_manager_delete(m, "object-large-copy", NULL, NULL);
    ash_object_manager_close(m);
    if (rc != 0)
        return tell_failure("an object beyond 4 GiB", &err);
    printf("ok 1 an object of %" PRId64 " MiB\n1..1\n", mib);
    return 0;
}
