/* SPDX-License-Identifier: Apache-2.0 */
/* A holder that is stopped in the middle of a change, at every call that the change makes, while
 * somebody takes its lock over: on a store without transactions, where a change is several calls,
 * and through a folder's server, where a transaction is. */
#include "lock/support.h"

#include "faults/faulty_store.h"

#include <stdlib.h>
#include <string.h>

enum change {
    PUT,
    DELETE,
    DELETE_NAME,
    RENAME,
    RENAME_NAME,
    BARE_CHANGES,
    ALTER = BARE_CHANGES,
    CHANGES
};

typedef struct scene {
    fixture *f;
    ash_store *watched;
    ash_bucket *slow;  /* of the holder, on the watched store */
    ash_bucket *quick; /* of whoever takes over */
    ash_lock *holder, *taker;
    bool by_package, by_reader;
    char seen[32]; /* the file as it was when the lock was somebody else's */
    bool taken;
} scene;

static ash_bucket *open_bucket(fixture *f, ash_store *store)
{
    ash_bucket_options o = ASH_BUCKET_OPTIONS_INIT;
    ash_bucket *b = NULL;
    o.db = f->db;
    assert_ok(ash_bucket_new(store, &o, &b, &f->err), &f->err);
    return b;
}

static int put(fixture *f, ash_bucket *b, const char *text, const ash_fence *fence)
{
    ash_upload_options o = ASH_UPLOAD_OPTIONS_INIT;
    ash_upload *u = NULL;
    o.fence = fence;
    o.replace = true;
    int rc = ash_bucket_open_upload_stream(b, "file", &o, &u, &f->err);
    if (rc == 0)
        rc = ash_upload_write(u, text, strlen(text), &f->err);
    if (rc == 0)
        rc = ash_upload_finish(u, NULL, &f->err);
    ash_upload_free(u);
    return rc;
}

/* "old", "new", "renamed" or "gone". */
static void look(scene *s, char out[32])
{
    ash_download *d = NULL;
    size_t got = 0;
    const char *const names[] = {"file", "other"};
    memset(out, 0, 32);
    strcpy(out, "gone");
    for (int i = 0; i < 2; i++) {
        int rc = ash_bucket_open_download_stream_by_name(s->quick, names[i], NULL, &d, &s->f->err);
        if (rc == ASH_ENOTFOUND)
            continue;
        assert_ok(rc, &s->f->err);
        memset(out, 0, 32);
        assert_ok(ash_download_read(d, out, 31, &got, &s->f->err), &s->f->err);
        ash_download_free(d);
        if (i == 1)
            strcpy(out, "renamed");
        return;
    }
}

static void take_over(void *ctx)
{
    scene *s = ctx;
    bson_value_t id = text_id("file");
    if (s->by_package) {
        assert_true(npm_ask(s->f, "file"));
        assert_true(npm_write(s->f, "file", 60000, 3600000));
    } else {
        assert_ok(ash_lock_break(s->f->c, &id, "its holder is stopped", &s->f->err), &s->f->err);
        assert_ok(s->by_reader ? ash_lock_obtain_read(s->taker, &s->f->err)
                               : ash_lock_obtain_write(s->taker, &s->f->err),
                  &s->f->err);
    }
    look(s, s->seen);
    s->taken = true;
}

static int alter(scene *s, const bson_value_t *id, const ash_change_options *o)
{
    ash_alter *a = NULL;
    int rc = ash_bucket_open_alter(s->slow, id, o, &a, &s->f->err);
    if (rc == 0)
        rc = ash_alter_write(a, 0, "new", 3, &s->f->err);
    if (rc == 0)
        rc = ash_alter_finish(a, NULL, &s->f->err);
    ash_alter_free(a);
    return rc;
}

static int change(scene *s, enum change what, const bson_value_t *id, const ash_fence *fence)
{
    ash_change_options o = ASH_CHANGE_OPTIONS_INIT;
    o.fence = fence;
    switch (what) {
    case PUT:
        return put(s->f, s->slow, "new", fence);
    case DELETE:
        return ash_bucket_delete(s->slow, id, &o, &s->f->err);
    case DELETE_NAME:
        return ash_bucket_delete_by_name(s->slow, "file", &o, &s->f->err);
    case ALTER:
        return alter(s, id, &o);
    case RENAME:
        return ash_bucket_rename(s->slow, id, "other", &o, &s->f->err);
    default:
        return ash_bucket_rename_by_name(s->slow, "file", "other", &o, &s->f->err);
    }
}

static int64_t count(fixture *f, const char *collection, const char *query)
{
    ash_collection *c = NULL;
    bson_t filter;
    int64_t n = 0;
    assert_true(bson_init_from_json(&filter, query, -1, NULL));
    assert_ok(ash_collection_new(f->store, f->db, collection, &c, &f->err), &f->err);
    assert_ok(ash_collection_count(c, &filter, NULL, &n, &f->err), &f->err);
    ash_collection_free(c);
    bson_destroy(&filter);
    return n;
}

/* Nothing of a change that was not to be is left in the file, and no mark of one that was. */
static void assert_clean(scene *s, bool done)
{
    fixture *f = s->f;
    assert_int_equal(count(f, "fs.files", "{\"ashlar_intent\": {\"$exists\": true}}"), 0);
    assert_int_equal(count(f, "fs.locks", "{\"pending.0\": {\"$exists\": true}}"), 0);
    assert_int_equal(count(f, "fs.files", "{}"), count(f, "fs.chunks", "{}"));
    if (!done)
        assert_int_equal(count(f, "fs.files", "{}"), 1);
}

/* False when the change was over before its n-th call.  *late: it happened after the takeover. */
static bool stop_before(scene *s, enum change what, int n, bool *late)
{
    fixture *f = s->f;
    ash_fence fence = ASH_FENCE_INIT;
    ash_file *file = NULL;
    char now[32];
    ash_bucket_delete_by_name(s->quick, "file", NULL, NULL);
    ash_bucket_delete_by_name(s->quick, "other", NULL, NULL);
    assert_ok(put(f, s->quick, "old", NULL), &f->err);
    assert_ok(ash_bucket_get_file_by_name(s->quick, "file", -1, false, &file, &f->err), &f->err);
    assert_ok(ash_lock_obtain_write(s->holder, &f->err), &f->err);
    assert_ok(ash_lock_fence(s->holder, &fence, &f->err), &f->err);
    s->taken = false;
    faulty_store_before(s->watched, n, take_over, s);
    int rc = change(s, what, ash_file_id(file), &fence);
    bool happened = faulty_store_happened(s->watched);
    faulty_store_set(s->watched, 0, false, 0);
    assert_int_equal(happened, s->taken);
    assert_true(rc == 0 || rc == ASH_ELOST);
    look(s, now);
    *late = s->taken && strcmp(now, s->seen) != 0;
    assert_int_equal(rc == 0, strcmp(now, "old") != 0);
    if (s->taken && s->by_package)
        assert_true(npm_release_write(f, "file"));
    assert_int_equal(ash_lock_release(s->holder, NULL), s->taken ? ASH_ELOST : 0);
    if (s->taken && !s->by_package)
        assert_ok(ash_lock_release(s->taker, &f->err), &f->err);
    assert_ok(ash_lock_obtain_read(s->taker, &f->err), &f->err);
    assert_ok(ash_lock_release(s->taker, &f->err), &f->err);
    assert_clean(s, rc == 0);
    ash_file_free(file);
    return happened;
}

static void open_scene(scene *s, fixture *f, bool bare, bool by_package)
{
    *s = (scene){.f = f, .by_package = by_package};
    s->watched = faulty_store_new(f->store);
    if (bare)
        faulty_store_bare(s->watched);
    s->slow = open_bucket(f, s->watched);
    s->quick = open_bucket(f, f->store);
    s->holder = open_lock(f, f->c, "file", NULL);
    s->taker = open_lock(f, f->c, "file", NULL);
}

static void close_scene(scene *s)
{
    ash_lock_free(s->holder);
    ash_lock_free(s->taker);
    ash_bucket_free(s->slow);
    ash_bucket_free(s->quick);
    faulty_store_free(s->watched);
}

/* Before every call of every change. */
static void take_over_everywhere(scene *s, int changes, int calls)
{
    for (int what = PUT; what < changes; what++) {
        bool late;
        int n = 1;
        while (stop_before(s, (enum change)what, n, &late)) {
            if (late)
                fail_msg("change %d came after the takeover before its call %d", what, n);
            n++;
        }
        assert_true(n > calls);
    }
}

static void take_over_ourselves(fixture *f, bool by_reader)
{
    scene s;
    open_scene(&s, f, true, false);
    s.by_reader = by_reader;
    take_over_everywhere(&s, BARE_CHANGES, 5);
    close_scene(&s);
}

/* Whatever the next holder saw stays, and who was refused changed nothing. */
static void test_lock_window__our_writers_takeover_at_every_call(void **state)
{
    take_over_ourselves(*state, false);
}

static void test_lock_window__our_readers_takeover_at_every_call(void **state)
{
    take_over_ourselves(*state, true);
}

/* The package takes no announcement back: a change that stands just before its last step still
 * happens.  That one step, and no other, is what cannot be had beside it. */
static void test_lock_window__the_packages_takeover_at_every_call(void **state)
{
    scene s;
    open_scene(&s, *state, true, true);
    for (int what = PUT; what < BARE_CHANGES; what++) {
        bool late;
        int lates = 0;
        for (int n = 1; stop_before(&s, (enum change)what, n, &late); n++)
            lates += late ? 1 : 0;
        assert_int_equal(lates, 1);
    }
    close_scene(&s);
}

/* Through a folder's server nobody's takeover leaves anything to be done late, the package's
 * neither; and a transaction of the embedded engine cannot be stopped. */
static void in_transactions(fixture *f, bool by_package, bool by_reader)
{
    scene s;
    open_scene(&s, f, false, by_package);
    s.by_reader = by_reader;
    take_over_everywhere(&s, CHANGES, 4);
    close_scene(&s);
}

static void test_lock_window__the_packages_takeover_in_transactions(void **state)
{
    in_transactions(*state, true, false);
}

static void test_lock_window__our_writers_takeover_in_transactions(void **state)
{
    in_transactions(*state, false, false);
}

static void test_lock_window__our_readers_takeover_in_transactions(void **state)
{
    in_transactions(*state, false, true);
}

/* A process that died in the middle leaves a file without a name, or a mark: sweeping takes both.
 */
static void test_lock_window__sweep_takes_what_the_dead_left(void **state)
{
    fixture *f = *state;
    ash_bucket *b = open_bucket(f, f->store);
    ash_sweep_options o = ASH_SWEEP_OPTIONS_INIT;
    ash_sweep_report report = ASH_SWEEP_REPORT_INIT;
    ash_collection *files = NULL;
    bson_t doc;
    assert_ok(put(f, b, "content", NULL), &f->err);
    assert_ok(ash_collection_new(f->store, f->db, "fs.files", &files, &f->err), &f->err);
    assert_true(bson_init_from_json(
        &doc,
        "{\"_id\": 1, \"length\": 0, \"chunkSize\": 5, \"uploadDate\": {\"$date\": "
        "\"2020-01-01T00:00:00Z\"}, \"ashlar_intent\": {\"mark\": {\"$oid\": "
        "\"5e0be1000000000000000000\"}, \"makes\": true}}",
        -1, NULL));
    assert_ok(ash_collection_insert_one(files, &doc, NULL, &f->err), &f->err);
    bson_destroy(&doc);
    bson_value_t update = {.value_type = BSON_TYPE_DOCUMENT};
    bson_t *set = BCON_NEW("$set", "{", "ashlar_intent", "{", "mark", BCON_OID(&(bson_oid_t){{94}}),
                           "makes", BCON_BOOL(false), "}", "}");
    update.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(set);
    update.value.v_doc.data_len = set->len;
    bson_t named;
    assert_true(bson_init_from_json(&named, "{\"filename\": \"file\"}", -1, NULL));
    assert_ok(ash_collection_update(files, &named, &update, NULL, NULL, &f->err), &f->err);
    bson_destroy(&named);
    bson_destroy(set);
    assert_int_equal(count(f, "fs.files", "{\"ashlar_intent\": {\"$exists\": true}}"), 2);
    assert_ok(ash_bucket_sweep(b, &o, &report, &f->err), &f->err);
    assert_int_equal(count(f, "fs.files", "{\"ashlar_intent\": {\"$exists\": true}}"), 0);
    assert_int_equal(count(f, "fs.files", "{\"filename\": \"file\"}"), 1);
    assert_int_equal(count(f, "fs.files", "{}"), 1);
    ash_collection_free(files);
    ash_bucket_free(b);
}

int main(void)
{
    const struct CMUnitTest embedded[] = {
        LOCK_TEST(test_lock_window__our_writers_takeover_at_every_call),
        LOCK_TEST(test_lock_window__our_readers_takeover_at_every_call),
        LOCK_TEST(test_lock_window__the_packages_takeover_at_every_call),
        LOCK_TEST(test_lock_window__sweep_takes_what_the_dead_left),
    };
    const struct CMUnitTest by_server[] = {
        LOCK_TEST(test_lock_window__our_writers_takeover_at_every_call),
        LOCK_TEST(test_lock_window__our_readers_takeover_at_every_call),
        LOCK_TEST(test_lock_window__the_packages_takeover_at_every_call),
        LOCK_TEST(test_lock_window__sweep_takes_what_the_dead_left),
        LOCK_TEST(test_lock_window__the_packages_takeover_in_transactions),
        LOCK_TEST(test_lock_window__our_writers_takeover_in_transactions),
        LOCK_TEST(test_lock_window__our_readers_takeover_in_transactions),
    };
    if (getenv("ASH_TEST_STORE") == NULL)
        return cmocka_run_group_tests(embedded, NULL, NULL);
    return cmocka_run_group_tests(by_server, NULL, NULL);
}
