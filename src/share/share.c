/* SPDX-License-Identifier: Apache-2.0 */
#include "share/share.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"

#include <stdatomic.h>
#include <string.h>

enum { DIGEST_BYTES = 32 };

struct ash_shares {
    ash_store *store;
    ash_collection *all;
    atomic_bool prepared; /* the indexes are there */
};

int ash__shares_new(ash_store *store, ash_shares **out, ash_error *err)
{
    ash_shares *s = ash__new(ash_shares);
    s->store = store;
    int rc = ash_collection_new(store, NULL, "v7files.shares", &s->all, err);
    if (rc != 0) {
        ash__shares_free(s);
        return rc;
    }
    *out = s;
    return 0;
}

void ash__shares_free(ash_shares *s)
{
    if (s == NULL)
        return;
    ash_collection_free(s->all);
    ash__free(s);
}

void ash__share_release(ash_share *s)
{
    ash__free(s->root);
    ash__free(s->by);
    if (s->entry.value_type != BSON_TYPE_EOD)
        bson_value_destroy(&s->entry);
    memset(s, 0, sizeof *s);
}

/* ---- tokens ---- */

bool ash__share_is_token(const char *text)
{
    return strlen(text) == ASH_SHARE_TOKEN_BYTES - 1 &&
           strspn(text, "0123456789abcdef") == ASH_SHARE_TOKEN_BYTES - 1;
}

static void digest_of(const char *token, uint8_t out[ASH_DIGEST_MAX_BYTES])
{
    ash_digest *d = ash__digest_new(ASH_DIGEST_SHA256);
    ash__digest_add(d, token, strlen(token));
    size_t len = ash__digest_finish(d, out);
    ash_assert(len == DIGEST_BYTES);
    ash__digest_free(d);
}

/* Looked for by its digest: how long that takes says nothing about another token. */
static bson_t *filter_of(const char *token)
{
    uint8_t digest[ASH_DIGEST_MAX_BYTES];
    digest_of(token, digest);
    return BCON_NEW("digest", BCON_BIN(BSON_SUBTYPE_BINARY, digest, DIGEST_BYTES));
}

/* ---- documents ---- */

static int64_t time_of(const bson_t *doc, const char *field)
{
    bson_iter_t at;
    return bson_iter_init_find(&at, doc, field) && BSON_ITER_HOLDS_DATE_TIME(&at)
               ? bson_iter_date_time(&at)
               : 0;
}

static const char *text_of(const bson_t *doc, const char *field)
{
    bson_iter_t at;
    return bson_iter_init_find(&at, doc, field) && BSON_ITER_HOLDS_UTF8(&at)
               ? bson_iter_utf8(&at, NULL)
               : "";
}

static int64_t number_of(const bson_t *doc, const char *field)
{
    bson_iter_t at;
    return bson_iter_init_find(&at, doc, field) ? bson_iter_as_int64(&at) : 0;
}

/* false: it is none that anybody here made. */
static bool read_share(const bson_t *doc, ash_share *out)
{
    bson_iter_t id, entry;
    const char *right = text_of(doc, "right");
    *out = (ash_share){0};
    if (!bson_iter_init_find(&id, doc, "_id") || !BSON_ITER_HOLDS_OID(&id) ||
        !bson_iter_init_find(&entry, doc, "entry") || text_of(doc, "root")[0] == '\0' ||
        (strcmp(right, "read") != 0 && strcmp(right, "upload") != 0))
        return false;
    bson_oid_copy(bson_iter_oid(&id), &out->id);
    bson_value_copy(bson_iter_value(&entry), &out->entry);
    out->root = ash__strdup(text_of(doc, "root"));
    out->by = ash__strdup(text_of(doc, "by"));
    out->upload = strcmp(right, "upload") == 0;
    out->created_ms = time_of(doc, "created");
    out->expires_ms = time_of(doc, "expires");
    out->max_bytes = number_of(doc, "max_bytes");
    out->max_files = number_of(doc, "max_files");
    out->used_bytes = number_of(doc, "used_bytes");
    out->used_files = number_of(doc, "used_files");
    return true;
}

static bool is_over(const ash_share *share)
{
    return share->expires_ms != 0 && share->expires_ms <= ash__clock_wall_ms();
}

/* ---- making ---- */

static int prepare(ash_shares *s, ash_error *err)
{
    if (atomic_load(&s->prepared))
        return 0;
    bson_t *digest = BCON_NEW("0", "{", "key", "{", "digest", BCON_INT32(1), "}", "name",
                              BCON_UTF8("digest_1"), "unique", BCON_BOOL(true), "}");
    bson_t *expiry = BCON_NEW("0", "{", "key", "{", "expires", BCON_INT32(1), "}", "name",
                              BCON_UTF8("expires_1"), "expireAfterSeconds", BCON_INT32(0), "}");
    int rc = ash_collection_create_indexes(s->all, digest, NULL, NULL, err);
    if (rc == 0)
        rc = ash_collection_create_indexes(s->all, expiry, NULL, NULL, err);
    bson_destroy(digest);
    bson_destroy(expiry);
    atomic_store(&s->prepared, rc == 0);
    return rc;
}

static int check_room(ash_shares *s, ash_error *err)
{
    bson_t all = BSON_INITIALIZER;
    int64_t n = 0;
    int rc = ash_collection_count(s->all, &all, NULL, &n, err);
    bson_destroy(&all);
    if (rc == 0 && n >= ASH_SHARE_MAX)
        rc = ash__fail(err, ASH_EBUSY, "there are %d shares already", (int)ASH_SHARE_MAX);
    return rc;
}

static bson_t *document_of(const ash_share *share, const char *token)
{
    uint8_t digest[ASH_DIGEST_MAX_BYTES];
    bson_t *doc = bson_new();
    digest_of(token, digest);
    BSON_APPEND_OID(doc, "_id", &share->id);
    BSON_APPEND_BINARY(doc, "digest", BSON_SUBTYPE_BINARY, digest, DIGEST_BYTES);
    BSON_APPEND_UTF8(doc, "root", share->root);
    BSON_APPEND_VALUE(doc, "entry", &share->entry);
    BSON_APPEND_UTF8(doc, "right", share->upload ? "upload" : "read");
    BSON_APPEND_DATE_TIME(doc, "created", share->created_ms);
    if (share->expires_ms != 0)
        BSON_APPEND_DATE_TIME(doc, "expires", share->expires_ms);
    else
        BSON_APPEND_NULL(doc, "expires");
    if (share->by != NULL)
        BSON_APPEND_UTF8(doc, "by", share->by);
    if (share->upload)
        BCON_APPEND(doc, "max_bytes", BCON_INT64(share->max_bytes), "max_files",
                    BCON_INT64(share->max_files), "used_bytes", BCON_INT64(0), "used_files",
                    BCON_INT64(0));
    return doc;
}

int ash__share_create(ash_shares *s, ash_share *share, char token[ASH_SHARE_TOKEN_BYTES],
                      ash_error *err)
{
    uint8_t random[(ASH_SHARE_TOKEN_BYTES - 1) / 2];
    ash_insert_options o = ASH_INSERT_OPTIONS_INIT;
    o.op.durability = ASH_DURABILITY_EVERY;
    ash__random(random, sizeof random);
    ash__hex(random, sizeof random, token);
    bson_oid_init(&share->id, NULL);
    share->created_ms = ash__clock_wall_ms();
    bson_t *doc = document_of(share, token);
    int rc = prepare(s, err);
    if (rc == 0)
        rc = check_room(s, err);
    if (rc == 0)
        rc = ash_collection_insert_one(s->all, doc, &o, err);
    bson_destroy(doc);
    return rc;
}

/* ---- finding ---- */

int ash__share_find(ash_shares *s, const char *token, ash_share *out, ash_error *err)
{
    bson_t doc;
    *out = (ash_share){0};
    if (!ash__share_is_token(token))
        return ash__fail(err, ASH_ENOTFOUND, "there is no such share");
    bson_t *filter = filter_of(token);
    int rc = ash_collection_find_one(s->all, filter, NULL, &doc, err);
    bson_destroy(filter);
    if (rc != 0)
        return rc == ASH_ENOTFOUND ? ash__fail(err, rc, "there is no such share") : rc;
    bool good = read_share(&doc, out) && !is_over(out);
    bson_destroy(&doc);
    if (!good) {
        ash__share_release(out);
        return ash__fail(err, ASH_ENOTFOUND, "there is no such share");
    }
    return 0;
}

/* Of what was deleted, the id is found still; what is another tree's has no path in this one. */
int ash__share_entry(const ash_share *share, ash_tree *tree, ash_tree_entry **out, ash_error *err)
{
    const bson_value_t *id = &share->entry;
    const char *root = ash_tree_root(tree);
    ash_tree_entry *e = NULL;
    bool all = id->value_type == BSON_TYPE_UTF8 && strcmp(id->value.v_utf8.str, root) == 0;
    if (strcmp(share->root, root) != 0)
        return ash__fail(err, ASH_ENOTFOUND, "there is no such share");
    int rc = all ? ash_tree_get(tree, "/", NULL, NULL, &e, err)
                 : ash_tree_get_by_id(tree, id, 0, NULL, &e, err);
    if (rc == 0 && !all && (ash_tree_entry_is_deleted(e) || !ash_tree_entry_has_path(e)))
        rc = ash__fail(err, ASH_ENOTFOUND, "there is no such share");
    if (rc != 0) {
        ash_tree_entry_free(e);
        return rc;
    }
    *out = e;
    return 0;
}

int ash__share_each(ash_shares *s, ash_share_fn fn, void *ctx, ash_error *err)
{
    ash_find_options o = ASH_FIND_OPTIONS_INIT;
    ash_cursor *cursor = NULL;
    bson_t all = BSON_INITIALIZER;
    bson_t *sort = BCON_NEW("created", BCON_INT32(1), "_id", BCON_INT32(1));
    o.sort = sort;
    int rc = ash_collection_find(s->all, &all, &o, &cursor, err);
    while (rc == 0) {
        ash_doc view;
        ash_share share;
        bson_t doc;
        rc = ash_cursor_next(cursor, &view, err);
        if (rc != 0 || view.data == NULL)
            break;
        if (!bson_init_static(&doc, view.data, view.len))
            continue;
        if (read_share(&doc, &share) && !is_over(&share))
            rc = fn(ctx, &share, err);
        ash__share_release(&share);
    }
    ash_cursor_free(cursor);
    bson_destroy(&all);
    bson_destroy(sort);
    return rc;
}

/* ---- taking back ---- */

int ash__share_remove(ash_shares *s, const char *id_or_token, ash_error *err)
{
    ash_remove_options o = ASH_REMOVE_OPTIONS_INIT;
    ash_write_result result;
    bson_oid_t id;
    bson_t *filter = NULL;
    if (ash__share_is_token(id_or_token)) {
        filter = filter_of(id_or_token);
    } else if (bson_oid_is_valid(id_or_token, strlen(id_or_token))) {
        bson_oid_init_from_string(&id, id_or_token);
        filter = BCON_NEW("_id", BCON_OID(&id));
    } else {
        return ash__fail(err, ASH_EINVAL,
                         "a share is named by the 24 digits of its id or the 40 of its token");
    }
    o.op.durability = ASH_DURABILITY_EVERY;
    ash_write_result_init(&result);
    int rc = ash_collection_remove(s->all, filter, &o, &result, err);
    if (rc == 0 && result.deleted == 0)
        rc = ash__fail(err, ASH_ENOTFOUND, "there is no such share");
    ash_write_result_release(&result);
    bson_destroy(filter);
    return rc;
}

/* ---- what an upload takes ---- */

static int add(ash_shares *s, const bson_t *filter, int64_t bytes, int64_t files, int64_t *matched,
               ash_error *err)
{
    ash_update_options o = ASH_UPDATE_OPTIONS_INIT;
    ash_write_result result;
    bson_t *change = BCON_NEW("$inc", "{", "used_bytes", BCON_INT64(bytes), "used_files",
                              BCON_INT64(files), "}");
    bson_value_t value = {.value_type = BSON_TYPE_DOCUMENT};
    value.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(change);
    value.value.v_doc.data_len = change->len;
    ash_write_result_init(&result);
    int rc = ash_collection_update(s->all, filter, &value, &o, &result, err);
    *matched = result.matched;
    ash_write_result_release(&result);
    bson_destroy(change);
    return rc;
}

int ash__share_count(ash_shares *s, const ash_share *share, int64_t bytes, ash_error *err)
{
    int64_t matched = 0;
    bson_t *filter = BCON_NEW("_id", BCON_OID(&share->id));
    if (share->max_bytes > 0)
        BCON_APPEND(filter, "used_bytes", "{", "$lte", BCON_INT64(share->max_bytes - bytes), "}");
    if (share->max_files > 0)
        BCON_APPEND(filter, "used_files", "{", "$lt", BCON_INT64(share->max_files), "}");
    int rc = add(s, filter, bytes, 1, &matched, err);
    bson_destroy(filter);
    if (rc == 0 && matched == 0)
        rc = ash__fail(err, ASH_ETOOBIG, "the share takes no more, or was taken back");
    return rc;
}

int ash__share_uncount(ash_shares *s, const ash_share *share, int64_t bytes, ash_error *err)
{
    int64_t matched = 0;
    bson_t *filter = BCON_NEW("_id", BCON_OID(&share->id));
    int rc = add(s, filter, -bytes, -1, &matched, err);
    bson_destroy(filter);
    return rc;
}
