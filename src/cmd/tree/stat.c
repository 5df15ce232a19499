/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/tree/room.h"

#include "base/mem.h"

#include <inttypes.h>
#include <string.h>

static const ash_cmd_option options[] = {ASH_CMD_TREE_OPTIONS, ASH_CMD_TREE_AT_OPTION,
                                         ASH_CMD_TREE_NO_OPTION};

static void print_text(const char *title, const char *text)
{
    char *shown = ash__cmd_printable(text);
    printf("%-10s %s\n", title, shown);
    ash__free(shown);
}

/* A root on which nothing was set has none, and what is current has not ended. */
static void print_date(const char *title, int64_t ms)
{
    char date[64];
    if (ms == 0)
        return;
    ash__cmd_tree_print_time(date, sizeof date, ms);
    printf("%-10s %s\n", title, date);
}

static void print_content(const ash_tree_entry *e)
{
    char size[32];
    const char *type = ash_tree_entry_content_type(e), *digest = ash_tree_entry_digest(e);
    ash__cmd_print_size(size, sizeof size, ash_tree_entry_length(e));
    printf("%-10s %" PRId64 " (%s)\n", "Length:", ash_tree_entry_length(e), size);
    print_text(strlen(digest) == 40 ? "SHA-1:" : "SHA-256:", digest);
    if (type != NULL)
        print_text("Type:", type);
}

/* "Tag: approved, since … by ann". */
static void print_tags(const ash_tree_entry *e)
{
    bson_iter_t it, tag;
    bson_t doc;
    if (!ash__cmd_tree_field(e, "tags", &it, &doc) || !bson_iter_recurse(&it, &tag))
        return;
    while (bson_iter_next(&tag)) {
        const char *by, *name = BSON_ITER_HOLDS_UTF8(&tag) ? bson_iter_utf8(&tag, NULL) : "";
        int64_t since_ms = ash_tree_entry_tagged_ms(e, name, &by);
        char date[64];
        ash__cmd_tree_print_time(date, sizeof date, since_ms);
        char *text =
            ash__sprintf("%s%s%s%s%s", name, since_ms != 0 ? ", since " : "",
                         since_ms != 0 ? date : "", by != NULL ? " by " : "", by != NULL ? by : "");
        print_text("Tag:", text);
        ash__free(text);
    }
}

static void print_entry(const ash_tree_entry *e)
{
    char *id = ash__cmd_id_text(ash_tree_entry_id(e));
    print_text("Path:", ash_tree_entry_path(e));
    print_text("Id:", id);
    printf("%-10s %s\n", "Kind:", ash_tree_entry_is_folder(e) ? "folder" : "file");
    printf("%-10s %" PRId32 "%s\n", "Version:", ash_tree_entry_version(e),
           ash_tree_entry_is_deleted(e)      ? ", deleted"
           : ash_tree_entry_ended_ms(e) != 0 ? ", not the newest"
                                             : "");
    if (!ash_tree_entry_is_folder(e))
        print_content(e);
    print_date("Created:", ash_tree_entry_created_ms(e));
    print_date("Changed:", ash_tree_entry_changed_ms(e));
    print_date("Ended:", ash_tree_entry_ended_ms(e));
    print_date("Modified:", ash_tree_entry_modified_ms(e));
    if (ash_tree_entry_changed_by(e) != NULL)
        print_text("By:", ash_tree_entry_changed_by(e));
    if (ash__cmd_tree_author(e) != NULL)
        print_text("Author:", ash__cmd_tree_author(e));
    print_tags(e);
    ash__free(id);
}

static int stat_word(ash_cmd_tree_run *r, const char *word, ash_error *err)
{
    ash_tree_entry *entry = NULL;
    int rc = ash__cmd_tree_lookup(r, word, &entry, err);
    if (rc == 0 && !ash__cmd_tree_emit(r, entry, NULL, NULL)) {
        if (word != r->args->words[0])
            putchar('\n');
        print_entry(entry);
    }
    ash__cmd_keep_output_error();
    ash_tree_entry_free(entry);
    return rc;
}

static int stat_all(ash_cmd_tree_run *r, ash_error *err)
{
    (void)err;
    return ash__cmd_tree_each(r, 0, r->args->count, stat_word);
}

static int run_stat(ash_cmd *cmd, const ash_cmd_args *args)
{
    return ash__cmd_tree_run(cmd, ASH_CMD_READ, args, stat_all);
}

const ash_cmd_verb ash__cmd_tree_stat = {
    .name = "tree stat",
    .group = "trees",
    .synopsis = "[--at TIME] PATH...",
    .summary = "show all that is known about files and folders",
    .details =
        "Created is when the first version was made, Changed when this one was, Modified what "
        "the local file had.",
    .options = options,
    .min_words = 1,
    .max_words = -1,
    .run = run_stat,
};
