/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_CRASH_WEB_DOOR_H
#define ASH_TESTS_CRASH_WEB_DOOR_H

/* A tree through its door of HTTP, as clients of WebDAV and tus use it, one request after the other. */

#include <ashlar/tree.h>

#include "base/buffer.h"
#include "http/site/site.h"

/* The root's tree at "/", and somebody else's at "/beside". */
int web_door_open(ash_store *store, const char *root, ash_site **out, ash_error *err);

typedef struct web_request {
    const char *line;   /* "PUT /a" */
    const char *fields; /* "Name: value\n" …, or NULL */
    const void *body;   /* or NULL */
    size_t len;
} web_request;
/* Its status.  out: gets the answer's body, or NULL. */
int web_ask(ash_site *site, const web_request *r, ash_buffer *out);
bool web_is_acknowledged(int status);

/* Created, sent in two parts, complete with the second: the status of the last answer. */
int web_upload(ash_site *site, const char *path, const void *data, size_t len);

/* "If: (<TOKEN>)\n" or ("Lock-Token") "Lock-Token: <TOKEN>\n" of what locks the path; "": it is not
 * locked; NULL: the question was refused with the status.  The caller frees. */
char *web_key(ash_site *site, const char *path, const char *field, int *status);
/* Exclusive, and for an hour.  A grant of a LOCK that nobody was told of is over after some seconds,
 * which are waited for. */
int web_lock(ash_site *site, const char *path);
int web_unlock(ash_site *site, const char *path);

/* What tree_portrait() tells, and who holds what of the paths. */
int web_portrait(ash_site *site, ash_tree *tree, const char *const *paths, ash_buffer *out,
                 ash_error *err);

#endif
