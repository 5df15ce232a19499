/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/user/room.h"

#include "base/error.h"
#include "base/mem.h"

#include <string.h>

/* NAME@DATABASE, as lists have it, could be meant for a name as well; so it has to be said. */
static int check_name(const ash_user_run *r, ash_error *err)
{
    const char *at = strrchr(r->id.name, '@');
    if (at == NULL || ash__cmd_user_db(r->cmd, r->args) != NULL || ash__user_is_external(&r->id))
        return 0;
    return ash__fail(err, ASH_EINVAL,
                     "of which database is \"%.100s\"? `--db %.60s %.*s` is one of that database, "
                     "`--db admin %.100s` one of that whole name",
                     r->id.name, at + 1, (int)(at - r->id.name), r->id.name, r->id.name);
}

int ash__cmd_user_run(ash_cmd *cmd, ash_store *store, const ash_cmd_args *args, ash_user_work work,
                      ash_error *err)
{
    const char *db = ash__cmd_user_db(cmd, args);
    ash_user_run r = {.cmd = cmd, .args = args};
    r.id = (ash_user_id){&ash__user_kind, args->count > 0 ? args->words[0] : "",
                         db != NULL ? db : "admin"};
    /* Of a deployment they are its own, and its commands make them. */
    char *folder = ash__cmd_need_folder(cmd,
                                        "-s has to name a folder: on an address, users are made by "
                                        "drivers (db.createUser)",
                                        err);
    if (folder == NULL)
        return err->code;
    ash__free(folder);
    int rc = check_name(&r, err);
    if (rc == 0)
        rc = ash__users_init(&r.users, store, err);
    if (rc == 0)
        rc = work(&r, err);
    ash__cmd_forget_password(r.password);
    ash__users_release(&r.users);
    return rc;
}
