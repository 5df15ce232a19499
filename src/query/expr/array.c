/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays: reading and making them without loops over expressions. */
#include "query/expr/node.h"

#include "base/mem.h"

#include <string.h>

static int need_array(const ash_node *n, ash_eval *e, ash_value v, int32_t code)
{
    if (v.type == BSON_TYPE_ARRAY)
        return 0;
    return ash__fail_server(e->err, ASH_EINVAL, code, "%s's argument must be an array, but is %s",
                            n->op->name, ash__type_text(v));
}

static ash_value item_at(ash_eval *e, ash_value array, int64_t index)
{
    uint32_t count;
    ash_value *items = ash__array_items(e->arena, array, &count);
    if (index < 0)
        index += count;
    return index >= 0 && index < count ? items[index] : ASH_VALUE_MISSING;
}

static int eval_elem_at(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_value *v;
    int32_t index;
    int rc = ash__eval_args(n, e, &v);
    if (rc != 0)
        return rc;
    *out = ash__make_null();
    if (ash__nullish(v[0]) || ash__nullish(v[1]))
        return 0;
    if ((rc = need_array(n, e, v[0], ASH_MONGO_LOCATION_ARRAY_ELEM_AT_NOT_ARRAY)) != 0)
        return rc;
    if (!ash__value_is_number(v[1]))
        return ash__fail_server(e->err, ASH_EINVAL,
                                ASH_MONGO_LOCATION_ARRAY_ELEM_AT_INDEX_NOT_NUMBER,
                                "$arrayElemAt's second argument must be a numeric value, but is %s",
                                ash__type_text(v[1]));
    if (!ash__value_as_int32(v[1], &index))
        return ash__fail_server(e->err, ASH_EINVAL,
                                ASH_MONGO_LOCATION_ARRAY_ELEM_AT_INDEX_NOT_INT32,
                                "$arrayElemAt's second argument must be representable as a 32-bit "
                                "integer");
    *out = item_at(e, v[0], index);
    return 0;
}

/* variant: the index, 0 or -1. */
static int eval_end_item(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_value v;
    bool null;
    const char *complaint = n->op->variant == 0 ? "$first's argument must be an array, but is "
                                                : "$last's argument must be an array, but is ";
    int rc =
        ash__eval_array(n, e, ASH_MONGO_LOCATION_ARRAY_ELEM_AT_NOT_ARRAY, complaint, &v, &null);
    *out = ash__make_null();
    if (rc == 0 && !null)
        *out = item_at(e, v, n->op->variant);
    return rc;
}

static int eval_concat_arrays(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_builder b = ASH_BUILDER_INIT;
    ash_value *v;
    uint32_t count = 0;
    bool null = false;
    int rc = ash__eval_args(n, e, &v);
    ash__builder_begin(&b);
    for (uint32_t i = 0; rc == 0 && i < n->count; i++) {
        if (ash__nullish(v[i])) {
            null = true;
            continue;
        }
        if (v[i].type != BSON_TYPE_ARRAY) {
            rc = ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_LOCATION_CONCAT_ARRAYS_NOT_ARRAY,
                                  "$concatArrays only supports arrays, not %s",
                                  ash__type_text(v[i]));
            break;
        }
        for (ash_doc_iter it = ash__doc_iter(ash__value_doc(v[i])); ash__doc_iter_next(&it);)
            ash__builder_item(&b, count++, it.value);
        rc = ash__check_size(e, b.buf.len);
    }
    if (rc == 0 && !null)
        return ash__make_array(e, &b, out);
    ash__builder_release(&b);
    *out = ash__make_null();
    return rc;
}

static int eval_in(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_value *v;
    int rc = ash__eval_args(n, e, &v);
    if (rc != 0)
        return rc;
    if (v[1].type != BSON_TYPE_ARRAY)
        return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_LOCATION_IN_NOT_ARRAY,
                                "$in requires an array as a second argument, found: %s",
                                ash__type_text(v[1]));
    *out = ash__make_bool(false);
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(v[1])); ash__doc_iter_next(&it);) {
        if (ash__value_equal(it.value, v[0], &e->env->collation)) {
            *out = ash__make_bool(true);
            break;
        }
    }
    return 0;
}

static int eval_index_of(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_value *v;
    int32_t bound[2] = {0, INT32_MAX};
    uint32_t count;
    int rc = ash__eval_args(n, e, &v);
    if (rc != 0)
        return rc;
    *out = ash__make_null();
    if (ash__nullish(v[0]))
        return 0;
    if ((rc = need_array(n, e, v[0], ASH_MONGO_LOCATION_INDEX_OF_ARRAY_NOT_ARRAY)) != 0)
        return rc;
    for (uint32_t i = 2; i < n->count; i++) {
        if (!ash__value_as_int32(v[i], &bound[i - 2]))
            return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_LOCATION_INDEX_OF_BOUND_NOT_INT32,
                                    "$indexOfArray requires an integral index, found: %s",
                                    ash__type_text(v[i]));
        if (bound[i - 2] < 0)
            return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_LOCATION_INDEX_OF_BOUND_NEGATIVE,
                                    "$indexOfArray requires a nonnegative index");
    }
    ash_value *items = ash__array_items(e->arena, v[0], &count);
    int32_t found = -1;
    for (int64_t i = bound[0]; found < 0 && i < count && i < bound[1]; i++) {
        if (ash__value_equal(items[i], v[1], &e->env->collation))
            found = (int32_t)i;
    }
    *out = ash__make_int32(e->arena, found);
    return 0;
}

static int eval_is_array(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_value v;
    int rc = ash__eval_arg(n, 0, e, &v);
    *out = ash__make_bool(v.type == BSON_TYPE_ARRAY);
    return rc;
}

static int eval_size(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_value v;
    int rc = ash__eval_arg(n, 0, e, &v);
    if (rc != 0)
        return rc;
    if (v.type != BSON_TYPE_ARRAY)
        return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_LOCATION_SIZE_NOT_ARRAY,
                                "The argument to $size must be an array, but was of type: %s",
                                ash__type_text(v));
    *out = ash__make_int32(e->arena, (int32_t)ash__doc_count(ash__value_doc(v)));
    return 0;
}

/* Position and count as $slice gives them become a half-open range. */
static void slice_range(const int32_t arg[2], bool has_position, uint32_t count, uint32_t *from,
                        uint32_t *to)
{
    int64_t start = 0;
    int64_t len = has_position ? arg[1] : arg[0];
    if (has_position) {
        start = arg[0] < 0 ? (int64_t)count + arg[0] : arg[0];
        /* Positions outside of the array are its ends. */
        start = start < 0 ? 0 : start > count ? count : start;
    } else if (len < 0) {
        start = (int64_t)count + len < 0 ? 0 : (int64_t)count + len;
        len = -len;
    }
    *from = (uint32_t)start;
    *to = start + len > count ? count : (uint32_t)(start + len);
}

static int eval_slice(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_value *v;
    int32_t arg[2] = {0, 0};
    uint32_t count, from, to;
    int rc = ash__eval_args(n, e, &v);
    if (rc != 0)
        return rc;
    *out = ash__make_null();
    for (uint32_t i = 0; i < n->count; i++) {
        if (ash__nullish(v[i]))
            return 0;
    }
    if ((rc = need_array(n, e, v[0], ASH_MONGO_LOCATION_SLICE_FIRST_ILLEGAL)) != 0)
        return rc;
    for (uint32_t i = 1; i < n->count; i++) {
        if (!ash__value_as_int32(v[i], &arg[i - 1]))
            return ash__fail_server(e->err, ASH_EINVAL,
                                    i == 1 ? ASH_MONGO_LOCATION_SLICE_SECOND_NOT_INT32
                                           : ASH_MONGO_LOCATION_SLICE_THIRD_NOT_INT32,
                                    "Argument %u to $slice must be a 32-bit whole number, but is "
                                    "of type: %s",
                                    i + 1, ash__type_text(v[i]));
    }
    if (n->count == 3 && arg[1] <= 0)
        return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_LOCATION_SLICE_THIRD_NOT_POSITIVE,
                                "Third argument to $slice must be positive: %d", arg[1]);
    ash_value *items = ash__array_items(e->arena, v[0], &count);
    slice_range(arg, n->count == 3, count, &from, &to);
    return ash__array_of(e, items + from, to - from, out);
}

static int eval_range(const ash_node *n, ash_eval *e, ash_value *out)
{
    static const char *const names[] = {"starting", "ending", "step"};
    static const int32_t not_number[] = {ASH_MONGO_LOCATION_RANGE_START_NOT_NUMBER,
                                         ASH_MONGO_LOCATION_RANGE_END_NOT_NUMBER,
                                         ASH_MONGO_LOCATION_RANGE_STEP_NOT_NUMBER};
    static const int32_t not_int32[] = {ASH_MONGO_LOCATION_RANGE_START_NOT_INT32,
                                        ASH_MONGO_LOCATION_RANGE_END_NOT_INT32,
                                        ASH_MONGO_LOCATION_RANGE_STEP_NOT_INT32};
    ash_value *v;
    int32_t arg[3] = {0, 0, 1};
    uint32_t count = 0;
    int rc = ash__eval_args(n, e, &v);
    if (rc != 0)
        return rc;
    for (uint32_t i = 0; i < n->count; i++) {
        if (!ash__value_is_number(v[i]))
            return ash__fail_server(e->err, ASH_EINVAL, not_number[i],
                                    "$range requires a numeric %s value, found value of type: %s",
                                    names[i], ash__type_text(v[i]));
        if (!ash__value_as_int32(v[i], &arg[i]))
            return ash__fail_server(e->err, ASH_EINVAL, not_int32[i],
                                    "$range requires a %s value that can be represented as a "
                                    "32-bit integer",
                                    names[i]);
    }
    if (arg[2] == 0)
        return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_LOCATION_RANGE_STEP_ZERO,
                                "$range requires a non-zero step value");
    ash_builder b = ASH_BUILDER_INIT;
    ash__builder_begin(&b);
    /* In 64 bits, so that a step beyond the ends of an int32 ends the loop. */
    for (int64_t i = arg[0]; rc == 0 && (arg[2] > 0 ? i < arg[1] : i > arg[1]); i += arg[2]) {
        ash_value_box box;
        ash__builder_item(&b, count++, ash__box_int32(&box, (int32_t)i));
        rc = ash__check_size(e, b.buf.len);
    }
    if (rc == 0)
        return ash__make_array(e, &b, out);
    ash__builder_release(&b);
    return rc;
}

static int eval_reverse(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_value v;
    uint32_t count;
    bool null;
    int rc = ash__eval_array(
        n, e, ASH_MONGO_LOCATION_REVERSE_ARRAY_NOT_ARRAY,
        "The argument to $reverseArray must be an array, but was of type: ", &v, &null);
    *out = ash__make_null();
    if (rc != 0 || null)
        return rc;
    ash_value *items = ash__array_items(e->arena, v, &count);
    for (uint32_t i = 0; i < count / 2; i++) {
        ash_value swap = items[i];
        items[i] = items[count - 1 - i];
        items[count - 1 - i] = swap;
    }
    return ash__array_of(e, items, count, out);
}

static const ash_op_param zip_params[] = {{"inputs", ASH_MONGO_LOCATION_ZIP_WITHOUT_INPUTS},
                                          {"useLongestLength", 0},
                                          {"defaults", 0},
                                          {NULL}};

/* What $zip was given: arrays, and what stands for the items that the shorter ones lack. */
struct zip {
    ash_value *rows;
    uint32_t row_count;
    ash_value *defaults; /* one a row, or none at all */
    uint32_t default_count;
    bool longest;
};

static int zip_arrays(ash_eval *e, const struct zip *z, ash_value *out)
{
    ash_value **items = ash__arena_alloc(e->arena, z->row_count * sizeof *items);
    uint32_t *counts = ash__arena_alloc(e->arena, z->row_count * sizeof *counts);
    ash_value *tuple = ash__arena_alloc(e->arena, z->row_count * sizeof *tuple);
    uint32_t len = z->longest ? 0 : UINT32_MAX;
    for (uint32_t i = 0; i < z->row_count; i++) {
        items[i] = ash__array_items(e->arena, z->rows[i], &counts[i]);
        /* The greatest of them, or else the least. */
        len = z->longest == (counts[i] > len) ? counts[i] : len;
    }
    ash_value *tuples = ash__arena_alloc(e->arena, len * sizeof *tuples);
    /* Looked at while it grows: rows that are the same array make many times their own bytes. */
    size_t bytes = 0;
    for (uint32_t k = 0; k < len; k++) {
        for (uint32_t i = 0; i < z->row_count; i++)
            tuple[i] = k < counts[i]          ? items[i][k]
                       : i < z->default_count ? z->defaults[i]
                                              : ash__make_null();
        int rc = ash__array_of(e, tuple, z->row_count, &tuples[k]);
        if (rc == 0)
            rc = ash__check_size(e, bytes += tuples[k].len);
        if (rc != 0)
            return rc;
    }
    return ash__array_of(e, tuples, len, out);
}

static int eval_zip(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_value *v;
    struct zip z = {.rows = NULL};
    int rc = ash__eval_args(n, e, &v);
    if (rc != 0)
        return rc;
    *out = ash__make_null();
    if (ash__nullish(v[0]))
        return 0;
    if (v[0].type != BSON_TYPE_ARRAY)
        return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_LOCATION_ZIP_INPUTS_NOT_ARRAY,
                                "inputs must be an array of expressions, found %s",
                                ash__type_text(v[0]));
    z.rows = ash__array_items(e->arena, v[0], &z.row_count);
    if (z.row_count == 0)
        return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_LOCATION_ZIP_WITHOUT_INPUTS,
                                "$zip requires at least one input array");
    for (uint32_t i = 0; i < z.row_count; i++) {
        if (ash__nullish(z.rows[i]))
            return 0;
        if (z.rows[i].type != BSON_TYPE_ARRAY)
            return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_LOCATION_ZIP_INPUT_NOT_ARRAY,
                                    "$zip found a non-array expression in input: %s",
                                    ash__type_text(z.rows[i]));
    }
    z.longest = ash__value_truthy(v[1]);
    if (v[2].type == BSON_TYPE_ARRAY)
        z.defaults = ash__array_items(e->arena, v[2], &z.default_count);
    if (z.default_count > 0 && !z.longest)
        return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_LOCATION_ZIP_DEFAULTS_WITHOUT_LONGEST,
                                "cannot specify defaults unless useLongestLength is true");
    if (z.default_count > 0 && z.default_count != z.row_count)
        return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_LOCATION_ZIP_DEFAULTS_WRONG_LENGTH,
                                "defaults and inputs must have the same length");
    return zip_arrays(e, &z, out);
}

const ash_expr_op ash__expr_array_ops[] = {
    {"$arrayElemAt", 2, 2, eval_elem_at},
    {"$first", 1, 1, eval_end_item, 0},
    {"$last", 1, 1, eval_end_item, -1},
    {"$concatArrays", 0, -1, eval_concat_arrays},
    {"$in", 2, 2, eval_in},
    {"$indexOfArray", 2, 4, eval_index_of},
    {"$isArray", 1, 1, eval_is_array},
    {"$size", 1, 1, eval_size},
    {"$slice", 2, 3, eval_slice},
    {"$range", 2, 3, eval_range},
    {"$reverseArray", 1, 1, eval_reverse},
    {"$zip", 0, 0, eval_zip, 0, zip_params, ASH_MONGO_LOCATION_ZIP_NOT_OBJECT,
     ASH_MONGO_LOCATION_ZIP_UNKNOWN_ARGUMENT},
    {NULL},
};
