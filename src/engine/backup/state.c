/* SPDX-License-Identifier: Apache-2.0 */
/* The file `ashlar.copied` of a finished copy (docs/FORMAT.md):
 *
 *   0  8  "ASHCOPY1"
 *   8 16  the store's id
 *  24  8  number of the commit that was copied
 *  32  8  number of the copy's own newest commit
 *  40  8  time of the newest entry of the change log; 0: there was none
 *  48  8  XXH3-64 of that entry
 *  56  4  segments that follow
 *  60  4  0
 *  64  …  each: id 4, blocks 4, a bit a block (the lowest first, padded to 8 bytes): a record that
 *         was written, or found whole, begins here
 *   …  8  XXH3-64 of all before */
#include "engine/backup/internal.h"

#include "base/file.h"
#include "base/mem.h"

#include <string.h>

enum { HEAD = 64, ID_BYTES = 16, SEGMENT_HEAD = 8, FILE_MAX = 1 << 30, SEGMENT_IDS_MAX = 1 << 24 };
static const char magic[8] = {'A', 'S', 'H', 'C', 'O', 'P', 'Y', '1'};

static size_t map_bytes(uint32_t blocks)
{
    return ((size_t)blocks + 63) / 64 * 8;
}

static bool bit(const uint8_t *map, uint32_t i)
{
    return (map[i / 8] >> (i % 8) & 1) != 0;
}

ash_backup_segment *ash__backup_segment(ash_backup *b, uint32_t id)
{
    if (id >= b->segment_count) {
        uint32_t count = id + 64;
        b->list = ash__realloc_array(b->list, count, sizeof *b->list);
        memset(b->list + b->segment_count, 0, (count - b->segment_count) * sizeof *b->list);
        b->segment_count = count;
    }
    return &b->list[id];
}

/* ---- what the last backup left ---- */

static bool take_segments(ash_backup *b, uint32_t count)
{
    size_t at = HEAD, end = b->state_len - ASH_SUM_BYTES;
    for (uint32_t i = 0; i < count; i++) {
        if (end - at < SEGMENT_HEAD)
            return false;
        uint32_t id = ash__get_le32(b->state + at), blocks = ash__get_le32(b->state + at + 4);
        at += SEGMENT_HEAD;
        /* The checksum was right; all the same a list as long as the file says is made only within
         * limits. */
        if (id == 0 || id > SEGMENT_IDS_MAX || end - at < map_bytes(blocks))
            return false;
        ash_backup_segment *s = ash__backup_segment(b, id);
        s->old_blocks = blocks;
        s->old = b->state + at;
        at += map_bytes(blocks);
    }
    return at == end;
}

static bool take_state(ash_backup *b)
{
    if (b->state_len < HEAD + ASH_SUM_BYTES || memcmp(b->state, magic, 8) != 0 ||
        memcmp(b->state + 8, b->engine->store_id, ID_BYTES) != 0)
        return false;
    size_t sum_at = b->state_len - ASH_SUM_BYTES;
    if (ash__get_le64(b->state + sum_at) != ash__checksum(b->state, sum_at))
        return false;
    b->last_commit = ash__get_le64(b->state + 24);
    b->last_own = ash__get_le64(b->state + 32);
    b->last_log.time = ash__get_le64(b->state + 40);
    b->last_log.sum = ash__get_le64(b->state + 48);
    return take_segments(b, ash__get_le32(b->state + 56));
}

int ash__backup_load_state(ash_backup *b, bool *found, ash_error *err)
{
    ash_error own = ASH_ERROR_INIT;
    char *path = ash__path_join(b->folder, ASH_BACKUP_STATE);
    int rc = ash__file_load(path, FILE_MAX, &b->state, &b->state_len, &own);
    ash__free(path);
    /* Damaged notes are none: everything is compared then. */
    *found = rc == 0 && take_state(b);
    return ash__unless(ASH_ENOTFOUND, rc, &own, err);
}

bool ash__backup_had(const ash_backup *b, uint32_t id, uint32_t block)
{
    const ash_backup_segment *s = id < b->segment_count ? &b->list[id] : NULL;
    return b->trusts && s != NULL && s->old != NULL && block < s->old_blocks && bit(s->old, block);
}

/* ---- what this one leaves ---- */

void ash__backup_note(ash_backup *b, uint32_t id, uint32_t block)
{
    ash_backup_segment *s = ash__backup_segment(b, id);
    if (s->now != NULL && block < s->blocks)
        s->now[block / 8] = (uint8_t)(s->now[block / 8] | 1u << (block % 8));
}

static size_t state_bytes(const ash_backup *b)
{
    size_t len = HEAD + ASH_SUM_BYTES;
    for (uint32_t id = 1; id < b->segment_count; id++)
        len += b->list[id].now != NULL ? SEGMENT_HEAD + map_bytes(b->list[id].blocks) : 0;
    return len;
}

int ash__backup_save_state(const ash_backup *b, bool trusted, ash_error *err)
{
    size_t len = trusted ? state_bytes(b) : HEAD + ASH_SUM_BYTES, at = HEAD;
    uint64_t own = 0;
    uint32_t count = 0;
    /* By it the next backup knows whether the copy was changed since. */
    int rc = ash__backup_target_commit(b, &own, err);
    if (rc != 0)
        return rc;
    uint8_t *state = ash__alloc(len);
    for (uint32_t id = 1; trusted && id < b->segment_count; id++) {
        const ash_backup_segment *s = &b->list[id];
        if (s->now == NULL)
            continue;
        ash__put_le32(state + at, id);
        ash__put_le32(state + at + 4, s->blocks);
        memcpy(state + at + SEGMENT_HEAD, s->now, map_bytes(s->blocks));
        at += SEGMENT_HEAD + map_bytes(s->blocks);
        count++;
    }
    memcpy(state, magic, 8);
    memcpy(state + 8, b->engine->store_id, ID_BYTES);
    ash__put_le64(state + 24, b->commit);
    ash__put_le64(state + 32, own);
    ash__put_le64(state + 40, b->log.time);
    ash__put_le64(state + 48, b->log.sum);
    ash__put_le32(state + 56, count);
    ash__put_le64(state + at, ash__checksum(state, at));
    char *path = ash__path_join(b->folder, ASH_BACKUP_STATE);
    rc = ash__file_replace(path, state, len, err);
    ash__free(path);
    ash__free(state);
    return rc;
}

void ash__backup_start_segment(ash_backup *b, uint32_t id, uint32_t blocks)
{
    ash_backup_segment *s = ash__backup_segment(b, id);
    ash__free(s->now);
    s->blocks = blocks;
    s->now = ash__alloc(map_bytes(blocks) + 1); /* zeros */
}

void ash__backup_release_state(ash_backup *b)
{
    for (uint32_t id = 0; id < b->segment_count; id++)
        ash__free(b->list[id].now);
    ash__free(b->list);
    ash__free(b->state);
}
