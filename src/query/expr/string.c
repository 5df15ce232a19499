/* SPDX-License-Identifier: Apache-2.0 */
/* $concat, substrings, case, lengths, $strcasecmp. */
#include "query/expr/node.h"

#include "query/kit/utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The string that these operators make of what is none; false when the type has none. */
static bool coerce_string(ash_arena *a, ash_value v, const char **text, uint32_t *len)
{
    char buf[64];
    *text = "";
    *len = 0;
    if (ash__nullish(v))
        return true;
    switch (v.type) {
    case BSON_TYPE_UTF8:
    case BSON_TYPE_SYMBOL:
    case BSON_TYPE_CODE:
        *text = ash__value_string(v, len);
        return true;
    default:
        if (!ash__scalar_text(v, buf, sizeof buf))
            return false;
        *len = (uint32_t)strlen(buf);
        *text = ash__arena_text(a, buf, *len);
        return true;
    }
}

static int coerce(const ash_node *n, ash_eval *e, ash_value v, const char **text, uint32_t *len)
{
    if (coerce_string(e->arena, v, text, len))
        return 0;
    return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_LOCATION_CANNOT_BECOME_STRING,
                            "%s: can't convert from BSON type %s to String", n->op->name,
                            ash__type_text(v));
}

static int eval_concat(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_buffer buf = ASH_BUFFER_INIT;
    ash_value *v;
    bool null = false;
    int rc = ash__eval_args(n, e, &v);
    for (uint32_t i = 0; rc == 0 && i < n->count; i++) {
        uint32_t len;
        if (ash__nullish(v[i])) {
            null = true;
        } else if (!ash__is_string(v[i])) {
            rc = ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_LOCATION_CONCAT_NOT_STRING,
                                  "$concat only supports strings, not %s", ash__type_text(v[i]));
        } else {
            const char *text = ash__value_string(v[i], &len);
            ash__buffer_append(&buf, text, len);
            rc = ash__check_size(e, buf.len);
        }
    }
    if (rc == 0 && !null)
        return ash__make_buffer_string(e, &buf, out);
    ash__buffer_release(&buf);
    *out = ash__make_null();
    return rc;
}

/* The two numbers behind the string of a substring operator. */
static int substr_range(const ash_node *n, ash_eval *e, const ash_value *v, int64_t range[2])
{
    for (int i = 0; i < 2; i++) {
        double d;
        if (!ash__value_is_number(v[1 + i]) || !ash__value_as_double(v[1 + i], &d))
            return ash__fail_server(e->err, ASH_EINVAL,
                                    i == 0 ? ASH_MONGO_LOCATION_SUBSTR_START_NOT_NUMBER
                                           : ASH_MONGO_LOCATION_SUBSTR_LENGTH_NOT_NUMBER,
                                    "%s: %s must be a numeric type (is BSON type %s)", n->op->name,
                                    i == 0 ? "starting index" : "length", ash__type_text(v[1 + i]));
        /* Cut to what no string reaches: a double may be anything, and the difference no longer
         * shows. */
        range[i] = d != d ? 0 : d > 1e9 ? 1000000000 : d < -1e9 ? -1 : (int64_t)d;
    }
    return 0;
}

static bool is_continuation(const char *text, uint32_t len, int64_t at)
{
    return at < len && ((uint8_t)text[at] & 0xC0) == 0x80;
}

static int eval_substr_bytes(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_value *v;
    const char *text;
    uint32_t len;
    int64_t range[2] = {0, 0};
    int rc = ash__eval_args(n, e, &v);
    if (rc == 0)
        rc = coerce(n, e, v[0], &text, &len);
    if (rc == 0)
        rc = substr_range(n, e, v, range);
    if (rc != 0)
        return rc;
    if (range[0] < 0)
        return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_LOCATION_SUBSTR_START_NEGATIVE,
                                "%s: starting index must be non-negative", n->op->name);
    int64_t start = range[0] < len ? range[0] : len;
    int64_t count = range[1] < 0 || range[1] > len - start ? len - start : range[1];
    if (is_continuation(text, len, start))
        return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_LOCATION_SUBSTR_START_IN_CHARACTER,
                                "%s: invalid range, starting index is a UTF-8 continuation byte",
                                n->op->name);
    if (is_continuation(text, len, start + count))
        return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_LOCATION_SUBSTR_END_IN_CHARACTER,
                                "%s: invalid range, ending index is in the middle of a UTF-8 "
                                "character",
                                n->op->name);
    *out = ash__make_string(e->arena, text + start, (size_t)count);
    return 0;
}

static int eval_substr_cp(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_value *v;
    const char *text;
    uint32_t len;
    int rc = ash__eval_args(n, e, &v);
    if (rc == 0)
        rc = coerce(n, e, v[0], &text, &len);
    if (rc != 0)
        return rc;
    int32_t range[2];
    for (int i = 0; i < 2; i++) {
        if (!ash__value_is_number(v[1 + i]))
            return ash__fail_server(e->err, ASH_EINVAL,
                                    i == 0 ? ASH_MONGO_LOCATION_SUBSTR_CP_START_NOT_NUMBER
                                           : ASH_MONGO_LOCATION_SUBSTR_CP_LENGTH_NOT_NUMBER,
                                    "$substrCP: %s must be a numeric type (is BSON type %s)",
                                    i == 0 ? "starting index" : "length", ash__type_text(v[1 + i]));
        if (!ash__value_as_int32(v[1 + i], &range[i]))
            return ash__fail_server(e->err, ASH_EINVAL,
                                    i == 0 ? ASH_MONGO_LOCATION_SUBSTR_CP_START_NOT_INT32
                                           : ASH_MONGO_LOCATION_SUBSTR_CP_LENGTH_NOT_INT32,
                                    "$substrCP: argument cannot be represented as a 32-bit "
                                    "integral value");
        if (range[i] < 0)
            return ash__fail_server(e->err, ASH_EINVAL,
                                    i == 0 ? ASH_MONGO_LOCATION_SUBSTR_CP_START_NEGATIVE
                                           : ASH_MONGO_LOCATION_SUBSTR_CP_LENGTH_NEGATIVE,
                                    "$substrCP: argument must be a nonnegative integer");
    }
    uint32_t from = ash__utf8_offset(text, len, (uint32_t)range[0]);
    uint32_t size = ash__utf8_offset(text + from, len - from, (uint32_t)range[1]);
    *out = ash__make_string(e->arena, text + from, size);
    return 0;
}

/* ASCII only, like the server: other characters stay as they are.  variant 1: upper. */
static int eval_case(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_value v;
    const char *text;
    uint32_t len;
    int rc = ash__eval_arg(n, 0, e, &v);
    if (rc == 0)
        rc = coerce(n, e, v, &text, &len);
    if (rc != 0)
        return rc;
    char *copy = ash__arena_copy(e->arena, text, len);
    for (uint32_t i = 0; i < len; i++) {
        if (n->op->variant == 1 && copy[i] >= 'a' && copy[i] <= 'z')
            copy[i] = (char)(copy[i] - 32);
        else if (n->op->variant == 0 && copy[i] >= 'A' && copy[i] <= 'Z')
            copy[i] = (char)(copy[i] + 32);
    }
    *out = ash__make_string(e->arena, copy, len);
    return 0;
}

static int lower(int c)
{
    return c >= 'A' && c <= 'Z' ? c + 32 : c;
}

static int eval_strcasecmp(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_value *v;
    const char *text[2];
    uint32_t len[2];
    int order = 0;
    int rc = ash__eval_args(n, e, &v);
    for (int i = 0; rc == 0 && i < 2; i++)
        rc = coerce(n, e, v[i], &text[i], &len[i]);
    if (rc != 0)
        return rc;
    for (uint32_t i = 0; order == 0 && i < len[0] && i < len[1]; i++)
        order = lower((uint8_t)text[0][i]) - lower((uint8_t)text[1][i]);
    if (order == 0)
        order = len[0] < len[1] ? -1 : len[0] > len[1];
    *out = ash__make_int32(e->arena, order < 0 ? -1 : order > 0);
    return 0;
}

/* variant 1: code points are counted. */
static int eval_length(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_value v;
    uint32_t len;
    int rc = ash__eval_arg(n, 0, e, &v);
    if (rc != 0)
        return rc;
    if (!ash__is_string(v))
        return ash__fail_server(e->err, ASH_EINVAL,
                                n->op->variant == 1 ? ASH_MONGO_LOCATION_STR_LEN_CP_NOT_STRING
                                                    : ASH_MONGO_LOCATION_STR_LEN_BYTES_NOT_STRING,
                                "%s requires a string argument, found: %s", n->op->name,
                                ash__type_text(v));
    const char *text = ash__value_string(v, &len);
    if (n->op->variant == 1)
        len = ash__utf8_length(text, len);
    *out = ash__make_int32(e->arena, (int32_t)len);
    return 0;
}

const ash_expr_op ash__expr_string_ops[] = {
    {"$concat", 0, -1, eval_concat},           {"$substr", 3, 3, eval_substr_bytes},
    {"$substrBytes", 3, 3, eval_substr_bytes}, {"$substrCP", 3, 3, eval_substr_cp},
    {"$toLower", 1, 1, eval_case, 0},          {"$toUpper", 1, 1, eval_case, 1},
    {"$strcasecmp", 2, 2, eval_strcasecmp},    {"$strLenBytes", 1, 1, eval_length, 0},
    {"$strLenCP", 1, 1, eval_length, 1},       {NULL},
};
