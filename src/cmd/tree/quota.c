/* SPDX-License-Identifier: Apache-2.0 */
/* `quota`: how much a folder, or a user, may have. */
#include "cmd/tree/room.h"

#include "base/error.h"
#include "base/mem.h"
#include "cmd/kit/amount.h"

#include <inttypes.h>
#include <string.h>

enum { QUOTA_USER = ASH_CMD_TREE_FIRST_OPTION, QUOTA_BYTES };
static const ash_cmd_option quota_options[] = {
    ASH_CMD_TREE_OPTIONS,
    {0, "user", "NAME",
     "of the files whose bytes are this user's (of another database: NAME@DATABASE)"},
    {0, "bytes", NULL, "sizes in bytes"},
    ASH_CMD_TREE_BY_OPTION,
    ASH_CMD_TREE_NO_OPTION,
};

static void print_size(const ash_cmd_tree_run *r, char *buf, size_t size, int64_t bytes)
{
    if (r->args->values[QUOTA_BYTES] != NULL)
        snprintf(buf, size, "%" PRId64, bytes);
    else
        ash__cmd_print_size(buf, size, bytes);
}

/* One line, or object, for each; those who ask for one folder's own look for it here, too. */
typedef struct showing {
    const ash_cmd_tree_run *r;
    const char *only; /* the folder or user whose own is wanted; NULL: all are shown */
    bool users;       /* they are of users */
    int64_t count;
    ash_tree_quota own;
} showing;

static void emit_quota(const showing *s, const char *path, const ash_tree_quota *q)
{
    bson_t object = BSON_INITIALIZER;
    bson_append_utf8(&object, s->users ? "user" : "path", -1, path, -1);
    BSON_APPEND_INT64(&object, "maxBytes", q->max_bytes);
    if (q->used_bytes >= 0)
        BSON_APPEND_INT64(&object, "usedBytes", q->used_bytes);
    ash__cmd_emit(&object);
    bson_destroy(&object);
}

static void print_quota(const showing *s, const char *path, const ash_tree_quota *q)
{
    const ash_cmd_tree_run *r = s->r;
    char used[32] = "not counted", max[32];
    char *shown = ash__cmd_printable(path);
    if (q->used_bytes >= 0)
        print_size(r, used, sizeof used, q->used_bytes);
    print_size(r, max, sizeof max, q->max_bytes);
    printf("%12s of %12s  %s%s%s\n", used, max, s->users ? "user " : "", shown,
           q->used_bytes > q->max_bytes ? "  (over)" : "");
    ash__cmd_keep_output_error();
    ash__free(shown);
}

static bool show_quota(void *ctx, const char *path, const ash_tree_quota *q)
{
    showing *s = ctx;
    s->count++;
    if (s->only != NULL && strcmp(path, s->only) == 0)
        s->own = *q;
    else if (s->only == NULL && s->r->cmd->json)
        emit_quota(s, path, q);
    else if (s->only == NULL)
        print_quota(s, path, q);
    return true;
}

/* path NULL: of all, and of users. */
static int list_quotas(ash_cmd_tree_run *r, const char *path, ash_error *err)
{
    showing s = {.r = r};
    int rc = ash_tree_quotas(r->tree, path != NULL ? path : "/", &r->op, show_quota, &s, err);
    s.users = true;
    if (rc == 0 && path == NULL)
        rc = ash_tree_user_quotas(r->tree, NULL, &r->op, show_quota, &s, err);
    if (rc == 0 && s.count == 0 && !r->cmd->json)
        ash__cmd_say(r->cmd, "no quota holds at %s, or below it", path != NULL ? path : "/");
    return rc;
}

static void say_own(const showing *s)
{
    const ash_cmd *cmd = s->r->cmd;
    const char *kind = s->users ? "user " : "";
    char used[32], max[32];
    if (s->own.max_bytes < 0) {
        ash__cmd_say(cmd, "%s%s has no quota%s", kind, s->only, s->users ? "" : " of its own");
    } else if (cmd->json) {
        emit_quota(s, s->only, &s->own);
    } else {
        print_size(s->r, used, sizeof used, s->own.used_bytes);
        print_size(s->r, max, sizeof max, s->own.max_bytes);
        ash__cmd_say(cmd, "%s%s may have %s, and has %s", kind, s->only, max, used);
    }
}

static int say_quota(ash_cmd_tree_run *r, const char *path, ash_error *err)
{
    showing s = {.r = r, .own = ASH_TREE_QUOTA_INIT};
    ash_tree_entry *folder = NULL;
    s.own.max_bytes = -1;
    int rc = ash_tree_get(r->tree, path, NULL, &r->op, &folder, err);
    s.only = rc == 0 ? ash_tree_entry_path(folder) : NULL;
    if (rc == 0)
        rc = ash_tree_quotas(r->tree, path, &r->op, show_quota, &s, err);
    if (rc == 0)
        say_own(&s);
    ash_tree_entry_free(folder);
    return rc;
}

static int read_size(const ash_cmd *cmd, const char *text, int64_t *max)
{
    const double most = (double)(INT64_C(1) << 62);
    double bytes;
    *max = -1;
    if (strcmp(text, "none") == 0)
        return 0;
    if (!ash__amount_size(text, &bytes) || bytes < 0 || bytes > most ||
        bytes != (double)(int64_t)bytes)
        return ash__cmd_usage(cmd,
                              "SIZE is a whole number of bytes, such as 500M or 10G, or \"none\", "
                              "not \"%s\"",
                              text);
    *max = (int64_t)bytes;
    return 0;
}

static int quota_of_user(ash_cmd_tree_run *r, const char *user, ash_error *err)
{
    const char *size = r->args->count > 0 ? r->args->words[0] : NULL;
    showing s = {.r = r, .only = user, .users = true, .own = ASH_TREE_QUOTA_INIT};
    int64_t max = -1;
    int rc = 0;
    if (r->args->count > 1)
        return ash__cmd_usage(r->cmd,
                              "the quota of a user is no folder's: --user NAME [SIZE|none]");
    if (size != NULL) {
        ash_tree_change_options o = ash__cmd_tree_changes(r);
        rc = read_size(r->cmd, size, &max);
        if (rc == 0)
            rc = ash_tree_set_user_quota(r->tree, user, max, &o, &r->op, err);
    }
    s.own.max_bytes = -1;
    if (rc == 0)
        rc = ash_tree_user_quotas(r->tree, user, &r->op, show_quota, &s, err);
    if (rc == 0)
        say_own(&s);
    return rc;
}

static int quota(ash_cmd_tree_run *r, ash_error *err)
{
    const char *path = r->args->count > 0 ? r->args->words[0] : "/";
    const char *size = r->args->count > 1 ? r->args->words[1] : NULL;
    int64_t max = -1;
    if (r->args->values[QUOTA_USER] != NULL)
        return quota_of_user(r, r->args->values[QUOTA_USER], err);
    int rc = ash__cmd_tree_no_id(path, err);
    if (rc == 0 && size == NULL)
        return list_quotas(r, r->args->count > 0 ? path : NULL, err);
    if (rc == 0)
        rc = read_size(r->cmd, size, &max);
    if (rc != 0)
        return rc;
    ash_tree_change_options o = ash__cmd_tree_changes(r);
    rc = ash_tree_set_quota(r->tree, path, max, &o, &r->op, err);
    return rc == 0 ? say_quota(r, path, err) : rc;
}

static int run_quota(ash_cmd *cmd, const ash_cmd_args *args)
{
    return ash__cmd_tree_run(cmd, ASH_CMD_READ, args, quota);
}

const ash_cmd_verb ash__cmd_tree_quota = {
    .name = "tree quota",
    .group = "trees",
    .synopsis = "[PATH [SIZE|none]] | --user NAME [SIZE|none]",
    .summary = "say how much a folder or user may have, or list who may have how much, and has",
    .details =
        "SIZE is what the newest versions of all files in the folder, and in all below it, may "
        "have together:\n"
        "their lengths, whatever they share.  Versions of before do not count: `prune` and `gc` "
        "answer for them.  What\n"
        "would be more is refused whole (exit status 8); what adds nothing passes.  Each folder "
        "above has its own say.\n"
        "A user has the files whose bytes he put there, wherever they are.  Without SIZE: the "
        "quotas that hold at\n"
        "PATH, and all below it; without PATH all, and users'.  Set again, a quota is counted "
        "anew.",
    .options = quota_options,
    .min_words = 0,
    .max_words = 2,
    .run = run_quota,
};
