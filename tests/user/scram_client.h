/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_USER_SCRAM_CLIENT_H
#define ASH_TESTS_USER_SCRAM_CLIENT_H

/* A client's half of SCRAM, which can be told to say wrong things. */

#include "user/scram.h"

/* The credential of a password as the RFCs have it, without MongoDB's digest. */
void scram_credential_of(ash_scram_mechanism mechanism, const char *password, const char *salt,
                         ash_scram_credential *out);
/* "c=BINDING,r=NONCE,p=PROOF" for a challenged exchange; yours. */
char *scram_final_message(const ash_scram *s, const char *binding, const char *nonce,
                          const char *password);

#endif
