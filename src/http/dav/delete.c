/* SPDX-License-Identifier: Apache-2.0 */
#include "http/dav/slow.h"
#include "http/dav/upload.h"

#include <string.h>

static void remove_entry(ash_dav *dav, ash_exchange *x, const char *path, ash_dav_guard *g)
{
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    ash_error err = ASH_ERROR_INIT;
    o.fence = g->fence;
    o.if_version = g->if_version;
    o.recursive = true;
    int rc = ash_tree_remove(dav->tree, path, &o, x->op, &err);
    if (rc == 0) {
        ash__dav_locks_gone(g);
        ash__answer_empty(x, 204);
    } else if (rc == ASH_ENOTFOUND) {
        ash__answer_text(x, 404, "there is no %s", path);
    } else {
        ash__dav_answer_change(x, &err);
    }
}

void ash__dav_delete(ash_dav *dav, ash_exchange *x, const char *path)
{
    ash_dav_guard g = {0};
    if (strcmp(path, "/") == 0) {
        ash__answer_text(x, 403, "the tree itself is not deleted by WebDAV");
        return;
    }
    if (ash__dav_guard(dav, x, path, ASH_GUARD_BYTES | ASH_GUARD_NAME | ASH_GUARD_BELOW, &g)) {
        bool is_folder = g.entry != NULL && ash_tree_entry_is_folder(g.entry);
        if (g.entry == NULL || (x->target.is_folder && !is_folder))
            ash__answer_text(x, 404, "there is no %s", path);
        else if (is_folder && ash__dav_depth(x, -1) != -1)
            ash__answer_text(x, 400,
                             "a folder is deleted with all that lies in it (Depth: infinity)");
        else if (!is_folder)
            remove_entry(dav, x, path, &g);
        else if (ash__dav_slow_begin(x)) {
            remove_entry(dav, x, path, &g);
            ash__dav_slow_end();
        }
    }
    ash__dav_guard_release(&g);
}
