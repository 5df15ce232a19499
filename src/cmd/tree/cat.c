/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/tree/room.h"

#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { RANGE = ASH_CMD_TREE_FIRST_OPTION, AT };
static const ash_cmd_option options[] = {
    ASH_CMD_TREE_OPTIONS,
    {0, "range", "A-B",
     "bytes A to B, both included, from 0; \"A-\" to the end, \"-N\" the last N"},
    ASH_CMD_TREE_AT_OPTION,
    ASH_CMD_TREE_NO_OPTION,
};

/* "A-B", "A-" or "-N"; *first or *last is -1 where nothing stands. */
static bool parse_range(const char *text, int64_t *first, int64_t *last)
{
    const char *dash = strchr(text, '-');
    char *end;
    *first = *last = -1;
    if (dash == NULL || text[strspn(text, "-0123456789")] != 0 || strlen(text) > 40)
        return false;
    errno = 0;
    if (dash != text)
        *first = strtoll(text, &end, 10);
    if (dash[1] != 0)
        *last = strtoll(dash + 1, &end, 10);
    return errno == 0 && strchr(dash + 1, '-') == NULL && (*first >= 0 || *last >= 0) &&
           (*first < 0 || *last < 0 || *first <= *last);
}

/* As HTTP has it: a range that begins behind the end is an error, one that ends behind it is cut.
 */
static int apply_range(const char *text, int64_t length, ash_tree_read_options *o, ash_error *err)
{
    int64_t first, last;
    if (!parse_range(text, &first, &last))
        return ash__fail(err, ASH_EINVAL, "--range takes A-B, A- or -N, not \"%s\"", text);
    if (first >= 0 && first >= length)
        return ash__fail(err, ASH_EINVAL, "the range begins at byte %lld, the file has %lld",
                         (long long)first, (long long)length);
    if (first < 0) {
        o->start = last < length ? length - last : 0;
        return 0;
    }
    o->start = first;
    if (last >= 0 && last < length - 1)
        o->end = last + 1;
    return 0;
}

static int cat_word(ash_cmd_tree_run *r, const char *word, ash_error *err)
{
    ash_tree_entry *entry = NULL;
    ash_tree_reader *reader = NULL;
    ash_tree_read_options o = ASH_TREE_READ_OPTIONS_INIT;
    ash_output out = {NULL, ash__cmd_write_out};
    const char *range = r->args->values[RANGE];
    int rc = ash__cmd_tree_lookup(r, word, &entry, err);
    if (rc == 0 && ash_tree_entry_is_folder(entry))
        rc = ash__fail(err, ASH_EINVAL, "%s is a folder", word);
    if (rc == 0 && range != NULL)
        rc = apply_range(range, ash_tree_entry_length(entry), &o, err);
    if (rc == 0)
        rc = ash_tree_open_entry(r->tree, entry, &o, &r->op, &reader, err);
    if (rc == 0)
        rc = ash__cmd_tree_copy_out(reader, &out, NULL, err);
    ash_tree_reader_free(reader);
    ash_tree_entry_free(entry);
    return rc;
}

static int cat_all(ash_cmd_tree_run *r, ash_error *err)
{
    (void)err;
    return ash__cmd_tree_each(r, 0, r->args->count, cat_word);
}

static int run_cat(ash_cmd *cmd, const ash_cmd_args *args)
{
    int64_t first, last;
    const char *range = args->values[RANGE];
    if (range != NULL && !parse_range(range, &first, &last))
        return ash__cmd_usage(cmd, "--range takes A-B, A- or -N, not \"%s\"", range);
    return ash__cmd_tree_run(cmd, ASH_CMD_READ, args, cat_all);
}

const ash_cmd_verb ash__cmd_tree_cat = {
    .name = "tree cat",
    .group = "trees",
    .synopsis = "[--range A-B] [--at TIME] PATH...",
    .summary = "write files to standard output",
    .details = "A file that is read whole is compared with its digest: exit status 7 when it is "
               "damaged.",
    .options = options,
    .min_words = 1,
    .max_words = -1,
    .run = run_cat,
};
