/* SPDX-License-Identifier: Apache-2.0 */
/* Comparing goes as deep as the values do, which was bounded when they came in. */
#include "bson/compare.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "bson/number.h"

#include <string.h>

int ash__type_bracket(uint8_t type)
{
    switch (type) {
    case BSON_TYPE_MINKEY:
        return ASH_BRACKET_MINKEY;
    case 0:
    case BSON_TYPE_UNDEFINED:
    case BSON_TYPE_NULL:
        return ASH_BRACKET_NULL;
    case BSON_TYPE_DOUBLE:
    case BSON_TYPE_INT32:
    case BSON_TYPE_INT64:
    case BSON_TYPE_DECIMAL128:
        return ASH_BRACKET_NUMBER;
    case BSON_TYPE_UTF8:
    case BSON_TYPE_SYMBOL:
        return ASH_BRACKET_STRING;
    case BSON_TYPE_DOCUMENT:
        return ASH_BRACKET_OBJECT;
    case BSON_TYPE_ARRAY:
        return ASH_BRACKET_ARRAY;
    case BSON_TYPE_BINARY:
        return ASH_BRACKET_BINARY;
    case BSON_TYPE_OID:
        return ASH_BRACKET_OID;
    case BSON_TYPE_BOOL:
        return ASH_BRACKET_BOOL;
    case BSON_TYPE_DATE_TIME:
        return ASH_BRACKET_DATE;
    case BSON_TYPE_TIMESTAMP:
        return ASH_BRACKET_TIMESTAMP;
    case BSON_TYPE_REGEX:
        return ASH_BRACKET_REGEX;
    case BSON_TYPE_DBPOINTER:
        return ASH_BRACKET_DBPOINTER;
    case BSON_TYPE_CODE:
        return ASH_BRACKET_CODE;
    case BSON_TYPE_CODEWSCOPE:
        return ASH_BRACKET_CODE_WITH_SCOPE;
    default:
        ash_assert(type == BSON_TYPE_MAXKEY);
        return ASH_BRACKET_MAXKEY;
    }
}

static int compare_texts(ash_value a, ash_value b, const ash_collation *c)
{
    uint32_t a_len;
    uint32_t b_len;
    const char *a_text = ash__value_string(a, &a_len);
    const char *b_text = ash__value_string(b, &b_len);
    if (ash__collation_is_simple(c))
        return ash__compare_bytes(a_text, a_len, b_text, b_len);
    return ash__collation_compare(c, a_text, a_len, b_text, b_len);
}

static int compare_fields(const ash_doc_iter *a, const ash_doc_iter *b, bool names,
                          const ash_collation *c)
{
    /* The bracket comes before the name, as in MongoDB: {b: 1} is less than {a: "x"}. */
    int order = ash__type_bracket(a->value.type) - ash__type_bracket(b->value.type);
    if (order == 0 && names)
        order = ash__compare_bytes(a->name, a->name_len, b->name, b->name_len);
    return order != 0 ? order : ash__value_compare(a->value, b->value, c);
}

static int compare_docs(ash_doc a, ash_doc b, bool names, const ash_collation *c)
{
    ash_doc_iter i = ash__doc_iter(a);
    ash_doc_iter j = ash__doc_iter(b);
    for (;;) {
        bool more_a = ash__doc_iter_next(&i);
        bool more_b = ash__doc_iter_next(&j);
        /* Where one is the beginning of the other, the shorter comes first. */
        if (!more_a || !more_b)
            return more_a - more_b;
        int order = compare_fields(&i, &j, names, c);
        if (order != 0)
            return order;
    }
}

int ash__doc_compare(ash_doc a, ash_doc b, const ash_collation *c)
{
    return compare_docs(a, b, true, c);
}

static int compare_binaries(ash_value a, ash_value b)
{
    uint8_t a_subtype;
    uint8_t b_subtype;
    uint32_t a_len;
    uint32_t b_len;
    const uint8_t *a_data = ash__value_binary(a, &a_subtype, &a_len);
    const uint8_t *b_data = ash__value_binary(b, &b_subtype, &b_len);
    if (a_len != b_len)
        return a_len < b_len ? -1 : 1;
    if (a_subtype != b_subtype)
        return a_subtype < b_subtype ? -1 : 1;
    return ash__compare_bytes(a_data, a_len, b_data, b_len);
}

static int compare_regexes(ash_value a, ash_value b)
{
    const char *a_options;
    const char *b_options;
    const char *a_pattern = ash__value_regex(a, &a_options);
    const char *b_pattern = ash__value_regex(b, &b_options);
    /* Both are C strings in BSON: neither can hold a NUL. */
    int order = strcmp(a_pattern, b_pattern);
    return order != 0 ? order : strcmp(a_options, b_options);
}

/* Equally long ones have the same length in front of the name, so that all bytes can be
 * compared. */
static int compare_pointers(ash_value a, ash_value b)
{
    if (a.len != b.len)
        return a.len < b.len ? -1 : 1;
    return memcmp(a.data, b.data, a.len);
}

static int compare_int64(ash_value a, ash_value b)
{
    int64_t m = ash__value_int64(a);
    int64_t n = ash__value_int64(b);
    return (m > n) - (m < n);
}

static int compare_timestamps(ash_value a, ash_value b)
{
    /* Unsigned, unlike dates: the upper half are seconds, the lower one counts within them. */
    uint64_t m = (uint64_t)ash__value_int64(a);
    uint64_t n = (uint64_t)ash__value_int64(b);
    return (m > n) - (m < n);
}

static int compare_code_with_scope(ash_value a, ash_value b, const ash_collation *c)
{
    int order = compare_texts(a, b, NULL);
    return order != 0 ? order : compare_docs(ash__value_doc(a), ash__value_doc(b), true, c);
}

int ash__value_compare(ash_value a, ash_value b, const ash_collation *c)
{
    int bracket = ash__type_bracket(a.type);
    int other = ash__type_bracket(b.type);
    if (bracket != other)
        return bracket - other;
    /* Both have this bracket, so that each case may rely on both types. */
    switch (bracket) {
    case ASH_BRACKET_NUMBER:
        return ash__number_compare(a, b);
    case ASH_BRACKET_STRING:
        return compare_texts(a, b, c);
    case ASH_BRACKET_OBJECT:
        return compare_docs(ash__value_doc(a), ash__value_doc(b), true, c);
    case ASH_BRACKET_ARRAY:
        return compare_docs(ash__value_doc(a), ash__value_doc(b), false, c);
    case ASH_BRACKET_BINARY:
        return compare_binaries(a, b);
    case ASH_BRACKET_OID:
        return memcmp(a.data, b.data, 12);
    case ASH_BRACKET_BOOL:
        return ash__value_bool(a) - ash__value_bool(b);
    case ASH_BRACKET_DATE:
        return compare_int64(a, b);
    case ASH_BRACKET_TIMESTAMP:
        return compare_timestamps(a, b);
    case ASH_BRACKET_REGEX:
        return compare_regexes(a, b);
    case ASH_BRACKET_DBPOINTER:
        return compare_pointers(a, b);
    case ASH_BRACKET_CODE:
        return compare_texts(a, b, NULL);
    case ASH_BRACKET_CODE_WITH_SCOPE:
        return compare_code_with_scope(a, b, c);
    default: /* MinKey, MaxKey, null and its like */
        return 0;
    }
}

bool ash__value_equal(ash_value a, ash_value b, const ash_collation *c)
{
    return ash__value_compare(a, b, c) == 0;
}
