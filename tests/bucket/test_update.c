/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <string.h>

/* Changes of a file's own document, and changes that hold only if … */

static bson_t *json(const char *text)
{
    bson_error_t error;
    bson_t *b = bson_new_from_json((const uint8_t *)text, -1, &error);
    assert_non_null(b);
    return b;
}

static int update(fixture *f, const bson_value_t *id, const char *operators,
                  const ash_change_options *o, ash_file **file)
{
    bson_t *b = json(operators);
    int rc = ash_bucket_update(f->bucket, id, b, o, file, &f->err);
    bson_destroy(b);
    return rc;
}

static void test_bucket_update__metadata(void **state)
{
    fixture *f = *state;
    bson_value_t id;
    bson_t metadata;
    ash_file *file = NULL;
    support_put(f, "f", "content", 7, &id);
    assert_ok(update(f, &id,
                     "{\"$set\":{\"metadata.owner\":\"me\",\"contentType\":\"text/plain\"}}", NULL,
                     &file),
              &f->err);
    assert_true(ash_file_metadata(file, &metadata));
    assert_true(bson_has_field(&metadata, "owner"));
    ash_file_free(file);
    assert_ok(
        update(f, &id, "{\"$inc\":{\"metadata.n\":2},\"$unset\":{\"contentType\":1}}", NULL, NULL),
        &f->err);
    assert_int_equal(support_count(f->files, "{\"metadata\":{\"owner\":\"me\",\"n\":2},"
                                             "\"contentType\":{\"$exists\":false}}"),
                     1);
    support_expect(f, &id, "content", 7);
    bson_value_t other = support_int_id(7);
    assert_int_equal(update(f, &other, "{\"$set\":{\"a\":1}}", NULL, NULL), ASH_ENOTFOUND);
    assert_ok(ash_bucket_set_expiry(f->bucket, &id, 1000, &f->err), &f->err);
    assert_int_equal(update(f, &id, "{\"$set\":{\"a\":1}}", NULL, NULL), ASH_ENOTFOUND);
    bson_value_destroy(&id);
}

static void test_bucket_update__what_the_bytes_need_stays(void **state)
{
    static const char *const refused[] = {
        "{}",
        "{\"metadata\":{}}",
        "{\"$set\":5}",
        "{\"$set\":{\"length\":1}}",
        "{\"$set\":{\"_id\":1}}",
        "{\"$unset\":{\"chunkSize\":1}}",
        "{\"$set\":{\"a\":1},\"$currentDate\":{\"uploadDate\":true}}",
        "{\"$set\":{\"md5\":\"\"}}",
        "{\"$set\":{\"expiresAt\":{\"$date\":0}}}",
        "{\"$set\":{\"filename\":\"g\"}}",
        "{\"$set\":{\"length.x\":1}}",
        "{\"$rename\":{\"a\":\"filename\"}}",
        "{\"$rename\":{\"length\":\"a\"}}",
        "{\"$set\":{\"ashlar_intent\":1}}",
    };
    fixture *f = *state;
    bson_value_t id;
    support_put(f, "f", "content", 7, &id);
    char *before = support_dump(f->files, "{}");
    for (size_t i = 0; i < ASH_ARRAY_LEN(refused); i++)
        assert_int_equal(update(f, &id, refused[i], NULL, NULL), ASH_EINVAL);
    char *after = support_dump(f->files, "{}");
    assert_string_equal(before, after);
    bson_free(before);
    bson_free(after);
    bson_value_destroy(&id);
}

/* Everything by id, with a filter that does not fit, and then with one that does. */
static void test_bucket_update__only_if(void **state)
{
    fixture *f = *state;
    bson_value_t id, other = support_int_id(7);
    bson_t *wrong = json("{\"metadata.version\":2}"), *right = json("{\"metadata.version\":1}");
    ash_change_options o = ASH_CHANGE_OPTIONS_INIT;
    support_put(f, "f", "0123456789abcdefgh", 18, &id);
    assert_ok(update(f, &id, "{\"$set\":{\"metadata.version\":1}}", NULL, NULL), &f->err);
    o.only_if = wrong;
    assert_int_equal(update(f, &id, "{\"$set\":{\"metadata.a\":1}}", &o, NULL), ASH_ECONDITION);
    assert_int_equal(ash_bucket_rename(f->bucket, &id, "g", &o, &f->err), ASH_ECONDITION);
    assert_int_equal(ash_bucket_delete(f->bucket, &id, &o, &f->err), ASH_ECONDITION);
    assert_int_equal(ash_bucket_delete(f->bucket, &other, &o, &f->err), ASH_ENOTFOUND);
    assert_int_equal(ash_bucket_delete_by_name(f->bucket, "f", &o, &f->err), ASH_EINVAL);
    assert_int_equal(ash_bucket_rename_by_name(f->bucket, "f", "g", &o, &f->err), ASH_EINVAL);
    assert_int_equal(ash_bucket_drop(f->bucket, &o, &f->err), ASH_EINVAL);
    support_expect_name(f, "f", -1, "0123456789abcdefgh", 18);
    o.only_if = right;
    assert_ok(update(f, &id, "{\"$set\":{\"metadata.a\":1}}", &o, NULL), &f->err);
    assert_ok(ash_bucket_rename(f->bucket, &id, "g", &o, &f->err), &f->err);
    support_expect_name(f, "g", -1, "0123456789abcdefgh", 18);
    assert_ok(ash_bucket_delete(f->bucket, &id, &o, &f->err), &f->err);
    assert_int_equal(support_count(f->chunks, "{}"), 0);
    bson_destroy(wrong);
    bson_destroy(right);
    bson_value_destroy(&id);
}

static void test_bucket_update__rename_to_a_free_name(void **state)
{
    fixture *f = *state;
    bson_value_t id;
    ash_change_options o = ASH_CHANGE_OPTIONS_INIT;
    support_put(f, "f", "one", 3, &id);
    support_put(f, "taken", "two", 3, NULL);
    o.if_name_absent = true;
    assert_int_equal(ash_bucket_rename(f->bucket, &id, "taken", &o, &f->err), ASH_ECONDITION);
    assert_int_equal(ash_bucket_rename_by_name(f->bucket, "f", "taken", &o, &f->err),
                     ASH_ECONDITION);
    support_expect_name(f, "f", -1, "one", 3);
    assert_ok(ash_bucket_rename(f->bucket, &id, "free", &o, &f->err), &f->err);
    support_expect_name(f, "free", -1, "one", 3);
    bson_value_destroy(&id);
}

#define UPDATE(name) cmocka_unit_test_setup_teardown(name, support_setup, support_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UPDATE(test_bucket_update__metadata),
        UPDATE(test_bucket_update__what_the_bytes_need_stays),
        UPDATE(test_bucket_update__only_if),
        UPDATE(test_bucket_update__rename_to_a_free_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
