/* SPDX-License-Identifier: Apache-2.0 */
/* A client is killed between every two messages that it sends, in each kind of change: what another
 * client sees is the old or the new, whole, and a sweep takes the rest. */
#include "object/jetstream/relay.h"
#include "object/jetstream/support.h"

#include "base/clock.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    CHUNK = ASH_OBJECT_CHUNK_SIZE_DEFAULT,
    OLD_BYTES = CHUNK + 5,
    NEW_BYTES = 2 * CHUNK + 7,
    MOST_MESSAGES = 200
};

/* What there is under the names a and b; a store with neither is "- -". */
typedef struct cut {
    const char *name;
    bool has_old;        /* a is there before */
    bool target_deleted; /* b was there and is deleted */
    int (*act)(ash_object_store *s, ash_error *err);
    const char *allowed; /* when it is killed */
    const char *swept;   /* … and a sweep has been there */
    const char *done;    /* when it is not */
} cut;

/* ---- the client that dies ---- */

static int put_new(ash_object_store *s, ash_error *err)
{
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    uint8_t *data = live_bytes(2, NEW_BYTES);
    meta.name = "a";
    int rc = ash_object_store_put_bytes(s, &meta, data, NEW_BYTES, NULL, NULL, NULL, err);
    ash__free(data);
    return rc;
}

static int rename_it(ash_object_store *s, ash_error *err)
{
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    meta.name = "b";
    return ash_object_store_update_meta(s, "a", &meta, NULL, NULL, NULL, err);
}

static int describe(ash_object_store *s, ash_error *err)
{
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    meta.description = "described";
    return ash_object_store_update_meta(s, "a", &meta, NULL, NULL, NULL, err);
}

static int delete_it(ash_object_store *s, ash_error *err)
{
    return ash_object_store_delete(s, "a", NULL, NULL, NULL, err);
}

static int link_it(ash_object_store *s, ash_error *err)
{
    ash_object *o = NULL;
    int rc = ash_object_store_info(s, "a", NULL, NULL, &o, err);
    if (rc == 0)
        rc = ash_object_store_link(s, "b", o, NULL, NULL, NULL, err);
    ash_object_free(o);
    return rc;
}

static const cut cuts[] = {
    {"put", false, false, put_new, "- -|new -", "- -|new -", "new -"},
    {"overwrite", true, false, put_new, "old -|new -", "old -|new -", "new -"},
    {"rename", true, false, rename_it, "old -|old old|- old", "old -|- old", "- old"},
    {"rename over a deleted one", true, true, rename_it, "old -|old old|- old", "old -|- old",
     "- old"},
    {"describe", true, false, describe, "old -|described -", "old -|described -", "described -"},
    {"delete", true, false, delete_it, "old -|- -", "old -|- -", "- -"},
    {"link", true, false, link_it, "old -|old old", "old -|old old", "old old"},
};

/* A process of its own, since libnats' threads do not outlive a fork. */
static int main_of_child(char **argv)
{
    ash_object_manager *m = NULL;
    ash_object_store *s = NULL;
    ash_error err = ASH_ERROR_INIT;
    int rc = ash_object_manager_open(argv[1], NULL, &m, &err);
    if (rc == 0)
        rc = ash_object_manager_bind(m, argv[2], NULL, &s, &err);
    if (rc == 0)
        rc = cuts[atoi(argv[3])].act(s, &err);
    ash_object_store_close(s);
    ash_object_manager_close(m);
    return rc == 0 ? 0 : 1;
}

static pid_t start_child(const char *uri, const char *store, int number)
{
    char text[16];
    snprintf(text, sizeof text, "%d", number);
    pid_t pid = fork();
    if (pid == 0) {
        execl("/proc/self/exe", "test", uri, store, text, (char *)NULL);
        _exit(127);
    }
    return pid;
}

/* ---- what others see ---- */

/* What was sent last may still be on its way into the stream. */
static void wait_until_still(live *l)
{
    uint64_t before = UINT64_MAX, now = 0;
    for (int i = 0; i < 200 && now != before; i++) {
        ash_object_status *st = NULL;
        before = i > 0 ? now : UINT64_MAX;
        ash__clock_sleep_ms(15);
        assert_ok(ash_object_store_status(l->store, NULL, &st, &l->err), &l->err);
        now = ash_object_status_revision(st) * 1000000 + (uint64_t)ash_object_status_bytes(st);
        ash_object_status_free(st);
    }
}

static bool is_described(live *l, const char *name)
{
    ash_object *o = NULL;
    assert_ok(ash_object_store_info(l->store, name, NULL, NULL, &o, &l->err), &l->err);
    bool described = ash_object_description(o)[0] != '\0';
    ash_object_free(o);
    return described;
}

static const char *content_of(live *l, const char *name)
{
    uint8_t *data = NULL;
    size_t len = 0;
    int rc = ash_object_store_get_bytes(l->store, name, NULL, NULL, &data, &len, &l->err);
    if (rc == ASH_ENOTFOUND)
        return "-";
    assert_ok(rc, &l->err);
    bool old = len == OLD_BYTES;
    assert_true(old || len == NEW_BYTES);
    uint8_t *wanted = live_bytes(old ? 1 : 2, len);
    assert_memory_equal(data, wanted, len);
    ash__free(wanted);
    ash_object_bytes_free(data);
    if (!old)
        return "new";
    return is_described(l, name) ? "described" : "old";
}

static void expect_state(live *l, const char *allowed, const char *what)
{
    char state[24];
    snprintf(state, sizeof state, "%s", content_of(l, "a"));
    size_t at = strlen(state);
    snprintf(state + at, sizeof state - at, " %s", content_of(l, "b"));
    for (const char *one = allowed; one != NULL; one = strchr(one, '|')) {
        one += *one == '|';
        if (strncmp(one, state, strlen(state)) == 0 && strcspn(one, "|") == strlen(state))
            return;
    }
    fail_msg("%s: there is \"%s\", not one of \"%s\"", what, state, allowed);
}

static int64_t sweep(live *l, bool dry_run)
{
    ash_object_sweep_options opts = ASH_OBJECT_SWEEP_OPTIONS_INIT;
    ash_object_sweep_report report = ASH_OBJECT_SWEEP_REPORT_INIT;
    opts.min_age_s = -1;
    opts.dry_run = dry_run;
    assert_ok(ash_object_store_sweep(l->store, &opts, NULL, &report, &l->err), &l->err);
    return report.orphans;
}

/* Chunks that the stream has are those of its objects. */
static void expect_no_orphans(live *l, const char *what)
{
    ash_object_listing *listing = NULL;
    const ash_object *o = NULL;
    int64_t chunks = 0;
    if (sweep(l, true) != 0)
        fail_msg("%s: a sweep left something", what);
    assert_ok(ash_object_store_list(l->store, NULL, NULL, &listing, &l->err), &l->err);
    while (ash_object_listing_next(listing, &o, &l->err) == 0 && o != NULL)
        chunks += ash_object_chunks(o);
    ash_object_listing_free(listing);
    assert_int_equal(live_chunks(l), chunks);
}

static void prepare(live *l, const cut *c)
{
    uint8_t *old = live_bytes(1, OLD_BYTES);
    char *purge = ash__sprintf("STREAM.PURGE.%s", l->stream.name);
    ash__json_free(live_request(l, purge, "{}"));
    ash__free(purge);
    if (c->has_old)
        live_put(l, "a", old, OLD_BYTES, NULL);
    if (c->target_deleted) {
        live_put(l, "b", "x", 1, NULL);
        assert_ok(ash_object_store_delete(l->store, "b", NULL, NULL, NULL, &l->err), &l->err);
    }
    ash__free(old);
}

/* True: it was not killed. */
static bool cut_once(live *l, int number, int messages)
{
    const cut *c = &cuts[number];
    char what[80];
    snprintf(what, sizeof what, "%s, killed after %d messages", c->name, messages);
    prepare(l, c);
    relay *r = relay_start(servers_address(l->servers, 0), messages);
    bool done = relay_kill_at_end(r, start_child(relay_uri(r), l->name, number));
    relay_stop(r);
    wait_until_still(l);
    expect_state(l, done ? c->done : c->allowed, what);
    (void)sweep(l, false);
    expect_state(l, done ? c->done : c->swept, what);
    expect_no_orphans(l, what);
    return done;
}

static void cut_everywhere(live *l, const char *name)
{
    int number = 0, messages = 1;
    live_need(l);
    while (strcmp(cuts[number].name, name) != 0)
        number++;
    while (!cut_once(l, number, messages))
        assert_true(++messages < MOST_MESSAGES);
    print_message("# %s: %d messages\n", name, messages);
    assert_true(messages > 3);
}

static void test_object_jetstream_cuts__put(void **state)
{
    cut_everywhere(*state, "put");
}

static void test_object_jetstream_cuts__overwrite(void **state)
{
    cut_everywhere(*state, "overwrite");
}

static void test_object_jetstream_cuts__rename(void **state)
{
    cut_everywhere(*state, "rename");
    cut_everywhere(*state, "rename over a deleted one");
}

static void test_object_jetstream_cuts__describe(void **state)
{
    cut_everywhere(*state, "describe");
}

static void test_object_jetstream_cuts__delete(void **state)
{
    cut_everywhere(*state, "delete");
}

static void test_object_jetstream_cuts__link(void **state)
{
    cut_everywhere(*state, "link");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
#define ON_A_STORE(test) cmocka_unit_test_setup_teardown(test, live_new_store, live_close_store)
        ON_A_STORE(test_object_jetstream_cuts__put),
        ON_A_STORE(test_object_jetstream_cuts__overwrite),
        ON_A_STORE(test_object_jetstream_cuts__rename),
        ON_A_STORE(test_object_jetstream_cuts__describe),
        ON_A_STORE(test_object_jetstream_cuts__delete),
        ON_A_STORE(test_object_jetstream_cuts__link),
    };
    if (argc == 4)
        return main_of_child(argv);
    return cmocka_run_group_tests(tests, live_start, live_stop);
}
