/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_HTTP_SITE_API_H
#define ASH_HTTP_SITE_API_H

/* The tree's JSON API, below /.ashlar/tree/: what the page does, and scripts may. */

#include "http/json.h"
#include "http/site/state.h"

typedef struct ash_api_call {
    ash_site *site;
    ash_exchange *x;
    const bson_t *body; /* of a POST; else NULL */
    ash_buffer out;     /* the answer, when there is no other yet */

    /* Of the parameter `path`. */
    const ash_site_mount *mount;
    char *url_path;
    const char *path; /* in the tree */
} ash_api_call;

typedef struct ash_api_verb {
    const char *name;
    bool is_post;
    bool needs_path;
    void (*run)(ash_api_call *c);
    ash_site_need need;
    bool reaches; /* beyond its paths: no token may that is held to one */
} ash_api_verb;

/* A row without one of these does not compile. */
#define ASH_API_ROW(name, is_post, needs_path, run, need, reaches)                                 \
    {                                                                                              \
        name, is_post, needs_path, run, need, reaches                                              \
    }

extern const ash_api_verb ash__api_reads[], ash__api_changes[],
    ash__api_shares[]; /* end with a row without a name */

/* A parameter: of the query, or of the body's fields.  NULL: not given.  The caller frees. */
char *ash__api_text(const ash_api_call *c, const char *name);
int64_t ash__api_number(const ash_api_call *c, const char *name, int64_t otherwise);
bool ash__api_flag(const ash_api_call *c, const char *name);
/* Is each parameter that is given of its kind?  false: x is answered. */
bool ash__api_check(ash_api_call *c);
/* A second path, in the same tree: the caller frees; NULL: x is answered. */
char *ash__api_other_path(ash_api_call *c, const char *name);

void ash__api_fail(ash_api_call *c, const ash_error *err);
void ash__api_refuse(ash_api_call *c, int status, const char *code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Where the entry is, or this version of it lay: may a token that is held to a path know of it? */
bool ash__api_is_within(const ash_exchange *x, const ash_site_mount *m, const ash_tree_entry *e);
/* The same of the versions that the call names; false: x is answered. */
bool ash__api_check_versions(ash_api_call *c);

/* What "diff" answers (api_diff.c). */
void ash__api_diff(ash_api_call *c);
/* Takes the listing. */
void ash__api_send_list(ash_api_call *c, ash_tree_listing *listing, int64_t limit);
/* An object. */
void ash__api_entry(ash_buffer *out, const ash_site_mount *m, const ash_tree_entry *e);

#endif
