/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_HTTP_DAV_HOLDERS_H
#define ASH_HTTP_DAV_HOLDERS_H

/* Locks as people see them, whoever holds them: WebDAV's clients and programs alike. */

#include "http/dav/dav.h"

typedef struct ash_dav_holder {
    const char *path;
    const bson_value_t *entry;
    bool exclusive, webdav;
    const char *owner; /* as text */
    int64_t since_ms, expires_ms;
} ash_dav_holder;
/* At a path of the tree and below it; for the call. */
int ash__dav_locks_each(ash_dav_locks *l, const char *path,
                        void (*fn)(void *ctx, const ash_dav_holder *holder), void *ctx,
                        ash_error *err);
/* Break what is held on exactly that path; their holders learn ASH_ELOST. */
int ash__dav_locks_break(ash_dav_locks *l, const char *path, int64_t *broken, ash_error *err);

#endif
