/* SPDX-License-Identifier: Apache-2.0 */
/* One entry of a folder that becomes what it was.
 *
 * Those of then are settled in the order of listings, so that the folder of each is in its place
 * already, or would be in a dry run. */
#include "tree/rewind.h"

#include "base/mem.h"
#include "tree/restore.h"
#include "tree/set.h"

#include <string.h>

/* Where an entry of then is, when it is not at its path. */
typedef enum where { IN_TRASH, IN_FOLDER, OUTSIDE } where;

bool ash__rewind_is_below(const char *path, const char *folder)
{
    size_t len = strcmp(folder, "/") == 0 ? 0 : strlen(folder);
    return strncmp(path, folder, len) == 0 && path[len] == '/' && path[len + 1] != 0;
}

bool ash__rewind_arrived(ash_tree_rewind *w, const char *path)
{
    while (w->arrival_count > 0 &&
           !ash__rewind_is_below(path, w->arrivals[w->arrival_count - 1].path))
        ash__free(w->arrivals[--w->arrival_count].path);
    return w->arrival_count > 0;
}

static void arrive(ash_tree_rewind *w, const ash_tree_entry *e, const char *path, bool is_back)
{
    if (!e->is_folder)
        return;
    w->arrivals =
        ash__grow_array(w->arrivals, w->arrival_count, &w->arrival_capacity, sizeof *w->arrivals);
    w->arrivals[w->arrival_count++] = (ash_tree_arrival){ash__strdup(path), is_back};
}

int ash__rewind_did(ash_tree_rewind *w, ash_tree_event_kind kind, const ash_tree_entry *entry,
                    const char *from, ash_error *err)
{
    int64_t *const counts[] = {[ASH_TREE_CREATED] = &w->report.created,
                               [ASH_TREE_CHANGED] = &w->report.changed,
                               [ASH_TREE_MOVED] = &w->report.moved,
                               [ASH_TREE_DELETED] = &w->report.deleted};
    ash_tree_event event = ASH_TREE_EVENT_INIT;
    ++*counts[kind];
    event.kind = kind;
    event.path = entry->path;
    event.from = from;
    event.entry = entry;
    w->stopped = w->opts->each != NULL && !w->opts->each(w->opts->each_ctx, &event);
    return w->stopped ? ash__fail(err, ASH_EINTERRUPTED, "stopped by the caller") : 0;
}

int ash__rewind_remove(ash_tree_rewind *w, const ash_tree_entry *now, ash_error *err)
{
    ash_tree_change_options o = w->change;
    o.if_version = now->version;
    o.recursive = true;
    int rc = w->opts->dry_run ? 0 : ash_tree_remove(w->tree, now->path, &o, &w->op, err);
    return rc == 0 ? ash__rewind_did(w, ASH_TREE_DELETED, now, NULL, err) : rc;
}

/* ---- what is in its place ---- */

static bool is_as_then(const ash_tree_entry *then, const ash_tree_entry *now)
{
    bson_t set = BSON_INITIALIZER;
    ash__restored_fields(then, &set);
    bool same = then->version == now->version || ash__entry_says(now, &set);
    bson_destroy(&set);
    return same;
}

/* Of folders nobody would ask: what lies in them is counted. */
static void count_unchanged(ash_tree_rewind *w, const ash_tree_entry *then)
{
    w->report.unchanged += !then->is_folder;
}

/* came: it has just been brought here, which counts once, whatever else it takes; or came along with
 * its folder. */
static int settle(ash_tree_rewind *w, const ash_tree_entry *then, const ash_tree_entry *now,
                  bool came, ash_error *err)
{
    ash_tree_change_options o = w->change;
    ash_tree_entry *entry = NULL;
    bool same = is_as_then(then, now);
    o.if_version = now->version;
    int rc = 0;
    if (!same && !w->opts->dry_run)
        rc = ash_tree_restore(w->tree, then->path, then->version, &o, &w->op, &entry, err);
    const ash_tree_entry *shown = entry != NULL ? entry : w->opts->dry_run ? then : now;
    if (rc == 0 && came)
        rc = ash__rewind_did(w, ASH_TREE_CREATED, shown, NULL, err);
    else if (rc == 0 && !same)
        rc = ash__rewind_did(w, ASH_TREE_CHANGED, shown, NULL, err);
    else if (rc == 0)
        count_unchanged(w, then);
    ash_tree_entry_free(entry);
    return rc;
}

/* ---- what is not ---- */

static bool has_place_of(const ash_tree_entry *then, const ash_tree_entry *e)
{
    return ash__same_id(&then->parent, &e->parent) && strcmp(then->name, e->name) == 0;
}

/* In a dry run: it would have been removed by now, to make room for another. */
static bool would_be_gone(const ash_tree_rewind *w, const ash_tree_entry *e)
{
    const ash_tree_moved *moved = ash__rewind_moved(w, &e->id);
    return moved != NULL && moved->to == NULL;
}

/* from: where it is, or was last, as far as that is known. */
static int find(ash_tree_rewind *w, const ash_tree_entry *then, ash_tree_entry **from, where *out,
                ash_error *err)
{
    ash_tree_chain chain = ASH_TREE_CHAIN_INIT;
    bool reached = false;
    *out = OUTSIDE;
    int rc = ash__tree_newest(w->tree, &then->id, &w->op, from, err);
    if (rc != 0 || *from == NULL)
        return rc;
    if ((*from)->is_deleted) {
        *out = IN_TRASH;
        return 0;
    }
    rc = ash__tree_climb(w->tree, *from, &w->op, &chain, &reached, err);
    bool gone = would_be_gone(w, *from);
    for (size_t i = 0; rc == 0 && i < chain.count; i++)
        gone = gone || would_be_gone(w, chain.items[i]);
    for (size_t i = 0; rc == 0 && reached && i < chain.count; i++)
        if (!chain.items[i]->is_deleted && ash__same_id(&chain.items[i]->id, &w->top))
            *out = IN_FOLDER;
    if (rc == 0 && gone)
        *out = IN_TRASH;
    if (rc == 0)
        ash__entry_set_path(*from,
                            chain.count > 0 ? ash__chain_last(&chain)->path : ASH_TREE_NOWHERE);
    ash__chain_release(&chain);
    return rc;
}

/* To its place if it is the same one, so that a large folder can go on coming back. */
static int undelete(ash_tree_rewind *w, const ash_tree_entry *then, const ash_tree_entry *gone,
                    ash_error *err)
{
    ash_tree_entry *entry = NULL;
    const char *to = has_place_of(then, gone) ? NULL : then->path;
    int rc = w->opts->dry_run
                 ? 0
                 : ash_tree_undelete(w->tree, &then->id, to, &w->change, &w->op, &entry, err);
    /* What would have been removed comes back from there. */
    if (rc == 0 && w->opts->dry_run && !gone->is_deleted)
        ash__rewind_remember(w, &then->id, then->path);
    if (rc == 0) {
        arrive(w, then, then->path, true);
        rc = settle(w, then, entry != NULL ? entry : then, true, err);
    }
    ash_tree_entry_free(entry);
    return rc;
}

static int move(ash_tree_rewind *w, const ash_tree_entry *then, const ash_tree_entry *from,
                ash_error *err)
{
    ash_tree_change_options o = w->change;
    ash_tree_entry *entry = NULL;
    o.if_version = from->version;
    int rc = 0;
    if (w->opts->dry_run)
        ash__rewind_remember(w, &then->id, then->path);
    else
        rc = ash_tree_move(w->tree, from->path, then->path, &o, &w->op, &entry, err);
    if (rc == 0) {
        arrive(w, then, then->path, false);
        rc = ash__rewind_did(w, ASH_TREE_MOVED, entry != NULL ? entry : then, from->path, err);
    }
    /* The version that it has now is that of its move: what counts is what it says. */
    if (rc == 0 && !is_as_then(then, from))
        rc = settle(w, then, entry != NULL ? entry : from, false, err);
    ash_tree_entry_free(entry);
    return rc;
}

/* A folder by itself: what lay in it is settled after it. */
static int copy_folder(ash_tree_rewind *w, const ash_tree_entry *then, ash_tree_entry **entry,
                       ash_error *err)
{
    ash_tree_change_options o = w->change;
    bson_iter_t it;
    bson_t props;
    const uint8_t *data;
    uint32_t len;
    o.if_absent = true;
    o.content_type = ash_tree_entry_content_type(then);
    o.modified_ms = ash__entry_field(then, "modified_at", &it) ? then->modified_ms : 0;
    if (ash__entry_field(then, "props", &it) && BSON_ITER_HOLDS_DOCUMENT(&it)) {
        bson_iter_document(&it, &len, &data);
        if (bson_init_static(&props, data, len))
            o.props = &props;
    }
    return ash_tree_make_folder(w->tree, then->path, &o, &w->op, entry, err);
}

static int copy(ash_tree_rewind *w, const ash_tree_entry *then, ash_error *err)
{
    ash_tree_change_options o = w->change;
    ash_tree_when when = ASH_TREE_WHEN_INIT;
    ash_tree_entry *entry = NULL;
    when.at_ms = w->opts->at_ms;
    o.if_absent = true;
    int rc = 0;
    if (!w->opts->dry_run)
        rc = then->is_folder
                 ? copy_folder(w, then, &entry, err)
                 : ash_tree_copy(w->tree, then->path, &when, then->path, &o, &w->op, &entry, err);
    if (rc == 0) {
        arrive(w, then, then->path, false);
        rc = ash__rewind_did(w, ASH_TREE_CREATED, w->opts->dry_run ? then : entry, NULL, err);
    }
    ash_tree_entry_free(entry);
    return rc;
}

/* Of what lies elsewhere, something of its kind is there: a copy that was brought before, perhaps. */
static int copy_onto(ash_tree_rewind *w, const ash_tree_entry *then, const ash_tree_entry *now,
                     ash_error *err)
{
    ash_tree_change_options o = w->change;
    ash_tree_when when = ASH_TREE_WHEN_INIT;
    ash_tree_entry *entry = NULL;
    bson_t set = BSON_INITIALIZER;
    ash__restored_fields(then, &set);
    bool same = then->is_folder || ash__entry_says(now, &set);
    bson_destroy(&set);
    if (same) {
        count_unchanged(w, then);
        return 0;
    }
    when.at_ms = w->opts->at_ms;
    o.if_version = now->version;
    o.replace = true;
    int rc = w->opts->dry_run
                 ? 0
                 : ash_tree_copy(w->tree, then->path, &when, then->path, &o, &w->op, &entry, err);
    if (rc == 0)
        rc = ash__rewind_did(w, ASH_TREE_CHANGED, entry != NULL ? entry : then, NULL, err);
    ash_tree_entry_free(entry);
    return rc;
}

/* now: another one at its path, or NULL.  is_back: its folder came back from the trash, or would. */
static int bring(ash_tree_rewind *w, const ash_tree_entry *then, const ash_tree_entry *now,
                 bool is_back, ash_error *err)
{
    ash_tree_entry *from = NULL;
    where at;
    int rc = find(w, then, &from, &at, err);
    if (rc == 0 && at == OUTSIDE && now != NULL && now->is_folder == then->is_folder) {
        ash_tree_entry_free(from);
        return copy_onto(w, then, now, err);
    }
    /* It lies in what has its place, and goes with that. */
    if (rc == 0 && at == IN_FOLDER && now != NULL && ash__rewind_is_below(from->path, now->path))
        at = IN_TRASH;
    if (rc == 0 && now != NULL && w->opts->dry_run)
        ash__rewind_remember(w, &now->id, NULL);
    if (rc == 0 && now != NULL)
        rc = ash__rewind_remove(w, now, err);
    /* Its folder came back, or would, and it with that. */
    bool along = rc == 0 && now == NULL && at == IN_FOLDER && has_place_of(then, from);
    if (rc == 0 && along)
        rc = settle(w, then, from, is_back, err);
    else if (rc == 0 && at == IN_TRASH)
        rc = undelete(w, then, from, err);
    else if (rc == 0 && at == IN_FOLDER)
        rc = move(w, then, from, err);
    else if (rc == 0)
        rc = copy(w, then, err);
    ash_tree_entry_free(from);
    return rc;
}

int ash__rewind_entry(ash_tree_rewind *w, const ash_tree_entry *then, const ash_tree_entry *now,
                      ash_error *err)
{
    ash_tree_entry *there = NULL;
    ash_error own = ASH_ERROR_INIT;
    bool arrived = ash__rewind_arrived(w, then->path);
    bool is_back = arrived && w->arrivals[w->arrival_count - 1].is_back;
    if (!arrived && now != NULL && ash__same_id(&then->id, &now->id) &&
        then->version == now->version) {
        count_unchanged(w, then);
        return 0;
    }
    /* What is below a folder that would arrive cannot be asked by its path. */
    int rc = w->opts->dry_run && arrived
                 ? 0
                 : ash_tree_get(w->tree, then->path, NULL, &w->op, &there, &own);
    if (rc != 0 && rc != ASH_ENOTFOUND)
        return ash__unless(0, rc, &own, err);
    if (there != NULL && ash__rewind_moved(w, &there->id) != NULL) {
        ash_tree_entry_free(there);
        there = NULL;
    }
    if (there != NULL && ash__same_id(&then->id, &there->id))
        rc = settle(w, then, there, is_back, err);
    else
        rc = bring(w, then, there, is_back, err);
    ash_tree_entry_free(there);
    return rc;
}
