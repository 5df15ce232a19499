/* SPDX-License-Identifier: Apache-2.0 */
/* From one object store to another: copies, what they would lose, and archives. */
#include "support.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>

/* ---- copies ---- */

static void copy(fixture *f, ash_object_store *to, const ash_object_copy_options *o, int objects,
                 int skipped)
{
    ash_object_copy_report r = ASH_OBJECT_COPY_REPORT_INIT;
    assert_ok(ash_object_store_copy(f->store, to, o, NULL, &r, &f->err), &f->err);
    assert_int_equal(r.objects, objects);
    assert_int_equal(r.skipped, skipped);
    assert_int_equal(r.failed, 0);
}

static void test_object_copies__copy(void **state)
{
    fixture *f = *state;
    ash_object_store *to = support_store(f, "to", NULL);
    ash_object_copy_options deleted = ASH_OBJECT_COPY_OPTIONS_INIT;
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    uint8_t *data = support_bytes(3000000, 1);
    bson_t *tags = BCON_NEW("0", "red");
    support_put_bytes(f, f->store, "a", data, 3000000);
    support_put(f, f->store, "e", "");
    meta.name = "b";
    meta.description = "described";
    meta.tags = tags;
    meta.chunk_size = 7;
    assert_ok(
        ash_object_store_put_bytes(f->store, &meta, "0123456789", 10, NULL, NULL, NULL, &f->err),
        &f->err);
    ash_object *a = support_info(f, f->store, "a");
    assert_ok(ash_object_store_link(f->store, "l", a, NULL, NULL, NULL, &f->err), &f->err);
    support_put(f, f->store, "gone", "x");
    support_delete(f, f->store, "gone");
    copy(f, to, NULL, 4, 0);
    copy(f, to, NULL, 0, 4);
    support_expect_bytes(f, to, "a", data, 3000000);
    support_expect_bytes(f, to, "l", data, 3000000);
    ash_object *o = support_info(f, to, "b");
    assert_string_equal(ash_object_description(o), "described");
    assert_string_equal(ash_object_tag(o, 0), "red");
    assert_int_equal(ash_object_chunk_size(o), 7);
    ash_object_free(o);
    o = support_info(f, to, "l");
    assert_string_equal(ash_object_link_store(o), support_name(f, "to"));
    ash_object_free(o);
    support_put(f, f->store, "e", "changed");
    support_delete(f, f->store, "b");
    copy(f, to, NULL, 1, 2);
    support_expect(f, to, "e", "changed");
    support_expect(f, to, "b", "0123456789");
    deleted.deleted = true;
    copy(f, to, &deleted, 1, 4);
    support_expect_missing(f, to, "b");
    support_put(f, to, "e", "of the target");
    deleted.keep_existing = true;
    copy(f, to, &deleted, 0, 5);
    support_expect(f, to, "e", "of the target");
    support_expect_sound(f, to);
    ash_object_free(a);
    ash_object_store_close(to);
    bson_destroy(tags);
    ash__free(data);
}

typedef struct stopping {
    int left;
} stopping;

static bool stop_after(void *ctx, const ash_object *o)
{
    stopping *s = ctx;
    assert_non_null(o);
    return --s->left > 0;
}

static void test_object_copies__copy_goes_on(void **state)
{
    fixture *f = *state;
    ash_object_store *to = support_store(f, "to", NULL);
    ash_object_copy_options o = ASH_OBJECT_COPY_OPTIONS_INIT;
    ash_object_copy_report r = ASH_OBJECT_COPY_REPORT_INIT;
    stopping s = {2};
    char name[] = "0";
    for (int i = 0; i < 6; i++, name[0]++)
        support_put(f, f->store, name, name);
    o.each = stop_after;
    o.each_ctx = &s;
    assert_int_equal(ash_object_store_copy(f->store, to, &o, NULL, &r, &f->err), ASH_EINTERRUPTED);
    assert_int_equal(r.objects, 2);
    copy(f, to, NULL, 4, 2);
    ash_object_copy_options dry = ASH_OBJECT_COPY_OPTIONS_INIT;
    dry.dry_run = true;
    support_put(f, f->store, "9", "x");
    copy(f, to, &dry, 1, 6);
    copy(f, NULL, &dry, 7, 0);
    support_expect_missing(f, to, "9");
    ash_object_store_close(to);
}

/* "r:1 r:2 …!", oldest first, the bytes of each. */
static void expect_past(fixture *f, ash_object_store *s, const char *name, const char *expected)
{
    ash_object_listing *l = NULL;
    const ash_object *o = NULL;
    char text[256] = "";
    assert_ok(ash_object_store_versions(s, name, 0, NULL, &l, &f->err), &f->err);
    while (ash_object_listing_next(l, &o, &f->err) == 0 && o != NULL) {
        ash_object_read_options ro = ASH_OBJECT_READ_OPTIONS_INIT;
        uint8_t *data = NULL;
        size_t len = 0;
        ro.revision = ash_object_revision(o);
        ro.no_follow = true;
        if (!ash_object_is_deleted(o))
            assert_ok(ash_object_store_get_bytes(s, name, &ro, NULL, &data, &len, &f->err),
                      &f->err);
        size_t used = strlen(text);
        assert_true(used + 3 < sizeof text);
        memmove(text + 2, text, used + 1);
        text[0] = data != NULL ? (char)data[0] : '!';
        text[1] = used > 0 ? ' ' : '\0';
        ash_object_bytes_free(data);
    }
    ash_object_listing_free(l);
    assert_string_equal(text, expected);
}

static void put_all(fixture *f, ash_object_store *s, const char *name, const char *texts)
{
    char text[2] = "";
    for (const char *at = texts; *at != '\0'; at++) {
        text[0] = *at;
        if (*at == '!')
            support_delete(f, s, name);
        else
            support_put(f, s, name, text);
    }
}

static ash_object_store *keeping_store(fixture *f, const char *suffix, int32_t keep)
{
    ash_object_config config = ASH_OBJECT_CONFIG_INIT;
    config.keep_last = keep;
    return support_store(f, suffix, &config);
}

static void test_object_copies__copy_versions(void **state)
{
    fixture *f = *state;
    ash_object_copy_options o = ASH_OBJECT_COPY_OPTIONS_INIT;
    support_need(f, versions);
    ash_object_config config = ASH_OBJECT_CONFIG_INIT;
    config.keep_last = -1;
    support_configure(f, &config);
    ash_object_store *to = keeping_store(f, "to", -1);
    o.versions = true;
    put_all(f, f->store, "a", "abab");
    put_all(f, f->store, "b", "1!2");
    put_all(f, f->store, "gone", "1!");
    copy(f, to, &o, 2, 0);
    expect_past(f, to, "a", "a b a b");
    expect_past(f, to, "b", "1 ! 2");
    support_expect_missing(f, to, "gone");
    copy(f, to, &o, 0, 2);
    put_all(f, f->store, "a", "c");
    copy(f, to, &o, 1, 1);
    expect_past(f, to, "a", "a b a b c");
    o.deleted = true;
    copy(f, to, &o, 1, 2);
    expect_past(f, to, "gone", "1 !");
    copy(f, to, &o, 0, 3);
    support_expect_sound(f, to);
    ash_object_store_close(to);
}

/* One that was interrupted goes on; one that keeps fewer gets as many; one that keeps none, none. */
static void test_object_copies__copy_versions_to_others(void **state)
{
    fixture *f = *state;
    ash_object_copy_options o = ASH_OBJECT_COPY_OPTIONS_INIT;
    support_need(f, versions);
    ash_object_config config = ASH_OBJECT_CONFIG_INIT;
    config.keep_last = -1;
    support_configure(f, &config);
    ash_object_store *begun = keeping_store(f, "begun", -1), *few = keeping_store(f, "few", 1);
    ash_object_store *none = support_store(f, "none", NULL);
    o.versions = true;
    put_all(f, f->store, "a", "aba");
    put_all(f, begun, "a", "a");
    copy(f, begun, &o, 1, 0);
    expect_past(f, begun, "a", "a b a");
    copy(f, few, &o, 1, 0);
    expect_past(f, few, "a", "b a");
    copy(f, few, &o, 0, 1);
    copy(f, none, &o, 1, 0);
    expect_past(f, none, "a", "a");
    copy(f, none, &o, 0, 1);
    support_expect_sound(f, few);
    ash_object_store_close(begun);
    ash_object_store_close(few);
    ash_object_store_close(none);
}

typedef struct refused {
    int count;
    char name[8];
} refused;

static void note_refusal(void *ctx, const ash_object *o, const ash_error *why)
{
    refused *r = ctx;
    r->count++;
    snprintf(r->name, sizeof r->name, "%s", ash_object_name(o));
    assert_int_equal(why->code, ASH_EEXISTS);
}

/* Somebody else's object stays; what the source itself had before does not. */
static void test_object_copies__copy_refuses(void **state)
{
    fixture *f = *state;
    ash_object_store *to = support_store(f, "to", NULL);
    ash_object_copy_options o = ASH_OBJECT_COPY_OPTIONS_INIT;
    ash_object_copy_report r = ASH_OBJECT_COPY_REPORT_INIT;
    refused seen = {0};
    if (f->can.versions) {
        ash_object_config config = ASH_OBJECT_CONFIG_INIT;
        config.keep_last = -1;
        support_configure(f, &config);
    }
    put_all(f, f->store, "a", "12");
    put_all(f, f->store, "b", "12");
    put_all(f, to, "a", "x");
    put_all(f, to, "b", f->can.versions ? "1" : "2");
    o.versions = o.refuse_existing = true;
    o.failed = note_refusal;
    o.failed_ctx = &seen;
    assert_int_equal(ash_object_store_copy(f->store, to, &o, NULL, &r, &f->err), ASH_EPARTIAL);
    assert_int_equal(seen.count, 1);
    assert_string_equal(seen.name, "a");
    assert_int_equal(r.failed, 1);
    support_expect(f, to, "a", "x");
    support_expect(f, to, "b", "2");
    o.refuse_existing = false;
    copy(f, to, &o, 1, 1);
    support_expect(f, to, "a", "2");
    ash_object_store_close(to);
}

/* A link where the target has an object, and the other way round. */
static void test_object_copies__copy_links_over_objects(void **state)
{
    fixture *f = *state;
    ash_object_store *to = support_store(f, "to", NULL);
    put_all(f, f->store, "a", "1");
    put_all(f, f->store, "b", "2");
    ash_object *a = support_info(f, f->store, "a");
    assert_ok(ash_object_store_link(f->store, "l", a, NULL, NULL, NULL, &f->err), &f->err);
    put_all(f, to, "l", "x");
    put_all(f, to, "a", "1");
    ash_object *there = support_info(f, to, "a");
    assert_ok(ash_object_store_link(to, "b", there, NULL, NULL, NULL, &f->err), &f->err);
    copy(f, to, NULL, 2, 1);
    support_expect(f, to, "l", "1");
    support_expect(f, to, "b", "2");
    copy(f, to, NULL, 0, 3);
    ash_object_free(a);
    ash_object_free(there);
    ash_object_store_close(to);
}

static void expect_lost(const bson_t *lost, const char *expected)
{
    bson_iter_t it;
    char text[256] = "";
    assert_true(bson_iter_init(&it, lost));
    while (bson_iter_next(&it))
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s ", bson_iter_utf8(&it, NULL));
    assert_string_equal(text, expected);
}

static void test_object_copies__losses(void **state)
{
    fixture *f = *state;
    ash_object_manager *m = f->manager;
    ash_object_config config = ASH_OBJECT_CONFIG_INIT, fitting = ASH_OBJECT_CONFIG_INIT;
    bson_t lost = BSON_INITIALIZER;
    config.name = "x";
    config.description = "kept";
    config.keep_last = 3;
    config.max_objects = 9;
    config.chunk_size = 1000;
    config.replicas = 3;
    assert_ok(ash_object_config_fit(&config, m, true, &fitting, &lost, &f->err), &f->err);
    expect_lost(&lost, f->can.versions ? "" : "keep_last max_objects chunk_size ");
    assert_string_equal(fitting.description, "kept");
    assert_int_equal(fitting.keep_last, f->can.versions ? 3 : 0);
    assert_int_equal(fitting.replicas, f->can.placement ? 3 : 0);
    bson_reinit(&lost);
    assert_ok(ash_object_config_fit(&config, m, false, &fitting, &lost, &f->err), &f->err);
    expect_lost(&lost, f->can.versions ? "" : "max_objects chunk_size ");
    bson_reinit(&lost);
    assert_ok(ash_object_store_losses(f->store, m, NULL, NULL, &lost, &f->err), &f->err);
    expect_lost(&lost, "");
    bson_destroy(&lost);
}

/* ---- archives ---- */

static void test_object_copies__archive(void **state)
{
    fixture *f = *state;
    ash_object_archive_options o = ASH_OBJECT_ARCHIVE_OPTIONS_INIT;
    ash_object_archive_report r = ASH_OBJECT_ARCHIVE_REPORT_INIT;
    char text[8];
    support_need(f, archive);
    uint8_t *data = support_bytes(500000, 1);
    ash_object_store *to = support_store(f, "archive", NULL);
    support_put_bytes(f, f->store, "big", data, 500000);
    support_put(f, f->store, "small", "text");
    ash_object *before = support_info(f, f->store, "big");
    o.min_bytes = 1000;
    assert_ok(ash_object_store_archive(f->store, to, &o, NULL, &r, &f->err), &f->err);
    assert_int_equal(r.objects, 1);
    assert_int_equal(r.bytes, 500000);
    ash_object_status *st = support_status(f, f->store);
    assert_true(ash_object_status_bytes(st) < 3000);
    ash_object_status_free(st);
    ash_object *after = support_info(f, f->store, "big");
    assert_true(ash_object_is_archived(after));
    assert_int_equal(ash_object_revision(after), ash_object_revision(before));
    assert_string_equal(ash_object_digest(after), ash_object_digest(before));
    uint8_t *got = NULL;
    size_t len = 0;
    assert_int_equal(ash_object_store_get_bytes(f->store, "big", NULL, NULL, &got, &len, &f->err),
                     ASH_ESTATE);
    assert_non_null(strstr(f->err.text, "archive"));
    ash_object_store_attach_archive(f->store, to);
    support_expect_bytes(f, f->store, "big", data, 500000);
    ash_object_read_options range = ASH_OBJECT_READ_OPTIONS_INIT;
    range.start = 400000;
    range.end = 400004;
    assert_ok(ash_object_store_get_bytes(f->store, "big", &range, NULL, &got, &len, &f->err),
              &f->err);
    assert_memory_equal(got, data + 400000, 4);
    ash_object_bytes_free(got);
    assert_ok(ash_object_store_archive(f->store, to, &o, NULL, &r, &f->err), &f->err);
    assert_int_equal(r.objects, 0);
    support_expect_sound(f, f->store);
    o.back = true;
    o.min_bytes = 0;
    assert_ok(ash_object_store_archive(f->store, to, &o, NULL, &r, &f->err), &f->err);
    assert_int_equal(r.objects, 1);
    ash_object_store_attach_archive(f->store, NULL);
    support_expect_bytes(f, f->store, "big", data, 500000);
    support_expect_list(f, to, NULL, "");
    assert_ok(support_read(f, f->store, "small", text, sizeof text), &f->err);
    support_expect_sound(f, f->store);
    support_expect_sound(f, to);
    ash_object_free(before);
    ash_object_free(after);
    ash_object_store_close(to);
    ash__free(data);
}

/* A version whose bytes were archived while it was the current one. */
static void test_object_copies__copy_of_an_archived_version(void **state)
{
    fixture *f = *state;
    ash_object_copy_options o = ASH_OBJECT_COPY_OPTIONS_INIT;
    support_need(f, archive);
    ash_object_config config = ASH_OBJECT_CONFIG_INIT;
    config.keep_last = -1;
    support_configure(f, &config);
    ash_object_store *archive = support_store(f, "archive", NULL);
    ash_object_store *to = keeping_store(f, "to", -1);
    put_all(f, f->store, "a", "1");
    assert_ok(ash_object_store_archive(f->store, archive, NULL, NULL, NULL, &f->err), &f->err);
    put_all(f, f->store, "a", "2");
    o.versions = true;
    copy(f, to, &o, 1, 0);
    expect_past(f, to, "a", "1 2");
    ash_object_store_close(archive);
    ash_object_store_close(to);
}

/* The current version's bytes in one archive, an earlier one's in another. */
static void test_object_copies__copy_from_two_archives(void **state)
{
    fixture *f = *state;
    ash_object_copy_options o = ASH_OBJECT_COPY_OPTIONS_INIT;
    ash_object_config config = ASH_OBJECT_CONFIG_INIT;
    support_need(f, archive);
    config.keep_last = -1;
    support_configure(f, &config);
    ash_object_store *first = support_store(f, "first", NULL);
    ash_object_store *second = support_store(f, "second", NULL);
    ash_object_store *to = keeping_store(f, "to", -1);
    put_all(f, f->store, "a", "1");
    assert_ok(ash_object_store_archive(f->store, first, NULL, NULL, NULL, &f->err), &f->err);
    put_all(f, f->store, "a", "2");
    assert_ok(ash_object_store_archive(f->store, second, NULL, NULL, NULL, &f->err), &f->err);
    o.versions = true;
    copy(f, to, &o, 1, 0);
    expect_past(f, to, "a", "1 2");
    copy(f, to, &o, 0, 1);
    ash_object_store_close(first);
    ash_object_store_close(second);
    ash_object_store_close(to);
}

/* Versions that share the bytes of an archived object do not lose them when it has its own again. */
static void test_object_copies__back_beside_an_archived_version(void **state)
{
    fixture *f = *state;
    ash_object_archive_options o = ASH_OBJECT_ARCHIVE_OPTIONS_INIT;
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    ash_object_read_options first = ASH_OBJECT_READ_OPTIONS_INIT;
    char text[8];
    support_need(f, archive);
    ash_object_config config = ASH_OBJECT_CONFIG_INIT;
    config.keep_last = -1;
    support_configure(f, &config);
    ash_object_store *archive = support_store(f, "archive", NULL);
    put_all(f, f->store, "a", "1");
    ash_object *before = support_info(f, f->store, "a");
    assert_ok(ash_object_store_archive(f->store, archive, NULL, NULL, NULL, &f->err), &f->err);
    meta.description = "changed";
    assert_ok(ash_object_store_update_meta(f->store, "a", &meta, NULL, NULL, NULL, &f->err),
              &f->err);
    o.back = true;
    assert_ok(ash_object_store_archive(f->store, archive, &o, NULL, NULL, &f->err), &f->err);
    assert_ok(support_read(f, f->store, "a", text, sizeof text), &f->err);
    ash_object_store_attach_archive(f->store, archive);
    first.revision = ash_object_revision(before);
    uint8_t *got = NULL;
    size_t len = 0;
    assert_ok(ash_object_store_get_bytes(f->store, "a", &first, NULL, &got, &len, &f->err),
              &f->err);
    assert_int_equal(len, 1);
    assert_memory_equal(got, "1", 1);
    ash_object_bytes_free(got);
    support_expect_sound(f, f->store);
    ash_object_store_attach_archive(f->store, NULL);
    ash_object_free(before);
    ash_object_store_close(archive);
}

static void test_object_copies__own_archive(void **state)
{
    fixture *f = *state;
    ash_object_store *again = NULL;
    support_need(f, archive);
    put_all(f, f->store, "a", "1");
    assert_ok(
        ash_object_manager_bind(f->manager, ash_object_store_name(f->store), NULL, &again, &f->err),
        &f->err);
    assert_int_equal(ash_object_store_archive(f->store, again, NULL, NULL, NULL, &f->err),
                     ASH_EINVAL);
    support_expect_list(f, f->store, NULL, "a");
    ash_object_store_close(again);
}

/* The archive is beside it, and nobody attached it. */
static void test_object_copies__copy_of_archived(void **state)
{
    fixture *f = *state;
    ash_object_copy_report r = ASH_OBJECT_COPY_REPORT_INIT;
    support_need(f, archive);
    ash_object_store *archive = support_store(f, "archive", NULL),
                     *to = support_store(f, "to", NULL);
    support_put(f, f->store, "a", "text");
    support_put(f, f->store, "b", "more");
    assert_ok(ash_object_store_archive(f->store, archive, NULL, NULL, NULL, &f->err), &f->err);
    copy(f, to, NULL, 2, 0);
    support_expect(f, to, "a", "text");
    support_expect(f, to, "b", "more");
    copy(f, to, NULL, 0, 2);
    ash_object_store_close(archive);
    assert_ok(ash_object_manager_delete(f->manager, support_name(f, "archive"), NULL, &f->err),
              &f->err);
    support_delete(f, to, "a");
    assert_int_equal(ash_object_store_copy(f->store, to, NULL, NULL, &r, &f->err), ASH_EPARTIAL);
    assert_int_equal(r.failed, 1);
    assert_int_equal(r.skipped, 1);
    ash_object_store_close(to);
}

static void test_object_copies__archive_by_age(void **state)
{
    fixture *f = *state;
    ash_object_archive_options o = ASH_OBJECT_ARCHIVE_OPTIONS_INIT;
    ash_object_archive_report r = ASH_OBJECT_ARCHIVE_REPORT_INIT;
    support_need(f, archive);
    ash_object_store *to = support_store(f, "archive", NULL);
    support_put(f, f->store, "x/old", "text");
    ash__clock_sleep_ms(2100);
    support_put(f, f->store, "x/new", "text");
    o.older_than_ms = 2000;
    o.prefix = "x/";
    o.dry_run = true;
    assert_ok(ash_object_store_archive(f->store, to, &o, NULL, &r, &f->err), &f->err);
    assert_int_equal(r.objects, 1);
    support_expect_list(f, to, NULL, "");
    o.dry_run = false;
    assert_ok(ash_object_store_archive(f->store, to, &o, NULL, &r, &f->err), &f->err);
    ash_object *old = support_info(f, f->store, "x/old"),
               *young = support_info(f, f->store, "x/new");
    assert_true(ash_object_is_archived(old));
    assert_false(ash_object_is_archived(young));
    support_put(f, f->store, "x/old", "put anew");
    support_expect(f, f->store, "x/old", "put anew");
    support_delete(f, f->store, "x/old");
    support_expect_sound(f, f->store);
    ash_object_free(old);
    ash_object_free(young);
    ash_object_store_close(to);
}

#define T(name)                                                                                    \
    cmocka_unit_test_setup_teardown(test_object_copies__##name, support_setup, support_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(copy),
        T(copy_goes_on),
        T(copy_versions),
        T(copy_versions_to_others),
        T(copy_refuses),
        T(copy_links_over_objects),
        T(losses),
        T(archive),
        T(archive_by_age),
        T(copy_of_archived),
        T(copy_of_an_archived_version),
        T(copy_from_two_archives),
        T(back_beside_an_archived_version),
        T(own_archive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
