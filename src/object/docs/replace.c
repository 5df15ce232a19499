/* SPDX-License-Identifier: Apache-2.0 */
/* In a commit: what takes whose place, what becomes a version, and whose bytes go. */
#include "object/docs/commit.h"

#include "base/mem.h"
#include "bson/value.h"
#include "bucket/bucket.h"

#include <string.h>

enum { TRIMMED = 16 }; /* versions that one commit forgets beyond its own work */

bool ash__docs_has_bytes(const ash_object *o)
{
    return !o->deleted && o->link_store == NULL && o->archive_store == NULL && o->nuid[0] != '\0';
}

int64_t ash__docs_cost(const ash_object *o)
{
    bson_iter_t it;
    int64_t bytes = ash__docs_has_bytes(o) ? o->size : 0;
    if (bytes > 0 && bson_iter_init_find(&it, o->document, ASH_FIELD_STORED))
        bytes = bson_iter_as_int64(&it);
    return bytes + (int64_t)o->document->len;
}

bool ash__docs_keeps(const ash_object_config *c)
{
    return c->keep_last != 0 || c->keep_within_ms != 0;
}

/* ---- documents ---- */

static bson_t *stored_document(const ash_object *o)
{
    bson_t *doc = bson_new();
    BSON_APPEND_UTF8(doc, "_id", o->name);
    bson_concat(doc, o->document);
    return doc;
}

static int insert(ash_docs_commit *c, ash_collection *where, const bson_t *doc, ash_error *err)
{
    ash_insert_options o = ASH_INSERT_OPTIONS_INIT;
    o.op = c->op;
    return ash_collection_insert_one(where, doc, &o, err);
}

static int remove_by_id(ash_docs_commit *c, ash_collection *where, const bson_t *filter,
                        ash_error *err)
{
    int64_t removed = 0;
    int rc = ash__collection_remove_all(where, filter, &c->op, &removed, err);
    if (rc == 0 && removed != 1)
        rc = ash__fail(err, ASH_ECONFLICT, "what was to go is not there any more");
    return rc;
}

static int remove_meta(ash_docs_commit *c, const ash_object *o, ash_error *err)
{
    bson_t *filter = BCON_NEW("_id", BCON_UTF8(o->name));
    int rc = remove_by_id(c, c->store->meta, filter, err);
    bson_destroy(filter);
    return rc;
}

static int write_over(ash_docs_commit *c, const ash_object *o, ash_error *err)
{
    bson_t *filter = BCON_NEW("_id", BCON_UTF8(o->name)), *doc = stored_document(o);
    ash_update_options uo = ASH_UPDATE_OPTIONS_INIT;
    int64_t matched = 0;
    uo.op = c->op;
    int rc = ash__collection_change(c->store->meta, filter, doc, &uo, &matched, err);
    if (rc == 0 && matched != 1)
        rc = ash__fail(err, ASH_ECONFLICT, "%.200s is not there any more", o->name);
    bson_destroy(doc);
    bson_destroy(filter);
    return rc;
}

static int write_new(ash_docs_commit *c, const ash_object *o, ash_error *err)
{
    bson_t *doc = stored_document(o);
    int rc = insert(c, c->store->meta, doc, err);
    bson_destroy(doc);
    return rc;
}

static void account(ash_docs_commit *c, const ash_object *o, int sign)
{
    c->bytes += sign * ash__docs_cost(o);
    c->objects += o->deleted ? 0 : sign;
}

int ash__commit_rewrite(ash_docs_commit *c, const ash_object *old, const ash_object *object,
                        ash_error *err)
{
    account(c, old, -1);
    account(c, object, 1);
    return write_over(c, object, err);
}

/* ---- bytes ---- */

bson_t *ash__docs_filter_bytes(const char *nuid)
{
    return BCON_NEW("nuid", BCON_UTF8(nuid), "deleted", "{", "$exists", BCON_BOOL(false), "}",
                    "archive", "{", "$exists", BCON_BOOL(false), "}");
}

static int is_found_in(ash_docs_commit *c, ash_collection *where, const bson_t *filter, bool *out,
                       ash_error *err)
{
    bson_t *only_id = BCON_NEW("_id", BCON_INT32(1)), doc;
    ash_find_options o = ash__docs_find_options(&c->op);
    o.projection = only_id;
    int rc = ash__collection_find_if_any(where, filter, &o, &doc, out, err);
    if (rc == 0 && *out)
        bson_destroy(&doc);
    bson_destroy(only_id);
    return rc;
}

/* As an object or a version. */
static int is_found(ash_docs_commit *c, const bson_t *filter, bool *out, ash_error *err)
{
    int rc = is_found_in(c, c->store->meta, filter, out, err);
    return rc == 0 && !*out ? is_found_in(c, c->store->versions, filter, out, err) : rc;
}

static int is_named(ash_docs_commit *c, const char *nuid, bool *out, ash_error *err)
{
    bson_t *filter = ash__docs_filter_bytes(nuid);
    int rc = is_found(c, filter, out, err);
    bson_destroy(filter);
    return rc;
}

int ash__commit_needs_archived(ash_docs_commit *c, const char *nuid, bool *out, ash_error *err)
{
    bson_t *filter = BCON_NEW("nuid", BCON_UTF8(nuid), "deleted", "{", "$exists", BCON_BOOL(false),
                              "}", "archive", "{", "$exists", BCON_BOOL(true), "}");
    int rc = is_found(c, filter, out, err);
    bson_destroy(filter);
    return rc;
}

int ash__commit_drop_bytes(ash_docs_commit *c, const char *nuid, bool *gone, ash_error *err)
{
    bson_value_t id = {.value_type = BSON_TYPE_UTF8};
    ash_change_options o = ASH_CHANGE_OPTIONS_INIT;
    ash_error own = ASH_ERROR_INIT;
    bool named = false;
    int rc = is_named(c, nuid, &named, err);
    if (gone != NULL)
        *gone = rc == 0 && !named;
    if (rc != 0 || named)
        return rc;
    id.value.v_utf8.str = (char *)(uintptr_t)nuid;
    id.value.v_utf8.len = (uint32_t)strlen(nuid);
    o.transaction = c->op.transaction;
    rc = ash_bucket_delete(c->store->bucket, &id, &o, &own);
    return ash__unless(ASH_ENOTFOUND, rc, &own, err); /* damaged, or somebody deleted it by hand */
}

int ash__commit_rename_bytes(ash_docs_commit *c, const ash_object *o, ash_error *err)
{
    bson_value_t id = {.value_type = BSON_TYPE_UTF8};
    ash_change_options co = ASH_CHANGE_OPTIONS_INIT;
    ash_error own = ASH_ERROR_INIT;
    if (!ash__docs_has_bytes(o))
        return 0;
    id.value.v_utf8.str = (char *)(uintptr_t)o->nuid;
    id.value.v_utf8.len = (uint32_t)strlen(o->nuid);
    co.transaction = c->op.transaction;
    int rc = ash_bucket_rename(c->store->bucket, &id, o->name, &co, &own);
    return ash__unless(ASH_ENOTFOUND, rc, &own, err); /* damage, which reading tells */
}

/* ---- versions ---- */

static int write_version(ash_docs_commit *c, const ash_object *old, ash_error *err)
{
    bson_t doc = BSON_INITIALIZER, set = BSON_INITIALIZER;
    ash_object *version = NULL;
    BSON_APPEND_DATE_TIME(&set, "until", c->now_ms);
    BSON_APPEND_NULL(&set, "expires");
    int rc = ash__object_set(old, &set, &version, err);
    if (rc == 0) {
        BSON_APPEND_INT64(&doc, "_id", (int64_t)old->revision);
        bson_concat(&doc, version->document);
        rc = insert(c, c->store->versions, &doc, err);
        c->bytes += ash__docs_cost(version);
    }
    ash_object_free(version);
    bson_destroy(&set);
    bson_destroy(&doc);
    return rc;
}

int ash__commit_forget_version(ash_docs_commit *c, const ash_object *version, ash_error *err)
{
    bson_t *filter = BCON_NEW("_id", BCON_INT64((int64_t)version->revision));
    int rc = remove_by_id(c, c->store->versions, filter, err);
    bson_destroy(filter);
    c->bytes -= ash__docs_cost(version);
    if (rc == 0 && ash__docs_has_bytes(version))
        rc = ash__commit_drop_bytes(c, version->nuid, NULL, err);
    return rc;
}

/* Behind those that are kept for their number, those that are not kept for their time. */
static int find_surplus(ash_docs_commit *c, const char *name, ash_object **out, size_t *count,
                        ash_error *err)
{
    const ash_object_config *k = &c->config.copy.config;
    bson_t *filter = BCON_NEW("name", BCON_UTF8(name));
    bson_t *sort = BCON_NEW("name", BCON_INT32(1), "_id", BCON_INT32(-1));
    ash_find_options o = ash__docs_find_options(&c->op);
    ash_cursor *cursor = NULL;
    ash_doc doc = {NULL, 0};
    o.sort = sort;
    o.skip = k->keep_last;
    o.limit = TRIMMED;
    int rc = ash_collection_find(c->store->versions, filter, &o, &cursor, err);
    while (rc == 0) {
        rc = ash_cursor_next(cursor, &doc, err);
        if (rc != 0 || doc.data == NULL)
            break;
        rc = ash__docs_object(doc, &out[*count], err);
        if (rc == 0 && k->keep_within_ms > 0 &&
            out[*count]->ended_ms > c->now_ms - k->keep_within_ms)
            ash_object_free(out[*count]);
        else if (rc == 0)
            ++*count;
    }
    ash_cursor_free(cursor);
    bson_destroy(sort);
    bson_destroy(filter);
    return rc;
}

static int trim(ash_docs_commit *c, const char *name, ash_error *err)
{
    ash_object *surplus[TRIMMED];
    size_t n = 0;
    if (c->config.copy.config.keep_last < 0)
        return 0;
    int rc = find_surplus(c, name, surplus, &n, err);
    for (size_t i = 0; i < n; i++) {
        if (rc == 0)
            rc = ash__commit_forget_version(c, surplus[i], err);
        ash_object_free(surplus[i]);
    }
    return rc;
}

/* What was current, once its document has made way. */
static int retire(ash_docs_commit *c, const ash_object *old, const ash_object *heir, ash_error *err)
{
    bool same = heir != NULL && ash__docs_has_bytes(heir) && strcmp(heir->nuid, old->nuid) == 0;
    bool kept = ash__docs_keeps(&c->config.copy.config) && !ash__docs_is_over(old, c->now_ms);
    int rc = kept ? write_version(c, old, err) : 0;
    if (rc == 0 && kept)
        return trim(c, old->name, err);
    if (rc == 0 && !same && ash__docs_has_bytes(old))
        rc = ash__commit_drop_bytes(c, old->nuid, NULL, err);
    return rc;
}

/* ---- changes ---- */

int ash__commit_replace(ash_docs_commit *c, const ash_object *old, const ash_object *object,
                        ash_error *err)
{
    int64_t most = c->config.copy.config.max_object_bytes;
    if (most > 0 && object->size > most)
        return ash__fail(err, ASH_ENOSPC, "an object of this store has at most %lld bytes",
                         (long long)most);
    account(c, object, 1);
    if (old == NULL)
        return write_new(c, object, err);
    account(c, old, -1);
    int rc = write_over(c, object, err);
    return rc == 0 ? retire(c, old, object, err) : rc;
}

int ash__commit_vacate(ash_docs_commit *c, const ash_object *old, const ash_object *heir,
                       ash_error *err)
{
    account(c, old, -1);
    int rc = remove_meta(c, old, err);
    return rc == 0 ? retire(c, old, heir, err) : rc;
}

int ash__commit_forget(ash_docs_commit *c, const ash_object *old, ash_error *err)
{
    account(c, old, -1);
    int rc = remove_meta(c, old, err);
    if (rc == 0 && ash__docs_has_bytes(old))
        rc = ash__commit_drop_bytes(c, old->nuid, NULL, err);
    return rc;
}
