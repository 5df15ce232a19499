/* SPDX-License-Identifier: Apache-2.0 */
/* What other clients lose, or leave behind: failed and concurrent overwrites, changes while somebody
 * reads, clients that die, loops of links. */
#include "object/jetstream/support.h"

#include "base/clock.h"
#include "base/mem.h"
#include "object/jetstream/format/names.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHUNK = ASH_OBJECT_CHUNK_SIZE_DEFAULT, WRITERS = 4, ROUNDS = 5, MIB = 1024 * 1024 };

/* nats.c and nats.go lose the old object. */
static void test_object_jetstream_losses__overwrite_beyond_max_bytes(void **state)
{
    live *l = *state;
    live_need(l);
    ash_object_config config = ASH_OBJECT_CONFIG_INIT;
    ash_object_store *own = l->store;
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    uint8_t *old = live_bytes(1, 300 * 1024), *new = live_bytes(2, MIB);
    char *name = ash__sprintf("%s-small", l->name);
    char *subject = ash__sprintf("$O.%s.C.>", name);
    config.name = name;
    config.max_bytes = 600 * 1024;
    assert_ok(ash_object_manager_create(l->manager, &config, NULL, &l->store, &l->err), &l->err);
    ash_js_stream stream = l->stream;
    l->stream = ((ash_js_store *)l->store)->stream;
    live_put(l, "a", old, 300 * 1024, NULL);
    meta.name = "a";
    assert_int_equal(
        ash_object_store_put_bytes(l->store, &meta, new, MIB, NULL, NULL, NULL, &l->err),
        ASH_ENOSPC);
    live_expect(l, "a", old, 300 * 1024);
    assert_int_equal(live_count(l, subject), 3);
    live_put(l, "a", new, 200 * 1024, NULL);
    live_expect(l, "a", new, 200 * 1024);
    assert_int_equal(live_count(l, subject), 2);
    ash_object_store_close(l->store);
    assert_ok(ash_object_manager_delete(l->manager, name, NULL, &l->err), &l->err);
    l->store = own;
    l->stream = stream;
    ash__free(old);
    ash__free(new);
    ash__free(name);
    ash__free(subject);
}

typedef struct writer {
    live *l;
    uint32_t seed;
    bool if_revision;
    uint64_t revision;
    int rc;
    ash_error err;
} writer;

static void *write_one(void *arg)
{
    writer *w = arg;
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    ash_object_change_options opts = ASH_OBJECT_CHANGE_OPTIONS_INIT;
    uint8_t *data = live_bytes(w->seed, 3 * MIB);
    meta.name = "one";
    opts.if_revision = w->if_revision ? w->revision : 0;
    w->rc =
        ash_object_store_put_bytes(w->l->store, &meta, data, 3 * MIB, &opts, NULL, NULL, &w->err);
    ash__free(data);
    return NULL;
}

static void write_all(live *l, writer *writers, bool if_revision, uint32_t seed)
{
    pthread_t threads[WRITERS];
    ash_object *o = NULL;
    if (if_revision)
        assert_ok(ash_object_store_info(l->store, "one", NULL, NULL, &o, &l->err), &l->err);
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = (writer){.l = l,
                              .seed = seed + (uint32_t)i,
                              .if_revision = if_revision,
                              .revision = o != NULL ? ash_object_revision(o) : 0};
        assert_int_equal(ash__thread_start(&threads[i], 0, write_one, &writers[i]), 0);
    }
    for (int i = 0; i < WRITERS; i++)
        pthread_join(threads[i], NULL);
    ash_object_free(o);
}

/* Others leak the bytes of all but one in each round. */
static void test_object_jetstream_losses__four_writers(void **state)
{
    live *l = *state;
    live_need(l);
    writer writers[WRITERS];
    live_put(l, "one", "first", 5, NULL);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        write_all(l, writers, round % 2 == 1, round * WRITERS);
        int won = 0;
        for (int i = 0; i < WRITERS; i++) {
            if (round % 2 == 0)
                assert_ok(writers[i].rc, &writers[i].err);
            won += writers[i].rc == 0;
            assert_true(writers[i].rc == 0 || writers[i].rc == ASH_ECONDITION);
        }
        assert_int_equal(won, round % 2 == 0 ? WRITERS : 1);
        assert_int_equal(live_chunks(l), 3 * MIB / CHUNK);
        assert_int_equal(live_metas(l), 1);
        uint8_t *got = NULL;
        size_t len = 0;
        assert_ok(ash_object_store_get_bytes(l->store, "one", NULL, NULL, &got, &len, &l->err),
                  &l->err);
        ash_object_bytes_free(got);
    }
}

/* Others hang until their time is over. */
static void test_object_jetstream_losses__overwritten_while_read(void **state)
{
    live *l = *state;
    live_need(l);
    ash_object_reader *reader = NULL;
    size_t size = 64 * MIB, got = 1, total = 0;
    uint8_t *data = live_bytes(3, size), *buffer = ash__alloc(MIB);
    live_put(l, "big", data, size, NULL);
    assert_ok(ash_object_store_open_reader(l->store, "big", NULL, NULL, &reader, &l->err), &l->err);
    assert_ok(ash_object_reader_read(reader, buffer, MIB, &got, &l->err), &l->err);
    live_put(l, "big", "small", 5, NULL);
    int64_t from = ash__clock_ms();
    int rc = 0;
    while (rc == 0 && got > 0) {
        rc = ash_object_reader_read(reader, buffer, MIB, &got, &l->err);
        total += got;
    }
    /* What had been sent by then may be all of it, but not on a server that is asked for 64 MiB. */
    assert_int_equal(rc, ASH_ECONFLICT);
    assert_true(total < size);
    assert_true(ash__clock_ms() - from < 5000);
    ash_object_reader_free(reader);
    live_expect(l, "big", "small", 5);
    /* A small one is there whole as soon as it is open. */
    assert_ok(ash_object_store_open_reader(l->store, "big", NULL, NULL, &reader, &l->err), &l->err);
    live_put(l, "big", "other", 5, NULL);
    assert_ok(ash_object_reader_read(reader, buffer, MIB, &got, &l->err), &l->err);
    assert_memory_equal(buffer, "small", 5);
    ash_object_reader_free(reader);
    ash__free(data);
    ash__free(buffer);
}

static void test_object_jetstream_losses__deleted_while_read(void **state)
{
    live *l = *state;
    live_need(l);
    ash_object_reader *reader = NULL;
    size_t size = 16 * MIB, got = 0;
    uint8_t *data = live_bytes(3, size);
    live_put(l, "big", data, size, NULL);
    assert_ok(ash_object_store_open_reader(l->store, "big", NULL, NULL, &reader, &l->err), &l->err);
    assert_ok(ash_object_reader_read(reader, data, 10, &got, &l->err), &l->err);
    assert_ok(ash_object_store_delete(l->store, "big", NULL, NULL, NULL, &l->err), &l->err);
    int64_t from = ash__clock_ms();
    assert_ok(ash_object_reader_seek(reader, 5, &l->err), &l->err);
    int rc = ash_object_reader_seek(reader, 8 * MIB, &l->err);
    if (rc == 0)
        rc = ash_object_reader_read(reader, data, MIB, &got, &l->err);
    assert_int_equal(rc, ASH_ECONFLICT);
    assert_true(ash__clock_ms() - from < 5000);
    ash_object_reader_free(reader);
    ash__free(data);
}

static int64_t sweep(live *l, int64_t min_age_s, int64_t *bytes)
{
    ash_object_sweep_options opts = ASH_OBJECT_SWEEP_OPTIONS_INIT;
    ash_object_sweep_report report = ASH_OBJECT_SWEEP_REPORT_INIT;
    opts.min_age_s = min_age_s;
    assert_ok(ash_object_store_sweep(l->store, &opts, NULL, &report, &l->err), &l->err);
    *bytes = report.bytes;
    return report.orphans;
}

/* A process of its own, since libnats' threads do not outlive a fork. */
static void put_and_die(const char *uri, const char *name, int ready)
{
    ash_object_manager *manager = NULL;
    ash_object_store *store = NULL;
    ash_object_writer *w = NULL;
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    uint8_t *data = live_bytes(1, MIB);
    meta.name = "kept";
    int rc = ash_object_manager_open(uri, NULL, &manager, NULL);
    if (rc == 0)
        rc = ash_object_manager_bind(manager, name, NULL, &store, NULL);
    if (rc == 0)
        rc = ash_object_store_open_writer(store, &meta, NULL, NULL, &w, NULL);
    for (int i = 0; rc == 0; i++) {
        rc = ash_object_writer_write(w, data, MIB, NULL);
        if (i == 12 && write(ready, "r", 1) != 1)
            break;
    }
    _exit(1);
}

static int main_of_child(int argc, char **argv)
{
    if (argc == 4)
        put_and_die(argv[1], argv[2], 3);
    return 1;
}

static pid_t start_child(live *l, int *ready)
{
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(pipes[1], 3);
        execl("/proc/self/exe", "test", servers_uri(l->servers), l->name, "child", (char *)NULL);
        _exit(127);
    }
    close(pipes[1]);
    *ready = pipes[0];
    return pid;
}

/* Nobody else ever collects them. */
static void test_object_jetstream_losses__client_killed(void **state)
{
    live *l = *state;
    live_need(l);
    char byte;
    int ready = -1;
    int64_t bytes = 0;
    live_put(l, "kept", "old", 3, NULL);
    pid_t pid = start_child(l, &ready);
    assert_int_equal(read(ready, &byte, 1), 1);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(ready);
    live_expect(l, "kept", "old", 3);
    assert_true(live_chunks(l) > 1);
    assert_int_equal(sweep(l, 3600, &bytes), 0);
    assert_int_equal(sweep(l, -1, &bytes), 1);
    assert_true(bytes >= 8 * MIB);
    assert_int_equal(live_chunks(l), 1);
    live_expect(l, "kept", "old", 3);
}

/* ---- a put that says nothing for longer than a sweep waits ---- */

enum { SILENCE_MS = 1500 };

static void open_part(live *l, const uint8_t *data, size_t len, ash_object_writer **w)
{
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    meta.name = "kept";
    assert_ok(ash_object_store_open_writer(l->store, &meta, NULL, NULL, w, &l->err), &l->err);
    assert_ok(ash_object_writer_write(*w, data, len, &l->err), &l->err);
}

static void wait_until_stored(live *l, uint64_t chunks)
{
    for (int i = 0; i < 1000 && live_chunks(l) < chunks; i++)
        ash__clock_sleep_ms(10);
    assert_int_equal(live_chunks(l), chunks);
    ash__clock_sleep_ms(SILENCE_MS);
}

/* It goes on, or says that it cannot; its object is never there without its bytes. */
static void test_object_jetstream_losses__swept_while_silent(void **state)
{
    live *l = *state;
    live_need(l);
    ash_object_writer *w = NULL;
    uint8_t *data = live_bytes(1, 6 * CHUNK);
    int64_t bytes = 0;
    live_put(l, "kept", "old", 3, NULL);
    for (int sealed = 0; sealed < 2; sealed++) {
        open_part(l, data, 4 * CHUNK, &w);
        if (sealed == 1)
            assert_ok(ash_object_writer_seal(w, &l->err), &l->err);
        wait_until_stored(l, 5);
        assert_int_equal(sweep(l, 1, &bytes), 1);
        assert_int_equal(live_chunks(l), 1);
        int rc = sealed == 0 ? ash_object_writer_write(w, data, 2 * CHUNK, &l->err) : 0;
        if (rc == 0)
            rc = ash_object_writer_finish(w, NULL, NULL, &l->err);
        assert_int_equal(rc, ASH_ECONFLICT);
        assert_non_null(strstr(l->err.text, "sweep"));
        ash_object_writer_free(w);
        live_expect(l, "kept", "old", 3);
        assert_int_equal(live_chunks(l), 1);
    }
    ash__free(data);
}

/* What a sweep saw is not what is there any more. */
static void test_object_jetstream_losses__silence_is_broken(void **state)
{
    live *l = *state;
    live_need(l);
    ash_object_writer *w = NULL;
    uint8_t *data = live_bytes(1, 6 * CHUNK);
    bool taken = true;
    int64_t bytes = 0;
    open_part(l, data, 4 * CHUNK, &w);
    wait_until_stored(l, 4);
    /* The fourth is the one that a sweep would begin with. */
    assert_ok(ash_object_writer_write(w, data + 4 * CHUNK, 2 * CHUNK, &l->err), &l->err);
    assert_ok(ash_object_writer_seal(w, &l->err), &l->err);
    assert_ok(ash__js_take(&l->stream, 4, NULL, &taken, &l->err), &l->err);
    assert_false(taken);
    assert_int_equal(sweep(l, 1, &bytes), 0);
    assert_ok(ash_object_writer_finish(w, NULL, NULL, &l->err), &l->err);
    ash_object_writer_free(w);
    live_expect(l, "kept", data, 6 * CHUNK);
    assert_int_equal(live_chunks(l), 6);
    ash__free(data);
}

typedef struct sweeper {
    live *l;
    bool stop;
} sweeper;

static void *sweep_again_and_again(void *arg)
{
    sweeper *s = arg;
    ash_object_sweep_options opts = ASH_OBJECT_SWEEP_OPTIONS_INIT;
    ash_object_sweep_report report = ASH_OBJECT_SWEEP_REPORT_INIT;
    opts.min_age_s = 1;
    while (!__atomic_load_n(&s->stop, __ATOMIC_RELAXED))
        (void)ash_object_store_sweep(s->l->store, &opts, NULL, &report, NULL);
    return NULL;
}

/* Silences about as long as the sweeps' age: whatever is acknowledged is whole. */
static void test_object_jetstream_losses__sweeps_beside_slow_puts(void **state)
{
    live *l = *state;
    live_need(l);
    sweeper s = {.l = l};
    pthread_t thread;
    uint8_t *data = live_bytes(1, 2 * CHUNK);
    ash_object_writer *w = NULL;
    int puts = 0;
    live_put(l, "kept", data, CHUNK, NULL);
    assert_int_equal(ash__thread_start(&thread, 0, sweep_again_and_again, &s), 0);
    for (int i = 0; i < 8; i++) {
        open_part(l, data, CHUNK, &w);
        ash__clock_sleep_ms(960 + i * 10);
        int rc = ash_object_writer_write(w, data + CHUNK, CHUNK, &l->err);
        if (rc == 0)
            rc = ash_object_writer_finish(w, NULL, NULL, &l->err);
        assert_true(rc == 0 || rc == ASH_ECONFLICT);
        puts += rc == 0;
        ash_object_writer_free(w);
        live_expect(l, "kept", data, puts > 0 ? 2 * CHUNK : CHUNK);
    }
    __atomic_store_n(&s.stop, true, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    ash__free(data);
}

static void put_link(live *l, const char *name, const char *to)
{
    char *subject = ash__meta_subject(l->name, name);
    char *json = ash__sprintf("{\"name\":\"%s\",\"bucket\":\"%s\",\"nuid\":\"n\",\"size\":0,"
                              "\"chunks\":0,\"options\":{\"link\":{\"bucket\":\"%s\",\"name\":"
                              "\"%s\"}}}",
                              name, l->name, l->name, to);
    live_publish(l, subject, json, strlen(json), "Nats-Rollup: sub");
    ash__free(subject);
    ash__free(json);
}

static void test_object_jetstream_losses__loop_of_links(void **state)
{
    live *l = *state;
    live_need(l);
    uint8_t *got = NULL;
    size_t len = 0;
    put_link(l, "a", "b");
    put_link(l, "b", "a");
    assert_int_equal(ash_object_store_get_bytes(l->store, "a", NULL, NULL, &got, &len, &l->err),
                     ASH_EINVAL);
    put_link(l, "self", "self");
    assert_int_equal(ash_object_store_get_bytes(l->store, "self", NULL, NULL, &got, &len, &l->err),
                     ASH_EINVAL);
}

/* A put that is given up takes its chunks with it. */
static void test_object_jetstream_losses__given_up(void **state)
{
    live *l = *state;
    live_need(l);
    ash_object_writer *w = NULL;
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    uint8_t *data = live_bytes(1, 9 * MIB);
    meta.name = "a";
    assert_ok(ash_object_store_open_writer(l->store, &meta, NULL, NULL, &w, &l->err), &l->err);
    assert_ok(ash_object_writer_write(w, data, 9 * MIB, &l->err), &l->err);
    ash_object_writer_free(w);
    assert_int_equal(live_chunks(l), 0);
    assert_int_equal(live_metas(l), 0);
    ash__free(data);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
#define ON_A_STORE(test) cmocka_unit_test_setup_teardown(test, live_new_store, live_close_store)
        ON_A_STORE(test_object_jetstream_losses__overwrite_beyond_max_bytes),
        ON_A_STORE(test_object_jetstream_losses__four_writers),
        ON_A_STORE(test_object_jetstream_losses__overwritten_while_read),
        ON_A_STORE(test_object_jetstream_losses__deleted_while_read),
        ON_A_STORE(test_object_jetstream_losses__client_killed),
        ON_A_STORE(test_object_jetstream_losses__swept_while_silent),
        ON_A_STORE(test_object_jetstream_losses__silence_is_broken),
        ON_A_STORE(test_object_jetstream_losses__sweeps_beside_slow_puts),
        ON_A_STORE(test_object_jetstream_losses__loop_of_links),
        ON_A_STORE(test_object_jetstream_losses__given_up),
    };
    if (argc > 1)
        return main_of_child(argc, argv);
    return cmocka_run_group_tests(tests, live_start, live_stop);
}
