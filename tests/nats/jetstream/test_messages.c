/* SPDX-License-Identifier: Apache-2.0 */
/* No message is larger than what clients are told of, whatever the store has. */
#include "support.h"

#include "base/mem.h"
#include "nats/jetstream/door.h"
#include "object/jetstream/format/json.h"

#include <stdio.h>
#include <stdlib.h>

enum { CHUNK = 8 * 1024 * 1024, SIZE = 3 * 1024 * 1024 + 5, PIECES = 7 };

/* As no client of NATS could: in one chunk. */
static void put_large(door *d, const bson_t *metadata)
{
    ash_object_manager *m = NULL;
    ash_object_store *s = NULL;
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    char *data = ash__alloc(SIZE);
    for (size_t i = 0; i < SIZE; i++)
        data[i] = (char)('a' + i / 1000 % 26);
    meta.name = "large";
    meta.chunk_size = CHUNK;
    meta.metadata = metadata;
    assert_ok(ash_object_manager_new(d->store, NULL, &m, &d->err), &d->err);
    assert_ok(ash_object_manager_bind(m, "s", NULL, &s, &d->err), &d->err);
    assert_ok(ash_object_store_put_bytes(s, &meta, data, SIZE, NULL, NULL, NULL, &d->err), &d->err);
    ash_object_store_close(s);
    ash_object_manager_close(m);
    ash__free(data);
}

/* The payload, headers included, as the line says. */
static size_t payload_of(const char *said)
{
    size_t line = strcspn(said, "|");
    const char *at = said + line;
    while (at > said && at[-1] != ' ')
        at--;
    return strtoul(at, NULL, 10);
}

static const char *asked(client *c, const char *subject, const char *body)
{
    const char *said = door_ask(c, subject, body);
    assert_true(payload_of(said) <= ASH_NATS_MAX_PAYLOAD_BYTES);
    return said;
}

/* What a member of the answer's JSON is. */
static int64_t number_in(const char *said, const char *key)
{
    char *wanted = ash__sprintf("\"%s\":", key);
    const char *at = strstr(said, wanted);
    assert_non_null(at);
    int64_t number = strtoll(at + strlen(wanted), NULL, 10);
    ash__free(wanted);
    return number;
}

static void test_nats_jetstream_messages__large_chunks(void **state)
{
    door *d = *state;
    char subject[128], body[256];
    put_large(d, NULL);
    const char *meta = asked(&d->c, "$JS.API.DIRECT.GET.OBJ_s.$O.s.M.bGFyZ2U=", "");
    assert_int_equal(number_in(meta, "chunks"), PIECES);
    assert_int_equal(number_in(meta, "size"), SIZE);
    assert_int_equal(number_in(meta, "max_chunk_size"), ASH_JSD_MESSAGE_BYTES);
    const char *nuid = strstr(meta, "\"nuid\":\"");
    assert_int_equal(sscanf(nuid, "\"nuid\":\"%63[^\"]", subject), 1);
    (void)snprintf(body, sizeof body,
                   "{\"stream_name\":\"OBJ_s\",\"config\":{\"filter_subject\":\"$O.s.C.%s\","
                   "\"deliver_subject\":\"_D.1\"}}",
                   subject);
    assert_says(asked(&d->c, "$JS.API.CONSUMER.CREATE.OBJ_s", body), "\"num_pending\":7");
    size_t got = 0;
    for (int i = 0; i < PIECES; i++) {
        const char *said = client_hears(&d->c);
        assert_non_null(said);
        assert_true(payload_of(said) <= ASH_NATS_MAX_PAYLOAD_BYTES);
        for (said = strstr(said, "\r\n\r\n") + 4; *said != '\0'; said++, got++)
            assert_int_equal(*said, 'a' + got / 1000 % 26);
    }
    assert_int_equal(got, SIZE);
    /* One by one, and in base64. */
    for (int i = 1; i <= PIECES; i++) {
        char one[256];
        (void)snprintf(one, sizeof one, "{\"next_by_subj\":\"$O.s.C.%s\",\"seq\":%d}", subject, i);
        assert_int_equal(number_in(asked(&d->c, "$JS.API.STREAM.MSG.GET.OBJ_s", one), "seq"), i);
    }
    assert_says(asked(&d->c, "$JS.API.STREAM.INFO.OBJ_s", "{\"subjects_filter\":\"$O.s.C.>\"}"),
                "\":7}");
}

/* What is said of an object has room even where each byte of it takes six in JSON. */
static void test_nats_jetstream_messages__long_info(void **state)
{
    door *d = *state;
    enum { LONG = 60 * 1024 };
    bson_t metadata = BSON_INITIALIZER;
    char *text = ash__alloc(LONG + 1);
    memset(text, '\1', LONG);
    text[LONG] = '\0';
    BSON_APPEND_UTF8(&metadata, "m", text);
    put_large(d, &metadata);
    assert_says(asked(&d->c, "$JS.API.DIRECT.GET.OBJ_s.$O.s.M.bGFyZ2U=", ""), "\\u0001");
    assert_says(asked(&d->c, "$JS.API.STREAM.MSG.GET.OBJ_s", "{\"seq\":1}"), "\"data\":");
    bson_destroy(&metadata);
    ash__free(text);
}

/* All of a list comes, page by page. */
static int64_t count_pages(client *c, const char *subject, const char *more, const char *mark)
{
    int64_t offset = 0, total = 1;
    int pages = 0;
    while (offset < total) {
        char *body = ash__sprintf("{%s\"offset\":%lld}", more, (long long)offset);
        const char *said = asked(c, subject, body);
        int64_t before = offset;
        total = number_in(said, "total");
        for (const char *at = said; (at = strstr(at, mark)) != NULL; at++)
            offset++;
        ash__free(body);
        if (offset == before)
            fail_msg("page %d has nothing: %.200s", pages, said);
        pages++;
    }
    assert_true(pages > 1);
    assert_int_equal(offset, total);
    return total;
}

static void test_nats_jetstream_messages__long_lists(void **state)
{
    door *d = *state;
    enum { STORES = 12, CONSUMERS = 250, LONG = 60 * 1024, NAMES = 700 };
    char *text = ash__alloc(LONG + 1), name[1025];
    memset(text, 'x', LONG);
    text[LONG] = '\0';
    for (int i = 0; i < STORES; i++) {
        char *subject = ash__sprintf("$JS.API.STREAM.CREATE.OBJ_p%d", i);
        char *body =
            ash__sprintf("{\"name\":\"OBJ_p%d\",\"subjects\":[\"$O.p%d.C.>\",\"$O.p%d.M.>\"],"
                         "\"metadata\":{\"m\":\"%s\"}}",
                         i, i, i, text);
        assert_int_equal(door_error(door_ask(&d->c, subject, body)), 0);
        ash__free(subject);
        ash__free(body);
    }
    assert_int_equal(count_pages(&d->c, "$JS.API.STREAM.LIST", "", "\"config\":"), STORES + 1);
    for (int i = 0; i < CONSUMERS; i++) {
        char *body = ash__sprintf("{\"stream_name\":\"OBJ_s\",\"config\":{\"filter_subject\":"
                                  "\"$O.s.C.x\",\"inactive_threshold\":60000000000,"
                                  "\"description\":\"%.3000s\"}}",
                                  text);
        assert_int_equal(door_error(door_ask(&d->c, "$JS.API.CONSUMER.CREATE.OBJ_s", body)), 0);
        ash__free(body);
    }
    assert_int_equal(count_pages(&d->c, "$JS.API.CONSUMER.LIST.OBJ_s", "", "\"config\":"),
                     CONSUMERS);
    for (int i = 0; i < NAMES; i++) {
        memset(name, 'n', sizeof name - 1);
        name[1024] = '\0';
        (void)snprintf(name, 8, "n%d", i);
        name[strlen(name)] = 'n';
        char nuid[16];
        (void)snprintf(nuid, sizeof nuid, "N%d", i);
        door_object o = {.name = name, .nuid = nuid};
        assert_int_equal(door_error(door_meta(&d->c, &o)), 0);
    }
    assert_int_equal(count_pages(&d->c, "$JS.API.STREAM.INFO.OBJ_s",
                                 "\"subjects_filter\":\"$O.s.M.*\",", "\"$O.s.M.b"),
                     NAMES);
    ash__free(text);
}

#define T(name)                                                                                    \
    cmocka_unit_test_setup_teardown(test_nats_jetstream_messages__##name, door_setup, door_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {T(large_chunks), T(long_info), T(long_lists)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
