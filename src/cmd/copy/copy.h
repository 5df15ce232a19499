/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_CMD_COPY_COPY_H
#define ASH_CMD_COPY_COPY_H

#include "cmd/kit/cmd.h"

#define ASH_SHA256_TEXT_BYTES 65 /* 64 hex digits and NUL */

/* From where to where files go. */
typedef struct ash_copy_route {
    ash_bucket *from;
    ash_bucket *to;         /* NULL in a dry run whose target is yet to be made */
    ash_progress *progress; /* or NULL */
} ash_copy_route;

/* One file from one bucket to another, with its id, its files document as it is, its digest and its
 * expiry.  The files document becomes visible after all chunks, in one commit with what is known
 * beside it.  The bytes' SHA-256 is compared with the source's when that is known, and kept.
 * replaced: the target's file of that id, read with its attributes, which goes in the same commit;
 * or NULL.  ASH_EEXISTS: the target has a file of that id.  After a failure the target is as it
 * was, and the chunks are deleted.  sha256: ASH_SHA256_TEXT_BYTES, empty when it is not known. */
int ash__copy_file(const ash_copy_route *route, const bson_value_t *id, const ash_file *replaced,
                   char *sha256, ash_error *err);

/* Of two files of one id: are they, as far as their files documents tell, of the same bytes? */
bool ash__copy_same_bytes(const ash_file *a, const ash_file *b);
/* *out: are the file's chunks there?  Its document comes last, so they are, but for what went wrong
 * since. */
int ash__copy_has_chunks(ash_bucket *b, const ash_file *file, bool *out, ash_error *err);

/* Replace the files document of a file whose bytes are the same. */
int ash__copy_document(ash_bucket *to, const ash_file *from, ash_error *err);

/* ASH_EXIT_USAGE, said, when source and target are one store or the target lies in the source. */
int ash__copy_check_target(const ash_cmd *from, const ash_cmd *to);

#endif
