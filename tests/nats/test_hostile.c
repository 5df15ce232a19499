/* SPDX-License-Identifier: Apache-2.0 */
/* Clients that are slow, silent, greedy, wrong or suddenly gone. */
#include "check.h"

#include "base/clock.h"
#include "base/mem.h"
#include "crash/rng.h"
#include "nats/state.h"
#include "raw_client.h"
#include "service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static void assert_hears(client *c, const char *expected)
{
    const char *said = client_hears(c);
    if (said == NULL || strcmp(said, expected) != 0)
        fail_msg("%s instead of %s", said != NULL ? said : "nothing", expected);
}

/* It is told why, and nothing else any more. */
static void assert_put_out(client *c, const char *why)
{
    assert_hears(c, why);
    assert_true(client_is_over(c));
    client_close(c);
}

static void await_detached(service *s, int count)
{
    for (int i = 0; i < 2000 && s->detached < count; i++)
        ash__clock_sleep_ms(10);
    assert_int_equal(s->detached, count);
}

static void await_empty(ash_room *room)
{
    for (int i = 0; i < 2000 && ash__room_used(room) > 0; i++)
        ash__clock_sleep_ms(10);
    assert_int_equal(ash__room_used(room), 0);
}

static void test_nats_hostile__bad_commands(void **state)
{
    static const struct {
        const char *bytes, *why;
    } bad[] = {
        {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "-ERR 'Unknown Protocol Operation'"},
        {"MSG a 1 2\r\nhi\r\n", "-ERR 'Unknown Protocol Operation'"},
        {"INFO {}\r\n", "-ERR 'Unknown Protocol Operation'"},
        {"PUB a b c d 2\r\nhi\r\n", "-ERR 'Parser Error'"},
        {"PUB a 2\r\nhi!\r\n", "-ERR 'Parser Error'"},
        {"PUB a 1048577\r\n", "-ERR 'Maximum Payload Violation'"},
        {"HPUB a 1048577 1048577\r\n", "-ERR 'Maximum Payload Violation'"},
        {"CONNECT nonsense\r\n", "-ERR 'Invalid Client Protocol'"},
        {"CONNECT []\r\n", "-ERR 'Invalid Client Protocol'"},
        {"CONNECT {\"headers\":7}\r\n", "-ERR 'Invalid Client Protocol'"},
    };
    service s;
    client c, good;
    (void)state;
    service_start(&s, NULL);
    client_open_usual(&good, s.port);
    for (size_t i = 0; i < ASH_ARRAY_LEN(bad); i++) {
        client_open_usual(&c, s.port);
        /* What came before is answered; what comes behind is not looked at. */
        client_says(&c, "PING\r\n");
        assert_hears(&c, "PONG");
        client_says(&c, bad[i].bytes);
        client_sends(&c, "PING\r\n", 6);
        assert_put_out(&c, bad[i].why);
    }
    client_says(&good, "PING\r\n");
    assert_hears(&good, "PONG");
    client_close(&good);
    service_stop(&s);
}

/* It hears why, though it has not been listened to. */
static void test_nats_hostile__too_large(void **state)
{
    service s;
    client c;
    char *data = ash__alloc(3000000);
    (void)state;
    memset(data, 'x', 3000000);
    service_start(&s, NULL);
    client_open_usual(&c, s.port);
    client_says(&c, "PUB a 2999998\r\n");
    client_sends(&c, data, 3000000);
    assert_put_out(&c, "-ERR 'Maximum Payload Violation'");
    client_open_usual(&c, s.port);
    client_sends(&c, "SUB ", 4);
    client_sends(&c, data, 3000000);
    assert_put_out(&c, "-ERR 'Maximum Control Line Exceeded'");
    ash__free(data);
    service_stop(&s);
}

/* Told of, and passed over. */
static void test_nats_hostile__bad_subjects(void **state)
{
    service s;
    client c;
    (void)state;
    service_start(&s, NULL);
    client_open_usual(&c, s.port);
    client_says(&c,
                "SUB a..b 1\r\nSUB >.a 2\r\nSUB a. 3\r\nPUB a. 2\r\nhi\r\nPUB .a in 2\r\nhi\r\n");
    for (int i = 0; i < 3; i++)
        assert_hears(&c, "-ERR 'Invalid Subject'");
    for (int i = 0; i < 2; i++)
        assert_hears(&c, "-ERR 'Invalid Publish Subject'");
    /* An answer that nobody can get. */
    client_says(&c, "SUB > 1\r\nUNSUB 1\r\nPUB nobody a..b 2\r\nhi\r\nPING\r\n");
    assert_hears(&c, "PONG");
    assert_int_equal(s.published, 1);
    client_close(&c);
    service_stop(&s);
}

static void test_nats_hostile__too_many_subscriptions(void **state)
{
    service s;
    client c;
    char text[50];
    (void)state;
    service_start(&s, NULL);
    client_open_usual(&c, s.port);
    for (int i = 0; i < 4096; i++) {
        snprintf(text, sizeof text, "SUB a.%d q%d %d\r\n", i, i % 100, i);
        client_says(&c, text);
    }
    client_says(&c, "SUB b more\r\nPUB a.77 2\r\nhi\r\n");
    assert_hears(&c, "-ERR 'Maximum Subscriptions Exceeded'");
    assert_hears(&c, "MSG a.77 77 2|hi");
    client_says(&c, "UNSUB 77\r\nSUB b more\r\nPUB b 2\r\nhi\r\n");
    assert_hears(&c, "MSG b more 2|hi");
    client_close(&c);
    service_stop(&s);
}

static void test_nats_hostile__says_nothing(void **state)
{
    ash_nats_server_options o = ASH_NATS_SERVER_OPTIONS_INIT;
    service s;
    client c;
    (void)state;
    o.connect_timeout_ms = 200;
    service_start(&s, &o);
    client_open(&c, s.port, "PING\r\n");
    assert_hears(&c, "PONG");
    assert_put_out(&c, "-ERR 'Authentication Timeout'");
    await_detached(&s, 1);
    service_stop(&s);
}

static void test_nats_hostile__owes_the_rest(void **state)
{
    ash_nats_server_options o = ASH_NATS_SERVER_OPTIONS_INIT;
    static const char *const parts[] = {"PUB a 10\r\nhi", "SUB a ", "PUB a 1000000\r\nx"};
    service s;
    client c;
    (void)state;
    o.message_timeout_ms = 300;
    service_start(&s, &o);
    for (size_t i = 0; i < ASH_ARRAY_LEN(parts); i++) {
        client_open_usual(&c, s.port);
        client_says(&c, parts[i]);
        int64_t begun = ash__clock_ms();
        /* Bytes now and then do not help. */
        while (ash__clock_ms() - begun < 150) {
            client_says(&c, "B");
            ash__clock_sleep_ms(50);
        }
        assert_put_out(&c, "-ERR 'Stale Connection'");
        assert_in_range(ash__clock_ms() - begun, 200, 10000);
    }
    await_empty(&s.server->host.requests);
    service_stop(&s);
}

static void test_nats_hostile__does_not_answer(void **state)
{
    ash_nats_server_options o = ASH_NATS_SERVER_OPTIONS_INIT;
    service s;
    client dead, alive;
    (void)state;
    o.ping_interval_ms = 150;
    service_start(&s, &o);
    client_open_usual(&dead, s.port);
    client_open_usual(&alive, s.port);
    for (int i = 0; i < 5; i++) {
        assert_hears(&alive, "PING");
        client_says(&alive, "PONG\r\n");
    }
    assert_hears(&dead, "PING");
    assert_hears(&dead, "PING");
    assert_put_out(&dead, "-ERR 'Stale Connection'");
    assert_hears(&alive, "PING");
    client_close(&alive);
    service_stop(&s);
}

/* What is kept for it is bounded, and it is put out. */
static void test_nats_hostile__does_not_read(void **state)
{
    ash_nats_server_options o = ASH_NATS_SERVER_OPTIONS_INIT;
    static const char *const wishes[] = {"SUB in 1\r\nPUB many.1000.131072 in 0\r\n\r\n",
                                         "SUB in 1\r\nPUB many.1000000.10 in 0\r\n\r\n",
                                         "SUB in 1\r\nPUB many.30.4000000 in 0\r\n\r\n"};
    service s;
    client c;
    (void)state;
    o.send_timeout_ms = 700;
    service_start(&s, &o);
    for (size_t i = 0; i < ASH_ARRAY_LEN(wishes); i++) {
        client_open_narrow(&c, s.port);
        client_says(&c, wishes[i]);
        size_t most = 0;
        for (int k = 0; k < 2000 && s.detached <= (int)i; k++) {
            size_t used = ash__room_used(&s.server->host.answers);
            most = used > most ? used : most;
            ash__clock_sleep_ms(10);
        }
        await_detached(&s, (int)i + 1);
        assert_in_range(most, 0, 2 * 1024 * 1024);
        assert_true(client_is_over(&c));
        client_close(&c);
    }
    service_stop(&s);
}

/* It asks for more and more, and takes nothing. */
static void test_nats_hostile__asks_without_reading(void **state)
{
    ash_nats_server_options o = ASH_NATS_SERVER_OPTIONS_INIT;
    service s;
    client c;
    char *data = ash__alloc(100002);
    (void)state;
    memset(data, 'x', 100000);
    memcpy(data + 100000, "\r\n", 2);
    o.send_timeout_ms = 700;
    service_start(&s, &o);
    client_open_narrow(&c, s.port);
    client_says(&c, "SUB in 1\r\nSUB in 2\r\nSUB in 3\r\n");
    int64_t begun = ash__clock_ms();
    while (client_sends(&c, "PUB echo.a in 100000\r\n", 22) && client_sends(&c, data, 100002))
        assert_in_range(ash__clock_ms() - begun, 0, 19000);
    await_detached(&s, 1);
    assert_in_range(s.published, 1, 200);
    client_close(&c);
    ash__free(data);
    service_stop(&s);
}

/* Who holds what others wait for, and stands still, has to go. */
static void test_nats_hostile__holds_all_memory(void **state)
{
    enum { HOLDERS = 7 };
    ash_nats_server_options o = ASH_NATS_SERVER_OPTIONS_INIT;
    service s;
    client holders[HOLDERS], c;
    char *data = ash__alloc(1000002);
    (void)state;
    memset(data, 'x', 1000000);
    memcpy(data + 1000000, "\r\n", 2);
    o.message_bytes = 1;
    service_start(&s, &o);
    for (int i = 0; i < HOLDERS; i++) {
        client_open_usual(&holders[i], s.port);
        assert_true(client_sends(&holders[i], "PUB a 1000000\r\n", 15));
        assert_true(client_sends(&holders[i], data, 100000));
    }
    for (int i = 0; i < 1000 && ash__room_used(&s.server->host.requests) < HOLDERS * 1000000; i++)
        ash__clock_sleep_ms(10);
    client_open_usual(&c, s.port);
    client_says(&c, "SUB in 1\r\nPUB echo.a in 1000000\r\n");
    assert_true(client_sends(&c, data, 1000002));
    const char *said = client_hears(&c);
    assert_non_null(said);
    assert_memory_equal(said, "MSG echo.a 1 1000000|xxx", 24);
    assert_true(s.detached > 0 && s.detached < HOLDERS);
    client_close(&c);
    for (int i = 0; i < HOLDERS; i++)
        client_close(&holders[i]);
    await_detached(&s, HOLDERS + 1);
    await_empty(&s.server->host.requests);
    ash__free(data);
    service_stop(&s);
}

/* Large memory goes back when there is nothing to do. */
static void test_nats_hostile__rests(void **state)
{
    service s;
    client c;
    char *data = ash__alloc(500002);
    (void)state;
    memset(data, 'x', 500000);
    memcpy(data + 500000, "\r\n", 2);
    service_start(&s, NULL);
    client_open_narrow(&c, s.port);
    client_says(&c, "SUB in 1\r\nPUB echo.a in 500000\r\n");
    assert_true(client_sends(&c, data, 500002));
    assert_non_null(client_hears(&c));
    assert_true(ash__room_used(&s.server->host.requests) > 0);
    await_empty(&s.server->host.requests);
    await_empty(&s.server->host.answers);
    client_says(&c, "PING\r\n");
    assert_hears(&c, "PONG");
    client_close(&c);
    ash__free(data);
    service_stop(&s);
}

/* At any moment, and without a word. */
static void test_nats_hostile__dies(void **state)
{
    enum { DEATHS = 150 };
    static const char *const words[] = {"SUB in 1\r\n",
                                        "PUB many.50.131072 in 0\r\n\r\n",
                                        "PUB many.5000.100 in 0\r\n\r\n",
                                        "PUB late in 0\r\n\r\n",
                                        "PUB timed in 0\r\n\r\n",
                                        "PUB echo.a in 5\r\nhello\r\n",
                                        "PUB a 100000\r\nxx"};
    struct linger at_once = {.l_onoff = 1};
    service s;
    client c;
    const char *given = getenv("ASH_NATS_SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 0) : (uint64_t)ash__clock_wall_ms();
    rng random = rng_for(seed, 0);
    (void)state;
    print_message("# ASH_NATS_SEED=%llu\n", (unsigned long long)seed);
    service_start(&s, NULL);
    for (int i = 0; i < DEATHS; i++) {
        client_open_usual(&c, s.port);
        client_says(&c, words[0]);
        for (int k = 0; k < 3; k++) {
            const char *word = words[rng_below(&random, ASH_ARRAY_LEN(words))];
            client_sends(&c, word, strlen(word));
        }
        if (rng_below(&random, 2) == 0)
            client_hears_within(&c, 2);
        setsockopt(c.fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        client_close(&c);
    }
    /* The last ones go with the server. */
    client_open_usual(&c, s.port);
    client_says(&c, "SUB in 1\r\nPUB many.5000.131072 in 0\r\n\r\n");
    assert_non_null(client_hears(&c));
    service_stop(&s);
    client_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nats_hostile__bad_commands),
        cmocka_unit_test(test_nats_hostile__too_large),
        cmocka_unit_test(test_nats_hostile__bad_subjects),
        cmocka_unit_test(test_nats_hostile__too_many_subscriptions),
        cmocka_unit_test(test_nats_hostile__says_nothing),
        cmocka_unit_test(test_nats_hostile__owes_the_rest),
        cmocka_unit_test(test_nats_hostile__does_not_answer),
        cmocka_unit_test(test_nats_hostile__does_not_read),
        cmocka_unit_test(test_nats_hostile__asks_without_reading),
        cmocka_unit_test(test_nats_hostile__holds_all_memory),
        cmocka_unit_test(test_nats_hostile__rests),
        cmocka_unit_test(test_nats_hostile__dies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
