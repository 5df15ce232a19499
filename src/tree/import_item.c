/* SPDX-License-Identifier: Apache-2.0 */
/* Entries on their way: which versions of each the target lacks, and in which order they go. */
#include "tree/import.h"

#include "base/mem.h"

static void release_item(ash_import_item *item)
{
    ash__entries_release(&item->versions);
    ash_tree_entry_free(item->shown);
    ash_tree_entry_free(item->there);
    *item = (ash_import_item){0};
}

void ash__import_release_items(ash_import *im)
{
    for (size_t i = 0; i < im->step_count; i++)
        ash__import_release_step(&im->steps[i]);
    im->step_count = 0;
    for (size_t i = 0; i < im->item_count; i++)
        release_item(&im->items[i]);
    im->item_count = 0;
}

/* ---- what the source has ---- */

static int add_past(ash_import *im, ash_tree_entry *e, void *ctx, ash_error *err)
{
    ash_import_item *item = ctx;
    (void)im, (void)err;
    e->path = ash__strdup(item->shown->path);
    ash__entries_add(&item->versions, e);
    return 0;
}

/* v7files did not say when a version ended; trees of today look for it by that. */
static void settle_ends(ash_tree_entries *list)
{
    for (size_t i = 0; i < list->count; i++) {
        ash_tree_entry *e = list->items[i];
        if (e->ended_ms == 0)
            e->ended_ms = i + 1 < list->count ? list->items[i + 1]->changed_ms : e->changed_ms;
    }
}

/* v7files put a version into the history before it wrote the next one: where it ended in between,
 * the history has what is current still. */
static void drop_unfinished(ash_import_item *item)
{
    ash_tree_entries *list = &item->versions;
    while (list->count > 0 && list->items[list->count - 1]->version >= item->shown->version)
        ash_tree_entry_free(list->items[--list->count]);
}

static int read_versions(ash_import *im, ash_import_item *item, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    bson_t *sort = BCON_NEW("_id", BCON_INT32(1));
    const ash_import_scan past = {im->from->past, &filter, sort, add_past, item};
    int rc = 0;
    item->has_current = !item->shown->is_deleted;
    ash__tree_filter_versions(&filter, &item->shown->id);
    if (!im->opts.without_history)
        rc = ash__import_each(im, &past, err);
    if (rc == 0 && item->has_current) {
        drop_unfinished(item);
        ash__entries_add(&item->versions, ash_tree_entry_copy(item->shown));
    }
    settle_ends(&item->versions);
    bson_destroy(sort);
    bson_destroy(&filter);
    return rc;
}

/* ---- what the target has ---- */

static const ash_tree_entry *find_version(const ash_tree_entries *list, int32_t version)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i]->version == version)
            return list->items[i];
    return NULL;
}

static int32_t newest_of(const ash_import_item *item, const ash_tree_entries *past)
{
    int32_t newest = item->there != NULL ? item->there->version : -1;
    for (size_t i = 0; i < past->count; i++)
        if (past->items[i]->version > newest)
            newest = past->items[i]->version;
    return newest;
}

/* What is current in the source, or deleted, counts only where the target has not gone on from
 * there by itself; what was before is put behind it in any case. */
static bool is_there(const ash_import_item *item, const ash_tree_entries *past, size_t i)
{
    const ash_tree_entry *e = item->versions.items[i];
    bool ends = e->is_deleted || (item->has_current && i + 1 == item->versions.count);
    if (find_version(past, e->version) != NULL)
        return true;
    return ends && e->version <= newest_of(item, past);
}

static void keep_missing(ash_import *im, ash_import_item *item, const ash_tree_entries *past)
{
    ash_tree_entries missing = ASH_TREE_ENTRIES_INIT;
    bool current = false;
    for (size_t i = 0; i < item->versions.count; i++) {
        ash_tree_entry *e = item->versions.items[i];
        if (!is_there(item, past, i)) {
            current = item->has_current && i + 1 == item->versions.count;
            ash__entries_add(&missing, e);
            continue;
        }
        const ash_tree_entry *same = find_version(past, e->version);
        if (missing.count == 0 && same != NULL && same->content.id.len != 0)
            item->before = same->content.id;
        im->report.skipped++;
        ash_tree_entry_free(e);
    }
    ash__free(item->versions.items);
    item->versions = missing;
    item->has_current = current;
    if (item->there != NULL && item->there->content.id.len != 0)
        item->before = item->there->content.id;
}

static int compare_with_target(ash_import *im, ash_import_item *item, ash_error *err)
{
    const bson_value_t *id = ash__import_id(im, &item->shown->id);
    ash_tree_entries past = ASH_TREE_ENTRIES_INIT;
    if (im->fresh)
        return 0;
    int rc = ash__tree_current(im->to, id, &im->op, &item->there, err);
    if (rc == 0)
        rc = ash__tree_past(im->to, id, 0, &im->op, &past, err);
    if (rc == 0)
        keep_missing(im, item, &past);
    ash__entries_release(&past);
    return rc;
}

/* ---- groups ---- */

static int tick(ash_import *im, ash_error *err)
{
    enum { EVERY = 16 };
    int64_t done = ++im->looked_at;
    if (im->opts.progress != NULL && (done == 1 || done % EVERY == 0) &&
        !im->opts.progress(im->opts.progress_ctx, "entries", done, 0))
        return ash__fail(err, ASH_EINTERRUPTED, "the import was stopped");
    return 0;
}

int ash__import_add(ash_import *im, ash_tree_entry *e, ash_error *err)
{
    ash_import_item *item = &im->items[im->item_count++];
    *item = (ash_import_item){.shown = e};
    int rc = tick(im, err);
    if (rc == 0)
        rc = read_versions(im, item, err);
    if (rc == 0)
        rc = compare_with_target(im, item, err);
    if (rc != 0 || item->versions.count == 0) {
        release_item(item);
        im->item_count--;
        return rc;
    }
    return im->item_count == ASH_IMPORT_GROUP ? ash__import_group(im, err) : 0;
}

static int count_group(ash_import *im, ash_error *err)
{
    for (size_t i = 0; i < im->item_count; i++) {
        const ash_import_item *item = &im->items[i];
        im->report.entries++;
        im->report.versions += (int64_t)item->versions.count;
        for (size_t k = 0; k < item->versions.count; k++)
            ash__add_length(&im->report.bytes, item->versions.items[k]->content.length);
        if (im->opts.each != NULL && !im->opts.each(im->opts.each_ctx, item->shown))
            return ash__fail(err, ASH_EINTERRUPTED, "the import was stopped");
    }
    return 0;
}

static int bring_group(ash_import *im, ash_error *err)
{
    size_t most = 0;
    int rc = 0;
    for (size_t i = 0; i < im->item_count; i++)
        most = im->items[i].versions.count > most ? im->items[i].versions.count : most;
    for (size_t turn = 0; rc == 0 && turn < most; turn++) {
        for (size_t i = 0; rc == 0 && i < im->item_count; i++) {
            size_t waits = most - im->items[i].versions.count;
            if (turn >= waits)
                rc = ash__import_step(im, &im->items[i], turn - waits, err);
        }
        if (rc == 0)
            rc = ash__import_flush(im, err);
    }
    return rc;
}

int ash__import_group(ash_import *im, ash_error *err)
{
    int rc = im->opts.dry_run ? count_group(im, err) : bring_group(im, err);
    ash__import_release_items(im);
    return rc;
}
