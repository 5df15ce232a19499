/* SPDX-License-Identifier: Apache-2.0 */
/* `du` and `check`. */
#include "cmd/tree/room.h"

#include "base/error.h"
#include "base/mem.h"

#include <inttypes.h>

/* ---- du ---- */

static const ash_cmd_option du_options[] = {ASH_CMD_TREE_OPTIONS, ASH_CMD_TREE_NO_OPTION};

static void emit_usage(const char *path, const ash_tree_usage *u)
{
    bson_t object = BSON_INITIALIZER;
    BSON_APPEND_UTF8(&object, "path", path);
    BSON_APPEND_INT64(&object, "folders", u->folders);
    BSON_APPEND_INT64(&object, "files", u->files);
    BSON_APPEND_INT64(&object, "bytes", u->bytes);
    BSON_APPEND_INT64(&object, "versions", u->versions);
    BSON_APPEND_INT64(&object, "versionBytes", u->version_bytes);
    BSON_APPEND_INT64(&object, "contents", u->contents);
    BSON_APPEND_INT64(&object, "storedBytes", u->stored_bytes);
    ash__cmd_emit(&object);
    bson_destroy(&object);
}

static void print_line(const char *title, int64_t count, int64_t bytes)
{
    char number[ASH_CMD_TREE_NUMBER_BYTES], size[32] = "";
    if (bytes >= 0)
        ash__cmd_print_size(size, sizeof size, bytes);
    printf("%-18s %12s  %12s\n", title, ash__cmd_tree_number(number, count), size);
    ash__cmd_keep_output_error();
}

static int measure(ash_cmd_tree_run *r, ash_error *err)
{
    ash_tree_usage u = ASH_TREE_USAGE_INIT;
    const char *path = r->args->count > 0 ? r->args->words[0] : "/";
    int rc = ash_tree_measure(r->tree, path, &r->op, &u, err);
    if (rc != 0 && rc != ASH_EPARTIAL)
        return rc;
    if (r->cmd->json) {
        emit_usage(path, &u);
        return rc;
    }
    print_line("folders", u.folders, -1);
    print_line("files", u.files, u.bytes);
    print_line("earlier versions", u.versions, u.version_bytes);
    print_line("contents, in all", u.contents, u.stored_bytes);
    return rc;
}

static int run_du(ash_cmd *cmd, const ash_cmd_args *args)
{
    return ash__cmd_tree_run(cmd, ASH_CMD_READ, args, measure);
}

const ash_cmd_verb ash__cmd_tree_du = {
    .name = "tree du",
    .group = "trees",
    .synopsis = "[PATH]",
    .summary = "show how much there is, and what it takes",
    .details = "Contents are those of all trees in the collection, as they are stored: equal ones "
               "once, versions as differences.",
    .options = du_options,
    .max_words = 1,
    .run = run_du,
};

/* ---- check ---- */

enum { FAST = ASH_CMD_TREE_FIRST_OPTION };
static const ash_cmd_option check_options[] = {
    ASH_CMD_TREE_OPTIONS,
    {0, "fast", NULL, "folders and files alone: finds no rotten bytes"},
    ASH_CMD_TREE_NO_OPTION,
};

struct check {
    const ash_cmd_tree_run *r;
    ash_progress *progress;
};

static void tell_finding(void *ctx, const char *text, const bson_t *facts)
{
    const struct check *c = ctx;
    ash__progress_clear(c->progress);
    if (c->r->cmd->json) {
        bson_t object = BSON_INITIALIZER;
        BSON_APPEND_UTF8(&object, "finding", text);
        if (facts != NULL)
            BSON_APPEND_DOCUMENT(&object, "facts", facts);
        ash__cmd_emit(&object);
        bson_destroy(&object);
        return;
    }
    char *shown = ash__cmd_printable(text);
    printf("%s\n", shown);
    ash__cmd_keep_output_error();
    ash__free(shown);
}

static void report(const ash_cmd_tree_run *r, const ash_tree_check_report *c, bool clean)
{
    char size[32], numbers[3][ASH_CMD_TREE_NUMBER_BYTES];
    if (r->cmd->json) {
        bson_t object = BSON_INITIALIZER;
        BSON_APPEND_BOOL(&object, "clean", clean);
        BSON_APPEND_INT64(&object, "entries", c->entries);
        BSON_APPEND_INT64(&object, "versions", c->versions);
        BSON_APPEND_INT64(&object, "contents", c->contents);
        BSON_APPEND_INT64(&object, "bytes", c->bytes);
        BSON_APPEND_INT64(&object, "findings", c->findings);
        ash__cmd_emit(&object);
        bson_destroy(&object);
        return;
    }
    ash__cmd_print_size(size, sizeof size, c->bytes);
    ash__cmd_say(r->cmd, "%s: %s entr%s, %s earlier version%s, %s content%s (%s read)",
                 clean ? "clean" : "damaged", ash__cmd_tree_number(numbers[0], c->entries),
                 c->entries == 1 ? "y" : "ies", ash__cmd_tree_number(numbers[1], c->versions),
                 ash__cmd_s(c->versions), ash__cmd_tree_number(numbers[2], c->contents),
                 ash__cmd_s(c->contents), size);
}

static int check(ash_cmd_tree_run *r, ash_error *err)
{
    ash_tree_check_options o = ASH_TREE_CHECK_OPTIONS_INIT;
    ash_tree_check_report found = ASH_TREE_CHECK_REPORT_INIT;
    struct check c = {r, ash__progress_new(r->cmd, 0, 0)};
    o.without_contents = r->args->values[FAST] != NULL;
    o.finding = tell_finding;
    o.finding_ctx = &c;
    o.progress = ash__progress_maintain;
    o.progress_ctx = c.progress;
    int rc = ash_tree_check(r->tree, &o, &r->op, &found, err);
    ash__progress_free(c.progress);
    if (rc == 0 || (rc == ASH_ECORRUPT && found.findings > 0))
        report(r, &found, rc == 0);
    return rc;
}

static int run_check(ash_cmd *cmd, const ash_cmd_args *args)
{
    return ash__cmd_tree_run(cmd, ASH_CMD_READ, args, check);
}

const ash_cmd_verb ash__cmd_tree_check = {
    .name = "tree check",
    .group = "trees",
    .synopsis = "[--fast]",
    .summary = "look for damage in folders, files, versions and contents",
    .details =
        "Of all trees in the collection.  `ashlar check` looks for damage of the store beneath "
        "them.  Exit status 7 when\nanything was found.",
    .options = check_options,
    .max_words = 0,
    .run = run_check,
};
