/* SPDX-License-Identifier: Apache-2.0 */
/* `ashlar user token`: what programs show by HTTP instead of a password. */
#include "cmd/user/room.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "user/tokens.h"

#include <string.h>
#include <time.h>

enum { EXPIRES = ASH_CMD_USER_FIRST_OPTION, READ, PATH };
static const ash_cmd_option options[] = {
    ASH_CMD_USER_OPTIONS,
    [EXPIRES] = {0, "expires", "TIME", "how long the token is good: 12h, 30d, never (default 90d)"},
    [READ] = {0, "read", NULL, "it reads alone, whatever its user may"},
    [PATH] = {0, "path", "/A/B", "it is for what lies there and below, as in the address bar"},
    {0, NULL, NULL, NULL}};

static const int64_t max_seconds = INT64_C(100) * 366 * 24 * 60 * 60;

typedef struct run {
    ash_cmd *cmd;
    const ash_cmd_args *args;
    ash_users users;
    const char *db;
    ash_token token;
} run;

static bool is_word(const run *r, const char *word)
{
    return strcmp(r->args->words[0], word) == 0;
}

/* ---- showing ---- */

static void add_date(bson_t *out, const char *name, int64_t ms)
{
    if (ms != 0)
        BSON_APPEND_DATE_TIME(out, name, ms);
    else
        BSON_APPEND_NULL(out, name);
}

static void print_json(const ash_token *t, const char *text)
{
    bson_t out = BSON_INITIALIZER;
    BSON_APPEND_UTF8(&out, "id", t->id);
    BSON_APPEND_UTF8(&out, "user", t->user);
    BSON_APPEND_UTF8(&out, "db", t->db);
    add_date(&out, "created", t->created_ms);
    add_date(&out, "expires", t->expires_ms);
    add_date(&out, "used", t->used_ms);
    BSON_APPEND_BOOL(&out, "readOnly", t->read_only);
    if (t->path != NULL)
        BSON_APPEND_UTF8(&out, "path", t->path);
    if (text != NULL)
        BSON_APPEND_UTF8(&out, "token", text);
    else
        BSON_APPEND_BOOL(&out, "userIsGone", t->is_orphan);
    ash__cmd_emit(&out);
    bson_destroy(&out);
}

static void print_day(const char *before, int64_t ms, const char *otherwise)
{
    time_t s = (time_t)(ms / 1000);
    struct tm day;
    char text[16] = "";
    if (ms != 0 && gmtime_r(&s, &day) != NULL)
        strftime(text, sizeof text, "%Y-%m-%d", &day);
    printf("  %s%s", ms != 0 ? before : "", ms != 0 ? text : otherwise);
}

static int show_one(void *ctx, const ash_token *t, ash_error *err)
{
    run *r = ctx;
    (void)err;
    if (r->cmd->json) {
        print_json(t, NULL);
        return 0;
    }
    char *user = ash__cmd_printable(t->user), *db = ash__cmd_printable(t->db);
    char *path = t->path != NULL ? ash__cmd_printable(t->path) : NULL;
    printf("%s  %s@%s", t->id, user, db);
    print_day("until ", t->expires_ms, "for ever");
    print_day("used ", t->used_ms, "never used");
    printf("%s%s%s%s\n", t->read_only ? "  reads" : "", path != NULL ? "  " : "",
           path != NULL ? path : "", t->is_orphan ? "  of no use: its user was removed" : "");
    ash__cmd_keep_output_error();
    ash__free(user);
    ash__free(db);
    ash__free(path);
    return 0;
}

/* ---- the words ---- */

static int add(run *r, ash_error *err)
{
    char text[ASH_TOKEN_TEXT_BYTES];
    ash_token *t = &r->token;
    t->user = ash__strdup(r->args->words[1]);
    t->db = ash__strdup(r->db);
    t->read_only = r->args->values[READ] != NULL;
    t->path = r->args->values[PATH] != NULL ? ash__strdup(r->args->values[PATH]) : NULL;
    int rc = ash__token_create(&r->users, t, text, err);
    if (rc != 0)
        return rc;
    if (r->cmd->json)
        print_json(t, text);
    else
        printf("%s\n", text);
    ash__cmd_keep_output_error();
    memset(text, 0, sizeof text);
    return 0;
}

/* By its id; and by itself, as people have it, of which nothing is repeated. */
static int remove_one(run *r, const char *word, ash_error *err)
{
    char id[ASH_TOKEN_ID_BYTES];
    size_t prefix = strlen(ASH_TOKEN_PREFIX);
    bool is_whole = strncmp(word, ASH_TOKEN_PREFIX, prefix) == 0;
    snprintf(id, sizeof id, "%s", is_whole ? word + prefix : word);
    if (!is_whole && strlen(word) >= sizeof id)
        return ash__fail(err, ASH_ENOTFOUND, "there is no such token");
    return ash__token_remove(&r->users, id, NULL, NULL, err);
}

static int remove_all(run *r)
{
    int failed = 0, status = ASH_EXIT_OK, count = r->args->count - 1;
    for (int i = 1; i <= count; i++) {
        ash_error err = ASH_ERROR_INIT;
        if (r->cmd->dry_run)
            ash__cmd_say(r->cmd, "would take back token %d of %d", i, count);
        else if (remove_one(r, r->args->words[i], &err) != 0) {
            int item = ash__cmd_fail(r->cmd, NULL, &err);
            status = failed++ == 0 ? item : status;
        }
    }
    return failed > 0 && count > 1 ? ASH_EXIT_PARTIAL : status;
}

static int check_usage(run *r)
{
    const ash_cmd_args *a = r->args;
    const char *text = a->values[EXPIRES];
    int64_t seconds = ASH_TOKEN_DEFAULT_MS / 1000;
    bool adds = is_word(r, "add");
    if (!adds && !is_word(r, "ls") && !is_word(r, "rm"))
        return ash__cmd_usage(r->cmd, "user token takes add NAME, ls [NAME] or rm ID...");
    if (!adds && (text != NULL || a->values[READ] != NULL || a->values[PATH] != NULL))
        return ash__cmd_usage(r->cmd, "--expires, --read and --path are for a new token");
    if (adds ? a->count != 2 : is_word(r, "ls") ? a->count > 2 : a->count < 2)
        return ash__cmd_usage(r->cmd, "user token takes add NAME, ls [NAME] or rm ID...");
    int status = 0;
    if (text != NULL && strcmp(text, "never") != 0)
        status = ash__cmd_seconds(r->cmd, "expires", text, 1, max_seconds, &seconds);
    r->token.expires_ms =
        text != NULL && strcmp(text, "never") == 0 ? 0 : ash__clock_wall_ms() + seconds * 1000;
    return status;
}

static int work(ash_cmd *cmd, ash_store *store, const ash_cmd_args *args, ash_error *err)
{
    run r = {.cmd = cmd, .args = args};
    r.db = ash__cmd_user_db(cmd, args);
    r.db = r.db != NULL ? r.db : "admin";
    int rc = check_usage(&r);
    if (rc != 0)
        return rc;
    char *folder = ash__cmd_need_folder(
        cmd, "-s has to name a folder: tokens are of Ashlar's own servers", err);
    if (folder == NULL)
        return err->code;
    ash__free(folder);
    rc = ash__users_init(&r.users, store, err);
    if (rc != 0)
        return rc;
    if (is_word(&r, "add"))
        rc = add(&r, err);
    else if (is_word(&r, "rm"))
        rc = remove_all(&r);
    else
        rc = ash__token_each(&r.users, args->count > 1 ? args->words[1] : NULL, r.db, show_one, &r,
                             err);
    ash__token_release(&r.token);
    ash__users_release(&r.users);
    return rc;
}

static int run_token(ash_cmd *cmd, const ash_cmd_args *args)
{
    return ash__cmd_with_store(cmd, ASH_CMD_WRITE, args, work);
}

const ash_cmd_verb ash__cmd_user_token = {
    .name = "user token",
    .group = "serve",
    .synopsis = "[--db DATABASE] [--expires TIME] [--read] [--path /A/B] add NAME | ls [NAME] | "
                "rm ID...",
    .summary = "make, list and take back tokens, which programs show by HTTP",
    .details =
        "add prints a token, once: the store keeps only what tells that it is the right one.  It "
        "is good for what its user\n"
        "may, or less, and is shown as `Authorization: Bearer TOKEN`, or as the password of "
        "Basic.  ls shows which there\n"
        "are, rm takes them back by their IDs: the next request is refused.\n"
        "Example: ashlar user token --read --expires 30d add ann",
    .options = options,
    .choices = "add ls rm",
    .min_words = 1,
    .max_words = -1,
    .has_dry_run = true,
    .run = run_token,
};
