/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/content/write.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "tree/content/heal.h"
#include "tree/content/use.h"

#include <string.h>

enum {
    LOOKS = 5,
    HASHED_BYTES = 256 * 1024 /* handed to the hasher at once: a client's pieces are small */
};
static const size_t FIRST_BYTES = 16 * 1024;

void ash__plan_release(ash_plan *p)
{
    ash__free(p->packed);
    ash__free(p->parts);
    *p = (ash_plan){0};
}

int ash__content_writer_new(ash_contents *c, const ash_content_hint *hint, ash_content_writer **out,
                            ash_error *err)
{
    static const ash_content_hint nothing;
    unsigned kinds = c->digest | (c->digest == ASH_DIGEST_SHA1 ? ASH_DIGEST_SHA256 : 0);
    *out = NULL;
    if (hint == NULL)
        hint = &nothing;
    if (c->last_generation)
        return ash__fail(err, ASH_EREADONLY, "contents of v7files' last generation are only read");
    if (!c->transactions)
        return ash__fail(err, ASH_EUNSUPPORTED,
                         "contents are stored in transactions, "
                         "which the store does not have");
    ash_content_writer *w = ash__new(ash_content_writer);
    w->c = c;
    w->before = hint->before;
    w->most = (size_t)c->piece_bytes;
    w->filename = ash__strdup(hint->filename != NULL ? hint->filename : "");
    w->content_type = hint->content_type != NULL ? ash__strdup(hint->content_type) : NULL;
    w->hasher = ash__hasher_new();
    if (!ash__hasher_choose(w->hasher, kinds)) {
        ash__content_writer_free(w);
        return ash__fail(err, ASH_EUNSUPPORTED, "this machine does not make the digest");
    }
    *out = w;
    return 0;
}

static void give_codec(ash_content_writer *w)
{
    ash__codec_give(w->c, w->zstd);
    w->zstd = NULL;
}

void ash__content_writer_free(ash_content_writer *w)
{
    if (w == NULL)
        return;
    ash__hasher_free(w->hasher); /* before the bytes that it may be reading */
    if (w->blocks == NULL)
        ash__free(w->bytes);
    ash__blocks_free(w->blocks);
    ash__pieces_free(w->pieces);
    ash_upload_free(w->upload);
    give_codec(w);
    ash__plan_release(&w->plan);
    ash__free(w->filename);
    ash__free(w->content_type);
    ash__free(w);
}

/* ---- bytes ---- */

static int make_room(ash_content_writer *w, size_t wanted, ash_error *err)
{
    size_t capacity = w->capacity > 0 ? w->capacity : FIRST_BYTES;
    while (capacity < wanted)
        capacity *= 2;
    if (capacity > w->most)
        capacity = w->most;
    if (capacity <= w->capacity)
        return 0;
    ash__hasher_drain(w->hasher, 0);
    uint8_t *bigger = ash__try_resize(w->bytes, capacity);
    if (bigger == NULL)
        return ash__fail(err, ASH_ENOMEM, "no memory for a content of %zu bytes", wanted);
    ash__mem_large(bigger, capacity);
    w->bytes = bigger;
    w->capacity = capacity;
    return 0;
}

static int open_upload(ash_content_writer *w, ash_error *err)
{
    ash_upload_options o = ASH_UPLOAD_OPTIONS_INIT;
    o.id_at_end = true;
    o.without_digest = true;
    o.content_type = w->content_type;
    return ash_bucket_open_upload_stream(w->c->bucket, w->filename, &o, &w->upload, err);
}

static void hash_rest(ash_content_writer *w)
{
    if (w->hashed < w->len)
        ash__hasher_add(w->hasher, w->bytes + w->hashed, w->len - w->hashed);
    w->hashed = w->len;
}

/* The memory is full. */
static int hand_on(ash_content_writer *w, const ash_op *op, ash_error *err)
{
    int rc = ash__contents_prepare(w->c, op, err);
    hash_rest(w);
    if (rc == 0 && w->c->digest != ASH_DIGEST_SHA1)
        return ash__blocks_hand_on(w, op, err);
    if (rc == 0 && w->upload == NULL)
        rc = open_upload(w, err);
    if (rc == 0)
        rc = ash_upload_write(w->upload, w->bytes, w->len, err);
    ash__hasher_drain(w->hasher, 0);
    w->len = w->hashed = 0;
    return rc;
}

static int add_bytes(ash_content_writer *w, const uint8_t *at, size_t len, const ash_op *op,
                     ash_error *err)
{
    while (len > 0) {
        int rc = ash__op_check(op, err);
        if (rc == 0 && w->length >= ASH_CONTENT_BYTES_MAX)
            rc = ash__fail(err, ASH_ETOOBIG, "a content of more than 16 TiB is too long");
        if (rc == 0 && w->len == w->most)
            rc = hand_on(w, op, err);
        size_t room = w->most - w->len;
        size_t take = len < room ? len : room;
        if (rc == 0)
            rc = make_room(w, w->len + take, err);
        if (rc != 0)
            return rc;
        memcpy(w->bytes + w->len, at, take);
        w->len += take;
        if (w->len - w->hashed >= HASHED_BYTES)
            hash_rest(w);
        w->length += (int64_t)take;
        at += take;
        len -= take;
    }
    return 0;
}

/* A batch of pieces that could not be stored is gone, and its digest is in the whole's already:
 * whoever went on would name a content by bytes that it has not. */
static int say_failed(const ash_content_writer *w, ash_error *err)
{
    return ash__fail(err, w->failed, "bytes of the content could not be kept before");
}

int ash__content_writer_add(ash_content_writer *w, const void *data, size_t len, const ash_op *op,
                            ash_error *err)
{
    ash_op own;
    int rc = ash__contents_op(op, &own, err);
    if (rc == 0 && w->ended)
        rc = ash__fail(err, ASH_ESTATE, "content has ended already");
    if (rc == 0 && w->failed != 0)
        rc = say_failed(w, err);
    if (rc == 0)
        rc = w->failed = add_bytes(w, data, len, &own, err);
    return rc;
}

/* ---- the end of it ---- */

static void take_digest(ash_content_writer *w)
{
    ash__hasher_finish(w->hasher, &w->digests);
    const char *text = ash__digests_get(&w->digests, w->c->digest);
    w->id.len = (uint8_t)(strlen(text) / 2);
    bool read = ash__hex_read(text, w->id.len, w->id.bytes);
    ash_assert(read);
}

/* Once: what follows is repeated by a second seal. */
static int end(ash_content_writer *w, const ash_op *op, ash_error *err)
{
    int rc = 0;
    hash_rest(w);
    if (w->pieces != NULL)
        rc = ash__blocks_end(w, op, err);
    else if (w->upload != NULL)
        rc = ash_upload_write(w->upload, w->bytes, w->len, err);
    if (rc == 0 && w->upload != NULL)
        rc = ash_upload_seal(w->upload, err);
    if (rc != 0)
        return rc;
    take_digest(w);
    w->ended = true;
    int64_t most =
        w->c->digest == ASH_DIGEST_SHA1 ? ASH_IN_FILE_SHA1_BYTES : ASH_IN_FILE_SHA256_BYTES;
    w->in_file = w->length <= most && w->length == (int64_t)w->len && w->pieces == NULL;
    return 0;
}

/* What is there already is what came: by its bytes or, when those are not here any more, by the
 * SHA-256 that was made beside the SHA-1. */
typedef struct comparison {
    const ash_content_writer *w;
    ash_digest *sha256;
    int64_t at;
    bool same;
} comparison;

static void compare_some(comparison *k, const uint8_t *data, size_t len)
{
    const ash_content_writer *w = k->w;
    if (k->sha256 != NULL)
        ash__digest_add(k->sha256, data, len);
    else
        k->same =
            k->at + (int64_t)len <= (int64_t)w->len && memcmp(w->bytes + k->at, data, len) == 0;
    k->at += (int64_t)len;
}

static bool is_same(comparison *k)
{
    uint8_t bytes[ASH_DIGEST_MAX_BYTES];
    char hex[ASH_DIGEST_TEXT_BYTES];
    if (k->sha256 != NULL) {
        ash__hex(bytes, ash__digest_finish(k->sha256, bytes), hex);
        k->same = strcmp(hex, k->w->digests.sha256) == 0;
    }
    return k->same && k->at == k->w->length;
}

static int read_and_compare(ash_content_writer *w, const bson_t *doc, comparison *k,
                            const ash_op *op, ash_error *err)
{
    ash_fetch f;
    ash_source *s = NULL;
    uint8_t buf[16 * 1024];
    size_t got = 1;
    int rc = ash__fetch_init(&f, w->c, op, err);
    if (rc == 0)
        rc = ash__source_open_doc(&f, doc, &s, err);
    while (rc == 0 && k->same && got > 0) {
        rc = ash__source_read(s, buf, sizeof buf, &got, err);
        if (rc == 0)
            compare_some(k, buf, got);
    }
    ash__source_free(s);
    ash__fetch_release(&f);
    return rc;
}

/* Who has made a second content of a SHA-1 does not get the file of the first.  What cannot be read,
 * or has other bytes than a SHA-256 says, is damaged, and the right bytes are here. */
static int compare_bytes(ash_content_writer *w, const bson_t *doc, const ash_op *op, ash_error *err)
{
    comparison k = {.w = w, .same = true};
    char hex[ASH_DIGEST_TEXT_BYTES];
    k.sha256 = w->upload != NULL ? ash__digest_new(ASH_DIGEST_SHA256) : NULL;
    int rc = read_and_compare(w, doc, &k, op, err);
    bool same = rc == 0 && is_same(&k);
    ash__digest_free(k.sha256);
    w->damaged = rc == ASH_ECORRUPT || (rc == 0 && !same && w->id.len != 20);
    if (w->damaged)
        return 0;
    ash__content_id_hex(&w->id, hex);
    return rc == 0 && !same
               ? ash__fail(err, ASH_ECORRUPT, "content %s is there, but with other bytes", hex)
               : rc;
}

static int compare_existing(ash_content_writer *w, const bson_t *doc, const ash_op *op,
                            ash_error *err)
{
    ash_value date = ash__doc_get(ash__doc_from_bson(doc), "uploadDate");
    w->exists_date_ms =
        date.type == BSON_TYPE_DATE_TIME && w->id.len == 20 ? ash__value_int64(date) : INT64_MIN;
    /* What is damaged must not be acknowledged: who puts a file again means to have it. */
    return w->pieces != NULL ? ash__pieces_compare(w, doc, op, err)
                             : compare_bytes(w, doc, op, err);
}

static int look_for_existing(ash_content_writer *w, const ash_op *op, ash_error *err)
{
    int rc = ASH_ECONFLICT;
    /* A conflict: it went, or was stored anew, while it was read. */
    for (int i = 0; rc == ASH_ECONFLICT && i < LOOKS; i++) {
        bson_t doc;
        w->exists = w->damaged = false;
        rc = ash__find_content(w->c, &w->id, op, &doc, &w->exists, err);
        if (rc == 0 && w->exists) {
            rc = compare_existing(w, &doc, op, err);
            bson_destroy(&doc);
        }
    }
    w->has_heirs = false;
    if (rc == 0 && !w->exists)
        rc = ash__content_has_heirs(w->c, &w->id, &w->has_heirs, op, err);
    w->exists = w->exists && !w->damaged;
    return rc;
}

/* What is kept of it is too much for a transaction. */
static int store_ahead(ash_content_writer *w, ash_error *err)
{
    if (w->upload != NULL || w->plan.len <= ASH_IN_COMMIT_BYTES)
        return 0;
    int rc = open_upload(w, err);
    if (rc == 0)
        rc = ash_upload_write(w->upload, w->plan.data, w->plan.len, err);
    return rc == 0 ? ash_upload_seal(w->upload, err) : rc;
}

static int choose(ash_content_writer *w, const ash_op *op, ash_error *err)
{
    if (w->pieces != NULL)
        return 0;
    if (w->upload != NULL && w->plan.data == NULL) /* raw, from its first byte */
        return 0;
    ash_upload_free(w->upload);
    w->upload = NULL;
    ash__plan_release(&w->plan);
    int rc = ash__choose_form(w, op, err);
    return rc == 0 ? store_ahead(w, err) : rc;
}

int ash__content_writer_seal(ash_content_writer *w, const ash_op *op, ash_error *err)
{
    ash_op own;
    int rc = ash__contents_op(op, &own, err);
    w->sealed = false;
    if (rc == 0 && own.transaction != NULL)
        rc = ash__fail(err, ASH_ESTATE, "contents are sealed before the transaction");
    if (rc == 0)
        rc = ash__contents_prepare(w->c, &own, err);
    if (rc == 0 && w->failed != 0)
        rc = say_failed(w, err);
    if (rc == 0 && !w->ended)
        rc = w->failed = end(w, &own, err);
    if (rc == 0 && !w->in_file)
        rc = look_for_existing(w, &own, err);
    if (rc == 0 && !w->in_file && !w->exists)
        rc = choose(w, &own, err);
    give_codec(w); /* many may be sealed before one is stored */
    if (rc == 0)
        rc = ash__contents_ask_time(w->c, err);
    w->upload_date_ms = ash__contents_now_ms(w->c);
    w->sealed = rc == 0;
    return rc;
}

bool ash__content_writer_heals(const ash_content_writer *w)
{
    return w->sealed && !w->in_file && !w->exists;
}

void ash__content_writer_ref(const ash_content_writer *w, ash_content_ref *out)
{
    ash_assert(w->sealed);
    *out = (ash_content_ref){.length = w->length};
    if (w->in_file) {
        out->in = w->bytes;
        out->in_len = (uint32_t)w->len;
    } else {
        out->id = w->id;
    }
}
