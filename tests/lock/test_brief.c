/* SPDX-License-Identifier: Apache-2.0 */
/* What is done in brief is what the program would have done: twins of a document go either way. */
#include "lock/brief.h"

#include "lock/support.h"
#include "lock/twins.h"

#include <string.h>

static const start starts[] = {
    {"free", "", true},
    {"of the package",
     "'expires': {'$date': 1000}, 'read_locks': 0, 'write_lock': false,"
     "'write_req': false, 'reads': 1, 'writes': 0, 'meta': null",
     false},
    {"read by the package", "+'read_locks': 1", false},
    {"written by the package", "+'write_lock': true", false},
    {"asked for by the package", "+'write_req': true", false},
    {"with a waiter", "+'waiters': [{'h': 1, 'exp': {'$date': {'$numberLong': '9000000000000'}}}]",
     false},
    {"with a waiter that died", "+'waiters': [{'h': 1, 'exp': {'$date': 1000}}]", false},
    {"with the readers' turn", "+'turn': {'$date': {'$numberLong': '9000000000000'}}", false},
    {"with an old turn", "+'turn': {'$date': 1000}", false},
    {"with readers who waited", "+'readers_wait': {'$date': 1000}", false},
    {"with a holder of before",
     "+'holders': [{'h': 1, 'mode': 'read', 'n': 1, 'w': 4, 'exp': {'$date': 1000}}]", false},
    {"without a range", "-base", true},
};

static void release_both(fixture *f, const char *what, const bson_t *brief, const bson_t *whole,
                         bool write, const bson_oid_t *h)
{
    ash_lock_grant g;
    bson_t filter = BSON_INITIALIZER, a, b;
    bool found;
    bson_t *q = lock_parameters(f, h);
    grant_of(brief, write, h, &g);
    assert_ok(ash__lock_brief_release(f->c, &g, &a, &found, &f->err), &f->err);
    assert_true(found);
    ash__lock_grant_release(&g);
    grant_of(whole, write, h, &g);
    ash__lock_ownership(&g, &filter);
    const ash_lock_move move = {write ? ASH_LOCK_RELEASE_WRITE : ASH_LOCK_RELEASE_READ, &filter, q,
                                false};
    assert_ok(ash__lock_change(f->c, &move, &b, &found, &f->err), &f->err);
    assert_true(found);
    assert_same(what, &a, &b);
    ash__lock_grant_release(&g);
    bson_destroy(&a);
    bson_destroy(&b);
    bson_destroy(&filter);
    bson_destroy(q);
}

static int obtain_in_brief(fixture *f, const ash_lock_move *move, bson_t *doc, bool *found)
{
    bson_t filter = BSON_INITIALIZER;
    bson_value_t id = text_id("brief");
    ash_lock_move brief = *move;
    brief.filter = &filter;
    ash__lock_filter_id(&filter, "files_id", &id);
    int rc = ash__lock_brief_obtain(f->c, &brief, doc, found, &f->err);
    bson_destroy(&filter);
    return rc;
}

static void obtain_both(fixture *f, const start *s, bool write)
{
    bson_t brief, whole, a, b, filter = BSON_INITIALIZER;
    bson_value_t other = text_id("whole");
    bson_oid_t h;
    bool found = false, whole_found;
    bson_oid_init(&h, NULL);
    bson_t *q = lock_parameters(f, &h);
    make_document("brief", s, &brief);
    make_document("whole", s, &whole);
    assert_ok(ash_collection_insert_one(f->docs, &brief, NULL, &f->err), &f->err);
    assert_ok(ash_collection_insert_one(f->docs, &whole, NULL, &f->err), &f->err);
    const ash_lock_move move = {write ? ASH_LOCK_OBTAIN_WRITE : ASH_LOCK_OBTAIN_READ, &filter, q,
                                true};
    assert_ok(obtain_in_brief(f, &move, &a, &found), &f->err);
    if (found != s->brief)
        fail_msg("%s: %s in brief", s->what, found ? "done" : "not done");
    ash__lock_filter_id(&filter, "files_id", &other);
    assert_ok(ash__lock_change(f->c, &move, &b, &whole_found, &f->err), &f->err);
    if (found) {
        assert_same(s->what, &a, &b);
        release_both(f, s->what, &a, &b, write, &h);
        bson_destroy(&a);
    } else {
        bson_t *now = lock_doc(f, "brief");
        assert_same(s->what, now, &brief);
        bson_destroy(now);
    }
    bson_destroy(&b);
    assert_ok(ash_collection_remove(f->docs, NULL, NULL, NULL, &f->err), &f->err);
    bson_destroy(&brief);
    bson_destroy(&whole);
    bson_destroy(&filter);
    bson_destroy(q);
}

/* Neither document is there. */
static void make_both(fixture *f, bool write)
{
    bson_t a, b, filter = BSON_INITIALIZER;
    bson_value_t other = text_id("whole");
    bson_oid_t h;
    bool found = false;
    bson_oid_init(&h, NULL);
    bson_t *q = lock_parameters(f, &h);
    const ash_lock_move move = {write ? ASH_LOCK_OBTAIN_WRITE : ASH_LOCK_OBTAIN_READ, &filter, q,
                                true};
    assert_ok(obtain_in_brief(f, &move, &a, &found), &f->err);
    assert_true(found);
    ash__lock_filter_id(&filter, "files_id", &other);
    assert_ok(ash__lock_change(f->c, &move, &b, &found, &f->err), &f->err);
    assert_same("missing", &a, &b);
    release_both(f, "missing", &a, &b, write, &h);
    assert_ok(ash_collection_remove(f->docs, NULL, NULL, NULL, &f->err), &f->err);
    bson_destroy(&a);
    bson_destroy(&b);
    bson_destroy(&filter);
    bson_destroy(q);
}

static void test_lock_brief__does_what_the_program_does(void **state)
{
    make_both(*state, true);
    make_both(*state, false);
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        obtain_both(*state, &starts[i], true);
        obtain_both(*state, &starts[i], false);
    }
}

/* Somebody came to wait meanwhile, or another reader: that takes the program. */
static void test_lock_brief__release_leaves_what_there_is_to_decide(void **state)
{
    static const char *const changes[] = {
        "{'$set': {'waiters': [{'h': 1, 'exp': {'$date': {'$numberLong': '9000000000000'}}}]}}",
        "{'$set': {'write_lock': true, 'writes': 99}}",
    };
    fixture *f = *state;
    for (int write = 0; write < 2; write++) {
        for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
            bson_t doc, a;
            ash_lock_grant g;
            bson_oid_t h;
            bool found = false;
            bson_oid_init(&h, NULL);
            bson_t *q = lock_parameters(f, &h);
            make_document("brief", &starts[0], &doc);
            assert_ok(ash_collection_insert_one(f->docs, &doc, NULL, &f->err), &f->err);
            const ash_lock_move move = {write ? ASH_LOCK_OBTAIN_WRITE : ASH_LOCK_OBTAIN_READ, NULL,
                                        q, true};
            assert_ok(obtain_in_brief(f, &move, &a, &found), &f->err);
            assert_true(found);
            grant_of(&a, write, &h, &g);
            bson_destroy(&a);
            assert_true(npm_modify(f, "brief", "{}", changes[i], false));
            assert_ok(ash__lock_brief_release(f->c, &g, &a, &found, &f->err), &f->err);
            assert_false(found);
            ash__lock_grant_release(&g);
            assert_ok(ash_collection_remove(f->docs, NULL, NULL, NULL, &f->err), &f->err);
            bson_destroy(&doc);
            bson_destroy(q);
        }
    }
}

/* The timer ended it just before the worker came to renew it. */
static void test_lock_brief__a_lease_that_ended_is_not_renewed(void **state)
{
    fixture *f = *state;
    ash_lock *lock = open_lock(f, f->c, "ended", NULL);
    ash__lock_heartbeat(lock);
    assert_int_equal(ash_lock_get_state(lock), ASH_LOCK_FREE);
    ash_lock_free(lock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOCK_TEST(test_lock_brief__does_what_the_program_does),
        LOCK_TEST(test_lock_brief__release_leaves_what_there_is_to_decide),
        LOCK_TEST(test_lock_brief__a_lease_that_ended_is_not_renewed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
