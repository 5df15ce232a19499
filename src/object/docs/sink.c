/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes in: an upload, whose file becomes visible in the commit that shows the object. */
#include "object/docs/commit.h"

#include "base/mem.h"
#include "bucket/upload.h"
#include "object/docs/encoding.h"

#include <string.h>

/* To look early costs a round trip of a server elsewhere, and a folder a commit of what it has only
 * answered for: more than to put fewer bytes in vain. */
enum { LOOK_FROM = 1024 * 1024 };

typedef struct docs_sink {
    ash_object_sink sink;
    ash_docs *store;
    const ash_object *object; /* lent until the sink is sealed */
    ash_op op;
    const ash_object_change_options *opts; /* the request's */
    ash_digest_kind digest;
    char nuid[64];
    char *name; /* that the file was begun under */
    size_t chunk_size;
    ash_upload *upload;
    ash_encoder *encoder; /* NULL: bytes as they are */
    size_t unlooked;      /* bytes that came before the look */
    bool looked;
} docs_sink;

/* ---- opening ---- */

static int look_at_conditions(const docs_sink *k, ash_error *err)
{
    const ash_object_change_options *o = k->opts;
    ash_object *old = NULL;
    int64_t now = 0;
    if (!o->if_absent && o->if_revision == 0)
        return 0;
    int rc = ash__docs_find_name(k->store, k->object->name, &k->op, &old, err);
    if (rc == 0)
        rc = ash_store_time(k->store->manager->store, &now, NULL, err);
    uint64_t revision = old != NULL && !ash__docs_is_over(old, now) ? old->revision : 0;
    if (rc == 0 && o->if_absent && ash__docs_is_live(old, now))
        rc = ash__fail(err, ASH_ECONDITION, "there is an object %.200s", old->name);
    else if (rc == 0 && o->if_revision != 0 && o->if_revision != revision)
        rc = ash__fail(err, ASH_ECONDITION, "%.200s has another revision by now", k->object->name);
    ash_object_free(old);
    return rc;
}

static int look_at_store(ash_docs *s, const ash_op *op, ash_error *err)
{
    ash_docs_config c;
    int rc = ash__docs_config_own(s, op, &c, err);
    if (rc != 0)
        return rc;
    if (c.sealed)
        rc = ash__fail(err, ASH_EREADONLY, "object store %s is sealed", s->base.name);
    ash__docs_config_release(&c);
    return rc;
}

/* So that nobody sends a gigabyte in vain; the commit looks again. */
static int look_early(docs_sink *k, size_t len, ash_error *err)
{
    k->unlooked += len;
    if (k->looked || k->unlooked < LOOK_FROM)
        return 0;
    k->looked = true;
    int rc = look_at_store(k->store, &k->op, err);
    return rc == 0 ? look_at_conditions(k, err) : rc;
}

static int open_upload(docs_sink *k, const ash_object_put_request *r, ash_error *err)
{
    ash_upload_options o = ASH_UPLOAD_OPTIONS_INIT;
    bson_value_t id = {.value_type = BSON_TYPE_UTF8};
    id.value.v_utf8.str = k->nuid;
    id.value.v_utf8.len = (uint32_t)strlen(k->nuid);
    o.chunk_size_bytes = r->object->chunk_size;
    o.content_type = r->object->content_type;
    o.without_digest = k->encoder != NULL || k->digest != ASH_DIGEST_SHA256;
    o.digests = k->encoder == NULL && k->digest != ASH_DIGEST_SHA256 ? (unsigned)k->digest : 0;
    int rc = ash_bucket_open_upload_stream_with_id(k->store->bucket, &id, r->object->name, &o,
                                                   &k->upload, err);
    if (rc == 0 && r->id_is_new)
        ash__upload_note_new_id(k->upload);
    return rc;
}

int ash__docs_open_sink(ash_object_store *base, const ash_object_put_request *r,
                        ash_object_sink **out, ash_error *err)
{
    docs_sink *k = ash__new(docs_sink);
    k->store = ash__docs(base);
    k->object = r->object;
    k->op = *r->op;
    k->opts = r->opts;
    k->digest = r->digest;
    k->chunk_size = (size_t)r->object->chunk_size;
    k->name = ash__strdup(r->object->name);
    strncpy(k->nuid, r->object->nuid, sizeof k->nuid - 1);
    if (r->object->encoding != NULL)
        k->encoder = ash__encoder_new();
    k->sink.hashes = k->encoder == NULL;
    int rc = open_upload(k, r, err);
    if (rc != 0)
        ash__docs_sink_free(&k->sink);
    else
        *out = &k->sink;
    return rc;
}

/* ---- writing ---- */

static int write_encoded(docs_sink *k, const uint8_t *data, size_t len, ash_error *err)
{
    const void *frame;
    size_t frame_len;
    int rc = 0;
    while (rc == 0 && len > 0) {
        size_t take = len < k->chunk_size ? len : k->chunk_size;
        rc = ash__encoder_chunk(k->encoder, data, take, &frame, &frame_len, err);
        if (rc == 0)
            rc = ash_upload_write(k->upload, frame, frame_len, err);
        data += take;
        len -= take;
    }
    return rc;
}

int ash__docs_sink_write(ash_object_sink *base, const void *data, size_t len, ash_error *err)
{
    docs_sink *k = (docs_sink *)base;
    int rc = look_early(k, len, err);
    if (rc != 0)
        return rc;
    return k->encoder != NULL ? write_encoded(k, data, len, err)
                              : ash_upload_write(k->upload, data, len, err);
}

int ash__docs_sink_seal(ash_object_sink *base, ash_error *err)
{
    docs_sink *k = (docs_sink *)base;
    const void *table;
    size_t len;
    int rc = 0;
    if (k->encoder != NULL && ash_upload_position(k->upload) > 0) {
        ash__encoder_end(k->encoder, &table, &len);
        rc = ash_upload_write(k->upload, table, len, err);
    }
    return rc == 0 ? ash_upload_seal(k->upload, err) : rc;
}

int ash__docs_sink_digest(ash_object_sink *base, char out[64], ash_error *err)
{
    docs_sink *k = (docs_sink *)base;
    char hex[ASH_DIGEST_TEXT_BYTES];
    int rc = ash_upload_digest(k->upload, k->digest, hex, err);
    if (rc == 0)
        ash__digest_text_from_hex(k->digest, hex, out);
    return rc;
}

void ash__docs_sink_free(ash_object_sink *base)
{
    docs_sink *k = (docs_sink *)base;
    ash_upload_free(k->upload);
    ash__encoder_free(k->encoder);
    ash__free(k->name);
    ash__free(k);
}

/* ---- the commit ---- */

typedef struct put_call {
    docs_sink *sink;
    const ash_object *object; /* lent */
    ash_object *result;       /* of the last run */
    bool needed;              /* likewise: what the archive has, by others */
} put_call;

static int show_file(docs_sink *k, ash_docs_commit *c, ash_error *err)
{
    ash_finish_options o = ASH_FINISH_OPTIONS_INIT;
    o.transaction = c->op.transaction;
    return ash_upload_finish_with(k->upload, &o, NULL, NULL, err);
}

static void append_stored(const docs_sink *k, bson_t *set)
{
    if (k->encoder != NULL)
        BSON_APPEND_INT64(set, ASH_FIELD_STORED, ash_upload_position(k->upload));
}

static int put(ash_docs_commit *c, void *ctx, ash_error *err)
{
    put_call *call = ctx;
    bson_t set = BSON_INITIALIZER;
    ash_object *old = NULL;
    ash_object_free(call->result);
    call->result = NULL;
    int rc = ash__docs_find_name(c->store, call->object->name, &c->op, &old, err);
    if (rc == 0)
        rc = ash__commit_check(c, old, err);
    if (rc == 0) {
        ash__commit_stamp(c, &set);
        ash__commit_stamp_expiry(c, c->opts->ttl_ms, &set);
        append_stored(call->sink, &set);
        rc = ash__object_set(call->object, &set, &call->result, err);
    }
    if (rc == 0)
        rc = show_file(call->sink, c, err);
    if (rc == 0 && strcmp(call->sink->name, call->object->name) != 0)
        rc = ash__commit_rename_bytes(c, call->result, err);
    if (rc == 0)
        rc = ash__commit_replace(c, old, call->result, err);
    ash_object_free(old);
    bson_destroy(&set);
    return rc;
}

int ash__docs_sink_commit(ash_object_sink *base, const ash_object *object, const ash_op *op,
                          ash_object **out, ash_error *err)
{
    docs_sink *k = (docs_sink *)base;
    put_call call = {.sink = k, .object = object};
    ash_docs_change change = {.opts = k->opts, .op = op, .fn = put, .ctx = &call};
    int rc = ash__docs_commit(k->store, &change, err);
    if (rc != 0) {
        ash_object_free(call.result);
        call.result = NULL;
    }
    *out = call.result;
    return rc;
}

/* ---- bytes that come back from an archive ---- */

static int take_back(ash_docs_commit *c, void *ctx, ash_error *err)
{
    put_call *call = ctx;
    bson_t set = BSON_INITIALIZER;
    ash_object *old = NULL, *now = NULL;
    int rc = ash__docs_find_name(c->store, call->object->name, &c->op, &old, err);
    if (rc == 0 && (old == NULL || old->revision != call->object->revision))
        rc = ash__fail(err, ASH_ECONFLICT, "%.300s was changed meanwhile", call->object->name);
    if (rc == 0) {
        BSON_APPEND_NULL(&set, "archive");
        BSON_APPEND_UTF8(&set, "nuid", call->sink->nuid);
        if (call->sink->encoder != NULL)
            BSON_APPEND_UTF8(&set, "encoding", "zstd");
        else
            BSON_APPEND_NULL(&set, "encoding");
        append_stored(call->sink, &set);
        rc = ash__object_set(old, &set, &now, err);
    }
    if (rc == 0)
        rc = show_file(call->sink, c, err);
    if (rc == 0)
        rc = ash__commit_rewrite(c, old, now, err);
    if (rc == 0)
        rc = ash__commit_needs_archived(c, old->nuid, &call->needed, err);
    ash_object_free(old);
    ash_object_free(now);
    bson_destroy(&set);
    return rc;
}

int ash__docs_attach(ash_object_sink *base, const ash_object *object, const ash_op *op,
                     bool *needed, ash_error *err)
{
    docs_sink *k = (docs_sink *)base;
    put_call call = {.sink = k, .object = object};
    ash_docs_change change = {.op = op, .care = true, .fn = take_back, .ctx = &call};
    int rc = ash__docs_commit(k->store, &change, err);
    *needed = call.needed;
    return rc;
}
