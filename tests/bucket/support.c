/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "base/error.h"
#include "remove_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void support_open(fixture *f)
{
    ash_bucket_options o = ASH_BUCKET_OPTIONS_INIT;
    o.chunk_size_bytes = CHUNK;
    ash_store_options s = ASH_STORE_OPTIONS_INIT;
    const char *uri = getenv("ASH_BUCKET_STORE");
    /* A database of the test's own, named like its folder. */
    s.default_db = strrchr(f->folder, '/') + 1;
    assert_ok(ash_store_open(uri != NULL ? uri : f->folder, &s, &f->store, &f->err), &f->err);
    assert_ok(ash_bucket_new(f->store, &o, &f->bucket, &f->err), &f->err);
    assert_ok(ash_collection_new(f->store, NULL, "fs.files", &f->files, &f->err), &f->err);
    assert_ok(ash_collection_new(f->store, NULL, "fs.chunks", &f->chunks, &f->err), &f->err);
    assert_ok(ash_collection_new(f->store, NULL, "fs.attributes", &f->attributes, &f->err),
              &f->err);
}

void support_close(fixture *f)
{
    ash_collection_free(f->files);
    ash_collection_free(f->chunks);
    ash_collection_free(f->attributes);
    ash_bucket_free(f->bucket);
    ash_store_close(f->store);
}

int support_setup(void **state)
{
    fixture *f = ash__new(fixture);
    const char *tmp = getenv("TMPDIR");
    f->folder = ash__sprintf("%s/ashlar-bucket-XXXXXX", tmp != NULL ? tmp : "/tmp");
    if (mkdtemp(f->folder) == NULL)
        return -1;
    support_open(f);
    *state = f;
    return 0;
}

int support_teardown(void **state)
{
    fixture *f = *state;
    ash_store_drop_database(f->store, NULL, NULL, NULL);
    support_close(f);
    remove_folder(f->folder);
    ash__free(f->folder);
    ash__free(f);
    return 0;
}

void support_reopen(fixture *f)
{
    support_close(f);
    support_open(f);
}

ash_bucket *support_open_bucket(fixture *f, int32_t chunk_size_bytes)
{
    ash_bucket_options o = ASH_BUCKET_OPTIONS_INIT;
    ash_bucket *b = NULL;
    o.chunk_size_bytes = chunk_size_bytes;
    assert_ok(ash_bucket_new(f->store, &o, &b, &f->err), &f->err);
    return b;
}

uint8_t *support_bytes(size_t len, uint32_t seed)
{
    uint8_t *data = ash__alloc(len + 1);
    uint32_t x = seed * 2654435761u + 1;
    for (size_t i = 0; i < len; i++) {
        x = x * 1664525u + 1013904223u;
        data[i] = (uint8_t)(x >> 24);
    }
    return data;
}

int support_put_with(fixture *f, const bson_value_t *id, const char *name, const void *data,
                     size_t len, const ash_upload_options *opts)
{
    ash_upload *u = NULL;
    int rc = id != NULL
                 ? ash_bucket_open_upload_stream_with_id(f->bucket, id, name, opts, &u, &f->err)
                 : ash_bucket_open_upload_stream(f->bucket, name, opts, &u, &f->err);
    if (rc == 0)
        rc = ash_upload_write(u, data, len, &f->err);
    if (rc == 0)
        rc = ash_upload_finish(u, NULL, &f->err);
    ash_upload_free(u);
    return rc;
}

void support_put(fixture *f, const char *name, const void *data, size_t len, bson_value_t *id)
{
    support_source s = {data, len, 0, 0, false};
    ash_input in = support_input(&s);
    assert_ok(ash_bucket_upload_from_stream(f->bucket, name, &in, NULL, id, &f->err), &f->err);
}

int support_get(fixture *f, const bson_value_t *id, ash_buffer *out)
{
    ash_output to = support_output(out);
    return ash_bucket_download_to_stream(f->bucket, id, &to, NULL, &f->err);
}

static void expect_bytes(const ash_buffer *got, const void *data, size_t len)
{
    assert_int_equal(got->len, len);
    if (len > 0)
        assert_memory_equal(got->data, data, len);
}

void support_expect(fixture *f, const bson_value_t *id, const void *data, size_t len)
{
    ash_buffer got = ASH_BUFFER_INIT;
    assert_ok(support_get(f, id, &got), &f->err);
    expect_bytes(&got, data, len);
    ash__buffer_release(&got);
}

void support_expect_name(fixture *f, const char *name, int32_t revision, const void *data,
                         size_t len)
{
    ash_buffer got = ASH_BUFFER_INIT;
    ash_output to = support_output(&got);
    ash_download_options o = ASH_DOWNLOAD_OPTIONS_INIT;
    o.has_revision = true;
    o.revision = revision;
    assert_ok(ash_bucket_download_to_stream_by_name(f->bucket, name, &to, &o, &f->err), &f->err);
    expect_bytes(&got, data, len);
    ash__buffer_release(&got);
}

static bson_t *from_json(const char *json)
{
    bson_error_t error;
    bson_t *doc = bson_new_from_json((const uint8_t *)json, -1, &error);
    if (doc == NULL)
        fail_msg("%s: %s", json, error.message);
    return doc;
}

int64_t support_count(ash_collection *c, const char *json)
{
    ash_error err = ASH_ERROR_INIT;
    bson_t *filter = from_json(json);
    int64_t n = -1;
    assert_ok(ash_collection_count(c, filter, NULL, &n, &err), &err);
    bson_destroy(filter);
    return n;
}

int64_t support_count_type(ash_collection *c, const char *field, const char *type)
{
    ash_error err = ASH_ERROR_INIT;
    bson_t *filter = BCON_NEW(field, "{", "$type", BCON_UTF8(type), "}");
    int64_t n = -1;
    assert_ok(ash_collection_count(c, filter, NULL, &n, &err), &err);
    bson_destroy(filter);
    return n;
}

char *support_dump(ash_collection *c, const char *json)
{
    ash_error err = ASH_ERROR_INIT;
    bson_t *filter = from_json(json);
    bson_t array = BSON_INITIALIZER;
    ash_cursor *cursor = NULL;
    ash_doc doc;
    bson_t view;
    assert_ok(ash_collection_find(c, filter, NULL, &cursor, &err), &err);
    for (uint32_t i = 0;; i++) {
        char key[12];
        assert_ok(ash_cursor_next(cursor, &doc, &err), &err);
        if (doc.data == NULL)
            break;
        assert_true(bson_init_static(&view, doc.data, doc.len));
        snprintf(key, sizeof key, "%u", i);
        bson_append_document(&array, key, -1, &view);
    }
    char *text = bson_as_canonical_extended_json(&array, NULL);
    ash_cursor_free(cursor);
    bson_destroy(&array);
    bson_destroy(filter);
    return text;
}

void support_insert(ash_collection *c, const char *json)
{
    ash_error err = ASH_ERROR_INIT;
    bson_t *doc = from_json(json);
    assert_ok(ash_collection_insert_one(c, doc, NULL, &err), &err);
    bson_destroy(doc);
}

void support_update(ash_collection *c, const char *filter, const char *update)
{
    ash_error err = ASH_ERROR_INIT;
    ash_update_options o = ASH_UPDATE_OPTIONS_INIT;
    bson_t *which = from_json(filter);
    bson_t *change = from_json(update);
    bson_t holder = BSON_INITIALIZER;
    bson_iter_t it;
    o.multi = true;
    bson_append_document(&holder, "u", 1, change);
    assert_true(bson_iter_init_find(&it, &holder, "u"));
    assert_ok(ash_collection_update(c, which, bson_iter_value(&it), &o, NULL, &err), &err);
    bson_destroy(&holder);
    bson_destroy(change);
    bson_destroy(which);
}

void support_remove(ash_collection *c, const char *filter)
{
    ash_error err = ASH_ERROR_INIT;
    bson_t *which = from_json(filter);
    assert_ok(ash_collection_remove(c, which, NULL, NULL, &err), &err);
    bson_destroy(which);
}

bson_value_t support_int_id(int32_t n)
{
    bson_value_t v = {.value_type = BSON_TYPE_INT32};
    v.value.v_int32 = n;
    return v;
}

bson_value_t support_text_id(const char *text)
{
    bson_value_t v = {.value_type = BSON_TYPE_UTF8};
    v.value.v_utf8.len = (uint32_t)strlen(text);
    v.value.v_utf8.str = bson_strdup(text);
    return v;
}

static int64_t read_source(void *ctx, void *buf, size_t len, ash_error *err)
{
    support_source *s = ctx;
    size_t take = s->len - s->at < len ? s->len - s->at : len;
    if (s->step > 0 && take > s->step)
        take = s->step;
    if (take == 0 && s->fails)
        return ash__fail(err, ASH_EIO, "source failed");
    if (take > 0)
        memcpy(buf, s->data + s->at, take);
    s->at += take;
    return (int64_t)take;
}

ash_input support_input(support_source *s)
{
    return (ash_input){s, read_source};
}

static int write_buffer(void *ctx, const void *data, size_t len, ash_error *err)
{
    (void)err;
    ash__buffer_append(ctx, data, len);
    return 0;
}

ash_output support_output(ash_buffer *buf)
{
    return (ash_output){buf, write_buffer};
}

static int do_nothing(ash_transaction *t, void *ctx, ash_error *err)
{
    (void)t, (void)ctx, (void)err;
    return 0;
}

bool support_lacks_transactions(fixture *f)
{
    ash_capabilities can = ASH_CAPABILITIES_INIT;
    assert_ok(ash_store_capabilities(f->store, &can, &f->err), &f->err);
    if (!can.transactions)
        assert_int_equal(ash_store_transact(f->store, do_nothing, NULL, NULL, &f->err),
                         ASH_EUNSUPPORTED);
    return !can.transactions;
}
