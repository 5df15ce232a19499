/* SPDX-License-Identifier: Apache-2.0 */
#include "contract.h"

#include <stdio.h>
#include <string.h>

/* Indexes that become unique when there are documents already. */

static int modify(contract *t, const char *changes, bson_t *old)
{
    return ash_collection_modify(t->c, json(changes), NULL, old, &t->err);
}

/* What collMod answers; freed by the test's end. */
static const char *modified(contract *t, const char *changes)
{
    bson_t old;
    assert_ok(modify(t, changes, &old), &t->err);
    const char *text = compact_json(&old);
    bson_destroy(&old);
    return text;
}

static void refused(contract *t, const char *changes, int32_t code)
{
    bson_t old;
    assert_true(modify(t, changes, &old) != 0);
    assert_int_equal(ash_error_server_code(&t->err), code);
    if (code == 359)
        bson_destroy(&old);
}

static void taken(contract *t, const char *doc)
{
    assert_ok(insert_json(t, t->c, doc), &t->err);
}

static void is_duplicate(contract *t, const char *doc)
{
    assert_int_equal(insert_json(t, t->c, doc), ASH_EEXISTS);
    assert_int_equal(ash_error_server_code(&t->err), 11000);
}

#define PREPARE "{\"index\":{\"name\":\"a_1\",\"prepareUnique\":true}}"
#define UNIQUE  "{\"index\":{\"keyPattern\":{\"a\":1},\"unique\":true}}"
#define TRY     "{\"index\":{\"name\":\"a_1\",\"unique\":true},\"dryRun\":true}"

static void start(contract *t)
{
    assert_ok(index_json(t, t->c, "[{\"key\":{\"a\":1},\"name\":\"a_1\"}]", NULL), &t->err);
}

static void test_contract_unique__prepared_takes_no_new_duplicates(void **state)
{
    contract *t = *state;
    ash_write_result r;
    ash_write_result_init(&r);
    start(t);
    taken(t, "{\"_id\":1,\"a\":5}");
    taken(t, "{\"_id\":2,\"a\":5}");
    assert_string_equal(modified(t, PREPARE),
                        "{\"prepareUnique_old\":false,\"prepareUnique_new\":true}");
    is_duplicate(t, "{\"_id\":3,\"a\":5}");
    taken(t, "{\"_id\":3,\"a\":6}");
    assert_int_equal(update_json(t, t->c, "{\"_id\":3}", "{\"$set\":{\"a\":5}}", NULL, &r),
                     ASH_EEXISTS);
    ash_write_result_release(&r);
    ash_write_result_init(&r);
    /* What shares its key already may change otherwise. */
    assert_ok(update_json(t, t->c, "{\"_id\":2}", "{\"$set\":{\"b\":1}}", NULL, &r), &t->err);
    ash_write_result_release(&r);
    assert_string_equal(modified(t, "{\"index\":{\"name\":\"a_1\",\"prepareUnique\":false}}"),
                        "{\"prepareUnique_old\":true,\"prepareUnique_new\":false}");
    taken(t, "{\"_id\":4,\"a\":6}");
}

static void test_contract_unique__violations_are_told(void **state)
{
    contract *t = *state;
    bson_t old;
    start(t);
    for (int i = 1; i <= 7; i++) {
        char doc[64];
        snprintf(doc, sizeof doc, "{\"_id\":%d,\"a\":%d}", i, i <= 3 ? 100 : i <= 5 ? 105 : i);
        taken(t, doc);
    }
    refused(t, UNIQUE, 72);
    refused(t, TRY, 359);
    modified(t, PREPARE);
    assert_int_equal(modify(t, UNIQUE, &old), ASH_EEXISTS);
    assert_int_equal(ash_error_server_code(&t->err), 359);
    assert_string_equal(compact_json(&old), "{\"violations\":[{\"ids\":[1,2,3]},{\"ids\":[4,5]}]}");
    bson_destroy(&old);
}

static void test_contract_unique__trying_changes_nothing(void **state)
{
    contract *t = *state;
    start(t);
    taken(t, "{\"_id\":1,\"a\":5}");
    modified(t, TRY);
    refused(t, UNIQUE, 72);
    taken(t, "{\"_id\":2,\"a\":5}");
    refused(t, "{\"index\":{\"name\":\"a_1\",\"hidden\":true},\"dryRun\":true}", 72);
    refused(t, "{\"index\":{\"name\":\"a_1\",\"hidden\":true,\"unique\":true},\"dryRun\":true}",
            72);
    refused(t, "{\"validationLevel\":\"off\",\"dryRun\":true}", 72);
    refused(t, "{\"index\":{\"name\":\"a_1\",\"unique\":false}}", 2);
}

static void is_listed_as_unique(contract *t)
{
    ash_cursor *cursor = NULL;
    assert_ok(ash_collection_list_indexes(t->c, NULL, &cursor, &t->err), &t->err);
    assert_string_equal(drain(t, cursor),
                        "[{\"v\":2,\"key\":{\"_id\":1},\"name\":\"_id_\"},"
                        "{\"v\":2,\"key\":{\"a\":1},\"name\":\"a_1\",\"unique\":true}]");
}

/* Keys of all lengths: long ones are laid out in another way. */
static void add_documents(contract *t)
{
    for (int i = 0; i < 40; i++) {
        char doc[800], text[700];
        int len = i % 2 == 0 ? 5 : 600;
        memset(text, 'x', (size_t)len);
        snprintf(text + len, sizeof text - (size_t)len, "%02d", i);
        snprintf(doc, sizeof doc, "{\"_id\":%d,\"a\":\"%s\"}", i, text);
        taken(t, doc);
    }
}

static void holds_all(contract *t, const char *extra)
{
    char doc[800], text[700];
    for (int i = 38; i < 40; i++) {
        int len = i % 2 == 0 ? 5 : 600;
        memset(text, 'x', (size_t)len);
        snprintf(text + len, sizeof text - (size_t)len, "%02d", i);
        snprintf(doc, sizeof doc, "{\"_id\":%d,\"a\":\"%s\"}", 100 + i, text);
        is_duplicate(t, doc);
        snprintf(doc, sizeof doc, "{\"a\":\"%s\"}", text);
        assert_int_equal(count_json(t, t->c, doc), 1);
    }
    assert_int_equal(count_json(t, t->c, "{\"a\":{\"$gte\":\"\"}}"), 40);
    taken(t, extra);
}

static void reopen(contract *t)
{
    if (t->folder[0] == '\0')
        return;
    ash_collection_free(t->c);
    ash_store_close(t->store);
    t->store = NULL;
    assert_ok(ash_store_open(t->folder, NULL, &t->store, &t->err), &t->err);
    t->c = open_collection(t, "things");
}

static void test_contract_unique__it_is_unique_from_then_on(void **state)
{
    contract *t = *state;
    start(t);
    add_documents(t);
    modified(t, PREPARE);
    assert_string_equal(modified(t, UNIQUE), "{\"unique_new\":true}");
    is_listed_as_unique(t);
    holds_all(t, "{\"_id\":200,\"a\":1}");
    reopen(t);
    is_listed_as_unique(t);
    holds_all(t, "{\"_id\":201,\"a\":2}");
    /* As one that was made so. */
    assert_ok(index_json(t, t->c, "[{\"key\":{\"a\":1},\"name\":\"a_1\",\"unique\":true}]", NULL),
              &t->err);
    modified(t, UNIQUE);
    modified(t, "{\"index\":{\"name\":\"a_1\",\"hidden\":true}}");
    modified(t, "{\"index\":{\"name\":\"a_1\",\"hidden\":false}}");
    is_listed_as_unique(t);
    holds_all(t, "{\"_id\":202,\"a\":3}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONTRACT(test_contract_unique__prepared_takes_no_new_duplicates),
        CONTRACT(test_contract_unique__violations_are_told),
        CONTRACT(test_contract_unique__trying_changes_nothing),
        CONTRACT(test_contract_unique__it_is_unique_from_then_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
