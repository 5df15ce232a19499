/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/kit/verbs.h"

#include "cmd/tree/room.h"

static const ash_cmd_option options[] = {ASH_CMD_TREE_OPTIONS, ASH_CMD_TREE_NO_OPTION};

static const ash_cmd_verb *const verbs[] = {
#define X(name) &ash__cmd_tree_##name,
    ASH_CMD_TREE_VERBS(X)
#undef X
        NULL,
};

static const char *const known_as[] = {
    "list",     "ls",
    "dir",      "ls",
    "tree",     "ls -R",
    "find",     "ls -R",
    "show",     "cat",
    "read",     "cat",
    "info",     "stat",
    "status",   "put -r -n, or tree diff -r PATH@{TIME}",
    "add",      "put",
    "upload",   "put",
    "save",     "put",
    "sync",     "put -r --delete, or tree get -r --delete",
    "rsync",    "put -r --delete, or tree get -r --delete",
    "commit",   "put (each change is kept at once)",
    "download", "get",
    "fetch",    "get",
    "checkout", "restore -r, or tree get -r --at",
    "history",  "log",
    "versions", "log",
    "delete",   "rm",
    "remove",   "rm",
    "rmdir",    "rm",
    "move",     "mv",
    "rename",   "mv",
    "copy",     "cp",
    "revert",   "restore",
    "blame",    "log",
    "reset",    "restore",
    "trash",    "undelete (without a word it lists what was deleted)",
    "untrash",  "undelete",
    "collect",  "gc",
    "sweep",    "gc",
    "forget",   "prune",
    "df",       "du",
    "fsck",     "check",
    "verify",   "check",
    "chmod",    "acl",
    "getfacl",  "acl",
    "setfacl",  "acl",
    "monitor",  "watch",
    NULL,
};

static int run_tree(ash_cmd *cmd, const ash_cmd_args *args)
{
    (void)args; /* one of the verbs above is run in its place */
    return ash__cmd_usage(cmd, "`ashlar help tree` lists what tree can do");
}

const ash_cmd_verb ash__cmd_tree = {
    .name = "tree",
    .group = "trees",
    .synopsis = "VERB ...",
    .summary = "keep folders and files with all their versions",
    .details =
        "A tree has folders and files, and remembers what they were: each change makes a version.\n"
        "PATH is what is there now; PATH@3 is its version 3, PATH@TAG the newest that was tagged "
        "so; "
        "\"PATH@{TIME}\" is what was\n"
        "there then, as in docs@{yesterday}.  What is itself called report@3 comes before version "
        "3 of "
        "report.  id:VALUE is an\n"
        "entry by its id, wherever it was moved to; digest:DIGITS, for cat, cp, get and stat, is "
        "the content\n"
        "whose digest begins so.  Contents are in the bucket that -b names "
        "(default "
        "here: v7.fs).\n"
        "A TIME is now, today (its beginning), yesterday (at this time of day), \"yesterday "
        "17:00\", "
        "\"last week\", \"2 hours ago\",\n"
        "3d, 2.weeks.ago, 2026-11-24 (midnight), \"2026-11-24 10:00\", both local or with Z, UTC "
        "or "
        "+01:00 behind it, or @SECONDS\n"
        "since 1970.  Times are shown in UTC.\n"
        "`ashlar help tree VERB` tells more.",
    .options = options,
    .min_words = 1,
    .max_words = -1,
    .has_dry_run = true, /* most of its verbs; the others say so */
    .run = run_tree,
    .verbs = verbs,
    .known_as = known_as,
};
