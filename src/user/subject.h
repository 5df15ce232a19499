/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_USER_SUBJECT_H
#define ASH_USER_SUBJECT_H

/* The subject of a certificate as the name of a user, in RFC 2253's spelling and no other, the one
 * that `openssl x509 -noout -subject -nameopt RFC2253` prints: "CN=ann,OU=devices,O=Example".  Names
 * are compared byte by byte, so one that was spelled otherwise would never sign in. */

#include "base/error.h"

/* ASH_EINVAL, with what is wrong. */
int ash__subject_check(const char *name, ash_error *err);

#endif
