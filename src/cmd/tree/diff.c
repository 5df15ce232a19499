/* SPDX-License-Identifier: Apache-2.0 */
/* What differs between two versions, or between two states of a folder.  Lines of text are compared
 * by the system's diff(1). */
#include "cmd/tree/room.h"

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "cmd/kit/child.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RECURSIVE = ASH_CMD_TREE_FIRST_OPTION, AT };
static const ash_cmd_option options[] = {
    ASH_CMD_TREE_OPTIONS,
    {'r', "recursive", NULL, "folders: which files below them are new, changed or deleted"},
    ASH_CMD_TREE_AT_OPTION,
    ASH_CMD_TREE_NO_OPTION,
};
enum { SAME = 0, DIFFERENT = 1 };

/* One of the two that are compared. */
typedef struct side {
    const char *word;
    ash_cmd_tree_address address;
    ash_tree_entry *entry;
    char *file; /* a temporary one with its bytes; NULL: none */
} side;

static int open_side(ash_cmd_tree_run *r, const char *word, side *s, ash_error *err)
{
    s->word = word;
    int rc = ash__cmd_tree_address(r, word, &s->address, err);
    return rc == 0 ? ash__cmd_tree_entry_at(r, &s->address, &s->entry, err) : rc;
}

static void close_side(side *s)
{
    if (s->file != NULL)
        unlink(s->file);
    ash__free(s->file);
    ash_tree_entry_free(s->entry);
    ash__cmd_tree_address_release(&s->address);
}

/* ---- two files ---- */

/* A temporary file that is being written. */
typedef struct copy {
    int fd;
    off_t at;
} copy;

static int write_piece(void *ctx, const void *data, size_t len, ash_error *err)
{
    copy *c = ctx;
    int rc = ash__file_write(c->fd, data, len, c->at, err);
    c->at += (off_t)len;
    return rc;
}

static int write_temporary(ash_cmd_tree_run *r, side *s, ash_error *err)
{
    const char *folder = getenv("TMPDIR");
    ash_tree_reader *reader = NULL;
    char *path =
        ash__sprintf("%s/ashlar-diff.XXXXXX", folder != NULL && folder[0] != 0 ? folder : "/tmp");
    copy c = {.fd = mkstemp(path)};
    ash_output out = {&c, write_piece};
    if (c.fd < 0) {
        int rc = ash__fail_errno(err, errno, "cannot make a temporary file %s", path);
        ash__free(path);
        return rc;
    }
    s->file = path;
    int rc = ash_tree_open_entry(r->tree, s->entry, NULL, &r->op, &reader, err);
    if (rc == 0)
        rc = ash__cmd_tree_copy_out(reader, &out, NULL, err);
    ash_tree_reader_free(reader);
    close(c.fd);
    return rc;
}

static char *label_of(const side *s)
{
    char date[64];
    ash__cmd_tree_print_time(date, sizeof date, ash_tree_entry_changed_ms(s->entry));
    return ash__sprintf("%s@%d\t%s", ash_tree_entry_path(s->entry),
                        (int)ash_tree_entry_version(s->entry), date);
}

static int run_diff_program(const side *a, const side *b, ash_error *err)
{
    char *label_a = label_of(a), *label_b = label_of(b);
    const char *const words[] = {"diff",  "-u", "--label", label_a, "--label",
                                 label_b, "--", a->file,   b->file};
    char *argv[ASH_ARRAY_LEN(words) + 1] = {NULL};
    for (size_t i = 0; i < ASH_ARRAY_LEN(words); i++)
        argv[i] = ash__strdup(words[i]);
    (void)ash__cmd_flush_output();
    int rc = ash__child_start(argv, err);
    if (rc == 0) {
        rc = ash__child_wait();
        ash__cmd_catch_signals();
        if (rc < 0 || rc > DIFFERENT)
            rc = ash__fail(err, ASH_EIO, "diff ended with status %d", rc);
    } else if (rc == ASH_ENOTFOUND) {
        rc = ash__fail(err, ASH_EUNSUPPORTED,
                       "they differ; to see the lines, a program called diff is needed, which this "
                       "system has not");
    }
    for (size_t i = 0; i < ASH_ARRAY_LEN(words); i++)
        ash__free(argv[i]);
    ash__free(label_a);
    ash__free(label_b);
    return rc;
}

static bool is_same_file(const ash_tree_entry *a, const ash_tree_entry *b)
{
    return ash_tree_entry_length(a) == ash_tree_entry_length(b) &&
           strcmp(ash_tree_entry_digest(a), ash_tree_entry_digest(b)) == 0;
}

static void emit_both(const ash_tree_entry *a, const ash_tree_entry *b, bool same)
{
    bson_t object = BSON_INITIALIZER, inner;
    BSON_APPEND_DOCUMENT_BEGIN(&object, "a", &inner);
    ash__cmd_tree_object(a, &inner);
    bson_append_document_end(&object, &inner);
    BSON_APPEND_DOCUMENT_BEGIN(&object, "b", &inner);
    ash__cmd_tree_object(b, &inner);
    bson_append_document_end(&object, &inner);
    BSON_APPEND_BOOL(&object, "same", same);
    ash__cmd_emit(&object);
    bson_destroy(&object);
}

static int diff_files(ash_cmd_tree_run *r, side *a, side *b, ash_error *err)
{
    bool same = is_same_file(a->entry, b->entry);
    if (r->cmd->json)
        emit_both(a->entry, b->entry, same);
    if (same || r->cmd->json)
        return same ? SAME : DIFFERENT;
    int rc = write_temporary(r, a, err);
    if (rc == 0)
        rc = write_temporary(r, b, err);
    return rc == 0 ? run_diff_program(a, b, err) : rc;
}

/* ---- two folders ---- */

/* A listing, and the entry that it has in hand with its path below the folder. */
typedef struct walk {
    ash_tree_listing *listing;
    const ash_tree_entry *entry;
    const char *name;
    size_t skip;
    int damaged;
} walk;

static int step(const ash_cmd_tree_run *r, walk *w, ash_error *err)
{
    int rc = ash__cmd_tree_next(r, w->listing, &w->entry, &w->damaged, err);
    if (rc == 0 && w->entry != NULL)
        w->name = ash_tree_entry_path(w->entry) + w->skip;
    return rc;
}

static int open_walk(ash_cmd_tree_run *r, const side *s, walk *w, ash_error *err)
{
    ash_tree_list_options o = ASH_TREE_LIST_OPTIONS_INIT;
    const char *path = ash_tree_entry_path(s->entry);
    o.recursive = true;
    o.at_ms = s->address.when.at_ms;
    w->skip = (strcmp(path, "/") == 0 ? 0 : strlen(path)) + 1;
    int rc = ash_tree_list(r->tree, path, &o, &r->op, &w->listing, err);
    return rc == 0 ? step(r, w, err) : rc;
}

static void report(const ash_cmd_tree_run *r, const char *change, const ash_tree_entry *e)
{
    if (!ash__cmd_tree_emit(r, e, "change", change))
        ash__cmd_say(r->cmd, "%-8s %s%s", change, ash_tree_entry_path(e),
                     ash_tree_entry_is_folder(e) ? "/" : "");
}

/* Says what differs of one name; false: nothing. */
static bool compare_names(const ash_cmd_tree_run *r, const ash_tree_entry *a,
                          const ash_tree_entry *b)
{
    if (a == NULL || b == NULL)
        report(r, a == NULL ? "new" : "deleted", a == NULL ? b : a);
    else if (ash_tree_entry_is_folder(a) != ash_tree_entry_is_folder(b))
        report(r, "replaced", b);
    else if (!ash_tree_entry_is_folder(a) && !is_same_file(a, b))
        report(r, "changed", b);
    else
        return false;
    return true;
}

static int diff_folders(ash_cmd_tree_run *r, const side *a, const side *b, ash_error *err)
{
    walk left = {.skip = 0}, right = {.skip = 0};
    int status = SAME;
    int rc = open_walk(r, a, &left, err);
    if (rc == 0)
        rc = open_walk(r, b, &right, err);
    while (rc == 0 && (left.entry != NULL || right.entry != NULL) && !ferror(stdout)) {
        int order = left.entry == NULL    ? 1
                    : right.entry == NULL ? -1
                                          : ash__text_compare_paths(left.name, right.name);
        if (compare_names(r, order <= 0 ? left.entry : NULL, order >= 0 ? right.entry : NULL))
            status = DIFFERENT;
        if (order <= 0)
            rc = step(r, &left, err);
        if (rc == 0 && order >= 0)
            rc = step(r, &right, err);
    }
    ash_tree_listing_free(left.listing);
    ash_tree_listing_free(right.listing);
    rc = ash__cmd_tree_passed_over(rc, left.damaged + right.damaged, err);
    return rc == 0 ? status : rc;
}

/* ---- the verb ---- */

/* A word alone is compared with what has its path now. */
static int open_other(ash_cmd_tree_run *r, const side *a, side *b, ash_error *err)
{
    if (r->args->count > 1)
        return open_side(r, r->args->words[1], b, err);
    if (a->address.when.version == 0 && a->address.when.at_ms == 0)
        return ash__fail(err, ASH_EINVAL, "say which version to compare it with: %s%s", a->word,
                         ash_tree_entry_is_folder(a->entry) ? "@{TIME} or @TAG, with -r"
                                                            : "@VERSION, @TAG or @{TIME}");
    int64_t at_ms = r->at_ms;
    r->at_ms = 0;
    int rc = open_side(r, ash_tree_entry_path(a->entry), b, err);
    r->at_ms = at_ms;
    return rc;
}

static int diff(ash_cmd_tree_run *r, ash_error *err)
{
    side a = {.word = NULL}, b = {.word = NULL};
    int rc = open_side(r, r->args->words[0], &a, err);
    if (rc == 0)
        rc = open_other(r, &a, &b, err);
    if (rc == 0 && ash_tree_entry_is_folder(a.entry) != ash_tree_entry_is_folder(b.entry))
        rc = ash__fail(err, ASH_EINVAL, "a file and a folder cannot be compared");
    else if (rc == 0 && !ash_tree_entry_is_folder(a.entry))
        rc = diff_files(r, &a, &b, err);
    else if (rc == 0 && r->args->values[RECURSIVE] == NULL)
        rc = ash__fail(err, ASH_EINVAL, "%s is a folder; diff -r compares folders",
                       ash_tree_entry_path(a.entry));
    else if (rc == 0) {
        rc = ash__cmd_tree_folder_at(&a.address, a.entry, err);
        if (rc == 0)
            rc = ash__cmd_tree_folder_at(&b.address, b.entry, err);
        if (rc == 0)
            rc = diff_folders(r, &a, &b, err);
    }
    close_side(&a);
    close_side(&b);
    return rc;
}

static int run_diff(ash_cmd *cmd, const ash_cmd_args *args)
{
    return ash__cmd_tree_run(cmd, ASH_CMD_READ, args, diff);
}

const ash_cmd_verb ash__cmd_tree_diff = {
    .name = "tree diff",
    .group = "trees",
    .synopsis = "[-r] [--at TIME] A [B]",
    .summary = "show what differs between two versions",
    .details =
        "A and B are PATH@VERSION, PATH@TAG, PATH@{TIME} or PATH; without B, what A has now.  "
        "Files are "
        "compared line by line by the\n"
        "system's diff(1); with -r, folders name by name, without looking into the files: diff -r "
        "docs@{yesterday} docs.\n"
        "Exit status 0 when they are equal, 1 when they differ, 2 and more for trouble, as diff "
        "has it.",
    .options = options,
    .min_words = 1,
    .max_words = 2,
    .run = run_diff,
};
