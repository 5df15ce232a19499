/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_HTTP_DAV_CHAIN_H
#define ASH_HTTP_DAV_CHAIN_H

/* The entries that lead to a path: the root, folder by folder, and what is there. */

#include <ashlar/tree.h>

enum { ASH_DAV_CHAIN_MAX = 32 };

typedef struct ash_dav_chain {
    bson_value_t ids[ASH_DAV_CHAIN_MAX];
    size_t count;
} ash_dav_chain;

/* As far as the path is there.  false: it has more than ASH_DAV_CHAIN_MAX entries, or cannot be
 * read, so that nobody knows.  Released in any case. */
bool ash__dav_chain_read(ash_tree *tree, const char *path, ash_dav_chain *out);
bool ash__dav_chain_has(const ash_dav_chain *chain, const bson_value_t *id);
void ash__dav_chain_release(ash_dav_chain *chain);

#endif
