/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/content/form.h"

#include "base/mem.h"
#include "tree/content/named.h"

#include <string.h>

/* What a part of a list is read into. */
typedef struct form_reader {
    ash_form *form;
    size_t capacity;
    ash_error *err;
} form_reader;

static int refuse(form_reader *r, const char *field, const char *why)
{
    char hex[ASH_DIGEST_TEXT_BYTES];
    ash__content_id_hex(&r->form->id, hex);
    return ash__fail(r->err, ASH_ECORRUPT, "content %s: field %s %s", hex, field, why);
}

/* A length or an offset; missing is `otherwise`. */
static int read_size(form_reader *r, ash_doc doc, const char *field, int64_t otherwise,
                     int64_t *out)
{
    ash_value v = ash__doc_get(doc, field);
    *out = otherwise;
    if (v.type == 0)
        return 0;
    if (!ash__value_as_int64(v, out) || *out < 0 || *out > INT64_MAX / 4)
        return refuse(r, field, "is no length");
    return 0;
}

static int add_part(form_reader *r, const ash_form_part *part)
{
    ash_form *f = r->form;
    if (f->part_count == ASH_FORM_PARTS_MAX)
        return refuse(r, "base", "has too many parts");
    f->parts = ash__grow_array(f->parts, f->part_count, &r->capacity, sizeof *f->parts);
    f->parts[f->part_count++] = *part;
    return 0;
}

static int add_literal(form_reader *r, ash_value v, int64_t off, int64_t len)
{
    ash_form_part part = {.off = off};
    part.bytes = ash__value_binary_content(v, &part.bytes_len);
    if (part.bytes == NULL)
        return refuse(r, "base", "holds binary of two lengths");
    part.len = len >= 0 ? len : (int64_t)part.bytes_len - off;
    if (part.len < 0 || (part.bytes_len == 0 && part.len > 0))
        return refuse(r, "base", "wants more bytes than it holds");
    return part.len == 0 ? 0 : add_part(r, &part);
}

static int read_list(form_reader *r, ash_value list, int depth);

/* {_id, len, off?} of the generations with GridFS, {sha, length} of the last; a zip archive's entry
 * has `end`, too. */
static int read_reference(form_reader *r, ash_doc doc, bool zipped)
{
    ash_form_part part = {.zipped = zipped};
    ash_value id = ash__doc_get(doc, "_id");
    int64_t length = -1;
    if (id.type == 0)
        id = ash__doc_get(doc, "sha");
    if (!ash__content_id_from(id, &part.id))
        return refuse(r, "base", "names no content");
    int rc = read_size(r, doc, "length", -1, &length);
    if (rc == 0)
        rc = read_size(r, doc, "len", length, &part.len);
    if (rc == 0)
        rc = read_size(r, doc, "off", 0, &part.off);
    if (rc == 0)
        rc = read_size(r, doc, "end", -1, &part.end);
    if (rc == 0 && (part.len < 0 || (zipped && part.end < part.off)))
        rc = refuse(r, "base", "does not say how much of a content it takes");
    return rc == 0 ? add_part(r, &part) : rc;
}

static int read_inside(form_reader *r, ash_doc doc)
{
    int64_t off = 0, len = -1, length = -1;
    int rc = read_size(r, doc, "off", 0, &off);
    if (rc == 0)
        rc = read_size(r, doc, "length", -1, &length);
    if (rc == 0)
        rc = read_size(r, doc, "len", length, &len);
    return rc == 0 ? add_literal(r, ash__doc_get(doc, "in"), off, len) : rc;
}

static int read_element(form_reader *r, ash_value v, int depth)
{
    if (v.type == BSON_TYPE_BINARY)
        return add_literal(r, v, 0, -1);
    if (v.type != BSON_TYPE_DOCUMENT)
        return refuse(r, "base", "holds neither bytes nor a reference");
    ash_doc doc = ash__value_doc(v);
    const char *store = ash__doc_utf8(doc, "store", "");
    if (strcmp(store, "cat") == 0)
        return read_list(r, ash__doc_get(doc, "base"), depth + 1);
    if (ash__doc_get(doc, "in").type == BSON_TYPE_BINARY)
        return read_inside(r, doc);
    return read_reference(r, doc, strcmp(store, "zip") == 0);
}

static int read_list(form_reader *r, ash_value list, int depth)
{
    int rc = 0;
    if (list.type != BSON_TYPE_ARRAY || depth > ASH_FORM_NESTED_MAX)
        return refuse(r, "base", "is no list, or one of lists of lists");
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(list)); rc == 0 && ash__doc_iter_next(&it);)
        rc = read_element(r, it.value, depth);
    return rc;
}

/* Bytes of parts whose content stands before them in the list. */
static int64_t sum_again(const ash_form *f)
{
    ash_id_set seen = {0};
    int64_t sum = 0;
    for (size_t i = 0; i < f->part_count; i++) {
        const ash_form_part *part = &f->parts[i];
        if (part->id.len == 0)
            continue;
        if (ash__id_set_has(&seen, &part->id))
            sum += part->len;
        ash__id_set_add(&seen, &part->id);
    }
    ash__id_set_release(&seen);
    return sum;
}

/* What the parts come to, or the size that the document gives as well. */
static int sum_parts(form_reader *r)
{
    ash_form *f = r->form;
    int64_t sum = 0;
    for (size_t i = 0; i < f->part_count; i++) {
        sum += f->parts[i].len;
        if (sum > ASH_CONTENT_BYTES_MAX)
            return refuse(r, "base", "is longer than anything");
    }
    if (sum > ASH_AGAIN_BYTES_MAX && sum_again(f) > ASH_AGAIN_BYTES_MAX)
        return refuse(r, "base", "names the same again to be longer than anything");
    if (f->kind == ASH_FORM_DELTA)
        return sum <= 2 * ASH_CONTENT_WHOLE_MAX ? 0 : refuse(r, "base", "is too long for a delta");
    if (f->size >= 0 && f->size != sum)
        return refuse(r, "size", "is not what the parts come to");
    f->size = sum;
    return 0;
}

/* The first of several ways to get at the bytes that is known here. */
static int read_alternatives(form_reader *r, ash_doc doc)
{
    ash_value list = ash__doc_get(doc, "alt");
    if (list.type != BSON_TYPE_ARRAY)
        return refuse(r, "alt", "is no list");
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(list)); ash__doc_iter_next(&it);) {
        if (it.value.type != BSON_TYPE_DOCUMENT)
            continue;
        ash_doc way = ash__value_doc(it.value);
        if (strcmp(ash__doc_utf8(way, "store", ""), "cat") == 0)
            return read_list(r, ash__doc_get(way, "base"), 0);
    }
    return ash__content_fail(r->err, ASH_EUNSUPPORTED, &r->form->id,
                             "is kept in a way that is not known here");
}

/* The archive stands in `base`, a document, or in a list of one; where the entry is may stand
 * beside it. */
static int read_zip(form_reader *r, ash_doc doc)
{
    ash_value base = ash__doc_get(doc, "base");
    ash_form *f = r->form;
    int rc = 0;
    if (base.type == BSON_TYPE_ARRAY)
        base = ash__doc_get(ash__value_doc(base), "0");
    if (base.type != BSON_TYPE_DOCUMENT)
        return refuse(r, "base", "names no archive");
    ash_doc archive = ash__value_doc(base);
    ash_doc place = ash__doc_get(doc, "end").type != 0 ? doc : archive;
    ash_form_part part = {.zipped = true};
    ash_value id = ash__doc_get(archive, "_id");
    if (!ash__content_id_from(id.type != 0 ? id : ash__doc_get(archive, "sha"), &part.id))
        return refuse(r, "base", "names no archive");
    rc = read_size(r, place, "off", 0, &part.off);
    if (rc == 0)
        rc = read_size(r, place, "end", -1, &part.end);
    if (rc == 0)
        rc = read_size(r, place, place.data == doc.data ? "length" : "len", f->size, &part.len);
    if (rc == 0 && (part.end < part.off || part.len < 0))
        rc = refuse(r, "base", "does not say where the entry is");
    if (rc == 0 && part.len > ASH_AGAIN_BYTES_MAX)
        rc = refuse(r, "base", "is longer than anything");
    f->size = part.len;
    return rc == 0 ? add_part(r, &part) : rc;
}

static int read_inner_bytes(form_reader *r, ash_doc doc, const char *field)
{
    ash_form *f = r->form;
    ash_value v = ash__doc_get(doc, field);
    f->in = v.type == BSON_TYPE_BINARY ? ash__value_binary_content(v, &f->in_len) : NULL;
    if (f->in == NULL)
        return refuse(r, field, "is not binary");
    f->inside = true;
    f->stored = f->in_len;
    return 0;
}

typedef struct form_name {
    const char *store;
    ash_form_kind kind;
    bool inside;
} form_name;

static const form_name names[] = {
    {"raw", ASH_FORM_RAW, false},     {"in", ASH_FORM_RAW, true},   {"z", ASH_FORM_DEFLATE, false},
    {"zin", ASH_FORM_DEFLATE, true},  {"gz", ASH_FORM_GZIP, false}, {"alt", ASH_FORM_CAT, false},
    {"cat", ASH_FORM_CAT, false},     {"zip", ASH_FORM_ZIP, false}, {"zstd", ASH_FORM_ZSTD, false},
    {"delta", ASH_FORM_DELTA, false},
};

static int read_name(form_reader *r, ash_doc doc, const form_name **out)
{
    ash_value v = ash__doc_get(doc, "store");
    const char *store = v.type == 0 ? "raw" : ash__value_utf8(v, "");
    for (size_t i = 0; i < ASH_ARRAY_LEN(names); i++)
        if (strcmp(names[i].store, store) == 0) {
            *out = &names[i];
            return 0;
        }
    return refuse(r, "store", "names no form");
}

static int read_depth(form_reader *r, ash_doc doc)
{
    int64_t depth = 1;
    int rc = read_size(r, doc, "depth", 1, &depth);
    if (rc == 0 && (depth < 1 || depth > 1000))
        rc = refuse(r, "depth", "is none");
    r->form->depth = (int32_t)depth;
    return rc;
}

static int read_body(form_reader *r, ash_doc doc, const form_name *name)
{
    ash_form *f = r->form;
    int rc = 0;
    f->kind = name->kind;
    if (f->kind == ASH_FORM_CAT) {
        rc = strcmp(name->store, "alt") == 0 ? read_alternatives(r, doc)
                                             : read_list(r, ash__doc_get(doc, "base"), 0);
        return rc == 0 ? sum_parts(r) : rc;
    }
    if (f->kind == ASH_FORM_ZIP)
        return read_zip(r, doc);
    if (f->kind == ASH_FORM_DELTA)
        rc = read_list(r, ash__doc_get(doc, "base"), 0);
    if (rc == 0 && f->kind == ASH_FORM_DELTA)
        rc = sum_parts(r);
    if (rc == 0 && f->kind == ASH_FORM_DELTA)
        rc = read_depth(r, doc);
    /* The last generation has no chunks: `in`, or `gz` in a field of its own. */
    if (rc == 0 && ash__doc_get(doc, "zin").type == BSON_TYPE_BINARY && f->kind == ASH_FORM_GZIP)
        return read_inner_bytes(r, doc, "zin");
    if (rc == 0 && (name->inside || ash__doc_get(doc, "in").type != 0))
        rc = read_inner_bytes(r, doc, "in");
    return rc;
}

static int check_sizes(form_reader *r, bool said)
{
    ash_form *f = r->form;
    if (f->kind == ASH_FORM_RAW) {
        if (said && f->size != f->stored)
            return refuse(r, "size", "is not how many bytes there are");
        f->size = f->stored;
    }
    if ((f->kind == ASH_FORM_ZSTD || f->kind == ASH_FORM_DELTA) &&
        (f->size < 0 || f->size > ASH_CONTENT_WHOLE_MAX || f->stored > ASH_CONTENT_WHOLE_MAX))
        return refuse(r, "size", "cannot be that of a single frame");
    return 0;
}

int ash__form_read(const bson_t *doc, ash_form *out, ash_error *err)
{
    form_reader r = {.form = out, .err = err};
    const form_name *name = NULL;
    memset((void *)out, 0, sizeof *out);
    out->doc = bson_copy(doc);
    ash_doc view = ash__doc_from_bson(out->doc);
    ash_value date = ash__doc_get(view, "uploadDate");
    if (!ash__content_id_from(ash__doc_get(view, "_id"), &out->id))
        return ash__fail(err, ASH_ECORRUPT, "a content's _id is no digest");
    if (date.type == BSON_TYPE_DATE_TIME)
        out->upload_date_ms = ash__value_int64(date);
    int rc = read_name(&r, view, &name);
    if (rc == 0)
        rc = read_size(&r, view, "length", 0, &out->stored);
    if (rc == 0)
        rc = read_size(&r, view, "size", -1, &out->size);
    bool said = out->size >= 0;
    if (rc == 0)
        rc = read_body(&r, view, name);
    return rc == 0 ? check_sizes(&r, said) : rc;
}

void ash__form_release(ash_form *f)
{
    ash__free(f->parts);
    bson_destroy(f->doc);
    f->doc = NULL;
    f->parts = NULL;
    f->part_count = 0;
}
