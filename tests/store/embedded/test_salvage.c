/* SPDX-License-Identifier: Apache-2.0 */
/* One store with known files is damaged in many ways; what the salvage says and copies is compared
 * with what was stored. */
#include "fixture.h"

#include "base/buffer.h"
#include "base/file.h"
#include "base/hash.h"
#include "store/embedded/salvage/salvage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES = 12, CHUNK = 9000, RECORD_BYTES = 12288, LAST = 700, THINGS = 300, OLD = 6 };

typedef struct salvaged {
    fixture *f;
    char into[300];
    ash_buffer found; /* a finding a line, as JSON */
    ash_salvage_report report;
    uint64_t sum_before;
} salvaged;

/* ---- what is stored ---- */

/* The same chunk as old drivers wrote it: binary of subtype 2. */
static bson_t *of_old_subtype(bson_t *doc)
{
    bson_t *old = bson_new();
    bson_iter_t it;
    const uint8_t *data;
    uint32_t len;
    bson_copy_to_excluding_noinit(doc, old, "data", NULL);
    assert_true(bson_iter_init_find(&it, doc, "data"));
    bson_iter_binary(&it, NULL, &len, &data);
    BSON_APPEND_BINARY(old, "data", BSON_SUBTYPE_BINARY_DEPRECATED, data, len);
    bson_destroy(doc);
    return old;
}

/* File i has i chunks: even ones of CHUNK bytes (in segments), the last of LAST (in the metadata).
 */
static bson_t *chunk_of(int file, int n)
{
    bson_t *doc = fixture_chunk(file, n, 1, n + 1 == file ? LAST : CHUNK);
    return file == OLD ? of_old_subtype(doc) : doc;
}

static bson_t *file_of(int i)
{
    bson_t *b = bson_new();
    char name[20];
    snprintf(name, sizeof name, "file-%d", i);
    BSON_APPEND_INT32(b, "_id", i);
    BSON_APPEND_INT64(b, "length", (i - 1) * CHUNK + LAST);
    /* A file that is smaller than a chunk may say anything there. */
    BSON_APPEND_INT32(b, "chunkSize", i == 1 ? INT32_MAX : CHUNK);
    BSON_APPEND_DATE_TIME(b, "uploadDate", 1000000 + i);
    BSON_APPEND_UTF8(b, "filename", name);
    return b;
}

static void insert(fixture *f, ash_collection *c, bson_t *doc)
{
    assert_ok(ash_collection_insert_one(c, doc, NULL, &f->err), &f->err);
    bson_destroy(doc);
}

static void fill(fixture *f)
{
    ash_collection *files, *chunks;
    bson_t *specs = fixture_json("{\"0\":{\"key\":{\"files_id\":1,\"n\":1},\"name\":"
                                 "\"files_id_1_n_1\",\"unique\":true}}");
    assert_ok(ash_collection_new(f->store, "test", "fs.files", &files, &f->err), &f->err);
    assert_ok(ash_collection_new(f->store, "test", "fs.chunks", &chunks, &f->err), &f->err);
    assert_ok(ash_collection_create_indexes(chunks, specs, NULL, NULL, &f->err), &f->err);
    for (int i = 1; i <= FILES; i++) {
        for (int n = 0; n < i; n++)
            insert(f, chunks, chunk_of(i, n));
        insert(f, files, file_of(i));
    }
    for (int i = 0; i < THINGS; i++) {
        char text[200];
        snprintf(text, sizeof text,
                 "{\"_id\": %d, \"text\": \"thing %d of many\", \"pad\": \"%0100d\"}", i, i, i);
        assert_ok(fixture_insert(f, f->c, text), &f->err);
    }
    bson_destroy(specs);
    ash_collection_free(files);
    ash_collection_free(chunks);
    fixture_close(f);
}

/* ---- damage ---- */

static int open_in(fixture *f, const char *name, off_t *size)
{
    struct stat st;
    char *path = ash__path_join(f->folder, name);
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    *size = st.st_size;
    ash__free(path);
    return fd;
}

static void flip(fixture *f, const char *name, off_t at)
{
    uint8_t byte;
    off_t size;
    int fd = open_in(f, name, &size);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 0x24;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

static void wipe(fixture *f, const char *name, off_t at, size_t len)
{
    uint8_t *zeros = calloc(1, len);
    off_t size;
    int fd = open_in(f, name, &size);
    assert_int_equal(pwrite(fd, zeros, len, at), (ssize_t)len);
    close(fd);
    free(zeros);
}

static off_t find_bytes(fixture *f, const char *name, const void *what, size_t len, off_t from)
{
    off_t size;
    int fd = open_in(f, name, &size);
    uint8_t *all = malloc((size_t)size);
    assert_int_equal(pread(fd, all, (size_t)size, 0), size);
    close(fd);
    off_t at = from;
    while (at + (off_t)len <= size && memcmp(all + at, what, len) != 0)
        at++;
    free(all);
    return at + (off_t)len <= size ? at : -1;
}

/* ---- salvaging ---- */

static uint64_t sum_file(const char *folder, const char *name)
{
    uint8_t *data = NULL;
    size_t len = 0;
    char *path = ash__path_join(folder, name);
    uint64_t sum = 1;
    if (ash__file_load(path, 64 << 20, &data, &len, NULL) == 0)
        sum = ash__checksum(data, len) ^ len;
    ash__free(data);
    ash__free(path);
    return sum;
}

static uint64_t sum_store(const char *folder)
{
    return sum_file(folder, "ashlar.store") + 3 * sum_file(folder, "meta.mdb") +
           5 * sum_file(folder, "lock") + 7 * sum_file(folder, "meta.mdb-lock") +
           11 * sum_file(folder, "segments/00000001.seg");
}

static void on_finding(void *ctx, const bson_t *facts)
{
    salvaged *s = ctx;
    char *json = bson_as_relaxed_extended_json(facts, NULL);
    ash__buffer_printf(&s->found, "%s\n", json);
    bson_free(json);
}

/* The store is left open at the salvaged one's place, so that the fixture's teardown closes it. */
static void salvage(salvaged *s, fixture *f, int expected)
{
    memset(s, 0, sizeof *s);
    s->f = f;
    snprintf(s->into, sizeof s->into, "%s/repaired", f->folder);
    ash_salvage_options opts = {.into = s->into, .finding = on_finding, .ctx = s};
    uint64_t before = sum_store(f->folder);
    int result = ash__embedded_salvage(f->folder, &opts, &s->report, &f->err);
    if (result != expected)
        fail_msg("%d instead of %d: %s\n%s", result, expected, f->err.text,
                 ash__buffer_text(&s->found));
    assert_true(sum_store(f->folder) == before);
    assert_ok(ash_store_open(s->into, &f->opts, &f->store, &f->err), &f->err);
    bson_t *action = fixture_json("{\"check\": 1}"), report;
    assert_ok(ash_store_maintain(f->store, action, NULL, NULL, &report, &f->err), &f->err);
    bson_destroy(&report);
    bson_destroy(action);
}

static bool has_document(salvaged *s, const char *coll, bson_t *expected)
{
    ash_collection *c;
    bson_t filter = BSON_INITIALIZER, doc;
    bson_iter_t id;
    assert_ok(ash_collection_new(s->f->store, "test", coll, &c, &s->f->err), &s->f->err);
    assert_true(bson_iter_init_find(&id, expected, "_id"));
    bson_append_iter(&filter, "_id", 3, &id);
    int result = ash_collection_find_one(c, &filter, NULL, &doc, NULL);
    if (result == 0) {
        assert_true(bson_equal(&doc, expected));
        bson_destroy(&doc);
    }
    bson_destroy(&filter);
    bson_destroy(expected);
    ash_collection_free(c);
    return result == 0;
}

/* Whole in the new store, or not there at all. */
static bool has_file(salvaged *s, int i)
{
    bool there = has_document(s, "fs.files", file_of(i));
    for (int n = 0; n < i; n++)
        assert_true(has_document(s, "fs.chunks", chunk_of(i, n)) == there);
    return there;
}

static bool tells(salvaged *s, const char *text)
{
    return strstr(ash__buffer_text(&s->found), text) != NULL;
}

/* Every file but those given (0: none) is there, and only those given are listed. */
static void expect_all_but(salvaged *s, int first, int second)
{
    for (int i = 1; i <= FILES; i++) {
        char name[32];
        bool lost = i == first || i == second;
        snprintf(name, sizeof name, "\"file-%d\"", i);
        if (has_file(s, i) == lost || tells(s, name) != lost)
            fail_msg("file %d: %s", i, ash__buffer_text(&s->found));
    }
}

static void done(salvaged *s)
{
    ash__buffer_release(&s->found);
}

/* ---- tests ---- */

static void test_embedded_salvage__whole_store(void **state)
{
    salvaged s;
    fill(*state);
    salvage(&s, *state, 0);
    expect_all_but(&s, 0, 0);
    assert_int_equal(s.found.len, 0);
    assert_int_equal(s.report.files, FILES);
    assert_int_equal(s.report.documents, THINGS);
    done(&s);
}

/* A database and a collection of one letter each. */
static void test_embedded_salvage__shortest_names(void **state)
{
    fixture *f = *state;
    salvaged s;
    ash_collection *c;
    assert_ok(ash_collection_new(f->store, "d", "c", &c, &f->err), &f->err);
    insert(f, c, fixture_json("{\"_id\": 1}"));
    ash_collection_free(c);
    fill(f);
    salvage(&s, f, 0);
    assert_int_equal(s.found.len, 0);
    assert_int_equal(s.report.documents, THINGS + 1);
    done(&s);
}

static void test_embedded_salvage__payload(void **state)
{
    salvaged s;
    fill(*state);
    /* File 2's first chunk is the first record, file 3's first and second are the next ones. */
    flip(*state, "segments/00000001.seg", 4096 + 3000);
    flip(*state, "segments/00000001.seg", 4096 + 2 * RECORD_BYTES + 3000);
    salvage(&s, *state, ASH_EPARTIAL);
    expect_all_but(&s, 2, 3);
    assert_int_equal(s.report.lost, 2);
    assert_true(tells(
        &s, "\"name\" : \"file-2\", \"_id\" : 2, \"n\" : 0, \"segment\" : 1, \"offset\" : 4096"));
    assert_true(tells(
        &s, "\"name\" : \"file-3\", \"_id\" : 3, \"n\" : 1, \"segment\" : 1, \"offset\" : 28672"));
    done(&s);
}

static void test_embedded_salvage__record_and_segment_headers(void **state)
{
    salvaged s;
    fill(*state);
    flip(*state, "segments/00000001.seg", 20);
    /* The payload's checksum, the header's, and the sequence, each in another record. */
    flip(*state, "segments/00000001.seg", 4096 + 33);
    flip(*state, "segments/00000001.seg", 4096 + RECORD_BYTES + 41);
    flip(*state, "segments/00000001.seg", 4096 + 2 * RECORD_BYTES + 9);
    salvage(&s, *state, 0);
    expect_all_but(&s, 0, 0);
    done(&s);
}

static void test_embedded_salvage__inline_documents(void **state)
{
    salvaged s;
    off_t at;
    fill(*state);
    at = find_bytes(*state, "meta.mdb", "file-7", 6, 8192);
    /* Every copy: older pages hold some that are free. */
    for (; at >= 0; at = find_bytes(*state, "meta.mdb", "file-7", 6, at + 1))
        wipe(*state, "meta.mdb", at - 9, 4);
    for (at = 8192; (at = find_bytes(*state, "meta.mdb", "thing 50 of", 11, at)) >= 0; at++)
        flip(*state, "meta.mdb", at);
    salvage(&s, *state, ASH_EPARTIAL);
    for (int i = 1; i <= FILES; i++)
        assert_true(has_file(&s, i) == (i != 7));
    assert_int_equal(s.report.lost, 2);
    assert_int_equal(s.report.documents, THINGS - 1);
    assert_true(tells(&s, "\"_id\" : 50"));
    done(&s);
}

static void test_embedded_salvage__superblock(void **state)
{
    salvaged s;
    fill(*state);
    wipe(*state, "ashlar.store", 0, 4096);
    salvage(&s, *state, 0);
    expect_all_but(&s, 0, 0);
    done(&s);
}

static void test_embedded_salvage__descriptions_of_commits(void **state)
{
    salvaged s;
    fill(*state);
    wipe(*state, "meta.mdb", 0, 8192);
    salvage(&s, *state, 0);
    for (int i = 1; i <= FILES; i++)
        assert_true(has_file(&s, i));
    assert_int_equal(s.report.documents, THINGS);
    assert_true(tells(&s, "\"kind\" : \"uncertain\""));
    done(&s);
}

static void test_embedded_salvage__segment_is_gone(void **state)
{
    salvaged s;
    fixture *f = *state;
    fill(f);
    char *path = ash__path_join(f->folder, "segments/00000001.seg");
    assert_int_equal(unlink(path), 0);
    ash__free(path);
    salvage(&s, f, ASH_EPARTIAL);
    /* Only file 1 lies wholly in the metadata. */
    for (int i = 1; i <= FILES; i++)
        assert_true(has_file(&s, i) == (i == 1));
    assert_int_equal(s.report.lost, FILES - 1);
    assert_int_equal(s.report.documents, THINGS);
    assert_true(tells(&s, "\"name\" : \"file-3\", \"_id\" : 3, \"n\" : 1, \"segment\" : 1, "
                          "\"offset\" : 28672"));
    assert_false(tells(&s, "\"kind\" : \"chunk\""));
    done(&s);
}

/* A payload that is no document any more: only the index still says which chunk it was. */
static void test_embedded_salvage__structure_is_gone(void **state)
{
    salvaged s;
    fill(*state);
    wipe(*state, "segments/00000001.seg", 4096 + 3 * RECORD_BYTES + 48, 200);
    salvage(&s, *state, ASH_EPARTIAL);
    expect_all_but(&s, 4, 0);
    assert_true(tells(&s, "\"name\" : \"file-4\", \"_id\" : 4, \"n\" : 0, \"segment\" : 1, "
                          "\"offset\" : 40960"));
    assert_false(tells(&s, "\"kind\" : \"chunk\""));
    done(&s);
}

/* The catalogue's rows are gone: the bucket is put together again under another name. */
static void test_embedded_salvage__names_are_lost(void **state)
{
    static const char *const keys[] = {"Ntest\0fs.files", "Ntest\0fs.chunks", "Ntest\0things",
                                       "test\0fs.files",  "test\0fs.chunks",  "test\0things"};
    static const size_t lens[] = {14, 15, 12, 13, 14, 11};
    salvaged s;
    fixture *f = *state;
    ash_collection *files;
    bson_t all = BSON_INITIALIZER;
    int64_t count = 0;
    fill(f);
    for (size_t i = 0; i < ASH_ARRAY_LEN(keys); i++) {
        off_t at = 8192;
        while ((at = find_bytes(f, "meta.mdb", keys[i], lens[i], at)) >= 0)
            wipe(f, "meta.mdb", at, lens[i]);
    }
    salvage(&s, f, ASH_EPARTIAL);
    assert_int_equal(s.report.files, FILES);
    assert_int_equal(s.report.documents, THINGS);
    assert_int_equal(s.report.lost, 3);
    assert_true(tells(&s, ".chunks\""));
    assert_true(tells(&s, "\"db\" : \"lost_found\", \"collection\" : \"collection_2.files\""));
    assert_ok(ash_collection_new(f->store, "lost_found", "collection_2.files", &files, &f->err),
              &f->err);
    assert_ok(ash_collection_count(files, &all, NULL, &count, &f->err), &f->err);
    assert_int_equal(count, FILES);
    ash_collection_free(files);
    done(&s);
}

/* Any page of the metadata: what is copied is what was stored, and what is not copied is listed. */
static void test_embedded_salvage__any_page(void **state)
{
    fixture *f = *state;
    off_t size;
    fill(f);
    close(open_in(f, "meta.mdb", &size));
    char *path = ash__path_join(f->folder, "meta.mdb");
    uint8_t *all = NULL;
    size_t len;
    assert_ok(ash__file_load(path, 64 << 20, &all, &len, &f->err), &f->err);
    for (size_t page = 0; page < len / 4096; page++) {
        ash_salvage_report report;
        ash_salvage_options opts = {.into = NULL};
        wipe(f, "meta.mdb", (off_t)page * 4096, 4096);
        int result = ash__embedded_salvage(f->folder, &opts, &report, &f->err);
        if ((result != 0 && result != ASH_EPARTIAL) ||
            (report.files + report.documents < FILES + THINGS && report.lost == 0))
            fail_msg("page %zu: %d, %d files, %d documents, %d lost", page, result,
                     (int)report.files, (int)report.documents, (int)report.lost);
        int fd = open(path, O_WRONLY);
        assert_int_equal(pwrite(fd, all + page * 4096, 4096, (off_t)page * 4096), 4096);
        close(fd);
    }
    ash__free(all);
    ash__free(path);
}

static void test_embedded_salvage__truncated_metadata(void **state)
{
    salvaged s;
    fixture *f = *state;
    off_t size;
    fill(f);
    int fd = open_in(f, "meta.mdb", &size);
    /* Half of it may be pages that nobody needs any more; so few cannot hold all the documents. */
    assert_true(size > 16 * 4096);
    assert_int_equal(ftruncate(fd, 16 * 4096), 0);
    close(fd);
    salvage(&s, f, ASH_EPARTIAL);
    done(&s);
}

static void test_embedded_salvage__refuses(void **state)
{
    fixture *f = *state;
    ash_salvage_report report;
    ash_salvage_options opts = {.into = f->folder};
    assert_int_equal(ash__embedded_salvage(f->folder, &opts, &report, &f->err), ASH_EBUSY);
    fill(f);
    assert_int_equal(ash__embedded_salvage(f->folder, &opts, &report, &f->err), ASH_EEXISTS);
    assert_int_equal(ash__embedded_salvage("/nowhere", &opts, &report, &f->err), ASH_ENOTFOUND);
}

static int writes_left;

static ssize_t write_until_full(int fd, const struct iovec *iov, int count, off_t offset)
{
    if (writes_left-- > 0)
        return ash__io_system.pwritev(fd, iov, count, offset);
    errno = ENOSPC;
    return -1;
}

/* What was written of the new store would be in the way of everybody else. */
static void test_embedded_salvage__a_full_disk_is_given_back(void **state)
{
    fixture *f = *state;
    char into[300], partial[320];
    ash_salvage_report report;
    ash_salvage_options opts = {.into = into};
    ash_io io = ash__io_system;
    fill(f);
    snprintf(into, sizeof into, "%s/repaired", f->folder);
    snprintf(partial, sizeof partial, "%s.partial", into);
    io.pwritev = write_until_full;
    for (int n = 0; n < 60; n += 12) {
        ash__io_set(&io);
        writes_left = n;
        int result = ash__embedded_salvage(f->folder, &opts, &report, &f->err);
        ash__io_set(NULL);
        assert_int_equal(result, ASH_ENOSPC);
        assert_int_equal(access(partial, F_OK), -1);
        assert_int_equal(access(into, F_OK), -1);
    }
    fixture_open(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EMBEDDED(test_embedded_salvage__whole_store),
        EMBEDDED(test_embedded_salvage__shortest_names),
        EMBEDDED(test_embedded_salvage__payload),
        EMBEDDED(test_embedded_salvage__record_and_segment_headers),
        EMBEDDED(test_embedded_salvage__inline_documents),
        EMBEDDED(test_embedded_salvage__superblock),
        EMBEDDED(test_embedded_salvage__descriptions_of_commits),
        EMBEDDED(test_embedded_salvage__segment_is_gone),
        EMBEDDED(test_embedded_salvage__structure_is_gone),
        EMBEDDED(test_embedded_salvage__names_are_lost),
        EMBEDDED(test_embedded_salvage__any_page),
        EMBEDDED(test_embedded_salvage__truncated_metadata),
        EMBEDDED(test_embedded_salvage__a_full_disk_is_given_back),
        EMBEDDED(test_embedded_salvage__refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
