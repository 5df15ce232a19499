/* SPDX-License-Identifier: Apache-2.0 */
#include "store/embedded/salvage/chunks.h"

#include "base/mem.h"

#include <string.h>

/* A bucket: a file is copied when its document and all its chunks are whole, chunks first. */

enum { CHUNK_FINDINGS_MAX = 100000 };

typedef struct bucket_work {
    ash_salvaging *w;
    const ash_salvage_coll *files, *chunks;
    ash_collection *to_files, *to_chunks;
    ash_salvage_chunks list;
    char *name; /* db.bucket */
} bucket_work;

typedef struct file_facts {
    ash_value id;
    const char *name;
    uint8_t hash[16];
    int64_t length, chunk_size, count;
} file_facts;

static void read_name(ash_doc doc, file_facts *out)
{
    ash_value name = ash__doc_get(doc, "filename");
    memset(out, 0, sizeof *out);
    out->id = ash__doc_get(doc, "_id");
    out->name = ash__value_utf8(name, "");
}

static bool read_facts(ash_doc doc, file_facts *out)
{
    read_name(doc, out);
    if (ash__value_is_missing(out->id) ||
        !ash__value_as_int64(ash__doc_get(doc, "length"), &out->length) || out->length < 0 ||
        !ash__value_as_int64(ash__doc_get(doc, "chunkSize"), &out->chunk_size) ||
        out->chunk_size <= 0 || out->chunk_size > INT32_MAX)
        return false;
    ash__salvage_file_hash(out->id, out->hash);
    /* Rounded up without a sum that could overflow. */
    out->count = out->length / out->chunk_size + (out->length % out->chunk_size != 0);
    return true;
}

static uint32_t chunk_bytes(const file_facts *f, int64_t n)
{
    int64_t rest = f->length - n * f->chunk_size;
    return (uint32_t)(rest < f->chunk_size ? rest : f->chunk_size);
}

static void begin(const bucket_work *b, const char *kind, const file_facts *f, ash_builder *facts)
{
    ash__finding_begin(facts, kind, b->files->db, NULL);
    ash__builder_text(facts, "bucket", b->name + strlen(b->files->db) + 1);
    ash__builder_text(facts, "name", f->name);
    ash__builder_value(facts, "_id", f->id);
}

/* ---- files that are not whole ---- */

/* What should have been the chunk: as its document says, else as the index does. */
static const ash_salvage_record *should_be(bucket_work *b, const file_facts *f, int64_t n,
                                           const ash_salvage_chunk *bad)
{
    /* Damaged, but it says itself which chunk it was. */
    if (bad != NULL)
        return bad->record;
    const ash_salvage_record *r = ash__salvage_chunk_record(b->w->from, b->chunks, f->id, n);
    if (r != NULL)
        ash__salvage_chunks_placed(&b->list, r);
    return r;
}

static void tell_chunk(bucket_work *b, const file_facts *f, int64_t n, const ash_salvage_chunk *bad,
                       bool first)
{
    ash_salvaging *w = b->w;
    ash_builder facts;
    ash_error why = ASH_ERROR_INIT;
    ash_doc doc;
    const ash_salvage_record *r = should_be(b, f, n, bad);
    if (r == NULL)
        ash__fail(&why, ASH_ECHUNKMISSING, "it is missing");
    else if (ash__salvage_read(w->from, r, &w->buf, &doc, &why) == 0)
        ash__fail(&why, ASH_ECHUNKSIZE, "it is another chunk, or has another size");
    begin(b, "file", f, &facts);
    ash__builder_int64(&facts, "n", n);
    if (r != NULL)
        ash__finding_place(&facts, r);
    /* A file is lost once, however many of its chunks are. */
    ash__finding_tell(w, &facts, true, "%s: file \"%s\", chunk %lld: %s", b->name, f->name,
                      (long long)n, why.text);
    w->report->lost -= !first;
    w->report->lost_files += first;
    w->report->lost_chunks++;
}

/* How many chunks are not there, telling each when asked to. */
static int64_t count_bad(bucket_work *b, const file_facts *f, bool tell)
{
    int64_t bad_count = 0;
    for (int64_t n = 0; n < f->count && bad_count < CHUNK_FINDINGS_MAX; n++) {
        const ash_salvage_chunk *bad;
        if (ash__salvage_chunks_pick(&b->list, f->hash, n, chunk_bytes(f, n), &bad) != NULL)
            continue;
        if (tell)
            tell_chunk(b, f, n, bad, bad_count == 0);
        bad_count++;
    }
    return bad_count;
}

static void tell_bad_file(bucket_work *b, const ash_salvage_record *r, ash_doc doc, const char *why)
{
    file_facts f;
    ash_builder facts;
    read_name(doc, &f);
    begin(b, "file", &f, &facts);
    ash__builder_int64(&facts, "record", (int64_t)r->rid);
    ash__finding_place(&facts, r);
    b->w->report->lost_files++;
    ash__finding_tell(b->w, &facts, true, "%s: file \"%s\", record %llu: %s", b->name, f.name,
                      (unsigned long long)r->rid, why);
}

/* ---- files that are ---- */

static int copy_chunks(bucket_work *b, const file_facts *f, bool *refused, ash_error *err)
{
    ash_buffer buf = ASH_BUFFER_INIT;
    int rc = 0;
    for (int64_t n = 0; rc == 0 && !*refused && n < f->count; n++) {
        const ash_salvage_chunk *bad;
        const ash_salvage_chunk *c =
            ash__salvage_chunks_pick(&b->list, f->hash, n, chunk_bytes(f, n), &bad);
        ash_doc doc;
        rc = ash__salvage_read(b->w->from, c->record, &buf, &doc, err);
        if (rc == 0)
            rc = ash__salvaging_insert(b->w, b->to_chunks, b->chunks, doc, refused, err);
        if (rc == 0)
            rc = ash__salvaging_step(b->w, err);
        b->w->report->rescued += c->unclaimed;
    }
    ash__buffer_release(&buf);
    return rc;
}

static void tell_uncertain(bucket_work *b, const ash_salvage_record *r, const file_facts *f)
{
    ash_builder facts;
    b->w->report->lost_files += r->vacant;
    begin(b, "uncertain", f, &facts);
    ash__finding_tell(b->w, &facts, r->vacant, "%s: file \"%s\": %s", b->name, f->name,
                      ash__finding_doubt(r));
}

/* doc is the caller's own copy. */
static int copy_file(bucket_work *b, const ash_salvage_record *r, ash_doc doc, const file_facts *f,
                     ash_error *err)
{
    bool refused = false;
    int rc = 0;
    /* Found where nothing is: deleted, or of a commit that was lost.  It must not come back. */
    if (r->vacant) {
        tell_uncertain(b, r, f);
        return 0;
    }
    /* The segments are scanned only when something is missing: that reads all of them. */
    if (count_bad(b, f, false) > 0)
        rc = ash__salvage_chunks_add_unclaimed(b->w, b->chunks, &b->list, err);
    if (rc == 0 && count_bad(b, f, true) > 0)
        return 0;
    if (rc == 0)
        rc = copy_chunks(b, f, &refused, err);
    /* The document last, as drivers do it: a file that is seen is complete. */
    if (rc == 0 && !refused)
        rc = ash__salvaging_insert(b->w, b->to_files, b->files, doc, &refused, err);
    if (rc != 0 || refused)
        return rc;
    b->w->report->files++;
    b->w->report->bytes += (uint64_t)f->length;
    if (r->stray && !ash__salvage_certain(b->w->from))
        tell_uncertain(b, r, f);
    return 0;
}

static int copy_files(bucket_work *b, ash_error *err)
{
    size_t count;
    const ash_salvage_record *r = ash__salvage_records(b->w->from, b->files->id, &count);
    ash_buffer buf = ASH_BUFFER_INIT;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        ash_error why = ASH_ERROR_INIT;
        file_facts f;
        ash_doc doc;
        if (ash__salvage_read(b->w->from, &r[i], &buf, &doc, &why) != 0)
            tell_bad_file(b, &r[i], doc, why.text);
        else if (!read_facts(doc, &f))
            tell_bad_file(b, &r[i], doc, "not the document of a file");
        else
            rc = copy_file(b, &r[i], doc, &f, err);
    }
    if (rc == 0 && b->files->expected > count) {
        uint64_t gone = b->files->expected - count;
        ash_builder facts;
        ash__finding_begin(&facts, "documents", b->files->db, b->files->name);
        ash__builder_int64(&facts, "count", (int64_t)gone);
        b->w->report->lost += gone - 1;
        b->w->report->lost_files += gone;
        ash__finding_tell(b->w, &facts, true,
                          "%s: nothing is left of the document%s of %llu file%s", b->name,
                          gone == 1 ? "" : "s", (unsigned long long)gone, gone == 1 ? "" : "s");
    }
    ash__buffer_release(&buf);
    return rc;
}

/* ---- chunks without a file ---- */

static void mark_owned(bucket_work *b)
{
    size_t count;
    const ash_salvage_record *r = ash__salvage_records(b->w->from, b->files->id, &count);
    const ash_salvage_chunk *end = b->list.items + b->list.count;
    for (size_t i = 0; i < count; i++) {
        file_facts f;
        ash_doc doc;
        ash__salvage_read(b->w->from, &r[i], &b->w->buf, &doc, NULL);
        read_name(doc, &f);
        if (ash__value_is_missing(f.id))
            continue;
        ash__salvage_file_hash(f.id, f.hash);
        for (ash_salvage_chunk *c = ash__salvage_chunks_from(&b->list, f.hash, INT64_MIN);
             c != NULL && c < end && memcmp(c->file, f.hash, 16) == 0; c++)
            c->owned = true;
    }
}

static void tell_orphan(bucket_work *b, const ash_salvage_chunk *first, uint64_t count,
                        uint64_t bytes)
{
    ash_salvaging *w = b->w;
    ash_builder facts;
    ash_doc doc;
    ash__salvage_read(w->from, first->record, &w->buf, &doc, NULL);
    ash__finding_begin(&facts, "orphan", b->chunks->db, b->chunks->name);
    ash__builder_value(&facts, "files_id", ash__doc_get(doc, "files_id"));
    ash__builder_int64(&facts, "chunks", (int64_t)count);
    ash__builder_int64(&facts, "bytes", (int64_t)bytes);
    ash__finding_tell(w, &facts, false, "%s: %llu chunk%s without a file, %llu byte%s", b->name,
                      (unsigned long long)count, count == 1 ? "" : "s", (unsigned long long)bytes,
                      bytes == 1 ? "" : "s");
}

static void list_orphans(bucket_work *b)
{
    mark_owned(b);
    for (size_t i = 0, next; i < b->list.count; i = next) {
        const ash_salvage_chunk *first = &b->list.items[i];
        uint64_t count = 0, bytes = 0;
        for (next = i;
             next < b->list.count && memcmp(b->list.items[next].file, first->file, 16) == 0;
             next++) {
            /* What was deleted long ago is nobody's loss. */
            bool counts = !b->list.items[next].unclaimed;
            count += counts;
            bytes += counts ? b->list.items[next].bytes : 0;
        }
        if (!first->owned && count > 0)
            tell_orphan(b, first, count, bytes);
    }
}

int ash__salvaging_bucket(ash_salvaging *w, const ash_salvage_coll *files,
                          const ash_salvage_coll *chunks, ash_error *err)
{
    bucket_work b = {.w = w, .files = files, .chunks = chunks};
    b.name = ash__sprintf("%s.%.*s", files->db, (int)(strlen(files->name) - strlen(".files")),
                          files->name);
    int rc = ash__salvaging_make(w, files, &b.to_files, err);
    if (rc == 0)
        rc = ash__salvaging_make(w, chunks, &b.to_chunks, err);
    if (rc == 0)
        rc = ash__salvage_chunks_load(w, chunks, &b.list, err);
    if (rc == 0)
        rc = copy_files(&b, err);
    if (rc == 0) {
        ash__salvage_chunks_tell(w, chunks, &b.list);
        list_orphans(&b);
    }
    ash_collection_free(b.to_files);
    ash_collection_free(b.to_chunks);
    ash__salvage_chunks_release(&b.list);
    ash__free(b.name);
    return rc;
}
