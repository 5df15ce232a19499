/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/hash.h"
#include "tree/codec/inflate.h"
#include "tree/content/source.h"

#include <string.h>
#include <time.h>

/* Documents as each generation of v7files wrote them, byte by byte. */

static const char text[] = "stone on stone on stone on stone on stone on stone on stone on stone\n";
enum { TEXT = sizeof text - 1 };

static void insert(ash_collection *c, bson_t *doc)
{
    ash_error err = ASH_ERROR_INIT;
    assert_ok(ash_collection_insert_one(c, doc, NULL, &err), &err);
    bson_destroy(doc);
}

static bson_t *with_id(const ash_content_id *id)
{
    bson_t *doc = bson_new();
    bson_append_binary(doc, "_id", 3, BSON_SUBTYPE_BINARY, id->bytes, id->len);
    return doc;
}

static void bytes(bson_t *doc, const char *field, const void *data, size_t len)
{
    bson_append_binary(doc, field, -1, BSON_SUBTYPE_BINARY, data, (uint32_t)len);
}

static ash_content_id text_id(void)
{
    return support_id(text, TEXT, ASH_DIGEST_SHA1);
}

/* A GridFS file as v7files made them, in chunks of 30 bytes. */
static void insert_file(fixture *f, bson_t *doc, const ash_content_id *id, const void *data,
                        size_t len)
{
    for (int32_t n = 0; (size_t)n * 30 < len; n++) {
        bson_t *chunk = bson_new();
        size_t at = (size_t)n * 30;
        bytes(chunk, "files_id", id->bytes, id->len);
        BSON_APPEND_INT32(chunk, "n", n);
        bytes(chunk, "data", (const uint8_t *)data + at, len - at < 30 ? len - at : 30);
        insert(f->chunks, chunk);
    }
    BSON_APPEND_INT32(doc, "length", (int32_t)len);
    BSON_APPEND_INT32(doc, "chunkSize", 30);
    BSON_APPEND_DATE_TIME(doc, "uploadDate", 1328000000000);
    insert(f->files, doc);
}

static ash_buffer packed(ash_deflate_form form)
{
    ash_buffer out = ASH_BUFFER_INIT;
    ash_error err = ASH_ERROR_INIT;
    assert_ok(ash__deflate(form, text, TEXT, &out, &err), &err);
    return out;
}

static void test_content_forms__chunks(void **state)
{
    static const struct {
        const char *store;
        int form; /* -1: as it is */
    } cases[] = {{NULL, -1}, {"raw", -1}, {"z", ASH_DEFLATE_RAW}, {"gz", ASH_DEFLATE_GZIP}};
    fixture *f = *state;
    const ash_content_id id = text_id();
    for (size_t i = 0; i < ASH_ARRAY_LEN(cases); i++) {
        bson_t *doc = with_id(&id), all = BSON_INITIALIZER;
        ash_buffer data = ASH_BUFFER_INIT;
        if (cases[i].form >= 0)
            data = packed((ash_deflate_form)cases[i].form);
        else
            ash__buffer_append(&data, text, TEXT);
        if (cases[i].store != NULL)
            BSON_APPEND_UTF8(doc, "store", cases[i].store);
        insert_file(f, doc, &id, data.data, data.len);
        support_expect(f, &id, text, TEXT);
        assert_ok(ash_collection_remove(f->files, &all, NULL, NULL, &f->err), &f->err);
        assert_ok(ash_collection_remove(f->chunks, &all, NULL, NULL, &f->err), &f->err);
        ash__buffer_release(&data);
    }
}

/* Without GridFS's fields, too. */
static void test_content_forms__inside(void **state)
{
    fixture *f = *state;
    const ash_content_id id = text_id();
    bson_t all = BSON_INITIALIZER;
    for (int deflated = 0; deflated < 2; deflated++) {
        bson_t *doc = with_id(&id);
        ash_buffer z = packed(ASH_DEFLATE_RAW);
        BSON_APPEND_UTF8(doc, "store", deflated ? "zin" : "in");
        if (deflated)
            bytes(doc, "in", z.data, z.len);
        else
            bytes(doc, "in", text, TEXT);
        insert(f->files, doc);
        support_expect(f, &id, text, TEXT);
        assert_ok(ash_collection_remove(f->files, &all, NULL, NULL, &f->err), &f->err);
        ash__buffer_release(&z);
    }
}

static bson_t *reference(const ash_content_id *id, int32_t off, int32_t len)
{
    bson_t *doc = with_id(id);
    BSON_APPEND_INT32(doc, "len", len);
    if (off != 0)
        BSON_APPEND_INT32(doc, "off", off);
    return doc;
}

static ash_content_id put_inside(fixture *f, const void *data, size_t len)
{
    const ash_content_id id = support_id(data, len, ASH_DIGEST_SHA1);
    bson_t *doc = with_id(&id);
    BSON_APPEND_UTF8(doc, "store", "in");
    bytes(doc, "in", data, len);
    insert(f->files, doc);
    return id;
}

/* alt: of two ways the one that is known; cat: bytes, and pieces of others. */
static void test_content_forms__alternatives(void **state)
{
    fixture *f = *state;
    const ash_content_id base = put_inside(f, "0123456789", 10);
    const ash_content_id id = support_id("ab3456cd0123456789", 18, ASH_DIGEST_SHA1);
    bson_t *doc = with_id(&id), *some = reference(&base, 3, 4), *all = reference(&base, 0, 10);
    bson_t alt, way, list;
    BSON_APPEND_UTF8(doc, "store", "alt");
    bson_append_array_begin(doc, "alt", 3, &alt);
    bson_append_document_begin(&alt, "0", 1, &way);
    BSON_APPEND_UTF8(&way, "store", "s3");
    bytes(&way, "key", id.bytes, id.len);
    bson_append_document_end(&alt, &way);
    bson_append_document_begin(&alt, "1", 1, &way);
    BSON_APPEND_UTF8(&way, "store", "cat");
    bson_append_array_begin(&way, "base", 4, &list);
    bytes(&list, "0", "ab", 2);
    BSON_APPEND_DOCUMENT(&list, "1", some);
    bytes(&list, "2", "cd", 2);
    BSON_APPEND_DOCUMENT(&list, "3", all);
    bson_append_array_end(&way, &list);
    bson_append_document_end(&alt, &way);
    bson_append_array_end(doc, &alt);
    insert(f->files, doc);
    bson_destroy(some);
    bson_destroy(all);
    support_expect(f, &id, "ab3456cd0123456789", 18);
}

/* A local header, then the entry's bytes, as zip has them. */
static size_t build_zip(uint8_t *out, bool deflated, size_t *start)
{
    ash_buffer z = packed(ASH_DEFLATE_RAW);
    const uint8_t *data = deflated ? z.data : (const uint8_t *)text;
    size_t len = deflated ? z.len : TEXT;
    memset(out, 0, 200);
    memcpy(out, "junk!", 5);
    *start = 5;
    memcpy(out + 5, "PK\3\4", 4);
    out[5 + 8] = deflated ? 8 : 0;
    out[5 + 26] = 5;
    memcpy(out + 5 + 30, "a.txt", 5);
    memcpy(out + 5 + 35, data, len);
    ash__buffer_release(&z);
    return 5 + 35 + len;
}

static void test_content_forms__zip_entries(void **state)
{
    fixture *f = *state;
    const ash_content_id id = text_id();
    bson_t all = BSON_INITIALIZER;
    for (int deflated = 0; deflated < 2; deflated++) {
        uint8_t zip[200];
        size_t start, end = build_zip(zip, deflated, &start);
        const ash_content_id archive = put_inside(f, zip, end);
        bson_t *doc = with_id(&id), *base = reference(&archive, (int32_t)start, TEXT);
        BSON_APPEND_INT32(base, "end", (int32_t)end);
        BSON_APPEND_UTF8(doc, "store", "zip");
        BSON_APPEND_DOCUMENT(doc, "base", base);
        insert(f->files, doc);
        bson_destroy(base);
        support_expect(f, &id, text, TEXT);
        assert_ok(ash_collection_remove(f->files, &all, NULL, NULL, &f->err), &f->err);
    }
}

/* ---- the last generation: a collection without chunks ---- */

static ash_contents *open_last(fixture *f)
{
    const ash_contents_options o = {
        .db = "test", .bucket = "v7.fs.files", .last_generation = true, .digest = ASH_DIGEST_SHA1};
    ash_contents *c = NULL;
    assert_ok(ash__contents_new(f->store, &o, &c, &f->err), &f->err);
    return c;
}

static void test_content_forms__last_generation(void **state)
{
    fixture *f = *state;
    ash_contents *last = open_last(f), *first = f->contents;
    ash_buffer gz = packed(ASH_DEFLATE_GZIP);
    const ash_content_id id = text_id();
    const ash_content_id plain = support_id("abcde", 5, ASH_DIGEST_SHA1);
    bson_t *doc = with_id(&plain), list, part;
    bytes(doc, "in", "abcde", 5);
    insert(f->files, doc);
    doc = with_id(&id);
    BSON_APPEND_UTF8(doc, "store", "gz");
    bytes(doc, "zin", gz.data, gz.len);
    insert(f->files, doc);
    /* A reference that is longer than what it names repeats it. */
    const char whole[] = "xyabcdeabcdeab";
    const ash_content_id cat = support_id(whole, 14, ASH_DIGEST_SHA1);
    doc = with_id(&cat);
    BSON_APPEND_UTF8(doc, "store", "cat");
    bson_append_array_begin(doc, "base", 4, &list);
    bytes(&list, "0", "xy", 2);
    bson_append_document_begin(&list, "1", 1, &part);
    bytes(&part, "sha", plain.bytes, plain.len);
    BSON_APPEND_INT64(&part, "length", 12);
    bson_append_document_end(&list, &part);
    bson_append_array_end(doc, &list);
    insert(f->files, doc);
    f->contents = last;
    support_expect(f, &plain, "abcde", 5);
    support_expect(f, &id, text, TEXT);
    support_expect(f, &cat, whole, 14);
    f->contents = first;
    ash_content_writer *w = NULL;
    assert_int_equal(ash__content_writer_new(last, NULL, &w, &f->err), ASH_EREADONLY);
    ash__contents_free(last);
    ash__buffer_release(&gz);
}

/* Some bytes that claim to be repeated without end: nobody begins to read them. */
static void test_content_forms__nothing_is_endless(void **state)
{
    fixture *f = *state;
    const int64_t endless = (int64_t)1 << 43;
    const ash_content_id base = put_inside(f, "0123456789", 10);
    const ash_content_ref in = {.length = endless, .in = (const uint8_t *)"abcde", .in_len = 5};
    ash_content_reader *r = NULL;
    for (int by_bytes = 0; by_bytes < 2; by_bytes++) {
        ash_content_id id = support_id("endless", 7 - (size_t)by_bytes, ASH_DIGEST_SHA1);
        const ash_content_ref ref = {.id = id, .length = endless};
        bson_t *doc = with_id(&id), list, part;
        uint8_t buf[100];
        size_t got = 0;
        BSON_APPEND_UTF8(doc, "store", "cat");
        BSON_APPEND_INT64(doc, "length", INT64_MAX / 4);
        bson_append_array_begin(doc, "base", 4, &list);
        bson_append_document_begin(&list, "0", 1, &part);
        if (by_bytes)
            bytes(&part, "in", "01234", 5);
        else
            bytes(&part, "_id", base.bytes, base.len);
        BSON_APPEND_INT64(&part, "len", endless);
        bson_append_document_end(&list, &part);
        bson_append_array_end(doc, &list);
        insert(f->files, doc);
        assert_ok(ash__content_open(f->contents, &ref, true, NULL, &r, &f->err), &f->err);
        assert_int_equal(ash__content_reader_read(r, buf, sizeof buf, &got, &f->err), ASH_ECORRUPT);
        ash__content_reader_free(r);
    }
    ash_contents_check k = {.deep = true};
    assert_ok(ash__contents_check(f->contents, &k, NULL, &f->err), &f->err);
    assert_int_equal(k.bytes, 10);
    assert_int_equal(ash__content_open(f->contents, &in, true, NULL, &r, &f->err), ASH_ECORRUPT);
}

/* A list of `count` times the same. */
static ash_content_id put_again(fixture *f, const char *name, const ash_content_id *of, int64_t len,
                                int count)
{
    const ash_content_id id = support_id(name, strlen(name), ASH_DIGEST_SHA1);
    bson_t *doc = with_id(&id), list, part;
    BSON_APPEND_UTF8(doc, "store", "cat");
    bson_append_array_begin(doc, "base", 4, &list);
    for (int i = 0; i < count; i++) {
        bson_append_document_begin(&list, "0", 1, &part);
        bytes(&part, "_id", of->bytes, of->len);
        BSON_APPEND_INT64(&part, "len", len);
        bson_append_document_end(&list, &part);
    }
    bson_append_array_end(doc, &list);
    insert(f->files, doc);
    return id;
}

static int try_to_open(fixture *f, const ash_content_id *id, int64_t length)
{
    const ash_content_ref ref = {.id = *id, .length = length};
    ash_content_reader *r = NULL;
    int rc = ash__content_open(f->contents, &ref, true, NULL, &r, &f->err);
    ash__content_reader_free(r);
    return rc;
}

/* Three small documents come to any length. */
static void test_content_forms__lists_of_lists_come_to_no_more_than_is_read(void **state)
{
    enum { KIB = 1024, MANY = 65536 };
    fixture *f = *state;
    uint8_t *some = support_noise(KIB, 1);
    const int64_t level = (int64_t)KIB * MANY;
    ash_contents_check k = {.deep = true};
    const ash_content_id one = put_inside(f, some, KIB);
    const ash_content_id many = put_again(f, "many", &one, KIB, MANY);
    assert_int_equal(try_to_open(f, &many, level), 0);
    const ash_content_id again = put_again(f, "again", &many, level, 16386);
    assert_int_equal(try_to_open(f, &again, level * 16386), ASH_ECORRUPT);
    assert_non_null(strstr(f->err.text, "again"));
    const int64_t lengths[] = {level * 16385 * 17, (int64_t)1 << 60};
    const ash_content_id endless = put_again(f, "endless", &again, level * 16385, 17);
    assert_int_equal(try_to_open(f, &endless, lengths[0]), ASH_ECORRUPT);
    assert_non_null(strstr(f->err.text, "longer than anything"));
    const ash_content_id sum = put_again(f, "sum", &one, (int64_t)1 << 60, 1);
    assert_int_equal(try_to_open(f, &sum, lengths[1]), ASH_ECORRUPT);
    assert_non_null(strstr(f->err.text, "longer than anything"));
    /* What is damaged is not read again for each that has it. */
    (void)put_again(f, "first", &many, level, 4);
    (void)put_again(f, "second", &many, level, 4000);
    assert_ok(ash__contents_check(f->contents, &k, NULL, &f->err), &f->err);
    assert_int_equal(k.checked, 7);
    assert_int_equal(k.bytes, KIB + level);
    assert_int_equal(support_collect(f, false).contents, 7);
    ash__free(some);
}

static void test_content_forms__long_lists_stop_when_asked(void **state)
{
    enum { KIB = 1024, MANY = 65536 };
    fixture *f = *state;
    ash_op op = ASH_OP_INIT;
    ash_contents_check k = {.deep = true};
    uint8_t *some = support_noise(KIB, 1);
    const ash_content_id one = put_inside(f, some, KIB);
    const ash_content_id many = put_again(f, "many", &one, KIB, MANY);
    const ash_content_ref ref = {.id = put_again(f, "more", &many, KIB, 100000),
                                 .length = (int64_t)KIB * 100000};
    ash_content_reader *r = NULL;
    volatile int cancel = 0;
    size_t got;
    op.deadline_ms = ash__clock_ms() + 20;
    (void)put_again(f, "longest", &ref.id, ref.length, 10000);
    assert_int_equal(ash__contents_check(f->contents, &k, &op, &f->err), ASH_ETIMEOUT);
    op.deadline_ms = 0;
    assert_ok(ash__content_open(f->contents, &ref, true, &op, &r, &f->err), &f->err);
    ash__content_reader_free(r);
    op.cancel = &cancel;
    assert_ok(ash__content_open(f->contents, &ref, true, &op, &r, &f->err), &f->err);
    assert_ok(ash__content_reader_read(r, some, KIB, &got, &f->err), &f->err);
    cancel = 1;
    assert_int_equal(ash__content_reader_read(r, some, KIB, &got, &f->err), ASH_EINTERRUPTED);
    ash__content_reader_free(r);
    ash__free(some);
}

/* Each of a hundred thousand parts is a byte of a list of as many. */
static void test_content_forms__lists_of_single_bytes_are_read_once(void **state)
{
    enum { MANY = 100000 };
    fixture *f = *state;
    uint8_t *all = support_noise(MANY, 1);
    ash_content_id ids[2];
    for (int level = 0; level < 2; level++) {
        ids[level] = support_id(all, (size_t)MANY - (size_t)level, ASH_DIGEST_SHA1);
        bson_t *doc = with_id(&ids[level]), list, part;
        BSON_APPEND_UTF8(doc, "store", "cat");
        bson_append_array_begin(doc, "base", 4, &list);
        for (int i = 0; i < MANY - level; i++)
            if (level == 0) {
                bson_append_binary(&list, "0", 1, BSON_SUBTYPE_BINARY, all + i, 1);
            } else {
                bson_append_document_begin(&list, "0", 1, &part);
                bytes(&part, "_id", ids[0].bytes, ids[0].len);
                BSON_APPEND_INT32(&part, "off", i);
                BSON_APPEND_INT32(&part, "len", 1);
                bson_append_document_end(&list, &part);
            }
        bson_append_array_end(doc, &list);
        insert(f->files, doc);
    }
    int64_t began = clock();
    support_expect(f, &ids[1], all, MANY - 1);
    /* Hours, were the inner list read for each. */
    assert_in_range((clock() - began) / CLOCKS_PER_SEC, 0, 20);
    ash__free(all);
}

/* Of two that a list takes bytes of by turns, neither is read from its beginning for ever. */
static void test_content_forms__what_is_unpacked_for_nothing_ends(void **state)
{
    fixture *f = *state;
    ash_fetch fetch;
    ash_source *s = NULL;
    uint8_t buf[10];
    size_t got = 0;
    const ash_content_id one = put_inside(f, "0123456789", 10);
    const ash_content_id list = put_again(f, "list", &one, 10, 3);
    assert_ok(ash__fetch_init(&fetch, f->contents, NULL, &f->err), &f->err);
    assert_ok(ash__source_open(&fetch, &list, &s, &f->err), &f->err);
    assert_ok(ash__source_read(s, buf, 10, &got, &f->err), &f->err);
    fetch.unpacked = ASH_WASTE_BYTES_MAX + 11 * ASH_WASTE_FACTOR;
    assert_int_equal(ash__source_read(s, buf, 10, &got, &f->err), ASH_ECORRUPT);
    ash__source_free(s);
    ash__fetch_release(&fetch);
}

/* Lengths that are lies come to no more than there is. */
static void test_content_forms__sums_of_lies(void **state)
{
    fixture *f = *state;
    ash_contents_sum sum;
    for (uint8_t i = 0; i < 3; i++) {
        const ash_content_id id = support_id(&i, 1, ASH_DIGEST_SHA1);
        bson_t *doc = with_id(&id);
        BSON_APPEND_INT64(doc, "length", INT64_MAX);
        bytes(doc, "in", "01234", 5);
        insert(f->files, doc);
    }
    assert_ok(ash__contents_measure(f->contents, NULL, &sum, &f->err), &f->err);
    assert_true(sum.stored_bytes == INT64_MAX);
    assert_true(support_collect(f, false).bytes == INT64_MAX);
}

static void test_content_forms__bytes_in_a_file_are_repeated(void **state)
{
    fixture *f = *state;
    const ash_content_ref ref = {.length = 12, .in = (const uint8_t *)"abcde", .in_len = 5};
    ash_content_reader *r = NULL;
    uint8_t buf[20];
    size_t got = 0;
    assert_ok(ash__content_open(f->contents, &ref, true, NULL, &r, &f->err), &f->err);
    assert_ok(ash__content_reader_read(r, buf, sizeof buf, &got, &f->err), &f->err);
    assert_int_equal(got, 12);
    assert_memory_equal(buf, "abcdeabcdeab", 12);
    ash__content_reader_free(r);
}

/* ---- lies ---- */

static void expect_corrupt(fixture *f, const ash_content_id *id, int64_t length, const char *why)
{
    uint8_t out[8192];
    assert_int_equal(support_read(f, id, length, out), ASH_ECORRUPT);
    char hex[ASH_DIGEST_TEXT_BYTES];
    ash__content_id_hex(id, hex);
    assert_non_null(strstr(f->err.text, hex));
    if (strstr(f->err.text, why) == NULL)
        fail_msg("'%s' does not say '%s'", f->err.text, why);
}

static void test_content_forms__lies_are_found_out(void **state)
{
    static const struct {
        const char *json, *why;
    } cases[] = {
        {"{'store': 5}", "store"},
        {"{'store': 'new'}", "store"},
        {"{'store': 'in', 'in': 'text'}", "in"},
        {"{'store': 'alt'}", "alt"},
        {"{'store': 'alt', 'alt': [{'store': 'cat', 'base': 7}]}", "base"},
        {"{'store': 'alt', 'alt': [{'store': 'cat', 'base': [{}]}]}", "base"},
        {"{'store': 'cat', 'base': [[[]]]}", "base"},
        {"{'store': 'zstd', 'in': {'$binary': {'base64': 'AAAA', 'subType': '00'}}}", "size"},
        {"{'store': 'zstd', 'size': {'$numberLong': '99999999999'}, 'length': 3}", "size"},
        {"{'store': 'zstd', 'size': 4000, 'in': {'$binary': {'base64': 'AAAA', 'subType': '00'}}}",
         ""},
        {"{'store': 'z', 'length': -3}", "length"},
        {"{'store': 'zin', 'in': {'$binary': {'base64': 'AAAA', 'subType': '00'}}}", ""},
        {"{'store': 'zip', 'base': {}}", "base"},
        {"{'store': 'in', 'in': {'$binary': {'base64': 'AAAA', 'subType': '00'}}}", "bytes"},
    };
    fixture *f = *state;
    for (size_t i = 0; i < ASH_ARRAY_LEN(cases); i++) {
        const ash_content_id id = {.bytes = {(uint8_t)(i + 1)}, .len = 20};
        char *json = ash__strdup(cases[i].json);
        for (char *p = json; *p != '\0'; p++)
            *p = *p == '\'' ? '"' : *p;
        bson_error_t error;
        bson_t *rest = bson_new_from_json((const uint8_t *)json, -1, &error);
        if (rest == NULL)
            fail_msg("%s: %s", json, error.message);
        bson_t *doc = with_id(&id);
        bson_concat(doc, rest);
        insert(f->files, doc);
        expect_corrupt(f, &id, 4000, cases[i].why);
        bson_destroy(rest);
        ash__free(json);
    }
}

/* A content that is made of itself, and one of two that are made of one another. */
static void test_content_forms__circles_end(void **state)
{
    static const char *const stores[] = {"cat", "delta", "zip"};
    fixture *f = *state;
    for (size_t i = 0; i < ASH_ARRAY_LEN(stores); i++) {
        const ash_content_id id = {.bytes = {(uint8_t)(i + 1)}, .len = 20};
        bson_t *doc = with_id(&id), *part = reference(&id, 0, 100), list;
        BSON_APPEND_INT32(part, "end", 90);
        BSON_APPEND_UTF8(doc, "store", stores[i]);
        BSON_APPEND_INT32(doc, "size", 100);
        bytes(doc, "in", "x", 1);
        bson_append_array_begin(doc, "base", 4, &list);
        BSON_APPEND_DOCUMENT(&list, "0", part);
        bson_append_array_end(doc, &list);
        insert(f->files, doc);
        bson_destroy(part);
        expect_corrupt(f, &id, 100, "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_content_forms__chunks, support_setup,
                                        support_teardown),
        cmocka_unit_test_setup_teardown(test_content_forms__inside, support_setup,
                                        support_teardown),
        cmocka_unit_test_setup_teardown(test_content_forms__alternatives, support_setup,
                                        support_teardown),
        cmocka_unit_test_setup_teardown(test_content_forms__zip_entries, support_setup,
                                        support_teardown),
        cmocka_unit_test_setup_teardown(test_content_forms__last_generation, support_setup,
                                        support_teardown),
        cmocka_unit_test_setup_teardown(test_content_forms__nothing_is_endless, support_setup,
                                        support_teardown),
        cmocka_unit_test_setup_teardown(test_content_forms__sums_of_lies, support_setup,
                                        support_teardown),
        cmocka_unit_test_setup_teardown(test_content_forms__bytes_in_a_file_are_repeated,
                                        support_setup, support_teardown),
        cmocka_unit_test_setup_teardown(test_content_forms__lies_are_found_out, support_setup,
                                        support_teardown),
        cmocka_unit_test_setup_teardown(
            test_content_forms__lists_of_lists_come_to_no_more_than_is_read, support_setup,
            support_teardown),
        cmocka_unit_test_setup_teardown(test_content_forms__long_lists_stop_when_asked,
                                        support_setup, support_teardown),
        cmocka_unit_test_setup_teardown(test_content_forms__lists_of_single_bytes_are_read_once,
                                        support_setup, support_teardown),
        cmocka_unit_test_setup_teardown(test_content_forms__what_is_unpacked_for_nothing_ends,
                                        support_setup, support_teardown),
        cmocka_unit_test_setup_teardown(test_content_forms__circles_end, support_setup,
                                        support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
