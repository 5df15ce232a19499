/* SPDX-License-Identifier: Apache-2.0 */
/* What NATS' clients test of their object stores, or leave out, and no other file here has:
 * docs/OBJECTS.md has the whole list. */
#include "support.h"

#include "base/clock.h"
#include "base/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ash_object *put_with(fixture *f, const ash_object_meta *meta, const void *data, size_t len)
{
    ash_object *o = NULL;
    assert_ok(ash_object_store_put_bytes(f->store, meta, data, len, NULL, NULL, &o, &f->err),
              &f->err);
    return o;
}

/* ---- bytes ---- */

static void expect_digest(const ash_object *o, const uint8_t *data, size_t len)
{
    uint8_t bytes[ASH_DIGEST_MAX_BYTES];
    char hex[ASH_DIGEST_TEXT_BYTES] = "";
    ash_error err = ASH_ERROR_INIT;
    ash_object *same = NULL;
    ash_digest *d = ash__digest_new(ASH_DIGEST_SHA256);
    ash__digest_add(d, data, len);
    ash__hex(bytes, ash__digest_finish(d, bytes), hex);
    ash__digest_free(d);
    /* From the notation that clients once wrote, into ours. */
    char *json = ash__sprintf("{\"name\":\"a\",\"bucket\":\"b\",\"digest\":\"SHA-256=%s\"}", hex);
    assert_ok(ash_object_from_json(json, strlen(json), &same, &err), &err);
    assert_string_equal(ash_object_digest(o), ash_object_digest(same));
    ash_object_free(same);
    ash__free(json);
}

static void test_object_peers__digests(void **state)
{
    fixture *f = *state;
    static const size_t sizes[] = {100, 1000, 10000, 100000};
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    meta.name = "a";
    meta.chunk_size = 999;
    for (size_t i = 0; i < ASH_ARRAY_LEN(sizes); i++) {
        uint8_t *data = support_bytes(sizes[i], (uint32_t)i);
        ash_object *o = put_with(f, &meta, data, sizes[i]);
        expect_digest(o, data, sizes[i]);
        ash_object_free(o);
        ash__free(data);
    }
}

/* Chunks of one byte beside those of a large one. */
static void test_object_peers__one_byte_chunks(void **state)
{
    fixture *f = *state;
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    uint8_t *data = support_bytes(1500000, 1);
    meta.name = "small";
    meta.chunk_size = 1;
    ash_object *o = put_with(f, &meta, data, 128);
    assert_int_equal(ash_object_chunks(o), 128);
    ash_object_free(o);
    meta.name = "big";
    meta.chunk_size = 1000000;
    o = put_with(f, &meta, data, 1500000);
    assert_int_equal(ash_object_chunks(o), 2);
    support_expect_bytes(f, f->store, "small", data, 128);
    support_expect_bytes(f, f->store, "big", data, 1500000);
    support_delete(f, f->store, "small");
    support_expect_bytes(f, f->store, "big", data, 1500000);
    support_expect_sound(f, f->store);
    ash_object_free(o);
    ash__free(data);
}

static void test_object_peers__many_then_sealed(void **state)
{
    enum { COUNT = 60 };
    fixture *f = *state;
    uint8_t *data = support_bytes(40000, 1);
    char name[16];
    for (int i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, "file-%d", i);
        support_put_bytes(f, f->store, name, data + i, 39000);
    }
    assert_ok(ash_object_store_seal(f->store, NULL, &f->err), &f->err);
    for (int i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, "file-%d", i);
        support_expect_bytes(f, f->store, name, data + i, 39000);
    }
    ash__free(data);
}

static int64_t bytes_of(fixture *f)
{
    ash_object_status *st = support_status(f, f->store);
    int64_t bytes = ash_object_status_bytes(st);
    ash_object_status_free(st);
    return bytes;
}

static void test_object_peers__one_of_two_is_deleted(void **state)
{
    fixture *f = *state;
    uint8_t *data = support_bytes(3000000, 1);
    support_put_bytes(f, f->store, "a", data, 2000000);
    int64_t before = bytes_of(f);
    support_put_bytes(f, f->store, "b", data, 3000000);
    support_delete(f, f->store, "b");
    assert_true(bytes_of(f) > before && bytes_of(f) < before + 2000);
    support_expect_bytes(f, f->store, "a", data, 2000000);
    support_expect_sound(f, f->store);
    ash__free(data);
}

/* What was read by a part, then the rest of it, then nothing for ever. */
static void test_object_peers__the_rest(void **state)
{
    fixture *f = *state;
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    ash_object_reader *r = NULL;
    static const char text[] = "first chunk of the bytes, second chunk of the bytes";
    char got[sizeof text] = "";
    size_t n = 1, total = 10;
    meta.name = "a";
    meta.chunk_size = 24;
    ash_object_free(put_with(f, &meta, text, sizeof text - 1));
    assert_ok(ash_object_store_open_reader(f->store, "a", NULL, NULL, &r, &f->err), &f->err);
    for (size_t at = 0; at < 10; at += n)
        assert_ok(ash_object_reader_read(r, got + at, 10 - at, &n, &f->err), &f->err);
    for (n = 1; n > 0; total += n)
        assert_ok(ash_object_reader_read(r, got + total, sizeof got - total, &n, &f->err), &f->err);
    assert_string_equal(got, text);
    assert_int_equal(ash_object_reader_position(r), sizeof text - 1);
    assert_ok(ash_object_reader_read(r, got, 1, &n, &f->err), &f->err);
    assert_int_equal(n, 0);
    ash_object_reader_free(r);
}

static void test_object_peers__read_after_its_time(void **state)
{
    fixture *f = *state;
    ash_op op = ASH_OP_INIT;
    ash_object_reader *r = NULL;
    ash_object_listing *l = NULL;
    const ash_object *o = NULL;
    uint8_t *data = support_bytes(2000000, 1);
    size_t n = 0;
    support_put_bytes(f, f->store, "a", data, 2000000);
    op.deadline_ms = ash_deadline(1500);
    assert_ok(ash_object_store_open_reader(f->store, "a", NULL, &op, &r, &f->err), &f->err);
    assert_ok(ash_object_reader_read(r, data, 1000, &n, &f->err), &f->err);
    ash__clock_sleep_ms(1600);
    assert_int_equal(ash_object_reader_read(r, data, 1000, &n, &f->err), ASH_ETIMEOUT);
    assert_int_equal(n, 0);
    ash_object_reader_free(r);
    int rc = ash_object_store_list(f->store, NULL, &op, &l, &f->err);
    if (rc == 0)
        rc = ash_object_listing_next(l, &o, &f->err);
    assert_int_equal(rc, ASH_ETIMEOUT);
    ash_object_listing_free(l);
    ash__free(data);
}

/* The limit is met by chunks that come later: whatever call tells, nothing of them stays. */
static void test_object_peers__max_bytes_by_parts(void **state)
{
    fixture *f = *state;
    ash_object_config config = ASH_OBJECT_CONFIG_INIT;
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    ash_object_writer *w = NULL;
    uint8_t *data = support_bytes(100000, 1);
    int rc = 0;
    config.max_bytes = 40000;
    support_configure(f, &config);
    support_put(f, f->store, "a", "old");
    meta.name = "a";
    meta.chunk_size = 500;
    assert_ok(ash_object_store_open_writer(f->store, &meta, NULL, NULL, &w, &f->err), &f->err);
    for (size_t at = 0; rc == 0 && at < 100000; at += 500)
        rc = ash_object_writer_write(w, data + at, 500, &f->err);
    if (rc == 0)
        rc = ash_object_writer_finish(w, NULL, NULL, &f->err);
    assert_int_equal(rc, ASH_ENOSPC);
    ash_object_writer_free(w);
    support_expect(f, f->store, "a", "old");
    support_expect_sound(f, f->store);
    assert_true(bytes_of(f) < 3000);
    support_put_bytes(f, f->store, "b", data, 20000);
    support_expect_bytes(f, f->store, "b", data, 20000);
    ash__free(data);
}

/* ---- what is said of objects ---- */

static void test_object_peers__modified_now(void **state)
{
    fixture *f = *state;
    ash_object *o = NULL;
    int64_t from = ash__clock_wall_ms();
    assert_ok(support_try_put(f, f->store, "a", "x", 1, &o), &f->err);
    ash_object_free(o);
    o = support_info(f, f->store, "a");
    assert_in_range(ash_object_modified_ms(o), from - 1000, ash__clock_wall_ms() + 1000);
    ash_object_free(o);
}

/* Others lose the chunk size, or the link, when something else is changed. */
static void test_object_peers__an_update_keeps_the_rest(void **state)
{
    fixture *f = *state;
    ash_object_meta meta = ASH_OBJECT_META_INIT, change = ASH_OBJECT_META_INIT;
    bson_t *metadata = BCON_NEW("k", "v"), got;
    meta.name = "a";
    meta.chunk_size = 7;
    meta.metadata = metadata;
    ash_object *o = put_with(f, &meta, "twenty bytes of text", 20), *after = NULL;
    change.description = "new";
    assert_ok(ash_object_store_update_meta(f->store, "a", &change, NULL, NULL, &after, &f->err),
              &f->err);
    assert_int_equal(ash_object_chunk_size(after), 7);
    assert_int_equal(ash_object_chunks(after), 3);
    assert_int_equal(ash_object_size(after), 20);
    assert_string_equal(ash_object_digest(after), ash_object_digest(o));
    assert_true(ash_object_metadata(after, &got) && bson_equal(&got, metadata));
    support_expect(f, f->store, "a", "twenty bytes of text");
    ash_object_free(after);
    ash_object_free(o);
    bson_destroy(metadata);
}

/* A put after an update, a rename after a put, each by the revision that the one before told. */
static void test_object_peers__revisions(void **state)
{
    fixture *f = *state;
    ash_object_change_options if_it = ASH_OBJECT_CHANGE_OPTIONS_INIT;
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    ash_object *o = NULL;
    uint64_t before = 0;
    for (int i = 0; i < 4; i++) {
        meta = (ash_object_meta)ASH_OBJECT_META_INIT;
        if_it.if_absent = i == 0;
        if_it.if_revision = before;
        meta.name = i == 3 ? "b" : "a";
        int rc =
            i % 2 == 0
                ? ash_object_store_put_bytes(f->store, &meta, "bytes", 5, &if_it, NULL, &o, &f->err)
                : ash_object_store_update_meta(f->store, "a", &meta, &if_it, NULL, &o, &f->err);
        assert_ok(rc, &f->err);
        assert_true(ash_object_revision(o) > before);
        before = ash_object_revision(o);
        ash_object_free(o);
    }
    o = support_info(f, f->store, "b");
    assert_int_equal(ash_object_revision(o), before);
    ash_object_free(o);
    if_it.if_revision = before - 1;
    meta.name = "b";
    assert_int_equal(
        ash_object_store_put_bytes(f->store, &meta, "other", 5, &if_it, NULL, NULL, &f->err),
        ASH_ECONDITION);
    support_expect(f, f->store, "b", "bytes");
    support_expect_sound(f, f->store);
}

/* ---- many ---- */

static void test_object_peers__long_listings(void **state)
{
    enum { COUNT = 1100 };
    fixture *f = *state;
    ash_object_list_options by_name = ASH_OBJECT_LIST_OPTIONS_INIT;
    const ash_object_list_options *orders[] = {NULL, &by_name};
    char name[16];
    by_name.by_name = true;
    for (int i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, "n%04d", i);
        support_put(f, f->store, name, "");
    }
    for (int order = 0; order < 2; order++) {
        ash_object_listing *l = NULL;
        const ash_object *o = NULL;
        assert_ok(ash_object_store_list(f->store, orders[order], NULL, &l, &f->err), &f->err);
        for (int i = 0; i < COUNT; i++) {
            assert_ok(ash_object_listing_next(l, &o, &f->err), &f->err);
            assert_non_null(o);
            snprintf(name, sizeof name, "n%04d", i);
            assert_string_equal(ash_object_name(o), name);
        }
        assert_ok(ash_object_listing_next(l, &o, &f->err), &f->err);
        assert_null(o);
        ash_object_listing_free(l);
    }
}

static void expect_listed(fixture *f, const char *name, const ash_object_config *wanted)
{
    ash_object_status_listing *l = NULL;
    const ash_object_status *st = NULL;
    ash_object_config got = ASH_OBJECT_CONFIG_INIT;
    assert_ok(ash_object_manager_list(f->manager, NULL, &l, &f->err), &f->err);
    do {
        assert_ok(ash_object_status_listing_next(l, &st, &f->err), &f->err);
        assert_non_null(st);
    } while (strcmp(ash_object_status_name(st), name) != 0);
    assert_ok(ash_object_status_config(st, &got, &f->err), &f->err);
    assert_int_equal(got.ttl_ms, wanted->ttl_ms);
    assert_int_equal(got.storage, wanted->storage);
    assert_string_equal(got.description, wanted->description);
    if (wanted->metadata != NULL)
        assert_true(bson_equal(got.metadata, wanted->metadata));
    assert_string_equal(ash_object_status_backing(st),
                        strcmp(f->can.backend, "jetstream") == 0 ? "JetStream" : "Ashlar");
    ash_object_status_listing_free(l);
}

/* A server may have no memory to give. */
static ash_object_storage other_storage(fixture *f)
{
    ash_object_config config = ASH_OBJECT_CONFIG_INIT;
    config.name = support_name(f, "memory");
    config.storage = ASH_OBJECT_STORAGE_MEMORY;
    int rc = ash_object_manager_create(f->manager, &config, NULL, NULL, &f->err);
    if (rc == 0)
        assert_ok(ash_object_manager_delete(f->manager, config.name, NULL, &f->err), &f->err);
    else
        assert_int_equal(rc, f->can.placement ? ASH_ENOSPC : ASH_EUNSUPPORTED);
    return rc == 0 ? ASH_OBJECT_STORAGE_MEMORY : ASH_OBJECT_STORAGE_FILE;
}

static void test_object_peers__stores_are_listed_as_they_are(void **state)
{
    fixture *f = *state;
    bson_t *metadata = BCON_NEW("owner", "me");
    ash_object_config one = ASH_OBJECT_CONFIG_INIT, two = ASH_OBJECT_CONFIG_INIT;
    one.description = "one";
    one.ttl_ms = 15000;
    one.storage = other_storage(f);
    two.description = "two";
    two.metadata = f->can.metadata ? metadata : NULL;
    ash_object_store_close(support_store(f, "1", &one));
    ash_object_store_close(support_store(f, "2", &two));
    expect_listed(f, support_name(f, "1"), &one);
    expect_listed(f, support_name(f, "2"), &two);
    bson_destroy(metadata);
}

static void test_object_peers__after_the_store(void **state)
{
    fixture *f = *state;
    ash_object_status *st = NULL;
    ash_object_listing *l = NULL;
    ash_object_watch *w = NULL;
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    ash_object_store *s = support_store(f, "x", NULL);
    support_put(f, s, "a", "text");
    ash_object *a = support_info(f, s, "a");
    assert_ok(ash_object_manager_delete(f->manager, support_name(f, "x"), NULL, &f->err), &f->err);
    meta.description = "new";
    assert_int_equal(ash_object_store_status(s, NULL, &st, &f->err), ASH_ENOTFOUND);
    assert_int_equal(ash_object_store_list(s, NULL, NULL, &l, &f->err), ASH_ENOTFOUND);
    assert_int_equal(ash_object_store_watch(s, NULL, NULL, &w, &f->err), ASH_ENOTFOUND);
    assert_int_equal(ash_object_store_delete(s, "a", NULL, NULL, NULL, &f->err), ASH_ENOTFOUND);
    assert_int_equal(ash_object_store_link(s, "l", a, NULL, NULL, NULL, &f->err), ASH_ENOTFOUND);
    assert_int_equal(ash_object_store_update_meta(s, "a", &meta, NULL, NULL, NULL, &f->err),
                     ASH_ENOTFOUND);
    ash_object_free(a);
    ash_object_store_close(s);
}

#define T(name)                                                                                    \
    cmocka_unit_test_setup_teardown(test_object_peers__##name, support_setup, support_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(digests),
        T(one_byte_chunks),
        T(many_then_sealed),
        T(one_of_two_is_deleted),
        T(the_rest),
        T(read_after_its_time),
        T(max_bytes_by_parts),
        T(modified_now),
        T(an_update_keeps_the_rest),
        T(revisions),
        T(long_listings),
        T(stores_are_listed_as_they_are),
        T(after_the_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
