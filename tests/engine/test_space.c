/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include "base/clock.h"
#include "engine/check/check.h"
#include "engine/internal.h"
#include "wrapped_engine.h"

#include <string.h>

enum { LARGE = 60000 };

static ash_engine_stats stats_of(fixture *f)
{
    ash_engine_stats stats;
    assert_ok(ash__engine_stats(f->engine, &stats, &f->err), &f->err);
    return stats;
}

static void insert_large(fixture *f, int32_t id)
{
    bson_t *doc = fixture_chunk(id, 0, LARGE);
    assert_ok(fixture_insert(f, "c", doc, ASH_ACK_DURABLE, NULL), &f->err);
    bson_destroy(doc);
}

static void test_engine_space__rewriting_reuses_extents(void **state)
{
    fixture *f = *state;
    fixture_create(f, "c", NULL);
    for (int32_t i = 1; i <= 20; i++)
        insert_large(f, i);
    uint64_t files = stats_of(f).segment_files, used = stats_of(f).used_blocks;
    for (int32_t round = 1; round <= 10; round++) {
        for (int32_t i = 1; i <= 20; i++) {
            assert_ok(fixture_delete(f, "c", (uint64_t)((round - 1) * 20 + i)), &f->err);
            insert_large(f, i);
        }
    }
    assert_int_equal(stats_of(f).segment_files, files);
    assert_int_equal(stats_of(f).used_blocks, used);
    fixture_reopen(f);
    assert_int_equal(stats_of(f).used_blocks, used);
    insert_large(f, 100);
    fixture_check(f);
}

static void test_engine_space__pins_keep_deleted_payloads(void **state)
{
    fixture *f = *state;
    ash_record record;
    ash_doc doc;
    bool found;
    fixture_create(f, "c", NULL);
    insert_large(f, 1);
    ash_pins *pins = ash__pins_new(f->engine);
    ash_snapshot *snap = fixture_snapshot(f);
    assert_ok(ash__record_get(snap, fixture_coll(f, snap, "c"), 1, &record, &found, &f->err),
              &f->err);
    ash_pointer place = record.place;
    ash__pins_add(pins, snap, &place);
    ash__snapshot_close(snap);
    assert_ok(fixture_delete(f, "c", 1), &f->err);
    for (int32_t i = 2; i <= 10; i++)
        insert_large(f, i);
    assert_ok(ash__pins_read(pins, &place, &doc, &f->err), &f->err);
    assert_true(fixture_chunk_is(doc, 1, 0, LARGE));
    assert_int_equal(stats_of(f).held_blocks, 15);
    assert_int_equal(stats_of(f).pins, 1);
    ash__pins_free(pins);
    assert_int_equal(stats_of(f).held_blocks, 0);
    assert_int_equal(stats_of(f).pins, 0);
    /* The freed extent is the first one that fits. */
    insert_large(f, 11);
    snap = fixture_snapshot(f);
    assert_ok(ash__record_get(snap, fixture_coll(f, snap, "c"), 11, &record, &found, &f->err),
              &f->err);
    assert_true(found);
    assert_int_equal(record.place.block, place.block);
    assert_int_equal(record.place.segment, place.segment);
    ash__snapshot_close(snap);
    fixture_check(f);
}

static void test_engine_space__pins_lapse(void **state)
{
    fixture *f = *state;
    ash_record record;
    ash_doc doc;
    bool found;
    fixture_close(f);
    f->opts.pin_timeout_ms = 20;
    fixture_open(f);
    fixture_create(f, "c", NULL);
    insert_large(f, 1);
    ash_pins *pins = ash__pins_new(f->engine);
    ash_snapshot *snap = fixture_snapshot(f);
    assert_ok(ash__record_get(snap, fixture_coll(f, snap, "c"), 1, &record, &found, &f->err),
              &f->err);
    ash__pins_add(pins, snap, &record.place);
    ash__snapshot_close(snap);
    ash__clock_sleep_ms(60);
    insert_large(f, 2);
    assert_int_equal(stats_of(f).pins, 0);
    assert_false(ash__pins_touch(pins));
    assert_int_equal(ash__pins_read(pins, &record.place, &doc, &f->err), ASH_ECURSOR);
    ash__pins_free(pins);
}

static void test_engine_space__snapshot_holds_what_it_sees(void **state)
{
    fixture *f = *state;
    ash_record record;
    bool found;
    fixture_create(f, "c", NULL);
    insert_large(f, 1);
    ash_snapshot *snap = fixture_snapshot(f);
    assert_ok(fixture_delete(f, "c", 1), &f->err);
    assert_int_equal(stats_of(f).held_blocks, 15);
    for (int32_t i = 2; i <= 30; i++)
        insert_large(f, i);
    assert_ok(ash__record_get(snap, fixture_coll(f, snap, "c"), 1, &record, &found, &f->err),
              &f->err);
    assert_true(found && fixture_chunk_is(record.doc, 1, 0, LARGE));
    ash__snapshot_close(snap);
    insert_large(f, 31);
    assert_int_equal(stats_of(f).held_blocks, 0);
}

/* Who looks for the oldest reader may act on it after somebody opened a snapshot. */
static void test_engine_space__late_snapshot_holds_what_it_sees(void **state)
{
    fixture *f = *state;
    fixture_create(f, "c", NULL);
    insert_large(f, 1);
    uint64_t oldest = ash__snapshot_oldest(f->engine);
    ash_snapshot *snap = fixture_snapshot(f);
    assert_ok(fixture_delete(f, "c", 1), &f->err);
    assert_int_equal(stats_of(f).held_blocks, 15);
    ash__segments_reap(f->engine->segments, oldest);
    assert_int_equal(stats_of(f).held_blocks, 15);
    ash__snapshot_close(snap);
    ash__segments_reap(f->engine->segments, ash__snapshot_oldest(f->engine));
    assert_int_equal(stats_of(f).held_blocks, 0);
}

/* Breaking the second rule shows that the test above can fail. */
static void test_engine_space__broken_rule_is_noticed(void **state)
{
    fixture *f = *state;
    ash_record record;
    bool found;
    fixture_close(f);
    fixture_open(f);
    wrapped_engine_break(RULE_NO_EARLY_REUSE);
    fixture_create(f, "c", NULL);
    insert_large(f, 1);
    ash_snapshot *snap = fixture_snapshot(f);
    assert_ok(fixture_delete(f, "c", 1), &f->err);
    insert_large(f, 2);
    assert_int_equal(ash__record_get(snap, fixture_coll(f, snap, "c"), 1, &record, &found, &f->err),
                     ASH_ECORRUPT);
    wrapped_engine_break(RULE_NONE);
    assert_non_null(strstr(f->err.text, "test.c, record 1: another record in segment 00000001"));
    ash__snapshot_close(snap);
}

static void test_engine_space__unused_staging_gives_back(void **state)
{
    fixture *f = *state;
    static uint8_t bytes[100000];
    struct iovec part = {bytes, sizeof bytes};
    ash_staged *staged = NULL;
    fixture_create(f, "c", NULL);
    assert_ok(ash__staged_write(f->engine, 1, &part, 1, &staged, &f->err), &f->err);
    ash_engine_stats before = stats_of(f);
    assert_int_equal(before.free_blocks, before.segment_blocks - 25);
    ash__staged_free(f->engine, staged);
    assert_int_equal(stats_of(f).free_blocks, before.segment_blocks);
    part.iov_len = 17 << 20;
    assert_int_equal(ash__staged_write(f->engine, 1, &part, 1, &staged, &f->err), ASH_ETOOBIG);
}

static int insert_staged(ash_writer *w, void *ctx, ash_error *err)
{
    ash_staged **staged = ctx;
    const ash_coll *c;
    uint64_t rid;
    bson_t *doc = fixture_chunk(1, 1, LARGE);
    int result = ash__catalog_find(ash__writer_snapshot(w), "test", "c", &c, err);
    if (result == 0)
        result = ash__record_insert(w, c, &(ash_content){ash__doc_from_bson(doc), *staged}, &rid,
                                    NULL, err);
    if (result == 0)
        *staged = NULL;
    bson_destroy(doc);
    return result;
}

/* The collection was dropped and made anew after the payload was written. */
static void test_engine_space__payload_of_another_collection_is_written_anew(void **state)
{
    fixture *f = *state;
    ash_staged *staged = NULL;
    ash_record record;
    bool found;
    bson_t *doc = fixture_chunk(1, 1, LARGE);
    struct iovec part = {(void *)(uintptr_t)bson_get_data(doc), doc->len};
    fixture_create(f, "c", NULL);
    assert_ok(ash__staged_write(f->engine, 999, &part, 1, &staged, &f->err), &f->err);
    fixture_apply(f, insert_staged, &staged, ASH_ACK_DURABLE, 0);
    assert_null(staged);
    ash_snapshot *snap = fixture_snapshot(f);
    assert_ok(ash__record_get(snap, fixture_coll(f, snap, "c"), 1, &record, &found, &f->err),
              &f->err);
    assert_true(found && fixture_chunk_is(record.doc, 1, 1, LARGE));
    ash__snapshot_close(snap);
    assert_int_equal(stats_of(f).free_blocks + 15, stats_of(f).segment_blocks);
    fixture_check(f);
    bson_destroy(doc);
}

static int drop(ash_writer *w, void *ctx, ash_error *err)
{
    const ash_coll *c;
    int result = ash__catalog_find(ash__writer_snapshot(w), "test", ctx, &c, err);
    return result == 0 ? ash__catalog_drop(w, c, err) : result;
}

static void wait_until_unused(fixture *f)
{
    int64_t deadline = ash__clock_ms() + 20000;
    while (stats_of(f).used_blocks > 0) {
        assert_true(ash__clock_ms() < deadline);
        ash__clock_sleep_ms(10);
        assert_ok(ash__engine_flush(f->engine, 0, &f->err), &f->err);
    }
}

static void test_engine_space__drop_goes_on_after_reopening(void **state)
{
    fixture *f = *state;
    char name[] = "c";
    ash_check_report report;
    const ash_coll *c;
    fixture_create(f, "c", NULL);
    fixture_index(f, "c", "{\"v\":2,\"key\":{\"n\":1},\"name\":\"n_1\"}");
    for (int32_t i = 1; i <= 1500; i++) {
        bson_t *doc = fixture_chunk(i, i, i % 100 == 0 ? 6000 : 10);
        assert_ok(fixture_insert(f, "c", doc, ASH_ACK_APPLIED, NULL), &f->err);
        bson_destroy(doc);
    }
    fixture_apply(f, drop, name, ASH_ACK_DURABLE, 0);
    fixture_reopen(f);
    ash_snapshot *snap = fixture_snapshot(f);
    assert_ok(ash__catalog_find(snap, "test", "c", &c, &f->err), &f->err);
    assert_null(c);
    ash__snapshot_close(snap);
    fixture_check(f);
    wait_until_unused(f);
    fixture_create(f, "c", NULL);
    insert_large(f, 1);
    assert_ok(ash__engine_check(f->engine, NULL, &report, &f->err), &f->err);
    assert_int_equal(report.findings, 0);
    assert_int_equal(report.records, 1);
    assert_int_equal(report.collections, 1);
}

static void test_engine_space__compaction_gives_holes_back(void **state)
{
    fixture *f = *state;
    uint64_t freed = 0, before = 0, after = 0;
    fixture_create(f, "c", NULL);
    for (int32_t i = 1; i <= 10; i++)
        insert_large(f, i);
    for (uint64_t rid = 1; rid <= 10; rid += 2)
        assert_ok(fixture_delete(f, "c", rid), &f->err);
    assert_ok(ash__segments_taken(f->engine->segments, &before, &f->err), &f->err);
    assert_ok(ash__engine_compact(f->engine, &freed, &f->err), &f->err);
    assert_ok(ash__segments_taken(f->engine->segments, &after, &f->err), &f->err);
    assert_true(freed >= 5 * 15 * 4096);
    assert_int_equal(freed, before - after);
    assert_ok(ash__engine_compact(f->engine, &freed, &f->err), &f->err);
    assert_int_equal(freed, 0);
    insert_large(f, 11);
    fixture_check(f);
}

static int put_huge_segment(ash_writer *w, void *ctx, ash_error *err)
{
    static const uint8_t key[4] = {0, 0, 0, 7}, row[8] = {0xFF, 0xFF, 0xFF, 0xFF, 1, 0, 0, 0};
    (void)ctx;
    return ash__row_put(w, ASH_DB_SPACE, ash__bytes(key, sizeof key), ash__bytes(row, sizeof row),
                        err);
}

static void test_engine_space__impossible_segment_is_refused(void **state)
{
    fixture *f = *state;
    fixture_apply(f, put_huge_segment, NULL, ASH_ACK_DURABLE, 0);
    fixture_close(f);
    assert_int_equal(ash__engine_open(f->folder, &f->opts, &f->engine, &f->err), ASH_ECORRUPT);
    assert_string_equal(f->err.text, "the list of segments is damaged");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_engine_space__rewriting_reuses_extents),
        TEST(test_engine_space__pins_keep_deleted_payloads),
        TEST(test_engine_space__pins_lapse),
        TEST(test_engine_space__snapshot_holds_what_it_sees),
        TEST(test_engine_space__late_snapshot_holds_what_it_sees),
        TEST(test_engine_space__broken_rule_is_noticed),
        TEST(test_engine_space__unused_staging_gives_back),
        TEST(test_engine_space__payload_of_another_collection_is_written_anew),
        TEST(test_engine_space__drop_goes_on_after_reopening),
        TEST(test_engine_space__compaction_gives_holes_back),
        TEST(test_engine_space__impossible_segment_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
