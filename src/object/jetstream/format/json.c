/* SPDX-License-Identifier: Apache-2.0 */
#include "object/jetstream/format/json.h"

#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct parser {
    const char *at, *end;
    int depth;
    ash_buffer text; /* of the string that is being read */
} parser;

static ash_json *parse_value(parser *p);

static void skip_space(parser *p)
{
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r'))
        p->at++;
}

static bool take(parser *p, char expected)
{
    skip_space(p);
    if (p->at == p->end || *p->at != expected)
        return false;
    p->at++;
    return true;
}

static bool take_word(parser *p, const char *word)
{
    size_t len = strlen(word);
    if ((size_t)(p->end - p->at) < len || memcmp(p->at, word, len) != 0)
        return false;
    p->at += len;
    return true;
}

static void append_character(ash_buffer *out, uint32_t c)
{
    if (c < 0x80) {
        ash__buffer_append_byte(out, (uint8_t)c);
    } else if (c < 0x800) {
        ash__buffer_append_byte(out, (uint8_t)(0xc0 | c >> 6));
        ash__buffer_append_byte(out, (uint8_t)(0x80 | (c & 0x3f)));
    } else if (c < 0x10000) {
        ash__buffer_append_byte(out, (uint8_t)(0xe0 | c >> 12));
        ash__buffer_append_byte(out, (uint8_t)(0x80 | (c >> 6 & 0x3f)));
        ash__buffer_append_byte(out, (uint8_t)(0x80 | (c & 0x3f)));
    } else {
        ash__buffer_append_byte(out, (uint8_t)(0xf0 | c >> 18));
        ash__buffer_append_byte(out, (uint8_t)(0x80 | (c >> 12 & 0x3f)));
        ash__buffer_append_byte(out, (uint8_t)(0x80 | (c >> 6 & 0x3f)));
        ash__buffer_append_byte(out, (uint8_t)(0x80 | (c & 0x3f)));
    }
}

/* The four digits behind "\u". */
static bool take_unit(parser *p, uint32_t *out)
{
    *out = 0;
    if (p->end - p->at < 4)
        return false;
    for (int i = 0; i < 4; i++, p->at++) {
        unsigned char c = (unsigned char)*p->at;
        if (!isxdigit(c))
            return false;
        *out = *out << 4 | (uint32_t)(isdigit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return true;
}

static bool is_high_half(uint32_t unit)
{
    return unit >= 0xd800 && unit < 0xdc00;
}

static bool is_low_half(uint32_t unit)
{
    return unit >= 0xdc00 && unit < 0xe000;
}

static bool take_unicode(parser *p)
{
    uint32_t unit = 0, low = 0;
    if (!take_unit(p, &unit))
        return false;
    if (is_high_half(unit)) {
        const char *back = p->at;
        if (take_word(p, "\\u") && take_unit(p, &low) && is_low_half(low)) {
            unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
        } else {
            p->at = back;
            unit = 0xfffd;
        }
    } else if (is_low_half(unit)) {
        unit = 0xfffd;
    }
    append_character(&p->text, unit);
    return true;
}

static bool take_escape(parser *p)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    if (p->at == p->end)
        return false;
    char c = *p->at++;
    if (c == 'u')
        return take_unicode(p);
    const char *found = c != '\0' ? strchr(names, c) : NULL;
    if (found == NULL)
        return false;
    ash__buffer_append_byte(&p->text, (uint8_t)values[found - names]);
    return true;
}

/* Behind the first quote; the text is left in p->text. */
static bool take_text(parser *p)
{
    ash__buffer_clear(&p->text);
    while (p->at < p->end) {
        unsigned char c = (unsigned char)*p->at;
        size_t size = 1;
        if (c == '"') {
            p->at++;
            return true;
        }
        if (c < 0x20)
            return false;
        if (c == '\\') {
            p->at++;
            if (!take_escape(p))
                return false;
            continue;
        }
        if (c >= 0x80)
            size = ash__text_char(p->at, (size_t)(p->end - p->at));
        if (size == 0)
            append_character(&p->text, 0xfffd);
        else
            ash__buffer_append(&p->text, p->at, size);
        p->at += size == 0 ? 1 : size;
    }
    return false;
}

static size_t take_digits(parser *p)
{
    const char *from = p->at;
    while (p->at < p->end && isdigit((unsigned char)*p->at))
        p->at++;
    return (size_t)(p->at - from);
}

static bool take_number(parser *p)
{
    if (p->at < p->end && *p->at == '-')
        p->at++;
    bool zero = p->at < p->end && *p->at == '0';
    size_t digits = take_digits(p);
    if (digits == 0 || (zero && digits > 1))
        return false;
    if (p->at < p->end && *p->at == '.') {
        p->at++;
        if (take_digits(p) == 0)
            return false;
    }
    if (p->at < p->end && (*p->at == 'e' || *p->at == 'E')) {
        p->at++;
        if (p->at < p->end && (*p->at == '+' || *p->at == '-'))
            p->at++;
        if (take_digits(p) == 0)
            return false;
    }
    return true;
}

static ash_json *new_value(ash_json_type type)
{
    ash_json *value = ash__new(ash_json);
    value->type = type;
    return value;
}

static ash_json *new_text(ash_json_type type, const void *text, size_t len)
{
    ash_json *value = new_value(type);
    value->text = ash__alloc(len + 1);
    if (len > 0)
        memcpy(value->text, text, len);
    value->text_len = len;
    return value;
}

static void add(ash_json *parent, ash_json *child)
{
    if (parent->last == NULL)
        parent->first = child;
    else
        parent->last->next = child;
    parent->last = child;
}

/* Behind the opening bracket. */
static bool parse_items(parser *p, ash_json *array)
{
    if (take(p, ']'))
        return true;
    do {
        ash_json *item = parse_value(p);
        if (item == NULL)
            return false;
        add(array, item);
    } while (take(p, ','));
    return take(p, ']');
}

static bool parse_members(parser *p, ash_json *object)
{
    if (take(p, '}'))
        return true;
    do {
        if (!take(p, '"') || !take_text(p))
            return false;
        char *key = ash__strdup(ash__buffer_text(&p->text));
        ash_json *member = take(p, ':') ? parse_value(p) : NULL;
        if (member == NULL) {
            ash__free(key);
            return false;
        }
        member->key = key;
        add(object, member);
    } while (take(p, ','));
    return take(p, '}');
}

static ash_json *parse_nest(parser *p, ash_json_type type)
{
    ash_json *value = new_value(type);
    p->depth++;
    bool good = p->depth <= ASH_JSON_MAX_DEPTH &&
                (type == ASH_JSON_ARRAY ? parse_items(p, value) : parse_members(p, value));
    p->depth--;
    if (good)
        return value;
    ash__json_free(value);
    return NULL;
}

static ash_json *parse_word(parser *p)
{
    ash_json *value = NULL;
    if (take_word(p, "null"))
        return new_value(ASH_JSON_NULL);
    bool truth = take_word(p, "true");
    if (!truth && !take_word(p, "false"))
        return NULL;
    value = new_value(ASH_JSON_BOOL);
    value->truth = truth;
    return value;
}

static ash_json *parse_value(parser *p)
{
    if (take(p, '{'))
        return parse_nest(p, ASH_JSON_OBJECT);
    if (take(p, '['))
        return parse_nest(p, ASH_JSON_ARRAY);
    if (take(p, '"'))
        return take_text(p) ? new_text(ASH_JSON_TEXT, p->text.data, p->text.len) : NULL;
    const char *from = p->at;
    if (p->at < p->end && (*p->at == '-' || isdigit((unsigned char)*p->at)))
        return take_number(p) ? new_text(ASH_JSON_NUMBER, from, (size_t)(p->at - from)) : NULL;
    return parse_word(p);
}

int ash__json_parse(const char *text, size_t len, ash_json **out, ash_error *err)
{
    parser p = {.at = text, .end = text + len};
    ash_json *value = parse_value(&p);
    size_t at = (size_t)(p.at - text);

    skip_space(&p);
    ash__buffer_release(&p.text);
    if (value == NULL || p.at != p.end) {
        ash__json_free(value);
        return ash__fail(err, ASH_EINVAL, "no JSON, from byte %zu on", at);
    }
    *out = value;
    return 0;
}

void ash__json_free(ash_json *value)
{
    if (value == NULL)
        return;
    for (ash_json *child = value->first, *next; child != NULL; child = next) {
        next = child->next;
        ash__json_free(child);
    }
    ash__free(value->text);
    ash__free(value->key);
    ash__free(value);
}

const ash_json *ash__json_get(const ash_json *object, const char *key)
{
    const ash_json *found = NULL;
    if (object == NULL || object->type != ASH_JSON_OBJECT)
        return NULL;
    for (const ash_json *member = object->first; member != NULL; member = member->next) {
        if (strcmp(member->key, key) == 0)
            found = member;
    }
    return found;
}

static const ash_json *get_of(const ash_json *object, const char *key, ash_json_type type)
{
    const ash_json *value = ash__json_get(object, key);
    return value != NULL && value->type == type ? value : NULL;
}

const char *ash__json_text(const ash_json *object, const char *key, const char *otherwise)
{
    const ash_json *value = get_of(object, key, ASH_JSON_TEXT);
    return value != NULL ? value->text : otherwise;
}

int64_t ash__json_int(const ash_json *object, const char *key, int64_t otherwise)
{
    const ash_json *value = get_of(object, key, ASH_JSON_NUMBER);
    char *end = NULL;
    if (value == NULL)
        return otherwise;
    errno = 0;
    long long number = strtoll(value->text, &end, 10);
    return errno == 0 && *end == '\0' ? number : otherwise;
}

uint64_t ash__json_unsigned(const ash_json *object, const char *key, uint64_t otherwise)
{
    const ash_json *value = get_of(object, key, ASH_JSON_NUMBER);
    char *end = NULL;
    if (value == NULL || value->text[0] == '-')
        return otherwise;
    errno = 0;
    unsigned long long number = strtoull(value->text, &end, 10);
    return errno == 0 && *end == '\0' ? number : otherwise;
}

bool ash__json_truth(const ash_json *object, const char *key, bool otherwise)
{
    const ash_json *value = get_of(object, key, ASH_JSON_BOOL);
    return value != NULL ? value->truth : otherwise;
}

static size_t count_children(const ash_json *value)
{
    size_t count = 0;
    for (const ash_json *child = value->first; child != NULL; child = child->next)
        count++;
    return count;
}

static bool children_equal(const ash_json *a, const ash_json *b)
{
    const ash_json *other = b->first;
    if (count_children(a) != count_children(b))
        return false;
    for (const ash_json *child = a->first; child != NULL; child = child->next) {
        if (a->type == ASH_JSON_OBJECT)
            other = ash__json_get(b, child->key);
        if (!ash__json_equal(child, other))
            return false;
        other = other->next;
    }
    return true;
}

bool ash__json_equal(const ash_json *a, const ash_json *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    if (a->type != b->type || a->truth != b->truth || a->text_len != b->text_len)
        return false;
    return (a->text_len == 0 || memcmp(a->text, b->text, a->text_len) == 0) && children_equal(a, b);
}

static void put_escaped(ash_buffer *out, unsigned char c)
{
    static const char values[] = "\"\\\b\f\n\r\t", names[] = "\"\\bfnrt";
    const char *found = c != '\0' ? strchr(values, c) : NULL;
    if (found != NULL)
        ash__buffer_printf(out, "\\%c", names[found - values]);
    else
        ash__buffer_printf(out, "\\u%04x", c);
}

static bool needs_escape(unsigned char c)
{
    return c < 0x20 || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&';
}

/* Ends of lines to JavaScript. */
static bool is_separator(const char *text, size_t size)
{
    return size == 3 && memcmp(text, "\xe2\x80", 2) == 0 &&
           (text[2] == '\xa8' || text[2] == '\xa9');
}

void ash__json_put_text(ash_buffer *out, const char *text, size_t len)
{
    ash__buffer_append_byte(out, '"');
    for (size_t at = 0, size = 0; at < len; at += size) {
        unsigned char c = (unsigned char)text[at];
        size = ash__text_char(text + at, len - at);
        if (size == 0) {
            ash__buffer_append_text(out, "\\ufffd");
            size = 1;
        } else if (is_separator(text + at, size)) {
            ash__buffer_append_text(out, text[at + 2] == '\xa8' ? "\\u2028" : "\\u2029");
        } else if (needs_escape(c)) {
            put_escaped(out, c);
        } else {
            ash__buffer_append(out, text + at, size);
        }
    }
    ash__buffer_append_byte(out, '"');
}

void ash__json_put_key(ash_buffer *out, const char *key)
{
    uint8_t before = out->len > 0 ? out->data[out->len - 1] : '{';
    if (before != '{')
        ash__buffer_append_byte(out, ',');
    ash__json_put_text(out, key, strlen(key));
    ash__buffer_append_byte(out, ':');
}

void ash__json_put_text_member(ash_buffer *out, const char *key, const char *text)
{
    ash__json_put_key(out, key);
    ash__json_put_text(out, text, strlen(text));
}

void ash__json_put_int_member(ash_buffer *out, const char *key, int64_t value)
{
    ash__json_put_key(out, key);
    ash__buffer_printf(out, "%" PRId64, value);
}

void ash__json_put_truth_member(ash_buffer *out, const char *key, bool value)
{
    ash__json_put_key(out, key);
    ash__buffer_append_text(out, value ? "true" : "false");
}

static void put_nest(ash_buffer *out, const ash_json *value)
{
    bool object = value->type == ASH_JSON_OBJECT;
    ash__buffer_append_byte(out, object ? '{' : '[');
    for (const ash_json *child = value->first; child != NULL; child = child->next) {
        if (object)
            ash__json_put_key(out, child->key);
        else if (child != value->first)
            ash__buffer_append_byte(out, ',');
        ash__json_put(out, child);
    }
    ash__buffer_append_byte(out, object ? '}' : ']');
}

void ash__json_put(ash_buffer *out, const ash_json *value)
{
    switch (value->type) {
    case ASH_JSON_NULL:
        ash__buffer_append_text(out, "null");
        break;
    case ASH_JSON_BOOL:
        ash__buffer_append_text(out, value->truth ? "true" : "false");
        break;
    case ASH_JSON_NUMBER:
        ash__buffer_append(out, value->text, value->text_len);
        break;
    case ASH_JSON_TEXT:
        ash__json_put_text(out, value->text, value->text_len);
        break;
    default:
        put_nest(out, value);
    }
}
