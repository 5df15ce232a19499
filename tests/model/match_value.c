/* SPDX-License-Identifier: Apache-2.0 */
#include "match.h"

#include "unsure.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool nan_compare(const char *op, bool both)
{
    return both && strcmp(op, "$gt") != 0 && strcmp(op, "$lt") != 0;
}

static bool same_kind(const mv *a, const mv *b)
{
    return a->type == b->type || (mv_is_number(a) && mv_is_number(b));
}

/* MinKey and MaxKey compare with everything, missing fields too. */
static bool compare_ends(const char *op, const mv *operand, const mv *v)
{
    if (v != NULL && v->type == operand->type)
        return strcmp(op, "$gt") != 0 && strcmp(op, "$lt") != 0;
    if (strcmp(op, "$eq") == 0)
        return false;
    return operand->type == BSON_TYPE_MINKEY ? op[1] == 'g' : op[1] == 'l';
}

static bool compare(const char *op, const mv *operand, const mv *v)
{
    if (operand->type == BSON_TYPE_MINKEY || operand->type == BSON_TYPE_MAXKEY)
        return compare_ends(op, operand, v);
    if (v == NULL)
        return operand->type == BSON_TYPE_NULL && strcmp(op, "$gt") != 0 && strcmp(op, "$lt") != 0;
    if (!same_kind(v, operand))
        return false;
    if (naive_is_nan(v) || naive_is_nan(operand))
        return nan_compare(op, naive_is_nan(v) && naive_is_nan(operand));
    int c = naive_compare(v, operand);
    if (strcmp(op, "$eq") == 0)
        return c == 0;
    if (op[1] == 'g')
        return c > 0 || (c == 0 && op[3] == 'e');
    return c < 0 || (c == 0 && op[3] == 'e');
}

static uint32_t regex_flags(const char *options)
{
    uint32_t flags = PCRE2_UTF;
    for (; options != NULL && *options != '\0'; options++) {
        flags |= *options == 'i' ? PCRE2_CASELESS : 0;
        flags |= *options == 'm' ? PCRE2_MULTILINE : 0;
        flags |= *options == 's' ? PCRE2_DOTALL : 0;
        flags |= *options == 'x' ? PCRE2_EXTENDED : 0;
    }
    return flags;
}

static bool regex(const mv *operand, const char *options, const mv *v)
{
    const char *flags =
        operand->type == BSON_TYPE_REGEX && options == NULL ? operand->options : options;
    if (v != NULL && v->type == BSON_TYPE_REGEX)
        return strcmp((const char *)v->data, (const char *)operand->data) == 0 &&
               strcmp(v->options, flags == NULL ? "" : flags) == 0;
    if (v == NULL || v->type != BSON_TYPE_UTF8)
        return false;
    int code;
    size_t at;
    pcre2_code *re =
        pcre2_compile(operand->data, operand->len, regex_flags(flags), &code, &at, NULL);
    if (re == NULL)
        abort();
    pcre2_match_data *data = pcre2_match_data_create_from_pattern(re, NULL);
    int found = pcre2_match(re, v->data, v->len, 0, 0, data, NULL);
    pcre2_match_data_free(data);
    pcre2_code_free(re);
    return found >= 0;
}

static bool in(const mv *list, const mv *v)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const mv *item = list->items[i];
        if (item->type == BSON_TYPE_REGEX ? regex(item, NULL, v) || compare("$eq", item, v)
                                          : compare("$eq", item, v))
            return true;
    }
    return false;
}

static const struct {
    const char *alias;
    bson_type_t type;
} aliases[] = {
    {"double", BSON_TYPE_DOUBLE},   {"string", BSON_TYPE_UTF8},
    {"object", BSON_TYPE_DOCUMENT}, {"array", BSON_TYPE_ARRAY},
    {"binData", BSON_TYPE_BINARY},  {"objectId", BSON_TYPE_OID},
    {"bool", BSON_TYPE_BOOL},       {"date", BSON_TYPE_DATE_TIME},
    {"null", BSON_TYPE_NULL},       {"regex", BSON_TYPE_REGEX},
    {"int", BSON_TYPE_INT32},       {"timestamp", BSON_TYPE_TIMESTAMP},
    {"long", BSON_TYPE_INT64},      {"decimal", BSON_TYPE_DECIMAL128},
    {"minKey", BSON_TYPE_MINKEY},   {"maxKey", BSON_TYPE_MAXKEY},
};

static bool is_type(const mv *operand, const mv *v)
{
    if (operand->type == BSON_TYPE_ARRAY) {
        for (uint32_t i = 0; i < operand->count; i++) {
            if (is_type(operand->items[i], v))
                return true;
        }
        return false;
    }
    if (v == NULL)
        return false;
    if (operand->type != BSON_TYPE_UTF8)
        return operand->i == -1 ? v->type == BSON_TYPE_MINKEY : (int64_t)v->type == operand->i;
    if (strcmp((const char *)operand->data, "number") == 0)
        return mv_is_number(v);
    for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++) {
        if (strcmp(aliases[i].alias, (const char *)operand->data) == 0)
            return v->type == aliases[i].type;
    }
    return false;
}

/* Rounds toward zero; what does not fit an int64 has no remainder. */
static bool as_dividend(const mv *v, int64_t *out)
{
    if (v == NULL || !mv_is_number(v))
        return false;
    if (v->type == BSON_TYPE_DECIMAL128) {
        int64_t i;
        for (i = -9; i <= 9; i++) {
            if (naive_number_compare(v, mv_int(i)) == 0) {
                *out = i;
                return true;
            }
        }
        naive_unsure = true;
        return false;
    }
    mv *whole = v->type == BSON_TYPE_DOUBLE ? mv_double(trunc(v->d)) : mv_copy(v);
    return naive_whole(whole, out);
}

static bool mod(const mv *operand, const mv *v)
{
    int64_t dividend, divisor, remainder;
    if (!as_dividend(v, &dividend) || !as_dividend(operand->items[0], &divisor) ||
        !as_dividend(operand->items[1], &remainder))
        return false;
    return (divisor == -1 ? 0 : dividend % divisor) == remainder;
}

static bool bit_at(const mv *v, int64_t whole, uint64_t bit)
{
    if (v->type == BSON_TYPE_BINARY)
        return bit / 8 < v->len && (v->data[bit / 8] >> (bit % 8) & 1) != 0;
    return bit > 63 ? whole < 0 : ((uint64_t)whole >> bit & 1) != 0;
}

static bool wanted_bit(const mv *operand, uint64_t bit)
{
    if (operand->type == BSON_TYPE_BINARY)
        return bit_at(operand, 0, bit);
    if (operand->type != BSON_TYPE_ARRAY)
        return bit < 64 && bit_at(operand, operand->i, bit);
    for (uint32_t i = 0; i < operand->count; i++) {
        if ((uint64_t)operand->items[i]->i == bit)
            return true;
    }
    return false;
}

static bool bits(const char *op, const mv *operand, const mv *v)
{
    int64_t whole = 0;
    if (v == NULL || (v->type != BSON_TYPE_BINARY && !mv_is_number(v)))
        return false;
    naive_unsure |= v->type == BSON_TYPE_DECIMAL128;
    if (v->type != BSON_TYPE_BINARY && !naive_whole(v, &whole))
        return false;
    bool all = strncmp(op, "$bitsAll", 8) == 0, set = strstr(op, "Set") != NULL;
    for (uint64_t bit = 0; bit < 128; bit++) {
        if (wanted_bit(operand, bit) && (bit_at(v, whole, bit) == set) != all)
            return !all;
    }
    return all;
}

static bool elem_match(const mv *conditions, const mv *v)
{
    for (uint32_t i = 0; v != NULL && v->type == BSON_TYPE_ARRAY && i < v->count; i++) {
        if (naive_elem_match(v->items[i], conditions))
            return true;
    }
    return false;
}

bool match_truth(const mv *v)
{
    if (v->type == BSON_TYPE_NULL)
        return false;
    if (v->type == BSON_TYPE_BOOL)
        return v->i != 0;
    return !mv_is_number(v) || naive_number_compare(v, mv_int(0)) != 0;
}

bool match_value(const char *op, const mv *operand, const char *options, const mv *v)
{
    if (strcmp(op, "$in") == 0)
        return in(operand, v);
    if (strcmp(op, "$regex") == 0)
        return regex(operand, options, v);
    if (strcmp(op, "$exists") == 0)
        return v != NULL;
    if (strcmp(op, "$type") == 0)
        return is_type(operand, v);
    if (strcmp(op, "$mod") == 0)
        return mod(operand, v);
    if (strncmp(op, "$bits", 5) == 0)
        return bits(op, operand, v);
    if (strcmp(op, "$elemMatch") == 0)
        return elem_match(operand, v);
    if (strcmp(op, "$size") == 0) {
        int64_t size;
        return v != NULL && v->type == BSON_TYPE_ARRAY && naive_whole(operand, &size) &&
               size == v->count;
    }
    return compare(op, operand, v);
}
