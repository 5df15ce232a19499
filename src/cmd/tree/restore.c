/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/tree/room.h"

#include "base/error.h"

#include <inttypes.h>

static const ash_cmd_option options[] = {ASH_CMD_TREE_OPTIONS, ASH_CMD_TREE_BY_OPTION,
                                         ASH_CMD_TREE_NO_OPTION};

static int say_restored(const ash_cmd_tree_run *r, const ash_tree_entry *e, int32_t version)
{
    if (!ash__cmd_tree_emit(r, e, NULL, NULL))
        ash__cmd_say(r->cmd, "%s %s as of version %" PRId32 ": now version %" PRId32 "%s",
                     r->cmd->dry_run ? "would restore" : "restored", ash_tree_entry_path(e),
                     version, ash_tree_entry_version(e) + (r->cmd->dry_run ? 1 : 0),
                     ash_tree_entry_is_folder(e) ? "; what lies in it stays as it is" : "");
    return 0;
}

/* Whoever deleted it looks for this verb first. */
static int say_what_undeletes(const ash_cmd_tree_run *r, const char *path, ash_error *err)
{
    ash_tree_entry *there = NULL;
    ash_error own = ASH_ERROR_INIT, said = *err;
    int rc = ash__cmd_tree_peek(r, path, &there, &own);
    if (rc == 0 && there == NULL)
        ash__fail(err, ASH_ENOTFOUND, "%s; `ashlar tree undelete` brings back what was deleted",
                  said.text);
    ash_tree_entry_free(there);
    return ASH_ENOTFOUND;
}

/* The path that stands before the "@" has to be there: what was deleted is undeleted first. */
static int restore(ash_cmd_tree_run *r, ash_error *err)
{
    ash_tree_change_options o = ash__cmd_tree_changes(r);
    ash_cmd_tree_address address;
    ash_tree_entry *old = NULL, *entry = NULL;
    int rc = ash__cmd_tree_address(r, r->args->words[0], &address, err);
    if (rc == 0 && (address.path == NULL || (address.when.version == 0 && address.when.at_ms == 0)))
        rc = ash__fail(err, ASH_EINVAL, "say which version: PATH@VERSION or PATH@{TIME}");
    if (rc == 0)
        rc = ash__cmd_tree_entry_at(r, &address, &old, err);
    if (rc == 0 && r->cmd->dry_run)
        rc = ash_tree_get(r->tree, address.path, NULL, &r->op, &entry, err);
    else if (rc == 0)
        rc = ash_tree_restore(r->tree, address.path, ash_tree_entry_version(old), &o, &r->op,
                              &entry, err);
    if (rc == 0)
        rc = say_restored(r, entry, ash_tree_entry_version(old));
    if (rc == ASH_ENOTFOUND && address.path != NULL)
        rc = say_what_undeletes(r, address.path, err);
    ash_tree_entry_free(old);
    ash_tree_entry_free(entry);
    ash__cmd_tree_address_release(&address);
    return rc;
}

static int run_restore(ash_cmd *cmd, const ash_cmd_args *args)
{
    return ash__cmd_tree_run(cmd, ASH_CMD_READ, args, restore);
}

const ash_cmd_verb ash__cmd_tree_restore = {
    .name = "tree restore",
    .group = "trees",
    .synopsis = "PATH@VERSION",
    .summary = "make an earlier version the newest",
    .details =
        "Its contents, type, time and properties become a new version; name and place stay.  "
        "PATH@{TIME} is the version\n"
        "of then.  Of a folder, what lies in it stays as it is: `ashlar tree cp -r PATH@{TIME} TO` "
        "copies what lay in it.",
    .options = options,
    .min_words = 1,
    .max_words = 1,
    .has_dry_run = true,
    .run = run_restore,
};
