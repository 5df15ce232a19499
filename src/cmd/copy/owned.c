/* SPDX-License-Identifier: Apache-2.0 */
/* Collections that are object stores': those go as object stores, and not as collections or buckets. */
#include "cmd/copy/owned.h"

#include "base/mem.h"
#include "cmd/kit/objects.h"

#include <string.h>

struct ash_copy_owned {
    char **items; /* "db.collection" */
    size_t count, capacity;
};

static void add(ash_copy_owned *o, const char *db, const char *name)
{
    o->items = ash__grow_array(o->items, o->count, &o->capacity, sizeof *o->items);
    o->items[o->count++] = ash__sprintf("%s.%s", db, name);
}

static int find_in(void *ctx, ash_store *store, const char *db, ash_error *err)
{
    ash_object_manager_options o = ASH_OBJECT_MANAGER_OPTIONS_INIT;
    ash_object_manager *m = NULL;
    bson_t names = BSON_INITIALIZER;
    bson_iter_t it;
    o.db = db;
    int rc = ash_object_manager_new(store, &o, &m, err);
    if (rc == 0)
        rc = ash_object_manager_collections(m, NULL, &names, err);
    if (rc == 0 && bson_iter_init(&it, &names))
        while (bson_iter_next(&it))
            add(ctx, db, bson_iter_utf8(&it, NULL));
    bson_destroy(&names);
    ash_object_manager_close(m);
    return rc;
}

int ash__copy_owned_find(const ash_cmd *from, ash_store *store, ash_copy_owned **out,
                         ash_error *err)
{
    *out = ash__new(ash_copy_owned);
    return ash__cmd_each_database(from, store, find_in, *out, err);
}

bool ash__copy_is_owned(const ash_copy_owned *o, const char *db, const char *name,
                        const char *suffix)
{
    char *whole = ash__sprintf("%s.%s%s", db, name, suffix);
    bool found = false;
    for (size_t i = 0; o != NULL && !found && i < o->count; i++)
        found = strcmp(o->items[i], whole) == 0;
    ash__free(whole);
    return found;
}

void ash__copy_owned_free(ash_copy_owned *o)
{
    if (o == NULL)
        return;
    for (size_t i = 0; i < o->count; i++)
        ash__free(o->items[i]);
    ash__free(o->items);
    ash__free(o);
}
