/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "base/mem.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 20, KEEP = 40 };

static size_t size_of(int32_t id)
{
    return id % 3 == 0 ? 100 : 5000 + (size_t)(id % 7) * 4000;
}

/* Insert durably and tell the parent each id; keep the last KEEP and delete what is older. */
static _Noreturn void write_until_killed(fixture *f, int to_parent, int32_t first)
{
    fixture_open(f);
    for (int32_t id = first;; id++) {
        uint8_t told[4];
        uint64_t rid;
        bson_t *doc = fixture_chunk(id, id, size_of(id));
        if (fixture_insert(f, "c", doc, ASH_ACK_DURABLE, &rid) != 0)
            _exit(1);
        bson_destroy(doc);
        ash__put_le32(told, (uint32_t)id);
        if (write(to_parent, told, 4) != 4)
            _exit(2);
        if (rid > KEEP && fixture_delete(f, "c", rid - KEEP) != 0)
            _exit(3);
    }
}

static bool is_whole(fixture *f, ash_snapshot *snap, int32_t id)
{
    ash_record record;
    ash_value_box box;
    bool found;
    assert_ok(ash__record_find_id(snap, fixture_coll(f, snap, "c"), ash__box_int32(&box, id),
                                  &record, &found, &f->err),
              &f->err);
    if (found)
        assert_true(fixture_chunk_is(record.doc, id, id, size_of(id)));
    return found;
}

/* Everything acknowledged is there whole; one more may be, and is *last then. */
static void verify(fixture *f, int32_t *last)
{
    ash_snapshot *snap = fixture_snapshot(f);
    for (int32_t id = *last > KEEP ? *last - KEEP + 1 : 1; id <= *last; id++)
        assert_true(is_whole(f, snap, id));
    assert_false(is_whole(f, snap, *last + 2));
    if (is_whole(f, snap, *last + 1))
        ++*last;
    ash__snapshot_close(snap);
}

static void run_and_kill(fixture *f, int32_t *last)
{
    int ends[2], status;
    uint8_t told[4];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0)
        write_until_killed(f, ends[1], *last + 1);
    close(ends[1]);
    ash__clock_sleep_ms(5 + rand() % 60);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    assert_true(WIFSIGNALED(status));
    while (read(ends[0], told, 4) == 4)
        *last = (int32_t)ash__get_le32(told);
    close(ends[0]);
}

static void test_engine_crash__killed_writers_lose_nothing_acknowledged(void **state)
{
    fixture *f = *state;
    int32_t last = 0;
    bool unclean = false;
    fixture_create(f, "c", NULL);
    fixture_index(f, "c", "{\"v\":2,\"key\":{\"n\":1},\"name\":\"n_1\",\"unique\":true}");
    fixture_close(f);
    srand(1);
    /* On a busy machine the first rounds do not get far. */
    for (int round = 0; round < ROUNDS || (last <= KEEP && round < 20 * ROUNDS); round++) {
        run_and_kill(f, &last);
        fixture_open(f);
        unclean = unclean || ash__engine_was_unclean(f->engine);
        verify(f, &last);
        fixture_check(f);
        fixture_close(f);
    }
    assert_true(unclean);
    assert_true(last > KEEP);
    fixture_open(f);
    assert_false(ash__engine_was_unclean(f->engine));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_engine_crash__killed_writers_lose_nothing_acknowledged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
