/* SPDX-License-Identifier: Apache-2.0 */
/* Grants that outlive whoever asked for them. */
#include "lock/support.h"

#include "lock/hand.h"

static ash_lock_hand take(fixture *f, bool write, int64_t life_ms)
{
    bson_value_t id = text_id("x");
    ash_lock_hand hand = {0};
    const ash_lock_wish wish = {&id, write, life_ms, NULL};
    assert_ok(ash__lock_hand_take(f->c, &wish, &hand, &f->err), &f->err);
    return hand;
}

static void test_lock_hand__from_another_process(void **state)
{
    fixture *f = *state;
    ash_lock_hand hand = take(f, true, 60000);
    ash_lock_collection *other = fixture_reopen(f, &f->opts);
    ash_lock *lock = open_lock(f, other, "x", NULL);
    assert_int_equal(ash_lock_obtain_write(lock, &f->err), ASH_ELOCKED);
    assert_ok(ash__lock_hand_renew(other, &hand, 120000, &f->err), &f->err);
    bson_t *doc = lock_doc(f, "x");
    assert_true(doc_int(doc, "expires") > now_ms() + 100000);
    bson_destroy(doc);
    assert_ok(ash__lock_hand_release(other, &hand, &f->err), &f->err);
    assert_ok(ash_lock_obtain_write(lock, &f->err), &f->err);
    /* It is over, and hurts nobody. */
    assert_int_equal(ash__lock_hand_release(other, &hand, &f->err), ASH_ELOST);
    assert_int_equal(ash__lock_hand_renew(other, &hand, 1000, &f->err), ASH_ELOST);
    assert_true(ash_lock_is_held(lock));
    ash_lock_free(lock);
    ash_lock_collection_close(other);
    ash__lock_hand_free(&hand);
}

static void test_lock_hand__readers(void **state)
{
    fixture *f = *state;
    ash_lock_hand one = take(f, false, 60000), two = take(f, false, 60000);
    bson_t *doc = lock_doc(f, "x");
    assert_int_equal(doc_int(doc, "read_locks"), 2);
    bson_destroy(doc);
    assert_ok(ash__lock_hand_release(f->c, &one, &f->err), &f->err);
    doc = lock_doc(f, "x");
    assert_int_equal(doc_int(doc, "read_locks"), 1);
    bson_destroy(doc);
    assert_ok(ash__lock_hand_release(f->c, &two, &f->err), &f->err);
    ash_lock *lock = open_lock(f, f->c, "x", NULL);
    assert_ok(ash_lock_obtain_write(lock, &f->err), &f->err);
    ash_lock_free(lock);
    ash__lock_hand_free(&one);
    ash__lock_hand_free(&two);
}

/* Readers of a process share an entry; a grant that goes elsewhere has one of its own. */
static void test_lock_hand__reader_beside_readers(void **state)
{
    fixture *f = *state;
    ash_lock *lock = open_lock(f, f->c, "x", NULL);
    assert_ok(ash_lock_obtain_read(lock, &f->err), &f->err);
    ash_lock_hand hand = take(f, false, 60000);
    ash_lock *later = open_lock(f, f->c, "x", NULL);
    assert_ok(ash_lock_obtain_read(later, &f->err), &f->err);
    bson_t *doc = lock_doc(f, "x");
    assert_int_equal(doc_int(doc, "read_locks"), 3);
    bson_destroy(doc);
    assert_ok(ash__lock_hand_release(f->c, &hand, &f->err), &f->err);
    assert_int_equal(ash__lock_hand_release(f->c, &hand, &f->err), ASH_ELOST);
    assert_int_equal(ash__lock_hand_renew(f->c, &hand, 60000, &f->err), ASH_ELOST);
    doc = lock_doc(f, "x");
    assert_int_equal(doc_int(doc, "read_locks"), 2);
    bson_destroy(doc);
    assert_ok(ash_lock_release(lock, &f->err), &f->err);
    assert_ok(ash_lock_release(later, &f->err), &f->err);
    ash_lock_free(lock);
    ash_lock_free(later);
    ash__lock_hand_free(&hand);
}

/* What the package looks at is as it writes it. */
static void test_lock_hand__document_is_the_packages(void **state)
{
    fixture *f = *state;
    bson_value_t id = text_id("x");
    bson_t *meta = BCON_NEW("who", BCON_UTF8("desk"));
    ash_lock_hand hand = {0};
    bson_iter_t at;
    const ash_lock_wish wish = {&id, true, 60000, meta};
    assert_ok(ash__lock_hand_take(f->c, &wish, &hand, &f->err), &f->err);
    bson_t *doc = lock_doc(f, "x");
    assert_true(bson_iter_init_find(&at, doc, "write_lock") && bson_iter_bool(&at));
    assert_true(bson_iter_init_find(&at, doc, "write_req") && !bson_iter_bool(&at));
    assert_true(bson_iter_init_find(&at, doc, "expires") && BSON_ITER_HOLDS_DATE_TIME(&at));
    assert_true(bson_iter_init_find(&at, doc, "read_locks") && bson_iter_int32(&at) == 0);
    assert_true(bson_iter_init_find(&at, doc, "writes") && bson_iter_int32(&at) == hand.writes);
    assert_true(bson_iter_init_find(&at, doc, "meta") && BSON_ITER_HOLDS_DOCUMENT(&at));
    bson_destroy(doc);
    assert_ok(ash__lock_hand_release(f->c, &hand, &f->err), &f->err);
    doc = lock_doc(f, "x");
    assert_true(bson_iter_init_find(&at, doc, "write_lock") && !bson_iter_bool(&at));
    assert_true(bson_iter_init_find(&at, doc, "meta") && BSON_ITER_HOLDS_NULL(&at));
    bson_destroy(doc);
    bson_destroy(meta);
    ash__lock_hand_free(&hand);
}

/* The bytes of a hand, and no more, are kept by whoever keeps it: freeing one gives nothing back. */
static void test_lock_hand__outlives_who_took_it(void **state)
{
    fixture *f = *state;
    ash_lock_hand hand = take(f, true, 60000), kept = hand;
    bson_value_copy(&hand.doc_id, &kept.doc_id);
    ash__lock_hand_free(&hand);
    ash_lock_collection_close(f->c);
    f->c = NULL;
    f->c = fixture_reopen(f, &f->opts);
    bson_t filter = BSON_INITIALIZER;
    ash__lock_hand_filter(&kept, &filter);
    bson_t *doc = lock_doc(f, "x");
    bson_iter_t at;
    assert_true(bson_iter_init_find(&at, doc, "write_lock") && bson_iter_bool(&at));
    assert_true(bson_has_field(&filter, "writes"));
    bson_destroy(doc);
    bson_destroy(&filter);
    assert_ok(ash__lock_hand_release(f->c, &kept, &f->err), &f->err);
    ash__lock_hand_free(&kept);
}

static void test_lock_hand__ends(void **state)
{
    fixture *f = *state;
    ash_lock_hand hand = take(f, true, 3000);
    ash_lock *lock = open_lock(f, f->c, "x", NULL);
    assert_int_equal(ash_lock_obtain_write(lock, &f->err), ASH_ELOCKED);
    sleep_ms(3500);
    assert_ok(ash_lock_obtain_write(lock, &f->err), &f->err);
    assert_int_equal(ash__lock_hand_renew(f->c, &hand, 1000, &f->err), ASH_ELOST);
    ash_lock_free(lock);
    ash__lock_hand_free(&hand);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOCK_TEST(test_lock_hand__from_another_process),
        LOCK_TEST(test_lock_hand__readers),
        LOCK_TEST(test_lock_hand__reader_beside_readers),
        LOCK_TEST(test_lock_hand__document_is_the_packages),
        LOCK_TEST(test_lock_hand__outlives_who_took_it),
        LOCK_TEST(test_lock_hand__ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
