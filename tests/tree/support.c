/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "remove_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SEED_BYTES = 500 };

static void open_all(fixture *f, unsigned digest)
{
    ash_store_options s = ASH_STORE_OPTIONS_INIT;
    ash_tree_options o = ASH_TREE_OPTIONS_INIT;
    const char *uri = getenv("ASH_TREE_STORE");
    s.default_db = strrchr(f->folder, '/') + 1;
    o.digest = digest;
    assert_ok(ash_store_open(uri != NULL ? uri : f->folder, &s, &f->store, &f->err), &f->err);
    assert_ok(ash_tree_open(f->store, "/", &o, &f->tree, &f->err), &f->err);
    assert_ok(ash_collection_new(f->store, NULL, "v7files", &f->current, &f->err), &f->err);
    assert_ok(ash_collection_new(f->store, NULL, "v7files.vermongo", &f->past, &f->err), &f->err);
    assert_ok(ash_collection_new(f->store, NULL, "v7.fs.files", &f->contents, &f->err), &f->err);
    assert_ok(ash_collection_new(f->store, NULL, "v7.fs.chunks", &f->chunks, &f->err), &f->err);
}

static void close_all(fixture *f)
{
    ash_collection_free(f->current);
    ash_collection_free(f->past);
    ash_collection_free(f->contents);
    ash_collection_free(f->chunks);
    ash_tree_close(f->tree);
    ash_store_close(f->store);
}

static int setup(void **state, unsigned digest)
{
    fixture *f = ash__new(fixture);
    const char *tmp = getenv("TMPDIR");
    f->folder = ash__sprintf("%s/ashlar-tree-XXXXXX", tmp != NULL ? tmp : "/tmp");
    if (mkdtemp(f->folder) == NULL)
        return -1;
    open_all(f, digest);
    *state = f;
    return 0;
}

int support_setup(void **state)
{
    return setup(state, 0);
}

int support_setup_sha1(void **state)
{
    return setup(state, ASH_DIGEST_SHA1);
}

int support_teardown(void **state)
{
    fixture *f = *state;
    if (!f->damaged)
        support_expect_sound(f);
    ash_store_drop_database(f->store, NULL, NULL, NULL);
    close_all(f);
    remove_folder(f->folder);
    ash__free(f->folder);
    ash__free(f);
    return 0;
}

void support_reopen(fixture *f)
{
    close_all(f);
    open_all(f, 0);
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

/* ---- writing ---- */

int support_try_put(fixture *f, const char *path, const void *data, size_t len,
                    const ash_tree_change_options *opts, ash_tree_entry **entry)
{
    ash_tree_writer *w = NULL;
    int rc = ash_tree_open_writer(f->tree, path, opts, NULL, &w, &f->err);
    if (rc == 0)
        rc = ash_tree_writer_write(w, data, len, &f->err);
    if (rc == 0)
        rc = ash_tree_writer_finish(w, NULL, entry, &f->err);
    ash_tree_writer_free(w);
    return rc;
}

void support_put(fixture *f, const char *path, const void *data, size_t len)
{
    assert_ok(support_try_put(f, path, data, len, NULL, NULL), &f->err);
}

void support_put_text(fixture *f, const char *path, const char *text)
{
    support_put(f, path, text, strlen(text));
}

void support_folder(fixture *f, const char *path)
{
    assert_ok(ash_tree_make_folder(f->tree, path, NULL, NULL, NULL, &f->err), &f->err);
}

void support_put_seed(fixture *f, const char *path, uint32_t seed)
{
    uint8_t *data = support_bytes(SEED_BYTES, seed);
    support_put(f, path, data, SEED_BYTES);
    ash__free(data);
}

void support_move(fixture *f, const char *from, const char *to)
{
    assert_ok(ash_tree_move(f->tree, from, to, NULL, NULL, NULL, &f->err), &f->err);
}

void support_copy(fixture *f, const char *from, const char *to)
{
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    o.recursive = true;
    assert_ok(ash_tree_copy(f->tree, from, NULL, to, &o, NULL, NULL, &f->err), &f->err);
}

void support_remove(fixture *f, const char *path)
{
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    o.recursive = true;
    assert_ok(ash_tree_remove(f->tree, path, &o, NULL, &f->err), &f->err);
}

/* ---- reading ---- */

static int read_all(fixture *f, ash_tree_reader *r, ash_buffer *out)
{
    int rc = 0;
    size_t got = 1;
    while (rc == 0 && got > 0) {
        uint8_t buf[5000];
        rc = ash_tree_reader_read(r, buf, sizeof buf, &got, &f->err);
        if (rc == 0)
            ash__buffer_append(out, buf, got);
    }
    ash_tree_reader_free(r);
    return rc;
}

int support_read(fixture *f, const char *path, int32_t version, int64_t at_ms, ash_buffer *out)
{
    ash_tree_read_options o = ASH_TREE_READ_OPTIONS_INIT;
    ash_tree_reader *r = NULL;
    o.version = version;
    o.at_ms = at_ms;
    ash__buffer_clear(out);
    int rc = ash_tree_open_reader(f->tree, path, &o, NULL, &r, &f->err);
    return rc == 0 ? read_all(f, r, out) : rc;
}

int support_read_content(fixture *f, const char *digest, ash_buffer *out)
{
    ash_tree_reader *r = NULL;
    ash__buffer_clear(out);
    int rc = ash_tree_open_content(f->tree, digest, NULL, NULL, &r, &f->err);
    return rc == 0 ? read_all(f, r, out) : rc;
}

void support_expect_found_by_digest(fixture *f, const char *path)
{
    static const size_t digits[] = {ASH_DIGEST_TEXT_BYTES - 1, 20};
    ash_buffer wanted = ASH_BUFFER_INIT, got = ASH_BUFFER_INIT;
    ash_tree_entry *e = support_get(f, path);
    assert_ok(support_read(f, path, 0, 0, &wanted), &f->err);
    for (int i = 0; i < 2; i++) {
        char digest[ASH_DIGEST_TEXT_BYTES];
        snprintf(digest, sizeof digest, "%.*s", (int)digits[i], ash_tree_entry_digest(e));
        assert_ok(support_read_content(f, digest, &got), &f->err);
        assert_int_equal(got.len, wanted.len);
        assert_memory_equal(got.data, wanted.data, got.len);
    }
    ash_tree_entry_free(e);
    ash__buffer_release(&wanted);
    ash__buffer_release(&got);
}

void support_expect_text_of(fixture *f, const char *path, int32_t version, int64_t at_ms,
                            const char *text)
{
    ash_buffer got = ASH_BUFFER_INIT;
    assert_ok(support_read(f, path, version, at_ms, &got), &f->err);
    assert_string_equal(ash__buffer_text(&got), text);
    ash__buffer_release(&got);
}

void support_expect_text(fixture *f, const char *path, const char *text)
{
    support_expect_text_of(f, path, 0, 0, text);
}

void support_expect_bytes(fixture *f, const char *path, const void *data, size_t len)
{
    ash_buffer got = ASH_BUFFER_INIT;
    assert_ok(support_read(f, path, 0, 0, &got), &f->err);
    assert_int_equal(got.len, len);
    if (len > 0)
        assert_memory_equal(got.data, data, len);
    ash__buffer_release(&got);
}

void support_expect_seed_of(fixture *f, const char *path, int32_t version, int64_t at_ms,
                            uint32_t seed)
{
    ash_buffer got = ASH_BUFFER_INIT;
    uint8_t *data = support_bytes(SEED_BYTES, seed);
    assert_ok(support_read(f, path, version, at_ms, &got), &f->err);
    assert_int_equal(got.len, SEED_BYTES);
    assert_memory_equal(got.data, data, SEED_BYTES);
    ash__buffer_release(&got);
    ash__free(data);
}

void support_expect_seed(fixture *f, const char *path, uint32_t seed)
{
    support_expect_seed_of(f, path, 0, 0, seed);
}

ash_tree_entry *support_get(fixture *f, const char *path)
{
    ash_tree_entry *e = NULL;
    assert_ok(ash_tree_get(f->tree, path, NULL, NULL, &e, &f->err), &f->err);
    return e;
}

bson_value_t support_id(fixture *f, const char *path)
{
    ash_tree_entry *e = support_get(f, path);
    bson_value_t id = *ash_tree_entry_id(e);
    assert_int_equal(id.value_type, BSON_TYPE_OID);
    ash_tree_entry_free(e);
    return id;
}

void support_expect_id(fixture *f, const char *path, const bson_value_t *id)
{
    bson_value_t got = support_id(f, path);
    assert_true(bson_oid_equal(&got.value.v_oid, &id->value.v_oid));
}

void support_expect_version(fixture *f, const char *path, int32_t version)
{
    ash_tree_entry *e = support_get(f, path);
    assert_int_equal(ash_tree_entry_version(e), version);
    ash_tree_entry_free(e);
}

void support_expect_missing(fixture *f, const char *path)
{
    ash_tree_entry *e = NULL;
    assert_int_equal(ash_tree_get(f->tree, path, NULL, NULL, &e, &f->err), ASH_ENOTFOUND);
    assert_null(e);
}

void support_expect_entries(fixture *f, ash_tree_listing *l, bool paths, const char *names)
{
    const ash_tree_entry *e = NULL;
    ash_buffer got = ASH_BUFFER_INIT;
    for (;;) {
        assert_ok(ash_tree_listing_next(l, &e, &f->err), &f->err);
        if (e == NULL)
            break;
        ash__buffer_printf(&got, "%s%s", got.len > 0 ? " " : "",
                           paths ? ash_tree_entry_path(e) : ash_tree_entry_name(e));
    }
    assert_string_equal(ash__buffer_text(&got), names);
    ash_tree_listing_free(l);
    ash__buffer_release(&got);
}

void support_expect_list(fixture *f, const char *path, bool recursive, int64_t at_ms,
                         const char *names)
{
    ash_tree_list_options o = ASH_TREE_LIST_OPTIONS_INIT;
    ash_tree_listing *l = NULL;
    o.recursive = recursive;
    o.at_ms = at_ms;
    assert_ok(ash_tree_list(f->tree, path, &o, NULL, &l, &f->err), &f->err);
    support_expect_entries(f, l, recursive, names);
}

void support_expect_history(fixture *f, const char *path, const char *versions)
{
    ash_tree_listing *l = NULL;
    const ash_tree_entry *e = NULL;
    ash_buffer got = ASH_BUFFER_INIT;
    assert_ok(ash_tree_history(f->tree, path, 0, NULL, &l, &f->err), &f->err);
    for (;;) {
        assert_ok(ash_tree_listing_next(l, &e, &f->err), &f->err);
        if (e == NULL)
            break;
        ash__buffer_printf(&got, "%s%s%d", got.len > 0 ? " " : "",
                           ash_tree_entry_is_deleted(e) ? "d" : "", ash_tree_entry_version(e));
    }
    assert_string_equal(ash__buffer_text(&got), versions);
    ash_tree_listing_free(l);
    ash__buffer_release(&got);
}

/* ---- documents ---- */

static bson_t *from_json(const char *json)
{
    bson_error_t reason;
    bson_t *doc = bson_new_from_json((const uint8_t *)json, -1, &reason);
    if (doc == NULL)
        fail_msg("%s: %s", json, reason.message);
    return doc;
}

int64_t support_count(ash_collection *c, const char *json)
{
    bson_t *filter = from_json(json);
    ash_error err = ASH_ERROR_INIT;
    int64_t n = 0;
    assert_ok(ash_collection_count(c, filter, NULL, &n, &err), &err);
    bson_destroy(filter);
    return n;
}

bson_t *support_document(ash_collection *c, const char *json)
{
    bson_t *filter = from_json(json);
    bson_t doc;
    ash_error err = ASH_ERROR_INIT;
    assert_ok(ash_collection_find_one(c, filter, NULL, &doc, &err), &err);
    bson_t *copy = bson_copy(&doc);
    bson_destroy(&doc);
    bson_destroy(filter);
    return copy;
}

void support_expect_fields(const bson_t *doc, const char *names)
{
    bson_iter_t it;
    ash_buffer got = ASH_BUFFER_INIT;
    assert_true(bson_iter_init(&it, doc));
    while (bson_iter_next(&it))
        ash__buffer_printf(&got, "%s%s", got.len > 0 ? " " : "", bson_iter_key(&it));
    assert_string_equal(ash__buffer_text(&got), names);
    ash__buffer_release(&got);
}

void support_expect_type(const bson_t *doc, const char *name, bson_type_t type)
{
    bson_iter_t it;
    assert_true(bson_iter_init_find(&it, doc, name));
    assert_int_equal(bson_iter_type(&it), type);
}

void support_insert(ash_collection *c, const char *json)
{
    bson_t *doc = from_json(json);
    ash_error err = ASH_ERROR_INIT;
    assert_ok(ash_collection_insert_one(c, doc, NULL, &err), &err);
    bson_destroy(doc);
}

void support_update(ash_collection *c, const char *filter, const char *update)
{
    bson_t *which = from_json(filter), *how = from_json(update);
    bson_value_t value = {.value_type = BSON_TYPE_DOCUMENT};
    ash_write_result result;
    ash_error err = ASH_ERROR_INIT;
    ash_write_result_init(&result);
    value.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(how);
    value.value.v_doc.data_len = how->len;
    assert_ok(ash_collection_update(c, which, &value, NULL, &result, &err), &err);
    assert_int_equal(result.matched, 1);
    ash_write_result_release(&result);
    bson_destroy(which);
    bson_destroy(how);
}

static void tell_finding(void *ctx, const char *text, const bson_t *facts)
{
    (void)ctx, (void)facts;
    print_message("# %s\n", text);
}

void support_expect_sound(fixture *f)
{
    ash_tree_check_options o = ASH_TREE_CHECK_OPTIONS_INIT;
    o.finding = tell_finding;
    assert_ok(ash_tree_check(f->tree, &o, NULL, NULL, &f->err), &f->err);
}

static int count_array(const bson_t *doc, const char *name)
{
    bson_iter_t it, child;
    int n = 0;
    if (!bson_iter_init_find(&it, doc, name) || !bson_iter_recurse(&it, &child))
        return 0;
    while (bson_iter_next(&child))
        n++;
    return n;
}

void support_expect_refs(fixture *f, const char *path, int refs, int history)
{
    ash_tree_entry *e = support_get(f, path);
    bson_t view, doc, filter = BSON_INITIALIZER;
    bson_iter_t it;
    ash_doc d = ash_tree_entry_document(e);
    assert_true(bson_init_static(&view, d.data, d.len));
    assert_true(bson_iter_init_find(&it, &view, "sha"));
    bson_append_iter(&filter, "_id", 3, &it);
    assert_ok(ash_collection_find_one(f->contents, &filter, NULL, &doc, &f->err), &f->err);
    assert_int_equal(count_array(&doc, "refs"), refs);
    assert_int_equal(count_array(&doc, "refHistory"), history);
    bson_destroy(&doc);
    bson_destroy(&filter);
    ash_tree_entry_free(e);
}

int64_t support_moment(fixture *f)
{
    int64_t now = 0;
    struct timespec two_ms = {0, 2000000};
    nanosleep(&two_ms, NULL);
    assert_ok(ash_store_time(f->store, &now, NULL, &f->err), &f->err);
    nanosleep(&two_ms, NULL);
    return now;
}
