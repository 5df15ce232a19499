/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Of a chunk: large ones lie in segments, small ones do not. */
static size_t chunk_bytes = 10000;

static int put_chunks(ash_store *store, int file, int from, int to)
{
    ash_collection *c = NULL;
    ash_error err = ASH_ERROR_INIT;
    int rc = ash_collection_new(store, "test", "fs.chunks", &c, &err);
    for (int n = from; rc == 0 && n < to; n++) {
        bson_t *b = fixture_chunk(file, n, 0, chunk_bytes);
        rc = ash_collection_insert_one(c, b, NULL, &err);
        bson_destroy(b);
    }
    ash_collection_free(c);
    return rc == 0 ? ash_store_flush(store, NULL, &err) : rc;
}

/* Another process uploads three chunks of file 1 and dies. */
static void die_during_upload(fixture *f)
{
    int status = 0;
    fixture_close(f);
    pid_t pid = fork();
    if (pid == 0) {
        ash_store *store = NULL;
        if (ash_store_open(f->folder, &f->opts, &store, NULL) != 0)
            _exit(2);
        _exit(put_chunks(store, 1, 0, 3) == 0 ? 0 : 3);
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    fixture_open(f);
}

static int put_files_document(fixture *f, int file, int chunks)
{
    ash_collection *c = NULL;
    bson_t b = BSON_INITIALIZER;
    assert_ok(ash_collection_new(f->store, "test", "fs.files", &c, &f->err), &f->err);
    bson_append_int32(&b, "_id", -1, file);
    bson_append_int64(&b, "length", -1, (int64_t)chunks * (int64_t)chunk_bytes - 5);
    bson_append_int32(&b, "chunkSize", -1, (int32_t)chunk_bytes);
    int rc = ash_collection_insert_one(c, &b, NULL, &f->err);
    bson_destroy(&b);
    ash_collection_free(c);
    return rc;
}

static void test_embedded_guard__refuses_a_file_with_a_hole(void **state)
{
    fixture *f = *state;
    die_during_upload(f);
    /* The driver goes on with chunk 4, not knowing that chunk 3 was lost. */
    assert_int_equal(put_chunks(f->store, 1, 4, 6), 0);
    assert_int_equal(put_files_document(f, 1, 6), ASH_ECONFLICT);
    assert_non_null(strstr(f->err.text, "lacks chunk 3 of 6"));
    assert_int_equal(put_chunks(f->store, 1, 3, 4), 0);
    assert_ok(put_files_document(f, 1, 6), &f->err);
}

static void test_embedded_guard__refuses_too_many_chunks(void **state)
{
    fixture *f = *state;
    die_during_upload(f);
    assert_int_equal(put_files_document(f, 1, 2), ASH_ECONFLICT);
    assert_ok(put_files_document(f, 1, 3), &f->err);
}

/* No old chunk, but the loss was a moment ago: all of the file's chunks may be what was lost. */
static void test_embedded_guard__refuses_for_a_while(void **state)
{
    fixture *f = *state;
    die_during_upload(f);
    assert_int_equal(put_files_document(f, 2, 1), ASH_ECONFLICT);
    ash__embedded(f->store)->loss_at_ms -= 6 * 60 * 1000;
    assert_ok(put_files_document(f, 2, 1), &f->err);
    /* A file that was begun before the loss stays suspect. */
    assert_int_equal(put_files_document(f, 1, 5), ASH_ECONFLICT);
}

static void test_embedded_guard__knows_small_chunks_by_their_place(void **state)
{
    fixture *f = *state;
    chunk_bytes = 900;
    die_during_upload(f);
    ash__embedded(f->store)->loss_at_ms -= 6 * 60 * 1000;
    assert_int_equal(put_chunks(f->store, 1, 3, 4), 0);
    assert_int_equal(put_files_document(f, 1, 6), ASH_ECONFLICT);
    assert_int_equal(put_chunks(f->store, 2, 0, 1), 0);
    assert_ok(put_files_document(f, 2, 6), &f->err);
    chunk_bytes = 10000;
}

static void test_embedded_guard__free_without_a_loss(void **state)
{
    fixture *f = *state;
    assert_int_equal(put_chunks(f->store, 1, 0, 2), 0);
    assert_ok(put_files_document(f, 1, 6), &f->err);
    fixture_close(f);
    fixture_open(f);
    assert_ok(put_files_document(f, 2, 6), &f->err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EMBEDDED(test_embedded_guard__refuses_a_file_with_a_hole),
        EMBEDDED(test_embedded_guard__refuses_too_many_chunks),
        EMBEDDED(test_embedded_guard__refuses_for_a_while),
        EMBEDDED(test_embedded_guard__knows_small_chunks_by_their_place),
        EMBEDDED(test_embedded_guard__free_without_a_loss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
