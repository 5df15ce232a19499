/* SPDX-License-Identifier: Apache-2.0 */
/* The verb `copy`: everything is counted first, for the progress line and so that a mistyped name
 * is seen before anything is copied; then collections, then files. */
#include "cmd/copy/copy.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/thread.h"
#include "bucket/file.h"
#include "cmd/copy/buckets.h"
#include "cmd/copy/documents.h"
#include "cmd/copy/trees.h"
#include "cmd/kit/verbs.h"
#include "cmd/kit/work.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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

enum { WORKERS = 8 }; /* they share the target's commits: small files are bound by syncs */

enum action { COPIED, UPDATED, PRESENT };

/* One go over all buckets.  The lock guards the counters of `all`, `fatal` and the output; the rest
 * is set before the workers start. */
struct copy {
    ash_copy_buckets *all;
    ash_copy_route route;
    ash_work *work;
    ash_mutex lock;
    int fatal; /* what ends everything */
    ash_error fatal_error;
};

/* ---- is it there? ---- */

static int bring_up_to_date(struct copy *c, const ash_file *from, const ash_file *there,
                            enum action *action, ash_error *err)
{
    ash_doc a = ash_file_document(from), b = ash_file_document(there);
    *action = PRESENT;
    /* Byte for byte: nothing to write, whatever is in them. */
    if (a.len == b.len && memcmp(a.data, b.data, a.len) == 0)
        return 0;
    *action = UPDATED; /* renamed, or given other metadata */
    return c->all->cmd->dry_run ? 0 : ash__copy_document(c->route.to, from, err);
}

/* Of two files of one id; COPIED: the source's takes the place of the other. */
static int judge(struct copy *c, const ash_file *from, const ash_file *there, enum action *action,
                 ash_error *err)
{
    bool whole = true, same = ash__copy_same_bytes(from, there);
    int rc = same ? ash__copy_has_chunks(c->route.to, there, &whole, err) : 0;
    if (rc == 0 && same && whole)
        rc = bring_up_to_date(c, from, there, action, err);
    else if (rc == 0 && !c->all->replace)
        rc = same ? ash__fail(err, ASH_ECHUNKMISSING,
                              "the target's file lacks chunks; --replace replaces it")
                  : ash__fail(err, ASH_EEXISTS,
                              "the target has another file of that id; --replace replaces it");
    return rc;
}

/* What to do about a file; *action COPIED: its bytes are to be copied, and *there, if it is not
 * NULL, goes. */
static int compare(struct copy *c, const bson_value_t *id, enum action *action, ash_file **there,
                   ash_error *err)
{
    ash_file *from = NULL;
    ash_error own = ASH_ERROR_INIT;
    *action = COPIED;
    *there = NULL;
    if (c->route.to == NULL)
        return 0;
    int rc = ash_bucket_get_file(c->route.to, id, true, there, &own);
    /* The usual case of a first copy. */
    if (rc == ASH_ENOTFOUND)
        return 0;
    if (rc != 0)
        return ash__fail(err, rc, "%s", own.text);
    rc = ash_bucket_get_file(c->route.from, id, true, &from, err);
    if (rc == 0)
        rc = judge(c, from, *there, action, err);
    ash_file_free(from);
    return rc;
}

/* ---- one file ---- */

static void report(struct copy *c, const ash_file *file, enum action action, const char *sha256)
{
    static const char *const names[] = {"copied", "updated", "present"};
    bson_t object = BSON_INITIALIZER;
    const char *db = c->all->to_db != NULL ? c->all->to_db : ash_bucket_db(c->route.from);
    ash__mutex_assert_held(&c->lock);
    if (c->all->cmd->json) {
        BSON_APPEND_UTF8(&object, "db", db);
        BSON_APPEND_UTF8(&object, "bucket", ash_bucket_name(c->route.from));
        BSON_APPEND_UTF8(&object, "action", names[action]);
        ash__cmd_file_object(file, &object);
        if (sha256[0] != 0)
            BSON_APPEND_UTF8(&object, "sha256", sha256);
        if (c->all->cmd->dry_run)
            BSON_APPEND_BOOL(&object, "dryRun", true);
        ash__cmd_emit(&object);
    } else if (c->all->cmd->dry_run && action != PRESENT) {
        const char *name = ash_file_filename(file);
        char *shown = ash__cmd_printable(name != NULL ? name : "(no name)");
        ash__cmd_say(c->all->cmd, "would copy %s.%s: %s", db, ash_bucket_name(c->route.from),
                     shown);
        ash__free(shown);
    }
    bson_destroy(&object);
}

/* A file that somebody else brought meanwhile is compared with what it should be. */
static int bring(struct copy *c, const ash_file *file, enum action *action, char *sha256,
                 ash_error *err)
{
    int rc = 0;
    for (int turn = 0; turn < 2; turn++) {
        ash_file *there = NULL;
        rc = compare(c, ash_file_id(file), action, &there, err);
        bool copies = rc == 0 && *action == COPIED && !c->all->cmd->dry_run;
        if (copies)
            rc = ash__copy_file(&c->route, ash_file_id(file), there, sha256, err);
        else
            ash__progress_add(c->route.progress, ash_file_length(file), 0, NULL);
        ash_file_free(there);
        if (!copies || rc != ASH_EEXISTS)
            break;
    }
    return rc;
}

static int copy_one(struct copy *c, const ash_file *file, ash_error *err)
{
    enum action action;
    char sha256[ASH_SHA256_TEXT_BYTES] = "";
    int rc = bring(c, file, &action, sha256, err);
    if (rc != 0)
        return rc;
    ash__mutex_lock(&c->lock);
    report(c, file, action, sha256);
    c->all->copied += action != PRESENT ? 1 : 0;
    c->all->present += action == PRESENT ? 1 : 0;
    c->all->bytes += action == COPIED ? ash_file_length(file) : 0;
    ash__mutex_unlock(&c->lock);
    return 0;
}

/* Trouble with one file does not keep the others; trouble with a store does. */
bool ash__copy_ends_all(int rc)
{
    return rc == ASH_EINTERRUPTED || rc == ASH_ENOSPC || rc == ASH_ENETWORK || rc == ASH_EIO ||
           rc == ASH_EREADONLY || rc == ASH_EACCES;
}

static void note_failure(struct copy *c, const char *name, int rc, const ash_error *err)
{
    ash__progress_clear(c->route.progress);
    ash__mutex_lock(&c->lock);
    /* Reported under the lock, as output is; what ends everything is told once, at the end. */
    if (!ash__copy_ends_all(rc)) {
        ash__cmd_fail(c->all->cmd, name, err);
        c->all->failed++;
    } else if (c->fatal == 0) {
        c->fatal = ash__fail(&c->fatal_error, rc, "%s: %s", name, err->text);
    }
    ash__mutex_unlock(&c->lock);
}

static bool is_over(struct copy *c)
{
    ash__mutex_lock(&c->lock);
    bool over = c->fatal != 0 || ash__cmd_is_interrupted();
    ash__mutex_unlock(&c->lock);
    return over;
}

static void do_file(void *ctx, void *job, void *scratch)
{
    struct copy *c = ctx;
    ash_file *file = job;
    ash_error err = ASH_ERROR_INIT;
    const char *name = ash_file_filename(file) != NULL ? ash_file_filename(file) : "(no name)";
    (void)scratch;
    if (!is_over(c)) {
        ash__progress_add(c->route.progress, 0, 0, name);
        int rc = copy_one(c, file, &err);
        if (rc != 0)
            note_failure(c, name, rc, &err);
        ash__progress_add(c->route.progress, 0, 1, NULL);
    }
    ash_file_free(file);
}

static int take_file(struct copy *c, ash_file *file, ash_error *err)
{
    ash__work_add(c->work, file);
    /* A worker may have met what ends all; the cursor need not go on. */
    return is_over(c) ? ash__fail(err, ASH_EINTERRUPTED, "interrupted") : 0;
}

static int count_file(struct copy *c, ash_file *file, ash_error *err)
{
    c->all->total_bytes += ash_file_length(file);
    c->all->total_files++;
    ash_file_free(file);
    return ash__cmd_check_interrupted(err);
}

/* ---- buckets ---- */

/* Consumes the file. */
typedef int (*visit_file)(struct copy *c, ash_file *file, ash_error *err);

/* In two goes; only the second one tells of damage. */
static int each_file(struct copy *c, visit_file visit, ash_error *err)
{
    bool copies = visit == take_file;
    int damaged = 0;
    ash_bucket_find_options opts = ASH_BUCKET_FIND_OPTIONS_INIT;
    bson_t all = BSON_INITIALIZER;
    ash_cursor *cursor = NULL;
    opts.no_cursor_timeout = true; /* a large file may take long */
    int rc = ash_bucket_find(c->route.from, &all, &opts, &cursor, err);
    while (rc == 0) {
        ash_doc doc = {0};
        ash_file *file = NULL;
        ash_error own = ASH_ERROR_INIT;
        rc = ash__cmd_next_document(copies ? c->all->cmd : NULL, c->route.from, cursor, &doc,
                                    &damaged, err);
        if (rc != 0 || doc.data == NULL)
            break;
        if (ash_file_from_document(doc, &file, &own) == 0) {
            rc = visit(c, file, err);
        } else if (copies) {
            note_failure(c, "files document", ASH_ECORRUPT, &own);
        }
    }
    ash_cursor_free(cursor);
    ash__mutex_lock(&c->lock);
    c->all->failed += copies ? damaged : 0;
    ash__mutex_unlock(&c->lock);
    return rc;
}

static int with_bucket(struct copy *c, ash_store *store, const char *db, const char *name,
                       visit_file visit, ash_error *err)
{
    ash_bucket_options opts = ASH_BUCKET_OPTIONS_INIT;
    opts.db = db;
    opts.bucket_name = name;
    c->route.from = c->route.to = NULL;
    int rc = ash_bucket_new(store, &opts, &c->route.from, err);
    opts.db = c->all->to_db != NULL ? c->all->to_db : db;
    if (rc == 0 && c->all->to != NULL)
        rc = ash_bucket_new(c->all->to, &opts, &c->route.to, err);
    if (rc == 0) {
        /* Also for counting, where it has nothing to do: that is cheaper than two ways through
         * here. */
        c->work = ash__work_start(WORKERS, 0, do_file, c);
        rc = each_file(c, visit, err);
        ash__work_finish(c->work);
    }
    if (c->fatal != 0) {
        rc = c->fatal;
        *err = c->fatal_error;
    }
    ash_bucket_free(c->route.from);
    ash_bucket_free(c->route.to);
    return rc;
}

static int visit_bucket(struct copy *c, ash_store *store, const char *db, const char *name,
                        visit_file visit, ash_error *err)
{
    bool chunks = true;
    int rc =
        c->all->whole_only ? ash__cmd_has_collection(store, db, name, ".chunks", &chunks, err) : 0;
    return rc == 0 && chunks ? with_bucket(c, store, db, name, visit, err) : rc;
}

static int count_bucket(void *ctx, ash_store *store, const char *db, const char *name,
                        ash_error *err)
{
    return visit_bucket(ctx, store, db, name, count_file, err);
}

static int copy_bucket(void *ctx, ash_store *store, const char *db, const char *name,
                       ash_error *err)
{
    return visit_bucket(ctx, store, db, name, take_file, err);
}

static int go_over(ash_copy_buckets *b, const ash_cmd *from, ash_store *store,
                   ash_cmd_bucket_visit visit, ash_error *err)
{
    struct copy c = {.all = b, .route = {.progress = b->progress}};
    ash__mutex_init(&c.lock, ASH_RANK_SERVER);
    int rc = ash__cmd_each_bucket(from, store, ".files", visit, &c, err);
    ash__mutex_release(&c.lock);
    return rc;
}

int ash__copy_buckets_count(ash_copy_buckets *b, const ash_cmd *from, ash_store *store,
                            ash_error *err)
{
    return go_over(b, from, store, count_bucket, err);
}

int ash__copy_buckets(ash_copy_buckets *b, const ash_cmd *from, ash_store *store, ash_error *err)
{
    return go_over(b, from, store, copy_bucket, err);
}

/* ---- what was asked for ---- */

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
    int rc = ash__cmd_open_store(&c->from, ASH_CMD_READ, NULL, &c->from_store, err);
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
