/* SPDX-License-Identifier: Apache-2.0 */
/* $convert and the $to… operators. */
#include "query/expr/node.h"

#include "base/hash.h"
#include "bson/number.h"
#include "query/kit/calendar.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void double_text(double d, char *buf, size_t size_bytes)
{
    if (isnan(d)) {
        snprintf(buf, size_bytes, "NaN");
    } else if (isinf(d)) {
        snprintf(buf, size_bytes, d < 0 ? "-Infinity" : "Infinity");
    } else {
        /* The shortest that is read back as the same number; 17 digits always are. */
        for (int precision = 15; precision <= 17; precision++) {
            snprintf(buf, size_bytes, "%.*g", precision, d);
            if (strtod(buf, NULL) == d)
                break;
        }
    }
}

static bool decimal_text(ash_value v, char *buf, size_t size_bytes)
{
    bson_decimal128_t d;
    char text[BSON_DECIMAL128_STRING];
    memcpy(&d.low, v.data, 8);
    memcpy(&d.high, v.data + 8, 8);
    d.low = BSON_UINT64_FROM_LE(d.low);
    d.high = BSON_UINT64_FROM_LE(d.high);
    bson_decimal128_to_string(&d, text);
    snprintf(buf, size_bytes, "%s", text);
    return true;
}

bool ash__scalar_text(ash_value v, char *buf, size_t size_bytes)
{
    switch (v.type) {
    case BSON_TYPE_INT32:
        snprintf(buf, size_bytes, "%" PRId32, ash__value_int32(v));
        return true;
    case BSON_TYPE_INT64:
        snprintf(buf, size_bytes, "%" PRId64, ash__value_int64(v));
        return true;
    case BSON_TYPE_DOUBLE:
        double_text(ash__value_double(v), buf, size_bytes);
        return true;
    case BSON_TYPE_DECIMAL128:
        return decimal_text(v, buf, size_bytes);
    case BSON_TYPE_DATE_TIME:
        ash__date_text(ash__value_int64(v), buf, size_bytes);
        return true;
    case BSON_TYPE_TIMESTAMP: {
        uint64_t t = (uint64_t)ash__value_int64(v);
        snprintf(buf, size_bytes, "Timestamp(%u, %u)", (unsigned)(t >> 32), (unsigned)t);
        return true;
    }
    default:
        return false;
    }
}

static int unsupported(ash_eval *e, ash_value v, int type)
{
    return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_CONVERSION_FAILURE,
                            "Unsupported conversion from %s to %s in $convert with no onError "
                            "value",
                            ash__type_text(v), ash__type_name((uint8_t)type));
}

static int bad_text(ash_eval *e, const char *what, const char *text)
{
    return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_CONVERSION_FAILURE,
                            "Failed to parse %s '%.100s' in $convert with no onError value", what,
                            text);
}

static int number_from_string(ash_eval *e, ash_value v, int type, ash_value *out)
{
    uint32_t len;
    char *end = NULL;
    const char *text = ash__value_string(v, &len);
    /* What strtod() takes and the server does not: space in front, hexadecimal. */
    bool starts_well = len > 0 && strlen(text) == len && len < 400 &&
                       strchr("+-.0123456789INin", text[0]) != NULL && strpbrk(text, "xX") == NULL;
    if (!starts_well)
        return bad_text(e, "number", text);
    errno = 0;
    if (type == BSON_TYPE_DOUBLE) {
        *out = ash__make_double(e->arena, strtod(text, &end));
    } else if (type == BSON_TYPE_DECIMAL128) {
        bson_decimal128_t d;
        uint64_t words[2];
        if (!bson_decimal128_from_string(text, &d))
            return bad_text(e, "number", text);
        words[0] = BSON_UINT64_TO_LE(d.low);
        words[1] = BSON_UINT64_TO_LE(d.high);
        *out = (ash_value){BSON_TYPE_DECIMAL128, ash__arena_copy(e->arena, words, 16), 16};
        return 0;
    } else {
        long long n = strtoll(text, &end, 10);
        if (type == BSON_TYPE_INT32 && (n < INT32_MIN || n > INT32_MAX))
            return bad_text(e, "number", text);
        *out = type == BSON_TYPE_INT32 ? ash__make_int32(e->arena, (int32_t)n)
                                       : ash__make_int64(e->arena, n);
    }
    if (end != text + len || errno == ERANGE)
        return bad_text(e, "number", text);
    return 0;
}

static int to_number(ash_eval *e, ash_value v, int type, ash_value *out)
{
    ash_value_box *box = ash__arena_alloc(e->arena, sizeof *box);
    if (ash__is_string(v))
        return number_from_string(e, v, type, out);
    if (v.type == BSON_TYPE_BOOL)
        v = ash__make_int32(e->arena, ash__value_bool(v) ? 1 : 0);
    if (v.type == BSON_TYPE_DATE_TIME && type != BSON_TYPE_INT32)
        v = ash__make_int64(e->arena, ash__value_int64(v));
    if (!ash__value_is_number(v))
        return unsupported(e, v, type);
    int rc = ash__number_convert(v, (uint8_t)type, box, e->err);
    if (rc == 0)
        *out = box->value;
    return rc;
}

/* Timestamps are refused, although other operators print them. */
static int to_string(ash_eval *e, ash_value v, ash_value *out)
{
    char buf[64];
    if (ash__is_string(v)) {
        *out = v;
    } else if (v.type == BSON_TYPE_OID) {
        ash__hex(v.data, 12, buf);
        *out = ash__make_text(e->arena, buf);
    } else if (v.type == BSON_TYPE_BOOL) {
        *out = ash__make_text(e->arena, ash__value_bool(v) ? "true" : "false");
    } else if (v.type != BSON_TYPE_TIMESTAMP && ash__scalar_text(v, buf, sizeof buf)) {
        *out = ash__make_text(e->arena, buf);
    } else {
        return unsupported(e, v, BSON_TYPE_UTF8);
    }
    return 0;
}

static int to_date(ash_eval *e, ash_value v, ash_value *out)
{
    int64_t ms;
    uint32_t len;
    bool has_zone;
    switch (v.type) {
    case BSON_TYPE_DATE_TIME:
        *out = v;
        return 0;
    case BSON_TYPE_UTF8: {
        const char *text = ash__value_string(v, &len);
        if (!ash__date_parse(text, len, &ms, &has_zone))
            return bad_text(e, "date", text);
        break;
    }
    case BSON_TYPE_OID:
        ms = (int64_t)bson_oid_get_time_t(ash__value_oid(v)) * 1000;
        break;
    case BSON_TYPE_TIMESTAMP:
        ms = (int64_t)((uint64_t)ash__value_int64(v) >> 32) * 1000;
        break;
    case BSON_TYPE_INT64:
    case BSON_TYPE_DOUBLE:
    case BSON_TYPE_DECIMAL128: {
        ash_value whole;
        int rc = to_number(e, v, BSON_TYPE_INT64, &whole);
        if (rc != 0)
            return rc;
        ms = ash__value_int64(whole);
        break;
    }
    default:
        return unsupported(e, v, BSON_TYPE_DATE_TIME);
    }
    *out = ash__make_date(e->arena, ms);
    return 0;
}

static int to_oid(ash_eval *e, ash_value v, ash_value *out)
{
    bson_oid_t oid;
    uint32_t len;
    if (v.type == BSON_TYPE_OID) {
        *out = v;
        return 0;
    }
    if (!ash__is_string(v))
        return unsupported(e, v, BSON_TYPE_OID);
    const char *text = ash__value_string(v, &len);
    if (!bson_oid_is_valid(text, len) || len != 24)
        return bad_text(e, "objectId", text);
    bson_oid_init_from_string(&oid, text);
    *out = ash__box_oid(ash__arena_alloc(e->arena, sizeof(ash_value_box)), &oid);
    return 0;
}

static int convert(ash_eval *e, ash_value v, int type, ash_value *out)
{
    switch (type) {
    case BSON_TYPE_DOUBLE:
    case BSON_TYPE_INT32:
    case BSON_TYPE_INT64:
    case BSON_TYPE_DECIMAL128:
        return to_number(e, v, type, out);
    case BSON_TYPE_UTF8:
        return to_string(e, v, out);
    case BSON_TYPE_BOOL:
        *out = ash__make_bool(ash__value_truthy(v));
        return 0;
    case BSON_TYPE_DATE_TIME:
        return to_date(e, v, out);
    case BSON_TYPE_OID:
        return to_oid(e, v, out);
    default:
        return unsupported(e, v, type);
    }
}

static int eval_to(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_value v;
    int rc = ash__eval_arg(n, 0, e, &v);
    if (rc != 0)
        return rc;
    *out = ash__make_null();
    return ash__nullish(v) ? 0 : convert(e, v, n->op->variant, out);
}

static const ash_op_param convert_params[] = {
    {"input", 9}, {"to", 9}, {"onError", 0}, {"onNull", 0}, {NULL}};

static int target_type(ash_eval *e, ash_value to, int *type)
{
    int64_t n;
    uint32_t len;
    bool known = false;
    if (ash__is_string(to)) {
        known = ash__type_from_alias(ash__value_string(to, &len), type);
    } else if (ash__value_is_number(to) && ash__value_as_int64(to, &n)) {
        known = n > 0 && n <= 19;
        *type = (int)n;
    } else {
        return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "$convert's 'to' argument must be a string or number, but is %s",
                                ash__type_text(to));
    }
    if (!known || *type <= 0 || *type > 19)
        return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "Unknown type name in $convert");
    return 0;
}

static int eval_convert(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_value v, to;
    int type = 0;
    int rc = ash__eval_arg(n, 0, e, &v);
    if (rc == 0)
        rc = ash__eval_arg(n, 1, e, &to);
    if (rc != 0)
        return rc;
    *out = ash__make_null();
    if (ash__nullish(v))
        return n->args[3] != NULL ? ash__eval_arg(n, 3, e, out) : 0;
    if (ash__nullish(to))
        return 0;
    rc = target_type(e, to, &type);
    if (rc != 0)
        return rc;
    ash_error refused = ASH_ERROR_INIT;
    ash_eval attempt = *e;
    attempt.err = &refused; /* with onError it is no failure of the expression */
    rc = convert(&attempt, v, type, out);
    /* Only what the value is to blame for: onError must not catch that time or memory is used
     * up. */
    if (rc == ASH_EINVAL && n->args[2] != NULL)
        return ash__eval_arg(n, 2, e, out);
    if (rc != 0 && e->err != NULL)
        *e->err = refused;
    return rc;
}

const ash_expr_op ash__expr_convert_ops[] = {
    {"$toString", 1, 1, eval_to, BSON_TYPE_UTF8},
    {"$toInt", 1, 1, eval_to, BSON_TYPE_INT32},
    {"$toLong", 1, 1, eval_to, BSON_TYPE_INT64},
    {"$toDouble", 1, 1, eval_to, BSON_TYPE_DOUBLE},
    {"$toDecimal", 1, 1, eval_to, BSON_TYPE_DECIMAL128},
    {"$toBool", 1, 1, eval_to, BSON_TYPE_BOOL},
    {"$toDate", 1, 1, eval_to, BSON_TYPE_DATE_TIME},
    {"$toObjectId", 1, 1, eval_to, BSON_TYPE_OID},
    {"$convert", 0, 0, eval_convert, 0, convert_params, 9, 9},
    {NULL},
};
