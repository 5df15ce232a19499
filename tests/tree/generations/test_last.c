/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/generations/old.h"

#include <string.h>

/* The last generation, without GridFS: v7files.files, v7files.files.vermongo, v7files.content. */

static const char FILES[] = "v7files.files";
static const char PAST[] = "v7files.files.vermongo";
static const char CONTENT[] = "v7files.content";

#define LITERAL(text) BCON_BIN(BSON_SUBTYPE_BINARY, (const uint8_t *)(text), (uint32_t)strlen(text))

static old_sha add_bytes(fixture *f, const char *text)
{
    old_sha id = old_digest(text, strlen(text));
    old_made(f, CONTENT, &id,
             BCON_NEW("in",
                      BCON_BIN(BSON_SUBTYPE_BINARY, (const uint8_t *)text, (uint32_t)strlen(text))),
             -1);
    return id;
}

static old_sha add_gzip(fixture *f, const char *text)
{
    size_t len;
    uint8_t *packed = old_pack(31, text, strlen(text), &len);
    old_sha id = old_digest(text, strlen(text));
    old_made(f, CONTENT, &id,
             BCON_NEW("store", BCON_UTF8("gz"), "zin",
                      BCON_BIN(BSON_SUBTYPE_BINARY, packed, (uint32_t)len)),
             -1);
    ash__free(packed);
    return id;
}

static void add_file(fixture *f, int id, const char *name, const char *text)
{
    char *json = ash__sprintf("{\"_id\": %%%d, \"_version\": 1, \"parent\": \"/\", \"filename\": "
                              "\"%s\", \"created_at\": {\"$date\": %d}}",
                              id, name, id);
    old_file(f, FILES, json, text);
    ash__free(json);
}

static void test_tree_generations_last__contents_of_one_document(void **state)
{
    fixture *f = *state;
    char *text = old_text(100000, 1);
    add_bytes(f, "stands in the content, as it is");
    add_gzip(f, text);
    add_file(f, 1, "in", "stands in the content, as it is");
    add_file(f, 2, "gz", text);
    old_open(f);
    support_expect_list(f, "/", false, 0, "gz in");
    support_expect_text(f, "in", "stands in the content, as it is");
    support_expect_text(f, "gz", text);
    old_expect_findings(f, f->tree, "");
    ash__free(text);
}

/* A large file was a list of chunks, each a content of its own. */
static void test_tree_generations_last__files_of_several_chunks(void **state)
{
    enum { CHUNK = 262144, LEN = 600000 };
    fixture *f = *state;
    char *text = old_text(LEN, 1);
    bson_t *rest = BCON_NEW("store", BCON_UTF8("cat"));
    bson_t base;
    old_sha id = old_digest(text, LEN);
    bson_append_array_begin(rest, "base", 4, &base);
    for (int i = 0; i * CHUNK < LEN; i++) {
        int32_t len = LEN - i * CHUNK < CHUNK ? LEN - i * CHUNK : CHUNK;
        char key[] = {(char)('0' + i), '\0'};
        char *part = ash__sprintf("%.*s", (int)len, text + i * CHUNK);
        old_sha chunk = i == 1 ? add_bytes(f, part) : add_gzip(f, part);
        bson_t *piece = BCON_NEW("sha", BCON_BIN(BSON_SUBTYPE_BINARY, chunk.bytes, 20), "length",
                                 BCON_INT64(len));
        bson_append_document(&base, key, 1, piece);
        bson_destroy(piece);
        ash__free(part);
    }
    bson_append_array_end(rest, &base);
    old_made(f, CONTENT, &id, rest, -1);
    add_file(f, 1, "large", text);
    old_open(f);
    support_expect_bytes(f, "large", text, LEN);
    old_expect_findings(f, f->tree, "");
    ash__free(text);
}

/* Literal bytes, patterns, a reference that is longer than what it names, lists in lists. */
static void test_tree_generations_last__lists_of_every_kind(void **state)
{
    static const char text[] = "<abcdeabcdeab><twenty bytes, no moretwen>nested: inner";
    fixture *f = *state;
    old_sha base = add_bytes(f, "twenty bytes, no more");
    old_sha id = old_digest(text, strlen(text));
    bson_t *rest = BCON_NEW("store", BCON_UTF8("cat"), "base", "[", LITERAL("<"), "{", "in",
                            LITERAL("abcde"), "length", BCON_INT64(12), "}", LITERAL("><"), "{",
                            "sha", BCON_BIN(BSON_SUBTYPE_BINARY, base.bytes, 20), "length",
                            BCON_INT64(25), "}", "{", "store", BCON_UTF8("cat"), "base", "[",
                            LITERAL(">nested: "), "{", "in", LITERAL("inner"), "}", "]", "}", "]");
    old_made(f, CONTENT, &id, rest, -1);
    add_file(f, 1, "list", text);
    old_open(f);
    support_expect_text(f, "list", text);
    old_expect_findings(f, f->tree, "");
}

static void test_tree_generations_last__entries_of_archives(void **state)
{
    fixture *f = *state;
    size_t len;
    char *text = old_text(3000, 1);
    uint8_t *zip = old_zip_entry("a.txt", text, strlen(text), &len);
    old_sha zip_id = old_digest(zip, len), id = old_digest(text, strlen(text));
    old_made(f, CONTENT, &zip_id, BCON_NEW("in", BCON_BIN(BSON_SUBTYPE_BINARY, zip, (uint32_t)len)),
             -1);
    old_made(f, CONTENT, &id,
             BCON_NEW("store", BCON_UTF8("zip"), "base", "{", "sha",
                      BCON_BIN(BSON_SUBTYPE_BINARY, zip_id.bytes, 20), "length",
                      BCON_INT64((int64_t)len), "}", "off", BCON_INT64(0), "end",
                      BCON_INT64((int64_t)len), "length", BCON_INT64((int64_t)strlen(text))),
             -1);
    add_file(f, 1, "a.txt", text);
    old_open(f);
    support_expect_text(f, "a.txt", text);
    old_expect_findings(f, f->tree, "");
    ash__free(zip);
    ash__free(text);
}

static void test_tree_generations_last__history_and_deletions(void **state)
{
    fixture *f = *state;
    add_bytes(f, "what the file was at its beginning");
    old_file(f, PAST,
             "{\"_id\": {\"_id\": %1, \"_version\": 1}, \"_version\": 1, \"parent\": \"/\", "
             "\"filename\": \"a\", \"created_at\": {\"$date\": 1}}",
             "what the file was at its beginning");
    old_json(f, FILES,
             "{\"_id\": %1, \"_version\": 2, \"parent\": \"/\", \"filename\": \"a\", \"in\": "
             "{\"$binary\": {\"base64\": \"dGlueQ==\", \"subType\": \"00\"}}, \"created_at\": "
             "{\"$date\": 1}, \"updated_at\": {\"$date\": 3}}");
    old_json(
        f, PAST,
        "{\"_id\": {\"_id\": %2, \"_version\": 1}, \"_version\": 1, \"parent\": \"/\", "
        "\"filename\": \"gone\", \"in\": {\"$binary\": {\"base64\": \"dGlueQ==\", \"subType\": "
        "\"00\"}}, \"created_at\": {\"$date\": 1}}");
    old_json(f, PAST,
             "{\"_id\": {\"_id\": %2, \"_version\": 2}, \"_version\": \"deleted:2\", "
             "\"deleted_at\": {\"$date\": 4}}");
    old_open(f);
    support_expect_history(f, "a", "2 1");
    support_expect_text_of(f, "a", 1, 0, "what the file was at its beginning");
    support_expect_text(f, "a", "tiny");
    support_expect_list(f, "/", false, old_date(2), "a gone");
    support_expect_list(f, "/", false, 0, "a");
    support_expect_history(f, "gone", "d2 1");
    old_expect_findings(f, f->tree, "");
}

/* Nobody wrote it but v7files' own programs; what is read leaves nothing behind. */
static void test_tree_generations_last__is_read_only(void **state)
{
    fixture *f = *state;
    ash_collection *c = NULL;
    ash_cursor *cursor = NULL;
    ash_doc doc;
    add_bytes(f, "stands in the content, as it is");
    add_file(f, 1, "in", "stands in the content, as it is");
    old_open(f);
    support_expect_text(f, "in", "stands in the content, as it is");
    assert_int_equal(support_try_put(f, "new", "x", 1, NULL, NULL), ASH_EUNSUPPORTED);
    assert_non_null(strstr(f->err.text, "read only"));
    assert_int_equal(ash_tree_remove(f->tree, "in", NULL, NULL, &f->err), ASH_EUNSUPPORTED);
    assert_ok(ash_collection_new(f->store, NULL, FILES, &c, &f->err), &f->err);
    assert_ok(ash_collection_list_indexes(c, NULL, &cursor, &f->err), &f->err);
    assert_ok(ash_cursor_next(cursor, &doc, &f->err), &f->err);
    assert_non_null(doc.data);
    assert_ok(ash_cursor_next(cursor, &doc, &f->err), &f->err);
    assert_null(doc.data); /* that on _id is the only one */
    ash_cursor_free(cursor);
    ash_collection_free(c);
}

int main(void)
{
#define T(name)                                                                                    \
    cmocka_unit_test_setup_teardown(test_tree_generations_last__##name, support_setup,             \
                                    support_teardown)
    const struct CMUnitTest tests[] = {
        T(contents_of_one_document), T(files_of_several_chunks), T(lists_of_every_kind),
        T(entries_of_archives),      T(history_and_deletions),   T(is_read_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
