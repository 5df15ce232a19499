/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_CMD_STORE_SERVING_H
#define ASH_CMD_STORE_SERVING_H

/* What the command line, sockets that were given, and the settings file say together: each comes
 * before the next. */

#include "cmd/store/faces.h"

typedef struct ash_choices {
    const ash_cmd *cmd;
    const ash_cmd_args *args;
    const char *path;   /* of the file; NULL: there is none */
    ash_settings file;  /* as it was at the start */
    ash_settings again; /* as it was read last, if it was: for what may change */
    bool is_again;
    char *given[ASH_FACES]; /* addresses of given sockets; NULL: none */
} ash_choices;

/* Checks the command line and reads the file (path may be NULL).  ASH_EXIT_USAGE when something is
 * wrong: of the file all of it is told.  args is borrowed; release in any case. */
int ash__choices_make(const ash_cmd *cmd, const ash_cmd_args *args, const char *path,
                      ash_choices *out);
void ash__choices_release(ash_choices *c);
void ash__choices_print_errors(const ash_choices *c); /* of the file, as mistakes of the command */
/* One more mistake of the file's, which shows only with all else; text is taken over. */
void ash__choices_complain(ash_choices *c, char *text);
/* For --check-config, which says it on standard output. */
int ash__choices_report(const ash_choices *c, int status);

/* As args->values has it; NULL: not said. */
const char *ash__choice(const ash_choices *c, ash_setting key);
/* Of a number or a time; 0: not said. */
int64_t ash__choice_amount(const ash_choices *c, ash_setting key);
ash_log_level ash__choice_log_level(const ash_choices *c);
/* out borrows from c. */
int ash__serving_make(const ash_choices *c, ash_serving *out);

/* Reads the file again, and says in the log what has changed and what would take a restart.  false:
 * it is bad, and everything stays as it was.  The caller makes use of what is live. */
bool ash__choices_again(ash_choices *c);

#endif
