/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_USER_SCRAM_H
#define ASH_USER_SCRAM_H

/* SCRAM, the server's side (RFC 5802, RFC 7677), as MongoDB uses it: messages in, messages out.
 *
 *   client-first   n,,n=NAME,r=NONCE                    ash__scram_begin()
 *   server-first   r=NONCE+OURS,s=SALT,i=ITERATIONS     ash__scram_challenge()
 *   client-final   c=biws,r=NONCE+OURS,p=PROOF          ash__scram_finish()
 *   server-final   v=SIGNATURE
 *
 * Nothing here looks anybody up: between the first two steps the caller gives the credential of the
 * user that was named, or one that nobody's password fits.  An exchange is good for one attempt.
 * There is no channel binding: a client that asks for one ("p=") is refused, and one that would
 * have ("y") may come in.
 *
 * Errors: ASH_EINVAL for a message that is none of these, ASH_EACCES for a wrong proof.  Which of
 * the two it was is for the log; clients are told AuthenticationFailed either way.  One thread at a
 * time. */

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ash_scram_mechanism { ASH_SCRAM_SHA_1, ASH_SCRAM_SHA_256 } ash_scram_mechanism;
enum {
    ASH_SCRAM_MECHANISMS = 2,
    ASH_SCRAM_KEY_BYTES = 32,   /* room for the longer of the two digests */
    ASH_SCRAM_SALT_BYTES = 28,  /* MongoDB's: 16 with SHA-1, 28 with SHA-256 */
    ASH_SCRAM_NONCE_BYTES = 24, /* of the server's part, before base64 */
    ASH_SCRAM_MESSAGE_BYTES = 4096,
    ASH_SCRAM_MIN_ITERATIONS = 4096, /* fewer are refused, as RFC 7677 wants */
    ASH_SCRAM_MAX_ITERATIONS = 10000000
};

const char *ash__scram_name(ash_scram_mechanism mechanism); /* "SCRAM-SHA-256" */
bool ash__scram_from_name(const char *name, ash_scram_mechanism *out);
size_t ash__scram_key_bytes(ash_scram_mechanism mechanism);   /* 20, 32 */
size_t ash__scram_salt_bytes(ash_scram_mechanism mechanism);  /* 16, 28 */
int32_t ash__scram_iterations(ash_scram_mechanism mechanism); /* of new credentials, as MongoDB */

/* What is kept instead of a password. */
typedef struct ash_scram_credential {
    int32_t iterations;
    uint8_t salt[64];
    size_t salt_len;
    uint8_t stored_key[ASH_SCRAM_KEY_BYTES];
    uint8_t server_key[ASH_SCRAM_KEY_BYTES];
} ash_scram_credential;

/* Of a user's password, with salt and iterations of out set before.  With SHA-256 the password is
 * prepared by SASLprep (user/prepare.h) first: ASH_EINVAL when that forbids it; with SHA-1 it is
 * MongoDB's digest of name and password: ASH_EUNSUPPORTED where the system forbids MD5. */
int ash__scram_credential_make(ash_scram_mechanism mechanism, const char *user,
                               const char *password, ash_scram_credential *out, ash_error *err);
/* What someone who is not there would have: the same salt each time, and keys of no password.
 * secret: the store's own. */
void ash__scram_credential_fake(ash_scram_mechanism mechanism, const uint8_t secret[32],
                                const char *user, const char *db, ash_scram_credential *out);

typedef struct ash_scram {
    ash_scram_mechanism mechanism;
    int step;   /* 0: nothing yet, 1: begun, 2: challenged, 3: over */
    char gs2;   /* 'n' or 'y' */
    char *user; /* owned, as is what follows */
    char *client_nonce;
    char *client_first; /* bare */
    char *server_first;
    char *nonce; /* of both */
    ash_scram_credential credential;
} ash_scram;

void ash__scram_init(ash_scram *s, ash_scram_mechanism mechanism);
void ash__scram_release(ash_scram *s); /* wipes the keys; s is as initialised, but over */

/* s->user is set afterwards. */
int ash__scram_begin(ash_scram *s, const void *message, size_t len, ash_error *err);
/* random: the server's part of the nonce, new for each exchange.  The answer is s->server_first. */
void ash__scram_challenge(ash_scram *s, const ash_scram_credential *credential,
                          const uint8_t random[ASH_SCRAM_NONCE_BYTES]);
/* 0: it is the user.  *answer is yours: ash__free(). */
int ash__scram_finish(ash_scram *s, const void *message, size_t len, char **answer, ash_error *err);

#endif
