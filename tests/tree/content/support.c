/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "base/hash.h"
#include "remove_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ash_contents *open_contents(fixture *f, ash_contents_options o)
{
    ash_contents *c = NULL;
    o.db = "test";
    o.bucket = "v7.fs";
    o.holders[0] = "tree";
    o.holders[1] = "tree.vermongo";
    assert_ok(ash__contents_new(f->store, &o, &c, &f->err), &f->err);
    return c;
}

ash_contents *support_contents(fixture *f, ash_digest_kind digest, int64_t piece_bytes)
{
    return open_contents(f, (ash_contents_options){.digest = digest, .piece_bytes = piece_bytes});
}

ash_contents *support_contents_renewed(fixture *f, int64_t piece_bytes, int64_t renew_ms)
{
    return open_contents(f, (ash_contents_options){.digest = ASH_DIGEST_SHA256,
                                                   .piece_bytes = piece_bytes,
                                                   .renew_ms = renew_ms});
}

static ash_collection *open_collection(fixture *f, const char *name)
{
    ash_collection *c = NULL;
    assert_ok(ash_collection_new(f->store, "test", name, &c, &f->err), &f->err);
    return c;
}

static void index_sha(fixture *f, ash_collection *c)
{
    bson_t *specs = BCON_NEW("0", "{", "key", "{", "sha", BCON_INT32(1), "}", "name",
                             BCON_UTF8("sha_1"), "sparse", BCON_BOOL(true), "}");
    assert_ok(ash_collection_create_indexes(c, specs, NULL, NULL, &f->err), &f->err);
    bson_destroy(specs);
}

void support_open(fixture *f)
{
    assert_ok(ash_store_open(f->folder, NULL, &f->store, &f->err), &f->err);
    f->contents = support_contents(f, ASH_DIGEST_SHA256, PIECE);
    f->files = open_collection(f, "v7.fs.files");
    f->chunks = open_collection(f, "v7.fs.chunks");
    f->tree = open_collection(f, "tree");
    f->history = open_collection(f, "tree.vermongo");
}

void support_close(fixture *f)
{
    ash__contents_free(f->contents);
    ash_collection_free(f->files);
    ash_collection_free(f->chunks);
    ash_collection_free(f->tree);
    ash_collection_free(f->history);
    ash_store_close(f->store);
}

int support_setup(void **state)
{
    fixture *f = ash__new(fixture);
    const char *tmp = getenv("TMPDIR");
    f->folder = ash__sprintf("%s/ashlar-content-XXXXXX", tmp != NULL ? tmp : "/tmp");
    if (mkdtemp(f->folder) == NULL)
        return -1;
    support_open(f);
    index_sha(f, f->tree);
    index_sha(f, f->history);
    *state = f;
    return 0;
}

int support_teardown(void **state)
{
    fixture *f = *state;
    support_close(f);
    remove_folder(f->folder);
    ash__free(f->folder);
    ash__free(f);
    return 0;
}

/* ---- bytes ---- */

static uint32_t next_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

uint8_t *support_noise(size_t len, uint32_t seed)
{
    uint8_t *out = ash__alloc(len + 1);
    uint32_t state = seed * 2654435761u + 1;
    for (size_t i = 0; i < len; i++)
        out[i] = (uint8_t)(next_random(&state) >> 11);
    return out;
}

uint8_t *support_text(size_t len, uint32_t seed)
{
    static const char *const words[] = {"stone ", "wall ",  "house ", "brick ", "mortar\n",
                                        "door ",  "arch\n", "roof ",  "beam ",  "floor "};
    uint8_t *out = ash__alloc(len + 16);
    uint32_t state = seed * 2654435761u + 1;
    for (size_t i = 0; i < len;) {
        const char *word = words[next_random(&state) % ASH_ARRAY_LEN(words)];
        memcpy(out + i, word, strlen(word));
        i += strlen(word);
    }
    return out;
}

ash_content_id support_id(const void *data, size_t len, ash_digest_kind kind)
{
    ash_content_id id = {.len = 0};
    ash_digest *d = ash__digest_new(kind);
    ash__digest_add(d, data, len);
    id.len = (uint8_t)ash__digest_finish(d, id.bytes);
    ash__digest_free(d);
    return id;
}

/* ---- putting ---- */

typedef struct put_call {
    fixture *f;
    ash_content_writer *w;
    bson_value_t owner;
} put_call;

static int replace_document(put_call *p, const ash_content_ref *ref, const ash_op *op,
                            ash_error *err)
{
    bson_t filter = BSON_INITIALIZER, doc = BSON_INITIALIZER;
    ash_update_options o = ASH_UPDATE_OPTIONS_INIT;
    bson_value_t value = {.value_type = BSON_TYPE_DOCUMENT};
    o.upsert = true;
    o.op = *op;
    bson_append_value(&filter, "_id", 3, &p->owner);
    bson_append_value(&doc, "_id", 3, &p->owner);
    if (ref->id.len != 0)
        bson_append_binary(&doc, "sha", 3, BSON_SUBTYPE_BINARY, ref->id.bytes, ref->id.len);
    else
        bson_append_binary(&doc, "in", 2, BSON_SUBTYPE_BINARY, ref->in, ref->in_len);
    bson_append_int64(&doc, "length", 6, ref->length);
    value.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(&doc);
    value.value.v_doc.data_len = doc.len;
    int rc = ash_collection_update(p->f->tree, &filter, &value, &o, NULL, err);
    bson_destroy(&doc);
    bson_destroy(&filter);
    return rc;
}

static int put_in(ash_transaction *t, void *ctx, ash_error *err)
{
    put_call *p = ctx;
    ash_content_ref ref;
    ash_op op = ASH_OP_INIT;
    op.transaction = t;
    int rc = ash__content_writer_store(p->w, &p->owner, &op, err);
    ash__content_writer_ref(p->w, &ref);
    return rc == 0 ? replace_document(p, &ref, &op, err) : rc;
}

int support_store(fixture *f, ash_content_writer *w, int32_t owner)
{
    put_call p = {.f = f, .w = w, .owner = {.value_type = BSON_TYPE_INT32}};
    p.owner.value.v_int32 = owner;
    return ash_store_transact(f->store, put_in, &p, NULL, &f->err);
}

int support_try(fixture *f, ash_contents *c, const ash_content_hint *hint, const void *data,
                size_t len, int32_t owner, ash_content_ref *ref)
{
    put_call p = {.f = f, .owner = {.value_type = BSON_TYPE_INT32}};
    ash_op op = ASH_OP_INIT;
    ash_error err = ASH_ERROR_INIT;
    op.durability = ASH_DURABILITY_INTERVAL;
    p.owner.value.v_int32 = owner;
    int rc = ash__content_writer_new(c, hint, &p.w, &err);
    /* In parts of no particular length. */
    for (size_t at = 0; rc == 0 && at < len; at += 10007)
        rc = ash__content_writer_add(p.w, (const uint8_t *)data + at,
                                     len - at < 10007 ? len - at : 10007, NULL, &err);
    for (int i = 0; (rc == 0 && i == 0) || (rc == ASH_ECONFLICT && i < 20); i++) {
        rc = ash__content_writer_seal(p.w, NULL, &err);
        if (rc == 0)
            rc = ash_store_transact(f->store, put_in, &p, &op, &err);
    }
    if (rc == 0 && ref != NULL) {
        ash__content_writer_ref(p.w, ref);
        ref->in = NULL;
    }
    ash__content_writer_free(p.w);
    f->err = err;
    return rc;
}

ash_content_id support_put(fixture *f, const void *data, size_t len, int32_t owner,
                           const ash_content_id *before)
{
    ash_content_hint hint = {.filename = "a.txt", .content_type = "text/plain"};
    ash_content_ref ref;
    if (before != NULL)
        hint.before = *before;
    assert_ok(support_try(f, f->contents, &hint, data, len, owner, &ref), &f->err);
    assert_int_equal(ref.length, len);
    return ref.id;
}

typedef struct drop_call {
    fixture *f;
    ash_content_use use;
    bson_value_t owner;
} drop_call;

static int drop_in(ash_transaction *t, void *ctx, ash_error *err)
{
    drop_call *d = ctx;
    ash_remove_options o = ASH_REMOVE_OPTIONS_INIT;
    bson_t filter = BSON_INITIALIZER;
    o.op.transaction = t;
    bson_append_value(&filter, "_id", 3, &d->owner);
    int rc = ash_collection_remove(d->f->tree, &filter, &o, NULL, err);
    if (rc == 0)
        rc = ash__contents_let_go(d->f->contents, &d->use, 1, &o.op, err);
    bson_destroy(&filter);
    return rc;
}

void support_drop(fixture *f, int32_t owner, const ash_content_id *id)
{
    drop_call d = {.f = f, .owner = {.value_type = BSON_TYPE_INT32}};
    d.owner.value.v_int32 = owner;
    d.use = (ash_content_use){*id, &d.owner};
    assert_ok(ash_store_transact(f->store, drop_in, &d, NULL, &f->err), &f->err);
}

/* ---- reading ---- */

int support_read(fixture *f, const ash_content_id *id, int64_t length, uint8_t *out)
{
    ash_content_ref ref = {.id = *id, .length = length};
    ash_content_reader *r = NULL;
    int64_t at = 0;
    size_t got = 1;
    int rc = ash__content_open(f->contents, &ref, true, NULL, &r, &f->err);
    while (rc == 0 && got > 0) {
        rc = ash__content_reader_read(r, out + at, 4099, &got, &f->err);
        at += (int64_t)got;
    }
    ash__content_reader_free(r);
    return rc;
}

void support_expect(fixture *f, const ash_content_id *id, const void *data, size_t len)
{
    uint8_t *out = ash__alloc(len + 4099);
    assert_ok(support_read(f, id, (int64_t)len, out), &f->err);
    assert_memory_equal(out, data, len);
    ash__free(out);
}

bson_t *support_document(fixture *f, const ash_content_id *id)
{
    bson_t filter = BSON_INITIALIZER, out;
    bson_append_binary(&filter, "_id", 3, BSON_SUBTYPE_BINARY, id->bytes, id->len);
    int rc = ash_collection_find_one(f->files, &filter, NULL, &out, &f->err);
    bson_destroy(&filter);
    if (rc == ASH_ENOTFOUND)
        return bson_new();
    assert_ok(rc, &f->err);
    bson_t *copy = bson_copy(&out);
    bson_destroy(&out);
    return copy;
}

const char *support_store_of(fixture *f, const ash_content_id *id)
{
    static char store[16];
    bson_t *doc = support_document(f, id);
    bson_iter_t it;
    snprintf(store, sizeof store, "%s",
             bson_iter_init_find(&it, doc, "store") ? bson_iter_utf8(&it, NULL) : "");
    bson_destroy(doc);
    return store;
}

int64_t support_field(fixture *f, const ash_content_id *id, const char *field)
{
    bson_t *doc = support_document(f, id);
    bson_iter_t it;
    int64_t value = bson_iter_init_find(&it, doc, field) ? bson_iter_as_int64(&it) : -1;
    bson_destroy(doc);
    return value;
}

int64_t support_count(ash_collection *c)
{
    ash_error err = ASH_ERROR_INIT;
    bson_t all = BSON_INITIALIZER;
    int64_t n = -1;
    assert_ok(ash_collection_count(c, &all, NULL, &n, &err), &err);
    return n;
}

ash_tree_collect_report support_collect(fixture *f, bool dry_run)
{
    ash_tree_collect_options o = {.size = sizeof o, .dry_run = dry_run, .min_age_s = -1};
    ash_tree_collect_report report = {.size = sizeof report};
    assert_ok(ash__contents_collect(f->contents, &o, NULL, &report, &f->err), &f->err);
    return report;
}
