/* SPDX-License-Identifier: Apache-2.0 */
/* The moves of a crowd in brief are what the programs would have done; and `next`. */
#include "lock/brief.h"

#include "lock/support.h"
#include "lock/twins.h"

#include <string.h>

#define FIRST "{'$oid': '0102030405060708090a0b01'}"
#define QUEUE                                                                                      \
    "'waiters': [{'h': " FIRST ", 'exp': {'$date': {'$numberLong': '9000000000000'}}}, {'h': 2, "  \
    "'exp': {'$date': {'$numberLong': '9000000000000'}}}], 'next': " FIRST ", 'own_req': true, "   \
    "'write_req': true, 'req_since': {'n': 7}"
#define LATER "{'$date': {'$numberLong': '9000000000000'}}"

static const start queues[] = {
    {"queue", "+" QUEUE, true},
    {"after a turn", "+" QUEUE ", 'turn': {'$date': 1000}", true},
    {"in the readers' turn", "+" QUEUE ", 'turn': " LATER, false},
    {"another one's turn", "+'waiters': [{'h': 2, 'exp': " LATER "}, {'h': " FIRST "}]", false},
    {"read", "+" QUEUE ", 'read_locks': 1", false},
    {"written", "+" QUEUE ", 'write_lock': true", false},
};

static const bson_oid_t first_in_queue = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 1}};
static const bson_oid_t holder = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 2}};

static void insert_both(fixture *f, const start *s)
{
    static const char *const names[] = {"brief", "whole"};
    for (int i = 0; i < 2; i++) {
        bson_t doc;
        make_document(names[i], s, &doc);
        assert_ok(ash_collection_insert_one(f->docs, &doc, NULL, &f->err), &f->err);
        bson_destroy(&doc);
    }
}

/* One move of a program on "whole", which has to find it. */
static void run_program(fixture *f, enum ash_lock_program program, const bson_oid_t *h, bson_t *doc)
{
    bson_t filter = BSON_INITIALIZER;
    bson_value_t id = text_id("whole");
    bson_t *q = lock_parameters(f, h);
    bool found = false;
    ash__lock_filter_id(&filter, "files_id", &id);
    const ash_lock_move move = {program, &filter, q, false};
    assert_ok(ash__lock_change(f->c, &move, doc, &found, &f->err), &f->err);
    assert_true(found);
    bson_destroy(&filter);
    bson_destroy(q);
}

/* What the move in brief did to its document is what the programs did to the other; or it did
 * nothing, as expected. */
static void compare(fixture *f, const start *s, bool found, bson_t *whole)
{
    if (found != s->brief)
        fail_msg("%s: %s in brief", s->what, found ? "done" : "not done");
    bson_t *now = lock_doc(f, "brief");
    if (found) {
        assert_same(s->what, now, whole);
    } else {
        bson_t before;
        make_document("brief", s, &before);
        assert_same(s->what, now, &before);
        bson_destroy(&before);
    }
    bson_destroy(now);
    bson_destroy(whole);
    assert_ok(ash_collection_remove(f->docs, NULL, NULL, NULL, &f->err), &f->err);
}

static void test_lock_queue__follows_as_the_program_does(void **state)
{
    fixture *f = *state;
    for (size_t i = 0; i < sizeof queues / sizeof queues[0]; i++) {
        bson_t doc, whole, filter = BSON_INITIALIZER;
        bson_value_t id = text_id("brief");
        bson_t *q = lock_parameters(f, &first_in_queue);
        bool found = false;
        insert_both(f, &queues[i]);
        ash__lock_filter_id(&filter, "files_id", &id);
        const ash_lock_move move = {ASH_LOCK_OBTAIN_WRITE, &filter, q, true};
        assert_ok(ash__lock_brief_follow(f->c, &move, &doc, &found, &f->err), &f->err);
        if (found)
            bson_destroy(&doc);
        run_program(f, ASH_LOCK_OBTAIN_WRITE, &first_in_queue, &whole);
        compare(f, &queues[i], found, &whole);
        bson_destroy(&filter);
        bson_destroy(q);
    }
}

#define HOLDER(mode, n)                                                                            \
    "{'h': {'$oid': '0102030405060708090a0b02'}, 'mode': '" mode "', 'n': " #n                     \
    ", 'w': 4, 'exp': " LATER "}"
#define WRITTEN "'write_lock': true, 'expires': " LATER ", 'holders': [" HOLDER("write", 1) "], "

static const start written[] = {
    {"a writer follows", "+" WRITTEN QUEUE, true},
    {"readers wait", "+" WRITTEN QUEUE ", 'readers_wait': " LATER, false},
    {"readers waited", "+" WRITTEN QUEUE ", 'readers_wait': {'$date': 1000}", true},
    {"in the readers' turn", "+" WRITTEN QUEUE ", 'turn': " LATER, false},
    {"after their turn", "+" WRITTEN QUEUE ", 'turn': {'$date': 1000}, 'readers_wait': null", true},
    {"another one in front",
     "+" WRITTEN "'waiters': [{'h': 2, 'exp': " LATER "}, {'h': " FIRST ", 'exp': " LATER "}]",
     false},
    {"taken over", "+" WRITTEN QUEUE ", 'writes': 5", false},
    {"freed by the package", "+" QUEUE, false},
};

static void give_holder(fixture *f, bool write, ash_lock_grant *g)
{
    bson_t *doc = lock_doc(f, "brief");
    grant_of(doc, write, &holder, g);
    g->writes = 4;
    bson_destroy(doc);
}

static void test_lock_queue__passes_as_the_programs_do(void **state)
{
    fixture *f = *state;
    for (size_t i = 0; i < sizeof written / sizeof written[0]; i++) {
        bson_t doc, whole;
        ash_lock_grant g;
        bson_t *q = lock_parameters(f, &first_in_queue);
        bool found = false;
        insert_both(f, &written[i]);
        give_holder(f, true, &g);
        assert_ok(ash__lock_brief_pass(f->c, &g, q, &doc, &found, &f->err), &f->err);
        if (found)
            bson_destroy(&doc);
        run_program(f, ASH_LOCK_RELEASE_WRITE, &holder, &whole);
        bson_destroy(&whole);
        run_program(f, ASH_LOCK_OBTAIN_WRITE, &first_in_queue, &whole);
        compare(f, &written[i], found, &whole);
        ash__lock_grant_release(&g);
        bson_destroy(q);
    }
}

#define READ(n) "'expires': " LATER ", 'holders': [" HOLDER("read", n) "], "

static const start readers[] = {
    {"one of three", "+" READ(3) "'read_locks': 3", true},
    {"beside the package's", "+" READ(3) "'read_locks': 5", true},
    {"before a queue", "+" READ(2) "'read_locks': 2, " QUEUE, true},
    {"the last one", "+" READ(1) "'read_locks': 1", false},
    {"one was taken away", "+" READ(3) "'read_locks': 2", false},
    {"taken over", "+" READ(3) "'read_locks': 3, 'writes': 5", false},
};

static void test_lock_queue__leaves_as_the_program_does(void **state)
{
    fixture *f = *state;
    for (size_t i = 0; i < sizeof readers / sizeof readers[0]; i++) {
        bson_t doc, whole;
        ash_lock_grant g;
        bool found = false;
        insert_both(f, &readers[i]);
        give_holder(f, false, &g);
        assert_ok(ash__lock_brief_leave(f->c, &g, &doc, &found, &f->err), &f->err);
        if (found)
            bson_destroy(&doc);
        run_program(f, ASH_LOCK_RELEASE_READ, &holder, &whole);
        compare(f, &readers[i], found, &whole);
        ash__lock_grant_release(&g);
    }
}

/* ---- what calls whom ---- */

/* `next` after a release of what `before` says. */
static void assert_next(fixture *f, const char *before, enum ash_lock_program program,
                        const bson_oid_t *h, const char *wanted)
{
    const start s = {"next", before, false};
    bson_t doc, expected;
    bson_iter_t at, want;
    insert_both(f, &s);
    run_program(f, program, h, &doc);
    parse_document(wanted, &expected);
    assert_true(bson_iter_init_find(&at, &doc, "next"));
    assert_true(bson_iter_init_find(&want, &expected, "next"));
    if (!ash__lock_same_value(bson_iter_value(&at), bson_iter_value(&want))) {
        char *is = bson_as_relaxed_extended_json(&doc, NULL);
        fail_msg("%s: %s, and not %s", before, is, wanted);
    }
    bson_destroy(&doc);
    bson_destroy(&expected);
    assert_ok(ash_collection_remove(f->docs, NULL, NULL, NULL, &f->err), &f->err);
}

#define DEAD_FIRST                                                                                 \
    "'waiters': [{'h': 1, 'exp': {'$date': 1000}}, {'h': " FIRST ", 'exp': " LATER "}]"

static void test_lock_queue__the_document_says_who_is_next(void **state)
{
    static const char first[] = "'next': " FIRST, nobody[] = "'next': null";
    fixture *f = *state;
    assert_next(f, "+" WRITTEN QUEUE ", 'next': null", ASH_LOCK_RELEASE_WRITE, &holder, first);
    assert_next(f, "+" WRITTEN "'write_req': false", ASH_LOCK_RELEASE_WRITE, &holder, nobody);
    /* Who is dead already is not called: nobody else would come. */
    assert_next(f, "+" WRITTEN DEAD_FIRST, ASH_LOCK_RELEASE_WRITE, &holder, first);
    assert_next(f, "+" WRITTEN "'waiters': [{'h': 1, 'exp': {'$date': 1000}}]",
                ASH_LOCK_RELEASE_WRITE, &holder, nobody);
    assert_next(f, "+" READ(1) "'read_locks': 1, " DEAD_FIRST, ASH_LOCK_RELEASE_READ, &holder,
                first);
    assert_next(f, "+" READ(2) "'read_locks': 2, " DEAD_FIRST, ASH_LOCK_RELEASE_READ, &holder,
                nobody);
    assert_next(f, "+" QUEUE, ASH_LOCK_WITHDRAW, &first_in_queue, "'next': 2");
    assert_next(f, "+" QUEUE, ASH_LOCK_OBTAIN_WRITE, &first_in_queue, nobody);
    assert_next(f, "+'next': " FIRST, ASH_LOCK_OBTAIN_READ, &holder, nobody); /* a stale one */
    assert_next(f, "+'next': " FIRST, ASH_LOCK_OBTAIN_WRITE, &holder, nobody);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOCK_TEST(test_lock_queue__follows_as_the_program_does),
        LOCK_TEST(test_lock_queue__passes_as_the_programs_do),
        LOCK_TEST(test_lock_queue__leaves_as_the_program_does),
        LOCK_TEST(test_lock_queue__the_document_says_who_is_next),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
