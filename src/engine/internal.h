/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_ENGINE_INTERNAL_H
#define ASH_ENGINE_INTERNAL_H

#include "engine/lmdb_call.h"
#include <stdatomic.h>

#include "base/buffer.h"
#include "base/thread.h"
#include "base/turn.h"
#include "engine/engine.h"
#include "engine/folder_lock.h"
#include "engine/format/keys.h"
#include "segment/segment.h"

/* ---- snapshots ---- */

typedef struct ash_held_colls {
    struct ash_catalog_entry **items;
    size_t count;
    size_t capacity;
} ash_held_colls;

struct ash_snapshot {
    ash_engine *engine;
    MDB_txn *txn; /* the writer's: the innermost open transaction */
    bool is_writer;
    bool sees_all; /* of a check: what may be missing is no error */
    uint64_t txn_id;
    ash_held_colls colls; /* keeps what ash__catalog_find gave */
    struct ash_snapshot *next,
        *before; /* in the engine's list of open ones; next also among idle */
};

/* ---- the writer ---- */

typedef struct ash_undo {
    ash_extent extent;
    bool was_marked; /* else it was unmarked */
} ash_undo;

/* What a pair of counts is to grow by. */
typedef struct ash_count_change {
    char letter;
    uint32_t id;
    uint64_t by[2];
} ash_count_change;

enum { ASH_NEST_MAX = 8, ASH_COUNT_CHANGES = 64 };

typedef struct ash_nest {
    MDB_txn *txn;
    size_t undo_count;
    size_t placed_count;
    size_t redo_len;
    bool changed;
} ash_nest;

/* The writer thread's own; nobody else looks. */
struct ash_writer {
    ash_engine *engine;
    ash_snapshot snap;
    ash_nest nest[ASH_NEST_MAX]; /* [0] is the transaction of the batch */
    int depth;                   /* open transactions; 0: none */
    bool changed;                /* the open transaction has changes */
    int broken;                  /* an LMDB call failed: the batch must be given up */
    ash_error broken_error;
    ash_undo *undo; /* changes of the block maps, oldest first */
    size_t undo_count, undo_capacity;
    ash_placed *placed; /* records that the batch points at: to be synced before its commit */
    size_t placed_count, placed_capacity;
    ash_count_change counts[ASH_COUNT_CHANGES]; /* of the innermost transaction, not yet in rows */
    size_t count_changes;
    /* Changes of rows, in order (redo.c).  The first redo_safe bytes are in the journal and were
     * answered: they outlive the batch, and are part of the next one until LMDB has committed
     * them; so are the first redo_undo entries of undo. */
    ash_buffer redo;
    size_t redo_safe;
    size_t redo_undo;
    bool redo_over;      /* there is more than is kept: no journal for this batch */
    bool fresh;          /* something changed that is not in the journal */
    bool in_doubt;       /* a record may be in the journal although it was not answered */
    uint64_t batch_work; /* rows changed, about */
    uint64_t batch_bytes;
    uint64_t last_time; /* of the oplog */
    bool drops_pending;
    uint8_t judged_drop[5]; /* the row of "drops" that was found to be of nothing in use */
    bool drops_undone; /* what a batch deleted of them may be there again: look after a commit */
    bool deletes;      /* the batch has deletes: it may use the reserve */
    bool marked_open;  /* the row "open" is there, and this run's first sequence is recorded */
    ash_key_set *old_keys; /* one for each index of the collection at hand … */
    ash_key_set *new_keys;
    size_t key_sets; /* … of so many */
};

enum ash_apply_state { APPLY_QUEUED, APPLY_RUNNING, APPLY_APPLIED, APPLY_DONE };

/* On the caller's stack; guarded by the queue's lock but for what the running fn uses. */
typedef struct ash_apply {
    struct ash_apply *next;
    ash_apply_fn fn;
    void *ctx;
    ash_apply_terms terms;
    enum ash_apply_state state;
    bool impatient; /* its deadline passed while fn ran */
    int result;
    ash_error error;
    ash_turn *turn; /* of the thread that waits, or NULL */
    ash_cond cond;
} ash_apply;

typedef struct ash_apply_list {
    ash_apply *first;
    ash_apply *last;
} ash_apply_list;

typedef struct ash_queue {
    ash_mutex lock;
    ash_cond work;          /* the writer waits here */
    ash_cond committed;     /* snapshots wait here */
    ash_apply_list waiting; /* to be run */
    ash_apply_list settled; /* run; they wait for the commit */
    uint64_t applied;       /* applies that changed something and were answered, or wait */
    uint64_t ended;         /* of them committed by LMDB or lost */
    uint64_t acked;         /* already answered, and not durable yet */
    bool commit_wanted;
    bool stop;
    int64_t commit_by; /* 0: nothing to commit */
    int64_t flush_by;  /* for those in settled */
    uint64_t losses;
    ash_error loss_error;               /* of the newest */
    uint64_t applies, commits, flushes; /* flushes: records of the journal */
    unsigned waited;                    /* commits that somebody waited for, up to a few */

    /* Not 0: what the journal holds could not be committed.  Until it is, nothing is written to the
     * journal, and snapshots, which could not see it, fail. */
    int stuck;
    ash_error stuck_error;
    uint64_t stuck_times;

    /* Do readers want to see each change at once? */
    uint64_t read_applied;   /* applied, when a snapshot was last opened */
    bool read_since;         /* one was, behind a change, since the last flush */
    unsigned readers_follow; /* how often that happens, of 256 */
    bool answered_early;     /* something of the open batch was answered by the journal */
} ash_queue;

/* ---- the journal: journal.h ---- */

typedef struct ash_journal {
    int fd; /* -1: there is none */
    uint64_t generation;
    uint64_t base;    /* of the records in it */
    uint64_t ordinal; /* of the next one */
    uint64_t at;      /* where it goes */
    uint64_t ready;   /* what lies before has been written: a sync there is one write */
    bool failed;      /* not to be used any more */
} ash_journal;

/* ---- the engine ---- */

/* trim.c: of the thread that looks after it. */
typedef struct ash_trim {
    int64_t looked_ms; /* 0: never */
    bool was_over;     /* the limit, at that look */
    bool failed;       /* and was told; it is not tried again */
    uint64_t in_use;   /* at that look */
    uint64_t rest;     /* too much all the same, when it was last given back */
} ash_trim;

enum { ASH_CACHE_SETS = 1024, ASH_CACHE_WAYS = 4 };

struct ash_engine {
    char *folder;
    ash_engine_options opts;
    ash_folder_lock lock;
    uint8_t store_id[16];
    MDB_env *env;
    MDB_dbi dbi[ASH_DB_COUNT];
    ash_segments *segments;
    bool was_unclean;
    uint32_t version;    /* of the superblock */
    uint64_t made_ms;    /* in it */
    ash_journal journal; /* the writer's own, once it runs */
    int reserve_fd;      /* or -1; this and what follows the writer's own, once it runs */
    off_t reserve_bytes;
    bool reserve_whole;
    uint64_t boot_sequence;
    atomic_uint_fast64_t next_sequence;
    atomic_uint_fast64_t freed_blocks; /* that may be used again after LMDB's next commit */
    atomic_bool marked_open;
    atomic_uint_fast64_t newest_commit; /* who opens a snapshot sees at least this one */

    ash_mutex snapshots_lock;
    ash_snapshot *open_snapshots;
    ash_snapshot *idle_snapshots;
    uint64_t snapshots;
    uint64_t backup_txn; /* what this transaction sees stays in place; 0: no backup is running */

    ash_mutex cache_lock;
    struct ash_catalog_entry *cache[ASH_CACHE_SETS][ASH_CACHE_WAYS];
    unsigned cache_turn;

    ash_queue queue;
    struct ash_writer writer;
    pthread_t writer_thread;
    bool writer_runs;
    int64_t opened_ms; /* ash__clock_ms */
    bool closed_well;  /* the writer has ended, and what it was given is committed */
    bool has_rest;     /* so has the file `reserve`, what the next opening may need */
    ash_trim trim;
    atomic_bool pack_at_close; /* however long it takes */
    bool was_packed;           /* the writer has ended, and left many free pages */

    ash_mutex watch_lock;
    ash_cond watch_cond;
    atomic_uint watchers;    /* threads that wait for changes */
    uint64_t committed_time; /* newest entry of the oplog that is committed */
    uint64_t told_time;      /* what ash__oplog_time last said */
    uint64_t stamp;          /* what ash__oplog_stamp last said */
    atomic_bool unwatched;   /* nobody ever watched or was told the time, in any run */

    ash_mutex pins_lock;
    struct ash_pins *pin_sets;

    ash_mutex damage_lock; /* soundness.c */
    ash_damage damage;
    struct ash_damaged_rows *damaged_rows;
    bool damage_is_noted; /* in the store's file, by an earlier run; none of this one has looked */
    int64_t census_ms, census_took_ms; /* 0: none was taken */
    atomic_bool damaged;
    atomic_bool unwritable; /* the pages are */
    atomic_bool doubted;    /* a reader met damage since the last census began */
    atomic_bool lost;       /* a change ended by ASH_LMDB_LOST */
    struct ash_path *path;  /* path.c; the writer's own */
};

/* lmdb.c: calls with errors in our shape.  A failed change marks the batch as broken. */
int ash__lmdb_fail(int rc, ash_error *err, const char *what);
int ash__read_fail(const ash_snapshot *snap, int rc, ash_error *err,
                   const char *what); /* a reader's */
MDB_val ash__val(const void *data, size_t len);
static inline ash_doc ash__bytes(const void *data, size_t len)
{
    return (ash_doc){data, len};
}

/* A row, where LMDB has it; key and value mean nothing when none was found. */
typedef struct ash_row {
    MDB_val key, value;
    bool found;
} ash_row;
int ash__row_get(const ash_snapshot *snap, enum ash_database db, ash_doc key, MDB_val *value,
                 bool *found, ash_error *err);
int ash__row_put(ash_writer *w, enum ash_database db, ash_doc key, ash_doc value, ash_error *err);
/* Value = head then body. */
int ash__row_put2(ash_writer *w, enum ash_database db, ash_doc key, ash_doc head, ash_doc body,
                  ash_error *err);
/* One that is not there is none the less deleted. */
int ash__row_delete(ash_writer *w, enum ash_database db, ash_doc key, ash_error *err);
/* First row with key >= the given one. */
int ash__row_seek(const ash_snapshot *snap, enum ash_database db, ash_doc key, ash_row *out,
                  ash_error *err);
int ash__row_last(const ash_snapshot *snap, enum ash_database db, ash_row *out, ash_error *err);
/* Rows with a sum in front. */
int ash__sum_put(ash_writer *w, enum ash_database db, ash_doc key, ash_doc value, ash_error *err);
int ash__sum_check(MDB_val key, MDB_val row, ash_doc *value, const char *what, ash_error *err);

/* folder.c */
int ash__folder_prepare(ash_engine *e, ash_error *err);
void ash__folder_release(ash_engine *e);
/* Before and after a file in the folder is opened by its name, and before anything is acknowledged:
 * ASH_EIO when that is not the folder that was opened. */
int ash__folder_require(const ash_engine *e, ash_error *err);
int ash__superblock_write(ash_engine *e, ash_error *err);
int ash__superblock_version(const ash_engine *e, uint32_t *version); /* as the file has it now */
int ash__superblock_check(ash_engine *e, ash_error *err); /* against the open store's id */

/* open_env.c */
int ash__env_open(ash_engine *e, ash_error *err);
bool ash__engine_has_identity(const ash_engine *e); /* from its superblock, which is made last */

/* open.c */
extern const char *const ash__database_names[ASH_DB_COUNT];
/* A segment's map of used blocks as the snapshot has it. */
int ash__space_read(const ash_snapshot *snap, uint32_t segment, uint8_t *map, uint32_t blocks,
                    ash_error *err);

/* beside.c */
/* No row of that key was found, or none from it on that was asked for: ASH_ECORRUPT if rows beside
 * its place are damaged, so that one may be hidden. */
int ash__beside(const ash_snapshot *snap, enum ash_database db, ash_doc key, ash_error *err);

/* soundness.c */
/* rows: that a census says may be missed, copied; NULL: there was no census. */
void ash__soundness_note(ash_engine *e, const ash_damage *found,
                         const struct ash_damaged_rows *rows, int64_t took_ms);
void ash__soundness_load(ash_engine *e); /* what an earlier run noted */
void ash__soundness_release(ash_engine *e);
/* No row was found from low to high (a key alone: twice; data NULL: no end): ASH_ECORRUPT if some
 * may be missing there. */
int ash__soundness_absent(const ash_snapshot *snap, enum ash_database db, ash_doc low, ash_doc high,
                          ash_error *err);
int ash__soundness_refuse(ash_engine *e, ash_error *err); /* ASH_ECORRUPT: e->unwritable */
/* A row was found: ASH_ECORRUPT if it may be an old one. */
int ash__soundness_found(const ash_snapshot *snap, enum ash_database db, ash_doc key,
                         ash_error *err);
/* A reader's result; ASH_ECORRUPT: what the last census said holds no longer. */
void ash__soundness_doubt(ash_engine *e, int rc);
/* If rc is ASH_LMDB_LOST, the pages are damaged, and there will be no other change. */
void ash__soundness_heed(ash_engine *e, int rc);
/* End a transaction that may change something, unless it is one that was lost. */
void ash__txn_abort(ash_engine *e, MDB_txn *txn);

/* snapshot.c */
int ash__snapshot_begin(ash_engine *e, ash_snapshot **out, ash_error *err); /* without waiting */
uint64_t ash__snapshot_oldest(ash_engine *e);
void ash__snapshots_release(ash_engine *e);
void ash__snapshot_forget(ash_snapshot *snap);

/* writer.c, batch.c */
int ash__writer_start(ash_engine *e, ash_error *err);
void ash__writer_stop(ash_engine *e);
int ash__batch_begin(ash_writer *w, ash_error *err);
int ash__batch_commit(ash_writer *w, ash_error *err);
void ash__batch_abort(ash_writer *w);
int ash__nest_begin(ash_writer *w, ash_error *err);
int ash__nest_end(ash_writer *w, bool keep, ash_error *err);
int ash__writer_break(ash_writer *w, int code, const ash_error *err);
void ash__writer_use(ash_writer *w, const ash_placed *placed);
int ash__writer_unuse(ash_writer *w, ash_extent extent, ash_error *err);
int ash__writer_mark_open(ash_writer *w, ash_error *err);

/* Make the batch durable: by the journal, or by a commit (*committed). */
int ash__batch_flush(ash_writer *w, bool may_journal, bool *committed, ash_error *err);

/* redo.c: take note of a change. */
void ash__redo_put(ash_writer *w, enum ash_database db, ash_doc key, ash_doc head, ash_doc body);
void ash__redo_delete(ash_writer *w, enum ash_database db, ash_doc key);

/* snapshot.c */
/* Wait until what only the journal has is committed. */
void ash__commit_early(ash_engine *e);
/* Wait until what was freed so far is committed, or cannot be. */
void ash__commit_freed(ash_engine *e);

/* counts.c */
typedef struct ash_counts {
    uint64_t count, data_bytes, storage_bytes, last_rid;
} ash_counts;
int ash__counts_get(const ash_snapshot *snap, uint32_t coll_id, ash_counts *out, ash_error *err);
int ash__counts_put(ash_writer *w, uint32_t coll_id, const ash_counts *counts, ash_error *err);
int ash__counts_pair(const ash_snapshot *snap, char letter, uint32_t id, uint64_t out[2],
                     ash_error *err);
/* Remembered, and written by the next flush: pairs change with every document, their rows once a
 * commit.  ash__counts_pair on the writer's snapshot sees them at once. */
int ash__counts_add(ash_writer *w, char letter, uint32_t id, int64_t n, int64_t bytes,
                    ash_error *err);
int ash__counts_flush(ash_writer *w, ash_error *err);

/* entry.c */
typedef struct ash_catalog_entry {
    ash_coll coll;
    uint64_t sum;
    atomic_uint refs;
    const ash_filter_hooks *hooks;
    char *names; /* db NUL name */
    uint8_t *row;
    ash_index *indexes;
} ash_catalog_entry;
/* names: db NUL name.  sum: of the row. */
int ash__entry_parse(const ash_engine *e, ash_doc names, ash_doc row, uint64_t sum,
                     ash_catalog_entry **out, ash_error *err);
void ash__entry_unref(ash_catalog_entry *entry);
/* Of the collection's row; 0: too long. */
size_t ash__entry_key(uint8_t out[ASH_KEY_MAX], const char *db, const char *name, ash_error *err);

/* catalog.c */
int ash__catalog_load(ash_snapshot *snap, MDB_val key, MDB_val row, const ash_coll **out,
                      ash_error *err);
void ash__cache_release(ash_engine *e);
/* Note what the index has got that it had not yet: several keys of a document, kinds of values. */
int ash__catalog_widen_index(ash_writer *w, const ash_coll *c, const ash_index *i, bool multikey,
                             uint32_t kinds, ash_error *err);

/* record.c */
/* Is a payload a well-formed document?  false also when its pages cannot be read. */
bool ash__payload_is_sound(ash_doc doc);
/* Kind and place of a stored record; sum verified.  doc: of an inline record, else len 0. */
int ash__record_parse(MDB_val key, MDB_val value, ash_pointer *place, ash_doc *doc, ash_error *err);
ash_extent ash__pointer_extent(const ash_pointer *p);

/* index.c */
typedef struct ash_entry_key {
    uint8_t bytes[ASH_KEY_MAX];
    size_t len;
    bool is_long;
} ash_entry_key;
void ash__entry_key_make(ash_entry_key *out, const ash_index *i, ash_doc key, uint64_t rid);
/* Of a stored entry: its whole encoding and its record.  ASH_ECORRUPT. */
int ash__entry_decode(const ash_index *i, MDB_val key, MDB_val value, ash_doc *encoding,
                      uint64_t *rid, ash_error *err);
/* Has the entry its check, of whatever index it is? */
bool ash__entry_is_whole(MDB_val key, MDB_val value);
/* Of a guarded index: who has the key, or one of those. */
int ash__index_lookup(const ash_snapshot *snap, const ash_index *i, ash_doc key, uint64_t *rid,
                      bool *found, ash_error *err);
int ash__index_has(const ash_snapshot *snap, const ash_index *i, ash_doc key, uint64_t rid,
                   bool *has, ash_error *err);
int ash__index_keys(const ash_index *i, const ash_engine *e, ash_doc doc, ash_key_set *out,
                    ash_error *err);
/* *bytes: what the entry takes, 0 when it was there (not there) already. */
int ash__index_put(ash_writer *w, const ash_index *i, ash_doc key, uint64_t rid, uint64_t *bytes,
                   ash_error *err);
int ash__index_delete(ash_writer *w, const ash_index *i, ash_doc key, uint64_t rid, uint64_t *bytes,
                      ash_error *err);
/* -1, 0, 1 */
int ash__bytes_compare(ash_doc a, ash_doc b);

/* staged.c */
struct ash_staged {
    ash_placed placed;
    uint32_t coll_id; /* in the record's header */
};
int ash__staged_write_here(ash_writer *w, uint32_t coll_id, ash_doc doc, ash_staged **out,
                           ash_error *err);

/* change.c */
void ash__key_sets_release(ash_writer *w);
uint64_t ash__storage_of(size_t len, bool is_inline);

/* reserve.c: room for deletes on a full disk.  Failures mean just that there is less of it. */
enum { ASH_RESERVE_BYTES = 1 << 20 };
void ash__reserve_open(ash_engine *e); /* again: only a refill */
void ash__reserve_refill(ash_engine *e);
void ash__reserve_use(ash_engine *e); /* let it go, if the disk is full */
void ash__reserve_let_go(ash_engine *e);
/* Keep what it takes to open the store on a full disk, and to delete.  in_use: bytes of metadata that
 * are not free.  false: there is less. */
bool ash__reserve_rest(ash_engine *e, uint64_t in_use);
bool ash__reserve_spend(ash_engine *e); /* before it is open; false: there is none */
bool ash__reserve_is_disk_full(const ash_engine *e);
void ash__reserve_close(ash_engine *e);

/* trim.c: when the writer has stopped. */
void ash__trim_at_close(ash_engine *e);
/* pack.c: on the writer, when its queue is empty for good. */
void ash__pack_at_close(ash_writer *w);
/* tidy.c: what the store holds only for those who have it open, when it ended well. */
void ash__tidy_at_close(ash_engine *e);
void ash__tidy_readers(ash_engine *e); /* when LMDB is closed, too */
/* By a census of a short while ago, or one that is taken now if the metadata has at most so many
 * bytes and it ends before the deadline (ash__clock_ms). */
bool ash__metadata_is_whole(ash_engine *e, int64_t most_bytes, int64_t deadline);

/* drops.c */
int ash__drops_turn(ash_writer *w, ash_error *err);

/* oplog.c */
int ash__oplog_load(ash_engine *e, ash_snapshot *snap, ash_error *err);
int ash__oplog_trim(ash_writer *w, ash_error *err);
void ash__oplog_committed(ash_engine *e, uint64_t time);

/* pins.c */
void ash__pins_lapse(ash_engine *e);

#endif
