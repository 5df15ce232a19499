/* SPDX-License-Identifier: Apache-2.0 */
/* `ashlar share`: links that `serve --http` answers. */
#include "share/share.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "cmd/kit/roots.h"
#include "cmd/kit/verbs.h"

#include <pwd.h>
#include <string.h>
#include <unistd.h>

enum { EXPIRES, READ, UPLOAD, MAX, MAX_FILES, ROOT, URL };
static const ash_cmd_option options[] = {
    {0, "expires", "TIME", "how long the link is good: 12h, 7d (the default), never"},
    {0, "read", NULL, "who has the link can read (the default)"},
    {0, "upload", NULL,
     "who has the link can put new files into the folder, and see nothing of it"},
    {0, "max", "SIZE", "with --upload: how much is taken in all: 500M, 10G (the default), none"},
    {0, "max-files", "N", "with --upload: how many files: 1000 (the default), none"},
    {0, "root", "NAME", "which tree (default: /)"},
    {0, "url", "BASE", "the address that the server is reached by, before the link"},
    {0, NULL, NULL, NULL},
};

static const int64_t max_seconds = 100 * 366 * 24 * 60 * 60LL;

typedef struct run {
    ash_cmd *cmd;
    const ash_cmd_args *args;
    ash_store *store;
    ash_tree *tree;
    ash_shares *shares;
    ash_share share; /* that is to be made */
} run;

static char *login_name(void)
{
    char texts[16384];
    struct passwd entry, *own = NULL;
    if (getpwuid_r(geteuid(), &entry, texts, sizeof texts, &own) == 0 && own != NULL)
        return ash__strdup(own->pw_name);
    return NULL;
}

/* ---- showing ---- */

static void print_date(const char *what, int64_t ms)
{
    char date[64];
    ash__clock_print(date, sizeof date, ms);
    printf("  %s %s", what, date);
}

static void print_json(const ash_share *share, const char *path, const char *url)
{
    char id[25];
    bson_t out = BSON_INITIALIZER;
    bson_oid_to_string(&share->id, id);
    BSON_APPEND_UTF8(&out, "id", id);
    BSON_APPEND_UTF8(&out, "root", share->root);
    if (path != NULL)
        BSON_APPEND_UTF8(&out, "path", path);
    else
        BSON_APPEND_NULL(&out, "path");
    BSON_APPEND_UTF8(&out, "right", share->upload ? "upload" : "read");
    BSON_APPEND_DATE_TIME(&out, "created", share->created_ms);
    if (share->expires_ms != 0)
        BSON_APPEND_DATE_TIME(&out, "expires", share->expires_ms);
    else
        BSON_APPEND_NULL(&out, "expires");
    if (share->by != NULL && share->by[0] != '\0')
        BSON_APPEND_UTF8(&out, "by", share->by);
    if (share->upload)
        BCON_APPEND(&out, "maxBytes", BCON_INT64(share->max_bytes), "usedBytes",
                    BCON_INT64(share->used_bytes), "maxFiles", BCON_INT64(share->max_files),
                    "usedFiles", BCON_INT64(share->used_files));
    if (url != NULL)
        BSON_APPEND_UTF8(&out, "url", url);
    ash__cmd_emit(&out);
    bson_destroy(&out);
}

/* "2 of 10 files"; what has no bound has no "of". */
static void print_used(int64_t used, int64_t max, const char *what)
{
    if (max > 0)
        printf("%lld of %lld %s", (long long)used, (long long)max, what);
    else
        printf("%lld %s", (long long)used, what);
}

static void print_share(const ash_share *share, const char *path)
{
    char id[25];
    char *shown = ash__cmd_printable(path != NULL ? path : "(deleted)");
    char *root = ash__cmd_printable(share->root);
    bson_oid_to_string(&share->id, id);
    printf("%s  %-6s  %s", id, share->upload ? "upload" : "read", shown);
    if (strcmp(share->root, "/") != 0)
        printf("  of tree %s", root);
    if (share->expires_ms != 0)
        print_date("until", share->expires_ms);
    else
        printf("  for ever");
    if (share->upload) {
        fputs("  ", stdout);
        print_used(share->used_files, share->max_files, "files");
        fputs(", ", stdout);
        print_used(share->used_bytes, share->max_bytes, "bytes came");
    }
    putchar('\n');
    ash__free(root);
    ash__free(shown);
}

/* ---- making ---- */

static int read_end(run *r)
{
    const char *text = r->args->values[EXPIRES];
    int64_t seconds = ASH_SHARE_DEFAULT_MS / 1000;
    int status = 0;
    if (text != NULL && strcmp(text, "never") == 0)
        return 0;
    if (text != NULL)
        status = ash__cmd_seconds(r->cmd, "expires", text, 1, max_seconds, &seconds);
    r->share.expires_ms = ash__clock_wall_ms() + seconds * 1000;
    return status;
}

/* A number of bytes, or of files; 0 stands for "none". */
static int read_bounds(run *r)
{
    const char *max = r->args->values[MAX], *files = r->args->values[MAX_FILES];
    int status = 0;
    r->share.max_bytes = max == NULL ? ASH_SHARE_DEFAULT_BYTES : 0;
    r->share.max_files = files == NULL ? ASH_SHARE_DEFAULT_FILES : 0;
    if (max != NULL && strcmp(max, "none") != 0)
        status = ash__cmd_bytes(r->cmd, "max", max, 1, ASH_SHARE_MAX_BYTES, &r->share.max_bytes);
    if (status == 0 && files != NULL && strcmp(files, "none") != 0)
        status = ash__cmd_number(r->cmd, "max-files", files, 1, INT32_MAX, &r->share.max_files);
    return status;
}

/* The link, once. */
static void print_link(const run *r, const char *token, const ash_tree_entry *e)
{
    const char *base = r->args->values[URL] != NULL ? r->args->values[URL] : "";
    size_t len = strlen(base);
    while (len > 0 && base[len - 1] == '/')
        len--;
    char *url = ash__sprintf("%.*s" ASH_SHARE_URL "%s", (int)len, base, token);
    if (r->cmd->json)
        print_json(&r->share, ash_tree_entry_path(e), url);
    else
        printf("%s\n", url);
    ash__cmd_keep_output_error();
    if (base[0] == '\0')
        ash__cmd_note(r->cmd, "the address of `ashlar serve --http` comes before it; --url BASE "
                              "puts it there");
    ash__free(url);
}

static int make(run *r, ash_error *err)
{
    char token[ASH_SHARE_TOKEN_BYTES];
    ash_tree_entry *e = NULL;
    int rc = ash_tree_get(r->tree, r->args->words[0], NULL, NULL, &e, err);
    if (rc == ASH_ENOTFOUND) {
        /* A tree that nobody made is the likelier mistake. */
        ash_error own = ASH_ERROR_INIT;
        if (ash__cmd_require_root(r->store, r->cmd->db, NULL, r->share.root, &own) == ASH_ENOTFOUND)
            ash__fail(err, own.code, "%s (--root NAME chooses)", own.text);
    }
    if (rc == 0 && r->share.upload && !ash_tree_entry_is_folder(e))
        rc = ash__fail(err, ASH_EINVAL, "it is a file, and files are uploaded into a folder");
    if (rc == 0 && r->cmd->dry_run) {
        ash__cmd_say(r->cmd, "would share %s", ash_tree_entry_path(e));
    } else if (rc == 0) {
        bson_value_copy(ash_tree_entry_id(e), &r->share.entry);
        rc = ash__share_create(r->shares, &r->share, token, err);
        if (rc == 0)
            print_link(r, token, e);
    }
    ash_tree_entry_free(e);
    return rc;
}

/* ---- listing ---- */

/* What is shared may be of any tree; NULL: it is not there. */
static int path_of(run *r, const ash_share *share, char **path, ash_error *err)
{
    ash_tree *tree = NULL;
    ash_tree_entry *e = NULL;
    *path = NULL;
    int rc = ash_tree_open(r->store, share->root, NULL, &tree, err);
    if (rc == 0)
        rc = ash__share_entry(share, tree, &e, err);
    if (rc == 0)
        *path = ash__strdup(ash_tree_entry_path(e));
    ash_tree_entry_free(e);
    ash_tree_close(tree);
    return rc == ASH_ENOTFOUND ? 0 : rc;
}

static int show_one(void *ctx, const ash_share *share, ash_error *err)
{
    run *r = ctx;
    const char *root = r->args->values[ROOT];
    char *path;
    if (root != NULL && strcmp(root, share->root) != 0)
        return 0;
    int rc = path_of(r, share, &path, err);
    if (rc != 0)
        return rc;
    if (r->cmd->json)
        print_json(share, path, NULL);
    else
        print_share(share, path);
    ash__cmd_keep_output_error();
    ash__free(path);
    return 0;
}

/* ---- taking back ---- */

static int remove_all(run *r)
{
    int failed = 0, status = ASH_EXIT_OK, count = r->args->count - 1;
    for (int i = 1; i <= count; i++) {
        ash_error err = ASH_ERROR_INIT;
        if (r->cmd->dry_run)
            ash__cmd_say(r->cmd, "would take back %s", r->args->words[i]);
        else if (ash__share_remove(r->shares, r->args->words[i], &err) != 0) {
            int item = ash__cmd_fail(r->cmd, r->args->words[i], &err);
            status = failed++ == 0 ? item : status;
        }
    }
    return failed > 0 && count > 1 ? ASH_EXIT_PARTIAL : status;
}

/* ---- the verb ---- */

static bool is_word(const ash_cmd_args *args, const char *word)
{
    return strcmp(args->words[0], word) == 0;
}

static int check_usage(run *r)
{
    const ash_cmd_args *a = r->args;
    bool makes = !is_word(a, "ls") && !is_word(a, "rm");
    if (!makes && (a->values[EXPIRES] != NULL || a->values[READ] != NULL ||
                   a->values[UPLOAD] != NULL || a->values[URL] != NULL))
        return ash__cmd_usage(r->cmd, "--expires, --read, --upload and --url are for a new link");
    if (a->values[READ] != NULL && a->values[UPLOAD] != NULL)
        return ash__cmd_usage(r->cmd, "a link is for --read or for --upload");
    if (is_word(a, "ls") && a->count > 1)
        return ash__cmd_usage(r->cmd, "share ls takes no PATH");
    if (is_word(a, "rm") && a->count < 2)
        return ash__cmd_usage(r->cmd, "share rm takes the ID of a share, or its token");
    if (makes && a->count > 1)
        return ash__cmd_usage(r->cmd, "one PATH is shared by one link");
    if ((a->values[MAX] != NULL || a->values[MAX_FILES] != NULL) && a->values[UPLOAD] == NULL)
        return ash__cmd_usage(r->cmd, "--max and --max-files are for --upload");
    int status = makes ? read_end(r) : 0;
    return status == 0 && a->values[UPLOAD] != NULL ? read_bounds(r) : status;
}

static int work(run *r, ash_error *err)
{
    int rc = ash__cmd_open_store(r->cmd, ASH_CMD_READ, NULL, &r->store, err);
    if (rc == 0)
        rc = ash__shares_new(r->store, &r->shares, err);
    if (rc != 0)
        return rc;
    if (is_word(r->args, "ls"))
        return ash__share_each(r->shares, show_one, r, err);
    if (is_word(r->args, "rm"))
        return remove_all(r);
    rc = ash_tree_open(r->store, r->share.root, NULL, &r->tree, err);
    return rc == 0 ? make(r, err) : rc;
}

static int run_share(ash_cmd *cmd, const ash_cmd_args *args)
{
    ash_error err = ASH_ERROR_INIT;
    run r = {.cmd = cmd, .args = args};
    int status = check_usage(&r);
    if (status != 0)
        return status;
    r.share.root = ash__strdup(args->values[ROOT] != NULL ? args->values[ROOT] : "/");
    r.share.upload = args->values[UPLOAD] != NULL;
    r.share.by = login_name();
    status = work(&r, &err);
    if (status < 0)
        status = ash__cmd_fail(cmd, args->words[0], &err);
    ash__share_release(&r.share);
    ash_tree_close(r.tree);
    ash__shares_free(r.shares);
    ash__cmd_close_store(r.store);
    return status;
}

const ash_cmd_verb ash__cmd_share = {
    .name = "share",
    .group = "trees",
    .synopsis = "[--expires TIME] [--read | --upload [--max SIZE] [--max-files N]] [--root NAME] "
                "[--url BASE] "
                "PATH | ls | rm ID...",
    .summary = "make links to files and folders, for whoever has the link",
    .details =
        "Prints a link that `ashlar serve --http` answers, once: the store keeps only what tells "
        "that it is the right one.\n"
        "A link follows what is shared wherever it is moved, and leads nowhere while that is "
        "deleted. With --upload, new\n"
        "files can be put into a folder, and nothing in it can be seen; a name that is taken gets "
        "a number.\n"
        "ls shows which links there are, rm takes links back, by their IDs or tokens. A PATH that "
        "is called so: /ls, /rm.",
    .options = options,
    .choices = "ls rm",
    .min_words = 1,
    .max_words = -1,
    .has_dry_run = true,
    .run = run_share,
};
