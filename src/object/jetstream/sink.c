/* SPDX-License-Identifier: Apache-2.0 */
/* A put: chunks first, then the meta message.
 *
 *   open_sink   asks what the name has now
 *   sink_write  chunks, several in flight
 *   sink_seal   all of them acknowledged, in order; and what the name had is known
 *   commit      the meta message, when no sweep has taken chunks meanwhile, under the condition of
 *               what was looked at; who asked for no condition looks again when somebody else came
 *               first, and replaces that one
 *   free        without a commit: the chunks go, unless the commit's outcome is not known */
#include "object/jetstream/chunks.h"
#include "object/jetstream/meta.h"
#include "object/jetstream/room.h"

#include "base/clock.h"
#include "base/mem.h"
#include "object/jetstream/format/names.h"

#include <string.h>

enum { MAX_CONFLICTS = 100 }; /* then others are always faster */

typedef struct sink {
    ash_object_sink base;
    ash_js_store *store;
    ash_js_chunks *chunks;
    ash_js_meta before;
    char *name, *nuid, *subject;
    size_t chunk_size;                     /* at most as the server takes them */
    const ash_object_change_options *opts; /* the request's */
    ash_op op;
    int64_t began_ms;
    int64_t room; /* where that matters: for chunks, since it was asked for */
    bool asked;   /* what the name has; the answer was not read yet */
    bool committed, unknown;
} sink;

static size_t chunk_size_of(ash_js_store *s, const ash_object *o)
{
    size_t wanted = o->chunk_size > 0 ? (size_t)o->chunk_size : ASH_OBJECT_CHUNK_SIZE_DEFAULT;
    int64_t most = natsConnection_GetMaxPayload(s->stream.js->nc) - ASH_JS_OVERHEAD_BYTES;
    return most > 0 && (size_t)most < wanted ? (size_t)most : wanted;
}

/* What the name has by now, and whether we may go on. */
static int look_again(sink *k, const ash_op *op, ash_error *err)
{
    ash__js_meta_release(&k->before);
    int rc = ash__js_meta_get(k->store, k->name, true, op, &k->before, err);
    return rc == 0 ? ash__js_meta_check(&k->before, k->opts, err) : rc;
}

/* What does the name have?  Conditions are looked at now where there are any.  Else nobody waits for
 * the answer before the chunks are on their way. */
static int look(sink *k, ash_error *err)
{
    ash_js_store *s = k->store;
    if (!s->stream.direct || s->stream.replicas || k->opts->if_absent || k->opts->if_revision != 0)
        return look_again(k, &k->op, err);
    char *bare = ash__js_meta_bare(k->subject);
    k->asked = true;
    ash__js_chunks_look(k->chunks, 0, k->subject);
    if (bare != NULL)
        ash__js_chunks_look(k->chunks, 1, bare);
    ash__free(bare);
    return 0;
}

/* The answer to it. */
static int hear(sink *k, ash_error *err)
{
    char *bare = ash__js_meta_bare(k->subject);
    natsMsg *first = ash__js_chunks_looked(k->chunks, 0, &k->op);
    natsMsg *second = bare != NULL ? ash__js_chunks_looked(k->chunks, 1, &k->op) : NULL;
    ash__free(bare);
    k->asked = false;
    int rc = ash__js_meta_from(k->store, k->subject, first, second, &k->before, err);
    if (rc == ASH_ENETWORK)
        return look_again(k, &k->op, err);
    return rc == 0 ? ash__js_meta_check(&k->before, k->opts, err) : rc;
}

int ash__js_open_sink(ash_object_store *base, const ash_object_put_request *request,
                      ash_object_sink **out, ash_error *err)
{
    ash_js_store *s = ash__js_store_of(base);
    const ash_object *o = request->object;
    int64_t ttl = request->opts->ttl_ms;
    int rc = ash__js_check_writable(s, err);
    if (rc != 0)
        return rc;
    ash__js_drop_pending(ash__js_manager_of(base->manager));
    sink *k = ash__new(sink);
    char *subject = ash__chunk_subject(base->name, o->nuid);

    k->base.store = base;
    k->store = s;
    k->name = ash__strdup(o->name);
    k->nuid = ash__strdup(o->nuid);
    k->subject = ash__meta_subject(base->name, o->name);
    k->opts = request->opts;
    k->op = *request->op;
    k->chunk_size = chunk_size_of(s, o);
    k->began_ms = ash__clock_ms();
    rc = ttl > 0 ? ash__js_allow_ttl(s, request->op, err) : 0;
    if (rc == 0)
        rc = ash__js_chunks_new(&s->stream, subject, o->nuid,
                                ttl > 0 ? ttl + ASH_JS_TTL_MARGIN_MS : 0, &k->chunks, err);
    ash__free(subject);
    if (rc == 0)
        rc = look(k, err);
    if (rc == 0)
        *out = &k->base;
    else
        ash__js_sink_free(&k->base);
    return rc;
}

/* Asked for again only when it seems to be used up: others may have made some. */
static int take_room(sink *k, size_t len, ash_error *err)
{
    int64_t need = (int64_t)len + ASH_JS_OVERHEAD_BYTES;
    int rc = 0;
    if (k->room < need)
        rc = ash__js_chunks_settle(k->chunks, &k->op, err);
    if (rc == 0 && k->room < need)
        rc = ash__js_room(k->store, &k->op, &k->room, err);
    if (rc == 0 && k->room < need)
        return ash__js_room_is_over(k->store, err);
    k->room -= need;
    return rc;
}

int ash__js_sink_write(ash_object_sink *base, const void *data, size_t len, ash_error *err)
{
    sink *k = (sink *)base;
    const uint8_t *from = data;
    int rc = 0;
    for (size_t at = 0, part = 0; rc == 0 && at < len; at += part) {
        part = len - at < k->chunk_size ? len - at : k->chunk_size;
        if (k->store->cautious)
            rc = take_room(k, part, err);
        if (rc == 0)
            rc = ash__js_chunks_put(k->chunks, from + at, part, &k->op, err);
    }
    return rc;
}

int ash__js_sink_seal(ash_object_sink *base, ash_error *err)
{
    sink *k = (sink *)base;
    int rc = ash__js_chunks_settle(k->chunks, &k->op, err);
    return rc == 0 && k->asked ? hear(k, err) : rc;
}

/* The object as it is stored: a server's limit may have made more and smaller chunks of it. */
static int with_chunks(const sink *k, const ash_object *object, ash_object **out, ash_error *err)
{
    bson_t set = BSON_INITIALIZER, options;
    BSON_APPEND_INT64(&set, "chunks", (int64_t)ash__js_chunks_count(k->chunks));
    BSON_APPEND_DOCUMENT_BEGIN(&set, "options", &options);
    BSON_APPEND_INT32(&options, "max_chunk_size", (int32_t)k->chunk_size);
    bson_append_document_end(&set, &options);
    int rc = ash__object_set(object, &set, out, err);
    bson_destroy(&set);
    return rc;
}

static int publish(sink *k, const ash_object *object, const ash_op *op, ash_object **out,
                   ash_error *err)
{
    int64_t expires = k->opts->ttl_ms > 0 ? ash__clock_wall_ms() + k->opts->ttl_ms : 0;
    for (int tries = 0;; tries++) {
        ash_js_meta_put put = {.subject = k->before.subject,
                               .object = object,
                               .expected = k->before.sequence,
                               .expires_ms = expires};
        int rc = ash__js_chunks_settle(k->chunks, op, err);
        if (rc != 0)
            return rc;
        rc = ash__js_meta_publish(k->store, &put, op, out, &k->unknown, err);
        if (rc != ASH_ECONFLICT || tries == MAX_CONFLICTS)
            return rc;
        rc = look_again(k, op, err);
        if (rc != 0)
            return rc;
    }
}

int ash__js_sink_commit(ash_object_sink *base, const ash_object *object, const ash_op *op,
                        ash_object **out, ash_error *err)
{
    sink *k = (sink *)base;
    ash_object *complete = NULL;
    if (k->opts->ttl_ms > 0 && ash__clock_ms() - k->began_ms > ASH_JS_TTL_MARGIN_MS)
        return ash__fail(err, ASH_ETIMEOUT, "an object with a ttl of its own has to be put in %d s",
                         ASH_JS_TTL_MARGIN_MS / 1000);
    /* After a failure in between it is this name's present object that counts. */
    int rc = k->before.subject == NULL ? look_again(k, op, err) : 0;
    if (rc == 0)
        rc = with_chunks(k, object, &complete, err);
    if (rc == 0)
        rc = publish(k, complete, op, out, err);
    if (rc == 0) {
        k->committed = true;
        ash__js_meta_drop_chunks(k->store, &k->before, op);
    }
    ash_object_free(complete);
    return rc;
}

void ash__js_sink_free(ash_object_sink *base)
{
    sink *k = (sink *)base;
    if (k == NULL)
        return;
    bool stored = k->chunks != NULL && ash__js_chunks_count(k->chunks) > 0;
    if (stored && !k->committed && !k->unknown) {
        ash__js_chunks_quiesce(k->chunks);
        ash__js_drop_chunks_of(k->store, k->nuid);
    }
    ash__js_chunks_free(k->chunks);
    ash__js_meta_release(&k->before);
    ash__free(k->name);
    ash__free(k->nuid);
    ash__free(k->subject);
    ash__free(k);
}
