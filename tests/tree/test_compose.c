/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

/* Changes of a tree and of the caller's own documents as one commit. */

typedef struct plan {
    fixture *f;
    ash_collection *own;
    ash_tree_writer *writer;
    int fails; /* fn's own failure, at its end */
    int rc[12];
} plan;

static plan make_plan(fixture *f, size_t len)
{
    plan p = {.f = f};
    uint8_t *data = support_bytes(len, 1);
    support_put_seed(f, "old", 2);
    support_put_seed(f, "moved", 3);
    support_folder(f, "d");
    support_put_seed(f, "d/a", 4);
    assert_ok(ash_collection_new(f->store, NULL, "own", &p.own, &f->err), &f->err);
    assert_ok(ash_tree_open_writer(f->tree, "new", NULL, NULL, &p.writer, &f->err), &f->err);
    assert_ok(ash_tree_writer_write(p.writer, data, len, &f->err), &f->err);
    ash__free(data);
    return p;
}

static void free_plan(plan *p)
{
    ash_tree_writer_free(p->writer);
    ash_collection_free(p->own);
}

static int write_own(plan *p, ash_transaction *t, ash_error *err)
{
    bson_t *doc = BCON_NEW("_id", BCON_UTF8("mine"));
    ash_insert_options o = ASH_INSERT_OPTIONS_INIT;
    o.op.transaction = t;
    int rc = ash_collection_insert_one(p->own, doc, &o, err);
    bson_destroy(doc);
    return rc;
}

static ash_op op_in(ash_transaction *t)
{
    ash_op op = ASH_OP_INIT;
    op.transaction = t;
    return op;
}

/* What it wrote it reads. */
static int look(plan *p, const ash_op *op, ash_error *err)
{
    ash_tree_entry *e = NULL;
    int rc = ash_tree_get(p->f->tree, "d/new", NULL, op, &e, err);
    if (rc == 0)
        assert_int_equal(ash_tree_entry_version(e), 2);
    ash_tree_entry_free(e);
    return rc;
}

static int do_all(ash_transaction *t, void *ctx, ash_error *err)
{
    plan *p = ctx;
    ash_op op = op_in(t);
    ash_tree *tree = p->f->tree;
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    o.recursive = true;
    int rc = ash_tree_writer_finish(p->writer, &op, NULL, err);
    if (rc == 0)
        rc = ash_tree_move(tree, "new", "d/new", NULL, &op, NULL, err);
    if (rc == 0)
        rc = ash_tree_remove(tree, "old", NULL, &op, err);
    if (rc == 0)
        rc = ash_tree_move(tree, "moved", "old", NULL, &op, NULL, err);
    if (rc == 0)
        rc = ash_tree_copy(tree, "d", NULL, "copy", &o, &op, NULL, err);
    if (rc == 0)
        rc = ash_tree_make_folder(tree, "copy/e", NULL, &op, NULL, err);
    if (rc == 0)
        rc = look(p, &op, err);
    if (rc == 0)
        rc = write_own(p, t, err);
    if (rc == 0 && p->fails != 0)
        rc = ash__fail(err, p->fails, "the caller changed its mind");
    return rc;
}

static int transact(plan *p, ash_transact_fn fn)
{
    return ash_store_transact(p->f->store, fn, p, NULL, &p->f->err);
}

static void expect_before(plan *p)
{
    assert_int_equal(support_count(p->own, "{}"), 0);
    support_expect_list(p->f, "/", true, 0, "/d /d/a /moved /old");
    support_expect_seed(p->f, "old", 2);
    assert_int_equal(support_count(p->f->past, "{}"), 0);
}

static void test_tree_compose__all_or_nothing(void **state)
{
    static const size_t lengths[] = {20, 5000, 3000000};
    for (size_t i = 0; i < ASH_ARRAY_LEN(lengths); i++) {
        void *one = NULL;
        (void)state;
        assert_int_equal(support_setup(&one), 0);
        fixture *f = one;
        plan p = make_plan(f, lengths[i]);
        uint8_t *data = support_bytes(lengths[i], 1);
        assert_ok(ash_tree_writer_seal(p.writer, &f->err), &f->err);
        p.fails = ASH_ECONDITION;
        assert_int_equal(transact(&p, do_all), ASH_ECONDITION);
        assert_string_equal(f->err.text, "the caller changed its mind");
        expect_before(&p);
        p.fails = 0;
        assert_ok(transact(&p, do_all), &f->err); /* the writer survived it */
        support_expect_list(f, "/", true, 0, "/copy /copy/a /copy/e /copy/new /d /d/a /d/new /old");
        support_expect_bytes(f, "copy/new", data, lengths[i]);
        support_expect_bytes(f, "d/new", data, lengths[i]);
        support_expect_seed(f, "old", 3);
        assert_int_equal(support_count(p.own, "{}"), 1);
        free_plan(&p);
        ash__free(data);
        assert_int_equal(support_teardown(&one), 0);
    }
}

static int restore_and_mark(ash_transaction *t, void *ctx, ash_error *err)
{
    plan *p = ctx;
    ash_op op = op_in(t);
    ash_tree *tree = p->f->tree;
    ash_tree_entry *e = NULL;
    bson_value_t id;
    int rc = ash_tree_get(tree, "moved", NULL, &op, &e, err);
    if (rc != 0)
        return rc;
    id = *ash_tree_entry_id(e);
    ash_tree_entry_free(e);
    rc = ash_tree_restore(tree, "old", 1, NULL, &op, NULL, err);
    if (rc == 0)
        rc = ash_tree_tag(tree, "old", 1, "first", false, &op, err);
    if (rc == 0)
        rc = ash_tree_remove(tree, "moved", NULL, &op, err);
    if (rc == 0)
        rc = ash_tree_undelete(tree, &id, "back", NULL, &op, NULL, err);
    return rc == 0 ? write_own(p, t, err) : rc;
}

static void test_tree_compose__what_was_comes_back_in_one(void **state)
{
    fixture *f = *state;
    plan p = make_plan(f, 100);
    support_put_text(f, "old", "newer");
    assert_ok(transact(&p, restore_and_mark), &f->err);
    support_expect_seed(f, "old", 2);
    support_expect_history(f, "old", "3 2 1");
    support_expect_history(f, "back", "3 d2 1");
    support_expect_seed(f, "back", 3);
    assert_int_equal(support_count(p.own, "{}"), 1);
    free_plan(&p);
}

/* ---- what cannot be part of it ---- */

static int step_outside(ash_transaction *t, void *ctx, ash_error *err)
{
    plan *p = ctx;
    ash_op op = op_in(t);
    ash_tree *tree = p->f->tree;
    ash_error own = ASH_ERROR_INIT;
    ash_tree_watch *w = NULL;
    ash_tree_entry *e = NULL;
    p->rc[0] = ash_tree_writer_finish(p->writer, &op, NULL, &own); /* not sealed */
    p->rc[1] = ash_tree_prune(tree, "/", NULL, &op, NULL, &own);
    p->rc[2] = ash_tree_collect(tree, NULL, &op, NULL, &own);
    p->rc[3] = ash_tree_check(tree, NULL, &op, NULL, &own);
    p->rc[4] = ash_tree_watch_open(tree, "/", &op, &w, &own);
    /* Without the transaction, on its thread. */
    p->rc[5] = ash_tree_get(tree, "old", NULL, NULL, &e, &own);
    p->rc[6] = ash_tree_remove(tree, "old", NULL, NULL, &own);
    p->rc[7] = ash_tree_writer_finish(p->writer, NULL, NULL, &own);
    return write_own(p, t, err);
}

static void test_tree_compose__what_cannot_be_part_of_it(void **state)
{
    fixture *f = *state;
    plan p = make_plan(f, 100);
    assert_ok(transact(&p, step_outside), &f->err);
    for (int i = 0; i < 8; i++)
        assert_int_equal(p.rc[i], ASH_ESTATE);
    support_expect_list(f, "/", true, 0, "/d /d/a /moved /old");
    assert_int_equal(support_count(p.own, "{}"), 1);
    assert_ok(ash_tree_writer_finish(p.writer, NULL, NULL, &f->err), &f->err);
    assert_int_equal(ash_tree_writer_finish(p.writer, NULL, NULL, &f->err), ASH_ESTATE);
    free_plan(&p);
}

static int change_unprepared(ash_transaction *t, void *ctx, ash_error *err)
{
    plan *p = ctx;
    ash_op op = op_in(t);
    ash_error own = ASH_ERROR_INIT;
    (void)err;
    p->rc[0] = ash_tree_make_folder(p->f->tree, "d", NULL, &op, NULL, &own);
    return 0;
}

static int change_prepared(ash_transaction *t, void *ctx, ash_error *err)
{
    plan *p = ctx;
    ash_op op = op_in(t);
    return ash_tree_make_folder(p->f->tree, "d", NULL, &op, NULL, err);
}

static void test_tree_compose__a_tree_is_prepared_before(void **state)
{
    fixture *f = *state;
    plan p = {.f = f};
    assert_ok(transact(&p, change_unprepared), &f->err);
    assert_int_equal(p.rc[0], ASH_ESTATE);
    assert_ok(ash_tree_prepare(f->tree, NULL, &f->err), &f->err);
    assert_ok(transact(&p, change_prepared), &f->err);
    support_expect_list(f, "/", true, 0, "/d");
}

/* ---- failures that the caller does not take notice of ---- */

static int go_on_after_failure(ash_transaction *t, void *ctx, ash_error *err)
{
    plan *p = ctx;
    ash_op op = op_in(t);
    ash_error own = ASH_ERROR_INIT;
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    o.make_folders = true;
    o.if_version = 9;
    p->rc[0] = ash_tree_copy(p->f->tree, "old", NULL, "x/y/z", &o, &op, NULL, &own);
    (void)write_own(p, t, err);
    return 0;
}

static void test_tree_compose__half_a_change_is_not_committed(void **state)
{
    fixture *f = *state;
    plan p = make_plan(f, 100);
    assert_ok(ash_tree_writer_seal(p.writer, &f->err), &f->err);
    int rc = transact(&p, go_on_after_failure);
    assert_int_equal(p.rc[0], ASH_ECONFLICT);
    assert_int_not_equal(rc, 0);
    expect_before(&p);
    free_plan(&p);
}

static int put_onto_changed(ash_transaction *t, void *ctx, ash_error *err)
{
    plan *p = ctx;
    ash_op op = op_in(t);
    return ash_tree_writer_finish(p->writer, &op, NULL, err);
}

static void test_tree_compose__conditions(void **state)
{
    fixture *f = *state;
    plan p = make_plan(f, 100);
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    o.if_version = 1;
    ash_tree_writer_free(p.writer);
    assert_ok(ash_tree_open_writer(f->tree, "old", &o, NULL, &p.writer, &f->err), &f->err);
    assert_ok(ash_tree_writer_write(p.writer, "x", 1, &f->err), &f->err);
    assert_ok(ash_tree_writer_seal(p.writer, &f->err), &f->err);
    support_put_seed(f, "old", 7);
    assert_int_equal(transact(&p, put_onto_changed), ASH_ECONFLICT);
    support_expect_history(f, "old", "2 1");
    support_expect_seed(f, "old", 7);
    free_plan(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define here(test) cmocka_unit_test_setup_teardown(test, support_setup, support_teardown)
        cmocka_unit_test(test_tree_compose__all_or_nothing),
        here(test_tree_compose__what_was_comes_back_in_one),
        here(test_tree_compose__what_cannot_be_part_of_it),
        here(test_tree_compose__a_tree_is_prepared_before),
        here(test_tree_compose__half_a_change_is_not_committed),
        here(test_tree_compose__conditions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
