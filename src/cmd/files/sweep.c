/* SPDX-License-Identifier: Apache-2.0 */
/* `ashlar sweep`: what is left of files in buckets, in this order: unfinished uploads, files that
 * have expired, chunks of no file. */
#include "cmd/kit/verbs.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "bucket/resume.h"

#include <inttypes.h>

enum { MIN_AGE, UPLOADS };
static const ash_cmd_option options[] = {
    {0, "min-age", "TIME",
     "treat chunks as orphans only when the youngest is that old: 90, 15m, 12h, 7d (default 24h)"},
    {0, "uploads", "TIME",
     "also delete unfinished uploads of `put --resume` that nobody resumed for that time"},
    {0, NULL, NULL, NULL},
};

struct sweep {
    ash_cmd *cmd;
    ash_progress *progress;
    int64_t min_age_s;
    int64_t idle_s; /* unfinished uploads go that were left for so long; < 0: none */
    int failed;
    int buckets;
};

static int count_expired(ash_store *store, const char *db, const char *name, int64_t *count,
                         ash_error *err)
{
    ash_collection *attributes = NULL;
    char *full = ash__sprintf("%s.attributes", name);
    bson_t *due = BCON_NEW("expires", "{", "$lte", BCON_DATE_TIME(ash__clock_wall_ms()), "}");
    int rc = ash_collection_new(store, db, full, &attributes, err);
    if (rc == 0)
        rc = ash_collection_count(attributes, due, NULL, count, err);
    ash_collection_free(attributes);
    bson_destroy(due);
    ash__free(full);
    return rc;
}

static int expire_all(ash_bucket *b, int64_t *count, ash_error *err)
{
    bool more = true;
    int rc = 0;
    *count = 0;
    while (rc == 0 && more) {
        int64_t deleted = 0;
        /* So many at a time, that an interruption is not waited for. */
        rc = ash_bucket_expire(b, 1000, &deleted, &more, err);
        *count += deleted;
        if (rc == 0)
            rc = ash__cmd_check_interrupted(err);
    }
    return rc;
}

/* ---- unfinished uploads ---- */

struct uploads {
    const struct sweep *s;
    const char *db, *name; /* of the bucket */
    bson_t list;           /* for --json */
    uint32_t count;
    int64_t ended;
};

static void say_upload(struct uploads *u, const ash_unfinished *found, bool goes)
{
    char size[32], last[64], until[64], key[16];
    const char *at;
    bson_t entry;
    ash__clock_print(last, sizeof last, found->last_ms);
    ash__clock_print(until, sizeof until, found->until_ms);
    ash__cmd_print_size(size, sizeof size, found->bytes);
    char *bucket = ash__cmd_printable(u->name), *file = ash__cmd_printable(found->filename);
    ash__progress_clear(u->s->progress);
    ash__cmd_say(u->s->cmd, "%s.%s: %sunfinished upload of %s: %s, last written %s%s%s", u->db,
                 bucket,
                 !goes                ? ""
                 : u->s->cmd->dry_run ? "would delete "
                                      : "deleted ",
                 file, size, last, goes ? "" : ", kept until ", goes ? "" : until);
    ash__free(bucket);
    ash__free(file);
    size_t len = bson_uint32_to_string(u->count++, &at, key, sizeof key);
    bson_append_document_begin(&u->list, at, (int)len, &entry);
    BSON_APPEND_UTF8(&entry, "name", found->filename);
    BSON_APPEND_INT64(&entry, "bytes", found->bytes);
    BSON_APPEND_DATE_TIME(&entry, "lastWritten", found->last_ms);
    BSON_APPEND_DATE_TIME(&entry, "keptUntil", found->until_ms);
    BSON_APPEND_BOOL(&entry, "deleted", goes && !u->s->cmd->dry_run);
    bson_append_document_end(&u->list, &entry);
}

static int take_upload(void *ctx, ash_bucket *b, const ash_unfinished *found, ash_error *err)
{
    struct uploads *u = ctx;
    int64_t now = ash__clock_wall_ms();
    if (found->until_ms <= now)
        return 0; /* counted as expired */
    bool goes = u->s->idle_s >= 0 && now - found->last_ms >= u->s->idle_s * 1000;
    int rc = 0;
    if (goes && !u->s->cmd->dry_run) {
        rc = ash__unfinished_end(b, found, &goes, err);
        u->ended += goes;
    }
    if (rc == 0)
        say_upload(u, found, goes);
    return rc;
}

/* ---- buckets ---- */

static void report(const struct sweep *s, const struct uploads *uploads,
                   const ash_sweep_report *found, int64_t expired)
{
    char size[32];
    if (s->cmd->json) {
        bson_t *object =
            BCON_NEW("db", BCON_UTF8(uploads->db), "bucket", BCON_UTF8(uploads->name), "expired",
                     BCON_INT64(expired), "files", BCON_INT64(found->files), "chunks",
                     BCON_INT64(found->chunks), "bytes", BCON_INT64(found->bytes), "uploads",
                     BCON_ARRAY(&uploads->list), "dryRun", BCON_BOOL(s->cmd->dry_run));
        ash__cmd_emit(object);
        bson_destroy(object);
    } else {
        char *shown = ash__cmd_printable(uploads->name);
        ash__cmd_print_size(size, sizeof size, found->bytes);
        ash__progress_clear(s->progress);
        ash__cmd_say(s->cmd,
                     "%s.%s: %s%" PRId64 " expired, %" PRId64 " orphaned chunk%s of %" PRId64
                     " file%s (%s)%s",
                     uploads->db, shown, s->cmd->dry_run ? "would delete " : "", expired,
                     found->chunks, ash__cmd_s(found->chunks), found->files,
                     ash__cmd_s(found->files), size, s->cmd->dry_run ? "" : " deleted");
        ash__free(shown);
    }
}

/* Damaged ones stay; so do those whose time came meanwhile, which a second look deletes. */
static int expire_bucket(ash_store *store, ash_bucket *bucket, const struct uploads *uploads,
                         int64_t *expired, int64_t *left, ash_error *err)
{
    int rc = 0;
    *left = 1;
    for (int look = 0; rc == 0 && look < 2 && *left > 0; look++) {
        int64_t now = 0;
        rc = expire_all(bucket, &now, err);
        *expired += now;
        if (rc == 0)
            rc = count_expired(store, uploads->db, uploads->name, left, err);
    }
    return rc;
}

/* What a sweep passes over for its age is no orphan yet, but takes its place on the disk. */
static int say_what_is_younger(const struct sweep *s, ash_bucket *bucket,
                               const struct uploads *uploads, const ash_sweep_report *found,
                               ash_error *err)
{
    ash_sweep_options how = ASH_SWEEP_OPTIONS_INIT;
    ash_sweep_report all = ASH_SWEEP_REPORT_INIT;
    char size[32];
    how.dry_run = true;
    /* Of any age. */
    how.min_age_s = -1;
    int rc = ash_bucket_sweep(bucket, &how, &all, err);
    if (rc != 0 || all.chunks <= found->chunks)
        return rc;
    char *shown = ash__cmd_printable(uploads->name);
    ash__cmd_print_size(size, sizeof size, all.bytes - found->bytes);
    ash__progress_clear(s->progress);
    ash__cmd_say(s->cmd,
                 "%s.%s: would leave %" PRId64 " chunk%s of no file (%s), too young to tell from a "
                 "running upload's: --min-age",
                 uploads->db, shown, all.chunks - found->chunks,
                 ash__cmd_s(all.chunks - found->chunks), size);
    ash__free(shown);
    return 0;
}

/* What is reported of the bucket, in this order. */
static int sweep_open(const struct sweep *s, ash_store *store, ash_bucket *bucket,
                      struct uploads *uploads, ash_error *err)
{
    ash_sweep_options how = ASH_SWEEP_OPTIONS_INIT;
    ash_sweep_report found = ASH_SWEEP_REPORT_INIT;
    int64_t expired = 0, left = 0;
    how.dry_run = s->cmd->dry_run;
    how.min_age_s = s->min_age_s;
    how.progress = ash__progress_maintain;
    how.progress_ctx = s->progress;
    int rc = ash__unfinished_each(bucket, take_upload, uploads, err);
    if (rc == 0)
        rc = s->cmd->dry_run ? count_expired(store, uploads->db, uploads->name, &expired, err)
                             : expire_bucket(store, bucket, uploads, &expired, &left, err);
    if (rc == 0)
        rc = ash_bucket_sweep(bucket, &how, &found, err);
    if (rc == 0 || rc == ASH_ECORRUPT)
        /* An upload that was ended has expired, and is told of by itself. */
        report(s, uploads, &found, expired - uploads->ended);
    if (rc == 0 && s->cmd->dry_run)
        rc = say_what_is_younger(s, bucket, uploads, &found, err);
    if (rc == 0 && left > 0)
        rc = ash__fail(err, ASH_ECORRUPT,
                       "%" PRId64 " expired file%s could not be deleted: `ashlar check` says why",
                       left, ash__cmd_s(left));
    return rc;
}

static int sweep_bucket(void *ctx, ash_store *store, const char *db, const char *name,
                        ash_error *err)
{
    struct sweep *s = ctx;
    ash_bucket_options opts = ASH_BUCKET_OPTIONS_INIT;
    struct uploads uploads = {.s = s, .db = db, .name = name};
    ash_bucket *bucket = NULL;
    opts.db = db;
    opts.bucket_name = name;
    bson_init(&uploads.list);
    int rc = ash_bucket_new(store, &opts, &bucket, err);
    if (rc == 0)
        rc = sweep_open(s, store, bucket, &uploads, err);
    bson_destroy(&uploads.list);
    ash_bucket_free(bucket);
    s->buckets++;
    /* Anything else is this bucket's trouble alone. */
    if (rc == 0 || rc == ASH_EINTERRUPTED || rc == ASH_ENETWORK)
        return rc;
    ash__progress_clear(s->progress);
    ash__cmd_fail(s->cmd, name, err);
    s->failed++;
    return 0;
}

/* Where nothing can be missed: on damaged metadata every bucket would fail. */
static int require_sound(ash_store *store, ash_error *err)
{
    bson_t out, *action = BCON_NEW("sound", BCON_INT32(1));
    int rc = ash_store_maintain(store, action, NULL, NULL, &out, err);
    bson_destroy(action);
    if (rc == 0)
        bson_destroy(&out);
    return rc == ASH_ECORRUPT ? rc : 0;
}

static int run_sweep(ash_cmd *cmd, const ash_cmd_args *args)
{
    struct sweep s = {.cmd = cmd, .idle_s = -1};
    ash_error err = ASH_ERROR_INIT;
    ash_store *store = NULL;
    const char *age = args->values[MIN_AGE], *idle = args->values[UPLOADS];
    int status =
        age != NULL ? ash__cmd_age(cmd, "min-age", age, 1, INT64_C(1) << 40, &s.min_age_s) : 0;
    if (status == 0 && idle != NULL)
        status = ash__cmd_seconds(cmd, "uploads", idle, 0, INT64_C(1) << 40, &s.idle_s);
    if (status != 0)
        return status;
    int rc = ash__cmd_open_store(cmd, ASH_CMD_READ, NULL, &store, &err);
    if (rc == 0)
        rc = require_sound(store, &err);
    ash__cmd_catch_signals();
    s.progress = ash__progress_new(cmd, 0, 0);
    if (rc == 0)
        /* By the chunks: orphans may be all that is left of a bucket. */
        rc = ash__cmd_each_bucket(cmd, store, ".chunks", sweep_bucket, &s, &err);
    ash__progress_free(s.progress);
    if (rc == 0 && s.buckets == 0 && cmd->bucket != NULL)
        rc = ash__fail(&err, ASH_ENOTFOUND, "there is no bucket %s", cmd->bucket);
    else if (rc == 0 && s.buckets == 0 && ash__cmd_names_database(cmd))
        rc = ash__fail(&err, ASH_ENOTFOUND, "there is no bucket in database %s",
                       ash_store_default_db(store));
    if (rc < 0)
        rc = ash__cmd_fail(cmd, NULL, &err);
    ash__cmd_close_store(store);
    return rc == 0 && s.failed > 0 ? ASH_EXIT_PARTIAL : rc;
}

const ash_cmd_verb ash__cmd_sweep = {
    .name = "sweep",
    .group = "store",
    .synopsis = "[-n] [--min-age TIME] [--uploads TIME]",
    .summary = "delete expired files, and chunks that no file owns",
    .details = "Clients that died in the middle of an upload leave chunks without a file.  "
               "Sweeping is safe while uploads run:\n"
               "chunks count as orphans only when even the youngest of their file is old enough.  "
               "It covers all buckets of all\n"
               "databases, or those that -d and -b name.  With -n, say what would be freed.\n"
               "Unfinished uploads of `put --resume` are listed and kept for 24 hours; --uploads "
               "deletes those that nobody has\n"
               "resumed for TIME (0: all, even those in progress).",
    .options = options,
    .has_dry_run = true,
    .run = run_sweep,
};
