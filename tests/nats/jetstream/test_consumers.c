/* SPDX-License-Identifier: Apache-2.0 */
/* What consumers are given: chunks and meta messages, in their order, each once. */
#include "support.h"

#include "base/clock.h"
#include "base/mem.h"
#include "nats/jetstream/door.h"
#include "object/jetstream/format/names.h"

#include <stdio.h>
#include <stdlib.h>

#define PUSH "\"deliver_subject\":\"_D.1\",\"ack_policy\":\"none\",\"max_deliver\":1"

/* more: members of the configuration. */
static const char *create(client *c, const char *name, const char *filter, const char *more)
{
    char *subject = ash__sprintf("$JS.API.CONSUMER.CREATE.OBJ_s.%s.%s", name, filter);
    char *body = ash__sprintf(
        "{\"stream_name\":\"OBJ_s\",\"config\":{\"filter_subject\":\"%s\",%s}}", filter, more);
    const char *said = door_ask(c, subject, body);
    ash__free(subject);
    ash__free(body);
    return said;
}

/* The next message: of that consumer, subject, sequence, number and what is pending behind it. */
static void expect(client *c, const char *consumer, const char *subject, int sequence, int number,
                   int pending)
{
    char *start =
        ash__sprintf("HMSG %s 2 $JS.ACK.OBJ_s.%s.1.%d.%d.", subject, consumer, sequence, number);
    const char *said = client_hears(c);
    assert_non_null(said);
    if (strncmp(said, start, strlen(start)) != 0)
        fail_msg("%.200s instead of %s", said, start);
    const char *dot = strchr(said + strlen(start), '.');
    assert_int_equal(atoi(dot + 1), pending);
    ash__free(start);
}

static void expect_meta(client *c, const char *consumer, const char *name, const int numbers[3])
{
    char *subject = ash__meta_subject("s", name);
    expect(c, consumer, subject, numbers[0], numbers[1], numbers[2]);
    ash__free(subject);
}

static void expect_silence(client *c)
{
    const char *said = client_hears_within(c, 300);
    if (said != NULL)
        fail_msg("%.200s", said);
}

/* ---- chunks ---- */

static void test_nats_jetstream_consumers__chunks(void **state)
{
    door *d = *state;
    (void)door_put(&d->c, "a", "N1", 'a', 300000);
    assert_says(create(&d->c, "c1", "$O.s.C.N1", PUSH), "\"num_pending\":3");
    for (int i = 1; i <= 3; i++)
        expect(&d->c, "c1", "$O.s.C.N1", i, i, 3 - i);
    assert_says(create(&d->c, "c2", "$O.s.C.N1",
                       PUSH ",\"deliver_policy\":\"by_start_sequence\",\"opt_start_seq\":3"),
                "\"num_pending\":1");
    expect(&d->c, "c2", "$O.s.C.N1", 3, 1, 0);
    assert_says(create(&d->c, "c3", "$O.s.C.N1", PUSH ",\"headers_only\":true"),
                "\"num_pending\":3");
    for (int i = 1; i <= 3; i++)
        assert_says(client_hears(&d->c),
                    i < 3 ? "Nats-Msg-Size: 131072\r\n\r\n" : "Nats-Msg-Size: 37856\r\n\r\n");
    assert_says(create(&d->c, "c4", "$O.s.C.N9", PUSH), "\"num_pending\":0");
    expect_silence(&d->c);
}

/* Who reads has the object of then to its end. */
static void test_nats_jetstream_consumers__overwritten_while_read(void **state)
{
    door *d = *state;
    const size_t size = 4 * 1024 * 1024;
    client other;
    door_open_client(d, &other);
    (void)door_put(&d->c, "a", "N1", 'a', size);
    assert_says(create(&d->c, "c1", "$O.s.C.N1",
                       PUSH ",\"flow_control\":true,\"idle_heartbeat\":60000000000"),
                "\"num_pending\":32");
    (void)door_put(&other, "a", "N2", 'b', 10);
    size_t got = 0;
    while (got < size) {
        const char *said = client_hears(&d->c);
        assert_non_null(said);
        if (strstr(said, "100 FlowControl") != NULL) {
            char reply[128];
            assert_int_equal(sscanf(said, "HMSG _D.1 2 %127s", reply), 1);
            char *line = ash__sprintf("PUB %s 0\r\n\r\n", reply);
            client_says(&d->c, line);
            ash__free(line);
            continue;
        }
        const char *data = strstr(said, "\r\n\r\n");
        assert_true(data != NULL && data[4] == 'a');
        got += strlen(data + 4);
    }
    assert_int_equal(got, size);
    assert_true(door_has(d, "a", 'b', 10));
    client_close(&other);
}

static void test_nats_jetstream_consumers__flow_control(void **state)
{
    door *d = *state;
    char reply[128] = "";
    int before = 0, after = 0;
    (void)door_put(&d->c, "a", "N1", 'a', 6 * 1024 * 1024);
    assert_says(create(&d->c, "c1", "$O.s.C.N1",
                       PUSH ",\"flow_control\":true,\"idle_heartbeat\":200000000"),
                "\"num_pending\":48");
    for (const char *said; (said = client_hears(&d->c)) != NULL;) {
        if (strstr(said, "100 FlowControl Request") != NULL)
            assert_int_equal(sscanf(said, "HMSG _D.1 2 %127s", reply), 1);
        else if (strstr(said, "100 Idle Heartbeat") != NULL)
            break; /* it waits */
        else
            before++;
    }
    assert_true(reply[0] != '\0' && before >= 8 && before < 40);
    assert_says(client_hears(&d->c), reply); /* Nats-Consumer-Stalled */
    char *line = ash__sprintf("PUB %s 0\r\n\r\n", reply);
    client_says(&d->c, line);
    ash__free(line);
    while (strstr(client_hears(&d->c), "100 ") == NULL)
        after++;
    assert_true(after > 0);
}

/* ---- meta messages ---- */

static void test_nats_jetstream_consumers__watch(void **state)
{
    door *d = *state;
    (void)door_put(&d->c, "a", "N1", 'a', 10);
    (void)door_put(&d->c, "b", "N2", 'b', 10);
    (void)door_put(&d->c, "a", "N3", 'a', 20);
    assert_says(create(&d->c, "w", "$O.s.M.>", PUSH ",\"deliver_policy\":\"last_per_subject\""),
                "\"num_pending\":2");
    expect_meta(&d->c, "w", "b", (int[]){2, 1, 1});
    expect_meta(&d->c, "w", "a", (int[]){3, 2, 0});
    client other;
    door_open_client(d, &other);
    (void)door_put(&other, "c", "N4", 'c', 10);
    expect_meta(&d->c, "w", "c", (int[]){4, 3, 0});
    door_object o = {.name = "b", .nuid = "N2", .digest = "", .more = ",\"deleted\":true"};
    (void)door_meta(&other, &o);
    assert_says(client_hears(&d->c), "\"deleted\":true");
    assert_says(door_ask(&d->c, "$JS.API.CONSUMER.DELETE.OBJ_s.w", ""), "\"success\":true");
    (void)door_put(&other, "d", "N5", 'd', 10);
    expect_silence(&d->c);
    client_close(&other);
}

static void test_nats_jetstream_consumers__watch_from(void **state)
{
    door *d = *state;
    (void)door_put(&d->c, "a", "N1", 'a', 10);
    (void)door_put(&d->c, "b", "N2", 'b', 10);
    (void)door_put(&d->c, "c", "N3", 'c', 10);
    assert_says(create(&d->c, "s", "$O.s.M.>",
                       PUSH ",\"deliver_policy\":\"by_start_sequence\",\"opt_start_seq\":3"),
                "\"num_pending\":1");
    expect_meta(&d->c, "s", "c", (int[]){3, 1, 0});
    assert_says(create(&d->c, "n", "$O.s.M.Yg==", PUSH), "\"num_pending\":1");
    expect_meta(&d->c, "n", "b", (int[]){2, 1, 0});
    assert_says(create(&d->c, "l", "$O.s.M.>", PUSH ",\"deliver_policy\":\"last\""),
                "\"num_pending\":1");
    expect_meta(&d->c, "l", "c", (int[]){3, 1, 0});
    for (int i = 0; i < 3; i++) {
        char *verb = ash__sprintf("$JS.API.CONSUMER.DELETE.OBJ_s.%c", "snl"[i]);
        assert_says(door_ask(&d->c, verb, ""), "\"success\":true");
        ash__free(verb);
    }
    assert_says(create(&d->c, "new", "$O.s.M.>", PUSH ",\"deliver_policy\":\"new\""),
                "\"num_pending\":0");
    client other;
    door_open_client(d, &other);
    (void)door_put(&other, "d", "N4", 'd', 10);
    expect_meta(&d->c, "new", "d", (int[]){4, 1, 0});
    /* The store goes: so do they. */
    assert_says(door_ask(&other, "$JS.API.STREAM.DELETE.OBJ_s", ""), "\"success\":true");
    assert_says(client_hears(&d->c), "409 Consumer Deleted");
    client_close(&other);
}

/* Nothing twice, and nothing left out, however it falls between what was there and what comes. */
static void test_nats_jetstream_consumers__watch_beside_puts(void **state)
{
    door *d = *state;
    enum { BEFORE = 20, ALL = 60 };
    char name[16], nuid[16];
    client other;
    int next = 1;
    for (int i = 1; i <= BEFORE; i++) {
        (void)snprintf(name, sizeof name, "o%d", i);
        (void)snprintf(nuid, sizeof nuid, "N%d", i);
        (void)door_put(&d->c, name, nuid, 'x', 5);
    }
    door_open_client(d, &other);
    (void)create(&d->c, "w", "$O.s.M.>", PUSH);
    for (int i = BEFORE + 1; i <= ALL; i++) {
        (void)snprintf(name, sizeof name, "o%d", i);
        (void)snprintf(nuid, sizeof nuid, "N%d", i);
        (void)door_put(&other, name, nuid, 'x', 5);
    }
    for (; next <= ALL; next++) {
        char *part = ash__sprintf(" 2 $JS.ACK.OBJ_s.w.1.%d.%d.", next, next);
        assert_says(client_hears(&d->c), part);
        ash__free(part);
    }
    expect_silence(&d->c);
    client_close(&other);
}

/* ---- heartbeats, pulling, the end ---- */

static void test_nats_jetstream_consumers__heartbeats(void **state)
{
    door *d = *state;
    (void)door_put(&d->c, "a", "N1", 'a', 10);
    (void)create(&d->c, "w", "$O.s.M.>", PUSH ",\"idle_heartbeat\":100000000");
    expect_meta(&d->c, "w", "a", (int[]){1, 1, 0});
    int64_t from = ash__clock_ms();
    for (int i = 0; i < 3; i++)
        assert_says(client_hears(&d->c), "NATS/1.0 100 Idle Heartbeat\r\nNats-Last-Consumer: 1\r\n"
                                         "Nats-Last-Stream: 1\r\n");
    assert_true(ash__clock_ms() - from >= 250);
}

static void test_nats_jetstream_consumers__pulled(void **state)
{
    door *d = *state;
    const char *next = "$JS.API.CONSUMER.MSG.NEXT.OBJ_s.p";
    (void)door_put(&d->c, "a", "N1", 'a', 300000);
    assert_says(create(&d->c, "p", "$O.s.C.N1", "\"ack_policy\":\"none\""), "\"num_pending\":3");
    assert_says(door_ask(&d->c, next, "{\"batch\":2}"), "$JS.ACK.OBJ_s.p.1.1.1.");
    assert_says(client_hears(&d->c), "$JS.ACK.OBJ_s.p.1.2.2.");
    assert_says(door_ask(&d->c, next, ""), "$JS.ACK.OBJ_s.p.1.3.3.");
    assert_says(door_ask(&d->c, next, "{\"batch\":5,\"no_wait\":true}"), "404 No Messages");
    int64_t from = ash__clock_ms();
    assert_says(door_ask(&d->c, next, "{\"batch\":5,\"expires\":200000000}"),
                "408 Request Timeout\r\nNats-Pending-Messages: 5");
    assert_true(ash__clock_ms() - from >= 190);
    assert_says(door_ask(&d->c, "$JS.API.CONSUMER.MSG.NEXT.OBJ_s.none", ""), "503");
    assert_says(create(&d->c, "push", "$O.s.C.N9", PUSH), "\"num_pending\":0");
    assert_says(door_ask(&d->c, "$JS.API.CONSUMER.MSG.NEXT.OBJ_s.push", ""),
                "409 Consumer is push based");
}

static void test_nats_jetstream_consumers__forgotten(void **state)
{
    door *d = *state;
    const char *info = "$JS.API.CONSUMER.INFO.OBJ_s.w";
    (void)create(&d->c, "w", "$O.s.M.>",
                 "\"deliver_subject\":\"_X.1\",\"inactive_threshold\":200000000");
    assert_says(door_ask(&d->c, info, ""), "\"push_bound\":false");
    int64_t end = ash__clock_ms() + 10000;
    while (door_error(door_ask(&d->c, info, "")) != 10014)
        assert_true(ash__clock_ms() < end);
    assert_says(door_ask(&d->c, "$JS.API.CONSUMER.NAMES.OBJ_s", ""), "\"consumers\":[]");
    /* Sooner, when somebody has listened before. */
    (void)create(&d->c, "w", "$O.s.M.>", PUSH ",\"inactive_threshold\":300000000000");
    assert_says(door_ask(&d->c, info, ""), "\"push_bound\":true");
    client_says(&d->c, "UNSUB 2\r\n");
    end = ash__clock_ms() + 10000;
    while (door_error(door_ask(&d->c, info, "")) != 10014)
        assert_true(ash__clock_ms() < end);
}

/* What a client says of its consumers stays in memory, so there is an end to it. */
static void test_nats_jetstream_consumers__long_texts(void **state)
{
    door *d = *state;
    enum { LONG = 300 * 1024 };
    const char *none = "\"ack_policy\":\"none\",\"inactive_threshold\":60000000000";
    char *words = ash__alloc(LONG + 1), reply[3600], name[16];
    memset(words, 'x', LONG);
    words[LONG] = '\0';
    memset(reply, 'r', sizeof reply - 1);
    memcpy(reply, "_I.", 3);
    reply[sizeof reply - 1] = '\0';
    char *more = ash__sprintf("%s,\"description\":\"%s\"", none, words);
    for (int i = 0; i < 4; i++) {
        (void)snprintf(name, sizeof name, "c%d", i);
        assert_int_equal(door_error(create(&d->c, name, "$O.s.C.N9", more)), i < 3 ? 0 : 10026);
    }
    /* One of the same name takes its place. */
    assert_int_equal(door_error(create(&d->c, "c0", "$O.s.C.N9", none)), 0);
    char *pull = ash__sprintf("PUB $JS.API.CONSUMER.MSG.NEXT.OBJ_s.c0 %s 1\r\n9\r\n", reply);
    for (int i = 0; i < 130; i++)
        client_says(&d->c, pull);
    assert_says(client_hears(&d->c), "409 Exceeded MaxWaiting");
    while (client_hears_within(&d->c, 300) != NULL)
        continue;
    for (int i = 0; i < 3; i++) {
        char *verb = ash__sprintf("$JS.API.CONSUMER.DELETE.OBJ_s.c%d", i);
        assert_says(door_ask(&d->c, verb, ""), "\"success\":true");
        ash__free(verb);
    }
    assert_int_equal(door_error(create(&d->c, "c0", "$O.s.C.N9", more)), 0);
    ash__free(pull);
    ash__free(more);
    ash__free(words);
}

static void test_nats_jetstream_consumers__refused(void **state)
{
    door *d = *state;
    client *c = &d->c;
    assert_int_equal(door_error(create(c, "w", "$O.s.>", PUSH)), 10093);
    assert_int_equal(door_error(create(c, "w", "$O.t.M.>", PUSH)), 10093);
    assert_int_equal(door_error(create(c, "w", "$O.s.M.>", "\"deliver_subject\":\"_D.>\"")), 10079);
    assert_int_equal(door_error(create(c, "w", "$O.s.M.>", "\"idle_heartbeat\":100000000")), 10088);
    assert_int_equal(door_error(create(c, "w", "$O.s.M.>", "\"flow_control\":true")), 10089);
    assert_int_equal(door_error(create(c, "w", "$O.s.M.>", PUSH ",\"flow_control\":true")), 10108);
    assert_int_equal(door_error(create(c, "w", "$O.s.M.>", PUSH ",\"idle_heartbeat\":1000000")),
                     10083);
    assert_int_equal(door_error(create(c, "w", "$O.s.M.>", PUSH ",\"deliver_policy\":\"odd\"")),
                     10003);
    assert_int_equal(door_error(door_ask(c, "$JS.API.CONSUMER.CREATE.OBJ_s.w.$O.s.M.x",
                                         "{\"config\":{\"filter_subject\":\"$O.s.M.>\"}}")),
                     10131);
    assert_int_equal(door_error(door_ask(c, "$JS.API.CONSUMER.CREATE.OBJ_s", "{}")), 10078);
    assert_int_equal(door_error(door_ask(c, "$JS.API.CONSUMER.CREATE.OBJ_t", "{}")), 10059);
    assert_int_equal(door_error(door_ask(c, "$JS.API.CONSUMER.DELETE.OBJ_s.w", "")), 10014);
    int refused = 0;
    for (int i = 0; i < 300; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "c%d", i);
        refused += door_error(create(c, name, "$O.s.C.N9", PUSH)) == 10026;
    }
    assert_int_equal(refused, 300 - 256);
}

static int watch_error(client *c, int number)
{
    char name[16];
    (void)snprintf(name, sizeof name, "w%d", number);
    return door_error(create(c, name, "$O.s.M.>", PUSH));
}

/* What one client watches takes no other's place, up to what all may have. */
static void test_nats_jetstream_consumers__shares(void **state)
{
    door *d = *state;
    client c[5];
    for (int i = 0; i < 5; i++) {
        door_open_client(d, &c[i]);
        for (int k = 0; k < ASH_JSD_WATCHES_OF_ONE; k++)
            assert_int_equal(watch_error(&c[i], k), i < 4 ? 0 : 10023);
        if (i > 0)
            continue;
        assert_int_equal(watch_error(&c[0], 999), 10026);
        /* One that is there already is made anew in its own place. */
        assert_int_equal(watch_error(&c[0], 0), 0);
        assert_int_equal(watch_error(&c[0], 999), 10026);
        /* Chunks need no thread. */
        assert_int_equal(door_error(create(&c[0], "c1", "$O.s.C.N9", PUSH)), 0);
        assert_int_equal(watch_error(&d->c, 0), 0);
        assert_int_equal(door_error(door_ask(&d->c, "$JS.API.CONSUMER.DELETE.OBJ_s.w0", "")), 0);
    }
    for (int i = 0; i < 5; i++)
        client_close(&c[i]);
}

/* Who looks at a store again and again is slowed down, and not refused. */
static void test_nats_jetstream_consumers__one_watch_after_the_other(void **state)
{
    door *d = *state;
    for (int i = 0; i < 2 * ASH_JSD_WATCHES_OF_ONE; i++) {
        assert_int_equal(watch_error(&d->c, 0), 0);
        assert_int_equal(door_error(door_ask(&d->c, "$JS.API.CONSUMER.DELETE.OBJ_s.w0", "")), 0);
    }
}

/* A subject that would begin a line of its own, even for who listens to everything. */
static void test_nats_jetstream_consumers__hostile_deliver_subject(void **state)
{
    door *d = *state;
    static const char *const hostile[] = {"a\\r\\nPUB x 0", "a b",   "a..b",   ".a", "a.",
                                          "a\\u0000b",      "a\\tb", "\\u007f"};
    client_says(&d->c, "SUB > 9\r\n");
    (void)door_put(&d->c, "a", "N1", 'a', 10);
    while (client_hears_within(&d->c, 300) != NULL)
        ;
    for (size_t i = 0; i < ASH_ARRAY_LEN(hostile); i++) {
        char *more = ash__sprintf("\"deliver_subject\":\"%s\"", hostile[i]);
        assert_int_equal(door_error(create(&d->c, "c1", "$O.s.M.>", more)), 10112);
        ash__free(more);
        const char *again = client_hears(&d->c); /* by the other subscription */
        assert_non_null(again);
        assert_int_equal(door_error(again), 10112);
    }
    expect_silence(&d->c);
}

#define T(name)                                                                                    \
    cmocka_unit_test_setup_teardown(test_nats_jetstream_consumers__##name, door_setup,             \
                                    door_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(chunks),       T(overwritten_while_read),
        T(flow_control), T(watch),
        T(watch_from),   T(watch_beside_puts),
        T(heartbeats),   T(pulled),
        T(forgotten),    T(long_texts),
        T(refused),      T(hostile_deliver_subject),
        T(shares),       T(one_watch_after_the_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
