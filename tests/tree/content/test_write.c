/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <string.h>

/* Contents as they are written: which form, how often, and back again. */

/* Around every limit: in the file, in the document, one chunk, several, pieces. */
static void test_content_write__every_length_comes_back(void **state)
{
    static const size_t lengths[] = {0,     1,          19,     20,         199,    200,   201,
                                     4096,  7167,       7168,   7169,       65535,  65536, 65537,
                                     40000, 255 * 1024, 196608, 300 * 1024, 1000003};
    fixture *f = *state;
    for (size_t i = 0; i < ASH_ARRAY_LEN(lengths); i++) {
        for (int kind = 0; kind < 2; kind++) {
            uint8_t *data = kind == 0 ? support_noise(lengths[i], (uint32_t)i)
                                      : support_text(lengths[i], (uint32_t)i);
            ash_content_id id = support_put(f, data, lengths[i], (int32_t)(2 * i) + kind, NULL);
            assert_int_equal(id.len, lengths[i] <= 200 ? 0 : 32);
            if (id.len != 0)
                support_expect(f, &id, data, lengths[i]);
            ash__free(data);
        }
    }
}

static void test_content_write__equal_bytes_are_kept_once(void **state)
{
    fixture *f = *state;
    uint8_t *data = support_text(20000, 1);
    ash_content_id a = support_put(f, data, 20000, 1, NULL);
    ash_content_id b = support_put(f, data, 20000, 2, NULL);
    assert_true(ash__content_id_equal(&a, &b));
    assert_int_equal(support_count(f->files), 1);
    bson_t *doc = support_document(f, &a);
    bson_iter_t it, refs;
    int n = 0;
    assert_true(bson_iter_init_find(&it, doc, "refs") && bson_iter_recurse(&it, &refs));
    while (bson_iter_next(&refs))
        assert_int_equal(bson_iter_int32(&refs), ++n);
    assert_int_equal(n, 2);
    bson_destroy(doc);
    support_drop(f, 1, &a);
    doc = support_document(f, &a);
    assert_true(bson_iter_init_find(&it, doc, "refs") && bson_iter_recurse(&it, &refs));
    assert_true(bson_iter_next(&refs));
    assert_int_equal(bson_iter_int32(&refs), 2);
    assert_false(bson_iter_next(&refs));
    assert_true(bson_iter_init_find(&it, doc, "refHistory") && bson_iter_recurse(&it, &refs));
    for (n = 0; bson_iter_next(&refs); n++)
        ;
    assert_int_equal(n, 2);
    bson_destroy(doc);
    ash__free(data);
}

static void test_content_write__forms_are_chosen_by_what_they_save(void **state)
{
    fixture *f = *state;
    uint8_t *noise = support_noise(5000, 1), *text = support_text(60000, 1);
    uint8_t *more = support_noise(20000, 2); /* nothing of the other in it */
    ash_content_id id = support_put(f, noise, 5000, 1, NULL);
    assert_string_equal(support_store_of(f, &id), "in");
    id = support_put(f, more, 20000, 2, NULL);
    assert_string_equal(support_store_of(f, &id), "");
    assert_int_equal(support_field(f, &id, "length"), 20000);
    id = support_put(f, text, 60000, 3, NULL);
    assert_string_equal(support_store_of(f, &id), "zstd");
    assert_int_equal(support_field(f, &id, "size"), 60000);
    ash__free(noise);
    ash__free(more);
    ash__free(text);
}

/* Each version stands on the one before, no chain is longer than the cap, and all can be read. */
static void test_content_write__versions_are_deltas(void **state)
{
    fixture *f = *state;
    enum { VERSIONS = 30, LEN = 30000 };
    uint8_t *data = support_noise(LEN, 1);
    ash_content_id ids[VERSIONS];
    for (int i = 0; i < VERSIONS; i++) {
        memcpy(data + 1000 * i, "changed here", 12);
        ids[i] = support_put(f, data, LEN, 1, i > 0 ? &ids[i - 1] : NULL);
        if (i > 0) {
            assert_string_equal(support_store_of(f, &ids[i]), "delta");
            assert_in_range(support_field(f, &ids[i], "depth"), 1, 16);
        }
    }
    for (int i = VERSIONS - 1; i >= 0; i--) {
        support_expect(f, &ids[i], data, LEN);
        uint8_t *first = support_noise(LEN, 1);
        memcpy(data + 1000 * i, first + 1000 * i, 12);
        ash__free(first);
    }
    ash__free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_content_write__every_length_comes_back, support_setup,
                                        support_teardown),
        cmocka_unit_test_setup_teardown(test_content_write__equal_bytes_are_kept_once,
                                        support_setup, support_teardown),
        cmocka_unit_test_setup_teardown(test_content_write__forms_are_chosen_by_what_they_save,
                                        support_setup, support_teardown),
        cmocka_unit_test_setup_teardown(test_content_write__versions_are_deltas, support_setup,
                                        support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
