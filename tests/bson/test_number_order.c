/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "base/hash.h"
#include "base/mem.h"
#include "bson/number.h"
#include "samples.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The reference: a finite number as sign, all its decimal digits, and the power of ten of the first
 * one, worked out digit by digit. */
#define MAX_DIGITS 1200

typedef struct expansion {
    int sign; /* 0 for zero */
    int count;
    int exponent;
    uint8_t digits[MAX_DIGITS]; /* most significant first, no zeros at either end */
} expansion;

/* digits: least significant first. */
static int multiply(uint8_t *digits, int count, int factor)
{
    int carry = 0;
    for (int i = 0; i < count; i++) {
        carry += digits[i] * factor;
        digits[i] = (uint8_t)(carry % 10);
        carry /= 10;
    }
    while (carry > 0) {
        assert_true(count < MAX_DIGITS);
        digits[count++] = (uint8_t)(carry % 10);
        carry /= 10;
    }
    return count;
}

static void finish(expansion *x, const uint8_t *low_first, int count, int exponent)
{
    while (count > 0 && low_first[count - 1] == 0)
        count--;
    x->exponent = exponent + count - 1;
    x->count = count;
    for (int i = 0; i < count; i++)
        x->digits[i] = low_first[count - 1 - i];
    while (x->count > 0 && x->digits[x->count - 1] == 0)
        x->count--;
    if (x->count == 0)
        x->sign = 0;
}

static int digits_of(uint64_t n, uint8_t *out)
{
    int count = 0;
    for (; n > 0; n /= 10)
        out[count++] = (uint8_t)(n % 10);
    return count;
}

static void expand_double(double d, expansion *x)
{
    static uint8_t digits[MAX_DIGITS];
    int power;
    uint64_t mantissa = (uint64_t)ldexp(frexp(fabs(d), &power), 53);
    power -= 53;
    int count = digits_of(mantissa, digits);
    for (int i = 0; i < abs(power); i++)
        count = multiply(digits, count, power > 0 ? 2 : 5);
    x->sign = d < 0 ? -1 : 1;
    finish(x, digits, count, power < 0 ? power : 0);
}

static void expand_int64(int64_t n, expansion *x)
{
    uint8_t digits[24];
    int count = digits_of(n < 0 ? 0 - (uint64_t)n : (uint64_t)n, digits);
    x->sign = n < 0 ? -1 : 1;
    finish(x, digits, count, 0);
}

/* From libbson's text, "[-]d.dddE[+-]n" or "[-]ddd.ddd". */
static void expand_decimal(const bson_decimal128_t *d, expansion *x)
{
    char text[BSON_DECIMAL128_STRING];
    uint8_t digits[64];
    int count = 0;
    int behind_point = -1;
    bson_decimal128_to_string(d, text);
    const char *at = text[0] == '-' ? text + 1 : text;
    x->sign = text[0] == '-' ? -1 : 1;
    for (; *at != 0 && *at != 'E'; at++) {
        if (*at == '.')
            behind_point = 0;
        else {
            digits[count++] = (uint8_t)(*at - '0');
            behind_point += behind_point >= 0;
        }
    }
    int exponent = *at == 'E' ? atoi(at + 1) : 0;
    for (int i = 0; i < count / 2; i++) {
        uint8_t swapped = digits[i];
        digits[i] = digits[count - 1 - i];
        digits[count - 1 - i] = swapped;
    }
    finish(x, digits, count, exponent - (behind_point > 0 ? behind_point : 0));
}

static int compare_magnitudes(const expansion *a, const expansion *b)
{
    if (a->exponent != b->exponent)
        return a->exponent < b->exponent ? -1 : 1;
    int shorter = a->count < b->count ? a->count : b->count;
    int order = memcmp(a->digits, b->digits, (size_t)shorter);
    return order != 0 ? (order < 0 ? -1 : 1) : (a->count > b->count) - (a->count < b->count);
}

static int compare_expansions(const expansion *a, const expansion *b)
{
    if (a->sign != b->sign)
        return a->sign < b->sign ? -1 : 1;
    return a->sign == 0 ? 0 : a->sign * compare_magnitudes(a, b);
}

typedef struct number {
    ash_value_box box;
    expansion exact;
    char text[64];
} number;

#define MAX_GROUP 64

typedef struct group {
    number numbers[MAX_GROUP];
    int count;
} group;

static number *add(group *g)
{
    assert_true(g->count < MAX_GROUP);
    return &g->numbers[g->count++];
}

static void add_double(group *g, double d)
{
    number *n = add(g);
    ash__box_double(&n->box, d);
    expand_double(d, &n->exact);
    snprintf(n->text, sizeof n->text, "%a", d);
}

static void add_int64(group *g, int64_t v)
{
    number *n = add(g);
    ash__box_int64(&n->box, v);
    expand_int64(v, &n->exact);
    snprintf(n->text, sizeof n->text, "%lld", (long long)v);
}

static void add_decimal(group *g, const char *text)
{
    number *n = add(g);
    bson_decimal128_t d;
    sample_decimal(&n->box, text);
    assert_true(bson_decimal128_from_string(text, &d));
    expand_decimal(&d, &n->exact);
    snprintf(n->text, sizeof n->text, "%s", text);
}

/* The first 34 digits of an expansion, and the decimals next to that. */
static void add_neighbours(group *g, const expansion *x)
{
    if (x->sign == 0)
        return;
    for (int step = -1; step <= 1; step++) {
        uint8_t digits[35] = {0};
        char text[64];
        int carry = step;
        for (int i = 33; i >= 0; i--) {
            int digit = (i < x->count ? x->digits[i] : 0) + carry;
            carry = digit > 9 ? 1 : digit < 0 ? -1 : 0;
            digits[i] = (uint8_t)(digit - 10 * carry);
        }
        if (carry != 0)
            continue;
        char *at = text;
        if (x->sign < 0)
            *at++ = '-';
        for (int i = 0; i < 34; i++)
            *at++ = (char)('0' + digits[i]);
        snprintf(at, 16, "E%d", x->exponent - 33);
        add_decimal(g, text);
    }
}

static void check_group(const group *g)
{
    for (int i = 0; i < g->count; i++) {
        for (int j = 0; j < g->count; j++) {
            const number *a = &g->numbers[i];
            const number *b = &g->numbers[j];
            int want = compare_expansions(&a->exact, &b->exact);
            int got = sample_sign(ash__number_compare(a->box.value, b->box.value));
            int keys = sample_compare_keys(a->box.value, b->box.value, false, NULL);
            if (got != want || keys != want)
                fail_msg("%s with %s: %d, keys %d, not %d", a->text, b->text, got, keys, want);
        }
    }
}

static void add_around_double(group *g, double d)
{
    const double all[] = {d, nextafter(d, INFINITY), nextafter(d, -INFINITY)};
    for (size_t i = 0; i < ASH_ARRAY_LEN(all); i++) {
        if (!isfinite(all[i]))
            continue;
        add_double(g, all[i]);
        add_neighbours(g, &g->numbers[g->count - 1].exact);
        if (fabs(all[i]) < 0x1p62) {
            add_int64(g, (int64_t)all[i]);
            add_int64(g, (int64_t)all[i] + 1);
            add_int64(g, (int64_t)all[i] - 1);
        }
    }
}

static void test_bson_number_order__around_doubles(void **state)
{
    (void)state;
    static group g;
    const double picks[] = {0.1,    -0.1,      1,       3,       0x1p53,  -0x1p53,   0x1p61,
                            5e-324, -5e-324,   1e-310,  1e22,    1e23,    1e34,      1e-5,
                            0.5,    0x1p-1022, 0x1p113, 0x1p112, 1.7e308, 0x1.8p200, 0.0};
    for (size_t i = 0; i < ASH_ARRAY_LEN(picks); i++) {
        g.count = 0;
        add_around_double(&g, picks[i]);
        check_group(&g);
    }
}

static void test_bson_number_order__random_doubles(void **state)
{
    (void)state;
    static group g;
    uint64_t seed;
    ash__random(&seed, sizeof seed);
    print_message("# seed %llu\n", (unsigned long long)seed);
    uint64_t bits = seed | 1;
    for (int i = 0; i < 600; i++) {
        bits = bits * 6364136223846793005ULL + 1442695040888963407ULL;
        /* Every other one near 1, where the three types meet. */
        uint64_t pattern = bits ^ bits >> 29;
        if (i % 2 == 0)
            pattern = (pattern & 0x800fffffffffffffULL) | (0x3d0 + (pattern >> 52 & 0x7f)) << 52;
        double d;
        memcpy(&d, &pattern, sizeof d);
        if (!isfinite(d))
            continue;
        g.count = 0;
        add_around_double(&g, d);
        check_group(&g);
    }
}

static void test_bson_number_order__hard_cases(void **state)
{
    (void)state;
    static group g;
    const char *decimals[] = {"0",
                              "-0",
                              "0E-6176",
                              "-0E6111",
                              "1.0",
                              "1.00",
                              "1",
                              "0.1",
                              "0.10",
                              "1E400",
                              "-1E400",
                              "9.999999999999999999999999999999999E6144",
                              "1E-6176",
                              "-1E-6176",
                              "9007199254740993",
                              "9007199254740993.0",
                              "9007199254740992.5",
                              "9223372036854775807",
                              "9223372036854775808",
                              "-9223372036854775808",
                              "-9223372036854775809",
                              "9223372036854775807.5",
                              "1797693134862315708145274237317043E275",
                              "1.797693134862315708145274237317044E308",
                              "4.940656458412465441765687928682213E-324",
                              "4.940656458412465441765687928682214E-324"};
    const int64_t integers[] = {0,         1,         -1,        (1LL << 53) + 1, -(1LL << 53) - 1,
                                INT64_MAX, INT64_MIN, 1LL << 53, INT64_MAX - 511, INT64_MAX - 512};
    const double doubles[] = {0.0,   -0.0, 0.1, 1, 0x1p53, 0x1p63, -0x1p63, 1.7976931348623157e308,
                              5e-324};
    g.count = 0;
    for (size_t i = 0; i < ASH_ARRAY_LEN(decimals); i++)
        add_decimal(&g, decimals[i]);
    for (size_t i = 0; i < ASH_ARRAY_LEN(integers); i++)
        add_int64(&g, integers[i]);
    for (size_t i = 0; i < ASH_ARRAY_LEN(doubles); i++)
        add_double(&g, doubles[i]);
    check_group(&g);
}

static void check(ash_value a, ash_value b, int want)
{
    assert_int_equal(sample_sign(ash__number_compare(a, b)), want);
    assert_int_equal(sample_sign(ash__number_compare(b, a)), -want);
    assert_int_equal(sample_compare_keys(a, b, false, NULL), want);
}

static void test_bson_number_order__infinities_and_nan(void **state)
{
    (void)state;
    ash_value_box a;
    ash_value_box b;
    check(ash__box_double(&a, NAN), sample_decimal(&b, "NaN"), 0);
    check(ash__box_double(&a, -NAN), ash__box_double(&b, NAN), 0);
    check(ash__box_double(&a, NAN), ash__box_double(&b, -INFINITY), -1);
    check(ash__box_double(&a, -INFINITY), sample_decimal(&b, "-Infinity"), 0);
    check(ash__box_double(&a, INFINITY), sample_decimal(&b, "Infinity"), 0);
    check(ash__box_double(&a, INFINITY), sample_decimal(&b, "9.9E6144"), 1);
    check(ash__box_double(&a, -INFINITY), sample_decimal(&b, "-9.9E6144"), -1);
    check(ash__box_double(&a, -INFINITY), ash__box_int64(&b, INT64_MIN), -1);
    check(sample_decimal(&a, "NaN"), ash__box_int32(&b, INT32_MIN), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bson_number_order__around_doubles),
        cmocka_unit_test(test_bson_number_order__random_doubles),
        cmocka_unit_test(test_bson_number_order__hard_cases),
        cmocka_unit_test(test_bson_number_order__infinities_and_nan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
