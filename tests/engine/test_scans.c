/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { LONG = 600, MOST = 700 };

/* Insert {_id, s}, where s has len bytes: a common start of x, then tail. */
static void insert_text(fixture *f, int32_t id, size_t len, const char *tail)
{
    bson_t doc = BSON_INITIALIZER;
    char *text = ash__alloc(len + 1);
    size_t tail_len = strlen(tail);
    memset(text, 'x', len);
    memcpy(text + len - tail_len, tail, tail_len);
    BSON_APPEND_INT32(&doc, "_id", id);
    BSON_APPEND_UTF8(&doc, "s", text);
    assert_ok(fixture_insert(f, "c", &doc, ASH_ACK_APPLIED, NULL), &f->err);
    ash__free(text);
    bson_destroy(&doc);
}

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

/* Texts of many lengths and few tails, so that keys are equal, share long starts and end on both
 * sides of the length where they are cut. */
static void insert_many(fixture *f, int count)
{
    static const char *const tails[] = {"a", "b", "aa", "ab", "zzzzzzzz", ""};
    static const size_t lengths[] = {10, 470, 478, 479, 480, 481, 482, 483, 484, 490, LONG, 1200};
    uint32_t seed = 7;
    for (int32_t i = 1; i <= count; i++)
        insert_text(f, i, lengths[next_random(&seed) % ASH_ARRAY_LEN(lengths)],
                    tails[next_random(&seed) % ASH_ARRAY_LEN(tails)]);
}

typedef struct hit {
    uint64_t rid;
    ash_buffer key;
} hit;

static void hits_free(hit *hits, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ash__buffer_release(&hits[i].key);
    ash__free(hits);
}

static ash_doc key_of(const hit *h)
{
    return (ash_doc){h->key.data, h->key.len};
}

static int key_order(ash_doc a, ash_doc b)
{
    size_t len = a.len < b.len ? a.len : b.len;
    int order = memcmp(a.data, b.data, len);
    return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

/* Resume: a new scan for every hit, behind the last one. */
static hit *scan_all(fixture *f, ash_snapshot *snap, const ash_index *i, ash_doc from, ash_doc to,
                     bool backward, bool resume, size_t *count)
{
    hit *hits = ash__alloc_array(MOST, sizeof *hits);
    ash_scan *s = NULL;
    ash_scan_hit at, last;
    bool found = true;
    *count = 0;
    while (found) {
        if (s == NULL) {
            if (*count > 0) {
                last.rid = hits[*count - 1].rid;
                last.key = key_of(&hits[*count - 1]);
            }
            const ash_scan_range range = {from, to, backward};
            s = ash__scan_index(snap, i, &range, *count > 0 ? &last : NULL);
        }
        assert_ok(ash__scan_next(s, &at, &found, &f->err), &f->err);
        if (found) {
            assert_true(*count < MOST);
            hits[*count].rid = at.rid;
            ash__buffer_append(&hits[(*count)++].key, at.key.data, at.key.len);
        }
        if (resume) {
            ash__scan_free(s);
            s = NULL;
        }
    }
    ash__scan_free(s);
    return hits;
}

static int order_of(const hit *a, const hit *b, bool backward)
{
    int order = backward ? key_order(key_of(b), key_of(a)) : key_order(key_of(a), key_of(b));
    return order != 0 ? order : (a->rid > b->rid) - (a->rid < b->rid);
}

/* The scan gives, in order, just those of `all` that lie within the bounds. */
static void compare(fixture *f, ash_snapshot *snap, const ash_index *i, const hit *all,
                    size_t total, ash_doc from, ash_doc to, bool backward)
{
    for (int resume = 0; resume < 2; resume++) {
        size_t count, expected = 0;
        hit *hits = scan_all(f, snap, i, from, to, backward, resume != 0, &count);
        for (size_t n = 1; n < count; n++)
            assert_true(order_of(&hits[n - 1], &hits[n], backward) < 0);
        for (size_t n = 0; n < total; n++)
            expected += key_order(key_of(&all[n]), from) >= 0 &&
                        (to.len == 0 || key_order(key_of(&all[n]), to) < 0);
        assert_int_equal(count, expected);
        for (size_t n = 0; n < count; n++) {
            assert_true(key_order(key_of(&hits[n]), from) >= 0);
            assert_true(to.len == 0 || key_order(key_of(&hits[n]), to) < 0);
        }
        hits_free(hits, count);
    }
}

static void check_all_ranges(fixture *f, ash_snapshot *snap, const ash_index *i, size_t expect)
{
    size_t total;
    ash_doc none = {(const uint8_t *)"", 0};
    hit *all = scan_all(f, snap, i, none, none, false, false, &total);
    assert_int_equal(total, expect);
    for (int backward = 0; backward < 2; backward++) {
        compare(f, snap, i, all, total, none, none, backward != 0);
        for (size_t a = 0; a < total; a += 17) {
            compare(f, snap, i, all, total, key_of(&all[a]), none, backward != 0);
            compare(f, snap, i, all, total, none, key_of(&all[a]), backward != 0);
            for (size_t b = a; b < total; b += 61)
                compare(f, snap, i, all, total, key_of(&all[a]), key_of(&all[b]), backward != 0);
        }
    }
    hits_free(all, total);
}

static void test_engine_scans__long_keys_keep_order_in_both_directions(void **state)
{
    fixture *f = *state;
    fixture_create(f, "c", NULL);
    fixture_index(f, "c", "{\"v\":2,\"key\":{\"s\":1},\"name\":\"up\"}");
    fixture_index(f, "c", "{\"v\":2,\"key\":{\"s\":-1},\"name\":\"down\"}");
    insert_many(f, 120);
    ash_snapshot *snap = fixture_snapshot(f);
    const ash_coll *c = fixture_coll(f, snap, "c");
    check_all_ranges(f, snap, fixture_find_index(c, "up"), 120);
    check_all_ranges(f, snap, fixture_find_index(c, "down"), 120);
    ash__snapshot_close(snap);
    fixture_check(f);
}

static void test_engine_scans__equal_keys_ascend_backward_too(void **state)
{
    fixture *f = *state;
    uint64_t rids[16];
    static const uint64_t forward[] = {1, 3, 5, 2, 4, 6}, backward[] = {2, 4, 6, 1, 3, 5};
    fixture_create(f, "c", NULL);
    fixture_index(f, "c", "{\"v\":2,\"key\":{\"s\":1},\"name\":\"s_1\"}");
    for (int long_keys = 0; long_keys < 2; long_keys++) {
        size_t len = long_keys ? LONG : 5;
        for (int32_t i = 1; i <= 6; i++)
            insert_text(f, i + 6 * long_keys, len, i % 2 == 1 ? "a" : "b");
        ash_snapshot *snap = fixture_snapshot(f);
        const ash_index *index = fixture_find_index(fixture_coll(f, snap, "c"), "s_1");
        assert_int_equal(fixture_scan(f, snap, index, false, rids, 16), 6);
        for (size_t i = 0; i < 6; i++)
            assert_int_equal(rids[i], forward[i] + 6 * (unsigned)long_keys);
        assert_int_equal(fixture_scan(f, snap, index, true, rids, 16), 6);
        for (size_t i = 0; i < 6; i++)
            assert_int_equal(rids[i], backward[i] + 6 * (unsigned)long_keys);
        ash__snapshot_close(snap);
        for (uint64_t rid = 1; rid <= 6 && !long_keys; rid++)
            assert_ok(fixture_delete(f, "c", rid), &f->err);
    }
}

static void test_engine_scans__long_unique_keys_compare_whole(void **state)
{
    fixture *f = *state;
    bson_t doc = BSON_INITIALIZER;
    char text[LONG + 1];
    fixture_create(f, "c", NULL);
    fixture_index(f, "c", "{\"v\":2,\"key\":{\"s\":1},\"name\":\"s_1\",\"unique\":true}");
    insert_text(f, 1, LONG, "a");
    insert_text(f, 2, LONG, "b");
    memset(text, 'x', LONG);
    text[LONG] = 0;
    text[LONG - 1] = 'b';
    BSON_APPEND_INT32(&doc, "_id", 3);
    BSON_APPEND_UTF8(&doc, "s", text);
    assert_int_equal(fixture_insert(f, "c", &doc, ASH_ACK_APPLIED, NULL), ASH_EEXISTS);
    assert_ok(fixture_delete(f, "c", 2), &f->err);
    assert_ok(fixture_insert(f, "c", &doc, ASH_ACK_APPLIED, NULL), &f->err);
    bson_destroy(&doc);
    ash_snapshot *snap = fixture_snapshot(f);
    check_all_ranges(f, snap, fixture_find_index(fixture_coll(f, snap, "c"), "s_1"), 2);
    ash__snapshot_close(snap);
    fixture_check(f);
}

static void test_engine_scans__multikey_is_marked_and_counted(void **state)
{
    fixture *f = *state;
    uint64_t rids[16], keys, bytes;
    fixture_create(f, "c", NULL);
    assert_ok(fixture_insert_json(f, "c", "{\"_id\":1,\"t\":[1,2,2,3]}"), &f->err);
    fixture_index(f, "c", "{\"v\":2,\"key\":{\"t\":1},\"name\":\"t_1\"}");
    fixture_index(f, "c", "{\"v\":2,\"key\":{\"u\":1},\"name\":\"u_1\"}");
    assert_ok(fixture_insert_json(f, "c", "{\"_id\":2,\"t\":5,\"u\":[7,8]}"), &f->err);
    assert_ok(fixture_insert_json(f, "c", "{\"_id\":3,\"t\":2,\"u\":9}"), &f->err);
    ash_snapshot *snap = fixture_snapshot(f);
    const ash_coll *c = fixture_coll(f, snap, "c");
    assert_false(c->indexes[0].multikey);
    assert_true(fixture_find_index(c, "t_1")->multikey);
    assert_true(fixture_find_index(c, "u_1")->multikey);
    assert_ok(ash__index_stats(snap, fixture_find_index(c, "t_1"), &keys, &bytes, &f->err),
              &f->err);
    assert_int_equal(keys, 5);
    assert_int_equal(fixture_scan(f, snap, fixture_find_index(c, "t_1"), false, rids, 16), 5);
    ash__snapshot_close(snap);
    fixture_reopen(f);
    fixture_check(f);
}

/* A scan on the writer goes on behind its last hit, whatever happens to it. */
static int delete_while_scanning(ash_writer *w, void *ctx, ash_error *err)
{
    const ash_coll *c;
    ash_scan *s = NULL;
    ash_scan_hit at;
    bool found = true;
    int *deleted = ctx;
    int result = ash__catalog_find(ash__writer_snapshot(w), "test", "c", &c, err);
    const ash_scan_range all = {.backward = false};
    if (result == 0)
        s = ash__scan_index(ash__writer_snapshot(w), fixture_find_index(c, "s_1"), &all, NULL);
    while (result == 0 && found) {
        result = ash__scan_next(s, &at, &found, err);
        if (result == 0 && found && at.rid % 2 == 0) {
            result = ash__record_delete(w, c, at.rid, err);
            ++*deleted;
        }
    }
    ash__scan_free(s);
    return result;
}

static void test_engine_scans__writer_deletes_under_its_scan(void **state)
{
    fixture *f = *state;
    int deleted = 0;
    fixture_create(f, "c", NULL);
    fixture_index(f, "c", "{\"v\":2,\"key\":{\"s\":1},\"name\":\"s_1\"}");
    insert_many(f, 100);
    fixture_apply(f, delete_while_scanning, &deleted, ASH_ACK_DURABLE, 0);
    assert_int_equal(deleted, 50);
    assert_int_equal(fixture_count(f, "c"), 50);
    fixture_check(f);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_engine_scans__long_keys_keep_order_in_both_directions),
        TEST(test_engine_scans__equal_keys_ascend_backward_too),
        TEST(test_engine_scans__long_unique_keys_compare_whole),
        TEST(test_engine_scans__multikey_is_marked_and_counted),
        TEST(test_engine_scans__writer_deletes_under_its_scan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
