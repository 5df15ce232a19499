/* SPDX-License-Identifier: Apache-2.0 */
#include "steps.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/thread.h"
#include "wrapped_engine.h"

#include <stdio.h>
#include <unistd.h>

static bool trims;

void steps_trim_eagerly(bool eagerly)
{
    trims = eagerly;
    wrapped_engine_trim_eagerly(eagerly);
}

ash_store *steps_open_store(const char *folder, bool read_only, ash_error *err)
{
    ash_store *store = NULL;
    ash_store_options opts = ASH_STORE_OPTIONS_INIT;
    opts.segment_bytes = 4 << 20;
    if (trims)
        opts.ttl_interval_ms = 20; /* so often the store looks after itself */
    opts.no_server = true;
    opts.read_only = read_only;
    return ash_store_open(folder, &opts, &store, err) == 0 ? store : NULL;
}

int steps_prepare(ash_store *store, ash_error *err)
{
    ash_collection *docs = NULL;
    bson_t *specs = bson_new_from_json(
        (const uint8_t *)"{\"0\": {\"key\": {\"n\": 1}, \"name\": \"n_1\"}}", -1, NULL);
    int result = ash_collection_new(store, NULL, "docs", &docs, err);
    if (result == 0)
        result = ash_collection_create_indexes(docs, specs, NULL, NULL, err);
    bson_destroy(specs);
    ash_collection_free(docs);
    return result;
}

int worker_open(worker *w, ash_store *store, uint32_t thread, ash_error *err)
{
    char name[16];
    ash_bucket_options opts = ASH_BUCKET_OPTIONS_INIT;
    *w = (worker){.store = store};
    snprintf(name, sizeof name, "own%u", (unsigned)thread);
    int result = ash_bucket_new(store, NULL, &w->shared, err);
    opts.bucket_name = name;
    opts.chunk_size_bytes = 20000;
    if (result == 0)
        result = ash_bucket_new(store, &opts, &w->own, err);
    if (result == 0)
        result = ash_collection_new(store, NULL, "docs", &w->docs, err);
    if (result == 0)
        result = ash_collection_new(store, NULL, "fs.files", &w->files, err);
    if (result == 0)
        result = ash_collection_new(store, NULL, "fs.chunks", &w->chunks, err);
    if (result != 0)
        worker_close(w);
    return result;
}

void worker_close(worker *w)
{
    ash_bucket_free(w->shared);
    ash_bucket_free(w->own);
    ash_collection_free(w->docs);
    ash_collection_free(w->files);
    ash_collection_free(w->chunks);
    *w = (worker){0};
}

static bson_value_t int_value(int64_t n)
{
    bson_value_t v = {.value_type = BSON_TYPE_INT64};
    v.value.v_int64 = n;
    return v;
}

static int upload(worker *w, ash_bucket *b, const model *m, const step *s, ash_error *err)
{
    char name[32];
    ash_upload *u = NULL;
    ash_upload_options opts = ASH_UPLOAD_OPTIONS_INIT;
    bson_value_t id = int_value(s->id);
    uint8_t *data = ash__alloc(s->len + 1);
    (void)w;
    model_fill(s->seed, data, s->len);
    model_file_name(m, s->slot, name);
    opts.replace = true;
    int result = ash_bucket_open_upload_stream_with_id(b, &id, name, &opts, &u, err);
    for (size_t at = 0, take; result == 0 && at < s->len; at += take) {
        take = s->len - at < 70000 ? s->len - at : 70000;
        result = ash_upload_write(u, data + at, take, err);
    }
    if (result == 0)
        result = ash_upload_finish(u, NULL, err);
    ash_upload_free(u);
    ash__free(data);
    return result;
}

static int alter(ash_bucket *b, const model_file *f, const step *s, ash_error *err)
{
    ash_alter *a = NULL;
    bson_value_t id = int_value(f->id);
    uint8_t *data = ash__alloc(s->len + 1);
    model_fill(s->seed, data, s->len);
    int result = ash_bucket_open_alter(b, &id, NULL, &a, err);
    if (result == 0 && s->kind == STEP_APPEND)
        result = ash_alter_append(a, data, s->len, err);
    else if (result == 0 && s->kind == STEP_OVERWRITE)
        result = ash_alter_write(a, (int64_t)s->offset, data, s->len, err);
    else if (result == 0)
        result = ash_alter_truncate(a, (int64_t)s->offset, err);
    if (result == 0)
        result = ash_alter_finish(a, NULL, err);
    ash_alter_free(a);
    ash__free(data);
    return result;
}

static int file_step(worker *w, const model *m, const step *s, ash_error *err)
{
    const model_file *f = &m->files[s->slot];
    ash_bucket *b = s->slot < MODEL_SHARED_FILES ? w->shared : w->own;
    bson_value_t id = int_value(f->id);
    char name[32];
    if (s->kind == STEP_UPLOAD)
        return upload(w, b, m, s, err);
    if (s->kind == STEP_DROP)
        return ash_bucket_drop(b, NULL, err);
    if (s->kind == STEP_DELETE)
        return ash_bucket_delete(b, &id, NULL, err);
    if (s->kind == STEP_RENAME) {
        model after = *m;
        after.files[s->slot].renamed++;
        model_file_name(&after, s->slot, name);
        return ash_bucket_rename(b, &id, name, NULL, err);
    }
    return alter(b, f, s, err);
}

static int put_doc(worker *w, const model *m, const step *s, int slot, ash_transaction *t,
                   ash_error *err)
{
    ash_update_options opts = ASH_UPDATE_OPTIONS_INIT;
    bson_t filter = BSON_INITIALIZER, doc = BSON_INITIALIZER, holder = BSON_INITIALIZER;
    bson_iter_t it;
    uint8_t *data = ash__alloc(s->len + 1);
    model_fill(s->seed, data, s->len);
    BSON_APPEND_INT64(&filter, "_id", model_doc_id(m, slot));
    BSON_APPEND_INT64(&doc, "_id", model_doc_id(m, slot));
    BSON_APPEND_INT64(&doc, "n", s->id);
    BSON_APPEND_BINARY(&doc, "data", BSON_SUBTYPE_BINARY, data, (uint32_t)s->len);
    BSON_APPEND_DOCUMENT(&holder, "u", &doc);
    ash_assert(bson_iter_init_find(&it, &holder, "u"));
    opts.upsert = true;
    opts.op.transaction = t;
    int result =
        m->docs[slot].there || t != NULL
            ? ash_collection_update(w->docs, &filter, bson_iter_value(&it), &opts, NULL, err)
            : ash_collection_insert_one(w->docs, &doc, NULL, err);
    bson_destroy(&holder);
    bson_destroy(&doc);
    bson_destroy(&filter);
    ash__free(data);
    return result;
}

typedef struct pair {
    worker *w;
    const model *m;
    const step *s;
} pair;

static int put_pair(ash_transaction *t, void *ctx, ash_error *err)
{
    const pair *p = ctx;
    int result = put_doc(p->w, p->m, p->s, 0, t, err);
    return result == 0 ? put_doc(p->w, p->m, p->s, 1, t, err) : result;
}

static int doc_step(worker *w, const model *m, const step *s, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    bson_iter_t it;
    int result;
    BSON_APPEND_INT64(&filter, "_id", model_doc_id(m, s->slot));
    if (s->kind == STEP_PAIR) {
        pair p = {w, m, s};
        result = ash_store_transact(w->store, put_pair, &p, NULL, err);
    } else if (s->kind == STEP_DOC_PUT) {
        result = put_doc(w, m, s, s->slot, NULL, err);
    } else if (s->kind == STEP_DOC_DELETE) {
        result = ash_collection_remove(w->docs, &filter, NULL, NULL, err);
    } else {
        bson_t *u =
            bson_new_from_json((const uint8_t *)"{\"u\": {\"$inc\": {\"n\": 1}}}", -1, NULL);
        ash_assert(bson_iter_init_find(&it, u, "u"));
        result = ash_collection_update(w->docs, &filter, bson_iter_value(&it), NULL, NULL, err);
        bson_destroy(u);
    }
    bson_destroy(&filter);
    return result;
}

int worker_do(worker *w, const model *m, const step *s, ash_error *err)
{
    int result = s->kind <= STEP_DROP ? file_step(w, m, s, err) : doc_step(w, m, s, err);
    if (result != 0)
        ash__error_prefix(err, "thread %u, step %u (%s)", (unsigned)m->thread, (unsigned)m->steps,
                          step_name(s->kind));
    return result;
}

/* ---- threads ---- */

typedef struct task {
    ash_store *store;
    model *m;
    uint32_t until;
    int acks;
    int result;
    ash_error err;
    pthread_t thread;
} task;

static void *run_task(void *arg)
{
    task *t = arg;
    worker w;
    t->result = worker_open(&w, t->store, t->m->thread, &t->err);
    while (t->result == 0 && t->m->steps < t->until) {
        step s;
        model_next(t->m, &s);
        t->result = worker_do(&w, t->m, &s, &t->err);
        if (t->result != 0)
            break;
        model_take(t->m, &s);
        uint32_t ack[2] = {t->m->thread, t->m->steps};
        if (write(t->acks, ack, sizeof ack) != (ssize_t)sizeof ack)
            t->result = ash__fail(&t->err, ASH_EIO, "cannot acknowledge");
    }
    worker_close(&w);
    return NULL;
}

static int run_threads(ash_store *store, model models[MODEL_THREADS], uint32_t until, int acks,
                       ash_error *err)
{
    task tasks[MODEL_THREADS];
    int result = 0;
    for (int i = 0; i < MODEL_THREADS; i++) {
        tasks[i] = (task){.store = store, .m = &models[i], .until = until, .acks = acks};
        ash_assert(ash__thread_start(&tasks[i].thread, 0, run_task, &tasks[i]) == 0);
    }
    for (int i = 0; i < MODEL_THREADS; i++) {
        pthread_join(tasks[i].thread, NULL);
        if (tasks[i].result != 0 && result == 0) {
            result = tasks[i].result;
            *err = tasks[i].err;
        }
    }
    return result;
}

int steps_run(model models[MODEL_THREADS], const steps_run_options *opts, ash_error *err)
{
    int result = 0;
    uint32_t first = models[0].steps;
    for (uint32_t i = 0; result == 0 && i <= opts->reopens; i++) {
        uint32_t until = first + opts->count * (i + 1) / (opts->reopens + 1);
        ash_store *store = steps_open_store(opts->folder, false, err);
        if (store == NULL)
            return err->code;
        result = steps_prepare(store, err);
        if (result == 0)
            result = run_threads(store, models, until, opts->acks, err);
        ash_store_close(store);
    }
    return result;
}
