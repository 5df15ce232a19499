/* SPDX-License-Identifier: Apache-2.0 */
#include "contract.h"

#include <stdio.h>
#include <string.h>

static const char *run(contract *t, ash_collection *c, const char *pipeline)
{
    ash_cursor *cursor = NULL;
    assert_ok(ash_collection_aggregate(c, json(pipeline), NULL, &cursor, &t->err), &t->err);
    return drain(t, cursor);
}

static void expect_refusal(contract *t, const char *pipeline, int32_t code)
{
    ash_cursor *cursor = NULL;
    int rc = ash_collection_aggregate(t->c, json(pipeline), NULL, &cursor, &t->err);
    ash_cursor_free(cursor);
    if (rc == 0 || ash_error_server_code(&t->err) != code)
        fail_msg("%s: %d, code %d: %s", pipeline, rc, ash_error_server_code(&t->err), t->err.text);
}

static void fill(contract *t)
{
    for (int i = 0; i < 12; i++) {
        char text[80];
        snprintf(text, sizeof text, "{\"_id\":%d,\"kind\":\"k%d\",\"n\":%d}", i, i % 3, i * i);
        assert_ok(insert_json(t, t->c, text), &t->err);
    }
}

static void test_contract_aggregate__groups_and_sorts(void **state)
{
    contract *t = *state;
    fill(t);
    assert_string_equal(
        run(t, t->c,
            "[{\"$match\":{\"_id\":{\"$lt\":6}}},{\"$group\":{\"_id\":\"$kind\",\"sum\":{\"$sum\":"
            "\"$n\"}}},{\"$sort\":{\"_id\":1}}]"),
        "[{\"_id\":\"k0\",\"sum\":9},{\"_id\":\"k1\",\"sum\":17},{\"_id\":\"k2\",\"sum\":29}]");
}

static void test_contract_aggregate__as_drivers_count(void **state)
{
    contract *t = *state;
    fill(t);
    assert_string_equal(run(t, t->c,
                            "[{\"$match\":{\"kind\":\"k1\"}},{\"$skip\":1},{\"$limit\":2},"
                            "{\"$group\":{\"_id\":1,\"n\":{\"$sum\":1}}}]"),
                        "[{\"_id\":1,\"n\":2}]");
    assert_string_equal(
        run(t, t->c,
            "[{\"$collStats\":{\"count\":{}}},{\"$group\":{\"_id\":1,\"n\":{\"$sum\":"
            "\"$count\"}}}]"),
        "[{\"_id\":1,\"n\":12}]");
    assert_string_equal(run(t, t->c, "[{\"$match\":{\"kind\":\"none\"}},{\"$count\":\"n\"}]"),
                        "[]");
}

static void test_contract_aggregate__lookup(void **state)
{
    contract *t = *state;
    ash_collection *books = open_collection(t, "books");
    assert_ok(insert_json(t, t->c, "{\"_id\":\"oreilly\",\"city\":\"CA\"}"), &t->err);
    assert_ok(insert_json(t, books, "{\"_id\":1,\"publisher\":\"oreilly\"}"), &t->err);
    assert_ok(insert_json(t, books, "{\"_id\":2,\"publisher\":\"none\"}"), &t->err);
    assert_string_equal(run(t, books,
                            "[{\"$lookup\":{\"from\":\"things\",\"localField\":\"publisher\","
                            "\"foreignField\":\"_id\",\"as\":\"p\"}},{\"$sort\":{\"_id\":1}}]"),
                        "[{\"_id\":1,\"publisher\":\"oreilly\",\"p\":[{\"_id\":\"oreilly\","
                        "\"city\":\"CA\"}]},{\"_id\":2,\"publisher\":\"none\",\"p\":[]}]");
    ash_collection_free(books);
}

static void make_view(contract *t, const char *name, const char *options)
{
    ash_collection *view = open_collection(t, name);
    assert_ok(ash_collection_create(view, json(options), NULL, &t->err), &t->err);
    ash_collection_free(view);
}

/* Stages read views by their pipelines, also views on views; who goes round in them is stopped. */
static void test_contract_aggregate__stages_read_views(void **state)
{
    contract *t = *state;
    fill(t);
    make_view(t, "odd",
              "{\"viewOn\":\"things\",\"pipeline\":[{\"$match\":{\"kind\":\"k1\"}},"
              "{\"$set\":{\"half\":{\"$divide\":[\"$_id\",2]}}},{\"$unset\":\"kind\"}]}");
    make_view(t, "few", "{\"viewOn\":\"odd\",\"pipeline\":[{\"$match\":{\"_id\":{\"$gt\":1}}}]}");
    assert_string_equal(
        run(t, t->c,
            "[{\"$match\":{\"_id\":2}},{\"$lookup\":{\"from\":\"odd\",\"localField\":\"_id\","
            "\"foreignField\":\"half\",\"as\":\"r\"}},{\"$project\":{\"r\":1}}]"),
        "[{\"_id\":2,\"r\":[{\"_id\":4,\"n\":16,\"half\":2.0}]}]");
    assert_string_equal(
        run(t, t->c,
            "[{\"$match\":{\"_id\":4}},{\"$lookup\":{\"from\":\"few\",\"let\":{\"x\":\"$_id\"},"
            "\"pipeline\":[{\"$match\":{\"$expr\":{\"$gt\":[\"$_id\",\"$$x\"]}}},"
            "{\"$project\":{\"half\":1}}],\"as\":\"r\"}},{\"$project\":{\"r\":1}}]"),
        "[{\"_id\":4,\"r\":[{\"_id\":7,\"half\":3.5},{\"_id\":10,\"half\":5.0}]}]");
    assert_string_equal(
        run(t, t->c,
            "[{\"$match\":{\"_id\":1}},{\"$graphLookup\":{\"from\":\"few\",\"startWith\":2,"
            "\"connectFromField\":\"_id\",\"connectToField\":\"half\",\"as\":\"r\"}},"
            "{\"$project\":{\"r._id\":1}}]"),
        "[{\"_id\":1,\"r\":[{\"_id\":4}]}]");
    assert_string_equal(run(t, t->c,
                            "[{\"$match\":{\"_id\":0}},{\"$project\":{\"_id\":1}},{\"$unionWith\":{"
                            "\"coll\":\"few\",\"pipeline\":[{\"$project\":{\"_id\":1}}]}}]"),
                        "[{\"_id\":0},{\"_id\":4},{\"_id\":7},{\"_id\":10}]");
    if (strcmp(t->can.backend, "embedded") != 0)
        return;
    make_view(t, "round",
              "{\"viewOn\":\"things\",\"pipeline\":[{\"$unionWith\":{\"coll\":\"round\"}}]}");
    ash_cursor *cursor = NULL;
    ash_doc doc = {(const uint8_t *)"", 0};
    int rc = ash_collection_aggregate(t->c, json("[{\"$unionWith\":\"round\"}]"), NULL, &cursor,
                                      &t->err);
    while (rc == 0 && doc.data != NULL)
        rc = ash_cursor_next(cursor, &doc, &t->err);
    ash_cursor_free(cursor);
    assert_int_equal(rc, ASH_EINVAL);
    assert_int_equal(ash_error_server_code(&t->err), 165);
}

/* What reads a view takes in its stages: those around it count, however deep the views are. */
static void test_contract_aggregate__views_count_together(void **state)
{
    contract *t = *state;
    char options[16000], name[8], read[64];
    fill(t);
    if (strcmp(t->can.backend, "embedded") != 0)
        return;
    for (int i = 0; i < 4; i++) {
        int len = snprintf(options, sizeof options, "{\"viewOn\":\"things\",\"pipeline\":[");
        for (int n = 0; n < 400; n++)
            len += snprintf(options + len, sizeof options - (size_t)len, "{\"$match\":{}},");
        snprintf(options + len, sizeof options - (size_t)len, "{\"$unionWith\":\"%s%d\"}]}",
                 i == 0 ? "none" : "v", i - 1);
        snprintf(name, sizeof name, "v%d", i);
        make_view(t, name, options);
    }
    for (int i = 1; i < 4; i += 2) {
        ash_cursor *cursor = NULL;
        ash_doc doc = {(const uint8_t *)"", 0};
        snprintf(read, sizeof read, "[{\"$unionWith\":\"v%d\"}]", i);
        int rc = ash_collection_aggregate(t->c, json(read), NULL, &cursor, &t->err);
        while (rc == 0 && doc.data != NULL)
            rc = ash_cursor_next(cursor, &doc, &t->err);
        ash_cursor_free(cursor);
        assert_int_equal(rc, i == 1 ? 0 : ASH_EINVAL);
    }
    assert_int_equal(ash_error_server_code(&t->err), 7749501);
}

static void test_contract_aggregate__out_replaces_the_target(void **state)
{
    contract *t = *state;
    ash_collection *target = open_collection(t, "target");
    fill(t);
    assert_ok(insert_json(t, target, "{\"_id\":99,\"old\":true}"), &t->err);
    assert_ok(index_json(t, target, "[{\"key\":{\"n\":1},\"name\":\"n_1\"}]", NULL), &t->err);
    assert_string_equal(
        run(t, t->c, "[{\"$match\":{\"_id\":{\"$gte\":10}}},{\"$out\":\"target\"}]"), "[]");
    assert_string_equal(found(t, target, "{}", "{\"_id\":1}", "{\"n\":1}", 0, 0),
                        "[{\"_id\":10,\"n\":100},{\"_id\":11,\"n\":121}]");
    ash_cursor *cursor = NULL;
    assert_ok(ash_collection_list_indexes(target, NULL, &cursor, &t->err), &t->err);
    assert_non_null(strstr(drain(t, cursor), "n_1"));
    /* Its own source. */
    run(t, target, "[{\"$set\":{\"n\":0}},{\"$out\":\"target\"}]");
    assert_true(count_json(t, target, "{\"n\":0}") == 2);
    ash_collection_free(target);
}

static void test_contract_aggregate__merge(void **state)
{
    contract *t = *state;
    ash_collection *target = open_collection(t, "target");
    fill(t);
    assert_ok(insert_json(t, target, "{\"_id\":1,\"mine\":true,\"n\":-1}"), &t->err);
    run(t, t->c,
        "[{\"$match\":{\"_id\":{\"$lte\":2}}},{\"$project\":{\"n\":1}},"
        "{\"$merge\":\"target\"}]");
    assert_string_equal(found(t, target, "{}", "{\"_id\":1}", NULL, 0, 0),
                        "[{\"_id\":0,\"n\":0},{\"_id\":1,\"mine\":true,\"n\":1},"
                        "{\"_id\":2,\"n\":4}]");
    run(t, t->c,
        "[{\"$match\":{\"_id\":{\"$in\":[2,3]}}},{\"$project\":{\"kind\":1}},"
        "{\"$merge\":{\"into\":\"target\",\"whenMatched\":\"replace\","
        "\"whenNotMatched\":\"discard\"}}]");
    assert_string_equal(found(t, target, "{\"_id\":{\"$gte\":2}}", NULL, NULL, 0, 0),
                        "[{\"_id\":2,\"kind\":\"k2\"}]");
    expect_refusal(t, "[{\"$merge\":{\"into\":\"target\",\"whenMatched\":\"fail\"}}]", 11000);
    expect_refusal(t, "[{\"$merge\":{\"into\":\"target\",\"on\":\"kind\"}}]", 51183);
    ash_collection_free(target);
}

static void test_contract_aggregate__refusals(void **state)
{
    contract *t = *state;
    ash_cursor *cursor = NULL;
    expect_refusal(t, "[{\"$noSuchStage\":{}}]", 40324);
    assert_int_equal(
        ash_store_aggregate(t->store, t->db, json("[{\"$match\":{}}]"), NULL, &cursor, &t->err),
        ASH_EINVAL);
    assert_int_equal(ash_error_server_code(&t->err), 73);
}

static void test_contract_aggregate__many_batches(void **state)
{
    contract *t = *state;
    ash_aggregate_options opts = ASH_AGGREGATE_OPTIONS_INIT;
    ash_cursor *cursor = NULL;
    ash_batch batch;
    int next = 0;
    for (int i = 0; i < 40; i++)
        assert_ok(ash_collection_insert_one(t->c, big_document(i, 20000), NULL, &t->err), &t->err);
    opts.batch_size = 7;
    assert_ok(ash_collection_aggregate(t->c, json("[{\"$sort\":{\"_id\":1}},{\"$set\":{\"x\":1}}]"),
                                       &opts, &cursor, &t->err),
              &t->err);
    do {
        assert_ok(ash_cursor_next_batch(cursor, 0, 50000, &batch, &t->err), &t->err);
        for (size_t i = 0; i < batch.count; i++) {
            bson_t b;
            bson_iter_t it;
            assert_true(bson_init_static(&b, batch.docs[i].data, batch.docs[i].len));
            assert_true(bson_iter_init_find(&it, &b, "_id"));
            assert_int_equal(bson_iter_int32(&it), next++);
            assert_true(bson_has_field(&b, "x"));
        }
    } while (!batch.exhausted);
    assert_int_equal(next, 40);
    ash_cursor_free(cursor);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONTRACT(test_contract_aggregate__groups_and_sorts),
        CONTRACT(test_contract_aggregate__as_drivers_count),
        CONTRACT(test_contract_aggregate__lookup),
        CONTRACT(test_contract_aggregate__out_replaces_the_target),
        CONTRACT(test_contract_aggregate__stages_read_views),
        CONTRACT(test_contract_aggregate__views_count_together),
        CONTRACT(test_contract_aggregate__merge),
        CONTRACT(test_contract_aggregate__refusals),
        CONTRACT(test_contract_aggregate__many_batches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
