/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_SALVAGE_SALVAGE_H
#define ASH_STORE_EMBEDDED_SALVAGE_SALVAGE_H

#include <ashlar/store.h>

/* A damaged store's whole files and documents, copied into a new store; the damaged one is only
 * read and stays byte for byte as it is. */

typedef struct ash_salvage_options {
    const char *into;         /* folder to make; NULL: only say what would be copied */
    ash_progress_fn progress; /* or NULL; false stops: ASH_EINTERRUPTED */
    /* Each thing that was found: {kind, lost, text, …}.  kind: "file" (not whole: db, bucket, name,
     * _id, and for each chunk n, segment, offset), "document", "documents" (rows of which nothing
     * is left), "chunk" (damaged, of no file that is known), "collection", "index", "orphan"
     * (chunks without a file), "unclaimed" (a document that nothing points at), "uncertain"
     * (deleted, changed since, or of a commit that is lost; not copied when lost is true), "pages",
     * "journal". lost: false for what is worth knowing and lost nothing. */
    void (*finding)(void *ctx, const bson_t *facts);
    void *ctx;
} ash_salvage_options;

typedef struct ash_salvage_report {
    uint64_t collections, files, documents, bytes; /* copied; chunks count as bytes of files only */
    uint64_t rescued;     /* chunks of these files that only a scan of the segments brought back */
    uint64_t lost;        /* all that is told of as lost, a file once: */
    uint64_t lost_files;  /* not copied */
    uint64_t lost_chunks; /* of them, as far as told: damaged or missing */
    uint64_t lost_documents; /* not copied; what is neither: names, options, recent changes */
} ash_salvage_report;

/* ASH_EPARTIAL when something was lost; the new store is then as complete as it can be.  After
 * other errors there is no folder `into`; it is made under its name with ".partial" behind it,
 * which stays only when the process is killed.  ASH_EEXISTS when there is something in `into`; as
 * ash__salvage_open for the source. */
int ash__embedded_salvage(const char *folder, const ash_salvage_options *opts,
                          ash_salvage_report *out, ash_error *err);

/* "2 files (600 chunks damaged or missing), 1 document and 1 other thing"; ash__free.  lost > 0. */
char *ash__salvage_lost_text(const ash_salvage_report *r);

#endif
