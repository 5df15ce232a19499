/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BASE_SHARE_H
#define ASH_BASE_SHARE_H

/* Memory for intermediate results, bounded over the whole process.
 *
 * Each sort, group and expression has a limit of its own; many of them at once need one for their
 * sum.  Whoever keeps such a result holds a share, says how large it has become, and gives the
 * share back.  The sum is a quarter of the machine's memory, and at least 512 MiB. */

#include "base/error.h"

#include <stddef.h>

/* All zero: nothing yet.  What is below one step (256 KiB) is not counted.  One thread at a
 * time. */
typedef struct ash_share {
    size_t held;
} ash_share;

/* It is used_bytes large now.  ASH_ENOMEM (146) when the sum is used up: the caller then frees
 * what it has; what: names it in the error. */
int ash__share_grow(ash_share *s, size_t used_bytes, const char *what, ash_error *err);

/* Smaller again, or nothing: gives back what it does not need. */
void ash__share_shrink(ash_share *s, size_t used_bytes);

/* Of the sum; 0 = the default.  For tests, and for processes that know better. */
void ash__share_set_total(size_t total_bytes);
size_t ash__share_used(void);

#endif
