/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_CMD_KIT_NEAREST_H
#define ASH_CMD_KIT_NEAREST_H

/* Which of some known words was mistyped: the one that is fewest typing errors away.
 *
 *   ash_nearest n = ash__nearest_to(typed, strlen(typed));
 *   for (…) ash__nearest_try(&n, word);
 *   n.best                                  NULL: nothing is near enough */

#include <stddef.h>

typedef struct ash_nearest {
    const char *typed; /* borrowed, as best is */
    size_t len;
    const char *best;
    size_t distance; /* of best; before there is one: one more than is near enough */
} ash_nearest;

ash_nearest ash__nearest_to(const char *typed, size_t len);
void ash__nearest_try(ash_nearest *n, const char *word);

#endif
