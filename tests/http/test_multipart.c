/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "base/mem.h"
#include "http/multipart.h"

#include <stdio.h>
#include <string.h>

static const char type[] = "multipart/form-data; boundary=XyZ";

/* What reading comes to, as text: "[name|file|type]bytes;" for each part, "." for the end, "!" and why
 * for what is none. */
static void read_all(const char *content_type, const char *data, size_t len, size_t step,
                     ash_buffer *out)
{
    ash_multipart m;
    assert_true(ash__multipart_init(&m, content_type));
    int event = ASH_MULTIPART_MORE;
    for (size_t start = 0; start < len && event >= 0 && event != ASH_MULTIPART_END;) {
        size_t left = step < len - start ? step : len - start;
        /* A copy of its own, so that a sanitizer sees whoever reads behind it. */
        char *copy = ash__memdup(data + start, left), *at = copy;
        start += left;
        do {
            size_t used = 0, n = 0;
            const char *piece = NULL;
            event = ash__multipart_next(&m, at, left, &used, &piece, &n);
            at += used;
            left -= used;
            if (event == ASH_MULTIPART_PART)
                ash__buffer_printf(out, "[%s|%s|%s]", m.name != NULL ? m.name : "-",
                                   m.file_name != NULL ? m.file_name : "-",
                                   m.type != NULL ? m.type : "-");
            else if (event == ASH_MULTIPART_DATA)
                ash__buffer_append(out, piece, n);
            else if (event == ASH_MULTIPART_PART_END)
                ash__buffer_append_byte(out, ';');
            else if (event == ASH_MULTIPART_END)
                ash__buffer_append_byte(out, '.');
            else if (event == ASH_MULTIPART_BAD)
                ash__buffer_printf(out, "!%s", m.why);
        } while (event > ASH_MULTIPART_MORE && event != ASH_MULTIPART_END);
        ash__free(copy);
    }
    ash__multipart_release(&m);
}

/* The same, however it comes: whole, and cut in pieces of each size. */
static void expect_of(const char *content_type, const char *data, size_t len, const char *wanted)
{
    for (size_t step = len; step > 0; step--) {
        ash_buffer out = ASH_BUFFER_INIT;
        read_all(content_type, data, len, step, &out);
        if (strcmp(ash__buffer_text(&out), wanted) != 0)
            fail_msg("in pieces of %zu: %s\ninstead of %s", step, ash__buffer_text(&out), wanted);
        ash__buffer_release(&out);
    }
}

static void expect(const char *data, const char *wanted)
{
    expect_of(type, data, strlen(data), wanted);
}

#define HEAD "Content-Disposition: form-data; name=\"f\"; filename=\"a.txt\"\r\n\r\n"

static void test_forms(void **state)
{
    (void)state;
    expect("--XyZ\r\n" HEAD "one\r\n--XyZ--\r\n", "[f|a.txt|-]one;.");
    expect("--XyZ\r\n" HEAD "\r\n--XyZ--", "[f|a.txt|-];.");
    expect(
        "--XyZ\r\n" HEAD "one\r\n--XyZ\r\n"
        "content-type: text/plain\r\ncontent-disposition: FORM-DATA; NAME=g\r\n\r\ntwo\r\n--XyZ--",
        "[f|a.txt|-]one;[g|-|text/plain]two;.");
    /* Before the first and behind the last is nobody's. */
    expect("hello\r\n--XyZ\r\n" HEAD "one\r\n--XyZ--\r\nbye\r\n--XyZ\r\n", "[f|a.txt|-]one;.");
    /* Blanks behind a boundary, and a part that says nothing of itself. */
    expect("--XyZ \t\r\n\r\none\r\n--XyZ--", "[-|-|-]one;.");
    expect("--XyZ--", ".");
}

static void test_what_looks_like_a_boundary(void **state)
{
    (void)state;
    static const char *const contents[] = {
        "\r",       "\n",      "\r\n",          "\r\n-",      "\r\n--",       "\r\n--X",
        "\r\n--Xy", "--XyZ",   "\r\n--XyA\r\n", "\r\r\n--Xy", "\r\n\r\n--Xy", "\r\n-\r\n--XyzXyZ",
        "-",        "\n--XyZ", "\r--XyZ",       "\r\n --XyZ", "\r\n--xYz--",  "\r\n--\r\n--Xy\r"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(contents); i++) {
        char *data = ash__sprintf("--XyZ\r\n" HEAD "%s\r\n--XyZ--", contents[i]);
        char *wanted = ash__sprintf("[f|a.txt|-]%s;.", contents[i]);
        expect(data, wanted);
        ash__free(data);
        ash__free(wanted);
    }
}

static void test_bytes_of_all_kinds(void **state)
{
    (void)state;
    char data[700], wanted[600];
    size_t len = (size_t)snprintf(data, sizeof data, "--XyZ\r\n" HEAD), n = 0;
    n = (size_t)snprintf(wanted, sizeof wanted, "[f|a.txt|-]");
    for (int i = 0; i < 256; i++)
        data[len++] = wanted[n++] = (char)i;
    len += (size_t)snprintf(data + len, sizeof data - len, "\r\n--XyZ--");
    wanted[n++] = ';';
    wanted[n++] = '.';
    for (size_t step = 1; step <= len; step++) {
        ash_buffer out = ASH_BUFFER_INIT;
        read_all(type, data, len, step, &out);
        assert_int_equal(out.len, n);
        assert_memory_equal(out.data, wanted, n);
        ash__buffer_release(&out);
    }
}

static void test_names(void **state)
{
    (void)state;
    static const struct {
        const char *field, *wanted;
    } names[] = {
        {"name=\"f\"; filename=\"a b.txt\"", "[f|a b.txt|-]"},
        {"name=f; filename=a.txt", "[f|a.txt|-]"},
        {"filename=\"\"; name=\"\"", "[||-]"},
        {"name=\"f\"; filename=\"say %22hi%22.txt\"", "[f|say \"hi\".txt|-]"},
        {"name=\"f\"; filename=\"say \\\"hi\\\".txt\"", "[f|say \"hi\".txt|-]"},
        {"name=\"f\"; filename=\"C:\\fake\\a.txt\"", "[f|a.txt|-]"},
        {"name=\"f\"; filename=\"../../etc/passwd\"", "[f|passwd|-]"},
        {"name=\"f\"; filename=\"a/\"", "[f||-]"},
        {"name=\"f;x=\\\"y\"; filename=\"a;b\"", "[f;x=\"y|a;b|-]"},
        {"name=\"\xc3\xa4\"; filename=\"\xe2\x82\xac.txt\"", "[\xc3\xa4|\xe2\x82\xac.txt|-]"},
        {"name=\"f\"; filename=\"not closed", "[f|not closed|-]"},
        {"name; filename", "[||-]"},
        {";;;=;name=f", "[f|-|-]"},
    };
    for (size_t i = 0; i < ASH_ARRAY_LEN(names); i++) {
        char *data = ash__sprintf("--XyZ\r\nContent-Disposition: form-data; %s\r\n\r\n\r\n--XyZ--",
                                  names[i].field);
        char *wanted = ash__sprintf("%s;.", names[i].wanted);
        expect(data, wanted);
        ash__free(data);
        ash__free(wanted);
    }
    /* The first of several counts. */
    expect("--XyZ\r\nContent-Disposition: form-data; name=a; name=b\r\n"
           "Content-Disposition: form-data; name=c; filename=d\r\n\r\n\r\n--XyZ--",
           "[a|-|-];.");
}

static void test_boundaries(void **state)
{
    (void)state;
    static const char *const good[] = {"multipart/form-data; boundary=XyZ",
                                       "Multipart/Form-Data;boundary=\"XyZ\"",
                                       "multipart/form-data; charset=utf-8; BOUNDARY=XyZ"};
    static const char *const bad[] = {"",
                                      "multipart/form-data",
                                      "multipart/form-data; boundary",
                                      "multipart/form-data; boundary=",
                                      "multipart/form-data; boundary=\"\"",
                                      "multipart/mixed; boundary=XyZ",
                                      "multipart/form-dataX; boundary=XyZ",
                                      "application/x-www-form-urlencoded; boundary=XyZ",
                                      "multipart/form-data; boundary="
                                      "0123456789012345678901234567890123456789"
                                      "0123456789012345678901234567890"};
    const char *form = "--XyZ\r\n\r\none\r\n--XyZ--";
    ash_multipart m;
    for (size_t i = 0; i < ASH_ARRAY_LEN(good); i++)
        expect_of(good[i], form, strlen(form), "[-|-|-]one;.");
    for (size_t i = 0; i < ASH_ARRAY_LEN(bad); i++) {
        assert_false(ash__multipart_init(&m, bad[i]));
        ash__multipart_release(&m);
    }
    assert_false(ash__multipart_init(&m, NULL));
    ash__multipart_release(&m);
}

static void test_what_is_none(void **state)
{
    (void)state;
    const char *behind = "!a boundary is followed by something else";
    expect("--XyZx\r\n\r\n", behind);
    expect("--XyZ\n\n", behind);
    expect("--XyZ-\r\n", behind);
    expect("--XyZ -\r\n", behind);
    expect("--XyZ\r \n", behind);
    expect("--XyZ\r\nA: \xff\r\n\r\n", "!the head of a part is no text in UTF-8");
    expect_of(type, "--XyZ\r\nA: \0\r\n\r\n", 15, "!the head of a part is no text in UTF-8");
    /* What ends early has no end. */
    expect("--XyZ\r\n" HEAD "one", "[f|a.txt|-]one");
    expect("--XyZ\r\n" HEAD "one\r\n--Xy", "[f|a.txt|-]one");
    expect("--XyZ\r\n" HEAD "one\r\n--XyZ", "[f|a.txt|-]one;");
    expect("--XyZ\r\n" HEAD "one\r\n--XyZ-", "[f|a.txt|-]one;");
    expect("nothing", "");
}

static void test_limits(void **state)
{
    (void)state;
    ash_buffer data = ASH_BUFFER_INIT, out = ASH_BUFFER_INIT;
    ash__buffer_append_text(&data, "--XyZ\r\nA: ");
    for (int i = 0; i < ASH_MULTIPART_MAX_HEAD_BYTES; i++)
        ash__buffer_append_byte(&data, 'x');
    read_all(type, (const char *)data.data, data.len, data.len, &out);
    assert_string_equal(ash__buffer_text(&out), "!the head of a part is too long");
    ash__buffer_clear(&out);
    ash__buffer_clear(&data);
    for (int i = 0; i <= ASH_MULTIPART_MAX_PARTS; i++)
        ash__buffer_append_text(&data, i == 0 ? "--XyZ\r\n\r\n" : "\r\n--XyZ\r\n\r\n");
    read_all(type, (const char *)data.data, data.len, 7, &out);
    assert_non_null(strstr(ash__buffer_text(&out), "!the form has too many parts"));
    ash__buffer_clear(&out);
    ash__buffer_clear(&data);
    ash__buffer_append_text(&data, "--XyZ");
    for (int i = 0; i < 1000; i++)
        ash__buffer_append_byte(&data, ' ');
    read_all(type, (const char *)data.data, data.len, data.len, &out);
    assert_string_equal(ash__buffer_text(&out), "!a boundary is followed by something else");
    ash__buffer_release(&data);
    ash__buffer_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_what_looks_like_a_boundary),
        cmocka_unit_test(test_bytes_of_all_kinds),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_boundaries),
        cmocka_unit_test(test_what_is_none),
        cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests_name("http/multipart", tests, NULL, NULL);
}
