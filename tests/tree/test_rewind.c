/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <stdio.h>
#include <string.h>

/* A folder becomes what it was. */

static void put_bytes(fixture *f, const char *path, const void *data, size_t len)
{
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    o.make_folders = true;
    assert_ok(support_try_put(f, path, data, len, &o, NULL), &f->err);
}

/* As support_put_seed(), with folders. */
static void put(fixture *f, const char *path, uint32_t seed)
{
    enum { SEED_BYTES = 500 };
    uint8_t *data = support_bytes(SEED_BYTES, seed);
    put_bytes(f, path, data, SEED_BYTES);
    ash__free(data);
}

static void put_text(fixture *f, const char *path, const char *text)
{
    put_bytes(f, path, text, strlen(text));
}

static int rewind_to(fixture *f, const char *path, int64_t at_ms, bool dry_run,
                     ash_tree_restore_report *report)
{
    ash_tree_restore_options o = ASH_TREE_RESTORE_OPTIONS_INIT;
    o.at_ms = at_ms;
    o.dry_run = dry_run;
    *report = (ash_tree_restore_report)ASH_TREE_RESTORE_REPORT_INIT;
    return ash_tree_restore_folder(f->tree, path, &o, NULL, report, &f->err);
}

/* "created changed moved deleted", as a dry run says it, and as it is done. */
static void expect_done(fixture *f, const char *path, int64_t at_ms, const char *counts)
{
    ash_tree_restore_report r;
    char got[80];
    for (int dry = 1; dry >= 0; dry--) {
        assert_ok(rewind_to(f, path, at_ms, dry, &r), &f->err);
        snprintf(got, sizeof got, "%d %d %d %d", (int)r.created, (int)r.changed, (int)r.moved,
                 (int)r.deleted);
        assert_string_equal(got, counts);
        assert_int_equal(r.failed, 0);
    }
    assert_ok(rewind_to(f, path, at_ms, false, &r), &f->err);
    assert_int_equal(r.created + r.changed + r.moved + r.deleted, 0);
}

/* Paths, kinds and digests below a folder, a line each. */
static char *state_of(fixture *f, const char *path, int64_t at_ms)
{
    ash_tree_list_options o = ASH_TREE_LIST_OPTIONS_INIT;
    ash_tree_listing *l = NULL;
    const ash_tree_entry *e = NULL;
    ash_buffer out = ASH_BUFFER_INIT;
    o.recursive = true;
    o.at_ms = at_ms;
    assert_ok(ash_tree_list(f->tree, path, &o, NULL, &l, &f->err), &f->err);
    for (;;) {
        assert_ok(ash_tree_listing_next(l, &e, &f->err), &f->err);
        if (e == NULL)
            break;
        ash__buffer_printf(&out, "%s %d %s\n", ash_tree_entry_path(e), ash_tree_entry_is_folder(e),
                           ash_tree_entry_digest(e));
    }
    ash_tree_listing_free(l);
    ash__buffer_append_byte(&out, 0);
    return (char *)ash__buffer_detach(&out);
}

static void test_tree_rewind__what_was_made_changed_and_deleted(void **state)
{
    fixture *f = *state;
    put(f, "d/same", 1);
    put(f, "d/changed", 2);
    put(f, "d/gone", 3);
    put(f, "d/sub/gone", 4);
    bson_value_t gone = support_id(f, "d/sub/gone");
    int64_t then = support_moment(f);
    put(f, "d/changed", 5);
    put(f, "d/changed", 6);
    support_remove(f, "d/gone");
    support_remove(f, "d/sub");
    put(f, "d/new", 7);
    put(f, "d/more/new", 8);
    put(f, "beside", 9);
    expect_done(f, "d", then, "3 1 0 2"); /* the folder sub comes with what lay in it */
    support_expect_list(f, "d", true, 0, "/d/changed /d/gone /d/same /d/sub /d/sub/gone");
    support_expect_seed(f, "d/changed", 2);
    support_expect_version(f, "d/changed", 4);
    support_expect_version(f, "d/same", 1);
    support_expect_id(f, "d/sub/gone", &gone);
    support_expect_seed(f, "beside", 9);
    ash_tree_listing *l = NULL;
    assert_ok(ash_tree_trash(f->tree, "d", 0, NULL, &l, &f->err), &f->err);
    support_expect_entries(f, l, true, "/d/new /d/more /d/more/new");
}

static void test_tree_rewind__what_was_moved(void **state)
{
    fixture *f = *state;
    put(f, "d/a", 1);
    put(f, "d/x/deep", 2);
    put(f, "d/out/one", 3);
    put(f, "d/out/two", 4);
    support_folder(f, "elsewhere");
    bson_value_t a = support_id(f, "d/a"), deep = support_id(f, "d/x/deep");
    int64_t then = support_moment(f);
    support_move(f, "d/a", "d/renamed");
    put(f, "d/renamed", 5);
    support_move(f, "d/x", "d/y");
    put(f, "d/y/new", 6);
    support_move(f, "d/out", "elsewhere/out");
    put(f, "elsewhere/in", 7);
    support_move(f, "elsewhere/in", "d/in");
    /* copies of out and its files; a is moved and changed; in and x/new go */
    expect_done(f, "d", then, "3 1 2 2");
    support_expect_list(f, "d", true, 0, "/d/a /d/out /d/out/one /d/out/two /d/x /d/x/deep");
    support_expect_id(f, "d/a", &a);
    support_expect_id(f, "d/x/deep", &deep);
    support_expect_seed(f, "d/a", 1);
    support_expect_seed(f, "d/out/two", 4);
    support_expect_list(f, "elsewhere", true, 0,
                        "/elsewhere/out /elsewhere/out/one /elsewhere/out/two");
}

static void test_tree_rewind__names_that_others_have_by_now(void **state)
{
    fixture *f = *state;
    put(f, "d/file", 1);
    put(f, "d/folder/in", 2);
    put(f, "d/one", 3);
    put(f, "d/two", 4);
    bson_value_t one = support_id(f, "d/one"), two = support_id(f, "d/two");
    int64_t then = support_moment(f);
    support_remove(f, "d/file");
    put(f, "d/file/now a folder", 5);
    support_remove(f, "d/folder");
    put(f, "d/folder", 6);
    support_move(f, "d/one", "d/three");
    support_move(f, "d/two", "d/one");
    support_move(f, "d/three", "d/two");
    ash_tree_restore_report r;
    assert_ok(rewind_to(f, "d", then, false, &r), &f->err);
    support_expect_list(f, "d", true, 0, "/d/file /d/folder /d/folder/in /d/one /d/two");
    support_expect_seed(f, "d/file", 1);
    support_expect_seed(f, "d/one", 3);
    support_expect_id(f, "d/one", &one);
    support_expect_id(f, "d/two", &two);
}

static void test_tree_rewind__a_folder_into_what_lay_in_it(void **state)
{
    fixture *f = *state;
    put(f, "d/x/y/z", 1);
    bson_value_t x = support_id(f, "d/x"), y = support_id(f, "d/x/y");
    int64_t then = support_moment(f);
    support_move(f, "d/x/y", "d/y");
    support_move(f, "d/x", "d/y/x");
    expect_done(f, "d", then, "0 0 2 0");
    support_expect_list(f, "d", true, 0, "/d/x /d/x/y /d/x/y/z");
    support_expect_id(f, "d/x", &x);
    support_expect_id(f, "d/x/y", &y);
}

/* What is in the place of another, and goes, takes along what lies in it. */
static void test_tree_rewind__into_the_place_of_what_it_lies_in(void **state)
{
    fixture *f = *state;
    put(f, "d/file", 1);
    put(f, "d/x/one", 2);
    put(f, "d/x/y/two", 3);
    bson_value_t file = support_id(f, "d/file"), x = support_id(f, "d/x"),
                 y = support_id(f, "d/x/y");
    int64_t then = support_moment(f);
    support_move(f, "d/file", "d/was");
    support_folder(f, "d/file");
    support_move(f, "d/was", "d/file/in it");
    support_move(f, "d/x/y", "d/was");
    support_move(f, "d/x", "d/was/y");
    support_move(f, "d/was", "d/x");
    char *wanted = state_of(f, "d", then);
    ash_tree_restore_report r;
    assert_ok(rewind_to(f, "d", then, true, &r), &f->err);
    assert_ok(rewind_to(f, "d", then, false, &r), &f->err);
    assert_int_equal(r.failed, 0);
    char *got = state_of(f, "d", 0);
    assert_string_equal(got, wanted);
    support_expect_id(f, "d/file", &file);
    support_expect_id(f, "d/x", &x);
    support_expect_id(f, "d/x/y", &y);
    ash__free(wanted);
    ash__free(got);
}

static void test_tree_rewind__the_folder_itself(void **state)
{
    fixture *f = *state;
    ash_tree_restore_report r;
    put(f, "d/a", 1);
    int64_t then = support_moment(f);
    put(f, "d/b", 2);
    support_moment(f);
    support_remove(f, "d");
    assert_ok(rewind_to(f, "d", then, false, &r), &f->err);
    support_expect_list(f, "/", true, 0, "/d /d/a");
    support_move(f, "d", "e");
    put(f, "e/a", 3);
    expect_done(f, "d", then, "2 0 0 0"); /* a copy, since e is somewhere else by now */
    support_expect_list(f, "/", true, 0, "/d /d/a /e /e/a");
    support_expect_seed(f, "d/a", 1);
    support_expect_seed(f, "e/a", 3);
    put(f, "d/a", 4);
    expect_done(f, "/", then, "0 1 1 1"); /* e is what d was then */
    support_expect_list(f, "/", true, 0, "/d /d/a");
    support_expect_seed(f, "d/a", 1);
}

static void test_tree_rewind__what_cannot_be(void **state)
{
    fixture *f = *state;
    ash_tree_restore_report r;
    int64_t before = support_moment(f);
    put(f, "d/a", 1);
    int64_t then = support_moment(f);
    assert_int_equal(rewind_to(f, "d", before, false, &r), ASH_ENOTFOUND);
    assert_int_equal(rewind_to(f, "d/a", then, false, &r), ASH_EINVAL);
    assert_int_equal(rewind_to(f, "d", 0, false, &r), ASH_EINVAL);
    support_expect_list(f, "d", false, 0, "a");
}

/* Type, time and properties come back, too, and a version that says the same is none. */
static void test_tree_rewind__what_versions_say(void **state)
{
    fixture *f = *state;
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    o.content_type = "text/x-first";
    o.make_folders = true;
    assert_ok(support_try_put(f, "d/a", "text", 4, &o, NULL), &f->err);
    put_text(f, "d/b", "text");
    int64_t then = support_moment(f);
    o.content_type = "text/x-second";
    assert_ok(ash_tree_set(f->tree, "d/a", &o, NULL, NULL, &f->err), &f->err);
    put_text(f, "d/b", "other");
    put_text(f, "d/b", "text");
    expect_done(f, "d", then, "0 1 0 0");
    ash_tree_entry *e = support_get(f, "d/a");
    assert_string_equal(ash_tree_entry_content_type(e), "text/x-first");
    ash_tree_entry_free(e);
    support_expect_version(f, "d/b", 3);
}

typedef struct seen {
    int left;
    char text[400];
} seen;

static bool see(void *ctx, const ash_tree_event *event)
{
    static const char *const kinds[] = {"", "created", "changed", "moved", "deleted"};
    seen *s = ctx;
    size_t len = strlen(s->text);
    snprintf(s->text + len, sizeof s->text - len, "%s %s %s,", kinds[event->kind], event->path,
             event->from != NULL ? event->from : "-");
    return --s->left > 0;
}

static void test_tree_rewind__is_told_and_stopped(void **state)
{
    fixture *f = *state;
    ash_tree_restore_options o = ASH_TREE_RESTORE_OPTIONS_INIT;
    seen s = {.left = 2};
    put(f, "d/a", 1);
    put(f, "d/b", 2);
    put(f, "d/c", 3);
    o.at_ms = support_moment(f);
    o.each = see;
    o.each_ctx = &s;
    put(f, "d/a", 4);
    support_move(f, "d/b", "d/b2");
    put(f, "d/c", 5);
    assert_int_equal(ash_tree_restore_folder(f->tree, "d", &o, NULL, NULL, &f->err),
                     ASH_EINTERRUPTED);
    assert_string_equal(s.text, "changed /d/a -,moved /d/b /d/b2,");
    support_expect_seed(f, "d/c", 5);
    s.left = 9;
    s.text[0] = 0;
    assert_ok(ash_tree_restore_folder(f->tree, "d", &o, NULL, NULL, &f->err), &f->err);
    assert_string_equal(s.text, "changed /d/c -,");
}

/* ---- whatever happened ---- */

static const char *some_path(uint32_t *seed, char *buf, size_t size)
{
    static const char *const names[] = {"a", "b", "c"};
    size_t len = (size_t)snprintf(buf, size, "d");
    *seed = *seed * 1103515245u + 12345u;
    for (uint32_t deep = 1 + (*seed >> 16) % 3; deep > 0; deep--) {
        *seed = *seed * 1103515245u + 12345u;
        len += (size_t)snprintf(buf + len, size - len, "/%s", names[(*seed >> 16) % 3]);
    }
    return buf;
}

/* Many of these fail, as paths are not there, or are there already. */
static void change_something(fixture *f, uint32_t *seed)
{
    char a[40], b[40], text[20];
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    ash_error err = ASH_ERROR_INIT;
    some_path(seed, a, sizeof a);
    some_path(seed, b, sizeof b);
    o.recursive = o.make_folders = true;
    snprintf(text, sizeof text, "%u", *seed);
    switch ((*seed >> 20) % 6) {
    case 0:
    case 1:
        (void)support_try_put(f, a, text, strlen(text), &o, NULL);
        break;
    case 2:
        (void)ash_tree_make_folder(f->tree, a, &o, NULL, NULL, &err);
        break;
    case 3:
        (void)ash_tree_move(f->tree, a, b, &o, NULL, NULL, &err);
        break;
    case 4:
        (void)ash_tree_move(f->tree, a, "out", &o, NULL, NULL, &err);
        break;
    default:
        (void)ash_tree_remove(f->tree, a, &o, NULL, &err);
        break;
    }
    f->err = (ash_error)ASH_ERROR_INIT;
}

static void test_tree_rewind__after_anything(void **state)
{
    enum { ROUNDS = 40, CHANGES = 30 };
    fixture *f = *state;
    support_folder(f, "d");
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        uint32_t seed = round * 7919;
        ash_tree_restore_report r;
        for (int i = 0; i < CHANGES; i++)
            change_something(f, &seed);
        int64_t then = support_moment(f);
        for (int i = 0; i < CHANGES; i++)
            change_something(f, &seed);
        char *before = state_of(f, "d", 0), *wanted = state_of(f, "d", then);
        assert_ok(rewind_to(f, "d", then, true, &r), &f->err);
        char *still = state_of(f, "d", 0);
        assert_string_equal(still, before);
        assert_ok(rewind_to(f, "d", then, false, &r), &f->err);
        char *got = state_of(f, "d", 0);
        assert_string_equal(got, wanted);
        ash__free(before);
        ash__free(wanted);
        ash__free(still);
        ash__free(got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define here(test) cmocka_unit_test_setup_teardown(test, support_setup, support_teardown)
        here(test_tree_rewind__what_was_made_changed_and_deleted),
        here(test_tree_rewind__what_was_moved),
        here(test_tree_rewind__names_that_others_have_by_now),
        here(test_tree_rewind__a_folder_into_what_lay_in_it),
        here(test_tree_rewind__into_the_place_of_what_it_lies_in),
        here(test_tree_rewind__the_folder_itself),
        here(test_tree_rewind__what_cannot_be),
        here(test_tree_rewind__what_versions_say),
        here(test_tree_rewind__is_told_and_stopped),
        here(test_tree_rewind__after_anything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
