/* SPDX-License-Identifier: Apache-2.0 */
#include "share.h"

#include "http/dav/kept.h"
#include "store/parts.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* Small files from memory: as if there were no memory. */

enum { ROUNDS = 300, MANY = 3 * ASH_KEPT_FILES, WRITES = 400, READERS = 2 };

static void expect_text(share *s, const char *line, const char *text)
{
    visit *v = share_ask(s, line, NULL, NULL);
    visit_expect(v, 200);
    visit_expect_body(v, text);
    visit_free(v);
}

/* Is it in memory, and could be given now? */
static bool is_kept(share *s, const char *path)
{
    uint64_t moment;
    assert_true(ash__store_moment(s->dav->store, &moment));
    ash_kept_file *f = ash__kept_file_find(s->dav->kept, path, moment);
    ash__kept_file_release(f);
    return f != NULL;
}

static void test_until_something_changes(void **state)
{
    share *s = *state;
    support_put_text(s->f, "a", "one");
    expect_text(s, "GET /a", "one");
    assert_true(is_kept(s, "/a"));
    expect_text(s, "GET /a", "one");
    support_put_text(s->f, "b", "another");
    assert_false(is_kept(s, "/a"));
    expect_text(s, "GET /a", "one");
    assert_true(is_kept(s, "/a"));
}

static void test_each_change_is_seen(void **state)
{
    share *s = *state;
    char text[32];
    share_expect(s, "MKCOL /f", NULL, NULL, 201);
    for (int i = 0; i < ROUNDS; i++) {
        snprintf(text, sizeof text, "%d", i);
        support_put_text(s->f, "f/a", text);
        expect_text(s, "GET /f/a", text);
        expect_text(s, "GET /f/a", text);
    }
    share_expect(s, "MOVE /f", "Destination: /g\n", NULL, 201);
    share_expect(s, "GET /f/a", NULL, NULL, 404);
    expect_text(s, "GET /g/a", text);
    expect_text(s, "GET /g/a", text);
    share_expect(s, "DELETE /g", NULL, NULL, 204);
    share_expect(s, "GET /g/a", NULL, NULL, 404);
}

static void test_fields_ranges_and_conditions(void **state)
{
    share *s = *state;
    support_put_text(s->f, "a.txt", "hello");
    for (int again = 0; again <= 1; again++) {
        expect_text(s, "GET /a.txt", "hello");
        assert_true(is_kept(s, "/a.txt"));
        visit *v = share_ask(s, "GET /a.txt?download", NULL, NULL);
        visit_expect_body(v, "hello");
        assert_non_null(visit_field(v, "Content-Disposition"));
        visit_free(v);
        v = share_ask(s, "GET /a.txt", "Range: bytes=1-3\n", NULL);
        visit_expect(v, 206);
        visit_expect_body(v, "ell");
        visit_expect_field(v, "Content-Range", "bytes 1-3/5");
        visit_free(v);
        v = share_ask(s, "GET /a.txt", NULL, NULL);
        assert_null(visit_field(v, "Content-Disposition"));
        visit_expect_field(v, "ETag", "\"2cf24dba5fb0a30e26e83b2ac5b9e29e\"");
        visit_expect_field(v, "Content-Type", "text/plain; charset=utf-8");
        visit_free(v);
        share_expect(s, "GET /a.txt", "If-None-Match: \"2cf24dba5fb0a30e26e83b2ac5b9e29e\"\n", NULL,
                     304);
        share_expect(s, "GET /a.txt", "If-Match: \"other\"\n", NULL, 412);
        share_expect(s, "GET /a.txt", "Range: bytes=9-\n", NULL, 416);
        share_expect(s, "GET /a.txt/", NULL, NULL, 404);
        v = share_ask(s, "HEAD /a.txt", NULL, NULL);
        visit_expect(v, 200);
        visit_expect_body(v, "");
        assert_int_equal(v->x.length, 5);
        visit_free(v);
    }
}

/* What came by its parts, or without bytes, was not read whole. */
static void test_what_is_not_kept(void **state)
{
    share *s = *state;
    char *large = ash__alloc(ASH_KEPT_MAX_BYTES + 2);
    memset(large, 'x', ASH_KEPT_MAX_BYTES + 1);
    large[ASH_KEPT_MAX_BYTES + 1] = '\0';
    support_put_text(s->f, "large", large);
    support_put_text(s->f, "a", "hello");
    expect_text(s, "GET /large", large);
    assert_false(is_kept(s, "/large"));
    visit_free(share_ask(s, "HEAD /a", NULL, NULL));
    visit_free(share_ask(s, "GET /a", "Range: bytes=0-1\n", NULL));
    visit_free(share_ask(s, "GET /a", "If-Match: \"other\"\n", NULL));
    assert_false(is_kept(s, "/a"));
    ash__free(large);
}

static void test_many_in_few_places(void **state)
{
    share *s = *state;
    char name[32], line[40];
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "n%d", i);
        support_put_text(s->f, name, name);
    }
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < MANY; i++) {
            snprintf(line, sizeof line, "GET /n%d", i);
            expect_text(s, line, line + 5);
            expect_text(s, line, line + 5);
        }
    }
}

/* ---- beside who writes ---- */

typedef struct beside {
    share *s;
    _Atomic int acknowledged;
    _Atomic bool over;
} beside;

static void *read_on(void *arg)
{
    beside *b = arg;
    while (!atomic_load(&b->over)) {
        int before = atomic_load(&b->acknowledged);
        visit *v = share_ask(b->s, "GET /a", NULL, NULL);
        visit_expect(v, 200);
        char text[16] = "";
        memcpy(text, v->body.data, v->body.len < 15 ? v->body.len : 15);
        /* What was acknowledged before the question is in the answer, or something newer. */
        assert_true(atoi(text) >= before);
        visit_free(v);
    }
    return NULL;
}

static void test_nothing_old_beside_a_writer(void **state)
{
    beside b = {.s = *state};
    pthread_t readers[READERS];
    char text[16];
    support_put_text(b.s->f, "a", "0");
    for (int i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&readers[i], NULL, read_on, &b), 0);
    for (int i = 1; i <= WRITES; i++) {
        snprintf(text, sizeof text, "%d", i);
        support_put_text(b.s->f, "a", text);
        atomic_store(&b.acknowledged, i);
    }
    atomic_store(&b.over, true);
    for (int i = 0; i < READERS; i++)
        pthread_join(readers[i], NULL);
}

#define T(name) cmocka_unit_test_setup_teardown(test_##name, share_setup, share_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(until_something_changes), T(each_change_is_seen), T(fields_ranges_and_conditions),
        T(what_is_not_kept),        T(many_in_few_places),  T(nothing_old_beside_a_writer),
    };
    return cmocka_run_group_tests_name("http-dav-kept", tests, NULL, NULL);
}
