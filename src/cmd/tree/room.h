/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_CMD_TREE_ROOM_H
#define ASH_CMD_TREE_ROOM_H

/* What the verbs of `ashlar tree` share: opening the tree, addresses, times, showing entries. */

#include "cmd/kit/cmd.h"

#include <ashlar/tree.h>

/* Each table of options begins with these, as the verb's own does: they may stand before the word.
 * The enum goes on with ASH_CMD_TREE_FIRST_OPTION. */
#define ASH_CMD_TREE_OPTIONS                                                                       \
    {0, "root", "NAME", "which tree (default: /)"},                                                \
    {                                                                                              \
        0, "collection", "NAME", "of files and folders (default: v7files)"                         \
    }
enum { ASH_CMD_TREE_FIRST_OPTION = 2 };
/* For those that have them; they are found by their names. */
#define ASH_CMD_TREE_AT_OPTION                                                                     \
    {                                                                                              \
        0, "at", "TIME", "the tree as it was then: as in PATH@{TIME}, for every PATH without one"  \
    }
#define ASH_CMD_TREE_BY_OPTION                                                                     \
    {                                                                                              \
        0, "by", "NAME", "who makes the change (default: who is logged in)"                        \
    }
#define ASH_CMD_TREE_NO_OPTION                                                                     \
    {                                                                                              \
        0, NULL, NULL, NULL                                                                        \
    }

/* The verbs, in the order of the help. */
#define ASH_CMD_TREE_VERBS(X)                                                                      \
    X(put)                                                                                         \
    X(get)                                                                                         \
    X(cat)                                                                                         \
    X(ls)                                                                                          \
    X(stat)                                                                                        \
    X(mkdir)                                                                                       \
    X(mv)                                                                                          \
    X(cp)                                                                                          \
    X(rm)                                                                                          \
    X(log)                                                                                         \
    X(diff)                                                                                        \
    X(restore)                                                                                     \
    X(undelete)                                                                                    \
    X(tag)                                                                                         \
    X(keep)                                                                                        \
    X(quota)                                                                                       \
    X(prune)                                                                                       \
    X(gc)                                                                                          \
    X(acl)                                                                                         \
    X(watch)                                                                                       \
    X(du)                                                                                          \
    X(check)
#define X(name) extern const ash_cmd_verb ash__cmd_tree_##name;
ASH_CMD_TREE_VERBS(X)
#undef X

/* ---- one run of a verb (room.c) ---- */

typedef struct ash_cmd_tree_run {
    ash_cmd *cmd;
    const ash_cmd_args *args;
    ash_store *store; /* NULL: a dry run, where no store is yet */
    ash_tree *tree;   /* NULL with store */
    ash_op op;        /* can be interrupted; changes are durable one by one */
    const char *root; /* --root, or NULL */
    int64_t at_ms;    /* --at, or 0 */
    char *by;         /* --by, or who is logged in; or NULL */
} ash_cmd_tree_run;

/* Opens the tree, does the work, reports what went wrong, closes.  work returns a negative ASH_E…
 * with err filled, or an exit code. */
typedef int (*ash_cmd_tree_work)(ash_cmd_tree_run *r, ash_error *err);
int ash__cmd_tree_run(ash_cmd *cmd, enum ash_cmd_open how, const ash_cmd_args *args,
                      ash_cmd_tree_work work);
/* All that a change says where nothing else is said. */
ash_tree_change_options ash__cmd_tree_changes(const ash_cmd_tree_run *r);
/* The items of several that failed are counted, told and passed over, but for what would fail with
 * all that follow.  Returns what the loop over them ends with: 0 to go on. */
typedef int (*ash_cmd_tree_item)(ash_cmd_tree_run *r, const char *word, ash_error *err);
int ash__cmd_tree_each(ash_cmd_tree_run *r, int first, int count, ash_cmd_tree_item item);
/* The next entry of a listing, NULL at its end.  One that cannot be read is told and counted, and
 * the listing goes on. */
int ash__cmd_tree_next(const ash_cmd_tree_run *r, ash_tree_listing *listing,
                       const ash_tree_entry **out, int *damaged, ash_error *err);
/* rc, or ASH_EPARTIAL where entries were passed over. */
int ash__cmd_tree_passed_over(int rc, int damaged, ash_error *err);
/* Nothing that follows can be done: the store is out of reach, or the disk is full. */
bool ash__cmd_tree_is_hopeless(int rc);

/* ---- which entry (address.c) ---- */

/* PATH, PATH@VERSION, PATH@TAG, PATH@{TIME}, id:VALUE, id:VALUE@VERSION, digest:DIGITS. */
typedef struct ash_cmd_tree_address {
    char *path; /* NULL: id, or digest */
    bson_value_t id;
    char *digest; /* the beginning of a content's; or NULL */
    ash_tree_when when;
    char *tag; /* that chose the version; or NULL */
} ash_cmd_tree_address;

/* An entry whose whole path is what was typed comes before a version of another.  A tag that is a
 * number is not found.  ASH_EINVAL for versions and times that cannot be.  Released after failures, too. */
int ash__cmd_tree_address(const ash_cmd_tree_run *r, const char *text, ash_cmd_tree_address *out,
                          ash_error *err);
void ash__cmd_tree_address_release(ash_cmd_tree_address *a);
int ash__cmd_tree_entry_at(const ash_cmd_tree_run *r, const ash_cmd_tree_address *a,
                           ash_tree_entry **out, ash_error *err);
/* What lay in a folder is a matter of times: of when the tag was set, and ASH_EINVAL for a version. */
int ash__cmd_tree_folder_at(ash_cmd_tree_address *a, const ash_tree_entry *folder, ash_error *err);
/* Both in one. */
int ash__cmd_tree_lookup(const ash_cmd_tree_run *r, const char *text, ash_tree_entry **out,
                         ash_error *err);
/* As it is now; NULL: nothing has the path. */
int ash__cmd_tree_peek(const ash_cmd_tree_run *r, const char *path, ash_tree_entry **out,
                       ash_error *err);
/* What a target means, as cp and mv have it: into the folder TO, if it is one or ends in "/", else
 * by that name.  The caller frees; NULL with err filled. */
char *ash__cmd_tree_target(const ash_cmd_tree_run *r, const char *to, const char *name,
                           ash_error *err);
bool ash__cmd_tree_is_id(const char *word); /* "id:…" */
/* Of what is changed or asked for by its path: "id:…" and "digest:…" are for what is read; "/id:…" is a
 * name. */
int ash__cmd_tree_no_id(const char *path, ash_error *err);
/* Before a store is made for it: a usage error unless the path can be one. */
int ash__cmd_tree_check_new_path(const ash_cmd *cmd, const char *path);
char *ash__cmd_tree_join(const char *folder, const char *name); /* the caller frees */

/* ---- what is not there (missing.c) ---- */

/* Of a path that nothing has now: what became of it, behind what err says.  Returns ASH_ENOTFOUND. */
int ash__cmd_tree_say_gone(const ash_cmd_tree_run *r, const char *path, ash_error *err);

/* ---- names of an access list (acl_names.c) ---- */

/* Of "NAME,…", warns of users and roles that there are not; where the store has no users, of none. */
void ash__cmd_tree_check_names(const ash_cmd_tree_run *r, const char *list);

/* ---- one version (forget.c) ---- */

/* Removes the version of the address for good.  Without force, a terminal is asked, and without one
 * it is ASH_EINVAL; with it, what is not there is no error. */
int ash__cmd_tree_forget(const ash_cmd_tree_run *r, const ash_cmd_tree_address *a, bool force,
                         ash_error *err);

/* ---- bytes (get.c) ---- */

/* From where the reader is to its end; progress may be NULL.  ASH_EINTERRUPTED by a signal. */
int ash__cmd_tree_copy_out(ash_tree_reader *reader, const ash_output *out, ash_progress *progress,
                           ash_error *err);

/* ---- showing (show.c) ---- */

/* A field of the entry's document, of which doc becomes a view; false: there is none. */
bool ash__cmd_tree_field(const ash_tree_entry *e, const char *name, bson_iter_t *it, bson_t *doc);
/* Who wrote the bytes of a file, where that is not who changed it; else NULL. */
const char *ash__cmd_tree_author(const ash_tree_entry *e);
bool ash__cmd_tree_field_differs(const ash_tree_entry *a, const ash_tree_entry *b,
                                 const char *name);
/* Contents, type, time and properties: what one of them would bring back of the other. */
bool ash__cmd_tree_says_same(const ash_tree_entry *a, const ash_tree_entry *b);
/* {path, id, version, folder, length, digest, created, changed, modified, …}; without dates that nobody knows. */
void ash__cmd_tree_object(const ash_tree_entry *e, bson_t *out);
/* The entry as JSON with --json, and something more about it: key NULL for nothing.  true: it was
 * printed, false: there is no --json. */
bool ash__cmd_tree_emit(const ash_cmd_tree_run *r, const ash_tree_entry *e, const char *key,
                        const char *value);
/* As a shell takes it for one word; the caller frees. */
char *ash__cmd_tree_quoted(const char *text);
/* ISO 8601 with milliseconds, UTC; "-" for 0, which nobody knows. */
void ash__cmd_tree_print_time(char *buf, size_t size, int64_t ms);
/* Tags, with commas; the caller frees; NULL: none. */
char *ash__cmd_tree_tags(const ash_tree_entry *e);
/* "1,403". */
#define ASH_CMD_TREE_NUMBER_BYTES 32
const char *ash__cmd_tree_number(char buf[ASH_CMD_TREE_NUMBER_BYTES], int64_t number);

#endif
