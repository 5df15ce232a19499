/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/path.h"

#include "base/fault.h"
#include "base/mem.h"
#include "engine/format/judge.h"
#include "engine/format/page.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { WHOLE_BYTES = 16 << 20 /* metadata up to this size is counted before it is changed */ };
/* The file grows; mapping it anew for each commit would cost more than looking. */
static const size_t map_step = (size_t)64 << 20;

typedef struct look {
    ash_path *p;
    int tree;
    ash_doc key;
    bool deletes;
    uint64_t page; /* that is at fault */
    const char *what;
} look;

static bool fail(look *l, uint64_t page, const char *what)
{
    l->page = page;
    l->what = what;
    return false;
}

static ash_page_kind kind_of(const look *l)
{
    return (ash_page_kind){.page_bytes = l->p->page_bytes,
                           .is_free_list = l->tree == ASH_TREE_FREE,
                           .holds_trees = l->tree == ASH_TREE_MAIN};
}

/* ---- pages ---- */

static const uint8_t *page_at(const ash_path *p, uint64_t number)
{
    return p->map + number * p->page_bytes;
}

/* The page, judged when it is seen for the first time; NULL: it is damaged. */
static const uint8_t *see(look *l, uint64_t number, bool is_leaf, ash_doc low, ash_doc high)
{
    ash_path *p = l->p;
    /* Pages 0 and 1 are the descriptions, and in no tree. */
    if (number < 2 || number > p->last) {
        fail(l, number, "it is not among the file's pages");
        return NULL;
    }
    const uint8_t *page = page_at(p, number);
    uint8_t bit = (uint8_t)(1u << number % 8);
    /* Seen for this commit: pages of a commit do not change, LMDB writes elsewhere. */
    if ((p->seen[number / 8] & bit) != 0)
        return page;
    ash_page_kind kind = kind_of(l);
    const char *what = ash__page_judge(&kind, number, page, is_leaf, low, high);
    if (what != NULL) {
        fail(l, number, what);
        return NULL;
    }
    p->seen[number / 8] |= bit;
    return page;
}

/* A value on pages of its own: LMDB gives back as many as the first one says. */
static bool see_big(look *l, const uint8_t *node, ash_doc key)
{
    uint64_t number = ash__get_le64(key.data + key.len), bytes = l->p->page_bytes;
    uint64_t needed = (ASH_PAGE_HEADER + (uint64_t)ash__get_le32(node) + bytes - 1) / bytes;
    if (number < 2 || number > l->p->last)
        return fail(l, number, "it is not among the file's pages");
    const uint8_t *page = page_at(l->p, number);
    uint64_t count = ash__get_le32(page + 12);
    if (ash__get_le64(page) != number || ash__page_le16(page + 10) != ASH_PAGE_OVERFLOW ||
        count < needed || count > l->p->last + 1 - number)
        return fail(l, number, "its header is damaged");
    return true;
}

/* ---- from the root to a row ---- */

/* How many of the nodes from first on have keys up to this one. */
static uint32_t count_up_to(const look *l, const uint8_t *page, uint32_t first)
{
    uint32_t low = first, high = ash__page_nodes(page);
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        ash_doc key;
        ash__page_node(page, middle, &key);
        if (ash__bytes_compare(key, l->key) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void bounds_of(const uint8_t *page, uint32_t i, ash_doc *low, ash_doc *high)
{
    if (i > 0)
        ash__page_node(page, i, low);
    if (i + 1 < ash__page_nodes(page))
        ash__page_node(page, i + 1, high);
}

static bool see_child(look *l, const uint8_t *branch, uint32_t i, bool is_leaf, ash_doc low,
                      ash_doc high)
{
    ash_doc key;
    bounds_of(branch, i, &low, &high);
    return see(l, ash__page_child(ash__page_node(branch, i, &key)), is_leaf, low, high) != NULL;
}

/* A page that deletions left too empty takes from one beside it, or becomes part of it. */
static bool see_neighbours(look *l, const uint8_t *branch, uint32_t i, bool is_leaf, ash_doc low,
                           ash_doc high)
{
    return (i == 0 || see_child(l, branch, i - 1, is_leaf, low, high)) &&
           (i + 1 >= ash__page_nodes(branch) || see_child(l, branch, i + 1, is_leaf, low, high));
}

static bool see_row(look *l, const uint8_t *leaf)
{
    uint32_t i = count_up_to(l, leaf, 0);
    ash_doc key;
    /* The row comes before all that there are: nothing of it is there to be looked at. */
    if (i == 0)
        return true;
    const uint8_t *node = ash__page_node(leaf, i - 1, &key);
    if ((node[4] & ASH_NODE_BIG) == 0 || ash__bytes_compare(key, l->key) != 0)
        return true;
    return see_big(l, node, key);
}

static bool is_in_leaf(const look *l, const ash_path_tree *t)
{
    return t->leaf != NULL && (t->has_neighbours || !l->deletes) &&
           (t->low.data == NULL || ash__bytes_compare(l->key, t->low) >= 0) &&
           (t->high.data == NULL || ash__bytes_compare(l->key, t->high) < 0);
}

static bool see_path(look *l, ash_path_tree *t)
{
    ash_doc low = {NULL, 0}, high = {NULL, 0}, key;
    uint64_t number = t->root;
    for (uint32_t depth = 1; depth < t->depth; depth++) {
        const uint8_t *page = see(l, number, false, low, high);
        if (page == NULL)
            return false;
        /* A branch's first key is left out, and stands for everything below the second. */
        uint32_t i = count_up_to(l, page, 1) - 1;
        if (l->deletes && !see_neighbours(l, page, i, depth + 1 == t->depth, low, high))
            return false;
        bounds_of(page, i, &low, &high);
        number = ash__page_child(ash__page_node(page, i, &key));
    }
    const uint8_t *leaf = see(l, number, true, low, high);
    if (leaf == NULL)
        return false;
    t->low = low;
    t->high = high;
    t->has_neighbours = l->deletes;
    t->leaf = leaf;
    return true;
}

static void look_at_path(void *ctx)
{
    look *l = ctx;
    ash_path_tree *t = &l->p->trees[l->tree];
    if (t->depth > 0 && (is_in_leaf(l, t) || see_path(l, t)))
        see_row(l, t->leaf);
}

/* ---- when a batch begins ---- */

static bool take_root(look *l, int tree, const uint8_t *root)
{
    ash_path_tree *t = &l->p->trees[tree];
    /* Forgets the leaf as well: it was of the commit before. */
    *t = (ash_path_tree){.root = ash__get_le64(root + ASH_TREE_ROOT),
                         .depth = ash__page_le16(root + ASH_TREE_DEPTH)};
    uint32_t orders = ash__page_le16(root + ASH_TREE_FLAGS) & 0x7e;
    if (t->depth > ASH_TREE_DEPTH_MAX || (t->depth == 0) != (t->root == ASH_NO_PAGE) ||
        orders != (tree == ASH_TREE_FREE ? 8 : 0))
        return fail(l, l->p->commit % 2, "the description of a tree is damaged");
    return true;
}

static bool see_list_leaf(look *l, const uint8_t *page)
{
    for (uint32_t i = 0; i < ash__page_nodes(page); i++) {
        ash_doc key;
        const uint8_t *node = ash__page_node(page, i, &key), *value = key.data + key.len;
        uint32_t len = ash__get_le32(node);
        if ((node[4] & ASH_NODE_BIG) != 0) {
            if (!see_big(l, node, key))
                return false;
            value = page_at(l->p, ash__get_le64(value)) + ASH_PAGE_HEADER;
        }
        if (key.len != 8 || len < 8 || len % 8 != 0 || ash__get_le64(value) > len / 8 - 1)
            return fail(l, ash__get_le64(page), "an entry of the list is damaged");
    }
    return true;
}

static bool see_list(look *l, uint64_t number, uint32_t depth, ash_doc low, ash_doc high)
{
    bool is_leaf = depth == l->p->trees[ASH_TREE_FREE].depth;
    const uint8_t *page = see(l, number, is_leaf, low, high);
    if (page == NULL || is_leaf)
        return page != NULL && see_list_leaf(l, page);
    for (uint32_t i = 0; i < ash__page_nodes(page); i++) {
        ash_doc key, from = low, to = high;
        bounds_of(page, i, &from, &to);
        if (!see_list(l, ash__page_child(ash__page_node(page, i, &key)), depth + 1, from, to))
            return false;
    }
    return true;
}

/* All databases have room on one page. */
static bool see_databases(look *l)
{
    static const ash_doc none = {NULL, 0};
    const ash_path_tree *t = &l->p->trees[ASH_TREE_MAIN];
    /* So a root that is a branch is no root of ours. */
    if (t->depth != 1)
        return fail(l, l->p->commit % 2, "the description of a tree is damaged");
    const uint8_t *page = see(l, t->root, true, none, none);
    for (uint32_t i = 0, found = 0; page != NULL && i < ash__page_nodes(page); i++) {
        ash_doc key;
        const uint8_t *node = ash__page_node(page, i, &key);
        for (int db = 0; db < ASH_DB_COUNT; db++) {
            const char *name = ash__database_names[db];
            if (key.len != strlen(name) || memcmp(key.data, name, key.len) != 0)
                continue;
            if (ash__get_le32(node) != ASH_TREE_BYTES || !take_root(l, db, key.data + key.len))
                return fail(l, t->root, "the description of a tree is damaged");
            found++;
        }
        if (i + 1 == ash__page_nodes(page) && found != ASH_DB_COUNT)
            return fail(l, t->root, "a database is missing");
    }
    return page != NULL;
}

static void look_at_commit(void *ctx)
{
    look *l = ctx;
    static const ash_doc none = {NULL, 0};
    const uint8_t *meta = page_at(l->p, l->p->commit % 2);
    if (ash__get_le64(meta + ASH_META_TXN_AT) != l->p->commit ||
        !take_root(l, ASH_TREE_FREE, meta + ASH_META_FREE_AT) ||
        !take_root(l, ASH_TREE_MAIN, meta + ASH_META_MAIN_AT)) {
        fail(l, l->p->commit % 2, "the description of a commit is damaged");
        return;
    }
    l->tree = ASH_TREE_MAIN;
    if (!see_databases(l))
        return;
    l->tree = ASH_TREE_FREE;
    if (l->p->trees[ASH_TREE_FREE].depth > 0)
        see_list(l, l->p->trees[ASH_TREE_FREE].root, 1, none, none);
}

/* Map the file as far as the commit goes, and more, so that it need not be done often. */
static int map_file(ash_engine *e, ash_error *err)
{
    ash_path *p = e->path;
    size_t need = (size_t)(p->last + 1) * p->page_bytes, len = need + need / 2 + map_step;
    mdb_filehandle_t fd;
    if (p->map_bytes >= need)
        return 0;
    if (p->map != NULL)
        munmap(p->map, p->map_bytes);
    int rc = mdb_env_get_fd(e->env, &fd);
    void *at = rc == 0 ? mmap(NULL, len, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (rc == 0 && at == MAP_FAILED)
        /* Address space may be limited; then without the part to grow into. */
        at = mmap(NULL, len = need, PROT_READ, MAP_SHARED, fd, 0);
    p->map = at == MAP_FAILED ? NULL : at;
    p->map_bytes = at == MAP_FAILED ? 0 : len;
    return at == MAP_FAILED ? ash__fail(err, ASH_ENOMEM, "cannot map the metadata") : 0;
}

static int refuse(ash_engine *e, const look *l, ash_error *err)
{
    ash_damage found = {.findings = 1, .structure = true};
    snprintf(found.first, sizeof found.first, "page %llu of meta.mdb, %s: %s",
             (unsigned long long)l->page, ash__census_tree_name(l->tree), l->what);
    ash__soundness_note(e, &found, NULL, 0);
    return ash__soundness_refuse(e, err);
}

static int run(ash_engine *e, look *l, ash_fault_fn fn, ash_error *err)
{
    /* The map may reach beyond the file's end, or to a part that the disk cannot read. */
    if (!ash__fault_try(fn, l))
        fail(l, l->page, "it cannot be read");
    return l->what != NULL ? refuse(e, l, err) : 0;
}

/* Before the first change of a run, and then after each commit. */
static int begin(ash_engine *e, uint64_t commit, ash_error *err)
{
    MDB_envinfo info;
    MDB_stat facts;
    if (e->path == NULL)
        e->path = ash__new(ash_path);
    ash_path *p = e->path;
    ash__lmdb_env_info(e->env, &info);
    ash__lmdb_env_stat(e->env, &facts);
    p->page_bytes = facts.ms_psize;
    p->last = info.me_last_pgno;
    bool is_first = p->commit == 0;
    p->commit = commit;
    if (is_first && (p->last + 1) * p->page_bytes <= WHOLE_BYTES) {
        int rc = ash__engine_census(e, NULL, NULL, err);
        if (rc != 0 || atomic_load(&e->unwritable))
            return rc != 0 ? rc : ash__soundness_refuse(e, err);
    }
    if (p->seen_bytes < p->last / 8 + 1) {
        p->seen_bytes = (size_t)(p->last / 8 + 1) * 2;
        p->seen = ash__realloc_array(p->seen, p->seen_bytes, 1);
    }
    /* Pages that were free may be in use now, with other content. */
    memset(p->seen, 0, p->seen_bytes);
    int rc = map_file(e, err);
    look l = {.p = p, .tree = ASH_TREE_MAIN};
    return rc == 0 ? run(e, &l, look_at_commit, err) : rc;
}

int ash__path_require(ash_engine *e, uint64_t commit, int tree, ash_doc key, bool deletes,
                      ash_error *err)
{
    int rc = 0;
    /* Of a store that is being made there is nothing yet. */
    if (commit == 0)
        return 0;
    if (e->path == NULL || e->path->commit != commit)
        rc = begin(e, commit, err);
    look l = {.p = e->path, .tree = tree, .key = key, .deletes = deletes};
    return rc == 0 ? run(e, &l, look_at_path, err) : rc;
}

void ash__path_release(ash_engine *e)
{
    if (e->path == NULL)
        return;
    if (e->path->map != NULL)
        munmap(e->path->map, e->path->map_bytes);
    ash__free(e->path->seen);
    ash__free(e->path);
    e->path = NULL;
}
