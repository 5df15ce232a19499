/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/tree/room.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "cmd/kit/roots.h"
#include "cmd/kit/when.h"

#include <pwd.h>
#include <string.h>
#include <unistd.h>

/* The value of an option that not every verb has. */
static const char *value_of(const ash_cmd *cmd, const ash_cmd_args *args, const char *name)
{
    const ash_cmd_option *options = cmd->verb->options;
    for (int i = 0; options[i].name != NULL; i++) {
        if (strcmp(options[i].name, name) == 0)
            return args->values[i];
    }
    return NULL;
}

static char *login_name(void)
{
    char texts[16384];
    struct passwd entry, *own = NULL;
    if (getpwuid_r(geteuid(), &entry, texts, sizeof texts, &own) == 0 && own != NULL)
        return ash__strdup(own->pw_name);
    return NULL;
}

static int read_options(ash_cmd_tree_run *r)
{
    const char *at = value_of(r->cmd, r->args, "at");
    const char *by = value_of(r->cmd, r->args, "by");
    r->root = value_of(r->cmd, r->args, "root");
    if (at != NULL && !ash__cmd_parse_time(at, ash__clock_wall_ms(), &r->at_ms))
        return ash__cmd_usage(r->cmd, "\"%s\" of --at is no time; these are: " ASH_CMD_TIME_FORMS,
                              at);
    r->by = by != NULL ? ash__strdup(by) : login_name();
    return 0;
}

static bool has_entries(const ash_cmd_tree_run *r)
{
    ash_tree_list_options o = ASH_TREE_LIST_OPTIONS_INIT;
    ash_tree_listing *listing = NULL;
    const ash_tree_entry *e = NULL;
    o.limit = 1;
    int rc = ash_tree_list(r->tree, "/", &o, &r->op, &listing, NULL);
    if (rc == 0)
        rc = ash_tree_listing_next(listing, &e, NULL);
    bool any = rc != 0 || e != NULL; /* what cannot be read is there */
    ash_tree_listing_free(listing);
    return any;
}

/* Beside trees that are there, one of which nothing was ever kept is a slip of the pen where it was
 * named; where it was not, somebody may look in vain for what is in another. */
static int require_root(const ash_cmd_tree_run *r, const char *collection, ash_error *err)
{
    ash_error own = ASH_ERROR_INIT;
    if (has_entries(r))
        return 0;
    int rc = ash__cmd_require_root(r->store, r->cmd->db, collection, ash_tree_root(r->tree), &own);
    if (rc == ASH_ENOTFOUND && r->root == NULL)
        ash__cmd_note(r->cmd, "%s (--root NAME chooses)", own.text);
    return rc == ASH_ENOTFOUND && r->root == NULL ? 0 : ash__unless(0, rc, &own, err);
}

/* Whoever reads from what nobody has made is told so where he named it. */
static int open_tree(ash_cmd_tree_run *r, enum ash_cmd_open how, ash_error *err)
{
    ash_tree_options o = ASH_TREE_OPTIONS_INIT;
    o.collection = value_of(r->cmd, r->args, "collection");
    o.bucket = r->cmd->bucket;
    o.must_exist = how == ASH_CMD_READ && (o.collection != NULL || r->cmd->db != NULL);
    int rc = how == ASH_CMD_WRITE && r->cmd->dry_run
                 ? ash__cmd_open_if_any(r->cmd, &r->store, err)
                 : ash__cmd_open_store(r->cmd, how, NULL, &r->store, err);
    if (rc != 0 || r->store == NULL)
        return rc;
    rc = ash_tree_open(r->store, r->root != NULL ? r->root : "/", &o, &r->tree, err);
    return rc == 0 && how == ASH_CMD_READ ? require_root(r, o.collection, err) : rc;
}

int ash__cmd_tree_run(ash_cmd *cmd, enum ash_cmd_open how, const ash_cmd_args *args,
                      ash_cmd_tree_work work)
{
    ash_cmd_tree_run r = {.cmd = cmd, .args = args, .op = ASH_OP_INIT};
    ash_error err = ASH_ERROR_INIT;
    int status = read_options(&r);
    r.op.cancel = &ash__cmd_interrupted;
    r.op.durability = ASH_DURABILITY_EVERY;
    if (status == 0)
        status = open_tree(&r, how, &err);
    ash__cmd_catch_signals();
    if (status == 0)
        status = work(&r, &err);
    if (status < 0)
        status = ash__cmd_fail(cmd, NULL, &err);
    ash_tree_close(r.tree);
    ash__cmd_close_store(r.store);
    ash__free(r.by);
    return status;
}

ash_tree_change_options ash__cmd_tree_changes(const ash_cmd_tree_run *r)
{
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    o.changed_by = r->by;
    return o;
}

bool ash__cmd_tree_is_hopeless(int rc)
{
    return rc == ASH_ENETWORK || rc == ASH_ENOSPC || rc == ASH_EINTERRUPTED;
}

int ash__cmd_tree_each(ash_cmd_tree_run *r, int first, int count, ash_cmd_tree_item item)
{
    int failed = 0, status = ASH_EXIT_OK;
    for (int i = first; i < first + count; i++) {
        ash_error err = ASH_ERROR_INIT;
        int rc = item(r, r->args->words[i], &err);
        if (rc >= 0) {
            status = status == ASH_EXIT_OK ? rc : status;
            continue;
        }
        int item_status = ash__cmd_fail(r->cmd, r->args->words[i], &err);
        status = failed++ == 0 ? item_status : status;
        if (item_status == ASH_EXIT_PIPE || rc == ASH_EINTERRUPTED)
            return item_status;
        if (ash__cmd_tree_is_hopeless(rc))
            break;
    }
    return failed > 0 && count > 1 ? ASH_EXIT_PARTIAL : status;
}

int ash__cmd_tree_next(const ash_cmd_tree_run *r, ash_tree_listing *listing,
                       const ash_tree_entry **out, int *damaged, ash_error *err)
{
    for (;;) {
        ash_error own = ASH_ERROR_INIT;
        int rc = ash_tree_listing_next(listing, out, &own);
        if (rc != ASH_ECORRUPT)
            return ash__unless(0, rc, &own, err);
        (void)ash__cmd_fail(r->cmd, NULL, &own);
        ++*damaged;
    }
}

int ash__cmd_tree_passed_over(int rc, int damaged, ash_error *err)
{
    return rc == 0 && damaged > 0
               ? ash__fail(err, ASH_EPARTIAL, "damaged entries passed over: %d", damaged)
               : rc;
}
