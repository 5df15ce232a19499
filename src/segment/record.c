/* SPDX-License-Identifier: Apache-2.0 */
/* Writing, syncing and reading records.  Nothing of that happens under the lock: it is taken for
 * some instructions before and after, and what may change in between is looked at again. */
#include "segment/internal.h"

#include "base/bytes.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

enum {
    PAYLOAD_MAX = 16 * 1024 * 1024 + 16 * 1024,
    PARTS_MAX = 1000,            /* below every system's IOV_MAX */
    FLUSH_BYTES = 1024 * 1024,   /* write-back starts when this much is waiting in one segment */
    BUSY_BYTES = 4 * FLUSH_BYTES /* after so much more without a commit nobody waits for one */
};

static const uint8_t zeros[ASH_BLOCK_BYTES];

static int measure(const ash_record_draft *draft, size_t *len, ash_error *err)
{
    *len = 0;
    ash_assert(draft->count > 0 && draft->count <= PARTS_MAX);
    for (int i = 0; i < draft->count; i++) {
        /* Compared before it is added, so that the sum cannot overflow. */
        if (draft->parts[i].iov_len > PAYLOAD_MAX - *len)
            return ash__fail(err, ASH_ETOOBIG, "a record of more than %d bytes", PAYLOAD_MAX);
        *len += draft->parts[i].iov_len;
    }
    ash_assert(*len > 0);
    return 0;
}

/* Whole blocks are written, so that the kernel never has to read one first. */
static int write_blocks(int fd, const ash_placed *to, struct iovec head,
                        const ash_record_draft *draft, ash_error *err)
{
    size_t count = (size_t)draft->count;
    struct iovec *iov = ash__alloc_array(count + 2, sizeof *iov);
    size_t whole = (size_t)to->extent.blocks * ASH_BLOCK_BYTES;
    iov[0] = head;
    memcpy(iov + 1, draft->parts, count * sizeof *iov);
    iov[count + 1] = (struct iovec){(void *)(uintptr_t)zeros, whole - head.iov_len - to->len};
    off_t at = (off_t)to->extent.block * ASH_BLOCK_BYTES;
    int rc = ash__file_writev(fd, iov, draft->count + 2, at, err);
    ash__free(iov);
    return rc;
}

/* Whoever is the first to write behind what is reserved reserves more.  What the disk refuses here
 * it refuses the write.  Returns how many syncs had failed before it. */
static uint64_t reserve(ash_segments *s, int fd, ash_extent extent)
{
    uint32_t end = extent.block + extent.blocks;
    ash__mutex_lock(&s->lock);
    ash_segment *seg = ash__segment_find(s, extent.segment);
    uint32_t from = seg->reserved, to = from;
    /* Moved on under the lock, so that two writers do not reserve the same; whoever comes behind
     * may write before it is reserved, which does no harm. */
    if (end > from) {
        to = (end + ASH_RESERVE_BLOCKS - 1) / ASH_RESERVE_BLOCKS * ASH_RESERVE_BLOCKS;
        to = to < seg->blocks ? to : seg->blocks;
        seg->reserved = to;
    }
    uint64_t failures = seg->failures;
    ash__mutex_unlock(&s->lock);
    if (to > from)
        (void)ash__io()->fallocate(fd, (off_t)from * ASH_BLOCK_BYTES,
                                   (off_t)(to - from) * ASH_BLOCK_BYTES);
    return failures;
}

typedef struct file_range {
    uint64_t start, end;
} file_range;

/* Count a finished write; true when *next should now go to the disk, behind *before (empty: nobody
 * has to wait for that). */
static bool note_written(ash_segments *s, ash_placed *out, uint64_t failures, file_range *next,
                         file_range *before)
{
    uint64_t start = (uint64_t)out->extent.block * ASH_BLOCK_BYTES;
    uint64_t end = start + (uint64_t)out->extent.blocks * ASH_BLOCK_BYTES;
    ash__mutex_lock(&s->lock);
    ash_segment *seg = ash__segment_find(s, out->extent.segment);
    /* After the write, not before: a sync that begins now covers all numbers up to this one. */
    out->write_number = ++seg->written;
    if (seg->failures != failures)
        seg->failed = seg->written; /* the kernel may have dropped what there was of it */
    if (seg->unflushed == 0 || start < seg->flush_start)
        seg->flush_start = start;
    if (seg->unflushed == 0 || end > seg->flush_end)
        seg->flush_end = end;
    seg->unflushed += end - start;
    s->calm_bytes += end - start;
    *next = (file_range){seg->flush_start, seg->flush_end};
    *before = s->calm_bytes < BUSY_BYTES ? (file_range){seg->drain_start, seg->drain_end}
                                         : (file_range){0, 0};
    bool flush = seg->unflushed >= FLUSH_BYTES;
    if (flush) {
        seg->unflushed = 0;
        seg->drain_start = next->start;
        seg->drain_end = next->end;
    }
    ash__mutex_unlock(&s->lock);
    return flush;
}

/* Wait until nobody syncs the segment, then be the one who does.  false: there is nothing to do, or
 * (*lost) nothing to be done.  The kernel tells of a failure once: whoever synced beside the one
 * who was told would take what was dropped for durable. */
static bool begin_sync(ash_segments *s, const ash_placed *placed, uint64_t *reach, bool *lost)
{
    ash__mutex_lock(&s->lock);
    ash_segment *seg = ash__segment_find(s, placed->extent.segment);
    while (seg->syncing && placed->write_number > seg->synced)
        ash__cond_wait(&s->sync_ended, &s->lock);
    *lost = placed->write_number <= seg->failed;
    bool needed = !*lost && placed->write_number > seg->synced;
    if (needed)
        seg->syncing = true;
    /* Read before the sync begins: what is written while it runs may not be covered. */
    *reach = seg->written;
    ash__mutex_unlock(&s->lock);
    return needed;
}

static void end_sync(ash_segments *s, uint32_t segment, uint64_t reach, int rc)
{
    ash__mutex_lock(&s->lock);
    ash_segment *seg = ash__segment_find(s, segment);
    seg->syncing = false;
    if (rc == 0 && reach > seg->synced)
        seg->synced = reach;
    if (rc != 0) {
        /* All of it, also what was written since the sync began: nobody knows which pages the
         * kernel gave up. */
        seg->failed = seg->written;
        seg->failures++;
    }
    ash__cond_broadcast(&s->sync_ended);
    ash__mutex_unlock(&s->lock);
}

/* The disk takes one thing after the other, so a small commit would wait for all that was handed to
 * it: what was handed over before has to be there first.  While somebody syncs, it will be. */
static void write_back(ash_segments *s, uint32_t segment, int fd, file_range next,
                       file_range before)
{
    ash__io()->start_writeback(fd, (off_t)next.start, (off_t)(next.end - next.start));
    if (before.end == before.start)
        return;
    ash__mutex_lock(&s->lock);
    ash_segment *seg = ash__segment_find(s, segment);
    /* Waiting counts as a sync, since it may be the call that is told of a failure. */
    bool wait = !seg->syncing;
    seg->syncing = true;
    ash__mutex_unlock(&s->lock);
    if (wait)
        end_sync(s, segment, 0,
                 ash__io()->await_writeback(fd, (off_t)before.start,
                                            (off_t)(before.end - before.start)));
}

int ash__segments_write(ash_segments *s, const ash_record_draft *draft, ash_placed *out,
                        ash_error *err)
{
    uint8_t head[ASH_BLOCK_BYTES];
    file_range next, before;
    size_t len;
    int fd;
    int rc = measure(draft, &len, err);
    if (rc == 0)
        rc = ash__space_take(s, ash__segment_blocks_for(len), &out->extent, err);
    if (rc != 0)
        return rc;
    ash_layout layout = ash__layout_for((uint32_t)len);
    ash__record_head_make(head, &layout, draft, (uint32_t)len);
    out->len = (uint32_t)len;
    out->sequence = draft->sequence;
    rc = ash__segment_borrow_fd(s, out->extent.segment, &fd, err);
    if (rc == 0) {
        /* Before the write: a sync that fails between the two leaves it unknown which of them it
         * was about. */
        uint64_t failures = reserve(s, fd, out->extent);
        rc = write_blocks(fd, out, (struct iovec){head, layout.offset}, draft, err);
        if (rc != 0)
            ash__error_prefix(err, "segment %08x", (unsigned)out->extent.segment);
        else if (note_written(s, out, failures, &next, &before))
            write_back(s, out->extent.segment, fd, next, before);
        ash__segment_return_fd(s, out->extent.segment);
    }
    if (rc != 0)
        ash__segments_give(s, out->extent);
    return rc;
}

void ash__segments_note_commit(ash_segments *s)
{
    ash__mutex_lock(&s->lock);
    s->calm_bytes = 0;
    ash__mutex_unlock(&s->lock);
}

bool ash__segments_are_busy(ash_segments *s)
{
    ash__mutex_lock(&s->lock);
    bool busy = s->calm_bytes < BUSY_BYTES;
    ash__mutex_unlock(&s->lock);
    return busy;
}

int ash__segments_sync(ash_segments *s, const ash_placed *placed, ash_error *err)
{
    uint32_t segment = placed->extent.segment;
    uint64_t reach;
    bool lost;
    int fd = -1;
    bool needed = begin_sync(s, placed, &reach, &lost);
    if (lost)
        return ash__fail(err, ASH_EIO, "segment %08x could not be synced", (unsigned)segment);
    if (!needed)
        return 0;
    int rc = ash__segment_borrow_fd(s, segment, &fd, err);
    if (rc != 0) {
        /* Nothing was tried, so nothing is lost, and others may try. */
        end_sync(s, segment, 0, 0);
        return rc;
    }
    rc = ash__file_sync(fd, err);
    ash__segment_return_fd(s, segment);
    end_sync(s, segment, reach, rc);
    if (rc != 0)
        ash__error_prefix(err, "segment %08x", (unsigned)segment);
    return rc;
}

/* The segment's mapping, made if need be. */
static int mapping(ash_segments *s, uint32_t id, const uint8_t **base, uint32_t *blocks,
                   ash_error *err)
{
    ash__mutex_lock(&s->lock);
    ash_segment *seg = ash__segment_find(s, id);
    *base = seg != NULL ? seg->map_base : NULL;
    *blocks = seg != NULL ? seg->blocks : 0;
    ash__mutex_unlock(&s->lock);
    if (*base != NULL)
        return 0;
    if (seg == NULL)
        return ash__fail(err, ASH_ECORRUPT, "there is no segment %08x", (unsigned)id);
    uint32_t found = 0;
    const uint8_t *fresh = NULL;
    int rc = ash__segment_map(s, id, &fresh, &found, err);
    if (rc != 0)
        return rc;
    ash__mutex_lock(&s->lock);
    /* The segment is never taken out of the table, so the pointer from before is still good. */
    if (found != seg->blocks) {
        rc = ash__fail(err, ASH_ECORRUPT, "segment %08x has %u blocks, the metadata says %u",
                       (unsigned)id, (unsigned)found, (unsigned)seg->blocks);
    } else if (seg->map_base == NULL) {
        seg->map_base = fresh;
        fresh = NULL;
    }
    *base = seg->map_base;
    ash__mutex_unlock(&s->lock);
    if (fresh != NULL)
        /* Another thread was faster; its mapping is the one that views point into. */
        munmap((void *)(uintptr_t)fresh, (size_t)found * ASH_BLOCK_BYTES);
    return rc;
}

static int corrupt(uint32_t segment, uint32_t block, const char *what, ash_error *err)
{
    return ash__fail(err, ASH_ECORRUPT, "%s in segment %08x at offset %llu", what,
                     (unsigned)segment, (unsigned long long)block * ASH_BLOCK_BYTES);
}

/* Where the record lies in the mapping. */
static int find_record(ash_segments *s, const ash_place *place, const uint8_t **record,
                       ash_error *err)
{
    const uint8_t *base;
    uint32_t blocks;
    int rc = mapping(s, place->segment, &base, &blocks, err);
    if (rc != 0)
        return rc;
    /* The numbers are the metadata's, and nothing may be read outside the mapping. */
    uint32_t need = ash__segment_blocks_for(place->len);
    if (place->len == 0 || place->block == 0 || place->block >= blocks ||
        need > blocks - place->block)
        return corrupt(place->segment, place->block, "a pointer outside the file", err);
    *record = base + (size_t)place->block * ASH_BLOCK_BYTES;
    return 0;
}

int ash__segments_open_again(ash_segments *s, const ash_place *place, uint32_t piece,
                             ash_payload *out, ash_error *err)
{
    const uint8_t *record;
    int rc = find_record(s, place, &record, err);
    if (rc != 0)
        return rc;
    ash__record_open_again(record, place->len, piece, out);
    out->segment = place->segment;
    out->block = place->block;
    return 0;
}

typedef struct opening {
    const uint8_t *record;
    const ash_place *place;
    const uint32_t *coll_id;
    ash_payload *out;
    const char *wrong;
} opening;

static void open_mapped(void *ctx)
{
    opening *o = ctx;
    o->wrong = ash__record_open(o->record, o->place->len, o->out);
    if (o->wrong == NULL && (ash__get_le64(o->record + 8) != o->place->sequence ||
                             (o->coll_id != NULL && ash__get_le64(o->record + 16) != *o->coll_id)))
        o->wrong = "another record";
}

int ash__segments_open(ash_segments *s, const ash_place *place, const uint32_t *coll_id,
                       ash_payload *out, ash_error *err)
{
    const uint8_t *record;
    int rc = find_record(s, place, &record, err);
    if (rc != 0)
        return rc;
    opening o = {record, place, coll_id, out, NULL};
    /* A page that the disk cannot give back arrives as a signal. */
    if (!ash__fault_try(open_mapped, &o))
        o.wrong = "a page that cannot be read";
    if (o.wrong != NULL)
        return corrupt(place->segment, place->block, o.wrong, err);
    out->segment = place->segment;
    out->block = place->block;
    return 0;
}

typedef struct verifying {
    const ash_payload *payload;
    size_t *from, *to;
    bool holds;
} verifying;

static void verify_mapped(void *ctx)
{
    verifying *v = ctx;
    v->holds = ash__payload_holds(v->payload, v->from, v->to);
}

int ash__segments_verify(const ash_payload *payload, size_t *from, size_t *to, ash_error *err)
{
    verifying v = {payload, from, to, false};
    if (!ash__fault_try(verify_mapped, &v))
        return corrupt(payload->segment, payload->block, "a page that cannot be read", err);
    if (v.holds)
        return 0;
    return corrupt(payload->segment, payload->block, "a payload with a wrong checksum", err);
}

int ash__segments_read(ash_segments *s, const ash_place *place, uint32_t coll_id, bool verify,
                       const uint8_t **out, ash_error *err)
{
    ash_payload payload;
    size_t from = 0, to = place->len;
    int rc = ash__segments_open(s, place, &coll_id, &payload, err);
    if (rc == 0 && verify)
        rc = ash__segments_verify(&payload, &from, &to, err);
    if (rc == 0)
        *out = ash__payload_data(&payload);
    return rc;
}
