/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include "base/clock.h"
#include "store/embedded/write/retry.h"

#include <stdlib.h>
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

static int insert_many(fixture *f, const ash_retry_id *id, int32_t count, ash_write_result *r)
{
    ash_insert_options opts = ASH_INSERT_OPTIONS_INIT;
    bson_t *docs = calloc((size_t)count, sizeof *docs);
    ash_doc *views = calloc((size_t)count, sizeof *views);
    for (int32_t i = 0; i < count; i++) {
        bson_init(&docs[i]);
        /* Every third is new, the others are there already. */
        BSON_APPEND_INT32(&docs[i], "_id", i % 3 == 0 ? i : -1);
        views[i] = (ash_doc){bson_get_data(&docs[i]), docs[i].len};
    }
    opts.unordered = true;
    opts.op.retry = id;
    ash_write_result_init(r);
    int rc = ash_collection_insert(f->c, views, (size_t)count, &opts, r, &f->err);
    for (int32_t i = 0; i < count; i++)
        bson_destroy(&docs[i]);
    free(docs);
    free(views);
    return rc;
}

typedef struct stored {
    size_t count, bytes, largest;
} stored;

static bool add_stored(void *ctx, const void *key, size_t key_len, ash_doc value)
{
    stored *s = ctx;
    (void)key;
    (void)key_len;
    s->count++;
    s->bytes += value.len;
    s->largest = value.len > s->largest ? value.len : s->largest;
    return true;
}

static stored all_stored(fixture *f)
{
    stored s = {0};
    ash_snapshot *snap = NULL;
    assert_ok(ash__snapshot_open(ash__embedded(f->store)->engine, &snap, &f->err), &f->err);
    assert_ok(ash__state_each(snap, "rt", 2, add_stored, &s, &f->err), &f->err);
    ash__snapshot_close(snap);
    return s;
}

/* The second insert takes up where the first ended, the third only tells. */
static void test_embedded_retry__errors_of_all_turns_are_given_again(void **state)
{
    enum { FIRST = 700, ALL = 1500 };
    fixture *f = *state;
    ash_retry_id id = retry_id(7, 0);
    ash_write_result r[3];
    assert_ok(fixture_insert(f, f->c, "{\"_id\":-1}"), &f->err);
    assert_int_equal(insert_many(f, &id, FIRST, &r[0]), ASH_EEXISTS);
    assert_int_equal(r[0].error_count, FIRST * 2 / 3);
    for (int i = 1; i < 3; i++) {
        fixture_close(f);
        fixture_open(f);
        assert_int_equal(insert_many(f, &id, ALL, &r[i]), ASH_EEXISTS);
        assert_true(r[i].retried && r[i].inserted == ALL / 3);
        assert_int_equal(r[i].error_count, ALL * 2 / 3);
        assert_non_null(strstr(f->err.text, "E11000"));
    }
    assert_int_equal(fixture_count(f, f->c, "{}"), ALL / 3 + 1);
    assert_true(bson_equal(&r[1].errors, &r[2].errors));
    for (int i = 0; i < 3; i++)
        ash_write_result_release(&r[i]);
}

/* What each turn stores is what it has to say itself. */
static void test_embedded_retry__an_error_is_stored_once(void **state)
{
    enum { ALL = 3000 };
    fixture *f = *state;
    ash_retry_id id = retry_id(7, 0);
    ash_write_result r;
    ash_error err = ASH_ERROR_INIT;
    assert_ok(fixture_insert(f, f->c, "{\"_id\":-1}"), &f->err);
    assert_int_equal(insert_many(f, &id, ALL, &r), ASH_EEXISTS);
    stored s = all_stored(f);
    assert_int_equal(s.count, 1 + ALL / 500);
    assert_true(s.largest < r.errors.len / 4 && s.bytes < r.errors.len + 2000);
    ash_write_result_release(&r);
    assert_ok(ash__retry_sweep(ash__embedded(f->store), ash__clock_wall_ms() + 1, &err), &err);
    assert_int_equal(all_stored(f).count, ALL / 500); /* the record goes before its parts */
    int64_t later = ash__clock_wall_ms() + ASH_RETRY_KEEP_MS + 1;
    assert_ok(ash__retry_sweep(ash__embedded(f->store), later, &err), &err);
    assert_int_equal(all_stored(f).count, 0);
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
        EMBEDDED(test_embedded_retry__errors_of_all_turns_are_given_again),
        EMBEDDED(test_embedded_retry__an_error_is_stored_once),
        EMBEDDED(test_embedded_retry__all_old_results_are_swept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
