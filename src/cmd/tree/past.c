/* SPDX-License-Identifier: Apache-2.0 */
/* `undelete` and `tag`. */
#include "cmd/tree/room.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"

#include <inttypes.h>
#include <string.h>

static const ash_cmd_option change_options[] = {ASH_CMD_TREE_OPTIONS, ASH_CMD_TREE_BY_OPTION,
                                                ASH_CMD_TREE_NO_OPTION};

/* ---- undelete ---- */

static void print_deleted(const ash_cmd_tree_run *r, const ash_tree_entry *e)
{
    char date[64], size[32] = "-";
    if (ash__cmd_tree_emit(r, e, NULL, NULL))
        return;
    char *path = ash__cmd_printable(ash_tree_entry_path(e));
    char *id = ash__cmd_id_text(ash_tree_entry_id(e));
    ash__clock_print(date, sizeof date, ash_tree_entry_ended_ms(e));
    if (ash_tree_entry_digest(e)[0] != 0)
        ash__cmd_print_size(size, sizeof size, ash_tree_entry_length(e));
    printf("%s  %10s  id:%-24s  %s\n", date, size, id, path);
    ash__cmd_keep_output_error();
    ash__free(path);
    ash__free(id);
}

static int list_trash(ash_cmd_tree_run *r, ash_error *err)
{
    ash_tree_listing *listing = NULL;
    const ash_tree_entry *e;
    int rc = ash_tree_trash(r->tree, "/", 0, &r->op, &listing, err);
    while (rc == 0 && !ferror(stdout)) {
        rc = ash_tree_listing_next(listing, &e, err);
        if (rc != 0 || e == NULL)
            break;
        print_deleted(r, e);
    }
    ash_tree_listing_free(listing);
    return rc;
}

/* Who had the path last, if that ended with a deletion: by an index, while the trash is as long as
 * it is.  NULL: somebody else may have been deleted from there. */
static int find_last_owner(ash_cmd_tree_run *r, const char *path, ash_tree_entry **out,
                           ash_error *err)
{
    ash_tree_listing *listing = NULL;
    const ash_tree_entry *e = NULL;
    ash_error own = ASH_ERROR_INIT;
    *out = NULL;
    int rc = ash_tree_history(r->tree, path, 2, &r->op, &listing, &own);
    if (rc == ASH_ENOTFOUND)
        return 0;
    if (rc == 0)
        rc = ash_tree_listing_next(listing, &e, &own);
    bool deleted = rc == 0 && e != NULL && ash_tree_entry_is_deleted(e);
    if (deleted)
        rc = ash_tree_listing_next(listing, &e, &own);
    if (deleted && rc == 0 && e != NULL && strcmp(ash_tree_entry_path(e), path) == 0)
        *out = ash_tree_entry_copy(e);
    ash_tree_listing_free(listing);
    return rc != 0 ? ash__fail(err, rc, "%s", own.text) : 0;
}

static int search_trash(ash_cmd_tree_run *r, const char *path, ash_tree_entry **out, ash_error *err)
{
    ash_tree_listing *listing = NULL;
    const ash_tree_entry *e;
    int rc = ash_tree_trash(r->tree, "/", 0, &r->op, &listing, err);
    while (rc == 0 && *out == NULL) {
        rc = ash_tree_listing_next(listing, &e, err);
        if (rc != 0 || e == NULL)
            break;
        if (strcmp(ash_tree_entry_path(e), path) == 0)
            *out = ash_tree_entry_copy(e);
    }
    if (rc == 0 && *out == NULL)
        rc = ash__fail(err, ASH_ENOTFOUND,
                       "nothing was deleted there; `ashlar tree undelete` lists what was");
    ash_tree_listing_free(listing);
    return rc;
}

/* What was deleted last from the path. */
static int find_deleted(ash_cmd_tree_run *r, const char *path, ash_tree_entry **out, ash_error *err)
{
    char *whole = path[0] == '/' ? ash__strdup(path) : ash__sprintf("/%s", path);
    for (size_t len = strlen(whole); len > 1 && whole[len - 1] == '/'; len--)
        whole[len - 1] = 0; /* as a shell completes the names of folders */
    int rc = find_last_owner(r, whole, out, err);
    if (rc == 0 && *out == NULL)
        rc = search_trash(r, whole, out, err);
    ash__free(whole);
    return rc;
}

static int find_to_undelete(ash_cmd_tree_run *r, const char *word, ash_tree_entry **out,
                            ash_error *err)
{
    ash_cmd_tree_address address;
    *out = NULL;
    if (!ash__cmd_tree_is_id(word))
        return find_deleted(r, word, out, err);
    int rc = ash__cmd_tree_address(r, word, &address, err);
    if (rc == 0)
        rc = ash__cmd_tree_entry_at(r, &address, out, err);
    ash__cmd_tree_address_release(&address);
    return rc;
}

/* A folder that is back already may be so by half, as when this was interrupted: *entry NULL: there
 * is none, or nothing is missing in it. */
static int go_on(ash_cmd_tree_run *r, const ash_tree_change_options *o, ash_tree_entry **entry,
                 ash_error *err)
{
    const char *path = r->args->words[0];
    ash_tree_entry *there = NULL;
    ash_error own = ASH_ERROR_INIT;
    *entry = NULL;
    if (ash__cmd_tree_is_id(path) || r->args->count > 1 || r->cmd->dry_run)
        return 0;
    int rc = ash__cmd_tree_peek(r, path, &there, &own);
    if (rc == 0 && there != NULL && ash_tree_entry_is_folder(there))
        rc = ash_tree_undelete(r->tree, ash_tree_entry_id(there), NULL, o, &r->op, entry, &own);
    ash_tree_entry_free(there);
    bool nothing_is_missing = rc == ASH_EEXISTS || rc == ASH_ENOTFOUND;
    return rc == 0 || nothing_is_missing ? 0 : ash__fail(err, rc, "%s", own.text);
}

static int undelete(ash_cmd_tree_run *r, ash_error *err)
{
    ash_tree_change_options o = ash__cmd_tree_changes(r);
    ash_tree_entry *gone = NULL, *entry = NULL;
    const char *to = r->args->count > 1 ? r->args->words[1] : NULL;
    if (r->args->count == 0)
        return list_trash(r, err);
    bool by_id = ash__cmd_tree_is_id(r->args->words[0]);
    int rc = by_id ? 0 : ash__cmd_tree_no_id(r->args->words[0], err);
    if (rc == 0 && to != NULL)
        rc = ash__cmd_tree_no_id(to, err);
    if (rc == 0)
        rc = go_on(r, &o, &entry, err);
    if (rc == 0 && entry == NULL)
        rc = find_to_undelete(r, r->args->words[0], &gone, err);
    if (rc == 0 && gone != NULL && !r->cmd->dry_run)
        rc = ash_tree_undelete(r->tree, ash_tree_entry_id(gone), to, &o, &r->op, &entry, err);
    const ash_tree_entry *shown = entry != NULL ? entry : gone;
    if (rc == 0 && !ash__cmd_tree_emit(r, shown, NULL, NULL))
        ash__cmd_say(r->cmd, "%s %s", r->cmd->dry_run ? "would undelete" : "undeleted",
                     r->cmd->dry_run && to != NULL ? to : ash_tree_entry_path(shown));
    ash_tree_entry_free(gone);
    ash_tree_entry_free(entry);
    return rc < 0 ? ash__cmd_fail(r->cmd, r->args->words[0], err) : rc;
}

static int run_undelete(ash_cmd *cmd, const ash_cmd_args *args)
{
    return ash__cmd_tree_run(cmd, ASH_CMD_READ, args, undelete);
}

const ash_cmd_verb ash__cmd_tree_undelete = {
    .name = "tree undelete",
    .group = "trees",
    .synopsis = "[PATH|id:VALUE [TO]]",
    .summary = "bring back what was deleted, or list it",
    .details =
        "What was deleted last from PATH, or what has the id, comes back to its place, or as "
        "TO; a folder with all that\n"
        "was deleted with it.  Without arguments: what can be undeleted, the latest first.",
    .options = change_options,
    .max_words = 2,
    .has_dry_run = true,
    .run = run_undelete,
};

/* ---- tag ---- */

enum { REMOVE = ASH_CMD_TREE_FIRST_OPTION };
static const ash_cmd_option tag_options[] = {
    ASH_CMD_TREE_OPTIONS,
    {0, "remove", NULL, "take the mark away"},
    ASH_CMD_TREE_BY_OPTION,
    ASH_CMD_TREE_NO_OPTION,
};

static int tag_one(ash_cmd_tree_run *r, const char *word, ash_error *err)
{
    bool remove = r->args->values[REMOVE] != NULL;
    const char *name = r->args->words[r->args->count - 1];
    ash_tree_change_options o = ash__cmd_tree_changes(r);
    ash_cmd_tree_address address;
    ash_tree_entry *entry = NULL;
    int rc = ash__cmd_tree_address(r, word, &address, err);
    if (rc == 0)
        rc = ash__cmd_tree_no_id(word, err);
    if (rc == 0)
        rc = ash__cmd_tree_entry_at(r, &address, &entry, err);
    bool has = rc == 0 && ash_tree_entry_has_tag(entry, name);
    if (rc == 0 && remove && !has)
        rc = ash__fail(err, ASH_ESTATE, "%s@%" PRId32 " is not tagged %s",
                       ash_tree_entry_path(entry), ash_tree_entry_version(entry), name);
    if (rc == 0)
        rc = ash_tree_tag_with(r->tree, address.path, ash_tree_entry_version(entry), name, remove,
                               &o, &r->op, err);
    if (rc == 0 && !ash__cmd_tree_emit(r, entry, remove ? "untagged" : "tagged", name))
        ash__cmd_say(r->cmd, "%s@%" PRId32 " is %s %s", ash_tree_entry_path(entry),
                     ash_tree_entry_version(entry),
                     remove ? "no longer tagged"
                     : has  ? "tagged already"
                            : "tagged",
                     name);
    ash_tree_entry_free(entry);
    ash__cmd_tree_address_release(&address);
    return rc;
}

/* PATH@TAG would be read as something else. */
static bool hidden(const char *tag)
{
    size_t len = strlen(tag);
    return tag[strspn(tag, "0123456789")] == 0 || strchr(tag, '@') != NULL ||
           (tag[0] == '{' && tag[len - 1] == '}');
}

static int tag(ash_cmd_tree_run *r, ash_error *err)
{
    (void)err;
    const char *name = r->args->words[r->args->count - 1];
    if (name[0] != 0 && hidden(name) && r->args->values[REMOVE] == NULL)
        ash__cmd_warn(r->cmd,
                      "PATH@%s does not lead to what is tagged so: a number is a version, what is "
                      "in braces is a time, and a tag has no @ in it",
                      name);
    return ash__cmd_tree_each(r, 0, r->args->count - 1, tag_one);
}

static int run_tag(ash_cmd *cmd, const ash_cmd_args *args)
{
    return ash__cmd_tree_run(cmd, ASH_CMD_READ, args, tag);
}

const ash_cmd_verb ash__cmd_tree_tag = {
    .name = "tree tag",
    .group = "trees",
    .synopsis = "[--remove] PATH[@VERSION]... TAG",
    .summary = "mark versions, so that they are found and never pruned",
    .details =
        "The newest, if no VERSION is said.  PATH@TAG is the version from then on, and of a folder "
        "what lay in it when it was\n"
        "tagged: ls, get -r, cp -r, diff -r and restore -r take it.  `ashlar tree log` shows tags, "
        "`stat` also who set them when.",
    .options = tag_options,
    .min_words = 2,
    .max_words = -1,
    .run = run_tag,
};
