/* SPDX-License-Identifier: Apache-2.0 */
#include "steps.h"

#include "base/buffer.h"
#include "base/error.h"
#include "base/mem.h"

#include <string.h>

static int append(void *ctx, const void *data, size_t len, ash_error *err)
{
    (void)err;
    ash__buffer_append(ctx, data, len);
    return 0;
}

bool steps_same_file(worker *w, const model *m, int slot, ash_error *err)
{
    ash_bucket *b = slot < MODEL_SHARED_FILES ? w->shared : w->own;
    const model_file *f = &m->files[slot];
    ash_buffer got = ASH_BUFFER_INIT;
    ash_output out = {&got, append};
    ash_file *file = NULL;
    bson_value_t id = {.value_type = BSON_TYPE_INT64};
    char name[32];
    id.value.v_int64 = f->id;
    model_file_name(m, slot, name);
    int result = ash_bucket_get_file(b, &id, false, &file, err);
    if (result == 0)
        result = ash_bucket_download_to_stream(b, &id, &out, NULL, err);
    if (result == 0 && strcmp(ash_file_filename(file), name) != 0)
        result = ash__fail(err, ASH_ECONDITION, "it is called %s", ash_file_filename(file));
    if (result == 0 &&
        (got.len != f->len || (f->len > 0 && memcmp(got.data, f->data, f->len) != 0)))
        result = ash__fail(err, ASH_ECONDITION, "other bytes: %zu of %zu", got.len, f->len);
    if (result != 0)
        ash__error_prefix(err, "file %s", name);
    ash_file_free(file);
    ash__buffer_release(&got);
    return result == 0;
}

static bool count_is(ash_collection *c, const bson_t *filter, int64_t want, const char *what,
                     ash_error *err)
{
    int64_t n = -1;
    int result = ash_collection_count(c, filter, NULL, &n, err);
    if (result == 0 && n != want)
        result = ash__fail(err, ASH_ECONDITION, "%lld %s instead of %lld", (long long)n, what,
                           (long long)want);
    return result == 0;
}

/* Nothing of the thread's is visible that the model does not have. */
static bool same_count(ash_collection *c, const model *m, int64_t want, const char *what,
                       ash_error *err)
{
    bson_t filter = BSON_INITIALIZER, range = BSON_INITIALIZER;
    BSON_APPEND_INT64(&range, "$gte", model_doc_id(m, 0));
    BSON_APPEND_INT64(&range, "$lt", model_doc_id(m, MODEL_IDS));
    BSON_APPEND_DOCUMENT(&filter, "_id", &range);
    bool same = count_is(c, &filter, want, what, err);
    bson_destroy(&range);
    bson_destroy(&filter);
    return same;
}

/* Files are deleted with all their chunks, in one commit. */
static bool is_gone(ash_collection *chunks, int64_t id, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    BSON_APPEND_INT64(&filter, "files_id", id);
    bool gone = count_is(chunks, &filter, 0, "chunks of a deleted file", err);
    bson_destroy(&filter);
    return gone;
}

static bool same_files(worker *w, const model *m, ash_error *err)
{
    int64_t shared = 0, own = 0, found = 0;
    ash_cursor *cursor = NULL;
    ash_doc doc = {NULL, 0};
    for (int i = 0; i < MODEL_FILES; i++) {
        const model_file *f = &m->files[i];
        bool is_shared = i < MODEL_SHARED_FILES;
        if (f->there && !steps_same_file(w, m, i, err))
            return false;
        if (is_shared && f->gone != 0 && !is_gone(w->chunks, f->gone, err))
            return false;
        shared += f->there && is_shared;
        own += f->there && !is_shared;
    }
    bson_t all = BSON_INITIALIZER;
    int result = ash_bucket_find(w->own, &all, NULL, &cursor, err);
    while (result == 0 && (result = ash_cursor_next(cursor, &doc, err)) == 0 && doc.data != NULL)
        found++;
    ash_cursor_free(cursor);
    bson_destroy(&all);
    if (result == 0 && found != own)
        result = ash__fail(err, ASH_ECONDITION, "%lld files in its own bucket instead of %lld",
                           (long long)found, (long long)own);
    return result == 0 && same_count(w->files, m, shared, "files", err);
}

bool steps_same_doc(worker *w, const model *m, int slot, ash_error *err)
{
    const model_doc *d = &m->docs[slot];
    bson_t filter = BSON_INITIALIZER, want = BSON_INITIALIZER, got;
    uint8_t *data = ash__alloc(d->len + 1);
    model_fill(d->seed, data, d->len);
    BSON_APPEND_INT64(&filter, "_id", model_doc_id(m, slot));
    BSON_APPEND_INT64(&want, "_id", model_doc_id(m, slot));
    BSON_APPEND_INT64(&want, "n", d->n);
    BSON_APPEND_BINARY(&want, "data", BSON_SUBTYPE_BINARY, data, (uint32_t)d->len);
    int result = ash_collection_find_one(w->docs, &filter, NULL, &got, err);
    if (result == 0) {
        if (!bson_equal(&want, &got))
            result = ash__fail(err, ASH_ECONDITION, "it is another");
        bson_destroy(&got);
    }
    if (result != 0)
        ash__error_prefix(err, "document %d", slot);
    bson_destroy(&want);
    bson_destroy(&filter);
    ash__free(data);
    return result == 0;
}

bool steps_compare(worker *w, const model *m, ash_error *err)
{
    int64_t docs = 0;
    bool same = same_files(w, m, err);
    for (int i = 0; same && i < MODEL_DOCS; i++) {
        docs += m->docs[i].there;
        same = !m->docs[i].there || steps_same_doc(w, m, i, err);
    }
    same = same && same_count(w->docs, m, docs, "documents", err);
    if (!same)
        ash__error_prefix(err, "thread %u after step %u", (unsigned)m->thread, (unsigned)m->steps);
    return same;
}
