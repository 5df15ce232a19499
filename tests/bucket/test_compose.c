/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "base/error.h"

#include <string.h>

/* Changes of files and of the caller's own documents as one commit. */

enum { LARGE = 20000 };

typedef struct plan {
    fixture *f;
    ash_collection *own;
    ash_upload *upload;
    bson_value_t old, renamed;
    int fails; /* fn's own failure, at its end */
    int runs;
    int rc[8];
} plan;

static ash_collection *open_own(fixture *f)
{
    ash_collection *c = NULL;
    assert_ok(ash_collection_new(f->store, NULL, "own", &c, &f->err), &f->err);
    return c;
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

static int change_own_document(plan *p, ash_transaction *t, ash_error *err)
{
    ash_change_options o = ASH_CHANGE_OPTIONS_INIT;
    bson_t *set = BCON_NEW("$set", "{", "metadata", "{", "seen", BCON_BOOL(true), "}", "}");
    o.transaction = t;
    int rc = ash_bucket_update(p->f->bucket, &p->renamed, set, &o, NULL, err);
    bson_destroy(set);
    return rc;
}

static int do_all(ash_transaction *t, void *ctx, ash_error *err)
{
    plan *p = ctx;
    ash_bucket *b = p->f->bucket;
    ash_finish_options end = ASH_FINISH_OPTIONS_INIT;
    ash_change_options o = ASH_CHANGE_OPTIONS_INIT;
    end.transaction = o.transaction = t;
    p->runs++;
    int rc = ash_upload_finish_with(p->upload, &end, NULL, NULL, err);
    if (rc == 0)
        rc = ash_bucket_delete(b, &p->old, &o, err);
    if (rc == 0)
        rc = ash_bucket_rename(b, &p->renamed, "renamed", &o, err);
    if (rc == 0)
        rc = change_own_document(p, t, err);
    if (rc == 0)
        rc = write_own(p, t, err);
    if (rc == 0 && p->fails != 0)
        rc = ash__fail(err, p->fails, "the caller changed its mind");
    return rc;
}

static plan make_plan(fixture *f, const void *data, size_t len)
{
    plan p = {.f = f, .own = open_own(f)};
    support_put(f, "old", "old content, in two", 19, &p.old);
    support_put(f, "other", "other", 5, &p.renamed);
    assert_ok(ash_bucket_open_upload_stream(f->bucket, "new", NULL, &p.upload, &f->err), &f->err);
    assert_ok(ash_upload_write(p.upload, data, len, &f->err), &f->err);
    return p;
}

static void free_plan(plan *p)
{
    ash_upload_free(p->upload);
    bson_value_destroy(&p->old);
    bson_value_destroy(&p->renamed);
    ash_collection_free(p->own);
}

static int transact(plan *p, ash_transact_fn fn)
{
    return ash_store_transact(p->f->store, fn, p, NULL, &p->f->err);
}

static void expect_before(plan *p)
{
    fixture *f = p->f;
    assert_int_equal(support_count(p->own, "{}"), 0);
    assert_int_equal(support_count(f->files, "{}"), 2);
    assert_int_equal(support_count(f->files, "{\"filename\":\"new\"}"), 0);
    assert_int_equal(support_count(f->files, "{\"metadata\":{\"$exists\":true}}"), 0);
    support_expect_name(f, "old", -1, "old content, in two", 19);
    support_expect_name(f, "other", -1, "other", 5);
}

static void expect_after(plan *p, const void *data, size_t len)
{
    fixture *f = p->f;
    assert_int_equal(support_count(p->own, "{}"), 1);
    assert_int_equal(support_count(f->files, "{}"), 2);
    assert_int_equal(support_count(f->attributes, "{}"), 2);
    assert_int_equal(support_count(f->chunks, "{}"), (int64_t)(len + CHUNK - 1) / CHUNK + 1);
    support_expect_name(f, "new", -1, data, len);
    support_expect_name(f, "renamed", -1, "other", 5);
    assert_int_equal(support_count(f->files, "{\"filename\":\"renamed\",\"metadata.seen\":true}"),
                     1);
}

static void test_bucket_compose__all_or_nothing(void **state)
{
    fixture *f = *state;
    if (support_lacks_transactions(f))
        return;
    for (size_t len = 30; len <= LARGE; len += LARGE - 30) {
        uint8_t *data = support_bytes(len, 1);
        plan p = make_plan(f, data, len);
        assert_ok(ash_upload_seal(p.upload, &f->err), &f->err);
        p.fails = ASH_ECONDITION;
        assert_int_equal(transact(&p, do_all), ASH_ECONDITION);
        assert_string_equal(f->err.text, "the caller changed its mind");
        expect_before(&p);
        p.fails = 0;
        assert_ok(transact(&p, do_all), &f->err);
        expect_after(&p, data, len);
        assert_int_equal(ash_upload_finish(p.upload, NULL, &f->err), ASH_ESTATE);
        support_remove(p.own, "{}");
        free_plan(&p);
        ash__free(data);
        assert_ok(ash_bucket_drop(f->bucket, NULL, &f->err), &f->err);
    }
}

/* After a transaction that came to nothing the upload is as before: it can be finished by itself,
 * or forgotten. */
static void test_bucket_compose__an_upload_survives_its_transaction(void **state)
{
    fixture *f = *state;
    if (support_lacks_transactions(f))
        return;
    uint8_t *data = support_bytes(LARGE, 2);
    for (int forgotten = 0; forgotten < 2; forgotten++) {
        plan p = make_plan(f, data, LARGE);
        assert_ok(ash_upload_seal(p.upload, &f->err), &f->err);
        p.fails = ASH_ECONDITION;
        assert_int_equal(transact(&p, do_all), ASH_ECONDITION);
        if (!forgotten) {
            assert_ok(ash_upload_finish(p.upload, NULL, &f->err), &f->err);
            support_expect_name(f, "new", -1, data, LARGE);
        }
        free_plan(&p);
        if (forgotten)
            assert_int_equal(support_count(f->chunks, "{}"), 3);
        assert_ok(ash_bucket_drop(f->bucket, NULL, &f->err), &f->err);
    }
    ash__free(data);
}

static int free_inside(ash_transaction *t, void *ctx, ash_error *err)
{
    plan *p = ctx;
    int rc = do_all(t, p, err);
    p->rc[0] = ash_upload_abort(p->upload, NULL);
    ash_upload_free(p->upload);
    p->upload = NULL;
    return rc;
}

static void test_bucket_compose__an_upload_freed_inside(void **state)
{
    fixture *f = *state;
    if (support_lacks_transactions(f))
        return;
    uint8_t *data = support_bytes(LARGE, 3);
    plan p = make_plan(f, data, LARGE);
    assert_ok(ash_upload_seal(p.upload, &f->err), &f->err);
    assert_ok(transact(&p, free_inside), &f->err);
    assert_int_equal(p.rc[0], ASH_ESTATE);
    expect_after(&p, data, LARGE);
    free_plan(&p);
    ash__free(data);
}

/* What cannot be part of it says so, and does nothing beside it. */
static int step_outside(ash_transaction *t, void *ctx, ash_error *err)
{
    plan *p = ctx;
    ash_bucket *b = p->f->bucket;
    ash_error own = ASH_ERROR_INIT;
    ash_finish_options end = ASH_FINISH_OPTIONS_INIT;
    ash_change_options o = ASH_CHANGE_OPTIONS_INIT;
    ash_alter *alter = NULL;
    ash_download *download = NULL;
    char hex[65];
    end.transaction = o.transaction = t;
    p->rc[0] = ash_upload_finish_with(p->upload, &end, NULL, NULL, &own); /* not sealed */
    p->rc[1] = ash_upload_seal(p->upload, &own);
    p->rc[2] = ash_bucket_delete(b, &p->old, NULL, &own);
    p->rc[3] = ash_bucket_rename(b, &p->renamed, "renamed", NULL, &own);
    p->rc[4] = ash_bucket_open_alter(b, &p->old, &o, &alter, &own);
    p->rc[5] = ash_bucket_open_download_stream(b, &p->old, NULL, &download, &own);
    p->rc[6] = ash_bucket_sum(b, &p->old, true, hex, &own);
    p->rc[7] = ash_bucket_drop(b, &o, &own);
    return write_own(p, t, err);
}

static void test_bucket_compose__what_cannot_be_part_of_it(void **state)
{
    fixture *f = *state;
    if (support_lacks_transactions(f))
        return;
    uint8_t *data = support_bytes(LARGE, 4);
    plan p = make_plan(f, data, LARGE);
    assert_ok(transact(&p, step_outside), &f->err);
    for (size_t i = 0; i < ASH_ARRAY_LEN(p.rc); i++)
        assert_int_equal(p.rc[i], ASH_ESTATE);
    assert_int_equal(support_count(p.own, "{}"), 1);
    assert_int_equal(support_count(f->files, "{\"filename\":{\"$in\":[\"old\",\"other\"]}}"), 2);
    free_plan(&p);
    ash__free(data);
}

static int step_further_outside(ash_transaction *t, void *ctx, ash_error *err)
{
    plan *p = ctx;
    ash_bucket *b = p->f->bucket;
    ash_error own = ASH_ERROR_INIT;
    ash_upload *upload = NULL;
    ash_sweep_report report = ASH_SWEEP_REPORT_INIT;
    ash_sum_missing_report summed = ASH_SUM_MISSING_REPORT_INIT;
    ash_file *file = NULL;
    int64_t deleted = 0;
    bool more = false;
    bson_t *set = BCON_NEW("$set", "{", "metadata", BCON_INT32(1), "}");
    p->rc[0] = ash_bucket_update(b, &p->old, set, NULL, NULL, &own);
    p->rc[1] = ash_bucket_set_expiry(b, &p->old, 1, &own);
    p->rc[2] = ash_bucket_expire(b, 1, &deleted, &more, &own);
    p->rc[3] = ash_bucket_sweep(b, NULL, &report, &own);
    p->rc[4] = ash_bucket_sum_missing(b, NULL, &summed, &own);
    p->rc[5] = ash_bucket_get_file(b, &p->old, false, &file, &own);
    p->rc[6] = ash_bucket_resume_upload(b, "00000000000000000000000000000000", &upload, &own);
    p->rc[7] = ash_upload_finish(p->upload, NULL, &own);
    bson_destroy(set);
    return write_own(p, t, err);
}

static void test_bucket_compose__what_else_cannot_be_part_of_it(void **state)
{
    fixture *f = *state;
    if (support_lacks_transactions(f))
        return;
    plan p = make_plan(f, "new", 3);
    assert_ok(transact(&p, step_further_outside), &f->err);
    for (size_t i = 0; i < ASH_ARRAY_LEN(p.rc); i++)
        if (p.rc[i] != ASH_ESTATE)
            fail_msg("call %d: %d", (int)i, p.rc[i]);
    assert_int_equal(support_count(p.own, "{}"), 1);
    assert_int_equal(support_count(f->files, "{\"filename\":{\"$in\":[\"old\",\"other\"]}}"), 2);
    free_plan(&p);
}

/* ---- conditions and fences ---- */

static int change_under(plan *p, ash_transaction *t, const ash_fence *fence, const char *only_if,
                        ash_error *err)
{
    ash_change_options o = ASH_CHANGE_OPTIONS_INIT;
    bson_t *filter = bson_new_from_json((const uint8_t *)only_if, -1, NULL);
    o.transaction = t;
    o.fence = fence;
    o.only_if = filter;
    int rc = ash_bucket_rename(p->f->bucket, &p->renamed, "renamed", &o, err);
    bson_destroy(filter);
    return rc;
}

static int try_conditions(ash_transaction *t, void *ctx, ash_error *err)
{
    plan *p = ctx;
    ash_error own = ASH_ERROR_INIT;
    bson_value_t lock = support_int_id(1);
    ash_fence stale = {sizeof(ash_fence), "fs.locks", &lock, 2, 10},
              held = {sizeof(ash_fence), "fs.locks", &lock, 3, 10};
    p->rc[0] = change_under(p, t, &stale, "{}", &own);
    p->rc[1] = change_under(p, t, &held, "{\"filename\":\"another\"}", &own);
    p->rc[2] = change_under(p, t, &held, "{\"filename\":\"other\"}", err);
    return p->rc[2] == 0 ? write_own(p, t, err) : p->rc[2];
}

static void test_bucket_compose__conditions_and_fences(void **state)
{
    fixture *f = *state;
    if (support_lacks_transactions(f))
        return;
    ash_collection *locks = NULL;
    plan p = make_plan(f, "new", 3);
    assert_ok(ash_collection_new(f->store, NULL, "fs.locks", &locks, &f->err), &f->err);
    support_insert(locks, "{\"_id\":1,\"write_lock\":true,\"writes\":{\"$numberLong\":\"3\"}}");
    assert_ok(transact(&p, try_conditions), &f->err);
    assert_int_equal(p.rc[0], ASH_ELOST);
    assert_int_equal(p.rc[1], ASH_ECONDITION);
    support_expect_name(f, "renamed", -1, "other", 5);
    assert_int_equal(support_count(p.own, "{}"), 1);
    ash_collection_free(locks);
    free_plan(&p);
}

/* Every change has its condition and its fence; what is refused has done nothing, and what is not
 * goes on in the same transaction. */
typedef struct guarded {
    plan plan;
    ash_upload *late, *taken; /* under a stale fence; to a name that is taken */
    ash_fence held, stale;
    bson_value_t lock;
    int refused[6];
} guarded;

static ash_upload *open_sealed(fixture *f, const char *name, const ash_upload_options *o)
{
    ash_upload *u = NULL;
    assert_ok(ash_bucket_open_upload_stream(f->bucket, name, o, &u, &f->err), &f->err);
    assert_ok(ash_upload_write(u, "new", 3, &f->err), &f->err);
    assert_ok(ash_upload_seal(u, &f->err), &f->err);
    return u;
}

static void try_refused(guarded *g, ash_transaction *t)
{
    plan *p = &g->plan;
    ash_bucket *b = p->f->bucket;
    ash_error own = ASH_ERROR_INIT;
    ash_finish_options end = ASH_FINISH_OPTIONS_INIT;
    ash_change_options o = ASH_CHANGE_OPTIONS_INIT;
    bson_t *no = BCON_NEW("filename", "nobody's");
    bson_t *set = BCON_NEW("$set", "{", "metadata", BCON_INT32(1), "}");
    end.transaction = o.transaction = t;
    g->refused[0] = ash_upload_finish_with(g->late, &end, NULL, NULL, &own);
    g->refused[1] = ash_upload_finish_with(g->taken, &end, NULL, NULL, &own);
    o.fence = &g->stale;
    g->refused[2] = ash_bucket_delete(b, &p->old, &o, &own);
    o.fence = NULL;
    o.only_if = no;
    g->refused[3] = ash_bucket_delete(b, &p->old, &o, &own);
    g->refused[4] = ash_bucket_update(b, &p->renamed, set, &o, NULL, &own);
    o.only_if = NULL;
    o.if_name_absent = true;
    g->refused[5] = ash_bucket_rename(b, &p->renamed, "old", &o, &own);
    bson_destroy(set);
    bson_destroy(no);
}

static int do_guarded(ash_transaction *t, void *ctx, ash_error *err)
{
    guarded *g = ctx;
    plan *p = &g->plan;
    ash_bucket *b = p->f->bucket;
    ash_finish_options end = ASH_FINISH_OPTIONS_INIT;
    ash_change_options o = ASH_CHANGE_OPTIONS_INIT;
    bson_t *old = BCON_NEW("filename", "old");
    end.transaction = o.transaction = t;
    o.fence = &g->held;
    try_refused(g, t);
    int rc = ash_upload_finish_with(p->upload, &end, NULL, NULL, err);
    o.only_if = old;
    if (rc == 0)
        rc = ash_bucket_delete(b, &p->old, &o, err);
    o.only_if = NULL;
    o.if_name_absent = true;
    if (rc == 0)
        rc = ash_bucket_rename(b, &p->renamed, "renamed", &o, err);
    if (rc == 0)
        rc = change_own_document(p, t, err);
    bson_destroy(old);
    return rc == 0 ? write_own(p, t, err) : rc;
}

static void test_bucket_compose__each_change_under_its_condition(void **state)
{
    static const int expected[] = {ASH_ELOST,      ASH_ECONDITION, ASH_ELOST,
                                   ASH_ECONDITION, ASH_ECONDITION, ASH_ECONDITION};
    fixture *f = *state;
    if (support_lacks_transactions(f))
        return;
    ash_collection *locks = NULL;
    ash_upload_options o = ASH_UPLOAD_OPTIONS_INIT;
    guarded g = {.plan = make_plan(f, "new", 3), .lock = support_int_id(1)};
    assert_ok(ash_collection_new(f->store, NULL, "fs.locks", &locks, &f->err), &f->err);
    support_insert(locks, "{\"_id\":1,\"write_lock\":true,\"writes\":{\"$numberLong\":\"3\"}}");
    g.held = (ash_fence){sizeof(ash_fence), "fs.locks", &g.lock, 3, 10};
    g.stale = (ash_fence){sizeof(ash_fence), "fs.locks", &g.lock, 2, 10};
    ash_upload_free(g.plan.upload);
    o.fence = &g.stale;
    g.late = open_sealed(f, "late", &o);
    o.fence = &g.held;
    o.condition = ASH_PUT_IF_ABSENT;
    g.taken = open_sealed(f, "other", &o);
    g.plan.upload = open_sealed(f, "new", &o);
    assert_ok(ash_store_transact(f->store, do_guarded, &g, NULL, &f->err), &f->err);
    for (size_t i = 0; i < ASH_ARRAY_LEN(expected); i++)
        assert_int_equal(g.refused[i], expected[i]);
    ash_upload_free(g.late);
    ash_upload_free(g.taken);
    expect_after(&g.plan, "new", 3);
    ash_collection_free(locks);
    free_plan(&g.plan);
}

/* ---- an id that comes at the end ---- */

typedef struct named {
    plan plan;
    char digest[ASH_DIGEST_TEXT_BYTES];
    bool existed;
} named;

static int finish_named(ash_transaction *t, void *ctx, ash_error *err)
{
    named *n = ctx;
    ash_finish_options end = ASH_FINISH_OPTIONS_INIT;
    bson_value_t id = support_text_id(n->digest);
    end.transaction = t;
    end.id = &id;
    end.keep_existing = true;
    int rc = ash_upload_finish_with(n->plan.upload, &end, NULL, &n->existed, err);
    bson_value_destroy(&id);
    return rc == 0 ? write_own(&n->plan, t, err) : rc;
}

/* The digest is known before the transaction, and names the file in it: the second time it is
 * there, which the caller's own document tells in the same commit. */
static void test_bucket_compose__named_by_its_digest(void **state)
{
    fixture *f = *state;
    if (support_lacks_transactions(f))
        return;
    ash_upload_options o = ASH_UPLOAD_OPTIONS_INIT;
    o.id_at_end = true;
    named n = {.plan = {.f = f, .own = open_own(f)}};
    for (int i = 0; i < 2; i++) {
        n.plan.upload = open_sealed(f, "named", &o);
        assert_ok(ash_upload_digest(n.plan.upload, ASH_DIGEST_SHA256, n.digest, &f->err), &f->err);
        assert_ok(ash_store_transact(f->store, finish_named, &n, NULL, &f->err), &f->err);
        assert_int_equal(n.existed, i == 1);
        assert_int_equal(support_count(n.plan.own, "{}"), 1);
        assert_int_equal(support_count(f->files, "{}"), 1);
        assert_int_equal(support_count(f->chunks, "{}"), 1);
        support_remove(n.plan.own, "{}");
        ash_upload_free(n.plan.upload);
    }
    bson_value_t id = support_text_id(n.digest);
    support_expect(f, &id, "new", 3);
    bson_value_destroy(&id);
    ash_collection_free(n.plan.own);
}

/* A failure behind the first change of a file: nothing of it may be committed, even by a caller
 * who takes no notice. */
static int go_on_after_failure(ash_transaction *t, void *ctx, ash_error *err)
{
    plan *p = ctx;
    ash_error own = ASH_ERROR_INIT;
    ash_finish_options end = ASH_FINISH_OPTIONS_INIT;
    bson_value_t id = support_int_id(5);
    end.transaction = t;
    end.id = &id;
    p->rc[0] = ash_upload_finish_with(p->upload, &end, NULL, NULL, &own);
    (void)write_own(p, t, err);
    return 0;
}

static void test_bucket_compose__half_an_operation_is_not_committed(void **state)
{
    fixture *f = *state;
    if (support_lacks_transactions(f))
        return;
    ash_upload_options o = ASH_UPLOAD_OPTIONS_INIT;
    uint8_t *data = support_bytes(LARGE, 5);
    plan p = make_plan(f, "x", 1);
    ash_upload_free(p.upload);
    /* In the way of the upload's own: somebody was cut off. */
    support_insert(f->chunks, "{\"files_id\":5,\"n\":700,\"data\":{\"$binary\":{\"base64\":\"\","
                              "\"subType\":\"00\"}}}");
    o.id_at_end = true;
    assert_ok(ash_bucket_open_upload_stream(f->bucket, "new", &o, &p.upload, &f->err), &f->err);
    assert_ok(ash_upload_write(p.upload, data, LARGE, &f->err), &f->err);
    assert_ok(ash_upload_seal(p.upload, &f->err), &f->err);
    int rc = transact(&p, go_on_after_failure);
    assert_int_not_equal(p.rc[0], 0);
    assert_int_not_equal(rc, 0);
    expect_before(&p);
    assert_int_equal(support_count(f->chunks, "{\"files_id\":5}"), 1);
    free_plan(&p);
    assert_int_equal(support_count(f->chunks, "{}"), 4);
    ash__free(data);
}

static int of_another_store(ash_transaction *t, void *ctx, ash_error *err)
{
    ash_bucket *b = ctx;
    bson_value_t id = support_int_id(1);
    ash_change_options o = ASH_CHANGE_OPTIONS_INIT;
    o.transaction = t;
    return ash_bucket_delete(b, &id, &o, err);
}

static void test_bucket_compose__a_transaction_of_another_store(void **state)
{
    fixture *f = *state, *g;
    void *other = NULL;
    if (support_lacks_transactions(f))
        return;
    assert_int_equal(support_setup(&other), 0);
    g = other;
    assert_int_equal(ash_store_transact(g->store, of_another_store, f->bucket, NULL, &f->err),
                     ASH_EINVAL);
    assert_int_equal(support_teardown(&other), 0);
}

#define COMPOSE(name) cmocka_unit_test_setup_teardown(name, support_setup, support_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        COMPOSE(test_bucket_compose__all_or_nothing),
        COMPOSE(test_bucket_compose__an_upload_survives_its_transaction),
        COMPOSE(test_bucket_compose__an_upload_freed_inside),
        COMPOSE(test_bucket_compose__what_cannot_be_part_of_it),
        COMPOSE(test_bucket_compose__what_else_cannot_be_part_of_it),
        COMPOSE(test_bucket_compose__conditions_and_fences),
        COMPOSE(test_bucket_compose__each_change_under_its_condition),
        COMPOSE(test_bucket_compose__named_by_its_digest),
        COMPOSE(test_bucket_compose__half_an_operation_is_not_committed),
        COMPOSE(test_bucket_compose__a_transaction_of_another_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
