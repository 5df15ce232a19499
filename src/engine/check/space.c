/* SPDX-License-Identifier: Apache-2.0 */
/* 6: the block maps say exactly which blocks records own; 12: the segments' files. */
#include "engine/check/internal.h"

#include "base/mem.h"

#include <string.h>

static bool segment_row(ash_check *k, uint32_t id, uint32_t *blocks, uint32_t *used)
{
    uint8_t key[4];
    MDB_val value;
    bool found;
    ash__put_be32(key, id);
    if (ash__row_get(k->snap, ASH_DB_SPACE, ash__bytes(key, sizeof key), &value, &found, NULL) !=
            0 ||
        !found || value.mv_size != 8)
        return false;
    *blocks = ash__get_le32(value.mv_data);
    *used = ash__get_le32((const uint8_t *)value.mv_data + 4);
    return true;
}

static size_t map_bytes(uint32_t blocks)
{
    return ((size_t)blocks + ASH_SLICE_BLOCKS - 1) / ASH_SLICE_BLOCKS * ASH_SLICE_BYTES;
}

bool ash__check_own(ash_check *k, const ash_pointer *place)
{
    uint32_t blocks, used;
    uint32_t need = ash__segment_blocks_for(place->len);
    bool alone = true;
    if (!segment_row(k, place->segment, &blocks, &used) || place->block >= blocks ||
        need > blocks - place->block)
        return true; /* reading it reports this */
    if (place->segment >= k->owned_count) {
        uint32_t count = place->segment + 16;
        k->owned = ash__realloc_array(k->owned, count, sizeof *k->owned);
        memset(k->owned + k->owned_count, 0, (count - k->owned_count) * sizeof *k->owned);
        k->owned_count = count;
    }
    uint8_t **map = &k->owned[place->segment];
    if (*map == NULL)
        *map = ash__alloc(map_bytes(blocks));
    for (uint32_t i = place->block; i < place->block + need; i++) {
        /* XX
         */
        alone = alone && ((*map)[i / 8] >> (i % 8) & 1) == 0;
        (*map)[i / 8] |= (uint8_t)(1u << (i % 8));
    }
    return alone;
}

static ash_builder *space_facts(uint32_t segment, uint64_t offset)
{
    ash_builder *facts = ash__check_facts();
    ash__builder_int64(facts, "segment", segment);
    ash__builder_int64(facts, "offset", (int64_t)offset);
    return facts;
}

/* Compare maps block by block and report each run of differences once. */
static void compare_maps(ash_check *k, uint32_t id, uint32_t blocks, const uint8_t *stored,
                         const uint8_t *owned)
{
    int run = 0;
    for (uint32_t i = 0; i < blocks; i++) {
        int in_map = stored[i / 8] >> (i % 8) & 1;
        int has_owner = owned != NULL ? owned[i / 8] >> (i % 8) & 1 : 0;
        int difference = in_map - has_owner;
        if (difference != 0 && difference != run)
            ash__check_found(k, 6, "space", space_facts(id, (uint64_t)i * ASH_BLOCK_BYTES),
                             difference > 0
                                 ? "segment %08x: blocks from offset %llu on are lost to nobody"
                                 : "segment %08x: blocks from offset %llu on are in use, but free "
                                   "in the map",
                             (unsigned)id, (unsigned long long)i * ASH_BLOCK_BYTES);
        /* A lost extent is one finding, not one for each of its blocks. */
        run = difference;
    }
}

static int check_segment(ash_check *k, uint32_t id, uint32_t blocks, uint32_t used, ash_error *err)
{
    ash_error why = ASH_ERROR_INIT;
    uint32_t bits = 0;
    uint8_t *map = ash__alloc(map_bytes(blocks));
    int rc = ash__space_read(k->snap, id, map, blocks, err);
    for (size_t i = 0; i < map_bytes(blocks); i++) {
        for (uint8_t left = map[i]; left != 0; left = (uint8_t)(left & (left - 1)))
            bits++;
    }
    if (rc == 0 && bits != used)
        ash__check_found(k, 6, "space", space_facts(id, 0),
                         "segment %08x: %u blocks are in use, its row says %u", (unsigned)id,
                         (unsigned)bits, (unsigned)used);
    if (rc == 0)
        compare_maps(k, id, blocks, map, id < k->owned_count ? k->owned[id] : NULL);
    if (ash__segments_check_file(k->engine->segments, id, &why) != 0)
        ash__check_found(k, 12, "segment", space_facts(id, 0), "%s", why.text);
    ash__free(map);
    return rc;
}

int ash__check_space(ash_check *k, ash_error *err)
{
    int rc = 0;
    uint8_t from[4];
    for (uint64_t id = 1; rc == 0 && id <= UINT32_MAX; id++) {
        ash_row row;
        uint32_t blocks, used;
        ash__put_be32(from, (uint32_t)id);
        rc = ash__row_seek(k->snap, ASH_DB_SPACE, ash__bytes(from, sizeof from), &row, err);
        if (rc != 0 || !row.found || row.key.mv_size < 4)
            break;
        id = ash__get_be32(row.key.mv_data);
        if (segment_row(k, (uint32_t)id, &blocks, &used) && blocks < UINT32_MAX - ASH_SLICE_BLOCKS)
            rc = check_segment(k, (uint32_t)id, blocks, used, err);
        else
            ash__check_found(k, 6, "space", space_facts((uint32_t)id, 0),
                             "segment %08x has no row of its own", (unsigned)id);
    }
    return rc;
}
