/* SPDX-License-Identifier: Apache-2.0 */
/* Versions, expiry, tombstones, locks, sweeping. */
#include "support.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void keep(fixture *f, int32_t last, int64_t within_ms)
{
    ash_object_config config = ASH_OBJECT_CONFIG_INIT;
    config.keep_last = last;
    config.keep_within_ms = within_ms;
    support_configure(f, &config);
}

/* "3 2! 1": revisions behind the first one's, newest first. */
static void expect_versions(fixture *f, const char *name, int count, const char *sizes)
{
    ash_object_listing *l = NULL;
    const ash_object *o = NULL;
    uint64_t last = UINT64_MAX;
    char got[256] = "";
    int n = 0;
    assert_ok(ash_object_store_versions(f->store, name, 0, NULL, &l, &f->err), &f->err);
    while (ash_object_listing_next(l, &o, &f->err) == 0 && o != NULL) {
        assert_true(ash_object_revision(o) < last);
        last = ash_object_revision(o);
        assert_string_equal(ash_object_name(o), name);
        size_t at = strlen(got);
        snprintf(got + at, sizeof got - at, "%s%d%s", n > 0 ? " " : "", (int)ash_object_size(o),
                 ash_object_is_deleted(o) ? "!" : "");
        n++;
    }
    ash_object_listing_free(l);
    assert_string_equal(got, sizes);
    assert_int_equal(n, count);
}

static uint64_t revision_of(fixture *f, const char *name)
{
    ash_object *o = support_info(f, f->store, name);
    uint64_t r = ash_object_revision(o);
    ash_object_free(o);
    return r;
}

static void expect_version(fixture *f, const char *name, uint64_t revision, const char *text)
{
    ash_object_read_options o = ASH_OBJECT_READ_OPTIONS_INIT;
    uint8_t *data = NULL;
    size_t len = 0;
    o.revision = revision;
    assert_ok(ash_object_store_get_bytes(f->store, name, &o, NULL, &data, &len, &f->err), &f->err);
    assert_int_equal(len, strlen(text));
    assert_memory_equal(data, text, len);
    ash_object_bytes_free(data);
}

static void test_object_versions__list_and_read(void **state)
{
    fixture *f = *state;
    ash_object *o = NULL;
    uint64_t r[3];
    support_need(f, versions);
    keep(f, -1, 0);
    support_put(f, f->store, "a", "1");
    r[0] = revision_of(f, "a");
    support_put(f, f->store, "a", "22");
    r[1] = revision_of(f, "a");
    support_put(f, f->store, "b", "other");
    support_delete(f, f->store, "a");
    expect_versions(f, "a", 3, "0! 2 1");
    support_put(f, f->store, "a", "333");
    r[2] = revision_of(f, "a");
    expect_versions(f, "a", 4, "3 0! 2 1");
    expect_version(f, "a", r[0], "1");
    expect_version(f, "a", r[1], "22");
    expect_version(f, "a", r[2], "333");
    ash_object_read_options ro = ASH_OBJECT_READ_OPTIONS_INIT;
    ro.revision = r[2] + 1000;
    assert_int_equal(ash_object_store_info(f->store, "a", &ro, NULL, &o, &f->err), ASH_ENOREVISION);
    ro.revision = r[0];
    assert_ok(ash_object_store_info(f->store, "a", &ro, NULL, &o, &f->err), &f->err);
    assert_true(ash_object_ended_ms(o) >= ash_object_modified_ms(o));
    ash_object_free(o);
    assert_int_equal(ash_object_store_info(f->store, "b", &ro, NULL, &o, &f->err), ASH_ENOREVISION);
    ash_object_listing *l = NULL;
    assert_ok(ash_object_store_versions(f->store, "a", 2, NULL, &l, &f->err), &f->err);
    support_expect_listing(f, l, "a a!");
    support_expect_sound(f, f->store);
}

static void test_object_versions__none_are_kept(void **state)
{
    fixture *f = *state;
    support_need(f, versions);
    support_put(f, f->store, "a", "1");
    support_put(f, f->store, "a", "22");
    expect_versions(f, "a", 1, "2");
    support_delete(f, f->store, "a");
    expect_versions(f, "a", 1, "0!");
    expect_versions(f, "never", 0, "");
    support_expect_sound(f, f->store);
}

static void test_object_versions__restore(void **state)
{
    fixture *f = *state;
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    ash_object *o = NULL;
    support_need(f, versions);
    keep(f, -1, 0);
    meta.name = "a";
    meta.description = "first";
    assert_ok(ash_object_store_put_bytes(f->store, &meta, "1", 1, NULL, NULL, &o, &f->err),
              &f->err);
    uint64_t first = ash_object_revision(o);
    ash_object_free(o);
    support_put(f, f->store, "a", "22");
    assert_ok(ash_object_store_restore(f->store, "a", first, NULL, NULL, &o, &f->err), &f->err);
    assert_string_equal(ash_object_description(o), "first");
    assert_int_equal(ash_object_ended_ms(o), 0);
    assert_true(ash_object_revision(o) > first);
    ash_object_free(o);
    support_expect(f, f->store, "a", "1");
    expect_versions(f, "a", 3, "1 2 1");
    support_delete(f, f->store, "a");
    expect_version(f, "a", first, "1");
    assert_ok(ash_object_store_restore(f->store, "a", first, NULL, NULL, NULL, &f->err), &f->err);
    support_expect(f, f->store, "a", "1");
    assert_int_equal(ash_object_store_restore(f->store, "a", 99999, NULL, NULL, NULL, &f->err),
                     ASH_ENOREVISION);
    support_expect_sound(f, f->store);
}

/* One file of bytes in several versions goes with the last of them. */
static void test_object_versions__shared_bytes(void **state)
{
    fixture *f = *state;
    ash_object_prune_options p = ASH_OBJECT_PRUNE_OPTIONS_INIT;
    ash_object_prune_report r = ASH_OBJECT_PRUNE_REPORT_INIT;
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    support_need(f, versions);
    keep(f, -1, 0);
    support_put(f, f->store, "a", "text");
    uint64_t first = revision_of(f, "a");
    meta.description = "x";
    assert_ok(ash_object_store_update_meta(f->store, "a", &meta, NULL, NULL, NULL, &f->err),
              &f->err);
    support_put(f, f->store, "a", "other");
    assert_ok(ash_object_store_restore(f->store, "a", first, NULL, NULL, NULL, &f->err), &f->err);
    expect_versions(f, "a", 4, "4 5 4 4");
    p.by_rule = true;
    p.dry_run = true;
    assert_ok(ash_object_store_prune(f->store, &p, NULL, &r, &f->err), &f->err);
    assert_int_equal(r.versions, 3);
    expect_versions(f, "a", 4, "4 5 4 4");
    p.dry_run = false;
    p.keep_last = 1;
    assert_ok(ash_object_store_prune(f->store, &p, NULL, &r, &f->err), &f->err);
    assert_int_equal(r.versions, 2);
    support_expect(f, f->store, "a", "text");
    expect_versions(f, "a", 2, "4 5");
    p.keep_last = 0;
    assert_ok(ash_object_store_prune(f->store, &p, NULL, &r, &f->err), &f->err);
    support_expect(f, f->store, "a", "text");
    support_expect_sound(f, f->store);
    support_delete(f, f->store, "a");
    assert_ok(ash_object_store_prune(f->store, &p, NULL, &r, &f->err), &f->err);
    support_expect_sound(f, f->store);
    expect_versions(f, "a", 1, "0!");
}

static void test_object_versions__keep_rules(void **state)
{
    fixture *f = *state;
    support_need(f, versions);
    keep(f, 2, 0);
    char text[] = "1";
    for (int i = 0; i < 6; i++, text[0]++)
        support_put(f, f->store, "a", text);
    expect_versions(f, "a", 3, "1 1 1");
    support_expect(f, f->store, "a", "6");
    support_expect_sound(f, f->store);
    keep(f, 0, 3600000);
    for (int i = 0; i < 4; i++)
        support_put(f, f->store, "a", "22");
    expect_versions(f, "a", 4, "2 2 2 2");
    keep(f, 0, 1);
    for (int i = 0; i < 4; i++) {
        support_put(f, f->store, "a", "22");
        ash__clock_sleep_ms(5);
    }
    expect_versions(f, "a", 2, "2 2");
    ash_object_prune_options p = ASH_OBJECT_PRUNE_OPTIONS_INIT;
    assert_ok(ash_object_store_prune(f->store, &p, NULL, NULL, &f->err), &f->err);
    expect_versions(f, "a", 1, "2");
    support_expect_sound(f, f->store);
}

static void test_object_versions__renamed(void **state)
{
    fixture *f = *state;
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    support_need(f, versions);
    keep(f, 1, 0);
    support_put(f, f->store, "a", "1");
    meta.description = "x";
    assert_ok(ash_object_store_update_meta(f->store, "a", &meta, NULL, NULL, NULL, &f->err),
              &f->err);
    meta.name = "b";
    assert_ok(ash_object_store_update_meta(f->store, "a", &meta, NULL, NULL, NULL, &f->err),
              &f->err);
    support_expect(f, f->store, "b", "1");
    expect_versions(f, "a", 1, "1");
    expect_versions(f, "b", 1, "1");
    support_delete(f, f->store, "b");
    support_expect_missing(f, f->store, "a");
    support_expect_sound(f, f->store);
}

/* ---- expiry ---- */

enum { SOON_MS = 2500 }; /* beside other tests, what comes before takes its time, too */

static void test_object_versions__single_objects_expire(void **state)
{
    fixture *f = *state;
    ash_object_change_options o = ASH_OBJECT_CHANGE_OPTIONS_INIT;
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    ash_object *info = NULL;
    support_need(f, object_ttl);
    meta.name = "a";
    o.ttl_ms = SOON_MS;
    assert_ok(ash_object_store_put_bytes(f->store, &meta, "text", 4, &o, NULL, &info, &f->err),
              &f->err);
    assert_true(ash_object_expires_ms(info) > ash_object_modified_ms(info));
    ash_object_free(info);
    support_put(f, f->store, "b", "stays");
    support_expect(f, f->store, "a", "text");
    ash__clock_sleep_ms(SOON_MS + 200);
    support_expect_missing(f, f->store, "a");
    support_expect_list(f, f->store, NULL, "b");
    assert_int_equal(ash_object_store_delete(f->store, "a", NULL, NULL, NULL, &f->err),
                     ASH_ENOTFOUND);
    ash_object_sweep_options so = ASH_OBJECT_SWEEP_OPTIONS_INIT;
    assert_ok(ash_object_store_sweep(f->store, &so, NULL, NULL, &f->err), &f->err);
    support_expect_sound(f, f->store);
    support_put(f, f->store, "a", "new");
    support_expect(f, f->store, "a", "new");
}

static void test_object_versions__set_expiry(void **state)
{
    fixture *f = *state;
    ash_object *o = NULL;
    support_need(f, object_ttl);
    support_put(f, f->store, "a", "text");
    int64_t soon = ash__clock_wall_ms() + SOON_MS, later = soon + 3600000;
    assert_ok(ash_object_store_set_expiry(f->store, "a", later, NULL, NULL, &o, &f->err), &f->err);
    assert_int_equal(ash_object_expires_ms(o), later);
    ash_object_free(o);
    assert_ok(ash_object_store_set_expiry(f->store, "a", 0, NULL, NULL, &o, &f->err), &f->err);
    assert_int_equal(ash_object_expires_ms(o), 0);
    ash_object_free(o);
    assert_ok(ash_object_store_set_expiry(f->store, "a", soon, NULL, NULL, NULL, &f->err), &f->err);
    support_expect(f, f->store, "a", "text");
    assert_int_equal(ash_object_store_set_expiry(f->store, "no", soon, NULL, NULL, NULL, &f->err),
                     ASH_ENOTFOUND);
    assert_int_equal(ash_object_store_set_expiry(f->store, "a", -1, NULL, NULL, NULL, &f->err),
                     ASH_EINVAL);
    ash__clock_sleep_ms(SOON_MS + 200);
    support_expect_missing(f, f->store, "a");
}

static void test_object_versions__stores_ttl(void **state)
{
    fixture *f = *state;
    ash_object_config config = ASH_OBJECT_CONFIG_INIT;
    config.ttl_ms = SOON_MS;
    support_configure(f, &config);
    support_put(f, f->store, "a", "text");
    support_put(f, f->store, "d", "text");
    support_delete(f, f->store, "d");
    support_expect(f, f->store, "a", "text");
    ash__clock_sleep_ms(SOON_MS + 800);
    support_expect_missing(f, f->store, "a");
    support_expect_list(f, f->store, NULL, "");
    support_put(f, f->store, "b", "text");
    support_expect(f, f->store, "b", "text");
}

/* What has expired is no reason to refuse a put. */
static void test_object_versions__expired_make_room(void **state)
{
    fixture *f = *state;
    ash_object_config config = ASH_OBJECT_CONFIG_INIT;
    support_need(f, object_ttl);
    uint8_t *data = support_bytes(100000, 1);
    config.ttl_ms = SOON_MS;
    config.max_bytes = 150000;
    support_configure(f, &config);
    support_put_bytes(f, f->store, "a", data, 100000);
    assert_int_equal(support_try_put(f, f->store, "b", data, 100000, NULL), ASH_ENOSPC);
    ash__clock_sleep_ms(SOON_MS + 200);
    support_put_bytes(f, f->store, "b", data, 100000);
    support_expect_sound(f, f->store);
    ash__free(data);
}

static void test_object_versions__tombstones_are_forgotten(void **state)
{
    fixture *f = *state;
    ash_object_config config = ASH_OBJECT_CONFIG_INIT;
    ash_object_sweep_report r = ASH_OBJECT_SWEEP_REPORT_INIT;
    ash_object_read_options shown = ASH_OBJECT_READ_OPTIONS_INIT;
    ash_object *o = NULL;
    support_need(f, tombstone_ttl);
    config.tombstone_ttl_ms = SOON_MS;
    support_configure(f, &config);
    shown.deleted = true;
    support_put(f, f->store, "a", "text");
    support_delete(f, f->store, "a");
    assert_ok(ash_object_store_info(f->store, "a", &shown, NULL, &o, &f->err), &f->err);
    ash_object_free(o);
    ash__clock_sleep_ms(SOON_MS + 200);
    assert_int_equal(ash_object_store_info(f->store, "a", &shown, NULL, &o, &f->err),
                     ASH_ENOTFOUND);
    assert_ok(ash_object_store_sweep(f->store, NULL, NULL, &r, &f->err), &f->err);
    /* A server may have been faster. */
    assert_true(r.tombstones == 1 || getenv("ASH_OBJECT_STORE") != NULL);
    ash_object_status *st = support_status(f, f->store);
    assert_int_equal(ash_object_status_bytes(st), 0);
    ash_object_status_free(st);
}

/* ---- locks ---- */

static int put_fenced(fixture *f, const ash_fence *fence)
{
    ash_object_change_options o = ASH_OBJECT_CHANGE_OPTIONS_INIT;
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    meta.name = "a";
    o.fence = fence;
    return ash_object_store_put_bytes(f->store, &meta, "fenced", 6, &o, NULL, NULL, &f->err);
}

static void test_object_versions__fences(void **state)
{
    fixture *f = *state;
    ash_lock *lock = NULL, *other = NULL;
    ash_fence fence = ASH_FENCE_INIT;
    support_need(f, locks);
    assert_ok(ash_object_store_lock(f->store, "a", NULL, &lock, &f->err), &f->err);
    assert_ok(ash_object_store_lock(f->store, "a", NULL, &other, &f->err), &f->err);
    assert_ok(ash_lock_obtain_write(lock, &f->err), &f->err);
    assert_int_equal(ash_lock_obtain_write(other, &f->err), ASH_ELOCKED);
    assert_ok(ash_lock_fence(lock, &fence, &f->err), &f->err);
    assert_ok(put_fenced(f, &fence), &f->err);
    support_expect(f, f->store, "a", "fenced");
    assert_ok(ash_lock_release(lock, &f->err), &f->err);
    support_put(f, f->store, "a", "free");
    assert_int_equal(put_fenced(f, &fence), ASH_ELOST);
    support_expect(f, f->store, "a", "free");
    ash_object_change_options o = ASH_OBJECT_CHANGE_OPTIONS_INIT;
    o.fence = &fence;
    assert_int_equal(ash_object_store_delete(f->store, "a", &o, NULL, NULL, &f->err), ASH_ELOST);
    assert_ok(ash_lock_obtain_write(other, &f->err), &f->err);
    assert_int_equal(put_fenced(f, &fence), ASH_ELOST);
    ash_lock_free(lock);
    ash_lock_free(other);
    support_expect_sound(f, f->store);
}

/* ---- sweeping ---- */

static void test_object_versions__sweep_beside_a_put(void **state)
{
    fixture *f = *state;
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    ash_object_sweep_report r = ASH_OBJECT_SWEEP_REPORT_INIT;
    ash_object_writer *w = NULL;
    uint8_t *data = support_bytes(6000000, 1);
    meta.name = "a";
    assert_ok(ash_object_store_open_writer(f->store, &meta, NULL, NULL, &w, &f->err), &f->err);
    assert_ok(ash_object_writer_write(w, data, 6000000, &f->err), &f->err);
    assert_ok(ash_object_store_sweep(f->store, NULL, NULL, &r, &f->err), &f->err);
    assert_int_equal(r.orphans, 0);
    assert_ok(ash_object_writer_finish(w, NULL, NULL, &f->err), &f->err);
    ash_object_writer_free(w);
    support_expect_bytes(f, f->store, "a", data, 6000000);
    ash__free(data);
}

#define T(name)                                                                                    \
    cmocka_unit_test_setup_teardown(test_object_versions__##name, support_setup, support_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(list_and_read),
        T(none_are_kept),
        T(restore),
        T(shared_bytes),
        T(keep_rules),
        T(renamed),
        T(single_objects_expire),
        T(set_expiry),
        T(stores_ttl),
        T(expired_make_room),
        T(tombstones_are_forgotten),
        T(fences),
        T(sweep_beside_a_put),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
