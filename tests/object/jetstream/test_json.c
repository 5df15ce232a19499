/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "base/mem.h"
#include "object/jetstream/format/json.h"

#include <string.h>

static ash_json *parse(const char *text)
{
    ash_json *value = NULL;
    ash_error err = ASH_ERROR_INIT;
    assert_ok(ash__json_parse(text, strlen(text), &value, &err), &err);
    return value;
}

static void assert_again(const char *text, const char *expected)
{
    ash_buffer out = ASH_BUFFER_INIT;
    ash_json *value = parse(text);
    ash__json_put(&out, value);
    assert_string_equal(ash__buffer_text(&out), expected);
    ash__buffer_release(&out);
    ash__json_free(value);
}

static void test_object_jetstream_json__values(void **state)
{
    (void)state;
    ash_json *value = parse(" {\"a\": 1, \"b\": [true, null, \"x\\u00e9\\n\"], \"n\": -0.5e3,"
                            " \"big\": 18446744073709551615, \"a\": 2} ");
    assert_int_equal(ash__json_int(value, "a", 0), 2);
    assert_int_equal(ash__json_int(value, "n", 7), 7);
    assert_true(ash__json_unsigned(value, "big", 0) == UINT64_MAX);
    assert_int_equal(ash__json_int(value, "big", 7), 7);
    const ash_json *b = ash__json_get(value, "b");
    assert_int_equal(b->type, ASH_JSON_ARRAY);
    assert_true(b->first->truth);
    assert_string_equal(b->last->text, "x\xc3\xa9\n");
    assert_null(ash__json_get(value, "c"));
    assert_string_equal(ash__json_text(value, "a", "no text"), "no text");
    ash__json_free(value);
}

/* As Go writes it. */
static void test_object_jetstream_json__escapes(void **state)
{
    (void)state;
    assert_again("\"<a href=\\\"x\\\">&\\/\"", "\"\\u003ca href=\\\"x\\\"\\u003e\\u0026/\"");
    assert_again("\"\\ud83d\\ude00 \\ud83d \\ude00\"",
                 "\"\xf0\x9f\x98\x80 \xef\xbf\xbd \xef\xbf\xbd\"");
    assert_again("\"\xe2\x80\xa8\\u0001\\b\\f\\n\\r\\t\"", "\"\\u2028\\u0001\\b\\f\\n\\r\\t\"");
    assert_again("\"\xff\xc3\"", "\"\xef\xbf\xbd\xef\xbf\xbd\"");
    assert_again("{\"a\":[],\"b\":{},\"c\":[1,2.50,{}]}", "{\"a\":[],\"b\":{},\"c\":[1,2.50,{}]}");
}

static void test_object_jetstream_json__refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",    "{",  "[1,]",    "{\"a\"}",     "{\"a\":}", "01",  "1.",        "-",
        "nul", "\"", "\"\\x\"", "\"\\u12g4\"", "[1 2]",    "1 2", "\"\n\"",    "{a:1}",
        "[1}", "+1", "1e",      "\"\\u12",     "tru",      "{,}", "{\"a\":1,}"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(bad); i++) {
        ash_json *value = NULL;
        assert_int_equal(ash__json_parse(bad[i], strlen(bad[i]), &value, NULL), ASH_EINVAL);
    }
}

static void test_object_jetstream_json__depth(void **state)
{
    (void)state;
    char text[4 * ASH_JSON_MAX_DEPTH + 1];
    ash_json *value = NULL;
    memset(text, '[', ASH_JSON_MAX_DEPTH);
    memset(text + ASH_JSON_MAX_DEPTH, ']', ASH_JSON_MAX_DEPTH);
    assert_int_equal(ash__json_parse(text, 2 * ASH_JSON_MAX_DEPTH, &value, NULL), 0);
    ash__json_free(value);
    memset(text, '[', 2 * ASH_JSON_MAX_DEPTH);
    assert_int_equal(ash__json_parse(text, 2 * ASH_JSON_MAX_DEPTH, &value, NULL), ASH_EINVAL);
}

static void test_object_jetstream_json__equal(void **state)
{
    (void)state;
    ash_json *a = parse("{\"a\":[1,{\"b\":null}],\"c\":true}");
    ash_json *b = parse("{\"c\":true,\"a\":[1,{\"b\":null}]}");
    ash_json *c = parse("{\"c\":true,\"a\":[1,{\"b\":0}]}");
    assert_true(ash__json_equal(a, b));
    assert_false(ash__json_equal(a, c));
    assert_false(ash__json_equal(a, NULL));
    ash__json_free(a);
    ash__json_free(b);
    ash__json_free(c);
}

/* Whatever is cut off or changed: an error or a value, and nothing beyond the end is looked at. */
static void test_object_jetstream_json__damaged(void **state)
{
    (void)state;
    static const char whole[] = "{\"name\":\"\\u00e9\\ud83d\\ude00\",\"n\":[1,-2.5e1,null,true]}";
    for (size_t len = 0; len < sizeof whole; len++) {
        for (int change = 0; change < 256; change += 17) {
            char *text = ash__memdup(whole, len + 1);
            ash_json *value = NULL;
            text[len / 2] = (char)change;
            char *exact = ash__memdup(text, len == 0 ? 1 : len);
            if (ash__json_parse(exact, len, &value, NULL) == 0)
                ash__json_free(value);
            ash__free(exact);
            ash__free(text);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_object_jetstream_json__values),
        cmocka_unit_test(test_object_jetstream_json__escapes),
        cmocka_unit_test(test_object_jetstream_json__refused),
        cmocka_unit_test(test_object_jetstream_json__depth),
        cmocka_unit_test(test_object_jetstream_json__equal),
        cmocka_unit_test(test_object_jetstream_json__damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
