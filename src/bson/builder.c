/* SPDX-License-Identifier: Apache-2.0 */
/* All elements go to the end of one buffer.  A document that is opened gets room for its length,
 * which ash__builder_end() fills in when it is known. */
#include "bson/builder.h"

#include "base/bytes.h"
#include "base/mem.h"

#include <string.h>

static void open_document(ash_builder *b)
{
    ash_assert(b->depth < (int)ASH_ARRAY_LEN(b->open));
    b->open[b->depth++] = (uint32_t)b->buf.len;
    ash__buffer_append(&b->buf, (const uint8_t[4]){0}, 4);
}

void ash__builder_begin(ash_builder *b)
{
    ash__buffer_clear(&b->buf);
    b->depth = 0;
    open_document(b);
}

/* The element's head, and room for len bytes of its value, which the caller fills. */
static uint8_t *begin_element(ash_builder *b, uint8_t type, const char *name, uint32_t name_len,
                              uint32_t len)
{
    ash_assert(b->depth > 0);
    size_t head = 2 + (size_t)name_len;
    ash__buffer_reserve(&b->buf, head + len);
    uint8_t *at = b->buf.data + b->buf.len;
    at[0] = type;
    memcpy(at + 1, name, name_len);
    at[1 + name_len] = 0;
    b->buf.len += head + len;
    return at + head;
}

static uint8_t *begin_named(ash_builder *b, uint8_t type, const char *name, uint32_t len)
{
    return begin_element(b, type, name, (uint32_t)strlen(name), len);
}

void ash__builder_begin_doc(ash_builder *b, const char *name)
{
    begin_named(b, BSON_TYPE_DOCUMENT, name, 0);
    open_document(b);
}

void ash__builder_begin_array(ash_builder *b, const char *name)
{
    begin_named(b, BSON_TYPE_ARRAY, name, 0);
    open_document(b);
}

void ash__builder_end(ash_builder *b)
{
    ash_assert(b->depth > 0);
    ash__buffer_append_byte(&b->buf, 0);
    uint32_t start = b->open[--b->depth];
    /* BSON's lengths are signed. */
    ash_assert(b->buf.len - start <= INT32_MAX);
    ash__put_le32(b->buf.data + start, (uint32_t)(b->buf.len - start));
}

int ash__builder_check(const ash_builder *b, const char *what, ash_error *err)
{
    if (b->buf.len > ASH_DOC_MAX_BYTES + ASH_DOC_SLACK_BYTES)
        return ash__fail_server(err, ASH_ETOOBIG, ASH_MONGO_BSON_OBJECT_TOO_LARGE,
                                "%s makes a document larger than %d bytes", what,
                                ASH_DOC_MAX_BYTES);
    /* The assertion in open_document() is for bugs; what data asks for is refused here. */
    if (b->depth == (int)ASH_ARRAY_LEN(b->open))
        return ash__fail_server(err, ASH_ETOOBIG, ASH_MONGO_OVERFLOW,
                                "%s makes a document nested deeper than %d", what,
                                (int)ASH_ARRAY_LEN(b->open));
    return 0;
}

ash_doc ash__builder_doc(const ash_builder *b)
{
    ash_assert(b->depth == 0 && b->buf.len >= 5);
    return (ash_doc){b->buf.data, b->buf.len};
}

void ash__builder_release(ash_builder *b)
{
    ash__buffer_release(&b->buf);
    b->depth = 0;
}

void ash__builder_value_n(ash_builder *b, const char *name, uint32_t name_len, ash_value v)
{
    /* So that optional fields need no condition where they are built. */
    if (ash__value_is_missing(v))
        return;
    uint8_t *at = begin_element(b, v.type, name, name_len, v.len);
    if (v.len > 0)
        memcpy(at, v.data, v.len);
}

void ash__builder_value(ash_builder *b, const char *name, ash_value v)
{
    ash__builder_value_n(b, name, (uint32_t)strlen(name), v);
}

void ash__builder_item(ash_builder *b, uint32_t index, ash_value v)
{
    char name[12];
    ash__builder_value(b, ash__index_name(index, name), v);
}

void ash__builder_element(ash_builder *b, const ash_doc_iter *it)
{
    ash_assert(b->depth > 0);
    ash__buffer_append(&b->buf, it->element, it->element_len);
}

void ash__builder_elements(ash_builder *b, ash_doc doc)
{
    ash_assert(b->depth > 0);
    /* All between the document's length and its end. */
    if (!ash__doc_is_empty(doc))
        ash__buffer_append(&b->buf, doc.data + 4, doc.len - 5);
}

void ash__builder_int32(ash_builder *b, const char *name, int32_t v)
{
    ash__put_le32(begin_named(b, BSON_TYPE_INT32, name, 4), (uint32_t)v);
}

void ash__builder_int64(ash_builder *b, const char *name, int64_t v)
{
    ash__put_le64(begin_named(b, BSON_TYPE_INT64, name, 8), (uint64_t)v);
}

void ash__builder_double(ash_builder *b, const char *name, double v)
{
    ash__put_le_double(begin_named(b, BSON_TYPE_DOUBLE, name, 8), v);
}

void ash__builder_bool(ash_builder *b, const char *name, bool v)
{
    begin_named(b, BSON_TYPE_BOOL, name, 1)[0] = v;
}

void ash__builder_null(ash_builder *b, const char *name)
{
    begin_named(b, BSON_TYPE_NULL, name, 0);
}

void ash__builder_date(ash_builder *b, const char *name, int64_t ms)
{
    ash__put_le64(begin_named(b, BSON_TYPE_DATE_TIME, name, 8), (uint64_t)ms);
}

void ash__builder_timestamp(ash_builder *b, const char *name, uint64_t v)
{
    ash__put_le64(begin_named(b, BSON_TYPE_TIMESTAMP, name, 8), v);
}

void ash__builder_oid(ash_builder *b, const char *name, const bson_oid_t *oid)
{
    memcpy(begin_named(b, BSON_TYPE_OID, name, 12), oid->bytes, 12);
}

void ash__builder_text(ash_builder *b, const char *name, const char *text)
{
    ash__builder_string(b, name, text, (uint32_t)strlen(text));
}

void ash__builder_string(ash_builder *b, const char *name, const char *text, uint32_t len)
{
    uint8_t *at = begin_named(b, BSON_TYPE_UTF8, name, 5 + len);
    ash__put_le32(at, len + 1);
    if (len > 0)
        memcpy(at + 4, text, len);
    at[4 + len] = 0;
}

void ash__builder_binary(ash_builder *b, const char *name, uint8_t subtype, const void *data,
                         uint32_t len)
{
    uint8_t *at = begin_named(b, BSON_TYPE_BINARY, name, 5 + len);
    ash__put_le32(at, len);
    at[4] = subtype;
    if (len > 0)
        memcpy(at + 5, data, len);
}

void ash__builder_doc_value(ash_builder *b, const char *name, ash_doc doc)
{
    ash__builder_value(b, name, ash__value_of_doc(doc));
}

void ash__builder_array_value(ash_builder *b, const char *name, ash_doc doc)
{
    ash__builder_value(b, name, ash__value_of_array(doc));
}

const char *ash__index_name(uint32_t index, char buf[12])
{
    /* From the back and without printf: each item of each array that is built has such a name. */
    char *at = buf + 11;
    *at = 0;
    do {
        *--at = (char)('0' + index % 10);
        index /= 10;
    } while (index > 0);
    return at;
}
