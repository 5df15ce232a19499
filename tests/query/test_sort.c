/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include "base/mem.h"
#include "query/kit/sort.h"

#include <stdio.h>
#include <string.h>

static ash_sort_spec *spec_of(const char *json, const ash_query_env *env)
{
    ash_error err = ASH_ERROR_INIT;
    ash_sort_spec *spec = NULL;
    bson_t *sort = cases_bson(json);
    assert_ok(ash__sort_spec_new(sort, env, &spec, &err), &err);
    bson_destroy(sort);
    return spec;
}

/* Sorts an array of documents; the result is their positions. */
static void check_order(const char *sort, const char *docs, uint64_t keep_first,
                        const ash_query_env *env, const char *expected)
{
    ash_error err = ASH_ERROR_INIT;
    ash_sort_spec *spec = spec_of(sort, env);
    ash_sorter *sorter = ash__sorter_new(spec, keep_first, env);
    bson_t *list = cases_bson(docs);
    char text[100] = "";
    uint64_t order = 0;
    ash_doc doc;
    for (ash_doc_iter it = ash__doc_iter(ash__doc_from_bson(list)); ash__doc_iter_next(&it);)
        assert_ok(ash__sorter_add(sorter, ash__value_doc(it.value), order++, &err), &err);
    ash__sorter_finish(sorter);
    while (ash__sorter_next(sorter, &doc, &order)) {
        size_t len = strlen(text);
        snprintf(text + len, sizeof text - len, "%d ", (int)order);
    }
    if (strcmp(text, expected) != 0)
        fail_msg("%s of %s: %s, not %s", sort, docs, text, expected);
    ash__sorter_free(sorter);
    ash__sort_spec_free(spec);
    bson_destroy(list);
}

static void test_query_sort__orders(void **state)
{
    (void)state;
    static const struct {
        const char *sort, *docs, *expected;
    } cases[] = {
        {"{'a': 1}", "{'0': {'a': 3}, '1': {'a': 1}, '2': {'a': 2}}", "1 2 0 "},
        {"{'a': -1}", "{'0': {'a': 3}, '1': {'a': 1}, '2': {'a': 2}}", "0 2 1 "},
        {"{'a': 1}", "{'0': {'a': 1}, '1': {}, '2': {'a': null}, '3': {'a': 'x'}}", "1 2 0 3 "},
        {"{'a': -1}", "{'0': {'a': 1}, '1': {'a': 1.0}, '2': {'a': 1}}", "0 1 2 "},
        {"{'a': 1, 'b': -1}", "{'0': {'a': 1, 'b': 1}, '1': {'a': 1, 'b': 2}, '2': {'a': 0}}",
         "2 1 0 "},
        {"{'a': 1}", "{'0': {'a': [5, 2]}, '1': {'a': 3}, '2': {'a': [9, 1]}}", "2 0 1 "},
        {"{'a': -1}", "{'0': {'a': [5, 2]}, '1': {'a': 3}, '2': {'a': [9, 1]}}", "2 0 1 "},
        {"{'a': 1}", "{'0': {'a': null}, '1': {'a': []}, '2': {'a': {'$minKey': 1}}}", "2 1 0 "},
        {"{'a.b': 1}", "{'0': {'a': {'b': 2}}, '1': {'a': [{'b': 9}, {'b': 1}]}, '2': {'a': 7}}",
         "2 1 0 "},
        {"{'a': 1, 'b': 1}", "{'0': {'a': [1, 3], 'b': 2}, '1': {'a': 1, 'b': 1}}", "1 0 "},
        {"{'a': 1}",
         "{'0': {'a': {'$maxKey': 1}}, '1': {'a': true}, '2': {'a': {'x': 1}}, '3': {'a': 'x'}, "
         "'4': "
         "{'a': {'$date': {'$numberLong': '0'}}}, '5': {'a': [[1]]}}",
         "3 2 5 1 4 0 "},
    };
    for (size_t i = 0; i < ASH_ARRAY_LEN(cases); i++)
        check_order(cases[i].sort, cases[i].docs, 0, NULL, cases[i].expected);
}

static void test_query_sort__keeps_only_the_first(void **state)
{
    (void)state;
    const char *docs =
        "{'0': {'a': 4}, '1': {'a': 1}, '2': {'a': 3}, '3': {'a': 1}, '4': {'a': 2}}";
    check_order("{'a': 1}", docs, 1, NULL, "1 ");
    check_order("{'a': 1}", docs, 2, NULL, "1 3 ");
    check_order("{'a': -1}", docs, 3, NULL, "0 2 4 ");
    check_order("{'a': 1}", docs, 100, NULL, "1 3 4 2 0 ");
}

static void test_query_sort__collation(void **state)
{
    (void)state;
    ash_query_env env = {.collation = {.ignore_case = true}};
    const char *docs = "{'0': {'a': 'b'}, '1': {'a': 'B'}, '2': {'a': 'a'}, '3': {'a': 'C'}}";
    check_order("{'a': 1}", docs, 0, &env, "2 0 1 3 ");
    check_order("{'a': 1}", docs, 0, NULL, "1 3 2 0 ");
}

static void test_query_sort__memory_is_limited(void **state)
{
    (void)state;
    ash_error err = ASH_ERROR_INIT;
    ash_query_env env = {.memory_limit_bytes = 1000};
    ash_sort_spec *spec = spec_of("{'a': -1}", NULL);
    bson_t *small = cases_bson("{'a': 1}");
    ash_sorter *all = ash__sorter_new(spec, 0, &env), *top = ash__sorter_new(spec, 3, &env);
    int result = 0;
    for (int i = 0; i < 100; i++) {
        assert_ok(ash__sorter_add(top, ash__doc_from_bson(small), (uint64_t)i, &err), &err);
        if (result == 0)
            result = ash__sorter_add(all, ash__doc_from_bson(small), (uint64_t)i, &err);
    }
    assert_int_equal(result, ASH_ENOMEM);
    assert_int_equal(ash_error_server_code(&err), 292);
    ash__sorter_free(all);
    ash__sorter_free(top);
    ash__sort_spec_free(spec);
    bson_destroy(small);
}

static void test_query_sort__parallel_arrays(void **state)
{
    (void)state;
    ash_error err = ASH_ERROR_INIT;
    ash_buffer key = ASH_BUFFER_INIT;
    ash_sort_spec *spec = spec_of("{'a': 1, 'b': 1}", NULL);
    ash_sorter *sorter = ash__sorter_new(spec, 0, NULL);
    bson_t *doc = cases_bson("{'a': [1, 2], 'b': [3, 4]}");
    assert_int_equal(ash__sorter_add(sorter, ash__doc_from_bson(doc), 0, &err), ASH_EINVAL);
    assert_int_equal(ash_error_server_code(&err), 2);
    ash__sort_key(spec, ash__doc_from_bson(doc), &key);
    assert_true(key.len > 0);
    ash__buffer_release(&key);
    ash__sorter_free(sorter);
    ash__sort_spec_free(spec);
    bson_destroy(doc);
}

static void test_query_sort__specification(void **state)
{
    (void)state;
    static const struct error_case cases[] = {
        {"{'a': 2}", 15975, "a"},
        {"{'a': 'x'}", 15974, "a"},
        {"{'a': 0}", 15975, "a"},
        {"{'a': {'$meta': 'textScore'}}", 2, "$meta"},
        {"{'a': {'b': 1}}", 17312, "a"},
        {"{'$a': 1}", 16410, "$a"},
        {"{'$natural': 2}", 2, "$natural"},
        {"{'$natural': 1, 'a': 1}", 2, "$natural"},
        {"{'': 1}", 56, ""},
        {"{'a..b': 1}", 56, "a..b"},
    };
    for (size_t i = 0; i < ASH_ARRAY_LEN(cases); i++) {
        ash_error err = ASH_ERROR_INIT;
        ash_sort_spec *spec = NULL;
        bson_t *sort = cases_bson(cases[i].text);
        if (ash__sort_spec_new(sort, NULL, &spec, &err) == 0 ||
            ash_error_server_code(&err) != cases[i].server_code ||
            strstr(err.text, cases[i].names) == NULL)
            fail_msg("%s: %d %s", cases[i].text, (int)ash_error_server_code(&err), err.text);
        bson_destroy(sort);
    }
    ash_sort_spec *spec = spec_of("{'$natural': -1}", NULL);
    assert_int_equal(ash__sort_spec_natural(spec), -1);
    assert_null(ash__sort_spec_pattern(spec));
    ash__sort_spec_free(spec);
    spec = spec_of("{}", NULL);
    assert_true(ash__sort_spec_is_empty(spec));
    ash__sort_spec_free(spec);
    spec = spec_of("{'a': 1.0, 'b': {'$numberLong': '-1'}}", NULL);
    assert_int_equal(ash__sort_spec_pattern(spec)->count, 2);
    ash__sort_spec_free(spec);
}

static void test_query_sort__at_most_32_keys(void **state)
{
    (void)state;
    ash_error err = ASH_ERROR_INIT;
    ash_sort_spec *spec = NULL;
    bson_t sort = BSON_INITIALIZER;
    char name[8];
    for (int i = 0; i < 32; i++) {
        snprintf(name, sizeof name, "f%d", i);
        BSON_APPEND_INT32(&sort, name, 1);
    }
    assert_ok(ash__sort_spec_new(&sort, NULL, &spec, &err), &err);
    ash__sort_spec_free(spec);
    BSON_APPEND_INT32(&sort, "more", 1);
    assert_int_equal(ash__sort_spec_new(&sort, NULL, &spec, &err), ASH_EINVAL);
    assert_int_equal(ash_error_server_code(&err), 13103);
    bson_destroy(&sort);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_query_sort__orders),
        cmocka_unit_test(test_query_sort__keeps_only_the_first),
        cmocka_unit_test(test_query_sort__collation),
        cmocka_unit_test(test_query_sort__memory_is_limited),
        cmocka_unit_test(test_query_sort__parallel_arrays),
        cmocka_unit_test(test_query_sort__specification),
        cmocka_unit_test(test_query_sort__at_most_32_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
