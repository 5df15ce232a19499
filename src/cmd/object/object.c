/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/kit/verbs.h"

#include "cmd/object/room.h"

static const ash_cmd_option options[] = {ASH_CMD_OBJECT_OPTIONS, ASH_CMD_OBJECT_NO_OPTION};

static const ash_cmd_verb *const verbs[] = {
#define X(name) &ash__cmd_object_##name,
    ASH_CMD_OBJECT_VERBS(X)
#undef X
        NULL,
};

static const char *const known_as[] = {
    "create",   "add",      "list",    "ls",       "show",   "info",     "i",
    "info",     "upload",   "put",     "download", "get",    "cat",      "get NAME -O -",
    "del",      "rm",       "delete",  "rm",       "remove", "rm",       "rename",
    "mv",       "move",     "mv",      "ln",       "link",   "find",     "search",
    "edit",     "meta",     "update",  "meta",     "log",    "versions", "history",
    "versions", "undelete", "restore", "ttl",      "expire", "cp",       "copy",
    "gc",       "sweep",    "monitor", "watch",    "df",     "status",   NULL,
};

static int run_object(ash_cmd *cmd, const ash_cmd_args *args)
{
    (void)args; /* one of the verbs above is run in its place */
    return ash__cmd_usage(cmd, "`ashlar help object` lists what object can do");
}

const ash_cmd_verb ash__cmd_object = {
    .name = "object",
    .group = "objects",
    .synopsis = "VERB ...",
    .summary = "object stores, as NATS has them: here, or on JetStream",
    .details =
        "An object store has objects: bytes under a name, with what is said of them.  -s names a "
        "folder, a mongodb:// or a\n"
        "nats:// address; the words and options are those of `nats object`, and some more.\n"
        "`ashlar help object VERB` tells more.",
    .options = options,
    .min_words = 1,
    .max_words = -1,
    .has_dry_run = true, /* some of its verbs; the others say so */
    .run = run_object,
    .verbs = verbs,
    .known_as = known_as,
};
