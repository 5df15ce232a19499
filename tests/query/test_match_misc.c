/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include "base/clock.h"
#include "base/mem.h"

#include <string.h>

static ash_matcher *matcher(const char *json)
{
    ash_error err = ASH_ERROR_INIT;
    ash_matcher *m = NULL;
    bson_t *filter = cases_bson(json);
    assert_ok(ash__matcher_new(filter, NULL, &m, &err), &err);
    bson_destroy(filter);
    return m;
}

static void test_query_match__details_name_the_element(void **state)
{
    (void)state;
    static const struct {
        const char *filter, *doc;
        int32_t index;
    } cases[] = {
        {"{'a': 2}", "{'a': [1, 2, 3]}", 1},
        {"{'a': {'$gt': 2}}", "{'a': [1, 2, 3]}", 2},
        {"{'a': 2}", "{'a': 2}", -1},
        {"{'a': [1, 2]}", "{'a': [1, 2]}", -1},
        {"{'a.b': 2}", "{'a': [{'b': 1}, {'b': [5, 6, 2]}]}", 1},
        {"{'a.b': 2}", "{'a': {'b': [1, 2]}}", 1},
        {"{'a': {'$elemMatch': {'b': 2, 'c': 3}}}", "{'a': [{'b': 2}, {'b': 2, 'c': 3}]}", 1},
        {"{'a': {'$elemMatch': {'$gt': 1}}}", "{'a': [0, 1, 2]}", 2},
        {"{'a': {'$elemMatch': {'$id': 5}}}", "{'a': [5, {'$ref': 'c', '$id': 5}]}", 1},
        {"{'a': {'$elemMatch': {'$ref': 'c', '$id': 5}}}", "{'a': [{'$ref': 'c', '$id': 5}]}", 0},
        {"{'a': {'$elemMatch': {'$db': 'x', 'b': 1}}}",
         "{'a': [{'$ref': 'c', '$id': 5, '$db': 'x', 'b': 1}]}", 0},
        {"{'a': {'$elemMatch': {'$not': {'$elemMatch': {'$id': 5}}}}}",
         "{'a': [[{'$id': 5}], [{'$id': 6}]]}", 1},
        {"{'a.b': {'$elemMatch': {'$gt': 1}}}", "{'a': [{'b': [0]}, {'b': [0, 7]}]}", 1},
        {"{'x': 1, 'a': 3}", "{'x': 1, 'a': [1, 2, 3]}", 2},
        {"{'a': {'$in': [9, 3]}}", "{'a': [1, 2, 3]}", 2},
        {"{'$and': [{'a': 3}]}", "{'a': [1, 2, 3]}", 2},
        {"{'$or': [{'a': 3}, {'b': 1}]}", "{'a': [1, 2, 3]}", -1},
        {"{'$or': [{'a': 3, 'c': {'$exists': false}}, {'b': 1}], 'd': null}", "{'a': [1, 2, 3]}",
         -1},
        {"{'$or': [{'a': 3}]}", "{'a': [1, 2, 3]}", 2},
        {"{'a': {'$ne': 3}}", "{'a': [1]}", -1},
        {"{'a': {'$size': 1}}", "{'a': [1]}", -1},
    };
    for (size_t i = 0; i < ASH_ARRAY_LEN(cases); i++) {
        ash_match_details details = {77};
        ash_matcher *m = matcher(cases[i].filter);
        bson_t *doc = cases_bson(cases[i].doc);
        if (!ash__matcher_test(m, ash__doc_from_bson(doc), &details, NULL) ||
            details.array_index != cases[i].index)
            fail_msg("%s on %s: %d", cases[i].filter, cases[i].doc, (int)details.array_index);
        ash__matcher_free(m);
        bson_destroy(doc);
    }
}

static void test_query_match__values_against_conditions(void **state)
{
    (void)state;
    static const struct {
        const char *condition, *value;
        bool matches;
    } cases[] = {
        {"{'': {'$gt': 3}}", "{'': 4}", true},
        {"{'': {'$gt': 3}}", "{'': 3}", false},
        {"{'': {'$gt': 3}}", "{'': [4]}", true},
        {"{'': {'$gte': 3, '$lt': 5}}", "{'': 4}", true},
        {"{'': {'$in': [1, 2]}}", "{'': 2}", true},
        {"{'': {'$ne': 2}}", "{'': 2}", false},
        {"{'': {'$not': {'$gt': 2}}}", "{'': 'x'}", true},
        {"{'': {'$elemMatch': {'$gt': 3}}}", "{'': [4]}", true},
        {"{'': {'$exists': true}}", "{'': null}", true},
        {"{'': 3}", "{'': 3.0}", true},
        {"{'': 'x'}", "{'': 'y'}", false},
        {"{'': null}", "{'': null}", true},
        {"{'': [1, 2]}", "{'': [1, 2]}", true},
        {"{'': {'a': 1}}", "{'': {'a': 1, 'b': 2}}", true},
        {"{'': {'a': 1}}", "{'': {'a': 2}}", false},
        {"{'': {'a': {'$gt': 1}}}", "{'': {'a': 2}}", true},
        {"{'': {'a': 1}}", "{'': 1}", false},
        {"{'': {}}", "{'': {'a': 1}}", true},
        {"{'': {'$regularExpression': {'pattern': '^x', 'options': ''}}}", "{'': 'xy'}", true},
        {"{'': {'@type': 'string'}}", "{'': 'xy'}", true},
    };
    for (size_t i = 0; i < ASH_ARRAY_LEN(cases); i++) {
        ash_error err = ASH_ERROR_INIT;
        ash_matcher *m = NULL;
        bson_t *condition = cases_bson(cases[i].condition);
        bson_t *value = cases_bson(cases[i].value);
        assert_ok(ash__matcher_new_for_value(ash__doc_get(ash__doc_from_bson(condition), ""), NULL,
                                             &m, &err),
                  &err);
        bool matches = false;
        assert_int_equal(ash__matcher_check_value(m, ash__doc_get(ash__doc_from_bson(value), ""),
                                                  &matches, &err),
                         0);
        if (matches != cases[i].matches)
            fail_msg("%s on %s: %d", cases[i].condition, cases[i].value, matches);
        ash__matcher_free(m);
        bson_destroy(condition);
        bson_destroy(value);
    }
}

static bool note(void *ctx, const char *path, ash_value v)
{
    char *text = ctx;
    size_t len = strlen(text);
    snprintf(text + len, 200 - len, "%s:%s ", path, ash__type_name(v.type));
    return true;
}

static void test_query_match__equalities_seed_an_upsert(void **state)
{
    (void)state;
    static const struct {
        const char *filter, *seeds; /* NULL: code 54 */
    } cases[] = {
        {"{}", ""},
        {"{'a': 1, 'b.c': 'x'}", "a:int b.c:string "},
        {"{'a': {'$eq': {'x': 1}}}", "a:object "},
        {"{'a': {'$gt': 1}, 'b': 2}", "b:int "},
        {"{'$and': [{'a': 1}, {'b': {'$in': ['x']}}]}", "a:int b:string "},
        {"{'a': {'$in': [1, 2]}}", ""},
        {"{'a': {'$in': [{'$regularExpression': {'pattern': 'x', 'options': ''}}]}}", ""},
        {"{'a': {'$regularExpression': {'pattern': 'x', 'options': ''}}}", ""},
        {"{'a': 1, '$or': [{'b': 1}, {'c': 1}]}", "a:int "},
        {"{'$or': [{'b': 1}]}", "b:int "},
        {"{'$nor': [{'b': 1}]}", ""},
        {"{'a': {'$not': {'$eq': 1}}}", ""},
        {"{'a': {'$all': [1]}}", "a:int "},
        {"{'a': null}", "a:null "},
        {"{'a': {'$elemMatch': {'b': 1}}}", ""},
        {"{'a': 1, '$and': [{'a': 1}]}", "a:int "},
        {"{'a': 1, '$and': [{'a': 2}]}", NULL},
        {"{'a': {'b': 1}, 'a.b': 1}", NULL},
        {"{'a': {'$all': [1, 2]}}", NULL},
    };
    for (size_t i = 0; i < ASH_ARRAY_LEN(cases); i++) {
        ash_error err = ASH_ERROR_INIT;
        char text[200] = "";
        ash_matcher *m = matcher(cases[i].filter);
        int result = ash__matcher_equalities(m, note, text, &err);
        if (cases[i].seeds == NULL) {
            assert_int_equal(result, ASH_EINVAL);
            assert_int_equal(ash_error_server_code(&err), 54);
        } else {
            assert_ok(result, &err);
            assert_string_equal(text, cases[i].seeds);
        }
        ash__matcher_free(m);
    }
}

static void test_query_match__implication(void **state)
{
    (void)state;
    static const struct {
        const char *inner, *outer;
        bool implies;
    } cases[] = {
        {"{'a': 1}", "{}", true},
        {"{}", "{'a': 1}", false},
        {"{'a': 5}", "{'a': {'$gt': 3}}", true},
        {"{'a': 3}", "{'a': {'$gt': 3}}", false},
        {"{'a': {'$gt': 5}}", "{'a': {'$gt': 3}}", true},
        {"{'a': {'$gt': 3}}", "{'a': {'$gt': 3}}", true},
        {"{'a': {'$gte': 3}}", "{'a': {'$gt': 3}}", false},
        {"{'a': {'$gt': 3}}", "{'a': {'$gte': 3}}", true},
        {"{'a': {'$lt': 3}}", "{'a': {'$gt': 1}}", false},
        {"{'a': {'$gt': 'x'}}", "{'a': {'$gt': 3}}", false},
        {"{'a': {'$lt': 3}}", "{'a': {'$lte': 3}}", true},
        {"{'a': 1, 'b': 2}", "{'b': 2}", true},
        {"{'a': 1}", "{'b': 1}", false},
        {"{'a': 1}", "{'a': {'$exists': true}}", true},
        {"{'a': null}", "{'a': {'$exists': true}}", false},
        {"{'a': {'$gt': 1}}", "{'a': {'$exists': true}}", true},
        {"{'a': {'$gte': null}}", "{'a': {'$exists': true}}", false},
        {"{'a': {'$gt': {'$minKey': 1}}}", "{'a': {'$exists': true}}", false},
        {"{'a': {'$in': [1, 2]}}", "{'a': {'$exists': true}}", true},
        {"{'a': {'$in': [1, null]}}", "{'a': {'$exists': true}}", false},
        {"{'a': {'$in': [4, 5]}}", "{'a': {'$gt': 3}}", true},
        {"{'a': {'$in': [2, 5]}}", "{'a': {'$gt': 3}}", false},
        {"{'a': 4}", "{'a': {'$in': [4, 5]}}", true},
        {"{'a': {'$in': [4]}}", "{'a': {'$in': [4, 5]}}", true},
        {"{'$or': [{'a': 4}, {'a': 5}]}", "{'a': {'$gt': 3}}", true},
        {"{'$or': [{'a': 4}, {'b': 5}]}", "{'a': {'$gt': 3}}", false},
        {"{'a': 4}", "{'$or': [{'a': 4}, {'b': 5}]}", true},
        {"{'a': 4, 'b': 1}", "{'$and': [{'a': {'$gt': 1}}, {'b': {'$lt': 2}}]}", true},
        {"{'a': {'$ne': 4}}", "{'a': {'$ne': 4}}", true},
        {"{'a': {'$ne': 4}}", "{'a': {'$ne': 5}}", false},
        {"{'a': {'@type': 'string'}}", "{'a': {'@type': 'string'}}", true},
        {"{'a': {'@regex': '^x'}}", "{'a': {'@regex': '^x'}}", true},
        {"{'a': {'@regex': '^x', '@options': 'i'}}", "{'a': {'@regex': '^x'}}", false},
        {"{'a': {'$bitsAllSet': 1}}", "{'a': {'$bitsAnySet': 1}}", false},
    };
    for (size_t i = 0; i < ASH_ARRAY_LEN(cases); i++) {
        ash_matcher *inner = matcher(cases[i].inner);
        ash_matcher *outer = matcher(cases[i].outer);
        if (ash__matcher_implies(inner, outer) != cases[i].implies)
            fail_msg("%s implies %s: %d", cases[i].inner, cases[i].outer, !cases[i].implies);
        ash__matcher_free(inner);
        ash__matcher_free(outer);
    }
}

/* {op: [leaf, {op: [leaf, … leaf]}]} */
static ash_matcher *chain(const char *op, const char *leaf, int length)
{
    char *text = ash__strdup(leaf);
    for (int i = 0; i < length; i++) {
        char *longer = ash__sprintf("{'%s': [%s, %s]}", op, leaf, text);
        ash__free(text);
        text = longer;
    }
    ash_matcher *m = matcher(text);
    ash__free(text);
    return m;
}

/* Each level more would take four times as long; every planned query asks, and writers wait. */
static void test_query_match__implication_of_lists_in_lists(void **state)
{
    (void)state;
    ash_matcher *inner = chain("$and", "{'x': 1}", 16);
    ash_matcher *outer = chain("$or", "{'y': 1}", 16);
    int64_t started = ash__clock_ms();
    assert_false(ash__matcher_implies(inner, outer));
    assert_true(ash__clock_ms() - started < 20000);
    assert_true(ash__matcher_implies(inner, inner));
    ash__matcher_free(inner);
    ash__matcher_free(outer);
}

static void test_query_match__empty_and_features(void **state)
{
    (void)state;
    ash_matcher *m = NULL;
    assert_int_equal(ash__matcher_new(NULL, NULL, &m, NULL), 0);
    assert_true(ash__matcher_is_empty(m));
    assert_true(ash__matcher_test(m, ash__doc_empty, NULL, NULL));
    ash__matcher_free(m);
    for (const ash_feature *f = ash__match_features(); f->name != NULL; f++) {
        assert_int_equal(f->name[0], '$');
        assert_non_null(f->note);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_query_match__details_name_the_element),
        cmocka_unit_test(test_query_match__values_against_conditions),
        cmocka_unit_test(test_query_match__equalities_seed_an_upsert),
        cmocka_unit_test(test_query_match__implication),
        cmocka_unit_test(test_query_match__implication_of_lists_in_lists),
        cmocka_unit_test(test_query_match__empty_and_features),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
