/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "http/site/uploads.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

struct ash_site_uploads {
    ash_store *store;
    ash_collection *facts, *parts;
    atomic_bool prepared; /* the indexes are there */
    _Atomic int32_t entered;
};

int ash__site_uploads_new(ash_site *site, ash_error *err)
{
    ash_site_uploads *s = ash__new(ash_site_uploads);
    site->uploads = s;
    s->store = site->store;
    int rc = ash_collection_new(s->store, NULL, "v7files.uploads", &s->facts, err);
    return rc == 0 ? ash_collection_new(s->store, NULL, "v7files.uploads.parts", &s->parts, err)
                   : rc;
}

void ash__site_uploads_free(ash_site *site)
{
    if (site->uploads == NULL)
        return;
    ash_collection_free(site->uploads->facts);
    ash_collection_free(site->uploads->parts);
    ash__free(site->uploads);
}

void ash__site_upload_release(ash_site_upload *u)
{
    ash__free(u->mount);
    ash__free(u->path);
    ash__free(u->type);
    ash__free(u->metadata);
    ash__free(u->by);
    memset(u, 0, sizeof *u);
}

bool ash__site_upload_enter(ash_site_uploads *s)
{
    if (atomic_fetch_add(&s->entered, 1) < ASH_UPLOADS_AT_ONCE)
        return true;
    ash__site_upload_leave(s);
    return false;
}

void ash__site_upload_leave(ash_site_uploads *s)
{
    atomic_fetch_sub(&s->entered, 1);
}

/* ---- making ---- */

static int prepare(ash_site_uploads *s, ash_error *err)
{
    if (atomic_load(&s->prepared))
        return 0;
    bson_t *expiry = BCON_NEW("0", "{", "key", "{", "expires", BCON_INT32(1), "}", "name",
                              BCON_UTF8("expires_1"), "expireAfterSeconds", BCON_INT32(0), "}");
    bson_t *order =
        BCON_NEW("0", "{", "key", "{", "upload", BCON_INT32(1), "start", BCON_INT32(1), "}", "name",
                 BCON_UTF8("upload_1_start_1"), "unique", BCON_BOOL(true), "}");
    int rc = ash_collection_create_indexes(s->facts, expiry, NULL, NULL, err);
    if (rc == 0)
        rc = ash_collection_create_indexes(s->parts, expiry, NULL, NULL, err);
    if (rc == 0)
        rc = ash_collection_create_indexes(s->parts, order, NULL, NULL, err);
    bson_destroy(expiry);
    bson_destroy(order);
    atomic_store(&s->prepared, rc == 0);
    return rc;
}

/* Forgotten ones must not fill the store for ever, nor faster than they expire. */
static int check_room(ash_site_uploads *s, ash_error *err)
{
    int64_t n = 0;
    bson_t *filter = BCON_NEW("done", BCON_BOOL(false), "expires", "{", "$gt",
                              BCON_DATE_TIME(ash__clock_wall_ms()), "}");
    int rc = ash_collection_count(s->facts, filter, NULL, &n, err);
    bson_destroy(filter);
    if (rc == 0 && n >= ASH_UPLOADS_MAX)
        rc = ash__fail(err, ASH_EBUSY, "%d uploads are unfinished already", (int)ASH_UPLOADS_MAX);
    return rc;
}

static ash_insert_options durable_insert(void)
{
    ash_insert_options o = ASH_INSERT_OPTIONS_INIT;
    o.op.durability = ASH_DURABILITY_EVERY;
    return o;
}

int ash__site_upload_create(ash_site_uploads *s, ash_site_upload *u, ash_error *err)
{
    uint8_t random[(ASH_UPLOAD_TOKEN_BYTES - 1) / 2];
    ash_insert_options o = durable_insert();
    ash__random(random, sizeof random);
    ash__hex(random, sizeof random, u->token);
    u->expires_ms = ash__clock_wall_ms() + (int64_t)ASH_UPLOAD_DAYS * 86400 * 1000;
    bson_t *doc = BCON_NEW(
        "_id", BCON_UTF8(u->token), "mount", BCON_UTF8(u->mount), "path", BCON_UTF8(u->path),
        "length", BCON_INT64(u->length), "offset", BCON_INT64(0), "type", BCON_UTF8(u->type),
        "modified", BCON_DATE_TIME(u->modified_ms), "if_absent", BCON_BOOL(u->if_absent),
        "if_version", BCON_INT32(u->if_version), "metadata", BCON_UTF8(u->metadata), "by",
        BCON_UTF8(u->by), "created", BCON_DATE_TIME(ash__clock_wall_ms()), "expires",
        BCON_DATE_TIME(u->expires_ms), "done", BCON_BOOL(false));
    int rc = prepare(s, err);
    if (rc == 0)
        rc = check_room(s, err);
    if (rc == 0)
        rc = ash_collection_insert_one(s->facts, doc, &o, err);
    bson_destroy(doc);
    return rc;
}

/* ---- finding ---- */

static char *text_of(const bson_t *doc, const char *field)
{
    bson_iter_t at;
    bool there = bson_iter_init_find(&at, doc, field) && BSON_ITER_HOLDS_UTF8(&at);
    return ash__strdup(there ? bson_iter_utf8(&at, NULL) : "");
}

static int64_t number_of(const bson_t *doc, const char *field)
{
    bson_iter_t at;
    if (!bson_iter_init_find(&at, doc, field))
        return 0;
    return BSON_ITER_HOLDS_DATE_TIME(&at) ? bson_iter_date_time(&at) : bson_iter_as_int64(&at);
}

int ash__site_upload_find(ash_site_uploads *s, const char *token, ash_site_upload *u,
                          ash_error *err)
{
    bson_t doc;
    bson_t *filter = BCON_NEW("_id", BCON_UTF8(token), "expires", "{", "$gt",
                              BCON_DATE_TIME(ash__clock_wall_ms()), "}");
    *u = (ash_site_upload){0};
    int rc = ash_collection_find_one(s->facts, filter, NULL, &doc, err);
    bson_destroy(filter);
    if (rc != 0)
        return rc;
    snprintf(u->token, sizeof u->token, "%s", token);
    u->mount = text_of(&doc, "mount");
    u->path = text_of(&doc, "path");
    u->type = text_of(&doc, "type");
    u->metadata = text_of(&doc, "metadata");
    u->by = text_of(&doc, "by");
    u->length = number_of(&doc, "length");
    u->offset = number_of(&doc, "offset");
    u->modified_ms = number_of(&doc, "modified");
    u->expires_ms = number_of(&doc, "expires");
    u->if_version = (int32_t)number_of(&doc, "if_version");
    u->if_absent = number_of(&doc, "if_absent") != 0;
    u->done = number_of(&doc, "done") != 0;
    bson_destroy(&doc);
    return 0;
}

/* ---- bytes ---- */

typedef struct appending {
    ash_site_uploads *s;
    const ash_site_upload *u;
    const void *data;
    size_t len;
} appending;

static int update_one(ash_collection *c, const bson_t *filter, const bson_t *set, const ash_op *op,
                      int64_t *matched, ash_error *err)
{
    ash_update_options o = ASH_UPDATE_OPTIONS_INIT;
    ash_write_result result;
    bson_value_t value = {.value_type = BSON_TYPE_DOCUMENT};
    value.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(set);
    value.value.v_doc.data_len = set->len;
    if (op != NULL)
        o.op = *op;
    ash_write_result_init(&result);
    int rc = ash_collection_update(c, filter, &value, &o, &result, err);
    *matched = result.matched;
    ash_write_result_release(&result);
    return rc;
}

/* The offset moves only from where these bytes begin, and with them. */
static int append(ash_transaction *t, void *ctx, ash_error *err)
{
    const appending *a = ctx;
    ash_insert_options o = ASH_INSERT_OPTIONS_INIT;
    ash_op op = ASH_OP_INIT;
    int64_t matched = 0;
    op.transaction = o.op.transaction = t;
    bson_t *filter = BCON_NEW("_id", BCON_UTF8(a->u->token), "offset", BCON_INT64(a->u->offset),
                              "done", BCON_BOOL(false));
    bson_t *set = BCON_NEW("$inc", "{", "offset", BCON_INT64((int64_t)a->len), "}");
    bson_t *part = BCON_NEW("upload", BCON_UTF8(a->u->token), "start", BCON_INT64(a->u->offset),
                            "data", BCON_BIN(BSON_SUBTYPE_BINARY, a->data, (uint32_t)a->len),
                            "expires", BCON_DATE_TIME(a->u->expires_ms));
    int rc = update_one(a->s->facts, filter, set, &op, &matched, err);
    if (rc == 0 && matched == 0)
        rc = ash__fail(err, ASH_ECONFLICT,
                       "bytes of another request came first, or the upload is over");
    if (rc == 0)
        rc = ash_collection_insert_one(a->s->parts, part, &o, err);
    bson_destroy(filter);
    bson_destroy(set);
    bson_destroy(part);
    return rc;
}

int ash__site_upload_append(ash_site_uploads *s, ash_site_upload *u, const void *data, size_t len,
                            ash_error *err)
{
    appending a = {s, u, data, len};
    ash_op op = ASH_OP_INIT;
    op.durability = ASH_DURABILITY_EVERY;
    int rc = ash_store_transact(s->store, append, &a, &op, err);
    if (rc == 0)
        u->offset += (int64_t)len;
    return rc;
}

static int write_part(const ash_doc *view, ash_tree_writer *w, int64_t *at, ash_error *err)
{
    bson_t doc;
    bson_iter_t data;
    bson_subtype_t subtype;
    uint32_t len = 0;
    const uint8_t *bytes = NULL;
    if (!bson_init_static(&doc, view->data, view->len) || number_of(&doc, "start") != *at ||
        !bson_iter_init_find(&data, &doc, "data") || !BSON_ITER_HOLDS_BINARY(&data))
        return ash__fail(err, ASH_ECORRUPT, "bytes of the upload are missing behind %lld",
                         (long long)*at);
    bson_iter_binary(&data, &subtype, &len, &bytes);
    *at += len;
    return ash_tree_writer_write(w, bytes, len, err);
}

int ash__site_upload_copy(ash_site_uploads *s, const ash_site_upload *u, ash_tree_writer *w,
                          ash_error *err)
{
    ash_find_options o = ASH_FIND_OPTIONS_INIT;
    ash_cursor *cursor = NULL;
    ash_doc view;
    int64_t at = 0;
    bson_t *filter = BCON_NEW("upload", BCON_UTF8(u->token));
    bson_t *sort = BCON_NEW("upload", BCON_INT32(1), "start", BCON_INT32(1));
    o.sort = sort;
    o.batch_size = 4;
    int rc = ash_collection_find(s->parts, filter, &o, &cursor, err);
    while (rc == 0) {
        rc = ash_cursor_next(cursor, &view, err);
        if (rc != 0 || view.data == NULL)
            break;
        rc = write_part(&view, w, &at, err);
    }
    if (rc == 0 && at != u->offset)
        rc = ash__fail(err, ASH_ECORRUPT, "the upload has %lld of %lld bytes", (long long)at,
                       (long long)u->offset);
    ash_cursor_free(cursor);
    bson_destroy(filter);
    bson_destroy(sort);
    return rc;
}

/* ---- the end ---- */

typedef struct finishing {
    ash_site_uploads *s;
    const ash_site_upload *u;
    ash_tree_writer *w;
    const ash_op *op; /* who asks; or NULL */
    ash_tree_entry *entry;
} finishing;

static int finish(ash_transaction *t, void *ctx, ash_error *err)
{
    finishing *f = ctx;
    ash_op op = f->op != NULL ? *f->op : (ash_op)ASH_OP_INIT;
    int64_t matched = 0;
    op.transaction = t;
    bson_t *filter = BCON_NEW("_id", BCON_UTF8(f->u->token), "offset", BCON_INT64(f->u->offset),
                              "done", BCON_BOOL(false));
    bson_t *set =
        BCON_NEW("$set", "{", "done", BCON_BOOL(true), "offset", BCON_INT64(f->u->length), "}");
    int rc = update_one(f->s->facts, filter, set, &op, &matched, err);
    if (rc == 0 && matched == 0)
        rc = ash__fail(err, ASH_ECONFLICT,
                       "bytes of another request came first, or the upload is over");
    ash_tree_entry_free(f->entry);
    f->entry = NULL;
    if (rc == 0)
        rc = ash_tree_writer_finish(f->w, &op, &f->entry, err);
    bson_destroy(filter);
    bson_destroy(set);
    return rc;
}

static int remove_parts(ash_site_uploads *s, const ash_site_upload *u, ash_error *err)
{
    bson_t *parts = BCON_NEW("upload", BCON_UTF8(u->token));
    int rc = ash_collection_remove(s->parts, parts, NULL, NULL, err);
    bson_destroy(parts);
    return rc;
}

int ash__site_upload_finish(ash_site_uploads *s, ash_site_upload *u, ash_tree_writer *w,
                            const ash_op *who, ash_tree_entry **entry, ash_error *err)
{
    finishing f = {s, u, w, who, NULL};
    ash_op op = ASH_OP_INIT;
    ash_error left = ASH_ERROR_INIT;
    op.durability = ASH_DURABILITY_EVERY;
    int rc = ash_store_transact(s->store, finish, &f, &op, err);
    if (rc != 0) {
        ash_tree_entry_free(f.entry);
        return rc;
    }
    u->offset = u->length;
    u->done = true;
    *entry = f.entry;
    /* What fails here expires by itself. */
    remove_parts(s, u, &left);
    return 0;
}

int ash__site_upload_end(ash_site_uploads *s, const ash_site_upload *u, ash_error *err)
{
    bson_t *filter = BCON_NEW("_id", BCON_UTF8(u->token));
    int rc = ash_collection_remove(s->facts, filter, NULL, NULL, err);
    bson_destroy(filter);
    return rc == 0 ? remove_parts(s, u, err) : rc;
}
