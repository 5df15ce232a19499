/* SPDX-License-Identifier: Apache-2.0 */
/* Stores: making, binding, listing, changing, sealing, deleting. */
#include "support.h"

#include <stdio.h>
#include <string.h>

static void test_object_stores__names(void **state)
{
    fixture *f = *state;
    static const char *const bad[] = {"",   "TEST.", "This.is.not.a.valid.name!", "a b", "a/b", "ä",
                                      "a*", "a>"};
    ash_object_config config = ASH_OBJECT_CONFIG_INIT;
    ash_object_store *s = NULL;
    assert_int_equal(ash_object_manager_create(f->manager, &config, NULL, &s, &f->err), ASH_EINVAL);
    for (size_t i = 0; i < ASH_ARRAY_LEN(bad); i++) {
        config.name = bad[i];
        assert_int_equal(ash_object_manager_create(f->manager, &config, NULL, &s, &f->err),
                         ASH_EINVAL);
        assert_non_null(strstr(f->err.text, "is not the name of an object store"));
        assert_int_equal(ash_object_manager_bind(f->manager, bad[i], NULL, &s, &f->err),
                         ASH_EINVAL);
        assert_int_equal(ash_object_manager_delete(f->manager, bad[i], NULL, &f->err), ASH_EINVAL);
    }
    assert_null(s);
    ash_object_store_close(support_store(f, "A_z-09", NULL));
}

static void test_object_stores__addresses(void **state)
{
    (void)state;
    assert_true(ash_object_uri_is_store("./files"));
    assert_true(ash_object_uri_is_store("file:/srv/nats"));
    assert_true(ash_object_uri_is_store("mongodb://nats/"));
    assert_false(ash_object_uri_is_store("nats://localhost"));
    assert_false(ash_object_uri_is_store("tls://user:password@a:1,b:2"));
}

static void test_object_stores__same_configuration_again(void **state)
{
    fixture *f = *state;
    ash_object_config config = ASH_OBJECT_CONFIG_INIT;
    ash_object_store *again = NULL;
    config.description = "one";
    config.ttl_ms = 3600000;
    ash_object_store *s = support_store(f, "x", &config);
    support_put(f, s, "a", "text");
    assert_ok(ash_object_manager_create(f->manager, &config, NULL, &again, &f->err), &f->err);
    support_expect(f, again, "a", "text");
    ash_object_store_close(again);
    config.description = "two";
    assert_int_equal(ash_object_manager_create(f->manager, &config, NULL, &again, &f->err),
                     ASH_EEXISTS);
    assert_non_null(strstr(f->err.text, "description"));
    assert_null(again);
    support_expect(f, s, "a", "text");
    ash_object_store_close(s);
}

static void test_object_stores__configuration_is_told(void **state)
{
    fixture *f = *state;
    ash_object_config config = ASH_OBJECT_CONFIG_INIT, got = ASH_OBJECT_CONFIG_INIT;
    bson_t *metadata = BCON_NEW("level", "1", "owner", "infra"); /* as servers sort them */
    config.description = "what it is";
    config.metadata = f->can.metadata ? metadata : NULL;
    config.ttl_ms = 10000;
    config.max_bytes = 1 << 30;
    config.compression = f->can.compression;
    ash_object_store *s = support_store(f, "x", &config);
    ash_object_status *st = support_status(f, s);
    assert_ok(ash_object_status_config(st, &got, &f->err), &f->err);
    assert_string_equal(got.name, support_name(f, "x"));
    assert_string_equal(ash_object_status_name(st), support_name(f, "x"));
    assert_string_equal(got.description, "what it is");
    assert_int_equal(got.ttl_ms, 10000);
    assert_int_equal(got.max_bytes, 1 << 30);
    assert_int_equal(got.replicas, 1);
    assert_int_equal(got.storage, ASH_OBJECT_STORAGE_FILE);
    assert_int_equal(got.compression, f->can.compression);
    assert_int_equal(ash_object_status_is_compressed(st), f->can.compression);
    assert_false(ash_object_status_is_sealed(st));
    if (f->can.metadata)
        assert_true(bson_equal(got.metadata, metadata));
    assert_non_null(ash_object_status_backing(st));
    assert_true(ash_object_status_created_ms(st) > 1600000000000);
    ash_object_status_free(st);
    ash_object_store_close(s);
    bson_destroy(metadata);
}

/* Never dropped in silence. */
static void test_object_stores__what_is_not_there_is_said(void **state)
{
    fixture *f = *state;
    ash_object_store *s = NULL;
    ash_object_config config = ASH_OBJECT_CONFIG_INIT;
    bson_t *metadata = BCON_NEW("a", "b");
    const struct {
        bool can;
        const char *field;
        ash_object_config config;
    } rows[] = {
        {f->can.placement, "replicas", {.replicas = 3}},
        {f->can.placement, "storage", {.storage = ASH_OBJECT_STORAGE_MEMORY}},
        {f->can.placement, "cluster", {.cluster = "c"}},
        {f->can.metadata, "metadata", {.metadata = metadata}},
        {f->can.compression, "compression", {.compression = true}},
        {f->can.versions, "keep_last", {.keep_last = 3}},
        {f->can.versions, "keep_within_ms", {.keep_within_ms = 3}},
        {f->can.limits, "max_objects", {.max_objects = 3}},
        {f->can.limits, "max_object_bytes", {.max_object_bytes = 3}},
        {f->can.digests, "digest", {.digest = ASH_DIGEST_SHA1}},
    };
    for (size_t i = 0; i < ASH_ARRAY_LEN(rows); i++) {
        config = rows[i].config;
        config.size = sizeof config;
        config.name = support_name(f, "x");
        if (rows[i].can)
            continue;
        assert_int_equal(ash_object_manager_create(f->manager, &config, NULL, &s, &f->err),
                         ASH_EUNSUPPORTED);
        assert_non_null(strstr(f->err.text, rows[i].field));
        assert_int_equal(ash_object_manager_bind(f->manager, config.name, NULL, &s, &f->err),
                         ASH_ENOTFOUND);
    }
    bson_destroy(metadata);
}

static void test_object_stores__bad_configurations(void **state)
{
    fixture *f = *state;
    ash_object_store *s = NULL;
    bson_t *numbers = BCON_NEW("a", BCON_INT32(1));
    const ash_object_config rows[] = {
        {.ttl_ms = -1},        {.replicas = 9},
        {.chunk_size = -1},    {.chunk_size = INT32_MAX},
        {.metadata = numbers}, {.description = "\xff"},
        {.max_objects = -1},   {.digest = 64},
    };
    for (size_t i = 0; i < ASH_ARRAY_LEN(rows); i++) {
        ash_object_config config = rows[i];
        config.size = sizeof config;
        config.name = support_name(f, "x");
        assert_int_equal(ash_object_manager_create(f->manager, &config, NULL, &s, &f->err),
                         ASH_EINVAL);
    }
    bson_destroy(numbers);
}

static void test_object_stores__bind(void **state)
{
    fixture *f = *state;
    ash_object_store *s = NULL;
    assert_int_equal(ash_object_manager_bind(f->manager, support_name(f, "not"), NULL, &s, &f->err),
                     ASH_ENOTFOUND);
    assert_null(s);
    support_put(f, f->store, "a", "text");
    assert_ok(ash_object_manager_bind(f->manager, support_name(f, ""), NULL, &s, &f->err), &f->err);
    assert_string_equal(ash_object_store_name(s), support_name(f, ""));
    assert_ptr_equal(ash_object_store_manager(s), f->manager);
    support_expect(f, s, "a", "text");
    ash_object_store_close(s);
}

static int count_stores(fixture *f)
{
    ash_object_status_listing *l = NULL;
    const ash_object_status *st = NULL;
    char last[80] = "";
    int n = 0;
    assert_ok(ash_object_manager_list(f->manager, NULL, &l, &f->err), &f->err);
    while (ash_object_status_listing_next(l, &st, &f->err) == 0 && st != NULL) {
        if (strncmp(ash_object_status_name(st), f->base, strlen(f->base)) != 0)
            continue;
        assert_true(strcmp(last, ash_object_status_name(st)) < 0);
        snprintf(last, sizeof last, "%s", ash_object_status_name(st));
        n++;
    }
    ash_object_status_listing_free(l);
    return n;
}

static void test_object_stores__list(void **state)
{
    fixture *f = *state;
    char suffix[8];
    assert_int_equal(count_stores(f), 1);
    for (int i = 0; i < 4; i++) {
        snprintf(suffix, sizeof suffix, "%d", i);
        ash_object_store_close(support_store(f, suffix, NULL));
    }
    assert_int_equal(count_stores(f), 5);
    assert_ok(ash_object_manager_delete(f->manager, support_name(f, "2"), NULL, &f->err), &f->err);
    assert_int_equal(count_stores(f), 4);
}

static void test_object_stores__delete(void **state)
{
    fixture *f = *state;
    ash_object_store *s = support_store(f, "x", NULL), *again;
    support_put(f, s, "a", "text");
    assert_ok(ash_object_manager_delete(f->manager, support_name(f, "x"), NULL, &f->err), &f->err);
    assert_int_equal(ash_object_manager_delete(f->manager, support_name(f, "x"), NULL, &f->err),
                     ASH_ENOTFOUND);
    support_expect_missing(f, s, "a");
    assert_int_equal(support_try_put(f, s, "b", "x", 1, NULL), ASH_ENOTFOUND);
    assert_int_equal(ash_object_store_seal(s, NULL, &f->err), ASH_ENOTFOUND);
    again = support_store(f, "x", NULL);
    support_expect_list(f, again, NULL, "");
    support_put(f, again, "a", "new");
    support_expect(f, again, "a", "new");
    assert_ok(ash_object_manager_delete(f->manager, support_name(f, "x"), NULL, &f->err), &f->err);
    ash_object_store_close(again);
    ash_object_store_close(s);
}

static void test_object_stores__update(void **state)
{
    fixture *f = *state;
    ash_object_config config = ASH_OBJECT_CONFIG_INIT, got = ASH_OBJECT_CONFIG_INIT;
    config.name = support_name(f, "not");
    assert_int_equal(ash_object_manager_update(f->manager, &config, NULL, &f->err), ASH_ENOTFOUND);
    support_put(f, f->store, "a", "text");
    config.name = support_name(f, "");
    config.description = "other";
    config.max_bytes = 1000000;
    assert_ok(ash_object_manager_update(f->manager, &config, NULL, &f->err), &f->err);
    ash_object_status *st = support_status(f, f->store);
    assert_ok(ash_object_status_config(st, &got, &f->err), &f->err);
    assert_string_equal(got.description, "other");
    assert_int_equal(got.max_bytes, 1000000);
    support_expect(f, f->store, "a", "text");
    got.ttl_ms = 3600000;
    assert_ok(ash_object_manager_update(f->manager, &got, NULL, &f->err), &f->err);
    ash_object_status *after = support_status(f, f->store);
    assert_ok(ash_object_status_config(after, &config, &f->err), &f->err);
    assert_int_equal(config.ttl_ms, 3600000);
    assert_string_equal(config.description, "other");
    ash_object_status_free(after);
    ash_object_status_free(st);
}

/* What cannot be is refused, and nothing is lost or changed by it. */
static void test_object_stores__update_refused(void **state)
{
    fixture *f = *state;
    ash_object_config config = ASH_OBJECT_CONFIG_INIT, got = ASH_OBJECT_CONFIG_INIT;
    config.name = support_name(f, "");
    support_put(f, f->store, "a", "text");
    support_put(f, f->store, "b", "text");
    config.description = "changed";
    config.max_bytes = 10;
    assert_int_equal(ash_object_manager_update(f->manager, &config, NULL, &f->err), ASH_ENOSPC);
    config.max_bytes = 0;
    config.storage = ASH_OBJECT_STORAGE_MEMORY;
    assert_int_equal(ash_object_manager_update(f->manager, &config, NULL, &f->err),
                     f->can.placement ? ASH_EINVAL : ASH_EUNSUPPORTED);
    config.storage = ASH_OBJECT_STORAGE_FILE;
    config.keep_last = f->can.versions ? 0 : 1;
    if (!f->can.versions)
        assert_int_equal(ash_object_manager_update(f->manager, &config, NULL, &f->err),
                         ASH_EUNSUPPORTED);
    config.keep_last = 0;
    assert_ok(ash_object_store_seal(f->store, NULL, &f->err), &f->err);
    assert_int_equal(ash_object_manager_update(f->manager, &config, NULL, &f->err), ASH_EREADONLY);
    ash_object_status *st = support_status(f, f->store);
    assert_ok(ash_object_status_config(st, &got, &f->err), &f->err);
    assert_true(got.description == NULL || got.description[0] == '\0');
    assert_int_equal(got.max_bytes, 0);
    ash_object_status_free(st);
    support_expect_list(f, f->store, NULL, "a b");
}

static void expect_sealed(fixture *f, ash_object_store *s)
{
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    ash_object *o = support_info(f, s, "a");
    meta.description = "new";
    assert_int_equal(support_try_put(f, s, "b", "x", 1, NULL), ASH_EREADONLY);
    assert_int_equal(support_try_put(f, s, "a", "x", 1, NULL), ASH_EREADONLY);
    assert_int_equal(ash_object_store_delete(s, "a", NULL, NULL, NULL, &f->err), ASH_EREADONLY);
    assert_int_equal(ash_object_store_update_meta(s, "a", &meta, NULL, NULL, NULL, &f->err),
                     ASH_EREADONLY);
    assert_int_equal(ash_object_store_link(s, "l", o, NULL, NULL, NULL, &f->err), ASH_EREADONLY);
    assert_int_equal(ash_object_store_link_store(s, "l", "x", NULL, NULL, NULL, &f->err),
                     ASH_EREADONLY);
    assert_non_null(strstr(f->err.text, "sealed"));
    support_expect(f, s, "a", "text");
    support_expect_list(f, s, NULL, "a");
    ash_object_status *st = support_status(f, s);
    assert_true(ash_object_status_is_sealed(st));
    ash_object_status_free(st);
    ash_object_free(o);
}

static void test_object_stores__seal(void **state)
{
    fixture *f = *state;
    ash_object_manager *other = NULL;
    ash_object_store *s = NULL;
    support_put(f, f->store, "a", "text");
    assert_ok(ash_object_store_seal(f->store, NULL, &f->err), &f->err);
    expect_sealed(f, f->store);
    assert_ok(ash_object_store_seal(f->store, NULL, &f->err), &f->err);
    support_reopen(f);
    expect_sealed(f, f->store);
    if (strcmp(f->can.backend, "docs") != 0) {
        support_open(f, &other);
        assert_ok(ash_object_manager_bind(other, support_name(f, ""), NULL, &s, &f->err), &f->err);
        expect_sealed(f, s);
        ash_object_store_close(s);
        ash_object_manager_close(other);
    }
    assert_ok(ash_object_manager_delete(f->manager, support_name(f, ""), NULL, &f->err), &f->err);
}

/* A seal that comes while a put is under way. */
static void test_object_stores__seal_before_the_commit(void **state)
{
    fixture *f = *state;
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    ash_object_writer *w = NULL;
    meta.name = "a";
    assert_ok(ash_object_store_open_writer(f->store, &meta, NULL, NULL, &w, &f->err), &f->err);
    assert_ok(ash_object_writer_write(w, "text", 4, &f->err), &f->err);
    assert_ok(ash_object_store_seal(f->store, NULL, &f->err), &f->err);
    assert_int_equal(ash_object_writer_finish(w, NULL, NULL, &f->err), ASH_EREADONLY);
    ash_object_writer_free(w);
    support_expect_missing(f, f->store, "a");
}

static void test_object_stores__status_counts(void **state)
{
    fixture *f = *state;
    uint8_t *data = support_bytes(300000, 1);
    ash_object_status *st = support_status(f, f->store);
    int64_t empty = ash_object_status_bytes(st);
    assert_int_equal(empty, 0);
    ash_object_status_free(st);
    support_put_bytes(f, f->store, "a", data, 300000);
    support_put_bytes(f, f->store, "a", data, 200000);
    st = support_status(f, f->store);
    assert_true(ash_object_status_bytes(st) > 200000 && ash_object_status_bytes(st) < 210000);
    assert_true(ash_object_status_revision(st) >= 2);
    ash_object_status_free(st);
    support_delete(f, f->store, "a");
    st = support_status(f, f->store);
    assert_true(ash_object_status_bytes(st) > 0 && ash_object_status_bytes(st) < 2000);
    ash_object_status_free(st);
    support_expect_sound(f, f->store);
    ash__free(data);
}

#define T(name)                                                                                    \
    cmocka_unit_test_setup_teardown(test_object_stores__##name, support_setup, support_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(names),
        T(addresses),
        T(same_configuration_again),
        T(configuration_is_told),
        T(what_is_not_there_is_said),
        T(bad_configurations),
        T(bind),
        T(list),
        T(delete),
        T(update),
        T(update_refused),
        T(seal),
        T(seal_before_the_commit),
        T(status_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
