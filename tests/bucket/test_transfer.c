/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "bucket/transfer.h"

#define BYTES 1000

static const volatile int now = 1; /* does not wait for another transfer */

typedef struct source {
    ash_file *file;
    uint8_t *data;
} source;

/* A file with the id 7 as a bucket elsewhere has it: made here, read, and deleted. */
static source make_source(fixture *f, uint32_t seed)
{
    bson_value_t id = support_int_id(7);
    source s = {.data = support_bytes(BYTES, seed)};
    assert_int_equal(support_put_with(f, &id, "f", s.data, BYTES, NULL), 0);
    assert_ok(ash_bucket_get_file(f->bucket, &id, true, &s.file, &f->err), &f->err);
    assert_ok(ash_bucket_delete(f->bucket, &id, NULL, &f->err), &f->err);
    return s;
}

static void free_source(source *s)
{
    ash_file_free(s->file);
    ash__free(s->data);
}

/* With all its bytes, of which 256 chunks' worth would be in the store. */
static ash_upload *begin(fixture *f, const source *s, const ash_file *replaced)
{
    ash_upload *u = NULL;
    assert_ok(ash__transfer_open(f->bucket, s->file, replaced, &now, &u, &f->err), &f->err);
    assert_ok(ash_upload_write(u, s->data, BYTES, &f->err), &f->err);
    assert_ok(ash__chunk_writer_flush(&u->writer, false, 0, &f->err), &f->err);
    return u;
}

static void expect_clean(fixture *f)
{
    assert_int_equal(support_count(f->attributes, "{\"_id.copy\": {\"$exists\": true}}"), 0);
    assert_int_equal(support_count(f->chunks, "{}"),
                     support_count(f->files, "{}") * ((BYTES + CHUNK - 1) / CHUNK));
}

static void test_bucket_transfer__makes_the_same_file(void **state)
{
    fixture *f = *state;
    source s = make_source(f, 1);
    ash_file *file = NULL;
    ash_upload *u = begin(f, &s, NULL);
    assert_int_equal(support_count(f->files, "{}"), 0);
    assert_ok(ash_upload_finish(u, &file, &f->err), &f->err);
    ash_upload_free(u);
    ash_doc a = ash_file_document(s.file), b = ash_file_document(file);
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.data, b.data, a.len);
    assert_string_equal(ash_file_sha256(file), ash_file_sha256(s.file));
    support_expect(f, ash_file_id(file), s.data, BYTES);
    expect_clean(f);
    assert_int_equal(ash__transfer_open(f->bucket, s.file, NULL, &now, &u, &f->err), ASH_EEXISTS);
    expect_clean(f);
    ash_file_free(file);
    free_source(&s);
}

static void test_bucket_transfer__second_leaves_the_first_alone(void **state)
{
    fixture *f = *state;
    source s = make_source(f, 2);
    ash_upload *second = NULL;
    ash_upload *first = begin(f, &s, NULL);
    int64_t chunks = support_count(f->chunks, "{}");
    assert_int_equal(ash__transfer_open(f->bucket, s.file, NULL, &now, &second, &f->err),
                     ASH_EINTERRUPTED);
    assert_int_equal(support_count(f->chunks, "{}"), chunks);
    assert_ok(ash_upload_finish(first, NULL, &f->err), &f->err);
    support_expect(f, ash_file_id(s.file), s.data, BYTES);
    ash_upload_free(first);
    expect_clean(f);
    free_source(&s);
}

/* As if another process had made the claim. */
static const char ANOTHER[] = "{\"$set\": {\"version\": {\"$oid\": \"6b02ae760000000000000001\"}}}";

static void test_bucket_transfer__one_taken_for_dead_fails_and_removes_nothing(void **state)
{
    fixture *f = *state;
    source s = make_source(f, 3);
    ash_upload *second = NULL;
    ash_upload *first = begin(f, &s, NULL);
    support_update(f->attributes, "{\"_id.copy\": 7}", ANOTHER);
    /* The chunks are of this process, not of the one that the claim speaks of. */
    assert_ok(ash__transfer_open(f->bucket, s.file, NULL, &now, &second, &f->err), &f->err);
    assert_true(support_count(f->chunks, "{}") > 0);
    assert_int_equal(ash_upload_finish(first, NULL, &f->err), ASH_ELOST);
    assert_true(support_count(f->chunks, "{}") > 0);
    assert_int_equal(support_count(f->files, "{}"), 0);
    ash_upload_free(first);
    ash_upload_free(second);
    assert_int_equal(support_count(f->attributes, "{\"_id.copy\": 7}"), 0);
    free_source(&s);
}

static void test_bucket_transfer__takes_over_what_a_dead_one_left(void **state)
{
    fixture *f = *state;
    source s = make_source(f, 4);
    support_insert(f->attributes, "{\"_id\": {\"copy\": 7}, \"version\": {\"$oid\": "
                                  "\"6b02ae760000000000000001\"}}");
    support_insert(f->chunks,
                   "{\"_id\": {\"$oid\": \"6b02ae760000000000000002\"}, \"files_id\": 7, "
                   "\"n\": 0, \"data\": {\"$binary\": {\"base64\": \"YQ==\", "
                   "\"subType\": \"00\"}}}");
    ash_upload *u = begin(f, &s, NULL);
    assert_ok(ash_upload_finish(u, NULL, &f->err), &f->err);
    support_expect(f, ash_file_id(s.file), s.data, BYTES);
    ash_upload_free(u);
    expect_clean(f);
    free_source(&s);
}

static void test_bucket_transfer__needs_all_its_chunks(void **state)
{
    fixture *f = *state;
    source s = make_source(f, 5);
    ash_upload *u = begin(f, &s, NULL);
    support_remove(f->chunks, "{\"n\": 5}");
    assert_int_equal(ash_upload_finish(u, NULL, &f->err), ASH_ECHUNKMISSING);
    assert_int_equal(support_count(f->files, "{}"), 0);
    (void)ash_upload_abort(u, NULL);
    ash_upload_free(u);
    expect_clean(f);
    free_source(&s);
}

static void test_bucket_transfer__replaces_in_its_commit(void **state)
{
    fixture *f = *state;
    bson_value_t id = support_int_id(7);
    source s = make_source(f, 6);
    for (int turn = 0; turn < 3; turn++) {
        ash_file *there = NULL;
        uint8_t *old = support_bytes(BYTES, 7);
        assert_int_equal(support_put_with(f, &id, "old", old, BYTES, NULL), 0);
        assert_ok(ash_bucket_get_file(f->bucket, &id, true, &there, &f->err), &f->err);
        ash_upload *u = begin(f, &s, there);
        support_expect(f, &id, old, BYTES);
        if (turn == 1)
            assert_ok(ash_bucket_rename(f->bucket, &id, "new", NULL, &f->err), &f->err);
        if (turn == 2)
            assert_ok(ash_upload_abort(u, &f->err), &f->err);
        else
            assert_int_equal(ash_upload_finish(u, NULL, &f->err), turn == 0 ? 0 : ASH_ECONFLICT);
        ash_upload_free(u);
        support_expect(f, &id, turn == 0 ? s.data : old, BYTES);
        expect_clean(f);
        assert_ok(ash_bucket_delete(f->bucket, &id, NULL, &f->err), &f->err);
        ash_file_free(there);
        ash__free(old);
    }
    free_source(&s);
}

/* An ordinary upload that replaces its name under the same id. */
static void test_bucket_transfer__upload_replaces_its_own_id(void **state)
{
    fixture *f = *state;
    bson_value_t id = support_int_id(7);
    ash_upload *u = NULL;
    ash_upload_options o = ASH_UPLOAD_OPTIONS_INIT;
    uint8_t *old = support_bytes(BYTES, 8), *new = support_bytes(BYTES, 9);
    o.replace = true;
    assert_int_equal(support_put_with(f, &id, "f", old, BYTES, NULL), 0);
    assert_ok(ash_bucket_open_upload_stream_with_id(f->bucket, &id, "f", &o, &u, &f->err), &f->err);
    assert_ok(ash_upload_write(u, new, BYTES, &f->err), &f->err);
    assert_ok(ash__chunk_writer_flush(&u->writer, false, 0, &f->err), &f->err);
    support_expect(f, &id, old, BYTES);
    assert_ok(ash_upload_abort(u, &f->err), &f->err);
    ash_upload_free(u);
    support_expect(f, &id, old, BYTES);
    assert_ok(support_put_with(f, &id, "f", new, BYTES, &o), &f->err);
    support_expect(f, &id, new, BYTES);
    assert_int_equal(support_put_with(f, &id, "another name", old, BYTES, &o), ASH_EEXISTS);
    support_expect(f, &id, new, BYTES);
    expect_clean(f);
    ash__free(old);
    ash__free(new);
}

int main(void)
{
#define T(name)                                                                                    \
    cmocka_unit_test_setup_teardown(test_bucket_transfer__##name, support_setup, support_teardown)
    const struct CMUnitTest tests[] = {
        T(makes_the_same_file),
        T(second_leaves_the_first_alone),
        T(one_taken_for_dead_fails_and_removes_nothing),
        T(takes_over_what_a_dead_one_left),
        T(needs_all_its_chunks),
        T(replaces_in_its_commit),
        T(upload_replaces_its_own_id),
    };
    return cmocka_run_group_tests_name("bucket transfer", tests, NULL, NULL);
}
