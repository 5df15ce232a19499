/* SPDX-License-Identifier: Apache-2.0 */
#include "plan_cases.h"

#include "base/mem.h"

#include <string.h>

struct plan_case {
    const char *filter, *sort, *expected;
};

static void check(const char *indexes, const struct plan_case *cases, size_t count,
                  const ash_query_env *env)
{
    struct plan_indexes x;
    plan_indexes_init(&x, indexes);
    for (size_t i = 0; i < count; i++) {
        ash_error err = ASH_ERROR_INIT;
        struct planned q;
        char text[200];
        assert_ok(plan_query(&q, &x, cases[i].filter, cases[i].sort, NULL, env, &err), &err);
        plan_summary(q.plan, text, sizeof text);
        if (strcmp(text, cases[i].expected) != 0)
            fail_msg("%s sort %s: \"%s\", not \"%s\"", cases[i].filter, cases[i].sort, text,
                     cases[i].expected);
        planned_release(&q);
    }
    plan_indexes_release(&x);
}

#define CHECK(indexes, cases) check(indexes, cases, ASH_ARRAY_LEN(cases), NULL)

static void test_query_plan__merges_ranges_for_a_sort(void **state)
{
    (void)state;
    static const struct plan_case cases[] = {
        {"{'a': {'$in': [1, 2]}}", "{'b': 1}", "a_b_c 2 "},
        {"{'a': {'$in': [1, 2]}}", "{'b': -1, 'c': 1}", "a_b_c 2 SM"},
        {"{'a': {'$in': [1, 2]}}", "{'b': 1, 'c': -1}", "a_b_c 2 SMB"},
        {"{'a': {'$in': [1, 2]}, 'b': {'$in': [3, 4, 5]}}", "{'c': 1}", "a_b_c 6 SM"},
        {"{'a': {'$in': [1, 2]}, 'b': 3}", "{'c': -1}", "a_b_c 2 SMB"},
        {"{'a': {'$in': [1, 2]}, 'b': {'$in': [3, 4]}}", "{'b': -1, 'c': 1}", "a_b_c 4 SM"},
        {"{'a': {'$in': [1, 2]}, 'b': {'$gt': 3}}", "{'b': -1, 'c': 1}", "a_b_c 2 SM"},
        {"{'a': {'$in': [1]}}", "{'b': -1, 'c': 1}", "a_b_c 1 S"},
        {"{'a': {'$in': [1, 2]}, 'd': 1}", "{'b': -1, 'c': 1}", "a_b_c 2 SMF"},
        {"{'a': {'$gt': 1}}", "{'b': -1, 'c': 1}", "a_b_c 1 "},
        {"{'m': {'$in': [1, 2]}}", "{'n': 1}", "m_n 2 SMR"},
        {"{'m': {'$in': [1, 2]}, 'n': {'$gt': 1}}", "{'n': 1}", "m_n 2 R"},
    };
    ash_buffer filter = ASH_BUFFER_INIT;
    static const char *const indexes = "{'a_b_c': {'key': {'a': 1, 'b': -1, 'c': 1}},"
                                       "'m_n': {'key': {'m': 1, 'n': 1}, 'multikey': true}}";
    CHECK(indexes, cases);
    for (int most = ASH_PLAN_MERGE_MAX; most <= ASH_PLAN_MERGE_MAX + 1; most++) {
        char expected[30];
        ash__buffer_clear(&filter);
        ash__buffer_append_text(&filter, "{'a': {'$in': [0");
        for (int i = 1; i < most; i++)
            ash__buffer_printf(&filter, ", %d", i);
        ash__buffer_append_text(&filter, "]}}");
        snprintf(expected, sizeof expected, "a_b_c %d %s", most,
                 most > ASH_PLAN_MERGE_MAX ? "" : "SM");
        const struct plan_case one[] = {{ash__buffer_text(&filter), "{'b': -1, 'c': 1}", expected}};
        CHECK(indexes, one);
    }
    ash__buffer_release(&filter);
}

/* {s: [{}, {k: 3}]} sorts as null by s.k. */
static void test_query_plan__sparse_keys_of_elements_are_not_all(void **state)
{
    (void)state;
    static const struct plan_case cases[] = {
        {"{'s.k': {'$exists': true}}", "{'s.k': 1}", "s_k 1 FR"},
        {"{'s.k': {'$gt': 1}}", "{}", "s_k 1 SR"},
    };
    CHECK("{'s_k': {'key': {'s.k': 1}, 'multikey': true, 'sparse': true}}", cases);
}

static void test_query_plan__gridfs(void **state)
{
    (void)state;
    static const struct plan_case files[] = {
        {"{'_id': 5}", "{}", "_id_ 1 S"},
        {"{'filename': 'x'}", "{}", "filename_1_uploadDate_1 1 S"},
        {"{'filename': 'x'}", "{'uploadDate': -1}", "filename_1_uploadDate_1 1 SB"},
        {"{'filename': 'x'}", "{'uploadDate': 1}", "filename_1_uploadDate_1 1 S"},
        {"{}", "{'filename': 1, 'uploadDate': 1}", "filename_1_uploadDate_1 1 S"},
        {"{}", "{'filename': -1, 'uploadDate': -1}", "filename_1_uploadDate_1 1 SB"},
        {"{}", "{'filename': 1, 'uploadDate': -1}", "COLLSCAN 0 "},
        {"{'filename': 'x', 'length': 5}", "{'uploadDate': -1}", "filename_1_uploadDate_1 1 SFB"},
        {"{'filename': {'@regex': '^ab'}}", "{}", "filename_1_uploadDate_1 2 S"},
        {"{'length': 5}", "{}", "COLLSCAN 0 SF"},
        {"{}", "{}", "COLLSCAN 0 S"},
        {"{}", "{'_id': -1}", "_id_ 1 SB"},
        {"{'_id': {'$in': [1, 2, 3]}}", "{}", "_id_ 3 S"},
    };
    static const struct plan_case chunks[] = {
        {"{'files_id': 5}", "{'n': 1}", "files_id_1_n_1 1 S"},
        {"{'files_id': 5, 'n': {'$gte': 3}}", "{'n': 1}", "files_id_1_n_1 1 S"},
        {"{'files_id': 5, 'n': {'$gte': 3, '$lte': 7}}", "{'n': 1}", "files_id_1_n_1 1 S"},
        {"{'files_id': 5, 'n': 3}", "{}", "files_id_1_n_1 1 S"},
        {"{'files_id': {'$in': [1, 2]}}", "{}", "files_id_1_n_1 2 S"},
        {"{'files_id': {'$in': [1, 2]}}", "{'n': 1}", "files_id_1_n_1 2 SM"},
        {"{'files_id': {'$in': [1, 2]}}", "{'files_id': 1, 'n': 1}", "files_id_1_n_1 2 S"},
        {"{'files_id': 5, '$or': [{'n': 1}, {'n': 2}]}", "{}", "files_id_1_n_1 1 SF"},
        {"{'n': 5}", "{}", "COLLSCAN 0 SF"},
        {"{}", "{'files_id': 1, 'n': 1}", "files_id_1_n_1 1 S"},
        {"{}", "{'files_id': 1}", "COLLSCAN 0 "},
    };
    CHECK("{'_id_': {'key': {'_id': 1}, 'unique': true}, 'filename_1_uploadDate_1': {'key': "
          "{'filename': 1, 'uploadDate': 1}}}",
          files);
    CHECK("{'_id_': {'key': {'_id': 1}, 'unique': true}, 'files_id_1_n_1': {'key': {'files_id': 1, "
          "'n': 1}, 'unique': true}}",
          chunks);
}

static void test_query_plan__ranges_and_filters(void **state)
{
    (void)state;
    static const struct plan_case cases[] = {
        {"{'a': 1}", "{}", "a_1_b_-1 1 S"},
        {"{'a': 1, 'b': 2}", "{}", "a_1_b_-1 1 S"},
        {"{'a': 1, 'b': {'$lt': 2}}", "{'b': -1}", "a_1_b_-1 1 S"},
        {"{'a': 1, 'b': {'$lt': 2}}", "{'b': 1}", "a_1_b_-1 1 SB"},
        {"{'a': {'$gt': 1}, 'b': 2}", "{}", "a_1_b_-1 1 SF"},
        {"{'a': {'$gt': 1}}", "{'a': 1, 'b': -1}", "a_1_b_-1 1 S"},
        {"{'a': {'$gt': 5, '$lt': 3}}", "{}", "EMPTY 0 S"},
        {"{'a': {'$gt': 1}, '$and': [{'a': {'$lt': 9}}]}", "{}", "a_1_b_-1 1 S"},
        {"{'a': {'$in': []}}", "{}", "EMPTY 0 S"},
        {"{'a': {'$in': [3, 1, 3, 2]}, 'b': {'$in': [1, 2]}}", "{}", "a_1_b_-1 6 S"},
        {"{'a': null}", "{}", "a_1_b_-1 2 SF"},
        {"{'a': {'$in': [null, 1]}}", "{}", "a_1_b_-1 3 SF"},
        {"{'a': {'$exists': false}}", "{}", "a_1_b_-1 2 SF"},
        {"{'a': {'$exists': true}}", "{}", "COLLSCAN 0 SF"},
        {"{'a': {'$ne': 1}}", "{}", "COLLSCAN 0 SF"},
        {"{'a': {'$not': {'$gt': 1}}}", "{}", "COLLSCAN 0 SF"},
        {"{'a': []}", "{}", "a_1_b_-1 2 SF"},
        {"{'a': [1, 2]}", "{}", "a_1_b_-1 2 SF"},
        {"{'a': {'$gt': [1]}}", "{}", "COLLSCAN 0 SF"},
        {"{'a': {'b': 1}}", "{}", "a_1_b_-1 1 S"},
        {"{'a': {'@type': 'string'}}", "{}", "a_1_b_-1 1 SF"},
        {"{'a': {'@type': 'array'}}", "{}", "COLLSCAN 0 SF"},
        {"{'a': {'$mod': [2, 0]}}", "{}", "a_1_b_-1 1 SF"},
        {"{'a': {'$size': 1}}", "{}", "COLLSCAN 0 SF"},
        {"{'a': {'@regex': '^x'}}", "{}", "a_1_b_-1 2 S"},
        {"{'a': {'@regex': '^x', '@options': 'i'}}", "{}", "a_1_b_-1 2 SF"},
        {"{'a': {'@regex': 'x'}}", "{}", "a_1_b_-1 2 SF"},
        {"{'a': {'@regex': '^x|y'}}", "{}", "a_1_b_-1 2 SF"},
        {"{'a': {'$regularExpression': {'pattern': '^x', 'options': ''}}}", "{}", "a_1_b_-1 2 S"},
        {"{'a': {'$gt': {'$minKey': 1}}}", "{}", "COLLSCAN 0 SF"},
        {"{'a': {'$gte': null}}", "{}", "a_1_b_-1 2 SF"},
        {"{'a': {'$gt': null}}", "{}", "EMPTY 0 S"},
        {"{'c': 1, 'd': 2}", "{}", "c_1_d_1 1 S"},
        {"{'c': 1}", "{'d': 1}", "c_1_d_1 1 S"},
        {"{'c': 1}", "{'x': 1}", "c_1 1 "},
        {"{'$alwaysFalse': 1}", "{}", "EMPTY 0 S"},
        {"{'a': 1}", "{'a': 1}", "a_1_b_-1 1 "},
        {"{'c': 1}", "{'c': -1}", "c_1 1 S"},
        {"{'c': 1}", "{'c': -1, 'd': 1}", "c_1_d_1 1 S"},
        {"{'c': {'$gt': 1}}", "{'c': -1}", "c_1 1 SB"},
        {"{}", "{'$natural': -1}", "COLLSCAN 0 SB"},
        {"{'a': 1}", "{'$natural': 1}", "COLLSCAN 0 SF"},
    };
    CHECK("{'a_1_b_-1': {'key': {'a': 1, 'b': -1}}, 'c_1': {'key': {'c': 1}}, 'c_1_d_1': {'key': "
          "{'c': 1, 'd': 1}}}",
          cases);
}

static void test_query_plan__multikey(void **state)
{
    (void)state;
    static const struct plan_case cases[] = {
        {"{'a': 1}", "{}", "a_1 1 SR"},
        {"{'a': {'$gt': 1, '$lt': 5}}", "{}", "a_1 1 SFR"},
        {"{'a': {'$elemMatch': {'$gt': 1, '$lt': 5}}}", "{}", "a_1 1 SFR"},
        {"{'a': {'$gt': 1}}", "{'a': 1}", "a_1 1 R"},
        {"{}", "{'a': 1}", "a_1 1 SR"},
        {"{}", "{'a': -1}", "a_1 1 SBR"},
        {"{'a': 1}", "{'a': 1}", "a_1 1 R"},
        {"{'x.b': 1, 'x.c': 2}", "{}", "x.b_1_x.c_1 1 SFR"},
        {"{'x': {'$elemMatch': {'b': 1, 'c': 2}}}", "{}", "x.b_1_x.c_1 1 SFR"},
        {"{'x.b': 1}", "{'x.c': 1}", "x.b_1_x.c_1 1 R"},
        {"{'y': 1}", "{'z': 1}", "y_1_z_1 1 SR"},
        {"{'y': 1, 'z': 2}", "{}", "y_1_z_1 1 SR"},
        {"{'a': null}", "{}", "a_1 2 SFR"},
        /* Items without the field have no key in a sparse index. */
        {"{'s': {'$eq': null, '$gte': 1}}", "{}", "s_1 1 SFR"},
        {"{'s': {'$eq': null, '$in': [null, 1]}}", "{}", "COLLSCAN 0 SF"},
    };
    CHECK(
        "{'s_1': {'key': {'s': 1}, 'multikey': true, 'sparse': true}, "
        "'a_1': {'key': {'a': 1}, 'multikey': true}, 'x.b_1_x.c_1': {'key': {'x.b': 1, 'x.c': 1}, "
        "'multikey': true}, 'y_1_z_1': {'key': {'y': 1, 'z': 1}, 'multikey': true}}",
        cases);
}

/* {a: [{b: 1}]} has the key {b: 1} in an index on a.0, and matches {a.0: null}. */
static void test_query_plan__positions_tell_nothing_of_null(void **state)
{
    (void)state;
    static const struct plan_case cases[] = {
        {"{'a.0': null}", "{}", "COLLSCAN 0 SF"},
        {"{'a.0': {'$in': [null, 1]}}", "{}", "COLLSCAN 0 SF"},
        {"{'a.0': {'$lte': null}}", "{}", "COLLSCAN 0 SF"},
        {"{'a.0': {'$gte': null}}", "{}", "COLLSCAN 0 SF"},
        {"{'a': {'$elemMatch': {'0': null}}}", "{}", "COLLSCAN 0 SF"},
        {"{'a.0': {'$exists': false}}", "{}", "COLLSCAN 0 SF"},
        {"{'a.0': 1}", "{}", "a.0_1 1 SF"},
        {"{'a.0': {'$gt': 1}, '$and': [{'a.0': {'$gte': null}}]}", "{}", "a.0_1 1 SF"},
        {"{'b': 1, 'c.1': null}", "{}", "b_1_c.1_1 1 SF"},
    };
    CHECK("{'a.0_1': {'key': {'a.0': 1}}, 'b_1_c.1_1': {'key': {'b': 1, 'c.1': 1}}}", cases);
}

static void test_query_plan__kinds_of_index(void **state)
{
    (void)state;
    static const struct plan_case cases[] = {
        {"{'s': 1}", "{}", "s_1 1 S"},
        {"{'s': null}", "{}", "COLLSCAN 0 SF"},
        {"{'s': {'$exists': true}}", "{}", "s_1 1 SF"},
        {"{}", "{'s': 1}", "COLLSCAN 0 "},
        {"{'s': {'$gt': 1}}", "{'s': -1}", "s_1 1 SB"},
        {"{'p': 1}", "{}", "COLLSCAN 0 SF"},
        {"{'p': 1, 'q': {'$gt': 7}}", "{}", "p_1 1 SF"},
        {"{'h': 1}", "{}", "h_hashed 1 SF"},
        {"{'h': {'$in': [1, 'x']}}", "{}", "h_hashed 2 SF"},
        {"{'h': {'$gt': 1}}", "{}", "COLLSCAN 0 SF"},
        {"{}", "{'h': 1}", "COLLSCAN 0 "},
        {"{'i': 1}", "{}", "COLLSCAN 0 SF"},
        {"{'t': 'x'}", "{}", "COLLSCAN 0 SF"},
        {"{'t': 5}", "{}", "t_1 1 S"},
        {"{'t': {'$gt': 'x'}}", "{}", "COLLSCAN 0 SF"},
        {"{'t': {'@regex': '^x'}}", "{}", "t_1 2 SF"},
        {"{}", "{'t': 1}", "COLLSCAN 0 "},
    };
    static const struct plan_case folded[] = {
        {"{'t': 'x'}", "{}", "t_1 1 S"},
        {"{}", "{'t': 1}", "t_1 1 S"},
        {"{'s': 'x'}", "{}", "COLLSCAN 0 SF"},
        {"{'s': 1}", "{}", "s_1 1 S"},
    };
    const char *indexes = "{'s_1': {'key': {'s': 1}, 'sparse': true}, 'p_1': {'key': {'p': 1}, "
                          "'partial': {'q': {'$gt': "
                          "5}}}, 'h_hashed': {'key': {'h': 'hashed'}}, 'i_1': {'key': {'i': 1}, "
                          "'hidden': true}, 't_1': "
                          "{'key': {'t': 1}, 'ignoreCase': true}}";
    ash_query_env env = {.collation = {.ignore_case = true}};
    CHECK(indexes, cases);
    check(indexes, folded, ASH_ARRAY_LEN(folded), &env);
}

static void test_query_plan__choice(void **state)
{
    (void)state;
    static const struct plan_case cases[] = {
        {"{'a': 1, 'b': 2, 'c': {'$gt': 3}}", "{}", "a_b_c 1 S"},
        {"{'a': 1, 'b': 2}", "{}", "a_b 1 S"},
        {"{'a': 1}", "{}", "a 1 S"},
        {"{'a': 1}", "{'b': 1}", "a_b 1 S"},
        {"{'a': 1, 'u': 5}", "{}", "u 1 SF"},
        {"{'u': 5}", "{'x': 1}", "u 1 S"},
        {"{'a': 1, 'u': {'$in': [1, 2]}}", "{}", "a 1 SF"},
        {"{'a': {'$gt': 1}, 'd': 3}", "{}", "d 1 SF"},
        {"{'x': 1}", "{'d': 1}", "d 1 SF"},
        {"{'$or': [{'a': 1}, {'d': 2}]}", "{}", "OR 2 SR"},
        {"{'$or': [{'a': 1}, {'d': 2}]}", "{'x': 1}", "OR 2 R"},
        {"{'$or': [{'a': 1}, {'x': 2}]}", "{}", "COLLSCAN 0 SF"},
        {"{'$or': [{'a': 1, 'x': 3}, {'d': 2}]}", "{}", "OR 2 SFR"},
        {"{'x': 1, '$or': [{'a': 1}, {'d': 2}]}", "{}", "OR 2 SFR"},
        {"{'$or': [{'a': 1}, {'$or': [{'d': 1}, {'u': 3}]}]}", "{}", "OR 2 SR"},
        {"{'$or': [{'a': {'$in': []}}, {'d': 2}]}", "{}", "OR 2 SR"},
        {"{'$and': [{'$or': [{'x': 1}, {'d': 2}]}, {'$or': [{'a': 1}, {'d': 2}]}]}", "{}",
         "OR 2 SFR"},
    };
    CHECK(
        "{'a': {'key': {'a': 1}}, 'a_b': {'key': {'a': 1, 'b': 1}}, 'a_b_c': {'key': {'a': 1, 'b': "
        "1, 'c': 1}}, 'd': {'key': {'d': 1}}, 'u': {'key': {'u': 1}, 'unique': true}}",
        cases);
}

static void test_query_plan__hints(void **state)
{
    (void)state;
    static const struct {
        const char *filter, *hint, *expected; /* NULL: that code */
        int32_t code;
    } cases[] = {
        {"{'a': 1}", "{'': 'b_1'}", "b_1 1 SF", 0},
        {"{'a': 1}", "{'': {'b': 1}}", "b_1 1 SF", 0},
        {"{'a': 1}", "{'': {}}", "a_1 1 S", 0},
        {"{'a': 1}", "{'': {'$natural': -1}}", "COLLSCAN 0 SFB", 0},
        {"{}", "{'': 's_1'}", "s_1 1 S", 0},
        {"{'a': 1}", "{'': 'none'}", NULL, 2},
        {"{'a': 1}", "{'': {'b': -1}}", NULL, 2},
        {"{'a': 1}", "{'': 'i_1'}", NULL, 2},
        {"{'a': 1}", "{'': 5}", NULL, 9},
        {"{'a': 1}", "{'': {'$natural': 3}}", NULL, 2},
        {"{'a': 1}", "{'': 'p_1'}", NULL, 291},
    };
    struct plan_indexes x;
    plan_indexes_init(
        &x, "{'a_1': {'key': {'a': 1}}, 'b_1': {'key': {'b': 1}}, 's_1': {'key': {'s': 1}, "
            "'sparse': true}, 'i_1': {'key': {'i': 1}, 'hidden': true}, 'p_1': {'key': {'p': "
            "1}, 'partial': {'q': 1}}}");
    for (size_t i = 0; i < ASH_ARRAY_LEN(cases); i++) {
        ash_error err = ASH_ERROR_INIT;
        struct planned q;
        char text[200] = "";
        int result = plan_query(&q, &x, cases[i].filter, "{}", cases[i].hint, NULL, &err);
        if (result == 0)
            plan_summary(q.plan, text, sizeof text);
        if (cases[i].expected == NULL)
            assert_int_equal(ash_error_server_code(&err), cases[i].code);
        else if (strcmp(text, cases[i].expected) != 0)
            fail_msg("hint %s: \"%s\", not \"%s\"", cases[i].hint, text, cases[i].expected);
        planned_release(&q);
    }
    plan_indexes_release(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_query_plan__gridfs),
        cmocka_unit_test(test_query_plan__sparse_keys_of_elements_are_not_all),
        cmocka_unit_test(test_query_plan__merges_ranges_for_a_sort),
        cmocka_unit_test(test_query_plan__ranges_and_filters),
        cmocka_unit_test(test_query_plan__multikey),
        cmocka_unit_test(test_query_plan__positions_tell_nothing_of_null),
        cmocka_unit_test(test_query_plan__kinds_of_index),
        cmocka_unit_test(test_query_plan__choice),
        cmocka_unit_test(test_query_plan__hints),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
