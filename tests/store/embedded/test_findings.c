/* SPDX-License-Identifier: Apache-2.0 */
/* What a check says of damage in a bucket: which file, which chunk. */
#include "fixture.h"

#include "base/buffer.h"
#include "base/file.h"
#include "base/mem.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK = 9000, RECORD_BYTES = 12288, DATA_AT = 5000, LAST = 700, CHUNKS = 1100 };

/* File 1 has CHUNKS chunks, file 9 has one in a segment and one in the metadata. */
static void fill(fixture *f)
{
    ash_collection *files, *chunks;
    bson_t *specs = fixture_json("{\"0\":{\"key\":{\"files_id\":1,\"n\":1},\"name\":"
                                 "\"files_id_1_n_1\",\"unique\":true}}");
    assert_ok(ash_collection_new(f->store, "test", "fs.files", &files, &f->err), &f->err);
    assert_ok(ash_collection_new(f->store, "test", "fs.chunks", &chunks, &f->err), &f->err);
    assert_ok(ash_collection_create_indexes(chunks, specs, NULL, NULL, &f->err), &f->err);
    for (int i = 0; i < CHUNKS + 2; i++) {
        bool second = i >= CHUNKS;
        bson_t *doc = fixture_chunk(second ? 9 : 1, second ? i - CHUNKS : i, 1,
                                    i == CHUNKS + 1 ? LAST : CHUNK);
        assert_ok(ash_collection_insert_one(chunks, doc, NULL, &f->err), &f->err);
        bson_destroy(doc);
    }
    assert_ok(fixture_insert(f, files, "{\"_id\": 1, \"filename\": \"first file\"}"), &f->err);
    assert_ok(fixture_insert(f, files, "{\"_id\": 9, \"filename\": \"second file\"}"), &f->err);
    bson_destroy(specs);
    ash_collection_free(files);
    ash_collection_free(chunks);
}

static void remove_file(fixture *f, int id)
{
    ash_collection *files;
    bson_t *filter = BCON_NEW("_id", BCON_INT32(id));
    assert_ok(ash_collection_new(f->store, "test", "fs.files", &files, &f->err), &f->err);
    assert_ok(ash_collection_remove(files, filter, NULL, NULL, &f->err), &f->err);
    ash_collection_free(files);
    bson_destroy(filter);
}

/* ---- damage ---- */

static void flip(fixture *f, const char *name, off_t offset)
{
    uint8_t byte;
    char *path = ash__path_join(f->folder, name);
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, offset), 1);
    byte ^= 0x10;
    assert_int_equal(pwrite(fd, &byte, 1, offset), 1);
    close(fd);
    ash__free(path);
}

/* A place in the record of a large chunk.  Records lie one behind the other, in segments of 4, 4
 * and 8 MiB. */
static void flip_chunk(fixture *f, int number, off_t at)
{
    char name[40];
    int segment = 1, fit = (4 << 20) / RECORD_BYTES;
    for (; number >= fit; segment++) {
        number -= fit;
        fit *= segment;
    }
    snprintf(name, sizeof name, "segments/%08x.seg", (unsigned)segment);
    flip(f, name, 4096 + (off_t)number * RECORD_BYTES + at);
}

/* Every place where it stands: pages that are not in use any more keep what they had. */
static void flip_found(fixture *f, const char *name, const void *bytes, size_t len, off_t at)
{
    char *path = ash__path_join(f->folder, name);
    int fd = open(path, O_RDONLY);
    off_t size = lseek(fd, 0, SEEK_END);
    uint8_t *all = ash__alloc((size_t)size);
    int found = 0;
    assert_int_equal(pread(fd, all, (size_t)size, 0), size);
    for (off_t i = 0; i + (off_t)len <= size; i++) {
        if (memcmp(all + i, bytes, len) != 0)
            continue;
        flip(f, name, i + at);
        found++;
    }
    assert_true(found > 0);
    close(fd);
    ash__free(all);
    ash__free(path);
}

/* ---- what is said ---- */

static int run(fixture *f, const char *action, bson_t *out)
{
    bson_t *b = fixture_json(action);
    int rc = ash_store_maintain(f->store, b, NULL, NULL, out, &f->err);
    bson_destroy(b);
    return rc;
}

static void expect(const bson_t *report, const char *text)
{
    char *json = bson_as_relaxed_extended_json(report, NULL);
    if (strstr(json, text) == NULL)
        fail_msg("no %s in %s", text, json);
    bson_free(json);
}

static void check(fixture *f, const char *text, const char *facts)
{
    bson_t report;
    assert_int_equal(run(f, "{\"check\": 1}", &report), ASH_ECORRUPT);
    expect(&report, text);
    expect(&report, facts);
    bson_destroy(&report);
}

static int64_t number_in(const bson_t *b, const char *name)
{
    bson_iter_t it;
    assert_true(bson_iter_init_find(&it, b, name));
    return bson_iter_as_int64(&it);
}

static int times(const char *text, const char *part)
{
    int count = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at += strlen(part))
        count++;
    return count;
}

static void test_embedded_findings__chunk_in_a_segment(void **state)
{
    fill(*state);
    flip_chunk(*state, 12, DATA_AT);
    check(
        *state,
        "\"text\" : \"test.fs: file \\\"first file\\\", chunk 12: a payload with a wrong checksum "
        "in segment 00000001 at offset 151552\"",
        "\"filename\" : \"first file\", \"files_id\" : 1, \"n\" : 12");
}

static void test_embedded_findings__chunk_in_the_metadata(void **state)
{
    bson_t *doc = fixture_chunk(9, 1, 1, LAST);
    fill(*state);
    flip_found(*state, "meta.mdb", bson_get_data(doc), doc->len, (off_t)doc->len - 50);
    check(*state,
          "\"text\" : \"test.fs: file \\\"second file\\\", chunk 1: the record has a wrong "
          "checksum\"",
          "\"filename\" : \"second file\", \"files_id\" : 9, \"n\" : 1");
    bson_destroy(doc);
}

/* The document says that it is of another file; the index knows better. */
static void test_embedded_findings__wrong_number_of_the_file(void **state)
{
    bson_t *doc = fixture_chunk(9, 0, 1, CHUNK);
    fill(*state);
    const uint8_t *data = bson_get_data(doc);
    flip_found(*state, "segments/00000003.seg", data, 40, 23);
    assert_int_equal(data[23], 9);
    check(*state, "test.fs: file \\\"second file\\\", chunk 0: a payload with a wrong checksum",
          "\"filename\" : \"second file\", \"files_id\" : 9, \"n\" : 0");
    bson_destroy(doc);
}

/* Nothing of the document can be read. */
static void test_embedded_findings__structure_is_gone(void **state)
{
    fill(*state);
    flip_chunk(*state, 3, 48 + 4);
    check(*state, "test.fs: file \\\"first file\\\", chunk 3: ",
          "\"filename\" : \"first file\", \"files_id\" : 1, \"n\" : 3");
}

static void test_embedded_findings__document_of_the_file_is_missing(void **state)
{
    fill(*state);
    remove_file(*state, 1);
    flip_chunk(*state, 12, DATA_AT);
    check(*state, "test.fs: chunk 12 of file 1, whose document is missing: a payload with",
          "\"files_id\" : 1, \"n\" : 12");
}

static void test_embedded_findings__document_of_the_file_is_damaged(void **state)
{
    static const char name[] = "filename\0\x0b\0\0\0first file";
    fill(*state);
    flip_found(*state, "meta.mdb", name, sizeof name, sizeof name - 3);
    flip_chunk(*state, 12, DATA_AT);
    check(*state, "test.fs: chunk 12 of file 1, whose document is damaged: a payload with",
          "test.fs: file \\\"first fi|e\\\", its document: the record has a wrong checksum");
}

/* More than a report takes: all are counted, and those that are there have a name. */
static void test_embedded_findings__many_of_one_file(void **state)
{
    bson_t report;
    fill(*state);
    for (int i = 0; i < CHUNKS; i++)
        flip_chunk(*state, i, DATA_AT);
    assert_int_equal(run(*state, "{\"check\": 1}", &report), ASH_ECORRUPT);
    assert_int_equal(number_in(&report, "findingCount"), CHUNKS);
    char *json = bson_as_relaxed_extended_json(&report, NULL);
    assert_int_equal(times(json, "test.fs: file \\\"first file\\\", chunk "), 1000);
    bson_free(json);
    bson_destroy(&report);
}

static void test_embedded_findings__validate_counts_them(void **state)
{
    bson_t report;
    fill(*state);
    flip_chunk(*state, 3, DATA_AT);
    flip_chunk(*state, 4, DATA_AT);
    assert_ok(run(*state, "{\"validate\": \"test.fs.chunks\", \"full\": true}", &report),
              &((fixture *)*state)->err);
    assert_int_equal(number_in(&report, "nInvalidDocuments"), 2);
    expect(&report, "\"valid\" : false");
    expect(&report, "test.fs: file \\\"first file\\\", chunk 4: ");
    bson_destroy(&report);
    assert_ok(run(*state, "{\"validate\": \"test.fs.files\", \"full\": true}", &report),
              &((fixture *)*state)->err);
    assert_int_equal(number_in(&report, "nInvalidDocuments"), 0);
    expect(&report, "\"valid\" : true");
    bson_destroy(&report);
}

static void test_embedded_findings__arguments(void **state)
{
    static const char *const bad[] = {
        "{\"check\": 1, \"payload\": true}",
        "{\"check\": 1, \"payloads\": \"yes\"}",
        "{\"validate\": \"test.things\", \"all\": 1}",
        "{\"compact\": \"test.things\", \"full\": 1}",
        "{\"backup\": \"/none\", \"Verify\": true}",
        "{\"payloads\": true, \"check\": 1}",
    };
    fixture *f = *state;
    bson_t report;
    for (size_t i = 0; i < ASH_ARRAY_LEN(bad); i++)
        assert_int_equal(run(f, bad[i], &report), ASH_EINVAL);
    assert_int_equal(run(f, "{\"repair\": 1}", &report), ASH_EUNSUPPORTED);
    assert_ok(run(f, "{\"check\": 1, \"payloads\": 1}", &report), &f->err);
    bson_destroy(&report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EMBEDDED(test_embedded_findings__chunk_in_a_segment),
        EMBEDDED(test_embedded_findings__chunk_in_the_metadata),
        EMBEDDED(test_embedded_findings__wrong_number_of_the_file),
        EMBEDDED(test_embedded_findings__structure_is_gone),
        EMBEDDED(test_embedded_findings__document_of_the_file_is_missing),
        EMBEDDED(test_embedded_findings__document_of_the_file_is_damaged),
        EMBEDDED(test_embedded_findings__many_of_one_file),
        EMBEDDED(test_embedded_findings__validate_counts_them),
        EMBEDDED(test_embedded_findings__arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
