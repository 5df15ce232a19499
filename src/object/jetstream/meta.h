/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_OBJECT_JETSTREAM_META_H
#define ASH_OBJECT_JETSTREAM_META_H

/* An object's meta message: looked up, and replaced under the condition that nobody else did. */

#include "object/jetstream/jetstream.h"

typedef struct ash_js_meta {
    char *subject;      /* where it is, or would be */
    uint64_t sequence;  /* 0: there is no message */
    ash_object *object; /* NULL where there is none */
    char *other;        /* the mark of a rename, or NULL */
} ash_js_meta;
void ash__js_meta_release(ash_js_meta *m);

/* 0 also where there is none.  newest: as ash__js_get_last.  ASH_ENOTFOUND: the store is gone. */
int ash__js_meta_get(ash_js_store *s, const char *name, bool newest, const ash_op *op,
                     ash_js_meta *out, ash_error *err);
/* Its subject as nats.c before 3.12 wrote it, without padding; NULL: it has none.  Yours:
 * ash__free(). */
char *ash__js_meta_bare(const char *subject);
/* The same from answers that were asked for: for the name's subject, and for the bare one, if there
 * is one.  Both are taken over.  ASH_ENETWORK: one is NULL that was needed. */
int ash__js_meta_from(ash_js_store *s, const char *subject, natsMsg *padded, natsMsg *bare,
                      ash_js_meta *out, ash_error *err);
bool ash__js_meta_is_live(const ash_js_meta *m);
/* Its time is over, though the server, which counts seconds, may still have it. */
bool ash__js_is_expired(const ash_object *o);
/* ASH_ECONDITION, ASH_EUNSUPPORTED (a fence). */
int ash__js_meta_check(const ash_js_meta *m, const ash_object_change_options *opts, ash_error *err);

typedef struct ash_js_meta_put {
    const char *subject;
    const ash_object *object;
    uint64_t expected;  /* sequence of the subject's last message; 0: none */
    int64_t expires_ms; /* since 1970; 0: with the stream's */
    const char *other;  /* or NULL */
} ash_js_meta_put;

/* Publishes, and waits until it is known what became of it.  *out: the object as it is now.
 * ASH_ECONFLICT: the subject's last message is another one; nothing was stored.  *unknown (set on
 * every path): it failed, and may be stored all the same. */
int ash__js_meta_publish(ash_js_store *s, const ash_js_meta_put *put, const ash_op *op,
                         ash_object **out, bool *unknown, ash_error *err);

/* A meta message is not needed any more, since another one or none stands in its place: its chunks
 * go, unless the other end of a rename has them.  Tries for a moment; what did not work is tried
 * again with the manager's later calls. */
void ash__js_meta_drop_chunks(ash_js_store *s, const ash_js_meta *m, const ash_op *op);
void ash__js_drop_chunks_of(ash_js_store *s, const char *nuid);
/* What could not be purged before. */
void ash__js_drop_pending(ash_js_manager *m);

#endif
