/* SPDX-License-Identifier: Apache-2.0 */
/* Putting, getting, info, deleting. */
#include "support.h"

#include "base/buffer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ash_object *put_meta(fixture *f, const ash_object_meta *meta, const void *data, size_t len)
{
    ash_object *o = NULL;
    assert_ok(ash_object_store_put_bytes(f->store, meta, data, len, NULL, NULL, &o, &f->err),
              &f->err);
    return o;
}

static void test_object_puts__info(void **state)
{
    fixture *f = *state;
    ash_object *o = NULL, *again;
    assert_ok(support_try_put(f, f->store, "b", "DEF", 3, &o), &f->err);
    again = support_info(f, f->store, "b");
    const ash_object *both[] = {o, again};
    for (int i = 0; i < 2; i++) {
        assert_string_equal(ash_object_name(both[i]), "b");
        assert_string_equal(ash_object_store_of(both[i]), support_name(f, ""));
        assert_string_equal(ash_object_description(both[i]), "");
        assert_int_equal(strlen(ash_object_nuid(both[i])), 22);
        assert_int_equal(strspn(ash_object_nuid(both[i]), "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                                          "abcdefghijklmnopqrstuvwxyz"),
                         22);
        assert_int_equal(ash_object_size(both[i]), 3);
        assert_int_equal(ash_object_chunks(both[i]), 1);
        assert_int_equal(ash_object_chunk_size(both[i]), 128 * 1024);
        assert_string_equal(ash_object_digest(both[i]),
                            "SHA-256=lnxaW34vu-MICgxc7-p8J5VwsWroRlUlU4vDsRUmekU=");
        assert_true(ash_object_modified_ms(both[i]) > 1600000000000);
        assert_false(ash_object_is_deleted(both[i]));
        assert_false(ash_object_is_link(both[i]));
        assert_null(ash_object_link_store(both[i]));
        assert_true(ash_object_revision(both[i]) > 0);
        assert_int_equal(ash_object_expires_ms(both[i]), 0);
    }
    assert_int_equal(ash_object_revision(o), ash_object_revision(again));
    assert_true(llabs(ash_object_modified_ms(o) - ash_object_modified_ms(again)) < 1000);
    support_expect(f, f->store, "b", "DEF");
    assert_ok(ash_object_store_info(f->store, "b", NULL, NULL, NULL, &f->err), &f->err);
    assert_int_equal(ash_object_store_info(f->store, "c", NULL, NULL, NULL, &f->err),
                     ASH_ENOTFOUND);
    ash_object_free(o);
    ash_object_free(again);
}

static void test_object_puts__bad_metas(void **state)
{
    fixture *f = *state;
    bson_t *number = BCON_NEW("a", BCON_INT32(1));
    bson_t *nested = BCON_NEW("a", "[", BCON_INT32(1), "]");
    bson_t *empty_tag = BCON_NEW("0", "");
    const ash_object_meta rows[] = {
        {.name = NULL},
        {.name = ""},
        {.name = "\xff\xfe"},
        {.name = "a", .description = "\xff"},
        {.name = "a", .metadata = number},
        {.name = "a", .headers = nested},
        {.name = "a", .tags = number},
        {.name = "a", .tags = empty_tag},
        {.name = "a", .chunk_size = -1},
        {.name = "a", .digest = 8},
        {.name = "a", .encoding = "lzma"},
    };
    for (size_t i = 0; i < ASH_ARRAY_LEN(rows); i++) {
        ash_object_meta meta = rows[i];
        meta.size = sizeof meta;
        assert_int_equal(
            ash_object_store_put_bytes(f->store, &meta, "x", 1, NULL, NULL, NULL, &f->err),
            ASH_EINVAL);
    }
    support_expect_list(f, f->store, NULL, "");
    bson_destroy(number);
    bson_destroy(nested);
    bson_destroy(empty_tag);
}

static void test_object_puts__too_much_is_said(void **state)
{
    fixture *f = *state;
    char *text = ash__alloc(70000);
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    memset(text, 'x', 69999);
    meta.name = "a";
    meta.description = text;
    assert_int_equal(ash_object_store_put_bytes(f->store, &meta, "x", 1, NULL, NULL, NULL, &f->err),
                     ASH_ETOOBIG);
    meta.description = NULL;
    meta.name = text;
    assert_int_equal(ash_object_store_put_bytes(f->store, &meta, "x", 1, NULL, NULL, NULL, &f->err),
                     ASH_ETOOBIG);
    ash__free(text);
}

static void test_object_puts__names(void **state)
{
    fixture *f = *state;
    static const char *const names[] = {
        "BLOB.txt", "foo bar",  " ",          "*",    ">",    ".*<>:\"/\\|?&",
        "a/b/c",    "..",       "a.b",        "grün", "\n",   "日本語",
        "$where",   "a..b",     "'",          "%00",  ".",    "-",
        "\x7f",     "a b.c>d*", "{\"a\": 1}", "😀",    "id:1", "a@0",
    };
    for (size_t i = 0; i < ASH_ARRAY_LEN(names); i++)
        support_put(f, f->store, names[i], names[i]);
    for (size_t i = 0; i < ASH_ARRAY_LEN(names); i++) {
        ash_object *o = support_info(f, f->store, names[i]);
        assert_string_equal(ash_object_name(o), names[i]);
        support_expect(f, f->store, names[i], names[i]);
        ash_object_free(o);
    }
    for (size_t i = 0; i < ASH_ARRAY_LEN(names); i++)
        support_delete(f, f->store, names[i]);
    support_expect_list(f, f->store, NULL, "");
}

/* Names that an index has to cut. */
static void test_object_puts__long_names(void **state)
{
    fixture *f = *state;
    char a[1025], b[1025];
    memset(a, 'x', 1024);
    a[1024] = '\0';
    memcpy(b, a, sizeof a);
    b[1023] = 'y';
    support_put(f, f->store, a, "one");
    support_put(f, f->store, b, "two");
    support_expect(f, f->store, a, "one");
    support_expect(f, f->store, b, "two");
}

static void test_object_puts__empty(void **state)
{
    fixture *f = *state;
    ash_object *o = NULL;
    assert_ok(support_try_put(f, f->store, "e", NULL, 0, &o), &f->err);
    assert_int_equal(ash_object_size(o), 0);
    assert_int_equal(ash_object_chunks(o), 0);
    assert_string_equal(ash_object_digest(o),
                        "SHA-256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU=");
    support_expect(f, f->store, "e", "");
    support_put(f, f->store, "e", "now some");
    support_expect(f, f->store, "e", "now some");
    support_put(f, f->store, "e", "");
    support_expect(f, f->store, "e", "");
    support_expect_sound(f, f->store);
    ash_object_free(o);
}

/* Whatever pieces the bytes come in, chunks are whole. */
static void test_object_puts__chunks(void **state)
{
    fixture *f = *state;
    static const size_t pieces[] = {1, 4, 5, 6, 13, 100};
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    uint8_t *data = support_bytes(1003, 1);
    for (size_t i = 0; i < ASH_ARRAY_LEN(pieces); i++) {
        ash_object_writer *w = NULL;
        ash_object *o = NULL;
        meta.name = "c";
        meta.chunk_size = 5;
        assert_ok(ash_object_store_open_writer(f->store, &meta, NULL, NULL, &w, &f->err), &f->err);
        for (size_t at = 0; at < 1003; at += pieces[i]) {
            size_t len = 1003 - at < pieces[i] ? 1003 - at : pieces[i];
            assert_ok(ash_object_writer_write(w, data + at, len, &f->err), &f->err);
        }
        assert_ok(ash_object_writer_finish(w, NULL, &o, &f->err), &f->err);
        assert_int_equal(ash_object_writer_write(w, "x", 1, &f->err), ASH_ESTATE);
        ash_object_writer_free(w);
        assert_int_equal(ash_object_size(o), 1003);
        assert_int_equal(ash_object_chunks(o), 201);
        assert_int_equal(ash_object_chunk_size(o), 5);
        support_expect_bytes(f, f->store, "c", data, 1003);
        ash_object_free(o);
    }
    support_expect_sound(f, f->store);
    ash__free(data);
}

static void test_object_puts__default_chunk_is_128k(void **state)
{
    fixture *f = *state;
    uint8_t *data = support_bytes(129 * 1024, 1);
    ash_object *o = NULL;
    assert_ok(support_try_put(f, f->store, "c", data, 129 * 1024, &o), &f->err);
    assert_int_equal(ash_object_chunks(o), 2);
    ash_object_free(o);
    assert_ok(support_try_put(f, f->store, "c", data, 128 * 1024, &o), &f->err);
    assert_int_equal(ash_object_chunks(o), 1);
    ash_object_free(o);
    ash__free(data);
}

/* The four contents and digests that NATS' clients test with have 100 to 100,000 bytes; the bytes
 * here are made. */
static void test_object_puts__digests_of_sizes(void **state)
{
    fixture *f = *state;
    static const size_t sizes[] = {1, 8, 9, 10, 100, 1000, 10000, 100000};
    for (size_t i = 0; i < ASH_ARRAY_LEN(sizes); i++) {
        uint8_t *data = support_bytes(sizes[i], (uint32_t)i);
        ash_object_meta meta = ASH_OBJECT_META_INIT;
        meta.name = "d";
        ash_object *one = put_meta(f, &meta, data, sizes[i]);
        meta.chunk_size = 9;
        ash_object *nine = put_meta(f, &meta, data, sizes[i]);
        assert_string_equal(ash_object_digest(one), ash_object_digest(nine));
        support_expect_bytes(f, f->store, "d", data, sizes[i]);
        ash_object_free(one);
        ash_object_free(nine);
        ash__free(data);
    }
}

static void test_object_puts__large(void **state)
{
    fixture *f = *state;
    size_t len = 16 * 1024 * 1024 + 22;
    uint8_t *data = support_bytes(len, 7);
    ash_object *o = NULL;
    assert_ok(support_try_put(f, f->store, "BLOB", data, len, &o), &f->err);
    assert_int_equal(ash_object_size(o), len);
    assert_int_equal(ash_object_chunks(o), 129);
    support_expect_bytes(f, f->store, "BLOB", data, len);
    ash_object_free(o);
    ash__free(data);
}

typedef struct reading {
    const uint8_t *data;
    size_t left;
    size_t piece;
    int fail_at; /* after so many reads; 0: never */
} reading;

static int64_t read_input(void *ctx, void *buf, size_t len, ash_error *err)
{
    reading *r = ctx;
    if (r->fail_at > 0 && --r->fail_at == 0)
        return ash__fail(err, ASH_EIO, "the input broke");
    len = len < r->piece ? len : r->piece;
    len = len < r->left ? len : r->left;
    memcpy(buf, r->data, len);
    r->data += len;
    r->left -= len;
    return (int64_t)len;
}

static int write_output(void *ctx, const void *data, size_t len, ash_error *err)
{
    (void)err;
    ash__buffer_append(ctx, data, len);
    return 0;
}

static void test_object_puts__streams(void **state)
{
    fixture *f = *state;
    uint8_t *data = support_bytes(1000000, 3);
    reading r = {data, 1000000, 7777, 0};
    ash_input in = {&r, read_input};
    ash_buffer got = ASH_BUFFER_INIT;
    ash_output to = {&got, write_output};
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    ash_object *o = NULL;
    meta.name = "s";
    assert_ok(ash_object_store_put(f->store, &meta, &in, NULL, NULL, &o, &f->err), &f->err);
    assert_int_equal(ash_object_chunks(o), 8);
    ash_object_free(o);
    assert_ok(ash_object_store_get(f->store, "s", &to, NULL, NULL, &o, &f->err), &f->err);
    assert_int_equal(ash_object_size(o), 1000000);
    assert_int_equal(got.len, 1000000);
    assert_memory_equal(got.data, data, 1000000);
    ash_object_free(o);
    ash__buffer_release(&got);
    ash__free(data);
}

/* A put that fails, or that nobody finishes, leaves the old object and no bytes. */
static void test_object_puts__failed_overwrite_keeps_the_old(void **state)
{
    fixture *f = *state;
    uint8_t *data = support_bytes(5000000, 3);
    reading r = {data, 5000000, 100000, 20};
    ash_input in = {&r, read_input};
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    ash_object_writer *w = NULL;
    support_put(f, f->store, "s", "old");
    ash_object *before = support_info(f, f->store, "s");
    meta.name = "s";
    assert_int_equal(ash_object_store_put(f->store, &meta, &in, NULL, NULL, NULL, &f->err),
                     ASH_EIO);
    assert_ok(ash_object_store_open_writer(f->store, &meta, NULL, NULL, &w, &f->err), &f->err);
    assert_ok(ash_object_writer_write(w, data, 5000000, &f->err), &f->err);
    support_expect(f, f->store, "s", "old");
    assert_ok(ash_object_writer_seal(w, &f->err), &f->err);
    support_expect(f, f->store, "s", "old");
    ash_object_writer_free(w);
    support_expect(f, f->store, "s", "old");
    ash_object *after = support_info(f, f->store, "s");
    assert_int_equal(ash_object_revision(before), ash_object_revision(after));
    support_expect_sound(f, f->store);
    ash_object_free(before);
    ash_object_free(after);
    ash__free(data);
}

static void test_object_puts__max_bytes(void **state)
{
    fixture *f = *state;
    ash_object_config config = ASH_OBJECT_CONFIG_INIT;
    uint8_t *data = support_bytes(1000000, 3);
    config.max_bytes = 600 * 1024;
    support_configure(f, &config);
    support_put(f, f->store, "a", "old");
    assert_int_equal(support_try_put(f, f->store, "a", data, 1000000, NULL), ASH_ENOSPC);
    support_expect(f, f->store, "a", "old");
    assert_int_equal(support_try_put(f, f->store, "b", data, 1000000, NULL), ASH_ENOSPC);
    support_expect_missing(f, f->store, "b");
    support_put_bytes(f, f->store, "b", data, 250000);
    support_put_bytes(f, f->store, "b", data + 1, 250000);
    support_expect_bytes(f, f->store, "b", data + 1, 250000);
    support_delete(f, f->store, "b");
    support_put_bytes(f, f->store, "c", data, 400000);
    support_expect_sound(f, f->store);
    ash__free(data);
}

static void test_object_puts__limits(void **state)
{
    fixture *f = *state;
    ash_object_config config = ASH_OBJECT_CONFIG_INIT;
    support_need(f, limits);
    config.max_objects = 2;
    config.max_object_bytes = 4;
    support_configure(f, &config);
    support_put(f, f->store, "a", "1234");
    assert_int_equal(support_try_put(f, f->store, "a", "12345", 5, NULL), ASH_ENOSPC);
    support_put(f, f->store, "b", "x");
    assert_int_equal(support_try_put(f, f->store, "c", "x", 1, NULL), ASH_ENOSPC);
    support_put(f, f->store, "b", "y");
    support_delete(f, f->store, "a");
    support_put(f, f->store, "c", "x");
    support_expect_list(f, f->store, NULL, "b c");
    support_expect_sound(f, f->store);
}

static void test_object_puts__overwriting(void **state)
{
    fixture *f = *state;
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    meta.name = "a";
    meta.description = "first";
    ash_object *one = put_meta(f, &meta, "one", 3);
    meta.description = NULL;
    ash_object *two = put_meta(f, &meta, "other", 5);
    assert_string_not_equal(ash_object_nuid(one), ash_object_nuid(two));
    assert_true(ash_object_revision(one) < ash_object_revision(two));
    assert_string_equal(ash_object_description(two), "");
    support_expect(f, f->store, "a", "other");
    support_expect_sound(f, f->store);
    ash_object_free(one);
    ash_object_free(two);
}

static void expect_deleted(fixture *f, const ash_object *o)
{
    (void)f;
    assert_true(ash_object_is_deleted(o));
    assert_int_equal(ash_object_size(o), 0);
    assert_int_equal(ash_object_chunks(o), 0);
    assert_string_equal(ash_object_digest(o), "");
}

static void test_object_puts__delete(void **state)
{
    fixture *f = *state;
    ash_object_read_options shown = ASH_OBJECT_READ_OPTIONS_INIT;
    ash_object *o = NULL, *again = NULL;
    uint8_t *data = NULL;
    size_t len = 1;
    shown.deleted = true;
    support_put(f, f->store, "a", "text");
    assert_ok(ash_object_store_delete(f->store, "a", NULL, NULL, &o, &f->err), &f->err);
    expect_deleted(f, o);
    support_expect_missing(f, f->store, "a");
    assert_ok(ash_object_store_delete(f->store, "a", NULL, NULL, &again, &f->err), &f->err);
    expect_deleted(f, again);
    assert_int_equal(ash_object_revision(o), ash_object_revision(again));
    ash_object_free(again);
    assert_ok(ash_object_store_info(f->store, "a", &shown, NULL, &again, &f->err), &f->err);
    expect_deleted(f, again);
    ash_object_free(again);
    assert_ok(ash_object_store_get_bytes(f->store, "a", &shown, NULL, &data, &len, &f->err),
              &f->err);
    assert_int_equal(len, 0);
    ash_object_bytes_free(data);
    assert_int_equal(ash_object_store_delete(f->store, "never", NULL, NULL, NULL, &f->err),
                     ASH_ENOTFOUND);
    assert_int_equal(ash_object_store_info(f->store, "never", &shown, NULL, &again, &f->err),
                     ASH_ENOTFOUND);
    support_expect_sound(f, f->store);
    support_put(f, f->store, "a", "back");
    support_expect(f, f->store, "a", "back");
    ash_object_free(o);
}

static void test_object_puts__missing(void **state)
{
    fixture *f = *state;
    ash_object *o = NULL;
    support_expect_missing(f, f->store, "no");
    assert_int_equal(ash_object_store_info(f->store, "", NULL, NULL, &o, &f->err), ASH_EINVAL);
    assert_int_equal(ash_object_store_delete(f->store, "", NULL, NULL, NULL, &f->err), ASH_EINVAL);
}

static void test_object_puts__meta(void **state)
{
    fixture *f = *state;
    bson_t *metadata = BCON_NEW("owner", "me", "a.b", "dots", "", "x");
    bson_t *good = BCON_NEW("owner", "me", "a.b", "dots");
    bson_t *headers = BCON_NEW("key1", "[", "foo", "]", "key2", "[", "bar", "baz", "]", "one", "x");
    bson_t *wanted =
        BCON_NEW("key1", "[", "foo", "]", "key2", "[", "bar", "baz", "]", "one", "[", "x", "]");
    bson_t *tags = BCON_NEW("0", "red", "1", "blue"), got;
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    meta.name = "m";
    meta.description = "described";
    meta.headers = headers;
    meta.metadata = metadata;
    assert_int_equal(ash_object_store_put_bytes(f->store, &meta, "x", 1, NULL, NULL, NULL, &f->err),
                     ASH_EINVAL);
    meta.metadata = good;
    meta.tags = tags;
    ash_object_free(put_meta(f, &meta, "x", 1));
    ash_object *o = support_info(f, f->store, "m");
    assert_string_equal(ash_object_description(o), "described");
    assert_true(ash_object_headers(o, &got));
    assert_true(bson_equal(&got, wanted));
    assert_true(ash_object_metadata(o, &got));
    assert_true(bson_equal(&got, good));
    assert_int_equal(ash_object_tag_count(o), 2);
    assert_string_equal(ash_object_tag(o, 0), "red");
    assert_string_equal(ash_object_tag(o, 1), "blue");
    assert_null(ash_object_tag(o, 2));
    assert_null(ash_object_content_type(o));
    ash_object_free(o);
    meta.content_type = "text/plain";
    ash_object_free(put_meta(f, &meta, "x", 1));
    o = support_info(f, f->store, "m");
    assert_string_equal(ash_object_content_type(o), "text/plain");
    ash_object_free(o);
    bson_destroy(metadata);
    bson_destroy(good);
    bson_destroy(headers);
    bson_destroy(wanted);
    bson_destroy(tags);
}

/* Again from the disk. */
static void test_object_puts__after_reopening(void **state)
{
    fixture *f = *state;
    support_put(f, f->store, "a", "text");
    support_put(f, f->store, "b", "gone");
    support_delete(f, f->store, "b");
    support_reopen(f);
    support_expect(f, f->store, "a", "text");
    support_expect_missing(f, f->store, "b");
    support_expect_sound(f, f->store);
}

#define T(name)                                                                                    \
    cmocka_unit_test_setup_teardown(test_object_puts__##name, support_setup, support_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(info),
        T(bad_metas),
        T(too_much_is_said),
        T(names),
        T(long_names),
        T(empty),
        T(chunks),
        T(default_chunk_is_128k),
        T(digests_of_sizes),
        T(large),
        T(streams),
        T(failed_overwrite_keeps_the_old),
        T(max_bytes),
        T(limits),
        T(overwriting),
        T(delete),
        T(missing),
        T(meta),
        T(after_reopening),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
