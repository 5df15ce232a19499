/* SPDX-License-Identifier: Apache-2.0 */
/* What is told of a store, and lists of it. */
#include "object/info.h"

#include "base/mem.h"
#include "base/options.h"

#include <stdlib.h>
#include <string.h>

int ash__object_status_new(const ash_object_config *config, ash_object_status **out, ash_error *err)
{
    ash_object_status *st = ash__new(ash_object_status);
    int rc = ash__object_config_copy(config, &st->config, err);
    if (rc != 0) {
        ash__free(st);
        st = NULL;
    }
    *out = st;
    return rc;
}

void ash_object_status_free(ash_object_status *st)
{
    if (st == NULL)
        return;
    ash__object_config_release(&st->config);
    ash__free(st);
}

int ash_object_status_config(const ash_object_status *st, ash_object_config *out, ash_error *err)
{
    return ash__out_copy(out, &st->config.config, sizeof *out, err);
}

const char *ash_object_status_name(const ash_object_status *st)
{
    return st->config.config.name;
}

bool ash_object_status_is_sealed(const ash_object_status *st)
{
    return st->sealed;
}

bool ash_object_status_is_compressed(const ash_object_status *st)
{
    return st->compressed;
}

int64_t ash_object_status_bytes(const ash_object_status *st)
{
    return st->bytes;
}

int64_t ash_object_status_objects(const ash_object_status *st)
{
    return st->objects;
}

int64_t ash_object_status_created_ms(const ash_object_status *st)
{
    return st->created_ms;
}

uint64_t ash_object_status_revision(const ash_object_status *st)
{
    return st->revision;
}

const char *ash_object_status_backing(const ash_object_status *st)
{
    return st->backing;
}

/* ---- several ---- */

struct ash_object_status_listing {
    ash_object_status **items;
    size_t count, capacity, at;
};

ash_object_status_listing *ash__status_listing_new(void)
{
    return ash__new(ash_object_status_listing);
}

void ash__status_listing_add(ash_object_status_listing *l, ash_object_status *st)
{
    l->items = ash__grow_array(l->items, l->count, &l->capacity, sizeof *l->items);
    l->items[l->count++] = st;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(ash_object_status_name(*(ash_object_status *const *)a),
                  ash_object_status_name(*(ash_object_status *const *)b));
}

void ash__status_listing_sort(ash_object_status_listing *l)
{
    if (l->count > 1)
        qsort(l->items, l->count, sizeof *l->items, by_name);
}

int ash_object_status_listing_next(ash_object_status_listing *l, const ash_object_status **out,
                                   ash_error *err)
{
    (void)err;
    *out = l->at < l->count ? l->items[l->at++] : NULL;
    return 0;
}

void ash_object_status_listing_free(ash_object_status_listing *l)
{
    if (l == NULL)
        return;
    for (size_t i = 0; i < l->count; i++)
        ash_object_status_free(l->items[i]);
    ash__free(l->items);
    ash__free(l);
}
