/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_CMD_TREE_SYNC_H
#define ASH_CMD_TREE_SYNC_H

/* A folder of the tree and a local one, side by side: what `put -r` and `get -r` share.
 *
 * Both are gone through once, in the same order, so that memory does not grow with them.  The main
 * thread decides name by name; two more compare and copy files.  What is to be deleted is deleted at
 * the end, when all that takes its place is there. */

#include "cmd/kit/work.h"
#include "cmd/tree/local.h"
#include "cmd/tree/room.h"

#include "base/thread.h"

enum { ASH_SYNC_BUFFER_BYTES = 4 * 1024 * 1024 };

typedef enum ash_sync_change {
    ASH_SYNC_NEW,
    ASH_SYNC_CHANGED,
    ASH_SYNC_DELETED,
    ASH_SYNC_UNCHANGED,
    ASH_SYNC_HEALED, /* put: as it was, but the store had lost or damaged its bytes */
    ASH_SYNC_CHANGES /* how many kinds there are */
} ash_sync_change;

typedef struct ash_sync {
    ash_cmd_tree_run *r;
    bool delete, quick;
    char *folder; /* in the tree: "/a", "" for the root */
    const char *local;
    int root_fd; /* get: of the local folder; -1: none */
    ash_op op;   /* of each change: all of them are made durable at the end */
    ash_progress *progress;
    ash_work *work;
    char **doomed; /* names below the folder, to be deleted; for the main thread */
    size_t doomed_count, doomed_capacity;
    int64_t doomed_files; /* get: how many files go with them */
    bool incomplete;      /* not all that the tree has could be read */
    ash_mutex lock;       /* guards what follows */
    ash_cond changed;
    bool large_busy; /* a large file is being written, which takes memory: one at a time */
    bool hopeless;   /* what is left would fail the same way */
    int64_t counts[ASH_SYNC_CHANGES], failed, left_out, bytes;
    int first_status; /* exit code of the first failure */
} ash_sync;

void ash__sync_init(ash_sync *s, ash_cmd_tree_run *r, const char *local);
void ash__sync_release(ash_sync *s);
/* The path in the tree of a name below the folder; the caller frees. */
char *ash__sync_path(const ash_sync *s, const char *name);
/* Interrupted, or without hope? */
bool ash__sync_must_stop(ash_sync *s);
void ash__sync_failed(ash_sync *s, const char *what, const ash_error *err);
/* Counts and tells; entry (or NULL): as it is in the tree now. */
void ash__sync_did(ash_sync *s, ash_sync_change change, const char *name,
                   const ash_tree_entry *entry);
void ash__sync_count(ash_sync *s, ash_sync_change change, int64_t files, int64_t bytes);
/* So many entries of the tree could not be read, which was told. */
void ash__sync_damaged(ash_sync *s, int count);
/* The name, and all below it, is to be deleted at the end. */
void ash__sync_doom(ash_sync *s, const char *name);
/* A link, a device: told and counted. */
void ash__sync_left_out(ash_sync *s, const ash_local_entry *e);
/* One of these at a time. */
void ash__sync_large_begin(ash_sync *s);
void ash__sync_large_end(ash_sync *s);
/* The last line, and the exit status. */
int ash__sync_end(ash_sync *s);

/* ---- side by side (merge.c) ---- */

typedef struct ash_sync_pair {
    const char *name;
    const ash_tree_entry *there; /* NULL: not in the tree */
    const ash_local_entry *here; /* NULL: not in the local folder */
    bool skip;                   /* set by the visitor: all below the name is passed over … */
    int64_t *count;              /* … and its files are counted, unless this is NULL */
} ash_sync_pair;
/* 0, or a negative ASH_E… with err filled to stop. */
typedef int (*ash_sync_visit)(ash_sync *s, ash_sync_pair *pair, ash_error *err);
/* listing and local may be NULL: there is nothing. */
int ash__sync_merge(ash_sync *s, ash_tree_listing *listing, ash_local *local, ash_sync_visit visit,
                    ash_error *err);

/* ---- comparing (compare.c) ---- */

/* A local file that is being read. */
typedef struct ash_sync_file {
    int fd;
    const char *path;
    uint8_t *buf; /* ASH_SYNC_BUFFER_BYTES */
    size_t got;   /* in buf */
    bool whole;   /* that is all of the file, from its start */
} ash_sync_file;
int ash__sync_open(const char *path, ash_sync_file *f, ash_error *err); /* buf is set before */
void ash__sync_close(ash_sync_file *f);
/* As much as fits; got 0 at the end. */
int ash__sync_fill(ash_sync_file *f, ash_error *err);
/* Is the file, read from its start to its end, what has the digest? */
int ash__sync_same(ash_sync_file *f, const char *digest, bool *same, ash_error *err);

#endif
