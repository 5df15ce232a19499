/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "base/mem.h"
#include "remove_folder.h"

#include <ashlar/ashlar.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Plays a program that was built when a public struct ended earlier, once for each of its fields:
 * what lies behind its end is somebody else's, and must be neither taken for a field nor written.
 */

enum { ROOM = 512, POISON = 0xff };

typedef struct fixture {
    char *folder;
    ash_store *store;
    ash_collection *c;
    ash_bucket *bucket;
    ash_error err;
} fixture;

static void insert(fixture *f, int32_t n)
{
    bson_t *doc = BCON_NEW("_id", BCON_INT32(n), "a", BCON_INT32(1));
    assert_ok(ash_collection_insert_one(f->c, doc, NULL, &f->err), &f->err);
    bson_destroy(doc);
}

static int setup(void **state)
{
    fixture *f = ash__new(fixture);
    f->folder = ash__strdup("/tmp/ashlar-abi-XXXXXX");
    if (mkdtemp(f->folder) == NULL)
        return -1;
    assert_ok(ash_store_open(f->folder, NULL, &f->store, &f->err), &f->err);
    assert_ok(ash_collection_new(f->store, "test", "c", &f->c, &f->err), &f->err);
    assert_ok(ash_bucket_new(f->store, NULL, &f->bucket, &f->err), &f->err);
    for (int32_t n = 0; n < 5; n++)
        insert(f, n);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    ash_bucket_free(f->bucket);
    ash_collection_free(f->c);
    ash_store_close(f->store);
    remove_folder(f->folder);
    ash__free(f->folder);
    ash__free(f);
    return 0;
}

/* Where a struct could have ended: behind each of its fields. */
#define END(type, field) (offsetof(type, field) + sizeof(((type *)0)->field))

static const size_t OP_ENDS[] = {
    END(ash_op, size),        END(ash_op, transaction),     END(ash_op, durability),
    END(ash_op, deadline_ms), END(ash_op, cancel),          END(ash_op, retry),
    END(ash_op, reader),      END(ash_op, at_time),         END(ash_op, read_concern),
    END(ash_op, principal),   END(ash_op, read_preference), END(ash_op, write_concern),
};

static size_t padded(size_t size)
{
    const size_t to = _Alignof(max_align_t) < 8 ? _Alignof(max_align_t) : 8;
    return (size + to - 1) / to * to;
}

/* A struct of options that ends at own_end, with an op that ends at op_end (0: no op), and poison.
 */
typedef union room {
    max_align_t align;
    uint8_t bytes[ROOM];
} room;

static const void *older(room *r, const void *full, size_t own_end, size_t op_at, size_t op_end)
{
    size_t own = padded(own_end), op = padded(op_end);
    memset(r->bytes, POISON, sizeof r->bytes);
    memset(r->bytes, 0, own + op);
    memcpy(r->bytes, full, own_end);
    memcpy(r->bytes, &own, sizeof own);
    if (op_end > 0) {
        memcpy(r->bytes + own, (const uint8_t *)full + op_at, op_end);
        memcpy(r->bytes + own, &op, sizeof op);
    }
    return r->bytes;
}

static int count_found(fixture *f, const ash_find_options *o)
{
    ash_cursor *cursor = NULL;
    ash_doc doc;
    int n = 0;
    assert_ok(ash_collection_find(f->c, NULL, o, &cursor, &f->err), &f->err);
    do {
        assert_ok(ash_cursor_next(cursor, &doc, &f->err), &f->err);
        n += doc.data != NULL;
    } while (doc.data != NULL);
    ash_cursor_free(cursor);
    return n;
}

static void test_abi_sizes__each_end_of_the_op(void **state)
{
    fixture *f = *state;
    for (size_t i = 0; i < sizeof OP_ENDS / sizeof OP_ENDS[0]; i++) {
        room r;
        int64_t count = 0;
        ash_find_options find = ASH_FIND_OPTIONS_INIT;
        ash_count_options counting = ASH_COUNT_OPTIONS_INIT;
        ash_update_options updating = ASH_UPDATE_OPTIONS_INIT;
        bson_t *set = BCON_NEW("$inc", "{", "a", BCON_INT32(1), "}");
        bson_value_t update = {.value_type = BSON_TYPE_DOCUMENT};
        ash_write_result result;
        update.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(set);
        update.value.v_doc.data_len = set->len;
        find.limit = counting.limit = 2;
        updating.multi = true;
        assert_int_equal(count_found(f, older(&r, &find, offsetof(ash_find_options, op),
                                              offsetof(ash_find_options, op), OP_ENDS[i])),
                         2);
        assert_ok(ash_collection_count(f->c, NULL,
                                       older(&r, &counting, offsetof(ash_count_options, op),
                                             offsetof(ash_count_options, op), OP_ENDS[i]),
                                       &count, &f->err),
                  &f->err);
        assert_int_equal(count, 2);
        ash_write_result_init(&result);
        assert_ok(ash_collection_update(f->c, NULL, &update,
                                        older(&r, &updating, offsetof(ash_update_options, op),
                                              offsetof(ash_update_options, op), OP_ENDS[i]),
                                        &result, &f->err),
                  &f->err);
        assert_int_equal(result.modified, 5);
        ash_write_result_release(&result);
        bson_destroy(set);
    }
}

/* An op that is given by itself. */
static void test_abi_sizes__an_op_alone(void **state)
{
    fixture *f = *state;
    ash_op full = ASH_OP_INIT;
    for (size_t i = 0; i < sizeof OP_ENDS / sizeof OP_ENDS[0]; i++) {
        room r;
        bson_t out;
        assert_ok(ash_collection_distinct(f->c, "_id", NULL, NULL,
                                          older(&r, &full, OP_ENDS[i], 0, 0), &out, &f->err),
                  &f->err);
        assert_int_equal(bson_count_keys(&out), 1);
        bson_destroy(&out);
    }
    ash_op none = {0};
    assert_int_equal(ash_collection_drop(f->c, &none, &f->err), ASH_EINVAL);
}

/* Before and behind `limit`, with a whole op. */
static void test_abi_sizes__each_end_of_find(void **state)
{
    static const struct {
        size_t end;
        int expected;
    } ends[] = {
        {END(ash_find_options, size), 5},       {END(ash_find_options, sort), 5},
        {END(ash_find_options, projection), 5}, {END(ash_find_options, hint), 5},
        {END(ash_find_options, collation), 5},  {END(ash_find_options, let), 5},
        {END(ash_find_options, skip), 5},       {END(ash_find_options, limit), 2},
        {END(ash_find_options, batch_size), 2}, {END(ash_find_options, max_await_ms), 2},
        {END(ash_find_options, min), 2},        {offsetof(ash_find_options, op), 2},
    };
    fixture *f = *state;
    ash_find_options find = ASH_FIND_OPTIONS_INIT;
    find.limit = 2;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        room r;
        const void *o =
            older(&r, &find, ends[i].end, offsetof(ash_find_options, op), sizeof(ash_op));
        assert_int_equal(count_found(f, o), ends[i].expected);
    }
}

/* A newer program: what this library does not know is refused when it is set, and only then. */
static void test_abi_sizes__a_newer_program(void **state)
{
    fixture *f = *state;
    struct {
        ash_find_options o;
        uint64_t op_field;
    } newer = {.o = ASH_FIND_OPTIONS_INIT};
    newer.o.limit = 2;
    newer.o.op.size = sizeof(ash_op) + sizeof newer.op_field;
    assert_int_equal(count_found(f, &newer.o), 2);
    ash_cursor *cursor = NULL;
    newer.op_field = 1;
    assert_int_equal(ash_collection_find(f->c, NULL, &newer.o, &cursor, &f->err), ASH_EINVAL);
    assert_null(cursor);
}

static void test_abi_sizes__options_of_buckets(void **state)
{
    static const size_t ends[] = {
        END(ash_upload_options, size),       END(ash_upload_options, metadata),
        END(ash_upload_options, condition),  END(ash_upload_options, fence),
        END(ash_upload_options, ttl_s),      END(ash_upload_options, resume_expiry_s),
        END(ash_upload_options, timeout_ms), END(ash_upload_options, digests),
    };
    fixture *f = *state;
    ash_upload_options full = ASH_UPLOAD_OPTIONS_INIT;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        room r;
        ash_upload *u = NULL;
        ash_finish_options finish = ASH_FINISH_OPTIONS_INIT;
        ash_change_options change = ASH_CHANGE_OPTIONS_INIT;
        assert_ok(ash_bucket_open_upload_stream(f->bucket, "f", older(&r, &full, ends[i], 0, 0), &u,
                                                &f->err),
                  &f->err);
        assert_ok(ash_upload_write(u, "abc", 3, &f->err), &f->err);
        assert_ok(ash_upload_finish_with(u, older(&r, &finish, END(ash_finish_options, size), 0, 0),
                                         NULL, NULL, &f->err),
                  &f->err);
        assert_ok(ash_bucket_delete(f->bucket, ash_upload_id(u),
                                    older(&r, &change, END(ash_change_options, timeout_ms), 0, 0),
                                    &f->err),
                  &f->err);
        ash_upload_free(u);
    }
}

/* ---- what the library writes ---- */

static void expect_untouched(const room *r, size_t from)
{
    for (size_t i = from; i < sizeof r->bytes; i++)
        assert_int_equal(r->bytes[i], POISON);
}

static void *begin_result(room *r, size_t end)
{
    size_t size = padded(end);
    memset(r->bytes, POISON, sizeof r->bytes);
    memset(r->bytes, 0, size);
    memcpy(r->bytes, &size, sizeof size);
    return r->bytes;
}

static void test_abi_sizes__results(void **state)
{
    static const size_t ends[] = {END(ash_capabilities, size), END(ash_capabilities, backend),
                                  sizeof(ash_capabilities)};
    static const size_t sweeps[] = {END(ash_sweep_report, size), END(ash_sweep_report, files),
                                    END(ash_sweep_report, chunks), sizeof(ash_sweep_report)};
    fixture *f = *state;
    room r;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        ash_capabilities *can = begin_result(&r, ends[i]);
        assert_ok(ash_store_capabilities(f->store, can, &f->err), &f->err);
        expect_untouched(&r, padded(ends[i]));
        if (ends[i] > offsetof(ash_capabilities, backend))
            assert_string_equal(can->backend, "embedded");
    }
    for (size_t i = 0; i < sizeof sweeps / sizeof sweeps[0]; i++) {
        assert_ok(ash_bucket_sweep(f->bucket, NULL, begin_result(&r, sweeps[i]), &f->err), &f->err);
        expect_untouched(&r, padded(sweeps[i]));
    }
    ash_capabilities none = {0};
    assert_int_equal(ash_store_capabilities(f->store, &none, &f->err), ASH_EINVAL);
}

static void test_abi_sizes__results_of_writes(void **state)
{
    static const size_t ends[] = {offsetof(ash_write_result, error_count),
                                  END(ash_write_result, error_count)};
    fixture *f = *state;
    bson_t *doc = BCON_NEW("_id", BCON_INT32(0));
    ash_doc view = {bson_get_data(doc), doc->len};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        uint8_t before[sizeof(ash_write_result)];
        ash_write_result r;
        ash_write_result_init(&r);
        r.size = ends[i];
        memset((uint8_t *)&r + ends[i], POISON, sizeof r - ends[i]);
        memcpy(before, &r, sizeof r);
        assert_int_equal(ash_collection_insert(f->c, &view, 1, NULL, &r, &f->err), ASH_EEXISTS);
        assert_memory_equal((uint8_t *)&r + ends[i], before + ends[i], sizeof r - ends[i]);
        assert_int_equal(bson_count_keys(&r.errors), 1);
        if (i == 1)
            assert_int_equal(r.error_count, 1);
        ash_write_result_release(&r);
    }
    bson_destroy(doc);
}

#define SIZES(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SIZES(test_abi_sizes__each_end_of_the_op), SIZES(test_abi_sizes__an_op_alone),
        SIZES(test_abi_sizes__each_end_of_find),   SIZES(test_abi_sizes__a_newer_program),
        SIZES(test_abi_sizes__options_of_buckets), SIZES(test_abi_sizes__results),
        SIZES(test_abi_sizes__results_of_writes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
