/* SPDX-License-Identifier: Apache-2.0 */
/* Check, backup and compact as calls with structs, on top of the action document that
 * ash_store_maintain takes: that form also goes through a server. */

#include "store/call.h"

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/options.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <ashlar/maintain.h>

enum { FOLDER_MAX_BYTES = 4096 };

/* ---- before the work ---- */

/* What may take hours must not fail at its end because nobody can be told of it. */
static int check_report(const void *report, ash_error *err)
{
    size_t size = sizeof size;
    if (report != NULL)
        memcpy(&size, report, sizeof size);
    if (size < sizeof size)
        return ash__fail(err, ASH_EINVAL, "report struct was not initialised (size %zu)", size);
    return 0;
}

/* Short work may be over before it has anything to tell. */
static int first_progress(ash_progress_fn progress, void *ctx, const char *what, ash_error *err)
{
    if (progress == NULL || progress(ctx, what, 0, 0))
        return 0;
    return ash__fail(err, ASH_EINTERRUPTED, "%s was interrupted", what);
}

static int begin(const ash_store *store, void *ours, size_t known_bytes, const void *opts,
                 const void *report, ash_error *err)
{
    int rc = ash__options_copy(ours, known_bytes, opts, err);
    if (rc == 0)
        rc = check_report(report, err);
    /* Maintenance takes no op, so it cannot be part of a transaction. */
    return rc == 0 ? ash__call_outside(store, err) : rc;
}

/* ---- reading a report, which may be another version's ---- */

static int64_t number(const bson_t *doc, const char *name)
{
    bson_iter_t it;
    if (!bson_iter_init_find(&it, doc, name) || !BSON_ITER_HOLDS_NUMBER(&it))
        return 0;
    return bson_iter_as_int64(&it);
}

static bool tell(const bson_iter_t *at, ash_finding_fn finding, void *ctx)
{
    bson_t facts;
    bson_iter_t it;
    uint32_t len = 0;
    const uint8_t *data = NULL;
    if (!BSON_ITER_HOLDS_DOCUMENT(at))
        return false;
    bson_iter_document(at, &len, &data);
    /* A finding without words is of a version that tells it otherwise; it counts as not told. */
    if (!bson_init_static(&facts, data, len) || !bson_iter_init_find(&it, &facts, "text") ||
        !BSON_ITER_HOLDS_UTF8(&it))
        return false;
    finding(ctx, bson_iter_utf8(&it, NULL), &facts);
    return true;
}

/* How many there were to tell. */
static int64_t tell_all(const bson_t *report, ash_finding_fn finding, void *ctx)
{
    int64_t told = 0;
    bson_iter_t it, list;
    if (finding == NULL || !bson_iter_init_find(&it, report, "findings") ||
        !BSON_ITER_HOLDS_ARRAY(&it) || !bson_iter_recurse(&it, &list))
        return 0;
    while (bson_iter_next(&list))
        told += tell(&list, finding, ctx);
    return told;
}

/* The error stays that of the work: nothing here can fail any more. */
static void give(void *theirs, const void *ours, size_t known_bytes)
{
    if (theirs != NULL)
        ash__out_copy(theirs, ours, known_bytes, NULL);
}

/* ---- check ---- */

int ash_store_check(ash_store *store, const ash_store_check_options *opts,
                    ash_store_check_report *report, ash_error *err)
{
    ash_store_check_options o;
    bson_t out = BSON_INITIALIZER; /* not every failure leaves one */
    int rc = begin(store, &o, sizeof o, opts, report, err);
    if (rc == 0)
        rc = first_progress(o.progress, o.progress_ctx, "check", err);
    if (rc != 0)
        return rc;
    bson_t *action = BCON_NEW("check", BCON_INT32(1), "payloads", BCON_BOOL(!o.without_payloads));
    rc = ash_store_maintain(store, action, o.progress, o.progress_ctx, &out, err);
    bson_destroy(action);
    if (rc != 0 && rc != ASH_ECORRUPT)
        return rc;
    /* Damage is the one failure that has a report; after others `out` is empty and on the stack
     * (ops.h). */
    ash_store_check_report ours = {.size = sizeof ours,
                                   .clean = rc == 0,
                                   .collections = number(&out, "collections"),
                                   .records = number(&out, "records"),
                                   .index_keys = number(&out, "indexKeys"),
                                   .payload_bytes = number(&out, "payloadBytes"),
                                   .findings = number(&out, "findingCount"),
                                   .told = tell_all(&out, o.finding, o.finding_ctx)};
    give(report, &ours, sizeof ours);
    bson_destroy(&out);
    return rc;
}

/* ---- backup ---- */

/* The process that writes it may have another current folder. */
static char *absolute(const char *folder, ash_error *err)
{
    char here[FOLDER_MAX_BYTES];
    if (folder[0] == '/' || folder[0] == '\0')
        return ash__strdup(folder);
    if (getcwd(here, sizeof here) != NULL)
        return ash__path_join(here, folder);
    ash__fail_errno(err, errno, "cannot find the current folder");
    return NULL;
}

static void give_backup(const bson_t *out, const ash_store_backup_options *o, bool clean,
                        ash_store_backup_report *report)
{
    ash_store_backup_report ours = {.size = sizeof ours,
                                    .clean = clean,
                                    .records = number(out, "records"),
                                    .segments = number(out, "segments"),
                                    .copied_records = number(out, "copiedRecords"),
                                    .copied_bytes = number(out, "copiedBytes"),
                                    .meta_bytes = number(out, "metaBytes"),
                                    .copied_meta_bytes = number(out, "copiedMetaBytes"),
                                    .damaged = number(out, "damaged"),
                                    .findings = number(out, "findingCount"),
                                    .told = tell_all(out, o->finding, o->finding_ctx)};
    give(report, &ours, sizeof ours);
}

int ash_store_backup(ash_store *store, const char *folder, const ash_store_backup_options *opts,
                     ash_store_backup_report *report, ash_error *err)
{
    ash_store_backup_options o;
    ash_error own = ASH_ERROR_INIT;
    bson_t out = BSON_INITIALIZER;
    int rc = begin(store, &o, sizeof o, opts, report, err);
    if (rc == 0)
        rc = first_progress(o.progress, o.progress_ctx, "backup", err);
    if (rc != 0)
        return rc;
    char *target = absolute(folder, &own);
    if (target == NULL)
        /* Told by hand, since the caller's error may be NULL and then has no code to return. */
        return ash__fail(err, own.code, "%s", own.text);
    bson_t *action = BCON_NEW("backup", BCON_UTF8(target), "verify", BCON_BOOL(o.verify), "replace",
                              BCON_BOOL(o.replace));
    rc = ash_store_maintain(store, action, o.progress, o.progress_ctx, &out, err);
    bson_destroy(action);
    ash__free(target);
    if (rc == 0 || rc == ASH_ECORRUPT) {
        give_backup(&out, &o, rc == 0, report);
        bson_destroy(&out);
    }
    return rc;
}

/* ---- compact ---- */

int ash_store_compact(ash_store *store, const ash_store_compact_options *opts,
                      ash_store_compact_report *report, ash_error *err)
{
    ash_store_compact_options o;
    bson_t out = BSON_INITIALIZER;
    int rc = begin(store, &o, sizeof o, opts, report, err);
    if (rc == 0)
        rc = first_progress(o.progress, o.progress_ctx, "compact", err);
    if (rc != 0)
        return rc;
    bson_t *action = BCON_NEW("compact", BCON_INT32(1));
    rc = ash_store_maintain(store, action, o.progress, o.progress_ctx, &out, err);
    bson_destroy(action);
    if (rc == 0) {
        ash_store_compact_report ours = {.size = sizeof ours,
                                         .bytes_freed = number(&out, "bytesFreed")};
        give(report, &ours, sizeof ours);
    }
    if (rc == 0 || rc == ASH_ECORRUPT)
        bson_destroy(&out);
    return rc;
}
