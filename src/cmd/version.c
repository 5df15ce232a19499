/* SPDX-License-Identifier: Apache-2.0 */
/* `ashlar version`: which backends there are depends on what was there to build with. */
#include "cmd/kit/verbs.h"

#include "store/ops.h"

static int run_version(ash_cmd *cmd, const ash_cmd_args *args)
{
    (void)args;
    if (cmd->json) {
        bson_t object = BSON_INITIALIZER, backends;
        char index[12];
        BSON_APPEND_UTF8(&object, "version", ASH_VERSION);
        BSON_APPEND_ARRAY_BEGIN(&object, "backends", &backends);
        for (int i = 0; ash__backends[i] != NULL; i++) {
            snprintf(index, sizeof index, "%d", i);
            BSON_APPEND_UTF8(&backends, index, ash__backends[i]->name);
        }
        bson_append_array_end(&object, &backends);
        ash__cmd_emit(&object);
        bson_destroy(&object);
        return ASH_EXIT_OK;
    }
    printf("ashlar %s\nbackends:", ASH_VERSION);
    for (int i = 0; ash__backends[i] != NULL; i++)
        printf(" %s", ash__backends[i]->name);
    printf("\n");
    return ASH_EXIT_OK;
}

const ash_cmd_verb ash__cmd_version = {
    .name = "version",
    .group = "misc",
    .synopsis = "",
    .summary = "print the version, and what it was built with",
    .run = run_version,
};
