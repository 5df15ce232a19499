/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_SHARE_SHARE_H
#define ASH_SHARE_SHARE_H

/* Links to one file or folder of a tree, for whoever has the link: to read it, or to put new files
 * into it.
 *
 *   v7files.shares  {_id, digest: SHA-256 of the token, root, entry: the _id of what is shared (the
 *                   root's name: all of it), right: "read" or "upload", created, expires (null:
 *                   never), by; of an upload: max_bytes, max_files (0: no bound), used_bytes,
 *                   used_files}
 *
 * The token is told once, and not kept: who reads the store learns no link.  A share follows what is
 * shared wherever it is moved in its tree, and leads nowhere while that is deleted.  What expired is
 * removed by the store's own clock.
 *
 * Made and taken back on disk when the call returns.  Threads: any number.  Common errors are the
 * store's; after any, the shares are as before. */

#include <ashlar/store.h>
#include <ashlar/tree.h>

enum {
    ASH_SHARE_TOKEN_BYTES = 41, /* 40 hexadecimal digits, 160 bits */
    ASH_SHARE_MAX = 10000,
    ASH_SHARE_DEFAULT_MS =
        7 * 24 * 60 * 60 * 1000, /* how long one is good, unless something is said */
    ASH_SHARE_DEFAULT_FILES = 1000
};
#define ASH_SHARE_DEFAULT_BYTES (INT64_C(10) << 30)
#define ASH_SHARE_MAX_BYTES     (INT64_C(1) << 60)
/* What a link is, behind the server's address and before the token. */
#define ASH_SHARE_URL "/.ashlar/share/"

typedef struct ash_shares ash_shares;

typedef struct ash_share {
    bson_oid_t id;
    char *root;
    bson_value_t entry;
    bool upload;                    /* else: read */
    char *by;                       /* who made it; "" when nobody knows */
    int64_t created_ms, expires_ms; /* since 1970; expires 0: never */
    int64_t max_bytes, max_files;   /* that an upload takes in all; 0: any number */
    int64_t used_bytes, used_files; /* that it has taken */
} ash_share;
void ash__share_release(ash_share *s);

/* Makes nothing before the first share.  *out: yours. */
int ash__shares_new(ash_store *store, ash_shares **out, ash_error *err);
void ash__shares_free(ash_shares *s);

/* All but id, created_ms and what is used is the caller's to say.  ASH_EBUSY: there are
 * ASH_SHARE_MAX. */
int ash__share_create(ash_shares *s, ash_share *share, char token[ASH_SHARE_TOKEN_BYTES],
                      ash_error *err);
/* ASH_ENOTFOUND: none of that token, or over.  *out: to be released, on success alone. */
int ash__share_find(ash_shares *s, const char *token, ash_share *out, ash_error *err);
/* What is shared, as it is now.  tree: of the share's root, else, and while that is deleted,
 * ASH_ENOTFOUND.  *out: yours. */
int ash__share_entry(const ash_share *share, ash_tree *tree, ash_tree_entry **out, ash_error *err);
/* By its id (24 digits), or its token.  ASH_ENOTFOUND. */
int ash__share_remove(ash_shares *s, const char *id_or_token, ash_error *err);

/* Counts a file of so many bytes, before it becomes visible.  ASH_ETOOBIG: it would be more than the
 * share takes, or was taken back, and is not counted. */
int ash__share_count(ash_shares *s, const ash_share *share, int64_t bytes, ash_error *err);
/* One that was counted and did not become visible.  A crash in between leaves it counted. */
int ash__share_uncount(ash_shares *s, const ash_share *share, int64_t bytes, ash_error *err);

/* All that are not over, the oldest first; non-zero stops, and is returned. */
typedef int (*ash_share_fn)(void *ctx, const ash_share *share, ash_error *err);
int ash__share_each(ash_shares *s, ash_share_fn fn, void *ctx, ash_error *err);

/* Could it be one? */
bool ash__share_is_token(const char *text);

#endif
