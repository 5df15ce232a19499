/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "audit/audit.h"
#include "base/buffer.h"
#include "base/mem.h"

#include <stdio.h>
#include <unistd.h>

/* What the audit log has of NATS' clients. */

static char log_path[64];
static ash_audit *audit;

static int setup_on(void **state, const char *path, unsigned kinds)
{
    ash_error err = ASH_ERROR_INIT;
    ash_audit_options o = {.path = path, .kinds = kinds, .queue_bytes = 1};
    assert_ok(ash__audit_open(&o, &audit, &err), &err);
    door_audit = audit;
    return door_setup(state);
}

static int setup(void **state)
{
    snprintf(log_path, sizeof log_path, "/tmp/ashlar-trace.%d", (int)getpid());
    unlink(log_path);
    return setup_on(state, log_path, ASH_AUDIT_STRUCTURE | ASH_AUDIT_WRITES | ASH_AUDIT_READS);
}

static int setup_full(void **state)
{
    return setup_on(state, "/dev/full", ASH_AUDIT_WRITES);
}

static int teardown(void **state)
{
    int rc = door_teardown(state);
    ash__audit_close(audit);
    audit = door_audit = NULL;
    unlink(log_path);
    return rc;
}

/* Lines of the log that have both texts.  What was answered before may be told a moment later. */
static int count_now(const char *first, const char *second)
{
    char line[8192];
    int count = 0;
    FILE *in = fopen(log_path, "r");
    assert_non_null(in);
    while (fgets(line, sizeof line, in) != NULL)
        count += strstr(line, first) != NULL && strstr(line, second) != NULL;
    fclose(in);
    return count;
}

static void expect(const char *first, const char *second, int count)
{
    for (int i = 0; i < 200 && count_now(first, second) < count; i++)
        usleep(10000);
    if (count_now(first, second) != count)
        fail_msg("%d and not %d of %s %s", count_now(first, second), count, first, second);
}

static void test_nats_trace__stores_and_objects(void **state)
{
    door *d = *state;
    expect("\"command\" : \"STREAM.CREATE\", \"store\" : \"s\" }, \"result\" : 0", "127.0.0.1", 1);
    door_put(&d->c, "an object", "N1", 'x', 100);
    expect("\"command\" : \"PUB\", \"store\" : \"s\", \"object\" : \"an object\" }",
           "\"users\" : [  ]", 1);
    /* base64url of "an object" */
    door_ask(&d->c, "$JS.API.DIRECT.GET.OBJ_s.$O.s.M.YW4gb2JqZWN0", "");
    expect("\"DIRECT.GET\"", "\"object\" : \"an object\"", 1);
    door_ask(&d->c, "$JS.API.STREAM.MSG.GET.OBJ_s", "{\"last_by_subj\":\"$O.s.M.YW4gb2JqZWN0\"}");
    expect("\"STREAM.MSG.GET\"", "\"object\" : \"an object\"", 1);
    door_ask(&d->c, "$JS.API.STREAM.INFO.OBJ_s", "");
    door_ask(&d->c, "$JS.API.STREAM.PURGE.OBJ_none", "");
    expect("\"STREAM.PURGE\", \"store\" : \"none\", \"code\" : 10059 }", "\"result\" : 8", 1);
    door_ask(&d->c, "$JS.API.STREAM.DELETE.OBJ_s", "");
    expect("\"STREAM.DELETE\"", "\"result\" : 0", 1);
    expect("STREAM.INFO", "", 0);
    expect("xxxxx", "", 0);
    expect("authCheck", "", 6);
}

/* What could not be told is not done, and everything else is. */
static void test_nats_trace__a_full_disk(void **state)
{
    door *d = *state;
    const door_object o = {.name = "a", .nuid = "N1", .fill = 'x', .size = 10, .chunks = 1};
    int error = 0;
    for (int i = 0; i < 200 && error != 10077; i++) {
        error = door_error(door_chunk(&d->c, "N1", NULL, 'x', 10));
        if (error == 0)
            error = door_error(door_meta(&d->c, &o));
        usleep(10000);
    }
    assert_int_equal(error, 10077);
    assert_int_equal(door_error(door_ask(&d->c, "$JS.API.STREAM.PURGE.OBJ_s", "")), 10023);
    assert_int_equal(door_error(door_ask(&d->c, "$JS.API.STREAM.INFO.OBJ_s", "")), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nats_trace__stores_and_objects, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nats_trace__a_full_disk, setup_full, teardown),
    };
    return cmocka_run_group_tests_name("nats/jetstream/trace", tests, NULL, NULL);
}
