/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_USER_BUILTIN_H
#define ASH_USER_BUILTIN_H

/* The roles that are there without anybody having made them, with MongoDB's privileges. */

#include "user/privilege.h"

/* Some are of each database (read, readWrite, dbAdmin, userAdmin, dbOwner), the others of admin
 * alone. */
bool ash__role_is_builtin(const char *role, const char *db);
/* Adds what it allows; false when it is none. */
bool ash__role_builtin(const char *role, const char *db, ash_privileges *out);
/* The names of those of a database, one after the other; NULL behind the last. */
const char *ash__role_builtin_name(const char *db, size_t index);

#endif
