/* SPDX-License-Identifier: Apache-2.0 */
/* Which chunk of which file a damaged record is, found out in a child process that the damage may
 * kill. */

#include "store/embedded/care/findings.h"

#include "base/mem.h"
#include "bson/keycode.h"
#include "engine/check/check.h"
#include "store/embedded/files/chunks.h"

#include <string.h>

/* A file is known by the encoding of its _id, as the indexes have it: a chunk's key in the index on
 * files_id and n begins with it, and it is the key in the index on _id of the files. */

enum { NUMBER_BYTES = 10, OID_BYTES = 13, NAME_BYTES_MAX = 1024, ID_BYTES_MAX = 256 };

typedef struct chunk_at {
    uint32_t i; /* finding */
    uint64_t rid;
    ash_buffer file; /* encoding; empty: not known */
    int64_t n;       /* -1: not known */
    bool told;
} chunk_at;

static const char damaged[] = "whose document is damaged";

typedef struct looking {
    const ash_findings *f;
    ash_probe *probe;
    ash_snapshot *snap;
    chunk_at *chunks; /* of one collection, by rid */
    uint32_t count;
} looking;

static ash_value fact(const ash_finding *f, const char *name)
{
    return ash__doc_get(ash__doc_from_bson(f->facts), name);
}

static const char *fact_text(const ash_finding *f, const char *name)
{
    ash_value v = fact(f, name);
    return ash__value_utf8(v, "");
}

static ash_value said(const ash_finding *f, const char *name)
{
    ash_value doc = fact(f, "document");
    return doc.type == BSON_TYPE_DOCUMENT ? ash__doc_get(ash__value_doc(doc), name)
                                          : ASH_VALUE_MISSING;
}

bool ash__finding_is_chunk(const ash_finding *f)
{
    const char *kind = fact_text(f, "kind");
    int64_t rid;
    return ash__name_ends_with(fact_text(f, "collection"), ".chunks") &&
           (strcmp(kind, "payload") == 0 || strcmp(kind, "record") == 0) &&
           ash__value_as_int64(fact(f, "rid"), &rid);
}

/* ---- which chunk of which file a record is ---- */

static int by_rid(const void *a, const void *b)
{
    const chunk_at *x = a, *y = b;
    return x->rid < y->rid ? -1 : x->rid > y->rid;
}

static void read_key(looking *l, const ash_scan_hit *hit)
{
    chunk_at wanted = {.rid = hit->rid};
    chunk_at *c =
        l->count > 0 ? bsearch(&wanted, l->chunks, l->count, sizeof wanted, by_rid) : NULL;
    /* Told once; a second key of the same record would be damage itself. */
    if (c == NULL || hit->key.len <= NUMBER_BYTES || c->file.len > 0)
        return;
    size_t file_bytes = hit->key.len - NUMBER_BYTES;
    c->n = ash__chunk_key_number(hit->key, file_bytes, false);
    if (c->n >= 0)
        ash__buffer_append(&c->file, hit->key.data, file_bytes);
}

/* What cannot be read of the index leaves its chunks to what they say themselves. */
static void read_index(looking *l, const ash_coll *c)
{
    static const ash_scan_range all = {.backward = false};
    const ash_index *index = ash__chunk_range_index(c);
    ash_scan *scan = index != NULL ? ash__scan_index(l->snap, index, &all, NULL) : NULL;
    ash_scan_hit hit;
    bool found = scan != NULL;
    while (found && ash__scan_next(scan, &hit, &found, NULL) == 0 && found)
        read_key(l, &hit);
    ash__scan_free(scan);
}

static void read_documents(looking *l)
{
    for (uint32_t at = 0; at < l->count; at++) {
        chunk_at *c = &l->chunks[at];
        ash_value id = said(&l->f->items[c->i], "files_id");
        if (c->file.len > 0)
            continue;
        if (!ash__value_is_missing(id))
            ash__keycode_append(&c->file, id, false, NULL);
        if (!ash__value_as_int64(said(&l->f->items[c->i], "n"), &c->n) || c->n < 0)
            c->n = -1;
    }
}

/* ---- what the file is called ---- */

static int find_file(looking *l, const ash_coll *files, ash_doc key, ash_record *out, bool *found,
                     ash_error *err)
{
    ash_buffer to = ASH_BUFFER_INIT;
    ash_scan_hit hit;
    ash__buffer_append(&to, key.data, key.len);
    ash__keycode_successor(&to);
    const ash_scan_range range = {key, {to.data, to.len}, false};
    ash_scan *scan = ash__scan_index(l->snap, &files->indexes[0], &range, NULL);
    int rc = ash__scan_next(scan, &hit, found, err);
    if (rc == 0 && *found)
        rc = ash__record_get(l->snap, files, hit.rid, out, found, err);
    ash__scan_free(scan);
    ash__buffer_release(&to);
    return rc;
}

/* Long ones are cut, so that a thousand fit a report. */
static void add_name(ash_builder *b, ash_value name)
{
    uint32_t len;
    if (name.type != BSON_TYPE_UTF8)
        return;
    const char *text = ash__value_string(name, &len);
    if (len <= NAME_BYTES_MAX) {
        ash__builder_string(b, "filename", text, len);
        return;
    }
    len = NAME_BYTES_MAX;
    /* Not in the middle of a character. */
    while (len > 0 && ((unsigned char)text[len] & 0xC0) == 0x80)
        len--;
    char *cut = ash__sprintf("%.*s…", (int)len, text);
    ash__builder_text(b, "filename", cut);
    ash__free(cut);
}

/* The id that a document says is only believed when it is the one meant. */
static void add_id(ash_builder *b, ash_value id, const chunk_at *c)
{
    ash_buffer code = ASH_BUFFER_INIT;
    ash_value_box box;
    bson_oid_t oid;
    if (ash__value_is_missing(id) && c->file.len == OID_BYTES) {
        memcpy(oid.bytes, c->file.data + 1, sizeof oid.bytes);
        id = ash__box_oid(&box, &oid);
    }
    if (!ash__value_is_missing(id)) {
        ash__keycode_append(&code, id, false, NULL);
        if (code.len == c->file.len && memcmp(code.data, c->file.data, code.len) == 0)
            ash__builder_value(b, "files_id", id);
    }
    ash__buffer_release(&code);
}

static void add_file(looking *l, const ash_coll *files, const chunk_at *c, ash_builder *b)
{
    ash_error why = ASH_ERROR_INIT;
    ash_record record;
    bool found = false;
    ash_doc key = {c->file.data, c->file.len};
    int rc = files != NULL && key.len > 0 ? find_file(l, files, key, &record, &found, &why) : 0;
    if (rc == 0 && found) {
        ash_value id = ash__doc_get(record.doc, "_id");
        /* An _id may be a whole document. */
        if (id.len <= ID_BYTES_MAX)
            ash__builder_value(b, "files_id", id);
        add_name(b, ash__doc_get(record.doc, "filename"));
        return;
    }
    add_id(b, said(&l->f->items[c->i], "files_id"), c);
    if (rc != 0)
        ash__builder_text(b, "why", damaged);
    else if (key.len > 0)
        ash__builder_text(b, "why", "whose document is missing");
    else
        ash__builder_text(b, "why", "that is not known");
}

static void tell_chunk(looking *l, const chunk_at *c, ash_doc file)
{
    ash_builder b = ASH_BUILDER_INIT;
    bson_t view;
    ash__builder_begin(&b);
    ash__builder_int64(&b, "i", c->i);
    if (c->n >= 0)
        ash__builder_int64(&b, "n", c->n);
    ash__builder_elements(&b, file);
    ash__builder_end(&b);
    ash__doc_to_bson(ash__builder_doc(&b), &view);
    ash__probe_tell(l->probe, &view);
    ash__builder_release(&b);
}

/* The chunk, and all others of its file behind it. */
static void tell_file(looking *l, uint32_t at, ash_doc file)
{
    const chunk_at *first = &l->chunks[at];
    for (uint32_t i = at; i < l->count; i++) {
        chunk_at *c = &l->chunks[i];
        if (c->file.len != first->file.len ||
            (c->file.len > 0 && memcmp(c->file.data, first->file.data, c->file.len) != 0))
            continue;
        tell_chunk(l, c, file);
        c->told = true;
    }
}

/* A file is looked up once, however many of its chunks are damaged.  What the damage may do to this
 * process is told first. */
static void look_up_file(looking *l, const ash_coll *files, uint32_t at)
{
    const chunk_at *c = &l->chunks[at];
    ash_builder b = ASH_BUILDER_INIT;
    ash__builder_begin(&b);
    add_id(&b, said(&l->f->items[c->i], "files_id"), c);
    ash__builder_text(&b, "why", damaged);
    ash__builder_end(&b);
    tell_file(l, at, ash__builder_doc(&b));
    ash__builder_begin(&b);
    add_file(l, files, c, &b);
    ash__builder_end(&b);
    tell_file(l, at, ash__builder_doc(&b));
    ash__builder_release(&b);
}

/* ---- the findings of one collection ---- */

static bool same_collection(const ash_finding *a, const ash_finding *b)
{
    return strcmp(fact_text(a, "db"), fact_text(b, "db")) == 0 &&
           strcmp(fact_text(a, "collection"), fact_text(b, "collection")) == 0;
}

static const ash_coll *find_coll(looking *l, const char *db, const char *name)
{
    const ash_coll *c = NULL;
    return ash__catalog_find(l->snap, db, name, &c, NULL) == 0 ? c : NULL;
}

static void look_at(looking *l, const ash_finding *like, bool by_index)
{
    const char *db = fact_text(like, "db"), *chunks = fact_text(like, "collection");
    char *name = ash__sprintf("%.*s.files", (int)(strlen(chunks) - strlen(".chunks")), chunks);
    const ash_coll *c = find_coll(l, db, chunks);
    if (l->count > 1)
        qsort(l->chunks, l->count, sizeof *l->chunks, by_rid);
    if (by_index && c != NULL)
        read_index(l, c);
    read_documents(l);
    const ash_coll *files = find_coll(l, db, name);
    for (uint32_t at = 0; at < l->count; at++) {
        if (!l->chunks[at].told)
            look_up_file(l, files, at);
    }
    ash__free(name);
}

void ash__findings_look(const ash_findings *f, bool by_index, ash_probe *p, ash_snapshot *snap)
{
    looking l = {.f = f, .probe = p, .snap = snap};
    /* One collection at a time, whose index is then read once. */
    bool *done = ash__alloc_array(f->kept, sizeof *done);
    l.chunks = ash__alloc_array(f->kept, sizeof *l.chunks);
    for (uint32_t i = 0; i < f->kept; i++) {
        l.count = 0;
        for (uint32_t other = i; other < f->kept; other++) {
            const ash_finding *x = &f->items[other];
            int64_t rid;
            if (done[other] || x->file != NULL || !ash__finding_is_chunk(x) ||
                !same_collection(x, &f->items[i]))
                continue;
            ash__value_as_int64(fact(x, "rid"), &rid);
            l.chunks[l.count++] = (chunk_at){.i = other, .rid = (uint64_t)rid, .n = -1};
            done[other] = true;
        }
        if (l.count > 0)
            look_at(&l, &f->items[i], by_index);
        for (uint32_t at = 0; at < l.count; at++)
            ash__buffer_release(&l.chunks[at].file);
    }
    ash__free(l.chunks);
    ash__free(done);
}
