/* SPDX-License-Identifier: Apache-2.0 */
/* The file without LMDB: each page is read into memory of ours and every number in it is compared
 * before it is followed.  What cannot be read is counted and passed over. */
#include "engine/format/pages.h"

#include "base/file.h"
#include "base/mem.h"
#include "engine/format/keys.h"
#include "engine/format/page.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum { VALUE_MAX = 32 << 20 };

struct ash_pages {
    int fd;
    uint32_t page_bytes;
    uint64_t size;  /* of the file */
    uint64_t count; /* pages, the last perhaps in part */
    uint8_t *seen;  /* a bit each */
    uint8_t *vacant;
    uint64_t free_root, main_root, free_entries, free_found;
    uint64_t newest; /* commit that is described */
    uint64_t last;   /* page of it */
    int metas;       /* descriptions that are whole */
    bool free_known;
    uint64_t broken;
};

/* One walk: which rows go where. */
typedef struct walk {
    ash_pages *pages;
    ash_pages_visit visit;
    void *ctx;
    bool numbers; /* keys are numbers of this machine, not bytes: their order is not checked */
    bool stray, vacant;
} walk;

static bool bit(const uint8_t *map, uint64_t i)
{
    return (map[i / 8] >> (i % 8) & 1) != 0;
}

static void set_bit(uint8_t *map, uint64_t i)
{
    map[i / 8] = (uint8_t)(map[i / 8] | 1u << (i % 8));
}

int ash__pages_read(ash_pages *p, uint64_t offset, void *out, uint32_t len, ash_error *err)
{
    /* In this order, so that nothing overflows. */
    if (offset > p->size || len > p->size - offset)
        return ash__fail(err, ASH_ECORRUPT, "the metadata ends before offset %llu",
                         (unsigned long long)(offset + len));
    return ash__file_read(p->fd, out, len, (off_t)offset, err);
}

/* A branch or a leaf that says it is this page, into buf. */
static bool load(ash_pages *p, uint64_t number, uint8_t *buf)
{
    if (number >= p->count ||
        ash__pages_read(p, number * p->page_bytes, buf, p->page_bytes, NULL) != 0)
        return false;
    /* Enough to read its nodes safely; whether it makes sense is judge.c's to say. */
    uint32_t lower = ash__get_le32(buf + 12) & 0xffff, upper = ash__get_le32(buf + 12) >> 16;
    uint32_t flags = ash__page_flags(buf);
    return ash__get_le64(buf) == number && (flags == ASH_PAGE_BRANCH || flags == ASH_PAGE_LEAF) &&
           lower >= ASH_PAGE_HEADER && lower <= upper && upper <= p->page_bytes;
}

/* The i-th node and its key, or NULL when they do not lie within the page. */
static const uint8_t *node_at(const ash_pages *p, const uint8_t *page, uint32_t i, ash_doc *key)
{
    uint32_t at = page[ASH_PAGE_HEADER + 2 * i] | (uint32_t)page[ASH_PAGE_HEADER + 2 * i + 1] << 8;
    if (at < ASH_PAGE_HEADER + 2 * ash__page_nodes(page) || at + ASH_PAGE_NODE > p->page_bytes)
        return NULL;
    uint32_t len = page[at + 6] | (uint32_t)page[at + 7] << 8;
    if (len > p->page_bytes - at - ASH_PAGE_NODE)
        return NULL;
    *key = (ash_doc){page + at + ASH_PAGE_NODE, len};
    return page + at;
}

/* A value on pages of its own. */
static uint8_t *load_big(ash_pages *p, uint64_t number, uint32_t len, uint64_t *offset)
{
    *offset = number * p->page_bytes + ASH_PAGE_HEADER;
    if (number >= p->count || len > VALUE_MAX || len > p->size)
        return NULL;
    uint8_t *value = ash__try_alloc(len + 1);
    if (value == NULL || ash__pages_read(p, *offset, value, len, NULL) != 0) {
        ash__free(value);
        return NULL;
    }
    uint64_t pages = ((uint64_t)ASH_PAGE_HEADER + len + p->page_bytes - 1) / p->page_bytes;
    /* So that they are not taken for strays. */
    for (uint64_t i = 0; i < pages && number + i < p->count; i++)
        set_bit(p->seen, number + i);
    return value;
}

static void visit_node(const walk *w, uint64_t number, const uint8_t *page, const uint8_t *node,
                       ash_doc key)
{
    ash_pages *p = w->pages;
    ash_pages_row row = {.key = key, .stray = w->stray, .vacant = w->vacant};
    uint32_t len = ash__get_le32(node), at = (uint32_t)(node - page);
    uint32_t start = at + ASH_PAGE_NODE + (uint32_t)key.len;
    uint8_t *big = NULL;
    /* The value behind the key; of a big one, the number of its first page. */
    if ((node[4] & ASH_NODE_BIG) == 0) {
        row.offset = number * p->page_bytes + start;
        row.value = (ash_doc){page + start, len};
        if (len > p->page_bytes - start)
            row.value.data = NULL;
    } else if (start + 8 <= p->page_bytes) {
        big = load_big(p, ash__get_le64(page + start), len, &row.offset);
        row.value = (ash_doc){big, len};
    }
    if (row.value.data == NULL)
        p->broken += !w->stray;
    else if (w->visit != NULL)
        w->visit(w->ctx, &row);
    ash__free(big);
}

static void visit_leaf(const walk *w, uint64_t number, const uint8_t *page)
{
    for (uint32_t i = 0; i < ash__page_nodes(page); i++) {
        ash_doc key;
        const uint8_t *node = node_at(w->pages, page, i, &key);
        if (node != NULL)
            visit_node(w, number, page, node, key);
        else
            w->pages->broken += !w->stray;
    }
}

/* A branch that was damaged may lead to a page that was once right.  Its first key then hardly ever
 * lies where the branch's keys say. */
static bool fits(const walk *w, const uint8_t *page, ash_doc low, ash_doc high)
{
    ash_doc key;
    bool is_leaf = (page[10] & ASH_PAGE_LEAF) != 0;
    uint32_t first = is_leaf ? 0 : 1; /* a branch's first key is left out */
    if (w->numbers || ash__page_nodes(page) <= first ||
        node_at(w->pages, page, first, &key) == NULL)
        return true;
    return ash__compare_bytes(low.data, low.len, key.data, key.len) <= 0 &&
           (high.data == NULL || ash__compare_bytes(key.data, key.len, high.data, high.len) < 0);
}

static void walk_page(const walk *w, uint64_t number, int depth, ash_doc low, ash_doc high);

static void walk_branch(const walk *w, const uint8_t *page, int depth, ash_doc low, ash_doc high)
{
    uint32_t count = ash__page_nodes(page);
    for (uint32_t i = 0; i < count; i++) {
        ash_doc key, from = low, to = high;
        const uint8_t *node = node_at(w->pages, page, i, &key);
        if (node == NULL) {
            w->pages->broken++;
            continue;
        }
        if (i > 0)
            from = key;
        if (i + 1 < count && node_at(w->pages, page, i + 1, &key) != NULL)
            to = key;
        /* A node that is damaged costs what lies below it, and no more. */
        walk_page(w, ash__page_child(node), depth + 1, from, to);
    }
}

static void walk_page(const walk *w, uint64_t number, int depth, ash_doc low, ash_doc high)
{
    ash_pages *p = w->pages;
    /* On the heap: a walk is as deep as a damaged tree says, up to a limit. */
    uint8_t *page = ash__alloc(p->page_bytes);
    if (number >= p->count || bit(p->seen, number) || depth > ASH_TREE_DEPTH_MAX ||
        !load(p, number, page) || !fits(w, page, low, high)) {
        p->broken++;
    } else {
        set_bit(p->seen, number);
        if ((page[10] & ASH_PAGE_LEAF) != 0)
            visit_leaf(w, number, page);
        else
            walk_branch(w, page, depth, low, high);
    }
    ash__free(page);
}

static void walk_root(const walk *w, uint64_t root)
{
    if (root != ASH_NO_PAGE)
        walk_page(w, root, 0, (ash_doc){NULL, 0}, (ash_doc){NULL, 0});
}

/* ---- databases and free pages ---- */

typedef struct looking {
    const char *name;
    uint64_t root;
    bool found;
} looking;

static void look_for(void *ctx, const ash_pages_row *row)
{
    looking *l = ctx;
    if (row->key.len == strlen(l->name) && memcmp(row->key.data, l->name, row->key.len) == 0 &&
        row->value.len == ASH_TREE_BYTES) {
        l->root = ash__get_le64(row->value.data + ASH_TREE_ROOT);
        l->found = true;
    }
}

void ash__pages_walk(ash_pages *p, const char *database, ash_pages_visit visit, void *ctx)
{
    looking l = {.name = database, .root = ASH_NO_PAGE};
    walk roots = {.pages = p, .visit = look_for, .ctx = &l};
    walk rows = {.pages = p, .visit = visit, .ctx = ctx};
    uint64_t before = p->broken;
    if (p->main_root == ASH_NO_PAGE || p->main_root >= p->count)
        return;
    /* Walked once for each database, and counted as seen by the first. */
    p->seen[p->main_root / 8] &= (uint8_t) ~(1u << (p->main_root % 8));
    walk_root(&roots, p->main_root);
    if (!l.found) {
        p->broken++;
        return;
    }
    p->broken = before;
    walk_root(&rows, l.root);
}

/* A list of pages that a commit left: how many, then their numbers. */
static void take_free(void *ctx, const ash_pages_row *row)
{
    ash_pages *p = ctx;
    uint64_t count = row->value.len >= 8 ? ash__get_le64(row->value.data) : 0;
    p->free_found++;
    if (count > row->value.len / 8 - (row->value.len >= 8)) {
        p->broken++;
        return;
    }
    for (uint64_t i = 1; i <= count; i++) {
        uint64_t number = ash__get_le64(row->value.data + 8 * i);
        /* The file may end before its last free pages.  A page that is listed twice could be given
         * out twice: the list is not to be believed. */
        if (number < 2 || number > p->last || (number < p->count && bit(p->vacant, number)))
            p->broken++;
        else if (number < p->count)
            set_bit(p->vacant, number);
    }
}

void ash__pages_strays(ash_pages *p, ash_pages_visit visit, void *ctx)
{
    walk w = {.pages = p, .visit = visit, .ctx = ctx, .stray = true};
    uint8_t *page = ash__alloc(p->page_bytes);
    for (uint64_t i = 2; i < p->count; i++) {
        if (bit(p->seen, i) || (bit(p->vacant, i) && ash__pages_certain(p)) || !load(p, i, page) ||
            (page[10] & ASH_PAGE_LEAF) == 0)
            continue;
        /* A page that was given free holds what was deleted, or has moved. */
        w.vacant = p->free_known && bit(p->vacant, i);
        visit_leaf(&w, i, page);
    }
    ash__free(page);
}

/* ---- opening ---- */

static bool is_meta(const uint8_t *meta)
{
    return ash__get_le32(meta + ASH_META_MAGIC_AT) == ASH_META_MAGIC &&
           ash__get_le32(meta + ASH_META_MAGIC_AT + 4) == 1;
}

uint64_t ash__pages_commit(const uint8_t *meta, uint64_t *last_page)
{
    if (!is_meta(meta))
        return 0;
    *last_page = ash__get_le64(meta + ASH_META_LAST_AT);
    return ash__get_le64(meta + ASH_META_TXN_AT);
}

void ash__pages_make_former(uint8_t *meta)
{
    ash__put_le64(meta, ash__get_le64(meta) ^ 1);
    ash__put_le64(meta + ASH_META_TXN_AT, ash__get_le64(meta + ASH_META_TXN_AT) - 1);
}

static bool take_meta(ash_pages *p, uint64_t offset)
{
    uint8_t meta[ASH_META_BYTES];
    if (ash__pages_read(p, offset, meta, sizeof meta, NULL) != 0 || !is_meta(meta))
        return false;
    uint32_t bytes = ash__get_le32(meta + ASH_META_FREE_AT);
    if (bytes < 512 || bytes > 65536 || (bytes & (bytes - 1)) != 0)
        return false;
    uint64_t txn = ash__get_le64(meta + ASH_META_TXN_AT);
    p->metas++;
    /* The newer of the two describes the store; the other is the commit before. */
    if (p->metas > 1 && txn < p->newest)
        return true;
    p->newest = txn;
    p->last = ash__get_le64(meta + ASH_META_LAST_AT);
    p->page_bytes = bytes;
    p->free_root = ash__get_le64(meta + ASH_META_FREE_AT + ASH_TREE_ROOT);
    p->free_entries = ash__get_le64(meta + ASH_META_FREE_AT + ASH_TREE_ENTRIES);
    p->main_root = ash__get_le64(meta + ASH_META_MAIN_AT + ASH_TREE_ROOT);
    return true;
}

static void take_metas(ash_pages *p)
{
    p->page_bytes = 4096;
    p->free_root = p->main_root = ASH_NO_PAGE;
    take_meta(p, 0);
    /* The second page begins where the first says that it ends.  Without the first, pages of each
     * size that there can be are tried. */
    for (uint32_t bytes = p->metas > 0 ? p->page_bytes : 4096; bytes <= 65536; bytes *= 2) {
        if (take_meta(p, bytes))
            break;
        if (p->metas > 0)
            break;
    }
}

int ash__pages_open(const char *path, ash_pages **out, ash_error *err)
{
    struct stat st;
    ash_pages *p = ash__new(ash_pages);
    int rc = ash__file_open(path, O_RDONLY | O_NOFOLLOW, &p->fd, err);
    if (rc == 0 && fstat(p->fd, &st) != 0)
        rc = ash__fail_errno(err, errno, "cannot read %s", path);
    if (rc != 0) {
        ash__free(p);
        return rc;
    }
    p->size = (uint64_t)st.st_size;
    take_metas(p);
    p->count = p->size / p->page_bytes;
    p->seen = ash__alloc(p->count / 8 + 1);
    p->vacant = ash__alloc(p->count / 8 + 1);
    walk frees = {.pages = p, .visit = take_free, .ctx = p, .numbers = true};
    walk_root(&frees, p->free_root);
    p->free_known = p->metas > 0 && p->broken == 0 && p->free_found == p->free_entries;
    p->broken = 0; /* nothing is lost with the list */
    *out = p;
    return 0;
}

void ash__pages_close(ash_pages *p)
{
    if (p == NULL)
        return;
    ash__file_close(p->fd);
    ash__free(p->seen);
    ash__free(p->vacant);
    ash__free(p);
}

uint64_t ash__pages_broken(const ash_pages *p)
{
    return p->broken;
}

uint64_t ash__pages_newest(const ash_pages *p)
{
    return p->newest;
}

bool ash__pages_certain(const ash_pages *p)
{
    return p->metas == 2 && p->free_known;
}

bool ash__pages_are_whole(const ash_pages *p)
{
    return p->metas == 2 && p->broken == 0;
}
