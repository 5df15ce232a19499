/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder.h"

#include "base/error.h"
#include "store/ops.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct recorder {
    ash_store store; /* first: the store that is handed out */
    ash_store *inner;
    ash_buffer log;
    const char *prefix;
    int nth;
    bool all;
    int without_deadline;
    pthread_mutex_t mutex; /* guards everything from log on */
};

static recorder *of(ash_store *store)
{
    return (recorder *)store;
}

static int note_locked(recorder *r, const char *what, const char *coll, const ash_op *op,
                       ash_error *err)
{
    r->without_deadline += op->deadline_ms == 0 ? 1 : 0;
    char line[200];
    snprintf(line, sizeof line, "%s %s\n", what, coll != NULL ? coll : "");
    ash__buffer_append_text(&r->log, line);
    if (r->nth <= 0 || strncmp(line, r->prefix, strlen(r->prefix)) != 0)
        return 0;
    if (r->nth > 1) {
        r->nth--;
        return 0;
    }
    r->nth = r->all ? 1 : 0;
    return ash__fail(err, ASH_ENETWORK, "connection is gone");
}

static int note(ash_store *store, const char *what, const char *coll, const ash_op *op,
                ash_error *err)
{
    recorder *r = of(store);
    pthread_mutex_lock(&r->mutex);
    int rc = note_locked(r, what, coll, op, err);
    pthread_mutex_unlock(&r->mutex);
    return rc;
}
static int rec_capabilities(ash_store *store, ash_capabilities *out, ash_error *err)
{
    (void)store;
    (void)err;
    *out = (ash_capabilities){.backend = "mongodb"};
    return 0;
}

static int rec_find(ash_store *store, ash_ns ns, const bson_t *filter, const ash_find_options *opts,
                    ash_cursor **out, ash_error *err)
{
    bool primary = false;
    bson_iter_t it;
    if (opts->op.read_preference != NULL &&
        bson_iter_init_find(&it, opts->op.read_preference, "mode"))
        primary = strcmp(bson_iter_utf8(&it, NULL), "primary") == 0;
    int rc = note(store, primary ? "find-primary" : "find", ns.coll, &opts->op, err);
    if (rc != 0)
        return rc;
    return of(store)->inner->ops->find(of(store)->inner, ns, filter, opts, out, err);
}

static int rec_insert(ash_store *store, ash_ns ns, const ash_doc_list *list,
                      const ash_insert_options *opts, ash_write_result *result, ash_error *err)
{
    int rc = note(store, "insert", ns.coll, &opts->op, err);
    if (rc != 0)
        return rc;
    return of(store)->inner->ops->insert(of(store)->inner, ns, list, opts, result, err);
}

static int rec_update(ash_store *store, ash_ns ns, const ash_update_request *request,
                      const ash_update_options *opts, ash_write_result *result, ash_error *err)
{
    int rc = note(store, opts->multi ? "update-many" : "update-one", ns.coll, &opts->op, err);
    if (rc != 0)
        return rc;
    return of(store)->inner->ops->update(of(store)->inner, ns, request, opts, result, err);
}

static int rec_remove(ash_store *store, ash_ns ns, const bson_t *filter,
                      const ash_remove_options *opts, ash_write_result *result, ash_error *err)
{
    int rc = note(store, "remove", ns.coll, &opts->op, err);
    if (rc != 0)
        return rc;
    return of(store)->inner->ops->remove(of(store)->inner, ns, filter, opts, result, err);
}

static int rec_create_indexes(ash_store *store, ash_ns ns, const bson_t *specs, const ash_op *op,
                              bson_t *reply, ash_error *err)
{
    int rc = note(store, "create-indexes", ns.coll, op, err);
    if (rc != 0)
        return rc;
    return of(store)->inner->ops->create_indexes(of(store)->inner, ns, specs, op, reply, err);
}

static int rec_list_indexes(ash_store *store, ash_ns ns, const ash_op *op, ash_cursor **out,
                            ash_error *err)
{
    int rc = note(store, "list-indexes", ns.coll, op, err);
    if (rc != 0)
        return rc;
    return of(store)->inner->ops->list_indexes(of(store)->inner, ns, op, out, err);
}

static int rec_drop(ash_store *store, ash_ns ns, const ash_op *op, ash_error *err)
{
    int rc = note(store, "drop", ns.coll, op, err);
    if (rc != 0)
        return rc;
    return of(store)->inner->ops->drop(of(store)->inner, ns, op, err);
}

static void rec_close(ash_store *store)
{
    (void)store; /* recorder_free() does it */
}

/* Questions about the whole store have no deadline of the bucket's. */
static int rec_maintain(ash_store *store, const bson_t *action, ash_progress_fn progress, void *ctx,
                        bson_t *out, ash_error *err)
{
    return of(store)->inner->ops->maintain(of(store)->inner, action, progress, ctx, out, err);
}

static const ash_store_ops recording_ops = {.close = rec_close,
                                            .capabilities = rec_capabilities,
                                            .find = rec_find,
                                            .maintain = rec_maintain,
                                            .insert = rec_insert,
                                            .update = rec_update,
                                            .remove = rec_remove,
                                            .create_indexes = rec_create_indexes,
                                            .list_indexes = rec_list_indexes,
                                            .drop = rec_drop};

recorder *recorder_new(fixture *f, ash_bucket **bucket)
{
    ash_bucket_options o = ASH_BUCKET_OPTIONS_INIT;
    recorder *r = ash__new(recorder);
    r->store.ops = &recording_ops;
    r->store.default_db = ash__strdup(ash_store_default_db(f->store));
    r->inner = f->store;
    r->prefix = "";
    pthread_mutex_init(&r->mutex, NULL);
    o.chunk_size_bytes = CHUNK;
    assert_ok(ash_bucket_new(&r->store, &o, bucket, &f->err), &f->err);
    return r;
}

void recorder_free(recorder *r, ash_bucket *bucket)
{
    ash_bucket_free(bucket);
    ash__buffer_release(&r->log);
    pthread_mutex_destroy(&r->mutex);
    ash__free(r->store.default_db);
    ash__free(r);
}

void recorder_clear(recorder *r)
{
    ash__buffer_clear(&r->log);
    r->nth = 0;
}

int recorder_without_deadline(const recorder *r)
{
    return r->without_deadline;
}

const char *recorder_log(recorder *r)
{
    return ash__buffer_text(&r->log);
}

void recorder_fail(recorder *r, const char *prefix, int nth, bool all)
{
    recorder_clear(r);
    r->prefix = prefix;
    r->nth = nth;
    r->all = all;
}
