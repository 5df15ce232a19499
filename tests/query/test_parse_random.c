/* SPDX-License-Identifier: Apache-2.0 */
#include "plan_cases.h"

#include "base/mem.h"
#include "query/project/project.h"

#include <string.h>

/* Filters, projections and sorts put together from operators and values without any grammar: each
 * must be refused with a text and a code, or work. */

#define ROUNDS 20000

static uint64_t seed = 88172645463325252u;

static uint32_t roll(uint32_t sides)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 33) % sides;
}

static const char *const names[] = {"a",
                                    "b",
                                    "a.b",
                                    "a.0",
                                    "a.b.c",
                                    "_id",
                                    "",
                                    "a.",
                                    ".a",
                                    "a..b",
                                    "a.$",
                                    "$",
                                    "$eq",
                                    "$ne",
                                    "$gt",
                                    "$gte",
                                    "$lt",
                                    "$lte",
                                    "$in",
                                    "$nin",
                                    "$and",
                                    "$or",
                                    "$nor",
                                    "$not",
                                    "$exists",
                                    "$type",
                                    "$mod",
                                    "$regex",
                                    "$options",
                                    "$all",
                                    "$size",
                                    "$elemMatch",
                                    "$bitsAllSet",
                                    "$bitsAnyClear",
                                    "$expr",
                                    "$comment",
                                    "$slice",
                                    "$meta",
                                    "$jsonSchema",
                                    "required",
                                    "properties",
                                    "bsonType",
                                    "enum",
                                    "minimum",
                                    "additionalProperties",
                                    "items",
                                    "$ref",
                                    "$id",
                                    "$where",
                                    "$natural",
                                    "$add",
                                    "$literal",
                                    "$cond",
                                    "$alwaysFalse"};

static const char *const texts[] = {"",       "a",  "^a",     "(", "[", "int",
                                    "number", "$a", "$$ROOT", "i", "zz"};

static void append_contents(ash_builder *b, bool is_array, int depth);

static void append_number(ash_builder *b, const char *name)
{
    static const double odd[] = {0, -0.0, 0.5, 1e300, -1e18, 1.0 / 0.0, -1.0 / 0.0};
    switch (roll(3)) {
    case 0:
        ash__builder_int32(b, name, (int32_t)roll(5) - 2);
        break;
    case 1:
        ash__builder_int64(b, name, roll(2) == 0 ? INT64_MIN : INT64_MAX);
        break;
    default:
        ash__builder_double(b, name, odd[roll(ASH_ARRAY_LEN(odd))]);
    }
}

static void append_special(ash_builder *b, const char *name)
{
    static const uint8_t regex[] = {'a', '(', 0, 'i', 0};
    static const uint8_t types[] = {BSON_TYPE_NULL, BSON_TYPE_UNDEFINED, (uint8_t)BSON_TYPE_MINKEY,
                                    (uint8_t)BSON_TYPE_MAXKEY};
    if (roll(4) == 0)
        ash__builder_value(b, name, (ash_value){BSON_TYPE_REGEX, regex, sizeof regex});
    else if (roll(4) == 0)
        ash__builder_binary(b, name, 0, "\x01\x02\xff", 3);
    else
        ash__builder_value(b, name, (ash_value){types[roll(ASH_ARRAY_LEN(types))], regex, 0});
}

static void append_any(ash_builder *b, const char *name, int depth)
{
    switch (roll(depth > 5 ? 5 : 9)) {
    case 0:
    case 1:
        append_number(b, name);
        break;
    case 2:
        ash__builder_bool(b, name, roll(2) == 0);
        break;
    case 3:
        ash__builder_text(b, name, texts[roll(ASH_ARRAY_LEN(texts))]);
        break;
    case 4:
        append_special(b, name);
        break;
    case 5:
    case 6:
        ash__builder_begin_array(b, name);
        append_contents(b, true, depth + 1);
        ash__builder_end(b);
        break;
    default:
        ash__builder_begin_doc(b, name);
        append_contents(b, false, depth + 1);
        ash__builder_end(b);
    }
}

static void append_contents(ash_builder *b, bool is_array, int depth)
{
    uint32_t count = roll(4);
    char index[12];
    for (uint32_t i = 0; i < count; i++)
        append_any(b, is_array ? ash__index_name(i, index) : names[roll(ASH_ARRAY_LEN(names))],
                   depth);
}

static void check_refusal(int result, const ash_error *err)
{
    if (result == 0)
        return;
    assert_true(result < 0);
    assert_true(err->text[0] != 0);
    assert_int_not_equal(ash_error_server_code(err), 1);
}

static bool try_filter(const bson_t *filter, const struct plan_indexes *x, bson_t *const *docs)
{
    ash_error err = ASH_ERROR_INIT, failed = ASH_ERROR_INIT;
    ash_matcher *m = NULL;
    ash_plan *plan = NULL;
    bson_t explained = BSON_INITIALIZER;
    int result = ash__matcher_new(filter, NULL, &m, &err);
    check_refusal(result, &err);
    if (result != 0)
        return false;
    for (int i = 0; i < 3; i++)
        ash__matcher_test(m, ash__doc_from_bson(docs[i]), NULL, &failed);
    assert_true(ash__matcher_implies(m, m) || !ash__matcher_is_empty(m));
    const ash_plan_query query = {.filter = m, .indexes = x->descs, .index_count = x->count};
    assert_ok(ash__plan_new(&query, &plan, &err), &err);
    ash__plan_explain(plan, m, NULL, &explained);
    assert_true(bson_has_field(&explained, "stage"));
    bson_destroy(&explained);
    ash__plan_free(plan);
    ash__matcher_free(m);
    return true;
}

static bool try_projection(const bson_t *spec, bson_t *const *docs)
{
    ash_error err = ASH_ERROR_INIT;
    ash_projection *p = NULL;
    ash_builder out = ASH_BUILDER_INIT;
    ash_match_details details = {0};
    int result = ash__projection_new(spec, NULL, &p, &err);
    check_refusal(result, &err);
    for (int i = 0; p != NULL && i < 3; i++) {
        result = ash__projection_apply(p, ash__doc_from_bson(docs[i]), &details, &out, &err);
        check_refusal(result, &err);
        if (result == 0) {
            ash_doc made = ash__builder_doc(&out);
            assert_ok(ash__bson_validate(made.data, made.len, ASH_DOC_MAX_DEPTH + 20, &err), &err);
        }
    }
    bool worked = p != NULL;
    ash__projection_free(p);
    ash__builder_release(&out);
    return worked;
}

static bool try_sort(const bson_t *spec)
{
    ash_error err = ASH_ERROR_INIT;
    ash_sort_spec *sort = NULL;
    int result = ash__sort_spec_new(spec, NULL, &sort, &err);
    check_refusal(result, &err);
    ash__sort_spec_free(sort);
    return result == 0;
}

static void test_query_match__random_requests_are_refused_or_work(void **state)
{
    (void)state;
    struct plan_indexes x;
    uint32_t worked[3] = {0};
    bson_t *docs[] = {cases_bson("{'_id': 1, 'a': [1, {'b': [2, 'a']}], 'b': 'abc'}"),
                      cases_bson("{'a': {'b': {'c': -1}}, 'b': null}"), cases_bson("{}")};
    plan_indexes_init(&x,
                      "{'a': {'key': {'a': 1}, 'multikey': true}, 'a_b': {'key': {'a.b': -1, 'b': "
                      "1}}, 'h': {'key': {'b': 'hashed'}}}");
    for (int round = 0; round < ROUNDS; round++) {
        ash_builder b = ASH_BUILDER_INIT;
        bson_t request;
        ash__builder_begin(&b);
        append_contents(&b, false, 1);
        ash__builder_end(&b);
        ash__doc_to_bson(ash__builder_doc(&b), &request);
        worked[0] += try_filter(&request, &x, docs);
        worked[1] += try_projection(&request, docs);
        worked[2] += try_sort(&request);
        ash__builder_release(&b);
    }
    for (int i = 0; i < 3; i++) {
        assert_true(worked[i] > 100);
        bson_destroy(docs[i]);
    }
    plan_indexes_release(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_query_match__random_requests_are_refused_or_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
