/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_CMD_USER_ROOM_H
#define ASH_CMD_USER_ROOM_H

/* What the verbs of `ashlar user` share. */

#include "cmd/kit/cmd.h"
#include "user/users.h"

/* Each table of options begins with it, so that it may stand before the word. */
enum { ASH_CMD_USER_DB, ASH_CMD_USER_FIRST_OPTION };
#define ASH_CMD_USER_OPTIONS                                                                       \
    [ASH_CMD_USER_DB] = {0, "db", "DATABASE",                                                      \
                         "that the user belongs to, and signs in at (default "                     \
                         "admin)"}

#define ASH_CMD_USER_VERBS(X)                                                                      \
    X(add)                                                                                         \
    X(ls)                                                                                          \
    X(rm)                                                                                          \
    X(passwd)                                                                                      \
    X(limit)                                                                                       \
    X(grant)                                                                                       \
    X(revoke)                                                                                      \
    X(token)

#define X(name) extern const ash_cmd_verb ash__cmd_user_##name;
ASH_CMD_USER_VERBS(X)
#undef X

/* A password: typed twice on a terminal, without being shown, or a line of standard input; *out is
 * yours: ash__cmd_forget_password(). */
int ash__cmd_read_password(const ash_cmd *cmd, char **out, ash_error *err);
void ash__cmd_forget_password(char *password); /* NULL is fine */

#endif
