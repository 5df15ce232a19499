/* SPDX-License-Identifier: Apache-2.0 */
/* The verb `copy`: everything is counted first, for the progress line and so that a mistyped name
 * is seen before anything is copied; then collections, then files. */
#include "cmd/copy/copy.h"

#include "base/error.h"
#include "base/mem.h"
#include "cmd/copy/buckets.h"
#include "cmd/copy/documents.h"
#include "cmd/copy/trees.h"
#include "cmd/kit/roots.h"
#include "cmd/kit/verbs.h"

#include <inttypes.h>

enum { ALL, COLLECTION, TREE, ROOT, NO_HISTORY, REPLACE, VERIFY };
static const ash_cmd_option options[] = {
    {0, "all", NULL, "all collections and views, with their options and indexes, and all buckets"},
    {0, "collection", "NAME", "this collection or view and no buckets; may be given repeatedly"},
    {0, "tree", NULL, "the trees of files and folders with their past, into trees of today"},
    {0, "root", "NAME", "with --tree: this one alone"},
    {0, "no-history", NULL, "with --tree: what is there now, and nothing that was"},
    {0, "replace", NULL, "replace a target file or document when a different one has its id"},
    {0, "verify", NULL,
     "with --all, --collection: read both sides again and compare the documents"},
    {0, NULL, NULL, NULL},
};

/* Trees are brought, not copied: what the other options say of copies is not of them. */
static int check_tree(const ash_cmd *cmd, const ash_cmd_args *args)
{
    static const struct {
        int option;
        const char *name;
    } others[] = {
        {ALL, "--all"}, {COLLECTION, "--collection"}, {REPLACE, "--replace"}, {VERIFY, "--verify"}};
    bool tree = args->values[TREE] != NULL;
    for (size_t i = 0; tree && i < ASH_ARRAY_LEN(others); i++) {
        if (args->values[others[i].option] != NULL)
            return ash__cmd_usage(cmd, "--tree does not go with %s", others[i].name);
    }
    if (!tree && (args->values[ROOT] != NULL || args->values[NO_HISTORY] != NULL))
        return ash__cmd_usage(cmd, "%s is of trees: it goes with --tree",
                              args->values[ROOT] != NULL ? "--root" : "--no-history");
    return 0;
}

static int check_words(const ash_cmd *cmd, const ash_cmd_args *args)
{
    bool all = args->values[ALL] != NULL, some = args->values[COLLECTION] != NULL;
    if (args->words[0][0] == 0 || args->words[1][0] == 0)
        return ash__cmd_usage(cmd, "the name of a store cannot be empty");
    if (all && (some || cmd->bucket != NULL))
        return ash__cmd_usage(cmd,
                              "--all takes every collection and bucket: it does not go with %s",
                              some ? "--collection" : "-b");
    if (args->values[VERIFY] != NULL && !all && !some)
        return ash__cmd_usage(cmd, "--verify is of documents: files are verified as they are "
                                   "copied");
    for (int i = 0; i < args->given_count; i++) {
        if (args->given[i].value[0] == 0)
            return ash__cmd_usage(cmd, "the name of a collection cannot be empty");
    }
    return check_tree(cmd, args);
}

static bool takes_buckets(const ash_cmd *from, const ash_cmd_args *args)
{
    return args->values[COLLECTION] == NULL || from->bucket != NULL;
}

static bool takes_collections(const ash_cmd_args *args)
{
    return args->values[COLLECTION] != NULL || args->values[ALL] != NULL;
}

static void say_files(const ash_copy_buckets *c)
{
    char size[32];
    ash__cmd_print_size(size, sizeof size, c->bytes);
    ash__cmd_say(c->cmd, "%s%" PRId64 " file%s (%s), %" PRId64 " there already, %" PRId64 " failed",
                 c->cmd->dry_run ? "would copy " : "copied ", c->copied, ash__cmd_s(c->copied),
                 size, c->present, c->failed);
}

static void say_documents(const ash_copy_collections *c)
{
    ash__cmd_say(c->cmd,
                 "%s%" PRId64 " document%s of %" PRId64 " collection%s, %" PRId64
                 " replaced, %" PRId64 " there already, %" PRId64 " failed",
                 c->cmd->dry_run ? "would copy " : "copied ", c->copied, ash__cmd_s(c->copied),
                 c->collections, ash__cmd_s(c->collections), c->replaced, c->present, c->failed);
}

static int say_if_empty(const ash_copy_buckets *c, const ash_cmd *from, ash_store *store,
                        ash_error *err)
{
    if (c->total_files > 0 || (from->bucket == NULL && !ash__cmd_names_database(from)))
        return 0;
    if (from->bucket != NULL)
        return ash__fail(err, ASH_ENOTFOUND, "there is no file in bucket %s", from->bucket);
    return ash__fail(err, ASH_ENOTFOUND, "there is no file in database %s",
                     ash_store_default_db(store));
}

/* What the copy is between. */
struct copying {
    const ash_cmd *cmd;
    const ash_cmd_args *args;
    ash_cmd from, to; /* the command, as it would be typed for either store */
    ash_store *from_store;
    ash_store *to_store; /* NULL: a dry run whose target is yet to be made */
    const char *to_db;   /* NULL: that of the source */
    ash_progress *progress;
};

/* Collections first: a bucket's have their options and indexes before they have files. */
static int copy_counted(const struct copying *c, ash_copy_collections *d, ash_copy_buckets *b,
                        ash_error *err)
{
    int rc = 0;
    ash__progress_set_total(c->progress, b->total_bytes + d->total_bytes,
                            b->total_files + d->total_documents);
    if (takes_collections(c->args)) {
        rc = ash__copy_collections(d, &c->from, c->from_store, err);
        ash__progress_clear(c->progress);
        say_documents(d);
    }
    if (!takes_buckets(&c->from, c->args))
        return rc;
    if (rc == 0)
        rc = ash__copy_buckets(b, &c->from, c->from_store, err);
    ash__progress_clear(c->progress);
    say_files(b);
    if (rc == 0 && (!b->whole_only || d->collections == 0))
        rc = say_if_empty(b, &c->from, c->from_store, err);
    return rc;
}

static int copy_all(const struct copying *c, ash_error *err)
{
    const ash_cmd_args *args = c->args;
    const char **names = ash__alloc_array((size_t)args->given_count + 1, sizeof *names);
    bool *found = ash__alloc_array((size_t)args->given_count + 1, sizeof *found);
    bool all = args->values[ALL] != NULL, replace = args->values[REPLACE] != NULL;
    ash_copy_collections d = {.cmd = c->cmd,
                              .to = c->to_store,
                              .to_db = c->to_db,
                              .replace = replace,
                              .verify = args->values[VERIFY] != NULL,
                              .names = all ? NULL : names,
                              .found = found,
                              .name_count = args->given_count,
                              .progress = c->progress};
    ash_copy_buckets b = {.cmd = c->cmd,
                          .to = c->to_store,
                          .to_db = c->to_db,
                          .replace = replace,
                          .whole_only = all,
                          .progress = c->progress};
    for (int i = 0; i < args->given_count; i++)
        names[i] = args->given[i].value;
    int rc =
        takes_collections(args) ? ash__copy_collections_count(&d, &c->from, c->from_store, err) : 0;
    if (rc == 0 && takes_buckets(&c->from, args))
        rc = ash__copy_buckets_count(&b, &c->from, c->from_store, err);
    if (rc == 0)
        rc = copy_counted(c, &d, &b, err);
    ash__free(names);
    ash__free(found);
    return rc == 0 && b.failed + d.failed > 0 ? ASH_EXIT_PARTIAL : rc;
}

static int copy_trees(const struct copying *c, ash_error *err)
{
    const ash_copy_trees t = {.cmd = c->cmd,
                              .from = c->from_store,
                              .to = c->to_store,
                              .to_db = c->to_db,
                              .root = c->args->values[ROOT],
                              .without_history = c->args->values[NO_HISTORY] != NULL,
                              .progress = c->progress};
    return ash__copy_trees(&t, err);
}

static int open_both(struct copying *c, ash_error *err)
{
    const char *root = c->args->values[ROOT];
    int rc = ash__cmd_open_store(&c->from, ASH_CMD_READ, NULL, &c->from_store, err);
    if (rc == 0 && root != NULL)
        rc = ash__cmd_require_root(c->from_store, NULL, NULL, root, err);
    if (rc == 0 && c->cmd->dry_run)
        rc = ash__cmd_open_if_any(&c->to, &c->to_store, err);
    else if (rc == 0)
        rc = ash__cmd_open_store(&c->to, ASH_CMD_WRITE, NULL, &c->to_store, err);
    return rc;
}

static int run_copy(ash_cmd *cmd, const ash_cmd_args *args)
{
    struct copying c = {.cmd = cmd, .args = args, .from = *cmd, .to = *cmd};
    ash_error err = ASH_ERROR_INIT;
    int rc = check_words(cmd, args);
    if (rc != 0)
        return rc;
    c.from.store_uri = args->words[0];
    c.to.store_uri = args->words[1];
    c.to.db = NULL;
    bool into_one = ash__cmd_names_database(&c.to);
    if (into_one && !ash__cmd_names_database(&c.from))
        return ash__cmd_usage(cmd, "the target names a database: choose one of the source by -d");
    rc = ash__copy_check_target(&c.from, &c.to);
    if (rc != 0)
        return rc;
    ash__cmd_catch_signals();
    c.progress = ash__progress_new(cmd, 0, 0);
    rc = open_both(&c, &err);
    if (rc == 0) {
        c.to_db = into_one ? ash_store_default_db(c.to_store) : NULL;
        rc = args->values[TREE] != NULL ? copy_trees(&c, &err) : copy_all(&c, &err);
    }
    ash__progress_free(c.progress);
    if (rc < 0)
        rc = ash__cmd_fail(cmd, NULL, &err);
    ash__cmd_close_store(c.to_store);
    ash__cmd_close_store(c.from_store);
    return rc;
}

const ash_cmd_verb ash__cmd_copy = {
    .name = "copy",
    .group = "store",
    .synopsis =
        "[-d DB] [-b BUCKET | --all | --collection NAME ... | --tree [--root NAME]] [--replace] "
        "[--verify] SRC DST",
    .summary = "copy buckets, collections, trees or whole databases from store SRC to store DST",
    .details = "Both are folders or mongodb:// URIs.  All buckets of all databases are copied, or "
               "those of the one that -d or\n"
               "SRC's URI names, into a database of the same name, or the one in DST's URI.  Files "
               "keep their ids, dates,\n"
               "metadata, digests and expiry.  A file becomes visible when all its bytes are there "
               "and their SHA-256 is right.\n"
               "Repeating an interrupted copy continues it: a file that is there already with the "
               "same id, length, date and\n"
               "digest is skipped.  Of two copies at once, one waits for each file that the other "
               "is copying.  --replace is one\n"
               "step: the old file stays until the new one is there.  Exit status 3 when some "
               "files could not be copied.\n\n"
               "With --collection, the collection of that name goes instead, from every database "
               "that has it or the one that -d\n"
               "names; with --all everything: collections, views and buckets.  A collection is "
               "made with its options (capped,\n"
               "validator, collation, pre-images) and indexes, then its documents are copied byte "
               "for byte, in batches and in\n"
               "their order.  A document that the target has already, byte for byte, is skipped, "
               "and one that differs is\n"
               "refused unless --replace is given; what the target has beside them stays.  So a "
               "repeated copy makes no doubles,\n"
               "goes on where an interrupted one ended, and with -n tells what differs.  A "
               "collection that the target has with\n"
               "other options is not copied.  --verify reads each copied collection once more on "
               "both sides.  The parts of a\n"
               "bucket (NAME.files, NAME.chunks, NAME.attributes) always go as a bucket: with "
               "--all their other indexes too.\n\n"
               "A database of v7files is copied by --all when it is to stay what it is, document "
               "by document; trees of its first\n"
               "generations can be written on there.  --tree makes trees of today of it: every "
               "entry with its id, versions, dates\n"
               "and what was deleted, contents by SHA-256, equal ones once, later ones as deltas.  "
               "It is also how trees move\n"
               "between stores of today.  -d names the source's database, -b its bucket of "
               "contents (default: v7.fs).  Repeated,\n"
               "it goes on where it ended, and brings what came since.  Of two files that have one "
               "name in a folder, the second\n"
               "is called \"NAME (2)\".  What is damaged is told and left out: exit status 3.",
    .options = options,
    .min_words = 2,
    .max_words = 2,
    .has_dry_run = true,
    .run = run_copy,
};
