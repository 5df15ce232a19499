/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "base/mem.h"
#include "bson/keycode.h"
#include "samples.h"

#include <string.h>

static int32_t parse(const char *json, ash_collation *out, bool *is_simple)
{
    ash_error err = ASH_ERROR_INIT;
    bson_t *spec = sample_json(json);
    int rc = ash__collation_parse(spec, out, is_simple, &err);
    bson_destroy(spec);
    if (rc == ASH_EUNSUPPORTED)
        return -1;
    return rc == 0 ? 0 : ash_error_server_code(&err);
}

static void test_bson_collation__parse(void **state)
{
    (void)state;
    ash_collation c;
    bool is_simple;
    assert_int_equal(parse("{'locale': 'en', 'strength': 2}", &c, &is_simple), 0);
    assert_true(!is_simple && c.ignore_case && !c.ignore_diacritics);
    assert_int_equal(
        parse("{'locale': 'de_AT', 'strength': 1, 'caseLevel': false}", &c, &is_simple), 0);
    assert_true(!is_simple && c.ignore_case && c.ignore_diacritics);
    assert_int_equal(parse("{'locale': 'simple'}", &c, &is_simple), 0);
    assert_true(is_simple && ash__collation_is_simple(&c));
    assert_int_equal(parse("{}", &c, &is_simple), 0);
    assert_true(is_simple);
    assert_int_equal(ash__collation_parse(NULL, &c, &is_simple, NULL), 0);
    assert_true(is_simple);
}

static void test_bson_collation__refusals(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        int32_t code; /* -1: unsupported */
    } cases[] = {
        {"{'locale': 'en'}", -1},
        {"{'locale': 'en', 'strength': 4}", -1},
        {"{'locale': 'en', 'strength': 2, 'numericOrdering': true}", -1},
        {"{'locale': 'en', 'strength': 2, 'alternate': 'shifted'}", -1},
        {"{'locale': 'en', 'strength': 1, 'caseLevel': true}", -1},
        {"{'locale': 'tr', 'strength': 2}", -1},
        {"{'locale': 'de@collation=phonebook', 'strength': 2}", -1},
        {"{'locale': 'e', 'strength': 2}", 2},
        {"{'locale': 'EN', 'strength': 2}", 2},
        {"{'locale': 'en', 'strength': 0}", 2},
        {"{'locale': 'en', 'strength': 6}", 2},
        {"{'locale': 'en', 'strength': 'a'}", 14},
        {"{'locale': 5}", 14},
        {"{'strength': 2}", 40414},
        {"{'locale': 'en', 'strenth': 2}", 40415},
    };
    ash_collation c;
    bool is_simple;
    for (size_t i = 0; i < ASH_ARRAY_LEN(cases); i++) {
        int32_t code = parse(cases[i].json, &c, &is_simple);
        if (code != cases[i].code)
            fail_msg("%s: %d", cases[i].json, code);
    }
}

static void test_bson_collation__keys_and_hashes(void **state)
{
    (void)state;
    const ash_collation c = {.ignore_case = true, .ignore_diacritics = true};
    bson_t *a = sample_json("{'v': {'a': ['ÉTÉ', 'x']}}");
    bson_t *b = sample_json("{'v': {'a': ['ete', 'X']}}");
    ash_buffer x = ASH_BUFFER_INIT;
    ash_buffer y = ASH_BUFFER_INIT;
    ash__keycode_append(&x, sample_v(a), false, &c);
    ash__keycode_append(&y, sample_v(b), false, &c);
    assert_int_equal(x.len, y.len);
    assert_memory_equal(x.data, y.data, x.len);
    assert_true(ash__value_hash(sample_v(a), &c) == ash__value_hash(sample_v(b), &c));
    assert_true(ash__value_hash(sample_v(a), NULL) != ash__value_hash(sample_v(b), NULL));
    ash__buffer_release(&x);
    ash__buffer_release(&y);
    bson_destroy(a);
    bson_destroy(b);
}

static void test_bson_collation__long_runs_of_marks(void **state)
{
    (void)state;
    const ash_collation c = {.ignore_case = true};
    char text[2 * 100 + 2] = "e";
    for (int i = 0; i < 100; i++)
        memcpy(text + 1 + 2 * i, i % 2 ? "\u0323" : "\u0301", 2);
    ash_buffer out = ASH_BUFFER_INIT;
    ash__collation_fold(&c, text, 201, &out);
    assert_int_equal(out.len, 201);
    assert_memory_equal(out.data, "e\u0323\u0323", 5);
    ash__buffer_clear(&out);
    ash__collation_fold(&c, "A\0\xc3Z\xff\xe9", 6, &out);
    assert_int_equal(out.len, 6);
    assert_memory_equal(out.data, "a\0\xc3z\xff\xe9", 6);
    ash__buffer_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bson_collation__parse),
        cmocka_unit_test(test_bson_collation__refusals),
        cmocka_unit_test(test_bson_collation__keys_and_hashes),
        cmocka_unit_test(test_bson_collation__long_runs_of_marks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
