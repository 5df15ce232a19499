/* SPDX-License-Identifier: Apache-2.0 */
/* $add $subtract $multiply $divide $mod, and the functions of one number. */
#include "query/expr/node.h"

#include "bson/number.h"

#include <math.h>

static ash_value_box *new_box(ash_eval *e)
{
    return ash__arena_alloc(e->arena, sizeof(ash_value_box));
}

/* What a function of bson/number.h made, if it returned 0. */
static int unbox(const ash_value_box *box, int rc, ash_value *out)
{
    if (rc == 0)
        *out = box->value;
    return rc;
}

static int arith(ash_eval *e, enum ash_arith op, ash_value a, ash_value b, ash_value *out)
{
    ash_value_box *box = new_box(e);
    return unbox(box, ash__number_arith(op, a, b, true, box, e->err), out);
}

/* Milliseconds from a number, rounded to the nearest. */
static bool as_millis(ash_value v, int64_t *out)
{
    double d;
    if (ash__value_as_int64(v, out))
        return true;
    /* Short of 2^63, where llround() has no answer. */
    if (!ash__value_as_double(v, &d) || !(d >= -9.2e18 && d <= 9.2e18))
        return false;
    *out = llround(d);
    return true;
}

static int date_plus(ash_eval *e, int64_t date, ash_value number, bool minus, ash_value *out)
{
    int64_t ms, sum;
    if (!as_millis(number, &ms) || (minus && __builtin_sub_overflow(date, ms, &sum)) ||
        (!minus && __builtin_add_overflow(date, ms, &sum)))
        return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_OVERFLOW, "date overflow in %s",
                                minus ? "$subtract" : "$add");
    *out = ash__make_date(e->arena, sum);
    return 0;
}

static int check_operand(const ash_node *n, ash_eval *e, ash_value v, bool date_allowed)
{
    if (ash__value_is_number(v) || (date_allowed && v.type == BSON_TYPE_DATE_TIME))
        return 0;
    return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_TYPE_MISMATCH,
                            "%s only supports numeric%s types, not %s", n->op->name,
                            date_allowed ? " or date" : "", ash__type_text(v));
}

/* $add and $multiply; variant is the enum ash_arith. */
static int eval_fold(const ash_node *n, ash_eval *e, ash_value *out)
{
    bool is_add = n->op->variant == ASH_ADD;
    ash_value date = ASH_VALUE_MISSING;
    ash_value sum = ash__make_int32(e->arena, is_add ? 0 : 1);
    ash_value *v;
    bool null = false;
    int rc = ash__eval_args(n, e, &v);
    for (uint32_t i = 0; rc == 0 && i < n->count; i++) {
        /* The result is null, but a wrong type behind it is an error all the same. */
        if (ash__nullish(v[i])) {
            null = true;
            continue;
        }
        rc = check_operand(n, e, v[i], is_add);
        if (rc != 0)
            return rc;
        if (v[i].type != BSON_TYPE_DATE_TIME)
            rc = arith(e, (enum ash_arith)n->op->variant, sum, v[i], &sum);
        else if (!ash__value_is_missing(date))
            return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_LOCATION_ADD_TWO_DATES,
                                    "only one date allowed in an $add expression");
        else
            date = v[i];
    }
    if (rc != 0)
        return rc;
    *out = null ? ash__make_null() : sum;
    if (null || ash__value_is_missing(date))
        return 0;
    return date_plus(e, ash__value_int64(date), sum, false, out);
}

static int subtract_dates(ash_eval *e, ash_value a, ash_value b, ash_value *out)
{
    int64_t diff;
    if (b.type != BSON_TYPE_DATE_TIME)
        return date_plus(e, ash__value_int64(a), b, true, out);
    if (__builtin_sub_overflow(ash__value_int64(a), ash__value_int64(b), &diff))
        return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_OVERFLOW,
                                "date overflow in $subtract");
    *out = ash__make_int64(e->arena, diff);
    return 0;
}

static int eval_subtract(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_value *v;
    int rc = ash__eval_args(n, e, &v);
    if (rc != 0)
        return rc;
    *out = ash__make_null();
    if (ash__nullish(v[0]) || ash__nullish(v[1]))
        return 0;
    bool a_date = v[0].type == BSON_TYPE_DATE_TIME;
    bool b_ok = ash__value_is_number(v[1]) || (a_date && v[1].type == BSON_TYPE_DATE_TIME);
    if (!b_ok || !(a_date || ash__value_is_number(v[0])))
        return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_TYPE_MISMATCH,
                                "can't $subtract %s from %s", ash__type_text(v[1]),
                                ash__type_text(v[0]));
    if (a_date)
        return subtract_dates(e, v[0], v[1], out);
    return arith(e, ASH_SUBTRACT, v[0], v[1], out);
}

/* Exact: the least decimals are no zeros, as their doubles would be.  NaN is above all. */
static int compare_to(ash_value v, int32_t n)
{
    ash_value_box box;
    return ash__value_is_nan(v) ? 1 : ash__number_compare(v, ash__box_int32(&box, n));
}

static int eval_divide(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_value *v;
    bool is_mod = n->op->variant == ASH_MOD;
    int rc = ash__eval_args(n, e, &v);
    if (rc != 0)
        return rc;
    *out = ash__make_null();
    if (ash__nullish(v[0]) || ash__nullish(v[1]))
        return 0;
    if (!ash__value_is_number(v[0]) || !ash__value_is_number(v[1]))
        return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_TYPE_MISMATCH,
                                "%s only supports numeric types, not %s and %s", n->op->name,
                                ash__type_text(v[0]), ash__type_text(v[1]));
    /* Here and not in ash__number_arith(), which has one code for both; the server has two. */
    if (compare_to(v[1], 0) == 0)
        return ash__fail_server(e->err, ASH_EINVAL,
                                is_mod ? ASH_MONGO_LOCATION_MOD_BY_ZERO : ASH_MONGO_BAD_VALUE,
                                "can't %s by zero", n->op->name);
    return arith(e, (enum ash_arith)n->op->variant, v[0], v[1], out);
}

static int check_domain(const ash_node *n, ash_eval *e, ash_value v)
{
    double d = 0;
    ash__value_as_double(v, &d);
    switch (n->op->variant) {
    case ASH_ABS:
        if (v.type == BSON_TYPE_INT64 && ash__value_int64(v) == INT64_MIN)
            return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_LOCATION_ABS_OF_LOWEST_INT64,
                                    "can't take $abs of long long min");
        return 0;
    case ASH_SQRT:
        if (compare_to(v, 0) < 0)
            return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_LOCATION_SQRT_OF_NEGATIVE,
                                    "$sqrt's argument must be greater than or equal to 0");
        return 0;
    case ASH_LN:
    case ASH_LOG10:
        if (compare_to(v, 0) <= 0)
            return ash__fail_server(
                e->err, ASH_EINVAL,
                n->op->variant == ASH_LN ? ASH_MONGO_LOCATION_LN_NOT_POSITIVE
                                         : ASH_MONGO_LOCATION_LOG10_NOT_POSITIVE,
                "%s's argument must be a positive number, but is %g", n->op->name, d);
        return 0;
    default:
        return 0;
    }
}

static int eval_unary(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_value v;
    int rc = ash__eval_arg(n, 0, e, &v);
    if (rc != 0)
        return rc;
    *out = ash__make_null();
    if (ash__nullish(v))
        return 0;
    if (!ash__value_is_number(v))
        return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_LOCATION_UNARY_MATH_NOT_NUMBER,
                                "%s only supports numeric types, not %s", n->op->name,
                                ash__type_text(v));
    rc = check_domain(n, e, v);
    if (rc != 0)
        return rc;
    ash_value_box *box = new_box(e);
    return unbox(box, ash__number_unary((enum ash_unary)n->op->variant, v, box, e->err), out);
}

/* variant 1: truncate. */
static int eval_round(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_value v, place_value;
    int64_t place = 0;
    int rc = ash__eval_arg(n, 0, e, &v);
    if (rc == 0)
        rc = ash__eval_arg(n, 1, e, &place_value);
    if (rc != 0)
        return rc;
    *out = ash__make_null();
    if (ash__nullish(v) || (n->count > 1 && ash__nullish(place_value)))
        return 0;
    if (!ash__value_is_number(v))
        return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_LOCATION_ROUND_NOT_NUMBER,
                                "%s only supports numeric types, not %s", n->op->name,
                                ash__type_text(v));
    if (n->count > 1 && !ash__value_as_int64(place_value, &place))
        return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_LOCATION_ROUND_PLACE_NOT_INT64,
                                "precision argument to %s must be an integral value", n->op->name);
    if (place < -20 || place > 100)
        return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_LOCATION_ROUND_PLACE_OUT_OF_RANGE,
                                "cannot apply %s with precision value %lld value must be in "
                                "[-20, 100]",
                                n->op->name, (long long)place);
    ash_value_box *box = new_box(e);
    return unbox(box, ash__number_round(v, place, n->op->variant == 1, box, e->err), out);
}

static int eval_pow(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_value *v;
    int rc = ash__eval_args(n, e, &v);
    if (rc != 0)
        return rc;
    *out = ash__make_null();
    if (ash__nullish(v[0]) || ash__nullish(v[1]))
        return 0;
    for (int i = 0; i < 2; i++) {
        if (!ash__value_is_number(v[i]))
            return ash__fail_server(e->err, ASH_EINVAL,
                                    i == 0 ? ASH_MONGO_LOCATION_POW_BASE_NOT_NUMBER
                                           : ASH_MONGO_LOCATION_POW_EXPONENT_NOT_NUMBER,
                                    "$pow's %s must be numeric, not %s",
                                    i == 0 ? "base" : "exponent", ash__type_text(v[i]));
    }
    if (compare_to(v[0], 0) == 0 && compare_to(v[1], 0) < 0)
        return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_LOCATION_POW_OF_ZERO_NEGATIVE,
                                "$pow cannot take a base of 0 and a negative exponent");
    ash_value_box *box = new_box(e);
    return unbox(box, ash__number_pow(v[0], v[1], box, e->err), out);
}

static int eval_log(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_value *v;
    double d[2] = {0, 0};
    int rc = ash__eval_args(n, e, &v);
    if (rc != 0)
        return rc;
    *out = ash__make_null();
    if (ash__nullish(v[0]) || ash__nullish(v[1]))
        return 0;
    for (int i = 0; i < 2; i++) {
        if (!ash__value_is_number(v[i]))
            return ash__fail_server(e->err, ASH_EINVAL,
                                    i == 0 ? ASH_MONGO_LOCATION_LOG_ARGUMENT_NOT_NUMBER
                                           : ASH_MONGO_LOCATION_LOG_BASE_NOT_NUMBER,
                                    "$log's %s must be numeric, not %s",
                                    i == 0 ? "argument" : "base", ash__type_text(v[i]));
        ash__value_as_double(v[i], &d[i]);
    }
    if (compare_to(v[0], 0) <= 0)
        return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_LOCATION_LOG_ARGUMENT_NOT_POSITIVE,
                                "$log's argument must be a positive number, but is %g", d[0]);
    if (compare_to(v[1], 0) <= 0 || compare_to(v[1], 1) == 0)
        return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_LOCATION_LOG_BASE_ILLEGAL,
                                "$log's base must be a positive number not equal to 1, but is %g",
                                d[1]);
    ash_value_box top, bottom;
    rc = ash__number_unary(ASH_LN, v[0], &top, e->err);
    if (rc == 0)
        rc = ash__number_unary(ASH_LN, v[1], &bottom, e->err);
    return rc != 0 ? rc : arith(e, ASH_DIVIDE, top.value, bottom.value, out);
}

const ash_expr_op ash__expr_arith_ops[] = {
    {"$add", 0, -1, eval_fold, ASH_ADD},
    {"$multiply", 0, -1, eval_fold, ASH_MULTIPLY},
    {"$subtract", 2, 2, eval_subtract},
    {"$divide", 2, 2, eval_divide, ASH_DIVIDE},
    {"$mod", 2, 2, eval_divide, ASH_MOD},
    {"$abs", 1, 1, eval_unary, ASH_ABS},
    {"$ceil", 1, 1, eval_unary, ASH_CEIL},
    {"$floor", 1, 1, eval_unary, ASH_FLOOR},
    {"$sqrt", 1, 1, eval_unary, ASH_SQRT},
    {"$exp", 1, 1, eval_unary, ASH_EXP},
    {"$ln", 1, 1, eval_unary, ASH_LN},
    {"$log10", 1, 1, eval_unary, ASH_LOG10},
    {"$log", 2, 2, eval_log},
    {"$pow", 2, 2, eval_pow},
    {"$round", 1, 2, eval_round, 0},
    {"$trunc", 1, 2, eval_round, 1},
    {NULL},
};
