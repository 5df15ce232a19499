/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_CMD_KIT_PENDING_H
#define ASH_CMD_KIT_PENDING_H

#include "cmd/kit/preserve.h"

/* Tokens of uploads that `put --resume` began, so that the same command typed again goes on.
 *
 * Each is a small file in ${XDG_STATE_HOME:-~/.local/state}/ashlar/uploads, whose name is a hash of
 * everything that makes it the same upload: the store, the database, the bucket, the name, the
 * options, and the local file's path, size and time of change.  A local file that was written to
 * since is another upload.  They lie on the client's side because the store's side (a document that
 * expires by itself) is found by the token alone.  Files of tokens that nobody came back to are
 * removed after a week. */

typedef struct ash_pending ash_pending;

/* settings: the other options of the upload, as one text.  The token's file is locked until
 * ash__pending_free(), so that one process at a time works on an upload: ASH_ELOCKED.  cmd lives as
 * long. */
int ash__pending_open(const ash_cmd *cmd, const ash_local_file *local, const char *settings,
                      ash_pending **out, ash_error *err);
/* Is there a token of an earlier run? */
bool ash__pending_known(const ash_pending *p);
/* The upload of an earlier run, if its token is there and good still; else *out stays NULL.  fd:
 * the local file, set to the first byte that is to come.  Says where it goes on, or that the
 * earlier upload is gone. */
int ash__pending_reopen(ash_pending *p, ash_bucket *bucket, int fd, ash_progress *progress,
                        ash_upload **out, ash_error *err);
int ash__pending_save(ash_pending *p, const char *token, ash_error *err);
/* There is nothing to come back to. */
void ash__pending_forget(ash_pending *p);
void ash__pending_free(ash_pending *p); /* NULL is fine */

#endif
