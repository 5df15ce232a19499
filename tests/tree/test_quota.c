/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "base/thread.h"
#include "tree/tree.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How much a folder may have: what counts, what is refused, and that nothing of it is done then.  At
 * the end of each test the tree is checked, and with it that each quota has the sum of its files. */

static void set_quota(fixture *f, const char *path, int64_t max_bytes)
{
    assert_ok(ash_tree_set_quota(f->tree, path, max_bytes, NULL, NULL, &f->err), &f->err);
}

static void expect_quota(fixture *f, const char *path, int64_t max, int64_t used, const char *from)
{
    ash_tree_quota q = ASH_TREE_QUOTA_INIT;
    char *where = NULL;
    assert_ok(ash_tree_get_quota(f->tree, path, NULL, &q, &where, &f->err), &f->err);
    assert_int_equal(q.max_bytes, max);
    assert_int_equal(q.used_bytes, used);
    if (from == NULL)
        assert_null(where);
    else
        assert_string_equal(where, from);
    ash_tree_string_free(where);
}

static int try_put(fixture *f, const char *path, size_t len, uint32_t seed)
{
    uint8_t *data = support_bytes(len, seed);
    int rc = support_try_put(f, path, data, len, NULL, NULL);
    ash__free(data);
    return rc;
}

static void put(fixture *f, const char *path, size_t len, uint32_t seed)
{
    assert_ok(try_put(f, path, len, seed), &f->err);
}

static void expect_full(fixture *f, int rc, const char *text)
{
    assert_int_equal(rc, ASH_ENOSPC);
    assert_int_equal(f->err.server_code, 12501);
    assert_string_equal(f->err.text, text);
}

static ash_tree_change_options recursive(void)
{
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    o.recursive = o.replace = true;
    return o;
}

static int copy(fixture *f, const char *from, const char *to)
{
    ash_tree_change_options o = recursive();
    return ash_tree_copy(f->tree, from, NULL, to, &o, NULL, NULL, &f->err);
}

static int move(fixture *f, const char *from, const char *to)
{
    ash_tree_change_options o = recursive();
    return ash_tree_move(f->tree, from, to, &o, NULL, NULL, &f->err);
}

static void test_tree_quota__files_of_any_size(void **state)
{
    fixture *f = *state;
    support_folder(f, "a");
    support_folder(f, "a/b");
    expect_quota(f, "a", -1, -1, NULL);
    put(f, "a/old", 300, 1);
    put(f, "outside", 5000, 2);
    set_quota(f, "a", 1000);
    expect_quota(f, "a", 1000, 300, "/a");
    expect_quota(f, "a/old", 1000, 300, "/a");
    put(f, "a/b/tiny", 100, 3); /* stands in its document */
    put(f, "a/b/new", 600, 4);
    expect_quota(f, "a/b", 1000, 1000, "/a");
    expect_full(f, try_put(f, "a/b/more", 1, 5),
                "over quota: /a may have 1000 bytes and has 1000; 1 more were to come");
    support_expect_missing(f, "a/b/more");
    put(f, "a/b/empty", 0, 0);
    put(f, "outside", 6000, 6);
    expect_full(f, try_put(f, "a/old", 301, 7),
                "over quota: /a may have 1000 bytes and has 1000; 1 more were to come");
    support_expect_version(f, "a/old", 1);
    put(f, "a/old", 299, 8); /* the version of before does not count */
    put(f, "a/old", 300, 9);
    expect_quota(f, "a", 1000, 1000, "/a");
}

static void test_tree_quota__less_than_there_is(void **state)
{
    fixture *f = *state;
    support_folder(f, "a");
    put(f, "a/x", 1000, 1);
    put(f, "a/y", 1000, 2);
    set_quota(f, "a", 500);
    expect_quota(f, "a", 500, 2000, "/a");
    expect_full(f, try_put(f, "a/z", 1, 3),
                "over quota: /a may have 500 bytes and has 2000; 1 more were to come");
    put(f, "a/x", 900, 4); /* what shrinks passes, and what stays as large */
    put(f, "a/x", 900, 5);
    assert_ok(move(f, "a/x", "a/w"), &f->err);
    support_remove(f, "a/y");
    expect_quota(f, "a", 500, 900, "/a");
    support_remove(f, "a/w");
    put(f, "a/z", 500, 6);
    set_quota(f, "a", 0);
    assert_int_equal(try_put(f, "a/z", 501, 7), ASH_ENOSPC);
    set_quota(f, "a", -1);
    expect_quota(f, "a", -1, -1, NULL);
    put(f, "a/z", 5000, 8);
    set_quota(f, "a", -1); /* there is none, as is wanted */
}

static void test_tree_quota__each_folder_above_has_its_say(void **state)
{
    fixture *f = *state;
    support_folder(f, "a");
    support_folder(f, "a/b");
    support_folder(f, "a/b/c");
    set_quota(f, "a/b/c", 1000);
    set_quota(f, "a", 300);
    set_quota(f, "/", 5000);
    put(f, "a/b/c/x", 200, 1);
    expect_quota(f, "a/b/c", 300, 200, "/a");
    expect_full(f, try_put(f, "a/b/c/y", 200, 2),
                "over quota: /a may have 300 bytes and has 200; 200 more were to come");
    set_quota(f, "a", 3000);
    put(f, "a/b/c/y", 700, 3);
    expect_full(f, try_put(f, "a/b/c/z", 200, 4),
                "over quota: /a/b/c may have 1000 bytes and has 900; 200 more were to come");
    put(f, "a/z", 4100 - 2000, 4);
    expect_quota(f, "a/b", 3000, 3000, "/a");
    expect_full(f, try_put(f, "w", 2001, 5),
                "over quota: / may have 5000 bytes and has 3000; 2001 more were to come");
    put(f, "w", 2000, 5);
}

static void test_tree_quota__copies(void **state)
{
    fixture *f = *state;
    support_folder(f, "a");
    support_folder(f, "from");
    support_folder(f, "from/deep");
    put(f, "from/x", 400, 1);
    put(f, "from/deep/y", 100, 2);
    set_quota(f, "a", 1000);
    assert_ok(copy(f, "from", "a/one"), &f->err);
    assert_ok(copy(f, "from/x", "a/two"), &f->err); /* shares all its bytes, and counts */
    expect_quota(f, "a", 1000, 900, "/a");
    expect_full(f, copy(f, "from", "a/three"),
                "over quota: /a may have 1000 bytes and has 900; 500 more were to come");
    support_expect_missing(f, "a/three");
    assert_ok(copy(f, "from/deep/y", "a/two"), &f->err);
    expect_quota(f, "a", 1000, 600, "/a");
}

static void test_tree_quota__moves(void **state)
{
    fixture *f = *state;
    support_folder(f, "a");
    support_folder(f, "a/b");
    support_folder(f, "from");
    support_folder(f, "from/deep");
    put(f, "from/x", 400, 1);
    put(f, "from/deep/y", 100, 2);
    put(f, "a/z", 50, 3);
    set_quota(f, "a", 500);
    set_quota(f, "from", 5000);
    expect_full(f, move(f, "from", "a/from"),
                "over quota: /a may have 500 bytes and has 50; 500 more were to come");
    expect_full(f, move(f, "from", "a/b/from"),
                "over quota: /a may have 500 bytes and has 50; 500 more were to come");
    support_remove(f, "a/z");
    assert_ok(move(f, "from", "a/from"), &f->err); /* its own quota comes along */
    expect_quota(f, "a/from/deep", 500, 500, "/a");
    assert_ok(move(f, "a/from/deep", "a/b/deep"), &f->err);
    assert_ok(move(f, "a/b", "b"), &f->err);
    expect_quota(f, "a", 500, 400, "/a");
    set_quota(f, "a", -1);
    expect_quota(f, "a/from", 5000, 400, "/a/from");
    assert_ok(move(f, "b/deep/y", "a/from/x"), &f->err); /* onto what is there */
    expect_quota(f, "a/from", 5000, 100, "/a/from");
}

static int undelete(fixture *f, const bson_value_t *id, const char *to)
{
    return ash_tree_undelete(f->tree, id, to, NULL, NULL, NULL, &f->err);
}

static void test_tree_quota__what_comes_back(void **state)
{
    fixture *f = *state;
    support_folder(f, "a");
    support_folder(f, "a/b");
    put(f, "a/b/x", 400, 1);
    put(f, "a/b/x", 100, 2);
    put(f, "a/y", 300, 3);
    set_quota(f, "a", 600);
    set_quota(f, "a/b", 1000);
    expect_full(f, ash_tree_restore(f->tree, "a/b/x", 1, NULL, NULL, NULL, &f->err),
                "over quota: /a may have 600 bytes and has 400; 300 more were to come");
    set_quota(f, "a", 700);
    assert_ok(ash_tree_restore(f->tree, "a/b/x", 1, NULL, NULL, NULL, &f->err), &f->err);
    bson_value_t b = support_id(f, "a/b");
    support_remove(f, "a/b");
    expect_quota(f, "a", 700, 300, "/a");
    put(f, "a/z", 1, 4);
    expect_full(f, undelete(f, &b, NULL),
                "over quota: /a may have 700 bytes and has 301; 400 more were to come");
    support_expect_missing(f, "a/b");
    support_remove(f, "a/z");
    assert_ok(undelete(f, &b, NULL), &f->err);
    expect_quota(f, "a", 700, 700, "/a");
    set_quota(f, "a", -1);
    expect_quota(f, "a/b", 1000, 400, "/a/b"); /* it has its quota again */
}

static bool add_line(void *ctx, const char *path, const ash_tree_quota *q)
{
    char *out = ctx, line[64];
    snprintf(line, sizeof line, "%s %" PRId64 "/%" PRId64 ", ", path, q->used_bytes, q->max_bytes);
    strncat(out, line, 200);
    return true;
}

static bool stop(void *ctx, const char *path, const ash_tree_quota *q)
{
    (void)ctx, (void)path, (void)q;
    return false;
}

static void expect_quotas(fixture *f, const char *path, const char *wanted)
{
    char text[512] = "";
    assert_ok(ash_tree_quotas(f->tree, path, NULL, add_line, text, &f->err), &f->err);
    assert_string_equal(text, wanted);
}

static void test_tree_quota__are_listed(void **state)
{
    fixture *f = *state;
    support_folder(f, "a");
    support_folder(f, "a/b");
    support_folder(f, "ab");
    expect_quotas(f, "/", "");
    put(f, "a/b/x", 10, 1);
    set_quota(f, "ab", 1);
    set_quota(f, "a/b", 20);
    set_quota(f, "a", 30);
    expect_quotas(f, "/", "/a 10/30, /a/b 10/20, /ab 0/1, ");
    expect_quotas(f, "a", "/a 10/30, /a/b 10/20, ");
    expect_quotas(f, "a/b/x", "/a 10/30, /a/b 10/20, ");
    expect_quotas(f, "ab", "/ab 0/1, ");
    assert_int_equal(ash_tree_quotas(f->tree, "/", NULL, stop, NULL, &f->err), ASH_EINTERRUPTED);
    assert_int_equal(ash_tree_quotas(f->tree, "c", NULL, stop, NULL, &f->err), ASH_ENOTFOUND);
    support_remove(f, "a");
    expect_quotas(f, "/", "/ab 0/1, ");
    assert_int_equal(ash_tree_set_quota(f->tree, "a", 1, NULL, NULL, &f->err), ASH_ENOTFOUND);
    put(f, "file", 10, 1);
    assert_int_equal(ash_tree_set_quota(f->tree, "file", 1, NULL, NULL, &f->err), ASH_EINVAL);
}

/* Who may write, and not read what is above, is not told what else there is. */
static void test_tree_quota__what_others_are_told(void **state)
{
    fixture *f = *state;
    bson_t *roles = BCON_NEW("0", "{", "role", BCON_UTF8("mail"), "db", BCON_UTF8("test"), "}");
    ash_principal who = ASH_PRINCIPAL_INIT;
    ash_op op = ASH_OP_INIT;
    ash_tree_entry *e = NULL;
    who.user = "ann";
    who.db = "test";
    who.roles = roles;
    op.principal = &who;
    support_folder(f, "in");
    support_folder(f, "in/box");
    set_quota(f, "in", 1);
    bson_t *closed = BCON_NEW("read", "[", "]", "write", "[", "]", "open", "[", "mail", "]");
    bson_t *open = BCON_NEW("read", "[", "]", "write", "[", "mail", "]", "open", "[", "mail", "]");
    assert_ok(ash_tree_set_acl(f->tree, "in", closed, NULL, NULL, &f->err), &f->err);
    assert_ok(ash_tree_set_acl(f->tree, "in/box", open, NULL, NULL, &f->err), &f->err);
    ash_tree_writer *w = NULL;
    assert_ok(ash_tree_open_writer(f->tree, "in/box/x", NULL, &op, &w, &f->err), &f->err);
    assert_ok(ash_tree_writer_write(w, "12", 2, &f->err), &f->err);
    expect_full(f, ash_tree_writer_finish(w, NULL, &e, &f->err),
                "over quota: there is no room for 2 bytes more");
    ash_tree_writer_free(w);
    assert_int_equal(ash_tree_set_quota(f->tree, "in", 9, NULL, &op, &f->err), ASH_EACCES);
    assert_ok(ash_tree_set_quota(f->tree, "in/box", 9, NULL, &op, &f->err), &f->err);
    bson_destroy(closed);
    bson_destroy(open);
    bson_destroy(roles);
}

/* Whoever sends more than fits hears of it before he has sent all. */
static void test_tree_quota__told_before_the_end(void **state)
{
    fixture *f = *state;
    enum { MIB = 1024 * 1024 };
    ash_tree_writer *w = NULL;
    uint8_t *data = support_bytes(MIB, 1);
    support_folder(f, "a");
    set_quota(f, "a", 3 * MIB);
    assert_ok(ash_tree_open_writer(f->tree, "a/x", NULL, NULL, &w, &f->err), &f->err);
    for (int i = 0; i < 3; i++)
        assert_ok(ash_tree_writer_write(w, data, MIB, &f->err), &f->err);
    expect_full(f, ash_tree_writer_write(w, data, 1, &f->err),
                "over quota: /a may have 3145728 bytes and has 0; 3145729 more were to come");
    ash_tree_writer_free(w);
    support_expect_missing(f, "a/x");
    ash__free(data);
}

/* ---- several at once ---- */

enum { WRITERS = 4, EACH = 30, LENGTH = 100 };

typedef struct filling {
    fixture *f;
    unsigned number;
    int kept, refused;
} filling;

static void *fill(void *ctx)
{
    filling *w = ctx;
    ash_error err = ASH_ERROR_INIT;
    for (unsigned i = 0; i < EACH; i++) {
        char path[32];
        ash_tree_writer *writer = NULL;
        uint8_t *data = support_bytes(LENGTH, w->number * EACH + i);
        snprintf(path, sizeof path, "a/%u/%u", w->number % 2, w->number * EACH + i);
        int rc = ash_tree_open_writer(w->f->tree, path, NULL, NULL, &writer, &err);
        if (rc == 0)
            rc = ash_tree_writer_write(writer, data, LENGTH, &err);
        if (rc == 0)
            rc = ash_tree_writer_finish(writer, NULL, NULL, &err);
        ash_tree_writer_free(writer);
        ash__free(data);
        w->kept += rc == 0;
        w->refused += rc == ASH_ENOSPC;
    }
    return NULL;
}

/* As many as fit are kept, and not one more. */
static void test_tree_quota__several_writers(void **state)
{
    fixture *f = *state;
    enum { FIT = 50 };
    pthread_t threads[WRITERS];
    filling w[WRITERS];
    int kept = 0, refused = 0;
    support_folder(f, "a");
    support_folder(f, "a/0");
    support_folder(f, "a/1");
    set_quota(f, "a", FIT * LENGTH + LENGTH / 2);
    for (unsigned i = 0; i < WRITERS; i++) {
        w[i] = (filling){.f = f, .number = i};
        assert_int_equal(pthread_create(&threads[i], NULL, fill, &w[i]), 0);
    }
    for (unsigned i = 0; i < WRITERS; i++) {
        pthread_join(threads[i], NULL);
        kept += w[i].kept;
        refused += w[i].refused;
    }
    assert_int_equal(kept, FIT);
    assert_int_equal(refused, WRITERS * EACH - FIT);
    expect_quota(f, "a", FIT * LENGTH + LENGTH / 2, FIT * LENGTH, "/a");
}

/* ---- large folders ---- */

static void put_many(fixture *f, const char *folder, unsigned count)
{
    char path[64];
    for (unsigned i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%s/%u", folder, i);
        put(f, path, 10, i);
    }
}

static void test_tree_quota__of_large_folders(void **state)
{
    fixture *f = *state;
    ash_tree_change_options all = recursive();
    support_folder(f, "a");
    support_folder(f, "b");
    support_folder(f, "b/c");
    put_many(f, "b/c", 20);
    f->tree->whole_max = 5;
    set_quota(f, "b", 1000); /* counted beside the others */
    expect_quota(f, "b", 1000, 200, "/b");
    set_quota(f, "a", 199);
    expect_full(f, move(f, "b/c", "a/c"),
                "over quota: /a may have 199 bytes and has 0; 200 more were to come");
    expect_full(f, copy(f, "b", "a/b"),
                "over quota: /a may have 199 bytes and has 0; 200 more were to come");
    support_expect_list(f, "a", true, 0, "");
    set_quota(f, "a", 200);
    assert_ok(move(f, "b/c", "a/c"), &f->err);
    expect_quota(f, "b", 1000, 0, "/b");
    expect_quota(f, "a", 200, 200, "/a");
    bson_value_t c = support_id(f, "a/c");
    assert_ok(ash_tree_remove(f->tree, "a/c", &all, NULL, &f->err), &f->err);
    expect_quota(f, "a", 200, 0, "/a");
    put(f, "a/x", 1, 99);
    expect_full(f, undelete(f, &c, NULL),
                "over quota: /a may have 200 bytes and has 1; 200 more were to come");
    support_expect_list(f, "a", true, 0, "/a/x"); /* not begun, as it could not be ended */
    support_remove(f, "a/x");
    assert_ok(undelete(f, &c, NULL), &f->err);
    expect_quota(f, "a", 200, 200, "/a");
}

/* ---- looking after them ---- */

static ash_collection *quotas(fixture *f)
{
    ash_collection *c = NULL;
    assert_ok(ash_collection_new(f->store, NULL, "v7files.quotas", &c, &f->err), &f->err);
    return c;
}

static void keep_text(void *ctx, const char *text, const bson_t *facts)
{
    (void)facts;
    snprintf(ctx, 200, "%s", text);
}

static void test_tree_quota__a_wrong_sum_is_found(void **state)
{
    fixture *f = *state;
    ash_tree_check_options o = ASH_TREE_CHECK_OPTIONS_INIT;
    ash_collection *c = quotas(f);
    char text[200] = "";
    o.finding = keep_text;
    o.finding_ctx = text;
    support_folder(f, "a");
    put(f, "a/x", 100, 1);
    set_quota(f, "a", 1000);
    support_update(c, "{}", "{\"$inc\": {\"used\": {\"$numberLong\": \"7\"}}}");
    assert_int_equal(ash_tree_check(f->tree, &o, NULL, NULL, &f->err), ASH_ECORRUPT);
    assert_string_equal(
        text, "/a: its quota counts 107 bytes, and its files have 100: set the quota again");
    set_quota(f, "a", 1000);
    expect_quota(f, "a", 1000, 100, "/a");
    ash_collection_free(c);
}

static void test_tree_quota__nobody_finished_counting(void **state)
{
    fixture *f = *state;
    ash_collection *c = quotas(f);
    support_folder(f, "a");
    put(f, "a/x", 100, 1);
    set_quota(f, "a", 50);
    support_update(c, "{}", "{\"$unset\": {\"used\": 1}, \"$set\": {\"counting\": true}}");
    expect_quota(f, "a", 50, -1, "/a");
    put(f, "a/y", 100, 2); /* a limit of what nobody knows refuses nothing */
    assert_int_equal(support_count(c, "{\"changes\": 1, \"used\": {\"$exists\": false}}"), 1);
    set_quota(f, "a", 50);
    expect_quota(f, "a", 50, 200, "/a");
    ash_collection_free(c);
}

static void test_tree_quota__what_nobody_has_is_collected(void **state)
{
    fixture *f = *state;
    ash_tree_collect_options o = ASH_TREE_COLLECT_OPTIONS_INIT;
    ash_tree_prune_options p = ASH_TREE_PRUNE_OPTIONS_INIT;
    ash_tree_keep none = ASH_TREE_KEEP_INIT;
    ash_collection *c = quotas(f);
    o.min_age_s = -1;
    p.keep = &none;
    support_folder(f, "a");
    support_folder(f, "b");
    set_quota(f, "a", 10);
    set_quota(f, "b", 10);
    set_quota(f, "/", 10);
    support_remove(f, "a");
    assert_ok(ash_tree_collect(f->tree, &o, NULL, NULL, &f->err), &f->err);
    assert_int_equal(support_count(c, "{}"), 3);
    assert_ok(ash_tree_prune(f->tree, "/", &p, NULL, NULL, &f->err), &f->err);
    assert_ok(ash_tree_collect(f->tree, &o, NULL, NULL, &f->err), &f->err);
    assert_int_equal(support_count(c, "{}"), 2);
    expect_quota(f, "b", 10, 0, "/");
    ash_collection_free(c);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, support_setup, support_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_tree_quota__files_of_any_size),
        TEST(test_tree_quota__less_than_there_is),
        TEST(test_tree_quota__each_folder_above_has_its_say),
        TEST(test_tree_quota__copies),
        TEST(test_tree_quota__moves),
        TEST(test_tree_quota__what_comes_back),
        TEST(test_tree_quota__are_listed),
        TEST(test_tree_quota__what_others_are_told),
        TEST(test_tree_quota__told_before_the_end),
        TEST(test_tree_quota__several_writers),
        TEST(test_tree_quota__of_large_folders),
        TEST(test_tree_quota__a_wrong_sum_is_found),
        TEST(test_tree_quota__nobody_finished_counting),
        TEST(test_tree_quota__what_nobody_has_is_collected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
