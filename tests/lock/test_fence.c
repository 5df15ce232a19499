/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens where they count: in the commits of a bucket. */
#include "lock/support.h"

#include <string.h>

static int put(fixture *f, ash_bucket *b, const char *text, const ash_fence *fence)
{
    ash_upload_options o = ASH_UPLOAD_OPTIONS_INIT;
    ash_upload *u = NULL;
    o.fence = fence;
    o.replace = true;
    int rc = ash_bucket_open_upload_stream(b, "file", &o, &u, &f->err);
    if (rc != 0)
        return rc;
    assert_ok(ash_upload_write(u, text, strlen(text), &f->err), &f->err);
    rc = ash_upload_finish(u, NULL, &f->err);
    ash_upload_free(u);
    return rc;
}

static void assert_content(fixture *f, ash_bucket *b, const char *text)
{
    ash_download *d = NULL;
    char buf[64] = "";
    size_t got;
    assert_ok(ash_bucket_open_download_stream_by_name(b, "file", NULL, &d, &f->err), &f->err);
    assert_ok(ash_download_read(d, buf, sizeof buf - 1, &got, &f->err), &f->err);
    assert_string_equal(buf, text);
    ash_download_free(d);
}

static ash_bucket *open_bucket(fixture *f)
{
    ash_bucket_options o = ASH_BUCKET_OPTIONS_INIT;
    ash_bucket *b = NULL;
    o.db = f->db;
    assert_ok(ash_bucket_new(f->store, &o, &b, &f->err), &f->err);
    return b;
}

static void test_lock_fence__holder_commits_and_a_stale_one_does_not(void **state)
{
    fixture *f = *state;
    ash_bucket *b = open_bucket(f);
    ash_lock *first = open_lock(f, f->c, "file", NULL), *second = open_lock(f, f->c, "file", NULL);
    ash_fence stale = ASH_FENCE_INIT, fence = ASH_FENCE_INIT;
    bson_value_t id = text_id("file");
    assert_ok(ash_lock_obtain_write(first, &f->err), &f->err);
    assert_ok(ash_lock_fence(first, &stale, &f->err), &f->err);
    assert_ok(put(f, b, "by the first", &stale), &f->err);
    assert_ok(ash_lock_break(f->c, &id, "the first one hangs", &f->err), &f->err);
    assert_int_equal(put(f, b, "nobody holds it", &stale), ASH_ELOST);
    assert_ok(ash_lock_obtain_write(second, &f->err), &f->err);
    assert_ok(ash_lock_fence(second, &fence, &f->err), &f->err);
    assert_true(fence.token > stale.token);
    assert_int_equal(put(f, b, "too late", &stale), ASH_ELOST);
    assert_content(f, b, "by the first");
    assert_ok(put(f, b, "by the second", &fence), &f->err);
    assert_int_equal(put(f, b, "too late", &stale), ASH_ELOST);
    assert_content(f, b, "by the second");
    /* What trees know of fences, files do not. */
    fence.next = &stale;
    assert_int_equal(put(f, b, "two", &fence), ASH_EINVAL);
    fence.next = NULL;
    fence.shared = true;
    assert_int_equal(put(f, b, "of a reader", &fence), ASH_EINVAL);
    fence.shared = false;
    fence.writes = -1;
    assert_int_equal(put(f, b, "of nobody", &fence), ASH_EINVAL);
    assert_content(f, b, "by the second");
    assert_int_equal(ash_lock_release(first, &f->err), ASH_ELOST);
    assert_ok(ash_lock_release(second, &f->err), &f->err);
    ash_lock_free(first);
    ash_lock_free(second);
    ash_bucket_free(b);
}

static void test_lock_fence__taken_over_by_the_package(void **state)
{
    fixture *f = *state;
    ash_bucket *b = open_bucket(f);
    ash_lock *a = open_lock(f, f->c, "file", NULL);
    ash_fence fence = ASH_FENCE_INIT;
    assert_ok(ash_lock_obtain_write(a, &f->err), &f->err);
    assert_ok(ash_lock_fence(a, &fence, &f->err), &f->err);
    assert_ok(put(f, b, "before", &fence), &f->err);
    assert_true(npm_ask(f, "file"));
    assert_true(npm_write(f, "file", 60000, 3600000));
    assert_int_equal(put(f, b, "after", &fence), ASH_ELOST);
    assert_true(npm_remove(f, "file"));
    assert_int_equal(put(f, b, "after", &fence), ASH_ELOST);
    assert_content(f, b, "before");
    ash_lock_free(a);
    ash_bucket_free(b);
}

/* Append to the file under the fence; ASH_EUNSUPPORTED where files cannot be altered. */
static int append(fixture *f, ash_bucket *b, const bson_value_t *id, const char *text,
                  const ash_change_options *o)
{
    ash_alter *alter = NULL;
    int rc = ash_bucket_open_alter(b, id, o, &alter, &f->err);
    if (rc == 0)
        rc = ash_alter_append(alter, text, strlen(text), &f->err);
    if (rc == 0)
        rc = ash_alter_finish(alter, NULL, &f->err);
    ash_alter_free(alter);
    return rc;
}

/* alter, delete and rename take a fence too. */
static void test_lock_fence__changes_of_all_kinds(void **state)
{
    fixture *f = *state;
    ash_bucket *b = open_bucket(f);
    ash_lock *a = open_lock(f, f->c, "file", NULL);
    ash_change_options o = ASH_CHANGE_OPTIONS_INIT;
    ash_capabilities can = ASH_CAPABILITIES_INIT;
    ash_fence fence = ASH_FENCE_INIT;
    ash_file *file = NULL;
    bson_value_t id = text_id("file");
    assert_ok(ash_store_capabilities(f->store, &can, &f->err), &f->err);
    assert_ok(ash_lock_obtain_write(a, &f->err), &f->err);
    assert_ok(ash_lock_fence(a, &fence, &f->err), &f->err);
    o.fence = &fence;
    assert_ok(put(f, b, "content", &fence), &f->err);
    assert_ok(ash_bucket_get_file_by_name(b, "file", -1, false, &file, &f->err), &f->err);
    int rc = append(f, b, ash_file_id(file), " and more", &o);
    assert_int_equal(rc, can.transactions ? 0 : ASH_EUNSUPPORTED);
    assert_ok(ash_lock_break(f->c, &id, "test", &f->err), &f->err);
    rc = append(f, b, ash_file_id(file), "!", &o);
    assert_int_equal(rc, can.transactions ? ASH_ELOST : ASH_EUNSUPPORTED);
    assert_int_equal(ash_bucket_rename(b, ash_file_id(file), "other", &o, &f->err), ASH_ELOST);
    assert_int_equal(ash_bucket_delete(b, ash_file_id(file), &o, &f->err), ASH_ELOST);
    assert_content(f, b, can.transactions ? "content and more" : "content");
    ash_file_free(file);
    ash_lock_free(a);
    ash_bucket_free(b);
}

/* Asked when the lock is somebody else's: there is no answer any more, and nothing was changed. */
static void test_lock_fence__token_is_asked_for_late(void **state)
{
    fixture *f = *state;
    ash_lock *a = open_lock(f, f->c, "file", NULL), *b = open_lock(f, f->c, "file", NULL);
    ash_fence fence = ASH_FENCE_INIT;
    bson_value_t id = text_id("file");
    assert_ok(ash_lock_obtain_write(a, &f->err), &f->err);
    assert_ok(ash_lock_break(f->c, &id, "its holder hangs", &f->err), &f->err);
    assert_ok(ash_lock_obtain_write(b, &f->err), &f->err);
    bson_t *before = lock_doc(f, "file");
    assert_int_equal(ash_lock_token(a), 0);
    assert_int_equal(ash_lock_fence(a, &fence, &f->err), ASH_ELOST);
    bson_t *after = lock_doc(f, "file");
    assert_true(bson_equal(before, after));
    int64_t token = ash_lock_token(b);
    assert_true(token > 0);
    assert_int_equal(ash_lock_token(b), token);
    assert_ok(ash_lock_fence(b, &fence, &f->err), &f->err);
    assert_true(fence.token == token);
    assert_int_equal(ash_lock_token(a), 0);
    bson_destroy(before);
    bson_destroy(after);
    ash_lock_free(a);
    ash_lock_free(b);
}

/* The document goes now and then, and not every holder asks. */
static void test_lock_fence__tokens_grow_though_some_never_ask(void **state)
{
    fixture *f = *state;
    int64_t last = 0, asked = 0;
    ash_lock *a = open_lock(f, f->c, "file", NULL), *r = open_lock(f, f->c, "file", NULL);
    for (int i = 0; i < 60; i++) {
        ash_lock *lock = i % 3 == 0 ? r : a;
        assert_ok(lock == r ? ash_lock_obtain_read(r, &f->err) : ash_lock_obtain_write(a, &f->err),
                  &f->err);
        if (i % 7 < 3) {
            int64_t token = ash_lock_token(lock);
            assert_true(token > last);
            last = token;
            asked++;
        }
        if (lock == a && i % 5 == 0)
            assert_ok(ash_lock_remove(a, &f->err), &f->err);
        else
            assert_ok(ash_lock_release(lock, &f->err), &f->err);
    }
    assert_true(asked > 20);
    ash_lock_free(a);
    ash_lock_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOCK_TEST(test_lock_fence__holder_commits_and_a_stale_one_does_not),
        LOCK_TEST(test_lock_fence__taken_over_by_the_package),
        LOCK_TEST(test_lock_fence__changes_of_all_kinds),
        LOCK_TEST(test_lock_fence__token_is_asked_for_late),
        LOCK_TEST(test_lock_fence__tokens_grow_though_some_never_ask),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
