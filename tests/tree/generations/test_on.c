/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/generations/old.h"

#include <string.h>

#include <ashlar/bucket.h>

/* A database of the seed that is written on: nothing in it that v7files would not have written,
 * but for fields of our own, which it keeps as it keeps all that it does not know. */

static const char V7[] = "v7files";

/* One file of a version, in a folder. */
static void fill(fixture *f, const char *text)
{
    old_content(f, OLD_Z, text, strlen(text), 2);
    old_json(f, V7,
             "{\"_id\": %1, \"_version\": 1, \"parent\": \"/\", \"filename\": \"docs\", "
             "\"created_at\": {\"$date\": 1}}");
    old_file(f, V7,
             "{\"_id\": %2, \"_version\": 1, \"parent\": %1, \"filename\": \"a\", \"contentType\": "
             "\"text/plain\", \"created_at\": {\"$date\": 1}}",
             text);
    old_open(f);
}

static bson_t *content_of(fixture *f, const void *data, size_t len)
{
    old_sha id = old_digest(data, len);
    bson_t *filter = BCON_NEW("_id", BCON_BIN(BSON_SUBTYPE_BINARY, id.bytes, sizeof id.bytes));
    bson_t doc;
    assert_ok(ash_collection_find_one(f->contents, filter, NULL, &doc, &f->err), &f->err);
    bson_t *copy = bson_copy(&doc);
    bson_destroy(&doc);
    bson_destroy(filter);
    return copy;
}

static void expect_sha(const bson_t *doc, const void *data, size_t len)
{
    bson_iter_t it;
    bson_subtype_t subtype;
    uint32_t n;
    const uint8_t *bytes;
    old_sha want = old_digest(data, len);
    assert_true(bson_iter_init_find(&it, doc, "sha"));
    bson_iter_binary(&it, &subtype, &n, &bytes);
    assert_int_equal(subtype, BSON_SUBTYPE_BINARY);
    assert_int_equal(n, 20);
    assert_memory_equal(bytes, want.bytes, 20);
}

/* "2:1" of the owners in refs and refHistory that are entry 2. */
static void expect_owners(const bson_t *doc, int refs, int history)
{
    static const char *const fields[] = {"refs", "refHistory"};
    const int want[] = {refs, history};
    bson_oid_t id = old_id(2);
    for (int i = 0; i < 2; i++) {
        bson_iter_t it, child;
        int n = 0;
        assert_true(bson_iter_init_find(&it, doc, fields[i]) && BSON_ITER_HOLDS_ARRAY(&it));
        assert_true(bson_iter_recurse(&it, &child));
        while (bson_iter_next(&child))
            n += BSON_ITER_HOLDS_OID(&child) && bson_oid_equal(bson_iter_oid(&child), &id) ? 1 : 0;
        assert_int_equal(n, want[i]);
    }
}

/* ---- entries ---- */

static void test_tree_generations_on__a_new_version(void **state)
{
    fixture *f = *state;
    char *before = old_text(3000, 1), *after = old_text(20000, 2);
    fill(f, before);
    support_put(f, "docs/a", after, strlen(after));
    bson_t *doc = support_document(f->current, "{\"filename\": \"a\"}");
    support_expect_fields(doc, "_id _version parent filename contentType created_at length sha "
                               "updated_at");
    support_expect_type(doc, "_id", BSON_TYPE_OID);
    support_expect_type(doc, "_version", BSON_TYPE_INT32);
    support_expect_type(doc, "parent", BSON_TYPE_OID);
    support_expect_type(doc, "updated_at", BSON_TYPE_DATE_TIME);
    expect_sha(doc, after, strlen(after));
    bson_destroy(doc);
    doc = support_document(f->past, "{}");
    support_expect_fields(doc, "_id _version parent filename contentType created_at length sha "
                               "until");
    support_expect_type(doc, "length", BSON_TYPE_INT32); /* byte for byte what it was */
    expect_sha(doc, before, strlen(before));
    bson_destroy(doc);
    support_expect_text_of(f, "docs/a", 1, 0, before);
    doc = content_of(f, before, strlen(before));
    expect_owners(doc, 0, 1);
    bson_destroy(doc);
    doc = content_of(f, after, strlen(after));
    expect_owners(doc, 1, 1);
    bson_destroy(doc);
    old_expect_findings(f, f->tree, "");
    ash__free(before);
    ash__free(after);
}

static void expect_version_id(const bson_t *doc, int32_t version)
{
    bson_iter_t it, child;
    bson_oid_t id = old_id(2);
    assert_true(bson_iter_init_find(&it, doc, "_id") && bson_iter_recurse(&it, &child));
    assert_true(bson_iter_next(&child));
    assert_string_equal(bson_iter_key(&child), "_id");
    assert_true(bson_oid_equal(bson_iter_oid(&child), &id));
    assert_true(bson_iter_next(&child));
    assert_string_equal(bson_iter_key(&child), "_version");
    assert_true(BSON_ITER_HOLDS_INT32(&child));
    assert_int_equal(bson_iter_int32(&child), version);
    assert_false(bson_iter_next(&child));
}

static void test_tree_generations_on__a_deletion(void **state)
{
    fixture *f = *state;
    char *text = old_text(3000, 1);
    fill(f, text);
    assert_ok(ash_tree_remove(f->tree, "docs/a", NULL, NULL, &f->err), &f->err);
    bson_t *doc = support_document(f->past, "{\"_version\": 1}");
    expect_version_id(doc, 1);
    bson_destroy(doc);
    doc = support_document(f->past, "{\"_version\": \"deleted:2\"}");
    expect_version_id(doc, 2);
    support_expect_fields(doc, "_id _version deleted_at");
    support_expect_type(doc, "deleted_at", BSON_TYPE_DATE_TIME);
    bson_destroy(doc);
    doc = content_of(f, text, strlen(text));
    expect_owners(doc, 0, 1);
    bson_destroy(doc);
    old_expect_findings(f, f->tree, "");
    ash__free(text);
}

static void test_tree_generations_on__moves_and_folders(void **state)
{
    fixture *f = *state;
    char *text = old_text(3000, 1);
    fill(f, text);
    support_folder(f, "new");
    assert_ok(ash_tree_move(f->tree, "docs/a", "new/b", NULL, NULL, NULL, &f->err), &f->err);
    bson_t *doc = support_document(f->current, "{\"filename\": \"b\"}");
    support_expect_fields(doc, "_id _version parent filename contentType created_at length sha "
                               "updated_at");
    bson_destroy(doc);
    doc = support_document(f->current, "{\"filename\": \"new\"}");
    support_expect_fields(doc, "_id _version parent filename created_at");
    support_expect_type(doc, "parent", BSON_TYPE_UTF8);
    bson_destroy(doc);
    support_expect_text(f, "new/b", text);
    support_expect_history(f, "new/b", "2 1");
    old_expect_findings(f, f->tree, "");
    ash__free(text);
}

static void test_tree_generations_on__bytes_of_fewer_than_a_digest_stand_inside(void **state)
{
    fixture *f = *state;
    char *text = old_text(3000, 1);
    fill(f, text);
    support_put_text(f, "docs/tiny", "nineteen bytes, not");
    support_put_text(f, "docs/not", "twenty bytes, not 19");
    bson_t *doc = support_document(f->current, "{\"filename\": \"tiny\"}");
    support_expect_fields(doc, "_id _version parent filename in created_at");
    bson_destroy(doc);
    doc = support_document(f->current, "{\"filename\": \"not\"}");
    support_expect_fields(doc, "_id _version parent filename length sha created_at");
    bson_destroy(doc);
    ash__free(text);
}

/* ---- contents ---- */

/* GridFS's fields first, of GridFS's types; no store but those that v7files read. */
static void test_tree_generations_on__forms_that_v7files_read(void **state)
{
    static const struct {
        const char *name, *store, *fields;
        size_t len;
        bool random;
    } cases[] = {
        {"random", "in", "_id length chunkSize uploadDate filename store in refs refHistory", 600,
         true},
        {"packed", "zin", "_id length chunkSize uploadDate filename store size in refs refHistory",
         4000, false},
        {"large", "z", "_id length chunkSize uploadDate filename store size refs refHistory",
         900000, false},
        {"raw", "", "_id length chunkSize uploadDate filename refs refHistory", 300000, true},
    };
    fixture *f = *state;
    char *text = old_text(3000, 1);
    fill(f, text);
    for (size_t i = 0; i < ASH_ARRAY_LEN(cases); i++) {
        uint8_t *data =
            cases[i].random ? support_bytes(cases[i].len, 3) : (uint8_t *)old_text(cases[i].len, 3);
        bson_iter_t it;
        support_put(f, cases[i].name, data, cases[i].len);
        support_expect_bytes(f, cases[i].name, data, cases[i].len);
        bson_t *doc = content_of(f, data, cases[i].len);
        support_expect_fields(doc, cases[i].fields);
        bool stores = bson_iter_init_find(&it, doc, "store");
        assert_string_equal(stores ? bson_iter_utf8(&it, NULL) : "", cases[i].store);
        support_expect_type(doc, "uploadDate", BSON_TYPE_DATE_TIME);
        bson_destroy(doc);
        ash__free(data);
    }
    old_expect_findings(f, f->tree, "");
    ash__free(text);
}

/* By nothing but GridFS, as a driver would: the id is the digest, the bytes are the file's. */
static void test_tree_generations_on__raw_contents_are_files_of_gridfs(void **state)
{
    fixture *f = *state;
    ash_bucket_options o = ASH_BUCKET_OPTIONS_INIT;
    ash_bucket *bucket = NULL;
    ash_download *d = NULL;
    enum { LEN = 300000 };
    uint8_t *data = support_bytes(LEN, 5), *read = ash__alloc(LEN);
    char *text = old_text(3000, 1);
    size_t got = 1, sum = 0;
    fill(f, text);
    support_put(f, "raw", data, LEN);
    old_sha sha = old_digest(data, LEN);
    bson_value_t id = {.value_type = BSON_TYPE_BINARY};
    id.value.v_binary.data = sha.bytes;
    id.value.v_binary.data_len = sizeof sha.bytes;
    o.bucket_name = "v7.fs";
    assert_ok(ash_bucket_new(f->store, &o, &bucket, &f->err), &f->err);
    assert_ok(ash_bucket_open_download_stream(bucket, &id, NULL, &d, &f->err), &f->err);
    assert_string_equal(ash_file_filename(ash_download_file(d)), "raw");
    while (got > 0) {
        assert_ok(ash_download_read(d, read + sum, LEN - sum + 1, &got, &f->err), &f->err);
        sum += got;
    }
    assert_int_equal(sum, LEN);
    assert_memory_equal(read, data, LEN);
    ash_download_free(d);
    ash_bucket_free(bucket);
    ash__free(text);
    ash__free(read);
    ash__free(data);
}

/* A content that v7files has brought is found, in whatever form, and gets one owner more. */
static void test_tree_generations_on__equal_contents_are_kept_once(void **state)
{
    fixture *f = *state;
    char *text = old_text(3000, 1);
    fill(f, text);
    support_put(f, "docs/b", text, strlen(text));
    assert_int_equal(support_count(f->contents, "{}"), 1);
    bson_t *doc = content_of(f, text, strlen(text));
    expect_owners(doc, 1, 1);
    bson_destroy(doc);
    support_expect_refs(f, "docs/b", 2, 2);
    support_expect_text(f, "docs/b", text);
    old_expect_findings(f, f->tree, "");
    ash__free(text);
}

int main(void)
{
#define T(name)                                                                                    \
    cmocka_unit_test_setup_teardown(test_tree_generations_on__##name, support_setup,               \
                                    support_teardown)
    const struct CMUnitTest tests[] = {
        T(a_new_version),
        T(a_deletion),
        T(moves_and_folders),
        T(bytes_of_fewer_than_a_digest_stand_inside),
        T(forms_that_v7files_read),
        T(raw_contents_are_files_of_gridfs),
        T(equal_contents_are_kept_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
