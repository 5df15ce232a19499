/* SPDX-License-Identifier: Apache-2.0 */
/* Getting: which bytes of which object, and whether they are what they should be. */
#include "object/core.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/options.h"

#include <inttypes.h>
#include <string.h>

struct ash_object_reader {
    ash_object_found found;
    ash_object_store *source_store; /* its archive, or where it was found */
    ash_object_found kept;          /* the archive's object */
    ash_object_source *source;      /* NULL: there are no bytes to read */
    ash_digest *digest;             /* while it can still be compared */
    ash_op op;
    int64_t start, end, at;
    bool failed;
};

enum { TRIES = 5 }; /* an object that is replaced that often between two looks is somebody's game */

/* ---- info ---- */

static int copy_options(const ash_object_store *s, const ash_object_read_options *opts,
                        ash_object_read_options *o, ash_error *err)
{
    int rc = ash__options_copy(o, sizeof *o, opts, err);
    if (rc == 0 && o->revision != 0)
        rc = ash__object_require(s->manager, s->manager->can.versions, "versions", err);
    if (rc == 0 && o->has_chunk && (o->start != 0 || o->end != 0))
        rc = ash__fail(err, ASH_EINVAL, "a chunk by its number, or start and end");
    if (rc == 0 && o->follow && o->no_follow)
        rc = ash__fail(err, ASH_EINVAL, "follow and no_follow exclude each other");
    return rc;
}

int ash_object_store_info(ash_object_store *s, const char *name,
                          const ash_object_read_options *opts, const ash_op *op, ash_object **out,
                          ash_error *err)
{
    ash_object_read_options o;
    ash_object_found found;
    ash_assert(s != NULL && name != NULL);
    if (out != NULL)
        *out = NULL;
    ash_op own = ash__op_of(op);
    int rc = ash__object_name_check(name, err);
    if (rc == 0)
        rc = copy_options(s, opts, &o, err);
    if (rc == 0)
        rc = ash__object_find(s, name, &o, &own, &found, err);
    if (rc != 0)
        return rc;
    if (out != NULL) {
        *out = found.object;
        found.object = NULL;
    }
    ash__object_found_release(&found);
    return 0;
}

/* ---- opening ---- */

static int check_range(const ash_object *object, const ash_object_read_options *o,
                       ash_object_reader *r, ash_error *err)
{
    r->start = o->start;
    r->end = o->end != 0 ? o->end : object->size;
    if (o->has_chunk) {
        int64_t size = ash_object_chunk_size(object);
        if (o->chunk < 0 || o->chunk >= object->chunks || object->size / size < o->chunk)
            return ash__fail(err, ASH_EINVAL, "%.200s has no chunk %" PRId64 ", but %" PRId64,
                             object->name, o->chunk, object->chunks);
        r->start = o->chunk * size;
        r->end = object->size - r->start < size ? object->size : r->start + size;
    }
    if (r->start >= 0 && r->start <= r->end && r->end <= object->size)
        return 0;
    return ash__fail(err, ASH_EINVAL,
                     "bytes %" PRId64 " to %" PRId64 " are not within the %" PRId64 " of %.200s",
                     r->start, r->end, object->size, object->name);
}

/* The bytes are here, or in the archive under a name of their own. */
static int find_bytes(ash_object_reader *r, const ash_op *op, ash_error *err)
{
    const ash_object *object = r->found.object;
    ash_object_store *archive = r->found.where->archive;
    r->source_store = r->found.where;
    if (object->archive_store == NULL)
        return 0;
    if (archive == NULL)
        return ash__fail(err, ASH_ESTATE,
                         "the bytes of %.200s are in the archive %.128s, which is not attached",
                         object->name, object->archive_store);
    static const ash_object_read_options live = ASH_OBJECT_READ_OPTIONS_INIT;
    int rc = ash__object_find(archive, object->archive_name, &live, op, &r->kept, err);
    if (rc == 0 && r->kept.object->size != object->size)
        rc = ash__fail(err, ASH_ECORRUPT, "what the archive has of %.200s has another size",
                       object->name);
    if (rc == ASH_ENOTFOUND)
        rc = ash__fail(err, ASH_ECHUNKMISSING,
                       "the archive %.128s does not have the bytes of %.200s",
                       object->archive_store, object->name);
    r->source_store = r->kept.where;
    return rc;
}

static int open_bytes(ash_object_reader *r, const ash_op *op, ash_error *err)
{
    int rc = find_bytes(r, op, err);
    if (rc != 0 || r->start == r->end)
        return rc;
    const ash_object *object = r->kept.object != NULL ? r->kept.object : r->found.object;
    const ash_object_ops *ops = r->source_store->manager->ops;
    rc = ops->open_source(r->source_store, object, op, &r->source, err);
    if (rc == 0) {
        r->source->store = r->source_store;
        if (r->start > 0)
            rc = ops->source_seek(r->source, r->start, err);
    }
    return rc;
}

/* Only what is read from its first byte to its last can be compared; and what says nothing. */
static int begin_digest(ash_object_reader *r, const ash_object_read_options *o, ash_error *err)
{
    const ash_object *object = r->found.object;
    ash_digest_kind kind;
    uint8_t bytes[32];
    size_t len;
    bool whole = r->start == 0 && r->end == object->size && !object->deleted;
    if (!whole || o->unverified || object->digest[0] == '\0')
        return 0;
    if (ash__digest_parse(object->digest, &kind, bytes, &len))
        r->digest = ash__digest_new(kind);
    if (r->digest == NULL)
        return ash__fail(err, ASH_ECORRUPT,
                         "the digest of %.200s is in no notation that is known: its bytes cannot "
                         "be compared",
                         object->name);
    return 0;
}

static int open_once(ash_object_store *s, const char *name, const ash_object_read_options *o,
                     const ash_op *op, ash_object_reader *r, ash_error *err)
{
    int rc = ash__object_find(s, name, o, op, &r->found, err);
    if (rc == 0)
        rc = check_range(r->found.object, o, r, err);
    if (rc == 0)
        rc = open_bytes(r, op, err);
    if (rc == 0) {
        r->at = r->start;
        rc = begin_digest(r, o, err);
    }
    return rc;
}

int ash_object_store_open_reader(ash_object_store *s, const char *name,
                                 const ash_object_read_options *opts, const ash_op *op,
                                 ash_object_reader **out, ash_error *err)
{
    ash_object_read_options o;
    ash_assert(s != NULL && name != NULL);
    if (out != NULL)
        *out = NULL;
    ash_op own = ash__op_of(op);
    int rc = ash__object_name_check(name, err);
    if (rc == 0)
        rc = copy_options(s, opts, &o, err);
    if (rc == 0)
        rc = ash__object_outside(&own, err);
    if (rc != 0)
        return rc;
    o.follow = !o.no_follow;
    rc = ASH_ECONFLICT;
    for (int i = 0; rc == ASH_ECONFLICT && i < TRIES; i++) {
        ash_object_reader *r = ash__new(ash_object_reader);
        r->op = own;
        rc = open_once(s, name, &o, &own, r, err);
        if (rc == 0)
            *out = r;
        else
            ash_object_reader_free(r);
    }
    return rc;
}

const ash_object *ash_object_reader_object(const ash_object_reader *r)
{
    return r->found.object;
}

void ash_object_reader_free(ash_object_reader *r)
{
    if (r == NULL)
        return;
    if (r->source != NULL)
        r->source_store->manager->ops->source_free(r->source);
    ash__digest_free(r->digest);
    ash__object_found_release(&r->kept);
    ash__object_found_release(&r->found);
    ash__free(r);
}

/* ---- reading ---- */

/* At the end of what was read whole. */
static int compare_digest(ash_object_reader *r, ash_error *err)
{
    uint8_t bytes[32], wanted[32];
    ash_digest_kind kind;
    size_t len = 0;
    if (r->digest == NULL || r->at < r->end)
        return 0;
    size_t got = ash__digest_finish(r->digest, bytes);
    ash__digest_free(r->digest);
    r->digest = NULL;
    if (ash__digest_parse(r->found.object->digest, &kind, wanted, &len) && len == got &&
        memcmp(bytes, wanted, len) == 0)
        return 0;
    r->failed = true;
    return ash__fail(err, ASH_ECORRUPT, "the bytes of %.200s do not give its digest",
                     r->found.object->name);
}

int ash_object_reader_read(ash_object_reader *r, void *buf, size_t len, size_t *got, ash_error *err)
{
    const ash_object_ops *ops = r->source_store->manager->ops;
    *got = 0;
    if (r->failed)
        return ash__fail(err, ASH_ESTATE, "the reader failed before");
    int rc = ash__op_check(&r->op, err);
    if (rc == 0 && r->at < r->end && len > 0) {
        if ((int64_t)len > r->end - r->at)
            len = (size_t)(r->end - r->at);
        rc = ops->source_read(r->source, buf, len, got, err);
        if (rc == 0 && *got == 0)
            rc = ash__fail(err, ASH_ECORRUPT, "%.200s ends after %" PRId64 " of %" PRId64 " bytes",
                           r->found.object->name, r->at, r->found.object->size);
        r->failed = rc != 0;
        if (rc == 0 && r->digest != NULL)
            ash__digest_add(r->digest, buf, *got);
        r->at += rc == 0 ? (int64_t)*got : 0;
    }
    if (rc == 0)
        rc = compare_digest(r, err);
    if (rc != 0)
        *got = 0;
    return rc;
}

int ash_object_reader_seek(ash_object_reader *r, int64_t position, ash_error *err)
{
    if (r->failed)
        return ash__fail(err, ASH_ESTATE, "the reader failed before");
    if (position < r->start || position > r->end)
        return ash__fail(err, ASH_EINVAL,
                         "position %" PRId64 " is not within %" PRId64 " to %" PRId64, position,
                         r->start, r->end);
    if (position == r->at)
        return 0;
    int rc = 0;
    if (r->source != NULL && position < r->end)
        rc = r->source_store->manager->ops->source_seek(r->source, position, err);
    r->failed = rc != 0;
    if (rc == 0) {
        r->at = position;
        ash__digest_free(r->digest);
        r->digest = NULL;
    }
    return rc;
}

int64_t ash_object_reader_position(const ash_object_reader *r)
{
    return r->at;
}
