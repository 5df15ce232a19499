/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "base/buffer.h"
#include "base/mem.h"
#include "bson/path.h"
#include "samples.h"

#include <string.h>

static void describe_value(ash_buffer *out, ash_value v)
{
    if (ash__value_is_missing(v)) {
        ash__buffer_append_text(out, "-");
    } else if (v.type == BSON_TYPE_INT32) {
        ash__buffer_printf(out, "%d", ash__value_int32(v));
    } else if (v.type == BSON_TYPE_ARRAY) {
        ash__buffer_printf(out, "[%u]", ash__doc_count(ash__value_doc(v)));
    } else {
        ash__buffer_printf(out, "{%u}", ash__doc_count(ash__value_doc(v)));
    }
}

/* "value", "value@index" through an array, "*" behind elements of the leaf. */
static bool describe(void *ctx, const ash_path_hit *hit)
{
    ash_buffer *out = ctx;
    if (out->len > 0)
        ash__buffer_append_byte(out, ' ');
    describe_value(out, hit->value);
    if (hit->through_array)
        ash__buffer_printf(out, "@%d", hit->array_index);
    else
        assert_int_equal(hit->array_index, -1);
    if (hit->is_element)
        ash__buffer_append_byte(out, '*');
    return true;
}

static void check_walk(const char *json, const char *path, bool expand, const char *want)
{
    bson_t *b = sample_json(json);
    ash_buffer out = ASH_BUFFER_INIT;
    assert_true(ash__path_walk(ash__doc_from_bson(b), path, expand, describe, &out));
    if (strcmp(ash__buffer_text(&out), want) != 0)
        fail_msg("%s of %s: '%s', not '%s'", path, json, ash__buffer_text(&out), want);
    ash__buffer_release(&out);
    bson_destroy(b);
}

static void test_bson_path__walks_documents(void **state)
{
    (void)state;
    check_walk("{'a': 5}", "a", true, "5");
    check_walk("{'a': 5}", "b", true, "-");
    check_walk("{'a': 5}", "a.b", true, "-");
    check_walk("{'a': {'b': {'c': 3}}}", "a.b.c", true, "3");
    check_walk("{'a': {'b': {'c': 3}}}", "a.b", true, "{1}");
    check_walk("{'a': {'0': 3}}", "a.0", true, "3");
    check_walk("{'a': {'b': 1}, 'a.b': 2}", "a.b", true, "1");
}

static void test_bson_path__walks_arrays(void **state)
{
    (void)state;
    check_walk("{'a': [5, 6]}", "a", true, "5@0* 6@1* [2]");
    check_walk("{'a': [5, 6]}", "a", false, "[2]");
    check_walk("{'a': []}", "a", true, "[0]");
    check_walk("{'a': [[1, 2]]}", "a", true, "[2]@0* [1]");
    check_walk("{'a': [{'b': 5}, 3, {}, {'b': [9, 8]}]}", "a.b", true, "5@0 -@2 9@3* 8@3* [2]@3");
    check_walk("{'a': [{'b': 5}, {'b': [9, 8]}]}", "a.b", false, "5@0 [2]@1");
    check_walk("{'a': []}", "a.b", true, "");
    check_walk("{'a': [4]}", "a.b", true, "");
    check_walk("{'a': [[{'b': 1}]]}", "a.b", true, "");
    check_walk("{'a': [{'b': [{'c': 1}, {'c': 2}]}]}", "a.b.c", true, "1@0 2@0");
}

static void test_bson_path__walks_positions(void **state)
{
    (void)state;
    check_walk("{'a': [5, 7, 3]}", "a.1", true, "7");
    check_walk("{'a': [5, [2, 4], 3]}", "a.1", true, "[2]");
    check_walk("{'a': [5, {'1': 4}, 3]}", "a.1", true, "4@1 {1}");
    check_walk("{'a': [5, {'b': 4}, 3]}", "a.1.b", true, "-@1 4");
    check_walk("{'a': [5, [{'b': 4}], 3]}", "a.1.b", true, "4@0");
    check_walk("{'a': [5, [6, 7]]}", "a.1.0", true, "6");
    check_walk("{'a': [5, 7]}", "a.2", true, "");
    check_walk("{'a': [5, 7]}", "a.01", true, "");
    check_walk("{'a': [5]}", "a.0.b", true, "");
    check_walk("{'a': {'b': [1, 2]}}", "a.b.1", true, "2");
    check_walk("{'a': [{'b': [2, 3]}, {'b': [4, 5]}]}", "a.0.b", true, "-@0 2@0* 3@1* [2] -@1");
}

static bool stop_at_second(void *ctx, const ash_path_hit *hit)
{
    (void)hit;
    return ++*(int *)ctx < 2;
}

static void test_bson_path__visitor_stops(void **state)
{
    (void)state;
    const char *docs[] = {"{'a': [5, 6, 7]}", "{'a': [{'a': 1}, {'a': 2}, {'a': 3}]}"};
    const char *paths[] = {"a", "a.a"};
    for (int i = 0; i < 2; i++) {
        bson_t *b = sample_json(docs[i]);
        int calls = 0;
        assert_false(ash__path_walk(ash__doc_from_bson(b), paths[i], true, stop_at_second, &calls));
        assert_int_equal(calls, 2);
        bson_destroy(b);
    }
}

static void check_get(ash_doc doc, const char *path, int32_t want)
{
    ash_value v = ash__path_get(doc, path);
    if (want < 0)
        assert_true(ash__value_is_missing(v));
    else
        assert_int_equal(ash__value_int32(v), want);
}

static void test_bson_path__plain_get(void **state)
{
    (void)state;
    bson_t *b = sample_json("{'a': {'b': [1, {'c': 2}]}, 'd': [{'e': 3}]}");
    ash_doc doc = ash__doc_from_bson(b);
    check_get(doc, "a.b.0", 1);
    check_get(doc, "a.b.1.c", 2);
    check_get(doc, "a.b.c", -1);
    check_get(doc, "a.b.2", -1);
    check_get(doc, "d.e", -1);
    check_get(doc, "d.0.e", 3);
    check_get(doc, "a.b.0.x", -1);
    bson_destroy(b);
}

static void test_bson_path__overlap_and_check(void **state)
{
    (void)state;
    assert_true(ash__path_overlaps("a", "a.b"));
    assert_true(ash__path_overlaps("a.b", "a"));
    assert_true(ash__path_overlaps("a", "a"));
    assert_false(ash__path_overlaps("a", "ab"));
    assert_false(ash__path_overlaps("a.b", "a.c"));
    ash_error err = ASH_ERROR_INIT;
    assert_ok(ash__path_check("a.b.0", &err), &err);
    const char *bad[] = {"", ".", "a.", ".a", "a..b"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(bad); i++) {
        assert_int_equal(ash__path_check(bad[i], &err), ASH_EINVAL);
        assert_int_equal(ash_error_server_code(&err), 56);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bson_path__walks_documents),
        cmocka_unit_test(test_bson_path__walks_arrays),
        cmocka_unit_test(test_bson_path__walks_positions),
        cmocka_unit_test(test_bson_path__visitor_stops),
        cmocka_unit_test(test_bson_path__plain_get),
        cmocka_unit_test(test_bson_path__overlap_and_check),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
