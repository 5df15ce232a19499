/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "base/clock.h"
#include "base/mem.h"
#include "bson/builder.h"
#include "store/ops.h"

#include <stdlib.h>
#include <string.h>

/* This program is a build without any backend. */
const ash_backend *const ash__backends[] = {NULL};

/* A store whose slots only say that they were reached. */
struct probe {
    ash_store base;
    int inserts;
    int finds;
    ash_find_options find;
};

static int probe_insert(ash_store *store, ash_ns ns, const ash_doc_list *list,
                        const ash_insert_options *opts, ash_write_result *result, ash_error *err)
{
    ash_error why = {.code = ASH_EEXISTS, .server_code = 11000, .text = "duplicate"};
    bson_t *details = BCON_NEW("keyPattern", "{", "_id", BCON_INT32(1), "}", "keyValue", "{", "_id",
                               BCON_INT32(7), "}");
    (void)ns;
    (void)opts;
    ((struct probe *)store)->inserts++;
    result->inserted = (int64_t)list->count - 1;
    ash__write_result_add_error(result, 3, &why, details);
    bson_destroy(details);
    *err = why;
    return why.code;
}

static int probe_find(ash_store *store, ash_ns ns, const bson_t *filter,
                      const ash_find_options *opts, ash_cursor **out, ash_error *err)
{
    struct probe *p = (struct probe *)store;
    (void)ns;
    (void)err;
    assert_non_null(filter);
    p->finds++;
    p->find = *opts;
    *out = ash__cursor_from_array(store, bson_new());
    return 0;
}

static const ash_store_ops probe_ops = {.insert = probe_insert, .find = probe_find};

static struct probe new_probe(void)
{
    static char name[] = "test";
    return (struct probe){.base = {.ops = &probe_ops, .default_db = name}};
}

static void add_errors(ash_write_result *r, uint32_t count, size_t detail_bytes)
{
    ash_error why = {.code = ASH_EEXISTS, .server_code = 11000};
    bson_t details = BSON_INITIALIZER;
    char *value = calloc(detail_bytes + 1, 1);
    memset(value, 'v', detail_bytes);
    memset(why.text, 't', 200);
    BSON_APPEND_UTF8(&details, "errInfo", value);
    for (uint32_t i = 0; i < count; i++)
        ash__write_result_add_error(r, i, &why, &details);
    bson_destroy(&details);
    free(value);
}

static bool has_details(const ash_write_result *r, uint32_t index, bool *with_text)
{
    char name[12];
    ash_doc list = ash__doc_from_bson(&r->errors);
    ash_doc entry = ash__value_doc(ash__doc_get(list, ash__index_name(index, name)));
    int64_t number = -1, code = 0;
    uint32_t len = 0;
    ash__value_as_int64(ash__doc_get(entry, "index"), &number);
    ash__value_as_int64(ash__doc_get(entry, "code"), &code);
    assert_true(number == index && code == 11000);
    ash__value_string(ash__doc_get(entry, "errmsg"), &len);
    *with_text = len == 200;
    assert_true(*with_text || len == 0);
    return !ash__value_is_missing(ash__doc_get(entry, "errInfo"));
}

static void test_store_store__long_lists_of_errors_lose_texts_and_details(void **state)
{
    enum { COUNT = 20000 };
    ash_write_result r;
    bool text = false;
    (void)state;
    ash_write_result_init(&r);
    add_errors(&r, COUNT, 200000);
    assert_int_equal(r.error_count, COUNT);
    assert_true(r.errors.len < ASH_WRITE_ERRORS_BYTES + COUNT * 64);
    assert_true(has_details(&r, 0, &text) && text);
    assert_true(!has_details(&r, 10, &text) && text);
    assert_true(!has_details(&r, COUNT - 1, &text) && !text);
    ash_write_result_release(&r);

    ash_write_result_init(&r); /* the first may be large */
    add_errors(&r, 2, ASH_WRITE_ERRORS_BYTES * 2);
    assert_true(has_details(&r, 0, &text) && text);
    assert_true(!has_details(&r, 1, &text) && !text);
    ash_write_result_release(&r);
}

static void test_store_store__write_result_tells_which_document_failed(void **state)
{
    struct probe p = new_probe();
    ash_collection *c = NULL;
    ash_error err = ASH_ERROR_INIT;
    ash_write_result result;
    uint8_t empty[5] = {5};
    ash_doc docs[2] = {{empty, 5}, {empty, 5}};
    bson_t *expected = BCON_NEW("0", "{", "index", BCON_INT32(3), "code", BCON_INT32(11000),
                                "errmsg", "duplicate", "keyPattern", "{", "_id", BCON_INT32(1), "}",
                                "keyValue", "{", "_id", BCON_INT32(7), "}", "}");
    (void)state;
    ash_write_result_init(&result);
    assert_ok(ash_collection_new(&p.base, NULL, "c", &c, &err), &err);
    assert_string_equal(ash_collection_db(c), "test");
    assert_int_equal(ash_collection_insert(c, docs, 2, NULL, &result, &err), ASH_EEXISTS);
    assert_int_equal(result.inserted, 1);
    assert_int_equal(result.error_count, 1);
    assert_true(bson_equal(&result.errors, expected));
    assert_int_equal(ash_collection_insert(c, docs, 2, NULL, NULL, &err), ASH_EEXISTS);
    docs[1].len = 6;
    assert_int_equal(ash_collection_insert(c, docs, 2, NULL, NULL, &err), ASH_EINVAL);
    assert_int_equal(p.inserts, 2);
    bson_destroy(expected);
    ash_write_result_release(&result);
    ash_collection_free(c);
}

static void test_store_store__a_read_only_store_refuses_writes(void **state)
{
    struct probe p = new_probe();
    ash_collection *c = NULL;
    ash_error err = ASH_ERROR_INIT;
    ash_cursor *cursor = NULL;
    uint8_t empty[5] = {5};
    ash_doc doc = {empty, 5};
    bson_t *out_stage = BCON_NEW("0", "{", "$out", "x", "}");
    (void)state;
    p.base.read_only = true;
    assert_ok(ash_collection_new(&p.base, NULL, "c", &c, &err), &err);
    assert_int_equal(ash_collection_insert(c, &doc, 1, NULL, NULL, &err), ASH_EREADONLY);
    assert_int_equal(ash_collection_drop(c, NULL, &err), ASH_EREADONLY);
    assert_int_equal(ash_collection_aggregate(c, out_stage, NULL, &cursor, &err), ASH_EREADONLY);
    assert_ok(ash_collection_find(c, NULL, NULL, &cursor, &err), &err);
    assert_int_equal(p.inserts, 0);
    bson_destroy(out_stage);
    ash_cursor_free(cursor);
    ash_collection_free(c);
}

static void test_store_store__deadline_and_cancel_stop_before_the_backend(void **state)
{
    struct probe p = new_probe();
    ash_collection *c = NULL;
    ash_error err = ASH_ERROR_INIT;
    ash_cursor *cursor = NULL;
    ash_find_options opts = ASH_FIND_OPTIONS_INIT;
    volatile int cancel = 1;
    (void)state;
    assert_ok(ash_collection_new(&p.base, NULL, "c", &c, &err), &err);
    opts.op.deadline_ms = ash__clock_ms();
    assert_int_equal(ash_collection_find(c, NULL, &opts, &cursor, &err), ASH_ETIMEOUT);
    opts.op.deadline_ms = ash_deadline(60000);
    opts.op.cancel = &cancel;
    assert_int_equal(ash_collection_find(c, NULL, &opts, &cursor, &err), ASH_EINTERRUPTED);
    assert_int_equal(p.finds, 0);
    cancel = 0;
    assert_ok(ash_collection_find(c, NULL, &opts, &cursor, &err), &err);
    assert_int_equal(p.find.max_await_ms, 1000);
    ash_cursor_free(cursor);
    ash_collection_free(c);
}

static void test_store_store__find_one_says_when_nothing_matches(void **state)
{
    struct probe p = new_probe();
    ash_collection *c = NULL;
    ash_error err = ASH_ERROR_INIT;
    bson_t out;
    (void)state;
    assert_ok(ash_collection_new(&p.base, NULL, "c", &c, &err), &err);
    assert_int_equal(ash_collection_find_one(c, NULL, NULL, &out, &err), ASH_ENOTFOUND);
    assert_int_equal(p.find.limit, 1);
    ash_collection_free(c);
}

static void test_store_store__unknown_uris_name_what_is_missing(void **state)
{
    ash_error err = ASH_ERROR_INIT;
    ash_store *store = NULL;
    (void)state;
    assert_int_equal(ash_store_open("nats://localhost", NULL, &store, &err), ASH_EUNSUPPORTED);
    assert_string_equal(err.text, "a NATS server has object stores alone");
    assert_int_equal(ash_store_open("ftp://localhost", NULL, &store, &err), ASH_EUNSUPPORTED);
    assert_string_equal(err.text, "this build has no backend for ftp:// URIs");
    assert_int_equal(ash_store_open("mongodb://localhost/", NULL, &store, &err), ASH_EUNSUPPORTED);
    assert_string_equal(err.text, "this build has no MongoDB backend (built without libmongoc)");
    assert_int_equal(ash_store_open("./files", NULL, &store, &err), ASH_EUNSUPPORTED);
    assert_string_equal(err.text, "this build has no embedded backend");
    assert_int_equal(ash_store_open("", NULL, &store, &err), ASH_EINVAL);
    assert_null(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_store_store__long_lists_of_errors_lose_texts_and_details),
        cmocka_unit_test(test_store_store__write_result_tells_which_document_failed),
        cmocka_unit_test(test_store_store__a_read_only_store_refuses_writes),
        cmocka_unit_test(test_store_store__deadline_and_cancel_stop_before_the_backend),
        cmocka_unit_test(test_store_store__find_one_says_when_nothing_matches),
        cmocka_unit_test(test_store_store__unknown_uris_name_what_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
