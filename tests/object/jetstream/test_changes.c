/* SPDX-License-Identifier: Apache-2.0 */
/* Renames and what a crash in one leaves; expiry; what a server cannot do. */
#include "object/jetstream/support.h"

#include "base/clock.h"
#include "base/mem.h"
#include "object/jetstream/format/names.h"
#include "object/jetstream/format/info.h"

#include <string.h>

static int rename_to(live *l, const char *from, const char *to)
{
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    meta.name = to;
    return ash_object_store_update_meta(l->store, from, &meta, NULL, NULL, NULL, &l->err);
}

static void expect_missing(live *l, const char *name)
{
    ash_object *o = NULL;
    assert_int_equal(ash_object_store_info(l->store, name, NULL, NULL, &o, NULL), ASH_ENOTFOUND);
}

static int64_t sweep(live *l)
{
    ash_object_sweep_options opts = ASH_OBJECT_SWEEP_OPTIONS_INIT;
    ash_object_sweep_report report = ASH_OBJECT_SWEEP_REPORT_INIT;
    opts.min_age_s = -1;
    assert_ok(ash_object_store_sweep(l->store, &opts, NULL, &report, &l->err), &l->err);
    return report.orphans;
}

static void test_object_jetstream_changes__rename(void **state)
{
    live *l = *state;
    live_need(l);
    live_put(l, "a", "bytes", 5, NULL);
    live_put(l, "taken", "others", 6, NULL);
    live_put(l, "gone", "others", 6, NULL);
    assert_ok(ash_object_store_delete(l->store, "gone", NULL, NULL, NULL, &l->err), &l->err);
    assert_int_equal(rename_to(l, "a", "taken"), ASH_EEXISTS);
    live_expect(l, "a", "bytes", 5);
    assert_ok(rename_to(l, "a", "gone"), &l->err);
    expect_missing(l, "a");
    live_expect(l, "gone", "bytes", 5);
    assert_int_equal(live_metas(l), 2);
    assert_int_equal(live_chunks(l), 2);
    assert_int_equal(rename_to(l, "a", "b"), ASH_ENOTFOUND);
    /* And the name is free for another. */
    live_put(l, "a", "new", 3, NULL);
    assert_ok(ash_object_store_delete(l->store, "gone", NULL, NULL, NULL, &l->err), &l->err);
    live_expect(l, "a", "new", 3);
    live_expect(l, "taken", "others", 6);
}

/* The state behind step 1 or 2 of a rename from "old" to "new". */
static void half_rename(live *l, bool second)
{
    ash_object *o = NULL, *renamed = NULL;
    ash_buffer old_json = ASH_BUFFER_INIT, new_json = ASH_BUFFER_INIT;
    bson_t *set = BCON_NEW("name", "new");
    char *old = ash__meta_subject(l->name, "old"), *new = ash__meta_subject(l->name, "new");
    char *to_new = ash__sprintf("%s: %s", ASH_JS_OTHER, new);
    char *to_old = ash__sprintf("%s: %s", ASH_JS_OTHER, old);
    live_put(l, "old", "bytes", 5, &o);
    ash__js_write_info(o, "", &old_json);
    assert_ok(ash__object_set(o, set, &renamed, &l->err), &l->err);
    ash__js_write_info(renamed, "", &new_json);
    assert_ok(ash__js_purge(&l->stream, old, NULL, &l->err), &l->err);
    live_publish(l, old, old_json.data, old_json.len, to_new);
    if (second)
        live_publish(l, new, new_json.data, new_json.len, to_old);
    ash__buffer_release(&old_json);
    ash__buffer_release(&new_json);
    bson_destroy(set);
    ash_object_free(o);
    ash_object_free(renamed);
    ash__free(old);
    ash__free(new);
    ash__free(to_new);
    ash__free(to_old);
}

static void test_object_jetstream_changes__killed_in_a_rename(void **state)
{
    live *l = *state;
    live_need(l);
    half_rename(l, false);
    live_expect(l, "old", "bytes", 5);
    expect_missing(l, "new");
    assert_int_equal(sweep(l), 0);
    live_expect(l, "old", "bytes", 5);
    /* The mark means nothing: the bytes go with the object. */
    assert_ok(ash_object_store_delete(l->store, "old", NULL, NULL, NULL, &l->err), &l->err);
    assert_int_equal(live_chunks(l), 0);
    half_rename(l, true);
    live_expect(l, "old", "bytes", 5);
    live_expect(l, "new", "bytes", 5);
    assert_ok(ash_object_store_delete(l->store, "new", NULL, NULL, NULL, &l->err), &l->err);
    live_expect(l, "old", "bytes", 5);
    assert_ok(ash_object_store_delete(l->store, "old", NULL, NULL, NULL, &l->err), &l->err);
    assert_int_equal(live_chunks(l), 0);
    half_rename(l, true);
    live_put(l, "old", "other", 5, NULL);
    live_expect(l, "new", "bytes", 5);
    assert_int_equal(sweep(l), 0);
    live_expect(l, "old", "other", 5);
    live_expect(l, "new", "bytes", 5);
}

static void test_object_jetstream_changes__swept_after_a_rename(void **state)
{
    live *l = *state;
    live_need(l);
    half_rename(l, true);
    assert_int_equal(sweep(l), 0);
    expect_missing(l, "old");
    live_expect(l, "new", "bytes", 5);
    assert_int_equal(live_metas(l), 1);
}

static void test_object_jetstream_changes__what_a_server_lacks(void **state)
{
    live *l = *state;
    live_need(l);
    static const char *const fields[] = {"metadata", "compression"};
    bson_t *metadata = BCON_NEW("owner", "me");
    for (int i = 0; i < 2; i++) {
        ash_object_config config = ASH_OBJECT_CONFIG_INIT;
        ash_object_store *s = NULL;
        ash_object_status *status = NULL;
        config.name = "lacks";
        config.metadata = i == 0 ? metadata : NULL;
        config.compression = i == 1;
        int rc = ash_object_manager_create(l->manager, &config, NULL, &s, &l->err);
        if (live_has_2_10(l)) {
            assert_ok(rc, &l->err);
            assert_ok(ash_object_store_status(s, NULL, &status, &l->err), &l->err);
            assert_int_equal(ash_object_status_is_compressed(status), i == 1);
            ash_object_status_free(status);
            ash_object_store_close(s);
            assert_ok(ash_object_manager_delete(l->manager, "lacks", NULL, &l->err), &l->err);
        } else {
            assert_int_equal(rc, ASH_EUNSUPPORTED);
            assert_non_null(strstr(l->err.text, fields[i]));
            assert_int_equal(ash_object_manager_bind(l->manager, "lacks", NULL, &s, NULL),
                             ASH_ENOTFOUND);
        }
    }
    bson_destroy(metadata);
}

static void test_object_jetstream_changes__ttl(void **state)
{
    live *l = *state;
    live_need(l);
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    ash_object_change_options opts = ASH_OBJECT_CHANGE_OPTIONS_INIT;
    ash_object *o = NULL;
    meta.name = "brief";
    opts.ttl_ms = 1500;
    int rc = ash_object_store_put_bytes(l->store, &meta, "x", 1, &opts, NULL, &o, &l->err);
    if (!live_has_2_11(l)) {
        assert_int_equal(rc, ASH_EUNSUPPORTED);
        return;
    }
    assert_ok(rc, &l->err);
    assert_true(ash_object_expires_ms(o) > ash_object_modified_ms(o));
    ash_object_free(o);
    assert_ok(ash_object_store_info(l->store, "brief", NULL, NULL, &o, &l->err), &l->err);
    assert_true(ash_object_expires_ms(o) > ash_object_modified_ms(o));
    ash_object_free(o);
    live_put(l, "lasting", "y", 1, NULL);
    assert_ok(ash_object_store_set_expiry(l->store, "lasting", ash__clock_wall_ms() + 1200, NULL,
                                          NULL, NULL, &l->err),
              &l->err);
    for (int i = 0; i < 200 && live_metas(l) > 0; i++)
        ash__clock_sleep_ms(50);
    expect_missing(l, "brief");
    expect_missing(l, "lasting");
    /* What had no time of its own is left to a sweep. */
    assert_int_equal(sweep(l), 1);
}

static void test_object_jetstream_changes__foreign_streams(void **state)
{
    live *l = *state;
    live_need(l);
    ash_object_store *s = NULL;
    ash_object_status_listing *listing = NULL;
    const ash_object_status *status = NULL;
    int count = 0;
    ash__json_free(live_request(l, "STREAM.CREATE.OBJ_foreign",
                                "{'name':'OBJ_foreign','subjects':['foreign']}"));
    ash__json_free(live_request(l, "STREAM.CREATE.foreign",
                                "{'name':'foreign','subjects':['$O.foreign.C.>']}"));
    assert_int_equal(ash_object_manager_bind(l->manager, "foreign", NULL, &s, NULL), ASH_ENOTFOUND);
    assert_int_equal(ash_object_manager_delete(l->manager, "foreign", NULL, NULL), ASH_ENOTFOUND);
    assert_ok(ash_object_manager_list(l->manager, NULL, &listing, &l->err), &l->err);
    while (ash_object_status_listing_next(listing, &status, &l->err) == 0 && status != NULL) {
        assert_string_equal(ash_object_status_name(status), l->name);
        count++;
    }
    assert_int_equal(count, 1);
    ash_object_status_listing_free(listing);
    ash__json_free(live_request(l, "STREAM.DELETE.OBJ_foreign", "{}"));
    ash__json_free(live_request(l, "STREAM.DELETE.foreign", "{}"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define ON_A_STORE(test) cmocka_unit_test_setup_teardown(test, live_new_store, live_close_store)
        ON_A_STORE(test_object_jetstream_changes__rename),
        ON_A_STORE(test_object_jetstream_changes__killed_in_a_rename),
        ON_A_STORE(test_object_jetstream_changes__swept_after_a_rename),
        ON_A_STORE(test_object_jetstream_changes__what_a_server_lacks),
        ON_A_STORE(test_object_jetstream_changes__ttl),
        ON_A_STORE(test_object_jetstream_changes__foreign_streams),
    };
    return cmocka_run_group_tests(tests, live_start, live_stop);
}
