/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "base/hash.h"
#include "base/mem.h"
#include "bson/keycode.h"
#include "samples.h"

#include <stdio.h>
#include <string.h>

typedef struct extracted {
    ash_key_set set;
    int rc;
    ash_error err;
} extracted;

static void extract(extracted *x, const char *pattern, bool sparse, const char *doc)
{
    ash_key_pattern p;
    ash_error err = ASH_ERROR_INIT;
    bson_t *key = sample_json(pattern);
    bson_t *b = sample_json(doc);
    memset(x, 0, sizeof *x);
    assert_ok(ash__key_pattern_parse(key, sparse, NULL, &p, &err), &err);
    x->rc = ash__keys_extract(&p, ash__doc_from_bson(b), &x->set, &x->err);
    ash__key_pattern_release(&p);
    bson_destroy(key);
    bson_destroy(b);
}

/* want: an array of the keys, each an array of its parts; "$empty" stands for the empty array. */
static void expected_key(ash_buffer *out, ash_doc parts)
{
    for (ash_doc_iter it = ash__doc_iter(parts); ash__doc_iter_next(&it);) {
        if (it.value.type == BSON_TYPE_UTF8 &&
            strcmp(ash__value_string(it.value, NULL), "$empty") == 0)
            ash__keycode_append_empty_array(out, false);
        else
            ash__keycode_append(out, it.value, false, NULL);
    }
}

static void check_keys(const char *pattern, const char *doc, const char *want, bool multikey)
{
    extracted x;
    extract(&x, pattern, false, doc);
    if (x.rc != 0)
        fail_msg("%s of %s: %s", pattern, doc, x.err.text);
    bson_t *list = sample_json(want);
    ash_buffer all = ASH_BUFFER_INIT;
    uint32_t count = 0;
    ash_doc keys = ash__value_doc(sample_v(list));
    for (ash_doc_iter it = ash__doc_iter(keys); ash__doc_iter_next(&it); count++) {
        size_t start = all.len;
        expected_key(&all, ash__value_doc(it.value));
        if (count < x.set.count) {
            ash_doc got = ash__key_set_at(&x.set, count);
            if (got.len != all.len - start || memcmp(got.data, all.data + start, got.len) != 0)
                fail_msg("%s of %s: key %u differs from %s", pattern, doc, count, want);
        }
    }
    if (x.set.count != count || x.set.multikey != multikey)
        fail_msg("%s of %s: %u keys, multikey %d", pattern, doc, x.set.count, x.set.multikey);
    ash__buffer_release(&all);
    bson_destroy(list);
    ash__key_set_release(&x.set);
}

static void check_refused(const char *pattern, const char *doc, int32_t code)
{
    extracted x;
    extract(&x, pattern, false, doc);
    assert_int_equal(x.rc, ASH_EINVAL);
    assert_int_equal(ash_error_server_code(&x.err), code);
    assert_int_equal(x.set.count, 0);
    ash__key_set_release(&x.set);
}

static void test_bson_keys__plain(void **state)
{
    (void)state;
    check_keys("{'a': 1}", "{'a': 5}", "{'v': [[5]]}", false);
    check_keys("{'a': 1}", "{'b': 5}", "{'v': [[null]]}", false);
    check_keys("{'a': 1, 'b': 1}", "{'b': 'x', 'a': 5}", "{'v': [[5, 'x']]}", false);
    check_keys("{'a.b': 1}", "{'a': {'b': {'c': 1}}}", "{'v': [[{'c': 1}]]}", false);
    check_keys("{'a.b': 1}", "{'a': 5}", "{'v': [[null]]}", false);
}

static void test_bson_keys__arrays(void **state)
{
    (void)state;
    check_keys("{'a': 1}", "{'a': [3, 1, 2, 1]}", "{'v': [[1], [2], [3]]}", true);
    check_keys("{'a': 1}", "{'a': []}", "{'v': [['$empty']]}", true);
    check_keys("{'a': 1}", "{'a': [[], [1, 2], 4]}", "{'v': [[4], [[]], [[1, 2]]]}", true);
    check_keys("{'a.b': 1}", "{'a': [{'b': 1}, {'b': [2, 3]}, {}]}",
               "{'v': [[null], [1], [2], [3]]}", true);
    check_keys("{'a.b': 1}", "{'a': [5]}", "{'v': [[null]]}", true);
    check_keys("{'a.b': 1}", "{'a': []}", "{'v': [[null]]}", true);
    check_keys("{'a': 1, 'b': 1}", "{'a': [1, 2], 'b': 7}", "{'v': [[1, 7], [2, 7]]}", true);
    check_keys("{'a.b': 1, 'a.c': 1}", "{'a': [{'b': 1, 'c': 2}, {'b': 3}]}",
               "{'v': [[1, 2], [3, null]]}", true);
    check_keys("{'a': 1, 'a.b': 1}", "{'a': [{'b': 1}]}", "{'v': [[{'b': 1}, 1]]}", true);
    check_keys("{'a.b.c': 1}", "{'a': [{'b': [{'c': 1}, {'c': 2}]}, {'b': []}]}",
               "{'v': [[null], [1], [2]]}", true);
}

static void test_bson_keys__positions(void **state)
{
    (void)state;
    check_keys("{'a.0': 1}", "{'a': [5, 6]}", "{'v': [[5]]}", false);
    check_keys("{'a.0': 1}", "{'a': [[5, 6]]}", "{'v': [[[5, 6]]]}", false);
    check_keys("{'a.2': 1}", "{'a': [5, 6]}", "{'v': [[null]]}", true);
    check_keys("{'a.0.b': 1}", "{'a': [{'b': 5}, {'b': 6}]}", "{'v': [[5]]}", false);
    check_keys("{'a.0.b': 1}", "{'a': [[{'b': 5}, {'b': 6}]]}", "{'v': [[5], [6]]}", true);
    check_keys("{'a.0.b': 1, 'a.b': 1}", "{'a': [{'b': 5}, {'b': 6}]}", "{'v': [[5, 5], [5, 6]]}",
               true);
    check_keys("{'a.0': 1}", "{'a': {'0': 5}}", "{'v': [[5]]}", false);
    check_refused("{'a.0': 1}", "{'a': [5, {'0': 6}]}", 16746);
}

static void test_bson_keys__refusals(void **state)
{
    (void)state;
    check_refused("{'a': 1, 'b': 1}", "{'a': [1], 'b': [2]}", 171);
    check_refused("{'a': 1, 'b': 1}", "{'a': [1, 2], 'b': []}", 171);
    check_refused("{'a.b': 1, 'a.c': 1}", "{'a': [{'b': [1], 'c': [2]}]}", 171);
    check_refused("{'a': 'hashed'}", "{'a': [1]}", 16766);
}

static void test_bson_keys__too_many_bytes(void **state)
{
    (void)state;
    extracted x;
    size_t len = 1024 * 1024;
    char *doc = ash__alloc(len + 1024);
    memset(doc, 'x', len);
    memcpy(doc, "{'b': '", 7);
    strcpy(doc + len, "', 'a': [0");
    for (int i = 1; i < 70; i++)
        sprintf(doc + strlen(doc + len) + len, ", %d", i);
    strcat(doc + len, "]}");
    extract(&x, "{'a': 1, 'b': 1}", false, doc);
    assert_int_equal(x.rc, ASH_ETOOBIG);
    assert_int_equal(ash_error_server_code(&x.err), 201);
    assert_int_equal(x.set.count, 0);
    ash__key_set_release(&x.set);
    ash__free(doc);
}

static void check_sparse(const char *pattern, const char *doc, uint32_t want)
{
    extracted x;
    extract(&x, pattern, true, doc);
    assert_int_equal(x.rc, 0);
    assert_int_equal(x.set.count, want);
    ash__key_set_release(&x.set);
}

static void test_bson_keys__sparse(void **state)
{
    (void)state;
    check_sparse("{'a': 1}", "{'b': 1}", 0);
    check_sparse("{'a': 1}", "{'a': null}", 1);
    check_sparse("{'a': 1}", "{'a': []}", 1);
    check_sparse("{'a': 1, 'b': 1}", "{'b': 1}", 1);
    check_sparse("{'a': 1, 'b': 1}", "{'c': 1}", 0);
    check_sparse("{'a.b': 1}", "{'a': [{'b': 1}, {}]}", 1);
}

static void test_bson_keys__descending_and_hashed(void **state)
{
    (void)state;
    extracted x;
    ash_value_box box;
    ash_buffer want = ASH_BUFFER_INIT;
    extract(&x, "{'a': -1, 'b': 'hashed'}", false, "{'a': 5, 'b': 'x'}");
    ash__keycode_append(&want, ash__box_int32(&box, 5), true, NULL);
    bson_t *b = sample_json("{'v': 'x'}");
    ash__keycode_append_hash(&want, sample_v(b), false, NULL);
    assert_int_equal(x.set.bytes.len, want.len);
    assert_memory_equal(x.set.bytes.data, want.data, want.len);
    bson_destroy(b);
    ash__buffer_release(&want);
    ash__key_set_release(&x.set);
}

static void check_pattern_refused(const char *json)
{
    ash_key_pattern p;
    ash_error err = ASH_ERROR_INIT;
    bson_t *key = sample_json(json);
    assert_int_equal(ash__key_pattern_parse(key, false, NULL, &p, &err), ASH_EINVAL);
    assert_int_equal(ash_error_server_code(&err), 67);
    bson_destroy(key);
}

static void test_bson_keys__patterns(void **state)
{
    (void)state;
    ash_key_pattern p;
    ash_error err = ASH_ERROR_INIT;
    bson_t *key = sample_json("{'_id': -1}");
    const ash_collation folded = {.ignore_case = true};
    assert_ok(ash__key_pattern_parse(key, true, &folded, &p, &err), &err);
    assert_true(p.is_id && p.sparse && p.has_collation && p.parts[0].descending);
    ash__key_pattern_release(&p);
    bson_destroy(key);
    const char *bad[] = {"{}",
                         "{'a': 0}",
                         "{'': 1}",
                         "{'a..b': 1}",
                         "{'$a': 1}",
                         "{'a.$b': 1}",
                         "{'a': 'x'}",
                         "{'a': {}}",
                         "{'$**': 1}",
                         "{'a.': 1}",
                         "{'a': 'hashed', 'b': 'hashed'}"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(bad); i++)
        check_pattern_refused(bad[i]);
    key = sample_json("{'a.$id': 1, 'b': 2.5}");
    assert_ok(ash__key_pattern_parse(key, false, NULL, &p, &err), &err);
    ash__key_pattern_release(&p);
    bson_destroy(key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bson_keys__plain),
        cmocka_unit_test(test_bson_keys__arrays),
        cmocka_unit_test(test_bson_keys__positions),
        cmocka_unit_test(test_bson_keys__refusals),
        cmocka_unit_test(test_bson_keys__too_many_bytes),
        cmocka_unit_test(test_bson_keys__sparse),
        cmocka_unit_test(test_bson_keys__descending_and_hashed),
        cmocka_unit_test(test_bson_keys__patterns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
