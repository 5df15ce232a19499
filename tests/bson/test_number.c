/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "base/mem.h"
#include "bson/number.h"
#include "samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* "3" int32, "3L" int64, "3.0" double, "3m" Decimal128. */
static ash_value number(ash_value_box *box, const char *text)
{
    char copy[64];
    size_t len = strlen(text);
    strcpy(copy, text);
    char last = copy[len - 1];
    if (last == 'm' || last == 'L')
        copy[len - 1] = 0;
    if (last == 'm')
        return sample_decimal(box, copy);
    if (last == 'L')
        return ash__box_int64(box, strtoll(copy, NULL, 10));
    if (strpbrk(copy, ".enx") != NULL)
        return ash__box_double(box, strtod(copy, NULL));
    return ash__box_int32(box, (int32_t)strtol(copy, NULL, 10));
}

static void check_same(ash_value got, const char *want, const char *what)
{
    ash_value_box box;
    ash_value v = number(&box, want);
    bool both_nan = ash__value_is_nan(got) && ash__value_is_nan(v) && got.type == v.type;
    if (!both_nan && !ash__value_identical(got, v)) {
        double d = 0;
        ash__value_as_double(got, &d);
        fail_msg("%s: %s %.17g, not %s", what, ash__type_name(got.type), d, want);
    }
}

static void check_arith(enum ash_arith op, const char *a, const char *b, const char *want)
{
    ash_value_box x;
    ash_value_box y;
    ash_value_box box;
    ash_error err = ASH_ERROR_INIT;
    assert_ok(ash__number_arith(op, number(&x, a), number(&y, b), true, &box, &err), &err);
    check_same(box.value, want, a);
}

static void check_refused(enum ash_arith op, const char *a, const char *b, int32_t code)
{
    ash_value_box x;
    ash_value_box y;
    ash_value_box box;
    ash_error err = ASH_ERROR_INIT;
    assert_int_equal(ash__number_arith(op, number(&x, a), number(&y, b), false, &box, &err),
                     ASH_EINVAL);
    assert_int_equal(ash_error_server_code(&err), code);
}

static void test_bson_number__add_subtract_multiply(void **state)
{
    (void)state;
    check_arith(ASH_ADD, "1", "2", "3");
    check_arith(ASH_ADD, "2147483647", "1", "2147483648L");
    check_arith(ASH_ADD, "1", "2L", "3L");
    check_arith(ASH_ADD, "1", "2.5", "3.5");
    check_arith(ASH_ADD, "9223372036854775807L", "1", "0x1p63");
    check_arith(ASH_SUBTRACT, "-2147483648", "1", "-2147483649L");
    check_arith(ASH_MULTIPLY, "65536", "65536", "4294967296L");
    check_arith(ASH_MULTIPLY, "3", "-4", "-12");
    check_arith(ASH_MULTIPLY, "4611686018427387904L", "4L", "0x1p64");
    check_arith(ASH_ADD, "0.1m", "0.2m", "0.3m");
    check_arith(ASH_ADD, "1", "0.20m", "1.20m");
    check_arith(ASH_ADD, "0.1e0", "0m", "0.100000000000000m");
    check_arith(ASH_MULTIPLY, "1E6000m", "1E6000m", "Infinitym");
    check_refused(ASH_ADD, "9223372036854775807L", "1", 2);
    check_refused(ASH_SUBTRACT, "-9223372036854775808L", "1", 2);
    check_refused(ASH_MULTIPLY, "4611686018427387904L", "2", 2);
}

static void test_bson_number__divide_and_mod(void **state)
{
    (void)state;
    check_arith(ASH_DIVIDE, "6", "2", "3.0");
    check_arith(ASH_DIVIDE, "1", "3m", "0.3333333333333333333333333333333333m");
    check_arith(ASH_MOD, "7", "3", "1");
    check_arith(ASH_MOD, "-7", "3", "-1");
    check_arith(ASH_MOD, "-7", "3L", "-1L");
    check_arith(ASH_MOD, "7", "3.0", "1");
    check_arith(ASH_MOD, "7", "2.5", "2.0");
    check_arith(ASH_MOD, "7.5", "2", "1.5");
    check_arith(ASH_MOD, "7.5m", "2", "1.5m");
    check_arith(ASH_MOD, "-9223372036854775808L", "-1", "0L");
    check_arith(ASH_MOD, "1E6144m", "7m", "1m");
    check_refused(ASH_DIVIDE, "1", "0", 2);
    check_refused(ASH_DIVIDE, "1", "-0.0", 2);
    check_refused(ASH_MOD, "1", "0E5m", 2);
    ash_value_box box;
    ash_error err = ASH_ERROR_INIT;
    ash_value_box text;
    assert_int_equal(
        ash__number_arith(ASH_ADD, number(&text, "1"), ash__box_null(&box), true, &box, &err),
        ASH_EINVAL);
    assert_int_equal(ash_error_server_code(&err), 14);
}

static int32_t unary(enum ash_unary op, const char *v, const char *want)
{
    ash_value_box x;
    ash_value_box box;
    ash_error err = ASH_ERROR_INIT;
    int rc = ash__number_unary(op, number(&x, v), &box, &err);
    if (rc == 0)
        check_same(box.value, want, v);
    return rc == 0 ? 0 : ash_error_server_code(&err);
}

static void test_bson_number__unary(void **state)
{
    (void)state;
    assert_int_equal(unary(ASH_ABS, "-3", "3"), 0);
    assert_int_equal(unary(ASH_ABS, "-2147483648", "2147483648L"), 0);
    assert_int_equal(unary(ASH_ABS, "-9223372036854775808L", ""), 28680);
    assert_int_equal(unary(ASH_NEGATE, "-9223372036854775808L", "0x1p63"), 0);
    assert_int_equal(unary(ASH_NEGATE, "5L", "-5L"), 0);
    assert_int_equal(unary(ASH_NEGATE, "1.5m", "-1.5m"), 0);
    assert_int_equal(unary(ASH_CEIL, "1.2", "2.0"), 0);
    assert_int_equal(unary(ASH_CEIL, "1.2m", "2m"), 0);
    assert_int_equal(unary(ASH_FLOOR, "-1.2m", "-2m"), 0);
    assert_int_equal(unary(ASH_FLOOR, "7", "7"), 0);
    assert_int_equal(unary(ASH_SQRT, "16", "4.0"), 0);
    assert_int_equal(unary(ASH_SQRT, "2m", "1.414213562373095048801688724209698m"), 0);
    assert_int_equal(unary(ASH_SQRT, "-1", ""), 28714);
    assert_int_equal(unary(ASH_SQRT, "nan", "nan"), 0);
    assert_int_equal(unary(ASH_EXP, "0", "1.0"), 0);
    assert_int_equal(unary(ASH_LN, "1", "0.0"), 0);
    assert_int_equal(unary(ASH_LN, "0", ""), 28766);
    assert_int_equal(unary(ASH_LOG10, "1000.0", "3.0"), 0);
    assert_int_equal(unary(ASH_LOG10, "-1m", ""), 28761);
}

static int32_t rounded(const char *v, int64_t place, bool truncate, const char *want)
{
    ash_value_box x;
    ash_value_box box;
    ash_error err = ASH_ERROR_INIT;
    int rc = ash__number_round(number(&x, v), place, truncate, &box, &err);
    if (rc == 0)
        check_same(box.value, want, v);
    return rc == 0 ? 0 : ash_error_server_code(&err);
}

static void test_bson_number__round(void **state)
{
    (void)state;
    assert_int_equal(rounded("2.5", 0, false, "2.0"), 0);
    assert_int_equal(rounded("3.5", 0, false, "4.0"), 0);
    assert_int_equal(rounded("-2.7", 0, true, "-2.0"), 0);
    assert_int_equal(rounded("1.256", 2, false, "1.26"), 0);
    assert_int_equal(rounded("1.256", 2, true, "1.25"), 0);
    assert_int_equal(rounded("1234.0", -2, false, "1200.0"), 0);
    assert_int_equal(rounded("1e300", 2, false, "1e300"), 0);
    assert_int_equal(rounded("inf", 2, false, "inf"), 0);
    assert_int_equal(rounded("15", -1, false, "20"), 0);
    assert_int_equal(rounded("25", -1, false, "20"), 0);
    assert_int_equal(rounded("25", 3, false, "25"), 0);
    assert_int_equal(rounded("2147483647", -1, false, "2147483650L"), 0);
    assert_int_equal(rounded("9223372036854775807L", -1, false, ""), 51080);
    assert_int_equal(rounded("9223372036854775807L", -20, false, "0L"), 0);
    assert_int_equal(rounded("1.255m", 2, false, "1.26m"), 0);
    assert_int_equal(rounded("1.245m", 2, false, "1.24m"), 0);
    assert_int_equal(rounded("1E40m", 2, false, "1E40m"), 0);
    assert_int_equal(rounded("1", 101, false, ""), 51083);
    assert_int_equal(rounded("1", -21, false, ""), 51083);
}

static int32_t power(const char *a, const char *b, const char *want)
{
    ash_value_box x;
    ash_value_box y;
    ash_value_box box;
    ash_error err = ASH_ERROR_INIT;
    int rc = ash__number_pow(number(&x, a), number(&y, b), &box, &err);
    if (rc == 0)
        check_same(box.value, want, a);
    return rc == 0 ? 0 : ash_error_server_code(&err);
}

static void test_bson_number__power(void **state)
{
    (void)state;
    assert_int_equal(power("2", "10", "1024"), 0);
    assert_int_equal(power("2", "31", "2147483648L"), 0);
    assert_int_equal(power("2", "62L", "4611686018427387904L"), 0);
    assert_int_equal(power("2", "63", "0x1p63"), 0);
    assert_int_equal(power("-2", "63L", "-9223372036854775808L"), 0);
    assert_int_equal(power("2", "-1", "0.5"), 0);
    assert_int_equal(power("-1", "-3", "-1"), 0);
    assert_int_equal(power("-1", "-4", "1"), 0);
    assert_int_equal(power("0", "0", "1"), 0);
    assert_int_equal(power("4", "0.5", "2.0"), 0);
    assert_int_equal(power("0", "-1", ""), 28764);
    assert_int_equal(power("0.0", "-1.5", ""), 28764);
    assert_int_equal(power("2m", "0.5", "1.414213562373095048801688724209698m"), 0);
}

static int32_t convert(const char *v, uint8_t type, const char *want)
{
    ash_value_box x;
    ash_value_box box;
    ash_error err = ASH_ERROR_INIT;
    int rc = ash__number_convert(number(&x, v), type, &box, &err);
    if (rc == 0)
        check_same(box.value, want, v);
    return rc == 0 ? 0 : ash_error_server_code(&err);
}

static void test_bson_number__convert(void **state)
{
    (void)state;
    assert_int_equal(convert("-1.9", BSON_TYPE_INT32, "-1"), 0);
    assert_int_equal(convert("1.9m", BSON_TYPE_INT64, "1L"), 0);
    assert_int_equal(convert("2147483648L", BSON_TYPE_INT32, ""), 241);
    assert_int_equal(convert("2147483647.9", BSON_TYPE_INT32, "2147483647"), 0);
    assert_int_equal(convert("-0x1p63", BSON_TYPE_INT64, "-9223372036854775808L"), 0);
    assert_int_equal(convert("0x1p63", BSON_TYPE_INT64, ""), 241);
    assert_int_equal(convert("nan", BSON_TYPE_INT64, ""), 241);
    assert_int_equal(convert("Infinitym", BSON_TYPE_INT32, ""), 241);
    assert_int_equal(convert("1E400m", BSON_TYPE_DOUBLE, ""), 241);
    assert_int_equal(convert("Infinitym", BSON_TYPE_DOUBLE, "inf"), 0);
    assert_int_equal(convert("7", BSON_TYPE_DECIMAL128, "7m"), 0);
    assert_int_equal(convert("0.1", BSON_TYPE_DECIMAL128, "0.100000000000000m"), 0);
    assert_int_equal(convert("-inf", BSON_TYPE_DECIMAL128, "-Infinitym"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bson_number__add_subtract_multiply),
        cmocka_unit_test(test_bson_number__divide_and_mod),
        cmocka_unit_test(test_bson_number__unary),
        cmocka_unit_test(test_bson_number__round),
        cmocka_unit_test(test_bson_number__power),
        cmocka_unit_test(test_bson_number__convert),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
