/* SPDX-License-Identifier: Apache-2.0 */
/* LOCK and UNLOCK, and whom they keep out: other clients, and programs that know nothing of WebDAV. */
#include "share.h"

#include "base/clock.h"
#include "http/dav/locks.h"

#include <ashlar/lock.h>
#include <stdio.h>
#include <string.h>

static void test_keeps_others_out(void **state)
{
    share *s = *state;
    support_put_text(s->f, "a", "x");
    share_key k = share_lock(s, "/a", NULL, SHARE_EXCLUSIVE, 200);
    share_lock(s, "/a", NULL, SHARE_EXCLUSIVE, 423);
    share_lock(s, "/a", NULL, SHARE_SHARED, 423);
    share_expect(s, "PUT /a", NULL, "y", 423);
    share_expect(s, "DELETE /a", NULL, NULL, 423);
    share_expect(s, "MOVE /a", "Destination: /b\n", NULL, 423);
    share_expect(s, "PROPPATCH /a", NULL, "<propertyupdate xmlns=\"DAV:\"/>", 423);
    share_expect(s, "COPY /a", "Destination: /b\n", NULL, 201);
    share_expect(s, "MOVE /b", "Destination: /a\n", NULL, 423);
    /* Reading is free; and so is who has the key. */
    share_expect(s, "GET /a", NULL, NULL, 200);
    share_expect(s, "PUT /a", k.field, "y", 204);
    share_expect(s, "UNLOCK /a", "Lock-Token: <urn:uuid:other>\n", NULL, 409);
    share_expect(s, "UNLOCK /b", k.unlock, NULL, 409);
    share_expect(s, "UNLOCK /a", NULL, NULL, 400);
    share_expect(s, "UNLOCK /a", k.unlock, NULL, 204);
    share_expect(s, "PUT /a", NULL, "z", 204);
    share_expect(s, "PUT /a", k.field, "z", 412);
}

static void test_what_is_not_there(void **state)
{
    share *s = *state;
    share_key k = share_lock(s, "/new", NULL, SHARE_EXCLUSIVE, 201);
    support_expect_text(s->f, "new", "");
    share_expect(s, "PUT /new", NULL, "x", 423);
    share_expect(s, "PUT /new", "If-None-Match: *\n", "x", 412);
    /* davfs2 writes its new file so. */
    char *fields = ash__sprintf("%sIf-None-Match: *\n", k.field);
    share_expect(s, "PUT /new", fields, "x", 204);
    share_expect(s, "PUT /new", fields, "y", 412);
    ash__free(fields);
    k = share_lock(s, "/newer", NULL, SHARE_EXCLUSIVE, 201);
    /* Or so, when it asked by HEAD what LOCK has made. */
    char *etag = share_etag(s, "/newer");
    fields = ash__sprintf("%sIf-Match: %s\n", k.field, etag);
    share_expect(s, "PUT /newer", fields, "x", 204);
    share_expect(s, "PUT /newer", fields, "y", 412);
    ash__free(fields);
    ash__free(etag);
    share_lock(s, "/none/new", NULL, SHARE_EXCLUSIVE, 409);
    share_lock(s, "/new", "Depth: 1\n", SHARE_EXCLUSIVE, 400);
    share_lock(s, "/new", NULL, "<x/>", 400);
    share_lock(s, "/new", NULL, NULL, 400);
}

static void test_all_below(void **state)
{
    share *s = *state;
    support_folder(s->f, "d");
    support_folder(s->f, "d/e");
    support_put_text(s->f, "d/e/a", "x");
    share_key k = share_lock(s, "/d", NULL, SHARE_EXCLUSIVE, 200);
    share_expect(s, "PUT /d/e/a", NULL, "y", 423);
    share_expect(s, "PUT /d/e/new", NULL, "y", 423);
    share_expect(s, "MKCOL /d/f", NULL, NULL, 423);
    share_lock(s, "/d/e/a", NULL, SHARE_EXCLUSIVE, 423);
    share_expect(s, "PUT /d/e/a", k.field, "y", 204);
    char *tagged = ash__sprintf("If: </d> (<%s>)\n", k.token);
    share_expect(s, "PUT /d/e/a", tagged, "z", 204);
    share_expect(s, "UNLOCK /d/e/a", k.unlock, NULL, 204);
    /* The other way round: what is locked below keeps its folders where they are. */
    share_key inner = share_lock(s, "/d/e/a", NULL, SHARE_EXCLUSIVE, 200);
    share_lock(s, "/d", NULL, SHARE_EXCLUSIVE, 423);
    share_expect(s, "DELETE /d", NULL, NULL, 207);
    share_expect(s, "MOVE /d", "Destination: /g\n", NULL, 423);
    share_expect(s, "UNLOCK /d/e/a", inner.unlock, NULL, 204);
    share_expect(s, "DELETE /d", NULL, NULL, 204);
    ash__free(tagged);
}

static void test_shared(void **state)
{
    share *s = *state;
    support_put_text(s->f, "a", "x");
    share_key one = share_lock(s, "/a", NULL, SHARE_SHARED, 200);
    share_key two = share_lock(s, "/a", NULL, SHARE_SHARED, 200);
    share_lock(s, "/a", NULL, SHARE_EXCLUSIVE, 423);
    share_expect(s, "PUT /a", NULL, "y", 423);
    share_expect(s, "PUT /a", two.field, "y", 204);
    share_expect(s, "UNLOCK /a", one.unlock, NULL, 204);
    share_expect(s, "UNLOCK /a", two.unlock, NULL, 204);
    share_lock(s, "/a", NULL, SHARE_EXCLUSIVE, 200);
}

static void test_time(void **state)
{
    share *s = *state;
    support_put_text(s->f, "a", "x");
    share_key k = share_lock(s, "/a", "Timeout: Second-3\n", SHARE_EXCLUSIVE, 200);
    visit *v = share_ask(s, "LOCK /a", k.field, NULL);
    visit_expect(v, 200);
    assert_non_null(strstr(ash__buffer_text(&v->body), "Second-600"));
    visit_free(v);
    ash__clock_sleep_ms(3500);
    share_expect(s, "PUT /a", NULL, "y", 423);
    share_expect(s, "UNLOCK /a", k.unlock, NULL, 204);
    k = share_lock(s, "/a", "Timeout: Infinite, Second-4100000000\n", SHARE_EXCLUSIVE, 200);
    share_expect(s, "UNLOCK /a", k.unlock, NULL, 204);
    k = share_lock(s, "/a", "Timeout: Second-1\n", SHARE_EXCLUSIVE, 200);
    ash__clock_sleep_ms(1300);
    share_expect(s, "PUT /a", NULL, "y", 204);
    v = share_ask(s, "LOCK /a", k.field, NULL);
    visit_expect(v, 412);
    visit_free(v);
}

/* A lock is the client's, and not the server's. */
static void test_outlives_the_server(void **state)
{
    share *s = *state;
    ash_error err = ASH_ERROR_INIT;
    support_put_text(s->f, "a", "x");
    share_key k = share_lock(s, "/a", NULL, SHARE_EXCLUSIVE, 200);
    ash__dav_free(s->dav);
    assert_ok(ash__dav_new(s->f->store, s->f->tree, "", &s->dav, &err), &err);
    share_expect(s, "PUT /a", NULL, "y", 423);
    share_expect(s, "PUT /a", k.field, "y", 204);
    share_expect(s, "UNLOCK /a", k.unlock, NULL, 204);
    share_expect(s, "PUT /a", NULL, "z", 204);
}

/* ---- programs ---- */

static ash_lock *lock_of(share *s, ash_lock_collection **locks, const char *path)
{
    ash_lock_options o = ASH_LOCK_OPTIONS_INIT;
    ash_tree_entry *e = NULL;
    ash_lock *lock = NULL;
    ash_error err = ASH_ERROR_INIT;
    o.root = "v7files";
    assert_ok(ash_lock_collection_open(s->f->store, &o, locks, &err), &err);
    assert_ok(ash_tree_get(s->f->tree, path, NULL, NULL, &e, &err), &err);
    assert_ok(ash_lock_new(*locks, ash_tree_entry_id(e), NULL, &lock, &err), &err);
    ash_tree_entry_free(e);
    return lock;
}

static void test_programs(void **state)
{
    share *s = *state;
    ash_lock_collection *locks = NULL;
    ash_error err = ASH_ERROR_INIT;
    support_folder(s->f, "d");
    support_put_text(s->f, "d/a", "x");
    ash_lock *lock = lock_of(s, &locks, "d/a");
    /* What a client has, no program gets. */
    share_key k = share_lock(s, "/d/a", NULL, SHARE_EXCLUSIVE, 200);
    assert_int_equal(ash_lock_obtain_write(lock, &err), ASH_ELOCKED);
    share_expect(s, "UNLOCK /d/a", k.unlock, NULL, 204);
    /* And the other way round. */
    assert_ok(ash_lock_obtain_write(lock, &err), &err);
    share_lock(s, "/d/a", NULL, SHARE_EXCLUSIVE, 423);
    share_expect(s, "PUT /d/a", NULL, "y", 423);
    share_expect(s, "DELETE /d/a", NULL, NULL, 423);
    share_expect(s, "DELETE /d", NULL, NULL, 423);
    share_expect(s, "MOVE /d", "Destination: /e\n", NULL, 423);
    assert_ok(ash_lock_release(lock, &err), &err);
    share_expect(s, "PUT /d/a", NULL, "y", 204);
    ash_lock_free(lock);
    ash_lock_collection_close(locks);
}

/* A program takes it while the bytes are on their way: nothing of them becomes visible. */
static void test_taken_meanwhile(void **state)
{
    share *s = *state;
    ash_lock_collection *locks = NULL;
    ash_error err = ASH_ERROR_INIT;
    support_put_text(s->f, "a", "x");
    ash_lock *lock = lock_of(s, &locks, "a");
    visit *v = share_start(s, "PUT /a", NULL, 1);
    assert_ok(ash_lock_obtain_write(lock, &err), &err);
    visit_send(v, "y", 1);
    visit_end(v);
    visit_expect(v, 423);
    visit_free(v);
    support_expect_text(s->f, "a", "x");
    ash_lock_free(lock);
    ash_lock_collection_close(locks);
}

/* A lock that somebody broke is none. */
static void test_broken(void **state)
{
    share *s = *state;
    ash_lock_collection *locks = NULL;
    ash_tree_entry *e = NULL;
    ash_error err = ASH_ERROR_INIT;
    support_put_text(s->f, "a", "x");
    ash_lock_free(lock_of(s, &locks, "a"));
    share_key k = share_lock(s, "/a", NULL, SHARE_EXCLUSIVE, 200);
    visit *v = share_start(s, "PUT /a", k.field, 1);
    assert_ok(ash_tree_get(s->f->tree, "a", NULL, NULL, &e, &err), &err);
    assert_ok(ash_lock_break(locks, ash_tree_entry_id(e), "test", &err), &err);
    visit_send(v, "y", 1);
    visit_end(v);
    visit_expect(v, 423);
    visit_free(v);
    share_expect(s, "PUT /a", k.field, "y", 412);
    support_expect_text(s->f, "a", "x");
    share_expect(s, "PUT /a", NULL, "z", 204);
    ash_tree_entry_free(e);
    ash_lock_collection_close(locks);
}

static void test_gone(void **state)
{
    share *s = *state;
    support_put_text(s->f, "a", "x");
    share_key k = share_lock(s, "/a", NULL, SHARE_EXCLUSIVE, 200);
    /* RFC 4918 §7.6: it does not move along. */
    char *fields = ash__sprintf("%sDestination: /b\n", k.field);
    share_expect(s, "MOVE /a", fields, NULL, 201);
    ash__free(fields);
    share_expect(s, "PUT /b", NULL, "y", 204);
    k = share_lock(s, "/b", NULL, SHARE_EXCLUSIVE, 200);
    share_expect(s, "DELETE /b", k.field, NULL, 204);
    share_expect(s, "PUT /b", NULL, "z", 201);
}

static void test_if(void **state)
{
    share *s = *state;
    support_put_text(s->f, "a", "x");
    char *etag = share_etag(s, "/a");
    char *fields = ash__sprintf("If: ([%s])\n", etag);
    share_expect(s, "PUT /a", fields, "x", 204);
    share_expect(s, "PUT /a", "If: ([\"other\"])\n", "y", 412);
    share_expect(s, "PUT /a", "If: (Not [\"other\"])\n", "x", 204);
    share_expect(s, "PUT /a", "If: ([\"other\"]) (Not <DAV:no-lock>)\n", "x", 204);
    share_expect(s, "PUT /a", "If: (<DAV:no-lock>)\n", "y", 412);
    share_expect(s, "PUT /a", "If: </a> ([\"other\"]) </none> (Not <x:y>)\n", "x", 204);
    share_expect(s, "PUT /a", "If: ()\n", "y", 400);
    share_expect(s, "PUT /a", "If: (<x:y>\n", "y", 400);
    share_expect(s, "PUT /a", "If: nonsense\n", "y", 400);
    char *many = ash__alloc(20000);
    strcpy(many, "If: ");
    for (int i = 0; i < 100; i++)
        strcat(many, "(<x:y>) ");
    strcat(many, "\n");
    share_expect(s, "PUT /a", many, "y", 400);
    support_expect_text(s->f, "a", "x");
    ash__free(many);
    ash__free(fields);
    ash__free(etag);
}

/* As if so many had locked it: copies of one lock's document. */
static void add_locks(share *s, size_t n)
{
    ash_collection *c = NULL;
    bson_t one, filter = BSON_INITIALIZER;
    ash_error *err = &s->f->err;
    assert_ok(ash_collection_new(s->f->store, NULL, "v7files.webdav", &c, err), err);
    assert_ok(ash_collection_find_one(c, &filter, NULL, &one, err), err);
    for (size_t i = 0; i < n; i++) {
        char token[ASH_DAV_TOKEN_BYTES];
        bson_t doc = BSON_INITIALIZER;
        snprintf(token, sizeof token, "urn:uuid:00000000-0000-4000-8000-%012zx", i);
        BSON_APPEND_UTF8(&doc, "_id", token);
        bson_copy_to_excluding_noinit(&one, &doc, "_id", NULL);
        assert_ok(ash_collection_insert_one(c, &doc, NULL, err), err);
        bson_destroy(&doc);
    }
    bson_destroy(&one);
    bson_destroy(&filter);
    ash_collection_free(c);
}

/* Nobody fills the store with them.  Who is refused made no file; a place that is free is taken. */
static void test_how_many(void **state)
{
    share *s = *state;
    share_lock(s, "/held", NULL, SHARE_SHARED, 201);
    add_locks(s, ASH_DAV_MAX_LOCKS - 2);
    share_key last = share_lock(s, "/last", NULL, SHARE_EXCLUSIVE, 201);
    share_lock(s, "/more", NULL, SHARE_EXCLUSIVE, 507);
    share_expect(s, "GET /more", NULL, NULL, 404);
    share_expect(s, "UNLOCK /last", last.unlock, NULL, 204);
    share_lock(s, "/more", NULL, SHARE_EXCLUSIVE, 201);
}

/* Where there are many locks only those are looked at that can stand in the way. */
static int setup_beside_others(void **state)
{
    char path[16];
    int rc = share_setup(state);
    share *s = *state;
    support_folder(s->f, "others");
    for (int i = 0; i < 8; i++) {
        snprintf(path, sizeof path, "/others/%d", i);
        share_lock(s, path, NULL, SHARE_EXCLUSIVE, 201);
    }
    return rc;
}

/* The key of a lock elsewhere is looked at because it was sent. */
static void test_if_beside_others(void **state)
{
    share *s = *state;
    support_put_text(s->f, "a", "x");
    share_key k = share_lock(s, "/others/new", NULL, SHARE_EXCLUSIVE, 201);
    char *fields = ash__sprintf("If: </others/new> (<%s>)\n", k.token);
    share_expect(s, "PUT /a", fields, "y", 204);
    share_expect(s, "UNLOCK /others/new", k.unlock, NULL, 204);
    share_expect(s, "PUT /a", fields, "y", 412);
    ash__free(fields);
}

#define ALONE(test) cmocka_unit_test_setup_teardown(test, share_setup, share_teardown)
#define BESIDE_OTHERS(test)                                                                        \
    {                                                                                              \
#test "_beside_others", test, setup_beside_others, share_teardown, NULL                    \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE(test_keeps_others_out),
        ALONE(test_how_many),
        ALONE(test_what_is_not_there),
        ALONE(test_all_below),
        ALONE(test_shared),
        ALONE(test_time),
        ALONE(test_outlives_the_server),
        ALONE(test_programs),
        ALONE(test_taken_meanwhile),
        ALONE(test_broken),
        ALONE(test_gone),
        ALONE(test_if),
        BESIDE_OTHERS(test_keeps_others_out),
        BESIDE_OTHERS(test_what_is_not_there),
        BESIDE_OTHERS(test_all_below),
        BESIDE_OTHERS(test_shared),
        BESIDE_OTHERS(test_outlives_the_server),
        BESIDE_OTHERS(test_programs),
        BESIDE_OTHERS(test_taken_meanwhile),
        BESIDE_OTHERS(test_broken),
        BESIDE_OTHERS(test_gone),
        BESIDE_OTHERS(test_if),
        cmocka_unit_test_setup_teardown(test_if_beside_others, setup_beside_others, share_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
