/* SPDX-License-Identifier: Apache-2.0 */
#include "segment/internal.h"

#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <sys/stat.h>

/* Only what is in the free list is punched: every block there may be overwritten at once (see the
 * states in segment.h), and to whoever should look at it all the same, zeros are no worse than
 * another record.  No durable state points there, since a commit's extents come to the list when
 * it is durable, those of one whose fate is not known never (engine/batch.c); no snapshot and no
 * backup, since extents are held until none of them is older than that commit; no pin, since
 * a pinned extent waits for its last one.
 *
 * A piece leaves the list while it is punched, lest somebody write into it.  While the kernel is
 * at it, writes to the file and its page faults wait, and so does a writer for whom there is no
 * other room: for a piece of this size 50 ms were measured on a busy machine. */
enum { PIECE_BLOCKS = (64 << 20) / ASH_BLOCK_BYTES, STAT_BLOCK_BYTES = 512 };

static uint64_t taken_by(const struct stat *st)
{
    return (uint64_t)st->st_blocks * STAT_BLOCK_BYTES;
}

static uint32_t count_segments(ash_segments *s)
{
    ash__mutex_lock(&s->lock);
    uint32_t count = s->table_count;
    ash__mutex_unlock(&s->lock);
    return count;
}

static bool is_there(ash_segments *s, uint32_t id)
{
    ash__mutex_lock(&s->lock);
    bool there = ash__segment_find(s, id) != NULL;
    ash__mutex_unlock(&s->lock);
    return there;
}

static bool is_among(const ash_segment *seg, enum ash_segments_which which)
{
    return seg != NULL && (which == ASH_SEGMENTS_ALL ||
                           (which == ASH_SEGMENTS_USED && seg->loaded) || seg->is_new);
}

/* Can the segment have a free span of that length?  Most are known without their map. */
static bool may_have_span(ash_segments *s, uint32_t id, const ash_punch_options *opts)
{
    uint32_t blocks = opts->least_blocks;
    ash__mutex_lock(&s->lock);
    const ash_segment *seg = ash__segment_find(s, id);
    bool may = is_among(seg, opts->which) &&
               (seg->loaded ? seg->largest >= blocks : seg->blocks - 1 - seg->used >= blocks);
    ash__mutex_unlock(&s->lock);
    return may;
}

static bool take_piece(ash_segments *s, uint32_t id, uint32_t from, uint32_t least, ash_extent *out)
{
    ash__mutex_lock(&s->lock);
    bool taken = ash__space_take_from(ash__segment_find(s, id), from, least, PIECE_BLOCKS, out);
    if (taken)
        s->punching_blocks += out->blocks;
    ash__mutex_unlock(&s->lock);
    return taken;
}

static void give_piece(ash_segments *s, ash_extent piece)
{
    ash__mutex_lock(&s->lock);
    s->punching_blocks -= piece.blocks;
    ash__space_free(s, piece);
    ash__cond_broadcast(&s->grown);
    ash__mutex_unlock(&s->lock);
}

/* What others write into the file meanwhile counts against what was freed, so it is looked at
 * around each piece. */
static int punch_piece(int fd, ash_extent piece, uint64_t *freed, ash_error *err)
{
    struct stat before, after;
    off_t at = (off_t)piece.block * ASH_BLOCK_BYTES, len = (off_t)piece.blocks * ASH_BLOCK_BYTES;
    bool known = fstat(fd, &before) == 0;
    if (ash__io()->punch(fd, at, len) != 0)
        return ash__fail_errno(err, errno, "cannot punch segment %08x", (unsigned)piece.segment);
    if (known && fstat(fd, &after) == 0 && taken_by(&after) < taken_by(&before))
        *freed += taken_by(&before) - taken_by(&after);
    return 0;
}

static bool goes_on(const ash_punch_options *opts)
{
    return opts->go_on == NULL || opts->go_on(opts->ctx);
}

static int punch_segment(ash_segments *s, uint32_t id, const ash_punch_options *opts,
                         uint64_t *freed, ash_error *err)
{
    ash_extent piece;
    uint32_t from = 1;
    int fd = -1;
    if (!may_have_span(s, id, opts))
        return 0;
    int rc = ash__segment_load(s, id, err);
    if (rc != 0)
        return rc;
    ash__mutex_lock(&s->lock);
    ash_segment *seg = ash__segment_find(s, id);
    ash__mutex_unlock(&s->lock);
    rc = ash__segment_open_fd(s, seg, &fd, err);
    while (rc == 0 && goes_on(opts) && take_piece(s, id, from, opts->least_blocks, &piece)) {
        rc = punch_piece(fd, piece, freed, err);
        give_piece(s, piece);
        /* On from here, whatever became of what lies before: a piece that was punched is free again
         * and would be found again. */
        from = piece.block + piece.blocks;
    }
    ash__file_close(fd);
    return rc;
}

int ash__segments_punch(ash_segments *s, const ash_punch_options *opts, uint64_t *freed_bytes,
                        ash_error *err)
{
    int rc = 0;
    uint32_t count = count_segments(s);
    *freed_bytes = 0;
    for (uint32_t id = 1; rc == 0 && id <= count && goes_on(opts); id++)
        rc = punch_segment(s, id, opts, freed_bytes, err);
    return rc;
}

/* What is not free of the segment, its header with it; false: it is none of those. */
static bool count_kept(ash_segments *s, uint32_t id, enum ash_segments_which which, uint64_t *bytes)
{
    uint64_t blocks = 0;
    ash__mutex_lock(&s->lock);
    const ash_segment *seg = ash__segment_find(s, id);
    bool among = is_among(seg, which);
    if (among) {
        blocks = seg->loaded ? seg->blocks : seg->used + 1;
        for (uint32_t i = 0; i < seg->span_count; i++)
            blocks -= seg->spans[i].blocks;
    }
    ash__mutex_unlock(&s->lock);
    *bytes = blocks * ASH_BLOCK_BYTES;
    return among;
}

uint64_t ash__segments_idle(ash_segments *s, enum ash_segments_which which)
{
    uint64_t idle = 0, kept;
    uint32_t count = count_segments(s);
    for (uint32_t id = 1; id <= count; id++) {
        struct stat st;
        if (!count_kept(s, id, which, &kept))
            continue;
        char *path = ash__segment_path(s, id);
        if (stat(path, &st) == 0 && taken_by(&st) > kept)
            idle += taken_by(&st) - kept;
        ash__free(path);
    }
    return idle;
}

int ash__segments_taken(ash_segments *s, uint64_t *bytes, ash_error *err)
{
    int rc = 0;
    uint32_t count = count_segments(s);
    *bytes = 0;
    for (uint32_t id = 1; rc == 0 && id <= count; id++) {
        struct stat st;
        if (!is_there(s, id))
            continue;
        char *path = ash__segment_path(s, id);
        if (stat(path, &st) == 0)
            /* By name, as the files need not be open for it. */
            *bytes += taken_by(&st);
        else
            rc = ash__fail_errno(err, errno, "cannot stat segment %08x", (unsigned)id);
        ash__free(path);
    }
    return rc;
}
