/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include "base/clock.h"
#include "store/embedded/kit/dated_snapshot.h"

#include <pthread.h>
#include <stdio.h>

/* Reads that go back to a state of the store. */

static uint64_t hold(fixture *f, uint64_t time)
{
    uint64_t held = 0;
    assert_ok(ash_store_hold(f->store, time, NULL, &held, &f->err), &f->err);
    return held;
}

static int count_at(fixture *f, uint64_t time, int64_t *n)
{
    ash_count_options opts = ASH_COUNT_OPTIONS_INIT;
    bson_t *filter = fixture_json("{\"_id\":{\"$gte\":0}}");
    opts.op.at_time = time;
    int rc = ash_collection_count(f->c, filter, &opts, n, &f->err);
    bson_destroy(filter);
    return rc;
}

static void expect_count(fixture *f, uint64_t time, int64_t expected)
{
    int64_t n = -1;
    assert_ok(count_at(f, time, &n), &f->err);
    assert_int_equal(n, expected);
}

static void insert_id(fixture *f, int id)
{
    char text[32];
    snprintf(text, sizeof text, "{\"_id\":%d}", id);
    assert_ok(fixture_insert(f, f->c, text), &f->err);
}

static void test_embedded_past__one_state_a_change(void **state)
{
    fixture *f = *state;
    uint64_t times[4];
    for (int i = 0; i < 4; i++) {
        times[i] = hold(f, 0);
        assert_int_equal(hold(f, 0), times[i]); /* nothing changed */
        insert_id(f, i);
    }
    for (int i = 0; i < 4; i++) {
        expect_count(f, times[i], i);
        assert_int_equal(hold(f, times[i]), times[i]);
        assert_true(i == 0 || times[i] > times[i - 1]);
    }
    expect_count(f, 0, 4);
    assert_ok(ash_collection_drop(f->c, NULL, &f->err), &f->err);
    expect_count(f, times[3], 3);
    expect_count(f, 0, 0);
}

static void test_embedded_past__times_that_are_none(void **state)
{
    fixture *f = *state;
    uint64_t held = 0, now = 0;
    int64_t n;
    insert_id(f, 1);
    assert_int_equal(ash_store_hold(f->store, 1, NULL, &held, &f->err), ASH_ECURSOR);
    assert_int_equal(ash_error_server_code(&f->err), 239);
    assert_int_equal(count_at(f, 77, &n), ASH_ECURSOR);
    assert_int_equal(ash_error_server_code(&f->err), 239);
    assert_ok(ash_store_time(f->store, NULL, &now, &f->err), &f->err);
    assert_int_equal(ash_store_hold(f->store, now + (UINT64_C(100) << 32), NULL, &held, &f->err),
                     ASH_EINVAL);
    assert_int_equal(ash_error_server_code(&f->err), 72);
    /* A time that was told, with no change since, names the present state. */
    assert_int_equal(hold(f, now), now);
    insert_id(f, 2);
    expect_count(f, now, 1);
    expect_count(f, hold(f, 0), 2);
}

static void test_embedded_past__writes_are_refused(void **state)
{
    fixture *f = *state;
    ash_insert_options opts = ASH_INSERT_OPTIONS_INIT;
    bson_t *doc = fixture_json("{\"_id\":1}");
    opts.op.at_time = hold(f, 0);
    assert_int_equal(ash_collection_insert_one(f->c, doc, &opts, &f->err), ASH_EINVAL);
    bson_destroy(doc);
    expect_count(f, 0, 0);
}

static void test_embedded_past__the_oldest_makes_room(void **state)
{
    fixture *f = *state;
    uint64_t times[ASH_DATED_SNAPSHOTS_MAX + 2];
    int64_t n;
    for (int i = 0; i < ASH_DATED_SNAPSHOTS_MAX + 2; i++) {
        times[i] = hold(f, 0);
        insert_id(f, i);
    }
    assert_int_equal(count_at(f, times[0], &n), ASH_ECURSOR);
    expect_count(f, times[ASH_DATED_SNAPSHOTS_MAX], ASH_DATED_SNAPSHOTS_MAX);
    expect_count(f, times[ASH_DATED_SNAPSHOTS_MAX + 1], ASH_DATED_SNAPSHOTS_MAX + 1);
}

typedef struct reader {
    fixture *f;
    uint64_t time;
    int64_t wrong;
} reader;

static void *read_on(void *arg)
{
    reader *r = arg;
    for (int i = 0; i < 300; i++) {
        ash_count_options opts = ASH_COUNT_OPTIONS_INIT;
        ash_error err = ASH_ERROR_INIT;
        int64_t n = -1;
        bson_t *filter = fixture_json("{\"_id\":{\"$gte\":0}}");
        opts.op.at_time = r->time;
        if (ash_collection_count(r->f->c, filter, &opts, &n, &err) != 0 || n != 10)
            r->wrong++;
        bson_destroy(filter);
    }
    return NULL;
}

static void test_embedded_past__threads_share_a_state(void **state)
{
    fixture *f = *state;
    pthread_t threads[4];
    reader readers[4];
    for (int i = 0; i < 10; i++)
        insert_id(f, i);
    uint64_t time = hold(f, 0);
    for (int i = 0; i < 4; i++) {
        readers[i] = (reader){f, time, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, read_on, &readers[i]), 0);
    }
    for (int i = 10; i < 60; i++)
        insert_id(f, i);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(readers[i].wrong, 0);
    }
    expect_count(f, 0, 60);
}

/* Change everything once more. */
static void rewrite(fixture *f, int round)
{
    char text[64];
    ash_update_options opts = ASH_UPDATE_OPTIONS_INIT;
    bson_t *filter = fixture_json("{}");
    snprintf(text, sizeof text, "{\"$set\":{\"n\":%d}}", round);
    bson_t *update = fixture_json(text);
    bson_value_t value = {.value_type = BSON_TYPE_DOCUMENT};
    value.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(update);
    value.value.v_doc.data_len = update->len;
    opts.multi = true;
    assert_ok(ash_collection_update(f->c, filter, &value, &opts, NULL, &f->err), &f->err);
    bson_destroy(update);
    bson_destroy(filter);
}

static void test_embedded_past__what_a_state_keeps_is_bounded(void **state)
{
    fixture *f = *state;
    int64_t n = 0, until = ash__clock_ms() + 60000;
    int round = 0, rc;
    ash__embedded(f->store)->snapshot_bytes = 4 << 20;
    for (int i = 0; i < 200; i++)
        insert_id(f, i);
    uint64_t old = hold(f, 0);
    while ((rc = count_at(f, old, &n)) == 0 && ash__clock_ms() < until)
        rewrite(f, ++round);
    assert_int_equal(rc, ASH_ECURSOR);
    assert_int_equal(ash_error_server_code(&f->err), 239);
    assert_true(round > 2);
    /* One that keeps little is left alone. */
    ash__embedded(f->store)->snapshot_bytes = 1 << 30;
    uint64_t recent = hold(f, 0);
    rewrite(f, ++round);
    expect_count(f, recent, 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EMBEDDED(test_embedded_past__one_state_a_change),
        EMBEDDED(test_embedded_past__times_that_are_none),
        EMBEDDED(test_embedded_past__writes_are_refused),
        EMBEDDED(test_embedded_past__the_oldest_makes_room),
        EMBEDDED(test_embedded_past__threads_share_a_state),
        EMBEDDED(test_embedded_past__what_a_state_keeps_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
