/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "http/json.h"

#include "base/mem.h"

#include <bson/bson.h>
#include <string.h>

static void expect(ash_buffer *out, const char *text)
{
    assert_string_equal(ash__buffer_text(out), text);
    ash__buffer_release(out);
}

static void expect_quoted(const char *text, const char *json)
{
    ash_buffer out = ASH_BUFFER_INIT;
    ash__json_string(&out, text);
    expect(&out, json);
}

static void test_strings(void **state)
{
    (void)state;
    expect_quoted("", "\"\"");
    expect_quoted("a \"b\" \\ /", "\"a \\\"b\\\" \\\\ /\"");
    expect_quoted("\b\t\n\f\r\x01\x1f\x7f",
                  "\"\\u0008\\u0009\\u000a\\u000c\\u000d\\u0001\\u001f\\u007f\"");
    expect_quoted("\xc3\xbc \xe2\x82\xac \xf0\x9f\x98\x80",
                  "\"\xc3\xbc \xe2\x82\xac \xf0\x9f\x98\x80\"");
    /* No UTF-8: a lone byte, one that is cut off, an overlong form, a surrogate. */
    expect_quoted("a\xff"
                  "b\xc3",
                  "\"a\xef\xbf\xbd"
                  "b\xef\xbf\xbd\"");
    expect_quoted("\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\"");
    expect_quoted("\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}

/* Whatever the bytes: a reader finds them as they were, or replaced. */
static void test_any_byte(void **state)
{
    (void)state;
    for (int first = 1; first < 256; first++) {
        const char text[] = {(char)first, 'x', '\0'};
        ash_buffer out = ASH_BUFFER_INIT;
        bson_error_t why = {0};
        bson_iter_t at;
        ash__buffer_append_byte(&out, '{');
        ash__json_add_text(&out, "v", text);
        ash__buffer_append_byte(&out, '}');
        bson_t *doc = bson_new_from_json(out.data, (ssize_t)out.len, &why);
        if (doc == NULL)
            fail_msg("%d: %s", first, why.message);
        assert_true(bson_iter_init_find(&at, doc, "v"));
        assert_string_equal(bson_iter_utf8(&at, NULL), first < 0x80 ? text : "\xef\xbf\xbdx");
        bson_destroy(doc);
        ash__buffer_release(&out);
    }
}

static void test_members(void **state)
{
    (void)state;
    ash_buffer out = ASH_BUFFER_INIT;
    ash__buffer_append_byte(&out, '{');
    ash__json_add_text(&out, "a", "x");
    ash__json_add_text(&out, "b", NULL);
    ash__json_add_int(&out, "c", INT64_MIN);
    ash__json_add_bool(&out, "d", true);
    ash__json_key(&out, "e");
    ash__buffer_append_byte(&out, '[');
    ash__json_comma(&out);
    ash__json_string(&out, "{");
    ash__json_comma(&out);
    ash__json_string(&out, "[");
    ash__buffer_append_byte(&out, ']');
    ash__json_add_bool(&out, "f", false);
    ash__buffer_append_byte(&out, '}');
    expect(&out, "{\"a\":\"x\",\"b\":null,\"c\":-9223372036854775808,\"d\":true,\"e\":[\"{\",\"[\"]"
                 ",\"f\":false}");
}

static void test_times(void **state)
{
    (void)state;
    ash_buffer out = ASH_BUFFER_INIT;
    ash__buffer_append_byte(&out, '{');
    ash__json_add_time(&out, "a", 784111777123);
    ash__json_add_time(&out, "b", 0);
    ash__json_add_time(&out, "c", -1);
    ash__buffer_append_byte(&out, '}');
    expect(&out,
           "{\"a\":\"1994-11-06T08:49:37.123Z\",\"b\":null,\"c\":\"1969-12-31T23:59:59.999Z\"}");
}

static void test_html(void **state)
{
    (void)state;
    ash_buffer out = ASH_BUFFER_INIT;
    ash__html_text(&out, "<a href='x' title=\"y\">&amp; \xc3\xbc</a>\x1b\x7f\n\xff");
    expect(&out, "&lt;a href=&#39;x&#39; title=&quot;y&quot;&gt;&amp;amp; \xc3\xbc&lt;/a&gt;"
                 "\xef\xbf\xbd\xef\xbf\xbd\n\xef\xbf\xbd");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strings), cmocka_unit_test(test_any_byte),
        cmocka_unit_test(test_members), cmocka_unit_test(test_times),
        cmocka_unit_test(test_html),
    };
    return cmocka_run_group_tests_name("http/json", tests, NULL, NULL);
}
