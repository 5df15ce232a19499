/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/kit/verbs.h"

#include "cmd/user/room.h"

static const ash_cmd_option options[] = {ASH_CMD_USER_OPTIONS, {0, NULL, NULL, NULL}};

static const ash_cmd_verb *const verbs[] = {
#define X(name) &ash__cmd_user_##name,
    ASH_CMD_USER_VERBS(X)
#undef X
        NULL,
};

static const char *const known_as[] = {
    "create", "add", "new",  "add", "list",     "ls",     "del",  "rm",    "delete", "rm",
    "remove", "rm",  "drop", "rm",  "password", "passwd", "role", "grant", NULL,
};

static int run_user(ash_cmd *cmd, const ash_cmd_args *args)
{
    (void)args; /* one of the verbs above is run in its place */
    return ash__cmd_usage(cmd, "`ashlar help user` lists what user can do");
}

const ash_cmd_verb ash__cmd_user = {
    .name = "user",
    .group = "serve",
    .synopsis = "VERB ...",
    .summary = "who may use the store through MongoDB's drivers and by HTTP, and for what",
    .details =
        "Once there is a user, drivers have to sign in to `ashlar serve` (SCRAM-SHA-256 or "
        "SCRAM-SHA-1), and each may do\n"
        "what its roles allow.  The account that runs the server needs no password: commands on "
        "the folder go on to work.\n"
        "Without users the server asks nobody, unless it was started with --auth.\n"
        "Roles are MongoDB's: read, readWrite, dbAdmin, userAdmin and dbOwner of a database; of "
        "admin also\n"
        "readAnyDatabase, readWriteAnyDatabase, dbAdminAnyDatabase, userAdminAnyDatabase, "
        "clusterMonitor, backup, restore\n"
        "and root; and those that createRole made.  `ashlar help user VERB` tells more.",
    .options = options,
    .min_words = 1,
    .max_words = -1,
    .has_dry_run = true, /* rm; the others say so */
    .run = run_user,
    .verbs = verbs,
    .known_as = known_as,
};
