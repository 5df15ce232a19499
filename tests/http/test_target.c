/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "base/mem.h"
#include "http/target.h"

#include <string.h>

static void test_paths(void **state)
{
    (void)state;
    static const struct {
        const char *text, *path; /* NULL: refused */
        bool is_folder;
    } rows[] = {
        {"/", "/", true},
        {"/a", "/a", false},
        {"/a/", "/a", true},
        {"//a///b//", "/a/b", true},
        {"/a%20b/%C3%A9", "/a b/\xc3\xa9", false},
        {"/a+b", "/a+b", false},
        {"/a?b/c", "/a", false},
        {"http://host:80/a", "/a", false},
        {"HTTPS://host", "/", true},
        {"http:///a", NULL, false},
        {"http://me@host/a", NULL, false},
        {"/a%2Fb", NULL, false},
        {"/a%00b", NULL, false},
        {"/a/../b", NULL, false},
        {"/%2e%2E/b", NULL, false},
        {"/./b", NULL, false},
        {"/.", NULL, false},
        {"/...", "/...", false},
        {"/a%", NULL, false},
        {"/a%4", NULL, false},
        {"/a%4g", NULL, false},
        {"/%ff", NULL, false},
        {"/\xff", NULL, false},
        {"/a#b", NULL, false},
        {"a", NULL, false},
        {"ftp://host/a", NULL, false},
    };
    for (size_t i = 0; i < ASH_ARRAY_LEN(rows); i++) {
        ash_http_target t;
        const char *why = NULL;
        bool good = ash__http_target_parse(rows[i].text, &t, NULL, &why);
        if (good != (rows[i].path != NULL))
            fail_msg("%s: %s", rows[i].text, good ? "taken" : why);
        if (good) {
            assert_string_equal(t.path, rows[i].path);
            assert_int_equal(t.is_folder, rows[i].is_folder);
        } else {
            assert_non_null(why);
        }
        ash__http_target_release(&t);
    }
}

static void test_host_and_star(void **state)
{
    (void)state;
    ash_http_target t;
    const char *why;
    char *host = NULL;
    assert_true(ash__http_target_parse("*", &t, &host, &why));
    assert_null(t.path);
    assert_null(host);
    ash__http_target_release(&t);
    assert_true(ash__http_target_parse("http://me:8080/x?y", &t, &host, &why));
    assert_string_equal(host, "me:8080");
    assert_string_equal(t.query, "y");
    ash__free(host);
    ash__http_target_release(&t);
}

static void test_query(void **state)
{
    (void)state;
    ash_http_target t;
    const char *why;
    char *value;
    assert_true(ash__http_target_parse("/?a=1&b=x+y%26&c&d=0&bad=%zz&aa=2", &t, NULL, &why));
    assert_true(ash__http_target_query(&t, "a", &value));
    assert_string_equal(value, "1");
    ash__free(value);
    assert_true(ash__http_target_query(&t, "b", &value));
    assert_string_equal(value, "x y&");
    ash__free(value);
    assert_true(ash__http_target_query(&t, "aa", &value));
    assert_string_equal(value, "2");
    ash__free(value);
    assert_false(ash__http_target_query(&t, "bad", &value));
    assert_null(value);
    assert_false(ash__http_target_query(&t, "e", &value));
    assert_true(ash__http_target_flag(&t, "c"));
    assert_true(ash__http_target_flag(&t, "a"));
    assert_false(ash__http_target_flag(&t, "d"));
    assert_false(ash__http_target_flag(&t, "e"));
    ash__http_target_release(&t);
}

/* What is encoded is decoded to the same. */
static void test_encode(void **state)
{
    (void)state;
    char path[300] = "/";
    size_t n = 1;
    for (int c = 1; c < 128; c++)
        if (c != '/')
            path[n++] = (char)c;
    strcpy(path + n, "\xc3\xa9/x");
    ash_buffer out = ASH_BUFFER_INIT;
    ash_http_target t;
    const char *why = "";
    ash__http_target_encode(&out, path);
    assert_null(strpbrk(ash__buffer_text(&out), "<>&\"' \r\n?#"));
    assert_true(ash__http_target_parse(ash__buffer_text(&out), &t, NULL, &why));
    assert_string_equal(t.path, path);
    ash__http_target_release(&t);
    ash__buffer_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_host_and_star),
        cmocka_unit_test(test_query),
        cmocka_unit_test(test_encode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
