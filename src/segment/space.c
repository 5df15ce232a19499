/* SPDX-License-Identifier: Apache-2.0 */
/* Which blocks are free.  Two views are kept: the map of used blocks, as the metadata has it, and
 * the list of free spans, from which records are given places.  They differ by what is staged or
 * held: neither used nor free. */
#include "segment/internal.h"

#include "base/file.h"
#include "base/mem.h"

#include <string.h>

/* A young store has small segments: each new one is about as large as all before it together. */
enum { FIRST_SEGMENT_BLOCKS = 1024 };

static ash_segment *insert(ash_segments *s, uint32_t id, uint32_t blocks, uint32_t used)
{
    ash__mutex_assert_held(&s->lock);
    if (id > s->table_count) {
        s->table = ash__realloc_array(s->table, id, sizeof *s->table);
        /* Ids may have gaps: segments of a damaged store's metadata may be missing. */
        while (s->table_count < id)
            s->table[s->table_count++] = NULL;
    }
    ash_assert(s->table[id - 1] == NULL);
    ash_segment *seg = ash__new(ash_segment);
    seg->id = id;
    seg->blocks = blocks;
    seg->used = used;
    seg->reserved = blocks;
    seg->fd = -1;
    s->table[id - 1] = seg;
    return seg;
}

void ash__segments_add(ash_segments *s, uint32_t segment, uint32_t blocks, uint32_t used)
{
    ash__mutex_lock(&s->lock);
    insert(s, segment, blocks, used);
    ash__mutex_unlock(&s->lock);
}

static uint32_t slice_count(uint32_t blocks)
{
    return (blocks + ASH_SLICE_BLOCKS - 1) / ASH_SLICE_BLOCKS;
}

static bool is_used(const uint8_t *map, uint32_t block)
{
    return (map[block / 8] >> (block % 8) & 1) != 0;
}

/* First span that ends behind block. */
static uint32_t span_position(const ash_segment *seg, uint32_t block)
{
    uint32_t low = 0, high = seg->span_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (seg->spans[middle].block + seg->spans[middle].blocks <= block)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void span_insert(ash_segment *seg, uint32_t at, ash_span span)
{
    if (seg->span_count == seg->span_capacity) {
        seg->span_capacity = seg->span_capacity * 2 + 16;
        seg->spans = ash__realloc_array(seg->spans, seg->span_capacity, sizeof *seg->spans);
    }
    memmove(seg->spans + at + 1, seg->spans + at, (seg->span_count - at) * sizeof *seg->spans);
    seg->spans[at] = span;
    seg->span_count++;
}

static void span_remove(ash_segment *seg, uint32_t at)
{
    seg->span_count--;
    memmove(seg->spans + at, seg->spans + at + 1, (seg->span_count - at) * sizeof *seg->spans);
}

static void span_add(ash_segment *seg, uint32_t block, uint32_t blocks)
{
    uint32_t at = span_position(seg, block);
    /* Freed twice would be given away twice: two records in one place. */
    ash_assert(at == seg->span_count || seg->spans[at].block >= block + blocks);
    bool left = at > 0 && seg->spans[at - 1].block + seg->spans[at - 1].blocks == block;
    bool right = at < seg->span_count && seg->spans[at].block == block + blocks;
    if (left) {
        seg->spans[--at].blocks += blocks;
        if (right) {
            seg->spans[at].blocks += seg->spans[at + 1].blocks;
            span_remove(seg, at + 1);
        }
    } else if (right) {
        seg->spans[at].block = block;
        seg->spans[at].blocks += blocks;
    } else {
        span_insert(seg, at, (ash_span){block, blocks});
    }
    if (seg->spans[at].blocks > seg->largest)
        seg->largest = seg->spans[at].blocks;
}

/* Take over a map of used blocks: what it leaves out, but for the header, is free. */
static void install(ash_segment *seg, const uint8_t *map)
{
    uint32_t slices = slice_count(seg->blocks);
    seg->map = ash__alloc_array(slices, ASH_SLICE_BYTES);
    if (map != NULL)
        memcpy(seg->map, map, (size_t)slices * ASH_SLICE_BYTES);
    seg->dirty = ash__alloc_array(slices, 1);
    seg->loaded = true;
    uint32_t used = 0;
    /* One step beyond the end, which closes the last span. */
    for (uint32_t block = 1, start = 1; block <= seg->blocks; block++) {
        if (block < seg->blocks && !is_used(seg->map, block))
            continue;
        if (block > start)
            span_insert(seg, seg->span_count, (ash_span){start, block - start});
        if (block > start && block - start > seg->largest)
            seg->largest = block - start;
        used += block < seg->blocks;
        start = block + 1;
    }
    seg->used = used;
}

/* While a segment is not loaded nobody has changed it, so what was read outside the lock is still
 * true when nobody else installed it meanwhile. */
int ash__segment_load(ash_segments *s, uint32_t id, ash_error *err)
{
    ash__mutex_lock(&s->lock);
    ash_segment *seg = ash__segment_find(s, id);
    bool done = seg != NULL && seg->loaded;
    uint32_t blocks = seg != NULL ? seg->blocks : 0;
    ash__mutex_unlock(&s->lock);
    if (done)
        return 0;
    if (seg == NULL)
        return ash__fail(err, ASH_ECORRUPT, "there is no segment %08x", (unsigned)id);
    /* Fetched without the lock, below which the metadata's locks rank. */
    uint8_t *map = ash__alloc_array(slice_count(blocks), ASH_SLICE_BYTES);
    int rc = s->opts.load(s->opts.ctx, id, map, blocks, err);
    if (rc == 0) {
        ash__mutex_lock(&s->lock);
        if (!seg->loaded)
            install(seg, map);
        ash__mutex_unlock(&s->lock);
    }
    ash__free(map);
    return rc;
}

/* Index of the first span that is long enough; false: none is. */
static bool find_fit(ash_segment *seg, uint32_t blocks, uint32_t *at)
{
    uint32_t largest = 0;
    /* An upper bound that is exact after each search in vain: most segments of a full store are
     * passed over by it. */
    if (seg->largest < blocks)
        return false;
    for (*at = 0; *at < seg->span_count; ++*at) {
        uint32_t length = seg->spans[*at].blocks;
        if (length >= blocks)
            return true;
        largest = length > largest ? length : largest;
    }
    seg->largest = largest;
    return false;
}

static bool take_from(ash_segment *seg, uint32_t blocks, ash_extent *out)
{
    uint32_t at;
    if (!find_fit(seg, blocks, &at))
        return false;
    ash_span *span = &seg->spans[at];
    *out = (ash_extent){seg->id, span->block, blocks};
    span->block += blocks;
    span->blocks -= blocks;
    if (span->blocks == 0)
        span_remove(seg, at);
    return true;
}

/* Address order over all segments.  *load: a segment that may have room but is not loaded. */
static bool try_take(ash_segments *s, uint32_t blocks, ash_extent *out, uint32_t *load)
{
    *load = 0;
    ash__mutex_assert_held(&s->lock);
    for (uint32_t i = 0; i < s->table_count; i++) {
        ash_segment *seg = s->table[i];
        if (seg == NULL)
            continue;
        if (!seg->loaded) {
            /* Its free blocks may lie apart, so this may say yes in vain, but never no. */
            if (seg->blocks - 1 - seg->used < blocks)
                continue;
            *load = seg->id;
            return false;
        }
        if (take_from(seg, blocks, out)) {
            s->staged_blocks += blocks;
            return true;
        }
    }
    return false;
}

bool ash__segments_would_grow(ash_segments *s, size_t payload_bytes)
{
    uint32_t blocks = ash__segment_blocks_for(payload_bytes), at;
    /* Of unloaded segments the sum has to do: this is a guess, and is not worth reading a map. */
    bool grows = true, found = false;
    ash__mutex_lock(&s->lock);
    for (uint32_t i = 0; !found && i < s->table_count; i++) {
        ash_segment *seg = s->table[i];
        if (seg == NULL)
            continue;
        if (!seg->loaded) {
            found = seg->blocks - 1 - seg->used >= blocks;
            grows = !found;
        } else if (find_fit(seg, blocks, &at)) {
            found = true;
            grows = seg->spans[at].block + blocks > seg->reserved;
        }
    }
    ash__mutex_unlock(&s->lock);
    return grows;
}

static uint32_t next_size(const ash_segments *s, uint32_t need)
{
    uint64_t blocks = 0;
    uint64_t most = (uint64_t)s->opts.segment_bytes / ASH_BLOCK_BYTES;
    for (uint32_t i = 0; i < s->table_count; i++)
        blocks += s->table[i] != NULL ? s->table[i]->blocks : 0;
    if (blocks < FIRST_SEGMENT_BLOCKS)
        blocks = FIRST_SEGMENT_BLOCKS;
    if (blocks > most)
        blocks = most;
    /* One block more for the header. */
    return blocks < need + 1 ? need + 1 : (uint32_t)blocks;
}

/* Gives the lock up while the file is made.  Where what is being punched has room enough nothing is
 * made: the disk may be full. */
static int grow(ash_segments *s, uint32_t need, ash_error *err)
{
    ash__mutex_assert_held(&s->lock);
    if (s->growing || s->punching_blocks >= need) {
        ash__cond_wait(&s->grown, &s->lock);
        return 0;
    }
    /* Nobody else makes a segment meanwhile, so the id stays free. */
    uint32_t id = s->table_count + 1;
    uint32_t blocks = next_size(s, need);
    int fd = -1;
    s->growing = true;
    ash__mutex_unlock(&s->lock);
    int rc = ash__segment_create(s, id, blocks, &fd, err);
    /* On a disk that is nearly full a smaller one may still fit. */
    while (rc == ASH_ENOSPC && blocks > need + 1) {
        blocks = blocks / 4 > need + 1 ? blocks / 4 : need + 1;
        rc = ash__segment_create(s, id, blocks, &fd, err);
    }
    ash__mutex_lock(&s->lock);
    s->growing = false;
    if (rc == 0) {
        ash_segment *seg = insert(s, id, blocks, 0);
        install(seg, NULL);
        seg->is_new = true;
        seg->fd = fd;
        seg->reserved = blocks < ASH_RESERVE_BLOCKS ? blocks : ASH_RESERVE_BLOCKS;
        s->open_fds++;
        /* The next commit tells of the segment; a crash before that leaves a file that nobody
         * knows, and that is made anew. */
        seg->dirty_totals = true;
    }
    ash__cond_broadcast(&s->grown);
    return rc;
}

int ash__space_take(ash_segments *s, uint32_t blocks, ash_extent *out, ash_error *err)
{
    int rc = 0;
    uint32_t load;
    ash__mutex_lock(&s->lock);
    while (rc == 0 && !try_take(s, blocks, out, &load)) {
        if (load != 0) {
            ash__mutex_unlock(&s->lock);
            rc = ash__segment_load(s, load, err);
            ash__mutex_lock(&s->lock);
        } else {
            /* With 0 it may have waited only; the search begins anew in any case, as others may
             * have taken what there is. */
            rc = grow(s, blocks, err);
        }
    }
    ash__mutex_unlock(&s->lock);
    return rc;
}

void ash__space_free(ash_segments *s, ash_extent extent)
{
    ash_segment *seg = ash__segment_find(s, extent.segment);
    span_add(seg, extent.block, extent.blocks);
}

bool ash__space_take_from(ash_segment *seg, uint32_t from, uint32_t least, uint32_t most,
                          ash_extent *out)
{
    uint32_t at = span_position(seg, from);
    while (at < seg->span_count && seg->spans[at].blocks < least)
        at++;
    if (at == seg->span_count)
        return false;
    ash_span whole = seg->spans[at];
    uint32_t start = whole.block > from ? whole.block : from;
    uint32_t left = whole.block + whole.blocks - start;
    uint32_t blocks = left < most ? left : most;
    span_remove(seg, at);
    if (left > blocks)
        span_insert(seg, at, (ash_span){start + blocks, left - blocks});
    if (start > whole.block)
        span_insert(seg, at, (ash_span){whole.block, start - whole.block});
    *out = (ash_extent){seg->id, start, blocks};
    return true;
}

void ash__segments_give(ash_segments *s, ash_extent extent)
{
    ash__mutex_lock(&s->lock);
    s->staged_blocks -= extent.blocks;
    ash__space_free(s, extent);
    ash__mutex_unlock(&s->lock);
}

static void set_used(ash_segment *seg, ash_extent extent, bool used)
{
    for (uint32_t block = extent.block; block < extent.block + extent.blocks; block++) {
        /* Whoever marks or unmarks has looked: else two records would share the block. */
        ash_assert(is_used(seg->map, block) != used);
        seg->map[block / 8] ^= (uint8_t)(1u << (block % 8));
        seg->dirty[block / ASH_SLICE_BLOCKS] = 1;
    }
    seg->used = used ? seg->used + extent.blocks : seg->used - extent.blocks;
    seg->dirty_totals = true;
}

void ash__segments_mark(ash_segments *s, ash_extent extent)
{
    ash__mutex_lock(&s->lock);
    set_used(ash__segment_find(s, extent.segment), extent, true);
    s->staged_blocks -= extent.blocks;
    ash__mutex_unlock(&s->lock);
}

static bool all_used(const ash_segment *seg, ash_extent extent)
{
    /* The extent comes from a pointer in the metadata. */
    if (extent.block == 0 || extent.block >= seg->blocks ||
        extent.blocks > seg->blocks - extent.block)
        return false;
    for (uint32_t i = 0; i < extent.blocks; i++) {
        if (!is_used(seg->map, extent.block + i))
            return false;
    }
    return true;
}

int ash__segments_unmark(ash_segments *s, ash_extent extent, ash_error *err)
{
    int rc = ash__segment_load(s, extent.segment, err);
    if (rc != 0)
        return rc;
    ash__mutex_lock(&s->lock);
    ash_segment *seg = ash__segment_find(s, extent.segment);
    if (all_used(seg, extent)) {
        set_used(seg, extent, false);
        /* Not free yet: the last durable commit still points here. */
        s->staged_blocks += extent.blocks;
    } else {
        rc = ash__fail(err, ASH_ECORRUPT, "segment %08x, block %u: a record's space is free",
                       (unsigned)extent.segment, (unsigned)extent.block);
    }
    ash__mutex_unlock(&s->lock);
    return rc;
}

static int changes_of(ash_segment *seg,
                      int (*save)(void *ctx, const ash_segment_change *change, ash_error *err),
                      void *ctx, ash_error *err)
{
    int rc = 0;
    /* A segment that is made while the commit goes on is not among those that it saves. */
    seg->saving = true;
    ash_segment_change change = {seg->id, seg->blocks, seg->used, UINT32_MAX, NULL};
    if (seg->dirty_totals)
        rc = save(ctx, &change, err);
    for (uint32_t i = 0; rc == 0 && seg->loaded && i < slice_count(seg->blocks); i++) {
        change.slice = i;
        change.map = seg->map + (size_t)i * ASH_SLICE_BYTES;
        if (seg->dirty[i])
            rc = save(ctx, &change, err);
    }
    return rc;
}

int ash__segments_changes(ash_segments *s,
                          int (*save)(void *ctx, const ash_segment_change *change, ash_error *err),
                          void *ctx, ash_error *err)
{
    int rc = 0;
    ash__mutex_lock(&s->lock);
    for (uint32_t i = 0; rc == 0 && i < s->table_count; i++) {
        if (s->table[i] != NULL)
            rc = changes_of(s->table[i], save, ctx, err);
    }
    ash__mutex_unlock(&s->lock);
    return rc;
}

/* A segment made since then stays dirty. */
void ash__segments_saved(ash_segments *s)
{
    ash__mutex_lock(&s->lock);
    for (uint32_t i = 0; i < s->table_count; i++) {
        ash_segment *seg = s->table[i];
        if (seg == NULL || !seg->saving)
            continue;
        seg->saving = false;
        seg->dirty_totals = false;
        if (seg->loaded)
            memset(seg->dirty, 0, slice_count(seg->blocks));
    }
    ash__mutex_unlock(&s->lock);
}
