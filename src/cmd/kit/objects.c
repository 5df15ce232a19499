/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/kit/objects.h"

#include "base/mem.h"

bool ash__cmd_is_store(const ash_cmd *cmd)
{
    char *uri = ash__cmd_store_uri(cmd);
    bool is_store = uri == NULL || ash_object_uri_is_store(uri);
    ash__free(uri);
    return is_store;
}

int ash__cmd_open_objects(const ash_cmd *cmd, enum ash_cmd_open how,
                          const ash_object_manager_options *opts, ash_cmd_objects *out,
                          ash_error *err)
{
    ash_object_manager_options o = ASH_OBJECT_MANAGER_OPTIONS_INIT;
    int rc = 0;
    if (opts != NULL)
        o = *opts;
    o.db = cmd->db;
    *out = (ash_cmd_objects){NULL, NULL};
    if (ash__cmd_is_store(cmd)) {
        rc = ash__cmd_open_store(cmd, how, NULL, &out->store, err);
        return rc == 0 ? ash_object_manager_new(out->store, &o, &out->manager, err) : rc;
    }
    char *uri = ash__cmd_store_uri(cmd);
    rc = ash_object_manager_open(uri, &o, &out->manager, err);
    ash__free(uri);
    return rc;
}

void ash__cmd_close_objects(ash_cmd_objects *o)
{
    ash_object_manager_close(o->manager);
    ash__cmd_close_store(o->store);
    *o = (ash_cmd_objects){NULL, NULL};
}

bool ash__cmd_objects_progress_fn(void *ctx, const char *what, int64_t done, int64_t total)
{
    ash_cmd_objects_progress *p = ctx;
    (void)what;
    ash__progress_add_total(p->progress, total - p->total);
    ash__progress_add(p->progress, done - p->done, 0, NULL);
    p->done = done;
    p->total = total;
    return !ash__cmd_is_interrupted();
}
