/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "store/mongo/mongo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What ash_store_open does about a folder that another process holds.  The list of backends is this
 * file's own: one that finds every folder held, and MongoDB's. */

static int opens;
static int64_t timeouts[4];

static bool held_accepts(const char *uri)
{
    return strstr(uri, "://") == NULL;
}

static int held_open(const char *uri, const ash_store_options *opts, ash_store **out, char **db,
                     ash_error *err)
{
    (void)uri;
    (void)out;
    (void)db;
    if (opens < 4)
        timeouts[opens] = opts->busy_timeout_ms;
    opens++;
    *err = (ash_error){.code = ASH_EBUSY, .text = "folder is held"};
    return ASH_EBUSY;
}

static const ash_backend held_backend = {"held", held_accepts, held_open};
const ash_backend *const ash__backends[] = {&ash__backend_mongo, &held_backend, NULL};

struct folder {
    char path[64];
    char socket[128];
};

static void make_folder(struct folder *f)
{
    opens = 0;
    strcpy(f->path, "/tmp/ash-held-XXXXXX");
    assert_non_null(mkdtemp(f->path));
    snprintf(f->socket, sizeof f->socket, "%s/ashlar.sock", f->path);
}

static void remove_folder(const struct folder *f)
{
    unlink(f->socket);
    rmdir(f->path);
}

static void test_store_held__a_served_folder_is_opened_through_its_server(void **state)
{
    struct folder f;
    ash_error err = ASH_ERROR_INIT;
    ash_store *store = NULL;
    ash_capabilities can = ASH_CAPABILITIES_INIT;
    mock *m;
    (void)state;
    make_folder(&f);
    m = mock_start(MOCK_STANDALONE, f.socket);
    assert_ok(ash_store_open(f.path, NULL, &store, &err), &err);
    assert_ok(ash_store_capabilities(store, &can, &err), &err);
    assert_string_equal(can.backend, "server");
    assert_int_equal(opens, 1);
    assert_true(timeouts[0] < 0); /* no wait where a server answers */
    ash_store_close(store);
    mock_finish(m);
    remove_folder(&f);
}

static void test_store_held__no_server_is_busy(void **state)
{
    struct folder f;
    ash_error err = ASH_ERROR_INIT;
    ash_store *store = NULL;
    ash_store_options opts = ASH_STORE_OPTIONS_INIT;
    mock *m;
    (void)state;
    make_folder(&f);
    opts.busy_timeout_ms = 200;
    assert_int_equal(ash_store_open(f.path, &opts, &store, &err), ASH_EBUSY);
    assert_string_equal(err.text, "folder is held");
    assert_true(timeouts[0] < 0 && opens > 1); /* looked at again and again */

    m = mock_start(MOCK_STANDALONE, f.socket);
    opts.no_server = true;
    assert_int_equal(ash_store_open(f.path, &opts, &store, &err), ASH_EBUSY);
    assert_null(store);
    mock_finish(m);

    /* The server is dead, its socket is still there. */
    assert_int_equal(access(f.socket, F_OK), 0);
    opts.no_server = false;
    assert_int_equal(ash_store_open(f.path, &opts, &store, &err), ASH_EBUSY);
    assert_string_equal(err.text, "folder is held");
    remove_folder(&f);
}

static void test_store_held__a_server_that_refuses_is_heard(void **state)
{
    struct folder f;
    ash_error err = ASH_ERROR_INIT;
    ash_store *store = NULL;
    mock *m;
    (void)state;
    make_folder(&f);
    m = mock_start(MOCK_STANDALONE, f.socket);
    mock_expect(m, "{'buildInfo': 1}", "{'ok': 0, 'code': 13, 'errmsg': 'not you'}");
    assert_int_equal(ash_store_open(f.path, NULL, &store, &err), ASH_EACCES);
    assert_string_equal(err.text, "not you");
    mock_finish(m);
    remove_folder(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_store_held__a_served_folder_is_opened_through_its_server),
        cmocka_unit_test(test_store_held__no_server_is_busy),
        cmocka_unit_test(test_store_held__a_server_that_refuses_is_heard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
