/* SPDX-License-Identifier: Apache-2.0 */
/* `rm PATH@VERSION`: what nothing brings back, so that somebody has to mean it. */
#include "cmd/tree/room.h"

#include "base/error.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* By who sits at a terminal; anybody else says -f. */
static int ask(const char *what, bool *meant, ash_error *err)
{
    char *line = NULL;
    size_t size = 0;
    *meant = false;
    if (!isatty(STDIN_FILENO))
        return ash__fail(err, ASH_EINVAL, "nothing brings %s back: -f says that it is meant", what);
    char *shown = ash__cmd_printable(what);
    fprintf(stderr, "Nothing brings %s back.  Remove it? [y/N] ", shown);
    ash__free(shown);
    if (getline(&line, &size, stdin) > 0)
        *meant = line[0] == 'y' || line[0] == 'Y';
    free(line); /* getline's own */
    return 0;
}

/* Before somebody is asked, and for a dry run. */
static int check(const ash_cmd_tree_run *r, const ash_cmd_tree_address *a, const char *what,
                 const ash_tree_entry *e, ash_error *err)
{
    ash_tree_entry *now = NULL;
    int rc = ash__cmd_tree_peek(r, a->path, &now, err);
    if (rc == 0 && ash_tree_entry_is_folder(e))
        rc = ash__fail(err, ASH_EINVAL, "%s is a folder's; versions of files can be removed", what);
    if (rc == 0 && now != NULL && ash_tree_entry_version(now) == ash_tree_entry_version(e))
        rc = ash__fail(err, ASH_ESTATE, "%s is the newest version; `rm %s` removes the file", what,
                       a->path);
    char *tags = ash__cmd_tree_tags(e);
    if (rc == 0 && tags != NULL)
        rc = ash__fail(err, ASH_ESTATE, "%s is tagged %s, and stays so long", what, tags);
    ash__free(tags);
    ash_tree_entry_free(now);
    return rc;
}

int ash__cmd_tree_forget(const ash_cmd_tree_run *r, const ash_cmd_tree_address *a, bool force,
                         ash_error *err)
{
    ash_tree_change_options o = ash__cmd_tree_changes(r);
    ash_tree_entry *e = NULL;
    bool meant = force || r->cmd->dry_run;
    if (a->when.at_ms != 0)
        return ash__fail(err, ASH_EINVAL,
                         "a version is removed by its number, which `ashlar tree log` shows");
    int rc = ash__cmd_tree_entry_at(r, a, &e, err);
    if (rc != 0)
        return force && (rc == ASH_ENOTFOUND || rc == ASH_ENOREVISION) ? 0 : rc;
    char *what = ash__sprintf("%s@%" PRId32, ash_tree_entry_path(e), ash_tree_entry_version(e));
    rc = check(r, a, what, e, err);
    if (rc == 0 && !meant)
        rc = ask(what, &meant, err);
    if (rc == 0 && meant && !r->cmd->dry_run)
        rc = ash_tree_forget(r->tree, a->path, ash_tree_entry_version(e), &o, &r->op, err);
    if (rc == 0 && meant && !ash__cmd_tree_emit(r, e, NULL, NULL))
        ash__cmd_say(r->cmd, "%s %s", r->cmd->dry_run ? "would remove" : "removed", what);
    ash__free(what);
    ash_tree_entry_free(e);
    return rc;
}
