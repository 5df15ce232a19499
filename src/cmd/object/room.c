/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/object/room.h"

#include "base/error.h"

const char *ash__cmd_object_word(const ash_cmd_object_run *r, int n)
{
    return n < r->args->count ? r->args->words[n] : NULL;
}

const char *ash__cmd_object_value(const ash_cmd_object_run *r, int option)
{
    return r->args->values[option];
}

static const char *name_of(const ash_cmd_object_run *r, int option)
{
    return r->cmd->verb->options[option].name;
}

int ash__cmd_object_time(const ash_cmd_object_run *r, int option, int64_t *ms)
{
    const char *text = ash__cmd_object_value(r, option);
    double seconds = 0;
    *ms = 0;
    if (text == NULL)
        return 0;
    int status = ash__cmd_time(r->cmd, name_of(r, option), text, &seconds);
    *ms = (int64_t)(seconds * 1000);
    return status;
}

int ash__cmd_object_bytes(const ash_cmd_object_run *r, int option, int64_t *bytes)
{
    const char *text = ash__cmd_object_value(r, option);
    *bytes = 0;
    return text == NULL ? 0 : ash__cmd_bytes(r->cmd, name_of(r, option), text, 0, INT64_MAX, bytes);
}

int ash__cmd_object_number(const ash_cmd_object_run *r, int option, int64_t min, int64_t max,
                           int64_t *out)
{
    const char *text = ash__cmd_object_value(r, option);
    *out = 0;
    return text == NULL ? 0 : ash__cmd_number(r->cmd, name_of(r, option), text, min, max, out);
}

/* ---- opening ---- */

void ash__cmd_object_identity(const ash_cmd_object_run *r, ash_object_manager_options *out)
{
    out->credentials = ash__cmd_object_value(r, ASH_CMD_OBJECT_CREDS);
    out->nkey_file = ash__cmd_object_value(r, ASH_CMD_OBJECT_NKEY);
    out->tls_ca_file = ash__cmd_object_value(r, ASH_CMD_OBJECT_TLSCA);
}

static int open_manager(ash_cmd_object_run *r, enum ash_cmd_open how, ash_error *err)
{
    ash_object_manager_options o = ASH_OBJECT_MANAGER_OPTIONS_INIT;
    ash__cmd_object_identity(r, &o);
    int rc = ash__cmd_open_objects(r->cmd, how, &o, &r->here, err);
    r->manager = r->here.manager;
    return rc;
}

static int bind(ash_cmd_object_run *r, ash_error *err)
{
    const char *archive = ash__cmd_object_value(r, ASH_CMD_OBJECT_ARCHIVE);
    int rc = ash_object_manager_bind(r->manager, r->args->words[0], &r->op, &r->objects, err);
    if (rc == 0 && archive != NULL) {
        rc = ash_object_manager_bind(r->manager, archive, &r->op, &r->archive, err);
        if (rc == 0)
            ash_object_store_attach_archive(r->objects, r->archive);
    }
    return rc;
}

static int run(ash_cmd_object_run *r, enum ash_cmd_open how, bool bound, ash_cmd_object_work work)
{
    ash_error err = ASH_ERROR_INIT;
    if (r->cmd->bucket != NULL)
        return ash__cmd_usage(r->cmd, "-b is of files: an object store is named by the first word");
    r->op.cancel = &ash__cmd_interrupted;
    r->op.durability = ASH_DURABILITY_EVERY;
    ash__cmd_catch_signals();
    int status = open_manager(r, how, &err);
    if (status == 0 && bound)
        status = bind(r, &err);
    if (status == 0)
        status = work(r, &err);
    if (status < 0) {
        ash__cmd_objects_error(&err);
        status = ash__cmd_fail(r->cmd, NULL, &err);
    }
    ash_object_store_close(r->objects);
    ash_object_store_close(r->archive);
    ash__cmd_close_objects(&r->here);
    return status;
}

int ash__cmd_object_run(ash_cmd *cmd, enum ash_cmd_open how, const ash_cmd_args *args,
                        ash_cmd_object_work work)
{
    ash_cmd_object_run r = {.cmd = cmd, .args = args, .op = ASH_OP_INIT};
    return run(&r, how, true, work);
}

int ash__cmd_object_run_unbound(ash_cmd *cmd, enum ash_cmd_open how, const ash_cmd_args *args,
                                ash_cmd_object_work work)
{
    ash_cmd_object_run r = {.cmd = cmd, .args = args, .op = ASH_OP_INIT};
    return run(&r, how, false, work);
}
