/* SPDX-License-Identifier: Apache-2.0 */
#include "remove_folder.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "support.h"

#include <mongoc/mongoc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Work that the server of a folder does for a client: it is watched, and stopped, while it runs.  A
 * backup into a slow disk takes its time. */

enum { DOCS = 100, DOC_BYTES = 100000, WRITE_MS = 10 };

static atomic_bool slow;

static ssize_t pwritev_slowly(int fd, const struct iovec *iov, int count, off_t offset)
{
    if (atomic_load(&slow))
        ash__clock_sleep_ms(WRITE_MS);
    return ash__io_system.pwritev(fd, iov, count, offset);
}

typedef struct rig {
    served *s;
    char socket[120], target[120];
    ash_store *client; /* by the socket */
    bson_t *action;
} rig;

static void fill(served *s)
{
    char text[DOC_BYTES];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = 0;
    for (int32_t i = 0; i < DOCS; i++) {
        bson_t *doc = BCON_NEW("_id", BCON_INT32(i), "text", BCON_UTF8(text));
        ash_insert_options o = ASH_INSERT_OPTIONS_INIT;
        assert_ok(ash_collection_insert_one(s->own, doc, &o, &s->err), &s->err);
        bson_destroy(doc);
    }
}

static void rig_start(rig *r, void **state)
{
    char host[360];
    size_t len = 0;
    r->s = *state;
    snprintf(r->socket, sizeof r->socket, "%s/test.sock", r->s->folder);
    snprintf(r->target, sizeof r->target, "%s/../copy-%ld", r->s->folder, (long)getpid());
    r->s->opts.socket_path = r->socket;
    ash__server_stop(r->s->server);
    served_start(r->s);
    for (const char *c = r->socket; *c != 0; c++)
        len += (size_t)snprintf(host + len, sizeof host - len, *c == '/' ? "%%2F" : "%c", *c);
    char *uri = ash__sprintf("mongodb://%s/?directConnection=true", host);
    assert_ok(ash_store_open(uri, NULL, &r->client, &r->s->err), &r->s->err);
    ash__free(uri);
    fill(r->s);
    r->action = BCON_NEW("backup", BCON_UTF8(r->target));
    atomic_store(&slow, true);
}

static void rig_stop(rig *r)
{
    atomic_store(&slow, false);
    bson_destroy(r->action);
    ash_store_close(r->client);
    remove_folder(r->target);
}

typedef struct watcher {
    int calls, told; /* told: with figures */
    int64_t last_done, total;
    int stop_after; /* calls with figures; 0: never */
} watcher;

static bool watch(void *ctx, const char *what, int64_t done, int64_t total)
{
    watcher *w = ctx;
    w->calls++;
    if (strcmp(what, "bytes") != 0 || total == 0)
        return true;
    assert_true(done >= w->last_done && done <= total);
    w->last_done = done;
    w->total = total;
    return ++w->told != w->stop_after;
}

static bool is_backup(const rig *r)
{
    char path[160];
    snprintf(path, sizeof path, "%s/ashlar.store", r->target);
    return access(path, F_OK) == 0;
}

static void test_served_maintain__tells_how_far_it_is(void **state)
{
    rig r;
    watcher w = {0};
    bson_t report;
    rig_start(&r, state);
    assert_ok(ash_store_maintain(r.client, r.action, watch, &w, &report, &r.s->err), &r.s->err);
    bson_destroy(&report);
    assert_true(w.told > 2);
    assert_true(w.last_done > 0);
    assert_true(w.total > (int64_t)DOCS * DOC_BYTES);
    assert_true(is_backup(&r));
    rig_stop(&r);
}

static void test_served_maintain__stops_when_it_shall(void **state)
{
    rig r;
    watcher w = {.stop_after = 1};
    bson_t report;
    rig_start(&r, state);
    assert_int_equal(ash_store_maintain(r.client, r.action, watch, &w, &report, &r.s->err),
                     ASH_EINTERRUPTED);
    assert_non_null(strstr(r.s->err.text, "does not open until it is repeated"));
    assert_false(is_backup(&r));
    /* It really ended: another one is not told that one is running. */
    assert_ok(ash_store_maintain(r.client, r.action, NULL, NULL, &report, &r.s->err), &r.s->err);
    bson_destroy(&report);
    assert_true(is_backup(&r));
    rig_stop(&r);
}

/* A server that does not even answer a killOp is left alone. */
static void test_served_maintain__who_calls_is_not_held_by_a_stuck_server(void **state)
{
    rig r;
    watcher w = {.stop_after = 1};
    bson_t report;
    rig_start(&r, state);
    served_run_text(r.s, "{'configureFailPoint': 'failCommand', 'mode': 'alwaysOn', 'data': "
                         "{'failCommands': ['killOp'], 'errorCode': 13}}");
    assert_int_equal(ash_store_maintain(r.client, r.action, watch, &w, &report, &r.s->err),
                     ASH_EINTERRUPTED);
    served_run_text(r.s, "{'configureFailPoint': 'failCommand', 'mode': 'off'}");
    rig_stop(&r);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, served_setup, served_teardown)

int main(void)
{
    static ash_io io;
    const struct CMUnitTest tests[] = {
        TEST(test_served_maintain__tells_how_far_it_is),
        TEST(test_served_maintain__stops_when_it_shall),
        TEST(test_served_maintain__who_calls_is_not_held_by_a_stuck_server),
    };
    io = ash__io_system;
    io.pwritev = pwritev_slowly;
    ash__io_set(&io);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
