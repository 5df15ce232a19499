/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BUCKET_ATTRIBUTES_H
#define ASH_BUCKET_ATTRIBUTES_H

/* NAME.attributes: what Ashlar knows about a file beyond its files document.
 *
 *   {_id: FILE ID, version: ObjectId, length: int64, uploadDate: date,
 *    sha256?: 64 hex digits, sha1?: 40, md5?: 32, expires?: date, altered?: date, token?: int64}
 *
 * length and uploadDate say which version of the file the document speaks of: when they differ from
 * the files document (a driver deleted the file and made another of the same id), all but `token`
 * is ignored.
 *
 * A resumable upload has a document of its own until it is finished:
 *
 *   {_id: {resume: TOKEN}, upload: {files_id, filename, chunkSize, …}, holder: ObjectId,
 *    expires: date}
 *
 * holder says who goes on with it: whoever resumes it puts another one there, and the one before
 * fails at its next chunks, and cannot finish.
 *
 * A transfer (transfer.h) has one, too, while it runs:
 *
 *   {_id: {copy: FILE ID}, version: ObjectId}
 */

#include "bucket/file.h"

/* Fill digests, expiry and version of `file` from its attributes, if there are any that fit. */
int ash__attributes_read(const ash_work *work, ash_file *file, ash_error *err);

/* What to write for a file that changes. */
typedef struct ash_attributes {
    const bson_value_t *id;
    int64_t length;
    int64_t upload_date_ms;
    const ash_digests *digests; /* or NULL */
    int64_t expires_ms;         /* 0: never */
    int64_t altered_ms;         /* 0: never */
    int64_t token;              /* 0: none */
    bool is_new;                /* no file has had the id, so that there are none to write over */
} ash_attributes;
int ash__attributes_write(const ash_work *work, const ash_attributes *a, ash_error *err);
int ash__attributes_remove(const ash_work *work, const bson_value_t *id, ash_error *err);

/* Add facts to those of a file that does not change: its digest (or NULL), its expiry (or NULL; 0 =
 * never).  `file` was read with its attributes. */
int ash__attributes_amend(const ash_work *work, const ash_file *file, const char *sha256,
                          const int64_t *expires_ms, ash_error *err);

/* now + seconds; what is beyond the end of time is INT64_MAX. */
int64_t ash__expiry_ms(int64_t now_ms, int64_t seconds);

#endif
