/* SPDX-License-Identifier: Apache-2.0 */
/* Stores as streams: their configuration, many of them, mirrors, servers with rules of their own. */
#include "object/jetstream/support.h"

#include "base/clock.h"
#include "base/mem.h"
#include "object/jetstream/format/names.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK = ASH_OBJECT_CHUNK_SIZE_DEFAULT, MIB = 1024 * 1024 };

static char *stream_config(live *l, const char *name)
{
    ash_buffer text = ASH_BUFFER_INIT;
    char *verb = ash__sprintf("STREAM.INFO.OBJ_%s", name);
    ash_json *info = live_request(l, verb, "{}");
    ash__json_put(&text, ash__json_get(info, "config"));
    char *out = ash__strdup(ash__buffer_text(&text));
    ash__buffer_release(&text);
    ash__json_free(info);
    ash__free(verb);
    return out;
}

/* As ADR-20 and the other clients have it. */
static void test_object_jetstream_streams__configuration(void **state)
{
    live *l = *state;
    live_need(l);
    static const char *const fields[] = {
        "\"description\":\"what it is\"", "\"max_age\":10000000000", "\"max_bytes\":1073741824",
        "\"storage\":\"memory\"",         "\"discard\":\"new\"",     "\"allow_rollup_hdrs\":true",
        "\"allow_direct\":true",          "\"num_replicas\":1",
    };
    ash_object_config config = ASH_OBJECT_CONFIG_INIT;
    config.name = "configured";
    config.description = "what it is";
    config.ttl_ms = 10000;
    config.max_bytes = 1 << 30;
    config.storage = ASH_OBJECT_STORAGE_MEMORY;
    assert_ok(ash_object_manager_create(l->manager, &config, NULL, NULL, &l->err), &l->err);
    char *text = stream_config(l, "configured");
    for (size_t i = 0; i < ASH_ARRAY_LEN(fields); i++)
        if (strstr(text, fields[i]) == NULL)
            fail_msg("%s is not in %s", fields[i], text);
    assert_non_null(
        strstr(text, "\"subjects\":[\"$O.configured.C.\\u003e\",\"$O.configured.M.\\u003e\"]"));
    ash__free(text);
    assert_ok(ash_object_manager_delete(l->manager, "configured", NULL, &l->err), &l->err);
}

static int count_stores(live *l, const char *prefix)
{
    ash_object_status_listing *listing = NULL;
    const ash_object_status *st = NULL;
    int count = 0;
    assert_ok(ash_object_manager_list(l->manager, NULL, &listing, &l->err), &l->err);
    while (ash_object_status_listing_next(listing, &st, &l->err) == 0 && st != NULL)
        count += strncmp(ash_object_status_name(st), prefix, strlen(prefix)) == 0;
    ash_object_status_listing_free(listing);
    return count;
}

/* JetStream lists them a page at a time. */
static void test_object_jetstream_streams__many(void **state)
{
    enum { COUNT = 1025 };
    live *l = *state;
    live_need(l);
    ash_object_config config = ASH_OBJECT_CONFIG_INIT;
    char name[16];
    config.name = name;
    config.storage = ASH_OBJECT_STORAGE_MEMORY;
    for (int i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, "many-%d", i);
        assert_ok(ash_object_manager_create(l->manager, &config, NULL, NULL, &l->err), &l->err);
    }
    assert_int_equal(count_stores(l, "many-"), COUNT);
    for (int i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, "many-%d", i);
        assert_ok(ash_object_manager_delete(l->manager, name, NULL, &l->err), &l->err);
    }
    assert_int_equal(count_stores(l, "many-"), 0);
}

/* ---- mirrors ---- */

static ash_object_store *make_mirror(live *l)
{
    ash_object_store *s = NULL;
    char *body = ash__sprintf("{'name':'OBJ_mirror','allow_direct':true,'mirror_direct':true,"
                              "'mirror':{'name':'OBJ_%s','subject_transforms':[{'src':'$O.%s.>',"
                              "'dest':'$O.mirror.>'}]}}",
                              l->name, l->name);
    ash__json_free(live_request(l, "STREAM.CREATE.OBJ_mirror", body));
    ash__free(body);
    assert_ok(ash_object_manager_bind(l->manager, "mirror", NULL, &s, &l->err), &l->err);
    return s;
}

static void wait_for(live *l, ash_object_store *s, const char *name)
{
    int rc = ASH_ENOTFOUND;
    for (int i = 0; i < 200 && rc == ASH_ENOTFOUND; i++) {
        ash__clock_sleep_ms(25);
        rc = ash_object_store_info(s, name, NULL, NULL, NULL, &l->err);
    }
    assert_ok(rc, &l->err);
}

static void expect_refused(live *l, ash_object_store *s)
{
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    int64_t from = ash__clock_ms();
    meta.name = "new";
    assert_int_equal(ash_object_store_put_bytes(s, &meta, "x", 1, NULL, NULL, NULL, &l->err),
                     ASH_EREADONLY);
    assert_int_equal(ash_object_store_update_meta(s, "a", &meta, NULL, NULL, NULL, &l->err),
                     ASH_EREADONLY);
    assert_int_equal(ash_object_store_delete(s, "a", NULL, NULL, NULL, &l->err), ASH_EREADONLY);
    assert_non_null(strstr(l->err.text, "mirror"));
    assert_true(ash__clock_ms() - from < 3000);
}

static void test_object_jetstream_streams__mirror(void **state)
{
    live *l = *state;
    live_need(l);
    if (!live_has_2_10(l))
        skip();
    ash_object_watch *w = NULL;
    ash_object_event e = ASH_OBJECT_EVENT_INIT;
    ash_object_store *own = l->store, *mirror;
    uint8_t *data = live_bytes(1, 5 * CHUNK + 3);
    live_put(l, "a", data, 5 * CHUNK + 3, NULL);
    mirror = make_mirror(l);
    wait_for(l, mirror, "a");
    l->store = mirror;
    live_expect(l, "a", data, 5 * CHUNK + 3);
    assert_ok(ash_object_store_watch(mirror, NULL, NULL, &w, &l->err), &l->err);
    assert_ok(ash_object_watch_next(w, 5000, &e, &l->err), &l->err);
    assert_int_equal(e.kind, ASH_OBJECT_PUT);
    assert_string_equal(e.name, "a");
    assert_ok(ash_object_watch_next(w, 5000, &e, &l->err), &l->err);
    assert_int_equal(e.kind, ASH_OBJECT_CURRENT);
    l->store = own;
    live_put(l, "b", "later", 5, NULL);
    assert_ok(ash_object_watch_next(w, 5000, &e, &l->err), &l->err);
    assert_string_equal(e.name, "b");
    ash_object_watch_close(w);
    wait_for(l, mirror, "b");
    expect_refused(l, mirror);
    ash_object_store_close(mirror);
    assert_ok(ash_object_manager_delete(l->manager, "mirror", NULL, &l->err), &l->err);
    ash__free(data);
}

/* ---- servers of their own ---- */

typedef struct special {
    servers *servers;
    ash_object_manager *manager;
    ash_object_store *store;
    ash_error err;
} special;

static ash_object_manager *open_as(special *s, const char *user)
{
    ash_object_manager_options o = ASH_OBJECT_MANAGER_OPTIONS_INIT;
    ash_object_manager *m = NULL;
    int rc = -1;
    o.user = user;
    o.password = user;
    for (int i = 0; i < 200 && rc != 0; i++) { /* it may only just have begun */
        ash__clock_sleep_ms(i > 0 ? 50 : 0);
        rc = ash_object_manager_open(servers_uri(s->servers), &o, &m, &s->err);
    }
    assert_ok(rc, &s->err);
    return m;
}

static void special_start(special *s, const char *more, const char *user)
{
    ash_object_config config = ASH_OBJECT_CONFIG_INIT;
    *s = (special){.servers = servers_start(1, more)};
    s->manager = open_as(s, user);
    config.name = "special";
    assert_ok(ash_object_manager_create(s->manager, &config, NULL, &s->store, &s->err), &s->err);
}

static void special_stop(special *s)
{
    ash_object_store_close(s->store);
    ash_object_manager_close(s->manager);
    servers_stop(s->servers);
}

/* Chunks are as large as the server takes them. */
static void test_object_jetstream_streams__max_payload(void **state)
{
    live *l = *state;
    live_need(l);
    special s;
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    ash_object *o = NULL;
    uint8_t *data = live_bytes(1, 100000), *got = NULL;
    size_t len = 0;
    special_start(&s, "max_payload: 8192", NULL);
    meta.name = "a";
    meta.chunk_size = CHUNK;
    assert_ok(ash_object_store_put_bytes(s.store, &meta, data, 100000, NULL, NULL, &o, &s.err),
              &s.err);
    assert_true(ash_object_chunk_size(o) <= 8192);
    assert_true(ash_object_chunks(o) >= 13);
    assert_ok(ash_object_store_get_bytes(s.store, "a", NULL, NULL, &got, &len, &s.err), &s.err);
    assert_int_equal(len, 100000);
    assert_memory_equal(got, data, len);
    ash_object_bytes_free(got);
    ash_object_free(o);
    ash__free(data);
    special_stop(&s);
}

/* Others wait until their time is over, or for ever. */
static void test_object_jetstream_streams__not_permitted(void **state)
{
    live *l = *state;
    live_need(l);
    special s;
    ash_op op = ASH_OP_INIT;
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    ash_object_manager *m;
    ash_object_store *reader = NULL;
    uint8_t *data = live_bytes(1, 5 * MIB);
    special_start(&s,
                  "authorization { users: [ {user: admin, password: admin}, {user: reader, "
                  "password: reader, permissions: {publish: {deny: [\"$O.>\"]}}} ] }",
                  "admin");
    meta.name = "a";
    assert_ok(ash_object_store_put_bytes(s.store, &meta, "old", 3, NULL, NULL, NULL, &s.err),
              &s.err);
    m = open_as(&s, "reader");
    assert_ok(ash_object_manager_bind(m, "special", NULL, &reader, &s.err), &s.err);
    for (int i = 0; i < 3; i++) {
        int64_t from = ash__clock_ms();
        op.deadline_ms = i == 2 ? ash_deadline(2000) : 0;
        size_t size = i == 0 ? 3 : 5 * MIB;
        assert_int_equal(ash_object_store_put_bytes(reader, &meta, data, size, NULL,
                                                    i == 2 ? &op : NULL, NULL, &s.err),
                         ASH_EACCES);
        assert_true(ash__clock_ms() - from < 4000);
    }
    assert_int_equal(ash_object_store_delete(reader, "a", NULL, NULL, NULL, &s.err), ASH_EACCES);
    uint8_t *got = NULL;
    size_t len = 0;
    assert_ok(ash_object_store_get_bytes(reader, "a", NULL, NULL, &got, &len, &s.err), &s.err);
    assert_memory_equal(got, "old", 3);
    ash_object_bytes_free(got);
    ash_object_store_close(reader);
    ash_object_manager_close(m);
    ash__free(data);
    special_stop(&s);
}

/* ---- a server that dies ---- */

typedef struct putting {
    special *s;
    const uint8_t *data;
    size_t size;
    int rc;
    ash_error err;
} putting;

static void *put_all(void *arg)
{
    putting *p = arg;
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    meta.name = "a";
    p->rc =
        ash_object_store_put_bytes(p->s->store, &meta, p->data, p->size, NULL, NULL, NULL, &p->err);
    return NULL;
}

static void wait_until_back(special *s)
{
    ash_object_status *st = NULL;
    int rc = -1;
    for (int i = 0; i < 1200 && rc != 0; i++) {
        ash__clock_sleep_ms(i > 0 ? 50 : 0);
        rc = ash_object_store_status(s->store, NULL, &st, &s->err);
    }
    assert_ok(rc, &s->err);
    ash_object_status_free(st);
}

/* The put goes on when it is back, or fails and leaves the old one. */
static void test_object_jetstream_streams__server_killed_amid_a_put(void **state)
{
    live *l = *state;
    live_need(l);
    special s;
    pthread_t thread;
    size_t size = 48 * MIB, len = 0;
    uint8_t *old = live_bytes(1, MIB), *new = live_bytes(2, size), *got = NULL;
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    ash_object_read_options opts = ASH_OBJECT_READ_OPTIONS_INIT;
    special_start(&s, "# none", NULL);
    meta.name = "a";
    for (int i = 0; i < 3; i++) {
        putting p = {.s = &s, .data = new, .size = size};
        assert_ok(ash_object_store_put_bytes(s.store, &meta, old, MIB, NULL, NULL, NULL, &s.err),
                  &s.err);
        assert_int_equal(ash__thread_start(&thread, 0, put_all, &p), 0);
        ash__clock_sleep_ms(20 + 40 * i);
        servers_kill(s.servers, 0); /* by this thread, with which servers die */
        ash__clock_sleep_ms(300);
        servers_start_again(s.servers, 0);
        pthread_join(thread, NULL);
        wait_until_back(&s);
        int rc = ash_object_store_get_bytes(s.store, "a", &opts, NULL, &got, &len, &s.err);
        if (rc != 0)
            print_message("# round %d: the put ended with %d%s%s\n", i, p.rc, p.rc != 0 ? ": " : "",
                          p.rc != 0 ? p.err.text : "");
        assert_ok(rc, &s.err);
        assert_true(len == size || (p.rc != 0 && len == MIB));
        assert_memory_equal(got, len == size ? new : old, len);
        ash_object_bytes_free(got);
    }
    ash__free(old);
    ash__free(new);
    special_stop(&s);
}

/* Said at once, and not tried until patience ends. */
static void test_object_jetstream_streams__replicas_of_one_server(void **state)
{
    live *l = *state;
    ash_object_config config = ASH_OBJECT_CONFIG_INIT;
    ash_object_store *s = NULL;
    live_need(l);
    config.name = "three";
    config.replicas = 3;
    assert_int_equal(ash_object_manager_create(l->manager, &config, NULL, &s, &l->err),
                     ASH_EUNSUPPORTED);
    assert_null(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define ON_A_STORE(test) cmocka_unit_test_setup_teardown(test, live_new_store, live_close_store)
        ON_A_STORE(test_object_jetstream_streams__replicas_of_one_server),
        ON_A_STORE(test_object_jetstream_streams__configuration),
        ON_A_STORE(test_object_jetstream_streams__many),
        ON_A_STORE(test_object_jetstream_streams__mirror),
        ON_A_STORE(test_object_jetstream_streams__max_payload),
        ON_A_STORE(test_object_jetstream_streams__not_permitted),
        ON_A_STORE(test_object_jetstream_streams__server_killed_amid_a_put),
    };
    return cmocka_run_group_tests(tests, live_start, live_stop);
}
