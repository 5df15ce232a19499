/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "base/thread.h"
#include "tree/tree.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* How much a user may have: whose a file is after each operation, what is refused to whom, and that
 * nothing of it is done then.  At the end of each test the tree is checked, and with it that each user's
 * quota has the sum of his files. */

static void set_user(fixture *f, const char *user, int64_t max_bytes)
{
    assert_ok(ash_tree_set_user_quota(f->tree, user, max_bytes, NULL, NULL, &f->err), &f->err);
}

static void set_folder(fixture *f, const char *path, int64_t max_bytes)
{
    assert_ok(ash_tree_set_quota(f->tree, path, max_bytes, NULL, NULL, &f->err), &f->err);
}

static bool add_line(void *ctx, const char *user, const ash_tree_quota *q)
{
    char *out = ctx, line[64];
    snprintf(line, sizeof line, "%s %" PRId64 "/%" PRId64 " ", user, q->used_bytes, q->max_bytes);
    strncat(out, line, 200);
    return true;
}

/* "ann 10/20 ben 0/5 " */
static void expect_users(fixture *f, const char *wanted)
{
    char text[512] = "";
    assert_ok(ash_tree_user_quotas(f->tree, NULL, NULL, add_line, text, &f->err), &f->err);
    assert_string_equal(text, wanted);
}

static void expect_full(fixture *f, int rc, const char *text)
{
    assert_int_equal(rc, ASH_ENOSPC);
    assert_int_equal(f->err.server_code, 12501);
    assert_string_equal(f->err.text, text);
}

static void expect_author(fixture *f, const char *path, const char *user)
{
    ash_tree_entry *e = support_get(f, path);
    const char *who = ash_tree_entry_written_by(e);
    assert_string_equal(who != NULL ? who : "", user);
    ash_tree_entry_free(e);
}

/* user NULL: nobody is known. */
static ash_tree_change_options by(const char *user)
{
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    o.changed_by = user;
    o.recursive = o.replace = true;
    return o;
}

static int try_put(fixture *f, const char *user, const char *path, size_t len, uint32_t seed)
{
    const ash_tree_change_options o = by(user);
    uint8_t *data = support_bytes(len, seed);
    int rc = support_try_put(f, path, data, len, &o, NULL);
    ash__free(data);
    return rc;
}

static void put(fixture *f, const char *user, const char *path, size_t len, uint32_t seed)
{
    assert_ok(try_put(f, user, path, len, seed), &f->err);
}

static int copy(fixture *f, const char *user, const char *from, const char *to)
{
    const ash_tree_change_options o = by(user);
    return ash_tree_copy(f->tree, from, NULL, to, &o, NULL, NULL, &f->err);
}

static int move(fixture *f, const char *user, const char *from, const char *to)
{
    const ash_tree_change_options o = by(user);
    return ash_tree_move(f->tree, from, to, &o, NULL, NULL, &f->err);
}

static int restore(fixture *f, const char *user, const char *path, int32_t version)
{
    const ash_tree_change_options o = by(user);
    return ash_tree_restore(f->tree, path, version, &o, NULL, NULL, &f->err);
}

static int undelete(fixture *f, const char *user, const bson_value_t *id)
{
    const ash_tree_change_options o = by(user);
    return ash_tree_undelete(f->tree, id, NULL, &o, NULL, NULL, &f->err);
}

static void test_tree_quota_user__whoever_puts_a_file(void **state)
{
    fixture *f = *state;
    support_folder(f, "a");
    put(f, "ann", "a/old", 300, 1);
    put(f, "ben", "a/bens", 5000, 2);
    put(f, NULL, "a/nobodys", 5000, 3);
    set_user(f, "ann", 1000);
    set_user(f, "cleo@files", 0);
    expect_users(f, "ann 300/1000 cleo@files 0/0 ");
    put(f, "ann", "tiny", 100, 4); /* stands in its document */
    put(f, "ann", "a/new", 600, 5);
    expect_users(f, "ann 1000/1000 cleo@files 0/0 ");
    expect_full(f, try_put(f, "ann", "a/more", 1, 6),
                "over quota: user ann may have 1000 bytes and has 1000; 1 more were to come");
    support_expect_missing(f, "a/more");
    expect_full(f, try_put(f, "cleo@files", "a/more", 1, 6),
                "over quota: user cleo@files may have 0 bytes and has 0; 1 more were to come");
    put(f, "cleo@files", "a/empty", 0, 0);
    put(f, "cleo", "a/hers", 10, 7); /* of another database */
    put(f, "ben", "a/bens", 6000, 8);
    put(f, "ann", "a/old", 299, 9); /* the version of before does not count */
    put(f, "ann", "a/old", 300, 10);
    set_user(f, "ann", 500); /* less than there is */
    put(f, "ann", "a/old", 300, 11);
    put(f, "ann", "a/old", 30, 12);
    expect_users(f, "ann 730/500 cleo@files 0/0 ");
    set_user(f, "ann", -1);
    expect_users(f, "cleo@files 0/0 ");
    put(f, "ann", "a/more", 5000, 13);
}

static void test_tree_quota_user__whoever_replaces_it(void **state)
{
    fixture *f = *state;
    put(f, "ann", "x", 400, 1);
    set_user(f, "ann", 1000);
    set_user(f, "ben", 300);
    expect_full(f, try_put(f, "ben", "x", 301, 2), /* all of it would be his */
                "over quota: user ben may have 300 bytes and has 0; 301 more were to come");
    expect_author(f, "x", "ann");
    put(f, "ben", "x", 300, 3);
    expect_author(f, "x", "ben");
    expect_users(f, "ann 0/1000 ben 300/300 ");
    put(f, NULL, "x", 500, 4); /* nobody's */
    expect_author(f, "x", "");
    expect_users(f, "ann 0/1000 ben 0/300 ");
    put(f, "ann", "x", 500, 5);
    put(f, "ben", "x", 500, 5); /* the same bytes are no new version */
    support_expect_version(f, "x", 4);
    expect_users(f, "ann 500/1000 ben 0/300 ");
}

static void test_tree_quota_user__what_moves_stays_whose_it_is(void **state)
{
    fixture *f = *state;
    ash_tree_change_options typed = by("ben");
    typed.content_type = "text/plain";
    support_folder(f, "a");
    put(f, "ann", "x", 400, 1);
    put(f, NULL, "nobodys", 70, 2);
    set_user(f, "ann", 400);
    set_user(f, "ben", 0);
    assert_ok(move(f, "ben", "x", "a/y"), &f->err);
    assert_ok(move(f, "ben", "nobodys", "a/nobodys"), &f->err);
    assert_ok(ash_tree_set(f->tree, "a/y", &typed, NULL, NULL, &f->err), &f->err);
    expect_author(f, "a/y", "ann");
    expect_author(f, "a/nobodys", "");
    assert_ok(move(f, NULL, "a/y", "a/z"), &f->err);
    expect_author(f, "a/z", "ann");
    assert_ok(move(f, "ann", "a/z", "a/y"), &f->err);
    bson_t *doc = support_document(f->current, "{\"filename\": \"y\"}");
    assert_false(bson_has_field(doc, "written_by")); /* it is who changed it last, too */
    bson_destroy(doc);
    assert_ok(move(f, "ben", "a", "b"), &f->err);
    expect_users(f, "ann 400/400 ben 0/0 ");
    put(f, "ben", "b/nobodys", 0, 0);
    put(f, "cleo", "other", 10, 3);
    assert_ok(move(f, "ben", "other", "b/y"), &f->err); /* onto it: it is gone, as if deleted */
    expect_users(f, "ann 0/400 ben 0/0 ");
    expect_author(f, "b/y", "cleo");
}

static void test_tree_quota_user__whoever_copies(void **state)
{
    fixture *f = *state;
    support_folder(f, "a");
    put(f, "ann", "a/x", 400, 1);
    put(f, "ann", "a/y", 100, 2);
    assert_ok(move(f, "cleo", "a/y", "a/z"), &f->err); /* written by one, changed by another */
    set_user(f, "ann", 500);
    set_user(f, "ben", 900);
    set_user(f, "cleo", 0);
    assert_ok(copy(f, "ben", "a", "b"), &f->err); /* shares all its bytes, and counts */
    expect_full(f, copy(f, "ben", "a", "c"),
                "over quota: user ben may have 900 bytes and has 500; 500 more were to come");
    support_expect_missing(f, "c");
    expect_author(f, "b/z", "ben");
    assert_ok(copy(f, "ben", "a/x", "d"), &f->err);
    expect_users(f, "ann 500/500 ben 900/900 cleo 0/0 ");
    assert_ok(copy(f, NULL, "a/z", "d"), &f->err);
    expect_users(f, "ann 500/500 ben 500/900 cleo 0/0 ");
    assert_ok(copy(f, "ben", "a/x", "a/z"), &f->err); /* onto another one's */
    expect_users(f, "ann 400/500 ben 900/900 cleo 0/0 ");
}

static void test_tree_quota_user__whoever_brings_back(void **state)
{
    fixture *f = *state;
    support_folder(f, "a");
    put(f, "ann", "a/x", 400, 1);
    put(f, "ann", "a/x", 100, 2);
    put(f, "cleo", "a/y", 50, 3);
    set_user(f, "ann", 300);
    set_user(f, "ben", 449);
    expect_full(f, restore(f, "ann", "a/x", 1),
                "over quota: user ann may have 300 bytes and has 100; 300 more were to come");
    assert_ok(restore(f, "ben", "a/x", 1), &f->err);
    expect_author(f, "a/x", "ben");
    expect_users(f, "ann 0/300 ben 400/449 ");
    bson_value_t a = support_id(f, "a");
    support_remove(f, "a");
    expect_users(f, "ann 0/300 ben 0/449 ");
    expect_full(f, undelete(f, "ben", &a),
                "over quota: user ben may have 449 bytes and has 0; 450 more were to come");
    support_expect_missing(f, "a");
    set_user(f, "ben", 450);
    assert_ok(undelete(f, "ben", &a), &f->err);
    expect_author(f, "a/y", "ben");
    expect_users(f, "ann 0/300 ben 450/450 ");
    support_remove(f, "a");
    assert_ok(undelete(f, NULL, &a), &f->err);
    expect_users(f, "ann 0/300 ben 0/450 ");
}

/* In as many commits as it takes. */
static void test_tree_quota_user__of_large_folders(void **state)
{
    fixture *f = *state;
    char path[32];
    support_folder(f, "a");
    for (uint32_t i = 0; i < 20; i++) {
        snprintf(path, sizeof path, "a/%u", i);
        put(f, "ann", path, 10, i);
    }
    f->tree->whole_max = 5;
    set_user(f, "ann", 1000); /* counted beside the others */
    set_user(f, "ben", 199);
    expect_users(f, "ann 200/1000 ben 0/199 ");
    expect_full(f, copy(f, "ben", "a", "b"),
                "over quota: user ben may have 199 bytes and has 0; 200 more were to come");
    support_expect_list(f, "/", true, 0,
                        "/a /a/0 /a/1 /a/10 /a/11 /a/12 /a/13 /a/14 /a/15 /a/16 /a/17 /a/18 /a/19 "
                        "/a/2 /a/3 /a/4 /a/5 /a/6 /a/7 /a/8 /a/9");
    set_user(f, "ben", 200);
    assert_ok(copy(f, "ben", "a", "b"), &f->err);
    expect_users(f, "ann 200/1000 ben 200/200 ");
    bson_value_t b = support_id(f, "b");
    support_remove(f, "b");
    expect_users(f, "ann 200/1000 ben 0/200 ");
    put(f, "ben", "x", 1, 99);
    expect_full(f, undelete(f, "ben", &b),
                "over quota: user ben may have 200 bytes and has 1; 200 more were to come");
    support_expect_missing(f, "b"); /* not begun, as it could not be ended */
    support_remove(f, "x");
    assert_ok(undelete(f, "ben", &b), &f->err);
    expect_users(f, "ann 200/1000 ben 200/200 ");
    assert_ok(move(f, "ben", "a", "c"), &f->err);
    expect_users(f, "ann 200/1000 ben 200/200 ");
}

/* A copy that nobody finished is somebody's until it is collected, by two at once, too. */
static void test_tree_quota_user__copies_that_are_left(void **state)
{
    fixture *f = *state;
    ash_tree_collect_options o = ASH_TREE_COLLECT_OPTIONS_INIT;
    o.min_age_s = -1;
    set_user(f, "ben", 1000);
    support_insert(
        f->current,
        "{\"_id\": {\"$oid\": \"650000000000000000000001\"}, \"_version\": 1, "
        "\"parent\": \"\\u0001ashlar/copies\", \"filename\": \"650000000000000000000001\", "
        "\"copying_at\": {\"$date\": 1000}}");
    support_insert(f->current,
                   "{\"_id\": {\"$oid\": \"650000000000000000000002\"}, \"_version\": 1, "
                   "\"parent\": {\"$oid\": \"650000000000000000000001\"}, \"filename\": \"x\", "
                   "\"in\": {\"$binary\": {\"base64\": \"AQID\", \"subType\": \"00\"}}, "
                   "\"changed_by\": \"ben\"}");
    set_user(f, "ben", 1000);
    expect_users(f, "ben 3/1000 ");
    assert_ok(ash_tree_collect(f->tree, &o, NULL, NULL, &f->err), &f->err);
    expect_users(f, "ben 0/1000 ");
}

static void expect_room(fixture *f, const char *path, const ash_op *op, int64_t max, int64_t used,
                        int64_t available)
{
    ash_tree_quota q = ASH_TREE_QUOTA_INIT;
    assert_ok(ash_tree_get_quota(f->tree, path, op, &q, NULL, &f->err), &f->err);
    assert_int_equal(q.max_bytes, max);
    assert_int_equal(q.used_bytes, used);
    assert_int_equal(q.available_bytes, available);
}

/* Both hold, so the smaller one does; and each is told what is his to know. */
static void test_tree_quota_user__beside_those_of_folders(void **state)
{
    fixture *f = *state;
    bson_t *roles = BCON_NEW("0", "{", "role", BCON_UTF8("mail"), "db", BCON_UTF8("test"), "}");
    ash_principal ann = ASH_PRINCIPAL_INIT;
    ash_op op = ASH_OP_INIT;
    ann.user = "ann";
    ann.db = "test";
    ann.roles = roles;
    op.principal = &ann;
    support_folder(f, "in");
    support_folder(f, "in/box");
    put(f, "ann@test", "in/box/x", 100, 1);
    put(f, "ben", "in/y", 300, 2);
    expect_room(f, "in/box", &op, -1, -1, -1);
    set_user(f, "ann@test", 1000);
    expect_room(f, "in/box", &op, 1000, 100, 900);
    expect_room(f, "in/y", &op, 1000, 100, 600); /* by which it may grow, if she writes it */
    expect_room(f, "in/box/x", &op, 1000, 100, 900);
    expect_room(f, "in/box", NULL, -1, -1, -1);
    set_folder(f, "in", 500);
    expect_room(f, "in/box", &op, 500, 400, 100);
    bson_t *closed = BCON_NEW("read", "[", "]", "write", "[", "]", "open", "[", "mail", "]");
    bson_t *open = BCON_NEW("read", "[", "]", "write", "[", "mail", "]", "open", "[", "mail", "]");
    assert_ok(ash_tree_set_acl(f->tree, "in", closed, NULL, NULL, &f->err), &f->err);
    assert_ok(ash_tree_set_acl(f->tree, "in/box", open, NULL, NULL, &f->err), &f->err);
    expect_room(f, "in/box", &op, -1, -1, 100);
    set_user(f, "ann@test", 150);
    expect_room(f, "in/box", &op, 150, 100, 50);
    ash_tree_quota q = ASH_TREE_QUOTA_INIT;
    assert_int_equal(ash_tree_get_quota(f->tree, "in", &op, &q, NULL, &f->err), ASH_EACCES);
    bson_destroy(closed);
    bson_destroy(open);
    bson_destroy(roles);
}

static int put_as(fixture *f, const ash_op *op, const ash_tree_change_options *o, size_t len)
{
    ash_tree_writer *w = NULL;
    uint8_t *data = support_bytes(len, 1);
    int rc = ash_tree_open_writer(f->tree, "x", o, op, &w, &f->err);
    if (rc == 0)
        rc = ash_tree_writer_write(w, data, len, &f->err);
    if (rc == 0)
        rc = ash_tree_writer_finish(w, NULL, NULL, &f->err);
    ash_tree_writer_free(w);
    ash__free(data);
    return rc;
}

/* Whoever comes by a server has what he writes, whatever else is said of who changed it. */
static void test_tree_quota_user__principals(void **state)
{
    fixture *f = *state;
    enum { MIB = 1024 * 1024 };
    ash_principal who = ASH_PRINCIPAL_INIT;
    ash_op op = ASH_OP_INIT;
    ash_tree_change_options o = by("link 1");
    char text[200] = "";
    who.user = "ann";
    who.db = "admin";
    op.principal = &who;
    set_user(f, "ann", 100);
    set_user(f, "ben", 2 * MIB);
    expect_full(f, put_as(f, &op, NULL, 101),
                "over quota: user ann may have 100 bytes and has 0; 101 more were to come");
    assert_ok(put_as(f, &op, &o, 100), &f->err);
    expect_author(f, "x", "ann");
    o.written_by = "ben"; /* who lends his room, and is nobody to tell her of */
    expect_full(f, put_as(f, &op, &o, 2 * MIB + 1), /* before all have come */
                "over quota: there is no room for 2097053 bytes more");
    assert_ok(put_as(f, &op, &o, 200), &f->err);
    expect_users(f, "ann 0/100 ben 200/2097152 ");
    assert_ok(ash_tree_user_quotas(f->tree, NULL, &op, add_line, text, &f->err), &f->err);
    assert_string_equal(text, "ann 0/100 ");
    text[0] = '\0';
    assert_ok(ash_tree_user_quotas(f->tree, "ben", &op, add_line, text, &f->err), &f->err);
    assert_string_equal(text, "");
    assert_int_equal(ash_tree_set_user_quota(f->tree, "ann", 9, NULL, &op, &f->err), ASH_EACCES);
    assert_int_equal(ash_tree_set_user_quota(f->tree, "", 9, NULL, NULL, &f->err), ASH_EINVAL);
    assert_int_equal(ash_tree_set_user_quota(f->tree, "\xff", 9, NULL, NULL, &f->err), ASH_EINVAL);
}

/* Names that no quota can have are in nobody's way. */
static void test_tree_quota_user__long_names(void **state)
{
    fixture *f = *state;
    char name[2001];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_int_equal(ash_tree_set_user_quota(f->tree, name, 9, NULL, NULL, &f->err), ASH_EINVAL);
    name[1024] = '\0';
    set_user(f, name, 9);
    assert_int_equal(try_put(f, name, "x", 10, 1), ASH_ENOSPC);
    name[1024] = 'n';
    put(f, name, "x", 10, 1);
    assert_ok(move(f, name, "x", "y"), &f->err);
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
    const ash_tree_change_options o = by(w->number % 2 == 0 ? "ann" : "ben");
    ash_error err = ASH_ERROR_INIT;
    for (unsigned i = 0; i < EACH; i++) {
        char path[32];
        ash_tree_writer *writer = NULL;
        uint8_t *data = support_bytes(LENGTH, w->number * EACH + i);
        snprintf(path, sizeof path, "%u-%u", w->number, i);
        int rc = ash_tree_open_writer(w->f->tree, path, &o, NULL, &writer, &err);
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

/* Two write as ann, two as ben: as many of each as fit are kept, and not one more. */
static void test_tree_quota_user__several_writers(void **state)
{
    fixture *f = *state;
    pthread_t threads[WRITERS];
    filling w[WRITERS];
    set_user(f, "ann", 41 * LENGTH + LENGTH / 2);
    set_user(f, "ben", 13 * LENGTH);
    for (unsigned i = 0; i < WRITERS; i++) {
        w[i] = (filling){.f = f, .number = i};
        assert_int_equal(pthread_create(&threads[i], NULL, fill, &w[i]), 0);
    }
    for (unsigned i = 0; i < WRITERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(w[0].kept + w[2].kept, 41);
    assert_int_equal(w[1].kept + w[3].kept, 13);
    assert_int_equal(w[0].refused + w[2].refused, 2 * EACH - 41);
    assert_int_equal(w[1].refused + w[3].refused, 2 * EACH - 13);
    expect_users(f, "ann 4100/4150 ben 1300/1300 ");
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

static void test_tree_quota_user__a_wrong_sum_is_found(void **state)
{
    fixture *f = *state;
    ash_tree_check_options o = ASH_TREE_CHECK_OPTIONS_INIT;
    ash_tree_collect_options all = ASH_TREE_COLLECT_OPTIONS_INIT;
    ash_collection *c = quotas(f);
    char text[200] = "";
    o.finding = keep_text;
    o.finding_ctx = text;
    ash_tree_check_report report = ASH_TREE_CHECK_REPORT_INIT;
    put(f, "ann", "x", 100, 1);
    put(f, "ben", "bens", 20, 1);
    set_user(f, "ann", 1000);
    set_user(f, "abe", 0); /* told of none but whose sum is wrong */
    set_user(f, "ben", 30);
    support_update(c, "{\"_id\": {\"user\": \"ann\"}}",
                   "{\"$inc\": {\"used\": {\"$numberLong\": \"7\"}}}");
    assert_int_equal(ash_tree_check(f->tree, &o, NULL, &report, &f->err), ASH_ECORRUPT);
    assert_int_equal(report.findings, 1);
    assert_string_equal(
        text, "user ann: the quota counts 107 bytes, and the files have 100: set the quota again");
    set_user(f, "ann", 1000);
    expect_users(f, "abe 0/0 ann 100/1000 ben 20/30 ");
    support_update(c, "{\"_id\": {\"user\": \"ann\"}}",
                   "{\"$unset\": {\"used\": 1}, \"$set\": {\"counting\": true}}");
    expect_users(f, "abe 0/0 ann -1/1000 ben 20/30 ");
    put(f, "ann", "y", 10000, 2); /* a limit of what nobody knows refuses nothing */
    assert_int_equal(support_count(c, "{\"changes\": 1, \"used\": {\"$exists\": false}}"), 1);
    set_user(f, "ann", 1000);
    expect_users(f, "abe 0/0 ann 10100/1000 ben 20/30 ");
    support_remove(f, "x");
    support_remove(f, "y");
    assert_ok(ash_tree_collect(f->tree, &all, NULL, NULL, &f->err), &f->err);
    expect_users(f,
                 "abe 0/0 ann 0/1000 ben 20/30 "); /* whether there is such a user, nobody asks */
    ash_collection_free(c);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, support_setup, support_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_tree_quota_user__whoever_puts_a_file),
        TEST(test_tree_quota_user__whoever_replaces_it),
        TEST(test_tree_quota_user__what_moves_stays_whose_it_is),
        TEST(test_tree_quota_user__whoever_copies),
        TEST(test_tree_quota_user__whoever_brings_back),
        TEST(test_tree_quota_user__of_large_folders),
        TEST(test_tree_quota_user__copies_that_are_left),
        TEST(test_tree_quota_user__beside_those_of_folders),
        TEST(test_tree_quota_user__principals),
        TEST(test_tree_quota_user__long_names),
        TEST(test_tree_quota_user__several_writers),
        TEST(test_tree_quota_user__a_wrong_sum_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
