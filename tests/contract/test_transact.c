/* SPDX-License-Identifier: Apache-2.0 */
#include "contract.h"

#include <stdio.h>
#include <string.h>

typedef struct plan {
    contract *t;
    ash_collection *other;
    bool fail;
    int64_t seen;
    const char *listed;
    int second_rc;
} plan;

static int insert_in(ash_transaction *tx, ash_collection *c, int id, ash_error *err)
{
    ash_insert_options opts = ASH_INSERT_OPTIONS_INIT;
    bson_t b = BSON_INITIALIZER;
    bson_append_int32(&b, "_id", -1, id);
    opts.op.transaction = tx;
    int rc = ash_collection_insert_one(c, &b, &opts, err);
    bson_destroy(&b);
    return rc;
}

static int write_both(ash_transaction *tx, void *ctx, ash_error *err)
{
    plan *p = ctx;
    ash_count_options count = ASH_COUNT_OPTIONS_INIT;
    bson_t all = BSON_INITIALIZER;
    count.op.transaction = tx;
    int rc = insert_in(tx, p->t->c, 1, err);
    if (rc == 0)
        rc = insert_in(tx, p->other, 2, err);
    /* What it wrote it sees. */
    if (rc == 0)
        rc = ash_collection_count(p->t->c, &all, &count, &p->seen, err);
    bson_destroy(&all);
    if (rc == 0 && p->fail) {
        if (err != NULL) {
            err->code = ASH_ECONDITION;
            strcpy(err->text, "the caller changed its mind");
        }
        rc = ASH_ECONDITION;
    }
    return rc;
}

/* A backend without transactions says so, and has done nothing. */
static bool refuses(contract *t, ash_transact_fn fn, plan *p)
{
    if (t->can.transactions)
        return false;
    assert_int_equal(ash_store_transact(t->store, fn, p, NULL, &t->err), ASH_EUNSUPPORTED);
    assert_true(count_json(t, t->c, "{}") == 0);
    return true;
}

static void test_contract_transact__all_or_nothing(void **state)
{
    contract *t = *state;
    plan p = {.t = t, .other = open_collection(t, "other"), .fail = true};
    if (refuses(t, write_both, &p)) {
        ash_collection_free(p.other);
        return;
    }
    assert_ok(insert_json(t, t->c, "{\"_id\":0}"), &t->err);
    assert_ok(insert_json(t, p.other, "{\"_id\":0}"), &t->err);
    assert_int_equal(ash_store_transact(t->store, write_both, &p, NULL, &t->err), ASH_ECONDITION);
    assert_string_equal(t->err.text, "the caller changed its mind");
    assert_true(count_json(t, t->c, "{}") == 1 && count_json(t, p.other, "{}") == 1);
    p.fail = false;
    assert_ok(ash_store_transact(t->store, write_both, &p, NULL, &t->err), &t->err);
    assert_true(p.seen == 2);
    assert_true(count_json(t, t->c, "{}") == 2 && count_json(t, p.other, "{}") == 2);
    ash_collection_free(p.other);
}

static int fail_inside(ash_transaction *tx, void *ctx, ash_error *err)
{
    plan *p = ctx;
    ash_insert_options opts = ASH_INSERT_OPTIONS_INIT;
    ash_doc docs[3];
    ash_error own = ASH_ERROR_INIT;
    const char *texts[3] = {"{\"_id\":10}", "{\"_id\":0}", "{\"_id\":11}"};
    for (int i = 0; i < 3; i++) {
        bson_t *b = json(texts[i]);
        docs[i] = (ash_doc){bson_get_data(b), b->len};
    }
    opts.op.transaction = tx;
    p->second_rc = ash_collection_insert(p->t->c, docs, 3, &opts, NULL, &own);
    return insert_in(tx, p->t->c, 20, err);
}

/* An operation that fails inside leaves nothing behind, the rest is still committed. */
static void test_contract_transact__failed_operation_is_undone_alone(void **state)
{
    contract *t = *state;
    plan p = {.t = t};
    /* On MongoDB it ends the transaction. */
    if (refuses(t, fail_inside, &p) || strcmp(t->can.backend, "mongodb") == 0)
        return;
    assert_ok(insert_json(t, t->c, "{\"_id\":0}"), &t->err);
    assert_ok(ash_store_transact(t->store, fail_inside, &p, NULL, &t->err), &t->err);
    assert_int_equal(p.second_rc, ASH_EEXISTS);
    assert_string_equal(found(t, t->c, "{}", "{\"_id\":1}", NULL, 0, 0),
                        "[{\"_id\":0},{\"_id\":20}]");
}

static int use_everything(ash_transaction *tx, void *ctx, ash_error *err)
{
    plan *p = ctx;
    ash_update_options update = ASH_UPDATE_OPTIONS_INIT;
    ash_remove_options remove = ASH_REMOVE_OPTIONS_INIT;
    ash_find_options find = ASH_FIND_OPTIONS_INIT;
    ash_cursor *cursor = NULL;
    ash_write_result r;
    update.op.transaction = remove.op.transaction = find.op.transaction = tx;
    update.multi = true;
    find.sort = json("{\"_id\":1}");
    ash_write_result_init(&r);
    int rc =
        update_json(p->t, p->t->c, "{\"_id\":{\"$gte\":2}}", "{\"$set\":{\"x\":1}}", &update, &r);
    ash_write_result_release(&r);
    if (rc == 0)
        rc = ash_collection_remove(p->t->c, json("{\"_id\":3}"), &remove, NULL, err);
    if (rc == 0)
        rc = ash_collection_find(p->t->c, json("{}"), &find, &cursor, err);
    if (rc == 0)
        p->listed = drain(p->t, cursor);
    return rc;
}

static void test_contract_transact__updates_removes_and_finds(void **state)
{
    contract *t = *state;
    plan p = {.t = t};
    if (refuses(t, use_everything, &p))
        return;
    for (int i = 1; i <= 4; i++) {
        char text[20];
        snprintf(text, sizeof text, "{\"_id\":%d}", i);
        assert_ok(insert_json(t, t->c, text), &t->err);
    }
    assert_ok(ash_store_transact(t->store, use_everything, &p, NULL, &t->err), &t->err);
    assert_string_equal(p.listed, "[{\"_id\":1},{\"_id\":2,\"x\":1},{\"_id\":4,\"x\":1}]");
    assert_string_equal(found(t, t->c, "{}", "{\"_id\":1}", NULL, 0, 0), p.listed);
}

typedef struct outside {
    plan plan;
    ash_cursor *opened_before;
    int insert_rc, count_rc, next_rc, transact_rc, list_rc;
} outside;

static int fill_nothing(ash_transaction *tx, void *ctx, ash_error *err)
{
    (void)tx, (void)ctx, (void)err;
    return 0;
}

/* What is done without the transaction could wait for its own thread, or be done whatever becomes
 * of the transaction. */
static int step_outside(ash_transaction *tx, void *ctx, ash_error *err)
{
    outside *o = ctx;
    contract *t = o->plan.t;
    ash_error own = ASH_ERROR_INIT;
    ash_doc doc;
    ash_cursor *cursor = NULL;
    int64_t count = 0;
    o->insert_rc = insert_in(NULL, t->c, 7, &own);
    o->count_rc = ash_collection_count(t->c, NULL, NULL, &count, &own);
    o->next_rc = ash_cursor_next(o->opened_before, &doc, &own);
    o->transact_rc = ash_store_transact(t->store, fill_nothing, NULL, NULL, &own);
    o->list_rc = ash_collection_list_indexes(t->c, NULL, &cursor, &own);
    return insert_in(tx, t->c, 1, err);
}

static void test_contract_transact__nothing_is_done_beside_it(void **state)
{
    contract *t = *state;
    outside o = {.plan = {.t = t}};
    if (refuses(t, step_outside, &o.plan))
        return;
    assert_ok(insert_json(t, t->c, "{\"_id\":0}"), &t->err);
    assert_ok(ash_collection_find(t->c, NULL, NULL, &o.opened_before, &t->err), &t->err);
    assert_ok(ash_store_transact(t->store, step_outside, &o, NULL, &t->err), &t->err);
    assert_int_equal(o.insert_rc, ASH_ESTATE);
    assert_int_equal(o.count_rc, ASH_ESTATE);
    assert_int_equal(o.next_rc, ASH_ESTATE);
    assert_int_equal(o.transact_rc, ASH_ESTATE);
    assert_int_equal(o.list_rc, ASH_ESTATE);
    ash_cursor_free(o.opened_before);
    assert_true(count_json(t, t->c, "{}") == 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONTRACT(test_contract_transact__all_or_nothing),
        CONTRACT(test_contract_transact__failed_operation_is_undone_alone),
        CONTRACT(test_contract_transact__updates_removes_and_finds),
        CONTRACT(test_contract_transact__nothing_is_done_beside_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
