/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASHLAR_MAINTAIN_H
#define ASHLAR_MAINTAIN_H

/* Looking after a store: look for damage, copy it, give free space back.
 *
 * These are the actions of ash_store_maintain() that a program asks for most, with options and
 * reports as structs.  They are for a store in a folder, which another process may serve: it does
 * the work then, with its own rights.
 *
 * Others may read and write meanwhile.  What they free is used again only after a check or a
 * backup has let go of the state that it reads, so that the store may grow until then.
 *
 * Threads: any, and several calls at a time, but for one backup at a time of a store.  Callbacks
 * are called on the thread of the call, one at a time, and must not use the store.
 *
 * Pointers must not be NULL unless a comment allows it.  Allowed everywhere: options (NULL: the
 * defaults), report (NULL: nobody reads it), and err (NULL: only the code is wanted).  A report is
 * the caller's memory, initialised by its ASH_…_INIT, owns nothing and needs no release; it is
 * written on 0, by check and backup also on ASH_ECORRUPT, and else stays as it was.
 *
 * Errors of all of them: ASH_EUNSUPPORTED on a deployment, which has tools of its own.  ASH_EACCES:
 * an Ashlar server was named by its address; it takes this only from who names the folder.
 * ASH_ESTATE on a thread that runs a transaction of the store.  ASH_EINTERRUPTED: progress returned
 * false.  ASH_EINVAL: options or a report that were not initialised, or options that this version
 * does not know; nothing was begun.  ASH_ENETWORK: the server hung up, and what it did by then is
 * unknown. */

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
 *     ash_store_check_report report = ASH_STORE_CHECK_REPORT_INIT;
 *     int rc = ash_store_open("./files", NULL, &store, &err);
 *     if (rc == 0)
 *         rc = ash_store_check(store, NULL, &report, &err);
 *     if (rc == 0)
 *         rc = ash_store_backup(store, "./copy", NULL, NULL, &err);
 *     if (rc != 0)
 *         fprintf(stderr, "%s\n", err.text);
 *     ash_store_close(store);
 */

/* ---- findings ---- */

/* A piece of damage.  text: a line for people, without a newline.  facts: what ash_store_maintain()
 * says of a finding, {text, kind, invariant, …}.  Both are views that end with the call.  Findings
 * are told when the work is done and the answer is ASH_ECORRUPT: the first 1,000, each once. */
typedef void (*ash_finding_fn)(void *ctx, const char *text, const bson_t *facts);

/* ---- look for damage ---- */

typedef struct ash_store_check_options {
    size_t size;
    bool without_payloads; /* not the bytes of chunks and large documents, only what describes them:
                              much faster, and finds no rotten contents */
    ash_progress_fn progress; /* now and then, and stops the check by returning false; or NULL */
    void *progress_ctx;
    ash_finding_fn finding; /* or NULL */
    void *finding_ctx;
} ash_store_check_options;
#define ASH_STORE_CHECK_OPTIONS_INIT ASH_OPTIONS_INIT(ash_store_check_options)

typedef struct ash_store_check_report {
    size_t size;
    bool clean; /* nothing was found: with 0, and only then */
    int64_t collections;
    int64_t records; /* documents, chunks of files among them */
    int64_t index_keys;
    int64_t payload_bytes; /* that were read */
    int64_t findings;      /* 0 and not clean: the server could not say which */
    int64_t told;          /* of them, by opts->finding */
} ash_store_check_report;
#define ASH_STORE_CHECK_REPORT_INIT ASH_OPTIONS_INIT(ash_store_check_report)

/* Read everything and compare it with its checksums and with what else is said of it.  Repairs
 * nothing: that is for a store that nobody has open, by `ashlar check --repair`.  ASH_ECORRUPT:
 * damage was found, the report is complete and its findings were told.  What the store refuses
 * because of damage, it refuses as before. */
int ash_store_check(ash_store *store, const ash_store_check_options *opts,
                    ash_store_check_report *report, ash_error *err);

/* ---- copy ---- */

typedef struct ash_store_backup_options {
    size_t size;
    bool verify;  /* read every payload of the copy, not only those that were copied now */
    bool replace; /* also a copy that was changed by itself, or is of a later state */
    ash_progress_fn progress; /* now and then, and stops the backup by returning false; or NULL */
    void *progress_ctx;
    ash_finding_fn finding; /* or NULL */
    void *finding_ctx;
} ash_store_backup_options;
#define ASH_STORE_BACKUP_OPTIONS_INIT ASH_OPTIONS_INIT(ash_store_backup_options)

typedef struct ash_store_backup_report {
    size_t size;
    bool clean;      /* nothing was found: with 0, and only then */
    int64_t records; /* documents in the copy, chunks of files among them */
    int64_t segments;
    int64_t copied_records; /* payloads that the folder did not have yet, … */
    int64_t copied_bytes;   /* … and their bytes */
    int64_t meta_bytes;     /* of the metadata, with all small documents; 0: nothing was written */
    int64_t copied_meta_bytes; /* of them, what was not there yet */
    int64_t damaged;           /* payloads of the store that were not whole */
    int64_t findings;          /* 0 and not clean: the server could not say which */
    int64_t told;              /* of them, by opts->finding */
} ash_store_backup_report;
#define ASH_STORE_BACKUP_REPORT_INIT ASH_OPTIONS_INIT(ash_store_backup_report)

/* Copy the store, as it is at one moment, into a folder that is missing, is empty or has an earlier
 * backup of it: then only what has changed is written.  folder: of this machine, by an absolute
 * path or one from this process's current folder; folders above it are made.  The copy is a store
 * of its own, on disk, opened and checked when this returns 0.
 *
 * While it is being written, and after a failure, the folder does not open, until a backup into it
 * is through; a refusal leaves it as it was.  ASH_EEXISTS: something else is in it, or (without
 * replace) a copy that was changed by itself or is of a later state.  ASH_EBUSY: it is in use, or
 * another backup of the store is running.  ASH_ECORRUPT: the store's metadata is damaged, and
 * nothing was written (meta_bytes 0); or payloads of the store are (damaged), and the copy opens,
 * with all that is whole; or payloads of the copy are, which does not open, and which the next
 * backup writes again.  ASH_EINVAL: folder is "".  ASH_ENOSPC, ASH_EACCES, ASH_EIO: of either. */
int ash_store_backup(ash_store *store, const char *folder, const ash_store_backup_options *opts,
                     ash_store_backup_report *report, ash_error *err);

/* ---- give free space back ---- */

typedef struct ash_store_compact_options {
    size_t size;
    ash_progress_fn progress; /* before it begins; through a server also while it is waited for.
                                 Returning false stops it, or the wait; or NULL */
    void *progress_ctx;
} ash_store_compact_options;
#define ASH_STORE_COMPACT_OPTIONS_INIT ASH_OPTIONS_INIT(ash_store_compact_options)

typedef struct ash_store_compact_report {
    size_t size;
    int64_t bytes_freed; /* that the file system has back; 0: there was nothing to give */
} ash_store_compact_report;
#define ASH_STORE_COMPACT_REPORT_INIT ASH_OPTIONS_INIT(ash_store_compact_report)

/* Give space of deleted payloads, in all databases, back to the file system.  The files keep their
 * length and get holes; documents stay where they are, and the metadata keeps its size.  What
 * somebody still reads is left for the next time.  ASH_EREADONLY: the store is open for reading
 * only.  ASH_ECORRUPT: the metadata is damaged, and nothing was given back, since nobody can be
 * sure what is free.  ASH_EIO: part of it may have been given back. */
int ash_store_compact(ash_store *store, const ash_store_compact_options *opts,
                      ash_store_compact_report *report, ash_error *err);

#ifdef __cplusplus
}
#endif
#endif
