/* SPDX-License-Identifier: Apache-2.0 */
/* The SHA-256 of a file: as it is known, or from reading all of it. */
#include "bucket/digest.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "bucket/attributes.h"

#include <string.h>

typedef struct sum_call {
    const ash_file *file; /* the version that was read */
    const char *hex;
} sum_call;

static int read_all(ash_download *d, const ash_sum_watch *watch, ash_digest *digest, ash_error *err)
{
    for (;;) {
        const uint8_t *data;
        size_t len;
        if (watch->cancel != NULL && *watch->cancel != 0)
            return ash__fail(err, ASH_EINTERRUPTED, "interrupted while reading a file");
        int rc = ash__deadline_check(watch->deadline_ms, "sum", err);
        if (rc == 0)
            rc = ash_download_next(d, &data, &len, err);
        if (rc != 0 || len == 0)
            return rc;
        ash__digest_add(digest, data, len);
        if (watch->progress != NULL)
            watch->progress(watch->ctx, (int64_t)len);
    }
}

/* Only when the file is still the one that was read. */
static int remember(const ash_work *work, void *ctx, ash_error *err)
{
    const sum_call *call = ctx;
    ash_file *now = NULL;
    ash_error own = ASH_ERROR_INIT;
    int rc = ash__file_get(work, &call->file->id, true, &now, &own);
    if (rc == 0 && ash__file_same(call->file, now))
        rc = ash__attributes_amend(work, now, call->hex, NULL, &own);
    ash_file_free(now);
    return ash__unless(ASH_ENOTFOUND, rc, &own, err);
}

static int compare(const ash_file *file, const char *hex, ash_error *err)
{
    if (strcmp(file->digests.sha256, hex) == 0)
        return 0;
    char *id = ash__id_text(&file->id);
    int rc = ash__fail(err, ASH_ECORRUPT, "file %s: SHA-256 is %s, not %s as when it was stored",
                       id, hex, file->digests.sha256);
    ash__free(id);
    return rc;
}

static int compute(const ash_work *work, ash_download *d, const ash_sum_watch *watch, char *hex,
                   ash_error *err)
{
    uint8_t bytes[ASH_DIGEST_MAX_BYTES];
    const ash_file *file = ash_download_file(d);
    ash_digest *digest = ash__digest_new(ASH_DIGEST_SHA256);
    int rc = read_all(d, watch, digest, err);
    if (rc == 0)
        ash__hex(bytes, ash__digest_finish(digest, bytes), hex);
    ash__digest_free(digest);
    if (rc != 0)
        return rc;
    /* Reading again what is known is for finding out that the bytes changed under it. */
    if (file->digests.sha256[0] != '\0')
        return compare(file, hex, err);
    sum_call call = {file, hex};
    return ash__bucket_commit(work, remember, &call, err);
}

/* A stream's calls each have a limit of their own; none is to have more than is left of the whole.
 */
static int open_within(const ash_work *work, const bson_value_t *id, ash_download **out,
                       ash_error *err)
{
    ash_download_options o = ASH_DOWNLOAD_OPTIONS_INIT;
    o.with_attributes = true;
    int rc = ash__deadline_check(work->deadline_ms, "sum", err);
    if (rc != 0)
        return rc;
    if (work->deadline_ms != 0) {
        int64_t left = work->deadline_ms - ash__clock_ms();
        o.timeout_ms = left > 0 ? left : 1;
    }
    return ash_bucket_open_download_stream(work->bucket, id, &o, out, err);
}

int ash__bucket_sum(ash_bucket *b, const bson_value_t *id, bool recompute,
                    const ash_sum_watch *watch, char *hex, ash_error *err)
{
    ash_work work = ash__work(b, watch->deadline_ms);
    ash_download *d = NULL;
    ash_file *file = NULL;
    hex[0] = '\0';
    int rc = ash__file_get_living(&work, id, true, &file, err);
    if (rc == 0 && !recompute && file->digests.sha256[0] != '\0') {
        memcpy(hex, file->digests.sha256, sizeof file->digests.sha256);
    } else if (rc == 0) {
        rc = open_within(&work, id, &d, err);
        if (rc == 0)
            rc = compute(&work, d, watch, hex, err);
    }
    ash_download_free(d);
    ash_file_free(file);
    return rc;
}

int ash_bucket_sum(ash_bucket *b, const bson_value_t *id, bool recompute, char *hex, ash_error *err)
{
    ash_sum_watch watch = {.deadline_ms = ash__bucket_deadline(b, 0)};
    return ash__bucket_sum(b, id, recompute, &watch, hex, err);
}
