/* SPDX-License-Identifier: Apache-2.0 */
#include "user/tokens.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"

#include <openssl/crypto.h>
#include <string.h>

enum {
    ID_DIGITS = ASH_TOKEN_ID_BYTES - 1,
    SECRET_BYTES = 32,
    PREFIX_BYTES = sizeof ASH_TOKEN_PREFIX - 1,
    DIGEST_BYTES = 32
};

void ash__token_release(ash_token *t)
{
    ash__free(t->user);
    ash__free(t->db);
    ash__free(t->path);
    memset(t, 0, sizeof *t);
}

static int no_such(ash_error *err)
{
    return ash__fail(err, ASH_ENOTFOUND, "there is no such token, or it is over");
}

static void digest_of(const char *secret, uint8_t out[ASH_DIGEST_MAX_BYTES])
{
    ash_digest *d = ash__digest_new(ASH_DIGEST_SHA256);
    ash_assert(d != NULL);
    ash__digest_add(d, secret, strlen(secret));
    ash__digest_finish(d, out);
    ash__digest_free(d);
}

/* ---- documents ---- */

static bool read_user_id(ash_doc doc, uint8_t out[16])
{
    uint8_t subtype;
    uint32_t len = 0;
    ash_value v = ash__doc_get(doc, "userId");
    const uint8_t *bytes = v.type == BSON_TYPE_BINARY ? ash__value_binary(v, &subtype, &len) : NULL;
    if (bytes == NULL || len != 16)
        return false;
    memcpy(out, bytes, 16);
    return true;
}

static int64_t time_of(ash_doc doc, const char *name)
{
    ash_value v = ash__doc_get(doc, name);
    return v.type == BSON_TYPE_DATE_TIME ? ash__value_int64(v) : 0;
}

/* false: nobody here made it. */
static bool read_token(ash_doc doc, ash_token *out)
{
    const char *id = ash__doc_utf8(doc, "_id", ""), *path = ash__doc_utf8(doc, "path", NULL);
    *out = (ash_token){0};
    unsigned expires = ash__doc_get(doc, "expires").type;
    if (strlen(id) != ID_DIGITS || !read_user_id(doc, out->user_id) ||
        (expires != BSON_TYPE_DATE_TIME && expires != BSON_TYPE_NULL))
        return false;
    memcpy(out->id, id, sizeof out->id);
    out->user = ash__strdup(ash__doc_utf8(doc, "user", ""));
    out->db = ash__strdup(ash__doc_utf8(doc, "db", ""));
    out->path = path != NULL ? ash__strdup(path) : NULL;
    out->created_ms = time_of(doc, "created");
    out->expires_ms = time_of(doc, "expires");
    out->used_ms = time_of(doc, "used");
    out->read_only = ash__value_truthy(ash__doc_get(doc, "readOnly"));
    return true;
}

static bool is_over(const ash_token *t)
{
    return t->expires_ms != 0 && t->expires_ms <= ash__clock_wall_ms();
}

static void write_token(ash_builder *b, const ash_token *t, const char *secret)
{
    uint8_t digest[ASH_DIGEST_MAX_BYTES];
    digest_of(secret, digest);
    ash__builder_begin(b);
    ash__builder_text(b, "_id", t->id);
    ash__builder_binary(b, "digest", BSON_SUBTYPE_BINARY, digest, DIGEST_BYTES);
    ash__builder_binary(b, "userId", BSON_SUBTYPE_UUID, t->user_id, sizeof t->user_id);
    ash__builder_text(b, "user", t->user);
    ash__builder_text(b, "db", t->db);
    ash__builder_date(b, "created", t->created_ms);
    if (t->expires_ms != 0)
        ash__builder_date(b, "expires", t->expires_ms);
    else
        ash__builder_null(b, "expires");
    ash__builder_bool(b, "readOnly", t->read_only);
    if (t->path != NULL)
        ash__builder_text(b, "path", t->path);
    ash__builder_end(b);
}

/* {user, db}, or {_id}; what is NULL is left out. */
static void write_filter(ash_builder *b, const char *id, const char *user, const char *db)
{
    ash__builder_begin(b);
    if (id != NULL)
        ash__builder_text(b, "_id", id);
    if (user != NULL) {
        ash__builder_text(b, "user", user);
        ash__builder_text(b, "db", db);
    }
    ash__builder_end(b);
}

static int open_tokens(ash_users *u, ash_collection **out, ash_error *err)
{
    return ash__user_collection(u, "system.tokens", out, err);
}

/* ---- making ---- */

static int prepare(ash_collection *c, ash_error *err)
{
    ash_builder b = ASH_BUILDER_INIT;
    bson_t specs;
    ash__builder_begin(&b);
    ash__builder_begin_doc(&b, "0");
    ash__builder_begin_doc(&b, "key");
    ash__builder_int32(&b, "expires", 1);
    ash__builder_end(&b);
    ash__builder_text(&b, "name", "expires_1");
    ash__builder_int32(&b, "expireAfterSeconds", 0);
    ash__builder_end(&b);
    ash__builder_end(&b);
    ash__doc_to_bson(ash__builder_doc(&b), &specs);
    int rc = ash_collection_create_indexes(c, &specs, NULL, NULL, err);
    ash__builder_release(&b);
    return rc;
}

static int check_room(ash_collection *c, const ash_token *t, ash_error *err)
{
    ash_builder b = ASH_BUILDER_INIT;
    bson_t filter;
    int64_t n = 0;
    write_filter(&b, NULL, t->user, t->db);
    ash__doc_to_bson(ash__builder_doc(&b), &filter);
    int rc = ash_collection_count(c, &filter, NULL, &n, err);
    ash__builder_release(&b);
    if (rc == 0 && n >= ASH_TOKENS_MAX)
        rc =
            ash__fail(err, ASH_EBUSY, "%.100s has %d tokens already", t->user, (int)ASH_TOKENS_MAX);
    return rc;
}

static int check_asked(const ash_token *t, ash_error *err)
{
    if (t->path != NULL && (t->path[0] != '/' || strlen(t->path) >= ASH_TOKEN_PATH_BYTES))
        return ash__fail(err, ASH_EINVAL,
                         "a token's path begins with '/', and has at most %d bytes",
                         (int)ASH_TOKEN_PATH_BYTES - 1);
    if (is_over(t))
        return ash__fail(err, ASH_EINVAL, "a token ends in time to come");
    return 0;
}

static int find_owner(ash_users *u, ash_token *t, ash_error *err)
{
    ash_user_id id = {&ash__user_kind, t->user, t->db};
    bson_t doc;
    int rc = ash__user_find(u, &id, &doc, err);
    if (rc != 0)
        return rc;
    if (!read_user_id(ash__doc_from_bson(&doc), t->user_id))
        rc = ash__fail(err, ASH_EUNSUPPORTED, "%.100s has no userId, which tokens go by", t->user);
    bson_destroy(&doc);
    return rc;
}

static int insert(ash_collection *c, const ash_token *t, const char *secret, ash_error *err)
{
    ash_insert_options o = ASH_INSERT_OPTIONS_INIT;
    ash_builder b = ASH_BUILDER_INIT;
    bson_t doc;
    o.op.durability = ASH_DURABILITY_EVERY;
    write_token(&b, t, secret);
    ash__doc_to_bson(ash__builder_doc(&b), &doc);
    int rc = ash_collection_insert_one(c, &doc, &o, err);
    ash__builder_release(&b);
    return rc;
}

int ash__token_create(ash_users *u, ash_token *t, char text[ASH_TOKEN_TEXT_BYTES], ash_error *err)
{
    uint8_t random[ID_DIGITS / 2 + SECRET_BYTES];
    char digits[2 * sizeof random + 1];
    ash_collection *c = NULL;
    int rc = check_asked(t, err);
    if (rc == 0)
        rc = find_owner(u, t, err);
    if (rc == 0)
        rc = open_tokens(u, &c, err);
    if (rc == 0)
        rc = prepare(c, err);
    if (rc == 0)
        rc = check_room(c, t, err);
    ash__random(random, sizeof random);
    ash__hex(random, sizeof random, digits);
    memcpy(t->id, digits, ID_DIGITS);
    t->id[ID_DIGITS] = '\0';
    t->created_ms = ash__clock_wall_ms();
    t->used_ms = 0;
    if (rc == 0)
        rc = insert(c, t, digits + ID_DIGITS, err);
    if (rc == 0) {
        memcpy(text, ASH_TOKEN_PREFIX, PREFIX_BYTES);
        memcpy(text + PREFIX_BYTES, digits, sizeof digits);
    }
    OPENSSL_cleanse(digits, sizeof digits);
    OPENSSL_cleanse(random, sizeof random);
    ash_collection_free(c);
    return rc;
}

/* ---- showing ---- */

static bool is_token(const char *text)
{
    return strlen(text) == ASH_TOKEN_TEXT_BYTES - 1 &&
           strncmp(text, ASH_TOKEN_PREFIX, PREFIX_BYTES) == 0 &&
           strspn(text + PREFIX_BYTES, "0123456789abcdef") ==
               ASH_TOKEN_TEXT_BYTES - 1 - PREFIX_BYTES;
}

/* In the same time, however much of it is right. */
static bool has_secret(ash_doc doc, const char *secret)
{
    uint8_t digest[ASH_DIGEST_MAX_BYTES], subtype;
    uint32_t len = 0;
    ash_value v = ash__doc_get(doc, "digest");
    const uint8_t *kept = v.type == BSON_TYPE_BINARY ? ash__value_binary(v, &subtype, &len) : NULL;
    digest_of(secret, digest);
    return kept != NULL && len == DIGEST_BYTES && CRYPTO_memcmp(kept, digest, DIGEST_BYTES) == 0;
}

static int find_by_id(ash_users *u, const char *id, bson_t *out, ash_error *err)
{
    ash_builder b = ASH_BUILDER_INIT;
    ash_collection *c = NULL;
    bson_t filter;
    write_filter(&b, id, NULL, NULL);
    ash__doc_to_bson(ash__builder_doc(&b), &filter);
    int rc = open_tokens(u, &c, err);
    if (rc == 0)
        rc = ash_collection_find_one(c, &filter, NULL, out, err);
    ash_collection_free(c);
    ash__builder_release(&b);
    return rc;
}

int ash__token_find(ash_users *u, const char *text, ash_token *out, ash_error *err)
{
    char id[ASH_TOKEN_ID_BYTES];
    bson_t doc;
    if (!is_token(text))
        return no_such(err);
    memcpy(id, text + PREFIX_BYTES, ID_DIGITS);
    id[ID_DIGITS] = '\0';
    int rc = find_by_id(u, id, &doc, err);
    if (rc != 0)
        return rc == ASH_ENOTFOUND ? no_such(err) : rc;
    ash_doc found = ash__doc_from_bson(&doc);
    bool good = has_secret(found, text + PREFIX_BYTES + ID_DIGITS) && read_token(found, out);
    bson_destroy(&doc);
    if (good && !is_over(out))
        return 0;
    if (good)
        ash__token_release(out);
    return no_such(err);
}

bool ash__token_lasts(ash_users *u, const char *id)
{
    ash_error err = ASH_ERROR_INIT;
    ash_token token;
    bson_t doc;
    if (find_by_id(u, id, &doc, &err) != 0)
        return false;
    bool good = read_token(ash__doc_from_bson(&doc), &token);
    bson_destroy(&doc);
    bool lasts = good && !is_over(&token);
    if (good)
        ash__token_release(&token);
    return lasts;
}

int ash__token_use(ash_users *u, const ash_token *t, ash_error *err)
{
    ash_builder filter = ASH_BUILDER_INIT, update = ASH_BUILDER_INIT;
    ash_collection *c = NULL;
    bson_t filter_bson, update_bson;
    int64_t now = ash__clock_wall_ms();
    if (now - t->used_ms < ASH_TOKEN_USED_MS)
        return 0;
    write_filter(&filter, t->id, NULL, NULL);
    ash__builder_begin(&update);
    ash__builder_begin_doc(&update, "$set");
    ash__builder_date(&update, "used", now);
    ash__builder_end(&update);
    ash__builder_end(&update);
    ash__doc_to_bson(ash__builder_doc(&filter), &filter_bson);
    ash__doc_to_bson(ash__builder_doc(&update), &update_bson);
    bson_value_t value = {.value_type = BSON_TYPE_DOCUMENT};
    value.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(&update_bson);
    value.value.v_doc.data_len = update_bson.len;
    int rc = open_tokens(u, &c, err);
    if (rc == 0)
        rc = ash_collection_update(c, &filter_bson, &value, NULL, NULL, err);
    ash_collection_free(c);
    ash__builder_release(&filter);
    ash__builder_release(&update);
    return rc;
}

/* ---- taking back, listing ---- */

int ash__token_remove(ash_users *u, const char *id, const char *user, const char *db,
                      ash_error *err)
{
    ash_builder b = ASH_BUILDER_INIT;
    ash_remove_options o = ASH_REMOVE_OPTIONS_INIT;
    ash_collection *c = NULL;
    bson_t filter;
    ash_write_result result;
    o.op.durability = ASH_DURABILITY_EVERY;
    ash_write_result_init(&result);
    write_filter(&b, id, user, db);
    ash__doc_to_bson(ash__builder_doc(&b), &filter);
    int rc = open_tokens(u, &c, err);
    if (rc == 0)
        rc = ash_collection_remove(c, &filter, &o, &result, err);
    if (rc == 0 && result.deleted == 0)
        rc = ash__fail(err, ASH_ENOTFOUND, "there is no token of the id %.60s", id);
    ash_write_result_release(&result);
    ash_collection_free(c);
    ash__builder_release(&b);
    return rc;
}

/* Whoever came after its user with the same name is another one.  last: the user who was looked for
 * last, as most have several tokens in a row; all zero if none was. */
static int look_for_user(ash_users *u, ash_token *t, ash_token *last, ash_error *err)
{
    ash_error what = ASH_ERROR_INIT;
    int rc = 0;
    if (last->user == NULL || strcmp(last->user, t->user) != 0 || strcmp(last->db, t->db) != 0) {
        ash__token_release(last);
        *last = (ash_token){.user = ash__strdup(t->user), .db = ash__strdup(t->db)};
        rc = find_owner(u, last, &what);
        last->is_orphan = rc != 0;
    }
    t->is_orphan = last->is_orphan || memcmp(last->user_id, t->user_id, sizeof t->user_id) != 0;
    return rc == ASH_EUNSUPPORTED ? 0 : ash__unless(ASH_ENOTFOUND, rc, &what, err);
}

static int tell_all(ash_users *u, ash_cursor *cursor, ash_token_fn fn, void *ctx, ash_error *err)
{
    ash_doc doc = ash__doc_empty;
    ash_token t, last = {0};
    int rc = 0;
    while (rc == 0 && (rc = ash_cursor_next(cursor, &doc, err)) == 0 && doc.data != NULL)
        if (read_token(doc, &t)) {
            if (!is_over(&t) && (rc = look_for_user(u, &t, &last, err)) == 0)
                rc = fn(ctx, &t, err);
            ash__token_release(&t);
        }
    ash__token_release(&last);
    return rc;
}

int ash__token_each(ash_users *u, const char *user, const char *db, ash_token_fn fn, void *ctx,
                    ash_error *err)
{
    ash_find_options o = ASH_FIND_OPTIONS_INIT;
    ash_builder filter = ASH_BUILDER_INIT, sort = ASH_BUILDER_INIT;
    ash_collection *c = NULL;
    ash_cursor *cursor = NULL;
    bson_t filter_bson, sort_bson;
    write_filter(&filter, NULL, user, db);
    ash__builder_begin(&sort);
    ash__builder_int32(&sort, "created", 1);
    ash__builder_int32(&sort, "_id", 1);
    ash__builder_end(&sort);
    ash__doc_to_bson(ash__builder_doc(&filter), &filter_bson);
    ash__doc_to_bson(ash__builder_doc(&sort), &sort_bson);
    o.sort = &sort_bson;
    int rc = open_tokens(u, &c, err);
    if (rc == 0)
        rc = ash_collection_find(c, &filter_bson, &o, &cursor, err);
    if (rc == 0)
        rc = tell_all(u, cursor, fn, ctx, err);
    ash_cursor_free(cursor);
    ash_collection_free(c);
    ash__builder_release(&filter);
    ash__builder_release(&sort);
    return rc;
}
