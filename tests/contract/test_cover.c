/* SPDX-License-Identifier: Apache-2.0 */
/* Projections that an index's keys answer: the same, byte for byte, as from the documents. */
#include "contract.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DOCUMENTS = 60, SHOWN_MAX = 4000, ROUNDS = 40 };

/* Each document found, as its bytes in hexadecimal. */
struct shown {
    char *texts[SHOWN_MAX];
    size_t count;
};

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *hexadecimal(ash_doc doc)
{
    char *text = malloc(2 * doc.len + 1);
    for (size_t i = 0; i < doc.len; i++)
        snprintf(text + 2 * i, 3, "%02x", doc.data[i]);
    return text;
}

static void show(contract *t, const char *filter, const char *projection, const char *hint,
                 struct shown *out)
{
    ash_find_options opts = ASH_FIND_OPTIONS_INIT;
    ash_cursor *cursor = NULL;
    ash_doc doc;
    bson_value_t how = {.value_type = BSON_TYPE_DOCUMENT};
    bson_t *h = json(hint);
    how.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(h);
    how.value.v_doc.data_len = h->len;
    opts.hint = &how;
    opts.projection = json(projection);
    assert_ok(ash_collection_find(t->c, json(filter), &opts, &cursor, &t->err), &t->err);
    for (out->count = 0; out->count < SHOWN_MAX; out->count++) {
        assert_ok(ash_cursor_next(cursor, &doc, &t->err), &t->err);
        if (doc.data == NULL)
            break;
        out->texts[out->count] = hexadecimal(doc);
    }
    ash_cursor_free(cursor);
    forget_json();
    qsort(out->texts, out->count, sizeof *out->texts, compare_texts);
}

static void release(struct shown *s)
{
    for (size_t i = 0; i < s->count; i++)
        free(s->texts[i]);
}

static void expect_same(contract *t, const char *filter, const char *projection, const char *hint)
{
    struct shown keys, documents;
    show(t, filter, projection, hint, &keys);
    show(t, filter, projection, "{\"$natural\":1}", &documents);
    if (keys.count != documents.count)
        fail_msg("%s by %s: %zu instead of %zu", projection, hint, keys.count, documents.count);
    for (size_t i = 0; i < keys.count; i++)
        if (strcmp(keys.texts[i], documents.texts[i]) != 0)
            fail_msg("%s by %s: %s instead of %s", projection, hint, keys.texts[i],
                     documents.texts[i]);
    release(&keys);
    release(&documents);
}

/* ---- random data ---- */

/* One group of values each collection is mostly made of, so that often one type is left. */
static const char *const values[][6] = {
    {"\"\"", "\"text\"", "\"a\\u0000b\"", "\"a\\u0001\"", "\"\xc3\xa4\"", "\"text \""},
    {"1", "0", "-5", "2147483647", "-2147483648", "7"},
    {"{\"$numberLong\":\"1\"}", "{\"$numberLong\":\"0\"}", "{\"$numberLong\":\"9007199254740991\"}",
     "{\"$numberLong\":\"9007199254740993\"}", "{\"$numberLong\":\"-3\"}",
     "{\"$numberLong\":\"9223372036854775807\"}"},
    {"1.5", "{\"$numberDouble\":\"0\"}", "{\"$numberDouble\":\"-0.0\"}",
     "{\"$numberDouble\":\"NaN\"}", "{\"$numberDouble\":\"-Infinity\"}",
     "{\"$numberDouble\":\"1\"}"},
    {"{\"$numberDecimal\":\"1.50\"}", "{\"$numberDecimal\":\"1.5\"}", "{\"$numberDecimal\":\"1\"}",
     "{\"$numberDecimal\":\"-0\"}", "{\"$numberDecimal\":\"0.1\"}", "{\"$numberDecimal\":\"1E2\"}"},
    {"{\"$date\":{\"$numberLong\":\"0\"}}", "{\"$date\":{\"$numberLong\":\"-5\"}}",
     "{\"$oid\":\"0123456789abcdef01234567\"}", "true", "false",
     "{\"$timestamp\":{\"t\":1,\"i\":2}}"},
    {"null", "{\"$undefined\":true}", "{\"$symbol\":\"text\"}", "{\"$minKey\":1}", "{}",
     "{\"x\":null}"},
    {"{\"$binary\":{\"base64\":\"eHg=\",\"subType\":\"00\"}}",
     "{\"$binary\":{\"base64\":\"eHg=\",\"subType\":\"80\"}}",
     "{\"$regularExpression\":{\"pattern\":\"a\",\"options\":\"i\"}}", "{\"$code\":\"f\"}",
     "{\"a\":1}", "{\"a\":null}"},
};
enum { GROUPS = sizeof values / sizeof *values };

static const char *one_of(size_t group, bool strays)
{
    if (strays && rand() % 40 == 0)
        group = (size_t)rand() % GROUPS;
    return values[group][rand() % 6];
}

static void make_text(char *out, size_t size, int id, size_t group, bool strays)
{
    const char *a = one_of(group, strays), *b = one_of((size_t)rand() % 2 ? group : 0, strays);
    switch (strays && rand() % 12 == 0 ? rand() % 5 : rand() % 2) {
    case 0:
        snprintf(out, size, "{\"_id\":%d,\"b\":{\"c\":%s},\"a\":%s}", id, b, a);
        return;
    case 1:
        snprintf(out, size, "{\"_id\":%d,\"b\":{\"d\":1,\"c\":%s},\"a\":%s}", id, b, a);
        return;
    case 2:
        snprintf(out, size, "{\"_id\":%d,\"b\":{\"c\":%s}}", id, b);
        return;
    case 3:
        snprintf(out, size, "{\"_id\":%d,\"b\":%s,\"a\":%s}", id, b, a);
        return;
    default:
        snprintf(out, size, "{\"_id\":%d,\"b\":[{\"c\":%s}],\"a\":%s}", id, b, a);
    }
}

static void fill(contract *t, size_t group, bool strays)
{
    char text[512];
    for (int i = 0; i < DOCUMENTS; i++) {
        make_text(text, sizeof text, i, group, strays);
        assert_ok(insert_json(t, t->c, text), &t->err);
        forget_json();
    }
}

static void expect_all_same(contract *t)
{
    static const char *const projections[] = {"{\"a\":1,\"_id\":0}",
                                              "{\"_id\":0,\"b.c\":1}",
                                              "{\"_id\":1}",
                                              "{\"a\":true}",
                                              "{\"a\":1,\"b.c\":1}",
                                              "{\"b\":1,\"_id\":0}",
                                              "{\"_id\":0}",
                                              "{\"a\":0}",
                                              "{}"};
    static const char *const hints[] = {"{\"a\":1}", "{\"b.c\":-1}", "{\"a\":-1,\"_id\":1}",
                                        "{\"b.c\":1,\"a\":1,\"_id\":-1}", "{\"_id\":1}"};
    static const char *const filters[] = {"{}", "{\"a\":{\"$gte\":\"\"}}",
                                          "{\"_id\":{\"$lt\":30}}"};
    for (size_t p = 0; p < sizeof projections / sizeof *projections; p++)
        for (size_t h = 0; h < sizeof hints / sizeof *hints; h++)
            for (size_t f = 0; f < sizeof filters / sizeof *filters; f++)
                expect_same(t, filters[f], projections[p], hints[h]);
}

static void test_contract_cover__random_documents(void **state)
{
    contract *t = *state;
    const char *given = getenv("ASH_TEST_SEED");
    unsigned seed = given != NULL ? (unsigned)strtoul(given, NULL, 10) : (unsigned)time(NULL);
    print_message("# seed %u\n", seed);
    srand(seed);
    for (int round = 0; round < ROUNDS; round++) {
        bool before = rand() % 2 == 0, strays = rand() % 2 == 0;
        size_t group = (size_t)rand() % GROUPS;
        static const char *const specs =
            "[{\"key\":{\"a\":1},\"name\":\"a\"},{\"key\":{\"b.c\":-1},\"name\":\"b\"},"
            "{\"key\":{\"a\":-1,\"_id\":1},\"name\":\"ai\"},"
            "{\"key\":{\"b.c\":1,\"a\":1,\"_id\":-1},\"name\":\"bai\"}]";
        if (before)
            assert_ok(index_json(t, t->c, specs, NULL), &t->err);
        fill(t, group, strays);
        if (!before)
            assert_ok(index_json(t, t->c, specs, NULL), &t->err);
        expect_all_same(t);
        /* Another kind in place of one, under the same key. */
        char update[200];
        snprintf(update, sizeof update, "{\"$set\":{\"a\":%s}}", one_of(group, true));
        assert_ok(update_json(t, t->c, "{\"_id\":{\"$mod\":[7,1]}}", update, NULL, NULL), &t->err);
        expect_all_same(t);
        assert_ok(ash_collection_drop(t->c, NULL, &t->err), &t->err);
    }
}

/* ---- what explain says ---- */

static bool is_covered(contract *t, const char *filter, const char *projection, int64_t *fetched)
{
    bson_t out;
    bson_iter_t it, at;
    bson_t *command = BCON_NEW("find", BCON_UTF8("things"));
    bson_append_document(command, "filter", -1, json(filter));
    bson_append_document(command, "projection", -1, json(projection));
    assert_ok(ash_collection_explain(t->c, command, "executionStats", NULL, &out, &t->err),
              &t->err);
    assert_true(bson_iter_init(&it, &out) &&
                bson_iter_find_descendant(&it, "executionStats.totalDocsExamined", &at));
    *fetched = bson_iter_as_int64(&at);
    assert_true(bson_iter_init(&it, &out) &&
                bson_iter_find_descendant(&it, "queryPlanner.winningPlan.stage", &at));
    bool covered = strcmp(bson_iter_utf8(&at, NULL), "PROJECTION_COVERED") == 0;
    bson_destroy(command);
    bson_destroy(&out);
    return covered;
}

static void expect_cover(contract *t, const char *filter, const char *projection, bool covers,
                         int64_t fetches)
{
    int64_t fetched;
    bool covered = is_covered(t, filter, projection, &fetched);
    if (covered != covers || fetched != fetches)
        fail_msg("%s, %s: %s, %lld fetched", filter, projection, covered ? "covered" : "fetched",
                 (long long)fetched);
}

static void test_contract_cover__explained(void **state)
{
    contract *t = *state;
    char text[100];
    assert_ok(index_json(t, t->c,
                         "[{\"key\":{\"a\":1},\"name\":\"a\"},{\"key\":{\"n\":1,\"_id\":1},"
                         "\"name\":\"n\"},{\"key\":{\"d\":1},\"name\":\"d\"},{\"key\":{\"s\":1},"
                         "\"name\":\"s\",\"collation\":{\"locale\":\"en\",\"strength\":2}}]",
                         NULL),
              &t->err);
    for (int i = 0; i < 20; i++) {
        snprintf(text, sizeof text, "{\"_id\":%d,\"n\":%d,\"a\":\"text %02d\",\"s\":\"x\"}", i, i,
                 i);
        assert_ok(insert_json(t, t->c, text), &t->err);
    }
    expect_cover(t, "{\"a\":{\"$gte\":\"text 10\"}}", "{\"a\":1,\"_id\":0}", true, 0);
    expect_cover(t, "{\"n\":{\"$lt\":5}}", "{\"n\":1}", true, 0);
    expect_cover(t, "{\"n\":{\"$lt\":5}}", "{\"_id\":1}", true, 0);
    expect_cover(t, "{\"a\":{\"$gte\":\"text 10\"}}", "{\"a\":1}", false, 10);
    expect_cover(t, "{\"a\":{\"$gte\":\"text 10\"}}", "{\"_id\":0,\"a\":1,\"n\":1}", false, 10);
    expect_cover(t, "{\"a\":{\"$gte\":\"text 10\"},\"s\":\"x\"}", "{\"_id\":0,\"a\":1}", false, 10);
    /* A number of another type, and none is certain any more, though it goes again. */
    assert_ok(insert_json(t, t->c, "{\"_id\":50,\"n\":{\"$numberLong\":\"50\"},\"a\":\"z\"}"),
              &t->err);
    expect_cover(t, "{\"n\":{\"$lt\":5}}", "{\"n\":1}", false, 5);
    expect_cover(t, "{\"a\":{\"$gte\":\"z\"}}", "{\"a\":1,\"_id\":0}", true, 0);
    assert_ok(ash_collection_remove(t->c, json("{\"_id\":50}"), NULL, NULL, &t->err), &t->err);
    expect_cover(t, "{\"n\":{\"$lt\":5}}", "{\"n\":1}", false, 5);
    assert_ok(insert_json(t, t->c, "{\"_id\":51,\"a\":[\"z\"]}"), &t->err);
    expect_cover(t, "{\"a\":{\"$gte\":\"z\"}}", "{\"a\":1,\"_id\":0}", false, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONTRACT(test_contract_cover__random_documents),
        CONTRACT(test_contract_cover__explained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
