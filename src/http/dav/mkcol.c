/* SPDX-License-Identifier: Apache-2.0 */
#include "http/dav/upload.h"

static void make(ash_dav *dav, ash_exchange *x, const char *path, const ash_dav_guard *g)
{
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    ash_error err = ASH_ERROR_INIT;
    o.fence = g->fence;
    o.if_absent = true;
    int rc = ash_tree_make_folder(dav->tree, path, &o, x->op, NULL, &err);
    if (rc == 0)
        ash__answer_empty(x, 201);
    else if (rc == ASH_EEXISTS)
        ash__answer_text(x, 405, "%s is there already", path);
    else if (rc == ASH_ENOTFOUND)
        ash__answer_text(x, 409, "the folder that %s would lie in is not there", path);
    else
        ash__dav_answer_change(x, &err);
}

void ash__dav_mkcol(ash_dav *dav, ash_exchange *x, const char *path)
{
    ash_dav_guard g = {0};
    ash_error err = ASH_ERROR_INIT;
    ash_tree_entry *folder = NULL;
    if (x->body_length != 0) {
        ash__answer_text(x, 415, "MKCOL takes no body");
        return;
    }
    if (ash__dav_guard(dav, x, path, ASH_GUARD_NAME, &g)) {
        if (g.entry != NULL)
            ash__answer_text(x, 405, "%s is there already", path);
        else if (ash__dav_lookup_parent(dav, x->op, path, &folder, &err) != 0)
            ash__answer_error(x, &err);
        else if (folder == NULL)
            ash__answer_text(x, 409, "the folder that %s would lie in is not there", path);
        else
            make(dav, x, path, &g);
    }
    ash_tree_entry_free(folder);
    ash__dav_guard_release(&g);
}
