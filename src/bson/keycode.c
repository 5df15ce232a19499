/* SPDX-License-Identifier: Apache-2.0 */
/* Writing the encoding that keycode.h specifies.  What is written for a value never changes within
 * a format version: indexes hold it. */
#include "bson/keycode.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"
#include "bson/number_order.h"

#include <math.h>
#include <string.h>

#define NUMBER_NAN      ASH_BRACKET_NUMBER
#define NUMBER_NEGATIVE (ASH_BRACKET_NUMBER + 1)
#define NUMBER_POSITIVE (ASH_BRACKET_NUMBER + 2) /* and zero */

/* First byte, double, mark, exponent, pairs of digits, end. */
#define NUMBER_MAX_BYTES (1 + 8 + 1 + 2 + ASH_DECIMAL_DIGITS / 2 + 1)

/* Added to the power of ten of the first digit (-6176 … 6144). */
#define EXPONENT_BIAS 0x4000

/* Room between two brackets: the end of one is its number plus this. */
#define BRACKET_SPAN 8

#define END_OF_FIELDS 0x00

static void invert(uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        bytes[i] = (uint8_t)~bytes[i];
}

static size_t encode_digits(ash_value v, uint8_t *out)
{
    uint8_t digits[ASH_DECIMAL_DIGITS + 1];
    int exponent;
    int count = ash__number_digits(v, digits, &exponent);
    unsigned biased = (unsigned)(exponent + EXPONENT_BIAS);
    size_t len = 0;
    out[len++] = (uint8_t)(biased >> 8);
    out[len++] = (uint8_t)biased;
    /* An odd count leaves the last pair without a second digit. */
    digits[count] = 0;
    for (int i = 0; i < count; i += 2)
        /* One more than the pair, so that the 00 behind the last is less than any. */
        out[len++] = (uint8_t)(digits[i] * 10 + digits[i + 1] + 1);
    out[len++] = 0;
    return len;
}

static size_t encode_number(ash_value v, uint8_t out[NUMBER_MAX_BYTES])
{
    ash_number_place place = ash__number_place(v);
    if (isnan(place.truncated)) {
        out[0] = NUMBER_NAN;
        return 1;
    }
    /* The bytes of doubles without a sign sort as the numbers do; the sign is dealt with in
     * front. */
    double magnitude = fabs(place.truncated);
    uint64_t bits;
    memcpy(&bits, &magnitude, sizeof bits);
    out[0] = place.negative ? NUMBER_NEGATIVE : NUMBER_POSITIVE;
    ash__put_be64(out + 1, bits);
    out[9] = !place.exact;
    size_t len = 10;
    if (!place.exact)
        len += encode_digits(v, out + len);
    if (place.negative)
        invert(out + 1, len - 1);
    return len;
}

static void append_number(ash_buffer *out, ash_value v)
{
    ash__buffer_reserve(out, NUMBER_MAX_BYTES);
    out->len += encode_number(v, out->data + out->len);
}

static void append_escaped(ash_buffer *out, const uint8_t *text, size_t len)
{
    ash__buffer_reserve(out, 2 * len + 1);
    uint8_t *at = out->data + out->len;
    /* Nearly all text is free of both bytes and is copied at once. */
    if (len == 0 || (memchr(text, 0, len) == NULL && memchr(text, 1, len) == NULL)) {
        if (len > 0)
            memcpy(at, text, len);
        at += len;
    } else {
        for (size_t i = 0; i < len; i++) {
            uint8_t byte = text[i];
            if (byte <= 1) {
                *at++ = 1;
                byte++;
            }
            *at++ = byte;
        }
    }
    *at++ = 0;
    out->len = (size_t)(at - out->data);
}

static void append_text(ash_buffer *out, ash_value v, const ash_collation *c)
{
    uint32_t len;
    const char *text = ash__value_string(v, &len);
    /* No copy without a collation, as nearly all indexes are. */
    if (ash__collation_is_simple(c)) {
        append_escaped(out, (const uint8_t *)text, len);
        return;
    }
    ash_buffer folded = ASH_BUFFER_INIT;
    ash__collation_fold(c, text, len, &folded);
    append_escaped(out, folded.data, folded.len);
    ash__buffer_release(&folded);
}

static void append_value(ash_buffer *out, ash_value v, const ash_collation *c);

static void append_object(ash_buffer *out, ash_doc doc, const ash_collation *c)
{
    for (ash_doc_iter it = ash__doc_iter(doc); ash__doc_iter_next(&it);) {
        ash__buffer_append_byte(out, (uint8_t)ash__type_bracket(it.value.type));
        append_escaped(out, (const uint8_t *)it.name, it.name_len);
        append_value(out, it.value, c);
    }
    ash__buffer_append_byte(out, END_OF_FIELDS);
}

static void append_array(ash_buffer *out, ash_doc array, const ash_collation *c)
{
    for (ash_doc_iter it = ash__doc_iter(array); ash__doc_iter_next(&it);)
        append_value(out, it.value, c);
    ash__buffer_append_byte(out, END_OF_FIELDS);
}

static void append_be32(ash_buffer *out, uint32_t v)
{
    uint8_t bytes[4];
    ash__put_be32(bytes, v);
    ash__buffer_append(out, bytes, sizeof bytes);
}

static void append_be64(ash_buffer *out, uint64_t v)
{
    uint8_t bytes[8];
    ash__put_be64(bytes, v);
    ash__buffer_append(out, bytes, sizeof bytes);
}

static void append_binary(ash_buffer *out, ash_value v)
{
    uint8_t subtype;
    uint32_t len;
    const uint8_t *data = ash__value_binary(v, &subtype, &len);
    append_be32(out, len);
    ash__buffer_append_byte(out, subtype);
    ash__buffer_append(out, data, len);
}

static void append_regex(ash_buffer *out, ash_value v)
{
    const char *options;
    const char *pattern = ash__value_regex(v, &options);
    append_escaped(out, (const uint8_t *)pattern, strlen(pattern));
    append_escaped(out, (const uint8_t *)options, strlen(options));
}

static void append_contents(ash_buffer *out, int bracket, ash_value v, const ash_collation *c)
{
    switch (bracket) {
    case ASH_BRACKET_STRING:
        append_text(out, v, c);
        break;
    case ASH_BRACKET_OBJECT:
        append_object(out, ash__value_doc(v), c);
        break;
    case ASH_BRACKET_ARRAY:
        append_array(out, ash__value_doc(v), c);
        break;
    case ASH_BRACKET_BINARY:
        append_binary(out, v);
        break;
    case ASH_BRACKET_OID:
        ash__buffer_append(out, v.data, 12);
        break;
    case ASH_BRACKET_BOOL:
        ash__buffer_append_byte(out, ash__value_bool(v));
        break;
    case ASH_BRACKET_DATE:
        /* With the sign bit inverted, signed numbers sort as unsigned bytes. */
        append_be64(out, (uint64_t)ash__value_int64(v) ^ 1ULL << 63);
        break;
    case ASH_BRACKET_TIMESTAMP:
        append_be64(out, (uint64_t)ash__value_int64(v));
        break;
    case ASH_BRACKET_REGEX:
        append_regex(out, v);
        break;
    case ASH_BRACKET_DBPOINTER:
        append_be32(out, v.len);
        ash__buffer_append(out, v.data + 4, v.len - 4);
        break;
    case ASH_BRACKET_CODE:
        append_text(out, v, NULL);
        break;
    case ASH_BRACKET_CODE_WITH_SCOPE:
        append_text(out, v, NULL);
        append_object(out, ash__value_doc(v), c);
        break;
    default: /* MinKey, MaxKey, null and its like are their bracket alone */
        break;
    }
}

static void append_value(ash_buffer *out, ash_value v, const ash_collation *c)
{
    int bracket = ash__type_bracket(v.type);
    if (bracket == ASH_BRACKET_NUMBER) {
        append_number(out, v);
        return;
    }
    ash__buffer_append_byte(out, (uint8_t)bracket);
    append_contents(out, bracket, v, c);
}

void ash__keycode_append(ash_buffer *out, ash_value v, bool descending, const ash_collation *c)
{
    size_t start = out->len;
    append_value(out, v, c);
    if (descending)
        invert(out->data + start, out->len - start);
}

void ash__keycode_append_empty_array(ash_buffer *out, bool descending)
{
    ash__buffer_append_byte(
        out, (uint8_t)(descending ? ~ASH_KEYCODE_EMPTY_ARRAY : ASH_KEYCODE_EMPTY_ARRAY));
}

void ash__keycode_append_hash(ash_buffer *out, ash_value v, bool descending, const ash_collation *c)
{
    ash_value_box box;
    ash_value hash = ash__box_int64(&box, (int64_t)ash__value_hash(v, c));
    ash__keycode_append(out, hash, descending, NULL);
}

void ash__keycode_append_bracket_start(ash_buffer *out, uint8_t type, bool descending)
{
    int bracket = ash__type_bracket(type);
    /* Inverted, the bracket's last byte is its lowest. */
    ash__buffer_append_byte(out, (uint8_t)(descending ? ~(bracket + BRACKET_SPAN - 1) : bracket));
}

void ash__keycode_append_bracket_end(ash_buffer *out, uint8_t type, bool descending)
{
    int bracket = ash__type_bracket(type);
    ash__buffer_append_byte(out, (uint8_t)(descending ? ~bracket + 1 : bracket + BRACKET_SPAN));
}

bool ash__keycode_read_whole(const uint8_t *code, size_t len, int64_t *out)
{
    enum { WHOLE_BYTES = 10 };
    static const double limit = 9007199254740992.0;
    double value;
    if (len != WHOLE_BYTES || code[0] != NUMBER_POSITIVE || code[WHOLE_BYTES - 1] != 0)
        return false;
    uint64_t bits = ash__get_be64(code + 1);
    memcpy(&value, &bits, sizeof value);
    if (!(value >= 0 && value <= limit) || value != floor(value))
        return false;
    *out = (int64_t)value;
    return true;
}

bool ash__keycode_successor(ash_buffer *buf)
{
    while (buf->len > 0 && buf->data[buf->len - 1] == 0xff)
        buf->len--;
    if (buf->len == 0)
        return false;
    buf->data[buf->len - 1]++;
    return true;
}

uint64_t ash__value_hash(ash_value v, const ash_collation *c)
{
    if (ash__value_is_number(v)) {
        /* Without the heap: groups and sets hash one for each document. */
        uint8_t bytes[NUMBER_MAX_BYTES];
        return ash__checksum(bytes, encode_number(v, bytes));
    }
    ash_buffer key = ASH_BUFFER_INIT;
    append_value(&key, v, c);
    uint64_t hash = ash__checksum(key.data, key.len);
    ash__buffer_release(&key);
    return hash;
}
