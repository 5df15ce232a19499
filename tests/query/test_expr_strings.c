/* SPDX-License-Identifier: Apache-2.0 */
/* Strings, regular expressions, conversions, dates. */
#include "agg_cases.h"

#include "base/mem.h"

static void test_query_expr__strings(void **state)
{
    (void)state;
    static const struct expr_case cases[] = {
        {"{'$concat': ['a', 'b', '$s']}", "{'s': 'c'}", "'abc'"},
        {"{'$concat': ['a', '$x']}", "{}", "null"},
        {"{'$concat': []}", "{}", "''"},
        {"{'$substr': ['hello', 1, 3]}", "{}", "'ell'"},
        {"{'$substr': ['hello', 2, -1]}", "{}", "'llo'"},
        {"{'$substr': ['hello', 9, 2]}", "{}", "''"},
        {"{'$substr': [12345, 0, 2]}", "{}", "'12'"},
        {"{'$substr': ['$x', 0, 2]}", "{}", "''"},
        {"{'$substrBytes': ['abc', 0, 2]}", "{}", "'ab'"},
        {"{'$substrBytes': ['abc', {'$numberDouble': 'NaN'}, 2]}", "{}", "'ab'"},
        {"{'$substrBytes': ['abc', 0, {'$numberDecimal': 'NaN'}]}", "{}", "''"},
        {"{'$substrCP': ['h\\u00e9llo', 1, 2]}", "{}", "'\\u00e9l'"},
        {"{'$substrCP': ['abc', 5, 2]}", "{}", "''"},
        {"{'$toLower': 'ABC\\u00c9'}", "{}", "'abc\\u00c9'"},
        {"{'$toUpper': ['abc']}", "{}", "'ABC'"},
        {"{'$toUpper': '$x'}", "{}", "''"},
        {"{'$strcasecmp': ['Abc', 'aBC']}", "{}", "0"},
        {"{'$strcasecmp': ['a', 'b']}", "{}", "-1"},
        {"{'$strcasecmp': ['b', 'a']}", "{}", "1"},
        {"{'$strLenBytes': '\\u00e9'}", "{}", "2"},
        {"{'$strLenCP': '\\u00e9'}", "{}", "1"},
        {"{'$split': ['a-b--c', '-']}", "{}", "['a', 'b', '', 'c']"},
        {"{'$split': ['abc', '-']}", "{}", "['abc']"},
        {"{'$split': ['$x', '-']}", "{}", "null"},
        {"{'$indexOfBytes': ['cafeteria', 'e']}", "{}", "3"},
        {"{'$indexOfBytes': ['cafeteria', 'e', 4]}", "{}", "5"},
        {"{'$indexOfBytes': ['cafeteria', 'e', 4, 5]}", "{}", "-1"},
        {"{'$indexOfBytes': ['abc', 'z']}", "{}", "-1"},
        {"{'$indexOfBytes': ['abc', '', 9]}", "{}", "-1"},
        {"{'$indexOfBytes': ['$x', 'z']}", "{}", "null"},
        {"{'$indexOfCP': ['\\u00e9t\\u00e9', 't']}", "{}", "1"},
        {"{'$indexOfCP': ['\\u00e9t\\u00e9', '\\u00e9', 1]}", "{}", "2"},
        {"{'$trim': {'input': '  a b \\n'}}", "{}", "'a b'"},
        {"{'$ltrim': {'input': '  a '}}", "{}", "'a '"},
        {"{'$rtrim': {'input': '  a '}}", "{}", "'  a'"},
        {"{'$trim': {'input': 'xxaxyx', 'chars': 'xy'}}", "{}", "'a'"},
        {"{'$trim': {'input': '\\u00e9a\\u00e9', 'chars': '\\u00e9'}}", "{}", "'a'"},
        {"{'$trim': {'input': '$x'}}", "{}", "null"},
        {"{'$replaceOne': {'input': 'aaa', 'find': 'a', 'replacement': 'b'}}", "{}", "'baa'"},
        {"{'$replaceAll': {'input': 'aaa', 'find': 'a', 'replacement': 'bc'}}", "{}", "'bcbcbc'"},
        {"{'$replaceAll': {'input': 'abc', 'find': 'x', 'replacement': 'y'}}", "{}", "'abc'"},
        {"{'$replaceAll': {'input': 'ab', 'find': '', 'replacement': '-'}}", "{}", "'-a-b-'"},
        {"{'$replaceOne': {'input': '$x', 'find': 'a', 'replacement': 'b'}}", "{}", "null"},
    };
    RUN_EXPR(cases);
}

static void test_query_expr__regex(void **state)
{
    (void)state;
    static const struct expr_case cases[] = {
        {"{'$regexMatch': {'input': 'Hello', 'regex': '^h'}}", "{}", "false"},
        {"{'$regexMatch': {'input': 'Hello', 'regex': '^h', 'options': 'i'}}", "{}", "true"},
        {"{'$regexMatch': {'input': '$x', 'regex': 'a'}}", "{}", "false"},
        {"{'$regexMatch': {'input': 'b', 'regex': {'$regularExpression': {'pattern': 'B', "
         "'options': 'i'}}}}",
         "{}", "true"},
        {"{'$regexFind': {'input': 'caf\\u00e9 12', 'regex': '([0-9])([0-9])(x)?'}}", "{}",
         "{'match': '12', 'idx': 5, 'captures': ['1', '2', null]}"},
        {"{'$regexFind': {'input': 'abc', 'regex': 'x'}}", "{}", "null"},
        {"{'$regexFindAll': {'input': 'a1b2', 'regex': '[0-9]'}}", "{}",
         "[{'match': '1', 'idx': 1, 'captures': []}, {'match': '2', 'idx': 3, 'captures': []}]"},
        {"{'$regexFindAll': {'input': 'ab', 'regex': 'x*'}}", "{}",
         "[{'match': '', 'idx': 0, 'captures': []}, {'match': '', 'idx': 1, 'captures': []}, "
         "{'match': '', 'idx': 2, 'captures': []}]"},
        {"{'$regexFindAll': {'input': '$x', 'regex': 'x'}}", "{}", "[]"},
    };
    RUN_EXPR(cases);
}

static void test_query_expr__conversions(void **state)
{
    (void)state;
    static const struct expr_case cases[] = {
        {"{'$toString': 12}", "{}", "'12'"},
        {"{'$toString': 2.5}", "{}", "'2.5'"},
        {"{'$toString': 3.0}", "{}", "'3'"},
        {"{'$toString': true}", "{}", "'true'"},
        {"{'$toString': '$o'}", "{'o': {'$oid': '5f0000000000000000000001'}}",
         "'5f0000000000000000000001'"},
        {"{'$toString': '$d'}", "{'d': {'$date': {'$numberLong': '0'}}}",
         "'1970-01-01T00:00:00.000Z'"},
        {"{'$toString': {'$numberDecimal': '1.50'}}", "{}", "'1.50'"},
        {"{'$toString': '$x'}", "{}", "null"},
        {"{'$toInt': '42'}", "{}", "42"},
        {"{'$toInt': 2.9}", "{}", "2"},
        {"{'$toInt': true}", "{}", "1"},
        {"{'$toLong': '9000000000'}", "{}", "{'$numberLong': '9000000000'}"},
        {"{'$toLong': '$d'}", "{'d': {'$date': {'$numberLong': '77'}}}", "{'$numberLong': '77'}"},
        {"{'$toDouble': '2.5e3'}", "{}", "2500.0"},
        {"{'$toDecimal': '1.50'}", "{}", "{'$numberDecimal': '1.50'}"},
        {"{'$toBool': 0}", "{}", "false"},
        {"{'$toBool': 'x'}", "{}", "true"},
        {"{'$toDate': {'$numberLong': '5'}}", "{}", "{'$date': {'$numberLong': '5'}}"},
        {"{'$toDate': '1970-01-01T00:00:01Z'}", "{}", "{'$date': {'$numberLong': '1000'}}"},
        {"{'$toDate': '1970-01-02'}", "{}", "{'$date': {'$numberLong': '86400000'}}"},
        {"{'$toDate': '1970-01-01T02:00:00.5+02:00'}", "{}", "{'$date': {'$numberLong': '500'}}"},
        {"{'$toDate': {'$toObjectId': '000003e80000000000000000'}}", "{}",
         "{'$date': {'$numberLong': '1000000'}}"},
        {"{'$toObjectId': '5f0000000000000000000001'}", "{}",
         "{'$oid': '5f0000000000000000000001'}"},
        {"{'$convert': {'input': '7', 'to': 'int'}}", "{}", "7"},
        {"{'$convert': {'input': '7', 'to': 18}}", "{}", "{'$numberLong': '7'}"},
        {"{'$convert': {'input': 'x', 'to': 'int', 'onError': 'bad'}}", "{}", "'bad'"},
        {"{'$convert': {'input': '$x', 'to': 'int', 'onNull': 'none'}}", "{}", "'none'"},
        {"{'$convert': {'input': [1], 'to': 'int', 'onError': -1}}", "{}", "-1"},
    };
    RUN_EXPR(cases);
}

#define LEAP "{'d': {'$date': '2024-02-29T12:30:45.678Z'}}"

static void test_query_expr__date_parts(void **state)
{
    (void)state;
    static const struct expr_case cases[] = {
        {"{'$year': '$d'}", LEAP, "2024"},
        {"{'$month': '$d'}", LEAP, "2"},
        {"{'$dayOfMonth': '$d'}", LEAP, "29"},
        {"{'$hour': '$d'}", LEAP, "12"},
        {"{'$minute': '$d'}", LEAP, "30"},
        {"{'$second': '$d'}", LEAP, "45"},
        {"{'$millisecond': '$d'}", LEAP, "678"},
        {"{'$dayOfWeek': '$d'}", LEAP, "5"},
        {"{'$dayOfYear': '$d'}", LEAP, "60"},
        {"{'$week': '$d'}", LEAP, "8"},
        {"{'$isoWeek': '$d'}", LEAP, "9"},
        {"{'$isoDayOfWeek': '$d'}", LEAP, "4"},
        {"{'$isoWeekYear': '$d'}", "{'d': {'$date': '2021-01-03T00:00:00Z'}}",
         "{'$numberLong': '2020'}"},
        {"{'$year': '$d'}", "{'d': {'$date': {'$numberLong': '-1'}}}", "1969"},
        {"{'$year': '$d'}", "{'d': {'$date': {'$numberLong': '8000000000000000'}}}", "255479"},
        {"{'$year': '$d'}", "{'d': {'$date': {'$numberLong': '-9223372036854775808'}}}",
         "-292275055"},
        {"{'$millisecond': '$d'}", "{'d': {'$date': {'$numberLong': '-9223372036854775808'}}}",
         "192"},
        {"{'$hour': {'date': '$d', 'timezone': '+05:30'}}", LEAP, "18"},
        {"{'$dayOfMonth': {'date': '$d', 'timezone': '-1300'}}", LEAP, "28"},
        {"{'$year': '$x'}", "{}", "null"},
        {"{'$dateToString': {'date': '$d'}}", LEAP, "'2024-02-29T12:30:45.678Z'"},
        {"{'$dateToString': {'date': '$d', 'format': '%Y/%m/%d %H:%M:%S.%L %j %w %%'}}", LEAP,
         "'2024/02/29 12:30:45.678 060 5 %'"},
        {"{'$dateToString': {'date': '$d', 'format': '%H%z %Z', 'timezone': '-02:30'}}", LEAP,
         "'10-0230 -150'"},
        {"{'$dateToString': {'date': '$d', 'format': '%b %B %G-W%V-%u'}}", LEAP,
         "'Feb February 2024-W09-4'"},
        {"{'$dateToString': {'date': '$x', 'onNull': 'never'}}", "{}", "'never'"},
        {"{'$dateFromParts': {'year': 2024, 'month': 2, 'day': 29}}", "{}",
         "{'$date': '2024-02-29T00:00:00Z'}"},
        {"{'$dateFromParts': {'year': 2023, 'month': 14, 'hour': 25}}", "{}",
         "{'$date': '2024-02-02T01:00:00Z'}"},
        {"{'$dateFromString': {'dateString': '2024-02-29T12:00:00', 'timezone': '+02:00'}}", "{}",
         "{'$date': '2024-02-29T10:00:00Z'}"},
        {"{'$dateFromString': {'dateString': 'x', 'onError': 0}}", "{}", "0"},
        {"{'$dateFromString': {'dateString': '2024-02-29T12:00:00+01:00', 'timezone': 'UTC'}}",
         "{}", "{'$date': '2024-02-29T11:00:00Z'}"},
        {"{'$dateFromString': {'dateString': '2024-02-29T12:00:00Z', 'timezone': '+02:00', "
         "'onError': 0}}",
         "{}", "0"},
        {"{'$dateFromString': {'dateString': '$x'}}", "{}", "null"},
        {"{'$dateFromString': {'dateString': '$x', 'timezone': null, 'onNull': 1}}", "{}", "1"},
    };
    RUN_EXPR(cases);
}

/* A zone that is null or missing makes everything null. */
static void test_query_expr__null_zones(void **state)
{
    (void)state;
    static const char *const zones[] = {"null", "'$nope'"};
    static const char *const exprs[] = {
        "{'$year': {'date': '$d', 'timezone': ",
        "{'$isoWeekYear': {'date': '$d', 'timezone': ",
        "{'$dateToString': {'date': '$d', 'timezone': ",
        "{'$dateFromParts': {'year': 2024, 'timezone': ",
        "{'$dateFromString': {'dateString': '2024-02-29', 'timezone': ",
        "{'$dateFromString': {'dateString': 'x', 'onError': 1, 'timezone': ",
        "{'$dateAdd': {'startDate': '$d', 'unit': 'day', 'amount': 1, 'timezone': ",
        "{'$dateDiff': {'startDate': '$d', 'endDate': '$d', 'unit': 'day', 'timezone': ",
        "{'$dateTrunc': {'date': '$d', 'unit': 'day', 'timezone': ",
    };
    for (size_t i = 0; i < 2 * ASH_ARRAY_LEN(exprs); i++) {
        char *text = ash__sprintf("%s%s}}", exprs[i / 2], zones[i % 2]);
        const struct expr_case one[] = {{text, LEAP, "null"}};
        RUN_EXPR(one);
        ash__free(text);
    }
}

static void test_query_expr__date_math(void **state)
{
    (void)state;
    static const struct expr_case cases[] = {
        {"{'$dateAdd': {'startDate': '$d', 'unit': 'year', 'amount': 1}}", LEAP,
         "{'$date': '2025-02-28T12:30:45.678Z'}"},
        {"{'$dateAdd': {'startDate': '$d', 'unit': 'month', 'amount': -12}}", LEAP,
         "{'$date': '2023-02-28T12:30:45.678Z'}"},
        {"{'$dateAdd': {'startDate': '$d', 'unit': 'day', 'amount': 1}}", LEAP,
         "{'$date': '2024-03-01T12:30:45.678Z'}"},
        {"{'$dateSubtract': {'startDate': '$d', 'unit': 'hour', 'amount': 13}}", LEAP,
         "{'$date': '2024-02-28T23:30:45.678Z'}"},
        {"{'$dateAdd': {'startDate': '$x', 'unit': 'day', 'amount': 1}}", "{}", "null"},
        {"{'$dateDiff': {'startDate': {'$toDate': '2023-12-31'}, 'endDate': '$d', 'unit': 'year'}}",
         LEAP, "{'$numberLong': '1'}"},
        {"{'$dateDiff': {'startDate': {'$toDate': '2023-12-31'}, 'endDate': '$d', 'unit': "
         "'month'}}",
         LEAP, "{'$numberLong': '2'}"},
        {"{'$dateDiff': {'startDate': '$d', 'endDate': {'$toDate': '2024-02-28'}, 'unit': 'day'}}",
         LEAP, "{'$numberLong': '-1'}"},
        {"{'$dateDiff': {'startDate': {'$toDate': '2024-02-24'}, 'endDate': {'$toDate': "
         "'2024-02-25'}, 'unit': 'week'}}",
         "{}", "{'$numberLong': '1'}"},
        {"{'$dateTrunc': {'date': '$d', 'unit': 'month'}}", LEAP,
         "{'$date': '2024-02-01T00:00:00Z'}"},
        {"{'$dateTrunc': {'date': '$d', 'unit': 'hour', 'binSize': 6}}", LEAP,
         "{'$date': '2024-02-29T12:00:00Z'}"},
        {"{'$dateTrunc': {'date': '$d', 'unit': 'week'}}", LEAP,
         "{'$date': '2024-02-25T00:00:00Z'}"},
        {"{'$dateTrunc': {'date': '$d', 'unit': 'week', 'startOfWeek': 'monday'}}", LEAP,
         "{'$date': '2024-02-26T00:00:00Z'}"},
    };
    RUN_EXPR(cases);
}

static void test_query_expr__string_errors(void **state)
{
    (void)state;
    static const struct error_case cases[] = {
        {"{'$concat': ['a', 1]}", 16702, "$concat only supports strings, not int"},
        {"{'$substrBytes': ['a', 'x', 1]}", 16034, NULL},
        {"{'$substrBytes': ['a', -1, 1]}", 50752, NULL},
        {"{'$substrBytes': ['\\u00e9', 1, 1]}", 28656, NULL},
        {"{'$substrBytes': ['\\u00e9', 0, 1]}", 28657, NULL},
        {"{'$substrCP': ['a', -1, 1]}", 34455, NULL},
        {"{'$substr': [[1], 0, 1]}", 16007, NULL},
        {"{'$toLower': [[[1]]]}", 16007, NULL},
        {"{'$strLenBytes': 5}", 34473, NULL},
        {"{'$strLenCP': '$nope'}", 34471, "missing"},
        {"{'$split': [1, 'a']}", 40085, NULL},
        {"{'$split': ['a', 1]}", 40086, NULL},
        {"{'$split': ['a', '']}", 40087, NULL},
        {"{'$indexOfBytes': [1, 'a']}", 40091, NULL},
        {"{'$indexOfCP': ['a', 1]}", 40094, NULL},
        {"{'$indexOfBytes': ['a', 'a', 'x']}", 40096, NULL},
        {"{'$indexOfBytes': ['a', 'a', -1]}", 40097, NULL},
        {"{'$trim': 'a'}", 50696, NULL},
        {"{'$trim': {'chars': 'a'}}", 50695, NULL},
        {"{'$trim': {'input': 'a', 'x': 1}}", 50694, NULL},
        {"{'$trim': {'input': 1}}", 50699, NULL},
        {"{'$trim': {'input': 'a', 'chars': 1}}", 50700, NULL},
        {"{'$replaceOne': {'input': 1, 'find': 'a', 'replacement': 'b'}}", 51746, NULL},
        {"{'$replaceAll': {'input': 'a', 'find': 1, 'replacement': 'b'}}", 51745, NULL},
        {"{'$replaceAll': {'input': 'a', 'find': 'b', 'replacement': 1}}", 51744, NULL},
        {"{'$regexMatch': {'input': 1, 'regex': 'a'}}", 51104, NULL},
        {"{'$regexMatch': {'input': 'a', 'regex': 1}}", 51105, NULL},
        {"{'$regexMatch': {'input': 'a', 'regex': '('}}", 51111, NULL},
        {"{'$regexMatch': {'input': 'a', 'regex': 'a', 'options': 'q'}}", 51108, NULL},
        {"{'$regexMatch': {'regex': 'a'}}", 31022, NULL},
        {"{'$regexMatch': {'input': 'a'}}", 31023, NULL},
        {"{'$regexMatch': {'input': 'a', 'regex': 'a', 'foo': 1}}", 31024, NULL},
        {"{'$toInt': 'x'}", 241, "Failed to parse number 'x'"},
        {"{'$toInt': '1.5'}", 241, NULL},
        {"{'$toInt': ' 1'}", 241, NULL},
        {"{'$toInt': '99999999999'}", 241, NULL},
        {"{'$toInt': 3e10}", 241, NULL},
        {"{'$toInt': '$$NOW'}", 241, "Unsupported conversion from date to int"},
        {"{'$toDouble': '0x10'}", 241, NULL},
        {"{'$toDate': 'yesterday'}", 241, NULL},
        {"{'$toDate': '2023-02-29'}", 241, NULL},
        {"{'$toDate': true}", 241, NULL},
        {"{'$toObjectId': 'xyz'}", 241, NULL},
        {"{'$toString': [[1]]}", 241, NULL},
        {"{'$convert': {'input': 1}}", 9, NULL},
        {"{'$convert': {'input': 1, 'to': 'foo'}}", 2, NULL},
        {"{'$year': 's'}", 16006, "can't convert from BSON type string to Date"},
        {"{'$hour': {'date': '$$NOW', 'timezone': 'Europe/Paris'}}", 40485, "Europe/Paris"},
        {"{'$hour': {'date': '$$NOW', 'timezone': 1}}", 40517, NULL},
        {"{'$dateFromString': {'dateString': '2020-01-01T00:00:00Z', 'timezone': '+02:00'}}", 241,
         "not both"},
        {"{'$dateFromString': {'dateString': 'x', 'timezone': '+02:00'}}", 241, "'x'"},
        {"{'$dateToString': {'date': '$$NOW', 'format': '%'}}", 18535, NULL},
        {"{'$dateToString': {'date': '$$NOW', 'format': '%q'}}", 18536, NULL},
        {"{'$dateToString': {'format': '%q'}}", 18628, NULL},
        {"{'$dateFromParts': {'month': 1}}", 40516, NULL},
        {"{'$dateFromParts': {'year': 0}}", 40523, NULL},
        {"{'$dateAdd': {'startDate': '$$NOW', 'unit': 'eon', 'amount': 1}}", 9, "eon"},
        {"{'$dateAdd': {'startDate': '$$NOW', 'unit': 'day', 'amount': 1.5}}", 5166405, NULL},
        {"{'$dateAdd': {'startDate': '$$NOW', 'unit': 'day', 'amount': {'$numberLong': "
         "'9223372036854775807'}}}",
         5166406, NULL},
        {"{'$dateAdd': {'unit': 'day', 'amount': 1}}", 5166402, NULL},
        {"{'$dateTrunc': {'date': {'$toDate': {'$numberLong': '-9223372036854775808'}}, 'unit': "
         "'millisecond', 'binSize': 7}}",
         15, "$dateTrunc"},
        {"{'$dateTrunc': {'date': {'$toDate': {'$numberLong': '-9223372036854775808'}}, 'unit': "
         "'week', 'binSize': 1000000000}}",
         15, "$dateTrunc"},
        {"{'$dateTrunc': {'date': {'$toDate': {'$numberLong': '-9223372036854775808'}}, 'unit': "
         "'day'}}",
         15, "$dateTrunc"},
        {"{'$dateFromString': {'dateString': 'x'}}", 241, NULL},
    };
    RUN_EXPR_ERRORS(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_query_expr__strings),
        cmocka_unit_test(test_query_expr__regex),
        cmocka_unit_test(test_query_expr__conversions),
        cmocka_unit_test(test_query_expr__date_parts),
        cmocka_unit_test(test_query_expr__null_zones),
        cmocka_unit_test(test_query_expr__date_math),
        cmocka_unit_test(test_query_expr__string_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
