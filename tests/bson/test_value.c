/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "samples.h"

#include <math.h>
#include <string.h>

static void test_bson_value__every_type_reads(void **state)
{
    (void)state;
    bson_t *b = sample_all_types();
    ash_doc doc = ash__doc_from_bson(b);
    uint32_t len;
    uint8_t subtype;
    const char *options;
    assert_true(signbit(ash__value_double(ash__doc_get(doc, "double"))));
    assert_memory_equal(ash__value_string(ash__doc_get(doc, "string"), &len), "a\0b", 4);
    assert_int_equal(len, 3);
    assert_int_equal(ash__doc_count(ash__value_doc(ash__doc_get(doc, "array"))), 2);
    assert_memory_equal(ash__value_binary(ash__doc_get(doc, "binary"), &subtype, &len), "\0\1\2",
                        3);
    assert_int_equal(len, 3);
    assert_int_equal(subtype, 0);
    assert_string_equal(ash__value_regex(ash__doc_get(doc, "regex"), &options), "^a.*b");
    assert_string_equal(options, "im");
    assert_true(ash__value_bool(ash__doc_get(doc, "bool")));
    assert_true(ash__value_int64(ash__doc_get(doc, "date")) == INT64_MIN);
    assert_int_equal(ash__value_int32(ash__doc_get(doc, "int32")), INT32_MIN);
    ash_value scoped = ash__doc_get(doc, "scoped");
    assert_string_equal(ash__value_string(scoped, &len), "return n;");
    assert_int_equal(len, 9);
    assert_int_equal(ash__value_int32(ash__doc_get(ash__value_doc(scoped), "n")), 4);
    assert_int_equal(ash__value_int32(ash__doc_get(doc, "")), 6);
    assert_true(ash__value_is_missing(ash__doc_get(doc, "strin")));
    assert_true(ash__value_is_missing(ash__doc_get(doc, "stringy")));
    assert_int_equal(ash__value_oid(ash__doc_get(doc, "oid"))->bytes[11], 0x67);
    bson_destroy(b);
}

static void test_bson_value__iterates_like_libbson(void **state)
{
    (void)state;
    bson_t *b = sample_all_types();
    bson_iter_t theirs;
    assert_true(bson_iter_init(&theirs, b));
    for (ash_doc_iter it = ash__doc_iter(ash__doc_from_bson(b)); ash__doc_iter_next(&it);) {
        assert_true(bson_iter_next(&theirs));
        assert_string_equal(it.name, bson_iter_key(&theirs));
        ash_value v = ash__value_of_iter(&theirs);
        assert_true(ash__value_identical(v, it.value));
        assert_ptr_equal(v.data, it.value.data);
        bson_t holder;
        ash_doc scratch;
        ash_value copy = ash__value_of_bson_value(bson_iter_value(&theirs), &scratch, &holder);
        assert_true(ash__value_identical(copy, it.value));
        bson_destroy(&holder);
    }
    assert_false(bson_iter_next(&theirs));
    bson_destroy(b);
}

static void test_bson_value__empty_documents(void **state)
{
    (void)state;
    ash_doc nothing = {NULL, 0};
    assert_true(ash__doc_is_empty(ash__doc_empty));
    assert_int_equal(ash__doc_count(ash__doc_empty), 0);
    assert_int_equal(ash__doc_count(nothing), 0);
    assert_true(ash__value_is_missing(ash__doc_get(nothing, "a")));
    assert_int_equal(ash__doc_from_bson(NULL).len, 5);
    bson_t view;
    ash__doc_to_bson(ash__doc_empty, &view);
    assert_true(bson_empty(&view));
}

static void test_bson_value__reads_whole_numbers(void **state)
{
    (void)state;
    ash_value_box box;
    int64_t n;
    assert_true(ash__value_as_int64(ash__box_int32(&box, -3), &n) && n == -3);
    assert_true(ash__value_as_int64(ash__box_double(&box, -0x1p63), &n) && n == INT64_MIN);
    assert_false(ash__value_as_int64(ash__box_double(&box, 0x1p63), &n));
    assert_false(ash__value_as_int64(ash__box_double(&box, 1.5), &n));
    assert_false(ash__value_as_int64(ash__box_double(&box, NAN), &n));
    assert_true(ash__value_as_int64(sample_decimal(&box, "7.00"), &n) && n == 7);
    assert_false(ash__value_as_int64(sample_decimal(&box, "7.01"), &n));
    assert_false(ash__value_as_int64(sample_decimal(&box, "1E19"), &n));
    assert_false(ash__value_as_int64(sample_decimal(&box, "NaN"), &n));
    assert_false(ash__value_as_int64(ash__box_bool(&box, true), &n));
    double d;
    assert_true(ash__value_as_double(sample_decimal(&box, "0.1"), &d) && d == 0.1);
    assert_true(ash__value_as_double(ash__box_int64(&box, INT64_MAX), &d) && d == 0x1p63);
}

static void test_bson_value__truth(void **state)
{
    (void)state;
    ash_value_box box;
    assert_false(ash__value_truthy(ASH_VALUE_MISSING));
    assert_false(ash__value_truthy(ash__box_null(&box)));
    assert_false(ash__value_truthy(ash__box_int32(&box, 0)));
    assert_false(ash__value_truthy(ash__box_int64(&box, 0)));
    assert_false(ash__value_truthy(ash__box_double(&box, -0.0)));
    assert_false(ash__value_truthy(sample_decimal(&box, "-0E10")));
    assert_false(ash__value_truthy(ash__box_bool(&box, false)));
    assert_true(ash__value_truthy(ash__box_double(&box, NAN)));
    assert_true(ash__value_truthy(ash__box_date(&box, 0)));
    assert_true(ash__value_truthy(ash__value_of_doc(ash__doc_empty)));
    assert_true(ash__value_truthy(sample_decimal(&box, "1E-6176")));
    assert_true(ash__value_is_nan(ash__box_double(&box, NAN)));
    assert_true(ash__value_is_nan(sample_decimal(&box, "NaN")));
    assert_false(ash__value_is_nan(sample_decimal(&box, "Infinity")));
}

static void test_bson_value__type_names(void **state)
{
    (void)state;
    int type;
    bson_t *b = sample_all_types();
    for (ash_doc_iter it = ash__doc_iter(ash__doc_from_bson(b)); ash__doc_iter_next(&it);) {
        assert_true(ash__type_from_alias(ash__type_name(it.value.type), &type));
        assert_int_equal(type, it.value.type);
    }
    assert_string_equal(ash__type_name(0), "missing");
    assert_string_equal(ash__type_name(BSON_TYPE_INT64), "long");
    assert_true(ash__type_from_alias("number", &type));
    assert_int_equal(type, ASH_TYPE_ANY_NUMBER);
    assert_false(ash__type_from_alias("missing", &type));
    assert_false(ash__type_from_alias("Object", &type));
    bson_destroy(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bson_value__every_type_reads),
        cmocka_unit_test(test_bson_value__iterates_like_libbson),
        cmocka_unit_test(test_bson_value__empty_documents),
        cmocka_unit_test(test_bson_value__reads_whole_numbers),
        cmocka_unit_test(test_bson_value__truth),
        cmocka_unit_test(test_bson_value__type_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
