/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <stdio.h>
#include <string.h>

static ash_alter *open_alter(fixture *f, const bson_value_t *id)
{
    ash_alter *a = NULL;
    assert_ok(ash_bucket_open_alter(f->bucket, id, NULL, &a, &f->err), &f->err);
    return a;
}

static void finish(fixture *f, ash_alter *a)
{
    assert_ok(ash_alter_finish(a, NULL, &f->err), &f->err);
    ash_alter_free(a);
}

static void test_bucket_alter__append_write_truncate(void **state)
{
    fixture *f = *state;
    bson_value_t id = support_int_id(1);
    assert_ok(support_put_with(f, &id, "f", "hello", 5, NULL), &f->err);
    ash_alter *a = open_alter(f, &id);
    assert_ok(ash_alter_append(a, ", world, and more", 17, &f->err), &f->err);
    assert_int_equal(ash_alter_length(a), 22);
    support_expect(f, &id, "hello", 5);
    finish(f, a);
    support_expect(f, &id, "hello, world, and more", 22);
    a = open_alter(f, &id);
    assert_ok(ash_alter_write(a, 7, "WORLD", 5, &f->err), &f->err);
    finish(f, a);
    support_expect(f, &id, "hello, WORLD, and more", 22);
    a = open_alter(f, &id);
    assert_ok(ash_alter_truncate(a, 3, &f->err), &f->err);
    assert_ok(ash_alter_truncate(a, 8, &f->err), &f->err);
    finish(f, a);
    support_expect(f, &id, "hel\0\0\0\0\0", 8);
    a = open_alter(f, &id);
    assert_ok(ash_alter_truncate(a, 0, &f->err), &f->err);
    finish(f, a);
    support_expect(f, &id, "", 0);
    assert_int_equal(support_count(f->chunks, "{}"), 0);
}

static void test_bucket_alter__keeps_id_date_and_revision(void **state)
{
    fixture *f = *state;
    bson_value_t id = support_int_id(1);
    ash_file *before = NULL;
    ash_file *after = NULL;
    assert_ok(support_put_with(f, &id, "f", "old", 3, NULL), &f->err);
    support_put(f, "f", "newer", 5, NULL);
    assert_ok(ash_bucket_get_file(f->bucket, &id, true, &before, &f->err), &f->err);
    ash_alter *a = open_alter(f, &id);
    assert_ok(ash_alter_append(a, "!", 1, &f->err), &f->err);
    assert_ok(ash_alter_finish(a, &after, &f->err), &f->err);
    ash_alter_free(a);
    assert_int_equal(ash_file_upload_date_ms(before), ash_file_upload_date_ms(after));
    assert_int_equal(ash_file_length(after), 4);
    assert_null(ash_file_sha256(after));
    support_expect_name(f, "f", 0, "old!", 4);
    support_expect_name(f, "f", -1, "newer", 5);
    ash_file_free(before);
    ash_file_free(after);
}

/* So many that they do not fit into memory, and are written early. */
static ash_alter *change_every_chunk(fixture *f, const bson_value_t *id, const uint8_t *data,
                                     int64_t len)
{
    assert_ok(support_put_with(f, id, "f", data, (size_t)len, NULL), &f->err);
    ash_alter *a = open_alter(f, id);
    for (int64_t at = 0; at < len; at += CHUNK)
        assert_ok(ash_alter_write(a, at, "x", 1, &f->err), &f->err);
    return a;
}

/* Chunks that were written early are in the store, and can be lost there like any others. */
static void test_bucket_alter__a_lost_chunk_is_noticed(void **state)
{
    fixture *f = *state;
    bson_value_t id = support_int_id(1);
    uint8_t *data = support_bytes(40000, 1);
    ash_alter *a = change_every_chunk(f, &id, data, 40000);
    assert_int_equal(support_count(f->chunks, "{\"files_id\": {\"$ne\": 1}, \"n\": 5}"), 1);
    support_remove(f->chunks, "{\"files_id\": {\"$ne\": 1}, \"n\": 5}");
    assert_int_equal(ash_alter_finish(a, NULL, &f->err), ASH_ECONFLICT);
    ash_alter_free(a);
    support_expect(f, &id, data, 40000);
    assert_int_equal(support_count(f->chunks, "{}"), 2500);
    ash__free(data);
}

static void test_bucket_alter__free_before_finish_changes_nothing(void **state)
{
    fixture *f = *state;
    bson_value_t id = support_int_id(1);
    uint8_t *data = support_bytes(40000, 1);
    ash_alter *a = change_every_chunk(f, &id, data, 40000);
    assert_int_equal(support_count(f->chunks, "{\"files_id\": 1}"), 2500);
    ash_alter_free(a);
    assert_int_equal(support_count(f->chunks, "{}"), 2500);
    support_expect(f, &id, data, 40000);
    ash__free(data);
}

static void test_bucket_alter__second_of_two_conflicts(void **state)
{
    fixture *f = *state;
    bson_value_t id = support_int_id(1);
    assert_ok(support_put_with(f, &id, "f", "base", 4, NULL), &f->err);
    ash_alter *first = open_alter(f, &id);
    ash_alter *second = open_alter(f, &id);
    assert_ok(ash_alter_write(first, 0, "1", 1, &f->err), &f->err);
    assert_ok(ash_alter_write(second, 0, "2", 1, &f->err), &f->err);
    finish(f, first);
    assert_int_equal(ash_alter_finish(second, NULL, &f->err), ASH_ECONFLICT);
    assert_int_equal(ash_alter_finish(second, NULL, &f->err), ASH_ESTATE);
    ash_alter_free(second);
    support_expect(f, &id, "1ase", 4);
    first = open_alter(f, &id);
    assert_ok(ash_bucket_delete(f->bucket, &id, NULL, &f->err), &f->err);
    assert_int_equal(ash_alter_finish(first, NULL, &f->err), ASH_ECONFLICT);
    ash_alter_free(first);
    assert_int_equal(support_count(f->chunks, "{}"), 0);
}

static void test_bucket_alter__bad_arguments(void **state)
{
    fixture *f = *state;
    bson_value_t id = support_int_id(1);
    ash_alter *a = NULL;
    assert_int_equal(ash_bucket_open_alter(f->bucket, &id, NULL, &a, &f->err), ASH_ENOTFOUND);
    assert_ok(support_put_with(f, &id, "f", "base", 4, NULL), &f->err);
    a = open_alter(f, &id);
    assert_int_equal(ash_alter_write(a, -1, "x", 1, &f->err), ASH_EINVAL);
    assert_int_equal(ash_alter_write(a, 5, "x", 1, &f->err), ASH_EINVAL);
    assert_int_equal(ash_alter_truncate(a, -1, &f->err), ASH_EINVAL);
    assert_int_equal(ash_alter_truncate(a, INT64_MAX, &f->err), ASH_ETOOBIG);
    assert_ok(ash_alter_write(a, 4, "x", 1, &f->err), &f->err);
    finish(f, a);
    assert_int_equal(ash_bucket_open_alter(f->bucket, &id, NULL, &a, &f->err), 0);
    finish(f, a);
    support_expect(f, &id, "basex", 5);
}

/* ---- against an array of bytes ---- */

#define MODEL_MAX 60000

typedef struct model {
    uint8_t bytes[MODEL_MAX];
    int64_t length;
    uint32_t random;
} model;

static uint32_t next(model *m, uint32_t below)
{
    m->random = m->random * 1664525u + 1013904223u;
    return (m->random >> 8) % below;
}

static void random_write(fixture *f, model *m, ash_alter *a)
{
    uint8_t data[3000];
    int64_t at = next(m, 4) == 0 ? m->length : (int64_t)next(m, (uint32_t)m->length + 1);
    size_t len = next(m, 3) == 0 ? next(m, sizeof data) : next(m, 40);
    if (at + (int64_t)len > MODEL_MAX)
        len = (size_t)(MODEL_MAX - at);
    for (size_t i = 0; i < len; i++)
        data[i] = (uint8_t)next(m, 256);
    assert_ok(ash_alter_write(a, at, data, len, &f->err), &f->err);
    memcpy(m->bytes + at, data, len);
    if (at + (int64_t)len > m->length)
        m->length = at + (int64_t)len;
}

static void random_truncate(fixture *f, model *m, ash_alter *a)
{
    int64_t length = (int64_t)next(m, MODEL_MAX);
    assert_ok(ash_alter_truncate(a, length, &f->err), &f->err);
    if (length > m->length)
        memset(m->bytes + m->length, 0, (size_t)(length - m->length));
    m->length = length;
}

static void run_model(fixture *f, uint32_t seed)
{
    bson_value_t id = support_int_id((int32_t)seed);
    model *m = ash__new(model);
    m->random = seed;
    assert_ok(support_put_with(f, &id, "model", "", 0, NULL), &f->err);
    for (int round = 0; round < 12; round++) {
        ash_alter *a = open_alter(f, &id);
        uint32_t steps = next(m, 40);
        for (uint32_t i = 0; i < steps; i++) {
            if (next(m, 8) == 0)
                random_truncate(f, m, a);
            else
                random_write(f, m, a);
            assert_int_equal(ash_alter_length(a), m->length);
        }
        finish(f, a);
        support_expect(f, &id, m->bytes, (size_t)m->length);
    }
    assert_ok(ash_bucket_delete(f->bucket, &id, NULL, &f->err), &f->err);
    assert_int_equal(support_count(f->chunks, "{}"), 0);
    ash__free(m);
}

static void test_bucket_alter__random_writes_against_an_array(void **state)
{
    /* More changed chunks than memory holds: the chunks of 16 bytes make staging ordinary. */
    for (uint32_t seed = 1; seed <= 4; seed++) {
        print_message("# seed %u\n", seed);
        run_model(*state, seed);
    }
}

int main(void)
{
#define T(name)                                                                                    \
    cmocka_unit_test_setup_teardown(test_bucket_alter__##name, support_setup, support_teardown)
    const struct CMUnitTest tests[] = {
        T(append_write_truncate),          T(keeps_id_date_and_revision),
        T(a_lost_chunk_is_noticed),        T(free_before_finish_changes_nothing),
        T(second_of_two_conflicts),        T(bad_arguments),
        T(random_writes_against_an_array),
    };
    return cmocka_run_group_tests_name("bucket alter", tests, NULL, NULL);
}
