/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static void fill(fixture *f, int count)
{
    ash_doc docs[500];
    for (int from = 0; from < count; from += 500) {
        for (int i = 0; i < 500; i++) {
            bson_t *b = bson_new();
            bson_append_int32(b, "_id", -1, from + i);
            bson_append_int32(b, "free", -1, 0);
            docs[i] = (ash_doc){bson_get_data(b), b->len};
            uint32_t len;
            docs[i].data = bson_destroy_with_steal(b, true, &len);
        }
        assert_ok(ash_collection_insert(f->c, docs, 500, NULL, NULL, &f->err), &f->err);
        for (int i = 0; i < 500; i++)
            bson_free((void *)(uintptr_t)docs[i].data);
    }
}

static int64_t number_in(const bson_t *b, const char *path)
{
    bson_iter_t it;
    bson_iter_t at;
    assert_true(bson_iter_init(&it, b) && bson_iter_find_descendant(&it, path, &at));
    return bson_iter_as_int64(&at);
}

/* ---- competing for the same document ---- */

enum { COPIES = 23, THREADS = 6 };

typedef struct borrower {
    fixture *f;
    int got;
    int failed;
} borrower;

/* Takes copies until there are none, by a filter that no index serves. */
static void *borrow(void *arg)
{
    borrower *b = arg;
    ash_find_and_modify_options opts = ASH_FIND_AND_MODIFY_OPTIONS_INIT;
    bson_t *filter = fixture_json("{\"free\":{\"$gt\":0}}");
    bson_t *set = fixture_json("{\"$inc\":{\"free\":-1}}");
    bson_value_t update = {.value_type = BSON_TYPE_DOCUMENT};
    ash_error err = ASH_ERROR_INIT;
    bool found = true;
    update.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(set);
    update.value.v_doc.data_len = set->len;
    opts.update = &update;
    while (found && b->failed == 0) {
        bson_t value;
        if (ash_collection_find_and_modify(b->f->c, filter, &opts, &value, &found, NULL, &err) != 0)
            b->failed = 1;
        else
            bson_destroy(&value);
        b->got += found && b->failed == 0;
    }
    bson_destroy(filter);
    bson_destroy(set);
    return NULL;
}

static void compete(fixture *f, int others)
{
    borrower borrowers[THREADS] = {{NULL, 0, 0}};
    pthread_t threads[THREADS];
    int total = 0;
    char book[60];
    fill(f, others);
    snprintf(book, sizeof book, "{\"_id\":\"book\",\"free\":%d}", COPIES);
    assert_ok(fixture_insert(f, f->c, book), &f->err);
    for (int i = 0; i < THREADS; i++) {
        borrowers[i].f = f;
        assert_int_equal(pthread_create(&threads[i], NULL, borrow, &borrowers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(borrowers[i].failed, 0);
        total += borrowers[i].got;
    }
    assert_int_equal(total, COPIES);
    assert_int_equal(fixture_count(f, f->c, "{\"_id\":\"book\",\"free\":0}"), 1);
}

static void test_embedded_admin__no_copy_is_lent_twice(void **state)
{
    compete(*state, 500);
}

/* Large enough that the writer does not read the collection itself. */
static void test_embedded_admin__no_copy_is_lent_twice_when_looked_up_ahead(void **state)
{
    compete(*state, 2000);
}

/* ---- statistics, changes of options, maintenance ---- */

static void test_embedded_admin__statistics(void **state)
{
    fixture *f = *state;
    bson_t out;
    fill(f, 500);
    assert_ok(ash_store_stats(f->store, "test", "things", 0, NULL, &out, &f->err), &f->err);
    assert_int_equal(number_in(&out, "count"), 500);
    assert_int_equal(number_in(&out, "nindexes"), 1);
    assert_true(number_in(&out, "size") == 500 * number_in(&out, "avgObjSize"));
    assert_true(number_in(&out, "indexSizes._id_") > 0);
    bson_destroy(&out);
    assert_ok(ash_store_stats(f->store, "test", NULL, 0, NULL, &out, &f->err), &f->err);
    assert_int_equal(number_in(&out, "collections"), 1);
    assert_int_equal(number_in(&out, "objects"), 500);
    bson_destroy(&out);
    assert_ok(ash_store_stats(f->store, NULL, NULL, 0, NULL, &out, &f->err), &f->err);
    assert_true(number_in(&out, "ashlar.commits") > 0);
    bson_destroy(&out);
}

static void test_embedded_admin__coll_mod(void **state)
{
    fixture *f = *state;
    bson_t old;
    bson_t *specs =
        fixture_json("[{\"key\":{\"at\":1},\"name\":\"at\",\"expireAfterSeconds\":100}]");
    bson_t *change = fixture_json("{\"index\":{\"name\":\"at\",\"expireAfterSeconds\":50},"
                                  "\"validator\":{\"a\":1},\"validationLevel\":\"strict\"}");
    bson_t *bad = fixture_json("{\"colour\":1}");
    assert_ok(ash_collection_create_indexes(f->c, specs, NULL, NULL, &f->err), &f->err);
    assert_ok(ash_collection_modify(f->c, change, NULL, &old, &f->err), &f->err);
    assert_int_equal(number_in(&old, "expireAfterSeconds_old"), 100);
    assert_int_equal(number_in(&old, "expireAfterSeconds_new"), 50);
    bson_destroy(&old);
    assert_int_equal(fixture_insert(f, f->c, "{\"a\":2}"), ASH_EINVAL);
    assert_int_equal(ash_error_server_code(&f->err), 121);
    assert_ok(fixture_insert(f, f->c, "{\"a\":1}"), &f->err);
    assert_int_equal(ash_collection_modify(f->c, bad, NULL, NULL, &f->err), ASH_EINVAL);
    assert_int_equal(ash_error_server_code(&f->err), 40415);
    bson_destroy(specs);
    bson_destroy(change);
    bson_destroy(bad);
}

static void maintain(fixture *f, const char *action, bson_t *out)
{
    bson_t *b = fixture_json(action);
    assert_ok(ash_store_maintain(f->store, b, NULL, NULL, out, &f->err), &f->err);
    bson_destroy(b);
}

static void test_embedded_admin__maintenance(void **state)
{
    fixture *f = *state;
    bson_t out;
    bson_iter_t it;
    fill(f, 500);
    maintain(f, "{\"check\":1}", &out);
    assert_true(bson_iter_init_find(&it, &out, "clean") && bson_iter_bool(&it));
    assert_int_equal(number_in(&out, "records"), 500);
    bson_destroy(&out);
    maintain(f, "{\"validate\":\"test.things\"}", &out);
    assert_true(bson_iter_init_find(&it, &out, "valid") && bson_iter_bool(&it));
    assert_int_equal(number_in(&out, "nrecords"), 500);
    assert_int_equal(number_in(&out, "keysPerIndex._id_"), 500);
    bson_destroy(&out);
    maintain(f, "{\"compact\":\"test.things\"}", &out);
    bson_destroy(&out);
    static const char *const none[] = {"{\"validate\":\"test.none\"}",
                                       "{\"compact\":\"test.none\"}"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(none); i++) {
        bson_t *action = fixture_json(none[i]);
        assert_int_equal(ash_store_maintain(f->store, action, NULL, NULL, &out, &f->err),
                         ASH_ENOTFOUND);
        assert_int_equal(ash_error_server_code(&f->err), 26);
        bson_destroy(action);
    }
}

static void test_embedded_admin__databases(void **state)
{
    fixture *f = *state;
    bson_t out;
    ash_collection *other = NULL;
    fill(f, 500);
    assert_ok(ash_collection_new(f->store, "zoo", "animals", &other, &f->err), &f->err);
    assert_ok(fixture_insert(f, other, "{\"_id\":1}"), &f->err);
    assert_ok(ash_store_list_databases(f->store, NULL, &out, &f->err), &f->err);
    char *json = bson_as_relaxed_extended_json(&out, NULL);
    assert_non_null(strstr(json, "\"name\" : \"test\""));
    assert_non_null(strstr(json, "\"name\" : \"zoo\""));
    assert_true(number_in(&out, "totalSize") > 0);
    bson_free(json);
    bson_destroy(&out);
    assert_ok(ash_store_drop_database(f->store, "zoo", NULL, &f->err), &f->err);
    assert_int_equal(fixture_count(f, other, "{}"), 0);
    assert_int_equal(fixture_count(f, f->c, "{}"), 500);
    ash_collection_free(other);
}

/* ---- transactions ---- */

static int insert_large(ash_transaction *tx, void *ctx, ash_error *err)
{
    fixture *f = ctx;
    ash_insert_options opts = ASH_INSERT_OPTIONS_INIT;
    bson_t *doc = fixture_chunk(1, 0, 1, 50000);
    opts.op.transaction = tx;
    int rc = ash_collection_insert_one(f->c, doc, &opts, err);
    bson_destroy(doc);
    return rc;
}

/* Large documents are written to a segment by whoever is at hand: here the writer itself. */
static void test_embedded_admin__transaction_begins_with_a_large_document(void **state)
{
    fixture *f = *state;
    assert_int_equal(fixture_insert(f, f->c, "{\"_id\": 0}"), 0);
    fixture_close(f);
    fixture_open(f);
    assert_ok(ash_store_transact(f->store, insert_large, f, NULL, &f->err), &f->err);
    assert_int_equal(fixture_count(f, f->c, "{}"), 2);
}

static int upsert(fixture *f, ash_transaction *tx, const char *filter, bson_oid_t *id,
                  ash_error *err)
{
    ash_update_options opts = ASH_UPDATE_OPTIONS_INIT;
    ash_write_result result;
    bson_iter_t it;
    bson_t *query = fixture_json(filter), *change = fixture_json("{\"$set\": {\"made\": 1}}");
    bson_value_t value = {.value_type = BSON_TYPE_DOCUMENT};
    value.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(change);
    value.value.v_doc.data_len = change->len;
    ash_write_result_init(&result);
    opts.op.transaction = tx;
    opts.upsert = true;
    int rc = ash_collection_update(f->c, query, &value, &opts, &result, err);
    if (rc == 0) {
        assert_true(bson_iter_init_find(&it, &result.upserted_id, "_id"));
        bson_oid_copy(bson_iter_oid(&it), id);
    }
    ash_write_result_release(&result);
    bson_destroy(query);
    bson_destroy(change);
    return rc;
}

static int upsert_two(ash_transaction *tx, void *ctx, ash_error *err)
{
    fixture *f = ctx;
    bson_oid_t first, second, again;
    bson_oid_init_from_string(&first, "0102030405060708090a0bff");
    tx->has_new_id = true;
    tx->new_id = first;
    int rc = upsert(f, tx, "{\"name\": \"a\"}", &again, err);
    assert_true(rc != 0 || bson_oid_equal(&again, &first));
    if (rc == 0)
        rc = upsert(f, tx, "{\"name\": \"b\"}", &second, err);
    bson_oid_init_from_string(&again, "0102030405060708090a0c00");
    assert_true(rc != 0 || bson_oid_equal(&again, &second));
    return rc;
}

/* As one update command with several statements makes them. */
static void test_embedded_admin__upserts_with_ids_that_are_told(void **state)
{
    fixture *f = *state;
    assert_ok(ash_store_transact(f->store, upsert_two, f, NULL, &f->err), &f->err);
    assert_int_equal(fixture_count(f, f->c, "{\"made\": 1}"), 2);
}

static uint32_t id_of_things(fixture *f)
{
    ash_snapshot *snap = NULL;
    const ash_coll *c = NULL;
    assert_ok(ash__snapshot_open(ash__embedded(f->store)->engine, &snap, &f->err), &f->err);
    assert_ok(ash__catalog_find(snap, "test", "things", &c, &f->err), &f->err);
    assert_non_null(c);
    uint32_t id = c->id;
    ash__snapshot_close(snap);
    return id;
}

/* With an old id every large document would be written twice, the second time on the writer. */
static void test_embedded_admin__id_is_learned_anew_after_a_drop(void **state)
{
    fixture *f = *state;
    ash_embedded *s = ash__embedded(f->store);
    uint32_t first = 0;
    for (int i = 0; i < 2; i++) {
        bson_t *doc = fixture_chunk(i, 0, 0, 20000);
        assert_ok(ash_collection_insert_one(f->c, doc, NULL, &f->err), &f->err);
        bson_destroy(doc);
        assert_int_equal(ash__coll_ids_get(&s->coll_ids, (ash_ns){"test", "things"}),
                         id_of_things(f));
        assert_int_not_equal(id_of_things(f), first);
        first = id_of_things(f);
        assert_ok(ash_collection_drop(f->c, NULL, &f->err), &f->err);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EMBEDDED(test_embedded_admin__no_copy_is_lent_twice),
        EMBEDDED(test_embedded_admin__no_copy_is_lent_twice_when_looked_up_ahead),
        EMBEDDED(test_embedded_admin__statistics),
        EMBEDDED(test_embedded_admin__coll_mod),
        EMBEDDED(test_embedded_admin__maintenance),
        EMBEDDED(test_embedded_admin__databases),
        EMBEDDED(test_embedded_admin__transaction_begins_with_a_large_document),
        EMBEDDED(test_embedded_admin__upserts_with_ids_that_are_told),
        EMBEDDED(test_embedded_admin__id_is_learned_anew_after_a_drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
