/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/object/room.h"

#include "base/error.h"
#include "base/mem.h"

#include <string.h>

const char *ash__cmd_object_word(const ash_cmd_object_run *r, int n)
{
    return n < r->args->count ? r->args->words[n] : NULL;
}

const char *ash__cmd_object_value(const ash_cmd_object_run *r, const char *name)
{
    const ash_cmd_option *options = r->cmd->verb->options;
    for (int i = 0; options[i].name != NULL; i++)
        if (strcmp(options[i].name, name) == 0)
            return r->args->values[i];
    return NULL;
}

int ash__cmd_object_time(const ash_cmd_object_run *r, const char *name, int64_t *ms)
{
    const char *text = ash__cmd_object_value(r, name);
    double seconds = 0;
    *ms = 0;
    if (text == NULL)
        return 0;
    int status = ash__cmd_time(r->cmd, name, text, &seconds);
    *ms = (int64_t)(seconds * 1000);
    return status;
}

int ash__cmd_object_bytes(const ash_cmd_object_run *r, const char *name, int64_t *bytes)
{
    const char *text = ash__cmd_object_value(r, name);
    *bytes = 0;
    return text == NULL ? 0 : ash__cmd_bytes(r->cmd, name, text, 0, INT64_MAX, bytes);
}

int ash__cmd_object_number(const ash_cmd_object_run *r, const char *name, int64_t min, int64_t max,
                           int64_t *out)
{
    const char *text = ash__cmd_object_value(r, name);
    *out = 0;
    return text == NULL ? 0 : ash__cmd_number(r->cmd, name, text, min, max, out);
}

/* ---- opening ---- */

static bool is_nats(const char *uri)
{
    return uri != NULL && (strncmp(uri, "nats://", 7) == 0 || strncmp(uri, "tls://", 6) == 0);
}

static int open_manager(ash_cmd_object_run *r, enum ash_cmd_open how, ash_error *err)
{
    ash_object_manager_options o = ASH_OBJECT_MANAGER_OPTIONS_INIT;
    char *uri = ash__cmd_store_uri(r->cmd);
    int rc = 0;
    o.db = r->cmd->db;
    o.credentials = ash__cmd_object_value(r, "creds");
    o.nkey_file = ash__cmd_object_value(r, "nkey");
    o.tls_ca_file = ash__cmd_object_value(r, "tlsca");
    if (is_nats(uri)) {
        rc = ash_object_manager_open(uri, &o, &r->manager, err);
    } else {
        rc = ash__cmd_open_store(r->cmd, how, NULL, &r->store, err);
        if (rc == 0)
            rc = ash_object_manager_new(r->store, &o, &r->manager, err);
    }
    ash__free(uri);
    return rc;
}

static int bind(ash_cmd_object_run *r, ash_error *err)
{
    const char *archive = ash__cmd_object_value(r, "archive");
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
    r->op.cancel = &ash__cmd_interrupted;
    r->op.durability = ASH_DURABILITY_EVERY;
    ash__cmd_catch_signals();
    int status = open_manager(r, how, &err);
    if (status == 0 && bound)
        status = bind(r, &err);
    if (status == 0)
        status = work(r, &err);
    if (status < 0)
        status = ash__cmd_fail(r->cmd, NULL, &err);
    ash_object_store_close(r->objects);
    ash_object_store_close(r->archive);
    ash_object_manager_close(r->manager);
    ash__cmd_close_store(r->store);
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
