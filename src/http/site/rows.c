/* SPDX-License-Identifier: Apache-2.0 */
#include "http/site/rows.h"

#include "base/error.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where something stands in an order. */
typedef struct place {
    bool folder;
    int64_t key; /* size or date; 0 by name */
    const char *name;
} place;

static place place_of(const ash_rows *r, const ash_tree_entry *e)
{
    place p = {ash_tree_entry_is_folder(e), 0, ash_tree_entry_name(e)};
    if (r->sort == 's')
        p.key = ash_tree_entry_length(e);
    if (r->sort == 'd')
        p.key = ash_tree_entry_modified_ms(e);
    return p;
}

static int compare(const ash_rows *r, const place *a, const place *b)
{
    int order = (a->key > b->key) - (a->key < b->key);
    if (a->folder != b->folder)
        return a->folder ? -1 : 1;
    if (order == 0)
        order = strcmp(a->name, b->name);
    return r->descending ? -order : order;
}

static bool is_behind(const ash_rows *r, size_t i, size_t k)
{
    place a = place_of(r, r->entries[i]), b = place_of(r, r->entries[k]);
    return compare(r, &a, &b) > 0;
}

/* ---- the best of all: a heap whose top is the last of those that are kept ---- */

static void swap(ash_rows *r, size_t i, size_t k)
{
    ash_tree_entry *e = r->entries[i];
    r->entries[i] = r->entries[k];
    r->entries[k] = e;
}

static void sink(ash_rows *r, size_t i, size_t count)
{
    for (;;) {
        size_t last = i, left = 2 * i + 1;
        for (size_t k = left; k < left + 2 && k < count; k++)
            if (is_behind(r, k, last))
                last = k;
        if (last == i)
            return;
        swap(r, i, last);
        i = last;
    }
}

static void rise(ash_rows *r, size_t i)
{
    for (; i > 0 && is_behind(r, i, (i - 1) / 2); i = (i - 1) / 2)
        swap(r, i, (i - 1) / 2);
}

static void keep(ash_rows *r, const ash_tree_entry *e)
{
    if (r->count < ASH_ROWS_ON_PAGE) {
        r->entries[r->count++] = ash_tree_entry_copy(e);
        rise(r, r->count - 1);
        return;
    }
    place p = place_of(r, e), top = place_of(r, r->entries[0]);
    r->more = true;
    if (compare(r, &p, &top) > 0)
        return;
    ash_tree_entry_free(r->entries[0]);
    r->entries[0] = ash_tree_entry_copy(e);
    sink(r, 0, r->count);
}

/* What is last goes to the end, and so on. */
static void put_in_order(ash_rows *r)
{
    for (size_t left = r->count; left > 1; left--) {
        swap(r, 0, left - 1);
        sink(r, 0, left - 1);
    }
}

/* ---- places as text: "d12/name", "f12/name" ---- */

void ash__rows_place(const ash_rows *r, ash_buffer *out)
{
    place p = place_of(r, r->entries[r->count - 1]);
    ash__buffer_printf(out, "%c%" PRId64 "/%s", p.folder ? 'd' : 'f', p.key, p.name);
}

static bool read_place(const char *text, place *out)
{
    char *end;
    out->folder = text[0] == 'd';
    if (!out->folder && text[0] != 'f')
        return false;
    out->key = strtoll(text + 1, &end, 10);
    out->name = end + 1;
    return end != text + 1 && *end == '/';
}

/* ---- reading ---- */

int ash__rows_read(ash_rows *r, ash_tree *tree, const ash_op *op, const char *path,
                   const char *after, ash_error *err)
{
    ash_tree_list_options o = ASH_TREE_LIST_OPTIONS_INIT;
    ash_tree_listing *l = NULL;
    const ash_tree_entry *e = NULL;
    place from = {0};
    if (after != NULL && !read_place(after, &from))
        return ash__fail(err, ASH_EINVAL, "`after` is not what a page of this folder said");
    r->entries = ash__alloc_array(ASH_ROWS_ON_PAGE, sizeof(ash_tree_entry *));
    int rc = ash_tree_list(tree, path, &o, op, &l, err);
    while (rc == 0) {
        rc = ash_tree_listing_next(l, &e, err);
        if (rc == ASH_ECORRUPT) {
            r->damaged++;
            rc = 0;
            continue;
        }
        if (rc != 0 || e == NULL)
            break;
        place p = place_of(r, e);
        if (after == NULL || compare(r, &p, &from) > 0)
            keep(r, e);
    }
    ash_tree_listing_free(l);
    put_in_order(r);
    return rc;
}

void ash__rows_release(ash_rows *r)
{
    for (size_t i = 0; i < r->count; i++)
        ash_tree_entry_free(r->entries[i]);
    ash__free(r->entries);
}
