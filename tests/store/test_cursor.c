/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "store/ops.h"

#include <string.h>

/* A cursor over {n: 0}, {n: 1}, … whose views die with the next slot call, as a driver's do. */
struct counting {
    ash_cursor base;
    int32_t at;
    int32_t end;
    int calls;
    int rests;
    bson_t *made[8];
    ash_doc views[8];
    int held;
};

static void drop_views(struct counting *c)
{
    for (int i = 0; i < c->held; i++) {
        memset(&c->views[i], 0xee, sizeof c->views[i]);
        bson_destroy(c->made[i]);
    }
    c->held = 0;
}

static int counting_next(ash_cursor *cursor, size_t max_docs, size_t max_bytes, ash_batch *out,
                         ash_error *err)
{
    struct counting *c = (struct counting *)cursor;
    (void)max_bytes;
    (void)err;
    drop_views(c);
    c->calls++;
    while (c->at < c->end && (size_t)c->held < max_docs && c->held < 4) {
        c->made[c->held] = BCON_NEW("n", BCON_INT32(c->at));
        c->views[c->held] = (ash_doc){bson_get_data(c->made[c->held]), c->made[c->held]->len};
        c->held++;
        c->at++;
    }
    *out = (ash_batch){.docs = c->views, .count = (size_t)c->held, .exhausted = c->at == c->end};
    return 0;
}

static void counting_set_op(ash_cursor *cursor, int64_t deadline_ms, const volatile int *cancel,
                            int64_t await_ms)
{
    (void)cursor;
    (void)deadline_ms;
    (void)cancel;
    (void)await_ms;
}

static void counting_rest(ash_cursor *cursor)
{
    struct counting *c = (struct counting *)cursor;
    drop_views(c);
    c->rests++;
}

static void counting_free(ash_cursor *cursor)
{
    drop_views((struct counting *)cursor);
}

static const ash_cursor_ops counting_ops = {counting_next, counting_set_op, counting_rest,
                                            counting_free};

static int32_t n_of(ash_doc doc)
{
    bson_t view;
    bson_iter_t it;
    assert_true(bson_init_static(&view, doc.data, doc.len));
    assert_true(bson_iter_init_find(&it, &view, "n"));
    return bson_iter_int32(&it);
}

static void test_store_cursor__next_walks_batches_to_the_end(void **state)
{
    struct counting c = {.base = {.ops = &counting_ops}, .end = 10};
    ash_error err = ASH_ERROR_INIT;
    ash_doc doc;
    (void)state;
    for (int32_t i = 0; i < 10; i++) {
        assert_ok(ash_cursor_next(&c.base, &doc, &err), &err);
        assert_int_equal(n_of(doc), i);
    }
    for (int i = 0; i < 2; i++) {
        assert_ok(ash_cursor_next(&c.base, &doc, &err), &err);
        assert_null(doc.data);
    }
    assert_int_equal(c.calls, 3);
    ash_cursor_free(&c.base);
}

static void test_store_cursor__unread_documents_survive_a_rest(void **state)
{
    struct counting c = {.base = {.ops = &counting_ops}, .end = 6};
    ash_error err = ASH_ERROR_INIT;
    ash_batch batch;
    ash_doc doc;
    (void)state;
    assert_ok(ash_cursor_next(&c.base, &doc, &err), &err);
    ash_cursor_rest(&c.base);
    ash_cursor_rest(&c.base);
    assert_int_equal(c.rests, 2);
    assert_ok(ash_cursor_next(&c.base, &doc, &err), &err);
    assert_int_equal(n_of(doc), 1);
    assert_ok(ash_cursor_next_batch(&c.base, 1, 0, &batch, &err), &err);
    assert_int_equal(batch.count, 1);
    assert_int_equal(n_of(batch.docs[0]), 2);
    assert_false(batch.exhausted);
    assert_ok(ash_cursor_next_batch(&c.base, 0, 0, &batch, &err), &err);
    assert_int_equal(n_of(batch.docs[0]), 3);
    assert_ok(ash_cursor_next_batch(&c.base, 0, 0, &batch, &err), &err);
    assert_int_equal(batch.count, 2);
    assert_int_equal(n_of(batch.docs[1]), 5);
    assert_true(batch.exhausted);
    ash_cursor_free(&c.base);
}

static void test_store_cursor__bytes_bound_a_batch_but_one_document_always_fits(void **state)
{
    bson_t *docs = BCON_NEW("0", "{", "n", BCON_INT32(0), "}", "1", "{", "n", BCON_INT32(1), "}",
                            "2", "{", "n", BCON_INT32(2), "}");
    ash_cursor *cursor = ash__cursor_from_array(NULL, docs);
    ash_error err = ASH_ERROR_INIT;
    ash_batch batch;
    (void)state;
    assert_ok(ash_cursor_next_batch(cursor, 0, 1, &batch, &err), &err);
    assert_int_equal(batch.count, 1);
    assert_int_equal(n_of(batch.docs[0]), 0);
    assert_ok(ash_cursor_next_batch(cursor, 0, 24, &batch, &err), &err);
    assert_int_equal(batch.count, 2);
    assert_int_equal(n_of(batch.docs[1]), 2);
    assert_true(batch.exhausted);
    assert_ok(ash_cursor_next_batch(cursor, 0, 0, &batch, &err), &err);
    assert_int_equal(batch.count, 0);
    assert_true(batch.exhausted);
    ash_cursor_free(cursor);
}

static void test_store_cursor__an_empty_array_ends_at_once(void **state)
{
    ash_cursor *cursor = ash__cursor_from_array(NULL, bson_new());
    ash_error err = ASH_ERROR_INIT;
    ash_doc doc = {(const uint8_t *)"", 1};
    (void)state;
    assert_ok(ash_cursor_next(cursor, &doc, &err), &err);
    assert_null(doc.data);
    ash_cursor_free(cursor);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_store_cursor__next_walks_batches_to_the_end),
        cmocka_unit_test(test_store_cursor__unread_documents_survive_a_rest),
        cmocka_unit_test(test_store_cursor__bytes_bound_a_batch_but_one_document_always_fits),
        cmocka_unit_test(test_store_cursor__an_empty_array_ends_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
