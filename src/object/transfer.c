/* SPDX-License-Identifier: Apache-2.0 */
#include "object/transfer.h"

#include "bucket/hasher.h"

#include <string.h>

void ash__object_said_meta(const ash_object *o, ash_object_said *out)
{
    ash_object_meta *m = &out->meta;
    *m = (ash_object_meta)ASH_OBJECT_META_INIT;
    m->name = o->name;
    m->description = o->description;
    m->headers = ash__object_view(o, "headers", &out->headers) ? &out->headers : NULL;
    m->metadata = ash__object_view(o, "metadata", &out->metadata) ? &out->metadata : NULL;
    m->tags = ash__object_view(o, "tags", &out->tags) ? &out->tags : NULL;
}

void ash__object_said(const ash_object *o, const ash_object_store *to, ash_object_said *out)
{
    ash_digest_kind kind;
    uint8_t bytes[32];
    size_t len;
    ash_object_meta *m = &out->meta;
    ash__object_said_meta(o, out);
    m->chunk_size = o->chunk_size <= ASH_CHUNK_SIZE_MAX ? o->chunk_size : 0;
    m->encoding = to->manager->can.encoding ? o->encoding : NULL;
    if (to->manager->can.digests && ash__digest_parse(o->digest, &kind, bytes, &len))
        m->digest = kind;
}

static int report(ash_object_transfer *t, size_t more, ash_error *err)
{
    t->done += (int64_t)more;
    if (t->progress == NULL || t->progress(t->progress_ctx, "bytes", t->done, t->total))
        return 0;
    return ash__fail(err, ASH_EINTERRUPTED, "stopped");
}

typedef struct passing {
    ash_object_transfer *transfer;
    ash_object_writer *writer;
} passing;

static int pass_on(void *ctx, const void *data, size_t len, ash_error *err)
{
    passing *p = ctx;
    int rc = ash_object_writer_write(p->writer, data, len, err);
    return rc == 0 ? report(p->transfer, len, err) : rc;
}

/* Digests of two kinds cannot be compared: then the source's was, while it was read. */
static int compare(const ash_object *object, const ash_object_writer *w, ash_error *err)
{
    const char *a = object->digest, *b = ash__object_writer_object(w)->digest;
    ash_digest_kind kind_a, kind_b;
    uint8_t bytes_a[32], bytes_b[32];
    size_t len;
    if (!ash__digest_parse(a, &kind_a, bytes_a, &len) ||
        !ash__digest_parse(b, &kind_b, bytes_b, &len) || kind_a != kind_b ||
        memcmp(bytes_a, bytes_b, len) == 0)
        return 0;
    return ash__fail(err, ASH_ECORRUPT, "the bytes of %.200s do not give its digest", object->name);
}

void ash__transfer_end(ash_object_transfer *t)
{
    if (t->archive == NULL)
        return;
    t->from->archive = NULL;
    ash_object_store_close(t->archive);
    t->archive = NULL;
}

/* Versions of one name may have their bytes in different archives. */
static int find_archive(ash_object_transfer *t, const ash_object *object, ash_error *err)
{
    const char *name = object->archive_store;
    ash_error own = ASH_ERROR_INIT;
    if (!t->finds_archives || name == NULL)
        return 0;
    if (t->from->archive != NULL &&
        (t->archive == NULL || strcmp(ash_object_store_name(t->archive), name) == 0))
        return 0;
    ash__transfer_end(t);
    int rc = ash_object_manager_bind(t->from->manager, name, t->op, &t->archive, &own);
    t->from->archive = t->archive;
    return ash__unless(ASH_ENOTFOUND, rc, &own, err); /* which reading says better */
}

static int open_reader(ash_object_transfer *t, const ash_object *object, ash_object_reader **out,
                       ash_error *err)
{
    ash_object_read_options o = ASH_OBJECT_READ_OPTIONS_INIT;
    o.no_follow = true;
    o.revision = object->ended_ms != 0 ? object->revision : 0; /* an earlier version */
    int rc = find_archive(t, object, err);
    if (rc == 0)
        rc = ash_object_store_open_reader(t->from, object->name, &o, t->op, out, err);
    if (rc == 0 && ash_object_reader_object(*out)->revision != object->revision)
        rc = ash__fail(err, ASH_ECONFLICT, "%.200s was changed meanwhile", object->name);
    return rc;
}

int ash__transfer_bytes(ash_object_transfer *t, const ash_object *object, ash_object_writer *w,
                        ash_error *err)
{
    ash_object_reader *r = NULL;
    passing p = {t, w};
    int rc = open_reader(t, object, &r, err);
    if (rc == 0)
        rc = ash__object_read_all(r, &(ash_output){&p, pass_on}, err);
    if (rc == 0)
        rc = report(t, 0, err);
    ash_object_reader_free(r);
    if (rc == 0)
        rc = ash_object_writer_seal(w, err);
    return rc == 0 ? compare(object, w, err) : rc;
}

static int hash(void *hasher, const void *data, size_t len, ash_error *err)
{
    (void)err;
    ash__hasher_add(hasher, data, len);
    ash__hasher_drain(hasher, 0); /* the piece is written over */
    return 0;
}

int ash__transfer_digest(ash_object_transfer *t, const ash_object *object, ash_digest_kind kind,
                         char out[64], ash_error *err)
{
    ash_object_reader *r = NULL;
    ash_digests d;
    ash_hasher *h = ash__hasher_new();
    int rc = ash__hasher_choose(h, (unsigned)kind)
                 ? open_reader(t, object, &r, err)
                 : ash__fail(err, ASH_EUNSUPPORTED, "no such digest");
    if (rc == 0)
        rc = ash__object_read_all(r, &(ash_output){h, hash}, err);
    if (rc == 0) {
        ash__hasher_finish(h, &d);
        ash__digest_text_from_hex(kind, ash__digests_get(&d, kind), out);
    }
    ash_object_reader_free(r);
    ash__hasher_free(h);
    return rc;
}
