/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/content/contents.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/options.h"
#include "bucket/bucket.h"
#include "tree/codec/zstd.h"

#include <stdio.h>
#include <string.h>

static const int64_t RENEW_MS = 10 * 60 * 1000, ASK_TIME_MS = 60 * 1000;

/* ---- ids ---- */

bool ash__content_id_equal(const ash_content_id *a, const ash_content_id *b)
{
    return a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
}

static bool set_id(const uint8_t *bytes, uint32_t len, ash_content_id *out)
{
    *out = (ash_content_id){{0}, 0};
    if (len != 20 && len != 32)
        return false;
    memcpy(out->bytes, bytes, len);
    out->len = (uint8_t)len;
    return true;
}

bool ash__content_id_read(bson_iter_t *it, ash_content_id *out)
{
    return ash__content_id_from(ash__value_of_iter(it), out);
}

bool ash__content_id_from(ash_value v, ash_content_id *out)
{
    uint32_t len = 0;
    *out = (ash_content_id){{0}, 0};
    if (v.type != BSON_TYPE_BINARY)
        return false;
    const uint8_t *bytes = ash__value_binary_content(v, &len);
    return bytes != NULL && set_id(bytes, len, out);
}

void ash__content_id_hex(const ash_content_id *id, char hex[ASH_DIGEST_TEXT_BYTES])
{
    ash__hex(id->bytes, id->len, hex);
}

ash_digest *ash__content_digest_new(const ash_content_id *id)
{
    return ash__digest_new(id->len == 20 ? ASH_DIGEST_SHA1 : ASH_DIGEST_SHA256);
}

bool ash__content_digest_gives(ash_digest *digest, const ash_content_id *id)
{
    uint8_t made[ASH_DIGEST_MAX_BYTES];
    size_t len = ash__digest_finish(digest, made);
    ash__digest_free(digest);
    return len == id->len && memcmp(made, id->bytes, len) == 0;
}

int ash__content_fail(ash_error *err, int code, const ash_content_id *id, const char *what)
{
    char hex[ASH_DIGEST_TEXT_BYTES];
    ash__content_id_hex(id, hex);
    return ash__fail(err, code, "content %s %s", hex, what);
}

void ash__content_blame(const ash_content_id *id, ash_error *err)
{
    char hex[ASH_DIGEST_TEXT_BYTES];
    ash__content_id_hex(id, hex);
    if (err != NULL && strstr(err->text, hex) == NULL)
        ash__error_prefix(err, "content %s", hex);
}

/* ---- the object ---- */

static int open_bucket(ash_contents *c, const ash_contents_options *opts, ash_error *err)
{
    ash_bucket_options o = ASH_BUCKET_OPTIONS_INIT;
    o.db = opts->db;
    o.bucket_name = opts->bucket;
    char *chunks = ash__sprintf("%s.chunks", opts->bucket);
    char *files = ash__sprintf("%s.files", opts->bucket);
    char *attributes = ash__sprintf("%s.attributes", opts->bucket);
    int rc = ash_bucket_new(c->store, &o, &c->bucket, err);
    if (rc == 0)
        rc = ash_collection_new(c->store, opts->db, files, &c->files, err);
    if (rc == 0)
        rc = ash_collection_new(c->store, opts->db, chunks, &c->chunks, err);
    if (rc == 0)
        rc = ash_collection_new(c->store, opts->db, attributes, &c->attributes, err);
    ash__free(attributes);
    ash__free(files);
    ash__free(chunks);
    return rc;
}

int ash__contents_new(ash_store *store, const ash_contents_options *opts, ash_contents **out,
                      ash_error *err)
{
    ash_capabilities can = ASH_CAPABILITIES_INIT;
    ash_contents *c = ash__new(ash_contents);
    *out = NULL;
    ash__recent_init(&c->recent);
    c->store = store;
    c->digest = opts->digest;
    c->last_generation = opts->last_generation;
    c->piece_bytes = opts->piece_bytes > 0 && opts->piece_bytes < ASH_CONTENT_WHOLE_MAX
                         ? opts->piece_bytes
                         : ASH_CONTENT_WHOLE_MAX;
    c->renew_ms = opts->renew_ms > 0 ? opts->renew_ms : RENEW_MS;
    int rc = ash_store_capabilities(store, &can, err);
    c->serial = can.serial_transactions;
    c->replayed = can.replayed_transactions;
    c->transactions = can.transactions;
    if (rc == 0 && c->last_generation)
        rc = ash_collection_new(store, opts->db, opts->bucket, &c->files, err);
    else if (rc == 0)
        rc = open_bucket(c, opts, err);
    for (int i = 0; rc == 0 && i < 2; i++)
        if (opts->holders[i] != NULL)
            rc = ash_collection_new(store, opts->db, opts->holders[i], &c->holders[i], err);
    if (rc == 0)
        *out = c;
    else
        ash__contents_free(c);
    return rc;
}

void ash__contents_free(ash_contents *c)
{
    if (c == NULL)
        return;
    ash_collection_free(c->holders[0]);
    ash_collection_free(c->holders[1]);
    ash_collection_free(c->attributes);
    ash_collection_free(c->chunks);
    ash_collection_free(c->files);
    ash_bucket_free(c->bucket);
    ash__recent_release(&c->recent);
    for (int i = 0; i < ASH_SPARE_CODECS; i++)
        ash__zstd_free(atomic_load(&c->spare[i]));
    ash__free(c);
}

ash_zstd *ash__codec_take(ash_contents *c)
{
    ash_zstd *z = NULL;
    for (int i = 0; z == NULL && i < ASH_SPARE_CODECS; i++)
        z = atomic_exchange(&c->spare[i], NULL);
    return z != NULL ? z : ash__zstd_new();
}

void ash__codec_give(ash_contents *c, ash_zstd *z)
{
    for (int i = 0; z != NULL && i < ASH_SPARE_CODECS; i++)
        z = atomic_exchange(&c->spare[i], z);
    ash__zstd_free(z);
}

ash_digest_kind ash__contents_digest(const ash_contents *c)
{
    return c->digest;
}

const char *ash__contents_collection(const ash_contents *c)
{
    return ash_collection_name(c->files);
}

static void append_sparse(bson_t *specs, const char *nth, const char *field)
{
    bson_t spec, key;
    char *name = ash__sprintf("%s_1", field);
    bson_append_document_begin(specs, nth, -1, &spec);
    bson_append_document_begin(&spec, "key", 3, &key);
    bson_append_int32(&key, field, -1, 1);
    bson_append_document_end(&spec, &key);
    bson_append_utf8(&spec, "name", 4, name, -1);
    bson_append_bool(&spec, "sparse", 6, true);
    bson_append_document_end(specs, &spec);
    ash__free(name);
}

/* Who stands on a content, and who looks like one.  Sparse: most contents do neither. */
static int index_files(ash_contents *c, const ash_op *op, ash_error *err)
{
    bson_t specs = BSON_INITIALIZER;
    append_sparse(&specs, "0", "base._id");
    append_sparse(&specs, "1", "alt.base._id");
    append_sparse(&specs, "2", "features");
    int rc = ash_collection_create_indexes(c->files, &specs, op, NULL, err);
    bson_destroy(&specs);
    return rc;
}

static int check_keeper(ash_contents *c, const bson_t *found, ash_error *err)
{
    const char *mine = ash_collection_name(c->holders[0]);
    bson_iter_t it;
    if (bson_iter_init_find(&it, found, "collection") && BSON_ITER_HOLDS_UTF8(&it) &&
        strcmp(bson_iter_utf8(&it, NULL), mine) == 0)
        return 0;
    return ash__fail(err, ASH_EEXISTS,
                     "the contents in %s belong to the tree of another collection than %s: name "
                     "another bucket",
                     ash_bucket_name(c->bucket), mine);
}

/* A collection that asked only one of two trees would delete what the other one names: so a bucket
 * is for one of them, and BUCKET.tree says for which. */
static int take_bucket(ash_contents *c, const ash_op *op, ash_error *err)
{
    ash_find_and_modify_options o = ASH_FIND_AND_MODIFY_OPTIONS_INIT;
    char *name = ash__sprintf("%s.tree", ash_bucket_name(c->bucket));
    ash_collection *keeper = NULL;
    bson_t *filter = BCON_NEW("_id", BCON_UTF8("keeper")), found;
    bson_t *update = BCON_NEW("$setOnInsert", "{", "collection",
                              BCON_UTF8(ash_collection_name(c->holders[0])), "}");
    bson_value_t value = {.value_type = BSON_TYPE_DOCUMENT};
    bool any = false;
    value.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(update);
    value.value.v_doc.data_len = update->len;
    o.update = &value;
    o.upsert = o.return_new = true;
    int rc = ash__contents_op(op, &o.op, err);
    if (rc == 0)
        rc = ash_collection_new(c->store, ash_bucket_db(c->bucket), name, &keeper, err);
    if (rc == 0)
        rc = ash_collection_find_and_modify(keeper, filter, &o, &found, &any, NULL, err);
    if (rc == 0) {
        rc = check_keeper(c, &found, err);
        bson_destroy(&found);
    }
    bson_destroy(update);
    bson_destroy(filter);
    ash_collection_free(keeper);
    ash__free(name);
    return rc;
}

int ash__contents_prepare(ash_contents *c, const ash_op *op, ash_error *err)
{
    return atomic_load(&c->prepared) ? 0 : ash__contents_prepare_anew(c, op, err);
}

int ash__contents_prepare_anew(ash_contents *c, const ash_op *op, ash_error *err)
{
    if (c->last_generation)
        return ash__fail(err, ASH_EREADONLY, "contents of v7files' last generation are only read");
    const ash_work work = ash__work(c->bucket, op != NULL ? op->deadline_ms : 0);
    int rc = c->holders[0] != NULL ? take_bucket(c, op, err) : 0;
    if (rc == 0)
        rc = ash__bucket_index(&work, err);
    if (rc == 0)
        rc = index_files(c, op, err);
    if (rc == 0)
        rc = ash__contents_ask_time(c, err);
    if (rc == 0)
        atomic_store(&c->prepared, true);
    return rc;
}

int ash__contents_require_sound(ash_contents *c, ash_error *err)
{
    return c->bucket != NULL ? ash__bucket_require_sound(c->bucket, err) : 0;
}

/* ---- the time ---- */

int ash__contents_ask_time(ash_contents *c, ash_error *err)
{
    int64_t now = ash__clock_ms(), asked = atomic_load(&c->asked_ms), theirs = 0;
    if (asked != 0 && now - asked < ASK_TIME_MS)
        return 0;
    int rc = ash_store_time(c->store, &theirs, NULL, err);
    if (rc != 0)
        return rc;
    atomic_store(&c->ahead_ms, theirs - ash__clock_wall_ms());
    atomic_store(&c->asked_ms, now);
    return 0;
}

int64_t ash__contents_now_ms(const ash_contents *c)
{
    return ash__clock_wall_ms() + atomic_load(&c->ahead_ms);
}

void ash__contents_stamp(const ash_contents *c, bson_oid_t *out)
{
    bson_oid_init(out, NULL);
    ash__put_be32(out->bytes, (uint32_t)(ash__contents_now_ms(c) / 1000));
}

/* ---- requests ---- */

void ash__append_nth_id(bson_t *array, uint32_t i, const ash_content_id *id)
{
    char buf[ASH_KEY_CHARS];
    const char *key;
    bson_uint32_to_string(i, &key, buf, sizeof buf);
    ash__append_id(array, key, id);
}

void ash__filter_ids(bson_t *filter, const char *field, const ash_content_id *ids, size_t count)
{
    bson_t in, list;
    bson_append_document_begin(filter, field, -1, &in);
    bson_append_array_begin(&in, "$in", 3, &list);
    for (uint32_t i = 0; i < count; i++)
        ash__append_nth_id(&list, i, &ids[i]);
    bson_append_array_end(&in, &list);
    bson_append_document_end(filter, &in);
}

int ash__change_many(ash_collection *c, const ash_content_change *change, const ash_op *op,
                     int64_t *matched, ash_error *err)
{
    ash_update_options o = ASH_UPDATE_OPTIONS_INIT;
    ash_write_result result;
    bson_value_t value = {.value_type = BSON_TYPE_DOCUMENT};
    if (change->is_pipeline)
        value.value_type = BSON_TYPE_ARRAY;
    value.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(change->update);
    value.value.v_doc.data_len = change->update->len;
    o.multi = true;
    o.op = *op;
    ash_write_result_init(&result);
    int rc = ash_collection_update(c, change->filter, &value, &o, &result, err);
    if (matched != NULL)
        *matched = result.matched;
    ash_write_result_release(&result);
    return rc;
}

int ash__remove_many(ash_collection *c, const bson_t *filter, const ash_op *op, ash_error *err)
{
    ash_remove_options o = ASH_REMOVE_OPTIONS_INIT;
    o.op = *op;
    return ash_collection_remove(c, filter, &o, NULL, err);
}

int ash__contents_remove(ash_contents *c, const ash_content_id *ids, size_t count, const ash_op *op,
                         ash_error *err)
{
    bson_t files = BSON_INITIALIZER, chunks = BSON_INITIALIZER;
    ash__filter_ids(&files, "_id", ids, count);
    ash__filter_ids(&chunks, "files_id", ids, count);
    int rc = ash__remove_many(c->files, &files, op, err);
    if (rc == 0)
        rc = ash__remove_many(c->chunks, &chunks, op, err);
    if (rc == 0) /* the bucket has a row for each that it stored itself */
        rc = ash__remove_many(c->attributes, &files, op, err);
    bson_destroy(&chunks);
    bson_destroy(&files);
    return rc;
}

int ash__find_content(ash_contents *c, const ash_content_id *id, const ash_op *op, bson_t *out,
                      bool *found, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    ash_find_options o = ASH_FIND_OPTIONS_INIT;
    o.op = *op;
    ash__append_id(&filter, "_id", id);
    int rc = ash__collection_find_if_any(c->files, &filter, &o, out, found, err);
    bson_destroy(&filter);
    return rc;
}

int ash__contents_op(const ash_op *op, ash_op *out, ash_error *err)
{
    return ash__options_copy(out, sizeof *out, op, err);
}
