/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_USER_ORIGIN_H
#define ASH_USER_ORIGIN_H

/* From where users may sign in: MongoDB's authenticationRestrictions, a field of the user's document:
 *
 *   [{clientSource: ["192.0.2.0/24", "::1"], serverAddress: ["127.0.0.1"]}, …]
 *
 * One of the documents must fit, each with all that it names: the client's address in clientSource,
 * the address that it reached in serverAddress.  None, or an empty array, is no restriction.  Who
 * comes without an IP address, by a Unix socket, fits nothing. */

#include "base/error.h"
#include "bson/value.h"

#include <stdbool.h>

/* Is the array one of these?  ASH_EINVAL (2, 9). */
int ash__origins_check(ash_doc restrictions, ash_error *err);
/* May who the document is of sign in so?  remote, local: "192.0.2.1:4711", "[::1]:27017", or
 * anything else.  What cannot be understood in the document lets nobody in. */
bool ash__origins_admit(ash_doc user, const char *remote, const char *local);

#endif
