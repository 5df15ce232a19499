/* SPDX-License-Identifier: Apache-2.0 */
/* Modifiers of arrays, positional parts, array filters, upserts, descriptions of changes. */
#include "agg_cases.h"

#include <string.h>

static void test_query_update__push(void **state)
{
    (void)state;
    static const struct update_case cases[] = {
        {"{'$push': {'a': 1}}", "{}", "{'a': [1]}"},
        {"{'$push': {'a': 3}}", "{'a': [1, 2]}", "{'a': [1, 2, 3]}"},
        {"{'$push': {'a': [3]}}", "{'a': [1]}", "{'a': [1, [3]]}"},
        {"{'$push': {'a': {'$each': [3, 4]}}}", "{'a': [1]}", "{'a': [1, 3, 4]}"},
        {"{'$push': {'a': {'$each': []}}}", "{'a': [1]}", "{'a': [1]}"},
        {"{'$push': {'a': {'$each': []}}}", "{}", "{'a': []}"},
        {"{'$push': {'a': {'$each': [8, 9], '$position': 1}}}", "{'a': [1, 2]}",
         "{'a': [1, 8, 9, 2]}"},
        {"{'$push': {'a': {'$each': [8], '$position': -1}}}", "{'a': [1, 2]}", "{'a': [1, 8, 2]}"},
        {"{'$push': {'a': {'$each': [8], '$position': 99}}}", "{'a': [1, 2]}", "{'a': [1, 2, 8]}"},
        {"{'$push': {'a': {'$each': [3], '$slice': -2}}}", "{'a': [1, 2]}", "{'a': [2, 3]}"},
        {"{'$push': {'a': {'$each': [3], '$slice': 2}}}", "{'a': [1, 2]}", "{'a': [1, 2]}"},
        {"{'$push': {'a': {'$each': [3], '$slice': 0}}}", "{'a': [1, 2]}", "{'a': []}"},
        {"{'$push': {'a': {'$each': [2], '$sort': 1}}}", "{'a': [3, 1]}", "{'a': [1, 2, 3]}"},
        {"{'$push': {'a': {'$each': [2], '$sort': -1, '$slice': 2}}}", "{'a': [3, 1]}",
         "{'a': [3, 2]}"},
        {"{'$push': {'a': {'$each': [{'k': 1}], '$sort': {'k': 1}}}}", "{'a': [{'k': 2}, {}]}",
         "{'a': [{}, {'k': 1}, {'k': 2}]}"},
        {"{'$push': {'a.b': 1}}", "{'a': {'b': []}}", "{'a': {'b': [1]}}"},
    };
    RUN_UPDATE(cases);
}

static void test_query_update__add_pop_pull(void **state)
{
    (void)state;
    static const struct update_case cases[] = {
        {"{'$addToSet': {'a': 1}}", "{}", "{'a': [1]}"},
        {"{'$addToSet': {'a': 1.0}}", "{'a': [1]}", "{'a': [1]}"},
        {"{'$addToSet': {'a': [1]}}", "{'a': [1]}", "{'a': [1, [1]]}"},
        {"{'$addToSet': {'a': {'$each': [2, 3, 2]}}}", "{'a': [1, 3]}", "{'a': [1, 3, 2]}"},
        {"{'$addToSet': {'a': {'x': 1}}}", "{'a': [{'x': 1}]}", "{'a': [{'x': 1}]}"},
        {"{'$pop': {'a': 1}}", "{'a': [1, 2, 3]}", "{'a': [1, 2]}"},
        {"{'$pop': {'a': -1}}", "{'a': [1, 2, 3]}", "{'a': [2, 3]}"},
        {"{'$pop': {'a': 1}}", "{'a': []}", "{'a': []}"},
        {"{'$pop': {'a.b': 1}}", "{'x': 1}", "{'x': 1}"},
        {"{'$pull': {'a': 2}}", "{'a': [1, 2, 3, 2.0]}", "{'a': [1, 3]}"},
        {"{'$pull': {'a': {'$gt': 1}}}", "{'a': [1, 2, 3]}", "{'a': [1]}"},
        {"{'$pull': {'a': {'x': 1}}}", "{'a': [{'x': 1, 'y': 2}, {'x': 2}, 5]}",
         "{'a': [{'x': 2}, 5]}"},
        {"{'$pull': {'a': {'$in': ['p', 'q']}}}", "{'a': ['p', 'r', 'q']}", "{'a': ['r']}"},
        {"{'$pull': {'a': {'x': {'$gte': 8}, 'y': 'b'}}}",
         "{'a': [{'x': 8, 'y': 'b'}, {'x': 8, 'y': 'c'}]}", "{'a': [{'x': 8, 'y': 'c'}]}"},
        {"{'$pull': {'a': {'$regularExpression': {'pattern': '^p', 'options': ''}}}}",
         "{'a': ['pa', 'x']}", "{'a': ['x']}"},
        {"{'$pull': {'a': 1}}", "{'b': 1}", "{'b': 1}"},
        /* Operators look into items that are arrays; $or and its like are filters for documents. */
        {"{'$pull': {'a': {'$gt': 1}}}", "{'a': [[0, 2], [0], 3]}", "{'a': [[0]]}"},
        {"{'$pull': {'a': {'$or': [{'x': 1}, {'y': 1}]}}}", "{'a': [{'x': 1}, {'y': 2}, 1]}",
         "{'a': [{'y': 2}, 1]}"},
        {"{'$pull': {'a': {'$nor': [{'x': 1}]}}}", "{'a': [{'x': 1}, {'y': 2}, 1]}",
         "{'a': [{'x': 1}, 1]}"},
        {"{'$pullAll': {'a': [1, 3]}}", "{'a': [1, 2, 3, 1]}", "{'a': [2]}"},
        {"{'$pullAll': {'a': []}}", "{'a': [1]}", "{'a': [1]}"},
    };
    RUN_UPDATE(cases);
}

static void test_query_update__array_errors(void **state)
{
    (void)state;
    static const struct update_error_case cases[] = {
        {"{'$push': {'a': {'$each': 1}}}", NULL, 2, "$each"},
        {"{'$push': {'a': {'$each': [], '$foo': 1}}}", NULL, 2, "Unrecognized clause"},
        {"{'$push': {'a': {'$each': [], '$slice': 'x'}}}", NULL, 2, "$slice"},
        {"{'$push': {'a': {'$each': [], '$position': 1.5}}}", NULL, 2, "$position"},
        {"{'$push': {'a': {'$each': [], '$sort': 2}}}", NULL, 2, "$sort"},
        {"{'$push': {'a': {'$each': [], '$sort': {}}}}", NULL, 2, "$sort"},
        {"{'$push': {'a': 1}}", "{'_id': 4, 'a': 5}", 2,
         "The field 'a' must be an array but is of type int in document {_id: 4}"},
        {"{'$push': {'a': 1}}", "{'a': null}", 2, "type null"},
        {"{'$addToSet': {'a': {'$each': 1}}}", NULL, 14, "$each"},
        {"{'$addToSet': {'a': 1}}", "{'a': 5}", 2, "Cannot apply $addToSet to non-array field"},
        {"{'$pop': {'a': 2}}", NULL, 9, "$pop expects 1 or -1, found: 2"},
        {"{'$pop': {'a': 'x'}}", NULL, 9, "Expected a number"},
        {"{'$pop': {'a': 1}}", "{'a': 5}", 14, "non-array type 'int'"},
        {"{'$pull': {'a': 1}}", "{'a': 5}", 2, "Cannot apply $pull to a non-array value"},
        {"{'$pullAll': {'a': 1}}", NULL, 2, "$pullAll requires an array argument"},
        {"{'$pullAll': {'a': [1]}}", "{'a': 5}", 2, "Cannot apply $pullAll"},
    };
    RUN_UPDATE_ERRORS(cases);
}

struct positional_case {
    const char *update, *filters, *filter, *doc, *expected;
};

static void run_positional(const struct positional_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ash_error err = ASH_ERROR_INIT;
        bson_t *expected = cases_bson(cases[i].expected);
        bson_t *found = NULL;
        assert_ok(cases_apply(cases[i].update, cases[i].filters, cases[i].filter, cases[i].doc,
                              &found, NULL, NULL, &err),
                  &err);
        cases_same(cases[i].update, cases[i].doc, expected, found);
        bson_destroy(expected);
        bson_destroy(found);
    }
}

static void test_query_update__positional(void **state)
{
    (void)state;
    static const struct positional_case cases[] = {
        {"{'$set': {'a.$': 9}}", NULL, "{'a': 2}", "{'a': [1, 2, 3]}", "{'a': [1, 9, 3]}"},
        {"{'$set': {'a.$.y': 9}}", NULL, "{'a.x': 2}", "{'a': [{'x': 1}, {'x': 2}]}",
         "{'a': [{'x': 1}, {'x': 2, 'y': 9}]}"},
        {"{'$inc': {'a.$.n': 1}}", NULL, "{'a': {'$elemMatch': {'x': 2}}}",
         "{'a': [{'x': 2, 'n': 1}]}", "{'a': [{'x': 2, 'n': 2}]}"},
        {"{'$unset': {'a.$': 1}}", NULL, "{'a': 1}", "{'a': [1, 2]}", "{'a': [null, 2]}"},
        {"{'$set': {'a.$[]': 0}}", NULL, NULL, "{'a': [1, 2]}", "{'a': [0, 0]}"},
        {"{'$inc': {'a.$[].n': 1}}", NULL, NULL, "{'a': [{'n': 1}, {}]}",
         "{'a': [{'n': 2}, {'n': 1}]}"},
        {"{'$set': {'a.$[]': 0}}", NULL, NULL, "{'a': []}", "{'a': []}"},
        {"{'$set': {'a.$[i]': 0}}", "[{'i': {'$gte': 2}}]", NULL, "{'a': [1, 2, 3]}",
         "{'a': [1, 0, 0]}"},
        {"{'$set': {'a.$[i].y': 0}}", "[{'i.x': 1}]", NULL, "{'a': [{'x': 1}, {'x': 2}]}",
         "{'a': [{'x': 1, 'y': 0}, {'x': 2}]}"},
        {"{'$set': {'a.$[i].y': 0}}", "[{'$or': [{'i.x': 1}, {'i.x': 3}]}]", NULL,
         "{'a': [{'x': 1}, {'x': 2}, {'x': 3}]}",
         "{'a': [{'x': 1, 'y': 0}, {'x': 2}, {'x': 3, 'y': 0}]}"},
        {"{'$set': {'a.$[i].p': 0, 'a.$[j].q': 1}}", "[{'i.x': 1}, {'j.y': 1}]", NULL,
         "{'a': [{'x': 1, 'y': 1}, {'y': 1}]}",
         "{'a': [{'x': 1, 'y': 1, 'p': 0, 'q': 1}, {'y': 1, 'q': 1}]}"},
        {"{'$set': {'a.$[i].b.$[]': 0}}", "[{'i.x': 1}]", NULL,
         "{'a': [{'x': 1, 'b': [1, 2]}, {'b': [3]}]}",
         "{'a': [{'x': 1, 'b': [0, 0]}, {'b': [3]}]}"},
        {"{'$pull': {'a.$[].b': 1}}", NULL, NULL, "{'a': [{'b': [1, 2]}, {'b': [1]}]}",
         "{'a': [{'b': [2]}, {'b': []}]}"},
        {"{'$set': {'a.$.p': 1, 'a.1.q': 2}}", NULL, "{'a.x': 2}", "{'a': [{'x': 1}, {'x': 2}]}",
         "{'a': [{'x': 1}, {'x': 2, 'p': 1, 'q': 2}]}"},
    };
    run_positional(cases, sizeof cases / sizeof cases[0]);
}

static void filters_fail(const char *update, const char *filters, int32_t code, const char *names)
{
    ash_error err = ASH_ERROR_INIT;
    int rc = cases_apply(update, filters, NULL, NULL, NULL, NULL, NULL, &err);
    cases_check_error(update, rc, &err, code, names);
}

static void test_query_update__array_filter_errors(void **state)
{
    (void)state;
    filters_fail("{'$set': {'a': 1}}", "[{'i': 1}]", 9, "identifier 'i' was not used");
    filters_fail("{'$set': {'a.$[i]': 1}}", "[{'i': 1}, {'i': 2}]", 9, "same top-level");
    filters_fail("{'$set': {'a.$[i]': 1}}", "[{'I': 1}]", 2, "lowercase");
    filters_fail("{'$set': {'a.$[i]': 1}}", "[{'i': 1, 'j': 2}]", 9, "single top-level");
    filters_fail("{'$set': {'a.$[i]': 1}}", "[{'$or': [{'i.x': 1}, {'j.y': 2}]}]", 9,
                 "found 'i' and 'j'");
    filters_fail("{'$set': {'a.$[i]': 1}}", "[{'i': 1, '$and': [{'$nor': [{'j': 2}]}]}]", 9,
                 "found 'i' and 'j'");
    filters_fail("{'$set': {'a.$[i]': 1}}", "[{}]", 9, NULL);
    filters_fail("{'$set': {'a.$[i]': 1}}", "[1]", 14, NULL);
    filters_fail("{'$set': {'a.$[i]': 1}}", "[{'i': {'$foo': 1}}]", 2, "$foo");
    filters_fail("{'a': 1}", "[{'i': 1}]", 9, "replacement");
    filters_fail("[{'$set': {'a': 1}}]", "[{'i': 1}]", 9, "pipeline");
}

static void test_query_update__branches_that_meet_conflict(void **state)
{
    (void)state;
    ash_error err = ASH_ERROR_INIT;
    int rc = cases_apply("{'$set': {'a.$[i]': 0, 'a.$[j]': 1}}", "[{'i': 1}, {'j': {'$gt': 0}}]",
                         NULL, "{'a': [1]}", NULL, NULL, NULL, &err);
    cases_check_error("a.$[i], a.$[j]", rc, &err, 40, "conflict at 'a.0'");
    rc = cases_apply("{'$set': {'d.a.$[].b.$[i]': 0, 'd.a.$[].b.$[]': 1}}", "[{'i': 2}]", NULL,
                     "{'d': {'a': [{'b': [1]}, {'b': [1, 2]}]}}", NULL, NULL, NULL, &err);
    cases_check_error("d.a.$[].b.$[i], …", rc, &err, 40, "conflict at 'd.a.1.b.1'");
    rc = cases_apply("{'$set': {'d.a.$[]': 0}}", NULL, NULL, "{'d': {}}", NULL, NULL, NULL, &err);
    cases_check_error("d.a.$[]", rc, &err, 2, "The path 'd.a' must exist");
    rc = cases_apply("{'$set': {'a.$': 0, 'a.0': 1}}", NULL, "{'a': 1}", "{'a': [1]}", NULL, NULL,
                     NULL, &err);
    cases_check_error("a.$, a.0", rc, &err, 40, "conflict");
}

struct upsert_case {
    const char *update, *filter, *expected; /* expected without a generated _id */
};

static void test_query_update__upsert(void **state)
{
    (void)state;
    static const struct upsert_case cases[] = {
        {"{'$set': {'a': 1}}", "{'_id': 5}", "{'_id': 5, 'a': 1}"},
        {"{'$set': {'z': 1, 'c': 2}}", "{'x': 1, 'b': 2, '_id': 5}",
         "{'_id': 5, 'x': 1, 'b': 2, 'c': 2, 'z': 1}"},
        {"{'$setOnInsert': {'a': 1}, '$inc': {'n': 1}}", "{'_id': 5, 'q': {'$gt': 3}}",
         "{'_id': 5, 'a': 1, 'n': 1}"},
        {"{'$set': {'a': 1}}", "{'_id': 5, 'b.c': 2}", "{'_id': 5, 'b': {'c': 2}, 'a': 1}"},
        {"{'$set': {'a': 1}}", "{'_id': 5, '$and': [{'b': 2}, {'c': {'$eq': 3}}]}",
         "{'_id': 5, 'b': 2, 'c': 3, 'a': 1}"},
        {"{'$set': {'a': 1}}", "{'_id': 5, '$or': [{'b': 2}, {'c': 3}]}", "{'_id': 5, 'a': 1}"},
        {"{'$set': {'a': 1}}", "{'_id': {'$in': [5]}}", "{'_id': 5, 'a': 1}"},
        {"{'a': 1}", "{'_id': 5, 'b': 2}", "{'_id': 5, 'a': 1}"},
        {"{'a': 1, '_id': 6}", "{'b': 2}", "{'_id': 6, 'a': 1}"},
        {"{'$set': {'_id': 7}}", "{'b': 2}", "{'_id': 7, 'b': 2}"},
        {"[{'$set': {'a': {'$add': ['$b', 1]}}}]", "{'_id': 5, 'b': 2}",
         "{'_id': 5, 'b': 2, 'a': 3}"},
        {"{'$push': {'b': 1}}", "{'_id': 1}", "{'_id': 1, 'b': [1]}"},
        {"{'$set': {'$z': 1}}", "{'_id': 1, 'a.$b': 2}", "{'_id': 1, 'a': {'$b': 2}, '$z': 1}"},
        {"{'$setOnInsert': {'$z.$y': 1}}", "{'_id': 1}", "{'_id': 1, '$z': {'$y': 1}}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ash_error err = ASH_ERROR_INIT;
        bson_t *spec = cases_value(cases[i].update);
        bson_t *filter = cases_bson(cases[i].filter);
        bson_t *expected = cases_bson(cases[i].expected);
        bson_t found;
        ash_matcher *m;
        ash_update *u;
        ash_builder out = ASH_BUILDER_INIT;
        assert_ok(ash__matcher_new(filter, &case_env, &m, &err), &err);
        assert_ok(
            ash__update_new(ash__doc_get(ash__doc_from_bson(spec), "v"), NULL, &case_env, &u, &err),
            &err);
        assert_ok(ash__update_upsert(u, m, &out, &err), &err);
        ash__doc_to_bson(ash__builder_doc(&out), &found);
        cases_same(cases[i].update, cases[i].filter, expected, &found);
        ash__update_free(u);
        ash__matcher_free(m);
        ash__builder_release(&out);
        bson_destroy(spec);
        bson_destroy(filter);
        bson_destroy(expected);
    }
}

static int upsert_fails(const char *update, const char *filter_json, ash_error *err)
{
    bson_t *spec = cases_value(update);
    bson_t *filter = cases_bson(filter_json);
    ash_matcher *m;
    ash_update *u;
    ash_builder out = ASH_BUILDER_INIT;
    assert_ok(ash__matcher_new(filter, &case_env, &m, err), err);
    assert_ok(
        ash__update_new(ash__doc_get(ash__doc_from_bson(spec), "v"), NULL, &case_env, &u, err),
        err);
    int rc = ash__update_upsert(u, m, &out, err);
    if (rc == 0) /* an _id was generated, in front */
        assert_int_equal(ash__doc_get(ash__builder_doc(&out), "_id").type, BSON_TYPE_OID);
    ash__update_free(u);
    ash__matcher_free(m);
    ash__builder_release(&out);
    bson_destroy(spec);
    bson_destroy(filter);
    return rc;
}

static void test_query_update__upsert_ids(void **state)
{
    (void)state;
    ash_error err = ASH_ERROR_INIT;
    assert_int_equal(upsert_fails("{'$set': {'a': 1}}", "{'b': 1}", &err), 0);
    int rc = upsert_fails("{'$set': {'_id': 2}}", "{'_id': 1}", &err);
    cases_check_error("$set _id", rc, &err, 66, NULL);
    rc = upsert_fails("{'_id': 2}", "{'_id': 1}", &err);
    cases_check_error("replacement", rc, &err, 66, NULL);
    rc = upsert_fails("{'$set': {'a': 1}}", "{'b': 1, '$and': [{'b': 2}]}", &err);
    cases_check_error("contradiction", rc, &err, 54, NULL);
}

/* JSON shows no names of items. */
static void check_item_names(const bson_t *changes)
{
    bson_iter_t field, part;
    char name[12];
    assert_true(bson_iter_init_find(&field, changes, "disambiguatedPaths"));
    assert_true(bson_iter_recurse(&field, &field));
    while (bson_iter_next(&field)) {
        assert_true(BSON_ITER_HOLDS_ARRAY(&field) && bson_iter_recurse(&field, &part));
        for (int i = 0; bson_iter_next(&part); i++) {
            snprintf(name, sizeof name, "%d", i);
            assert_string_equal(bson_iter_key(&part), name);
        }
    }
}

static void test_query_update__ambiguous_paths(void **state)
{
    (void)state;
    ash_error err = ASH_ERROR_INIT;
    bson_t *changes = NULL;
    assert_ok(cases_apply("{'$set': {'a.1': 5, 'b.0.7': 6}}", NULL, NULL,
                          "{'a': {'1': 1}, 'b': [{'7': 1}]}", NULL, NULL, &changes, &err),
              &err);
    bson_t *expected = cases_bson("{'updatedFields': {'a.1': 5, 'b.0.7': 6}, 'removedFields': [], "
                                  "'truncatedArrays': [], 'disambiguatedPaths': {'a.1': ['a', "
                                  "'1'], 'b.0.7': ['b', 0, '7']}}");
    cases_same("set", "ambiguous", expected, changes);
    check_item_names(changes);
    bson_destroy(expected);
    bson_destroy(changes);
}

static void test_query_update__changes(void **state)
{
    (void)state;
    static const struct {
        const char *update, *filters, *doc, *expected;
    } cases[] = {
        {"{'$set': {'a': 2, 'b': 1}}", NULL, "{'a': 1, 'b': 1}",
         "{'updatedFields': {'a': 2}, 'removedFields': [], 'truncatedArrays': []}"},
        {"{'$set': {'a.b': 2, 'c.d': 1}}", NULL, "{'a': {'b': 1}}",
         "{'updatedFields': {'a.b': 2, 'c': {'d': 1}}, 'removedFields': [], 'truncatedArrays': "
         "[]}"},
        {"{'$unset': {'a': 1, 'b.c': 1}}", NULL, "{'a': 1, 'b': {'c': 1}}",
         "{'updatedFields': {}, 'removedFields': ['a', 'b.c'], 'truncatedArrays': []}"},
        {"{'$push': {'a': 3}}", NULL, "{'a': [1, 2]}",
         "{'updatedFields': {'a.2': 3}, 'removedFields': [], 'truncatedArrays': []}"},
        {"{'$pop': {'a': 1}}", NULL, "{'a': [1, 2]}",
         "{'updatedFields': {'a': [1]}, 'removedFields': [], 'truncatedArrays': []}"},
        {"{'$rename': {'a': 'b'}}", NULL, "{'a': 1}",
         "{'updatedFields': {'b': 1}, 'removedFields': ['a'], 'truncatedArrays': []}"},
        {"{'$set': {'a.$[i]': 0}}", "[{'i': 2}]", "{'a': [1, 2]}",
         "{'updatedFields': {'a.1': 0}, 'removedFields': [], 'truncatedArrays': []}"},
        {"[{'$set': {'a': {'$slice': ['$a', 2]}}}]", NULL, "{'_id': 1, 'a': [1, 2, 3]}",
         "{'updatedFields': {}, 'removedFields': [], 'truncatedArrays': [{'field': 'a', "
         "'newSize': 2}]}"},
        {"[{'$set': {'a.b': 5}}, {'$unset': 'c'}]", NULL, "{'_id': 1, 'a': {'b': 1}, 'c': 1}",
         "{'updatedFields': {'a.b': 5}, 'removedFields': ['c'], 'truncatedArrays': []}"},
        {"{'x': 1}", NULL, "{'_id': 1, 'a': 1}", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ash_error err = ASH_ERROR_INIT;
        bson_t *changes = NULL;
        assert_ok(cases_apply(cases[i].update, cases[i].filters, NULL, cases[i].doc, NULL, NULL,
                              &changes, &err),
                  &err);
        if (cases[i].expected == NULL) {
            assert_null(changes);
            continue;
        }
        bson_t *expected = cases_bson(cases[i].expected);
        cases_same(cases[i].update, cases[i].doc, expected, changes);
        bson_destroy(expected);
        bson_destroy(changes);
    }
}

static void test_query_update__limits(void **state)
{
    (void)state;
    ash_error err = ASH_ERROR_INIT;
    char path[512] = "{'$set': {'a";
    for (int i = 0; i < 110; i++)
        strcat(path, ".b");
    strcat(path, "': 1}}");
    int rc = cases_apply(path, NULL, NULL, NULL, NULL, NULL, NULL, &err);
    cases_check_error("deep path", rc, &err, 15, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_query_update__push),
        cmocka_unit_test(test_query_update__add_pop_pull),
        cmocka_unit_test(test_query_update__array_errors),
        cmocka_unit_test(test_query_update__positional),
        cmocka_unit_test(test_query_update__array_filter_errors),
        cmocka_unit_test(test_query_update__branches_that_meet_conflict),
        cmocka_unit_test(test_query_update__upsert),
        cmocka_unit_test(test_query_update__upsert_ids),
        cmocka_unit_test(test_query_update__changes),
        cmocka_unit_test(test_query_update__ambiguous_paths),
        cmocka_unit_test(test_query_update__limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
