/* SPDX-License-Identifier: Apache-2.0 */
#include "value.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the pool ---- */

typedef struct block {
    struct block *next;
    size_t used, size;
    _Alignas(16) unsigned char bytes[];
} block;

static block *blocks;

void *pool_get(size_t size_bytes)
{
    size_t size = (size_bytes + 15) & ~(size_t)15;
    if (blocks == NULL || blocks->size - blocks->used < size) {
        size_t room = size > 65536 ? size : 65536;
        block *b = malloc(sizeof *b + room);
        if (b == NULL)
            abort();
        b->next = blocks;
        b->used = 0;
        b->size = room;
        blocks = b;
    }
    void *p = blocks->bytes + blocks->used;
    blocks->used += size;
    memset(p, 0, size);
    return p;
}

void pool_empty(void)
{
    while (blocks != NULL) {
        block *next = blocks->next;
        free(blocks);
        blocks = next;
    }
}

static uint8_t *pool_bytes(const void *data, size_t len)
{
    uint8_t *copy = pool_get(len + 1);
    if (len > 0)
        memcpy(copy, data, len);
    return copy;
}

char *pool_text(const char *text)
{
    return (char *)pool_bytes(text, strlen(text));
}

char *pool_print(const char *format, ...)
{
    char text[4096];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return pool_text(text);
}

/* ---- reading ---- */

static mv *parse_children(bson_iter_t *iter, bson_type_t type);

static void parse_bytes(mv *v, const void *data, size_t len)
{
    v->data = pool_bytes(data, len);
    v->len = len;
}

static mv *parse_container(const uint8_t *data, uint32_t len, bson_type_t type)
{
    bson_t b;
    bson_iter_t iter;
    if (!bson_init_static(&b, data, len) || !bson_iter_init(&iter, &b))
        abort();
    return parse_children(&iter, type);
}

static mv *parse_value(const bson_iter_t *it)
{
    mv *v = mv_new(bson_iter_type(it));
    uint32_t len = 0;
    const uint8_t *data = NULL;
    switch (v->type) {
    case BSON_TYPE_DOUBLE:
        v->d = bson_iter_double(it);
        break;
    case BSON_TYPE_UTF8: {
        const char *text = bson_iter_utf8(it, &len);
        parse_bytes(v, text, len);
        break;
    }
    case BSON_TYPE_DOCUMENT:
        bson_iter_document(it, &len, &data);
        return parse_container(data, len, v->type);
    case BSON_TYPE_ARRAY:
        bson_iter_array(it, &len, &data);
        return parse_container(data, len, v->type);
    case BSON_TYPE_BINARY: {
        bson_subtype_t subtype;
        bson_iter_binary(it, &subtype, &len, &data);
        v->subtype = (uint8_t)subtype;
        parse_bytes(v, data, len);
        break;
    }
    case BSON_TYPE_OID:
        parse_bytes(v, bson_iter_oid(it), 12);
        break;
    case BSON_TYPE_BOOL:
        v->i = bson_iter_bool(it);
        break;
    case BSON_TYPE_DATE_TIME:
        v->i = bson_iter_date_time(it);
        break;
    case BSON_TYPE_REGEX: {
        const char *options, *pattern = bson_iter_regex(it, &options);
        parse_bytes(v, pattern, strlen(pattern));
        v->options = pool_text(options);
        break;
    }
    case BSON_TYPE_INT32:
        v->i = bson_iter_int32(it);
        break;
    case BSON_TYPE_INT64:
        v->i = bson_iter_int64(it);
        break;
    case BSON_TYPE_TIMESTAMP: {
        uint32_t seconds, increment;
        bson_iter_timestamp(it, &seconds, &increment);
        v->i = (int64_t)((uint64_t)seconds << 32 | increment);
        break;
    }
    case BSON_TYPE_DECIMAL128:
        bson_iter_decimal128(it, &v->dec);
        break;
    case BSON_TYPE_NULL:
    case BSON_TYPE_MINKEY:
    case BSON_TYPE_MAXKEY:
    case BSON_TYPE_UNDEFINED:
        break;
    case BSON_TYPE_CODE: {
        const char *text = bson_iter_code(it, &len);
        parse_bytes(v, text, len);
        break;
    }
    case BSON_TYPE_SYMBOL: {
        const char *text = bson_iter_symbol(it, &len);
        parse_bytes(v, text, len);
        break;
    }
    default:
        v->type = BSON_TYPE_NULL; /* what nobody makes any more */
    }
    return v;
}

static mv *parse_children(bson_iter_t *iter, bson_type_t type)
{
    mv *v = mv_new(type);
    while (bson_iter_next(iter))
        mv_insert(v, v->count, parse_value(iter)),
            v->names[v->count - 1] = pool_text(bson_iter_key(iter));
    return v;
}

mv *mv_parse(const bson_t *doc)
{
    return parse_container(bson_get_data(doc), doc->len, BSON_TYPE_DOCUMENT);
}

mv *mv_array(const bson_t *array)
{
    return parse_container(bson_get_data(array), array->len, BSON_TYPE_ARRAY);
}

/* ---- writing ---- */

static void write_value(bson_t *out, const char *key, const mv *v)
{
    int len = (int)strlen(key);
    switch (v->type) {
    case BSON_TYPE_DOUBLE:
        bson_append_double(out, key, len, v->d);
        break;
    case BSON_TYPE_UTF8:
        bson_append_utf8(out, key, len, (const char *)v->data, (int)v->len);
        break;
    case BSON_TYPE_DOCUMENT:
    case BSON_TYPE_ARRAY: {
        bson_t *child = mv_bson(v);
        if (v->type == BSON_TYPE_ARRAY)
            bson_append_array(out, key, len, child);
        else
            bson_append_document(out, key, len, child);
        bson_destroy(child);
        break;
    }
    case BSON_TYPE_BINARY:
        bson_append_binary(out, key, len, (bson_subtype_t)v->subtype, v->data, (uint32_t)v->len);
        break;
    case BSON_TYPE_OID: {
        bson_oid_t oid;
        bson_oid_init_from_data(&oid, v->data);
        bson_append_oid(out, key, len, &oid);
        break;
    }
    case BSON_TYPE_BOOL:
        bson_append_bool(out, key, len, v->i != 0);
        break;
    case BSON_TYPE_DATE_TIME:
        bson_append_date_time(out, key, len, v->i);
        break;
    case BSON_TYPE_REGEX:
        bson_append_regex(out, key, len, (const char *)v->data, v->options);
        break;
    case BSON_TYPE_INT32:
        bson_append_int32(out, key, len, (int32_t)v->i);
        break;
    case BSON_TYPE_INT64:
        bson_append_int64(out, key, len, v->i);
        break;
    case BSON_TYPE_TIMESTAMP:
        bson_append_timestamp(out, key, len, (uint32_t)((uint64_t)v->i >> 32), (uint32_t)v->i);
        break;
    case BSON_TYPE_DECIMAL128:
        bson_append_decimal128(out, key, len, &v->dec);
        break;
    case BSON_TYPE_NULL:
        bson_append_null(out, key, len);
        break;
    case BSON_TYPE_UNDEFINED:
        bson_append_undefined(out, key, len);
        break;
    case BSON_TYPE_CODE:
        bson_append_code(out, key, len, (const char *)v->data);
        break;
    case BSON_TYPE_SYMBOL:
        bson_append_symbol(out, key, len, (const char *)v->data, (int)v->len);
        break;
    case BSON_TYPE_MINKEY:
        bson_append_minkey(out, key, len);
        break;
    case BSON_TYPE_MAXKEY:
        bson_append_maxkey(out, key, len);
        break;
    default:
        abort();
    }
}

bson_t *mv_bson(const mv *v)
{
    bson_t *out = bson_new();
    for (uint32_t i = 0; i < v->count; i++) {
        char number[16];
        snprintf(number, sizeof number, "%u", i);
        write_value(out, v->type == BSON_TYPE_ARRAY ? number : v->names[i], v->items[i]);
    }
    return out;
}

char *mv_text(const mv *v)
{
    if (v == NULL)
        return pool_text("(missing)");
    mv *box = mv_new(BSON_TYPE_DOCUMENT);
    mv_put(box, "v", mv_copy(v));
    bson_t *b = mv_bson(box);
    char *text = bson_as_relaxed_extended_json(b, NULL);
    char *copy = pool_text(text == NULL ? "?" : text);
    bson_free(text);
    bson_destroy(b);
    return copy;
}

bool mv_same_bytes(const mv *a, const mv *b)
{
    mv *p = mv_new(BSON_TYPE_ARRAY), *q = mv_new(BSON_TYPE_ARRAY);
    mv_put(p, "", mv_copy(a));
    mv_put(q, "", mv_copy(b));
    bson_t *x = mv_bson(p), *y = mv_bson(q);
    bool same = bson_equal(x, y);
    bson_destroy(x);
    bson_destroy(y);
    return same;
}

/* ---- making and changing ---- */

mv *mv_new(bson_type_t type)
{
    mv *v = pool_get(sizeof *v);
    v->type = type;
    return v;
}

mv *mv_int(int64_t i)
{
    mv *v = mv_new(i >= INT32_MIN && i <= INT32_MAX ? BSON_TYPE_INT32 : BSON_TYPE_INT64);
    v->i = i;
    return v;
}

mv *mv_long(int64_t i)
{
    mv *v = mv_new(BSON_TYPE_INT64);
    v->i = i;
    return v;
}

mv *mv_double(double d)
{
    mv *v = mv_new(BSON_TYPE_DOUBLE);
    v->d = d;
    return v;
}

mv *mv_string(const char *text)
{
    mv *v = mv_new(BSON_TYPE_UTF8);
    parse_bytes(v, text, strlen(text));
    return v;
}

mv *mv_copy(const mv *v)
{
    mv *copy = pool_get(sizeof *copy);
    *copy = *v;
    copy->count = copy->capacity = 0;
    copy->names = NULL;
    copy->items = NULL;
    for (uint32_t i = 0; i < v->count; i++) {
        mv_insert(copy, i, mv_copy(v->items[i]));
        copy->names[i] = v->names[i];
    }
    return copy;
}

bool is_index(const char *text, uint32_t *index)
{
    size_t len = strlen(text);
    if (len == 0 || len > 9 || strspn(text, "0123456789") != len || (text[0] == '0' && len > 1))
        return false;
    *index = (uint32_t)strtoul(text, NULL, 10);
    return true;
}

int mv_find(const mv *v, const char *name)
{
    uint32_t index;
    if (v->type == BSON_TYPE_ARRAY)
        return is_index(name, &index) && index < v->count ? (int)index : -1;
    for (uint32_t i = 0; v->type == BSON_TYPE_DOCUMENT && i < v->count; i++) {
        if (strcmp(v->names[i], name) == 0)
            return (int)i;
    }
    return -1;
}

mv *mv_get(const mv *v, const char *name)
{
    int at = mv_find(v, name);
    return at < 0 ? NULL : v->items[at];
}

void mv_insert(mv *array, uint32_t at, mv *item)
{
    if (array->count == array->capacity) {
        uint32_t capacity = array->capacity == 0 ? 4 : array->capacity * 2;
        const char **names = pool_get(capacity * sizeof *names);
        mv **items = pool_get(capacity * sizeof(mv *));
        for (uint32_t i = 0; i < array->count; i++) {
            names[i] = array->names[i];
            items[i] = array->items[i];
        }
        array->names = names;
        array->items = items;
        array->capacity = capacity;
    }
    for (uint32_t i = array->count; i > at; i--) {
        array->items[i] = array->items[i - 1];
        array->names[i] = array->names[i - 1];
    }
    array->items[at] = item;
    array->names[at] = "";
    array->count++;
}

void mv_put(mv *v, const char *name, mv *item)
{
    int at = v->type == BSON_TYPE_DOCUMENT ? mv_find(v, name) : -1;
    if (at >= 0) {
        v->items[at] = item;
        return;
    }
    mv_insert(v, v->count, item);
    v->names[v->count - 1] = pool_text(name);
}

void mv_remove(mv *v, uint32_t at)
{
    for (uint32_t i = at; i + 1 < v->count; i++) {
        v->items[i] = v->items[i + 1];
        v->names[i] = v->names[i + 1];
    }
    v->count--;
}

parts path_parts(const char *path)
{
    parts p = {pool_get((strlen(path) + 1) * sizeof(char *)), 0};
    char *text = pool_text(path);
    for (;;) {
        char *dot = strchr(text, '.');
        p.at[p.count++] = text;
        if (dot == NULL)
            return p;
        *dot = '\0';
        text = dot + 1;
    }
}

bool mv_is_number(const mv *v)
{
    return v->type == BSON_TYPE_INT32 || v->type == BSON_TYPE_INT64 ||
           v->type == BSON_TYPE_DOUBLE || v->type == BSON_TYPE_DECIMAL128;
}

bool mv_is_container(const mv *v)
{
    return v->type == BSON_TYPE_DOCUMENT || v->type == BSON_TYPE_ARRAY;
}
