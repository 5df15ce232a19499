/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_USER_TOKENS_H
#define ASH_USER_TOKENS_H

/* Tokens: what programs show instead of a user's password.
 *
 *   ashlar_ID SECRET    in one word: "ashlar_", 16 hexadecimal digits of an id, 64 of a secret
 *
 *   admin.system.tokens  {_id: ID, digest: SHA-256 of the secret, userId: UUID, user, db, created,
 *                         expires (null: never), readOnly, path?, used?}
 *
 * A token is told once, and not kept: who reads the store learns none.  Its beginning is for those
 * who look for secrets in logs and sources.  It is a user's, not a name's: whoever comes after the
 * user with the same name does not have it.  It can be made narrower than its user: to read alone,
 * or for what lies at a path of the trees and below it.  What expired is removed by the store's own
 * clock.
 *
 * Made and taken back on disk when the call returns.  Any thread. */

#include "user/users.h"

enum {
    ASH_TOKEN_ID_BYTES = 17,   /* with its NUL */
    ASH_TOKEN_TEXT_BYTES = 88, /* likewise */
    ASH_TOKENS_MAX = 100,      /* of a user */
    ASH_TOKEN_PATH_BYTES = 1024
};
#define ASH_TOKEN_PREFIX     "ashlar_"
#define ASH_TOKEN_DEFAULT_MS (INT64_C(90) * 24 * 60 * 60 * 1000)
/* When it was used last is kept so coarsely, since it is a write. */
#define ASH_TOKEN_USED_MS (INT64_C(60) * 60 * 1000)

typedef struct ash_token {
    char id[ASH_TOKEN_ID_BYTES];
    uint8_t user_id[16];
    char *user, *db;
    int64_t created_ms, expires_ms, used_ms; /* since 1970; expires 0: never; used 0: not yet */
    bool read_only;
    char *path;     /* "/a/b"; NULL: everything */
    bool is_orphan; /* its user is gone, and it lets nobody in: ash__token_each() says so */
} ash_token;
void ash__token_release(ash_token *t);

/* user, db, expires_ms, read_only and path are said; all else is set.  ASH_ENOTFOUND (11): no such
 * user; ASH_EBUSY: it has ASH_TOKENS_MAX; ASH_EINVAL: the path is none, or the end is past. */
int ash__token_create(ash_users *u, ash_token *t, char text[ASH_TOKEN_TEXT_BYTES], ash_error *err);
/* Who shows it?  ASH_ENOTFOUND, by one text: there is none, or it is over.  *out: to be released, on
 * success alone.  That the user is still there is the caller's to ask. */
int ash__token_find(ash_users *u, const char *text, ash_token *out, ash_error *err);
/* Is the token of that id still good?  Who cannot tell says no. */
bool ash__token_lasts(ash_users *u, const char *id);
/* Keeps that it was used now, if that was not kept lately. */
int ash__token_use(ash_users *u, const ash_token *t, ash_error *err);
/* id: who is known by it, of any user where user is NULL.  ASH_ENOTFOUND. */
int ash__token_remove(ash_users *u, const char *id, const char *user, const char *db,
                      ash_error *err);
/* Of a user (NULL: all), the oldest first; non-zero stops, and is returned. */
typedef int (*ash_token_fn)(void *ctx, const ash_token *t, ash_error *err);
int ash__token_each(ash_users *u, const char *user, const char *db, ash_token_fn fn, void *ctx,
                    ash_error *err);

#endif
