/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_ENGINE_FORMAT_PAGE_H
#define ASH_ENGINE_FORMAT_PAGE_H

/* What LMDB 0.9 stores (little-endian, 64 bits): pages of one size, 16 bytes of header each (number
 * 8, 2 unused, flags 2, end of the offsets 2, start of the nodes 2; of an overflow page the number
 * of pages 4 instead of the last two), then 2-byte offsets of nodes.  A node is 8 bytes (low and
 * high half of the value's length, flags, key's length; in branch pages the first three are the
 * child's number), the key, the value.  Pages 0 and 1 each describe a commit; the one with the
 * higher number counts.  A description begins with magic, version, address and size of the mapping;
 * then two trees follow, the list of free pages and the one of the databases.
 *
 * A tree is 48 bytes: unused 4 (of the free list: the page size), flags 2, depth 2, numbers of
 * branch pages, leaves and overflow pages, rows and the root's page (8 each). */

#include "base/bytes.h"

enum {
    ASH_PAGE_HEADER = 16,
    ASH_PAGE_NODE = 8,
    ASH_PAGE_BRANCH = 0x01,
    ASH_PAGE_LEAF = 0x02,
    ASH_PAGE_OVERFLOW = 0x04,
    ASH_PAGE_META = 0x08,
    ASH_PAGE_DIRTY = 0x10, /* of pages in memory; means nothing on disk */
    ASH_NODE_BIG = 0x01,
    ASH_NODE_TREE = 0x02,
    ASH_TREE_BYTES = 48,
    ASH_TREE_FLAGS = 4,
    ASH_TREE_DEPTH = 6,
    ASH_TREE_BRANCHES = 8,
    ASH_TREE_LEAVES = 16,
    ASH_TREE_OVERFLOWS = 24,
    ASH_TREE_ENTRIES = 32,
    ASH_TREE_ROOT = 40,
    ASH_META_MAGIC_AT = 16,
    ASH_META_FREE_AT = 40,
    ASH_META_MAIN_AT = ASH_META_FREE_AT + ASH_TREE_BYTES,
    ASH_META_LAST_AT = ASH_META_MAIN_AT + ASH_TREE_BYTES,
    ASH_META_TXN_AT = ASH_META_LAST_AT + 8,
    ASH_META_BYTES = ASH_META_TXN_AT + 8,
    ASH_TREE_DEPTH_MAX = 32
};
#define ASH_META_MAGIC UINT32_C(0xBEEFC0DE)
#define ASH_NO_PAGE    UINT64_MAX

static inline uint32_t ash__page_le16(const uint8_t *at)
{
    return (uint32_t)(at[0] | at[1] << 8);
}

static inline uint32_t ash__page_flags(const uint8_t *page)
{
    return ash__page_le16(page + 10) & ~(uint32_t)ASH_PAGE_DIRTY;
}

static inline uint32_t ash__page_nodes(const uint8_t *page)
{
    return (ash__page_le16(page + 12) - ASH_PAGE_HEADER) / 2;
}

/* Of a branch's node. */
static inline uint64_t ash__page_child(const uint8_t *node)
{
    return ash__get_le32(node) | (uint64_t)node[4] << 32 | (uint64_t)node[5] << 40;
}

#endif
