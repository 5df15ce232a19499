/* SPDX-License-Identifier: Apache-2.0 */
/* Values out of key encodings, for filters that are tried on keys. */
#include "bson/keycode_read.h"

#include "base/bytes.h"
#include "bson/compare.h"

#include <math.h>
#include <string.h>

enum { EXACT_NUMBER_BYTES = 10, EXPONENT_BYTES = 2 };

/* To the end of a TEXT, its 00 included; 0: there is none. */
static size_t text_bytes(const uint8_t *code, size_t len)
{
    const uint8_t *end = memchr(code, 0, len);
    return end == NULL ? 0 : (size_t)(end - code) + 1;
}

static ash_value read_text(const uint8_t *code, size_t bytes, ash_buffer *out)
{
    /* The string's length is filled in when it is known. */
    static const uint8_t no_length[4] = {0};
    ash__buffer_clear(out);
    ash__buffer_append(out, no_length, sizeof no_length);
    for (size_t i = 0; i + 1 < bytes; i++) {
        if (code[i] == 1)
            ash__buffer_append_byte(out, (uint8_t)(code[++i] - 1));
        else
            ash__buffer_append_byte(out, code[i]);
    }
    ash__buffer_append_byte(out, 0);
    ash__put_le32(out->data, (uint32_t)(out->len - sizeof no_length));
    return (ash_value){BSON_TYPE_UTF8, out->data, (uint32_t)out->len};
}

/* Digits follow where no double is the number itself: their end is told, not their value. */
static size_t digits_bytes(const uint8_t *code, size_t len, uint8_t end)
{
    for (size_t at = EXACT_NUMBER_BYTES + EXPONENT_BYTES; at < len; at++)
        if (code[at] == end)
            return at + 1;
    return 0;
}

static size_t read_number(const uint8_t *code, size_t len, ash_keycode_room *room, ash_value *out)
{
    bool negative = code[0] == ASH_BRACKET_NUMBER + 1;
    double value;
    if (code[0] == ASH_BRACKET_NUMBER) {
        *out = ash__box_double(&room->box, (double)NAN);
        return 1;
    }
    if (len < EXACT_NUMBER_BYTES)
        return 0;
    uint64_t bits = ash__get_be64(code + 1);
    uint8_t mark = code[EXACT_NUMBER_BYTES - 1];
    if (negative) {
        bits = ~bits;
        mark = (uint8_t)~mark;
    }
    if (mark != 0)
        return digits_bytes(code, len, negative ? 0xff : 0);
    memcpy(&value, &bits, sizeof value);
    *out = ash__box_double(&room->box, negative ? -value : value);
    return EXACT_NUMBER_BYTES;
}

static size_t read_fixed(const uint8_t *code, size_t len, size_t bytes, ash_keycode_room *room,
                         ash_value *out)
{
    bson_oid_t oid;
    const uint8_t *at = code + 1;
    if (len < 1 + bytes)
        return 0;
    switch (code[0]) {
    case ASH_BRACKET_OID:
        memcpy(oid.bytes, at, sizeof oid.bytes);
        *out = ash__box_oid(&room->box, &oid);
        break;
    case ASH_BRACKET_BOOL:
        *out = ash__box_bool(&room->box, at[0] != 0);
        break;
    case ASH_BRACKET_DATE:
        *out = ash__box_date(&room->box, (int64_t)(ash__get_be64(at) ^ 1ULL << 63));
        break;
    default:
        *out = ash__box_timestamp(&room->box, ash__get_be64(at));
        break;
    }
    return 1 + bytes;
}

static size_t skip_counted(const uint8_t *code, size_t len, bool is_binary)
{
    if (len < 5)
        return 0;
    uint64_t counted =
        (uint64_t)code[1] << 24 | (uint64_t)code[2] << 16 | (uint64_t)code[3] << 8 | code[4];
    /* Of binary: without its subtype; of a DBPointer: the value's bytes, its own length in them. */
    uint64_t bytes = is_binary ? 1 + 4 + 1 + counted : 1 + counted;
    return bytes <= len && bytes > 5 ? (size_t)bytes : 0;
}

static size_t skip_regex(const uint8_t *code, size_t len)
{
    size_t pattern = text_bytes(code + 1, len - 1);
    if (pattern == 0)
        return 0;
    size_t options = text_bytes(code + 1 + pattern, len - 1 - pattern);
    return options == 0 ? 0 : 1 + pattern + options;
}

size_t ash__keycode_read(const uint8_t *code, size_t len, ash_keycode_room *room, ash_value *out)
{
    size_t text;
    *out = ASH_VALUE_MISSING;
    if (len == 0)
        return 0;
    switch (code[0]) {
    case ASH_BRACKET_NULL:
        *out = ash__box_null(&room->box);
        return 1;
    case ASH_BRACKET_NUMBER:
    case ASH_BRACKET_NUMBER + 1:
    case ASH_BRACKET_NUMBER + 2:
        return read_number(code, len, room, out);
    case ASH_BRACKET_STRING:
        text = text_bytes(code + 1, len - 1);
        if (text > 0)
            *out = read_text(code + 1, text, &room->text);
        return text > 0 ? 1 + text : 0;
    case ASH_BRACKET_OID:
        return read_fixed(code, len, 12, room, out);
    case ASH_BRACKET_BOOL:
        return read_fixed(code, len, 1, room, out);
    case ASH_BRACKET_DATE:
    case ASH_BRACKET_TIMESTAMP:
        return read_fixed(code, len, 8, room, out);
    case ASH_BRACKET_BINARY:
    case ASH_BRACKET_DBPOINTER:
        return skip_counted(code, len, code[0] == ASH_BRACKET_BINARY);
    case ASH_BRACKET_REGEX:
        return skip_regex(code, len);
    case ASH_BRACKET_CODE:
        text = text_bytes(code + 1, len - 1);
        return text > 0 ? 1 + text : 0;
    case ASH_BRACKET_MINKEY:
    case ASH_BRACKET_MAXKEY:
        return 1;
    default:
        return 0;
    }
}

size_t ash__keycode_read_part(const uint8_t *code, size_t len, bool descending,
                              ash_keycode_room *room, ash_value *out)
{
    if (!descending)
        return ash__keycode_read(code, len, room, out);
    ash__buffer_clear(&room->turned);
    ash__buffer_append(&room->turned, code, len);
    for (size_t i = 0; i < len; i++)
        room->turned.data[i] = (uint8_t)~room->turned.data[i];
    return ash__keycode_read(room->turned.data, len, room, out);
}

void ash__keycode_room_release(ash_keycode_room *room)
{
    ash__buffer_release(&room->turned);
    ash__buffer_release(&room->text);
}
