/* SPDX-License-Identifier: Apache-2.0 */
/* Modifiers of single values, paths, conflicts. */
#include "agg_cases.h"

static void test_query_update__set_and_unset(void **state)
{
    (void)state;
    static const struct update_case cases[] = {
        {"{'$set': {'a': 2}}", "{'_id': 1, 'a': 1}", "{'_id': 1, 'a': 2}"},
        {"{'$set': {'a': 1}}", "{'_id': 1, 'a': 1}", "{'_id': 1, 'a': 1}"},
        {"{'$set': {}}", "{'a': 1}", "{'a': 1}"},
        {"{'$set': {'a.b': 2}}", "{'a': {'b': 1, 'c': 3}}", "{'a': {'b': 2, 'c': 3}}"},
        {"{'$set': {'a.b.c': 2}}", "{}", "{'a': {'b': {'c': 2}}}"},
        {"{'$set': {'a.1': 9}}", "{'a': [1, 2, 3]}", "{'a': [1, 9, 3]}"},
        {"{'$set': {'a.4': 9}}", "{'a': [1, 2]}", "{'a': [1, 2, null, null, 9]}"},
        {"{'$set': {'a.1.b': 9}}", "{'a': [{}, {'b': 1}]}", "{'a': [{}, {'b': 9}]}"},
        {"{'$set': {'a.0': 9}}", "{}", "{'a': {'0': 9}}"},
        {"{'$set': {'z': 1, 'b': 2, 'a': 3}}", "{'m': 0}", "{'m': 0, 'a': 3, 'b': 2, 'z': 1}"},
        {"{'$set': {'10': 1, '9': 2, 'a': 3}}", "{}", "{'9': 2, '10': 1, 'a': 3}"},
        {"{'$set': {'b': 1}, '$inc': {'a': 1}}", "{}", "{'a': 1, 'b': 1}"},
        {"{'$set': {'a.b': 1, 'a.c': 2}}", "{'a': {'c': 0}}", "{'a': {'c': 2, 'b': 1}}"},
        {"{'$set': {'a': {'x': 1}}}", "{'a': [1]}", "{'a': {'x': 1}}"},
        {"{'$set': {'_id': 1, 'a': 1}}", "{'_id': 1}", "{'_id': 1, 'a': 1}"},
        {"{'$unset': {'a': ''}}", "{'a': 1, 'b': 2}", "{'b': 2}"},
        {"{'$unset': {'a.b': 1}}", "{'a': {'b': 1, 'c': 2}}", "{'a': {'c': 2}}"},
        {"{'$unset': {'a.b.c': 1}}", "{'x': 1}", "{'x': 1}"},
        {"{'$unset': {'a.b': 1}}", "{'a': 5}", "{'a': 5}"},
        {"{'$unset': {'a.1': 1}}", "{'a': [1, 2, 3]}", "{'a': [1, null, 3]}"},
        {"{'$unset': {'a.7': 1}}", "{'a': [1]}", "{'a': [1]}"},
        {"{'$unset': {'a.b': 1}}", "{'a': [{'b': 1}]}", "{'a': [{'b': 1}]}"},
        {"{'$setOnInsert': {'a': 1}}", "{'b': 1}", "{'b': 1}"},
        {"{'$set': {'p.$each': 5}}", "{}", "{'p': {'$each': 5}}"},
        {"{'$set': {'p.$each': 5, 'p.$b.$c': 1}}", "{'p': {'$each': 1}}",
         "{'p': {'$each': 5, '$b': {'$c': 1}}}"},
        {"{'$inc': {'p.$each': 5}}", "{'p': {'$each': 1}}", "{'p': {'$each': 6}}"},
        {"{'$push': {'p.$each': 5}}", "{'p': {'$each': [1]}}", "{'p': {'$each': [1, 5]}}"},
        {"{'$unset': {'p.$each': 5}}", "{'p': {'$each': 1}}", "{'p': {}}"},
        {"{'$rename': {'p.$each': 'p.$b'}}", "{'p': {'$each': 1}}", "{'p': {'$b': 1}}"},
        {"{'$unset': {'$z': 1}}", "{'$z': 1, 'b': 1}", "{'b': 1}"},
        {"{'$setOnInsert': {'$z': 1}}", "{'b': 1}", "{'b': 1}"},
    };
    RUN_UPDATE(cases);
}

static void test_query_update__numbers(void **state)
{
    (void)state;
    static const struct update_case cases[] = {
        {"{'$inc': {'a': 2}}", "{'a': 1}", "{'a': 3}"},
        {"{'$inc': {'a': 2}}", "{}", "{'a': 2}"},
        {"{'$inc': {'a': 0}}", "{'a': 1}", "{'a': 1}"},
        {"{'$inc': {'a': 1.5}}", "{'a': 1}", "{'a': 2.5}"},
        {"{'$inc': {'a': 1}}", "{'a': 2147483647}", "{'a': {'$numberLong': '2147483648'}}"},
        {"{'$inc': {'a': {'$numberDecimal': '0.1'}}}", "{'a': 1}",
         "{'a': {'$numberDecimal': '1.1'}}"},
        {"{'$mul': {'a': 3}}", "{'a': 4}", "{'a': 12}"},
        {"{'$mul': {'a': 3}}", "{}", "{'a': 0}"},
        {"{'$mul': {'a': 3.5}}", "{}", "{'a': 0.0}"},
        {"{'$mul': {'a': {'$numberLong': '3'}}}", "{}", "{'a': {'$numberLong': '0'}}"},
        {"{'$min': {'a': 3}}", "{'a': 4}", "{'a': 3}"},
        {"{'$min': {'a': 5}}", "{'a': 4}", "{'a': 4}"},
        {"{'$min': {'a': 4.0}}", "{'a': 4}", "{'a': 4}"},
        {"{'$max': {'a': 5}}", "{'a': 4}", "{'a': 5}"},
        {"{'$max': {'a': 'x'}}", "{'a': 4}", "{'a': 'x'}"},
        {"{'$max': {'a': 5}}", "{}", "{'a': 5}"},
        {"{'$min': {'a': 5}}", "{'a': null}", "{'a': null}"},
        {"{'$bit': {'a': {'and': 6}}}", "{'a': 13}", "{'a': 4}"},
        {"{'$bit': {'a': {'or': 3}}}", "{}", "{'a': 3}"},
        {"{'$bit': {'a': {'xor': {'$numberLong': '5'}}}}", "{'a': 1}",
         "{'a': {'$numberLong': '4'}}"},
        {"{'$currentDate': {'a': true}}", "{'a': 1}",
         "{'a': {'$date': {'$numberLong': '1709209845678'}}}"},
        {"{'$currentDate': {'a': {'@type': 'date'}}}", "{}",
         "{'a': {'$date': {'$numberLong': '1709209845678'}}}"},
        {"{'$currentDate': {'a': {'@type': 'timestamp'}}}", "{}",
         "{'a': {'$timestamp': {'t': 1000, 'i': 7}}}"},
    };
    RUN_UPDATE(cases);
}

static void test_query_update__rename(void **state)
{
    (void)state;
    static const struct update_case cases[] = {
        {"{'$rename': {'a': 'b'}}", "{'a': 1, 'c': 2}", "{'c': 2, 'b': 1}"},
        {"{'$rename': {'a': 'b'}}", "{'b': 3, 'a': 1}", "{'b': 1}"},
        {"{'$rename': {'a': 'b'}}", "{'c': 1}", "{'c': 1}"},
        {"{'$rename': {'a': 'b'}}", "{'b': 1}", "{'b': 1}"},
        {"{'$rename': {'a': 'b.c'}}", "{'a': 1}", "{'b': {'c': 1}}"},
        {"{'$rename': {'a.b': 'c'}}", "{'a': {'b': 1, 'd': 2}}", "{'a': {'d': 2}, 'c': 1}"},
        {"{'$rename': {'a.b': 'c'}}", "{'a': 5}", "{'a': 5}"},
    };
    RUN_UPDATE(cases);
}

static void test_query_update__replacement(void **state)
{
    (void)state;
    static const struct update_case cases[] = {
        {"{'x': 1}", "{'_id': 7, 'a': 1}", "{'_id': 7, 'x': 1}"},
        {"{}", "{'_id': 7, 'a': 1}", "{'_id': 7}"},
        {"{'x': 1, '_id': 7}", "{'_id': 7, 'a': 1}", "{'_id': 7, 'x': 1}"},
        {"{'x.y': 1}", "{'_id': 7}", "{'_id': 7, 'x.y': 1}"},
        {"{'_id': 7, 'a': 1}", "{'_id': 7, 'a': 1}", "{'_id': 7, 'a': 1}"},
    };
    RUN_UPDATE(cases);
}

static void test_query_update__pipeline(void **state)
{
    (void)state;
    static const struct update_case cases[] = {
        {"[{'$set': {'b': {'$add': ['$a', 1]}}}]", "{'_id': 1, 'a': 1}",
         "{'_id': 1, 'a': 1, 'b': 2}"},
        {"[{'$set': {'t': '$$NOW'}}]", "{'_id': 1}",
         "{'_id': 1, 't': {'$date': {'$numberLong': '1709209845678'}}}"},
        {"[{'$addFields': {'a.b': 2}}, {'$unset': 'c'}]", "{'_id': 1, 'a': {'x': 0}, 'c': 3}",
         "{'_id': 1, 'a': {'x': 0, 'b': 2}}"},
        {"[{'$unset': ['a', 'b.c']}]", "{'_id': 1, 'a': 1, 'b': {'c': 1, 'd': 2}}",
         "{'_id': 1, 'b': {'d': 2}}"},
        {"[{'$project': {'a': 1, '_id': 0}}]", "{'_id': 1, 'a': 1, 'b': 2}", "{'_id': 1, 'a': 1}"},
        {"[{'$replaceRoot': {'newRoot': '$d'}}]", "{'_id': 1, 'd': {'x': 5}}",
         "{'_id': 1, 'x': 5}"},
        {"[{'$replaceWith': {'$mergeObjects': ['$$ROOT', {'a': 2}]}}]", "{'_id': 1, 'a': 1}",
         "{'_id': 1, 'a': 2}"},
        {"[{'$set': {'a': '$$REMOVE'}}]", "{'_id': 1, 'a': 1}", "{'_id': 1}"},
        {"[]", "{'_id': 1, 'a': 1}", "{'_id': 1, 'a': 1}"},
    };
    RUN_UPDATE(cases);
}

static void test_query_update__parse_errors(void **state)
{
    (void)state;
    static const struct update_error_case cases[] = {
        {"1", NULL, 9, "either an object or an array"},
        {"{'$foo': {'a': 1}}", NULL, 9, "Unknown modifier: $foo"},
        {"{'$set': {'a': 1}, 'b': 2}", NULL, 9, "Unknown modifier: b"},
        {"{'a': 1, '$set': {'b': 2}}", NULL, 52, "$set"},
        {"{'$set': 5}", NULL, 9, "Modifiers operate on fields but we found type int"},
        {"{'$set': {'': 5}}", NULL, 56, NULL},
        {"{'$set': {'a..b': 5}}", NULL, 56, "'a..b' contains an empty field name"},
        {"{'$set': {'a.': 5}}", NULL, 56, NULL},
        {"{'$set': {'$': 5}}", NULL, 2, "first position"},
        {"{'$set': {'$[]': 5}}", NULL, 2, "first position"},
        {"{'$set': {'a.$.b.$': 5}}", NULL, 2, "Too many positional"},
        {"{'$set': {'a.$[i]': 5}}", NULL, 2, "No array filter found for identifier 'i'"},
        {"{'$set': {'a': 1}, '$inc': {'a': 1}}", NULL, 40,
         "Updating the path 'a' would create a conflict at 'a'"},
        {"{'$set': {'a': 1, 'a.b': 1}}", NULL, 40,
         "Updating the path 'a.b' would create a conflict at 'a'"},
        {"{'$set': {'a.b': 1, 'a': 1}}", NULL, 40, "conflict at 'a'"},
        {"{'$set': {'a.$[]': 1, 'a.0': 1}}", NULL, 40, "conflict at 'a'"},
        {"{'$rename': {'a': 'b', 'b': 'c'}}", NULL, 40, "conflict at 'b'"},
        {"{'$rename': {'a': 'a'}}", NULL, 2, "must differ"},
        {"{'$rename': {'a': 1}}", NULL, 2, "must be a string"},
        {"{'$rename': {'a.$[]': 'b'}}", NULL, 2, "dynamic"},
        {"{'$rename': {'a': 'b.$'}}", NULL, 2, "dynamic"},
        {"{'$inc': {'a': 'x'}}", NULL, 14,
         "Cannot increment with non-numeric argument: {a: \"x\"}"},
        {"{'$mul': {'a': 'x'}}", NULL, 14, "Cannot multiply"},
        {"{'$currentDate': {'a': 1}}", NULL, 2, "is not valid type for $currentDate"},
        {"{'$currentDate': {'a': {'@type': 'x'}}}", NULL, 2, "'date' or 'timestamp'"},
        {"{'$bit': {'a': 1}}", NULL, 2, NULL},
        {"{'$bit': {'a': {'nand': 1}}}", NULL, 2, "'nand'"},
        {"{'$bit': {'a': {'or': 1.5}}}", NULL, 2, "Integer"},
        {"[{'$match': {}}]", NULL, 72, "$match is not allowed"},
        {"[{'$noSuch': {}}]", NULL, 40324, "Unrecognized pipeline stage name: '$noSuch'"},
        {"[{'$set': {'a': 1}, '$unset': 'b'}]", NULL, 40323, NULL},
        {"[1]", NULL, 14, NULL},
        {"[{'$set': {'a': '$$x'}}]", NULL, 17276, NULL},
        {"[{'$replaceRoot': {}}]", NULL, 40414, NULL},
    };
    RUN_UPDATE_ERRORS(cases);
}

static void test_query_update__apply_errors(void **state)
{
    (void)state;
    static const struct update_error_case cases[] = {
        {"{'$set': {'a.b': 1}}", "{'a': 1}", 28, "Cannot create field 'b' in element {a: 1}"},
        {"{'$set': {'a.b': 1}}", "{'a': null}", 28, "Cannot create field 'b' in element {a: null}"},
        {"{'$set': {'a.b': 1}}", "{'a': [1]}", 28, "Cannot create field 'b' in element {a: [ 1 ]}"},
        {"{'$set': {'a.b.c': 1}}", "{'a': {'b': 'x'}}", 28, "'c' in element {b: \"x\"}"},
        {"{'$set': {'a.2000000': 1}}", "{'a': []}", 2, "backfill"},
        {"{'$set': {'a.$': 1}}", "{'a': [1]}", 2, "did not find the match needed"},
        {"{'$set': {'a.$': 1}}", "{'a': 3}", 2, "did not find the match needed"},
        {"{'$inc': {'a': 1}}", "{'_id': 3, 'a': 'x'}", 14,
         "Cannot apply $inc to a value of non-numeric type. {_id: 3} has the field 'a' of "
         "non-numeric type string"},
        {"{'$inc': {'a': 1}}", "{'a': null}", 14, NULL},
        {"{'$inc': {'a': 1}}", "{'a': {'$numberLong': '9223372036854775807'}}", 2,
         "Failed to apply $inc"},
        {"{'$mul': {'a': 2}}", "{'a': {'$numberLong': '9223372036854775807'}}", 2,
         "Failed to apply $mul"},
        {"{'$bit': {'a': {'or': 1}}}", "{'a': 1.5}", 2, "non-integral"},
        {"{'$rename': {'a.0': 'b'}}", "{'_id': 1, 'a': [1]}", 2, "source field cannot be an array"},
        {"{'$rename': {'b': 'a.0'}}", "{'_id': 1, 'a': [1], 'b': 1}", 2,
         "destination field cannot be an array"},
        {"{'$set': {'$z': 2}}", "{'_id': 1}", 52, "'$z' in '$z'"},
        {"{'$inc': {'$z.a': 2}}", "{'_id': 1}", 52, "'$z' in '$z.a'"},
        {"{'$rename': {'a': '$z'}}", "{'a': 1}", 52, "'$z' in '$z'"},
        {"{'$set': {'_id': 2}}", "{'_id': 1}", 66, "immutable field '_id'"},
        {"{'$unset': {'_id': 1}}", "{'_id': 1}", 66, NULL},
        {"{'$rename': {'_id': 'x'}}", "{'_id': 1}", 66, NULL},
        {"{'$set': {'_id.a': 2}}", "{'_id': {'a': 1}}", 66, NULL},
        {"{'_id': 2}", "{'_id': 1}", 66, "altered to {_id: 2}"},
        {"[{'$set': {'_id': 2}}]", "{'_id': 1}", 66, NULL},
        {"[{'$set': {'a': {'$divide': [1, 0]}}}]", "{'_id': 1}", 2, NULL},
        {"[{'$replaceWith': '$a'}]", "{'a': 1}", 40228, NULL},
        {"{'$set': {'a.$[]': 1}}", "{}", 2, "must exist"},
        {"{'$set': {'a.$[]': 1}}", "{'a': 1}", 2, "non-array element a: 1"},
    };
    RUN_UPDATE_ERRORS(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_query_update__set_and_unset),
        cmocka_unit_test(test_query_update__numbers),
        cmocka_unit_test(test_query_update__rename),
        cmocka_unit_test(test_query_update__replacement),
        cmocka_unit_test(test_query_update__pipeline),
        cmocka_unit_test(test_query_update__parse_errors),
        cmocka_unit_test(test_query_update__apply_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
