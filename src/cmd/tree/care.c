/* SPDX-License-Identifier: Apache-2.0 */
/* `du` and `check`. */
#include "cmd/tree/room.h"

#include "base/error.h"
#include "base/mem.h"

#include <inttypes.h>

/* ---- du ---- */

enum { HUMAN = ASH_CMD_TREE_FIRST_OPTION, BYTES };
static const ash_cmd_option du_options[] = {
    ASH_CMD_TREE_OPTIONS,
    {'h', "human", NULL, "sizes as 1.2 MiB: the default"},
    {0, "bytes", NULL, "sizes in bytes"},
    ASH_CMD_TREE_NO_OPTION,
};

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

static void print_line(const ash_cmd_tree_run *r, const char *title, int64_t count, int64_t bytes)
{
    char number[ASH_CMD_TREE_NUMBER_BYTES], size[32] = "";
    if (bytes >= 0 && r->args->values[BYTES] != NULL)
        snprintf(size, sizeof size, "%" PRId64, bytes);
    else if (bytes >= 0)
        ash__cmd_print_size(size, sizeof size, bytes);
    printf("%-18s %12s  %12s\n", title, ash__cmd_tree_number(number, count), size);
    ash__cmd_keep_output_error();
}

/* What contents take is no folder's own: it is said once. */
static void print_usage(const ash_cmd_tree_run *r, const ash_tree_usage *u, bool contents)
{
    print_line(r, "folders", u->folders, -1);
    print_line(r, "files", u->files, u->bytes);
    print_line(r, "earlier versions", u->versions, u->version_bytes);
    if (contents)
        print_line(r, "contents, in all", u->contents, u->stored_bytes);
}

static void print_title(const char *text)
{
    char *shown = ash__cmd_printable(text);
    printf("%s\n", shown);
    ash__cmd_keep_output_error();
    ash__free(shown);
}

static int measure_one(ash_cmd_tree_run *r, const char *path, ash_tree_usage *sum, ash_error *err)
{
    ash_tree_usage u = ASH_TREE_USAGE_INIT;
    int rc = ash__cmd_tree_no_id(path, err);
    if (rc == 0)
        rc = ash_tree_measure(r->tree, path, &r->op, &u, err);
    if (rc == ASH_ENOTFOUND)
        rc = ash__cmd_tree_say_gone(r, path, err);
    if (rc != 0 && rc != ASH_EPARTIAL)
        return rc;
    sum->folders += u.folders;
    sum->files += u.files;
    sum->bytes += u.bytes;
    sum->versions += u.versions;
    sum->version_bytes += u.version_bytes;
    sum->contents = u.contents;
    sum->stored_bytes = u.stored_bytes;
    if (r->cmd->json) {
        emit_usage(path, &u);
    } else {
        if (r->args->count > 1)
            print_title(path);
        print_usage(r, &u, r->args->count < 2);
    }
    return rc;
}

/* With several, the sum is the last; what lies in two of them counts twice. */
static int measure(ash_cmd_tree_run *r, ash_error *err)
{
    ash_tree_usage sum = ASH_TREE_USAGE_INIT;
    int rc = 0;
    if (r->args->count == 0)
        return measure_one(r, "/", &sum, err);
    for (int i = 0; i < r->args->count && (rc == 0 || rc == ASH_EPARTIAL); i++) {
        int done = measure_one(r, r->args->words[i], &sum, err);
        rc = done != 0 ? done : rc;
    }
    if ((rc == 0 || rc == ASH_EPARTIAL) && r->args->count > 1 && !r->cmd->json) {
        print_title("in all");
        print_usage(r, &sum, true);
    }
    return rc;
}

static int run_du(ash_cmd *cmd, const ash_cmd_args *args)
{
    return ash__cmd_tree_run(cmd, ASH_CMD_READ, args, measure);
}

const ash_cmd_verb ash__cmd_tree_du = {
    .name = "tree du",
    .group = "trees",
    .synopsis = "[-h|--bytes] [PATH...]",
    .summary = "show how much there is, and what it takes",
    .details = "Contents are those of all trees in the collection, as they are stored: equal ones "
               "once, versions as differences.",
    .options = du_options,
    .max_words = -1,
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
