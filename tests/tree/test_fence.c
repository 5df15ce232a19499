/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <ashlar/lock.h>

/* Changes under a lock on the file's id, and what becomes of them once it is lost. */

typedef struct holder {
    ash_lock_collection *locks;
    ash_lock *lock;
    ash_fence fence;
    ash_tree_change_options opts;
} holder;

static void obtain(fixture *f, holder *h, const bson_value_t *id)
{
    assert_ok(ash_lock_collection_open(f->store, NULL, &h->locks, &f->err), &f->err);
    assert_ok(ash_lock_new(h->locks, id, NULL, &h->lock, &f->err), &f->err);
    assert_ok(ash_lock_obtain_write(h->lock, &f->err), &f->err);
    h->fence = (ash_fence)ASH_FENCE_INIT;
    assert_ok(ash_lock_fence(h->lock, &h->fence, &f->err), &f->err);
    h->opts = (ash_tree_change_options)ASH_TREE_CHANGE_OPTIONS_INIT;
    h->opts.fence = &h->fence;
}

static void end(holder *h)
{
    ash_lock_free(h->lock);
    ash_lock_collection_close(h->locks);
}

static void test_tree_fence__a_lock_on_a_file(void **state)
{
    fixture *f = *state;
    holder h;
    support_put_seed(f, "a", 1);
    bson_value_t id = support_id(f, "a");
    obtain(f, &h, &id);
    assert_ok(support_try_put(f, "a", "held", 4, &h.opts, NULL), &f->err);
    assert_ok(ash_tree_move(f->tree, "a", "b", &h.opts, NULL, NULL, &f->err), &f->err);
    assert_ok(ash_lock_break(h.locks, &id, "somebody else's turn", &f->err), &f->err);
    assert_int_equal(support_try_put(f, "b", "lost", 4, &h.opts, NULL), ASH_ELOST);
    assert_int_equal(ash_tree_move(f->tree, "b", "c", &h.opts, NULL, NULL, &f->err), ASH_ELOST);
    assert_int_equal(ash_tree_remove(f->tree, "b", &h.opts, NULL, &f->err), ASH_ELOST);
    assert_int_equal(ash_tree_restore(f->tree, "b", 1, &h.opts, NULL, NULL, &f->err), ASH_ELOST);
    h.opts.content_type = "text/plain";
    assert_int_equal(ash_tree_set(f->tree, "b", &h.opts, NULL, NULL, &f->err), ASH_ELOST);
    assert_int_equal(ash_tree_copy(f->tree, "b", NULL, "d", &h.opts, NULL, NULL, &f->err),
                     ASH_ELOST);
    h.opts.replace = true;
    support_put_seed(f, "e", 2);
    assert_int_equal(ash_tree_copy(f->tree, "e", NULL, "b", &h.opts, NULL, NULL, &f->err),
                     ASH_ELOST);
    assert_int_equal(ash_tree_make_folder(f->tree, "d", &h.opts, NULL, NULL, &f->err), ASH_ELOST);
    support_expect_text(f, "b", "held");
    support_expect_history(f, "b", "3 2 1");
    support_expect_list(f, "/", true, 0, "/b /e");
    end(&h);
}

/* Broken between opening and finishing: that is what fences are for. */
static void test_tree_fence__lost_while_bytes_came(void **state)
{
    fixture *f = *state;
    holder h;
    ash_tree_writer *w = NULL;
    support_put_seed(f, "a", 1);
    bson_value_t id = support_id(f, "a");
    obtain(f, &h, &id);
    assert_ok(ash_tree_open_writer(f->tree, "a", &h.opts, NULL, &w, &f->err), &f->err);
    assert_ok(ash_tree_writer_write(w, "x", 1, &f->err), &f->err);
    assert_ok(ash_lock_release(h.lock, &f->err), &f->err);
    assert_int_equal(ash_tree_writer_finish(w, NULL, NULL, &f->err), ASH_ELOST);
    ash_tree_writer_free(w);
    support_expect_history(f, "a", "1");
    /* Granted anew it is another grant. */
    assert_ok(ash_lock_obtain_write(h.lock, &f->err), &f->err);
    ash_fence before = h.fence;
    assert_ok(ash_lock_fence(h.lock, &h.fence, &f->err), &f->err);
    assert_true(h.fence.writes > before.writes);
    assert_ok(support_try_put(f, "a", "new", 3, &h.opts, NULL), &f->err);
    end(&h);
}

static void test_tree_fence__undelete_under_one(void **state)
{
    fixture *f = *state;
    holder h;
    support_put_seed(f, "a", 1);
    bson_value_t id = support_id(f, "a");
    support_remove(f, "a");
    obtain(f, &h, &id);
    assert_ok(ash_lock_break(h.locks, &id, "gone", &f->err), &f->err);
    assert_int_equal(ash_tree_undelete(f->tree, &id, NULL, &h.opts, NULL, NULL, &f->err),
                     ASH_ELOST);
    support_expect_missing(f, "a");
    end(&h);
}

/* Nobody is to hold it: whoever does, to read or to write, stands in the way. */
static void test_tree_fence__nobody(void **state)
{
    fixture *f = *state;
    holder h;
    ash_fence nobody = ASH_FENCE_INIT;
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    support_put_seed(f, "a", 1);
    bson_value_t id = support_id(f, "a");
    nobody.collection = "fs.locks";
    nobody.lock_id = &id;
    nobody.writes = -1;
    o.fence = &nobody;
    assert_ok(support_try_put(f, "a", "no document", 11, &o, NULL), &f->err);
    obtain(f, &h, &id);
    assert_int_equal(support_try_put(f, "a", "held", 4, &o, NULL), ASH_ELOST);
    assert_ok(ash_lock_release(h.lock, &f->err), &f->err);
    assert_ok(support_try_put(f, "a", "free", 4, &o, NULL), &f->err);
    assert_ok(ash_lock_obtain_read(h.lock, &f->err), &f->err);
    assert_int_equal(support_try_put(f, "a", "read", 4, &o, NULL), ASH_ELOST);
    assert_ok(ash_lock_release(h.lock, &f->err), &f->err);
    assert_ok(support_try_put(f, "a", "freed", 5, &o, NULL), &f->err);
    support_expect_text(f, "a", "freed");
    end(&h);
}

/* Of a read lock: readers come and go, but no writer may have come in between. */
static void test_tree_fence__of_a_reader(void **state)
{
    fixture *f = *state;
    holder h;
    support_put_seed(f, "a", 1);
    bson_value_t id = support_id(f, "a");
    obtain(f, &h, &id);
    ash_fence reader = h.fence;
    reader.shared = true;
    h.opts.fence = &reader;
    assert_int_equal(support_try_put(f, "a", "written", 7, &h.opts, NULL), ASH_ELOST);
    assert_ok(ash_lock_release(h.lock, &f->err), &f->err);
    assert_ok(ash_lock_obtain_read(h.lock, &f->err), &f->err);
    assert_ok(support_try_put(f, "a", "read", 4, &h.opts, NULL), &f->err);
    assert_ok(ash_lock_release(h.lock, &f->err), &f->err);
    assert_ok(ash_lock_obtain_write(h.lock, &f->err), &f->err);
    assert_ok(ash_lock_release(h.lock, &f->err), &f->err);
    assert_int_equal(support_try_put(f, "a", "late", 4, &h.opts, NULL), ASH_ELOST);
    support_expect_text(f, "a", "read");
    end(&h);
}

static void test_tree_fence__several(void **state)
{
    fixture *f = *state;
    holder one, two;
    support_put_seed(f, "a", 1);
    support_put_seed(f, "b", 2);
    bson_value_t a = support_id(f, "a"), b = support_id(f, "b");
    obtain(f, &one, &a);
    obtain(f, &two, &b);
    one.fence.next = &two.fence;
    assert_ok(support_try_put(f, "a", "both", 4, &one.opts, NULL), &f->err);
    assert_ok(ash_lock_release(two.lock, &f->err), &f->err);
    assert_int_equal(support_try_put(f, "a", "one", 3, &one.opts, NULL), ASH_ELOST);
    one.fence.next = NULL;
    assert_ok(support_try_put(f, "a", "alone", 5, &one.opts, NULL), &f->err);
    /* The second in a chain is as good as the first. */
    two.fence.next = &one.fence;
    assert_int_equal(support_try_put(f, "a", "none", 4, &two.opts, NULL), ASH_ELOST);
    two.fence.size = 0;
    assert_int_equal(support_try_put(f, "a", "none", 4, &two.opts, NULL), ASH_EINVAL);
    support_expect_text(f, "a", "alone");
    end(&one);
    end(&two);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define here(test) cmocka_unit_test_setup_teardown(test, support_setup, support_teardown)
        here(test_tree_fence__a_lock_on_a_file),   here(test_tree_fence__lost_while_bytes_came),
        here(test_tree_fence__undelete_under_one), here(test_tree_fence__nobody),
        here(test_tree_fence__of_a_reader),        here(test_tree_fence__several),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
