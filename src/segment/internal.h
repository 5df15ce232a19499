/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_SEGMENT_INTERNAL_H
#define ASH_SEGMENT_INTERNAL_H

#include "base/thread.h"
#include "segment/segment.h"

typedef struct ash_span {
    uint32_t block;
    uint32_t blocks;
} ash_span;

typedef struct ash_segment {
    uint32_t id;
    uint32_t blocks;         /* of the file, its header block included */
    uint32_t used;           /* bits set in map (kept also while the map is not loaded) */
    uint32_t reserved;       /* blocks that have their place on the disk, when this run made it */
    int fd;                  /* -1: not open for writing */
    uint32_t users;          /* threads that use fd */
    const uint8_t *map_base; /* NULL: not mapped */

    /* Loaded on demand. */
    bool loaded;
    bool is_new;       /* this run made it: what is free in it no other run ever used */
    uint8_t *map;      /* used blocks */
    uint8_t *dirty;    /* one byte a slice: changed since the last commit */
    bool dirty_totals; /* `used` changed, or the segment is new */
    bool saving;       /* handed to the commit that is under way */
    ash_span *spans;   /* free, by address, never touching */
    uint32_t span_count;
    uint32_t span_capacity;
    uint32_t largest; /* no free span is longer */

    uint64_t written;     /* records written so far */
    uint64_t synced;      /* of them durable */
    bool syncing;         /* one thread is at it */
    uint64_t failed;      /* of them of unknown fate: a sync failed after they were written */
    uint64_t failures;    /* syncs and waits that failed */
    uint64_t unflushed;   /* bytes written since write-back was last started … */
    uint64_t flush_start; /* … all within this range */
    uint64_t flush_end;
    uint64_t drain_start; /* write-back was last started for this range */
    uint64_t drain_end;
} ash_segment;

typedef struct ash_hold {
    ash_extent extent;
    uint64_t txn;
} ash_hold;

typedef struct ash_pin {
    struct ash_pin *next;
    uint64_t key; /* segment << 32 | block */
    uint32_t refs;
    uint32_t waiting_blocks; /* length of the extent to free with the last pin, or 0 */
} ash_pin;

struct ash_segments {
    ash_segments_options opts;
    char *folder;
    ash_mutex lock;           /* guards all below */
    ash_cond grown;           /* also: a piece is punched */
    bool growing;             /* one thread is making a new segment */
    uint64_t punching_blocks; /* free, but out of the list while they are punched */
    ash_cond sync_ended;      /* of any segment */
    ash_segment **table;      /* by id - 1; NULL where there is none */
    uint32_t table_count;
    uint32_t open_fds; /* for writing */
    uint64_t staged_blocks;
    uint64_t calm_bytes; /* written since the last commit */
    ash_hold *holds;     /* oldest first, from hold_first on */
    size_t hold_first, hold_count, hold_capacity;
    ash_pin **pins;      /* chains by hash of the key */
    uint64_t pin_chains; /* a power of two, no fewer than pins; 0 before the first */
    uint64_t pin_count;
    uint64_t waiting_blocks; /* held by pins alone */
};

/* A new segment gets its place on the disk this much at a time, so that a small store is not half
 * empty, and large ones are laid out in long runs all the same. */
enum { ASH_RESERVE_BLOCKS = 2048 };

/* file.c */
char *ash__segment_path(const ash_segments *s, uint32_t id);
int ash__segment_create(ash_segments *s, uint32_t id, uint32_t blocks, int *fd, ash_error *err);
int ash__segment_open_fd(ash_segments *s, ash_segment *seg, int *fd, ash_error *err);
/* The descriptor for writing and syncing, kept open until it is given back. */
int ash__segment_borrow_fd(ash_segments *s, uint32_t id, int *fd, ash_error *err);
void ash__segment_return_fd(ash_segments *s, uint32_t id);
int ash__segment_map(ash_segments *s, uint32_t id, const uint8_t **base, uint32_t *blocks,
                     ash_error *err);
ash_segment *ash__segment_find(ash_segments *s, uint32_t id); /* with the lock held */

/* space.c; with the lock held unless it says otherwise */
int ash__segment_load(ash_segments *s, uint32_t id, ash_error *err); /* unlocked */
int ash__space_take(ash_segments *s, uint32_t blocks, ash_extent *out,
                    ash_error *err); /* unlocked */
void ash__space_free(ash_segments *s, ash_extent extent);
/* Of the first free span of at least `least` blocks that reaches behind `from`: what lies there, at
 * most `most` blocks. */
bool ash__space_take_from(ash_segment *seg, uint32_t from, uint32_t least, uint32_t most,
                          ash_extent *out);

#endif
