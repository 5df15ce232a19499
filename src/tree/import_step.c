/* SPDX-License-Identifier: Apache-2.0 */
/* One version: its content goes through the target's writer, its document gets what the writer
 * made of it and keeps the rest. */
#include "tree/import.h"

#include "base/mem.h"
#include "store/ops.h"

#include <string.h>

enum { PENDING_MAX = 8 * 1024 * 1024, READ_BYTES = 256 * 1024 };

/* ---- contents that are known ---- */

static size_t slot_of(const ash_content_id *id)
{
    uint32_t word;
    memcpy(&word, id->bytes, sizeof word);
    return word % ASH_IMPORT_KNOWN;
}

void ash__import_know(ash_import *im, const ash_content_id *from, const ash_content_id *to)
{
    im->known[slot_of(from)].from = *from;
    im->known[slot_of(from)].to = *to;
}

void ash__import_forget(ash_import *im)
{
    memset((void *)im->known, 0, sizeof im->known);
}

static bool is_known(const ash_import *im, const ash_content_id *from, ash_content_id *to)
{
    size_t at = slot_of(from);
    *to = im->known[at].to;
    return from->len != 0 && ash__content_id_equal(&im->known[at].from, from);
}

/* ---- the content ---- */

static int pump(ash_import *im, const ash_content_ref *from, ash_content_writer *w, ash_error *err)
{
    ash_content_reader *r = NULL;
    size_t got = 1;
    uint8_t *buf = ash__alloc(READ_BYTES);
    int rc = ash__content_open(im->from->contents, from, true, &im->op, &r, err);
    while (rc == 0 && got > 0) {
        rc = ash__content_reader_read(r, buf, READ_BYTES, &got, err);
        if (rc == 0 && got > 0)
            rc = ash__content_writer_add(w, buf, got, &im->op, err);
    }
    ash__content_reader_free(r);
    ash__free(buf);
    /* Bytes that are kept where nothing here reaches are as good as lost for this tree. */
    return rc == ASH_EUNSUPPORTED ? ash__fail(err, ASH_ECORRUPT, "its content cannot be read here")
                                  : rc;
}

static int write_content(ash_import *im, ash_import_step *s, ash_content_ref *out, ash_error *err)
{
    const ash_tree_entry *e = s->version;
    ash_content_hint hint = {.before = s->item->before,
                             .filename = e->name,
                             .content_type = ash_tree_entry_content_type(e)};
    int rc = ash__content_writer_new(im->to->contents, &hint, &s->content, err);
    if (rc == 0)
        rc = pump(im, &e->content, s->content, err);
    if (rc == 0)
        rc = ash__content_writer_seal(s->content, &im->op, err);
    if (rc == 0)
        ash__content_writer_ref(s->content, out);
    return rc;
}

static bool is_in_commit(const ash_import *im, size_t first, size_t end, const ash_content_id *id)
{
    for (size_t i = first; i < end; i++)
        if (im->steps[i].content != NULL && ash__content_id_equal(&im->steps[i].id, id))
            return true;
    return false;
}

/* ---- the document ---- */

static void append_content(bson_t *doc, const ash_content_ref *ref)
{
    if (ref->id.len == 0) {
        bson_append_binary(doc, "in", 2, BSON_SUBTYPE_BINARY, ref->in, ref->in_len);
    } else {
        bson_append_int64(doc, "length", 6, ref->length);
        bson_append_binary(doc, "sha", 3, BSON_SUBTYPE_BINARY, ref->id.bytes, ref->id.len);
    }
}

static bool is_of_content(const char *key)
{
    return strcmp(key, "length") == 0 || strcmp(key, "sha") == 0 || strcmp(key, "in") == 0;
}

static bool has_content(const ash_tree_entry *e)
{
    return !e->is_folder && !bson_has_field(e->doc, "deleted_at");
}

/* Numbers that v7files wrote in any type become what trees of today write. */
static void append_field(const ash_import *im, const ash_import_step *s, const bson_iter_t *it,
                         bson_t *doc)
{
    const char *key = bson_iter_key(it);
    if (strcmp(key, "_version") == 0 && !BSON_ITER_HOLDS_UTF8(it))
        bson_append_int32(doc, "_version", 8, s->version->version);
    else if (strcmp(key, "parent") == 0)
        bson_append_value(doc, "parent", 6, ash__import_id(im, &s->version->parent));
    else
        bson_append_iter(doc, NULL, 0, it);
}

static bson_t *build_document(const ash_import *im, const ash_import_step *s,
                              const ash_content_ref *ref)
{
    const ash_tree_entry *e = s->version;
    const bson_value_t *id = ash__import_id(im, &e->id);
    bool content = has_content(e), written = !content;
    bson_t *doc = bson_new();
    bson_iter_t it;
    if (s->current)
        bson_append_value(doc, "_id", 3, id);
    else
        ash__tree_append_version_id(doc, "_id", id, e->version);
    if (!bson_has_field(e->doc, "_version")) /* a root that somebody made by hand */
        bson_append_int32(doc, "_version", 8, 1);
    for (bool any = bson_iter_init(&it, e->doc); any && bson_iter_next(&it);) {
        const char *key = bson_iter_key(&it);
        bool skipped = strcmp(key, "_id") == 0 || strcmp(key, "until") == 0;
        if (content && is_of_content(key)) {
            if (!written)
                append_content(doc, ref);
            written = true;
        } else if (!skipped) {
            append_field(im, s, &it, doc);
        }
    }
    if (!s->current && !bson_has_field(e->doc, "deleted_at"))
        bson_append_date_time(doc, "until", 5, e->ended_ms);
    return doc;
}

void ash__import_rename(ash_import_step *s, const char *name)
{
    bson_t *doc = bson_new();
    bson_iter_t it;
    for (bool any = bson_iter_init(&it, s->doc); any && bson_iter_next(&it);)
        if (strcmp(bson_iter_key(&it), "filename") == 0)
            bson_append_utf8(doc, "filename", 8, name, -1);
        else
            bson_append_iter(doc, NULL, 0, &it);
    bson_destroy(s->doc);
    s->doc = doc;
}

/* ---- the step ---- */

void ash__import_release_step(ash_import_step *s)
{
    ash__content_writer_free(s->content);
    bson_destroy(s->doc);
    s->content = NULL;
    s->doc = NULL;
    s->id = (ash_content_id){.len = 0};
}

int ash__import_prepare(ash_import *im, size_t i, size_t first, ash_error *err)
{
    ash_import_step *s = &im->steps[i];
    const ash_tree_entry *e = s->version;
    ash_content_ref ref = {.length = e->content.length};
    int rc = 0;
    ash__import_release_step(s);
    if (has_content(e) && !is_known(im, &e->content.id, &ref.id)) {
        ref = (ash_content_ref){0};
        rc = write_content(im, s, &ref, err);
    }
    if (rc != 0) {
        ash__import_release_step(s);
        return rc;
    }
    s->doc = build_document(im, s, &ref);
    if (ref.id.len == 0 || is_in_commit(im, first, i, &ref.id)) {
        ash__content_writer_free(s->content);
        s->content = NULL;
    }
    s->id = ref.id;
    return 0;
}

int ash__import_step(ash_import *im, ash_import_item *item, size_t i, ash_error *err)
{
    ash_error own = ASH_ERROR_INIT;
    size_t at = im->step_count;
    bool last = i + 1 == item->versions.count;
    im->steps[at] = (ash_import_step){
        .item = item, .version = item->versions.items[i], .current = last && item->has_current};
    int rc = ash__op_check(&im->op, err);
    if (rc != 0)
        return rc;
    rc = ash__import_prepare(im, at, 0, &own);
    if (rc != 0 && ash__import_is_own_fault(rc)) {
        ash__import_fail(im, item->versions.items[i], &own);
        return 0;
    }
    if (rc != 0)
        return ash__unless(0, rc, &own, err);
    im->step_count++;
    im->pending_bytes +=
        im->steps[at].content != NULL ? item->versions.items[i]->content.length : 0;
    if (im->step_count == im->step_max || im->pending_bytes > PENDING_MAX)
        return ash__import_flush(im, err);
    return 0;
}
