/* SPDX-License-Identifier: Apache-2.0 */
/* The bucket object, its options as each operation wants them, and the few calls on collections
 * that all of this folder is made of. */
#include "bucket/bucket.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/options.h"
#include "bson/compare.h"

#include <stdlib.h>
#include <string.h>

void *ash__bucket_alloc(size_t size_bytes, size_t alignment)
{
    void *p = NULL;
    ash_assert(posix_memalign(&p, alignment, size_bytes) == 0);
    return memset(p, 0, size_bytes);
}

/* What asks a deployment for more than its memory asks a folder for the disk. */
static bool write_concern_is_durable(const bson_t *concern)
{
    bson_iter_t it;
    if (bson_iter_init_find(&it, concern, "j") && bson_iter_as_bool(&it))
        return true;
    return bson_iter_init_find(&it, concern, "w") && BSON_ITER_HOLDS_UTF8(&it) &&
           strcmp(bson_iter_utf8(&it, NULL), "majority") == 0;
}

/* Each of the three is a small document whose fields a deployment checks in full; here only what
 * would be taken for something else later. */
static int check_concern(const bson_t *doc, const char *what, const char *field, bson_type_t type,
                         ash_error *err)
{
    bson_iter_t it;
    if (doc == NULL)
        return 0;
    if (!bson_validate(doc, BSON_VALIDATE_NONE, NULL))
        return ash__fail(err, ASH_EINVAL, "%s is not a valid document", what);
    if (bson_iter_init_find(&it, doc, field) && bson_iter_type(&it) != type)
        return ash__fail(err, ASH_EINVAL, "%s has a %s of the wrong type", what, field);
    return 0;
}

/* Without an answer nothing could be said about any write. */
static bool is_unacknowledged(const bson_t *concern)
{
    bson_iter_t it;
    return concern != NULL && bson_iter_init_find(&it, concern, "w") &&
           BSON_ITER_HOLDS_NUMBER(&it) && bson_iter_as_int64(&it) == 0;
}

static int check_options(const ash_bucket_options *o, ash_error *err)
{
    int rc = 0;
    if (o->chunk_size_bytes < 0 || o->chunk_size_bytes > ASH_CHUNK_SIZE_MAX)
        return ash__fail(err, ASH_EINVAL, "chunk size %d is not between 1 and %d bytes",
                         (int)o->chunk_size_bytes, ASH_CHUNK_SIZE_MAX);
    if (o->timeout_ms < 0)
        return ash__fail(err, ASH_EINVAL, "bucket timeout is negative");
    if (o->default_ttl_s < 0)
        return ash__fail(err, ASH_EINVAL, "bucket default time to live is negative");
    if (o->bucket_name != NULL && o->bucket_name[0] == '\0')
        return ash__fail(err, ASH_EINVAL, "bucket name is empty");
    rc = check_concern(o->read_concern, "read concern", "level", BSON_TYPE_UTF8, err);
    if (rc == 0)
        rc = check_concern(o->read_preference, "read preference", "mode", BSON_TYPE_UTF8, err);
    if (rc == 0)
        rc = check_concern(o->write_concern, "write concern", "j", BSON_TYPE_BOOL, err);
    if (rc == 0 && is_unacknowledged(o->write_concern))
        rc = ash__fail(err, ASH_EUNSUPPORTED, "write concern 0 leaves every outcome unknown");
    return rc;
}

static int open_collection(ash_bucket *b, const char *part, ash_collection **out, ash_error *err)
{
    char *name = ash__sprintf("%s.%s", b->name, part);
    int rc = ash_collection_new(b->store, b->db, name, out, err);
    if (rc != 0)
        ash__error_prefix(err, "bucket %s", b->name);
    ash__free(name);
    return rc;
}

static void copy_or_empty(const bson_t *from, bson_t *to)
{
    if (from != NULL)
        bson_copy_to(from, to);
    else
        bson_init(to);
}

int ash_bucket_new(ash_store *store, const ash_bucket_options *opts, ash_bucket **out,
                   ash_error *err)
{
    ash_assert(store != NULL && out != NULL);
    *out = NULL;
    ash_bucket_options o;
    int rc = ash__options_copy(&o, sizeof o, opts, err);
    if (rc == 0)
        rc = check_options(&o, err);
    if (rc != 0)
        return rc;
    ash_bucket *b = ash__bucket_new(ash_bucket);
    b->store = store;
    b->db = ash__strdup(o.db != NULL ? o.db : ash_store_default_db(store));
    b->name = ash__strdup(o.bucket_name != NULL ? o.bucket_name : "fs");
    b->chunk_size = o.chunk_size_bytes != 0 ? o.chunk_size_bytes : ASH_CHUNK_SIZE_DEFAULT;
    b->md5 = o.legacy_md5 && !o.disable_md5;
    b->timeout_ms = o.timeout_ms;
    b->default_ttl_s = o.default_ttl_s;
    copy_or_empty(o.read_concern, &b->read_concern);
    copy_or_empty(o.read_preference, &b->read_preference);
    copy_or_empty(o.write_concern, &b->write_concern);
    b->durability =
        write_concern_is_durable(&b->write_concern) ? ASH_DURABILITY_EVERY : ASH_DURABILITY_DEFAULT;
    rc = open_collection(b, "files", &b->files, err);
    if (rc == 0)
        rc = open_collection(b, "chunks", &b->chunks, err);
    if (rc == 0)
        rc = open_collection(b, "attributes", &b->attributes, err);
    if (rc != 0)
        ash_bucket_free(b);
    else
        *out = b;
    return rc;
}

void ash_bucket_free(ash_bucket *b)
{
    if (b == NULL)
        return;
    ash_collection_free(b->files);
    ash_collection_free(b->chunks);
    ash_collection_free(b->attributes);
    bson_destroy(&b->read_concern);
    bson_destroy(&b->read_preference);
    bson_destroy(&b->write_concern);
    for (int i = 0; i < ASH_SPARE_BLOCKS; i++)
        ash__free(atomic_load(&b->spare_blocks[i]));
    ash__free(b->db);
    ash__free(b->name);
    ash__free(b);
}

void *ash__bucket_block_take(ash_bucket *b)
{
    for (int i = 0; i < ASH_SPARE_BLOCKS; i++) {
        /* Whoever swaps a pointer out has it alone, so this takes no mutex. */
        void *block = atomic_exchange(&b->spare_blocks[i], NULL);
        if (block != NULL)
            return block;
    }
    return ash__try_alloc(ASH_BLOCK_OF_CHUNKS);
}

void ash__bucket_block_give(ash_bucket *b, void *block)
{
    for (int i = 0; block != NULL && i < ASH_SPARE_BLOCKS; i++) {
        void *none = NULL;
        if (atomic_compare_exchange_strong(&b->spare_blocks[i], &none, block))
            block = NULL;
    }
    ash__free(block);
}

const char *ash_bucket_name(const ash_bucket *b)
{
    return b->name;
}

const char *ash_bucket_db(const ash_bucket *b)
{
    return b->db;
}

int32_t ash_bucket_chunk_size_bytes(const ash_bucket *b)
{
    return b->chunk_size;
}

ash_store *ash_bucket_store(const ash_bucket *b)
{
    return b->store;
}

int ash__bucket_manner(ash_bucket *b, ash_commit_manner *out, ash_error *err)
{
    ash_capabilities caps = ASH_CAPABILITIES_INIT;
    int rc = ash_store_capabilities(b->store, &caps, err);
    if (rc != 0)
        return rc;
    *out = (ash_commit_manner){.in_process = caps.in_process,
                               .transactions = caps.transactions,
                               .serial = caps.serial_transactions,
                               .replayed = caps.replayed_transactions,
                               .pinned = caps.pinned_downloads};
    return 0;
}

int64_t ash__bucket_deadline(const ash_bucket *b, int64_t timeout_ms)
{
    return ash_deadline(timeout_ms != 0 ? timeout_ms : b->timeout_ms);
}

static const bson_t *given(const bson_t *doc)
{
    return bson_empty(doc) ? NULL : doc; /* {} stands for what was not given */
}

ash_work ash__work(ash_bucket *b, int64_t deadline_ms)
{
    return (ash_work){.bucket = b, .deadline_ms = deadline_ms};
}

ash_op ash__work_write_op(const ash_work *work)
{
    ash_op op = {.size = sizeof(ash_op),
                 .transaction = work->transaction,
                 .durability = work->bucket->durability,
                 .deadline_ms = work->deadline_ms};
    /* A transaction has its concern from its start to its commit. */
    if (work->transaction == NULL)
        op.write_concern = given(&work->bucket->write_concern);
    return op;
}

ash_update_options ash__work_update_options(const ash_work *work)
{
    ash_update_options o = ASH_UPDATE_OPTIONS_INIT;
    o.op = ash__work_write_op(work);
    return o;
}

ash_find_options ash__work_find_options(const ash_work *work)
{
    ash_find_options o = ASH_FIND_OPTIONS_INIT;
    o.op.transaction = work->transaction;
    o.op.deadline_ms = work->deadline_ms;
    if (work->transaction == NULL) {
        o.op.read_concern = given(&work->bucket->read_concern);
        o.op.read_preference = given(&work->bucket->read_preference);
    }
    return o;
}

int ash__deadline_check(int64_t deadline_ms, const char *what, ash_error *err)
{
    if (deadline_ms == 0 || ash__clock_ms() < deadline_ms)
        return 0;
    return ash__fail(err, ASH_ETIMEOUT, "%s did not end within its time limit", what);
}

int ash__collection_find_if_any(ash_collection *c, const bson_t *filter, const ash_find_options *o,
                                bson_t *out, bool *found, ash_error *err)
{
    ash_error own = ASH_ERROR_INIT;
    int rc = ash_collection_find_one(c, filter, o, out, &own);
    *found = rc == 0;
    /* Nothing found is no failure here, so it must not be written into the caller's error. */
    return ash__unless(ASH_ENOTFOUND, rc, &own, err);
}

int ash__collection_remove_all(ash_collection *c, const bson_t *filter, const ash_op *op,
                               int64_t *removed, ash_error *err)
{
    ash_remove_options o = ASH_REMOVE_OPTIONS_INIT;
    o.op = *op;
    ash_write_result r;
    ash_write_result_init(&r);
    int rc = ash_collection_remove(c, filter, &o, &r, err);
    if (rc == 0 && removed != NULL)
        *removed = r.deleted;
    ash_write_result_release(&r);
    return rc;
}

int ash__collection_change(ash_collection *c, const bson_t *filter, const bson_t *update,
                           const ash_update_options *opts, int64_t *matched, ash_error *err)
{
    bson_value_t value = {.value_type = BSON_TYPE_DOCUMENT};
    ash_write_result r;
    /* A view: the store only reads it. */
    value.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(update);
    value.value.v_doc.data_len = update->len;
    ash_write_result_init(&r);
    int rc = ash_collection_update(c, filter, &value, opts, &r, err);
    if (rc == 0 && matched != NULL)
        *matched = r.matched;
    ash_write_result_release(&r);
    return rc;
}

int ash__bucket_require_sound(ash_bucket *b, ash_error *err)
{
    bson_t action = BSON_INITIALIZER, out;
    ash_error own = ASH_ERROR_INIT;
    BSON_APPEND_INT32(&action, "sound", 1);
    int rc = ash_store_maintain(b->store, &action, NULL, NULL, &out, &own);
    bson_destroy(&action);
    if (rc == 0)
        bson_destroy(&out);
    /* Any other failure means that there is nobody to ask, as on a deployment. */
    if (rc == ASH_ECORRUPT)
        return ash__fail(err, rc, "%s", own.text);
    return 0;
}
