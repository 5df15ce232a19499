/* SPDX-License-Identifier: Apache-2.0 */
#include "object/document.h"

#include "base/mem.h"
#include "bson/value.h"
#include "object/info.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

typedef void (*take_fn)(bson_t *out, const char *name, const bson_iter_t *it);

static void take_text(bson_t *out, const char *name, const bson_iter_t *it)
{
    uint32_t len;
    if (BSON_ITER_HOLDS_UTF8(it) && bson_iter_utf8(it, &len)[0] != '\0')
        bson_append_utf8(out, name, -1, bson_iter_utf8(it, &len), (int)len);
}

static void take_number(bson_t *out, const char *name, const bson_iter_t *it)
{
    int64_t v = 0;
    if (ash__value_as_int64(ash__value_of_iter(it), &v))
        BSON_APPEND_INT64(out, name, v);
}

static void take_true(bson_t *out, const char *name, const bson_iter_t *it)
{
    if (ash__value_truthy(ash__value_of_iter(it)))
        BSON_APPEND_BOOL(out, name, true);
}

bool ash__object_time(const char *text, int64_t *ms)
{
    struct tm tm = {0};
    int zone_hours = 0, zone_minutes = 0;
    double fraction = 0;
    int len = 0;
    char *end;
    if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d%n", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour,
               &tm.tm_min, &tm.tm_sec, &len) != 6 ||
        tm.tm_year < 1970)
        return false;
    tm.tm_year -= 1900;
    tm.tm_mon--;
    const char *rest = text + len;
    if (*rest == '.') {
        fraction = strtod(rest, &end);
        rest = end;
    }
    if (*rest == '+' || *rest == '-') {
        zone_hours = atoi(rest);
        zone_minutes = strlen(rest) >= 6 ? atoi(rest + 4) : 0;
        zone_minutes = *rest == '-' ? -zone_minutes : zone_minutes;
    }
    *ms = ((int64_t)timegm(&tm) - zone_hours * 3600 - zone_minutes * 60) * 1000 +
          (int64_t)(fraction * 1000);
    return true;
}

static void take_date(bson_t *out, const char *name, const bson_iter_t *it)
{
    int64_t ms = 0;
    if (BSON_ITER_HOLDS_DATE_TIME(it))
        BSON_APPEND_DATE_TIME(out, name, bson_iter_date_time(it));
    else if (BSON_ITER_HOLDS_UTF8(it) && ash__object_time(bson_iter_utf8(it, NULL), &ms))
        BSON_APPEND_DATE_TIME(out, name, ms);
}

/* A digest that can be read in the one notation, any other as it is. */
static void take_digest(bson_t *out, const char *name, const bson_iter_t *it)
{
    ash_digest_kind kind;
    uint8_t bytes[32];
    size_t len;
    char text[64];
    if (!BSON_ITER_HOLDS_UTF8(it))
        return;
    if (ash__digest_parse(bson_iter_utf8(it, NULL), &kind, bytes, &len)) {
        ash__digest_text(kind, bytes, text);
        BSON_APPEND_UTF8(out, name, text);
    } else {
        take_text(out, name, it);
    }
}

/* ---- maps and lists of strings ---- */

static void append_strings(bson_t *list, const bson_iter_t *it)
{
    bson_iter_t in;
    uint32_t count = 0;
    char buf[12];
    const char *key;
    if (BSON_ITER_HOLDS_UTF8(it)) {
        bson_append_utf8(list, "0", 1, bson_iter_utf8(it, NULL), -1);
        return;
    }
    if (!BSON_ITER_HOLDS_ARRAY(it) || !bson_iter_recurse(it, &in))
        return;
    while (bson_iter_next(&in)) {
        if (!BSON_ITER_HOLDS_UTF8(&in))
            continue;
        bson_uint32_to_string(count++, &key, buf, sizeof buf);
        bson_append_utf8(list, key, -1, bson_iter_utf8(&in, NULL), -1);
    }
}

static void take_list(bson_t *out, const char *name, const bson_iter_t *it)
{
    bson_t list = BSON_INITIALIZER;
    append_strings(&list, it);
    if (!bson_empty(&list))
        BSON_APPEND_ARRAY(out, name, &list);
    bson_destroy(&list);
}

static void take_headers(bson_t *out, const char *name, const bson_iter_t *it)
{
    bson_t map = BSON_INITIALIZER;
    bson_iter_t in;
    if (BSON_ITER_HOLDS_DOCUMENT(it) && bson_iter_recurse(it, &in))
        while (bson_iter_next(&in))
            take_list(&map, bson_iter_key(&in), &in);
    if (!bson_empty(&map))
        BSON_APPEND_DOCUMENT(out, name, &map);
    bson_destroy(&map);
}

static void add_strings_of(bson_t *map, const bson_iter_t *it)
{
    bson_iter_t in;
    if (!BSON_ITER_HOLDS_DOCUMENT(it) || !bson_iter_recurse(it, &in))
        return;
    while (bson_iter_next(&in))
        if (BSON_ITER_HOLDS_UTF8(&in) && !bson_has_field(map, bson_iter_key(&in)))
            bson_append_iter(map, NULL, 0, &in);
}

/* The ADR's text has an array of maps in its examples; every client writes a map. */
static void take_map(bson_t *out, const char *name, const bson_iter_t *it)
{
    bson_t map = BSON_INITIALIZER;
    bson_iter_t in;
    add_strings_of(&map, it);
    if (BSON_ITER_HOLDS_ARRAY(it) && bson_iter_recurse(it, &in))
        while (bson_iter_next(&in))
            add_strings_of(&map, &in);
    if (!bson_empty(&map))
        BSON_APPEND_DOCUMENT(out, name, &map);
    bson_destroy(&map);
}

/* {bucket, name?} */
static void take_place(bson_t *out, const char *name, const bson_iter_t *it)
{
    bson_t place = BSON_INITIALIZER;
    bson_iter_t in;
    if (BSON_ITER_HOLDS_DOCUMENT(it) && bson_iter_recurse(it, &in) && bson_iter_find(&in, "bucket"))
        take_text(&place, "bucket", &in);
    if (!bson_empty(&place) && bson_iter_recurse(it, &in) && bson_iter_find(&in, "name"))
        take_text(&place, "name", &in);
    if (!bson_empty(&place))
        BSON_APPEND_DOCUMENT(out, name, &place);
    bson_destroy(&place);
}

static void take_options(bson_t *out, const char *name, const bson_iter_t *it)
{
    bson_t options = BSON_INITIALIZER;
    bson_iter_t in;
    int64_t size = 0;
    if (BSON_ITER_HOLDS_DOCUMENT(it) && bson_iter_recurse(it, &in))
        while (bson_iter_next(&in)) {
            if (strcmp(bson_iter_key(&in), "link") == 0)
                take_place(&options, "link", &in);
            else if (strcmp(bson_iter_key(&in), "max_chunk_size") != 0)
                bson_append_iter(&options, NULL, 0, &in);
            else if (ash__value_as_int64(ash__value_of_iter(&in), &size) && size > 0 &&
                     size <= INT32_MAX)
                BSON_APPEND_INT32(&options, "max_chunk_size", (int32_t)size);
        }
    if (!bson_empty(&options))
        BSON_APPEND_DOCUMENT(out, name, &options);
    bson_destroy(&options);
}

/* ---- all of it ---- */

static const struct {
    const char *name;
    take_fn take;
} fields[] = {
    {"name", take_text},     {"description", take_text}, {"headers", take_headers},
    {"metadata", take_map},  {"tags", take_list},        {"options", take_options},
    {"bucket", take_text},   {"nuid", take_text},        {"size", take_number},
    {"mtime", take_date},    {"chunks", take_number},    {"digest", take_digest},
    {"deleted", take_true},  {"revision", take_number},  {"expires", take_date},
    {"encoding", take_text}, {"archive", take_place},    {"until", take_date},
};

enum { FIELDS = sizeof fields / sizeof *fields };

/* FIELDS: none of them. */
static size_t field_index(const char *name)
{
    size_t i = 0;
    while (i < FIELDS && strcmp(fields[i].name, name) != 0)
        i++;
    return i;
}

bool ash__object_document_has(const char *name)
{
    return field_index(name) < FIELDS;
}

/* Every change makes a few such documents, so the fields are looked for in one walk. */
bson_t *ash__object_document_order(const bson_t *doc)
{
    bson_t *out = bson_new(), others = BSON_INITIALIZER;
    bson_iter_t it;
    struct {
        bson_iter_t at;
        bool is_there;
    } found[FIELDS];
    for (size_t i = 0; i < FIELDS; i++)
        found[i].is_there = false;
    if (bson_iter_init(&it, doc))
        while (bson_iter_next(&it)) {
            size_t i = field_index(bson_iter_key(&it));
            if (i == FIELDS) {
                bson_append_iter(&others, NULL, 0, &it);
            } else if (!found[i].is_there) {
                found[i].at = it;
                found[i].is_there = true;
            }
        }
    for (size_t i = 0; i < FIELDS; i++) {
        if (found[i].is_there)
            fields[i].take(out, fields[i].name, &found[i].at);
        else if (fields[i].take == take_number && strcmp(fields[i].name, "revision") != 0)
            BSON_APPEND_INT64(out, fields[i].name, 0);
    }
    bson_concat(out, &others);
    bson_destroy(&others);
    return out;
}

bson_t *ash__object_document_with_tags(const bson_t *doc)
{
    bson_t *out = bson_new(), headers;
    bson_iter_t it, in;
    if (bson_iter_init(&it, doc))
        while (bson_iter_next(&it)) {
            if (strcmp(bson_iter_key(&it), "headers") != 0 || !BSON_ITER_HOLDS_DOCUMENT(&it)) {
                bson_append_iter(out, NULL, 0, &it);
                continue;
            }
            bson_init(&headers);
            for (bool more = bson_iter_recurse(&it, &in) && bson_iter_next(&in); more;
                 more = bson_iter_next(&in)) {
                if (strcasecmp(bson_iter_key(&in), ASH_HEADER_TAGS) == 0)
                    bson_append_iter(out, "tags", -1, &in);
                else
                    bson_append_iter(&headers, NULL, 0, &in);
            }
            BSON_APPEND_DOCUMENT(out, "headers", &headers);
            bson_destroy(&headers);
        }
    return out;
}
