/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "base/hash.h"

#include <string.h>

/* Uploads whose digests are asked for, and whose id may come at the end. */

enum { SMALL = 40, LARGE = 20000 };

static const ash_digest_kind KINDS[] = {ASH_DIGEST_SHA256, ASH_DIGEST_SHA1, ASH_DIGEST_MD5};

static void digest_of(ash_digest_kind kind, const void *data, size_t len, char *hex)
{
    uint8_t bytes[ASH_DIGEST_MAX_BYTES];
    ash_digest *d = ash__digest_new(kind);
    ash__digest_add(d, data, len);
    ash__hex(bytes, ash__digest_finish(d, bytes), hex);
    ash__digest_free(d);
}

static ash_upload *open_with(fixture *f, const char *name, const ash_upload_options *o,
                             const void *data, size_t len)
{
    ash_upload *u = NULL;
    assert_ok(ash_bucket_open_upload_stream(f->bucket, name, o, &u, &f->err), &f->err);
    assert_ok(ash_upload_write(u, data, len, &f->err), &f->err);
    return u;
}

static void test_bucket_seal__digests_are_known_before_the_end(void **state)
{
    fixture *f = *state;
    for (size_t len = 0; len <= LARGE; len = len == 0 ? SMALL : len == SMALL ? LARGE : LARGE + 1) {
        uint8_t *data = support_bytes(len, 1);
        char want[ASH_DIGEST_TEXT_BYTES], got[ASH_DIGEST_TEXT_BYTES];
        ash_upload_options o = ASH_UPLOAD_OPTIONS_INIT;
        ash_file *file = NULL, *found = NULL;
        o.digests = ASH_DIGEST_SHA1 | ASH_DIGEST_MD5;
        ash_upload *u = open_with(f, "f", &o, data, len);
        assert_int_equal(ash_upload_digest(u, ASH_DIGEST_SHA1, got, &f->err), ASH_ESTATE);
        assert_ok(ash_upload_seal(u, &f->err), &f->err);
        assert_ok(ash_upload_seal(u, &f->err), &f->err);
        assert_int_equal(support_count(f->files, "{}"), 0);
        assert_int_equal(ash_upload_write(u, "x", 1, &f->err), ASH_ESTATE);
        for (size_t i = 0; i < ASH_ARRAY_LEN(KINDS); i++) {
            digest_of(KINDS[i], data, len, want);
            assert_ok(ash_upload_digest(u, KINDS[i], got, &f->err), &f->err);
            assert_string_equal(got, want);
        }
        assert_ok(ash_upload_finish(u, &file, &f->err), &f->err);
        assert_ok(ash_bucket_get_file(f->bucket, ash_upload_id(u), true, &found, &f->err), &f->err);
        for (size_t i = 0; i < ASH_ARRAY_LEN(KINDS); i++) {
            digest_of(KINDS[i], data, len, want);
            assert_string_equal(ash_file_digest(file, KINDS[i]), want);
            assert_string_equal(ash_file_digest(found, KINDS[i]), want);
        }
        assert_ok(ash_bucket_delete(f->bucket, ash_upload_id(u), NULL, &f->err), &f->err);
        ash_file_free(found);
        ash_file_free(file);
        ash_upload_free(u);
        ash__free(data);
    }
}

static void test_bucket_seal__what_was_not_asked_for(void **state)
{
    fixture *f = *state;
    ash_upload_options o = ASH_UPLOAD_OPTIONS_INIT;
    char hex[ASH_DIGEST_TEXT_BYTES];
    ash_upload *u = open_with(f, "f", NULL, "abc", 3);
    assert_ok(ash_upload_seal(u, &f->err), &f->err);
    assert_int_equal(ash_upload_digest(u, ASH_DIGEST_MD5, hex, &f->err), ASH_EINVAL);
    assert_int_equal(ash_upload_digest(u, (ash_digest_kind)8, hex, &f->err), ASH_EINVAL);
    ash_upload_free(u);
    assert_int_equal(support_count(f->chunks, "{}"), 0);
    o.digests = 16;
    assert_int_equal(ash_bucket_open_upload_stream(f->bucket, "f", &o, &u, &f->err), ASH_EINVAL);
    o.digests = ASH_DIGEST_SHA1;
    o.without_digest = true;
    u = open_with(f, "f", &o, "abc", 3);
    assert_ok(ash_upload_seal(u, &f->err), &f->err);
    assert_int_equal(ash_upload_digest(u, ASH_DIGEST_SHA256, hex, &f->err), ASH_EINVAL);
    assert_ok(ash_upload_digest(u, ASH_DIGEST_SHA1, hex, &f->err), &f->err);
    assert_string_equal(hex, "a9993e364706816aba3e25717850c26c9cd0d89d");
    ash_upload_free(u);
}

/* What an upload that was sealed leaves when nobody finishes it. */
static void test_bucket_seal__forgotten_or_aborted(void **state)
{
    fixture *f = *state;
    uint8_t *data = support_bytes(LARGE, 2);
    for (int aborts = 0; aborts < 2; aborts++) {
        ash_upload *u = open_with(f, "f", NULL, data, LARGE);
        assert_ok(ash_upload_seal(u, &f->err), &f->err);
        assert_int_not_equal(support_count(f->chunks, "{}"), 0);
        if (aborts) {
            assert_ok(ash_upload_abort(u, &f->err), &f->err);
            assert_int_equal(ash_upload_finish(u, NULL, &f->err), ASH_ESTATE);
        }
        ash_upload_free(u);
        assert_int_equal(support_count(f->chunks, "{}"), 0);
    }
    ash__free(data);
}

/* ---- an id at the end ---- */

static int finish_as(fixture *f, ash_upload *u, const char *id, bool keep, ash_file **file,
                     bool *existed)
{
    ash_finish_options o = ASH_FINISH_OPTIONS_INIT;
    bson_value_t v = support_text_id(id);
    o.id = &v;
    o.keep_existing = keep;
    int rc = ash_upload_finish_with(u, &o, file, existed, &f->err);
    bson_value_destroy(&v);
    return rc;
}

static void put_as(fixture *f, const char *id, const void *data, size_t len, bool keep,
                   bool expected)
{
    ash_upload_options o = ASH_UPLOAD_OPTIONS_INIT;
    bool existed = !expected;
    ash_file *file = NULL;
    o.id_at_end = true;
    ash_upload *u = open_with(f, "f", &o, data, len);
    assert_ok(finish_as(f, u, id, keep, &file, &existed), &f->err);
    assert_int_equal(existed, expected);
    assert_string_equal(ash_file_id(file)->value.v_utf8.str, id);
    assert_string_equal(ash_upload_id(u)->value.v_utf8.str, id);
    ash_file_free(file);
    ash_upload_free(u);
}

static void test_bucket_seal__id_at_the_end(void **state)
{
    fixture *f = *state;
    for (size_t len = 0; len <= LARGE; len = len == 0 ? SMALL : len == SMALL ? LARGE : LARGE + 1) {
        uint8_t *data = support_bytes(len, 3);
        bson_value_t id = support_text_id("digest");
        int64_t chunks = (int64_t)(len + CHUNK - 1) / CHUNK;
        put_as(f, "digest", data, len, false, false);
        support_expect(f, &id, data, len);
        assert_int_equal(support_count(f->chunks, "{}"), chunks);
        /* Once more: what is there stays. */
        put_as(f, "digest", data, len, true, true);
        support_expect(f, &id, data, len);
        assert_int_equal(support_count(f->chunks, "{}"), chunks);
        assert_int_equal(support_count(f->files, "{}"), 1);
        assert_int_equal(support_count(f->attributes, "{}"), 1);
        assert_ok(ash_bucket_delete(f->bucket, &id, NULL, &f->err), &f->err);
        bson_value_destroy(&id);
        ash__free(data);
    }
}

static void test_bucket_seal__an_id_that_is_taken(void **state)
{
    fixture *f = *state;
    uint8_t *data = support_bytes(LARGE, 4);
    ash_upload_options o = ASH_UPLOAD_OPTIONS_INIT;
    bson_value_t id = support_text_id("digest");
    put_as(f, "digest", "first", 5, false, false);
    o.id_at_end = true;
    ash_upload *u = open_with(f, "g", &o, data, LARGE);
    assert_int_equal(finish_as(f, u, "digest", false, NULL, NULL), ASH_EEXISTS);
    assert_non_null(strstr(f->err.text, "exists already"));
    ash_upload_free(u);
    support_expect(f, &id, "first", 5);
    assert_int_equal(support_count(f->chunks, "{}"), 1);
    bson_value_destroy(&id);
    ash__free(data);
}

/* It is not there any more, and gives way. */
static void test_bucket_seal__an_expired_file_is_not_kept(void **state)
{
    fixture *f = *state;
    bson_value_t id = support_text_id("digest");
    put_as(f, "digest", "old", 3, false, false);
    assert_ok(ash_bucket_set_expiry(f->bucket, &id, 1000, &f->err), &f->err);
    put_as(f, "digest", "new", 3, true, false);
    support_expect(f, &id, "new", 3);
    assert_int_equal(support_count(f->chunks, "{}"), 1);
    bson_value_destroy(&id);
}

static void test_bucket_seal__ids_given_wrongly(void **state)
{
    fixture *f = *state;
    ash_upload_options o = ASH_UPLOAD_OPTIONS_INIT;
    ash_finish_options end = ASH_FINISH_OPTIONS_INIT;
    bson_value_t id = support_int_id(1);
    bson_value_t none = {.value_type = BSON_TYPE_UNDEFINED};
    ash_upload *u = NULL;
    o.id_at_end = true;
    assert_int_equal(ash_bucket_open_upload_stream_with_id(f->bucket, &id, "f", &o, &u, &f->err),
                     ASH_EINVAL);
    u = open_with(f, "f", &o, "abc", 3);
    assert_int_equal(ash_upload_finish(u, NULL, &f->err), ASH_EINVAL);
    end.id = &none;
    assert_int_equal(ash_upload_finish_with(u, &end, NULL, NULL, &f->err), ASH_EINVAL);
    end.id = &id;
    assert_ok(ash_upload_finish_with(u, &end, NULL, NULL, &f->err), &f->err);
    ash_upload_free(u);
    u = open_with(f, "f", NULL, "abc", 3);
    assert_int_equal(ash_upload_finish_with(u, &end, NULL, NULL, &f->err), ASH_EINVAL);
    end = (ash_finish_options)ASH_FINISH_OPTIONS_INIT;
    end.keep_existing = true;
    assert_int_equal(ash_upload_finish_with(u, &end, NULL, NULL, &f->err), ASH_EINVAL);
    ash_upload_free(u);
    assert_int_equal(support_count(f->files, "{}"), 1);
    assert_int_equal(support_count(f->chunks, "{}"), 1);
}

static void test_bucket_seal__resumed_and_named_at_the_end(void **state)
{
    fixture *f = *state;
    uint8_t *data = support_bytes(LARGE, 5);
    char want[ASH_DIGEST_TEXT_BYTES], got[ASH_DIGEST_TEXT_BYTES];
    ash_upload_options o = ASH_UPLOAD_OPTIONS_INIT;
    bson_value_t id = support_text_id("digest");
    o.id_at_end = o.resumable = true;
    o.digests = ASH_DIGEST_SHA1;
    ash_upload *u = open_with(f, "f", &o, data, LARGE / 2);
    char *token = ash__strdup(ash_upload_token(u));
    ash_upload_free(u);
    assert_ok(ash_bucket_resume_upload(f->bucket, token, &u, &f->err), &f->err);
    size_t at = (size_t)ash_upload_position(u);
    assert_true(at > 0 && at <= LARGE / 2);
    assert_ok(ash_upload_write(u, data + at, LARGE - at, &f->err), &f->err);
    assert_ok(ash_upload_seal(u, &f->err), &f->err);
    assert_ok(ash_upload_digest(u, ASH_DIGEST_SHA1, got, &f->err), &f->err);
    digest_of(ASH_DIGEST_SHA1, data, LARGE, want);
    assert_string_equal(got, want);
    assert_ok(finish_as(f, u, "digest", true, NULL, NULL), &f->err);
    ash_upload_free(u);
    support_expect(f, &id, data, LARGE);
    assert_int_equal(support_count(f->attributes, "{}"), 1);
    bson_value_destroy(&id);
    ash__free(token);
    ash__free(data);
}

#define SEAL(name) cmocka_unit_test_setup_teardown(name, support_setup, support_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SEAL(test_bucket_seal__digests_are_known_before_the_end),
        SEAL(test_bucket_seal__what_was_not_asked_for),
        SEAL(test_bucket_seal__forgotten_or_aborted),
        SEAL(test_bucket_seal__id_at_the_end),
        SEAL(test_bucket_seal__an_id_that_is_taken),
        SEAL(test_bucket_seal__an_expired_file_is_not_kept),
        SEAL(test_bucket_seal__ids_given_wrongly),
        SEAL(test_bucket_seal__resumed_and_named_at_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
