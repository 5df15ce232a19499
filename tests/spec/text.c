/* SPDX-License-Identifier: Apache-2.0 */
#include "runner.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool spec_fail(runner *r, const char *format, ...)
{
    char text[600];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (r->why.len > 0)
        ash__buffer_append_text(&r->why, "; ");
    ash__buffer_append_text(&r->why, text);
    return false;
}

const char *spec_text(ash_doc doc, const char *name)
{
    uint32_t len;
    ash_value v = ash__doc_get(doc, name);
    return v.type == BSON_TYPE_UTF8 ? ash__value_string(v, &len) : NULL;
}

static int digit(char c)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    const char *at = c == '\0' ? NULL : strchr(digits, c);
    return at == NULL ? -1 : (int)(at - digits) % 16;
}

bool spec_hex_bytes(const char *hex, ash_buffer *out)
{
    size_t len = strlen(hex);
    if (len % 2 != 0)
        return false;
    for (size_t i = 0; i < len; i += 2) {
        int high = digit(hex[i]);
        int low = digit(hex[i + 1]);
        if (high < 0 || low < 0)
            return false;
        ash__buffer_append_byte(out, (uint8_t)(high * 16 + low));
    }
    return true;
}

bool spec_source(ash_value v, ash_buffer *out)
{
    const char *hex =
        v.type == BSON_TYPE_DOCUMENT ? spec_text(ash__value_doc(v), "$$hexBytes") : NULL;
    return hex != NULL && spec_hex_bytes(hex, out);
}

void spec_doc(ash_doc doc, const char *name, bson_t *out)
{
    ash_value v = ash__doc_get(doc, name);
    bool has_fields = v.type == BSON_TYPE_DOCUMENT || v.type == BSON_TYPE_ARRAY;
    ash__doc_to_bson(has_fields ? ash__value_doc(v) : ash__doc_empty, out);
}

static void return_typed(outcome *out, uint8_t type, const uint8_t *data, size_t len)
{
    /* {v: value} byte by byte: any value is taken over exactly as it is. */
    uint8_t head[7] = {0, 0, 0, 0, type, 'v', 0};
    ash_buffer buf = ASH_BUFFER_INIT;
    uint32_t total = (uint32_t)(sizeof head + len + 1);
    for (int i = 0; i < 4; i++)
        head[i] = (uint8_t)(total >> (8 * i));
    ash__buffer_append(&buf, head, sizeof head);
    ash__buffer_append(&buf, data, len);
    ash__buffer_append_byte(&buf, 0);
    bson_t view;
    bson_destroy(&out->value);
    if (bson_init_static(&view, buf.data, buf.len))
        bson_copy_to(&view, &out->value);
    else
        bson_init(&out->value);
    ash__buffer_release(&buf);
}

void spec_return_value(outcome *out, ash_value v)
{
    return_typed(out, v.type, v.data, v.len);
}

void spec_return_doc(outcome *out, const bson_t *doc)
{
    return_typed(out, BSON_TYPE_DOCUMENT, bson_get_data(doc), doc->len);
}

void spec_return_array(outcome *out, const bson_t *array)
{
    return_typed(out, BSON_TYPE_ARRAY, bson_get_data(array), array->len);
}
