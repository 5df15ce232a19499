/* SPDX-License-Identifier: Apache-2.0 */
/* Stores as streams, and single messages of them. */
#include "support.h"

#include "base/mem.h"
#include "nats/jetstream/subject.h"

#include <stdio.h>

#define SUBJECTS(name) "\"subjects\":[\"$O." name ".C.>\",\"$O." name ".M.>\"]"

static const char *create(client *c, const char *name, const char *config)
{
    char *subject = ash__sprintf("$JS.API.STREAM.CREATE.%s", name);
    char *body = ash__sprintf("{\"name\":\"%s\",%s}", name, config);
    const char *said = door_ask(c, subject, body);
    ash__free(subject);
    ash__free(body);
    return said;
}

static void test_nats_jetstream_streams__create(void **state)
{
    door *d = *state;
    client *c = &d->c;
    const char *said = create(c, "OBJ_t",
                              SUBJECTS("t") ",\"description\":\"<of> tea\",\"max_bytes\":1000000,"
                                            "\"max_age\":3600000000000,\"compression\":\"s2\","
                                            "\"metadata\":{\"k\":\"v\"},\"placement\":null");
    assert_int_equal(door_error(said), 0);
    assert_says(said, "\"type\":\"io.nats.jetstream.api.v1.stream_create_response\"");
    assert_says(said, "\"description\":\"\\u003cof\\u003e tea\"");
    assert_says(said, "\"max_bytes\":1000000,\"max_age\":3600000000000");
    assert_says(said, "\"compression\":\"s2\"");
    assert_says(said, "\"metadata\":{\"k\":\"v\"}");
    assert_says(said, "\"messages\":0");
    assert_int_equal(door_error(create(c, "OBJ_s", SUBJECTS("s"))), 0);
    assert_int_equal(door_error(create(c, "OBJ_t", SUBJECTS("t"))), 10058);
    /* Whatever it cannot be is refused by name. */
    assert_int_equal(door_error(create(c, "other", "\"subjects\":[\"a\"]")), 10052);
    assert_int_equal(door_error(create(c, "OBJ_a.b", SUBJECTS("a"))), 10056);
    assert_int_equal(door_error(create(c, "OBJ_u", SUBJECTS("t"))), 10052);
    assert_int_equal(door_error(create(c, "OBJ_u", SUBJECTS("u") ",\"storage\":\"memory\"")),
                     10028);
    assert_int_equal(door_error(create(c, "OBJ_u", SUBJECTS("u") ",\"num_replicas\":3")), 10074);
    assert_says(create(c, "OBJ_u", SUBJECTS("u") ",\"max_msgs\":5"), "no max_msgs");
    assert_says(create(c, "OBJ_u", SUBJECTS("u") ",\"mirror\":{\"name\":\"x\"}"), "no mirror");
    assert_says(create(c, "OBJ_u", SUBJECTS("u") ",\"retention\":\"workqueue\""), "retention");
    assert_int_equal(door_error(create(c, "OBJ_u", SUBJECTS("u") ",\"metadata\":[]")), 10025);
    assert_int_equal(door_error(door_ask(c, "$JS.API.STREAM.CREATE.OBJ_u", "{\"name\":\"OBJ_v\"}")),
                     10056);
    assert_int_equal(door_error(door_ask(c, "$JS.API.STREAM.CREATE.OBJ_u", "{")), 10025);
    assert_int_equal(door_error(door_ask(c, "$JS.API.STREAM.INFO.OBJ_u", "")), 10059);
    assert_int_equal(door_error(door_ask(c, "$JS.API.STREAM.INFO.KV_u", "")), 10059);
    assert_says(door_ask(c, "$JS.API.STREAM.SNAPSHOT.OBJ_s", "{}"), "503");
    assert_says(door_ask(c, "$JS.API.INFO", ""), "\"streams\":2,");
}

static void test_nats_jetstream_streams__update_and_seal(void **state)
{
    door *d = *state;
    client *c = &d->c;
    const char *update = "$JS.API.STREAM.UPDATE.OBJ_s";
    const char *seal = "{\"name\":\"OBJ_s\"," SUBJECTS("s") ",\"sealed\":true}";
    const char *open = "{\"name\":\"OBJ_s\"," SUBJECTS("s") ",\"sealed\":false}";
    (void)door_put(c, "a", "N1", 'a', 10);
    assert_says(door_ask(c, update, "{\"name\":\"OBJ_s\"," SUBJECTS("s") ",\"description\":\"d\"}"),
                "\"description\":\"d\"");
    assert_int_equal(
        door_error(door_ask(c, update,
                            "{\"name\":\"OBJ_s\"," SUBJECTS("s") ","
                                                                 "\"num_replicas\":3}")),
        10074);
    assert_says(door_ask(c, update, seal), "\"sealed\":true");
    assert_says(door_ask(c, update, seal), "\"sealed\":true");
    assert_int_equal(door_error(door_ask(c, update, open)), 10052);
    assert_int_equal(door_error(door_chunk(c, "N2", NULL, 'b', 10)), 10109);
    door_object o = {.name = "b", .nuid = "N2", .fill = 'b'};
    assert_int_equal(door_error(door_meta(c, &o)), 10109);
    o = (door_object){.name = "a", .nuid = "N1", .digest = "", .more = ",\"deleted\":true"};
    assert_int_equal(door_error(door_meta(c, &o)), 10109);
    assert_int_equal(
        door_error(door_ask(c, "$JS.API.STREAM.PURGE.OBJ_s", "{\"filter\":\"$O.s.C.N1\"}")), 10109);
    assert_true(door_has(d, "a", 'a', 10));
    assert_says(door_ask(c, "$JS.API.STREAM.DELETE.OBJ_s", ""), "\"success\":true");
    assert_int_equal(door_error(door_ask(c, "$JS.API.STREAM.DELETE.OBJ_s", "")), 10059);
}

/* A change by a client of JetStream leaves what JetStream has no word for. */
static void test_nats_jetstream_streams__keeps_what_it_does_not_know(void **state)
{
    door *d = *state;
    ash_object_manager *m = NULL;
    ash_object_status_listing *l = NULL;
    const ash_object_status *st = NULL;
    ash_object_config config = ASH_OBJECT_CONFIG_INIT, now = ASH_OBJECT_CONFIG_INIT;
    assert_ok(ash_object_manager_new(d->store, NULL, &m, &d->err), &d->err);
    config.name = "s";
    config.keep_last = 3;
    assert_ok(ash_object_manager_update(m, &config, NULL, &d->err), &d->err);
    assert_says(door_ask(&d->c, "$JS.API.STREAM.UPDATE.OBJ_s",
                         "{\"name\":\"OBJ_s\"," SUBJECTS("s") ",\"max_bytes\":5000}"),
                "\"max_bytes\":5000");
    assert_ok(ash_object_manager_list(m, NULL, &l, &d->err), &d->err);
    assert_ok(ash_object_status_listing_next(l, &st, &d->err), &d->err);
    assert_ok(ash_object_status_config(st, &now, &d->err), &d->err);
    assert_int_equal(now.keep_last, 3);
    assert_int_equal(now.max_bytes, 5000);
    ash_object_status_listing_free(l);
    ash_object_manager_close(m);
}

static void test_nats_jetstream_streams__state(void **state)
{
    door *d = *state;
    client *c = &d->c;
    const char *info = "$JS.API.STREAM.INFO.OBJ_s";
    assert_says(door_ask(c, info, ""), "\"messages\":0,\"bytes\":0,\"first_seq\":1,");
    (void)door_put(c, "a", "N1", 'a', 300000);
    (void)door_put(c, "b", "N2", 'b', 10);
    const char *said = door_ask(c, info, "");
    assert_says(said, "\"messages\":6,");
    assert_says(said, "\"first_seq\":1,");
    assert_says(said, "\"last_seq\":2,");
    assert_says(said, "\"num_subjects\":4,");
    said = door_ask(c, info, "{\"subjects_filter\":\"$O.s.C.>\"}");
    assert_says(said, "\"subjects\":{\"$O.s.C.N1\":3,\"$O.s.C.N2\":1}");
    assert_says(said, "\"total\":2,\"offset\":0,");
    assert_says(door_ask(c, info, "{\"subjects_filter\":\">\",\"offset\":3}"),
                "\"subjects\":{\"$O.s.C.N2\":1}");
    (void)door_put(c, "a", "N3", 'a', 10);
    assert_says(door_ask(c, info, ""), "\"messages\":4,");
}

static void test_nats_jetstream_streams__pages(void **state)
{
    door *d = *state;
    client *c = &d->c;
    const char *filter = "{\"subject\":\"$O.*.C.>\",\"offset\":0}";
    for (int i = 0; i < 300; i++) {
        char *name = ash__sprintf("OBJ_p%03d", i);
        char *config = ash__sprintf("\"subjects\":[\"$O.p%03d.C.>\",\"$O.p%03d.M.>\"]", i, i);
        assert_int_equal(door_error(create(c, name, config)), 0);
        ash__free(name);
        ash__free(config);
    }
    const char *said = door_ask(c, "$JS.API.STREAM.LIST", filter);
    assert_says(said, "\"total\":301,\"offset\":0,\"limit\":256");
    assert_says(said, "\"OBJ_p255\"");
    assert_null(strstr(said, "\"OBJ_p256\""));
    said = door_ask(c, "$JS.API.STREAM.LIST", "{\"offset\":256}");
    assert_says(said, "\"OBJ_p256\"");
    assert_says(said, "\"OBJ_s\"");
    assert_null(strstr(said, "\"OBJ_p255\""));
    said = door_ask(c, "$JS.API.STREAM.NAMES", "{\"subject\":\"$O.p007.M.x\"}");
    assert_says(said, "\"streams\":[\"OBJ_p007\"],\"total\":1");
    assert_says(door_ask(c, "$JS.API.STREAM.NAMES", "{\"subject\":\"KV.>\"}"), "\"streams\":[]");
}

static void test_nats_jetstream_streams__messages(void **state)
{
    door *d = *state;
    client *c = &d->c;
    const char *get = "$JS.API.STREAM.MSG.GET.OBJ_s", *direct = "$JS.API.DIRECT.GET.OBJ_s";
    (void)door_put(c, "a", "N1", 'a', 300000);
    (void)door_put(c, "b", "N2", 'b', 3);
    assert_says(door_ask(c, get, "{\"last_by_subj\":\"$O.s.M.Yg==\"}"),
                "\"subject\":\"$O.s.M.Yg==\",\"seq\":2,\"hdrs\":");
    assert_says(door_ask(c, get, "{\"last_by_subj\":\"$O.s.C.N2\"}"), "\"data\":\"YmJi\"");
    assert_says(door_ask(c, get, "{\"seq\":1}"), "\"subject\":\"$O.s.M.YQ==\"");
    assert_int_equal(door_error(door_ask(c, get, "{\"seq\":9}")), 10037);
    assert_int_equal(door_error(door_ask(c, get, "{\"last_by_subj\":\"$O.s.M.eA==\"}")), 10037);
    assert_int_equal(door_error(door_ask(c, get, "")), 10003);
    const char *said = door_ask(c, "$JS.API.DIRECT.GET.OBJ_s.$O.s.M.>", "");
    assert_says(said, "Nats-Stream: OBJ_s\r\nNats-Subject: $O.s.M.Yg==\r\nNats-Sequence: 2\r\n"
                      "Nats-Time-Stamp: 2");
    assert_says(said, "Nats-Rollup: sub\r\n");
    assert_says(said, "{\"name\":\"b\",");
    said = door_ask(c, direct, "{\"seq\":3,\"next_by_subj\":\"$O.s.C.N1\"}");
    assert_says(said, "Nats-Msg-Id: N1.2\r\n");
    assert_says(said, "Nats-Sequence: 3\r\n");
    assert_says(door_ask(c, direct, "{\"seq\":4,\"next_by_subj\":\"$O.s.C.N1\"}"),
                "NATS/1.0 404 Message Not Found");
    assert_says(door_ask(c, direct, "{\"next_by_subj\":\"$O.s.M.>\"}"), "Nats-Sequence: 1\r\n");
    assert_says(door_ask(c, direct, ""), "NATS/1.0 408");
    assert_says(door_ask(c, direct, "{\"multi_last\":[\"$O.s.M.>\"]}"), "NATS/1.0 408");
    const char *delete = "$JS.API.STREAM.MSG.DELETE.OBJ_s";
    assert_int_equal(door_error(door_ask(c, delete, "{\"seq\":2,\"no_erase\":true}")), 10057);
    assert_int_equal(door_error(door_ask(c, delete, "{\"seq\":9}")), 10043);
    assert_true(door_has(d, "b", 'b', 3));
    assert_says(door_ask(c, "$JS.API.DIRECT.GET.OBJ_none.$O.none.M.>", ""), "503");
}

/* Who counts on a newer server is told that this is none. */
/* Those that the client's own list of them has. */
static void test_nats_jetstream_streams__consumers_are_counted(void **state)
{
    door *d = *state;
    const char *create = "$JS.API.CONSUMER.CREATE.OBJ_s", *info = "$JS.API.STREAM.INFO.OBJ_s";
    const char *body = "{\"stream_name\":\"OBJ_s\",\"config\":{\"filter_subject\":\"$O.s.C.N9\"}}";
    assert_says(door_ask(&d->c, info, ""), "\"consumer_count\":0}");
    assert_int_equal(door_error(door_ask(&d->c, create, body)), 0);
    assert_int_equal(door_error(door_ask(&d->c, create, body)), 0);
    assert_says(door_ask(&d->c, info, ""), "\"consumer_count\":2}");
    assert_says(door_ask(&d->c, "$JS.API.CONSUMER.LIST.OBJ_s", ""), "\"total\":2,");
    client other;
    door_open_client(d, &other);
    assert_says(door_ask(&other, info, ""), "\"consumer_count\":0}");
    client_close(&other);
}

static void test_nats_jetstream_streams__level_of_the_api(void **state)
{
    door *d = *state;
    const char *info = "$JS.API.STREAM.INFO.OBJ_s", *level = "Nats-Required-Api-Level: 1\r\n";
    assert_int_equal(door_error(door_publish(&d->c, info, level, "", 0)), 10185);
    assert_says(door_publish(&d->c, "$JS.API.DIRECT.GET.OBJ_s.$O.s.M.>", level, "", 0),
                "NATS/1.0 412 Required Api Level");
    level = "Nats-Required-Api-Level: 0\r\n";
    assert_int_equal(door_error(door_publish(&d->c, info, level, "", 0)), 0);
}

static void test_nats_jetstream_streams__subjects(void **state)
{
    static const struct {
        const char *a, *b;
        bool meet;
    } cases[] = {{"a.b", "a.b", true},    {"a.*", "a.b", true},   {"a.>", "a.b.c", true},
                 {"a.>", "a", false},     {">", "a.b", true},     {"a.*", "a.b.c", false},
                 {"*.b", "a.*", true},    {"a.b", "a.c", false},  {"$O.*.C.>", "$O.s.C.>", true},
                 {"a.b.c", "a.b", false}, {"*.>", "a.b.c", true}, {"a*", "ab", false}};
    (void)state;
    for (size_t i = 0; i < ASH_ARRAY_LEN(cases); i++) {
        assert_int_equal(ash__jsd_subjects_meet(cases[i].a, cases[i].b), cases[i].meet);
        assert_int_equal(ash__jsd_subjects_meet(cases[i].b, cases[i].a), cases[i].meet);
    }
}

#define T(name)                                                                                    \
    cmocka_unit_test_setup_teardown(test_nats_jetstream_streams__##name, door_setup, door_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(create),
        T(update_and_seal),
        T(keeps_what_it_does_not_know),
        T(state),
        T(pages),
        T(messages),
        T(consumers_are_counted),
        T(level_of_the_api),
        cmocka_unit_test(test_nats_jetstream_streams__subjects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
