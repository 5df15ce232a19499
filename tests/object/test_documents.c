/* SPDX-License-Identifier: Apache-2.0 */
/* Of the docs backend alone: what its documents are, how drivers see the bytes, changes as part of a
 * caller's transaction. */
#include "support.h"

#include "base/clock.h"
#include "store/embedded/kit/embedded.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct docs {
    fixture *f;
    ash_store *store;
    ash_object_manager *manager;
    ash_object_store *objects;
    ash_error err;
} docs;

/* f's own manager is closed meanwhile: a folder is held by one. */
static void open_docs(fixture *f, docs *d)
{
    ash_object_manager_options o = ASH_OBJECT_MANAGER_OPTIONS_INIT;
    ash_store_options so = ASH_STORE_OPTIONS_INIT;
    const char *uri = getenv("ASH_OBJECT_STORE");
    memset(d, 0, sizeof *d);
    d->f = f;
    ash_object_store_close(f->store);
    ash_object_manager_close(f->manager);
    so.default_db = f->db;
    assert_ok(ash_store_open(uri != NULL ? uri : f->folder, &so, &d->store, &d->err), &d->err);
    assert_ok(ash_object_manager_new(d->store, &o, &d->manager, &d->err), &d->err);
    assert_ok(ash_object_manager_bind(d->manager, support_name(f, ""), NULL, &d->objects, &d->err),
              &d->err);
}

static void close_docs(docs *d)
{
    fixture *f = d->f;
    ash_object_store_close(d->objects);
    ash_object_manager_close(d->manager);
    ash_store_close(d->store);
    support_open(f, &f->manager);
    assert_ok(ash_object_manager_bind(f->manager, support_name(f, ""), NULL, &f->store, &f->err),
              &f->err);
}

static bson_t *find(docs *d, const char *suffix, const char *json)
{
    char *name = suffix[0] == '*' ? ash__strdup(suffix + 1)
                                  : ash__sprintf("objects.%s.%s", support_name(d->f, ""), suffix);
    bson_t *filter = bson_new_from_json((const uint8_t *)json, -1, NULL), doc, *out;
    ash_collection *c = NULL;
    assert_ok(ash_collection_new(d->store, NULL, name, &c, &d->err), &d->err);
    assert_ok(ash_collection_find_one(c, filter, NULL, &doc, &d->err), &d->err);
    out = bson_copy(&doc);
    bson_destroy(&doc);
    bson_destroy(filter);
    ash_collection_free(c);
    ash__free(name);
    return out;
}

static int64_t count(docs *d, const char *suffix)
{
    char *name = ash__sprintf("objects.%s.%s", support_name(d->f, ""), suffix);
    ash_collection *c = NULL;
    bson_t filter = BSON_INITIALIZER;
    int64_t n = 0;
    assert_ok(ash_collection_new(d->store, NULL, name, &c, &d->err), &d->err);
    assert_ok(ash_collection_count(c, &filter, NULL, &n, &d->err), &d->err);
    ash_collection_free(c);
    ash__free(name);
    return n;
}

static void expect_fields(const bson_t *doc, const char *names)
{
    char got[512] = "";
    bson_iter_t it;
    assert_true(bson_iter_init(&it, doc));
    while (bson_iter_next(&it)) {
        size_t at = strlen(got);
        snprintf(got + at, sizeof got - at, "%s%s", at > 0 ? " " : "", bson_iter_key(&it));
    }
    assert_string_equal(got, names);
}

static void put(docs *d, const char *name, const char *text)
{
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    meta.name = name;
    assert_ok(ash_object_store_put_bytes(d->objects, &meta, text, strlen(text), NULL, NULL, NULL,
                                         &d->err),
              &d->err);
}

static void test_object_documents__fields(void **state)
{
    docs d;
    open_docs(*state, &d);
    put(&d, "a", "text");
    bson_t *doc = find(&d, "meta", "{\"_id\": \"a\"}");
    expect_fields(doc, "_id name options bucket nuid size mtime chunks digest revision");
    bson_destroy(doc);
    doc = find(&d, "*objects.stores", "{}");
    expect_fields(doc, "_id bucket generation created config revision bytes objects");
    bson_destroy(doc);
    doc = find(&d, "files", "{\"filename\": \"a\"}");
    expect_fields(doc, "_id length chunkSize uploadDate filename");
    bson_iter_t it;
    assert_true(bson_iter_init_find(&it, doc, "_id") && BSON_ITER_HOLDS_UTF8(&it));
    assert_int_equal(strlen(bson_iter_utf8(&it, NULL)), 22);
    bson_destroy(doc);
    close_docs(&d);
}

static void test_object_documents__bytes_are_a_buckets_file(void **state)
{
    docs d;
    ash_bucket *bucket = NULL;
    ash_bucket_options o = ASH_BUCKET_OPTIONS_INIT;
    ash_download *down = NULL;
    char got[16];
    size_t n = 0;
    open_docs(*state, &d);
    char *name = ash__sprintf("objects.%s", support_name(d.f, ""));
    o.bucket_name = name;
    put(&d, "a", "text");
    assert_ok(ash_bucket_new(d.store, &o, &bucket, &d.err), &d.err);
    assert_ok(ash_bucket_open_download_stream_by_name(bucket, "a", NULL, &down, &d.err), &d.err);
    assert_ok(ash_download_read(down, got, sizeof got, &n, &d.err), &d.err);
    assert_int_equal(n, 4);
    assert_memory_equal(got, "text", 4);
    ash_download_free(down);
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    meta.name = "b";
    assert_ok(ash_object_store_update_meta(d.objects, "a", &meta, NULL, NULL, NULL, &d.err),
              &d.err);
    assert_ok(ash_bucket_open_download_stream_by_name(bucket, "b", NULL, &down, &d.err), &d.err);
    ash_download_free(down);
    ash_bucket_free(bucket);
    ash__free(name);
    close_docs(&d);
}

/* An overwrite leaves one file, a deletion none. */
static void test_object_documents__nothing_is_left(void **state)
{
    docs d;
    open_docs(*state, &d);
    for (int i = 0; i < 5; i++)
        put(&d, "a", "text");
    assert_int_equal(count(&d, "files"), 1);
    assert_int_equal(count(&d, "chunks"), 1);
    assert_int_equal(count(&d, "meta"), 1);
    assert_ok(ash_object_store_delete(d.objects, "a", NULL, NULL, NULL, &d.err), &d.err);
    assert_int_equal(count(&d, "files"), 0);
    assert_int_equal(count(&d, "chunks"), 0);
    assert_int_equal(count(&d, "attributes"), 0);
    assert_int_equal(count(&d, "meta"), 1);
    assert_int_equal(count(&d, "versions"), 0);
    close_docs(&d);
}

/* A store of the same name later has collections of its own. */
static void test_object_documents__generations(void **state)
{
    docs d;
    open_docs(*state, &d);
    ash_object_config config = ASH_OBJECT_CONFIG_INIT;
    ash_object_store *second = NULL;
    put(&d, "a", "text");
    assert_ok(ash_object_manager_delete(d.manager, support_name(d.f, ""), NULL, &d.err), &d.err);
    config.name = support_name(d.f, "");
    assert_ok(ash_object_manager_create(d.manager, &config, NULL, &second, &d.err), &d.err);
    bson_t *doc = find(&d, "*objects.stores", "{\"generation\": 2}");
    bson_iter_t it;
    char wanted[80];
    snprintf(wanted, sizeof wanted, "objects.%s.2", support_name(d.f, ""));
    assert_true(bson_iter_init_find(&it, doc, "bucket"));
    assert_string_equal(bson_iter_utf8(&it, NULL), wanted);
    bson_destroy(doc);
    assert_int_equal(count(&d, "meta"), 0);
    ash_object_store_close(second);
    close_docs(&d);
}

/* ---- by somebody's hand ---- */

/* An update of all that the filter has. */
static void change(docs *d, const char *suffix, bson_t *filter, bson_t *operators)
{
    char *name = ash__sprintf("objects.%s.%s", support_name(d->f, ""), suffix);
    ash_collection *c = NULL;
    ash_update_options o = ASH_UPDATE_OPTIONS_INIT;
    bson_value_t value = {.value_type = BSON_TYPE_DOCUMENT};
    value.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(operators);
    value.value.v_doc.data_len = operators->len;
    o.multi = true;
    assert_ok(ash_collection_new(d->store, NULL, name, &c, &d->err), &d->err);
    assert_ok(ash_collection_update(c, filter, &value, &o, NULL, &d->err), &d->err);
    ash_collection_free(c);
    ash__free(name);
    bson_destroy(filter);
    bson_destroy(operators);
}

static int read_it(docs *d, const char *name)
{
    uint8_t *data = NULL;
    size_t len = 0;
    int rc = ash_object_store_get_bytes(d->objects, name, NULL, NULL, &data, &len, &d->err);
    ash_object_bytes_free(data);
    return rc;
}

static void put_three_chunks(docs *d, const uint8_t *data, size_t chunk_size)
{
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    meta.name = "a";
    meta.chunk_size = (int32_t)chunk_size;
    assert_ok(ash_object_store_put_bytes(d->objects, &meta, data, 3 * chunk_size, NULL, NULL, NULL,
                                         &d->err),
              &d->err);
    assert_ok(read_it(d, "a"), &d->err);
}

static void test_object_documents__damaged_chunks(void **state)
{
    docs d;
    open_docs(*state, &d);
    uint8_t *data = support_bytes(30000, 1);
    for (int n = 0; n < 3; n++) { /* one byte of each */
        put_three_chunks(&d, data, 10000);
        data[n * 10000 + 77] ^= 1;
        change(&d, "chunks", BCON_NEW("n", BCON_INT32(n)),
               BCON_NEW("$set", "{", "data", BCON_BIN(BSON_SUBTYPE_BINARY, data + n * 10000, 10000),
                        "}"));
        assert_int_equal(read_it(&d, "a"), ASH_ECORRUPT);
    }
    /* One is not where it was, or shorter. */
    put_three_chunks(&d, data, 10000);
    change(&d, "chunks", BCON_NEW("n", BCON_INT32(1)),
           BCON_NEW("$set", "{", "n", BCON_INT32(5), "}"));
    assert_int_not_equal(read_it(&d, "a"), 0);
    put_three_chunks(&d, data, 10000);
    change(&d, "chunks", BCON_NEW("n", BCON_INT32(1)),
           BCON_NEW("$set", "{", "data", BCON_BIN(BSON_SUBTYPE_BINARY, data, 9999), "}"));
    assert_int_not_equal(read_it(&d, "a"), 0);
    put_three_chunks(&d, data, 10000);
    ash__free(data);
    close_docs(&d);
}

/* The chunks of a small object are numbered as if they were the last of one of 5 GiB. */
static void test_object_documents__ranges_beyond_4_gib(void **state)
{
    enum { CHUNK = 131072, FIRST = 40000 };
    docs d;
    open_docs(*state, &d);
    const int64_t size = (int64_t)(FIRST + 3) * CHUNK, from = (int64_t)FIRST * CHUNK;
    uint8_t *data = support_bytes(3 * CHUNK, 1), *got = NULL;
    ash_object *o = NULL;
    put_three_chunks(&d, data, CHUNK);
    change(&d, "chunks", bson_new(), BCON_NEW("$inc", "{", "n", BCON_INT32(FIRST), "}"));
    change(&d, "files", bson_new(), BCON_NEW("$set", "{", "length", BCON_INT64(size), "}"));
    change(&d, "meta", bson_new(),
           BCON_NEW("$set", "{", "size", BCON_INT64(size), "chunks", BCON_INT64(FIRST + 3), "}"));
    assert_ok(ash_object_store_info(d.objects, "a", NULL, NULL, &o, &d.err), &d.err);
    assert_true(ash_object_size(o) == size);
    ash_object_free(o);
    static const int64_t ranges[][2] = {
        {0, 10}, {CHUNK - 1, CHUNK + 1}, {5, 2 * CHUNK + 7}, {3 * CHUNK - 1, 3 * CHUNK}};
    for (size_t i = 0; i < ASH_ARRAY_LEN(ranges); i++) {
        ash_object_read_options opts = ASH_OBJECT_READ_OPTIONS_INIT;
        size_t len = 0;
        opts.start = from + ranges[i][0];
        opts.end = from + ranges[i][1];
        assert_ok(ash_object_store_get_bytes(d.objects, "a", &opts, NULL, &got, &len, &d.err),
                  &d.err);
        assert_int_equal(len, ranges[i][1] - ranges[i][0]);
        assert_memory_equal(got, data + ranges[i][0], len);
        ash_object_bytes_free(got);
    }
    ash__free(data);
    close_docs(&d);
}

static void test_object_documents__many_stores(void **state)
{
    enum { COUNT = 1025 };
    docs d;
    open_docs(*state, &d);
    ash_collection *stores = NULL;
    ash_object_status_listing *l = NULL;
    const ash_object_status *st = NULL;
    int count = 0;
    bson_t *one = find(&d, "*objects.stores", "{}");
    assert_ok(ash_collection_new(d.store, NULL, "objects.stores", &stores, &d.err), &d.err);
    for (int i = 0; i < COUNT; i++) {
        char name[16];
        bson_t doc = BSON_INITIALIZER;
        snprintf(name, sizeof name, "many-%04d", i);
        BSON_APPEND_UTF8(&doc, "_id", name);
        bson_copy_to_excluding_noinit(one, &doc, "_id", NULL);
        assert_ok(ash_collection_insert_one(stores, &doc, NULL, &d.err), &d.err);
        bson_destroy(&doc);
    }
    assert_ok(ash_object_manager_list(d.manager, NULL, &l, &d.err), &d.err);
    while (ash_object_status_listing_next(l, &st, &d.err) == 0 && st != NULL)
        count += strncmp(ash_object_status_name(st), "many-", 5) == 0;
    assert_int_equal(count, COUNT);
    ash_object_status_listing_free(l);
    bson_t *filter = BCON_NEW("_id", "{", "$regex", BCON_UTF8("^many-"), "}");

    assert_ok(ash_collection_remove(stores, filter, NULL, NULL, &d.err), &d.err);
    bson_destroy(filter);
    bson_destroy(one);
    ash_collection_free(stores);
    close_docs(&d);
}

/* ---- in a caller's transaction ---- */

typedef struct both {
    docs *d;
    ash_object_writer *w;
    int fail;
} both;

static int put_and_note(ash_transaction *t, void *ctx, ash_error *err)
{
    both *b = ctx;
    ash_op op = ASH_OP_INIT;
    ash_insert_options io = ASH_INSERT_OPTIONS_INIT;
    ash_collection *notes = NULL;
    bson_t *doc = BCON_NEW("note", "x");
    op.transaction = t;
    io.op = op;
    int rc = ash_collection_new(b->d->store, NULL, "notes", &notes, err);
    if (rc == 0)
        rc = ash_object_writer_finish(b->w, &op, NULL, err);
    if (rc == 0)
        rc = ash_object_store_delete(b->d->objects, "old", NULL, &op, NULL, err);
    if (rc == 0)
        rc = ash_collection_insert_one(notes, doc, &io, err);
    if (rc == 0 && b->fail != 0)
        rc = ash__fail(err, b->fail, "on purpose");
    ash_collection_free(notes);
    bson_destroy(doc);
    return rc;
}

static void test_object_documents__transactions(void **state)
{
    docs d;
    open_docs(*state, &d);
    both b = {.d = &d, .fail = ASH_EIO};
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    ash_object *o = NULL;
    put(&d, "old", "text");
    meta.name = "new";
    assert_ok(ash_object_store_open_writer(d.objects, &meta, NULL, NULL, &b.w, &d.err), &d.err);
    assert_ok(ash_object_writer_write(b.w, "text", 4, &d.err), &d.err);
    assert_int_equal(ash_store_transact(d.store, put_and_note, &b, NULL, &d.err), ASH_ESTATE);
    assert_ok(ash_object_writer_seal(b.w, &d.err), &d.err);
    assert_int_equal(ash_store_transact(d.store, put_and_note, &b, NULL, &d.err), ASH_EIO);
    assert_ok(ash_object_store_info(d.objects, "old", NULL, NULL, &o, &d.err), &d.err);
    ash_object_free(o);
    assert_int_equal(ash_object_store_info(d.objects, "new", NULL, NULL, &o, &d.err),
                     ASH_ENOTFOUND);
    b.fail = 0;
    assert_ok(ash_store_transact(d.store, put_and_note, &b, NULL, &d.err), &d.err);
    ash_object_writer_free(b.w);
    assert_ok(ash_object_store_info(d.objects, "new", NULL, NULL, &o, &d.err), &d.err);
    ash_object_free(o);
    assert_int_equal(ash_object_store_info(d.objects, "old", NULL, NULL, &o, &d.err),
                     ASH_ENOTFOUND);
    close_docs(&d);
    support_expect_sound(d.f, d.f->store);
}

/* ---- what ends by itself ---- */

static void reap(docs *d, ash_object_reaper *r, int expired)
{
    ash_object_sweep_report report = ASH_OBJECT_SWEEP_REPORT_INIT;
    assert_ok(ash_object_reaper_round(r, NULL, &report, &d->err), &d->err);
    /* A server does the same meanwhile, and may come first. */
    if (getenv("ASH_OBJECT_STORE") != NULL)
        assert_in_range(report.expired, 0, expired);
    else
        assert_int_equal(report.expired, expired);
}

static void put_for(docs *d, ash_object_store *s, const char *name, int64_t ttl_ms)
{
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    ash_object_change_options o = ASH_OBJECT_CHANGE_OPTIONS_INIT;
    meta.name = name;
    o.ttl_ms = ttl_ms;
    assert_ok(ash_object_store_put_bytes(s, &meta, "x", 1, &o, NULL, NULL, &d->err), &d->err);
}

static int64_t live(docs *d, ash_object_store *s)
{
    ash_object_status *st = NULL;
    assert_ok(ash_object_store_status(s, NULL, &st, &d->err), &d->err);
    int64_t objects = ash_object_status_objects(st);
    ash_object_status_free(st);
    return objects;
}

/* In all databases; of an end that comes earlier by a change, too. */
static void test_object_documents__reaper(void **state)
{
    ash_object_manager_options mo = ASH_OBJECT_MANAGER_OPTIONS_INIT;
    ash_object_config config = ASH_OBJECT_CONFIG_INIT;
    ash_object_manager *elsewhere = NULL;
    ash_object_store *other = NULL;
    ash_object_reaper *r = NULL;
    fixture *f = *state;
    docs d;
    open_docs(f, &d);
    char *db = ash__sprintf("%s_2", f->db);
    mo.db = db;
    config.name = support_name(f, "");
    assert_ok(ash_object_manager_new(d.store, &mo, &elsewhere, &d.err), &d.err);
    assert_ok(ash_object_manager_create(elsewhere, &config, NULL, &other, &d.err), &d.err);
    assert_ok(ash_object_reaper_open(d.store, &r, &d.err), &d.err);
    put_for(&d, d.objects, "later", 3600000);
    put_for(&d, other, "soon", 1);
    ash__clock_sleep_ms(20);
    reap(&d, r, 1);
    assert_int_equal(live(&d, other), 0);
    reap(&d, r, 0);
    put_for(&d, d.objects, "sooner", 2000);
    reap(&d, r, 0);
    ash__clock_sleep_ms(2100);
    reap(&d, r, 1);
    assert_int_equal(live(&d, d.objects), 1);
    assert_ok(ash_object_manager_delete(elsewhere, config.name, NULL, &d.err), &d.err);
    reap(&d, r, 0);
    ash_object_store_close(other);
    ash_object_manager_close(elsewhere);
    ash_object_reaper_close(r);
    ash__free(db);
    close_docs(&d);
}

/* What is over by somebody's hand, without a change of the store, is not seen: nobody looked. */
static void test_object_documents__reaper_at_rest(void **state)
{
    ash_object_reaper *r = NULL;
    fixture *f = *state;
    docs d;
    open_docs(f, &d);
    assert_ok(ash_object_reaper_open(d.store, &r, &d.err), &d.err);
    put_for(&d, d.objects, "a", 3600000);
    put_for(&d, d.objects, "b", 0);
    reap(&d, r, 0);
    change(&d, "meta", BCON_NEW("_id", BCON_UTF8("a")),
           BCON_NEW("$set", "{", "expires", BCON_DATE_TIME(1), "}"));
    reap(&d, r, 0);
    support_put(f, d.objects, "b", "changed");
    reap(&d, r, 1);
    ash_object_reaper_close(r);
    close_docs(&d);
}

/* ---- what a put costs ---- */

static ash_engine_stats stats_of(docs *d)
{
    ash_engine_stats stats;
    assert_ok(ash__engine_stats(ash__embedded(d->store)->engine, &stats, &d->err), &d->err);
    return stats;
}

/* One record of the journal, since a put of few bytes reads nothing outside its transaction: what a
 * reader is to see would have to be committed first. */
static void test_object_documents__small_puts_need_no_commit(void **state)
{
    docs d;
    ash_capabilities can = ASH_CAPABILITIES_INIT;
    open_docs(*state, &d);
    assert_ok(ash_store_capabilities(d.store, &can, &d.err), &d.err);
    if (strcmp(can.backend, "embedded") != 0) { /* only a folder has a journal */
        close_docs(&d);
        return;
    }
    for (int i = 0; i < 100; i++) /* until the store has one, and finds that no reader follows */
        put(&d, "before", "text");
    ash_engine_stats before = stats_of(&d);
    for (int i = 0; i < 50; i++)
        put(&d, "name", "text");
    ash_engine_stats after = stats_of(&d);
    assert_true(after.flushes - before.flushes >= 10); /* the clock commits now and then, too */
    assert_int_equal(after.applies - before.applies, 50);
    close_docs(&d);
}

/* Those of many are told early that there will be none. */
static void test_object_documents__large_puts_are_refused_early(void **state)
{
    enum { MANY = 1024 * 1024 };
    docs d;
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    ash_object_change_options o = ASH_OBJECT_CHANGE_OPTIONS_INIT;
    ash_object_writer *w = NULL;
    uint8_t *many = calloc(1, MANY);
    open_docs(*state, &d);
    put(&d, "a", "text");
    meta.name = "a";
    o.if_absent = true;
    assert_ok(ash_object_store_open_writer(d.objects, &meta, &o, NULL, &w, &d.err), &d.err);
    assert_int_equal(ash_object_writer_write(w, many, MANY, &d.err), ASH_ECONDITION);
    ash_object_writer_free(w);
    assert_ok(ash_object_store_open_writer(d.objects, &meta, NULL, NULL, &w, &d.err), &d.err);
    assert_ok(ash_object_store_seal(d.objects, NULL, &d.err), &d.err);
    assert_int_equal(ash_object_writer_write(w, many, MANY, &d.err), ASH_EREADONLY);
    ash_object_writer_free(w);
    close_docs(&d);
    free(many);
}

#define T(name)                                                                                    \
    cmocka_unit_test_setup_teardown(test_object_documents__##name, support_setup, support_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(fields),
        T(bytes_are_a_buckets_file),
        T(nothing_is_left),
        T(generations),
        T(damaged_chunks),
        T(ranges_beyond_4_gib),
        T(many_stores),
        T(transactions),
        T(reaper),
        T(reaper_at_rest),
        T(small_puts_need_no_commit),
        T(large_puts_are_refused_early),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
