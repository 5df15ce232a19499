/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder.h"

#include <pthread.h>
#include <string.h>

static void test_bucket_condition__if_absent(void **state)
{
    fixture *f = *state;
    ash_upload_options o = ASH_UPLOAD_OPTIONS_INIT;
    o.condition = ASH_PUT_IF_ABSENT;
    assert_ok(support_put_with(f, NULL, "f", "first", 5, &o), &f->err);
    assert_int_equal(support_put_with(f, NULL, "f", "second", 6, &o), ASH_ECONDITION);
    assert_ok(support_put_with(f, NULL, "g", "other", 5, &o), &f->err);
    support_expect_name(f, "f", -1, "first", 5);
    assert_int_equal(support_count(f->files, "{}"), 2);
    assert_int_equal(support_count(f->chunks, "{}"), 2);
    assert_int_equal(support_count(f->attributes, "{}"), 2);
}

static void test_bucket_condition__if_newest_is(void **state)
{
    fixture *f = *state;
    ash_upload_options o = ASH_UPLOAD_OPTIONS_INIT;
    bson_value_t one = support_int_id(1);
    bson_value_t two = support_int_id(2);
    bson_value_t three = support_int_id(3);
    o.condition = ASH_PUT_IF_NEWEST_IS;
    o.newest = &one;
    assert_int_equal(support_put_with(f, &two, "f", "x", 1, &o), ASH_ECONDITION);
    assert_ok(support_put_with(f, &one, "f", "1", 1, NULL), &f->err);
    assert_ok(support_put_with(f, &two, "f", "2", 1, &o), &f->err);
    assert_int_equal(support_put_with(f, &three, "f", "3", 1, &o), ASH_ECONDITION);
    support_expect_name(f, "f", -1, "2", 1);
    assert_int_equal(support_count(f->chunks, "{}"), 2);
}

static void test_bucket_condition__replace_leaves_one_revision(void **state)
{
    fixture *f = *state;
    ash_upload_options o = ASH_UPLOAD_OPTIONS_INIT;
    for (int i = 0; i < 3; i++)
        support_put(f, "f", "0123456789abcdefgh", 18, NULL);
    support_put(f, "g", "x", 1, NULL);
    o.replace = true;
    assert_ok(support_put_with(f, NULL, "f", "new", 3, &o), &f->err);
    assert_int_equal(support_count(f->files, "{\"filename\": \"f\"}"), 1);
    assert_int_equal(support_count(f->chunks, "{}"), 2);
    assert_int_equal(support_count(f->attributes, "{}"), 2);
    support_expect_name(f, "f", 0, "new", 3);
}

/* ---- many at once ---- */

typedef struct racer {
    ash_bucket *bucket;
    pthread_barrier_t *start;
    int rc;
} racer;

static void *race(void *arg)
{
    racer *r = arg;
    ash_error err = ASH_ERROR_INIT;
    ash_upload_options o = ASH_UPLOAD_OPTIONS_INIT;
    ash_upload *u = NULL;
    o.condition = ASH_PUT_IF_ABSENT;
    r->rc = ash_bucket_open_upload_stream(r->bucket, "race", &o, &u, &err);
    if (r->rc == 0)
        r->rc = ash_upload_write(u, "0123456789abcdefgh", 18, &err);
    pthread_barrier_wait(r->start);
    if (r->rc == 0)
        r->rc = ash_upload_finish(u, NULL, &err);
    ash_upload_free(u);
    return NULL;
}

static void race_on(fixture *f, ash_bucket *bucket)
{
    for (int round = 0; round < 20; round++) {
        enum { WRITERS = 4 };
        racer racers[WRITERS];
        pthread_t threads[WRITERS];
        pthread_barrier_t start;
        int won = 0;
        pthread_barrier_init(&start, NULL, WRITERS);
        for (int i = 0; i < WRITERS; i++) {
            racers[i] = (racer){bucket, &start, 0};
            assert_int_equal(pthread_create(&threads[i], NULL, race, &racers[i]), 0);
        }
        for (int i = 0; i < WRITERS; i++) {
            pthread_join(threads[i], NULL);
            assert_true(racers[i].rc == 0 || racers[i].rc == ASH_ECONDITION);
            won += racers[i].rc == 0 ? 1 : 0;
        }
        pthread_barrier_destroy(&start);
        assert_int_equal(won, 1);
        assert_int_equal(support_count(f->files, "{}"), 1);
        assert_int_equal(support_count(f->chunks, "{}"), 2);
        assert_ok(ash_bucket_delete_by_name(f->bucket, "race", NULL, &f->err), &f->err);
    }
}

static void test_bucket_condition__exactly_one_of_many_writers_wins(void **state)
{
    fixture *f = *state;
    race_on(f, f->bucket);
}

static void test_bucket_condition__exactly_one_wins_without_transactions(void **state)
{
    fixture *f = *state;
    ash_bucket *bucket = NULL;
    recorder *r = recorder_new(f, &bucket);
    race_on(f, bucket);
    assert_int_equal(support_count(f->attributes, "{}"), 0);
    recorder_free(r, bucket);
}

/* ---- fences ---- */

static ash_collection *make_lock(fixture *f)
{
    ash_collection *locks = NULL;
    assert_ok(ash_collection_new(f->store, NULL, "fs.locks", &locks, &f->err), &f->err);
    support_insert(locks, "{\"_id\": 1, \"files_id\": \"x\", \"write_lock\": true, \"writes\": 3}");
    return locks;
}

static void test_bucket_condition__a_held_lock_lets_changes_through(void **state)
{
    fixture *f = *state;
    ash_collection *locks = make_lock(f);
    bson_value_t lock = support_int_id(1);
    bson_value_t id = support_int_id(7);
    ash_fence fence = {sizeof(ash_fence), "fs.locks", &lock, 3, 10};
    ash_upload_options u = ASH_UPLOAD_OPTIONS_INIT;
    ash_change_options c = ASH_CHANGE_OPTIONS_INIT;
    ash_alter *a = NULL;
    u.fence = &fence;
    c.fence = &fence;
    assert_ok(support_put_with(f, &id, "f", "x", 1, &u), &f->err);
    assert_ok(ash_bucket_rename(f->bucket, &id, "g", &c, &f->err), &f->err);
    assert_ok(ash_bucket_rename_by_name(f->bucket, "g", "h", &c, &f->err), &f->err);
    assert_ok(ash_bucket_open_alter(f->bucket, &id, &c, &a, &f->err), &f->err);
    assert_ok(ash_alter_append(a, "y", 1, &f->err), &f->err);
    assert_ok(ash_alter_finish(a, NULL, &f->err), &f->err);
    ash_alter_free(a);
    support_expect(f, &id, "xy", 2);
    assert_ok(ash_bucket_delete(f->bucket, &id, &c, &f->err), &f->err);
    ash_collection_free(locks);
}

static void expect_lost(fixture *f, const bson_value_t *id, const ash_fence *fence)
{
    ash_upload_options u = ASH_UPLOAD_OPTIONS_INIT;
    ash_change_options c = ASH_CHANGE_OPTIONS_INIT;
    ash_alter *a = NULL;
    u.fence = fence;
    c.fence = fence;
    assert_int_equal(support_put_with(f, NULL, "f", "z", 1, &u), ASH_ELOST);
    assert_int_equal(ash_bucket_rename(f->bucket, id, "g", &c, &f->err), ASH_ELOST);
    assert_int_equal(ash_bucket_delete(f->bucket, id, &c, &f->err), ASH_ELOST);
    assert_int_equal(ash_bucket_delete_by_name(f->bucket, "f", &c, &f->err), ASH_ELOST);
    assert_ok(ash_bucket_open_alter(f->bucket, id, &c, &a, &f->err), &f->err);
    assert_ok(ash_alter_append(a, "y", 1, &f->err), &f->err);
    assert_int_equal(ash_alter_finish(a, NULL, &f->err), ASH_ELOST);
    ash_alter_free(a);
    support_expect(f, id, "x", 1);
    assert_int_equal(support_count(f->files, "{\"filename\": \"f\"}"), 1);
    assert_int_equal(support_count(f->chunks, "{}"), 1);
}

static void test_bucket_condition__a_stale_lock_changes_nothing(void **state)
{
    fixture *f = *state;
    ash_collection *locks = make_lock(f);
    bson_value_t lock = support_int_id(1);
    bson_value_t id = support_int_id(7);
    ash_fence fence = {sizeof(ash_fence), "fs.locks", &lock, 3, 10};
    assert_ok(support_put_with(f, &id, "f", "x", 1, NULL), &f->err);
    support_update(locks, "{}", "{\"$set\": {\"writes\": 4}}");
    expect_lost(f, &id, &fence);
    support_update(locks, "{}", "{\"$set\": {\"writes\": 3, \"write_lock\": false}}");
    expect_lost(f, &id, &fence);
    support_remove(locks, "{}");
    expect_lost(f, &id, &fence);
    ash_collection_free(locks);
}

static void test_bucket_condition__an_older_token_is_lost(void **state)
{
    fixture *f = *state;
    ash_collection *locks = make_lock(f);
    bson_value_t lock = support_int_id(1);
    bson_value_t id = support_int_id(7);
    ash_fence fence = {sizeof(ash_fence), "fs.locks", &lock, 3, 10};
    ash_upload_options u = ASH_UPLOAD_OPTIONS_INIT;
    ash_change_options c = ASH_CHANGE_OPTIONS_INIT;
    u.fence = &fence;
    c.fence = &fence;
    assert_ok(support_put_with(f, &id, "f", "x", 1, &u), &f->err);
    fence.token = 9;
    assert_int_equal(ash_bucket_delete(f->bucket, &id, &c, &f->err), ASH_ELOST);
    fence.token = 11;
    assert_ok(ash_bucket_delete(f->bucket, &id, &c, &f->err), &f->err);
    ash_collection_free(locks);
}

int main(void)
{
#define T(name)                                                                                    \
    cmocka_unit_test_setup_teardown(test_bucket_condition__##name, support_setup, support_teardown)
    const struct CMUnitTest tests[] = {
        T(if_absent),
        T(if_newest_is),
        T(replace_leaves_one_revision),
        T(exactly_one_of_many_writers_wins),
        T(exactly_one_wins_without_transactions),
        T(a_held_lock_lets_changes_through),
        T(a_stale_lock_changes_nothing),
        T(an_older_token_is_lost),
    };
    return cmocka_run_group_tests_name("bucket condition", tests, NULL, NULL);
}
