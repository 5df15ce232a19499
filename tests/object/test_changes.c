/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of what is said of objects: meta, names, links, conditions. */
#include "support.h"

#include <stdio.h>
#include <string.h>

static int update(fixture *f, const char *name, const ash_object_meta *meta, ash_object **out)
{
    return ash_object_store_update_meta(f->store, name, meta, NULL, NULL, out, &f->err);
}

static void test_object_changes__meta(void **state)
{
    fixture *f = *state;
    bson_t *headers = BCON_NEW("k", "[", "a", "", "c", "]"), *metadata = BCON_NEW("owner", "me"),
           got;
    bson_t nothing = BSON_INITIALIZER;
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    ash_object *before, *o = NULL;
    support_put(f, f->store, "a", "text");
    before = support_info(f, f->store, "a");
    meta.description = "described";
    meta.headers = headers;
    meta.metadata = metadata;
    assert_ok(update(f, "a", &meta, &o), &f->err);
    assert_string_equal(ash_object_description(o), "described");
    assert_string_equal(ash_object_name(o), "a");
    assert_string_equal(ash_object_nuid(o), ash_object_nuid(before));
    assert_string_equal(ash_object_digest(o), ash_object_digest(before));
    assert_true(ash_object_revision(o) > ash_object_revision(before));
    ash_object_free(o);
    /* What is not said stays, what is empty goes. */
    meta = (ash_object_meta)ASH_OBJECT_META_INIT;
    meta.description = "";
    assert_ok(update(f, "a", &meta, NULL), &f->err);
    o = support_info(f, f->store, "a");
    assert_string_equal(ash_object_description(o), "");
    assert_true(ash_object_headers(o, &got) && bson_equal(&got, headers));
    assert_true(ash_object_metadata(o, &got) && bson_equal(&got, metadata));
    ash_object_free(o);
    meta.headers = meta.metadata = &nothing;
    assert_ok(update(f, "a", &meta, NULL), &f->err);
    o = support_info(f, f->store, "a");
    assert_false(ash_object_headers(o, &got));
    assert_false(ash_object_metadata(o, &got));
    support_expect(f, f->store, "a", "text");
    support_expect_sound(f, f->store);
    ash_object_free(o);
    ash_object_free(before);
    bson_destroy(headers);
    bson_destroy(metadata);
}

static void test_object_changes__meta_of_what_is_not_there(void **state)
{
    fixture *f = *state;
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    meta.description = "x";
    assert_int_equal(update(f, "a", &meta, NULL), ASH_ENOTFOUND);
    support_put(f, f->store, "a", "text");
    support_delete(f, f->store, "a");
    assert_int_equal(update(f, "a", &meta, NULL), ASH_ENOTFOUND);
    meta.chunk_size = 5;
    assert_int_equal(update(f, "a", &meta, NULL), ASH_EINVAL);
}

static void test_object_changes__rename(void **state)
{
    fixture *f = *state;
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    ash_object *o = NULL, *before;
    support_put(f, f->store, "A", "text");
    support_put(f, f->store, "taken", "other");
    before = support_info(f, f->store, "A");
    meta.name = "taken";
    assert_int_equal(update(f, "A", &meta, NULL), ASH_EEXISTS);
    support_expect(f, f->store, "A", "text");
    meta.name = "B";
    meta.description = "new";
    assert_ok(update(f, "A", &meta, &o), &f->err);
    assert_string_equal(ash_object_name(o), "B");
    assert_string_equal(ash_object_nuid(o), ash_object_nuid(before));
    support_expect(f, f->store, "B", "text");
    support_expect_missing(f, f->store, "A");
    support_expect_list(f, f->store, NULL, "taken B");
    /* To the name of a deleted one. */
    support_delete(f, f->store, "taken");
    meta.name = "taken";
    meta.description = NULL;
    assert_ok(update(f, "B", &meta, NULL), &f->err);
    support_expect(f, f->store, "taken", "text");
    support_expect_list(f, f->store, NULL, "taken");
    support_put(f, f->store, "B", "again");
    support_delete(f, f->store, "taken");
    support_expect(f, f->store, "B", "again");
    meta.name = "";
    assert_int_equal(update(f, "B", &meta, NULL), ASH_EINVAL);
    meta.name = "B";
    assert_ok(update(f, "B", &meta, NULL), &f->err);
    support_expect(f, f->store, "B", "again");
    support_expect_sound(f, f->store);
    ash_object_free(o);
    ash_object_free(before);
}

/* ---- links ---- */

static int link_to(fixture *f, ash_object_store *s, const char *name, const ash_object *target)
{
    return ash_object_store_link(s, name, target, NULL, NULL, NULL, &f->err);
}

static void test_object_changes__links(void **state)
{
    fixture *f = *state;
    ash_object *target, *o = NULL;
    support_put(f, f->store, "a", "text");
    target = support_info(f, f->store, "a");
    assert_ok(ash_object_store_link(f->store, "l", target, NULL, NULL, &o, &f->err), &f->err);
    assert_true(ash_object_is_link(o));
    assert_string_equal(ash_object_name(o), "l");
    assert_string_equal(ash_object_store_of(o), support_name(f, ""));
    assert_string_equal(ash_object_link_store(o), support_name(f, ""));
    assert_string_equal(ash_object_link_name(o), "a");
    assert_int_equal(ash_object_size(o), 0);
    assert_true(ash_object_modified_ms(o) > 1600000000000);
    support_expect(f, f->store, "l", "text");
    support_expect_list(f, f->store, NULL, "a l");
    assert_int_equal(link_to(f, f->store, "m", o), ASH_EINVAL);
    ash_object_free(o);
    o = support_info(f, f->store, "l");
    assert_true(ash_object_is_link(o));
    ash_object_read_options follow = ASH_OBJECT_READ_OPTIONS_INIT;
    ash_object *behind = NULL;
    follow.follow = true;
    assert_ok(ash_object_store_info(f->store, "l", &follow, NULL, &behind, &f->err), &f->err);
    assert_string_equal(ash_object_name(behind), "a");
    ash_object_free(behind);
    support_put(f, f->store, "a", "changed");
    support_expect(f, f->store, "l", "changed");
    support_delete(f, f->store, "a");
    char text[8];
    assert_int_equal(support_read(f, f->store, "l", text, sizeof text), ASH_ENOTFOUND);
    assert_non_null(strstr(f->err.text, "link"));
    support_expect_sound(f, f->store);
    ash_object_free(o);
    ash_object_free(target);
}

/* What a link may be laid over. */
static void test_object_changes__links_over_names(void **state)
{
    fixture *f = *state;
    ash_object *target, *deleted = NULL;
    support_put(f, f->store, "a", "text");
    support_put(f, f->store, "b", "other");
    support_put(f, f->store, "gone", "x");
    assert_ok(ash_object_store_delete(f->store, "gone", NULL, NULL, &deleted, &f->err), &f->err);
    target = support_info(f, f->store, "a");
    assert_int_equal(link_to(f, f->store, "b", target), ASH_EEXISTS);
    assert_int_equal(ash_object_store_link_store(f->store, "b", "x", NULL, NULL, NULL, &f->err),
                     ASH_EEXISTS);
    support_expect(f, f->store, "b", "other");
    assert_ok(link_to(f, f->store, "gone", target), &f->err);
    support_expect(f, f->store, "gone", "text");
    ash_object_free(target);
    target = support_info(f, f->store, "b");
    assert_ok(link_to(f, f->store, "gone", target), &f->err);
    support_expect(f, f->store, "gone", "other");
    assert_ok(
        ash_object_store_link_store(f->store, "gone", "some-store", NULL, NULL, NULL, &f->err),
        &f->err);
    assert_ok(link_to(f, f->store, "gone", target), &f->err);
    assert_int_equal(link_to(f, f->store, "l", deleted), ASH_EINVAL);
    assert_int_equal(link_to(f, f->store, "", target), ASH_EINVAL);
    support_put(f, f->store, "gone", "an object again");
    support_expect(f, f->store, "gone", "an object again");
    support_expect_sound(f, f->store);
    ash_object_free(deleted);
    ash_object_free(target);
}

static void test_object_changes__links_across_stores(void **state)
{
    fixture *f = *state;
    ash_object_store *other = support_store(f, "other", NULL);
    ash_object *target, *o;
    char text[16];
    support_put(f, other, "a", "over there");
    target = support_info(f, other, "a");
    assert_ok(link_to(f, f->store, "l", target), &f->err);
    support_expect(f, f->store, "l", "over there");
    assert_ok(ash_object_store_link_store(f->store, "all", support_name(f, "other"), NULL, NULL, &o,
                                          &f->err),
              &f->err);
    assert_string_equal(ash_object_link_store(o), support_name(f, "other"));
    assert_null(ash_object_link_name(o));
    assert_int_equal(support_read(f, f->store, "all", text, sizeof text), ASH_EINVAL);
    assert_non_null(strstr(f->err.text, "whole store"));
    assert_int_equal(
        ash_object_store_link_store(f->store, "bad", "not a name", NULL, NULL, NULL, &f->err),
        ASH_EINVAL);
    assert_ok(ash_object_manager_delete(f->manager, support_name(f, "other"), NULL, &f->err),
              &f->err);
    assert_int_equal(support_read(f, f->store, "l", text, sizeof text), ASH_ENOTFOUND);
    ash_object_store *none = NULL;
    assert_int_equal(
        ash_object_manager_bind(f->manager, support_name(f, "other"), NULL, &none, &f->err),
        ASH_ENOTFOUND); /* nobody made it by looking */
    ash_object_free(o);
    ash_object_free(target);
    ash_object_store_close(other);
}

/* link L -> A, A gone, L becomes A. */
static void test_object_changes__loops_end(void **state)
{
    fixture *f = *state;
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    ash_object *target;
    char text[16], a[16];
    support_put(f, f->store, "A", "text");
    target = support_info(f, f->store, "A");
    assert_ok(link_to(f, f->store, "L", target), &f->err);
    support_delete(f, f->store, "A");
    meta.name = "A";
    assert_ok(update(f, "L", &meta, NULL), &f->err);
    assert_int_equal(support_read(f, f->store, "A", text, sizeof text), ASH_EINVAL);
    assert_non_null(strstr(f->err.text, "lead on"));
    ash_object_free(target);
    /* A chain that is long, but ends: up to the depth, and no further. */
    for (int i = 0; i <= 9; i++) {
        snprintf(a, sizeof a, "n%d", i);
        support_put(f, f->store, a, "end");
    }
    ash_object *objects[10];
    for (int i = 0; i <= 9; i++) {
        snprintf(a, sizeof a, "n%d", i);
        objects[i] = support_info(f, f->store, a);
        if (i > 0)
            support_delete(f, f->store, a);
    }
    for (int i = 1; i <= 9; i++) {
        snprintf(a, sizeof a, "n%d", i);
        assert_ok(link_to(f, f->store, a, objects[i - 1]), &f->err); /* as it was looked up */
    }
    support_expect(f, f->store, "n8", "end");
    assert_int_equal(support_read(f, f->store, "n9", text, sizeof text), ASH_EINVAL);
    for (int i = 0; i <= 9; i++)
        ash_object_free(objects[i]);
}

static void test_object_changes__meta_of_links(void **state)
{
    fixture *f = *state;
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    ash_object *target, *o;
    support_put(f, f->store, "a", "text");
    target = support_info(f, f->store, "a");
    assert_ok(link_to(f, f->store, "l", target), &f->err);
    meta.description = "a link";
    assert_ok(update(f, "l", &meta, &o), &f->err);
    assert_true(ash_object_is_link(o));
    assert_string_equal(ash_object_description(o), "a link");
    support_expect(f, f->store, "l", "text");
    ash_object_free(o);
    meta.name = "m";
    assert_ok(update(f, "l", &meta, NULL), &f->err);
    support_expect(f, f->store, "m", "text");
    support_delete(f, f->store, "m");
    support_expect(f, f->store, "a", "text");
    support_expect_missing(f, f->store, "m");
    ash_object_free(target);
}

/* ---- conditions ---- */

static int put_if(fixture *f, const char *name, const char *text, uint64_t revision, bool absent)
{
    ash_object_change_options o = ASH_OBJECT_CHANGE_OPTIONS_INIT;
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    meta.name = name;
    o.if_revision = revision;
    o.if_absent = absent;
    return ash_object_store_put_bytes(f->store, &meta, text, strlen(text), &o, NULL, NULL, &f->err);
}

static uint64_t revision_of(fixture *f, const char *name)
{
    ash_object *o = support_info(f, f->store, name);
    uint64_t r = ash_object_revision(o);
    ash_object_free(o);
    return r;
}

static void test_object_changes__compare_and_set(void **state)
{
    fixture *f = *state;
    ash_object_change_options o = ASH_OBJECT_CHANGE_OPTIONS_INIT;
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    assert_int_equal(put_if(f, "a", "x", 77, false), ASH_ECONDITION);
    assert_ok(put_if(f, "a", "one", 0, true), &f->err);
    assert_int_equal(put_if(f, "a", "x", 0, true), ASH_ECONDITION);
    uint64_t first = revision_of(f, "a");
    assert_ok(put_if(f, "a", "two", first, false), &f->err);
    assert_int_equal(put_if(f, "a", "x", first, false), ASH_ECONDITION);
    support_expect(f, f->store, "a", "two");
    o.if_revision = first;
    meta.description = "x";
    assert_int_equal(ash_object_store_update_meta(f->store, "a", &meta, &o, NULL, NULL, &f->err),
                     ASH_ECONDITION);
    assert_int_equal(ash_object_store_delete(f->store, "a", &o, NULL, NULL, &f->err),
                     ASH_ECONDITION);
    o.if_revision = revision_of(f, "a");
    assert_ok(ash_object_store_update_meta(f->store, "a", &meta, &o, NULL, NULL, &f->err), &f->err);
    assert_int_equal(ash_object_store_delete(f->store, "a", &o, NULL, NULL, &f->err),
                     ASH_ECONDITION);
    o.if_revision = revision_of(f, "a");
    assert_ok(ash_object_store_delete(f->store, "a", &o, NULL, NULL, &f->err), &f->err);
    assert_ok(put_if(f, "a", "three", 0, true), &f->err);
    assert_int_equal(put_if(f, "a", "x", 1, true), ASH_EINVAL);
    support_expect_sound(f, f->store);
}

/* The condition is looked at in the commit, not only when the put begins. */
static void test_object_changes__condition_at_the_end(void **state)
{
    fixture *f = *state;
    ash_object_change_options o = ASH_OBJECT_CHANGE_OPTIONS_INIT;
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    ash_object_writer *w = NULL;
    meta.name = "a";
    o.if_absent = true;
    assert_ok(ash_object_store_open_writer(f->store, &meta, &o, NULL, &w, &f->err), &f->err);
    assert_ok(ash_object_writer_write(w, "late", 4, &f->err), &f->err);
    support_put(f, f->store, "a", "first");
    assert_int_equal(ash_object_writer_finish(w, NULL, NULL, &f->err), ASH_ECONDITION);
    ash_object_writer_free(w);
    support_expect(f, f->store, "a", "first");
    support_expect_sound(f, f->store);
}

/* ---- JSON ---- */

static void test_object_changes__json(void **state)
{
    fixture *f = *state;
    bson_t *tags = BCON_NEW("0", "red"), got;
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    ash_object *o = NULL, *back = NULL;
    char *json = NULL;
    meta.name = "a";
    meta.description = "quoted \"text\"";
    meta.content_type = "text/plain";
    meta.tags = tags;
    assert_ok(ash_object_store_put_bytes(f->store, &meta, "abc", 3, NULL, NULL, &o, &f->err),
              &f->err);
    assert_ok(ash_object_to_json(o, &json, &f->err), &f->err);
    assert_null(strstr(json, "mtime"));
    assert_null(strstr(json, "revision"));
    assert_non_null(strstr(json, "\"size\" : 3"));
    assert_ok(ash_object_from_json(json, strlen(json), &back, &f->err), &f->err);
    assert_string_equal(ash_object_name(back), "a");
    assert_string_equal(ash_object_description(back), "quoted \"text\"");
    assert_string_equal(ash_object_nuid(back), ash_object_nuid(o));
    assert_string_equal(ash_object_digest(back), ash_object_digest(o));
    assert_string_equal(ash_object_content_type(back), "text/plain");
    assert_string_equal(ash_object_tag(back, 0), "red");
    assert_int_equal(ash_object_modified_ms(back), 0);
    assert_true(ash_object_headers(back, &got));
    assert_false(bson_has_field(&got, "Ashlar-Tags"));
    ash_object_string_free(json);
    ash_object_free(back);
    ash_object_free(o);
    bson_destroy(tags);
}

static ash_object *from_json(fixture *f, const char *json)
{
    ash_object *o = NULL;
    assert_ok(ash_object_from_json(json, strlen(json), &o, &f->err), &f->err);
    return o;
}

/* As clients write it, and as some of them once did. */
static void test_object_changes__json_of_others(void **state)
{
    fixture *f = *state;
    bson_t got;
    ash_object *o = from_json(
        f, "{\"name\":\"object-name\",\"description\":\"object-desc\",\"metadata\":[{\"owner\":"
           "\"infra\"}],\"headers\":{\"key1\":[\"foo\"],\"key2\":[\"bar\",\"baz\"]},\"options\":{"
           "\"link\":{\"bucket\":\"link-to-bucket\",\"name\":\"link-to-name\"},\"max_chunk_size\":"
           "8196},\"bucket\":\"object-bucket\",\"nuid\":\"CkuyLEX4z2hbyjj1aWCfiH\",\"size\":344000,"
           "\"chunks\":42,\"digest\":\"SHA-256=abcdefghijklmnopqrstuvwxyz=\",\"deleted\":true,"
           "\"unknown\":{\"a\":[1]}}");
    assert_true(ash_object_is_deleted(o));
    assert_string_equal(ash_object_link_name(o), "link-to-name");
    assert_int_equal(ash_object_size(o), 344000);
    assert_true(ash_object_metadata(o, &got) && bson_has_field(&got, "owner"));
    assert_string_equal(ash_object_digest(o), "SHA-256=abcdefghijklmnopqrstuvwxyz=");
    char *json = NULL;
    assert_ok(ash_object_to_json(o, &json, &f->err), &f->err);
    assert_non_null(strstr(json, "unknown"));
    ash_object_string_free(json);
    ash_object_free(o);
    /* nats.js' link, an hexadecimal digest, a stored time, Go's zero time, more than 4 GiB. */
    o = from_json(f, "{\"name\":\"l\",\"bucket\":\"b\",\"options\":{\"link\":{\"bucket\":\"b\"}}}");
    assert_true(ash_object_is_link(o));
    assert_null(ash_object_link_name(o));
    ash_object_free(o);
    o = from_json(f, "{\"name\":\"d\",\"bucket\":\"b\",\"size\":5000000000000,\"chunks\":40000000,"
                     "\"mtime\":\"2024-02-05T10:11:12.5+01:00\",\"digest\":\"SHA-256="
                     "967c5b6f8be2fbe3080a0c5cefafe927957"
                     "0b16ae84652552f"
                     "83cc3b115267a45\"}");
    assert_int_equal(ash_object_size(o), 5000000000000);
    assert_int_equal(ash_object_modified_ms(o), 1707124272500);
    ash_object_free(o);
    o = from_json(f, "{\"name\":\"d\",\"bucket\":\"b\",\"mtime\":\"0001-01-01T00:00:00Z\","
                     "\"digest\":\"SHA-256="
                     "BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD\"}");
    assert_int_equal(ash_object_modified_ms(o), 0);
    assert_string_equal(ash_object_digest(o),
                        "SHA-256=ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0=");
    ash_object_free(o);
    static const char *const bad[] = {
        "", "[]x", "{", "{\"size\":1}", "{\"name\":\"\"}", "{\"name\":\"a\",\"size\":-1}", "\"a\""};
    for (size_t i = 0; i < ASH_ARRAY_LEN(bad); i++)
        assert_int_equal(ash_object_from_json(bad[i], strlen(bad[i]), &o, &f->err), ASH_EINVAL);
}

#define T(name)                                                                                    \
    cmocka_unit_test_setup_teardown(test_object_changes__##name, support_setup, support_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(meta),
        T(meta_of_what_is_not_there),
        T(rename),
        T(links),
        T(links_over_names),
        T(links_across_stores),
        T(loops_end),
        T(meta_of_links),
        T(compare_and_set),
        T(condition_at_the_end),
        T(json),
        T(json_of_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
