/* SPDX-License-Identifier: Apache-2.0 */
/* Putting: bytes are gathered into whole chunks on their way to the backend's sink, and what they
 * come to is known before the commit. */
#include "object/said.h"
#include "object/transfer.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/options.h"
#include "bucket/hasher.h"

#include <string.h>

struct ash_object_writer {
    ash_object_store *store;
    ash_object_change_options opts; /* what it points to is the caller's until finish */
    ash_op op;
    ash_object *object; /* as it will be; with size, chunks and digest once sealed */
    ash_object_sink *sink;
    ash_hasher *hasher; /* NULL: the sink hashes */
    ash_digest_kind digest;
    uint8_t *part; /* of a chunk, so far */
    size_t part_len, chunk_size;
    int64_t size;
    bool sealed, failed, finished;
};

/* ---- opening ---- */

/* What is not said here is as the store has it. */
static void complete(const ash_object_store *s, ash_object_meta *m)
{
    if (m->chunk_size == 0)
        m->chunk_size = s->chunk_size > 0 ? s->chunk_size : ASH_OBJECT_CHUNK_SIZE_DEFAULT;
    if (m->digest == 0)
        m->digest = s->digest != 0 ? s->digest : ASH_DIGEST_SHA256;
    if (m->encoding == NULL)
        m->encoding = s->encode ? "zstd" : "none";
}

static int describe(const ash_object_store *s, const ash_object_meta *m, const char *nuid,
                    ash_object **out, ash_error *err)
{
    bson_t set = BSON_INITIALIZER, options;
    ash__object_set_meta(m, NULL, &set);
    BSON_APPEND_DOCUMENT_BEGIN(&set, "options", &options);
    BSON_APPEND_INT32(&options, "max_chunk_size", m->chunk_size);
    bson_append_document_end(&set, &options);
    BSON_APPEND_UTF8(&set, "bucket", s->name);
    BSON_APPEND_UTF8(&set, "nuid", nuid);
    if (strcmp(m->encoding, "none") != 0)
        BSON_APPEND_UTF8(&set, "encoding", m->encoding);
    int rc = ash__object_set(NULL, &set, out, err);
    bson_destroy(&set);
    return rc;
}

static int begin_digest(ash_object_writer *w, ash_error *err)
{
    if (w->sink->hashes)
        return 0;
    w->hasher = ash__hasher_new();
    if (ash__hasher_choose(w->hasher, (unsigned)w->digest))
        return 0;
    return ash__fail(err, ASH_EUNSUPPORTED, "this machine's OpenSSL does not have that digest");
}

/* m: checked.  The options are in w. */
static int open_sink(ash_object_writer *w, ash_object_meta *m, const char *nuid, bool is_new,
                     ash_error *err)
{
    ash_object_store *s = w->store;
    complete(s, m);
    int rc = describe(s, m, nuid, &w->object, err);
    ash_object_put_request request = {.object = w->object,
                                      .opts = &w->opts,
                                      .digest = m->digest,
                                      .id_is_new = is_new,
                                      .op = &w->op};
    if (rc == 0)
        rc = s->manager->ops->open_sink(s, &request, &w->sink, err);
    if (rc != 0)
        return rc;
    w->sink->store = s;
    w->digest = m->digest;
    w->chunk_size = (size_t)m->chunk_size;
    return begin_digest(w, err);
}

static ash_object_writer *new_writer(ash_object_store *s, const ash_op *op)
{
    ash_object_writer *w = ash__new(ash_object_writer);
    w->store = s;
    w->op = ash__op_of(op);
    return w;
}

static int hand_out(int rc, ash_object_writer *w, ash_object_writer **out)
{
    if (rc == 0)
        *out = w;
    else
        ash_object_writer_free(w);
    return rc;
}

int ash_object_store_open_writer(ash_object_store *s, const ash_object_meta *meta,
                                 const ash_object_change_options *opts, const ash_op *op,
                                 ash_object_writer **out, ash_error *err)
{
    ash_object_meta m;
    char nuid[ASH_NUID_TEXT_BYTES];
    ash_assert(s != NULL && meta != NULL && out != NULL);
    *out = NULL;
    ash_object_writer *w = new_writer(s, op);
    int rc = ash__object_meta_copy(s, &m, meta, true, err);
    if (rc == 0)
        rc = ash__object_change_options_copy(s, &w->opts, opts, err);
    if (rc == 0)
        rc = ash__object_outside(&w->op, err);
    ash__nuid(nuid);
    if (rc == 0)
        rc = open_sink(w, &m, nuid, true, err);
    return hand_out(rc, w, out);
}

/* ---- of an object that is named at its end ---- */

static int check_nuid(const char *nuid, ash_error *err)
{
    size_t len = strspn(nuid, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_");
    if (len > 0 && len < 64 && nuid[len] == '\0')
        return 0;
    return ash__fail(err, ASH_EINVAL, "that is no NUID: %.64s", nuid);
}

int ash__object_open_put(ash_object_store *s, const char *nuid, int32_t chunk_size,
                         const ash_op *op, ash_object_writer **out, ash_error *err)
{
    ash_object_meta m = ASH_OBJECT_META_INIT;
    *out = NULL;
    ash_object_writer *w = new_writer(s, op);
    m.name = nuid; /* for now */
    m.chunk_size = chunk_size;
    m.digest = ASH_DIGEST_SHA256;
    int rc = check_nuid(nuid, err);
    if (rc == 0)
        rc = ash__object_meta_check(&m, true, err);
    if (rc == 0)
        rc = ash__object_change_options_copy(s, &w->opts, NULL, err);
    if (rc == 0)
        rc = open_sink(w, &m, nuid, false, err);
    return hand_out(rc, w, out);
}

int64_t ash__object_put_size(const ash_object_writer *w)
{
    return w->size;
}

static int compare_said(const ash_object_writer *w, const ash_object *said, ash_error *err)
{
    ash_digest_kind kind;
    uint8_t bytes[32];
    char text[64];
    size_t len;
    if (!ash__digest_parse(said->digest, &kind, bytes, &len))
        return ash__fail(err, ASH_EINVAL, "that is no digest: %.63s", said->digest);
    ash__digest_text(kind, bytes, text);
    if (strcmp(text, w->object->digest) == 0)
        return 0;
    return ash__fail(err, ASH_ECORRUPT, "the bytes that came do not give the digest of %.200s",
                     said->name);
}

/* The info as it was said, with what is known of the bytes.  A single chunk may be taken for one of
 * any size; several that are encoded are of the size that they were stored in. */
static int describe_said(const ash_object_writer *w, const ash_object *said, ash_object **out,
                         ash_error *err)
{
    bson_t set = BSON_INITIALIZER, options;
    int64_t chunk = ash_object_chunk_size(said);
    if (w->object->encoding != NULL && w->size > chunk)
        chunk = (int64_t)w->chunk_size;
    BSON_APPEND_DOCUMENT_BEGIN(&set, "options", &options);
    BSON_APPEND_INT32(&options, "max_chunk_size", (int32_t)chunk);
    bson_append_document_end(&set, &options);
    BCON_APPEND(&set, "bucket", BCON_UTF8(w->store->name), "nuid", BCON_UTF8(w->object->nuid),
                "size", BCON_INT64(w->size), "chunks", BCON_INT64((w->size + chunk - 1) / chunk),
                "digest", BCON_UTF8(w->object->digest));
    if (w->object->encoding != NULL)
        BSON_APPEND_UTF8(&set, "encoding", w->object->encoding);
    ash__object_unsay(said, &set);
    int rc = ash__object_set(said, &set, out, err);
    bson_destroy(&set);
    return rc;
}

static int check_said(const ash_object_writer *w, const ash_object *said, ash_error *err)
{
    ash_object_said s;
    ash__object_said_meta(said, &s);
    s.meta.chunk_size = said->chunk_size;
    int rc = ash__object_meta_check(&s.meta, true, err);
    if (rc == 0 && (said->deleted || said->link_store != NULL))
        rc = ash__fail(err, ASH_EINVAL, "%.200s has no bytes, and some came", said->name);
    if (rc == 0 && said->document->len > ASH_OBJECT_META_MAX + 4096)
        rc = ash__fail(err, ASH_ETOOBIG, "what is said of %.200s is over %d bytes", said->name,
                       ASH_OBJECT_META_MAX);
    if (rc == 0 && said->size != w->size)
        rc = ash__fail(err, ASH_ECORRUPT, "%.200s has %lld bytes, and %lld came", said->name,
                       (long long)said->size, (long long)w->size);
    return rc;
}

int ash__object_finish_put(ash_object_writer *w, const ash_object *said,
                           const ash_object_change_options *opts, ash_object **out, ash_error *err)
{
    ash_object *object = NULL;
    *out = NULL;
    if (w->finished)
        return ash__fail(err, ASH_ESTATE, "the writer has finished");
    int rc = ash__object_change_options_copy(w->store, &w->opts, opts, err);
    if (rc == 0)
        rc = check_said(w, said, err);
    if (rc == 0)
        rc = ash_object_writer_seal(w, err);
    if (rc == 0)
        rc = compare_said(w, said, err);
    if (rc == 0)
        rc = describe_said(w, said, &object, err);
    if (rc == 0)
        rc = w->store->manager->ops->sink_commit(w->sink, object, &w->op, out, err);
    w->finished = rc == 0;
    ash_object_free(object);
    return rc;
}

/* ---- writing ---- */

static int pass_on(ash_object_writer *w, const void *data, size_t len, ash_error *err)
{
    if (w->hasher != NULL)
        ash__hasher_add(w->hasher, data, len);
    int rc = w->store->manager->ops->sink_write(w->sink, data, len, err);
    if (w->hasher != NULL)
        ash__hasher_drain(w->hasher, 0);
    return rc;
}

static int fill_part(ash_object_writer *w, const uint8_t **data, size_t *len, ash_error *err)
{
    size_t take = w->chunk_size - w->part_len;
    if (take > *len)
        take = *len;
    if (w->part == NULL) {
        w->part = ash__try_alloc(w->chunk_size);
        if (w->part == NULL)
            return ash__fail(err, ASH_ENOMEM, "no memory for a chunk of %zu bytes", w->chunk_size);
    }
    memcpy(w->part + w->part_len, *data, take);
    w->part_len += take;
    *data += take;
    *len -= take;
    if (w->part_len < w->chunk_size)
        return 0;
    w->part_len = 0;
    return pass_on(w, w->part, w->chunk_size, err);
}

int ash_object_writer_write(ash_object_writer *w, const void *data, size_t len, ash_error *err)
{
    const uint8_t *at = data;
    int rc = 0;
    if (w->failed || w->sealed)
        return ash__fail(err, ASH_ESTATE, "the writer takes no more bytes");
    size_t total = len;
    rc = ash__op_check(&w->op, err);
    if (rc == 0 && w->part_len > 0 && len > 0)
        rc = fill_part(w, &at, &len, err);
    size_t whole = len - len % w->chunk_size;
    if (rc == 0 && whole > 0) {
        rc = pass_on(w, at, whole, err);
        at += whole;
        len -= whole;
    }
    if (rc == 0 && len > 0)
        rc = fill_part(w, &at, &len, err);
    w->failed = rc != 0;
    if (rc == 0)
        w->size += (int64_t)total;
    return rc;
}

/* ---- the end ---- */

static int learn_digest(ash_object_writer *w, char out[64], ash_error *err)
{
    ash_digests d;
    if (w->hasher == NULL)
        return w->store->manager->ops->sink_digest(w->sink, out, err);
    ash__hasher_finish(w->hasher, &d);
    ash__digest_text_from_hex(w->digest, ash__digests_get(&d, w->digest), out);
    return 0;
}

static int describe_bytes(ash_object_writer *w, const char *digest, ash_error *err)
{
    int64_t chunk = (int64_t)w->chunk_size;
    bson_t set = BSON_INITIALIZER;
    ash_object *object = NULL;
    BCON_APPEND(&set, "size", BCON_INT64(w->size), "chunks",
                BCON_INT64((w->size + chunk - 1) / chunk), "digest", BCON_UTF8(digest));
    int rc = ash__object_set(w->object, &set, &object, err);
    bson_destroy(&set);
    if (rc == 0) {
        ash_object_free(w->object);
        w->object = object;
    }
    return rc;
}

int ash_object_writer_seal(ash_object_writer *w, ash_error *err)
{
    char digest[64];
    int rc = 0;
    if (w->sealed)
        return 0;
    if (w->failed)
        return ash__fail(err, ASH_ESTATE, "the writer failed before");
    if (w->part_len > 0)
        rc = pass_on(w, w->part, w->part_len, err);
    w->part_len = 0;
    if (rc == 0)
        rc = w->store->manager->ops->sink_seal(w->sink, err);
    if (rc == 0)
        rc = learn_digest(w, digest, err);
    if (rc == 0)
        rc = describe_bytes(w, digest, err);
    w->sealed = rc == 0;
    w->failed = rc != 0;
    return rc;
}

static int finish_op(const ash_object_writer *w, const ash_op *op, ash_op *out, ash_error *err)
{
    *out = op != NULL ? ash__op_of(op) : w->op;
    if (out->transaction == NULL)
        return 0;
    if (!w->store->manager->can.transactions)
        return ash__fail(err, ASH_ESTATE, "this cannot be part of a transaction");
    return w->sealed
               ? 0
               : ash__fail(err, ASH_ESTATE, "in a transaction, the writer has to be sealed before");
}

int ash_object_writer_finish(ash_object_writer *w, const ash_op *op, ash_object **out,
                             ash_error *err)
{
    ash_op own;
    ash_object *object = NULL;
    if (out != NULL)
        *out = NULL;
    if (w->finished)
        return ash__fail(err, ASH_ESTATE, "the writer has finished");
    int rc = finish_op(w, op, &own, err);
    if (rc == 0)
        rc = ash_object_writer_seal(w, err);
    if (rc == 0)
        rc = w->store->manager->ops->sink_commit(w->sink, w->object, &own, &object, err);
    if (rc != 0)
        return rc;
    w->finished = own.transaction == NULL; /* which may come to nothing, or run again */
    if (out != NULL)
        *out = object;
    else
        ash_object_free(object);
    return 0;
}

void ash_object_writer_free(ash_object_writer *w)
{
    if (w == NULL)
        return;
    if (w->sink != NULL)
        w->store->manager->ops->sink_free(w->sink);
    ash__hasher_free(w->hasher);
    ash_object_free(w->object);
    ash__free(w->part);
    ash__free(w);
}

const ash_object *ash__object_writer_object(const ash_object_writer *w)
{
    return w->object;
}

ash_object_sink *ash__object_writer_sink(const ash_object_writer *w)
{
    return w->sink;
}

/* ---- in one call ---- */

enum { PIECE = 1024 * 1024 };

static int write_all(ash_object_writer *w, const ash_input *in, ash_error *err)
{
    uint8_t *piece = ash__try_alloc(PIECE);
    int rc = 0;
    if (piece == NULL)
        return ash__fail(err, ASH_ENOMEM, "no memory for %d bytes", PIECE);
    while (rc == 0) {
        int64_t got = in->read(in->ctx, piece, PIECE, err);
        if (got <= 0) {
            rc = (int)got;
            break;
        }
        rc = ash_object_writer_write(w, piece, (size_t)got, err);
    }
    ash__free(piece);
    return rc;
}

int ash_object_store_put(ash_object_store *s, const ash_object_meta *meta, const ash_input *in,
                         const ash_object_change_options *opts, const ash_op *op, ash_object **out,
                         ash_error *err)
{
    ash_object_writer *w = NULL;
    ash_assert(in != NULL);
    if (out != NULL)
        *out = NULL;
    int rc = ash_object_store_open_writer(s, meta, opts, op, &w, err);
    if (rc == 0)
        rc = write_all(w, in, err);
    if (rc == 0)
        rc = ash_object_writer_finish(w, NULL, out, err);
    ash_object_writer_free(w);
    return rc;
}

int ash_object_store_put_bytes(ash_object_store *s, const ash_object_meta *meta, const void *data,
                               size_t len, const ash_object_change_options *opts, const ash_op *op,
                               ash_object **out, ash_error *err)
{
    ash_object_writer *w = NULL;
    ash_assert(data != NULL || len == 0);
    if (out != NULL)
        *out = NULL;
    int rc = ash_object_store_open_writer(s, meta, opts, op, &w, err);
    if (rc == 0)
        rc = ash_object_writer_write(w, data, len, err);
    if (rc == 0)
        rc = ash_object_writer_finish(w, NULL, out, err);
    ash_object_writer_free(w);
    return rc;
}
