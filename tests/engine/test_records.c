/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include <string.h>

static void test_engine_records__insert_get_find_and_reopen(void **state)
{
    fixture *f = *state;
    ash_value_box box;
    bool found;
    ash_record record;
    fixture_create(f, "c", NULL);
    for (int32_t i = 1; i <= 50; i++) {
        bson_t *doc = fixture_chunk(i, i * 2, i % 2 == 0 ? 100 : 20000);
        uint64_t rid;
        assert_ok(fixture_insert(f, "c", doc, ASH_ACK_APPLIED, &rid), &f->err);
        assert_int_equal(rid, i);
        bson_destroy(doc);
    }
    for (int round = 0; round < 2; round++) {
        ash_snapshot *snap = fixture_snapshot(f);
        const ash_coll *c = fixture_coll(f, snap, "c");
        for (int32_t i = 1; i <= 50; i++) {
            assert_ok(
                ash__record_find_id(snap, c, ash__box_int32(&box, i), &record, &found, &f->err),
                &f->err);
            assert_true(found);
            assert_int_equal(record.rid, i);
            assert_int_equal(record.place.segment != 0, i % 2 == 1);
            assert_true(fixture_chunk_is(record.doc, i, i * 2, i % 2 == 0 ? 100 : 20000));
        }
        assert_ok(ash__record_find_id(snap, c, ash__box_int32(&box, 51), &record, &found, &f->err),
                  &f->err);
        assert_false(found);
        ash__snapshot_close(snap);
        fixture_reopen(f);
        assert_false(ash__engine_was_unclean(f->engine));
    }
    assert_int_equal(fixture_count(f, "c"), 50);
}

static void test_engine_records__duplicate_answers_at_once_and_changes_nothing(void **state)
{
    fixture *f = *state;
    fixture_create(f, "c", NULL);
    fixture_index(f, "c", "{\"v\":2,\"key\":{\"a\":1},\"name\":\"a_1\",\"unique\":true}");
    assert_ok(fixture_insert_json(f, "c", "{\"_id\":1,\"a\":1}"), &f->err);
    assert_int_equal(fixture_insert_json(f, "c", "{\"_id\":1,\"a\":2}"), ASH_EEXISTS);
    assert_int_equal(ash_error_server_code(&f->err), 11000);
    assert_int_equal(fixture_insert_json(f, "c", "{\"_id\":2,\"a\":1}"), ASH_EEXISTS);
    assert_ok(fixture_insert_json(f, "c", "{\"_id\":2,\"a\":2}"), &f->err);
    bson_t *doc = fixture_chunk(3, 1, 30000);
    assert_ok(fixture_insert(f, "c", doc, ASH_ACK_DURABLE, NULL), &f->err);
    assert_int_equal(fixture_insert(f, "c", doc, ASH_ACK_DURABLE, NULL), ASH_EEXISTS);
    bson_destroy(doc);
    assert_int_equal(fixture_count(f, "c"), 3);
    fixture_check(f);
}

static void test_engine_records__replace_and_delete(void **state)
{
    fixture *f = *state;
    uint64_t rid;
    ash_record record;
    bool found;
    fixture_create(f, "c", NULL);
    fixture_index(f, "c", "{\"v\":2,\"key\":{\"n\":1},\"name\":\"n_1\"}");
    bson_t *small = fixture_chunk(1, 5, 10), *large = fixture_chunk(1, 6, 50000);
    assert_ok(fixture_insert(f, "c", small, ASH_ACK_APPLIED, &rid), &f->err);
    assert_ok(fixture_replace(f, "c", rid, large), &f->err);
    ash_snapshot *snap = fixture_snapshot(f);
    assert_ok(ash__record_get(snap, fixture_coll(f, snap, "c"), rid, &record, &found, &f->err),
              &f->err);
    assert_true(found && fixture_chunk_is(record.doc, 1, 6, 50000));
    assert_ok(fixture_replace(f, "c", rid, small), &f->err);
    assert_true(fixture_chunk_is(record.doc, 1, 6, 50000));
    ash__snapshot_close(snap);
    fixture_check(f);
    assert_ok(fixture_delete(f, "c", rid), &f->err);
    assert_int_equal(fixture_delete(f, "c", rid), ASH_ENOTFOUND);
    snap = fixture_snapshot(f);
    const ash_coll *c = fixture_coll(f, snap, "c");
    uint64_t keys, bytes;
    assert_ok(ash__index_stats(snap, fixture_find_index(c, "n_1"), &keys, &bytes, &f->err),
              &f->err);
    assert_int_equal(keys, 0);
    assert_int_equal(bytes, 0);
    ash__snapshot_close(snap);
    bson_destroy(small);
    bson_destroy(large);
    fixture_check(f);
}

static void test_engine_records__capped_keeps_the_newest(void **state)
{
    fixture *f = *state;
    fixture_create(f, "c", "{\"capped\":true,\"size\":100000,\"max\":3}");
    for (int32_t i = 1; i <= 5; i++) {
        bson_t *doc = fixture_chunk(i, 0, 6000);
        assert_ok(fixture_insert(f, "c", doc, ASH_ACK_APPLIED, NULL), &f->err);
        bson_destroy(doc);
    }
    bson_t *other = fixture_chunk(5, 0, 6001);
    assert_int_equal(fixture_replace(f, "c", 5, other), ASH_EINVAL);
    assert_int_equal(f->err.server_code, 10003);
    bson_destroy(other);
    assert_int_equal(fixture_count(f, "c"), 3);
    ash_snapshot *snap = fixture_snapshot(f);
    ash_scan *s;
    ash_scan_hit hit;
    bool found;
    s = ash__scan_records(snap, fixture_coll(f, snap, "c"), false, 0);
    for (uint64_t want = 3; want <= 5; want++) {
        assert_ok(ash__scan_next(s, &hit, &found, &f->err), &f->err);
        assert_true(found);
        assert_int_equal(hit.rid, want);
    }
    assert_ok(ash__scan_next(s, &hit, &found, &f->err), &f->err);
    assert_false(found);
    ash__scan_free(s);
    s = ash__scan_records(snap, fixture_coll(f, snap, "c"), true, 5);
    assert_ok(ash__scan_next(s, &hit, &found, &f->err), &f->err);
    assert_true(found);
    assert_int_equal(hit.rid, 4);
    ash__scan_free(s);
    ash__snapshot_close(snap);
    fixture_check(f);
}

static void test_engine_records__snapshot_sees_its_own_time(void **state)
{
    fixture *f = *state;
    ash_record record;
    bool found;
    fixture_create(f, "c", NULL);
    bson_t *doc = fixture_chunk(1, 1, 40000);
    assert_ok(fixture_insert(f, "c", doc, ASH_ACK_APPLIED, NULL), &f->err);
    ash_snapshot *before = fixture_snapshot(f);
    assert_ok(fixture_delete(f, "c", 1), &f->err);
    for (int32_t i = 2; i < 10; i++) {
        bson_t *more = fixture_chunk(i, 1, 40000);
        assert_ok(fixture_insert(f, "c", more, ASH_ACK_DURABLE, NULL), &f->err);
        bson_destroy(more);
    }
    const ash_coll *c = fixture_coll(f, before, "c");
    assert_ok(ash__record_get(before, c, 1, &record, &found, &f->err), &f->err);
    assert_true(found && fixture_chunk_is(record.doc, 1, 1, 40000));
    assert_ok(ash__record_get(before, c, 2, &record, &found, &f->err), &f->err);
    assert_false(found);
    ash__snapshot_close(before);
    bson_destroy(doc);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_engine_records__insert_get_find_and_reopen),
        TEST(test_engine_records__duplicate_answers_at_once_and_changes_nothing),
        TEST(test_engine_records__replace_and_delete),
        TEST(test_engine_records__capped_keeps_the_newest),
        TEST(test_engine_records__snapshot_sees_its_own_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
