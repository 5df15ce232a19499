/* SPDX-License-Identifier: Apache-2.0 */
/* What a lock is on: names in a folder, all below it, what was moved; and whose locks count, where
 * clients of WebDAV and programs that know nothing of it have some on the same. */
#include "share.h"

#include "base/clock.h"
#include "lock/hand.h"

#include <ashlar/lock.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* ---- a program ---- */

typedef struct program {
    ash_lock_collection *locks;
    ash_lock *lock;
    ash_error err;
} program;

static void start(program *p, share *s, const char *path)
{
    ash_lock_options o = ASH_LOCK_OPTIONS_INIT;
    ash_tree_entry *e = support_get(s->f, path);
    o.root = "v7files";
    *p = (program){.err = ASH_ERROR_INIT};
    assert_ok(ash_lock_collection_open(s->f->store, &o, &p->locks, &p->err), &p->err);
    assert_ok(ash_lock_new(p->locks, ash_tree_entry_id(e), NULL, &p->lock, &p->err), &p->err);
    ash_tree_entry_free(e);
}

static void hold(program *p, bool write)
{
    int rc =
        write ? ash_lock_obtain_write(p->lock, &p->err) : ash_lock_obtain_read(p->lock, &p->err);
    assert_ok(rc, &p->err);
}

static void let_go(program *p)
{
    assert_ok(ash_lock_release(p->lock, &p->err), &p->err);
}

static void end(program *p)
{
    ash_lock_free(p->lock);
    ash_lock_collection_close(p->locks);
}

/* What the answer to a refused LOCK names. */
static void expect_refused(share *s, const char *line, const char *body, const char *href)
{
    visit *v = share_ask(s, line, NULL, body);
    char *element = ash__sprintf("<D:href>%s</D:href>", href);
    visit_expect(v, 423);
    assert_non_null(strstr(ash__buffer_text(&v->body), element));
    ash__free(element);
    visit_free(v);
}

/* ---- the names in a folder ---- */

static void test_a_folder_that_a_program_holds(void **state)
{
    share *s = *state;
    program p;
    support_folder(s->f, "d");
    support_folder(s->f, "d/e");
    support_put_text(s->f, "d/a", "x");
    support_put_text(s->f, "b", "x");
    start(&p, s, "d");
    hold(&p, true);
    /* No name comes, and none goes. */
    share_expect(s, "PUT /d/new", NULL, "y", 423);
    share_expect(s, "MKCOL /d/new", NULL, NULL, 423);
    share_expect(s, "DELETE /d/a", NULL, NULL, 423);
    share_expect(s, "MOVE /d/a", "Destination: /c\n", NULL, 423);
    share_expect(s, "MOVE /b", "Destination: /d/b\n", NULL, 423);
    share_expect(s, "COPY /b", "Destination: /d/b\n", NULL, 423);
    share_expect(s, "PROPPATCH /d", NULL, "<propertyupdate xmlns=\"DAV:\"/>", 423);
    share_lock(s, "/d/new", NULL, SHARE_EXCLUSIVE, 423);
    support_expect_list(s->f, "/", true, 0, "/b /d /d/a /d/e");
    /* What is there already, and what lies deeper, is no name of it. */
    share_expect(s, "PUT /d/a", NULL, "y", 204);
    share_expect(s, "PUT /d/e/new", NULL, "y", 201);
    share_expect(s, "GET /d/a", NULL, NULL, 200);
    let_go(&p);
    share_expect(s, "PUT /d/new", NULL, "y", 201);
    end(&p);
}

static void test_the_root_that_a_program_holds(void **state)
{
    share *s = *state;
    program p;
    start(&p, s, "/");
    hold(&p, false);
    share_expect(s, "PUT /new", NULL, "y", 423);
    share_lock(s, "/", "Depth: infinity\n", SHARE_EXCLUSIVE, 423);
    let_go(&p);
    share_expect(s, "PUT /new", NULL, "y", 201);
    end(&p);
}

/* The folder is taken while the bytes of a new name in it are on their way. */
static void test_a_folder_taken_meanwhile(void **state)
{
    share *s = *state;
    program p;
    support_folder(s->f, "d");
    start(&p, s, "d");
    visit *v = share_start(s, "PUT /d/new", NULL, 1);
    hold(&p, true);
    visit_send(v, "y", 1);
    visit_end(v);
    visit_expect(v, 423);
    visit_free(v);
    support_expect_missing(s->f, "d/new");
    end(&p);
}

static void test_a_folder_above_taken_meanwhile(void **state)
{
    share *s = *state;
    support_folder(s->f, "d");
    support_folder(s->f, "d/e");
    support_put_text(s->f, "d/e/a", "x");
    visit *v = share_start(s, "PUT /d/e/a", NULL, 1);
    share_key k = share_lock(s, "/d", NULL, SHARE_EXCLUSIVE, 200);
    visit_send(v, "y", 1);
    visit_end(v);
    visit_expect(v, 423);
    assert_non_null(strstr(ash__buffer_text(&v->body), "<D:href>/d/</D:href>"));
    visit_free(v);
    support_expect_text(s->f, "d/e/a", "x");
    share_expect(s, "PUT /d/e/a", k.field, "y", 204);
}

/* ---- all below ---- */

static void test_conflicts_with_what_lies_below(void **state)
{
    share *s = *state;
    support_folder(s->f, "d");
    support_folder(s->f, "d/e");
    support_put_text(s->f, "d/a", "x");
    share_key k = share_lock(s, "/d/a", NULL, SHARE_SHARED, 200);
    expect_refused(s, "LOCK /d", SHARE_EXCLUSIVE, "/d/a");
    share_key alone = share_lock(s, "/d", "Depth: 0\n", SHARE_EXCLUSIVE, 200);
    share_expect(s, "UNLOCK /d", alone.unlock, NULL, 204);
    share_key both = share_lock(s, "/d", NULL, SHARE_SHARED, 200);
    /* And from below, of a folder by its address. */
    share_expect(s, "UNLOCK /d/a", k.unlock, NULL, 204);
    expect_refused(s, "LOCK /d/e", SHARE_EXCLUSIVE, "/d/");
    share_expect(s, "UNLOCK /d", both.unlock, NULL, 204);
    k = share_lock(s, "/d/e", "Depth: 0\n", SHARE_EXCLUSIVE, 200);
    expect_refused(s, "LOCK /d", SHARE_SHARED, "/d/e/");
    /* Nothing is left of what was refused. */
    share_expect(s, "UNLOCK /d/e", k.unlock, NULL, 204);
    share_expect(s, "PUT /d/a", NULL, "y", 204);
}

static void test_conflicts_with_programs_below(void **state)
{
    share *s = *state;
    program p;
    support_folder(s->f, "d");
    support_folder(s->f, "d/e");
    support_put_text(s->f, "d/e/a", "x");
    start(&p, s, "d/e/a");
    hold(&p, false);
    share_lock(s, "/d", NULL, SHARE_EXCLUSIVE, 423);
    share_lock(s, "/", NULL, SHARE_EXCLUSIVE, 423);
    /* Readers share; and Depth 0 is not about what lies below. */
    share_key k = share_lock(s, "/d", NULL, SHARE_SHARED, 200);
    share_expect(s, "UNLOCK /d", k.unlock, NULL, 204);
    k = share_lock(s, "/d", "Depth: 0\n", SHARE_EXCLUSIVE, 200);
    share_expect(s, "UNLOCK /d", k.unlock, NULL, 204);
    let_go(&p);
    hold(&p, true);
    share_lock(s, "/d", NULL, SHARE_SHARED, 423);
    let_go(&p);
    /* Nothing is left of what was refused. */
    share_expect(s, "PUT /d/e/a", NULL, "y", 204);
    share_expect(s, "PUT /d/new", NULL, "y", 201);
    share_lock(s, "/d", NULL, SHARE_EXCLUSIVE, 200);
    end(&p);
}

/* All of it or nothing; and which members are in the way is said by their addresses. */
static void test_delete_of_what_has_locked_members(void **state)
{
    share *s = *state;
    support_folder(s->f, "d");
    support_folder(s->f, "d/e");
    support_put_text(s->f, "d/a", "x");
    support_put_text(s->f, "d/b", "x");
    share_key a = share_lock(s, "/d/a", NULL, SHARE_EXCLUSIVE, 200);
    share_lock(s, "/d/e", NULL, SHARE_EXCLUSIVE, 200);
    char *tagged = ash__sprintf("If: </d/a> (<%s>)\n", a.token);
    visit *v = share_ask(s, "DELETE /d", tagged, NULL);
    visit_expect(v, 207);
    ash__free(tagged);
    const char *said = ash__buffer_text(&v->body);
    assert_non_null(strstr(said, "<D:response><D:href>/d/e/</D:href><D:status>HTTP/1.1 423 "));
    assert_null(strstr(said, "/d/a"));
    assert_null(strstr(said, "/d/b"));
    assert_null(strstr(said, " 424 "));
    visit_free(v);
    support_expect_list(s->f, "/d", true, 0, "/d/a /d/b /d/e");
    /* What is locked itself is no member; nor is what a lock on the folder covers. */
    share_expect(s, "DELETE /d/e", NULL, NULL, 423);
    share_key folder = share_lock(s, "/d", "Depth: 0\n", SHARE_EXCLUSIVE, 200);
    share_expect(s, "DELETE /d", NULL, NULL, 423);
    share_expect(s, "DELETE /d/b", NULL, NULL, 423);
    share_expect(s, "DELETE /d", folder.field, NULL, 207);
    share_expect(s, "MOVE /d", "Destination: /g\n", NULL, 423);
}

/* A LOCK that is refused makes nothing. */
static void test_nothing_is_made_in_vain(void **state)
{
    share *s = *state;
    support_folder(s->f, "d");
    share_key k = share_lock(s, "/d", NULL, SHARE_SHARED, 200);
    share_lock(s, "/d/new", NULL, SHARE_EXCLUSIVE, 423);
    share_lock(s, "/d/new", k.field, SHARE_EXCLUSIVE, 423);
    share_lock(s, "/d/new", NULL, SHARE_SHARED, 423);
    support_expect_missing(s->f, "d/new");
    share_lock(s, "/d/new", k.field, SHARE_SHARED, 201);
    support_expect_text(s->f, "d/new", "");
}

/* ---- whose locks count ---- */

static void test_several_share_one(void **state)
{
    share *s = *state;
    enum { MANY = 100 }; /* ASH_DAV_MAX_LOCKS_OF_ONE */
    share_key *keys = ash__alloc_array(MANY, sizeof *keys);
    support_put_text(s->f, "a", "x");
    for (int i = 0; i < MANY; i++)
        keys[i] = share_lock(s, "/a", NULL, SHARE_SHARED, 200);
    share_lock(s, "/a", NULL, SHARE_SHARED, 507);
    share_expect(s, "PUT /a", NULL, "y", 423);
    share_expect(s, "PUT /a", keys[40].field, "y", 204);
    /* Each has its own: giving one back takes none of another's, in whatever order. */
    for (int i = MANY - 1; i > 0; i--)
        share_expect(s, "UNLOCK /a", keys[i].unlock, NULL, 204);
    share_expect(s, "PUT /a", keys[40].field, "z", 412);
    share_expect(s, "PUT /a", NULL, "z", 423);
    share_expect(s, "PUT /a", keys[0].field, "z", 204);
    share_expect(s, "UNLOCK /a", keys[0].unlock, NULL, 204);
    share_expect(s, "PUT /a", NULL, "free", 204);
    ash__free(keys);
}

/* A client that shares its lock with a program has no key to the program's. */
static void test_readers_beside_a_shared_lock(void **state)
{
    share *s = *state;
    program p;
    support_put_text(s->f, "a", "x");
    share_key one = share_lock(s, "/a", NULL, SHARE_SHARED, 200);
    share_key two = share_lock(s, "/a", NULL, SHARE_SHARED, 200);
    start(&p, s, "a");
    share_expect(s, "PUT /a", one.field, "y", 204);
    hold(&p, false);
    share_expect(s, "PUT /a", one.field, "z", 423);
    share_expect(s, "UNLOCK /a", one.unlock, NULL, 204);
    share_expect(s, "PUT /a", two.field, "z", 423);
    let_go(&p);
    share_expect(s, "PUT /a", two.field, "z", 204);
    end(&p);
}

/* One that died leaves its entry in the document, until somebody tidies it. */
static void test_a_reader_whose_time_is_over(void **state)
{
    share *s = *state;
    program p;
    ash_lock_hand dead = {0};
    support_put_text(s->f, "a", "x");
    share_key k = share_lock(s, "/a", NULL, SHARE_SHARED, 200);
    bson_value_t id = support_id(s->f, "a");
    start(&p, s, "a");
    const ash_lock_wish wish = {&id, false, 1000, NULL};
    assert_ok(ash__lock_hand_take(p.locks, &wish, &dead, &p.err), &p.err);
    share_expect(s, "PUT /a", k.field, "y", 423);
    ash__clock_sleep_ms(1300);
    share_expect(s, "PUT /a", k.field, "y", 204);
    ash__lock_hand_free(&dead);
    end(&p);
}

/* ---- what was moved by others ---- */

static void test_a_lock_goes_with_its_entry(void **state)
{
    share *s = *state;
    support_folder(s->f, "d");
    support_folder(s->f, "d/e");
    support_put_text(s->f, "d/e/a", "x");
    share_key k = share_lock(s, "/d/e", NULL, SHARE_EXCLUSIVE, 200);
    support_move(s->f, "d", "moved");
    share_expect(s, "PUT /moved/e/a", NULL, "y", 423);
    share_expect(s, "PUT /moved/e/a", k.field, "y", 204);
    share_expect(s, "MKCOL /d", NULL, NULL, 201);
    share_expect(s, "MKCOL /d/e", NULL, NULL, 201);
    share_expect(s, "PUT /d/e/a", NULL, "y", 201);
    expect_refused(s, "LOCK /moved/e/a", SHARE_EXCLUSIVE, "/moved/e/");
    visit *v = share_ask(s, "LOCK /moved/e", k.field, NULL);
    visit_expect(v, 200);
    assert_non_null(
        strstr(ash__buffer_text(&v->body), "<D:lockroot><D:href>/moved/e/</D:href></D:lockroot>"));
    visit_free(v);
    share_expect(s, "UNLOCK /d/e", k.unlock, NULL, 409);
    share_expect(s, "UNLOCK /moved/e", k.unlock, NULL, 204);
}

/* What is in the trash is locked for nobody; nor is what comes in its place. */
static void test_a_lock_of_what_is_gone(void **state)
{
    share *s = *state;
    support_put_text(s->f, "a", "x");
    share_key k = share_lock(s, "/a", NULL, SHARE_EXCLUSIVE, 200);
    support_remove(s->f, "a");
    share_expect(s, "PUT /a", k.field, "y", 412);
    share_expect(s, "PUT /a", NULL, "y", 201);
    share_expect(s, "UNLOCK /a", k.unlock, NULL, 409);
}

/* ---- two at once ---- */

static const char exclusive_lock[] =
    "<lockinfo xmlns=\"DAV:\"><lockscope><exclusive/></lockscope><locktype><write/></locktype>"
    "</lockinfo>";

typedef struct rival {
    share *s;
    const char *line;
    int status;
} rival;

static void *lock_too(void *arg)
{
    rival *r = arg;
    visit *v = share_ask(r->s, r->line, NULL, exclusive_lock);
    r->status = v->x.status;
    visit_free(v);
    return NULL;
}

/* Of two that lock a new name at once one is told that it has it, and has it. */
static void test_two_lock_a_new_name(void **state)
{
    enum { ROUNDS = 60 };
    share *s = *state;
    for (int i = 0; i < ROUNDS; i++) {
        char lock[32], put[32];
        pthread_t threads[2];
        snprintf(lock, sizeof lock, "LOCK /new%d", i);
        snprintf(put, sizeof put, "PUT /new%d", i);
        rival rivals[2] = {{s, lock, 0}, {s, lock, 0}};
        for (int k = 0; k < 2; k++)
            assert_int_equal(pthread_create(&threads[k], NULL, lock_too, &rivals[k]), 0);
        for (int k = 0; k < 2; k++)
            pthread_join(threads[k], NULL);
        int good = (rivals[0].status / 100 == 2) + (rivals[1].status / 100 == 2);
        if (good != 1)
            fail_msg("round %d: %d and %d", i, rivals[0].status, rivals[1].status);
        share_expect(s, put, NULL, "stranger", 423);
    }
}

#define T(name) cmocka_unit_test_setup_teardown(test_##name, share_setup, share_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_folder_that_a_program_holds),
        T(the_root_that_a_program_holds),
        T(a_folder_taken_meanwhile),
        T(a_folder_above_taken_meanwhile),
        T(conflicts_with_what_lies_below),
        T(conflicts_with_programs_below),
        T(delete_of_what_has_locked_members),
        T(nothing_is_made_in_vain),
        T(several_share_one),
        T(readers_beside_a_shared_lock),
        T(a_reader_whose_time_is_over),
        T(a_lock_goes_with_its_entry),
        T(a_lock_of_what_is_gone),
        T(two_lock_a_new_name),
    };
    return cmocka_run_group_tests_name("http-dav-held", tests, NULL, NULL);
}
