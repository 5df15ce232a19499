/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/tree/room.h"

#include "base/buffer.h"
#include "base/error.h"
#include "base/mem.h"

#include <inttypes.h>
#include <string.h>

enum { LIMIT = ASH_CMD_TREE_FIRST_OPTION };
static const ash_cmd_option options[] = {
    ASH_CMD_TREE_OPTIONS,
    {0, "limit", "N", "the newest N versions only"},
    ASH_CMD_TREE_NO_OPTION,
};
enum { SHOWN_DIGITS = 12 };

static bool differs(const char *a, const char *b)
{
    return (a == NULL) != (b == NULL) || (a != NULL && strcmp(a, b) != 0);
}

static void add(ash_buffer *out, const char *text)
{
    ash__buffer_printf(out, "%s%s", out->len > 0 ? ", " : "", text);
}

/* A deletion has neither name nor folder of its own: what it ended lends it a path. */
static bool was_moved(const ash_tree_entry *e, const ash_tree_entry *before)
{
    if (ash_tree_entry_is_deleted(before))
        return differs(ash_tree_entry_path(e), ash_tree_entry_path(before));
    return differs(ash_tree_entry_name(e), ash_tree_entry_name(before)) ||
           ash__cmd_tree_field_differs(e, before, "parent");
}

/* The version that it brought back, or 0. */
static int32_t restored_version(const ash_tree_entry *e)
{
    bson_iter_t it;
    bson_t doc;
    bool there = ash__cmd_tree_field(e, "restored", &it, &doc) && BSON_ITER_HOLDS_INT32(&it);
    return there ? bson_iter_int32(&it) : 0;
}

static void describe_restored(int32_t version, ash_buffer *out)
{
    add(out, "restored ");
    ash__buffer_printf(out, "@%" PRId32, version);
}

/* What made a version of the one before it (NULL: it is the oldest that is known). */
static void describe(const ash_tree_entry *e, const ash_tree_entry *before, ash_buffer *out)
{
    if (ash_tree_entry_is_deleted(e) && ash_tree_entry_digest(e)[0] == 0)
        add(out, "deleted");
    else if (before == NULL && ash_tree_entry_version(e) == 1)
        add(out, "created");
    else if (before == NULL)
        add(out, "the oldest kept");
    else if (ash_tree_entry_is_deleted(before))
        add(out, "undeleted");
    if (before == NULL || ash_tree_entry_is_deleted(e))
        return;
    if (restored_version(e) > 0)
        describe_restored(restored_version(e), out);
    else if (!ash_tree_entry_is_deleted(before) &&
             differs(ash_tree_entry_digest(e), ash_tree_entry_digest(before)))
        add(out, "contents");
    if (was_moved(e, before)) {
        add(out, "moved from ");
        ash__buffer_append_text(out, ash_tree_entry_path(before));
    }
    if (ash_tree_entry_is_deleted(before))
        return; /* it says no more than that */
    if (differs(ash_tree_entry_content_type(e), ash_tree_entry_content_type(before)))
        add(out, "type");
    if (ash__cmd_tree_field_differs(e, before, "acl"))
        add(out, "access list");
    if (ash__cmd_tree_field_differs(e, before, "keep"))
        add(out, "what is kept");
    if (out->len == 0)
        add(out, "time or properties");
}

static void print_version(const ash_cmd_tree_run *r, const ash_tree_entry *e,
                          const ash_tree_entry *before)
{
    char date[64], size[32] = "-", version[16];
    ash_buffer what = ASH_BUFFER_INIT;
    char *tags = ash__cmd_tree_tags(e);
    const char *by = ash_tree_entry_changed_by(e);
    describe(e, before, &what);
    if (!ash__cmd_tree_emit(r, e, "what", ash__buffer_text(&what))) {
        char *shown = ash__cmd_printable(ash__buffer_text(&what));
        char *shown_by = ash__cmd_printable(by != NULL ? by : "-");
        char *shown_tags = ash__cmd_printable(tags != NULL ? tags : "");
        ash__cmd_tree_print_time(date, sizeof date, ash_tree_entry_changed_ms(e));
        if (ash_tree_entry_digest(e)[0] != 0)
            ash__cmd_print_size(size, sizeof size, ash_tree_entry_length(e));
        snprintf(version, sizeof version, "@%" PRId32, ash_tree_entry_version(e));
        printf("%-5s %-24s  %-10s %10s  %-*.*s  %s%s%s%s\n", version, date, shown_by, size,
               SHOWN_DIGITS, SHOWN_DIGITS, ash_tree_entry_digest(e), shown,
               tags != NULL ? "  [" : "", shown_tags, tags != NULL ? "]" : "");
        ash__free(shown);
        ash__free(shown_by);
        ash__free(shown_tags);
    }
    ash__cmd_keep_output_error();
    ash__free(tags);
    ash__buffer_release(&what);
}

/* Each is printed when the one before it is known.  Two more than the limit are asked for, to know
 * that of the last, too, and the path of a deletion from the one that it ended. */
static int print_history(ash_cmd_tree_run *r, const char *path, int64_t limit, ash_error *err)
{
    ash_tree_listing *listing = NULL;
    ash_tree_entry *newer = NULL;
    const ash_tree_entry *e = NULL;
    int64_t printed = 0;
    int rc = ash_tree_history(r->tree, path, limit > 0 ? limit + 2 : 0, &r->op, &listing, err);
    do {
        if (rc == 0)
            rc = ash_tree_listing_next(listing, &e, err);
        if (rc == 0 && newer != NULL && (limit == 0 || printed++ < limit))
            print_version(r, newer, e);
        ash_tree_entry_free(newer);
        newer = rc == 0 && e != NULL ? ash_tree_entry_copy(e) : NULL;
    } while (newer != NULL && !ferror(stdout));
    ash_tree_entry_free(newer);
    ash_tree_listing_free(listing);
    return rc;
}

static int show_log(ash_cmd_tree_run *r, ash_error *err)
{
    const char *word = r->args->words[0];
    ash_cmd_tree_address address;
    ash_tree_entry *entry = NULL;
    int64_t limit = 0;
    if (r->args->values[LIMIT] != NULL) {
        int status = ash__cmd_number(r->cmd, "limit", r->args->values[LIMIT], 1, INT32_MAX, &limit);
        if (status != 0)
            return status;
    }
    int rc = ash__cmd_tree_address(r, word, &address, err);
    if (rc == 0 && address.digest != NULL)
        rc = ash__fail(err, ASH_EINVAL,
                       "contents have no versions; files have: say a PATH or an id");
    else if (rc == 0 && address.path == NULL)
        rc = ash__cmd_tree_entry_at(r, &address, &entry, err);
    if (rc == 0)
        rc = print_history(r, entry != NULL ? ash_tree_entry_path(entry) : word, limit, err);
    if (rc == ASH_ENOTFOUND && address.path != NULL &&
        (address.when.version != 0 || address.when.at_ms != 0)) {
        ash_error said = *err;
        ash__fail(err, rc, "%s; the log is of all versions: `ashlar tree log %s`", said.text,
                  address.path);
    } else if (rc == ASH_ENOTFOUND && entry == NULL && address.path != NULL) {
        rc = ash__cmd_tree_say_gone(r, word, err);
    }
    ash_tree_entry_free(entry);
    ash__cmd_tree_address_release(&address);
    return rc < 0 ? ash__cmd_fail(r->cmd, word, err) : rc;
}

static int run_log(ash_cmd *cmd, const ash_cmd_args *args)
{
    return ash__cmd_tree_run(cmd, ASH_CMD_READ, args, show_log);
}

const ash_cmd_verb ash__cmd_tree_log = {
    .name = "tree log",
    .group = "trees",
    .synopsis = "[--limit N] PATH",
    .summary = "show the versions of a file or folder",
    .details =
        "The newest first: version, when it was made, by whom, size, the digest's beginning, "
        "what changed, tags.\n"
        "Of a PATH that is not there any more: what had it last.",
    .options = options,
    .min_words = 1,
    .max_words = 1,
    .run = run_log,
};
