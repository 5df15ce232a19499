/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_OBJECT_JETSTREAM_JETSTREAM_H
#define ASH_OBJECT_JETSTREAM_JETSTREAM_H

/* What the files of this folder share.
 *
 * A store is a stream, OBJ_name.  An object is one message on $O.name.M.base64url(object), whose
 * sequence is its revision, and its bytes are the messages on $O.name.C.nuid, in their order.  What
 * has to hold whenever somebody looks, or dies:
 *
 *   1. A meta message is published when all its chunks are acknowledged, never before.
 *   2. It is published under the condition that its subject's last message is the one that was
 *      looked at (JetStream's wrong-last-sequence, 10071, otherwise).
 *   3. Chunks go only when no meta message that anybody can still see names them: those of before
 *      after the new meta message is acknowledged, those of a put that failed when it is certain
 *      that its meta message was not stored.  Where that is not certain, they stay, for a sweep.
 *   4. A rename marks the meta message with the new subject, publishes the new one, and purges the
 *      old one; whoever meets a mark looks whether the new one has the bytes. */

#include "object/jetstream/message.h"
#include "object/ops.h"

#include "base/thread.h"

/* Chunks that nobody needs, and that could not be purged. */
typedef struct ash_js_purge {
    char *stream, *subject;
} ash_js_purge;

typedef struct ash_js_manager {
    ash_object_manager base;
    ash_js *js;
    ash_mutex mutex; /* guards what follows; nothing is locked, and nothing waits, under it */
    ash_js_purge *purges;
    size_t purge_count, purge_capacity;
} ash_js_manager;

typedef struct ash_js_store {
    ash_object_store base;
    char *stream_name;
    ash_js_stream stream;
    bool message_ttl; /* the stream allows times to live of single messages; atomic */
    bool cautious;    /* a full stream loses messages: room.h */
    bool mirror;      /* of another store, which alone takes changes */
} ash_js_store;

/* Chunks of an object with a time to live of its own outlive it by at most so much, and so long may
 * its put take. */
enum { ASH_JS_TTL_MARGIN_MS = 600000 };

static inline ash_js_manager *ash__js_manager_of(ash_object_manager *m)
{
    return (ash_js_manager *)m;
}

static inline ash_js_store *ash__js_store_of(ash_object_store *s)
{
    return (ash_js_store *)s;
}

/* Slots, and who has them. */

/* manager.c */
void ash__js_manager_close(ash_object_manager *m);
int ash__js_create(ash_object_manager *m, const ash_object_config *config, const ash_op *op,
                   ash_object_store **out, ash_error *err);
int ash__js_bind(ash_object_manager *m, const char *name, const ash_op *op, ash_object_store **out,
                 ash_error *err);
int ash__js_update(ash_object_manager *m, const ash_object_config *config, const ash_op *op,
                   ash_error *err);
int ash__js_remove(ash_object_manager *m, const char *name, const ash_op *op, ash_error *err);
int ash__js_list_stores(ash_object_manager *m, const ash_op *op, ash_object_status_listing *out,
                        ash_error *err);
void ash__js_unbind(ash_object_store *s);
int ash__js_status(ash_object_store *s, const ash_op *op, ash_object_status **out, ash_error *err);
int ash__js_seal(ash_object_store *s, const ash_op *op, ash_error *err);
/* Times to live of single messages, from now on. */
int ash__js_allow_ttl(ash_js_store *s, const ash_op *op, ash_error *err);
/* ASH_EREADONLY: nobody would answer a publication. */
int ash__js_check_writable(const ash_js_store *s, ash_error *err);
/* STREAM.INFO; *info is yours. */
int ash__js_stream_info(ash_js *js, const char *stream, const ash_op *op, ash_json **info,
                        ash_error *err);

/* sink.c */
int ash__js_open_sink(ash_object_store *s, const ash_object_put_request *request,
                      ash_object_sink **out, ash_error *err);
int ash__js_sink_write(ash_object_sink *k, const void *data, size_t len, ash_error *err);
int ash__js_sink_seal(ash_object_sink *k, ash_error *err);
int ash__js_sink_commit(ash_object_sink *k, const ash_object *object, const ash_op *op,
                        ash_object **out, ash_error *err);
void ash__js_sink_free(ash_object_sink *k);

/* source.c */
int ash__js_open_source(ash_object_store *s, const ash_object *object, const ash_op *op,
                        ash_object_source **out, ash_error *err);
int ash__js_source_read(ash_object_source *u, void *buf, size_t len, size_t *got, ash_error *err);
int ash__js_source_seek(ash_object_source *u, int64_t position, ash_error *err);
void ash__js_source_free(ash_object_source *u);

/* change.c */
int ash__js_update_meta(ash_object_store *s, const ash_object_request *r,
                        const ash_object_meta *meta, ash_object **out, ash_error *err);
int ash__js_delete_object(ash_object_store *s, const ash_object_request *r, ash_object **out,
                          ash_error *err);
int ash__js_link(ash_object_store *s, const ash_object_request *r, const ash_object *link,
                 ash_object **out, ash_error *err);
int ash__js_set_expiry(ash_object_store *s, const ash_object_request *r, int64_t expires_ms,
                       ash_object **out, ash_error *err);

/* list.c, watch.c, sweep.c */
int ash__js_list_objects(ash_object_store *s, const ash_object_list_options *opts, const ash_op *op,
                         ash_object_listing **out, ash_error *err);
int ash__js_watch(ash_object_store *s, const ash_object_watch_options *opts, const ash_op *op,
                  ash_object_watch **out, ash_error *err);
int ash__js_sweep(ash_object_store *s, const ash_object_sweep_options *opts, const ash_op *op,
                  ash_object_sweep_report *report, ash_error *err);

#endif
