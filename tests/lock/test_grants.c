/* SPDX-License-Identifier: Apache-2.0 */
/* Grants, releases, renewals and removals, and what stands in the document then. */
#include "lock/support.h"

#include <string.h>

static void test_lock_grants__read_locks_share(void **state)
{
    fixture *f = *state;
    ash_lock *a = open_lock(f, f->c, "x", NULL), *b = open_lock(f, f->c, "x", NULL);
    assert_ok(ash_lock_obtain_read(a, &f->err), &f->err);
    assert_ok(ash_lock_obtain_read(b, &f->err), &f->err);
    bson_t *doc = lock_doc(f, "x");
    assert_int_equal(doc_int(doc, "read_locks"), 2);
    assert_int_equal(doc_int(doc, "reads"), 2);
    assert_int_equal(doc_int(doc, "writes"), 0);
    assert_int_equal(doc_int(doc, "write_lock"), 0);
    assert_int_equal(doc_int(doc, "holders.0.n"), 2);
    assert_int_equal(doc_int(doc, "holders.1.n"), -1);
    bson_destroy(doc);
    assert_ok(ash_lock_release(a, &f->err), &f->err);
    doc = lock_doc(f, "x");
    assert_int_equal(doc_int(doc, "read_locks"), 1);
    bson_destroy(doc);
    assert_ok(ash_lock_release(b, &f->err), &f->err);
    doc = lock_doc(f, "x");
    assert_int_equal(doc_int(doc, "read_locks"), 0);
    assert_true(doc_int(doc, "expires") <= doc_int(doc, "last.at") + 60000);
    bson_destroy(doc);
    ash_lock_free(a);
    ash_lock_free(b);
}

static void test_lock_grants__write_lock_excludes(void **state)
{
    fixture *f = *state;
    ash_lock *a = open_lock(f, f->c, "x", NULL), *b = open_lock(f, f->c, "x", NULL);
    assert_ok(ash_lock_obtain_write(a, &f->err), &f->err);
    assert_int_equal(ash_lock_get_state(a), ASH_LOCK_WRITING);
    assert_true(ash_lock_is_held(a));
    assert_int_equal(ash_lock_obtain_write(b, &f->err), ASH_ELOCKED);
    assert_int_equal(ash_lock_obtain_read(b, &f->err), ASH_ELOCKED);
    assert_ok(ash_lock_release(a, &f->err), &f->err);
    assert_ok(ash_lock_obtain_read(b, &f->err), &f->err);
    assert_int_equal(ash_lock_obtain_write(a, &f->err), ASH_ELOCKED);
    assert_ok(ash_lock_release(b, &f->err), &f->err);
    assert_ok(ash_lock_obtain_write(a, &f->err), &f->err);
    ash_lock_free(a); /* releases */
    assert_ok(ash_lock_obtain_write(b, &f->err), &f->err);
    ash_lock_free(b);
}

/* The eight fields with the package's types, and nothing of a transition's working. */
static void test_lock_grants__document_is_the_packages(void **state)
{
    static const struct {
        const char *name;
        bson_type_t type;
    } fields[] = {{"files_id", BSON_TYPE_UTF8},    {"expires", BSON_TYPE_DATE_TIME},
                  {"read_locks", BSON_TYPE_INT32}, {"write_lock", BSON_TYPE_BOOL},
                  {"write_req", BSON_TYPE_BOOL},   {"reads", BSON_TYPE_INT32},
                  {"writes", BSON_TYPE_INT32},     {"meta", BSON_TYPE_NULL}};
    fixture *f = *state;
    ash_lock *a = open_lock(f, f->c, "x", NULL);
    assert_ok(ash_lock_obtain_write(a, &f->err), &f->err);
    assert_ok(ash_lock_release(a, &f->err), &f->err);
    assert_ok(ash_lock_obtain_read(a, &f->err), &f->err);
    bson_t *doc = lock_doc(f, "x");
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        bson_iter_t at;
        assert_true(bson_iter_init_find(&at, doc, fields[i].name));
        assert_int_equal(bson_iter_type(&at), fields[i].type);
    }
    assert_false(bson_has_field(doc, "_q"));
    assert_false(bson_has_field(doc, "_t"));
    bson_destroy(doc);
    ash_lock_free(a);
}

static void test_lock_grants__misuse_is_refused(void **state)
{
    fixture *f = *state;
    ash_lock *a = open_lock(f, f->c, "x", NULL);
    ash_fence fence = ASH_FENCE_INIT;
    assert_int_equal(ash_lock_release(a, &f->err), ASH_ESTATE);
    assert_int_equal(ash_lock_renew(a, &f->err), ASH_ESTATE);
    assert_int_equal(ash_lock_remove(a, &f->err), ASH_ESTATE);
    assert_int_equal(ash_lock_fence(a, &fence, &f->err), ASH_ESTATE);
    assert_ok(ash_lock_obtain_read(a, &f->err), &f->err);
    assert_int_equal(ash_lock_obtain_write(a, &f->err), ASH_ESTATE);
    assert_int_equal(ash_lock_obtain_read(a, &f->err), ASH_ESTATE);
    assert_int_equal(ash_lock_request_read(a, &f->err), ASH_ESTATE);
    assert_int_equal(ash_lock_remove(a, &f->err), ASH_ESTATE);
    assert_int_equal(ash_lock_fence(a, &fence, &f->err), ASH_ESTATE);
    assert_true(ash_lock_is_held(a));
    ash_lock_free(a);
    bson_value_t array = {.value_type = BSON_TYPE_ARRAY};
    assert_int_equal(ash_lock_new(f->c, &array, NULL, &a, &f->err), ASH_EINVAL);
    ash_lock_options o = ASH_LOCK_OPTIONS_INIT;
    o.time_out_s = -1;
    bson_value_t id = text_id("x");
    assert_int_equal(ash_lock_new(f->c, &id, &o, &a, &f->err), ASH_EINVAL);
}

static void test_lock_grants__meta_is_kept_while_held(void **state)
{
    fixture *f = *state;
    ash_lock_options o = ASH_LOCK_OPTIONS_INIT;
    bson_t *meta = BCON_NEW("job", BCON_UTF8("$dollar"), "n", BCON_INT32(7));
    o.meta_data = meta;
    ash_lock *a = open_lock(f, f->c, "x", &o);
    bson_destroy(meta);
    assert_ok(ash_lock_obtain_write(a, &f->err), &f->err);
    bson_t *doc = lock_doc(f, "x");
    assert_int_equal(doc_int(doc, "meta.n"), 7);
    bson_destroy(doc);
    assert_ok(ash_lock_release(a, &f->err), &f->err);
    doc = lock_doc(f, "x");
    assert_int_equal(doc_int(doc, "meta.n"), -1);
    bson_destroy(doc);
    ash_lock_free(a);
}

static void test_lock_grants__renewal_moves_the_end(void **state)
{
    fixture *f = *state;
    ash_lock_options o = ASH_LOCK_OPTIONS_INIT;
    o.lock_expiration_s = 50;
    ash_lock *a = open_lock(f, f->c, "x", &o);
    assert_ok(ash_lock_obtain_write(a, &f->err), &f->err);
    bson_t *doc = lock_doc(f, "x");
    int64_t before = doc_int(doc, "expires");
    bson_destroy(doc);
    int64_t remaining = ash_lock_remaining_ms(a);
    assert_true(remaining > 20000 && remaining < 50000);
    sleep_ms(60);
    assert_ok(ash_lock_renew(a, &f->err), &f->err);
    doc = lock_doc(f, "x");
    assert_true(doc_int(doc, "expires") >= before + 50);
    assert_int_equal(doc_int(doc, "expires"), doc_int(doc, "holders.0.exp"));
    bson_destroy(doc);
    assert_ok(ash_lock_release(a, &f->err), &f->err);
    assert_ok(ash_lock_obtain_read(a, &f->err), &f->err);
    assert_ok(ash_lock_renew(a, &f->err), &f->err);
    ash_lock_free(a);
}

static void test_lock_grants__removal_forgets_the_resource(void **state)
{
    fixture *f = *state;
    ash_lock *a = open_lock(f, f->c, "x", NULL);
    assert_ok(ash_lock_obtain_write(a, &f->err), &f->err);
    assert_ok(ash_lock_remove(a, &f->err), &f->err);
    assert_null(lock_doc(f, "x"));
    assert_int_equal(ash_lock_get_state(a), ASH_LOCK_FREE);
    assert_ok(ash_lock_obtain_read(a, &f->err), &f->err);
    ash_lock_free(a);
}

/* Whoever grants, and whoever removes the document between. */
static void test_lock_grants__token_only_grows(void **state)
{
    fixture *f = *state;
    ash_lock *a = open_lock(f, f->c, "x", NULL), *b = open_lock(f, f->c, "x", NULL);
    int64_t last = 0;
    for (int i = 0; i < 12; i++) {
        bool write = i % 3 != 2;
        assert_ok(write ? ash_lock_obtain_write(a, &f->err) : ash_lock_obtain_read(a, &f->err),
                  &f->err);
        assert_true(ash_lock_token(a) > last);
        last = ash_lock_token(a);
        if (!write) {
            assert_ok(ash_lock_obtain_read(b, &f->err), &f->err);
            assert_int_equal(ash_lock_token(b), last + 1);
            last = ash_lock_token(b);
            assert_ok(ash_lock_release(b, &f->err), &f->err);
        }
        if (write && i % 4 == 0)
            assert_ok(ash_lock_remove(a, &f->err), &f->err);
        else
            assert_ok(ash_lock_release(a, &f->err), &f->err);
        if (i % 4 == 1) {
            assert_true(npm_write(f, "x", 0, 0));
            assert_true(npm_remove(f, "x"));
        }
        if (i % 4 == 3) {
            assert_true(npm_write(f, "x", 0, 0));
            assert_true(npm_release_write(f, "x"));
        }
    }
    assert_int_equal(ash_lock_token(a), 0);
    ash_lock_free(a);
    ash_lock_free(b);
}

static void test_lock_grants__ids_of_all_types(void **state)
{
    fixture *f = *state;
    bson_t *ids = BCON_NEW("a", BCON_INT32(5), "b", BCON_UTF8("$x"), "c", "{", "$y", BCON_INT32(1),
                           "}", "d", BCON_NULL, "e", BCON_DOUBLE(1.5), "f", BCON_BOOL(true), "g",
                           BCON_BIN(BSON_SUBTYPE_BINARY, (const uint8_t *)"abc", 3));
    bson_iter_t at;
    bson_iter_init(&at, ids);
    while (bson_iter_next(&at)) {
        ash_lock *a, *b;
        assert_ok(ash_lock_new(f->c, bson_iter_value(&at), NULL, &a, &f->err), &f->err);
        assert_ok(ash_lock_new(f->c, bson_iter_value(&at), NULL, &b, &f->err), &f->err);
        assert_ok(ash_lock_obtain_write(a, &f->err), &f->err);
        assert_int_equal(ash_lock_obtain_write(b, &f->err), ASH_ELOCKED);
        ash_lock_free(a);
        ash_lock_free(b);
    }
    bson_destroy(ids);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOCK_TEST(test_lock_grants__read_locks_share),
        LOCK_TEST(test_lock_grants__write_lock_excludes),
        LOCK_TEST(test_lock_grants__document_is_the_packages),
        LOCK_TEST(test_lock_grants__misuse_is_refused),
        LOCK_TEST(test_lock_grants__meta_is_kept_while_held),
        LOCK_TEST(test_lock_grants__renewal_moves_the_end),
        LOCK_TEST(test_lock_grants__removal_forgets_the_resource),
        LOCK_TEST(test_lock_grants__token_only_grows),
        LOCK_TEST(test_lock_grants__ids_of_all_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
