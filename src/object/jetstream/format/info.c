/* SPDX-License-Identifier: Apache-2.0 */
#include "object/jetstream/format/info.h"

#include "base/mem.h"
#include "object/document.h"
#include "object/jetstream/format/names.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ZERO_TIME "0001-01-01T00:00:00Z"

/* ---- writing ---- */

static void put_value(ash_buffer *out, const bson_iter_t *it);

static void put_members(ash_buffer *out, bson_iter_t *it, bool array)
{
    ash__buffer_append_byte(out, array ? '[' : '{');
    for (bool first = true; bson_iter_next(it); first = false) {
        if (!array)
            ash__json_put_key(out, bson_iter_key(it));
        else if (!first)
            ash__buffer_append_byte(out, ',');
        put_value(out, it);
    }
    ash__buffer_append_byte(out, array ? ']' : '}');
}

static void put_value(ash_buffer *out, const bson_iter_t *it)
{
    bson_iter_t in;
    uint32_t len = 0;
    if (BSON_ITER_HOLDS_UTF8(it)) {
        const char *text = bson_iter_utf8(it, &len);
        ash__json_put_text(out, text, len);
    } else if (BSON_ITER_HOLDS_INT(it)) {
        ash__buffer_printf(out, "%" PRId64, bson_iter_as_int64(it));
    } else if (BSON_ITER_HOLDS_DOUBLE(it)) {
        ash__buffer_printf(out, "%.17g", bson_iter_double(it));
    } else if (BSON_ITER_HOLDS_BOOL(it)) {
        ash__buffer_append_text(out, bson_iter_bool(it) ? "true" : "false");
    } else if ((BSON_ITER_HOLDS_DOCUMENT(it) || BSON_ITER_HOLDS_ARRAY(it)) &&
               bson_iter_recurse(it, &in)) {
        put_members(out, &in, BSON_ITER_HOLDS_ARRAY(it));
    } else {
        ash__buffer_append_text(out, "null");
    }
}

/* A map; extra (may be NULL) goes with it as extra_key. */
static void put_map(ash_buffer *out, const char *key, const bson_t *map, const char *extra_key,
                    const bson_iter_t *extra)
{
    bson_iter_t it;
    if ((map == NULL || bson_empty(map)) && extra == NULL)
        return;
    ash__json_put_key(out, key);
    ash__buffer_append_byte(out, '{');
    if (map != NULL && bson_iter_init(&it, map)) {
        while (bson_iter_next(&it)) {
            ash__json_put_key(out, bson_iter_key(&it));
            put_value(out, &it);
        }
    }
    if (extra != NULL) {
        ash__json_put_key(out, extra_key);
        put_value(out, extra);
    }
    ash__buffer_append_byte(out, '}');
}

static void put_options(ash_buffer *out, const ash_object *o)
{
    if (o->link_store == NULL && o->chunk_size == 0)
        return;
    ash__json_put_key(out, "options");
    ash__buffer_append_byte(out, '{');
    if (o->link_store != NULL) {
        ash__json_put_key(out, "link");
        ash__buffer_append_byte(out, '{');
        ash__json_put_text_member(out, "bucket", o->link_store);
        if (o->link_name != NULL)
            ash__json_put_text_member(out, "name", o->link_name);
        ash__buffer_append_byte(out, '}');
    }
    if (o->chunk_size > 0)
        ash__json_put_int_member(out, "max_chunk_size", o->chunk_size);
    ash__buffer_append_byte(out, '}');
}

/* Everything that ADR-20 has no word for, and that is not told by the message itself. */
static void put_unknown(ash_buffer *out, const ash_object *o)
{
    bson_iter_t it;
    if (!bson_iter_init(&it, o->document))
        return;
    while (bson_iter_next(&it)) {
        if (ash__object_document_has(bson_iter_key(&it)))
            continue;
        ash__json_put_key(out, bson_iter_key(&it));
        put_value(out, &it);
    }
}

void ash__js_write_info(const ash_object *o, const char *nuid, ash_buffer *out)
{
    bson_t headers, metadata;
    bson_iter_t tags;
    bool has_headers = ash_object_headers(o, &headers);
    bool has_metadata = ash_object_metadata(o, &metadata);
    bool has_tags = bson_iter_init_find(&tags, o->document, "tags");
    const char *own = o->nuid != NULL && *o->nuid != '\0' ? o->nuid : nuid;

    ash__buffer_append_byte(out, '{');
    ash__json_put_text_member(out, "name", o->name);
    if (o->description != NULL && *o->description != '\0')
        ash__json_put_text_member(out, "description", o->description);
    put_map(out, "headers", has_headers ? &headers : NULL, ASH_HEADER_TAGS,
            has_tags ? &tags : NULL);
    put_map(out, "metadata", has_metadata ? &metadata : NULL, NULL, NULL);
    put_options(out, o);
    ash__json_put_text_member(out, "bucket", o->store);
    ash__json_put_text_member(out, "nuid", own);
    ash__json_put_int_member(out, "size", o->size);
    ash__json_put_text_member(out, "mtime", ZERO_TIME);
    ash__json_put_int_member(out, "chunks", o->chunks);
    if (o->digest[0] != '\0')
        ash__json_put_text_member(out, "digest", o->digest);
    if (o->deleted)
        ash__json_put_truth_member(out, "deleted", true);
    put_unknown(out, o);
    ash__buffer_append_byte(out, '}');
}

/* ---- reading ---- */

static void append(bson_t *doc, const char *key, const ash_json *value);

static void append_nest(bson_t *doc, const char *key, const ash_json *value)
{
    bson_t nest;
    char number[16];
    uint32_t index = 0;
    bool array = value->type == ASH_JSON_ARRAY;

    if (array)
        bson_append_array_begin(doc, key, (int)strlen(key), &nest);
    else
        bson_append_document_begin(doc, key, (int)strlen(key), &nest);
    for (const ash_json *child = value->first; child != NULL; child = child->next) {
        const char *name = child->key;
        if (array)
            bson_uint32_to_string(index++, &name, number, sizeof number);
        append(&nest, name, child);
    }
    if (array)
        bson_append_array_end(doc, &nest);
    else
        bson_append_document_end(doc, &nest);
}

static void append_number(bson_t *doc, const char *key, const ash_json *value)
{
    char *end = NULL;
    int64_t number = strtoll(value->text, &end, 10);
    if (*end == '\0')
        BSON_APPEND_INT64(doc, key, number);
    else
        BSON_APPEND_DOUBLE(doc, key, strtod(value->text, NULL));
}

static void append(bson_t *doc, const char *key, const ash_json *value)
{
    switch (value->type) {
    case ASH_JSON_NULL:
        BSON_APPEND_NULL(doc, key);
        break;
    case ASH_JSON_BOOL:
        BSON_APPEND_BOOL(doc, key, value->truth);
        break;
    case ASH_JSON_NUMBER:
        append_number(doc, key, value);
        break;
    case ASH_JSON_TEXT:
        bson_append_utf8(doc, key, (int)strlen(key), value->text, (int)value->text_len);
        break;
    default:
        append_nest(doc, key, value);
    }
}

static bool is_link(const ash_json *info)
{
    const ash_json *link = ash__json_get(ash__json_get(info, "options"), "link");
    return link != NULL && ash__json_text(link, "bucket", NULL) != NULL;
}

/* What the message itself says, or has no meaning for a link. */
static bool is_left_out(const char *name, bool link)
{
    static const char *const always[] = {"bucket", "mtime", "revision", "expires"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(always); i++)
        if (strcmp(name, always[i]) == 0)
            return true;
    return link && (strcmp(name, "nuid") == 0 || strcmp(name, "digest") == 0);
}

/* As it came: what clients write in several ways is brought into one form with all else. */
static bson_t *to_document(const ash_json *info, const ash_js_meta_text *m)
{
    bson_t doc = BSON_INITIALIZER;
    bool link = is_link(info);
    for (const ash_json *field = info->first; field != NULL; field = field->next)
        if (!is_left_out(field->key, link))
            append(&doc, field->key, field);
    BSON_APPEND_UTF8(&doc, "bucket", m->store);
    BSON_APPEND_DATE_TIME(&doc, "mtime", m->time_ms);
    BSON_APPEND_INT64(&doc, "revision", (int64_t)m->sequence);
    if (m->expires_ms > 0)
        BSON_APPEND_DATE_TIME(&doc, "expires", m->expires_ms);
    bson_t *out = ash__object_document_with_tags(&doc);
    bson_destroy(&doc);
    return out;
}

int ash__js_read_info(const ash_js_meta_text *m, ash_object **out, ash_error *err)
{
    ash_json *info = NULL;
    ash_error why = ASH_ERROR_INIT;
    int rc = ash__json_parse((const char *)m->data, m->len, &info, &why);
    if (rc == 0 && info->type != ASH_JSON_OBJECT)
        rc = ash__fail(&why, ASH_ECORRUPT, "no map");
    if (rc == 0)
        rc = ash__object_new(to_document(info, m), out, &why);
    ash__json_free(info);
    if (rc == 0)
        return 0;
    return ash__fail(err, ASH_ECORRUPT, "an object's info, message %" PRIu64 " of store %s: %s",
                     m->sequence, m->store, why.text);
}
