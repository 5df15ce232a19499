/* SPDX-License-Identifier: Apache-2.0 */
/* The verb `copy`: everything is counted first, for the progress line and so that a mistyped name
 * is seen before anything is copied; then collections, then files. */
#include "cmd/copy/copy.h"

#include "base/error.h"
#include "base/mem.h"
#include "cmd/copy/buckets.h"
#include "cmd/copy/documents.h"
#include "cmd/copy/objects.h"
#include "cmd/copy/trees.h"
#include "cmd/kit/roots.h"
#include "cmd/kit/verbs.h"

#include <inttypes.h>

enum {
    ALL,
    COLLECTION,
    TREE,
    ROOT,
    OBJECTS,
    OBJECT_STORE,
    NO_HISTORY,
    DELETED,
    LOSSY,
    REPLACE,
    VERIFY
};
static const ash_cmd_option options[] = {
    [ALL] = {0, "all", NULL,
             "all collections and views, with their options and indexes, all buckets and object "
             "stores"},
    [COLLECTION] = {0, "collection", "NAME",
                    "this collection or view and no buckets; may be given repeatedly"},
    [TREE] = {0, "tree", NULL,
              "the trees of files and folders with their past, into trees of today"},
    [ROOT] = {0, "root", "NAME", "with --tree: this one alone"},
    [OBJECTS] = {0, "objects", NULL, "object stores and nothing else"},
    [OBJECT_STORE] = {0, "object-store", "NAME",
                      "this object store and nothing else; may be given repeatedly"},
    [NO_HISTORY] = {0, "no-history", NULL,
                    "with --tree, --objects: what is there now, and nothing that was"},
    [DELETED] = {0, "deleted", NULL,
                 "of object stores: delete in the target what is deleted in the source"},
    [LOSSY] = {0, "lossy", NULL, "of object stores: go on without what the target cannot keep"},
    [REPLACE] = {0, "replace", NULL,
                 "replace a target file, document or object when a different one has its id"},
    [VERIFY] = {0, "verify", NULL,
                "with --all, --collection: read both sides again and compare the documents"},
    {0, NULL, NULL, NULL},
};

static bool given(const ash_cmd_args *args, int option)
{
    return args->values[option] != NULL;
}

static bool takes_objects_alone(const ash_cmd_args *args)
{
    return given(args, OBJECTS) || given(args, OBJECT_STORE);
}

/* Trees and objects are brought, not copied: what the other options say of copies is not of them. */
static int check_alone(const ash_cmd *cmd, const ash_cmd_args *args, const char *what,
                       const int *others, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (given(args, others[i]))
            return ash__cmd_usage(cmd, "%s does not go with --%s", what, options[others[i]].name);
    return 0;
}

static int check_tree(const ash_cmd *cmd, const ash_cmd_args *args)
{
    static const int others[] = {ALL,     COLLECTION, OBJECTS, OBJECT_STORE,
                                 DELETED, LOSSY,      REPLACE, VERIFY};
    if (given(args, TREE))
        return check_alone(cmd, args, "--tree", others, ASH_ARRAY_LEN(others));
    if (given(args, ROOT))
        return ash__cmd_usage(cmd, "--root is of trees: it goes with --tree");
    return 0;
}

static bool takes_objects(const ash_cmd *cmd, const ash_cmd_args *args)
{
    return takes_objects_alone(args) ||
           (!given(args, COLLECTION) && !given(args, TREE) && cmd->bucket == NULL);
}

static int check_objects(const ash_cmd *cmd, const ash_cmd_args *args)
{
    static const int others[] = {ALL, COLLECTION, VERIFY}, own[] = {DELETED, LOSSY};
    if (takes_objects_alone(args) && cmd->bucket != NULL)
        return ash__cmd_usage(cmd, "--objects does not go with -b: --object-store names one");
    if (takes_objects_alone(args))
        return check_alone(cmd, args, given(args, OBJECTS) ? "--objects" : "--object-store", others,
                           ASH_ARRAY_LEN(others));
    if (given(args, NO_HISTORY) && !given(args, TREE))
        return ash__cmd_usage(cmd, "--no-history is of trees and object stores: it goes with "
                                   "--tree, --objects or --object-store");
    for (size_t i = 0; !takes_objects(cmd, args) && i < ASH_ARRAY_LEN(own); i++)
        if (given(args, own[i]))
            return ash__cmd_usage(cmd, "--%s is of object stores, of which none is copied here",
                                  options[own[i]].name);
    return 0;
}

static int check_names(const ash_cmd *cmd, const ash_cmd_args *args)
{
    for (int i = 0; i < args->given_count; i++)
        if (args->given[i].value[0] == 0)
            return ash__cmd_usage(cmd, "the name of %s cannot be empty",
                                  args->given[i].option == COLLECTION ? "a collection"
                                  : args->given[i].option == ROOT     ? "a tree"
                                                                      : "an object store");
    return 0;
}

static int check_words(const ash_cmd *cmd, const ash_cmd_args *args)
{
    bool all = given(args, ALL), some = given(args, COLLECTION);
    if (args->words[0][0] == 0 || args->words[1][0] == 0)
        return ash__cmd_usage(cmd, "the name of a store cannot be empty");
    if (all && (some || cmd->bucket != NULL))
        return ash__cmd_usage(cmd,
                              "--all takes every collection and bucket: it does not go with %s",
                              some ? "--collection" : "-b");
    if (given(args, VERIFY) && !all && !some)
        return ash__cmd_usage(cmd, "--verify is of documents: files are verified as they are "
                                   "copied");
    int status = check_names(cmd, args);
    if (status == 0)
        status = check_tree(cmd, args);
    return status == 0 ? check_objects(cmd, args) : status;
}

static bool takes_buckets(const ash_cmd *from, const ash_cmd_args *args)
{
    return !takes_objects_alone(args) && (!given(args, COLLECTION) || from->bucket != NULL);
}

static bool takes_collections(const ash_cmd_args *args)
{
    return given(args, COLLECTION) || given(args, ALL);
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
    /* A store, or a manager; neither: a dry run whose target is yet to be made. */
    ash_cmd_objects source, target;
    const char *to_db; /* NULL: that of the source */
    ash_progress *progress;
};

/* The parts of a copy, each as far as it is wanted. */
struct parts {
    const char **names; /* of collections, or of object stores */
    bool *found;
    int name_count;
    ash_copy_owned *owned;
    ash_copy_collections d;
    ash_copy_buckets b;
    ash_copy_objects o;
};

/* Collections first: a bucket's have their options and indexes before they have files. */
static int copy_counted(const struct copying *c, struct parts *p, ash_error *err)
{
    int rc = 0;
    ash__progress_set_total(c->progress, p->b.total_bytes + p->d.total_bytes,
                            p->b.total_files + p->d.total_documents);
    if (takes_collections(c->args)) {
        rc = ash__copy_collections(&p->d, &c->from, c->source.store, err);
        ash__progress_clear(c->progress);
        say_documents(&p->d);
    }
    if (takes_buckets(&c->from, c->args)) {
        if (rc == 0)
            rc = ash__copy_buckets(&p->b, &c->from, c->source.store, err);
        ash__progress_clear(c->progress);
        say_files(&p->b);
    }
    if (rc == 0)
        rc = ash__copy_objects(&p->o, err);
    if (rc == 0 && takes_buckets(&c->from, c->args) && p->o.stores == 0 &&
        (!p->b.whole_only || p->d.collections == 0))
        rc = say_if_empty(&p->b, &c->from, c->source.store, err);
    return rc;
}

static void take_names(const struct copying *c, struct parts *p)
{
    const ash_cmd_args *args = c->args;
    int option = given(args, OBJECT_STORE) ? OBJECT_STORE : COLLECTION;
    p->names = ash__alloc_array((size_t)args->given_count + 1, sizeof *p->names);
    p->found = ash__alloc_array((size_t)args->given_count + 1, sizeof *p->found);
    for (int i = 0; i < args->given_count; i++)
        if (args->given[i].option == option)
            p->names[p->name_count++] = args->given[i].value;
}

static void take_options(const struct copying *c, struct parts *p)
{
    const ash_cmd_args *args = c->args;
    bool all = given(args, ALL), replace = given(args, REPLACE);
    bool some_objects = given(args, OBJECT_STORE);
    take_names(c, p);
    p->d = (ash_copy_collections){.cmd = c->cmd,
                                  .to = c->target.store,
                                  .to_db = c->to_db,
                                  .replace = replace,
                                  .verify = given(args, VERIFY),
                                  .names = all ? NULL : p->names,
                                  .found = p->found,
                                  .name_count = p->name_count,
                                  .progress = c->progress};
    p->b = (ash_copy_buckets){.cmd = c->cmd,
                              .to = c->target.store,
                              .to_db = c->to_db,
                              .replace = replace,
                              .whole_only = all,
                              .progress = c->progress};
    p->o = (ash_copy_objects){.cmd = c->cmd,
                              .from_cmd = &c->from,
                              .from = &c->source,
                              .to = &c->target,
                              .to_db = c->to_db,
                              .names = some_objects ? p->names : NULL,
                              .found = p->found,
                              .name_count = some_objects ? p->name_count : 0,
                              .replace = replace,
                              .deleted = given(args, DELETED),
                              .without_history = given(args, NO_HISTORY),
                              .lossy = given(args, LOSSY),
                              .progress = c->progress};
}

/* What there is, before anything is written. */
static int count(const struct copying *c, struct parts *p, ash_error *err)
{
    int rc = 0;
    bool objects = takes_objects(c->cmd, c->args);
    if (objects && !takes_objects_alone(c->args)) {
        rc = ash__copy_owned_find(&c->from, c->source.store, &p->owned, err);
        p->d.owned = p->b.owned = p->owned;
    }
    if (rc == 0 && takes_collections(c->args))
        rc = ash__copy_collections_count(&p->d, &c->from, c->source.store, err);
    if (rc == 0 && takes_buckets(&c->from, c->args))
        rc = ash__copy_buckets_count(&p->b, &c->from, c->source.store, err);
    return rc == 0 && objects ? ash__copy_objects_choose(&p->o, err) : rc;
}

static int copy_all(const struct copying *c, ash_error *err)
{
    struct parts p = {.names = NULL};
    take_options(c, &p);
    int rc = count(c, &p, err);
    if (rc == 0)
        rc = copy_counted(c, &p, err);
    if (rc == 0 && takes_objects_alone(c->args) && p.o.stores == 0)
        rc = ash__fail(err, ASH_ENOTFOUND, "there is no object store");
    ash__copy_objects_release(&p.o);
    ash__copy_owned_free(p.owned);
    ash__free(p.names);
    ash__free(p.found);
    return rc == 0 && p.b.failed + p.d.failed + p.o.failed > 0 ? ASH_EXIT_PARTIAL : rc;
}

static int copy_trees(const struct copying *c, ash_error *err)
{
    const ash_copy_trees t = {.cmd = c->cmd,
                              .from = c->source.store,
                              .to = c->target.store,
                              .to_db = c->to_db,
                              .root = c->args->values[ROOT],
                              .without_history = given(c->args, NO_HISTORY),
                              .progress = c->progress};
    return ash__copy_trees(&t, err);
}

static int open_side(const ash_cmd *cmd, enum ash_cmd_open how, ash_cmd_objects *out,
                     ash_error *err)
{
    if (!ash__cmd_is_store(cmd))
        return ash__cmd_open_objects(cmd, how, NULL, out, err);
    if (how == ASH_CMD_WRITE && cmd->dry_run)
        return ash__cmd_open_if_any(cmd, &out->store, err);
    return ash__cmd_open_store(cmd, how, NULL, &out->store, err);
}

static int require_objects(const struct copying *c, ash_error *err)
{
    struct parts p = {.names = NULL};
    take_names(c, &p);
    int rc = ash__copy_objects_exist(&c->from, &c->source, p.names, p.name_count, err);
    ash__free(p.names);
    ash__free(p.found);
    return rc;
}

/* What is not there makes no target. */
static int open_both(struct copying *c, ash_error *err)
{
    const char *root = c->args->values[ROOT];
    int rc = open_side(&c->from, ASH_CMD_READ, &c->source, err);
    if (rc == 0 && root != NULL)
        rc = ash__cmd_require_root(c->source.store, NULL, NULL, root, err);
    if (rc == 0 && takes_objects_alone(c->args))
        rc = require_objects(c, err);
    return rc == 0 ? open_side(&c->to, ASH_CMD_WRITE, &c->target, err) : rc;
}

/* Where there is no store, there are object stores alone. */
static int check_addresses(const struct copying *c)
{
    bool from = ash__cmd_is_store(&c->from), to = ash__cmd_is_store(&c->to);
    if ((!from || !to) && !takes_objects_alone(c->args))
        return ash__cmd_usage(c->cmd,
                              "a NATS server has object stores alone: --objects copies those");
    if (!from || !to)
        return from == to ? ash__copy_check_target(&c->from, &c->to) : 0;
    bool into_one = ash__cmd_names_database(&c->to);
    if (into_one && !ash__cmd_names_database(&c->from))
        return ash__cmd_usage(c->cmd,
                              "the target names a database: choose one of the source by -d");
    return ash__copy_check_target(&c->from, &c->to);
}

/* The target's database, where it is one.  A NATS server has none: -d is the target's then. */
static const char *choose_database(const struct copying *c)
{
    if (c->source.store == NULL && c->from.db != NULL && c->from.db[0] != 0)
        return c->from.db;
    bool one = c->target.store != NULL && ash__cmd_names_database(&c->to);
    return one ? ash_store_default_db(c->target.store) : NULL;
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
    rc = check_addresses(&c);
    if (rc != 0)
        return rc;
    ash__cmd_catch_signals();
    c.progress = ash__progress_new(cmd, 0, 0);
    rc = open_both(&c, &err);
    if (rc == 0) {
        c.to_db = choose_database(&c);
        rc = given(args, TREE) ? copy_trees(&c, &err) : copy_all(&c, &err);
    }
    ash__progress_free(c.progress);
    if (rc < 0) {
        ash__cmd_objects_error(&err);
        rc = ash__cmd_fail(cmd, NULL, &err);
    }
    ash__cmd_close_objects(&c.target);
    ash__cmd_close_objects(&c.source);
    return rc;
}

const ash_cmd_verb ash__cmd_copy = {
    .name = "copy",
    .group = "store",
    .synopsis =
        "[-d DB] [-b BUCKET | --all | --collection NAME ... | --tree [--root NAME] | --objects | "
        "--object-store NAME ...] [--replace] [--verify] SRC DST",
    .summary = "copy buckets, collections, trees, object stores or whole databases from SRC to DST",
    .details = "Both are folders or mongodb:// URIs; for object stores also nats:// addresses.  "
               "All buckets and object stores of all\n"
               "databases are copied, or those of the one that -d or SRC's URI names, into a "
               "database of the same name, or the one in\n"
               "DST's URI.  Files keep their ids, dates, metadata, digests and expiry.  A file "
               "becomes visible when all its bytes\n"
               "are there and their SHA-256 is right.  Repeating an interrupted copy continues it: "
               "a file that is there already with\n"
               "the same id, length, date and digest is skipped.  Of two copies at once, one waits "
               "for each file that the other is\n"
               "copying.  --replace is one step: the old file stays until the new one is there.  "
               "Exit status 3 when something could\n"
               "not be copied.\n\n"
               "With --collection, the collection of that name goes instead, from every database "
               "that has it or the one that -d\n"
               "names; with --all everything: collections, views, buckets and object stores.  A "
               "collection is made with its options\n"
               "(capped, validator, collation, pre-images) and indexes, then its documents are "
               "copied byte for byte, in batches and in\n"
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
               "is called \"NAME (2)\".  What is damaged is told and left out: exit status 3.\n\n"
               "--objects copies object stores alone, between any two addresses, --object-store "
               "just the one of that name.  A store is\n"
               "made as it is configured in SRC; one that is there stays as it is configured.  "
               "Objects arrive with all that is said\n"
               "of them, links as links, earlier versions oldest first; revisions and times of "
               "change are the target's.  Digests are\n"
               "compared on both sides.  What is there already is left alone, so that a repeated "
               "copy goes on where it ended, and\n"
               "brings what came since; another object of the name is refused unless --replace is "
               "given.  --deleted deletes what was\n"
               "deleted in SRC.  What DST cannot keep (on JetStream: versions, limits, other "
               "digests than SHA-256) is told before\n"
               "anything is written, and --lossy goes on without it.  The collections of object "
               "stores never go as collections or\n"
               "buckets, unless -b or --collection names them.",
    .options = options,
    .min_words = 2,
    .max_words = 2,
    .has_dry_run = true,
    .run = run_copy,
};
