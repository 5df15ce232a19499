/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "base/clock.h"
#include "served.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A process that changes files and its own documents in transactions is killed at any moment: each
 * round is there wholly or not at all.
 *
 * Round n, in one commit and under a fence: the file "current" of content n becomes visible, if
 * there is none of that name, since the one of before goes; the file 1 gets {metadata: {round: n}},
 * if it has that of the round before, and another name, if no file has that; and the document
 * {_id: "state"} names round and file. */

enum { KILLS = 25, MOST_ROUNDS = 2, STEPS = 6 };

typedef struct worker {
    fixture *f;
    ash_collection *own;
    ash_upload *upload;
    int32_t round;
    int steps;
    int last_step; /* before which it kills itself; 0: none */
} worker;

static const bson_value_t LOCK = {.value_type = BSON_TYPE_INT32, .value.v_int32 = 1};
static const ash_fence FENCE = {sizeof(ash_fence), "fs.locks", &LOCK, 3, 10};

static void step(worker *w)
{
    if (++w->steps == w->last_step)
        (void)kill(getpid(), SIGKILL);
}

static const char *name_of(int32_t round)
{
    return round % 2 == 0 ? "kept, even" : "kept, odd";
}

/* Small ones go into the commit, large ones are there before it. */
static size_t length_of(int32_t round)
{
    return round % 2 == 0 ? 30 : 20000 + (size_t)round % 100;
}

static ash_collection *open_own(fixture *f)
{
    ash_collection *c = NULL;
    assert_ok(ash_collection_new(f->store, NULL, "own", &c, &f->err), &f->err);
    return c;
}

static int write_state(worker *w, ash_transaction *t, ash_error *err)
{
    bson_t *filter = BCON_NEW("_id", BCON_UTF8("state"));
    bson_t doc = BSON_INITIALIZER;
    ash_update_options o = ASH_UPDATE_OPTIONS_INIT;
    bson_value_t update = {.value_type = BSON_TYPE_DOCUMENT};
    BSON_APPEND_UTF8(&doc, "_id", "state");
    BSON_APPEND_INT32(&doc, "round", w->round);
    BSON_APPEND_VALUE(&doc, "file", ash_upload_id(w->upload));
    update.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(&doc);
    update.value.v_doc.data_len = doc.len;
    o.op.transaction = t;
    o.upsert = true;
    int rc = ash_collection_update(w->own, filter, &update, &o, NULL, err);
    bson_destroy(filter);
    bson_destroy(&doc);
    return rc;
}

static int mark_kept(worker *w, ash_transaction *t, ash_error *err)
{
    bson_value_t id = support_int_id(1);
    ash_change_options o = ASH_CHANGE_OPTIONS_INIT;
    bson_t *set = BCON_NEW("$set", "{", "metadata", "{", "round", BCON_INT32(w->round), "}", "}");
    bson_t *before =
        w->round == 1 ? bson_new() : BCON_NEW("metadata.round", BCON_INT32(w->round - 1));
    o.transaction = t;
    o.fence = &FENCE;
    o.only_if = before;
    int rc = ash_bucket_update(w->f->bucket, &id, set, &o, NULL, err);
    bson_destroy(before);
    bson_destroy(set);
    return rc;
}

static int rename_kept(worker *w, ash_transaction *t, ash_error *err)
{
    bson_value_t id = support_int_id(1);
    ash_change_options o = ASH_CHANGE_OPTIONS_INIT;
    o.transaction = t;
    o.if_name_absent = true;
    return ash_bucket_rename(w->f->bucket, &id, name_of(w->round), &o, err);
}

static int one_round(ash_transaction *t, void *ctx, ash_error *err)
{
    worker *w = ctx;
    ash_finish_options end = ASH_FINISH_OPTIONS_INIT;
    ash_change_options o = ASH_CHANGE_OPTIONS_INIT;
    end.transaction = o.transaction = t;
    o.fence = &FENCE;
    step(w);
    int rc = ash_bucket_delete_by_name(w->f->bucket, "current", &o, err);
    step(w);
    if (rc == 0 || rc == ASH_ENOTFOUND)
        rc = ash_upload_finish_with(w->upload, &end, NULL, NULL, err);
    step(w);
    if (rc == 0)
        rc = mark_kept(w, t, err);
    step(w);
    if (rc == 0)
        rc = rename_kept(w, t, err);
    step(w);
    if (rc == 0)
        rc = write_state(w, t, err);
    step(w);
    return rc;
}

static int32_t read_round(fixture *f, ash_collection *own, bson_value_t *file)
{
    bson_t doc;
    bson_iter_t it;
    bson_t *filter = BCON_NEW("_id", BCON_UTF8("state"));
    int32_t round = 0;
    int rc = ash_collection_find_one(own, filter, NULL, &doc, &f->err);
    bson_destroy(filter);
    if (rc == ASH_ENOTFOUND)
        return 0;
    assert_ok(rc, &f->err);
    assert_true(bson_iter_init_find(&it, &doc, "file"));
    bson_value_copy(bson_iter_value(&it), file);
    assert_true(bson_iter_init_find(&it, &doc, "round"));
    round = bson_iter_int32(&it);
    bson_destroy(&doc);
    return round;
}

static void work_a_round(worker *w)
{
    fixture *f = w->f;
    ash_upload_options o = ASH_UPLOAD_OPTIONS_INIT;
    o.fence = &FENCE;
    o.condition = ASH_PUT_IF_ABSENT;
    w->round++;
    size_t len = length_of(w->round);
    uint8_t *data = support_bytes(len, (uint32_t)w->round);
    int rc = ash_bucket_open_upload_stream(f->bucket, "current", &o, &w->upload, &f->err);
    if (rc == 0)
        rc = ash_upload_write(w->upload, data, len, &f->err);
    if (rc == 0)
        rc = ash_upload_seal(w->upload, &f->err);
    if (rc == 0)
        rc = ash_store_transact(f->store, one_round, w, NULL, &f->err);
    if (rc != 0) {
        fprintf(stderr, "# round %d: %d %s\n", (int)w->round, rc, f->err.text);
        _exit(1);
    }
    ash_upload_free(w->upload);
    ash__free(data);
}

/* Tells by the pipe how long each round took, once its commit is acknowledged; first that the store
 * is open. */
static void work_until_killed(fixture *f, int told)
{
    bson_value_t id = {.value_type = BSON_TYPE_EOD};
    worker w = {.f = f, .own = open_own(f)};
    w.round = read_round(f, w.own, &id);
    for (int64_t took_us = 0;;) {
        if (write(told, &took_us, sizeof took_us) != (ssize_t)sizeof took_us)
            _exit(1);
        int64_t began = ash__clock_us();
        work_a_round(&w);
        took_us = ash__clock_us() - began;
    }
}

/* Returns only when it came to the end of the round. */
static void work_until_step(fixture *f, int last_step)
{
    bson_value_t id = {.value_type = BSON_TYPE_EOD};
    worker w = {.f = f, .own = open_own(f), .last_step = last_step};
    w.round = read_round(f, w.own, &id);
    work_a_round(&w);
}

/* Returns how far it came. */
static int32_t check(fixture *f, int32_t least)
{
    bson_value_t id = {.value_type = BSON_TYPE_EOD};
    ash_collection *own = open_own(f);
    ash_sweep_options sweep = ASH_SWEEP_OPTIONS_INIT;
    ash_sweep_report report = ASH_SWEEP_REPORT_INIT;
    int32_t round = read_round(f, own, &id);
    assert_true(round >= least);
    sweep.min_age_s = -1; /* chunks of the upload that was cut off */
    assert_ok(ash_bucket_sweep(f->bucket, &sweep, &report, &f->err), &f->err);
    assert_int_equal(support_count(f->files, "{}"), round > 0 ? 2 : 1);
    if (round > 0) {
        size_t len = length_of(round);
        char filter[60];
        uint8_t *data = support_bytes(len, (uint32_t)round);
        support_expect(f, &id, data, len);
        support_expect_name(f, "current", -1, data, len);
        snprintf(filter, sizeof filter, "{\"metadata.round\":%d}", (int)round);
        assert_int_equal(support_count(f->files, filter), 1);
        support_expect_name(f, name_of(round), -1, "kept", 4);
        assert_int_equal(support_count(f->chunks, "{}"), (int64_t)(len + CHUNK - 1) / CHUNK + 1);
        ash__free(data);
    }
    bson_value_destroy(&id);
    ash_collection_free(own);
    return round;
}

static void begin(fixture *f)
{
    ash_collection *locks = NULL;
    bson_value_t id = support_int_id(1);
    assert_ok(support_put_with(f, &id, "kept", "kept", 4, NULL), &f->err);
    assert_ok(ash_collection_new(f->store, NULL, "fs.locks", &locks, &f->err), &f->err);
    support_insert(locks, "{\"_id\":1,\"write_lock\":true,\"writes\":{\"$numberLong\":\"3\"}}");
    ash_collection_free(locks);
}

/* Between each two steps of the transaction, and before its commit: nothing of the round is there;
 * the last child comes to the end, and all of it is.  Then the same with a large file. */
static void test_bucket_killed__before_each_step(void **state)
{
    fixture *f = *state;
    int32_t round = 0;
    if (support_lacks_transactions(f))
        return;
    begin(f);
    for (int i = 0; i < 2 * (STEPS + 1); i++) {
        int status = 0, last_step = i % (STEPS + 1) + 1;
        support_close(f);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            support_open(f);
            work_until_step(f, last_step);
            _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(WIFSIGNALED(status), last_step <= STEPS);
        round += last_step > STEPS ? 1 : 0;
        served_await_rest();
        support_open(f);
        assert_int_equal(check(f, round), round);
    }
}

/* A process that works until it is killed, and what is known of it. */
typedef struct victim {
    pid_t pid;
    int told;             /* what work_until_killed() tells */
    int32_t acknowledged; /* rounds that it told of; -1: not even that the store is open */
    int64_t round_us;     /* the latest; 0: of none */
} victim;

static victim start(fixture *f)
{
    int ends[2];
    victim v = {.acknowledged = -1};
    assert_int_equal(pipe(ends), 0);
    support_close(f);
    v.pid = fork();
    assert_true(v.pid >= 0);
    if (v.pid == 0) {
        support_open(f);
        work_until_killed(f, ends[1]);
    }
    close(ends[1]);
    v.told = ends[0];
    return v;
}

static bool hear(victim *v)
{
    if (read(v->told, &v->round_us, sizeof v->round_us) != (ssize_t)sizeof v->round_us)
        return false;
    v->acknowledged++;
    return true;
}

/* Until none of what it sent is under way any more; then the store is open here. */
static void finish_off(fixture *f, victim *v)
{
    int status = 0;
    assert_int_equal(kill(v->pid, SIGKILL), 0);
    assert_int_equal(waitpid(v->pid, &status, 0), v->pid);
    assert_true(WIFSIGNALED(status));
    while (hear(v))
        continue;
    close(v->told);
    served_await_rest();
    support_open(f);
}

/* Another one each time, unless ASH_TEST_SEED says which. */
static unsigned random_seed(void)
{
    const char *given = getenv("ASH_TEST_SEED");
    unsigned seed = given != NULL ? (unsigned)strtoul(given, NULL, 10) : (unsigned)time(NULL);
    print_message("# seed %u\n", seed);
    return seed;
}

/* While it opens the store, or when it has, or behind an acknowledged commit: at some moment of a
 * round that takes about as long as the latest did, however busy the machine is. */
static void test_bucket_killed__all_of_a_round_or_nothing(void **state)
{
    fixture *f = *state;
    int32_t round = 0, acknowledged = 0;
    int64_t round_us = 0;
    if (support_lacks_transactions(f))
        return;
    begin(f);
    srand(random_seed());
    for (int i = 0; i < KILLS; i++) {
        victim v = start(f);
        int32_t least = i == 0 ? MOST_ROUNDS : rand() % (MOST_ROUNDS + 2) - 1;
        while (v.acknowledged < least)
            assert_true(hear(&v));
        round_us = v.round_us > 0 ? v.round_us : round_us;
        usleep((useconds_t)(rand() % (round_us + 1)));
        finish_off(f, &v);
        if (v.acknowledged > 0) {
            round += v.acknowledged;
            acknowledged += v.acknowledged;
        }
        round = check(f, round);
    }
    print_message("# %d rounds, %d of them acknowledged\n", (int)round, (int)acknowledged);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_bucket_killed__before_each_step, support_setup,
                                        support_teardown),
        cmocka_unit_test_setup_teardown(test_bucket_killed__all_of_a_round_or_nothing,
                                        support_setup, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
