/* SPDX-License-Identifier: Apache-2.0 */
/* The buckets of a store, by their collections. */
#include "cmd/kit/cmd.h"

#include "base/error.h"
#include "base/mem.h"

#include <string.h>

/* Names are gathered before anything is done with them: the visits may change what is listed. */
struct names {
    char **items;
    size_t count, capacity;
};

static void add_name(struct names *n, const char *text, size_t len)
{
    n->items = ash__grow_array(n->items, n->count, &n->capacity, sizeof *n->items);
    n->items[n->count++] = ash__strndup(text, len);
}

static void release_names(struct names *n)
{
    for (size_t i = 0; i < n->count; i++)
        ash__free(n->items[i]);
    ash__free(n->items);
}

bool ash__cmd_names_database(const ash_cmd *cmd)
{
    if (cmd->db != NULL && cmd->db[0] != 0)
        return true;
    char *uri = ash__cmd_store_uri(cmd);
    if (uri == NULL)
        return false;
    /* A folder's path may have slashes, and names no database. */
    bool deployment = strncmp(uri, "mongodb", 7) == 0;
    const char *hosts = strstr(uri, "://");
    const char *slash = deployment && hosts != NULL ? strchr(hosts + 3, '/') : NULL;
    bool named = slash != NULL && slash[1] != 0 && slash[1] != '?';
    ash__free(uri);
    return named;
}

/* A server's own, in which nobody keeps files. */
static bool is_internal(const char *db)
{
    return strcmp(db, "admin") == 0 || strcmp(db, "local") == 0 || strcmp(db, "config") == 0;
}

static int list_databases(ash_store *store, struct names *out, ash_error *err)
{
    bson_t reply;
    bson_iter_t iter, list, db;
    int rc = ash_store_list_databases(store, NULL, &reply, err);
    if (rc != 0)
        return rc;
    if (bson_iter_init_find(&iter, &reply, "databases") && bson_iter_recurse(&iter, &list)) {
        while (bson_iter_next(&list)) {
            if (BSON_ITER_HOLDS_DOCUMENT(&list) && bson_iter_recurse(&list, &db) &&
                bson_iter_find(&db, "name") && BSON_ITER_HOLDS_UTF8(&db) &&
                !is_internal(bson_iter_utf8(&db, NULL)))
                add_name(out, bson_iter_utf8(&db, NULL), strlen(bson_iter_utf8(&db, NULL)));
        }
    }
    bson_destroy(&reply);
    return 0;
}

/* What stands before the suffix in the names of collections that have it. */
static int list_buckets(ash_store *store, const char *db, const char *suffix, struct names *out,
                        ash_error *err)
{
    ash_cursor *cursor = NULL;
    ash_doc doc;
    bson_t view;
    bson_iter_t iter;
    size_t suffix_len = strlen(suffix);
    /* Quotes the suffix's dot. */
    char *pattern = ash__sprintf("\\%s$", suffix);
    bson_t *filter = BCON_NEW("name", "{", "$regex", BCON_UTF8(pattern), "}");
    int rc = ash_store_list_collections(store, db, filter, NULL, &cursor, err);
    while (rc == 0) {
        rc = ash_cursor_next(cursor, &doc, err);
        if (rc != 0 || doc.data == NULL)
            break;
        if (!bson_init_static(&view, doc.data, doc.len) ||
            !bson_iter_init_find(&iter, &view, "name") || !BSON_ITER_HOLDS_UTF8(&iter))
            continue;
        const char *name = bson_iter_utf8(&iter, NULL);
        size_t len = strlen(name);
        /* The pattern finds names of the suffix alone, too. */
        if (len > suffix_len && strcmp(name + len - suffix_len, suffix) == 0)
            add_name(out, name, len - suffix_len);
    }
    ash_cursor_free(cursor);
    bson_destroy(filter);
    ash__free(pattern);
    return rc;
}

/* Which buckets of a database, and what to do with each. */
struct search {
    const char *bucket; /* NULL: all */
    const char *suffix; /* of a collection that they have */
    ash_cmd_bucket_visit visit;
    void *ctx;
};

static int visit_database(const struct search *s, ash_store *store, const char *db, ash_error *err)
{
    struct names buckets = {0};
    int rc = list_buckets(store, db, s->suffix, &buckets, err);
    for (size_t i = 0; rc == 0 && i < buckets.count; i++) {
        if (s->bucket == NULL || strcmp(s->bucket, buckets.items[i]) == 0)
            rc = s->visit(s->ctx, store, db, buckets.items[i], err);
    }
    release_names(&buckets);
    return rc;
}

static int count_name(void *ctx, ash_store *store, const char *db, const char *name, ash_error *err)
{
    (void)store, (void)db, (void)name, (void)err;
    /* The search has the name already: one found is that one. */
    *(bool *)ctx = true;
    return 0;
}

int ash__cmd_has_collection(ash_store *store, const char *db, const char *bucket,
                            const char *suffix, bool *there, ash_error *err)
{
    struct search only = {bucket, suffix, count_name, there};
    *there = false;
    return visit_database(&only, store, db, err);
}

int ash__cmd_check_named(const ash_cmd *cmd, ash_bucket *bucket, ash_error *err)
{
    bool there = true;
    if (cmd->bucket == NULL && !ash__cmd_names_database(cmd))
        return 0;
    const char *db = ash_bucket_db(bucket), *name = ash_bucket_name(bucket);
    int rc = ash__cmd_has_collection(ash_bucket_store(bucket), db, name, ".files", &there, err);
    if (rc != 0 || there)
        return rc;
    if (cmd->bucket != NULL || cmd->db != NULL)
        return ash__fail(err, ASH_ENOTFOUND, "there is no bucket %s in database %s", name, db);
    ash__cmd_note(cmd, "there is no bucket %s in database %s", name, db);
    return 0;
}

/* The one that is named, or all. */
static int choose_databases(const ash_cmd *cmd, ash_store *store, struct names *out, ash_error *err)
{
    const char *only = ash_store_default_db(store);
    if (!ash__cmd_names_database(cmd))
        return list_databases(store, out, err);
    add_name(out, only, strlen(only));
    return 0;
}

int ash__cmd_each_database(const ash_cmd *cmd, ash_store *store, ash_cmd_database_visit visit,
                           void *ctx, ash_error *err)
{
    struct names databases = {0};
    int rc = choose_databases(cmd, store, &databases, err);
    for (size_t i = 0; rc == 0 && i < databases.count; i++)
        rc = visit(ctx, store, databases.items[i], err);
    release_names(&databases);
    return rc;
}

int ash__cmd_each_bucket(const ash_cmd *cmd, ash_store *store, const char *suffix,
                         ash_cmd_bucket_visit visit, void *ctx, ash_error *err)
{
    struct search search = {cmd->bucket, suffix, visit, ctx};
    struct names databases = {0};
    int rc = choose_databases(cmd, store, &databases, err);
    for (size_t i = 0; rc == 0 && i < databases.count; i++)
        rc = visit_database(&search, store, databases.items[i], err);
    release_names(&databases);
    return rc;
}

/* ---- all collections ---- */

struct descriptions {
    bson_t **items;
    size_t count, capacity;
};

static int list_descriptions(ash_store *store, const char *db, struct descriptions *out,
                             ash_error *err)
{
    ash_cursor *cursor = NULL;
    ash_doc doc = {0};
    bson_t all = BSON_INITIALIZER;
    int rc = ash_store_list_collections(store, db, &all, NULL, &cursor, err);
    if (rc == 0)
        rc = ash_cursor_next(cursor, &doc, err);
    while (rc == 0 && doc.data != NULL) {
        out->items = ash__grow_array(out->items, out->count, &out->capacity, sizeof(*out->items));
        out->items[out->count++] = bson_new_from_data(doc.data, doc.len);
        rc = ash_cursor_next(cursor, &doc, err);
    }
    ash_cursor_free(cursor);
    bson_destroy(&all);
    return rc;
}

static int visit_collections(ash_store *store, const char *db, ash_cmd_collection_visit visit,
                             void *ctx, ash_error *err)
{
    struct descriptions found = {0};
    int rc = list_descriptions(store, db, &found, err);
    for (size_t i = 0; i < found.count; i++) {
        ash_doc description = {bson_get_data(found.items[i]), found.items[i]->len};
        if (rc == 0)
            rc = visit(ctx, store, db, description, err);
        bson_destroy(found.items[i]);
    }
    ash__free(found.items);
    return rc;
}

int ash__cmd_each_collection(const ash_cmd *cmd, ash_store *store, ash_cmd_collection_visit visit,
                             void *ctx, ash_error *err)
{
    struct names databases = {0};
    int rc = choose_databases(cmd, store, &databases, err);
    for (size_t i = 0; rc == 0 && i < databases.count; i++)
        rc = visit_collections(store, databases.items[i], visit, ctx, err);
    release_names(&databases);
    return rc;
}
