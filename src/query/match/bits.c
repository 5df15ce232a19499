/* SPDX-License-Identifier: Apache-2.0 */
/* $bitsAllSet and its kin: masks in all their forms become positions, which are looked at one by
 * one. */
#include "query/match/node.h"

#include "base/mem.h"

#include <string.h>

static void add_position(ash_match_bits *bits, uint32_t position)
{
    uint32_t count = bits->count;
    /* Full at each power of two, and doubled then. */
    if ((count & (count - 1)) == 0)
        bits->positions = ash__realloc_array(bits->positions, count == 0 ? 1 : 2 * count,
                                             sizeof *bits->positions);
    bits->positions[bits->count++] = position;
}

static int positions_of_array(ash_match_parser *p, const char *op, ash_doc items,
                              ash_match_bits *bits)
{
    for (ash_doc_iter it = ash__doc_iter(items); ash__doc_iter_next(&it);) {
        int64_t position;
        if (!ash__value_is_number(it.value) || !ash__value_as_int64(it.value, &position))
            return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                    "bit positions must be an integer but got: %s: in %s",
                                    ash__type_name(it.value.type), op);
        if (position < 0 || position > INT32_MAX)
            return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                    "bit positions must be >= 0 and fit 31 bits, in %s", op);
        add_position(bits, (uint32_t)position);
    }
    return 0;
}

static int positions_of_number(ash_match_parser *p, const char *op, ash_value v,
                               ash_match_bits *bits)
{
    int64_t mask;
    if (!ash__value_as_int64(v, &mask))
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "Expected an integer: %s", op);
    if (mask < 0)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "Expected a non-negative number in: %s", op);
    for (uint32_t i = 0; i < 64; i++)
        if ((uint64_t)mask >> i & 1)
            add_position(bits, i);
    return 0;
}

static void positions_of_binary(ash_value v, ash_match_bits *bits)
{
    uint8_t subtype;
    uint32_t len;
    const uint8_t *bytes = ash__value_binary(v, &subtype, &len);
    for (uint32_t i = 0; i < len; i++)
        for (uint32_t bit = 0; bit < 8; bit++)
            if (bytes[i] >> bit & 1)
                add_position(bits, i * 8 + bit);
}

static bool test_from_name(const char *op, enum ash_bits_test *test)
{
    static const char *const names[] = {"$bitsAllSet", "$bitsAllClear", "$bitsAnySet",
                                        "$bitsAnyClear"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(names); i++)
        if (strcmp(op, names[i]) == 0) {
            *test = (enum ash_bits_test)i;
            return true;
        }
    return false;
}

int ash__match_parse_bits(ash_match_parser *p, const char *path, const char *op, ash_value arg,
                          ash_match_node *list)
{
    enum ash_bits_test test;
    if (!test_from_name(op, &test))
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE, "unknown operator: %s",
                                op);
    ash_match_node *node = ash__match_node_new(ASH_COND_BITS, path);
    ash__match_node_add(list, node);
    node->cond.operand = arg;
    node->bits.test = test;
    if (arg.type == BSON_TYPE_ARRAY)
        return positions_of_array(p, op, ash__value_doc(arg), &node->bits);
    if (ash__value_is_number(arg))
        return positions_of_number(p, op, arg, &node->bits);
    if (arg.type == BSON_TYPE_BINARY) {
        positions_of_binary(arg, &node->bits);
        return 0;
    }
    return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                            "%s takes an Array, a number, or a BinData but received: %s", op,
                            ash__type_name(arg.type));
}

/* Integers go on with their sign for ever, binaries with zeros. */
static bool bit_of_int(int64_t number, uint32_t position)
{
    return position > 63 ? number < 0 : ((uint64_t)number >> position & 1) != 0;
}

static bool bit_of_binary(const uint8_t *bytes, uint32_t len, uint32_t position)
{
    return position / 8 < len && (bytes[position / 8] >> (position % 8) & 1) != 0;
}

bool ash__match_bits_test(const ash_match_bits *bits, ash_value v)
{
    int64_t number = 0;
    uint8_t subtype;
    uint32_t len = 0;
    const uint8_t *bytes = NULL;
    if (v.type == BSON_TYPE_BINARY)
        bytes = ash__value_binary(v, &subtype, &len);
    else if (!ash__value_is_number(v) || !ash__value_as_int64(v, &number))
        return false;
    bool wants_set = bits->test == ASH_BITS_ALL_SET || bits->test == ASH_BITS_ANY_SET;
    bool is_any = bits->test == ASH_BITS_ANY_SET || bits->test == ASH_BITS_ANY_CLEAR;
    for (uint32_t i = 0; i < bits->count; i++) {
        uint32_t at = bits->positions[i];
        bool is_set = bytes != NULL ? bit_of_binary(bytes, len, at) : bit_of_int(number, at);
        /* One bit decides: one that fits for "any", one that does not for "all". */
        if ((is_set == wants_set) == is_any)
            return is_any;
    }
    return !is_any;
}
