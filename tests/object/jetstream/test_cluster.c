/* SPDX-License-Identifier: Apache-2.0 */
/* A cluster of three, whose leader is killed amid a put: other clients fail, and leave what they had put.
 *
 * ASH_CLUSTER_MIB says how large the object is. */
#include "object/jetstream/support.h"

#include "base/clock.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEFAULT_MIB = 64, MIB = 1024 * 1024, CHUNK = ASH_OBJECT_CHUNK_SIZE_DEFAULT };

typedef struct put {
    live *l;
    uint8_t *data;
    size_t size;
    int rc;
    ash_error err;
} put;

static size_t object_size(void)
{
    const char *mib = getenv("ASH_CLUSTER_MIB");
    return (size_t)(mib != NULL ? atoi(mib) : DEFAULT_MIB) * MIB + 17;
}

static int replicate(void **state)
{
    live *l = live_now;
    ash_object_config config = ASH_OBJECT_CONFIG_INIT;
    *state = l;
    if (l->servers == NULL)
        return 0;
    strcpy(l->name, "replicated");
    config.name = l->name;
    config.replicas = MAX_SERVERS;
    assert_ok(ash_object_manager_create(l->manager, &config, NULL, &l->store, &l->err), &l->err);
    l->stream = ((ash_js_store *)l->store)->stream;
    return 0;
}

static void *put_all(void *arg)
{
    put *p = arg;
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    meta.name = "large";
    p->rc =
        ash_object_store_put_bytes(p->l->store, &meta, p->data, p->size, NULL, NULL, NULL, &p->err);
    return NULL;
}

static uint64_t messages(live *l)
{
    ash_object_status *status = NULL;
    uint64_t last = 0;
    if (ash_object_store_status(l->store, NULL, &status, NULL) == 0)
        last = ash_object_status_revision(status);
    ash_object_status_free(status);
    return last;
}

static void wait_for_messages(live *l, uint64_t wanted)
{
    for (int i = 0; i < 6000 && messages(l) < wanted; i++)
        usleep(10000);
}

static int leader(live *l)
{
    int index = -1;
    for (int i = 0; i < 600 && index < 0; i++) {
        index = servers_leader_of(l->servers, "OBJ_replicated");
        if (index < 0)
            usleep(50000);
    }
    assert_true(index >= 0);
    return index;
}

/* All three have everything again, so that another one may be missed. */
static void wait_until_current(live *l)
{
    int current = 0;
    for (int i = 0; i < 1200 && current < MAX_SERVERS - 1; i++) {
        ash_json *info = live_request(l, "STREAM.INFO.OBJ_replicated", "{}");
        const ash_json *replicas = ash__json_get(ash__json_get(info, "cluster"), "replicas");
        current = 0;
        for (const ash_json *r = replicas != NULL ? replicas->first : NULL; r != NULL; r = r->next)
            current +=
                ash__json_truth(r, "current", false) && !ash__json_truth(r, "offline", false);
        ash__json_free(info);
        usleep(50000);
    }
    assert_int_equal(current, MAX_SERVERS - 1);
}

static void expect_no_orphans(live *l, size_t size)
{
    ash_object_sweep_options opts = ASH_OBJECT_SWEEP_OPTIONS_INIT;
    ash_object_sweep_report report = ASH_OBJECT_SWEEP_REPORT_INIT;
    opts.min_age_s = -1;
    opts.dry_run = true;
    assert_ok(ash_object_store_sweep(l->store, &opts, NULL, &report, &l->err), &l->err);
    assert_int_equal(report.orphans, 0);
    assert_int_equal(live_chunks(l), (size + CHUNK - 1) / CHUNK);
    assert_int_equal(live_metas(l), 1);
}

static void kill_amid_a_put(live *l, uint32_t seed)
{
    put p = {.l = l, .size = object_size()};
    pthread_t thread;
    p.data = live_bytes(seed, p.size);
    uint64_t from = messages(l);
    int index = leader(l);
    assert_int_equal(ash__thread_start(&thread, 0, put_all, &p), 0);
    wait_for_messages(l, from + p.size / CHUNK / 3);
    servers_kill(l->servers, index);
    pthread_join(thread, NULL);
    assert_ok(p.rc, &p.err);
    live_expect(l, "large", p.data, p.size);
    expect_no_orphans(l, p.size);
    servers_start_again(l->servers, index);
    wait_until_current(l);
    ash__free(p.data);
}

static void test_object_jetstream_cluster__leader_killed_amid_a_put(void **state)
{
    live *l = *state;
    live_need(l);
    kill_amid_a_put(l, 1);
    /* Over one that is there, and with another leader. */
    kill_amid_a_put(l, 2);
}

static void test_object_jetstream_cluster__server_killed_amid_a_get(void **state)
{
    live *l = *state;
    live_need(l);
    put p = {.l = l, .size = object_size()};
    ash_object_reader *reader = NULL;
    size_t got = 1, total = 0;
    uint8_t *buffer = ash__alloc(MIB);
    p.data = live_bytes(3, p.size);
    put_all(&p);
    assert_ok(p.rc, &p.err);
    int index = leader(l);
    int64_t from = ash__clock_ms();
    assert_ok(ash_object_store_open_reader(l->store, "large", NULL, NULL, &reader, &l->err),
              &l->err);
    while (got > 0) {
        assert_ok(ash_object_reader_read(reader, buffer, MIB, &got, &l->err), &l->err);
        assert_memory_equal(buffer, p.data + total, got);
        if (total < p.size / 3 && total + got >= p.size / 3)
            servers_kill(l->servers, index);
        total += got;
    }
    assert_int_equal(total, p.size);
    print_message("# the get with a killed server took %lld ms\n",
                  (long long)(ash__clock_ms() - from));
    ash_object_reader_free(reader);
    servers_start_again(l->servers, index);
    wait_until_current(l);
    ash__free(p.data);
    ash__free(buffer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define REPLICATED(test) cmocka_unit_test_setup_teardown(test, replicate, live_close_store)
        REPLICATED(test_object_jetstream_cluster__leader_killed_amid_a_put),
        REPLICATED(test_object_jetstream_cluster__server_killed_amid_a_get),
    };
    return cmocka_run_group_tests(tests, live_start_cluster, live_stop);
}
