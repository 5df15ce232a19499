/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "tree/content/form.h"
#include "tree/content/source.h"

#include <string.h>

/* Lists in lists, as nobody but a hand writes them into a bucket: what is read of them is also kept
 * for them, and deeper ones cost nothing. */

enum { BYTES = 100 };

static void insert(fixture *f, bson_t *doc)
{
    assert_ok(ash_collection_insert_one(f->files, doc, NULL, &f->err), &f->err);
    bson_destroy(doc);
}

static bson_t *with_id(const ash_content_id *id, const char *store)
{
    bson_t *doc = bson_new();
    bson_append_binary(doc, "_id", 3, BSON_SUBTYPE_BINARY, id->bytes, id->len);
    BSON_APPEND_UTF8(doc, "store", store);
    return doc;
}

static ash_content_id put_inside(fixture *f, const void *data, size_t len)
{
    const ash_content_id id = support_id(data, len, ASH_DIGEST_SHA1);
    bson_t *doc = with_id(&id, "in");
    bson_append_binary(doc, "in", 2, BSON_SUBTYPE_BINARY, data, (uint32_t)len);
    insert(f, doc);
    return id;
}

/* The name under which a list says what it takes, and how much of it. */
typedef struct names {
    const char *id, *len;
} names;
static const names bucket = {"_id", "len"}, last = {"sha", "length"};

/* [reference], or a list in a list, so many deep. */
static void append_list(bson_t *to, const ash_content_id *of, const names *called, int deep)
{
    bson_t list, part;
    bson_append_array_begin(to, "base", 4, &list);
    bson_append_document_begin(&list, "0", 1, &part);
    if (deep > 0) {
        BSON_APPEND_UTF8(&part, "store", "cat");
        append_list(&part, of, called, deep - 1);
    } else {
        bson_append_binary(&part, called->id, -1, BSON_SUBTYPE_BINARY, of->bytes, of->len);
        bson_append_int64(&part, called->len, -1, BYTES);
    }
    bson_append_document_end(&list, &part);
    bson_append_array_end(to, &list);
}

/* The same bytes under another digest, which is theirs as well: of the other kind. */
static ash_content_id put_list(fixture *f, const void *data, const ash_content_id *of,
                               const names *called, int deep, bool as_way)
{
    const ash_content_id id = support_id(data, BYTES, ASH_DIGEST_SHA256);
    bson_t *doc = with_id(&id, as_way ? "alt" : "cat"), alt, way;
    if (as_way) {
        bson_append_array_begin(doc, "alt", 3, &alt);
        bson_append_document_begin(&alt, "0", 1, &way);
        BSON_APPEND_UTF8(&way, "store", "cat");
        append_list(&way, of, called, deep);
        bson_append_document_end(&alt, &way);
        bson_append_array_end(doc, &alt);
    } else {
        append_list(doc, of, called, deep);
    }
    insert(f, doc);
    return id;
}

/* Somebody has it. */
static void own(fixture *f, const ash_content_id *id, int32_t owner)
{
    bson_t *doc = BCON_NEW("_id", BCON_INT32(owner));
    bson_append_binary(doc, "sha", 3, BSON_SUBTYPE_BINARY, id->bytes, id->len);
    assert_ok(ash_collection_insert_one(f->tree, doc, NULL, &f->err), &f->err);
    bson_destroy(doc);
}

static void test_content_lists__what_lists_of_lists_name_stays(void **state)
{
    fixture *f = *state;
    const names *const all[] = {&bucket, &last};
    ash_content_id ids[2 * (ASH_FORM_NESTED_MAX + 1)][2];
    uint8_t *data[ASH_ARRAY_LEN(ids)];
    int32_t n = 0;
    for (int deep = 0; deep <= ASH_FORM_NESTED_MAX; deep++)
        for (int way = 0; way < 2; way++, n++) {
            data[n] = support_noise(BYTES, (uint32_t)n + 1);
            ids[n][0] = put_inside(f, data[n], BYTES);
            ids[n][1] = put_list(f, data[n], &ids[n][0], all[(deep + way) % 2], deep, way == 1);
            own(f, &ids[n][1], n);
        }
    assert_int_equal(support_collect(f, true).contents, 0);
    assert_int_equal(support_collect(f, false).contents, 0);
    for (int32_t i = 0; i < n; i++)
        support_expect(f, &ids[i][1], data[i], BYTES);
    for (int32_t i = 0; i < n; i++) {
        bson_t *one = BCON_NEW("_id", BCON_INT32(i));
        assert_ok(ash_collection_remove(f->tree, one, NULL, NULL, &f->err), &f->err);
        bson_destroy(one);
        ash__free(data[i]);
    }
    /* The lists go first, and what they named with the next. */
    int64_t gone = support_collect(f, false).contents;
    gone += support_collect(f, false).contents;
    assert_int_equal(gone, 2 * n);
}

static void expect_corrupt(fixture *f, const ash_content_id *id, const char *why)
{
    const ash_content_ref ref = {.id = *id, .length = BYTES};
    ash_content_reader *r = NULL;
    uint8_t buf[BYTES];
    size_t got = 0;
    int rc = ash__content_open(f->contents, &ref, true, NULL, &r, &f->err);
    if (rc == 0)
        rc = ash__content_reader_read(r, buf, sizeof buf, &got, &f->err);
    ash__content_reader_free(r);
    assert_int_equal(rc, ASH_ECORRUPT);
    if (strstr(f->err.text, why) == NULL)
        fail_msg("'%s' does not say '%s'", f->err.text, why);
}

static void test_content_lists__one_list_more_is_refused(void **state)
{
    fixture *f = *state;
    uint8_t *data = support_noise(BYTES, 1);
    const ash_content_id one = put_inside(f, data, BYTES);
    const ash_content_id list = put_list(f, data, &one, &bucket, ASH_FORM_NESTED_MAX + 1, false);
    expect_corrupt(f, &list, "lists of lists");
    bson_t all = BSON_INITIALIZER;
    assert_ok(ash_collection_remove(f->files, &all, NULL, NULL, &f->err), &f->err);
    const ash_content_id deepest = put_list(f, data, &one, &bucket, 40, true);
    ash_contents_check k = {.deep = true};
    expect_corrupt(f, &deepest, "lists of lists");
    assert_ok(ash__contents_check(f->contents, &k, NULL, &f->err), &f->err);
    assert_int_equal(k.checked, 1);
    ash__free(data);
}

/* Contents, each a list of the one before, deeper than any are read. */
static void test_content_lists__contents_of_contents_end(void **state)
{
    enum { MANY = 40 };
    fixture *f = *state;
    uint8_t *data = support_noise(BYTES, 1);
    ash_content_id ids[MANY];
    ids[0] = put_inside(f, data, BYTES);
    for (int i = 1; i < MANY; i++) {
        ids[i] = (ash_content_id){.bytes = {(uint8_t)i}, .len = 20};
        bson_t *doc = with_id(&ids[i], "cat");
        append_list(doc, &ids[i - 1], &bucket, ASH_FORM_NESTED_MAX);
        insert(f, doc);
    }
    expect_corrupt(f, &ids[ASH_SOURCE_LEVELS_MAX], "without end");
    expect_corrupt(f, &ids[MANY - 1], "without end");
    ash_contents_check k = {.deep = true};
    assert_ok(ash__contents_check(f->contents, &k, NULL, &f->err), &f->err);
    assert_int_equal(k.checked, MANY);
    ash__free(data);
}

/* A byte that is repeated, and the delta before: each would keep its 32 MiB for as long as the next
 * is decoded. */
static void test_content_lists__deltas_gather_no_more_than_is_held(void **state)
{
    enum { DEEP = 60 };
    fixture *f = *state;
    ash_content_id ids[DEEP];
    ids[0] = put_inside(f, "x", 1);
    for (int i = 1; i < DEEP; i++) {
        bson_t list, part;
        ids[i] = (ash_content_id){.bytes = {(uint8_t)i}, .len = 20};
        bson_t *doc = with_id(&ids[i], "delta");
        BSON_APPEND_INT32(doc, "size", BYTES);
        bson_append_binary(doc, "in", 2, BSON_SUBTYPE_BINARY, (const uint8_t *)"frame", 5);
        bson_append_array_begin(doc, "base", 4, &list);
        bson_append_document_begin(&list, "0", 1, &part);
        bson_append_binary(&part, "in", 2, BSON_SUBTYPE_BINARY, (const uint8_t *)"x", 1);
        BSON_APPEND_INT64(&part, "len", ASH_CONTENT_WHOLE_MAX - 1);
        bson_append_document_end(&list, &part);
        bson_append_document_begin(&list, "1", 1, &part);
        bson_append_binary(&part, "_id", 3, BSON_SUBTYPE_BINARY, ids[i - 1].bytes, ids[i - 1].len);
        BSON_APPEND_INT64(&part, "len", 1);
        bson_append_document_end(&list, &part);
        bson_append_array_end(doc, &list);
        insert(f, doc);
    }
    expect_corrupt(f, &ids[1], ""); /* the frame is none */
    expect_corrupt(f, &ids[5], "more bytes at once");
    expect_corrupt(f, &ids[DEEP - 1], "more bytes at once");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define here(test) cmocka_unit_test_setup_teardown(test, support_setup, support_teardown)
        here(test_content_lists__what_lists_of_lists_name_stays),
        here(test_content_lists__one_list_more_is_refused),
        here(test_content_lists__contents_of_contents_end),
        here(test_content_lists__deltas_gather_no_more_than_is_held),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
