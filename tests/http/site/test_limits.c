/* SPDX-License-Identifier: Apache-2.0 */
#include "hosted.h"

#include "base/clock.h"
#include "user/usage.h"

#include <stdlib.h>
#include <string.h>

/* How much of a server a user may have, by HTTP. */

#define WRITES "[{\"role\": \"readWrite\", \"db\": \"$\"}]"

enum { LARGE = 200000 };

static int limits_setup(void **state)
{
    if (hosted_setup(state) != 0)
        return -1;
    hosted *h = *state;
    char *text = ash__alloc(LARGE + 1);
    memset(text, 'x', LARGE);
    text[LARGE] = '\0';
    support_put_text(h->f, "large", text);
    support_put_text(h->f, "a", "a");
    ash__free(text);
    hosted_add_user(h, "ann", "p", WRITES);
    hosted_add_user(h, "bob", "p", WRITES);
    return 0;
}

static void limit(hosted *h, ash_limits limits)
{
    ash_user_id id = {&ash__user_kind, "ann", "admin"};
    assert_ok(ash__user_set_limits(&h->users, &id, &limits, &h->f->err), &h->f->err);
    ash__users_changed();
}

static visit *begin(hosted *h, const char *line)
{
    /* "ann:p" */
    return visit_start(ash__site_service(), h->site, line, "Authorization: Basic YW5uOnA=\n", 0);
}

static void test_operations_wait_and_then_are_refused(void **state)
{
    hosted *h = *state;
    limit(h, (ash_limits){.operations = 5});
    int64_t begun = ash__clock_ms();
    for (int i = 0; i < 6; i++)
        hosted_expect_as(h, "ann:p", "GET /a", NULL, 200);
    hosted_expect_as(h, "ann:p", "GET /a", NULL, 200);
    hosted_expect_as(h, "ann:p", "GET /a", NULL, 200);
    /* Each comes anew, and all of them are one user's. */
    assert_true(ash__clock_ms() - begun >= 300);
    limit(h, (ash_limits){.bytes = 1000});
    visit *v = hosted_ask_as(h, "ann:p", "GET /a", NULL, NULL);
    v->x.received_bytes = 30000;
    visit_free(v);
    v = hosted_ask_as(h, "ann:p", "GET /a", NULL, NULL);
    visit_expect(v, 429);
    int seconds = atoi(visit_field(v, "Retry-After"));
    assert_true(seconds > 10 && seconds <= 30);
    assert_non_null(strstr(ash__buffer_text(&v->body), "1000 bytes a second"));
    visit_free(v);
    hosted_expect_as(h, "bob:p", "GET /a", NULL, 200);
    limit(h, (ash_limits){0});
    hosted_expect_as(h, "ann:p", "GET /a", NULL, 200);
}

static void test_so_many_at_a_time(void **state)
{
    hosted *h = *state;
    limit(h, (ash_limits){.connections = 2});
    visit *one = begin(h, "GET /a"), *two = begin(h, "GET /a"), *three = begin(h, "GET /a");
    visit_end(three);
    visit_expect(three, 429);
    visit_expect_field(three, "Retry-After", "1");
    visit_end(one);
    visit_expect(one, 200);
    visit_free(one);
    visit *four = begin(h, "GET /a");
    visit_end(four);
    visit_expect(four, 200);
    visit_end(two);
    visit_free(two);
    visit_free(three);
    visit_free(four);
}

static void test_a_download_has_the_pace_of_its_user(void **state)
{
    hosted *h = *state;
    limit(h, (ash_limits){.bytes = 100000});
    visit *v = begin(h, "GET /large");
    visit_end(v);
    int waits = 0;
    /* A second's worth comes at once. */
    for (; v->waits; waits++) {
        int64_t left = v->x.due_ms - ash__clock_ms();
        assert_true(v->x.due_ms != 0 && left <= 2000);
        if (left > 0)
            ash__clock_sleep_ms(left);
        visit_read(v);
    }
    visit_expect(v, 200);
    assert_int_equal(v->body.len, LARGE);
    assert_true(waits >= 1);
    visit_free(v);
}

#define LIMITS(name) cmocka_unit_test_setup_teardown(name, limits_setup, hosted_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LIMITS(test_operations_wait_and_then_are_refused),
        LIMITS(test_so_many_at_a_time),
        LIMITS(test_a_download_has_the_pace_of_its_user),
    };
    return cmocka_run_group_tests_name("http/site/limits", tests, NULL, NULL);
}
