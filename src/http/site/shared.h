/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_HTTP_SITE_SHARED_H
#define ASH_HTTP_SITE_SHARED_H

/* What a link leads to, for whoever has it.
 *
 * Nothing outside of what is shared is read, changed or told of: not its path, not what it is called
 * above, no version but the newest.  Who asks is the tree's own reader as far as the store can see;
 * what keeps him in is that a path is put together here, of names without "..", behind the place
 * where what is shared lies at that moment. */

#include "http/site/state.h"

typedef struct ash_shared {
    const ash_site_mount *mount;
    ash_share share;
    ash_tree_entry *top; /* what is shared */
    const char *below;   /* the URL's path behind the token, "" or "/a/b"; borrowed */
    char *path;          /* of that in the tree */
} ash_shared;

/* rest: "/TOKEN", "/TOKEN/a/b".  ASH_ENOTFOUND: no such link, it is over, or what it leads to is
 * deleted or not shown.  Released in any case. */
int ash__shared_find(ash_site *site, const char *rest, ash_shared *out, ash_error *err);
void ash__shared_release(ash_shared *s);
/* Does what is shared lie where it did?  Asked when something was opened by its path: if not, that may
 * be another's. */
bool ash__shared_stays(const ash_shared *s);

/* 404, in the same words for all that is not there. */
void ash__shared_answer_missing(ash_exchange *x);
/* Any other failure, without what only the owner should see.  x may be answered. */
void ash__shared_answer_failure(ash_exchange *x, int status);
/* Fields that go with every answer. */
void ash__shared_fields(ash_exchange *x);

/* ---- pages that need no script (shared_page.c) ---- */

/* A folder. */
void ash__shared_page(const ash_shared *s, ash_exchange *x);
/* A form for new files.  said: HTML of what came, or "". */
void ash__shared_form(ash_exchange *x, int status, const char *said);

/* ---- names of new files (shared_names.c) ---- */

/* Names of files whose bytes come now, so that of two of one name neither is in vain. */
typedef struct ash_site_names ash_site_names;
ash_site_names *ash__site_names_new(void);
void ash__site_names_free(ash_site_names *n);
/* Where a file of that name can be in the folder: a path that nothing has and that nobody else was
 * given, with a number where the name is taken.  It is the caller's, and other's again with
 * ash__site_name_leave(), which frees it.  ASH_EINVAL: no file can be called so. */
int ash__site_name_take(ash_site_names *n, const ash_shared *s, const char *name, char **path,
                        ash_error *err);
void ash__site_name_leave(ash_site_names *n, char *path);

/* ---- new files (shared_upload.c) ---- */
/* A request with a link to put new files into the folder.  s is taken over. */
void ash__shared_upload(ash_site *site, ash_shared *s, ash_exchange *x);

#endif
