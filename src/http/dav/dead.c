/* SPDX-License-Identifier: Apache-2.0 */
#include "http/dav/dead.h"

#include "base/hash.h"
#include "base/mem.h"
#include "http/dav/multistatus.h"

#include <string.h>

bool ash__dav_props(const ash_tree_entry *e, bson_t *out)
{
    ash_doc doc = ash_tree_entry_document(e);
    bson_t view;
    bson_iter_t at;
    const uint8_t *data;
    uint32_t len;
    if (doc.data == NULL || !bson_init_static(&view, doc.data, doc.len) ||
        !bson_iter_init_find(&at, &view, "props") || !BSON_ITER_HOLDS_DOCUMENT(&at))
        return false;
    bson_iter_document(&at, &len, &data);
    return bson_init_static(out, data, len);
}

static void escape(ash_buffer *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (strchr("%.$", *text) != NULL)
            ash__buffer_printf(out, "%%%02X", (unsigned char)*text);
        else
            ash__buffer_append_byte(out, (uint8_t)*text);
    }
}

static char *unescape(const char *text, size_t len)
{
    char *out = ash__alloc(len + 1);
    size_t n = 0;
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '%' && i + 2 < len + 0 && ash__hex_digit(text[i + 1]) >= 0 &&
            ash__hex_digit(text[i + 2]) >= 0) {
            out[n++] = (char)(ash__hex_digit(text[i + 1]) * 16 + ash__hex_digit(text[i + 2]));
            i += 2;
        } else {
            out[n++] = text[i];
        }
    }
    return out;
}

char *ash__dav_dead_key(const char *space, const char *name)
{
    ash_buffer key = ASH_BUFFER_INIT;
    ash__buffer_append_byte(&key, '{');
    escape(&key, space);
    ash__buffer_append_byte(&key, '}');
    escape(&key, name);
    ash__buffer_append_byte(&key, 0);
    return (char *)ash__buffer_detach(&key);
}

bool ash__dav_dead_read(const bson_iter_t *at, ash_dav_dead *out)
{
    const char *key = bson_iter_key(at);
    const char *end = strrchr(key, '}');
    bson_iter_t inner;
    *out = (ash_dav_dead){0};
    if (key[0] != '{' || end == NULL || end[1] == '\0')
        return false;
    if (BSON_ITER_HOLDS_UTF8(at)) {
        out->xml = bson_iter_utf8(at, NULL);
    } else if (BSON_ITER_HOLDS_DOCUMENT(at) && bson_iter_recurse(at, &inner)) {
        while (bson_iter_next(&inner))
            if (BSON_ITER_HOLDS_UTF8(&inner)) {
                if (strcmp(bson_iter_key(&inner), "xml") == 0)
                    out->xml = bson_iter_utf8(&inner, NULL);
                else if (strcmp(bson_iter_key(&inner), "lang") == 0)
                    out->language = bson_iter_utf8(&inner, NULL);
            }
    }
    if (out->xml == NULL)
        return false;
    out->space = unescape(key + 1, (size_t)(end - key - 1));
    out->name = unescape(end + 1, strlen(end + 1));
    return true;
}

void ash__dav_dead_release(ash_dav_dead *d)
{
    ash__free(d->space);
    ash__free(d->name);
}

void ash__dav_dead_write(ash_buffer *out, const ash_dav_dead *d)
{
    /* A prefix of its own, and none for what has no namespace: what is inside stands by itself. */
    if (d->space[0] == '\0') {
        ash__buffer_printf(out, "<%s xmlns=\"\"", d->name);
    } else {
        ash__buffer_printf(out, "<P:%s xmlns:P=\"", d->name);
        ash__xml_text(out, d->space);
        ash__buffer_append_byte(out, '"');
    }
    if (d->language != NULL) {
        ash__buffer_append_text(out, " xml:lang=\"");
        ash__xml_text(out, d->language);
        ash__buffer_append_byte(out, '"');
    }
    ash__buffer_append_byte(out, '>');
    ash__buffer_append_text(out, d->xml);
    ash__buffer_printf(out, "</%s%s>", d->space[0] == '\0' ? "" : "P:", d->name);
}

bool ash__dav_dead_write_named(ash_buffer *out, const ash_tree_entry *e, const char *space,
                               const char *name)
{
    bson_t props;
    bson_iter_t at;
    ash_dav_dead dead = {0};
    if (!ash__dav_props(e, &props))
        return false;
    char *key = ash__dav_dead_key(space, name);
    bool found = bson_iter_init_find(&at, &props, key) && ash__dav_dead_read(&at, &dead);
    if (found)
        ash__dav_dead_write(out, &dead);
    ash__dav_dead_release(&dead);
    ash__free(key);
    return found;
}
