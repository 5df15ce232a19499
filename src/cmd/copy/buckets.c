/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/copy/buckets.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/thread.h"
#include "bucket/file.h"
#include "cmd/copy/copy.h"
#include "cmd/copy/documents.h"
#include "cmd/kit/work.h"

#include <string.h>

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
    if (ash__copy_is_owned(c->all->owned, db, name, ".files"))
        return 0;
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
