/* SPDX-License-Identifier: Apache-2.0 */
#include "http/json.h"

#include "base/text.h"
#include "http/date.h"

#include <string.h>

static const char replacement[] = "\xef\xbf\xbd";

void ash__json_string(ash_buffer *out, const char *text)
{
    size_t left = strlen(text);
    ash__buffer_append_byte(out, '"');
    while (left > 0) {
        unsigned char c = (unsigned char)*text;
        size_t n = ash__text_char(text, left);
        if (n == 0) {
            ash__buffer_append_text(out, replacement);
            n = 1;
        } else if (c == '"' || c == '\\') {
            ash__buffer_append_byte(out, '\\');
            ash__buffer_append_byte(out, c);
        } else if (c < 0x20 || c == 0x7f) {
            ash__buffer_printf(out, "\\u%04x", c);
        } else {
            ash__buffer_append(out, text, n);
        }
        text += n;
        left -= n;
    }
    ash__buffer_append_byte(out, '"');
}

void ash__json_comma(ash_buffer *out)
{
    if (out->len > 0 && strchr("{[,:\n", out->data[out->len - 1]) == NULL)
        ash__buffer_append_byte(out, ',');
}

void ash__json_key(ash_buffer *out, const char *key)
{
    ash__json_comma(out);
    ash__json_string(out, key);
    ash__buffer_append_byte(out, ':');
}

void ash__json_add_text(ash_buffer *out, const char *key, const char *value)
{
    ash__json_key(out, key);
    if (value != NULL)
        ash__json_string(out, value);
    else
        ash__buffer_append_text(out, "null");
}

void ash__json_add_int(ash_buffer *out, const char *key, int64_t value)
{
    ash__json_key(out, key);
    ash__buffer_printf(out, "%lld", (long long)value);
}

void ash__json_add_bool(ash_buffer *out, const char *key, bool value)
{
    ash__json_key(out, key);
    ash__buffer_append_text(out, value ? "true" : "false");
}

void ash__json_add_time(ash_buffer *out, const char *key, int64_t ms)
{
    char text[ASH_DATE_BYTES];
    if (ms == 0) {
        ash__json_add_text(out, key, NULL);
        return;
    }
    ash__date_iso(text, ms);
    text[strlen(text) - 1] = '\0';
    ash__json_key(out, key);
    ash__buffer_printf(out, "\"%s.%03dZ\"", text, (int)((ms % 1000 + 1000) % 1000));
}

void ash__html_text(ash_buffer *out, const char *text)
{
    size_t left = strlen(text);
    while (left > 0) {
        size_t n = ash__text_char(text, left);
        unsigned char c = (unsigned char)*text;
        const char *instead = n == 0 || (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f
                                  ? replacement
                              : c == '&'  ? "&amp;"
                              : c == '<'  ? "&lt;"
                              : c == '>'  ? "&gt;"
                              : c == '"'  ? "&quot;"
                              : c == '\'' ? "&#39;"
                                          : NULL;
        n = n == 0 ? 1 : n;
        if (instead != NULL)
            ash__buffer_append_text(out, instead);
        else
            ash__buffer_append(out, text, n);
        text += n;
        left -= n;
    }
}
