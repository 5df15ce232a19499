/* SPDX-License-Identifier: Apache-2.0 */
/* The whole file: its two descriptions of commits, all trees, the list of free pages, and what is
 * in neither. */
#include "engine/census.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "engine/format/page.h"
#include "engine/format/pages.h"
#include "engine/meta_page.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { TOLD_MAX = 200, TRIES = 1000, STILL_TRIES = 50 };

void ash__census_found(ash_census *c, ash_census_finding f, const char *format, ...)
{
    char text[300];
    va_list args;
    c->report->findings++;
    c->report->structure += f.structure;
    /* Counted all the same; one damaged branch can bring thousands. */
    if (c->report->findings > TOLD_MAX || c->opts->finding == NULL)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    f.text = text;
    c->opts->finding(c->opts->ctx, &f);
}

/* ---- the list of free pages ---- */

static ash_census_finding of_page(int invariant, const char *tree, uint64_t page)
{
    return (ash_census_finding){.invariant = invariant,
                                .kind = "pages",
                                .tree = tree,
                                .page = page,
                                .structure = true,
                                .db = -1};
}

static void list_found(ash_census *c, uint64_t page, const char *what)
{
    c->broken = true;
    ash__census_found(c, of_page(14, ash__census_tree_name(ASH_TREE_FREE), page),
                      "page %llu of meta.mdb, free pages: %s", (unsigned long long)page, what);
}

static void list_page(ash_census *c, uint64_t at, uint64_t page)
{
    uint8_t bit = (uint8_t)(1u << page % 8);
    if (page < 2 || page > c->last) {
        list_found(c, at, "a page is listed that the file does not have");
    } else if ((c->listed[page / 8] & bit) != 0) {
        list_found(c, page, "it is listed twice");
    } else {
        c->listed[page / 8] |= bit;
    }
}

/* What one commit left: how many pages, then their numbers, descending. */
static void visit_free(ash_census *c, int tree, uint64_t page, ash_doc key, ash_doc value)
{
    uint64_t commit = key.len == 8 ? ash__get_le64(key.data) : 0;
    uint64_t count = value.len >= 8 ? ash__get_le64(value.data) : 0, before = UINT64_MAX;
    (void)tree;
    if (commit == 0 || commit > c->report->commit || value.len < 8 || value.len % 8 != 0 ||
        count > value.len / 8 - 1) {
        list_found(c, page, "an entry of the list is damaged");
        return;
    }
    for (uint64_t i = 1; i <= count; i++) {
        uint64_t number = ash__get_le64(value.data + 8 * i);
        /* LMDB takes pages from the end of an entry and relies on the order. */
        if (number >= before)
            list_found(c, page, "an entry of the list is out of order");
        before = number;
        list_page(c, page, number);
    }
}

/* Each page is in use or free, once. */
static void judge_pages(ash_census *c)
{
    uint64_t lost = 0, first = 0;
    for (uint64_t i = 2; i <= c->last; i++) {
        bool listed = (c->listed[i / 8] >> i % 8 & 1) != 0;
        /* Of the others' it was said when they were met. */
        if (listed && c->owner[i] == 1 + ASH_TREE_FREE) {
            const char *tree = ash__census_tree_name(c->owner[i] - 1);
            ash__census_found(c, of_page(14, tree, i),
                              "page %llu of meta.mdb, %s: it is in use and listed as free",
                              (unsigned long long)i, tree);
        } else if (!listed && c->owner[i] == 0) {
            first = lost++ == 0 ? i : first;
        }
    }
    /* Behind a page that cannot be followed everything is out of reach. */
    if (lost > 0 && c->report->structure == 0)
        ash__census_found(c, of_page(14, NULL, first),
                          "page %llu of meta.mdb%s neither in use nor listed as free",
                          (unsigned long long)first, lost > 1 ? " and others are" : " is");
}

/* ---- trees ---- */

static void visit_main(ash_census *c, int tree, uint64_t page, ash_doc key, ash_doc value)
{
    (void)tree;
    for (int i = 0; i < ASH_DB_COUNT; i++) {
        const char *name = ash__database_names[i];
        if (key.len != strlen(name) || memcmp(key.data, name, key.len) != 0 ||
            value.len != ASH_TREE_BYTES)
            continue;
        memcpy(c->roots[i], value.data, ASH_TREE_BYTES);
        c->has_root[i] = true;
        return;
    }
    ash_census_finding f = of_page(2, ash__census_tree_name(ASH_TREE_MAIN), page);
    f.all_rows = true;
    ash__census_found(c, f, "page %llu of meta.mdb, databases: an unknown one",
                      (unsigned long long)page);
}

static void walk_database(ash_census *c, int db)
{
    if (c->has_root[db]) {
        ash__census_walk(c, db, c->roots[db], ash__census_row);
        return;
    }
    ash_census_finding f = of_page(2, ash__database_names[db], UINT64_MAX);
    f.db = db;
    ash__census_found(c, f, "meta.mdb has no database %s", ash__database_names[db]);
}

/* Counts and the maps of blocks are compared with what was seen before them. */
static void walk_all(ash_census *c)
{
    static const int order[ASH_DB_COUNT] = {ASH_DB_CATALOG, ASH_DB_DROPS, ASH_DB_RECORDS,
                                            ASH_DB_INDEX,   ASH_DB_OPLOG, ASH_DB_COUNTS,
                                            ASH_DB_SPACE,   ASH_DB_META,  ASH_DB_STATE};
    const uint8_t *own = c->metas + c->report->commit % 2 * c->page_bytes;
    ash__census_walk(c, ASH_TREE_FREE, own + ASH_META_FREE_AT, visit_free);
    ash__census_walk(c, ASH_TREE_MAIN, own + ASH_META_MAIN_AT, visit_main);
    for (int i = 0; i < ASH_DB_COUNT && c->result == 0; i++)
        walk_database(c, order[i]);
    if (c->result != 0)
        return;
    judge_pages(c);
    if (c->report->structure == 0)
        ash__census_rows_judge(c);
}

/* ---- the two descriptions ---- */

/* The commit that left the last entry of a list of free pages; 0: it cannot be read. */
static uint64_t newest_list(const ash_census *c, const uint8_t *meta)
{
    uint64_t number = ash__get_le64(meta + ASH_META_FREE_AT + ASH_TREE_ROOT), commit = 0;
    uint32_t depth = ash__page_le16(meta + ASH_META_FREE_AT + ASH_TREE_DEPTH);
    uint8_t *page = ash__alloc(c->page_bytes);
    for (uint32_t i = 0; i < depth && i < ASH_TREE_DEPTH_MAX && number <= c->last; i++) {
        if (ash__file_read(c->fd, page, c->page_bytes, (off_t)(number * c->page_bytes), NULL) != 0)
            break;
        uint32_t nodes = ash__page_le16(page + 12) > ASH_PAGE_HEADER ? ash__page_nodes(page) : 0;
        uint32_t slot = ASH_PAGE_HEADER + 2 * (nodes - 1);
        if (nodes == 0 || slot + 2 > c->page_bytes ||
            ash__page_le16(page + slot) + ASH_PAGE_NODE + 8 > c->page_bytes)
            break;
        const uint8_t *last = page + ash__page_le16(page + slot);
        number = ash__page_child(last);
        commit = i + 1 == depth ? ash__get_le64(last + ASH_PAGE_NODE) : 0;
    }
    ash__free(page);
    return commit;
}

static bool same_trees(const uint8_t *a, const uint8_t *b)
{
    return memcmp(a + ASH_META_FREE_AT, b + ASH_META_FREE_AT, ASH_META_TXN_AT - ASH_META_FREE_AT) ==
           0;
}

/* Each commit frees pages, and lists them under its number; so a description that bears another's
 * number is told by the list.  A backup describes its one commit twice.  A commit that failed at
 * its very description leaves its trees there: LMDB puts the former number back, and nothing else.
 */
static bool bears_own_number(const ash_census *c, const uint8_t *own, const uint8_t *other)
{
    uint64_t commit = c->report->commit, list = newest_list(c, own);
    uint64_t former = newest_list(c, other);
    return (list == 0 || list == commit) &&
           (same_trees(own, other) || former < commit || former == commit + 1);
}

static const char *judge_former(const ash_census *c)
{
    uint64_t commit = c->report->commit, last = 0;
    const uint8_t *own = c->metas + commit % 2 * c->page_bytes;
    const uint8_t *other = c->metas + (commit + 1) % 2 * c->page_bytes;
    uint64_t former = ash__pages_commit(other, &last);
    if (ash__get_le64(own) != commit % 2 || ash__get_le64(other) != (commit + 1) % 2 ||
        ash__page_flags(own) != ASH_PAGE_META || ash__page_flags(other) != ASH_PAGE_META)
        return "a description of a commit is damaged";
    /* The next commit's is there while it is on its way to the disk. */
    if (former == commit + 1)
        return NULL;
    if (commit > 1 && former != commit - 1)
        return "the descriptions are not of two commits in a row";
    if (last > c->last)
        return "the commit before the newest has more pages";
    if (!bears_own_number(c, own, other))
        return "a description bears the number of another commit";
    return NULL;
}

static void judge_metas(ash_census *c)
{
    const char *what = judge_former(c);
    ash_census_finding f = of_page(2, NULL, 0);
    f.all_rows = true;
    if (what != NULL)
        ash__census_found(c, f, "pages 0 and 1 of meta.mdb: %s", what);
}

/* The next commit may be about to write its description over the former one: what looks wrong has
 * to stay so for a while. */
static int catch_metas(ash_census *c, ash_error *err)
{
    bool caught = false;
    int result = 0;
    const ash_meta_pages pages = {c->fd, c->page_bytes, c->metas};
    for (int i = 0; result == 0 && i < TRIES; i++) {
        /* Anew with each try: the former commit may have been followed by another. */
        ash__lmdb_txn_reset(c->txn);
        int rc = ash__lmdb_txn_renew(c->txn);
        if (rc != 0)
            return ash__lmdb_fail(rc, err, "cannot read the metadata");
        result = ash__meta_pages_read(c->engine, c->txn, &pages, &caught, err);
        c->report->commit = mdb_txn_id(c->txn);
        if (caught && ash__pages_commit(c->metas + c->report->commit % 2 * c->page_bytes,
                                        &c->last) != c->report->commit)
            return ash__fail(err, ASH_ECORRUPT, "the description of a commit is damaged");
        if (caught && (judge_former(c) == NULL || i >= STILL_TRIES))
            return 0;
        if (caught)
            ash__clock_sleep_ms(1);
    }
    return result != 0 ? result : ash__fail(err, ASH_EBUSY, "the store changes too fast");
}

static int begin(ash_census *c, ash_error *err)
{
    MDB_stat facts;
    mdb_filehandle_t fd;
    int rc = ash__lmdb_env_stat(c->engine->env, &facts);
    if (rc == 0)
        rc = mdb_env_get_fd(c->engine->env, &fd);
    if (rc == 0)
        rc = ash__lmdb_txn_begin(c->engine->env, NULL, MDB_RDONLY, &c->txn);
    if (rc != 0)
        return ash__lmdb_fail(rc, err, "cannot read the metadata");
    c->fd = fd;
    c->page_bytes = facts.ms_psize;
    c->metas = ash__alloc((size_t)2 * c->page_bytes);
    return catch_metas(c, err);
}

static int take_once(ash_engine *e, const ash_census_options *opts, ash_census_report *out,
                     ash_error *err)
{
    ash_census c = {.engine = e, .opts = opts, .report = out, .error = ASH_ERROR_INIT};
    memset(out, 0, sizeof *out);
    int rc = begin(&c, err);
    if (rc == 0 &&
        (c.last >= SIZE_MAX / 2 || (c.owner = ash__try_alloc((size_t)c.last + 1)) == NULL ||
         (c.listed = ash__try_alloc((size_t)c.last / 8 + 1)) == NULL))
        rc = ash__fail(err, ASH_ENOMEM, "there is no memory for a census of %llu pages",
                       (unsigned long long)c.last + 1);
    if (rc == 0) {
        memset(c.owner, 0, (size_t)c.last + 1);
        memset(c.listed, 0, (size_t)c.last / 8 + 1);
        c.rows = ash__census_rows_new();
        judge_metas(&c);
        walk_all(&c);
        rc = c.result;
        if (rc != 0 && err != NULL)
            *err = c.error;
    }
    if (c.txn != NULL)
        ash__lmdb_txn_abort(c.txn);
    ash__census_rows_free(c.rows);
    ash__free(c.owner);
    ash__free(c.listed);
    ash__free(c.metas);
    return rc;
}

/* What is told has been seen twice, of two snapshots: it ends writing. */
int ash__census_take(ash_engine *e, const ash_census_options *opts, ash_census_report *out,
                     ash_error *err)
{
    ash_census_options silent = *opts;
    silent.finding = NULL;
    int rc = take_once(e, &silent, out, err);
    return rc == 0 && out->findings > 0 ? take_once(e, opts, out, err) : rc;
}
