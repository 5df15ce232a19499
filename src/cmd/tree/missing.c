/* SPDX-License-Identifier: Apache-2.0 */
/* What is not there: what became of it, and which trees there are. */
#include "cmd/tree/room.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"

#include <string.h>

/* ---- paths ---- */

/* The shortest part of the path that nothing has now; the caller frees.  NULL: all of it is there,
 * or cannot be asked. */
static char *find_gone(const ash_cmd_tree_run *r, const char *path)
{
    char *part = path[0] == '/' ? ash__strdup(path) : ash__sprintf("/%s", path);
    for (size_t len = strlen(part); len > 1 && part[len - 1] == '/'; len--)
        part[len - 1] = 0;
    for (char *slash = strchr(part + 1, '/');; slash = strchr(slash + 1, '/')) {
        ash_tree_entry *there = NULL;
        ash_error own = ASH_ERROR_INIT;
        if (slash != NULL)
            *slash = 0;
        int rc = ash__cmd_tree_peek(r, part, &there, &own);
        bool gone = rc == 0 && there == NULL;
        ash_tree_entry_free(there);
        if (gone)
            return part;
        if (rc != 0 || slash == NULL)
            break;
        *slash = '/';
    }
    ash__free(part);
    return NULL;
}

/* Of what was deleted; path: where it was last. */
static char *tell_deletion(const ash_cmd_tree_run *r, const char *gone, const ash_tree_entry *last)
{
    char date[64], *path = ash__cmd_tree_quoted(ash_tree_entry_path(last));
    char *root = r->root != NULL ? ash__cmd_tree_quoted(r->root) : NULL;
    bool moved = strcmp(ash_tree_entry_path(last), gone) != 0;
    ash__clock_print(date, sizeof date, ash_tree_entry_changed_ms(last));
    char *text =
        ash__sprintf("%s was %sdeleted on %s: `ashlar tree undelete %s%s%s%s` brings it back, "
                     "and `log` shows its versions",
                     gone, moved ? "moved, and " : "", date, root != NULL ? "--root " : "",
                     root != NULL ? root : "", root != NULL ? " " : "", path);
    ash__free(path);
    ash__free(root);
    return text;
}

/* What had the path last, in words behind another text; the caller frees.  NULL: nobody knows. */
static char *tell_last(const ash_cmd_tree_run *r, const char *gone)
{
    ash_tree_listing *listing = NULL;
    const ash_tree_entry *last = NULL;
    char *text = NULL;
    int rc = ash_tree_history(r->tree, gone, 2, &r->op, &listing, NULL);
    if (rc == 0)
        rc = ash_tree_listing_next(listing, &last, NULL);
    if (rc == 0 && last != NULL && ash_tree_entry_is_deleted(last))
        text = tell_deletion(r, gone, last);
    else if (rc == 0 && last != NULL)
        text = ash__sprintf("%s was moved: it is %s by now", gone, ash_tree_entry_path(last));
    ash_tree_listing_free(listing);
    return text;
}

int ash__cmd_tree_say_gone(const ash_cmd_tree_run *r, const char *path, ash_error *err)
{
    char *gone = r->tree != NULL && err != NULL ? find_gone(r, path) : NULL;
    char *text = gone != NULL ? tell_last(r, gone) : NULL;
    if (text != NULL) {
        ash_error said = *err;
        ash__fail(err, ASH_ENOTFOUND, "%s; %s", said.text, text);
    }
    ash__free(text);
    ash__free(gone);
    return ASH_ENOTFOUND;
}
