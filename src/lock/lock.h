/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_LOCK_LOCK_H
#define ASH_LOCK_LOCK_H

/* What the files of this folder share.
 *
 * A collection has one mutex for everything below that changes; no operation on the store and no
 * callback runs under it, and what counts on it asserts it.  Who is about to work on a lock's document marks the lock busy; others
 * wait for it.  Three threads serve a collection:
 *
 *   watcher  wakes waiters when lock documents change, and has leases looked at that were broken
 *            (one change stream, opened by the first wait, or lease with a callback)
 *   timer    knows the earliest moment at which anything is due; reports lives that end
 *   worker   does the store's work for requests without a waiting thread, keeps leases alive, and
 *            gives back what expired here */

#include "base/error.h"
#include "base/thread.h"
#include "lock/programs.h"
#include <ashlar/lock.h>

#define ASH_LOCK_NEVER     INT64_MAX
#define ASH_LOCK_QUEUE_MAX 64
#define ASH_LOCK_BUCKETS   4096
#define ASH_LOCK_ANSWER_MS 3000 /* how long a wait goes on behind its time for want of an answer */

typedef struct ash_lock_settings {
    int64_t life_ms; /* 0: a lease, kept alive */
    int64_t lease_ms;
    int64_t time_out_ms;
    int64_t poll_ms;
    int64_t grace_ms;
    bson_t *meta; /* or NULL */
} ash_lock_settings;

/* A grant, as the document said. */
typedef struct ash_lock_grant {
    bool write;
    bson_oid_t h;   /* of the entry in `holders` */
    int64_t writes; /* at the grant */
    int64_t count;  /* the how manieth grant of the document it is; no two have the same */
    int64_t token;  /* 0: not asked for yet */
    bool shared;    /* read: others of this process were in its entry when it was copied */
    bool wanted;    /* the last answer had waiters, or a request of somebody who waits elsewhere */
    bson_value_t doc_id; /* _id of the lock document */
    bson_t *doc;         /* as of the last answer */
} ash_lock_grant;
void ash__lock_grant_release(ash_lock_grant *g);

void ash__lock_grant_copy(const ash_lock_grant *from, ash_lock_grant *to); /* without its doc */
bool ash__lock_same_grant(const ash_lock_grant *a, const ash_lock_grant *b);

/* A grant that ended here while the document still says that it is held. */
typedef struct ash_lock_return {
    struct ash_lock_return *next;
    ash_lock_grant grant;
} ash_lock_return;

enum ash_lock_want {
    ASH_LOCK_WANT_NOTHING,
    ASH_LOCK_WANT_READ,
    ASH_LOCK_WANT_WRITE,
    ASH_LOCK_WANTS
};

/* First come first. */
typedef struct ash_lock_line {
    ash_lock *head, *tail;
    int count;
} ash_lock_line;

/* What the locks of one process on one resource share.  Exists while one of them is open. */
typedef struct ash_lock_resource {
    struct ash_lock_resource *next;         /* in its bucket */
    struct ash_lock_resource *next_waiting; /* in the collection's list … */
    bool waiting;                           /* … when it is there */
    uint8_t *key;                           /* the id as a document of one field */
    uint32_t key_len;
    int locks;           /* open */
    bson_value_t doc_id; /* of the lock document, once seen */
    bool known, busy;    /* the last answer was seen; it said that others want or have the lock */
    ash_lock_line lines[ASH_LOCK_WANTS]; /* requests that wait, by what they want */
    int queued;                          /* how many of the writers stand in the document's queue */
    bson_oid_t first; /* who stood first there by the last answer; zeros: nobody */
    bson_oid_t join;  /* our readers' entry … */
    int members;      /* … and how many they are; 0: none */
} ash_lock_resource;

/* A lock object, by ash_lock_get_state().  Of the documents: programs.h.
 *
 *   FREE ──ash_lock_obtain_…, ash_lock_request_…: begin──▶ WAITING
 *   WAITING ──accept_grant──▶ READING or WRITING, as it was asked
 *   WAITING ──give_up: time over, or ash_lock_cancel──▶ FREE
 *   WAITING ──ash__lock_fail: the store failed──▶ FREE
 *   WAITING ──settle_heir, when the holder's move passed it on──▶ WRITING
 *   READING, WRITING ──ash_lock_renew, ash__lock_heartbeat: take_extension──▶ the same, for longer
 *
 *   READING, WRITING ──ash__lock_drop──▶ FREE, called by
 *       end_hold         ash_lock_release; ash_lock_remove of one that is WRITING
 *       take_extension   the document no longer says what the grant said (ASH_LOCK_LOST)
 *       end_life         its life or its lease is over (ASH_LOCK_EXPIRED, ASH_LOCK_LOST)
 *       ash_lock_free    the release before had failed
 */
struct ash_lock {
    ash_lock_collection *collection;
    ash_lock_resource *resource;
    bson_value_t id;
    ash_lock_settings settings;
    bool alone; /* a reader with an entry of its own, which no other joins (hand.c) */
    ash_lock_event_fn fn;
    void *fn_ctx;

    /* Guarded by the collection's mutex. */
    ash_lock *next_open, **link_open;
    ash_lock *next_ready; /* in the worker's queue … */
    bool ready;           /* … when it is there */
    ash_cond changed;
    bool busy; /* a thread works on the document */
    int pins;  /* the timer is about to deliver */
    ash_lock_state state;
    ash_lock_grant grant; /* READING, WRITING */
    int64_t until_ms;     /* its life, by this machine's clock */
    int64_t soon_ms;      /* when to say that it ends; 0: said */
    int64_t renew_ms;     /* leases: when to renew; 0: no lease */
    bool renew_asked;     /* the worker is to do it */
    /* The request, WAITING. */
    enum ash_lock_want want;
    bool async;
    bool woken;
    bool called; /* … since the document names it as the next one */
    bool queued; /* the document may have an entry of ours in `waiters` */
    bool cancel;
    volatile int cancel_asking; /* the same for the operation under way */
    bson_oid_t h;
    int64_t deadline_ms;
    int64_t due_ms; /* next try */
    ash_lock *next_waiter, *prev_waiter;
    bool listed; /* in its line */
    /* Events. */
    struct ash_lock_event_item *first_event, **last_event;
    int event_count;
    int64_t events_dropped;
    bool delivering;
    bson_t *lent;          /* document of the event that next_event gave */
    bson_t *shown;         /* by ash_lock_document */
    bson_value_t fence_id; /* by ash_lock_fence */
};

struct ash_lock_collection {
    ash_store *store;
    char *db;
    char *name;
    ash_collection *locks;
    ash_collection *sequence; /* ROOT.lockseq: token.c */
    bson_t *write_concern;    /* or NULL */
    ash_lock_settings settings;
    ash_lock_programs programs;
    ash_lock_event_fn fn;
    void *fn_ctx;
    char host[128];
    int32_t pid;
    bool can_watch;
    pthread_t watcher, timer, worker;
    int threads; /* how many were started */

    ash_mutex mutex; /* guards what follows and the locks */
    ash_cond watcher_wake, timer_wake, worker_wake;
    bool remote;          /* the store may leave a question without an answer */
    volatile int closing; /* also the watcher's cancel flag */
    ash_lock *open;
    ash_lock_resource *buckets[ASH_LOCK_BUCKETS];
    ash_lock_resource *waiting;
    ash_lock *ready_head, *ready_tail;
    ash_lock_return *returns; /* for the worker to give back */
    int64_t next_due_ms;
    int wrong_guesses; /* brief.h: in a row */
    bool watch_wanted;
    bool watching;            /* changes are seen */
    int64_t server_offset_ms; /* server's wall clock minus our monotonic one; never for safety */
};

/* ---- grant.c: one findAndModify each ---- */

enum ash_lock_outcome { ASH_LOCK_GRANTED = 0, ASH_LOCK_REFUSED = 1 };
/* One try. */
typedef struct ash_lock_asking {
    bool write;
    bool wait;                          /* a writer that is refused stays in the document's queue */
    bool first;                         /* of this request: it is in no queue yet */
    bool called;                        /* the document names it as the next one */
    const bson_oid_t *join;             /* our readers' entry, or NULL */
    const struct ash_lock_party *party; /* who comes along */
} ash_lock_asking;
/* ASH_LOCK_GRANTED: *g is filled (release it); its count is that of the first of the readers, the
 * others have the next ones.  ASH_LOCK_REFUSED: *doc says why (destroy it).  Else
 * an error. */
/* As the document came back: what later tries go by. */
void ash__lock_note_answer(ash_lock_resource *r, const bson_t *doc);
int ash__lock_try(ash_lock *lock, const ash_lock_asking *asking, ash_lock_grant *g, bson_t *doc,
                  ash_error *err);
/* A write lock that goes from its holder to the first in the queue, at one moment. */
typedef struct ash_lock_passing {
    bool done;            /* else nothing was changed */
    bson_t doc;           /* done: as it is then; the caller's to destroy */
    ash_lock_grant grant; /* the heir's, if it has it; its own from there on */
    int heir_rc;          /* what the heir's request came to; 0 also when it only waits on */
    ash_error heir_why;
} ash_lock_passing;
/* out is zeroed before.  An error: whether the heir got it is unknown. */
int ash__lock_pass(ash_lock *heir, const ash_lock_grant *g, ash_lock_passing *out, ash_error *err);
/* What the document must still say for the grant to hold. */
void ash__lock_ownership(const ash_lock_grant *g, bson_t *filter);
/* The three check that the document still says what g says: else ASH_ELOST. *doc: as it is then;
 * initialised on success. */
int ash__lock_give(ash_lock_collection *c, const ash_lock_grant *g, bson_t *doc, ash_error *err);
int ash__lock_extend(ash_lock_collection *c, const ash_lock_grant *g, int64_t life_ms, bson_t *doc,
                     ash_error *err);
int ash__lock_delete(ash_lock_collection *c, const ash_lock_grant *g, bson_t *doc, ash_error *err);
/* Leave the queue of writers.  *doc: as it is then; destroy it when it was *found. */
int ash__lock_withdraw(const ash_lock *lock, bson_t *doc, bool *found, ash_error *err);
/* One move of a lock document. */
typedef struct ash_lock_move {
    enum ash_lock_program program;
    const bson_t *filter; /* which document, and what it must still say */
    const bson_t *parameters;
    bool upsert;
} ash_lock_move;
/* *doc: as it is then; destroy it, whatever *found says. */
int ash__lock_change(ash_lock_collection *c, const ash_lock_move *move, bson_t *doc, bool *found,
                     ash_error *err);
bson_value_t ash__lock_view(const bson_t *doc, bson_type_t type); /* borrows doc; no destroy */
int64_t ash__lock_int(const bson_t *doc, const char *path);       /* 0 when missing */
int64_t ash__lock_date(const bson_t *doc, const char *path);
bool ash__lock_bool(const bson_t *doc, const char *path); /* false when missing */
void ash__lock_filter_id(bson_t *filter, const char *name, const bson_value_t *id);
/* With the limits that this thread set last: 0 and NULL for none. */
ash_op ash__lock_op(const ash_lock_collection *c);
void ash__lock_limit(int64_t deadline_ms, const volatile int *cancel);
bson_t *ash__lock_parameters(const ash_lock_collection *c, const bson_oid_t *h);

/* token.c: fill g->token, giving the document a base first when it has none.  ASH_ELOST when the
 * document was removed meanwhile. */
int ash__lock_find_token(ash_lock_collection *c, ash_lock_grant *g, ash_error *err);

/* pending.c: no change that a holder before this grant announced happens from now on. */
int ash__lock_settle_pending(ash_lock_collection *c, const ash_lock_grant *g, ash_error *err);

/* ---- resource.c ---- */

ash_lock_resource *ash__lock_resource_get(ash_lock_collection *c, const bson_value_t *id);
void ash__lock_resource_put(ash_lock_collection *c, ash_lock_resource *r);
void ash__lock_resource_enlist(ash_lock *lock);
/* Returns who is the first of its line now, if the one that leaves was; else NULL. */
ash_lock *ash__lock_resource_leave(ash_lock *lock);
bool ash__lock_is_head(const ash_lock *lock);          /* of its line */
bool ash__lock_is_crowded(const ash_lock_resource *r); /* two or more wait */
/* Whom a change may let in. */
typedef enum ash_lock_chance {
    ASH_LOCK_CHANCE_NONE = 0,
    ASH_LOCK_CHANCE_READ = 1,
    ASH_LOCK_CHANCE_WRITE = 2,
    ASH_LOCK_CHANCE_ANY = 3
} ash_lock_chance;
/* A change of a document: whom it may let in; and which writer, where the document says so. */
typedef struct ash_lock_news {
    const bson_value_t *doc_id;
    ash_lock_chance chance;
    const bson_oid_t *next; /* or NULL */
} ash_lock_news;
/* The first writer, the first reader try again. */
void ash__lock_resource_wake(ash_lock_resource *r, ash_lock_chance chance);
void ash__lock_wake_writer(ash_lock_resource *r, const bson_oid_t *h); /* if it is one of ours */
void ash__lock_wake_all(ash_lock_collection *c);
void ash__lock_wake_document(ash_lock_collection *c, const ash_lock_news *news);
/* As the document stands now: for what happened here, ahead of the news of it. */
void ash__lock_wake_by(ash_lock_resource *r, const bson_t *doc, int64_t server_now);
void ash__lock_nudge(ash_lock *lock); /* one request tries again */
bool ash__lock_same_value(const bson_value_t *a, const bson_value_t *b);

/* ---- request.c ---- */

int ash__lock_step(ash_lock *lock, ash_error *err); /* 1: not yet */
/* The request of one that is busy ends, since the store failed. */
void ash__lock_fail(ash_lock *lock, int rc, const ash_error *why);
/* The grant is the lock's, which owns what g points to from here on. */
void ash__lock_accept(ash_lock *lock, const ash_lock_grant *g, int64_t sent_ms);
void ash__lock_plan(ash_lock *lock, const bson_t *doc); /* when to try again, as doc has it */
void ash__lock_acquire_busy(ash_lock *lock);
void ash__lock_release_busy(ash_lock *lock);

/* ---- party.c: all under the mutex ---- */

enum { ASH_LOCK_PARTY_MAX = 15 };
/* So many writers of a process stand in a document's queue, at most: the others enter when these
 * are through, all at once. */
enum { ASH_LOCK_QUEUED_MAX = 8 };
/* Those who wait here for the same and come along with another one's try: readers come in with it,
 * writers enter the queue behind it.  Each is busy meanwhile. */
typedef struct ash_lock_party {
    ash_lock *members[ASH_LOCK_PARTY_MAX];
    int count;
} ash_lock_party;
void ash__lock_party_gather(ash_lock *leader, ash_lock_party *p);
/* Writers: from now on they may have entries in the document. */
void ash__lock_note_queued(ash_lock *leader, const ash_lock_party *p);
/* The three let them go: readers in, waiting on, or each to a try of its own. */
void ash__lock_party_admit(ash_lock_party *p, const ash_lock_grant *g, int64_t sent_ms);
void ash__lock_party_refuse(ash_lock_party *p, const bson_t *doc);
void ash__lock_party_dissolve(ash_lock_party *p);

/* ---- held.c ---- */

void ash__lock_set_life(ash_lock *lock, int64_t sent_ms);
/* Not held any more.  give_back: by the worker, later. */
void ash__lock_drop(ash_lock *lock, bool give_back);
void ash__lock_heartbeat(ash_lock *lock); /* worker */

/* ---- event.c ---- */

/* doc is copied. */
void ash__lock_event_push(ash_lock *lock, ash_lock_event_kind kind, const bson_t *doc,
                          const ash_error *err);
void ash__lock_deliver(ash_lock *lock); /* without the mutex */
void ash__lock_events_release(ash_lock *lock);

/* describe.c: ASH_ELOCKED, with who holds what a try did not get, since when and until when. */
int ash__lock_refuse(const bson_t *doc, ash_error *err);

/* ---- threads ---- */

void *ash__lock_watcher(void *collection);
void ash__lock_want_watch(ash_lock_collection *c); /* from now on */
void *ash__lock_timer(void *collection);
void *ash__lock_worker(void *collection);
void ash__lock_due(ash_lock_collection *c, int64_t due_ms);
void ash__lock_make_ready(ash_lock *lock);
void ash__lock_unready(ash_lock *lock);
void ash__lock_measure_clock(ash_lock_collection *c);

/* options.c */
int ash__lock_settings_from(const ash_lock_options *o, const ash_lock_settings *inherited,
                            ash_lock_settings *out, ash_error *err);

#endif
