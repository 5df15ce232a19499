/* SPDX-License-Identifier: Apache-2.0 */
/* One page, judged by its own bytes and the keys between which it has to lie.  Header, nodes and
 * order are looked at in turn: each may rely on what those before it have found right. */
#include "engine/format/judge.h"

#include "base/buffer.h"
#include "engine/format/page.h"

/* Compared by its address, below. */
static const char unordered[] = "its keys are out of order";

/* The list of free pages has numbers of the machine for keys. */
static int compare(const ash_page_kind *k, ash_doc a, ash_doc b)
{
    if (!k->is_free_list || a.len != 8 || b.len != 8)
        return ash__compare_bytes(a.data, a.len, b.data, b.len);
    uint64_t x = ash__get_le64(a.data), y = ash__get_le64(b.data);
    return (x > y) - (x < y);
}

static const char *judge_header(const ash_page_kind *k, uint64_t number, const uint8_t *page,
                                bool is_leaf)
{
    uint32_t lower = ash__page_le16(page + 12), upper = ash__page_le16(page + 14);
    /* A page says its own number: a wrong pointer, or a write to the wrong place, shows here. */
    if (ash__get_le64(page) != number)
        return "it says that it is another page";
    if (ash__page_le16(page + 10) != (is_leaf ? ASH_PAGE_LEAF : ASH_PAGE_BRANCH))
        return "it is not of the kind that belongs there";
    if (lower <= ASH_PAGE_HEADER || lower % 2 != 0 || lower > upper || upper > k->page_bytes)
        return "its header is damaged";
    return NULL;
}

/* Bytes that the node at the offset takes, 0 when it does not lie in the page. */
static uint32_t node_bytes(const ash_page_kind *k, const uint8_t *page, uint32_t at, bool is_leaf)
{
    uint32_t bytes = k->page_bytes, upper = ash__page_le16(page + 14);
    /* LMDB puts nodes at even offsets, from the page's end downwards. */
    if (at < upper || at % 2 != 0 || at + ASH_PAGE_NODE > bytes)
        return 0;
    uint32_t rest = bytes - at - ASH_PAGE_NODE, key = ash__page_le16(page + at + 6), value = 0;
    if (is_leaf && (page[at + 4] & ASH_NODE_BIG) != 0)
        value = 8;
    else if (is_leaf)
        value = ash__get_le32(page + at);
    if (key > rest || value > rest - key)
        return 0;
    return (ASH_PAGE_NODE + key + value + 1) & ~1u;
}

const uint8_t *ash__page_node(const uint8_t *page, uint32_t i, ash_doc *key)
{
    const uint8_t *node = page + ash__page_le16(page + ASH_PAGE_HEADER + 2 * i);
    *key = (ash_doc){node + ASH_PAGE_NODE, ash__page_le16(node + 6)};
    return node;
}

static const char *judge_nodes(const ash_page_kind *k, const uint8_t *page, bool is_leaf)
{
    uint32_t taken = 0;
    for (uint32_t i = 0; i < ash__page_nodes(page); i++) {
        uint32_t at = ash__page_le16(page + ASH_PAGE_HEADER + 2 * i);
        uint32_t bytes = node_bytes(k, page, at, is_leaf);
        uint32_t flags = bytes == 0 || !is_leaf ? 0 : ash__page_le16(page + at + 4);
        if (bytes == 0)
            return "a node does not lie within it";
        if (flags != 0 && flags != (k->holds_trees ? ASH_NODE_TREE : ASH_NODE_BIG))
            return "a node is of an unknown kind";
        taken += bytes;
    }
    return taken != k->page_bytes - ash__page_le16(page + 14) ? "its nodes do not fill it" : NULL;
}

static const char *judge_order(const ash_page_kind *k, const uint8_t *page, bool is_leaf,
                               ash_doc low, ash_doc high)
{
    ash_doc key, before = low;
    for (uint32_t i = is_leaf ? 0 : 1; i < ash__page_nodes(page); i++) {
        ash__page_node(page, i, &key);
        int order = before.data == NULL ? 1 : compare(k, key, before);
        /* A leaf's first key may be the one that its branch names; a later one, or a branch's, may
         * not. */
        bool first = is_leaf && before.data == low.data;
        if (key.len == 0 || order < 0 || (order == 0 && !first))
            return unordered;
        before = key;
    }
    if (high.data != NULL && before.data != NULL && compare(k, before, high) >= 0)
        return unordered;
    return NULL;
}

bool ash__page_is_unordered(const char *what)
{
    return what == unordered;
}

const char *ash__page_judge(const ash_page_kind *k, uint64_t number, const uint8_t *page,
                            bool is_leaf, ash_doc low, ash_doc high)
{
    const char *what = judge_header(k, number, page, is_leaf);
    if (what == NULL)
        what = judge_nodes(k, page, is_leaf);
    return what != NULL ? what : judge_order(k, page, is_leaf, low, high);
}
