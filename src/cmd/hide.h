/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_CMD_HIDE_H
#define ASH_CMD_HIDE_H

#include <stdbool.h>

/* Overwrites passwords and tokens in argv's texts, and has argv's pointers lead to copies, which
 * stay until the process ends.  mongofiles: called under that name, whose -p is a password; so it
 * is after the verb gridfs.  Until this was called, the secret could be seen. */
void ash__cmd_hide_secrets(int argc, char **argv, bool mongofiles);

#endif
