/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "base/clock.h"
#include "store/reach.h"

#include <ashlar/lock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* The mock sits where a folder's server would. */
struct served {
    char folder[64];
    char path[128];
    mock *m;
    ash_store *store;
    ash_error err;
};

static void served_start(struct served *s)
{
    char *uri;
    memset(s, 0, sizeof *s);
    strcpy(s->folder, "/tmp/ash reach XXXXXX");
    assert_non_null(mkdtemp(s->folder));
    snprintf(s->path, sizeof s->path, "%s/%s", s->folder, ASH_REACH_SOCKET);
    s->m = mock_start(MOCK_STANDALONE, s->path);
    uri = ash__reach_server_uri(s->folder);
    assert_non_null(uri);
    assert_ok(ash_store_open(uri, NULL, &s->store, &s->err), &s->err);
    free(uri);
}

static void served_finish(struct served *s)
{
    ash_store_close(s->store);
    mock_finish(s->m);
    unlink(s->path);
    rmdir(s->folder);
}

/* It takes the connection, and says nothing. */
static void test_mongo_reach__a_server_that_hangs(void **state)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    ash_store_options opts = ASH_STORE_OPTIONS_INIT;
    ash_error err = ASH_ERROR_INIT;
    ash_store *store = NULL;
    char folder[] = "/tmp/ash hang XXXXXX";
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(at.sun_path, sizeof at.sun_path, "%s/%s", folder, ASH_REACH_SOCKET);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(fd, 16), 0);
    char *uri = ash__reach_server_uri(folder);
    assert_non_null(uri);
    int64_t began = ash__clock_ms();
    opts.busy_timeout_ms = 300;
    assert_int_equal(ash_store_open(uri, &opts, &store, &err), ASH_ENETWORK);
    assert_true(ash__clock_ms() - began < 5000);
    free(uri);
    close(fd);
    unlink(at.sun_path);
    rmdir(folder);
}

/* It fell silent after the store was opened: a collection of locks is not waited for forever. */
static void test_mongo_reach__locks_on_a_server_that_hangs(void **state)
{
    enum { SILENT_MS = 25000 };
    struct served s;
    ash_lock_options opts = ASH_LOCK_OPTIONS_INIT;
    ash_lock_collection *locks = NULL;
    (void)state;
    served_start(&s);
    mock_expect_silence(s.m, "{'createIndexes': 'fs.locks'}", SILENT_MS);
    opts.time_out_s = 0.5;
    int64_t began = ash__clock_ms();
    assert_int_equal(ash_lock_collection_open(s.store, &opts, &locks, &s.err), ASH_ETIMEOUT);
    assert_null(locks);
    assert_true(ash__clock_ms() - began < SILENT_MS - 5000);
    served_finish(&s);
}

static bool count_calls(void *ctx, const char *what, int64_t done, int64_t total)
{
    (void)what;
    (void)done;
    (void)total;
    ++*(int *)ctx;
    return true;
}

static void test_mongo_reach__a_folders_server_is_a_store(void **state)
{
    struct served s;
    ash_capabilities can = ASH_CAPABILITIES_INIT;
    (void)state;
    served_start(&s);
    assert_ok(ash_store_capabilities(s.store, &can, &s.err), &s.err);
    assert_string_equal(can.backend, "server");
    assert_true(can.pinned_downloads);
    assert_false(can.transactions || can.atomic_commits);
    assert_string_equal(ash_store_default_db(s.store), "test");
    served_finish(&s);
}

static void test_mongo_reach__maintenance_is_the_servers(void **state)
{
    struct served s;
    bson_t *action = mock_json("{'check': 1}"), report;
    int calls = 0;
    (void)state;
    served_start(&s);
    mock_expect(s.m, "{'ashlarMaintain': 1, '$db': 'admin', 'action': {'check': 1}}",
                "{'ok': 1, 'report': {'documents': 5}}");
    assert_ok(ash_store_maintain(s.store, action, count_calls, &calls, &report, &s.err), &s.err);
    assert_json(&report, "{'documents': 5}");
    assert_true(calls > 0);
    bson_destroy(&report);
    mock_expect(
        s.m, "{'ashlarMaintain': 1}",
        "{'ok': 0, 'code': 301, 'errmsg': 'record 7 does not match', 'report': {'bad': 1}}");
    assert_int_equal(ash_store_maintain(s.store, action, NULL, NULL, &report, &s.err),
                     ASH_ECORRUPT);
    assert_string_equal(s.err.text, "record 7 does not match");
    assert_json(&report, "{'bad': 1}");
    bson_destroy(&report);
    mock_expect(s.m, "{'ashlarMaintain': 1}", "{'ok': 0, 'code': 13, 'errmsg': 'not you'}");
    assert_int_equal(ash_store_maintain(s.store, action, NULL, NULL, &report, &s.err), ASH_EACCES);
    served_finish(&s);
    bson_destroy(action);
}

static void test_mongo_reach__an_ashlar_server_does_not_hide(void **state)
{
    struct rig r;
    ash_capabilities can = ASH_CAPABILITIES_INIT;
    (void)state;
    rig_start(&r, MOCK_ASHLAR, "", NULL);
    assert_ok(ash_store_capabilities(r.store, &can, &r.err), &r.err);
    assert_string_equal(can.backend, "server");
    assert_true(can.watch);
    assert_false(can.transactions || can.atomic_commits);
    rig_finish(&r);
}

static void test_mongo_reach__a_deployment_maintains_itself(void **state)
{
    struct rig r;
    bson_t *action = mock_json("{'check': 1}"), report;
    (void)state;
    rig_start(&r, MOCK_STANDALONE, "", NULL);
    assert_int_equal(ash_store_maintain(r.store, action, NULL, NULL, &report, &r.err),
                     ASH_EUNSUPPORTED);
    rig_finish(&r);
    bson_destroy(action);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mongo_reach__a_folders_server_is_a_store),
        cmocka_unit_test(test_mongo_reach__a_server_that_hangs),
        cmocka_unit_test(test_mongo_reach__locks_on_a_server_that_hangs),
        cmocka_unit_test(test_mongo_reach__maintenance_is_the_servers),
        cmocka_unit_test(test_mongo_reach__an_ashlar_server_does_not_hide),
        cmocka_unit_test(test_mongo_reach__a_deployment_maintains_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
