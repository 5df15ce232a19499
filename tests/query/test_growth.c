/* SPDX-License-Identifier: Apache-2.0 */
/* Small requests that ask for huge results: they fail, and neither memory nor nesting nor time runs
 * away. */
#include "pipeline_cases.h"

#include "base/budget.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/mem.h"

#include <string.h>

/* "a.a.a", parts of them. */
static char *dotted(const char *part, int parts)
{
    ash_buffer b = ASH_BUFFER_INIT;
    for (int i = 0; i < parts; i++)
        ash__buffer_printf(&b, "%s%s", i > 0 ? "." : "", part);
    char *text = ash__strdup(ash__buffer_text(&b));
    ash__buffer_release(&b);
    return text;
}

/* open, text times count, close: nested or repeated JSON. */
static char *repeated(const char *open, const char *text, int count, const char *close)
{
    ash_buffer b = ASH_BUFFER_INIT;
    ash__buffer_append_text(&b, open);
    for (int i = 0; i < count; i++)
        ash__buffer_append_text(&b, text);
    ash__buffer_append_text(&b, close);
    char *out = ash__strdup(ash__buffer_text(&b));
    ash__buffer_release(&b);
    return out;
}

/* Like text, with a number in the place of each %d. */
static char *numbered(const char *open, const char *format, int count, const char *close)
{
    ash_buffer b = ASH_BUFFER_INIT;
    ash__buffer_append_text(&b, open);
    for (int i = 0; i < count; i++) {
        const char *at = strchr(format, '#');
        ash__buffer_printf(&b, "%s%.*s%d%s", i > 0 ? ", " : "", (int)(at - format), format, i,
                           at + 1);
    }
    ash__buffer_append_text(&b, close);
    char *out = ash__strdup(ash__buffer_text(&b));
    ash__buffer_release(&b);
    return out;
}

static void check_pipeline(const char *what, const char *stages, const char *docs, int32_t code)
{
    ash_error err = ASH_ERROR_INIT;
    bson_t *out = NULL;
    int rc = cases_run_pipeline(stages, docs, &case_env, &out, &err);
    cases_check_error(what, rc, &err, code, NULL);
    bson_destroy(out);
}

static void check_update(const char *what, const char *update, const char *doc, int32_t code)
{
    ash_error err = ASH_ERROR_INIT;
    bson_t *out = NULL;
    int rc = cases_apply(update, NULL, NULL, doc, &out, NULL, NULL, &err);
    cases_check_error(what, rc, &err, code, NULL);
    bson_destroy(out);
}

static char *mebibytes(const char *open, int count, const char *close)
{
    return repeated(open, "x", count * 1024 * 1024, close);
}

static void test_query_growth__deep_paths(void **state)
{
    (void)state;
    char *path = dotted("a", 130);
    char *stages = ash__sprintf("[{'$project': {'%s': {'$literal': 1}}}]", path);
    check_pipeline("a computed path of 130 parts", stages, "[{}]", 15);
    ash__free(stages);
    ash__free(path);
    path = dotted("b", 60);
    char *open = repeated("[{'a': ", "[", 80, "{}");
    char *docs = repeated(open, "]", 80, "}]");
    stages = ash__sprintf("[{'$addFields': {'a.%s': 1}}]", path);
    check_pipeline("fields in arrays in arrays", stages, docs, 15);
    ash__free(docs);
    ash__free(open);
    ash__free(stages);
    ash__free(path);
}

/* Options of stages that name a field of the result. */
static void test_query_growth__deep_fields_of_stages(void **state)
{
    (void)state;
    static const struct {
        const char *format;
        int32_t code;
    } stages[] = {
        {"[{'$unwind': {'path': '$a', 'includeArrayIndex': '%s'}}]", 15},
        {"[{'$lookup': {'from': 'ring', 'as': '%s', 'pipeline': []}}]", 15},
        {"[{'$graphLookup': {'from': 'ring', 'as': 'x', 'startWith': 1, 'connectFromField': 'next',"
         " 'connectToField': '_id', 'depthField': '%s'}}]",
         40103},
    };
    char *path = dotted("a", 130);
    for (size_t i = 0; i < ASH_ARRAY_LEN(stages); i++) {
        char *head = ash__strndup(stages[i].format, strcspn(stages[i].format, "%"));
        char *text = ash__sprintf("%s%s%s", head, path, strchr(stages[i].format, '%') + 2);
        check_pipeline(head, text, "[{'a': [1]}]", stages[i].code);
        ash__free(text);
        ash__free(head);
    }
    ash__free(path);
}

static void test_query_growth__deep_results(void **state)
{
    (void)state;
    static const char *const stages[] = {
        "{'$group': {'_id': null, 'x': {'$push': '$$ROOT'}}}, ",
        "{'$project': {'x': '$$ROOT'}}, ",
        "{'$facet': {'x': []}}, ",
    };
    for (size_t i = 0; i < ASH_ARRAY_LEN(stages); i++) {
        char *text = repeated("[", stages[i], 250, "{'$limit': 1}]");
        check_pipeline(stages[i], text, "[{'a': 1}]", 15);
        ash__free(text);
    }
}

/* A pipeline's stages call each other, and those of pipelines in them. */
static void test_query_growth__stages_in_stages(void **state)
{
    (void)state;
    char *stages = repeated("[{'$set': {'a': 1}}", ", {'$set': {'a': 1}}", 199, "]");
    for (int i = 0; i < 10; i++) {
        char *open =
            ash__sprintf("[{'$lookup': {'from': 'none', 'as': 'x', 'pipeline': %s}}", stages);
        ash__free(stages);
        stages = repeated(open, ", {'$set': {'a': 1}}", 199, "]");
        ash__free(open);
    }
    check_pipeline("thousands of stages in one another", stages, "[{'a': 1}]", 7749501);
    ash__free(stages);
}

static void test_query_growth__large_results(void **state)
{
    (void)state;
    char *docs = mebibytes("[{'a': '", 9, "'}]");
    static const char *const stages[] = {
        "[{'$project': {'x': '$a', 'y': '$a'}}, {'$project': {'_id': 1}}]",
        "[{'$addFields': {'x': '$a'}}, {'$project': {'_id': 1}}]",
        ("[{'$lookup': {'from': 'none', 'let': {'v': '$a'}, 'as': 'x', 'pipeline': ["
         "{'$unionWith': {'pipeline': [{'$documents': [{'v': '$$v'}]}]}}]}}, {'$count': 'n'}]"),
    };
    for (size_t i = 0; i < ASH_ARRAY_LEN(stages); i++)
        check_pipeline(stages[i], stages[i], docs, 10334);
    ash__free(docs);
}

static void test_query_growth__updates(void **state)
{
    (void)state;
    /* Each of these would be larger than any builder may become, not just than a document. */
    char *update = mebibytes("{'$set': {'a.$[]': '", 1, "'}}");
    char *doc = repeated("{'a': [0", ", 0", 2500, "]}");
    check_update("one large value in many places", update, doc, 17419);
    ash__free(update);
    ash__free(doc);
    update = numbered("{'$set': {", "'a#.1499999': 1", 200, "}}");
    doc = numbered("{", "'a#': []", 200, "}");
    check_update("many arrays filled up with null", update, doc, 17419);
    ash__free(update);
    ash__free(doc);
}

static void check_expr_budget(const char *what, const char *stages, const char *docs)
{
    ash_budget outer = ash__budget_enter(ash__clock_ms() + 100, NULL, 0);
    check_pipeline(what, stages, docs, 50);
    ash__budget_leave(outer);
}

/* One value of many is small, all of them are not. */
static void test_query_growth__expressions(void **state)
{
    (void)state;
    char *docs = mebibytes("[{'a': '", 9, "'}]");
    check_pipeline("objects in a loop",
                   "[{'$project': {'n': {'$size': {'$map': {'input': {'$range': [0, 100000]}, "
                   "'in': {'x': '$a'}}}}}}]",
                   docs, 146);
    ash__free(docs);
    char *open = repeated("[{'m': [[0", ", 0", 20000, "]");
    docs = repeated(open, ", []", 20000, "]}]");
    check_pipeline("a wide and long $zip",
                   "[{'$project': {'n': {'$size': {'$zip': {'inputs': '$m', 'useLongestLength': "
                   "true}}}}}]",
                   docs, 10334);
    ash__free(docs);
    ash__free(open);
}

static void test_query_growth__merged_objects(void **state)
{
    (void)state;
    ash_error err = ASH_ERROR_INIT;
    bson_t *out = NULL, *expected = cases_bson("{'v': [{'n': 20001}]}");
    char *docs = numbered("[{'m': [{'z': 1}, ", "{'k#': 1, 'z': 2}", 20000, "]}]");
    int rc = cases_run_pipeline("[{'$project': {'n': {'$size': {'$objectToArray': "
                                "{'$mergeObjects': '$m'}}}}}, {'$project': {'_id': 0, 'n': 1}}]",
                                docs, &case_env, &out, &err);
    assert_ok(rc, &err);
    cases_same("$mergeObjects", "many", expected, out);
    bson_destroy(out);
    bson_destroy(expected);
    ash__free(docs);
}

/* Work that one document makes endless ends with the operation's time. */
static void test_query_growth__time(void **state)
{
    (void)state;
    char *thousand = repeated("[0", ", 0", 999, "]");
    char *docs = ash__sprintf("[{'a': %s, 'b': %s, 'c': %s, 'd': %s}]", thousand, thousand,
                              thousand, thousand);
    check_expr_budget("$unwind of $unwind",
                      "[{'$unwind': '$a'}, {'$unwind': '$b'}, {'$unwind': '$c'}, {'$unwind': "
                      "'$d'}, {'$skip': 1000000000000000}]",
                      docs);
    ash__free(docs);
    ash__free(thousand);
    char *text = repeated("[{'a': '", "a", 2000000, "', 'b': '");
    docs = repeated(text, "a", 1000000, "b'}]");
    check_expr_budget("$indexOfBytes", "[{'$project': {'n': {'$indexOfBytes': ['$a', '$b']}}}]",
                      docs);
    check_expr_budget("$split", "[{'$project': {'n': {'$split': ['$a', '$b']}}}]", docs);
    check_expr_budget("$replaceAll",
                      "[{'$project': {'n': {'$replaceAll': {'input': '$a', 'find': '$b', "
                      "'replacement': ''}}}}]",
                      docs);
    ash__free(docs);
    ash__free(text);
    text = repeated("[{'a': '", "a", 2000000, "', 'b': '");
    docs = repeated(text, "b", 1000000, "a'}]");
    check_expr_budget("$trim", "[{'$project': {'n': {'$trim': {'input': '$a', 'chars': '$b'}}}}]",
                      docs);
    ash__free(docs);
    ash__free(text);
}

/* The budget is used up when the work with one document begins. */
static void check_late_filter(const char *filter, const char *doc)
{
    const volatile int cancel = 1;
    bson_t *spec = cases_bson(filter), *b = cases_bson(doc);
    ash_matcher *m = NULL;
    ash_error err = ASH_ERROR_INIT;
    assert_ok(ash__matcher_new(spec, &case_env, &m, &err), &err);
    ash_budget outer = ash__budget_enter(0, &cancel, 0);
    /* One step alone may pass unseen. */
    for (int i = 0; i < 3; i++) {
        err = (ash_error)ASH_ERROR_INIT;
        assert_false(ash__matcher_test(m, ash__doc_from_bson(b), NULL, &err));
        assert_int_equal(err.code, ASH_EINTERRUPTED);
    }
    ash__budget_leave(outer);
    ash__matcher_free(m);
    bson_destroy(spec);
    bson_destroy(b);
}

static void test_query_growth__time_of_filters(void **state)
{
    (void)state;
    char *doc = repeated("{'a': '", "a", 1000, "'}");
    check_late_filter("{'a': {'@regex': 'a+a+[bc]'}}", doc);
    check_late_filter("{'a': {'$not': {'@regex': 'a+a+[bc]'}}}", doc);
    check_late_filter("{'$jsonSchema': {'properties': {'a': {'pattern': 'a+a+[bc]'}}}}", doc);
    ash__free(doc);
    doc = repeated("{'a': [0", ", 0", 40, "]}");
    check_late_filter("{'$jsonSchema': {'properties': {'a': {'items': {'enum': [0, 1]}}}}}", doc);
    check_late_filter("{'$nor': [{'$jsonSchema': {'properties': {'a': {'items': {}}}}}]}", doc);
    ash__free(doc);
    doc = numbered("{", "'f#': 1", 40, "}");
    char *schema = numbered("{'$jsonSchema': {'required': [", "'f#'", 40, "]}}");
    check_late_filter(schema, doc);
    ash__free(schema);
    schema = numbered("{'$jsonSchema': {'properties': {", "'g#': {}", 40, "}}}");
    check_late_filter(schema, "{}");
    ash__free(schema);
    ash__free(doc);
}

static bson_t *wrapped(bson_t *inner, const char *name, bool in_array)
{
    bson_t *outer = bson_new();
    if (in_array)
        bson_append_array(outer, name, -1, inner);
    else
        bson_append_document(outer, name, -1, inner);
    bson_destroy(inner);
    return outer;
}

static void test_query_growth__deep_enum(void **state)
{
    (void)state;
    ash_error err = ASH_ERROR_INIT;
    ash_matcher *m = NULL;
    bson_t *doc = cases_bson("{'a': 1}"), *spec = bson_copy(doc);
    for (int i = 0; i < 150; i++)
        spec = wrapped(spec, "0", false);
    spec = wrapped(wrapped(spec, "enum", true), "a", false);
    spec = wrapped(wrapped(spec, "properties", false), "$jsonSchema", false);
    assert_ok(ash__matcher_new(spec, &case_env, &m, &err), &err);
    assert_false(ash__matcher_test(m, ash__doc_from_bson(doc), NULL, &err));
    ash__matcher_free(m);
    bson_destroy(doc);
    bson_destroy(spec);
}

/* Each $rename looks through the whole document, and what creates nothing is found out late. */
static void check_late_update(const char *update, const char *doc)
{
    const volatile int cancel = 1;
    bson_t *spec = cases_bson(update), *b = cases_bson(doc);
    ash_builder out = ASH_BUILDER_INIT;
    ash_update *u = NULL;
    bool changed;
    ash_error err = ASH_ERROR_INIT;
    assert_ok(
        ash__update_new(ash__value_of_doc(ash__doc_from_bson(spec)), NULL, &case_env, &u, &err),
        &err);
    ash_budget outer = ash__budget_enter(0, &cancel, 0);
    const ash_update_subject subject = {.doc = ash__doc_from_bson(b)};
    assert_int_equal(ash__update_apply(u, &subject, &out, &changed, NULL, &err), ASH_EINTERRUPTED);
    ash__budget_leave(outer);
    ash__builder_release(&out);
    ash__update_free(u);
    bson_destroy(spec);
    bson_destroy(b);
}

static void test_query_growth__time_of_updates(void **state)
{
    (void)state;
    ash_buffer renames = ASH_BUFFER_INIT;
    for (int i = 0; i < 40; i++)
        ash__buffer_printf(&renames, "%s'f%d': 'g%d'", i == 0 ? "{'$rename': {" : ", ", i, i);
    ash__buffer_append_text(&renames, "}}");
    check_late_update(ash__buffer_text(&renames), "{'f1': 1}");
    ash__buffer_release(&renames);
    char *update = numbered("{'$unset': {", "'z.f#': 1", 40, "}}");
    check_late_update(update, "{'z': 1}");
    ash__free(update);
    update = numbered("{'$unset': {", "'z.f#': 1", 40, "}}");
    check_late_update(update, "{'z': []}");
    ash__free(update);
    update = numbered("{'$unset': {", "'z.#': 1", 40, "}}");
    check_late_update(update, "{'z': []}");
    ash__free(update);
}

/* A number is a name and a position: there are 2^40 ways through this. */
static void test_query_growth__paths_of_numbers(void **state)
{
    (void)state;
    char *path = dotted("0", 100);
    char *open = repeated("[", "{'0': [", 40, "{'0': []}");
    char *docs = repeated(open, "]}", 40, "]");
    char *stages = ash__sprintf("[{'$unset': 'z'}, {'$match': {'%s': 1}}]", path);
    check_expr_budget("a path of numbers", stages, docs);
    ash__free(stages);
    stages = ash__sprintf("[{'$unset': 'z'}, {'$match': {'%s': {'$ne': 1}}}]", path);
    check_expr_budget("not a path of numbers", stages, docs);
    ash__free(stages);
    ash__free(docs);
    ash__free(open);
    ash__free(path);
}

/* Applies within seconds, and tells so many changes; quadratic work would take minutes. */
static void check_wide(const char *what, const char *update, const char *doc, uint32_t changed)
{
    ash_error err = ASH_ERROR_INIT;
    bson_t *out = NULL, *changes = NULL;
    int64_t started = ash__clock_ms();
    assert_ok(cases_apply(update, NULL, NULL, doc, &out, NULL, &changes, &err), &err);
    if (ash__clock_ms() - started > 20000)
        fail_msg("%s took %lld ms", what, (long long)(ash__clock_ms() - started));
    ash_value updated = ash__doc_get(ash__doc_from_bson(changes), "updatedFields");
    assert_int_equal(ash__doc_count(ash__value_doc(updated)), changed);
    bson_destroy(out);
    bson_destroy(changes);
}

static void test_query_growth__wide_updates(void **state)
{
    (void)state;
    enum { WIDE = 60000 };
    char *doc = numbered("{", "'f#': 1", WIDE, "}");
    char *update = numbered("{'$set': {", "'f#': 2", WIDE, "}}");
    check_wide("$set of all fields", update, doc, WIDE);
    ash__free(update);
    check_wide("a pipeline on a wide document", "[{'$set': {'z': 1}}]", doc, 1);
    ash__free(doc);
    doc = repeated("{'a': [0", ", 0", WIDE - 1, "]}");
    check_wide("$inc of all items", "{'$inc': {'a.$[]': 1}}", doc, WIDE);
    ash__free(doc);
    doc = numbered("{'a': [", "#", WIDE, ", -1]}");
    update = numbered("{'$pullAll': {'a': [", "#", WIDE, "]}}");
    check_wide("$pullAll of all items", update, doc, 1);
    ash__free(update);
    ash__free(doc);
}

/* What could not be found out is no "no". */
static void test_query_growth__conditions_that_fail(void **state)
{
    (void)state;
    ash_error err = ASH_ERROR_INIT;
    bson_t *out = NULL;
    char *doc = repeated("{'a': ['", "a", 5000, "!', 'b']}");
    check_update("$pull by a regex", "{'$pull': {'a': {'$regex': '^(a+)+$'}}}", doc, 51156);
    int rc = cases_apply("{'$set': {'a.$[x]': 1}}", "[{'x': {'$regex': '^(a+)+$'}}]", NULL, doc,
                         &out, NULL, NULL, &err);
    cases_check_error("an array filter", rc, &err, 51156, NULL);
    bson_destroy(out);
    ash__free(doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_query_growth__deep_paths),
        cmocka_unit_test(test_query_growth__deep_fields_of_stages),
        cmocka_unit_test(test_query_growth__deep_results),
        cmocka_unit_test(test_query_growth__stages_in_stages),
        cmocka_unit_test(test_query_growth__large_results),
        cmocka_unit_test(test_query_growth__updates),
        cmocka_unit_test(test_query_growth__expressions),
        cmocka_unit_test(test_query_growth__merged_objects),
        cmocka_unit_test(test_query_growth__time),
        cmocka_unit_test(test_query_growth__time_of_filters),
        cmocka_unit_test(test_query_growth__time_of_updates),
        cmocka_unit_test(test_query_growth__deep_enum),
        cmocka_unit_test(test_query_growth__paths_of_numbers),
        cmocka_unit_test(test_query_growth__wide_updates),
        cmocka_unit_test(test_query_growth__conditions_that_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
