/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_CMD_KIT_VERBS_H
#define ASH_CMD_KIT_VERBS_H

#include "cmd/kit/cmd.h"

/* The verbs, in the order of the help. */
#define ASH_CMD_VERBS(X)                                                                           \
    X(put)                                                                                         \
    X(get)                                                                                         \
    X(cat)                                                                                         \
    X(ls)                                                                                          \
    X(stat)                                                                                        \
    X(find)                                                                                        \
    X(mv)                                                                                          \
    X(rm)                                                                                          \
    X(sum)                                                                                         \
    X(gridfs)                                                                                      \
    X(tree)                                                                                        \
    X(share)                                                                                       \
    X(object)                                                                                      \
    X(init)                                                                                        \
    X(check)                                                                                       \
    X(sweep)                                                                                       \
    X(backup)                                                                                      \
    X(copy)                                                                                        \
    X(df)                                                                                          \
    X(lock)                                                                                        \
    X(locks)                                                                                       \
    X(serve)                                                                                       \
    X(user)                                                                                        \
    X(completion)                                                                                  \
    X(version)                                                                                     \
    X(help)

#define X(name) extern const ash_cmd_verb ash__cmd_##name;
ASH_CMD_VERBS(X)
#undef X

int ash__cmd_print_man(void); /* man.c: in troff; an exit code */

#endif
