/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_MONGO_ADDRESS_H
#define ASH_STORE_MONGO_ADDRESS_H

#include "store/mongo/driver.h"

/* *out: a mongodb:// or mongodb+srv:// URI that the driver can use; the caller destroys it.  NULL with
 * ASH_EINVAL (it does not parse, has an option for TLS or for signing in that there is not, an
 * unescaped '@', or would send a password in the clear), ASH_EACCES (a user without the password
 * that it needs), or what keeps a file of TLS from being read.  No error text has a password. */
int ash__mongo_address(const char *text, mongoc_uri_t **out, ash_error *err);

/* Adds to *err (or NULL), from a first attempt to reach the deployment, what it means to whoever wrote
 * the address; its codes stay. */
void ash__mongo_advise(const mongoc_uri_t *uri, ash_error *err);

#endif
