/* SPDX-License-Identifier: Apache-2.0 */
/* One file: downloaded, verified and uploaded under its own id, with its files document as it is.
 */
#include "cmd/copy/copy.h"

#include "base/error.h"
#include "bucket/file.h"
#include "bucket/transfer.h"

#include <stdio.h>
#include <string.h>

bool ash__copy_same_bytes(const ash_file *a, const ash_file *b)
{
    const char *x = ash_file_sha256(a), *y = ash_file_sha256(b);
    return ash_file_length(a) == ash_file_length(b) &&
           ash_file_upload_date_ms(a) == ash_file_upload_date_ms(b) &&
           ash_file_chunk_size_bytes(a) == ash_file_chunk_size_bytes(b) &&
           (x == NULL || y == NULL || strcmp(x, y) == 0);
}

/* The first and the last one tell at little cost. */
int ash__copy_has_chunks(ash_bucket *b, const ash_file *file, bool *out, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    int64_t found = 0, chunks = ash__chunk_count(file->length, file->chunk_size);
    ash__filter_id(&filter, "files_id", &file->id);
    bson_t *ends = BCON_NEW("$in", "[", BCON_INT64(0), BCON_INT64(chunks - 1), "]");
    BSON_APPEND_DOCUMENT(&filter, "n", ends);
    int rc = chunks > 0 ? ash_collection_count(b->chunks, &filter, NULL, &found, err) : 0;
    *out = found >= (chunks > 1 ? 2 : chunks);
    bson_destroy(ends);
    bson_destroy(&filter);
    return rc;
}

static int copy_bytes(ash_download *from, ash_upload *to, ash_progress *progress, ash_error *err)
{
    for (;;) {
        const uint8_t *data;
        size_t len;
        int rc = ash_download_next(from, &data, &len, err);
        if (rc == 0)
            rc = ash__cmd_check_interrupted(err);
        if (rc == 0)
            /* A slow source must not let the target take us for dead. */
            rc = ash__transfer_keep(to, 0, err);
        if (rc == 0 && len > 0)
            rc = ash_upload_write(to, data, len, err);
        if (rc != 0 || len == 0)
            return rc;
        if (progress != NULL)
            ash__progress_add(progress, (int64_t)len, 0, NULL);
    }
}

static void take_sum(const ash_file *file, char *out)
{
    const char *sum = ash_file_sha256(file);
    snprintf(out, ASH_SHA256_TEXT_BYTES, "%s", sum != NULL ? sum : "");
}

int ash__copy_file(const ash_copy_route *route, const bson_value_t *id, const ash_file *replaced,
                   char *sha256, ash_error *err)
{
    ash_download_options opts = ASH_DOWNLOAD_OPTIONS_INIT;
    ash_download *download = NULL;
    ash_upload *upload = NULL;
    ash_file *file = NULL;
    /* The digest is among them, and goes along. */
    opts.with_attributes = true;
    int rc = ash_bucket_open_download_stream(route->from, id, &opts, &download, err);
    if (rc == 0)
        rc = ash__transfer_open(route->to, ash_download_file(download), replaced,
                                &ash__cmd_interrupted, &upload, err);
    if (rc == 0)
        rc = copy_bytes(download, upload, route->progress, err);
    if (rc == 0)
        rc = ash_upload_finish(upload, &file, err);
    if (rc == 0)
        take_sum(file, sha256);
    /* Out of reach it would only fail once more, and slowly; sweeping finds the chunks. */
    else if (upload != NULL && rc != ASH_ENETWORK)
        (void)ash_upload_abort(upload, NULL);
    ash_file_free(file);
    ash_upload_free(upload);
    ash_download_free(download);
    return rc;
}

int ash__copy_document(ash_bucket *to, const ash_file *from, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    bson_t doc;
    ash_work work = ash__work(to, 0);
    ash_update_options o = ash__work_update_options(&work);
    o.op.durability = ASH_DURABILITY_EVERY;
    ash__filter_id(&filter, "_id", &from->id);
    ash__doc_to_bson(from->doc, &doc);
    int rc = ash__collection_change(to->files, &filter, &doc, &o, NULL, err);
    bson_destroy(&filter);
    return rc;
}
