/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_CMD_SUGGEST_H
#define ASH_CMD_SUGGEST_H

#include "cmd/kit/cmd.h"

/* "Did you mean …?": the known word that is fewest typing errors away. */

/* What a mistyped verb or long option most likely was; NULL: nothing is near enough.  own: the
 * verb's options beside the global ones, or NULL. */
const char *ash__suggest_verb(const char *typed);
/* Of a verb's own verbs, or what it says of words that others use. */
const char *ash__suggest_own_verb(const ash_cmd_verb *verb, const char *typed);
const char *ash__suggest_option(const ash_cmd_option *own, const char *typed, size_t len);
/* What does here what the letter does in the command that the verb is named after; or NULL. */
const char *ash__suggest_letter(const ash_cmd_verb *verb, char letter);

#endif
