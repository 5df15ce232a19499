/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "bson/builder.h"
#include "samples.h"

#include <string.h>

static void assert_same(const ash_builder *b, const bson_t *want)
{
    ash_doc doc = ash__builder_doc(b);
    assert_int_equal(doc.len, want->len);
    assert_memory_equal(doc.data, bson_get_data(want), want->len);
}

static void copy_doc(ash_builder *b, ash_doc doc);

static void copy_value(ash_builder *b, const ash_doc_iter *it)
{
    if (it->value.type == BSON_TYPE_DOCUMENT)
        ash__builder_begin_doc(b, it->name);
    else if (it->value.type == BSON_TYPE_ARRAY)
        ash__builder_begin_array(b, it->name);
    else {
        ash__builder_value(b, it->name, it->value);
        return;
    }
    copy_doc(b, ash__value_doc(it->value));
    ash__builder_end(b);
}

static void copy_doc(ash_builder *b, ash_doc doc)
{
    for (ash_doc_iter it = ash__doc_iter(doc); ash__doc_iter_next(&it);)
        copy_value(b, &it);
}

static void test_bson_builder__copies_every_type(void **state)
{
    (void)state;
    bson_t *want = sample_all_types();
    ash_builder b = ASH_BUILDER_INIT;
    for (int round = 0; round < 2; round++) { /* begin starts over */
        ash__builder_begin(&b);
        copy_doc(&b, ash__doc_from_bson(want));
        ash__builder_end(&b);
        assert_same(&b, want);
    }
    ash__builder_begin(&b);
    ash_doc doc = ash__doc_from_bson(want);
    for (ash_doc_iter it = ash__doc_iter(doc); ash__doc_iter_next(&it);)
        ash__builder_element(&b, &it);
    ash__builder_end(&b);
    assert_same(&b, want);
    ash__builder_begin(&b);
    ash__builder_elements(&b, doc);
    ash__builder_end(&b);
    assert_same(&b, want);
    ash__builder_release(&b);
    bson_destroy(want);
}

static void append_ours(ash_builder *b, const bson_oid_t *oid, ash_doc inner)
{
    ash__builder_begin(b);
    ash__builder_int32(b, "a", -1);
    ash__builder_int64(b, "b", INT64_MIN);
    ash__builder_double(b, "c", -0.0);
    ash__builder_bool(b, "d", true);
    ash__builder_null(b, "e");
    ash__builder_date(b, "f", -1);
    ash__builder_timestamp(b, "g", 7ULL << 32 | 8);
    ash__builder_oid(b, "h", oid);
    ash__builder_text(b, "i", "");
    ash__builder_string(b, "j", "x\0y", 3);
    ash__builder_binary(b, "k", 4, "0123456789abcdef", 16);
    ash__builder_doc_value(b, "l", inner);
    ash__builder_array_value(b, "m", inner);
    ash__builder_value(b, "n", ASH_VALUE_MISSING);
    ash__builder_end(b);
}

static void append_theirs(bson_t *t, const bson_oid_t *oid, const bson_t *inner)
{
    BSON_APPEND_INT32(t, "a", -1);
    BSON_APPEND_INT64(t, "b", INT64_MIN);
    BSON_APPEND_DOUBLE(t, "c", -0.0);
    BSON_APPEND_BOOL(t, "d", true);
    BSON_APPEND_NULL(t, "e");
    BSON_APPEND_DATE_TIME(t, "f", -1);
    BSON_APPEND_TIMESTAMP(t, "g", 7, 8);
    BSON_APPEND_OID(t, "h", oid);
    BSON_APPEND_UTF8(t, "i", "");
    bson_append_utf8(t, "j", 1, "x\0y", 3);
    BSON_APPEND_BINARY(t, "k", BSON_SUBTYPE_UUID, (const uint8_t *)"0123456789abcdef", 16);
    BSON_APPEND_DOCUMENT(t, "l", inner);
    BSON_APPEND_ARRAY(t, "m", inner);
}

static void test_bson_builder__writes_as_libbson(void **state)
{
    (void)state;
    bson_oid_t oid;
    bson_oid_init_from_string(&oid, "0123456789abcdef01234567");
    bson_t *inner = BCON_NEW("0", BCON_INT32(1));
    bson_t theirs = BSON_INITIALIZER;
    append_theirs(&theirs, &oid, inner);
    ash_builder b = ASH_BUILDER_INIT;
    append_ours(&b, &oid, ash__doc_from_bson(inner));
    assert_same(&b, &theirs);
    ash__builder_release(&b);
    bson_destroy(&theirs);
    bson_destroy(inner);
}

static void test_bson_builder__array_items(void **state)
{
    (void)state;
    ash_builder b = ASH_BUILDER_INIT;
    ash_value_box box;
    char name[12];
    ash__builder_begin(&b);
    ash__builder_begin_array(&b, "a");
    for (uint32_t i = 0; i < 12; i++)
        ash__builder_item(&b, i, ash__box_int32(&box, (int32_t)i));
    ash__builder_end(&b);
    ash__builder_end(&b);
    ash_value a = ash__doc_get(ash__builder_doc(&b), "a");
    assert_int_equal(ash__value_int32(ash__doc_get(ash__value_doc(a), "11")), 11);
    assert_string_equal(ash__index_name(0, name), "0");
    assert_string_equal(ash__index_name(UINT32_MAX, name), "4294967295");
    ash__builder_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bson_builder__copies_every_type),
        cmocka_unit_test(test_bson_builder__writes_as_libbson),
        cmocka_unit_test(test_bson_builder__array_items),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
