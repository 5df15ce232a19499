/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_HTTP_SITE_ROWS_H
#define ASH_HTTP_SITE_ROWS_H

/* The entries of a folder that one page shows, in one of several orders, folders first. */

#include "base/buffer.h"

#include <ashlar/tree.h>

enum { ASH_ROWS_ON_PAGE = 1000 };

typedef struct ash_rows {
    char sort; /* 'n'ame, 's'ize, 'd'ate */
    bool descending;
    ash_tree_entry **entries; /* in order */
    size_t count;
    bool more;       /* there are others behind the last one */
    int64_t damaged; /* that could not be read */
} ash_rows;

/* sort and descending are given.  after: what ash__rows_place() said of the last entry of the page
 * before, or NULL.  The folder is read as a whole, memory is that of one page.  Release in any
 * case. */
int ash__rows_read(ash_rows *r, ash_tree *tree, const ash_op *op, const char *path,
                   const char *after, ash_error *err);
void ash__rows_release(ash_rows *r);

/* Where the last entry stands in the order; not for the eye. */
void ash__rows_place(const ash_rows *r, ash_buffer *out);

#endif
