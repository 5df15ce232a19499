/* SPDX-License-Identifier: Apache-2.0 */
/* Values and intervals as the server's explain writes them. */
#include "query/plan/interval.h"

#include "base/hash.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define MAX_TEXT_BYTES 1000
#define MAX_TEXT_DEPTH 10

static void append_string(ash_buffer *out, const char *text, uint32_t len)
{
    uint32_t shown = len < MAX_TEXT_BYTES ? len : MAX_TEXT_BYTES;
    ash__buffer_append_byte(out, '"');
    for (uint32_t i = 0; i < shown; i++) {
        if (text[i] == '"' || text[i] == '\\')
            ash__buffer_append_byte(out, '\\');
        if ((uint8_t)text[i] < ' ')
            ash__buffer_printf(out, "\\u%04x", (unsigned)(uint8_t)text[i]);
        else
            ash__buffer_append_byte(out, (uint8_t)text[i]);
    }
    ash__buffer_append_text(out, shown < len ? "...\"" : "\"");
}

static void append_double(ash_buffer *out, double v)
{
    char text[40];
    if (isnan(v) || isinf(v)) {
        ash__buffer_append_text(out, isnan(v) ? "nan.0" : v > 0 ? "inf.0" : "-inf.0");
        return;
    }
    snprintf(text, sizeof text, "%.15g", v);
    ash__buffer_append_text(out, text);
    /* So that it does not look like an integer. */
    if (strpbrk(text, ".e") == NULL)
        ash__buffer_append_text(out, ".0");
}

static void append_number(ash_buffer *out, ash_value v)
{
    char text[BSON_DECIMAL128_STRING];
    bson_decimal128_t decimal;
    switch (v.type) {
    case BSON_TYPE_INT32:
        ash__buffer_printf(out, "%" PRId32, ash__value_int32(v));
        break;
    case BSON_TYPE_INT64:
        ash__buffer_printf(out, "%" PRId64, ash__value_int64(v));
        break;
    case BSON_TYPE_DOUBLE:
        append_double(out, ash__value_double(v));
        break;
    default:
        memcpy(&decimal.low, v.data, 8);
        memcpy(&decimal.high, v.data + 8, 8);
        decimal.low = BSON_UINT64_FROM_LE(decimal.low);
        decimal.high = BSON_UINT64_FROM_LE(decimal.high);
        bson_decimal128_to_string(&decimal, text);
        ash__buffer_append_text(out, text);
    }
}

static void append_value(ash_buffer *out, ash_value v, int depth);

static void append_fields(ash_buffer *out, ash_value v, int depth)
{
    bool is_array = v.type == BSON_TYPE_ARRAY;
    const char *between = " ";
    if (ash__doc_is_empty(ash__value_doc(v))) {
        ash__buffer_append_text(out, is_array ? "[]" : "{}");
        return;
    }
    ash__buffer_append_byte(out, is_array ? '[' : '{');
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(v)); ash__doc_iter_next(&it);) {
        /* A bound may be as large as a document, and a plan has many. */
        if (out->len > MAX_TEXT_BYTES || depth > MAX_TEXT_DEPTH) {
            ash__buffer_append_text(out, " ...");
            break;
        }
        ash__buffer_append_text(out, between);
        if (!is_array)
            ash__buffer_printf(out, "%s: ", it.name);
        append_value(out, it.value, depth + 1);
        between = ", ";
    }
    ash__buffer_append_text(out, is_array ? " ]" : " }");
}

static void append_binary(ash_buffer *out, ash_value v)
{
    uint8_t subtype;
    uint32_t len;
    const uint8_t *bytes = ash__value_binary(v, &subtype, &len);
    ash__buffer_printf(out, "BinData(%u, ", subtype);
    for (uint32_t i = 0; i < len && i < MAX_TEXT_BYTES / 2; i++)
        ash__buffer_printf(out, "%02X", bytes[i]);
    ash__buffer_append_byte(out, ')');
}

static void append_oid(ash_buffer *out, ash_value v)
{
    char hex[25];
    ash__hex(v.data, 12, hex);
    ash__buffer_printf(out, "ObjectId('%s')", hex);
}

static void append_other(ash_buffer *out, ash_value v)
{
    const char *options;
    uint64_t stamp;
    switch (v.type) {
    case BSON_TYPE_BOOL:
        ash__buffer_append_text(out, ash__value_bool(v) ? "true" : "false");
        break;
    case BSON_TYPE_DATE_TIME:
        ash__buffer_printf(out, "new Date(%" PRId64 ")", ash__value_int64(v));
        break;
    case BSON_TYPE_TIMESTAMP:
        stamp = (uint64_t)ash__value_int64(v);
        ash__buffer_printf(out, "Timestamp(%u, %u)", (unsigned)(stamp >> 32), (unsigned)stamp);
        break;
    case BSON_TYPE_REGEX: {
        const char *pattern = ash__value_regex(v, &options);
        ash__buffer_printf(out, "/%.*s/%s", MAX_TEXT_BYTES, pattern, options);
        break;
    }
    default:
        ash__buffer_append_text(out, v.type == (uint8_t)BSON_TYPE_MINKEY   ? "MinKey"
                                     : v.type == (uint8_t)BSON_TYPE_MAXKEY ? "MaxKey"
                                     : v.type == 0                         ? "null"
                                                   : ash__type_name(v.type));
    }
}

static void append_value(ash_buffer *out, ash_value v, int depth)
{
    uint32_t len;
    if (ash__value_is_number(v)) {
        append_number(out, v);
    } else if (v.type == BSON_TYPE_UTF8 || v.type == BSON_TYPE_SYMBOL) {
        const char *text = ash__value_string(v, &len);
        append_string(out, text, len);
    } else if (v.type == BSON_TYPE_DOCUMENT || v.type == BSON_TYPE_ARRAY) {
        append_fields(out, v, depth);
    } else if (v.type == BSON_TYPE_BINARY) {
        append_binary(out, v);
    } else if (v.type == BSON_TYPE_OID) {
        append_oid(out, v);
    } else {
        append_other(out, v);
    }
}

void ash__interval_text(ash_buffer *out, const ash_interval *i, bool reversed)
{
    const ash_interval_end *first = reversed ? &i->high : &i->low;
    const ash_interval_end *last = reversed ? &i->low : &i->high;
    ash__buffer_append_byte(out, first->closed ? '[' : '(');
    append_value(out, first->value, 0);
    ash__buffer_append_text(out, ", ");
    append_value(out, last->value, 0);
    ash__buffer_append_byte(out, last->closed ? ']' : ')');
}
