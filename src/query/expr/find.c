/* SPDX-License-Identifier: Apache-2.0 */
/* Looking inside strings: $split, $indexOfBytes/CP, $trim and its kin, $replaceOne/All. */
#include "query/expr/node.h"

#include "base/budget.h"
#include "query/kit/utf8.h"

#include <string.h>

/* How much may be compared between two looks at the budget. */
#define STRETCH_BYTES 65536

struct text {
    const char *bytes;
    uint32_t len;
};

static struct text text_of(ash_value v)
{
    struct text t;
    t.bytes = ash__value_string(v, &t.len);
    return t;
}

/* *at: offset of needle at or behind from, or -1.  Text and needle may be repetitive and long: each
 * place is compared byte by byte. */
static int find(ash_eval *e, struct text text, struct text needle, uint32_t from, int64_t *at)
{
    uint64_t compared = 0;
    *at = -1;
    for (uint32_t i = from; needle.len <= text.len && i <= text.len - needle.len; i++) {
        /* Most places end with the first byte, and memcmp is called for the others. */
        bool starts = needle.len == 0 || text.bytes[i] == needle.bytes[0];
        if (starts && memcmp(text.bytes + i, needle.bytes, needle.len) == 0) {
            *at = i;
            return 0;
        }
        compared += starts ? needle.len : 1;
        if (compared < STRETCH_BYTES)
            continue;
        compared = 0;
        int rc = ash__budget_step(e->err);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static int eval_split(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_value *v;
    uint32_t from = 0, count = 0;
    int64_t at;
    int rc = ash__eval_args(n, e, &v);
    if (rc != 0)
        return rc;
    *out = ash__make_null();
    if (ash__nullish(v[0]) || ash__nullish(v[1]))
        return 0;
    for (int i = 0; i < 2; i++) {
        if (!ash__is_string(v[i]))
            return ash__fail_server(e->err, ASH_EINVAL,
                                    i == 0 ? ASH_MONGO_LOCATION_SPLIT_TEXT_NOT_STRING
                                           : ASH_MONGO_LOCATION_SPLIT_SEPARATOR_NOT_STRING,
                                    "$split requires an expression that evaluates to a string as "
                                    "a %s argument, found: %s",
                                    i == 0 ? "first" : "second", ash__type_text(v[i]));
    }
    struct text text = text_of(v[0]), separator = text_of(v[1]);
    if (separator.len == 0)
        return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_LOCATION_SPLIT_SEPARATOR_EMPTY,
                                "$split requires a non-empty separator");
    ash_builder b = ASH_BUILDER_INIT;
    ash__builder_begin(&b);
    while (rc == 0 && (rc = find(e, text, separator, from, &at)) == 0 && at >= 0) {
        ash__builder_item(&b, count++,
                          ash__make_string(e->arena, text.bytes + from, (size_t)at - from));
        from = (uint32_t)at + separator.len;
        rc = ash__check_size(e, b.buf.len);
    }
    if (rc != 0) {
        ash__builder_release(&b);
        return rc;
    }
    ash__builder_item(&b, count, ash__make_string(e->arena, text.bytes + from, text.len - from));
    return ash__make_array(e, &b, out);
}

static int index_bound(const ash_node *n, ash_eval *e, ash_value v, uint32_t *out)
{
    int32_t index;
    if (!ash__value_as_int32(v, &index))
        return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_LOCATION_INDEX_OF_BOUND_NOT_INT32,
                                "%s requires an integral index, found a value of type: %s",
                                n->op->name, ash__type_text(v));
    if (index < 0)
        return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_LOCATION_INDEX_OF_BOUND_NEGATIVE,
                                "%s requires a nonnegative index, found: %d", n->op->name, index);
    *out = (uint32_t)index;
    return 0;
}

/* variant 1: positions are counted in code points. */
static int eval_index_of(const ash_node *n, ash_eval *e, ash_value *out)
{
    static const int32_t codes[2][2] = {{ASH_MONGO_LOCATION_INDEX_OF_BYTES_FIRST_NOT_STRING,
                                         ASH_MONGO_LOCATION_INDEX_OF_BYTES_SECOND_NOT_STRING},
                                        {ASH_MONGO_LOCATION_INDEX_OF_CP_FIRST_NOT_STRING,
                                         ASH_MONGO_LOCATION_INDEX_OF_CP_SECOND_NOT_STRING}};
    ash_value *v;
    uint32_t bound[2] = {0, UINT32_MAX};
    bool code_points = n->op->variant == 1;
    int rc = ash__eval_args(n, e, &v);
    if (rc != 0)
        return rc;
    *out = ash__make_null();
    if (ash__nullish(v[0]))
        return 0;
    for (int i = 0; i < 2; i++) {
        if (!ash__is_string(v[i]))
            return ash__fail_server(e->err, ASH_EINVAL, codes[n->op->variant][i],
                                    "%s requires a string as the %s argument, found: %s",
                                    n->op->name, i == 0 ? "first" : "second", ash__type_text(v[i]));
    }
    for (uint32_t i = 2; rc == 0 && i < n->count; i++)
        rc = index_bound(n, e, v[i], &bound[i - 2]);
    if (rc != 0)
        return rc;
    struct text text = text_of(v[0]);
    if (code_points) {
        /* Behind the end nothing is found, not even an empty string. */
        if (bound[0] > ash__utf8_length(text.bytes, text.len))
            bound[0] = UINT32_MAX;
        else
            bound[0] = ash__utf8_offset(text.bytes, text.len, bound[0]);
        bound[1] = ash__utf8_offset(text.bytes, text.len, bound[1]);
    }
    if (bound[1] < text.len)
        text.len = bound[1];
    int64_t at = -1;
    if (bound[0] <= text.len)
        rc = find(e, text, text_of(v[1]), bound[0], &at);
    if (at > 0 && code_points)
        at = ash__utf8_length(text.bytes, (uint32_t)at);
    *out = ash__make_int32(e->arena, (int32_t)at);
    return rc;
}

static const ash_op_param trim_params[] = {
    {"input", ASH_MONGO_LOCATION_TRIM_WITHOUT_INPUT}, {"chars", 0}, {NULL}};

static bool is_default_space(uint32_t c)
{
    return c == 0 || c == ' ' || (c >= '\t' && c <= '\r') || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A);
}

/* How many bytes at the offset are one character to trim: of these, or else white space.  0: it is
 * none. */
static uint32_t trimmable(struct text text, uint32_t at, const struct text *chars)
{
    uint32_t size, other;
    uint32_t c = ash__utf8_decode(text.bytes + at, text.len - at, &size);
    if (chars == NULL)
        return is_default_space(c) ? size : 0;
    for (uint32_t i = 0; i < chars->len; i += other) {
        if (ash__utf8_decode(chars->bytes + i, chars->len - i, &other) == c)
            return size;
    }
    return 0;
}

enum { TRIM_LEFT = 1, TRIM_RIGHT = 2 };

static int eval_trim(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_value *v;
    uint32_t from = 0, step;
    struct text given;
    const struct text *chars = NULL;
    int rc = ash__eval_args(n, e, &v);
    if (rc != 0)
        return rc;
    *out = ash__make_null();
    if (ash__nullish(v[0]) || (n->args[1] != NULL && ash__nullish(v[1])))
        return 0;
    for (int i = 0; i < 2; i++) {
        if (!ash__is_string(v[i]) && (i == 0 || n->args[1] != NULL))
            return ash__fail_server(e->err, ASH_EINVAL,
                                    i == 0 ? ASH_MONGO_LOCATION_TRIM_INPUT_NOT_STRING
                                           : ASH_MONGO_LOCATION_TRIM_CHARS_NOT_STRING,
                                    "%s requires '%s' to be a string, got %s instead", n->op->name,
                                    trim_params[i].name, ash__type_text(v[i]));
    }
    struct text text = text_of(v[0]);
    if (n->args[1] != NULL) {
        given = text_of(v[1]);
        chars = &given;
    }
    while ((n->op->variant & TRIM_LEFT) && from < text.len &&
           (step = trimmable(text, from, chars)) > 0) {
        from += step;
        if ((rc = ash__budget_step(e->err)) != 0)
            return rc;
    }
    while ((n->op->variant & TRIM_RIGHT) && text.len > from) {
        if ((rc = ash__budget_step(e->err)) != 0)
            return rc;
        uint32_t last = text.len - 1;
        /* Back to where the last character begins. */
        while (last > from && ((uint8_t)text.bytes[last] & 0xC0) == 0x80)
            last--;
        if (trimmable(text, last, chars) == 0)
            break;
        text.len = last;
    }
    *out = ash__make_string(e->arena, text.bytes + from, text.len - from);
    return 0;
}

static const ash_op_param replace_params[] = {
    {"input", ASH_MONGO_LOCATION_REPLACE_WITHOUT_INPUT},
    {"find", ASH_MONGO_LOCATION_REPLACE_WITHOUT_FIND},
    {"replacement", ASH_MONGO_LOCATION_REPLACE_WITHOUT_REPLACEMENT},
    {NULL}};

/* variant 1: every occurrence. */
static int eval_replace(const ash_node *n, ash_eval *e, ash_value *out)
{
    static const int32_t not_string[] = {ASH_MONGO_LOCATION_REPLACE_INPUT_NOT_STRING,
                                         ASH_MONGO_LOCATION_REPLACE_FIND_NOT_STRING,
                                         ASH_MONGO_LOCATION_REPLACE_REPLACEMENT_NOT_STRING};
    ash_value *v;
    uint32_t from = 0;
    int64_t at;
    bool null = false;
    int rc = ash__eval_args(n, e, &v);
    if (rc != 0)
        return rc;
    for (int i = 0; i < 3; i++) {
        null = null || ash__nullish(v[i]);
        if (!ash__nullish(v[i]) && !ash__is_string(v[i]))
            return ash__fail_server(e->err, ASH_EINVAL, not_string[i],
                                    "%s requires that '%s' be a string, found: %s", n->op->name,
                                    replace_params[i].name, ash__type_text(v[i]));
    }
    *out = ash__make_null();
    if (null)
        return 0;
    struct text text = text_of(v[0]), needle = text_of(v[1]), fresh = text_of(v[2]);
    ash_buffer buf = ASH_BUFFER_INIT;
    while (rc == 0 && (rc = find(e, text, needle, from, &at)) == 0 && at >= 0) {
        ash__buffer_append(&buf, text.bytes + from, (size_t)at - from);
        ash__buffer_append(&buf, fresh.bytes, fresh.len);
        from = (uint32_t)at + needle.len;
        rc = ash__check_size(e, buf.len);
        if (n->op->variant == 0)
            break;
        /* An empty needle is found once before every byte and at the end. */
        if (needle.len == 0 && from < text.len)
            ash__buffer_append_byte(&buf, (uint8_t)text.bytes[from++]);
        else if (needle.len == 0)
            break;
    }
    if (from < text.len)
        ash__buffer_append(&buf, text.bytes + from, text.len - from);
    if (rc == 0)
        return ash__make_buffer_string(e, &buf, out);
    ash__buffer_release(&buf);
    return rc;
}

#define TRIM(name, variant)                                                                        \
    {                                                                                              \
        name, 0, 0, eval_trim, variant, trim_params, ASH_MONGO_LOCATION_TRIM_NOT_OBJECT,           \
            ASH_MONGO_LOCATION_TRIM_UNKNOWN_ARGUMENT                                               \
    }
#define REPLACE(name, variant)                                                                     \
    {                                                                                              \
        name, 0, 0, eval_replace, variant, replace_params, ASH_MONGO_LOCATION_REPLACE_NOT_OBJECT,  \
            ASH_MONGO_LOCATION_REPLACE_UNKNOWN_ARGUMENT                                            \
    }

const ash_expr_op ash__expr_find_ops[] = {
    {"$split", 2, 2, eval_split},
    {"$indexOfBytes", 2, 4, eval_index_of, 0},
    {"$indexOfCP", 2, 4, eval_index_of, 1},
    TRIM("$trim", TRIM_LEFT | TRIM_RIGHT),
    TRIM("$ltrim", TRIM_LEFT),
    TRIM("$rtrim", TRIM_RIGHT),
    REPLACE("$replaceOne", 0),
    REPLACE("$replaceAll", 1),
    {NULL},
};
