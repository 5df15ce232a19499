/* SPDX-License-Identifier: Apache-2.0 */
/* Names that are not UTF-8: none is made, and what has one can be read and dropped. */
#include "fixture.h"

#include "engine/engine.h"

#define BAD "caf\xe9"

static void expect(int rc, int32_t code, const fixture *f)
{
    assert_int_equal(rc, ASH_EINVAL);
    assert_int_equal(ash_error_server_code(&f->err), code);
    assert_non_null(strstr(f->err.text, "not UTF-8 (byte 3 is 0xe9)"));
}

static void refuse_collection(fixture *f, const char *db, const char *name)
{
    ash_collection *c;
    bson_t *doc = fixture_json("{\"_id\":1}");
    assert_ok(ash_collection_new(f->store, db, name, &c, &f->err), &f->err);
    expect(ash_collection_create(c, NULL, NULL, &f->err), 73, f);
    expect(ash_collection_insert_one(c, doc, NULL, &f->err), 73, f);
    expect(ash_collection_rename(f->c, db, name, false, NULL, &f->err), 73, f);
    bson_destroy(doc);
    ash_collection_free(c);
}

static void test_embedded_name__what_is_not_utf8_is_not_made(void **state)
{
    fixture *f = *state;
    assert_ok(fixture_insert(f, f->c, "{\"_id\":1}"), &f->err);
    refuse_collection(f, "test", BAD);
    refuse_collection(f, BAD, "things");
    assert_int_equal(fixture_count(f, f->c, "{}"), 1);
}

static void test_embedded_name__an_index_neither(void **state)
{
    fixture *f = *state;
    bson_t reply;
    bson_t *specs = BCON_NEW("0", "{", "key", "{", "a", BCON_INT32(1), "}", "name", BAD, "}");
    expect(ash_collection_create_indexes(f->c, specs, NULL, &reply, &f->err), 67, f);
    bson_destroy(specs);
}

static int make_anyway(ash_writer *w, void *ctx, ash_error *err)
{
    const ash_coll *c;
    bson_t none = BSON_INITIALIZER;
    int rc = ash__catalog_create(w, "test", ctx, &none, &c, err);
    bson_destroy(&none);
    return rc;
}

static void made_anyway(fixture *f)
{
    ash_op op = ASH_OP_INIT;
    ash_write_terms terms = {.op = &op, .flags = ASH_APPLY_ATOMIC};
    assert_ok(ash__write_run(ash__embedded(f->store), &terms, make_anyway, (void *)(uintptr_t)BAD,
                             &f->err),
              &f->err);
}

/* Stores of earlier versions may have such collections. */
static void test_embedded_name__what_has_one_is_read_and_dropped(void **state)
{
    fixture *f = *state;
    ash_collection *c;
    made_anyway(f);
    assert_ok(ash_collection_new(f->store, "test", BAD, &c, &f->err), &f->err);
    assert_ok(fixture_insert(f, c, "{\"_id\":1}"), &f->err);
    assert_int_equal(fixture_count(f, c, "{}"), 1);
    assert_ok(ash_collection_rename(c, "test", "caf\xc3\xa9", false, NULL, &f->err), &f->err);
    ash_collection_free(c);
    made_anyway(f);
    assert_ok(ash_collection_new(f->store, "test", BAD, &c, &f->err), &f->err);
    assert_ok(ash_collection_drop(c, NULL, &f->err), &f->err);
    ash_collection_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EMBEDDED(test_embedded_name__what_is_not_utf8_is_not_made),
        EMBEDDED(test_embedded_name__an_index_neither),
        EMBEDDED(test_embedded_name__what_has_one_is_read_and_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
