/* SPDX-License-Identifier: Apache-2.0 */
/* An object's document, brought into one form, and what it says. */
#include "object/info.h"

#include "base/mem.h"
#include "bson/value.h"
#include "object/document.h"
#include "query/match/match.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

/* ---- reading ---- */

static const char *text_of(const bson_iter_t *it)
{
    return BSON_ITER_HOLDS_UTF8(it) ? bson_iter_utf8(it, NULL) : NULL;
}

static int64_t number_of(const bson_iter_t *it)
{
    int64_t out = 0;
    if (BSON_ITER_HOLDS_DATE_TIME(it))
        return bson_iter_date_time(it);
    (void)ash__value_as_int64(ash__value_of_iter(it), &out);
    return out;
}

/* {bucket, name?} */
static void read_place(const bson_iter_t *it, const char **bucket, const char **name)
{
    bson_iter_t in;
    if (!bson_iter_recurse(it, &in))
        return;
    while (bson_iter_next(&in)) {
        if (strcmp(bson_iter_key(&in), "bucket") == 0)
            *bucket = text_of(&in);
        else if (strcmp(bson_iter_key(&in), "name") == 0)
            *name = text_of(&in);
    }
}

static void read_options(ash_object *o, const bson_iter_t *it)
{
    bson_iter_t in;
    if (!bson_iter_recurse(it, &in))
        return;
    while (bson_iter_next(&in)) {
        if (strcmp(bson_iter_key(&in), "link") == 0)
            read_place(&in, &o->link_store, &o->link_name);
        else if (strcmp(bson_iter_key(&in), "max_chunk_size") == 0)
            o->chunk_size = (int32_t)number_of(&in);
    }
}

/* The first value of the header Content-Type, whose name has no case. */
static const char *content_type(const bson_iter_t *headers)
{
    bson_iter_t in, value;
    if (!bson_iter_recurse(headers, &in))
        return NULL;
    while (bson_iter_next(&in))
        if (strcasecmp(bson_iter_key(&in), ASH_HEADER_TYPE) == 0 &&
            bson_iter_recurse(&in, &value) && bson_iter_next(&value))
            return bson_iter_utf8(&value, NULL);
    return NULL;
}

static const struct {
    const char *name;
    size_t at;
    bool is_text;
} plain_fields[] = {
    {"name", offsetof(ash_object, name), true},
    {"description", offsetof(ash_object, description), true},
    {"bucket", offsetof(ash_object, store), true},
    {"nuid", offsetof(ash_object, nuid), true},
    {"encoding", offsetof(ash_object, encoding), true},
    {"size", offsetof(ash_object, size), false},
    {"chunks", offsetof(ash_object, chunks), false},
    {"mtime", offsetof(ash_object, modified_ms), false},
    {"expires", offsetof(ash_object, expires_ms), false},
    {"until", offsetof(ash_object, ended_ms), false},
    {"revision", offsetof(ash_object, revision), false},
};

static bool read_plain(ash_object *o, const bson_iter_t *it)
{
    for (size_t i = 0; i < ASH_ARRAY_LEN(plain_fields); i++) {
        if (strcmp(plain_fields[i].name, bson_iter_key(it)) != 0)
            continue;
        void *at = (char *)o + plain_fields[i].at;
        if (!plain_fields[i].is_text)
            *(int64_t *)at = number_of(it);
        else if (text_of(it) != NULL)
            *(const char **)at = text_of(it);
        return true;
    }
    return false;
}

/* Of a document in its form, where each field stands once. */
static void read_fields(ash_object *o)
{
    bson_iter_t it;
    o->name = o->description = o->store = o->nuid = "";
    if (!bson_iter_init(&it, o->document))
        return;
    while (bson_iter_next(&it)) {
        const char *key = bson_iter_key(&it);
        if (read_plain(o, &it))
            continue;
        if (strcmp(key, "digest") == 0 && text_of(&it) != NULL)
            strncpy(o->digest, text_of(&it), sizeof o->digest - 1);
        else if (strcmp(key, "headers") == 0)
            o->content_type = content_type(&it);
        else if (strcmp(key, "options") == 0)
            read_options(o, &it);
        else if (strcmp(key, "archive") == 0)
            read_place(&it, &o->archive_store, &o->archive_name);
        else if (strcmp(key, "deleted") == 0)
            o->deleted = true;
    }
}

static int check(const ash_object *o, ash_error *err)
{
    if (o->name[0] == '\0')
        return ash__fail(err, ASH_ECORRUPT, "an object's info has no name");
    if (o->size < 0 || o->chunks < 0)
        return ash__fail(err, ASH_ECORRUPT, "info of object %.200s has a negative size", o->name);
    return 0;
}

int ash__object_new(bson_t *doc, ash_object **out, ash_error *err)
{
    ash_object *o = ash__new(ash_object);
    o->document = ash__object_document_order(doc);
    bson_destroy(doc);
    read_fields(o);
    int rc = check(o, err);
    if (rc != 0) {
        ash_object_free(o);
        o = NULL;
    }
    *out = o;
    return rc;
}

void ash_object_free(ash_object *o)
{
    if (o == NULL)
        return;
    bson_destroy(o->document);
    ash__free(o);
}

ash_object *ash_object_copy(const ash_object *o)
{
    ash_object *copy = ash__new(ash_object);
    copy->document = bson_copy(o->document);
    read_fields(copy);
    return copy;
}

/* ---- making ---- */

int ash__object_set(const ash_object *old, const bson_t *set, ash_object **out, ash_error *err)
{
    bson_t *doc = bson_new();
    bson_iter_t it;
    if (old != NULL && bson_iter_init(&it, old->document))
        while (bson_iter_next(&it))
            if (!bson_has_field(set, bson_iter_key(&it)))
                bson_append_iter(doc, NULL, 0, &it);
    if (bson_iter_init(&it, set))
        while (bson_iter_next(&it))
            if (!BSON_ITER_HOLDS_NULL(&it))
                bson_append_iter(doc, NULL, 0, &it);
    return ash__object_new(doc, out, err);
}

void ash__object_set_deleted(bson_t *set)
{
    BCON_APPEND(set, "deleted", BCON_BOOL(true), "size", BCON_INT64(0), "chunks", BCON_INT64(0),
                "digest", BCON_NULL, "encoding", BCON_NULL, "archive", BCON_NULL, "expires",
                BCON_NULL);
}

/* Those of `from` but the type, and the type, when it is not "". */
static void set_headers(const bson_t *from, const char *type, bson_t *set)
{
    bson_t headers = BSON_INITIALIZER, list;
    bson_iter_t it;
    if (from != NULL && bson_iter_init(&it, from))
        while (bson_iter_next(&it))
            if (type == NULL || strcasecmp(bson_iter_key(&it), ASH_HEADER_TYPE) != 0)
                bson_append_iter(&headers, NULL, 0, &it);
    if (type != NULL && type[0] != '\0') {
        BSON_APPEND_ARRAY_BEGIN(&headers, ASH_HEADER_TYPE, &list);
        BSON_APPEND_UTF8(&list, "0", type);
        bson_append_array_end(&headers, &list);
    }
    if (bson_empty(&headers))
        BSON_APPEND_NULL(set, "headers");
    else
        BSON_APPEND_DOCUMENT(set, "headers", &headers);
    bson_destroy(&headers);
}

void ash__object_set_meta(const ash_object_meta *meta, const ash_object *old, bson_t *set)
{
    bson_t before;
    bool had = old != NULL && ash_object_headers(old, &before);
    if (meta->name != NULL)
        BSON_APPEND_UTF8(set, "name", meta->name);
    if (meta->description != NULL && meta->description[0] != '\0')
        BSON_APPEND_UTF8(set, "description", meta->description);
    else if (meta->description != NULL)
        BSON_APPEND_NULL(set, "description");
    if (meta->headers != NULL || meta->content_type != NULL)
        set_headers(meta->headers != NULL ? meta->headers
                    : had                 ? &before
                                          : NULL,
                    meta->content_type, set);
    if (meta->metadata != NULL)
        BSON_APPEND_DOCUMENT(set, "metadata", meta->metadata);
    if (meta->tags != NULL)
        BSON_APPEND_ARRAY(set, "tags", meta->tags);
}

/* ---- what it says ---- */

const char *ash_object_name(const ash_object *o)
{
    return o->name;
}

const char *ash_object_store_of(const ash_object *o)
{
    return o->store;
}

const char *ash_object_description(const ash_object *o)
{
    return o->description;
}

const char *ash_object_nuid(const ash_object *o)
{
    return o->nuid;
}

int64_t ash_object_size(const ash_object *o)
{
    return o->size;
}

int64_t ash_object_chunks(const ash_object *o)
{
    return o->chunks;
}

int32_t ash_object_chunk_size(const ash_object *o)
{
    return o->chunk_size > 0 ? o->chunk_size : ASH_OBJECT_CHUNK_SIZE_DEFAULT;
}

const char *ash_object_digest(const ash_object *o)
{
    return o->digest;
}

int64_t ash_object_modified_ms(const ash_object *o)
{
    return o->modified_ms;
}

bool ash_object_is_deleted(const ash_object *o)
{
    return o->deleted;
}

bool ash_object_is_link(const ash_object *o)
{
    return o->link_store != NULL;
}

const char *ash_object_link_store(const ash_object *o)
{
    return o->link_store;
}

const char *ash_object_link_name(const ash_object *o)
{
    return o->link_name;
}

bool ash__object_view(const ash_object *o, const char *field, bson_t *out)
{
    bson_iter_t it;
    const uint8_t *data;
    uint32_t len;
    if (!bson_iter_init_find(&it, o->document, field))
        return false;
    if (BSON_ITER_HOLDS_ARRAY(&it))
        bson_iter_array(&it, &len, &data);
    else
        bson_iter_document(&it, &len, &data);
    return bson_init_static(out, data, len);
}

bool ash_object_headers(const ash_object *o, bson_t *out)
{
    return ash__object_view(o, "headers", out);
}

bool ash_object_metadata(const ash_object *o, bson_t *out)
{
    return ash__object_view(o, "metadata", out);
}

const char *ash_object_content_type(const ash_object *o)
{
    return o->content_type;
}

size_t ash_object_tag_count(const ash_object *o)
{
    bson_t tags;
    return ash__object_view(o, "tags", &tags) ? bson_count_keys(&tags) : 0;
}

const char *ash_object_tag(const ash_object *o, size_t index)
{
    bson_t tags;
    bson_iter_t it;
    if (!ash__object_view(o, "tags", &tags) || !bson_iter_init(&it, &tags))
        return NULL;
    while (bson_iter_next(&it))
        if (index-- == 0)
            return bson_iter_utf8(&it, NULL);
    return NULL;
}

uint64_t ash_object_revision(const ash_object *o)
{
    return o->revision;
}

int64_t ash_object_expires_ms(const ash_object *o)
{
    return o->expires_ms;
}

int64_t ash_object_ended_ms(const ash_object *o)
{
    return o->ended_ms;
}

bool ash_object_is_archived(const ash_object *o)
{
    return o->archive_store != NULL;
}

const char *ash_object_encoding(const ash_object *o)
{
    return o->encoding;
}

ash_doc ash_object_document(const ash_object *o)
{
    return ash__doc_from_bson(o->document);
}

int ash__object_matches(const ash_object *o, const bson_t *filter, bool *out, ash_error *err)
{
    ash_query_env env = {.now_ms = o->modified_ms};
    ash_matcher *m = NULL;
    *out = false;
    int rc = ash__matcher_new(filter, &env, &m, err);
    if (rc == 0)
        rc = ash__matcher_check(m, ash_object_document(o), NULL, out, err);
    ash__matcher_free(m);
    return rc;
}
