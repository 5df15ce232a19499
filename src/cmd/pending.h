/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_CMD_PENDING_H
#define ASH_CMD_PENDING_H

#include <sys/stat.h>

#include "cmd/cmd.h"

/* Tokens of uploads that `put --resume` began, so that the same command typed again goes on.
 *
 * Each is a small file in ${XDG_STATE_HOME:-~/.local/state}/ashlar/uploads, whose name is a hash of
 * everything that makes it the same upload: the store, the database, the bucket, the name, the
 * options, and the local file's path, size and time of change.  A local file that was written to
 * since is another upload.  They lie on the client's side because the store's side (a document that
 * expires by itself) is found by the token alone.  Files of tokens that nobody came back to are
 * removed after a week. */

/* Where the token of this upload is kept; the caller frees.  settings: the other options, as one
 * text.  NULL with err filled when the place cannot be made. */
char *ash__pending_path(const ash_cmd *cmd, const char *name, const char *settings,
                        const char *local, const struct stat *st, ash_error *err);
/* The upload of an earlier run, if its token is there and good still; else *out stays NULL.  fd:
 * the local file, set to the first byte that is to come.  Says where it goes on, or that the
 * earlier upload is gone. */
int ash__pending_reopen(const char *path, const ash_cmd *cmd, ash_bucket *bucket, int fd,
                        ash_progress *progress, ash_upload **out, ash_error *err);
int ash__pending_save(const char *path, const char *token, ash_error *err);
void ash__pending_forget(const char *path);

#endif
