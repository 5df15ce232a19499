/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_HTTP_DAV_UPLOAD_H
#define ASH_HTTP_DAV_UPLOAD_H

/* A file that is being written by a request: what PUT and PATCH have in common.
 *
 * A tree's writer has in memory what came of a file, up to one piece of it (32 MiB), for as long as
 * its client takes.  So each upload counts what it may come to, and one that would be too much is
 * answered 503 before its body; small ones never are. */

#include "http/dav/guard.h"

enum {
    ASH_DAV_PIECE_BYTES = 32 * 1024 * 1024,
    ASH_DAV_SMALL_BYTES = 64 * 1024,
    ASH_DAV_UPLOADS_BYTES = 256 * 1024 * 1024 /* of all together, the small ones left out */
};

typedef struct ash_dav_upload {
    ash_dav *dav;
    char *path;
    ash_dav_guard guard;
    ash_tree_change_options opts; /* by the request's fields; may be changed up to begin */
    ash_tree_writer *writer;
    int64_t counted; /* of dav->upload_bytes */
} ash_dav_upload;

/* Looks at the place, and asks the guard.  false: x is answered.  Released in any case. */
bool ash__dav_upload_look(ash_dav_upload *u, ash_dav *dav, ash_exchange *x, const char *path);
/* Opens the writer.  false: x is answered.  bytes: how many there will be, -1 when nobody knows. */
bool ash__dav_upload_begin(ash_dav_upload *u, ash_exchange *x, int64_t bytes);
/* Makes it visible, and answers. */
void ash__dav_upload_finish(ash_dav_upload *u, ash_exchange *x);
void ash__dav_upload_release(ash_dav_upload *u);

/* The answer to a change that failed: conditions and locks that were met only in the commit are
 * told as if they had been met before. */
void ash__dav_answer_change(ash_exchange *x, const ash_error *err);
/* Do quotas leave room for a file of so many bytes (< 0: nobody knows)?  As of now, and only so that
 * nobody sends them in vain.  there: what it would replace, or NULL.  false: x is answered. */
bool ash__dav_check_room(ash_dav *dav, ash_exchange *x, const char *path,
                         const ash_tree_entry *there, int64_t bytes);

#endif
