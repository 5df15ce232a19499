/* SPDX-License-Identifier: Apache-2.0 */
/* What clients that behave may expect. */
#include "check.h"

#include "base/clock.h"
#include "base/mem.h"
#include "raw_client.h"
#include "service.h"

#include <bson/bson.h>
#include <stdio.h>
#include <string.h>

static void assert_hears(client *c, const char *expected)
{
    const char *said = client_hears(c);
    if (said == NULL || strcmp(said, expected) != 0)
        fail_msg("%s instead of %s", said != NULL ? said : "nothing", expected);
}

static void test_nats_server__info(void **state)
{
    service s;
    client c;
    bson_t info;
    bson_iter_t it;
    (void)state;
    service_start(&s, NULL);
    client_open(&c, s.port, NULL);
    const char *said = client_hears(&c);
    assert_memory_equal(said, "INFO ", 5);
    assert_true(bson_init_from_json(&info, said + 5, -1, NULL));
    assert_true(bson_iter_init_find(&it, &info, "server_name"));
    assert_string_equal(bson_iter_utf8(&it, NULL), "ashlar");
    assert_true(bson_iter_init_find(&it, &info, "version"));
    assert_string_equal(bson_iter_utf8(&it, NULL), "2.10.0");
    assert_true(bson_iter_init_find(&it, &info, "host"));
    assert_string_equal(bson_iter_utf8(&it, NULL), "127.0.0.1");
    assert_true(bson_iter_init_find(&it, &info, "port"));
    assert_int_equal(bson_iter_as_int64(&it), s.port);
    assert_true(bson_iter_init_find(&it, &info, "max_payload"));
    assert_int_equal(bson_iter_as_int64(&it), ASH_NATS_MAX_PAYLOAD_BYTES);
    assert_true(bson_iter_init_find(&it, &info, "jetstream") && bson_iter_bool(&it));
    assert_true(bson_iter_init_find(&it, &info, "headers") && bson_iter_bool(&it));
    assert_true(bson_iter_init_find(&it, &info, "auth_required") && !bson_iter_bool(&it));
    assert_true(bson_iter_init_find(&it, &info, "client_id"));
    assert_int_equal(bson_iter_as_int64(&it), 1);
    bson_destroy(&info);
    client_close(&c);
    service_stop(&s);
}

static void test_nats_server__pings(void **state)
{
    service s;
    client c;
    (void)state;
    service_start(&s, NULL);
    client_open_usual(&c, s.port);
    client_says(&c, "PING\r\nPING\r\n");
    assert_hears(&c, "PONG");
    assert_hears(&c, "PONG");
    client_says(&c, "P");
    ash__clock_sleep_ms(20);
    client_says(&c, "ING\r");
    ash__clock_sleep_ms(20);
    client_says(&c, "\n");
    assert_hears(&c, "PONG");
    client_close(&c);
    service_stop(&s);
}

static void test_nats_server__verbose(void **state)
{
    service s;
    client c;
    (void)state;
    service_start(&s, NULL);
    client_open(&c, s.port, "CONNECT {\"verbose\":true,\"pedantic\":true}\r\n");
    assert_hears(&c, "+OK");
    client_says(&c, "SUB a 1\r\n");
    assert_hears(&c, "+OK");
    client_says(&c, "PUB a 2\r\nhi\r\n");
    assert_hears(&c, "+OK");
    assert_hears(&c, "MSG a 1 2|hi");
    client_says(&c, "UNSUB 1\r\nPING\r\n");
    assert_hears(&c, "+OK");
    assert_hears(&c, "PONG");
    client_close(&c);
    service_stop(&s);
}

/* What the service does not take comes back to its sender alone. */
static void test_nats_server__echo(void **state)
{
    service s;
    client c, other, mute;
    (void)state;
    service_start(&s, NULL);
    client_open_usual(&c, s.port);
    client_open_usual(&other, s.port);
    client_open(&mute, s.port, "CONNECT {\"echo\":false}\r\n");
    client_says(&other, "SUB > 1\r\nPING\r\n");
    assert_hears(&other, "PONG");
    client_says(&c, "SUB a.* 1\r\nSUB a.> q 2\r\nSUB a.b q 3\r\nPUB a.b r.s 2\r\nhi\r\n");
    assert_hears(&c, "MSG a.b 3 r.s 2|hi");
    assert_hears(&c, "MSG a.b 1 r.s 2|hi");
    client_says(&c,
                "UNSUB 1 2\r\nUNSUB 2\r\nUNSUB 3\r\nPUB a.b 1\r\nx\r\nPUB a.b 1\r\ny\r\nPING\r\n");
    assert_hears(&c, "MSG a.b 1 1|x");
    assert_hears(&c, "PONG");
    client_says(&mute, "SUB a 1\r\nPUB a 2\r\nhi\r\nPING\r\n");
    assert_hears(&mute, "PONG");
    client_says(&other, "PING\r\n");
    assert_hears(&other, "PONG");
    client_close(&c);
    client_close(&other);
    client_close(&mute);
    service_stop(&s);
}

static void test_nats_server__nobody_listens(void **state)
{
    service s;
    client c, old;
    (void)state;
    service_start(&s, NULL);
    client_open_usual(&c, s.port);
    client_says(&c,
                "SUB _INBOX.> 1\r\nPUB nobody _INBOX.1 2\r\nhi\r\nPUB nobody 0\r\n\r\nPING\r\n");
    assert_hears(&c, "HMSG _INBOX.1 1 16 16|NATS/1.0 503\r\n\r\n");
    assert_hears(&c, "PONG");
    client_open(&old, s.port, "CONNECT {\"no_responders\":true}\r\n");
    client_says(&old, "SUB _INBOX.> 1\r\nPUB nobody _INBOX.1 2\r\nhi\r\nPING\r\n");
    assert_hears(&old, "PONG");
    client_close(&c);
    client_close(&old);
    service_stop(&s);
}

static void test_nats_server__service_answers(void **state)
{
    service s;
    client c, old;
    (void)state;
    service_start(&s, NULL);
    client_open_usual(&c, s.port);
    client_says(&c, "SUB in.* 7\r\nPUB echo.a in.1 2\r\nhi\r\n");
    /* Under its own subject, though it goes to another's subscriptions. */
    assert_hears(&c, "MSG echo.a 7 2|hi");
    client_says(&c, "HPUB echo.b in.1 18 20\r\nNATS/1.0\r\nA: b\r\n\r\nhi\r\n");
    assert_hears(&c, "HMSG echo.b 7 18 20|NATS/1.0\r\nA: b\r\n\r\nhi");
    client_says(&c, "PUB timed in.2 0\r\n\r\nPUB late in.2 0\r\n\r\n");
    assert_non_null(strstr(client_hears(&c), "MSG in.2 7 "));
    client_says(&c, "PUB late in.3 0\r\n\r\n");
    const char *said = client_hears(&c);
    while (said != NULL && strcmp(said, "MSG in.3 7 4|late") != 0)
        said = client_hears(&c);
    assert_non_null(said);
    /* Without headers for who has none. */
    client_open(&old, s.port, "CONNECT {}\r\n");
    client_says(&old, "SUB in.* 7\r\nHPUB echo.b in.1 18 20\r\nNATS/1.0\r\nA: b\r\n\r\nhi\r\n");
    assert_hears(&old, "MSG echo.b 7 2|hi");
    client_close(&c);
    client_close(&old);
    service_stop(&s);
}

/* Nothing wakes a client that has nothing to do. */
static void test_nats_server__idle(void **state)
{
    service s;
    client c;
    (void)state;
    service_start(&s, NULL);
    client_open_usual(&c, s.port);
    client_says(&c, "PING\r\n");
    assert_hears(&c, "PONG");
    ash__clock_sleep_ms(100);
    int pumps = s.pumps;
    ash__clock_sleep_ms(300);
    assert_int_equal(s.pumps, pumps);
    client_close(&c);
    service_stop(&s);
}

/* Far more than is ever kept for it, to a client that reads as it likes; and its own commands are
 * answered meanwhile. */
static void test_nats_server__pumps_much(void **state)
{
    service s;
    client c;
    unsigned messages = 0, pongs = 0;
    (void)state;
    service_start(&s, NULL);
    client_open_narrow(&c, s.port);
    client_says(&c, "SUB in 1\r\nPUB many.300.131072 in 0\r\n\r\nPING\r\n");
    while (messages < 300) {
        const char *said = client_hears(&c);
        assert_non_null(said);
        if (strcmp(said, "PONG") == 0) {
            pongs++;
            assert_in_range(messages, 0, 100);
            continue;
        }
        assert_memory_equal(said, "MSG in 1 131072|xxx", 19);
        assert_int_equal(strlen(said), 16 + 131072);
        messages++;
        if (messages % 100 == 0)
            ash__clock_sleep_ms(50);
    }
    assert_int_equal(pongs, 1);
    /* Larger than anything that a client may send. */
    client_says(&c, "PUB many.3.4000000 in 0\r\n\r\n");
    for (messages = 0; messages < 3; messages++)
        assert_int_equal(strlen(client_hears(&c)), 17 + 4000000);
    client_close(&c);
    service_stop(&s);
}

static void test_nats_server__large_messages(void **state)
{
    static const size_t lens[] = {0, 1, 16000, 16384, 32768, 65536, 99999, 1048575, 1048576, 3};
    service s;
    client c;
    char *data = ash__alloc(ASH_NATS_MAX_PAYLOAD_BYTES + 3);
    (void)state;
    service_start(&s, NULL);
    client_open_usual(&c, s.port);
    client_says(&c, "SUB in 1\r\n");
    for (size_t i = 0; i < ASH_ARRAY_LEN(lens); i++) {
        char *line = ash__sprintf("PUB echo.x in %zu\r\n", lens[i]);
        memset(data, 'a' + (int)i, lens[i]);
        memcpy(data + lens[i], "\r\n", 3);
        client_says(&c, line);
        assert_true(client_sends(&c, data, lens[i] + 2));
        ash__free(line);
        const char *said = client_hears(&c);
        assert_non_null(said);
        assert_int_equal(strlen(strchr(said, '|') + 1), lens[i]);
        assert_memory_equal(strchr(said, '|') + 1, data, lens[i]);
    }
    ash__free(data);
    client_close(&c);
    service_stop(&s);
}

static void test_nats_server__many_clients(void **state)
{
    enum { CLIENTS = 100 };
    service s;
    client c[CLIENTS];
    char text[100];
    (void)state;
    service_start(&s, NULL);
    for (int i = 0; i < CLIENTS; i++) {
        client_open_usual(&c[i], s.port);
        client_says(&c[i], "SUB in.> 1\r\n");
    }
    for (int round = 0; round < 10; round++)
        for (int i = 0; i < CLIENTS; i++) {
            snprintf(text, sizeof text, "PUB echo.%d in.x 3\r\n%03d\r\n", i, i);
            client_says(&c[i], text);
        }
    for (int i = 0; i < CLIENTS; i++)
        for (int round = 0; round < 10; round++) {
            snprintf(text, sizeof text, "MSG echo.%d 1 3|%03d", i, i);
            assert_hears(&c[i], text);
        }
    assert_int_equal(ash__nats_server_client_count(s.server), CLIENTS);
    assert_int_equal(s.attached, CLIENTS);
    /* Some go, the others stay until the server stops. */
    for (int i = 0; i < CLIENTS / 2; i++)
        client_close(&c[i]);
    for (int i = 0; i < 1000 && s.detached < CLIENTS / 2; i++)
        ash__clock_sleep_ms(10);
    assert_int_equal(s.detached, CLIENTS / 2);
    service_stop(&s);
    for (int i = CLIENTS / 2; i < CLIENTS; i++) {
        assert_true(client_is_over(&c[i]));
        client_close(&c[i]);
    }
}

/* Its last words are heard, even when it hangs up behind them. */
static void test_nats_server__hangs_up(void **state)
{
    service s;
    client c;
    (void)state;
    service_start(&s, NULL);
    client_open_usual(&c, s.port);
    client_says(&c, "PUB swallow 2\r\nhi\r\nPUB swallow 2\r\nhi\r\nPUB swallow 9\r\nhi");
    client_close(&c);
    for (int i = 0; i < 1000 && s.detached == 0; i++)
        ash__clock_sleep_ms(10);
    assert_int_equal(s.published, 2);
    service_stop(&s);
}

/* Also while nobody comes, goes or says anything. */
static void test_nats_server__keeps_house(void **state)
{
    service s;
    client c;
    (void)state;
    service_start(&s, NULL);
    client_open_usual(&c, s.port);
    for (int i = 0; i < 1000 && s.housekeepings < 2; i++)
        ash__clock_sleep_ms(10);
    assert_true(s.housekeepings >= 2);
    assert_int_equal(s.detached, 0);
    client_close(&c);
    service_stop(&s);
}

static void test_nats_server__refusals(void **state)
{
    static const char *const anywhere[] = {"0.0.0.0:0"};
    ash_error err = ASH_ERROR_INIT;
    service s;
    client c;
    (void)state;
    assert_int_equal(ash__nats_server_try_addresses(anywhere, 1, false, &err), ASH_EACCES);
    service_start(&s, NULL);
    s.refuses = true;
    client_open(&c, s.port, "CONNECT {}\r\n");
    assert_hears(&c, "-ERR 'nobody is served'");
    assert_true(client_is_over(&c));
    client_close(&c);
    service_stop(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nats_server__info),
        cmocka_unit_test(test_nats_server__pings),
        cmocka_unit_test(test_nats_server__verbose),
        cmocka_unit_test(test_nats_server__echo),
        cmocka_unit_test(test_nats_server__nobody_listens),
        cmocka_unit_test(test_nats_server__service_answers),
        cmocka_unit_test(test_nats_server__idle),
        cmocka_unit_test(test_nats_server__pumps_much),
        cmocka_unit_test(test_nats_server__large_messages),
        cmocka_unit_test(test_nats_server__many_clients),
        cmocka_unit_test(test_nats_server__hangs_up),
        cmocka_unit_test(test_nats_server__keeps_house),
        cmocka_unit_test(test_nats_server__refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
