/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASHLAR_LOCK_H
#define ASHLAR_LOCK_H

/* Locks that outlive their holders: many readers or one writer on a resource, shared by processes
 * through documents in ROOT.locks.
 *
 * The documents are those of the npm package gridfs-locks, so that its users and Ashlar's exclude
 * each other.  Beyond it: ownership is checked at every renew, release and remove (ASH_ELOST:
 * somebody took the lock over, nobody else is hurt); each grant has a fencing token that only
 * grows, and is given when it is first asked for; waiters are woken by the change itself; waiting writers are served first come, first
 * served; dead holders and dead waiters are recovered from.  docs/LOCKS.md holds the protocol and
 * why it is safe.
 *
 * Names and defaults are the package's: times in its options are seconds.
 *
 * Threads: a lock collection may be used by any number of threads; a lock by one at a time (except
 * ash_lock_next_event and ash_lock_cancel).  Events are delivered from a thread of the library or
 * from inside a call, never two at once for one lock.
 *
 * Pointers must not be NULL unless a comment allows it.  Allowed everywhere: options (NULL: the
 * defaults), err (NULL: only the code is wanted), and what a free or close function is given.  Any
 * other NULL is a bug of the caller and ends the program, as a rule by an assertion. */

#include <ashlar/bucket.h>
#include <ashlar/store.h>

#ifdef __cplusplus
extern "C" {
#endif

/* In short.
 *
 * Example:
 *
 *     ash_error err = ASH_ERROR_INIT;
 *     ash_store *store = NULL;
 *     ash_lock_collection *locks = NULL;
 *     ash_lock *lock = NULL;
 *     bson_value_t id = {.value_type = BSON_TYPE_INT32};
 *     int rc = ash_store_open("./files", NULL, &store, &err);
 *     if (rc == 0)
 *         rc = ash_lock_collection_open(store, NULL, &locks, &err);
 *     if (rc == 0)
 *         rc = ash_lock_new(locks, &id, NULL, &lock, &err);
 *     if (rc == 0)
 *         rc = ash_lock_obtain_write(lock, &err);
 *     if (rc == 0)
 *         rc = ash_lock_release(lock, &err);
 *     if (rc != 0)
 *         fprintf(stderr, "%s\n", err.text);
 *     ash_lock_free(lock);
 *     ash_lock_collection_close(locks);
 *     ash_store_close(store);
 */

typedef struct ash_lock_collection ash_lock_collection;
typedef struct ash_lock ash_lock;

typedef enum ash_lock_event_kind {
    ASH_LOCK_READY = 1, /* of a collection: it may be used */
    ASH_LOCK_LOCKED,
    ASH_LOCK_TIMED_OUT,
    ASH_LOCK_RELEASED,
    ASH_LOCK_REMOVED,
    ASH_LOCK_RENEWED,      /* by ash_lock_renew */
    ASH_LOCK_EXPIRES_SOON, /* about 90 % of its life has passed: renew or release */
    ASH_LOCK_EXPIRED,      /* its life has passed: not held any more */
    ASH_LOCK_LOST,         /* found taken over: not held any more */
    ASH_LOCK_ERROR
} ash_lock_event_kind;

typedef struct ash_lock_event {
    size_t size;
    ash_lock_event_kind kind;
    const bson_t *document; /* the lock document, or NULL; valid during the callback, or until the
                               next next_event */
    ash_error error;        /* LOST and ERROR; TIMED_OUT: who holds it */
} ash_lock_event;
#define ASH_LOCK_EVENT_INIT ASH_OPTIONS_INIT(ash_lock_event)

/* lock is NULL for the events of a collection (READY and ERROR).  Any call on the lock is allowed
 * inside, but not ash_lock_free; keep it short, other locks' events wait meanwhile. */
typedef void (*ash_lock_event_fn)(void *ctx, ash_lock *lock, const ash_lock_event *event);

typedef struct ash_lock_options {
    size_t size;
    const char *db;              /* collection only; NULL: the store's default */
    const char *root;            /* collection only; NULL: "fs" */
    double lock_expiration_s;    /* life of a grant unless renewed; 0: as long as its process lives
                                    (in a lock's own options: the collection's).  Raised to 1.1 x the
                                    polling interval when shorter */
    double time_out_s;           /* how long to wait for a lock that is not free; 0: one try */
    double polling_interval_s;   /* 0: 5; between tries where no change notification is to be had */
    const bson_t *meta_data;     /* kept in the lock document while the lock is held; copied */
    const bson_t *write_concern; /* collection only: {w, j, wtimeout} */
    double grace_s; /* how late a foreign holder's clock may be: its grant is taken over only that
                       long after it expired; 0: 2 x polling interval */
    double lease_s; /* a grant that never expires is kept alive this far ahead, by the collection's
                       own thread, so that it ends when the process dies; 0: 30 */
    ash_lock_event_fn on_event; /* for a collection: its READY (from inside open) and ERROR; for a
                                   lock: as ash_lock_on_event; or NULL */
    void *event_ctx;
} ash_lock_options;
#define ASH_LOCK_OPTIONS_INIT ASH_OPTIONS_INIT(ash_lock_options)

/* Makes the unique index on files_id.  *out is yours: ash_lock_collection_close(), after its locks
 * were freed.  ASH_ETIMEOUT: a server did not answer for time_out_s and ten seconds. */
int ash_lock_collection_open(ash_store *store, const ash_lock_options *opts,
                             ash_lock_collection **out, ash_error *err);
void ash_lock_collection_close(ash_lock_collection *c);

/* A lock object for one resource; may be used again and again.  id: any value that may be an _id;
 * copied. *out is yours: ash_lock_free(). */
int ash_lock_new(ash_lock_collection *c, const bson_value_t *id, const ash_lock_options *opts,
                 ash_lock **out, ash_error *err);
/* A lock that is still held is released. NULL is fine. */
void ash_lock_free(ash_lock *lock);

/* Wait up to time_out_s.  ASH_ELOCKED: timed out (or not free, with no time-out); the text says who
 * holds it, since when and until when, or who waits in front.  ASH_ESTATE: this
 * object holds a lock already.  ASH_ETIMEOUT: three seconds after that time the server had not
 * answered; should it grant the lock all the same, that ends with the lease. */
int ash_lock_obtain_read(ash_lock *lock, ash_error *err);
int ash_lock_obtain_write(ash_lock *lock, ash_error *err);
/* The same without waiting here: the outcome comes as an event (LOCKED, TIMED_OUT, ERROR).  One
 * request at a time. */
int ash_lock_request_read(ash_lock *lock, ash_error *err);
int ash_lock_request_write(ash_lock *lock, ash_error *err);
void ash_lock_cancel(ash_lock *lock); /* end a wait early: ASH_EINTERRUPTED; any thread */

/* ASH_ESTATE: not held (or expired).  ASH_ELOST: taken over meanwhile; the lock is not held any
 * more. */
int ash_lock_release(ash_lock *lock, ash_error *err);
int ash_lock_renew(ash_lock *lock, ash_error *err); /* lock_expiration_s from now */
/* Write locks: release, and forget the resource (its counters live on for the token). */
int ash_lock_remove(ash_lock *lock, ash_error *err);

typedef enum ash_lock_state {
    ASH_LOCK_FREE,
    ASH_LOCK_WAITING,
    ASH_LOCK_READING,
    ASH_LOCK_WRITING
} ash_lock_state;
ash_lock_state ash_lock_get_state(const ash_lock *lock);
/* False once expired, by a clock that never runs slow. */
bool ash_lock_is_held(const ash_lock *lock);
/* As of the last event; NULL when not held; valid until the next call. */
const bson_t *ash_lock_document(ash_lock *lock);
/* Of the grant.  The first question may ask the store (and, once for a resource, change its
 * document); the answer stays.  0: not held, or it could not be had: ash_lock_fence says why. */
int64_t ash_lock_token(const ash_lock *lock);
int64_t ash_lock_remaining_ms(const ash_lock *lock); /* of its life; INT64_MAX: never expires */
/* For ash_upload_options.fence and ash_change_options.fence; write locks only (ASH_ESTATE).  A
 * change under it happens only while the lock is held as it was granted; how far that goes on a
 * store without transactions, beside holders of the npm package, says ashlar/bucket.h.
 * Asks for the token, if nobody has: ASH_ELOST when the lock was taken over, and what the store may
 * answer; nothing changed then.
 * What it points to lives until the next ash_lock_fence on this lock or ash_lock_free, also when
 * the lock ends before: the bucket then refuses it. */
int ash_lock_fence(ash_lock *lock, ash_fence *out, ash_error *err);

/* Events: by callback (set before the first request; with one, a grant without an expiration that
 * somebody breaks is told of at once where changes can be watched, else at its next renewal), or
 * from a queue (at most 64 wait, older ones are dropped and counted). */
void ash_lock_on_event(ash_lock *lock, ash_lock_event_fn fn, void *ctx);
/* 0 and *out; kind 0 when timeout_ms passed without one. */
int ash_lock_next_event(ash_lock *lock, int64_t timeout_ms, ash_lock_event *out, ash_error *err);
int64_t ash_lock_events_dropped(const ash_lock *lock);

/* ---- looking after locks ---- */

/* Documents {id, state: "write"|"read"|"free", expired, readers, foreign_readers, holders, waiters,
 * since?, expires, meta, reads, writes, token (of the last grant; null while nobody asked for one of
 * this resource's), broken?}.  filter over lock documents, or NULL. */
int ash_lock_list(ash_lock_collection *c, const bson_t *filter, ash_cursor **out, ash_error *err);
/* Free a resource whatever holds it; holders learn ASH_ELOST.  reason is kept in the document.
 * ASH_ENOTFOUND. */
int ash_lock_break(ash_lock_collection *c, const bson_value_t *id, const char *reason,
                   ash_error *err);

#ifdef __cplusplus
}
#endif
#endif
