/* SPDX-License-Identifier: Apache-2.0 */
/* Which collections are copied, in which order, and what is said about them. */
#include "cmd/copy/documents.h"

#include "base/error.h"
#include "base/mem.h"
#include "bson/value.h"

#include <string.h>

/* ---- which ---- */

/* The place among the names that were given; 0 when none were, -1: not wanted. */
static int wanted(const ash_copy_collections *c, const char *db, const char *name)
{
    if (ash__copy_is_owned(c->owned, db, name, ""))
        return -1;
    /* A server keeps them itself: views, users, buckets of time series. */
    if (strncmp(name, "system.", strlen("system.")) == 0)
        return -1;
    if (c->names == NULL)
        return 0;
    for (int i = 0; i < c->name_count; i++) {
        if (strcmp(c->names[i], name) == 0)
            return i;
    }
    return -1;
}

/* The bucket that a collection is a part of, or NULL; the caller frees. */
static int bucket_of(ash_store *store, const char *db, const char *name, char **out, ash_error *err)
{
    static const char *const parts[] = {".files", ".chunks", ".attributes"};
    *out = NULL;
    /* Only where both collections of a bucket are there: names alone may end so by chance. */
    for (size_t i = 0; i < ASH_ARRAY_LEN(parts); i++) {
        size_t len = strlen(name), part = strlen(parts[i]);
        bool files = false, chunks = false;
        if (len <= part || strcmp(name + len - part, parts[i]) != 0)
            continue;
        char *bucket = ash__strndup(name, len - part);
        int rc = ash__cmd_has_collection(store, db, bucket, ".files", &files, err);
        if (rc == 0 && files)
            rc = ash__cmd_has_collection(store, db, bucket, ".chunks", &chunks, err);
        if (rc != 0 || !files || !chunks) {
            ash__free(bucket);
            return rc;
        }
        *out = bucket;
    }
    return 0;
}

/* ---- how much ---- */

static int64_t number_of(const bson_t *stats, const char *name)
{
    bson_iter_t at;
    return bson_iter_init_find(&at, stats, name) ? bson_iter_as_int64(&at) : 0;
}

static int count_one(void *ctx, ash_store *store, const char *db, ash_doc description,
                     ash_error *err)
{
    ash_copy_collections *c = ctx;
    const char *name = ash__doc_utf8(description, "name", "");
    char *bucket = NULL;
    bson_t stats;
    int place = wanted(c, db, name);
    int rc = place >= 0 ? bucket_of(store, db, name, &bucket, err) : 0;
    if (rc == 0 && bucket != NULL && c->names != NULL)
        rc = ash__fail(err, ASH_EINVAL,
                       "%s is a part of bucket %s, which is copied as a whole: by -b %s", name,
                       bucket, bucket);
    /* One may have been given twice. */
    for (int i = 0; rc == 0 && place >= 0 && i < c->name_count; i++)
        c->found[i] = c->found[i] || strcmp(c->names[i], name) == 0;
    bool counted = rc == 0 && place >= 0 && bucket == NULL &&
                   strcmp(ash__doc_utf8(description, "type", ""), "view") != 0;
    /* Totals are for the progress line alone. */
    if (counted && ash_store_stats(store, db, name, 1, NULL, &stats, NULL) == 0) {
        c->total_bytes += number_of(&stats, "size");
        c->total_documents += number_of(&stats, "count");
        bson_destroy(&stats);
    }
    ash__free(bucket);
    return rc;
}

int ash__copy_collections_count(ash_copy_collections *c, const ash_cmd *from, ash_store *store,
                                ash_error *err)
{
    int rc = ash__cmd_each_collection(from, store, count_one, c, err);
    for (int i = 0; rc == 0 && i < c->name_count; i++) {
        if (!c->found[i])
            rc = ash__fail(err, ASH_ENOTFOUND, "there is no collection %s", c->names[i]);
    }
    return rc;
}

/* ---- one ---- */

static int begin(ash_copy_table *t, ash_store *store, const char *db, const char *name,
                 ash_error *err)
{
    const char *to_db = t->all->to_db != NULL ? t->all->to_db : db;
    t->shown = ash__sprintf("%s.%s", to_db, name);
    int rc = ash_collection_new(store, db, name, &t->from, err);
    if (rc == 0 && t->all->to != NULL)
        rc = ash_collection_new(t->all->to, to_db, name, &t->to, err);
    return rc;
}

static void end(ash_copy_table *t)
{
    ash_copy_collections *c = t->all;
    c->collections++;
    c->copied += t->copied;
    c->replaced += t->replaced;
    c->present += t->present;
    c->failed += t->failed;
    ash_collection_free(t->from);
    ash_collection_free(t->to);
    ash__free(t->shown);
}

static void report_numbers(const ash_copy_table *t, bson_t *out)
{
    BSON_APPEND_INT64(out, "indexes", t->indexes);
    BSON_APPEND_INT64(out, "documents", t->read);
    BSON_APPEND_INT64(out, "copied", t->copied);
    BSON_APPEND_INT64(out, "replaced", t->replaced);
    BSON_APPEND_INT64(out, "present", t->present);
    BSON_APPEND_INT64(out, "failed", t->failed);
    if (t->all->verify)
        BSON_APPEND_INT64(out, "verified", t->verified);
    if (t->all->cmd->dry_run)
        BSON_APPEND_BOOL(out, "dryRun", true);
}

static void report(const ash_copy_table *t, const char *type)
{
    const char *name = ash_collection_name(t->from);
    int64_t brings = t->copied + t->replaced;
    bson_t object = BSON_INITIALIZER;
    ash__progress_clear(t->all->progress);
    if (t->all->cmd->json) {
        BSON_APPEND_UTF8(&object, "db",
                         t->all->to_db != NULL ? t->all->to_db : ash_collection_db(t->from));
        BSON_APPEND_UTF8(&object, "collection", name);
        BSON_APPEND_UTF8(&object, "type", type);
        BSON_APPEND_BOOL(&object, "made", t->made);
        report_numbers(t, &object);
        ash__cmd_emit(&object);
    } else if (t->all->cmd->dry_run && (t->made || brings > 0)) {
        ash__cmd_say(t->all->cmd, "would copy %s%s: %lld document%s", t->shown,
                     t->made ? ", which is new" : "", (long long)brings, ash__cmd_s(brings));
    }
    bson_destroy(&object);
}

static int copy_table(ash_copy_table *t, ash_doc description, bool documents, ash_error *err)
{
    int rc = ash__copy_options(t, description, err);
    bool is_view = strcmp(ash__doc_utf8(description, "type", ""), "view") == 0;
    if (rc == 0 && !is_view)
        rc = ash__copy_indexes(t, err);
    if (rc == 0 && !is_view && documents)
        rc = ash__copy_documents(t, err);
    if (rc == 0 && !is_view && documents && t->all->verify && !t->all->cmd->dry_run)
        rc = ash__copy_verify(t, err);
    return rc;
}

/* Trouble with a collection does not keep the others; trouble with a store does. */
static int copy_described(ash_copy_collections *c, ash_store *store, const char *db,
                          ash_doc description, bool documents, ash_error *err)
{
    ash_copy_table t = {.all = c};
    ash_error own = ASH_ERROR_INIT;
    const char *type = ash__doc_utf8(description, "type", "");
    int rc = begin(&t, store, db, ash__doc_utf8(description, "name", ""), &own);
    if (rc == 0 && strcmp(type, "timeseries") == 0)
        rc = ash__fail(&own, ASH_EUNSUPPORTED, "collections of time series are not copied");
    if (rc == 0)
        rc = copy_table(&t, description, documents, &own);
    if (rc != 0 && !ash__copy_ends_all(rc)) {
        ash__copy_table_fail(&t, NULL, &own);
        rc = 0;
    }
    if (documents)
        report(&t, type[0] != 0 ? type : "collection");
    end(&t);
    return ash__unless(0, rc, &own, err);
}

/* ---- all ---- */

static int visit(ash_copy_collections *c, ash_store *store, const char *db, ash_doc description,
                 bool views, ash_error *err)
{
    const char *name = ash__doc_utf8(description, "name", "");
    bool is_view = strcmp(ash__doc_utf8(description, "type", ""), "view") == 0;
    char *bucket = NULL;
    if (wanted(c, db, name) < 0 || is_view != views)
        return 0;
    int rc = is_view ? 0 : bucket_of(store, db, name, &bucket, err);
    bool attributes =
        bucket != NULL && strcmp(name + strlen(bucket), ".attributes") == 0; /* of files alone */
    if (rc == 0 && !attributes)
        rc = copy_described(c, store, db, description, bucket == NULL, err);
    /* Of a bucket's collection only the options were made here. */
    c->collections -= bucket != NULL && !attributes ? 1 : 0;
    ash__free(bucket);
    return rc;
}

static int visit_collection(void *ctx, ash_store *store, const char *db, ash_doc description,
                            ash_error *err)
{
    return visit(ctx, store, db, description, false, err);
}

static int visit_view(void *ctx, ash_store *store, const char *db, ash_doc description,
                      ash_error *err)
{
    return visit(ctx, store, db, description, true, err);
}

/* A view may be of another one, but is never looked into here. */
int ash__copy_collections(ash_copy_collections *c, const ash_cmd *from, ash_store *store,
                          ash_error *err)
{
    /* Views last: what they are of is there by then. */
    int rc = ash__cmd_each_collection(from, store, visit_collection, c, err);
    if (rc == 0)
        rc = ash__cmd_each_collection(from, store, visit_view, c, err);
    return rc;
}
