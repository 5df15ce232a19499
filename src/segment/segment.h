/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_SEGMENT_SEGMENT_H
#define ASH_SEGMENT_SEGMENT_H

/* All segment files of a store: where payloads are written, synced, read and where space is free.
 *
 * The bytes are those of segment/format.h.  Which blocks are in use is decided by the metadata, not
 * here: the owner adds every segment at open, and a segment's map of used blocks is fetched through
 * `load` the first time it matters.  A block is in one of four states:
 *
 *            write                 mark                  unmark, hold
 *     free ---------> staged ------------------> used -----------------> held
 *      ^   <---------          <------------------       <------------    |
 *      |     give                undo: unmark, give        undo: mark     |
 *      +------------------------------------------------------------------+
 *                 reap: no reader is older than the hold, nothing pins it
 *
 * Only `used` is persistent (as a bit in the map), so that a crash leaves free blocks behind.
 *
 * Threads: every function may be called from any thread, except those under "the writer's", which
 * belong to one thread.  One mutex (rank SEGMENT) guards the whole state; files are read, written,
 * synced and mapped outside it. */

#include <sys/uio.h>

#include "base/error.h"
#include "segment/layout.h"

#include <stdbool.h>

typedef struct ash_segments ash_segments;

typedef struct ash_extent {
    uint32_t segment;
    uint32_t block;
    uint32_t blocks;
} ash_extent;

/* A record that was written but that nothing points at yet. */
typedef struct ash_placed {
    ash_extent extent;
    uint32_t len; /* of the payload */
    uint64_t sequence;
    uint64_t write_number; /* of its segment: what a sync has to reach */
} ash_placed;

typedef struct ash_segments_options {
    const char *folder; /* of the segment files; copied */
    uint8_t store_id[16];
    int64_t segment_bytes; /* size of a full-grown segment */
    int64_t spare_bytes;   /* a new segment leaves at least this much of the disk free */
    bool read_only;
    /* Fill the map (one bit a block, least significant first, zeroed before) of used blocks.
     * Called without locks, on any thread. */
    int (*load)(void *ctx, uint32_t segment, uint8_t *map, uint32_t blocks, ash_error *err);
    /* Asked before a file is made and after one was opened, so that a folder that came to stand
     * under the name is not taken for the store's; or NULL. */
    int (*require)(void *ctx, ash_error *err);
    void *ctx; /* of both */
} ash_segments_options;

ash_segments *ash__segments_new(const ash_segments_options *opts);
void ash__segments_free(ash_segments *s); /* closes files; syncs nothing */
/* A segment that the metadata knows. */
void ash__segments_add(ash_segments *s, uint32_t segment, uint32_t blocks, uint32_t used);

/* Write one record into free space: header, the payload in parts, zeros up to the block's end.  Not
 * durable.  ASH_ETOOBIG, ASH_ENOSPC, ASH_EIO; then the space is free again. */
int ash__segments_write(ash_segments *s, const ash_record_draft *draft, ash_placed *out,
                        ash_error *err);
void ash__segments_give(ash_segments *s, ash_extent extent); /* staged -> free */
/* Would such a record take blocks of the disk that no record had? */
bool ash__segments_would_grow(ash_segments *s, size_t payload_bytes);

/* A commit goes to the disk, and more may: for a while, those who write records wait until what
 * they wrote before is there, so that commits find a short queue. */
void ash__segments_note_commit(ash_segments *s);
bool ash__segments_are_busy(ash_segments *s); /* for that while */

/* Make a placed record durable.  ASH_EIO also when an earlier sync failed after it was written:
 * the kernel may have dropped its pages. */
int ash__segments_sync(ash_segments *s, const ash_placed *placed, ash_error *err);

typedef struct ash_place {
    uint32_t segment;
    uint32_t block;
    uint32_t len;
    uint64_t sequence;
} ash_place;
/* The payload inside the mapping, valid while the record's extent is not reused.  The header is
 * always verified against the place and the collection; verify: the payload against its checksum
 * too.  ASH_ECORRUPT names segment and offset. */
int ash__segments_read(ash_segments *s, const ash_place *place, uint32_t coll_id, bool verify,
                       const uint8_t **out, ash_error *err);
/* The same for a reader who may know the place but not the collection (NULL; the sequence tells
 * records apart), and who verifies just the bytes that are looked at: *from .. *to, which are
 * widened to what was verified. */
int ash__segments_open(ash_segments *s, const ash_place *place, const uint32_t *coll_id,
                       ash_payload *out, ash_error *err);
/* The same of a record that was opened before and pinned since: its header and its table of
 * checksums were verified then.  piece: its layout's. */
int ash__segments_open_again(ash_segments *s, const ash_place *place, uint32_t piece,
                             ash_payload *out, ash_error *err);
int ash__segments_verify(const ash_payload *payload, size_t *from, size_t *to, ash_error *err);

/* Pins, counted, by a record's first block: a held record is not reaped while it is pinned. */
void ash__segments_pin(ash_segments *s, uint32_t segment, uint32_t block);
void ash__segments_unpin(ash_segments *s, uint32_t segment, uint32_t block);

/* ---- the writer's ---- */

void ash__segments_mark(ash_segments *s, ash_extent extent); /* staged -> used */
/* used -> held by nobody yet.  Loads the map when needed. */
int ash__segments_unmark(ash_segments *s, ash_extent extent, ash_error *err);
/* The commit with this transaction id, which freed the extent, is durable. */
void ash__segments_hold(ash_segments *s, ash_extent extent, uint64_t txn);
/* Free what no reader with a transaction id below its hold can see.  oldest: no reader that is or
 * comes has a lower one. */
void ash__segments_reap(ash_segments *s, uint64_t oldest);

/* What changed in the maps since the last ash__segments_saved(), for the coming commit. */
typedef struct ash_segment_change {
    uint32_t segment;
    uint32_t blocks;
    uint32_t used;
    uint32_t slice;     /* index of the slice, or UINT32_MAX: the segment itself (blocks, used) */
    const uint8_t *map; /* ASH_SLICE_BYTES */
} ash_segment_change;
#define ASH_SLICE_BLOCKS 8192
#define ASH_SLICE_BYTES  (ASH_SLICE_BLOCKS / 8)
int ash__segments_changes(ash_segments *s,
                          int (*save)(void *ctx, const ash_segment_change *change, ash_error *err),
                          void *ctx, ash_error *err);
void ash__segments_saved(ash_segments *s);

/* ---- care ---- */

typedef struct ash_segments_stats {
    uint64_t files, blocks, used, free, held, staged, pins;
} ash_segments_stats;
void ash__segments_stats(ash_segments *s, ash_segments_stats *out);

/* Of which segments something is asked, or done. */
enum ash_segments_which {
    ASH_SEGMENTS_ALL,
    ASH_SEGMENTS_USED, /* in which this run wrote or freed something, or looked for room */
    ASH_SEGMENTS_MADE  /* by this run */
};
/* Punch free extents out of the files, of which they then take no place on the disk.  Anybody may
 * write meanwhile.  *freed_bytes: what the file system gave back, also after a failure, which
 * leaves everything as it is but for holes. */
typedef struct ash_punch_options {
    enum ash_segments_which which;
    uint32_t least_blocks;    /* shorter free spans are left alone */
    bool (*go_on)(void *ctx); /* asked between pieces; false ends it, well.  NULL: to the end */
    void *ctx;
} ash_punch_options;
int ash__segments_punch(ash_segments *s, const ash_punch_options *opts, uint64_t *freed_bytes,
                        ash_error *err);
/* How much they take on the disk for blocks that are free.  Of files that cannot be looked at: 0. */
uint64_t ash__segments_idle(ash_segments *s, enum ash_segments_which which);
/* What the files take on the disk. */
int ash__segments_taken(ash_segments *s, uint64_t *bytes, ash_error *err);

/* Around fork(): the child may then read. */
void ash__segments_lock(ash_segments *s);
void ash__segments_unlock(ash_segments *s);

/* Verify a segment's file: size and header. */
int ash__segments_check_file(ash_segments *s, uint32_t segment, ash_error *err);

#endif
