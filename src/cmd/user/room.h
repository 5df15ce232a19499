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

/* Which database is said: by --db, or by -d, which is --db where the verb has none.  NULL: none. */
static inline const char *ash__cmd_user_db(const ash_cmd *cmd, const ash_cmd_args *args)
{
    return args->values[ASH_CMD_USER_DB] != NULL ? args->values[ASH_CMD_USER_DB] : cmd->db;
}

/* One run of a verb that is about a user. */
typedef struct ash_user_run {
    ash_cmd *cmd;
    const ash_cmd_args *args;
    ash_users users;
    ash_user_id id;
    char *password; /* forgotten at the end */
} ash_user_run;
typedef int (*ash_user_work)(ash_user_run *r, ash_error *err);
/* With the user that the first word names, in a folder's store (run.c). */
int ash__cmd_user_run(ash_cmd *cmd, ash_store *store, const ash_cmd_args *args, ash_user_work work,
                      ash_error *err);
/* run_WORD, which opens the store and has do_WORD run. */
#define ASH_USER_VERB(word, how)                                                                   \
    static int work_##word(ash_cmd *cmd, ash_store *store, const ash_cmd_args *args,               \
                           ash_error *err)                                                         \
    {                                                                                              \
        return ash__cmd_user_run(cmd, store, args, do_##word, err);                                \
    }                                                                                              \
    static int run_##word(ash_cmd *cmd, const ash_cmd_args *args)                                  \
    {                                                                                              \
        return ash__cmd_with_store(cmd, how, args, work_##word);                                   \
    }

/* A password: typed twice on a terminal, without being shown, or a line of standard input; *out is
 * yours: ash__cmd_forget_password(). */
int ash__cmd_read_password(const ash_cmd *cmd, char **out, ash_error *err);
void ash__cmd_forget_password(char *password); /* NULL is fine */

#endif
