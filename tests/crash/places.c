/* SPDX-License-Identifier: Apache-2.0 */
#include "places.h"

#include "base/file.h"
#include "base/mem.h"
#include "engine/format/page.h"
#include "scratch.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The file is sound, so everything in it is believed. */

enum { PAGE = 4096 };
enum { TREE_FREE, TREE_MAIN, TREES_OWN }; /* the databases' trees follow */

const char *const place_names[PLACE_KINDS] = {
    "meta page, newest",  "meta page, older",   "free list: header",
    "free list: offsets", "free list: node",    "free list: key",
    "free list: ids",     "free list: branch",  "free list: overflow",
    "databases: header",  "databases: offsets", "databases: node",
    "databases: name",    "databases: root",    "branch: header",
    "branch: offsets",    "branch: node",       "branch: key",
    "leaf: header",       "leaf: offsets",      "leaf: node",
    "leaf: key",          "leaf: value",        "overflow: header",
    "overflow: body",     "free page",          "slack"};

/* Of a hundred flips about so many; slack and what is free mostly mean nothing. */
static const uint8_t shares[PLACE_KINDS] = {5, 3, 4, 3, 4, 3, 6, 4, 3, 3, 3, 3, 2, 5,
                                            5, 4, 6, 4, 6, 4, 6, 4, 4, 4, 3, 1, 2};

static void add(places *p, enum place_kind kind, int tree, uint64_t page, uint32_t at, uint32_t len)
{
    if (len == 0)
        return;
    p->items = ash__grow_array(p->items, p->count, &p->capacity, sizeof *p->items);
    p->items[p->count++] = (place){kind, tree, page, at, len};
}

static const uint8_t *page_of(const places *p, uint64_t page)
{
    REQUIRE((page + 1) * PAGE <= p->bytes);
    p->taken[page] = true;
    return p->file + page * PAGE;
}

/* ---- one page ---- */

/* The kinds of a tree's parts, in the order of the leaf's. */
static enum place_kind part_of(int tree, bool is_leaf, enum place_kind leaf_part)
{
    int part = (int)leaf_part - PLACE_LEAF_HEADER;
    if (tree == TREE_FREE)
        return is_leaf ? (enum place_kind)(PLACE_FREE_HEADER + part) : PLACE_FREE_BRANCH;
    if (tree == TREE_MAIN)
        return (enum place_kind)(PLACE_MAIN_HEADER + part);
    return is_leaf ? leaf_part : (enum place_kind)(PLACE_BRANCH_HEADER + part);
}

static void add_overflow(places *p, int tree, const uint8_t *node, uint32_t key_len)
{
    uint64_t page = ash__get_le64(node + ASH_PAGE_NODE + key_len);
    uint32_t len = ash__get_le32(node);
    uint32_t pages = ash__get_le32(page_of(p, page) + 12);
    for (uint32_t i = 1; i < pages; i++)
        page_of(p, page + i);
    bool is_free = tree == TREE_FREE;
    add(p, is_free ? PLACE_FREE_OVERFLOW : PLACE_OVERFLOW_HEADER, tree, page, 0, ASH_PAGE_HEADER);
    add(p, is_free ? PLACE_FREE_OVERFLOW : PLACE_OVERFLOW_BODY, tree, page, ASH_PAGE_HEADER, len);
    add(p, PLACE_SLACK, tree, page, ASH_PAGE_HEADER + len, pages * PAGE - ASH_PAGE_HEADER - len);
}

static void add_leaf_value(places *p, int tree, uint64_t page, const uint8_t *bytes, uint32_t at,
                           uint32_t key_len)
{
    const uint8_t *node = bytes + at;
    bool is_big = (ash__page_le16(node + 4) & ASH_NODE_BIG) != 0;
    uint32_t len = is_big ? 8 : ash__get_le32(node);
    uint32_t end = at + ASH_PAGE_NODE + key_len + len;
    /* The number of a page is more of a node than of a value. */
    add(p, part_of(tree, true, is_big ? PLACE_LEAF_NODE : PLACE_LEAF_VALUE), tree, page,
        at + ASH_PAGE_NODE + key_len, len);
    add(p, PLACE_SLACK, tree, page, end, end % 2);
    if (is_big)
        add_overflow(p, tree, node, key_len);
}

static void add_page(places *p, int tree, uint64_t page, uint32_t depth)
{
    const uint8_t *bytes = page_of(p, page);
    bool is_leaf = depth <= 1;
    uint32_t nodes = ash__page_nodes(bytes), lower = ash__page_le16(bytes + 12);
    add(p, part_of(tree, is_leaf, PLACE_LEAF_HEADER), tree, page, 0, ASH_PAGE_HEADER);
    add(p, part_of(tree, is_leaf, PLACE_LEAF_OFFSETS), tree, page, ASH_PAGE_HEADER, 2 * nodes);
    add(p, PLACE_SLACK, tree, page, lower, ash__page_le16(bytes + 14) - lower);
    for (uint32_t i = 0; i < nodes; i++) {
        uint32_t at = ash__page_le16(bytes + ASH_PAGE_HEADER + 2 * i);
        uint32_t key_len = ash__page_le16(bytes + at + 6);
        add(p, part_of(tree, is_leaf, PLACE_LEAF_NODE), tree, page, at, ASH_PAGE_NODE);
        add(p, part_of(tree, is_leaf, PLACE_LEAF_KEY), tree, page, at + ASH_PAGE_NODE, key_len);
        if (is_leaf)
            add_leaf_value(p, tree, page, bytes, at, key_len);
        else
            add_page(p, tree, ash__page_child(bytes + at), depth - 1);
    }
}

static void add_tree(places *p, int tree, const uint8_t *root)
{
    uint64_t page = ash__get_le64(root + ASH_TREE_ROOT);
    if (page != ASH_NO_PAGE)
        add_page(p, tree, page, ash__page_le16(root + ASH_TREE_DEPTH));
}

/* ---- the file ---- */

static void add_databases(places *p, const uint8_t *root)
{
    uint64_t page = ash__get_le64(root + ASH_TREE_ROOT);
    const uint8_t *bytes = page_of(p, page);
    REQUIRE(ash__page_le16(root + ASH_TREE_DEPTH) == 1);
    for (uint32_t i = 0; i < ash__page_nodes(bytes); i++) {
        const uint8_t *node = bytes + ash__page_le16(bytes + ASH_PAGE_HEADER + 2 * i);
        uint32_t key_len = ash__page_le16(node + 6);
        REQUIRE(p->tree_count < PLACE_TREES);
        snprintf(p->trees[p->tree_count], sizeof p->trees[0], "%.*s", (int)key_len,
                 (const char *)node + ASH_PAGE_NODE);
        add_tree(p, p->tree_count++, node + ASH_PAGE_NODE + key_len);
    }
}

static int by_kind(const void *a, const void *b)
{
    const place *x = a, *y = b;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->tree != y->tree)
        return x->tree < y->tree ? -1 : 1;
    if (x->page != y->page)
        return x->page < y->page ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static bool order(places *p)
{
    bool whole = true;
    qsort(p->items, p->count, sizeof *p->items, by_kind);
    for (size_t i = 0, kind = 0; kind <= PLACE_KINDS; kind++) {
        while (i < p->count && (size_t)p->items[i].kind < kind)
            i++;
        p->first[kind] = i;
    }
    for (int kind = 0; kind < PLACE_KINDS; kind++) {
        if (p->first[kind] == p->first[kind + 1]) {
            fprintf(stderr, "# the store has no place of the kind \"%s\"\n", place_names[kind]);
            whole = false;
        }
    }
    return whole;
}

static void load(places *p, const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    REQUIRE(fd >= 0 && fstat(fd, &st) == 0);
    p->bytes = (size_t)st.st_size;
    p->file = ash__alloc(p->bytes);
    REQUIRE(ash__file_read(fd, p->file, p->bytes, 0, NULL) == 0);
    p->taken = ash__alloc(p->bytes / PAGE + 1);
    memset(p->taken, 0, p->bytes / PAGE + 1);
    close(fd);
}

bool places_read(places *p, const char *path)
{
    *p = (places){.tree_count = TREES_OWN};
    load(p, path);
    const uint8_t *newest = page_of(p, 0), *older = page_of(p, 1);
    if (ash__get_le64(older + ASH_META_TXN_AT) > ash__get_le64(newest + ASH_META_TXN_AT)) {
        newest = older;
        older = p->file;
    }
    add(p, PLACE_META_NEWEST, TREE_MAIN, newest > older, 0, ASH_META_BYTES);
    add(p, PLACE_META_OLDER, TREE_MAIN, older > newest, 0, ASH_META_BYTES);
    add(p, PLACE_SLACK, TREE_MAIN, 0, ASH_META_BYTES, PAGE - ASH_META_BYTES);
    add(p, PLACE_SLACK, TREE_MAIN, 1, ASH_META_BYTES, PAGE - ASH_META_BYTES);
    add_tree(p, TREE_FREE, newest + ASH_META_FREE_AT);
    add_tree(p, TREE_MAIN, newest + ASH_META_MAIN_AT);
    add_databases(p, newest + ASH_META_MAIN_AT);
    for (uint64_t i = 0; i < p->bytes / PAGE; i++) {
        if (!p->taken[i])
            add(p, PLACE_FREE_PAGE, TREE_FREE, i, 0, PAGE);
    }
    ash__free(p->file);
    ash__free(p->taken);
    p->file = NULL;
    p->taken = NULL;
    return order(p);
}

void places_release(places *p)
{
    ash__free(p->items);
    p->items = NULL;
    p->count = p->capacity = 0;
}

/* ---- aiming ---- */

static enum place_kind choose_kind(rng *r)
{
    uint32_t all = 0;
    for (int i = 0; i < PLACE_KINDS; i++)
        all += shares[i];
    uint32_t die = rng_below(r, all);
    int kind = 0;
    for (; die >= shares[kind]; kind++)
        die -= shares[kind];
    return (enum place_kind)kind;
}

/* Each tree that has such places gets the same share: small ones are what all others hang on. */
static const place *choose_place(const places *p, enum place_kind kind, rng *r)
{
    size_t from = p->first[kind], to = p->first[kind + 1];
    size_t starts[PLACE_TREES + 1], trees = 0;
    for (size_t i = from; i < to; i++) {
        if (i == from || p->items[i].tree != p->items[i - 1].tree)
            starts[trees++] = i;
    }
    starts[trees] = to;
    uint32_t tree = rng_below(r, (uint32_t)trees);
    return &p->items[starts[tree] + rng_below(r, (uint32_t)(starts[tree + 1] - starts[tree]))];
}

static bool is_numbers(enum place_kind kind)
{
    return kind <= PLACE_META_OLDER || kind == PLACE_FREE_KEY || kind == PLACE_FREE_IDS ||
           kind == PLACE_MAIN_ROOT || kind == PLACE_FREE_OVERFLOW;
}

aim places_choose(const places *p, rng *r)
{
    enum place_kind kind = choose_kind(r);
    const place *where = choose_place(p, kind, r);
    uint32_t at = rng_below(r, where->len);
    /* Of numbers of eight bytes the low ones are the likelier to be believed. */
    if (is_numbers(kind) && rng_below(r, 2) == 0)
        at = at - at % 8 + at % 2;
    uint8_t bits = (uint8_t)(rng_below(r, 8) != 0 ? 1u << rng_below(r, 8) : 1 + rng_below(r, 255));
    return (aim){where, where->page * PAGE + where->at + at, bits};
}

void aim_describe(const places *p, const aim *a, char *out, size_t bytes)
{
    const char *tree = a->where->tree == TREE_FREE   ? "free list"
                       : a->where->tree == TREE_MAIN ? "databases"
                                                     : p->trees[a->where->tree];
    snprintf(out, bytes, "page %llu (%s; %s), byte %llu ^ 0x%02x",
             (unsigned long long)a->where->page, tree, place_names[a->where->kind],
             (unsigned long long)(a->offset - a->where->page * PAGE), a->bits);
}
