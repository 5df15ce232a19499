/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_ENGINE_ENGINE_H
#define ASH_ENGINE_ENGINE_H

/* The document engine: collections of records with indexes, on LMDB and segment files.
 *
 * It knows documents' bytes, keys and places, not queries.  Readers work on snapshots and never
 * wait for the writer. All changes are functions that run on the one writer thread inside an open
 * LMDB write transaction; the transaction is committed for several of them together.
 *
 * Two rules, never broken:
 *   1. A segment record is durable before the LMDB commit that points at it.
 *   2. A freed extent is reusable only after the commit that freed it is durable and no reader
 * (snapshot or pin) can still see it.
 */

#include <sys/uio.h>

#include "base/error.h"
#include "bson/keycode.h"
#include "bson/value.h"

typedef struct ash_engine ash_engine;
/* What a reader sees: one commit, or on the writer the open transaction's own state. */
typedef struct ash_snapshot ash_snapshot;
struct ash_duplicate;
struct ash_payload;
typedef struct ash_writer ash_writer; /* the right to change things, inside an apply function */

/* Filters of partial indexes and validators are compiled and tested by whoever is above. */
typedef struct ash_filter_hooks {
    int (*compile)(const bson_t *filter, const ash_collation *collation, void **out,
                   ash_error *err);
    /* An error is that the time for it is over (base/budget.h). */
    int (*test)(void *filter, ash_doc doc, bool *matches, ash_error *err);
    void (*free)(void *filter);
} ash_filter_hooks;

typedef struct ash_engine_options {
    bool must_exist;
    bool read_only;
    bool is_locked;          /* the caller holds the folder's lock, and longer than the store */
    int64_t busy_timeout_ms; /* wait for the folder's lock; <= 0: do not */
    int64_t map_bytes;       /* 0 = 1 TiB */
    int64_t segment_bytes;   /* of a full-grown segment; 0 = 256 MiB */
    /* 0 = 64 MiB; but until somebody watches, of what no client of this run can know the time of 256
     * KiB, or a 64th of what the store takes */
    int64_t oplog_bytes;
    int64_t interval_ms;    /* longest time between commits; 0 = 100 */
    int64_t pin_timeout_ms; /* 0 = 600000 */
    /* Free space that stays on the disk, besides half of what is in use; 0 = 64 MiB, < 0: all */
    int64_t trim_slack_bytes;
    int64_t trim_interval_ms; /* between two looks at it; 0 = 30000 */
    int64_t trim_span_bytes;  /* shorter free spans are left alone; 0 = 1 MiB */
    /* How long closing may look for what takes room for nothing; 0 = 50, < 0: not at all */
    int64_t tidy_ms;
    /* Closing writes the metadata anew when that makes it smaller by so much; 0 = 256 KiB, < 0: never */
    int64_t pack_least_bytes;
    ash_filter_hooks filters;
    int64_t journal_after; /* commits that somebody waited for before a new store gets its
                                      journal; 0 = 16, < 0 never */
    bool journal_always;   /* also when readers follow after each change */
} ash_engine_options;

/* Opens or creates the store in the folder and takes its lock (file "lock", one process).
 * ASH_EBUSY: held elsewhere.  ASH_EVERSION: newer format.  ASH_ECORRUPT: not a store, or its
 * superblock is damaged. ASH_ENOTFOUND with must_exist. */
int ash__engine_open(const char *folder, const ash_engine_options *opts, ash_engine **out,
                     ash_error *err);
/* Commits, syncs, marks the store as cleanly closed, and gives back what it has reserved ahead. */
void ash__engine_close(ash_engine *e);
bool ash__engine_was_unclean(const ash_engine *e); /* the last process did not close it */
uint64_t ash__engine_boot_sequence(
    const ash_engine *e); /* record sequences at or above this were written by this process */

/* ---- reading ---- */

/* A snapshot that sees every write acknowledged before the call.  One thread; keep it short, it
 * stops LMDB from reusing pages. Closing one is cheap, its reader slot is kept for the next. */
int ash__snapshot_open(ash_engine *e, ash_snapshot **out, ash_error *err);
/* The commit that a snapshot would show which is opened now; false: it would have to wait for one.
 * Whatever was read since the same number was given before reads the same again. */
bool ash__engine_commit_now(ash_engine *e, uint64_t *out);
/* One of what is committed, whatever waits to be: never waits itself, also on the writer. */
int ash__snapshot_committed(ash_engine *e, ash_snapshot **out, ash_error *err);
uint64_t ash__snapshot_commit(const ash_snapshot *snap); /* grows with each commit */
void ash__snapshot_close(ash_snapshot *snap);
/* Which snapshots keep more than so many bytes of metadata from being used again: those of commits
 * before *commit.  Only what was freed after the commit since is counted.  *commit is 0: none. */
int ash__snapshots_in_the_way(ash_engine *e, uint64_t since, uint64_t max_bytes, uint64_t *commit,
                              ash_error *err);

/* ---- catalogue ---- */

typedef struct ash_index {
    uint32_t id;
    const char *name;
    bson_t spec; /* the whole specification as listIndexes shows it: {v, key, name, unique?, …} */
    bson_t key;  /* static: the key document inside spec */
    ash_key_pattern pattern;
    bool unique;
    bool guarded;    /* unique, or it is to be made unique: nothing gets a key that another has */
    bool rid_in_key; /* entries are laid out as those of an index that is not unique: keys.h */
    bool sparse;
    bool hidden;
    bool ready;             /* false while it is being built: written to, not read from */
    bool multikey;          /* some document gave several keys */
    uint32_t kinds;         /* ASH_KIND_… of all values that it ever had */
    int64_t expire_after_s; /* -1: no TTL */
    void *partial;          /* compiled filter, or NULL */
} ash_index;

typedef struct ash_coll {
    uint32_t id;
    const char *db;
    const char *name;
    uint8_t uuid[16];
    bson_t options; /* of create, as given */
    bool capped;
    int64_t capped_bytes;
    int64_t capped_docs; /* 0 = no limit */
    void *validator;     /* compiled filter, or NULL */
    bool has_collation;
    ash_collation collation;
    const ash_index *indexes; /* [0] is _id_ */
    uint32_t index_count;
    const struct ash_catalog_entry *entry; /* the engine's own */
} ash_coll;

/* *out NULL when there is no such collection (that is not an error).  Valid until the snapshot closes;
 * in a writer until the next catalogue change. */
int ash__catalog_find(ash_snapshot *snap, const char *db, const char *name, const ash_coll **out,
                      ash_error *err);
int ash__catalog_find_id(ash_snapshot *snap, uint32_t coll_id, const ash_coll **out,
                         ash_error *err);
/* In name order; visit returns false to stop.  db NULL: all databases. */
int ash__catalog_each(ash_snapshot *snap, const char *db,
                      bool (*visit)(void *ctx, const ash_coll *c), void *ctx, ash_error *err);
int ash__catalog_each_db(ash_snapshot *snap, bool (*visit)(void *ctx, const char *db), void *ctx,
                         ash_error *err);
/* Collections that have a TTL index, without walking the others. */
int ash__catalog_each_ttl(ash_snapshot *snap,
                          bool (*visit)(void *ctx, const ash_coll *c, const ash_index *index),
                          void *ctx, ash_error *err);

typedef struct ash_coll_stats {
    uint64_t count;         /* records */
    uint64_t data_bytes;    /* of their documents */
    uint64_t storage_bytes; /* what they take in segments and pages, about */
    uint64_t last_rid;
} ash_coll_stats;
int ash__coll_stats(ash_snapshot *snap, const ash_coll *c, ash_coll_stats *out, ash_error *err);
int ash__index_stats(ash_snapshot *snap, const ash_index *i, uint64_t *keys, uint64_t *bytes,
                     ash_error *err);

int ash__catalog_create(ash_writer *w, const char *db, const char *name, const bson_t *options,
                        const ash_coll **out, ash_error *err);
/* The collection is gone at once; its records and index keys are deleted afterwards in bounded
 * turns of the writer. */
int ash__catalog_drop(ash_writer *w, const ash_coll *c, ash_error *err);
int ash__catalog_rename(ash_writer *w, const ash_coll *c, const char *to_db, const char *to_name,
                        ash_error *err);
int ash__catalog_set_options(ash_writer *w, const ash_coll *c, const bson_t *options,
                             ash_error *err);
int ash__catalog_set_index(ash_writer *w, const ash_coll *c, const char *index_name,
                           const bson_t *spec, ash_error *err); /* all but its keys may change,
                                                                   and unique only to true */
/* spec is complete and checked against the others by the caller.  The index starts empty and not
 * ready. */
int ash__index_create(ash_writer *w, const ash_coll *c, const bson_t *spec, const ash_index **out,
                      ash_error *err);
/* How far an index is built.  coll and index: as they were when this apply began. */
typedef struct ash_index_build {
    const ash_coll *coll;
    const ash_index *index;
    uint64_t rid;         /* the next record to do; 0: all are done, and ready may be called */
    uint32_t noted_kinds; /* its own: in the catalogue by now, though not in index; begins as 0 */
} ash_index_build;
/* Add keys of up to max_records records.  Duplicate: as insert. */
int ash__index_build(ash_writer *w, ash_index_build *b, uint64_t max_records,
                     struct ash_duplicate *dup, ash_error *err);
int ash__index_ready(ash_writer *w, const ash_coll *c, const ash_index *i, ash_error *err);
int ash__index_drop(ash_writer *w, const ash_coll *c, const ash_index *i, ash_error *err);

/* ---- records ---- */

/* Where a large record lies in the segments. */
typedef struct ash_pointer {
    uint32_t segment; /* 0: inline, not in a segment */
    uint32_t block;
    uint32_t len; /* payload bytes */
    uint64_t sequence;
} ash_pointer;

typedef struct ash_record {
    uint64_t rid; /* grows with insertion within a collection, from 1 */
    ash_doc doc;  /* checksum verified */
    ash_pointer place;
} ash_record;

/* *found false when there is none.  The view of an inline document is valid until the snapshot
 * closes (or the writer changes anything); a segment document's as long as the snapshot is open or
 * the record is pinned.  ASH_ECORRUPT names collection, record, segment and offset. */
int ash__record_get(ash_snapshot *snap, const ash_coll *c, uint64_t rid, ash_record *out,
                    bool *found, ash_error *err);

/* As ash__record_get, but a large payload's checksum is not read, only its structure is looked at:
 * for whoever deletes it, as ash__record_delete compares its keys with the indexes. */
int ash__record_get_unread(ash_snapshot *snap, const ash_coll *c, uint64_t rid, ash_record *out,
                           bool *found, ash_error *err);

/* Where a record lies, without reading its payload: doc is NULL when it is in a segment. */
int ash__record_locate(ash_snapshot *snap, const ash_coll *c, uint64_t rid, ash_record *out,
                       bool *found, ash_error *err);

/* Through the unique _id index. */
int ash__record_find_id(ash_snapshot *snap, const ash_coll *c, ash_value id, ash_record *out,
                        bool *found, ash_error *err);

/* Records that stay readable after their snapshot closed, whatever is deleted meanwhile.  Only
 * segment records need one; inline ones are copied by the caller.  A set belongs to one thread. It
 * lapses after pin_timeout_ms without a ash__pins_touch(); reading then is ASH_ECURSOR. */
typedef struct ash_pins ash_pins;
ash_pins *ash__pins_new(ash_engine *e);
void ash__pins_add(ash_pins *p, ash_snapshot *snap, const ash_pointer *place); /* while v is open */
bool ash__pins_touch(ash_pins *p);           /* false: it has lapsed */
void ash__pins_hold(ash_pins *p, bool held); /* held: it does not lapse, however long it takes */
int ash__pins_read(ash_pins *p, const ash_pointer *place, ash_doc *out,
                   ash_error *err); /* verified */
/* The same for who verifies by ash__segments_verify just what he looks at, and has touched the pins
 * a moment ago. */
int ash__pins_open(ash_pins *p, const ash_pointer *place, struct ash_payload *out, ash_error *err);
/* The same of a record that was opened while the set pinned it, as it still does, and then had that
 * layout.piece. */
int ash__pins_open_again(ash_pins *p, const ash_pointer *place, uint32_t piece,
                         struct ash_payload *out, ash_error *err);
void ash__pins_clear(ash_pins *p);
void ash__pins_free(ash_pins *p);

/* ---- scans ---- */

typedef struct ash_scan ash_scan;

typedef struct ash_scan_hit {
    uint64_t rid;
    ash_doc key; /* index scans: the full key encoding (not BSON), also when the stored key was cut;
                    valid until the next call */
} ash_scan_hit;

/* All records in record order.  after: start behind that rid (before it, backward); 0 = from the
 * start (end). */
ash_scan *ash__scan_records(ash_snapshot *snap, const ash_coll *c, bool backward, uint64_t after);

/* Keys k with from <= k < to (to.len 0: no upper end), in key order or backward; equal keys in
 * ascending rid order in BOTH directions. */
typedef struct ash_scan_range {
    ash_doc from, to;
    bool backward;
} ash_scan_range;
/* after (may be NULL): go on behind that hit, whether or not it still exists.  Range and hit are
 * copied. */
ash_scan *ash__scan_index(ash_snapshot *snap, const ash_index *i, const ash_scan_range *range,
                          const ash_scan_hit *after);
int ash__scan_next(ash_scan *s, ash_scan_hit *hit, bool *found, ash_error *err);
void ash__scan_free(ash_scan *s);

/* ---- changing ---- */

enum ash_ack {
    ASH_ACK_APPLIED, /* return when applied; on disk within interval_ms */
    ASH_ACK_DURABLE  /* return when on disk, with everything applied before it */
};
enum ash_apply_flags {
    ASH_APPLY_ATOMIC =
        1 /* undo everything fn did when it fails (a nested transaction); without it fn may fail
             only before its first change, or between changes that may stay */
};

/* On what terms a change is made. */
typedef struct ash_apply_terms {
    enum ash_ack ack;
    int flags;           /* ash_apply_flags */
    int64_t deadline_ms; /* monotonic, 0 = none; bounds waiting in the queue and for the disk */
} ash_apply_terms;

/* Run fn on the writer thread.  w is valid during fn only.  terms NULL: as soon as it is applied,
 * not atomic, without a deadline.  Several applies are committed together.  When the commit itself
 * fails, every apply since the last one fails with its error; ones that had been acknowledged as
 * applied are lost, which ash__engine_losses() counts.  ASH_ETIMEOUT before fn ran means nothing
 * happened; after it, the outcome is unknown to the caller but will be all or nothing. */
typedef int (*ash_apply_fn)(ash_writer *w, void *ctx, ash_error *err);
int ash__engine_apply(ash_engine *e, ash_apply_fn fn, void *ctx, const ash_apply_terms *terms,
                      ash_error *err);
int ash__engine_flush(ash_engine *e, int64_t deadline_ms, ash_error *err);
uint64_t ash__engine_losses(const ash_engine *e);
ash_error ash__engine_loss_error(const ash_engine *e); /* why, the last time */
ash_snapshot *ash__writer_snapshot(ash_writer *w);

/* A savepoint inside fn (nested transaction): for transactions that undo one operation. */
int ash__writer_savepoint(ash_writer *w, ash_error *err);
int ash__writer_savepoint_end(ash_writer *w, bool keep, ash_error *err);

/* Write a large document's payload to a segment, before and outside the writer.  parts: the
 * document in pieces (sum = its length).  Not durable yet, not visible.  Used up by a
 * record_insert/replace that succeeds; else give it back with ash__staged_free (then its space is
 * reusable at once).  Where there is no room, what was freed is committed and used; ASH_ENOSPC:
 * what snapshots see and pins hold does not count. Documents of at most ash__engine_inline_max()
 * bytes are not staged: pass NULL.
 */
typedef struct ash_staged ash_staged;
size_t ash__engine_inline_max(const ash_engine *e); /* 8 KiB less overhead */
int ash__staged_write(ash_engine *e, uint32_t coll_id, const struct iovec *parts, int count,
                      ash_staged **out, ash_error *err);
void ash__staged_free(ash_engine *e, ash_staged *s);
/* Make it durable now, on the caller's thread.  The commit that uses it would do so, while all
 * other changes wait; so whoever stages much does it first.  ASH_EIO: it cannot be used. */
int ash__staged_sync(ash_engine *e, const ash_staged *s, ash_error *err);
/* Did somebody commit only a few MiB ago, so that more commits are to be expected? */
bool ash__engine_is_busy(const ash_engine *e);

/* Which unique index refused, and the record that has the key. */
typedef struct ash_duplicate {
    const ash_index *index;
    uint64_t rid;
} ash_duplicate;

/* What a record is to hold. */
typedef struct ash_content {
    ash_doc doc;        /* validated, with an _id first */
    ash_staged *staged; /* its payload, written already; NULL: it is stored inline, or, if it is
                           large, staged by the call at the writer's expense */
} ash_content;

/* Each is whole or not at all.  ASH_EEXISTS with *dup filled (dup may be NULL).  Other failures of the key
 * extraction: ASH_EINVAL. Capped collections: insert deletes the oldest records over the limits,
 * replace must not change the length (10003). *rid: the new record's. */
int ash__record_insert(ash_writer *w, const ash_coll *c, const ash_content *content, uint64_t *rid,
                       ash_duplicate *dup, ash_error *err);
int ash__record_replace(ash_writer *w, const ash_coll *c, uint64_t rid, const ash_content *content,
                        ash_duplicate *dup, ash_error *err);
int ash__record_delete(ash_writer *w, const ash_coll *c, uint64_t rid, ash_error *err);

/* ---- change log and state ---- */

/* Of a new store, with the first entry: nobody has watched it or knows a time of it.  Until somebody
 * does, less is kept. */
int ash__oplog_begin(ash_writer *w, ash_error *err);
/* Somebody watches, and may go on in a later run: all is kept from now on.  Once it is known,
 * nothing is done.  What fails is logged. */
void ash__oplog_watched(ash_engine *e);
/* Append an entry; its time (seconds << 32 | increment, always growing) is returned.  The oldest
 * entries beyond oplog_bytes are deleted. */
int ash__oplog_append(ash_writer *w, ash_doc entry, uint64_t *time, ash_error *err);
/* The entry with the smallest time > after; *found false at the end.  The view of it is valid until
 * the snapshot closes. */
int ash__oplog_next(ash_snapshot *snap, uint64_t after, uint64_t *time, ash_doc *entry, bool *found,
                    ash_error *err);
int ash__oplog_bounds(ash_snapshot *snap, uint64_t *oldest, uint64_t *newest,
                      ash_error *err); /* 0, 0 when empty */
uint64_t ash__oplog_time(
    ash_engine *e); /* newest committed time, or the clock's when that is later; never goes back */
/* The same, for a client, who may begin a stream there, also in a later run: from now on all is kept. */
uint64_t ash__oplog_tell(ash_engine *e);
uint64_t ash__oplog_stamp(ash_engine *e); /* the same, but no two calls get one value; for data */
/* Wait until an entry newer than `after` is committed: true; false at the deadline or when *cancel is
 * not zero; who waits for that looks again after a short deadline. */
bool ash__oplog_wait(ash_engine *e, uint64_t after, int64_t deadline_ms,
                     const volatile int *cancel);

/* Small named things that change together with records: results of retryable writes, resume points.
 * Keys 1..400 bytes. */
int ash__state_get(ash_snapshot *snap, const void *key, size_t key_len, ash_doc *value, bool *found,
                   ash_error *err);
int ash__state_put(ash_writer *w, const void *key, size_t key_len, const void *value, size_t len,
                   ash_error *err);
int ash__state_delete(ash_writer *w, const void *key, size_t key_len, ash_error *err);
/* Keys with the prefix, in order; visit returns false to stop. */
int ash__state_each(ash_snapshot *snap, const void *prefix, size_t prefix_len,
                    bool (*visit)(void *ctx, const void *key, size_t key_len, ash_doc value),
                    void *ctx, ash_error *err);

/* ---- care ---- */

typedef struct ash_engine_stats {
    uint64_t commits, applies, snapshots;
    uint64_t flushes; /* changes made durable by the journal, between commits */
    uint64_t segment_files, segment_blocks, used_blocks, free_blocks,
        held_blocks; /* held: freed, not yet reusable */
    uint64_t meta_bytes, meta_used_bytes;
    uint64_t pins;
    uint64_t oplog_bytes;
} ash_engine_stats;
/* ASH_ECORRUPT: what the metadata would have told is missing, the rest is there. */
int ash__engine_stats(ash_engine *e, ash_engine_stats *out, ash_error *err);
/* Bytes of the file system that the folder is on, and those of them that may still be written;
 * false: it does not say. */
bool ash__engine_room(const ash_engine *e, uint64_t *total, uint64_t *available);

/* What is known of damage to the metadata: what the last census of this run found (census.h). */
typedef struct ash_damage {
    uint64_t findings; /* 0: none */
    bool structure;    /* of the pages: nothing is written any more */
    bool censuses;     /* one was taken at all */
    char first[300];   /* of the findings; "" */
} ash_damage;
bool ash__engine_damage(ash_engine *e, ash_damage *out); /* true: there is some */
/* Take a census, unless damage is known or there was one a while ago: ten minutes, one second if a
 * reader met damage since, fifty times what it took if that is more.  go_on is asked now and then,
 * false: ASH_EINTERRUPTED.  Damage is told in the
 * log, once; 0 all the same. */
int ash__engine_census(ash_engine *e, bool (*go_on)(void *ctx), void *ctx, ash_error *err);
bool ash__engine_is_doubted(ash_engine *e); /* a reader met damage, and it would take one */
/* For who is about to delete because something is not there: ASH_ECORRUPT when the metadata is
 * damaged.  As ash__engine_census, it may take as long as reading the metadata. */
int ash__engine_require_whole(ash_engine *e, ash_error *err);

/* Give free space back to the file system when there is much of it, now and at the look before; the
 * looks are trim_interval_ms apart, however often this is called, by one thread.  go_on is asked
 * now and then, false ends it.  What fails is logged, and not tried again.  Closing gives back,
 * too, after one look. */
void ash__engine_trim(ash_engine *e, bool (*go_on)(void *ctx), void *ctx);

/* Give all free blocks back to the file system.  *freed_bytes: what it got. */
int ash__engine_compact(ash_engine *e, uint64_t *freed_bytes, ash_error *err);

#endif
