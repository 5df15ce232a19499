/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/tree/room.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"

#include <inttypes.h>
#include <string.h>

enum { LONG = ASH_CMD_TREE_FIRST_OPTION, RECURSIVE, HUMAN, AT };
static const ash_cmd_option options[] = {
    ASH_CMD_TREE_OPTIONS,
    {'l', "long", NULL, "show size, modification time and version, too"},
    {'R', "recursive", NULL, "all that lies below, by its path"},
    {'h', "human", NULL, "with -l: sizes as 1.2 MiB"},
    ASH_CMD_TREE_AT_OPTION,
    ASH_CMD_TREE_NO_OPTION,
};

static void print_long(const ash_cmd_tree_run *r, const ash_tree_entry *e)
{
    char date[64], size[32] = "-";
    ash__clock_print(date, sizeof date, ash_tree_entry_modified_ms(e));
    if (!ash_tree_entry_is_folder(e) && r->args->values[HUMAN] != NULL)
        ash__cmd_print_size(size, sizeof size, ash_tree_entry_length(e));
    else if (!ash_tree_entry_is_folder(e))
        snprintf(size, sizeof size, "%" PRId64, ash_tree_entry_length(e));
    printf("%14s  %s  %4" PRId32 "  ", size, date, ash_tree_entry_version(e));
}

static void print_entry(const ash_cmd_tree_run *r, const ash_tree_entry *e, const char *name)
{
    if (ash__cmd_tree_emit(r, e, NULL, NULL))
        return;
    char *shown = ash__cmd_printable(name);
    if (r->args->values[LONG] != NULL)
        print_long(r, e);
    printf("%s%s\n", shown, ash_tree_entry_is_folder(e) ? "/" : "");
    ash__cmd_keep_output_error();
    ash__free(shown);
}

typedef struct sum {
    int64_t files, folders, bytes;
} sum;

static void add(sum *s, const ash_tree_entry *e)
{
    bool folder = ash_tree_entry_is_folder(e);
    s->folders += folder;
    s->files += !folder;
    s->bytes += folder ? 0 : ash_tree_entry_length(e);
}

static void print_sum(const ash_cmd_tree_run *r, const sum *s)
{
    char size[32], numbers[2][ASH_CMD_TREE_NUMBER_BYTES];
    if (r->args->values[LONG] == NULL || r->cmd->json || r->cmd->quiet)
        return;
    if (r->args->values[HUMAN] != NULL)
        ash__cmd_print_size(size, sizeof size, s->bytes);
    else
        snprintf(size, sizeof size, "%" PRId64, s->bytes);
    printf("%14s  in all, of %s file%s; %s folder%s\n", size,
           ash__cmd_tree_number(numbers[0], s->files), ash__cmd_s(s->files),
           ash__cmd_tree_number(numbers[1], s->folders), ash__cmd_s(s->folders));
    ash__cmd_keep_output_error();
}

/* Names, or with -R what follows the folder's own path. */
static int list_folder(ash_cmd_tree_run *r, const char *path, int64_t at_ms, ash_error *err)
{
    ash_tree_list_options o = ASH_TREE_LIST_OPTIONS_INIT;
    ash_tree_listing *listing = NULL;
    const ash_tree_entry *e;
    int damaged = 0;
    sum all = {0};
    size_t len = strcmp(path, "/") == 0 ? 0 : strlen(path);
    o.at_ms = at_ms;
    o.recursive = r->args->values[RECURSIVE] != NULL;
    int rc = ash_tree_list(r->tree, path, &o, &r->op, &listing, err);
    while (rc == 0 && !ferror(stdout)) {
        rc = ash__cmd_tree_next(r, listing, &e, &damaged, err);
        if (rc != 0 || e == NULL)
            break;
        print_entry(r, e, ash_tree_entry_path(e) + len + 1);
        add(&all, e);
    }
    if (rc == 0 && !ferror(stdout))
        print_sum(r, &all);
    ash_tree_listing_free(listing);
    return ash__cmd_tree_passed_over(rc, damaged, err);
}

static int list_word(ash_cmd_tree_run *r, const char *word, ash_error *err)
{
    ash_cmd_tree_address address;
    ash_tree_entry *entry = NULL;
    int rc = ash__cmd_tree_address(r, word, &address, err);
    if (rc == 0)
        rc = ash__cmd_tree_entry_at(r, &address, &entry, err);
    if (rc == 0 && ash_tree_entry_is_folder(entry))
        rc = ash__cmd_tree_folder_at(&address, entry, err);
    if (rc == 0 && ash_tree_entry_is_folder(entry))
        rc = list_folder(r, ash_tree_entry_path(entry), address.when.at_ms, err);
    else if (rc == 0)
        print_entry(r, entry, word);
    ash_tree_entry_free(entry);
    ash__cmd_tree_address_release(&address);
    return rc;
}

static int list(ash_cmd_tree_run *r, ash_error *err)
{
    if (r->args->count == 0)
        return list_word(r, "/", err);
    return ash__cmd_tree_each(r, 0, r->args->count, list_word);
}

static int run_ls(ash_cmd *cmd, const ash_cmd_args *args)
{
    return ash__cmd_tree_run(cmd, ASH_CMD_READ, args, list);
}

const ash_cmd_verb ash__cmd_tree_ls = {
    .name = "tree ls",
    .group = "trees",
    .synopsis = "[-l] [-h] [-R] [--at TIME] [PATH...]",
    .summary = "list a folder",
    .details = "Folders end in \"/\".  With -l, the last line of a folder (but with -q) says what "
               "it comes to.\n"
               "PATH@{TIME} is the folder as it was then, PATH@VERSION a "
               "file's version.",
    .options = options,
    .max_words = -1,
    .run = run_ls,
};
