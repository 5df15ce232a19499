/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include "base/clock.h"
#include "store/embedded/retry.h"

#include <string.h>

static ash_retry_id retry_id(int64_t number, int32_t statement)
{
    ash_retry_id id = {.txn_number = number, .statement = statement};
    memset(id.session, 0x5a, sizeof id.session);
    return id;
}

static int insert_once(fixture *f, const ash_retry_id *id, const char *doc, ash_write_result *r)
{
    ash_insert_options opts = ASH_INSERT_OPTIONS_INIT;
    bson_t *b = fixture_json(doc);
    ash_doc view = {bson_get_data(b), b->len};
    opts.op.retry = id;
    ash_write_result_init(r);
    int rc = ash_collection_insert(f->c, &view, 1, &opts, r, &f->err);
    bson_destroy(b);
    return rc;
}

static int increment(fixture *f, const ash_retry_id *id, ash_write_result *r)
{
    ash_update_options opts = ASH_UPDATE_OPTIONS_INIT;
    bson_t *filter = fixture_json("{\"_id\":1}");
    bson_t *set = fixture_json("{\"$inc\":{\"n\":1}}");
    bson_value_t update = {.value_type = BSON_TYPE_DOCUMENT};
    update.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(set);
    update.value.v_doc.data_len = set->len;
    opts.op.retry = id;
    opts.upsert = true;
    ash_write_result_init(r);
    int rc = ash_collection_update(f->c, filter, &update, &opts, r, &f->err);
    bson_destroy(filter);
    bson_destroy(set);
    return rc;
}

static void test_embedded_retry__insert_is_done_once(void **state)
{
    fixture *f = *state;
    ash_retry_id id = retry_id(7, 0);
    ash_write_result r;
    for (int i = 0; i < 3; i++) {
        assert_ok(insert_once(f, &id, "{\"a\":1}", &r), &f->err);
        assert_true(r.inserted == 1);
        assert_int_equal(r.retried, i > 0);
        ash_write_result_release(&r);
    }
    assert_int_equal(fixture_count(f, f->c, "{}"), 1);
}

static void test_embedded_retry__failure_is_given_again(void **state)
{
    fixture *f = *state;
    ash_retry_id id = retry_id(7, 0);
    ash_write_result r;
    assert_ok(fixture_insert(f, f->c, "{\"_id\":1}"), &f->err);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(insert_once(f, &id, "{\"_id\":1}", &r), ASH_EEXISTS);
        assert_int_equal(ash_error_server_code(&f->err), 11000);
        assert_int_equal(r.error_count, 1);
        ash_write_result_release(&r);
    }
}

static void test_embedded_retry__remembered_across_a_restart(void **state)
{
    fixture *f = *state;
    ash_retry_id id = retry_id(3, 0);
    ash_write_result r;
    assert_ok(increment(f, &id, &r), &f->err);
    assert_true(r.upserted && !r.retried);
    ash_write_result_release(&r);
    fixture_close(f);
    fixture_open(f);
    assert_ok(increment(f, &id, &r), &f->err);
    assert_true(r.upserted && r.retried);
    bson_iter_t it;
    assert_true(bson_iter_init_find(&it, &r.upserted_id, "_id"));
    assert_int_equal(bson_iter_int32(&it), 1);
    ash_write_result_release(&r);
    assert_int_equal(fixture_count(f, f->c, "{\"n\":1}"), 1);
    id = retry_id(4, 0);
    assert_ok(increment(f, &id, &r), &f->err);
    assert_true(!r.upserted && r.matched == 1);
    ash_write_result_release(&r);
    assert_int_equal(fixture_count(f, f->c, "{\"n\":2}"), 1);
}

static void test_embedded_retry__statements_are_apart(void **state)
{
    fixture *f = *state;
    ash_write_result r;
    for (int again = 0; again < 2; again++)
        for (int32_t s = 0; s < 4; s++) {
            ash_retry_id id = retry_id(1, s);
            assert_ok(increment(f, &id, &r), &f->err);
            assert_int_equal(r.retried, again);
            ash_write_result_release(&r);
        }
    assert_int_equal(fixture_count(f, f->c, "{\"n\":4}"), 1);
}

static void test_embedded_retry__lower_number_is_refused(void **state)
{
    fixture *f = *state;
    ash_retry_id newer = retry_id(9, 2);
    ash_retry_id older = retry_id(8, 0);
    ash_write_result r;
    assert_ok(increment(f, &newer, &r), &f->err);
    ash_write_result_release(&r);
    assert_int_equal(increment(f, &older, &r), ASH_EINVAL);
    assert_int_equal(ash_error_server_code(&f->err), 225);
    ash_write_result_release(&r);
    assert_int_equal(fixture_count(f, f->c, "{\"n\":1}"), 1);
}

static void test_embedded_retry__find_and_modify_gives_its_document_again(void **state)
{
    fixture *f = *state;
    ash_find_and_modify_options opts = ASH_FIND_AND_MODIFY_OPTIONS_INIT;
    ash_retry_id id = retry_id(2, 0);
    bson_t *filter = fixture_json("{\"_id\":5}");
    assert_ok(fixture_insert(f, f->c, "{\"_id\":5,\"x\":\"y\"}"), &f->err);
    opts.remove = true;
    opts.op.retry = &id;
    for (int again = 0; again < 2; again++) {
        bson_t value;
        bson_t *wanted = fixture_json("{\"_id\":5,\"x\":\"y\"}");
        bool found = false;
        ash_write_result r;
        ash_write_result_init(&r);
        assert_ok(ash_collection_find_and_modify(f->c, filter, &opts, &value, &found, &r, &f->err),
                  &f->err);
        assert_true(found && r.deleted == 1 && bson_equal(&value, wanted));
        assert_int_equal(r.retried, again);
        ash_write_result_release(&r);
        bson_destroy(&value);
        bson_destroy(wanted);
    }
    bson_destroy(filter);
}

/* More than one turn's worth, as many short sessions leave behind. */
static void test_embedded_retry__all_old_results_are_swept(void **state)
{
    enum { SESSIONS = 2500 };
    fixture *f = *state;
    ash_error err = ASH_ERROR_INIT;
    ash_write_result r;
    ash_retry_id id = retry_id(1, 0);
    fixture_close(f);
    f->opts.durability = ASH_DURABILITY_INTERVAL;
    fixture_open(f);
    for (uint32_t i = 0; i < SESSIONS; i++) {
        memcpy(id.session, &i, sizeof i);
        assert_ok(insert_once(f, &id, "{\"a\":1}", &r), &f->err);
        ash_write_result_release(&r);
    }
    assert_ok(ash__retry_sweep(ash__embedded(f->store), ash__clock_wall_ms() + 1, &err), &err);
    for (uint32_t i = 0; i < SESSIONS; i += SESSIONS - 1) {
        memcpy(id.session, &i, sizeof i);
        assert_ok(insert_once(f, &id, "{\"a\":2}", &r), &f->err);
        assert_false(r.retried);
        ash_write_result_release(&r);
    }
    assert_int_equal(fixture_count(f, f->c, "{\"a\":2}"), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EMBEDDED(test_embedded_retry__insert_is_done_once),
        EMBEDDED(test_embedded_retry__failure_is_given_again),
        EMBEDDED(test_embedded_retry__remembered_across_a_restart),
        EMBEDDED(test_embedded_retry__statements_are_apart),
        EMBEDDED(test_embedded_retry__lower_number_is_refused),
        EMBEDDED(test_embedded_retry__find_and_modify_gives_its_document_again),
        EMBEDDED(test_embedded_retry__all_old_results_are_swept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
