/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BUCKET_FILE_H
#define ASH_BUCKET_FILE_H

/* Files documents, read with the tolerance and the suspicion they need. */

#include "bucket/bucket.h"
#include "bucket/hasher.h"

struct ash_file {
    ash_doc doc; /* in bytes */
    bson_value_t id;
    int64_t length;
    int32_t chunk_size;
    int64_t upload_date_ms;
    const char *filename; /* inside doc, or NULL */
    /* From the attributes, when they were read and belong to this version. */
    bool has_attributes;
    ash_digests digests;
    int64_t expires_ms;
    int64_t token; /* of the last fence that the file was changed under */
    bool has_version;
    bson_oid_t version; /* changes with every change of the file by Ashlar */
    uint8_t bytes[];
};

#define ASH_CHUNKS_MAX ((int64_t)INT32_MAX + 1) /* they are numbered by an int32 from 0 on */

/* The kinds of digests that are known of it, as a sum. */
unsigned ash__file_digest_kinds(const ash_file *f);

/* How many chunks a file of that length has. */
int64_t ash__chunk_count(int64_t length, int32_t chunk_size);
/* Bytes in chunk n. */
int32_t ash__chunk_length(int64_t length, int32_t chunk_size, int64_t n);

/* Which of the files of a name: 0 is the first, -1 the newest. */
typedef struct ash_revision {
    const char *filename;
    int32_t number;
} ash_revision;

/* One file by id, or by name and revision.  with: also its attributes. */
int ash__file_get(const ash_work *work, const bson_value_t *id, bool with_attributes,
                  ash_file **out, ash_error *err);
int ash__file_get_by_name(const ash_work *work, const ash_revision *which, bool with_attributes,
                          ash_file **out, ash_error *err);

/* The files document says when the file ends, so that finding what is there takes no second look:
 * a date, that of the attributes.  Stores of before have it there only, and a date that drivers
 * cannot read is not put here. */
#define ASH_FIELD_EXPIRES "expiresAt"
/* From that moment on it is not there, whether it was deleted already or not. */
bool ash__file_is_over(const ash_file *f);
/* Append what passes those over to a filter on the files collection. */
void ash__filter_living(bson_t *filter);
/* As ash__file_get(), of a file whose time is not over. */
int ash__file_get_living(const ash_work *work, const bson_value_t *id, bool with_attributes,
                         ash_file **out, ash_error *err);
/* Appended to a document, or to the $set or $unset of an update; 0: nothing. */
void ash__append_expiry(bson_t *doc, int64_t expires_ms);

/* Is there a files document of that id, whatever its state? */
int ash__file_exists(const ash_work *work, const bson_value_t *id, bool *out, ash_error *err);

/* The same bytes in the files document and the same version. */
bool ash__file_same(const ash_file *a, const ash_file *b);
/* ASH_ECONFLICT unless the file is still as it was read, with its attributes. */
int ash__file_check_unchanged(const ash_work *work, const ash_file *file, ash_error *err);

/* _id and uploadDate of the newest revision of a name; *found false when there is none.  *id:
 * bson_value_destroy(). */
int ash__file_newest(const ash_work *work, const char *filename, bool *found, bson_value_t *id,
                     int64_t *upload_date_ms, ash_error *err);

/* Ids of all revisions of a name, as a BSON array in *ids, at most `limit` of them (0 = all);
 * *count of them.  ids: initialised by the call, destroyed by the caller. */
int ash__file_ids_of_name(const ash_work *work, const char *filename, int64_t limit, bson_t *ids,
                          uint32_t *count, ash_error *err);

#endif
