/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "tree/content/contents.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Contents that are too long for memory. */

enum { LEN = 40 * PIECE };

/* A hundred bytes in front cost about a piece, not everything again. */
static void test_content_pieces__bytes_in_front_store_one_piece_more(void **state)
{
    fixture *f = *state;
    uint8_t *data = support_noise(LEN + 100, 7);
    ash_content_id a = support_put(f, data + 100, LEN, 1, NULL);
    assert_string_equal(support_store_of(f, &a), "alt");
    ash_contents_sum before, after;
    assert_ok(ash__contents_measure(f->contents, NULL, &before, &f->err), &f->err);
    ash_content_id b = support_put(f, data, LEN + 100, 2, NULL);
    assert_ok(ash__contents_measure(f->contents, NULL, &after, &f->err), &f->err);
    assert_in_range(after.stored_bytes - before.stored_bytes, 100, PIECE / 4);
    assert_in_range(after.contents - before.contents, 2, 4);
    support_expect(f, &a, data + 100, LEN);
    support_expect(f, &b, data, LEN + 100);
    ash__free(data);
}

/* Bytes changed everywhere: each piece is a delta against what was there. */
static void test_content_pieces__new_pieces_are_deltas(void **state)
{
    fixture *f = *state;
    ash_content_id ids[12];
    uint8_t *data = support_noise(LEN, 8);
    int64_t first = 0;
    for (int i = 0; i < 12; i++) {
        for (size_t at = 100 + (size_t)i * 10; at + 8 < LEN; at += 1500)
            memcpy(data + at, "changed", 7);
        ids[i] = support_put(f, data, LEN, 1, i > 0 ? &ids[i - 1] : NULL);
        ash_contents_sum sum;
        assert_ok(ash__contents_measure(f->contents, NULL, &sum, &f->err), &f->err);
        if (i == 0)
            first = sum.stored_bytes;
        if (i == 7)
            assert_in_range(sum.stored_bytes, first, 2 * first);
        support_expect(f, &ids[i], data, LEN);
    }
    ash__free(data);
}

/* Random bytes in the place of random bytes are no deltas, and cost no search for one each; where
 * something is like before again that is found again. */
static void test_content_pieces__strange_bytes_and_then_known_ones(void **state)
{
    enum { STRANGE = 8 << 20, KNOWN = 6 << 20, ALL = STRANGE + KNOWN, MEMORY = 4 << 20 };
    fixture *f = *state;
    ash__contents_free(f->contents);
    f->contents = support_contents(f, ASH_DIGEST_SHA256, MEMORY);
    uint8_t *data = support_noise(ALL, 8), *other = support_noise(STRANGE, 9);
    ash_content_id before = support_put(f, data, ALL, 1, NULL);
    ash_contents_sum first, second;
    assert_ok(ash__contents_measure(f->contents, NULL, &first, &f->err), &f->err);
    memcpy(data, other, STRANGE);
    for (size_t at = STRANGE; at + 8 < ALL; at += 1500)
        memcpy(data + at, "changed", 7);
    ash_content_id after = support_put(f, data, ALL, 2, &before);
    assert_ok(ash__contents_measure(f->contents, NULL, &second, &f->err), &f->err);
    assert_in_range(second.stored_bytes - first.stored_bytes, STRANGE, STRANGE + KNOWN / 2);
    support_expect(f, &after, data, ALL);
    ash__free(data);
    ash__free(other);
}

static atomic_int syncs;

/* In front of the system's, for LMDB as well. */
int fdatasync(int fd)
{
    atomic_fetch_add(&syncs, 1);
    return (int)syscall(SYS_fdatasync, fd);
}

/* Blocks do not wait for the disk one after the other: what comes before the last one is synced every
 * 100 ms or so, by at most a handful of calls, however many blocks there are. */
static void test_content_pieces__blocks_do_not_wait_for_the_disk(void **state)
{
    fixture *f = *state;
    uint8_t *data = support_noise(2 * LEN, 11);
    /* Collections and indexes are made, and the run is on record. */
    (void)support_put(f, data, PIECE / 4, 1, NULL);
    atomic_store(&syncs, 0);
    int64_t began = ash__clock_ms();
    ash_content_id id = support_put(f, data, 2 * LEN, 2, NULL);
    int64_t took = ash__clock_ms() - began;
    assert_string_equal(support_store_of(f, &id), "alt");
    assert_in_range(atomic_load(&syncs), 1, 20 + took / 100 * 5);
    support_expect(f, &id, data, 2 * LEN);
    ash__free(data);
}

static void read_at(ash_content_reader *r, const uint8_t *data, int64_t at, size_t len)
{
    ash_error err = ASH_ERROR_INIT;
    uint8_t buf[3000];
    size_t have = 0;
    assert_ok(ash__content_reader_seek(r, at, &err), &err);
    while (have < len) {
        size_t got = 0;
        assert_ok(ash__content_reader_read(r, buf + have, len - have, &got, &err), &err);
        assert_true(got > 0);
        have += got;
    }
    assert_memory_equal(buf, data + at, len);
}

static void test_content_pieces__ranges(void **state)
{
    fixture *f = *state;
    uint8_t *data = support_text(LEN, 9);
    ash_content_id id = support_put(f, data, LEN, 1, NULL);
    const ash_content_ref ref = {.id = id, .length = LEN};
    ash_content_reader *r = NULL;
    assert_ok(ash__content_open(f->contents, &ref, true, NULL, &r, &f->err), &f->err);
    srand(1);
    for (int i = 0; i < 200; i++)
        read_at(r, data, rand() % (LEN - 3000), 1 + (size_t)(rand() % 3000));
    ash__content_reader_free(r);
    ash__free(data);
}

/* More than one list holds: groups of pieces. */
static void test_content_pieces__lists_of_lists(void **state)
{
    fixture *f = *state;
    enum { MANY = 3 * 512 * 1024, SMALL = 8 * 1024 };
    ash_contents *c = support_contents(f, ASH_DIGEST_SHA256, SMALL);
    ash_content_hint hint = {.filename = "long"};
    uint8_t *data = support_noise(MANY + 100, 10);
    ash_content_ref a, b;
    assert_ok(support_try(f, c, &hint, data + 100, MANY, 1, &a), &f->err);
    int64_t before = support_count(f->files);
    assert_true(before > 2500);
    support_expect(f, &a.id, data + 100, MANY);
    assert_ok(support_try(f, c, &hint, data, MANY + 100, 2, &b), &f->err);
    support_expect(f, &b.id, data, MANY + 100);
    assert_in_range(support_count(f->files) - before, 2, 40);
    support_drop(f, 1, &a.id);
    support_drop(f, 2, &b.id);
    (void)support_collect(f, false);
    assert_int_equal(support_count(f->files), 0);
    assert_int_equal(support_count(f->chunks), 0);
    ash__contents_free(c);
    ash__free(data);
}

/* What could not be stored is not there, and nobody goes on as if it were. */
static void test_content_pieces__nothing_follows_lost_bytes(void **state)
{
    fixture *f = *state;
    ash_op late = ASH_OP_INIT;
    late.deadline_ms = 1;
    uint8_t *data = support_noise(2 * PIECE, 11);
    support_put(f, data, LEN / 1000, 1, NULL); /* the indexes are there */
    for (int at_end = 0; at_end < 2; at_end++) {
        ash_content_writer *w = NULL;
        size_t first = at_end ? 2 * PIECE : PIECE;
        assert_ok(ash__content_writer_new(f->contents, NULL, &w, &f->err), &f->err);
        assert_ok(ash__content_writer_add(w, data, first, NULL, &f->err), &f->err);
        int rc = at_end ? ash__content_writer_seal(w, &late, &f->err)
                        : ash__content_writer_add(w, data + PIECE, PIECE, &late, &f->err);
        assert_int_equal(rc, ASH_ETIMEOUT);
        assert_int_equal(ash__content_writer_add(w, data, 1, NULL, &f->err), rc);
        assert_int_equal(ash__content_writer_seal(w, NULL, &f->err), rc);
        ash__content_writer_free(w);
    }
    ash__free(data);
}

/* A row that stands in the way each time: whoever puts the file again is told that it may help. */
static void test_content_pieces__pieces_that_cannot_come_are_a_conflict(void **state)
{
    fixture *f = *state;
    ash_contents *c = support_contents(f, ASH_DIGEST_SHA256, 16 * PIECE);
    uint8_t *data = support_noise(LEN, 12);
    bson_t all = BSON_INITIALIZER;
    ash_remove_options many = ASH_REMOVE_OPTIONS_INIT;
    assert_ok(support_try(f, c, NULL, data, LEN, 1, NULL), &f->err);
    assert_ok(ash_collection_remove(f->files, &all, &many, NULL, &f->err), &f->err);
    assert_int_equal(support_count(f->files), 0);
    assert_true(support_count(f->chunks) > 0);
    assert_int_equal(support_try(f, c, NULL, data, LEN, 2, NULL), ASH_ECONFLICT);
    bson_destroy(&all);
    ash__contents_free(c);
    ash__free(data);
}

/* ---- age ---- */

/* Two hours go by, as far as contents say when they came and were counted on. */
static void let_two_hours_pass(fixture *f)
{
    bson_oid_t used;
    bson_t all = BSON_INITIALIZER, update = BSON_INITIALIZER, set;
    ash_update_options o = ASH_UPDATE_OPTIONS_INIT;
    bson_value_t value = {.value_type = BSON_TYPE_DOCUMENT};
    int64_t then = ash__clock_wall_ms() / 1000 - 7200;
    bson_oid_init(&used, NULL);
    for (int i = 0; i < 4; i++)
        used.bytes[i] = (uint8_t)(then >> (24 - 8 * i));
    bson_append_document_begin(&update, "$set", 4, &set);
    bson_append_date_time(&set, "uploadDate", 10, then * 1000);
    bson_append_oid(&set, "used", 4, &used);
    bson_append_document_end(&update, &set);
    value.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(&update);
    value.value.v_doc.data_len = update.len;
    o.multi = true;
    assert_ok(ash_collection_update(f->files, &all, &value, &o, NULL, &f->err), &f->err);
    bson_destroy(&update);
}

/* Whatever clock the writer's machine has, pieces are dated by the store's, which collections go by. */
static void test_content_pieces__dates_are_the_stores(void **state)
{
    fixture *f = *state;
    enum { AHEAD = 7200 };
    ash_contents *c = support_contents_renewed(f, PIECE, 1);
    uint8_t *data = support_noise(LEN, 19);
    ash_content_writer *w = NULL;
    assert_ok(ash__contents_prepare(c, NULL, &f->err), &f->err);
    int64_t now = ash__clock_wall_ms();
    atomic_store(&c->ahead_ms, AHEAD * 1000);
    assert_ok(ash__content_writer_new(c, NULL, &w, &f->err), &f->err);
    assert_ok(ash__content_writer_add(w, data, 2 * PIECE, NULL, &f->err), &f->err);
    ash__clock_sleep_ms(2);
    assert_ok(ash__content_writer_add(w, data, 2 * PIECE, NULL, &f->err), &f->err);
    assert_ok(ash__content_writer_seal(w, NULL, &f->err), &f->err); /* all are stored */
    bson_t filter = BSON_INITIALIZER, range;
    bson_oid_t least = {{0}};
    ash__put_be32(least.bytes, (uint32_t)(now / 1000 + AHEAD));
    int64_t all = support_count(f->files), later = 0;
    assert_true(all > 0);
    bson_append_document_begin(&filter, "used", 4, &range);
    bson_append_oid(&range, "$gte", 4, &least);
    bson_append_document_end(&filter, &range);
    assert_ok(ash_collection_count(f->files, &filter, NULL, &later, &f->err), &f->err);
    assert_true(later > 0);
    bson_reinit(&filter);
    BCON_APPEND(&filter, "uploadDate", "{", "$gte", BCON_DATE_TIME(now + AHEAD * 1000), "}");
    assert_ok(ash_collection_count(f->files, &filter, NULL, &later, &f->err), &f->err);
    assert_int_equal(later, all);
    bson_destroy(&filter);
    ash__content_writer_free(w);
    ash__contents_free(c);
    ash__free(data);
}

/* However slow it is, an upload loses no pieces to a collection: also not those of the group that it
 * is at. */
static void test_content_pieces__a_slow_upload_keeps_its_pieces(void **state)
{
    fixture *f = *state;
    enum { FIRST = 3 * 512 * 1024, SMALL = 8 * 1024, MANY = FIRST + 4 * SMALL };
    ash_contents *c = support_contents_renewed(f, SMALL, 1);
    uint8_t *data = support_noise(MANY, 17);
    ash_content_writer *w = NULL;
    ash_tree_collect_options o = {.size = sizeof o};
    ash_tree_collect_report report = {.size = sizeof report};
    ash_content_ref ref;
    assert_ok(ash__content_writer_new(c, NULL, &w, &f->err), &f->err);
    assert_ok(ash__content_writer_add(w, data, FIRST, NULL, &f->err), &f->err);
    assert_true(support_count(f->files) > 2100);
    let_two_hours_pass(f);
    ash__clock_sleep_ms(2);
    assert_ok(ash__content_writer_add(w, data + FIRST, 2 * SMALL, NULL, &f->err), &f->err);
    assert_ok(ash__contents_collect(f->contents, &o, NULL, &report, &f->err), &f->err);
    assert_int_equal(report.contents, 0);
    assert_ok(ash__content_writer_add(w, data + FIRST + 2 * SMALL, 2 * SMALL, NULL, &f->err),
              &f->err);
    assert_ok(ash__content_writer_seal(w, NULL, &f->err), &f->err);
    assert_ok(support_store(f, w, 1), &f->err);
    ash__content_writer_ref(w, &ref);
    support_expect(f, &ref.id, data, MANY);
    ash__content_writer_free(w);
    ash__contents_free(c);
    ash__free(data);
}

/* ---- damage ---- */

/* What the n-th document that the filter finds is made of has no bytes any more. */
static ash_content_id lose_chunks(fixture *f, const char *json, int n)
{
    ash_find_options o = ASH_FIND_OPTIONS_INIT;
    bson_t *filter = bson_new_from_json((const uint8_t *)json, -1, NULL);
    bson_t *sort = BCON_NEW("_id", BCON_INT32(1));
    bson_t lost = BSON_INITIALIZER, view;
    ash_remove_options many = ASH_REMOVE_OPTIONS_INIT;
    ash_cursor *cursor = NULL;
    ash_content_id id = {.len = 0};
    bson_iter_t it;
    ash_doc doc;
    many.op = o.op;
    o.sort = sort;
    assert_ok(ash_collection_find(f->files, filter, &o, &cursor, &f->err), &f->err);
    for (int i = 0; i <= n; i++)
        assert_ok(ash_cursor_next(cursor, &doc, &f->err), &f->err);
    assert_non_null(doc.data);
    assert_true(bson_init_static(&view, doc.data, doc.len));
    assert_true(bson_iter_init_find(&it, &view, "_id") && ash__content_id_read(&it, &id));
    ash_cursor_free(cursor);
    bson_append_binary(&lost, "files_id", 8, BSON_SUBTYPE_BINARY, id.bytes, id.len);
    assert_ok(ash_collection_remove(f->chunks, &lost, &many, NULL, &f->err), &f->err);
    bson_destroy(&lost);
    bson_destroy(sort);
    bson_destroy(filter);
    return id;
}

static int count_verdict(void *ctx, const ash_content_verdict *v, ash_error *err)
{
    (void)v, (void)err;
    ++*(int64_t *)ctx;
    return 0;
}

static int64_t damaged(fixture *f)
{
    int64_t n = 0;
    ash_contents_check k = {.deep = true, .tell = count_verdict, .ctx = &n};
    assert_ok(ash__contents_check(f->contents, &k, NULL, &f->err), &f->err);
    return n;
}

/* A piece that is damaged is stored anew by whoever brings its bytes, also within another content. */
static void test_content_pieces__a_put_heals_pieces(void **state)
{
    fixture *f = *state;
    ash_contents *c = support_contents(f, ASH_DIGEST_SHA256, 16 * PIECE);
    uint8_t *data = support_noise(LEN, 13);
    ash_content_ref ref;
    assert_ok(support_try(f, c, NULL, data, LEN, 1, &ref), &f->err);
    for (int same = 0; same < 2; same++) {
        ash_content_hint hint = {.filename = "a"};
        if (same)
            hint.before = ref.id;
        lose_chunks(f, "{\"length\": {\"$gt\": 0}}", 3);
        assert_in_range(damaged(f), 2, 3);
        data[LEN - 1] ^= (uint8_t)!same;
        assert_ok(support_try(f, c, &hint, data, LEN, 2, NULL), &f->err);
        data[LEN - 1] ^= (uint8_t)!same;
        support_expect(f, &ref.id, data, LEN);
        assert_int_equal(damaged(f), 0);
    }
    ash__contents_free(c);
    ash__free(data);
}

static void change_everywhere(uint8_t *data)
{
    for (size_t at = 100; at < LEN; at += 1500)
        data[at] ^= 1;
}

/* Deltas on a damaged piece are healed with it, and it stands on none of them. */
static void test_content_pieces__a_piece_heals_what_stands_on_it(void **state)
{
    fixture *f = *state;
    ash_contents *c = support_contents(f, ASH_DIGEST_SHA256, 16 * PIECE);
    ash_content_hint hint = {.filename = "a"};
    uint8_t *data = support_noise(LEN, 14);
    ash_content_ref first, second;
    assert_ok(support_try(f, c, &hint, data, LEN, 1, &first), &f->err);
    ash_content_id lost =
        lose_chunks(f, "{\"length\": {\"$gt\": 0}, \"store\": {\"$ne\": \"delta\"}}", 3);
    assert_ok(support_try(f, c, &hint, data, LEN, 1, &first), &f->err);
    assert_int_equal(damaged(f), 0);
    hint.before = first.id;
    change_everywhere(data);
    assert_ok(support_try(f, c, &hint, data, LEN, 1, &second), &f->err);
    ash_content_id again =
        lose_chunks(f, "{\"length\": {\"$gt\": 0}, \"store\": {\"$ne\": \"delta\"}}", 3);
    assert_true(ash__content_id_equal(&lost, &again));
    assert_true(damaged(f) > 3);
    hint.before = second.id;
    change_everywhere(data);
    assert_ok(support_try(f, c, &hint, data, LEN, 2, NULL), &f->err);
    assert_int_equal(damaged(f), 0);
    support_expect(f, &first.id, data, LEN);
    ash__contents_free(c);
    ash__free(data);
}

/* Turns the bytes of the first chunk over, there and in the data that it is of. */
static void turn_over(fixture *f, uint8_t *data)
{
    bson_t all = BSON_INITIALIZER, update = BSON_INITIALIZER, filter = BSON_INITIALIZER, set, view;
    ash_cursor *cursor = NULL;
    bson_iter_t it;
    bson_subtype_t subtype;
    const uint8_t *bytes = NULL;
    uint32_t len = 0;
    ash_doc doc;
    assert_ok(ash_collection_find(f->chunks, &all, NULL, &cursor, &f->err), &f->err);
    assert_ok(ash_cursor_next(cursor, &doc, &f->err), &f->err);
    assert_true(bson_init_static(&view, doc.data, doc.len));
    assert_true(bson_iter_init_find(&it, &view, "data"));
    bson_iter_binary(&it, &subtype, &len, &bytes);
    size_t at = 0;
    while (at + len < LEN && memcmp(data + at, bytes, len) != 0)
        at++;
    assert_memory_equal(data + at, bytes, len);
    for (size_t i = 0; i < len / 2; i++) {
        uint8_t other = data[at + i];
        data[at + i] = data[at + len - 1 - i];
        data[at + len - 1 - i] = other;
    }
    bson_append_document_begin(&update, "$set", 4, &set);
    bson_append_binary(&set, "data", 4, subtype, data + at, len);
    bson_append_document_end(&update, &set);
    assert_true(bson_iter_init_find(&it, &view, "_id"));
    bson_append_iter(&filter, "_id", 3, &it);
    bson_value_t value = {.value_type = BSON_TYPE_DOCUMENT};
    value.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(&update);
    value.value.v_doc.data_len = update.len;
    ash_cursor_free(cursor);
    assert_ok(ash_collection_update(f->chunks, &filter, &value, NULL, NULL, &f->err), &f->err);
    bson_destroy(&update);
    bson_destroy(&filter);
}

/* Who has the wrong bytes of a piece does not stand on it, as it may be healed. */
static void test_content_pieces__nothing_stands_on_wrong_bytes(void **state)
{
    fixture *f = *state;
    ash_contents *c = support_contents(f, ASH_DIGEST_SHA256, 16 * PIECE);
    ash_content_hint hint = {.filename = "a"};
    uint8_t *data = support_noise(LEN, 15), *wrong = support_noise(LEN, 15);
    ash_content_ref first, second;
    assert_ok(support_try(f, c, &hint, data, LEN, 1, &first), &f->err);
    turn_over(f, wrong);
    assert_true(damaged(f) > 0);
    hint.before = first.id;
    assert_ok(support_try(f, c, &hint, wrong, LEN, 2, &second), &f->err);
    assert_ok(support_try(f, c, NULL, data, LEN, 3, NULL), &f->err);
    support_expect(f, &first.id, data, LEN);
    support_expect(f, &second.id, wrong, LEN);
    assert_int_equal(damaged(f), 0);
    ash__contents_free(c);
    ash__free(wrong);
    ash__free(data);
}

/* A list that lacks a piece; the same of a list of lists. */
static void test_content_pieces__a_put_heals_lists(void **state)
{
    fixture *f = *state;
    enum { MANY = 3 * 512 * 1024, SMALL = 8 * 1024 };
    ash_contents *c = support_contents(f, ASH_DIGEST_SHA256, SMALL);
    bson_t *broken = BCON_NEW("$pop", "{", "alt.0.base", BCON_INT32(1), "}");
    uint8_t *data = support_noise(MANY, 15);
    ash_content_ref ref;
    ash_update_options o = ASH_UPDATE_OPTIONS_INIT;
    bson_value_t value = {.value_type = BSON_TYPE_DOCUMENT};
    value.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(broken);
    value.value.v_doc.data_len = broken->len;
    assert_ok(support_try(f, c, NULL, data, MANY, 1, &ref), &f->err);
    bson_t *filter = BCON_NEW("store", BCON_UTF8("alt"));
    o.multi = true;
    assert_ok(ash_collection_update(f->files, filter, &value, &o, NULL, &f->err), &f->err);
    assert_true(damaged(f) > 1);
    assert_ok(support_try(f, c, NULL, data, MANY, 2, NULL), &f->err);
    assert_int_equal(damaged(f), 0);
    support_expect(f, &ref.id, data, MANY);
    bson_destroy(filter);
    bson_destroy(broken);
    ash__contents_free(c);
    ash__free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_content_pieces__bytes_in_front_store_one_piece_more,
                                        support_setup, support_teardown),
        cmocka_unit_test_setup_teardown(test_content_pieces__new_pieces_are_deltas, support_setup,
                                        support_teardown),
        cmocka_unit_test_setup_teardown(test_content_pieces__strange_bytes_and_then_known_ones,
                                        support_setup, support_teardown),
        cmocka_unit_test_setup_teardown(test_content_pieces__blocks_do_not_wait_for_the_disk,
                                        support_setup, support_teardown),
        cmocka_unit_test_setup_teardown(test_content_pieces__ranges, support_setup,
                                        support_teardown),
        cmocka_unit_test_setup_teardown(test_content_pieces__lists_of_lists, support_setup,
                                        support_teardown),
        cmocka_unit_test_setup_teardown(test_content_pieces__nothing_follows_lost_bytes,
                                        support_setup, support_teardown),
        cmocka_unit_test_setup_teardown(test_content_pieces__pieces_that_cannot_come_are_a_conflict,
                                        support_setup, support_teardown),
        cmocka_unit_test_setup_teardown(test_content_pieces__dates_are_the_stores, support_setup,
                                        support_teardown),
        cmocka_unit_test_setup_teardown(test_content_pieces__a_slow_upload_keeps_its_pieces,
                                        support_setup, support_teardown),
        cmocka_unit_test_setup_teardown(test_content_pieces__a_put_heals_pieces, support_setup,
                                        support_teardown),
        cmocka_unit_test_setup_teardown(test_content_pieces__a_piece_heals_what_stands_on_it,
                                        support_setup, support_teardown),
        cmocka_unit_test_setup_teardown(test_content_pieces__nothing_stands_on_wrong_bytes,
                                        support_setup, support_teardown),
        cmocka_unit_test_setup_teardown(test_content_pieces__a_put_heals_lists, support_setup,
                                        support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
