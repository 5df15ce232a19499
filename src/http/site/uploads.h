/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_HTTP_SITE_UPLOADS_H
#define ASH_HTTP_SITE_UPLOADS_H

/* Uploads that go on where they stopped, as tus 1.0.0 has them: kept as documents until all bytes
 * are there, and then put into their tree in one commit.
 *
 *   v7files.uploads        {_id: token, mount, path, length, offset, type, modified, if_absent,
 *                          if_version, metadata, by, created, expires, done}
 *   v7files.uploads.parts  {_id, upload: token, start, data, expires}
 *
 * An offset that was told is on disk, and so is every byte before it; one that is the length says
 * that the file is there. */

#include "http/site/state.h"

#define ASH_UPLOADS_URL      ASH_SITE_RESERVED "/uploads"
#define ASH_UPLOAD_MAX_BYTES (INT64_C(16) << 40) /* as trees have it */

enum {
    ASH_UPLOAD_TOKEN_BYTES = 33,
    ASH_UPLOAD_PART_BYTES = 1024 * 1024,
    ASH_UPLOAD_DAYS = 7,
    ASH_UPLOADS_MAX = 1000,
    ASH_UPLOADS_OF_ONE = 250, /* of one user */
    ASH_UPLOADS_AT_ONCE = 64  /* whose bytes come now: each holds a part in memory */
};

typedef struct ash_site_upload {
    char token[ASH_UPLOAD_TOKEN_BYTES];
    char *mount, *path, *type; /* type: "" where nothing was said */
    char *metadata;            /* the field as it came */
    char *by;                  /* "DATABASE.NAME" of its user; "": anybody's, nobody was asked */
    int64_t length, offset;
    int64_t modified_ms, expires_ms;
    int32_t if_version; /* of the file that it is for; 0: any */
    bool if_absent, done;
} ash_site_upload;
void ash__site_upload_release(ash_site_upload *u);

int ash__site_uploads_new(ash_site *site, ash_error *err);
void ash__site_uploads_free(ash_site *site);

/* ---- uploads_bytes.c ---- */

/* What the tree is shown as; NULL: not any more. */
const ash_site_mount *ash__site_upload_mount(const ash_site *s, const ash_site_upload *u);
/* Upload-Expires. */
void ash__site_upload_answer_expiry(ash_exchange *x, const ash_site_upload *u);
/* x's body is bytes for u, which is taken over; is_new: a POST.  false: x is answered, and u is as it
 * was. */
bool ash__site_upload_begin(ash_site *s, ash_exchange *x, ash_site_upload *u, bool is_new);

/* ---- uploads_store.c ---- */

/* One more whose bytes come; false: there are enough.  Counted out when it ends. */
bool ash__site_upload_enter(ash_site_uploads *s);
void ash__site_upload_leave(ash_site_uploads *s);

/* Gives it a token.  ASH_EBUSY: there are ASH_UPLOADS_MAX, or the user has
 * ASH_UPLOADS_OF_ONE. */
int ash__site_upload_create(ash_site_uploads *s, ash_site_upload *u, ash_error *err);
/* ASH_ENOTFOUND: none of that token, or over. */
int ash__site_upload_find(ash_site_uploads *s, const char *token, ash_site_upload *u,
                          ash_error *err);
/* At u->offset, which grows.  ASH_ECONFLICT: somebody else's bytes came first. */
int ash__site_upload_append(ash_site_uploads *s, ash_site_upload *u, const void *data, size_t len,
                            ash_error *err);
/* All that is before u->offset, into a writer. */
int ash__site_upload_copy(ash_site_uploads *s, const ash_site_upload *u, ash_tree_writer *w,
                          ash_error *err);
/* In one commit: w, which is sealed and has all bytes, becomes the file, and the upload is done, which
 * stays known until it expires.  ASH_ECONFLICT: somebody else's bytes came first.  who (or NULL): who asks.  *entry: yours. */
int ash__site_upload_finish(ash_site_uploads *s, ash_site_upload *u, ash_tree_writer *w,
                            const ash_op *who, ash_tree_entry **entry, ash_error *err);
/* Forgets it, and its bytes. */
int ash__site_upload_end(ash_site_uploads *s, const ash_site_upload *u, ash_error *err);

#endif
