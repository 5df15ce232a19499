/* SPDX-License-Identifier: Apache-2.0 */
/* Values that operators make, in the arena of the evaluation. */
#include "query/expr/node.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "query/kit/value_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

ash_value ash__make_int32(ash_arena *a, int32_t v)
{
    return ash__box_int32(ash__arena_alloc(a, sizeof(ash_value_box)), v);
}

ash_value ash__make_int64(ash_arena *a, int64_t v)
{
    return ash__box_int64(ash__arena_alloc(a, sizeof(ash_value_box)), v);
}

ash_value ash__make_double(ash_arena *a, double v)
{
    return ash__box_double(ash__arena_alloc(a, sizeof(ash_value_box)), v);
}

ash_value ash__make_date(ash_arena *a, int64_t ms)
{
    return ash__box_date(ash__arena_alloc(a, sizeof(ash_value_box)), ms);
}

ash_value ash__make_bool(bool v)
{
    static const uint8_t bytes[2] = {0, 1};
    return (ash_value){BSON_TYPE_BOOL, &bytes[v ? 1 : 0], 1};
}

ash_value ash__make_null(void)
{
    /* Not NULL: values without bytes are copied like others. */
    return (ash_value){BSON_TYPE_NULL, (const uint8_t *)"", 0};
}

ash_value ash__make_string(ash_arena *a, const char *text, size_t len_bytes)
{
    uint8_t *p = ash__arena_alloc(a, len_bytes + 5);
    ash__put_le32(p, (uint32_t)len_bytes + 1);
    if (len_bytes > 0)
        memcpy(p + 4, text, len_bytes);
    p[4 + len_bytes] = '\0';
    return (ash_value){BSON_TYPE_UTF8, p, (uint32_t)len_bytes + 5};
}

ash_value ash__make_text(ash_arena *a, const char *text)
{
    return ash__make_string(a, text, strlen(text));
}

int ash__check_size(ash_eval *e, size_t len_bytes)
{
    if (len_bytes > ASH_DOC_MAX_BYTES)
        return ash__fail_server(e->err, ASH_ETOOBIG, ASH_MONGO_BSON_OBJECT_TOO_LARGE,
                                "an expression made a value larger than %d bytes",
                                ASH_DOC_MAX_BYTES);
    return 0;
}

static int take_builder(ash_eval *e, ash_builder *b, ash_value *out, bool is_array)
{
    int rc = ash__check_size(e, b->buf.len);
    if (rc == 0) {
        ash_doc doc = ash__arena_adopt(e->arena, &b->buf);
        *out = is_array ? ash__value_of_array(doc) : ash__value_of_doc(doc);
    }
    /* A builder whose buffer was taken over has nothing left to release; after an error it has. */
    ash__builder_release(b);
    return rc;
}

int ash__make_array(ash_eval *e, ash_builder *b, ash_value *out)
{
    ash__builder_end(b);
    return take_builder(e, b, out, true);
}

int ash__make_doc(ash_eval *e, ash_builder *b, ash_value *out)
{
    ash__builder_end(b);
    return take_builder(e, b, out, false);
}

int ash__make_buffer_string(ash_eval *e, ash_buffer *buf, ash_value *out)
{
    int rc = ash__check_size(e, buf->len);
    if (rc == 0)
        *out = ash__make_string(e->arena, (const char *)buf->data, buf->len);
    ash__buffer_release(buf);
    return rc;
}

bool ash__nullish(ash_value v)
{
    return ash__value_is_missing(v) || ash__value_is_null(v);
}

bool ash__is_string(ash_value v)
{
    return v.type == BSON_TYPE_UTF8 || v.type == BSON_TYPE_SYMBOL;
}

const char *ash__type_text(ash_value v)
{
    return ash__value_is_missing(v) ? "missing" : ash__type_name(v.type);
}

ash_value *ash__array_items(ash_arena *a, ash_value array, uint32_t *count)
{
    ash_doc doc = ash__value_doc(array);
    uint32_t n = 0;
    ash_value *items = ash__arena_alloc(a, (size_t)ash__doc_count(doc) * sizeof *items);
    for (ash_doc_iter it = ash__doc_iter(doc); ash__doc_iter_next(&it);)
        items[n++] = it.value;
    *count = n;
    return items;
}

int ash__array_of(ash_eval *e, const ash_value *items, uint32_t count, ash_value *out)
{
    ash_builder b = ASH_BUILDER_INIT;
    int rc = 0;
    ash__builder_begin(&b);
    for (uint32_t i = 0; rc == 0 && i < count; i++) {
        /* An array has no holes. */
        ash__builder_item(&b, i, ash__value_is_missing(items[i]) ? ash__make_null() : items[i]);
        rc = ash__check_size(e, b.buf.len);
    }
    if (rc == 0)
        return ash__make_array(e, &b, out);
    ash__builder_release(&b);
    return rc;
}

bool ash__value_as_int32(ash_value v, int32_t *out)
{
    int64_t wide;
    if (!ash__value_is_number(v) || !ash__value_as_int64(v, &wide) || wide < INT32_MIN ||
        wide > INT32_MAX)
        return false;
    *out = (int32_t)wide;
    return true;
}
