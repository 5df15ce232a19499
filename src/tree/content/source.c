/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/content/source.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static const size_t CACHE_BYTES = (size_t)48 * 1024 * 1024;

/* ---- blobs, and the cache of them ---- */

ash_blob *ash__blob_new(size_t len, ash_error *err)
{
    enum { STEP = 2 << 20 };
    /* Another, somewhat longer one may come to be in its memory. */
    size_t room = len < STEP ? len + 1 : len / STEP * STEP + STEP - sizeof(ash_blob);
    room = room > len ? room : room + STEP;
    ash_blob *b = ash__try_alloc_large(sizeof *b + room);
    if (b == NULL) {
        (void)ash__fail(err, ASH_ENOMEM, "no memory for a content of %zu bytes", len);
        return NULL;
    }
    b->holders = 1;
    b->len = len;
    b->room = room;
    return b;
}

ash_blob *ash__blob_hold(ash_blob *b)
{
    b->holders++;
    return b;
}

void ash__blob_release(ash_blob *b)
{
    if (b != NULL && --b->holders == 0)
        ash__free(b);
}

bool ash__blob_is(const ash_blob *b, const ash_content_id *id)
{
    ash_digest *digest = ash__content_digest_new(id);
    ash__digest_add(digest, b->data, b->len);
    return ash__content_digest_gives(digest, id);
}

static ash_blob *cached(ash_fetch *f, const ash_content_id *id)
{
    for (int i = 0; i < ASH_FETCH_SLOTS; i++)
        if (f->cache[i].blob != NULL && ash__content_id_equal(&f->cache[i].id, id)) {
            f->cache[i].used = ++f->clock;
            return ash__blob_hold(f->cache[i].blob);
        }
    return NULL;
}

/* The slot to put something new in: a free one, or that which was not used for longest. */
static int oldest_slot(const ash_fetch *f)
{
    int oldest = 0;
    for (int i = 0; i < ASH_FETCH_SLOTS; i++) {
        if (f->cache[i].blob == NULL)
            return i;
        if (f->cache[i].used < f->cache[oldest].used)
            oldest = i;
    }
    return oldest;
}

static size_t cache_bytes(const ash_fetch *f)
{
    size_t sum = 0;
    for (int i = 0; i < ASH_FETCH_SLOTS; i++)
        if (f->cache[i].blob != NULL)
            sum += f->cache[i].blob->len;
    return sum;
}

static void drop_oldest(ash_fetch *f)
{
    int oldest = -1;
    for (int i = 0; i < ASH_FETCH_SLOTS; i++)
        if (f->cache[i].blob != NULL && (oldest < 0 || f->cache[i].used < f->cache[oldest].used))
            oldest = i;
    if (oldest < 0)
        return;
    ash__blob_release(f->cache[oldest].blob);
    f->cache[oldest].blob = NULL;
}

static void remember(ash_fetch *f, const ash_content_id *id, ash_blob *blob)
{
    if (blob->len > f->cache_bytes)
        return;
    while (cache_bytes(f) > f->cache_bytes - blob->len)
        drop_oldest(f);
    int slot = oldest_slot(f);
    ash__blob_release(f->cache[slot].blob);
    f->cache[slot].id = *id;
    f->cache[slot].blob = ash__blob_hold(blob);
    f->cache[slot].used = ++f->clock;
}

int ash__fetch_init(ash_fetch *f, ash_contents *c, const ash_op *op, ash_error *err)
{
    memset((void *)f, 0, sizeof *f);
    f->contents = c;
    f->cache_bytes = CACHE_BYTES;
    int rc = ash__contents_op(op, &f->op, err);
    /* A download has a version of its own, whatever a transaction sees. */
    if (rc == 0 && f->op.transaction != NULL)
        rc = ash__fail(err, ASH_ESTATE, "contents are not read within a transaction");
    return rc;
}

/* Of a long chain each link is as long as the next, about: memory that is new each time costs more
 * than what is copied into it. */
ash_blob *ash__fetch_blob(ash_fetch *f, size_t len, ash_error *err)
{
    ash_blob *b = f->spare;
    if (b == NULL || b->room < len || b->room / 2 > len)
        return ash__blob_new(len, err);
    f->spare = NULL;
    b->holders = 1;
    b->len = len;
    return b;
}

void ash__fetch_recycle(ash_fetch *f, ash_blob *b)
{
    enum { WORTHWHILE_BYTES = 1 << 20 };
    if (b == NULL || b->holders > 1 || b->room < WORTHWHILE_BYTES) {
        ash__blob_release(b);
        return;
    }
    ash__free(f->spare);
    f->spare = b;
}

void ash__fetch_release(ash_fetch *f)
{
    ash__list_drop_idle(f);
    ash__free(f->spare);
    f->spare = NULL;
    for (int i = 0; i < ASH_FETCH_SLOTS; i++)
        ash__blob_release(f->cache[i].blob);
    ash__zstd_free(f->zstd);
    f->zstd = NULL;
}

void ash__fetch_forgive(ash_fetch *f)
{
    f->blamed.len = 0;
    f->level = f->delta_level = 0;
    f->unpacked = f->given = 0;
    ash__list_drop_idle(f); /* it may have been stored anew */
}

int ash__fetch_go_on(ash_fetch *f, ash_error *err)
{
    if ((f->unpacked - ASH_WASTE_BYTES_MAX) / ASH_WASTE_FACTOR > f->given)
        return ash__fail(err, ASH_ECORRUPT, "takes more work to read than any content is worth");
    return ash__op_check(&f->op, err);
}

/* The first that fails is the one to name: what stands on it fails because of it. */
static int blame(ash_fetch *f, const ash_content_id *id, int rc, ash_error *err)
{
    if (rc == ASH_ECHUNKMISSING || rc == ASH_ECHUNKEXTRA || rc == ASH_ECHUNKSIZE) {
        rc = ASH_ECORRUPT;
        if (err != NULL)
            err->code = rc;
    }
    if (rc != ASH_ECORRUPT || f->blamed.len != 0 || id->len == 0)
        return rc;
    f->blamed = *id;
    ash__content_blame(id, err);
    return rc;
}

/* ---- any source ---- */

int ash__source_read(ash_source *s, uint8_t *buf, size_t len, size_t *got, ash_error *err)
{
    *got = 0;
    if (len == 0)
        return 0;
    ash_fetch *f = s->fetch;
    int rc = f->reading > 0 ? 0 : ash__op_check(&f->op, err);
    f->reading++;
    if (rc == 0)
        rc = s->ops->read(s, buf, len, got, err);
    if (--f->reading == 0)
        f->given += (int64_t)*got;
    s->position += (int64_t)*got;
    return rc == 0 ? 0 : blame(s->fetch, &s->id, rc, err);
}

int ash__source_read_all(ash_source *s, uint8_t *buf, size_t len, ash_error *err)
{
    while (len > 0) {
        size_t got = 0;
        int rc = ash__source_read(s, buf, len, &got, err);
        if (rc == 0 && got == 0)
            rc = blame(s->fetch, &s->id,
                       ash__fail(err, ASH_ECORRUPT, "ends %zu bytes too early", len), err);
        if (rc != 0)
            return rc;
        buf += got;
        len -= got;
    }
    return 0;
}

int ash__source_seek(ash_source *s, int64_t position, ash_error *err)
{
    if (s->position == position)
        return 0;
    int rc = s->ops->seek(s, position, err);
    if (rc == 0)
        s->position = position;
    return rc == 0 ? 0 : blame(s->fetch, &s->id, rc, err);
}

void ash__source_free(ash_source *s)
{
    if (s != NULL)
        s->ops->free(s);
}

/* ---- memory ---- */

typedef struct memory_source {
    ash_source head;
    const uint8_t *bytes;
    size_t count;
    ash_blob *blob; /* whose bytes they are, or … */
    ash_form *form; /* … whose; or NULL, NULL */
} memory_source;

static int memory_read(ash_source *s, uint8_t *buf, size_t len, size_t *got, ash_error *err)
{
    const memory_source *m = (const memory_source *)s;
    (void)err;
    while (*got < len && s->position + (int64_t)*got < s->length) {
        int64_t left = s->length - s->position - (int64_t)*got;
        size_t at = (size_t)((uint64_t)(s->position + (int64_t)*got) % m->count);
        size_t take = m->count - at;
        if (take > len - *got)
            take = len - *got;
        if ((int64_t)take > left)
            take = (size_t)left;
        memcpy(buf + *got, m->bytes + at, take);
        *got += take;
    }
    return 0;
}

static int memory_seek(ash_source *s, int64_t position, ash_error *err)
{
    (void)s, (void)position, (void)err;
    return 0;
}

static void memory_free(ash_source *s)
{
    memory_source *m = (memory_source *)s;
    ash__blob_release(m->blob);
    if (m->form != NULL)
        ash__form_release(m->form);
    ash__free(m->form);
    ash__free(m);
}

static const ash_source_ops memory_ops = {memory_read, memory_seek, memory_free};

ash_source *ash__source_memory(ash_fetch *f, const uint8_t *bytes, size_t count, int64_t len)
{
    memory_source *m = ash__new(memory_source);
    m->head = (ash_source){.ops = &memory_ops, .fetch = f, .length = count == 0 ? 0 : len};
    m->bytes = bytes;
    m->count = count;
    return &m->head;
}

static ash_source *source_of_blob(ash_fetch *f, ash_blob *blob)
{
    memory_source *m =
        (memory_source *)ash__source_memory(f, blob->data, blob->len, (int64_t)blob->len);
    m->blob = blob;
    return &m->head;
}

/* ---- chunks ---- */

typedef struct chunk_source {
    ash_source head;
    ash_download *download;
} chunk_source;

static int chunk_read(ash_source *s, uint8_t *buf, size_t len, size_t *got, ash_error *err)
{
    int rc = ash__op_check(&s->fetch->op, err);
    return rc == 0 ? ash_download_read(((chunk_source *)s)->download, buf, len, got, err) : rc;
}

static int chunk_seek(ash_source *s, int64_t position, ash_error *err)
{
    return ash_download_seek(((chunk_source *)s)->download, position, err);
}

static void chunk_free(ash_source *s)
{
    ash_download_free(((chunk_source *)s)->download);
    ash__free(s);
}

static const ash_source_ops chunk_ops = {chunk_read, chunk_seek, chunk_free};

static int open_chunks(ash_fetch *f, const ash_form *form, ash_source **out, ash_error *err)
{
    ash_download_options o = ASH_DOWNLOAD_OPTIONS_INIT;
    ash_download *d = NULL;
    bson_value_t id = {.value_type = BSON_TYPE_BINARY};
    if (f->contents->bucket == NULL)
        return ash__fail(err, ASH_ECORRUPT, "has neither bytes nor chunks");
    if (f->op.deadline_ms != 0) {
        int64_t left = f->op.deadline_ms - ash__clock_ms();
        o.timeout_ms = left > 1 ? left : 1;
    }
    id.value.v_binary.data = (uint8_t *)(uintptr_t)form->id.bytes;
    id.value.v_binary.data_len = form->id.len;
    int rc = ash_bucket_open_download_stream(f->contents->bucket, &id, &o, &d, err);
    if (rc == ASH_ENOTFOUND)
        return ash__fail(err, ASH_ECONFLICT, "a content went while it was opened");
    if (rc != 0)
        return rc;
    const ash_file *file = ash_download_file(d);
    if (ash_file_length(file) != form->stored ||
        ash_file_upload_date_ms(file) != form->upload_date_ms) {
        ash_download_free(d);
        return ash__fail(err, ASH_ECONFLICT, "a content was stored anew while it was opened");
    }
    chunk_source *s = ash__new(chunk_source);
    s->head = (ash_source){.ops = &chunk_ops, .fetch = f, .id = form->id, .length = form->stored};
    s->download = d;
    *out = &s->head;
    return 0;
}

/* ---- contents ---- */

/* What the document keeps, before anything is made of it.  Bytes inside stay the form's. */
static int open_stored(ash_fetch *f, const ash_form *form, ash_source **out, ash_error *err)
{
    if (!form->inside)
        return open_chunks(f, form, out, err);
    *out = ash__source_memory(f, form->in, form->in_len, form->in_len);
    (*out)->id = form->id;
    return 0;
}

static int open_frame(ash_fetch *f, const ash_form *form, ash_source **out, ash_error *err)
{
    ash_source *frame = NULL;
    ash_blob *blob = cached(f, &form->id);
    int rc = 0;
    if (blob == NULL) {
        rc = open_stored(f, form, &frame, err);
        if (rc == 0)
            rc = ash__decode_frame(f, form, frame, &blob, err);
        if (rc == 0)
            remember(f, &form->id, blob);
        ash__source_free(frame);
    }
    if (rc == 0)
        *out = source_of_blob(f, blob);
    return rc;
}

/* *form becomes NULL where the source keeps it. */
static int open_plain(ash_fetch *f, ash_form **form, ash_source **out, ash_error *err)
{
    ash_form_kind kind = (*form)->kind;
    int64_t size = (*form)->size;
    ash_source *stored = NULL;
    int rc = open_stored(f, *form, &stored, err);
    if (rc != 0)
        return rc;
    if ((*form)->inside) {
        ((memory_source *)stored)->form = *form;
        *form = NULL;
    }
    if (kind != ASH_FORM_RAW)
        return ash__source_of_inflate(f, kind, size, stored, out, err);
    *out = stored;
    return 0;
}

static int open_form(ash_fetch *f, ash_form **form, ash_source **out, ash_error *err)
{
    int rc = 0;
    switch ((*form)->kind) {
    case ASH_FORM_CAT:
        rc = ash__source_of_list(f, *form, out, err);
        if (rc == 0)
            *form = NULL;
        return rc;
    case ASH_FORM_ZIP:
        return ash__source_of_zip(f, &(*form)->parts[0], out, err);
    case ASH_FORM_ZSTD:
    case ASH_FORM_DELTA:
        return open_frame(f, *form, out, err);
    default:
        return open_plain(f, form, out, err);
    }
}

static int open_doc(ash_fetch *f, const bson_t *doc, ash_source **out, ash_error *err)
{
    ash_form *form = ash__new(ash_form);
    int rc = ash__form_read(doc, form, err);
    ash_content_id id = form->id;
    f->unpacked += (int64_t)doc->len;
    if (rc == 0)
        rc = open_form(f, &form, out, err);
    if (rc == 0)
        (*out)->id = id;
    if (form != NULL)
        ash__form_release(form);
    ash__free(form);
    return rc == 0 ? 0 : blame(f, &id, rc, err);
}

int ash__source_open_doc(ash_fetch *f, const bson_t *doc, ash_source **out, ash_error *err)
{
    *out = NULL;
    if (f->level >= ASH_SOURCE_LEVELS_MAX + f->delta_level)
        return ash__fail(err, ASH_ECORRUPT, "contents stand on one another without end");
    f->level++;
    int rc = open_doc(f, doc, out, err);
    f->level--;
    return rc;
}

int ash__source_open(ash_fetch *f, const ash_content_id *id, ash_source **out, ash_error *err)
{
    bson_t doc;
    bool found = false;
    *out = NULL;
    ash_blob *blob = cached(f, id);
    if (blob != NULL) {
        *out = source_of_blob(f, blob);
        (*out)->id = *id;
        return 0;
    }
    *out = ash__list_take_idle(f, id);
    if (*out != NULL)
        return 0;
    int rc = ash__find_content(f->contents, id, &f->op, &doc, &found, err);
    if (rc == 0 && !found)
        rc = ash__fail(err, ASH_ECORRUPT, "is missing");
    if (rc == 0)
        rc = ash__source_open_doc(f, &doc, out, err);
    if (found)
        bson_destroy(&doc);
    return rc == 0 ? 0 : blame(f, id, rc, err);
}

int ash__fetch_whole(ash_fetch *f, const ash_content_id *id, ash_blob **out, ash_error *err)
{
    ash_source *s = NULL;
    *out = cached(f, id);
    if (*out != NULL)
        return 0;
    int rc = ash__source_open(f, id, &s, err);
    if (rc == 0 && (s->length < 0 || s->length > ASH_CONTENT_WHOLE_MAX))
        rc = ash__fail(err, ASH_ETOOBIG, "content is too long to be had as one");
    if (rc == 0 && s->ops == &memory_ops && ((memory_source *)s)->blob != NULL) {
        *out = ash__blob_hold(((memory_source *)s)->blob);
    } else if (rc == 0) {
        *out = ash__blob_new((size_t)s->length, err);
        rc = *out == NULL ? ASH_ENOMEM : ash__source_read_all(s, (*out)->data, (*out)->len, err);
    }
    ash__source_free(s);
    if (rc != 0) {
        ash__blob_release(*out);
        *out = NULL;
    }
    return rc;
}

int ash__fetch_verify(ash_fetch *f, const ash_content_id *id, ash_error *err)
{
    enum { STEP = 64 * 1024 };
    ash_source *s = NULL;
    ash_digest *digest = ash__content_digest_new(id);
    uint8_t *buf = ash__alloc(STEP);
    size_t got = 1;
    int rc = ash__source_open(f, id, &s, err);
    while (rc == 0 && got > 0) {
        rc = ash__source_read(s, buf, STEP, &got, err);
        if (rc == 0)
            ash__digest_add(digest, buf, got);
    }
    bool good = ash__content_digest_gives(digest, id);
    ash__source_free(s);
    ash__free(buf);
    return rc == 0 && !good ? ash__fail(err, ASH_ECORRUPT, "its bytes do not give its digest") : rc;
}
