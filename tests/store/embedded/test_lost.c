/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include "base/file.h"

#include <errno.h>
#include <string.h>

/* Writes whose commit fails did not happen, and their results say so. */

static int full_disk(int fd)
{
    (void)fd;
    errno = ENOSPC;
    return -1;
}

static void fill_disk(void)
{
    static ash_io io;
    io = ash__io_system;
    io.fdatasync = full_disk;
    ash__io_set(&io);
}

enum { DOCS = 3, BYTES = 50000 };

static int insert_chunks(fixture *f, int file, ash_write_result *r)
{
    ash_insert_options opts = ASH_INSERT_OPTIONS_INIT;
    bson_t *docs[DOCS];
    ash_doc views[DOCS];
    opts.op.durability = ASH_DURABILITY_EVERY;
    for (int i = 0; i < DOCS; i++) {
        docs[i] = fixture_chunk(file, i, 1, BYTES);
        views[i] = (ash_doc){bson_get_data(docs[i]), docs[i]->len};
    }
    ash_write_result_init(r);
    int rc = ash_collection_insert(f->c, views, DOCS, &opts, r, &f->err);
    for (int i = 0; i < DOCS; i++)
        bson_destroy(docs[i]);
    return rc;
}

static void test_embedded_lost__insert_counts_nothing(void **state)
{
    fixture *f = *state;
    ash_write_result r;
    assert_ok(insert_chunks(f, 1, &r), &f->err);
    assert_int_equal(r.inserted, DOCS);
    ash_write_result_release(&r);
    fill_disk();
    assert_int_equal(insert_chunks(f, 2, &r), ASH_ENOSPC);
    ash__io_set(NULL);
    assert_int_equal(r.inserted, 0);
    ash_write_result_release(&r);
    assert_int_equal(fixture_count(f, f->c, "{}"), DOCS);
}

/* Document 0 is in the store already, 1 and 2 are new. */
static int insert_mixed(fixture *f, bool unordered, ash_write_result *r)
{
    ash_insert_options opts = ASH_INSERT_OPTIONS_INIT;
    bson_t *docs[DOCS];
    ash_doc views[DOCS];
    opts.op.durability = ASH_DURABILITY_EVERY;
    opts.unordered = unordered;
    for (int i = 0; i < DOCS; i++) {
        docs[i] = fixture_chunk(unordered ? (i == 0 ? 1 : 2) : (i == 2 ? 1 : 2),
                                i == 0 || i == 2 ? 0 : i, 1, BYTES);
        views[i] = (ash_doc){bson_get_data(docs[i]), docs[i]->len};
    }
    ash_write_result_init(r);
    int rc = ash_collection_insert(f->c, views, DOCS, &opts, r, &f->err);
    for (int i = 0; i < DOCS; i++)
        bson_destroy(docs[i]);
    return rc;
}

static int32_t code_of(const ash_write_result *r, int index)
{
    bson_iter_t it, field;
    assert_true(bson_iter_init(&it, &r->errors));
    while (bson_iter_next(&it)) {
        assert_true(bson_iter_recurse(&it, &field) && bson_iter_find(&field, "index"));
        if (bson_iter_int32(&field) != index)
            continue;
        assert_true(bson_iter_recurse(&it, &field) && bson_iter_find(&field, "code"));
        return bson_iter_int32(&field);
    }
    return 0;
}

static void test_embedded_lost__unordered_insert_tells_of_each_document(void **state)
{
    fixture *f = *state;
    ash_write_result r;
    assert_ok(insert_chunks(f, 1, &r), &f->err);
    ash_write_result_release(&r);
    fill_disk();
    int rc = insert_mixed(f, true, &r);
    ash__io_set(NULL);
    assert_int_equal(rc, ASH_ENOSPC);
    assert_int_equal(r.inserted, 0);
    assert_int_equal(r.error_count, DOCS);
    assert_int_equal(code_of(&r, 0), 11000);
    assert_int_equal(code_of(&r, 1), 14031);
    assert_int_equal(code_of(&r, 2), 14031);
    ash_write_result_release(&r);
    assert_int_equal(fixture_count(f, f->c, "{}"), DOCS);
}

static void test_embedded_lost__ordered_insert_tells_of_the_disk_first(void **state)
{
    fixture *f = *state;
    ash_write_result r;
    assert_ok(insert_chunks(f, 1, &r), &f->err);
    ash_write_result_release(&r);
    fill_disk();
    int rc = insert_mixed(f, false, &r);
    ash__io_set(NULL);
    assert_int_equal(rc, ASH_ENOSPC);
    assert_int_equal(r.inserted, 0);
    assert_int_equal(r.error_count, 0);
    ash_write_result_release(&r);
}

static int enlarge(fixture *f, bool multi, ash_write_result *r)
{
    ash_update_options opts = ASH_UPDATE_OPTIONS_INIT;
    char *large = malloc(BYTES);
    bson_t filter = BSON_INITIALIZER, set = BSON_INITIALIZER, fields;
    bson_value_t update = {.value_type = BSON_TYPE_DOCUMENT};
    memset(large, 'x', BYTES);
    bson_append_document_begin(&set, "$set", -1, &fields);
    bson_append_utf8(&fields, "large", -1, large, BYTES);
    bson_append_document_end(&set, &fields);
    update.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(&set);
    update.value.v_doc.data_len = set.len;
    opts.multi = multi;
    opts.op.durability = ASH_DURABILITY_EVERY;
    ash_write_result_init(r);
    fill_disk();
    int rc = ash_collection_update(f->c, &filter, &update, &opts, r, &f->err);
    ash__io_set(NULL);
    bson_destroy(&filter);
    bson_destroy(&set);
    free(large);
    return rc;
}

static void test_embedded_lost__update_counts_nothing(void **state)
{
    fixture *f = *state;
    ash_write_result r;
    assert_int_equal(fixture_insert(f, f->c, "{\"_id\": 1}"), 0);
    assert_int_equal(fixture_insert(f, f->c, "{\"_id\": 2}"), 0);
    for (int multi = 0; multi < 2; multi++) {
        assert_int_equal(enlarge(f, multi == 1, &r), ASH_ENOSPC);
        assert_int_equal(r.matched, 0);
        assert_int_equal(r.modified, 0);
        ash_write_result_release(&r);
        assert_int_equal(fixture_count(f, f->c, "{\"large\": {\"$exists\": true}}"), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EMBEDDED(test_embedded_lost__insert_counts_nothing),
        EMBEDDED(test_embedded_lost__unordered_insert_tells_of_each_document),
        EMBEDDED(test_embedded_lost__ordered_insert_tells_of_the_disk_first),
        EMBEDDED(test_embedded_lost__update_counts_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
