/* SPDX-License-Identifier: Apache-2.0 */
/* What the npm package's manual says of options, defaults and counters (docs/LOCKS.md has the table
 * of its sentences). */
#include "lock/support.h"

#include <string.h>

static ash_lock_collection *open_plain(fixture *f, const char *root)
{
    ash_lock_options o = ASH_LOCK_OPTIONS_INIT;
    o.db = f->db;
    o.root = root;
    return fixture_reopen(f, &o);
}

/* The lock never expires, one try is all, no metadata; the root is fs. */
static void test_lock_manual__defaults(void **state)
{
    fixture *f = *state;
    ash_lock_collection *c = open_plain(f, NULL);
    ash_lock *a = open_lock(f, c, "x", NULL), *b = open_lock(f, c, "x", NULL);
    assert_ok(ash_lock_obtain_write(a, &f->err), &f->err);
    assert_int_equal(ash_lock_remaining_ms(a), INT64_MAX);
    bson_t *doc = lock_doc(f, "x"); /* in fs.locks */
    bson_iter_t meta;
    assert_non_null(doc);
    assert_true(bson_iter_init_find(&meta, doc, "meta") && BSON_ITER_HOLDS_NULL(&meta));
    bson_destroy(doc);
    int64_t start = now_ms();
    assert_int_equal(ash_lock_obtain_write(b, &f->err), ASH_ELOCKED);
    assert_event(b, ASH_LOCK_TIMED_OUT);
    assert_int_equal(ash_lock_obtain_read(b, &f->err), ASH_ELOCKED);
    assert_event(b, ASH_LOCK_TIMED_OUT);
    assert_true(now_ms() - start < 5000); /* not even one polling interval */
    ash_lock_free(a);
    ash_lock_free(b);
    ash_lock_collection_close(c);
}

static void test_lock_manual__root_names_the_collection(void **state)
{
    fixture *f = *state;
    ash_lock_collection *c = open_plain(f, "photos");
    ash_collection *docs = NULL;
    int64_t count = 0;
    ash_lock *a = open_lock(f, c, "x", NULL), *other = open_lock(f, f->c, "x", NULL);
    assert_ok(ash_lock_obtain_write(a, &f->err), &f->err);
    assert_ok(ash_lock_obtain_write(other, &f->err), &f->err); /* another root: another lock */
    bson_t all = BSON_INITIALIZER;
    assert_ok(ash_collection_new(f->store, f->db, "photos.locks", &docs, &f->err), &f->err);
    assert_ok(ash_collection_count(docs, &all, NULL, &count, &f->err), &f->err);
    assert_int_equal(count, 1);
    ash_collection_free(docs);
    ash_lock_free(a);
    ash_lock_free(other);
    ash_lock_collection_close(c);
}

/* Nothing but the locks and the sequence of their tokens comes into being. */
static void test_lock_manual__needs_and_makes_no_files(void **state)
{
    fixture *f = *state;
    ash_cursor *cursor = NULL;
    ash_doc doc;
    ash_lock *a = open_lock(f, f->c, "no file has this id", NULL);
    assert_ok(ash_lock_obtain_write(a, &f->err), &f->err);
    assert_ok(ash_lock_release(a, &f->err), &f->err);
    assert_ok(ash_lock_obtain_read(a, &f->err), &f->err);
    ash_lock_free(a);
    assert_ok(ash_store_list_collections(f->store, f->db, NULL, NULL, &cursor, &f->err), &f->err);
    for (;;) {
        bson_t view;
        bson_iter_t name;
        assert_ok(ash_cursor_next(cursor, &doc, &f->err), &f->err);
        if (doc.data == NULL)
            break;
        assert_true(bson_init_static(&view, doc.data, doc.len));
        assert_true(bson_iter_init_find(&name, &view, "name"));
        const char *text = bson_iter_utf8(&name, NULL);
        if (strcmp(text, "fs.locks") != 0 && strcmp(text, "fs.lockseq") != 0)
            fail_msg("collection %s was made", text);
    }
    ash_cursor_free(cursor);
}

static int64_t meta_n(fixture *f)
{
    bson_t *doc = lock_doc(f, "x");
    int64_t n = doc_int(doc, "meta.n");
    bson_destroy(doc);
    return n;
}

static void test_lock_manual__a_locks_options_override_its_collections(void **state)
{
    fixture *f = *state;
    bson_t *one = BCON_NEW("n", BCON_INT32(1)), *two = BCON_NEW("n", BCON_INT32(2));
    ash_lock_options o = f->opts, own = ASH_LOCK_OPTIONS_INIT;
    o.lock_expiration_s = 100;
    o.time_out_s = 0.2;
    o.meta_data = one;
    ash_lock_collection *c = fixture_reopen(f, &o);
    own.lock_expiration_s = 1000;
    own.time_out_s = 1;
    own.meta_data = two;
    ash_lock *like = open_lock(f, c, "x", NULL), *unlike = open_lock(f, c, "x", &own);
    assert_ok(ash_lock_obtain_write(like, &f->err), &f->err);
    assert_int_equal(meta_n(f), 1);
    assert_true(ash_lock_remaining_ms(like) <= 100000);
    int64_t start = now_ms();
    assert_int_equal(ash_lock_obtain_write(unlike, &f->err), ASH_ELOCKED);
    assert_true(now_ms() - start >= 1000);
    assert_ok(ash_lock_release(like, &f->err), &f->err);
    assert_ok(ash_lock_obtain_write(unlike, &f->err), &f->err);
    assert_int_equal(meta_n(f), 2);
    assert_true(ash_lock_remaining_ms(unlike) > 100000);
    start = now_ms();
    assert_int_equal(ash_lock_obtain_write(like, &f->err), ASH_ELOCKED);
    assert_true(now_ms() - start >= 200);
    bson_destroy(one);
    bson_destroy(two);
    /* What belongs to the collection does not belong here. */
    ash_lock *bad = NULL;
    bson_value_t id = text_id("x");
    own.root = "other";
    assert_int_equal(ash_lock_new(c, &id, &own, &bad, &f->err), ASH_EINVAL);
    ash_lock_free(like);
    ash_lock_free(unlike);
    ash_lock_collection_close(c);
}

/* A life is at least 1.1 polling intervals long, as in the package. */
static void test_lock_manual__short_lives_are_lengthened(void **state)
{
    fixture *f = *state;
    ash_lock_options o = ASH_LOCK_OPTIONS_INIT;
    o.lock_expiration_s = 1;
    o.polling_interval_s = 100;
    ash_lock *a = open_lock(f, f->c, "x", &o);
    assert_ok(ash_lock_obtain_write(a, &f->err), &f->err);
    int64_t left = ash_lock_remaining_ms(a);
    assert_true(left > 100000 && left <= 110000);
    ash_lock_free(a);
}

/* Grants count, and nothing else: no failed try, no release, no renewal. */
static void test_lock_manual__counters(void **state)
{
    fixture *f = *state;
    ash_lock *a = open_lock(f, f->c, "x", NULL), *b = open_lock(f, f->c, "x", NULL);
    for (int i = 0; i < 3; i++) {
        assert_ok(ash_lock_obtain_write(a, &f->err), &f->err);
        assert_int_equal(ash_lock_obtain_write(b, &f->err), ASH_ELOCKED);
        assert_int_equal(ash_lock_obtain_read(b, &f->err), ASH_ELOCKED);
        assert_ok(ash_lock_renew(a, &f->err), &f->err);
        assert_ok(ash_lock_release(a, &f->err), &f->err);
    }
    assert_ok(ash_lock_obtain_read(a, &f->err), &f->err);
    assert_ok(ash_lock_obtain_read(b, &f->err), &f->err);
    assert_ok(ash_lock_release(a, &f->err), &f->err);
    bson_t *doc = lock_doc(f, "x");
    assert_int_equal(doc_int(doc, "reads"), 2);
    assert_int_equal(doc_int(doc, "writes"), 3);
    assert_int_equal(doc_int(doc, "read_locks"), 1);
    bson_destroy(doc);
    ash_lock_free(a);
    ash_lock_free(b);
}

/* A stream of readers, each in before the last is out, does not keep a writer from its turn. */
static void test_lock_manual__readers_in_a_stream_do_not_block_a_writer(void **state)
{
    fixture *f = *state;
    ash_lock_options o = ASH_LOCK_OPTIONS_INIT;
    ash_lock *readers[2] = {open_lock(f, f->c, "x", NULL), open_lock(f, f->c, "x", NULL)};
    bool reading[2] = {true, false};
    o.time_out_s = 60;
    ash_lock *writer = open_lock(f, f->c, "x", &o);
    assert_ok(ash_lock_obtain_read(readers[0], &f->err), &f->err);
    assert_ok(ash_lock_request_write(writer, &f->err), &f->err);
    assert_comes(f, "x", "write_req", 1);
    for (int i = 1; i < 200 && ash_lock_get_state(writer) == ASH_LOCK_WAITING; i++) {
        int next = i % 2;
        reading[next] = ash_lock_obtain_read(readers[next], NULL) == 0;
        assert_false(reading[next]); /* asked before it */
        sleep_ms(5);
        if (i == 20)
            assert_ok(ash_lock_release(readers[0], &f->err), &f->err);
    }
    assert_event(writer, ASH_LOCK_LOCKED);
    ash_lock_free(readers[0]);
    ash_lock_free(readers[1]);
    ash_lock_free(writer);
}

/* Two that wait for what the other one holds: an expiration ends it. */
static void test_lock_manual__expiration_ends_a_deadlock(void **state)
{
    fixture *f = *state;
    ash_lock_options o = ASH_LOCK_OPTIONS_INIT;
    o.lock_expiration_s = 1;
    o.time_out_s = 30;
    ash_lock *x1 = open_lock(f, f->c, "x", &o), *y1 = open_lock(f, f->c, "y", &o);
    ash_lock *x2 = open_lock(f, f->c, "x", &o), *y2 = open_lock(f, f->c, "y", &o);
    assert_ok(ash_lock_obtain_write(x1, &f->err), &f->err);
    assert_ok(ash_lock_obtain_write(y2, &f->err), &f->err);
    assert_ok(ash_lock_request_write(y1, &f->err), &f->err);
    assert_ok(ash_lock_request_write(x2, &f->err), &f->err);
    assert_event(y1, ASH_LOCK_LOCKED);
    assert_event(x2, ASH_LOCK_LOCKED);
    ash_lock_free(x1);
    ash_lock_free(y1);
    ash_lock_free(x2);
    ash_lock_free(y2);
}

/* Without an expiration nothing is said of a life, however often the lease is renewed. */
static void test_lock_manual__no_life_events_without_expiration(void **state)
{
    fixture *f = *state;
    ash_lock_options o = f->opts;
    o.lease_s = 1;
    ash_lock_collection *c = fixture_reopen(f, &o);
    ash_lock *a = open_lock(f, c, "x", NULL);
    assert_ok(ash_lock_obtain_write(a, &f->err), &f->err);
    bson_t *doc = lock_doc(f, "x");
    int64_t first = doc_int(doc, "expires"), later = first;
    bson_destroy(doc);
    for (int64_t end = now_ms() + 30000; later <= first + 1000 && now_ms() < end;) {
        sleep_ms(20);
        doc = lock_doc(f, "x");
        later = doc_int(doc, "expires");
        bson_destroy(doc);
    }
    assert_true(later > first + 1000); /* renewed for more than it would have lived */
    assert_event(a, ASH_LOCK_LOCKED);
    assert_ok(ash_lock_release(a, &f->err), &f->err);
    assert_event(a, ASH_LOCK_RELEASED);
    ash_lock_free(a);
    ash_lock_collection_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOCK_TEST(test_lock_manual__defaults),
        LOCK_TEST(test_lock_manual__root_names_the_collection),
        LOCK_TEST(test_lock_manual__needs_and_makes_no_files),
        LOCK_TEST(test_lock_manual__a_locks_options_override_its_collections),
        LOCK_TEST(test_lock_manual__short_lives_are_lengthened),
        LOCK_TEST(test_lock_manual__counters),
        LOCK_TEST(test_lock_manual__readers_in_a_stream_do_not_block_a_writer),
        LOCK_TEST(test_lock_manual__expiration_ends_a_deadlock),
        LOCK_TEST(test_lock_manual__no_life_events_without_expiration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
