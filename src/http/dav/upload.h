/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_HTTP_DAV_UPLOAD_H
#define ASH_HTTP_DAV_UPLOAD_H

/* A file that is being written by a request: what PUT and PATCH have in common. */

#include "http/dav/guard.h"

typedef struct ash_dav_upload {
    ash_dav *dav;
    char *path;
    ash_dav_guard guard;
    ash_tree_writer *writer;
    ash_tree_change_options opts;
    bool counted; /* among dav->uploads */
    bool is_new;
} ash_dav_upload;

/* Looks at the place and asks the guard; opens the writer.  false: x is answered.  bytes: how many
 * there will be, -1 when nobody knows.  Released in any case. */
bool ash__dav_upload_open(ash_dav_upload *u, ash_dav *dav, ash_exchange *x, const char *path,
                          int64_t bytes);
/* Makes it visible, and answers. */
void ash__dav_upload_finish(ash_dav_upload *u, ash_exchange *x);
void ash__dav_upload_release(ash_dav_upload *u);

/* The answer to a change that failed: conditions and locks that were met only in the commit are
 * told as if they had been met before. */
void ash__dav_answer_change(ash_exchange *x, const ash_error *err);

#endif
