/* SPDX-License-Identifier: Apache-2.0 */
/* COPY and MOVE.  A file that is copied onto a file is its new version; whatever else is in the way
 * goes to the trash, in the same commit. */
#include "base/mem.h"
#include "http/dav/below.h"
#include "http/dav/dead.h"
#include "http/dav/slow.h"
#include "http/dav/upload.h"

#include <string.h>
#include <strings.h>

/* More entries than that are neither copied nor removed in one commit, which would keep them all in
 * memory, and every other writer waiting. */
enum { MAX_IN_COMMIT = 10000 };

typedef struct copying {
    ash_dav *dav;
    ash_exchange *x;
    const char *from;
    char *to;
    bool move;
    bool alone;       /* Depth 0: a folder without what lies in it */
    bool keep_target; /* Overwrite: F */
    ash_dav_guard source, target;
} copying;

static bool is_below(const char *path, const char *above)
{
    size_t len = strlen(above);
    return strncmp(path, above, len) == 0 && path[len] == '/';
}

/* Each that returns false has answered x. */

static bool check_paths(copying *c)
{
    ash_exchange *x = c->x;
    bool is_folder;
    int status = ash__dav_destination(c->dav, x, &c->to, &is_folder);
    if (status == 502)
        ash__answer_text(x, 502, "the Destination is not in this tree");
    else if (status != 0)
        ash__answer_text(x, status, "there is no Destination, or none that could be");
    else if (strcmp(c->from, "/") == 0 || strcmp(c->to, "/") == 0)
        ash__answer_text(x, 403, "the root is neither moved nor copied, nor replaced");
    else if (strcmp(c->from, c->to) == 0 || is_below(c->to, c->from))
        ash__answer_text(x, 403, "the destination is the source, or lies in it");
    else if (is_below(c->from, c->to))
        ash__answer_text(x, 409, "the source lies in what it would replace");
    return !ash__answered(x);
}

static bool check_source(copying *c)
{
    ash_exchange *x = c->x;
    const ash_tree_entry *e = c->source.entry;
    int depth = ash__dav_depth(x, -1);
    if (e == NULL || (x->target.is_folder && !ash_tree_entry_is_folder(e)))
        ash__answer_text(x, 404, "there is no %s", c->from);
    else if (ash_tree_entry_is_folder(e) && depth != -1 && (depth != 0 || c->move))
        ash__answer_text(x, 400,
                         c->move ? "folders are moved with all that lies in them"
                                 : "Depth of a COPY is 0 or infinity");
    c->alone = depth == 0;
    return !ash__answered(x);
}

/* What has a list of its own goes along with its folder: only where who asks could move it, too. */
static bool check_members(copying *c)
{
    ash_error err = ASH_ERROR_INIT;
    bool closed = false;
    if (c->move &&
        ash__dav_has_closed_members(c->dav, c->x->op, c->source.entry, &closed, &err) != 0)
        ash__answer_error(c->x, &err);
    else if (closed)
        ash__answer_text(c->x, 403, "something in %s is not yours to move", c->from);
    return !ash__answered(c->x);
}

static bool check_target(copying *c)
{
    ash_exchange *x = c->x;
    ash_error err = ASH_ERROR_INIT;
    ash_tree_entry *folder = NULL;
    const char *overwrite = ash__head_field(x->head, "Overwrite");
    int rc = ash__dav_lookup_parent(c->dav, x->op, c->to, &folder, &err);
    c->keep_target = overwrite != NULL && strcasecmp(overwrite, "F") == 0;
    if (rc != 0)
        ash__answer_error(x, &err);
    else if (folder == NULL)
        ash__answer_text(x, 409, "the folder that %s would lie in is not there", c->to);
    else if (c->target.entry != NULL && c->keep_target)
        ash__answer_text(x, 412, "%s is there already, and is not to be overwritten", c->to);
    ash_tree_entry_free(folder);
    return !ash__answered(x);
}

/* ---- doing it ---- */

/* What is in the way is gone, or is a file that becomes another version. */
static int transfer(copying *c, const ash_op *op, ash_error *err)
{
    ash_tree *tree = c->dav->tree;
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    bson_t props;
    o.recursive = true;
    if (c->move) {
        o.fence = ash__dav_guard_fences(&c->source, &c->target);
        o.if_version = c->source.if_version;
        return ash_tree_move(tree, c->from, c->to, &o, op, NULL, err);
    }
    o.fence = c->target.fence;
    if (c->alone && ash_tree_entry_is_folder(c->source.entry)) {
        if (ash__dav_props(c->source.entry, &props))
            o.props = &props;
        return ash_tree_make_folder(tree, c->to, &o, op, NULL, err);
    }
    o.replace = c->target.entry != NULL && !ash_tree_entry_is_folder(c->target.entry);
    return ash_tree_copy(tree, c->from, NULL, c->to, &o, op, NULL, err);
}

static int remove_target(copying *c, const ash_op *op, ash_error *err)
{
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    o.fence = c->target.fence;
    o.recursive = true;
    int rc = ash_tree_remove(c->dav->tree, c->to, &o, op, err);
    /* Somebody was faster. */
    return rc == ASH_ENOTFOUND ? 0 : rc;
}

static int replace(ash_transaction *transaction, void *ctx, ash_error *err)
{
    copying *c = ctx;
    ash_op op = ash__dav_op(c->x);
    op.transaction = transaction;
    int rc = remove_target(c, &op, err);
    return rc == 0 ? transfer(c, &op, err) : rc;
}

/* Are there so many that they are done in several commits? */
static int is_large(copying *c, const ash_tree_entry *e, bool *large, ash_error *err)
{
    ash_tree_list_options o = ASH_TREE_LIST_OPTIONS_INIT;
    ash_tree_listing *l = NULL;
    const ash_tree_entry *next = e;
    int64_t count = 0;
    int rc = 0;
    *large = false;
    if (!ash_tree_entry_is_folder(e))
        return 0;
    o.recursive = true;
    rc = ash_tree_list(c->dav->tree, ash_tree_entry_path(e), &o, c->x->op, &l, err);
    while (rc == 0 && next != NULL && count <= MAX_IN_COMMIT) {
        rc = ash_tree_listing_next(l, &next, err);
        count++;
    }
    *large = count > MAX_IN_COMMIT;
    ash_tree_listing_free(l);
    return rc;
}

static int replace_target(copying *c, ash_error *err)
{
    bool large_target = false, large_source = false;
    int rc = ash_tree_prepare(c->dav->tree, NULL, err);
    if (rc == 0)
        rc = is_large(c, c->target.entry, &large_target, err);
    if (rc == 0 && !c->move && !c->alone)
        rc = is_large(c, c->source.entry, &large_source, err);
    if (rc != 0)
        return rc;
    if (!large_target && !large_source)
        return ash_store_transact(c->dav->store, replace, c, NULL, err);
    /* What was in the way is in the trash, should the second step fail. */
    rc = remove_target(c, c->x->op, err);
    return rc == 0 ? transfer(c, c->x->op, err) : rc;
}

static bool is_folder(const ash_tree_entry *e)
{
    return e != NULL && ash_tree_entry_is_folder(e);
}

static void carry_out(copying *c)
{
    ash_exchange *x = c->x;
    ash_error err = ASH_ERROR_INIT;
    const ash_tree_entry *there = c->target.entry;
    bool is_version = there != NULL && !c->move && !ash_tree_entry_is_folder(there) &&
                      !ash_tree_entry_is_folder(c->source.entry);
    bool replaces = there != NULL && !is_version;
    int rc = replaces ? replace_target(c, &err) : transfer(c, x->op, &err);
    if (rc == ASH_EEXISTS && c->keep_target)
        ash__answer_text(x, 412, "%s is there already, and is not to be overwritten", c->to);
    else if (rc == ASH_EEXISTS)
        ash__answer_text(x, 409, "somebody else made %s meanwhile; try again", c->to);
    else if (rc != 0)
        ash__dav_answer_change(x, &err);
    if (rc != 0)
        return;
    if (c->move)
        ash__dav_locks_gone(&c->source);
    if (replaces)
        ash__dav_locks_gone(&c->target);
    ash__answer_empty(x, there != NULL ? 204 : 201);
}

static void carry_out_in_turn(copying *c)
{
    bool slow = is_folder(c->source.entry) || is_folder(c->target.entry);
    if (slow && !ash__dav_slow_begin(c->x))
        return;
    if (check_members(c))
        carry_out(c);
    if (slow)
        ash__dav_slow_end();
}

void ash__dav_copy(ash_dav *dav, ash_exchange *x, const char *path)
{
    copying c = {.dav = dav, .x = x, .from = path, .move = strcmp(x->method, "MOVE") == 0};
    unsigned source = c.move ? ASH_GUARD_BYTES | ASH_GUARD_NAME | ASH_GUARD_BELOW : ASH_GUARD_READ;
    unsigned target = ASH_GUARD_BYTES | ASH_GUARD_NAME | ASH_GUARD_BELOW | ASH_GUARD_OTHER;
    if (check_paths(&c) && ash__dav_guard(dav, x, path, source, &c.source) && check_source(&c) &&
        ash__dav_guard(dav, x, c.to, target, &c.target) && check_target(&c))
        carry_out_in_turn(&c);
    ash__dav_guard_release(&c.source);
    ash__dav_guard_release(&c.target);
    ash__free(c.to);
}
