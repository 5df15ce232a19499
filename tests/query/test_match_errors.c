/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include "bson/builder.h"

static void test_query_match__operator_errors(void **state)
{
    (void)state;
    static const struct error_case cases[] = {
        {"{'a': {'$foo': 1}}", 2, "unknown operator: $foo"},
        {"{'$foo': 1}", 2, "unknown top level operator: $foo"},
        {"{'a': {'$gt': 1, 'b': 2}}", 2, "unknown operator: b"},
        {"{'a': {'$in': 1}}", 2, "$in needs an array"},
        {"{'a': {'$nin': 1}}", 2, "$nin needs an array"},
        {"{'a': {'$in': [{'$gt': 1}]}}", 2, "cannot nest $ under $in"},
        {"{'a': {'$all': 1}}", 2, "$all needs an array"},
        {"{'a': {'$all': [{'$gt': 1}]}}", 2, "no $ expressions in $all"},
        {"{'a': {'$all': [{'$elemMatch': {'b': 1}}, 2]}}", 2, "consistent"},
        {"{'a': {'$elemMatch': 1}}", 2, "$elemMatch needs an Object"},
        {"{'a': {'$not': 1}}", 2, "$not needs a regex or a document"},
        {"{'a': {'$not': {}}}", 2, "$not cannot be empty"},
        {"{'a': {'$not': {'b': 1}}}", 2, "unknown operator: b"},
        {"{'$and': 1}", 2, "$and must be an array"},
        {"{'$or': []}", 2, "$or argument must be a non-empty array"},
        {"{'$nor': [1]}", 2, "$nor argument's entries must be objects"},
        {"{'a': {'$mod': 1}}", 2, "needs to be an array"},
        {"{'a': {'$mod': [1]}}", 2, "not enough elements"},
        {"{'a': {'$mod': [1, 2, 3]}}", 2, "too many elements"},
        {"{'a': {'$mod': [0, 1]}}", 2, "divisor cannot be 0"},
        {"{'a': {'$mod': [0.5, 1]}}", 2, "divisor cannot be 0"},
        {"{'a': {'$mod': ['x', 1]}}", 2, "divisor not a number"},
        {"{'a': {'$mod': [1, 'x']}}", 2, "remainder not a number"},
        {"{'a': {'$mod': [{'$numberDouble': 'NaN'}, 1]}}", 2, "divisor value is invalid"},
        {"{'a': {'$size': 'x'}}", 2, "Expected a number"},
        {"{'a': {'$size': 1.5}}", 2, "Expected an integer"},
        {"{'a': {'$size': -1}}", 2, "Expected a non-negative number"},
        {"{'a': {'@type': 'foo'}}", 2, "Unknown type name alias: foo"},
        {"{'a': {'@type': 0}}", 2, "Invalid numerical type code: 0"},
        {"{'a': {'@type': 99}}", 2, "Invalid numerical type code: 99"},
        {"{'a': {'@type': []}}", 9, "at least one type"},
        {"{'a': {'@type': {}}}", 14, "number or a string"},
        {"{'a': {'@regex': 1}}", 2, "$regex has to be a string"},
        {"{'a': {'@regex': 'x', '@options': 1}}", 2, "$options has to be a string"},
        {"{'a': {'@options': 'i'}}", 2, "$options needs a $regex"},
        {"{'a': {'@regex': 'x', '@options': 'q'}}", 51108, "invalid flag in regex options: q"},
        {"{'a': {'@regex': '('}}", 51091, "Regular expression is invalid"},
        {"{'a': {'$regularExpression': {'pattern': '(', 'options': ''}}}", 51091, "invalid"},
        {"{'a': {'$ne': {'$regularExpression': {'pattern': 'x', 'options': ''}}}}", 2, "$ne"},
        {"{'a': {'$gt': {'$regularExpression': {'pattern': 'x', 'options': ''}}}}", 2, "'a'"},
        {"{'a': {'$undefined': true}}", 2, "undefined"},
        {"{'a': {'$bitsAllSet': 'x'}}", 2, "$bitsAllSet"},
        {"{'a': {'$bitsAllSet': -1}}", 9, "non-negative"},
        {"{'a': {'$bitsAllSet': 1.5}}", 9, "Expected an integer"},
        {"{'a': {'$bitsAnySet': [-1]}}", 2, "bit positions"},
        {"{'a': {'$bitsAnySet': ['x']}}", 2, "bit positions"},
        {"{'a': {'$bitsFoo': 1}}", 2, "unknown operator: $bitsFoo"},
        {"{'$alwaysTrue': 2}", 9, "$alwaysTrue"},
        {"{'$or': [{'a': {'$foo': 1}}]}", 2, "$foo"},
        {"{'a': {'$elemMatch': {'b': {'$foo': 1}}}}", 2, "$foo"},
    };
    RUN_FILTER_ERRORS(cases);
}

static void test_query_match__refusals_and_schema_errors(void **state)
{
    (void)state;
    static const struct error_case cases[] = {
        {"{'$where': 'true'}", 2, "$where"},
        {"{'$text': {'$search': 'x'}}", 27, "$text"},
        {"{'a': {'$near': [1, 2]}}", 291, "$near"},
        {"{'a': {'$nearSphere': [1, 2]}}", 291, "$nearSphere"},
        {"{'a': {'$geoWithin': {}}}", 238, "$geoWithin"},
        {"{'a': {'$geoIntersects': {}}}", 238, "$geoIntersects"},
        {"{'$sampleRate': 0.5}", 238, "$sampleRate"},
        {"{'$jsonSchema': 1}", 14, "$jsonSchema must be an object"},
        {"{'$jsonSchema': {'oneOf': []}}", 9, "'oneOf'"},
        {"{'$jsonSchema': {'properties': {'a': {}}, 'properties': {'a': {}, 'b': {}, 'c': {}}}}", 9,
         "Duplicate $jsonSchema keyword: properties"},
        {"{'$jsonSchema': {'items': {}, 'items': {}}}", 9, "items"},
        {"{'$jsonSchema': {'foo': 1}}", 9, "'foo'"},
        {"{'$jsonSchema': {'required': 'a'}}", 14, "'required'"},
        {"{'$jsonSchema': {'required': []}}", 9, "'required'"},
        {"{'$jsonSchema': {'required': [1]}}", 14, "'required'"},
        {"{'$jsonSchema': {'type': 'integer'}}", 9, "'integer'"},
        {"{'$jsonSchema': {'type': 'foo'}}", 2, "foo"},
        {"{'$jsonSchema': {'bsonType': 'foo'}}", 2, "foo"},
        {"{'$jsonSchema': {'type': 'object', 'bsonType': 'object'}}", 9, "both"},
        {"{'$jsonSchema': {'properties': 1}}", 14, "'properties'"},
        {"{'$jsonSchema': {'properties': {'a': 1}}}", 14, "object"},
        {"{'$jsonSchema': {'enum': 1}}", 14, "'enum'"},
        {"{'$jsonSchema': {'enum': []}}", 9, "'enum'"},
        {"{'$jsonSchema': {'minimum': 'x'}}", 14, "'minimum'"},
        {"{'$jsonSchema': {'exclusiveMinimum': true}}", 9, "'minimum'"},
        {"{'$jsonSchema': {'exclusiveMaximum': 1}}", 14, "'exclusiveMaximum'"},
        {"{'$jsonSchema': {'minLength': -1}}", 9, "'minLength'"},
        {"{'$jsonSchema': {'additionalProperties': {}}}", 9, "'additionalProperties'"},
    };
    RUN_FILTER_ERRORS(cases);
}

static void nest(ash_builder *b, int levels)
{
    ash__builder_begin(b);
    for (int i = 0; i < levels; i++) {
        ash__builder_begin_array(b, "$and");
        ash__builder_begin_doc(b, "0");
    }
    for (int i = 0; i < 2 * levels; i++)
        ash__builder_end(b);
    ash__builder_end(b);
}

static void test_query_match__elem_match_nesting_is_bounded(void **state)
{
    (void)state;
    ash_error err = ASH_ERROR_INIT;
    ash_builder b = ASH_BUILDER_INIT;
    ash_matcher *m = NULL;
    bson_t filter;
    nest(&b, 49);
    ash__doc_to_bson(ash__builder_doc(&b), &filter);
    assert_ok(ash__matcher_new(&filter, NULL, &m, &err), &err);
    ash__matcher_free(m);
    ash__builder_release(&b);
    bson_t *deep = bson_new();
    for (int i = 0; i < 120; i++) {
        bson_t *outer = BCON_NEW("$nor", "[", BCON_DOCUMENT(deep), "]");
        bson_destroy(deep);
        deep = outer;
    }
    assert_int_equal(ash__matcher_new(deep, NULL, &m, &err), ASH_EINVAL);
    assert_int_equal(ash_error_server_code(&err), 2);
    bson_destroy(deep);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_query_match__operator_errors),
        cmocka_unit_test(test_query_match__refusals_and_schema_errors),
        cmocka_unit_test(test_query_match__elem_match_nesting_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
