/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_HTTP_DAV_H
#define ASH_HTTP_DAV_H

/* A tree by WebDAV (RFC 4918, classes 1, 2 and 3): files and folders as HTTP resources.
 *
 * One ash_dav serves one root at one place of the URL space. */

#include "http/exchange.h"

#include <ashlar/tree.h>

#define ASH_DAV_ALLOW                                                                              \
    "OPTIONS, GET, HEAD, PUT, PATCH, DELETE, MKCOL, COPY, MOVE, PROPFIND, PROPPATCH, LOCK, "       \
    "UNLOCK, "                                                                                     \
    "REPORT"
#define ASH_DAV_PATCH_TYPE "application/x-sabredav-partialupdate"

enum { ASH_DAV_GOOD = 2048 };

typedef struct ash_dav ash_dav;
typedef struct ash_dav_locks ash_dav_locks; /* locks.h */
struct ash_kept_files;                      /* kept.h */

struct ash_dav {
    ash_store *store;
    ash_tree *tree;
    char *prefix;         /* "" or "/docs": what hrefs begin with */
    ash_dav_locks *locks; /* of the tree's collection */
    struct ash_kept_files *kept;
    /* Of contents that were read whole and gave their digests: its first 64 bits (bytes.c). */
    _Atomic uint64_t good[ASH_DAV_GOOD];
    _Atomic int64_t upload_bytes; /* that uploads of now may hold in memory (upload.h) */
};

/* prefix: copied.  tree: of store, and both must outlive *out; the locks are made here. */
int ash__dav_new(ash_store *store, ash_tree *tree, const char *prefix, ash_dav **out,
                 ash_error *err);
void ash__dav_free(ash_dav *dav);

/* Answer a request for a path in the tree ("/a/b"), whatever its method: RFC 4918's, and PATCH. */
void ash__dav_begin(ash_dav *dav, ash_exchange *x, const char *path);

/* ---- the methods; each in a file of its own.  path: in the tree ---- */

void ash__dav_options(ash_dav *dav, ash_exchange *x, const char *path);
void ash__dav_get(ash_dav *dav, ash_exchange *x, const char *path); /* HEAD, too */
void ash__dav_put(ash_dav *dav, ash_exchange *x, const char *path);
void ash__dav_patch(ash_dav *dav, ash_exchange *x, const char *path);
/* A PATCH that asks for a file's digest of the kind called so. */
void ash__dav_recalculate(ash_dav *dav, ash_exchange *x, const char *path, const char *name);
void ash__dav_mkcol(ash_dav *dav, ash_exchange *x, const char *path);
void ash__dav_delete(ash_dav *dav, ash_exchange *x, const char *path);
void ash__dav_copy(ash_dav *dav, ash_exchange *x, const char *path); /* MOVE, too */
void ash__dav_propfind(ash_dav *dav, ash_exchange *x, const char *path);
void ash__dav_proppatch(ash_dav *dav, ash_exchange *x, const char *path);
void ash__dav_lock(ash_dav *dav, ash_exchange *x, const char *path);
void ash__dav_report(ash_dav *dav, ash_exchange *x, const char *path);
void ash__dav_unlock(ash_dav *dav, ash_exchange *x, const char *path);

#endif
