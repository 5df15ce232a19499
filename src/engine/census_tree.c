/* SPDX-License-Identifier: Apache-2.0 */
/* One tree, from its root down.  What is said of a page holds when it is read: that it is the page
 * it says, of the kind that its depth asks for, that its nodes fill it without gaps, and that its
 * keys ascend within the bounds that the branch above sets. */
#include "engine/census.h"

#include "base/file.h"
#include "base/mem.h"
#include "engine/format/judge.h"
#include "engine/format/page.h"

#include <string.h>

enum { ASK_EVERY = 1024 };

typedef struct walk {
    ash_census *c;
    int tree;
    ash_page_kind kind;
    uint32_t depth; /* that the root promises */
    uint64_t branches, leaves, overflows, entries;
    ash_census_visit visit;
    bool is_walked; /* all of it; which databases there are has been looked at then */
} walk;

/* Of the keys that belong on a page.  When its keys do not, it may be the branch above that has a
 * wrong one: then rows of the page beside it are looked for here, too. */
typedef struct range {
    ash_doc low, high;
    ash_doc wide_low, wide_high; /* with the pages beside it */
} range;

const char *ash__census_tree_name(int tree)
{
    if (tree == ASH_TREE_FREE)
        return "free pages";
    return tree == ASH_TREE_MAIN ? "databases" : ash__database_names[tree];
}

enum page_fault { PAGE_ASTRAY, PAGE_UNORDERED };

/* A page that is not in order may hold all of its rows, at the wrong place; one that is astray may
 * be of an earlier commit, with rows that look right. */
static void page_found(walk *w, uint64_t page, range r, enum page_fault fault, const char *what)
{
    bool is_rows = w->tree < ASH_DB_COUNT;
    ash_census_finding f = {.invariant = 2,
                            .kind = "pages",
                            .tree = ash__census_tree_name(w->tree),
                            .page = page,
                            .structure = true,
                            .db = is_rows ? w->tree : -1,
                            .low = r.wide_low,
                            .high = r.wide_high,
                            .stale = fault == PAGE_ASTRAY,
                            .stale_low = r.low,
                            .stale_high = r.high,
                            .all_rows = w->tree == ASH_TREE_MAIN && !w->is_walked};
    w->c->broken = true;
    ash__census_found(w->c, f, "page %llu of meta.mdb, %s: %s", (unsigned long long)page, f.tree,
                      what);
}

static bool read_at(walk *w, uint64_t page, uint8_t *buf, size_t len, range r)
{
    if (ash__file_read(w->c->fd, buf, len, (off_t)(page * w->c->page_bytes), NULL) == 0)
        return true;
    page_found(w, page, r, PAGE_ASTRAY, "it cannot be read");
    return false;
}

/* Count pages to the tree; false: they are not there to be had. */
static bool own(walk *w, uint64_t page, uint64_t count, range r)
{
    ash_census *c = w->c;
    if (page < 2 || page > c->last || count > c->last - page + 1) {
        page_found(w, page, r, PAGE_ASTRAY, "it is not among the file's pages");
        return false;
    }
    for (uint64_t i = page; i < page + count; i++) {
        /* Also what keeps a walk through a damaged tree from going round: each page is walked once.
         */
        if (c->owner[i] != 0) {
            page_found(w, i, r, PAGE_ASTRAY, "it is in use elsewhere, too");
            return false;
        }
        c->owner[i] = (uint8_t)(1 + w->tree);
        if (w->tree != ASH_TREE_FREE && (c->listed[i / 8] >> i % 8 & 1) != 0)
            page_found(w, i, r, PAGE_ASTRAY, "it is in use and listed as free");
    }
    uint64_t before = c->report->pages;
    c->report->pages += count;
    /* Asked between pages, so that an interruption does not take long. */
    if (before / ASK_EVERY != c->report->pages / ASK_EVERY && c->opts->go_on != NULL &&
        c->result == 0 && !c->opts->go_on(c->opts->ctx, c->report->pages, c->last + 1))
        c->result = ash__fail(&c->error, ASH_EINTERRUPTED, "the census was interrupted");
    return c->result == 0;
}

/* ---- the walk ---- */

/* How many pages a value has, of which the first is the page; 0: that cannot be.  They may be more
 * than it needs: LMDB leaves it where it is when the commit that wrote it makes it shorter. */
static uint64_t big_pages(walk *w, uint64_t page, uint32_t len, range r)
{
    uint64_t needed = ((uint64_t)ASH_PAGE_HEADER + len + w->c->page_bytes - 1) / w->c->page_bytes;
    uint8_t header[ASH_PAGE_HEADER];
    if (page < 2 || page > w->c->last) {
        page_found(w, page, r, PAGE_ASTRAY, "it is not among the file's pages");
        return 0;
    }
    if (!read_at(w, page, header, sizeof header, r))
        return 0;
    if (ash__get_le64(header) != page || ash__page_le16(header + 10) != ASH_PAGE_OVERFLOW ||
        ash__get_le32(header + 12) < needed) {
        page_found(w, page, r, PAGE_ASTRAY, "its header is damaged");
        return 0;
    }
    return ash__get_le32(header + 12);
}

/* A value on pages of its own; NULL when it cannot be had. */
static uint8_t *big_value(walk *w, ash_doc key, uint32_t len, range r)
{
    uint64_t page = ash__get_le64(key.data + key.len);
    uint64_t count = big_pages(w, page, len, r);
    if (count == 0 || !own(w, page, count, r))
        return NULL;
    w->overflows += count;
    uint8_t *all = ash__try_alloc(ASH_PAGE_HEADER + (size_t)len);
    if (all == NULL || !read_at(w, page, all, ASH_PAGE_HEADER + (size_t)len, r)) {
        ash__free(all);
        return NULL;
    }
    return all;
}

static void walk_leaf(walk *w, uint64_t number, const uint8_t *page, range r)
{
    w->leaves++;
    for (uint32_t i = 0; i < ash__page_nodes(page) && w->c->result == 0; i++) {
        ash_doc key;
        const uint8_t *node = ash__page_node(page, i, &key);
        uint32_t len = ash__get_le32(node);
        w->entries++;
        w->c->row_before = r.low;
        w->c->row_behind = r.high;
        if (i > 0)
            ash__page_node(page, i - 1, &w->c->row_before);
        if (i + 1 < ash__page_nodes(page))
            ash__page_node(page, i + 1, &w->c->row_behind);
        if ((node[4] & ASH_NODE_BIG) == 0) {
            w->visit(w->c, w->tree, number, key, (ash_doc){key.data + key.len, len});
            continue;
        }
        uint8_t *value = big_value(w, key, len, r);
        if (value != NULL)
            w->visit(w->c, w->tree, number, key, (ash_doc){value + ASH_PAGE_HEADER, len});
        ash__free(value);
    }
}

static void walk_page(walk *w, uint64_t number, uint32_t depth, range r);

static void walk_branch(walk *w, const uint8_t *page, uint32_t depth, range r)
{
    uint32_t count = ash__page_nodes(page);
    w->branches++;
    for (uint32_t i = 0; i < count && w->c->result == 0; i++) {
        ash_doc key;
        range below = r;
        const uint8_t *node = ash__page_node(page, i, &key);
        if (i > 0)
            below.low = key;
        if (i + 1 < count)
            ash__page_node(page, i + 1, &below.high);
        below.wide_low = i > 0 ? r.low : r.wide_low;
        if (i > 1)
            ash__page_node(page, i - 1, &below.wide_low);
        below.wide_high = i + 1 < count ? r.high : r.wide_high;
        if (i + 2 < count)
            ash__page_node(page, i + 2, &below.wide_high);
        walk_page(w, ash__page_child(node), depth + 1, below);
    }
}

static void walk_page(walk *w, uint64_t number, uint32_t depth, range r)
{
    bool is_leaf = depth == w->depth;
    if (!own(w, number, 1, r))
        return;
    uint8_t *page = ash__alloc(w->c->page_bytes);
    if (read_at(w, number, page, w->c->page_bytes, r)) {
        const char *what = ash__page_judge(&w->kind, number, page, is_leaf, r.low, r.high);
        if (what != NULL)
            page_found(w, number, r, ash__page_is_unordered(what) ? PAGE_UNORDERED : PAGE_ASTRAY,
                       what);
        else if (is_leaf)
            walk_leaf(w, number, page, r);
        else
            walk_branch(w, page, depth, r);
    }
    ash__free(page);
}

static void judge_numbers(walk *w, const uint8_t *root, uint64_t number)
{
    range all = {{NULL, 0}, {NULL, 0}, {NULL, 0}, {NULL, 0}};
    if (ash__get_le64(root + ASH_TREE_ENTRIES) != w->entries)
        page_found(w, number, all, PAGE_UNORDERED,
                   "the tree has not as many rows as its root says");
    else if (ash__get_le64(root + ASH_TREE_BRANCHES) != w->branches ||
             ash__get_le64(root + ASH_TREE_LEAVES) != w->leaves ||
             ash__get_le64(root + ASH_TREE_OVERFLOWS) != w->overflows)
        page_found(w, number, all, PAGE_UNORDERED,
                   "the tree has not as many pages as its root says");
}

void ash__census_walk(ash_census *c, int tree, const uint8_t *root, ash_census_visit visit)
{
    walk w = {.c = c, .tree = tree, .visit = visit};
    w.kind = (ash_page_kind){.page_bytes = c->page_bytes,
                             .is_free_list = tree == ASH_TREE_FREE,
                             .holds_trees = tree == ASH_TREE_MAIN};
    range all = {{NULL, 0}, {NULL, 0}, {NULL, 0}, {NULL, 0}};
    uint64_t number = ash__get_le64(root + ASH_TREE_ROOT);
    /* LMDB would compare keys in another order if a flag said so. */
    uint32_t orders = ash__page_le16(root + ASH_TREE_FLAGS) & 0x7e;
    w.depth = ash__page_le16(root + ASH_TREE_DEPTH);
    c->broken = false;
    if (w.depth > ASH_TREE_DEPTH_MAX || (w.depth == 0) != (number == ASH_NO_PAGE) ||
        orders != (tree == ASH_TREE_FREE ? 8 : 0))
        page_found(&w, number, all, PAGE_ASTRAY, "the description of the tree is damaged");
    else if (number != ASH_NO_PAGE)
        walk_page(&w, number, 1, all);
    w.is_walked = true;
    if (!c->broken && c->result == 0)
        judge_numbers(&w, root, number);
    c->report->rows += w.entries;
}
