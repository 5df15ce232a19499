/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* Random changes against a plain table; the seed is in the failure's text and can be given as the
 * first argument. */

enum { IDS = 60, STEPS = 1500 };

typedef struct row {
    bool there;
    int32_t n;
    size_t len;
    uint64_t rid;
} row;

static uint32_t seed = 20261120;

static uint32_t below(uint32_t limit)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % limit;
}

static size_t random_len(void)
{
    static const size_t lengths[] = {0, 50, 4000, 4020, 4040, 4060, 9000, 70000};
    return lengths[below(8)] + below(30);
}

static int32_t owner_of(const row *rows, int32_t n)
{
    for (int32_t id = 0; id < IDS; id++) {
        if (rows[id].there && rows[id].n == n)
            return id;
    }
    return -1;
}

static void step(fixture *f, row *rows)
{
    int32_t id = (int32_t)below(IDS), n = (int32_t)below(2 * IDS);
    row *r = &rows[id];
    size_t len = random_len();
    int32_t owner = owner_of(rows, n);
    enum ash_ack ack = below(10) == 0 ? ASH_ACK_DURABLE : ASH_ACK_APPLIED;
    bson_t *doc = fixture_chunk(id, n, len);
    uint64_t rid = 0;
    if (!r->there || below(8) == 0) {
        int result = fixture_insert(f, "c", doc, ack, &rid);
        assert_int_equal(result, r->there || owner >= 0 ? ASH_EEXISTS : 0);
        if (result == 0)
            *r = (row){true, n, len, rid};
    } else if (below(3) > 0) {
        int result = fixture_replace(f, "c", r->rid, doc);
        assert_int_equal(result, owner >= 0 && owner != id ? ASH_EEXISTS : 0);
        if (result == 0)
            *r = (row){true, n, len, r->rid};
    } else {
        assert_ok(fixture_delete(f, "c", r->rid), &f->err);
        r->there = false;
    }
    bson_destroy(doc);
}

static void compare(fixture *f, const row *rows)
{
    ash_snapshot *snap = fixture_snapshot(f);
    const ash_coll *c = fixture_coll(f, snap, "c");
    ash_coll_stats stats;
    uint64_t count = 0, rids[IDS];
    for (int32_t id = 0; id < IDS; id++) {
        ash_value_box box;
        ash_record record;
        bool found;
        assert_ok(ash__record_find_id(snap, c, ash__box_int32(&box, id), &record, &found, &f->err),
                  &f->err);
        assert_int_equal(found, rows[id].there);
        assert_true(!found || (record.rid == rows[id].rid &&
                               fixture_chunk_is(record.doc, id, rows[id].n, rows[id].len)));
        count += found;
    }
    assert_ok(ash__coll_stats(snap, c, &stats, &f->err), &f->err);
    assert_int_equal(stats.count, count);
    assert_int_equal(fixture_scan(f, snap, fixture_find_index(c, "n_1"), true, rids, IDS), count);
    ash__snapshot_close(snap);
}

static void test_engine_model__random_changes(void **state)
{
    fixture *f = *state;
    row rows[IDS] = {{0}};
    print_message("# seed %u\n", (unsigned)seed);
    fixture_create(f, "c", NULL);
    fixture_index(f, "c", "{\"v\":2,\"key\":{\"n\":1},\"name\":\"n_1\",\"unique\":true}");
    for (int i = 1; i <= STEPS; i++) {
        step(f, rows);
        if (i % 100 == 0)
            compare(f, rows);
        if (i % 500 == 0) {
            fixture_check(f);
            fixture_reopen(f);
            compare(f, rows);
        }
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_engine_model__random_changes),
    };
    if (argc > 1)
        seed = (uint32_t)strtoul(argv[1], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
