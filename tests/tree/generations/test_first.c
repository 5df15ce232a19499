/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/generations/old.h"

#include <string.h>

/* Both generations with GridFS: the seed's, and the one after it. */

static const char V7[] = "v7files";
static const char PAST[] = "v7files.vermongo";

/* A file of one version in the root. */
static void add_file(fixture *f, int id, const char *name, const char *text)
{
    char *json = ash__sprintf("{\"_id\": %%%d, \"_version\": 1, \"parent\": \"/\", \"filename\": "
                              "\"%s\", \"contentType\": \"text/plain\", \"created_at\": "
                              "{\"$date\": %d}}",
                              id, name, id);
    old_file(f, V7, json, text);
    ash__free(json);
}

/* Every range that begins or ends near a border of pieces, against the bytes. */
static void expect_ranges(fixture *f, const char *path, const char *text)
{
    int64_t len = (int64_t)strlen(text);
    const int64_t starts[] = {0, 1, len / 3, len - 1, len};
    for (size_t i = 0; i < ASH_ARRAY_LEN(starts); i++) {
        ash_tree_read_options o = ASH_TREE_READ_OPTIONS_INIT;
        ash_tree_reader *r = NULL;
        size_t got = 1, sum = 0;
        uint8_t buf[1000];
        int64_t end = starts[i] + 700 < len ? starts[i] + 700 : len;
        o.start = starts[i];
        o.end = end;
        assert_ok(ash_tree_open_reader(f->tree, path, &o, NULL, &r, &f->err), &f->err);
        while (got > 0) {
            assert_ok(ash_tree_reader_read(r, buf + sum, sizeof buf - sum, &got, &f->err), &f->err);
            sum += got;
        }
        assert_int_equal(sum, end - starts[i]);
        assert_memory_equal(buf, text + starts[i], sum);
        ash_tree_reader_free(r);
    }
}

/* ---- contents ---- */

static void test_tree_generations_first__every_form_of_a_content(void **state)
{
    static const old_form forms[] = {OLD_RAW, OLD_NAMED_RAW, OLD_Z, OLD_GZ};
    fixture *f = *state;
    char *texts[4];
    for (int i = 0; i < 4; i++) {
        char name[] = {(char)('a' + i), '\0'};
        texts[i] = old_text(600000, i);
        old_content(f, forms[i], texts[i], strlen(texts[i]), i + 1);
        add_file(f, i + 1, name, texts[i]);
    }
    old_open(f);
    support_expect_list(f, "/", false, 0, "a b c d");
    for (int i = 0; i < 4; i++) {
        char name[] = {(char)('a' + i), '\0'};
        support_expect_bytes(f, name, texts[i], strlen(texts[i]));
        expect_ranges(f, name, texts[i]);
        support_expect_found_by_digest(f, name);
    }
    old_expect_findings(f, f->tree, "");
    for (int i = 0; i < 4; i++)
        ash__free(texts[i]);
}

static void test_tree_generations_first__bytes_inside_the_content(void **state)
{
    static const old_form forms[] = {OLD_IN, OLD_ZIN, OLD_BARE_IN, OLD_BARE_ZIN};
    fixture *f = *state;
    for (int i = 0; i < 4; i++) {
        char name[] = {(char)('a' + i), '\0'};
        char *text = old_text(forms[i] == OLD_IN || forms[i] == OLD_BARE_IN ? 200 : 900, i);
        old_content(f, forms[i], text, strlen(text), i + 1);
        add_file(f, i + 1, name, text);
        ash__free(text);
    }
    old_open(f);
    for (int i = 0; i < 4; i++) {
        char name[] = {(char)('a' + i), '\0'};
        char *text = old_text(forms[i] == OLD_IN || forms[i] == OLD_BARE_IN ? 200 : 900, i);
        support_expect_text(f, name, text);
        expect_ranges(f, name, text);
        ash__free(text);
    }
    old_expect_findings(f, f->tree, "");
}

static bson_t *way_of_parts(const char *a, const old_sha *b, int32_t b_off, int32_t b_len,
                            const char *c)
{
    return BCON_NEW("store", BCON_UTF8("cat"), "base", "[",
                    BCON_BIN(BSON_SUBTYPE_BINARY, (const uint8_t *)a, (uint32_t)strlen(a)), "{",
                    "_id", BCON_BIN(BSON_SUBTYPE_BINARY, b->bytes, 20), "len", BCON_INT32(b_len),
                    "off", BCON_INT32(b_off), "}",
                    BCON_BIN(BSON_SUBTYPE_BINARY, (const uint8_t *)c, (uint32_t)strlen(c)), "]");
}

/* Made of literal bytes and a part of another content; with a way that nobody knows in front. */
static void test_tree_generations_first__contents_made_of_others(void **state)
{
    fixture *f = *state;
    char *base = old_text(5000, 1);
    char *text = ash__sprintf("<%.*s>", 4000, base + 500);
    old_sha base_id = old_content(f, OLD_Z, base, strlen(base), 1);
    old_sha id = old_digest(text, strlen(text));
    bson_t *way = way_of_parts("<", &base_id, 500, 4000, ">");
    old_made(f, "v7.fs.files", &id,
             BCON_NEW("store", BCON_UTF8("alt"), "alt", "[", "{", "store", BCON_UTF8("s3"), "key",
                      BCON_BIN(BSON_SUBTYPE_BINARY, id.bytes, 20), "}", BCON_DOCUMENT(way), "]"),
             2);
    bson_destroy(way);
    add_file(f, 1, "base", base);
    add_file(f, 2, "made", text);
    old_open(f);
    support_expect_text(f, "made", text);
    expect_ranges(f, "made", text);
    old_expect_findings(f, f->tree, "");
    ash__free(text);
    ash__free(base);
}

static void test_tree_generations_first__entries_of_archives(void **state)
{
    fixture *f = *state;
    char *text = old_text(5000, 1);
    size_t len, first_len;
    uint8_t *first = old_zip_entry("one.txt", "one", 3, &first_len);
    uint8_t *entry = old_zip_entry("two.txt", text, strlen(text), &len);
    ash_buffer zip = ASH_BUFFER_INIT;
    ash__buffer_append(&zip, first, first_len);
    ash__buffer_append(&zip, entry, len);
    old_sha zip_id = old_content(f, OLD_RAW, zip.data, zip.len, 0), id;
    id = old_digest(text, strlen(text));
    old_made(f, "v7.fs.files", &id,
             BCON_NEW("store", BCON_UTF8("zip"), "base", "[", "{", "_id",
                      BCON_BIN(BSON_SUBTYPE_BINARY, zip_id.bytes, 20), "len",
                      BCON_INT32((int32_t)strlen(text)), "off", BCON_INT32((int32_t)first_len),
                      "end", BCON_INT32((int32_t)zip.len), "store", BCON_UTF8("zip"), "}", "]"),
             1);
    add_file(f, 1, "two.txt", text);
    old_open(f);
    support_expect_text(f, "two.txt", text);
    expect_ranges(f, "two.txt", text);
    old_expect_findings(f, f->tree, "");
    ash__buffer_release(&zip);
    ash__free(entry);
    ash__free(first);
    ash__free(text);
}

static void test_tree_generations_first__bytes_inside_the_file(void **state)
{
    fixture *f = *state;
    old_json(f, V7,
             "{\"_id\": %1, \"_version\": 1, \"parent\": \"/\", \"filename\": \"tiny\", "
             "\"in\": {\"$binary\": {\"base64\": \"dGlueQ==\", \"subType\": \"00\"}}, "
             "\"created_at\": {\"$date\": 1}}");
    old_json(f, V7,
             "{\"_id\": %2, \"_version\": 1, \"parent\": \"/\", \"filename\": \"pattern\", "
             "\"in\": {\"$binary\": {\"base64\": \"YWJjZGU=\", \"subType\": \"00\"}}, "
             "\"length\": 12, \"created_at\": {\"$date\": 1}}");
    old_json(f, V7,
             "{\"_id\": %3, \"_version\": 1, \"parent\": \"/\", \"filename\": \"empty\", "
             "\"in\": {\"$binary\": {\"base64\": \"\", \"subType\": \"00\"}}, "
             "\"created_at\": {\"$date\": 1}}");
    old_open(f);
    support_expect_text(f, "tiny", "tiny");
    support_expect_text(f, "pattern", "abcdeabcdeab");
    support_expect_text(f, "empty", "");
    expect_ranges(f, "pattern", "abcdeabcdeab");
    old_expect_findings(f, f->tree, "");
}

/* ---- documents ---- */

/* Numbers as a Java long or a shell's double, nothing that could be left out, and fields that nobody
 * knows. */
static void test_tree_generations_first__fields_of_any_kind(void **state)
{
    fixture *f = *state;
    char *text = old_text(3000, 1);
    old_sha sha = old_content(f, OLD_Z, text, strlen(text), 1);
    old_insert(f, V7,
               BCON_NEW("_id", BCON_OID(&(bson_oid_t){{0}}), "filename", BCON_UTF8("none"),
                        "parent", BCON_UTF8("/"), "_version", BCON_DOUBLE(3.0)));
    bson_oid_t id = old_id(1);
    old_insert(f, V7,
               BCON_NEW("mood", BCON_UTF8("sunny"), "length", BCON_DOUBLE(3000.0), "sha",
                        BCON_BIN(BSON_SUBTYPE_BINARY, sha.bytes, 20), "parent", BCON_UTF8("/"),
                        "filename", BCON_UTF8("long"), "_id", BCON_OID(&id), "_version",
                        BCON_INT64(7), "nested", "{", "a", BCON_BOOL(true), "}"));
    old_open(f);
    support_expect_list(f, "/", false, 0, "long none");
    support_expect_text(f, "long", text);
    ash_tree_entry *e = support_get(f, "long");
    assert_int_equal(ash_tree_entry_version(e), 7);
    assert_int_equal(ash_tree_entry_length(e), 3000);
    assert_int_equal(ash_tree_entry_created_ms(e), 0);
    assert_null(ash_tree_entry_content_type(e));
    ash_tree_entry_free(e);
    e = support_get(f, "none"); /* neither `sha` nor `in`: a folder, of no date */
    assert_true(ash_tree_entry_is_folder(e));
    assert_int_equal(ash_tree_entry_version(e), 3);
    ash_tree_entry_free(e);
    old_expect_findings(f, f->tree, "");
    support_put_text(f, "long", "new");
    bson_t *doc = support_document(f->current, "{\"filename\": \"long\"}");
    support_expect_type(doc, "_version", BSON_TYPE_INT32);
    assert_true(bson_has_field(doc, "mood") && bson_has_field(doc, "nested.a"));
    bson_destroy(doc);
    support_expect_text_of(f, "long", 7, 0, text);
    support_expect_history(f, "long", "8 7");
    ash__free(text);
}

/* Whatever hangs from another root is not seen from here. */
static void test_tree_generations_first__roots_with_and_without_documents(void **state)
{
    fixture *f = *state;
    f->damaged = true; /* on purpose */
    ash_tree *other = NULL;
    ash_tree_entry *e = NULL;
    old_json(f, V7, "{\"_id\": \"docs.root\", \"acl\": {\"read\": [\"all\"]}}");
    old_json(f, V7,
             "{\"_id\": %1, \"_version\": 1, \"parent\": \"docs.root\", \"filename\": "
             "\"deep\", \"created_at\": {\"$date\": 1}}");
    old_json(f, V7,
             "{\"_id\": %2, \"_version\": 1, \"parent\": %1, \"filename\": \"deeper\", "
             "\"created_at\": {\"$date\": 1}}");
    old_json(f, V7,
             "{\"_id\": %3, \"_version\": 1, \"parent\": \"/\", \"filename\": \"here\", "
             "\"created_at\": {\"$date\": 1}}");
    old_open(f);
    support_expect_list(f, "/", true, 0, "/here");
    assert_ok(ash_tree_open(f->store, "docs.root", NULL, &other, &f->err), &f->err);
    assert_ok(ash_tree_get(other, "/deep/deeper", NULL, NULL, &e, &f->err), &f->err);
    assert_true(ash_tree_entry_is_folder(e));
    ash_tree_entry_free(e);
    old_expect_findings(f, other, "");
    ash_tree_close(other);
}

/* ---- history ---- */

/* Three versions, the second with another name; v7files did not say when they ended. */
static void fill_history(fixture *f)
{
    old_content(f, OLD_ZIN, "the first text, of some length", 30, 0);
    old_content(f, OLD_BARE_IN, "the second text, of a length", 28, 0);
    old_content(f, OLD_RAW, "the third text, of another length", 33, 1);
    old_file(f, PAST,
             "{\"_id\": {\"_id\": %1, \"_version\": 1}, \"_version\": 1, \"parent\": \"/\", "
             "\"filename\": \"a\", \"created_at\": {\"$date\": 1}}",
             "the first text, of some length");
    old_file(f, PAST,
             "{\"_id\": {\"_id\": %1, \"_version\": 2}, \"_version\": 2, \"parent\": \"/\", "
             "\"filename\": \"b\", \"created_at\": {\"$date\": 1}, \"updated_at\": {\"$date\": 3}}",
             "the second text, of a length");
    old_file(f, V7,
             "{\"_id\": %1, \"_version\": 3, \"parent\": \"/\", \"filename\": \"a\", "
             "\"created_at\": {\"$date\": 1}, \"updated_at\": {\"$date\": 5}}",
             "the third text, of another length");
}

static void test_tree_generations_first__versions_and_moments(void **state)
{
    fixture *f = *state;
    fill_history(f);
    old_open(f);
    support_expect_history(f, "a", "3 2 1");
    support_expect_text(f, "a", "the third text, of another length");
    support_expect_text_of(f, "a", 2, 0, "the second text, of a length");
    support_expect_text_of(f, "a", 1, 0, "the first text, of some length");
    support_expect_list(f, "/", false, old_date(0), "");
    support_expect_list(f, "/", false, old_date(2), "a");
    support_expect_list(f, "/", false, old_date(4), "b");
    support_expect_list(f, "/", false, old_date(6), "a");
    support_expect_text_of(f, "a", 0, old_date(2), "the first text, of some length");
    support_expect_text_of(f, "b", 0, old_date(4), "the second text, of a length");
    old_expect_findings(f, f->tree, "");
}

/* v7files deleted by two documents; the second is a dummy whose version is a text. */
static void test_tree_generations_first__deleted_files(void **state)
{
    fixture *f = *state;
    ash_tree_listing *l = NULL;
    const ash_tree_entry *e = NULL;
    bson_value_t id = old_id_value(1);
    old_content(f, OLD_BARE_ZIN, "what was deleted is not lost", 28, 0);
    old_file(f, PAST,
             "{\"_id\": {\"_id\": %1, \"_version\": 1}, \"_version\": 1, \"parent\": \"/\", "
             "\"filename\": \"gone\", \"created_at\": {\"$date\": 1}}",
             "what was deleted is not lost");
    old_json(f, PAST,
             "{\"_id\": {\"_id\": %1, \"_version\": 2}, \"_version\": \"deleted:2\", "
             "\"deleted_at\": {\"$date\": 4}}");
    old_open(f);
    support_expect_missing(f, "gone");
    support_expect_history(f, "gone", "d2 1");
    support_expect_text_of(f, "gone", 0, old_date(2), "what was deleted is not lost");
    support_expect_list(f, "/", false, old_date(2), "gone");
    support_expect_list(f, "/", false, old_date(5), "");
    assert_ok(ash_tree_trash(f->tree, "/", 0, NULL, &l, &f->err), &f->err);
    assert_ok(ash_tree_listing_next(l, &e, &f->err), &f->err);
    assert_non_null(e);
    assert_string_equal(ash_tree_entry_path(e), "/gone");
    assert_int_equal(ash_tree_entry_ended_ms(e), old_date(4));
    ash_tree_listing_free(l);
    old_expect_findings(f, f->tree, "");
    assert_ok(ash_tree_undelete(f->tree, &id, NULL, NULL, NULL, NULL, &f->err), &f->err);
    support_expect_text(f, "gone", "what was deleted is not lost");
    support_expect_history(f, "gone", "3 d2 1");
    old_expect_findings(f, f->tree, "");
}

/* ---- two of one name ---- */

static void expect_twins(fixture *f, const char *first, const char *second)
{
    const char *const texts[] = {first, second};
    support_expect_list(f, "/", false, 0, "same same");
    support_expect_text(f, "same", first);
    for (int i = 0; i < 2; i++) {
        ash_tree_entry *e = NULL;
        ash_tree_reader *r = NULL;
        char buf[64];
        size_t got = 0;
        bson_value_t id = old_id_value(i + 1);
        assert_ok(ash_tree_get_by_id(f->tree, &id, 0, NULL, &e, &f->err), &f->err);
        assert_string_equal(ash_tree_entry_path(e), "/same");
        assert_ok(ash_tree_open_entry(f->tree, e, NULL, NULL, &r, &f->err), &f->err);
        assert_ok(ash_tree_reader_read(r, buf, sizeof buf, &got, &f->err), &f->err);
        assert_int_equal(got, strlen(texts[i]));
        assert_memory_equal(buf, texts[i], got);
        ash_tree_reader_free(r);
        ash_tree_entry_free(e);
    }
}

/* Both can be had by their ids, and by the path the one that lists first: that of the smaller id,
 * which is the older one; so it stays when the indexes come. */
static void test_tree_generations_first__two_of_one_name(void **state)
{
    fixture *f = *state;
    for (int i = 1; i <= 2; i++) {
        const char *text = i == 1 ? "the one that was first" : "the one that came after it";
        old_content(f, OLD_RAW, text, strlen(text), i);
        add_file(f, i, "same", text);
    }
    old_open(f);
    expect_twins(f, "the one that was first", "the one that came after it");
    assert_ok(ash_tree_prepare(f->tree, NULL, &f->err), &f->err);
    expect_twins(f, "the one that was first", "the one that came after it");
    old_expect_findings(f, f->tree, "name taken twice");
    /* A change goes to the one that the path leads to; no third one can be made. */
    support_put_text(f, "same", "changed");
    expect_twins(f, "changed", "the one that came after it");
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    o.if_absent = true;
    assert_int_equal(support_try_put(f, "same", "x", 1, &o, NULL), ASH_EEXISTS);
    /* One goes, the other takes its path: that is the way out. */
    assert_ok(ash_tree_move(f->tree, "same", "other", NULL, NULL, NULL, &f->err), &f->err);
    support_expect_text(f, "same", "the one that came after it");
    support_expect_text(f, "other", "changed");
    old_expect_findings(f, f->tree, "");
}

/* v7files deleted folders without what lay in them. */
static void test_tree_generations_first__orphans_of_deleted_folders(void **state)
{
    fixture *f = *state;
    bson_value_t folder = old_id_value(1);
    old_json(f, PAST,
             "{\"_id\": {\"_id\": %1, \"_version\": 1}, \"_version\": 1, \"parent\": "
             "\"/\", \"filename\": \"folder\", \"created_at\": {\"$date\": 1}}");
    old_json(f, PAST,
             "{\"_id\": {\"_id\": %1, \"_version\": 2}, \"_version\": \"deleted:2\", "
             "\"deleted_at\": {\"$date\": 4}}");
    old_json(f, V7,
             "{\"_id\": %2, \"_version\": 1, \"parent\": %1, \"filename\": \"orphan\", "
             "\"in\": {\"$binary\": {\"base64\": \"dGlueQ==\", \"subType\": \"00\"}}, "
             "\"created_at\": {\"$date\": 2}}");
    old_open(f);
    support_expect_list(f, "/", true, 0, "");
    old_expect_findings(f, f->tree, "folder deleted");
    assert_ok(ash_tree_undelete(f->tree, &folder, NULL, NULL, NULL, NULL, &f->err), &f->err);
    support_expect_list(f, "/", true, 0, "/folder /folder/orphan");
    support_expect_text(f, "folder/orphan", "tiny");
    old_expect_findings(f, f->tree, "");
}

int main(void)
{
#define T(name)                                                                                    \
    cmocka_unit_test_setup_teardown(test_tree_generations_first__##name, support_setup,            \
                                    support_teardown)
    const struct CMUnitTest tests[] = {
        T(every_form_of_a_content),
        T(bytes_inside_the_content),
        T(contents_made_of_others),
        T(entries_of_archives),
        T(bytes_inside_the_file),
        T(fields_of_any_kind),
        T(roots_with_and_without_documents),
        T(versions_and_moments),
        T(deleted_files),
        T(two_of_one_name),
        T(orphans_of_deleted_folders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
