/* SPDX-License-Identifier: Apache-2.0 */
#include "client.h"

#include "store/reach.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The server as the library itself reaches it: through libmongoc, by its address and by the socket
 * in a folder. */

typedef struct reached {
    fixture x;
    char folder[64];
    char path[128];
    ash_store *store;
    ash_collection *c;
    ash_error err;
} reached;

static void reached_start(reached *r, bool by_socket)
{
    ash_server_options o = ASH_SERVER_OPTIONS_INIT;
    char uri[64], *found = NULL;
    memset(r, 0, sizeof *r);
    strcpy(r->folder, "/tmp/ash-driver-XXXXXX");
    assert_non_null(mkdtemp(r->folder));
    snprintf(r->path, sizeof r->path, "%s/%s", r->folder, ASH_REACH_SOCKET);
    o.socket_path = r->path;
    o.version = "0.1";
    fixture_start(&r->x, &o);
    if (by_socket) {
        found = ash__reach_server_uri(r->folder);
        assert_non_null(found);
    }
    snprintf(uri, sizeof uri, "mongodb://127.0.0.1:%d/", r->x.port);
    assert_ok(ash_store_open(by_socket ? found : uri, NULL, &r->store, &r->err), &r->err);
    assert_ok(ash_collection_new(r->store, NULL, "fs.chunks", &r->c, &r->err), &r->err);
    free(found);
}

static void reached_stop(reached *r)
{
    ash_collection_free(r->c);
    ash_store_close(r->store);
    fixture_stop(&r->x);
    rmdir(r->folder);
}

static int insert_numbers(reached *r, int count, size_t filler, ash_write_result *result)
{
    bson_t **made = calloc((size_t)count, sizeof *made);
    ash_doc *docs = calloc((size_t)count, sizeof *docs);
    uint8_t *bytes = calloc(1, filler);
    int rc;
    for (int i = 0; i < count; i++) {
        made[i] = bson_new();
        BSON_APPEND_INT32(made[i], "_id", i);
        BSON_APPEND_BINARY(made[i], "data", BSON_SUBTYPE_BINARY, bytes, (uint32_t)filler);
        docs[i] = (ash_doc){bson_get_data(made[i]), made[i]->len};
    }
    rc = ash_collection_insert(r->c, docs, (size_t)count, NULL, result, &r->err);
    for (int i = 0; i < count; i++)
        bson_destroy(made[i]);
    free(made);
    free(docs);
    free(bytes);
    return rc;
}

static void test_wire_driver__both_ways_lead_to_the_server(void **state)
{
    (void)state;
    for (int by_socket = 0; by_socket < 2; by_socket++) {
        reached r;
        ash_capabilities can = ASH_CAPABILITIES_INIT;
        int64_t wall = 0;
        reached_start(&r, by_socket);
        assert_ok(ash_store_capabilities(r.store, &can, &r.err), &r.err);
        assert_string_equal(can.backend, "server");
        assert_true(can.watch);
        assert_true(can.transactions && can.atomic_commits); /* as the server's own store */
        assert_ok(ash_store_time(r.store, &wall, NULL, &r.err), &r.err);
        assert_true(wall > 1600000000000);
        reached_stop(&r);
    }
}

static void test_wire_driver__what_goes_in_comes_out_in_batches(void **state)
{
    enum { DOCS = 300, BYTES = 255 * 1024 };
    reached r;
    ash_write_result result;
    ash_cursor *cursor = NULL;
    ash_batch batch;
    size_t seen = 0;
    (void)state;
    reached_start(&r, true);
    ash_write_result_init(&result);
    assert_ok(insert_numbers(&r, DOCS, BYTES, &result), &r.err);
    assert_int_equal(result.inserted, DOCS);
    assert_true(r.x.store->retried);
    ash_write_result_release(&result);
    assert_ok(ash_collection_find(r.c, NULL, NULL, &cursor, &r.err), &r.err);
    do {
        assert_ok(ash_cursor_next_batch(cursor, 0, 0, &batch, &r.err), &r.err);
        for (size_t i = 0; i < batch.count; i++, seen++) {
            bson_t view;
            bson_iter_t it;
            assert_true(bson_init_static(&view, batch.docs[i].data, batch.docs[i].len));
            assert_true(bson_iter_init_find(&it, &view, "_id"));
            assert_int_equal(bson_iter_int32(&it), seen);
            assert_true(view.len > BYTES);
        }
    } while (!batch.exhausted);
    assert_int_equal(seen, DOCS);
    ash_cursor_free(cursor);
    reached_stop(&r);
}

static void test_wire_driver__errors_and_durability_travel(void **state)
{
    reached r;
    ash_write_result result;
    ash_insert_options opts = ASH_INSERT_OPTIONS_INIT;
    bson_t *doc = BCON_NEW("_id", BCON_INT32(1));
    (void)state;
    reached_start(&r, true);
    ash_write_result_init(&result);
    r.x.store->fail_code = ASH_EEXISTS;
    r.x.store->fail_server_code = 11000;
    assert_int_equal(insert_numbers(&r, 1, 10, &result), ASH_EEXISTS);
    assert_int_equal(r.err.server_code, 11000);
    assert_int_equal(result.error_count, 1);
    ash_write_result_release(&result);
    assert_ok(ash_collection_insert_one(r.c, doc, NULL, &r.err), &r.err);
    assert_int_not_equal(r.x.store->durability, ASH_DURABILITY_EVERY);
    opts.op.durability = ASH_DURABILITY_EVERY;
    assert_ok(ash_collection_insert_one(r.c, doc, &opts, &r.err), &r.err);
    assert_int_equal(r.x.store->durability, ASH_DURABILITY_EVERY);
    bson_destroy(doc);
    reached_stop(&r);
}

static void test_wire_driver__a_tailable_cursor_is_left_at_its_deadline(void **state)
{
    reached r;
    ash_find_options opts = ASH_FIND_OPTIONS_INIT;
    ash_cursor *cursor = NULL;
    ash_doc doc;
    (void)state;
    reached_start(&r, false);
    assert_ok(insert_numbers(&r, 1, 1, NULL), &r.err);
    opts.tailable = opts.await_data = true;
    opts.max_await_ms = 100;
    assert_ok(ash_collection_find(r.c, NULL, &opts, &cursor, &r.err), &r.err);
    assert_ok(ash_cursor_next(cursor, &doc, &r.err), &r.err);
    assert_non_null(doc.data);
    assert_ok(ash_cursor_next(cursor, &doc, &r.err), &r.err);
    assert_null(doc.data);
    assert_ok(insert_numbers(&r, 1, 1, NULL), &r.err);
    assert_ok(ash_cursor_next(cursor, &doc, &r.err), &r.err);
    assert_non_null(doc.data);
    ash_cursor_free(cursor);
    reached_stop(&r);
}

typedef struct worker {
    pthread_t thread;
    reached *r;
    int failures;
} worker;

static void *insert_and_find(void *arg)
{
    worker *w = arg;
    for (int i = 0; i < 20; i++) {
        ash_find_options opts = ASH_FIND_OPTIONS_INIT;
        ash_error err = ASH_ERROR_INIT;
        bson_t doc = BSON_INITIALIZER, found;
        opts.op.deadline_ms = ash_deadline(20000);
        BSON_APPEND_INT32(&doc, "i", i);
        if (ash_collection_insert_one(w->r->c, &doc, NULL, &err) != 0)
            w->failures++;
        else if (ash_collection_find_one(w->r->c, NULL, &opts, &found, &err) != 0)
            w->failures++;
        else
            bson_destroy(&found);
        bson_destroy(&doc);
    }
    return NULL;
}

static void test_wire_driver__threads_share_a_store(void **state)
{
    enum { WORKERS = 8 };
    reached r;
    worker workers[WORKERS];
    (void)state;
    reached_start(&r, false);
    for (int i = 0; i < WORKERS; i++) {
        workers[i] = (worker){.r = &r};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, insert_and_find, &workers[i]), 0);
    }
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(workers[i].thread, NULL);
        assert_int_equal(workers[i].failures, 0);
    }
    assert_int_equal(r.x.store->count, WORKERS * 20);
    reached_stop(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wire_driver__both_ways_lead_to_the_server),
        cmocka_unit_test(test_wire_driver__what_goes_in_comes_out_in_batches),
        cmocka_unit_test(test_wire_driver__errors_and_durability_travel),
        cmocka_unit_test(test_wire_driver__threads_share_a_store),
        cmocka_unit_test(test_wire_driver__a_tailable_cursor_is_left_at_its_deadline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
