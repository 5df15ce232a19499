/* SPDX-License-Identifier: Apache-2.0 */
/* A call to the store fails, whichever: the client is told, and nothing is made up. */
#include "support.h"

#include "base/mem.h"
#include "faults/faulty_store.h"

#include <stdio.h>

enum { MOST_CALLS = 200 };

/* The server over a store that fails when it is told to. */
static int faulty_setup(void **state)
{
    door *d = NULL;
    if (door_setup(state) != 0)
        return -1;
    d = *state;
    (void)door_put(&d->c, "a", "N1", 'a', 200000);
    (void)door_put(&d->c, "b", "N2", 'b', 3);
    door_end(d);
    ash_store *inner = d->store;
    d->store = faulty_store_new(inner);
    d->inner = inner;
    door_serve(d);
    return 0;
}

static int faulty_teardown(void **state)
{
    door *d = *state;
    door_end(d);
    faulty_store_free(d->store);
    d->store = d->inner;
    door_serve(d);
    return door_teardown(state);
}

static bool is_failure(const char *said)
{
    return door_error(said) != 0 || strstr(said, "NATS/1.0 5") != NULL;
}

typedef struct request {
    const char *subject, *body;
    const char *until; /* its answer is the same each time up to there; NULL: to its end */
} request;

static char *stable_part(const char *said, const request *r)
{
    const char *end = r->until != NULL ? strstr(said, r->until) : NULL;
    said = strchr(said, '|'); /* its size may be that of another time */
    assert_non_null(said);
    return ash__strndup(said, end != NULL ? (size_t)(end - said) : strlen(said));
}

/* Told that it failed, or the truth: not every call is needed for that. */
static void assert_is_told(door *d, const request *r)
{
    char *truth = stable_part(door_ask(&d->c, r->subject, r->body), r);
    bool happened = true;
    int failures = 0;
    for (int n = 1; happened; n++) {
        assert_true(n < MOST_CALLS);
        faulty_store_set(d->store, n, n % 2 == 0, 0);
        const char *said = door_ask(&d->c, r->subject, r->body);
        happened = faulty_store_happened(d->store);
        if (is_failure(said)) {
            assert_true(happened);
            failures++;
            continue;
        }
        char *answer = stable_part(said, r);
        if (strcmp(answer, truth) != 0)
            fail_msg("%s, call %d: %.300s", r->subject, n, said);
        ash__free(answer);
    }
    faulty_store_set(d->store, 0, false, 0);
    ash__free(truth);
    assert_true(failures > 0);
}

static void test_nats_jetstream_faults__requests(void **state)
{
    door *d = *state;
    static const request requests[] = {
        {"$JS.API.INFO", "", NULL},
        {"$JS.API.STREAM.INFO.OBJ_s", "{\"subjects_filter\":\">\"}", "\"ts\""},
        {"$JS.API.STREAM.NAMES", "", NULL},
        {"$JS.API.STREAM.LIST", "", "\"ts\""},
        {"$JS.API.STREAM.MSG.GET.OBJ_s", "{\"last_by_subj\":\"$O.s.M.YQ==\"}", NULL},
        {"$JS.API.STREAM.MSG.GET.OBJ_s", "{\"next_by_subj\":\"$O.s.C.N1\",\"seq\":2}", NULL},
        {"$JS.API.STREAM.MSG.GET.OBJ_s", "{\"seq\":1}", NULL},
        {"$JS.API.DIRECT.GET.OBJ_s.$O.s.M.YQ==", "", NULL},
        {"$JS.API.DIRECT.GET.OBJ_s.$O.s.M.>", "", NULL},
        {"$JS.API.STREAM.PURGE.OBJ_s", "{\"filter\":\"$O.s.M.eA==\"}", NULL},
        {"$JS.API.CONSUMER.CREATE.OBJ_s.c1",
         "{\"stream_name\":\"OBJ_s\",\"config\":{\"filter_subject\":\"$O.s.C.N1\"}}",
         "\"created\""},
    };
    for (size_t i = 0; i < ASH_ARRAY_LEN(requests); i++)
        assert_is_told(d, &requests[i]);
}

/* As it was, or as it is to be; and that when it is acknowledged. */
static void test_nats_jetstream_faults__puts(void **state)
{
    door *d = *state;
    bool happened = true;
    for (int n = 1; happened; n++) {
        char nuid[16], again[16];
        assert_true(n < MOST_CALLS);
        (void)snprintf(nuid, sizeof nuid, "M%d", n);
        (void)snprintf(again, sizeof again, "A%d", n);
        const char old = n == 1 ? 'b' : (char)('c' + (n - 1) % 20), now = (char)('c' + n % 20);
        const size_t old_size = n == 1 ? 3 : 70000;
        faulty_store_set(d->store, n, n % 2 == 0, 0);
        int refused = door_error(door_chunk(&d->c, nuid, NULL, now, 70000));
        door_object o = {.name = "b", .nuid = nuid, .fill = now, .size = 70000, .chunks = 1};
        refused += door_error(door_meta(&d->c, &o));
        happened = faulty_store_happened(d->store);
        faulty_store_set(d->store, 0, false, 0);
        bool is_new = door_has(d, "b", now, 70000);
        if (!is_new && (refused == 0 || !door_has(d, "b", old, old_size)))
            fail_msg("call %d: refused by %d, and it is neither", n, refused);
        /* As clients do with what failed. */
        char *purge = ash__sprintf("{\"filter\":\"$O.s.C.%s\"}", nuid);
        (void)door_ask(&d->c, "$JS.API.STREAM.PURGE.OBJ_s", purge);
        ash__free(purge);
        if (!is_new)
            assert_true(door_put(&d->c, "b", again, now, 70000) > 0);
    }
}

#define T(name)                                                                                    \
    cmocka_unit_test_setup_teardown(test_nats_jetstream_faults__##name, faulty_setup,              \
                                    faulty_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {T(requests), T(puts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
