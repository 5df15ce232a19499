/* SPDX-License-Identifier: Apache-2.0 */
/* COPY and MOVE.  A file that is overwritten by a file keeps its past; where a folder is on either
 * side, what was there goes to the trash, in the same commit. */
#include "base/mem.h"
#include "http/dav/dead.h"
#include "http/dav/upload.h"

#include <string.h>

typedef struct copying {
    ash_dav *dav;
    ash_exchange *x;
    const char *from;
    char *to;
    bool move, alone; /* alone: Depth 0, a folder without what lies in it */
    ash_dav_guard source, target;
} copying;

static bool is_below(const char *path, const char *above)
{
    size_t len = strlen(above);
    return strncmp(path, above, len) == 0 && path[len] == '/';
}

/* 0: go on; else x is answered. */
static bool check_paths(copying *c)
{
    ash_exchange *x = c->x;
    int depth = ash__dav_depth(x, -1);
    bool is_folder;
    int status = ash__dav_destination(c->dav, x, &c->to, &is_folder);
    if (status != 0)
        ash__answer_text(x, status,
                         "the Destination is missing, is none, or is not on this server");
    else if (strcmp(c->from, "/") == 0 || strcmp(c->to, "/") == 0 || strcmp(c->from, c->to) == 0)
        ash__answer_text(x, 403,
                         "the source is the root, or the destination is, or both are the same");
    else if (is_below(c->to, c->from) || is_below(c->from, c->to))
        ash__answer_text(x, 409, "one of source and destination lies in the other");
    else if (depth == 1 || depth == -2)
        ash__answer_text(x, 400, "Depth is 0 or infinity here");
    else {
        /* RFC 4918 §9.9.2: a MOVE acts as if it were infinity, whatever it says of a file. */
        c->alone = depth == 0 && !c->move;
        return true;
    }
    return false;
}

static bool check_target(copying *c)
{
    ash_exchange *x = c->x;
    ash_error err = ASH_ERROR_INIT;
    ash_tree_entry *folder = NULL;
    const char *overwrite = ash__head_field(x->head, "Overwrite");
    int rc = ash__dav_lookup_parent(c->dav, c->to, &folder, &err);
    bool there = folder != NULL;
    ash_tree_entry_free(folder);
    if (rc != 0)
        ash__answer_error(x, &err);
    else if (!there)
        ash__answer_text(x, 409, "the folder that %s would lie in is not there", c->to);
    else if (c->target.entry != NULL && overwrite != NULL && strcmp(overwrite, "F") == 0)
        ash__answer_text(x, 412, "%s is there already, and is not to be overwritten", c->to);
    return rc == 0 && there && x->status == 0;
}

static int transfer(copying *c, const ash_op *op, ash_error *err)
{
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    o.recursive = true;
    o.replace = true;
    if (c->move) {
        o.fence = c->source.fence;
        o.if_version = c->source.if_version;
        return ash_tree_move(c->dav->tree, c->from, c->to, &o, op, NULL, err);
    }
    o.fence = c->target.fence;
    if (c->alone && ash_tree_entry_is_folder(c->source.entry)) {
        bson_t props;
        if (ash__dav_props(c->source.entry, &props))
            o.props = &props;
        return ash_tree_make_folder(c->dav->tree, c->to, &o, op, NULL, err);
    }
    return ash_tree_copy(c->dav->tree, c->from, NULL, c->to, &o, op, NULL, err);
}

/* What is in the way goes, and the other comes, or neither. */
static int replace(ash_transaction *transaction, void *ctx, ash_error *err)
{
    copying *c = ctx;
    ash_op op = ASH_OP_INIT;
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    op.transaction = transaction;
    o.fence = c->target.fence;
    o.recursive = true;
    int rc = ash_tree_remove(c->dav->tree, c->to, &o, &op, err);
    return rc == 0 ? transfer(c, &op, err) : rc;
}

static void carry_out(copying *c)
{
    ash_exchange *x = c->x;
    ash_error err = ASH_ERROR_INIT;
    bool folders = c->target.entry != NULL && (ash_tree_entry_is_folder(c->target.entry) ||
                                               ash_tree_entry_is_folder(c->source.entry));
    int rc;
    if (folders) {
        rc = ash_tree_prepare(c->dav->tree, NULL, &err);
        if (rc == 0)
            rc = ash_store_transact(c->dav->store, replace, c, NULL, &err);
    } else {
        rc = transfer(c, NULL, &err);
    }
    if (rc != 0) {
        ash__dav_answer_change(x, &err);
        return;
    }
    if (c->move)
        ash__dav_locks_gone(&c->source);
    if (folders || (c->move && c->target.entry != NULL))
        ash__dav_locks_gone(&c->target);
    ash__answer_empty(x, c->target.entry != NULL ? 204 : 201);
}

void ash__dav_copy(ash_dav *dav, ash_exchange *x, const char *path)
{
    copying c = {.dav = dav, .x = x, .from = path, .move = strcmp(x->method, "MOVE") == 0};
    unsigned source = c.move ? ASH_GUARD_BYTES | ASH_GUARD_NAME | ASH_GUARD_BELOW : ASH_GUARD_READ;
    if (check_paths(&c) && ash__dav_guard(dav, x, path, source, &c.source)) {
        if (c.source.entry == NULL)
            ash__answer_text(x, 404, "there is no %s", path);
        else if (ash__dav_guard(dav, x, c.to,
                                ASH_GUARD_BYTES | ASH_GUARD_NAME | ASH_GUARD_BELOW |
                                    ASH_GUARD_OTHER,
                                &c.target) &&
                 check_target(&c))
            carry_out(&c);
    }
    ash__dav_guard_release(&c.source);
    ash__dav_guard_release(&c.target);
    ash__free(c.to);
}
