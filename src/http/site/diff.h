/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_HTTP_SITE_DIFF_H
#define ASH_HTTP_SITE_DIFF_H

/* Two texts, line by line.  Pure, no I/O. */

#include "base/buffer.h"

#include <stdbool.h>
#include <stddef.h>

enum { ASH_DIFF_MAX_BYTES = 1024 * 1024, ASH_DIFF_MAX_LINES = 64 * 1024 };

typedef struct ash_diff_text {
    const char *data;
    size_t len; /* at most ASH_DIFF_MAX_BYTES */
} ash_diff_text;

/* Hunks as of a unified diff, with three lines around each change and without its head; nothing
 * where both are the same.  As few lines as there can be, unless the texts have little in common.
 * Time and memory are bounded.  false: one has more than ASH_DIFF_MAX_LINES. */
bool ash__diff_unified(ash_diff_text a, ash_diff_text b, ash_buffer *out);

#endif
