/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/kit/roots.h"

#include "base/buffer.h"
#include "base/error.h"
#include "base/mem.h"

#include <string.h>

enum { SHOWN_MAX = 10 };

const char *const ash__cmd_tree_collections[] = {"v7files", "v7files.vermongo", "v7files.files",
                                                 "v7files.files.vermongo", NULL};

static int find_values(ash_collection *c, const char *key, bson_t *out, ash_error *err)
{
    bson_t *filter = BCON_NEW(key, "{", "$type", BCON_UTF8("string"), "}");
    int rc = ash_collection_distinct(c, key, filter, NULL, NULL, out, err);
    bson_destroy(filter);
    return rc;
}

int ash__cmd_find_roots(ash_store *store, const char *db, const char *collection, bson_t *out,
                        ash_error *err)
{
    ash_collection *files = NULL;
    int rc = ash_collection_new(store, db, collection, &files, err);
    if (rc == 0)
        rc = find_values(files, "parent", out, err);
    ash_collection_free(files);
    return rc;
}

/* ---- one that has to be there ---- */

typedef struct search {
    const char *root;
    bool found;
    int count;        /* of the others */
    bson_t seen;      /* their names as keys, which none of them has to be: a list */
    ash_buffer names; /* some of them, as the text has them */
} search;

static bool was_seen(const search *s, const char *name)
{
    bson_iter_t it;
    if (bson_iter_init(&it, &s->seen))
        while (bson_iter_next(&it))
            if (strcmp(bson_iter_utf8(&it, NULL), name) == 0)
                return true;
    return false;
}

static void look_at(search *s, const char *name)
{
    s->found = s->found || strcmp(name, s->root) == 0;
    if (s->found || was_seen(s, name))
        return;
    BSON_APPEND_UTF8(&s->seen, "", name);
    if (s->count++ < SHOWN_MAX)
        ash__buffer_printf(&s->names, "%s%s", s->count > 1 ? ", " : "", name);
}

static int search_collection(ash_store *store, const char *db, const char *collection, search *s,
                             ash_error *err)
{
    /* A root on which something was set has a document of its own. */
    static const char *const keys[] = {"parent", "_id"};
    ash_collection *files = NULL;
    int rc = ash_collection_new(store, db, collection, &files, err);
    for (size_t i = 0; rc == 0 && !s->found && i < ASH_ARRAY_LEN(keys); i++) {
        bson_t found;
        bson_iter_t it, value;
        rc = find_values(files, keys[i], &found, err);
        if (rc != 0)
            break;
        if (bson_iter_init_find(&it, &found, "values") && bson_iter_recurse(&it, &value))
            while (bson_iter_next(&value))
                look_at(s, bson_iter_utf8(&value, NULL));
        bson_destroy(&found);
    }
    ash_collection_free(files);
    return rc;
}

int ash__cmd_require_root(ash_store *store, const char *db, const char *collection,
                          const char *root, ash_error *err)
{
    search s = {.root = root, .seen = BSON_INITIALIZER, .names = ASH_BUFFER_INIT};
    char *past = collection != NULL ? ash__sprintf("%s.vermongo", collection) : NULL;
    const char *const own[] = {collection, past, NULL};
    const char *const *collections = collection != NULL ? own : ash__cmd_tree_collections;
    int rc = 0;
    for (int i = 0; rc == 0 && !s.found && collections[i] != NULL; i++)
        rc = search_collection(store, db, collections[i], &s, err);
    if (rc == 0 && !s.found && s.count > 0)
        rc = ash__fail(err, ASH_ENOTFOUND, "there is no tree \"%s\"; there %s %s%s", root,
                       s.count > 1 ? "are" : "is", ash__buffer_text(&s.names),
                       s.count > SHOWN_MAX ? " and others" : "");
    bson_destroy(&s.seen);
    ash__buffer_release(&s.names);
    ash__free(past);
    return rc;
}
