/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASHLAR_BUCKET_H
#define ASHLAR_BUCKET_H

/* Buckets: files as documents, by the GridFS specification ("§" below names its sections), on any
 * store.
 *
 * A bucket NAME in a database is two collections: NAME.files, one document a file, and NAME.chunks,
 * its bytes in equal pieces. Ashlar's own facts about a file (digest, expiry, lock token, resume
 * token) live in NAME.attributes, so that the files document stays exactly as the specification has
 * it, but for the date `expiresAt` of a file that expires: from then on no function here finds it,
 * whether or not somebody has deleted it yet; only ash_bucket_set_expiry() may still give it time.
 * Where a driver deleted a file and made another of the same id, those facts are ignored.
 *
 * What a bucket adds on the embedded engine: a visible file is complete, and durable (under
 * ASH_DURABILITY_INTERVAL at most 100 ms later); finish, delete, replace and alter are one commit
 * each; a download reads one version of its file to the end, whatever happens meanwhile.  Through a
 * folder's server they are one commit each as well; of files with over 8,192 chunks those that are
 * deleted go right after it.  On MongoDB they keep the specification's order, in a transaction
 * where the deployment has them.  Without transactions (a single server) each step is visible by
 * itself, alter is refused, and conditions are looked at just before the files document is written:
 * conditional puts of one name still take turns among themselves.  A change under a fence then
 * happens before any later grant of the lock by Ashlar, or not at all; a holder of the npm package
 * that took the lock over is not protected from one change that was announced before
 * (docs/LOCKS.md, Without transactions).
 *
 * Threads: a bucket is immutable and may be used by any number of threads; streams belong to one
 * thread at a time.
 *
 * Pointers must not be NULL unless a comment allows it.  Allowed everywhere: options (NULL: the
 * defaults), err (NULL: only the code is wanted), and what a free or close function is given.  Any
 * other NULL is a bug of the caller and ends the program, as a rule by an assertion.
 *
 * Common errors: ASH_ENOTFOUND no such file; ASH_ENOREVISION no such revision; ASH_ECHUNKMISSING,
 * ASH_ECHUNKEXTRA, ASH_ECHUNKSIZE a file whose chunks do not fit its files document; ASH_EINVAL
 * options, ids or names that cannot be; ASH_ECORRUPT a files document whose fields cannot be (the
 * text names file and field; such a file can still be renamed and deleted); ASH_ETIMEOUT past
 * timeout_ms, which bounds the whole of the operation or, for a stream, of each call on it. */

#include <ashlar/digest.h>
#include <ashlar/store.h>

#ifdef __cplusplus
extern "C" {
#endif

/* In short.
 *
 * Example:
 *
 *     ash_error err = ASH_ERROR_INIT;
 *     ash_store *store = NULL;
 *     ash_bucket *bucket = NULL;
 *     ash_upload *upload = NULL;
 *     int rc = ash_store_open("./files", NULL, &store, &err);
 *     if (rc == 0)
 *         rc = ash_bucket_new(store, NULL, &bucket, &err);
 *     if (rc == 0)
 *         rc = ash_bucket_open_upload_stream(bucket, "a.txt", NULL, &upload, &err);
 *     if (rc == 0)
 *         rc = ash_upload_write(upload, "text", 4, &err);
 *     if (rc == 0)
 *         rc = ash_upload_finish(upload, NULL, &err);
 *     if (rc != 0)
 *         fprintf(stderr, "%s\n", err.text);
 *     ash_upload_free(upload);
 *     ash_bucket_free(bucket);
 *     ash_store_close(store);
 */

typedef struct ash_bucket ash_bucket;
typedef struct ash_upload ash_upload;
typedef struct ash_download ash_download;

#define ASH_CHUNK_SIZE_DEFAULT (255 * 1024)
#define ASH_CHUNK_SIZE_MAX     (16 * 1024 * 1024 - 16 * 1024) /* a chunk document must fit 16 MiB */

/* ---- bytes in and out ---- */

/* read: up to len bytes into buf; returns how many, 0 at the end, or a negative ASH_E… with err
 * filled. */
typedef struct ash_input {
    void *ctx;
    int64_t (*read)(void *ctx, void *buf, size_t len, ash_error *err);
} ash_input;

/* write: takes all len bytes or fails. */
typedef struct ash_output {
    void *ctx;
    int (*write)(void *ctx, const void *data, size_t len, ash_error *err);
} ash_output;

/* ---- the bucket (§ Configurable GridFSBucket class) ---- */

typedef struct ash_bucket_options {
    size_t size;
    const char *db;             /* NULL: the store's default database */
    const char *bucket_name;    /* NULL: "fs" */
    int32_t chunk_size_bytes;   /* 0: 255 KiB; 1 .. ASH_CHUNK_SIZE_MAX */
    const bson_t *read_concern; /* handed to a deployment with each read; the embedded engine always
                                   reads its newest commit */
    const bson_t *read_preference; /* likewise */
    const bson_t *write_concern;   /* {w, j, wtimeout}; j: true or w: "majority" make every chunk
                                      durable as it is written; w: 0 is ASH_EUNSUPPORTED */
    bool disable_md5;              /* accepted; no MD5 is computed unless legacy_md5 asks for it */
    bool legacy_md5;               /* fill the deprecated md5 field */
    int64_t timeout_ms;            /* of each operation; 0 = none */
    int64_t default_ttl_s;         /* files expire this long after their upload; 0 = never */
} ash_bucket_options;
#define ASH_BUCKET_OPTIONS_INIT ASH_OPTIONS_INIT(ash_bucket_options)

/* Touches nothing in the store.  *out is yours: ash_bucket_free(), before the store is closed. */
int ash_bucket_new(ash_store *store, const ash_bucket_options *opts, ash_bucket **out,
                   ash_error *err);
void ash_bucket_free(ash_bucket *b);
const char *ash_bucket_name(const ash_bucket *b);
const char *ash_bucket_db(const ash_bucket *b);
int32_t ash_bucket_chunk_size_bytes(const ash_bucket *b);
ash_store *ash_bucket_store(const ash_bucket *b);

/* ---- files ---- */

/* One file, as its files document says.  Own copy: ash_file_free(). */
typedef struct ash_file ash_file;
void ash_file_free(ash_file *f);
/* The whole files document, older implementations' extra fields included. */
ash_doc ash_file_document(const ash_file *f);
const bson_value_t *ash_file_id(const ash_file *f);
int64_t ash_file_length(const ash_file *f);
int32_t ash_file_chunk_size_bytes(const ash_file *f);
int64_t ash_file_upload_date_ms(const ash_file *f);     /* since 1970, UTC */
const char *ash_file_filename(const ash_file *f);       /* NULL when the document has none */
bool ash_file_metadata(const ash_file *f, bson_t *out); /* static view; false when there is none */
/* Ashlar's own facts, when the file was read with them; else empty. */
const char *ash_file_sha256(const ash_file *f); /* 64 hex digits, or NULL when not known */
const char *ash_file_digest(const ash_file *f, ash_digest_kind kind); /* likewise */
int64_t ash_file_expires_ms(const ash_file *f);                       /* 0: never */

/* What a lock (ashlar/lock.h) proves about its holder, checked in the commit of a change. */
typedef struct ash_fence {
    size_t size;
    const char *collection;      /* of the lock document, in the bucket's database */
    const bson_value_t *lock_id; /* the lock document's _id */
    int64_t writes;              /* its `writes` at the grant */
    int64_t token;               /* never smaller than any the file was changed with before */
    /* Of trees' changes (ashlar/tree.h) alone; ASH_EINVAL elsewhere. */
    bool shared;                  /* of a read lock: nobody has had a write lock since the grant */
    const struct ash_fence *next; /* one more that has to hold, or NULL */
} ash_fence;
#define ASH_FENCE_INIT ASH_OPTIONS_INIT(ash_fence)

/* ---- upload (§ File Upload) ---- */

typedef enum ash_put_condition {
    ASH_PUT_ALWAYS = 0,
    ASH_PUT_IF_ABSENT,   /* no file of that name exists when the file becomes visible */
    ASH_PUT_IF_NEWEST_IS /* the newest revision of that name has the id `newest` then */
} ash_put_condition;

typedef struct ash_upload_options {
    size_t size;
    int32_t chunk_size_bytes; /* 0: the bucket's */
    const bson_t *metadata;
    const char *content_type;    /* deprecated by the specification; stored when given */
    const bson_t *aliases;       /* deprecated; array of strings */
    ash_put_condition condition; /* violated: ASH_ECONDITION from finish, nothing becomes visible */
    const bson_value_t *newest;
    bool replace; /* older revisions of the name disappear in the commit that shows this one; one of
                     them may have its id, unless it is resumable.  Without transactions such a
                     one goes just before.  Through a folder's server, and with the same id, as
                     much as that can put in place within five seconds: else ASH_ETIMEOUT */
    const ash_fence *fence;  /* stale: ASH_ELOST from finish */
    int64_t ttl_s;           /* 0: the bucket's default; < 0: never expires */
    bool resumable;          /* keep the bytes when the process dies, until resume_expiry_s */
    int64_t resume_expiry_s; /* 0: 24 hours */
    int64_t timeout_ms;      /* 0: the bucket's */
    bool without_digest;     /* no SHA-256, which is what uploads of many MB wait for longest; then
                                ash_file_sha256() is NULL until ash_bucket_sum() or
                                ash_bucket_sum_missing() has read the file.  Its chunks have
                                checksums all the same */
    unsigned digests; /* ASH_DIGEST_… besides, as a sum; known from ash_upload_seal() on, and
                         kept with the file: ash_file_digest() */
    bool id_at_end;   /* ash_finish_options.id gives it, as when it is a digest.  Until then
                         ash_upload_id() is one that the file will not have */
} ash_upload_options;
#define ASH_UPLOAD_OPTIONS_INIT ASH_OPTIONS_INIT(ash_upload_options)

/* The first upload of a bucket object creates the two indexes when the files collection is empty
 * and they are absent (§ Indexes). filename: UTF-8 without NUL, may be empty.  Nothing is visible
 * before finish.  *out is yours: ash_upload_free(). */
int ash_bucket_open_upload_stream(ash_bucket *b, const char *filename,
                                  const ash_upload_options *opts, ash_upload **out, ash_error *err);
/* id: any BSON value that may be an _id.  ASH_EEXISTS from write or finish when the id is taken;
 * the file that has it stays as it is. */
int ash_bucket_open_upload_stream_with_id(ash_bucket *b, const bson_value_t *id,
                                          const char *filename, const ash_upload_options *opts,
                                          ash_upload **out, ash_error *err);

/* Takes all bytes or fails; after a failure only abort and free are allowed (ASH_ESTATE).  Holds up
 * to 4 MiB, or one chunk, in memory; on the embedded engine twice that, so that one half is filled
 * while the other is written.  What fails there is told by a later write, or by finish; with a time
 * limit each call waits for what it began.  A bucket keeps the memory for its next upload. */
int ash_upload_write(ash_upload *u, const void *data, size_t len, ash_error *err);
const bson_value_t *ash_upload_id(const ash_upload *u); /* from the start (§ the stream's id) */
int64_t ash_upload_position(const ash_upload *u);       /* bytes taken so far */
/* The file exists and is durable when this returns 0 (on the embedded engine, but under
 * ASH_DURABILITY_INTERVAL up to 100 ms later; on a deployment: as the write concern says). *file
 * may be NULL; else yours.  Its uploadDate is now, or 1 ms after the newest revision of the name
 * when that is not earlier.  After a failure no file is visible, except that after ASH_ETIMEOUT and
 * ASH_ENETWORK it may be.  ASH_ECHUNKMISSING: it paused for so long that its chunks were swept
 * (ash_sweep_options.min_age_s). */
int ash_upload_finish(ash_upload *u, ash_file **file, ash_error *err);

/* No more bytes: what is left of them is stored, and the digests are known.  Once more: nothing. */
int ash_upload_seal(ash_upload *u, ash_error *err);
/* hex: ASH_DIGEST_TEXT_BYTES.  ASH_ESTATE before the upload is sealed, ASH_EINVAL for one that it
 * was not asked for. */
int ash_upload_digest(const ash_upload *u, ash_digest_kind kind, char *hex, ash_error *err);

typedef struct ash_finish_options {
    size_t size;
    const bson_value_t *id; /* with id_at_end, and only then */
    bool keep_existing;     /* of a file that has this id already: it stays, *existed is set, *file
                               is that one, and what this upload brought is dropped.  Else, as
                               ever, ASH_EEXISTS */
    ash_transaction *transaction; /* inside ash_store_transact: the file becomes visible with all
                                     else that it does.  The upload has to be sealed before
                                     (ASH_ESTATE); until the transaction has ended it can only be
                                     freed, and after one that failed or is run again it is sealed
                                     as before.  When this fails with anything but ASH_ECONDITION,
                                     ASH_ELOST, ASH_EEXISTS or ASH_ECHUNKMISSING, the transaction
                                     cannot be committed any more (ASH_ESTATE) */
} ash_finish_options;
#define ASH_FINISH_OPTIONS_INIT ASH_OPTIONS_INIT(ash_finish_options)
/* ash_upload_finish() with more to say.  file and existed may be NULL. */
int ash_upload_finish_with(ash_upload *u, const ash_finish_options *opts, ash_file **file,
                           bool *existed, ash_error *err);
/* Delete the chunks written so far (§ abort); reports what could not be deleted. */
int ash_upload_abort(ash_upload *u, ash_error *err);
/* Before finish: as abort, errors ignored (a resumable upload is kept instead). Never commits. NULL
 * is fine. */
void ash_upload_free(ash_upload *u);

/* Resumable uploads: the token names the upload across processes (a copy of it is enough).  Options
 * are kept with it, but not a fence. Whole chunks count as stored. */
const char *ash_upload_token(const ash_upload *u); /* NULL unless resumable */
/* *out stands at the first byte that is not safely stored: ash_upload_position().  Reads what is
 * stored, for the digest.  Whoever had the upload before loses it: its write or finish is
 * ASH_ELOST, and its abort does nothing.  ASH_ENOTFOUND: unknown or expired.  ASH_EEXISTS: there is
 * a file of its id already. */
int ash_bucket_resume_upload(ash_bucket *b, const char *token, ash_upload **out, ash_error *err);

/* Read `in` to its end as one file.  *id (may be NULL): initialised on success,
 * bson_value_destroy() by the caller.  On failure the chunks are deleted on the embedded engine; on
 * a deployment the failure is reported at once (§). */
int ash_bucket_upload_from_stream(ash_bucket *b, const char *filename, const ash_input *in,
                                  const ash_upload_options *opts, bson_value_t *id, ash_error *err);
int ash_bucket_upload_from_stream_with_id(ash_bucket *b, const bson_value_t *id,
                                          const char *filename, const ash_input *in,
                                          const ash_upload_options *opts, ash_error *err);

/* ---- download (§ File Download) ---- */

typedef struct ash_download_options {
    size_t size;
    bool has_revision;
    int32_t revision; /* by name: 0 the first, 1 the second …; -1 the newest (default), -2 the one
                         before (§ revision) */
    int64_t start;    /* first byte (§ partial retrieval) */
    int64_t end;  /* first byte not wanted; 0 = to the end of the file.  Not 0 <= start <= end <=
                     length: ASH_EINVAL */
    bool has_end; /* end is meant even when it is 0 */
    bool with_attributes; /* ash_file_sha256() and expiry are filled in */
    bool verify; /* compare the digest when the whole file was read: ASH_ECORRUPT from the read that
                    reaches the end */
    int64_t timeout_ms;
} ash_download_options;
#define ASH_DOWNLOAD_OPTIONS_INIT ASH_OPTIONS_INIT(ash_download_options)

/* *out is yours: ash_download_free().  Empty files need no chunks query. */
int ash_bucket_open_download_stream(ash_bucket *b, const bson_value_t *id,
                                    const ash_download_options *opts, ash_download **out,
                                    ash_error *err);
int ash_bucket_open_download_stream_by_name(ash_bucket *b, const char *filename,
                                            const ash_download_options *opts, ash_download **out,
                                            ash_error *err);
const ash_file *ash_download_file(const ash_download *d); /* borrowed until free */

/* Up to len bytes; *got 0 at the end (only there).  On failure *got bytes had come before it. */
int ash_download_read(ash_download *d, void *buf, size_t len, size_t *got, ash_error *err);
/* The next piece without a copy: at most one chunk; *len 0 at the end.  Valid until the next call
 * on the stream. */
int ash_download_next(ash_download *d, const uint8_t **data, size_t *len, ash_error *err);
/* The same of at most max bytes (0: ASH_EINVAL), for reading here and there: of a large chunk, only
 * the part that holds them is brought in and verified. */
int ash_download_view(ash_download *d, size_t max, const uint8_t **data, size_t *len,
                      ash_error *err);
/* Absolute position within [start, end]; only the chunks needed are read, and in the embedded store
 * only the parts of them that are asked for.  The next read is ASH_ECONFLICT when the file was
 * changed or deleted since the download began and the store does not hold its version (the embedded
 * store does). */
int ash_download_seek(ash_download *d, int64_t position, ash_error *err);
int64_t ash_download_position(const ash_download *d);
void ash_download_free(ash_download *d);

int ash_bucket_download_to_stream(ash_bucket *b, const bson_value_t *id, const ash_output *out,
                                  const ash_download_options *opts, ash_error *err);
int ash_bucket_download_to_stream_by_name(ash_bucket *b, const char *filename,
                                          const ash_output *out, const ash_download_options *opts,
                                          ash_error *err);

/* ---- find, rename, delete (§ Generic Find, § File Deletion, § Renaming) ---- */

typedef struct ash_bucket_find_options {
    size_t size;
    bool allow_disk_use;
    int32_t batch_size;
    int64_t limit;
    int64_t max_time_ms;
    bool no_cursor_timeout;
    int64_t skip;
    const bson_t *sort;
    ash_transaction *transaction; /* inside ash_store_transact: as it sees the files */
} ash_bucket_find_options;
#define ASH_BUCKET_FIND_OPTIONS_INIT ASH_OPTIONS_INIT(ash_bucket_find_options)
/* A cursor over files documents.  The filter is MongoDB's and is not looked at: {filename: "a"},
 * {length: {$gt: 1000}}, {"metadata.owner": "me"}.  NULL: all.  One damaged document is
 * ASH_ECORRUPT from the call that meets it; on the embedded engine the next call goes on behind it,
 * elsewhere the cursor has ended. */
int ash_bucket_find(ash_bucket *b, const bson_t *filter, const ash_bucket_find_options *opts,
                    ash_cursor **out, ash_error *err);

/* One file by id, or by name and revision.  *out is yours.  with_attributes: Ashlar's own facts
 * too. */
int ash_bucket_get_file(ash_bucket *b, const bson_value_t *id, bool with_attributes, ash_file **out,
                        ash_error *err);
int ash_bucket_get_file_by_name(ash_bucket *b, const char *filename, int32_t revision,
                                bool with_attributes, ash_file **out, ash_error *err);
/* A file from a document that ash_bucket_find gave; copies it. */
int ash_file_from_document(ash_doc doc, ash_file **out, ash_error *err);

/* What holds in the commit of a change, and which commit it is. */
typedef struct ash_change_options {
    size_t size;
    const ash_fence *fence;
    int64_t timeout_ms;
    ash_transaction *transaction; /* inside ash_store_transact: the change is part of it.  When it
                                     fails with anything but ASH_ECONDITION, ASH_ELOST, ASH_EINVAL
                                     or ASH_ENOTFOUND, the transaction cannot be committed any more
                                     (ASH_ESTATE).  Delete, rename and update; others: ASH_ESTATE */
    const bson_t *only_if; /* a filter that the files document has to match: else ASH_ECONDITION.
                              For changes of one file by its id; together with a fence it needs
                              transactions (ASH_EUNSUPPORTED) */
    bool if_name_absent;   /* rename: to a name that no file has, else ASH_ECONDITION */
} ash_change_options;
#define ASH_CHANGE_OPTIONS_INIT ASH_OPTIONS_INIT(ash_change_options)

/* The files document goes first, then the chunks, always both: ASH_ENOTFOUND is returned after
 * orphaned chunks of that id were deleted too. */
int ash_bucket_delete(ash_bucket *b, const bson_value_t *id, const ash_change_options *opts,
                      ash_error *err);
/* All revisions. */
int ash_bucket_delete_by_name(ash_bucket *b, const char *filename, const ash_change_options *opts,
                              ash_error *err);
int ash_bucket_rename(ash_bucket *b, const bson_value_t *id, const char *new_filename,
                      const ash_change_options *opts, ash_error *err);
int ash_bucket_rename_by_name(ash_bucket *b, const char *filename, const char *new_filename,
                              const ash_change_options *opts, ash_error *err);
/* Change what the files document says besides its bytes: metadata above all.  update: MongoDB's
 * operators ($set, $unset, $inc …), on any field but _id, length, chunkSize, uploadDate, md5 and
 * expiresAt, which belong to the bytes, and filename, which ash_bucket_rename() changes
 * (ASH_EINVAL). *file: as it is then; may be NULL, else yours. */
int ash_bucket_update(ash_bucket *b, const bson_value_t *id, const bson_t *update,
                      const ash_change_options *opts, ash_file **file, ash_error *err);
int ash_bucket_drop(ash_bucket *b, const ash_change_options *opts, ash_error *err);

/* ---- altering a file (not in the specification) ---- */

/* Append, write at an offset, truncate or extend, under the same id, as one commit at finish.
 * Readers see the old or the new file. ASH_EUNSUPPORTED where the store has no transactions;
 * ASH_ETIMEOUT through a folder's server for more than it can put in place within five seconds.
 * uploadDate stays, since it orders the revisions of a name; a digest and md5 go (ash_bucket_sum()
 * makes a new one).  Up to 4 MiB of changed chunks, or two chunks, are held in memory; more wait in
 * the chunks collection under another id. */
typedef struct ash_alter ash_alter;
int ash_bucket_open_alter(ash_bucket *b, const bson_value_t *id, const ash_change_options *opts,
                          ash_alter **out, ash_error *err);
/* offset <= length */
int ash_alter_write(ash_alter *a, int64_t offset, const void *data, size_t len, ash_error *err);
int ash_alter_append(ash_alter *a, const void *data, size_t len, ash_error *err);
/* Shorter, or longer with zeros. */
int ash_alter_truncate(ash_alter *a, int64_t length, ash_error *err);
int64_t ash_alter_length(const ash_alter *a);
/* ASH_ECONFLICT when the file changed meanwhile. */
int ash_alter_finish(ash_alter *a, ash_file **file, ash_error *err);
void ash_alter_free(ash_alter *a);

/* ---- care ---- */

/* A file's SHA-256, computed now if it is not known yet (and then remembered, unless the file
 * changed meanwhile).  recompute: read the bytes in any case; ASH_ECORRUPT when they do not give
 * the digest that is known, and *hex is then theirs.  hex: 65 bytes. */
int ash_bucket_sum(ash_bucket *b, const bson_value_t *id, bool recompute, char *hex,
                   ash_error *err);

typedef struct ash_sum_missing_options {
    size_t size;
    int64_t since_ms;           /* only files whose ObjectId was made since then; 0 = all */
    int64_t max_files;          /* 0 = 100 */
    int64_t max_bytes;          /* 0 = 256 MiB; the last file may go beyond */
    const volatile int *cancel; /* set to non-zero from any thread to stop; or NULL */
} ash_sum_missing_options;
#define ASH_SUM_MISSING_OPTIONS_INIT ASH_OPTIONS_INIT(ash_sum_missing_options)
typedef struct ash_sum_missing_report {
    size_t size;
    int64_t files; /* that have a digest now */
    int64_t bytes;
    int64_t failed; /* damaged, or deleted meanwhile: passed over */
    bool more;      /* a limit was reached */
} ash_sum_missing_report;
#define ASH_SUM_MISSING_REPORT_INIT ASH_OPTIONS_INIT(ash_sum_missing_report)
/* Compute and remember the digests of files that have none, as those that drivers uploaded; newest
 * first.  ASH_EINTERRUPTED when cancelled: what was done stays. */
int ash_bucket_sum_missing(ash_bucket *b, const ash_sum_missing_options *opts,
                           ash_sum_missing_report *out, ash_error *err);

/* 0: never. */
int ash_bucket_set_expiry(ash_bucket *b, const bson_value_t *id, int64_t expires_ms,
                          ash_error *err);
/* Delete expired files and their chunks; bounded work, *more says whether to call again. */
int ash_bucket_expire(ash_bucket *b, int64_t max_files, int64_t *deleted, bool *more,
                      ash_error *err);

typedef struct ash_sweep_options {
    size_t size;
    bool dry_run;
    /* Chunks of an unknown file are orphans only when none is younger, by the time in its
     * ObjectId; 0 = 24 hours; < 0: of any age, when nothing uploads. */
    int64_t min_age_s;
    ash_progress_fn progress;
    void *progress_ctx;
} ash_sweep_options;
#define ASH_SWEEP_OPTIONS_INIT ASH_OPTIONS_INIT(ash_sweep_options)
typedef struct ash_sweep_report {
    size_t size;
    int64_t files; /* ids whose chunks had no file */
    int64_t chunks;
    int64_t bytes;
} ash_sweep_report;
#define ASH_SWEEP_REPORT_INIT ASH_OPTIONS_INIT(ash_sweep_report)
/* Chunks that no file and no resumable upload owns: left by clients that died; and, not counted,
 * attributes of files that are gone.  Safe beside running uploads: one that paused for longer than
 * min_age_s loses its chunks, and fails at its end.  ASH_ECORRUPT when chunks of an id are so
 * damaged that nobody knows how old they are: they stay, and all others were dealt with. */
int ash_bucket_sweep(ash_bucket *b, const ash_sweep_options *opts, ash_sweep_report *out,
                     ash_error *err);

#ifdef __cplusplus
}
#endif
#endif
