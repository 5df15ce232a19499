/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "base/mem.h"
#include "samples.h"

#include <string.h>

static int validate(const uint8_t *data, size_t len)
{
    return ash__bson_validate(data, len, ASH_DOC_MAX_DEPTH, NULL);
}

/* Reads everything a validated document says: out of bounds reads show under ASan. */
static size_t read_all(ash_doc doc)
{
    size_t sum = 0;
    for (ash_doc_iter it = ash__doc_iter(doc); ash__doc_iter_next(&it);) {
        assert_true(it.at <= it.end);
        sum += it.name_len;
        for (uint32_t i = 0; i < it.value.len; i++)
            sum += it.value.data[i];
        if (it.value.type == BSON_TYPE_DOCUMENT || it.value.type == BSON_TYPE_ARRAY ||
            it.value.type == BSON_TYPE_CODEWSCOPE)
            sum += read_all(ash__value_doc(it.value));
    }
    return sum;
}

static void test_bson_validate__accepts_all_types(void **state)
{
    (void)state;
    bson_t *b = sample_all_types();
    ash_error err = ASH_ERROR_INIT;
    assert_ok(ash__bson_validate(bson_get_data(b), b->len, ASH_DOC_MAX_DEPTH, &err), &err);
    assert_ok(ash__bson_validate(ash__doc_empty.data, 5, 1, &err), &err);
    bson_destroy(b);
}

static void test_bson_validate__refuses_every_prefix(void **state)
{
    (void)state;
    bson_t *b = sample_all_types();
    for (size_t len = 0; len < b->len; len++) {
        uint8_t *cut = ash__alloc(len + 1);
        memcpy(cut, bson_get_data(b), len);
        assert_int_equal(validate(cut, len), ASH_EINVAL);
        if (len >= 4) { /* with a length that fits what is left */
            memcpy(cut, &(uint32_t){BSON_UINT32_TO_LE((uint32_t)len)}, 4);
            if (validate(cut, len) == 0)
                read_all((ash_doc){cut, len});
        }
        ash__free(cut);
    }
    uint8_t *longer = ash__alloc(b->len + 1);
    memcpy(longer, bson_get_data(b), b->len);
    assert_int_equal(validate(longer, b->len + 1), ASH_EINVAL);
    ash__free(longer);
    bson_destroy(b);
}

static void test_bson_validate__survives_every_changed_byte(void **state)
{
    (void)state;
    bson_t *b = sample_all_types();
    size_t refused = 0;
    for (size_t at = 0; at < b->len; at++) {
        uint8_t *copy = ash__memdup(bson_get_data(b), b->len);
        for (int value = 0; value < 256; value++) {
            copy[at] = (uint8_t)value;
            if (validate(copy, b->len) == 0)
                read_all((ash_doc){copy, b->len});
            else
                refused++;
        }
        ash__free(copy);
    }
    assert_true(refused > (size_t)b->len);
    bson_destroy(b);
}

static void test_bson_validate__depth(void **state)
{
    (void)state;
    ash_error err = ASH_ERROR_INIT;
    bson_t *b = sample_nested(100);
    assert_ok(ash__bson_validate(bson_get_data(b), b->len, 100, &err), &err);
    bson_destroy(b);
    b = sample_nested(101);
    assert_int_equal(ash__bson_validate(bson_get_data(b), b->len, 100, &err), ASH_ETOOBIG);
    assert_int_equal(ash_error_server_code(&err), 15);
    bson_destroy(b);
}

typedef struct bad_case {
    const char *what;
    const char *bytes;
    size_t len;
} bad_case;

#define BAD(what, bytes)                                                                           \
    {                                                                                              \
        what, bytes, sizeof(bytes) - 1                                                             \
    }

static void test_bson_validate__refuses_bad_values(void **state)
{
    (void)state;
    static const bad_case cases[] = {
        BAD("string length 0", "\x0c\0\0\0\x02"
                               "a\0\0\0\0\0\0"),
        BAD("string length -1", "\x0c\0\0\0\x02"
                                "a\0\xff\xff\xff\xff\0"),
        BAD("string without its zero", "\x0e\0\0\0\x02"
                                       "a\0\2\0\0\0bb\0"),
        BAD("boolean 2", "\x09\0\0\0\x08"
                         "a\0\2\0"),
        BAD("binary beyond the end", "\x0e\0\0\0\x05"
                                     "a\0\3\0\0\0\0b\0"),
        BAD("old binary's inner length", "\x12\0\0\0\x05"
                                         "a\0\5\0\0\0\2\2\0\0\0b\0"),
        BAD("type 20", "\x08\0\0\0\x14"
                       "a\0\0"),
        BAD("name without end", "\x07\0\0\0\x0a"
                                "a\0"),
        BAD("subdocument longer than its parent", "\x0d\0\0\0\x03"
                                                  "a\0\6\0\0\0\0\0"),
        BAD("regex without options", "\x0a\0\0\0\x0b"
                                     "a\0b\0\0"),
    };
    for (size_t i = 0; i < ASH_ARRAY_LEN(cases); i++) {
        ash_error err = ASH_ERROR_INIT;
        const uint8_t *data = (const uint8_t *)cases[i].bytes;
        if (i < ASH_ARRAY_LEN(cases) - 1)
            assert_int_equal(cases[i].bytes[0], (int)cases[i].len);
        int rc = ash__bson_validate(data, cases[i].len, 10, &err);
        if (rc != ASH_EINVAL || ash_error_server_code(&err) != 22)
            fail_msg("%s: %d", cases[i].what, rc);
        assert_non_null(strstr(err.text, "at byte"));
    }
}

static void test_bson_validate__refuses_large_documents(void **state)
{
    (void)state;
    ash_error err = ASH_ERROR_INIT;
    size_t len = ASH_DOC_MAX_BYTES + ASH_DOC_SLACK_BYTES + 1;
    assert_int_equal(ash__bson_validate(ash__doc_empty.data, len, 10, &err), ASH_ETOOBIG);
    assert_int_equal(ash_error_server_code(&err), 10334);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bson_validate__accepts_all_types),
        cmocka_unit_test(test_bson_validate__refuses_every_prefix),
        cmocka_unit_test(test_bson_validate__survives_every_changed_byte),
        cmocka_unit_test(test_bson_validate__depth),
        cmocka_unit_test(test_bson_validate__refuses_bad_values),
        cmocka_unit_test(test_bson_validate__refuses_large_documents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
