/* SPDX-License-Identifier: Apache-2.0 */
/* Cut off where the room ends, at the latest: messages quote documents of any size. */
#include "query/kit/value_text.h"

#include "base/hash.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct writer {
    char *buf;
    size_t size;
    size_t used;
};

static void put(struct writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(struct writer *w, const char *format, ...)
{
    va_list args;
    /* Full: what would follow is not even formatted. */
    if (w->used + 1 >= w->size)
        return;
    va_start(args, format);
    int n = vsnprintf(w->buf + w->used, w->size - w->used, format, args);
    va_end(args);
    w->used += n > 0 ? (size_t)n : 0;
    if (w->used >= w->size) {
        w->used = w->size - 1;
        if (w->size > 4)
            memcpy(w->buf + w->size - 4, "...", 4);
    }
}

static void put_value(struct writer *w, ash_value v, int depth);

static void put_fields(struct writer *w, ash_value v, int depth)
{
    bool is_array = v.type == BSON_TYPE_ARRAY;
    bool first = true;
    if (depth > 5) {
        put(w, "...");
        return;
    }
    put(w, is_array ? "[ " : "{ ");
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(v));
         w->used + 1 < w->size && ash__doc_iter_next(&it); first = false) {
        put(w, "%s", first ? "" : ", ");
        if (!is_array)
            put(w, "%s: ", it.name);
        put_value(w, it.value, depth + 1);
    }
    put(w, first ? (is_array ? "]" : "}") : (is_array ? " ]" : " }"));
}

static void put_number(struct writer *w, ash_value v)
{
    if (v.type == BSON_TYPE_INT32) {
        put(w, "%" PRId32, ash__value_int32(v));
    } else if (v.type == BSON_TYPE_INT64) {
        put(w, "%" PRId64, ash__value_int64(v));
    } else {
        double d = ash__value_double(v);
        /* With a decimal, so that it does not look like an integer. */
        bool whole = d > -1e15 && d < 1e15 && d == (double)(int64_t)d;
        put(w, whole ? "%.1f" : "%.15g", d);
    }
}

static void put_value(struct writer *w, ash_value v, int depth)
{
    char hex[25];
    uint32_t len;
    switch (v.type) {
    case BSON_TYPE_INT32:
    case BSON_TYPE_INT64:
    case BSON_TYPE_DOUBLE:
        put_number(w, v);
        break;
    case BSON_TYPE_UTF8:
    case BSON_TYPE_SYMBOL:
        put(w, "\"%s\"", ash__value_string(v, &len));
        break;
    case BSON_TYPE_DOCUMENT:
    case BSON_TYPE_ARRAY:
        put_fields(w, v, depth);
        break;
    case BSON_TYPE_BOOL:
        put(w, "%s", ash__value_bool(v) ? "true" : "false");
        break;
    case BSON_TYPE_DATE_TIME:
        put(w, "new Date(%" PRId64 ")", ash__value_int64(v));
        break;
    case BSON_TYPE_OID:
        ash__hex((const uint8_t *)ash__value_oid(v), 12, hex);
        put(w, "ObjectId('%s')", hex);
        break;
    default:
        put(w, "%s", v.type == 0 ? "missing" : ash__type_name(v.type));
    }
}

const char *ash__value_text(ash_value v, char *buf, size_t size_bytes)
{
    struct writer w = {buf, size_bytes, 0};
    buf[0] = '\0';
    put_value(&w, v, 0);
    return buf;
}

const char *ash__element_text(const char *name, ash_value v, char *buf, size_t size_bytes)
{
    struct writer w = {buf, size_bytes, 0};
    buf[0] = '\0';
    put(&w, "{%s: ", name);
    put_value(&w, v, 0);
    put(&w, "}");
    return buf;
}
