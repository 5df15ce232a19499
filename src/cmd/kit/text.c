/* SPDX-License-Identifier: Apache-2.0 */
/* Text from anywhere made fit to be shown. */
#include "cmd/kit/text.h"

#include "base/buffer.h"
#include "base/mem.h"
#include "base/text.h"
#include "cmd/kit/cmd.h"

#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

enum { DEPTH_MAX = 200 }; /* libbson shows no more */

/* U+0080 to U+009F are to some terminals what ESC and one more byte are to all. */
static bool is_c1(const char *at, size_t step)
{
    return step == 2 && (unsigned char)at[0] == 0xc2 && (unsigned char)at[1] < 0xa0;
}

char *ash__cmd_printable(const char *text)
{
    ash_buffer out = ASH_BUFFER_INIT;
    size_t left = strlen(text), step;
    for (const char *at = text; left > 0; at += step, left -= step) {
        size_t good = ash__text_char(at, left);
        unsigned char byte = (unsigned char)*at;
        step = good > 0 ? good : 1;
        if (good == 0)
            ash__buffer_append_text(&out, REPLACEMENT);
        else if (byte < 0x20 || byte == 0x7f)
            ash__buffer_printf(&out, "\\x%02x", byte);
        else if (is_c1(at, step))
            ash__buffer_printf(&out, "\\u%04x", (unsigned char)at[1]);
        else
            ash__buffer_append(&out, at, step);
    }
    ash__buffer_append_byte(&out, 0);
    return (char *)ash__buffer_detach(&out);
}

void ash__cmd_format(char *buf, size_t size, const char *format, va_list args)
{
    vsnprintf(buf, size, format, args);
    ash__text_trim(buf);
}

char *ash__cmd_format_printable(const char *format, va_list args)
{
    va_list again;
    /* The first run only measures. */
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, format, args);
    size_t size = len > 0 ? (size_t)len + 1 : 1;
    char *text = ash__alloc(size);
    text[0] = 0;
    vsnprintf(text, size, format, again);
    va_end(again);
    char *shown = ash__cmd_printable(text);
    ash__free(text);
    return shown;
}

/* ---- JSON ---- */

/* May hold NUL bytes, hence the length.  The caller frees. */
static char *make_valid(const char *text, size_t len, size_t *out_len)
{
    ash_buffer out = ASH_BUFFER_INIT;
    size_t step;
    for (size_t i = 0; i < len; i += step) {
        size_t good = ash__text_char(text + i, len - i);
        step = good > 0 ? good : 1;
        if (good > 0)
            ash__buffer_append(&out, text + i, step);
        else
            ash__buffer_append_text(&out, REPLACEMENT);
    }
    *out_len = out.len;
    ash__buffer_append_byte(&out, 0);
    return (char *)ash__buffer_detach(&out);
}

static void append_valid_text(bson_t *out, const char *key, const char *text, size_t len)
{
    size_t valid_len;
    char *valid = make_valid(text, len, &valid_len);
    bson_append_utf8(out, key, -1, valid, (int)valid_len);
    ash__free(valid);
}

static void append_valid(bson_t *out, bson_iter_t *iter, int depth);

static void append_valid_inner(bson_t *out, const char *key, const bson_iter_t *iter, int depth)
{
    bson_t inner;
    bson_iter_t at;
    bool array = BSON_ITER_HOLDS_ARRAY(iter);
    if (array)
        bson_append_array_begin(out, key, -1, &inner);
    else
        bson_append_document_begin(out, key, -1, &inner);
    if (depth < DEPTH_MAX && bson_iter_recurse(iter, &at))
        append_valid(&inner, &at, depth + 1);
    if (array)
        bson_append_array_end(out, &inner);
    else
        bson_append_document_end(out, &inner);
}

/* The rare types whose text is not UTF-8 are shown as that text. */
static void append_valid_value(bson_t *out, const char *key, const bson_iter_t *iter, int depth)
{
    const bson_value_t *v = bson_iter_value((bson_iter_t *)(uintptr_t)iter);
    switch (v->value_type) {
    case BSON_TYPE_DOCUMENT:
    case BSON_TYPE_ARRAY:
        append_valid_inner(out, key, iter, depth);
        break;
    case BSON_TYPE_UTF8:
        append_valid_text(out, key, v->value.v_utf8.str, v->value.v_utf8.len);
        break;
    case BSON_TYPE_SYMBOL:
        append_valid_text(out, key, v->value.v_symbol.symbol, v->value.v_symbol.len);
        break;
    case BSON_TYPE_CODE:
        append_valid_text(out, key, v->value.v_code.code, v->value.v_code.code_len);
        break;
    case BSON_TYPE_CODEWSCOPE:
        append_valid_text(out, key, v->value.v_codewscope.code, v->value.v_codewscope.code_len);
        break;
    case BSON_TYPE_REGEX:
        append_valid_text(out, key, v->value.v_regex.regex, strlen(v->value.v_regex.regex));
        break;
    case BSON_TYPE_DBPOINTER:
        BSON_APPEND_OID(out, key, &v->value.v_dbpointer.oid);
        break;
    default:
        bson_append_value(out, key, -1, v);
    }
}

static void append_valid(bson_t *out, bson_iter_t *iter, int depth)
{
    while (bson_iter_next(iter)) {
        size_t len;
        char *key = make_valid(bson_iter_key(iter), strlen(bson_iter_key(iter)), &len);
        append_valid_value(out, key, iter, depth);
        ash__free(key);
    }
}

/* libbson escapes the control characters below U+0020 only.  They stand in strings alone. */
static char *escape(const char *json)
{
    ash_buffer out = ASH_BUFFER_INIT;
    size_t left = strlen(json), step;
    for (const char *at = json; left > 0; at += step, left -= step) {
        step = ash__text_char(at, left);
        step = step > 0 ? step : 1;
        if (is_c1(at, step) || *at == 0x7f)
            ash__buffer_printf(&out, "\\u%04x", (unsigned char)at[step - 1]);
        else
            ash__buffer_append(&out, at, step);
    }
    ash__buffer_append_byte(&out, 0);
    return (char *)ash__buffer_detach(&out);
}

char *ash__cmd_json_text(const bson_t *object)
{
    bson_t valid = BSON_INITIALIZER;
    bson_iter_t iter;
    /* libbson refuses what is not UTF-8, and that is rare: only then is a valid copy made. */
    char *json = bson_as_relaxed_extended_json(object, NULL);
    if (json == NULL && bson_iter_init(&iter, object)) {
        append_valid(&valid, &iter, 0);
        json = bson_as_relaxed_extended_json(&valid, NULL);
    }
    char *text =
        escape(json != NULL ? json : "{ \"error\" : { \"message\" : \"this cannot be shown\" } }");
    bson_free(json);
    bson_destroy(&valid);
    return text;
}
